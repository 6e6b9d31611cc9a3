"""The labelled sets of StoryWorld: small tasks of each kind that need no download.

The facts of its town are known, so every label is certain, and no held-out text is ever in train.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bert_corpus import storyworld as town
from bert_finetuning.examples import Answer, Choice, Extract, Question, TaggedSentence, TextExample
from bert_finetuning.kinds.extracts import EXTRACT_LABELS, EXTRACT_METRICS
from bert_finetuning.storyworld_tellings import ending, stars, summary
from bert_run.errors import UserError

Example = TextExample | TaggedSentence | Question | Choice | Extract


@dataclass(frozen=True)
class StoryworldSet:
    """How example `index` is made, its labels, and how it is measured.

    A span of text has no labels, an ending neither; tags are measured by their entities, answers as
    SQuAD's are. `format` is what such examples are called as files.
    """

    make: Callable[[int, int, str], Example]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    format: str = "texts"
    train: int = 2_000
    heldout: int = 500


def sentiment(index: int, seed: int, split: str) -> TextExample:
    example = town.sentiment(index, seed=seed, split=split)
    return TextExample(example.text, label=example.label)


def pair(index: int, seed: int, split: str) -> TextExample:
    example = town.entailment(index, seed=seed, split=split)
    return TextExample(example.text_a, example.text_b, example.label)


def names(index: int, seed: int, split: str) -> TaggedSentence:
    example = town.names(index, seed=seed, split=split)
    return TaggedSentence(example.words, example.tags)


def question(index: int, seed: int, split: str) -> Question:
    example = town.question(index, seed=seed, split=split)
    answer = Answer(example.answer, example.answer_start)
    return Question(f"{split}-{index}", example.question, example.context, (answer,))


NAME_TAGS = ("O", "B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER")

STORYWORLD = {
    "sentiment": StoryworldSet(sentiment, ("negative", "positive"), ("accuracy",)),
    "pairs": StoryworldSet(pair, ("entailment", "neutral", "contradiction"), ("accuracy",)),
    "names": StoryworldSet(names, NAME_TAGS, ("entity_f1",), "tags"),
    "questions": StoryworldSet(question, (), ("f1", "exact"), "questions"),
    "stars": StoryworldSet(stars, ("stars",), ("spearman", "pearson"), "numbers"),
    "endings": StoryworldSet(ending, (), ("accuracy",), "choices", 1_000, 300),
    "summary": StoryworldSet(summary, EXTRACT_LABELS, EXTRACT_METRICS, "extracts", 500, 150),
}


def storyworld(kind: str, split: str, count: int, *, seed: int = 0) -> list[Example]:
    """The first `count` examples of a kind: sentiment, pairs, names, questions, …"""
    if kind not in STORYWORLD:
        raise UserError(f"StoryWorld has no set {kind!r}: choose {', '.join(STORYWORLD)}")
    if split not in ("train", "heldout"):
        raise UserError(f"split {split!r} of StoryWorld: choose train or heldout")
    return [STORYWORLD[kind].make(index, seed, split) for index in range(count)]
