"""Fill-ins of 03/05, from one GPU to many."""

import numpy as np

from bert_experiments.cost import exchanged_bytes, floating_point_operations
from bert_experiments.fill_in import FillIn
from bert_run.config import BertConfig


def operations_by_formula(layers: int, hidden: int, intermediate: int, seq_length: int) -> float:
    config = BertConfig(
        vocab_size=16,
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=1,
        intermediate_size=intermediate,
    )
    return sum(floating_point_operations(config, seq_length=seq_length, asked=0.0).values())


def matrix_part(hidden: int, intermediate: int) -> float:
    return 2 * (4 * hidden**2 + 2 * hidden * intermediate)


training_operations = FillIn(
    "training_operations",
    reference=operations_by_formula,
    instead="bert_experiments.cost.floating_point_operations, without the MLM head",
    inputs=[(12, 768, 3072, 128), (12, 768, 3072, 512), (2, 6, 10, 5)],
    mistakes={
        "this is the forward pass alone: the backward pass takes twice as much in addition": (
            lambda layers, hidden, inner, seq: (
                layers * (matrix_part(hidden, inner) + 4 * seq * hidden)
            )
        ),
        "attention has two products: queries with keys, and weights with values": (
            lambda layers, hidden, inner, seq: (
                3 * layers * (matrix_part(hidden, inner) + 2 * seq * hidden)
            )
        ),
        "attention is missing": (
            lambda layers, hidden, inner, seq: 3 * layers * matrix_part(hidden, inner)
        ),
        "each entry of a matrix is two operations, a multiplication and an addition": (
            lambda layers, hidden, inner, seq: (
                3 * layers * (matrix_part(hidden, inner) // 2 + 4 * seq * hidden)
            )
        ),
        "this is one layer: multiply by the number of layers": (
            lambda layers, hidden, inner, seq: 3 * (matrix_part(hidden, inner) + 4 * seq * hidden)
        ),
    },
)

loss_of_batch = FillIn(
    "loss_of_batch",
    reference=lambda sums, counts: sum(sums) / sum(counts),
    instead="the sum of all losses divided by the count of all words",
    inputs=[([6.0, 6.0], [1, 3]), ([2.5, 1.0, 4.5], [2, 1, 5])],
    mistakes={
        "this is the mean of the ranks' means": (
            lambda sums, counts: float(np.mean(np.array(sums) / np.array(counts)))
        ),
        "divide by the number of words, not by the number of ranks": (
            lambda sums, counts: sum(sums) / len(counts)
        ),
        "this is the sum of the ranks' means": (
            lambda sums, counts: float(np.sum(np.array(sums) / np.array(counts)))
        ),
    },
)


def turn_of_ring(
    held: np.ndarray, turn: int, *, direction: int = 1, back: int = 1, adds: bool = True
) -> np.ndarray:
    ranks, after = len(held), held.copy()
    for rank in range(ranks):
        piece, neighbor = (rank - back * turn) % ranks, (rank + direction) % ranks
        after[neighbor, piece] = held[rank, piece] + adds * held[neighbor, piece]
    return after


POWERS = np.repeat(10 ** np.arange(4)[:, None], 4, axis=1)
THREE = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [100.0, 200.0, 300.0]])

one_turn = FillIn(
    "one_turn",
    reference=turn_of_ring,
    instead="a turn of a ring of any size",
    inputs=[(POWERS, 0), (POWERS, 1), (POWERS, 3), (THREE, 0), (THREE, 1)],
    mistakes={
        "each rank sends to the next rank, rank + 1, and not to the one before": (
            lambda held, turn: turn_of_ring(held, turn, direction=-1)
        ),
        "the piece of a turn is rank - turn, not rank + turn": (
            lambda held, turn: turn_of_ring(held, turn, back=-1)
        ),
        "each rank sends the same piece at every turn: it is rank - turn": (
            lambda held, turn: turn_of_ring(held, turn, back=0)
        ),
        "the next rank's own piece is overwritten: add to it": (
            lambda held, turn: turn_of_ring(held, turn, adds=False)
        ),
    },
)

bytes_sent = FillIn(
    "bytes_sent",
    reference=exchanged_bytes,
    instead="bert_experiments.cost.exchanged_bytes",
    inputs=[(1000, 2), (1000, 4), (110_106_428, 64)],
    mistakes={
        "a float32 number has 4 bytes": (
            lambda parameters, ranks: 2 * (ranks - 1) / ranks * parameters
        ),
        "this is the first half: the finished sums are passed on, too": (
            lambda parameters, ranks: (ranks - 1) / ranks * 4 * parameters
        ),
        "a piece is 1 / ranks of the gradient": (
            lambda parameters, ranks: 2 * (ranks - 1) * 4 * parameters
        ),
    },
)
