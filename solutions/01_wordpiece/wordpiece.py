"""WordPiece: text becomes words, words become pieces that a vocabulary knows, pieces become ids."""

import string
import unicodedata


def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:
    """Cut text into words and punctuation marks; no token is empty.

    With `lowercase`, accents are removed (the characters of category Mn in Unicode's form NFD) and
    every letter becomes lower case; without it, no character is changed. Words end at white space.
    Every punctuation mark is a token of its own: a punctuation mark is any character whose Unicode
    category begins with P, or one of the 32 characters of `string.punctuation`, such as `$`.
    """
    # begin solution
    if lowercase:
        # é can be one character, or e followed by a combining accent. NFD turns the first form into
        # the second, so that the accents can be dropped; NFKD would also split the ligature ﬁ into
        # f and i. All of this depends on `lowercase`: a cased model has é in its vocabulary.
        decomposed = unicodedata.normalize("NFD", text)
        text = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
        text = "".join(char.lower() for char in text)
    # With a space on both sides of every punctuation mark, `split` does the rest: it knows tabs,
    # line ends and non-breaking spaces, and returns no empty words.
    return "".join(f" {char} " if is_punctuation(char) else char for char in text).split()
    # end solution


# begin solution
def is_punctuation(char):
    # Neither test is enough: Unicode counts $ + < = > ^ ` | ~ as symbols (categories Sc, Sk, Sm),
    # and `string.punctuation` holds ASCII characters only, neither “ nor — nor ¿.
    return char in string.punctuation or unicodedata.category(char).startswith("P")


# end solution


def wordpieces(word: str, vocabulary: dict[str, int], *, longest_word: int = 100) -> list[str]:
    """Cut one word into pieces of the vocabulary, greedily from the left.

    The first piece is the longest prefix of the word that is in the vocabulary; then the same for
    the rest of the word. A piece that does not begin the word has `##` before it, both in the
    vocabulary and in the result. If at some point no piece fits, the result is `["[UNK]"]`, and
    also for a word of more than `longest_word` characters.
    """
    # begin solution
    if len(word) > longest_word:  # "more than": a word of exactly 100 characters is still cut
        return ["[UNK]"]
    pieces = []
    start = 0
    while start < len(word):
        prefix = "##" if start > 0 else ""
        # From the longest piece to the shortest. `start` itself is excluded: an empty piece would
        # never move `start`.
        for end in range(len(word), start, -1):
            piece = prefix + word[start:end]
            if piece in vocabulary:
                pieces.append(piece)
                start = end
                break
        else:
            # Not even one character fits. The pieces found so far are discarded, and no shorter
            # one is tried in their place: greedy means that a piece, once chosen, is final.
            return ["[UNK]"]
    return pieces
    # end solution


def encode(text: str, vocabulary: dict[str, int], *, lowercase: bool = True) -> list[int]:
    """The ids of a text's pieces in order, without [CLS] and [SEP].

    The words come from `basic_tokens`; a word of more than 100 characters is [UNK], as by default
    in `wordpieces`.
    """
    # begin solution
    words = basic_tokens(text, lowercase=lowercase)
    # [UNK] is an entry like any other; its id is 100 in the released vocabularies, not in all.
    return [vocabulary[piece] for word in words for piece in wordpieces(word, vocabulary)]
    # end solution


# begin solution
# Wrong answers that are common:
# - the shortest piece first: the word falls into letters;
# - the pieces found before the unknown place are kept, with [UNK] after them;
# - another cut is tried where the greedy one fails: the released vocabularies were made for
#   the greedy one, and the ids would not be those that the model was trained with;
# - accents removed from a cased text, or every letter that is not ASCII dropped;
# - `string.punctuation` alone, or the category P alone, or everything that is not alphanumeric;
# - `if vocabulary.get(piece)`: false for the piece whose id is 0;
# - the id of [UNK] hard-coded.
# end solution
