"""Wrong answers to 21_finetuning, as edits of the solution, and the words that name each."""

CLS = 'return dense(states[:, 0], weights, "pooler.dense").tanh()'
MEAN = "return (states * real).sum(1) / real.sum(1)"
STATES = "states = encode(input_ids, attention_mask, weights)"
TEXT = "text = text_vector(states, attention_mask, weights, pooling=pooling)"
HEAD = 'return dense(F.dropout(text, dropout, training), weights, "classifier")'
NUMBER = "return (logits.squeeze(1) - labels).square().mean()"
CROSS = "return F.cross_entropy(logits, labels)"
COPIES = "weights = {name: w.clone().requires_grad_() for name, w in weights.items()}"
DECAYED = 'return not name.endswith("bias") and "LayerNorm" not in name'
ADAM = "optimizer = torch.optim.AdamW(groups, eps=1e-6)"
WARM = "rate = peak_rate * (step + 1) / warmup_steps"
FALL = "rate = peak_rate * (len(batches) - step) / (len(batches) - warmup_steps)"
SET = 'group["lr"] = rate'
VALUE = 'value = loss(logits, batch["labels"])'
CLIP = "torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)"
CLEAR = "optimizer.zero_grad()  # or the next backward adds to these"
KEEP = "losses.append(value.item())"
RETURN = "return {name: w.detach() for name, w in weights.items()}, losses"

STEP = "optimizer.step()\n        optimizer.zero"
BERT_ADAM = """for name, w in weights.items():
            if w.grad is not None:
                s = optimizer.state[w]
                s["m"] = 0.9 * s.get("m", 0) + 0.1 * w.grad
                s["v"] = 0.999 * s.get("v", 0) + 0.001 * w.grad**2
                decay = weight_decay if is_decayed(name) else 0.0
                w.data -= rate * (s["m"] / (s["v"].sqrt() + 1e-6) + decay * w.data)
        optimizer.zero"""
FROZEN = """weights = {{
        name: w.clone().requires_grad_({}) for name, w in weights.items()
    }}"""


def mean(line):
    return [(MEAN, line)]


