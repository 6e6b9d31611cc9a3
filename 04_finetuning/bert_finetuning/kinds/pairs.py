"""Texts and pairs of texts as rows of tokens, cut to fit:

    [CLS] text [SEP]            [CLS] text [SEP] pair [SEP]
      0    0     0                0    0     0    1     1

What is cut is counted, and told once.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from bert_finetuning.kinds.base import Batch, Reading, padded
from bert_finetuning.words import encodable
from bert_run.errors import UserError

AT_ONCE = 1_000  # texts handed to the tokenizer, which encodes them on all cores
SHOWN = 40  # characters of a text in a message
SHORTEST = 8  # tokens; fewer leave no room for a pair


class Row(NamedTuple):
    input_ids: list[int]
    token_type_ids: list[int]


def token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of each text, no special ones among them."""
    ids = []
    for first in range(0, len(texts), AT_ONCE):
        part = [encodable(text) for text in texts[first : first + AT_ONCE]]
        ids += [each.ids for each in tokenizer.encode_batch(part, add_special_tokens=False)]
    return ids


def row(tokenizer: Tokenizer, text: list[int], pair: list[int] | None = None) -> Row:
    """What the model reads, the special tokens in their places."""
    cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    first = [cls_id, *text, sep_id]
    if pair is None:
        return Row(first, [0] * len(first))
    return Row([*first, *pair, sep_id], [0] * len(first) + [1] * (len(pair) + 1))


def fit(text: list[int], pair: list[int] | None, room: int) -> tuple[list[int], list[int] | None]:
    """Both, cut at their ends to `room` tokens in all, token by token from the longer one.

    So does the released code (`_truncate_seq_pair`): where the two are equal, the pair gives way.
    """
    if pair is None:
        return text[:room], None
    if len(text) + len(pair) <= room:
        return text, pair
    kept = min(len(text), max(room - len(pair), room - room // 2))
    return text[:kept], pair[: room - kept]


def fitted(
    tokenizer: Tokenizer, texts: Sequence[tuple[str, str | None]], *, max_length: int, what: str
) -> list[Row]:
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
        rows.append(row(tokenizer, *fit(ids, seconds, room)))
    tell_cut(cut, [text for text, _ in texts], max_length=max_length, what=what)
    return rows


def check_max_length(max_length: int) -> None:
    if max_length < SHORTEST:
        raise UserError(f"the longest reading is {max_length} tokens: give {SHORTEST} or more")


def tell_cut(
    cut: Sequence[int], texts: Sequence[str], *, max_length: int, what: str = "texts"
) -> None:
    """One line on standard error, if anything was cut: how many, and which was the first."""
    if cut:
        print(
            f"note: {len(cut):,} of {len(texts):,} {what} are longer than {max_length} tokens and "
            f"are cut; the first is number {cut[0] + 1:,}: {shortened(texts[cut[0]])}",
            file=sys.stderr,
        )


def shortened(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def inputs(readings: Sequence[Reading], *, pad_id: int) -> Batch:
    """What every model reads, padded to the longest: tokens, segments, and which are no padding."""
    ids = padded([reading.input_ids for reading in readings], fill=pad_id)
    mask = padded([[1] * len(reading.input_ids) for reading in readings], fill=0)
    segments = padded([reading.token_type_ids for reading in readings], fill=0)
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask}


def with_labels(batch: Batch, readings: Sequence[Reading], dtype: type) -> Batch:
    """The same batch with `labels`, if every reading has one."""
    labels = [reading.answers["labels"] for reading in readings if reading.answers]
    return batch | {"labels": np.array(labels, dtype)} if len(labels) == len(readings) else batch


def softmax(logits: np.ndarray) -> np.ndarray:
    """exp(x) / sum exp(x) over the last axis, in float64."""
    raised = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
