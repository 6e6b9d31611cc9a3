"""Fill-ins of 04/03, which words are names?"""

from bert_experiments.fill_in import FillIn
from bert_finetuning.metrics import entities as package_entities

COUNTS = [3, 3, 2, 1, 1, 1]  # pieces of "Zoe Rumpel bringing fish to Oslo"
LABELS = [3, 6, 0, 0, 0, 1]


def on_first_pieces(labels: list[int], counts: list[int]) -> list[int]:
    row = [-100]
    for label, count in zip(labels, counts, strict=True):
        row += [label] + [-100] * (count - 1)
    return [*row, -100]


labels_on_first_pieces = FillIn(
    "labels_on_first_pieces",
    reference=on_first_pieces,
    instead="a label and -100s for each word",
    inputs=[(LABELS, COUNTS), ([2, 5], [1, 2])],
    mistakes={
        "[CLS] is forgotten: all labels are one position too early": (
            lambda labels, counts: on_first_pieces(labels, counts)[1:]
        ),
        "[SEP] is forgotten: the row is one token too short": (
            lambda labels, counts: on_first_pieces(labels, counts)[:-1]
        ),
        "[CLS] and [SEP] are forgotten": (
            lambda labels, counts: on_first_pieces(labels, counts)[1:-1]
        ),
        "every piece of a word has its label: only the first piece gets it": (
            lambda labels, counts: [
                -100,
                *(a for a, n in zip(labels, counts, strict=True) for _ in range(n)),
                -100,
            ]
        ),
        "the last piece of each word has the label; it belongs on the first": (
            lambda labels, counts: on_first_pieces(labels[::-1], counts[::-1])[::-1]
        ),
        "0 is the label O, which the loss counts: a token that it ignores has -100": (
            lambda labels, counts: [max(a, 0) for a in on_first_pieces(labels, counts)]
        ),
    },
)

TWO_PEOPLE = ["B-PER", "I-PER", "B-PER", "I-PER", "O", "B-LOC"]
ONE_OF_EACH = ["O", "B-ORG", "I-ORG", "I-ORG", "B-PER"]


def only_begun(tags: list[str]) -> list[tuple]:
    return [(kind, first, first + 1) for kind, first, _ in package_entities(tags)]


def b_is_ignored(tags: list[str]) -> list[tuple]:
    """Neighbors of one type become one name."""
    found = []
    for index, tag in enumerate(tags):
        kind = tag[2:]
        if kind and found and found[-1][0] == kind and found[-1][2] == index:
            found[-1] = (kind, found[-1][1], index + 1)
        elif kind:
            found.append((kind, index, index + 1))
    return found


entities = FillIn(
    "entities",
    reference=lambda tags: package_entities(tags),
    instead="bert_finetuning.metrics.entities",
    inputs=[(TWO_PEOPLE,), (ONE_OF_EACH,), (["O", "O"],)],
    mistakes={
        "each name ends after its first word: I goes on with it": only_begun,
        "two neighbors of one type became one name: B begins a new one": b_is_ignored,
        "the end is the last word's index; it is to be one past it": (
            lambda tags: [(kind, first, end - 1) for kind, first, end in package_entities(tags)]
        ),
        "the type still has its B-": (
            lambda tags: [("B-" + kind, a, b) for kind, a, b in package_entities(tags)]
        ),
        "every word is a name of its own": (
            lambda tags: [(t[2:], n, n + 1) for n, t in enumerate(tags) if t != "O"]
        ),
    },
)

THERE = {("PER", 0, 2), ("ORG", 4, 6), ("LOC", 7, 8)}
FOUND = {("PER", 0, 1), ("ORG", 4, 6), ("LOC", 7, 8), ("LOC", 9, 10)}


def precision_and_recall(there: set, found: set) -> tuple[float, float]:
    both = len(there & found)
    return both / len(found), both / len(there)


def harmonic(there: set, found: set) -> float:
    precision, recall = precision_and_recall(there, found)
    return 2 * precision * recall / (precision + recall)


entity_f1 = FillIn(
    "entity_f1",
    reference=harmonic,
    instead="the formula above",
    inputs=[(THERE, FOUND), (FOUND, {("LOC", 7, 8)})],
    mistakes={
        "this is precision alone": lambda there, found: precision_and_recall(there, found)[0],
        "this is recall alone": lambda there, found: precision_and_recall(there, found)[1],
        "this is the plain mean of the two: F1 is the harmonic mean, 2 p r / (p + r)": (
            lambda there, found: sum(precision_and_recall(there, found)) / 2
        ),
        "the factor 2 is missing": lambda there, found: harmonic(there, found) / 2,
        "this is the overlap over the union; F1 counts the names in both twice": (
            lambda there, found: len(there & found) / len(there | found)
        ),
    },
)

ROW = on_first_pieces(LABELS, COUNTS)
SHIFTED = [*ROW[1:], -100]
FIRSTS = [1, 4, 7, 9, 10, 11]

comes_back = FillIn(
    "comes_back",
    reference=lambda row, firsts, labels: (
        [row[index] for index in firsts] == labels
        and sum(label != -100 for label in row) == len(labels)
    ),
    instead="a comparison at the first pieces",
    inputs=[
        (ROW, FIRSTS, LABELS),
        (SHIFTED, FIRSTS, LABELS),
        ([-100, 3, 3, -100], [1], [3]),
        ([-100, 0, -100], [1], [3]),
    ],
    mistakes={
        "a label at a position that is not a first piece is not noticed: count them": (
            lambda row, firsts, labels: [row[index] for index in firsts] == labels
        ),
        "only the number of labels is compared, not which they are": (
            lambda row, firsts, labels: sum(label != -100 for label in row) == len(labels)
        ),
        "only the order of the labels is compared: a shifted row keeps it": (
            lambda row, firsts, labels: [label for label in row if label != -100] == labels
        ),
    },
)
