"""`make demo`: pretrain BERT on StoryWorld in a few minutes, then look at what it learned."""

import argparse
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from bert_corpus.pairs import Batch
from bert_corpus.storyworld import CLASSIC_BLANKS, Story, stories
from bert_corpus.storyworld.evaluation import Guess, inputs_of, measure_settled_words, probes_of
from bert_paper.fill_mask import BAR, BAR_WIDTH, fill_mask, show
from bert_paper.model import PRETRAINING_INPUTS
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_paper.pretrained import Pretrained, open_pretrained
from bert_run.device import to_device
from bert_run.errors import command
from bert_run.files import write_atomically

# What makes it learn in minutes: a narrow model, the feed-forward networks most of all; short
# examples first; heads that start by looking beside them and copying; Muon, at a high rate and with
# much weight decay; no dropout, since hardly a text is seen twice; 30% of the words hidden.
DEMO = PretrainSettings(
    corpus="storyworld", out=Path("runs/demo"),
    model="tiny", num_attention_heads=4, intermediate_size=64, vocab_size=4096,
    initialization="induction", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    masked_lm_prob=0.3, seq_length=128, batch_size=32,
    short_seq_length=64, short_batch_size=64, short_share=0.35, steps=2250, warmup_steps=200,
    optimizer="muon", learning_rate=5e-3, weight_decay=0.3, adam_beta2=0.98,
    eval_every=450, eval_examples=512, save_every=1125,
)  # fmt: skip
PROBED_STORIES = 400
TITLES = {
    "left": "determined by words on the left",
    "right": "determined by words on the right",
    "both": "needing both sides",
    "other": "determined by another sentence",
}


def main_report(pretrained: Pretrained, measured: dict[str, float]) -> dict:
    """Measure, print tables, draw the picture; returns the figures of `summary.json`."""
    heading("The classic blanks")
    blanks = {text: show_blank(pretrained, text, accepted) for text, accepted in CLASSIC_BLANKS}

    held_out = list(stories(PROBED_STORIES, split="heldout"))
    settled = measure_settled_words(first_guess(pretrained), pretrained.tokenizer, held_out,
                                    seq_length=DEMO.seq_length)  # fmt: skip
    within = [settled[kind] for kind in ("left", "right", "both")]
    in_sentence = sum(w["right"] for w in within) / sum(w["of"] for w in within)
    heading(f"Masked words in {PROBED_STORIES} documents it has never seen: first guess right")
    for kind, title in TITLES.items():
        show_bar(title, settled[kind]["accuracy"], f"of {settled[kind]['of']:,}")
    show_bar("within the sentence, together", in_sentence, "")
    show_bar("is this the next sentence?", measured["heldout_nsp_accuracy"], "")

    vectors, senses = sense_vectors(pretrained, held_out, "crane", seq_length=DEMO.seq_length)
    agreement = nearest_neighbor_accuracy(vectors, senses)
    picture = DEMO.out / "crane.png"
    draw_senses(principal_plane(vectors), senses, picture)
    heading("Two cranes")
    print(f"  {len(senses)} times the word crane, the same vector going in. Coming out,")
    print(f"  the nearest other crane is of the same kind in {agreement:.0%} of cases: {picture}")
    return {
        "blanks": blanks,
        "settled_by": settled,
        "settled_within_sentence": in_sentence,
        "settled_by_another_sentence": settled["other"]["accuracy"],
        "nsp_accuracy": measured["heldout_nsp_accuracy"],
        "heldout": measured,
        "crane": {"occurrences": len(senses), "nearest_neighbor_accuracy": agreement},
    }


