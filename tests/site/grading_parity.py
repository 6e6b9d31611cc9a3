"""Does Python in the page grade as Python on a computer does?

    python tests/site/grading_parity.py [03_softmax ...] --results build/parity

For every exercise that the page offers: the solution, the starter, every wrong and every right
answer of the bank are graded by CPython and by Pyodide under node, and the outcomes are compared
check by check. A result is kept in the folder with the digest of what it depends on, so a call that
was stopped goes on where it was. The exit status is 0 if all outcomes agree; messages that differ
are counted, and shown with --words.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.points import EXERCISES, Exercise, find
from autograder.runner import grade
from bert_experiments.grader import bank

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SITE = ROOT / "site"
PYTHON = ROOT / "build" / "site" / "python"
MEMORY = 10 * 2**30  # bytes of a process on a computer; the page has 4 GiB

sys.path.insert(0, str(SITE))
import runtime  # noqa: E402


@dataclass(frozen=True)
class Answer:
    """A file to be graded."""

    exercise: str
    kind: str  # solution, starter, wrong or right
    name: str
    text: str

    @property
    def key(self) -> str:
        return f"{self.exercise}: {self.kind}: {self.name}"


def answers(name: str) -> list[Answer]:
    exercise = find(name)
    texts = {"solution": exercise.solution, "starter": exercise.starter}
    own = [Answer(name, kind, kind, path.read_text("utf-8")) for kind, path in texts.items()]
    return own + [Answer(name, "right" if v.is_right else "wrong", v.name, v.text)
                  for v in bank.variants(exercise)]  # fmt: skip


def digest(answer: Answer) -> str:
    """Of the answer, of the checks and of the grader: what decides the outcome."""
    files = [EXERCISES / answer.exercise / f"test_{answer.exercise[3:]}.py",
             *sorted((EXERCISES / "autograder").glob("*.py"))]  # fmt: skip
    parts = [answer.text.encode(), *(path.read_bytes() for path in files)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


class Kept:
    """Results in a file of JSON lines, by key; one whose digest is another is graded again."""

    def __init__(self, path: Path) -> None:
        self.path, self.found = path, {}
        if path.is_file():
            for line in path.read_text("utf-8").splitlines():
                result = json.loads(line)
                self.found[result["key"]] = result

    def missing(self, every: list[Answer]) -> list[Answer]:
        return [a for a in every if self.found.get(a.key, {}).get("digest") != digest(a)]

    def add(self, answer: Answer, result: dict) -> None:
        result = {**result, "key": answer.key, "digest": digest(answer)}
        self.found[answer.key] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")


def grade_here(answer: Answer) -> dict:
    """The outcomes in a fork of this process: a wrong answer may take gigabytes."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            with os.fdopen(write, "w") as pipe:
                pipe.write(json.dumps(graded(answer)))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)  # whatever happens: the code after the call is the parent's
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(told) if told else {"outcomes": [], "error": f"ended with status {status}"}


def graded(answer: Answer) -> dict:
    exercise: Exercise = find(answer.exercise)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / exercise.file
        path.write_text(answer.text, encoding="utf-8")
        start = time.perf_counter()
        outcomes = grade(exercise, path)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "outcomes": [vars(outcome) for outcome in outcomes]}


def grade_there(every: list[Answer], python: Path = PYTHON) -> Iterator[tuple[Answer, dict]]:
    """The outcomes in Pyodide under node, as they come."""
    node = subprocess.Popen(["node", str(HERE / "grade_in_pyodide.mjs"), str(python)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    by_key = {answer.key: answer for answer in every}
    try:
        node.stdout.readline()  # says how long it took to get ready
        for answer in every:
            request = {"key": answer.key, "exercise": answer.exercise, "text": answer.text}
            node.stdin.write(json.dumps(request) + "\n")
            node.stdin.flush()
            line = node.stdout.readline()
            if not line:
                raise RuntimeError(f"node ended while it graded {answer.key}")
            result = json.loads(line)
            yield by_key[result["key"]], result
    finally:
        node.kill()
        node.wait()


def differences(here: dict, there: dict) -> list[str]:
    """The checks whose outcomes differ, with both messages."""
    if "error" in here or "error" in there:
        return [here.get("error", ""), there.get("error", "")]
    ours = {o["id"]: o for o in here["outcomes"]}
    theirs = {o["id"]: o for o in there["outcomes"]}
    if list(ours) != list(theirs):
        return [f"other checks: {sorted(ours.keys() ^ theirs.keys())}"]
    return [
        f"{id}\n  on a computer: {ours[id]['outcome']}: {ours[id]['message']}\n"
        f"  in the page:   {theirs[id]['outcome']}: {theirs[id]['message']}"
        for id in ours if ours[id]["outcome"] != theirs[id]["outcome"]
    ]  # fmt: skip


def other_words(here: dict, there: dict) -> list[str]:
    """Checks with the same outcome and another message."""
    theirs = {o["id"]: o for o in there.get("outcomes", [])}
    return [f"{o['id']}\n  on a computer: {o['message']}\n"
            f"  in the page:   {theirs[o['id']]['message']}"
            for o in here["outcomes"] if o["id"] in theirs
            and theirs[o["id"]]["outcome"] == o["outcome"]
            and theirs[o["id"]]["message"] != o["message"]]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=sorted(runtime.OFFERED))
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "parity")
    parser.add_argument("--python", type=Path, default=PYTHON, help="the folder of the built site")
    parser.add_argument("--kinds", default="solution,starter,right,wrong", help="of answers")
    parser.add_argument("--words", action="store_true", help="show messages that differ")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in options.names:
        every = [answer for answer in answers(name) if answer.kind in options.kinds.split(",")]
        here = Kept(options.results / f"{name}.cpython.jsonl")
        there = Kept(options.results / f"{name}.pyodide.jsonl")
        for answer in here.missing(every):
            here.add(answer, grade_here(answer))
        if missing := there.missing(every):
            for answer, result in grade_there(missing, options.python):
                there.add(answer, result)
        pairs = [(a, here.found[a.key], there.found[a.key]) for a in every]
        found = {a.key: told for a, h, t in pairs if (told := differences(h, t))}
        words = {a.key: told for a, h, t in pairs if (told := other_words(h, t))}
        wrong += len(found)
        print(f"{name}: {len(every)} answers, {len(found)} with other outcomes, "
              f"{len(words)} with other words", flush=True)  # fmt: skip
        for key, told in {**(words if options.words else {}), **found}.items():
            print(f"{key}\n  " + "\n  ".join(told))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
