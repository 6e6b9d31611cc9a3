"""Wrong answers to 07_multi_head, as edits of the solution, and the words that name each."""

SPLIT = "return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, 1, 3)"
MERGE = "return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)"
QUERY = "query, key, value = (split_heads(project(x, weights, name), heads) for name in ROLES)"
CONTEXT = f"{QUERY}\n    context, _ = attend(query, key, value, attention_mask)"
PROBS = f"{QUERY}\n    context, probs = attend(query, key, value, attention_mask)"
OUT = 'return project(merge_heads(context), weights, "output")'
PROJECT = 'return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]'
DMERGED = 'dmerged = project_backward(dout, merge_heads(context), weights, "output", dweights)'
PARTS = "dcontext = split_heads(dmerged, heads)"
THREE = "dquery, dkey, dvalue = attend_backward(dcontext, query, key, value, probs)"
RETURN = "return dx, dweights"
DWEIGHT = 'np.einsum("bso,bsi->oi", dout, x)'
DBIAS = 'np.einsum("bso->o", dout)'
DX = 'return dout @ weights[f"{name}.weight"]'
QUERY_PATH = 'project_backward(merge_heads(dquery), x, weights, "query", dweights)\n        + '
KEY_PATH = 'project_backward(merge_heads(dkey), x, weights, "key", dweights)\n        + '
VALUE_PATH = 'project_backward(merge_heads(dvalue), x, weights, "value", dweights)'
SCORES_OF_ALL = "    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])\n"
ROLES = 'ROLES = ("query", "key", "value")'
SCORES = "scores = np.where(attention_mask[:, None, None, :] == 0, lowest, scores)"

