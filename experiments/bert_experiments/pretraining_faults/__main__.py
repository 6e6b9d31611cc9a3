"""`python -m bert_experiments.pretraining_faults`: curves of runs with one fault each.

    python -m bert_experiments.pretraining_faults                    the gallery
    python -m bert_experiments.pretraining_faults --questions        rates, sizes, vocabularies, …
    python -m bert_experiments.pretraining_faults --exam 7           ten runs without their names

Runs that are done are kept in `--runs`, and a call that was stopped goes on with the next one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import tyro

from bert_experiments.pretraining_faults.draw import draw_runs
from bert_experiments.pretraining_faults.exam import CHECKS, EXAMS, RUNS, Exam, unlabeled, write_key
from bert_experiments.pretraining_faults.faults import GALLERY
from bert_experiments.pretraining_faults.questions import QUESTIONS
from bert_experiments.pretraining_faults.runs import EVERY, HEALTHY, KIND, STORIES, Run, trained
from bert_experiments.report.figures import measured_once, spread
from bert_experiments.report.page import Page, aligned, check_report, command_of, wrapped
from bert_run.config import Whole, check_numbers
from bert_run.errors import UserError, command
from bert_run.files import write_atomically
from bert_run.training_loop import progress_bar

PROGRAM = "python -m bert_experiments.pretraining_faults"


@dataclass(frozen=True)
class FaultsSettings:
    """Train a small BERT with one fault after another, and draw what the curves look like."""

    questions: bool = False
    """also the runs on rates, sizes and text, vocabularies, shares of masks, and leaked text"""
    exam: Annotated[int, Whole(0, 10_000)] | None = None
    """instead: ten runs with unknown faults, drawn from this seed; the key is written apart"""
    runs: Path = Path("runs/pretraining_faults")
    """text and curves; the same call goes on where it was stopped"""
    report: Path | None = None
    """write the table here too, FILE.md; all curves, as JSON, and the picture beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_report(self.report, PROGRAM, with_picture=True)
        for name in ("questions", "report"):
            if self.exam is not None and getattr(self, name):
                raise UserError(f"--{name} changes nothing with --exam: leave it out")


def measure(runs: Sequence[Run], folder: Path) -> dict[str, list[dict]]:
    """The curve of each run, by its name; those that are done already are read."""
    found: dict[str, list[dict]] = {}
    if not runs:
        return found
    with progress_bar(sum(run.settings.steps for run in runs), "pretraining", unit="step") as bar:
        end = 0
        for run in runs:
            file = f"{run.name}-{run.seed}.json".replace(" ", "-")
            path = folder / "curves" / file
            work = partial(trained, run, folder, step_done=bar.update)
            curve = measured_once(path, run.asked, work)
            found.setdefault(run.name, []).append(curve)
            end += run.settings.steps
            bar.update(end - bar.n)
    return found


def figures_of(curve: dict) -> dict[str, float]:
    """The numbers of a run beside its curves, and where its curves end."""
    numbers = {name: value for name, value in curve.items() if not isinstance(value, list)}
    heldout = [loss for loss in curve["heldout"] if loss is not None]
    ends = {"train": curve["train"][-1], "heldout": heldout[-1], "norm": curve["norm"][-1]}
    return {**ends, "lowest_heldout": min(heldout), **numbers}


@dataclass(frozen=True)
class FaultsPage(Page):
    """A page whose JSON has the curves of the gallery, too."""

    curves: dict[str, dict] = field(default_factory=dict)

    def as_json(self, command: str) -> dict:
        return {**super().as_json(command), "curves": self.curves}


def rows_of(gallery: dict[str, list[dict]]) -> Iterator[list[str]]:
    yield ["run", "first loss", "training loss", "held-out loss", "with the correct code",
           "gradient norm", "pieces per word"]  # fmt: skip
    for name, curves in gallery.items():
        found = [figures_of(curve) for curve in curves]
        yield [name, *(spread([each[key] for each in found], ".2f")
                       for key in ("first_loss", "train", "heldout", "exam", "norm",
                                   "pieces_per_word"))]  # fmt: skip


