"""Three more sets from the facts of StoryWorld: how alike, how does it go on, what matters.

As in `bert_corpus.storyworld.labelled`, an example is a pure function of (index, seed, split), and
what it is about is reserved for one split.
"""

import re

from bert_corpus.storyworld import Sentence, Story, story
from bert_corpus.storyworld.table import DISHES
from bert_corpus.storyworld.telling import Dice, draw, is_reserved
from bert_corpus.storyworld.world import COLOURS, DAYS, NUMBERS, PEOPLE
from bert_finetuning.examples import Choice, Extract, TextExample

THINGS = ("suitcase", "bicycle", "coat", "scarf", "lantern", "boat", "trumpet", "telescope")
PLACES = ("market", "harbour", "station", "library", "museum", "park", "school", "castle")
STORIES = 1 << 31  # far more than anybody reads


# How alike are two texts? Each tells five facts; the score is how many of them are the same.

FACTS = (PEOPLE, COLOURS, DAYS, NUMBERS, PLACES)


def likeness(index: int, seed: int, split: str) -> TextExample:
    """Two outings: the same person, colour, day, number, place? From 0.0, nothing, to 5.0, all."""
    say = Dice("likeness", seed, split, index)
    same = say(*range(len(FACTS) + 1))
    while True:
        first, _ = draw(say, FACTS, "likeness", split)
        changed = say.shuffled(*range(len(FACTS)))[same:]
        second = [
            say.several(table, 1, but=(fact,))[0] if place in changed else fact
            for place, (table, fact) in enumerate(zip(FACTS, first, strict=True))
        ]
        reserved = is_reserved("likeness", tuple(map(str, second)))
        if reserved == (split == "heldout"):  # the second text belongs to the split, as the first
            break
    one, other = say.shuffled(*_OUTINGS)[:2]
    thing = say.pick(THINGS)  # of both: it tells nothing
    return TextExample(
        _capital(one.format(*first, thing=thing)),
        _capital(other.format(*second, thing=thing)),
        float(same),
    )


_OUTINGS = (
    "on {2} {0} came to the {4} with a {1} {thing} and {3} friends.",
    "with {3} friends and a {1} {thing} {0} came to the {4} on {2}.",
    "{0} and {3} friends were at the {4} on {2} and had a {1} {thing}.",
    "at the {4} {0} lost a {1} {thing} on {2}, said {3} friends.",
)


# How does the story go on? The right sentence takes up words that were told; the others speak of
# people and things that nobody has mentioned.

ENDINGS = 4


def ending(index: int, seed: int, split: str) -> Choice:
    """The beginning of a story, its next sentence, and one of each of three other stories, the
    first of which is a story of the same kind."""
    say = Dice("endings", seed, split, index)
    while True:
        told = _any_story(say, seed, split)
        place = say(*range(2, len(told.sentences)))
        context = " ".join(sentence.text for sentence in told.sentences[:place])
        if _takes_up(told.sentences[place], context) == "all":
            break
    wrong = [_stranger(say, context, seed, split, kind=told.kind)]
    while len(wrong) < ENDINGS - 1:
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
        if _takes_up(sentence, context) == "nothing":
            return sentence.text


def _takes_up(sentence: Sentence, context: str) -> str:
    """How much of what an earlier sentence settles is told in the context: all, some, nothing?"""
    told = set(_words(context))
    settled = [
        set(_words(sentence.text[mark.start : mark.end])) <= told
        for mark in sentence.marks
        if mark.settled_by == "other"
    ]
    if not settled:
        return "unknown"
    return "all" if all(settled) else "some" if any(settled) else "nothing"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


# What matters? A report tells of three people, and says whose story everybody talks about.

_TOPICS = (
    "All the town talks about {person} and the {colour} {thing}.",
    "This report is about {person} and the {colour} {thing}.",
    "What everybody wants to know is the story of {person} and the {colour} {thing}.",
)
_EVENTS = (
    "On {day} {person} lost a {thing} at the {place}.",
    "At the {place} {person} bought a {thing} on {day}.",
    "{person} forgot a {thing} at the {place} on {day}.",
)
_OUTCOMES = (
    "In the end the {thing} was found in the {place}.",
    "The {thing} is now on show in the {place}.",
    "Nobody knows how the {thing} came to the {place}.",
)
_REMARKS = (
    "It was a fine {day} for {dish}.",
    "The {place} was full of people on {day}.",
    "There was {dish} for all who came on {day}.",
    "On {day} the {place} was closed.",
)


def summary(index: int, seed: int, split: str) -> Extract:
    """A report of eight sentences. Three sum it up: the one that says what it is about, first or
    last of all, what happened there, and how it ended."""
    say = Dice("summary", seed, split, index)
    (person, other, third, colour), _ = draw(
        say, (PEOPLE, PEOPLE, PEOPLE, COLOURS), "summary", split
    )
    things = say.several(THINGS, 3)
    stories = [_story_of(say, who, thing) for who, thing in zip((person, other, third), things,
                                                                 strict=True)]  # fmt: skip
    topic = say.pick(_TOPICS).format(person=person, colour=colour, thing=things[0])
    remark = say.pick(_REMARKS).format(
        day=say.pick(DAYS), place=say.pick(PLACES), dish=say.pick(DISHES)
    )
    sentences = _woven(say, [*stories, [remark]])
    sentences.insert(say(0, len(sentences)), topic)
    wanted = {topic, *stories[0]}
    places = (place for place, sentence in enumerate(sentences) if sentence in wanted)
    return Extract(tuple(sentences), tuple(places))


def _story_of(say: Dice, person: object, thing: str) -> list[str]:
    """What happened to somebody's thing, and how it ended."""
    first, last = say.several(PLACES, 2)
    event = say.pick(_EVENTS).format(person=person, thing=thing, place=first, day=say.pick(DAYS))
    return [_capital(event), say.pick(_OUTCOMES).format(thing=thing, place=last)]


def _woven(say: Dice, stories: list[list[str]]) -> list[str]:
    """All sentences in one row, those of each story in their order."""
    turns = say.shuffled(*(number for number, told in enumerate(stories) for _ in told))
    rest = [iter(told) for told in stories]
    return [next(rest[turn]) for turn in turns]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
