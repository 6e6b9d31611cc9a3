"""Gradients by torch.func, one part at a time; labels of slots without weight left out."""

import torch


def joint_loss(mlm_logits, nsp_logits, batch, *, mask_count=None, pair_count=None):
    weights = batch["masked_lm_weights"]
    used = weights != 0
    words, ids = mlm_logits[used], batch["masked_lm_ids"][used]
    each = torch.nn.functional.nll_loss(words.log_softmax(-1), ids, reduction="none")
    masks = weights[used].sum() if mask_count is None else mask_count
    pairs = len(nsp_logits) if pair_count is None else pair_count
    labels = torch.nn.functional.one_hot(batch["next_sentence_labels"], 2)
    nsp = -(nsp_logits.log_softmax(-1) * labels).sum()
    return each @ weights[used] / masks, nsp / pairs


def gradients_and_losses(weights, part, **counts):
    def loss(leaves):
        mlm, nsp = joint_loss(*small_bert(leaves, part), part, **counts)
        return mlm + nsp, torch.stack([mlm, nsp])

    return torch.func.grad(loss, has_aux=True)(weights)


def accumulated_gradients(weights, batch, rows):
    counts = {"mask_count": batch["masked_lm_weights"].sum(), "pair_count": len(batch["input_ids"])}
    done = [gradients_and_losses(weights, part, **counts) for part in split_batch(batch, rows)]
    sums = {name: sum(gradients[name] for gradients, _ in done) for name in weights}
    return torch.stack([losses for _, losses in done]), sums


def rank_gradients(weights, part, *, mask_count, pair_count, ranks):
    counts = {"mask_count": mask_count / ranks, "pair_count": pair_count / ranks}
    return gradients_and_losses(weights, part, **counts)[0]
