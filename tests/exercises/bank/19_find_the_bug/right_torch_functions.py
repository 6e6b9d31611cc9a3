"""What torch has ready: layer_norm, clip_grad_norm_, pad_sequence, one large batch."""

import torch
import torch.nn.functional as F


def embed(input_ids, token_type_ids, weights, *, eps=1e-12):
    places = torch.arange(input_ids.shape[1])
    x = F.embedding(token_type_ids, weights["segment"]) + F.embedding(places, weights["position"])
    x = x + F.embedding(input_ids, weights["word"])
    return F.layer_norm(x, x.shape[-1:], weights["norm.weight"], weights["norm.bias"], eps)


def pretraining_losses(word_logits, word_ids, word_weights, pair_logits, pair_labels):
    labels = torch.where(word_weights.bool(), word_ids, -100)
    words = F.cross_entropy(word_logits.transpose(1, 2), labels)
    pairs = -pair_logits.log_softmax(-1).gather(1, pair_labels[:, None]).mean()
    return words, pairs


def accumulated_gradient(weight, micro_batches):
    x = torch.cat([x for x, _ in micro_batches])
    labels = torch.cat([labels for _, labels in micro_batches])
    weight = weight.clone().requires_grad_()
    return torch.autograd.grad(F.cross_entropy(x @ weight.T, labels), weight)[0]


def update(weights, gradients, *, learning_rate, weight_decay, max_norm):
    leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
    for name, leaf in leaves.items():
        leaf.grad = gradients[name].clone()
    torch.nn.utils.clip_grad_norm_(leaves.values(), max_norm)
    free = ("LayerNorm.weight", "LayerNorm.bias", ".bias")
    groups = [
        {"params": [w for n, w in leaves.items() if n.endswith(free) == bare],
         "weight_decay": 0.0 if bare else weight_decay}
        for bare in (True, False)
    ]  # fmt: skip
    torch.optim.SGD(groups, lr=learning_rate).step()
    return {name: leaf.detach() for name, leaf in leaves.items()}


def collate(pairs, *, cls_id, sep_id, pad_id):
    rows = [torch.tensor([cls_id, *p["a"], sep_id, *p["b"], sep_id]) for p in pairs]
    kinds = [torch.tensor([0] * (len(p["a"]) + 2) + [1] * (len(p["b"]) + 1)) for p in pairs]
    pad = torch.nn.utils.rnn.pad_sequence
    return {
        "next_sentence_labels": torch.tensor([0 if p["is_next"] else 1 for p in pairs]),
        "input_ids": pad(rows, batch_first=True, padding_value=pad_id),
        "attention_mask": pad([torch.ones_like(row) for row in rows], batch_first=True),
        "token_type_ids": pad(kinds, batch_first=True),
    }
