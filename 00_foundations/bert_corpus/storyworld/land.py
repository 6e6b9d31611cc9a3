"""Stories from outside the town: farms and gardens, the river and its birds, forest, barn, zoo."""

from bert_corpus.storyworld.sayings import like, mood, rest, size, tool, way
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import (
    COLOURS,
    DAYS,
    MONTHS,
    NUMBERS,
    PEOPLE,
    PET_NAMES,
    Person,
    a,
)

_CROPS = words("wheat barley corn potatoes beans oats rye beets")
# the animal, its sound, its young, its home, what it gives
_LIVESTOCK = (
    ("cow", "moos", "calf", "barn", "milk"),
    ("sheep", "bleats", "lamb", "fold", "wool"),
    ("hen", "clucks", "chick", "coop", "eggs"),
    ("pig", "grunts", "piglet", "sty", "ham"),
    ("horse", "neighs", "foal", "stable", "rides"),
    ("duck", "quacks", "duckling", "pond", "feathers"),
)
CULTIVATE = (
    "<r:Farmers> cultivate the <l:land> to grow <l:crops>.",
    "<r:Farmers> cultivate the <l:land> to grow <l:crops>, and gardeners water flowers.",
    "All over the world <r:farmers> cultivate the <l:land> to grow <l:crops>.",
)


@kind(PEOPLE, _CROPS, _LIVESTOCK, MONTHS[2:10], share=2.0)
def farm_year(say: Dice, farmer: Person, crop: str, animal, month: str):
    beast, sound, young, home, gives = animal
    they = farmer.they
    yield say(
        f"{farmer.full} spends every {month} on a farm and grows {crop}.",
        f"On the farm of {farmer}'s cousin they grow {crop} until {month}.",
        f"In {month} {farmer.full} helps on a farm with fields of {crop}.",
    )
    yield say(*CULTIVATE, "<r:Gardeners> water the <l:plants> to grow <l:flowers>.")
    yield say(
        f"Heavy horses once pulled the plough, but today <o:{farmer}> drives a <l:tractor>.",
        f"With the tractor <o:{farmer}> {farmer.family} ploughs the field, row by <l:row>.",
    )
    yield say(
        f"There is also a <r:{beast}>, which <l:{sound}> at dawn.",
        f"They also keep a <r:{beast}>, which <l:{sound}> when it sees <o:{farmer}>.",
    )
    are = "are" if crop[-1] == "s" else "is"
    yield from say.shuffled(
        say(
            f"Rain is good for the <o:{crop}>, and hail is bad.",
            f"A <r:scarecrow> keeps the hungry crows away <l:from> the <o:{crop}>.",
            f"Seeds need sun and rain before the <o:{crop}> {are} ripe.",
        ),
        say(
            f"A young {beast} is called a <l:{young}>, {they} tells the children.",
            f"{a(beast)} sleeps in the <l:{home}> and gives us <l:{gives}>.",
        ),
        say(
            f"Everybody can see that {size(say)}, even on a farm.",
            f"In the farmhouse {rest(say)} and dreamed of summer.",
            f"Children on the farm learn that {mood(say)}.",
        ),
    )
    yield say(
        f"At harvest <l:time> the <o:{crop}> {are} brought in on a <l:cart>.",
        f"After the harvest of the <o:{crop}> they dance in the barn.",
    )
    yield say(
        f"The <o:{beast}> gets <o:{crop}> too, says <o:{farmer}>, for it worked hard.",
        f"Farming is like the weather, says <o:{farmer}>, and feeds the <o:{beast}>.",
    )


_VEGETABLES = words("tomatoes peas radishes lettuces pumpkins carrots onions")
_PETALS = words("red white yellow pink purple blue")
_FLOWERS = words("roses tulips lilies daisies violets poppies sunflowers")


@kind(
    PEOPLE, _VEGETABLES, _FLOWERS, ("red", "white", "yellow", "pink", "purple", "blue"), share=1.2
)
def garden(say: Dice, gardener: Person, vegetable: str, flower: str, colour: str):
    pest = say("snails", "caterpillars", "beetles", "rabbits", "slugs")
    yield say(
        f"Behind the house in {gardener.street} Street lies the garden of {gardener}.",
        f"{gardener.full} has a small garden in {gardener.home}.",
    )
    yield say(
        "<r:Gardeners> water the <l:plants> to grow <l:flowers>.",
        "<r:Farmers> cultivate the <l:land> to grow <l:crops>, but gardeners grow flowers.",
        "<r:Gardeners> water the <l:plants> to grow <l:flowers>, and farmers sow wheat.",
    )
    yield say(
        f"On the <r:left> grow {vegetable}, and on the <l:right> {colour} {flower}.",
        f"Between {colour} {flower} <l:and> a hedge there is a bed of {vegetable}.",
    )
    yield from say.shuffled(
        say(
            f"The <o:{colour}> {flower} smell sweet and are loved by bees.",
            f"<r:Bees> and butterflies visit the <o:{colour}> <o:{flower}> all day.",
        ),
        say(
            f"Sadly {pest} love <o:{vegetable}> as much as people do.",
            f"Who ate the <o:{vegetable}>, asks <o:{gardener}>, and suspects the {pest}.",
        ),
        say(
            "A hose, a rake and a wheelbarrow lean against the shed.",
            f"As neighbours say, {tool(say, 'gardener')}.",
            f"Pulling weeds makes the back of <o:{gardener}> {gardener.family} ache.",
        ),
    )
    yield say(
        f"At dusk <o:{gardener}> collects the {pest} and carries them across the road.",
        f"At dusk <o:{gardener}>'s watering can is empty, and the <o:{flower}> drink.",
    )
    yield say(
        f"On Sunday there is a vase of <o:{colour}> <o:{flower}> on the table.",
        f"The first basket of <o:{vegetable}> goes to the neighbours, with <o:{colour}> {flower}.",
    )
    yield say(
        "The grass is always <l:greener> on the other <l:side>, but not here.",
        f"Come and see <o:{gardener}>'s garden, for the gate is never locked.",
    )


