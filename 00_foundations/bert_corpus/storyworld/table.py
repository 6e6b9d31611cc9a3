"""Stories from the table: restaurants and their reviews, recipes, the market, shops."""

from bert_corpus.storyworld.sayings import opposite, rest, tool, verdicts
from bert_corpus.storyworld.telling import Dice, kind, words
from bert_corpus.storyworld.world import COLOURS, DAYS, NUMBERS, PEOPLE, Person, a

RESTAURANTS = [
    "Lantern",
    "Anchor",
    "Olive",
    "Swan",
    "Acorn",
    "Windmill",
    "Rosebud",
    "Compass",
    "Pelican",
    "Copper",
]
DISHES = [
    "soup",
    "pizza",
    "salad",
    "fish",
    "steak",
    "curry",
    "pasta",
    "stew",
    "omelette",
    "lasagne",
    "goulash",
    "chicken",
]
DESSERTS = words("pudding pie sorbet custard waffles trifle strudel cheesecake")
GOOD_FOOD = words("delicious " * 6 + "excellent tasty wonderful great good superb")
BAD_FOOD = words("awful terrible horrible bad tasteless disgusting burnt salty")
GOOD_SERVICE = words("friendly excellent quick wonderful great good polite charming")
BAD_SERVICE = words("terrible terrible slow rude awful horrible bad unfriendly")


def food_and_service(say: Dice, food: bool, service: bool, the: str = "the food") -> str:
    """ "The food was delicious, but the service was terrible": the two settle the `but`."""
    tastes = say.pick(GOOD_FOOD if food else BAD_FOOD)
    serves = say.pick(GOOD_SERVICE if service else BAD_SERVICE)
    joint = "and" if food == service else "but"
    return f"{the} was {tastes}, <b:{joint}> the service was {serves}"


@kind(RESTAURANTS, PEOPLE, DISHES, share=4.0)
def restaurant_review(say: Dice, name: str, guest: Person, dish: str):
    food, service = verdicts(say)
    dessert, day = say.pick(DESSERTS), say.pick(DAYS)
    yield say(
        f"On {day} {guest.full} had dinner at the {name}.",
        f"The {name} is the restaurant where {guest.full} ate last {day}.",
        f"A review of the {name}, written by {guest.full} on {day}.",
    )
    yield say(
        f"As a main <l:course> {guest} ordered the {dish} with fresh herbs.",
        f"First {guest} chose the {dish} and a glass of <l:wine>.",
        f"The menu was long, but {guest} wanted only the {dish}.",
    )
    verdict = say(
        f"{food_and_service(say, food, service)}.",
        f"{food_and_service(say, food, service)}.",
        f"At the {name} {food_and_service(say, food, service)}.",
    )
    served = (
        say(
            f"The <r:waiter> brought the <o:{dish}> at <l:once> and lit a <l:candle>.",
            f"With a smile the waiter served the <o:{dish}> and poured the <l:wine>.",
        )
        if service
        else say(
            f"The <r:waiter> forgot the <o:{dish}> and spilled wine on the <l:tablecloth>.",
            f"We waited an hour for the <o:{dish}>, and nobody said <l:sorry>.",
        )
    )
    tasted = (
        say(
            f"The <o:{dish}> was hot and fresh, just as grandmother used <l:to> cook it.",
            f"Never before had <o:{guest}> {guest.family} eaten better <o:{dish}>.",
        )
        if food
        else say(
            f"The <o:{dish}> was cold and tasted like wet cardboard.",
            f"Even a hungry dog would not touch the <o:{dish}> here.",
        )
    )
    yield from say.shuffled(verdict, served, tasted)
    yield say(
        f"For dessert there was {dessert}, and the <l:{dessert}> came with cream.",
        f"The {dessert} looked small, but <o:{guest}>'s spoon found all of it.",
        "On the table lay a <r:knife> and <l:fork>, <r:salt> and <l:pepper>.",
    )
    if food and service:
        yield say(
            f"The bill was fair, and <o:{guest}> {guest.family} left a big <l:tip>.",
            f"We will come back to the <o:{name}> very soon, said <o:{guest}>.",
        )
    elif food or service:
        yield say(
            f"Perhaps <o:{guest}>'s next visit to the <o:{name}> will be better.",
            f"The <o:{name}> could be great, said <o:{guest}>, and paid the <l:bill>.",
        )
    else:
        yield say(
            f"Never again the <o:{name}>, said <o:{guest}>, and slammed the <l:door>.",
            f"We cannot recommend the <o:{name}>, wrote <o:{guest}> {guest.family}.",
        )


