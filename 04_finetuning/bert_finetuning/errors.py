"""`errors.md`: how often each kind of answer is right, and the wrong ones, the surest first.

What a model is sure of and wrong about says more than its score: a label that is doubtful, a word
that it has never seen, a pattern that it has fallen for.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from bert_finetuning.examples import Choice, Extract, Question, TaggedSentence, TextExample
from bert_finetuning.kinds.base import Kind
from bert_finetuning.metrics import answer_exact, answer_f1, confusion_matrix, entity_scores

MOST = 100  # errors that are listed
LONGEST = 300  # characters of a text


class Mistake(NamedTuple):
    """A row of the table; the surer the model was, the higher `sureness`."""

    sureness: float
    cells: tuple[str, ...]


def errors_page(kind: Kind, examples: Sequence, predictions: Sequence, *, title: str) -> str:
    """The page, for all examples whose right answer is known."""
    said = [kind.said(prediction) for prediction in predictions]
    names, mistakes = columns(examples[0]), []
    for number, (example, prediction) in enumerate(zip(examples, predictions, strict=True), 1):
        if (found := mistake(example, prediction, kind)) is not None:
            mistakes.append(Mistake(found.sureness, (str(number), *found.cells)))
    mistakes.sort(key=lambda each: -each.sureness)
    lines = [f"# {title}: what is wrong", "", *summary(kind, examples, said, len(mistakes))]
    if mistakes:
        order = "surest" if not isinstance(said[0], float) else "furthest off"
        shown = f", the first {MOST} of them" if len(mistakes) > MOST else ""
        lines += [f"## The wrong ones, the {order} first{shown}", ""]
        lines += table(("example", *names), [each.cells for each in mistakes[:MOST]])
    return "\n".join(lines).rstrip() + "\n"


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A table of Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return ["| " + " | ".join(map(cell, line)) + " |" for line in lines]


def cell(content: Any) -> str:
    text = " ".join(str(content).split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def share(value: float) -> str:
    return f"{100 * value:.1f}"


# --- One mistake ---------------------------------------------------------------------------------


@singledispatch
def mistake(example: Any, prediction: Any, kind: Kind) -> Mistake | None:
    """The row of an example that was answered wrongly; None if the answer was right."""
    raise TypeError(f"no table of errors for {type(example).__name__}")


@singledispatch
def columns(example: Any) -> tuple[str, ...]:
    """The names of the columns of such rows."""
    raise TypeError(f"no table of errors for {type(example).__name__}")


@mistake.register
def _(example: TextExample, prediction: Any, kind: Kind) -> Mistake | None:
    said = kind.said(prediction)
    text = example.text if example.pair is None else f"{example.text} ‖ {example.pair}"
    if isinstance(said, float):
        off = abs(said - example.label)
        return Mistake(off, (text, f"{said:.2f}", f"{off:.2f}", f"{example.label:.2f}"))
    if said == example.label:
        return None
    sure = max(prediction.probabilities)
    return Mistake(sure, (text, said, f"{sure:.3f}", example.label))


@columns.register
def _(example: TextExample) -> tuple[str, ...]:
    return "text", "said", "off by" if isinstance(example.label, float) else "probability", "right"


@mistake.register
def _(example: Choice, prediction: Any, kind: Kind) -> Mistake | None:
    said = kind.said(prediction)
    if said == example.label:
        return None
    sure = max(prediction.probabilities)
    right = example.endings[example.label]
    return Mistake(sure, (example.context, example.endings[said], f"{sure:.3f}", right))


@columns.register
def _(example: Choice) -> tuple[str, ...]:
    return "beginning", "said", "probability", "right"


@mistake.register
def _(example: TaggedSentence, prediction: Any, kind: Kind) -> Mistake | None:
    said = kind.said(prediction)
    wrong = [i for i, (a, b) in enumerate(zip(said, example.tags, strict=True)) if a != b]
    if not wrong:
        return None
    sure = max(prediction.probabilities[i] for i in wrong)
    marked = [f"**{w}**" if i in wrong else w for i, w in enumerate(example.words)]
    each = [f"{example.words[i]}: {said[i]} for {example.tags[i]}" for i in wrong]
    return Mistake(sure, (" ".join(marked), "; ".join(each), f"{sure:.3f}"))


@columns.register
def _(example: TaggedSentence) -> tuple[str, ...]:
    return "sentence", "said for what is right", "highest probability"


@mistake.register
def _(example: Question, prediction: Any, kind: Kind) -> Mistake | None:
    said, accepted = kind.said(prediction), [answer.text for answer in example.answers]
    if answer_exact(said, accepted):
        return None
    sure = prediction.probability
    right = " / ".join(dict.fromkeys(accepted)) or "(no answer)"
    overlap = share(answer_f1(said, accepted))
    return Mistake(sure, (example.question, said or "(no answer)", f"{sure:.3f}", overlap, right))


@columns.register
def _(example: Question) -> tuple[str, ...]:
    return "question", "said", "probability", "F1", "right"


@mistake.register
def _(example: Extract, prediction: Any, kind: Kind) -> Mistake | None:
    said = kind.said(prediction)
    wrong = [place for place in said if place not in example.selected]
    if not wrong:
        return None
    sure = max(prediction.probabilities[place] for place in wrong)
    left_out = [place for place in example.selected if place not in said]
    chosen, missed = (" / ".join(example.sentences[i] for i in p) for p in (wrong, left_out))
    return Mistake(sure, (chosen, f"{sure:.3f}", missed))


@columns.register
def _(example: Extract) -> tuple[str, ...]:
    return "wrongly chosen", "probability", "left out"


# --- All answers of a kind -----------------------------------------------------------------------


def summary(kind: Kind, examples: Sequence, said: Sequence, wrong: int) -> list[str]:
    """How much is wrong, and where: by label, by type of name, by length of the answer."""
    first = examples[0]
    if isinstance(said[0], float):
        off = np.median([abs(e.label - each) for e, each in zip(examples, said, strict=True)])
        return [f"Of {len(examples):,} numbers half are off by more than {off:.2f}.", ""]
    parts = " in some part" if isinstance(first, TaggedSentence | Extract) else ""
    count = f"{wrong:,} of {len(examples):,} examples are answered wrongly{parts}."
    return [count, "", *by_kind(kind, examples, said)]


def by_kind(kind: Kind, examples: Sequence, said: Sequence) -> list[str]:
    first = examples[0]
    if isinstance(first, TextExample):
        return by_label([example.label for example in examples], said, "label")
    if isinstance(first, TaggedSentence):
        if "entity_f1" in kind.metrics:
            return by_type(examples, said)
        right = [tag for example in examples for tag in example.tags]
        return by_label(right, [tag for tags in said for tag in tags], "tag")
    if isinstance(first, Question):
        return by_length(examples, said)
    return []


def by_label(right: Sequence[str], said: Sequence[str], name: str) -> list[str]:
    """Precision, recall and F1 of each label."""
    labels = sorted({*right, *said})
    number = {label: place for place, label in enumerate(labels)}
    counts = confusion_matrix(
        np.array([number[label] for label in right]),
        np.array([number[label] for label in said]),
        num_labels=len(labels),
    ).tolist()
    rows = []
    for place, label in enumerate(labels):
        there, guessed = sum(counts[place]), sum(row[place] for row in counts)
        rows.append((label, there, guessed, *scores_of(counts[place][place], there, guessed)))
    return [*table((name, "right", "said", "precision", "recall", "F1"), rows), ""]


def scores_of(found: int, there: int, guessed: int) -> tuple[str, str, str]:
    """Precision, recall and F1 in per cent; a dash where there is nothing to divide by."""
    parts = ((found, guessed), (found, there), (2 * found, guessed + there))
    precision, recall, f1 = (share(part / whole) if whole else "–" for part, whole in parts)
    return precision, recall, f1


def by_type(examples: Sequence[TaggedSentence], said: Sequence[Sequence[str]]) -> list[str]:
    """The same of names, by their types."""
    total, types = entity_scores([example.tags for example in examples], said)
    rows = [
        (name, score.support, share(score.precision), share(score.recall), share(score.f1))
        for name, score in [*types.items(), ("all", total)]
    ]
    return [*table(("type", "right", "precision", "recall", "F1"), rows), ""]


def by_length(examples: Sequence[Question], said: Sequence[str]) -> list[str]:
    """Exact match and F1 by the number of words in the first right answer."""
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    group: Callable[[int], str] = lambda n: "5 and more" if n >= 5 else str(n)  # noqa: E731
    for example, answer in zip(examples, said, strict=True):
        accepted = [each.text for each in example.answers]
        name = group(len(accepted[0].split())) if accepted else "none"
        groups[name].append((answer_exact(answer, accepted), answer_f1(answer, accepted)))
    rows = [
        (name, len(groups[name]), *map(share, np.mean(groups[name], axis=0)))
        for name in sorted(groups)
    ]
    return [*table(("words in the answer", "questions", "exact", "F1"), rows), ""]
