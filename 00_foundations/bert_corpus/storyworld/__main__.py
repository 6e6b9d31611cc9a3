"""Read StoryWorld: `python -m bert_corpus.storyworld --documents 50 --marks`, or `--report`."""

import argparse
import re
import time
from collections import Counter

from bert_corpus.storyworld import KINDS, Sentence, Story, stories
from bert_run.errors import command

RARE = 60  # a word seen less often in the report's documents is hard to learn


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
    parser = argparse.ArgumentParser("python -m bert_corpus.storyworld", description=__doc__)
    parser.add_argument("--documents", type=int, default=50, help="how many (default 50)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", choices=("train", "heldout"), default="train")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind of document")
    parser.add_argument("--marks", action="store_true", help="show the labels of the words")
    parser.add_argument("--report", action="store_true", help="count instead of printing")
    options = parser.parse_args()

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
