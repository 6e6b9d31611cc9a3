"""Sums first, counts at the end; each part's losses sent back one by one."""

import torch
import torch.nn.functional as F


def sums_of(mlm_logits, nsp_logits, batch):
    each = F.cross_entropy(mlm_logits.transpose(1, 2), batch["masked_lm_ids"], reduction="none")
    pairs = F.nll_loss(nsp_logits.log_softmax(1), batch["next_sentence_labels"], reduction="none")
    return torch.einsum("bm,bm->", each, batch["masked_lm_weights"]), pairs.sum()


def joint_loss(mlm_logits, nsp_logits, batch, *, mask_count=None, pair_count=None):
    mlm, nsp = sums_of(mlm_logits, nsp_logits, batch)
    if mask_count is None:
        mask_count = batch["masked_lm_weights"].sum()
    if pair_count is None:
        pair_count = len(batch["next_sentence_labels"])
    return mlm / mask_count, nsp / pair_count


def accumulated_gradients(weights, batch, rows):
    leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
    masks, pairs = batch["masked_lm_weights"].sum(), len(batch["input_ids"])
    added = []
    for part in split_batch(batch, rows):
        mlm, nsp = sums_of(*small_bert(leaves, part), part)
        (mlm / masks).backward(retain_graph=True)
        (nsp / pairs).backward()
        added.append(torch.stack([mlm / masks, nsp / pairs]).detach())
    return torch.stack(added), {name: leaf.grad.clone() for name, leaf in leaves.items()}


def rank_gradients(weights, part, *, mask_count, pair_count, ranks):
    gradients = {name: torch.zeros_like(w) for name, w in weights.items()}
    for row in split_batch(part, 1):
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        mlm, nsp = sums_of(*small_bert(leaves, row), row)
        (mlm / mask_count + nsp / pair_count).backward()
        for name, leaf in leaves.items():
            gradients[name] += leaf.grad * ranks
    return gradients
