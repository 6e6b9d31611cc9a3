"""Fill-ins of 02/02, masking on the device."""

import torch
from torch import Tensor

from bert_experiments.fill_in import FillIn

DRAWS = torch.tensor([[0.30, 0.10, 0.70, 0.20, 0.90, 0.50], [0.05, 0.60, 0.40, 0.80, 0.15, 0.95]])
MAY = torch.tensor([[False, True, True, True, True, False], [False, True, True, True, False, True]])

choose = FillIn(
    "choose",
    reference=lambda draws, may, count: draws.masked_fill(~may, 2.0).topk(count, largest=False)[1],
    instead="the two lines of the solution",
    inputs=[(DRAWS, MAY, 2), (DRAWS, MAY, 1)],
    mistakes={
        "the largest draws are chosen: topk needs largest=False, and the forbidden ones a 2": (
            lambda draws, may, count: draws.masked_fill(~may, -1.0).topk(count)[1]
        ),
        "the tokens that must not be chosen are not excluded": (
            lambda draws, may, count: draws.topk(count, largest=False)[1]
        ),
        "the mask is the wrong way round: the tokens that may be chosen got the 2": (
            lambda draws, may, count: draws.masked_fill(may, 2.0).topk(count, largest=False)[1]
        ),
        "the draw 2.0 wins here: topk takes the largest unless it is told largest=False": (
            lambda draws, may, count: draws.masked_fill(~may, 2.0).topk(count)[1]
        ),
        "these are the draws themselves: return their positions, .indices": (
            lambda draws, may, count: draws.masked_fill(~may, 2.0).topk(count, largest=False)[0]
        ),
    },
)


def wanted(lengths: Tensor) -> Tensor:
    return (0.15 * lengths).round().clamp(min=1)


slots_in_use = FillIn(
    "slots_in_use",
    reference=lambda lengths, slots: torch.arange(slots) < wanted(lengths),
    instead="the comparison of the solution",
    inputs=[(torch.tensor([[16], [11], [4], [2]]), 3), (torch.tensor([[24], [9], [3]]), 4)],
    mistakes={
        "one slot too many: slot 0 is the first, so compare with < and not with <=": (
            lambda lengths, slots: torch.arange(slots) <= wanted(lengths)
        ),
        "a short row gets no mask at all: each row needs at least one, .clamp(min=1)": (
            lambda lengths, slots: torch.arange(slots) < (0.15 * lengths).round()
        ),
        "the number is cut off, not rounded": (
            lambda lengths, slots: torch.arange(slots) < (0.15 * lengths).floor().clamp(min=1)
        ),
        "the number is not rounded: 2.4 tokens are two, so slot 2 is not used": (
            lambda lengths, slots: torch.arange(slots) < 0.15 * lengths
        ),
    },
)

FATE = torch.tensor([[0.31, 0.85, 0.95, 0.05, 0.79], [0.80, 0.90, 0.89, 0.10, 0.15]])
ORIGINAL, WORD = torch.arange(5, 15).reshape(2, 5), torch.arange(15, 25).reshape(2, 5)

shown_tokens = FillIn(
    "shown_tokens",
    reference=lambda fate, original, word, mask_id: torch.where(
        fate < 0.8, mask_id, torch.where(fate < 0.9, word, original)
    ),
    instead="the expression of the solution",
    inputs=[(FATE, ORIGINAL, WORD, 4), (FATE[:1], ORIGINAL[:1], WORD[:1], 103)],
    mistakes={
        "the random word and the original are swapped": (
            lambda fate, original, word, mask_id: torch.where(
                fate < 0.8, mask_id, torch.where(fate < 0.9, original, word)
            )
        ),
        "`fate < 0.9` is tested last and wins: it is true below 0.8, too": (
            lambda fate, original, word, mask_id: torch.where(
                fate < 0.9, word, torch.where(fate < 0.8, mask_id, original)
            )
        ),
        "nothing is kept: every token that is not [MASK] became random": (
            lambda fate, original, word, mask_id: torch.where(fate < 0.8, mask_id, word)
        ),
        "nothing is replaced: every token that is not [MASK] was kept": (
            lambda fate, original, word, mask_id: torch.where(fate < 0.8, mask_id, original)
        ),
    },
)

IDS = torch.tensor([[2, 5, 6, 7, 8, 3], [2, 9, 10, 11, 3, 0]])
POSITIONS = torch.tensor([[1, 4], [3, 0]])
SHOWN = torch.tensor([[4, 12], [4, 0]])
USED = torch.tensor([[True, True], [True, False]])


def write_back_reference(ids: Tensor, positions: Tensor, shown: Tensor, used: Tensor) -> Tensor:
    return ids.scatter(1, positions, torch.where(used, shown, ids.gather(1, positions)))


def written_at(ids: Tensor, positions: Tensor, tokens: Tensor) -> Tensor:
    return ids.scatter(1, positions, tokens)


write_back = FillIn(
    "write_back",
    reference=write_back_reference,
    instead="the two lines of the solution",
    inputs=[
        (IDS, POSITIONS, SHOWN, USED),
        (
            IDS[1:],
            torch.tensor([[2, 0, 0]]),
            torch.tensor([[4, 0, 0]]),
            torch.tensor([[True, False, False]]),
        ),
    ],
    mistakes={
        "an unused slot overwrites [CLS] at position 0 with token 0": (
            lambda ids, positions, shown, used: written_at(ids, positions, shown)
        ),
        "the ids come back unchanged: scatter returns a new tensor, and does not change `ids`": (
            lambda ids, positions, shown, used: ids
        ),
        "used and unused slots are swapped": (
            lambda ids, positions, shown, used: write_back_reference(ids, positions, shown, ~used)
        ),
    },
)
