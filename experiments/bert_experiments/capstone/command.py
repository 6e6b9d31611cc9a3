"""The capstone's own command.

    python -m autograder capstone [FILE]

trains a small BERT on a corner of StoryWorld with the functions of the student's file, beside one
that has the reference's, and draws both curves. What is still to do is taken from the reference.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from autograder.checks import CheckFailed
from autograder.codec import Rng
from autograder.student import LocalTransport, Student, StudentError
from autograder.worker import load
from bert_experiments.capstone.forms import formed
from bert_experiments.capstone.side_by_side import (
    FUNCTIONS,
    begin,
    fill_blanks,
    in_a_minute,
    side_by_side,
)
from bert_run.errors import UserError
from bert_run.pictures import AMBER, BLUE, GREY, picture_with_axes
from bert_run.training_loop import MetricsLog, Record, progress_bar, read_metrics

Agrees = Callable[[str, Callable], bool]  # whether a function of this name is the reference's

TO_DO, YOURS, OTHER = "still to do: the reference's", "yours", "yours, and gives other numbers"


def stand_of(file: Path, agrees: Agrees) -> dict[str, str]:
    """What may be said of each function of a file, before a long training is begun."""
    student, found = Student(file, LocalTransport(file)), {}
    for name in FUNCTIONS:
        try:
            right = try_alone(student, name, agrees)
            found[name] = YOURS if right else OTHER
        except CheckFailed as error:
            raise UserError(
                f"{name}: {first_line(error)}: pytest exercises/25_capstone says more"
            ) from None
        except StudentError as error:
            if not error.to_do:
                raise UserError(f"{first_line(error)}: fix it, or leave it to do") from None
            found[name] = TO_DO
    return found


def try_alone(student: Student, name: str, agrees: Agrees) -> bool:
    """Whether a function gives what the reference gives; of masks, only whether it runs."""
    function = formed(getattr(student, name))
    if name != "mask_tokens":
        return agrees(name, function)
    function(np.full((2, 9), 7), Rng(0), mask_id=4, vocab_size=9, special_ids=[0, 4], rate=0.5)
    return True


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0].removesuffix(":")


def run_capstone(file: Path, *, agrees: Agrees, out: Path, steps: int) -> None:
    """Train with the functions of a file, beside the reference; draw both, fill blanks. `agrees`
    is the comparison of the exercise's test."""
    if not file.is_file():
        raise UserError(f"{file} does not exist: name the file of the capstone")
    stand = stand_of(file, agrees)
    for name, remark in stand.items():
        print(f"  {name:<30} {remark}")
    own = [name for name, remark in stand.items() if remark != TO_DO]
    functions = {name: getattr(load(file), name) for name in own}
    log, records = claimed_log(out / "metrics.jsonl"), []
    print(f"\nA small BERT learns a corner of StoryWorld; {len(own)} of its {len(stand)} functions "
          "are yours.\n", flush=True)  # fmt: skip
    data, recipe = in_a_minute(steps)
    bar = progress_bar(steps, "pretraining", unit="step")
    training = begin(recipe, functions)
    try:
        for theirs, ours in side_by_side(data, training):
            records.append({"step": len(records) + 1, "mlm_loss": theirs.mlm,
                            "nsp_loss": theirs.nsp, "reference_mlm_loss": ours.mlm,
                            "reference_nsp_loss": ours.nsp})  # fmt: skip
            log.append(records[-1])
            bar.set_postfix({"yours": f"{theirs.mlm:.3f}", "reference": f"{ours.mlm:.3f}"},
                            refresh=False)  # fmt: skip
            bar.update()
    except KeyboardInterrupt:
        print("\nstopped: this is how far it came", file=sys.stderr)
    bar.close()
    if not records:
        return
    draw(records, out / "curve.png", counted=data.unigram_entropy(), own=len(own))
    print(f"\n{summary_of(records)}\nThe curves: {out / 'curve.png'}\n")
    for text, words, is_right in fill_blanks(training, data):
        shown = ", ".join(f"{word} {share:.0%}" for word, share in words)
        print(f"  {text}  {'✓' if is_right else '✗'}  {shown}")


def claimed_log(path: Path) -> MetricsLog:
    """An empty log, in place of an earlier one of the capstone; those of other runs are kept."""
    if any("reference_mlm_loss" not in record for record in read_metrics(path)):
        raise UserError(f"{path} is of another run: choose another --out")
    path.parent.mkdir(parents=True, exist_ok=True)
    return MetricsLog(path)


def summary_of(records: list[Record]) -> str:
    """How far the two curves are from each other, in one line."""
    gaps = [abs(r["mlm_loss"] - r["reference_mlm_loss"]) for r in records]
    widest = int(np.argmax(gaps))
    yours, theirs = (smooth([r[name] for r in records])[-1]
                     for name in ("mlm_loss", "reference_mlm_loss"))  # fmt: skip
    return (f"Masked words: your loss ended at {yours:.3f} nats, the reference's at {theirs:.3f}; "
            f"on the way at most {gaps[widest]:.2g} apart (step {widest + 1}).")  # fmt: skip


def draw(records: list[Record], path: Path, *, counted: float, own: int) -> None:
    """Your curve, thin and dark, over the reference's, broad and pale."""
    picture, panels = picture_with_axes(columns=2, xlabel="step", title=(
        f"A BERT on StoryWorld with {own} functions of yours"))  # fmt: skip
    what = {"mlm_loss": ("masked words: loss (nats)", "counting words alone", counted),
            "nsp_loss": ("next sentence: loss (nats)", "a coin toss: ln 2", np.log(2))}  # fmt: skip
    for axes, (key, (label, mark, value)) in zip(panels, what.items(), strict=True):
        for prefix, name, style in (
            ("reference_", "the reference", {"color": AMBER, "linewidth": 6, "alpha": 0.55}),
            ("", "yours", {"color": BLUE, "linewidth": 1.2}),
        ):
            values = smooth([record[prefix + key] for record in records])
            axes.plot(np.arange(1, len(values) + 1), values, label=name, **style)
        axes.axhline(value, color=GREY, linestyle=":", linewidth=1.2, label=mark)
        axes.set(ylabel=label, ylim=(0, None))
        axes.legend(frameon=False, fontsize=8)
    picture.save(path)


WINDOW = 25  # steps whose mean is drawn: one batch is easier than the next


def smooth(values: list[float]) -> np.ndarray:
    """The mean of each step and those before it, as far as there are any."""
    sums = np.cumsum([0.0, *values])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - WINDOW, 0)
    return (sums[last] - sums[first]) / (last - first)
