"""A whole sort; ranks for the rest; the words shown are written through a mask of the whole row."""

import torch


def mask_on_device(
    input_ids, attention_mask, generator, *, mask_id, special_ids, ordinary_ids, slots, rate=0.15
):
    batch, seq = input_ids.shape
    real = attention_mask == 1
    candidate = real & (input_ids[..., None] != special_ids).all(-1)
    draw = dict(generator=generator, device=input_ids.device)
    scores = torch.rand((batch, seq), dtype=torch.float64, **draw)
    order = torch.where(candidate, scores, 9.0).argsort(dim=1)
    rank = order.argsort(dim=1)  # of every token among its row
    count = torch.round(rate * real.sum(1)).clamp(1, slots).minimum(candidate.sum(1))
    chosen = rank < count[:, None]
    fate = torch.randint(10, (batch, seq), **draw)
    words = ordinary_ids[torch.randint(len(ordinary_ids), (batch, seq), **draw)]
    shown = torch.where(chosen & (fate < 8), mask_id, input_ids)
    shown = torch.where(chosen & (fate == 8), words, shown).to(input_ids.dtype)
    used = torch.arange(slots, device=input_ids.device) < count[:, None]
    positions = torch.where(used, order[:, :slots], 0)
    tokens = torch.where(used, torch.gather(input_ids, 1, positions), 0)
    return shown, positions, tokens, used.to(torch.float32)
