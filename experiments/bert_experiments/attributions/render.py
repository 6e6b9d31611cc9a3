"""Attributions as lines of a terminal, as a page of HTML and as a picture.

A value's color is pale for little and full for the most that any word of the row has. Blue speaks
for the answer, orange against it; green is attention. The color-blind can tell the three apart
(Okabe and Ito 2008); the numbers stand beside them.

The page needs nothing else, no script, no font, no address: whatever came from a text is escaped,
and the page forbids itself all but its own style. A terminal gets no character that it would obey.
"""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from bert_experiments.attributions.attribution import Attribution, WordValues
from bert_experiments.attributions.cases import Word
from bert_run.pictures import DARK, GREY, Picture

Color = tuple[int, int, int]  # red, green, blue, to 255

WHITE: Color = (255, 255, 255)
FOR: Color = (86, 180, 233)
AGAINST: Color = (230, 140, 30)
ATTENTION: Color = (60, 180, 130)
LEGEND = ((FOR, "speaks for the answer"), (AGAINST, "against it"), (ATTENTION, "attention weight"))


def rows_of(found: Attribution) -> Iterator[tuple[str, WordValues, bool]]:
    """The name of each row, its values, and whether they have a sign."""
    yield "gradient", found.gradient, True
    yield "attention", found.attention, False
    yield "one head", found.highest_head, False


def heading(found: Attribution) -> str:
    case = found.case
    expected = "" if case.expected is None else f"   expected: {case.expected}"
    return f"{case.example + 1:>6}  {case.question}   answer: {case.answer}{expected}"


def scaled(words: Sequence[Word], values: WordValues) -> WordValues:
    """Each value as a fraction of the largest of an ordinary word, from -1 to 1.

    [CLS] and [SEP] do not set the scale, or the attention to [SEP] would leave all words white.
    """
    sizes = [abs(v) for word, v in zip(words, values, strict=True) if not word.is_special]
    return np.clip(values / (max(sizes, default=0.0) or 1.0), -1, 1)


def colors_of(words: Sequence[Word], values: WordValues, *, signed: bool) -> list[Color]:
    """`signed`: contributions for and against; else attention weights."""
    return [
        between(WHITE, (FOR if value >= 0 else AGAINST) if signed else ATTENTION, abs(value))
        for value in scaled(words, values).tolist()
    ]


def between(pale: Color, full: Color, part: float) -> Color:
    return tuple(round(a + part * (b - a)) for a, b in zip(pale, full, strict=True))


# --- A terminal ----------------------------------------------------------------------------------

BLACK_ON = "\033[38;2;0;0;0;48;2;{};{};{}m{}\033[0m"
COLORED_FROM, NUMBERED_FROM = 0.08, 0.25  # of the strongest word; weaker ones stay as they are


def has_colors() -> bool:
    """Whether standard output is a terminal whose owner does not mind (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def terminal_lines(found: Attribution, *, color: bool) -> str:
    """Words on a colored ground, or with their numbers where there is no color."""
    lines = [printable(heading(found))]
    for name, values, signed in rows_of(found):
        words = words_as_text(found.case.words, values, signed=signed, color=color)
        lines.append(f"        {name:<10}{' '.join(words)}")
    return "\n".join(lines)


def words_as_text(
    words: Sequence[Word], values: WordValues, *, signed: bool, color: bool
) -> Iterator[str]:
    fractions, grounds = scaled(words, values), colors_of(words, values, signed=signed)
    for word, value, fraction, ground in zip(words, values, fractions, grounds, strict=True):
        text = printable(word.text)
        if color and abs(fraction) >= COLORED_FROM:
            text = BLACK_ON.format(*ground, text)
        elif not color and abs(fraction) >= NUMBERED_FROM:
            text += f"({value:+.2g})" if signed else f"({value:.0%})"
        yield text


def printable(text: str) -> str:
    """Without characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


# --- A page of HTML ------------------------------------------------------------------------------

STYLE = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff;
       font: 16px/1.5 system-ui, sans-serif; }
