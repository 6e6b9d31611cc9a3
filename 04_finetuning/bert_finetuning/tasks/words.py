"""Words on one side, WordPiece on the other: which piece answers for which word.

    words     Sørensen        's      left
    pieces    so  ##ren  ##sen  '  s  left
    answers   ▲                 ▲     ▲

The first piece of each word answers for all of it (section 5.3: "the representation of the first
sub-token"). Every word has one: a word of which WordPiece leaves nothing, a control character or a
lone accent, is read as [UNK].
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

from bert_finetuning.features import encodable

WORDS_AT_ONCE = 10_000  # handed to the tokenizer, which encodes them on all cores

# Words as the tagged corpora have them: punctuation and 's stand apart, U.S. and 3,000 do not.
MARKS = "\u0300-\u036f"  # accents that stand alone after their letter
CLITIC = "(?:s|re|ve|ll|d|m)\\b"
WORD = re.compile(
    rf"https?://\S+"
    rf"|(?:[^\W\d_]\.){{2,}}"
    rf"|[@#]?[\w{MARKS}]+(?:-[\w{MARKS}]+|['’](?!{CLITIC})[\w{MARKS}]+|(?<=\d)[.,:]\d+)*"
    rf"|['’]{CLITIC}"
    rf"|\S"
)


class Stretch(NamedTuple):
    """Words of one sentence, next to each other, that the model reads at once."""

    first: int  # the number of its first word in the sentence
    pieces: list[int]  # the tokens of its words
    starts: list[int]  # of each word, the place of its first piece among them


def pieces_of_words(
    sentences: Sequence[Sequence[str]], tokenizer: Tokenizer
) -> list[list[list[int]]]:
    """The tokens of every word, at least one each. Different words are encoded once, alone."""
    words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    nothing = [tokenizer.token_to_id("[UNK]")]
    pieces: dict[str, list[int]] = {}
    for first in range(0, len(words), WORDS_AT_ONCE):
        part = words[first : first + WORDS_AT_ONCE]
        encodings = tokenizer.encode_batch_fast(
            [encodable(word) for word in part], add_special_tokens=False
        )
        pieces.update(
            (word, each.ids or nothing) for word, each in zip(part, encodings, strict=True)
        )
    return [[pieces[word] for word in sentence] for sentence in sentences]


def stretches(words: Sequence[list[int]], *, room: int) -> Iterator[Stretch]:
    """A sentence in stretches of at most `room` tokens, cut between words, each as long as can be.

    A word with more pieces than that is cut to its first ones: they hold the piece that answers.
    """
    first, pieces, starts = 0, [], []
    for number, word in enumerate(words):
        word = word[:room]
        if len(pieces) + len(word) > room:
            yield Stretch(first, pieces, starts)
            first, pieces, starts = number, [], []
        starts.append(len(pieces))
        pieces.extend(word)
    if starts:
        yield Stretch(first, pieces, starts)


def split_words(text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """A text as words, and the characters of each.

    >>> split_words("Anna's cat, 3.5 kg")[0]
    ('Anna', "'s", 'cat', ',', '3.5', 'kg')
    """
    found = list(WORD.finditer(text))
    return tuple(match.group() for match in found), tuple(match.span() for match in found)
