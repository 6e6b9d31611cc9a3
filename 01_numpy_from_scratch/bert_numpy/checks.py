"""What is looked at before the maths begins, so that a wrong array is named at the door."""

import numpy as np

from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.parameters import Weights, parameter_shapes

Batch = dict[str, np.ndarray]

FLOATS = ("float32", "float64")


def check_weights(weights: Weights, config: BertConfig) -> None:
    """Raise `UserError` unless every parameter is there, of the config's shape, and all are
    float32 or all float64."""
    for name, shape in parameter_shapes(config).items():
        if name not in weights:
            raise UserError(f"the weights lack {name}: were they made for another config?")
        array = weights[name]
        if not isinstance(array, np.ndarray):
            raise UserError(f"{name} is {type(array).__name__}: a NumPy array is needed")
        if array.shape != shape:
            raise UserError(f"{name} has shape {array.shape}, the config asks for {shape}")
        if array.dtype.name not in FLOATS:
            raise UserError(
                f"{name} is {array.dtype.name}: use float32 or float64 (float16 cannot hold "
                "layer norm's epsilon of 1e-12, and NumPy computes it slowly)"
            )
    types = sorted({weights[name].dtype.name for name in parameter_shapes(config)})
    if len(types) > 1:
        raise UserError(f"the weights are partly {' and partly '.join(types)}: take one type")


def check_inputs(batch: Batch, config: BertConfig) -> tuple[int, int]:
    """Look at what the encoder reads; returns (batch, seq)."""
    ids = need(batch, "input_ids", "iu")
    if ids.ndim != 2 or ids.size == 0:
        raise UserError(f"input_ids has shape {ids.shape}: (batch, seq) is needed, neither empty")
    need(batch, "token_type_ids", "iu", shape=ids.shape)
    need(batch, "attention_mask", "iub", shape=ids.shape)
    if ids.shape[1] > config.max_position_embeddings:
        raise UserError(
            f"input_ids has rows of {ids.shape[1]} tokens, the model has "
            f"{config.max_position_embeddings} positions: shorten the rows"
        )
    check_range(ids, "input_ids", "token id", config.vocab_size, "the vocabulary",
                "was the text encoded with another tokenizer?")  # fmt: skip
    check_range(batch["token_type_ids"], "token_type_ids", "segment", config.type_vocab_size,
                "the segments", "0 is the first sentence, 1 the second")  # fmt: skip
    check_range(batch["attention_mask"], "attention_mask", "value", 2, "0 and 1",
                "1 is a token, 0 is padding")  # fmt: skip
    return ids.shape


def check_batch(batch: Batch, config: BertConfig) -> None:
    """Raise `UserError` unless the batch has all that pretraining needs, in range."""
    rows, seq = check_inputs(batch, config)
    positions = need(batch, "masked_lm_positions", "iu")
    if positions.ndim != 2 or len(positions) != rows:
        raise UserError(
            f"masked_lm_positions has shape {positions.shape}: ({rows}, masks) is needed"
        )
    need(batch, "masked_lm_ids", "iu", shape=positions.shape)
    weights = need(batch, "masked_lm_weights", "f", shape=positions.shape)
    need(batch, "next_sentence_labels", "iu", shape=(rows,))
    check_range(positions, "masked_lm_positions", "position", seq, "the rows",
                "positions count from 0")  # fmt: skip
    check_range(batch["masked_lm_ids"], "masked_lm_ids", "label", config.vocab_size,
                "the vocabulary", "unused slots hold 0 and have weight 0, not -100")  # fmt: skip
    check_range(batch["next_sentence_labels"], "next_sentence_labels", "label", 2, "0 and 1",
                "0 is the next sentence, 1 a random one")  # fmt: skip
    wrong = ~(weights >= 0) | np.isinf(weights)
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise UserError(
            f"masked_lm_weights[{row}, {slot}] is {weights[row, slot]}: weights are 0 or more, "
            "and finite"
        )
    if weights.sum() == 0:
        raise UserError("masked_lm_weights must not be all 0: then no token is asked for")
    on_padding = (np.take_along_axis(batch["attention_mask"], positions, axis=1) == 0) & (
        weights > 0
    )
    if on_padding.any():
        row, slot = np.argwhere(on_padding)[0]
        raise UserError(
            f"masked_lm_positions[{row}, {slot}] is {positions[row, slot]}, which is padding: "
            "give unused slots weight 0"
        )


def need(batch: Batch, name: str, kinds: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """An array of the batch, of the wanted kind ("i" integers, "f" floats) and shape."""
    if name not in batch:
        raise UserError(f"the batch lacks {name}: it has {', '.join(sorted(batch)) or 'nothing'}")
    array = batch[name]
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds:
        found = array.dtype.name if isinstance(array, np.ndarray) else type(array).__name__
        wanted = "floating point numbers" if kinds == "f" else "whole numbers"
        raise UserError(f"{name} is {found}: a NumPy array of {wanted} is needed")
    if array.dtype == np.float16:
        raise UserError(f"{name} is float16: use float32 or float64")
    if shape is not None and array.shape != shape:
        raise UserError(f"{name} has shape {array.shape}, {shape} is needed")
    return array


def check_range(
    array: np.ndarray, name: str, what: str, limit: int, range_name: str, hint: str
) -> None:
    """Every entry must lie in [0, limit)."""
    wrong = (array < 0) | (array >= limit)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise UserError(
            f"{name}{list(place)}: {what} {array[place]} is outside {range_name} "
            f"({limit} entries): {hint}"
        )
