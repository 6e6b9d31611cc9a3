"""Sentence pairs: what follows what, which pairs are random, and how two segments fill a row."""

import numpy as np
from jaxtyping import Int64
from numpy import ndarray

IS_NEXT, IS_RANDOM = 0, 1


def sentence_pairs(
    documents: list[list[list[int]]],
    index: int,
    rng: np.random.Generator,
    *,
    target: int,
    random_next: float = 0.5,
) -> list[tuple[list[int], list[int], int]]:
    """All pairs (A, B, label) of document `index`, in order (Devlin et al. 2018, appendix A.2).

    A document is a list of sentences, a sentence a list of ids. A chunk is as many consecutive
    sentences as it takes to have `target` tokens or more, or what is left of the document. Its
    first sentences are A, how many is drawn, each number as likely as the other; one at least is
    left over. With probability `random_next`, and always if the chunk has only one sentence, B is
    a stretch of another document: each other document is as likely, each of its sentences as likely
    to be the first, and it goes on until it has the `target - len(A)` tokens that A leaves (one
    sentence at least), or the document ends. The label is then IS_RANDOM, and the next chunk begins
    right behind A. Otherwise B is the rest of the chunk, the label IS_NEXT, and the next chunk
    begins behind B. There are two documents or more, none empty.
    """
    raise NotImplementedError("write sentence_pairs")


def truncate_pair(
    a: list[int], b: list[int], room: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """A and B, cut until both together have `room` tokens or fewer.

    One token after another goes: from the longer segment (from B when they are equal), from its
    front or from its back as a coin falls, a new coin for each token. `a` and `b` are left as they
    are.
    """
    raise NotImplementedError("write truncate_pair")


def frame_pair(
    a: list[int], b: list[int], *, seq_length: int, cls_id: int, sep_id: int, pad_id: int
) -> tuple[Int64[ndarray, "seq"], Int64[ndarray, "seq"], Int64[ndarray, "seq"]]:
    """`input_ids`, `token_type_ids` and `attention_mask` of a pair that fits, each int64.

    The ids are [CLS] A [SEP] B [SEP] and padding up to `seq_length`. The types are 0 for
    [CLS] A [SEP], 1 for B [SEP], and 0 on padding; the mask is 1 on tokens, 0 on padding.
    """
    raise NotImplementedError("write frame_pair")
