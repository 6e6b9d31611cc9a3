"""Wrong answers to 25_capstone, as edits of the solution, and the words that name each."""

FIRST_SUM = 'first_sum = x + linear(context, weights, "attention.output.dense")'
SECOND_SUM = 'second_sum = middle + linear(wide, weights, "output.dense")'
MIDDLE = 'middle = normed(first_sum, weights, "attention.output.LayerNorm", eps)'
OUT = '"out": normed(second_sum, weights, "output.LayerNorm", eps)'
PROJECTED = (
    'projected = [split(linear(x, weights, f"attention.self.{role}"), heads) for role in ROLES]'
)
SPLIT = "return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, 1, 3)"
DMIDDLE = (
    'dmiddle = dsum + linear_backward(dwide, kept["middle"], weights, "intermediate.dense", grads)'
)
DX = "    dx = dsum\n"
DGELU = '    dwide = gelu_backward(dwide, kept["before gelu"], approximation)\n'
DWEIGHT = 'grads[f"{name}.weight"] = drows.T @ rows'
DBIAS = 'grads[f"{name}.bias"] = drows.sum(axis=0)'
KEPT = "    kept = run(x, attention_mask, weights, heads, eps, approximation)\n"
CALL = 'return run(x, attention_mask, weights, heads, eps, approximation)["out"]'
DNORM = "dx = d - d.mean(-1, keepdims=True) - normalized * (d * normalized).mean(-1, keepdims=True)"
VARIANCE = "variance = (centred * centred).mean(axis=-1, keepdims=True)"
SLOPE = "slope = normal_cdf(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)"
DSCORES = "dscores = shares * (dshares - (dshares * shares).sum(axis=-1, keepdims=True))"
SCATTER = "np.add.at(dtable, ids, dout)"
LOSS = "return float((surprise * weights).sum() / total) if total > 0 else 0.0"
SELECTED = "selected = ~np.isin(input_ids, special_ids) & (rng.random(input_ids.shape) < rate)"
CLIPPED = "return {name: g * scale for name, g in gradients.items()}, norm"
DECAYED = 'if not name.endswith("bias") and "LayerNorm" not in name:'
UNSEEN = "special tokens or padding have a label"

