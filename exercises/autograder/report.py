"""What a run was worth: as a table to read, as `report.json`, as Gradescope's results."""

import json
from pathlib import Path
from typing import Any

from autograder.points import READY, all_present, worth
from autograder.runner import BLOCKED, FAILED, NOT_RUN, PASSED, TO_DO, Outcome, settled
from bert_run.files import write_atomically

Report = dict[str, Any]


def make_report(outcomes: dict[str, list[Outcome]], counted: list[str] | None = None) -> Report:
    """The report of a run, from the outcomes of each exercise that was run. It is of the exercises
    that are `counted`, or of all: one that was not run scores nothing."""
    exercises = []
    for exercise in all_present():
        name = exercise.name
        is_asked = exercise != READY or name in outcomes
        if not (is_asked if counted is None else name in counted):
            continue
        hundredths = worth(exercise)
        tests = [{"id": o.id, "points": hundredths[o.id] / 100, "outcome": o.outcome,
                  "message": o.message}
                 for o in settled(exercise, outcomes.get(name, []))]  # fmt: skip
        exercises.append({
            "name": name,
            "score": sum(hundredths[t["id"]] for t in tests if t["outcome"] == PASSED) / 100,
            "max_score": sum(hundredths.values()) / 100,
            "status": status([t["outcome"] for t in tests]),
            "tests": tests,
        })  # fmt: skip
    return {
        "score": total(exercises, "score"),
        "max_score": total(exercises, "max_score"),
        "exercises": exercises,
    }


def total(exercises: list[Report], key: str) -> float:
    """Added in hundredths, so that no rounding creeps in."""
    return sum(round(100 * exercise[key]) for exercise in exercises) / 100


def status(outcomes: list[str]) -> str:
    """One word for an exercise."""
    alike = outcomes[0] if len(set(outcomes)) == 1 else FAILED
    return alike if alike in (PASSED, TO_DO, NOT_RUN) else FAILED


def table(report: Report) -> list[str]:
    """The lines to print after a run."""
    lines, shown = [], report["exercises"]
    width = max((len(e["name"]) for e in shown), default=10)
    for exercise in shown:
        points = f"{exercise['score']:6.2f} of {exercise['max_score']:6.2f}"
        if not exercise["max_score"]:
            points = "no points"
        lines.append(f"{exercise['name']:{width}}  {points}  {remark(exercise)}".rstrip())
    score, best = total(shown, "score"), total(shown, "max_score")
    together = f"{'together':{width}}  {score:6.2f} of {best:6.2f}  points"
    return [*lines, together] if best else lines


def remark(exercise: Report) -> str:
    """What is left in an exercise: to do, wrong, or waiting for something else."""
    if exercise["status"] in (PASSED, NOT_RUN):
        return exercise["status"]
    words, told = [], {word: [t["message"] for t in exercise["tests"] if t["outcome"] == word]
                       for word in (TO_DO, FAILED, BLOCKED, NOT_RUN)}  # fmt: skip
    if told[TO_DO]:
        functions = {message.removesuffix(" is to do") for message in told[TO_DO]
                     if message.endswith(" is to do")}  # fmt: skip
        words.append("to do" + (f": {', '.join(sorted(functions))}" if functions else ""))
    if told[FAILED]:
        words.append(f"{len(told[FAILED])} of {len(exercise['tests'])} checks fail")
    if told[BLOCKED]:
        by = {message.split(":")[0].removeprefix("blocked by ") for message in told[BLOCKED]}
        words.append(f"{len(told[BLOCKED])} blocked by {', '.join(sorted(by))}")
    if told[NOT_RUN]:
        words.append(f"{len(told[NOT_RUN])} not run")
    return "; ".join(words)


def is_full(report: Report) -> bool:
    """Whether every exercise passed whole; nothing run is not full."""
    found = [exercise["status"] for exercise in report["exercises"]]
    return bool(found) and set(found) == {PASSED}


def gradescope(report: Report) -> Report:
    """The same as the `results.json` that Gradescope reads."""
    return {
        "score": report["score"],
        "output": f"{report['score']:g} of {report['max_score']:g} points",
        "tests": [
            {
                "name": f"{exercise['name']}: {sentence(test['id'])}",
                "score": test["points"] if test["outcome"] == PASSED else 0.0,
                "max_score": test["points"],
                "status": "passed" if test["outcome"] == PASSED else "failed",
                "output": test["message"] or test["outcome"],
            }
            for exercise in report["exercises"]
            for test in exercise["tests"]
        ],
    }


def sentence(test_id: str) -> str:
    return test_id.removeprefix("test_").replace("_", " ")


def write_report(path: Path, report: Report) -> None:
    write_atomically(path, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
