"""Mutants that nobody can tell from the solution through its functions."""

EQUIVALENT = {
    "fine_tune: return {name: w.detach() for name, w in weights.items()}, losses | "
    "w.detach() => w": (
        "whether a returned tensor still asks for gradients does not cross to the checks"
    ),
}
