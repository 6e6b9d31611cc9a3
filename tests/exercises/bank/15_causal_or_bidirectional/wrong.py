"""Wrong answers to 15_causal_or_bidirectional, as edits of the solution, and their names."""

KEYS = "visible = attention_mask.bool()[:, None, :].expand(-1, seq, -1)"
RETURN = "return visible.tril() if causal else visible"
TRIANGLE = "torch.ones(seq, seq, dtype=torch.bool).tril()"
ROOT = "/ math.sqrt(query.shape[-1])"
SOFTMAX = "weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)"
ZERO = "weights = weights.masked_fill(~mask, 0.0)"
CONTEXT = "return weights @ value, weights"
LINE = '["".join("X" if may else "O" for may in row) for row in visible]'
START = "itself = found = torch.eye(seq).to(visible)  # of its type, on its device"
PRODUCT = "found = ((visible | itself).float() @ found.float()) > 0"
FOUND = "return found.expand(visible.shape)"

WRONG = {
    "queries hidden, not keys": ([(KEYS, KEYS.replace("[:, None, :]", "[:, :, None]"))],
                                 "asked for is the whole table"),
    "queries hidden too": (
        [(KEYS, KEYS + " & attention_mask.bool()[:, :, None]")], "queries that are padding"),
    "True is hidden": ([(RETURN, "return ~(visible.tril() if causal else visible)")],
                       "True and False are exchanged"),
    "padding in sight": (
        [(KEYS, "visible = torch.ones(len(attention_mask), seq, seq, dtype=torch.bool)")],
        "as if every attention_mask were all 1"),
    "causal padding in sight": (
        [(RETURN, f"return {TRIANGLE}.expand(visible.shape) if causal else visible")],
        "as if every attention_mask were all 1"),
    "the first example's mask": (
        [(KEYS, "keys = attention_mask.bool()[:1, None, :]\n"
                "    visible = keys.expand(len(attention_mask), seq, -1)")],
        "the mask of the first example"),
    "triu": ([(RETURN, RETURN.replace("tril", "triu"))], "upside down"),
    "no diagonal": ([(RETURN, RETURN.replace("tril()", "tril(-1)"))],
                    "the diagonal is missing"),
    "one too far": ([(RETURN, RETURN.replace("tril()", "tril(1)"))], "one token too far"),
    "or for and": ([(RETURN, f"return visible | {TRIANGLE} if causal else visible")],
                   "one of the two conditions"),
    "always causal": ([(RETURN, "return visible.tril()")], "although causal is False"),
    "causal by default": ([("causal: bool = False", "causal: bool = True")],
                          "although causal is False"),
    "never causal": ([(RETURN, "return visible")], "causal is not used"),
    "left for broadcasting": ([(RETURN, "return visible.tril() if causal else visible[:, :1]")],
                              "right for broadcasting"),
    "scores to be added": (
        [(RETURN, "visible = visible.tril() if causal else visible\n"
                  "    return (1.0 - visible.float()) * -10000.0")], "truth values"),
    "X and O exchanged": ([(LINE, LINE.replace('"X" if may else "O"', '"O" if may else "X"'))],
                          "X and O are exchanged"),
    "picture turned": ([(LINE, LINE.replace("visible", "visible.T"))],
                       "rows and columns are exchanged: a string is a query"),
    "one string": ([(LINE, r'"\n".join(' + LINE + ")")], "one string for all"),
    "no root": ([(ROOT, "")], "not divided by √head_dim"),
    "head_dim without root": ([(ROOT, "/ query.shape[-1]")], "by head_dim, not by its root"),
    "root of hidden": ([(ROOT, "/ math.sqrt(query.shape[-1] * query.shape[1])")],
                       "the root of the whole hidden size"),
    "mask not used": ([(SOFTMAX, "weights = scores.softmax(dim=-1)"), (ZERO, "pass")],
                      "the mask is not used"),
    "mask after softmax": ([(SOFTMAX, "weights = scores.softmax(dim=-1)")], "after the softmax"),
    "mask turned": ([("mask = visible[:, None]", "mask = visible.transpose(1, 2)[:, None]")],
                    "visible was turned"),
    "no axis for heads": (
        [("mask = visible[:, None]", "mask = visible if visible.shape[0] == query.shape[1] "
          "else visible[:, None]")], "laid on every head b"),
    "softmax over queries": ([(SOFTMAX, SOFTMAX.replace("dim=-1", "dim=-2"))], "over the queries"),
    "hidden scores 0": ([(SOFTMAX, SOFTMAX.replace("-math.inf", "0.0")), (ZERO, "pass")],
                        "exp(0) is 1"),
    "NaN rows": ([(ZERO, "pass")], "is NaN"),
    "NaN in the backward pass": (
        [(SOFTMAX, "added = torch.zeros_like(scores).masked_fill(~mask, -math.inf)\n"
                   "    weights = (scores + added).softmax(dim=-1)")], "NaN comes back"),
    "-10,000": ([(SOFTMAX, SOFTMAX.replace("-math.inf", "-1e4")), (ZERO, "pass")],
                "a number like -10,000"),
    "smallest number": (
        [(SOFTMAX, SOFTMAX.replace("-math.inf", "torch.finfo(scores.dtype).min")), (ZERO, "pass")],
        "a large negative number in place of -inf"),
    "exp by hand": (
        [(SOFTMAX, "weights = scores.exp() * mask\n"
                   "    weights = weights / weights.sum(-1, keepdim=True)")], "exp overflows, or"),
    "probs detached": ([(CONTEXT, "return weights.detach() @ value, weights.detach()")],
                        "the graph is cut: by detach"),
    "context of detached probs": ([(CONTEXT, "return weights.detach() @ value, weights")],
                                   "the graph is cut at one place"),
    "context alone": ([(CONTEXT, "return weights @ value")], "a tuple of 2 values"),
    "always float32": ([(CONTEXT, "return (weights @ value).float(), weights.float()")],
                       "the wrong type"),
    "scores in place": (
        [("scores = query @", "query /= math.sqrt(query.shape[-1])\n    scores = query @"),
         (ROOT, "")], "changed its input in place"),
    "no residual": ([(PRODUCT, PRODUCT.replace("(visible | itself)", "visible"))],
                    "the residual connection is left out"),
    "layers not used": ([("for _ in range(layers):", "for _ in range(1):")],
                        "the number of layers is not used"),
    "a layer too many": ([("range(layers)", "range(layers + 1)")], "a layer too many"),
    "a layer too few": ([("range(layers)", "range(layers - 1)")], "a layer too few"),
    "reached turned": ([(PRODUCT, PRODUCT.replace(".float() @", ".float().mT @"))],
                       "rows and columns are exchanged: the row is reached"),
    "paths overflow": (
        [(PRODUCT, "found = (visible | itself).long() @ found.long()"), (FOUND, f"{FOUND} > 0")],
        "leave the range of their type"),
    "visible in place": (
        [(START, f"{START}\n    visible |= itself"), (PRODUCT, PRODUCT.replace(" | itself", ""))],
        "changed its input in place"),
    "one layer less far than it is deep": (
        [("range(layers)", "range(min(layers, 8))")], None),
    "twice as far with each layer": (
        [(PRODUCT, "step = visible | itself\n"
                   "        found = ((step if _ == 0 else found).float() @ found.float()) > 0")],
        None),
    "averaged over the layers": (
        [(PRODUCT, "found = (visible | itself).half() @ found.half()\n"
                   "        found = found / found.sum(-1, keepdim=True) ** 2"),
         (FOUND, f"{FOUND} > 0")], None),
    "-1e9 added": (
        [(SOFTMAX, "weights = (scores - 1e9 * ~mask).softmax(dim=-1)"), (ZERO, "pass")],
        "a number like -10,000"),
    "-1e9 added, 0 after the softmax": (
        [(SOFTMAX, "weights = (scores - 1e9 * ~mask).softmax(dim=-1)")],
        "hidden scores get through the softmax"),
    "the largest score first, of hidden keys too": (
        [(SOFTMAX, "weights = (scores - scores.amax(-1, keepdim=True)).exp() * mask\n"
                   "    weights = weights / weights.sum(-1, keepdim=True)"), (ZERO, ZERO)], None),
    "no batch of masks": ([("mask = visible[:, None]", "mask = visible[:1, None]")],
                          "the visible of the first example is used for all"),
    "values of hidden keys averaged": (
        [(CONTEXT, "nobody = ~mask.any(-1, keepdim=True)\n"
                   "    return torch.where(nobody, value.mean(-2, keepdim=True), weights @ value), "
                   "weights")], None),
    "padding never looks": (
        [(KEYS, KEYS + "\n    visible = visible & attention_mask.bool()[:, :, None] | "
                       "torch.eye(seq).bool()")], None),
    "lower case": ([(LINE, LINE.replace("X", "x").replace("O", "o"))], None),
    "at most 64 layers": (
        [("for _ in range(layers):",
          "for _ in range(min(layers, 64)):")],
        "a hundred layers are too many for it",
    ),
    "paths counted in bytes": (
        [("((visible | itself).float() @ found.float()) > 0",
          "((visible | itself).byte() @ found.expand(visible.shape).byte()) > 0")],
        "the numbers of paths leave the range",
    ),
    "masks kept by shape between calls": (
        [("    return visible.tril() if causal else visible",
          "    return KEPT.setdefault((visible.shape, causal), visible.tril() if causal else "
          "visible)"),
         ("def picture(",
          "KEPT = {}\n\n\ndef picture(")],
        "the mask of an earlier call",
    ),
    "thirty below the lowest": (
        [("scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n",
           "torch.where(mask, scores, scores.detach().amin() - 30).softmax(dim=-1)\n"),
          ("weights = weights.masked_fill(~mask, 0.0)",
           "weights = weights * mask.any(-1, keepdim=True)")],
        "-inf is what gives 0"),
    # Right for small inputs, and for draws that are counted coarsely.
    "picture 64": (
        [("return [\"\".join(\"X\" if may else \"O\" for may in row) for row in visible]",
          "return [\"\".join(\"X\" if may else \"O\" for may in row[:64]) for row in visible]")],
        "the result for a table of 400 tokens[0]"),
    "share floor": (
        [("    weights = weights.masked_fill(~mask, 0.0)",
          "    weights = weights.masked_fill(~mask | (weights < 1e-9), 0.0)")],
        "the weights of scores from -40 to 40, each number divided by"),
    "weights as exp(score - logsumexp)": (
        [
            ("    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n",
             "    seen = scores.masked_fill(~mask, -math.inf)\n"
             "    total = seen.logsumexp(dim=-1, keepdim=True)\n"
             "    total = total.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)\n"
             "    weights = (seen - total).exp()\n"),
        ],
        None,
    ),
    "a triangle of 1,024 tokens": (
        [
            ("    return visible.tril() if causal else visible\n",
             "    if not causal:\n"
             "        return visible\n"
             "    tri = torch.zeros(seq, seq, dtype=torch.bool)\n"
             "    tri[:1024, :1024] = torch.ones(1024, 1024, "
             "dtype=torch.bool).tril()[:seq, :seq]\n"
             "    return visible & tri\n"),
        ],
        None,
    ),
    "exp of hidden scores, then 0": (
        [
            ("    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n",
             "    top = scores.detach().masked_fill(~mask, -math.inf).amax(dim=-1, keepdim=True)\n"
             "    top = top.masked_fill(top == -math.inf, 0.0)\n"
             "    powers = torch.where(mask, (scores - top).exp(), 0.0)\n"
             "    total = powers.sum(dim=-1, keepdim=True)\n"
             "    weights = powers / total.masked_fill(total == 0, 1.0)\n"),
        ],
        "NaN comes back from a hidden score",
    ),
    "the largest score of all queries first": (
        [
            ("    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n",
             "    scores = scores.masked_fill(~mask, -math.inf)\n"
             "    powers = (scores - scores.detach().max().clamp(min=-1e30)).exp()\n"
             "    weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-300)\n"),
        ],
        "the largest score of all queries is subtracted",
    ),
    "a graph only where the query learns": (
        [
            ("    mask = visible[:, None]  # (batch, 1, seq, seq)\n",
             "    if not query.requires_grad:\n"
             "        key, value = key.detach(), value.detach()\n"
             "    mask = visible[:, None]\n"),
        ],
        "whether another argument requires a gradient",
    ),
    "the identity in a cache": (
        [
            ("\n"
             "import torch\n",
             "from functools import lru_cache\n"
             "\n"
             "import torch\n"),
            ("\n"
             "\n"
             "def visible_keys(\n",
             "\n"
             "\n"
             "@lru_cache\n"
             "def identity(seq: int) -> Tensor:\n"
             "    return torch.eye(seq, dtype=torch.bool)\n"
             "\n"
             "\n"
             "def visible_keys(\n"),
            ("    itself = found = torch.eye(seq).to(visible)  # of its type, on its device\n",
             "    itself = found = identity(seq)\n"),
        ],
        None,
    ),
    "the graph is cut in float32": (
        [
            ("return weights @ value, weights",
             "if value.dtype == torch.float32: weights = weights.detach()\n"
             "    return weights @ value, weights"),
        ],
        "the gradients for torch.float32",
    ),
    "the weights are detached in float32": (
        [
            ("return weights @ value, weights",
             "return weights @ value, weights.detach() if value.dtype == torch.flo"
             "at32 else weights"),
        ],
        "the gradients for torch.float32",
    ),
    "-30 in float32": (
        [
            ("    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n",
             "    low = -30.0 if scores.dtype == torch.float32 else -math.inf\n"
             "    weights = scores.masked_fill(~mask, low).softmax(dim=-1)\n"),
            ("    weights = weights.masked_fill(~mask, 0.0)\n",
             "    weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)\n"),
        ],
        "in float32, scores times 1: the weight of a hidden key",
    ),
    "-1e9 in float32, 0 after the softmax": (
        [
            ("    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n",
             "    low = -1e9 if scores.dtype == torch.float32 else -math.inf\n"
             "    weights = scores.masked_fill(~mask, low).softmax(dim=-1)\n"),
        ],
        "do not add up to 1",
    ),
    "NaN in the backward pass of float32": (
        [
            ("    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)\n",
             "    if scores.dtype == torch.float32:\n"
             "        weights = (scores + torch.zeros_like(scores).masked_fill(~ma"
             "sk, -math.inf)).softmax(-1)\n"
             "    else:\n"
             "        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-"
             "1)\n"),
        ],
        "the gradients for torch.float32",
    ),
    "a triangle that is kept where nothing is padding": (
        [
            (
                '    return visible.tril() if causal else visible\n',
                '    if causal and visible.all():\n'
                '        if seq not in TRIANGLES:\n'
                '            TRIANGLES[seq] = torch.ones(seq, seq, dtype=torch.bool).tril()\n'
                '        return TRIANGLES[seq].expand(len(attention_mask), -1, -1)\n'
                '    return visible.tril() if causal else visible\n',
            ),
            (
                '# begin solution\n'
                '# Wrong answers',
                'TRIANGLES = {}\n'
                '# begin solution\n'
                '# Wrong answers',
            ),
        ],
        'an earlier call has returned too',
    ),
    "weights of one key or none without scores": (
        [
            (
                '    scores = query @ key.mT',
                '    if visible.sum(dim=-1).max() <= 1:\n'
                '        weights = mask.to(query.dtype).repeat(1, query.shape[1], 1, 1)\n'
                '        return weights @ value, weights\n'
                '    scores = query @ key.mT',
            ),
        ],
        'where the scores make no difference the weights are written without them',
    ),
    "a single token without scores": (
        [
            (
                '    scores = query @ key.mT',
                '    if query.shape[2] == 1:\n'
                '        weights = mask.to(query.dtype).repeat(1, query.shape[1], 1, 1)\n'
                '        return weights @ value, weights\n'
                '    scores = query @ key.mT',
            ),
        ],
        'where the scores make no difference the weights are written without them',
    ),
    "paths counted in float64, looked at after the last layer": (
        [
            (
                '        found = ((visible | itself).float() @ found.float()) > 0\n'
                '    return found.expand(visible.shape)',
                '        found = (visible | itself).double() @ found.double()\n'
                '    return (found > 0).expand(visible.shape)',
            ),
        ],
        'ask after each layer whether there is one',
    ),
    "no mask where that of all rows is the same": (
        [(KEYS, KEYS + "\n    if seq > 1 < len(attention_mask) and not (\n"
                       "        attention_mask != attention_mask[0]\n    ).any():\n"
                       "        visible = torch.ones_like(visible)")],
        None),
    "weights of queries of 0 are written without scores": (
        [(ZERO, "if not query.any():\n"
                "        weights = mask.to(value.dtype).expand_as(weights)\n"
                "        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)\n"
                "    " + ZERO)],
        None),
    "the graph is cut where all values are 0": (
        [(CONTEXT, "if not value.any():\n        return torch.zeros_like(value), weights\n"
                   "    " + CONTEXT)],
        None),
    "the batch meets the heads where both are 4 or more": (
        [("mask = visible[:, None]", "is_square = query.shape[0] == query.shape[1] > 3\n"
                                     "    mask = visible if is_square else visible[:, None]")],
        None),
    "nothing reaches anything where nobody looks at anything": (
        [(FOUND, "if not visible.any():\n        return torch.zeros_like(visible)\n"
                 "    " + FOUND)],
        None),
    "a picture as NumPy prints it": (
        [('return ["".join("X" if may else "O" for may in row) for row in visible]',
          'rows = visible.int().numpy()\n    return ["".join(str(row)[1:-1].split())'
          '.replace("1", "X").replace("0", "O") for row in rows]')], None),
    "hidden scores are -1e30": (
        [(SOFTMAX, SOFTMAX.replace("-math.inf", "-1e30"))], "above some scores"),
    "hidden scores are the lowest number of float32": (
        [(SOFTMAX, SOFTMAX.replace("-math.inf", "torch.finfo(torch.float32).min"))],
        "above some scores"),
    "the triangle of the first 4,096 examples": (
        [(RETURN, "return torch.cat([visible[:4096].tril(), visible[4096:]]) if causal else visible"
          )],
        'mask of shape (4103, 2), causal=True'),
    "a block of rows has the table of the first rows": (
        [("    # An axis of heads, or",
          "    batch, heads, seq, _ = query.shape\n"
          "    rows = max(1, 1_000_000 // max(1, heads * seq * seq))\n"
          "    if batch > rows:\n"
          "        blocks = [part.split(rows) for part in (query, key, value)]\n"
          "        found = [attention(*parts, visible[: len(parts[0])])\n"
          "                 for parts in zip(*blocks)]\n"
          "        return tuple(map(torch.cat, zip(*found)))\n"
          "    # An axis of heads, or")],
        "a block of rows is treated in another way"),
    "a query's own score is taken for its largest": (
        [(SOFTMAX, "top = scores.amax(-1, keepdim=True)\n"
                   "    if query is key:\n"
                   "        top = scores.diagonal(dim1=-2, dim2=-1)[..., None]\n"
                   "    share = (scores - top.detach()).masked_fill(~mask, -math.inf).exp()\n"
                   "    if query is key:\n"
                   "        weights = share / share.sum(-1, keepdim=True)\n"
                   "    else:\n"
                   "        " + SOFTMAX)],
        "a query's score with itself"),
    "one table for all examples where their counts are equal": (
        [("    # An axis of heads, or",
          "    counts = visible.sum(-1)\n"
          "    if len(visible) and (counts == counts[:1]).all():\n"
          "        visible = visible[:1]\n"
          "    # An axis of heads, or")],
        "as many keys as in the other examples"),
    "a triangle is known by its counts": (
        [("    # An axis of heads, or",
          "    counts = visible.sum(-1)\n"
          "    if len(visible) and (counts == torch.arange(1, visible.shape[-1] + 1)).all():\n"
          "        visible = torch.ones_like(visible).tril()\n"
          "    # An axis of heads, or")],
        "as many keys as in a triangle"),
    "one row of the table for all queries where three rows are equal": (
        [("    # An axis of heads, or",
          "    seq = visible.shape[-1]\n"
          "    if seq and (visible[:, [0, seq // 2, seq - 1]] == visible[:, :1]).all():\n"
          "        visible = visible[:, :1].expand_as(visible)\n"
          "    # An axis of heads, or")],
        "and [CLS] and [SEP] all"),
    "a triangle is known by its last row": (
        [("    # An axis of heads, or",
          "    if torch.equal(visible, visible.tril()) and visible[:, -1:].all():\n"
          "        visible = torch.ones_like(visible).tril()\n"
          "    # An axis of heads, or")],
        "the last one all"),
    "what is reached is known by the last row": (
        [("    # Before the first layer each token is reached by itself alone.\n",
          "    if layers and torch.equal(visible, visible.tril()) and visible[:, -1:].all():\n"
          "        return torch.ones_like(visible).tril()\n")],
        "the last one all"),
    "no padding where both ends are tokens": (
        [(KEYS, "if attention_mask[:, [0, -1]].all():\n"
          f"        attention_mask = torch.ones_like(attention_mask)\n    {KEYS}")],
        None),
    "one table for all where the first, the middle and the last are alike": (
        [("    # An axis of heads, or",
          "    if (visible[[0, len(visible) // 2, -1]] == visible[:1]).all():\n"
          "        visible = visible[:1].expand(visible.shape)\n"
          "    # An axis of heads, or")],
        "the first, the middle and the last"),
    "whole numbers are multiplied in 32 bits": (
        [("scores = query @ key.mT",
          "is_whole = bool((query % 1 == 0).all() and (key % 1 == 0).all())\n"
          "    whole = (query.int() @ key.int().mT).to(query.dtype) - query @ key.mT\n"
          "    scores = query @ key.mT + whole.detach() * is_whole\n"
          "    scores = scores")],
        "large whole numbers"),
    "a share of tokens of almost 1 is taken for no padding": (
        [("    # An axis of heads, or",
          "    if visible.half().mean() == 1:\n        visible = torch.ones_like(visible)\n"
          "    # An axis of heads, or")],
        "of which one has padding"),
    "rows of a picture are known by the digits of their numbers": (
        [("    return " + LINE,
          "    known, keys = {}, []\n"
          "    for row in visible:\n"
          "        keys.append(''.join(str(j) for j in row.nonzero()[:, 0].tolist()))\n"
          "        known.setdefault(keys[-1], ''.join('OX'[may] for may in row.tolist()))\n"
          "    return [known[key] for key in keys]")],
        "rows are told apart by numbers"),
    "every 32 layers it asks whether there is a way": (
        [("    for _ in range(layers):\n", "    for layer in range(layers):\n"),
         (PRODUCT, "found = (visible | itself).float() @ found.float()\n"
                   "        if layer % 32 == 31:\n"
                   "            found = (found > 0).float()\n"
                   "    found = found > 0")],
        "20 ways in each layer"),
    "each query takes its 256 largest scores": (
        [(SOFTMAX, "hidden = scores.masked_fill(~mask, -math.inf)\n"
                   "    least = hidden.sort(dim=-1).values[..., max(0, hidden.shape[-1] - 256) :]\n"
                   "    hidden = hidden.masked_fill(hidden < least[..., :1], -math.inf)\n"
                   "    weights = hidden.softmax(dim=-1)")],
        None),
    "a window to the left carries over half of the text": (
        [("    # Before the first layer each token is reached by itself alone.\n",
          "    left = visible[:, 1:].diagonal(dim1=1, dim2=2).all()\n"
          "    left &= visible.diagonal(dim1=1, dim2=2).all()\n"
          "    if left and torch.equal(visible, visible.tril()) and layers > seq // 2:\n"
          "        return (visible | True).tril()\n")],
        "itself and the one to the left"),
}  # fmt: skip
