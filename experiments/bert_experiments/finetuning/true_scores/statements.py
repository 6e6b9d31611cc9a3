"""What the runs show: for each statement figures by variant, one for each seed.

Where a statement is about sets of another size, such sets are drawn from the held-out sentences
many times; no model is trained for it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from bert_experiments.finetuning.true_scores import measures
from bert_experiments.finetuning.true_scores.runs import POOLINGS, RATES, Sets, searched
from bert_experiments.finetuning.true_scores.texts import is_negated, labels_of, triples
from bert_experiments.report.figures import Figures, Results, measures_in, spread, values_of
from bert_finetuning.metrics import bootstrap, macro_f1

Found = dict[str, list[dict[str, Any]]]  # by the name of the run, one entry a seed
DRAWS = 200
DEV_SIZES = (50, 200, 800)
DEFAULT_RATE, CHOSEN = 3e-4, searched("cls", 1e-3)


@dataclass(frozen=True)
class Evidence:
    """Margins of all runs, and the labels that belong to them."""

    found: Found
    sets: Sets

    @property
    def seeds(self) -> int:
        return len(self.found[CHOSEN])

    @property
    def labels(self) -> ndarray:
        return labels_of(self.sets.heldout)

    @property
    def dev(self) -> slice:
        return slice(0, self.sets.sizes.dev)

    @property
    def test(self) -> slice:
        return slice(self.sets.sizes.dev, None)

    def margins(self, name: str, seed: int, what: str = "heldout") -> ndarray:
        return np.array(self.found[name][seed][what])

    def hits(self, name: str, seed: int) -> Bool[ndarray, "examples"]:
        return measures.is_right(self.margins(name, seed), self.labels)

    def chosen_rate(self, pooling: str, seed: int) -> str:
        """The run whose rate is best on dev."""
        names = [searched(pooling, rate) for rate in RATES]
        return max(names, key=lambda name: self.hits(name, seed)[self.dev].mean())


Rows = Iterator[tuple[str, Figures]]  # of one seed: variants and their figures


def choosing_on_dev(evidence: Evidence, seed: int) -> Rows:
    """The best of several runs on dev sets of several sizes, and what it reaches on all others."""
    generator = np.random.default_rng(seed)
    names = [searched(pooling, rate) for pooling in POOLINGS for rate in RATES]
    hits = np.stack([evidence.hits(name, seed) for name in names])  # (runs, examples)
    for size in DEV_SIZES:
        if 2 * size > hits.shape[1]:  # too few are left to measure on
            continue
        for tried in (1, len(names)):
            scores = []
            for _ in range(DRAWS):
                runs = generator.permutation(len(names))[:tried]
                order = generator.permutation(hits.shape[1])
                dev, test = (hits[runs][:, at].mean(axis=1)
                             for at in (order[:size], order[size:]))  # fmt: skip
                best = dev.argmax()
                scores.append((dev[best], test[best], dev[best] - test[best],
                               test.max() - test[best]))  # fmt: skip
            means = np.mean(scores, axis=0)
            yield f"best of {tried} on a dev set of {size}", dict(zip(
                ("score on dev", "score on test", "too high by", "lost by the choice"),
                map(float, means), strict=True))  # fmt: skip


def intervals(evidence: Evidence, seed: int) -> Rows:
    """How wide the bootstrap interval of a test set is, and how often it holds the score on all."""
    hits, generator = evidence.hits(CHOSEN, seed), np.random.default_rng(seed)
    for size in (50, 200, 800):
        halves, covers = [], []
        for draw in range(DRAWS // 2):
            own = hits[generator.integers(len(hits), size=size)]
            scorer = lambda at, own=own: {"accuracy": float(own[at].mean())}  # noqa: E731
            low, high = bootstrap(scorer, size, seed=draw)["accuracy"]
            halves.append((high - low) / 2)
            covers.append(low <= hits.mean() <= high)
        yield f"test set of {size}", {
            "half the width": float(np.mean(halves)), "interval holds": float(np.mean(covers)),
        }  # fmt: skip
    yield "all held-out sentences", {"accuracy": float(hits.mean())}


def paired_tests(evidence: Evidence, seed: int) -> Rows:
    """Two recipes on test sets of 400: how often a test finds the difference that there is."""
    generator = np.random.default_rng(seed)
    first, second = (evidence.hits(name, seed) for name in (CHOSEN, searched("cls", RATES[1])))
    paired, apart = [], []
    for _ in range(DRAWS):
        at = generator.integers(len(first), size=400)
        a, b = first[at], second[at]
        paired.append(measures.mcnemar(a, b) < 0.05)
        errors = [1.96 * np.sqrt(each.mean() * (1 - each.mean()) / 400) for each in (a, b)]
        apart.append(abs(a.mean() - b.mean()) > sum(errors))
    yield "two rates, test sets of 400", {
        "difference": float(first.mean() - second.mean()), "paired test finds it":
        float(np.mean(paired)), "intervals lie apart": float(np.mean(apart)),
    }  # fmt: skip
    others = [evidence.hits(CHOSEN, each) for each in range(evidence.seeds) if each != seed]
    if others:
        p = [measures.mcnemar(first, other) for other in others]
        yield "the same recipe, other seeds", {
            "largest difference": float(max(abs(first.mean() - o.mean()) for o in others)),
            "of them with p < 0.05": float(np.mean([each < 0.05 for each in p])),
        }  # fmt: skip


def leakage(evidence: Evidence, seed: int) -> Rows:
    """Phrases of sentences that train has phrases of, beside those of other sentences."""
    train, *tests = evidence.sets.leaky
    known = {part for example in train for part in triples(example.text)}
    for name, what, test in zip(("split at random", "split by sentence"), ("leaky", "clean"), tests,
                                strict=True):  # fmt: skip
        hits = measures.is_right(
            evidence.margins("split at random", seed, what), labels_of(test))  # fmt: skip
        shared = [bool(known & set(triples(example.text))) for example in test]
        yield name, {"accuracy": float(hits.mean()),
                     "share three words with train": float(np.mean(shared))}  # fmt: skip


def rate_search(evidence: Evidence, seed: int) -> Rows:
    """Two poolings at each rate, and each at the rate that dev chose for it; all on test."""

    def score(name: str) -> float:
        return float(evidence.hits(name, seed)[evidence.test].mean())

    for rate in RATES:
        cls, mean = (score(searched(pooling, rate)) for pooling in POOLINGS)
        yield f"both at rate {rate:g}", {"[CLS]": cls, "mean": mean, "gain": mean - cls}
    cls, mean = (score(evidence.chosen_rate(pooling, seed)) for pooling in POOLINGS)
    default = score(searched(POOLINGS[0], DEFAULT_RATE))
    yield "each at its own rate", {"[CLS]": cls, "mean": mean, "gain": mean - cls}
    yield "mean searched, [CLS] at the default", {"[CLS]": default, "mean": mean,
                                                  "gain": mean - default}  # fmt: skip


CALIBRATED = {f"rate {rate:g}": searched("cls", rate) for rate in RATES[1:3]}


def calibration(evidence: Evidence, seed: int) -> Rows:
    """Confidence and accuracy on test, before and after a temperature that was fitted on dev."""
    labels = evidence.labels
    for name, run in CALIBRATED.items():
        margins = evidence.margins(run, seed)
        fitted = measures.fit_temperature(margins[evidence.dev], labels[evidence.dev])
        margins, right = margins[evidence.test], labels[evidence.test]
        hits = measures.is_right(margins, right)
        for suffix, temperature in (("", 1.0), (", scaled", fitted)):
            sure = measures.confidence(margins, temperature)
            yield name + suffix, {
                "accuracy": float(hits.mean()), "mean confidence": float(sure.mean()),
                "calibration error": measures.calibration_error(sure, hits),
                "loss (nats)": measures.log_loss(margins, right, temperature),
                "temperature": temperature,
            }  # fmt: skip


def rare_label(evidence: Evidence, seed: int) -> Rows:
    """Five positive phrases in a hundred: thresholds and class weights."""
    labels = labels_of(evidence.sets.rare_heldout)
    half = len(labels) // 2
    nothing = np.zeros_like(labels[half:])
    yield "always negative", {"accuracy": float(1 - labels[half:].mean()), "recall": 0.0,
                              "macro F1": macro_f1(labels[half:], nothing)}  # fmt: skip
    for name, run in (("equal weights", "rare"), ("class weights", "rare, weighted")):
        margins = evidence.margins(run, seed)
        chosen = measures.best_threshold(margins[:half], labels[:half])
        for suffix, threshold in ((", one half", 0.0), (", threshold from dev", chosen)):
            test, right = margins[half:], labels[half:]
            said = (test > threshold).astype(int)
            precision, recall = measures.precision_recall(test, right, threshold)
            yield name + suffix, {
                "accuracy": float((said == right).mean()), "precision": precision,
                "recall": recall, "F1": measures.f1_at(test, right, threshold),
                "macro F1": macro_f1(right, said),
                "F1 on dev": measures.f1_at(margins[:half], labels[:half], threshold),
            }  # fmt: skip


def long_texts(evidence: Evidence, seed: int) -> Rows:
    """Documents longer than a window: which of their windows are read."""
    found = evidence.found["windows"][seed]
    for read in ("commonest", "first", "last", "first and last", "all"):
        name = "the commonest label, unread" if read == "commonest" else f"read: {read}"
        yield name, {"accuracy": found[read]}
    yield "the documents", {"documents": found["documents"], "windows of each": found["windows"]}


def slices(evidence: Evidence, seed: int) -> Rows:
    """Errors by slice on dev, then more examples of the slice, measured on test."""
    negated = np.array([is_negated(each) for each in evidence.sets.heldout])

    def row(name: str, part: slice) -> Figures:
        hits, those = evidence.hits(name, seed)[part], negated[part]
        return {"with negation": float(hits[those].mean()), "without": float(hits[~those].mean()),
                "all": float(hits.mean())}  # fmt: skip

    yield "on dev, where the errors were read", row(CHOSEN, evidence.dev)
    yield "on test", row(CHOSEN, evidence.test)
    yield "on test, more with negation", row("more with negation", evidence.test)
    yield "on test, as many more without", row("more without", evidence.test)


def collapse(evidence: Evidence, seed: int) -> Rows:
    for name, run in (("rate 0.01", "rate too high"),
                      ("rate 0.01, warm-up over half of the steps", "rate too high, warm-up"),
                      ("rate 0.003", searched("cls", 3e-3)),
                      ("rate 0.001", searched("cls", 1e-3))):  # fmt: skip
        positive = float((evidence.margins(run, seed) > 0).mean())
        commonest = max(positive, 1 - positive)
        yield name, {"accuracy": float(evidence.hits(run, seed).mean()),
                     "answers that are the same": commonest,
                     "collapsed": float(commonest > 0.99)}  # fmt: skip


STATEMENTS: dict[str, Callable[[Evidence, int], Rows]] = {
    "choosing on dev": choosing_on_dev,
    "intervals": intervals,
    "paired tests": paired_tests,
    "leakage": leakage,
    "rate search": rate_search,
    "calibration": calibration,
    "rare label": rare_label,
    "long texts": long_texts,
    "error analysis": slices,
    "collapse": collapse,
}


def all_figures(evidence: Evidence) -> Results:
    """Every statement by "title: variant"."""
    results: Results = {}
    for title, statement in STATEMENTS.items():
        for seed in range(evidence.seeds):
            for variant, figures in statement(evidence, seed):
                results.setdefault(f"{title}: {variant}", []).append(figures)
    return results


def reliability_bins(evidence: Evidence) -> dict[str, list[list[float]]]:
    """Of the first seed on test: mean confidence, accuracy and number of examples of each bin."""
    bins = {}
    right = evidence.labels[evidence.test]
    for name, run in CALIBRATED.items():
        margins = evidence.margins(run, 0)
        fitted = measures.fit_temperature(margins[evidence.dev], evidence.labels[evidence.dev])
        own = margins[evidence.test]
        for suffix, temperature in (("", 1.0), (", scaled", fitted)):
            found = measures.reliability(measures.confidence(own, temperature),
                                         measures.is_right(own, right))  # fmt: skip
            bins[name + suffix] = [list(map(float, each)) for each in found]
    return bins


# Measures that are no fractions.
AS_THEY_ARE = {"temperature", "loss (nats)", "documents", "windows of each"}


def rows_of(results: Results, title: str) -> list[list[str]]:
    """The table of a statement, a line for each variant; fractions in per cent."""
    own = {name.split(": ", 1)[1]: runs for name, runs in results.items()
           if name.startswith(f"{title}: ")}  # fmt: skip
    columns = measures_in(own)

    def cell(variant: str, measure: str) -> str:
        values = values_of(own, variant, measure)
        if measure in AS_THEY_ARE:
            return spread(values, ".2f")
        return spread([100 * value for value in values], ".1f", "%")

    return [[title, *columns], *([name, *(cell(name, each) for each in columns)] for name in own)]


def stored(path: Path) -> tuple[Results, dict[str, list]]:
    """The figures of a page's JSON, and its reliability bins."""
    report = json.loads(path.read_text(encoding="utf-8"))
    results = {
        name: [dict(zip(figures, values, strict=True))
               for values in zip(*(each["values"] for each in figures.values()), strict=True)]
        for name, figures in report["results"].items()
    }  # fmt: skip
    return results, report["reliability"]
