"""Which sentences sum a document up? The smallest honest form of summarisation.

Each sentence is read as a pair with its document and scored alone; the `usual` number of sentences
with the highest scores is chosen. Nothing is written anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.documents import split_prose
from bert_finetuning.data.rows import Columns, Expected, Row, Table, quoted, shortened
from bert_finetuning.features import Features, check_max_length, framed, report_cut, token_ids
from bert_finetuning.heads import BertForSequenceClassification
from bert_finetuning.metrics import Scorer, set_scorer
from bert_finetuning.tasks.base import (
    AllLogits,
    Arguments,
    Encoded,
    Example,
    Mistake,
    Prediction,
    Predictions,
    Query,
    Style,
    Task,
    one_line,
    softmax,
)
from bert_run.errors import Count, UserError

EXTRACT_LABELS = ("left_out", "selected")
EXTRACT_METRICS = ("f1", "precision", "recall", "first_is_right")


@dataclass(frozen=True, slots=True)
class Extract(Example):
    """A document in sentences, and the places of those that sum it up, from 0."""

    sentences: tuple[str, ...]
    selected: tuple[int, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return (" ".join(self.sentences),)


Extracts = Sequence[Extract]


@dataclass(frozen=True)
class Extraction(Task[Extract]):
    """The answer is the places of the chosen sentences in their order; `usual` is their number.

    The labels of the head are `EXTRACT_LABELS`.
    """

    format: ClassVar = "extracts"
    model: ClassVar = BertForSequenceClassification
    default_metrics: ClassVar = EXTRACT_METRICS
    known_metrics: ClassVar = EXTRACT_METRICS
    learns: ClassVar = "the sentences that sum a document up"
    row_columns: ClassVar = (("sentences",),)
    empty: ClassVar = Extract(())
    answer_columns: ClassVar = ("predicted_places", "predicted_sentences")
    error_columns: ClassVar = ("wrongly chosen", "probability", "left out")
    error_parts: ClassVar = " in some part"

    usual: Count = 1

    @classmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[Extract]:
        """Documents as lists of `sentences`, and of the places `selected` from them, from 0."""
        for row in rows:
            sentences = row.texts("sentences")
            selected = row.values("selected") if expected.labelled else []
            for place in selected:
                if type(place) is not int or not 0 <= place < len(sentences):
                    raise UserError(
                        f"{row.place}: {shortened(repr(place))} is selected: it must be the place "
                        f"of a sentence, 0 to {len(sentences) - 1}"
                    )
            yield Extract(tuple(sentences), tuple(sorted(set(selected))))

    @classmethod
    def labels_of(cls, examples: Extracts) -> tuple[str, ...]:
        return EXTRACT_LABELS

    @classmethod
    def check_examples(cls, source: str | Path, examples: Extracts) -> None:
        for number, example in enumerate(examples, start=1):
            if not example.selected:
                text = quoted(example.texts[0])
                raise UserError(f"{source}: document {number:,} ({text}) selects no sentence")

    def adapted(self, train: Extracts) -> "Extraction":
        """It chooses as many sentences as are selected in the median document."""
        median = np.median([len(example.selected) for example in train])
        return replace(self, usual=max(1, round(float(median))))

    def encode(
        self, examples: Extracts, tokenizer: Tokenizer, *, max_length: int
    ) -> list[Features]:
        check_max_length(max_length)
        features, cut = [], []
        for number, example in enumerate(examples):
            sentences = token_ids(tokenizer, example.sentences)
            document = [token for sentence in sentences for token in sentence]
            begin = 0
            for place, sentence in enumerate(sentences):
                kept = sentence[: (max_length - 3) // 2]
                around = surroundings(document, begin, len(kept), room=max_length - 3 - len(kept))
                targets = {"labels": int(place in example.selected)} if example.selected else {}
                features.append(Features(number, *framed(tokenizer, kept, around), targets, place))
                begin += len(sentence)
            longest = max(map(len, sentences), default=0)
            if min(longest, (max_length - 3) // 2) + len(document) > max_length - 3:
                cut.append(number)
        texts = [example.texts[0] for example in examples]
        what = "documents, the sentence asked about included,"
        report_cut(cut, texts, max_length=max_length, what=what)
        return features

    def predict(self, examples: Extracts, features: Encoded, logits: AllLogits) -> list[Prediction]:
        found = [np.zeros(len(example.sentences)) for example in examples]
        for part, each in zip(features, logits, strict=True):
            found[part.example][part.place] = softmax(each)[1]
        return [Prediction(self._best(each), tuple(each.tolist())) for each in found]

    def _best(self, probabilities: np.ndarray) -> tuple[int, ...]:
        """The highest, in the order of the document; of equals the earlier."""
        ranked = np.argsort(-probabilities, kind="stable")[: self.usual]
        return tuple(sorted(ranked.tolist()))

    def majority(self, train: Extracts, examples: Extracts) -> list[Prediction]:
        """The first sentences, the usual baseline: news says first what matters most."""
        counts = [len(example.sentences) for example in examples]
        first = [tuple(float(place < self.usual) for place in range(count)) for count in counts]
        return [Prediction(tuple(range(min(self.usual, len(each)))), each) for each in first]

    def scorer(self, examples: Extracts, predictions: Predictions) -> Scorer:
        """Precision, recall and F1 over all sentences of all documents together, and how often the
        sentence with the highest score is a right one."""
        right = [set(example.selected) for example in examples]
        total_of = set_scorer(right, [set(prediction.answer) for prediction in predictions])
        first = [
            bool(each.probabilities) and int(np.argmax(each.probabilities)) in selected
            for selected, each in zip(right, predictions, strict=True)
        ]
        hits = np.array(first)

        def score(at: Any) -> dict[str, float]:
            total = total_of(at)
            scores = (total.f1, total.precision, total.recall, float(hits[at].mean()))
            return dict(zip(EXTRACT_METRICS, scores, strict=True))

        return score

    @classmethod
    def parse_arguments(cls, arguments: Arguments) -> list[Query]:
        """A document, or all its sentences."""
        texts = arguments.texts
        return [Query(Extract(texts if len(texts) != 1 else tuple(split_prose(texts[0]))))]

    @classmethod
    def parse_query(cls, row: Row, columns: Columns) -> Query:
        if "sentences" in row.fields:
            (example,) = cls.parse(iter([row]), Expected(labelled=False))
            return Query(example, used=("sentences",))
        return Query(Extract(tuple(split_prose(row.text("text")))), used=("text",))

    @classmethod
    def prediction_arguments(cls, example: Extract) -> list[str]:
        return list(example.sentences)

    def answer_cells(self, query: Query, prediction: Prediction) -> tuple[Any, ...]:
        sentences = [query.example.sentences[place] for place in prediction.answer]
        return " ".join(map(str, prediction.answer)), " ".join(sentences)

    def to_json(self, example: Extract, prediction: Prediction) -> dict[str, Any]:
        right = {"right": list(example.selected)} if example.selected else {}
        return {
            "sentences": list(example.sentences),
            "chosen": list(prediction.answer),
            "probabilities": [round(each, 6) for each in prediction.probabilities],
        } | right

    def render(self, query: Query, prediction: Prediction, style: Style) -> str:
        """All sentences, those that were chosen marked; in brief these alone."""
        sentences = query.example.sentences
        if style.brief:
            return one_line([sentences[place] for place in prediction.answer])
        lines = []
        for place, (sentence, p) in enumerate(
            zip(sentences, prediction.probabilities, strict=True)
        ):
            chosen = place in prediction.answer
            line = f"{'▶' if chosen else ' '} {p:6.1%}  {sentence}"
            lines.append(style.bold(line) if chosen else line)
        return "\n".join(lines)

    def error_row(self, example: Extract, prediction: Prediction) -> Mistake | None:
        wrong = [place for place in prediction.answer if place not in example.selected]
        if not wrong:
            return None
        sure = max(prediction.probabilities[place] for place in wrong)
        missed = [place for place in example.selected if place not in prediction.answer]
        texts = [" / ".join(example.sentences[i] for i in places) for places in (wrong, missed)]
        return Mistake(sure, (texts[0], f"{sure:.3f}", texts[1]))


def surroundings(document: list[int], begin: int, size: int, *, room: int) -> list[int]:
    """`room` tokens of the document, as evenly as can be on both sides of a sentence of it."""
    first = begin + size // 2 - room // 2
    first = max(0, min(first, len(document) - room))
    return document[first : first + room]
