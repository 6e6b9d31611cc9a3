"""A loop over the slots, which are few and whose number is no tensor; scalars written by a mask."""

import torch


def mask_on_device(
    input_ids, attention_mask, generator, *, mask_id, special_ids, ordinary_ids, slots, rate=0.15
):
    device = input_ids.device
    scores = torch.rand(input_ids.shape, generator=generator, device=device)
    taboo = (attention_mask == 0) | (input_ids[:, :, None] == special_ids).any(-1)
    scores[taboo] = -1.0
    wanted = torch.clamp(torch.round(attention_mask.sum(1) * rate), min=1)
    shown, found, stood, weights = input_ids.clone(), [], [], []
    for slot in range(slots):
        best, place = scores.max(1, keepdim=True)
        used = (best >= 0) & (slot < wanted[:, None])
        fate, pick = torch.rand(2, len(input_ids), 1, generator=generator, device=device)
        word = ordinary_ids[(pick.double() * len(ordinary_ids)).long()].to(input_ids.dtype)
        before, put = input_ids.gather(1, place), shown.gather(1, place)
        put[used & (fate < 0.8)] = mask_id
        shown.scatter_(1, place, torch.where(used & (fate >= 0.8) & (fate < 0.9), word, put))
        scores.scatter_(1, place, -1.0)
        found.append(place * used)
        stood.append(before * used)
        weights.append(used.float())
    return shown, torch.cat(found, 1), torch.cat(stood, 1), torch.cat(weights, 1)


if __name__ == "__main__":
    print(torch.arange(3).tolist(), torch.arange(3).nonzero().cpu().numpy())
