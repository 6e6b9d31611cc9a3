"""The whole model: embeddings, encoder, both heads, both losses, and every gradient.

    losses, cache = pretraining_forward(bert, batch)
    gradients = pretraining_backward(cache)

A batch is a dict of the arrays that every level of the course takes: `input_ids`, `token_type_ids`,
`attention_mask` (batch, seq); `masked_lm_positions`, `masked_lm_ids`, `masked_lm_weights` (batch,
masks); `next_sentence_labels` (batch,), 0 = IsNext.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bert_numpy.attention import mask_scores
from bert_numpy.checks import Batch, check_batch, check_weights
from bert_numpy.encoder import (
    Bert,
    Gradients,
    States,
    dense_backward,
    dense_forward,
    dense_gelu_backward,
    dense_gelu_forward,
    encoder_backward,
    encoder_forward,
    norm_backward,
    norm_forward,
)
from bert_numpy.operations import (
    Cache,
    cross_entropy_backward,
    cross_entropy_forward,
    dropout_backward,
    dropout_forward,
    embedding_backward,
    embedding_forward,
    linear_backward,
    linear_forward,
    tanh_backward,
    tanh_forward,
)

WORDS = "bert.embeddings.word_embeddings"
POSITIONS = "bert.embeddings.position_embeddings"
SEGMENTS = "bert.embeddings.token_type_embeddings"


# --- Embeddings: what the word is, where it stands, in which sentence ---


def embeddings_forward(
    bert: Bert, input_ids: Int[ndarray, "batch seq"], token_type_ids: Int[ndarray, "batch seq"]
) -> tuple[States, Cache]:
    """Word + position + segment (paper, figure 2), then layer norm and dropout."""
    words, words_cache = embedding_forward(input_ids, bert.weights[f"{WORDS}.weight"])
    segments, segments_cache = embedding_forward(token_type_ids, bert.weights[f"{SEGMENTS}.weight"])
    positions = bert.weights[f"{POSITIONS}.weight"][: input_ids.shape[1]]  # (seq, hidden)
    x = words + positions + segments
    x, norm_cache = norm_forward(bert, "bert.embeddings.LayerNorm", x)
    out, dropout_cache = dropout_forward(x, bert.config.hidden_dropout_prob, bert.generator)
    bert.watch("bert.embeddings", out)
    return out, (bert.config, words_cache, segments_cache, norm_cache, dropout_cache)


def embeddings_backward(dout: States, cache: Cache, gradients: Gradients) -> None:
    """A sum hands its gradient to every part. Nothing lies below: no dx is returned.

    The row of [PAD] learns nothing from being read, as in `transformers`.
    """
    config, words_cache, segments_cache, norm_cache, dropout_cache = cache
    gradients.watch("bert.embeddings", dout)
    dx = dropout_backward(dout, dropout_cache)
    dx = norm_backward(dx, norm_cache, gradients)
    dpositions = np.zeros((config.max_position_embeddings, config.hidden_size), dx.dtype)
    dpositions[: dx.shape[1]] = dx.sum(axis=0)
    dwords = embedding_backward(dx, words_cache)
    dwords[config.pad_token_id] = 0
    gradients.add(f"{SEGMENTS}.weight", embedding_backward(dx, segments_cache))
    gradients.add(f"{POSITIONS}.weight", dpositions)
    gradients.add(f"{WORDS}.weight", dwords)


# --- BERT without heads ---


class EncoderOutput(NamedTuple):
    """What BERT says of a pair of sentences."""

    states: States  # one vector a token
    pooled: Float[ndarray, "batch hidden"]  # one vector for the pair


def pooler_forward(bert: Bert, states: States) -> tuple[Float[ndarray, "batch hidden"], Cache]:
    """Dense and tanh on the first token, [CLS], which stands for the pair."""
    first, dense_cache = dense_forward(bert, "bert.pooler.dense", states[:, 0])
    out, tanh_cache = tanh_forward(first)
    bert.watch("bert.pooler", out)
    return out, (states.shape, dense_cache, tanh_cache)


def pooler_backward(
    dout: Float[ndarray, "batch hidden"], cache: Cache, gradients: Gradients
) -> States:
    """Only the first token of each row was read, so only it gets a gradient."""
    shape, dense_cache, tanh_cache = cache
    gradients.watch("bert.pooler", dout)
    dstates = np.zeros(shape, dout.dtype)
    dstates[:, 0] = dense_backward(tanh_backward(dout, tanh_cache), dense_cache, gradients)
    return dstates


def bert_forward(bert: Bert, batch: Batch) -> tuple[EncoderOutput, Cache]:
    """Embeddings, the stack of layers, the pooler: `BertModel` of `transformers`."""
    x, embeddings_cache = embeddings_forward(bert, batch["input_ids"], batch["token_type_ids"])
    mask = mask_scores(batch["attention_mask"], x.dtype)
    x, encoder_cache = encoder_forward(bert, x, mask)
    pooled, pooler_cache = pooler_forward(bert, x)
    return EncoderOutput(x, pooled), (embeddings_cache, encoder_cache, pooler_cache)


def bert_backward(
    dstates: States, dpooled: Float[ndarray, "batch hidden"], cache: Cache, gradients: Gradients
) -> None:
    embeddings_cache, encoder_cache, pooler_cache = cache
    dx = dstates + pooler_backward(dpooled, pooler_cache, gradients)
    dx = encoder_backward(dx, encoder_cache, gradients)
    embeddings_backward(dx, embeddings_cache, gradients)


# --- The masked-language-model head ---


def mlm_head_forward(
    bert: Bert, states: States, positions: Int[ndarray, "batch masks"]
) -> tuple[Float[ndarray, "slots vocab"], Cache]:
    """Which word stood here? Dense, GELU, layer norm, then the word embeddings once more, as the
    last matrix. Only the masked positions are asked, which saves most of the work of this matrix.

    Picking vectors by their place is a lookup in the table of all of the batch's vectors.
    """
    batch, seq, hidden = states.shape
    places = positions.astype(np.int64) + seq * np.arange(batch)[:, None]  # rows of that table
    x, gather_cache = embedding_forward(places.reshape(-1), states.reshape(-1, hidden))
    x, dense_cache = dense_gelu_forward(bert, "cls.predictions.transform", x)
    x, norm_cache = norm_forward(bert, "cls.predictions.transform.LayerNorm", x)
    decoder, bias = bert.weights[f"{WORDS}.weight"], bert.weights["cls.predictions.bias"]
    logits, decoder_cache = linear_forward(x, decoder, bias)
    bert.watch("cls.predictions", logits)
    return logits, (states.shape, gather_cache, dense_cache, norm_cache, decoder_cache)


def mlm_head_backward(
    dlogits: Float[ndarray, "slots vocab"], cache: Cache, gradients: Gradients
) -> States:
    """The decoder's gradient goes to the word embeddings: the first of their two."""
    shape, gather_cache, dense_cache, norm_cache, decoder_cache = cache
    gradients.watch("cls.predictions", dlogits)
    dx, ddecoder, dbias = linear_backward(dlogits, decoder_cache)
    gradients.add(f"{WORDS}.weight", ddecoder)
    gradients.add("cls.predictions.bias", dbias)
    dx = norm_backward(dx, norm_cache, gradients)
    dx = dense_gelu_backward(dx, dense_cache, gradients)
    return embedding_backward(dx, gather_cache).reshape(shape)


