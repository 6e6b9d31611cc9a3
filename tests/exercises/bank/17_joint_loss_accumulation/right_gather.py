"""Log-probabilities picked out by hand; gradients by autograd.grad, added up in a dict."""

import torch


def joint_loss(mlm_logits, nsp_logits, batch, *, mask_count=None, pair_count=None):
    mask_count = batch["masked_lm_weights"].sum() if mask_count is None else mask_count
    pair_count = nsp_logits.shape[0] if pair_count is None else pair_count
    words = mlm_logits.log_softmax(-1).gather(-1, batch["masked_lm_ids"].unsqueeze(-1)).squeeze(-1)
    pairs = nsp_logits.log_softmax(-1)[range(len(nsp_logits)), batch["next_sentence_labels"]]
    return -torch.sum(words * batch["masked_lm_weights"] / mask_count), -pairs.sum() / pair_count


def split_batch(batch, rows):
    cut = {name: tensor.split(rows) for name, tensor in batch.items()}
    return [dict(zip(cut, pieces, strict=True)) for pieces in zip(*cut.values(), strict=True)]


def accumulated_gradients(weights, batch, rows):
    names = list(weights)
    sums = {name: torch.zeros_like(weights[name]) for name in names}
    added = []
    for part in split_batch(batch, rows):
        leaves = [weights[name].clone().requires_grad_() for name in names]
        model = dict(zip(names, leaves, strict=True))
        losses = joint_loss(
            *small_bert(model, part),
            part,
            mask_count=batch["masked_lm_weights"].sum().item(),
            pair_count=len(batch["next_sentence_labels"]),
        )
        for name, gradient in zip(names, torch.autograd.grad(sum(losses), leaves), strict=True):
            sums[name] = sums[name] + gradient
        added.append([loss.item() for loss in losses])
    return torch.tensor(added, dtype=weights[names[0]].dtype), sums
