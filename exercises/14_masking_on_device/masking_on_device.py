"""Masking where the batch is: tensor operations alone, and as many masks in each row as it asks
for."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


def mask_on_device(
    input_ids: Int[Tensor, "batch seq"],
    attention_mask: Int[Tensor, "batch seq"],
    generator: torch.Generator,
    *,
    mask_id: int,
    special_ids: Int[Tensor, "specials"],
    ordinary_ids: Int[Tensor, "ordinary"],
    slots: int,
    rate: float = 0.15,
) -> tuple[
    Int[Tensor, "batch seq"],
    Int[Tensor, "batch {slots}"],
    Int[Tensor, "batch {slots}"],
    Float[Tensor, "batch {slots}"],
]:
    """What the model sees, and for each of the `slots` of a row: the position that is masked, the
    token that stood there, and the weight 1 (`masked_lm_positions`, `_ids` and `_weights` of the
    course's batches).

    A row of n tokens (those of `attention_mask` 1) gets max(1, round(`rate` · n)) masks, but no
    more than `slots` (from 1 to seq), and no more than it has candidates: tokens not among
    `special_ids`. Empty slots have position, token and weight 0. Positions are int64, weights
    float32, ids and tokens have the type of `input_ids`. Of the masked tokens, 80% show `mask_id`,
    10% one of `ordinary_ids`, all equally likely, and 10% themselves.

    No tensor is asked for its values, and no shape depends on values: nothing waits for a GPU.
    """
    raise NotImplementedError("write mask_on_device")