article { border-top: 1px solid #ccc; padding: .8rem 0; }
h2 { font-size: 1rem; margin: 0 0 .3rem; } h2 small { color: #666; font-weight: normal; }
p.row { margin: .2rem 0; padding-left: 6.5rem; text-indent: -6.5rem; line-height: 1.9; }
p.row b { display: inline-block; width: 6.5rem; text-indent: 0; font-weight: normal; color: #666;
          font-size: .85rem; }
span { padding: .1rem .2rem; border-radius: .2rem; } span.special { color: #888; font-size: .8rem; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(attributions: Sequence[Attribution], *, title: str, notes: Sequence[str]) -> str:
    """The whole page; `notes` are paragraphs above the cases."""
    legend = " ".join(f"<span {ground(color)}>{name}</span>" for color, name in LEGEND)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(note)}</p>" for note in notes),
        f"<p>{legend} Point at a word for its number. Each row has a scale of its own; [CLS] and "
        "[SEP] do not set it.</p>",
        *map(article, attributions),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def article(found: Attribution) -> str:
    case = found.case
    expected = "" if case.expected is None else f" · expected: <b>{escape(case.expected)}</b>"
    rows = (html_row(name, case.words, values, signed=signed)
            for name, values, signed in rows_of(found))  # fmt: skip
    return "\n".join((
        f"<article><h2><small>{case.example + 1}</small> {escape(case.question)} "
        f"<small>answer:</small> {escape(case.answer)}<small>{expected}</small></h2>",
        *rows,
        "</article>",
    ))  # fmt: skip


def html_row(name: str, words: Sequence[Word], values: WordValues, *, signed: bool) -> str:
    spans = []
    colors = colors_of(words, values, signed=signed)
    for word, value, color in zip(words, values, colors, strict=True):
        number = f"{value:+.3f}" if signed else f"{value:.1%}"
        special = ' class="special"' if word.is_special else ""
        spans.append(f'<span {ground(color)}{special} title="{number}">{escape(word.text)}</span>')
    return f'<p class="row"><b>{name}</b>{" ".join(spans)}</p>'


def ground(color: Color) -> str:
    return 'style="background: rgb({}, {}, {})"'.format(*color)


# --- A picture -----------------------------------------------------------------------------------

WIDTH = 10.0  # inches
LETTER, LINE = 0.074, 0.27  # the width of a letter at this size, and the height of a line
MARGIN = 1.0  # for the names of rows
LONGEST = 110  # letters of a heading


def save_picture(attributions: Sequence[Attribution], path: Path, *, title: str) -> None:
    """The same for a page that cannot hold HTML: a heading and three rows for each."""
    lines = sum(1.6 + 3 * len(broken_lines(found.case.words)) for found in attributions)
    height = LINE * (lines + 2.6)
    picture = Picture(height, WIDTH, arranged=False)
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    write(axes, 0.1, LINE, title, size=11)
    left = 0.12
    for color, name in LEGEND:
        write(axes, left, LINE * 2.1, name, size=8.5, ground=color)
        left += LETTER * len(name) + 0.25
    top = LINE * 3.2
    for found in attributions:
        text = " ".join(heading(found).split())
        write(axes, 0.1, top, text if len(text) <= LONGEST else text[:LONGEST] + " …", size=9)
        top = draw_rows_of(axes, found, top + LINE) + 0.6 * LINE
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # an emoji becomes a box
        picture.save(path)


def draw_rows_of(axes: Axes, found: Attribution, top: float) -> float:
    """Returns where the next line begins."""
    words = found.case.words
    for name, values, signed in rows_of(found):
        write(axes, 0.1, top, name, size=8, color=GREY)
        colors = colors_of(words, values, signed=signed)
        for line in broken_lines(words):
            left = MARGIN
            for number in line:
                word, half = words[number], width(words[number]) / 2
                write(axes, left + half, top, word.text, size=8.5, ground=colors[number],
                      color=GREY if word.is_special else DARK, ha="center",
                      family="monospace")  # fmt: skip
                left += 2 * half
            top += LINE
    return top


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


def write(
    axes: Axes, left: float, top: float, text: str, *, size: float, ground: Color | None = None,
    **look,
) -> None:  # fmt: skip
    if ground:
        rgb = tuple(part / 255 for part in ground)
        look["bbox"] = dict(facecolor=rgb, edgecolor="none", pad=1.6)
    axes.text(left, top, text, fontsize=size, va="center", parse_math=False, **look)
