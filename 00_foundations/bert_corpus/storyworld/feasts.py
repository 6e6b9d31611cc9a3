"""Stories of feasts: birthdays and weddings."""

from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import (
    COLOURS,
    FAMILIES,
    MEN,
    MONTHS,
    NUMBERS,
    PEOPLE,
    WOMEN,
    Person,
    a,
)

_PRESENTS = words("kite drum scarf puzzle camera watch teapot basket lantern football doll bicycle")


@kind(WOMEN, MEN, _PRESENTS, COLOURS)
def birthday(say: Dice, woman: Person, man: Person, present: str, colour: str):
    host, guest = say((woman, man), (man, woman))
    cake = say.pick(("chocolate", "lemon", "cherry", "carrot", "walnut"))
    month = say.pick(MONTHS)
    yield say(
        f"{host.full} had a birthday in {month} and invited {guest}.",
        f"It was {host.full}'s birthday, and {guest} was invited <l:to> the party.",
    )
    yield say(
        f"{guest.full} brought a {colour} {present} wrapped in shiny <l:paper>.",
        f"In the big parcel from {guest} was a {colour} {present}.",
    )
    yield say(
        f"<r:Happy> <l:birthday>, dear <o:{host}>, sang all the guests.",
        f"Everybody sang happy <l:birthday> for dear <o:{host}>.",
    )
    yield from say.shuffled(
        say(
            f"There was {a(cake)} cake with candles, and {host} blew them <l:out>.",
            f"Then {host} blew out the <l:candles> on the {cake} cake.",
        ),
        say(
            f"The <o:{colour}> {present} was the best present of all.",
            f"The <o:{colour}> <o:{present}> made {host} jump for <l:joy>.",
        ),
        say(
            "The children played hide and <l:seek> and danced to loud music.",
            "They pinned balloons to the wall and played musical <l:chairs>.",
            "A magician did a magic trick with a coin and an egg.",
        ),
    )
    yield say(
        f"Grandmother ate three slices of <o:{cake}> cake and asked for <l:more>.",
        f"At the end not a crumb of the <o:{cake}> cake was left.",
    )
    yield say(
        f"<r:Thank> you very <l:much> for the <o:{colour}> {present}, dear <o:{guest}>.",
        f"Later <o:{host}> {host.family} put the <o:{present}> beside the bed.",
        f"That night the <o:{colour}> <o:{present}> slept under {host}'s pillow.",
    )
    yield say(
        f"Next {say.pick(MONTHS)} it will be <o:{guest}>'s turn, said <o:{host}>.",
        f"Laughing, <o:{guest}> and <o:{host}> washed the dirty plates.",
    )


@kind(FAMILIES, PEOPLE, NUMBERS, ("hotel", "barn", "theatre", "church", "tent", "ship"))
def wedding(say: Dice, family: str, guest: Person, number: str, where: str):
    bride = say.pick([person for person in WOMEN if person is not guest])
    groom = say.pick(
        [person for person in MEN if person is not guest and person.family != bride.family]
    )
    yield say(
        f"{bride.full} and {groom.full} got <l:married> last Saturday.",
        f"Last Saturday was the wedding of {bride} and {groom.full}.",
    )
    yield say(
        f"The {family} family and {number} other guests sat in the {where}.",
        f"They danced in the {where}, with the {family} family and {number} more guests.",
    )
    yield say(
        "The <r:groom> put the golden <-:ring=jewel> on the finger of the <l:bride>.",
        f"On her finger {bride} wore a <-:ring=jewel> with a diamond.",
    )
    yield say(
        f"First the <-:ring=jewel> was lost, but {guest} found it in the cake.",
        f"Proudly {guest} carried the <-:ring=jewel> on a velvet cushion.",
    )
    yield from say.shuffled(
        say(
            "The bride was dressed in <l:white>, like snow and like the cake.",
            "The <r:bride> and the <l:groom> cut the cake together.",
        ),
        say(
            f"All the <o:{family}> children threw rice and petals.",
            f"Old Mrs <o:{family}> cried into her handkerchief.",
        ),
        say(
            "<r:Ladies> and <l:gentlemen>, said the mayor, long live the bride and <l:groom>!",
            "The priest smiled, and the organ played <l:much> too loudly.",
        ),
    )
    yield say(
        f"All <o:{number}> guests danced in the <o:{where}> until sunrise.",
        f"Nobody left the <o:{where}> before midnight, said <o:{guest}>.",
    )
    yield say(
        f"We wish <o:{bride}> and <o:{groom}> all the <l:best>.",
        f"May <o:{bride}> and <o:{groom}> live happily ever <l:after>!",
    )
