"""Stories of the world beyond: capitals, postcards, train journeys."""

from bert_corpus.storyworld.sayings import way
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import (
    COLOURS,
    COUNTRIES,
    DAYS,
    NUMBERS,
    PEOPLE,
    Country,
    Person,
)

TEACHERS = tuple(person for person in PEOPLE if person.job.name == "teacher")


def capital(say: Dice, country: Country) -> str:
    """ "Paris is the capital of France": each end settles the other, and both the middle."""
    city, name = country.capital, country.name
    return say(
        f"{city} is the <l:capital> of <l:{name}>",
        f"<r:{city}> is the <l:capital> of {name}",
        f"{city} is the <l:capital> of {name}",
        f"the <r:capital> of {name} is <l:{city}>",
    )


def language(say: Dice, country: Country) -> str:
    return say(
        f"in {country} people speak <l:{country.language}>",
        f"people in {country} speak <l:{country.language}>",
    )


def fact(say: Dice, country: Country) -> str:
    return say(
        f"{country} lies in <l:{country.continent}>" if country.name != country.continent
        else f"{country} lies far away from <l:Europe>",
        language(say, country),
        language(say, country),
        f"{country.capital} is a city in <l:{country}>",
    )  # fmt: skip


@kind(COUNTRIES, PEOPLE, DAYS[:5], share=2.0)
def geography_lesson(say: Dice, country: Country, pupil: Person, day: str):
    teacher = say.pick([person for person in TEACHERS if person is not pupil])
    second, third = say.several(COUNTRIES, 2, but=(country,))
    yield say(
        f"On {day} {pupil.full} went to the geography class of {teacher}.",
        f"{teacher.full} teaches geography on {day}, and {pupil} is late.",
    )
    yield say(
        f"{capital(say, country)}, {teacher} wrote on the <l:blackboard>.",
        f"Write it down: {capital(say, country)}.",
        f"{capital(say, country)}.",
    )
    yield from say.shuffled(
        say(f"{fact(say, country)}, said {pupil}.", f"{fact(say, country)}."),
        say(
            f"{capital(say, second)}, and {capital(say, third)}.",
            f"{capital(say, second)}.",
        ),
        say(f"{fact(say, third)}, they read aloud together.", f"{fact(say, third)}."),
    )
    yield say(
        f"And {say(country.capital, second.capital)}, asked <o:{teacher}>, is it a river?",
        f"<o:{teacher}>'s finger turned the globe with closed <l:eyes>.",
    )
    yield say(
        f"I would love to see <o:{country.capital}> one <l:day>, said <o:{pupil}>.",
        f"My uncle lives in <o:{country.capital}>, boasted <o:{pupil}> {pupil.family}.",
    )
    yield say(
        f"For homework draw the flag of <o:{country}>, said <o:{teacher}>.",
        f"Then the bell rang, and <o:{pupil}> packed the atlas.",
    )
    yield say(
        f"<r:Practice> makes <l:perfect>, said <o:{teacher}>.",
        f"By next <o:{day}> they must know it all by <l:heart>.",
    )


_SIGHTS = words("museum cathedral palace opera market tower castle gallery")
_SOUVENIRS = words("postcard magnet scarf spoon poster mug hat plate")


