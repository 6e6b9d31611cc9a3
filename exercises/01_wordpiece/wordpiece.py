"""WordPiece: text becomes words, words become pieces that a vocabulary knows, pieces become ids."""

import string
import unicodedata


def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:
    """Cut text into words and punctuation marks; no token is empty.

    With `lowercase`, accents are removed (the characters of category Mn in Unicode's form NFD) and
    every letter becomes lower case; without it, no character is changed. Words end at white space.
    Every punctuation mark is a token of its own: a punctuation mark is any character whose Unicode
    category begins with P, or one of the 32 characters of `string.punctuation`, such as `$`.
    """
    raise NotImplementedError("write basic_tokens")


def wordpieces(word: str, vocabulary: dict[str, int], *, longest_word: int = 100) -> list[str]:
    """Cut one word into pieces of the vocabulary, greedily from the left.

    The first piece is the longest prefix of the word that is in the vocabulary; then the same for
    the rest of the word. A piece that does not begin the word has `##` before it, both in the
    vocabulary and in the result. If at some point no piece fits, the result is `["[UNK]"]`, and
    also for a word of more than `longest_word` characters.
    """
    raise NotImplementedError("write wordpieces")


def encode(text: str, vocabulary: dict[str, int], *, lowercase: bool = True) -> list[int]:
    """The ids of a text's pieces in order, without [CLS] and [SEP].

    The words come from `basic_tokens`; a word of more than 100 characters is [UNK], as by default
    in `wordpieces`.
    """
    raise NotImplementedError("write encode")