# --- Pretraining: both tasks ---


class Logits(NamedTuple):
    """The scores of every answer, before softmax."""

    words: Float[ndarray, "slots vocab"]  # of each masked slot, the rows of the batch in turn
    pairs: Float[ndarray, "batch 2"]


def logits_forward(bert: Bert, batch: Batch) -> tuple[Logits, Cache]:
    output, bert_cache = bert_forward(bert, batch)
    words, words_cache = mlm_head_forward(bert, output.states, batch["masked_lm_positions"])
    pairs, pairs_cache = dense_forward(bert, "cls.seq_relationship", output.pooled)
    return Logits(words, pairs), (bert_cache, words_cache, pairs_cache)


def logits_backward(dlogits: Logits, cache: Cache, gradients: Gradients) -> None:
    bert_cache, words_cache, pairs_cache = cache
    dpooled = dense_backward(dlogits.pairs, pairs_cache, gradients)
    dstates = mlm_head_backward(dlogits.words, words_cache, gradients)
    bert_backward(dstates, dpooled, bert_cache, gradients)


class Losses(NamedTuple):
    """Both losses of a batch, in nats. Training minimizes their sum (paper, section A.2)."""

    mlm: float
    nsp: float

    @property
    def total(self) -> float:
        return self.mlm + self.nsp


def pretraining_forward(
    bert: Bert, batch: Batch, *, mask_count: float | None = None, pair_count: int | None = None
) -> tuple[Losses, Cache]:
    """Both losses of a batch, and what the backward pass needs.

    The sums over this batch are divided by `mask_count` and `pair_count`. Give those of the whole
    batch when this is a part of it: then the gradients of the parts add up to the whole's. A mean
    of means would give the masks of a short example more weight.
    """
    weights, labels = batch["masked_lm_weights"].reshape(-1), batch["next_sentence_labels"]
    mask_count = float(weights.sum()) if mask_count is None else mask_count
    pair_count = len(labels) if pair_count is None else pair_count
    logits, logits_cache = logits_forward(bert, batch)
    mlm, mlm_cache = cross_entropy_forward(
        logits.words, batch["masked_lm_ids"].reshape(-1), weights, mask_count
    )
    nsp, nsp_cache = cross_entropy_forward(
        logits.pairs, labels, np.ones(len(labels), logits.pairs.dtype), pair_count
    )
    return Losses(mlm, nsp), (logits_cache, mlm_cache, nsp_cache)


def pretraining_backward(cache: Cache, gradients: Gradients | None = None) -> Gradients:
    """∂(mlm + nsp)/∂parameter for every parameter, added to `gradients` when these are given."""
    logits_cache, mlm_cache, nsp_cache = cache
    gradients = Gradients() if gradients is None else gradients
    dwords, dpairs = cross_entropy_backward(mlm_cache), cross_entropy_backward(nsp_cache)
    logits_backward(Logits(dwords, dpairs), logits_cache, gradients)
    return gradients


def losses_and_gradients(
    bert: Bert, batch: Batch, gradients: Gradients | None = None
) -> tuple[Losses, Gradients]:
    """Forward and backward, after a look at every array: one clear error for a wrong one."""
    check_weights(bert.weights, bert.config)
    check_batch(batch, bert.config)
    losses, cache = pretraining_forward(bert, batch)
    return losses, pretraining_backward(cache, gradients)