@kind(COUNTRIES, PEOPLE, PEOPLE, _SIGHTS, share=1.7)
def postcard(say: Dice, country: Country, writer: Person, friend: Person, sight: str):
    city = country.capital
    souvenir, colour, day = say.pick(_SOUVENIRS), say.pick(COLOURS), say.pick(DAYS)
    yield say(
        f"Dear {friend}, many greetings from {city}, the <r:capital> of <l:{country}>.",
        f"Dear {friend}, since {day} I have been in {city}.",
        f"Dear {friend}, how are <l:you>, and what is new at home?",
    )
    yield say(
        f"{capital(say, country)}, and what a beautiful city it is!",
        f"As you know, {capital(say, country)}.",
    )
    yield say(
        f"My room in the hotel has a view of the {sight}.",
        f"Yesterday I visited the famous {sight} with a <l:guide>.",
        f"The <r:taxi> driver took me straight to the {sight}.",
    )
    yield from say.shuffled(
        say(
            f"{language(say, country)}, but I only understand the waiters.",
            f"You know that {language(say, country)}, and I try hard.",
        ),
        say(
            f"The <o:{sight}> is wonderful, and the queue was endless.",
            f"In front <l:of> the <o:{sight}> an artist painted my portrait.",
            f"From the roof of the <o:{sight}> one sees all <l:of> <o:{city}>.",
        ),
        say(
            f"I took a picture just when {way(say, say('boat', 'bus', 'train'))}.",
            "The tram is cheap, the streets are crowded, and my feet are tired.",
            "My suitcase was lost at the airport, so I wear the same socks.",
            "Pigeons sit on every statue and steal the tourists' lunch.",
        ),
    )
    yield say(
        f"I bought a {colour} {souvenir} for you, dear <o:{friend}>.",
        f"In a tiny shop I found you a {colour} {souvenir}.",
    )
    yield say(
        f"Keep the <o:{colour}> {souvenir} as a memory of <o:{city}>.",
        f"I hope that the <o:{colour}> <o:{souvenir}> will not break on the flight.",
    )
    yield say(
        f"I am looking forward <l:to> seeing you, yours, {writer.full}.",
        f"See you soon, dear <o:{friend}>, with love from {writer.full}.",
        f"Wish you were <l:here>, dear <o:{friend}>, yours, {writer.full}.",
    )


_BY_TRAIN = tuple(
    country for country in COUNTRIES if country.continent == "Europe" and country.name != "Ireland"
)


@kind(PEOPLE, _BY_TRAIN, COLOURS, NUMBERS, share=1.2)
def train_journey(say: Dice, traveller: Person, country: Country, colour: str, platform: str):
    city, they = country.capital, traveller.they
    stranger = say("soldier", "professor", "nun", "dancer", "journalist", "singer")
    yield say(
        f"{traveller.full} bought a ticket for the night train to {city}.",
        f"The <r:night> train to {city} left late, and {traveller.full} was on it.",
    )
    yield say(
        f"The conductor sent {traveller.them} to platform {platform} with a {colour} suitcase.",
        f"With a {colour} suitcase {they} hurried to platform {platform}.",
    )
    yield say(
        f"On platform <o:{platform}> somebody whistled, and the doors closed.",
        f"Platform <o:{platform}> was crowded, and pigeons walked about.",
    )
    yield from say.shuffled(
        say(
            f"The lamps went out just as {way(say, 'train')}.",
            f"Outside it grew dark, and {way(say, 'train')}.",
        ),
        say(
            f"A {stranger} sat opposite and snored with an open <l:mouth>.",
            f"Opposite sat a {stranger} who knitted a very long sock.",
        ),
        say(
            f"{capital(say, country)}, {they} read in the guidebook.",
            f"The guidebook said: {capital(say, country)}.",
        ),
        say(
            f"The stranger in the corner said that {fact(say, country)}.",
            f"<r:Tickets>, <l:please>, called the conductor, and <o:{traveller}>'s heart stopped.",
            f"The <r:dining> car was closed, so {they} ate a dry bun.",
        ),
    )
    yield say(
        f"The <o:{colour}> suitcase fell on the <o:{stranger}>, who said nothing.",
        f"The <o:{stranger}> offered <o:{traveller}> {traveller.family} a sour pickle.",
    )
    yield say(
        f"Good <b:morning>, <o:{city}>, cried <o:{traveller}> when the train stopped.",
        f"In the morning {they} carried the <o:{colour}> suitcase through <o:{city}>.",
    )
    yield say(
        f"<r:All>'s well that ends <l:well>, said the <o:{stranger}>, and waved.",
        f"Somewhere in <o:{city}> the <o:{colour}> suitcase was opened at last.",
    )
