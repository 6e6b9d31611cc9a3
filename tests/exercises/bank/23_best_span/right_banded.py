"""A band of the matrix by triu and tril; the official script's way through words."""

import collections
import re
import string

import numpy as np


def best_span(start, end, *, longest, may_start=None):
    allowed = np.tril(np.triu(np.ones((len(start), len(end)))), longest - 1).astype(bool)
    if may_start is not None:
        allowed = allowed & np.asarray(may_start)[:, None]
    if not np.any(allowed):
        return None
    pairs = np.argwhere(allowed)
    scores = start[pairs[:, 0]] + end[pairs[:, 1]]
    winner = int(np.argmax(scores))
    return int(pairs[winner, 0]), int(pairs[winner, 1]), scores[winner]


def normalize(text):
    text = "".join(ch for ch in text.lower() if ch not in set(string.punctuation))
    return " ".join(re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", text).split())


def exact_match(answer, accepted):
    accepted = [a for a in accepted if normalize(a)]
    if not accepted:
        accepted = [""]
    return max(float(normalize(a) == normalize(answer)) for a in accepted)


def f1(answer, accepted):
    accepted = [a for a in accepted if normalize(a)] or [""]
    return max(compute_f1(a, answer) for a in accepted)


def compute_f1(a_gold, a_pred):
    gold, pred = normalize(a_gold).split(), normalize(a_pred).split()
    same = sum((collections.Counter(gold) & collections.Counter(pred)).values())
    if len(gold) == 0 or len(pred) == 0:
        return float(gold == pred)
    if same == 0:
        return 0.0
    precision, recall = same / len(pred), same / len(gold)
    return (2 * precision * recall) / (precision + recall)
