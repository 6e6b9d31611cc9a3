"""Stories in which somebody repeats what another has said: parrots, echoes, songs, lists.

A word that comes back is settled by where it stood before, whatever word it is. Nearly every text
has such words; here they are the story, so that a small model can learn in minutes to look back.
"""

from bert_corpus.storyworld.sayings import calendar, size
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import COLOURS, DAYS, NUMBERS, PEOPLE, PET_NAMES, Person, a

THINGS = words(
    "balloon barrel basket bell bicycle blanket bottle bowl bracelet brush bucket button candle "
    "carpet chain chair clock coat compass cradle cup curtain cushion drum fan feather flag "
    "flute fork globe glove guitar hammer handkerchief hat helmet horn jar jug kettle key kite "
    "ladder ladle lamp lantern magnet map marble mirror mug nail necklace needle net paddle pan "
    "parcel pebble pen pencil piano pillow pipe plate pot puppet purse puzzle raft rake razor "
    "ribbon rope rug sack saddle saw scarf shell shirt shovel sledge sock spade spoon stamp "
    "stool suitcase sword table teapot telescope tent torch towel tray trumpet tyre vase violin "
    "wallet wheel whistle"
)


@kind(PEOPLE, PET_NAMES, THINGS, share=5.0)
def parrot_lesson(say: Dice, owner: Person, name: str, thing: str):
    yield say(
        f"{owner.full} has a parrot called {name} that can say {thing}.",
        f"The parrot {name} lives with {owner.full} and knows the word {thing}.",
    )
    yield say(
        f"Nobody knows why it says <o:{thing}> and nothing <l:else>.",
        f"It says <o:{thing}> in the morning and in the <l:evening>.",
    )
    yield from say.shuffled(
        say(
            f"<o:{thing}>, cried <o:{name}> when the postman rang the <l:bell>.",
            f"<o:{thing}>, said <o:{name}> politely to the doctor.",
        ),
        say(
            f"When guests come, <o:{name}> shouts <o:{thing}> from the perch.",
            f"Even asleep <o:{name}> dreams aloud of a <o:{thing}>.",
        ),
        say(
            f"Say good morning, begs <o:{owner}>, and <o:{name}> says <o:{thing}>.",
            f"Not again, sighs <o:{owner}>, but <o:{name}> likes the word <o:{thing}>.",
        ),
    )
    yield say(
        f"For {owner.their} birthday <o:{owner}> was given a real <o:{thing}>.",
        f"At last <o:{owner}> bought a <o:{thing}> and put it beside the cage.",
    )
    yield say(
        f"<o:{name}> looked at the <o:{thing}> for a long time.",
        f"The parrot walked around the <o:{thing}> and <l:around> it again.",
    )
    yield say(
        f"Then <o:{name}> said a new word for the first <l:time>: {say.pick(THINGS)}.",
        f"Good <l:morning>, said <o:{name}>, and <o:{owner}> fell off the chair.",
    )


@kind(PEOPLE, PEOPLE, THINGS, COLOURS, share=5.0)
def bad_line(say: Dice, caller: Person, friend: Person, thing: str, colour: str):
    yield say(
        f"{caller.full} rang up {friend.full} and asked for {a(colour)} {thing}.",
        f"On the telephone {caller.full} told {friend.full} about {a(colour)} {thing}.",
    )
    yield say(
        f"A <o:{thing}>, asked <o:{friend}>, for the line was bad.",
        f"Did you say <o:{thing}>, shouted <o:{friend}> into the telephone.",
    )
    yield say(
        f"Yes, a <o:{thing}>, answered <o:{caller}> as slowly as a <l:snail>.",
        f"I said <o:{thing}>, repeated <o:{caller}>, word for <l:word>.",
    )
    yield say(
        f"What colour is the <o:{thing}>, asked <o:{friend}>.",
        f"A green <o:{thing}> or a red one, asked <o:{friend}>."
        if colour not in ("green", "red")
        else f"Which colour has the <o:{thing}>, asked <o:{friend}>.",
    )
    yield say(
        f"It must be <r:{colour}>, said <o:{caller}>, as <l:{colour}> as can <l:be>.",
        f"The <o:{thing}> is <o:{colour}>, called <o:{caller}> with a red <l:face>.",
    )
    yield say(
        f"So <o:{friend}> wrote it down: one <o:{colour}> <o:{thing}>.",
        f"Now <o:{friend}> understood: the <o:{thing}> was <o:{colour}>.",
    )
    yield say(
        f"An hour later <o:{friend}> stood at the door with the <o:{colour}> <o:{thing}>.",
        f"In the evening <o:{friend}> brought the <o:{colour}> <o:{thing}> over.",
    )
    if say.chance(0.5):
        yield f"Thank you very <l:much>, said <o:{caller}>, and hugged the <o:{thing}>."