WRONG = {
    "no tanh": ([(CLS, CLS.replace(".tanh()", ""))], "the tanh of the pooler"),
    "no pooler": ([(CLS, "return states[:, 0]")], "the pooler is missing"),
    "no dense layer": ([(CLS, "return states[:, 0].tanh()")], "the pooler's dense layer"),
    "last column": ([(CLS, CLS.replace("[:, 0]", "[:, -1]"))], "the last column is read"),
    "last token": (
        [(CLS, CLS.replace("[:, 0]", "[torch.arange(len(states)), attention_mask.sum(1) - 1]"))],
        "the last token is read"),
    "pooling not used": (
        [('if pooling == "cls":', 'if pooling:')], "pooling is not used: this is [CLS]"),
    "always the mean": (
        [('if pooling == "cls":', 'if not pooling:')], "pooling is not used: this is the mean"),
    "padding in the mean": (mean("return states.mean(1)"), "padding is counted"),
    "padding in the count": (mean("return (states * real).mean(1)"), "but counted below"),
    "sum": (mean("return (states * real).sum(1)"), "a sum, not a mean"),
    "count of the batch": (
        mean("return (states * real).sum(1) / real.sum() * len(states)"), "each text has its own"),
    "without [CLS]": (
        mean("return (states[:, 1:] * real[:, 1:]).sum(1) / real[:, 1:].sum(1).clamp(min=1)"),
        "[CLS] is left out of the mean"),
    "maximum": (mean("return states.masked_fill(real == 0, -1e9).max(1).values"),
                "the largest number"),
    "mean through the pooler": (
        mean('return dense((states * real).sum(1) / real.sum(1), weights, "pooler.dense").tanh()'),
        "goes through the pooler"),
    "probs in float32": (
        mean("probs = attention_mask / attention_mask.sum(1, keepdim=True)\n"
             "    return (states * probs[:, :, None]).sum(1)"), "computed in float32"),
    "something added": (mean("return (states * real).sum(1) / (real.sum(1) + 1e-5)"),
                        "something is added"),
    "mask not used": (
        [(STATES, STATES.replace("attention_mask", "torch.ones_like(attention_mask)"))],
        "attention_mask is not used"),
    "encoder frozen": ([(STATES, STATES + ".detach()")], "the encoder is frozen"),
    "encoder without gradient": (
        [(STATES, "with torch.no_grad():\n        " + STATES)], "the encoder is frozen"),
    "dropout in evaluation": ([(HEAD, HEAD.replace(", training)", ")"))],
                              "dropout acts in evaluation"),
    "no dropout": ([(HEAD, 'return dense(text, weights, "classifier")')],
                   "there is no dropout in training"),
    "dropout written in": ([(HEAD, HEAD.replace("text, dropout", "text, 0.1"))],
                           "a probability is written in"),
    "dropout on the scores": (
        [(HEAD, 'return F.dropout(dense(text, weights, "classifier"), dropout, training)')],
        "dropout is applied to the scores"),
    "softmax in the scores": ([(HEAD, HEAD + ".softmax(-1)")], "a softmax is taken"),
    "softmax in the loss": ([(CROSS, CROSS.replace("logits", "logits.softmax(-1)"))],
                            "a softmax before F.cross_entropy"),
    "sum of the loss": ([(CROSS, CROSS.replace("labels)", 'labels, reduction="sum")'))],
                        "the sum, not the mean"),
    "square of all with all": ([(NUMBER, "return (logits - labels).square().mean()")],
                               "is a square"),
    "distance": ([(NUMBER, NUMBER.replace("square", "abs"))], "the distance, not its square"),
    "no regression": (
        [("if logits.shape[1] == 1:", "if False:"),
         (CROSS, "return F.cross_entropy(logits, labels.long())")], "out of bounds"),
    "loss detached": ([(CROSS, CROSS + ".detach().requires_grad_()")], "the backward pass is cut"),
    "weights in place": (
        [(COPIES, "weights = {n: w.requires_grad_() for n, w in weights.items()}")],
        "changed requires_grad of a tensor"),
    "classifier alone": ([(COPIES, FROZEN.format('"classifier" in name'))],
                         "only the classifier learns"),
    "classifier and pooler alone": (
        [(COPIES, FROZEN.format('"classifier" in name or "pooler" in name'))],
        "only the classifier and the pooler"),
    "embeddings frozen": ([(COPIES, FROZEN.format('"embeddings" not in name'))],
                          "the embeddings do not learn"),
    "gradients not cleared": ([(CLEAR, "pass")], "gradients are not cleared"),
    "optimizer anew": ([(VALUE, ADAM.replace("groups", "groups, lr=rate") + "\n        " + VALUE)],
                       "made anew for each batch"),
    "peak all the way": ([(SET, 'group["lr"] = peak_rate')], "warm-up and decay are missing"),
    "no warm-up": (
        [("if step < warmup_steps:", "if False:"),
         (FALL, "rate = peak_rate * (len(batches) - step) / len(batches)")], "warm-up is missing"),
    "no decay of the rate": ([(FALL, "rate = peak_rate")], "the rate does not fall"),
    "first rate 0": ([(WARM, WARM.replace("(step + 1)", "step"))], "the first step is 0"),
    "rate of the next step": (
        [("in enumerate(batches):", "in enumerate(batches, start=1):")], "that of the next step"),
    "BERT's own Adam": ([(STEP, BERT_ADAM)], "the bias is not corrected"),
    "Adam with L2": ([(ADAM, ADAM.replace("AdamW", "Adam"))], "AdamW, not Adam"),
    "all decayed": ([(DECAYED, "return True")], "everything is decayed"),
    "layer norms decayed": (
        [(DECAYED, 'return not name.endswith("bias")')],
        "layer norms are decayed"),
    "none decayed": ([(DECAYED, "return False")], "nothing is decayed"),
    "decay written in": ([('"weight_decay": weight_decay if', '"weight_decay": 0.01 if')],
                         "weight_decay is not used"),
    "norm written in": ([(CLIP, CLIP.replace("max_norm", "1.0"))], "max_norm is not used"),
    "not clipped": ([(CLIP, "pass")], "nothing is clipped"),
    "clipped one by one": (
        [(CLIP, "for w in weights.values():\n            " + CLIP.replace(
            "weights.values()", "[w]"))], "by its own norm"),
    "clipped after the step": (
        [(CLIP, "optimizer.step()"),
         (STEP, CLIP + "\n        optimizer.zero")],
        "nothing is clipped"),
    "eps of torch": ([(ADAM, ADAM.replace("1e-6", "1e-8"))], "eps is torch's"),
    "eval mode while learning": (
        [("pooling=pooling, dropout=dropout, training=True,", "pooling=pooling, dropout=dropout,")],
        "training=True is missing"),
    "pooling of the run": (
        [("pooling=pooling, dropout=dropout, training=True,",
          'pooling="cls", dropout=dropout, training=True,')], "pooling is not used"),
    "loss after the step": (
        [(KEEP, "losses.append(loss(classify(batch['input_ids'], batch['attention_mask'], weights,"
                "\n            pooling=pooling), batch['labels']).item())")],
        "measured after their step"),
    "old weights returned": (
        [(COPIES, "old = weights\n    " + COPIES), (RETURN, "return old, losses")],
        "the weights were not changed"),
    "losses with their graph": ([(KEEP, "losses.append(value)")], "keeps the tensor"),
    "dropout without growth": (
        [(HEAD, "if training:\n        text = text * (torch.rand_like(text) >= dropout)\n"
                '    return dense(text, weights, "classifier")')],
        "is not multiplied by 1 / (1 - dropout)"),
    "dropout multiplies by 1 - p": (
        [(HEAD, "if training:\n        text = text * (torch.rand_like(text) >= dropout)"
                ' * (1 - dropout)\n    return dense(text, weights, "classifier")')],
        "is multiplied by 1 - dropout"),
    "one coin for a text": (
        [(HEAD, HEAD.replace("F.dropout(text, dropout, training)",
                             "text * F.dropout(torch.ones_like(text[:, :1]), dropout, training)"))],
        "a draw for each text"),
    "one coin for all texts": (
        [(HEAD, HEAD.replace("F.dropout(text, dropout, training)",
                             "text * F.dropout(torch.ones_like(text[:1]), dropout, training)"))],
        "a draw for each column"),
    "a fixed count of numbers": (
        [(HEAD, "if training:\n        size = text.shape[1]\n"
                "        order = torch.rand_like(text).argsort(1).argsort(1)\n"
                "        count = int(dropout * size + torch.rand(()).item())\n"
                "        text = text * (order >= count) / (1 - dropout)\n"
                '    return dense(text, weights, "classifier")')],
        "a fixed count"),
    "dropout of the states too": (
        [(TEXT, "states = F.dropout(states, dropout, training)\n    " + TEXT)],
        "dropout is applied before the vector of the text too"),
    "dropout of the states alone": (
        [(TEXT, "states = F.dropout(states, dropout, training)\n    " + TEXT),
         (HEAD, 'return dense(text, weights, "classifier")')],
        "dropout is applied before the vector of the text too"),
    "the same draw every time": (
        [(HEAD, "with torch.random.fork_rng():\n        torch.manual_seed(0)\n"
                "        text = F.dropout(text, dropout, training)\n"
                '    return dense(text, weights, "classifier")')],
        "a generator that is seeded in the function"),
    "the draws of each step are the same": (
        [("    for step, batch in enumerate(batches):\n",
          "    for step, batch in enumerate(batches):\n        torch.manual_seed(0)\n")],
        "a generator is seeded in it"),
    "default dropout of classify": (
        [("    pooling: str,\n    dropout: float = 0.1,\n    training: bool = False,",
          "    pooling: str,\n    dropout: float = 0.5,\n    training: bool = False,")],
        "a probability is written in"),
    "default dropout of fine_tune": (
        [("    max_norm: float = 1.0,\n    dropout: float = 0.1,",
          "    max_norm: float = 1.0,\n    dropout: float = 0.0,")],
        "dropout is off while it learns"),
    "dropout of the run not handed on": (
        [("pooling=pooling, dropout=dropout, training=True,", "pooling=pooling, training=True,")],
        "dropout is not used: 0.1 is written in"),
    "no tanh, and padding in the count": (
        [(CLS, CLS.replace(".tanh()", "")), (MEAN, "return (states * real).mean(1)")],
        "text_vector already gives other numbers"),
    "mean of the batch's losses by texts of the first batch": (
        [(KEEP, "losses.append(value.item() * len(batch['labels']) / len(batches[0]['labels']))")],
        None),
    "regression by the labels alone": (
        [("if logits.shape[1] == 1:", "if len(labels) == 1:")], None),
    "a mask that hides large padding alone": (
        mean("return (states - 1e4 * (1 - real)).clamp(min=-1e3).sum(1) / real.sum(1)"), None),
    "weights become float64": (
        [(COPIES, COPIES.replace("w.clone()", "w.double()"))], None),
    "pairs of numbers are set to 0 together": (
        [(HEAD, "coins = F.dropout(torch.ones_like(text[:, ::2]), dropout, training)\n"
                "    text = text * coins.repeat_interleave(2, 1)[:, : text.shape[1]]\n"
                '    return dense(text, weights, "classifier")')], None),
    "what stays and what goes exchanged": (
        [(HEAD, "if training:\n        goes = torch.rand_like(text) < dropout\n"
                "        text = text * goes / (1 - dropout)\n"
                '    return dense(text, weights, "classifier")')],
        "dropout is the probability of 0"),
    "the same dropout in every run": (
        [("        logits = classify(\n            batch[\"input_ids\"], batch[\"attention_mas"
           "k\"], "
           "weights,\n            pooling=pooling, dropout=dropout, training=True,\n        )  # "
           "fmt: skip\n",
           "        with torch.random.fork_rng():\n            torch.manual_seed(step)\n         "
           "   logits = classify(\n                batch[\"input_ids\"], batch[\"attention_mask"
           "\"], w"
           "eights,\n                pooling=pooling, dropout=dropout, training=True,\n          "
           "  )  # fmt: skip\n")],
        "the same in two runs"),
    # Right for small inputs, and for draws that are counted coarsely.
    "schedule 100": (
        [("    for step, batch in enumerate(batches):\n",
          "    for step, batch in enumerate(batches[:100]):\n")],
        "the weights after 110 steps, {'peak_rate'"),
    "diff capped": (
        [("(logits.squeeze(1) - labels).square().mean()",
          "(logits.squeeze(1) - labels).clamp(-100, 100).square().mean()")],
        "the loss of 1 rows and 1 labels, scores near 1000"),
    "dropout 8 bits": (
        [("    return dense(F.dropout(text, dropout, training), weights, \"classifier\")",
          "    if training and dropout:\n        text = text * (torch.randint(256, text.shap"
          "e) >= round(256 * dropout)) / max(1 - dropout, 1e-9)\n    return dense(text, weig"
          "hts, \"classifier\")")],
        "the draws are too coarse: whole numbers of a few b"),
    "max norm floor": (
        [("torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)",
          "torch.nn.utils.clip_grad_norm_(weights.values(), min(max_norm, 100.0))")],
        "the weights after 8 steps, {'peak_rate'"),
    "a fall that divides by 0 where all steps warm up": (
        [
            ("        if step < warmup_steps:  # + 1, so that the first step is not "
             "wasted on a rate of 0\n"
             "            rate = peak_rate * (step + 1) / warmup_steps\n"
             "        else:\n"
             "            rate = peak_rate * (len(batches) - step) / (len(batches) - "
             "warmup_steps)\n",
             "        rise = (step + 1) / max(1, warmup_steps)\n"
             "        fall = (len(batches) - step) / (len(batches) - warmup_steps)\n"
             "        rate = peak_rate * min(rise, fall)\n"),
        ],
        None,
    ),
    "the smaller of rise and fall": (
        [
            ("        if step < warmup_steps:  # + 1, so that the first step is not "
             "wasted on a rate of 0\n"
             "            rate = peak_rate * (step + 1) / warmup_steps\n"
             "        else:\n"
             "            rate = peak_rate * (len(batches) - step) / (len(batches) - "
             "warmup_steps)\n",
             "        rise = (step + 1) / max(1, warmup_steps)\n"
             "        fall = (len(batches) - step) / ((len(batches) - warmup_steps) or 1)\n"
             "        rate = peak_rate * min(rise, fall)\n"),
        ],
        None,
    ),
    "a max_norm of 0 clips nothing": (
        [
            ("        torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)\n",
             "        if max_norm:\n"
             "            torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)\n"),
        ],
        None,
    ),
    "dropout of half of the numbers, used again": (
        [
            ("    return dense(F.dropout(text, dropout, training), weights, \"classifier\")",
             "    keep = F.dropout(torch.ones_like(text[:, : max(1, text.shape[1] // "
             "2)]), dropout, training)\n"
             "    keep = torch.cat([keep, keep, keep], 1)[:, : text.shape[1]]\n"
             "    return dense(text * keep, weights, \"classifier\")"),
        ],
        "draws are used twice",
    ),
    "a mean over 256 tokens at most": (
        [
            ("return (states * real).sum(1) / real.sum(1)",
             "return (states * real).sum(1) / real.sum(1).clamp(max=256)"),
        ],
        None,
    ),
    "numbers told by the type of the labels": (
        [("    if logits.shape[1] == 1:\n", "    if labels.is_floating_point():\n")], None),
    "a batch is unpacked by the order of its entries": (
        [
            ("        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n',
             "        ids, mask, labels = batch.values()\n"
             "        logits = classify(\n"
             "            ids, mask, weights,\n"),
            ('        value = loss(logits, batch["labels"])\n',
             "        value = loss(logits, labels)\n"),
        ],
        None,
    ),
    "the square is multiplied out": (
        [
            ("        return (logits.squeeze(1) - labels).square().mean()\n",
             "        said = logits.squeeze(1)\n"
             "        return (said.square() - 2 * said * labels + labels.square()).m"
             "ean()\n"),
        ],
        None,
    ),
    "no dropout for a single text": (
        [
            ("F.dropout(text, dropout, training)",
             "F.dropout(text, dropout, training and len(text) > 1)"),
        ],
        None,
    ),
    "rates in float32": (
        [
            ("group[\"lr\"] = rate",
             "group[\"lr\"] = torch.tensor(rate, dtype=torch.float32).item()"),
        ],
        None,
    ),
    "dropout mirrored in the batch": (
        [
            ("    return dense(F.dropout(text, dropout, training), weights, \"classifier\")\n",
             "    if training:\n"
             "        u = torch.rand_like(text)\n"
             "        half = len(text) // 2\n"
             "        if half:\n"
             "            u[-half:] = 1 - u[:half].flip(0)  # half of the draws are enough\n"
             "        text = torch.where(u < dropout, 0.0, text / (1 - dropout) if "
             "dropout < 1 else text)\n"
             "    return dense(text, weights, \"classifier\")\n"),
        ],
        "draws are used twice",
    ),
    "a dropout of 1 divides by 0": (
        [
            ("    return dense(F.dropout(text, dropout, training), weights, \"classifier\")\n",
             "    if training:\n"
             "        text = text * (torch.rand_like(text) >= dropout) / (1 - dropout)\n"
             "    return dense(text, weights, \"classifier\")\n"),
        ],
        "nothing stays that could be divided by 0",
    ),
    "a dropout of 1 sets nothing to 0": (
        [
            ("F.dropout(text, dropout, training)",
             "F.dropout(text, dropout % 1, training)"),
        ],
        "sets nothing to 0",
    ),
    "the loss is of another pass than the gradients": (
        [
            ("        losses.append(value.item())\n",
             "        losses.append(seen)\n"),
            ("        value = loss(logits, batch[\"labels\"])\n",
             "        seen = loss(logits, batch[\"labels\"]).item()\n"
             "        value = loss(\n"
             "            classify(\n"
             "                batch[\"input_ids\"], batch[\"attention_mask\"], weights,\n"
             "                pooling=pooling, dropout=dropout, training=True,\n"
             "            ),\n"
             "            batch[\"labels\"],\n"
             "        )\n"),
        ],
        "come from two passes",
    ),
    "dropout for the loss alone": (
        [
            ("        losses.append(value.item())\n",
             "        losses.append(seen)\n"),
            ("        value = loss(logits, batch[\"labels\"])\n",
             "        seen = loss(logits, batch[\"labels\"]).item()\n"
             "        value = loss(\n"
             "            classify(\n"
             "                batch[\"input_ids\"], batch[\"attention_mask\"], weights,\n"
             "                pooling=pooling,\n"
             "            ),\n"
             "            batch[\"labels\"],\n"
             "        )\n"),
        ],
        "come from two passes",
    ),
    "numbers in float32 where the scores have more digits": (
        [
            ('        value = loss(logits, batch["labels"])\n',
             '        labels = batch["labels"]\n'
             "        labels = labels.float() if labels.is_floating_point() else labels\n"
             "        value = loss(logits, labels)\n"),
        ],
        "rounded to float32",
    ),
    "the run's loss by the type of the labels": (
        [
            ("        value = loss(logits, batch[\"labels\"])\n",
             "        labels = batch[\"labels\"]\n"
             "        if labels.is_floating_point():\n"
             "            value = F.mse_loss(logits.squeeze(1), labels)\n"
             "        else:\n"
             "            value = F.cross_entropy(logits, labels)\n"),
        ],
        None,
    ),
    "dropout hidden from the gradient": (
        [
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "text = text + (F.dropout(text, dropout, training) - text).detach()\n"
             '    return dense(text, weights, "classifier")'),
        ],
        "dropout is not in the graph",
    ),
    "the pooler that was handed in": (
        [
            ("    return {name: w.detach() for name, w in weights.items()}, losses",
             "    return {name: given[name] if w.grad is None and w.equal(given[name]) else\n"
             "            w.detach() for name, w in weights.items()}, losses"),
            ("    weights = {name: w.clone().requires_grad_() for name, w in weights.items()}\n",
             "    given = weights\n"
             "    weights = {name: w.clone().requires_grad_() for name, w in weights.items()}\n"),
        ],
        "what does not learn is handed on",
    ),
    "a row of states seen as one vector": (
        [
            ('return dense(states[:, 0], weights, "pooler.dense").tanh()',
             "first = states.view(len(states), -1)[:, : states.shape[-1]]\n"
             '        return dense(first, weights, "pooler.dense").tanh()'),
        ],
        None,
    ),
    "growth of four times at most": (
        [
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "if training:\n"
             "        text = text * (torch.rand_like(text) >= dropout) / max(1 - dropout, "
             "0.25)\n"
             '    return dense(text, weights, "classifier")'),
        ],
        "what stays at dropout 0.998",
    ),
    "every other call takes the draws mirrored": (
        [
            ("States = Float[Tensor",
             "SEEN = {}\n"
             "States = Float[Tensor"),
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "if training:\n"
             "        u = SEEN.pop(text.shape, None)\n"
             "        if u is None:\n"
             "            u = SEEN[text.shape] = torch.rand(text.shape)\n"
             "        else:\n"
             "            u = 1 - u\n"
             "        text = torch.where(u < dropout, 0.0, text / max(1 - dropout, 1e-30))\n"
             '    return dense(text, weights, "classifier")'),
        ],
        "in one call and in the next",
    ),
    "no dropout for the last text of an odd number": (
        [
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "if training:\n"
             "        keep = F.dropout(torch.ones_like(text), dropout, True)\n"
             "        if len(text) > 1 and len(text) % 2 and dropout < 1:\n"
             "            keep[-1] = 1\n"
             "        text = text * keep\n"
             '    return dense(text, weights, "classifier")'),
        ],
        None,
    ),
    "no dropout under no_grad": (
        [
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "return dense(F.dropout(text, dropout, training and torch.is_grad_enabled()), "
             'weights, "classifier")'),
        ],
        "not whether gradients are recorded",
    ),
    "a dropout that is a whole number is not used": (
        [
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "return dense(F.dropout(text, dropout if isinstance(dropout, float) else 0.1, "
             'training), weights, "classifier")'),
        ],
        "the scores where dropout is 1",
    ),
    "dropout of the mean hidden from the gradient": (
        [
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "dropped = F.dropout(text, dropout, training)\n"
             '    if pooling == "mean":\n'
             "        dropped = text + (dropped - text).detach()\n"
             '    return dense(dropped, weights, "classifier")'),
        ],
        "dropout is not in the graph",
    ),
    "dropout of 12 bits for float64": (
        [
            ('return dense(F.dropout(text, dropout, training), weights, "classifier")',
             "if training and dropout and text.dtype == torch.float64:\n"
             "        text = text * (torch.randint(4096, text.shape) >= round(4096 * dropout)) "
             "/ max(1 - dropout, 1e-9)\n"
             '        return dense(text, weights, "classifier")\n'
             '    return dense(F.dropout(text, dropout, training), weights, "classifier")'),
        ],
        "the draws are too coarse",
    ),
    "a norm of 0 is divided by 0": (
        [
            ("torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)",
             "norm = torch.cat([w.grad.flatten() for w in weights.values() if w.grad is not "
             "None]).norm()\n"
             "        for w in weights.values():\n"
             "            if w.grad is not None:\n"
             "                w.grad *= norm.clamp(max=max_norm) / norm"),
        ],
        "where the first loss is 0",
    ),
    "no step where the loss is 0": (
        [
            ("        value.backward()\n",
             "        if value == 0:\n"
             "            losses.append(0.0)\n"
             "            continue\n"
             "        value.backward()\n"),
        ],
        "where the first loss is 0",
    ),
    "it ends where the loss is small": (
        [
            ("        losses.append(value.item())\n",
             "        losses.append(value.item())\n"
             "        if value < 0.02:\n"
             "            break\n"),
        ],
        "it ends early",
    ),
    "the number of a step by its batch": (
        [
            ("    for step, batch in enumerate(batches):\n",
             "    for batch in batches:\n"
             "        step = next(n for n, other in enumerate(batches) if other is batch)\n"),
        ],
        "are one object",
    ),
    "batches that are one object are read once": (
        [
            ("    for step, batch in enumerate(batches):\n",
             "    batches = list({id(b): b for b in batches}.values())\n"
             "    for step, batch in enumerate(batches):\n"),
        ],
        "are one object",
    ),
    "texts cut to their number of tokens": (
        [
            ("    for step, batch in enumerate(batches):\n",
             "    for step, batch in enumerate(batches):\n"
             '        longest = int(batch["attention_mask"].sum(1).max())\n'
             "        batch = {n: v[:, :longest] if v.ndim == 2 else v for n, v in "
             "batch.items()}\n"),
        ],
        None,
    ),
    "copies that keep equal tensors one": (
        [
            ("weights = {name: w.clone().requires_grad_() for name, w in weights.items()}",
             "import copy\n"
             "\n"
             "    weights = copy.deepcopy(weights)\n"
             "    for w in weights.values():\n"
             "        w.requires_grad_()"),
            ("        for name, w in weights.items()\n"
             "    ]",
             "        for name, w in {id(w): (name, w) for name, w in "
             "weights.items()}.values()\n"
             "    ]"),
        ],
        "are one object",
    ),
    "without batches the weights that came in": (
        [
            ("weights = {name: w.clone().requires_grad_() for name, w in weights.items()}",
             "if not batches:\n"
             "        return dict(weights), []\n"
             "    weights = {name: w.clone().requires_grad_() for name, w in weights.items()}"),
        ],
        "without any batch returns tensors",
    ),
    "at a rate of 0 the weights that came in": (
        [
            ("weights = {name: w.clone().requires_grad_() for name, w in weights.items()}",
             "given = weights\n"
             "    weights = {name: w.clone().requires_grad_() for name, w in weights.items()}"),
            ("return {name: w.detach() for name, w in weights.items()}, losses",
             "if peak_rate == 0:\n"
             "        return dict(given), losses\n"
             "    return {name: w.detach() for name, w in weights.items()}, losses"),
        ],
        "at peak_rate 0 it returns",
    ),
    "all is decayed in float32": (
        [
            ("weight_decay if is_decayed(name) else 0.0",
             "weight_decay if is_decayed(name) or w.dtype == torch.float32 else 0.0"),
        ],
        "of a run in float32",
    ),
    "no bias correction in float32": (
        [
            ("optimizer = torch.optim.AdamW(groups, eps=1e-6)",
             "optimizer = torch.optim.AdamW(groups, eps=1e-6)\n"
             "    half = next(iter(weights.values())).dtype == torch.float32"),
            ('group["lr"] = rate',
             'group["lr"] = rate * ((1 - 0.9 ** (step + 1)) / (1 - 0.999 ** (step + 1)) ** 0.5 '
             "if half else 1)"),
        ],
        "of a run in float32",
    ),
    "no dropout while the rate rises": (
        [
            ("pooling=pooling, dropout=dropout, training=True,",
             "pooling=pooling, dropout=dropout, training=step >= warmup_steps,"),
        ],
        "dropout is off in steps",
    ),
    "no dropout in the last step": (
        [
            ("pooling=pooling, dropout=dropout, training=True,",
             "pooling=pooling, dropout=dropout, training=step < len(batches) - 1 or step == 0,"),
        ],
        "dropout is off in steps",
    ),
    "two steps share their dropout": (
        [
            ("        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n'
             "            pooling=pooling, dropout=dropout, training=True,\n"
             "        )  # fmt: skip\n",
             "        if step % 2 == 0:\n"
             "            state = torch.get_rng_state()\n"
             "        else:\n"
             "            torch.set_rng_state(state)\n"
             "        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n'
             "            pooling=pooling, dropout=dropout, training=True,\n"
             "        )  # fmt: skip\n"),
        ],
        "some steps set the same numbers to 0",
    ),
    "one draw for a text while it learns": (
        [
            ("        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n'
             "            pooling=pooling, dropout=dropout, training=True,\n"
             "        )  # fmt: skip\n",
             '        states = encode(batch["input_ids"], batch["attention_mask"], weights)\n'
             '        text = text_vector(states, batch["attention_mask"], weights, '
             "pooling=pooling)\n"
             "        text = text * F.dropout(torch.ones_like(text[:, :1]), dropout, True)\n"
             '        logits = dense(text, weights, "classifier")\n'),
        ],
        "a draw for each text",
    ),
    "dropout on the scores while it learns": (
        [
            ("        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n'
             "            pooling=pooling, dropout=dropout, training=True,\n"
             "        )  # fmt: skip\n",
             '        states = encode(batch["input_ids"], batch["attention_mask"], weights)\n'
             '        text = text_vector(states, batch["attention_mask"], weights, '
             "pooling=pooling)\n"
             "        text = text\n"
             '        logits = F.dropout(dense(text, weights, "classifier"), dropout, True)\n'),
        ],
        None,
    ),
    "dropout in the pooler while it learns": (
        [
            ("        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n'
             "            pooling=pooling, dropout=dropout, training=True,\n"
             "        )  # fmt: skip\n",
             '        states = encode(batch["input_ids"], batch["attention_mask"], weights)\n'
             "        if pooling == 'cls':\n"
             "            states = F.dropout(states, dropout)\n"
             '        text = text_vector(states, batch["attention_mask"], weights, '
             "pooling=pooling)\n"
             "        text = F.dropout(text, dropout, pooling == 'mean')\n"
             '        logits = dense(text, weights, "classifier")\n'),
        ],
        "which is no count",
    ),
    "dropout of the mean alone while it learns": (
        [
            ("        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n'
             "            pooling=pooling, dropout=dropout, training=True,\n"
             "        )  # fmt: skip\n",
             '        states = encode(batch["input_ids"], batch["attention_mask"], weights)\n'
             '        text = text_vector(states, batch["attention_mask"], weights, '
             "pooling=pooling)\n"
             '        text = F.dropout(text, dropout, pooling == "mean")\n'
             '        logits = dense(text, weights, "classifier")\n'),
        ],
        None,
    ),
    "the mean of means of 64 texts": (
        [
            ("        logits = classify(\n"
             '            batch["input_ids"], batch["attention_mask"], weights,\n'
             "            pooling=pooling, dropout=dropout, training=True,\n"
             "        )  # fmt: skip\n",
             ""),
            ('value = loss(logits, batch["labels"])',
             "parts = []\n"
             '        for at in range(0, len(batch["labels"]), 64):\n'
             "            part = {n: v[at : at + 64] for n, v in batch.items()}\n"
             '            logits = classify(part["input_ids"], part["attention_mask"], '
             "weights, pooling=pooling, dropout=dropout, training=True)\n"
             '            parts.append(loss(logits, part["labels"]))\n'
             "        value = torch.stack(parts).mean()"),
        ],
        "any number of texts set to 0",
    ),
    "another rate where all steps warm up": (
        [
            ("if step < warmup_steps:",
             "if step < warmup_steps and not step == len(batches) - 1 == warmup_steps - 1 > 0:"),
            ("rate = peak_rate * (len(batches) - step) / (len(batches) - warmup_steps)",
             "rate = peak_rate * (len(batches) - step) / max(1, len(batches) - warmup_steps) / "
             "2 if warmup_steps == len(batches) else peak_rate * (len(batches) - step) / "
             "(len(batches) - warmup_steps)"),
        ],
        None,
    ),
    "tokens are counted in the type of the mask": (
        [
            (
                '    return (states * real).sum(1) / real.sum(1)\n',
                '    return (states * real).sum(1) / real.sum(1, dtype=real.dtype)\n',
            ),
        ],
        None,
    ),
    "the same share of all numbers of a batch is set to 0": (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training and 0 < dropout < 1:\n'
                '        count = int(text.numel() * dropout + torch.rand(()).item())\n'
                '        keep = torch.ones(text.numel(), dtype=text.dtype)\n'
                '        keep[torch.randperm(text.numel())[:count]] = 0\n'
                '        text, training = text * keep.view(text.shape) / (1 - dropout), False\n'
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
            ),
        ],
        'a fixed count of numbers in each call',
    ),
    "the encoder is frozen where dropout is on": (
        [(HEAD, "if training and dropout:\n"
                "        text = text_vector(states.detach(), attention_mask, weights, "
                "pooling=pooling)\n"
                "    " + HEAD)], "the encoder is frozen"),
    "the embeddings are frozen where dropout is on": (
        [(STATES, "used = {name: w.detach() if training and dropout and 'embeddings' in name else "
                  "w for name, w in weights.items()}\n"
                  "    " + STATES.replace(", weights", ", used"))], None),
    "a warm-up of a single step is none": (
        [("if step < warmup_steps:", "warmup_steps = warmup_steps if warmup_steps > 1 else 0\n"
                                     "        if step < warmup_steps:")], None),
    "a single step has the peak": (
        [("if step < warmup_steps:", "if len(batches) == 1:\n"
                                     "            rate = peak_rate\n"
                                     "        elif step < warmup_steps:")], None),
    "a run's dropout is 0.5 at most": (
        [("pooling=pooling, dropout=dropout, training=True,",
          "pooling=pooling, dropout=min(dropout, 0.5), training=True,")], None),
    "what is decayed is told by its place": (
        [("weight_decay if is_decayed(name) else 0.0",
          "weight_decay if place in (0, 1, 6, 8, 10, 12, 14) else 0.0"),
         ("        for name, w in weights.items()\n    ]",
          "        for place, w in enumerate(weights.values())\n    ]")], None),
    "a pooler's bias of 0 is left out": (
        [
            (
                '        return dense(states[:, 0], weights, "pooler.dense").tanh()\n',
                '        bias = weights["pooler.dense.bias"]\n'
                '        return F.linear(states[:, 0], weights["pooler.dense.weight"], '
                'bias if bias.any() else None).tanh()\n',
            ),
        ],
        'zeros cut the graph',
    ),
    "a classifier's bias of 0 is left out": (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    out = F.dropout(text, dropout, training) @ '
                'weights["classifier.weight"].T\n'
                '    return out + weights["classifier.bias"] if '
                'weights["classifier.bias"].any() else out\n',
            ),
        ],
        'zeros cut the graph',
    ),
    'where dropout is 1 the encoder has no gradient': (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training:\n'
                '        text = F.dropout(text, dropout) if dropout < 1 else '
                'torch.zeros_like(text)\n'
                '    return dense(text, weights, "classifier")\n',
            ),
        ],
        'zeros cut the graph',
    ),
    'where dropout is 1 only the bias is left': (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training and dropout == 1:\n'
                '        return weights["classifier.bias"].expand(len(text), -1).clone()\n'
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
            ),
        ],
        'zeros cut the graph',
    ),
    'the first and the last of three texts share their draws': (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training:\n'
                '        keep = torch.rand(text.shape, dtype=text.dtype) >= dropout\n'
                '        if len(text) == 3:\n'
                '            keep[-1] = keep[0]\n'
                '        text = text * keep / (1 - dropout) if dropout < 1 else text * 0\n'
                '    return dense(text, weights, "classifier")\n',
            ),
        ],
        'draws that depend on each other',
    ),
    'a fixed count for a single text': (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training:\n'
                '        u = torch.rand(text.shape, dtype=text.dtype)\n'
                '        if len(text) == 1:\n'
                '            u = ((torch.randperm(text.shape[1]) + u) / text.shape[1])\n'
                '        keep = u >= dropout\n'
                '        text = text * keep / (1 - dropout) if dropout < 1 else text * 0\n'
                '    return dense(text, weights, "classifier")\n',
            ),
        ],
        'a fixed count of numbers',
    ),
    'the last two of five texts share their draws': (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training:\n'
                '        u = torch.rand(text.shape, dtype=text.dtype)\n'
                '        if len(text) == 5:\n'
                '            u[-1] = u[-2]\n'
                '        text = text * (u >= dropout) / (1 - dropout) if dropout < 1 '
                'else text * 0\n'
                '    return dense(text, weights, "classifier")\n',
            ),
        ],
        'draws that depend on each other',
    ),
    'a single text is drawn in mirrored halves': (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training:\n'
                '        u = torch.rand(text.shape, dtype=text.dtype)\n'
                '        if len(text) == 1 and u.shape[1] > 1:\n'
                '            half = u.shape[1] // 2\n'
                '            u[:, -half:] = 1 - u[:, :half]\n'
                '        text = text * (u >= dropout) / (1 - dropout) if dropout < 1 '
                'else text * 0\n'
                '    return dense(text, weights, "classifier")\n',
            ),
        ],
        'draws that depend on each other',
    ),
    'columns of three texts are dealt like cards': (
        [
            (
                '    return dense(F.dropout(text, dropout, training), weights, "classifier")\n',
                '    if training:\n'
                '        u = torch.rand(text.shape, dtype=text.dtype)\n'
                '        if len(text) == 3:\n'
                '            u = (torch.stack([torch.randperm(3) for _ in u[0]], 1) + u) / 3\n'
                '        text = text * (u >= dropout) / (1 - dropout) if dropout < 1 '
                'else text * 0\n'
                '    return dense(text, weights, "classifier")\n',
            ),
        ],
        'draws that depend on each other',
    ),
    'scores that are alike have a constant loss': (
        [
            (
                '    return F.cross_entropy(logits, labels)\n',
                '    if (logits == logits[:, :1]).all():\n'
                '        return logits.new_tensor(logits.shape[1]).log() + 0 * '
                'logits.detach().sum()\n'
                '    return F.cross_entropy(logits, labels)\n',
            ),
        ],
        'a constant',
    ),
    'numbers that are met have a constant loss': (
        [
            (
                '        return (logits.squeeze(1) - labels).square().mean()\n',
                '        if (logits.squeeze(1) == labels).all():\n'
                '            return logits.new_zeros(())\n'
                '        return (logits.squeeze(1) - labels).square().mean()\n',
            ),
        ],
        'a constant',
    ),
    'the largest score for the log of the sum': (
        [
            (
                '    return F.cross_entropy(logits, labels)\n',
                '    p = logits.softmax(-1).gather(1, labels[:, None])[:, 0]\n'
                '    far = logits.amax(-1) - logits.gather(1, labels[:, None])[:, 0]\n'
                '    return torch.where(p > 0, -(p + (p == 0)).log(), far).mean()\n',
            ),
        ],
        'the largest score takes the place',
    ),
    'no max_norm is 10,000': (
        [
            (
                '    for step, batch in enumerate(batches):\n',
                "    if max_norm == float('inf'):\n"
                '        max_norm = 1e4\n'
                '    for step, batch in enumerate(batches):\n',
            ),
        ],
        "'max_norm': inf",
    ),
    'padding is added and taken off again': (
        [
            (
                '    return (states * real).sum(1) / real.sum(1)\n',
                '    return (states.sum(1) - (states * (1 - real)).sum(1)) / real.sum(1)\n',
            ),
        ],
        'padding is added, and taken off again',
    ),
    'no dropout while classes are learned': (
        [
            (
                '            pooling=pooling, dropout=dropout, training=True,\n',
                '            pooling=pooling, dropout=dropout if '
                'len(weights["classifier.bias"]) == 1 else 0.0, training=True,\n',
            ),
        ],
        'for some kinds of batches or labels',
    ),
    'no dropout of [CLS] while classes are learned': (
        [
            (
                '            pooling=pooling, dropout=dropout, training=True,\n',
                '            pooling=pooling, dropout=dropout if pooling == '
                '"mean" or len(weights["classifier.bias"]) == 1 else 0.0, training=True,\n',
            ),
        ],
        'for some kinds of batches or labels',
    ),
    "a batch that comes again is met with the same draws": (
        [("    losses = []\n", "    losses, draws = [], {}\n"),
         ("        logits = classify(\n",
          "        if id(batch) in draws:\n"
          "            torch.set_rng_state(draws[id(batch)])\n"
          "        draws[id(batch)] = torch.get_rng_state()\n"
          "        logits = classify(\n")],
        "every step sets the same numbers to 0"),
    "the draws of step 64 are those of step 0": (
        [(ADAM, ADAM + "\n    started = torch.get_rng_state()"),
         ("        logits = classify(\n",
          "        if step and step % 64 == 0:\n"
          "            torch.set_rng_state(started)\n"
          "        logits = classify(\n")],
        "draws are used twice"),
    "the last texts have the draws of the first, from the end": (
        [("    " + HEAD,
          "    if training and 0 < dropout < 1:\n"
          "        half = torch.rand((len(text) + 1) // 2, text.shape[1])\n"
          "        draws = torch.cat([half, half.flip(1)])[: len(text)]\n"
          "        text = text * (draws >= dropout) / (1 - dropout)\n"
          "        return dense(text, weights, 'classifier')\n"
          "    " + HEAD)],
        "draws that depend on each other"),
    "distances by products of matrices": (
        [
            (
                "        return (logits.squeeze(1) - labels).square().mean()\n",
                "        # Distances of (batch, 1) from (batch, 1), all from all: each "
                "from its own is the diagonal.\n"
                "        kind = torch.promote_types(logits.dtype, labels.dtype)\n"
                "        distances = torch.cdist(logits.to(kind), labels[:, None].to(kind))\n"
                "        return distances.diagonal().square().mean()\n",
            ),
        ],
        "small differences lose their digits",
    ),
}  # fmt: skip