_BIRDS = words("swan duck goose gull kingfisher")


@kind(PEOPLE, _BIRDS, MONTHS, COLOURS, share=2.4)
def river_birds(say: Dice, watcher: Person, bird: str, month: str, colour: str):
    they = watcher.they
    yield say(
        f"In {month} {watcher.full} walked down to the river to watch birds.",
        f"{watcher.full} watches the birds at the river every {month}.",
    )
    yield say(
        f"{they} sat down on the grassy <-:bank=river> and opened a {colour} notebook.",
        f"On the muddy <-:bank=river> of the river {they} opened a {colour} notebook.",
    )
    yield say(
        "A grey <r:crane=bird> stood on one <l:leg> among the <l:reeds>.",
        "A tall <-:crane=bird> was standing in the shallow water.",
        "Out of the mist came a <-:crane=bird> with long legs.",
    )
    yield from say.shuffled(
        say(
            "The <-:crane=bird> spread its <l:wings> and flew over the marsh.",
            "With its long beak the <-:crane=bird> caught a little frog.",
            "In its nest of reeds the <-:crane=bird> has two eggs.",
            "Suddenly the <-:crane=bird> danced, bowed and called to its mate.",
        ),
        say(
            f"Near the other <-:bank=river> a {bird} was looking for fish.",
            f"From the far <-:bank=river> {a(bird)} watched the water.",
        ),
        say(
            f"Waves reached the shore when {way(say, say('boat', 'swan'))}.",
            f"A duckling cried, for {way(say, say('swan', 'boat'))}.",
            "The current was strong, and a trout jumped out of the <l:water>.",
        ),
    )
    yield say(
        f"In the <o:{colour}> notebook {they} wrote: one <-:crane=bird>, one <o:{bird}>.",
        f"The <-:crane=bird> and the <o:{bird}> did not look at <o:{watcher}> {watcher.family}.",
    )
    yield say(
        f"{they} left the <-:bank=river> when the sun went <l:down>.",
        f"Be quiet, <o:{watcher}>, said a fisherman on the <-:bank=river>.",
    )
    yield say(
        f"Next <o:{month}> {they} will come back with the <o:{colour}> notebook.",
        f"The <o:{colour}> notebook of <o:{watcher}> is almost full by now.",
    )


@kind(PEOPLE, DAYS, NUMBERS, ("barn", "cave", "church", "castle", "mill", "cellar"))
def bat_night(say: Dice, ranger: Person, day: str, number: str, home: str):
    they = ranger.they
    yield say(
        f"On {day} at dusk {ranger.full} went to the old {home}.",
        f"{ranger.full} spent {day} night in front <l:of> the old {home}.",
    )
    yield say(
        f"In the <o:{home}> live {number} shy little creatures with wings.",
        f"{number} small animals sleep in the <o:{home}> upside <l:down>.",
    )
    yield say(
        "A <-:bat=animal> sleeps all day and wakes up at <l:night>.",
        "A <-:bat=animal> is not a bird, although it can <l:fly>.",
        "The <-:bat=animal> hunts moths and mosquitoes in the <l:dark>.",
    )
    yield from say.shuffled(
        say(
            f"The first <-:bat=animal> flew out of the <o:{home}> at nine o'clock.",
            f"Then a <-:bat=animal> fluttered past the head of <o:{ranger}> {ranger.family}.",
        ),
        say(
            "A <-:bat=animal> finds its way with its ears, not with its <l:eyes>.",
            "The tiny baby <-:bat=animal> hung on to its mother's fur.",
        ),
        say(
            f"The moon and the <l:stars> were bright above the <o:{home}>.",
            f"Nothing disturbed the animals, not even when {way(say, 'train')}.",
        ),
    )
    yield say(
        f"{they} counted them all, and there were still <o:{number}>.",
        f"<o:{number}> and not one more, noted <o:{ranger}>'s pencil.",
    )
    yield say(
        f"Are vampires real, asked a child, and <o:{ranger}> {ranger.family} laughed.",
        f"Before sunrise every <-:bat=animal> was back in the <o:{home}>.",
    )
    yield say(
        f"It was the best <o:{day}> of the year, said <o:{ranger}>.",
        f"So ended this <o:{day}> at the <o:{home}>.",
    )


