"""The official metrics of each task, and how much of a score may be chance.

All lie between 0 and 1, correlations between -1 and 1; papers print them times 100. Each wants at
least one example. scikit-learn, SciPy and seqeval count the same: see the tests.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int, Real
from numpy import ndarray

from bert_run.errors import UserError

Labels = Int[ndarray, "examples"]  # the number of each example's label
Numbers = Real[ndarray, "examples"]
# From the places of some examples to the metrics of these; a place may occur several times.
Scorer = Callable[[Any], dict[str, float]]


# Labels: gold (right) against predicted.


def accuracy(gold: Labels, predicted: Labels) -> float:
    """The share of examples whose label was found."""
    return float(np.mean(gold == predicted))


def confusion_matrix(gold: Labels, predicted: Labels, *,
                     num_labels: int | None = None) -> Int[ndarray, "labels labels"]:  # fmt: skip
    """How often label `row` was taken for label `column`; what was found is on the diagonal."""
    num_labels = num_labels or 1 + int(max(gold.max(), predicted.max()))
    cells = np.bincount(num_labels * gold + predicted, minlength=num_labels**2)
    return cells.reshape(num_labels, num_labels)


@dataclass(frozen=True)
class PrecisionRecall:
    """Counts of labels or of entities, from which the three scores follow."""

    true_positives: int
    predicted: int  # true and false positives
    gold: int  # true positives and false negatives; scikit-learn's support

    @property
    def precision(self) -> float:
        """Of the predicted, the share that is right; 0 where none is predicted."""
        return self.true_positives / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Of the gold ones, the share that was found; 0 where there is none."""
        return self.true_positives / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 0 where nothing is there and nothing predicted."""
        both = self.predicted + self.gold
        return 2 * self.true_positives / both if both else 0.0

    @classmethod
    def of_labels(cls, table: Int[ndarray, "labels labels"]) -> "list[PrecisionRecall]":
        """That of each label of a confusion matrix."""
        columns = table.diagonal(), table.sum(axis=0), table.sum(axis=1)
        return [cls(*each) for each in np.stack(columns, axis=1).tolist()]


def set_scorer(gold: Sequence[Set], predicted: Sequence[Set]) -> Callable[[Any], PrecisionRecall]:
    """From the places of some examples to the score over all that these hold together."""
    both = zip(gold, predicted, strict=True)
    counts = np.array([(len(a & b), len(b), len(a)) for a, b in both])  # (examples, 3)
    return lambda at: PrecisionRecall(*counts[at].sum(axis=0).tolist())


def label_scores(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, PrecisionRecall]:
    """The score of each label by its name."""
    labels = sorted({*gold, *predicted})
    scores = PrecisionRecall.of_labels(label_counts(labels, gold, predicted))
    return dict(zip(labels, scores, strict=True))


def label_counts(labels: Sequence[str], gold: Sequence[str],
                 predicted: Sequence[str]) -> Int[ndarray, "labels labels"]:  # fmt: skip
    """`confusion_matrix` of names, in the order of `labels`."""
    number = {label: place for place, label in enumerate(labels)}
    columns = [np.array([number[label] for label in column]) for column in (gold, predicted)]
    return confusion_matrix(*columns, num_labels=len(labels))


def f1(gold: Labels, predicted: Labels) -> float:
    """F1 of label 1, as for MRPC and QQP: 1 says "the two mean the same"."""
    is_one = [(column == 1).astype(int) for column in (gold, predicted)]
    table = confusion_matrix(*is_one, num_labels=2)
    return PrecisionRecall.of_labels(table)[1].f1


def macro_f1(gold: Labels, predicted: Labels) -> float:
    """The mean F1 of all labels that are there or predicted, rare ones as heavy as common ones."""
    scores = PrecisionRecall.of_labels(confusion_matrix(gold, predicted))
    return float(np.mean([each.f1 for each in scores if each.gold or each.predicted]))


def matthews(gold: Labels, predicted: Labels) -> float:
    """Matthews' correlation of the two columns of labels (Gorodkin 2004 for more than two), the
    measure of CoLA: always saying the commonest label scores 0, however common it is."""
    table = confusion_matrix(gold, predicted).astype(float)
    total, hits = table.sum(), table.trace()
    of_gold, of_predicted = table.sum(axis=1), table.sum(axis=0)  # (labels,)
    together = hits * total - of_gold @ of_predicted
    apart = (total**2 - of_gold @ of_gold) * (total**2 - of_predicted @ of_predicted)
    return float(together / np.sqrt(apart)) if apart else 0.0


# Numbers: how far two columns rise together.


def pearson(gold: Numbers, predicted: Numbers) -> float:
    """The linear correlation of two columns. Where one is constant, SciPy gives nan; here it is 0,
    because a model that predicts the same for every pair knows nothing. nan if a number is nan."""
    if np.ptp(gold) == 0 or np.ptp(predicted) == 0:
        return 0.0
    return float(np.corrcoef(gold, predicted, dtype=np.float64)[0, 1])


def spearman(gold: Numbers, predicted: Numbers) -> float:
    """The correlation of the ranks: is the order right, whatever the scale?"""
    return pearson(ranks(gold), ranks(predicted))


def ranks(x: Numbers) -> Numbers:
    """The rank of each number, from 1; equal numbers get the mean of their ranks, nan stays."""
    _, group, size = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(size)  # the last place of each group of equal numbers
    shared = last - (size - 1) / 2
    return np.where(np.isnan(x), np.nan, shared[group])


# The metrics that compare two columns, by name: what a task asks for is looked up here.
METRICS: dict[str, Callable[[ndarray, ndarray], float]] = {
    metric.__name__: metric for metric in (accuracy, f1, macro_f1, matthews, pearson, spearman)
}


def column_scorer(names: Sequence[str], gold: ndarray, predicted: ndarray) -> Scorer:
    """These metrics of two columns, for any of their places."""
    return lambda at: {name: METRICS[name](gold[at], predicted[at]) for name in names}


# Entities: a name is found when its type and both its borders are.

Entity = tuple[str, int, int]  # type, first word, one past the last word


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of one sentence, from tags in BIO (IOB1, IOB2) or BIOES. As in `conlleval`, an
    entity goes on only with I or E after B or I of the same type. Every other tag but O begins one,
    so "I-LOC" after "O" does, and so does "I-LOC" after "B-PER"."""
    found: list[Entity] = []
    before = ("O", "")
    for place, tag in enumerate(tags):
        prefix, _, type_ = tag.partition("-")
        if prefix not in ("B", "I", "O", "E", "S"):
            raise UserError(f"the tag {tag!r} names no entity: write O, B-TYPE, I-TYPE (E-, S-)")
        if prefix in ("I", "E") and before[0] in ("B", "I") and before[1] == type_:
            found[-1] = (type_, found[-1][1], place + 1)
        elif prefix != "O":
            found.append((type_, place, place + 1))
        before = (prefix, type_)
    return found


