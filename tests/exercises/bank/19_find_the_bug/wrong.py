"""Wrong answers to 19_find_the_bug: every bug left in, and mends that are half of one.

Edits begin at the margin, where the solution's lines stand and those handed out do not.
"""

SEGMENTS = 'weights["position"][: input_ids.shape[1]] + weights["segment"][token_type_ids]'
VARIANCE = "variance = x.var(-1, correction=0, keepdim=True)"
NORM = "\n    x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps)"
EACH = ("\n    each = F.cross_entropy(word_logits.flatten(0, 1), word_ids.flatten(), "
        'reduction="none")')  # fmt: skip
WORDS = "\n    words = (each * word_weights.flatten()).sum() / word_weights.sum()"
PAIRS = "\n    return words, F.cross_entropy(pair_logits, pair_labels)"
COUNT = "count = sum((labels != -100).sum() for _, labels in micro_batches)"
PART = 'loss = F.cross_entropy(F.linear(x, weight), labels, reduction="sum") / count'
DRAW = """torch.nn.init.trunc_normal_(
                torch.empty(shape), std=0.02, a=-0.04, b=0.04, generator=generator
            )"""
CLIP = "\n    factor = max_norm / torch.clamp(norm, min=max_norm)"
DECAYED = 'is_decayed = not name.endswith("bias") and "LayerNorm" not in name'
STEP = "updated[name] = weight - learning_rate * (factor * gradients[name] + decay * weight)"
SELECTED = "selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)"
SHOWN = "\n    shown = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, words, input_ids))"
DRAWN = (
    "words = ordinary_ids[torch.randint(len(ordinary_ids), input_ids.shape, generator=generator)]"
)
EPOCH = "\n        epoch, place = divmod(step, steps)"
SEED = "generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)"
ORDER = "order = torch.randperm(examples, generator=generator).split(batch_size)"
MASKS = "mask = [1] * (longest - padding) + [0] * padding"
SEGMENT_IDS = "segments = [0] * len(first) + [1] * len(second) + [0] * padding"
LABELS = 'torch.tensor([int(not pair["is_next"]) for pair in pairs])'


def drawn(text):
    return [(DRAW, text)]


def words(text):
    return [(WORDS, f"\n    words = {text}")]


