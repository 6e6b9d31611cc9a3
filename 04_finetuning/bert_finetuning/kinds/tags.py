"""A tag for every word of a sentence: names (section 5.3), parts of speech."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Int64
from tokenizers import Tokenizer

from bert_finetuning.examples import TaggedSentence
from bert_finetuning.heads import IGNORED, BertForTokenClassification
from bert_finetuning.kinds.base import Batch, Kind, Logits, Reading, padded
from bert_finetuning.kinds.pairs import check_max_length, inputs, row, shortened, softmax
from bert_finetuning.metrics import EntityScore, entities, entity_scores
from bert_finetuning.rows import one_of
from bert_finetuning.words import Stretch, pieces_of_words, stretches
from bert_run.errors import UserError

TAG_METRICS = ("entity_f1", "accuracy")


@dataclass(frozen=True)
class TagsPrediction:
    """The likeliest tag of each word, and its probability."""

    tags: tuple[str, ...]
    probabilities: tuple[float, ...]


class Place(NamedTuple):
    """Where a reading's answers stand: on both sides one a word."""

    first_word: int
    tokens: Int64[np.ndarray, "words"]


@dataclass(frozen=True)
class Tags(Kind[TaggedSentence, TagsPrediction]):
    """One tag of several a word; `entity_f1` reads the tags as names (B-PER, I-PER, O)."""

    model: ClassVar = BertForTokenClassification

    def __post_init__(self) -> None:
        for metric in self.metrics:
            if metric not in TAG_METRICS:
                choice = one_of(TAG_METRICS)
                raise UserError(f"tags cannot be measured by {metric!r}: choose {choice}")
        if "entity_f1" in self.metrics:
            entities(self.head.labels)  # here, and not after an hour, a tag that is no name is told

    def read(
        self, examples: Sequence[TaggedSentence], tokenizer: Tokenizer, *, max_length: int
    ) -> list[Reading]:
        """A sentence longer than the model is read in stretches, so that every word is tagged.

        A sentence without words has no reading.
        """
        check_max_length(max_length)
        room = max_length - 2
        words = pieces_of_words([example.words for example in examples], tokenizer)
        readings = []
        for number, example in enumerate(examples):
            tags = self._numbers(example, number)
            for stretch in stretches(words[number], room=room):
                readings.append(_reading(number, stretch, tags, tokenizer))
        tell_long(examples, words, max_length=max_length, readings=len(readings))
        return readings

    def _numbers(self, example: TaggedSentence, place: int) -> list[int]:
        """The number of each word's tag; none where the tags are to be found."""
        number = {label: number for number, label in enumerate(self.head.labels)}
        words, tags = example.words, example.tags
        wrong = ""
        if tags and len(tags) != len(words):
            wrong = f"has {len(words)} words and {len(tags)} tags: each word needs one"
        elif unknown := [place for place, tag in enumerate(tags) if tag not in number]:
            word, tag = words[unknown[0]], tags[unknown[0]]
            wrong = f"gives {word!r} the tag {tag!r}, not {one_of(self.head.labels)}"
        if wrong:
            raise UserError(f"sentence {place + 1:,}, {shortened(' '.join(words))}, {wrong}")
        return [number[tag] for tag in tags]

    def batch(self, readings: Sequence[Reading], *, pad_id: int) -> Batch:
        """Labels (batch, seq), IGNORED but at the first piece of each word; if any has labels."""
        batch = inputs(readings, pad_id=pad_id)
        if not any(reading.answers for reading in readings):
            return batch
        labels = [reading.answers.get("labels", ()) for reading in readings]
        seq = batch["input_ids"].shape[1]
        return batch | {"labels": padded(labels, fill=IGNORED, seq=seq)}

    def count(self, batch: Batch) -> int:
        return int((batch["labels"] != IGNORED).sum())

    def predict(
        self,
        examples: Sequence[TaggedSentence],
        readings: Sequence[Reading],
        logits: Sequence[Logits],
    ) -> list[TagsPrediction]:
        best = [np.zeros(len(example.words), np.int64) for example in examples]
        probability = [np.zeros(len(example.words)) for example in examples]
        for reading, each in zip(readings, logits, strict=True):
            first, tokens = reading.place
            chances = softmax(each[tokens])  # (words, labels)
            own = slice(first, first + len(tokens))
            best[reading.example][own] = chances.argmax(axis=1)
            probability[reading.example][own] = chances.max(axis=1)
        return [
            TagsPrediction(tuple(self.head.labels[i] for i in numbers), tuple(chances.tolist()))
            for numbers, chances in zip(best, probability, strict=True)
        ]

    def most_common(
        self, train: Sequence[TaggedSentence], examples: Sequence[TaggedSentence]
    ) -> list[TagsPrediction]:
        """The commonest tag for every word. Where tags are names this is O, and finds none."""
        counts = Counter(tag for sentence in train for tag in sentence.tags)
        ((tag, count),) = counts.most_common(1)
        sizes = [len(example.words) for example in examples]
        share = count / counts.total()
        return [TagsPrediction((tag,) * size, (share,) * size) for size in sizes]

    def score(
        self, examples: Sequence[TaggedSentence], predictions: Sequence[TagsPrediction]
    ) -> dict[str, float]:
        """The share of words tagged right; of names F1, precision and recall, also of each type.

        Who says O of every word finds no name and has an F1 of 0, however high the accuracy.
        """
        right = [tag for example in examples for tag in example.tags]
        said = [tag for prediction in predictions for tag in prediction.tags]
        accuracy = float(np.mean([a == b for a, b in zip(right, said, strict=True)]))
        if "entity_f1" not in self.metrics:
            return {"accuracy": accuracy}
        total, types = self.by_type(examples, predictions)
        scores = {"entity_f1": total.f1, "precision": total.precision, "recall": total.recall,
                  "accuracy": accuracy}  # fmt: skip
        for name, each in types.items():
            scores |= {f"{name}_f1": each.f1, f"{name}_precision": each.precision,
                       f"{name}_recall": each.recall, f"{name}_support": each.support}  # fmt: skip
        return scores

    def by_type(
        self, examples: Sequence[TaggedSentence], predictions: Sequence[TagsPrediction]
    ) -> tuple[EntityScore, dict[str, EntityScore]]:
        """How well names were found: all together, and those of each type."""
        return entity_scores([e.tags for e in examples], [p.tags for p in predictions])

    def shown(self, example: TaggedSentence, prediction: TagsPrediction) -> dict[str, Any]:
        shown = {
            "words": list(example.words),
            "tags": list(prediction.tags),
            "probabilities": [round(each, 6) for each in prediction.probabilities],
        }
        if "entity_f1" in self.metrics:
            shown["entities"] = [
                {"type": name, "text": " ".join(example.words[first:end]), "words": [first, end],
                 "probability": round(min(prediction.probabilities[first:end]), 6)}
                for name, first, end in entities(prediction.tags)
            ]  # fmt: skip
        return shown | ({"right": list(example.tags)} if example.tags else {})

    def is_collapsed(self, predictions: Sequence[TagsPrediction]) -> bool:
        """Whether every word of every sentence got the same tag."""
        return len(predictions) > 1 and len({tag for each in predictions for tag in each.tags}) == 1

    def said(self, prediction: TagsPrediction) -> list[str]:
        return list(prediction.tags)


