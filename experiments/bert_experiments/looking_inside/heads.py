"""What does each attention head attend to? Its attention weights by relation, beside those of a
head that attends to every token alike.

Clark et al. 2019 (arXiv 1906.04341) and Kovaleva et al. 2019 (arXiv 1908.08593) ask this of the
released BERT.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bert_corpus.pairs import PairDataset
from bert_corpus.pretraining_run import special_tokens
from bert_corpus.storyworld import Story
from bert_corpus.storyworld.evaluation import hidden, probes_of
from bert_experiments.report.models import TokensInMemory
from bert_experiments.report.plots import unboxed
from bert_paper.masking import maskable
from bert_paper.model import BertModel, BertSelfAttention
from bert_paper.pretrained import Pretrained
from bert_run.device import to_device
from bert_run.pictures import BLUE, GREY, Picture
from bert_run.training_loop import progress_bar

Weights = Float[Tensor, "layers batch heads seq seq"]  # of each query (row) on each key (column)
FARTHEST = 10  # offsets of the picture run from -10 to +10
# A head has a name when it has gone half of the way from uniform attention to attending there only.
NAMED_FROM = 0.5


@torch.no_grad()
def attention_weights(model: BertModel, batch: dict[str, Tensor]) -> Weights:
    """How much every token takes from every other, in each head: rows sum to one.

    `F.scaled_dot_product_attention` hands out no such table, so it is made again from what each
    layer's attention reads. The model computes as ever; `batch` holds its three inputs.
    """
    read: list[tuple[Tensor, Tensor | None]] = []  # by each layer: its input, and the mask
    hooks = [
        layer.attention.self.register_forward_pre_hook(lambda _, inputs: read.append(inputs))
        for layer in model.encoder.layer
    ]
    try:
        model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
    finally:
        for hook in hooks:
            hook.remove()
    layers = zip(model.encoder.layer, read, strict=True)
    return torch.stack([softmax_weights(layer.attention.self, *inputs) for layer, inputs in layers])


def softmax_weights(
    attention: BertSelfAttention,
    x: Float[Tensor, "batch seq hidden"],
    mask: Bool[Tensor, "batch 1 queries seq"] | None,
) -> Float[Tensor, "batch heads seq seq"]:
    """softmax(query · key / √head_dim), and nothing on keys that the mask hides."""
    query = attention.split_heads(attention.query(x))  # (batch, heads, seq, head_dim)
    key = attention.split_heads(attention.key(x))
    scores = query @ key.transpose(-1, -2) / math.sqrt(attention.head_dim)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


def uniform_weights(attention_mask: Int[Tensor, "batch seq"]) -> Weights:
    """Uniform attention weights, as one layer of one head."""
    weights = attention_mask / attention_mask.sum(dim=1, keepdim=True)  # (batch, keys)
    return weights[None, :, None, None, :].expand(-1, -1, -1, weights.shape[1], -1)


class Target(NamedTuple):
    """Where attention may go: from `queries`, how much of it goes where `counts` is 1?

    Other values of `counts` are weights: |i - j| gives the mean distance.
    """

    counts: Float[Tensor, "batch seq seq"]
    queries: Bool[Tensor, "batch seq"]


# Each relation of a key to its query, and the heading of its column in the table.
RELATIONS = {"itself": "itself", "one to the left": "-1", "one to the right": "+1",
             "a few to the left": "-5…-2", "a few to the right": "+2…+5",
             "[CLS] or [SEP]": "special", "same word elsewhere": "twin",
             "other sentence": "other", "a blank's answer": "answer"}  # fmt: skip
TargetName = str | int  # a relation, "distance", or an offset from -10 to +10


def targets_of_words(batch: dict[str, Tensor]) -> dict[TargetName, Target]:
    """Where the words of sentence pairs may attend to. For "same word elsewhere" only words that
    have a twin are queries."""
    ids, segments = batch["input_ids"], batch["token_type_ids"]
    is_word, is_token = maskable(batch), batch["attention_mask"].bool()
    position = torch.arange(ids.shape[1], device=ids.device)
    offset = (position[None, :] - position[:, None]).expand(len(ids), -1, -1)  # key - query
    twin = (ids[:, :, None] == ids[:, None, :]) & is_word[:, None, :] & (offset != 0)
    special = (is_token & ~is_word)[:, None, :].expand_as(twin)
    elsewhere = (segments[:, :, None] != segments[:, None, :]) & is_word[:, None, :]
    return {
        "itself": Target((offset == 0).float(), is_word),
        "one to the left": Target((offset == -1).float(), is_word),
        "one to the right": Target((offset == 1).float(), is_word),
        "a few to the left": Target(((offset <= -2) & (offset >= -5)).float(), is_word),
        "a few to the right": Target(((offset >= 2) & (offset <= 5)).float(), is_word),
        "[CLS] or [SEP]": Target(special.float(), is_word),
        "same word elsewhere": Target(twin.float(), is_word & twin.any(dim=-1)),
        "other sentence": Target(elsewhere.float(), is_word),
        "distance": Target(offset.abs().float(), is_word),
        **{d: Target((offset == d).float(), is_word) for d in range(-FARTHEST, FARTHEST + 1)},
    }


def targets_of_blanks(batch: dict[str, Tensor]) -> dict[TargetName, Target]:
    """The hidden word, seen from its [MASK], where the word occurs elsewhere in view."""
    ids, positions = batch["input_ids"], batch["masked_lm_positions"]
    answer = torch.full_like(ids, -1).scatter(1, positions, batch["masked_lm_ids"])
    found = ids[:, None, :] == answer[:, :, None]  # (batch, queries, keys)
    return {"a blank's answer": Target(found.float(), found.any(dim=-1))}


def total(weights: Weights, target: Target) -> Float[Tensor, "layers heads"]:
    """The attention weights that go to the target, summed over its queries."""
    counts = target.counts * target.queries[:, :, None]
    return torch.einsum("lbhqk,bqk->lh", weights, counts.to(weights.dtype))


@dataclass(frozen=True)
class HeadReport:
    """Means over the queries of each target, of the model's heads and of uniform attention."""

    of_heads: dict[TargetName, Float[np.ndarray, "layers heads"]]
    uniform: dict[TargetName, float]

    def above_uniform(self, relation: str) -> Float[np.ndarray, "layers heads"]:
        """How far each head has gone from uniform attention, 0, to attending there only, 1."""
        uniform = self.uniform[relation]
        return (self.of_heads[relation] - uniform) / (1 - uniform)

    def name_of(self, layer: int, head: int) -> str | None:
        """The relation that stands out most, or None when none has gone half of the way."""
        scores = {r: self.above_uniform(r)[layer, head] for r in RELATIONS if r in self.uniform}
        best = max(scores, key=scores.get)
        return best if scores[best] >= NAMED_FROM else None


