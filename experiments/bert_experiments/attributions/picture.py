"""Looks as one picture, for a page that cannot hold HTML."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from bert_experiments.attributions.colours import AGAINST, FOR, LOOKED_AT, Colour, colours_of
from bert_experiments.attributions.looks import Look, WordValues
from bert_experiments.attributions.words import Word
from bert_experiments.looking_inside.pictures import GREY, Picture

WIDTH = 10.0  # inches
LETTER, LINE = 0.074, 0.27  # the width of a letter at this size, and the height of a line
MARGIN = 1.0  # for the names of rows
LONGEST = 110  # letters of a heading


def draw_looks(looks: Sequence[Look], path: Path, *, title: str) -> None:
    """Each look as a heading and three rows: what mattered, and what was looked at."""
    placed = [rows_of(look) for look in looks]
    lines = sum(1.6 + sum(len(row[1]) for row in rows) for rows in placed)
    height = LINE * (lines + 2.6)
    picture = Picture(WIDTH, height)
    picture.set_layout_engine("none")
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    write(axes, 0.1, LINE, title, size=11)
    draw_legend(axes, LINE * 2.1)
    top = LINE * 3.2
    for look, rows in zip(looks, placed, strict=True):
        write(axes, 0.1, top, heading(look), size=9)
        top += LINE
        for name, broken, grounds in rows:
            write(axes, 0.1, top, name, size=8, color=GREY)
            for line in broken:
                draw_line(axes, line, look.case.words, grounds, top)
                top += LINE
        top += 0.6 * LINE
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # an emoji becomes a box
        picture.save(path)


Rows = list[tuple[str, list[list[int]], list[Colour]]]


def rows_of(look: Look) -> Rows:
    """The name of each row, which words stand in each of its lines, and their colours."""
    broken = broken_lines(look.case.words)
    values: dict[str, tuple[WordValues, bool]] = {
        "mattered": (look.mattered, True),
        "attention": (look.attended, False),
        "one head": (look.attended_most, False),
    }
    return [(name, broken, colours_of(look.case.words, row, signed=signed))
            for name, (row, signed) in values.items()]  # fmt: skip


def heading(look: Look) -> str:
    case = look.case
    right = "" if case.right is None else f"; right: {case.right}"
    text = f"{case.example + 1}. {case.asked}: said {case.said}{right}"
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def width(word: Word) -> float:
    return LETTER * len(word.text) + 0.12


def broken_lines(words: Sequence[Word]) -> list[list[int]]:
    """Which words stand in each line."""
    lines, filled = [[]], 0.0
    for number, word in enumerate(words):
        if lines[-1] and filled + width(word) > WIDTH - MARGIN - 0.1:
            lines.append([])
            filled = 0.0
        lines[-1].append(number)
        filled += width(word)
    return lines


def draw_line(
    axes: Axes, line: list[int], words: Sequence[Word], grounds: list[Colour], top: float
) -> None:
    left = MARGIN
    for number in line:
        colour = tuple(part / 255 for part in grounds[number])
        ink = GREY if words[number].is_special else "#222222"
        write(axes, left + width(words[number]) / 2, top, words[number].text, size=8.5, color=ink,
              ha="center", family="monospace",
              bbox=dict(facecolor=colour, edgecolor="none", pad=1.6))  # fmt: skip
        left += width(words[number])


def draw_legend(axes: Axes, top: float) -> None:
    left = 0.12
    names = ((FOR, "speaks for the answer"), (AGAINST, "against it"), (LOOKED_AT, "looked at"))
    for colour, name in names:
        ground = tuple(part / 255 for part in colour)
        write(axes, left, top, name, size=8.5,
              bbox=dict(facecolor=ground, edgecolor="none", pad=1.6))  # fmt: skip
        left += LETTER * len(name) + 0.25


def write(axes: Axes, left: float, top: float, text: str, *, size: float, **look) -> None:
    axes.text(left, top, text, fontsize=size, va="center", parse_math=False, **look)
