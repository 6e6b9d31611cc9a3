"""Who lives in the town and what is so in the world: `world.txt`, and what follows from it."""

from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from bert_corpus.storyworld.grammar import StoryFile

FACTS = Path(__file__).with_name("world.txt")
TABLES = StoryFile(FACTS, {}, {}).tables  # what the stories may draw from

COUNTRIES, JOBS, PETS = TABLES["COUNTRIES"], TABLES["JOBS"], TABLES["PETS"]
COLOURS, DAYS, MONTHS, NUMBERS = (TABLES[n] for n in ("COLOURS", "DAYS", "MONTHS", "NUMBERS"))
DISHES, GOOD_FOOD, BAD_FOOD = TABLES["DISHES"], TABLES["GOOD_FOOD"], TABLES["BAD_FOOD"]
GOOD_SERVICE, BAD_SERVICE = TABLES["GOOD_SERVICE"], TABLES["BAD_SERVICE"]
FAMILIES = tuple(home.family for home in TABLES["HOMES"])


@dataclass(frozen=True)
class Person:
    name: str
    family: str
    street: str
    job: Any  # a row of JOBS
    they: str  # she, he
    them: str  # her, him
    their: str  # her, his
    kin: str  # aunt, uncle
    title: str  # Mrs, Mr

    def __str__(self) -> str:
        return self.name

    @property
    def full(self) -> str:
        """First and family name; the first settles the second."""
        return f"{self.name} <l:{self.family}>"

    @property
    def home(self) -> str:
        """The street, settled by the full name on its left."""
        return f"<l:{self.street}> Street"


_WORDS = {
    "WOMENS_NAMES": ("she", "her", "her", "aunt", "Mrs"),
    "MENS_NAMES": ("he", "him", "his", "uncle", "Mr"),
}
_NAMED = [(name, words) for table, words in _WORDS.items() for name in TABLES[table]]
PEOPLE = tuple(
    Person(name, *home, job, *words)
    for (name, words), home, job in zip(_NAMED, cycle(TABLES["HOMES"]), cycle(JOBS))
)


@dataclass(frozen=True)
class Weather:
    """A row of WEATHERS in one of its months."""

    word: str
    fact: str
    takes: str
    looks: str
    month: str

    def __str__(self) -> str:
        return f"{self.word} in {self.month}"


WEATHER = tuple(Weather(*row[:4], month) for row in TABLES["WEATHERS"] for month in row.months)

TABLES |= {
    "PEOPLE": PEOPLE,
    "WOMEN": tuple(person for person in PEOPLE if person.they == "she"),
    "MEN": tuple(person for person in PEOPLE if person.they == "he"),
    **{f"{job.name.upper()}S": tuple(person for person in PEOPLE if person.job is job)
       for job in JOBS},
    "FAMILIES": FAMILIES,
    "STREET_NAMES": tuple(home.street for home in TABLES["HOMES"]),
    "BY_TRAIN": tuple(country for country in COUNTRIES
                      if country.continent == "Europe" and country.name != "Ireland"),
    "CAT": PETS[:1],
    "DOG": PETS[1:2],
    "STRAYS": tuple(pet for pet in PETS if pet.name != "goldfish"),
    "SCHOOL_DAYS": DAYS[:5],
    "FARM_MONTHS": MONTHS[2:10],
    "WEATHER": WEATHER,
}  # fmt: skip


def a(noun: str) -> str:
    """The noun with its article: a cat, an umbrella."""
    return f"an {noun}" if noun[0] in "aeiouAEIOU" else f"a {noun}"
