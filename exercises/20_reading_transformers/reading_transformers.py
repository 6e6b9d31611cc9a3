"""Any BERT checkpoint, in whatever names and layout, read into the names of the course.

A checkpoint is a dict of arrays. The course's names are those of today's
`transformers.BertForPreTraining`; the matrix that names words is the word embeddings, and has no
name of its own.
"""

import math
import re

import numpy as np
from numpy import ndarray

Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, ndarray]


def parameter_shapes(config: dict) -> Shapes:
    """Name and shape of every parameter, from the input upwards, the heads last.

    `config` holds the fields of a `config.json`: V = vocab_size, H = hidden_size,
    L = num_hidden_layers, I = intermediate_size, P = max_position_embeddings,
    S = type_vocab_size, and others that do not matter here.
    """
    raise NotImplementedError("write parameter_shapes")


def common_name(name: str) -> str:
    """The course's name for a parameter, whoever named it; see the table in the README.

    A name to which no line of the table applies stays as it is.
    """
    raise NotImplementedError("write common_name")


def read_checkpoint(
    arrays: Weights, config: dict
) -> tuple[Weights, list[str], list[str], list[str]]:
    """The weights under the course's names; and what is wrong: missing, unexpected, wrong_shape.

    `missing` are names that `config` asks for and nothing gives, in the order of
    `parameter_shapes`; `unexpected` are names of the checkpoint, as they stand there and in its
    order, that belong to nothing; `wrong_shape` are names of the course whose array has another
    shape than the config asks for, in the order of `parameter_shapes`. They are neither among the
    weights nor missing.
    """
    raise NotImplementedError("write read_checkpoint")


def count_parameters(config: dict) -> int:
    """How many numbers BERT has, both heads included."""
    raise NotImplementedError("write count_parameters")
