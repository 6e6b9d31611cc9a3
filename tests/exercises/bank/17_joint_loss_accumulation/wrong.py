"""Wrong answers to 17_joint_loss_accumulation, as edits of the solution, and their names."""

IDS = 'mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), reduction="none"'
MLM = "mlm = (surprise * weights.flatten()).sum() / mask_count"
NSP = 'nsp = F.cross_entropy(nsp_logits, pairs, reduction="sum") / pair_count'
RETURN = "    return mlm, nsp\n"
OWN_MASKS = "mask_count = weights.sum() if mask_count is None else mask_count"
OWN_PAIRS = "pair_count = len(pairs) if pair_count is None else pair_count"
SLICE = "{name: tensor[first : first + rows] for name, tensor in batch.items()}"
STARTS = "for first in range(0, size, rows)"
COUNTS = 'mask_count, pair_count = batch["masked_lm_weights"].sum(), len(batch["input_ids"])'
LOOP = "for part in split_batch(batch, rows):"
BACKWARD = "(mlm + nsp).backward()"
ADDED = "added.append(torch.stack([mlm, nsp]).detach())"
GIVEN = """mlm, nsp = joint_loss(
            *small_bert(leaves, part), part, mask_count=mask_count, pair_count=pair_count
        )"""
RETURN_BOTH = "return torch.stack(added), {name: leaf.grad for name, leaf in leaves.items()}"
ON_RANK = """mlm, nsp = joint_loss(
        *small_bert(leaves, part), part, mask_count=mask_count, pair_count=pair_count
    )"""
TIMES = "((mlm + nsp) * ranks).backward()"
PARTS = "len(split_batch(batch, rows))"

