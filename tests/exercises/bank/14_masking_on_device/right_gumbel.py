"""Choice without replacement by multinomial; slots in the order of their positions."""

import torch


def mask_on_device(
    input_ids, attention_mask, generator, *, mask_id, special_ids, ordinary_ids, slots, rate=0.15
):
    seq = input_ids.shape[1]
    candidate = torch.isin(input_ids, special_ids, invert=True) & (attention_mask > 0)
    odds = torch.where(candidate, 1.0, 1e-30)
    picked = torch.multinomial(odds, slots, replacement=False, generator=generator)
    lengths = attention_mask.sum(1, keepdim=True)
    wanted = torch.clamp(torch.floor(lengths * rate + 0.5), min=1)
    used = (torch.cumsum(torch.ones_like(picked), 1) <= wanted) & candidate.gather(1, picked)
    places, order = torch.where(used, picked, seq).sort(1)  # empty slots last
    used = used.gather(1, order)
    positions = places * used
    tokens = input_ids.gather(1, positions) * used
    draw = dict(generator=generator, device=input_ids.device)
    fate = torch.rand(used.shape, **draw)
    other = ordinary_ids[torch.randint(0, ordinary_ids.numel(), used.shape, **draw)]
    shown = torch.where(fate < 0.1, other.to(input_ids.dtype), tokens)
    shown = torch.where(fate >= 0.2, mask_id, shown)
    wide = torch.nn.functional.pad(input_ids, (0, 1))
    return wide.scatter(1, places, shown)[:, :seq], positions, tokens, used.float()
