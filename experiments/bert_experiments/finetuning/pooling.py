"""`python -m bert_experiments.finetuning.pooling`: a text as [CLS], or as the mean of all tokens.

BERT offers the state of [CLS], which learns to gather what the task asks for; one can also take the
mean of all tokens. Both are fine-tuned on the same reviews, good or bad, from the same checkpoint.
Then the attention of [CLS] is drawn: what it gathers, and from where.
"""

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
import tyro
from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor

from bert_corpus.storyworld import sentiment
from bert_corpus.wordpiece import load_tokenizer
from bert_experiments.looking_inside.attention_maps import attention_of
from bert_experiments.report.page import check_summary, mark_folder, write_json
from bert_experiments.report.plots import unboxed
from bert_lowlevel.model import Bert, States, TensorBatch, encode, to_tensors
from bert_run.config import (
    BatchSize,
    BertConfig,
    Count,
    LearningRate,
    Weights,
    check_numbers,
    truncated_normal,
)
from bert_run.errors import UserError, command
from bert_run.pictures import Picture
from bert_run.training_loop import progress_bar
from bert_run.weights import load_weights

Pooling = Literal["cls", "mean"]
LABELS = ("negative", "positive")
SEQ = 64


def text_vector(
    states: States, attention_mask: Int[Tensor, "batch seq"], pooling: Pooling
) -> Float[Tensor, "batch hidden"]:
    """The first token's state, or the mean over the tokens that are no padding."""
    if pooling == "cls":
        return states[:, 0]
    weight = attention_mask[:, :, None].to(states.dtype)  # (batch, seq, 1)
    return (states * weight).sum(1) / weight.sum(1)


def label_logits(bert: Bert, batch: TensorBatch, pooling: Pooling) -> Float[Tensor, "batch labels"]:
    """One linear layer on the text's vector."""
    vector = text_vector(encode(bert, batch).hidden_states[-1], batch["attention_mask"], pooling)
    return F.linear(vector, bert.weights["classifier.weight"], bert.weights["classifier.bias"])


def reviews(tokenizer: Tokenizer, first: int, count: int, split: str) -> TensorBatch:
    """Reviews first … first + count - 1 as the model reads them, with their labels."""
    examples = [sentiment(index, split=split) for index in range(first, first + count)]
    encoded = [tokenizer.encode(example.text) for example in examples]
    ids, mask = np.zeros((2, count, SEQ), np.int64)
    for row, entry in enumerate(encoded):
        size = min(SEQ, len(entry.ids))
        ids[row, :size] = entry.ids[:size]
        mask[row, :size] = 1
    return {
        "input_ids": torch.from_numpy(ids),
        "token_type_ids": torch.zeros(count, SEQ, dtype=torch.int64),
        "attention_mask": torch.from_numpy(mask),
        "labels": torch.tensor([LABELS.index(example.label) for example in examples]),
    }


@dataclass(frozen=True)
class PoolingSettings:
    """Fine-tune a checkpoint on reviews twice, with [CLS] and with the mean of all tokens."""

    checkpoint: Path = Path("runs/demo")
    """a BERT folder; `make demo` leaves one here"""
    out: Path = Path("runs/pooling")
    examples: Count = 2000
    """reviews to learn from, each once an epoch, except those that fill no whole batch"""
    epochs: Count = 2
    batch_size: BatchSize = 32
    learning_rate: LearningRate = 5e-4
    seeds: Count = 3
    """fine-tuning runs of each kind, which differ in the classifier's first values and the order"""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_summary(self.out, "cls", "mean", pictures=["cls.png"])
        if self.examples < self.batch_size:
            raise UserError(
                f"--examples {self.examples} fill no batch of {self.batch_size}: give more, or a "
                "smaller --batch-size"
            )


