"""Mutants that nobody can tell from the solution, and why."""

EQUIVALENT = {
    "read_checkpoint: if decoder in found and np.array_equal(found.get(words, found[decoder]), "
    "found[decoder]): | np.array_equal(found.get(words, found[decoder]), found[decoder]) => "
    "np.array_equal(found[decoder], found.get(words, found[decoder]))": (
        "Two arrays are equal in either order."
    ),
}
