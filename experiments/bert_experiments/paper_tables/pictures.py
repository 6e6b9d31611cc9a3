"""A table as a picture: every seed a point, the median a bar; Figure 5 as curves."""

import math
import statistics
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bert_experiments.ablations.measuring import UNTRAINED, title_of
from bert_experiments.ablations.pictures import COLOURS, GREY, blank, draw_values
from bert_experiments.ablations.verdicts import Results, is_share
from bert_experiments.paper_tables.ablated import SHARES
from bert_experiments.paper_tables.columns import PAIRS
from bert_experiments.paper_tables.paper import BASE, LARGE
from bert_experiments.paper_tables.report import Page
from bert_experiments.paper_tables.trials import MAJORITY
from bert_run.files import write_whole

PANELS_IN_A_ROW = 5


def draw(page: Page, path: Path) -> None:
    is_course = f"{PAIRS}@{SHARES[0]}%" in page.columns
    figure = draw_course(page.results) if is_course else draw_rows(page)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    with write_whole(path) as file:
        figure.savefig(file, format="png", dpi=110)


def draw_rows(page: Page) -> Figure:
    """A panel for each column, a row for each model."""
    rows = [row for row, runs in page.results.items() if any(runs)]
    across = min(len(page.columns), PANELS_IN_A_ROW)
    down = math.ceil(len(page.columns) / across)
    figure = blank(3 + 2.3 * across, down * (0.9 + 0.36 * len(rows)))
    panels = figure.subplots(down, across, sharey=True, squeeze=False).flatten()
    for axes, column in zip(panels, page.columns, strict=False):
        for place, row in enumerate(rows):
            values = [figures[column] for figures in page.results[row] if column in figures]
            draw_cell(axes, place, row, [100 * v if is_share(column) else v for v in values])
        axes.set_title(page.headings.get(column, title_of(column)), fontsize=9)
        axes.set_xlabel("per cent" if is_share(column) else "perplexity", fontsize=8)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="y", color="#eeeeee")
        axes.margins(x=0.15)
    for axes in panels[len(page.columns) :]:
        axes.set_axis_off()
    panels[0].set_yticks(range(len(rows)), rows, fontsize=9)
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    return figure


def draw_cell(axes: Axes, place: int, row: str, values: list[float]) -> None:
    """Our runs; in grey what the paper has, and what needs no reading."""
    if row in (BASE, LARGE, MAJORITY):
        mark = "x" if row == MAJORITY else "D"
        axes.plot(values, [place] * len(values), mark, color=GREY, markersize=5)
    else:
        draw_values(axes, place, values)


def draw_course(results: Results) -> Figure:
    """Accuracy after fine-tuning against steps of pretraining: the median as a line, from lowest to
    highest as a band."""
    figure = blank(7, 3.8)
    axes = figure.subplots()
    models = [row for row in results if row != UNTRAINED]
    for row, colour in zip(models, COLOURS, strict=False):
        values = 100 * np.array([[run[f"{PAIRS}@{s}%"] for s in SHARES] for run in results[row]])
        axes.plot(SHARES, np.median(values, axis=0), ".-", color=colour, label=row)
        axes.fill_between(SHARES, values.min(0), values.max(0), color=colour, alpha=0.2)
    level = 100 * statistics.median(run[f"{PAIRS}@100%"] for run in results[UNTRAINED])
    axes.axhline(level, color=GREY, linestyle="--", label=UNTRAINED)
    axes.set_xlabel("steps of pretraining, per cent of the run")
    axes.set_ylabel(f"{PAIRS}, per cent")
    axes.legend(frameon=False)
    return figure
