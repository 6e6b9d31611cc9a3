"""A failing call, made once more: as a line of Python to paste, or in a debugger.

python -m autograder again 03_softmax the_backward_uses_its_axis
"""

import pdb
import sys

import numpy as np

from autograder.checks import CheckFailed
from autograder.codec import pack, unpack
from autograder.points import Check, Exercise, checks_of, find
from autograder.runner import load_test, obstacle, run
from autograder.student import Student
from autograder.transports import LocalTransport
from bert_run.errors import UserError


def call_again(name: str, check: str) -> None:
    """Run one check of an exercise, and make the call that fails once more: in a debugger, which
    stops at the first line of the student's function; without a terminal, print what comes."""
    exercise = find(name.rstrip("/").rpartition("/")[2])
    if exercise is None:
        raise UserError(f"there is no exercise {name!r}: name its folder, such as 03_softmax")
    chosen = check_named(exercise, check)
    if reason := obstacle(exercise, exercise.starter):
        raise UserError(f"{exercise.name}: {reason.message}")
    transport = LocalTransport(exercise.starter)
    student = Student(exercise.starter, transport)
    error = run(getattr(load_test(exercise), chosen.id), student)
    print(error or f"{chosen.id} passes")
    calls = student._log.candidates(error.out) if isinstance(error, CheckFailed) else []
    call = calls[-1] if calls else student._log.last
    function = getattr(transport.worker.module, call.function, None) if error and call else None
    if not callable(function):
        return
    args, kwargs = unpack(pack((call.args, call.kwargs)), make=True)
    if sys.stdin.isatty():
        print(f"\n{call}: `n` runs the next line, `p name` prints, `c` goes on to the end")
        pdb.Pdb().runcall(function, *args, **kwargs)
        return
    with np.printoptions(threshold=sys.maxsize, linewidth=100):
        for label, value in [*enumerate(args, 1), *kwargs.items()]:
            print(f"\nargument {label}:\n{value}")
        print(f"\n{call.function} returns:")
        try:
            print(function(*args, **kwargs))
        except Exception as raised:
            print(f"{type(raised).__name__}: {raised}")


def check_named(exercise: Exercise, name: str) -> Check:
    """The check of this name, with or without `test_`, or the only one that has it as a part."""
    name = name.removeprefix("test_").replace(" ", "_")
    checks = checks_of(exercise)
    exact = [check for check in checks if check.id == f"test_{name}"]
    found = exact or [check for check in checks if name in check.id]
    if len(found) != 1:
        names = ", ".join(check.id.removeprefix("test_") for check in found or checks)
        raise UserError(f"{exercise.name} has {len(found)} checks {name!r}: take one of {names}")
    return found[0]