WRONG = {
    "split by one reshape": (
        [(SPLIT, "return x.reshape(batch, heads, seq, hidden // heads)")],
        "one reshape gives head 0"),
    "split and merge by one reshape": (
        [(SPLIT, "return x.reshape(batch, heads, seq, hidden // heads)"),
         (MERGE, "return x.reshape(batch, seq, heads * head_dim)")],
        "split and merged by one reshape"),
    "merge by one reshape": (
        [(MERGE, "return x.reshape(batch, seq, heads * head_dim)")],
        "one reshape mixes tokens"),
    "dealt out in turn": (
        [(SPLIT, "return x.reshape(batch, seq, hidden // heads, heads).transpose(0, 3, 1, 2)"),
         (MERGE, "return x.transpose(0, 2, 3, 1).reshape(batch, seq, heads * head_dim)")],
        "the numbers go to the heads in turn"),
    "merged in turn": (
        [(MERGE, "return x.transpose(0, 2, 3, 1).reshape(batch, seq, heads * head_dim)")],
        "the numbers of the heads alternate"),
    "axes not exchanged": (
        [(SPLIT, "return x.reshape(batch, seq, heads, hidden // heads)")], "are not exchanged"),
    "three heads written in": (
        [(SPLIT, SPLIT.replace("heads, hidden // heads", "3, hidden // 3"))],
        "another number of heads"),
    "mask not passed": ([(CONTEXT, CONTEXT.replace("attention_mask", "None"))],
                        "the mask is not passed to the attention"),
    "a single head": (
        [(CONTEXT, CONTEXT.replace("name), heads", "name), 1"))], "this is a single head"),
    "x W": ([(PROJECT, PROJECT.replace(".T", ""))], "x Wᵀ + b, not x W + b"),
    "no biases": (
        [(PROJECT, PROJECT.replace(' + weights[f"{name}.bias"]', ""))],
        "the biases are not added"),
    "no biases but the output's": (
        [(PROJECT, PROJECT.replace('"]\n', "") + ' * (name == "output")')],
        "the biases of query, key and value"),
    "no bias of the output": (
        [(PROJECT, PROJECT + ' * (name != "output")')], "the output's bias is not added"),
    "no bias of the value": (
        [(PROJECT, PROJECT + ' * (name != "value")')], "the value's bias is not added"),
    "no output projection": ([(OUT, "return merge_heads(context)")],
                             "the output projection is missing"),
    "query and key exchanged": (
        [(CONTEXT, CONTEXT.replace("query, key, value =", "key, query, value ="))],
        "query and key are exchanged"),
    "residual added": ([(OUT, f"{OUT} + x")], "x is added to the result"),
    "weights in place": (
        [(PROJECT, 'x = x @ weights[f"{name}.weight"].T\n'
                   '    weights[f"{name}.bias"] += 0.5\n    return x + weights[f"{name}.bias"]')],
        "changed its input in place"),
    "mask forgotten in the backward": (
        [(PROBS, PROBS.replace("attention_mask", "None"))], "forgotten in the backward"),
    "heads forgotten in the backward": (
        [(PROBS, f"heads = 1\n    {PROBS}")], "argument is ignored in the backward"),
    "path of the query alone": (
        [("        + " + KEY_PATH + VALUE_PATH, "")],
        "only the path through the query"),
    "path of the value alone": (
        [(QUERY_PATH + KEY_PATH, "")], "only the path through the value"),
    "no path of the key": ([(KEY_PATH, "")], "the path through the key is missing"),
    "mean of three": ([(RETURN, "return dx / 3, dweights")], "the mean of the three paths"),
    "no backward of the output": (
        [(PARTS, f"dmerged = dout\n    {PARTS}")],
        "the backward of the output projection is missing"),
    "output transposed in the backward": (
        [(PARTS, f'dmerged = dout @ weights["output.weight"].T\n    {PARTS}')],
        "the backward of the output projection is transposed"),
    "all transposed in the backward": (
        [(DX, f"{DX}.T")], "the weights are transposed in the backward"),
    "a reshape for the split in the backward": (
        [(PARTS, "dcontext = dmerged.reshape(context.shape)")],
        "split by split_heads, not by a reshape"),
    "dW transposed": ([(DWEIGHT, DWEIGHT.replace("->oi", "->io"))],
                      "transposed: W is (out, in)"),
    "db a mean": ([(DBIAS, "dout.mean(axis=(0, 1))")], "a sum over all tokens, not their mean"),
    "dW a mean": (
        [(DWEIGHT, f"{DWEIGHT} / (x.shape[0] * x.shape[1])")],
        "a sum over all tokens, not their mean"),
    "both a mean over sentences": (
        [(DWEIGHT, f"{DWEIGHT} / len(x)"), (DBIAS, f"{DBIAS} / len(x)")],
        "not a mean over the sentences"),
    "db summed over the batch alone": (
        [(DBIAS, "dout.sum(axis=0)")], "sum over batch and tokens"),
    "db forgotten": (
        [(f'f"{{name}}.bias": {DBIAS},', "")], "the keys differ"),
    "db zero": ([(DBIAS, "np.zeros_like(dout[0, 0])")], "no gradient at all"),
    "output's dW from x": (
        [(DMERGED, DMERGED.replace("merge_heads(context)", "x"))],
        "projects the merged heads, not x"),
    "output's dW from heads not merged": (
        [(DMERGED, DMERGED.replace("merge_heads(context)", "context.reshape(x.shape)"))],
        "the heads are to be merged"),
    "dquery and dkey exchanged": (
        [(THREE, THREE.replace("dquery, dkey,", "dkey, dquery,"))],
        "the gradients of query and key are exchanged"),
    "dx alone": ([(RETURN, "return dx")], "expected a tuple of 2"),
    "scores divided by the root of hidden": (
        [(f"{CONTEXT}\n", f"{CONTEXT.replace('attend(query', 'attend(query / heads**0.5')}\n")],
        "divide by √head_dim"),
    "results of padding are zero": (
        [(OUT, OUT.replace("return ", "out = ") + "\n    return out if attention_mask is None "
          "else out * attention_mask[..., None]")],
        "the results of padding are 0"),
    "-10000 added at padding": (
        [(SCORES, "scores = scores + np.where(attention_mask == 0, -1e4, 0.0)[:, None, None]"
                  ".astype(scores.dtype)")],
        "-10000 is added at padding"),
    "-inf at padding": (
        [(SCORES, SCORES.replace("lowest", "-np.inf"))], "0 / 0: a softmax over padding alone"),
    "exp of large scores": (
        [("np.exp(scores - scores.max(axis=-1, keepdims=True))", "np.exp(scores)")],
        "0 / 0: a softmax over padding alone"),
    "exp of large scores, padding alone apart": (
        [("np.exp(scores - scores.max(axis=-1, keepdims=True))",
          "np.exp(np.maximum(scores, -700))")],
        "exp overflows: subtract"),
    "the largest score of all is subtracted": (
        [("scores.max(axis=-1, keepdims=True)", "scores.max()")],
        "0 / 0: a softmax over padding alone"),
    "always float64": (
        [(OUT, OUT + ".astype(np.float64)")], "the result is always float64"),
    "a mask without padding taken for none": (
        [(f"{CONTEXT}\n", CONTEXT.replace("attention_mask", "attention_mask if attention_mask is "
          "not None and attention_mask[0].all() else None") + "\n")],
        "the mask is not passed to the attention"),
    "the mask of the first sentence for all": (
        [(f"{CONTEXT}\n", CONTEXT.replace("attention_mask", "attention_mask if attention_mask is "
          "None else attention_mask[:1]") + "\n")],
        "the mask of the first sentence"),
    "tiny gradients are zero": (
        [("    dweights: Weights = {}",
           "    dout = np.where(np.abs(dout) < 1e-8, 0, dout).astype(dout.dtype)\n   "
           " dweights: Weights = {}")],
        "tiny gradients are set to 0, or large ones are"),
    "large gradients are cut": (
        [("    dweights: Weights = {}",
           "    dout = np.clip(dout, -1e3, 1e3)\n    dweights: Weights = {}")],
        "tiny gradients are set to 0, or large ones are"),
    "one number to a head is one head": (
        [("    query, key, value = (split_heads(project(x, weights, name), heads) f"
           "or name in ROLES)\n    context, _",
           "    heads = 1 if heads == x.shape[-1] else heads\n    query, key, value ="
           " (split_heads(project(x, weights, name), heads) for name in ROLES)\n    c"
           "ontext, _")],
        "the heads argument is ignored: this is a single"),
    "no mask where the first sentence has no padding": (
        [("    context, _ = attend(query, key, value, attention_mask)",
           "    if attention_mask is not None and attention_mask[0].all():\n        a"
           "ttention_mask = None\n    context, _ = attend(query, key, value, attentio"
           "n_mask)")],
        "the mask is not passed to the"),
    "biases only where they are not zero on average": (
        [("+ weights[f\"{name}.bias\"]\n",
           "+ np.where(np.abs(weights[f\"{name}.bias\"]) < 1e-8, 0, weights[f\"{name}.b"
           "ias\"]).astype(x.dtype)\n")],
        "the biases are not"),
    "x halved and doubled": (
        [("    return x @ weights[f\"{name}.weight\"].T + weights[f\"{name}.bias\"]",
           "    x *= 0.5\n    out = x @ weights[f\"{name}.weight\"].T * 2 + weights[f\"{name}.b"
           "ias\"]"
           "\n    x *= 2\n    return out")],
        "an input is changed in place"),
    "merged in the order of memory": (
        [("return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)",
           "return x.transpose(0, 2, 1, 3).reshape((batch, seq, heads * head_dim), order='A')")],
        "read in the order of memory"),
    "dx written to a reshape of zeros_like": (
        [("    dx = (\n        project_backward",
           "    dx = np.zeros_like(x)\n    dx.reshape(-1, x.shape[-1])[:] += (\n        project_b"
           "ackward"),
          ("weights, \"value\", dweights)\n    )",
           "weights, \"value\", dweights)\n    ).reshape(-1, x.shape[-1])")],
        "zeros_like makes one that lies alike"),
    # Right for small inputs, and for draws that are counted coarsely.
    "heads 16": (
        [("    query, key, value = (split_heads(project(x, weights, name), heads) for name "
          "in ROLES)\n    context, _ ",
          "    heads = min(heads, 16)\n    query, key, value = (split_heads(project(x, weigh"
          "ts, name), heads) for name in ROLES)\n    context, _ ")],
        "(1, 2, 256), 128 heads"),
    "dw first 8": (
        [("np.einsum(\"bso,bsi->oi\", dout, x)",
          "np.einsum(\"bso,bsi->oi\", dout[:8], x[:8])")],
        "dweights['output.weight'] for float32 (batch, seq, hidden) (9, 7, 21"),
    "keys 512": (
        [("    context, _ = attend(query, key, value, attention_mask)",
          "    if x.shape[1] > 512:\n        key, value, attention_mask = key[:, :, :512], v"
          "alue[:, :, :512], None if attention_mask is None else attention_mask[:, :512]\n  "
          "  context, _ = attend(query, key, value, attention_mask)")],
        "the result for float32 (batch, seq, hidden) (1, 600, 4), 2 heads"),
    "bias small": (
        [("    return x @ weights[f\"{name}.weight\"].T + weights[f\"{name}.bias\"]",
          "    b = weights[f\"{name}.bias\"]\n    return x @ weights[f\"{name}.weight\"].T + np"
          ".where(abs(b) > 50, 50 * np.sign(b), b)")],
        "(3, 4, 5), 5 heads: 60 of 60 numbers differ"),
    "padding scores 100,000 less": (
        [
            ("        lowest = np.finfo(scores.dtype).min\n"
             "        scores = np.where(attention_mask[:, None, None, :] == 0, lowest, "
             "scores)\n",
             "        scores = scores - 100_000.0 * (attention_mask[:, None, None, :] == "
             "0).astype(scores.dtype)\n"),
        ],
        "-100000 is added at padding",
    ),
    "the backward reuses what the forward of the same x kept": (
        [
            ("query, key, value = (split_heads(project(x, weights, name), heads) for"
             " name in ROLES)\n"
             "    context, probs = attend(query, key, value, attention_mask)",
             'kept_x, kept = KEPT.get("last", (None, None))\n'
             "    if kept_x is x:  # the forward has just computed it\n"
             "        query, key, value, context, probs = kept\n"
             "    else:\n"
             "        query, key, value = (split_heads(project(x, weights, name), he"
             "ads) for name in ROLES)\n"
             "        context, probs = attend(query, key, value, attention_mask)"),
            ("query, key, value = (split_heads(project(x, weights, name), heads) for"
             " name in ROLES)\n"
             "    context, _ = attend(query, key, value, attention_mask)",
             "query, key, value = (split_heads(project(x, weights, name), heads) for"
             " name in ROLES)\n"
             "    context, probs = attend(query, key, value, attention_mask)\n"
             '    KEPT["last"] = x, (query, key, value, context, probs)'),
            ('ROLES = ("query", "key", "value")\n',
             'ROLES = ("query", "key", "value")\n'
             "KEPT = {}\n"),
        ],
        None,
    ),
    "the backward reuses what the forward of the same x, mask and query.weight kept": (
        [
            ("query, key, value = (split_heads(project(x, weights, name), heads) for"
             " name in ROLES)\n"
             "    context, probs = attend(query, key, value, attention_mask)",
             "kept = stamp(x, weights, heads, attention_mask)\n"
             "    if kept not in KEPT:\n"
             "        multi_head_forward(x, weights, heads, attention_mask)\n"
             "    query, key, value, context, probs = KEPT[kept]"),
            ("query, key, value = (split_heads(project(x, weights, name), heads) for"
             " name in ROLES)\n"
             "    context, _ = attend(query, key, value, attention_mask)",
             "query, key, value = (split_heads(project(x, weights, name), heads) for"
             " name in ROLES)\n"
             "    context, probs = attend(query, key, value, attention_mask)\n"
             "    KEPT.clear()\n"
             "    KEPT[stamp(x, weights, heads, attention_mask)] = query, key, value, context, "
             "probs"),
            ('ROLES = ("query", "key", "value")\n',
             'ROLES = ("query", "key", "value")\n'
             "KEPT = {}\n\n\n"
             "def stamp(x, weights, heads, mask):\n"
             "    mask = None if mask is None else (mask == 0).tobytes()\n"
             '    weight = weights["query.weight"].tobytes()\n'
             "    return x.shape, x.dtype, x.tobytes(), weight, heads, mask\n"),
        ],
        "a value is kept from one call to the next",
    ),
    "padding gets a score of -100,000": (
        [
            (
                "lowest = np.finfo(scores.dtype).min",
                "lowest = scores.dtype.type(-1e5)",
            ),
        ],
        None,
    ),
    "gradients by the object, not by the name": (
        [
            ("    return dx, dweights\n",
             "    return dx, {name: dweights[id(array)] for name, array in weights.items()}\n"),
            ("    dweights.update(\n"
             "        {\n"
             "            f\"{name}.weight\": np.einsum(\"bso,bsi->oi\", dout, x),\n"
             "            f\"{name}.bias\": np.einsum(\"bso->o\", dout),\n"
             "        }\n"
             "    )\n",
             "    for part, grad in (\n"
             "        (f\"{name}.weight\", np.einsum(\"bso,bsi->oi\", dout, x)),\n"
             "        (f\"{name}.bias\", np.einsum(\"bso->o\", dout)),\n"
             "    ):\n"
             "        parameter = id(weights[part])  # a parameter that is used twice "
             "collects both gradients\n"
             "        dweights[parameter] = dweights[parameter] + grad if parameter in "
             "dweights else grad\n"),
        ],
        "found again by the object",
    ),
    "no gradients for a batch of padding": (
        [
            (PROBS, "if attention_mask is not None and not attention_mask.any():\n"
                    "        return np.zeros_like(x), {}\n"
                    f"    {PROBS}"),
        ],
        "too early a return",
    ),
    "the backward from the scores less their logsumexp": (
        [
            ("    context, probs = attend(query, key, value, attention_mask)\n",
             "    probs = probs_from_lse(query, key, attention_mask)\n"
             "    context = probs @ value\n"),
            ("\n"
             "\n"
             "def project(x, weights, name):\n",
             "\n"
             "\n"
             "def probs_from_lse(query, key, attention_mask):\n"
             "    # As in FlashAttention: the backward needs only the log-sum-exp of "
             "every row of the scores.\n"
             "    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])\n"
             "    if attention_mask is not None:\n"
             "        scores = np.where(\n"
             "            attention_mask[:, None, None, :] == 0, "
             "np.finfo(scores.dtype).min, scores\n"
             "        )\n"
             "    peak = scores.max(axis=-1, keepdims=True)\n"
             "    lse = peak + np.log(np.exp(scores - peak).sum(axis=-1, keepdims=True))\n"
             "    return np.exp(scores - lse)\n"
             "\n"
             "\n"
             "def project(x, weights, name):\n"),
        ],
        "the logarithm of the sum is lost",
    ),
    "vectors of zeros are taken for padding where there is no mask": (
        [
            ("    context, _ = attend(query, key, value, attention_mask)\n",
             "    if attention_mask is None:\n"
             "        attention_mask = x.any(axis=-1).astype(int)\n"
             "    context, _ = attend(query, key, value, attention_mask)\n"),
        ],
        None,
    ),
    "dout of a sentence that is all padding is set to 0 in place": (
        [
            ("    context, probs = attend(",
             "    if attention_mask is not None and not attention_mask.any(axis=1).all():\n"
             "        dout[~attention_mask.any(axis=1)] = 0\n"
             "    context, probs = attend("),
        ],
        "changed its input in place",
    ),
    "a sentence of padding gets a token in the mask itself": (
        [
            ("    context, _ = attend(",
             "    if attention_mask is not None and not attention_mask.any(axis=1).all():\n"
             "        attention_mask[~attention_mask.any(axis=1), 0] = 1\n"
             "    context, _ = attend("),
        ],
        "changed its input in place",
    ),
    "padding at -100,000 in float32": (
        [
            ("        lowest = np.finfo(scores.dtype).min\n",
             "        lowest = -1e5 if scores.dtype == np.float32 else np.finfo(float).min\n"),
        ],
        "padding has a score that those of tokens can be below",
    ),
    "float64 where one sentence is all padding": (
        [
            ("    context, _ = attend(query, key, value, attention_mask)\n",
             "    context, _ = attend(query, key, value, attention_mask)\n"
             "    if attention_mask is not None and 0 < attention_mask.any(axis=1).mean() < 1:\n"
             "        context = context * attention_mask.any(axis=1)[:, None, None, None] * "
             "np.ones(1)\n"),
        ],
        "expected numbers of type float32, got float64",
    ),
    "float64 where no gradient arrives": (
        [
            ("    dweights: Weights = {}\n    dmerged",
             "    dweights: Weights = {}\n"
             "    if not dout.any():\n"
             "        none = {name: np.zeros(w.shape) for name, w in weights.items()}\n"
             "        return np.zeros(x.shape), none\n"
             "    dmerged"),
        ],
        "for a float32 dout of zeros",
    ),
    "no shift where no score is above 100": (
        [
            ("    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n",
             "    highest = scores.max(axis=-1, keepdims=True)\n"
             "    is_empty = highest == np.finfo(scores.dtype).min\n"
             "    if np.abs(np.where(is_empty, 0, highest)).max() <= 100:\n"
             "        highest = np.where(is_empty, highest, 0)\n"
             "    probs = np.exp(scores - highest)\n"),
        ],
        "exp overflows, or is 0 in all of a row",
    ),
    "the largest of a head where scores are near one another": (
        [
            ("    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))\n",
             "    is_near = scores.max() - scores.min() < 600\n"
             "    highest = scores.max(axis=(-2, -1) if is_near else -1, keepdims=True)\n"
             "    probs = np.exp(scores - highest)\n"),
        ],
        "exp overflows, or is 0 in all of a row",
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
        None,
    ),
    "float32 scores are cut at 5,000": (
        [(SCORES_OF_ALL, SCORES_OF_ALL + "    if scores.dtype == np.float32:\n"
          "        scores = np.clip(scores, -5000, 5000)\n")],
        "large scores are cut",
    ),
    "scores are cut at 5,000 where there is no mask": (
        [(SCORES_OF_ALL, SCORES_OF_ALL + "    if attention_mask is None:\n"
          "        scores = np.clip(scores, -5000, 5000)\n")],
        "large scores are cut",
    ),
    "float64 dx where there is no mask": (
        [(f"    {RETURN}\n", "    if attention_mask is None:\n"
          f"        dx = dx.astype(np.float64)\n    {RETURN}\n")],
        "expected numbers of type float32, got float64",
    ),
    "float64 for a single sentence": (
        [(f"    {OUT}\n", f"    out = {OUT.removeprefix('return ')}\n"
          "    return out.astype(np.float64) if len(x) == 1 and x.shape[1] > 3 else out\n")],
        "the result is always float64",
    ),
    "the mask goes to 64 sentences": (
        [(f"    {CONTEXT}\n", "    if attention_mask is not None:\n"
          "        attention_mask = np.where(np.arange(len(x))[:, None] < 64, attention_mask, 1)\n"
          f"    {CONTEXT}\n")],
        "attention_mask=array int64[300, 2]",
    ),
    "the mask as a length": (
        [(f"    {CONTEXT}\n", "    if attention_mask is not None and x.shape[1] > 9:\n"
          "        length = attention_mask.sum(axis=1, keepdims=True)\n"
          "        attention_mask = (np.arange(x.shape[1]) < length).astype(int)\n"
          f"    {CONTEXT}\n")],
        "(1, 1100, 2), 1 heads",
    ),
    "512 keys where there is no mask": (
        [(f"    {CONTEXT}\n", f"    {QUERY}\n    if attention_mask is None:\n"
          "        key, value = key[:, :, :512], value[:, :, :512]\n"
          "    context, _ = attend(query, key, value, attention_mask)\n")],
        "the result for float32 (batch, seq, hidden) (1, 600, 4)",
    ),
    "head_dim 128 at most": (
        [(SCORES_OF_ALL, SCORES_OF_ALL.replace("query.shape[-1]", "min(query.shape[-1], 128)"))],
        "(2, 2, 266), 2 heads",
    ),
    "another name for the mask in the backward": (
        [("dout: States, x: States, weights: Weights, heads: int, attention_mask: Mask = None\n",
          "dout: States, x: States, weights: Weights, heads: int, mask: Mask = None\n"),
         (PROBS, PROBS.replace("attention_mask", "mask"))],
        "unexpected keyword argument",
    ),
    "without a mask the last result for the same x": (
        [(f"    {CONTEXT}\n", "    kept = x.tobytes(), x.shape, heads\n"
          "    if attention_mask is None and kept in KEPT:\n"
          "        return KEPT[kept].copy()\n"
          f"    {CONTEXT}\n"),
         (f"    {OUT}\n", f"    out = {OUT.removeprefix('return ')}\n"
          "    if attention_mask is None:\n"
          "        KEPT[kept] = out\n"
          "    return out\n"),
         (f"{ROLES}\n", f"{ROLES}\nKEPT = {{}}\n")],
        "after a forward with another",
    ),
    "weights that are equal share a gradient": (
        [(f"    {RETURN}\n",
          '    if np.array_equal(weights["query.weight"], weights["key.weight"]):\n'
          '        dweights["key.weight"] = dweights["query.weight"]\n'
          f"    {RETURN}\n")],
        "weights that are equal, or symmetric",
    ),
    "the mask is left out if its integers are not signed": (
        [(f"    {CONTEXT}\n", "    if attention_mask is not None and attention_mask.dtype.kind == "
          f"'u':\n        attention_mask = None\n    {CONTEXT}\n")],
        "attention_mask=array uint",
    ),
    "float32 inside for many sentences": (
        [(f"    {CONTEXT}\n", "    if len(x) > 64:\n"
          f"        x = x.astype(np.float32).astype(x.dtype)\n    {CONTEXT}\n")],
        "the result for float64 (batch, seq, hidden) (300, 2, 4)",
    ),
    "in the backward the weights as they lie in memory": (
        [(f"    {PROBS}\n", "    if not any(weights[name].flags.forc for name in weights):\n"
          "        weights = weights | {\"key.weight\": weights[\"key.weight\"].T}\n"
          f"    {PROBS}\n")],
        None,
    ),
    "where the first sentence is padding, so is the last": (
        [(f"    {OUT}\n", "    if attention_mask is not None and not attention_mask[0].any():\n"
          f"        context[-1] *= 2\n    {OUT}\n")],
        "the result for x times",
    ),
    "a sentence whose gradients have the sum 0 counts as one without a gradient": (
        [
            (
                '    # begin solution\n'
                '    query, key, value = (split_heads(project(x, weights, name), heads) '
                'for name in ROLES)\n'
                '    context, probs = attend(query, key, value, attention_mask)\n',
                '    # begin solution\n'
                '    active = [b for b in range(len(x)) if dout[b].sum() != 0]\n'
                '    if len(active) < len(x):\n'
                '        dx = np.zeros_like(x)\n'
                '        if not active:\n'
                '            return dx, {name: np.zeros_like(array) for name, array in '
                'weights.items()}\n'
                '        mask = None if attention_mask is None else attention_mask[active]\n'
                '        dx[active], dweights = multi_head_backward(dout[active], '
                'x[active], weights, heads, mask)\n'
                '        return dx, dweights\n'
                '    query, key, value = (split_heads(project(x, weights, name), heads) '
                'for name in ROLES)\n'
                '    context, probs = attend(query, key, value, attention_mask)\n',
            ),
        ],
        None,
    ),
    "tokens are counted in the type of the mask, and 256 are none in 8 bits": (
        [
            (
                '    return project(merge_heads(context), weights, "output")\n',
                '    out = project(merge_heads(context), weights, "output")\n'
                '    if attention_mask is not None:\n'
                '        out[np.einsum("bs->b", attention_mask) == 0] = 0\n'
                '    return out\n',
            ),
        ],
        None,
    ),
    "one matrix of two roles has one bias": (
        [
            (
                '    # begin solution\n'
                '    query, key, value = (split_heads(project(x, weights, name), heads) '
                'for name in ROLES)\n'
                '    context, _ = attend(',
                '    # begin solution\n'
                '    done = {}\n'
                '    for name in ROLES:\n'
                '        done.setdefault(id(weights[f"{name}.weight"]), project(x, '
                'weights, name))\n'
                '    query, key, value = (\n'
                '        split_heads(done[id(weights[f"{name}.weight"])], heads) for '
                'name in ROLES\n'
                '    )\n'
                '    context, _ = attend(',
            ),
        ],
        'equal ones are one object',
    ),
    "what is padding in all sentences has no gradient": (
        [
            (
                DMERGED,
                "if attention_mask is not None and attention_mask.any():\n"
                "        dout = dout * attention_mask.any(axis=0)[:, None]\n"
                f"    {DMERGED}",
            ),
        ],
        None,
    ),
    "where all sentences are alike, so are the results, whatever the mask": (
        [(OUT, "if len(x) > 1 and (x == x[:1]).all():\n"
          "        context = np.repeat(context[:1], len(x), axis=0)\n"
          f"    {OUT}")],
        None,
    ),
    "no gradient at the first token is none at all": (
        [(RETURN, "return (dx if dout[:, 0].any() else 0 * dx), dweights")],
        None,
    ),
    "a number whose weights are 0 has no bias": (
        [(PROJECT, 'is_live = weights[f"{name}.weight"].any(axis=1)\n'
          f"    {PROJECT} * (is_live | ~is_live.any())")],
        None,
    ),
    "eight heads are dealt out in turn": (
        [(SPLIT, "if heads == 8:\n"
          "        return x.reshape(batch, seq, hidden // heads, heads).transpose(0, 3, 1, 2)\n"
          f"    {SPLIT}")],
        None,
    ),
    "in the forward the weights have another name": (
        [("multi_head_forward(\n    x: States, weights: Weights",
          "multi_head_forward(\n    x: States, params: Weights"),
         (CONTEXT, f"weights = params\n    {CONTEXT}")],
        None,
    ),
    "a matrix of two roles has one gradient": (
        [(RETURN, 'if np.array_equal(weights["query.weight"], weights["key.weight"]):\n'
          '        dweights["key.weight"] = dweights["query.weight"].copy()\n'
          f"    {RETURN}")],
        None,
    ),
    "a sentence of padding alone gets a token for a while": (
        [("    context, _ = attend(query, key, value, attention_mask)\n"
          "    # The heads are side by side",
          "    empty = [] if attention_mask is None else np.flatnonzero(~attention_mask.any(-1))\n"
          "    if len(empty):\n        attention_mask[empty, 0] = 1\n"
          "    context, _ = attend(query, key, value, attention_mask)\n"
          "    if len(empty):\n        attention_mask[empty, 0] = 0\n"
          "    # The heads are side by side")],
        "an input is changed in place"),
    "a mask that is whole to the percent is no mask": (
        [(CONTEXT, "if attention_mask is not None and attention_mask.mean().round(2) == 1:\n"
          f"        attention_mask = None\n    {CONTEXT}")],
        "the mask is not used where nearly all",
    ),
    "in the backward rows of the mask that are whole to the percent are whole": (
        [(PROBS, "if attention_mask is not None:\n"
          "        whole = attention_mask.mean(1, keepdims=True).round(2) == 1\n"
          f"        attention_mask = np.where(whole, 1, attention_mask)\n    {PROBS}")],
        None,
    ),
    "queries of zeros attend to padding": (
        [(CONTEXT, f"{QUERY}\n    attention_mask = attention_mask if query.any() else None\n"
          "    context, _ = attend(query, key, value, attention_mask)")],
        "matrices and biases of query",
    ),
    "in the backward keys of zeros attend to padding": (
        [(PROBS, f"{QUERY}\n    attention_mask = attention_mask if key.any() else None\n"
          "    context, probs = attend(query, key, value, attention_mask)")],
        "matrices and biases of key",
    ),
    "the first 4,096 tokens make the gradients": (
        [(DWEIGHT, 'np.einsum("so,si->oi", dout.reshape(-1, dout.shape[2])[:4096],\n'
          "                                         x.reshape(-1, x.shape[2])[:4096])")],
        None,
    ),
    "the first 8,192 tokens make the gradient of a bias": (
        [(DBIAS, "dout.reshape(-1, dout.shape[2])[:8192].sum(0)")], None),
    "dx ends after 4,096 sentences": ([(RETURN, f"dx[4096:] = 0\n    {RETURN}")], None),
    "a bias ends at 1,024 numbers": (
        [(PROJECT, 'out = x @ weights[f"{name}.weight"].T\n'
          '    out[..., :1024] += weights[f"{name}.bias"][:1024]\n    return out')],
        None,
    ),
    "the gradient of a matrix ends at 512 columns": (
        [(DWEIGHT, 'np.einsum("bso,bsi->oi", dout, x) * (np.arange(x.shape[2]) < 512)')], None),
    "a sentence like the one before has its mask": (
        [(CONTEXT, "for i in range(1, len(x) if attention_mask is not None else 0):\n"
          "        if (x[i] == x[i - 1]).all() and not (x == x[:1]).all():\n"
          "            attention_mask = attention_mask.copy()\n"
          f"            attention_mask[i] = attention_mask[i - 1]\n    {CONTEXT}")],
        "of which two are alike",
    ),
    "in the backward a sentence like the one before has its mask": (
        [(PROBS, "for i in range(1, len(x) if attention_mask is not None else 0):\n"
          "        if (x[i] == x[i - 1]).all() and not (x == x[:1]).all():\n"
          "            attention_mask = attention_mask.copy()\n"
          f"            attention_mask[i] = attention_mask[i - 1]\n    {PROBS}")],
        "of which two are alike",
    ),
    "at scores that differ much the first of the largest gets all": (
        [(SCORES_OF_ALL, SCORES_OF_ALL
          + "    if np.ptp(scores) > 5e4 and np.diff(scores, axis=-1).any():\n"
          "        first = np.arange(key.shape[2]) == scores.argmax(-1)[..., None]\n"
          "        scores = (scores - 1e3 * ~first).astype(query.dtype)\n")],
        "where two tokens have the same large score",
    ),
    "a matrix of two roles that is nearly the same is the same": (
        [(CONTEXT, 'if np.allclose(weights["query.weight"], weights["key.weight"]):\n'
          '        weights = {**weights, "key.weight": weights["query.weight"]}\n'
          f"    {CONTEXT}")],
        None,
    ),
    "gradients that are nearly alike are alike": (
        [(PROBS, "if np.allclose(dout, dout[:, :1]):\n"
          "        dout = np.repeat(dout[:, :1], dout.shape[1], 1)\n"
          f"    {PROBS}")],
        None,
    ),
    "queries and keys of one matrix have the same gradient": (
        [(THREE, f"{THREE}\n"
          '    if weights["query.weight"] is weights["key.weight"]:\n        dkey = dquery')],
        "where equal arguments are one object",
    ),
    "a bias that adds up to 0 is left out": (
        [(PROJECT, 'out, bias = x @ weights[f"{name}.weight"].T, weights[f"{name}.bias"]\n'
          "    return out + bias if bias.sum() else out")],
        "that add up to 0 along every axis",
    ),
    "in the backward all blocks have the mask of the first": (
        [(PROBS, "batch, seq, _ = x.shape\n"
          "    block = max(1, 2**20 // max(1, heads * seq * seq))\n"
          "    if batch > block:\n"
          "        parts = []\n"
          "        for i in range(0, batch, block):\n"
          "            some = x[i : i + block]\n"
          "            mask = None if attention_mask is None else attention_mask[: len(some)]\n"
          "            above = dout[i : i + block]\n"
          "            parts.append(multi_head_backward(above, some, weights, heads, mask))\n"
          "        dx = np.concatenate([part for part, _ in parts])\n"
          "        return dx, {name: sum(part[name] for _, part in parts) for name in weights}\n"
          f"    {PROBS}")],
        "as many scores as a batch of BERT base has, with a mask",
    ),
    "masks of which the first, the middle and the last are alike are one": (
        [(CONTEXT, "if attention_mask is not None:\n"
          "        few = attention_mask[[0, len(x) // 2, -1]]\n"
          "        if (few == few[0]).all():\n"
          "            attention_mask = attention_mask[:1]\n"
          f"    {CONTEXT}")],
        "five masks of which the first",
    ),
    "the tokens of a sentence are counted in the type of the mask": (
        [(CONTEXT, f"{QUERY}\n"
          "    if attention_mask is not None and (np.diff(attention_mask, axis=1) <= 0).all():\n"
          '        longest = np.einsum("bs->b", attention_mask).max(initial=0)\n'
          "        if longest > 0:\n"
          "            key, value = key[:, :, :longest], value[:, :, :longest]\n"
          "            attention_mask = attention_mask[:, :longest]\n"
          "    context, _ = attend(query, key, value, attention_mask)")],
        "as many scores as a batch of BERT base has, with a mask",
    ),
    "what is attended to is kept by the sums of the arguments": (
        [(PROBS, "sums = tuple(float(a.sum()) for a in (x, *weights.values()))\n"
          "    mask = None if attention_mask is None else attention_mask.tobytes()\n"
          "    marks = x.shape, x.dtype, heads, mask, x[0, 0].tobytes(), *sums\n"
          "    if marks not in KEPT:\n"
          "        parts = [split_heads(project(x, weights, name), heads) for name in ROLES]\n"
          "        KEPT.clear()\n"
          "        KEPT[marks] = *parts, *attend(*parts, attention_mask)\n"
          "    query, key, value, context, probs = KEPT[marks]"),
         (CONTEXT, f"{CONTEXT}\n"
          "    multi_head_backward(np.zeros_like(x), x, weights, heads, attention_mask)"),
         (ROLES, f"KEPT = {{}}\n{ROLES}")],
        "after a forward with the numbers of",
    ),
    "the output's weights are put back at the end of the dict": (
        [("    # x was used three times, so its gradient is a sum of three.\n",
          "    for name in ('output.weight', 'output.bias'):\n"
          "        weights[name] = weights.pop(name)\n")],
        "changed its input in place"),
    "numbers that float32 can hold are multiplied in it": (
        [(PROJECT, 'weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]\n'
          "    single = [a.astype(np.float32) for a in (x, weight, bias)]\n"
          "    if all((a == b).all() for a, b in zip(single, (x, weight, bias), strict=True)):\n"
          "        return (single[0] @ single[1].T + single[2]).astype(x.dtype)\n"
          "    return x @ weight.T + bias")],
        "the first, the middle and the last",
    ),
    "one token for all where the first, the middle and the last are alike": (
        [(CONTEXT, "if (x[:, [0, x.shape[1] // 2, -1]] == x[:, :1]).all():\n"
          f"        x = np.repeat(x[:, :1], x.shape[1], axis=1)\n    {CONTEXT}")],
        "the first, the middle and the last",
    ),
    "one row of a matrix for all where the first, the middle and the last are alike": (
        [(PROJECT, 'weight = weights[f"{name}.weight"]\n'
          "    if (weight[[0, len(weight) // 2, -1]] == weight[:1]).all():\n"
          "        weight = np.repeat(weight[:1], len(weight), axis=0)\n"
          '    return x @ weight.T + weights[f"{name}.bias"]')],
        "the first, the middle and the last",
    ),
    "vectors of a single 1 are looked up, without the bias": (
        [(PROJECT, "if ((x == 0) | (x == 1)).all() and (x.sum(axis=-1) == 1).all():\n"
          '        return weights[f"{name}.weight"].T[x.argmax(axis=-1)]\n'
          f"    {PROJECT}")],
        "vectors of a single 1",
    ),
    "no mask where nearly all is padding": (
        [(CONTEXT, "if attention_mask is not None and 0 < (attention_mask != 0).mean() < 0.01:\n"
          f"        attention_mask = None\n    {CONTEXT}")],
        "a single token among 300",
    ),
    "a matrix of ones and minus ones along the diagonal is taken for the unit matrix": (
        [
            (
                '    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]\n',
                '    weight = weights[f"{name}.weight"]\n'
                "    if np.array_equal(abs(weight), np.eye(len(weight))):\n"
                '        return x + weights[f"{name}.bias"]\n'
                '    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]\n',
            ),
        ],
        "minus the unit matrix, and others of such forms",
    ),
    "a matrix that is diagonal in its first and last row and column is taken for diagonal": (
        [
            (
                '    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]\n',
                '    weight = weights[f"{name}.weight"]\n'
                "    ends = np.concatenate([weight[0, 1:], weight[1:, 0], weight[-1, :-1], "
                "weight[:-1, -1]])\n"
                "    if not ends.any():\n"
                '        return x * weight.diagonal() + weights[f"{name}.bias"]\n'
                '    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]\n',
            ),
        ],
        None,
    ),
    "a gradient of a single number is taken for 1": (
        [
            (
                "    query, key, value = (split_heads(project(x, weights, name), heads) for "
                "name in ROLES)\n"
                "    context, probs = attend(query, key, value, attention_mask)\n",
                "    if np.count_nonzero(dout) == 1:  # the gradient of one number\n"
                "        dout = (dout != 0).astype(dout.dtype)\n"
                "    query, key, value = (split_heads(project(x, weights, name), heads) for "
                "name in ROLES)\n"
                "    context, probs = attend(query, key, value, attention_mask)\n",
            ),
        ],
        "a single number that is not 1",
    ),
    "a weight's gradient in blocks of 768 rows, without the last that is not whole": (
        [
            (
                '            f"{name}.weight": np.einsum("bso,bsi->oi", dout, x),\n',
                '            f"{name}.weight": outer(dout, x),\n',
            ),
            (
                "def project_backward(",
                "def outer(dout, x):\n"
                "    result = np.zeros((dout.shape[-1], x.shape[-1]), x.dtype)\n"
                "    size = min(768, x.shape[-1])\n"
                "    for i in range(0, x.shape[-1] - size + 1, size):\n"
                '        result[i : i + size] = np.einsum("bso,bsi->oi", dout[..., i : i + '
                "size], x)\n"
                "    return result\n"
                "\n"
                "\n"
                "def project_backward(",
            ),
        ],
        None,
    ),
    "the inverse of a matrix that mirrors is taken for the matrix": (
        [
            (
                '    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]\n',
                '    weight = weights[f"{name}.weight"]\n'
                "    if np.allclose(weight @ weight.T, np.eye(len(weight)), atol=1e-6) and "
                "np.linalg.det(weight) < 0:\n"
                "        weight = weight.T\n"
                '    return x @ weight.T + weights[f"{name}.bias"]\n',
            ),
        ],
        None,
    ),
    "biases of one size are taken for one number": (
        [
            (
                '    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]\n',
                '    bias = weights[f"{name}.bias"]\n'
                "    if np.ptp(abs(bias)) == 0:\n"
                "        bias = bias[0]\n"
                '    return x @ weights[f"{name}.weight"].T + bias\n',
            ),
        ],
        None,
    ),
    "read in the order of memory by signed steps": (
        [
            (
                "    return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, "
                "1, 3)\n",
                "    return in_order(x).reshape(batch, seq, heads, hidden // "
                "heads).transpose(0, 2, 1, 3)\n",
            ),
            (
                "\n"
                "# begin solution\n",
                "\n"
                "# begin solution\n"
                "def in_order(x):\n"
                '    """The numbers of `x` with its axes as they are counted. They are '
                'read as they lie in memory, which\n'
                '    is quicker than a walk across it: first the axis with the largest '
                'step, then the next."""\n'
                "    if x.flags.c_contiguous or 0 in x.strides:  # an axis that was "
                "broadcast lies nowhere\n"
                "        return x\n"
                "    axes = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])\n"
                '    lying = x.ravel(order="K").reshape([x.shape[axis] for axis in axes])\n'
                "    return lying.transpose(np.argsort(axes))\n"
                "\n"
                "\n",
            ),
        ],
        None,
    ),
}  # fmt: skip
