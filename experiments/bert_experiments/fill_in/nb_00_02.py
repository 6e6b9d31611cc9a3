"""Fill-ins of 00/02, pairs and the next sentence."""

from bert_experiments.fill_in import FillIn

CRANE, FISH = ["the", "crane", "stood", "."], ["it", "caught", "fish", "."]


def framed(first: list[str], second: list[str]) -> list[str]:
    return ["[CLS]", *first, "[SEP]", *second, "[SEP]"]


frame_pair = FillIn(
    "frame_pair",
    reference=lambda first, second: (
        framed(first, second),
        [0] * (len(first) + 2) + [1] * (len(second) + 1),
    ),
    instead="the right answer",
    inputs=[(CRANE, FISH), (["a"], ["fish"]), (["a", "fish"], ["."])],
    mistakes={
        "the [SEP] between the texts belongs to the first one: its segment is 0": (
            lambda first, second: (
                framed(first, second),
                [0] * (len(first) + 1) + [1] * (len(second) + 2),
            )
        ),
        "the [SEP] at the end is missing: it closes the second text": (
            lambda first, second: (
                framed(first, second)[:-1],
                [0] * (len(first) + 2) + [1] * len(second),
            )
        ),
        "the row is right, but [CLS] and both [SEP] need a segment too": (
            lambda first, second: (framed(first, second), [0] * len(first) + [1] * len(second))
        ),
        "the segments count from 0: 0 for the first text, 1 for the second": (
            lambda first, second: (
                framed(first, second),
                [1] * (len(first) + 2) + [2] * (len(second) + 1),
            )
        ),
    },
)

pad_row = FillIn(
    "pad_row",
    reference=lambda tokens, length: (
        [*tokens, *["[PAD]"] * (length - len(tokens))],
        [1] * len(tokens) + [0] * (length - len(tokens)),
    ),
    instead="the right answer",
    inputs=[(CRANE, 6), (["fish"], 3), (FISH, 4)],
    mistakes={
        "the mask is inverted: 1 for tokens, 0 for padding": (
            lambda tokens, length: (
                [*tokens, *["[PAD]"] * (length - len(tokens))],
                [0] * len(tokens) + [1] * (length - len(tokens)),
            )
        ),
        "the padding goes to the end of the row": (
            lambda tokens, length: (
                [*["[PAD]"] * (length - len(tokens)), *tokens],
                [0] * (length - len(tokens)) + [1] * len(tokens),
            )
        ),
        "`length` paddings are added: the row is to have `length` entries with them": (
            lambda tokens, length: (
                [*tokens, *["[PAD]"] * length],
                [1] * len(tokens) + [0] * length,
            )
        ),
        "the mask is 0 on the padding, and has as many entries as the row": (
            lambda tokens, length: (
                [*tokens, *["[PAD]"] * (length - len(tokens))],
                [1] * length,
            )
        ),
    },
)


def kept_by(a: int, b: int, room: int, from_a) -> tuple[int, int]:
    """Remove tokens one at a time; from_a(a, b) says whether A loses the next one."""
    while a + b > room:
        a, b = (a - 1, b) if from_a(a, b) else (a, b - 1)
    return a, b


kept_lengths = FillIn(
    "kept_lengths",
    reference=lambda a, b, room: kept_by(a, b, room, lambda a, b: a > b),
    instead="the right answer",
    inputs=[(9, 13, 15), (13, 9, 15), (40, 40, 15), (3, 40, 15), (4, 5, 15)],
    mistakes={
        "if both are equally long, B loses a token, not A": (
            lambda a, b, room: kept_by(a, b, room, lambda a, b: a >= b)
        ),
        "only B is cut: the longer of the two loses a token, each time anew": (
            lambda a, b, room: kept_by(a, b, room, lambda a, b: False)
        ),
        "the shorter segment is cut: it is the longer one that loses a token": (
            lambda a, b, room: kept_by(a, b, room, lambda a, b: 0 < a < b or b == 0)
        ),
        "one token too many is cut: stop as soon as both fit, at a + b == room": (
            lambda a, b, room: kept_by(a, b, room - 1, lambda a, b: a > b)
        ),
    },
)

expected_share = FillIn(
    "expected_share",
    reference=lambda single: (1 + single) / 2,
    instead="the right answer",
    inputs=[(0.0,), (0.5,), (1.0,), (0.047,)],
    mistakes={
        "all single-sentence chunks are random, and half of the OTHERS, not half of all": (
            lambda single: single + 0.5
        ),
        "half of the chunks with two sentences or more are random too": lambda single: single,
        "these are the random pairs of the coin alone: add the single-sentence chunks": (
            lambda single: (1 - single) / 2
        ),
    },
)
