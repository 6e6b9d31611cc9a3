"""What came out of all seeds: the numbers, as a table, as JSON and as the model's card."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bert_finetuning.fingerprints import Inputs
from bert_finetuning.seed_run import SeedResult
from bert_run.metrics import Record

Grid = dict[str, list[SeedResult]]  # the results of each combination, by its name


@dataclass(frozen=True)
class Outcome:
    """The seeds of one task, and what they are to be compared with."""

    task: str
    metric: str  # the deciding one
    start: str  # what the model began from, in a line
    examples: tuple[int, int]  # to learn from, and to measure on
    majority: Record  # the scores of saying the most common of every example
    results: Sequence[SeedResult]
    folder: Path  # that of the best seed's run
    grid: Grid
    chosen: str  # the combination of the grid that won, or ""
    inputs: Inputs = field(default_factory=dict)  # as far as they are known

    @property
    def scores(self) -> list[float]:
        """The deciding metric of each seed's best model."""
        return [result.best[self.metric] for result in self.results]

    @property
    def median(self) -> float:
        return statistics.median(self.scores)

    @property
    def best(self) -> SeedResult:
        return max(self.results, key=lambda result: result.best[self.metric])

    def as_json(self, settings: dict[str, Any]) -> dict[str, Any]:
        """What `metrics.json` holds."""
        names = [name for name in self.best.best if name != "step"]
        grid = {
            name: {"median": median_of(results, self.metric), "seeds": [vars(r) for r in results]}
            for name, results in self.grid.items()
        }
        inputs = {name: asdict(each) for name, each in self.inputs.items()}
        return {
            "task": self.task,
            "metric": self.metric,
            "start": self.start,
            "train_examples": self.examples[0],
            "dev_examples": self.examples[1],
            "seeds": [vars(result) for result in self.results],
            "median": {n: statistics.median(r.best[n] for r in self.results) for n in names},
            "lowest": {n: min(r.best[n] for r in self.results) for n in names},
            "highest": {n: max(r.best[n] for r in self.results) for n in names},
            "majority": self.majority,
            "best_seed": self.best.seed,
            "chosen_on": "dev: the step of each seed, the seed, of a grid the combination, and of "
            "questions that may have no answer the threshold",
            **({"inputs": inputs} if inputs else {}),
            **({"grid": grid, "chosen": self.chosen} if grid else {}),
            "settings": settings,
        }

    def table(self) -> str:
        """In a few lines, for people."""
        rows = [("", f"{self.metric}, per cent", "")]
        for name, results in self.grid.items():
            score = percent(median_of(results, self.metric))
            rows.append((name, score, "the best of the grid" if name == self.chosen else ""))
        for result in self.results:
            rows.append(
                (f"seed {result.seed}", percent(result.best[self.metric]), self.note(result))
            )
        if len(self.results) > 1:
            spread = f"from {percent(min(self.scores))} to {percent(max(self.scores))}"
            rows.append((f"median of {len(self.results)}", percent(self.median), spread))
        rows.append(
            ("majority", percent(self.majority[self.metric]), "the most common, said unread")
        )
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        return "\n".join(
            f"{name:<{widths[0]}}  {score:>{widths[1]}}  {note}".rstrip()
            for name, score, note in rows
        )

    def note(self, result: SeedResult) -> str:
        """At which step a seed was best, and where it ended."""
        if result.collapsed:
            return "collapsed: it says the same of every example"
        if result.best["step"] == result.last["step"]:
            return f"at the last step, {result.last['step']:,}"
        return f"at step {result.best['step']:,}; at the last {percent(result.last[self.metric])}"


def median_of(results: Sequence[SeedResult], metric: str) -> float:
    return statistics.median(result.best[metric] for result in results)


def percent(score: float) -> str:
    return f"{100 * score:.1f}"
