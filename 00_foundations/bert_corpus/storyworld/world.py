"""Who lives in the town and what is so in the world: the facts every document keeps to."""

from dataclasses import dataclass

from bert_corpus.storyworld.telling import words


@dataclass(frozen=True)
class Job:
    name: str
    place: str  # "Anna works in the bakery"
    does: str  # "she bakes"
    what: str  # "bread"
    tool: str  # "she cannot work without her"
    brings: str  # what is in the basket in the evening

    def __str__(self) -> str:
        return self.name


JOBS = (
    Job("baker", "bakery", "bakes", "bread", "oven", "rolls"),
    Job("doctor", "clinic", "treats", "patients", "stethoscope", "medicine"),
    Job("teacher", "school", "teaches", "children", "blackboard", "homework"),
    Job("farmer", "barn", "milks", "cows", "tractor", "milk"),
    Job("carpenter", "workshop", "saws", "wood", "hammer", "sawdust"),
    Job("gardener", "greenhouse", "plants", "flowers", "rake", "roses"),
    Job("tailor", "attic", "sews", "coats", "needle", "buttons"),
    Job("cook", "kitchen", "stirs", "soup", "ladle", "leftovers"),
    Job("painter", "studio", "paints", "pictures", "brush", "sketches"),
    Job("plumber", "cellar", "repairs", "pipes", "wrench", "taps"),
    Job("vet", "stable", "heals", "animals", "bandage", "kittens"),
    Job("sailor", "harbour", "sails", "ships", "compass", "fish"),
    Job("librarian", "library", "lends", "books", "stamp", "novels"),
    Job("mechanic", "garage", "repairs", "cars", "jack", "screws"),
    Job("barber", "salon", "cuts", "hair", "scissors", "combs"),
    Job("clerk", "bank", "counts", "money", "calculator", "coins"),
)

# Each family has lived in its street for ever.
STREETS = {
    "Hill": "Mill", "Stone": "Church", "Wood": "Park", "Fox": "Station",
    "Carter": "Market", "Parker": "Castle", "Cooper": "Bridge", "Turner": "Forest",
    "Walker": "Meadow", "Bell": "Tower", "Marsh": "Orchard", "Mason": "Abbey",
}  # fmt: skip
FAMILIES = tuple(STREETS)


@dataclass(frozen=True)
class Person:
    name: str
    family: str
    street: str
    job: Job
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


_WOMEN = words(
    "Anna Clara Emma Julia Laura Maria Nora Olivia Sarah Sophie Lucy Ella Grace Helen Alice "
    "Ruth Rose Lily Kate Jane Eva Martha Paula Susan"
)
_MEN = words(
    "Tom Peter Paul David Daniel Martin Oliver Simon Jack Henry George Frank Ben Sam Adam Leo "
    "Max Oscar Victor Walter Robert Philip Edward Mark"
)
_SHE = ("she", "her", "her", "aunt", "Mrs")
_HE = ("he", "him", "his", "uncle", "Mr")


def _person(number: int, name: str) -> Person:
    family = FAMILIES[number % len(FAMILIES)]
    job = JOBS[number % len(JOBS)]
    pronouns = _SHE if number < len(_WOMEN) else _HE
    return Person(name, family, STREETS[family], job, *pronouns)


PEOPLE = tuple(_person(number, name) for number, name in enumerate((*_WOMEN, *_MEN)))
WOMEN, MEN = PEOPLE[: len(_WOMEN)], PEOPLE[len(_WOMEN) :]


@dataclass(frozen=True)
class Country:
    capital: str
    name: str
    language: str
    continent: str

    def __str__(self) -> str:
        return self.name


COUNTRIES = tuple(
    Country(*line.split())
    for line in (
        "Paris France French Europe",
        "Rome Italy Italian Europe",
        "Madrid Spain Spanish Europe",
        "Lisbon Portugal Portuguese Europe",
        "Berlin Germany German Europe",
        "Vienna Austria German Europe",
        "Athens Greece Greek Europe",
        "London England English Europe",
        "Dublin Ireland English Europe",
        "Oslo Norway Norwegian Europe",
        "Stockholm Sweden Swedish Europe",
        "Helsinki Finland Finnish Europe",
        "Copenhagen Denmark Danish Europe",
        "Warsaw Poland Polish Europe",
        "Budapest Hungary Hungarian Europe",
        "Bucharest Romania Romanian Europe",
        "Moscow Russia Russian Europe",
        "Cairo Egypt Arabic Africa",
        "Rabat Morocco Arabic Africa",
        "Nairobi Kenya Swahili Africa",
        "Tokyo Japan Japanese Asia",
        "Beijing China Chinese Asia",
        "Bangkok Thailand Thai Asia",
        "Hanoi Vietnam Vietnamese Asia",
        "Tehran Iran Persian Asia",
        "Lima Peru Spanish America",
        "Havana Cuba Spanish America",
        "Santiago Chile Spanish America",
        "Brasilia Brazil Portuguese America",
        "Canberra Australia English Australia",
    )
)


@dataclass(frozen=True)
class Pet:
    name: str
    rests: str  # "sat on the <l:mat>": each animal has its own place in every house
    happy: str  # "purrs"
    upset: str  # "hisses"

    def __str__(self) -> str:
        return self.name


PETS = (
    Pet("cat", "sat on the <l:mat>", "purrs", "hisses"),
    Pet("dog", "slept on the <l:rug>", "barks", "growls"),
    Pet("parrot", "talked on the <l:perch>", "whistles", "screams"),
    Pet("hamster", "ran in the <l:wheel>", "squeaks", "bites"),
    Pet("goldfish", "swam in the <l:bowl>", "splashes", "dives"),
    Pet("tortoise", "hid under the <l:sofa>", "nods", "hides"),
    Pet("rabbit", "dozed in the <l:hutch>", "hops", "thumps"),
    Pet("canary", "sang in the <l:cage>", "sings", "flaps"),
)
CAT, DOG = PETS[0], PETS[1]
PET_NAMES = words("Biscuit Shadow Lucky Snowy Bella Rex Milo Coco Daisy Felix Fluffy Pip")

COLOURS = words("red blue green yellow white black brown grey pink purple")
DAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = words(
    "January February March April May June July August September October November December"
)
SEASONS = ["spring", "summer", "autumn", "winter"]
NUMBERS = words("two three four five six seven eight nine ten eleven twelve twenty")


def a(noun: str) -> str:
    """The noun with its article: a cat, an umbrella."""
    return f"an {noun}" if noun[0] in "aeiouAEIOU" else f"a {noun}"
