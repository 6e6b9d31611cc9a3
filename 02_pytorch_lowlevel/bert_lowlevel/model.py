"""BERT as functions of a dict of tensors. Autograd does the backward pass.

    losses = pretraining_losses(logits(bert, batch), batch)
    losses.total.backward()  # all the backward functions of level 1 in one line

Parameters carry the common names: `bert.weights["bert.encoder.layer.0.output.dense.weight"]`.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from bert_lowlevel.attention import ATTENTIONS, Mask, merge_heads, split_heads, visible_keys
from bert_run.config import BertConfig, Weights

TensorBatch = dict[str, Tensor]
States = Float[Tensor, "batch seq hidden"]


@dataclass(frozen=True)
class Bert:
    """A model: its sizes, its parameters under the common names, and how it is being run."""

    config: BertConfig
    weights: dict[str, Tensor]
    training: bool = False  # with dropout
    attention: Literal["fused", "by-hand"] = "fused"
    causal: bool = False  # no token sees those on its right: GPT's attention, in BERT's model


def to_tensors(
    weights: Weights, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Arrays as tensors that collect gradients."""
    return {
        name: torch.tensor(array, dtype=dtype, device=device, requires_grad=True)
        for name, array in weights.items()
    }


def to_arrays(weights: dict[str, Tensor]) -> Weights:
    """Copies of the tensors, as float32 arrays."""
    return {name: tensor.detach().float().cpu().numpy().copy() for name, tensor in weights.items()}


# --- Three operations, by the name of their parameters ---


def dense(bert: Bert, name: str, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
    return F.linear(x, bert.weights[f"{name}.weight"], bert.weights[f"{name}.bias"])


def norm(
    bert: Bert, name: str, x: Float[Tensor, "*batch hidden"]
) -> Float[Tensor, "*batch hidden"]:
    weight, bias = bert.weights[f"{name}.weight"], bert.weights[f"{name}.bias"]
    return F.layer_norm(x, weight.shape, weight, bias, bert.config.layer_norm_eps)


def dropout(bert: Bert, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    return F.dropout(x, bert.config.hidden_dropout_prob, bert.training)


# --- The encoder ---


def embeddings(
    bert: Bert, input_ids: Int[Tensor, "batch seq"], token_type_ids: Int[Tensor, "batch seq"]
) -> States:
    """Word + position + segment (paper, figure 2), then layer norm and dropout.

    The row of [PAD] learns nothing from being read, as in `transformers`.
    """
    tables, config = "bert.embeddings", bert.config
    words = F.embedding(
        input_ids, bert.weights[f"{tables}.word_embeddings.weight"], config.pad_token_id
    )
    positions = bert.weights[f"{tables}.position_embeddings.weight"][: input_ids.shape[1]]
    segments = F.embedding(token_type_ids, bert.weights[f"{tables}.token_type_embeddings.weight"])
    return dropout(bert, norm(bert, f"{tables}.LayerNorm", words + positions + segments))


def self_attention(bert: Bert, name: str, x: States, mask: Mask) -> States:
    """Query, key and value are three projections of the same tokens; each head takes its part."""
    query, key, value = (
        split_heads(dense(bert, f"{name}.{role}", x), bert.config.num_attention_heads)
        for role in ("query", "key", "value")
    )
    drop = bert.config.attention_probs_dropout_prob if bert.training else 0.0
    return merge_heads(ATTENTIONS[bert.attention](query, key, value, mask, dropout=drop))


def add_and_norm(
    bert: Bert, name: str, x: Float[Tensor, "batch seq in"], residual: States
) -> States:
    """What closes each half of a layer: LN(residual + dropout(dense(x))), the norm last."""
    return norm(
        bert, f"{name}.LayerNorm", residual + dropout(bert, dense(bert, f"{name}.dense", x))
    )


def dense_gelu(bert: Bert, name: str, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
    return F.gelu(dense(bert, f"{name}.dense", x), approximate=bert.config.gelu_approximation)


def layer(bert: Bert, name: str, x: States, mask: Mask) -> States:
    """Tokens exchange information; then each is worked on by itself."""
    context = self_attention(bert, f"{name}.attention.self", x, mask)
    x = add_and_norm(bert, f"{name}.attention.output", context, residual=x)
    wide = dense_gelu(bert, f"{name}.intermediate", x)
    return add_and_norm(bert, f"{name}.output", wide, residual=x)


class EncoderOutput(NamedTuple):
    """What BERT says of a pair of sentences."""

    hidden_states: list[States]  # after the embeddings, then after every layer
    pooled: Float[Tensor, "batch hidden"]  # one vector for the pair


def encode(bert: Bert, batch: TensorBatch) -> EncoderOutput:
    """Embeddings, the stack of layers, the pooler."""
    mask = visible_keys(batch["attention_mask"], causal=bert.causal)
    states = [embeddings(bert, batch["input_ids"], batch["token_type_ids"])]
    for number in range(bert.config.num_hidden_layers):
        states.append(layer(bert, f"bert.encoder.layer.{number}", states[-1], mask))
    return EncoderOutput(states, dense(bert, "bert.pooler.dense", states[-1][:, 0]).tanh())


# --- The heads and the losses ---


class Logits(NamedTuple):
    """The scores of every answer, before softmax."""

    words: Float[Tensor, "batch masks vocab"]
    pairs: Float[Tensor, "batch 2"]


def logits(bert: Bert, batch: TensorBatch) -> Logits:
    """Both tasks. Only the masked positions are asked for their word."""
    output = encode(bert, batch)
    places = batch["masked_lm_positions"][:, :, None]  # (batch, masks, 1)
    last = output.hidden_states[-1]
    masked = last.gather(1, places.expand(-1, -1, last.shape[-1]))  # (batch, masks, hidden)
    return Logits(word_logits(bert, masked), dense(bert, "cls.seq_relationship", output.pooled))


def word_logits(bert: Bert, x: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch vocab"]:
    """Dense, GELU, layer norm, then the word embeddings once more, as the last matrix."""
    x = dense_gelu(bert, "cls.predictions.transform", x)
    x = norm(bert, "cls.predictions.transform.LayerNorm", x)
    decoder = bert.weights["bert.embeddings.word_embeddings.weight"]
    return F.linear(x, decoder, bert.weights["cls.predictions.bias"])


class Losses(NamedTuple):
    """Both losses of a batch, in nats. Training minimizes their sum (paper, section A.2)."""

    mlm: Float[Tensor, ""]
    nsp: Float[Tensor, ""]

    @property
    def total(self) -> Float[Tensor, ""]:
        return self.mlm + self.nsp


def pretraining_losses(
    scores: Logits,
    batch: TensorBatch,
    *,
    mask_count: Tensor | float | None = None,
    pair_count: int | None = None,
) -> Losses:
    """Sums over this batch, divided by `mask_count` and `pair_count`: those of the whole batch when
    this is a part of it, so that the gradients of the parts add up to the whole's."""
    weights, pairs = batch["masked_lm_weights"].flatten(), batch["next_sentence_labels"]
    mask_count = weights.sum() if mask_count is None else mask_count
    pair_count = len(pairs) if pair_count is None else pair_count
    words = batch["masked_lm_ids"].flatten()
    each_word = F.cross_entropy(scores.words.flatten(0, 1), words, reduction="none")
    return Losses(
        mlm=(each_word * weights).sum() / mask_count,
        nsp=F.cross_entropy(scores.pairs, pairs, reduction="sum") / pair_count,
    )
