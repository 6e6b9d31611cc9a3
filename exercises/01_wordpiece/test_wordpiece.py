"""WordPiece: text into words, words into pieces, pieces into ids, as `bert_corpus` does it."""

import itertools
import string
import unicodedata
from dataclasses import dataclass

import numpy as np
import pytest

from autograder import checks, sweep
from bert_corpus import wordpiece as reference


@dataclass
class Case:
    """A call, what it should return, and what common mistakes would return."""

    args: tuple
    options: dict
    right: list
    of: str
    mistakes: checks.Mistakes


def check_cases(function, cases):
    """Every case must come out right. A mistake that is given as an answer is named only if it
    explains all the answers: for one short text, two mistakes may well give the same."""
    outs = [function(*case.args, **case.options) for case in cases]
    for case, out in zip(cases, outs, strict=True):
        if out != case.right or type(out) is not list:
            likely = {name: mistake for name, mistake in case.mistakes.items()
                      if callable(mistake) or explains_all(name, cases, outs)}  # fmt: skip
            again = function(*case.args, **case.options)
            checks.same(again, case.right, of=case.of, mistakes=likely)
        checks.that(not any(isinstance(item, float | np.floating) for item in out),
                    f"{case.of}: {out[:3]}… holds floats, where each is a whole number"
                    )  # fmt: skip


def explains_all(name, cases, outs):
    return all(out == case.mistakes[name]
               for case, out in zip(cases, outs, strict=True) if name in case.mistakes)  # fmt: skip


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
    return mark_mistakes(ready) | (lower_mistakes(text) if lowercase else cased_mistakes(text))


def lower_mistakes(text):
    mark = reference.is_punctuation
    return {
        "the accents are still there: lowercase removes them too": cut_at(text.lower(), mark),
        "accents that are part of their letter are still there: decompose (NFD) first": (
            cut_at("".join(c for c in text.lower() if unicodedata.category(c) != "Mn"), mark)
        ),
        "the accents are removed, but capital letters stay": cut_at(accents_off(text), mark),
        "lowercase is ignored: the text never becomes lower case": cut_at(text, mark),
        "every character that is not ASCII is dropped: only accents go": (
            cut_at(text.lower().encode("ascii", "ignore").decode(), mark)
        ),
        "every character that is not ASCII is dropped after the accents: ß must stay": (
            cut_at(accents_off(text).lower().encode("ascii", "ignore").decode(), mark)
        ),
        "form NFKD decomposes more than accents (ﬁ, ²): use NFD": (
            cut_at(accents_off(text, "NFKD").lower(), mark)
        ),
        "casefold makes ss of ß: use lower": cut_at(accents_off(text).casefold(), mark),
        "every combining character is dropped: only those of category Mn are accents": cut_at(
            "".join(c for c in unicodedata.normalize("NFD", text)
                    if not unicodedata.category(c).startswith("M")).lower(), mark),
    }  # fmt: skip


def cased_mistakes(text):
    mark = reference.is_punctuation
    forms = [cut_at(unicodedata.normalize(form, text), mark)
             for form in ("NFC", "NFD", "NFKC", "NFKD")]  # fmt: skip
    return {
        "lowercase is ignored: the text always becomes lower case": (
            reference.basic_tokens(text, lowercase=True)
        ),
        "lowercase is ignored: accents are removed from a cased text": (
            cut_at(accents_off(text), mark)
        ),
        "a cased text is brought into another Unicode form: no character may change": (
            lambda out: out in forms
        ),
    }


def mark_mistakes(ready):
    """`ready`: the text, in lower case and without accents if it is to be."""
    mark = reference.is_punctuation
    return {
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
        "every symbol of Unicode (category S) is cut off: of symbols, only ASCII's are": (
            cut_at(ready, lambda c: mark(c) or unicodedata.category(c).startswith("S"))
        ),
        "every character that is no letter or digit is cut off: only category P and ASCII's 32 "
        "punctuation marks are, not € or °": cut_at(ready, lambda c: not c.isalnum()),
        "marks that follow one another stay together: each is a token of its own": (
            lambda out: any(len(w) > 1 and all(mark(c) for c in w) for w in out)
        ),
        "an empty word is among the tokens": lambda out: "" in out,
        "only some white space ends a word: all of it does": (
            lambda out: any(c.isspace() for word in out for c in word)
        ),
    }


def text_case(text, lowercase, options=None):
    """`options`: what is handed over, if `lowercase` is not."""
    return Case(
        (text,),
        {"lowercase": lowercase} if options is None else options,
        reference.basic_tokens(text, lowercase=lowercase),
        f"the tokens of {text!r}",
        word_mistakes(text, lowercase),
    )


