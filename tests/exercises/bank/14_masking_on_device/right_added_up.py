"""What is shown is added as a difference: empty slots add nothing, wherever they point."""

import torch


def mask_on_device(
    input_ids, attention_mask, generator, *, mask_id, special_ids, ordinary_ids, slots, rate=0.15
):
    rows, seq = input_ids.shape
    u = torch.rand(3, rows, seq, generator=generator, device=input_ids.device)
    is_special = torch.isin(input_ids, special_ids)
    score = u[0] - 5 * (is_special | ~attention_mask.bool())
    best, at = torch.topk(score, slots, dim=-1, sorted=True)
    n = (attention_mask.sum(-1, keepdim=True).double() * rate).round_().clamp_(1, slots)
    weights = ((torch.arange(1, slots + 1, device=at.device) <= n) & (best >= 0)).float()
    used = weights.long()
    at = at * used
    tokens = input_ids.gather(1, at) * used.to(input_ids.dtype)
    fate, pick = u[1].gather(1, at + 0), u[2].gather(1, at)
    word = ordinary_ids[(pick.double() * ordinary_ids.shape[0]).floor().long()]
    new = (fate < 0.8) * mask_id + ((fate >= 0.8) & (fate < 0.9)) * word + (fate >= 0.9) * tokens
    change = (new - tokens) * used
    return input_ids.scatter_add(1, at, change.to(input_ids.dtype)), at, tokens, weights