def fine_tune(
    start: Weights, config: BertConfig, tokenizer: Tokenizer, pooling: Pooling,
    settings: PoolingSettings, *, seed: int,
) -> Bert:  # fmt: skip
    """All parameters learn, the classifier from scratch, the rest from the checkpoint."""
    generator = np.random.default_rng(seed)
    head = truncated_normal((len(LABELS), config.hidden_size), 0.02, generator)
    bias = np.zeros(len(LABELS), np.float32)
    weights = to_tensors({**start, "classifier.weight": head, "classifier.bias": bias})
    bert = Bert(config, weights, training=True)
    read = [w for name, w in weights.items() if not name.startswith(("cls.", "bert.pooler"))]
    adam = torch.optim.AdamW(read, lr=settings.learning_rate, weight_decay=0.01, fused=True)
    data = reviews(tokenizer, 0, settings.examples, "train")
    batches = settings.examples // settings.batch_size  # of an epoch
    steps = settings.epochs * batches
    bar = progress_bar(steps, f"{pooling}, seed {seed}", unit="step")
    torch.manual_seed(seed)  # dropout
    for step in range(steps):
        if step % batches == 0:
            order = torch.from_numpy(generator.permutation(settings.examples))
        rows = order[step % batches * settings.batch_size :][: settings.batch_size]
        batch = {name: tensor[rows] for name, tensor in data.items()}
        F.cross_entropy(label_logits(bert, batch, pooling), batch["labels"]).backward()
        adam.param_groups[0]["lr"] = settings.learning_rate * (1 - step / steps)
        adam.step()
        adam.zero_grad()
        bar.update()
    bar.close()
    return Bert(config, weights)


@torch.no_grad()
def accuracy(bert: Bert, tokenizer: Tokenizer, pooling: Pooling, count: int = 1000) -> float:
    batch = reviews(tokenizer, 0, count, "heldout")
    return float((label_logits(bert, batch, pooling).argmax(-1) == batch["labels"]).float().mean())


def draw_cls_attention(bert: Bert, tokenizer: Tokenizer, index: int = 0) -> Picture:
    """What [CLS] takes from each token of a review in each layer, the mean of the heads."""
    batch = reviews(tokenizer, index, 1, "heldout")
    length = int(batch["attention_mask"].sum())
    tokens = [tokenizer.id_to_token(i) for i in batch["input_ids"][0, :length].tolist()]
    shares = attention_of(bert, batch)
    picture = Picture(1.6 + 0.9 * len(shares), 1.5 + 0.26 * length)
    panels = picture.subplots(len(shares), 1, sharex=True, squeeze=False)[:, 0]
    for number, (axes, layer) in enumerate(zip(panels, shares, strict=True)):
        axes.bar(range(length), layer[0, :, 0, :length].mean(axis=0), color="#0072b2")
        axes.set_ylabel(f"layer {number}", fontsize=9)
    panels[-1].set_xticks(range(length), tokens, rotation=90, fontsize=8)
    label = LABELS[int(batch["labels"][0])]
    panels[0].set_title(f"What [CLS] looks at in a review that is {label}", fontsize=10)
    return unboxed(picture)


def compare(settings: PoolingSettings) -> dict[str, list[float]]:
    """Held-out accuracy of both, for each seed; leaves `summary.json` and `cls.png`."""
    config = BertConfig.load(settings.checkpoint)
    if config.max_position_embeddings < SEQ:
        raise UserError(
            f"{settings.checkpoint} has {config.max_position_embeddings} positions: the reviews "
            f"need {SEQ}"
        )
    start = load_weights(settings.checkpoint, config)
    tokenizer = load_tokenizer(settings.checkpoint)
    mark_folder(settings.out, "cls", "mean")
    found: dict[str, list[float]] = {"cls": [], "mean": []}
    for pooling, accuracies in found.items():
        for seed in range(settings.seeds):
            bert = fine_tune(start, config, tokenizer, pooling, settings, seed=seed)
            accuracies.append(accuracy(bert, tokenizer, pooling))
            if pooling == "cls" and seed == 0:
                draw_cls_attention(bert, tokenizer).save(settings.out / "cls.png")
    write_json(settings.out / "summary.json", found)
    return found


@command
def main() -> None:
    settings = tyro.cli(PoolingSettings, prog="python -m bert_experiments.finetuning.pooling")
    for pooling, accuracies in compare(settings).items():
        low, middle, high = min(accuracies), statistics.median(accuracies), max(accuracies)
        print(f"{pooling:<5} {middle:.1%} of 1,000 held-out reviews ({low:.1%} to {high:.1%})")
    print(f"what [CLS] looks at: {settings.out / 'cls.png'}")


if __name__ == "__main__":
    main()
