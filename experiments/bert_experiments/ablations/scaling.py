"""`python -m bert_experiments.ablations.scaling --corpus stores`: a long run, predicted.

Short runs of several sizes and lengths, each with its own learning rate down to zero, give the
held-out loss as a function of the tokens read. A curve through them says how low the loss of a long
run will be before its hours are spent, and what another size would come to in the same time
(Hoffmann et al. 2022, arXiv 2203.15556, section 3). The long run itself is one more call of
`bert-pretrain`; once it is there (`--long-run FOLDER`), its loss stands beside the prediction.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

from bert_corpus.store import TokenStore, corpus_path, holds_stores
from bert_experiments.ablations.variants import Run, expected_seconds, final_entry, training_seconds
from bert_experiments.report.figures import in_parallel
from bert_experiments.report.page import Page, aligned, check_report, command_of
from bert_experiments.report.plots import COLORS, unboxed
from bert_paper.pretrain import PretrainSettings
from bert_run.config import Count, Initialization, Size, check_numbers
from bert_run.errors import UserError, command
from bert_run.files import RunFolder
from bert_run.pictures import GREY, Picture, picture_with_axes

PROGRAM = "python -m bert_experiments.ablations.scaling"
MILLION = 1_000_000
DECAY_OF_REPEATS = 15.4  # passes after which a repeated text teaches little (arXiv 2305.16264, 3.1)
EXPONENTS = np.linspace(0.1, 1.2, 111)


@dataclass(frozen=True)
class ShortRun:
    """One run: size, millions of tokens, peak learning rate, and initialization."""

    size: Size
    millions: int
    rate: float
    initialization: Initialization = "induction"

    def __str__(self) -> str:
        return f"{self.size}, {self.millions} M tokens, rate {self.rate:g}, {self.initialization}"


@dataclass(frozen=True)
class Plan:
    """The short runs for a kind of machine, and what they have in common."""

    runs: tuple[ShortRun, ...]
    tokens_a_step: int
    length: int
    compile: bool
    saves: int  # checkpoints of a run
    made: str

    def steps(self, run: ShortRun) -> int:
        return run.millions * MILLION // self.tokens_a_step


PLANS = {
    "cpu": Plan(
        (
            ShortRun("tiny", 4, 4e-3, "paper"),
            ShortRun("tiny", 4, 4e-3),
            ShortRun("tiny", 8, 4e-3),
            ShortRun("tiny", 16, 4e-3),
            ShortRun("tiny", 32, 4e-3),
            ShortRun("mini", 4, 2e-3),
        ),
        tokens_a_step=4096,
        length=128,
        compile=False,
        saves=10,
        made="Every run computes on one core, some beside other programs",
    ),
    "gpu": Plan(
        tuple(
            ShortRun("medium", millions, rate) for millions in (16, 32, 64) for rate in (1e-3, 2e-3)
        ),
        tokens_a_step=16_384,
        length=256,
        compile=True,
        saves=2,
        made="The runs share one GPU",
    ),
}


@dataclass(frozen=True)
class ScalingSettings:
    """Train several sizes for a short time, and predict what a long time comes to.

    python -m bert_experiments.ablations.scaling --corpus stores/wikipedia

    A second call goes on where the first one stopped.
    """

    corpus: str
    """a folder of finished stores, as python -m bert_corpus.build_stores makes them"""
    plan: Literal["cpu", "gpu"] = "cpu"
    """the short runs of sizes that a CPU trains, or of those for a GPU"""
    size: Size | None = None
    """of the long run; that of most short runs, unless given"""
    millions: Count = 200
    """of tokens that the long run reads; another size reads what it can in the same time"""
    long_run: Path | None = None
    """the folder of that run, once it is done"""
    out: Path = Path("runs/scaling")
    """the folder of all short runs"""
    workers: Count = 1
    """short runs at a time"""
    report: Path | None = None
    """write the table here too, FILE.md; its picture and all figures, as JSON, beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        sizes = dict.fromkeys(run.size for run in self.shared.runs)
        if self.long_size not in sizes:
            raise UserError(f"--size {self.size}: --plan {self.plan} has short runs of "
                            f"{', '.join(sizes)} alone: choose one of them")  # fmt: skip
        check_report(self.report, PROGRAM, with_picture=True)

    @property
    def shared(self) -> Plan:
        return PLANS[self.plan]

    @property
    def long_size(self) -> Size:
        return self.size or statistics.mode(run.size for run in self.shared.runs)


