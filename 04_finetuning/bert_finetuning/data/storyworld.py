"""The labeled sets of StoryWorld: a small task of each type that needs no download.

The facts of its town are known, so every label is certain. An example is a pure function of (index,
seed, split), and what it is about is reserved for one split: no held-out text is ever in train.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bert_corpus import storyworld as town
from bert_corpus.storyworld import Sentence, Story, story, world
from bert_corpus.storyworld.generator import Dice, draw
from bert_finetuning.tasks.base import Example, Task
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_finetuning.tasks.question_answering import Answer, Question, QuestionAnswering
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging

# What is picked from: things, places, and the sentences that they are told in.
PROSE = json.loads(Path(__file__).with_name("storyworld.json").read_text("utf-8"))
THINGS, PLACES = PROSE["things"], PROSE["places"]
STORIES = 1 << 31  # far more than anybody reads


# --- Four sets of the town, as examples ----------------------------------------------------------


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


# --- The others ----------------------------------------------------------------------------------

# How many stars? A guest judges five things; each that is praised gives one.

_JUDGED = (
    ("food", tuple(world.GOOD_FOOD), tuple(world.BAD_FOOD)),
    ("service", tuple(world.GOOD_SERVICE), tuple(world.BAD_SERVICE)),
    *((thing, PROSE["good"], PROSE["bad"]) for thing in ("bed", "music", "garden")),
)


def stars(index: int, seed: int, split: str) -> TextExample:
    """The review of an inn, from 0.0 to 5.0 stars. "Not bad" is praise, and "not good" is none."""
    say = Dice("stars", seed, split, index)
    (guest, dish, day), _ = draw(say, (world.PEOPLE, world.DISHES, world.DAYS), "stars", split)
    opening = say.pick(PROSE["openings"]).format(day=day, guest=guest, dish=dish)
    things = say.shuffled(*_JUDGED)
    count = say(*range(len(_JUDGED) + 1))
    praised = say.shuffled(*(place < count for place in range(len(_JUDGED))))
    told = []
    for (thing, praise, blame), good in zip(things, praised, strict=True):
        negated = say.chance(0.25)
        word = say.pick(praise if good != negated else blame)
        told.append(f"the {thing} was not {word}" if negated else f"the {thing} was {word}")
    first, second = ("and" if a == b else "but" for a, b in (praised[:2], praised[2:4]))
    pairs = f"{told[0]}, {first} {told[1]}.", f"{told[2]}, {second} {told[3]}.", f"{told[4]}."
    return TextExample(" ".join((opening, *map(_capital, pairs))), label=float(count))


# How does the story go on? The right sentence takes up words that were told; the others speak of
# people and things that nobody has mentioned.

STORY_ENDINGS = 4
BEFORE = 3  # sentences of the story that are told, at most


def ending(index: int, seed: int, split: str) -> Choice:
    """A piece of a story, its next sentence, and one sentence of each of three other stories, the
    first of which is a story of the same kind."""
    say = Dice("endings", seed, split, index)
    while True:
        told = _any_story(say, seed, split)
        place = say(*range(2, len(told.sentences)))
        before = told.sentences[max(0, place - BEFORE) : place]
        context = " ".join(sentence.text for sentence in before)
        settled = _told_before(told.sentences[place], context)
        if settled and all(settled):
            break
    wrong = [_stranger(say, context, seed, split, kind=told.kind)]
    while len(wrong) < STORY_ENDINGS - 1:
        other = _stranger(say, context, seed, split)
        wrong += [other] * (other not in wrong)
    right = told.sentences[place].text
    endings = say.shuffled(right, *wrong)
    return Choice(context, tuple(endings), endings.index(right))


def _any_story(say: Dice, seed: int, split: str, kind: str | None = None) -> Story:
    return story(int(say.random() * STORIES), seed=seed, split=split, kind=kind)


def _stranger(say: Dice, context: str, seed: int, split: str, kind: str | None = None) -> str:
    """A sentence from the middle of a story, of which the context has told nothing."""
    while True:
        sentence = say.pick(_any_story(say, seed, split, kind).sentences[2:])
        settled = _told_before(sentence, context)
        if settled and not any(settled):
            return sentence.text


def _told_before(sentence: Sentence, context: str) -> list[bool]:
    """Of each piece that an earlier sentence settles, whether the context has told it."""
    told = _words(context)
    return [_words(sentence.text[mark.start : mark.end]) <= told
            for mark in sentence.marks if mark.settled_by == "other"]  # fmt: skip


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


# --- Three sets that ask what the paper claims: no single word tells the answer ------------------


def reports(index: int, seed: int, split: str) -> TextExample:
    """Two reports of a thing, which agree on its color or do not."""
    say = Dice("reports", seed, split, index)
    parts = (world.PEOPLE, world.COLOURS, world.DAYS)
    (person, colour, day), _ = draw(say, parts, "reports", split)
    told = {"person": person, "day": day, "thing": say.pick(THINGS), "place": say.pick(PLACES)}
    label = say("same", "different")
    said = colour if label == "same" else say.several(world.COLOURS, 1, but=(colour,))[0]
    first = say.pick(PROSE["seen"]).format(colour=colour, **told)
    second = say.pick(PROSE["said"]).format(colour=said, **told)
    return TextExample(_capital(first), _capital(second), label)


def who(index: int, seed: int, split: str) -> Question:
    """Each of four people has done something else with a thing. Their names stand before it: a
    model that reads from the left does not know at a name whether it is the answer."""
    say = Dice("who", seed, split, index)
    people, _ = draw(say, (world.PEOPLE,) * 4, "who", split)
    deeds = say.shuffled(*PROSE["deeds"])
    both = list(zip(map(str, people), deeds, strict=True))
    context = " ".join(f"{person} {deed} a {say.pick(THINGS)}." for person, deed in both)
    name, asked = say.pick(both)
    answer = Answer(name, context.index(f"{name} {asked}"))
    return Question(f"{split}-{index}", f"Who {asked} something?", context, (answer,))


def kinds(index: int, seed: int, split: str) -> TaggedSentence:
    """Two names, each of a person, a street or a company: what follows the name tells."""
    say = Dice("kinds", seed, split, index)
    (name, other, day), _ = draw(say, (world.FAMILIES, world.FAMILIES, world.DAYS), "kinds", split)
    words: list[str] = say.pick(PROSE["before_names"]).format(day=day).split()
    tags = ["O"] * len(words)
    for called, after in ((name, ", and"), (other, ".")):
        kind = say.pick(list(PROSE["kinds"]))
        end = say.pick(PROSE["kinds"][kind])
        end = end.format(thing=say.pick(THINGS), dish=say.pick(world.DISHES))
        follow = [*end.split(), *after.split()]
        words += [called, *follow]
        tags += [f"B-{kind}", "O" if kind == "PER" else f"I-{kind}", *["O"] * (len(follow) - 1)]
    return TaggedSentence(tuple(words), tuple(tags))


# --- All sets ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoryworldSet:
    """How example `index` is made, its labels, if it has any, and how it is measured."""

    make: Callable[[int, int, str], Example]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    task_type: type[Task] = Classification
    train: int = 2_000
    heldout: int = 500


NAME_TAGS = ("O", "B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER")

STORYWORLD = {
    "sentiment": StoryworldSet(sentiment, ("negative", "positive"), ("accuracy",)),
    "pairs": StoryworldSet(pair, ("entailment", "neutral", "contradiction"), ("accuracy",)),
    "names": StoryworldSet(names, NAME_TAGS, ("entity_f1",), Tagging),
    "questions": StoryworldSet(question, (), ("f1", "exact"), QuestionAnswering),
    "stars": StoryworldSet(stars, ("stars",), ("spearman", "pearson"), Regression),
    "endings": StoryworldSet(ending, (), ("accuracy",), MultipleChoice, 1_000, 300),
    "reports": StoryworldSet(reports, ("different", "same"), ("accuracy",)),
    "who": StoryworldSet(who, (), ("exact", "f1"), QuestionAnswering),
    "kinds": StoryworldSet(kinds, NAME_TAGS, ("entity_f1",), Tagging),
}


def storyworld(name: str, split: str, count: int, *, seed: int = 0) -> list[Example]:
    """The first `count` examples of a set: sentiment, pairs, names, questions, …"""
    return [STORYWORLD[name].make(index, seed, split) for index in range(count)]
