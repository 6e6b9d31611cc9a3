"""Choosing as a product with a one-hot matrix; the two uses told apart by subtraction."""

import torch.nn.functional as F

WORDS = "bert.embeddings.word_embeddings.weight"


def gather_positions(states, positions):
    return F.one_hot(positions, states.shape[1]).to(states.dtype) @ states


def read_and_name(input_ids, positions, weights):
    words = weights[WORDS]
    return word_logits(F.one_hot(input_ids, len(words)).to(words.dtype) @ words, positions, weights)


def gradients_of_both_uses(input_ids, positions, weights, dlogits):
    weights = {name: weight.detach() for name, weight in weights.items()}
    tied = weights[WORDS].clone().requires_grad_(True)
    (read_and_name(input_ids, positions, {**weights, WORDS: tied}) * dlogits).sum().backward()
    last = weights[WORDS].clone().requires_grad_(True)
    states = weights[WORDS][input_ids]
    (word_logits(states, positions, {**weights, WORDS: last}) * dlogits).sum().backward()
    return tied.grad - last.grad, last.grad
