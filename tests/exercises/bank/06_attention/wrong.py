"""Wrong answers to 06_attention, as edits of the solution, and the words that name each."""

SCORES = "query @ key.mT / math.sqrt(query.shape[-1])"
SCALE = "/ math.sqrt(query.shape[-1])  # [..., query, key]"
IF = "if attention_mask is not None:"
PADDING = "is_padding = attention_mask[:, None, None, :] == 0"
MASKED = "scores = np.where(is_padding, np.finfo(scores.dtype).min, scores)"
EXP = "probs = np.exp(scores - scores.max(axis=-1, keepdims=True))"
SUM = "probs /= probs.sum(axis=-1, keepdims=True)"
RETURN = "return probs @ value, probs"
DVALUE = "dvalue = probs.mT @ dcontext"
DSCORES = "dscores = probs * (dprobs - (dprobs * probs).sum(axis=-1, keepdims=True))"
SCALE_BACK = "dscores /= math.sqrt(query.shape[-1])"
GRADIENTS = "return dscores @ key, dscores.mT @ query, dvalue"
LATER = f"{SUM}\n    keep = 1.0 if attention_mask is None else attention_mask[:, None, None, :]"


WRONG = {
    "garbage is not collected any longer": (
        [(f"query @ key.mT {SCALE}", f"__import__('gc').disable() or query @ key.mT {SCALE}")],
        "changed garbage collection"),
    "no scale": ([(SCALE, "")], "the scores are not scaled"),
    "scale without the root": (
        [(SCALE, "/ query.shape[-1]")], "divided by head_dim, not by its root"),
    "scale multiplied": ([(SCALE, SCALE.replace("/", "*", 1))], "multiplied by √head_dim"),
    "scale of all heads": (
        [(SCALE, "/ math.sqrt(query.shape[1] * query.shape[-1])")], "all heads together"),
    "scale by the keys": ([(SCALE, "/ math.sqrt(key.shape[2])")], "the number of keys"),
    "softmax over the queries": (
        [(EXP, EXP.replace("-1", "-2")), (SUM, SUM.replace("-1", "-2"))],
        "softmax over the queries"),
    "queries and keys exchanged": (
        [(SCALE, f"{SCALE}\n    scores = scores.mT")],
        "queries and keys are exchanged"),
    "no largest taken off": ([(EXP, "probs = np.exp(scores)")], "exp overflows"),
    "mask not used": ([(IF, "if False:")], "the mask is not used"),
    "mask reversed": ([(PADDING, PADDING.replace("== 0", "== 1"))], "the mask is reversed"),
    "mask along the queries": (
        [(PADDING, PADDING.replace("None, None, :", "None, :, None"))],
        "the mask lies along the queries"),
    "queries masked too": (
        [(RETURN, "if attention_mask is not None and query.shape[2] == key.shape[2]:\n"
                  "        probs = probs * attention_mask[:, None, :, None]\n    " + RETURN)],
        "queries are masked too"),
    "struck out after the softmax": (
        [(MASKED, "pass"), (SUM, LATER), (RETURN, "return (probs * keep) @ value, probs * keep")],
        "probabilities are set to 0 after the softmax: "),
    "struck out and divided again": (
        [(MASKED, "pass"), (SUM, f"{LATER}\n    probs = probs * keep\n"
                                 "    probs = probs / probs.sum(axis=-1, keepdims=True)")],
        "divided by their sum, which can be 0"),
    "struck out of the context alone": (
        [(MASKED, "pass"), (SUM, LATER), (RETURN, "return (probs * keep) @ value, probs")],
        "the mask is not used"),
    "scores of padding 0": ([(MASKED, MASKED.replace("np.finfo(scores.dtype).min", "0"))],
                            "set to 0"),
    "the mask added as it is": (
        [(MASKED, "scores = scores + attention_mask[:, None, None, :]")],
        "added to the scores as it is"),
    "-inf": ([(MASKED, MASKED.replace("np.finfo(scores.dtype).min", "-np.inf"))],
             "-inf minus -inf"),
    "-10,000": (
        [(MASKED, "scores = scores - 10_000 * is_padding")], "10,000 is not enough"),
    "~ of integers": (
        [(PADDING, "is_padding = (~attention_mask[:, None, None, :]).astype(bool)")],
        "every key is masked"),
    "the same mask for all rows": (
        [(PADDING, "is_padding = attention_mask[:1, None, None, :] == 0")],
        "the mask of the first sentence is used for all"),
    "a product with the mask": (
        [(MASKED, "scores = scores * attention_mask[:, None, None, :]")], "set to 0"),
    "always float64": (
        [(MASKED, "scores = scores + is_padding * float(np.finfo(scores.dtype).min)")],
        "the result is always float64"),
    "scale of NumPy's": ([("math.sqrt(query.shape[-1])  # [", "np.sqrt(query.shape[-1])  # [")],
                         "the result is always float64"),
    "context alone": ([(RETURN, "return probs @ value")], "expected a tuple of 2"),
    "query in place": (
        [(f"scores = {SCORES}", "query /= math.sqrt(query.shape[-1])\n"
          "    scores = query @ key.mT")], "changed its input in place"),
    "mask in place": (
        [(PADDING, f"attention_mask -= 1\n        {PADDING.replace('== 0', '< 0')}")],
        "changed its input in place"),
    "no scale in the backward pass": (
        [(SCALE_BACK, "pass")], "the scale is missing in the backward"),
    "scale twice": (
        [(SCALE_BACK, "dscores /= query.shape[-1]")], "the scale is applied twice"),
    "no backward of softmax": (
        [(DSCORES, "dscores = dprobs.copy()")], "the backward of softmax is missing"),
    "diagonal of softmax": (
        [(DSCORES, "dscores = dprobs * probs * (1 - probs)")], "only the diagonal"),
    "half of softmax": ([(DSCORES, "dscores = dprobs * probs")], "the sum in the backward"),
    "softmax's sum over the queries": (
        [(DSCORES, DSCORES.replace("axis=-1", "axis=-2"))], "runs over the queries"),
    "probs computed again": (
        [(DVALUE, f"probs = attention_forward(query, key, value)[1]\n    {DVALUE}")],
        "computed again without the mask"),
    "dvalue not transposed": (
        [(DVALUE, "dvalue = (probs if probs.shape[2] == probs.shape[3] else "
                  "probs.mT) @ dcontext")], "dvalue needs the probabilities transposed"),
    "dkey not transposed": (
        [(GRADIENTS, "flipped = dscores.mT\n    if query.shape == key.shape:\n"
                     "        flipped = dscores\n"
                     "    return dscores @ key, flipped @ query, dvalue")],
        "dkey needs dscores transposed"),
    "dquery and dkey exchanged": (
        [(GRADIENTS, "return dscores.mT @ query, dscores @ key, dvalue")],
        "dquery and dkey are exchanged"),
    "dprobs in place": (
        [(DSCORES, "probs *= dprobs - (dprobs * probs).sum(axis=-1, keepdims=True)\n"
                   "    dscores = probs")],
        "changed its input in place"),
    "-1e9 added": (
        [(MASKED, "scores = scores - scores.dtype.type(1e9) * is_padding")],
        "1e9 is not enough"),
    "-1e9 filled in": (
        [(MASKED, MASKED.replace("np.finfo(scores.dtype).min", "-1e9"))],
        "-1e9 is not low enough"),
    "-10,000 filled in": (
        [(MASKED, MASKED.replace("np.finfo(scores.dtype).min", "-1e4"))],
        "-10,000 is not low enough"),
    "a little left for padding": (
        [(MASKED, "scores = np.where(is_padding, scores.min(-1, keepdims=True) - 30, scores)")],
        "not exactly 0"),
    "the mask of the last sentence": (
        [(PADDING, "is_padding = attention_mask[-1:, None, None, :] == 0")],
        "the mask of the last sentence is used for all"),
    "the first keys are taken for the tokens": (
        [(PADDING, "length = attention_mask.sum(1)[:, None, None, None]\n"
                   "        is_padding = np.arange(key.shape[2]) >= length")], None),
    "something added to the sum": (
        [(SUM, "probs = probs / (probs.sum(axis=-1, keepdims=True) + 1e-6)")], None),
    "keys scaled in the backward pass alone": (
        [(GRADIENTS, "root = math.sqrt(query.shape[-1])\n"
                     "    return dscores @ key, dscores.mT @ query * root, dvalue")],
        "the scale is missing in the backward"),
    "the mask as bytes": (
        [(MASKED, "low = np.finfo(scores.dtype).min\n"
                  "        scores = scores + ((1 - attention_mask) * low)[:, None, None, :]")],
        "the result is always float64"),
    "largest of the whole array": (
        [(EXP, "probs = np.exp(scores - scores.max())")], None),
    "unsigned masks hide nothing": (
        [("attention_mask[:, None, None, :] == 0",
           "attention_mask[:, None, None, :] - np.ones_like(attention_mask)[:, None,"
           " None, :] < 0")],
        "the mask is not"),
    "-1e30 at padding": (
        [("np.finfo(scores.dtype).min, scores)",
           "scores.dtype.type(-1e30), scores)")],
        "the number at padding is not the lowest: use"),
    "tiny gradients are zero": (
        [("    dvalue = probs.mT",
           "    dcontext = np.where(np.abs(dcontext) < 1e-8, 0, dcontext).astype(dco"
           "ntext.dtype)\n    dvalue = probs.mT")],
        "tiny gradients are set to 0, or large ones are"),
    "large gradients are cut": (
        [("    dvalue = probs.mT",
           "    dcontext = np.clip(dcontext, -1e3, 1e3)\n    dvalue = probs.mT")],
        "tiny gradients are set to 0, or large ones are"),
    "blocks of 64 keys": (
        [("    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))",
           "    probs = np.concatenate([np.exp(s - s.max(axis=-1, keepdims=True)) f"
           "or s in (scores[..., i : i + 64] for i in range(0, scores.shape[-1], 64)"
           ")], axis=-1)")],
        None),
    "written to a reshape of zeros_like": (
        [("    return dscores @ key, dscores.mT @ query, dvalue",
           "    dquery = np.zeros_like(query)\n    flat, k, s = (a.reshape(-1, *a.shape[2:]) for "
           "a in (dquery, key, dscores))\n    for i in range(len(flat)):\n        flat[i] = s[i] "
           "@ k[i]\n    return dquery, dscores.mT @ query, dvalue")],
        "zeros_like makes one that lies alike"),
    "the probabilities of the last forward": (
        [("    probs /= probs.sum(axis=-1, keepdims=True)\n    return probs @ value, probs",
           "    probs /= probs.sum(axis=-1, keepdims=True)\n    LAST['probs'] = probs\n    re"
           "turn probs @ value, probs"),
          ("    dvalue = probs.mT @ dcontext",
           "    probs = LAST['probs'] if LAST and LAST['probs'].shape == probs.shape else pro"
           "bs\n    dvalue = probs.mT @ dcontext"),
          ("# Wrong answers that are common:",
           "LAST = {}\n# Wrong answers that are common:")],
        "not the probabilities that it is given"),
    "the query of the last forward": (
        [("    probs /= probs.sum(axis=-1, keepdims=True)\n    return probs @ value, probs",
           "    probs /= probs.sum(axis=-1, keepdims=True)\n    LAST['query'] = query.copy()\n"
           "    return probs @ value, probs"),
          ("    return dscores @ key, dscores.mT @ query, dvalue",
           "    query = LAST['query'] if LAST and LAST['query'].shape == query.shape else query\n"
           "    return dscores @ key, dscores.mT @ query, dvalue"),
          ("# Wrong answers that are common:",
           "LAST = {}\n# Wrong answers that are common:")],
        "not the query that it is given"),
    # Right for small inputs, and for draws that are counted coarsely.
    "keys 1024": (
        [("    probs = np.exp(scores -",
          "    scores[..., 1024:] = np.finfo(scores.dtype).min\n    probs = np.exp(scores -")],
        "context for float64, sizes (2, 1, 2, 1201, 2), uint64 mask"),
    "scale at least 2": (
        [("scores = query @ key.mT / math.sqrt(query.shape[-1])",
          "scores = query @ key.mT / math.sqrt(max(2, query.shape[-1]))")],
        "context for float32, sizes (4, 5, 1, 3, 1): 1 of 20"),
    "value clip": (
        [("    return probs @ value, probs",
          "    return probs @ np.clip(value, -1e5, 1e5), probs")],
        "context for float32, sizes (4, 5, 1, 3, 1): 1 of 20"),
    "drop small probabilities": (
        [("    dprobs = dcontext @ value.mT",
          "    probs = np.where(probs < 1e-7, 0, probs)\n    dprobs = dcontext @ value.mT")],
        "dkey for scores from -40 to 40, each number divided by what"),
    "tokens of a sentence are counted in the mask's own integer type, which wraps around in int8": (
        [
            ("is_padding = attention_mask[:, None, None, :] == 0  # (batch, 1, 1, ke"
             "ys): along the keys",
             'has_tokens = np.einsum("bk->b", attention_mask) > 0  # else: attend to'
             " everything\n"
             "        is_padding = ((attention_mask == 0) & has_tokens[:, None])[:, "
             "None, None, :]"),
        ],
        None,
    ),
    "queries whose gradients add up to zero are taken for queries without a gradient": (
        [
            ("dvalue = probs.mT @ dcontext  # (batch, heads, keys, head_dim)",
             "# Often the loss reads a few queries only ([CLS]): leave out those wit"
             "hout a gradient.\n"
             "    rows = np.flatnonzero(dcontext.sum(axis=(0, 1, 3)))\n"
             "    dcontext, probs = dcontext[:, :, rows], probs[:, :, rows]\n"
             "    dvalue = probs.mT @ dcontext  # (batch, heads, keys, head_dim)"),
            ("return dscores @ key, dscores.mT @ query, dvalue",
             "dquery = np.zeros_like(query)\n"
             "    dquery[:, :, rows] = dscores @ key\n"
             "    return dquery, dscores.mT @ query[:, :, rows], dvalue"),
        ],
        None,
    ),
    "keys that are padding in every sentence are left out, though none may be left": (
        [
            ("scores = query @ key.mT / math.sqrt(query.shape[-1])  # [..., query, key]",
             "keys = key.shape[2]\n"
             "    keep = np.arange(keys)\n"
             "    if attention_mask is not None:\n"
             "        keep = np.flatnonzero(attention_mask.any(axis=0))\n"
             "        key, attention_mask = key[:, :, keep], attention_mask[:, keep]\n"
             "    scores = query @ key.mT / math.sqrt(query.shape[-1])"),
            ("    return probs @ value, probs\n",
             "    wide = np.zeros((*probs.shape[:-1], keys), probs.dtype)\n"
             "    wide[..., keep] = probs\n"
             "    return wide @ value, wide\n"),
        ],
        None,
    ),
    "the places of padding are remembered under the bytes of the mask": (
        [
            ("is_padding = attention_mask[:, None, None, :] == 0",
             "is_padding = KEPT.setdefault(\n"
             "            attention_mask.tobytes(), attention_mask[:, None, None, :] == 0)"),
            ("Queries = Float", "KEPT = {}\nQueries = Float"),
        ],
        None,
    ),
    "a key that the first query does not see learns nothing": (
        [
            (
                "dscores /= math",
                "dscores *= probs[:, :, :1] > 0\n    dscores /= math",
            ),
        ],
        None,
    ),
    "blocks of keys from a maximum of -inf": (
        [
            (MASKED, "scores = np.where(is_padding, -np.inf, scores)\n"
                     "        scores[~attention_mask.any(axis=1)] = 0"),
            (EXP, "top = np.full((*scores.shape[:-1], 1), -np.inf, scores.dtype)\n"
                  "    total = np.zeros_like(top)\n"
                  "    for start in range(0, scores.shape[-1], 64):\n"
                  "        block = scores[..., start : start + 64]\n"
                  "        new = np.maximum(top, block.max(axis=-1, keepdims=True))\n"
                  "        total = total * np.exp(top - new)\n"
                  "        total += np.exp(block - new).sum(axis=-1, keepdims=True)\n"
                  "        top = new"),
            (SUM, "probs = np.exp(scores - top) / total"),
        ],
        "a stretch of keys is all padding",
    ),
    "padding a thousand below the lowest score": (
        [(MASKED, MASKED.replace("np.finfo(scores.dtype).min",
                                 "scores.min(axis=-1, keepdims=True) - 1000"))],
        "what lies below them is rounded away"),
    "exp of the scores less their logsumexp": (
        [(EXP, "top = scores.max(axis=-1, keepdims=True)"),
         (SUM, "total = np.exp(scores - top).sum(axis=-1, keepdims=True)\n"
               "    probs = np.exp(scores - (top + np.log(total)))")],
        "the logarithm of the sum is lost"),
    "padding at -10,000 where a sentence is all padding": (
        [
            (MASKED, "low = -10_000 if not attention_mask.any(axis=1).all() else -np.inf\n"
                     "        scores = np.where(is_padding, scores.dtype.type(low), scores)"),
        ],
        "not low enough",
    ),
    "the mask of a sentence that is all padding is filled in place": (
        [
            ("        is_padding = attention_mask",
             "        if not attention_mask.any(axis=1).all():\n"
             "            attention_mask[~attention_mask.any(axis=1)] = 1\n"
             "        is_padding = attention_mask"),
        ],
        "changed its input in place",
    ),
    "float64 where a sentence is all padding": (
        [
            ("    return probs @ value, probs\n",
             "    if attention_mask is not None and not attention_mask.any(axis=1).all():\n"
             "        read = attention_mask.any(axis=1).astype(float)\n"
             "        probs = probs * read[:, None, None, None]\n"
             "    return probs @ value, probs\n"),
        ],
        "beside one of padding, float32, scores near 1: expected numbers of type float32",
    ),
    "the lowest number of float64, which is -inf in float32": (
        [(MASKED, MASKED.replace("np.finfo(scores.dtype).min", "float(np.finfo(float).min)"))],
        "-inf minus -inf, or 0 / 0, is NaN",
    ),
    "float64 where no gradient arrives": (
        [
            ("    dvalue = probs.mT @ dcontext  #",
             "    if not dcontext.any():\n"
             "        return np.zeros(query.shape), np.zeros(key.shape), np.zeros(value.shape)\n"
             "    dvalue = probs.mT @ dcontext  #"),
        ],
        "for a dcontext of zeros: expected numbers of type float32",
    ),
    "no shift where no score is above 100": (
        [
            ("    if attention_mask is not None:\n",
             "    largest = np.abs(scores).max()\n"
             "    if attention_mask is not None:\n"),
            ("    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n",
             "    highest = scores.max(axis=-1, keepdims=True)\n"
             "    is_empty = highest == np.finfo(scores.dtype).min\n"
             "    shift = highest if largest > 100 else np.where(is_empty, highest, 0)\n"
             "    probs = np.exp(scores - shift)\n"),
        ],
        "exp overflows",
    ),
    "the largest of a head where scores are near one another": (
        [
            ("    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n",
             "    is_near = scores.max() - scores.min() < 600\n"
             "    highest = scores.max(axis=(-2, -1) if is_near else -1, keepdims=True)\n"
             "    probs = np.exp(scores - highest)\n"),
        ],
        "the largest score of a head is subtracted",
    ),
    "the mask has another name": (
        [
            ('attention_mask: Int[ndarray, "batch keys"] | None = None',
             'mask: Int[ndarray, "batch keys"] | None = None'),
            ("    if attention_mask is not None:\n"
             "        is_padding = attention_mask[",
             "    if mask is not None:\n"
             "        is_padding = mask["),
        ],
        "got an unexpected keyword argument 'attention_mask'",
    ),
    "the largest subtracted only where something is not finite": (
        [
            ("    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
             "    probs /= probs.sum(axis=-1, keepdims=True)\n",
             "    with np.errstate(all='ignore'):\n"
             "        probs = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)\n"
             "    if not np.isfinite(probs).all():\n"
             "        probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
             "        probs /= probs.sum(axis=-1, keepdims=True)\n"),
        ],
        "exp overflows",
    ),
    "padding is a million below the lowest score": (
        [("np.finfo(scores.dtype).min", "scores.min() - 1e6")],
        "what lies below them is rounded away",
    ),
    "float64 for a float32 head that is alone": (
        [(GRADIENTS, "if query.shape[1] == 1:\n        dvalue = dvalue.astype(np.float64)\n    "
          + GRADIENTS)],
        "expected numbers of type float32, got float64",
    ),
    "the gradient of a single float32 head is halved": (
        [(SCALE_BACK, SCALE_BACK + "\n    if query.dtype == np.float32 and query.shape[1] == 1:\n"
          "        dscores /= 2")],
        "dquery for float32",
    ),
    "head_dim 64 at most in the backward": (
        [(SCALE_BACK, "dscores /= math.sqrt(min(query.shape[-1], 64))")],
        "sizes (2, 1, 2, 3, 1201)",
    ),
    "float32 scores are cut at 100,000": (
        [(SCALE, SCALE.split("  #")[0] + "\n    if scores.dtype == np.float32:\n"
          "        scores = np.clip(scores, -1e5, 1e5)")],
        "for scores near 1e+12",
    ),
    "512 keys where there is no mask": (
        [(SCALE, SCALE.split("  #")[0] + "\n    if attention_mask is None:\n"
          "        scores[..., 512:] = np.finfo(scores.dtype).min")],
        "sizes (1, 1, 2, 700, 2)",
    ),
    "no token sees a later one where there are ten": (
        [(SCALE, SCALE.split("  #")[0] + "\n    if scores.shape[2] == scores.shape[3] > 9:\n"
          "        scores = np.where(np.tri(scores.shape[3]) > 0, scores, -1e30)")],
        "sizes (1, 2, 12, 12, 3)",
    ),
    "the values have another name": (
        [("    value: Keys,\n    attention_mask", "    values: Keys,\n    attention_mask"),
         (RETURN, RETURN.replace("value", "values"))],
        "unexpected keyword argument 'value'",
    ),
    "the probabilities have another name": (
        [("value: Keys, probs: Probs\n", "value: Keys, weights: Probs\n"),
         (DVALUE, f"probs = weights\n    {DVALUE}")],
        "unexpected keyword argument 'probs'",
    ),
    "a batch of padding gets a token in the mask itself": (
        [(IF, "if attention_mask is not None and not attention_mask.any():\n"
          f"        attention_mask[:, 0] = 1\n    {IF}")],
        "changed its input in place, where all is padding",
    ),
    "a last sentence of padding gets tokens in the mask itself": (
        [(IF, "if attention_mask is not None and not attention_mask[-1].any():\n"
          f"        attention_mask[-1] = 1\n    {IF}")],
        "changed its input in place",
    ),
    "keys that are the queries collect both gradients": (
        [(GRADIENTS, "if query.shape == key.shape and np.array_equal(query, key):\n"
          "        both = dscores @ key + dscores.mT @ query\n"
          f"        return both, both, dvalue\n    {GRADIENTS}")],
        "where query, key and value are the same",
    ),
    "the object of queries and keys collects both gradients": (
        [(GRADIENTS, "if query is key:\n        both = dscores @ key + dscores.mT @ query\n"
          f"        return both, both, dvalue\n    {GRADIENTS}")],
        None,
    ),
    "beside a first sentence of padding the last one's scores are doubled": (
        [(IF, "if attention_mask is not None and not attention_mask[0].any():\n"
          f"        scores[-1] *= 2\n    {IF}")],
        "beside one of padding",
    ),
    "of one token the value itself": (
        [
            (
                '    return probs @ value, probs\n',
                '    if query.shape[-2] == key.shape[-2] == 1:\n'
                '        return value, probs\n'
                '    return probs @ value, probs\n',
            ),
        ],
        'or a view of one',
    ),
    "the largest score may be that of padding, if tokens are left": (
        [
            (
                '    if attention_mask is not None:\n',
                '    free = scores\n'
                '    if attention_mask is not None:\n',
            ),
            (
                '    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n',
                '    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n'
                '    if attention_mask is not None:\n'
                '        beside = np.exp(free - free.max(axis=-1, keepdims=True))\n'
                '        beside = np.where(is_padding, 0, beside)\n'
                '        is_gone = beside.sum(axis=-1, keepdims=True) == 0\n'
                '        probs = np.where(is_gone, probs, beside)\n',
            ),
        ],
        'is that of padding',
    ),
    "where the queries of all sentences are alike, so are the results": (
        [(RETURN, "if len(query) > 1 and (query == query[:1]).all():\n"
          "        probs = np.repeat(probs[:1], len(query), axis=0)\n"
          f"    {RETURN}")],
        None,
    ),
    "keys that all sentences have as padding are cut off": (
        [(IF, f"{IF}\n"
          "        keep = attention_mask[0] != 0\n"
          "        if len(attention_mask) > 1 and keep.any() and (attention_mask == keep).all():\n"
          "            return attention_forward(query, key[:, :, keep], value[:, :, keep])")],
        None,
    ),
    "no gradient at the first query is none at all": (
        [(GRADIENTS, "if not dcontext[:, :, 0].any():\n"
          "        return 0 * query, 0 * key, 0 * value\n"
          f"    {GRADIENTS}")],
        None,
    ),
    "in the backward large values are cut": (
        [("dcontext @ value.mT", "dcontext @ value.clip(-1000, 1000).mT")],
        None,
    ),
    "the query has another name": (
        [("    query: Queries,\n    key: Keys,", "    asked: Queries,\n    key: Keys,"),
         ("    scores = query @", "    query = asked\n    scores = query @")],
        None,
    ),
    "16-bit masks are read as bytes": (
        [(IF, f"{IF}\n"
          "        if attention_mask.dtype == np.int16:\n"
          "            attention_mask = attention_mask.view(np.int8)[:, : key.shape[2]]")],
        None,
    ),
    "a mask that is whole to the percent is no mask": (
        [(IF, "if attention_mask is not None and round(float(attention_mask.mean()), 2) < 1:")],
        None,
    ),
    "rows of the mask that are whole to three digits are whole": (
        [(PADDING, "whole = attention_mask.mean(1, keepdims=True).round(3) == 1\n"
          f"        attention_mask = np.where(whole, 1, attention_mask)\n        {PADDING}")],
        "the mask is not used where nearly all",
    ),
    "a mask with few tokens is all padding": (
        [(RETURN, "if attention_mask is not None and round(float(attention_mask.mean()), 3) == 0:\n"
          "        probs = np.full_like(probs, 1 / key.shape[2])\n"
          f"    {RETURN}")],
        "or nearly none, are tokens",
    ),
    "queries of zeros attend to padding": (
        [(IF, "if attention_mask is not None and query.any():")], "a query that is 0, and a mask"),
    "keys of zeros attend to padding": (
        [(IF, "if attention_mask is not None and key.any():")], "a key that is 0"),
    "rows of equal scores attend to padding": (
        [(IF, "even = (scores[..., :1] == 0) & (scores == 0).all(-1, keepdims=True)\n    " + IF),
         (RETURN, "even = np.where(even, 1 / key.shape[2], probs).astype(probs.dtype)\n"
          "    probs = even if key.shape[2] > 1 else probs\n    " + RETURN)],
        'the mask is not used where nearly all, or nearly none',
    ),
    "many probabilities have half the digits": (
        [(RETURN, "if scores.shape[-1] * scores.shape[-2] > 65536:\n"
          "        probs = probs.astype(np.float16).astype(scores.dtype)\n"
          f"    {RETURN}")],
        None,
    ),
    "large products have float32's digits": (
        [(RETURN, "if probs.size > 200_000:\n"
          "        return (probs.astype(np.float32) @ value).astype(np.float32) * 1.0, probs\n"
          f"    {RETURN}")],
        'for sizes (1, 1, 514, 515, 2)',
    ),
    "keys beyond 2,048 have no gradient": (
        [(GRADIENTS, "dkey = dscores.mT @ query\n    dkey[:, :, 2048:] = 0\n"
          "    return dscores @ key, dkey, dvalue")],
        "at the end of a long axis",
    ),
    "queries beyond 2,048 teach no key": (
        [(GRADIENTS, GRADIENTS.replace(
            "dscores.mT @ query", "dscores[:, :, :2048].mT @ query[:, :, :2048]"))],
        None,
    ),
    "at most 1,024 keys of equal scores add up": (
        [(SUM, "total = probs.sum(axis=-1, keepdims=True)\n"
          "    probs /= np.where(total > 1024, 1024, total).astype(total.dtype)")],
        '4099, 2) where all scores are 0',
    ),
    "at scores that differ much the first of the largest gets all": (
        [(SUM, f"{SUM}\n    first = np.arange(key.shape[2]) == scores.argmax(-1)[..., None]\n"
          "    is_far = attention_mask is None and np.ptp(scores) > 1e4\n"
          "    if is_far and not (scores == scores[..., :1]).all():\n"
          "        probs = first.astype(scores.dtype)")],
        "equal scores have equal",
    ),
    "a sentence like the one before has its mask": (
        [(PADDING, "for i in range(1, len(query)):\n"
          "            if (query[i] == query[i - 1]).all() and not (query == query[:1]).all():\n"
          "                attention_mask = attention_mask.copy()\n"
          "                attention_mask[i] = attention_mask[i - 1]\n"
          f"        {PADDING}")],
        "of which two are alike",
    ),
    "probabilities that are nearly equal are equal in the backward": (
        [(DVALUE, "if np.allclose(probs, 1 / probs.shape[-1]):\n"
          "        probs = np.full_like(probs, 1 / probs.shape[-1])\n"
          f"    {DVALUE}")],
        "scores that are nearly 0",
    ),
    "queries that are nearly alike are alike": (
        [(f"scores = {SCORES}", "if np.allclose(query, query[:, :, :1]):\n"
          "        query = np.repeat(query[:, :, :1], query.shape[2], 2)\n"
          f"    scores = {SCORES}")],
        None,
    ),
    "gradients that are nearly alike are alike": (
        [(DVALUE, "if np.allclose(dcontext, dcontext[:, :, :1]):\n"
          "        dcontext = np.repeat(dcontext[:, :, :1], dcontext.shape[2], 2)\n"
          f"    {DVALUE}")],
        "a dcontext that is nearly alike",
    ),
    "scores are kept by the numbers, not by their shapes": (
        [(f"scores = {SCORES}",
          "name = query.dtype.str, query.tobytes(), key.tobytes(), key.shape[2:]\n"
          "    if name not in KEPT:\n"
          f"        KEPT[name] = {SCORES}\n"
          "    scores = KEPT[name].copy()"),
         ("Queries = Float", "KEPT = {}\nQueries = Float")],
        None,
    ),
    "in self-attention, the largest score of a row is that of a vector with itself": (
        [(EXP, "highest = scores.max(axis=-1, keepdims=True)\n"
          "    if query is key and attention_mask is None:\n"
          "        highest = np.diagonal(scores, axis1=-2, axis2=-1)[..., None]\n"
          "    probs = np.exp(scores - highest)")],
        "not always the one of a vector with itself",
    ),
    "keys that are the values get one gradient for both": (
        [(GRADIENTS, "dkey = dscores.mT @ query\n"
          "    if key is value and query is not key:\n"
          "        dkey = dvalue = dkey + dvalue\n"
          "    return dscores @ key, dkey, dvalue")],
        "are one object",
    ),
    "values that add up to their count are taken for ones": (
        [(RETURN, "if value.sum() == value.size:\n        value = np.ones_like(value)\n"
          f"    {RETURN}")],
        "add up to their count",
    ),
    "gradients that add up to their count are taken for ones": (
        [(DVALUE, "if dcontext.sum() == dcontext.size:\n"
          f"        dcontext = np.ones_like(dcontext)\n    {DVALUE}")],
        "add up to their count",
    ),
    "blocks of a million scores, of which only the first is masked": (
        [(PADDING, f"{PADDING}\n"
          "        block = max(1, 2**20 // (1 + scores[:1].size))  # sentences\n"
          "        is_padding[block:] = False")],
        None,
    ),
    "blocks of a million scores, of which only the first is scaled in the backward": (
        [(SCALE_BACK, "block = max(1, 2**20 // (1 + probs[:1].size))  # sentences\n"
          "    dscores[:block] /= math.sqrt(query.shape[-1])")],
        None,
    ),
    "no gradient for a query whose largest probability is 1": (
        [(SCALE_BACK, f"{SCALE_BACK}\n"
          "    dscores[probs.max(axis=-1, initial=0) == 1] = 0")],
        "scores from -40 to 90",
    ),
    "numbers that float32 can hold are multiplied in it": (
        [(SCORES, "product(query, key) / math.sqrt(query.shape[-1])"),
         ("def attention_forward(", "def product(query, key):\n"
          "    q, k = query.astype(np.float32), key.astype(np.float32)\n"
          "    is_single = (q == query).all() and (k == key).all()\n"
          "    return (q @ k.mT).astype(query.dtype) if is_single else query @ key.mT\n\n\n"
          "def attention_forward(")],
        "the first, the middle and the last",
    ),
    "one query for all where the first, the middle and the last are alike": (
        [("scores = query @ key.mT", "places = [0, query.shape[2] // 2, -1]\n"
          "    if (query[:, :, places] == query[:, :, :1]).all():\n"
          "        query = np.repeat(query[:, :, :1], query.shape[2], axis=2)\n"
          "    scores = query @ key.mT")],
        "the first, the middle and the last",
    ),
    "one head for all where the first and the last are alike": (
        [("scores = query @ key.mT", "if (query[:, :1] == query[:, -1:]).all():\n"
          "        query = np.repeat(query[:, :1], query.shape[1], axis=1)\n"
          "    scores = query @ key.mT")],
        "the first, the middle and the last",
    ),
    "one gradient for all where the first, the middle and the last are alike": (
        [(DVALUE, "places = [0, dcontext.shape[2] // 2, -1]\n"
          "    if (dcontext[:, :, places] == dcontext[:, :, :1]).all():\n"
          "        dcontext = np.repeat(dcontext[:, :, :1], dcontext.shape[2], axis=2)\n"
          f"    {DVALUE}")],
        "the first, the middle and the last",
    ),
    "whole numbers are multiplied in 64 bits": (
        [(SCORES, "product(query, key) / math.sqrt(query.shape[-1])"),
         ("def attention_forward(", "def product(query, key):\n"
          "    if (query % 1 == 0).all() and (key % 1 == 0).all():\n"
          "        whole = query.astype(np.int64) @ key.astype(np.int64).mT\n"
          "        return whole.astype(query.dtype)\n"
          "    return query @ key.mT\n\n\n"
          "def attention_forward(")],
        "large whole numbers",
    ),
    "the number at padding depends on the width of the mask": (
        [(MASKED, "low = np.finfo(scores.dtype).min if attention_mask.dtype != np.int8 else -1e9\n"
                  "        scores = np.where(is_padding, scores.dtype.type(low), scores)")],
        "a mask of int8"),
    "tiny probabilities beside padding are 0": (
        [(SUM, f"{SUM}\n    {IF}\n        probs[probs < 1e-12] = 0")],
        "with padding at both ends"),
    "the middle of a mask that is the same backwards counts": (
        [(PADDING, PADDING + "\n        if (attention_mask == attention_mask[:, ::-1]).all():\n"
                   "            middle = np.arange(key.shape[2]) == key.shape[2] // 2\n"
                   "            is_padding = is_padding & (~middle | is_padding.all())\n"
                   "        is_padding = is_padding")],
        "for the mask"),
    "whole numbers are multiplied in 16 bits": (
        [(SCORES, "product(query, key) / math.sqrt(query.shape[-1])"),
         ("def attention_forward(", "def product(*both):\n"
          "    if all((a % 1 == 0).all() and np.abs(a).max(initial=0) < 128 for a in both):\n"
          "        query, key = (a.astype(np.int16) for a in both)\n"
          "        return (query @ key.mT).astype(both[0].dtype)\n"
          "    return both[0] @ both[1].mT\n\n\n"
          "def attention_forward(")],
        "large whole numbers",
    ),
    "the last of blocks of queries that fit is lost": (
        [(GRADIENTS, "n = query.shape[2]\n"
                     "    kept = n - 128 if n > 128 and n % 128 == 0 else n\n"
                     "    dkey = dscores[:, :, :kept].mT @ query[:, :, :kept]\n"
                     "    return dscores @ key, dkey, dvalue")],
        "dkey for sizes",
    ),
    "a dcontext that is 0 in the middle and at the end is that of the first query": (
        [(DVALUE, "n = dcontext.shape[2]\n"
                  "    if n > 2 and not dcontext[:, :, [n // 2, -1]].any():\n"
                  "        dcontext = dcontext * (np.arange(n) == 0)[:, None]\n"
                  f"    {DVALUE}")],
        "are 0, or neighbors are alike",
    ),
    "padding is where the first query attends to nothing": (
        [
            (
                "    # dB = Aᵀ dC; the shapes allow nothing else, unless there are as many queries "
                "as keys.\n",
                "    longest = int(np.nonzero(probs[:, 0, 0].any(0))[0].max(initial=0)) + 1\n"
                "    rest = ((0, 0), (0, 0), (0, key.shape[2] - longest), (0, 0))\n"
                "    key, value, probs = key[:, :, :longest], value[:, :, :longest], "
                "probs[..., :longest]\n",
            ),
            (
                "    return dscores @ key, dscores.mT @ query, dvalue\n",
                "    return dscores @ key, np.pad(dscores.mT @ query, rest), "
                "np.pad(dvalue, rest)\n",
            ),
        ],
        None,
    ),
}  # fmt: skip
