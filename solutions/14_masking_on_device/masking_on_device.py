"""Masking where the batch is: tensor operations alone, and as many masks in each row as it asks
for."""

import torch
from jaxtyping import Float, Int
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
    token that stood there, and the weight, 1 (`masked_lm_positions`, `_ids` and `_weights` of the
    course's batches).

    A row of n tokens (those of `attention_mask` 1) gets max(1, round(`rate` · n)) masks, but no
    more than `slots`, and no more than it has candidates: tokens not among `special_ids`. Slots
    that stay empty have position, token and weight 0. Positions are int64, weights float32, ids and
    tokens have the type of `input_ids`. Of those masked, 80% show `mask_id`, 10% one
    of `ordinary_ids`, each as likely as the other, and 10% themselves.

    Shapes depend on shapes alone, and no tensor is asked for its values: nothing waits for a GPU.
    """
    # begin solution
    shape, device = input_ids.shape, input_ids.device

    def draw(*size: int) -> Tensor:
        return torch.rand(*size, generator=generator, device=device)  # in [0, 1), on the device

    # Which: every candidate draws a number, and the smallest ones are masked. So their count is
    # exact, and every choice of so many candidates is as likely as any other. What may not be
    # chosen gets a number that no draw reaches.
    candidate = attention_mask.bool() & ~torch.isin(input_ids, special_ids)
    smallest, positions = draw(*shape).masked_fill(~candidate, 2.0).topk(slots, largest=False)

    # How many: the number of masks differs from row to row, the shape must not. All rows have as
    # many slots, of which the first ones are used. topk gives the smallest first, so that what is
    # no candidate stands last. Selecting with a boolean index instead would give a tensor whose
    # size is known only when the GPU is done.
    wanted = (attention_mask.sum(dim=1, keepdim=True) * rate).round().clamp(min=1)
    used = (torch.arange(slots, device=device) < wanted) & (smallest < 2.0)  # (batch, slots)
    positions = positions * used

    # What becomes of them: one draw for the fate of a slot, so that the shares add up.
    original = input_ids.gather(1, positions)
    fate, draw_word = draw(*used.shape), draw(*used.shape)
    # A float32 below 1 times n can round up to n, one past the end, if n is large: hence the clamp.
    word = ordinary_ids[(draw_word * len(ordinary_ids)).long().clamp(max=len(ordinary_ids) - 1)]
    shown = torch.where(fate < 0.8, mask_id, original)
    shown = torch.where((fate >= 0.8) & (fate < 0.9), word.to(original.dtype), shown)
    # An empty slot points to position 0, where a used one may stand as well if no special token
    # does: written there, it could put the original back. It writes to a column of its own, which
    # is cut off again.
    target = torch.where(used, positions, shape[1])
    roomy = torch.cat([input_ids, input_ids[:, :1]], dim=1)
    masked = roomy.scatter(1, target, shown)[:, :-1]
    return masked, positions, original * used, used.float()
    # end solution


# begin solution
# Wrong answers that are common:
# - a loop over the rows, or `.item()`, `.tolist()`, `.nonzero()`: each waits for the GPU;
# - a draw for every token and a threshold: 15% on average, but another count in each row, so that
#   slots overflow, and those cut off are always the last of the row: positions are biased;
# - the count taken from the candidates, or from the padded length;
# - "random" and "kept" drawn independently: 80/2/18;
# - an empty slot that writes to position 0, or that has weight 1;
# - the original looked up after the tokens were replaced;
# - torch.rand without the generator that was handed in: the masks of a run cannot be made again.
# end solution
