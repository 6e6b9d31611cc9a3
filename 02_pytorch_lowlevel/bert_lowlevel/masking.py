"""Masking for the masked language model (paper, section 3.1), on the device, as the data pass by.

Of the tokens of an example, 15% are chosen; [CLS], [SEP] and padding never. A chosen token becomes
[MASK] in 80% of cases, a random word in 10%, and stays as it is in 10%. The model must name what
stood there in all three cases. The random word is an ordinary one: the released code draws from the
whole vocabulary, special tokens included.

Every draw is a hash of (seed, index of the example, position), made by `uniforms` of
`bert_run.device`: an example has the same masks on whatever device, in whatever batch, and at every
level of the course.

No operation here synchronizes with the GPU: none asks a tensor for its values. Output shapes depend
only on input shapes, so `torch.compile` compiles once.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from bert_lowlevel.model import TensorBatch
from bert_run.config import MaskingRecipe
from bert_run.device import uniforms

PAPER = MaskingRecipe()
NEVER = 2.0  # above any draw of [0, 1)


def mask_tokens(
    batch: TensorBatch, *, mask_id: int, ordinary_ids: Int[Tensor, "ordinary"], seed: int,
    recipe: MaskingRecipe = PAPER,
) -> TensorBatch:  # fmt: skip
    """A batch of pairs, masked: a new dict, whose tensors replace or join those of `batch`.

    Adds `masked_lm_positions`, `masked_lm_ids` and `masked_lm_weights` (batch, masks). Every row
    has the same number of slots; a short row leaves slots unused, with weight 0 and position 0.
    """
    input_ids, attention_mask = batch["input_ids"], batch["attention_mask"]
    slots = recipe.max_predictions(input_ids.shape[1])
    draws = uniforms(seed, batch["example_index"], 3 * input_ids.shape[1])
    draw_choice, draw_fate, draw_word = draws.chunk(3, dim=1)  # (batch, seq) each

    # The candidates with the smallest draws are chosen: exactly as many as the row should have.
    # Of equal draws, which 24 bits allow, the first one comes first: hence `stable`.
    scores = draw_choice.masked_fill(~maskable(batch), NEVER)
    smallest, positions = scores.sort(dim=1, stable=True)
    smallest, positions = smallest[:, :slots], positions[:, :slots]  # (batch, masks)
    wanted = (attention_mask.sum(dim=1, keepdim=True) * recipe.masked_lm_prob).round().clamp(min=1)
    used = (torch.arange(slots, device=wanted.device) < wanted) & (smallest < NEVER)
    positions = positions * used

    original = input_ids.gather(1, positions)
    fate, word_draw = draw_fate.gather(1, positions), draw_word.gather(1, positions)
    word = ordinary_ids[(word_draw * len(ordinary_ids)).long()]
    is_hidden = fate < recipe.mask_share
    is_random = ~is_hidden & (fate < recipe.mask_share + recipe.random_share)
    shown = torch.where(is_hidden & used, mask_id, original)
    shown = torch.where(is_random & used, word, shown)
    return {
        **batch,
        # An unused slot writes [CLS] where it stands already.
        "input_ids": input_ids.scatter(1, positions, shown),
        "masked_lm_positions": positions,
        "masked_lm_ids": original * used,
        "masked_lm_weights": used.float(),
    }


def maskable(batch: TensorBatch) -> Bool[Tensor, "batch seq"]:
    """Where a token may be masked: not on [CLS], not on either [SEP], not on padding."""
    is_token, segments = batch["attention_mask"].bool(), batch["token_type_ids"]
    # The last token of a run is the [SEP] that closes it; next comes another segment, or padding.
    next_segment = F.pad(segments[:, 1:], (0, 1), value=-1)
    next_is_token = F.pad(is_token[:, 1:], (0, 1), value=False)
    closes_segment = (next_segment != segments) | ~next_is_token
    is_first = torch.arange(segments.shape[1], device=segments.device) == 0
    return is_token & ~closes_segment & ~is_first