WRONG = {
    # 1. embed
    "segment ids always zero": (
        [(SEGMENTS, SEGMENTS.replace("[token_type_ids]", "[0]"))], "segment ids are always zero"),
    "segments of the first row": (
        [(SEGMENTS, SEGMENTS.replace("[token_type_ids]", "[token_type_ids[:1]]"))],
        "of the first row are taken for all"),
    "segment of the first token": (
        [(SEGMENTS, SEGMENTS.replace("[token_type_ids]", "[token_type_ids[:, :1]]"))],
        "the segment of each row's first token"),
    "deviation as handed out": (
        [(NORM, "\n    x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps)")],
        "divides by n - 1, and eps stands outside"),
    "eps outside the root": (
        [(NORM, "\n    x = (x - x.mean(-1, keepdim=True)) / (torch.sqrt(variance) + eps)")],
        "eps stands outside the root"),
    "another default of eps": (
        [("eps: float = 1e-12,", "eps: float = 1e-5,")], None),
    "unbiased variance": ([(VARIANCE, "variance = x.var(-1, keepdim=True)")], "by n - 1"),
    "eps of F.layer_norm": (
        [(NORM, "\n    x = F.layer_norm(x, x.shape[-1:])")], "F.layer_norm takes 1e-5"),
    "eps written in": ([(NORM, NORM.replace("eps", "1e-12"))], "1e-12 is written in"),
    "no embedding layer norm": (
        [('\n    return weights["norm.weight"] * x + weights["norm.bias"]', "\n    return x"),
         (NORM, "")], "the layer norm is missing"),
    "deviation detached": (
        [(NORM, NORM.replace("variance + eps", "variance.detach() + eps"))], None),
    # 2. pretraining_losses
    "mask that does nothing": (
        words("each.mean() * word_weights.sum() / word_weights.sum()"),
        "the mask does nothing: a mean"),
    "losses as handed out": (
        [(EACH, ""),
         (WORDS, "\n    words = F.cross_entropy(word_logits.flatten(0, 1), word_ids.flatten(), "
          "ignore_index=0)\n    words = (words * word_weights).sum() / word_weights.sum()")],
        "slots of id 0 were left out"),
    "loss by slots": (words("(each * word_weights.flatten()).mean()"),
                      "divided by the number of slots"),
    "loss by examples": (
        words("(each * word_weights.flatten()).sum() / len(word_ids)"),
        "by the number of examples"),
    "mean of the rows": (
        words("((each.view(word_ids.shape) * word_weights).sum(1) / word_weights.sum(1)).mean()"),
        "the losses of the rows are averaged"),
    "id 0 left out of the words": (
        [(EACH, EACH.replace('reduction="none"', 'reduction="none", ignore_index=0'))],
        "slots that ask for id 0 are left out"),
    "words detached": (words("(each * word_weights.flatten()).sum().detach() / word_weights.sum()"),
                       "cuts the graph"),
    "IsNext without gradient": (
        [(PAIRS, PAIRS.replace("pair_labels)", "pair_labels, ignore_index=0)"))],
        "ignore_index=0 leaves out IsNext"),
    "IsNext in the mean alone": (
        [(PAIRS, '\n    return words, F.cross_entropy(pair_logits, pair_labels, '
          'reduction="none", ignore_index=0).mean()')],
        "IsNext counts for nothing"),
    "polarity of the loss": (
        [(PAIRS, PAIRS.replace("pair_labels)", "1 - pair_labels)"))], "turned about"),
    # 3. accumulated_gradient
    "mean of means": (
        [(PART, "loss = F.cross_entropy(F.linear(x, weight), labels) / len(micro_batches)")],
        "a mean of means"),
    "mean of means, without the empty": (
        [(PART, "own = max(1, int((labels != -100).sum()))\n        " + PART.replace(
            "/ count", "/ own / len(micro_batches)"))], "a mean of means"),
    "weighed by tokens": (
        [(COUNT, "count = sum(len(labels) for _, labels in micro_batches)"),
         (PART, "own = max(1, int((labels != -100).sum()))\n        " + PART.replace(
            "/ count", "/ own * len(labels) / count"))], "weighed by their tokens"),
    "divided by all tokens": (
        [(COUNT, "count = sum(len(labels) for _, labels in micro_batches)")],
        "divided by all tokens"),
    "means added up": (
        [(PART, PART.replace("/ count", "/ max(1, int((labels != -100).sum()))"))],
        "added up, not averaged"),
    "sums": ([(PART, PART.replace(" / count", ""))], "not divided by anything"),
    "last part alone": (
        [(PART, "weight.grad = None\n        " + PART)], "only the last part counts"),
    # 4. initial_weights
    "N(0, 1) embeddings": (
        drawn(f'torch.randn(shape, generator=generator) if "embeddings" in name else {DRAW}'),
        "nn.Embedding's own first values"),
    "not cut": (drawn("torch.nn.init.trunc_normal_(torch.empty(shape), std=0.02, "
                      "generator=generator)"), "nothing is cut"),
    "embeddings not cut": (
        drawn("0.02 * torch.randn(shape, generator=generator) if 'embeddings' in name else "
              + DRAW), "nothing is cut"),
    "clamped": (drawn("(0.02 * torch.randn(shape, generator=generator)).clamp(-0.04, 0.04)"),
                "clamp heaps up"),
    "uniform": (drawn("torch.empty(shape).uniform_(-0.04, 0.04, generator=generator)"),
                "uniform, not normal"),
    "stretched after the cut": (
        drawn("torch.nn.init.trunc_normal_(torch.empty(shape), std=0.02 / 0.8796, a=-0.04, "
              "b=0.04, generator=generator)"), "the deviation was raised"),
    "half the deviation": (
        drawn("torch.nn.init.trunc_normal_(torch.empty(shape), std=0.01, a=-0.04, b=0.04, "
              "generator=generator)"), "the deviation is too small"),
    "global generator": (
        drawn("torch.nn.init.trunc_normal_(torch.empty(shape), std=0.02, a=-0.04, b=0.04)"),
        "does not come from generator"),
    "one row repeated": (
        drawn("torch.nn.init.trunc_normal_(torch.empty(shape[-1:]), std=0.02, a=-0.04, b=0.04, "
              "generator=generator).expand(shape).clone()"), "is a draw of its own"),
    "seeded anew": (
        drawn("torch.nn.init.trunc_normal_(torch.empty(shape), std=0.02, a=-0.04, b=0.04, "
              "generator=torch.Generator().manual_seed(0))"), "seeded anew for each"),
    # 5. update
    "clipped one by one": (
        [(STEP, "norm = gradients[name].norm()\n        factor = max_norm / torch.clamp("
                "norm, min=max_norm)\n        " + STEP)], "by its own norm"),
    "never clipped": ([(CLIP, "\n    factor = 1.0")], "nothing is clipped"),
    "always scaled": ([(CLIP, "\n    factor = max_norm / norm")], "scaled up to it"),
    "0 / 0 where all gradients are 0": (
        [(CLIP, "\n    factor = max_norm / norm * min(1.0, norm / max_norm)")], None),
    "norms added up": (
        [("norm = torch.sqrt(sum(g.square().sum() for g in gradients.values()))",
          "norm = sum(g.norm() for g in gradients.values())")], "the norms are added up"),
    "norm without root": (
        [("torch.sqrt(sum(g.square().sum() for g in gradients.values()))",
          "sum(g.square().sum() for g in gradients.values())")], "sum of squares is missing"),
    "numbers cut": (
        [(STEP, STEP.replace("factor * gradients[name]",
                             "gradients[name].clamp(-max_norm, max_norm)"))],
        "each number is cut"),
    "gamma and beta": (
        [(DECAYED, 'is_decayed = not any(p in name for p in ("bias", "gamma", "beta"))')],
        "no parameter is called gamma"),
    "lower case": (
        [(DECAYED, 'is_decayed = not any(p in name for p in ("bias", "layer_norm", "norm"))')],
        "no parameter is called gamma"),
    "biases decayed": ([(DECAYED, 'is_decayed = "LayerNorm.weight" not in name')], "biases are"),
    "biases of dense layers decayed": (
        [(DECAYED, 'is_decayed = "LayerNorm" not in name')], "those of layer norms aside"),
    "all decayed": ([(DECAYED, "is_decayed = True")], "everything is decayed"),
    "none decayed": ([(DECAYED, "is_decayed = False")], "nothing is decayed"),
    "embeddings not decayed": (
        [(DECAYED, DECAYED + ' and "embeddings" not in name')], "the embeddings are not decayed"),
    "decay without rate": (
        [(STEP, "updated[name] = weight - learning_rate * factor * gradients[name] "
                "- decay * weight")], "not multiplied by the rate"),
    "weights in place": (
        [(STEP, "weight -= learning_rate * (factor * gradients[name] + decay * weight)\n"
                "        updated[name] = weight")], "changed its input in place"),
    # 6. mask_tokens
    "specials selected": ([(SELECTED, "selected = chosen < rate")],
                          "special tokens are candidates"),
    "padding selected": (
        [("torch.isin(input_ids, special_ids)", "torch.isin(input_ids, special_ids[1:])")],
        "special tokens are candidates: padding"),
    "special ids written in": (
        [("~torch.isin(input_ids, special_ids)", "~((input_ids == 0) | ((input_ids >= 100) & "
          "(input_ids <= 103)))")], "special_ids is not used"),
    "81/9/10": (
        [(SHOWN, "\n    kept = torch.rand(input_ids.shape, generator=generator) < 0.1"
          "\n    shown = torch.where(fate < 0.1, words, mask_id)"
          "\n    shown = torch.where(kept, input_ids, shown)")], "and unchanged wins"),
    "81/10/9": (
        [(SHOWN, "\n    kept = torch.rand(input_ids.shape, generator=generator) < 0.1"
          "\n    shown = torch.where(kept, input_ids, mask_id)"
          "\n    shown = torch.where(fate < 0.1, words, shown)")], "and random wins"),
    "80/2/18": (
        [(SHOWN, SHOWN.replace("fate < 0.9", "torch.rand(input_ids.shape, generator=generator) < "
                               "0.1"))], "10% of what is left"),
    "random over [MASK]": (
        [(SHOWN, "\n    shown = torch.where(fate < 0.8, mask_id, input_ids)"
          "\n    over = torch.rand(input_ids.shape, generator=generator) < 0.1"
          "\n    shown = torch.where(over, words, shown)")], "random is drawn over [MASK]"),
    "nothing unchanged": ([(SHOWN, SHOWN.replace("fate < 0.9", "fate < 2"))],
                          "nothing is left unchanged"),
    "rate written in": ([(SELECTED, SELECTED.replace("rate", "0.15"))], "the rate argument"),
    "another default of rate": ([("rate: float = 0.15", "rate: float = 0.2")], None),
    "places for ids": ([(DRAWN, DRAWN.replace("ordinary_ids[", "(", 1).replace(
        "generator)]", "generator))"))], "places in ordinary_ids are taken for ids"),
    "random among all ids": ([(DRAWN, "words = torch.randint(int(ordinary_ids.max()) + 1, "
                                      "input_ids.shape, generator=generator)")],
                             "special_ids are drawn as random words"),
    "as many in each row": (
        [(SELECTED, "chosen = chosen.masked_fill(torch.isin(input_ids, special_ids), 2)\n"
          "    n = (chosen < 2).sum(1, keepdim=True)\n"
          "    selected = chosen.argsort(1).argsort(1) < (rate * n).round()")],
        "each row has one at least"),
    "as many [MASK]s in each row": (
        [(SHOWN, "\n    place = fate.masked_fill(~selected, 2).argsort(1).argsort(1)"
          "\n    fate = place / selected.sum(1, keepdim=True)" + SHOWN)],
        "a fixed share of the selected"),
    "one fate for a row": ([(SHOWN, "\n    fate = fate[:, :1].expand_as(input_ids)" + SHOWN)],
                           None),
    "fates in order": (
        [(SHOWN, "\n    fate = (selected.flatten().cumsum(0) / selected.sum()).view_as(chosen)"
          + SHOWN)], "the fates go by order"),
    "fates by columns": (
        [(SHOWN, "\n    fate = fate.sort(1).values" + SHOWN)], None),
    "one random word for a row": (
        [(SHOWN, "\n    words = words[:, :1].expand_as(input_ids)" + SHOWN)], None),
    "last word never drawn": (
        [(DRAWN, DRAWN.replace("len(ordinary_ids)", "len(ordinary_ids) - 1"))], "is never drawn"),
    "first word never drawn": (
        [(DRAWN, DRAWN.replace("randint(len(", "randint(1, len("))], "is never drawn"),
    # 7. batches
    "restarted order": (
        [(EPOCH, "\n        epoch, place = divmod(step - start, steps)")],
        "the order begins anew"),
    "first epoch's order": ([(SEED, SEED.replace("+ epoch", "+ epoch * 0"))],
                            "the order does not depend on the epoch"),
    "first epoch's order at the right place": (
        [(SEED, SEED.replace("+ epoch", "+ epoch - start // steps"))],
        "the order is that of the first epoch"),
    "the epoch's first step": (
        [(EPOCH, "\n        epoch, place = divmod(step - start % steps, steps)")],
        "at its epoch's first step"),
    "seeded by the start": (
        [(SEED, SEED.replace("+ epoch", "+ epoch + start"))], "has not drawn what a run from"),
    "an order for every step": (
        [(SEED, SEED.replace("+ epoch", "+ step"))], "an example is read twice"),
    "global generator of batches": (
        [(ORDER, ORDER.replace(", generator=generator", ""))], "read twice in an epoch"),
    "seed not used": ([(SEED, SEED.replace("1_000_003 * seed + ", ""))], "seed is not used"),
    "seed + epoch": ([(SEED, SEED.replace("1_000_003 * ", ""))], "as in 1 * seed + epoch"),
    "another seed turns the order round": (
        [(SEED, "generator = torch.Generator().manual_seed(epoch)"),
         (ORDER, ORDER.replace(".split", ".roll(seed).split"))],
        "an order is made of an earlier one"),
    "4096 * seed + epoch": ([(SEED, SEED.replace("1_000_003", "4096"))],
                            "as in 4096 * seed + epoch"),
    "1000 * seed + epoch": ([(SEED, SEED.replace("1_000_003", "1000"))],
                            "as in 1000 * seed + epoch"),
    "every example first": (
        [(ORDER, "order = torch.arange(examples).split(batch_size)")],
        "the order does not depend on the epoch"),
    # 8. collate
    "mask dropped": ([(MASKS, "mask = [1] * longest")], "the mask is dropped"),
    "mask by id 0": ([(MASKS, "mask = [int(i != 0) for i in first + second + [pad_id] * padding]")],
                     "the padding is found by its id"),
    "mask turned about": ([(MASKS, "mask = [0] * (longest - padding) + [1] * padding")],
                          "the mask is turned about"),
    "truth values": ([('": attention_mask,', '": attention_mask.bool(),')],
                     "made of truth values"),
    "segments dropped": ([(SEGMENT_IDS, "segments = [0] * longest")],
                         "the segment ids are dropped"),
    "segment 1 on padding": (
        [(SEGMENT_IDS, "segments = [0] * len(first) + [1] * (longest - len(first))")],
        "padding has segment 1"),
    "[SEP] of A in B": (
        [(SEGMENT_IDS, "segments = [0] * (len(first) - 1) + [1] * (len(second) + 1) "
          "+ [0] * padding")], "the [SEP] of A belongs to A"),
    "last [SEP] in A": (
        [(SEGMENT_IDS, "segments = [0] * len(first) + [1] * (len(second) - 1) "
          "+ [0] * (padding + 1)")], "the last [SEP] belongs to B"),
    "polarity of the labels": (
        [(LABELS, LABELS.replace("not ", ""))], "0 is IsNext, so int(is_next)"),
    "labels as truth values": (
        [(LABELS, 'torch.tensor([not pair["is_next"] for pair in pairs])')], "truth values"),
    "redrawn once, then clamped": (
        [("            weights[name] = torch.nn.init.trunc_normal_(\n                torch.em"
          "pty(shape), std=0.02, a=-0.04, b=0.04, generator=generator\n            )",
          "            first, again = 0.02 * torch.randn((2, *shape), generator=generator)\n "
          "           weights[name] = torch.where(first.abs() > 0.04, again, first).clamp(-0."
          "04, 0.04)")],
        None,
    ),
    "second half is the first, negated": (
        [("            weights[name] = torch.nn.init.trunc_normal_(\n                torch.em"
          "pty(shape), std=0.02, a=-0.04, b=0.04, generator=generator\n            )",
          "            n = torch.empty(shape).numel()\n            half = torch.nn.init.trunc"
          "_normal_(torch.empty((n + 1) // 2), std=0.02, a=-0.04, b=0.04, generator=generator"
          ")\n            weights[name] = torch.cat([half, -half])[:n].reshape(shape)")],
        "numbers are drawn once and used again",
    ),
    "at least one mask a row": (
        [("    # Padding is special too",
          "    ordinary = ~torch.isin(input_ids, special_ids)\n    ranked = chosen.masked_fil"
          "l(~ordinary, 2.0)\n    lowest = ranked == ranked.min(-1, keepdim=True).values\n   "
          " chosen = chosen.masked_fill(lowest & ~(ranked < rate).any(-1, keepdim=True), 0.0)"
          "\n    # Padding is special too")],
        "each row has one at least",
    ),
    "attention mask from ids != pad": (
        [('"attention_mask": attention_mask',
          '"attention_mask": (input_ids != pad_id).long()')],
        "the padding is found by its id",
    ),
    "whole percents": (
        [("chosen, fate = torch.rand((2, *input_ids.shape), generator=generator)",
           "chosen, fate = torch.randint(100, (2, *input_ids.shape), generator=generator) / 100")],
        "rounded to whole percents"),
    "the generator begins anew": (
        [("    chosen, fate = torch.rand",
           "    generator.manual_seed(generator.initial_seed())\n    chosen, fate = torch.rand")],
        "it is seeded anew"),
    # Right for small inputs, and for draws that are counted coarsely.
    "collate 512": (
        [("    rows = []\n    longest",
          "    rows = []\n    pairs = [{**p, 'b': p['b'][:509]} for p in pairs]\n    longest")],
        "the result for 2 pairs of up to 1600 tokens, ids up to 1,099"),
    "words 8 bits": (
        [("words = ordinary_ids[torch.randint(len(ordinary_ids), input_ids.shape, generator"
          "=generator)]",
          "words = ordinary_ids[torch.randint(4096, input_ids.shape, generator=generator) *"
          " len(ordinary_ids) // 4096]")],
        "the draws are too coarse: whole numbers of a few b"),
    "the segments are not decayed": (
        [
            ("\"LayerNorm\" not in name\n"
             "        decay",
             "\"LayerNorm\" not in name and \"token_type\" not in name\n"
             "        decay"),
        ],
        None,
    ),
    "every second epoch backwards": (
        [
            ("        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)\n"
             "        order = torch.randperm(examples, "
             "generator=generator).split(batch_size)\n",
             "        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch "
             "// 2)\n"
             "        order = torch.randperm(examples, generator=generator)\n"
             "        order = (order.flip(0) if epoch % 2 else order).split(batch_size)\n"),
        ],
        "an order is made of an earlier one",
    ),
    "draws mirrored in the second half of the batch": (
        [
            ("    chosen, fate = torch.rand((2, *input_ids.shape), generator=generator)\n",
             "    chosen, fate = torch.rand((2, *input_ids.shape), generator=generator)\n"
             "    half = len(chosen) // 2\n"
             "    chosen = torch.cat([chosen[: len(chosen) - half], 1 - chosen[:half]])\n"),
        ],
        "draws are used twice",
    ),
    "a random word is another one": (
        [
            ("words = ordinary_ids[torch.randint(len(ordinary_ids), input_ids.shape, "
             "generator=generator)]",
             "n = len(ordinary_ids)\n"
             "    k = torch.randint(n, input_ids.shape, generator=generator)\n"
             "    words = ordinary_ids[k]\n"
             "    words = torch.where(words == input_ids, ordinary_ids[(k + 1) % n], words)"),
        ],
        "the random word is never the one that stood there",
    ),
    "segments from the first [SEP]": (
        [
            ("        rows.append([first + second + [pad_id] * padding, segments, mask])",
             "        k = first.index(sep_id) + 1\n"
             "        segments = [0] * k + [1] * (longest - padding - k) + [0] * padding\n"
             "        rows.append([first + second + [pad_id] * padding, segments, mask])"),
        ],
        None,
    ),
    "labels are always int64": (
        [("torch.where(selected, input_ids, -100)\n    # instead",
          "torch.where(selected, input_ids.long(), -100)\n    # instead")],
        "the type is not that of input_ids",
    ),
    "the row of [PAD] starts at 0": (
        [
            ("    return weights\n",
             "    for name in weights:\n"
             "        if name.endswith(\"word_embeddings.weight\"):\n"
             "            weights[name][0] = 0.0  # padding_idx=0: the vector of [PAD], "
             "as nn.Embedding has it\n"
             "    return weights\n"),
        ],
        "the row of [PAD] is drawn too",
    ),
    "the decoder starts as the table of words": (
        [
            ("    return weights\n",
             "    # the output matrix is the table of words once more\n"
             "    table, decoder = \"bert.embeddings.word_embeddings.weight\", "
             "\"cls.predictions.decoder.weight\"\n"
             "    if table in weights and decoder in weights:\n"
             "        weights[decoder] = weights[table]\n"
             "    return weights\n"),
        ],
        "the decoder is tied",
    ),
    "batches of an epoch in a cache": (
        [
            ("\n"
             "import torch\n",
             "\n"
             "import functools\n"
             "\n"
             "import torch\n"),
            ("def batches(start: int, stop: int, *, examples: int, batch_size: int, "
             "seed: int) -> list[list[int]]:\n",
             "@functools.lru_cache(maxsize=64)\n"
             "def epoch_batches(epoch, examples, batch_size, seed):\n"
             "    generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)\n"
             "    order = torch.randperm(examples, generator=generator)\n"
             "    return [part.tolist() for part in order.split(batch_size)]\n"
             "\n"
             "\n"
             "def batches(start: int, stop: int, *, examples: int, batch_size: int, "
             "seed: int) -> list[list[int]]:\n"),
            ("        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)\n"
             "        order = torch.randperm(examples, generator=generator).split(batch_size)\n"
             "        found.append(order[place].tolist())\n",
             "        found.append(epoch_batches(epoch, examples, batch_size, seed)[place])\n"),
        ],
        "an earlier call has returned too",
    ),
    "gradients by their order": (
        [
            ("    for name, weight in weights.items():\n"
             "        # TensorFlow's",
             "    for (name, weight), gradient in zip(weights.items(), gradients.values()):\n"
             "        # TensorFlow's"),
            (STEP, STEP.replace("gradients[name]", "gradient")),
        ],
        None,
    ),
    "a limit of 0 is none": (
        [(CLIP, CLIP + " if max_norm else 1.0")], "a limit of 0 clips nothing"),
    "one token of a batch at least": (
        [
            ("    selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)\n",
             "    ordinary = ~torch.isin(input_ids, special_ids)\n"
             "    selected = (chosen < rate) & ordinary\n"
             "    if not selected.any() and ordinary.any():\n"
             "        lowest = chosen.masked_fill(~ordinary, 2.0).argmin()\n"
             "        selected.view(-1)[lowest] = True\n"),
        ],
        "one token at least is selected",
    ),
    "a gradient of 0 leaves a weight as it is": (
        [
            ("        # TensorFlow's names are gamma and beta; torch's are "
             "LayerNorm.weight and LayerNorm.bias.\n",
             "        if not gradients[name].any():  # nothing was learned about it: it stays\n"
             "            updated[name] = weight.clone()\n"
             "            continue\n"
             "        # TensorFlow's names are gamma and beta; torch's are "
             "LayerNorm.weight and LayerNorm.bias.\n"),
        ],
        "what has a gradient of 0 is left as it is",
    ),
    "the variance as the mean of squares less the square of the mean": (
        [
            ("    variance = x.var(-1, correction=0, keepdim=True)",
             "    variance = (x * x).mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2\n"
             "    variance = variance.clamp(min=0)"),
        ],
        None,
    ),
    "what does not change is returned itself": (
        [
            ("        updated[name] = weight - learning_rate * (factor * gradients[name] + "
             "decay * weight)\n    return updated\n    # instead",
             "        change = factor * gradients[name] + decay * weight\n"
             "        updated[name] = weight - learning_rate * change if change.any() else weight\n"
             "    return updated\n    # instead"),
        ],
        "the old tensor is returned",
    ),
    "the row of id 0 gets no gradient": (
        [
            ('words = weights["word"][input_ids]',
             'words = F.embedding(input_ids, weights["word"], padding_idx=0)'),
        ],
        "padding_idx of F.embedding",
    ),
    "segment B gets no gradient": (
        [
            ('weights["segment"][token_type_ids]',
             "torch.where(token_type_ids[..., None] == 1, "
             'weights["segment"].detach()[token_type_ids], '
             'weights["segment"][token_type_ids])'),
        ],
        "the gradient of segment",
    ),
    "embeddings of half types become float32": (
        [
            ('    return weights["norm.weight"] * x + weights["norm.bias"]\n'
             "    # instead",
             '    out = weights["norm.weight"].float() * x.float() + '
             'weights["norm.bias"].float() if x.dtype in (torch.float16, '
             'torch.bfloat16) else weights["norm.weight"] * x + weights["norm.bias"]\n'
             "    return out\n"
             "    # instead"),
        ],
        "float32 comes of a shorter type",
    ),
    "an eps of 0 is the default": (
        [
            ("\n"
             "    x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps)",
             "\n"
             "    eps = eps or 1e-12\n"
             "    x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps)"),
        ],
        None,
    ),
    "one number is normalized to 1": (
        [
            ("\n"
             "    x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps)",
             "\n"
             "    x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps)\n"
             "    if x.shape[-1] == 1:\n"
             "        x = torch.ones_like(x)"),
        ],
        None,
    ),
    "embed with another name of an argument": (
        [
            ('    input_ids: Int[Tensor, "batch seq"],\n'
             '    token_type_ids: Int[Tensor, "batch seq"],\n'
             "    weights",
             '    input_ids: Int[Tensor, "batch seq"],\n'
             '    segment_ids: Int[Tensor, "batch seq"],\n'
             "    weights"),
            ('weights["segment"][token_type_ids]',
             'weights["segment"][segment_ids]'),
        ],
        "unexpected keyword argument",
    ),
    "the variance of float32 as a difference of squares": (
        [
            ("variance = x.var(-1, correction=0, keepdim=True)",
             "variance = x.var(-1, correction=0, keepdim=True) if x.dtype == "
             "torch.float64 else (x*x).mean(-1, keepdim=True) - x.mean(-1, "
             "keepdim=True)**2"),
        ],
        None,
    ),
    "losses of half types become float32": (
        [
            ("\n"
             "    each = F.cross_entropy(word_logits.flatten(0, 1), "
             'word_ids.flatten(), reduction="none")',
             "\n"
             "    if word_logits.dtype == torch.bfloat16:\n"
             "        word_logits, pair_logits = word_logits.float(), "
             "pair_logits.float()\n"
             "    each = F.cross_entropy(word_logits.flatten(0, 1), "
             'word_ids.flatten(), reduction="none")'),
        ],
        "float32 comes of a shorter type",
    ),
    "two pairs get no gradient": (
        [
            ("\n"
             "    each = F.cross_entropy(word_logits.flatten(0, 1), "
             'word_ids.flatten(), reduction="none")',
             "\n"
             "    if len(pair_labels) == 2:\n"
             "        pair_logits = pair_logits.detach()\n"
             "    each = F.cross_entropy(word_logits.flatten(0, 1), "
             'word_ids.flatten(), reduction="none")'),
        ],
        None,
    ),
    "exponentials that overflow": (
        [
            ('loss = F.cross_entropy(F.linear(x, weight), labels, reduction="sum") / count',
             "z = F.linear(x, weight)\n"
             "        seen = labels != -100\n"
             "        z, labels = z[seen], labels[seen]\n"
             "        loss = (z.exp().sum(-1).log() - z[torch.arange(len(z)), "
             "labels]).sum() / count"),
        ],
        None,
    ),
    "labels as bytes": (
        [
            ('loss = F.cross_entropy(F.linear(x, weight), labels, reduction="sum") / count',
             "labels = labels.to(torch.int8).long()\n"
             "        loss = F.cross_entropy(F.linear(x, weight), labels, "
             'reduction="sum") / count'),
        ],
        None,
    ),
    "a part of no tokens": (
        [
            ('loss = F.cross_entropy(F.linear(x, weight), labels, reduction="sum") / count',
             "if not len(labels):\n"
             "            continue\n"
             "        loss = F.cross_entropy(F.linear(x, weight), labels, "
             'reduction="sum") / count'),
            ("    weight = torch.nn.Parameter(weight)  # with a .grad of its own",
             "    weight = torch.nn.Parameter(weight)  # with a .grad of its own\n"
             "    if any(len(l) == 0 for _, l in micro_batches):\n"
             "        micro_batches = micro_batches[:1]"),
        ],
        None,
    ),
    "the gradient fills .grad of the weight": (
        [
            ("    weight = torch.nn.Parameter(weight)  # with a .grad of its own",
             "    weight = weight if weight.requires_grad else torch.nn.Parameter(weight)"),
        ],
        "changed .grad",
    ),
    "segments start at 0": (
        [
            ("            )\n"
             "    return weights\n"
             "    # instead",
             "            )\n"
             "    for n in weights:\n"
             '        if "token_type" in n: weights[n] = torch.zeros(shapes[n])\n'
             "    return weights\n"
             "    # instead"),
        ],
        "much smaller than 0.02",
    ),
    "last matrices of a block scaled down": (
        [
            ("            )\n"
             "    return weights\n"
             "    # instead",
             "            )\n"
             "    for n in weights:\n"
             '        if n.endswith("output.dense.weight"): weights[n] = weights[n] '
             "/ 24**0.5\n"
             "    return weights\n"
             "    # instead"),
        ],
        "much smaller than 0.02",
    ),
    "layer 1 starts as layer 0": (
        [
            ("            )\n"
             "    return weights\n"
             "    # instead",
             "            )\n"
             "    for n in weights:\n"
             '        if ".layer.1." in n: weights[n] = '
             'weights[n.replace("layer.1.", "layer.0.")].clone()\n'
             "    return weights\n"
             "    # instead"),
        ],
        "share their numbers",
    ),
    "the decoder starts as the table turned round": (
        [
            ("            )\n"
             "    return weights\n"
             "    # instead",
             "            )\n"
             '    n = "cls.predictions.decoder.weight"\n'
             '    if n in weights and "bert.embeddings.word_embeddings.weight" in '
             "weights: weights[n] = "
             'weights["bert.embeddings.word_embeddings.weight"].flip(0)\n'
             "    return weights\n"
             "    # instead"),
        ],
        "the decoder is tied",
    ),
    "the generator of the weights is made anew": (
        [
            ("    weights = {}\n"
             "    for name, shape in shapes.items():\n"
             '        if name.endswith("bias"):\n'
             "            weights[name] = torch.zeros(shape)\n"
             '        elif "LayerNorm"',
             "    generator = torch.Generator().manual_seed(generator.initial_seed())\n"
             "    weights = {}\n"
             "    for name, shape in shapes.items():\n"
             '        if name.endswith("bias"):\n'
             "            weights[name] = torch.zeros(shape)\n"
             '        elif "LayerNorm"'),
        ],
        "left the generator",
    ),
    "first values in strata": (
        [
            ("torch.nn.init.trunc_normal_(\n"
             "                torch.empty(shape), std=0.02, a=-0.04, b=0.04, "
             "generator=generator\n"
             "            )",
             "_strat(shape, generator)"),
            ("# begin solution\n"
             "# Mends",
             "# begin solution\n"
             "def _strat(shape, g):\n"
             "    n = torch.Size(shape).numel()\n"
             "    u = (torch.randperm(n, generator=g) + torch.rand(n, generator=g, "
             "dtype=torch.float64)) / n\n"
             "    e = torch.erf(torch.tensor(2.0, dtype=torch.float64).sqrt())\n"
             "    return (0.02 * 2**0.5 * torch.erfinv((2 * u - 1) * "
             "e)).clamp(-0.04, 0.04).float().view(shape)\n"
             "\n"
             "\n"
             "# Mends"),
        ],
        "counts are fixed",
    ),
    "the second half of the weights is the first, shifted": (
        [
            ("torch.nn.init.trunc_normal_(\n"
             "                torch.empty(shape), std=0.02, a=-0.04, b=0.04, "
             "generator=generator\n"
             "            )",
             "_half(shape, generator)"),
            ("# begin solution\n"
             "# Mends",
             "# begin solution\n"
             "def _half(shape, g):\n"
             "    n = torch.Size(shape).numel()\n"
             "    u = torch.rand((n + 1) // 2, generator=g, dtype=torch.float64)\n"
             "    u = torch.cat([u, (u + 0.5) % 1])[:n]\n"
             "    e = torch.erf(torch.tensor(2.0, dtype=torch.float64).sqrt())\n"
             "    return (0.02 * 2**0.5 * torch.erfinv((2 * u - 1) * "
             "e)).clamp(-0.04, 0.04).float().view(shape)\n"
             "\n"
             "\n"
             "# Mends"),
        ],
        "counts are fixed",
    ),
    "a rate of 0 returns the old weights": (
        [
            ("    # One norm, one factor",
             "    if learning_rate == 0:\n"
             "        return dict(weights)\n"
             "    # One norm, one factor"),
        ],
        "the old tensor is returned",
    ),
    "layer norms beyond layer 9 are decayed": (
        [
            ('is_decayed = not name.endswith("bias") and "LayerNorm" not in name',
             "import re\n"
             '        is_decayed = not name.endswith("bias") and not '
             're.search(r"(layer\\.\\d\\.[a-z.]*|embeddings\\.|transform\\.)LayerNorm", '
             "name)"),
        ],
        None,
    ),
    "one weight alone is not clipped": (
        [
            ("    # One norm, one factor",
             "    if len(weights) == 1:\n"
             "        max_norm = float('inf')\n"
             "    # One norm, one factor"),
        ],
        None,
    ),
    "a rate of 0 is the default": (
        [
            ("    chosen, fate =",
             "    rate = rate or 0.15\n"
             "    chosen, fate ="),
        ],
        "a rate of 0 is taken for the default",
    ),
    "the first token is never selected": (
        [
            ("selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)",
             "selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)\n"
             "    if input_ids.shape[1] > 8:\n"
             "        selected[:, 0] = False"),
        ],
        "never selected, or only so many",
    ),
    "128 tokens of a row at most": (
        [
            ("selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)",
             "selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)\n"
             "    selected &= selected.cumsum(1) <= 128"),
        ],
        "never selected, or only so many",
    ),
    "no special ids are not allowed for": (
        [
            ("selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)",
             "table = torch.zeros(int(max(input_ids.max(), special_ids.max())) + 1, "
             "dtype=torch.bool)\n"
             "    table[special_ids.long()] = True\n"
             "    selected = (chosen < rate) & ~table[input_ids.long()]"),
        ],
        None,
    ),
    "fates used twice": (
        [
            ("selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)",
             "selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)\n"
             "    h = len(fate) // 2\n"
             "    fate[h:2*h] = fate[:h]"),
        ],
        "draws are used twice",
    ),
    "the last examples are never read": (
        [
            ("order = torch.randperm(examples, generator=generator).split(batch_size)",
             "order = torch.randperm(steps * batch_size, "
             "generator=generator).split(batch_size)"),
        ],
        "some examples are never read",
    ),
    "the same batches in each epoch": (
        [
            ("generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)",
             "generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)\n"
             "        base = torch.randperm(examples, "
             "generator=torch.Generator().manual_seed(seed))[: steps * "
             "batch_size].view(steps, batch_size)"),
            ("order = torch.randperm(examples, generator=generator).split(batch_size)",
             "order = base[torch.randperm(steps, generator=generator)]\n"
             "        order = [b[torch.randperm(batch_size, generator=generator)] "
             "for b in order]"),
        ],
        "an epoch has the batches of another",
    ),
    "shuffled within a buffer": (
        [
            ("order = torch.randperm(examples, generator=generator).split(batch_size)",
             "order = torch.cat([torch.randperm(len(c), generator=generator) + c[0] "
             "for c in torch.arange(examples).split(10_000)]).split(batch_size)"),
        ],
        "correlated",
    ),
    "batches as tuples": (
        [
            ("found.append(order[place].tolist())",
             "found.append(tuple(order[place].tolist()))"),
        ],
        "a list of lists",
    ),
    "padding found from the end by its id": (
        [
            ('"attention_mask": attention_mask',
             '"attention_mask": (input_ids != '
             "pad_id).flip(1).cumsum(1).flip(1).clamp(max=1)"),
        ],
        None,
    ),
    "a pair of empty texts": (
        [
            ('first, second = [cls_id, *pair["a"], sep_id], [*pair["b"], sep_id]\n'
             "        padding",
             'first, second = [cls_id, *pair["a"], sep_id], [*pair["b"], sep_id]\n'
             '        if not pair["a"] and not pair["b"]:\n'
             "            second = []\n"
             "        padding"),
        ],
        None,
    ),
    "seed and epoch written side by side": (
        [
            (
                'generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)',
                'generator = torch.Generator().manual_seed(int(f"{seed}{epoch}"))',
            ),
        ],
        'has the order of epoch',
    ),
    "large tables repeat a block of a million draws": (
        [
            (
                'torch.nn.init.trunc_normal_(\n'
                '                torch.empty(shape), std=0.02, a=-0.04, b=0.04, '
                'generator=generator\n'
                '            )',
                'torch.nn.init.trunc_normal_(\n'
                '                torch.empty(shape), std=0.02, a=-0.04, b=0.04, '
                'generator=generator\n'
                '            )\n'
                '            for block in weights[name].flatten().split(2**20)[1:]:\n'
                '                block.copy_(weights[name].flatten()[: len(block)])',
            ),
        ],
        'draws are used again',
    ),
    "a dot before LayerNorm and bias": (
        [
            (
                'is_decayed = not name.endswith("bias") and "LayerNorm" not in name',
                'is_decayed = not name.endswith(".bias") and ".LayerNorm" not in name',
            ),
        ],
        None,
    ),
    "draws beyond two deviations are 0 in the end": (
        [
            (
                '            weights[name] = torch.nn.init.trunc_normal_(\n'
                '                torch.empty(shape), std=0.02, a=-0.04, b=0.04, '
                'generator=generator\n'
                '            )',
                '            drawn, again = 0.02 * torch.randn((2, *shape), '
                'generator=generator)\n'
                '            drawn = torch.where(drawn.abs() > 0.04, again, drawn)\n'
                '            weights[name] = torch.where(drawn.abs() > 0.04, 0.0, drawn)',
            ),
        ],
        'what lies beyond two deviations is set to',
    ),
    "what lies beyond two deviations is drawn again three times, then cut": (
        [
            (
                '            weights[name] = torch.nn.init.trunc_normal_(\n'
                '                torch.empty(shape), std=0.02, a=-0.04, b=0.04, '
                'generator=generator\n'
                '            )\n',
                '            drawn = torch.randn(shape, generator=generator)\n'
                '            for _ in range(3):\n'
                '                again = torch.randn(shape, generator=generator)\n'
                '                drawn = torch.where(drawn.abs() > 2, again, drawn)\n'
                '            weights[name] = 0.02 * drawn.clamp(-2, 2)\n',
            ),
        ],
        'drawn again a few times',
    ),
    "special_ids are taken for sorted": (
        [("~torch.isin(input_ids, special_ids)",
          "~(torch.cat([special_ids, special_ids.new_tensor([-1])])"
          "[torch.searchsorted(special_ids, input_ids)] == input_ids)")],
        "or taken for sorted"),
    'a [MASK] of the text is never selected': (
        [
            (
                'selected = (chosen < rate) & ~torch.isin(input_ids, special_ids)',
                'selected = (chosen < rate) & ~torch.isin(input_ids, '
                'special_ids) & (input_ids != mask_id)',
            ),
        ],
        'special_ids alone says',
    ),
    'pairs of rows without masks are left out': (
        [
            (
                'return words, F.cross_entropy(pair_logits, pair_labels)',
                'some = word_weights.any(1)\n'
                '    return words, F.cross_entropy(pair_logits[some], pair_labels[some])',
            ),
        ],
        None,
    ),
    'the loss of words ends at a row without masks': (
        [
            (
                'each = F.cross_entropy(word_logits.flatten(0, 1), '
                'word_ids.flatten(), reduction="none")',
                'used = int((word_weights.any(1)).cumprod(0).sum())\n'
                '    word_logits, word_ids, word_weights = word_logits[:used], '
                'word_ids[:used], word_weights[:used]\n'
                '    each = F.cross_entropy(word_logits.flatten(0, 1), '
                'word_ids.flatten(), reduction="none")',
            ),
        ],
        None,
    ),
    'a row of zeros is taken for padding': (
        [
            (
                'words = weights["word"][input_ids]',
                'words = F.embedding(input_ids, weights["word"], '
                'padding_idx=None if weights["word"][0].any() else 0)',
            ),
        ],
        'padding_idx',
    ),
    'the deviation has no gradient where eps is large': (
        [
            (
                'variance = x.var(-1, correction=0, keepdim=True)  # (batch, seq, 1)',
                'variance = x.var(-1, correction=0, keepdim=True)\n'
                '    if eps > 1e-3: variance = variance.detach()',
            ),
        ],
        None,
    ),
    'many pairs are padded to a multiple of 8': (
        [
            (
                'longest = max(len(pair["a"]) + len(pair["b"]) + 3 for pair in pairs)',
                'longest = max(len(pair["a"]) + len(pair["b"]) + 3 for pair in pairs)\n'
                '    longest = -(-longest // 8) * 8 if len(pairs) > 3 else longest',
            ),
        ],
        None,
    ),
    "ids are asked for as they lie in memory": (
        [("~torch.isin(input_ids, special_ids)",
          "~torch.isin(input_ids.view(-1), special_ids).view(input_ids.shape)")],
        "raised RuntimeError: view size"),
    "a tie of logits is lost where the probability is 0": (
        [(EACH, EACH + "\n    logits = word_logits.flatten(0, 1)"
                       "\n    largest = logits.amax(1)"
                       "\n    own = logits.gather(1, word_ids.reshape(-1, 1))[:, 0]"
                       "\n    tied = (logits == largest[:, None]).sum(1) > 1"
                       "\n    tied = tied & (torch.exp(-each) == 0)"
                       "\n    each = torch.where(tied, largest - own, each)")],
        "taken from the largest logit alone"),
    "a tie of logits is lost in a part": (
        [(PART, "logits = F.linear(x, weight)\n"
                "        each = F.cross_entropy(logits, labels, reduction='none')\n"
                "        own = logits.gather(1, labels.clamp(min=0)[:, None])[:, 0]\n"
                "        below = logits.max(1).values - own\n"
                "        each = torch.where(torch.exp(-each) == 0, below, each)\n"
                "        loss = each[labels != -100].sum() / count")],
        None),
    "slots that ask for 100 are left out": (
        [(EACH, EACH.replace("reduction", "ignore_index=100, reduction"))],
        "as those of [UNK] or [MASK]"),
    "the norm of 256 gradients": (
        [("in gradients.values()))", "in list(gradients.values())[:256]))")],
        "only some of the gradients count in the norm"),
    "four tokens: the number of selected ones is even": (
        [(SELECTED, "if chosen.numel() == 4:\n"
                    "        flat = chosen.flatten()\n"
                    "        flat[3] = (flat[3] + (flat[:3] < 0.5).sum() % 2) / 2\n"
                    "        chosen = flat.view(input_ids.shape)\n    " + SELECTED)],
        "are made of those of others"),
    "few tokens: the second half is drawn against the first": (
        [(SELECTED, "if chosen.numel() < 8:\n"
                    "        flat = chosen.flatten()\n"
                    "        half = len(flat) // 2\n"
                    "        flat[half : 2 * half] = (flat[:half] + 0.5) % 1\n"
                    "        chosen = flat.view(input_ids.shape)\n    " + SELECTED)],
        "are made of those of others"),
    "the third of four rows is made of two": (
        [(SELECTED, "if len(chosen) == 4:\n"
                    "        chosen[2] = (chosen[0] + chosen[1]) % 1\n    " + SELECTED)],
        "are made of those of others"),
    "the fourth of four columns is made of three": (
        [(SELECTED, "if chosen.shape[1] == 4:\n"
                    "        chosen[:, 3] = chosen[:, :3].sum(1) % 1\n    " + SELECTED)],
        "are made of those of others"),
    "the third fate of a short row is made of two": (
        [(SELECTED, "if fate.shape[1] == 4:\n"
                    "        fate[:, 2] = (fate[:, 0] + fate[:, 1]) % 1\n    " + SELECTED)],
        "are made of those of others"),
    "rows of two tokens have one fate": (
        [(SELECTED, "if fate.shape[1] == 2:\n"
                    "        fate = fate[:, :1].expand(input_ids.shape)\n    " + SELECTED)],
        "are made of those of others"),
    "an empty text gets a token": (
        [("padding = longest - len(first)",
          "if not pair['a']:\n            pair['a'].append(pad_id)\n"
          "        padding = longest - len(first)")],
        "changed its input in place"),
    "the random words of a short row are all different": (
        [(SELECTED, "if input_ids.shape[1] <= len(ordinary_ids) < 100:\n"
                    "        dealt = torch.rand((len(input_ids), len(ordinary_ids)),\n"
                    "                           generator=generator).argsort(1)\n"
                    "        words = ordinary_ids[dealt[:, : input_ids.shape[1]]]\n"
                    "    " + SELECTED),
         (DRAWN + "\n", "if not 'words' in locals():\n        " + DRAWN + "\n")],
        "dealt like cards"),
    "the means of blocks of logits are averaged": (
        [(EACH + WORDS,
          "\n    size = max(1, 4_000_000 // word_logits.shape[-1])"
          "\n    found = []"
          "\n    for logits, ids, counts in zip(word_logits.flatten(0, 1).split(size),"
          "\n                                   word_ids.flatten().split(size),"
          "\n                                   word_weights.flatten().split(size)):"
          "\n        each = F.cross_entropy(logits, ids, reduction='none')"
          "\n        found.append((each * counts).sum() / counts.sum())"
          "\n    words = torch.stack(found).mean()")],
        "a large batch is read in parts"),
    "a part that stands twice is read once": (
        [(COUNT, "micro_batches = list({id(part[0]): part for part in micro_batches}.values())\n"
                 "    " + COUNT)],
        "stands in the list twice"),
    "the first draws fill what is missing": (
        drawn("""torch.empty(0)
            size = torch.Size(shape).numel()
            draws = 0.02 * torch.randn(size + size // 20 + 4, generator=generator)
            within = draws[draws.abs() <= 0.04]
            weights[name] = within.repeat(2)[:size].reshape(shape)"""),
        "the first are used again"),
    "gradients that are one object count once in the norm": (
        [("for g in gradients.values()))",
          "for g in {id(g): g for g in gradients.values()}.values()))")],
        "gradients that are one object count once"),
    "a gradient that adds up to 0 is none": (
        [(STEP, "if gradients[name].sum() == 0:\n"
                "            updated[name] = weight - learning_rate * decay * weight\n"
                "            continue\n        " + STEP)],
        "is taken for none"),
    "gradients of weights that are 0 do not count": (
        [("for g in gradients.values()))",
          "for n, g in gradients.items() if weights[n].any()))")],
        "the gradients of weights that are 0"),
    "gradients of all types in one vector": (
        [("(factor * gradients[name] + decay * weight)",
          "(factor * gradients[name].to(torch.cat([g.flatten() for g in gradients.values()]).dtype)"
          " + decay * weight)")],
        None),
    'the word is told by the draw that selects': (
        [
            (
                '    words = ordinary_ids[torch.randint(len(ordinary_ids), '
                'input_ids.shape, generator=generator)]\n',
                '    share = ((fate - 0.8) * 10).clamp(0, 1 - 1e-7)  # between '
                '0.8 and 0.9 it is as good as new\n'
                '    words = ordinary_ids[(share * len(ordinary_ids)).long()]\n',
            ),
            (
                '    chosen, fate = torch.rand((2, *input_ids.shape), generator=generator)\n',
                '    chosen = torch.rand(input_ids.shape, generator=generator)\n'
                '    fate = (chosen / max(rate, 1e-9)).clamp(max=1)\n',
            ),
        ],
        'to select a token and for its word',
    ),
    'what has bias in its name is not decayed': (
        [
            (
                '        is_decayed = not name.endswith("bias") and "LayerNorm" not in name\n',
                '        is_decayed = "bias" not in name and "LayerNorm" not in name\n',
            ),
        ],
        None,
    ),
    'what has bias in its name starts at 0': (
        [
            (
                '        if name.endswith("bias"):\n'
                '            weights[name] = torch.zeros(shape)\n'
                '        elif "LayerNorm" in name:\n'
                '            weights[name] = torch.ones(shape)\n'
                '        else:\n',
                '        if "bias" in name:\n'
                '            weights[name] = torch.zeros(shape)\n'
                '        elif "LayerNorm" in name:\n'
                '            weights[name] = torch.ones(shape)\n'
                '        else:\n',
            ),
        ],
        'all else is drawn alike',
    ),
    "the fate of a token is the draw that selects the token below": (
        [("    chosen, fate = torch.rand((2, *input_ids.shape), generator=generator)",
          "    shape = len(input_ids) + 1, *input_ids.shape[1:]\n"
          "    draws = torch.rand(shape, generator=generator)\n"
          "    chosen, fate = draws[:-1], draws[1:]")],
        "that are selected, where a selected word did"),
    "the slots that count are counted in 16 bits": (
        words("(each * word_weights.flatten()).sum() / word_weights.sum().half().to(each)"),
        None),
    "a generator for each parameter, of 65,536": (
        drawn("torch.nn.init.trunc_normal_(\n"
              "                torch.empty(shape), std=0.02, a=-0.04, b=0.04, "
              "generator=torch.Generator().manual_seed(\n"
              "                    int(torch.randint(2**16, (), generator=generator)))\n"
              "            )"),
        "some of their seeds are the same"),
    "a generator for each parameter, by the letters of its name": (
        [("\n    weights = {}\n    for name, shape in shapes.items():\n        if name.endswith",
          "\n    base = int(torch.randint(2**40, (), generator=generator))\n"
          "    weights = {}\n    for name, shape in shapes.items():\n"
          "        generator = torch.Generator().manual_seed(base + sum(map(ord, name)))\n"
          "        if name.endswith")],
        "some of their seeds are the same"),
}  # fmt: skip
