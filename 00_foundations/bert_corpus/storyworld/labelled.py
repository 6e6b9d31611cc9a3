"""Labelled sets from the same world: sentiment, sentence pairs, names, questions.

Each example is a pure function of (index, seed, split). The combination that an example is about
is reserved for one split in the way of the documents, so no held-out text is ever in train.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bert_corpus.storyworld.generator import Dice, draw
from bert_corpus.storyworld.world import (
    COLOURS,
    COUNTRIES,
    DAYS,
    DISHES,
    NUMBERS,
    PEOPLE,
    TABLES,
    a,
)


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


def _begin(name: str, index: int, seed: int, split: str, *cast: Sequence) -> tuple[Dice, tuple]:
    dice = Dice(name, seed, split, index)
    return dice, draw(dice, cast, name, split)[0]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


# What is judged: the name of the thing and its parts, with words of praise and of blame.
_JUDGED = tuple(
    (thing, *((part, TABLES[f"GOOD_{part.upper()}"], TABLES[f"BAD_{part.upper()}"])
              for part in parts))
    for thing, *parts in (("restaurant", "food", "service"), ("film", "story", "music"),
                          ("shop", "clothes", "service"))
)  # fmt: skip


def _judgement(say: Dice, aspect: tuple, good: bool) -> str:
    """ "the food was delicious", or "the food was not bad"."""
    noun, praise, blame = aspect
    verb = "were" if noun == "clothes" else "was"
    if say.chance(0.25):
        return f"the {noun} {verb} not {say.pick(blame if good else praise)}"
    return f"the {noun} {verb} {say.pick(praise if good else blame)}"


def sentiment(index: int, *, seed: int = 0, split: str = "train") -> SentimentExample:
    """A review of a restaurant, a film or a shop. Where parts differ, the verdict decides."""
    say, (guest, judged, dish, day) = _begin(
        "sentiment", index, seed, split, PEOPLE, _JUDGED, DISHES, DAYS
    )
    positive = say.chance(0.5)
    thing, first, second = judged
    aspects = say.shuffled(first, second)

    opening = say(
        f"On {day} {guest} went to the {thing} after a plate of {dish}.",
        f"{guest} {guest.family} had eaten {dish} before going to the {thing} on {day}.",
        f"A {thing} for {guest}, who came on {day} after some {dish}.",
    )
    if say.chance(0.4):
        first, joint, verdict = _judgement(say, aspects[0], positive), "and", ""
    else:
        first, joint = _judgement(say, aspects[0], not positive), "but"
        verdict = say(
            f"All in all {guest} will {'come back very soon' if positive else 'never come back'}.",
            f"In the end {guest} was {'' if positive else 'not '}happy.",
            f"{guest} {'can' if positive else 'cannot'} recommend this {thing} to "
            f"{'everybody' if positive else 'anybody'}.",
        )
    body = _capital(f"{first}, {joint} {_judgement(say, aspects[1], positive)}.")
    text = " ".join(filter(None, (opening, body, verdict)))
    return SentimentExample(text, "positive" if positive else "negative")


_THINGS = ("suitcase", "bicycle", "coat", "scarf", "lantern", "boat")
_PLACES = ("market", "harbour", "station", "library", "museum", "park")
# What the second sentence asserts of one detail, and its negation.
_ASSERTIONS = {
    "colour": ("The {thing} of {person} was {value}.", "The {thing} of {person} was not {value}."),
    "day": ("It was on {value} that {person} came.", "It was not on {value} that {person} came."),
    "number": (
        "{person} came with {value} friends, no more and no less.",
        "{person} did not come with {value} friends.",
    ),
}
_DETAILS = {"colour": COLOURS, "day": DAYS, "number": NUMBERS}


def entailment(index: int, *, seed: int = 0, split: str = "train") -> PairExample:
    """The second sentence asserts or denies a detail that the first may give, or not.

    So the second sentence alone never tells the label: "not" is as common with all three.
    """
    say, (person, colour, day, number) = _begin(
        "entailment", index, seed, split, PEOPLE, COLOURS, DAYS, NUMBERS
    )
    thing, place = say.pick(_THINGS), say.pick(_PLACES)
    label = say("entailment", "neutral", "contradiction")
    detail, denied = say("colour", "day", "number"), say(False, True)
    told = {"colour": colour, "day": day, "number": number}
    value = told[detail]
    if label == "neutral":
        del told[detail]
    elif denied == (label == "entailment"):
        value = say.pick([other for other in _DETAILS[detail] if other != value])
    when = f"on {told['day']}" if "day" in told else "one day"
    friends = f"{told['number']} friends" if "number" in told else "friends"
    load = f"a {told['colour']} {thing}" if "colour" in told else f"a {thing}"
    text_a = say(
        f"{when} {person} came to the {place} with {load} and {friends}.",
        f"with {friends} and {load} {person} came to the {place} {when}.",
        f"{person} came to the {place} {when}, bringing {friends} and {load}.",
    )
    text_b = _ASSERTIONS[detail][denied].format(person=person, thing=thing, value=value)
    return PairExample(_capital(text_a), text_b, label)


_COMPANIES = tuple(f"{name} {what}" for name in ("Hill", "Stone", "Wood", "Fox", "Bell", "Marsh")
                   for what in ("Bank", "Library", "Theatre", "Hospital"))  # fmt: skip


def names(index: int, *, seed: int = 0, split: str = "train") -> NamesExample:
    """Who is a person, a place, an organisation. Fox is a family, a bank, or an animal."""
    say, (company, country, dish) = _begin(
        "names", index, seed, split, _COMPANIES, COUNTRIES, DISHES
    )
    person = say.pick(PEOPLE)
    firm = f"{{ORG:{company}}}"
    who = say(
        f"{{PER:{person}}}",
        f"{{PER:{person} {person.family}}}",
        f"{person.title} {{PER:{person.family}}}",
    )
    street = f"{{LOC:{person.street} Street}}"
    place = say(f"{{LOC:{country.capital}}}", f"{{LOC:{country}}}")
    thing = say("fox", "bell", "stone", "hill", "rose", "lily", "swan", "compass")
    told = say(
        f"On {say.pick(DAYS)} {who} flew to {place} with some {dish} to work for {firm} .",
        f"{who} , who eats {dish} , works for {firm} in {place} .",
        f"{firm} has opened a branch in {place} and serves {dish} , said {who} of {street} .",
        f"In {street} {who} from {place} ate {dish} and saw a {thing} near {firm} .",
        f"The {thing} of {who} was sold to {firm} in {place} for a plate of {dish} .",
        f"{firm} sent {who} to {place} with a {thing} and some {dish} .",
        f"In {place} {who} always has {dish} and thinks of {firm} in {street} .",
    )
    words, tags = [], []
    for piece in told.replace("}", "{").split("{"):
        tag, colon, name = piece.partition(":")
        found = (name if colon else piece).split()
        words += found
        tags += [f"{'I' if order else 'B'}-{tag}" if colon else "O" for order in range(len(found))]
    return NamesExample(tuple(words), tuple(tags))


def question(index: int, *, seed: int = 0, split: str = "train") -> QuestionExample:
    """A short story and a question that one span of it answers."""
    say, (person, friend, colour, number) = _begin(
        "question", index, seed, split, PEOPLE, PEOPLE, COLOURS, NUMBERS
    )
    day, country = say.pick(DAYS), say.pick(COUNTRIES)
    thing, place = say.pick(_THINGS), say.pick(_PLACES)
    facts = (
        (f"{person} {person.family} is {a(person.job.name)} and lives in {person.street} Street.",
         *say((f"Where does {person} live?", f"{person.street} Street"),
              (f"What is the job of {person}?", person.job.name))),
        (f"On {day} {person} bought a {colour} {thing} at the {place}.",
         *say((f"When did {person} buy the {thing}?", day),
              (f"What colour is the {thing}?", colour),
              (f"Where did {person} buy the {thing}?", f"the {place}"),
              (f"What did {person} buy on {day}?", f"a {colour} {thing}"))),
        (f"The {thing} cost {number} pounds.",
         f"How much did {person} pay for the {thing}?", f"{number} pounds"),
        (f"It was a present for {friend} {friend.family}, who is now in {country.capital}.",
         *say((f"Who got the {thing}?", f"{friend} {friend.family}"),
              (f"Where is {friend} now?", country.capital))),
    )  # fmt: skip
    asked = say.pick(facts)
    context = " ".join(sentence for sentence, _, _ in facts)
    start = context.index(asked[0]) + asked[0].index(asked[2])
    return QuestionExample(context, asked[1], asked[2], start)
