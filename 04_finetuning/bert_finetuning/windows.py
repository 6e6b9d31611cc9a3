"""A question and its text as windows: [CLS] question [SEP] a part of the text [SEP].

    text      ├──────────────────────────────────────────────┤
    windows   ├───────────────────┤
                      ├───────────────────┤                     a new one every `stride` tokens
                              ├──────────────────────┤
    best      ├───────────┤───────┤──────────────────┤          who sees most around a token

Each token knows its characters in the text as it was given: an answer is cut out from there,
accents, capitals and all, never put together from pieces.
"""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Int32
from numpy import ndarray
from tokenizers import Tokenizer

from bert_finetuning.examples import Answer
from bert_finetuning.words import encodable

AT_ONCE = 1_000  # texts handed to the tokenizer, which encodes them on all cores

Offsets = Int32[ndarray, "tokens 2"]  # the first character of each token, and one past its last


class Text(NamedTuple):
    """A text in tokens, no special ones among them."""

    ids: list[int]
    offsets: Offsets


class Window(NamedTuple):
    """The part of a text that is read at once, and where it stands."""

    first: int  # the number of its first token in the text
    offsets: Offsets
    best: Bool[ndarray, "tokens"]  # no other window sees more around this token


class TokenSpan(NamedTuple):
    """From the first token of an answer to its last."""

    first: int
    last: int


def texts_in_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> dict[str, Text]:
    """Each different text encoded once: a text has many questions."""
    different = list(dict.fromkeys(texts))
    found = {}
    for first in range(0, len(different), AT_ONCE):
        part = different[first : first + AT_ONCE]
        encodings = tokenizer.encode_batch(
            [encodable(text) for text in part], add_special_tokens=False
        )
        for text, each in zip(part, encodings, strict=True):
            found[text] = Text(each.ids, np.array(each.offsets, np.int32).reshape(-1, 2))
    return found


def windows_of(text: Text, room: int, *, stride: int) -> list[Window]:
    """The windows of a text, each of at most `room` tokens; one if the text is empty."""
    firsts = first_tokens(len(text.ids), room=room, stride=stride)
    best = best_windows(len(text.ids), firsts, room=room)
    return [
        Window(first, text.offsets[first : first + room], best[first : first + room] == own)
        for own, first in enumerate(firsts)
    ]


def first_tokens(tokens: int, *, room: int, stride: int) -> list[int]:
    """Where windows begin: every `stride` tokens, until one reaches the end.

    At least every half window, so that an answer across a border lies whole in the next window;
    at the paper's lengths (384 tokens, stride 128) this changes nothing.
    """
    stride = min(stride, max(1, room // 2))
    return list(range(0, max(tokens - room, 0) + stride, stride))


def best_windows(tokens: int, firsts: Sequence[int], *, room: int) -> Int[ndarray, "tokens"]:
    """For each token, the number of the window in which it has most context on its poorer side.

    A hundred tokens more in a window count for one of context, and of equals the first wins, as in
    the released code (`_check_is_max_context`).
    """
    first = np.array(firsts)[:, None]  # (windows, 1)
    size = np.minimum(tokens - first, room)
    left = np.arange(tokens) - first  # (windows, tokens)
    right = size - 1 - left
    context = np.minimum(left, right) + 0.01 * size
    return np.where((left >= 0) & (right >= 0), context, -np.inf).argmax(axis=0)


def tokens_of(answer: Answer, offsets: Offsets) -> TokenSpan | None:
    """The tokens that hold its characters; None if WordPiece leaves nothing of them.

    They hold more where the answer begins or ends inside a token, as "US" does in "USSR".
    """
    end = answer.start + len(answer.text)
    first = int(np.searchsorted(offsets[:, 1], answer.start, side="right"))
    last = int(np.searchsorted(offsets[:, 0], end, side="left")) - 1
    return TokenSpan(first, last) if first <= last else None


def in_window(span: TokenSpan, window: Window) -> TokenSpan | None:
    """The same span counted from the window's first token, if all of it is there."""
    first, last = span.first - window.first, span.last - window.first
    return TokenSpan(first, last) if first >= 0 and last < len(window.offsets) else None


def characters_of(span: TokenSpan, offsets: Offsets, text: str) -> tuple[int, int]:
    """Its first character, and one past its last.

    Accents written as characters of their own belong to the letter before them, though WordPiece
    drops them.
    """
    start, end = int(offsets[span.first, 0]), int(offsets[span.last, 1])
    while end < len(text) and unicodedata.category(text[end]) == "Mn":
        end += 1
    return start, end
