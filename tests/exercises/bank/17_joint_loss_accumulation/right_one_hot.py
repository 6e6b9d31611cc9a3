"""Answers as one-hot rows; counts divided first, as weights of the slots and of the pairs."""

import torch
import torch.nn.functional as F


def joint_loss(mlm_logits, nsp_logits, batch, *, mask_count=None, pair_count=None):
    weights, labels = batch["masked_lm_weights"], batch["next_sentence_labels"]
    mask_count = weights.sum() if mask_count is None else mask_count
    pair_count = labels.numel() if pair_count is None else pair_count
    answers = F.one_hot(batch["masked_lm_ids"], mlm_logits.shape[-1])
    right = torch.where(answers.bool(), mlm_logits, 0).sum(-1)
    surprise = mlm_logits.logsumexp(-1) - right
    chosen = torch.where(labels == 0, nsp_logits[:, 0], nsp_logits[:, 1])
    return (
        (surprise * (weights / mask_count)).sum(),
        ((nsp_logits.logsumexp(-1) - chosen) / pair_count).sum(),
    )


def split_batch(batch, rows):
    parts, first = [], 0
    while first < batch["input_ids"].shape[0]:
        parts.append(
            {
                name: tensor.narrow(0, first, min(rows, len(tensor) - first)).clone()
                for name, tensor in batch.items()
            }
        )
        first += rows
    return parts
