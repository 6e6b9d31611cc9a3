"""Figures of a study as pictures: a point a seed, the median a bar; curves with their spread."""

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from bert_experiments.report.figures import Results, is_fraction, values_of
from bert_run.pictures import BLUE, GREEN, GREY, ORANGE, Picture

COLORS = (BLUE, GREEN, ORANGE)
PANELS_IN_A_ROW = 5


def unboxed(picture: Picture) -> Picture:
    """The picture, its panels without a line above and at the right."""
    for axes in picture.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return picture


def draw_rows(
    results: Results, titles: Mapping[str, str], *, extra: str = "",
    marks: Mapping[str, str] | None = None,
) -> Picture:  # fmt: skip
    """A panel for each measure, a row for each variant.

    `titles` are the measures and their headings, `extra` the heading of one more, empty panel:
    the next of the picture's axes. Variants in `marks` are drawn in grey with that mark.
    """
    rows = [row for row, runs in results.items() if any(runs)]
    count = len(titles) + bool(extra)
    down = math.ceil(count / PANELS_IN_A_ROW)
    across = math.ceil(count / down)  # rows of panels that are alike
    picture = Picture(down * (1.0 + 0.38 * len(rows)), 2.6 + 2.0 * across)
    panels = picture.subplots(down, across, sharey=True, squeeze=False).flatten()
    for axes, (measure, title) in zip(panels, titles.items(), strict=False):
        scale = 100 if is_fraction(measure) else 1
        for place, row in enumerate(rows):
            values = [scale * value for value in values_of(results, row, measure)]
            draw_values(axes, place, values, mark=(marks or {}).get(row))
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("per cent" if scale == 100 else "perplexity", fontsize=8)
    if extra:
        panels[count - 1].set_title(extra, fontsize=9, color=GREY)
    for axes in panels[:count]:
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="y", color="#eeeeee")
        axes.margins(x=0.15)
    for axes in panels[count:]:
        axes.set_axis_off()
    panels[0].set_yticks(range(len(rows)), rows, fontsize=9)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    return unboxed(picture)


def draw_values(axes: Axes, row: int, values: list[float], *, mark: str | None = None) -> None:
    """The seeds of one variant as points, their median as a bar; with a mark all alike in grey."""
    if mark:
        axes.plot(values, [row] * len(values), mark, color=GREY, markersize=5)
    elif values:
        axes.plot(values, [row] * len(values), "o", color=BLUE, alpha=0.55, markersize=5)
        axes.plot(statistics.median(values), row, "|", color=BLUE, markersize=16, markeredgewidth=2)


def draw_curve(
    axes: Axes, x: Sequence[float], values: Float[np.ndarray, "seeds points"], *, color: str,
    label: str,
) -> None:  # fmt: skip
    """The median of the seeds as a line, from the lowest to the highest as a band."""
    axes.plot(x, np.median(values, axis=0), ".-", color=color, label=label)
    axes.fill_between(x, values.min(0), values.max(0), color=color, alpha=0.2)
