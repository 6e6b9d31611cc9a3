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
    # begin solution
    # Every row gets one spare place at its end. A slot that stays empty points there: it finds a 0
    # and writes where nobody looks. If it pointed to position 0, it could write the original back
    # over a token that another slot has masked.
    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)
    places = choose(
        attention_mask.bool() & ~torch.isin(input_ids, special_ids),
        (attention_mask.sum(dim=1, keepdim=True) * rate).round().clamp(min=1),
        slots,
        generator,
    )
    tokens = roomy.gather(1, places)
    shown = roomy.scatter(1, places, disguised(tokens, generator, mask_id, ordinary_ids))[:, :-1]
    used = places < input_ids.shape[1]
    return shown, places * used, tokens, used.float()
    # end solution


# begin solution
NEVER = 2.0  # larger than every draw


def choose(
    is_candidate: Bool[Tensor, "batch seq"],
    wanted: Float[Tensor, "batch 1"],
    slots: int,
    generator: torch.Generator,
) -> Int[Tensor, "batch {slots}"]:
    """The places of `wanted` candidates of each row, and seq, the spare place, in all other slots.

    Every candidate draws a number, and the smallest ones are masked. So their count is exact, and
    every choice of so many candidates is as likely as any other.
    """
    (batch, seq), device = is_candidate.shape, is_candidate.device
    smallest, found = (
        torch.rand(batch, seq, generator=generator, device=device)  # in [0, 1)
        .masked_fill(~is_candidate, NEVER)
        .topk(slots, largest=False)
    )
    # The number of masks differs from row to row, the shape must not: all rows have as many slots,
    # of which the first ones are used. topk gives the smallest first, so that what is no candidate
    # stands last. Selecting with a boolean index instead would give a tensor whose size is known
    # only when the GPU is done.
    is_wanted = torch.arange(slots, device=device) < wanted
    return torch.where(is_wanted & (smallest < NEVER), found, seq)


def disguised(
    tokens: Int[Tensor, "batch slots"],
    generator: torch.Generator,
    mask_id: int,
    ordinary_ids: Int[Tensor, "ordinary"],
) -> Int[Tensor, "batch slots"]:
    """Each token by itself: `mask_id` with probability 80%, with 10% a random word, with 10%
    itself."""
    # One draw decides the fate of a slot, so that the shares add up; another one picks its word.
    fate, word = (
        torch.randint(count, tokens.shape, generator=generator, device=tokens.device)
        for count in (10, len(ordinary_ids))
    )
    random_words = ordinary_ids.to(tokens.dtype)[word]
    # 0 becomes a random word, 1 to 8 [MASK], 9 stays.
    return torch.where(fate < 1, random_words, torch.where(fate < 9, mask_id, tokens))


# Wrong answers that are common:
# - a loop over the rows, or `.item()`, `.tolist()`, `.nonzero()`, a boolean index: each waits for
#   the GPU;
# - new tensors without `device=`: they lie on the CPU;
# - a draw for every token and a threshold: 15% on average, but another count in each row, so that
#   slots overflow, and those cut off are always the last of the row: positions are biased;
# - a stretch of neighbors that begins at a random place: every position is as likely, every choice
#   is not;
# - the count taken from the candidates, or from the padded length;
# - "random" and "kept" drawn independently: 80/2/18;
# - an empty slot that writes to position 0, or that has weight 1;
# - the original looked up after the tokens were replaced;
# - torch.rand without the generator that was handed in: the masks of a run cannot be made again.
# end solution
