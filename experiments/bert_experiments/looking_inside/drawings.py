"""The drawings of the notebooks: tokens as boxes, tables as colors, arrays with their numbers.

draw_tokens(["[CLS]", "the", "crane", "[SEP]"], ["special", "A", "A", "special"])
draw_arrays({"query": query, "key": key})
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int, Shaped
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from bert_run.pictures import BLUE, COLORS, DARK, GREEN, GREY, ORANGE, PAGE, PINK, Picture

# What a token's box is filled with; a kind that is not here gets the next of `COLORS`.
KINDS = {
    "special": "#dddddd",
    "A": "#b3d4e8",
    "B": "#f6d5a3",
    "padding": "#ffffff",
    "masked": "#d55e00",
    "random": "#cc79a7",
    "kept": "#009e73",
}
SETTLED_BY = {"left": BLUE, "right": ORANGE, "both": GREEN, "other": PINK}  # marks of StoryWorld
NAMED = {"PER": BLUE, "ORG": ORANGE, "LOC": GREEN}  # the same in every picture of names
ON_DARK = {"masked", "kept"}  # fills that want white letters
GROWS, SIGNED = "Blues", "RdBu"  # color maps: from zero up; from minus to plus, white between

# --- Tokens --------------------------------------------------------------------------------------


def draw_tokens(
    tokens: Sequence[str], kinds: Sequence[str] | None = None, *,
    notes: Mapping[str, Sequence] | None = None, title: str = "",
) -> Picture:  # fmt: skip
    """A row of boxes, a token in each, colored by its kind; long rows are broken at the margin.

    kinds: for each token one of `KINDS`, or any other word, or "" for a box without color.
    notes: rows of small text under the boxes: {"id": ids, "segment": segments}.
    """
    kinds, notes = list(kinds or [""] * len(tokens)), dict(notes or {})
    margin = 0.09 * max((len(name) for name in notes), default=0) + 0.1
    texts = [[str(token), *(str(row[i]) for row in notes.values())]
             for i, token in enumerate(tokens)]  # fmt: skip
    widths = [0.19 + 0.098 * max(map(len, column)) for column in texts]
    lines = broken_lines(widths, PAGE - margin)

    line_height = 0.5 + 0.2 * len(notes)
    legend = fills(kinds)
    height = len(lines) * line_height + 0.3 * bool(legend) + 0.3 * bool(title) + 0.05
    picture = Picture(height, says=title or " ".join(map(str, tokens)), arranged=False)
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, PAGE), ylim=(height, 0))
    axes.axis("off")
    top = 0.0
    if title:
        axes.text(0.1, 0.2, title, fontsize=11, va="center")
        top = 0.3
    for line in lines:
        draw_line_of_tokens(axes, line, texts, widths, kinds, legend, top=top + 0.1, left=margin)
        for number, name in enumerate(notes):
            axes.text(0.08, top + 0.58 + 0.2 * number, name, fontsize=8, color=GREY, va="center")
        top += line_height
    if legend:
        handles = [Patch(facecolor=fill, edgecolor=GREY, label=kind)
                   for kind, fill in legend.items()]  # fmt: skip
        axes.legend(handles=handles, ncols=len(handles), fontsize=8, frameon=False,
                    loc="lower left", bbox_to_anchor=(0.0, 0.0), borderpad=0.2)  # fmt: skip
    return picture


def kinds_of(tokens: Sequence[str], segments: Sequence[int]) -> list[str]:
    """What each token of a pair is, for its color: special, A, B, masked or padding."""
    special = {"[PAD]": "padding", "[CLS]": "special", "[SEP]": "special", "[MASK]": "masked"}
    return [special.get(t, "AB"[s]) for t, s in zip(tokens, segments, strict=True)]


def broken_lines(widths: Sequence[float], room: float) -> list[list[int]]:
    """Which tokens stand in each line."""
    lines, filled = [[]], 0.0
    for number, width in enumerate(widths):
        if lines[-1] and filled + width > room:
            lines.append([])
            filled = 0.0
        lines[-1].append(number)
        filled += width
    return lines


def fills(kinds: Sequence[str]) -> dict[str, str]:
    """The color of each kind that occurs: the known ones first, others as they come."""
    present = dict.fromkeys(kind for kind in kinds if kind)
    known = {kind: KINDS[kind] for kind in KINDS if kind in present}
    fixed = SETTLED_BY | NAMED
    known |= {kind: paler(fixed[kind]) for kind in fixed if kind in present}
    others = [kind for kind in present if kind not in known]
    return known | {kind: paler(COLORS[i % len(COLORS)]) for i, kind in enumerate(others)}


def paler(color: str, keep: float = 0.4) -> str:
    """The color mixed with white."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - keep * (255 - part)):02x}" for part in parts)