_TREES = words("oak birch pine maple willow chestnut beech")


@kind(PEOPLE, _TREES, PET_NAMES, DAYS)
def forest_walk(say: Dice, walker: Person, tree: str, dog: str, day: str):
    yield say(
        f"On {day} {walker.full} went for a <l:walk> in the forest with {dog}.",
        f"Every {day} {walker.full} takes the dog {dog} to the forest.",
    )
    yield say(
        f"Under a big {tree} they sat down on the moss to rest.",
        f"The path led to {a(tree)} that was two hundred years <l:old>.",
    )
    yield say(
        f"The <-:bark=tree> of the <o:{tree}> was rough and full <l:of> insects.",
        f"Somebody had carved a heart into the <-:bark=tree> of the <o:{tree}>.",
        "Moss grew on the <-:bark=tree> of the trunk, always on the north side.",
    )
    yield from say.shuffled(
        say(
            "A <r:woodpecker> knocked <l:at> the <-:bark=tree> and found a fat worm.",
            f"A <r:squirrel> ran up the <o:{tree}> and dropped a <l:nut>.",
        ),
        say(
            "Clear cold water bubbled from a <-:spring=water> between the rocks.",
            f"They drank from the <-:spring=water>, and the water was {like('cold')}.",
        ),
        say(
            f"A deer heard <o:{dog}>'s <-:bark=dog> and ran off into the bushes.",
            f"With a happy <-:bark=dog> <o:{dog}> chased a squirrel and lost.",
        ),
    )
    yield say(
        "They found mushrooms, berries and a feather of an owl.",
        f"Leaves fell on <o:{dog}>'s nose, and <o:{walker}> {walker.family} laughed.",
        f"They met a hunter who said that {size(say)}.",
    )
    yield say(
        f"Before they went home, <o:{walker}> hugged the old <o:{tree}>.",
        f"Goodbye, old <o:{tree}>, said <o:{walker}>, and <o:{dog}> wagged its <l:tail>.",
    )
    yield say(
        f"It got dark, but <o:{dog}> knew the way <l:home>.",
        f"Next <o:{day}> they will come again, and so will the rain.",
    )


# the visitor sees an animal: where it is from, what it does, what it eats
_ZOO = (
    ("lion", "roars", "meat"), ("monkey", "climbs", "bananas"), ("bear", "dances", "honey"),
    ("penguin", "waddles", "herring"), ("giraffe", "stares", "leaves"),
    ("camel", "spits", "straw"), ("tiger", "hunts", "meat"), ("zebra", "gallops", "grass"),
    ("kangaroo", "boxes", "grass"), ("crocodile", "yawns", "chicken"),
)  # fmt: skip


@kind(PEOPLE, _ZOO, DAYS, PET_NAMES, share=1.5)
def zoo_visit(say: Dice, visitor: Person, animal, day: str, name: str):
    beast, does, eats = animal
    child = say("nephew", "niece", "son", "daughter", "grandson")
    yield say(
        f"On {day} {visitor.full} took {visitor.their} {child} to the zoo.",
        f"{visitor.full} and {visitor.their} little {child} spent {day} at the zoo.",
    )
    yield say(
        "The <r:elephant> lifted its <-:trunk=elephant> and sprayed the visitors.",
        f"With its <-:trunk=elephant> the <r:elephant> took a peanut from the {child}.",
        f"Why has the elephant such a long <l:trunk=elephant>, asked the {child}.",
    )
    yield say(
        "A sleek <-:seal=animal> balanced a ball on its <l:nose>.",
        "In the pool a <-:seal=animal> clapped its flippers and begged for <l:fish>.",
        "The keeper threw a herring to the <-:seal=animal> in the pool.",
    )
    yield say(
        f"Next door lives a <r:{beast}> called {name}, which <l:{does}> all day.",
        f"But best of all was {name}, a <r:{beast}> that <l:{does}> at children.",
    )
    yield from say.shuffled(
        say(
            f"What does <o:{name}> eat, asked the {child}, and the keeper said {eats}.",
            f"The <o:{beast}> {name} was given <l:{eats}> for lunch.",
        ),
        say(
            "Please do not feed the <l:animals>, said a big sign.",
            f"Did you know that {size(say)}, asked the keeper.",
        ),
    )
    yield say(
        f"The <o:{child}> cried when it was time to leave <o:{name}>.",
        f"May we take <o:{name}> home, begged the <o:{child}>, please?",
    )
    yield say(
        f"Our flat is too small <l:for> {a(beast)}, said <o:{visitor}>.",
        f"So <o:{visitor}> {visitor.family} bought a toy <o:{beast}> instead.",
    )
    yield say(
        f"Since that <o:{day}> the <o:{child}> wants to be a keeper.",
        f"It was a long <o:{day}>, and the <o:{child}> fell <l:asleep> on the bus.",
    )