def any_letters(seed):
    return "".join(checks.rng(seed).choice([*"bdfgklmnoprstuvw"], 9))


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_words_end_at_white_space_and_every_mark_is_a_token(student):
    texts = (
        f"the {any_letters(21)} sat.",
        "the cat sat",
        "it purred.",
        "  two\tspaces\n and a hard\u00a0one ",
        "thin\u2009and\u3000wide\u2003spaces\r\n",
        "well... (it's a mother-in-law!)",
        "a\rb\tC\nd\r\te\r\n\rf",
        "“quoted” — ¿and this?",
        "$5 + 3 < 10^2 | ~`x_1`",
        "5€ at 20° → a×b ©1999 x² हिन्दी",
        "#".join("!%&*,/:;=@[\\]{}\"'>"),
        "?",
        "",
        " \t\n",
    )
    cases = [text_case(text, lowercase) for text in texts for lowercase in (True, False)]
    check_cases(student.basic_tokens, cases)
    # No mark is kept in a number, a date, a name or an address, whatever stands beside it.
    for mark in (*string.punctuation, *"“’—…¿"):
        beside = ("1", "a", "s", "B", "", mark, 3 * mark)
        text = " ".join(f"{left}{mark}{right}" for left, right in itertools.product(beside, beside))
        text += f" https{mark}//a.b ab12{mark}5c U{mark}S{mark}A{mark} 1{mark}234{mark}5"
        for lowercase in (True, False):
            right = reference.basic_tokens(text, lowercase=lowercase)
            checks.same(student.basic_tokens(text, lowercase=lowercase), right,
                        of=f"the tokens of a text with {mark} beside letters, digits and spaces",
                        mistakes={"a mark is kept in its word: every one is a token of its own": (
                            lambda out: len(out) < len(right))})  # fmt: skip
    odd = student.basic_tokens("a\vb\fc\x1cd\x85e\u2028f")  # control characters may be dropped
    checks.that(not any(char.isspace() for word in odd for char in word),
                f"white space stands within a word: {odd}",
                likely="only some white space ends a word: all of it does")  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_capitals_and_accents_go_if_lowercase_says_so(student):
    example, text = "Zoë purred...", "Ça va, Zoë? El Niño CAFE\u0301 costs $3."
    by_default = text_case(text, True, {})  # its last accent is a character of its own
    by_default.mistakes["without the argument, lowercase is True"] = (
        text_case(text, False).right
    )  # fmt: skip
    cases = [
        text_case(text, True),
        text_case("Ångström ﬁnds x² in Straße 5, Łódź", True),
        text_case("हिन्दी में", True),  # vowel signs of the categories Mn and Mc
        text_case("a \u0301 b \u0302\u0303 c", True),  # words of accents alone
        text_case("ǅep, a≠b", True),  # a letter of title case, and a sign that is = and an accent
        text_case(text + " हिन्दी ﬁ x² Å", False),
        text_case("a \u0301 b!\u0301c", False),  # accents of no letter
        *(
            text_case(word, lowercase)
            for word in ("Zoë", "CAFE\u0301", "ﬁX²", "한국", "Łódź.", "ß")
            for lowercase in (True, False)
        ),  # a text of one word
        by_default,
        text_case(f"{any_letters(22).title()} Zoë", True),
        text_case(example, True),
        text_case(example, False),
    ]
    cases[-2].right = ["zoe", "purred", ".", ".", "."]  # as on the page
    cases[-1].right = ["Zoë", "purred", ".", ".", "."]
    check_cases(student.basic_tokens, cases)


def test_every_character_of_many_scripts_is_taken_for_what_it_is(student):
    for first in [
        *range(0x21, 0x2E00, 512),
        *range(0xA000, 0xD7A0, 512),
        *range(0x10000, 0x12000, 512),
        *range(0x1D000, 0x1FA00, 512),
        *(0x2E00, 0x3000, 0xFC00, 0xFE00),  # among them letters and marks of full width
        0x12000,
    ]:
        block = map(chr, range(first, first + 512))
        if first == 0x12000:  # of what is rare: marks, accents and capital letters
            far = map(chr, (*range(0x12000, 0x1D000), *range(0xE0100, 0xE01F0)))
            block = (c for c in far if unicodedata.category(c)[0] in "PM" or c.isupper())
        chars = [c for c in block if is_for_every_tokenizer(c)]
        text = " ".join(f"a{char}b" for char in chars)
        for lowercase in (True, False):
            right = reference.basic_tokens(text, lowercase=lowercase)
            checks.same(student.basic_tokens(text, lowercase=lowercase), right,
                        of=f"the tokens of a?b for each character from U+{first:04X} on, lowercase="
                           f"{lowercase}", mistakes={
                               "characters are made compatible (NFKC, NFKD): ！ is not !": (
                                   lambda out, right=right: compatible(out) == compatible(right))}
                        )  # fmt: skip