def page_of(gallery: dict[str, list[dict]], questions: dict[str, list[dict]]) -> Page:
    healthy, seeds = gallery["healthy"][0], len(gallery["healthy"])
    below = [exams_text()]
    if questions:
        below.insert(0, questions_text(questions))
    return FaultsPage(
        title="Pretraining with one thing wrong",
        results={
            name: [figures_of(curve) for curve in curves]
            for name, curves in (gallery | questions).items()
        },
        columns=(),
        verdicts=[],
        lead="Each run has a single fault and otherwise equals the first run; [notebook 03/08]"
        "(../03_paper_reproduction/08_when_pretraining_goes_wrong.ipynb) describes what each fault "
        "looks like and how to tell it from the others.",
        made=f"{HEALTHY.steps} steps with {HEALTHY.batch_size} rows of {HEALTHY.seq_length} "
        f"tokens, a model of {healthy['parameters']:,} parameters, {STORIES:,} stories of the kind "
        f"{KIND}, a vocabulary of {healthy['vocabulary']} entries; AdamW, peak learning rate "
        f"{HEALTHY.learning_rate:g} after {HEALTHY.warmup} steps, {HEALTHY.masked_lm_prob:.0%} of "
        "the tokens masked, no sentence task. Each run has one seed, except for the healthy run "
        f"and the run without warm-up, which have {seeds}; a seed changes the initial weights, the "
        "pairs and the masks.",
        notes="Losses are in nats, after the last step; with several seeds, the median with the "
        f"lowest and highest in parentheses. ln V is {healthy['ln_v']:.2f}, the entropy of the "
        f"word frequencies {healthy['entropy']:.2f}. *Training loss* is the mean of the last "
        f"{EVERY} steps, *held-out loss* is what the run itself measures, with its fault. *With "
        "the correct code* is the held-out loss of the same weights, measured without the fault. "
        "With another vocabulary the loss is per piece of that vocabulary. In the table of "
        "vocabularies whole words are masked, in training and when measured, so it is not "
        "comparable with the others; its runs are named after the size that was asked for, and of "
        f"800 entries only {healthy['vocabulary']} were found. The gradient norm is "
        "measured before clipping. In the picture, the healthy run is gray, dotted lines are ln V "
        "and the entropy, and a dashed line is the norm after clipping.",
        picture="the training loss, the held-out loss and the gradient norm of each run against "
        "its steps, with those of the healthy run",
        rows=list(rows_of(gallery)),
        below="\n\n".join(below),
        curves={name: curves[0] for name, curves in gallery.items()},
    )


def questions_text(found: dict[str, list[dict]]) -> str:
    """A table for each question; every run has the healthy run's exam, except its vocabulary."""
    parts = []
    for title, runs in QUESTIONS.items():
        rows = [["run", "training loss", "held-out loss", "accuracy", "nats per character",
                 "passes", "tokens read per parameter"]]  # fmt: skip
        for run in runs:
            each = figures_of(found[run.name][0])
            rows.append([
                run.name, f"{each['train']:.2f}", f"{each['exam']:.2f}", f"{each['right']:.1%}",
                f"{each['exam'] * each['pieces_per_character']:.3f}", f"{each['passes']:.1f}",
                f"{each['read'] / each['parameters']:.2f}",
            ])  # fmt: skip
        parts.append(f"## {title}\n\n{aligned(rows)}")
    return "\n\n".join(parts)


def exams_text() -> str:
    """The exams that were taken, with their keys."""
    made = (
        f"`{PROGRAM} --exam N` makes {RUNS} runs with other seeds and values, drawn with the seed "
        "N. They were diagnosed from the curves and checks with the notebook's table as it was "
        "then, before the key was opened. The number in the second column is the row of that "
        "table; its last row names the faults that no curve here shows, and is counted as correct "
        "for either of them."
    )
    parts = ["## Ten runs without their names", wrapped(made), *map(answers_text, EXAMS)]
    return "\n\n".join(parts)


def answers_text(exam: Exam) -> str:
    rows = [["run", "what the curves and checks show", "diagnosis", "actual fault", "correct"]]
    right = 0
    for number, (answer, run) in enumerate(zip(exam.answers, unlabeled(exam.seed), strict=True), 1):
        is_right = run.name in answer.diagnosis
        right += is_right
        rows.append([str(number), answer.seen, " or ".join(answer.diagnosis), run.name,
                     "yes" if is_right else "no"])  # fmt: skip
    count = f"**Seed {exam.seed}: {right} of {RUNS} correct.** {exam.answered}."
    changed = f"Changed after this exam: {exam.afterwards}"
    return f"{wrapped(count)}\n\n{aligned(rows)}\n\n{wrapped(changed)}"


def give_exam(seed: int, folder: Path) -> None:
    """Curves and checks of ten runs as numbers 1 to 10; the key in a folder of its own."""
    runs = unlabeled(seed)
    write_key(runs, folder / f"exam-{seed}-key" / "key.json")
    numbered = [replace(run, name=f"exam {seed} run {n}") for n, run in enumerate(runs, 1)]
    curves = [found[0] for found in measure(numbered, folder).values()]
    place = folder / f"exam-{seed}"
    place.mkdir(parents=True, exist_ok=True)
    draw_runs({f"run {n}": curve for n, curve in enumerate(curves, 1)}).save(place / "curves.png")
    rows = [["run", *CHECKS.values()]]
    rows += [[str(n), *(f"{figures_of(curve)[check]:.2f}" for check in CHECKS)]
             for n, curve in enumerate(curves, 1)]  # fmt: skip
    write_atomically(place / "checks.md", aligned(rows) + "\n")
    print(f"{aligned(rows)}\n\n{place}/curves.png, {place}/checks.md; the key: "
          f"{folder / f'exam-{seed}-key' / 'key.json'}")  # fmt: skip


@command
def main() -> None:
    settings = tyro.cli(FaultsSettings, prog=PROGRAM)
    torch.set_num_threads(1)  # so small a model gains nothing by a second one
    if settings.exam is not None:
        give_exam(settings.exam, settings.runs)
        return
    gallery = measure(GALLERY, settings.runs)
    asked = [run for runs in QUESTIONS.values() for run in runs] if settings.questions else []
    page = page_of(gallery, measure(asked, settings.runs))
    named = {name: curves[0] for name, curves in gallery.items()}
    page.publish(settings.report, command_of(PROGRAM, settings),
                 draw=lambda: draw_runs(named, beside=named["healthy"]))  # fmt: skip


if __name__ == "__main__":
    main()
