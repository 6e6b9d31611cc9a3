"""The pictures of a fine-tuning run: its curves, and which label was taken for which."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bert_finetuning.metrics import confusion_matrix
from bert_run.curve import HELD_OUT, REFERENCE, TRAINING
from bert_run.files import write_whole
from bert_run.metrics import Record

MOST_LABELS = 30  # in a picture of labels; more could not be read


def save(figure: Figure, path: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    with write_whole(path) as file:
        figure.savefig(file, format="png", dpi=120)


def blank(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_curves(
    seeds: dict[int, list[Record]],
    path: Path,
    *,
    title: str,
    metric: str,
    best: int,
    majority: float,
) -> None:
    """Training loss and the deciding metric on dev against steps; the best seed stands out."""
    figure = blank(10, 4)
    losses, scores = figure.subplots(1, 2)
    for seed, records in sorted(seeds.items(), key=lambda each: each[0] == best):
        label = f"seed {seed}" if seed == best else None
        if label and len(seeds) > 1:
            label += ", the best"
        look = {"alpha": 1.0 if seed == best else 0.3, "label": label}
        draw_line(losses, records, "train_loss", "-", color=TRAINING, **look)
        draw_line(scores, records, f"dev_{metric}", ".-", color=HELD_OUT, **look)
    if len(seeds) > 1:
        scores.plot([], [], ".-", color=HELD_OUT, alpha=0.3, label="the other seeds")
    scores.axhline(
        majority, color=REFERENCE, linestyle=":", linewidth=1.2, label=f"majority: {majority:.3f}"
    )
    losses.set(xlabel="step", ylabel="training: loss")
    losses.set_ylim(bottom=0)
    scores.set(xlabel="step", ylabel=f"dev: {metric}")
    scores.legend(frameon=False)
    for axes in (losses, scores):
        axes.set_xlim(left=0)
    figure.suptitle(title)
    save(figure, path)


def draw_line(axes: Axes, records: list[Record], key: str, style: str, **look) -> None:
    points = [(record["step"], record[key]) for record in records if key in record]
    if points:
        axes.plot(*zip(*points, strict=True), style, **look)


def draw_confusion(
    right: Sequence[str], said: Sequence[str], labels: Sequence[str], path: Path, *, title: str
) -> None:
    """Rows are what is right, columns what was said; the colour is the share of the row."""
    number = {label: place for place, label in enumerate(labels)}
    counts = confusion_matrix(
        np.array([number[label] for label in right]),
        np.array([number[label] for label in said]),
        num_labels=len(labels),
    )
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = 2.6 + 0.62 * len(labels)
    figure = blank(size + 0.8, size)
    axes = figure.subplots()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        ink = "white" if shares[row, column] > 0.6 else "black"
        if count:
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=ink, fontsize=9)
    turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(labels) > 3 else {}
    axes.set_xticks(range(len(labels)), labels, **turn)
    axes.set_yticks(range(len(labels)), labels)
    axes.set(xlabel="said", ylabel="right")
    axes.set_title(title, fontsize=10)
    save(figure, path)


def draw_numbers(right: Sequence[float], said: Sequence[float], path: Path, *, title: str) -> None:
    """What was said against what is right, a point an example; on the line nothing is wrong."""
    figure = blank(5, 4.6)
    axes = figure.subplots()
    ends = [min(*right, *said), max(*right, *said)]
    axes.plot(ends, ends, ":", color=REFERENCE, label="all right")
    axes.plot(right, said, ".", color=HELD_OUT, alpha=0.4, markersize=5)
    axes.set(xlabel="right", ylabel="said")
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False)
    save(figure, path)
