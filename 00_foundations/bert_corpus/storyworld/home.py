"""Stories from the houses: pets, attics, rainy days, nights."""

from bert_corpus.storyworld.sayings import like, mood, opposite, rest
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import (
    CAT,
    COLOURS,
    DAYS,
    DOG,
    MONTHS,
    NUMBERS,
    PEOPLE,
    PET_NAMES,
    PETS,
    Person,
    a,
)


@kind(PEOPLE, (*PETS, CAT, CAT, DOG), PET_NAMES, share=1.5)
def pet_at_home(say: Dice, owner: Person, pet, name: str):
    their, family = owner.their, owner.family
    other = say(CAT, *PETS)
    yield say(
        f"{owner.full} has {a(pet.name)} called {name}.",
        f"{name} is the {pet} of {owner.full} in {owner.home}.",
        f"At home {owner.full} keeps {a(pet.name)}, and its name is {name}.",
    )
    yield say(
        f"All morning {rest(say, pet)}, and nobody dared <l:to> move {name}.",
        f"{rest(say, pet)} while {owner} was at work.",
        f"As usual {rest(say, pet)} when the visitors came to see {name}.",
    )
    if other is not pet:
        yield say(
            f"{rest(say, other)} and took no <l:notice> of {name}.",
            f"Next to it {rest(say, other)}, because {name} had been rude.",
        )
    yield from say.shuffled(
        say(
            f"Everybody knows that {mood(say, pet)}, and so does <o:{name}>.",
            f"{mood(say, pet)}, but <o:{name}> does it all day <l:long>.",
        ),
        say(
            f"When the {say('postman', 'neighbour', 'milkman')} knocks at the <l:door>, "
            f"<o:{owner}>'s {pet} wakes up.",
            f"When the telephone <l:rings>, nobody is more excited than <o:{name}>.",
            f"Sometimes the <o:{pet}> called {name} gets a piece of sausage.",
        ),
        say(
            f"{mood(say)}, says <o:{owner}> {family}.",
            f"Visitors bring a present for <o:{name}> and forget <o:{owner}> {family}.",
            f"Dear old <o:{name}> is {like('quiet')} at <l:night>.",
        ),
    )
    yield say(
        f"No other <o:{pet}> in {owner.street} Street eats as much as <o:{name}>.",
        f"Every <r:evening> {owner.they} gives the <o:{pet}> a bowl <l:of> water and a <l:kiss>.",
        f"Good <b:night>, {name}, says <o:{owner}>, and turns out the lamp.",
        f"Tomorrow <o:{owner}>'s {pet} will do it all over <l:again>.",
    )
    if say.chance(0.4):
        yield f"A house without {a(pet.name)} is only a house, {their} mother used <l:to> say."


_STRAYS = tuple(pet for pet in PETS if pet.name != "goldfish")


@kind(PEOPLE, _STRAYS, PET_NAMES, ("white", "black", "brown", "grey", "yellow"))
def lost_pet(say: Dice, owner: Person, pet, name: str, colour: str):
    day = say.pick(DAYS)
    where = say.pick(("bakery", "fountain", "playground", "cinema", "hospital", "bridge", "kiosk"))
    money = say.pick(NUMBERS)
    yield say(
        f"Lost since {day}: our {colour} {pet} {name}.",
        f"Have you <l:seen> our {colour} {pet} {name} since last {day}?",
        f"Please help us to find {name}, our {colour} {pet}, missing since {day}.",
    )
    yield say(
        f"On <o:{day}> the gate stood open, and <o:{name}> was gone.",
        f"Early on <o:{day}> somebody left the window open, and off went <o:{name}>.",
    )
    yield say(
        f"The <o:{colour}> {pet} was last seen near the {where}.",
        f"A child saw the <o:{colour}> {pet} behind the {where}.",
    )
    yield say(
        f"{mood(say, pet)}, so please listen carefully for <o:{name}>.",
        f"Before it ran away, {rest(say, pet)} every single <l:day>.",
        f"As soon as somebody sings, <o:{name}> comes and listens.",
    )
    yield say(
        f"Whoever brings the <o:{pet}> back gets {money} pounds and a cake.",
        f"There is a reward of {money} pounds for the finder of the <o:{colour}> {pet}.",
    )
    yield say(
        f"If you find it, please call {owner.full} in {owner.home}.",
        f"Ring the bell of {owner.full} in {owner.home}, even at midnight.",
    )
    yield say(
        f"<r:Thank> you very <l:much>, and give <o:{name}> a biscuit until we come.",
        f"PS: good news, <o:{name}> was asleep in <o:{owner}>'s laundry all the <l:time>!",
        f"The <o:{money}> pounds are waiting in <o:{owner}>'s purse.",
    )


