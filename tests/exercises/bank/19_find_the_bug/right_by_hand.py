"""Loops, and draws that are used in another way."""

import torch


def embed(input_ids, token_type_ids, weights, *, eps=1e-12):
    rows = []
    for ids, kinds in zip(input_ids.tolist(), token_type_ids.tolist(), strict=True):
        for place, (word, kind) in enumerate(zip(ids, kinds, strict=True)):
            x = weights["word"][word] + weights["position"][place] + weights["segment"][kind]
            centered = x - x.sum() / len(x)
            x = centered * ((centered**2).sum() / len(x) + eps) ** -0.5
            rows.append(x * weights["norm.weight"] + weights["norm.bias"])
    return torch.stack(rows).reshape(*input_ids.shape, -1)


def pretraining_losses(word_logits, word_ids, word_weights, pair_logits, pair_labels):
    chosen = word_weights > 0
    logits, ids = word_logits[chosen], word_ids[chosen]
    words = (logits.logsumexp(-1) - logits[torch.arange(len(ids)), ids]).mean()
    margin = pair_logits[:, 1] - pair_logits[:, 0]
    pairs = torch.nn.functional.binary_cross_entropy_with_logits(
        margin, pair_labels.to(margin.dtype)
    )
    return words, pairs


def accumulated_gradient(weight, micro_batches):
    total, count = torch.zeros_like(weight), 0
    for x, labels in micro_batches:
        seen = labels != -100
        x, labels = x[seen], labels[seen]
        probs = (x @ weight.T).softmax(-1)
        probs[torch.arange(len(labels)), labels] -= 1
        total += probs.T @ x
        count += len(labels)
    return total / count


def initial_weights(shapes, generator):
    weights = {}
    for name, shape in shapes.items():
        is_norm = name.split(".")[-2] == "LayerNorm"
        weights[name] = torch.zeros(shape)
        if name.endswith(".weight") and is_norm:
            weights[name] += 1
        elif name.endswith(".weight"):
            draws = torch.empty(shape).normal_(generator=generator)
            while (far := draws.abs() > 2).any():
                draws[far] = torch.empty(int(far.sum())).normal_(generator=generator)
            weights[name] = 0.02 * draws
    return weights


def mask_tokens(input_ids, generator, *, mask_id, special_ids, ordinary_ids, rate=0.15):
    special = (input_ids[..., None] == special_ids).any(-1)
    chance = torch.full(input_ids.shape, rate).masked_fill(special, 0.0)
    selected = torch.bernoulli(chance, generator=generator).bool()
    shown, labels = input_ids.clone(), input_ids.masked_fill(~selected, -100)
    left = selected & (torch.rand(input_ids.shape, generator=generator) >= 0.8)
    shown[selected & ~left] = mask_id
    other = left & (torch.rand(input_ids.shape, generator=generator) < 0.5)
    words = torch.randint(len(ordinary_ids), (int(other.sum()),), generator=generator)
    shown[other] = ordinary_ids[words]
    return shown, labels


def batches(start, stop, *, examples, batch_size, seed):
    generator = torch.Generator().manual_seed(seed)
    steps, found = examples // batch_size, []
    for step in range(stop):  # all that was drawn is drawn again
        if step % steps == 0:
            order = torch.randperm(examples, generator=generator).tolist()
        found.append(order[:batch_size])
        order = order[batch_size:]
    return found[start:]
