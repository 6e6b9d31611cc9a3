"""Names of people and places: tags belong to words, and BERT reads pieces of words.

Tags are in BIO: `B-PER` begins a name of the type PER, `I-PER` goes on with it, `O` is outside.
"""

from jaxtyping import Float
from numpy import ndarray

IGNORED = -100  # the label of a token that nobody asks about

Entity = tuple[str, int, int]  # type, first word, one past the last word


def align(
    pieces: list[list[int]],
    labels: list[int],
    *,
    cls_id: int,
    sep_id: int,
    unk_id: int,
    max_length: int,
) -> dict[str, list[int]]:
    """A sentence as BERT reads it: `input_ids`, `labels` and `starts` (section 5.3).

    `pieces` holds the ids of each word's pieces, `labels` a number for each word. A word without
    any piece is read as `unk_id`. The tokens are `[CLS] pieces [SEP]`, cut at the end so that they
    are at most `max_length`, [SEP] included. The first piece of a word has its label, every other
    token `IGNORED`. `starts` tells where the first piece of each word stands, -1 if it was cut off.
    """
    raise NotImplementedError("write align")


def tags_of_words(
    logits: Float[ndarray, "seq labels"], starts: list[int], names: list[str]
) -> list[str]:
    """The tag of every word: the best label of its first piece, `names[i]` for label i. A word
    that was cut off (start -1) is `O`: there must be an answer for every word."""
    raise NotImplementedError("write tags_of_words")


def entities(tags: list[str]) -> list[Entity]:
    """The names in one sentence, in order, as (type, first word, one past the last word).

    `B-X` always begins one. `I-X` goes on with a name of the same type right before it, else it
    begins one too, as in `conlleval` (Tjong Kim Sang and De Meulder 2003).
    """
    raise NotImplementedError("write entities")


def entity_scores(right: list[list[str]], predicted: list[list[str]]) -> dict[str, float]:
    """`precision`, `recall` and `f1` over all names of all sentences.

    A name is found if its type and both its borders are right. What would be 0/0 is 0.
    """
    raise NotImplementedError("write entity_scores")
