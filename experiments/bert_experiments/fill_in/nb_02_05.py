"""Fill-ins of 02/05, where the time goes."""

import torch
from torch import Tensor

from bert_experiments.fill_in import FillIn

layer_operations = FillIn(
    "layer_operations",
    reference=lambda hidden, wide: 2 * (4 * hidden * hidden + 2 * hidden * wide),
    instead="the formula of the solution",
    inputs=[(128, 512), (768, 3072), (10, 7)],
    mistakes={
        "a product of n x m takes n * m multiplications and as many additions: a factor of 2": (
            lambda hidden, wide: 4 * hidden * hidden + 2 * hidden * wide
        ),
        "there are two wide matrices: one to `wide` and one back": (
            lambda hidden, wide: 2 * (4 * hidden * hidden + hidden * wide)
        ),
        "there are four matrices from hidden to hidden: query, key, value, and output": (
            lambda hidden, wide: 2 * (3 * hidden * hidden + 2 * hidden * wide)
        ),
        "this includes the backward pass: count the forward pass alone": (
            lambda hidden, wide: 3 * 2 * (4 * hidden * hidden + 2 * hidden * wide)
        ),
    },
)

attention_operations = FillIn(
    "attention_operations",
    reference=lambda seq, hidden: 2 * (seq * hidden + seq * hidden),
    instead="the formula of the solution",
    inputs=[(128, 128), (512, 768), (3, 10)],
    mistakes={
        "half is missing: scores and weighted sum, each a multiplication and an addition": (
            lambda seq, hidden: 2 * seq * hidden
        ),
        "this includes the backward pass: count the forward pass alone": (
            lambda seq, hidden: 12 * seq * hidden
        ),
        "this is a whole row's: each of its tokens costs a seq-th of it": (
            lambda seq, hidden: 4 * seq * seq * hidden
        ),
    },
)

STATES = torch.arange(24.0).reshape(2, 4, 3)
POSITIONS = torch.tensor([[3, 1], [0, 2]])


def selected(states: Tensor, positions: Tensor) -> Tensor:
    return states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[-1]))


asked_states = FillIn(
    "asked_states",
    reference=selected,
    instead="the line of the solution",
    inputs=[(STATES, POSITIONS), (STATES[:, 1:], torch.tensor([[2], [1]]))],
    mistakes={
        "every row uses the positions of row 0": (
            lambda states, positions: states[:, positions[0]]
        ),
        "the states of all rows are selected for each row: the first index needs the row, too": (
            lambda states, positions: states[:, positions]
        ),
        "the result is flat: keep (batch, masks, hidden)": (
            lambda states, positions: selected(states, positions).flatten(0, 1)
        ),
        "the first ones are taken, not those at the positions": (
            lambda states, positions: states[:, : positions.shape[1]]
        ),
    },
)

mebibytes = FillIn(
    "mebibytes",
    reference=lambda batch, seq, vocab: batch * seq * vocab * 4 / 2**20,
    instead="the formula of the solution",
    inputs=[(4, 128, 30_522), (1, 2, 2**20)],
    mistakes={
        "a float32 has 4 bytes: these are the numbers, not their bytes": (
            lambda batch, seq, vocab: batch * seq * vocab / 2**20
        ),
        "32 is the number of bits; a byte has 8 of them": (
            lambda batch, seq, vocab: batch * seq * vocab * 32 / 2**20
        ),
        "a MiB has 2**20 bytes, not a million": (
            lambda batch, seq, vocab: batch * seq * vocab * 4 / 1e6
        ),
        "these are bytes: divide by 2**20": lambda batch, seq, vocab: batch * seq * vocab * 4,
    },
)

batch_loss = FillIn(
    "batch_loss",
    reference=lambda parts: sum(sum(part) for part in parts) / sum(map(len, parts)),
    instead="the formula above",
    inputs=[([[2.0, 4.0, 6.0], [12.0]],), ([[1.0], [2.0, 3.0], [5.0, 8.0, 2.0]],)],
    mistakes={
        "this is the mean of the means: a word of a short part weighs more than the others": (
            lambda parts: sum(sum(part) / len(part) for part in parts) / len(parts)
        ),
        "the means are added up: divide each part's sum by the count of the whole batch": (
            lambda parts: sum(sum(part) / len(part) for part in parts)
        ),
        "divided by the number of parts, not of masked words": (
            lambda parts: sum(sum(part) for part in parts) / len(parts)
        ),
        "this is the sum: divide it by the count of the whole batch": (
            lambda parts: sum(sum(part) for part in parts)
        ),
    },
)
