"""An ablation as a page: our figures and the paper's, side by side and never on one scale."""

import statistics

import numpy as np

from bert_experiments.ablations.paper import PAPER
from bert_experiments.ablations.tables import ABLATIONS
from bert_experiments.report.figures import (
    TITLES,
    UNTRAINED,
    Results,
    in_words,
    measures_in,
    title_of,
    values_of,
)
from bert_experiments.report.page import Page
from bert_experiments.report.plots import COLORS, draw_curve, draw_rows, unboxed
from bert_experiments.report.verdicts import judge
from bert_paper.pretrain import PretrainSettings
from bert_run.pictures import GREY, Picture

SHOWN_OF_THE_PAPER = {"5": 4, "6": 0, "8": 2}  # the column of its table that ours stand beside
COURSE = "figure 5"  # measured along the way of each run
CURVES = "correct top predictions against steps: one panel per kind of word, one curve per variant"
POINTS = "the figures of the table: one panel per column, one point per seed"


def page_of(table: str, results: Results, variants: dict[str, PretrainSettings]) -> Page:
    paper, ablation = PAPER[table], ABLATIONS[table]
    known = measures_in(results)
    others = {f"{name} (the paper only)": name for name in paper.others}
    return Page(
        title=paper.title,
        results={**results, **{row: [] for row in others}},
        columns=tuple(measure for measure in ablation.measures if measure in known),
        verdicts=[judge(claim, results) for claim in ablation.claims],
        lead=f"{ablation.title[0].upper() + ablation.title[1:]}.",
        made=how_made(results, variants),
        headings=TITLES,
        theirs={row: paper.row(others.get(row, row)) for row in (*results, *others)},
        their_title=f"the paper: {' · '.join(paper.columns)}",
        notes=notes_on(table),
        rows=course_rows(results) if table == COURSE else None,
        picture=CURVES if table == COURSE else POINTS,
    )


def course_rows(results: Results) -> list[list[str]]:
    """Hidden words found after each part of the steps; a row for each model and kind of word."""
    points = points_of(results)[1::2]  # every second one: the picture has all
    rows = [["", "", *(f"{point}%" for point in points)]]
    for variant in results:
        for kind in ("all", "left", "right", "other"):
            cells = [values_of(results, variant, f"{kind}@{point}%") for point in points]
            rows.append([variant, TITLES[kind], *(in_words(cell, kind) for cell in cells)])
    return rows


def points_of(results: Results) -> list[int]:
    """After what per cent of the steps the runs were measured."""
    names = [name.removesuffix("%").partition("@") for name in measures_in(results)]
    return sorted(int(point) for kind, _, point in names if kind == "all" and point)


def how_made(results: Results, variants: dict[str, PretrainSettings]) -> str:
    settings = next(iter(variants.values()))
    rates = sorted({variant.learning_rate for variant in variants.values()}, reverse=True)
    seeds = max(map(len, results.values()))
    seconds = ", ".join(f"{row} {statistics.median(values_of(results, row, 'seconds')):,.0f}"
                        for row in results if row != UNTRAINED)  # fmt: skip
    return (
        f"{seeds} seeds; each seed changes the initial weights, the pairs and the masks. Each run "
        f"is {settings.steps:,} steps of the recipe `STORYWORLD` on {settings.corpus}, but with "
        f"{settings.optimizer} at a peak learning rate of {' or '.join(map('{:g}'.format, rates))} "
        f"and in examples of {settings.seq_length} tokens. Training time in seconds, median of the "
        f"seeds: {seconds}."
    )


def picture_of(table: str, results: Results) -> Picture:
    """Every seed a point, the median a bar; of Figure 5 curves."""
    if table == COURSE:
        return draw_course(results)
    paper, column, known = PAPER[table], SHOWN_OF_THE_PAPER[table], measures_in(results)
    measures = [m for m in ABLATIONS[table].pictured if m in known] or ["masked_perplexity"]
    picture = draw_rows(
        results, {m: title_of(m) for m in measures}, extra=f"the paper: {paper.columns[column]}"
    )
    beside = picture.axes[len(measures)]
    for place, variant in enumerate(results):
        if variant in paper.rows:
            beside.plot(paper.rows[variant][column], place, "D", color=GREY, markersize=5)
    return picture


def draw_course(results: Results) -> Picture:
    """Words found against steps, for each kind of word."""
    picture = Picture(3.6, 10)
    panels = picture.subplots(1, 3, sharey=True)
    points = points_of(results)
    for axes, kind in zip(panels, ("all", "left", "right"), strict=True):
        for (variant, runs), color in zip(results.items(), COLORS, strict=True):
            values = np.array([[100 * run[f"{kind}@{p}%"] for p in points] for run in runs])
            draw_curve(axes, points, values, color=color, label=variant)
        axes.set(title=TITLES[kind], xlabel="steps, per cent of the run", ylim=(0, 100))
    panels[0].set_ylabel("first guess right, per cent")
    panels[0].legend(frameon=False)
    return unboxed(picture)


def notes_on(table: str) -> str:
    """What the columns are."""
    if table == "figure 5":
        return (
            "Hidden words of held-out stories predicted correctly (top prediction) after the given "
            "percentage of the steps: the median of the seeds, with the lowest and highest in "
            "parentheses. Each seed is one run, evaluated at several points. The learning rate "
            "decays to zero at the end, as in the paper, so the end of the run benefits from the "
            "decay as well as from more steps. The paper's figure shows MNLI after fine-tuning, "
            "for BERT and for the left-to-right model."
        )
    lines = [
        "Each cell is the median of the seeds, with the lowest and highest in parentheses. The "
        "last column gives the paper's figures as published: other tasks, after fine-tuning, on "
        "another scale.",
        "*Settled by*: hidden words of held-out stories predicted correctly (top prediction), "
        "separately for words determined by the left context, the right context, both, or another "
        "sentence. *Features*: a linear classifier on the vectors of the last layers of the "
        "frozen model; names (F1) from fifty sentences, entailment and sentiment from two "
        f"thousand texts. The row *{UNTRAINED}* shows what an untrained model reaches.",
    ]
    if table == "5":
        lines.append(
            "The left-to-right model predicts the hidden word from the words before it. *Sentence "
            "task* is the variant's own task: next or random sentence, or swapped or not."
        )
    if table == "8":
        lines.append(
            "All variants predict words at [MASK], which the last two have never seen; words that "
            "were replaced by a random word; and visible words, left as they are."
        )
    return "\n\n".join(lines)
