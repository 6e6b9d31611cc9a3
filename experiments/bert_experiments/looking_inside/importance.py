"""Head ablation, word occlusion, and gradient × input: what a prediction depends on.

Attention weights show where a head attends to, not whether anything depends on it. These functions
take batches with one masked position a row.
"""

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from bert_lowlevel.model import Bert, TensorBatch, encode, logits, word_logits

WORDS = "bert.embeddings.word_embeddings.weight"


def without_head(bert: Bert, layer: int, head: int) -> Bert:
    """The model with what one head has gathered lost: its columns of the output matrix are 0."""
    name = f"bert.encoder.layer.{layer}.attention.output.dense.weight"
    size = bert.config.hidden_size // bert.config.num_attention_heads
    matrix = bert.weights[name].detach().clone()
    matrix[:, head * size : (head + 1) * size] = 0
    return Bert(bert.config, {**bert.weights, name: matrix}, causal=bert.causal)


@torch.no_grad()
def log_chance(bert: Bert, batch: TensorBatch) -> Float[ndarray, "batch"]:
    """ln p of the right word, for each row."""
    chances = logits(bert, batch).words[:, 0].log_softmax(-1)  # (batch, vocab)
    return chances.gather(1, batch["masked_lm_ids"])[:, 0].numpy()


@torch.no_grad()
def share_right(bert: Bert, batch: TensorBatch) -> float:
    """How many of the hidden words are the model's first guess."""
    guesses = logits(bert, batch).words.argmax(-1)
    return (guesses == batch["masked_lm_ids"]).float().mean().item()


def effect_of_hiding(bert: Bert, batch: TensorBatch, mask_id: int) -> Float[ndarray, "batch seq"]:
    """For each token, how much less likely the right word is, in nats, when it is hidden too."""
    ids, before = batch["input_ids"], log_chance(bert, batch)
    effects = []
    for place in range(ids.shape[1]):
        hidden = ids.index_fill(1, torch.tensor([place]), mask_id)
        effects.append(before - log_chance(bert, {**batch, "input_ids": hidden}))
    return np.stack(effects, axis=1)


def gradient_times_input(bert: Bert, batch: TensorBatch) -> Float[ndarray, "batch seq"]:
    """For each token, how much its vector speaks for the right word's score: the score's gradient
    for the vector, times the vector, summed.

    Each token needs a vector of its own, so the model gets a table with a row for every token of
    the batch, and reads the numbers of the rows. Row 0 stays that of [PAD].
    """
    ids, table = batch["input_ids"], bert.weights[WORDS].detach()
    vectors = table[ids].flatten(0, 1).requires_grad_()  # (batch · seq, hidden)
    own = Bert(bert.config, {**bert.weights, WORDS: torch.cat([table[:1], vectors])},
               causal=bert.causal)  # fmt: skip
    numbered = torch.arange(1, ids.numel() + 1).view_as(ids)
    states = encode(own, {**batch, "input_ids": numbered}).hidden_states[-1]
    masked = states[torch.arange(len(ids)), batch["masked_lm_positions"][:, 0]]
    scores = word_logits(bert, masked).gather(1, batch["masked_lm_ids"])
    (gradient,) = torch.autograd.grad(scores.sum(), vectors)
    return (gradient * vectors).detach().sum(dim=1).view_as(ids).numpy()
