"""Fill-ins of 01/05, three embeddings and two heads."""

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_numpy.operations import embedding_backward

WORDS = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5], [3.0, 1.5]])
POSITIONS = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [70.0, 80.0], [90.0, 95.0]])
SEGMENTS = np.array([[100.0, 200.0], [300.0, 400.0]])
IDS, SEGMENT_IDS = np.array([[3, 0, 3], [1, 2, 2]]), np.array([[0, 0, 1], [0, 1, 1]])

embed = FillIn(
    "embed",
    reference=lambda ids, of, words, positions, segments: (
        words[ids] + positions[: ids.shape[1]] + segments[of]
    ),
    instead="the sum of the three rows",
    inputs=[
        (IDS, SEGMENT_IDS, WORDS, POSITIONS, SEGMENTS),
        (IDS[:1, :2], SEGMENT_IDS[:1, :2], WORDS, POSITIONS, SEGMENTS),
    ],
    mistakes={
        "the position table has more rows than the text: take the first ids.shape[1]": (
            lambda ids, of, words, positions, segments: words[ids] + positions + segments[of]
        ),
        "the positions are looked up by word: a position is the index in the row": (
            lambda ids, of, words, positions, segments: words[ids] + positions[ids] + segments[of]
        ),
        "the segments are missing": (
            lambda ids, of, words, positions, segments: words[ids] + positions[: ids.shape[1]]
        ),
        "every token gets the embedding of position 0": (
            lambda ids, of, words, positions, segments: words[ids] + positions[0] + segments[of]
        ),
    },
)

ROW, DOUT = np.array([2, 0, 2, 1]), np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 50.0], [3.0, 0.5]])


def last_one(ids: np.ndarray, dout: np.ndarray, entries: int) -> np.ndarray:
    dtable = np.zeros((entries, dout.shape[1]))
    dtable[ids] += dout
    return dtable


def mean_of_occurrences(ids: np.ndarray, dout: np.ndarray, entries: int) -> np.ndarray:
    counts = np.maximum(np.bincount(ids, minlength=entries), 1)
    return embedding_backward(dout, (ids, (entries, dout.shape[1]))) / counts[:, None]


scatter_add = FillIn(
    "scatter_add",
    reference=lambda ids, dout, entries: embedding_backward(dout, (ids, (entries, dout.shape[1]))),
    instead="bert_numpy.operations.embedding_backward",
    inputs=[(ROW, DOUT, 4), (np.array([1, 1, 1]), DOUT[:3], 2)],
    mistakes={
        "a word that stands twice keeps only its last gradient: np.add.at adds all of them": (
            last_one
        ),
        "the gradients of a word are averaged: they add up": mean_of_occurrences,
        "the table has a row for each entry, not for each word of the text": (
            lambda ids, dout, entries: last_one(ids, dout, max(ids) + 1)
        ),
    },
)

H, BIAS = np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([0.1, 0.2, -0.3, 0.4])

word_scores = FillIn(
    "word_scores",
    reference=lambda h, table, bias: h @ table.T + bias,
    instead="the formula above",
    inputs=[(H, WORDS, BIAS), (H[:1], WORDS[:2], BIAS[:2])],
    mistakes={
        "the bias is missing": lambda h, table, bias: h @ table.T,
        "the axes are (vocab, slots): they are to be (slots, vocab)": (
            lambda h, table, bias: (h @ table.T + bias).T
        ),
        "the bias is subtracted": lambda h, table, bias: h @ table.T - bias,
    },
)

DZ = np.array([[0.1, 0.2, 0.3, -0.6], [-0.9, 0.4, 0.3, 0.2]])


def both(ids: np.ndarray, dx: np.ndarray, h: np.ndarray, dz: np.ndarray) -> np.ndarray:
    return dz.T @ h + embedding_backward(dx, (ids, (dz.shape[1], h.shape[1])))


def with_last_one(ids: np.ndarray, dx: np.ndarray, h: np.ndarray, dz: np.ndarray) -> np.ndarray:
    dtable = dz.T @ h
    dtable[ids] += dx
    return dtable


tied_gradient = FillIn(
    "tied_gradient",
    reference=both,
    instead="both parts as above",
    inputs=[(ROW, DOUT, H, DZ), (ROW[:3], DOUT[:3], H[:1], DZ[:1])],
    mistakes={
        "the lookup is missing: add the gradients of the tokens that were read": (
            lambda ids, dx, h, dz: dz.T @ h
        ),
        "the decoder is missing: add dz.T @ h": (
            lambda ids, dx, h, dz: embedding_backward(dx, (ids, (dz.shape[1], h.shape[1])))
        ),
        "a word that stands twice keeps only its last gradient: np.add.at adds all of them": (
            with_last_one
        ),
        "the two gradients are averaged: they add up": (
            lambda ids, dx, h, dz: both(ids, dx, h, dz) / 2
        ),
    },
)
