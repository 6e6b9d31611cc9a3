"""A race of exponential draws, which torch cannot run on the device meta; words by multinomial."""

import torch


def mask_on_device(
    input_ids, attention_mask, generator, *, mask_id, special_ids, ordinary_ids, slots, rate=0.15
):
    seq = input_ids.size(1)
    may = attention_mask.to(torch.bool) & torch.isin(input_ids, special_ids).logical_not()
    arrival = torch.empty(input_ids.shape, device=input_ids.device)
    arrival = arrival.exponential_(generator=generator).masked_fill(~may, float("inf"))
    order = arrival.sort(dim=1).indices[:, :slots]
    count = (rate * attention_mask.sum(1, keepdim=True)).round().clamp(1, slots)
    count = torch.minimum(count, may.sum(1, keepdim=True))
    empty = torch.arange(slots, device=input_ids.device) >= count
    positions = order.masked_fill(empty, 0)
    tokens = input_ids.gather(1, positions).masked_fill(empty, 0)
    odds = torch.tensor([0.8, 0.1, 0.1], device=input_ids.device)
    fate = torch.multinomial(odds, tokens.numel(), replacement=True, generator=generator)
    fate = fate.view(tokens.shape)
    index = torch.randint(
        ordinary_ids.shape[0], tokens.shape, generator=generator, device=input_ids.device
    )
    choices = torch.stack(
        [torch.full_like(tokens, mask_id), ordinary_ids[index].to(tokens), tokens]
    )
    new = choices.gather(0, fate[None])[0]
    target = order.masked_fill(empty, seq)
    shown = torch.cat([input_ids, torch.zeros_like(input_ids[:, :1])], 1)
    shown = shown.scatter(1, target, new)[:, :seq]
    return shown, positions, tokens, (~empty).float()