@kind(PEOPLE, THINGS, DAYS, share=5.0)
def echo_valley(say: Dice, walker: Person, thing: str, day: str):
    yield say(
        f"Last {day} {walker.full} climbed the hill to hear the echo.",
        f"Behind the hill lives an echo, and on {day} {walker.full} went to hear it.",
    )
    yield say(
        f"Hello, called <o:{walker}>, and hello, said the <l:echo>.",
        f"Hello, shouted <o:{walker}> down into the valley, as loud as a lion.",
    )
    yield say(
        f"Then <o:{walker}> called the first word that came to mind: {thing}.",
        f"What shall I say, thought <o:{walker}>, and called: {thing}.",
    )
    yield say(
        f"<o:{thing}>, came the answer from the <l:other> side.",
        f"<o:{thing}>, said the echo, a little deeper and slower.",
    )
    yield from say.shuffled(
        say(
            f"<o:{thing}>, it said once <l:more>, and a sheep looked up.",
            f"The rocks, the trees and the clouds all said <o:{thing}>.",
        ),
        say(
            f"Who has lost a <o:{thing}>, asked a farmer behind the hedge.",
            f"A shepherd took off his hat and said <o:{thing}> too.",
        ),
        say(
            f"Far away a child sang <o:{thing}> and laughed.",
            f"From the lake somebody answered <o:{thing}> with a horn.",
        ),
    )
    yield say(
        f"Until sunset <o:{walker}> heard <o:{thing}> from every <l:side>.",
        f"All the way home the word <o:{thing}> followed <o:{walker}>.",
    )
    yield say(
        f"Since that <o:{day}> the hill is called <o:{thing}> hill.",
        f"Next <o:{day}>, said <o:{walker}>, I will call something <l:else>.",
    )


@kind(PEOPLE, THINGS, THINGS, share=5.0)
def song(say: Dice, singer: Person, first: str, second: str):
    place = say("on the table", "under the bed", "in the garden", "behind the door")
    yield say(
        f"{singer.full} has made a song about a {first} and a {second}.",
        f"There is a song of {singer.full} about a {first} and a {second}.",
    )
    yield say(
        f"Where is my <o:{first}>, begins the song, where can it <l:be>?",
        f"Oh my dear <o:{first}>, it begins, what do I <l:see>?",
    )
    yield say(
        f"My <o:{first}> is gone, and the <o:{second}> is with me.",
        f"The <o:{second}> is here, but where is the <o:{first}>, sings <o:{singer}>.",
    )
    yield f"Then all the people sing: the <r:{first}>, the <l:{first}>, {place}!"
    yield say(
        f"In the second verse the <o:{second}> is lost as <l:well>.",
        f"The second verse is about the <o:{second}>, and it is very sad.",
    )
    yield say(
        f"My <o:{second}> is gone, sings <o:{singer}>, and wipes away a tear.",
        f"Give me back my <o:{second}>, sings <o:{singer}> with closed <l:eyes>.",
    )
    yield f"And again they all sing: the <r:{first}>, the <l:{first}>, {place}!"
    yield say(
        f"The last verse finds the <o:{second}> and the <o:{first}> in a boat.",
        f"In the end <o:{singer}> has a <o:{first}> and a <o:{second}> again.",
    )


