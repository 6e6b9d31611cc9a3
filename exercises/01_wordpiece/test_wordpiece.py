"""WordPiece: text into words, words into pieces, pieces into ids, as `bert_corpus` does it."""

import string
import unicodedata

import numpy as np
import pytest

from autograder import checks
from bert_corpus import wordpiece_by_hand

# --- Words ---


def accents_off(text, form="NFD"):
    """The text without accents; form NFKD also takes ligatures apart, which is wrong."""
    return "".join(c for c in unicodedata.normalize(form, text) if unicodedata.category(c) != "Mn")


def cut_at(text, is_mark):
    return "".join(f" {c} " if is_mark(c) else c for c in text).split()


def is_category_p(char):
    return unicodedata.category(char).startswith("P")


def word_mistakes(text, lowercase):
    """What common wrong cuts would give."""
    ready = accents_off(text).lower() if lowercase else text
    mark = wordpiece_by_hand.is_punctuation
    cases = {
        "the accents are still there: lowercase takes them off as well": cut_at(text.lower(), mark),
        "accents that are part of their letter are still there: take letters apart (NFD) first": (
            cut_at("".join(c for c in text.lower() if unicodedata.category(c) != "Mn"), mark)
        ),
        "the accents are taken off, but capital letters stay": cut_at(accents_off(text), mark),
        "lowercase is ignored: the text is never put in lower case": cut_at(text, mark),
    }
    if not lowercase:
        cases = {
            "lowercase is ignored: the text is always put in lower case": (
                wordpiece_by_hand.basic_tokens(text, lowercase=True)
            ),
            "lowercase is ignored: accents are taken off a cased text": (
                cut_at(accents_off(text), mark)
            ),
        }
    return cases | {
        "the text is only cut at white space: every punctuation mark is a token of its own": (
            ready.split()
        ),
        "the punctuation marks are dropped: each is a token": (
            [w for w in cut_at(ready, mark) if not (len(w) == 1 and mark(w))]
        ),
        "only ASCII's punctuation is cut off: “, — and ¿ are marks too (Unicode's category P)": (
            cut_at(ready, lambda c: c in string.punctuation)
        ),
        "only Unicode's category P is cut off: ASCII's symbols $ + < = > ^ ` | ~ are marks too": (
            cut_at(ready, is_category_p)
        ),
        "marks that follow one another stay together: each is a token of its own": (
            lambda out: any(len(w) > 1 and all(mark(c) for c in w) for w in out)
        ),
        "an empty word is among the tokens": lambda out: "" in out,
        "every character that is not ASCII is dropped: only accents go": (
            cut_at(text.lower().encode("ascii", "ignore").decode(), mark)
        ),
        "every character that is not ASCII is dropped, once the accents are off: ß stays": (
            cut_at(ready.encode("ascii", "ignore").decode(), mark)
        ),
        "form NFKD takes more apart than accents (ﬁ, ²): use NFD": (
            cut_at(accents_off(text, "NFKD").lower(), mark)
        ),
        "casefold makes ss of ß: use lower": cut_at(accents_off(text).casefold(), mark),
    }


def check_words(student, text, *, lowercase):
    checks.same(
        student.basic_tokens(text, lowercase=lowercase),
        wordpiece_by_hand.basic_tokens(text, lowercase=lowercase),
        of=f"the tokens of {text!r}",
        mistakes=word_mistakes(text, lowercase),
    )


@pytest.mark.weight(2)
def test_words_end_at_white_space_and_every_mark_is_a_token(student):
    for text in (
        "the cat sat",
        "it purred.",
        "  two\tspaces\n and a hard\u00a0one ",
        "well... (it's a mother-in-law!)",
        "“quoted” — ¿and this?",
        "$5 + 3 < 10^2 | ~`x_1`",
        "?",
        "",
    ):
        check_words(student, text, lowercase=True)


@pytest.mark.weight(2)
def test_capitals_and_accents_go_if_lowercase_says_so(student):
    text = "Ça va, Zoë? El Niño CAFE\u0301"  # the last accent is a character of its own
    check_words(student, text, lowercase=True)
    check_words(student, "Ångström ﬁnds x² in Straße 5, Łódź", lowercase=True)
    check_words(student, "Ça va, Zoë? El Niño costs $3.", lowercase=False)


