"""Blanks with one right answer, and what settles it.

Each word that StoryWorld marks as settled by the left of its sentence, its right, both sides or
another sentence is hidden alone, and a model's first guess is compared with it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Int
from tokenizers import Tokenizer

from bert_corpus.pairs import Batch
from bert_corpus.storyworld.generator import Mark, Story
from bert_corpus.wordpiece import padded

SETTLED_BY = ("left", "right", "both", "other")
BATCH_SIZE = 128  # words hidden at a time

# Given a batch with masked words, a model's first guess for each of its masked positions.
Guess = Callable[[Batch], Int[np.ndarray, "batch masks"]]


@dataclass(frozen=True)
class Probe:
    """A document as the model reads it, and the pieces of one marked word in it."""

    input_ids: list[int]
    token_type_ids: list[int]
    pieces: range
    mark: Mark


def probes_of(story: Story, tokenizer: Tokenizer, *, wanted: str,
              seq_length: int) -> Iterator[Probe]:  # fmt: skip
    """A probe for every mark of a story for which `mark.<wanted>` is given.

    The document is read as a pair, its first half and its second. Beyond `seq_length` the sentences
    farthest from the marked one are left out; a word that is still beyond has no probe.
    """
    cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    encoded = [tokenizer.encode(s.text, add_special_tokens=False) for s in story.sentences]
    lengths = np.array([len(e.ids) for e in encoded])
    for number, sentence in enumerate(story.sentences):
        marks = [mark for mark in sentence.marks if getattr(mark, wanted) is not None]
        if not marks:
            continue
        first, last = window(lengths, number, room=seq_length - 3)
        middle = first + max(1, (last - first) // 2)
        a = [cls_id, *chain(*(e.ids for e in encoded[first:middle])), sep_id]
        b = [*chain(*(e.ids for e in encoded[middle:last])), sep_id] if middle < last else []
        ids, segments = a + b, [0] * len(a) + [1] * len(b)
        begin = 1 + int(lengths[first:number].sum()) + (number >= middle)  # in `ids`
        for mark in marks:
            pieces = [i for i, (start, end) in enumerate(encoded[number].offsets)
                      if mark.start <= start and end <= mark.end]  # fmt: skip
            if pieces and (end := begin + pieces[-1] + 1) <= seq_length:
                yield Probe(ids, segments, range(begin + pieces[0], end), mark)


def window(lengths: np.ndarray, target: int, *, room: int) -> tuple[int, int]:
    """The sentences [first, last) around `target` that fit into `room` tokens."""
    first, last = 0, len(lengths)
    while last - first > 1 and lengths[first:last].sum() > room:
        if target - first >= last - 1 - target:
            first += 1
        else:
            last -= 1
    return first, last


def inputs_of(probes: list[Probe], tokenizer: Tokenizer, *, seq_length: int) -> Batch:
    """`input_ids`, `token_type_ids` and `attention_mask` of some probes, (batch, longest)."""
    length = min(seq_length, max(len(p.input_ids) for p in probes))
    rows = [(p.input_ids[:length], p.token_type_ids[:length]) for p in probes]
    return padded(rows, length, tokenizer.token_to_id("[PAD]"))


def hidden(probes: list[Probe], tokenizer: Tokenizer, *, seq_length: int) -> Batch:
    """The inputs with the marked words hidden: their places are `masked_lm_positions`, what stood
    there `masked_lm_ids`, (batch, masks).

    A word of fewer pieces than another repeats its last one: a repeated answer changes nothing.
    """
    batch = inputs_of(probes, tokenizer, seq_length=seq_length)
    most = max(len(probe.pieces) for probe in probes)
    positions = np.array([[*p.pieces, *[p.pieces[-1]] * (most - len(p.pieces))] for p in probes])
    answers = np.take_along_axis(batch["input_ids"], positions, axis=1)
    np.put_along_axis(batch["input_ids"], positions, tokenizer.token_to_id("[MASK]"), axis=1)
    return batch | {"masked_lm_positions": positions, "masked_lm_ids": answers,
                    "masked_lm_weights": np.ones(positions.shape, np.float32)}  # fmt: skip


def measure_settled_words(guess: Guess, tokenizer: Tokenizer, stories: Iterable[Story], *,
                          seq_length: int) -> dict[str, dict[str, float]]:  # fmt: skip
    """Top-1 accuracy on marked words, by what settles them: {"left": {"right": …, "of": …}, …}.

    A word of several pieces has all of them hidden, and counts when all are found.
    """
    found = (probes_of(story, tokenizer, wanted="settled_by", seq_length=seq_length)
             for story in stories)  # fmt: skip
    # Like lengths together: little padding.
    probes = sorted(chain.from_iterable(found), key=lambda probe: len(probe.input_ids))
    right, total = defaultdict(int), defaultdict(int)
    for start in range(0, len(probes), BATCH_SIZE):
        part = probes[start : start + BATCH_SIZE]
        batch = hidden(part, tokenizer, seq_length=seq_length)
        found = (guess(batch) == batch["masked_lm_ids"]).all(axis=1)
        for probe, good in zip(part, found.tolist(), strict=True):
            total[probe.mark.settled_by] += 1
            right[probe.mark.settled_by] += good
    return {kind: {"right": right[kind], "of": total[kind], "accuracy": right[kind] / total[kind]}
            for kind in SETTLED_BY if total[kind]}  # fmt: skip
