"""Changes of the solution of 09_masked_cross_entropy that nobody can see."""

EQUIVALENT = {
    "masked_cross_entropy_forward: return float((surprise * weights).sum() / total) | "
    "float((surprise * weights).sum() / total) => ((surprise * weights).sum() / total)": (
        "the page asks for one number, and a number of NumPy's is one"
    ),
}