# --- Pieces ---


def cut(word, vocabulary, *, later="##", first="", shortest=False, least=1, failing="unk"):
    """The greedy cut, with some of the ways to get it wrong."""
    pieces, start = [], 0
    while start < len(word):
        prefix = later if start else first
        ends = range(start + least, len(word) + 1)
        fitting = [end for end in ends if prefix + word[start:end] in vocabulary]
        if fitting:
            end = min(fitting) if shortest else max(fitting)
            pieces.append(prefix + word[start:end])
        elif failing == "unk":
            return ["[UNK]"]
        elif failing == "rest":
            return [*pieces, "[UNK]"]
        else:  # one character becomes [UNK], or is left out
            pieces += ["[UNK]"] * (failing == "each")
            end = start + 1
        start = end
    return pieces


def cut_from_the_right(word, vocabulary):
    pieces, end = [], len(word)
    while end > 0:
        named = [("##" if start else "") + word[start:end] for start in range(end)]
        piece = next((name for name in named if name in vocabulary), None)
        if piece is None:
            return ["[UNK]"]
        pieces.insert(0, piece)
        end -= len(piece.removeprefix("##"))
    return pieces


def any_cut(word, vocabulary, start=0):
    """Any cut that works, longer pieces first: goes back where greed fails."""
    if start == len(word):
        return []
    for end in range(len(word), start, -1):
        piece = ("##" if start else "") + word[start:end]
        if piece in vocabulary and (rest := any_cut(word, vocabulary, end)) is not None:
            return [piece, *rest]
    return None


def piece_mistakes(word, vocabulary):
    right = cut(word, vocabulary)
    return {
        "what was found before the unknown place is kept: the whole word is [UNK]": (
            cut(word, vocabulary, failing="rest")
        ),
        "only the unknown character becomes [UNK]: the whole word does": (
            cut(word, vocabulary, failing="each")
        ),
        "the unknown character is left out: the whole word is [UNK]": (
            cut(word, vocabulary, failing="skip")
        ),
        "the shortest piece is taken: try the longest first": cut(word, vocabulary, shortest=True),
        "your cut goes back and tries another where the greedy one fails: a piece, once taken, "
        "is kept": any_cut(word, vocabulary),
        "the word is cut from the right: begin at the left": cut_from_the_right(word, vocabulary),
        "the first piece is looked for with ## too: it only stands before those that follow": (
            cut(word, vocabulary, first="##")
        ),
        "the pieces that follow are looked for without ##": cut(word, vocabulary, later=""),
        "the ## is missing in the result": [piece.removeprefix("##") for piece in right],
        "pieces of one character are never tried: does your range end too early?": (
            cut(word, vocabulary, least=2)
        ),
        "a word that the vocabulary does not know whole need not be [UNK]: cut it into pieces": (
            [word] if word in vocabulary else ["[UNK]"]
        ),
    }


def numbered(pieces):
    """A vocabulary whose ids have gaps, [UNK] among them."""
    return {piece: 3 + 2 * i for i, piece in enumerate(["[PAD]", "[UNK]", *pieces])}


def check_pieces(student, word, vocabulary, **more):
    mistakes = more.pop("mistakes", {}) | piece_mistakes(word, vocabulary)
    checks.same(
        student.wordpieces(word, vocabulary, **more),
        wordpiece_by_hand.wordpieces(word, vocabulary),
        of=f"the pieces of {word!r}",
        mistakes=mistakes,
    )


@pytest.mark.weight(3)
def test_a_word_is_cut_greedily_into_the_longest_known_pieces(student):
    letters = [*"playingsuf", *(f"##{c}" for c in "playingsufrdo")]
    vocabulary = numbered(
        [
            *letters,
            "play",
            "##ing",
            "##in",
            "##gs",
            "un",
            "##play",
            "play##",
            "unforgivingly",
            "##ordinarily",
        ]
    )
    for word in ("playing", "play", "unplaying", "p", "pains", "unforgivingly", "unordinarily"):
        check_pieces(student, word, vocabulary)
    # Then hundreds of words over four letters, under vocabularies drawn at random.
    rng = np.random.default_rng(5)
    for _ in range(8):
        some = ["".join(rng.choice([*"abcd"], rng.integers(1, 5))) for _ in range(90)]
        vocabulary = numbered([*some[:45], *(f"##{piece}" for piece in some[45:])])
        for _ in range(25):
            word = "".join(rng.choice([*"abcd"], rng.integers(1, 9)))
            check_pieces(student, word, vocabulary)