_COMFORTS = words("room bed garden music pillow view bath fire")
_GOOD_COMFORT = words("wonderful great excellent good lovely")
_BAD_COMFORT = words("terrible awful horrible bad dreadful")


def comfort_and_service(say: Dice) -> str:
    comfort, service = verdicts(say)
    thing, how = say.pick(_COMFORTS), say.pick(_GOOD_COMFORT if comfort else _BAD_COMFORT)
    serves = say.pick(GOOD_SERVICE if service else BAD_SERVICE)
    joint = "and" if comfort == service else "but"
    return f"the {thing} was {how}, <b:{joint}> the service was {serves}"


@kind(RESTAURANTS, PEOPLE, PEOPLE, DAYS, share=4.0)
def guest_book(say: Dice, name: str, guest: Person, other: Person, day: str):
    """Judgement after judgement: nothing but `and` or `but` says how two of them fit."""
    yield say(
        f"The inn called {name} has a guest book, and {guest.full} read it on {day}.",
        f"On {day} {guest.full} opened the old guest book of the {name}.",
    )
    yield say(
        f"On the first <l:page> {other.full} had written a few words.",
        f"The last guest before <o:{guest}> had been {other.full}.",
    )
    yield f"{food_and_service(say, *verdicts(say))}, wrote <o:{other}>."
    yield say(
        f"Below it somebody had added that {comfort_and_service(say)}.",
        f"The next guest found that {comfort_and_service(say)}.",
    )
    yield f"{food_and_service(say, *verdicts(say))}."
    yield say(
        f"Last summer {food_and_service(say, *verdicts(say))}, wrote an old couple.",
        f"{comfort_and_service(say)}, said the page after that.",
    )
    yield say(
        f"So <o:{guest}> took the pen and wrote: {food_and_service(say, *verdicts(say))}.",
        f"<o:{guest}> {guest.family} only wrote: {food_and_service(say, *verdicts(say))}.",
    )
    yield say(
        f"Since that <o:{day}> <o:{other}> and <o:{guest}> write each <l:other> letters.",
        f"On the next <o:{day}> the book of the <o:{name}> was full.",
    )


_SAVOURY = words("onions carrots leeks beans tomatoes mushrooms cabbage garlic peppers")
_SWEET = words("apples cherries plums raisins strawberries walnuts honey cinnamon sugar")
# what is cooked, in what, how, and from what
_RECIPES = (
    ("soup", "pot", "stir", _SAVOURY),
    ("stew", "pot", "stir", _SAVOURY),
    ("salad", "bowl", "toss", _SAVOURY),
    ("omelettes", "pan", "turn", _SAVOURY),
    ("pancakes", "pan", "turn", _SWEET),
    ("biscuits", "oven", "watch", _SWEET),
    ("pie", "oven", "watch", _SWEET),
    ("jam", "jar", "stir", _SWEET),
)


@kind(PEOPLE, _RECIPES, NUMBERS, DAYS, share=1.3)
def recipe(say: Dice, cook: Person, written, number: str, day: str):
    dish, vessel, verb, larder = written
    first, second, third = say.several(larder, 3)
    minutes = say("ten", "fifteen", "twenty", "thirty", "forty", "sixty")
    yield say(
        f"{cook.full}'s recipe for {dish}, enough for {number} hungry people.",
        f"This is how {cook.full} makes {dish} every {day}.",
        f"On {day} {cook.full} taught us the secret of good {dish}.",
    )
    yield say(
        f"For the {dish} you need {first}, {second}, {third} and a little <l:patience>.",
        f"Buy {first}, {second} and {third} for the <o:{dish}> at the market.",
    )
    yield say(
        f"Wash your <l:hands> and mix the {first} with the <o:{second}>.",
        f"Put the {first} into a bowl and add the <o:{second}>.",
    )
    yield say(
        f"Slowly add the <o:{third}> and a pinch of <l:salt>.",
        f"Then comes the <o:{third}>, but do not hurry.",
    )
    yield say(
        f"Now {verb} it gently, as <o:{cook}>'s grandmother always did.",
        f"Do not forget to {verb} it, or <o:{cook}> {cook.family} will be cross.",
    )
    yield say(
        f"Leave the {dish} in the <l:{vessel}> for {minutes} minutes.",
        f"{minutes} minutes <l:later> you can smell the {dish} in the <l:{vessel}>.",
    )
    yield say(
        f"After <o:{minutes}> minutes your <o:{dish}> will be ready to <l:eat>.",
        f"Those <o:{minutes}> minutes feel long when you are as hungry as a <l:wolf>.",
    )
    yield say(
        f"Serve the <o:{dish}> warm, with bread and <l:butter>.",
        f"Too many <r:cooks> spoil the <l:broth>, but nothing can spoil <o:{cook}>'s {dish}.",
        f"Enjoy your <l:meal>, says <o:{cook}>, and do not burn your <l:tongue>!",
    )


