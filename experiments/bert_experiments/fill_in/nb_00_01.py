"""Fill-ins of 00/01, from text to ids."""

from bert_experiments.fill_in import FillIn

SMALL = {"cr": 0, "crane": 1, "##s": 2, "stood": 3, "##stood": 4, "under": 5}


def prefixes(word: str, vocabulary: dict[str, int]) -> list[str]:
    """All beginnings of the word that are in the vocabulary, the shortest first."""
    return [word[:end] for end in range(1, len(word) + 1) if word[:end] in vocabulary]


longest_prefix = FillIn(
    "longest_prefix",
    reference=lambda word, vocabulary: (prefixes(word, vocabulary) or [""])[-1],
    instead="the search above, as a function",
    inputs=[("cranes", SMALL), ("stood", SMALL), ("understood", SMALL), ("fish", SMALL)],
    mistakes={
        "this is the shortest beginning: try the whole word first, then shorter ones": (
            lambda word, vocabulary: (prefixes(word, vocabulary) or [""])[0]
        ),
        "the whole word is never tried: `stood` is in the vocabulary": (
            lambda word, vocabulary: (prefixes(word[:-1], vocabulary) or [""])[-1]
        ),
        "this is what is left of the word: return the piece itself": (
            lambda word, vocabulary: word[len((prefixes(word, vocabulary) or [""])[-1]) :]
        ),
        "this is the length of the piece: return the piece itself": (
            lambda word, vocabulary: len((prefixes(word, vocabulary) or [""])[-1])
        ),
        'a word without any beginning in the vocabulary gives "", not an error': (
            lambda word, vocabulary: prefixes(word, vocabulary)[-1]
        ),
    },
)

glue = FillIn(
    "glue",
    reference=lambda pieces: " ".join(pieces).replace(" ##", ""),
    instead="the right answer",
    inputs=[(["the", "crane", "##s", "caught", "fish"],), (["cr", "##a", "##b"],), (["fish"],)],
    mistakes={
        "the ## is still there: remove it when the piece is joined to the word": (
            lambda pieces: " ".join(pieces).replace(" ##", "##")
        ),
        "only the ## is removed, the space before it is still there": (
            lambda pieces: " ".join(pieces).replace("##", "")
        ),
        "the spaces between the words are missing": (
            lambda pieces: "".join(pieces).replace("##", "")
        ),
        "this is a list of words: join them with spaces": (
            lambda pieces: " ".join(pieces).replace(" ##", "").split()
        ),
    },
)


def joined(word: list[str], left: str, right: str, new: str) -> list[str]:
    """Every `left` that is followed by `right` becomes `new`."""
    found = []
    for piece in word:
        if found and found[-1] == left and piece == right:
            found[-1] = new
        else:
            found.append(piece)
    return found


def only_the_first(word: list[str], left: str, right: str) -> list[str]:
    for start in range(len(word) - 1):
        if word[start : start + 2] == [left, right]:
            return [*word[:start], left + right.removeprefix("##"), *word[start + 2 :]]
    return word


join_pair = FillIn(
    "join_pair",
    reference=lambda word, left, right: joined(word, left, right, left + right.removeprefix("##")),
    instead="the right answer",
    inputs=[
        (["c", "##r", "##a", "##n", "##e"], "##a", "##n"),
        (["c", "##r", "##a", "##b"], "c", "##r"),
        (["b", "##a", "##n", "##a", "##n", "##a"], "##a", "##n"),
        (["c", "##a", "##b"], "##a", "##n"),
    ],
    mistakes={
        "the ## of the right piece is still there: no piece has ## inside": (
            lambda word, left, right: joined(word, left, right, left + right)
        ),
        "the ## of the left piece is lost: a piece that continues a word keeps it": (
            lambda word, left, right: joined(
                word, left, right, left.removeprefix("##") + right.removeprefix("##")
            )
        ),
        "only the first pair of the word is joined: go on with the rest": only_the_first,
    },
)

WORDS = ["the", "crane", "cranes", "the"]
CUT = [["the"], ["crane"], ["crane", "##s"], ["the"]]

pieces_a_word = FillIn(
    "pieces_a_word",
    reference=lambda words, cut: sum(map(len, cut)) / len(words),
    instead="the right answer",
    inputs=[(WORDS, CUT), (["crab"], [["cr", "##a", "##b"]])],
    mistakes={
        "upside down: divide the number of pieces by the number of words": (
            lambda words, cut: len(words) / sum(map(len, cut))
        ),
        "each word of the text counts, also when it occurs again: no set(words)": (
            lambda words, cut: sum(map(len, cut)) / len(set(words))
        ),
        "these are the letters of the pieces: count the pieces": (
            lambda words, cut: sum(len(piece) for pieces in cut for piece in pieces) / len(words)
        ),
        "this is the number of lists in `cut`, one for each word: count what is in the lists": (
            lambda words, cut: len(cut) / len(words)
        ),
    },
)
