"""WordPiece: text becomes words, words become pieces that a vocabulary knows, pieces become ids."""

import unicodedata


def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:
    """Cut text into words and punctuation marks; no token is empty.

    With `lowercase`, accents are taken off (in Unicode's form NFD every character of category Mn is
    one) and capital letters become small; without it, no character is changed. Words end at white
    space. Every punctuation mark is a token of its own: that is any character whose Unicode
    category begins with P, and any other printable ASCII character that is no letter, digit or
    space, such as `$` and `+`.
    """
    # begin solution
    if lowercase:
        # é can be one character, or e and an accent that is put upon it. NFD makes all of them the
        # second kind, so that the accents can be dropped; NFKD would also make fi of the ligature
        # ﬁ. The order does not matter, but that both hang on `lowercase` does: a cased model has
        # é in its vocabulary.
        decomposed = unicodedata.normalize("NFD", text)
        text = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
        text = "".join(char.lower() for char in text)
    # Spaces around the marks, and the cut at white space does the rest: it knows tabs, line ends
    # and hard spaces, and gives no empty words.
    return "".join(f" {char} " if is_punctuation(char) else char for char in text).split()
    # end solution


# begin solution
def is_punctuation(char):
    # Unicode counts $ + < = > ^ ` | ~ as symbols, categories Sc, Sk and Sm; `string.punctuation`
    # holds all 32 ASCII marks and nothing else: neither “ nor — nor ¿. It takes both.
    is_ascii_mark = char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    return is_ascii_mark or unicodedata.category(char).startswith("P")


# end solution


def wordpieces(word: str, vocabulary: dict[str, int], *, longest_word: int = 100) -> list[str]:
    """Cut one word into pieces of the vocabulary, greedily from the left.

    The first piece is the longest beginning of the word that the vocabulary knows. Then the same
    with what is left; a piece that does not begin the word stands in the vocabulary, and in the
    result, with `##` before it. Where no piece fits, the whole word is `["[UNK]"]`, and so is a
    word of more than `longest_word` characters.
    """
    # begin solution
    if len(word) > longest_word:  # "more than": a word of exactly 100 characters is still cut
        return ["[UNK]"]
    pieces = []
    start = 0
    while start < len(word):
        prefix = "##" if start > 0 else ""
        # From the longest to the shortest; `start` is left out, for an empty piece would fit
        # for ever.
        for end in range(len(word), start, -1):
            piece = prefix + word[start:end]
            if piece in vocabulary:
                pieces.append(piece)
                start = end
                break
        else:
            # Not even one character fits. What was found so far is thrown away, and no shorter
            # beginning is tried: greedy means that a piece, once taken, is kept.
            return ["[UNK]"]
    return pieces
    # end solution


def encode(text: str, vocabulary: dict[str, int], *, lowercase: bool = True) -> list[int]:
    """The ids of a text's pieces in order, without [CLS] and [SEP].

    Words are as `basic_tokens` cuts them, a word is at most 100 characters long.
    """
    # begin solution
    words = basic_tokens(text, lowercase=lowercase)
    # [UNK] is an entry like any other; its id is 100 in the released vocabularies, not in all.
    return [vocabulary[piece] for word in words for piece in wordpieces(word, vocabulary)]
    # end solution


# begin solution
# Wrong answers that are common:
# - the shortest piece first: the word falls into letters;
# - pieces found before the unknown place are kept, and [UNK] is put behind them;
# - another cut is looked for where the greedy one fails: the released vocabularies were made for
#   the greedy one, and the ids would not be those that the model was trained with;
# - accents taken off a cased text, or every letter that is not ASCII dropped;
# - `string.punctuation` alone, or the category P alone;
# - the id of [UNK] written in.
# end solution
