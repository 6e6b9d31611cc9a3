"""Matrix powers by squaring, cut to 0 and 1 each time; the mask by comparing numbers of places."""

import torch


def visible_keys(attention_mask, *, causal=False):
    seq = attention_mask.shape[1]
    place = torch.arange(seq)
    latest = place if causal else torch.full_like(place, seq)
    return (place[None, None, :] <= latest[None, :, None]) & (attention_mask != 0)[:, None, :]


def picture(visible):
    letters = torch.where(visible, ord("X"), ord("O"))
    return [bytes(row).decode() for row in letters.tolist()]


def attention(query, key, value, visible):
    scores = torch.einsum("bhqd,bhkd->bhqk", query / query.size(-1) ** 0.5, key)
    hidden = visible.logical_not()[:, None, :, :]
    top = scores.masked_fill(hidden, float("-inf")).amax(-1, keepdim=True)
    top = torch.where(top.isinf(), torch.zeros_like(top), top).detach()
    # Twice where: exp of a hidden score may overflow, and its gradient would be NaN.
    powers = torch.where(hidden, torch.zeros_like(scores), scores - top).exp()
    powers = torch.where(hidden, torch.zeros_like(powers), powers)
    total = powers.sum(-1, keepdim=True)
    weights = powers / torch.where(total > 0, total, torch.ones_like(total))
    return torch.einsum("bhqk,bhkd->bhqd", weights, value), weights


def reached(visible, layers):
    batch, seq, _ = visible.shape
    eye = torch.eye(seq, dtype=torch.float64).repeat(batch, 1, 1)
    step, found = (visible.double() + eye).clamp(max=1), eye
    while layers:
        if layers % 2:
            found = (found @ step).clamp(max=1)
        step, layers = (step @ step).clamp(max=1), layers // 2
    return found > 0.5
