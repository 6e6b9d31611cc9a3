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
    raise NotImplementedError("write basic_tokens")


def wordpieces(word: str, vocabulary: dict[str, int], *, longest_word: int = 100) -> list[str]:
    """Cut one word into pieces of the vocabulary, greedily from the left.

    The first piece is the longest beginning of the word that the vocabulary knows. Then the same
    with what is left; a piece that does not begin the word stands in the vocabulary, and in the
    result, with `##` before it. Where no piece fits, the whole word is `["[UNK]"]`, and so is a
    word of more than `longest_word` characters.
    """
    raise NotImplementedError("write wordpieces")


def encode(text: str, vocabulary: dict[str, int], *, lowercase: bool = True) -> list[int]:
    """The ids of a text's pieces in order, without [CLS] and [SEP].

    Words are as `basic_tokens` cuts them, a word is at most 100 characters long.
    """
    raise NotImplementedError("write encode")
