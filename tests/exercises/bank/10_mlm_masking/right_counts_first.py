"""How many of the candidates are selected is drawn first, then which: that too is independent."""

import numpy as np


def mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15):
    shown, labels = input_ids.flatten(), np.full(input_ids.size, -100, input_ids.dtype)
    candidates = np.flatnonzero(~np.isin(shown, special_ids))
    places = rng.permutation(candidates)[: rng.binomial(len(candidates), rate)]
    labels[places] = shown[places]
    masked, random, _ = rng.multinomial(len(places), [0.8, 0.1, 0.1])
    ordinary = sorted(set(range(vocab_size)) - set(special_ids))
    shown[places[:masked]] = mask_id
    shown[places[masked : masked + random]] = rng.choice(ordinary, random)
    return shown.reshape(input_ids.shape), labels.reshape(input_ids.shape)
