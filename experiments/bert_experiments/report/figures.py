"""Figures of a study: what each run reached, by variant and seed, and how that is written in words.

Every study collects `Results`: for each variant one `Figures` a seed. `verdicts` judges them,
`page` writes them as a page and as JSON, `plots` draws them.
"""

import json
import math
import multiprocessing
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

from bert_run.files import read_record, write_atomically

Figures = dict[str, float]  # what a run reached, by the name of the measure
Results = dict[str, list[Figures]]  # by variant, one entry a seed

Item = TypeVar("Item")

UNTRAINED = "before training"  # a row of its own: what the first weights can do already
NOTHING = "–"

# Fractions of all that was asked, except for the perplexities.
TITLES = {
    "left": "settled by the left",
    "right": "settled by the right",
    "both": "by both sides",
    "other": "by another sentence",
    "all": "hidden words found",
    "sentence_task": "sentence task",
    "names": "names, features",
    "entailment": "entailment, features",
    "sentiment": "sentiment, features",
    "masked_perplexity": "perplexity at [MASK]",
    "wrong_word": "wrong words corrected",
    "in_view": "visible words named",
    "next_word_perplexity": "perplexity of the next word",
}


def title_of(measure: str) -> str:
    """A measure in words, also at a point of a run ("all@50%"); one without a title is its name."""
    name, _, when = measure.partition("@")
    title = TITLES.get(name, name)
    if not when:
        return title
    return f"{title} {f'after {when} of the steps' if when.endswith('%') else when}"


def is_fraction(measure: str) -> bool:
    """Whether a measure is written in per cent."""
    return "perplexity" not in measure and measure != "seconds"


def values_of(results: Results, variant: str, measure: str) -> list[float]:
    """One value a seed, of the seeds that have the measure."""
    return [figures[measure] for figures in results.get(variant, []) if measure in figures]


def measures_in(results: Results) -> list[str]:
    """Every measure that some run has, in the order in which they first appear."""
    return list(dict.fromkeys(name for runs in results.values() for run in runs for name in run))


def spread(values: Sequence[float], form: str, unit: str = "") -> str:
    """The median, with the lowest and the highest in brackets; a dash where there is no value."""
    if not values:
        return NOTHING
    median = f"{statistics.median(values):{form}}{unit}"
    if len(values) == 1:
        return median
    return f"{median} ({min(values):{form}}–{max(values):{form}})"


def in_words(values: Sequence[float], measure: str) -> str:
    """The spread of a measure; fractions in per cent."""
    if is_fraction(measure):
        return spread([100 * value for value in values], ".1f", "%")
    return spread(values, ".2f")


def summary(values: Sequence[float]) -> dict[str, Any]:
    """The same for JSON, with the value of each seed."""
    return {
        "median": statistics.median(values),
        "lowest": min(values),
        "highest": max(values),
        "seeds": len(values),
        "values": list(values),
    }


def say(line: str) -> None:
    """Progress of a study, on stderr."""
    print(line, file=sys.stderr, flush=True)


def one_by_one(
    runs: Sequence[Item], is_done: Callable[[Item], bool], do: Callable[[Item], object],
    seconds: Callable[[Item], float] | None = None,
) -> Iterator[Item]:  # fmt: skip
    """Each run once it is done; those that are done already are not done again.

    Says before the first how long all will take, where `seconds` estimates a run; then which run
    of how many it is, and how long the rest takes if each takes as long as those before; and after
    the last how long it was.
    """
    to_come = [run for run in runs if not is_done(run)]
    missing = len(to_come)
    if missing and seconds:
        minutes = math.ceil(sum(map(seconds, to_come)) / 60)
        say(f"{missing} of {len(runs)} runs are to be done: about {minutes} minutes on two cores")
    begin, done = time.perf_counter(), 0
    for number, run in enumerate(runs, start=1):
        if run in to_come and not is_done(run):  # not by an equal one before it
            to_do, left = missing - done, ""
            if done:
                minutes = (time.perf_counter() - begin) / done * to_do / 60
                left = f"; about {minutes:.0f} minutes left for {to_do} runs"
            say(f"run {number} of {len(runs)}: {run}{left}")
            do(run)
            done += 1
            if done == missing:
                say(f"{missing} runs took {(time.perf_counter() - begin) / 60:.1f} minutes")
        yield run


def in_parallel(
    runs: Sequence[Item], is_done: Callable[[Item], bool], do: Callable[[Item], object],
    *, workers: int, seconds: Callable[[Item], float] | None = None,
) -> None:  # fmt: skip
    """All runs that are not done yet, `workers` of them at a time, each in a process that shows
    nothing. `do` is a function of a module, or a class's method, so that a process can find it.

    With one worker it is `one_by_one`, in this process.
    """
    if workers == 1:
        for _ in one_by_one(runs, is_done, do, seconds):
            pass
        return
    to_do = [run for run in runs if not is_done(run)]
    say(f"{len(to_do)} of {len(runs)} runs are to be done, {workers} at a time")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    begin = time.perf_counter()
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), hush) as pool:
        begun = {pool.submit(do, run): run for run in to_do}
        try:
            for number, done in enumerate(as_completed(begun), start=1):
                done.result()
                taken = time.perf_counter() - begin
                say(f"{number} of {len(to_do)} done after {taken:.0f} s: {begun[done]}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def hush() -> None:
    """In a process of `in_parallel`: bars and reports of several runs would run into each other."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def is_call_of(program: str, line: str) -> bool:
    return bool(re.match(rf"(python )?{re.escape(program)}[\s`]", f"{line}\n"))


def is_page_of(program: str, text: str) -> bool:
    """Whether a text begins like the pages of a program: a title, then the command that made it. A
    sentence may stand between the two if the versions follow the command."""
    form = r"# .+\n\n(.+\n\n)?(?:Made by `|```\n(?:make site\n)?)([^`]+)`+\s*(\w+, Python )?"
    begin = re.match(form, text)
    return bool(begin) and is_call_of(program, begin[2]) and bool(begin[3] or not begin[1])


def kept_record(path: Path, **fields: type) -> dict[str, Any]:
    """What a study has kept in a JSON file, with `fields` of these types; else `UserError`."""
    return read_record(path, fields, way_out="delete it, and it is measured again")


def measured_once(path: Path, asked: object, measure: Callable[[], Any]) -> Any:
    """What `measure` returns, kept in a JSON file: a study that was stopped goes on where it was.

    `asked` is all that the figures depend on, as JSON has it; with another one they are measured
    again.
    """
    if path.is_file():
        found = kept_record(path, figures=dict)
        if found.get("asked") == asked:
            return found["figures"]
    figures = measure()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"asked": asked, "figures": figures}, indent=2) + "\n")
    return figures
