"""Stories of school and free time: lessons, matches, concerts, films, telephone calls."""

from bert_corpus.storyworld.sayings import calendar, like, mood, opposite, rest, size, verdicts
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import (
    COLOURS,
    DAYS,
    MONTHS,
    NUMBERS,
    PEOPLE,
    SEASONS,
    STREETS,
    Person,
    a,
)

TEACHERS = tuple(person for person in PEOPLE if person.job.name == "teacher")
_SUBJECTS = words("history chemistry biology physics music drawing poetry grammar")


@kind(TEACHERS, PEOPLE, _SUBJECTS, DAYS[:5], share=1.3)
def school_day(say: Dice, teacher: Person, pupil: Person, subject: str, day: str):
    their = pupil.their
    excuse = say("the cat", "a goat", "my brother", "the rain", "a ghost")
    yield say(
        f"On {day} the evening class was {subject} with {teacher.full}.",
        f"{teacher.full} teaches {subject} at the evening school every {day}.",
    )
    yield say(
        f"Good evening, everybody, said <o:{teacher}>, and opened a window.",
        f"The <r:bell> rang, and <o:{teacher}>'s chalk wrote on the <l:blackboard>.",
    )
    yield from say.shuffled(
        say(f"First they repeated that {calendar(say)}.", f"Everybody said: {calendar(say)}."),
        say(
            f"In the book it says that {size(say)}.",
            f"Then a girl explained why {size(say)}.",
        ),
        say(
            f"{pupil.full} came late and had forgotten {their} pencil.",
            f"In the last row {pupil.full} was drawing a submarine.",
        ),
        say(
            f"It was an exam, and {opposite(say, say('lesson', 'answer'))}.",
            f"The exam had forty questions, and {opposite(say, 'answer')}.",
        ),
    )
    yield say(
        f"{excuse} ate my <o:{subject}> homework, said <o:{pupil}>.",
        f"Where is your <o:{subject}> homework, asked <o:{teacher}> in a low <l:voice>.",
    )
    yield say(
        f"It is never too late <l:to> learn <o:{subject}>, said <o:{teacher}>.",
        f"You will get a better mark in <o:{subject}> if you try, said <o:{teacher}>.",
    )
    yield say(
        f"At break <o:{pupil}>'s friends played with marbles and a rope.",
        f"After school <o:{pupil}> {pupil.family} ran home with a heavy satchel.",
    )


_SPORTS = (
    ("football", "goals", "boots"), ("hockey", "goals", "skates"), ("tennis", "sets", "rackets"),
    ("cricket", "runs", "bat"), ("baseball", "runs", "bat"), ("cricket", "runs", "bat"),
)  # fmt: skip


@kind(PEOPLE, tuple(STREETS.values()), _SPORTS, COLOURS, share=1.4)
def sports_match(say: Dice, player: Person, team: str, sport, colour: str):
    game, points, gear = sport
    they = player.they
    score, day = say.pick(NUMBERS), say.pick(DAYS)
    yield say(
        f"The {game} <-:match=game> on {day} was won by {team} Street.",
        f"On {day} {team} Street played a {game} <-:match=game>.",
    )
    yield say(
        f"{player.full} wore a {colour} shirt and scored {score} {points}.",
        f"In a {colour} shirt {player.full} scored {score} {points}.",
    )
    if gear == "bat":
        yield say(
            f"{they} swung the <-:bat=sport> and hit the ball over the fence.",
            f"With a new wooden <-:bat=sport> {they} hit the <l:ball>.",
            "The <-:bat=sport> broke, but the ball flew into the crowd.",
        )
        yield say(
            f"Then {they} dropped the <-:bat=sport> and ran as fast as the <l:wind>.",
            "A player needs a <-:bat=sport>, a helmet and strong nerves.",
        )
    else:
        yield say(
            f"{they} polished the {gear} before the <-:match=game> and stretched.",
            f"Without good {gear} nobody wins a <-:match=game>, said the coach.",
        )
    yield from say.shuffled(
        say(
            "The <r:referee> blew the <l:whistle>, and the <-:match=game> was over.",
            "The <r:captain> and the goalkeeper argued with the referee.",
        ),
        say(
            f"The crowd in the stadium cheered for <o:{team}> Street.",
            f"Fans of <o:{team}> Street waved flags and threw their hats.",
        ),
    )
    yield say(
        f"It was the <o:{colour}> shirt that brought luck, said <o:{player}>.",
        f"After the <-:match=game> the <o:{colour}> shirt was full <l:of> mud.",
    )
    yield say(
        f"<o:{score}> {points} in one <-:match=game> is a record, said the coach.",
        f"The coach counted again, and there were really <o:{score}> <o:{points}>.",
    )
    yield say(
        f"The winners got a silver cup, and <o:{player}> {player.family} kissed it.",
        f"Three cheers for <o:{team}> Street, hip hip <l:hooray>!",
        f"Next <o:{day}> the losers want revenge on <o:{team}> Street.",
    )


