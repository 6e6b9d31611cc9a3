"""Validate weights and a batch before computing begins: names, types, shapes and ranges. A level
says what type an entry has and which types it computes with. All functions raise `UserError`."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bert_run.config import BertConfig, parameter_shapes
from bert_run.errors import UserError

FLOATS = ("float32", "float64")
ENTRIES = ("input_ids", "token_type_ids", "attention_mask", "masked_lm_positions", "masked_lm_ids",
           "masked_lm_weights", "next_sentence_labels")  # fmt: skip
Arrays = Mapping[str, np.ndarray]
TypeOf = Callable[[Any], str]  # the name of an array's type, "float32"; else that of the class


def check_parameters(weights: Mapping[str, Any], config: BertConfig, *, type_of: TypeOf) -> None:
    """Every parameter must be there, of the config's shape, and all float32 or all float64."""
    for name, shape in parameter_shapes(config).items():
        if name not in weights:
            raise UserError(f"the weights lack {name}: were they made for another config?")
        if (found := type_of(weights[name])) not in FLOATS:
            raise UserError(f"{name} is {found}: use float32 or float64 (shorter types lose "
                            "small steps)")  # fmt: skip
        if (found := tuple(weights[name].shape)) != shape:
            raise UserError(f"{name} has shape {found}, the config asks for {shape}")
    check_alike(weights, config, of=type_of, advice="take one type")


def check_alike(weights: Mapping[str, Any], config: BertConfig, *, of: Callable[[Any], str],
                advice: str) -> None:  # fmt: skip
    """All parameters must be of one type, or on one device: what `of` says of each."""
    found = sorted({of(weights[name]) for name in parameter_shapes(config)})
    if len(found) > 1:
        raise UserError(f"the weights are partly {' and partly '.join(found)}: {advice}")


def check_types(batch: Mapping[str, Any], *, type_of: TypeOf, whole: tuple[str, ...]) -> None:
    """Every entry must be there; `whole` are the types of ids."""
    for name in ENTRIES:
        if name not in batch:
            has = ", ".join(sorted(batch)) or "nothing"
            raise UserError(f"the batch lacks {name}: it has {has}")
        kinds = FLOATS if name == "masked_lm_weights" else whole
        if name == "attention_mask":
            kinds = (*whole, "int32", "bool")
        if (found := type_of(batch[name])) not in kinds:
            raise UserError(f"{name} is {found}: {' or '.join(kinds[:3])} is needed")


def check_inputs(batch: Arrays, config: BertConfig) -> tuple[int, int]:
    """What the encoder reads; returns (batch, seq)."""
    ids = batch["input_ids"]
    if ids.ndim != 2 or ids.size == 0:
        raise UserError(f"input_ids has shape {ids.shape}: (batch, seq) is needed, neither empty")
    check_shape(batch, "token_type_ids", ids.shape)
    check_shape(batch, "attention_mask", ids.shape)
    if ids.shape[1] > config.max_position_embeddings:
        raise UserError(f"input_ids has rows of {ids.shape[1]} tokens, the model has "
                        f"{config.max_position_embeddings} positions: shorten them")  # fmt: skip
    check_range(batch, "input_ids", "token id", config.vocab_size, "the vocabulary",
                "was the text encoded with another tokenizer?")  # fmt: skip
    check_range(batch, "token_type_ids", "segment", config.type_vocab_size, "the segments",
                "0 is the first sentence, 1 the second")  # fmt: skip
    check_range(batch, "attention_mask", "value", 2, "0 and 1", "1 is a token, 0 is padding")
    return ids.shape


def check_batch(batch: Arrays, config: BertConfig) -> None:
    """All that pretraining needs."""
    rows, seq = check_inputs(batch, config)
    positions, weights = batch["masked_lm_positions"], batch["masked_lm_weights"]
    if positions.ndim != 2 or len(positions) != rows:
        raise UserError(f"masked_lm_positions has shape {positions.shape}: ({rows}, masks) is "
                        "needed")  # fmt: skip
    check_shape(batch, "masked_lm_ids", positions.shape)
    check_shape(batch, "masked_lm_weights", positions.shape)
    check_shape(batch, "next_sentence_labels", (rows,))
    check_range(batch, "masked_lm_positions", "position", seq, "the rows", "positions count from 0")
    check_range(batch, "masked_lm_ids", "label", config.vocab_size, "the vocabulary",
                "unused slots hold 0 and have weight 0, not -100")  # fmt: skip
    check_range(batch, "next_sentence_labels", "label", 2, "0 and 1",
                "0 is the next sentence, 1 a random one")  # fmt: skip
    if place := first_place(~(weights >= 0) | np.isinf(weights)):
        raise UserError(f"masked_lm_weights{list(place)} is {weights[place]:g}: weights are 0 or "
                        "more, and finite")  # fmt: skip
    if not weights.any():
        raise UserError("masked_lm_weights must not be all 0: then no token is asked for")
    is_padding = np.take_along_axis(batch["attention_mask"], positions.astype(np.int64), 1) == 0
    if place := first_place(is_padding & (weights > 0)):
        raise UserError(f"masked_lm_positions{list(place)} is {positions[place]}, which is "
                        "padding: give unused slots weight 0")  # fmt: skip


def check_shape(batch: Arrays, name: str, shape: tuple[int, ...]) -> None:
    if batch[name].shape != shape:
        raise UserError(f"{name} has shape {batch[name].shape}, {shape} is needed")


def check_range(batch: Arrays, name: str, what: str, limit: int, range_name: str,
                hint: str) -> None:  # fmt: skip
    """Every entry must lie in [0, limit)."""
    array = batch[name]
    if place := first_place((array < 0) | (array >= limit)):
        raise UserError(f"{name}{list(place)}: {what} {array[place]} is outside {range_name} "
                        f"({limit} entries): {hint}")  # fmt: skip


def first_place(where: np.ndarray) -> tuple[int, ...] | None:
    """The indices of the first entry that is true; None if there is none."""
    return tuple(int(i) for i in np.argwhere(where)[0]) if where.any() else None
