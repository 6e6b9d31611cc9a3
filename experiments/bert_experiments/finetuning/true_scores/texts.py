"""Labeled sentences with the phrases cut from them, and long documents: real, or StoryWorld's.

SST-2 labels phrases of movie reviews, and a phrase may lie inside another one. UD English EWT has
whole documents of five kinds: weblog, newsgroup, email, review, answers.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bert_corpus.storyworld import story
from bert_finetuning.data.load import first_files, read_glue
from bert_finetuning.data.rows import lines_of
from bert_finetuning.data.storyworld import storyworld
from bert_finetuning.tasks.base import HeadConfig, Pooling
from bert_finetuning.tasks.classification import Classification, TextExample

LABELS = ("negative", "positive")
SHORTEST_SENTENCE = 8  # words
NEGATIONS = {"not", "n't", "no", "never", "nothing", "neither", "nor", "without"}

TextExamples = Sequence[TextExample]


@dataclass(frozen=True)
class Texts:
    """`phrases[i]` are those of `sentences[i]`, the sentence itself among them. `documents` are
    those to learn from and those to measure on."""

    name: str
    sentences: list[TextExample]
    phrases: list[list[TextExample]]
    documents: tuple[list[TextExample], list[TextExample]]


def load_texts(data: Path | None, sentences: int) -> Texts:
    """From DATA/sst2 and DATA/ud-english-ewt; without a folder as many texts of StoryWorld."""
    if data is None:
        reviews = storyworld("sentiment", "train", sentences)
        return Texts(
            "StoryWorld",
            reviews,
            [pieces(each) for each in reviews],
            told_documents(sentences // 10),
        )
    whole, phrases = by_sentence(list(read_glue("sst-2", data / "sst2", "train")))
    order = np.random.default_rng(0).permutation(len(whole))[:sentences]
    return Texts(
        "SST-2 and UD English EWT",
        [whole[i] for i in order],
        [phrases[i] for i in order],
        (documents(data, "train"), documents(data, "dev") + documents(data, "test")),
    )


def task_of(examples: TextExamples, pooling: Pooling) -> Classification:
    labels = tuple(sorted({str(example.label) for example in examples}))
    return Classification(HeadConfig(labels, pooling=pooling), ("accuracy",))


def labels_of(examples: TextExamples) -> np.ndarray:
    """1 for positive, 0 for negative."""
    return np.array([LABELS.index(str(example.label)) for example in examples])


def by_sentence(examples: TextExamples) -> tuple[list, list]:
    """The texts that lie in no other text, and with each the texts that lie in it.

    Texts of fewer than three words may lie in many sentences and are left out, and so
    are sentences of fewer than `SHORTEST_SENTENCE` words.
    """
    texts = {example.text.strip(): example for example in examples}
    sentences: list[str] = []
    members: list[list[TextExample]] = []
    known: dict[tuple[str, ...], set[int]] = defaultdict(set)  # three words: where they stand
    for text in sorted(texts, key=lambda text: -len(text.split())):
        parts = triples(text)
        if not parts:
            continue
        places = set.intersection(*(known[part] for part in parts))
        place = next((p for p in sorted(places) if f" {text} " in f" {sentences[p]} "), None)
        if place is None:
            place = len(sentences)
            sentences.append(text)
            members.append([])
            for part in parts:
                known[part].add(place)
        members[place].append(texts[text])
    long = [i for i, text in enumerate(sentences) if len(text.split()) >= SHORTEST_SENTENCE]
    return [texts[sentences[i]] for i in long], [members[i] for i in long]


def triples(text: str) -> list[tuple[str, ...]]:
    """All runs of three words."""
    words = text.split()
    return list(zip(words, words[1:], words[2:], strict=False))


def pieces(review: TextExample) -> list[TextExample]:
    """A review of StoryWorld whole, without its first and without its last sentence."""
    parts = review.text.split(". ")
    texts = (review.text, ". ".join(parts[1:]), ". ".join(parts[:-1]) + ".")
    return [TextExample(text, label=review.label) for text in texts]


def is_negated(example: TextExample) -> bool:
    return bool(NEGATIONS & set(example.text.lower().replace("n't", " n't").split()))


# --- Long texts -----------------------------------------------------------------------------------

WINDOW = 40  # words


def windows(text: str, size: int = WINDOW) -> list[str]:
    """A text cut into pieces of `size` words; the last is filled up with words before it."""
    words = text.split()
    starts = [*range(0, max(1, len(words) - size), size), max(0, len(words) - size)]
    return [" ".join(words[start : start + size]) for start in dict.fromkeys(starts)]


def documents(data: Path, split: str) -> list[TextExample]:
    """The documents of UD English EWT, the kind of each as its label."""
    (path,) = first_files(data / "ud-english-ewt", [f"en_ewt-ud-{split}.conllu"], split)
    found: list[tuple[str, list[str]]] = []
    for _, line in lines_of(path):
        if line.startswith("# newdoc id = "):
            found.append((line.removeprefix("# newdoc id = ").split("-")[0], []))
        elif line.startswith("# text = "):
            found[-1][1].append(line.removeprefix("# text = "))
    return [TextExample(" ".join(sentences), label=kind) for kind, sentences in found]


def told_documents(count: int) -> tuple[list[TextExample], list[TextExample]]:
    """Three stories of StoryWorld and a review, whose label is asked for; half as many to measure
    on as to learn from."""

    def told(split: str, count: int) -> list[TextExample]:
        stories = [" ".join(each.text for each in story(i, split=split).sentences)
                   for i in range(3 * count)]  # fmt: skip
        return [TextExample(" ".join([*stories[3 * i : 3 * i + 3], review.text]),
                            label=review.label)
                for i, review in enumerate(storyworld("sentiment", split, count))]  # fmt: skip

    return told("train", count), told("heldout", count // 2)
