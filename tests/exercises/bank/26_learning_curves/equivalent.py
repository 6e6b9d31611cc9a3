"""Mutants that nobody can tell from the solution through its functions."""

EQUIVALENT = {
    "smooth: if len(seen): | if len(seen): => if True: means[i] = seen.mean()": (
        "the mean of no values is NaN too, with a warning of NumPy's"
    ),
    "diagnose: fell = len(norm) and norm[-j:].mean() <= norm[:j].mean() / 2 | len(norm) and "
    "norm[-j:].mean() <= norm[:j].mean() / 2 => (norm[-j:].mean() <= norm[:j].mean() / 2)": (
        "the mean of no norms is NaN, and no comparison with NaN is true"
    ),
}