def draw_line_of_tokens(
    axes: Axes, line: list[int], texts: list, widths: list, kinds: list, legend: dict,
    *, top: float, left: float,
) -> None:  # fmt: skip
    for number in line:
        kind, width = kinds[number], widths[number]
        axes.add_patch(Rectangle((left + 0.03, top), width - 0.06, 0.34, edgecolor=GREY,
                                 facecolor=legend.get(kind, "#ffffff"), linewidth=0.8,
                                 linestyle="--" if kind == "padding" else "-"))  # fmt: skip
        ink = "#ffffff" if kind in ON_DARK else GREY if kind == "padding" else DARK
        token, *notes = texts[number]
        axes.text(left + width / 2, top + 0.17, token, ha="center", va="center", fontsize=9,
                  color=ink, family="monospace", parse_math=False)  # fmt: skip
        for row, note in enumerate(notes):
            axes.text(left + width / 2, top + 0.48 + 0.2 * row, note, ha="center", va="center",
                      fontsize=8, color=DARK, parse_math=False)  # fmt: skip
        left += width


# --- Arrays --------------------------------------------------------------------------------------


def draw_heat(
    table: Float[np.ndarray, "rows columns"], rows: Sequence[str], columns: Sequence[str], *,
    label: str, title: str = "", xlabel: str = "", ylabel: str = "", numbers: bool = False,
) -> Picture:  # fmt: skip
    """A table as colors, its rows and columns named: attention, similarities, probabilities.

    label: what a color stands for, with its unit. numbers: also write each value.
    """
    wide = min(PAGE, 1.9 + (0.52 if numbers else 0.3) * len(columns) + 0.06 * longest(rows))
    picture = Picture(0.8 + 0.3 * len(rows) + 0.06 * longest(columns), wide, says=title or label)
    axes = picture.subplots()
    image = axes.imshow(table, aspect="auto", **scale_of(table))
    slanted = 90 if longest(columns) > (7 if numbers else 3) else 0
    axes.set_xticks(range(len(columns)), columns, rotation=slanted, fontsize=9)
    axes.set_yticks(range(len(rows)), rows, fontsize=9)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, fontsize=11)
    if numbers:
        write_numbers(axes, table)
    picture.colorbar(image, ax=axes, label=label, shrink=0.9)
    return picture


def longest(names: Sequence[str]) -> int:
    return max(map(len, names), default=0)


def scale_of(table: np.ndarray) -> dict:
    """Colors from white at zero: blue upwards; red downwards if anything is below."""
    most = float(np.abs(table).max(initial=0)) or 1.0
    if (table < 0).any():
        return {"cmap": SIGNED, "vmin": -most, "vmax": most}
    return {"cmap": GROWS, "vmin": 0, "vmax": most}


def write_numbers(axes: Axes, table: np.ndarray, *, decimals: int = 2) -> None:
    """Each value on its field, in white where the field is dark."""
    most = float(np.abs(table).max(initial=0)) or 1.0
    whole = np.issubdtype(table.dtype, np.integer)
    for (row, column), value in np.ndenumerate(table):
        text = str(value) if whole else f"{round(float(value), decimals) + 0.0:.{decimals}f}"
        ink = "#ffffff" if abs(value) > 0.62 * most else DARK
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)


def draw_arrays(
    arrays: Mapping[str, Float[np.ndarray, "..."] | Int[np.ndarray, "..."]], *, decimals: int = 2,
    title: str = "",
) -> Picture:  # fmt: skip
    """Small arrays side by side, every number written, each under its name and shape."""
    tables = {name: np.atleast_2d(array) for name, array in arrays.items()}
    shapes: dict[str, Shaped[np.ndarray, "..."]] = dict(arrays)
    width = min(PAGE, sum(0.52 * table.shape[1] + 0.4 for table in tables.values()) + 0.2)
    tallest = max(len(table) for table in tables.values())
    picture = Picture(0.8 + 0.46 * tallest + 0.3 * bool(title), max(width, 2.0),
                      says=title or ", ".join(tables))  # fmt: skip
    ratios = [table.shape[1] for table in tables.values()]
    panels = picture.subplots(1, len(tables), squeeze=False, width_ratios=ratios)[0]
    for axes, (name, table) in zip(panels, tables.items(), strict=True):
        axes.imshow(table, alpha=0.85, **scale_of(table))
        write_numbers(axes, table, decimals=decimals)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(f"{name}\n{np.shape(shapes[name])}", fontsize=9)
    if title:
        picture.suptitle(title, fontsize=11)
    return picture
