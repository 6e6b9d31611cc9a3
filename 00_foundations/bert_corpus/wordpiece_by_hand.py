"""WordPiece encoding written out: what `tokenizers` does, in plain Python, one step a function.

Text becomes ids in two stages (Devlin et al. 2018, section 3; the released `tokenization.py`):

1. *Basic tokenisation* cleans the text and cuts it into words and single punctuation marks.
2. *WordPiece* cuts each word into the longest pieces that the vocabulary knows, from the left.
   A piece that continues a word is written with `##` before it: `playing` -> `play ##ing`.

The course encodes with the `tokenizers` library, four times as fast on each core, and on all
cores at once; a test holds the two equal on random text.
"""

import unicodedata

LONGEST_WORD = 100  # characters; a longer "word" is no word, and becomes [UNK] whole

# The blocks of Chinese characters: written without spaces, so each becomes a word of its own.
CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # so in `tokenizers`; the released code begins this one at 0x2B820
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def clean(text: str) -> str:
    """Drop what cannot be seen (control and format characters); any white space is a space."""
    kept = []
    for char in text:
        if char in "\t\n\r":
            kept.append(" ")
        elif char in "\x00\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co"):
            continue
        else:
            kept.append(" " if char.isspace() else char)
    return "".join(kept)


def space_chinese(text: str) -> str:
    """Put a space on both sides of every Chinese character."""
    return "".join(f" {char} " if is_chinese(char) else char for char in text)


def is_chinese(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in CJK_BLOCKS)


def strip_accents(text: str) -> str:
    """`é` is written as `e` and a combining accent (Unicode's form NFD); drop the accent."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


def is_punctuation(char: str) -> bool:
    """Unicode's punctuation, and the ASCII symbols such as `$` and `+` that it counts apart."""
    is_ascii_symbol = char.isascii() and char.isprintable() and not (char.isalnum() or char == " ")
    return is_ascii_symbol or unicodedata.category(char).startswith("P")


def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:
    """Cut text into words and punctuation marks.

    >>> basic_tokens("Ça va, Zoë?")
    ['ca', 'va', ',', 'zoe', '?']
    """
    text = space_chinese(clean(text))
    if lowercase:
        text = "".join(char.lower() for char in strip_accents(text))
    tokens = []
    for word in text.split():
        start = 0
        for position, char in enumerate(word):
            if is_punctuation(char):
                tokens += [word[start:position], char]
                start = position + 1
        tokens.append(word[start:])
    return [token for token in tokens if token]


def wordpieces(word: str, vocabulary: dict[str, int]) -> list[str]:
    """Cut one word, greedily: the longest known piece first, then again with what is left.

    If at any point no piece fits, the whole word is unknown.

    >>> wordpieces("playing", {"play": 0, "##ing": 1, "##i": 2, "p": 3})
    ['play', '##ing']
    """
    if len(word) > LONGEST_WORD:
        return ["[UNK]"]
    pieces = []
    start = 0
    while start < len(word):
        prefix = "##" if start > 0 else ""
        for end in range(len(word), start, -1):
            piece = prefix + word[start:end]
            if piece in vocabulary:
                pieces.append(piece)
                start = end
                break
        else:  # not even one character fits
            return ["[UNK]"]
    return pieces


def encode(text: str, vocabulary: dict[str, int], *, lowercase: bool = True) -> list[int]:
    """The ids of a text, without [CLS] and [SEP]."""
    words = basic_tokens(text, lowercase=lowercase)
    return [vocabulary[piece] for word in words for piece in wordpieces(word, vocabulary)]
