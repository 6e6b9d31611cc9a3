"""Attention maps: the attention weights of every head, as pictures for a notebook or a file.

    weights = attention_of(bert, batch)                  # one array a layer
    draw_head(weights[0][0, 2], tokens).save("head.png")

In a notebook a picture that ends a cell shows itself.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from bert_experiments.looking_inside.drawings import GROWS
from bert_lowlevel.attention import attention_weights, split_heads, visible_keys
from bert_lowlevel.model import Bert, TensorBatch, dense, encode
from bert_run.pictures import Picture


@torch.no_grad()
def attention_of(bert: Bert, batch: TensorBatch) -> list[Float[ndarray, "batch heads seq seq"]]:
    """How much each token takes from each other, in every head of every layer; rows add up to one.

    The fused kernel never makes this table, so it is computed anew from what each layer reads.
    """
    mask = visible_keys(batch["attention_mask"], causal=bert.causal)
    heads = bert.config.num_attention_heads
    weights = []
    for number, x in enumerate(encode(bert, batch).hidden_states[:-1]):
        name = f"bert.encoder.layer.{number}.attention.self"
        query, key = (
            split_heads(dense(bert, f"{name}.{role}", x), heads) for role in ("query", "key")
        )
        weights.append(attention_weights(query, key, mask).float().cpu().numpy())
    return weights


def draw_head(weights: Float[ndarray, "seq seq"], tokens: list[str], *, title: str = "") -> Picture:
    """One head as a grid: the row is the token that looks, the column the one it looks at."""
    size = 1.6 + 0.28 * len(tokens)
    picture = Picture(size, size + 0.8)
    axes = picture.subplots()
    count = len(tokens)
    image = axes.imshow(weights[:count, :count], cmap=GROWS, vmin=0, vmax=1)
    axes.set_xticks(range(count), tokens, rotation=90)
    axes.set_yticks(range(count), tokens)
    axes.set_xlabel("is looked at")
    axes.set_ylabel("looks")
    axes.set_title(title, fontsize=10)
    picture.colorbar(image, ax=axes, shrink=0.7, label="attention weight")
    return picture


def draw_all_heads(
    weights: list[Float[ndarray, "batch heads seq seq"]], length: int, *, row: int = 0
) -> Picture:
    """Every head of every layer as small multiples: layers from top to bottom, heads side by side.

    `length` is the number of tokens of the example that are no padding.
    """
    layers, heads = len(weights), weights[0].shape[1]
    picture = Picture(1.6 * layers + 0.4, 1.5 * heads + 0.6)
    panels = picture.subplots(layers, heads, squeeze=False)
    for layer, head in np.ndindex(layers, heads):
        axes = panels[layer, head]
        axes.imshow(weights[layer][row, head, :length, :length], cmap=GROWS, vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        if layer == 0:
            axes.set_title(f"head {head}", fontsize=9)
        if head == 0:
            axes.set_ylabel(f"layer {layer}", fontsize=9)
    return picture


def draw_masks(tokens: list[str]) -> Picture:
    """BERT's mask beside GPT's: X where a token may look, O where it may not."""
    attention_mask = torch.ones(1, len(tokens), dtype=torch.long)
    picture = Picture(0.4 * len(tokens) + 1.4, 0.9 * len(tokens) + 3)
    panels = picture.subplots(1, 2)
    titles = ("BERT: to both sides", "GPT: to the left only")
    for axes, causal, title in zip(panels, (False, True), titles, strict=True):
        mask = visible_keys(attention_mask, causal=causal)[0, 0]
        draw_mask(axes, mask.expand(len(tokens), len(tokens)).numpy(), tokens)
        axes.set_title(title, fontsize=10)
    return picture


def draw_mask(axes, mask: Bool[ndarray, "seq seq"], tokens: list[str]) -> None:
    count = len(tokens)
    axes.imshow(mask, cmap=GROWS, vmin=-0.4, vmax=2)
    for query, key in np.ndindex(count, count):
        axes.text(
            key, query, "X" if mask[query, key] else "O", ha="center", va="center", fontsize=8
        )
    axes.set_xticks(range(count), tokens, rotation=90)
    axes.set_yticks(range(count), tokens)
    axes.set_xlabel("is looked at")
    axes.set_ylabel("looks")