@pytest.mark.weight(2)
def test_a_word_with_a_place_where_nothing_fits_is_unknown_whole(student):
    vocabulary = numbered(["a", "ab", "##bc", "##b", "##d", "b", "abd", "##\u4e2d"])
    for word in ("abc", "abx", "xab", "axb", "c", "abdx"):
        check_pieces(student, word, vocabulary)


def test_a_word_that_is_too_long_is_unknown(student):
    vocabulary = numbered(["a", "é", "##a", "##aaa", "##é"])
    for longest in (100, 12):
        for length in (longest - 1, longest, longest + 1, 2 * longest):
            for letter in "aé":
                word = letter * length
                check_limit(student, word, vocabulary, longest)


def check_limit(student, word, vocabulary, longest):
    unknown, whole = ["[UNK]"], cut(word, vocabulary)
    given = {} if longest == 100 else {"longest_word": longest}
    is_unknown = lambda out: out == ["[UNK]"]  # noqa: E731
    checks.same(
        student.wordpieces(word, vocabulary, **given),
        unknown if len(word) > longest else whole,
        of=f"the pieces of a word of {len(word)} characters where {longest} are allowed",
        mistakes={
            "a word of exactly longest_word characters is not too long": (
                lambda out: len(word) == longest and is_unknown(out)
            ),
            "the length is counted in bytes, not in characters": (
                lambda out: len(word) < longest < len(word.encode()) and is_unknown(out)
            ),
            "longest_word is ignored: 100 is written into the function": (
                lambda out: longest != 100 and len(word) <= 100 and out == whole
            ),
            "longest_word is ignored: a word may have any length": whole,
            "a word that is too long is cut off: the whole word is [UNK]": (
                cut(word[:longest], vocabulary)
            ),
        },
    )


# --- Ids ---

TEXTS = (
    "The crane stood in the river.",
    "It purred: PURRED, purr!",
    "Zoë costs $5 — unknowable",
    "x" * 101 + " in",
    "",
)
PIECES = [
    *("[CLS]", "[SEP]", "[MASK]", "the", "crane", "stood", "in", "river", "it", "purr", "##ed"),
    *("zoe", "cost", "##s", "5", "$", ".", ",", ":", "!", "—", "The", "It", "x", "##x"),
]


@pytest.mark.weight(3)
def test_a_text_becomes_the_ids_of_its_pieces(student):
    for vocabulary in (numbered(PIECES), numbered(sorted(PIECES))):
        for text in TEXTS:
            for lowercase in (True, False):
                right = wordpiece_by_hand.encode(text, vocabulary, lowercase=lowercase)
                unknown = vocabulary["[UNK]"]
                words = wordpiece_by_hand.basic_tokens(text, lowercase=lowercase)
                checks.same(
                    student.encode(text, vocabulary, lowercase=lowercase),
                    right,
                    of=f"the ids of {text!r}",
                    mistakes={
                        "lowercase is ignored: it is to be handed on to basic_tokens": (
                            wordpiece_by_hand.encode(text, vocabulary, lowercase=not lowercase)
                        ),
                        "[CLS] and [SEP] are added: here they are left out": (
                            [vocabulary["[CLS]"], *right, vocabulary["[SEP]"]]
                        ),
                        "the id of [UNK] is written into the function: it is vocabulary['[UNK]']": (
                            lambda out, r=right, u=unknown: all(
                                a == b or b == u for a, b in zip(out, r, strict=True)
                            )
                        ),
                        "unknown words are left out: each is an [UNK]": (
                            [i for i in right if i != unknown]
                        ),
                        "words are looked up whole: cut each into pieces": (
                            [vocabulary.get(word, unknown) for word in words]
                        ),
                    },
                )


def test_nothing_is_left_behind(student):
    vocabulary = numbered(PIECES)
    checks.leaves_no_trace(student.basic_tokens, "Ça va?", lowercase=True)
    checks.leaves_no_trace(student.wordpieces, "purred", vocabulary)
    checks.leaves_no_trace(student.encode, "Zoë purred.", vocabulary)
