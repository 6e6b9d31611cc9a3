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
    places = torch.arange(input_ids.shape[1], device=device)
    for slot in range(slots):
        best, place = scores.max(1)
        used = (best >= 0) & (slot < wanted)
        here = (places == place[:, None]) & used[:, None]
        fate, pick = torch.rand(2, len(input_ids), generator=generator, device=device)
        word = ordinary_ids[(pick.double() * len(ordinary_ids)).long()].to(input_ids.dtype)
        shown[here & (fate < 0.8)[:, None]] = mask_id
        shown = torch.where(here & ((fate >= 0.8) & (fate < 0.9))[:, None], word[:, None], shown)
        scores = torch.where(here, -1.0, scores)
        found.append(place * used)
        stood.append(input_ids.gather(1, place[:, None])[:, 0] * used)
        weights.append(used.float())
    return shown, torch.stack(found, 1), torch.stack(stood, 1), torch.stack(weights, 1)


if __name__ == "__main__":
    print(torch.arange(3).tolist(), torch.arange(3).nonzero().cpu().numpy())
