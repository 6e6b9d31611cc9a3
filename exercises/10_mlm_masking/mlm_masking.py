"""Masking: some tokens are hidden, and the model must name what stood there."""

import numpy as np
from jaxtyping import Int
from numpy import ndarray

IGNORED = -100  # the label of a token that nobody asks about


def mask_tokens(
    input_ids: Int[ndarray, "batch seq"],
    rng: np.random.Generator,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: list[int],
    rate: float = 0.15,
) -> tuple[Int[ndarray, "batch seq"], Int[ndarray, "batch seq"]]:
    """The ids that the model sees, and the labels that it must find (Devlin et al. 2018, 3.1).

    Each token that is not among `special_ids` is selected with probability `rate`. Of those
    selected, 80% become `mask_id`, 10% a random ordinary token (of the whole vocabulary but
    `special_ids`, all equally likely), and 10% stay as they are. Every token is drawn for by
    itself. The label of a selected token is its id, of all others `IGNORED`. `input_ids` is left
    as it is, both results have its type, and every draw comes from `rng`.
    """
    raise NotImplementedError("write mask_tokens")
