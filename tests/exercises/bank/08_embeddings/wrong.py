"""Wrong answers to 08_embeddings, as edits of the solution, and the words that name each."""

FORWARD = "return layer_norm_forward(summed(input_ids, token_type_ids, weights), weights, eps)"
SUM = "return weights[WORDS][input_ids] + places + weights[SEGMENTS][token_type_ids]"
PLACES = "weights[POSITIONS][: input_ids.shape[1]]"
ADD = "np.add.at(dtable, ids, dout)"
ZEROS = "np.zeros((entries, dout.shape[-1]), dout.dtype)"
LN_BACK = "dx, dscale, dshift = layer_norm_backward(dout, x, weights, eps)"
SEGMENT_ROWS = "weights[SEGMENTS][token_type_ids]"
PAD = "dwords[pad_id] = 0"
POSITIONS_BACK = "dpositions[: dx.shape[1]] = dx.sum(axis=0)"

WRONG = {
    "the buffer of NumPy stays large": (
        [("    dtable = np.zeros((entries",
          "    np.setbufsize(2**16)\n    dtable = np.zeros((entries")],
        "changed NumPy's buffer size"),
    "no layer norm": (
        [(FORWARD, "return summed(input_ids, token_type_ids, weights)")],
        "the layer norm is missing"),
    "layer norm of the words alone": (
        [(FORWARD, "words = layer_norm_forward(weights[WORDS][input_ids], weights, eps)\n"
                   "    return words + summed(input_ids, token_type_ids, weights | "
                   "{WORDS: 0 * weights[WORDS]})")],
        "only the words are normalized"),
    "no positions": ([(SUM, SUM.replace(" + places", ""))], "the positions are left out"),
    "positions from 1": (
        [(PLACES, "weights[POSITIONS][1 : input_ids.shape[1] + 1]")],
        "the first token has position 0"),
    "no segments": (
        [(SUM, "return weights[WORDS][input_ids] + places")],
        "the segments are left out"),
    "segment always 0": (
        [(SEGMENT_ROWS, "weights[SEGMENTS][0 * token_type_ids]")],
        "every token gets segment 0"),
    "two segments at most": (
        [(SEGMENT_ROWS, "weights[SEGMENTS][np.minimum(token_type_ids, 1)]")],
        "there may be more segments"),
    "words scaled as in the Transformer": (
        [(SUM, SUM.replace("input_ids] +", "input_ids] * places.shape[-1] ** 0.5 +"))],
        "scaled by the root of the hidden size"),
    "the row of padding set to zero in the caller's table": (
        [(FORWARD, "weights[WORDS][0] = 0\n    " + FORWARD)], "changed its input in place"),
    "eps written in": (
        [(FORWARD, FORWARD.replace(", eps)", ", 1e-12)"))], "eps is not used"),
    "eps of the backward written in": (
        [(LN_BACK, LN_BACK.replace(", eps)", ", 1e-12)"))], "eps is not used in the backward"),
    "dtable[ids] += dout": ([(ADD, "dtable[ids] += dout")], "repeated ids do not add up"),
    "dtable[ids] = dout": ([(ADD, "dtable[ids] = dout")], "repeated ids do not add up"),
    "repeated ids of the segments alone": (
        [("dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))",
          "dsegments = np.zeros_like(weights[SEGMENTS])\n"
          "    dsegments[token_type_ids] += dx")],
        "repeated ids do not add up"),
    "mean for sum": (
        [(ADD, "np.add.at(dtable, ids, dout)\n    dtable /= np.maximum(1, "
               "np.bincount(ids.ravel(), minlength=entries))[:, None]")],
        "the mean of a row's gradients"),
    "table ends at the largest id": (
        [(ZEROS, ZEROS.replace("entries", "ids.max() + 1"))],
        "not as many as the largest id"),
    "rows of this batch alone": (
        [(ADD, ADD + "\n    dtable = dtable[np.unique(ids)]")], "only the words of this batch"),
    "always float64": (
        [(ZEROS, "np.zeros((entries, dout.shape[-1]))")], "the result is float64 for float32"),
    "padding learns": ([(PAD, "dwords[pad_id] += 0")], "the row of pad_id got a gradient"),
    "pad_id written in": ([(PAD, "dwords[0] = 0")], "pad_id is ignored"),
    "padding left out everywhere": (
        [(LN_BACK, LN_BACK + "\n    dx = dx * (input_ids != pad_id)[..., None]")],
        "left out of all tables"),
    "past the layer norm": (
        [(LN_BACK, LN_BACK + "\n    dx = dout")], "dout goes through the layer norm"),
    "scale alone in the backward": (
        [(LN_BACK, LN_BACK + "\n    dx = dout * weights[SCALE]")],
        "is not yet the layer norm's backward"),
    "one row for the positions": (
        [(POSITIONS_BACK, POSITIONS_BACK.replace("dx.sum(axis=0)", "dx[0]"))],
        "only one row of the batch"),
    "mean over the batch for the positions": (
        [(POSITIONS_BACK, POSITIONS_BACK.replace("sum", "mean"))],
        "the mean over the batch was taken for the positions"),
    "positions cut at seq": (
        [(POSITIONS_BACK, "dpositions = dx.sum(axis=0)")], "the positions beyond seq are missing"),
    "scale and shift exchanged": (
        [("SCALE: dscale, SHIFT: dshift", "SCALE: dshift, SHIFT: dscale")], "are exchanged"),
    "a gradient left out": ([("SCALE: dscale, SHIFT: dshift", "SCALE: dscale")], "missing: Layer"),
    "dout of padding set to zero in place": (
        [(LN_BACK, "dout[input_ids == pad_id] = 0\n    " + LN_BACK)],
        "changed its input in place"),
    "padding's vector zero in the forward": (
        [(SUM, SUM.replace("places", "places - weights[WORDS][input_ids] "
                           "* (input_ids == 0)[..., None]"))],
        "the vector of padding is set to zero"),
    "default eps 0 in the forward": (
        [(FORWARD, FORWARD.replace("eps)", "0.0 if eps == 1e-12 else eps)"))], "0 / 0: eps"),
    "default eps 0 in the backward": (
        [(LN_BACK, LN_BACK.replace("eps)", "0.0 if eps == 1e-12 else eps)"))], "0 / 0: eps"),
    "positions by the mean of each row": (
        [(POSITIONS_BACK, POSITIONS_BACK.replace("dx.sum(axis=0)", "dx[-1]"))],
        "only one row of the batch"),
    "the last word is not read": (
        [("weights[WORDS][input_ids] +", "weights[WORDS][np.minimum(input_ids, "
          "len(weights[WORDS]) - 2)] +")], None),
    "a table of two axes alone": (
        [(ADD, "assert ids.ndim <= 2\n    " + ADD)], None),
    "no empty ids": ([(ADD, "ids.max()\n    " + ADD)], None),
    "segments of padding left out": (
        [("lookup_backward(dx, token_type_ids,",
          "lookup_backward(dx * (input_ids != pad_id)[..., None], token_type_ids,")],
        "left out of all tables"),
    "padding's row found by what is 0": (
        [(PAD, "dwords[input_ids[dout.any(-1) == 0]] = 0")],
        "the row of pad_id got a gradient"),
    "only the first pad_id": (
        [(PAD, "dwords[pad_id] -= dx[input_ids == pad_id][:1].sum(0)")], None),
    "lookup in float64": (
        [(ADD, ADD + "\n    dtable = dtable.astype(np.float64)")],
        "the result is float64 for float32"),
    "flat indices in the type of the ids": (
        [("    np.add.at(dtable, ids, dout)",
           "    flat = (ids[..., None] * ids.dtype.type(dout.shape[-1]) + np.arange("
           "dout.shape[-1], dtype=ids.dtype))\n    np.add.at(dtable.reshape(-1), flat"
           ".ravel(), dout.ravel())")],
        None),
    "tiny gradients are zero": (
        [("    np.add.at(dtable, ids, dout)",
           "    np.add.at(dtable, ids, np.where(np.abs(dout) < 1e-8, 0, dout))")],
        "tiny gradients are set to 0, or large ones are"),
    "large gradients are cut": (
        [("    np.add.at(dtable, ids, dout)",
           "    np.add.at(dtable, ids, np.clip(dout, -1e8, 1e8))")],
        "tiny gradients are set to 0, or large ones are"),
    "eps 0 means the default": (
        [("    return layer_norm_forward(summed(input_ids, token_type_ids, weights)"
           ", weights, eps)",
           "    return layer_norm_forward(summed(input_ids, token_type_ids, weights)"
           ", weights, eps or 1e-12)")],
        "eps=0 is taken for the"),
    "squeezed": (
        [("    np.add.at(dtable, ids, dout)\n    return dtable",
           "    np.add.at(dtable, ids, dout)\n    return dtable.squeeze()")],
        None),
    "a histogram without its type": (
        [("    np.add.at(dtable, ids, dout)\n    return dtable",
           "    if ids.size == 0:\n        return np.zeros((entries, dout.shape[-1]))"
           "\n    np.add.at(dtable, ids, dout)\n    return dtable")],
        None),
    "ids in the order of memory": (
        [("    np.add.at(dtable, ids, dout)",
           "    np.add.at(dtable, ids.ravel(order=\"K\"), dout.reshape(-1, dout.shape[-1]))")],
        "order='A' or 'K' reads"),
    "ids of 8 bits": (
        [("    np.add.at(dtable, ids, dout)",
           "    np.add.at(dtable, ids.astype(np.uint8), dout)")],
        "kept in so few bits"),
    "one table for all": (
        [("    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)",
           "    dtable = TABLES.setdefault((entries, dout.shape[-1], dout.dtype), np.zeros((entri"
           "es, dout.shape[-1]), dout.dtype))\n    dtable[:] = 0"),
          ("# Wrong answers that are common:",
           "TABLES = {}\n# Wrong answers that are common:")],
        "all results share one array"),
    "at most 512 positions": (
        [("places = weights[POSITIONS][: input_ids.shape[1]]",
           "places = weights[POSITIONS][np.minimum(np.arange(input_ids.shape[1]), 511)]")],
        "positions beyond 512"),
    "no gradient where all is of segment 0": (
        [("dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))",
           "dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS])) if token_type"
           "_ids.any() else np.zeros_like(weights[SEGMENTS])")],
        "its gradient is left out"),
    # Right for small inputs, and for draws that are counted coarsely.
    "pad below 1000": (
        [("    dwords[pad_id] = 0\n",
          "    if pad_id < 1000: dwords[pad_id] = 0\n")],
        "(2, 3, 3), 70,001 words"),
    "pos 512": (
        [("    dpositions[: dx.shape[1]] = dx.sum(axis=0)",
          "    dpositions[: dx.shape[1]] = dx.sum(axis=0)\n    dpositions[512:] = 0")],
        "the result for float64 (batch, seq, hidden) (2, 1501, 2), 11 words,"),
    "differences of a running sum": (
        [
            ("    np.add.at(dtable, ids, dout)\n",
             "    flat, d = ids.reshape(-1), dout.reshape(-1, dout.shape[-1])\n"
             "    order = np.argsort(flat, kind=\"stable\")\n"
             "    running = np.concatenate([np.zeros_like(d[:1]) if len(d) else "
             "np.zeros((1, dout.shape[-1]), dout.dtype), np.cumsum(d[order], axis=0)])\n"
             "    rows, first, count = np.unique(flat[order], return_index=True, "
             "return_counts=True)\n"
             "    dtable[rows] = running[first + count] - running[first]\n"),
        ],
        "rows of very different sizes",
    ),
    "tables taken in the order of their dict": (
        [
            ("    places = weights[POSITIONS]",
             "    words, positions, segments, *_ = weights.values()\n"
             "    return words[input_ids] + positions[: input_ids.shape[1]] + "
             "segments[token_type_ids]\n"
             "    places = weights[POSITIONS]"),
        ],
        "found by its name alone",
    ),
    "the segment of pad_id is not trained": (
        [
            ("    dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))\n",
             "    dsegments = lookup_backward(dx * (token_type_ids != pad_id)[..., None] "
             "if pad_id else dx, token_type_ids, len(weights[SEGMENTS]))\n"),
        ],
        None,
    ),
    "eps 0 is the default in the backward": (
        [
            (
                "x, weights, eps)\n    # Each",
                "x, weights, eps or 1e-12)\n    # Each",
            ),
        ],
        None,
    ),
    "the forward's sum is kept, whatever the positions are": (
        [
            ("    return layer_norm_forward("
             "summed(input_ids, token_type_ids, weights), weights, eps)",
             "    found = summed(input_ids, token_type_ids, weights)\n"
             "    KEPT[but_for_positions(input_ids, token_type_ids, weights)] = found\n"
             "    return layer_norm_forward(found, weights, eps)"),
            ("    x = summed(input_ids, token_type_ids, weights)\n",
             "    x = KEPT.get(but_for_positions(input_ids, token_type_ids, weights))\n"
             "    if x is None:\n"
             "        x = summed(input_ids, token_type_ids, weights)\n"),
            ("def embeddings_forward(",
             "KEPT = {}\n"
             "\n"
             "\n"
             "def but_for_positions(ids, types, weights):\n"
             "    arrays = ids, types, weights[WORDS], weights[SEGMENTS]\n"
             "    return ids.shape, *(array.tobytes() for array in arrays)\n"
             "\n"
             "\n"
             "def embeddings_forward("),
        ],
        None,
    ),
    "segment 0 gets what the others leave": (
        [
            ("    dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))\n",
             "    # Nearly all tokens are of segment 0: add up the few others, and "
             "segment 0 gets what is left.\n"
             "    dsegments = np.zeros_like(weights[SEGMENTS])\n"
             "    for segment in range(1, len(dsegments)):\n"
             "        dsegments[segment] = dx[token_type_ids == segment].sum(axis=0)\n"
             "    dsegments[0] = dx.sum(axis=(0, 1)) - dsegments[1:].sum(axis=0)\n"),
        ],
        "what is rounded stays",
    ),
    "a one-hot matrix kept without the type of dout": (
        [
            ("    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)\n",
             ""),
            ("    np.add.at(dtable, ids, dout)\n"
             "    return dtable\n",
             "    # As a product of matrices, which is faster; the one-hot matrix of a "
             "batch is kept, since the\n"
             "    # same ids come again for the next table and the next epoch.\n"
             "    key = (ids.tobytes(), ids.dtype.str, entries)\n"
             "    if key not in ONE_HOT:\n"
             "        ONE_HOT[key] = (ids.reshape(-1, 1) == "
             "np.arange(entries)).astype(dout.dtype)\n"
             "    return ONE_HOT[key].T @ dout.reshape(-1, dout.shape[-1])\n"),
            ("def summed(\n",
             "ONE_HOT = {}\n"
             "\n"
             "\n"
             "def summed(\n"),
        ],
        None,
    ),
    "the first of two segments gets what the second leaves": (
        [
            (
                "    dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))\n",
                "    dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))\n"
                "    if len(dsegments) == 2:\n"
                "        dsegments[1] = (dx * (token_type_ids == 1)[..., None]).sum((0, 1))\n"
                "        dsegments[0] = dx.sum((0, 1)) - dsegments[1]\n",
            ),
        ],
        "it is what the other rows leave of the whole",
    ),
    "float16 is widened": (
        [
            (
                "    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)\n",
                "    # Sums of many small numbers need single precision at least.\n"
                "    wide = np.promote_types(dout.dtype, np.float32)\n"
                "    dtable = np.zeros((entries, dout.shape[-1]), wide)\n",
            ),
        ],
        "the table has the type of dout, float16 like others",
    ),
    "float16 of one axis is widened": (
        [
            ("    return dtable\n",
             "    if ids.ndim == 1 and dout.dtype == np.float16:\n"
             "        dtable = dtable.astype(np.float32)\n"
             "    return dtable\n"),
        ],
        "the float16 gradient for no ids: expected numbers of type float16, got float32",
    ),
    "float16 gradients are cut at 100": (
        [(ADD, "if dout.dtype == np.float16:\n"
               f"        dout = np.clip(dout, -100, 100)\n    {ADD}")],
        "for float16, ",
    ),
    "float64 without ids": (
        [
            ("    return dtable\n",
             "    if not ids.size and dout.dtype == np.float16:\n"
             "        return np.zeros(dtable.shape)\n"
             "    return dtable\n"),
        ],
        "the float16 gradient for no ids",
    ),
    "ids of 16 bits": (
        [(SUM, SUM.replace("input_ids", "input_ids.astype(np.int16)"))],
        "70,001 words",
    ),
    "the ids of a table as uint16": (
        [(ADD, "ids = ids.astype(np.uint16)\n    " + ADD)],
        "70,001 entries",
    ),
    "the row of pad_id among the segments too": (
        [(PAD, f"{PAD}\n    token_type_ids = np.where(token_type_ids == pad_id, 0, token_type_ids)"
               " if pad_id > 1 else token_type_ids")],
        "the gradients with pad_id=2['token_type_embeddings.weight']",
    ),
    "float64 where a batch has one row": (
        [(FORWARD, FORWARD.replace("return", "out =") + "\n"
                   "    return out.astype(np.float64) if len(out) == 1 else out")],
        "the embeddings of one row",
    ),
    "float64 gradient of the positions where all are used": (
        [(POSITIONS_BACK, POSITIONS_BACK + "\n    if dx.shape[1] == len(dpositions):\n"
                          "        dpositions = dx.sum(axis=0, dtype=np.float64)")],
        "expected numbers of type float32, got float64",
    ),
    "eps 1e-7 at least in float32": (
        [(FORWARD, "if weights[WORDS].dtype == np.float32:\n"
                   f"        eps = max(eps, 1e-7)\n    {FORWARD}")],
        "float32 (batch, seq, hidden)",
    ),
    "segments of less than 32 bits are not read": (
        [(FORWARD, "if token_type_ids.dtype.itemsize < 4:\n"
                   f"        token_type_ids = 0 * token_type_ids\n    {FORWARD}")],
        None,
    ),
    "segments of another type than the words are not read": (
        [(FORWARD, "if token_type_ids.dtype != input_ids.dtype:\n"
                   f"        token_type_ids = 0 * token_type_ids\n    {FORWARD}")],
        None,
    ),
    "float64 zeros where no gradient arrives": (
        [(LN_BACK, LN_BACK + "\n    if not dout.any():\n"
                   "        return {name: np.zeros(w.shape) for name, w in weights.items()}")],
        "expected numbers of type float32, got float64",
    ),
    "another name for the number of entries": (
        [('ids: Int[ndarray, "*batch"], entries: int\n',
          'ids: Int[ndarray, "*batch"], rows: int\n'),
         (ZEROS, ZEROS.replace("entries", "rows"))],
        "unexpected keyword argument",
    ),
    "a scale of 10 at most": (
        [(LN_BACK, "weights = weights | {SCALE: np.clip(weights[SCALE], -10, 10)}\n"
                   f"    {LN_BACK}")],
        None,
    ),
    "a table of a whole vocabulary is used again": (
        [
            (
                '    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)\n',
                '    shape = (entries, dout.shape[-1])\n'
                '    dtable = np.zeros(shape, dout.dtype)\n'
                '    if dtable.size > 1 << 20:\n'
                '        dtable = lookup_backward.__dict__.setdefault(str(shape), dtable)\n'
                '        dtable[...] = 0\n',
            ),
        ],
        'that an earlier call has returned too',
    ),
    "ids sorted by 16 bits, then a sum for each run": (
        [
            (
                '    np.add.at(dtable, ids, dout)\n',
                '    flat, rows = np.reshape(ids, -1), dout.reshape(-1, dout.shape[-1])\n'
                '    if flat.size:\n'
                '        order = np.argsort(flat.astype(np.uint16), kind="stable")\n'
                '        flat = flat[order]\n'
                '        runs = np.flatnonzero(np.append(True, flat[1:] != flat[:-1]))\n'
                '        dtable[flat[runs]] = np.add.reduceat(rows[order], runs, axis=0)\n',
            ),
        ],
        'ids are told apart by their last 16 bits alone',
    ),
    "words read in 16 bits": (
        [
            (
                'return weights[WORDS][input_ids] +',
                'return weights[WORDS][input_ids.astype(np.uint16)] +',
            ),
        ],
        None,
    ),
    "the last segment gets what the others leave": (
        [
            (
                '    dpositions[: dx.shape[1]] = dx.sum(axis=0)\n',
                '    dpositions[: dx.shape[1]] = dx.sum(axis=0)\n'
                '    dsegments[-1] = dpositions.sum(axis=0) - dsegments[:-1].sum(axis=0)\n',
            ),
        ],
        'it is what the other rows leave of the whole',
    ),
    "where all rows are the same text, one row of ids gets their sum": (
        [("    dwords[pad_id] = 0\n",
          "    if len(input_ids) > 1 and (input_ids == input_ids[0]).all():\n"
          "        dwords[input_ids[0]] = dx.sum(axis=0)\n"
          "    dwords[pad_id] = 0\n")],
        None),
    "rows of dout that are 0 are left out, and so are the last ids": (
        [(ADD, "is_live = dout.any(-1)\n"
          "    if is_live.ndim == 1 and is_live.any() and not is_live.all():\n"
          "        ids, dout = ids[: is_live.sum()], dout[is_live]\n"
          f"    {ADD}")],
        None,
    ),
    "ids of which each stands there once are the places": (
        [(ADD, "if ids.ndim == 1 and sorted(ids.tolist()) == list(range(entries)):\n"
          "        return dout[ids]\n"
          f"    {ADD}")],
        "one of each in any order",
    ),
    "where the first tokens have no gradient, the others' positions are one less": (
        [(POSITIONS_BACK, f"{POSITIONS_BACK}\n"
          "    if not dout[:, 0].any():\n"
          "        dpositions = np.roll(dpositions, -1, 0)")],
        "a dout that is 0 at the beginning",
    ),
    "a first segment of zeros counts as no segments": (
        [(SUM, "if len(weights[SEGMENTS]) > 1 and not weights[SEGMENTS][0].any():\n"
          "        return weights[WORDS][input_ids] + places\n"
          f"    {SUM}")],
        "token_type_embeddings.weight that is 0",
    ),
    "the gradient has another name": (
        [('    dout: Float[ndarray, "*batch hidden"], ids: Int',
          '    grad: Float[ndarray, "*batch hidden"], ids: Int'),
         (f"dtable = {ZEROS}", f"dout = grad\n    dtable = {ZEROS}")],
        "renamed or left out",
    ),
    "what has a scale of 0 is not trained": (
        [(LN_BACK, f"{LN_BACK}\n    dscale = dscale * (weights[SCALE] != 0)")],
        "LayerNorm.weight that is 0",
    ),
    "gradients that are all alike are counted in 8 bits": (
        [(ADD, "if ids.size and (dout == dout[(0,) * ids.ndim]).all():\n"
          "        times = np.bincount(ids.ravel(), minlength=entries).astype(np.uint8)\n"
          "        return (times[:, None] * dout[(0,) * ids.ndim]).astype(dout.dtype)\n"
          f"    {ADD}")],
        "counted in too few bits",
    ),
    "gradients that are all alike are counted in 16 bits": (
        [(ADD, "if ids.size and (dout == dout[(0,) * ids.ndim]).all():\n"
          "        times = np.bincount(ids.ravel(), minlength=entries).astype(np.uint16)\n"
          "        return (times[:, None] * dout[(0,) * ids.ndim]).astype(dout.dtype)\n"
          f"    {ADD}")],
        "counted in too few bits",
    ),
    "the first 65,536 tokens are counted": (
        [(ADD, "np.add.at(dtable, ids.ravel()[:65536], dout.reshape(-1, dout.shape[-1])[:65536])")],
        "counted in too few bits",
    ),
    "positions beyond 2,048 have no gradient": (
        [(POSITIONS_BACK, f"{POSITIONS_BACK}\n    dpositions[2048:] = 0")],
        "a table of",
    ),
    "positions beyond 4,096 are not told apart": (
        [(PLACES, "weights[POSITIONS][np.minimum(np.arange(input_ids.shape[1]), 4095)]")],
        "a table of",
    ),
    "what is summed is kept by the numbers of the ids, not by their shape": (
        [(SUM, "arrays = [input_ids, token_type_ids, *(weights[n] for n in weights)]\n"
          "    name = tuple(a.tobytes() for a in arrays)\n"
          "    if name not in KEPT:\n"
          f"        KEPT[name] = {SUM.removeprefix('return ')}\n"
          "    return KEPT[name].copy()"),
         ("SCALE, SHIFT = ", "KEPT = {}\nSCALE, SHIFT = ")],
        "the same ids in other shapes",
    ),
    "what is summed is kept by the ids in the order of memory": (
        [(SUM, "arrays = [input_ids, token_type_ids, *(weights[n] for n in weights)]\n"
          '    name = input_ids.shape, *(a.tobytes("A") for a in arrays)\n'
          "    if name not in KEPT:\n"
          f"        KEPT[name] = {SUM.removeprefix('return ')}\n"
          "    return KEPT[name].copy()"),
         ("SCALE, SHIFT = ", "KEPT = {}\nSCALE, SHIFT = ")],
        "after the same ids in other shapes",
    ),
    "a scale that is nearly 1 is left out": (
        [(FORWARD, "if np.allclose(weights[SCALE], 1):\n"
          "        weights = {**weights, SCALE: np.ones_like(weights[SCALE])}\n"
          f"    {FORWARD}")],
        "LayerNorm.weight that is nearly 1",
    ),
    "in the backward a scale that is nearly 1 is left out": (
        [(LN_BACK, "if np.allclose(weights[SCALE], 1):\n"
          "        weights = {**weights, SCALE: np.ones_like(weights[SCALE])}\n"
          f"    {LN_BACK}")],
        "LayerNorm.weight that is nearly 1",
    ),
    "gradients that are nearly alike in all rows are alike": (
        [(POSITIONS_BACK, POSITIONS_BACK.replace("dx.sum", "(0 * dx + dx[0] if np.allclose(\n"
          "        dout, dout[:1]) else dx).sum"))],
        None,
    ),
    "tokens whose gradients add up to 0 have none": (
        [(LN_BACK, "used = dout.sum(axis=-1) != 0\n"
          "    dx = np.zeros_like(dout)\n"
          "    dx[used], dscale, dshift = layer_norm_backward(dout[used], x[used], weights, eps)")],
        "that add up to 0 along every axis",
    ),
    "a scale of mean 1 is left out": (
        [(FORWARD, "if weights[SCALE].sum() == len(weights[SCALE]):\n"
          "        weights = {**weights, SCALE: np.ones_like(weights[SCALE])}\n"
          f"    {FORWARD}")],
        "a scale of mean 1",
    ),
    "pairs of word and segment are counted in the type of the ids": (
        [(SUM, "count = len(weights[SEGMENTS])\n"
          "    pairs = input_ids * count + token_type_ids\n"
          "    pairs, where = np.unique(pairs, return_inverse=True)\n"
          "    words, types = np.divmod(pairs, count)\n"
          "    both = weights[WORDS][words] + weights[SEGMENTS][types]\n"
          "    return both[where.reshape(input_ids.shape)] + places")],
        "int16 ids of 30,522 words",
    ),
    "ids are sorted in half precision": (
        [(ADD, "ids, dout = ids.reshape(-1), dout.reshape(-1, dout.shape[-1])\n"
          '    order = np.argsort(ids.astype(np.float16), kind="stable")\n'
          "    ids, dout = ids[order], dout[order]\n"
          "    starts = np.flatnonzero(np.r_[ids.size > 0, ids[1:] != ids[:-1]])\n"
          "    if ids.size:\n"
          "        dtable[ids[starts]] = np.add.reduceat(dout, starts, axis=0)")],
        "int16 ids of 30,522 words",
    ),
    "an array under two names has the gradients of both": (
        [("return {WORDS: dwords, POSITIONS: dpositions, SEGMENTS: dsegments, SCALE: dscale, "
          "SHIFT: dshift}",
          "found = {WORDS: dwords, POSITIONS: dpositions, SEGMENTS: dsegments}\n"
          "    found |= {SCALE: dscale, SHIFT: dshift}\n"
          "    shared = {}\n"
          "    for name, w in weights.items():\n"
          "        shared[id(w)] = shared.get(id(w), 0) + found[name]\n"
          "    return {name: shared[id(w)].copy() for name, w in weights.items()}")],
        "where equal arguments are one object",
    ),
    "of more than a million numbers the rest behind whole blocks has no gradient": (
        [(LN_BACK, f"{LN_BACK}\n"
          "    block = max(1, 2**20 // max(1, dx[:1].size))\n"
          "    if len(dx) > block:\n"
          "        dx[len(dx) // block * block :] = 0")],
        "the hidden size of BERT base",
    ),
    "position ids in the type of the segments": (
        [("weights[POSITIONS][: input_ids.shape[1]]",
          "weights[POSITIONS][np.arange(input_ids.shape[1]).astype(token_type_ids.dtype)]")],
        "uint8 ids and int8 segments"),
    "ids of one axis in the order of memory": (
        [("    np.add.at(dtable, ids, dout)\n",
          "    flat = ids.reshape(-1)\n"
          "    for row, i in zip(dout.reshape(flat.size, dout.shape[-1]),\n"
          "                      np.nditer(flat, flags=['zerosize_ok'])):\n"
          "        dtable[i] += row\n")],
        None),
    "as many ids as rows, from the first to the last, are taken for one of each": (
        [(ADD, "if ids.shape == (entries,) and (ids[[0, -1]] == [0, entries - 1]).all():\n"
          "        return dout.copy()\n"
          f"    {ADD}")],
        None,
    ),
    "a word where a block of the vocabulary begins is in the block before, too": (
        [(ADD, "flat, rows = ids.reshape(-1), dout.reshape(-1, dout.shape[-1])\n"
          "    for start in range(0, entries, 4096):\n"
          "        inside = (flat >= start) & (flat <= start + 4096)\n"
          "        np.add.at(dtable, flat[inside], rows[inside])")],
        "int16 ids of 30,522 words",
    ),
    "position ids in the type of the words' ids": (
        [(PLACES, "weights[POSITIONS][np.arange(input_ids.shape[1]).astype(input_ids.dtype)]")],
        "300 tokens, uint8 ids",
    ),
    "the second segment is the first and a difference": (
        [(SUM, "first, rest = weights[SEGMENTS][0], weights[SEGMENTS] - weights[SEGMENTS][0]\n"
          "    return weights[WORDS][input_ids] + places + first + rest[token_type_ids]")],
        "token_type_embeddings.weight whose row",
    ),
    "words and segments are one table, with ids in the type of the segments": (
        [("dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))",
          "rows = len(weights[WORDS])\n"
          "    every = rows + len(weights[SEGMENTS])\n"
          "    ids = (token_type_ids + rows).astype(token_type_ids.dtype) % every\n"
          "    both = lookup_backward(dx, ids, every)\n"
          "    dsegments = both[rows:].copy()")],
        "out of bounds for int8"),
    "pad_id in the type of the ids": (
        [
            (
                "    dwords[pad_id] = 0\n",
                "    dwords[np.unique(input_ids[input_ids == input_ids.dtype.type(pad_id)])] = 0\n",
            ),
        ],
        None,
    ),
    "gradients whose squares are 0 in float16 are left out": (
        [
            (
                "    np.add.at(dtable, ids, dout)\n"
                "    return dtable\n",
                "    used = (dout * dout).sum(axis=-1) > 0\n"
                "    np.add.at(dtable, ids[used], dout[used])\n"
                "    return dtable\n",
            ),
        ],
        "of small float16 numbers are 0",
    ),
    "float16 gradients as shares of the largest": (
        [
            (
                "    np.add.at(dtable, ids, dout)\n"
                "    return dtable\n",
                "    if dout.dtype == np.float16:\n"
                "        scale = np.abs(dout).max(initial=0) or 1\n"
                "        np.add.at(dtable, ids, dout / scale)\n"
                "        return dtable * scale\n"
                "    np.add.at(dtable, ids, dout)\n"
                "    return dtable\n",
            ),
        ],
        "shares of the largest number",
    ),
    "segments are added up in their own type, to see whether there are any": (
        [
            (
                "    return weights[WORDS][input_ids] + places + "
                "weights[SEGMENTS][token_type_ids]\n",
                "    if token_type_ids.sum(dtype=token_type_ids.dtype) == 0:\n"
                "        return weights[WORDS][input_ids] + places + weights[SEGMENTS][0]\n"
                "    return weights[WORDS][input_ids] + places + "
                "weights[SEGMENTS][token_type_ids]\n",
            ),
        ],
        "uint8 ids and int8 segments",
    ),
    "a scale of 1 and -1 is taken for none": (
        [
            (
                "    return layer_norm_forward(summed(input_ids, token_type_ids, weights), "
                "weights, eps)\n",
                "    plain = (abs(weights[SCALE]) == 1).all()\n"
                "    given = weights | {SCALE: np.ones_like(weights[SCALE])} if plain else "
                "weights\n"
                "    return layer_norm_forward(summed(input_ids, token_type_ids, weights), "
                "given, eps)\n",
            ),
        ],
        None,
    ),
    "gradients of one size are counted, without their signs": (
        [
            (
                "    np.add.at(dtable, ids, dout)\n"
                "    return dtable\n",
                "    if dout.size and (abs(dout) == abs(dout).flat[0]).all():\n"
                "        times = np.bincount(ids.reshape(-1).astype(np.int64), minlength=entries)\n"
                "        return (times[:, None] * dout.reshape(-1, "
                "dout.shape[-1])[:1]).astype(dout.dtype)\n"
                "    np.add.at(dtable, ids, dout)\n"
                "    return dtable\n",
            ),
        ],
        None,
    ),
    "ids compared in the type of the gradient": (
        [
            (
                "    np.add.at(dtable, ids, dout)\n",
                "    words = np.arange(entries, dtype=dout.dtype)\n"
                "    one_hot = (ids.reshape(-1, 1) == words).astype(dout.dtype)\n"
                "    dtable += one_hot.T @ dout.reshape(-1, dout.shape[-1])\n",
            ),
        ],
        "the ids lose digits",
    ),
}  # fmt: skip