def recipe(run: ShortRun, settings: ScalingSettings) -> PretrainSettings:
    """The run as settings of `bert-pretrain`; the same recipe for all.

    Running text, as in RoBERTa. The heads that `induction` begins with look at both neighbors: with
    the paper's first values the first millions of tokens teach the frequencies of words alone.
    """
    plan = settings.shared
    steps = plan.steps(run)
    return PretrainSettings(
        corpus=settings.corpus,
        model=run.size,
        seq_length=plan.length,
        batch_size=plan.tokens_a_step // plan.length,
        sentence_task="none",
        random_next=0.0,
        initialization=run.initialization,
        optimizer="muon",
        adam_beta2=0.98,
        learning_rate=run.rate,
        warmup_steps=min(200, steps // 10),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        steps=steps,
        eval_every=max(1, steps // 10),
        save_every=max(1, steps // plan.saves),
        compile=plan.compile,
        out=settings.out
        / f"{run.size}_tokens-{run.millions}M_rate-{run.rate:g}_{run.initialization}",
    )


def long_run_at(rate: float, out: Path, settings: ScalingSettings) -> PretrainSettings:
    return replace(recipe(ShortRun(settings.long_size, settings.millions, rate), settings), out=out)


def check_long_run(folder: Path, settings: ScalingSettings) -> None:
    """Raise `UserError` unless this is the run that is predicted, whatever its learning rate."""
    rate = RunFolder(folder).read_settings().get("learning_rate") or settings.shared.runs[0].rate
    asked = long_run_at(rate, folder, settings)
    try:
        is_done = Run("the long run", asked.seed, asked).is_trained
    except UserError as error:
        raise UserError(f"--long-run {folder} is not the run that is predicted: {error}") from None
    if not is_done:
        raise UserError(f"--long-run {folder} does not end at step {asked.steps:,}, as the run "
                        "that is predicted does: wait for its end, or name another")  # fmt: skip


# --- What came of the short runs, and the curve through it


@dataclass(frozen=True)
class Point:
    """What a run came to: held-out loss of masked words, in nats, and the seconds of training."""

    run: ShortRun
    loss: float
    seconds: float

    @property
    def tokens_a_second(self) -> float:
        return self.run.millions * MILLION / self.seconds


def point_of(run: ShortRun, settings: PretrainSettings) -> Point:
    return Point(run, final_entry(settings.out)["heldout_mlm_loss"], training_seconds(settings))


def best_recipes(points: Sequence[Point]) -> list[Point]:
    """Of the runs of one size and length, the one with the lowest loss."""
    best: dict[tuple[str, int], Point] = {}
    for point in points:
        key = point.run.size, point.run.millions
        if key not in best or point.loss < best[key].loss:
            best[key] = point
    return list(best.values())


@dataclass(frozen=True)
class Curve:
    """loss(size, D) = floor of the size + slope · D^(-exponent), D the tokens in millions.

    All sizes share slope and exponent: what a size cannot learn, however much it reads, is its
    floor.
    """

    floors: dict[str, float]
    slope: float
    exponent: float

    def loss(self, size: str, millions: float) -> float:
        return self.floors[size] + self.slope * millions**-self.exponent


def fit(points: Sequence[Point]) -> Curve:
    """The curve with the least squared error: for each exponent a linear problem.

    Needs a size with three lengths or more; a size with one length gives its floor alone.
    """
    sizes = list(dict.fromkeys(point.run.size for point in points))
    losses = np.array([point.loss for point in points])
    millions = np.array([float(point.run.millions) for point in points])
    is_of_size = np.array([[point.run.size == size for size in sizes] for point in points])
    curves = []
    for exponent in EXPONENTS:
        design = np.column_stack([is_of_size, millions**-exponent])
        solution = np.linalg.lstsq(design, losses, rcond=None)[0]
        error = float(((design @ solution - losses) ** 2).sum())
        floors = dict(zip(sizes, map(float, solution), strict=False))
        curves.append((error, Curve(floors, float(solution[-1]), float(exponent))))
    return min(curves, key=lambda each: each[0])[1]


def worth_of(millions: float, unique: float) -> float:
    """How many millions of new tokens so many are worth when the corpus has only `unique`."""
    if millions <= unique:
        return millions
    repeats = millions / unique - 1
    return unique * (1 + DECAY_OF_REPEATS * (1 - math.exp(-repeats / DECAY_OF_REPEATS)))


# --- The prediction


@dataclass(frozen=True)
class Prediction:
    """What a size comes to in the time of the long run: the loss, and its lowest and highest when
    any one of the short runs is left out of the fit."""

    size: str
    millions: float
    passes: float
    loss: float
    lowest: float
    highest: float


def speed(points: Sequence[Point], size: str) -> float:
    """Tokens a second: the median of the short runs of that size."""
    return float(np.median([each.tokens_a_second for each in points if each.run.size == size]))


def predict(points: Sequence[Point], size: str, *, millions: float, unique: float) -> Prediction:
    """For so many millions of tokens, of a corpus that has `unique` millions."""
    worth = worth_of(millions, unique)
    curves = [fit(points)]
    curves += [fit([each for each in points if each is not left_out]) for left_out in points]
    losses = [curve.loss(size, worth) for curve in curves if size in curve.floors]
    return Prediction(size, millions, millions / unique, losses[0], min(losses), max(losses))


def predictions_of(
    settings: ScalingSettings, points: Sequence[Point], unique: float
) -> list[Prediction]:
    """The long run first, then every other size in the same time."""
    duration = settings.millions / speed(points, settings.long_size)
    sizes = dict.fromkeys([settings.long_size, *(point.run.size for point in points)])
    return [
        predict(points, size, millions=duration * speed(points, size), unique=unique)
        for size in sizes
    ]


# --- The page


def page_of(
    settings: ScalingSettings, points: Sequence[Point], predictions: Sequence[Prediction],
    unique: float,
) -> Page:  # fmt: skip
    return Page(
        title="What a long run comes to, predicted from short ones",
        results=results_of(settings, points, predictions),
        columns=(),
        verdicts=[],
        rows=rows_of(points),
        made=f"{settings.corpus}: {unique:.1f} M tokens. {settings.shared.made}; the minutes are "
        "those of training.",
        notes=NOTES,
        picture="held-out loss against tokens: short runs as points, curves through them, and the "
        "prediction for the long run",
        below=prediction_text(settings, points, predictions),
    )


def results_of(
    settings: ScalingSettings, points: Sequence[Point], predictions: Sequence[Prediction]
) -> dict[str, list[dict[str, float]]]:
    found = {
        str(point.run): [{"tokens": float(point.run.millions), "seconds": point.seconds,
                          "loss": point.loss}]
        for point in points
    }  # fmt: skip
    for each in predictions:
        found[f"{each.size}, predicted"] = [
            {"tokens": each.millions, "passes": each.passes, "loss": each.loss,
             "lowest": each.lowest, "highest": each.highest}
        ]  # fmt: skip
    if settings.long_run:
        found["the long run"] = [{"loss": final_entry(settings.long_run)["heldout_mlm_loss"]}]
    return found


def rows_of(points: Sequence[Point]) -> list[list[str]]:
    head = ["size", "rate", "first values", "tokens, M", "held-out loss", "minutes",
            "tokens a second"]  # fmt: skip
    return [head] + [
        [point.run.size, f"{point.run.rate:g}", point.run.initialization,
         f"{point.run.millions}", f"{point.loss:.3f}", f"{point.seconds / 60:.0f}",
         f"{point.tokens_a_second:,.0f}"]
        for point in points
    ]  # fmt: skip


NOTES = (
    "Each run has its own learning rate, from a warm-up to zero, so that its last loss is what so "
    "many tokens come to. The curve is a floor for each size plus a power of the tokens that all "
    "sizes share; of the runs of one size and length the best one counts. Text that is read again "
    "is worth less than new text (Muennighoff et al. 2023, equation 5)."
)


def long_recipe(settings: ScalingSettings, points: Sequence[Point]) -> PretrainSettings:
    """The long run, with the best rate of the longest of the short ones."""
    size = settings.long_size
    longest = max((p for p in best_recipes(points) if p.run.size == size),
                  key=lambda p: p.run.millions)  # fmt: skip
    name = f"{size}-{settings.millions}m" if settings.plan == "gpu" else f"{settings.millions}m"
    return long_run_at(longest.run.rate, Path(f"runs/wikipedia-{name}"), settings)


def prediction_text(
    settings: ScalingSettings, points: Sequence[Point], predictions: Sequence[Prediction]
) -> str:
    """What each size comes to, the call of the long run, and what it came to if it is there."""
    rows = [["size", "tokens, M", "passes over the corpus", "predicted loss",
             "lowest and highest, a run left out"]]  # fmt: skip
    rows += [[each.size, f"{each.millions:,.0f}", f"{each.passes:.1f}", f"{each.loss:.2f}",
              f"{each.lowest:.2f} to {each.highest:.2f}"] for each in predictions]  # fmt: skip
    call = command_of("bert-pretrain", long_recipe(settings, points))
    parts = [
        f"## The prediction for {settings.millions} M tokens",
        "Another size reads what it can in the same time.",
        aligned(rows),
        f"```\n{call}\n```",
    ]
    if settings.long_run:
        loss, expected = final_entry(settings.long_run)["heldout_mlm_loss"], predictions[0].loss
        side = "above" if loss > expected else "below"
        parts.append(
            f"It came to **{loss:.3f}**, {abs(loss - expected):.2f} {side} the prediction."
        )
    return "\n\n".join(parts)


def picture_of(
    settings: ScalingSettings, points: Sequence[Point], predictions: Sequence[Prediction],
    unique: float,
) -> Picture:  # fmt: skip
    """Loss against tokens, both on a logarithmic scale."""
    picture, axes = picture_with_axes(
        height=4, width=7, xlabel="tokens read (millions)", ylabel="held-out loss (nats)"
    )
    curve, kept = fit(best_recipes(points)), best_recipes(points)
    for color, each in zip(COLORS, predictions, strict=False):
        of_size = [point for point in kept if point.run.size == each.size]
        first = min(point.run.millions for point in of_size)
        reach = np.geomspace(first, each.millions, 100)
        worth = [curve.loss(each.size, worth_of(float(m), unique)) for m in reach]
        axes.plot(reach, worth, "--", color=color, linewidth=1)
        axes.plot([point.run.millions for point in of_size], [point.loss for point in of_size],
                  "o", color=color, label=each.size)  # fmt: skip
        axes.errorbar([each.millions], [each.loss], color=color, marker="D", capsize=4,
                      yerr=[[each.loss - each.lowest], [each.highest - each.loss]])  # fmt: skip
    if settings.long_run:
        loss = final_entry(settings.long_run)["heldout_mlm_loss"]
        axes.plot(settings.millions, loss, "*", color=GREY, markersize=14, label="the long run")
    axes.set_xscale("log")
    ticks = sorted({point.run.millions for point in kept} | {settings.millions})
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()
    axes.legend(frameon=False)
    return unboxed(picture)


def open_store(corpus: str) -> TokenStore:
    """What the runs train on. All share it, so that no run builds its own."""
    folder = corpus_path(corpus)
    if not holds_stores(folder):
        raise UserError(
            f"--corpus {corpus} is no folder of finished stores: make one with "
            "python -m bert_corpus.build_stores"
        )
    return TokenStore.open(folder / "train")


@command
def main() -> None:
    settings = tyro.cli(ScalingSettings, prog=PROGRAM)
    unique = len(open_store(settings.corpus).tokens) / MILLION
    if settings.long_run:
        check_long_run(settings.long_run, settings)
    recipes = {run: recipe(run, settings) for run in settings.shared.runs}
    in_parallel(
        [Run(str(run), asked.seed, asked) for run, asked in recipes.items()],
        lambda run: run.is_trained, Run.train, workers=settings.workers,
        seconds=lambda run: expected_seconds(run.settings),
    )  # fmt: skip
    points = [point_of(run, asked) for run, asked in recipes.items()]
    predictions = predictions_of(settings, best_recipes(points), unique)
    page_of(settings, points, predictions, unique).publish(
        settings.report, command_of(PROGRAM, settings),
        draw=lambda: picture_of(settings, points, predictions, unique),
    )  # fmt: skip


if __name__ == "__main__":
    main()
