"""One draw decides the fate of a slot and, by what is left of it, the word."""

import torch


def disguised(tokens, generator, mask_id, ordinary_ids):
    words = ordinary_ids.shape[0]
    draw = torch.randint(10 * words, tokens.shape, generator=generator, device=tokens.device)
    fate, word = draw // words, draw % words
    shown = torch.where(fate == 0, ordinary_ids[word].to(tokens.dtype), mask_id)
    return torch.where(fate == 1, tokens, shown)
