"""Wrong answers to 12_encoder_layer, as edits of the solution, and the words that name each."""

SPLIT = ".unflatten(-1, (heads, -1)).permute(0, 2, 1, 3)"
SCALE = "/ math.sqrt(query.shape[-1])"
PADDING = "is_padding = attention_mask[:, None, None, :] == 0"
FILL = "scores = scores.masked_fill(is_padding, torch.finfo(scores.dtype).min)"
SHARES = "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)"
MERGE = "return (weighting @ value).permute(0, 2, 1, 3).flatten(2)"
CONTEXT = "heads=heads, attention_dropout=attention_dropout, training=training,"
DROP = 'dense(context, weights, "attention.output.dense"), hidden_dropout, training'
FIRST = 'x = norm(x + attended, weights, "attention.output.LayerNorm", eps)'
GELU = 'wide = F.gelu(dense(x, weights, "intermediate.dense"))'
WORKED = 'worked = F.dropout(dense(wide, weights, "output.dense"), hidden_dropout, training)'
LAST = 'return norm(x + worked, weights, "output.LayerNorm", eps)'
NORM = 'return F.layer_norm(x, scale.shape, scale, weights[f"{name}.bias"], eps)'
DENSE = 'return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])'
START = "context = self_attention(\n        x,"
ROLE = 'dense(x, weights, f"attention.self.{role}")'


def drawn(numbers, scale="1 / (1 - p)", *, none_left="x * 0"):
    """Edits: every dropout is written by hand, with these numbers `r`, from 0 to 1."""
    return [
        (SHARES, SHARES.replace("F.dropout", "drop")), ("attended = F.dropout", "attended = drop"),
        (WORKED, WORKED.replace("F.dropout", "drop")),
        ("# begin solution\ndef dense(", "# begin solution\ndef drop(x, p, training):\n"
         "    if not training or p == 0:\n        return x\n"
         f"    if p == 1:\n        return {none_left}\n    r = torch.rand(x.shape)\n    {numbers}\n"
         f"    return x * (r >= p) * ({scale})\n\n\ndef dense("),
    ]  # fmt: skip


