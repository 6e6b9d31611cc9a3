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
    # begin solution
    sentences = documents[index]
    pairs, start = [], 0
    while start < len(sentences):
        end = end_of_stretch(sentences, start, target)
        # A takes 1, 2, … or all but one: `integers` excludes its upper end.
        middle = rng.integers(start + 1, end) if end - start > 1 else end
        a = joined(sentences[start:middle])
        # In a chunk of one sentence nothing is left to follow A, so the fraction of random pairs is
        # above `random_next`: with one paragraph per line it is nearly 1.
        if end - start == 1 or rng.random() < random_next:
            # One of the n - 1 others: numbers from `index` on move up by one, to skip `index`.
            other = rng.integers(len(documents) - 1)
            other += other >= index
            first = rng.integers(len(documents[other]))
            last = end_of_stretch(documents[other], first, target - len(a))
            pairs.append((a, joined(documents[other][first:last]), IS_RANDOM))
            start = middle  # the rest of the chunk was not used
        else:
            pairs.append((a, joined(sentences[middle:end]), IS_NEXT))
            start = end
    return pairs
    # end solution


# begin solution
def end_of_stretch(sentences, start, target):
    """The end of the sentences from `start` on that have `target` tokens; at least one sentence."""
    end, tokens = start + 1, len(sentences[start])
    while end < len(sentences) and tokens < target:
        tokens += len(sentences[end])
        end += 1
    return end


def joined(sentences):
    # A new list. `a = sentences[0]` and then `a += sentences[1]` would write into the document.
    return [token for sentence in sentences for token in sentence]


# end solution


def truncate_pair(
    a: list[int], b: list[int], room: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """A and B, cut until both together have `room` tokens or fewer.

    Tokens are removed one by one, from the longer segment (from B when they are equally long), from
    its front or its back with equal probability, drawn anew for each token. `a` and `b` are not
    changed.
    """
    # begin solution
    a, b = list(a), list(b)
    while len(a) + len(b) > room:
        longer = a if len(a) > len(b) else b
        # If only the back were cut, the model would rarely see how long texts end.
        del longer[0 if rng.random() < 0.5 else -1]
    return a, b
    # end solution


def frame_pair(
    a: list[int], b: list[int], *, seq_length: int, cls_id: int, sep_id: int, pad_id: int
) -> tuple[Int64[ndarray, "seq"], Int64[ndarray, "seq"], Int64[ndarray, "seq"]]:
    """`input_ids`, `token_type_ids` and `attention_mask` of a pair that fits, each int64.

    The ids are [CLS] A [SEP] B [SEP] and padding up to `seq_length`. The types are 0 for
    [CLS] A [SEP], 1 for B [SEP], and 0 on padding; the mask is 1 on tokens, 0 on padding.
    """
    # begin solution
    tokens = [cls_id, *a, sep_id, *b, sep_id]
    padding = [0] * (seq_length - len(tokens))
    # The first [SEP] belongs to A, the second to B. Only the mask tells padding from A, never the
    # id: `input_ids != pad_id` would be wrong for a word that has this id.
    types = [0] * (len(a) + 2) + [1] * (len(b) + 1) + padding
    mask = [1] * len(tokens) + padding
    ids = tokens + [pad_id] * len(padding)
    return tuple(np.array(row, np.int64) for row in (ids, types, mask))
    # end solution


# begin solution
# Wrong answers that are common:
# - 1 for "is next": the released code and its weights have it the other way round;
# - a random B that may come from the same document, or always from the next one;
# - the other documents found by their content (`d != documents[index]`), not by their index;
# - B from the same document, but in the wrong order: that is ALBERT's task, another question;
# - the sentences of the chunk that a random B replaced are lost: a quarter of the corpus is never
#   read;
# - a chunk of one sentence with an empty B;
# - cutting the back alone, or B alone, or one coin for all tokens;
# - types that are zero everywhere, or 1 on padding, or 1 on the first [SEP].
# end solution