@kind(PEOPLE, PEOPLE, THINGS, NUMBERS, share=5.0)
def shopping_list(say: Dice, sender: Person, shopper: Person, thing: str, number: str):
    fruit = say("apples", "plums", "lemons", "onions", "eggs", "carrots", "cherries", "potatoes")
    yield say(
        f"{sender.full} sent {shopper.full} to the shop with a list.",
        f"{shopper.full} went to the shop for {sender.full}, list in hand.",
    )
    yield say(
        f"First, it said, buy {number} {fruit} and a {thing}.",
        f"There were two things on it: {number} {fruit} and a {thing}.",
    )
    yield say(
        f"On the way <o:{shopper}> repeated: {number} <o:{fruit}> and a <o:{thing}>.",
        f"A <o:{thing}> and <o:{fruit}>, <o:{shopper}> said to every lamp post.",
    )
    yield from say.shuffled(
        say(
            f"How many <o:{fruit}>, asked the grocer, and <o:{shopper}> said <o:{number}>.",
            f"The grocer counted <o:{number}> <o:{fruit}> into a bag.",
        ),
        say(
            f"For the <o:{thing}> <o:{shopper}> had to climb up a ladder.",
            f"The last <o:{thing}> of the shop stood on the highest shelf.",
        ),
    )
    yield say(
        f"At home <o:{sender}> looked for the <o:{thing}> and the <o:{fruit}>.",
        f"Where are the <o:{fruit}>, asked <o:{sender}>, and where is the <o:{thing}>?",
    )
    yield say(
        f"Here is the <o:{thing}>, said <o:{shopper}>, and here are the <o:{fruit}>.",
        f"<o:{number}> <o:{fruit}>, said <o:{shopper}> proudly, and one <o:{thing}>.",
    )
    yield say(
        f"I am proud <l:of> you, <o:{shopper}>, said <o:{sender}>, and boiled the <o:{fruit}>.",
        f"Well <l:done>, said <o:{sender}>, and kissed the <o:{thing}> by mistake.",
    )


@kind(PEOPLE, PEOPLE, THINGS, THINGS, share=5.0)
def memory_game(say: Dice, one: Person, two: Person, first: str, second: str):
    third = say.several(THINGS, 1, but=(first, second))[0]
    yield say(
        f"{one.full} and {two.full} play the game with the trunk.",
        f"On a rainy day {one.full} and {two.full} play the game with the trunk.",
    )
    yield f"I pack my <-:trunk=box>, says <o:{one}>, and put in a {first}."
    yield f"I pack my <-:trunk=box>, says <o:{two}>, with a <o:{first}> and a {second}."
    yield (
        f"I pack my <-:trunk=box>, says <o:{one}>, with a <o:{first}>, a <o:{second}> "
        f"and a {third}."
    )
    yield say(
        f"Now it is hard, says <o:{two}>: a <o:{first}>, a <o:{second}>, a <o:{third}>.",
        f"A <o:{first}>, a <o:{second}>, a <o:{third}>, counts <o:{two}> on <l:fingers>.",
    )
    yield say(
        f"What was after the <o:{first}>, asks <o:{one}>, was it the <o:{second}>?",
        f"You have forgotten the <o:{third}>, says <o:{one}> and <l:laughs>.",
    )
    yield say(
        f"Nobody in the world needs a <o:{third}>, says <o:{two}> angrily.",
        f"First the <o:{first}>, then the <o:{second}>, says <o:{two}>, I know.",
    )


@kind(PEOPLE, THINGS, NUMBERS, COLOURS, share=5.0)
def dictation(say: Dice, pupil: Person, thing: str, number: str, colour: str):
    yield say(
        f"The word of the day in the evening class is {thing}, writes {pupil.full}.",
        f"In the evening class {pupil.full} learned to write the word {thing}.",
    )
    yield say(
        f"Write <o:{thing}> on the <l:blackboard>, said the teacher.",
        f"Who can write <o:{thing}> without a mistake, asked the <l:teacher>.",
    )
    yield say(
        f"There are {number} {colour} birds on the <o:{thing}>, dictated the teacher.",
        f"The sentence was: I see {number} {colour} birds and a <o:{thing}>.",
    )
    yield say(
        f"How many birds, asked <o:{pupil}>, and the class said <o:{number}>.",
        f"<o:{number}> birds, said <o:{pupil}>, and what colour are they?",
    )
    yield say(
        f"The birds are <o:{colour}>, said the teacher, and the <o:{thing}> is old.",
        f"They are <o:{colour}>, said the class, all <o:{number}> of <l:them>.",
    )
    yield from say.shuffled(
        say(f"First they repeated that {calendar(say)}.", f"The book says that {size(say)}."),
        say(
            f"A girl had written <o:{thing}> with two mistakes.",
            f"Somebody drew a <o:{thing}> instead of the word.",
        ),
    )
    yield say(
        f"At home <o:{pupil}> saw <o:{number}> birds, but none was <o:{colour}>.",
        f"All night <o:{pupil}> dreamed of <o:{colour}> birds on a <o:{thing}>.",
    )
