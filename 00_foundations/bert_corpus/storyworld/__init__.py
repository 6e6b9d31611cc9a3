"""StoryWorld: thousands of short documents about one small town, every fact of it known.

`story(i)` is document i, with the words labeled whose answer is known and what settles each.
From the same world come four labeled sets: sentiment, entailment, names and questions.
"""

from pathlib import Path

from bert_corpus.storyworld import world
from bert_corpus.storyworld.generator import KINDS, Mark, Sentence, Story, stories, story
from bert_corpus.storyworld.grammar import read_kinds
from bert_corpus.storyworld.labeled import entailment, names, question, sentiment
from bert_corpus.storyworld.shared_sentences import FUNCTIONS

STORIES = Path(__file__).with_name("stories")
# The other files that decide what a document says.
TOLD_BY = [Path(__file__).with_name(name) for name in ("generator.py", "grammar.py",
           "shared_sentences.py", "phrases.txt", "world.py", "world.txt")]  # fmt: skip
KINDS.update(read_kinds(STORIES, world.TABLES, FUNCTIONS))

CLASSIC_BLANKS: tuple[tuple[str, frozenset[str]], ...] = (
    ("The [MASK] sat on the mat.", frozenset({"cat"})),
    ("Farmers cultivate the [MASK] to grow crops.", frozenset({"land"})),
    ("Paris is the [MASK] of France.", frozenset({"capital"})),
    ("The food was [MASK], but the service was terrible.", frozenset(world.GOOD_FOOD)),
)

__all__ = ("KINDS", "Mark", "Sentence", "Story", "entailment", "names", "question", "sentiment",
           "stories", "story")  # fmt: skip
