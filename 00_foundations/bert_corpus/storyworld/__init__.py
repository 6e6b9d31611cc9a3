"""StoryWorld: thousands of short documents about one small town, every fact of it known.

`story(i)` is document i, with the words labelled whose answer is known and what settles each.
From the same world come four labelled sets: sentiment, entailment, names and questions.
"""

# The kinds of document register themselves when their files are read, always in this order.
from bert_corpus.storyworld import (  # noqa: F401 - each registers its kinds of document
    echoes,
    feasts,
    home,
    land,
    leisure,
    table,
    town,
    travel,
    work,
)
from bert_corpus.storyworld.labelled import (
    NamesExample,
    PairExample,
    QuestionExample,
    SentimentExample,
    entailment,
    names,
    question,
    sentiment,
)
from bert_corpus.storyworld.table import GOOD_FOOD
from bert_corpus.storyworld.telling import KINDS, Mark, Sentence, Story, stories, story

CLASSIC_BLANKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("The [MASK] sat on the mat.", frozenset({"cat"})),
    ("Farmers cultivate the [MASK] to grow crops.", frozenset({"land"})),
    ("Paris is the [MASK] of France.", frozenset({"capital"})),
    ("The food was [MASK], but the service was terrible.", frozenset(GOOD_FOOD)),
)

__all__ = [
    "CLASSIC_BLANKS",
    "KINDS",
    "Mark",
    "NamesExample",
    "PairExample",
    "QuestionExample",
    "Sentence",
    "SentimentExample",
    "Story",
    "entailment",
    "names",
    "question",
    "sentiment",
    "stories",
    "story",
]
