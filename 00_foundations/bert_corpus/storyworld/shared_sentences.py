"""What the stories borrow: the phrases of `phrases.txt`, and functions where a text does not do.

Each function takes the dice first, then what follows its name in a story: `{tool worker.job}` is
`tool(say, worker.job)`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from bert_corpus.storyworld.generator import Dice
from bert_corpus.storyworld.grammar import StoryFile
from bert_corpus.storyworld.world import DAYS, MONTHS, PEOPLE, TABLES, a


def where(say: Dice, rows: Sequence, column: str, value: object) -> object:
    """One of the rows of a table that have this value in a column."""
    return say.pick([row for row in rows if getattr(row, column) == value])


def tool(say: Dice, job: object = "") -> str:
    """ "A cook takes the knife to cut things"; of a job that has no tools here, another is told."""
    jobs = list(dict.fromkeys(row.job for row in TABLES["TOOLS"]))
    job = str(job) if str(job) in jobs else say.pick(jobs)
    row = where(say, TABLES["TOOLS"], "job", job)
    return f"{a(job)} takes the <b:{row.tool}> to {row.purpose}"


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


def verdicts(say: Dice) -> tuple[bool, bool]:
    """Two judgments: 35% positive then negative, 10% negative then positive, 30% both positive, 25%
    both negative."""
    second = say.chance(0.4)
    return say.chance(0.75 if second else 0.58), second


def judgement(say: Dice, part: str, label: str) -> str:
    """ "The food was delicious", or "the food was not bad"."""
    verb = "were" if part == "clothes" else "was"
    praises, is_denied = label == "positive", say.chance(0.25)
    table = TABLES[f"{'GOOD' if praises != is_denied else 'BAD'}_{part.upper()}"]
    return f"the {part} {verb} {'not ' if is_denied else ''}{say.pick(table)}"


def another(say: Dice, options: Sequence, *but: object) -> object:
    """One of the options that are not among `but`."""
    return say.pick([option for option in options if option not in but])


def several(say: Dice, count: int, options: Sequence, *but: object) -> object:
    """`count` different options that are not among `but`; a single one comes alone."""
    chosen = say.several(options, count, but=but)
    return chosen if count > 1 else chosen[0]


FUNCTIONS: dict[str, Callable] = {
    function.__name__: function
    for function in (where, tool, size, calendar, verdicts, judgement, another, several)
} | {
    "a": lambda say, noun: a(str(noun)),
    "another_of": lambda say, what, but: another(say, TABLES[f"{what.upper()}S"], but),
    "groom_of": lambda say, bride, guest: another(
        say, [man for man in TABLES["MEN"] if man.family != bride.family], guest),
    "of_another_job": lambda say, worker: say.pick([p for p in PEOPLE if p.job is not worker.job]),
    "are": lambda say, noun: "are" if noun[-1] == "s" else "is",
    "chance": Dice.chance,
    "shuffled": Dice.shuffled,
}  # fmt: skip
FUNCTIONS |= StoryFile(Path(__file__).with_name("phrases.txt"), TABLES, FUNCTIONS).functions
