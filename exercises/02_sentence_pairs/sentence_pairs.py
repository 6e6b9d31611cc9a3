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
    sentences as it takes to have `target` tokens or more, or what is left of the document. A is its
    first sentence or sentences: every number is equally likely, but at least one sentence is left
    for B. With probability `random_next`, and always if the chunk has only one sentence, B is part
    of another document: every other document is equally likely, and so is each of its sentences as
    the first of B, which continues until it has the `target - len(A)` tokens that A leaves (at
    least one sentence), or the document ends. The label is then IS_RANDOM, and the next chunk
    begins right after A. Otherwise B is the rest of the chunk, the label is IS_NEXT, and the next
    chunk begins after B. There are at least two documents, and no document or sentence is empty.
    """
    raise NotImplementedError("write sentence_pairs")


def truncate_pair(
    a: list[int], b: list[int], room: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """A and B, cut until both together have `room` tokens or fewer.

    Tokens are removed one by one, from the longer segment (from B when they are equally long), from
    its front or its back with equal probability, drawn anew for each token. `a` and `b` are not
    changed.
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