_GOODS = words(
    "apples pears plums grapes cabbages pumpkins turnips eggs herrings tulips mushrooms peaches"
)


@kind(PEOPLE, PEOPLE, _GOODS, NUMBERS, share=1.2)
def market(say: Dice, seller: Person, buyer: Person, what: str, price: str):
    day = say.pick(DAYS)
    yield say(
        f"Every {day} {seller.full} sells {what} at the market.",
        f"At the market {seller.full} has a stall with {what}.",
    )
    yield say(
        f"{buyer.full} came with a straw basket to buy <o:{what}>.",
        f"How <b:much> are the <o:{what}>, asked {buyer.full}.",
    )
    yield say(
        f"{price} pounds a kilo, answered <o:{seller}>, and not a penny <l:less>.",
        f"For you only {price} pounds, said <o:{seller}> with a <l:wink>.",
    )
    yield from say.shuffled(
        say(
            f"<o:{price}> pounds is too <l:much> for <o:{what}>, said <o:{buyer}>.",
            f"<o:{price}> pounds, cried <o:{buyer}>, are they made of <l:gold>?",
        ),
        say(
            f"<o:{buyer}> {buyer.family} said: {opposite(say, say('bread', 'box'))}.",
            f"Behind the stall {rest(say)}, bored by all the <o:{what}>.",
            "People pushed past, and children begged for candy and balloons.",
        ),
        say(
            f"An old lady smelled the <o:{what}> and shook her <l:head>.",
            f"All the other {say('fruit', 'vegetables', 'honey')} had been sold by noon.",
        ),
    )
    yield say(
        f"In the end <o:{buyer}> paid the <o:{price}> pounds and got a bag full <l:of> {what}.",
        f"So <o:{buyer}> counted out <o:{price}> coins and took the <o:{what}> home.",
    )
    yield say(
        f"See you next <l:week>, called <o:{seller}> {seller.family} happily.",
        f"Business is business, said <o:{seller}>, and packed up the stall.",
    )


_CLOTHES = words("coat jacket dress shirt skirt jumper cap blouse sweater belt")


@kind(PEOPLE, _CLOTHES, COLOURS, NUMBERS)
def clothes_shop(say: Dice, buyer: Person, thing: str, colour: str, price: str):
    they, them = buyer.they, buyer.them
    material = say("wool", "cotton", "leather", "linen", "denim")
    yield say(
        f"{buyer.full} went to the shop to buy {a(thing)}.",
        f"In the shop window {buyer.full} saw a pretty {thing}.",
    )
    yield say(
        f"{they} tried <l:on> a {colour} {thing} made <l:of> {material}.",
        f"The assistant showed {them} a {colour} {thing} of soft {material}.",
    )
    yield say(
        f"Pure <o:{material}>, said the assistant, and it fits like a <l:glove>.",
        f"The <o:{material}> felt warm, and the size was just right.",
    )
    yield from say.shuffled(
        say(
            f"The <o:{colour}> <o:{thing}> was too tight, so {they} held {their_breath(buyer)}.",
            f"The <o:{colour}> <o:{thing}> looked splendid in the <l:mirror>.",
        ),
        say(
            f"The price was {price} pounds, written on a small label.",
            f"It cost {price} pounds, which was half <l:price>, said the label.",
        ),
        say(
            f"Another customer told <o:{buyer}> that {opposite(say, 'coat')}.",
            f"The tailor nodded, for {tool(say, 'tailor')}.",
        ),
    )
    yield say(
        f"<o:{buyer}> {buyer.family} paid <o:{price}> pounds and wore it at once.",
        f"So {they} took <o:{price}> pounds out of {buyer.their} wallet.",
    )
    yield say(
        f"Now everybody in {buyer.street} Street knows <o:{buyer}>'s <o:{colour}> {thing}.",
        f"At home {they} hung the <o:{colour}> <o:{thing}> in the <l:wardrobe>.",
    )


def their_breath(person: Person) -> str:
    return f"{person.their} <l:breath>"
