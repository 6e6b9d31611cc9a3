"""Mutants that nobody can tell from the solution through its functions."""

EQUIVALENT = {
    "numbered: return {(i, *entity) for i, tags in enumerate(sentences) for entity in "
    "entities(tags)} | (i, *entity) => (*entity, i)": (
        "in which order a key holds its parts changes neither which keys are equal nor how many"
    ),
}
