"""Validate weights and a batch of NumPy arrays before the computing begins.

What they must hold is the same at every level: `bert_run.checks`.
"""

from typing import Any

import numpy as np

from bert_run import checks
from bert_run.config import BertConfig, Weights

Batch = dict[str, np.ndarray]

WHOLE = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")


def type_of(array: Any) -> str:
    is_array = isinstance(array, np.ndarray)
    return array.dtype.name if is_array else f"{type(array).__name__}, not a NumPy array"


def check_weights(weights: Weights, config: BertConfig) -> None:
    """Raise `UserError` unless every parameter is there, of the config's shape, and all are
    float32 or all float64."""
    checks.check_parameters(weights, config, type_of=type_of)


def check_batch(batch: Batch, config: BertConfig) -> None:
    """Raise `UserError` unless the batch has all that pretraining needs, in range."""
    checks.check_types(batch, type_of=type_of, whole=WHOLE)
    checks.check_batch(batch, config)
