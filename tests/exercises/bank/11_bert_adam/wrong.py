"""Wrong answers to 11_bert_adam, as edits of the solution, and the words that name each."""

WARM = "return peak * (step + 1) / warmup_steps"
FALL = "return peak * (total_steps - step) / (total_steps - warmup_steps)"
NORM = "norm = math.sqrt(sum((g * g).sum() for g in gradients.values()))"
SCALE = "scale = max_norm / norm if norm > max_norm else 1.0"
CLIPPED = "return {name: g * scale for name, g in gradients.items()}, norm"
START_M = '"m": {name: np.zeros_like(w) for name, w in weights.items()},'
START_V = '"v": {name: np.zeros_like(w) for name, w in weights.items()},'
M = 'm[name] = beta1 * state["m"][name] + (1 - beta1) * g'
V = 'v[name] = beta2 * state["v"][name] + (1 - beta2) * g * g'
UPDATE = "update = m[name] / (np.sqrt(v[name]) + eps)"
DECAYS = "decay = weight_decay if is_decayed(name) else 0.0"
MOVE = "moved[name] = w - learning_rate * (update + decay * w)"
IS_DECAYED = 'return not name.endswith("bias") and "LayerNorm" not in name'
FIRST = "moved, m, v = {}, {}, {}"
LAST = 'return moved, {"m": m, "v": v}'

