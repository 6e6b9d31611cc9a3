"""Token by token, each with draws of its own."""

import numpy as np


def mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15):
    shown, labels = input_ids.copy(), np.full_like(input_ids, -100)
    specials = set(special_ids)
    ordinary = [i for i in range(vocab_size) if i not in specials]
    for row, tokens in enumerate(input_ids.tolist()):
        draws = rng.random(len(tokens)).tolist()
        for position, (token, draw) in enumerate(zip(tokens, draws, strict=True)):
            if token in specials or draw >= rate:
                continue
            labels[row, position] = token
            fate = draw / rate  # below rate a draw is uniform again
            if fate < 0.8:
                shown[row, position] = mask_id
            elif fate < 0.9:
                shown[row, position] = ordinary[rng.integers(len(ordinary))]
    return shown, labels
