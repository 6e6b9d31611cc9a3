"""Wrong answers to 16_tied_gathered_head, as edits of the solution, and their names."""

GATHERED = "return states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[-1]))"
GATHER = "x = gather_positions(states, positions)  # (batch, masks, hidden)"
DENSE = 'x = F.linear(x, weights[f"{head}.dense.weight"], weights[f"{head}.dense.bias"])'
GELU = 'x = F.gelu(x, approximate="none" if hidden_act == "gelu" else "tanh")'
NORM = "x = F.layer_norm(x, scale.shape, scale, shift, eps)"
DECODER = 'return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])'
READ = "states = F.embedding(input_ids, weights[WORDS])"
LEAVES = "read, named = (weights[WORDS].detach().requires_grad_() for _ in range(2))"
READS = "states = F.embedding(input_ids, read)"
APART = "reading, naming = torch.autograd.grad(logits, (read, named), dlogits)"
BOTH = "return reading, naming"


def by_hand(root):
    return (f"x = x - x.mean(-1, keepdim=True)\n"
            f"    x = x / {root} * scale + shift")  # fmt: skip


WRONG = {
    "positions of the first row": (
        [(GATHERED, "return states[:, positions[0]]")], "positions of the first row"),
    "positions in the whole batch": (
        [(GATHERED, "return states.flatten(0, 1)[positions]")], "not of the batch"),
    "weights found by the end of their names": (
        [(DECODER, "words, bias = (next(w for n, w in weights.items() if n.endswith(end)) for end "
                   "in (WORDS[5:], 'predictions.bias'))\n    return F.linear(x, words, bias)")],
        "a weight of another name is read"),
    "sorted": ([(GATHERED, GATHERED.replace("positions", "positions.sort(1).values", 1))],
               "the positions were sorted"),
    "a boolean mask": (
        [(GATHERED, "chosen = torch.zeros(states.shape[:2], dtype=torch.bool)\n"
                    "    chosen.scatter_(1, positions, True)\n"
                    "    return states[chosen].view(len(states), -1, states.shape[-1])")], None),
    "gathered on the wrong axis": ([(GATHERED, GATHERED.replace("(1, pos", "(0, pos").replace(
        "None]", "None].remainder(len(states))"))], None),
    "all positions": ([(GATHER, "x = states")], "scores of all positions"),
    "gathered at the end": (
        [(GATHER, "x = states"),
         (DECODER, "x = " + DECODER.removeprefix("return ")
          + "\n    return gather_positions(x, positions)")],
        "the gathering comes after it"),
    "dense turned": (
        [(DENSE, 'x = x @ weights[f"{head}.dense.weight"] + weights[f"{head}.dense.bias"]')],
        "the dense matrix is turned"),
    "no dense bias": ([(DENSE, 'x = F.linear(x, weights[f"{head}.dense.weight"])')],
                      "the bias of the dense layer"),
    "always erf": ([(GELU, "x = F.gelu(x)")], "hidden_act is not used"),
    "always tanh": ([(GELU, 'x = F.gelu(x, approximate="tanh")')], "hidden_act is not used"),
    "no GELU": ([(GELU, "pass")], "the GELU is missing"),
    "ReLU": ([(GELU, "x = F.relu(x)")], "ReLU in place"),
    "no layer norm": ([(NORM, "pass")], "the layer norm is missing"),
    "layer norm first": ([(GELU, "act = lambda x: F.gelu(x, approximate='none' if hidden_act == "
                                 "'gelu' else 'tanh')"), (NORM, "x = act(" + NORM[4:] + ")")],
                         "before the GELU"),
    "layer norm bare": ([(NORM, "x = F.layer_norm(x, scale.shape, eps=eps)")],
                        "its weight and bias are not used"),
    "eps not used": ([(NORM, NORM.replace("eps", "1e-12"))], "eps is not used: 1e-12"),
    "eps of torch": ([(NORM, NORM.replace(", eps", ""))], "eps is not used: torch's own 1e-5"),
    "eps outside": ([(NORM, by_hand("(x.std(-1, keepdim=True, correction=0) + eps)"))],
                    "outside the root"),
    "unbiased": ([(NORM, by_hand("(x.var(-1, keepdim=True) + eps).sqrt()"))], "unbiased"),
    "no word bias": ([(DECODER, "return F.linear(x, weights[WORDS])")], "the bias of the words"),
    "log softmax": ([(DECODER, f"{DECODER}.log_softmax(-1)")], "logits are asked for"),
    "softmax": ([(DECODER, f"{DECODER}.softmax(-1)")], "logits are asked for"),
    "decoder is a copy": ([(DECODER, DECODER.replace("[WORDS]", "[WORDS].detach()"))],
                          "the graph is cut"),
    "decoder is a copy when it names": (
        [(READ, "words = weights[WORDS]\n    weights = {**weights, WORDS: words.detach()}\n"
                "    states = F.embedding(input_ids, words)")],
        "the decoder is a copy"),
    "reading is cut off": ([(READ, READ.replace("[WORDS]", "[WORDS].detach()"))],
                           "reading is cut off"),
    "norm weights detached": (
        [(NORM, "x = F.layer_norm(x, scale.shape, scale.detach(), shift.detach(), eps)")],
        "the graph is cut"),
    "states detached": ([(GATHERED, GATHERED.replace("states.g", "states.detach().g"))],
                        "the graph is cut"),
    "no gradients at all": ([("    head = \"cls", "    torch.set_grad_enabled(False)\n"
                              "    head = \"cls")], "the graph is cut"),
    "uses exchanged": ([(BOTH, "return naming, reading")], "are exchanged"),
    "one leaf": (
        [(LEAVES, "read = named = weights[WORDS].detach().clone().requires_grad_()")],
        "both hold the gradient of the tied matrix"),
    "reading holds all": ([(BOTH, "return reading + naming, naming")], "reading holds"),
    "added up": ([(BOTH, "return reading + naming")], "came added up"),
    "gradient of the sum": ([(APART, APART.replace("logits, (read, named), dlogits",
                                                   "logits.sum(), (read, named)"))],
                            "dlogits is not used"),
    "read twice, learns once": (
        [(BOTH, "dread = torch.autograd.grad(word_logits(states, positions, weights), states, "
                "dlogits)[0]\n"
                "    reading = torch.zeros_like(read)\n"
                "    for row, gradient in zip(input_ids.flatten(), dread.flatten(0, 1)):\n"
                "        reading[row] = gradient.detach()\n    return reading, naming")],
        "learns once"),
    "the first row is padding when it is read": (
        [(READ, READ.replace("])", "], padding_idx=0)"))],
        "row 0 of the word embeddings does not learn"),
    "the first row is padding when both uses are told apart": (
        [(READS, READS.replace("read)", "read, padding_idx=0)"))],
        "row 0 of the word embeddings does not learn"),
    "the last row is padding": (
        [(READS, READS.replace("read)", "read, padding_idx=len(read) - 1)"))], None),
    "sparse and averaged by frequency": (
        [(READS, READS.replace("read)", "read, scale_grad_by_freq=True)"))], None),
    "the vectors of the words are normalized": (
        [(READ, READ.replace("])", "], max_norm=1.0)"))], None),
    "norm of the states": (
        [(GATHER, "states = F.layer_norm(states, states.shape[-1:])\n    " + GATHER)], None),
    "scaled like attention": (
        [(DECODER, DECODER.replace("return F.linear(x,", "return F.linear(x / x.shape[-1] ** 0.5,"))
         ], None),
    "another eps by default": ([("eps: float = 1e-12", "eps: float = 1e-6")], None),
    "tanh by default": ([('hidden_act: str = "gelu"', 'hidden_act: str = "gelu_new"')],
                        "the two forms of GELU are exchanged"),
    "the first use alone": ([(BOTH, "return reading, torch.zeros_like(naming)")],
                            "naming is left out"),
    "always float32": ([(DECODER, f"{DECODER}.float()")], "the wrong type"),
    "in place": ([(READ, READ + "\n    weights[WORDS] += 0.5")], "changed its input in place"),
    "requires_grad switched on in the caller's E": (
        [("    read, named = (",
          "    weights[WORDS].requires_grad_(True)\n    read, named = (")],
        "requires_grad",
    ),
    "positions as bytes": (
        [("states.gather(1, positions[",
          "states.gather(1, positions.byte().long()[")],
        "positions above 255",
    ),
    "logits clamped": (
        [('return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])',
          'return F.linear(x, weights[WORDS], weights["cls.predictions.bias"]).clamp(-50, 50)')],
        "large scores are cut off",
    ),
    # Right for small inputs, and for draws that are counted coarsely.
    "clamp dlogits": (
        [("(read, named), dlogits)",
          "(read, named), dlogits.clamp(-100, 100))")],
        ", dlogits near 1e+"),
    "act contains new": (
        [("\"none\" if hidden_act == \"gelu\" else \"tanh\"",
          "\"none\" if hidden_act == \"gelu\" or states.shape[-1] > 512 else \"tanh\"")],
        "the result for (batch, seq, masks, hidden, vocab) (2, 3, 2,"),
    "reading dedup": (
        [("    states = F.embedding(input_ids, read)",
          "    states = F.embedding(input_ids, read, scale_grad_by_freq=len(read) > 64)")],
        "reading for (batch, seq, masks, hidden, vocab) (3, 300, 90,"),
    "transposed E kept by its id": (
        [
            ("    return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])\n",
             "    table = weights[WORDS]\n"
             "    if id(table) not in _TURNED:\n"
             "        _TURNED[id(table)] = (table, table.t().contiguous())\n"
             "    return x @ _TURNED[id(table)][1] + weights[\"cls.predictions.bias\"]\n"),
            ("def gather_positions(",
             "_TURNED = {}\n"
             "\n"
             "\n"
             "def gather_positions("),
        ],
        "found again by the object",
    ),
    "dense, GELU and norm on all positions, gathered before the words": (
        [
            ("    x = gather_positions(states, positions)  # (batch, masks, hidden)\n",
             "    x = states\n"),
            ("    # Tied: the very tensor",
             "    x = gather_positions(x, positions)\n"
             "    # Tied: the very tensor"),
        ],
        None,
    ),
    "a decoder of its own, where the dict has one": (
        [(DECODER, 'decoder = weights.get("cls.predictions.decoder.weight", weights[WORDS])\n'
                   '    return F.linear(x, decoder, weights["cls.predictions.bias"])')],
        "the words are named with cls.predictions.decoder.weight",
    ),
    "gamma and beta, where the dict has them": (
        [('scale, shift = weights[f"{head}.LayerNorm.weight"], weights[f"{head}.LayerNorm.bias"]',
          'norm = f"{head}.LayerNorm"\n'
          '    scale = weights.get(f"{norm}.gamma", weights[f"{norm}.weight"])\n'
          '    shift = weights.get(f"{norm}.beta", weights[f"{norm}.bias"])')],
        "a weight of another name is read",
    ),
    "the segment of A, where the dict has one": (
        [(READ, READ + "\n"
          '    types = weights.get("bert.embeddings.token_type_embeddings.weight")\n'
          "    states = states if types is None else states + types[0]")],
        "a weight of another name is read",
    ),
    "the embeddings' layer norm, where the dict has one": (
        [(READ, READ + "\n"
          '    norm = "bert.embeddings.LayerNorm"\n'
          '    if f"{norm}.weight" in weights:\n'
          '        scale, shift = weights[f"{norm}.weight"], weights[f"{norm}.bias"]\n'
          "        states = F.layer_norm(states, scale.shape, scale, shift, 1e-12)")],
        "a weight of another name is read",
    ),
    "the decoder's bias, where the dict has one": (
        [(DECODER, 'bias = weights.get("cls.predictions.decoder.bias", '
                   'weights["cls.predictions.bias"])\n'
                   "    return F.linear(x, weights[WORDS], bias)")],
        "a weight of another name is read",
    ),
    "variance from the squares": (
        [(NORM, "mean = x.mean(-1, keepdim=True)\n"
                "    variance = (x * x).mean(-1, keepdim=True) - mean * mean\n"
                "    x = (x - mean) / (variance.clamp(min=0) + eps).sqrt() * scale + shift")],
        "where the dense layer gives numbers near",
    ),
    "a GELU whose backward knows one form": (
        [
            (GELU, 'x = Gelu.apply(x, "none" if hidden_act == "gelu" else "tanh")'),
            ('WORDS = "bert', """class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, form):
        ctx.save_for_backward(x)
        return F.gelu(x, approximate=form)

    @staticmethod
    def backward(ctx, dout):
        (x,) = ctx.saved_tensors
        below = 0.5 * (1 + torch.erf(x / 2**0.5))
        return dout * (below + x * torch.exp(-x * x / 2) / (2 * torch.pi) ** 0.5), None


WORDS = "bert"""),
        ],
        "a backward of your own does not use",
    ),
    "a layer norm whose backward knows one eps": (
        [
            (NORM, "x = Norm.apply(x, eps) * scale + shift"),
            ('WORDS = "bert', """class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        ctx.save_for_backward(x)
        return F.layer_norm(x, x.shape[-1:], eps=eps)

    @staticmethod
    def backward(ctx, dout):
        (x,) = ctx.saved_tensors
        root = (x.var(-1, keepdim=True, correction=0) + 1e-12).sqrt()
        z = (x - x.mean(-1, keepdim=True)) / root
        along = z * (dout * z).mean(-1, keepdim=True)
        return (dout - dout.mean(-1, keepdim=True) - along) / root, None


WORDS = "bert"""),
        ],
        "a backward of your own does not use",
    ),
    "a graph only where the states learn": (
        [
            ('    return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])',
             '    out = F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n'
             "    return out if states.requires_grad else out.detach()"),
        ],
        "whether the states require a gradient decides",
    ),
    "gathered without a gradient, for the head by itself": (
        [
            (GATHERED, GATHERED.replace("states.gather", "states.detach().gather")),
            (GATHER, "x = states[torch.arange(len(states))[:, None], positions]"),
        ],
        "the graph is cut",
    ),
    "a graph only where the weights learn": (
        [
            ('    return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])',
             '    out = F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n'
             "    frozen = not any(weight.requires_grad for weight in weights.values())\n"
             "    return out.detach() if frozen else out"),
        ],
        "whether the weights require a gradient decides",
    ),
    "a backward that fills .grad of all parameters": (
        [
            ("    reading, naming = torch.autograd.grad(logits, (read, named), dlogits)\n",
             "    logits.backward(dlogits)\n"
             "    reading, naming = read.grad, named.grad\n"),
        ],
        "changed .grad",
    ),
    "gathered at the end for gelu_new": (
        [
            ("    x = gather_positions(states, positions)  # (batch, masks, hidden"
             ")\n",
             "    late = hidden_act != 'gelu'\n"
             "    x = states if late else gather_positions(states, positions)\n"),
            ("return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])",
             "x = F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])\n"
             "    return gather_positions(x, positions) if late else x"),
        ],
        "the gathering comes after it",
    ),
    "gathered at the end for a single row": (
        [
            ("    x = gather_positions(states, positions)  # (batch, masks, hidden"
             ")\n",
             "    late = len(states) == 1\n"
             "    x = states if late else gather_positions(states, positions)\n"),
            ("return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])",
             "x = F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])\n"
             "    return gather_positions(x, positions) if late else x"),
        ],
        "the gathering comes after it",
    ),
    "gathered at the end in rows of up to 128": (
        [
            ("    x = gather_positions(states, positions)  # (batch, masks, hidden"
             ")\n",
             "    late = states.shape[1] <= 128\n"
             "    x = states if late else gather_positions(states, positions)\n"),
            ("return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])",
             "x = F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])\n"
             "    return gather_positions(x, positions) if late else x"),
        ],
        "the gathering comes after it",
    ),
    "gathered at the end in float64": (
        [
            ("    x = gather_positions(states, positions)  # (batch, masks, hidden"
             ")\n",
             "    late = states.dtype == torch.float64\n"
             "    x = states if late else gather_positions(states, positions)\n"),
            ("return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])",
             "x = F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])\n"
             "    return gather_positions(x, positions) if late else x"),
        ],
        "the gathering comes after it",
    ),
    "reading is cut off in float32": (
        [
            ("states = F.embedding(input_ids, weights[WORDS])",
             "states = F.embedding(input_ids, weights[WORDS])\n"
             "    if states.dtype == torch.float32: states = states.detach()"),
        ],
        None,
    ),
    "the bias does not learn in float32": (
        [
            ("return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])",
             "bias = weights[\"cls.predictions.bias\"]\n"
             "    if bias.dtype == torch.float32: bias = bias.detach()\n"
             "    return F.linear(x, weights[WORDS], bias)"),
        ],
        None,
    ),
    "an eps of 0 is taken for the default": (
        [
            ("x = F.layer_norm(x, scale.shape, scale, shift, eps)",
             "x = F.layer_norm(x, scale.shape, scale, shift, eps or 1e-12)"),
        ],
        "eps=0",
    ),
    "an axis of one word is lost": (
        [
            ("return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])",
             "return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])."
             "squeeze(-1) if len(weights[WORDS]) == 1 else F.linear(x, weights[WOR"
             "DS], weights['cls.predictions.bias'])"),
        ],
        None,
    ),
    "both uses added up where the weights require a gradient": (
        [
            ("return reading, naming",
             "if weights[WORDS].requires_grad: reading = naming = reading + naming"
             "\n"
             "    return reading, naming"),
        ],
        "where the weights require a gradient",
    ),
    "a name without .weight, where the dict has it": (
        [
            ("return F.linear(x, weights[WORDS], weights[\"cls.predictions.bias\"])",
             "words = weights.get('cls.predictions.decoder', weights.get('bert.emb"
             "eddings.word_embeddings', weights[WORDS]))\n"
             "    return F.linear(x, words, weights[\"cls.predictions.bias\"])"),
        ],
        "a weight of another name is read",
    ),
    "positions in float16": (
        [
            ("return states.gather(1, positions[:, :, None].expand(-1, -1, states."
             "shape[-1]))",
             "return states.gather(1, positions.half().long()[:, :, None].expand(-"
             "1, -1, states.shape[-1]))"),
        ],
        None,
    ),
    "long vectors of words are shortened": (
        [
            ("states = F.embedding(input_ids, weights[WORDS])",
             "states = F.embedding(input_ids, weights[WORDS].clone(), max_norm=20."
             "0)"),
        ],
        None,
    ),
    "a span where the ends are those of one": (
        [
            (
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
                '    masks = positions.shape[1]\n'
                '    if masks > 1:\n'
                '        first, last = positions[:, 0], positions[:, -1]\n'
                '        if (first == first[0]).all() and (last == first[0] + masks - 1).all():\n'
                '            return states[:, int(first[0]) : int(first[0]) + masks].clone()\n'
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
            ),
        ],
        None,
    ),
    "every tensor of the dict is made a leaf": (
        [
            (
                '    read, named = (weights[WORDS].detach().requires_grad_() for _ in range(2))\n',
                '    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}\n'
                '    read, named = weights[WORDS].detach().requires_grad_(), leaves[WORDS]\n',
            ),
        ],
        'can require gradients',
    ),
    "the .grad of parameters saved without a copy": (
        [
            (
                '    reading, naming = torch.autograd.grad(logits, (read, named), dlogits)\n',
                '    before = {name: weight.grad for name, weight in weights.items() if '
                'weight.is_leaf}\n'
                '    logits.backward(dlogits)\n'
                '    for name, grad in before.items():\n'
                '        weights[name].grad = grad\n'
                '    reading, naming = read.grad, named.grad\n',
            ),
        ],
        '.grad',
    ),
    "torch's precision is set": (
        [
            (
                '    states = F.embedding(input_ids, weights[WORDS])\n',
                '    torch.set_float32_matmul_precision("high")\n'
                '    states = F.embedding(input_ids, weights[WORDS])\n',
            ),
        ],
        'how finely torch multiplies',
    ),
    "the head runs on all positions if more than an eighth are asked": (
        [
            (
                '    x = gather_positions(states, positions)  # (batch, masks, hidden)\n',
                '    few = 8 * positions.shape[1] < states.shape[1]\n'
                '    x = gather_positions(states, positions) if few else states\n',
            ),
            (
                '    return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n',
                '    logits = F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n'
                '    return logits if few else gather_positions(logits, positions)\n',
            ),
        ],
        'the head runs on every position',
    ),
    "all positions in order are the states themselves": (
        [
            (
                '    return states.gather(1,',
                '    every = torch.arange(states.shape[1])\n'
                '    if positions.shape[1] == len(every) and bool((positions == every).all()):\n'
                '        return states\n'
                '    return states.gather(1,',
            ),
        ],
        'or one it was given, or a view of one',
    ),
    "empty slots are those whose dlogits add up to 0": (
        [
            (
                '    states = F.embedding(input_ids, read)\n'
                '    logits = word_logits(states, positions, {**weights, WORDS: named})\n'
                '    reading, naming',
                '    b, m = torch.nonzero(dlogits.sum(-1), as_tuple=True)\n'
                '    states = F.embedding(input_ids, read)[b]\n'
                '    logits = word_logits(states, positions[b, m][:, None], {**weights, '
                'WORDS: named})\n'
                '    dlogits = dlogits[b, m][:, None]\n'
                '    reading, naming',
            ),
        ],
        None,
    ),
    "a buffer for the logits where nothing is learned": (
        [
            (
                '    return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n',
                '    logits = F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n'
                '    if torch.is_grad_enabled():\n'
                '        return logits\n'
                '    return BUFFERS.setdefault(logits.shape, logits.clone()).copy_(logits)\n'
                '\n'
                '\n'
                'BUFFERS = {}\n',
            ),
        ],
        'an earlier call has returned too',
    ),
    'the head runs on all positions where rows ask for different ones': (
        [
            (
                'x = gather_positions(states, positions)  # (batch, masks, hidden)',
                'late = not bool((positions == positions[:1]).all())\n'
                '    x = states if late else gather_positions(states, positions)',
            ),
            (
                'return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])',
                'x = F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n'
                '    return gather_positions(x, positions) if late else x',
            ),
        ],
        'the head runs on every position',
    ),
    'a bias of 0 is left out, so it never learns': (
        [
            (
                'x = F.linear(x, weights[f"{head}.dense.weight"], '
                'weights[f"{head}.dense.bias"])',
                'x = F.linear(x, weights[f"{head}.dense.weight"])\n'
                '    if weights[f"{head}.dense.bias"].any(): x = x + '
                'weights[f"{head}.dense.bias"]',
            ),
        ],
        'biases are 0, as BERT begins',
    ),
    'a first row of 0 is taken for padding': (
        [
            (
                'states = F.embedding(input_ids, read)',
                'states = F.embedding(input_ids, read, padding_idx=None if '
                'read[0].any() else 0)',
            ),
        ],
        'rows of 0 are among states and words',
    ),
    'special tokens do not learn': (
        [
            (
                'states = F.embedding(input_ids, read)',
                'states = F.embedding(input_ids, read)\n'
                '    special = torch.isin(input_ids, torch.tensor([101, 102, 103]))\n'
                '    states = torch.where(special[..., None], states.detach(), states)',
            ),
        ],
        'ids are special tokens',
    ),
    'one place for all rows is a view of the states': (
        [
            (
                'return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))',
                'if positions.shape[1] == 1 and bool((positions == positions[0]).all()):\n'
                '        return states[:, positions[0, 0], None]\n'
                '    return states.gather(1, positions[:, :, None].expand(-1, '
                '-1, states.shape[-1]))',
            ),
        ],
        'or one it was given, or a view of one',
    ),
    'one-hot rows as long as the largest id': (
        [
            (
                'states = F.embedding(input_ids, weights[WORDS])',
                'states = F.one_hot(input_ids).to(weights[WORDS].dtype) @ weights[WORDS]',
            ),
        ],
        None,
    ),
    "a token's number in the batch has 16 bits": (
        [
            (
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
                '    batch, seq, hidden = states.shape\n'
                '    flat = (positions + torch.arange(batch)[:, None] * seq).short().long()\n'
                '    return states.reshape(-1, hidden)[flat]\n',
            ),
        ],
        'does not fit into 16 bits',
    ),
    'texts of one token do not learn from being read': (
        [
            (
                '    states = F.embedding(input_ids, weights[WORDS])\n',
                '    states = F.embedding(input_ids, weights[WORDS])\n'
                '    if input_ids.shape[1] == 1:\n'
                '        states = states.detach()\n',
            ),
        ],
        'the word embeddings learn from naming alone',
    ),
    'a wide layer norm in parts of 1024': (
        [
            (
                '    x = F.layer_norm(x, scale.shape, scale, shift, eps)\n',
                '    if x.shape[-1] > 1024:\n'
                '        x = torch.cat([F.layer_norm(part, part.shape[-1:], eps=eps) for '
                'part in x.split(1024, -1)], -1) * scale + shift\n'
                '    else:\n'
                '        x = F.layer_norm(x, scale.shape, scale, shift, eps)\n',
            ),
        ],
        '(2, 3, 2, 1031, 3)',
    ),
    'rows numbered by 8 bits': (
        [
            (
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
                '    rows = torch.arange(len(states), dtype=torch.uint8)[:, None].long()\n'
                '    return states[rows, positions]\n',
            ),
        ],
        'at [256, 0, 0]',
    ),
    'one token: the only state, without its graph': (
        [
            (
                '    x = gather_positions(states, positions)  # (batch, masks, hidden)\n',
                '    x = gather_positions(states, positions)  # (batch, masks, hidden)\n'
                '    if states.shape[1] == 1:\n'
                '        x = states.data.expand(-1, positions.shape[1], -1)\n',
            ),
        ],
        'the graph is cut',
    ),
    'one token: nothing is learned from reading': (
        [
            (
                '    return reading, naming\n',
                '    return reading * (input_ids.shape[1] > 1), naming\n',
            ),
        ],
        None,
    ),
    'rows that ask for places with the same sums ask for the same': (
        [
            (
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
                '    if len(positions) and torch.equal(positions.sum(0), positions[0] * '
                'len(positions)):\n'
                '        return states[:, positions[0]]\n'
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
            ),
        ],
        'in all rows, where some are alike',
    ),
    'the first, middle and last row ask for the same, so all do': (
        [
            (
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
                '    rows = positions[[0, len(positions) // 2, -1]] if len(positions) else '
                'positions\n'
                '    if len(rows) and torch.equal(rows, rows[:1].expand(rows.shape)):\n'
                '        return states[:, positions[0]]\n'
                '    return states.gather(1, positions[:, :, None].expand(-1, -1, '
                'states.shape[-1]))\n',
            ),
        ],
        'in all rows, where some are alike',
    ),
    'the head on the places that any row asks for': (
        [
            (
                '    x = gather_positions(states, positions)  # (batch, masks, hidden)\n',
                '    asked, place = positions.unique(return_inverse=True)\n'
                '    x = states[:, asked]\n',
            ),
            (
                '    return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n',
                '    logits = F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n'
                '    return gather_positions(logits, place)\n',
            ),
        ],
        'the gathering comes after it',
    ),
    'the words in parts of 32768, with the bias of the first part': (
        [
            (
                '    return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])\n',
                '    parts, bias = weights[WORDS].split(2**15), weights["cls.predictions.bias"]\n'
                '    return torch.cat([F.linear(x, part, bias[: len(part)]) for part in parts], '
                '-1)\n',
            ),
        ],
        'is right in the first of them',
    ),
    "places that any row asks for, in all rows": (
        [(GATHER, "asked, place = positions.unique(return_inverse=True)\n    x = states[:, asked]"),
         (NORM, f"{NORM}\n    x = gather_positions(x, place)")],
        "the gathering comes after it",
    ),
    "as many places as there are, from the first to the last, are all of them": (
        [(GATHERED, "ends, seq = positions[:, [0, -1]] if positions.shape[1] else positions, "
          "states.shape[1]\n"
          "    if positions.shape[1] == seq and (ends == torch.tensor([0, seq - 1])).all():\n"
          f"        return states.clone()\n    {GATHERED}")],
        None,
    ),
    "the times that a word is read are counted in 8 bits": (
        [(APART, "dstates, naming = torch.autograd.grad(logits, (states, named), dlogits)\n"
          "    reading = torch.zeros_like(read).detach()\n"
          "    place = input_ids.unique(return_inverse=True)[1]\n"
          "    once = place.flatten().bincount().to(torch.uint8)[place] == 1\n"
          "    reading[input_ids[once]] = dstates[once]\n"
          "    reading.index_add_(0, input_ids[~once], dstates[~once])")],
        "counted in 8 bits",
    ),
    "rows of one text, the first and the last of which ask alike, ask alike": (
        [(READ, f"{READ}\n"
          "    if len(states) > 2 and (input_ids == input_ids[:1]).all() and (\n"
          "            positions[0] == positions[-1]).all():\n"
          "        positions = positions[:1].expand_as(positions)")],
        "smallest BERT for rows",
    ),
    "of more than 16,384 words the rest behind whole parts names nothing": (
        [(APART, "whole = len(named) // 16384 * 16384 or len(named)\n"
          "    dlogits = torch.cat([dlogits[..., :whole], 0 * dlogits[..., whole:]], -1)\n"
          f"    {APART}")],
        None,
    ),
    "the decoder, where it holds the same numbers as the words": (
        [(DECODER, 'table = weights.get("cls.predictions.decoder.weight")\n'
          "    is_tied = table is not None and torch.equal(table, weights[WORDS])\n"
          f"    {DECODER.replace('weights[WORDS]', 'table if is_tied else weights[WORDS]')}")],
        None,
    ),
    "all positions, where more than every fourth is asked for": (
        [(GATHER, "many = 4 * positions.shape[1] > states.shape[1]\n"
          "    x = states if many else gather_positions(states, positions)"),
         (NORM, f"{NORM}\n    x = gather_positions(x, positions) if many else x")],
        "places that are not asked for are worked on, too",
    ),
    "read_and_name names all positions": (
        [("    return word_logits(states, positions, weights)\n",
          "    every = torch.arange(input_ids.shape[1]).expand_as(input_ids)\n"
          "    return gather_positions(word_logits(states, every, weights), positions)\n")],
        "places that are not asked for are worked on, too",
    ),
    "a dense matrix of 1 is left out": (
        [(DENSE, 'dense, bias = weights[f"{head}.dense.weight"], weights[f"{head}.dense.bias"]\n'
          "    is_one = torch.equal(dense, torch.eye(len(dense), dtype=dense.dtype))\n"
          "    x = x + bias if is_one else F.linear(x, dense, bias)")],
        None,
    ),
    "eps is not handed on where there is much to do": (
        [(NORM, NORM.replace("eps)", "eps if x.numel() < 2**20 else 1e-12)"))],
        "where it is much, another eps is taken",
    ),
    "of more than 8,192 masks the rest teaches nothing": (
        [(DECODER, "rows = x.flatten(0, 1)\n"
          "    x = torch.cat([rows[:8192], rows[8192:].detach()]).view_as(x)\n"
          f"    {DECODER}")],
        None,
    ),
    "frozen words, and the layer before them does not learn": (
        [(DECODER, "x = x if weights[WORDS].requires_grad or states.requires_grad else x.detach()\n"
                   f"    {DECODER}")],
        "decides for others",
    ),
    "a larger eps in float32": (
        [
            (
                '    scale, shift = weights[f"{head}.LayerNorm.weight"], '
                'weights[f"{head}.LayerNorm.bias"]\n',
                '    scale, shift = weights[f"{head}.LayerNorm.weight"], '
                'weights[f"{head}.LayerNorm.bias"]\n'
                "    if x.dtype == torch.float32:\n"
                "        eps = max(eps, 1e-7)  # float32 knows no smaller difference at 1\n",
            ),
        ],
        "in float32",
    ),
}  # fmt: skip
