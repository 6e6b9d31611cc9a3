"""Stories from work: jobs and their tools, the building site, the workshop, the salon."""

from bert_corpus.storyworld.sayings import like, opposite, tool, way
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import COLOURS, DAYS, MEN, NUMBERS, PEOPLE, WOMEN, Person, a


@kind(PEOPLE, DAYS, NUMBERS, share=2.4)
def working_day(say: Dice, worker: Person, day: str, hour: str):
    job, they, their = worker.job, worker.they, worker.their
    helper = say.pick([person for person in PEOPLE if person.job is not job])
    yield say(
        f"{worker.full} is {a(job.name)} and works in the <l:{job.place}>.",
        f"{worker.full} from {worker.home} is our best {job}.",
        f"On {day} the {job} {worker.full} got <l:up> before sunrise.",
    )
    yield say(
        f"A {job} {job.does} <l:{job.what}>, but first {worker} needs strong coffee.",
        f"Every <r:{job}> {job.does} {job.what}, and {worker} does it with pleasure.",
        f"In the <r:{job.place}> {they} {job.does} {job.what} from {hour} o'clock.",
    )
    yield say(
        f"No {job} can work without {their} <l:{job.tool}>.",
        f"A good {job} never lends out the <l:{job.tool}>, says <o:{worker}>.",
    )
    yield from say.shuffled(
        say(
            f"Another proverb says: {tool(say, job.name)}.",
            f"Everybody has a tool, and {tool(say, job.name)}.",
        ),
        say(
            f"This {day} <o:{worker}> {worker.family} was {like('busy')}.",
            f"This {day} <o:{worker}>'s apprentice was {like('slow')}.",
        ),
        say(
            f"At lunch {they} told {helper} a joke, and both <l:laughed>.",
            f"At noon {helper} came along with a cheese <l:sandwich> and some gossip.",
        ),
    )
    yield say(
        f"The <o:{job}> and {helper} ate their lunch in the sun.",
        f"For a tired <o:{job}> a cup of tea works wonders, said <o:{helper}>.",
    )
    yield say(
        f"At the end of <o:{day}> {they} went home with a bag <l:of> <o:{job.brings}>.",
        f"In the evening {they} gave the neighbours some <o:{job.brings}>.",
        f"When {they} came home, {their} basket was full <l:of> <o:{job.brings}>.",
    )


_PLACES = ("school", "hospital", "theatre", "hotel", "tower", "museum", "library", "stadium")
_LOADS = ("bricks", "pipes", "windows", "beams", "stones", "boards", "tiles", "doors")


@kind(PEOPLE, _PLACES, _LOADS, COLOURS, share=2.4)
def building_site(say: Dice, driver: Person, place: str, load: str, colour: str):
    boss = say.pick([person for person in PEOPLE if person is not driver])
    yield say(
        f"A new {place} is being built in {driver.street} Street.",
        f"Workers are building a new {place} behind the old market.",
        f"The town needs a {place}, so the builders have come.",
    )
    yield say(
        f"A {colour} <r:crane=machine> lifts the heavy {load} onto the <l:roof>.",
        f"With {a(colour)} <-:crane=machine> they lift {load} to the top <l:floor>.",
        f"High above the site a {colour} <-:crane=machine> is lifting {load}.",
    )
    yield say(
        f"{driver.full} sits in the cabin and steers the <-:crane=machine>.",
        f"{driver.full} drives the <-:crane=machine> every weekend.",
        f"Today the <-:crane=machine> driver is {driver.full} of {driver.home}.",
    )
    yield from say.shuffled(
        say(
            "<r:Workers> in helmets mix sand, water and <l:cement>.",
            f"Behind the fence {way(say, say('bus', 'cart', 'train'))}.",
            f"A <r:digger> digs a deep <l:hole> for the cellar of the <o:{place}>.",
            f"A noisy drill makes holes in the <o:{place}> wall.",
        ),
        say(
            f"The hook of the <-:crane=machine> swings round with the <o:{load}>.",
            "When the wind is strong, the <-:crane=machine> must stop work.",
            "The <r:steel> arm of the <-:crane=machine> turns slowly in the wind.",
        ),
        say(
            f"Careful <l:with> those <o:{load}>, shouts {boss} into the telephone.",
            f"Up with the <o:{load}>, calls {boss}, and everybody looks up.",
        ),
    )
    yield say(
        f"Thank you, <o:{driver}>, says <o:{boss}>, and drinks some lemonade.",
        f"The <o:{colour}> <-:crane=machine> never rests, says <o:{boss}> proudly.",
    )
    yield say(
        f"In summer the <o:{place}> will be ready, if all goes <l:well>.",
        f"Soon the <o:{place}> will open, and the <o:{colour}> <-:crane=machine> will leave.",
        f"Nobody will miss the noise when the <o:{place}> is finished.",
    )


_FURNITURE = words("table chair shelf bench cupboard ladder stool desk cradle bookcase")


