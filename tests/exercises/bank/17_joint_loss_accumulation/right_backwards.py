"""The last part first, and a part in two pieces; the losses' graphs are dropped as floats."""

import torch


def split_batch(batch, rows):
    whole = torch.arange(len(batch["next_sentence_labels"]))
    return [{name: tensor[some] for name, tensor in batch.items()} for some in whole.split(rows)]


def accumulated_gradients(weights, batch, rows):
    leaves = {n: w.detach().clone().requires_grad_() for n, w in weights.items()}
    masks = float(batch["masked_lm_weights"].sum())
    pairs = batch["next_sentence_labels"].numel()
    added = []
    for part in reversed(split_batch(batch, rows)):
        numbers = [0.0, 0.0]
        for piece in split_batch(part, max(1, rows // 2)):
            losses = joint_loss(
                *small_bert(leaves, piece), piece, mask_count=masks, pair_count=pairs
            )
            torch.autograd.backward(losses)
            numbers = [number + loss.item() for number, loss in zip(numbers, losses, strict=True)]
        added.insert(0, numbers)
    return leaves[WORDS].new_tensor(added), {name: leaf.grad for name, leaf in leaves.items()}
