"""A process of its own for contestants: asked line by line, it answers line by line, in JSON.

    {"make": NAME, "kind": …, "folder": …, "options": {…}}   ->  {"seconds": …}
    {"turn": NAME, "steps": 3}                               ->  {"seconds": [...], "value": …}
    {"forget_peak": true}                                    ->  {}
    {"peak": true}                                           ->  {"bytes": …}

With `--settled` it computes as processes of this course do (`bert_run/cpu.py`), whatever library
does the work. The bytes are those beyond what the libraries took when they were loaded.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from bench_sections.machine import forget_peak, peak_resident, resident

Step = Callable[[], float | None]

MODULES = {
    "products": "limits",
    "products of a step": "limits",
    "fresh memory": "limits",
    "level 1": "level_1",
    "level 2": "levels",
    "level 2, every token": "levels",
    "level 3": "levels",
    "level 3 without": "without",
    "transformers": "peers",
    "nn.TransformerEncoder": "peers",
    "d2l": "d2l",
    "bert-encode": "encoders",
    "transformers, padded": "encoders",
    "transformers, sorted": "encoders",
    "nn.TransformerEncoder, padded": "encoders",
}


class Worker:
    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}
        self.at_rest: int | None = None

    def answer(self, request: dict) -> dict:
        if "make" in request:
            begin = time.perf_counter()
            module = importlib.import_module(f"bench_sections.{MODULES[request['kind']]}")
            self.at_rest = self.at_rest or resident()
            make = module.KINDS[request["kind"]]
            self.steps[request["make"]] = make(Path(request["folder"]), **request["options"])
            return {"seconds": time.perf_counter() - begin}
        if "turn" in request:
            return turn(self.steps[request["turn"]], request["steps"])
        if "forget_peak" in request:
            forget_peak()
            return {}
        return {"bytes": peak_resident() - self.at_rest}


def turn(step: Step, steps: int) -> dict:
    taken = []
    for _ in range(steps):
        begin = time.perf_counter()
        value = step()
        taken.append(time.perf_counter() - begin)
    return {"seconds": taken, "value": value}


def answers_only() -> TextIO:
    """Where answers go. What libraries print goes to the errors, so that no line is misread."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def main() -> None:
    answers = answers_only()
    if "--settled" in sys.argv:
        from bert_run.cpu import configure_cpu

        configure_cpu()
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers)


if __name__ == "__main__":
    main()
