"""nn.Dropout in a mode of its own, the loss with reduction="sum", losses as NumPy's numbers."""

import torch


def text_vector(states, attention_mask, weights, *, pooling):
    if pooling == "cls":
        layer = torch.nn.functional.linear
        return torch.tanh(
            layer(states[:, 0, :], weights["pooler.dense.weight"], weights["pooler.dense.bias"])
        )
    real = attention_mask.bool()
    return torch.where(real.unsqueeze(2), states, 0.0).sum(1).div(real.sum(1).unsqueeze(1))


def classify(input_ids, attention_mask, weights, *, pooling, dropout=0.1, training=False):
    layer = torch.nn.Dropout(dropout).train(training)
    states = encode(input_ids, attention_mask, weights)
    text = layer(text_vector(states, attention_mask, weights, pooling=pooling))
    return torch.addmm(weights["classifier.bias"], text, weights["classifier.weight"].mT)


def loss(logits, labels):
    if logits.size(1) == 1:
        total = torch.nn.functional.mse_loss(logits.view(-1), labels, reduction="sum")
    else:
        total = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
    return total / logits.size(0)


def fine_tune(weights, batches, *, pooling, peak_rate, warmup_steps, weight_decay=0.01,
              max_norm=1.0, dropout=0.1):  # fmt: skip
    weights = {
        name: torch.tensor(w.numpy().copy(), requires_grad=True) for name, w in weights.items()
    }
    bare = [w for n, w in weights.items() if n.split(".")[-2] == "LayerNorm" or n.endswith(".bias")]
    rest = [w for w in weights.values() if all(w is not other for other in bare)]
    optimizer = torch.optim.AdamW(
        [dict(params=rest), dict(params=bare, weight_decay=0)],
        lr=1.0, eps=1e-6, weight_decay=weight_decay, foreach=False,
    )  # fmt: skip
    losses = []
    for t in range(len(batches)):
        left = len(batches) - t
        rate = (t + 1) / warmup_steps if t < warmup_steps else left / (len(batches) - warmup_steps)
        optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = rate * peak_rate
        optimizer.zero_grad(set_to_none=True)
        scores = classify(
            batches[t]["input_ids"], batches[t]["attention_mask"], weights,
            pooling=pooling, dropout=dropout, training=True,
        )  # fmt: skip
        value = loss(scores, batches[t]["labels"])
        losses.append(value.detach().numpy()[()])
        value.backward()
        torch.nn.utils.clip_grad_norm_(
            [w for w in weights.values() if w.grad is not None], max_norm
        )
        optimizer.step()
    return {name: w.detach().clone() for name, w in weights.items()}, losses