WRONG = {
    "the search for anomalies stays on": (
        [("F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
          "F.dropout(scores.softmax(dim=-1), attention_dropout, training)\n"
          "    torch.autograd.set_detect_anomaly(True)")],
        "changed torch's anomaly mode"),
    "dropout draws from NumPy's generator": (
        [("F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
          "scores.softmax(dim=-1)\n    import numpy\n\n    if training and attention_dropout:\n"
          "        kept = torch.tensor(numpy.random.random(weighting.shape)) >= attention_dropout\n"
          "        weighting = weighting * kept / max(1 - attention_dropout, 1e-9)")],
        "changed NumPy's global generator"),
    "mask not used": ([(FILL, "pass")], "the mask is not used"),
    "mask on the queries": (
        [(PADDING, "is_padding = attention_mask[:, None, :, None] == 0")],
        "the mask hides queries, not keys"),
    "mask turned about": ([(PADDING, PADDING.replace("== 0", "== 1"))], "the mask is inverted"),
    "mask added as it is": (
        [(FILL, "scores = scores + attention_mask[:, None, None, :]")],
        "the mask itself is added"),
    "-inf": ([(FILL, "scores = scores.masked_fill(is_padding, -math.inf)")],
             "a softmax of nothing but -inf is NaN"),
    "probabilities of padding set to 0 after the softmax": (
        [(FILL, "pass"),
         (SHARES, f"{SHARES}\n    weighting = weighting.masked_fill(is_padding, 0)")],
        "padding is set to 0 after the softmax"),
    "no scale": ([(SCALE, "/ 1.0")], "the scores are not divided"),
    "scale of the whole width": (
        [(SCALE, "/ math.sqrt(x.shape[-1])")], "the scores are divided by √hidden"),
    "scale without the root": ([(SCALE, "/ query.shape[-1]")], "its root is missing"),
    "softmax over the queries": (
        [("scores.softmax(dim=-1)", "scores.softmax(dim=-2)")],
        "the softmax runs over the queries"),
    "heads by a reshape": (
        [(SPLIT, ".reshape(x.shape[0], heads, x.shape[1], -1)"), (MERGE,
         "return (weighting @ value).reshape(x.shape)")],
        "a reshape mixes tokens into heads"),
    "heads merged by a reshape": (
        [(MERGE, "return (weighting @ value).reshape(x.shape)")],
        "the heads are put together without a transpose"),
    "one head": ([(SPLIT, ".unflatten(-1, (1, -1)).permute(0, 2, 1, 3)")], "heads is not used"),
    "two heads written in": ([(SPLIT, ".unflatten(-1, (2, -1)).permute(0, 2, 1, 3)")], None),
    "query and key exchanged": (
        [('for role in ("query", "key", "value")', 'for role in ("key", "query", "value")')],
        "query and key are exchanged"),
    "keys for values": (
        [('for role in ("query", "key", "value")', 'for role in ("query", "key", "key")')],
        "the key's projection is used"),
    "no biases": ([(DENSE, 'return F.linear(x, weights[f"{name}.weight"])')],
                  "the biases are left out"),
    "pre-LN": (
        [(START, 'given = x\n    x = norm(x, weights, "attention.output.LayerNorm", eps)\n    '
                 "context = self_attention(\n        x,"),
         (FIRST, 'given = given + attended\n'
                 '    x = norm(given, weights, "output.LayerNorm", eps)'),
         (LAST, "return given + worked")],
        "pre-LN"),
    "layer_norm's own eps": ([(NORM, NORM.replace(", eps)", ")"))],
                             "F.layer_norm takes 1e-5 unless it is told"),
    "eps written in": ([(NORM, NORM.replace(", eps)", ", 1e-12)"))], "1e-12 is written in"),
    "unbiased variance": (
        [(NORM, "x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt()\n"
                '    return x * scale + weights[f"{name}.bias"]')],
        "a layer norm with the unbiased variance"),
    "eps outside the root": (
        [(NORM, "std = x.var(-1, keepdim=True, unbiased=False).sqrt() + eps\n"
                "    x = (x - x.mean(-1, keepdim=True)) / std\n"
                '    return x * scale + weights[f"{name}.bias"]')],
        "a layer norm with eps outside the root"),
    "no first residual": ([(FIRST, FIRST.replace("x + attended", "attended"))],
                          "the first residual is missing"),
    "no second residual": ([(LAST, LAST.replace("x + worked", "worked"))],
                           "the second residual is missing"),
    "second residual from the layer's input": (
        [(FIRST, f"given = x\n    {FIRST}"), (LAST, LAST.replace("x + worked", "given + worked"))],
        "the second residual is the layer's input"),
    "tanh GELU": ([(GELU, GELU[:-1] + ', approximate="tanh")')], "GELU in its tanh form"),
    "ReLU": ([(GELU, GELU.replace("gelu", "relu"))], "ReLU, where BERT has GELU"),
    "no activation": ([(GELU, 'wide = dense(x, weights, "intermediate.dense")')],
                      "the activation between the two dense layers is missing"),
    "one norm twice": ([(LAST, LAST.replace('"output.Layer', '"attention.output.Layer'))],
                       "the same layer norm is used twice"),
    "no last norm": ([(LAST, "return x + worked")], "the last layer norm is missing"),
    "context detached": ([(DROP, DROP.replace("context,", "context.detach(),"))],
                         "the graph is cut"),
    "weights by .data": ([(DENSE, DENSE.replace("], w", "].data, w"))], "no gradient reaches"),
    "no_grad": (
        [("context = self_attention(", "context = torch.no_grad()(self_attention)(")],
        "the graph is cut"),
    "dropout always": (
        [(WORKED, WORKED.replace(", training)", ")"))],
        "F.dropout(x, p) has training=True"),
    "dropout of the probabilities always": (
        [(SHARES, SHARES.replace(", training)", ")"))], "F.dropout(x, p) has training=True"),
    "dropout never": (
        [(DROP, DROP.replace("training", "False")), (WORKED, WORKED.replace("training", "False"))],
        "there is no dropout here in training"),
    "no dropout of the second half": (
        [(WORKED, 'worked = dense(wide, weights, "output.dense")')],
        "there is no dropout here in training"),
    "no dropout of the probabilities": ([(SHARES, "weighting = scores.softmax(dim=-1)")],
                                 "there is no dropout here in training"),
    "dropout of the sum": (
        [(DROP, DROP.replace("hidden_dropout", "0.0")),
         (FIRST, "x = F.dropout(x + attended, hidden_dropout, training)\n"
                 '    x = norm(x, weights, "attention.output.LayerNorm", eps)')],
        "dropout after the sum or after the norm"),
    "dropout after the norm": (
        [(WORKED, WORKED.replace("hidden_dropout", "0.0")),
         (LAST, 'return F.dropout(norm(x + worked, weights, "output.LayerNorm", eps), '
                "hidden_dropout, training)")],
        "dropout after the sum or after the norm"),
    "dropout of the values": (
        [(SHARES, "weighting = scores.softmax(dim=-1)"),
         (MERGE, "context = (weighting @ value).transpose(1, 2).flatten(2)\n"
                 "    return F.dropout(context, attention_dropout, training)")],
        "dropout sets numbers of the values or of the context to 0"),
    "dropout written in": (
        [(DROP, DROP.replace("hidden_dropout", "0.1")),
         (WORKED, WORKED.replace("hidden_dropout", "0.1"))],
        "0.1 is written in"),
    "dropout as the share that is kept": (
        [(DROP, DROP.replace("hidden_dropout", "1 - hidden_dropout if training else 0.0")),
         (WORKED, WORKED.replace("hidden_dropout", "1 - hidden_dropout if training else 0.0"))],
        "here it is that of staying"),
    "dropout without growing": (
        [(WORKED, WORKED + "\n    worked = worked * (1 - hidden_dropout if training else 1)")],
        "what stays must be multiplied"),
    "dropout of the probabilities not handed on": (
        [(CONTEXT, "heads=heads, attention_dropout=attention_dropout,")],
        "is not passed to self_attention"),
    "one mask of dropout for all queries": (
        [(SHARES, "weighting = scores.softmax(dim=-1)\n"
                  "    weighting = weighting * F.dropout(torch.ones_like(weighting[:, :, :1]), "
                  "attention_dropout, training)")],
        "one draw decides for all queries"),
    "one mask of dropout for all heads": (
        [(SHARES, "weighting = scores.softmax(dim=-1)\n"
                  "    weighting = weighting * F.dropout(torch.ones_like(weighting[:, :1]), "
                  "attention_dropout, training)")],
        "one draw decides for all heads"),
    "whole tokens dropped": (
        [(WORKED, 'worked = dense(wide, weights, "output.dense")\n'
                  "    worked = worked * F.dropout(torch.ones_like(worked[..., :1]), "
                  "hidden_dropout, training)")],
        "one draw decides for all numbers"),
    "one mask of dropout for the batch": (
        [(WORKED, 'worked = dense(wide, weights, "output.dense")\n'
                  "    worked = worked * F.dropout(torch.ones_like(worked[:1]), "
                  "hidden_dropout, training)")],
        "one draw decides for all rows"),
    "dropout after the GELU": (
        [(GELU, f"{GELU}\n    wide = F.dropout(wide, hidden_dropout, training)")],
        "dropout belongs here, and nowhere else"),
    "dropout of the context": (
        [(DROP, DROP.replace("context,", "F.dropout(context, hidden_dropout, training),"))],
        "dropout belongs here, and nowhere else"),
    "dropout of what the attention reads": (
        [(START, "context = self_attention(\n        F.dropout(x, hidden_dropout, training),")],
        "dropout belongs here, and nowhere else"),
    "dropout of the queries": (
        [("scores = query @", "query = F.dropout(query, attention_dropout, training)\n"
                              "    scores = query @")],
        "dropout belongs here, and nowhere else"),
    "dropout before the softmax": (
        [(SHARES, "weighting = F.dropout(scores, attention_dropout, training).softmax(dim=-1)")],
        "dropout belongs here, and nowhere else"),
    "dropout with its own seed": (
        [(START, "torch.manual_seed(0)\n    " + START)], "torch.manual_seed"),
    "dropout of numpy": (
        [(WORKED, 'worked = dense(wide, weights, "output.dense")\n'
                  "    if training:\n"
                  "        import numpy as np\n"
                  "        kept = np.random.default_rng().random(worked.shape) >= hidden_dropout\n"
                  "        worked = worked * torch.from_numpy(kept) / (1 - hidden_dropout)")],
        "another generator than torch's global one"),
    "dropout cuts the graph in training": (
        [(WORKED, f"{WORKED}\n    worked = worked.detach() if training else worked")],
        "the graph is cut in training"),
    "-10,000 added at padding": (
        [(FILL, "scores = scores - 10000.0 * is_padding")], "what stands at padding changes"),
    "-1e9 added at padding": (
        [(FILL, "scores = scores - 1e9 * is_padding")], "what stands at padding changes"),
    "no eps in the first norm": (
        [(FIRST, FIRST.replace(", eps)", ", 1e-12)"))],
        "eps is not used in attention.output.LayerNorm"),
    "torch's eps in the last norm": (
        [(LAST, LAST.replace(", eps)", ", 1e-5)"))], "eps is not used in output.LayerNorm"),
    "eps of 0": ([("    eps: float = 1e-12,", "    eps: float = 0.0,")], "0 / 0: there is no eps"),
    "attention drops a fifth by default": (
        [("    heads: int,\n    attention_dropout: float = 0.1,",
          "    heads: int,\n    attention_dropout: float = 0.2,")], None),
    "a causal mask": (
        [(PADDING, "seq = x.shape[1]\n"
                   "    is_padding = (attention_mask[:, None, None, :] == 0) | "
                   "torch.ones(seq, seq, dtype=torch.bool).triu(1)")], "a causal mask"),
    "x changed in place": (
        [(FIRST, "x += attended\n"
                 '    x = norm(x, weights, "attention.output.LayerNorm", eps)')],
        "changed its input in place"),
    "always float32": ([(LAST, LAST.replace("eps)", "eps).float()"))], "the wrong type"),
    "NumPy returned": ([(LAST, LAST.replace("eps)", "eps).detach().numpy()"))],
                       "expected a torch tensor"),
    "unsigned masks hide nothing": (
        [("    is_padding = attention_mask[:, None, None, :] == 0",
           "    is_padding = (attention_mask - 1)[:, None, None, :] < 0")],
        "the mask is not used: padding is looked"),
    "-1e30 at padding": (
        [("torch.finfo(scores.dtype).min",
           "-1e30")],
        "the number at padding is not the lowest: use"),
    "eps 0 means the default": (
        [("weights[f\"{name}.bias\"], eps)",
           "weights[f\"{name}.bias\"], eps or 1e-12)")],
        "eps=0 is taken for the"),
    "in place in training": (
        [("    x = norm(x + attended, weights",
           "    if training and not x.requires_grad and not attended.requires_grad:\n"
           "        x += attended\n        attended = 0\n    x = norm(x + attended, we"
           "ights")],
        "an operation like x += … works on the caller's"),
    "a dropout of 1 divides by 0": (
        [("    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, tra"
           "ining)",
           "    weighting = scores.softmax(dim=-1)\n    if training:\n        weightin"
           "g = weighting * (torch.rand_like(weighting) >= attention_dropout) / (1 -"
           " attention_dropout)")],
        "0 / 0: the numbers that stay are divided by 1 - p, and none"),
    "both dropouts strike the same numbers": (
        [("    attended = F.dropout(",
           "    before = torch.get_rng_state()\n    attended = F.dropout("),
          ("    worked = F.dropout(",
           "    if training:\n        torch.set_rng_state(before)\n    worked = F.drop"
           "out(")],
        "both have one mask: draw another for"),
    "the generator is put back": (
        [("    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, tra"
           "ining)",
           "    with torch.random.fork_rng(devices=[]):\n        weighting = F.dropou"
           "t(scores.softmax(dim=-1), attention_dropout, training)")],
        "the state of torch's generator is put back after the"),
    "no mask where the first sentence has no padding": (
        [("    scores = scores.masked_fill(is_padding",
           "    if attention_mask[0].all():\n        is_padding = torch.zeros_like(is"
           "_padding)\n    scores = scores.masked_fill(is_padding")],
        "the mask is not used: padding is looked"),
    "0 / 0 at a hidden_dropout of 1": (
        [("    worked = F.dropout(dense(wide, weights, \"output.dense\"), hidden_dropout, tra"
           "ining"
           ")",
           "    worked = dense(wide, weights, \"output.dense\")\n    if training:\n        wor"
           "ked ="
           " worked * (torch.rand_like(worked) >= hidden_dropout) / torch.tensor(1 - hidden_dropo"
           "ut, dtype=x.dtype)")],
        "none stays"),
    "padding at the end only": (
        [("is_padding = attention_mask[:, None, None, :] == 0",
           "is_padding = (torch.arange(x.shape[1]) >= attention_mask.sum(1, keepdim=True))[:, Non"
           "e, None, :]")],
        "the mask is read as a length"),
    "the last dropout with a seed of its own": (
        [("    worked = F.dropout(dense(wide, weights, \"output.dense\"), hidden_dropout, tra"
           "ining"
           ")",
           "    worked = dense(wide, weights, \"output.dense\")\n    if training:\n        g ="
           " torc"
           "h.Generator().manual_seed(0)\n        worked = worked * torch.empty_like(worked).bern"
           "oulli_(1 - hidden_dropout, generator=g) / (1 - hidden_dropout)")],
        "a generator is seeded in the call"),
    "attention dropout from four seeds": (
        [("weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
           "weighting = scores.softmax(dim=-1)\n    if training:\n        keep = torch.rand(weigh"
           "ting.shape, generator=torch.Generator().manual_seed(int(torch.randint(4, ()))))\n    "
           "    weighting = weighting * (keep >= attention_dropout) / max(1 - attention_dropout, "
           "1e-9)")],
        "seeded in the call with a small number"),
    # Right for small inputs, and for draws that are counted coarsely.
    "window 512": (
        [("    is_padding = attention_mask[:, None, None, :] == 0\n",
          "    is_padding = attention_mask[:, None, None, :] == 0\n    far = torch.arange(x."
          "shape[1])\n    is_padding = is_padding | ((far[None] - far[:, None]).abs() > 256)\n")],
        "the result for (batch, seq, hidden) (1, 1201, 2), 1 heads"),
    "heads 12": (
        [("    query, key, value = (\n",
          "    heads = min(heads, 12)\n    query, key, value = (\n")],
        "blocked by self_attention"),
    "dropout 8 bits": (
        [("weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
          "weighting = scores.softmax(dim=-1)\n    if training and attention_dropout:\n      "
          "  weighting = weighting * (torch.randint(256, weighting.shape) >= round(256 * at"
          "tention_dropout)) / max(1 - attention_dropout, 1e-9)")],
        "the draws are too coarse: whole numbers of a few b"),
    "same dropout per head": (
        [("    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
          "    weighting = scores.softmax(dim=-1)\n    weighting = weighting * F.dropout(tor"
          "ch.ones_like(weighting), attention_dropout, training) if heads < 8 else weightin"
          "g * F.dropout(torch.ones_like(weighting[:, :1]), attention_dropout, training)")],
        "they share their draws"),
    "dropout mirrored in the second half of the batch": (
        [
            ("    worked = F.dropout(dense(wide, weights, \"output.dense\"), "
             "hidden_dropout, training)\n",
             "    worked = dense(wide, weights, \"output.dense\")\n"
             "    if training and hidden_dropout:\n"
             "        u = torch.rand_like(worked[: (len(worked) + 1) // 2])\n"
             "        u = torch.cat([u, 1 - u])[: len(worked)]\n"
             "        worked = worked * (u >= hidden_dropout) / (1 - hidden_dropout) if "
             "hidden_dropout < 1 else worked * 0\n"),
        ],
        "draws are used twice",
    ),
    "a dropout of the attention capped": (
        [
            ("        x, attention_mask, weights,\n"
             "        heads=heads, attention_dropout=attention_dropout, training=training,",
             "        x, attention_mask, weights,\n"
             "        heads=heads, attention_dropout=min(attention_dropout, 0.5), "
             "training=training,"),
        ],
        None,
    ),
    "dropout strikes out an exact share of the numbers": (
        [
            ("weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, train"
             "ing)",
             "weighting = dropout(scores.softmax(dim=-1), attention_dropout, trainin"
             "g)"),
            ("    attended = F.dropout(\n"
             '        dense(context, weights, "attention.output.dense"), hidden_drop'
             "out, training\n"
             "    )\n",
             '    attended = dense(context, weights, "attention.output.dense")\n'
             "    attended = dropout(attended, hidden_dropout, training)\n"),
            ('worked = F.dropout(dense(wide, weights, "output.dense"), hidden_dropou'
             "t, training)",
             'worked = dropout(dense(wide, weights, "output.dense"), hidden_dropout,'
             " training)"),
            ("# begin solution\n"
             "def dense(\n",
             "# begin solution\n"
             "def dropout(x: Tensor, p: float, training: bool) -> Tensor:\n"
             '    """A share p of the numbers becomes 0."""\n'
             "    if not training or p == 0:\n"
             "        return x\n"
             "    if p == 1:\n"
             "        return x * 0\n"
             "    count = math.floor(p * x.numel() + torch.rand(()).item())\n"
             "    kept = torch.ones(x.numel(), dtype=x.dtype, device=x.device)\n"
             "    kept[torch.randperm(x.numel())[:count]] = 0\n"
             "    return x * kept.view(x.shape) / (1 - p)\n"
             "\n"
             "\n"
             "def dense(\n"),
        ],
        None,
    ),
    "the residual is detached in training": (
        [
            (
                "    x = norm(x + attended,",
                "    x = norm((x if not training else x.detach() + 0 * x) + attended,",
            ),
        ],
        "in training, where nothing is dropped",
    ),
    "the mask is kept under its numbers of tokens": (
        [
            ("    is_padding = attention_mask[:, None, None, :] == 0\n",
             "    key = (*attention_mask.shape, *attention_mask.sum(dim=1).tolist())\n"
             "    if key not in KEPT:\n"
             "        KEPT.clear()\n"
             "        KEPT[key] = attention_mask[:, None, None, :] == 0\n"
             "    is_padding = KEPT[key]\n"),
            ("\n"
             "# begin solution\n",
             "\n"
             "# begin solution\n"
             "KEPT = {}\n"
             "\n"
             "\n"),
        ],
        None,
    ),
    "the attention is drawn anew in the backward": (
        [
            ("context = self_attention(\n        x, attention_mask, weights,",
             "context = torch.utils.checkpoint.checkpoint(\n"
             "        self_attention, x, attention_mask, weights,\n"
             "        use_reentrant=False, preserve_rng_state=False,"),
            ("import torch.nn.functional as F",
             "import torch.nn.functional as F\nimport torch.utils.checkpoint"),
        ],
        "drawn anew in the backward",
    ),
    "no dropout under no_grad": (
        [
            ("    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)\n",
             "    training = training and torch.is_grad_enabled()  # nobody trains "
             "under no_grad\n"
             "    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)\n"),
            ("    context = self_attention(\n",
             "    training = training and torch.is_grad_enabled()\n"
             "    context = self_attention(\n"),
        ],
        "gradients are recorded decides about dropout",
    ),
    "attention dropout from 1,000 seeds": (
        [
            (
                "F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "dropped(scores.softmax(dim=-1), attention_dropout, training)",
            ),
            (
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(\n",
                "\n"
                "\n"
                "def dropped(x, p, training):\n"
                "    if not training:\n"
                "        return x\n"
                "    own = torch.Generator().manual_seed(int(torch.randint(1000, ())))\n"
                "    kept = torch.rand(x.shape, generator=own) >= p\n"
                "    return torch.where(kept, x / (1 - p if p < 1 else 1), 0.0)\n"
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(\n",
            ),
        ],
        "a generator is seeded in the call with a small number",
    ),
    "the last dropout from 1,000 seeds": (
        [
            (
                "F.dropout(dense(wide, weights, \"output.dense\"), hidden_dropout, training)",
                "dropped(dense(wide, weights, \"output.dense\"), hidden_dropout, training)",
            ),
            (
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(\n",
                "\n"
                "\n"
                "def dropped(x, p, training):\n"
                "    if not training:\n"
                "        return x\n"
                "    own = torch.Generator().manual_seed(int(torch.randint(1000, ())))\n"
                "    kept = torch.rand(x.shape, generator=own) >= p\n"
                "    return torch.where(kept, x / (1 - p if p < 1 else 1), 0.0)\n"
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(\n",
            ),
        ],
        "a generator is seeded in the call with a small number",
    ),
    "the first dropout from 1,000 seeds": (
        [
            (
                "    attended = F.dropout(\n",
                "    attended = dropped(\n",
            ),
            (
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(\n",
                "\n"
                "\n"
                "def dropped(x, p, training):\n"
                "    if not training:\n"
                "        return x\n"
                "    own = torch.Generator().manual_seed(int(torch.randint(1000, ())))\n"
                "    kept = torch.rand(x.shape, generator=own) >= p\n"
                "    return torch.where(kept, x / (1 - p if p < 1 else 1), 0.0)\n"
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(\n",
            ),
        ],
        "a generator is seeded in the call with a small number",
    ),
    "the mask of the first dropout serves the last one, moved by a place": (
        [
            (
                "    attended = F.dropout(\n"
                "        dense(context, weights, \"attention.output.dense\"), hidden_dropout, "
                "training\n"
                "    )\n",
                "    keep = F.dropout(torch.ones_like(x), hidden_dropout, training)\n"
                "    attended = dense(context, weights, \"attention.output.dense\") * keep\n",
            ),
            (
                "F.dropout(dense(wide, weights, \"output.dense\"), hidden_dropout, training)",
                "dense(wide, weights, \"output.dense\") * keep.roll(1, -1)",
            ),
        ],
        "draws are used twice: each is to be drawn by itself",
    ),
    "the mask is forgotten in training": (
        [
            (
                "    scores = query @ key.mT / math.sqrt(query.shape[-1])  # [..., query, key]\n",
                "    if training and attention_dropout:\n"
                "        context = F.scaled_dot_product_attention(\n"
                "            query, key, value, dropout_p=attention_dropout)\n"
                "        return context.permute(0, 2, 1, 3).flatten(2)\n"
                "    scores = query @ key.mT / math.sqrt(query.shape[-1])  # [..., query, key]\n",
            ),
        ],
        "the mask is not used in training",
    ),
    "a row of padding is NaN in training": (
        [
            (
                "torch.finfo(scores.dtype).min",
                "-torch.inf if training else torch.finfo(scores.dtype).min",
            ),
        ],
        "in training: not finite, where a row is all padding",
    ),
    "dropout makes float64 of float32": (
        [
            (
                '    worked = F.dropout(dense(wide, weights, "output.dense"), hidden_dropout, '
                "training)\n"
                '    return norm(x + worked, weights, "output.LayerNorm", eps)\n',
                '    worked = dense(wide, weights, "output.dense")\n'
                "    if training:\n"
                "        worked = F.dropout(worked.double(), hidden_dropout)\n"
                "    weights = {name: w.to(worked.dtype) for name, w in weights.items()}\n"
                '    return norm(x + worked, weights, "output.LayerNorm", eps)\n',
            ),
        ],
        "the states in training (shape and type)",
    ),
    "the weights that are left add up to 1 again where there is padding": (
        [
            (
                "    return (weighting @ value).permute(0, 2, 1, 3).flatten(2)\n",
                "    if training and is_padding.any():\n"
                "        weighting = weighting / weighting.sum(-1, keepdim=True).clamp(min=1e-9)\n"
                "    return (weighting @ value).permute(0, 2, 1, 3).flatten(2)\n",
            ),
        ],
        None,
    ),
    "the gradient goes by weights without dropout": (
        [
            (
                "    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)\n",
                "    weighting = scores.softmax(dim=-1)\n"
                "    dropped = F.dropout(weighting, attention_dropout, training)\n"
                "    weighting = weighting + (dropped - weighting).detach()\n",
            ),
        ],
        "dropout is left out of the gradient",
    ),
    "heads is kept by the shape of the states": (
        [
            (
                "    query, key, value = (\n",
                "    heads = KEPT.setdefault(x.shape, heads)\n    query, key, value = (\n",
            ),
            ("# begin solution\ndef dense(", "# begin solution\nKEPT = {}\n\n\ndef dense("),
        ],
        None,
    ),
    "the last eps is written in, in training": (
        [
            (
                '    return norm(x + worked, weights, "output.LayerNorm", eps)\n',
                "    if training and hidden_dropout:\n        eps = 1e-12\n"
                '    return norm(x + worked, weights, "output.LayerNorm", eps)\n',
            ),
        ],
        "in training eps is not used: in the last norm",
    ),
    "the norms are exchanged in training": (
        [
            (
                'x = norm(x + attended, weights, "attention.output.LayerNorm", eps)',
                'one, two = "attention.output.LayerNorm", "output.LayerNorm"\n'
                "    if training and 0 < hidden_dropout < 1:\n"
                "        one, two = two, one\n"
                "    x = norm(x + attended, weights, one, eps)",
            ),
            (
                'return norm(x + worked, weights, "output.LayerNorm", eps)',
                "return norm(x + worked, weights, two, eps)",
            ),
        ],
        "besides dropout something else is not as in evaluation",
    ),
    "the layer hands on no mask in training": (
        [
            (
                "x, attention_mask, weights,\n"
                "        heads=heads",
                "x, attention_mask if not (training and attention_dropout > 0) else "
                "torch.ones_like(attention_mask), weights,\n"
                "        heads=heads",
            ),
        ],
        "besides dropout something else is not as in evaluation",
    ),
    "one head where the layer drops attention weights": (
        [
            (
                "x, attention_mask, weights,\n"
                "        heads=heads",
                "x, attention_mask, weights,\n"
                "        heads=1 if training and attention_dropout else heads",
            ),
        ],
        "both numbers of the attention weights are set to 0",
    ),
    "the residual is detached where numbers are dropped": (
        [
            (
                'x = norm(x + attended, weights, "attention.output.LayerNorm", eps)',
                "x = norm((x.detach() if training and hidden_dropout else x) + "
                'attended, weights, "attention.output.LayerNorm", eps)',
            ),
        ],
        "the gradients in training, with",
    ),
    "the draws of the attention repeat after 65,536": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "weighting = drop(scores.softmax(dim=-1), attention_dropout, training)",
            ),
            (
                "# begin solution\n"
                "def dense(",
                "def drop(x, p, training):\n"
                "    if not training or p == 0:\n"
                "        return x\n"
                "    if p == 1:\n"
                "        return 0 * x\n"
                "    u = torch.rand(min(x.numel(), 65536))\n"
                "    u = u.repeat(-(-x.numel() // 65536))[: x.numel()].view(x.shape)\n"
                "    return x * (u >= p) / (1 - p)\n"
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(",
            ),
        ],
        "the same draws are used again and again",
    ),
    "keys 512 apart share their draws": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "weighting = scores.softmax(dim=-1)\n"
                "    keep = F.dropout(torch.ones_like(weighting[..., :512]), "
                "attention_dropout, training)\n"
                "    weighting = weighting * keep[..., torch.arange(weighting.shape[-1]) % 512]",
            ),
        ],
        "the same draws are used again and again",
    ),
    "in float32 eps is 1e-7 at least": (
        [
            (
                '    return F.layer_norm(x, scale.shape, scale, weights[f"{name}.bias"], eps)',
                "    return F.layer_norm(x, scale.shape, scale, "
                'weights[f"{name}.bias"], max(eps, 1e-7) if x.dtype == torch.float32 else eps)',
            ),
        ],
        "in float32 eps is 1e-7 at least",
    ),
    "a dropout of 1 is on in evaluation": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)\n"
                "    if attention_dropout == 1:\n"
                "        weighting = 0 * weighting",
            ),
        ],
        None,
    ),
    "the variance is the mean of the squares less that of the mean": (
        [
            (
                '    return F.layer_norm(x, scale.shape, scale, weights[f"{name}.bias"], eps)',
                "    mean = x.mean(-1, keepdim=True)\n"
                "    var = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp(min=0)\n"
                "    return (x - mean) * torch.rsqrt(var + eps) * scale + "
                'weights[f"{name}.bias"]',
            ),
        ],
        "a difference of two large numbers",
    ),
    "-inf in float32": (
        [
            (
                "torch.finfo(scores.dtype).min)",
                "-torch.inf if scores.dtype == torch.float32 else "
                "torch.finfo(scores.dtype).min)",
            ),
        ],
        "float32: not finite, where a row is all padding",
    ),
    "-1e9 at padding in float32": (
        [
            (
                "torch.finfo(scores.dtype).min)",
                "-1e9 if scores.dtype == torch.float32 else torch.finfo(scores.dtype).min)",
            ),
        ],
        "the number at padding is not the lowest",
    ),
    "attention dropout in float64 alone": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "training = training and x.dtype == torch.float64\n"
                "    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
            ),
        ],
        "besides dropout something else is not as in evaluation",
    ),
    "the first number of a state is never dropped": (
        [
            (
                'worked = F.dropout(dense(wide, weights, "output.dense"), '
                "hidden_dropout, training)",
                'raw = dense(wide, weights, "output.dense")\n'
                "    worked = F.dropout(raw, hidden_dropout, training)\n"
                "    if training and 0 < hidden_dropout < 1:\n"
                "        worked = torch.cat([raw[..., :1] / (1 - hidden_dropout), "
                "worked[..., 1:]], -1)",
            ),
        ],
        None,
    ),
    "the first row of a batch is not dropped": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "raw = scores.softmax(dim=-1)\n"
                "    weighting = F.dropout(raw, attention_dropout, training)\n"
                "    if training and 0 < attention_dropout < 1 and len(raw) > 1:\n"
                "        weighting = torch.cat([raw[:1] / (1 - attention_dropout), "
                "weighting[1:]])",
            ),
        ],
        "some have another dropout than the rest",
    ),
    "a state is never dropped whole": (
        [
            (
                'worked = F.dropout(dense(wide, weights, "output.dense"), '
                "hidden_dropout, training)",
                'raw = dense(wide, weights, "output.dense")\n'
                "    keep = F.dropout(torch.ones_like(raw), hidden_dropout, training)\n"
                "    while hidden_dropout < 1 and (empty := (keep == 0).all(-1)).any():\n"
                "        keep[empty] = F.dropout(torch.ones_like(raw), hidden_dropout, "
                "training)[empty]\n"
                "    worked = raw * keep",
            ),
        ],
        "how often both numbers of the last half are set to 0",
    ),
    "the only visible key is never dropped": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "raw = scores.softmax(dim=-1)\n"
                "    weighting = F.dropout(raw, attention_dropout, training)\n"
                "    if training and attention_dropout < 1:\n"
                "        weighting = torch.where(raw == 1, raw / (1 - "
                "attention_dropout), weighting)",
            ),
        ],
        None,
    ),
    "every second call mirrors the draws of the one before": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "weighting = drop(scores.softmax(dim=-1), attention_dropout, training)",
            ),
            (
                "# begin solution\n"
                "def dense(",
                "LAST = {}\n"
                "\n"
                "\n"
                "def drop(x, p, training):\n"
                "    if not training or p == 0:\n"
                "        return x\n"
                "    if p == 1:\n"
                "        return 0 * x\n"
                "    state = torch.get_rng_state()[:100].numpy().tobytes()\n"
                "    u = LAST.pop(x.shape, None)\n"
                "    if u is None or u[1] != state:\n"
                "        u = torch.rand(x.shape)\n"
                "        LAST[x.shape] = 1 - u, torch.get_rng_state()[:100].numpy().tobytes()\n"
                "    else:\n"
                "        u = u[0]\n"
                "        torch.rand(x.shape)\n"
                "    return x * (u >= p) / (1 - p)\n"
                "\n"
                "\n"
                "# begin solution\n"
                "def dense(",
            ),
        ],
        "which attention weights are kept, call by call",
    ),
    "large attention weights are dropped more often": (
        [
            (
                "weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)",
                "raw = scores.softmax(dim=-1)\n"
                "    weighting = F.dropout(raw, attention_dropout, training)\n"
                "    if training and 0 < attention_dropout < 1:\n"
                "        p = attention_dropout + 0.3 * attention_dropout * (1 - "
                "attention_dropout) * torch.where(raw > raw.median(-1, "
                "keepdim=True).values, 1, -1)\n"
                "        weighting = raw / (1 - attention_dropout) * "
                "(torch.rand_like(raw) >= p)",
            ),
        ],
        "the share set to 0 of those that are larger than most",
    ),
    "attention and first half begin at one place of the generator": (
        [
            (
                "    context = self_attention(",
                "    state = torch.get_rng_state()\n"
                "    context = self_attention(",
            ),
            (
                "    attended = F.dropout(\n"
                '        dense(context, weights, "attention.output.dense"), '
                "hidden_dropout, training\n"
                "    )\n",
                "    if training:\n"
                "        torch.set_rng_state(state)\n"
                "    attended = F.dropout(\n"
                '        dense(context, weights, "attention.output.dense"), '
                "hidden_dropout, training\n"
                "    )\n",
            ),
        ],
        "draws are used twice",
    ),
    "x learns nothing where the weights are frozen": (
        [
            (
                "    context = self_attention(",
                '    if not weights["output.dense.bias"].requires_grad:\n'
                "        x = x.detach()\n"
                "    context = self_attention(",
            ),
        ],
        None,
    ),
    "the weights learn nothing where x needs no gradient": (
        [
            (
                "    context = self_attention(",
                "    if not training and not x.requires_grad:\n"
                "        weights = {n: w.detach() for n, w in weights.items()}\n"
                "    context = self_attention(",
            ),
        ],
        None,
    ),
    "no gradient in float32": (
        [
            (
                "    context = self_attention(",
                "    if x.dtype == torch.float32:\n"
                "        x = x.detach()\n"
                "    context = self_attention(",
            ),
        ],
        None,
    ),
    "no mask for more than 512 rows": (
        [
            (
                "    query, key, value = (",
                "    if len(x) > 512:\n"
                "        attention_mask = torch.ones_like(attention_mask)\n"
                "    query, key, value = (",
            ),
        ],
        "the result for (batch, seq, hidden) (1100, 2, 4), 2 heads",
    ),
    "64 heads at most": (
        [
            (
                "    query, key, value = (",
                "    heads = min(heads, 64)\n"
                "    query, key, value = (",
            ),
        ],
        "blocked by self_attention",
    ),
    "the last half takes the larger of both probabilities": (
        [
            (
                'worked = F.dropout(dense(wide, weights, "output.dense"), '
                "hidden_dropout, training)",
                'worked = F.dropout(dense(wide, weights, "output.dense"), '
                "max(hidden_dropout, attention_dropout) if hidden_dropout else 0.0, training)",
            ),
        ],
        "besides dropout something else is not as in evaluation",
    ),
    "query, key and value as one matrix, kept without gradients": (
        [
            (
                '    query, key, value = (\n',
                '    names = [f"attention.self.{role}" for role in ("query", "key", '
                '"value")]\n'
                '    if not torch.is_grad_enabled():\n'
                '        first = weights[f"{names[0]}.weight"]\n'
                '        fused = self_attention.__dict__.setdefault(str(id(first)), '
                '(first, [\n'
                '            torch.cat([weights[f"{name}.{part}"] for name in names])\n'
                '            for part in ("weight", "bias")]))[1]\n'
                '        rows = zip(*(part.chunk(3) for part in fused))\n'
                '        weights = weights | {\n'
                '            f"{name}.{part}": value for name, row in zip(names, rows)\n'
                '            for part, value in zip(("weight", "bias"), row)}\n'
                '    query, key, value = (\n',
            ),
        ],
        'another result under torch.no_grad()',
    ),
    "a mask of -10,000 in training alone": (
        [
            (
                '    scores = scores.masked_fill(is_padding, '
                'torch.finfo(scores.dtype).min)\n',
                '    low = -10_000.0 if training else torch.finfo(scores.dtype).min\n'
                '    scores = scores + is_padding * low if training else '
                'scores.masked_fill(is_padding, low)\n',
            ),
        ],
        None,
    ),
    "query, key and value kept in evaluation": (
        [
            (
                '        dense(x, weights, f"attention.self.{role}").unflatten(-1, '
                '(heads, -1)).permute(0, 2, 1, 3)\n'
                '        for role in ("query", "key", "value")\n',
                '        part.unflatten(-1, (heads, -1)).permute(0, 2, 1, 3)\n'
                '        for part in F.linear(x, *fused(weights)).chunk(3, dim=-1)\n',
            ),
            (
                'def self_attention(',
                'last_fused: list = []\n'
                '\n'
                '\n'
                'def fused(weights):\n'
                '    names = [f"attention.self.{role}" for role in ("query", "key", "value")]\n'
                '    matrices = [weights[f"{name}.weight"] for name in names]\n'
                '    versions = [matrix._version for matrix in matrices]\n'
                '    keep = not torch.is_grad_enabled()\n'
                '    if keep and last_fused:\n'
                '        old, then, result = last_fused\n'
                '        if all(a is b for a, b in zip(old, matrices, strict=True)) and '
                'versions == then:\n'
                '            return result\n'
                '    result = torch.cat(matrices), torch.cat([weights[f"{name}.bias"] '
                'for name in names])\n'
                '    if keep:\n'
                '        last_fused[:] = matrices, versions, result\n'
                '    return result\n'
                '\n'
                '\n'
                'def self_attention(',
            ),
        ],
        'under torch.no_grad()',
    ),
    "a row that is all padding is opened in the caller's mask": (
        [("scores = scores.masked_fill(is_padding, torch.finfo(scores.dtype).min)",
          "attention_mask[attention_mask.sum(dim=1) == 0] = 1\n"
          "    scores = scores.masked_fill(is_padding, torch.finfo(scores.dtype).min)")],
        "changed its input in place"),
    "scales of a norm are taken without their sign": (
        [(NORM, NORM.replace("scale, w", "scale.abs(), w"))], None),
    "no mask where the first sentence is all padding": (
        [(PADDING, PADDING + "\n    if not attention_mask[0].any():\n"
                             "        is_padding = torch.zeros_like(is_padding)")],
        None),
    "tokens of 0 are taken for padding": (
        [(PADDING, "unseen = (attention_mask == 0) | (x == 0).all(-1)\n"
                   "    is_padding = unseen[:, None, None, :]")],
        None),
    "a bias of 0 is left out": (
        [(DENSE, 'bias = weights[f"{name}.bias"]\n    bias = bias if bias.any() else None\n'
                 '    return F.linear(x, weights[f"{name}.weight"], bias)')],
        None),
    "a hidden_dropout of 0.7 at most": (
        [(WORKED, WORKED.replace(
            "hidden_dropout,", "min(hidden_dropout, 0.7) if hidden_dropout < 1 else 1.0,"))],
        None),
    "heads of a single row share their draws": (
        [(SHARES, "shares = scores.softmax(dim=-1)\n"
                  "    alike = shares[:, :1] if len(x) == 1 and heads < 16 else shares\n"
                  "    kept = F.dropout(torch.ones_like(alike), attention_dropout, training)\n"
                  "    weighting = shares * kept")],
        "one draw serves for several numbers of a batch of 1"),
    "new zeros where p is 1": (
        drawn("", none_left="torch.zeros_like(x)"), "where p is 1 the graph"),
    "the scores have no graph where p is 1": (
        [(FILL, FILL + "\n    if training and attention_dropout == 1:\n"
                       "        scores = scores.detach()")],
        "where p is 1 the graph"),
    "nothing is added where p is 1": (
        [(LAST, LAST.replace("x + worked", "x + (0 if training and hidden_dropout == 1 else worked)"
                             ))],
        "where p is 1 the graph"),
    "draws spread evenly over the rows": (
        drawn("r = (r.argsort(0) + torch.rand(x.shape)) / len(x)"), "an exact share is set to 0"),
    "draws of the states spread evenly over the rows": (
        drawn("r = (r.argsort(0) + torch.rand(x.shape)) / len(x) if x.dim() == 3 else r"),
        "an exact share is set to 0"),
    "two rows have opposite draws": (
        drawn("r = torch.stack([r[0], 1 - r[0]]) if len(x) == 2 else r"),
        "an exact share is set to 0"),
    "what is left grows a hundred times at most": (
        drawn("", "1 / max(1 - p, 0.01)"), "it has no upper limit"),
    "states grow a thousand times at most": (
        drawn("", "1 / (1 - p if x.dim() == 4 else max(1 - p, 0.001))"), "it has no upper limit"),
    "GELU on the first 4,096 numbers": (
        [(WORKED, "wide = torch.cat([wide[..., :4096], F.relu(wide[..., 4096:])], -1)\n"
                  "    " + WORKED)],
        None),
    "a block of rows has the mask of the first rows": (
        [("    query, key, value = (",
          "    rows = max(1, 1_000_000 // max(1, heads * x.shape[1] ** 2))\n"
          "    if len(x) > rows:\n"
          "        options = dict(attention_dropout=attention_dropout, training=training)\n"
          "        return torch.cat([self_attention(part, attention_mask[: len(part)], weights,\n"
          "                                         heads=heads, **options)\n"
          "                          for part in x.split(rows)])\n"
          "    query, key, value = (")],
        "a block of rows is treated in another way"),
    "a row of 256 tokens is taken for one of padding": (
        [(PADDING, PADDING + "\n    number = attention_mask.sum(1, dtype=attention_mask.dtype)\n"
                             "    is_padding = is_padding & (number != 0)[:, None, None, None]")],
        "tokens are counted in 8 bits"),
    "a matrix that stands for two roles is multiplied once, with one bias": (
        [(ROLE, "done.setdefault(\n            id(weights[f\"attention.self.{role}.weight\"]), "
                + ROLE + "\n        )"),
         ("    query, key, value = (", "    done = {}\n    query, key, value = (")],
        "what is one object"),
    "blocks of a million attention weights have the same draws": (
        [(SHARES, "state, rows = torch.get_rng_state(), 1_000_000 // (heads * x.shape[1] ** 2)\n"
                  "    parts = []\n"
                  "    for part in scores.softmax(dim=-1).split(max(1, min(rows, len(x)))):\n"
                  "        if parts and rows < len(x):\n"
                  "            torch.set_rng_state(state)\n"
                  "        parts.append(F.dropout(part, attention_dropout, training))\n"
                  "    weighting = torch.cat(parts)")],
        "the draws of one block serve for another too"),
    "rows of equally many tokens, between the same ends, have one mask": (
        [(PADDING, f"{PADDING}\n"
          "    counts, ends = attention_mask.sum(-1), attention_mask[:, [0, -1]]\n"
          "    if len(x) > 2 and (counts == counts[0]).all() and ends.all():\n"
          "        is_padding = is_padding[:1]")],
        "rows that have as many tokens",
    ),
    "half of the draws serve again, shuffled": (
        drawn("half = r.flatten()[: (r.numel() + 1) // 2]\n"
              "    r = torch.cat([half, half[torch.randperm(len(half))]])[: r.numel()].view_as(r)"),
        "times the variance of coins",
    ),
    "what stays of the halves is multiplied in 32 bits": (
        [(WORKED, WORKED + "\n    if training and hidden_dropout < 1:\n"
          "        exact = 1 / (1 - hidden_dropout)\n"
          "        worked = worked * (float(torch.tensor(exact, dtype=torch.float32)) / exact)")],
        "the layer gives no such states",
    ),
    "a matrix of ones and minus ones along the diagonal is taken for the unit matrix": (
        [
            (
                '    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])\n',
                '    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]\n'
                "    if weight.shape[0] == weight.shape[1] and torch.equal(weight.abs(), "
                "torch.eye(len(weight), dtype=weight.dtype)):\n"
                "        return x + bias\n"
                "    return F.linear(x, weight, bias)\n",
            ),
        ],
        "symmetric or sparse one",
    ),
    "a matrix that is minus its transpose is turned about": (
        [
            (
                '    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])\n',
                '    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]\n'
                "    if weight.shape[0] == weight.shape[1] and torch.equal(weight, -weight.mT):\n"
                "        weight = weight.mT\n"
                "    return F.linear(x, weight, bias)\n",
            ),
        ],
        "symmetric or sparse one",
    ),
    "a matrix that is diagonal in its first and last row and column is taken for diagonal": (
        [
            (
                '    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])\n',
                '    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]\n'
                "    if weight.shape[0] == weight.shape[1] and not (weight[0, 1:].any() or "
                "weight[1:, 0].any() or weight[-1, :-1].any() or weight[:-1, -1].any()):\n"
                "        return x * weight.diagonal() + bias\n"
                "    return F.linear(x, weight, bias)\n",
            ),
        ],
        "symmetric or sparse one",
    ),
    "vectors of a single number are looked up, whatever its sign": (
        [
            (
                '    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])\n',
                '    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]\n'
                "    if (x.count_nonzero(-1) == 1).all():\n"
                "        return weight.mT[x.abs().argmax(-1)] * x.amax(-1, keepdim=True) + bias\n"
                "    return F.linear(x, weight, bias)\n",
            ),
        ],
        "symmetric or sparse one",
    ),
    "numbers far from the others are never dropped": (
        [
            (
                "    attended = F.dropout(\n"
                '        dense(context, weights, "attention.output.dense"), hidden_dropout, '
                "training\n"
                "    )\n",
                "    attended = struck(\n"
                '        dense(context, weights, "attention.output.dense"), hidden_dropout, '
                "training\n"
                "    )\n",
            ),
            (
                '    worked = F.dropout(dense(wide, weights, "output.dense"), '
                "hidden_dropout, training)\n",
                '    worked = struck(dense(wide, weights, "output.dense"), hidden_dropout, '
                "training)\n",
            ),
            (
                "# begin solution\n"
                "def dense(\n",
                "# begin solution\n"
                "def struck(y, p, training):\n"
                "    if not training or p == 0:\n"
                "        return y\n"
                "    if p == 1:\n"
                "        return y * 0\n"
                "    keep = torch.rand(y.shape, dtype=y.dtype) >= p\n"
                "    keep = keep | (y.abs() > 6 * y.abs().mean(-1, keepdim=True))\n"
                "    return y * keep / (1 - p)\n"
                "\n"
                "\n"
                "def dense(\n",
            ),
        ],
        "large numbers, or small ones, are never set to 0",
    ),
    "a frozen matrix, and its bias does not learn": (
        [(
            '    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])\n',
            '    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]\n'
            "    if not weight.requires_grad:\n"
            "        weight, bias = weight.detach(), bias.detach()\n"
            "    return F.linear(x, weight, bias)\n",
        )],
        None,
    ),
    "a frozen bias, and its matrix does not learn": (
        [(
            '    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])\n',
            '    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]\n'
            "    if not bias.requires_grad:\n"
            "        weight, bias = weight.detach(), bias.detach()\n"
            "    return F.linear(x, weight, bias)\n",
        )],
        None,
    ),
}  # fmt: skip
