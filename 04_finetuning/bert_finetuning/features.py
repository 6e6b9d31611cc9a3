"""Examples as features: rows of token ids, framed by special tokens and cut to fit.

    [CLS] text [SEP]            [CLS] text [SEP] pair [SEP]
      0    0     0                0    0     0    1     1

Then features as one batch of arrays, padded to the longest. Texts that are cut are counted and
reported once.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Encoding, Tokenizer

from bert_finetuning.data.rows import quoted, say
from bert_run.errors import UserError

AT_ONCE = 1_000  # texts handed to the tokenizer, which encodes them on all cores
SHORTEST = 8  # tokens; fewer leave no room for a pair
HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")

Batch = dict[str, np.ndarray]


class Features(NamedTuple):
    """What the model reads at once, and what it should answer."""

    example: int  # the place of its example in the list
    input_ids: list  # of tokens; of a choice one such list an ending
    token_type_ids: list
    targets: dict[str, Any]  # under the names of the batch; empty where nothing is known
    place: Any = None  # what leads from its tokens back to the example

    @property
    def length(self) -> int:
        """Tokens of the longest row, by which features are sorted."""
        rows = self.input_ids
        return max(map(len, rows)) if rows and isinstance(rows[0], list) else len(rows)


class TokenRow(NamedTuple):
    input_ids: list[int]
    token_type_ids: list[int]


# --- From text to rows of tokens -----------------------------------------------------------------


def encodings(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[Encoding]:
    """Each text in tokens, without special ones, and the characters of each token."""
    for first in range(0, len(texts), AT_ONCE):
        part = [whole_characters(text) for text in texts[first : first + AT_ONCE]]
        yield from tokenizer.encode_batch(part, add_special_tokens=False)


def whole_characters(text: str) -> str:
    """The same text, as long, without halves of characters: JSON may hold them, no encoding can."""
    return HALF_A_CHARACTER.sub("\ufffd", text)


def token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of each text, without special ones."""
    return [each.ids for each in encodings(tokenizer, texts)]


def framed(tokenizer: Tokenizer, text: list[int], pair: list[int] | None = None) -> TokenRow:
    """What the model reads: the tokens with the special tokens in their places."""
    cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    first = [cls_id, *text, sep_id]
    if pair is None:
        return TokenRow(first, [0] * len(first))
    return TokenRow([*first, *pair, sep_id], [0] * len(first) + [1] * (len(pair) + 1))


def truncated(
    text: list[int], pair: list[int] | None, room: int
) -> tuple[list[int], list[int] | None]:
    """Both, cut at their ends to `room` tokens in all, token by token from the longer one.

    So does the released code (`_truncate_seq_pair`): where the two are equal, the pair gives way.
    """
    if pair is None:
        return text[:room], None
    if len(text) + len(pair) <= room:
        return text, pair
    kept = min(len(text), max(room - len(pair), room - room // 2))
    return text[:kept], pair[: room - kept]


def encode_pairs(
    tokenizer: Tokenizer, texts: Sequence[tuple[str, str | None]], *, max_length: int, what: str
) -> list[TokenRow]:
    """A row for each text or pair; one line on standard error counts those that were cut."""
    check_max_length(max_length)
    pairs = iter(token_ids(tokenizer, [pair for _, pair in texts if pair is not None]))
    rows, cut = [], []
    firsts = token_ids(tokenizer, [text for text, _ in texts])
    for number, (ids, (_, pair)) in enumerate(zip(firsts, texts, strict=True)):
        seconds = None if pair is None else next(pairs)
        room = max_length - (2 if pair is None else 3)
        if len(ids) + len(seconds or ()) > room:
            cut.append(number)
        rows.append(framed(tokenizer, *truncated(ids, seconds, room)))
    report_cut(cut, [text for text, _ in texts], max_length=max_length, what=what)
    return rows


def check_max_length(max_length: int) -> None:
    if max_length < SHORTEST:
        raise UserError(
            f"--max-length: {max_length} tokens at once are too few: give {SHORTEST} or more"
        )


def report_cut(
    cut: Sequence[int], texts: Sequence[str], *, max_length: int, what: str, how: str = "cut"
) -> None:
    """One line on standard error, if anything was cut: how many, and which was the first."""
    if cut:
        say(f"note: {len(cut):,} of {len(texts):,} {what} are longer than {max_length} tokens and "
            f"are {how}; the first is number {cut[0] + 1:,}: {quoted(texts[cut[0]])}")  # fmt: skip


# --- From features to a batch --------------------------------------------------------------------


def padded(rows: Sequence[Sequence[int]], *, fill: int, seq: int | None = None) -> np.ndarray:
    """Rows of different lengths as one array (rows, seq), filled up on the right."""
    array = np.full((len(rows), seq or max(map(len, rows))), fill, np.int64)
    for row, values in zip(array, rows, strict=True):
        row[: len(values)] = values
    return array


def collate_inputs(features: Sequence[Features], *, pad_id: int) -> Batch:
    """What every model reads, padded to the longest: tokens, segments, and which are no padding."""
    ids = padded([each.input_ids for each in features], fill=pad_id)
    mask = padded([[1] * len(each.input_ids) for each in features], fill=0)
    segments = padded([each.token_type_ids for each in features], fill=0)
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask}


def with_labels(batch: Batch, features: Sequence[Features], dtype: type) -> Batch:
    """The same batch with `labels`, if all features have one."""
    labels = [each.targets["labels"] for each in features if each.targets]
    return batch | {"labels": np.array(labels, dtype)} if len(labels) == len(features) else batch