# Control characters (not those of ASCII) and others of category C, U+FFFD, Chinese characters and
# marks.
LEFT_OPEN = (
    *("co\u00adoperate", "👩\u200d💻 is", "\u200ea\u202eb", "itâ\x80\x99s", "\x9dA\x9dB.\x90"),
    *("a\ue000b", "é\U000f0001e", "a\ufffdb", "\ufffd", "東京タワーは", "\u3400𠀀"),
    *("中文字", "Ab中国7", "a。b", "中，x〇"),
)


def test_what_is_left_open_has_no_third_way(student):
    """Such a character is dropped or stays in its word; a Chinese one stays in it or is a word of
    its own."""
    for text in LEFT_OPEN:
        without = "".join(c for c in text if unicodedata.category(c)[0] != "C" and c != "\ufffd")
        parted = "".join(f" {c} " if "UNIFIED" in unicodedata.name(c, "") else c for c in text)
        for lowercase in (True, False):
            forms = [cut_at(accents_off(form).lower() if lowercase else form,
                            reference.is_punctuation)
                     for form in (text, without, parted)]  # fmt: skip
            out = student.basic_tokens(text, lowercase=lowercase)
            right = ["ca" if lowercase else "Ça", ",", "a", "_", "b"]
            is_right = student.basic_tokens("Ça, a_b", lowercase=lowercase) == right
            checks.that(out in forms, f"the tokens of {text!r}, lowercase={lowercase}: expected "
                        f"{forms[0]}, got {out}",
                        likely="a control character is neither white space nor a mark, and no "
                        "Chinese character is dropped" if is_right else "")  # fmt: skip


def compatible(words):
    return [unicodedata.normalize("NFKD", word) for word in words]


def is_for_every_tokenizer(char):
    """Whether one that drops control characters and parts Chinese ones leaves it as it is."""
    words = unicodedata.name(char, "").split()
    return (
        unicodedata.category(char)[0] in "LMNPSZ"
        and char != "\ufffd"
        and not {"CJK", "KANGXI", "IDEOGRAPHIC", "HANGZHOU", "IDEOGRAPH"} & set(words[:-1])
    )


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
        start = next((start for start, name in enumerate(named) if name in vocabulary), None)
        if start is None:
            return ["[UNK]"]
        pieces.insert(0, named[start])
        end = start
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
        "the piece whose id is 0 counts as missing: ask whether it is `in vocabulary`": (
            cut(word, [piece for piece, number in vocabulary.items() if number])
        ),
        "what was found before the unknown place is kept: the whole word is [UNK]": (
            cut(word, vocabulary, failing="rest")
        ),
        "only the unknown character becomes [UNK]: the whole word does": (
            cut(word, vocabulary, failing="each")
        ),
        "the unknown character is left out: the whole word is [UNK]": (
            cut(word, vocabulary, failing="skip")
        ),
        "the shortest piece is chosen: try the longest first": cut(word, vocabulary, shortest=True),
        "your cut goes back and tries another where the greedy one fails: a piece, once chosen, "
        "is final": any_cut(word, vocabulary) or ["[UNK]"],
        "the word is cut from the right: begin at the left": cut_from_the_right(word, vocabulary),
        "the first piece is looked up with ## too: only those that follow have it": (
            cut(word, vocabulary, first="##")
        ),
        "the pieces that follow are looked up without ##": cut(word, vocabulary, later=""),
        "the ## is missing in the result": [piece.removeprefix("##") for piece in right],
        "pieces of one character are never tried: does your range end too early?": (
            cut(word, vocabulary, least=2)
        ),
        "the word is brought into Unicode's form NFC: it is cut as it is": (
            cut(unicodedata.normalize("NFC", word), vocabulary)
        ),
        "pieces in brackets are never found: they are entries like any other": (
            cut(word, [piece for piece in vocabulary if piece[0] != "["])
        ),
        "a word that the vocabulary does not know whole need not be [UNK]: cut it into pieces": (
            [word] if word in vocabulary else ["[UNK]"]
        ),
    }