Batches = Iterable[tuple[dict[str, Tensor], dict[TargetName, Target]]]


def measure_heads(model: BertModel, batches: Batches) -> HeadReport:
    """Measure every head on the targets of every batch."""
    sums, uniform_sums, queries = defaultdict(float), defaultdict(float), defaultdict(int)
    for batch, targets in batches:
        weights = attention_weights(model, batch)
        uniform = uniform_weights(batch["attention_mask"])
        for name, target in targets.items():
            sums[name] += total(weights, target)
            uniform_sums[name] += total(uniform, target).item()
            queries[name] += int(target.queries.sum())
    asked = [name for name, count in queries.items() if count]
    return HeadReport(
        of_heads={name: (sums[name] / queries[name]).cpu().numpy() for name in asked},
        uniform={name: uniform_sums[name] / queries[name] for name in asked},
    )


def story_batches(
    pretrained: Pretrained, stories: list[Story], *, pairs: int, seq_length: int, batch_size: int
) -> Batches:
    """Pretraining pairs of these stories, nothing hidden; then as many stories with one word hidden
    that another sentence settles."""
    tokenizer, device = pretrained.tokenizer, next(pretrained.model.parameters()).device
    corpus = TokensInMemory.of(stories, tokenizer)
    dataset = PairDataset(corpus, special_tokens(tokenizer), seq_length=seq_length, seed=0)
    blanks = [probe for story in stories
              for probe in probes_of(story, tokenizer, wanted="settled_by", seq_length=seq_length)
              if probe.mark.settled_by == "other"]  # fmt: skip
    blanks = blanks[:: max(1, len(blanks) // pairs)][:pairs]  # of all stories, not of the first
    with progress_bar(2 * pairs, "reading heads", unit="pair") as bar:
        for first in range(0, pairs, batch_size):
            indices = np.arange(first, min(first + batch_size, pairs))
            batch = to_device(dataset.batch(indices), device)
            yield batch, targets_of_words(batch)
            bar.update(len(indices))
        for first in range(0, len(blanks), batch_size):
            part = blanks[first : first + batch_size]
            batch = to_device(hidden(part, tokenizer, seq_length=seq_length), device)
            yield batch, targets_of_blanks(batch)
            bar.update(len(part))


def heads_table(report: HeadReport) -> str:
    """Attention weights of every head by relation, and below them those of uniform attention."""
    asked = [relation for relation in RELATIONS if relation in report.uniform]
    lines = ["  head  " + "".join(f"{RELATIONS[r]:>8}" for r in asked) + "  distance  name"]
    for layer, head in np.ndindex(report.of_heads["distance"].shape):
        weights = "".join(f"{report.of_heads[r][layer, head]:8.1%}" for r in asked)
        distance = report.of_heads["distance"][layer, head]
        name = report.name_of(layer, head) or "–"
        lines.append(f"  {f'{layer}.{head}':<6}{weights}{distance:10.1f}  {name}")
    weights = "".join(f"{report.uniform[r]:8.1%}" for r in asked)
    lines.append(f"  alike {weights}{report.uniform['distance']:10.1f}")
    return "\n".join(lines)


def draw_heads(report: HeadReport, path: Path) -> None:
    """Attention by relative offset, one small panel a head, layers from top to bottom."""
    offsets = list(range(-FARTHEST, FARTHEST + 1))
    layers, heads = report.of_heads["distance"].shape
    picture = Picture(0.8 + min(1.6, 0.5 + 9 / layers) * layers, min(1 + 2.1 * heads, 13))
    panels = picture.subplots(layers, heads, sharex=True, sharey=True, squeeze=False)
    size = 8 if heads <= 6 else 5  # of letters
    for layer, head in np.ndindex(layers, heads):
        axes = panels[layer, head]
        axes.bar(offsets, [report.of_heads[d][layer, head] for d in offsets], color=BLUE)
        axes.plot(offsets, [report.uniform[d] for d in offsets], color=GREY, linewidth=1)
        axes.set(ylim=(0, 1), yticks=(0, 0.5, 1), xticks=(-FARTHEST, 0, FARTHEST))
        axes.tick_params(labelsize=size)
        name, distance = report.name_of(layer, head), report.of_heads["distance"][layer, head]
        note = f"mean distance {distance:.0f}" if heads <= 6 else ""
        if name:
            note = f"{report.of_heads[name][layer, head]:.0%} {name}\n{note}"
        axes.set_title(f"{layer}.{head}", fontsize=size)
        axes.text(0.02, 0.97, note, transform=axes.transAxes, va="top", fontsize=size - 1)
    picture.supxlabel(
        "tokens to the left (−) or right (+) of the word that looks; grey: to every token alike",
        fontsize=9,
    )
    picture.supylabel("share of its attention", fontsize=9)
    unboxed(picture).save(path)
