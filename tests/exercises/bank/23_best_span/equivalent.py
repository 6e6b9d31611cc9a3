"""Mutants that nobody can tell from the solution through its functions."""

EQUIVALENT = {
    "f1: return max(overlap(said, gold.split()) for gold in golds(accepted)) | "
    "overlap(said, gold.split()) => overlap(gold.split(), said)": (
        "F1 of two lists of words is the same whichever of the two is the answer"
    ),
}