def numbered(pieces):
    """A vocabulary whose ids have gaps; the first piece has the id 0, [UNK] the last one."""
    return {piece: 2 * i for i, piece in enumerate([*pieces, "[PAD]", "[UNK]"])}


EXAMPLE = {"[UNK]": 1, "it": 5, "purr": 6, "##ed": 7, "##e": 8, ".": 9, "zoe": 10}


def word_case(word, vocabulary):
    return Case(
        (word, vocabulary),
        {},
        reference.wordpieces(word, vocabulary),
        f"the pieces of {word!r}",
        piece_mistakes(word, vocabulary),
    )


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_a_word_is_cut_greedily_into_the_longest_known_pieces(student):
    letters = [*"playingsuf", *(f"##{c}" for c in "playingsufrdo")]
    longer = ["play", "##ing", "##in", "##gs", "un", "##play", "play##", "unforgivingly",
              "##ordinarily"]  # fmt: skip
    vocabulary = numbered([*letters, *longer])
    words = ("playing", "play", "unplaying", "p", "pains", "unforgivingly", "unordinarily",
             "[PAD]ing", "[PAD]", "[UNK]s", "[UNK]")  # fmt: skip
    cases = [word_case(word, vocabulary) for word in words]
    cases += [word_case("purred", EXAMPLE), word_case("purrer", EXAMPLE)]
    cases[-2].right, cases[-1].right = ["purr", "##ed"], ["[UNK]"]  # as on the page
    # Then hundreds of words over a few letters, under vocabularies drawn at random. A word may hold
    # ## too: whether a piece begins a word is told by where it stands. And é, or a capital letter,
    # is not e with an accent after it, or a small one: `basic_tokens` alone changes letters.
    rng = checks.rng(5)
    for alphabet in ["abcd"] * 6 + ["ab#"] * 2 + ["aAée\u0301"] * 2 + ["ﬁfi²2"]:
        some = ["".join(rng.choice([*alphabet], rng.integers(1, 5))) for _ in range(90)]
        vocabulary = numbered([*some[:45], *(f"##{piece}" for piece in some[45:])])
        for _ in range(25):
            word = "".join(rng.choice([*alphabet], rng.integers(1, 9)))
            cases.append(word_case(word, vocabulary))
    check_cases(student.wordpieces, cases)


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_a_word_with_a_place_where_nothing_fits_is_unknown_whole(student):
    vocabulary = numbered(["a", "ab", "##bc", "##b", "##d", "b", "abd", "##bcd", "##cd"])
    words = ("abc", "abx", "xab", "axb", "c", "abdx", "a", "abd", "abcd")
    check_cases(student.wordpieces, [word_case(word, vocabulary) for word in words])
    for some in (["#", "###"], ["#", "##", "##a", "####"]):  # words that begin like a rest
        words = ("#", "##", "###", "##a", "#a")
        check_cases(student.wordpieces, [word_case(word, numbered(some)) for word in words])


def test_a_word_that_is_too_long_is_unknown(student):
    vocabulary = numbered([*"baée𝐚7", "##aaa", *(f"##{c}" for c in "aée\u0301𝐚7")])
    for longest in (100, 12 + checks.anew(80)):
        for length in (longest - 1, longest, longest + 1, 2 * longest):
            for letter in ("a", "é", "e\u0301", "𝐚", "7"):
                word = (letter * length)[:length]
                check_limit(student, word, vocabulary, longest)


def check_limit(student, word, vocabulary, longest):
    unknown, whole = ["[UNK]"], cut(word, vocabulary)
    given = {} if longest == 100 else {"longest_word": longest}
    is_unknown = lambda out: out == ["[UNK]"]  # noqa: E731
    checks.same(
        student.wordpieces(word, vocabulary, **given),
        unknown if len(word) > longest else whole,
        of=f"the pieces of a word of {len(word)} characters where {longest} are allowed",
        mistakes=lambda: {
            "a word of exactly longest_word characters is not too long": (
                lambda out: len(word) == longest and is_unknown(out)
            ),
            "the length is counted in bytes, or in pairs of them, not in characters": (
                lambda out: len(word) < longest < len(word.encode()) and is_unknown(out)
            ),
            "an accent of its own is a character too: the length is not that in form NFC": (
                lambda out: "\u0301" in word and out == whole
            ),
            "longest_word is ignored: 100 is hard-coded": (
                lambda out: longest != 100 and len(word) <= 100 and out == whole
            ),
            "longest_word is ignored: a word may have any length": whole,
            "a word that is too long is shortened: the whole word is [UNK]": (
                cut(word[:longest], vocabulary)
            ),
        },
    )


