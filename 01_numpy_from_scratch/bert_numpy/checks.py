"""Validate weights and a batch of NumPy arrays before the computing begins.

What they must hold is the same at every level: `bert_run.checks`.
"""

from typing import Any

import numpy as np

from bert_run import checks
from bert_run.config import BertConfig, Weights
from bert_run.errors import UserError

Batch = dict[str, np.ndarray]

FLOATS = ("float32", "float64")
WHOLE = dict.fromkeys(
    ("input_ids", "token_type_ids", "masked_lm_positions", "masked_lm_ids", "next_sentence_labels"),
    "iu",
)
KINDS = {**WHOLE, "attention_mask": "iub", "masked_lm_weights": "f"}  # of NumPy: dtype.kind


def check_weights(weights: Weights, config: BertConfig) -> None:
    """Raise `UserError` unless every parameter is there, of the config's shape, and all are
    float32 or all float64."""
    checks.check_parameters(
        weights, config, check_type=check_parameter, type_of=lambda array: array.dtype.name
    )


def check_parameter(name: str, array: Any) -> None:
    if not isinstance(array, np.ndarray):
        raise UserError(f"{name} is {type(array).__name__}: a NumPy array is needed")
    if array.dtype.name not in FLOATS:
        raise UserError(
            f"{name} is {array.dtype.name}: use float32 or float64 (float16 cannot hold layer "
            "norm's epsilon of 1e-12, and NumPy computes it slowly)"
        )


def check_inputs(batch: Batch, config: BertConfig) -> tuple[int, int]:
    """Raise `UserError` unless the encoder can read the batch; returns (batch, seq)."""
    for name in checks.INPUTS:
        check_type(batch, name)
    return checks.check_inputs(batch, config)


def check_batch(batch: Batch, config: BertConfig) -> None:
    """Raise `UserError` unless the batch has all that pretraining needs, in range."""
    for name in KINDS:
        check_type(batch, name)
    checks.check_batch(batch, config)


def check_type(batch: Batch, name: str) -> None:
    """The entry must be an array of whole or of floating point numbers, as its name asks."""
    array, kinds = checks.need(batch, name), KINDS[name]
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds:
        found = array.dtype.name if isinstance(array, np.ndarray) else type(array).__name__
        wanted = "floating point numbers" if kinds == "f" else "whole numbers"
        raise UserError(f"{name} is {found}: a NumPy array of {wanted} is needed")
    if array.dtype == np.float16:
        raise UserError(f"{name} is float16: use float32 or float64")
