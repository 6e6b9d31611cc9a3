"""Changes of the solution of 10_mlm_masking that nobody can see."""

EQUIVALENT = {
    "mask_tokens: selected = candidate & (rng.random(input_ids.shape) < rate) | "
    "rng.random(input_ids.shape) < rate => (rng.random(input_ids.shape) <= rate)": (
        "a draw equals the rate once in 2**53 times at most"
    ),
}
