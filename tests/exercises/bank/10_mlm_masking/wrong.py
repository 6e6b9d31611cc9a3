"""Wrong answers to 10_mlm_masking, as edits of the solution, and the words that name each."""

CANDIDATE = "candidate = ~np.isin(input_ids, special_ids)"
SELECTED = "selected = candidate & (rng.random(input_ids.shape) < rate)"
LABELS = "labels[selected] = input_ids[selected]"
FATE = "fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])"
WORD = "word = rng.choice(ordinary, size=input_ids.shape)"
MASKED = 'shown[selected & (fate == "masked")] = mask_id'
RANDOM = 'is_random = selected & (fate == "random")'
RETURN = "return shown, labels"
ORDINARY = "np.setdiff1d(np.arange(vocab_size), special_ids)"

WRONG = {
    "a copy of the generator, which itself moves by one": (
        [(CANDIDATE, "import copy\n    own = copy.deepcopy(rng)\n    rng.random()\n"
          "    rng = own\n    " + CANDIDATE)],
        "which it moves by less than it drew"),
    "the generator jumps, and itself moves by one": (
        [(CANDIDATE, "own = np.random.Generator(rng.bit_generator.jumped())\n    rng.random()\n"
          "    rng = own\n    " + CANDIDATE)],
        "which it moves by less than it drew"),
    "a copy of the generator": (
        [(CANDIDATE, "import copy\n    rng = copy.deepcopy(rng)\n    " + CANDIDATE)],
        "a copy of it was drawn from"),
    "specials are candidates": (
        [(CANDIDATE, "candidate = np.ones(input_ids.shape, bool)")],
        "special_ids are not left out"),
    "padding is a candidate": (
        [(CANDIDATE, "candidate = ~np.isin(input_ids, [t for t in special_ids if t])")],
        "special_ids are not left out: padding"),
    "special ids written in": (
        [(CANDIDATE, "candidate = ~np.isin(input_ids, [0, 100, 101, 102, 103])")],
        "the special tokens are written into the function"),
    "rate ignored": (
        [(SELECTED, SELECTED.replace("rate", "0.15"))], "the rate argument is ignored"),
    "20 percent": ([(SELECTED, SELECTED.replace("rate", "rate + 0.05"))], None),
    "one draw for all rows": (
        [(SELECTED, SELECTED.replace("input_ids.shape", "input_ids.shape[1]"))],
        "one draw for all rows"),
    "the first tokens of each row": (
        [(SELECTED, "wanted = rate * candidate.sum(1)[:, None]\n"
                    "    selected = candidate & (candidate.cumsum(1) <= wanted)")],
        "the first words of each row are always selected"),
    "all become [MASK]": (
        [(FATE, FATE.replace("[0.8, 0.1, 0.1]", "[1.0, 0.0, 0.0]"))],
        "every selected token becomes [MASK]"),
    "80/20/0": ([(RANDOM, 'is_random = selected & (fate != "masked")')], "nothing is kept"),
    "80/0/20": ([(RANDOM, "is_random = selected & False")], "nothing is random"),
    "80/2/18": (
        [(RANDOM, 'is_random = selected & (fate != "masked") & (rng.random(fate.shape) < 0.1)')],
        "10% become random: half of them should"),
    "random drawn over [MASK]": (
        [(RANDOM, "is_random = selected & (rng.random(input_ids.shape) < 0.1)")],
        "random is drawn after [MASK] and over it"),
    "kept drawn over the others": (
        [(RETURN, "kept = selected & (rng.random(input_ids.shape) < 0.1)\n"
                  "    shown[kept] = input_ids[kept]\n    return shown, labels")],
        "kept is drawn after the others and over them"),
    "half masked": (
        [(FATE, FATE.replace("[0.8, 0.1, 0.1]", "[0.5, 0.25, 0.25]"))],
        "half of the selected are [MASK]"),
    "labels after replacing": (
        [(RETURN, "return shown, np.where(selected, shown, IGNORED).astype(input_ids.dtype)")],
        "the labels were taken after"),
    "labels everywhere": ([(LABELS, "labels = input_ids.copy()")], "labels are the ids everywhere"),
    "labels of [MASK] alone": (
        [(RETURN, "return shown, np.where(shown == mask_id, labels, IGNORED)")],
        "only tokens that became [MASK] have a label"),
    "labels of changed tokens alone": (
        [(RETURN, "return shown, np.where(shown != input_ids, labels, IGNORED)")],
        "the tokens that stay as they are have no label"),
    "0 for no label": (
        [("np.full_like(input_ids, IGNORED)", "np.zeros_like(input_ids)")],
        "the labels hold 0, not -100"),
    "labels by another draw": (
        [(RETURN, "return shown, np.where(candidate & (rng.random(input_ids.shape) < rate), "
                  "input_ids, IGNORED)")],
        "by another draw than the one that labels them"),
    "random words may be special": ([(ORDINARY, "np.arange(vocab_size)")], "drawn from all ids"),
    "random words of half the vocabulary": (
        [(ORDINARY, "np.setdiff1d(np.arange(vocab_size // 2), special_ids)")],
        "this part of the vocabulary is never drawn"),
    "random words beyond the vocabulary": (
        [(ORDINARY, "np.setdiff1d(np.arange(30522), special_ids)")], "vocab_size is ignored"),
    "one random word for all": (
        [(WORD, "word = np.full(input_ids.shape, rng.choice(ordinary))")],
        "one random word is drawn for all"),
    "id of [MASK] written in": ([(MASKED, MASKED.replace("mask_id", "103"))], "mask_id is ignored"),
    "in place": ([("shown = input_ids.copy()", "shown = input_ids")], "changed its input in place"),
    "its own seed": (
        [(CANDIDATE, f"rng = np.random.default_rng(0)\n    {CANDIDATE}")],
        "the function seeds a generator of its own"),
    "global generator": (
        [(SELECTED, SELECTED.replace("rng.random", "np.random.random_sample"))],
        "a draw does not come from rng"),
    "always int64": (
        [(RETURN, "return shown.astype(np.int64), labels.astype(np.int64)")], "the wrong type"),
    "lists returned": ([(RETURN, "return shown, labels.tolist()")], "expected a NumPy array"),
    "a fixed count in each row": (
        [(SELECTED, "selected = np.zeros_like(candidate)\n"
          "    for row, may in zip(selected, candidate):\n"
          "        row[rng.permutation(np.flatnonzero(may))[: round(rate * may.sum())]] = True")],
        "a fixed number of tokens is selected in each row"),
    "a fixed count in each row, rounded by chance": (
        [(SELECTED, "order = np.where(candidate, rng.random(input_ids.shape), 2.0)\n"
          "    wanted = candidate.sum(1, keepdims=True) * rate\n"
          "    wanted = np.floor(wanted + rng.random(wanted.shape))\n"
          "    selected = candidate & (order.argsort(1).argsort(1) < wanted)")],
        "a fixed number of tokens is selected in each row"),
    "a fixed count in the batch": (
        [(SELECTED, "selected = np.zeros_like(candidate)\n"
          "    places = rng.permutation(np.flatnonzero(candidate))\n"
          "    selected.flat[places[: round(rate * len(places))]] = True")],
        "a fixed number of tokens is selected in each call"),
    "fates in order": (
        [(FATE, "fate = np.full(input_ids.shape, 9)\n    places = np.flatnonzero(selected)\n"
          "    fate.flat[places] = np.arange(len(places)) * 10 // max(1, len(places))\n"
          "    fate = np.array(8 * ['masked'] + ['random', 'kept'])[fate]")],
        "the fates are given out in order"),
    "fates in order in each row": (
        [(FATE, "rank = selected.cumsum(1) - 1\n"
          "    fate = rank * 10 // np.maximum(1, selected.sum(1, keepdims=True))\n"
          "    fate = np.array(8 * ['masked'] + ['random', 'kept'])[fate]")],
        "the fates are given out in order"),
    "fates in fixed proportions": (
        [(FATE, "fate = np.full(input_ids.shape, 9)\n"
          "    fate[selected] = rng.permutation(np.arange(selected.sum()) % 10)\n"
          "    fate = np.array(8 * ['masked'] + ['random', 'kept'])[fate]")],
        "the proportions of the fates are fixed in each call"),
    "one fate for each row": (
        [(FATE, FATE.replace("input_ids.shape", "(len(input_ids), 1)"))],
        "one draw decides the fate of several tokens of a row"),
    "one fate for each position": (
        [(FATE, FATE.replace("input_ids.shape", "input_ids.shape[1]"))],
        "one draw decides the fate of several tokens of a position"),
    "one random word for each row": (
        [(WORD, "word = np.broadcast_to(rng.choice(ordinary, size=(len(input_ids), 1)), "
                "input_ids.shape)")],
        "one random word is drawn for each row"),
    "one random word for each position": (
        [(WORD, "word = np.broadcast_to(rng.choice(ordinary, size=input_ids.shape[1]), "
                "input_ids.shape)")],
        "one random word is drawn for each position"),
    "the random word by the word that it replaces": (
        [(WORD, "word = rng.permutation(ordinary)[input_ids % len(ordinary)]")],
        "the random word depends on the word it replaces"),
    "random words dealt like cards": (
        [(WORD, 'random = selected & (fate == "random")\n    word = np.zeros_like(input_ids)\n'
                "    word[random] = np.resize(rng.permutation(ordinary), random.sum())")],
        "words are not drawn again until all were used"),
    "the last word is never drawn": (
        [(ORDINARY, "np.setdiff1d(np.arange(vocab_size - 1), special_ids)")],
        "the last word of the vocabulary is never drawn"),
    "the first word is never drawn": (
        [(ORDINARY, "np.setdiff1d(np.arange(vocab_size), special_ids)[1:]")],
        "the first word of the vocabulary is never drawn"),
    "never the word itself": (
        [(WORD, f"{WORD}\n    word = np.where(word == input_ids, rng.choice(ordinary, "
                "size=input_ids.shape), word)")],
        "a random word is never the token that it replaces"),
    "random words from 1000 on": (
        [(ORDINARY, "np.setdiff1d(np.arange(vocab_size), special_ids)\n"
          "    ordinary = ordinary[ordinary >= min(1000, vocab_size // 2)]")],
        "this part of the vocabulary is never drawn"),
    "stretches of tokens": (
        [(SELECTED, "begins = rng.random(input_ids.shape) < 1 - (1 - rate) ** (1 / 2)\n"
          "    selected = candidate & (begins | np.roll(begins, 1, axis=1))")],
        "one draw decides about several tokens"),
    "one draw for two rows": (
        [(SELECTED, "draw = rng.random((len(input_ids) + 1, input_ids.shape[1]))\n"
          "    selected = candidate & (draw[np.arange(len(input_ids)) // 2] < rate)")],
        "one draw decides about a position in several rows"),
    "fates of a seed of their own": (
        [(FATE, FATE.replace("rng.", "np.random.default_rng(0)."))],
        "the fates do not come from rng"),
    "words of a seed of their own": (
        [(WORD, WORD.replace("rng.", "np.random.default_rng(0)."))],
        "the random words do not come from rng"),
    "rate of 1 is none": (
        [(SELECTED, SELECTED.replace("rate)", "rate % 1)"))], None),
    "common words more often": (
        [(SELECTED, SELECTED.replace("< rate", "< rate * np.where(input_ids % 1000 < 500, 1.2, "
                                     "0.8)"))], "some tokens are favored"),
    "default rate of 0.165": (
        [("rate: float = 0.15,", "rate: float = 0.165,")], None),
    "special_ids are counted with their repetitions": (
        [("    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n",
           "    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)[: vocab_"
           "size - len(special_ids)]\n")],
        "special_ids are counted: one may stand there"),
    "the draws of the batch are mirrored": (
        [("(rng.random(input_ids.shape) < rate)",
           "(mirrored(rng, input_ids.shape) < rate)"),
          ("FATES = (\"masked\", \"random\", \"kept\")",
           "FATES = (\"masked\", \"random\", \"kept\")\n\n\ndef mirrored(rng, shape):\n    hal"
           "f = rng.random(shape).ravel()\n    n = half.size // 2\n    half[half.size "
           "- n :] = 1 - half[:n][::-1]\n    return half.reshape(shape)\n")],
        "draws are used twice"),
    "a seed out of a hundred": (
        [("    candidate = ~np.isin",
           "    rng = np.random.default_rng(int(rng.integers(100)))\n    candidate = "
           "~np.isin")],
        "a generator is seeded in the call"),
    "the draws repeat after 7919 tokens": (
        [("(rng.random(input_ids.shape) < rate)",
           "(np.resize(rng.random(min(7919, input_ids.size)), input_ids.shape) < rat"
           "e)")],
        "draws are used twice"),
    "whole percents": (
        [("(rng.random(input_ids.shape) < rate)",
           "(rng.integers(100, size=input_ids.shape) < rate * 100)")],
        "the rate is rounded to whole"),
    "random words are a permutation": (
        [("    word = rng.choice(ordinary, size=input_ids.shape)",
           "    word = np.resize(rng.permutation(ordinary), input_ids.shape) if inpu"
           "t_ids.size <= len(ordinary) else rng.choice(ordinary, size=input_ids.sha"
           "pe)")],
        "words are not drawn again until all were used: draw each by"),
    # Right for small inputs, and for draws that are counted coarsely.
    "select 12 bits": (
        [("(rng.random(input_ids.shape) < rate)",
          "(rng.integers(4096, size=input_ids.shape) < round(rate * 4096))")],
        "the draws are too coarse: whole numbers of a few b"),
    "word 16 bits": (
        [("word = rng.choice(ordinary, size=input_ids.shape)",
          "word = ordinary[rng.integers(65536, size=input_ids.shape) % len(ordinary)]")],
        "the share of tenth 1 of the random words from a vocabulary o"),
    "antithetic rows": (
        [("selected = candidate & (rng.random(input_ids.shape) < rate)",
          "u = rng.random(input_ids.shape)\n    if len(u) > 5000: u[1::2] = 1 - u[: len(u) /"
          "/ 2 * 2 : 2]\n    selected = candidate & (u < rate)")],
        "draws are used twice"),
    "ravel of a transposed copy": (
        [
            ("    shown = input_ids.copy()  # the caller's array holds the answers, and "
             "is needed again\n"
             "    shown[selected & (fate == \"masked\")] = mask_id\n",
             "    shown = np.copy(input_ids)\n"
             "    shown.ravel()[np.flatnonzero(selected & (fate == \"masked\"))] = mask_id\n"),
        ],
        "is a copy: what is written",
    ),
    "a batch in which no token was selected gets one": (
        [
            ("selected = candidate & (rng.random(input_ids.shape) < rate)",
             "selected = candidate & (rng.random(input_ids.shape) < rate)\n"
             "    if rate > 0 and candidate.any() and not selected.any():  # else: a"
             " loss over nothing\n"
             "        selected[tuple(rng.choice(np.argwhere(candidate)))] = True"),
        ],
        None,
    ),
    "the second half of the batch gets mirrored draws": (
        [
            ("    fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n",
             "    batch, seq = input_ids.shape\n"
             "    upper = rng.random(((batch + 1) // 2, seq))\n"
             "    draw = np.concatenate([upper, 1 - upper])[:batch]  # antithetic: half "
             "the draws\n"
             "    fate = np.array(FATES)[(draw >= 0.8).astype(int) + (draw >= 0.9)]\n"),
        ],
        "draws are used twice",
    ),
    "the fate is the draw that selects the token before": (
        [
            ("    selected = candidate & (rng.random(input_ids.shape) < rate)\n",
             "    u = rng.random(input_ids.shape)\n"
             "    selected = candidate & (u < rate)\n"),
            ("    fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n",
             "    u = np.roll(u, 1)\n"
             "    fate = np.array(FATES)[(u >= 0.8).astype(int) + (u >= 0.9)]\n"),
        ],
        "draws are used twice",
    ),
    "the fates are the draws of the selection, read from the end": (
        [
            ("    selected = candidate & (rng.random(input_ids.shape) < rate)\n",
             "    u = rng.random(input_ids.shape)\n"
             "    selected = candidate & (u < rate)\n"),
            ("    fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n",
             "    u = u[::-1, ::-1]\n"
             "    fate = np.array(FATES)[(u >= 0.8).astype(int) + (u >= 0.9)]\n"),
        ],
        "draws are used twice",
    ),
    "the word is the draw that selects the token before": (
        [
            ("    selected = candidate & (rng.random(input_ids.shape) < rate)\n",
             "    u = rng.random(input_ids.shape)\n"
             "    selected = candidate & (u < rate)\n"),
            ("    word = rng.choice(ordinary, size=input_ids.shape)\n",
             "    word = ordinary[(np.roll(u, 1) * len(ordinary)).astype(int)]\n"),
        ],
        "selected tokens and the random words",
    ),
    "the word is the fate of the token before": (
        [
            ("    fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n",
             "    draw = rng.random(input_ids.shape)\n"
             "    fate = np.array(FATES)[(draw >= 0.8).astype(int) + (draw >= 0.9)]\n"),
            ("    word = rng.choice(ordinary, size=input_ids.shape)\n",
             "    word = ordinary[(np.roll(draw, 1) * len(ordinary)).astype(int)]\n"),
        ],
        "tokens that are [MASK] and the random words",
    ),
    "the random words of half the batch are mirrored": (
        [
            ("    word = rng.choice(ordinary, size=input_ids.shape)\n",
             "    half = rng.integers(len(ordinary), size=(input_ids.size + 1) // 2)\n"
             "    half = np.concatenate([half, len(ordinary) - 1 - half])[: input_ids.si"
             "ze]\n"
             "    word = ordinary[half].reshape(input_ids.shape)\n"),
        ],
        "the random words, each with another",
    ),
    "a generator of its own for each batch, from 10,000 seeds": (
        [
            (
                "    candidate = ~np.isin(input_ids, special_ids)  # (batch, seq)\n",
                "    candidate = ~np.isin(input_ids, special_ids)  # (batch, seq)\n"
                "    rng = np.random.default_rng(rng.integers(10_000))\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the fates from 1,000 seeds": (
        [
            (
                "    fate = rng.choice(FATES,",
                "    own = np.random.default_rng(rng.integers(1000))\n"
                "    fate = own.choice(FATES,",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the random words from 1,000 seeds": (
        [
            (
                "    word = rng.choice(ordinary, size=input_ids.shape)\n",
                "    own = np.random.default_rng(rng.integers(1000))\n"
                "    word = own.choice(ordinary, size=input_ids.shape)\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "one token at least in a short row": (
        [
            (
                "    labels = np.full_like(input_ids, IGNORED)\n",
                "    for row, places in enumerate(map(np.flatnonzero, candidate)):\n"
                "        if len(places) * rate >= 1 and not selected[row].any():\n"
                "            selected[row, rng.choice(places)] = True\n"
                "    labels = np.full_like(input_ids, IGNORED)\n",
            ),
        ],
        "nothing is selected gets one token",
    ),
    "fates of a shuffled deck for all tokens": (
        [
            (
                "    fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n",
                "    total = input_ids.size\n"
                "    masked, random = round(0.8 * total), round(0.1 * total)\n"
                "    deck = np.repeat(FATES, [masked, random, total - masked - random])\n"
                "    fate = rng.permutation(deck).reshape(input_ids.shape)\n",
            ),
        ],
        "the proportions of the fates are fixed in each call",
    ),
    "a random word for each id": (
        [
            (
                "    word = rng.choice(ordinary, size=input_ids.shape)\n",
                "    word = rng.choice(ordinary, size=vocab_size)[input_ids]  # a table, "
                "looked up by id\n",
            ),
        ],
        "equal tokens get the same random word",
    ),
    "the ordinary words are kept by the ends of special_ids": (
        [
            (
                "    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n",
                "    key = (vocab_size, mask_id, len(special_ids), min(special_ids), "
                "max(special_ids))\n"
                "    if key not in KEPT:\n"
                "        KEPT[key] = np.setdiff1d(np.arange(vocab_size), special_ids)\n"
                "    ordinary = KEPT[key]\n",
            ),
            ("FATES = (", "KEPT = {}\nFATES = ("),
        ],
        "the ordinary words are kept from an earlier call",
    ),
    "words that are special are drawn again three times": (
        [
            (
                "    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n"
                "    word = rng.choice(ordinary, size=input_ids.shape)\n",
                "    word = rng.integers(vocab_size, size=input_ids.shape)\n"
                "    for _ in range(3):\n"
                "        again = np.isin(word, special_ids)\n"
                "        word[again] = rng.integers(vocab_size, size=again.sum())\n"
                "    word = np.where(np.isin(word, special_ids), input_ids, word)\n",
            ),
        ],
        "is drawn again a few times",
    ),
    "the random words of a spawned generator": (
        [
            (
                "    word = rng.choice(ordinary, size=input_ids.shape)\n",
                "    word = rng.spawn(1)[0].choice(ordinary, size=input_ids.shape)\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the fates of a spawned generator": (
        [("    fate = rng.choice(FATES,", "    fate = rng.spawn(1)[0].choice(FATES,")],
        "a generator is seeded in the call",
    ),
    "special_ids are taken in their order": (
        [
            (
                "    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n"
                "    word = rng.choice(ordinary, size=input_ids.shape)\n",
                "    word = rng.integers(vocab_size - len(set(special_ids)), "
                "size=input_ids.shape)\n"
                "    for special in dict.fromkeys(special_ids):  # the words above it move up\n"
                "        word += word >= special\n",
            ),
        ],
        "special_ids may stand in any order",
    ),
    "mask_id is kept by special_ids": (
        [
            (
                'shown[selected & (fate == "masked")] = mask_id',
                'shown[selected & (fate == "masked")] = KEPT.setdefault('
                "tuple(special_ids), mask_id)",
            ),
            ("FATES = (", "KEPT = {}\nFATES = ("),
        ],
        "mask_id is kept from an earlier call",
    ),
    "a batch without any [MASK] gets one": (
        [
            (
                "    shown = input_ids.copy()  # the caller's array holds the answers, and is "
                "needed again\n",
                "    shown = input_ids.copy()\n"
                "    if selected.any() and (fate[selected] != 'masked').all():\n"
                "        fate[tuple(np.argwhere(selected)[0])] = 'masked'\n",
            ),
        ],
        "a batch without any [MASK] gets one",
    ),
    "a row without any [MASK] gets one": (
        [
            (
                "    shown = input_ids.copy()  # the caller's array holds the answers, and is "
                "needed again\n",
                "    shown = input_ids.copy()\n"
                "    for row, chosen in zip(fate, selected):\n"
                "        if chosen.any() and (row[chosen] != 'masked').all():\n"
                "            row[chosen.argmax()] = 'masked'\n",
            ),
        ],
        "a row without any [MASK] gets one",
    ),
    "of two selected tokens of a row, one at least changes": (
        [
            (
                "fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])",
                "fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n"
                "    for r in np.flatnonzero(selected.sum(1) == 2):\n"
                '        if (fate[r][selected[r]] == "kept").all():\n'
                '            fate[r] = "masked"',
            ),
        ],
        "the fates of a row are changed together",
    ),
    "random words that stand in the sentence are drawn again": (
        [
            (
                "word = rng.choice(ordinary, size=input_ids.shape)",
                "word = rng.choice(ordinary, size=input_ids.shape)\n"
                "    for r in range(len(word)):\n"
                "        for _ in range(3):\n"
                "            again = np.isin(word[r], np.setdiff1d(input_ids[r], [])) "
                "& (word[r] != input_ids[r])\n"
                "            word[r][again] = rng.choice(ordinary, size=again.sum())",
            ),
        ],
        "never one that stands in the sentence",
    ),
    "a random word is not the token before it": (
        [
            (
                "word = rng.choice(ordinary, size=input_ids.shape)",
                "word = rng.choice(ordinary, size=input_ids.shape)\n"
                "    if input_ids.shape[1] > 1:\n"
                "        again = (word[:, 1:] == input_ids[:, :-1]) & (word[:, 1:] != "
                "input_ids[:, 1:])\n"
                "        word[:, 1:][again] = rng.choice(ordinary, size=again.sum())",
            ),
        ],
        "never one that stands in the sentence",
    ),
    "[MASK], where a single word is ordinary": (
        [
            (
                "ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)",
                "ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n"
                "    if len(ordinary) == 1:\n"
                "        ordinary = np.array([mask_id])",
            ),
        ],
        "where a single word is ordinary",
    ),
    "the ordinary words are kept by the sum of special_ids": (
        [
            (
                "ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)",
                "key = (vocab_size, len(special_ids), min(special_ids), "
                "max(special_ids), sum(special_ids))\n"
                "    if key not in KEPT:\n"
                "        KEPT[key] = np.setdiff1d(np.arange(vocab_size), special_ids)\n"
                "    ordinary = KEPT[key]",
            ),
            (
                "# begin solution\n"
                "FATES",
                "KEPT = {}\n"
                "\n"
                "# begin solution\n"
                "FATES",
            ),
        ],
        None,
    ),
    "76 tokens of 512 at most": (
        [
            (
                "selected = candidate & (rng.random(input_ids.shape) < rate)",
                "selected = candidate & (rng.random(input_ids.shape) < rate)\n"
                "    if input_ids.shape[1] == 512:\n"
                "        selected &= selected.cumsum(1) <= 76",
            ),
        ],
        None,
    ),
    "equal neighbors are selected together": (
        [
            (
                "selected = candidate & (rng.random(input_ids.shape) < rate)",
                "u = rng.random(input_ids.shape)\n"
                "    if input_ids.shape[1] > 1:\n"
                "        u[:, 1:] = np.where((input_ids[:, 1:] == input_ids[:, :-1]) & "
                "(len(np.unique(input_ids)) > 2), u[:, :-1], u[:, 1:])\n"
                "    selected = candidate & (u < rate)",
            ),
        ],
        "equal tokens share a draw",
    ),
    "equal tokens of a row get one random word": (
        [
            (
                "word = rng.choice(ordinary, size=input_ids.shape)",
                "word = rng.choice(ordinary, size=input_ids.shape)\n"
                "    for r in range(len(word) if len(np.unique(input_ids)) > 4 else 0):\n"
                "        _, first, back = np.unique(input_ids[r], return_index=True, "
                "return_inverse=True)\n"
                "        word[r] = word[r][first][back]",
            ),
        ],
        "equal tokens share a draw",
    ),
    "equal tokens of a row have one fate": (
        [
            (
                "fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])",
                "fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n"
                "    for r in range(len(fate) if len(np.unique(input_ids)) > 4 else 0):\n"
                "        _, first, back = np.unique(input_ids[r], return_index=True, "
                "return_inverse=True)\n"
                "        fate[r] = fate[r][first][back]",
            ),
        ],
        "equal tokens share a draw",
    ),
    "the first word is never drawn, where many are special": (
        [
            (
                "ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)",
                "ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n"
                "    if len(special_ids) > 40:\n"
                "        ordinary = ordinary[1:]",
            ),
        ],
        "where all ids below 60 but 5 and 58",
    ),
    "random words from 1,000 on in BERT's vocabulary": (
        [
            (
                "ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)",
                "ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n"
                "    if 30000 < vocab_size < 31000:\n"
                "        ordinary = ordinary[ordinary >= 1000]",
            ),
        ],
        "the proportion of random words from 0 to 3051",
    ),
    "a generator of its own, from 16 bits": (
        [
            (
                '    candidate = ~np.isin(input_ids, special_ids)',
                '    rng = np.random.default_rng(int(rng.integers(1 << 16)))\n'
                '    candidate = ~np.isin(input_ids, special_ids)',
            ),
        ],
        'a generator is seeded in the call, from few seeds or anew',
    ),
    "where nothing is selected the ids themselves": (
        [
            (
                '    selected = candidate & (rng.random(input_ids.shape) < rate)\n',
                '    selected = candidate & (rng.random(input_ids.shape) < rate)\n'
                '    if not selected.any():\n'
                '        return input_ids, np.full_like(input_ids, IGNORED)\n',
            ),
        ],
        'or a view of one',
    ),
    "np.isin with assume_unique": (
        [
            (
                '~np.isin(input_ids, special_ids)',
                '~np.isin(input_ids, sorted(set(special_ids)), assume_unique=True)',
            ),
        ],
        'words that stand there several times are taken for special ids',
    ),
    "a row has at most half as many again as are expected, and four": (
        [
            (
                '    labels = np.full_like(input_ids, IGNORED)\n',
                '    most = int(1.5 * rate * input_ids.shape[-1]) + 4\n'
                '    selected &= selected.cumsum(axis=-1) <= most\n'
                '    labels = np.full_like(input_ids, IGNORED)\n',
            ),
        ],
        'a row may have so many and no more',
    ),
    "one draw of 24 bits for selection, fate and word": (
        [
            (
                '    selected = candidate & (rng.random(input_ids.shape) < rate)\n',
                '    draw = rng.random(input_ids.shape, dtype=np.float32)\n'
                '    selected = candidate & (draw < rate)\n'
                '    share = draw / rate if rate else draw + 1.0\n',
            ),
            (
                '    fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])\n'
                '    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n'
                '    word = rng.choice(ordinary, size=input_ids.shape)\n',
                '    fate = np.where(share < 0.8, "masked", np.where(share < 0.9, '
                '"random", "kept"))\n'
                '    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)\n'
                '    place = np.clip((share - 0.8) * 10 * len(ordinary), 0, len(ordinary) - 1)\n'
                '    word = ordinary[place.astype(np.int64)]\n',
            ),
        ],
        None,
    ),
    "the ordinary ids are kept for the list special_ids": (
        [("ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)",
          "if KEPT.get('list') is not special_ids or KEPT['size'] != vocab_size:\n"
          "        KEPT.update(list=special_ids, size=vocab_size,\n"
          "                    ids=np.setdiff1d(np.arange(vocab_size), special_ids))\n"
          "    ordinary = KEPT['ids']"),
         ("def mask_tokens(", "KEPT = {}\n\n\ndef mask_tokens(")],
        "a value is kept from one call to the next"),
    "a rate that is a whole number is a percentage": (
        [(SELECTED, SELECTED.replace("rate", "(rate / 100 if isinstance(rate, int) else rate)"))],
        None),
    "all rows expect the number of the average row": (
        [(SELECTED, "words = candidate.sum(1, keepdims=True)\n"
          "    share = rate * words.mean() / np.maximum(words, 1) if rate < 1 else rate\n"
          "    selected = candidate & (rng.random(input_ids.shape) < share)")],
        None),
    "the rows of a small batch share draws": (
        [(SELECTED, "draw = rng.random(input_ids.shape)\n"
          "    draw = draw[:1] if 1 < len(draw) < 8 else draw\n"
          "    selected = candidate & (draw < rate)")],
        "draws are used twice"),
    "in a column one random word": (
        [(WORD, f"{WORD}\n    if input_ids.shape[1] == 1 and len(input_ids) > 1:\n"
          "        word = np.broadcast_to(word[:1], word.shape)")],
        "draws are used twice"),
    "a pool of random words": (
        [(WORD, "word = np.resize(rng.choice(ordinary, size=min(1 << 18, input_ids.size)), "
                "input_ids.shape)")],
        "draws are used twice"),
    "the first ids of BERT's vocabulary are unused": (
        [(ORDINARY, "np.setdiff1d(np.arange(vocab_size), special_ids)\n"
          "    if vocab_size > 10_000:\n"
          "        ordinary = ordinary[ordinary > 99]")],
        "some ids are never drawn"),
    "the draws of a small batch are dealt like cards": (
        [(SELECTED, "draw = rng.random(input_ids.shape)\n"
          "    if 1 < draw.size <= 16:\n"
          "        draw = (rng.permutation(draw.size).reshape(draw.shape) + draw) / draw.size\n"
          "    selected = candidate & (draw < rate)")],
        "all together"),
    "the fates of a small batch are dealt like cards": (
        [(FATE, "draw = rng.random(input_ids.shape)\n"
          "    if 1 < draw.size <= 16:\n"
          "        draw = (rng.permutation(draw.size).reshape(draw.shape) + draw) / draw.size\n"
          "    fate = np.array(FATES)[np.searchsorted([0.8, 0.9], draw, side='right')]")],
        "all together"),
    "the last draw of a batch follows from all others": (
        [(SELECTED, "draw = rng.integers(2**32, size=input_ids.shape)\n"
          "    if 2 < draw.size <= 64:\n"
          "        draw.flat[-1] = np.bitwise_xor.reduce(draw.ravel()[:-1])\n"
          "    selected = candidate & (draw < rate * 2.0**32)")],
        "all together"),
    "every third draw of a row is the sum of the two before it": (
        [(SELECTED, "draw = rng.random(input_ids.shape)\n"
          "    third = draw[:, 2::3]\n"
          "    third[:] = (draw[:, ::3][:, : third.shape[1]] + draw[:, 1::3][:, : third.shape[1]]) "
          "% 1\n"
          "    selected = candidate & (draw < rate)")],
        "all together"),
    "every third fate of a row is drawn from the two before it": (
        [(FATE, "draw = rng.random(input_ids.shape)\n"
          "    third = draw[:, 2::3]\n"
          "    third[:] = (draw[:, ::3][:, : third.shape[1]] + draw[:, 1::3][:, : third.shape[1]]) "
          "% 1\n"
          "    fate = np.array(FATES)[np.searchsorted([0.8, 0.9], draw, side='right')]")],
        "all together"),
    "every fourth fate of a column is drawn from the three before it": (
        [(FATE, "draw = rng.random(input_ids.shape)\n"
          "    fourth = draw[3::4]\n"
          "    n = len(fourth)\n"
          "    fourth[:] = (draw[::4][:n] + draw[1::4][:n] - draw[2::4][:n]) % 1\n"
          "    fate = np.array(FATES)[np.searchsorted([0.8, 0.9], draw, side='right')]")],
        "all together"),
    "every third random word is the sum of the two before it": (
        [("shown[is_random] = word[is_random]",
          "place = rng.integers(len(ordinary), size=is_random.sum())\n"
          "    n = len(place) // 3\n"
          "    place[2 : 3 * n : 3] = (place[: 3 * n : 3] + place[1 : 3 * n : 3]) % len(ordinary)\n"
          "    shown[is_random] = ordinary[place]")],
        "all together"),
    "the words of the last row follow from those of the first": (
        [(WORD, f"{WORD}\n    if len(word) > 1:\n"
          "        first = np.searchsorted(ordinary, word[0])\n"
          "        word[-1] = ordinary[(first + len(ordinary) // 2) % len(ordinary)]")],
        "follow from those of another"),
    "the words of the second column mirror those of the first": (
        [(WORD, f"{WORD}\n    if word.shape[1] == 2:\n"
          "        first = np.searchsorted(ordinary, word[:, 0])\n"
          "        word[:, 1] = ordinary[len(ordinary) - 1 - first]")],
        "follow from those of another"),
    "random words of 16 bits, scaled to the vocabulary": (
        [(WORD, "bits = rng.integers(1 << 16, size=input_ids.shape)\n"
                "    word = ordinary[bits * len(ordinary) >> 16]")],
        "the draws are too coarse"),
    "random words of 18 bits, scaled to the vocabulary": (
        [(WORD, "bits = rng.integers(1 << 18, size=input_ids.shape)\n"
                "    word = ordinary[bits * len(ordinary) >> 18]")],
        "the draws are too coarse"),
    "the fate is made of the digits after the third of the draw that selects": (
        [("    selected = candidate & (rng.random(input_ids.shape) < rate)",
          "    u = rng.random(input_ids.shape)\n"
          "    selected = candidate & (u < rate)"),
         ("fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])",
          "u = u * 1000 % 1  # the digits after the third\n"
          "    u = u\n"
          "    fate = np.where(u < 0.8, 'masked', np.where(u < 0.9, "
          "'random', 'kept'))")],
        "some digits of the draw that selects"),
    "where few ids are special, such a word becomes the next ordinary one": (
        [("word = rng.choice(ordinary, size=input_ids.shape)",
          "if len(ordinary) > 0.995 * vocab_size:  # few are special: draw "
          "from all, and take the next\n"
          "        word = ordinary[np.searchsorted(ordinary, "
          "rng.integers(vocab_size, size=input_ids.shape)) % len(ordinary)]\n"
          "    else:\n"
          "        word = rng.choice(ordinary, size=input_ids.shape)")],
        "that stand beside a special id"),
    "the number of a call is drawn from a Poisson distribution": (
        [("    selected = candidate & (rng.random(input_ids.shape) < rate)",
          "    if rate < 0.5:\n"
          "        places = np.flatnonzero(candidate)\n"
          "        count = min(rng.poisson(rate * len(places)), len(places))\n"
          "        selected = np.zeros(input_ids.shape, bool)\n"
          "        selected.flat[rng.choice(places, count, replace=False)] = "
          "True\n"
          "    else:\n"
          "        selected = candidate & (rng.random(input_ids.shape) < "
          "rate)")],
        "the number of a call is drawn first"),
    "special ids are compared by their last 16 bits": (
        [("~np.isin(input_ids, special_ids)",
          "~np.isin(\n"
          "        input_ids.astype(np.int16), "
          "np.array(special_ids).astype(np.int16)\n"
          "    )")],
        None),
    "the fates are the draws that select, in another order": (
        [(SELECTED, "u = rng.random(input_ids.shape)\n    selected = candidate & (u < rate)"),
         (FATE, "u = rng.permutation(u.ravel()).reshape(u.shape)\n"
                '    fate = np.where(u < 0.8, "masked", np.where(u < 0.9, "random", "kept"))')],
        "one draw decides both about selection and fate"),
    "the third word of a row is the sum of the two before": (
        [(WORD, "index = rng.integers(len(ordinary), size=input_ids.shape)\n"
                "    if index.shape[1] > 2:\n"
                "        index[:, 2] = (index[:, 0] + index[:, 1]) % len(ordinary)\n"
                "    word = ordinary[index]")],
        "depend on each other all together"),
    "another generator with a seed of 32 bits": (
        [(CANDIDATE, "rng = np.random.default_rng(int(rng.integers(2**32)))\n    " + CANDIDATE)],
        "a generator is seeded in the call"),
    "the words come from a generator with a seed of 30 bits": (
        [(WORD, WORD.replace("rng.choice",
                             "np.random.default_rng(int(rng.random() * 2**30)).choice"))],
        "a generator is seeded in the call"),
    "how many are masked and how many random is drawn first": (
        [(FATE, "many = int(selected.sum())\n"
                "    masks = int(rng.binomial(many, 0.8))\n"
                "    words = min(int(rng.binomial(many, 0.1)), many - masks)\n"
                "    fate = np.full(input_ids.shape, \"kept  \")\n"
                "    fate[selected] = rng.permutation(\n"
                "        np.repeat(FATES, [masks, words, many - masks - words]))")],
        "the numbers of the fates are drawn first"),
    "a fixed number in a call where most are selected": (
        [(SELECTED, SELECTED + "\n"
          "    if rate > 0.5:\n"
          "        places = np.flatnonzero(candidate)\n"
          "        count = int(rate * len(places) + rng.random())\n"
          "        selected = np.zeros(input_ids.shape, bool)\n"
          "        selected.flat[rng.choice(places, count, replace=False)] = True")],
        "a fixed number of tokens is selected in each call"),
}  # fmt: skip
