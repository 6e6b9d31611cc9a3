"""The pictures of the study: too high a score, reliability, two searches."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from bert_experiments.finetuning.true_scores.runs import RATES
from bert_experiments.report.figures import Results, values_of
from bert_experiments.report.plots import draw_curve, unboxed
from bert_run.pictures import BLUE, GREEN, GREY, ORANGE, Picture


def draw_reliability(
    axes: Axes, bins: Sequence[Sequence[float]], *, color: str = BLUE, label: str = ""
) -> None:
    """Accuracy against mean confidence of each bin; the larger the dot, the more examples."""
    sure, right, count = (np.array(column) for column in zip(*bins, strict=True))
    axes.plot([0.5, 1], [0.5, 1], ":", color=GREY)
    axes.plot(sure, right, "-", color=color, label=label)
    axes.scatter(sure, right, s=10 + 250 * count / count.sum(), color=color)
    axes.set(xlabel="confidence", ylabel="accuracy")


def draw_choice(axes: Axes, results: Results) -> None:
    """By how much the dev score of the best run is too high, against the size of dev."""
    choices = [name.split() for name in results if name.startswith("choosing on dev")]
    sizes = sorted({int(words[-1]) for words in choices})
    counts = sorted({int(words[5]) for words in choices})
    for count, color in zip(counts, (GREY, ORANGE), strict=False):
        names = [f"choosing on dev: best of {count} on a dev set of {size}" for size in sizes]
        values = np.array([values_of(results, name, "too high by") for name in names])
        draw_curve(axes, sizes, 100 * values.T, color=color, label=f"best of {count}")
    axes.set(xlabel="size of dev", ylabel="dev score too high by (points)", xscale="log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()


def draw_search(axes: Axes, results: Results) -> None:
    """Accuracy of both poolings at each rate, the median of the seeds and their range."""
    for pooling, color in (("[CLS]", BLUE), ("mean", GREEN)):
        values = [values_of(results, f"rate search: both at rate {rate:g}", pooling)
                  for rate in RATES]  # fmt: skip
        draw_curve(axes, RATES, 100 * np.array(values).T, color=color, label=pooling)
    axes.set(xlabel="peak learning rate", ylabel="accuracy on test (%)", xscale="log")


def draw_scores(results: Results, bins: Mapping[str, Sequence[Sequence[float]]]) -> Picture:
    picture = Picture(3.2, 10.0, says="three measurements of a score")
    left, middle, right = picture.subplots(1, 3)
    draw_choice(left, results)
    for name, color in (("rate 0.001", ORANGE), ("rate 0.001, scaled", BLUE)):
        draw_reliability(middle, bins[name], color=color, label=name)
    draw_search(right, results)
    for axes in (left, middle, right):
        axes.legend(frameon=False, fontsize=8)
    return unboxed(picture)
