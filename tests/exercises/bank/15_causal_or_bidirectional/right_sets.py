"""Lists of truth values by Python; paths followed until nothing new is found; loops over heads."""

import torch


def visible_keys(attention_mask, *, causal=False):
    rows = attention_mask.tolist()
    return torch.tensor(
        [[[bool(may) and (not causal or j <= i) for j, may in enumerate(row)]
          for i in range(len(row))] for row in rows]
    )  # fmt: skip


def picture(visible):
    return ["".join(map("OX".__getitem__, row)) for row in visible.int().tolist()]


def attention(query, key, value, visible):
    contexts, tables = [], []
    for head in range(query.shape[1]):
        scores = torch.bmm(query[:, head], key[:, head].transpose(1, 2)) * key.shape[-1] ** -0.5
        nobody = ~visible.any(-1, keepdim=True)
        table = torch.softmax(scores.masked_fill(~(visible | nobody), -torch.inf), -1)
        table = table * (~nobody)
        tables.append(table)
        contexts.append(table @ value[:, head])
    return torch.stack(contexts, 1), torch.stack(tables, 1)


def reached(visible, layers):
    found = torch.eye(visible.shape[1], dtype=torch.bool).repeat(len(visible), 1, 1)
    for _ in range(layers):
        further = found | (visible[..., None] & found[:, None]).any(2)
        if torch.equal(further, found):
            break
        found = further
    return found
