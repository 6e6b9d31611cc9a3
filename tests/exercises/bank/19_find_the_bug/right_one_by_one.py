"""One token, one number and one step after another, in plain Python where it is fast enough."""

import torch


def accumulated_gradient(weight, micro_batches):
    leaf = weight.clone().requires_grad_()
    count = sum(labels.ge(0).sum().item() for _, labels in micro_batches)
    loss = sum(
        -(x[i] @ leaf.T).log_softmax(0)[labels[i]] / count
        for x, labels in micro_batches
        for i in range(len(labels))
        if labels[i] != -100
    )
    return torch.autograd.grad(loss, leaf)[0]


def update(weights, gradients, *, learning_rate, weight_decay, max_norm):
    squares = sum(float(g.double().pow(2).sum()) for g in gradients.values())
    factor = 1.0 if squares <= max_norm**2 else max_norm / squares**0.5
    return {
        name: w * (1 - learning_rate * (weight_decay if w.ndim == 2 else 0.0))
        - learning_rate * factor * gradients[name]
        for name, w in weights.items()
    }


def mask_tokens(input_ids, generator, *, mask_id, special_ids, ordinary_ids, rate=0.15):
    tokens = input_ids.flatten()
    shown, labels = tokens.clone(), torch.full_like(tokens, -100)
    special = set(special_ids.tolist())
    places = [i for i, token in enumerate(tokens.tolist()) if token not in special]
    draws = torch.rand(len(places), generator=generator).tolist()
    for place, draw in zip(places, draws, strict=True):
        if draw >= rate:
            continue
        labels[place] = tokens[place]
        if draw < 0.8 * rate:
            shown[place] = mask_id
        elif draw < 0.9 * rate:
            word = torch.randint(len(ordinary_ids), (), generator=generator)
            shown[place] = ordinary_ids[word]
    return shown.view(input_ids.shape), labels.view(input_ids.shape)


def collate(pairs, *, cls_id, sep_id, pad_id):
    out = {"input_ids": [], "attention_mask": [], "token_type_ids": []}
    for pair in pairs:
        row = [cls_id] + pair["a"] + [sep_id] + pair["b"] + [sep_id]
        out["input_ids"].append(row)
        out["attention_mask"].append([1 for _ in row])
        out["token_type_ids"].append([int(i >= len(pair["a"]) + 2) for i in range(len(row))])
    longest = max(map(len, out["input_ids"]))
    for name, rows in out.items():
        fill = pad_id if name == "input_ids" else 0
        out[name] = torch.tensor([row + [fill] * (longest - len(row)) for row in rows])
    labels = [1 - pair["is_next"] for pair in pairs]
    return out | {"next_sentence_labels": torch.tensor(labels, dtype=torch.int64)}