_INSTRUMENTS = words("piano violin flute guitar trumpet cello drum harp clarinet organ")
_PIECES = words("waltz march lullaby sonata hymn tango ballad serenade")


@kind(PEOPLE, _INSTRUMENTS, _PIECES, DAYS, share=1.3)
def concert(say: Dice, player: Person, instrument: str, piece: str, day: str):
    place = say("town hall", "church", "theatre", "park", "museum")
    yield say(
        f"On {day} {player.full} played the {instrument} in the {place}.",
        f"{player.full} gave a concert on {day} and played the {instrument}.",
    )
    yield say(
        f"First came a slow {piece}, and the audience listened <l:to> every <l:note>.",
        f"It began with a {piece}, and you could hear a pin <l:drop>.",
    )
    yield from say.shuffled(
        say(
            f"The <o:{instrument}> sounded soft, then wild, then sad.",
            f"The <o:{instrument}> is old and belonged to a famous composer.",
        ),
        say(
            f"In the <o:{piece}> the melody goes up and <l:down> like a swing.",
            f"Halfway through the <o:{piece}> a telephone rang in row two.",
        ),
        say(
            "A spotlight threw a warm <-:light=lamp> on the stage.",
            "The choir sang along, led by a conductor with wild hair.",
        ),
    )
    yield say(
        f"When the <o:{piece}> was over, everybody clapped their <l:hands>.",
        f"Bravo, shouted the audience after the <o:{piece}>, and threw <l:flowers>.",
    )
    yield say(
        f"How long have you played the <o:{instrument}>, asked a reporter.",
        f"At home <o:{player}>'s neighbours hear the <o:{instrument}> every night.",
    )
    yield say(
        f"Since I was a child, said <o:{player}>, and bowed.",
        f"<r:Practice> makes <l:perfect>, said <o:{player}>, and packed the <o:{instrument}>.",
        f"Without music there is no <l:life>, answered <o:{player}> {player.family}.",
    )
    yield say(
        f"Next <o:{day}> <o:{player}>'s concert will be on the <l:radio>.",
        f"That <o:{day}> nobody wanted <l:to> go home.",
    )


_HEROES = words("spy cowboy pilot astronaut gangster vampire boxer nurse thief judge")
_GENRES = words("comedy western thriller romance cartoon musical drama")


@kind(PEOPLE, _HEROES, _GENRES, NUMBERS, share=1.2)
def film_review(say: Dice, critic: Person, hero: str, genre: str, days: str):
    good_story, good_actors = verdicts(say)
    plot = say("exciting", "clever", "funny") if good_story else say("boring", "stupid", "silly")
    acting = (
        say("brilliant", "superb", "splendid") if good_actors else say("wooden", "dreadful", "poor")
    )
    joint = "and" if good_story == good_actors else "but"
    yield say(
        f"{critic.full} went to the cinema to see a new {genre}.",
        f"Our critic {critic.full} has seen the new {genre}.",
    )
    yield say(
        f"It is about {a(hero)} who falls in <l:love> with a dentist.",
        f"In it {a(hero)} must save the world in {days} days.",
        f"The film tells the life of {a(hero)} with a secret.",
    )
    yield say(
        f"The story was {plot}, <b:{joint}> the actors were {acting}.",
        f"In this <o:{genre}> the story was {plot}, <b:{joint}> the actors were {acting}.",
    )
    yield from say.shuffled(
        say(
            f"In one scene the <o:{hero}> jumps from a helicopter.",
            f"In the final scene the <o:{hero}> weeps in the rain.",
        ),
        say(
            "The popcorn was sweet, and the seats were made <l:of> velvet.",
            f"Behind <o:{critic}> somebody explained every joke to a deaf uncle.",
        ),
        say(
            f"The music of this <o:{genre}> goes straight to the <l:heart>.",
            f"The camera hardly leaves the <o:{hero}>'s face.",
        ),
    )
    yield say(
        f"When the <o:{genre}> was over, the <-:light=lamp> in the hall went <l:on>.",
        f"At last the curtain fell, and <o:{critic}> {critic.family} stood <l:up>.",
    )
    if good_story and good_actors:
        yield f"Do not miss this <o:{genre}>, writes <o:{critic}>: five out <l:of> five stars."
    elif good_story or good_actors:
        yield f"A <o:{genre}> for a rainy <l:evening>, writes <o:{critic}>: three stars."
    else:
        yield f"Stay at <l:home>, writes <o:{critic}>: no <o:{genre}> was ever worse."


