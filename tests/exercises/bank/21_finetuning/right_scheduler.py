"""torch's own schedule, parameters of a module, one optimizer over named groups."""

import torch
import torch.nn.functional as F


def text_vector(states, attention_mask, weights, *, pooling):
    if pooling == "mean":
        mask = attention_mask.to(states.dtype)
        return torch.einsum("bs,bsh->bh", mask / mask.sum(1, keepdim=True), states)
    first = states.select(1, 0)
    return torch.tanh(torch.addmm(weights["pooler.dense.bias"], first,
                                  weights["pooler.dense.weight"].T))  # fmt: skip


def loss(logits, labels):
    if logits.shape[-1] == 1:
        return F.mse_loss(logits.squeeze(-1), labels)
    return F.nll_loss(F.log_softmax(logits, dim=-1), labels)


def fine_tune(weights, batches, *, pooling, peak_rate, warmup_steps, weight_decay=0.01,
              max_norm=1.0, dropout=0.1):  # fmt: skip
    parameters = {name: torch.nn.Parameter(w.clone()) for name, w in weights.items()}
    groups = [
        {"params": [p], "weight_decay": weight_decay * (p.ndim > 1)} for p in parameters.values()
    ]
    optimizer = torch.optim.AdamW(groups, lr=peak_rate, eps=1e-6)
    total = len(batches)

    def share(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return (total - step) / max(1, total - warmup_steps)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        scores = classify(
            batch["input_ids"], batch["attention_mask"], parameters,
            pooling=pooling, dropout=dropout, training=True,
        )  # fmt: skip
        value = loss(scores, batch["labels"])
        value.backward()
        torch.nn.utils.clip_grad_norm_(list(parameters.values()), max_norm)
        optimizer.step()
        schedule.step()
        losses.append(value.item())
    return {name: p.data for name, p in parameters.items()}, losses
