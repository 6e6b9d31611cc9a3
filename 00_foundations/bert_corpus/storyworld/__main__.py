"""Read StoryWorld: `python -m bert_corpus.storyworld --documents 50 --marks`, or `--report`."""

import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import tyro

from bert_corpus.storyworld import KINDS, Sentence, Story, stories
from bert_run.errors import Count, Seed, UserError, check_numbers, command

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


def report(documents: list[Story], seconds: float) -> str:
    count = len(documents)
    words: Counter[str] = Counter()
    marks: Counter[str | None] = Counter()
    senses: Counter[str] = Counter()
    sentences = 0
    for document in documents:
        words.update(re.findall("[a-z]+", document.text.lower()))
        sentences += len(document.sentences)
        found = [mark for sentence in document.sentences for mark in sentence.marks]
        marks.update(mark.settled_by for mark in found)
        senses.update({mark.sense for mark in found if mark.sense})
    kinds = Counter(document.kind for document in documents)
    rare = [word for word, seen in words.most_common() if seen < RARE]
    lines = [
        f"{count} documents, {count / seconds:,.0f} a second",
        f"{sentences / count:.2f} sentences and {words.total() / count:.1f} words a document",
        f"{len(words)} distinct words, {len(rare)} of them seen fewer than {RARE} times",
        "rare: " + " ".join(f"{word}:{words[word]}" for word in rare),
        "marks a document: "
        + ", ".join(f"{side or 'sense only'} {seen / count:.2f}" for side, seen in marks.items()),
        "senses, share of documents: "
        + ", ".join(f"{sense} {seen / count:.1%}" for sense, seen in sorted(senses.items())),
        f"{len(kinds)} kinds: "
        + ", ".join(f"{kind} {seen / count:.1%}" for kind, seen in kinds.most_common()),
    ]
    return "\n".join(lines)


@command
def main() -> None:
    options = tyro.cli(ReadingSettings, prog="python -m bert_corpus.storyworld")

    told = stories(options.documents, seed=options.seed, split=options.split, kind=options.kind)
    if options.report:
        start = time.perf_counter()
        documents = list(told)
        print(report(documents, time.perf_counter() - start))
        return
    for document in told:
        print(f"-- {document.kind}: {', '.join(document.combination)}")
        for sentence in document.sentences:
            print(shown(sentence) if options.marks else sentence.text)
        print()


if __name__ == "__main__":
    main()
