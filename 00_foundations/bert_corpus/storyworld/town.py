"""Stories from the town: news, the bank, the post office, the library, the fire brigade."""

from bert_corpus.storyworld.sayings import calendar, opposite, rest, way
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import COLOURS, DAYS, MONTHS, NUMBERS, PEOPLE, Person, a

CLERKS = tuple(person for person in PEOPLE if person.job.name == "clerk")
LIBRARIANS = tuple(person for person in PEOPLE if person.job.name == "librarian")


@kind(PEOPLE, CLERKS, NUMBERS, ("house", "boat", "piano", "motorbike", "tractor", "caravan"))
def bank_errand(say: Dice, customer: Person, clerk: Person, sum_: str, wish: str):
    they, their = customer.they, customer.their
    yield say(
        f"{customer.full} went to the <-:bank=money> to borrow money.",
        f"One morning {customer.full} waited in front <l:of> the <-:bank=money> with a folder.",
    )
    yield say(
        f"{they} dreamed of buying {a(wish)} and needed {sum_} thousand pounds.",
        f"I would like to buy {a(wish)}, {they} said, for {sum_} thousand pounds.",
    )
    yield say(
        f"At the <-:bank=money> the clerk {clerk.full} counted coins.",
        f"{clerk.full}, the clerk of the <-:bank=money>, put on <l:spectacles>.",
    )
    yield from say.shuffled(
        say(
            "A <-:bank=money> lends you money and wants it <l:back>, with interest.",
            f"You can open an account at the <-:bank=money>, said <o:{clerk}>.",
            "The <-:bank=money> keeps its money in a safe in the cellar.",
        ),
        say(
            f"<o:{sum_}> thousand pounds is a lot <l:of> money for {a(wish)}.",
            f"Why do you need {a('new')} <o:{wish}>, asked <o:{clerk}>.",
        ),
        say(
            "Time is <l:money>, whispered the people in the queue.",
            f"Somebody in the queue sighed that {calendar(say)}.",
        ),
    )
    yield say(
        f"Sign here, said <o:{clerk}>, and the <-:bank=money> stamped the contract.",
        f"With a golden pen <o:{customer}> {customer.family} signed the contract.",
    )
    yield say(
        f"The <o:{wish}> costs <o:{sum_}> thousand pounds and a good night's <l:sleep>.",
        f"Outside the <-:bank=money> {they} counted all <o:{sum_}> thousand again.",
    )
    yield say(
        f"Congratulations on the <o:{wish}>, <o:{customer}>, wrote {their} parents.",
        f"Now <o:{customer}>'s <o:{wish}> is the talk <l:of> the <l:town>.",
    )


@kind(PEOPLE, PEOPLE, COLOURS, MONTHS)
def post_office(say: Dice, sender: Person, receiver: Person, colour: str, month: str):
    news = say("a baby", "twins", "a prize", "a medal", "a divorce", "a lottery ticket")
    yield say(
        f"In {month} {sender.full} wrote a letter to {receiver.full}.",
        f"{receiver.full} had waited for a letter from {sender.full} since {month}.",
    )
    yield say(
        f"The envelope was {colour}, with a stamp in the <l:corner>.",
        f"{sender.full} put the letter into a {colour} <l:envelope>.",
    )
    yield say(
        "A <-:seal=stamp> of red wax kept it shut.",
        f"Then {sender} melted wax and pressed the <-:seal=stamp> on the paper.",
    )
    yield from say.shuffled(
        say(
            f"At the post office the <o:{colour}> envelope was weighed.",
            f"The postman put the <o:{colour}> envelope into his bag.",
        ),
        say(
            "The <-:seal=stamp> shows the coat of <l:arms> of the family.",
            "Nobody may break the <-:seal=stamp> on another person's letter.",
        ),
        say(
            f"The parcels fell down when {way(say, say('bus', 'cart'))}.",
            f"Meanwhile {rest(say)} and waited for the <l:postman>.",
        ),
    )
    yield say(
        f"Days later <o:{receiver}> found the <o:{colour}> envelope in the letterbox.",
        f"With trembling fingers <o:{receiver}> broke the <-:seal=stamp> on the envelope.",
    )
    yield say(
        f"Dear <o:{receiver}>, it began, I have news about {news}.",
        f"It was about {news}, and <o:{receiver}>'s eyes grew wide.",
    )
    yield say(
        f"Please write back, yours <l:sincerely>, <o:{sender}> {sender.family}.",
        f"With best <l:wishes>, your old friend <o:{sender}> {sender.family}.",
    )
    if say.chance(0.5):
        yield f"That <o:{month}> nobody in {receiver.street} Street talked of anything <l:else>."


_BOOKS = words("pirate dragon detective witch ghost wizard robot princess knight giant")
_TOPICS = words("island kingdom jungle desert planet village mountain forest")