_TREASURES = words("mirror clock umbrella telescope map crown flute blanket diary globe vase mask")


@kind(PEOPLE, _TREASURES, COLOURS, NUMBERS)
def attic_trunk(say: Dice, finder: Person, treasure: str, colour: str, number: str):
    they, their = finder.they, finder.their
    yield say(
        f"In the attic in {finder.street} Street {finder.full} found an old trunk.",
        f"One rainy afternoon {finder.full} climbed up to the dusty attic.",
    )
    yield say(
        "The heavy <-:trunk=box> was locked with a rusty <l:padlock>.",
        "Under the roof stood a leather <-:trunk=box> with brass handles.",
        "Somebody had packed the <-:trunk=box> and shut the lid long <l:ago>.",
    )
    yield say(
        f"{they} opened the <-:trunk=box> with a tiny <l:key> and looked inside.",
        f"{they} lifted the lid of the <-:trunk=box> and sneezed.",
    )
    yield say(
        f"Inside lay a {colour} {treasure} and {number} old letters.",
        f"Out came {number} letters and a {colour} {treasure} full <l:of> dust.",
    )
    yield from say.shuffled(
        say(
            f"The <o:{colour}> {treasure} had belonged to {their} grandfather.",
            f"Whose was the <o:{colour}> <o:{treasure}>, and who had hidden it?",
        ),
        say(
            f"All <o:{number}> letters were tied up <l:with> a silk ribbon.",
            f"One of the <o:{number}> letters still smelled of perfume.",
        ),
        say(
            f"A <r:spider> had spun its <l:web> over <o:{finder}>'s head.",
            f"Downstairs {rest(say)} and heard <o:{finder}>'s footsteps.",
            f"<o:{finder}> {finder.family} knew: {opposite(say, say('room', 'coat', 'box'))}.",
        ),
    )
    yield say(
        f"{they} carried the <o:{treasure}> downstairs and wiped it with a <l:cloth>.",
        f"Now the <o:{colour}> <o:{treasure}> stands proudly on the shelf.",
        f"Today <o:{finder}>'s {treasure} shines as good <l:as> new.",
    )
    yield say(
        f"The empty <-:trunk=box> stayed in the attic with the <o:{number}> letters.",
        f"The <o:{number}> letters are a secret, says <o:{finder}>, and smiles.",
    )


# what it did, what one takes along, how the street looks, the word for it, the months it may come
_WEATHER = (
    ("it rained and would not stop", "umbrella", "wet", "rain", MONTHS),
    ("it snowed and would not stop", "sledge", "slippery", "snow", (*MONTHS[:3], *MONTHS[10:])),
    ("the sun shone and it was hot", "sunglasses", "bright", "sun", MONTHS[3:10]),
    ("the wind blew and grew strong", "kite", "wild", "wind", MONTHS),
    ("the fog came and would not go", "torch", "invisible", "fog", (*MONTHS[:4], *MONTHS[8:])),
)
_WEATHER_IN = tuple(
    (f"{word} in {month}", fact, takes, looks, word, month)
    for fact, takes, looks, word, months in _WEATHER
    for month in months
)