def entity_scores(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> tuple[PrecisionRecall, dict[str, PrecisionRecall]]:
    """The score over all entities of all sentences (the official one), and that of each type."""
    for number, (tags, guess) in enumerate(zip(gold, predicted, strict=True)):
        if len(tags) != len(guess):
            raise ValueError(f"sentence {number}: {len(guess)} predictions, {len(tags)} tags")
    there, guessed = ({(number, *entity) for number, tags in enumerate(side)
                       for entity in entities(tags)} for side in (gold, predicted))  # fmt: skip
    counts = [Counter(type_ for _, type_, _, _ in found)
              for found in (there & guessed, guessed, there)]  # fmt: skip
    by_type = {type_: PrecisionRecall(*(count[type_] for count in counts))
               for type_ in sorted(counts[1] | counts[2])}  # fmt: skip
    return PrecisionRecall(*(count.total() for count in counts)), by_type


# Answers: SQuAD compares words, not characters (Rajpurkar et al. 2016, section 6.1).


def normalize_answer(text: str) -> str:
    """What is compared: lower case, no ASCII punctuation, no articles, single spaces. In this
    order, so "U.S." becomes "us", and "the-best" one word that no longer holds an article."""
    bare = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def answer_exact(answer: str, accepted: Sequence[str]) -> float:
    """1 if the answer is one of the accepted ones; "" is right when no answer is accepted."""
    words = normalize_answer(answer)
    return float(any(normalize_answer(each) == words for each in _accepted(accepted)))


def answer_f1(answer: str, accepted: Sequence[str]) -> float:
    """F1 of the answer's words against the accepted answer that it is nearest to."""
    return max(_words_f1(answer, each) for each in _accepted(accepted))


def _words_f1(answer: str, accepted: str) -> float:
    guessed, gold = normalize_answer(answer).split(), normalize_answer(accepted).split()
    if not guessed or not gold:  # "no answer" is right or wrong, never half right
        return float(guessed == gold)
    both = (Counter(guessed) & Counter(gold)).total()  # a word counts as often as both have it
    return PrecisionRecall(both, len(guessed), len(gold)).f1


def _accepted(answers: Sequence[str]) -> Sequence[str]:
    """Accepted answers that are not empty; without any, only silence is right (SQuAD 2.0)."""
    return [each for each in answers if normalize_answer(each)] or [""]


def squad_scorer(answers: Sequence[str], accepted: Sequence[Sequence[str]]) -> Scorer:
    """Mean exact match and F1 of the answers to some questions. If some of these have an answer and
    others none, also over either kind, named as in SQuAD 2.0's script: `HasAns_f1`, `NoAns_f1` …"""
    both = list(zip(answers, accepted, strict=True))
    measures = {name: np.array([measure(*each) for each in both])
                for name, measure in (("exact", answer_exact), ("f1", answer_f1))}  # fmt: skip
    has_answer = np.array([bool(each) for each in accepted])

    def score(at: Any) -> dict[str, float]:
        places = np.arange(len(both))[at]
        known = has_answer[places]
        parts = {"": places}
        if known.any() and not known.all():
            parts |= {"HasAns_": places[known], "NoAns_": places[~known]}
        return {f"{part}{name}": float(each[those].mean())
                for part, those in parts.items() for name, each in measures.items()}  # fmt: skip

    return score


# How much of a score is chance: another sample of the same size would have given another score.

DRAWS = 1_000


def bootstrap(scorer: Scorer, count: int, *, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The 95% confidence interval of each metric that was measured on `count` examples, which are
    drawn with replacement, as many as there are, `DRAWS` times; it holds the middle 95% of the
    scores of these draws (the percentile bootstrap, Efron 1979)."""
    generator = np.random.default_rng(seed)
    scores = [scorer(generator.integers(count, size=count)) for _ in range(DRAWS)]
    names = [name for name in scores[0] if all(name in each for each in scores)]
    ends = np.quantile([[each[name] for name in names] for each in scores], [0.025, 0.975], axis=0)
    return dict(zip(names, map(tuple, ends.T.tolist()), strict=True))