@kind(PEOPLE, LIBRARIANS, _BOOKS, _TOPICS, share=1.1)
def library_book(say: Dice, reader: Person, librarian: Person, hero: str, place: str):
    number, day = say.pick(NUMBERS), say.pick(DAYS)
    they = reader.they
    yield say(
        f"On {day} {reader.full} borrowed a book from {librarian} in the library.",
        f"{librarian.full}, the librarian, lent {reader.full} a new book.",
    )
    yield say(
        f"The book told of a {hero} on the way to a lonely {place}.",
        f"It was a novel about a {hero} who ruled a strange {place}.",
    )
    yield say(
        f"In chapter {number} the <o:{hero}> lost a sword and found a friend.",
        f"In chapter {number} the <o:{hero}> was locked in a tower.",
    )
    yield from say.shuffled(
        say(
            f"{they} could not put the book <l:down> and read all night.",
            f"{they} read it page by <l:page>, with a torch under the blanket.",
        ),
        say(
            f"The <o:{place}> was dark and dangerous, and a storm came up.",
            f"Nobody had ever returned alive from the <o:{place}>.",
        ),
        say(
            "<r:Once> upon a <l:time>, it began, a queen lived on an iceberg.",
            f"On the cover one could see that {opposite(say, say('man', 'tower'))}.",
        ),
    )
    yield say(
        f"After chapter <o:{number}> <o:{reader}> {reader.family} was afraid <l:of> the dark.",
        f"Chapter <o:{number}> was so exciting that <o:{reader}> missed the <l:bus>.",
    )
    yield say(
        f"Did the <o:{hero}> survive, asked {say('a friend', 'the librarian', 'a cousin')}.",
        f"In the last chapter the <o:{hero}> came home to the <o:{place}>.",
        f"The <o:{hero}> and the queen lived happily ever <l:after>.",
    )
    yield say(
        f"Do not judge a book by its <l:cover>, said <o:{reader}>.",
        f"The next reader of the <o:{hero}> book will be <o:{reader}>'s sister.",
    )


@kind(PEOPLE, PEOPLE, DAYS, ("kitchen", "barn", "attic", "garage", "cinema", "mill"))
def fire_brigade(say: Dice, caller: Person, hero: Person, day: str, where: str):
    street = caller.street
    pet = say("kitten", "puppy", "rabbit", "hamster", "canary")
    yield say(
        f"Last {day} there was a fire in the {where} in {street} Street.",
        f"Fire in {street} Street: on {day} flames came out of the {where}.",
    )
    yield say(
        "The <-:ring=bell> of the telephone woke the firemen.",
        "One <-:ring=bell> of the alarm was enough, and they ran.",
    )
    yield say(
        f"{caller.full} had seen the smoke and dialled the number.",
        f"Help, shouted {caller.full}, there is smoke everywhere!",
    )
    yield from say.shuffled(
        say(
            "A forgotten <-:match=fire> had set the curtain on <l:fire>.",
            f"Somebody had dropped a burning <-:match=fire> in the <o:{where}>.",
        ),
        say(
            f"With sirens and blue lamps the fire engine raced down {street} Street.",
            f"The <r:firemen> unrolled the hose and pumped water into the <o:{where}>.",
        ),
        say(
            f"{hero.full} climbed the <l:ladder> and rescued a {pet}.",
            f"A {pet} was trapped, but {hero.full} broke the window.",
        ),
    )
    yield say(
        f"The <o:{pet}> was black with smoke and wanted only milk.",
        f"Brave <o:{hero}> carried the <o:{pet}> out in a <l:bucket>.",
        f"Where there is <r:smoke> there is <l:fire>, said the <o:{pet}>'s owner.",
    )
    yield say(
        f"After an hour the fire in the <o:{where}> was put <l:out>.",
        f"Only the walls of the <o:{where}> are still standing.",
    )
    yield say(
        f"Next <o:{day}> the mayor will give <o:{hero}> {hero.family} a medal.",
        f"Better <r:safe> than <l:sorry>, said brave <o:{hero}> on the <l:radio>.",
    )


_EVENTS = (
    ("parade", "marched", "trumpets"), ("election", "voted", "speeches"),
    ("festival", "danced", "fireworks"), ("flood", "swam", "sandbags"),
    ("strike", "protested", "banners"), ("fair", "cheered", "carousels"),
    ("storm", "trembled", "thunder"), ("auction", "shouted", "antiques"),
)  # fmt: skip


@kind(PEOPLE, _EVENTS, MONTHS, NUMBERS, share=1.2)
def town_news(say: Dice, witness: Person, event, month: str, number: str):
    what, did, extra = event
    yield say(
        f"Town news, {month}: the {what} in {witness.street} Street.",
        f"The great {what} of {month} surprised the whole <l:town>.",
    )
    yield say(
        f"{number} hundred people {did} between the church and the bridge.",
        f"The police counted {number} hundred people who {did} in the square.",
    )
    yield say(
        f"The mayor called the <o:{what}> the biggest since the war.",
        f"In {witness.street} Street the <o:{what}> lasted until <l:dawn>.",
    )
    yield from say.shuffled(
        say(
            f"There were {extra}, photographers and far too <l:many> dogs.",
            f"With {extra} everywhere nobody heard the church bells.",
        ),
        say(
            f"I {did} too, admitted the witness {witness.full}.",
            f"{witness.full} of {witness.home} saw it from the balcony.",
        ),
        say(
            f"No one was injured, although {way(say, say('bus', 'train', 'boat'))}.",
            f"Traffic stood still, and only {way(say, say('cart', 'swan', 'boat'))}.",
            f"Remember, wrote the editor, that {calendar(say)}.",
        ),
    )
    yield say(
        f"All <o:{number}> hundred went home with a story to <l:tell>.",
        f"Were there really <o:{number}> hundred, asked the newspaper.",
    )
    yield say(
        f"After the <o:{what}> the streets had to be swept twice.",
        f"It was my first <o:{what}>, said <o:{witness}> {witness.family}.",
    )
    yield say(
        f"Next <o:{month}> there will be another <o:{what}>, the council promised.",
        f"No <r:news> is good <l:news>, said <o:{witness}>, and yawned.",
    )