# --- Ids ---

TEXTS = (
    "The crane stood in the river.",
    "It purred: PURRED, purr!",
    "Zoë costs $5 — unknowable",
    "x" * 100 + " in",
    "x" * 101 + " in",
    "the [MASK] it[SEP]",
    "",
    " \n ",
)
PIECES = [
    *("the", "[CLS]", "[SEP]", "[MASK]", "crane", "stood", "in", "river", "it", "purr", "##ed"),
    *("zoe", "cost", "##s", "5", "$", ".", ",", ":", "!", "—", "The", "It", "x", "##x", "x" * 101),
]


def id_case(text, vocabulary, lowercase, options=None):
    return Case(
        (text, vocabulary),
        {"lowercase": lowercase} if options is None else options,
        reference.encode(text, vocabulary, lowercase=lowercase),
        f"the ids of {text!r}",
        id_mistakes(text, vocabulary, lowercase),
    )


@pytest.mark.weight(3)
def test_a_text_becomes_the_ids_of_its_pieces(student):
    unknown_first = dict(zip(["[UNK]", *sorted(PIECES)], range(99), strict=False))
    drawn = " ".join(checks.rng(23).choice(["the", "crane", "stood", "in", "river"], 30))
    for vocabulary in (numbered(PIECES), unknown_first):
        cases = [id_case(text, vocabulary, lowercase)
                 for text in (drawn, *TEXTS) for lowercase in (True, False)]  # fmt: skip
        check_cases(student.encode, cases)
    example = id_case("It purred, Zoë.", EXAMPLE, True, {})
    example.right = [5, 6, 7, 1, 10, 9]  # as on the page
    example.mistakes = {
        "without the argument, lowercase is True": (
            id_case("It purred, Zoë.", EXAMPLE, False).right
        )
    }
    check_cases(student.encode, [example])
    parts = unicodedata.normalize("NFD", "한")
    letters = ["e", "é", "##\u0301", "##e", "##t", "한", parts[0], *(f"##{c}" for c in parts)]
    decomposed = numbered(letters)
    long, short = "한" * 40, "e\u0301" * 60  # in lower case of 120 and of 60 characters
    cases = [id_case(text, decomposed, lowercase) for text, lowercase in (
        ("e\u0301t", False), ("한 한t", True), (long, True), (short, True))]  # fmt: skip
    for case in cases:
        words = reference.basic_tokens(case.args[0], **case.options)
        case.mistakes["the words are brought into form NFC: they are cut as they are"] = [
            decomposed[piece] for word in words
            for piece in reference.wordpieces(unicodedata.normalize("NFC", word), decomposed)
        ]  # fmt: skip
    whole = [decomposed[piece] for piece in cut(unicodedata.normalize("NFD", long), decomposed)]
    for case, counted in zip(cases[2:], (whole, [decomposed["[UNK]"]]), strict=True):
        case.mistakes["the length of a word is counted before its accents are removed: count what "
                      "basic_tokens returns"] = counted  # fmt: skip
    check_cases(student.encode, cases)


def id_mistakes(text, vocabulary, lowercase):
    right = reference.encode(text, vocabulary, lowercase=lowercase)
    words = reference.basic_tokens(text, lowercase=lowercase)
    unknown = vocabulary["[UNK]"]

    def has_another_unknown(out):
        """Every [UNK] has one and the same other id, and the rest is right."""
        others = {a for a, b in zip(out, right, strict=True) if a != b}
        return (
            len(others) == 1
            and type(next(iter(others))) is int
            and all((a in others) == (b == unknown) for a, b in zip(out, right, strict=True))
        )

    return {
        "the text is lowercased with lowercase=False: does encode pass it on?": (
            reference.encode(text, vocabulary, lowercase=True)
        ),
        "the text is not lowercased: does encode pass it on, and does basic_tokens do it?": (
            reference.encode(text, vocabulary, lowercase=False)
        ),
        "the id 0 counts as missing: ask whether a piece is `in vocabulary`": (
            [i or unknown for i in right]
        ),
        "[CLS] and [SEP] are added: here they are left out": (
            lambda out: out == [vocabulary["[CLS]"], *right, vocabulary["[SEP]"]]
        ),
        "a word that is in the vocabulary can be too long too: then it is [UNK]": [
            vocabulary[piece]
            for word in words
            for piece in ([word] if word in vocabulary else reference.wordpieces(word, vocabulary))
        ],
        "the id of [UNK] is hard-coded: it is vocabulary['[UNK]']": has_another_unknown,
        "unknown words are left out: each is an [UNK]": [i for i in right if i != unknown],
        "words are looked up whole: cut each into pieces": (
            [vocabulary.get(word, unknown) for word in words]
        ),
    }


