"""Mutants that nobody can tell from the solution through its functions."""

EQUIVALENT = {
    "layer_backward: def | \"none\" => 'none_'": (
        'any word but "tanh" means the form with the error function'
    ),
    "layer_forward: def | \"none\" => 'none_'": (
        'any word but "tanh" means the form with the error function'
    ),
    'linear_backward: grads[f"{name}.weight"] = drows.T @ rows | grads[f"{name}.weight"] = '
    'drows.T @ rows => grads[f"{name}.bias"] = drows.sum(axis=0) grads[f"{name}.weight"] = '
    "drows.T @ rows": ("in which order the gradients are put into the dict makes no difference"),
    "mask_tokens: selected = ~np.isin(input_ids, special_ids) & (rng.random(input_ids.shape"
    ") < rate) | selected = ~np.isin(input_ids, special_ids) & (rng.random(input_ids.shape)"
    " < rate) => fate = rng.random(input_ids.shape) selected = ~np.isin(input_ids, special_"
    "ids) & (rng.random(input_ids.shape) < rate)": ("other draws of the same distribution"),
    "mask_tokens: selected = ~np.isin(input_ids, special_ids) & (rng.random(input_ids.shape"
    ") < rate) | rng.random(input_ids.shape) < rate => (rng.random(input_ids.shape) <= rate"
    ")": ("a draw is equal to the limit with a probability of 1e-16"),
    "mask_tokens: fate = rng.random(input_ids.shape) | fate = rng.random(input_ids.shape) ="
    "> word = rng.choice(np.setdiff1d(np.arange(vocab_size), special_ids), size=input_ids.s"
    "hape) # one draw for all three fates: their shares add up fate = rng.random(input_ids."
    "shape)": ("other draws of the same distribution"),
    "clip_gradients: scale = max_norm / norm if norm > max_norm else 1.0 | norm > max_norm "
    "=> (norm >= max_norm)": ("a norm that is max_norm exactly is multiplied by 1"),
    "gelu_forward: def | \"none\" => 'none_'": (
        'any word but "tanh" means the form with the error function'
    ),
    "gelu_backward: def | \"none\" => 'none_'": (
        'any word but "tanh" means the form with the error function'
    ),
    "mask_tokens: shown = np.where(selected & (fate < 0.9), word, input_ids) | fate < 0.9 ="
    "> (fate <= 0.9)": ("a draw is equal to the limit with a probability of 1e-16"),
    "mask_tokens: shown = np.where(selected & (fate < 0.9), word, input_ids) | fate < 0.9 ="
    "> (fate >= 0.9)": ("the two tenths that do not become [MASK] may change places"),
    "mask_tokens: shown = np.where(selected & (fate < 0.8), mask_id, shown) | fate < 0.8 =>"
    " (fate <= 0.8)": ("a draw is equal to the limit with a probability of 1e-16"),
}