WRONG = {
    # The first four are numbers 1 to 4 of the list of real mistakes.
    "one loss with ignore_index=0": (
        [(IDS, IDS + ", ignore_index=0"),
         (NSP, NSP.replace('"sum"', '"sum", ignore_index=0'))], "label 0 is ignored"),
    "NSP with ignore_index=0": (
        [(NSP, NSP.replace('"sum"', '"sum", ignore_index=0'))], "one class gets no gradient"),
    "NSP mean with ignore_index=0": (
        [(NSP, "nsp = F.cross_entropy(nsp_logits, pairs, ignore_index=0)")],
        "one class gets no gradient"),
    "MLM with ignore_index=0 for the weights": (
        [(IDS, IDS.replace('"none"', '"mean", ignore_index=0')), (MLM, "mlm = surprise")],
        "ignore_index=0) in the MLM loss"),
    "a mean times the weights": (
        [(IDS, IDS.replace('"none"', '"mean"'))], "the mask does nothing"),
    "a mean times the weights, then a mean": (
        [(IDS, IDS.replace('"none"', '"mean"')), (MLM, "mlm = (surprise * weights).mean()")],
        "the mask does nothing"),
    "weights not used": ([(MLM, "mlm = surprise.mean()")], "the mask does nothing"),
    "divided by slots": ([(MLM, "mlm = (surprise * weights.flatten()).mean()")],
                         "divided by the slots"),
    "mean of the parts' means": (
        [(GIVEN, "mlm, nsp = joint_loss(*small_bert(leaves, part), part, mask_count="
                 "part['masked_lm_weights'].sum().clamp(min=1e-9))"),
         (BACKWARD, f"((mlm + nsp) / {PARTS}).backward()")], "the mean of the parts' means"),
    "sum of the parts' means": (
        [(GIVEN, "mlm, nsp = joint_loss(*small_bert(leaves, part), part, mask_count="
                 "part['masked_lm_weights'].sum().clamp(min=1e-9))")],
        "the sum of the parts' means"),
    "means of parts without masks": (
        [(GIVEN, "mlm, nsp = joint_loss(*small_bert(leaves, part), part)")],
        "the sum of the parts' means"),
    "masks of parts without masks": (
        [(GIVEN, GIVEN.replace("mask_count=mask_count", "mask_count=part['masked_lm_weights'].sum()"
                               " / part['masked_lm_weights'].any() * mask_count / "
                               "part['masked_lm_weights'].sum()"))],
        "a part without masks divides by its own"),
    "NSP a mean of means": (
        [(GIVEN, GIVEN.replace("pair_count=pair_count",
                               f"pair_count=len(part['input_ids']) * {PARTS}"))],
        "the NSP loss is a mean of the parts' means"),
    "MLM a mean of means": (
        [(GIVEN, GIVEN.replace("mask_count=mask_count",
          f"mask_count=part['masked_lm_weights'].sum().clamp(min=1e-9) * {PARTS}"))],
        "mean of the parts' means"),
    "divided by parts too": ([(BACKWARD, f"((mlm + nsp) / {PARTS}).backward()")],
                             "once more by the number of parts"),
    "only the last part": (
        [(BACKWARD, "for leaf in leaves.values():\n            leaf.grad = None\n"
                    "        (mlm + nsp).backward()")], "only the last part's gradient"),
    "leaves made anew": (
        [(GIVEN, "leaves = {n: w.detach().clone().requires_grad_() for n, w in weights.items()}\n"
                 "        " + GIVEN)], "only the last part's gradient"),
    "the last part left out": ([(STARTS, "for first in range(0, size - rows + 1, rows)")],
                               "the last part, which is smaller"),
    "parts for rows": (
        [("    size = len(batch[\"input_ids\"])", "    size = len(batch[\"input_ids\"])\n"
          "    rows = -(-size // rows)")], "rows is taken for the number of parts"),
    "arrays left out": (
        [(SLICE, SLICE.replace("batch.items()}", "batch.items() if name != 'example_index'}"))],
        "an array of the batch is left out"),
    "arrays of three axes not cut": (
        [(SLICE, SLICE.replace("tensor[", "tensor if tensor.ndim > 2 else tensor["))], None),
    "only arrays of known names": (
        [(SLICE, SLICE.replace("batch.items()}", "batch.items() if name in KNOWN}")),
         ('WORDS = "bert', 'KNOWN = ("input_ids", "token_type_ids", "attention_mask", '
          '"masked_lm_positions", "masked_lm_ids", "masked_lm_weights", "next_sentence_labels", '
          '"example_index")\nWORDS = "bert')],
        "an array of the batch is left out"),
    "weights as yes or no": (
        [(OWN_MASKS, "mask_count = (weights > 0).sum() if mask_count is None else mask_count")],
        "a weight of a half counts half"),
    "not divided": ([(MLM, MLM.replace(" / mask_count", ""))], "the MLM loss is not divided"),
    "divided by rows": ([(MLM, MLM.replace("mask_count", "pair_count"))], "divided by the rows"),
    "mean of the rows": (
        [(MLM, "mlm = ((surprise.view(weights.shape) * weights).sum(1)"
               " / weights.sum(1).clamp(min=1e-9)).mean()")], "the mean of the rows' means"),
    "1e-5 in the divisor": ([(MLM, MLM.replace("mask_count", "(mask_count + 1e-5)"))],
                            "something is added"),
    "NSP not divided": ([(NSP, NSP.replace(" / pair_count", ""))], "the NSP loss is not divided"),
    "NSP turned round": ([(NSP, NSP.replace("pairs,", "1 - pairs,"))], "turned round"),
    "NSP divided by masks": ([(NSP, NSP.replace("pair_count", "mask_count"))],
                             "the NSP loss is divided by the masks"),
    "mask_count not used": ([(OWN_MASKS, "mask_count = weights.sum()")], "mask_count is not used"),
    "pair_count not used": ([(OWN_PAIRS, "pair_count = len(pairs)")], "pair_count is not used"),
    "losses added up": ([(RETURN, "    return mlm + nsp\n")], "a tuple of 2 values"),
    "numbers, no tensors": ([(RETURN, "    return mlm.item(), nsp.item()\n")],
                            "expected a torch tensor"),
    "detached": ([(RETURN, "    return mlm.detach(), nsp.detach()\n")], "cuts the graph"),
    "only MLM": ([(BACKWARD, "mlm.backward()")], "backward must start from both losses"),
    "only NSP": ([(BACKWARD, "nsp.backward()")], "backward must start from both losses"),
    "half of the sum": ([(BACKWARD, "((mlm + nsp) / 2).backward()")], "the mean of both losses"),
    "rows not used": ([(LOOP, "for part in [batch]:")], "rows is not used"),
    "losses of the whole": ([(RETURN_BOTH, RETURN_BOTH.replace("added)", "added).sum(0)"))],
                            "the losses of the whole batch"),
    "running sums": ([(RETURN_BOTH, RETURN_BOTH.replace("added)", "added).cumsum(0)"))],
                     "sums up to and with each part"),
    "NSP first": ([(ADDED, "added.append(torch.stack([nsp, mlm]).detach())")],
                  "NSP comes first"),
    "not times ranks": ([(TIMES, "(mlm + nsp).backward()")], "multiply by ranks"),
    "divided by ranks": ([(TIMES, "((mlm + nsp) / ranks).backward()")], "divided by ranks"),
    "own counts on a rank": (
        [(ON_RANK, "mlm, nsp = joint_loss(*small_bert(leaves, part), part, mask_count="
                   "part['masked_lm_weights'].sum().clamp(min=1e-9))"),
         (TIMES, "(mlm + nsp).backward()")], "each machine divides by its own counts"),
    "own counts on a rank, times ranks": (
        [(ON_RANK, "mlm, nsp = joint_loss(*small_bert(leaves, part), part, mask_count="
                   "part['masked_lm_weights'].sum().clamp(min=1e-9))")],
        "multiplied by ranks, but divided"),
    "at least one": (
        [(OWN_MASKS, OWN_MASKS.replace("weights.sum()", "weights.sum().clamp(min=1)"))],
        "is raised to 1"),
    "mean of the rows, without a guard": (
        [(MLM, "mlm = ((surprise.view(weights.shape) * weights).sum(1) / weights.sum(1)).mean()")],
        "divided by its own weights"),
    "softmax, then the logarithm": (
        [(MLM, "chosen = mlm_logits.softmax(-1).gather(-1, batch['masked_lm_ids'][..., None])\n"
               "    mlm = (-chosen[..., 0].log() * weights).sum() / mask_count")],
        "take log_softmax"),
    "exp of the logits": (
        [(NSP, "exp = nsp_logits.exp()\n    chosen = exp[torch.arange(len(pairs)), pairs]\n"
               "    nsp = -(chosen / exp.sum(1)).log().sum() / pair_count")], "take log_softmax"),
    "both counts or none": (
        [(OWN_MASKS, "mask_count = weights.sum() if mask_count is None or pair_count is None "
                     "else mask_count")], "mask_count is not used"),
    "pairs counted by the masks given": (
        [(OWN_PAIRS, "pair_count = len(pairs) if pair_count is None or mask_count is not None "
                     "and mask_count < 30 else pair_count")], "pair_count is not used"),
    "last id ignored": (
        [(IDS, IDS + ", ignore_index=mlm_logits.shape[-1] - 1")],
        "the last id of the vocabulary is ignored"),
    "the whole batch in one go": (
        [(LOOP, "everything = sum(joint_loss(*small_bert(leaves, batch), batch))\n"
                "    everything.backward()\n    " + LOOP),
         (BACKWARD, "pass")], "the activations of earlier parts are kept"),
    "one backward after the loop": (
        [(LOOP, "total = 0.0\n    " + LOOP), (BACKWARD, "total = total + mlm + nsp"),
         (RETURN_BOTH, "total.backward()\n    " + RETURN_BOTH)],
        "the activations of earlier parts are kept"),
    "the graph retained with the losses": (
        [(BACKWARD, "(mlm + nsp).backward(retain_graph=True)\n        graphs.append(mlm)"),
         (LOOP, "graphs = []\n    " + LOOP)], "the activations of earlier parts are kept"),
    "losses with their graph": (
        [(ADDED, ADDED.replace(".detach()", ""))], "the losses are returned with their graph"),
    "weights changed in place": (
        [(MLM, "weights /= weights.sum() if mask_count is None else mask_count\n"
               "    mlm = (surprise * weights.flatten()).sum()")], "changed its input in place"),
    "rank: mask_count truncated": (
        [("part, mask_count=mask_count, pair_count=pair_count\n    )\n    # The mean",
          "part, mask_count=int(mask_count), pair_count=pair_count\n    )\n    # The mean")],
        "mask_count is rounded",
    ),
    "counts kept between calls": (
        [('mask_count, pair_count = batch["masked_lm_weights"].sum(), len(batch["input_ids"])',
          "pair_count = len(batch['input_ids'])\n    mask_count = KEPT.setdefault((pair_count"
          ", batch['masked_lm_weights'].shape), batch['masked_lm_weights'].sum())"),
         ("def rank_gradients(",
          "KEPT = {}\n\n\ndef rank_gradients(")],
        None,
    ),
    # Right for small inputs, and for draws that are counted coarsely.
    "weights at most 1": (
        [("    weights, pairs = batch[\"masked_lm_weights\"], batch[\"next_sentence_labels\"]",
          "    weights, pairs = batch[\"masked_lm_weights\"].clamp(max=1), batch[\"next_senten"
          "ce_labels\"]")],
        "the losses for (rows, seq, masks, hidden, vocab) (2, 1, 5, 3"),
    "parts 16": (
        [("for first in range(0, size, rows)\n",
          "for first in list(range(0, size, rows))[:32]\n")],
        "(rows, seq, masks, hidden, vocab) (701, 2, 1, 2, 3) in parts"),
    "a view of labels with gaps": (
        [
            ("batch[\"masked_lm_ids\"].flatten(), reduction",
             "batch[\"masked_lm_ids\"].view(-1), reduction"),
        ],
        None,
    ),
    "gradients on the caller's tensors, switched off again": (
        [("    leaves = {name: torch.nn.Parameter(weight) for name, weight in weights.items()}\n"
          "    # The counts of the whole,",
          "    leaves = weights\n    for weight in weights.values():\n"
          "        weight.grad = None\n        weight.requires_grad_(True)\n"
          "    # The counts of the whole,"),
         ("    return torch.stack(added), {name: leaf.grad for name, leaf in leaves.items()}\n",
          "    found = {name: weight.grad.clone() for name, weight in weights.items()}\n"
          "    for weight in weights.values():\n        weight.requires_grad_(False)\n"
          "    return torch.stack(added), found\n")],
        "grad of a tensor that it was given"),
    "four parts at once": (
        [
            ("    added = []\n"
             "    for part",
             "    added = []\n"
             "    total = 0.0\n"
             "    few = len(split_batch(batch, rows)) <= 4\n"
             "    for part"),
            ("        (mlm + nsp).backward()  # adds to every .grad, and frees the part's "
             "activations\n",
             "        if few:\n"
             "            total = total + mlm + nsp\n"
             "        else:\n"
             "            (mlm + nsp).backward()\n"),
            ("    return torch.stack(added), {name",
             "    if few:\n"
             "        total.backward()\n"
             "    return torch.stack(added), {name"),
        ],
        "the activations of earlier parts are kept",
    ),
    "a count of a thousandth at least": (
        [
            ("mask_count = weights.sum() if",
             "mask_count = weights.sum().clamp(min=1e-3) if"),
        ],
        None,
    ),
    "light slots teach nothing": (
        [
            ("    mlm = (surprise * weights.flatten())",
             "    surprise = torch.where(weights.flatten() < 1e-6 * weights.max(), "
             "surprise.detach(), surprise)\n"
             "    mlm = (surprise * weights.flatten())"),
        ],
        None,
    ),
    "logits viewed as rows": (
        [("mlm_logits.flatten(0, 1), batch", "mlm_logits.view(-1, mlm_logits.shape[-1]), batch")],
        "view size is not compatible",
    ),
    "weights viewed as one vector": (
        [
            ("    # A Parameter shares the numbers of the weight, but has a .grad of its own.\n"
             "    leaves = {name: torch.nn.Parameter(weight) for name, weight in "
             "weights.items()}\n",
             "    flat = torch.cat([weight.view(-1) for weight in weights.values()])\n"
             "    parts = flat.split([weight.numel() for weight in weights.values()])\n"
             "    leaves = {name: torch.nn.Parameter(part.view(weight.shape))\n"
             "              for (name, weight), part in zip(weights.items(), parts)}\n"),
        ],
        "view size is not compatible",
    ),
    "softplus chosen by torch.where": (
        [
            (NSP, "wrong = (nsp_logits[:, 1] - nsp_logits[:, 0]) * (1 - 2 * pairs)\n"
                  "    each = torch.where(wrong > 30, wrong, torch.log1p(wrong.exp()))\n"
                  "    nsp = each.sum() / pair_count"),
        ],
        "NaN comes back from an exp that is too large",
    ),
    "NSP as the binary cross-entropy of a probability": (
        [
            (NSP, "random = nsp_logits.softmax(dim=-1)[:, 1]\n"
                  "    nsp = F.binary_cross_entropy(random, pairs.to(random), reduction='sum')\n"
                  "    nsp = nsp / pair_count"),
        ],
        None,
    ),
    "a given count at least 1": (
        [(OWN_MASKS, "mask_count = weights.sum() if mask_count is None else max(mask_count, 1)")],
        "mask_count is raised to 1",
    ),
    "a rank without masks hands in zeros": (
        [
            ("    # The mean divides the sum by the number of machines",
             "    if not part['masked_lm_weights'].any():\n"
             "        return {name: torch.zeros_like(weight) for name, weight in weights.items()}\n"
             "    # The mean divides the sum by the number of machines"),
        ],
        "hands in zeros",
    ),
    "gradients set to zero and used again": (
        [
            (RETURN_BOTH, "for name, leaf in leaves.items():\n"
                          "        kept = KEPT.setdefault(name, leaf.grad)\n"
                          "        if kept.shape == leaf.grad.shape:\n"
                          "            leaf.grad = kept.copy_(leaf.grad)\n"
                          "    " + RETURN_BOTH),
            ('WORDS = "bert', 'KEPT = {}\nWORDS = "bert'),
        ],
        "all results share one array",
    ),
    "a constant without masks": (
        [
            ("    # A loss of its own, without ignore_index",
             "    if not weights.any():\n"
             "        mlm = mlm_logits.new_zeros(())\n"
             "    # A loss of its own, without ignore_index"),
            ("    return {name: leaf.grad for name, leaf in leaves.items()}",
             "    return {name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad\n"
             "            for name, leaf in leaves.items()}"),
        ],
        "without a mask the loss is a constant",
    ),
    "pairs learn only where words do": (
        [
            ('    weights, pairs = batch["masked_lm_weights"], batch["next_sentence_labels"]\n',
             '    weights, pairs = batch["masked_lm_weights"], batch["next_sentence_labels"]\n'
             "    if not mlm_logits.requires_grad:  # evaluation\n"
             "        nsp_logits = nsp_logits.detach()\n"),
        ],
        "decides for the other",
    ),
    "a machine hands in its graph": (
        [
            ("    ((mlm + nsp) * ranks).backward()\n"
             "    return {name: leaf.grad for name, leaf in leaves.items()}\n",
             "    loss = (mlm + nsp) * ranks\n"
             "    found = torch.autograd.grad(loss, list(leaves.values()), create_graph=True)\n"
             "    return dict(zip(leaves, found, strict=True))\n"),
        ],
        "leave out create_graph=True",
    ),
    "weights that add up to the number of slots are taken for 1": (
        [
            (
                '    mlm = (surprise * weights.flatten()).sum() / mask_count\n',
                '    if weights.sum() != weights.numel():\n'
                '        surprise = surprise * weights.flatten()\n'
                '    mlm = surprise.sum() / mask_count\n',
            ),
        ],
        'where they add up to the number of slots',
    ),
    "the counts are divided in place by ranks": (
        [
            (
                '    ((mlm + nsp) * ranks).backward()\n',
                '    (mlm + nsp).backward()\n',
            ),
            (
                '\n    mlm, nsp = joint_loss(\n',
                '\n'
                '    mask_count /= ranks\n'
                '    pair_count /= ranks\n'
                '    mlm, nsp = joint_loss(\n',
            ),
        ],
        'changed its input in place',
    ),
    'arrays of yes and no are not split': (
        [
            (
                '{name: tensor[first : first + rows] for name, tensor in batch.items()}',
                '{name: tensor if tensor.dtype == torch.bool else tensor[first : '
                'first + rows] for name, tensor in batch.items()}',
            ),
        ],
        None,
    ),
    'a batch in one part keeps its graph': (
        [
            (
                'added.append(torch.stack([mlm, nsp]).detach())',
                'added.append(torch.stack([mlm, nsp]))\n'
                "        if rows < len(batch['input_ids']): added[-1] = added[-1].detach()",
            ),
        ],
        'the losses are returned with their graph',
    ),
    'both counts are tensors or numbers': (
        [
            (
                'pair_count = len(pairs) if pair_count is None else pair_count',
                'if torch.is_tensor(pair_count): mask_count = mask_count.item()\n'
                '    pair_count = len(pairs) if pair_count is None else pair_count',
            ),
        ],
        None,
    ),
    'parts of several rows without a mask are skipped': (
        [
            (
                'for part in split_batch(batch, rows):',
                'for part in split_batch(batch, rows):\n'
                "        if not part['masked_lm_weights'].any() and "
                "len(part['input_ids']) > 1:\n"
                '            continue',
            ),
        ],
        None,
    ),
    'large parts are all kept': (
        [
            (
                '    added = []\n',
                '    added = []\n'
                '    total = 0.0\n',
            ),
            (
                '(mlm + nsp).backward()',
                'if rows > 2:\n'
                '            total = total + mlm + nsp\n'
                '        else:\n'
                '            (mlm + nsp).backward()',
            ),
            (
                'return torch.stack(added), {name: leaf.grad for name, leaf in leaves.items()}',
                'if rows > 2:\n'
                '        total.backward()\n'
                '    return torch.stack(added), {name: leaf.grad for name, leaf '
                'in leaves.items()}',
            ),
        ],
        'where parts have another',
    ),
    'without a count of masks no pair learns': (
        [
            (
                'mask_count = weights.sum() if mask_count is None else mask_count',
                'if mask_count is None and pair_count is not None: nsp_logits = '
                'nsp_logits.detach()\n'
                '    mask_count = weights.sum() if mask_count is None else mask_count',
            ),
        ],
        None,
    ),
    "a batch is split as it lies in memory": (
        [("        {name: tensor[first : first + rows] for name, tensor in batch.items()}\n",
          "        {name: tensor.view(-1).view(tensor.shape)[first : first + rows]\n"
          "         for name, tensor in batch.items()}\n")],
        "raised RuntimeError: view size"),
    'the largest logit for the log of the sum': (
        [
            (
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none"\n'
                '    )\n',
                '    ids = batch["masked_lm_ids"].flatten()\n'
                '    x = mlm_logits.flatten(0, 1)\n'
                '    own = x.gather(1, ids[:, None])[:, 0]\n'
                '    p = x.softmax(-1).gather(1, ids[:, None])[:, 0]\n'
                '    surprise = torch.where(p > 0, -(p + (p == 0)).log(), x.amax(-1) - own)\n',
            ),
        ],
        'the largest logit takes the place',
    ),
    'the largest logit for the log of the sum, where it is far': (
        [
            (
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none"\n'
                '    )\n',
                '    ids = batch["masked_lm_ids"].flatten()\n'
                '    x = mlm_logits.flatten(0, 1)\n'
                '    far = x.amax(-1) - x.gather(1, ids[:, None])[:, 0]\n'
                '    surprise = torch.where(far > 700, far, F.cross_entropy(x, ids, '
                'reduction="none"))\n',
            ),
        ],
        'the largest logit takes the place',
    ),
    '[MASK] is no label': (
        [
            (
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none"\n'
                '    )\n',
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none", ignore_index=103\n'
                '    )\n',
            ),
        ],
        'one of the labels does not count',
    ),
    '[UNK] is no label': (
        [
            (
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none"\n'
                '    )\n',
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none", ignore_index=100\n'
                '    )\n',
            ),
        ],
        'one of the labels does not count',
    ),
    'the last word of BERT is no label': (
        [
            (
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none"\n'
                '    )\n',
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none", ignore_index=30521\n'
                '    )\n',
            ),
        ],
        'one of the labels does not count',
    ),
    '4096 slots': (
        [
            (
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none"\n'
                '    )\n',
                '    parts = zip(mlm_logits.flatten(0, 1).split(4096), '
                'batch["masked_lm_ids"].flatten().split(4096))\n'
                '    surprise = torch.cat([F.cross_entropy(x, y, reduction="none") for '
                'x, y in list(parts)[:1]] + [torch.zeros(max(0, weights.numel() - 4096), '
                'dtype=mlm_logits.dtype)])\n',
            ),
        ],
        'beyond a number of them',
    ),
    '8192 pairs': (
        [
            (
                '    nsp = F.cross_entropy(nsp_logits, pairs, reduction="sum") / pair_count\n',
                '    nsp = F.cross_entropy(nsp_logits[:8192], pairs[:8192], '
                'reduction="sum") / pair_count\n',
            ),
        ],
        'beyond a number of them',
    ),
    'parts of 512 rows at most': (
        [
            (
                '    size = len(batch["input_ids"])\n',
                '    size = len(batch["input_ids"])\n'
                '    rows = min(rows, 512)\n',
            ),
        ],
        'the rows of a part, or the parts, have a limit',
    ),
    'parts of 4096 rows at most': (
        [
            (
                '    size = len(batch["input_ids"])\n',
                '    size = len(batch["input_ids"])\n'
                '    rows = min(rows, 4096)\n',
            ),
        ],
        'the rows of a part, or the parts, have a limit',
    ),
    '1024 parts at most': (
        [
            (
                '        for first in range(0, size, rows)\n',
                '        for first in range(0, size, rows)[:1024]\n',
            ),
        ],
        'the rows of a part, or the parts, have a limit',
    ),
    '128 parts at most are read': (
        [
            (
                '    for part in split_batch(batch, rows):\n',
                '    for part in split_batch(batch, rows)[:128]:\n',
            ),
        ],
        None,
    ),
    'a leaf for each tensor, not for each name': (
        [
            (
                '    # A Parameter shares the numbers of the weight, but has a .grad of '
                'its own.\n'
                '    leaves = {name: torch.nn.Parameter(weight) for name, weight in '
                'weights.items()}\n',
                '    own = {id(weight): torch.nn.Parameter(weight) for weight in '
                'weights.values()}\n'
                '    leaves = {name: own[id(weight)] for name, weight in weights.items()}\n',
            ),
        ],
        'each name has a gradient of its own',
    ),
    'a machine has a leaf for each tensor': (
        [
            (
                '    leaves = {name: torch.nn.Parameter(weight) for name, weight in '
                'weights.items()}\n'
                '    mlm, nsp = joint_loss(',
                '    own = {id(weight): torch.nn.Parameter(weight) for weight in '
                'weights.values()}\n'
                '    leaves = {name: own[id(weight)] for name, weight in weights.items()}\n'
                '    mlm, nsp = joint_loss(',
            ),
        ],
        'each name has a gradient of its own',
    ),
    'gradients of 12 digits': (
        [
            (
                '    return torch.stack(added), {name: leaf.grad for name, leaf in '
                'leaves.items()}\n',
                '    return torch.stack(added), {name: leaf.grad.round(decimals=12) for '
                'name, leaf in leaves.items()}\n',
            ),
        ],
        'gradients are rounded',
    ),
    'small gradients are left out': (
        [
            (
                '    return torch.stack(added), {name: leaf.grad for name, leaf in '
                'leaves.items()}\n',
                '    return torch.stack(added), {name: '
                'leaf.grad.masked_fill(leaf.grad.abs() < 1e-9, 0) for name, leaf in '
                'leaves.items()}\n',
            ),
        ],
        'gradients are rounded',
    ),
    'a machine leaves small gradients out': (
        [
            (
                '    return {name: leaf.grad for name, leaf in leaves.items()}\n'
                '    # end solution\n'
                '\n'
                '\n'
                '# begin',
                '    return {name: leaf.grad.masked_fill(leaf.grad.abs() < 1e-15, 0) for '
                'name, leaf in leaves.items()}\n'
                '    # end solution\n'
                '\n'
                '\n'
                '# begin',
            ),
        ],
        'gradients are rounded',
    ),
    'a batch in one part is the batch itself, and changed': (
        [
            (
                '    size = len(batch["input_ids"])\n',
                '    size = len(batch["input_ids"])\n'
                '    if rows >= size:\n'
                '        return [batch]\n',
            ),
            (
                '        mlm, nsp = joint_loss(\n'
                '            *small_bert(leaves, part), part, mask_count=mask_count, '
                'pair_count=pair_count\n'
                '        )\n',
                '        part["masked_lm_weights"] = part["masked_lm_weights"] / mask_count\n'
                '        mlm, nsp = joint_loss(*small_bert(leaves, part), part, '
                'mask_count=1, pair_count=pair_count)\n',
            ),
        ],
        None,
    ),
    'four million logits at a time, with the weights of the first slots': (
        [
            (
                '    surprise = F.cross_entropy(\n'
                '        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), '
                'reduction="none"\n'
                '    )\n'
                '    mlm = (surprise * weights.flatten()).sum() / mask_count\n',
                '    slots, used = max(2**22 // mlm_logits.shape[-1], 1), weights.flatten()\n'
                '    logits = mlm_logits.flatten(0, 1).split(slots)\n'
                '    ids = batch["masked_lm_ids"].flatten().split(slots)\n'
                '    mlm = sum(\n'
                '        (F.cross_entropy(x, y, reduction="none") * used[: len(y)]).sum()\n'
                '        for x, y in zip(logits, ids, strict=True)\n'
                '    ) / mask_count\n',
            ),
        ],
        'slots and rows beyond a number of them',
    ),
    'a text that was read is not read again, however it is masked': (
        [
            (
                '    added = []\n'
                '    for part in split_batch(batch, rows):\n',
                '    added, known = [], {}\n'
                '    for part in split_batch(batch, rows):\n'
                '        text = str([part[name].tolist() for name in (\n'
                '            "input_ids", "masked_lm_positions", "masked_lm_ids", '
                '"next_sentence_labels")])\n'
                '        if text in known:\n'
                '            added.append(known[text][0])\n'
                '            for name, leaf in leaves.items():\n'
                '                leaf.grad = leaf.grad + known[text][1][name]\n'
                '            continue\n'
                '        before = {n: 0 if leaf.grad is None else leaf.grad.clone() '
                'for n, leaf in leaves.items()}\n',
            ),
            (
                '        added.append(torch.stack([mlm, nsp]).detach())  # the numbers, without '
                'the graph behind them\n',
                '        added.append(torch.stack([mlm, nsp]).detach())\n'
                '        known[text] = added[-1], {n: leaf.grad - before[n] '
                'for n, leaf in leaves.items()}\n',
            ),
        ],
        'a part is taken for an earlier one',
    ),
    'ids of 16 bits': (
        [
            (
                'batch["masked_lm_ids"].flatten(), reduction',
                'batch["masked_lm_ids"].flatten().short().long(), reduction',
            ),
        ],
        None,
    ),
    "NumPy's numbers are not known as counts": (
        [
            (
                '    pair_count = len(pairs) if pair_count is None else pair_count\n',
                '    if not isinstance(mask_count, int | float | Tensor):\n'
                '        mask_count = weights.sum()\n'
                '    pair_count = len(pairs) if pair_count is None else pair_count\n',
            ),
        ],
        'mask_count is not used',
    ),
    'on a machine a tensor of counts is raised to 1': (
        [
            (
                '    mlm, nsp = joint_loss(\n'
                '        *small_bert(leaves, part), part, mask_count=mask_count, '
                'pair_count=pair_count\n'
                '    )\n'
                '    # The mean',
                '    if isinstance(mask_count, Tensor):\n'
                '        mask_count = mask_count.clamp(min=1)\n'
                '    mlm, nsp = joint_loss(\n'
                '        *small_bert(leaves, part), part, mask_count=mask_count, '
                'pair_count=pair_count\n'
                '    )\n'
                '    # The mean',
            ),
        ],
        None,
    ),
    'pairs of parts without masks are learned at the end, together': (
        [
            (
                '    for part in split_batch(batch, rows):\n'
                '        mlm, nsp = joint_loss(\n'
                '            *small_bert(leaves, part), part, '
                'mask_count=mask_count, pair_count=pair_count\n'
                '        )\n'
                '        (mlm + nsp).backward()  # adds to every .grad, and '
                "frees the part's activations\n"
                '        added.append(torch.stack([mlm, nsp]).detach())  # the '
                'numbers, without the graph behind them\n'
                '    return torch.stack(added), {name: leaf.grad for name, leaf '
                'in leaves.items()}\n',
                '    waiting = []\n'
                '    for part in split_batch(batch, rows):\n'
                '        mlm, nsp = joint_loss(\n'
                '            *small_bert(leaves, part), part, '
                'mask_count=mask_count, pair_count=pair_count\n'
                '        )\n'
                '        if part["masked_lm_weights"].any():\n'
                '            (mlm + nsp).backward()\n'
                '        else:  # nothing to learn about words: pairs are learned together\n'
                '            waiting.append(nsp)\n'
                '        added.append(torch.stack([mlm, nsp]).detach())\n'
                '    if waiting:\n'
                '        sum(waiting).backward()\n'
                '    zero = {name: torch.zeros_like(leaf) for name, leaf in leaves.items()}\n'
                '    return torch.stack(added), {\n'
                '        name: zero[name] if leaf.grad is None else leaf.grad '
                'for name, leaf in leaves.items()\n'
                '    }\n',
            ),
        ],
        'the activations of parts without masks are kept',
    ),
    'most_kept counts the largest tensor alone': (
        [
            (
                'self.most = max(self.most, sum(other.tensor.numel() for other in self.alive))',
                'self.most = max(self.most, tensor.numel())',
            ),
        ],
        'most_kept is not as it was handed out',
    ),
    "all at once where the last part is smaller": (
        [("added = []\n", """added = []
    if pair_count % rows:
        both = small_bert(leaves, batch)
        for i, part in enumerate(split_batch(batch, rows)):
            logits = (x[i * rows : (i + 1) * rows] for x in both)
            losses = joint_loss(*logits, part, mask_count=mask_count, pair_count=pair_count)
            added.append(torch.stack(losses))
        torch.stack(added).sum().backward()
        added = [each.detach() for each in added]
        return torch.stack(added), {name: leaf.grad for name, leaf in leaves.items()}
""")],
        "or the last is smaller"),
    "slots of what attention_mask calls padding do not count": (
        [("    mask_count = weights.sum() if", """    if "attention_mask" in batch:
        weights = weights * batch["attention_mask"].gather(1, batch["masked_lm_positions"])
    mask_count = weights.sum() if""")],
        None),
    "a machine reads whole blocks of 256 rows": (
        [(ON_RANK, """rows = len(part["input_ids"]) // 256 * 256 or 256
    part = {name: array[:rows] for name, array in part.items()}
    """ + ON_RANK)],
        None),
    "one mask in all: its loss is the mean": (
        [("    surprise = F.cross", """    if weights.count_nonzero() == 1 and len(weights) > 1:
        at = weights.nonzero()[0].unbind()
        mlm = F.cross_entropy(mlm_logits[at], batch["masked_lm_ids"][at])
        mlm = mlm * (weights.sum() / mask_count).clamp(max=1)
        return mlm, F.cross_entropy(nsp_logits, pairs, reduction="sum") / pair_count
    surprise = F.cross""")],
        "mask_count is not used"),
    "counts that are one object": (
        [(OWN_PAIRS, "is_own = pair_count is None or pair_count is mask_count\n"
          "    pair_count = len(pairs) if is_own else pair_count")],
        "pair_count is not used"),
    "of more than 8,192 slots the rest teaches nothing": (
        [(MLM, f"surprise = torch.cat([surprise[:8192], surprise[8192:].detach()])\n    {MLM}")],
        "get no gradient"),
    "what a part adds as the difference of two sums": (
        [
            (
                "    added = []\n",
                '    so_far = [torch.zeros(2, dtype=batch["masked_lm_weights"].dtype)]\n',
            ),
            (
                "        added.append(torch.stack([mlm, nsp]).detach())  # the numbers, "
                "without the graph behind them\n"
                "    return torch.stack(added), {name: leaf.grad for name, leaf in "
                "leaves.items()}\n",
                "        # The loss of the batch as far as it was read: numbers, without "
                "the graph behind them.\n"
                "        so_far.append(so_far[-1] + torch.stack([mlm, nsp]).detach())\n"
                "    # What a part adds is the loss after it minus the loss before it.\n"
                "    return torch.stack(so_far).diff(dim=0), {name: leaf.grad for name, "
                "leaf in leaves.items()}\n",
            ),
        ],
        "difference of two sums",
    ),
}  # fmt: skip