@pytest.mark.weight(2)
def test_the_rules_hold_for_all_of_unicode(student):
    signs = [chr(code) for code in range(0x10000)]
    spaces = [c for c in signs if unicodedata.category(c).startswith("Z")]
    rng = checks.rng(3)
    marks = [c for category in ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po")
             for c in rng.choice([c for c in signs if unicodedata.category(c) == category], 5)
             if unicodedata.normalize("NFD", c) == c]  # fmt: skip
    texts = ["x".join(spaces), "x".join(marks), "Việt ṩ Ǘ 한국 क़"]
    cases = [text_case(text, lowercase) for text in texts for lowercase in (True, False)]
    cases[-2].mistakes |= {
        "of a letter with several accents, only one is removed": lambda out: (
            "viẹt" in out or "viêt" in out
        ),
        "everything after a letter's first character is dropped: only accents are": (
            lambda out: len("".join(out)) < len("".join(cases[-2].right))
        ),
    }
    check_cases(student.basic_tokens, cases)


@pytest.mark.hint(3)
def test_long_pieces_no_length_at_all_and_another_vocabulary(student):
    long = "pneumonoultramicroscopic"
    vocabulary = numbered(
        ["p", "##n", f"{long}silico", f"##{long}", "a", *(f"##{c}" for c in long)]
    )
    words = (f"{long}silico", f"p{long}", f"p{long}n")
    check_cases(student.wordpieces, [word_case(word, vocabulary) for word in words])
    later = numbered(["u", "un", "##n", "##ordinarily", *(f"##{c}" for c in "ordinaly")])
    words = ("unordinarily", "un", "uno")  # the longest piece comes later
    check_cases(student.wordpieces, [word_case(word, later) for word in words])
    checks.same(
        student.wordpieces("a", vocabulary, longest_word=0),
        ["[UNK]"],
        of="the pieces of a word of 1 character where 0 are allowed",
        mistakes=lambda: {"longest_word=0 is taken for no limit": ["a"]},
    )
    for shift in (0, 1):  # the same pieces under other ids
        ids = np.roll(range(len(PIECES) + 2), shift).tolist()
        other = dict(zip(numbered(PIECES), ids, strict=True))
        check_cases(student.encode, [id_case(text, other, True) for text in TEXTS])


