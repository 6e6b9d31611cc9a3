"""Changes of the solution of 11_bert_adam that nobody can see."""

EQUIVALENT = {
    "clip_gradients: scale = max_norm / norm if norm > max_norm else 1.0 | "
    "norm > max_norm => (norm >= max_norm)": (
        "where the norm is exactly max_norm, their quotient is 1"
    ),
}
