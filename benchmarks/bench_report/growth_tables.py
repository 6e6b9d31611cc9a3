"""The page's section 4: time and memory against the size of the work, and what theory says."""

import statistics

import numpy as np

from bench_report.numbers import Figures, distance_from_a_line, exponent, in_bytes
from bert_run.pictures import BLUE, GREY, ORANGE, Picture

AXES = {
    "text": ("MB of text", "constant: the text is streamed"),
    "length": ("tokens of a row", "constant + linear + attention's quadratic term"),
    "layers": ("layers", "constant + linear"),
    "batch": ("rows of a batch", "constant + linear"),
    "ranks": ("processes", "each process holds the model; the activations are divided"),
}


def points_of(figures: dict[str, Figures], axis: str) -> list[Figures]:
    found = [one for one in figures.values() if one["axis"] == axis and not one["failure"]]
    return sorted(found, key=lambda one: one["value"])


def seconds_of(points: list[Figures]) -> list[float]:
    return [statistics.median(one["seconds"]) for one in points]


def summary_row(axis: str, points: list[Figures]) -> str:
    label, of_memory = AXES[axis]
    values, seconds = [one["value"] for one in points], seconds_of(points)
    work, memory = [one["operations"] for one in points], [one["bytes"] for one in points]
    far = f"{distance_from_a_line(work, seconds):.0%}" if len(points) > 2 else "two points"
    return (f"| {label} | {', '.join(map(str, values))} | {exponent(values, seconds):.2f} | "
            f"{exponent(values, work):.2f} | {far} | {exponent(values, memory):.2f} | "
            f"{of_memory} |")  # fmt: skip


EXPLANATION = """\
A step of level 3: `mini`, 8,192 words, float32, batch 8, length 128 and 4 layers, except for the
quantity that grows (with several ranks: a batch of 32, one thread each, connected by gloo). Text: a
token store built in its own process, with the vocabulary of one megabyte. The exponent is the slope
on logarithmic axes; the next column gives the exponent of the operations (of the text's size) by
calculation. A step also has parts that do not grow, above all Adam, so its exponent may be slightly
smaller: the fifth column is the distance of the farthest point from the straight line time = a + b
· operations. In the picture, dots are measurements, solid lines are fits, and dashed lines have the
calculated slope."""


def growth_section(figures: dict[str, Figures]) -> list[str]:
    lines = [EXPLANATION, "",
             "| what grows | values | time: exponent | by calculation | distance from the line | "
             "memory: exponent | memory in theory |", "|---" * 7 + "|"]  # fmt: skip
    rows = []
    for axis, (label, _) in AXES.items():
        points = points_of(figures, axis)
        if len(points) < 2:
            continue
        lines.append(summary_row(axis, points))
        for one, seconds in zip(points, seconds_of(points), strict=True):
            cells = [label, one["value"], f"{seconds * 1e3:,.0f} ms", in_bytes(one["bytes"])]
            rows.append(f"| {' | '.join(map(str, cells))} |")
    failed = [f"{one['axis']} {one['value']}: {one['failure']}"
              for one in figures.values() if one["failure"]]  # fmt: skip
    lines += ["", "| | | time | memory |", "|---|---|---|---|", *rows]
    return [*lines, "", *(f"Not measured: {line}" for line in failed)]


def growth_picture(figures: dict[str, Figures]) -> Picture | None:
    """Time above, memory below; the line is the fit, the dashes the slope of the arithmetic."""
    shown = [axis for axis in AXES if len(points_of(figures, axis)) > 1]
    if not shown:
        return None
    picture = Picture(4.4, 9.0, says="cost as the work grows")
    axes = picture.subplots(2, len(shown), squeeze=False)
    for column, axis in enumerate(shown):
        points = points_of(figures, axis)
        values, work = [one["value"] for one in points], [one["operations"] for one in points]
        seconds = seconds_of(points)
        memory = [one["bytes"] / 1e6 for one in points]
        panel(axes[0, column], values, seconds, color=BLUE)
        slope = exponent(values, work)
        middle = np.exp(np.mean(np.log(seconds)) - slope * np.mean(np.log(values)))
        axes[0, column].plot(values, [middle * value**slope for value in values], "--",
                             color=GREY, linewidth=1)  # fmt: skip
        panel(axes[1, column], values, memory, color=ORANGE)
        axes[1, column].set_xlabel(AXES[axis][0], fontsize=9)
    axes[0, 0].set_ylabel("seconds", fontsize=9)
    axes[1, 0].set_ylabel("memory (MB)", fontsize=9)
    return picture


def panel(axes, values: list[float], found: list[float], *, color: str) -> None:
    slope = exponent(values, found)
    start = np.exp(np.mean(np.log(found)) - slope * np.mean(np.log(values)))
    axes.loglog(values, found, "o", color=color, markersize=5)
    axes.plot(values, [start * value**slope for value in values], color=color, linewidth=1)
    axes.set_title(f"exponent {slope:.2f}", fontsize=9)
    axes.set_xticks(values, [str(value) for value in values], fontsize=8)
    axes.set_xticks([], minor=True)
    least, most = min(found), max(found)
    ticks = [least, most] if most > 1.25 * least else [most]
    axes.set_yticks(ticks, [f"{tick:.2g}" if tick < 10 else f"{tick:,.0f}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set_ylim(least / 1.6, most * 1.6)
    axes.tick_params(axis="y", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
