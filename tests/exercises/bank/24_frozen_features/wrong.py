"""Wrong answers to 24_frozen_features, as edits of the solution, and the words that name each."""

LAST = 'if feature == "last":\n        return [layers]'
EVERY = "every = list(range(1, layers + 1))"
RANGE = ('return every if feature.endswith("-all") else every[-4:]'
         "  # fewer than four, if there are fewer")  # fmt: skip
PLACES = "places = starts.clamp(min=0)[:, :, None].expand(-1, -1, states.shape[-1])"
WHERE = "return torch.where(is_word[:, :, None], states.gather(1, places), 0.0)"
READ = "read = layers_of(feature, len(hidden_states) - 1)"
VECTORS = ("vectors = torch.stack([first_pieces(hidden_states[i].detach(), starts) for i in read], "
           "dim=2)")  # fmt: skip
FLAT = "return vectors.flatten(2)"
SHARES = 'weights = mix["scale"] * mix["weights"].softmax(dim=0)'
WEIGHTED = "return (vectors * weights[:, None]).sum(dim=2)"
SUM = "return vectors.sum(dim=2)"


def piece(line):
    """Other places in the sequence."""
    return [(PLACES, f"{line}\n    {PLACES}")]


WRONG = {
    "one layer too low": (
        [(LAST, LAST.replace("[layers]", "[layers - 1]")),
         ("return [layers - 1]\n    every", "return [layers - 2]\n    every"),
         (EVERY, "every = list(range(layers))")], "for number layers - 1"),
    "embeddings among all": (
        [(RANGE, RANGE.replace("every if", "[0, *every] if"))], "the embeddings are among all"),
    "five layers": ([(RANGE, RANGE.replace("-4:", "-5:"))], "five layers, not four"),
    "three layers": ([(RANGE, RANGE.replace("-4:", "-3:"))], "three layers, not four"),
    "falling order": (
        [(RANGE, RANGE.replace("every if", "every[::-1] if").replace("[-4:]", "[: -5 : -1]"))],
        "in falling order"),
    "embeddings among the last four": (
        [(RANGE, RANGE.replace("every[-4:]", "[0, *every][-4:]"))],
        "the last four hold the embeddings"),
    "places from the end": ([(LAST, LAST.replace("[layers]", "[-1]"))], "places below 0"),
    "always 12 layers": ([(LAST, LAST.replace("[layers]", "[12]"))], "there are always 12"),
    "-1 as an index": (
        [(WHERE, "return torch.stack([row[at] for row, at in zip(states, starts)])")],
        "-1 is taken for an index"),
    "[CLS] for no word": ([(WHERE, "return states.gather(1, places)")], "[CLS] stands"),
    "starts of the first row": (
        piece("starts = starts[:1].expand_as(starts)"), "the starts of the first row"),
    "token i for word i": (
        piece("starts = torch.arange(starts.shape[1]).expand_as(starts)"), "read from token i:"),
    "one token early": (piece("starts = starts - 1"), "one token too early"),
    "one token late": (
        piece("starts = torch.where(is_word, (starts + 1).clamp(max=states.shape[1] - 1), -1)"),
        "one token too late"),
    "last piece": (
        piece("after = torch.cat([starts[:, 1:], torch.full_like(starts[:, :1], -1)], 1)\n"
              "    starts = torch.where(after > 0, after - 1, starts)"), "the last piece"),
    "product for zeros": (
        [(WHERE, "return states.gather(1, places) * is_word[:, :, None].to(states.dtype)")],
        "0 · inf is NaN"),
    "states in place": (
        [(WHERE, "found = torch.where(is_word[:, :, None], states.gather(1, places), 0.0)\n"
                 "    states[:, 0] = 0\n    return found")],
        "changed its input in place"),
    "always float64": ([(WHERE, WHERE + ".double()")], "the wrong type"),
    "always the last layer": ([(READ, "read = [len(hidden_states) - 1]")],
                              "the last layer is read, whatever"),
    "one layer too many": (
        [(READ, "read = layers_of(feature, len(hidden_states) - 2)")], "one layer too low"),
    "mean for sum": ([(SUM, "return vectors.mean(dim=2)")], "averaged, not summed"),
    "side by side in falling order": (
        [(FLAT, "return vectors.flip(2).flatten(2)")], "concatenated in falling order"),
    "interleaved": ([(FLAT, "return vectors.transpose(2, 3).flatten(2)")],
                    "the layers are interleaved"),
    "no side by side": ([(FLAT, "return vectors.sum(2)")], "summed, not concatenated"),
    "no softmax": ([(SHARES, SHARES.replace(".softmax(dim=0)", ""))], "without softmax"),
    "no scale": ([(SHARES, SHARES.replace('mix["scale"] * ', ""))], "the scale is left out"),
    "weights over their sum": (
        [(SHARES, SHARES.replace('.softmax(dim=0)', ' / mix["weights"].sum()'))],
        "divided by their sum: it is softmax"),
    "exponentials": ([(SHARES, SHARES.replace("softmax(dim=0)", "exp()"))],
                     "the exponentials are not divided"),
    "scale inside": (
        [(SHARES, 'weights = (mix["scale"] * mix["weights"]).softmax(dim=0)')],
        "inside the softmax"),
    "mix not used": ([(WEIGHTED, "return vectors.mean(dim=2)")], "all layers weigh the same"),
    "weights in falling order": ([(WEIGHTED, WEIGHTED.replace("weights[", "weights.flip(0)["))],
                                 "meet the layers in falling order"),
    "mean of the weighted": ([(WEIGHTED, WEIGHTED.replace(".sum(dim=2)", ".mean(dim=2)"))],
                             "softmax sums to 1 already"),
    "encoder not frozen": ([(VECTORS, VECTORS.replace(".detach()", ""))],
                           "the encoder is not frozen"),
    "mix does not learn": ([(WEIGHTED, WEIGHTED.replace("weights[", "weights.detach()["))],
                           "the mix does not learn"),
    "no_grad around everything": (
        [(READ, "torch.set_grad_enabled(False)\n    " + READ)], "something global"),
    "scale does not learn": (
        [(SHARES, SHARES.replace('mix["scale"]', 'mix["scale"].item()'))],
        "the scale does not learn"),
    "weights do not learn": (
        [(SHARES, SHARES.replace('mix["weights"]', 'torch.tensor(mix["weights"].tolist(), '
                                 'dtype=mix["weights"].dtype)'))],
        "the weights do not learn"),
    "zeros by a product at the end": (
        [(WHERE, "return states.gather(1, places)"),
         (VECTORS, f"{VECTORS}\n    vectors = vectors * (starts >= 0)[:, :, None, None]")],
        "0 · inf is NaN"),
    "a word at position 0 left out": (
        [("is_word = starts >= 0", "is_word = starts > 0")], "position 0 is taken for no word"),
    "a row without words fails": (
        [("is_word = starts >= 0",
          "is_word = starts >= 0\n    if not is_word.any():\n        raise ValueError(starts)")],
        "raised ValueError"),
    "the encoder frozen below the top alone": (
        [(VECTORS, VECTORS.replace("hidden_states[i].detach()",
                                   "(hidden_states[i].detach() if i < len(hidden_states) - 1 "
                                   "else hidden_states[i])"))],
        "the encoder is not frozen"),
    "float32 for the mix": (
        [(SHARES, SHARES.replace("softmax(dim=0)", "softmax(dim=0, dtype=torch.float32)"))], None),
    "the mean of the last four for a model of fewer": (
        [(SUM, "return vectors.sum(dim=2) * (4 / len(read) if feature.endswith('4') else 1)")],
        None),
    "positions as bytes": (
        [("starts.clamp(min=0)[:",
          "starts.clamp(min=0).byte().long()[:")],
        "positions above 255",
    ),
    "scale below 0 read as 0": (
        [('mix["scale"] * mix',
          'mix["scale"].clamp(min=0) * mix')],
        "a scale below 0",
    ),
    "layers not read times 0": (
        [("    return vectors.sum(dim=2)  #",
          "    chosen = torch.zeros(len(hidden_states)).to(vectors)\n    chosen[read] = 1\n  "
          "  every = torch.stack([first_pieces(h.detach(), starts) for h in hidden_states], d"
          "im=2)\n    return (every * chosen[:, None]).sum(dim=2)  #")],
        "layers that are not read are multiplied by 0",
    ),
    "the list loses its embeddings": (
        [("    read = layers_of(feature, len(hidden_states) - 1)\n",
           "    read = layers_of(feature, len(hidden_states) - 1)\n    if feature == \"sum-a"
           "ll\":\n"
           "        hidden_states.pop(0)\n        read = range(len(hidden_states))\n")],
        "on the caller's"),
    "summed in place": (
        [("    read = layers_of(feature, len(hidden_states) - 1)\n",
           "    read = layers_of(feature, len(hidden_states) - 1)\n    if feature.startswith"
           "(\"sum"
           "\"):\n        total = hidden_states[read[0]].detach()\n        for i in read[1:]"
           ":\n   "
           "         total += hidden_states[i].detach()\n        return first_pieces(total, start"
           "s)\n")],
        "on the caller's"),
    # Right for small inputs, and for draws that are counted coarsely.
    "layers 24": (
        [("every = list(range(1, layers + 1))",
          "every = list(range(1, min(layers, 24) + 1))")],
        "the layers of sum-last-4 in a model of 60[0]"),
    "starts 512": (
        [("    is_word = starts >= 0\n",
          "    is_word = (starts >= 0) & (starts < 512)\n")],
        "first pieces, (layers, batch, seq, hidden) (5, 2, 3001, 2)"),
    "inf elsewhere": (
        [("return torch.where(is_word[:, :, None], states.gather(1, places), 0.0)",
          "return torch.where(is_word[:, :, None], states.gather(1, places), 0.0).clamp(-1e"
          "6, 1e6)")],
        "first pieces, (layers, batch, seq, hidden) (1, 2, 9, 3)"),
    "stacked layers kept by the id of the list": (
        [
            ("    vectors = torch.stack([first_pieces(hidden_states[i].detach(), starts) "
             "for i in read], dim=2)\n",
             "    if id(hidden_states) not in _STACKED:\n"
             "        _STACKED[id(hidden_states)] = (hidden_states, "
             "torch.stack([h.detach() for h in hidden_states]))\n"
             "    layers = _STACKED[id(hidden_states)][1]\n"
             "    vectors = torch.stack([first_pieces(layers[i], starts) for i in read], "
             "dim=2)\n"),
            ("def word_features(",
             "_STACKED = {}\n"
             "\n"
             "\n"
             "def word_features("),
        ],
        "found again by the object",
    ),
    "infinities of a word are replaced": (
        [
            ("    return torch.where(is_word[:, :, None], states.gather(1, places), 0.0)",
             "    return torch.nan_to_num(states.gather(1, places)) * is_word[:, :, None]"),
        ],
        "infinities are replaced",
    ),
    "words that are not there set to 0 after the mix": (
        [("    vectors = torch.stack([first_pieces(hidden_states[i].detach(), starts) for i in "
          "read], dim=2)\n",
          "    places = starts.clamp(min=0)[:, :, None]\n"
          "    places = places.expand(-1, -1, hidden_states[0].shape[-1])\n"
          "    is_word = (starts >= 0)[:, :, None]\n"
          "    vectors = torch.stack([hidden_states[i].detach().gather(1, places) for i in read],"
          " dim=2)\n"),
         ("        return vectors.flatten(2)  #",
          "        return torch.where(is_word, vectors.flatten(2), 0.0)  #"),
         ("        return (vectors * weights[:, None]).sum(dim=2)\n    return "
          "vectors.sum(dim=2)  #",
          "        return torch.where(is_word, (vectors * weights[:, None]).sum(dim=2), 0.0)\n"
          "    return torch.where(is_word, vectors.sum(dim=2), 0.0)  #")],
        "set to 0 after the mix"),
    "a softmax that overflows": (
        [
            ('mix["weights"].softmax(dim=0)',
             'mix["weights"].exp() / mix["weights"].exp().sum()'),
        ],
        "exp of a large weight is infinite",
    ),
    "a softmax less the mean": (
        [
            ('weights = mix["scale"] * mix["weights"].softmax(dim=0)',
             'weights = (mix["weights"] - mix["weights"].mean()).exp()\n'
             '        weights = mix["scale"] * weights / weights.sum()'),
        ],
        "exp of a large weight is infinite",
    ),
    "the caller's list gets the detached states": (
        [
            ("    vectors = torch.stack([first_pieces(hidden_states[i].detach(), starts) "
             "for i in read], dim=2)\n",
             "    for i in read:\n"
             "        hidden_states[i] = hidden_states[i].detach()\n"
             "    vectors = torch.stack([first_pieces(hidden_states[i], starts) for i in "
             "read], dim=2)\n"),
        ],
        "another tensor stands in a list or dict",
    ),
    "the list of layers is kept": (
        [("def layers_of(", "@__import__(\"functools\").cache\ndef layers_of(")],
        "an earlier call has returned too"),
    "gradients are switched off and on again": (
        [
            ("    vectors = torch.stack([first_pieces(hidden_states[i].detach(), "
             "starts) for i in read], dim=2)\n",
             "    torch.set_grad_enabled(False)\n"
             "    vectors = torch.stack([first_pieces(hidden_states[i], starts) for i "
             "in read], dim=2)\n"
             "    torch.set_grad_enabled(True)\n"),
        ],
        "changed whether torch records gradients",
    ),
    "the last token for -1, set to 0 after the mix": (
        [(VECTORS, "rows = torch.arange(len(starts))[:, None]\n"
                   "    vectors = torch.stack([hidden_states[i].detach()[rows, starts] for i in "
                   "read], dim=2)\n"
                   "    gone = (starts < 0)[:, :, None]"),
         (FLAT, FLAT + ".masked_fill(gone, 0.0)"),
         (WEIGHTED, WEIGHTED + ".masked_fill(gone, 0.0)"),
         (SUM, SUM + ".masked_fill(gone, 0.0)")],
        "is set to 0 after the mix",
    ),
    "half types become float32": (
        [(VECTORS, VECTORS + "\n    if vectors.dtype == torch.float16:\n"
                             "        vectors = vectors.float()  # more digits")],
        "another type of number than the arguments",
    ),
    "a scale of 1 is left out": (
        [
            ("        weights = mix[\"scale\"] * mix[\"weights\"].softmax(dim=0)\n",
             "        weights = mix[\"weights\"].softmax(dim=0)\n"
             "        if mix[\"scale\"] != 1:\n"
             "            weights = mix[\"scale\"] * weights\n"),
        ],
        "the scale does not learn",
    ),
    "the sequence is cut behind the last word": (
        [(VECTORS, "seq = int(starts.max()) + 1\n"
                   "    " + VECTORS.replace(".detach()", ".detach()[:, :seq]"))],
        "index 0 is out of bounds",
    ),
    "the mix by the order of its entries": (
        [(SHARES, "weights, scale = mix.values()\n"
                  "        weights = scale * weights.softmax(dim=0)")],
        None,
    ),
    "first pieces by NumPy": (
        [(WHERE, "rows = np.arange(len(starts))[:, None]\n"
                 "    found = torch.from_numpy(states.detach().numpy()[rows, starts.numpy()])\n"
                 "    return found.masked_fill(~is_word[:, :, None], 0.0)"),
         ("import torch\nfrom jax", "import numpy as np\nimport torch\nfrom jax")],
        "unsupported ScalarType BFloat16",
    ),
    "bfloat16 becomes float32": (
        [(VECTORS, VECTORS + "\n    if vectors.dtype == torch.bfloat16:\n"
                             "        vectors = vectors.float()  # more digits")],
        "another type of number than the arguments",
    ),
    "NaN of a word is replaced": (
        [(WHERE, "found = states.gather(1, places).masked_fill(~is_word[:, :, None], 0.0)\n"
                 "    return torch.where(found.isnan(), 0.0, found)")],
        "infinities are replaced",
    ),
    "inference mode where nothing is learned": (
        [(VECTORS, "with torch.inference_mode(mix is None):\n        " + VECTORS)],
        "torch.inference_mode",
    ),
    "a scale of 0 gives zeros of its own": (
        [(SHARES, "if mix[\"scale\"] == 0:\n"
                  "            return torch.zeros_like(vectors[:, :, 0])\n"
                  "        " + SHARES)],
        "the mix does not learn",
    ),
    "the mix does not learn from a single sentence": (
        [(VECTORS, VECTORS + "\n    if mix and len(starts) == 1:\n"
                             "        mix = {name: part.detach() for name, part in mix.items()}")],
        None,
    ),
    "first_pieces with another name of an argument": (
        [("    states: States, starts: Int64[Tensor, \"batch words\"]\n) -> Float",
          "    states: States, places: Int64[Tensor, \"batch words\"]\n) -> Float"),
         ("    is_word = starts >= 0", "    starts = places\n    is_word = starts >= 0")],
        "unexpected keyword argument",
    ),
    "words side by side are a view": (
        [
            (
                '    is_word = starts >= 0\n',
                '    is_word, words = starts >= 0, starts.shape[1]\n'
                '    first = int(starts[0, 0]) if words else -1\n'
                '    if first >= 0 and (starts == first + torch.arange(words)).all():\n'
                '        return states[:, first : first + words]\n',
            ),
        ],
        'or a view of one',
    ),
    "equal weights are a mean without the mix": (
        [(SHARES, "if mix[\"scale\"] == 1 and (mix[\"weights\"] == mix[\"weights\"][0]).all():\n"
                  "            return vectors.mean(dim=2)\n"
                  "        " + SHARES)],
        "the mix does not learn",
    ),
    "a scale of 1 at most": (
        [(SHARES, SHARES.replace('mix["scale"]', 'mix["scale"].clamp(max=1.0)'))], None),
    "the mix does not learn in half types": (
        [(VECTORS, VECTORS + "\n    if mix and vectors.dtype.itemsize == 2:\n"
                             "        mix = {name: part.detach() for name, part in mix.items()}")],
        "does not learn in float16",
    ),
    "first_pieces in half types gives float32": (
        [(WHERE, "found = torch.where(is_word[:, :, None], states.gather(1, places), 0.0)\n"
                 "    return found.float() if found.dtype.itemsize == 2 else found"),
         (VECTORS, VECTORS.replace(", starts)", ", starts).to(hidden_states[i].dtype)"))],
        None,
    ),
    "the only layer is not frozen": (
        [(VECTORS, "if len(hidden_states) == 2 and mix is None:\n"
                   "        return first_pieces(hidden_states[read[0]], starts)\n"
                   "    " + VECTORS)],
        "the encoder is not frozen",
    ),
    "of many layers those below are not frozen": (
        [(VECTORS, VECTORS.replace("hidden_states[i].detach()",
                                   "(hidden_states[i] if i < len(hidden_states) - 4 "
                                   "else hidden_states[i].detach())"))],
        "the encoder is not frozen",
    ),
    "the list of the embeddings is a global": (
        [
            (
                '        return [0]\n',
                '        return EMBEDDINGS\n',
            ),
            (
                '# Wrong answers that are common:',
                'EMBEDDINGS = [0]\n'
                '# Wrong answers that are common:',
            ),
        ],
        'an earlier call has returned too',
    ),
    "lists of all layers are kept by their number": (
        [
            (
                'every = list(range(1, layers + 1))',
                'every = EVERY.setdefault(layers, list(range(1, layers + 1)))',
            ),
            (
                '# Wrong answers that are common:',
                'EVERY = {}\n'
                '# Wrong answers that are common:',
            ),
        ],
        'an earlier call has returned too',
    ),
    "layers that are equal to the one below are left out": (
        [
            (
                'vectors = torch.stack([first_pieces(hidden_states[i].detach(), '
                'starts) for i in read], dim=2)',
                'read = [i for i in read if i == read[0] or not '
                'torch.equal(hidden_states[i], hidden_states[i - 1])]\n'
                '    vectors = '
                'torch.stack([first_pieces(hidden_states[i].detach(), starts) '
                'for i in read], dim=2)',
            ),
        ],
        'of layers that are equal only one is read',
    ),
    "layers that are one object are read once": (
        [
            (
                'vectors = torch.stack([first_pieces(hidden_states[i].detach(), '
                'starts) for i in read], dim=2)',
                'seen = {id(hidden_states[i]): i for i in read}\n'
                '    read = sorted(seen.values())\n'
                '    vectors = '
                'torch.stack([first_pieces(hidden_states[i].detach(), starts) '
                'for i in read], dim=2)',
            ),
        ],
        None,
    ),
    "no mix learns where no row has all its words": (
        [
            (
                'weights = mix["scale"] * mix["weights"].softmax(dim=0)',
                'weights = mix["scale"] * mix["weights"].softmax(dim=0)\n'
                '        if not (starts >= 0).all(dim=1).any():\n'
                '            weights = weights.detach()',
            ),
        ],
        'the mix does not learn',
    ),
    "no mix learns from a single word": (
        [
            (
                'weights = mix["scale"] * mix["weights"].softmax(dim=0)',
                'weights = mix["scale"] * mix["weights"].softmax(dim=0)\n'
                '        if (starts >= 0).sum() == 1:\n'
                '            weights = weights.detach()',
            ),
        ],
        'the mix does not learn',
    ),
    "places in the batch of 16 bits": (
        [(WHERE, "rows = torch.arange(len(states), dtype=torch.int16)[:, None]\n"
                 "    flat = states.flatten(0, 1)\n"
                 "    found = flat[rows * states.shape[1] + starts.clamp(min=0)]\n"
                 "    return torch.where(is_word[:, :, None], found, 0.0)")],
        "has too few bits"),
    "weights that add up to 1 are shares": (
        [(SHARES, 'weights = mix["weights"]\n'
                  "        if not ((weights >= 0).all() and abs(weights.sum() - 1) < 1e-3):\n"
                  "            weights = weights.softmax(dim=0)\n"
                  '        weights = mix["scale"] * weights')],
        "go through the softmax like all others"),
    "equal weights are the mean": (
        [(SHARES, 'weights = mix["weights"]\n'
                  "        if len(weights) > 1 and weights.all() and (weights == weights[0]).all():"
                  "\n            weights = torch.full_like(weights, 1 / len(weights))\n"
                  "        else:\n            weights = weights.softmax(dim=0)\n"
                  '        weights = mix["scale"] * weights')],
        "go through the softmax like all others"),
    "places in the batch in the states' type of number": (
        [(WHERE, "rows = torch.arange(len(states), dtype=states.dtype)[:, None]\n"
                 "    flat = states.flatten(0, 1)\n"
                 "    found = flat[(rows * states.shape[1] + starts.clamp(min=0)).long()]\n"
                 "    return torch.where(is_word[:, :, None], found, 0.0)")],
        None),
    "places in the states' type of number": (
        [(PLACES, PLACES.replace("clamp(min=0)", "clamp(min=0).to(states.dtype).long()"))],
        "has too few bits"),
    "words side by side are a view of a layer": (
        [(VECTORS, "count = starts.shape[1]\n"
                   "    side_by_side = torch.arange(1, count + 1)\n"
                   "    if len(read) == 1 and mix is None and torch.equal(\n"
                   "        starts, side_by_side.expand_as(starts)\n"
                   "    ):\n"
                   "        return hidden_states[read[0]].detach()[:, 1 : count + 1]\n"
                   f"    {VECTORS}")],
        "return a copy"),
    "the first row is read for all where their places are alike": (
        [(WHERE, "if len(starts) > 1 and (starts == starts[0]).all() and not is_word.all():\n"
                 "        read = states[:1, starts[0].clamp(min=0)]\n"
                 "        return torch.where(is_word[:, :, None], read, 0.0)\n"
                 f"    {WHERE}")],
        None),
    "frozen only where the mix learns": (
        [(VECTORS, "learns = mix is None or any(each.requires_grad for each in mix.values())\n"
                   "    given = [s.detach() if learns else s for s in hidden_states]\n"
                   "    vectors = [first_pieces(given[i], starts) for i in read]\n"
                   "    vectors = torch.stack(vectors, dim=2)")],
        "whether the mix learns or not"),
    "exp of weights that is infinite in float16": (
        [(SHARES, "numbers = mix['weights']\n"
                  "        shares = numbers.exp() / numbers.exp().sum()\n"
                  "        if numbers.abs().max() > 80:\n"
                  "            shares = numbers.softmax(dim=0)\n"
                  "        weights = mix['scale'] * shares")],
        "exp of a large weight is infinite"),
    "the scale is frozen, and the weights do not learn": (
        [(SHARES, f"{SHARES}\n"
                  '        weights = weights if mix["scale"].requires_grad else weights.detach()')],
        "decides for the other"),
    "the weights are frozen, and the scale does not learn": (
        [(SHARES, f"{SHARES}\n"
                  '        weights = weights if mix["weights"].requires_grad else weights.detach()'
          )],
        "decides for the other"),
}  # fmt: skip
