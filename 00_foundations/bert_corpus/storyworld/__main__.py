"""Read StoryWorld: `python -m bert_corpus.storyworld --documents 50 --marks`, or `--report`."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import tyro

from bert_corpus.storyworld import KINDS, Sentence, Story, stories
from bert_run.config import Count, Seed, check_numbers
from bert_run.errors import UserError, command

RARE = 60  # a word seen less often in the report's documents is hard to learn


@dataclass(frozen=True)
class ReadingSettings:
    """Read StoryWorld.

    python -m bert_corpus.storyworld --documents 50 --marks
    """

    documents: Count = 50
    """how many"""
    seed: Seed = 0
    split: Literal["train", "heldout"] = "train"
    kind: str | None = None
    """only this kind of document; --report lists them"""
    marks: bool = False
    """show the labels of the words"""
    report: bool = False
    """count instead of printing"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.kind is not None and self.kind not in KINDS:
            raise UserError(f"--kind {self.kind} is no kind: there is {', '.join(sorted(KINDS))}")


def shown(sentence: Sentence) -> str:
    """The sentence with its labels: The [cat|right] sat on the [mat|left]."""
    text = sentence.text
    for mark in reversed(sentence.marks):
        label = "|".join(filter(None, (mark.settled_by, mark.sense)))
        text = f"{text[: mark.start]}[{text[mark.start : mark.end]}|{label}]{text[mark.end :]}"
    return text


def report(documents: list[Story]) -> str:
    count = len(documents)
    sentences = [sentence for document in documents for sentence in document.sentences]
    sides = Counter(mark.settled_by or "sense only" for s in sentences for mark in s.marks)
    words = Counter(re.findall("[a-z]+", " ".join(s.text for s in sentences).lower()))
    kinds = Counter(document.kind for document in documents)
    rare = [f"{word}:{seen}" for word, seen in words.most_common() if seen < RARE]
    return "\n".join([
        f"{len(sentences) / count:.2f} sentences and {words.total() / count:.1f} words a document",
        f"{len(words)} distinct words, {len(rare)} of them seen fewer than {RARE} times",
        f"rare: {' '.join(rare)}",
        f"marks a document: {', '.join(f'{side} {n / count:.2f}' for side, n in sides.items())}",
        f"{len(kinds)} kinds: {', '.join(f'{k} {n / count:.1%}' for k, n in kinds.most_common())}",
    ])  # fmt: skip


@command
def main() -> None:
    options = tyro.cli(ReadingSettings, prog="python -m bert_corpus.storyworld")
    told = stories(options.documents, seed=options.seed, split=options.split, kind=options.kind)
    if options.report:
        print(report(list(told)))
        return
    for document in told:
        print(f"-- {document.kind}: {', '.join(document.combination)}")
        for sentence in document.sentences:
            print(shown(sentence) if options.marks else sentence.text)
        print()


if __name__ == "__main__":
    main()
