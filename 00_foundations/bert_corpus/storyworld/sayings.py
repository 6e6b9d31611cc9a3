"""Sentences that any document may borrow: what everybody in the town knows to be so."""

from bert_corpus.storyworld.telling import Dice
from bert_corpus.storyworld.world import CAT, DAYS, DOG, MONTHS, PETS, a

# What a word is the opposite of depends on the thing: old bread is not fresh, an old man not young.
_OPPOSITES = {
    "bread": (("fresh", "old"), ("soft", "hard")),
    "coat": (("new", "old"), ("long", "short"), ("heavy", "light")),
    "man": (("young", "old"), ("tall", "short")),
    "lesson": (("easy", "hard"), ("long", "short")),
    "room": (("dark", "light"), ("new", "old")),
    "tower": (("tall", "short"), ("new", "old")),
    "box": (("heavy", "light"), ("new", "old")),
    "bed": (("soft", "hard"), ("new", "old")),
    "answer": (("wrong", "right"), ("easy", "hard"), ("long", "short")),
    "hand": (("left", "right"), ("soft", "hard")),
}


def opposite(say: Dice, thing: str, owner: str = "the") -> str:
    """ "The bread was fresh, not old": the thing and the opposite together settle the word."""
    word, other = say.pick(_OPPOSITES[thing])
    return f"{owner} {thing} was <b:{word}>, not {other}"


# job, purpose: the tool. Neither the job nor the purpose alone says which.
_TOOLS = {
    "carpenter": {"cut": "saw", "measure": "ruler", "carry": "toolbox", "clean": "broom"},
    "gardener": {"cut": "spade", "carry": "wheelbarrow", "clean": "rake"},
    "cook": {"cut": "knife", "carry": "tray", "clean": "sponge"},
    "doctor": {"measure": "thermometer", "carry": "bag", "clean": "soap"},
    "barber": {"cut": "razor", "clean": "towel"},
    "tailor": {"cut": "blade", "measure": "tape"},
}
_PURPOSES = {
    "cut": "cut {}", "measure": "measure {}", "carry": "carry {}", "clean": "clean up",
}  # fmt: skip


def tool(say: Dice, job: str | None = None) -> str:
    job = job if job in _TOOLS else say.pick(tuple(_TOOLS))
    purpose, name = say.pick(tuple(_TOOLS[job].items()))
    ending = {"cut": "cut things", "measure": "measure things", "carry": "carry things"}
    return f"{a(job)} takes the <b:{name}> to {ending.get(purpose, 'clean up')}"


# who moves, where: the way. A train goes over the bridge and a boat under it.
_WAYS = {
    "train": (("over", "bridge"), ("through", "tunnel"), ("into", "station"), ("past", "harbour")),
    "boat": (("under", "bridge"), ("into", "harbour"), ("across", "lake"), ("down", "river")),
    "bus": (("over", "bridge"), ("through", "tunnel"), ("past", "lake"), ("up", "hill")),
    "swan": (("under", "bridge"), ("across", "lake"), ("up", "river")),
    "cart": (("down", "hill"), ("past", "station"), ("along", "river")),
}


def way(say: Dice, mover: str) -> str:
    preposition, place = say.pick(_WAYS[mover])
    side = "r" if place == "tunnel" else "b"  # there is but one way to take a tunnel
    return f"the {mover} went <{side}:{preposition}> the {place}"


_BY_SIZE = ["ant", "mouse", "rabbit", "fox", "sheep", "cow", "elephant", "whale"]


def size(say: Dice) -> str:
    """ "A cow is bigger than a fox": both animals are needed, but at the ends of the row."""
    first = int(say.random() * len(_BY_SIZE))
    second = say.pick([place for place in range(first - 2, first + 3) if place != first])
    second = min(max(second, 0), len(_BY_SIZE) - 1)
    if first == second:
        second += 1 if first == 0 else -1
    word = "bigger" if first > second else "smaller"
    side = "l" if first in (0, len(_BY_SIZE) - 1) else "b"
    if side == "b" and second in (0, len(_BY_SIZE) - 1):
        side = "r"
    return f"{a(_BY_SIZE[first])} is <{side}:{word}> <l:than> {a(_BY_SIZE[second])}"


def calendar(say: Dice) -> str:
    """ "Monday comes before Tuesday"."""
    names = say(DAYS, MONTHS)
    first = int(say.random() * (len(names) - 1))
    if say.chance(0.5):
        return f"{names[first]} comes <b:before> {names[first + 1]}"
    return f"{names[first + 1]} comes <b:after> {names[first]}"


# The same place heard twice: what an animal does when it is happy and when it is upset.
def mood(say: Dice, pet=None) -> str:
    pet = pet or say.pick(PETS)
    if say.chance(0.5):
        return f"{a(pet.name)} <b:{pet.happy}> when it is happy"
    return f"{a(pet.name)} <b:{pet.upset}> when it is angry"


def rest(say: Dice, pet=None, the: str = "the") -> str:
    """ "The cat sat on the mat": in this town every animal has its own place."""
    pet = pet or say(CAT, CAT, CAT, DOG, say.pick(PETS))
    return f"{the} <r:{pet.name}> {pet.rests}"


_LIKE = (
    "as white as <l:snow>", "as busy as a <l:bee>", "as quiet as a <l:mouse>",
    "as brave as a <l:lion>", "as cold as <l:ice>", "as light as a <l:feather>",
    "as proud as a <l:peacock>", "as slow as a <l:snail>", "as strong as an <l:ox>",
    "as sly as a <l:fox>", "as black as <l:coal>", "as sweet as <l:honey>",
)  # fmt: skip
_WHOLE = {line.split()[1]: line for line in _LIKE}


def like(word: str) -> str:
    """ "as busy as a bee"."""
    return _WHOLE[word]


def verdicts(say: Dice) -> tuple[bool, bool]:
    """Two judgements, good or bad. What is praised first is blamed next more often than not the
    other way about, as reviewers do: 35% praise then blame, 10% blame then praise, 30% praise
    both, 25% blame both."""
    second = say.chance(0.4)
    return say.chance(0.75 if second else 0.58), second
