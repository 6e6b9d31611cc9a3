"""What the stories borrow: sentences that everybody in the town knows to be so, and small helpers.

Each function takes the dice first, then what stands behind its name in a story: `{mood pet}` is
`mood(say, pet)`, and `{mood}` is `mood(say)`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bert_corpus.storyworld.generator import Dice
from bert_corpus.storyworld.world import DAYS, MONTHS, PEOPLE, PETS, TABLES, Person, a


def opposite(say: Dice, thing: str) -> str:
    """ "The bread was fresh, not old": the thing and the opposite together settle the word."""
    row = say.pick([row for row in TABLES["OPPOSITES"] if row.thing == thing])
    return f"the {thing} was <b:{row.word}>, not {row.opposite}"


def tool(say: Dice, job: object = "") -> str:
    """ "A cook takes the knife to cut things"; of a job that has no tools here, another is told."""
    jobs = list(dict.fromkeys(row.job for row in TABLES["TOOLS"]))
    job = str(job) if str(job) in jobs else say.pick(jobs)
    row = say.pick([row for row in TABLES["TOOLS"] if row.job == job])
    return f"{a(job)} takes the <b:{row.tool}> to {row.purpose}"


def way(say: Dice, mover: str) -> str:
    """ "The train went through the tunnel"."""
    row = say.pick([row for row in TABLES["WAYS"] if row.mover == mover])
    side = "r" if row.place == "tunnel" else "b"  # there is but one way to take a tunnel
    return f"the {mover} went <{side}:{row.way}> the {row.place}"


def size(say: Dice) -> str:
    """ "A cow is bigger than a fox": both animals are needed, but at the ends of the row.

    The second animal stands at most two places from the first. One beyond an end of the row
    becomes the animal at that end; where that is the first animal itself, its neighbour. So a
    neighbour of the ant or the whale occurs more often than an animal two places away.
    """
    animals = TABLES["BY_SIZE"]
    first, last = int(say.random() * len(animals)), len(animals) - 1
    second = say.pick([place for place in range(first - 2, first + 3) if place != first])
    second = min(max(second, 0), last)
    if second == first:
        second = 1 if first == 0 else last - 1
    word = "bigger" if first > second else "smaller"
    side = "l" if first in (0, last) else "r" if second in (0, last) else "b"
    return f"{a(animals[first])} is <{side}:{word}> <l:than> {a(animals[second])}"


def calendar(say: Dice) -> str:
    """ "Monday comes before Tuesday"."""
    names = say(DAYS, MONTHS)
    first = int(say.random() * (len(names) - 1))
    if say.chance(0.5):
        return f"{names[first]} comes <b:before> {names[first + 1]}"
    return f"{names[first + 1]} comes <b:after> {names[first]}"


def mood(say: Dice, pet: Any = None) -> str:
    """ "A dog barks when it is happy", and growls when it is angry."""
    pet = pet or say.pick(PETS)
    if say.chance(0.5):
        return f"{a(pet.name)} <b:{pet.happy}> when it is happy"
    return f"{a(pet.name)} <b:{pet.upset}> when it is angry"


def rest(say: Dice, pet: Any = None) -> str:
    """ "The cat sat on the mat": in this town every animal has its own place."""
    cat, dog = PETS[:2]
    pet = pet or say(cat, cat, cat, dog, say.pick(PETS))
    return f"the <r:{pet.name}> {pet.rests}"


def verdicts(say: Dice) -> tuple[bool, bool]:
    """Two judgements, good or bad. What is praised first is blamed next more often than not the
    other way about, as reviewers do: 35% praise then blame, 10% blame then praise, 30% praise
    both, 25% blame both."""
    second = say.chance(0.4)
    return say.chance(0.75 if second else 0.58), second


def food_and_service(say: Dice, food: bool | None = None, service: bool | None = None) -> str:
    """ "The food was delicious, but the service was terrible": the two settle the `but`."""
    if food is None:
        food, service = verdicts(say)
    return _and_service(say, "food", "FOOD", food, service)


def comfort_and_service(say: Dice) -> str:
    """ "The bed was lovely, and the service was polite"."""
    comfort, service = verdicts(say)
    return _and_service(say, say.pick(TABLES["COMFORTS"]), "COMFORT", comfort, service)


def _and_service(say: Dice, thing: str, table: str, is_good: bool, service: bool) -> str:
    how = say.pick(TABLES[f"{'GOOD' if is_good else 'BAD'}_{table}"])
    serves = say.pick(TABLES["GOOD_SERVICE" if service else "BAD_SERVICE"])
    joint = and_or_but(say, is_good, service)
    return f"the {thing} was {how}, <b:{joint}> the service was {serves}"


def and_or_but(say: Dice, first: bool, second: bool) -> str:
    """What joins two judgements."""
    return "and" if first == second else "but"


def judgement(say: Dice, part: str, label: str) -> str:
    """ "The food was delicious", or "the food was not bad"."""
    verb = "were" if part == "clothes" else "was"
    praises, is_denied = label == "positive", say.chance(0.25)
    table = TABLES[f"{'GOOD' if praises != is_denied else 'BAD'}_{part.upper()}"]
    return f"the {part} {verb} {'not ' if is_denied else ''}{say.pick(table)}"


def groom_of(say: Dice, bride: Person, guest: Person) -> Person:
    """A man of another family than the bride, and not the guest."""
    return say.pick(
        [man for man in TABLES["MEN"] if man is not guest and man.family != bride.family]
    )


def of_another_job(say: Dice, worker: Person) -> Person:
    return say.pick([person for person in PEOPLE if person.job is not worker.job])


def another(say: Dice, options: Sequence, *but: object) -> object:
    """One of the options that are not among `but`."""
    return say.pick([option for option in options if option not in but])


def another_of(say: Dice, what: str, but: object) -> object:
    """Another colour, day or number."""
    return another(say, TABLES[f"{what.upper()}S"], but)


def several(say: Dice, count: int, options: Sequence, *but: object) -> object:
    """`count` different options that are not among `but`; a single one comes alone."""
    chosen = say.several(options, count, but=but)
    return chosen if count > 1 else chosen[0]


FUNCTIONS: dict[str, Callable] = {
    function.__name__: function
    for function in (
        opposite, tool, way, size, calendar, mood, rest, verdicts, food_and_service,
        comfort_and_service, and_or_but, judgement, groom_of, of_another_job, another,
        another_of, several,
    )
} | {
    "a": lambda say, noun: a(str(noun)),
    "are": lambda say, noun: "are" if noun[-1] == "s" else "is",
    "chance": Dice.chance,
    "shuffled": Dice.shuffled,
}  # fmt: skip
