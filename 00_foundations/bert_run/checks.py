"""Validate weights and a batch before the computing begins: names, shapes and ranges.

A level says what its arrays are, NumPy's or tensors, and of which types; this is the same for all.
Every function raises `UserError`, which names the array, the value and the way out.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bert_run.config import BertConfig, parameter_shapes
from bert_run.errors import UserError

INPUTS = ("input_ids", "token_type_ids", "attention_mask")
Arrays = Mapping[str, np.ndarray]


def check_parameters(
    weights: Mapping[str, Any],
    config: BertConfig,
    *,
    check_type: Callable[[str, Any], None],
    type_of: Callable[[Any], str],
) -> None:
    """Every parameter must be there, of the config's shape, and all of one type.

    `check_type` raises `UserError` for one that is no array of the level, or of a wrong type.
    """
    for name, shape in parameter_shapes(config).items():
        if name not in weights:
            raise UserError(f"the weights lack {name}: were they made for another config?")
        check_type(name, weights[name])
        found = tuple(weights[name].shape)
        if found != shape:
            raise UserError(f"{name} has shape {found}, the config asks for {shape}")
    check_alike(weights, config, of=type_of, advice="take one type")


def check_alike(
    weights: Mapping[str, Any], config: BertConfig, *, of: Callable[[Any], str], advice: str
) -> None:
    """All parameters must be of one type, or on one device: what `of` says of each."""
    found = sorted({of(weights[name]) for name in parameter_shapes(config)})
    if len(found) > 1:
        raise UserError(f"the weights are partly {' and partly '.join(found)}: {advice}")


def need(batch: Mapping[str, Any], name: str) -> Any:
    """The entry of a batch."""
    if name not in batch:
        raise UserError(f"the batch lacks {name}: it has {', '.join(sorted(batch)) or 'nothing'}")
    return batch[name]


def check_inputs(batch: Arrays, config: BertConfig) -> tuple[int, int]:
    """What the encoder reads; returns (batch, seq)."""
    ids = batch["input_ids"]
    if ids.ndim != 2 or ids.size == 0:
        raise UserError(f"input_ids has shape {ids.shape}: (batch, seq) is needed, neither empty")
    check_shape(batch, "token_type_ids", ids.shape)
    check_shape(batch, "attention_mask", ids.shape)
    if ids.shape[1] > config.max_position_embeddings:
        raise UserError(
            f"input_ids has rows of {ids.shape[1]} tokens, the model has "
            f"{config.max_position_embeddings} positions: shorten the rows"
        )
    check_range(batch, "input_ids", "token id", config.vocab_size, "the vocabulary",
                "was the text encoded with another tokenizer?")  # fmt: skip
    check_range(batch, "token_type_ids", "segment", config.type_vocab_size, "the segments",
                "0 is the first sentence, 1 the second")  # fmt: skip
    check_range(batch, "attention_mask", "value", 2, "0 and 1",
                "1 is a token, 0 is padding")  # fmt: skip
    return ids.shape


def check_batch(batch: Arrays, config: BertConfig) -> None:
    """All that pretraining needs."""
    rows, seq = check_inputs(batch, config)
    positions, weights = batch["masked_lm_positions"], batch["masked_lm_weights"]
    if positions.ndim != 2 or len(positions) != rows:
        raise UserError(
            f"masked_lm_positions has shape {positions.shape}: ({rows}, masks) is needed"
        )
    check_shape(batch, "masked_lm_ids", positions.shape)
    check_shape(batch, "masked_lm_weights", positions.shape)
    check_shape(batch, "next_sentence_labels", (rows,))
    check_range(batch, "masked_lm_positions", "position", seq, "the rows",
                "positions count from 0")  # fmt: skip
    check_range(batch, "masked_lm_ids", "label", config.vocab_size, "the vocabulary",
                "unused slots hold 0 and have weight 0, not -100")  # fmt: skip
    check_range(batch, "next_sentence_labels", "label", 2, "0 and 1",
                "0 is the next sentence, 1 a random one")  # fmt: skip
    if place := first_place(~(weights >= 0) | np.isinf(weights)):
        raise UserError(
            f"masked_lm_weights{list(place)} is {weights[place]:g}: weights are 0 or more, and "
            "finite"
        )
    if not weights.any():
        raise UserError("masked_lm_weights must not be all 0: then no token is asked for")
    is_padding = np.take_along_axis(batch["attention_mask"], positions.astype(np.int64), 1) == 0
    if place := first_place(is_padding & (weights > 0)):
        raise UserError(
            f"masked_lm_positions{list(place)} is {positions[place]}, which is padding: give "
            "unused slots weight 0"
        )


def check_shape(batch: Arrays, name: str, shape: tuple[int, ...]) -> None:
    if batch[name].shape != shape:
        raise UserError(f"{name} has shape {batch[name].shape}, {shape} is needed")


def check_range(
    batch: Arrays, name: str, what: str, limit: int, range_name: str, hint: str
) -> None:
    """Every entry must lie in [0, limit)."""
    array = batch[name]
    if place := first_place((array < 0) | (array >= limit)):
        raise UserError(
            f"{name}{list(place)}: {what} {array[place]} is outside {range_name} "
            f"({limit} entries): {hint}"
        )


def first_place(where: np.ndarray) -> tuple[int, ...] | None:
    """The indices of the first entry that is true; None if there is none."""
    return tuple(int(i) for i in np.argwhere(where)[0]) if where.any() else None