WRONG = {
    "decimal stays more exact": (
        [("    if step < warmup_steps:\n", "    __import__('decimal').getcontext().prec = 40\n"
          "    if step < warmup_steps:\n")],
        "changed decimal's precision"),
    "another name for step": (
        [("def learning_rate(step: int,", "def learning_rate(i: int,"),
         ("    if step < warmup_steps:\n", "    step = i\n    if step < warmup_steps:\n")],
        "was an argument of the starter renamed"),
    "bias correction, by a count in the state": (
        [(FIRST, FIRST + '\n    t = state.get("t", 0) + 1'),
         (UPDATE, "update = m[name] / (1 - beta1**t)\n"
                  "        update = update / (np.sqrt(v[name] / (1 - beta2**t)) + eps)"),
         (LAST, 'return moved, {"m": m, "v": v, "t": t}')],
        "bias correction"),
    "eps inside the root": (
        [(UPDATE, "update = m[name] / np.sqrt(v[name] + eps)")], "eps stands inside the root"),
    "no eps": ([(UPDATE, "update = m[name] / np.sqrt(v[name])")], "eps is left out"),
    "no root": ([(UPDATE, "update = m[name] / (v[name] + eps)")], "the root of v is missing"),
    "L2": (
        [("g = gradients[name]", "g = gradients[name] + weight_decay * w * is_decayed(name)"),
         (DECAYS, "decay = 0.0")],
        "the decay is added to the gradient (L2): it"),
    "L2 on all": (
        [("g = gradients[name]", "g = gradients[name] + weight_decay * w"),
         (DECAYS, "decay = 0.0")],
        "the decay is added to the gradient (L2), of biases and layer norms too"),
    "decay without the rate": (
        [(MOVE, "moved[name] = w - learning_rate * update - decay * w")],
        "the decay is not multiplied by the learning rate"),
    "no decay": ([(DECAYS, "decay = 0.0")], "there is no weight decay"),
    "decay away from zero": (
        [(MOVE, MOVE.replace("update +", "update -"))], "the sign of the decay"),
    "all are decayed": ([(IS_DECAYED, "return True")], "biases and layer norms are decayed too"),
    "biases decayed": (
        [(IS_DECAYED, 'return "LayerNorm" not in name')], "biases are decayed too"),
    "layer norms by a name that never matches": (
        [(IS_DECAYED, 'return not name.endswith("bias") and "layer_norm" not in name')],
        "a name that is looked for never matches"),
    "embeddings not decayed": (
        [(IS_DECAYED, IS_DECAYED + ' and "embeddings" not in name')],
        "the embeddings are not decayed"),
    "beta1 written in": ([(M, M.replace("beta1", "0.9"))], "beta1 is not used"),
    "beta2 written in": ([(V, V.replace("beta2", "0.999"))], "beta2 is not used"),
    "eps written in": ([(UPDATE, UPDATE.replace("eps", "1e-6"))], "eps is not used"),
    "decay written in": (
        [(DECAYS, DECAYS.replace("weight_decay if", "0.01 if"))], "weight_decay is not used"),
    "betas exchanged": (
        [(M, M.replace("beta1", "beta2")), (V, V.replace("beta2", "beta1"))],
        "the betas are exchanged"),
    "v of m": ([(V, V.replace("g * g", "m[name] ** 2"))], "the square of m"),
    "v without the square": ([(V, V.replace("g * g", "abs(g)"))], "not its square"),
    "state forgotten": (
        [(FIRST, f"{FIRST}\n    state = start_adam(weights)")],
        "the state of the step before is not used"),
    "uphill": ([(MOVE, MOVE.replace("w -", "w +"))], "uphill"),
    "one state for all weights of a shape": (
        [(M, 'key = w.shape\n        previous = next(m[n] for n in m if m[n].shape == key) '
             'if any(a.shape == key for a in m.values()) else state["m"][name]\n'
             "        m[name] = beta1 * previous + (1 - beta1) * g")],
        "weights of the same shape share a state"),
    "weights moved in place": (
        [(MOVE, "w -= learning_rate * (update + decay * w)\n        moved[name] = w")],
        "changed its input in place"),
    "moments moved in place": (
        [(M, 'm[name] = state["m"][name]\n        m[name] *= beta1\n'
             "        m[name] += (1 - beta1) * g")],
        "changed its input in place"),
    "always float64": (
        [(START_M, START_M.replace("np.zeros_like(w)", "np.zeros(w.shape)"))],
        "the result is float64 for float32"),
    "moments start at one": ([(START_V, START_V.replace("zeros", "ones"))], None),
    "each parameter clipped by itself": (
        [(CLIPPED, "return {n: g * min(1, max_norm / max(1e-300, np.sqrt((g * g).sum()))) "
                   "for n, g in gradients.items()}, norm")],
        "each parameter is clipped by itself"),
    "each number clipped": (
        [(CLIPPED, "return {n: g.clip(-max_norm, max_norm) for n, g in gradients.items()}, norm")],
        "each number is clipped"),
    "norms added up": (
        [(NORM, "norm = sum(math.sqrt((g * g).sum()) for g in gradients.values())")],
        "the norms of the parameters are added up"),
    "no root of the norm": (
        [(NORM, "norm = sum(float((g * g).sum()) for g in gradients.values())")],
        "the root of the norm is missing"),
    "clipped to 1": (
        [(SCALE, "scale = 1 / norm if norm > 1 else 1.0")], "max_norm is not used"),
    "torch's small number": (
        [(SCALE, "scale = min(1.0, max_norm / (norm + 1e-6))")],
        "something is added to the norm"),
    "always scaled": (
        [(SCALE, "scale = max_norm / (norm + 1e-12)")], "gradients are always scaled"),
    "0 / 0": ([(CLIPPED, "return {n: g / norm * min(norm, max_norm) for n, g in gradients.items()},"
                         " norm")],
              "0 / 0: gradients of norm 0"),
    "norm after clipping": (
        [(CLIPPED, CLIPPED.replace(", norm", ", min(norm, max_norm)"))],
        "the norm after clipping was returned"),
    "gradients clipped in place": (
        [(CLIPPED, "for g in gradients.values():\n        g *= scale\n"
                   "    return gradients, norm")],
        "changed its input in place"),
    "warm-up from 0": ([(WARM, WARM.replace("(step + 1)", "step"))],
                       "the rate of the first step is 0"),
    "fall counted from step 0": (
        [(FALL, "return peak * (total_steps - step) / total_steps")],
        "the fall is counted from step 0"),
    "no fall": ([(FALL, "return peak")], "there is no fall"),
    "no warm-up": (
        [(WARM, "return peak * (total_steps - step) / total_steps")], "there is no warm-up"),
    "fall a step early": (
        [(FALL, FALL.replace("- step)", "- step - 1)"))], "the fall is a step early"),
    "fall a step late": (
        [(FALL, FALL.replace("- step)", "+ 1 - step)").replace("total_steps - w",
                                                                "total_steps + 1 - w"))],
        "the fall is a step late"),
    "a warm-up of 0 is one of 1": (
        [("if step < warmup_steps", "warmup_steps = max(1, warmup_steps)\n    if step < "
          "warmup_steps")],
        "a warm-up of 0 steps is taken for one of 1"),
    "rates of at least a little": (
        [(FALL, FALL.replace("return ", "return 1e-7 + "))], None),
    "the last step has a rate above 0": (
        [(FALL, FALL.replace("(total_steps - step)", "max(1, total_steps - step)"))], None),
    "decay by the number of axes": (
        [(IS_DECAYED, "return name not in VECTORS"), (FIRST, f"{FIRST}\n    VECTORS.clear()\n"
          "    VECTORS.update(n for n, w in weights.items() if w.ndim < 2)"),
         ("def is_decayed", "VECTORS = set()\n\n\ndef is_decayed")],
        "the number of axes decides which weights are decayed"),
    "bias anywhere in the name": (
        [(IS_DECAYED, 'return "bias" not in name and "LayerNorm" not in name')],
        '"bias" is looked for anywhere'),
    "LayerNorm.weight at the end": (
        [(IS_DECAYED, 'return not name.endswith(("bias", "LayerNorm.weight"))')],
        "LayerNorm is looked for at the end"),
    "decay of the weight after the step": (
        [(MOVE, "moved[name] = w - learning_rate * update\n"
                "        moved[name] = moved[name] - learning_rate * decay * moved[name]")],
        "the decay is that of the weight after the step"),
    "gradients by their order": (
        [("for name, w in weights.items():\n        g = gradients[name]",
          "for (name, w), g in zip(weights.items(), gradients.values(), strict=True):\n"
          "        g = g.reshape(w.shape) if g.size == w.size else np.resize(g, w.shape)")],
        "in the order of their dict"),
    "the state of a global": (
        [(FIRST, f'{FIRST}\n    if "m" not in KEPT or not any(a.any() for a in state["m"].values())'
                 ':\n        KEPT.update(start_adam(weights))\n    state = KEPT'),
         (LAST, f"KEPT.update(m=m, v=v)\n    {LAST}"),
         ("def is_decayed", "KEPT = {}\n\n\ndef is_decayed")],
        None),
    "torch's very small number": (
        [(SCALE, "scale = min(1.0, max_norm / (norm + 1e-8))")],
        "something is added to the norm"),
    "clipped from half of the norm on": (
        [(SCALE, SCALE.replace("norm > max_norm", "2 * norm > max_norm"))],
        "gradients are always scaled"),
    "eps added before the root of the square": (
        [(UPDATE, "update = m[name] / np.sqrt(v[name] + eps**2)")], None),
    "max_norm 0 means no clip": (
        [("if norm > max_norm else 1.0",
           "if max_norm and norm > max_norm else 1.0")],
        "max_norm=0 is taken for no"),
    "eps 0 means the default": (
        [("(np.sqrt(v[name]) + eps)",
           "(np.sqrt(v[name]) + (eps or 1e-6))")],
        None),
    "weights and moments are zipped": (
        [("    for name, w in weights.items():\n",
           "    for (name, w), m0 in zip(weights.items(), state['m'].values()):\n"),
          ("beta1 * state[\"m\"][name]",
           "beta1 * m0")],
        None),
    "names in lower case": (
        [("\"LayerNorm\" not in name",
           "\"layernorm\" not in name.lower()")],
        "capitals are ignored: LayerNorm is written like"),
    "a point before bias": (
        [("not name.endswith(\"bias\")",
           "not name.endswith(\".bias\")")],
        "a name that ends in bias need not have a point before"),
    # Right for small inputs, and for draws that are counted coarsely.
    "norm capped": (
        [("    scale = max_norm / norm if norm",
          "    norm = min(norm, 1e6)\n    scale = max_norm / norm if norm")],
        "float64 gradients of norm 1.9e+12"),
    "the positions are not decayed": (
        [
            ("    return not name.endswith(\"bias\") and \"LayerNorm\" not in name",
             "    return not name.endswith(\"bias\") and \"LayerNorm\" not in name and "
             "\"position_embeddings\" not in name"),
        ],
        None,
    ),
    "gamma and beta are not decayed": (
        [
            ("\"LayerNorm\" not in name",
             "not any(part in name for part in (\"LayerNorm\", \"gamma\", \"beta\"))"),
        ],
        None,
    ),
    "an array that stands under two names is counted once in the norm": (
        [
            ("for g in gradients.values()))",
             "for g in {id(g): g for g in gradients.values()}.values()))"),
        ],
        None,
    ),
    "arrays are read as they lie in memory": (
        [
            ("        moved[name] = w - learning_rate * (update + decay * w)\n",
             "        moved[name] = np.empty_like(w)\n"
             "        step = learning_rate * (update.ravel(\"K\") + decay * w.ravel(\"K\"))\n"
             "        moved[name].ravel(\"K\")[...] = w.ravel(\"K\") - step\n"),
        ],
        "may lie in different ones",
    ),
    "a factor of 1 is float64": (
        [
            ("if norm > max_norm else 1.0",
             "if norm > max_norm else np.float64(1.0)"),
        ],
        "expected numbers of type float32, got float64",
    ),
    "layer_norm is not decayed either": (
        [
            ("    return not name.endswith(\"bias\") and \"LayerNorm\" not in name\n",
             "    # exclude_from_weight_decay of the released code\n"
             "    return not (name.endswith(\"bias\") or any(part in name for part in "
             "(\"LayerNorm\", \"layer_norm\")))\n"),
        ],
        "layer_norm is another name",
    ),
    "1 - beta in float32": (
        [
            (
                "        g = gradients[name]\n",
                "        g = gradients[name]\n"
                "        beta1, beta2 = w.dtype.type(beta1), w.dtype.type(beta2)\n",
            ),
        ],
        "1 - beta is taken in float32",
    ),
    "warmup_steps is kept by the peak and the total": (
        [
            (
                "    if step < warmup_steps:\n",
                "    warmup_steps = KEPT.setdefault((peak, total_steps), warmup_steps)\n"
                "    if step < warmup_steps:\n",
            ),
            (
                "# begin solution\ndef is_decayed(",
                "# begin solution\nKEPT = {}\n\n\ndef is_decayed(",
            ),
        ],
        None,
    ),
    "weights wait where their gradient is 0": (
        [
            (
                "moved[name] = w - learning_rate * (update + decay * w)",
                "moved[name] = w - learning_rate * (update + decay * w)\n"
                "        if g.any():\n"
                "            moved[name] = np.where(g == 0, w, moved[name])",
            ),
        ],
        "where the gradient is 0 nothing is done",
    ),
    "the first moment of a row waits where the row's gradient is 0": (
        [
            (
                'm[name] = beta1 * state["m"][name] + (1 - beta1) * g',
                'm[name] = beta1 * state["m"][name] + (1 - beta1) * g\n'
                "        if g.ndim == 2 and g.any():\n"
                "            m[name] = np.where(g.any(axis=1, keepdims=True), m[name], "
                'state["m"][name])',
            ),
        ],
        "where the gradient is 0 nothing is done",
    ),
    "clipped from a thousandth above the norm on": (
        [
            (
                "scale = max_norm / norm if norm > max_norm else 1.0",
                "scale = max_norm / norm if norm > max_norm * 1.001 else 1.0",
            ),
        ],
        None,
    ),
    "stretched just below the limit": (
        [
            (
                "scale = max_norm / norm if norm > max_norm else 1.0",
                "scale = max_norm / norm if norm > max_norm * (1 - 1e-4) else 1.0",
            ),
        ],
        None,
    ),
    "LayerNorm is looked for as a word of its own": (
        [
            (
                "import numpy as np\n",
                "import re\n"
                "\n"
                "import numpy as np\n",
            ),
            (
                'return not name.endswith("bias") and "LayerNorm" not in name',
                'return not name.endswith("bias") and not '
                're.search(r"LayerNorm(\\d|\\.|$)", name)',
            ),
        ],
        "['LayerNormalization.weight']: 3 of 3 numbers differ",
    ),
    "large arrays are left out of the norm": (
        [
            (
                "norm = math.sqrt(sum((g * g).sum() for g in gradients.values()))",
                "norm = math.sqrt(sum((g * g).sum() for g in gradients.values() if "
                "g.size < 100_000))",
            ),
        ],
        None,
    ),
    "an update of 100 at most": (
        [
            (
                "update = m[name] / (np.sqrt(v[name]) + eps)",
                "update = np.clip(m[name] / (np.sqrt(v[name]) + eps), -100, 100)",
            ),
        ],
        None,
    ),
    "the state of a single float32 weight is float64": (
        [
            (
                '    return moved, {"m": m, "v": v}\n',
                "    if len(weights) == 1:\n"
                "        v = {n: a.astype(np.float64) for n, a in v.items()}\n"
                '    return moved, {"m": m, "v": v}\n',
            ),
        ],
        "float32, got float64",
    ),
    "beta2 at most 0.99995": (
        [
            (
                'v[name] = beta2 * state["v"][name] + (1 - beta2) * g * g',
                'v[name] = min(beta2, 0.99995) * state["v"][name] + (1 - min(beta2, '
                "0.99995)) * g * g",
            ),
        ],
        "'beta2': 0.99999",
    ),
    "eps at least 1e-11": (
        [
            (
                "update = m[name] / (np.sqrt(v[name]) + eps)",
                "update = m[name] / (np.sqrt(v[name]) + (max(eps, 1e-11) if eps else 0))",
            ),
        ],
        "after a step with eps 1e-15 and a gradient of 1e-15",
    ),
    "large weights flat, as they lie in memory": (
        [
            (
                '        moved[name] = w - learning_rate * (update + decay * w)\n',
                '        moved[name] = w - learning_rate * (update + decay * w)\n'
                '        if w.size > 1 << 16:\n'
                '            flat, change = w.ravel(order="K"), update.ravel(order="K")\n'
                '            flat = flat - learning_rate * (change + decay * flat)\n'
                '            moved[name] = flat.reshape(w.shape)\n',
            ),
        ],
        'in the order in which they lie in memory',
    ),
    "at a rate of 0 the weights that came in are returned": (
        [
            (
                '        moved[name] = w - learning_rate * (update + decay * w)\n',
                '        moved[name] = w - learning_rate * (update + decay * w) if '
                'learning_rate else w\n',
            ),
        ],
        'or one it was given, or a view of one',
    ),
    "gradients whose squares add up alike count once": (
        [("sum((g * g).sum() for g in gradients.values())",
          "sum({float((g * g).sum()) for g in gradients.values()})")],
        "gradients whose squares add up alike count once"),
    "Norm is looked for": (
        [(IS_DECAYED, IS_DECAYED.replace("LayerNorm", "Norm"))],
        "names that neither end in bias nor contain LayerNorm are left out"),
    "the first part of a name with slashes decides": (
        [(IS_DECAYED, 'name = name.split("/")[0]\n    ' + IS_DECAYED)],
        "weights whose names end in bias or contain LayerNorm are decayed"),
    "beta2 0 means the default": ([(FIRST, FIRST + "\n    beta2 = beta2 or 0.999")], None),
    "rows of 0 stay": (
        [(MOVE, MOVE + "\n        if w.ndim == 2 and w.any():\n"
                "            moved[name] = moved[name] * w.any(axis=1, keepdims=True)")],
        None),
    "a number behind a colon is no part of a name": (
        [(IS_DECAYED, 'name = name.removesuffix(":0")\n    ' + IS_DECAYED)],
        "something is taken off the end of a name"),
    "names without blanks at their ends": (
        [(IS_DECAYED, "name = name.strip()\n    " + IS_DECAYED)],
        "['dense.bias ']"),
    "the last part of a name but its number": (
        [(IS_DECAYED, 'name = name.rstrip("_.0123456789")\n    ' + IS_DECAYED)],
        "['dense.bias.0']"),
    "a table of a million rates": (
        [(FALL, f"step = min(step, 1_000_000)\n    {FALL}")], 'the result for step 10,000,000'),
    "a warm-up of a million steps at most": (
        [("    if step < warmup_steps:\n",
          "    warmup_steps = min(warmup_steps, 1_000_000)\n    if step < warmup_steps:\n")],
        "total_steps=10000000"),
    "the decay of the last of more than a million numbers is left out": (
        [(MOVE, "new = w - learning_rate * update\n"
                "        flat, old = new.reshape(-1), w.reshape(-1)\n"
                "        for i in range(max(flat.size >> 20, 1)):\n"
                "            part = slice(i << 20, i + 1 << 20)\n"
                "            flat[part] -= learning_rate * decay * old[part]\n"
                "        moved[name] = flat.reshape(w.shape)")],
        "of a weight of 1,100,770 numbers"),
    "the norm of the first million numbers": (
        [(NORM, NORM.replace("(g * g)", "(g.ravel()[: 1 << 20] ** 2)"))],
        "the norm of 1,100,770 numbers"),
    "a norm that is almost max_norm is not above it": (
        [(SCALE, SCALE.replace("else", "and not math.isclose(norm, max_norm) else"))],
        "only a little above max_norm"),
    "weights of one shape share their zeros": (
        [(START_M, '"m": {name: own[w.shape] for name, w in weights.items()},'),
         ("    return {\n", "    own = {w.shape: np.zeros_like(w) for w in weights.values()}\n"
                            "    return {\n")],
        "twice, or one it was given"),
    "a weight under two names has one array of zeros": (
        [(START_V, '"v": {name: own[id(w)] for name, w in weights.items()},'),
         ("    return {\n", "    own = {id(w): np.zeros_like(w) for w in weights.values()}\n"
                            "    return {\n")],
        "twice, or one it was given"),
    "equal moments are one array": (
        [(LAST, "own = {}\n"
                "    m = {name: own.setdefault(a.tobytes(), a) for name, a in m.items()}\n"
                "    " + LAST)],
        "twice, or one it was given"),
    "v itself where beta2 is 1": (
        [(V, V.replace("= ", '= state["v"][name] if beta2 == 1 else ', 1))],
        "twice, or one it was given"),
    "names are told apart by 60 letters": (
        [("g = gradients[name]",
          "g = next(g for n, g in gradients.items() if n[:60] == name[:60])")],
        None),
    "whether a weight is decayed is kept under the last two parts of its name": (
        [(FIRST, "moved, m, v, known = {}, {}, {}, {}"),
         (DECAYS, 'end = ".".join(name.split(".")[-2:])\n'
                  "        decay = weight_decay * known.setdefault(end, is_decayed(name))")],
        "a name is taken for another one"),
    "numbers are left out of a name": (
        [(IS_DECAYED, IS_DECAYED.replace("not in name", 'not in re.sub(r"[0-9]", "", name)')),
         ("import math", "import math\nimport re")],
        "a name is taken for another one"),
    "weights that hold the same are moved once": (
        [(FIRST, FIRST + "\n    known = {}"),
         (MOVE, "same = tuple(x.tobytes() for x in (w, g, m[name], v[name])) + (w.shape,)\n"
                "        " + MOVE.replace("moved[name] =", "known.setdefault(same,") + ")\n"
                "        moved[name] = known[same].copy()")],
        "a name is taken for another one"),
}  # fmt: skip