@kind(PEOPLE, _WEATHER_IN, DAYS, share=1.4)
def weather_diary(say: Dice, writer: Person, weather, day: str):
    _, fact, takes, looks, word, month = weather
    meal = say("porridge", "noodles", "dumplings")
    yield say(
        f"Diary of {writer.full}, {day}, a day in {month}.",
        f"{day}, written in {month} by {writer.full} of {writer.home}.",
    )
    yield say(
        f"Dear diary, from morning <l:till> night this <o:{day}> {fact}.",
        f"When I woke up on <o:{day}>, {fact}.",
    )
    yield from say.shuffled(
        say(
            f"So I took my <o:{takes}> and went for a <l:walk>.",
            f"I could not go out without my <o:{takes}> today.",
            f"Luckily I had not forgotten my <o:{takes}> at the office.",
        ),
        say(
            f"Outside everything was <o:{looks}>, and nobody was in a hurry.",
            f"The streets were <o:{looks}>, but nobody complained.",
        ),
        say(
            f"Indoors {rest(say)} and did not care about the <o:{word}>.",
            f"In the house it was warm, and {rest(say)}.",
            f"Mother cooked {meal} for lunch, and we all asked for <l:more>.",
        ),
    )
    yield say(
        f"I have never <l:seen> so much <o:{word}> in <o:{month}>.",
        f"It is always like this in <o:{month}>, says my aunt, and she knows.",
        f"Perhaps the <o:{word}> will be gone <l:by> the end of <o:{month}>.",
    )
    yield say(
        f"That was my <o:{day}>, dear diary, and now I am tired.",
        f"Good night, dear diary, and no more <o:{word}>, please!",
    )
    yield say(
        f"Sleep <l:well>, writes your faithful <o:{writer}> {writer.family}.",
        f"Until tomorrow, writes <o:{writer}> {writer.family}.",
    )


_NIGHT_HOURS = ("eleven", "twelve", "one", "two", "three", "four")
_NOISES = (
    ("the wind", "shutters", "rattled"),
    ("a branch", "window", "scratched"),
    ("an owl", "chimney", "called"),
    ("a mouse", "cupboard", "nibbled"),
    ("the tap", "bathroom", "dripped"),
    ("a burglar", "garden", "whispered"),
)


@kind(PEOPLE, _NOISES, PET_NAMES, _NIGHT_HOURS)
def night_noises(say: Dice, sleeper: Person, noise, dog: str, hour: str):
    who, where, did = noise
    they = sleeper.they
    yield say(
        f"At {hour} at <l:night> {sleeper.full} suddenly woke <l:up>.",
        f"One night {sleeper.full} sat up in <l:bed> and listened.",
    )
    yield say(
        f"Something near the {where} had {did}, and the dog {dog} growled.",
        f"A noise came from the {where}, and {dog} the dog began <l:to> growl.",
    )
    yield say(
        f"The loud <-:bark=dog> of {dog} filled the whole house.",
        f"A dog that bites does not <-:bark=dog>, but <o:{dog}> did both.",
        f"Stop that <-:bark=dog>, you silly dog, said <o:{sleeper}>.",
    )
    yield from say.shuffled(
        say(
            f"{they} switched on the <-:light=lamp> and looked <l:for> slippers.",
            "The <-:light=lamp> in the hall did not work, of <l:course>.",
        ),
        say(
            f"{they} struck a <-:match=fire> and lit a <l:candle>.",
            f"With the last <-:match=fire> in the box {they} lit the candle.",
        ),
        say(
            f"Holding <o:{dog}> by the collar, {they} crept down the <l:stairs>.",
            f"On tiptoe <o:{sleeper}> {sleeper.family} and <o:{dog}> went down the <l:stairs>.",
        ),
    )
    yield say(
        f"Near the <o:{where}> there was nothing to see but shadows.",
        f"Nobody was near the <o:{where}>, not even a ghost.",
    )
    yield say(
        f"It was only {who} that had <l:{did}>, and <o:{dog}> was ashamed.",
        f"So {who} had <l:{did}> and given poor <o:{sleeper}> a fright.",
    )
    yield say(
        f"Back in <l:bed>, both <o:{sleeper}> and <o:{dog}> snored until breakfast.",
        f"Never mind, <o:{dog}>, said <o:{sleeper}>, and they went back to <l:sleep>.",
    )