WRONG = {
    "no residuals": (
        [(FIRST_SUM, FIRST_SUM.replace("x + ", "")),
         (SECOND_SUM, SECOND_SUM.replace("middle + ", ""))],
        "there is no residual connection"),
    "no first residual": (
        [(FIRST_SUM, FIRST_SUM.replace("x + ", ""))],
        "the residual around the attention is missing"),
    "no second residual": (
        [(SECOND_SUM, SECOND_SUM.replace("middle + ", ""))],
        "the residual around the feed-forward part is missing"),
    "x as the second residual": (
        [(SECOND_SUM, SECOND_SUM.replace("middle + ", "x + "))],
        "is the layer's x, not what entered that part"),
    "pre-LN": (
        [(PROJECTED, 'before = normed(x, weights, "attention.output.LayerNorm", eps)\n    '
                     + PROJECTED.replace("linear(x,", "linear(before,")),
         (MIDDLE, "middle = first_sum"),
         ("before_gelu = linear(middle,", 'before_gelu = linear(normed(middle, weights, '
                                          '"output.LayerNorm", eps),'),
         (OUT, '"out": second_sum')],
        "the norms come first (pre-LN)"),
    "query and key exchanged": (
        [('ROLES = ("query", "key", "value")', 'ROLES = ("key", "query", "value")')],
        "query and key are exchanged"),
    "tokens mixed": (
        [(SPLIT, "return x.reshape(batch, heads, seq, hidden // heads)"),
         ("return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)",
          "return x.reshape(batch, seq, heads * head_dim)")],
        "which mixes the tokens"),
    "one head": ([(CALL, CALL.replace("heads", "1"))], "heads is not used"),
    "no mask": (
        [("context, shares = attention_forward(*projected, attention_mask)",
          "context, shares = attention_forward(*projected)")], "the mask is not used"),
    "always erf": (
        [(CALL, CALL.replace("approximation", '"none"'))], "approximation is not used"),
    "no first residual on the way back": (
        [(DX, "    dx = 0 * dsum\n")], "around the attention is missing on the way back"),
    "no second residual on the way back": (
        [(DMIDDLE, DMIDDLE.replace("dsum + ", ""))],
        "around the feed-forward part is missing on the way back"),
    "x from the value alone": (
        [("dx = dx + linear_backward(", 'dx = dx + (role == "value") * linear_backward(')],
        "no gradient from query and key"),
    "weight gradients transposed": (
        [(DWEIGHT, f"grad = drows.T @ rows\n    {DWEIGHT.split(' = ')[0]} = "
                   "grad.T if grad.shape[0] == grad.shape[1] else grad")],
        "the weight gradients are transposed"),
    "biases by means": (
        [(DBIAS, DBIAS.replace("sum", "mean"))], "the gradients of biases are means"),
    "GELU passed over": ([(DGELU, "")], "GELU is passed over on the way back"),
    "no mask on the way back": (
        [(KEPT, KEPT.replace("attention_mask", "None"))], "the mask is not used"),
    "x changed in place": (
        [(FIRST_SUM, 'x += linear(context, weights, "attention.output.dense")\n    first_sum = x')],
        "changed its input in place"),
    "unbiased variance": (
        [(VARIANCE, "variance = x.var(axis=-1, ddof=1, keepdims=True)")],
        "the variance divides by hidden - 1"),
    "no path through the variance": (
        [(DNORM, "dx = d - d.mean(-1, keepdims=True)")],
        "the path through the variance is missing"),
    "the gate alone as the slope": (
        [(SLOPE, "slope = normal_cdf(x)")], "the slope of the gate is missing"),
    "always float64": (
        [("np.vectorize(math.erf, otypes=[x.dtype])", "np.vectorize(math.erf)")],
        "the result is always float64"),
    "no scale": (
        [("scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])",
          "scores = query @ key.swapaxes(-1, -2)")], "the scores are not scaled"),
    "no backward of softmax": (
        [(DSCORES, "dscores = dshares.copy()")], "the backward of softmax is missing"),
    "scatter without add": ([(SCATTER, "dtable[ids] += dout")], "dtable[ids] += dout keeps one"),
    "weights of the slots not used": (
        [(LOSS, "return float(surprise.mean())")], "the weights are not used"),
    "label 0 ignored": (
        [("total = weights.sum()\n    return float(",
          "weights = weights * (labels != 0)\n    total = weights.sum()\n    return float(")],
        "label 0 is taken for padding"),
    "specials masked": ([(SELECTED, "selected = rng.random(input_ids.shape) < rate")], UNSEEN),
    "all [MASK]": (
        [("shown = np.where(selected & (fate < 0.8), mask_id, input_ids)",
          "shown = np.where(selected, mask_id, input_ids)"),
         ("shown = np.where(selected & (fate >= 0.8) & (fate < 0.9), word, shown)", "")],
        "every selected token becomes [MASK]"),
    "the first step wasted": (
        [("return peak * (step + 1) / warmup_steps", "return peak * step / warmup_steps")],
        "the rate of the first step is 0"),
    "clipped one by one": (
        [(CLIPPED, "return {n: g * min(1, max_norm / max(np.linalg.norm(g), 1e-30)) "
                   "for n, g in gradients.items()}, norm")],
        "each gradient is clipped by itself"),
    "all are decayed": ([(DECAYED, "if True:")], "biases and layer norms are decayed too"),
    "state changed in place": (
        [('m[name] = beta1 * state["m"][name] + (1 - beta1) * g',
          'm[name] = state["m"][name]\n        m[name] *= beta1\n'
          '        m[name] += (1 - beta1) * g')],
        "changed its input in place"),
}  # fmt: skip
