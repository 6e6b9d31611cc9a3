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
DX = "dx = dsum + sum("
DGELU = '    dwide = gelu_backward(dwide, kept["before gelu"], approximation)\n'
DWEIGHT = 'grads[f"{name}.weight"] = drows.T @ rows'
DBIAS = 'grads[f"{name}.bias"] = drows.sum(axis=0)'
KEPT = "    kept = run(x, attention_mask, weights, heads, eps, approximation)\n"
CALL = 'return run(x, attention_mask, weights, heads, eps, approximation)["out"]'
DNORM = "dx = d - d.mean(-1, keepdims=True) - normalized * (d * normalized).mean(-1, keepdims=True)"
VARIANCE = "variance = (centered * centered).mean(axis=-1, keepdims=True)"
SLOPE = "slope = normal_cdf(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)"
DSCORES = "dscores = probs * (dprobs - (dprobs * probs).sum(axis=-1, keepdims=True))"
SCATTER = "np.add.at(dtable, ids, dout)"
LOSS = "return (surprise * weights).sum() / total if total > 0 else 0.0"
TOTAL = "total = weights.sum()\n    return (surprise"
SELECTED = "selected = ~np.isin(input_ids, special_ids) & (rng.random(input_ids.shape) < rate)"
CLIPPED = "return {name: g * scale for name, g in gradients.items()}, norm"
DECAYED = 'is_bare = name.endswith("bias") or "LayerNorm" in name'
UNSEEN = "special_ids are not left out"
ATTENDED = "    context, probs = attention_forward(*projected, attention_mask)\n"

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
        [("context, probs = attention_forward(*projected, attention_mask)",
          "context, probs = attention_forward(*projected)")], "the mask is not used"),
    "always erf": (
        [(CALL, CALL.replace("approximation", '"none"'))], "approximation is not used"),
    "no first residual in the backward pass": (
        [(DX, "dx = sum(")], "around the attention is missing in the backward pass"),
    "no second residual in the backward pass": (
        [(DMIDDLE, DMIDDLE.replace("dsum + ", ""))],
        "around the feed-forward part is missing in the backward pass"),
    "x from the value alone": (
        [("linear_backward(merge(dprojected[i])",
          '(role == "value") * linear_backward(merge(dprojected[i])')],
        "no gradient from query and key"),
    "weight gradients transposed": (
        [(DWEIGHT, f"grad = drows.T @ rows\n    {DWEIGHT.split(' = ')[0]} = "
                   "grad.T if grad.shape[0] == grad.shape[1] else grad")],
        "the weight gradients are transposed"),
    "biases by means": (
        [(DBIAS, DBIAS.replace("sum", "mean"))], "the gradients of biases are means"),
    "GELU passed over": ([(DGELU, "")], "GELU is passed over in the backward pass"),
    "no mask in the backward pass": (
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
        [("scores = query @ transposed(key) / math.sqrt(query.shape[-1])",
          "scores = query @ transposed(key)")], "the scores are not scaled"),
    "no backward of softmax": (
        [(DSCORES, "dscores = dprobs.copy()")], "the backward of softmax is missing"),
    "scatter without add": ([(SCATTER, "dtable[ids] += dout")], "dtable[ids] += dout keeps one"),
    "weights of the slots not used": (
        [(LOSS, "return float(surprise.mean())")], "the weights are not used"),
    "label 0 ignored": (
        [(TOTAL, "weights = weights * (labels != 0)\n    " + TOTAL)],
        "label 0 is taken for padding"),
    "specials masked": ([(SELECTED, "selected = rng.random(input_ids.shape) < rate")], UNSEEN),
    "all [MASK]": (
        [("shown = np.where(selected & (fate < 0.8), mask_id, shown)",
          "shown = np.where(selected, mask_id, shown)")],
        "every selected token becomes [MASK]"),
    "the first step wasted": (
        [("return peak * (step + 1) / warmup_steps", "return peak * step / warmup_steps")],
        "the rate of the first step is 0"),
    "clipped one by one": (
        [(CLIPPED, "return {n: g * min(1, max_norm / max(np.linalg.norm(g), 1e-30)) "
                   "for n, g in gradients.items()}, norm")],
        "each gradient is clipped by itself"),
    "all are decayed": ([(DECAYED, "is_bare = False")], "biases and layer norms are decayed too"),
    "state changed in place": (
        [('m[name] = beta1 * state["m"][name] + (1 - beta1) * g',
          'm[name] = state["m"][name]\n        m[name] *= beta1\n'
          '        m[name] += (1 - beta1) * g')],
        "changed its input in place"),
    "rate written in": (
        [(SELECTED, SELECTED.replace("< rate", "< 0.15"))], "that was given or else the default"),
    "weight_decay written in": (
        [("decay = 0.0 if is_bare else weight_decay", "decay = 0.0 if is_bare else 0.01")],
        "weight_decay is not used: 0.01 is written in"),
    "eps written in": (
        [("(np.sqrt(v[name]) + eps)", "(np.sqrt(v[name]) + 1e-6)")],
        "eps is not used: 1e-06 is written in"),
    "beta1 written in": (
        [('m[name] = beta1 * state["m"][name] + (1 - beta1) * g',
          'm[name] = 0.9 * state["m"][name] + 0.1 * g')], "beta1 is not used: 0.9 is written in"),
    "decay by axes": ([(DECAYED, "is_bare = w.ndim < 2")], "goes by the number of axes"),
    "weights as a mask": (
        [(TOTAL, "weights = (weights > 0).astype(weights.dtype)\n    " + TOTAL)],
        "the weights are used as a mask"),
    "at least one": (
        [(LOSS, "return float((surprise * weights).sum() / max(total, 1.0))")],
        "the sum of the weights is never less than 1"),
    "at least one in the backward pass": (
        [("scale = weights * (dloss / total) if total > 0 else weights",
          "scale = weights * (dloss / max(total, 1.0))")],
        "the sum of the weights is never less than 1"),
    "NaN without weights": (
        [(LOSS, "return float((surprise * weights).sum() / total)")], "0 / 0: without weights"),
    "exp overflows": (
        [("surprise = np.log(np.exp(shifted).sum(axis=-1)) - right",
          "surprise = np.log(np.exp(logits).sum(axis=-1)) - np.take_along_axis("
          "logits, labels[..., None], axis=-1)[..., 0]")], "exp overflows"),
    "exp overflows in attention": (
        [("probs = np.exp(scores - scores.max(axis=-1, keepdims=True))",
          "probs = np.exp(scores)")],
        "exp overflows"),
    "10,000 off padding": (
        [("scores = np.where(attention_mask[:, None, None, :] == 0, lowest, scores)",
          "scores = scores - 1e4 * (1 - attention_mask[:, None, None, :]).astype(scores.dtype)")],
        "10,000 is not enough"),
    "naive variance": (
        [(VARIANCE, "variance = (x * x).mean(-1, keepdims=True) - x.mean(-1, keepdims=True) ** 2")],
        "loses its digits"),
    "a fixed count of masks": (
        [("    return shown.astype(", "    rows = [rng.permutation(np.flatnonzero(~np.isin(row, "
          "special_ids))) for row in input_ids]\n    selected = np.zeros_like(selected)\n"
          "    for i, places in enumerate(rows):\n"
          "        selected[i, places[: round(rate * len(places))]] = True\n"
          "    shown = np.where(selected & (fate < 0.9), word, input_ids)\n"
          "    shown = np.where(selected & (fate < 0.8), mask_id, shown)\n"
          "    return shown.astype(")], "a fixed count of tokens in each row"),
    "fates in order": (
        [("fate = rng.random(input_ids.shape)  #", "fate = (np.cumsum(selected).reshape("
          "selected.shape) - 0.5) / max(1, selected.sum())  #")],
        "goes by its place or by its row"),
    "one fate for a row": (
        [("fate = rng.random(input_ids.shape)  #",
          "fate = rng.random((len(input_ids), 1)) + 0 * input_ids  #")],
        "goes by its place or by its row"),
    "one random word for a row": (
        [("size=input_ids.shape)\n    shown",
          "size=(len(input_ids), 1)) + 0 * input_ids\n    shown")],
        "one random word for a whole row"),
    "neighbors selected together": (
        [(SELECTED, SELECTED.replace("rng.random(input_ids.shape)",
                                     "np.repeat(rng.random(input_ids.shape), 2, axis=1)"
                                     "[:, : input_ids.shape[1]]"))], None),
    "eps of the first norm alone": (
        [(OUT, OUT.replace("eps)", "1e-12)"))], "eps is used in one of the two norms alone"),
    "eps of the second norm alone": (
        [(MIDDLE, MIDDLE.replace("eps)", "1e-12)"))], "eps is used in one of the two norms alone"),
    "10,000 off padding in a layer of its own": (
        [("context, probs = attention_forward(*projected, attention_mask)",
          "q, k, v = projected\n    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])\n"
          "    scores = scores - 1e4 * (1 - attention_mask[:, None, None, :]).astype(x.dtype)\n"
          "    probs = np.exp(scores - scores.max(-1, keepdims=True))\n"
          "    probs = probs / probs.sum(-1, keepdims=True)\n    context = probs @ v")],
        "10,000 off the scores of padding is not enough"),
    "what is kept from the last forward": (
        [("    kept = run(x, attention_mask, weights, heads, eps, approximation)\n",
          "    kept = LAST.get('kept') or run(x, attention_mask, weights, heads, eps, "
          "approximation)\n"),
         ('ROLES = ("query", "key", "value")', 'LAST = {}\nROLES = ("query", "key", "value")'),
         (CALL, "LAST['kept'] = run(x, attention_mask, weights, heads, eps, approximation)\n"
                "    return LAST['kept']['out']")], None),
    "eps of the layer by default": (
        [("x: States, attention_mask: Mask, weights: Arrays, *, heads: int, eps: float = 1e-12,\n"
          "    approximation: str = \"none\",\n) -> States:",
          "x: States, attention_mask: Mask, weights: Arrays, *, heads: int, eps: float = 1e-5,\n"
          "    approximation: str = \"none\",\n) -> States:")], None),
    "tanh by default": (
        [("eps: float = 1e-12,\n    approximation: str = \"none\",\n) -> States:",
          "eps: float = 1e-12,\n    approximation: str = \"tanh\",\n) -> States:")], None),
    "the mean of the gradients of both ways": (
        [(DMIDDLE, DMIDDLE.replace("dsum + ", "0.5 * dsum + 0.5 * "))], None),
    "no gradient for the query's bias": (
        [("    return dx, grads\n", "    grads['attention.self.query.bias'] *= 0\n"
          "    return dx, grads\n")], None),
    # Right for small inputs, and for draws that are counted coarsely.
    "heads 8": (
        [("    projected = [split(linear",
          "    heads = min(heads, 8)\n    projected = [split(linear")],
        "the result for (batch, seq, hidden) (2, 3, 80), 40 heads, in"),
    "select 12 bits": (
        [("(rng.random(input_ids.shape) < rate)",
          "(rng.integers(4096, size=input_ids.shape) < round(rate * 4096))")],
        "the draws are too coarse: whole numbers of a few b"),
    "dw 16": (
        [("grads[f\"{name}.weight\"] = drows.T @ rows",
          "grads[f\"{name}.weight\"] = drows[:400].T @ rows[:400]")],
        "gradients for (batch, seq, hidden) (300, 2, 4), 2 heads, int"),
    "layer eps floor": (
        [("    second_sum = middle + linear(wide, weights, \"output.dense\")",
          "    wide = np.clip(wide, -1e3, 1e3)\n    second_sum = middle + linear(wide, weigh"
          "ts, \"output.dense\")")],
        "the result for (batch, seq, hidden) (1, 3, 5), 1 heads, inte"),
    "layer_backward takes what the forward kept": (
        [
            ("    return run(x, attention_mask, weights, heads, eps, "
             "approximation)[\"out\"]",
             "    _KEPT[:] = [x.copy(), attention_mask.copy(), heads, eps, "
             "approximation, run(x, attention_mask, weights, heads, eps, approximation)]\n"
             "    return _KEPT[-1][\"out\"]"),
            ("    kept = run(x, attention_mask, weights, heads, eps, approximation)\n",
             "    same = _KEPT and np.array_equal(_KEPT[0], x) and "
             "np.array_equal(_KEPT[1], attention_mask) and _KEPT[0].dtype == x.dtype and "
             "_KEPT[2:5] == [heads, eps, approximation]\n"
             "    kept = _KEPT[-1] if same else run(x, attention_mask, weights, heads, "
             "eps, approximation)\n"),
            ("ROLES = (\"query\"",
             "_KEPT = []\n"
             "ROLES = (\"query\""),
        ],
        "a value is kept from one call to the next",
    ),
    "heads of 64 in a layer of 128 or more": (
        [
            ("    projected = [split(",
             "    heads = x.shape[-1] // 64 if x.shape[-1] >= 128 else heads\n"
             "    projected = [split("),
            ("    grads = {}\n"
             "    # From",
             "    grads = {}\n"
             "    heads = x.shape[-1] // 64 if x.shape[-1] >= 128 else heads\n"
             "    # From"),
        ],
        "(1, 3, 128), 4 heads",
    ),
    "the backward takes what the last forward of the same arrays kept": (
        [
            ("    return run(x, attention_mask, weights, heads, eps, approximation)["
             '"out"]\n',
             "    inputs = (x, attention_mask, weights, heads, eps, approximation)\n"
             "    LAST[:] = [inputs, run(*inputs)]\n"
             '    return LAST[1]["out"]\n'),
            ("    kept = run(x, attention_mask, weights, heads, eps, approximation)\n",
             "    inputs = (x, attention_mask, weights, heads, eps, approximation)\n"
             "    same = LAST and all(a is b for a, b in zip(LAST[0][:3], inputs[:3]"
             "))\n"
             "    kept = LAST[1] if same and LAST[0][3:] == inputs[3:] else run(*inp"
             "uts)\n"),
            ('ROLES = ("query", "key", "value")\n',
             'ROLES = ("query", "key", "value")\n'
             "LAST = []  # the last forward\n"),
        ],
        "after a call of layer_forward in which the same arrays",
    ),
    "at least one token is selected": (
        [
            ("    selected = ~np.isin(input_ids, special_ids) & (rng.random(input_id"
             "s.shape) < rate)\n",
             "    ordinary = ~np.isin(input_ids, special_ids)\n"
             "    selected = ordinary & (rng.random(input_ids.shape) < rate)\n"
             "    if rate > 0 and ordinary.any() and not selected.any():  # or there"
             " is no loss\n"
             "        selected.flat[rng.choice(np.flatnonzero(ordinary))] = True\n"),
        ],
        None,
    ),
    "1e9 off the scores of padding": (
        [
            ("    context, probs = attention_forward(*projected, attention_mask)\n",
             "    q, k, v = projected\n"
             "    s = q @ transposed(k) / math.sqrt(q.shape[-1]) + ((1 - attention_mask[:, "
             "None, None, :]) * -1e9).astype(x.dtype)\n"
             "    probs = np.exp(s - s.max(-1, keepdims=True))\n"
             "    probs /= probs.sum(-1, keepdims=True)\n"
             "    context = probs @ v\n"),
        ],
        "10,000 off the scores of padding is not enough",
    ),
    "an eps of 0 is taken for none": (
        [
            ("    projected = [split(",
             "    eps = eps or 1e-12\n"
             "    projected = [split("),
        ],
        "eps is not used",
    ),
    "the backward fills padding with -1e9": (
        [
            (KEPT, KEPT.replace("approximation)", "approximation, fill=-1e9)")),
            ("def run(x, attention_mask, weights, heads, eps, approximation) -> dict:",
             "def run(x, attention_mask, weights, heads, eps, approximation, fill=None) -> dict:"),
            (ATTENDED, ATTENDED
             + "    if fill:\n"
             "        q, k, v = projected\n"
             "        scores = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "        scores += (attention_mask[:, None, None, :] == 0) * x.dtype.type(fill)\n"
             "        probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
             "        probs /= probs.sum(axis=-1, keepdims=True)\n"
             "        context = probs @ v\n"),
        ],
        None,
    ),
    "NaN of padding is repaired in the forward alone": (
        [
            (CALL, CALL.replace("return run(", "return np.nan_to_num(run(") + ")"),
            (ATTENDED,
             "    q, k, v = projected\n"
             "    with np.errstate(all=\"ignore\"):\n"
             "        scores = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "        scores = np.where(attention_mask[:, None, None, :] == 0, -np.inf, scores)\n"
             "        probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
             "    probs /= probs.sum(axis=-1, keepdims=True)\n"
             "    context = probs @ v\n"),
        ],
        " are NaN",
    ),
    "one dict for all gradients": (
        [
            ("    grads = {}\n",
             "    grads = GRADIENTS\n"),
            ("\n"
             "\n"
             "def run(x, attention_mask, weights, heads, eps, approximation) -> dict:\n",
             "GRADIENTS = {}\n"
             "\n"
             "\n"
             "def run(x, attention_mask, weights, heads, eps, approximation) -> dict:\n"),
        ],
        "an earlier call has returned too",
    ),
    "GELU by tanh in the layer, with a float64 of NumPy": (
        [
            ("    wide = gelu_forward(before_gelu, approximation)\n",
             "    wide = gelu_forward(before_gelu, approximation)\n"
             "    if approximation == \"tanh\":\n"
             "        inner = np.sqrt(2 / np.pi) * (before_gelu + 0.044715 * before_gelu**3)\n"
             "        wide = 0.5 * before_gelu * (1 + np.tanh(inner))\n"),
        ],
        "the result is always float64",
    ),
    "the norms of a layer by the mean of the squares": (
        [
            ('    return layer_norm_forward(x, weights[f"{name}.weight"], weights[f"{name}.bias"], '
             "eps)\n",
             "    mean = x.mean(-1, keepdims=True)\n"
             "    variance = (x * x).mean(-1, keepdims=True) - mean * mean\n"
             "    x = (x - mean) / np.sqrt(np.maximum(variance, 0) + eps)\n"
             '    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]\n'),
        ],
        "where the means of what is normalized are 10,000",
    ),
    "normalized again from the result of the norm": (
        [
            ('    dsum = norm_backward(dout, kept["second sum"], weights, "output.LayerNorm", eps, '
             "grads)\n",
             '    normalized = kept["out"] - weights["output.LayerNorm.bias"]\n'
             '    normalized = normalized / weights["output.LayerNorm.weight"]\n'
             '    grads["output.LayerNorm.weight"] = (dout * normalized).sum((0, 1))\n'
             '    grads["output.LayerNorm.bias"] = dout.sum((0, 1))\n'
             '    d = dout * weights["output.LayerNorm.weight"]\n'
             "    dsum = d - d.mean(-1, keepdims=True)\n"
             "    dsum = dsum - normalized * (d * normalized).mean(-1, keepdims=True)\n"
             '    dsum = dsum / np.sqrt(kept["second sum"].var(-1, keepdims=True) + eps)\n'),
        ],
        "the first row of each weight 0",
    ),
    "the gate of GELU by a division": (
        [
            (DGELU,
             '    before, gate = kept["before gelu"], kept["wide"] / kept["before gelu"]\n'
             "    slope = np.exp(-before * before / 2) / math.sqrt(2 * math.pi)\n"
             '    if approximation == "tanh":\n'
             "        slope = 2 * gate * (1 - gate) * SCALE * (1 + 3 * CUBIC * before * before)\n"
             "    dwide = dwide * (gate + before * slope)\n"),
        ],
        "the first row of each weight 0",
    ),
    "an eps of 1e-7 or more in float32": (
        [
            ("    projected = [split(",
             "    eps = max(eps, 1e-7) if x.dtype == np.float32 else eps\n"
             "    projected = [split("),
        ],
        None,
    ),
    "the table of a lookup in float32 at least": (
        [
            ("dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)",
             "dtable = np.zeros((entries, dout.shape[-1]), np.result_type(dout, np.float32))"),
        ],
        "expected numbers of type float16, got float32",
    ),
    "what a forward of other settings kept, by the numbers of the arrays": (
        [
            (CALL,
             "KEPT[numbers_of(x, attention_mask, weights)] = kept = "
             "run(x, attention_mask, weights, heads, eps, approximation)\n"
             '    return kept["out"]'),
            (KEPT + "    grads = {}\n",
             "    kept = KEPT.pop(numbers_of(x, attention_mask, weights), None)\n"
             "    kept = kept or run(x, attention_mask, weights, heads, eps, approximation)\n"
             "    grads = {}\n"),
            ("def run(x, attention_mask, weights, heads, eps, approximation) -> dict:",
             "KEPT = {}\n\n\n"
             "def numbers_of(x, mask, weights):\n"
             "    arrays = x, mask, *(weights[name] for name in sorted(weights))\n"
             "    return tuple(array.tobytes() for array in arrays)\n\n\n"
             "def run(x, attention_mask, weights, heads, eps, approximation) -> dict:"),
        ],
        "in which `heads` was another one",
    ),
    "padding at -inf in float32": (
        [
            ("    context, probs = attention_forward(*projected, attention_mask)\n",
             "    q, k, v = projected\n"
             "    s = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "    s = np.where(attention_mask[:, None, None, :] == 0, -np.inf if s.dtype == "
             "np.float32 else np.finfo(s.dtype).min, s).astype(s.dtype)\n"
             "    probs = np.exp(s - s.max(-1, keepdims=True))\n"
             "    probs /= probs.sum(-1, keepdims=True)\n"
             "    context = probs @ v\n"),
        ],
        "in float32 an example that is all padding",
    ),
    "1e9 off the scores of padding in float32 alone": (
        [
            ("    context, probs = attention_forward(*projected, attention_mask)\n",
             "    q, k, v = projected\n"
             "    s = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "    s = np.where(attention_mask[:, None, None, :] == 0, s + s.dtype.type(-1e9) "
             "if s.dtype == np.float32 else np.finfo(s.dtype).min, s).astype(s.dtype)\n"
             "    probs = np.exp(s - s.max(-1, keepdims=True))\n"
             "    probs /= probs.sum(-1, keepdims=True)\n"
             "    context = probs @ v\n"),
        ],
        "in float32 whose padding holds large numbers",
    ),
    "padding at -1e4 in float32": (
        [
            ("    context, probs = attention_forward(*projected, attention_mask)\n",
             "    q, k, v = projected\n"
             "    s = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "    s = np.where(attention_mask[:, None, None, :] == 0, s.dtype.type(-1e4) if "
             "s.dtype == np.float32 else np.finfo(s.dtype).min, s).astype(s.dtype)\n"
             "    probs = np.exp(s - s.max(-1, keepdims=True))\n"
             "    probs /= probs.sum(-1, keepdims=True)\n"
             "    context = probs @ v\n"),
        ],
        "in float32 whose padding holds large numbers",
    ),
    "padding at -1e6": (
        [
            ("    context, probs = attention_forward(*projected, attention_mask)\n",
             "    q, k, v = projected\n"
             "    s = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "    s = np.where(attention_mask[:, None, None, :] == 0, -1e6, "
             "s).astype(s.dtype)\n"
             "    probs = np.exp(s - s.max(-1, keepdims=True))\n"
             "    probs /= probs.sum(-1, keepdims=True)\n"
             "    context = probs @ v\n"),
        ],
        "for numbers near 1,000,000",
    ),
    "scores of 80 at most in float32": (
        [
            ("    context, probs = attention_forward(*projected, attention_mask)\n",
             "    q, k, v = projected\n"
             "    s = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "    s = np.where(attention_mask[:, None, None, :] == 0, np.finfo(s.dtype).min, "
             "np.clip(s, -80, 80) if s.dtype == np.float32 else s).astype(s.dtype)\n"
             "    probs = np.exp(s - s.max(-1, keepdims=True))\n"
             "    probs /= probs.sum(-1, keepdims=True)\n"
             "    context = probs @ v\n"),
        ],
        "in float32 whose padding holds large numbers",
    ),
    "norms by the mean of the squares in float32 alone": (
        [
            ('    return layer_norm_forward(x, weights[f"{name}.weight"], '
             'weights[f"{name}.bias"], eps)',
             "    if x.dtype == np.float32:\n"
             "        mean = x.mean(-1, keepdims=True)\n"
             "        x = (x - mean) / np.sqrt(np.maximum((x * x).mean(-1, keepdims=True) - "
             "mean * mean, 0) + np.float32(eps))\n"
             '        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]\n'
             '    return layer_norm_forward(x, weights[f"{name}.weight"], '
             'weights[f"{name}.bias"], eps)'),
        ],
        "normalized are 1,000",
    ),
    "zeros of float64 for a dout of 0": (
        [
            ("    grads = {}\n",
             "    grads = {}\n"
             "    if not dout.any():\n"
             "        return np.zeros(x.shape), {n: np.zeros(w.shape) for n, w in "
             "weights.items()}\n"),
        ],
        "in float32 where dout is 0",
    ),
    "dout handed back where it is 0": (
        [
            ("    grads = {}\n",
             "    grads = {}\n"
             "    if not dout.any():\n"
             "        return dout, {n: np.zeros_like(w) for n, w in weights.items()}\n"),
        ],
        "where dout is 0 it returns",
    ),
    "an eps of 0.5 at most": (
        [
            ("    projected = [split",
             "    eps = min(eps, 0.5)\n"
             "    projected = [split"),
        ],
        "{'eps': 2.0}",
    ),
    "the backward puts padding at -inf in float32": (
        [
            ("    kept = run(x, attention_mask, weights, heads, eps, approximation)\n",
             "    kept = run(x, attention_mask, weights, heads, eps, approximation, "
             "back=True)\n"),
            ("def run(x, attention_mask, weights, heads, eps, approximation) -> dict:",
             "def run(x, attention_mask, weights, heads, eps, approximation, back=False) -> "
             "dict:"),
            ("    context, probs = attention_forward(*projected, attention_mask)\n",
             "    context, probs = attention_forward(*projected, attention_mask)\n"
             "    if back and x.dtype == np.float32:\n"
             "        q, k, v = projected\n"
             "        s = q @ transposed(k) / math.sqrt(q.shape[-1])\n"
             "        s = np.where(attention_mask[:, None, None, :] == 0, -np.inf, "
             "s).astype(s.dtype)\n"
             "        probs = np.exp(s - s.max(-1, keepdims=True))\n"
             "        probs /= probs.sum(-1, keepdims=True)\n"
             "        context = probs @ v\n"),
        ],
        "are NaN",
    ),
    "gradients that are not clipped are those given": (
        [
            (
                '    return {name: g * scale for name, g in gradients.items()}, norm\n',
                '    if scale == 1:\n'
                '        return dict(gradients), norm\n'
                '    return {name: g * scale for name, g in gradients.items()}, norm\n',
            ),
        ],
        'or a view of one',
    ),
    "gradients of a weight in blocks of 2048 tokens, without the rest": (
        [
            (
                '    grads[f"{name}.weight"] = drows.T @ rows\n',
                '    kept = len(rows) - len(rows) % 2048 or len(rows)\n'
                '    grads[f"{name}.weight"] = drows[:kept].T @ rows[:kept]\n',
            ),
        ],
        None,
    ),
    "the rows of a table by a flat index, in the type of the ids": (
        [("    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)\n",
          "    hidden = dout.shape[-1]\n"
          "    places = (ids[..., None] * hidden).astype(np.int64) + np.arange(hidden)\n"
          "    sums = np.bincount(places.ravel(), dout.ravel(), entries * hidden)\n"
          "    return sums.reshape(entries, hidden).astype(dout.dtype)\n"
          "    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)\n")],
        None),
    "of equal examples the first alone is computed": (
        [(CALL, "if len(x) > 1 and (x == x[:1]).all():\n"
                "        out = run(x[:1], attention_mask[:1], weights, heads, eps, approximation)\n"
                "        return np.repeat(out[\"out\"], len(x), axis=0)\n"
                f"    {CALL}")],
        "a layer of equal examples",
    ),
    "the mask of the first example where all have as many tokens": (
        [(ATTENDED, "    if len(set(attention_mask.sum(axis=1).tolist())) == 1:\n"
                    "        attention_mask = 0 * attention_mask + attention_mask[:1]\n"
                    f"{ATTENDED}")],
        None,
    ),
    "tokens of zeros are taken for padding": (
        [(ATTENDED, f"    attention_mask = attention_mask * x.any(axis=-1)\n{ATTENDED}")],
        "zeros but for some tokens",
    ),
    "no gradient for a scale of ones": (
        [(DBIAS, f"{DBIAS}\n    for n, w in weights.items():\n"
                 "        if (w == 1).all() and n in grads:\n"
                 "            grads[n] = np.zeros_like(w)")],
        "biases of 0 and scales of 1",
    ),
    "no gradient for a weight of zeros": (
        [(DWEIGHT, f"{DWEIGHT}\n    if not weights[f\"{{name}}.weight\"].any():\n"
                   "        grads[f\"{name}.weight\"] *= 0")],
        "as the weights of",
    ),
    "a dense layer without weights gives 0": (
        [('    return x @ weights[f"{name}.weight"].T + ',
          '    if not weights[f"{name}.weight"].any():\n'
          '        return np.zeros_like(x @ weights[f"{name}.weight"].T)\n'
          '    return x @ weights[f"{name}.weight"].T + ')],
        "as the weights of",
    ),
    "an intermediate size of 1,024 at most": (
        [('    second_sum = middle + linear(wide, weights, "output.dense")',
          '    wide[..., 1024:] = 0\n'
          '    second_sum = middle + linear(wide, weights, "output.dense")')],
        "intermediate 4099",
    ),
    "equal examples with equal masks have one gradient": (
        [(KEPT, "    shape = dout.shape\n"
                "    if (x == x[:1]).all() and (attention_mask == attention_mask[:1]).all():\n"
                "        x, attention_mask = x[:1], attention_mask[:1]\n"
                "        dout = dout.sum(axis=0, keepdims=True)\n"
                f"{KEPT}"),
         ("    return dx, grads\n", "    return np.broadcast_to(dx, shape).copy(), grads\n")],
        "their masks too"),
    "large numbers at padding are cut off": (
        [(ATTENDED, "    at_padding = attention_mask[..., None] == 0\n"
                    "    x = np.where(at_padding, np.clip(x, -1e3, 1e3), x).astype(x.dtype)\n"
                    f"{ATTENDED}")],
        "large numbers at padding"),
}  # fmt: skip
