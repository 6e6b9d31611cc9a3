"""Who lives in the town and what is so in the world: the facts every document keeps to."""

from dataclasses import dataclass

from bert_corpus.storyworld.generator import words


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
STREET_NAMES = tuple(STREETS.values())


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


def _people_of(job: str) -> tuple[Person, ...]:
    return tuple(person for person in PEOPLE if person.job.name == job)


TEACHERS, CLERKS, LIBRARIANS = _people_of("teacher"), _people_of("clerk"), _people_of("librarian")
BARBERS, DOCTORS = _people_of("barber"), _people_of("doctor")


@dataclass(frozen=True)
class Country:
    capital: str
    name: str
    language: str
    continent: str

    def __str__(self) -> str:
        return self.name

    @property
    def lies(self) -> str:
        """Where it is; Australia is said to be far from Europe, not to lie in Australia."""
        here = self.name == self.continent
        return "far away from <l:Europe>" if here else f"in <l:{self.continent}>"


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


BY_TRAIN = tuple(
    country for country in COUNTRIES if country.continent == "Europe" and country.name != "Ireland"
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
STRAYS = tuple(pet for pet in PETS if pet.name != "goldfish")
PET_NAMES = words("Biscuit Shadow Lucky Snowy Bella Rex Milo Coco Daisy Felix Fluffy Pip")

COLOURS = words("red blue green yellow white black brown grey pink purple")
DAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = words(
    "January February March April May June July August September October November December"
)
SCHOOL_DAYS, FARM_MONTHS = DAYS[:5], MONTHS[2:10]
NUMBERS = words("two three four five six seven eight nine ten eleven twelve twenty")

DISHES = words("soup pizza salad fish steak curry pasta stew omelette lasagne goulash chicken")
GOOD_FOOD = words("delicious " * 6 + "excellent tasty wonderful great good superb")
BAD_FOOD = words("awful terrible horrible bad tasteless disgusting burnt salty")
GOOD_SERVICE = words("friendly excellent quick wonderful great good polite charming")
BAD_SERVICE = words("terrible terrible slow rude awful horrible bad unfriendly")
COMFORTS = words("room bed garden music pillow view bath fire")
GOOD_COMFORT = words("wonderful great excellent good lovely")
BAD_COMFORT = words("terrible awful horrible bad dreadful")


@dataclass(frozen=True)
class Weather:
    fact: str  # "it rained and would not stop"
    takes: str  # what one takes along
    looks: str  # how the street looks
    word: str
    month: str

    def __str__(self) -> str:
        return f"{self.word} in {self.month}"


WEATHER = tuple(
    Weather(fact, takes, looks, word, month)
    for fact, takes, looks, word, months in (
        ("it rained and would not stop", "umbrella", "wet", "rain", MONTHS),
        ("it snowed and would not stop", "sledge", "slippery", "snow", MONTHS[:3] + MONTHS[10:]),
        ("the sun shone and it was hot", "sunglasses", "bright", "sun", MONTHS[3:10]),
        ("the wind blew and grew strong", "kite", "wild", "wind", MONTHS),
        ("the fog came and would not go", "torch", "invisible", "fog", MONTHS[:4] + MONTHS[8:]),
    )
    for month in months
)


def a(noun: str) -> str:
    """The noun with its article: a cat, an umbrella."""
    return f"an {noun}" if noun[0] in "aeiouAEIOU" else f"a {noun}"


# What the stories may draw from, under the names above.
TABLES = {name: (value,) if isinstance(value, Pet) else value for name, value in globals().items()
          if name.isupper() and isinstance(value, tuple | Pet)}  # fmt: skip
