"""Mutants of 13_encoder_real_weights that nobody can tell from the solution."""

NO_GRADIENT = "the page asks for numbers and says that no gradient is needed"

EQUIVALENT = {
    'encode: gathered = attention(x, visible, weights, f"{name}.attention", heads) | gathered = '
    'attention(x, visible, weights, f"{name}.attention", heads) => gathered = (attention(x, '
    "visible, weights, f'{name}.attention', heads)).detach()": NO_GRADIENT,
    'encode: x = norm(x + gathered, weights, f"{name}.attention.output.LayerNorm", eps) | x = '
    'norm(x + gathered, weights, f"{name}.attention.output.LayerNorm", eps) => x = (norm(x + '
    "gathered, weights, f'{name}.attention.output.LayerNorm', eps)).detach()": NO_GRADIENT,
    'encode: wide = F.gelu(dense(x, weights, f"{name}.intermediate.dense"), approximate='
    'approximate) | wide = F.gelu(dense(x, weights, f"{name}.intermediate.dense"), approximate='
    "approximate) => wide = (F.gelu(dense(x, weights, f'{name}.intermediate.dense'), approximate="
    "approximate)).detach()": NO_GRADIENT,
    'encode: worked = dense(wide, weights, f"{name}.output.dense") | worked = dense(wide, weights, '
    "f\"{name}.output.dense\") => worked = (dense(wide, weights, f'{name}.output.dense')).detach()":
        NO_GRADIENT,
    "attention: scores = query @ key.mT / math.sqrt(query.shape[-1]) | scores = query @ key.mT / "
    "math.sqrt(query.shape[-1]) => scores = (query @ key.mT / math.sqrt(query.shape[-1])).detach()":
        NO_GRADIENT,
    "attention: weighting = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)"
    ".softmax(dim=-1) | weighting = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)"
    ".softmax(dim=-1) => weighting = (scores.masked_fill(~visible, torch.finfo(scores.dtype).min)"
    ".softmax(dim=-1)).detach()": NO_GRADIENT,
    "attention: merged = (weighting @ value).permute(0, 2, 1, 3).flatten(2) | merged = (weighting "
    "@ value).permute(0, 2, 1, 3).flatten(2) => merged = ((weighting @ value).permute(0, 2, 1, 3)"
    ".flatten(2)).detach()": NO_GRADIENT,
}  # fmt: skip