def test_texts_words_and_vocabularies_of_any_size(student):
    rng = checks.rng(11)
    letters = [
        *"abcdefgXYZ",
        *"éÄñßøłçДжя",
        "e\u0301",
        "q\u0323\u0307",
        *"ابहि",
        "ﬁ",
        "²",
        "𝐀",
        "𐐀",
    ]
    marks, gaps = [*string.punctuation, *"«»—¿…、"], [" ", "\t", "\n", "\u00a0", "\u2003", "\r\n"]

    def text_of(words):
        return "".join(
            "".join(rng.choice(letters, rng.integers(1, 9)))
            + str(rng.choice(marks)) * (rng.random() < 0.3)
            + str(rng.choice(gaps)) * rng.integers(1, 3)
            for _ in range(words)
        )

    def texts():
        for words in (*[7] * 12, 100, 900):
            text = text_of(words)
            for lowercase in (True, False):
                yield sweep.Case(
                    f"a text of {len(text):,} characters, lowercase={lowercase}",
                    (text,),
                    {"lowercase": lowercase},
                )

    sweep.agrees(student.basic_tokens, reference.basic_tokens, texts())

    def words(longest):
        for length in (*range(1, 30), 60, 99, 150, 333, 700):
            pieces = [
                "".join(rng.choice([*"abé"], rng.integers(1, 1 + min(length, 60))))
                for _ in range(20)
            ]
            word = "".join(pieces)[:length]
            # Long pieces of the word itself, so that it is no more than 200 of them.
            cuts = [0, *sorted(rng.integers(1, length + 1, min(length, 150)).tolist()), length]
            known = [("##" if a else "") + word[a:b] for a, b in itertools.pairwise(cuts) if a < b]
            known += [*pieces[:10], *(f"##{p}" for p in pieces[10:]), *[word] * (length % 3 == 0)]
            yield sweep.Case(
                f"a word of {length} characters, of which {longest} are allowed",
                (word, numbered(known)),
                {"longest_word": longest},
            )

    for longest in (100, 10_000):
        sweep.agrees(student.wordpieces, any_word, words(longest))

    def encoded():
        pieces = ["".join(rng.choice([*"abcdefgxyz"], rng.integers(1, 4))) for _ in range(6_000)]
        vocabulary = numbered([*marks, *pieces[::2], *(f"##{p}" for p in pieces[1::2])])
        few = numbered([*marks, *pieces[:200:2], *(f"##{p}" for p in pieces[1:200:2])])
        for number, known in ((3, vocabulary), (40, vocabulary), (600, few)):
            text = text_of(number) + "-".join(rng.choice(pieces, number))
            for lowercase in (True, False):
                yield sweep.Case(
                    f"a text of {len(text):,} characters, words joined by hyphens, and a "
                    f"vocabulary of {len(known):,}",
                    (text, known),
                    {"lowercase": lowercase},
                )

    sweep.agrees(student.encode, reference.encode, encoded())
    # A text of 70,000 characters, nearly each of which stands in the middle of a word.
    entries = ["".join(word) for word in checks.rng(12).choice([*"abcdeéß"], (50, 60))]
    order = checks.rng(13).integers(50, size=1150)
    book = " ".join(entries[number] for number in order)
    cut_in_two = "a long text is read in parts: a word that stands in two of them is cut"
    checks.same(student.basic_tokens(book, lowercase=False), book.split(" "),
                of=f"the tokens of a text of {len(book):,} characters", mistakes={
                    cut_in_two: lambda out: "".join(out) == book.replace(" ", "")})  # fmt: skip
    known = {piece: number for number, piece in enumerate(map(accents_off, entries))}
    checks.same(student.encode(book, known | {"[UNK]": 50}), order.tolist(),
                of=f"the ids of a text of {len(book):,} characters",
                mistakes={cut_in_two: lambda out: 50 in out})  # fmt: skip
    few = {"[UNK]": 0, "crane": 1, "the": 2}
    checks.same(student.encode("the crane " * 900, few), 900 * [2, 1],
                of="the ids of 'the crane', 900 times")  # fmt: skip


def any_word(word, vocabulary, *, longest_word):
    return cut(word, vocabulary) if len(word) <= longest_word else ["[UNK]"]


ATOMS = [  # kinds of words, of pieces of words and of what stands between them
    *("a", "B", "the", "The", "CAFE", "é", "É", "e\u0301", "\u0301", "ß", "ﬁ", "ǅ", "한", "か"),
    *("𐐀", "7", "75", "007", "٣", "3½", "x²", "😀", "€", ".", "!", "$", "_", "—", "...", "--"),
    *("''", " ", "\n", "&amp;", "\\n", "##ed", "[UNK]", "7\u0301", ".\u0301", "b" * 101, "É" * 101),
]  # fmt: skip


def test_a_text_may_be_short(student):
    rng = checks.rng(31)
    entries = ["The", "the", *"aéB7.😀", "7\u0301", "75", "##5", "##ed", "[UNK]", "b" * 101, "--"]
    ids = sorted(rng.choice(119_547, len(entries), replace=False).tolist())
    known = dict(zip(entries, ids, strict=True))
    for number, atom in enumerate(ATOMS):
        pair = [atom, rng.choice(ATOMS).item()][:: rng.choice([-1, 1])]
        for text in (atom, 2 * atom, f"{atom} {atom}", ["", " ", "\n"][number % 3].join(pair)):
            for lowercase in (True, False):
                right = reference.basic_tokens(text, lowercase=lowercase)
                checks.same(student.basic_tokens(text, lowercase=lowercase), right,
                            of=f"the tokens of {text[:20]!r}, lowercase={lowercase}")  # fmt: skip
            checks.same(student.encode(text, known, lowercase=number % 2 > 0),
                        reference.encode(text, known, lowercase=number % 2 > 0),
                        of=f"the ids of {text[:20]!r}, lowercase={number % 2 > 0}")  # fmt: skip


