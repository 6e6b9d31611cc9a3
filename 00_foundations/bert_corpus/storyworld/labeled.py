"""Labeled sets from the same world: sentiment, sentence pairs, names, questions.

Each example is a pure function of (index, seed, split), told as `sets.txt` says. Its combination
belongs to one split, like those of the documents, so no held-out text is ever in train.
"""

from dataclasses import dataclass
from pathlib import Path

from bert_corpus.storyworld.generator import Dice, draw
from bert_corpus.storyworld.grammar import StoryFile
from bert_corpus.storyworld.shared_sentences import FUNCTIONS
from bert_corpus.storyworld.world import TABLES

SETS = {kind.name: kind for kind in
        StoryFile(Path(__file__).with_name("sets.txt"), TABLES, FUNCTIONS).kinds}  # fmt: skip


@dataclass(frozen=True)
class SentimentExample:
    text: str
    label: str  # "negative" | "positive"


@dataclass(frozen=True)
class PairExample:
    text_a: str
    text_b: str
    label: str  # "entailment" | "neutral" | "contradiction"


@dataclass(frozen=True)
class NamesExample:
    words: tuple[str, ...]
    tags: tuple[str, ...]  # B-PER, I-PER, B-LOC, I-LOC, B-ORG, I-ORG, O


@dataclass(frozen=True)
class QuestionExample:
    context: str
    question: str
    answer: str
    answer_start: int  # context[answer_start:][:len(answer)] == answer


def _tell(name: str, index: int, seed: int, split: str) -> list[str]:
    """The lines that the set tells as example `index`."""
    dice = Dice(name, seed, split, index)
    members, _ = draw(dice, SETS[name].cast, name, split)
    return SETS[name].tell(dice, *members)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def sentiment(index: int, *, seed: int = 0, split: str = "train") -> SentimentExample:
    """A review of a restaurant, a film or a shop. Where parts differ, the verdict decides."""
    label, *sentences = _tell("sentiment", index, seed, split)
    return SentimentExample(" ".join(map(_capital, sentences)), label)


def entailment(index: int, *, seed: int = 0, split: str = "train") -> PairExample:
    """The second sentence asserts or denies a detail that the first may give, or not."""
    label, text_a, text_b = _tell("entailment", index, seed, split)
    return PairExample(_capital(text_a), text_b, label)


def names(index: int, *, seed: int = 0, split: str = "train") -> NamesExample:
    """Who is a person, a place, an organization. Fox is a family, a bank, or an animal."""
    (told,) = _tell("names", index, seed, split)
    words, tags = [], []
    for piece in told.replace("]", "[").split("["):
        tag, colon, name = piece.partition(":")
        found = (name if colon else piece).split()
        words += found
        tags += [f"{'I' if order else 'B'}-{tag}" if colon else "O" for order in range(len(found))]
    return NamesExample(tuple(words), tuple(tags))


def question(index: int, *, seed: int = 0, split: str = "train") -> QuestionExample:
    """A short story and a question that one span of it answers."""
    *facts, asked = _tell("question", index, seed, split)
    context = " ".join(fact.split(" | ")[0] for fact in facts)
    sentence, question, answer = facts[int(asked)].split(" | ")
    start = context.index(sentence) + sentence.index(answer)
    return QuestionExample(context, question, answer, start)