_LIGHT_AS = ("suitcase", "parcel", "backpack", "sofa", "wardrobe", "carpet", "fridge")


@kind(PEOPLE, PEOPLE, _LIGHT_AS, COLOURS)
def moving_house(say: Dice, mover: Person, helper: Person, load: str, colour: str):
    floor = say("second", "third", "fourth", "fifth", "top")
    month = say.pick(MONTHS)
    yield say(
        f"In {month} {mover.full} moved to a flat on the {floor} floor.",
        f"{mover.full} has a new flat on the {floor} floor since {month}.",
    )
    yield say(
        f"{helper.full} helped to carry the {colour} {load} upstairs.",
        f"A {colour} {load} had to be carried up by {helper.full}.",
    )
    yield say(
        f"It is quite <-:light=weight>, said <o:{helper}>, and lifted the <o:{load}>.",
        f"Is the <o:{load}> heavy or <-:light=weight>, asked <o:{helper}>.",
        f"The <o:{colour}> {load} is {like('light').replace('light', '<-:light=weight>', 1)}.",
    )
    yield from say.shuffled(
        say(
            f"There was no lift, and the <o:{floor}> floor was far.",
            f"The <o:{floor}> floor has a balcony and a view of the chimneys.",
        ),
        say(
            "One room has a lot <l:of> <-:light=lamp> and a marble sink.",
            "At night the <-:light=lamp> of the street shines into the flat.",
        ),
        say(
            f"Among the boxes {rest(say)}, as if nothing had happened.",
            "They unpacked pots, pillows, photographs and a stuffed owl.",
            "Below lives a drummer, and above lives a family with triplets.",
        ),
    )
    yield say(
        f"Where shall we put the <o:{colour}> <o:{load}>, asked <o:{helper}>.",
        f"Mind the <o:{load}>, cried <o:{mover}> {mover.family}, it was expensive!",
    )
    yield say(
        f"In the evening they ate pizza on the floor beside the <o:{colour}> <o:{load}>.",
        f"Many <r:hands> make <l:light> work, said <o:{helper}>, and fell on the <l:bed>.",
    )
    yield say(
        f"<r:Home> sweet <l:home>, sighed <o:{mover}>, and looked for the kettle.",
        f"It was the warmest <o:{month}> in years, and both of them felt it.",
    )


_SPRING = {
    "spring": ("blossoms", "swallows return", "the snow melts"),
    "summer": ("cherries", "children swim", "the days are long"),
    "autumn": ("chestnuts", "leaves turn yellow", "geese fly south"),
    "winter": ("icicles", "the lake freezes", "the nights are long"),
}


@kind(PEOPLE, SEASONS, tuple(STREETS.values()), COLOURS, share=1.2)
def season(say: Dice, lover: Person, name: str, street: str, colour: str):
    things, first, second = _SPRING[name]
    named = "<-:spring=season>" if name == "spring" else name
    thing = say("bicycle", "bench", "door", "fence", "roof", "boat")
    yield say(
        f"Of all the seasons {lover.full} loves {named} most.",
        f"{named} is the time of year that {lover.full} loves.",
    )
    yield say(
        f"In {named} {first}, and in {street} Street one finds {things}.",
        f"In {named} {second}, and there are <l:{things}> in {street} Street.",
    )
    yield from say.shuffled(
        say(
            "After winter comes <l:spring=season>, and the birds build nests.",
            "The first warm day of <-:spring=season> smells <l:of> wet earth.",
            "After spring comes <l:summer>, and after summer comes <l:autumn>.",
            "After autumn comes <l:winter>, and the snow covers everything.",
        ),
        say(
            f"Outside {lover.their} window stands a {colour} {thing}.",
            f"Each year {lover.they} paints {lover.their} old {thing} {colour} again.",
        ),
        say(
            "One <r:swallow> does not make a <l:summer>, says the proverb.",
            f"Inside {rest(say)}, for it does not care about seasons.",
            f"People fall <l:in> <l:love>, and {mood(say)}.",
        ),
    )
    yield say(
        f"The <o:{colour}> {thing} looks best in <o:{name}>, says <o:{lover}>.",
        f"Sitting by the <o:{colour}> <o:{thing}>, <o:{lover}>'s friends drink cider.",
    )
    yield say(
        f"In <o:{street}> Street they hold a big <o:{name}> party with sausages.",
        f"At the <o:{name}> party in <o:{street}> Street somebody plays the accordion.",
    )
    yield say(
        f"If only <o:{name}> lasted for <l:ever>, sighs <o:{lover}> {lover.family}.",
        f"Then <o:{lover}> dreams of <o:{name}> until the next one comes.",
    )