def test_a_word_may_be_any_characters_and_a_vocabulary_any_pieces(student):
    rng = checks.rng(32)
    checks.same(student.wordpieces("purred", {}), ["[UNK]"], of="the pieces of 'purred', where the "
                "vocabulary is empty")  # fmt: skip
    for alphabet in ("abcd", "0129", "x.-'", "中国かな", "aB7_", "😀𐐀a", "[UNK]", "#a", "é\u0301e"):
        letters, continued = [*alphabet], [f"##{c}" for c in alphabet]
        some = ["".join(rng.choice(letters, rng.integers(1, 4))) for _ in range(8)]
        later = [f"##{piece}" for piece in some[4:]]
        word = "".join(rng.choice(letters, 11))
        for pieces in (  # whole words alone, what continues a word alone, and both
            [*some, *letters, word],
            continued + later,
            [*continued, *some[:4], *letters, *later],
            [*later, *some[:4], f"##{word[4:]}", word[:4], *continued],
        ):
            names = [*dict.fromkeys([*pieces, "[UNK]"])]
            for given in (word, word[: rng.integers(1, 3)], 2 * word, rng.choice(names).item()):
                ids = rng.permutation(len(names)).tolist()
                vocabulary = dict(zip(names, ids, strict=True))
                longest = rng.choice([100, 100, len(given), len(given) - 1]).item()
                checks.same(student.wordpieces(given, vocabulary, longest_word=longest),
                            any_word(given, vocabulary, longest_word=longest),
                            of=f"the pieces of {given!r}, of which {longest} characters are "
                               f"allowed, with the vocabulary {vocabulary}")  # fmt: skip


def test_nothing_is_left_behind(student):
    vocabulary = numbered(PIECES)
    given_by_name = (student.basic_tokens(text="a b"),
                     student.wordpieces(word="purred", vocabulary=vocabulary),
                     student.encode(text="purred", vocabulary=vocabulary))  # fmt: skip
    checks.same(given_by_name[0], ["a", "b"], of="the tokens of 'a b'")
    checks.leaves_no_trace(student.basic_tokens, "Ça va?", lowercase=True)
    checks.leaves_no_trace(student.wordpieces, "purred", vocabulary)
    checks.leaves_no_trace(student.wordpieces, "unknowable", vocabulary)
    checks.leaves_no_trace(student.encode, "Zoë purred unknowably.", vocabulary)
    grown = dict(zip(("[UNK]", "purr", "the", "##ed", "purred"), range(5), strict=True))
    for function in (student.wordpieces, student.encode):  # before, `purred` is no entry of it
        checks.leaves_no_trace(function, "purred", grown)
    first = {"[UNK]": 99, **vocabulary}
    for function, given in ((student.wordpieces, "purred"), (student.encode, "it purrs")):
        left = function.trace(given, first).inputs[0][1]
        checks.that([*left.items()] == [*first.items()],
                    f"{function.name} changes the order of the vocabulary's entries",
                    likely="an entry is taken out and put back: look it up alone")  # fmt: skip
    bare = {piece: number for piece, number in numbered(PIECES).items() if piece != "[UNK]"}
    for word in ("purred", "purrer", "q", "x" * 102, "[UNK]"):  # known, not, too long
        left = student.wordpieces.trace(word, bare).inputs[0][1]
        checks.that(left == bare, f"wordpieces({word[:20]!r}, …) changes a vocabulary without "
                    f"[UNK]: {len(bare)} entries before, {len(left)} after",
                    likely="an entry is added for what is unknown: only look entries up"
                    )  # fmt: skip
    # What is kept for the next call must go by every entry: these have the same size and [UNK].
    exchanged = vocabulary | {"purr": vocabulary["##ed"], "##ed": vocabulary["purr"]}
    other = {{"##ed": "##er", "purr": "purre"}.get(piece, piece): number
             for piece, number in vocabulary.items()}  # fmt: skip
    kept = "a result is kept, and found again by less than every entry of the vocabulary"
    for given in (vocabulary, exchanged, other):
        checks.same(student.wordpieces("purred", given), reference.wordpieces("purred", given),
                    of="the pieces of 'purred' after a call with other pieces",
                    mistakes={kept: ["purr", "##ed"]})  # fmt: skip
        checks.same(student.encode("it purred", given), reference.encode("it purred", given),
                    of="the ids of 'it purred' after a call with another vocabulary",
                    mistakes={kept: reference.encode("it purred", vocabulary)})  # fmt: skip
    for longest, right in ((100, ["purr", "##ed"]), (5, ["[UNK]"]), (6, ["purr", "##ed"])):
        checks.same(student.wordpieces("purred", vocabulary, longest_word=longest), right,
                    of=f"the pieces of 'purred' where {longest} characters are allowed, after a "
                       "call where other numbers were", mistakes={
                           "a result is kept, and found again without longest_word": (
                               lambda out: out in (["purr", "##ed"], ["[UNK]"]))})  # fmt: skip
