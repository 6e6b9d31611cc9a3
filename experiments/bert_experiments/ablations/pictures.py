"""An ablation as a picture: every seed a point, the median a bar."""

import statistics
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bert_experiments.ablations.measuring import TITLES
from bert_experiments.ablations.paper import PAPER
from bert_experiments.ablations.report import measures_in, shares_of
from bert_experiments.ablations.tables import ABLATIONS
from bert_experiments.ablations.verdicts import Results, is_share
from bert_run.files import write_whole

BLUE, GREY = "#0072b2", "#666666"
COLOURS = (BLUE, "#009e73", "#d55e00")
SHOWN_OF_THE_PAPER = {"5": 4, "6": 0, "8": 2}  # the column of its table that ours stand beside


def draw(table: str, results: Results, path: Path) -> None:
    figure = draw_course(results) if table == "figure 5" else draw_rows(table, results)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    with write_whole(path) as file:
        figure.savefig(file, format="png", dpi=110)


def blank(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_rows(table: str, results: Results) -> Figure:
    """A panel for each measure, a row for each variant; the paper's figures in the last panel."""
    known = measures_in(results)
    pictured = [measure for measure in ABLATIONS[table].pictured if measure in known]
    measures = pictured or ["masked_perplexity"]
    figure = blank(10, 1.0 + 0.4 * len(results))
    panels = figure.subplots(1, len(measures) + 1, sharey=True)
    for axes, measure in zip(panels, measures, strict=False):
        for row, runs in enumerate(results.values()):
            values = [figures[measure] for figures in runs if measure in figures]
            draw_values(axes, row, [100 * v if is_share(measure) else v for v in values])
        axes.set_title(TITLES[measure], fontsize=9)
        axes.set_xlabel("per cent" if is_share(measure) else "perplexity", fontsize=8)
    paper, column = PAPER[table], SHOWN_OF_THE_PAPER[table]
    for row, variant in enumerate(results):
        if variant in paper.rows:
            panels[-1].plot(paper.rows[variant][column], row, "D", color=GREY, markersize=5)
    panels[-1].set_title(f"the paper: {paper.columns[column]}", fontsize=9, color=GREY)
    panels[0].set_yticks(range(len(results)), list(results), fontsize=9)
    panels[0].set_ylim(len(results) - 0.5, -0.5)
    for axes in panels:
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="y", color="#eeeeee")
        axes.margins(x=0.15)
    return figure


def draw_values(axes: Axes, row: int, values: list[float]) -> None:
    if values:
        axes.plot(values, [row] * len(values), "o", color=BLUE, alpha=0.55, markersize=5)
        axes.plot(statistics.median(values), row, "|", color=BLUE, markersize=16, markeredgewidth=2)


def draw_course(results: Results) -> Figure:
    """Words found against steps: the median as a line, from lowest to highest as a band."""
    figure = blank(10, 3.6)
    panels = figure.subplots(1, 3, sharey=True)
    shares = shares_of(results)
    for axes, kind in zip(panels, ("all", "left", "right"), strict=True):
        for (variant, runs), colour in zip(results.items(), COLOURS, strict=True):
            values = np.array([[100 * run[f"{kind}@{s}%"] for s in shares] for run in runs])
            axes.plot(shares, np.median(values, axis=0), ".-", color=colour, label=variant)
            axes.fill_between(shares, values.min(0), values.max(0), color=colour, alpha=0.2)
        axes.set_title(TITLES[kind], fontsize=10)
        axes.set_xlabel("steps, per cent of the run")
        axes.set_ylim(0, 100)
    panels[0].set_ylabel("first guess right, per cent")
    panels[0].legend(frameon=False)
    return figure