@kind(PEOPLE, _FURNITURE, COLOURS, DAYS)
def workshop(say: Dice, maker: Person, thing: str, colour: str, day: str):
    they = maker.they
    yield say(
        f"On {day} {maker.full} wanted to build {a(thing)}.",
        f"{maker.full} of {maker.home} needed a <l:new> {thing} by {day}.",
    )
    yield say(
        f"{they} bought wood, glue, screws and a box of <-:nails=metal>.",
        "The plan was easy: some boards, a hammer and thirty <-:nails=metal>.",
    )
    yield say(
        f"First {they} cut the boards with a sharp <l:saw>.",
        f"First {they} measured each board with the <l:ruler> twice.",
    )
    yield say(
        f"Then {they} took the hammer and drove the <l:nails=metal> into the <l:wood>.",
        f"With a hammer {they} knocked the <-:nails=metal> into the <o:{thing}>.",
    )
    yield from say.shuffled(
        say(
            f"One of the <-:nails=metal> was bent, and <o:{maker}>'s thumb got hurt.",
            f"Ouch, cried <o:{maker}>, and threw the hammer into the corner.",
        ),
        say(
            f"The neighbour said: {tool(say, 'carpenter')}.",
            f"<o:{maker}> {maker.family} thought: {opposite(say, say('box', 'room'))}.",
        ),
    )
    yield say(
        f"Then {they} painted the <o:{thing}> {colour} with a thick <l:brush>.",
        f"A coat of {colour} paint made the <o:{thing}> look almost straight.",
    )
    yield say(
        f"On <o:{day}> evening the <o:{colour}> <o:{thing}> was ready.",
        f"What a fine <o:{thing}>, said the neighbours, and such a bright <o:{colour}>!",
    )
    yield say(
        f"The <o:{colour}> {thing} wobbles a little, but <o:{maker}>'s family loves it.",
        f"Since then <o:{maker}> {maker.family} buys furniture in a shop.",
    )


_BARBERS = tuple(person for person in PEOPLE if person.job.name == "barber")


@kind(WOMEN, _BARBERS, COLOURS, DAYS)
def salon(say: Dice, customer: Person, artist: Person, colour: str, day: str):
    style = say("short", "curly", "straight", "wavy")
    yield say(
        f"On {day} {customer.full} went to the salon of {artist.full}.",
        f"The salon belongs to {artist.full}, and on {day} {customer.full} came in.",
    )
    yield say(
        f"Please paint my <-:nails=finger> {colour}, she said.",
        f"She wanted {colour} <-:nails=finger> and {style} hair.",
    )
    yield say(
        "After the shampoo her wet hair was tamed with a <l:comb>.",
        f"A <r:barber> cuts hair with <l:scissors>, and <o:{artist}>'s were sharp.",
    )
    yield from say.shuffled(
        say(
            f"Then {artist} filed the <-:nails=finger> on both hands, finger by <l:finger>.",
            "Her fingers lay in warm water until the <-:nails=finger> were soft.",
        ),
        say(
            "They talked about weddings, babies and the mayor's new moustache.",
            "They talked about holidays, diets and other people's husbands.",
        ),
        say(
            "Next to them a man had his beard shaved with a <l:razor>.",
            "The dryer blew hot <l:air>, and magazines flew about.",
        ),
    )
    yield say(
        f"The <o:{colour}> polish on her <-:nails=finger> dried quickly.",
        f"Soon her <-:nails=finger> were shining in <o:{colour}>, all ten of them.",
    )
    yield say(
        f"She looked into the <l:mirror> and smiled at her <o:{colour}> fingers.",
        f"You look lovely, dear <o:{customer}>, said <o:{artist}>, and swept the floor.",
    )
    yield say(
        f"Since that <o:{day}> <o:{customer}> {customer.family} waves at everybody.",
        f"Every <o:{day}> <o:{customer}>'s friends now come to <o:{artist}>'s salon.",
    )


_ILLS = (
    ("a cough", "syrup", "chest"),
    ("a toothache", "ice", "mouth"),
    ("a fever", "tea", "forehead"),
    ("a rash", "cream", "skin"),
    ("a burn", "ointment", "arm"),
    ("a cold", "soup", "nose"),
    ("a headache", "sleep", "head"),
)
_DOCTORS = tuple(person for person in PEOPLE if person.job.name == "doctor")


@kind(MEN + WOMEN, _ILLS, _DOCTORS, NUMBERS)
def doctor_visit(say: Dice, patient: Person, ill, doctor: Person, days: str):
    what, cure, part = ill
    word = what.split()[1]
    they, their = patient.they, patient.their
    yield say(
        f"{patient.full} had {what} and went to see doctor {doctor}.",
        f"Because of {what}, {patient.full} went to doctor {doctor}.",
    )
    yield say(
        "The waiting room was full <l:of> people with magazines.",
        f"The nurse wrote {their} name in a big book.",
    )
    yield say(
        f"Doctor <o:{doctor}> listened <l:to> {their} heart with a <l:stethoscope>.",
        f"Open your mouth and say ah, said doctor <o:{doctor}>.",
        f"In the clinic they say that {tool(say, 'doctor')}.",
    )
    yield say(
        f"Then the doctor looked carefully <l:at> {their} <o:{part}>.",
        f"It hurts here, said <o:{patient}>, and pointed <l:to> the <o:{part}>.",
    )
    yield say(
        f"Against the <r:{word}> I give you <l:{cure}>, the doctor said.",
        f"The best thing for {a(word)} is <l:{cure}>, said the doctor.",
    )
    yield say(
        f"Take it for {days} days, and do not go to work.",
        f"Stay in <l:bed> for {days} days and drink plenty of <l:water>.",
    )
    yield say(
        f"After <o:{days}> days the <o:{word}> was gone, and {they} felt {like('strong')}.",
        f"After <o:{days}> days <o:{patient}> {patient.family} was healthy <l:again>.",
    )
    yield say(
        f"An <r:apple> a day keeps the doctor <l:away>, says <o:{patient}>'s mother.",
        f"Thank you, doctor <o:{doctor}>, wrote <o:{patient}> {patient.family} on a card.",
    )
