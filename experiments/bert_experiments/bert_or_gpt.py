"""`python -m bert_experiments.bert_or_gpt`: BERT and GPT from one code, on the same stories.

One argument, `causal`, hides from every token the tokens on its right. Everything else is equal:
initial weights, pairs, masks, steps. Then both predict held-out words, counted separately by what
determines the word. Only one of them can know words that are determined by their right context.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro

from bert_corpus.pairs import Batch
from bert_corpus.storyworld import stories
from bert_corpus.storyworld.evaluation import Guess, measure_settled_words
from bert_corpus.wordpiece import load_tokenizer
from bert_experiments.report.page import check_summary, write_json
from bert_lowlevel.model import Bert, logits, to_tensors
from bert_lowlevel.pretrain import LowLevelSettings, pretrain
from bert_run.config import BertConfig, Count, Seed, Steps, check_numbers
from bert_run.errors import command
from bert_run.weights import load_weights


@dataclass(frozen=True)
class Comparison:
    """Train BERT and its causal twin on StoryWorld, and count what each can know."""

    out: Path = Path("runs/bert_or_gpt")
    """two runs and the table; called again, it goes on"""
    steps: Steps = 3000
    stories: Count = 400
    """held-out stories whose marked words are asked for"""
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_numbers(self)
        check_summary(self.out, "both_sides", "causal")

    def settings(self, *, causal: bool) -> LowLevelSettings:
        """The recipe of `make demo`, shorter."""
        return LowLevelSettings(
            corpus="storyworld",
            out=self.out / ("causal" if causal else "both_sides"),
            causal=causal,
            vocab_size=4096,
            num_attention_heads=4,
            initialization="mimetic",
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            seq_length=128,
            batch_size=32,
            short_seq_length=32,
            short_share=0.3,
            short_batch_size=64,
            masked_lm_prob=0.2,
            steps=self.steps,
            learning_rate=2.5e-3,
            warmup_steps=min(200, self.steps // 10),
            optimizer="adamw",
            adam_beta2=0.98,
            eval_every=max(1, self.steps // 4),
            eval_examples=512,
            save_every=max(1, self.steps // 2),
            seed=self.seed,
        )


def first_guess(bert: Bert) -> Guess:
    """The word with the highest score at each masked position."""

    @torch.no_grad()
    def guess(batch: Batch) -> np.ndarray:
        tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
        return logits(bert, tensors).words.argmax(-1).numpy()

    return guess


def measure(folder: Path, *, causal: bool, count: int) -> dict[str, dict[str, float]]:
    """Accuracy of a trained model on held-out marked words, by what determines them."""
    config = BertConfig.load(folder, decoders=True)
    bert = Bert(config, to_tensors(load_weights(folder, config)), causal=causal)
    held_out = stories(count, split="heldout")
    return measure_settled_words(
        first_guess(bert), load_tokenizer(folder), held_out, seq_length=128
    )


def table(both_sides: dict, causal: dict) -> str:
    """As Markdown, the kinds that were asked for; `other` is another sentence, which for GPT counts
    only if it came before."""
    names = {"left": "words on its left", "right": "words on its right",
             "both": "both sides together", "other": "another sentence"}  # fmt: skip
    lines = ["| the word is determined by | both sides (BERT) | left side only (GPT) | words |",
             "|---|---|---|---|"]  # fmt: skip
    for kind in both_sides:
        lines.append(
            f"| {names[kind]} | {both_sides[kind]['accuracy']:.1%} | "
            f"{causal[kind]['accuracy']:.1%} | {causal[kind]['of']:,} |"
        )
    return "\n".join(lines)


def compare(comparison: Comparison) -> dict[str, dict]:
    """Train both, or go on with both; returns what each knows."""
    found = {}
    for name, causal in (("both_sides", False), ("causal", True)):
        settings = comparison.settings(causal=causal)
        pretrain(settings)
        found[name] = measure(settings.out, causal=causal, count=comparison.stories)
    write_json(comparison.out / "summary.json", found)
    return found


@command
def main() -> None:
    comparison = tyro.cli(Comparison, prog="python -m bert_experiments.bert_or_gpt")
    print(table(**compare(comparison)))


if __name__ == "__main__":
    main()
