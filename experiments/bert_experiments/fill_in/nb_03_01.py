"""Fill-ins of 03/01, the paper in one sitting."""

import math

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_run.config import BertConfig, count_parameters, parameter_shapes


def counted(layers: int, hidden: int, vocab: int) -> int:
    sizes = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": 2}
    config = BertConfig(vocab_size=vocab, intermediate_size=4 * hidden, **sizes)
    return count_parameters(parameter_shapes(config), "bert.")


count_bert = FillIn(
    "count_bert",
    reference=counted,
    instead="bert_run.config.count_parameters",
    inputs=[(12, 768, 30_522), (24, 1024, 30_522), (2, 128, 4_000)],
    mistakes={
        "the pooler is missing: one more square matrix and its bias": (
            lambda layers, hidden, vocab: counted(layers, hidden, vocab) - hidden * (hidden + 1)
        ),
        "the biases are missing: 4 + 4 + 1 vectors in each layer, and the pooler's": (
            lambda layers, hidden, vocab: counted(layers, hidden, vocab) - (9 * layers + 1) * hidden
        ),
        "the layer norms are missing: two vectors each, two norms a layer and one below them": (
            lambda layers, hidden, vocab: (
                counted(layers, hidden, vocab) - (2 * layers + 1) * 2 * hidden
            )
        ),
        "the positions and segments are missing: 512 + 2 more rows": (
            lambda layers, hidden, vocab: counted(layers, hidden, vocab) - 514 * hidden
        ),
        "attention has four matrices: query, key, value and output": (
            lambda layers, hidden, vocab: (
                counted(layers, hidden, vocab) - layers * hidden * (hidden + 1)
            )
        ),
    },
)


def tokens_read(steps: dict[int, int]) -> int:
    return sum(256 * length * count for length, count in steps.items())


RECIPE = {128: 900_000, 512: 100_000}

passes = FillIn(
    "passes",
    reference=lambda steps, words, pieces: tokens_read(steps) / (words * pieces),
    instead="the formula above",
    inputs=[(RECIPE, 3.3e9, 1.0), (RECIPE, 3.3e9, 1.3), ({512: 1_000_000}, 3.3e9, 1.0)],
    mistakes={
        "the text has more pieces than words, so they divide, too": (
            lambda steps, words, pieces: tokens_read(steps) / words * pieces
        ),
        "the text is still counted in words: multiply its words by the pieces of each": (
            lambda steps, words, pieces: tokens_read(steps) / words
        ),
        "a step reads 256 rows": (
            lambda steps, words, pieces: tokens_read(steps) / 256 / (words * pieces)
        ),
        "every step is counted at the longest length: take each length by itself": (
            lambda steps, words, pieces: 256 * max(steps) * sum(steps.values()) / (words * pieces)
        ),
    },
)

SCORES = np.array([84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4])

average_of_tasks = FillIn(
    "average_of_tasks",
    reference=lambda scores: float(np.mean([scores[:2].mean(), *scores[2:]])),
    instead="the average of eight tasks",
    inputs=[(SCORES,), (np.array([80.0, 60.0, *SCORES[2:]]),)],
    mistakes={
        "this is the average of all nine columns: MNLI still counts twice": (
            lambda scores: scores.mean()
        ),
        "MNLI-mm is left out: average the two columns of MNLI first": (
            lambda scores: np.mean([scores[0], *scores[2:]])
        ),
        "there are eight numbers to average, so divide by 8": (
            lambda scores: (scores[:2].mean() + scores[2:].sum()) / 9
        ),
    },
)


def density(cut: float) -> float:
    return math.exp(-(cut**2) / 2) / math.sqrt(2 * math.pi)


def fraction_inside(cut: float) -> float:
    return math.erf(cut / math.sqrt(2))


cut_deviation = FillIn(
    "cut_deviation",
    reference=lambda cut: math.sqrt(1 - 2 * cut * density(cut) / fraction_inside(cut)),
    instead="the formula above",
    inputs=[(2.0,), (1.0,), (3.0,)],
    mistakes={
        "this is the variance: take its square root": (
            lambda cut: 1 - 2 * cut * density(cut) / fraction_inside(cut)
        ),
        "divide by the fraction that is kept: the density must add up to 1 again": (
            lambda cut: math.sqrt(1 - 2 * cut * density(cut))
        ),
        "the density is cut on two sides, which gives the factor 2": (
            lambda cut: math.sqrt(1 - cut * density(cut) / fraction_inside(cut))
        ),
    },
)