def heading(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def show_blank(pretrained: Pretrained, text: str, accepted: frozenset[str]) -> dict:
    guesses = fill_mask(pretrained, text, top=3)[0]
    right = guesses[0].token in accepted
    print(show(f"{text}  {'✓' if right else '✗'}", [guesses]))
    return {"answer": guesses[0].token, "probability": guesses[0].probability, "right": right}


def show_bar(title: str, share: float, note: str) -> None:
    print(f"  {title:<32} {share:6.1%}  {BAR * round(share * BAR_WIDTH):<{BAR_WIDTH}} {note}")


def draw_senses(points: np.ndarray, senses: list[str], path: Path) -> None:
    """Each occurrence of the word a point, each sense a color and a shape."""
    from bert_run.pictures import COLORS, picture_with_axes  # it brings matplotlib

    picture, axes = picture_with_axes(
        width=6, height=5, title="One word, two meanings: the last layer's vectors of “crane”",
        xlabel="first principal component", ylabel="second principal component",
    )  # fmt: skip
    for sense, color, marker in zip(sorted(set(senses)), COLORS, "o^s", strict=False):
        chosen = points[[s == sense for s in senses]]
        axes.scatter(*chosen.T, c=color, marker=marker, alpha=0.7, label=f"crane, the {sense}")
    axes.legend(frameon=False)
    picture.save(path)


def first_guess(pretrained: Pretrained) -> Guess:
    """The model as `bert_corpus.storyworld.evaluation` asks for it."""
    device = next(pretrained.model.parameters()).device

    @torch.no_grad()
    def guess(batch: Batch) -> np.ndarray:
        tensors = to_device({name: batch[name] for name in PRETRAINING_INPUTS}, device)
        words, _ = pretrained.model(**tensors)
        return words.argmax(-1).cpu().numpy()

    return guess


@torch.no_grad()
def sense_vectors(pretrained: Pretrained, stories: Iterable[Story], word: str, *,
                  seq_length: int) -> tuple[np.ndarray, list[str]]:  # fmt: skip
    """The last layer's vectors of a marked word, (occurrences, hidden), and the sense of each."""
    tokenizer, device = pretrained.tokenizer, next(pretrained.model.parameters()).device
    vectors, senses = [], []
    for story in stories:
        for probe in probes_of(story, tokenizer, wanted="sense", seq_length=seq_length):
            name, _, sense = probe.mark.sense.partition(":")
            if name != word:
                continue
            batch = inputs_of([probe], tokenizer, seq_length=seq_length)
            states = pretrained.model.bert(**to_device(batch, device))
            vector = states.last_hidden_state[0, probe.pieces.start : probe.pieces.stop].mean(0)
            vectors.append(vector.float().cpu().numpy())
            senses.append(sense)
    return np.array(vectors), senses


def principal_plane(vectors: np.ndarray) -> np.ndarray:
    """The vectors seen from where they spread most: their first two principal components."""
    centered = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    return centered @ directions[:2].T


def nearest_neighbor_accuracy(vectors: np.ndarray, senses: list[str]) -> float:
    """How often the most similar other occurrence (by cosine) has the same sense."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = similarity.argmax(axis=1)
    return float(np.mean([senses[i] == senses[j] for i, j in enumerate(nearest)]))


@command
def main() -> None:
    about = "Pretrain a small BERT on StoryWorld into runs/demo, and show what it learned."
    argparse.ArgumentParser(prog="python -m bert_paper.demo", description=about).parse_args()
    started = time.perf_counter()
    print("BERT from scratch: a town is invented, its words are learned, its sentences read.\n",
          flush=True)  # fmt: skip
    begun = (DEMO.out / "metrics.jsonl").is_file()
    measured = pretrain(DEMO).measurements()
    trained = time.perf_counter()
    pretrained = open_pretrained(DEMO.out)
    summary = main_report(pretrained, measured)
    total = round(time.perf_counter() - started, 1)
    summary["seconds"] = {"pretraining": round(trained - started, 1), "total": total,
                          "resumed": begun}  # fmt: skip
    summary["cores"] = os.cpu_count()
    write_atomically(DEMO.out / "summary.json", json.dumps(summary, indent=2) + "\n")
    done = "Done; this call took" if begun else "Done in"
    heading(f"{done} {total / 60:.1f} minutes. What to open next")
    print(f"  the loss curve       {DEMO.out / 'curve.png'}")
    print(f"  the two cranes       {DEMO.out / 'crane.png'}")
    print(f"  all figures          {DEMO.out / 'summary.json'}")
    print("  how it works         03_paper_reproduction/README.md")
    print(f'  ask it yourself      bert-fill-mask "The [MASK] flew." --checkpoint {DEMO.out}')


if __name__ == "__main__":
    main()
