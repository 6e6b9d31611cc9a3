"""The capstone's own command, and what its test and the command share.

    python -m autograder capstone [FILE]

trains a small BERT on a corner of StoryWorld with the functions of the student's file, beside one
that has the reference's, and draws both curves. What is still to do is taken from the reference.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder import checks
from autograder.codec import Rng
from autograder.points import find
from autograder.runner import load_test
from autograder.student import Student, StudentError
from autograder.transports import LocalTransport
from autograder.worker import load
from bert_run.errors import UserError
from bert_run.pictures import AMBER, BLUE, GREY, picture_with_axes
from bert_run.training_loop import MetricsLog, Record, progress_bar

CAPSTONE = find("25_capstone")
FOLDER = f"exercises/{CAPSTONE.name}"


def like_adam(weights, gradients, state, **_):
    return weights, {"m": state["m"], "v": state["v"]}


# What each function must return, but for the numbers: its arguments have the forms.
FORMS: dict[str, Callable[..., Any]] = {
    "layer_forward": lambda x, mask, weights, **_: x,
    "layer_backward": lambda dout, x, mask, weights, **_: (x, weights),
    "layer_norm_forward": lambda x, weight, bias, eps: x,
    "layer_norm_backward": lambda dout, x, weight, eps: (x, weight, weight),
    "gelu_forward": lambda x, approximation: x,
    "gelu_backward": lambda dout, x, approximation: x,
    "attention_forward": lambda query, key, value, mask: (query, query @ key.swapaxes(-1, -2)),
    "attention_backward": lambda dcontext, query, key, value, probs: (query, key, value),
    "lookup_backward": lambda dout, ids, entries: np.zeros((entries, dout.shape[-1]), dout.dtype),
    "masked_cross_entropy_forward": lambda logits, labels, weights: 0.0,
    "masked_cross_entropy_backward": lambda dloss, logits, labels, weights: logits,
    "mask_tokens": lambda ids, rng, **_: (0 * ids, 0 * ids),
    "learning_rate": lambda step, **_: 0.0,
    "clip_gradients": lambda gradients, max_norm: (gradients, 0.0),
    "adam_step": like_adam,
}
FLOAT64 = "the result is always float64: a Python float or NumPy's own float64 came in"


def formed(function: Any) -> Callable[..., Any]:
    """The function of a student, whose results are looked at before the model goes on with them:
    types and shapes, and no NaN."""
    name = function.name

    def call(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        told = out
        if name == "adam_step" and type(out) is tuple and len(out) == 2 and type(out[1]) is dict:
            told = (out[0], {k: out[1][k] for k in ("m", "v") if k in out[1]})  # more may be kept
        if name == "mask_tokens" and type(out) is tuple:  # whole numbers would have to be equal
            told = tuple(0 * part if type(part) is np.ndarray else part for part in out)
        form = FORMS[name](*args, **kwargs)
        named = {} if is_float64(form) else {FLOAT64: is_float64}
        checks.same(told, form, of=f"what {name} returned", mistakes=named, tolerance=np.inf)
        return out

    return call


def is_float64(out: Any) -> bool:
    """Whether an array somewhere in a tree of values is float64."""
    if type(out) is np.ndarray:
        return out.dtype == np.float64
    if type(out) in (list, tuple, dict):
        return any(map(is_float64, out.values() if type(out) is dict else out))
    return False


# --- The command ---

TO_DO, YOURS, OTHER = "still to do: the reference's", "yours", "yours, and gives other numbers"


def stand_of(course: ModuleType, file: Path) -> dict[str, str]:
    """What may be said of each function of a file, before a long training is begun."""
    student, found = Student(file, LocalTransport(file)), {}
    for name in course.FUNCTIONS:
        try:
            right = try_alone(course, student, name)
            found[name] = YOURS if right else OTHER
        except checks.CheckFailed as error:
            raise UserError(f"{name}: {first_line(error)}: pytest {FOLDER} says more") from None
        except StudentError as error:
            if not error.to_do:
                raise UserError(f"{first_line(error)}: mend it, or leave it to do") from None
            found[name] = TO_DO
    return found


def try_alone(course: ModuleType, student: Student, name: str) -> bool:
    """Whether a function gives what the reference gives; of masks, only whether it runs."""
    function = formed(getattr(student, name))
    if name != "mask_tokens":
        return course.agrees(name, function)
    function(np.full((2, 9), 7), Rng(0), mask_id=4, vocab_size=9, special_ids=[0, 4], rate=0.5)
    return True


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0].removesuffix(":")


def run_capstone(file: Path, *, out: Path, steps: int) -> None:
    """Train with the functions of a file, beside the reference; draw both, fill blanks."""
    if not file.is_file():
        raise UserError(f"{file} does not exist: name the file of the capstone")
    course = load_test(CAPSTONE)
    stand = stand_of(course, file)
    for name, remark in stand.items():
        print(f"  {name:<30} {remark}")
    own = [name for name, remark in stand.items() if remark != TO_DO]
    functions = {name: getattr(load(file), name) for name in own}
    print(f"\nA small BERT learns a corner of StoryWorld; {len(own)} of its {len(stand)} functions "
          "are yours.\n", flush=True)  # fmt: skip
    data, recipe = course.in_a_minute(steps)
    out.mkdir(parents=True, exist_ok=True)
    log, records = MetricsLog(out / "metrics.jsonl"), []
    bar = progress_bar(steps, "pretraining", unit="step")
    training = course.begin(recipe, functions)
    try:
        for theirs, ours in course.side_by_side(data, training):
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
    print(f"\n{apart(records)}\nThe curves: {out / 'curve.png'}\n")
    for text, words, is_right in course.fill_blanks(training, data):
        shown = ", ".join(f"{word} {share:.0%}" for word, share in words)
        print(f"  {text}  {'✓' if is_right else '✗'}  {shown}")


def apart(records: list[Record]) -> str:
    """How far the two curves are from each other, in one line."""
    gaps = [abs(r["mlm_loss"] - r["reference_mlm_loss"]) for r in records]
    widest = int(np.argmax(gaps))
    return (f"Masked words: your loss ended at {tail(records, 'mlm_loss'):.3f} nats, the "
            f"reference's at {tail(records, 'reference_mlm_loss'):.3f}; on the way at most "
            f"{gaps[widest]:.2g} apart (step {widest + 1}).")  # fmt: skip


def tail(records: list[Record], key: str) -> float:
    """The mean of the last steps: those of a single one go up and down."""
    return float(np.mean([record[key] for record in records[-WINDOW:]]))


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