def _reading(number: int, stretch: Stretch, tags: Sequence[int], tokenizer: Tokenizer) -> Reading:
    tokens = np.array(stretch.starts) + 1  # after [CLS]
    answers = {}
    if tags:
        labels = np.full(len(stretch.pieces) + 2, IGNORED)
        labels[tokens] = tags[stretch.first : stretch.first + len(tokens)]
        answers = {"labels": labels.tolist()}
    return Reading(number, *row(tokenizer, stretch.pieces), answers, Place(stretch.first, tokens))


def tell_long(
    examples: Sequence[TaggedSentence],
    words: Sequence[Sequence[list[int]]],
    *,
    max_length: int,
    readings: int,
) -> None:
    """One line on standard error, if a sentence or a word was longer than the model reads."""
    room = max_length - 2
    long = [number for number, each in enumerate(words) if sum(map(len, each)) > room]
    cut = sum(len(word) > room for number in long for word in words[number])
    if long:
        pieces = readings - sum(bool(each) for each in words) + len(long)
        first = shortened(" ".join(examples[long[0]].words))
        print(
            f"note: {len(long):,} of {len(examples):,} sentences are longer than {max_length} "
            f"tokens and are read in {pieces:,} parts, cut between words; no word is lost"
            + (f", of {cut:,} words only the beginning is read" if cut else "")
            + f"; the first is number {long[0] + 1:,}: {first}",
            file=sys.stderr,
        )
