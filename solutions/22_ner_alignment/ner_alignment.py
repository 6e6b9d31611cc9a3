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
    # begin solution
    room = max_length - 2  # [CLS] and [SEP] always stay
    ids, spoken, starts = [], [], []
    for i, word in enumerate(pieces):
        word = word or [unk_id]  # every word has a token, or all later labels would be shifted
        starts.append(len(ids) + 1 if len(ids) < room else -1)  # + 1: after [CLS]
        ids += word
        # One piece answers for the word. Were all of them labeled, a word of four pieces would
        # count four times, and its pieces could disagree.
        spoken += [labels[i]] + [IGNORED] * (len(word) - 1)
    return {
        "input_ids": [cls_id, *ids[:room], sep_id],
        "labels": [IGNORED, *spoken[:room], IGNORED],
        "starts": starts,
    }
    # end solution


def tags_of_words(
    logits: Float[ndarray, "seq labels"], starts: list[int], names: list[str]
) -> list[str]:
    """The tag of every word: the best label of its first piece, `names[i]` for label i. A word
    that was cut off (start -1) is `O`: there must be an answer for every word."""
    # begin solution
    # What the other pieces say is not asked: they have learned nothing. -1 must not be taken for an
    # index, which would read [SEP].
    return [names[logits[start].argmax()] if start >= 0 else "O" for start in starts]
    # end solution


def entities(tags: list[str]) -> list[Entity]:
    """The names in one sentence, in order, as (type, first word, one past the last word).

    `B-X` always begins one. `I-X` goes on with a name of the same type right before it, else it
    begins one too, as in `conlleval` (Tjong Kim Sang and De Meulder 2003).
    """
    # begin solution
    found: list[Entity] = []
    for place, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-")  # once: a type may have a hyphen of its own
        # Right before it: the last name must be of this type, and end here.
        goes_on = prefix == "I" and found and found[-1][0] == kind and found[-1][2] == place
        if goes_on:
            found[-1] = (kind, found[-1][1], place + 1)
        elif prefix != "O":
            found.append((kind, place, place + 1))
    return found
    # end solution


def entity_scores(right: list[list[str]], predicted: list[list[str]]) -> dict[str, float]:
    """`precision`, `recall` and `f1` over all names of all sentences.

    A name is found if its type and both its borders are right. What would be 0/0 is 0.
    """
    # begin solution
    there, said = numbered(right), numbered(predicted)
    # Counted over all sentences and divided once: the mean of each sentence's F1 is another number.
    found = len(there & said)
    return {
        "precision": found / len(said) if said else 0.0,
        "recall": found / len(there) if there else 0.0,
        # 2pr / (p + r), without a division by 0 where p = r = 0.
        "f1": 2 * found / (len(said) + len(there)) if found else 0.0,
    }
    # end solution


# begin solution
def numbered(sentences: list[list[str]]) -> set[tuple[int, str, int, int]]:
    """All names, each with the number of its sentence: a name of one sentence must not be found in
    another. Each sentence is read by itself, for no name goes on into the next one."""
    return {(i, *entity) for i, tags in enumerate(sentences) for entity in entities(tags)}


# Wrong answers that are common:
# - the label on every piece; or `I-` on the later ones, which the score then counts as names;
# - a cut that takes [SEP] away, or a label that was left behind when its piece was cut;
# - words that vanish: their tags are missing at the end, and the sentences no longer match;
# - the accuracy of tags in place of F1 of names: four tags in five are O;
# - an I- after O, or of another type, that is dropped, or added to a name that it is not part of;
# - B- B- read as one name of two words;
# - a name at the end of a sentence that is never closed;
# - F1 as the mean over sentences, or half marks for a name of which one border is right.
# end solution
