"""Masking for the masked language model (paper, section 3.1).

Of the tokens of an example, 15% are chosen; [CLS], [SEP] and padding never. A chosen token becomes
[MASK] in 80% of cases, a random word in 10%, and stays as it is in 10%. The model must name what
stood there in all three cases. The random word is an ordinary one: the released code draws from the
whole vocabulary, special tokens included.

Every draw is a hash of (seed, index of the example, position), so an example has the same masks in
whatever batch it stands, and the same at every level of the course.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from bert_corpus.pairs import random_bits
from bert_numpy.checks import Batch
from bert_run.config import MaskingRecipe

PAPER = MaskingRecipe()
NEVER = 2.0  # above any draw of [0, 1)
MASKING_STREAM = 15  # keeps these draws apart from those that made the pairs


def mask_tokens(batch: Batch, *, mask_id: int, ordinary_ids: Int[ndarray, "ordinary"], seed: int,
                recipe: MaskingRecipe = PAPER) -> Batch:  # fmt: skip
    """A batch of pairs, masked: a new dict, whose arrays replace or join those of `batch`.

    Adds `masked_lm_positions`, `masked_lm_ids` and `masked_lm_weights` (batch, masks). Every row
    has the same number of slots; a short row leaves slots unused, with weight 0 and position 0.
    """
    input_ids, attention_mask = batch["input_ids"], batch["attention_mask"]
    slots = recipe.max_predictions(input_ids.shape[1])
    draws = uniforms(seed, batch["example_index"], 3 * input_ids.shape[1])
    draw_choice, draw_fate, draw_word = np.split(draws, 3, axis=1)  # (batch, seq) each

    # The candidates with the smallest draws are chosen: exactly as many as the row should have.
    scores = np.where(maskable(batch), draw_choice, NEVER)
    positions = np.argsort(scores, axis=1, kind="stable")[:, :slots]  # (batch, masks)
    smallest = np.take_along_axis(scores, positions, axis=1)
    lengths = attention_mask.sum(axis=1, keepdims=True).astype(np.float32)
    wanted = np.maximum(np.round(lengths * np.float32(recipe.masked_lm_prob)), 1)
    used = (np.arange(slots) < wanted) & (smallest < NEVER)  # (batch, masks)
    positions = positions * used

    original = np.take_along_axis(input_ids, positions, axis=1)
    fate = np.take_along_axis(draw_fate, positions, axis=1)
    word_draw = np.take_along_axis(draw_word, positions, axis=1)
    word = ordinary_ids[(word_draw * np.float32(len(ordinary_ids))).astype(np.int64)]
    shown = np.where(fate < recipe.mask_share, mask_id, original)
    is_random = (fate >= recipe.mask_share) & (fate < recipe.mask_share + recipe.random_share)
    shown = np.where(is_random, word, shown)
    masked_ids = input_ids.copy()
    rows, used_slots = np.nonzero(used)
    masked_ids[rows, positions[rows, used_slots]] = shown[rows, used_slots]
    return {
        **batch,
        "input_ids": masked_ids,
        "masked_lm_positions": positions,
        "masked_lm_ids": original * used,
        "masked_lm_weights": used.astype(np.float32),
    }


def maskable(batch: Batch) -> Bool[ndarray, "batch seq"]:
    """Where a token may be masked: not on [CLS], not on either [SEP], not on padding."""
    is_token, segments = batch["attention_mask"].astype(bool), batch["token_type_ids"]
    # The last token of a run is the [SEP] that closes it; next comes another segment, or padding.
    next_segment = np.pad(segments[:, 1:], ((0, 0), (0, 1)), constant_values=-1)
    next_is_token = np.pad(is_token[:, 1:], ((0, 0), (0, 1)))
    closes_segment = (next_segment != segments) | ~next_is_token
    is_first = np.arange(segments.shape[1]) == 0
    return is_token & ~closes_segment & ~is_first


def uniforms(
    seed: int, index: Int[ndarray, "batch"], draws: int
) -> Float[ndarray, "batch {draws}"]:
    """`draws` numbers uniform in [0, 1) for each index, of 24 bits: exact in float32, so that
    every level computes the same ones."""
    bits = random_bits(seed, index, draws, stream=MASKING_STREAM) >> np.uint64(40)
    return bits.astype(np.float32) * np.float32(2**-24)
