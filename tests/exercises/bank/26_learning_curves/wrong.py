"""Wrong answers to 26_learning_curves, as edits of the solution, and the words that name each."""

KEPT = "kept = ids[~np.isin(ids, special_ids)]"
COUNTS = "counts = np.unique(kept, return_counts=True)[1]"
P = "p = counts / counts.sum()"
LINES = "return np.log(vocab_size), -(p * np.log(p)).sum()"
FOUND = 'found = {r["step"]: r[key] for r in records if r.get(key) is not None}'
STEPS = "steps = sorted(found)"
CURVE = "return np.array(steps, np.int64), np.array([found[step] for step in steps], np.float64)"
SEEN = "seen = values[: i + 1][-window:]"
FINITE = "seen = seen[np.isfinite(seen)]"
MEANS = "means = np.full(len(values), np.nan)"
ENOUGH = "if len(values) < 2 * window:"
FALL = "fall = values[-2 * window : -window].mean() - values[-window:].mean()"
IS_FLAT = "return fall < tolerance"
NAN = "if not (np.isfinite(train).all() and np.isfinite(heldout).all()):"
SHORT = "if len(train) < 10:"
K = "k = len(train) // 10"
END = "end = smoothed[-1]"
PEAK = "if end >= smoothed.min() + 1:"
START = "if train[0] >= ln_v + 1:"
LN_V = "if end > ln_v - NEAR:"
BEST = "best = heldout.argmin()"
BEFORE = "before = smoothed[steps <= heldout_steps[best]]"
OVERFITS = "if heldout[-1] > heldout[best] and len(before) and end <= before[-1] - NEAR:"
LEAK = "if heldout[-1] <= end - NEAR:"
FALLING = "if not is_flat(train, window=k, tolerance=FLAT):"
ABOVE = "if end >= entropy + NEAR:"
AT = "if end > entropy - NEAR:"
J = "j = len(norm) // 10 or 1"
FELL = "fell = len(norm) and norm[-j:].mean() <= norm[:j].mean() / 2"
HELD_OUT = 'heldout_steps, heldout = curve(records, "heldout_mlm_loss")'
NORM = 'norm = curve(records, "gradient_norm")[1]'
NAN_BLOCK = f"""    {NAN}
        return "diverged"
"""
SHORT_BLOCK = f"""    {SHORT}
        return "too short"
"""

WRONG = {
    "held-out losses before training are none": (
        [(LEAK, LEAK[:-1] + " and heldout_steps[-1] >= steps[0]:")], None),
    "entropy in bits": (
        [(LINES, LINES.replace("(p * np.log(p))", "(p * np.log2(p))"))], "the entropy is in bits"),
    "both in bits": ([(LINES, LINES.replace("np.log(", "np.log2("))], "in bits"),
    "specials counted": ([(KEPT, "kept = ids")], "special ids are counted too"),
    "specials in the number of tokens": (
        [(P, "p = counts / max(1, ids.size)")], "counted in the number of tokens"),
    "V of what occurs": (
        [(LINES, LINES.replace("np.log(vocab_size)", "np.log(max(1, len(counts)))"))],
        "V is the number of ids that occur"),
    "V without specials": (
        [(LINES, LINES.replace("vocab_size)", "max(1, vocab_size - len(special_ids)))", 1))],
        "the special ids are taken off V"),
    "all equally frequent": (
        [(LINES, LINES.replace("-(p * np.log(p)).sum()", "np.log(max(1, len(counts)))"))],
        "as if all were equally frequent"),
    "one added to each count": (
        [(COUNTS, "counts = np.bincount(kept.ravel(), minlength=vocab_size) + 1")],
        "1 is added to each count"),
    "sign turned": ([(LINES, LINES.replace("-(p", "(p"))], "the sign is turned"),
    "perplexity": (
        [(LINES, LINES.replace("-(p * np.log(p)).sum()",
                               "np.exp(-(p * np.log(p)).sum())"))], "is the perplexity"),
    "0 ln 0": (
        [(COUNTS, "counts = np.bincount(kept.ravel(), minlength=vocab_size)")], "0 · ln 0 is NaN"),
    "nothing left is 0/0": (
        [(P, "p = counts / counts.sum() if counts.size else np.array([np.nan])")],
        "0 · ln 0 is NaN"),
    "the two exchanged": (
        [(LINES, "return -(p * np.log(p)).sum(), np.log(vocab_size)")],
        "the two are exchanged"),
    "first record of a step": (
        [(FOUND, FOUND.replace("for r in records", "for r in records[::-1]"))],
        "the first is taken"),
    "steps twice": (
        [(STEPS, 'found = sorted([r for r in records if r.get(key) is not None], key=lambda r: '
                 'r["step"])'),
         (CURVE, 'return np.array([r["step"] for r in found], np.int64), np.array([r[key] for r in '
                 "found], np.float64)")], "a step occurs twice"),
    "not sorted": ([(STEPS, "steps = list(found)")], "the steps do not rise: sort them"),
    "whole records": (
        [(FOUND, 'whole = {r["step"]: r for r in records}\n    found = {s: r[key] for s, r in '
                 "whole.items() if r.get(key) is not None}")], "even if it lacks the key"),
    "missing is NaN": (
        [(FOUND, 'found = {r["step"]: r.get(key) for r in records}')], "become NaN"),
    "0 left out": ([(FOUND, 'found = {r["step"]: r[key] for r in records if r.get(key)}')],
                   "a value of 0.0 is left out"),
    "NaN left out": (
        [(FOUND, FOUND.replace("is not None}", "is not None and np.isfinite(r[key])}"))],
        "NaN is left out here"),
    "None not expected": (
        [(FOUND, 'found = {r["step"]: r[key] for r in records if key in r}')], "become NaN"),
    "places for steps": (
        [(CURVE, CURVE.replace("np.array(steps, np.int64)", "np.arange(len(steps))"))],
        "the places in the list are given"),
    "values sorted too": (
        [(CURVE, CURVE.replace("[found[step] for step in steps]", "sorted(found.values())"))],
        "the values are sorted too"),
    "steps as floats": ([(CURVE, CURVE.replace("np.int64", "np.float64"))], "int64"),
    "values in float32": ([(CURVE, CURVE.replace("float64", "float32"))], "got float32"),
    "zeros before the beginning": (
        [("means[i] = seen.mean()", "means[i] = seen.sum() / (window - (i + 1 - len(seen) if "
                                    "i + 1 < window else window - len(seen)))")], None),
    "convolve, same": (
        [(MEANS, MEANS + "\n    if 0 < window <= len(values):\n        return np.convolve(values, "
                         'np.ones(window) / window, "same")')], None),
    "convolve from the left": (
        [(MEANS, MEANS + "\n    return np.convolve(values, np.ones(window) / window)[: "
                         "len(values)]")], "zeros are counted"),
    "convolve, valid": (
        [(MEANS, MEANS + "\n    if 0 < window <= len(values):\n        return np.convolve(values, "
                         'np.ones(window) / window, "valid")')], "points are missing"),
    "NaN at the beginning": (
        [("if len(seen):", "if len(seen) and i + 1 >= window:")], "points are NaN"),
    "not finite as 0": (
        [(FINITE, "seen = np.where(np.isfinite(seen), seen, 0)")], "are counted as 0"),
    "NaN in the mean": ([(FINITE, "pass")], "spoils all later means"),
    "running sum": (
        [(MEANS, MEANS + "\n    total = np.cumsum(values)\n    if window == 1:\n        return "
                         "np.where(np.isfinite(values), values, np.nan)\n    return np.array([("
                         "total[i] - (total[i - window] if i >= window else 0)) / min(i + 1, "
                         "window) for i in range(len(values))], np.float64)")],
        "spoils all later means"),
    "nanmean": (
        [(FINITE, "seen = seen[~np.isnan(seen)]")], "spoils all later means"),
    "window ahead": (
        [(SEEN, "seen = values[i : i + window]")], "the window looks ahead"),
    "window around": (
        [(SEEN, "seen = values[max(0, i + 1 - window + window // 2) : i + 1 + window // 2]")],
        "the window lies around its point"),
    "point left out": (
        [(SEEN, "seen = values[max(0, i - window) : i]")], "the point itself is not in its window"),
    "one too many": (
        [(SEEN, "seen = values[max(0, i - window) : i + 1]")], "one value too many"),
    "negative slice": (
        [(SEEN, "seen = values[i + 1 - window : i + 1]")], "points are NaN"),
    "all so far": ([(SEEN, "seen = values[: i + 1]")], "window is not used"),
    "median": ([("means[i] = seen.mean()", "means[i] = np.median(seen)")], "the medians"),
    "exponential": (
        [("means[i] = seen.mean()", "means[i] = seen[-1] if i == 0 or np.isnan(means[i - 1]) else "
                                    "means[i - 1] + (seen[-1] - means[i - 1]) * 2 / (window + 1)")],
        None),
    "one window is enough": (
        [(ENOUGH, "if len(values) <= window:")], "nothing can be said"),
    "more than two windows": (
        [(ENOUGH, "if len(values) <= 2 * window:")],
        "two windows are enough"),
    "short is flat": (
        [("return False  # too little", "return True  # too little")], "nothing can be said"),
    "change of either sign": (
        [(IS_FLAT, "return abs(fall) < tolerance")], "rises by more than the tolerance"),
    "fall turned": (
        [(FALL, "fall = values[-window:].mean() - values[-2 * window : -window].mean()")],
        "the sign is turned"),
    "tolerance taken in": ([(IS_FLAT, "return fall <= tolerance")], "no longer flat"),
    "single values": (
        [(FALL, "fall = values[-1 - window] - values[-1]")], "single values are compared"),
    "all before": (
        [(FALL, FALL.replace("values[-2 * window : -window]", "values[:-window]"))],
        "with all before them"),
    "first window": (
        [(FALL, FALL.replace("values[-2 * window : -window]", "values[:window]"))],
        "the first and the last window"),
    "slope of a line": (
        [(FALL, "fall = -np.polyfit(np.arange(2 * window), values[-2 * window :], 1)[0] * window "
                "if window > 1 else values[-2] - values[-1]")], None),
    "NaN not asked for": (
        [(NAN_BLOCK, ""), (SHORT_BLOCK, SHORT_BLOCK)], "every comparison with NaN is False"),
    "isnan alone": (
        [(NAN, "if np.isnan(train).any() or np.isnan(heldout).any():")],
        None),
    "held-out NaN": ([(NAN, "if not np.isfinite(train).all():")],
                     "the held-out loss is not looked at for NaN"),
    "short first": (
        [(NAN_BLOCK, SHORT_BLOCK.replace("10", "10 ") + NAN_BLOCK), ("    if len(train) < 10:\n"
          '        return "too short"\n', "")], "asked for its length before"),
    "NaN of lost records": (
        [(NAN, 'if not all(np.isfinite(r.get(n) or 0) for r in records for n in ("train_mlm_loss",'
               ' "heldout_mlm_loss")):')], "a later record of the same step"),
    "short is eleven": (
        [(SHORT, "if len(train) <= 10:")],
        "a run of 10 training losses is long enough"),
    "short by records": ([(SHORT, "if len(records) < 10:")], None),
    "last loss": ([(END, "end = train[-1]")], "end is the mean of the last k"),
    "last loss everywhere": (
        [(END, "end = train[-1]"), (FALLING, FALLING.replace("window=k", "window=1"))],
        "end is the mean of the last k"),
    "a fifth": ([(K, "k = len(train) // 5")], "k is a fifth"),
    "k rounded up": ([(K, "k = -(-len(train) // 10)")], "k is rounded up"),
    "k of 10": ([(K, "k = min(10, len(train) // 2)")], None),
    "lowest of single losses": (
        [(PEAK, "if end >= train.min() + 1:")],
        "single losses are compared"),
    "diverged from the start": (
        [(PEAK, "if end >= smoothed[0] + 1:")], "end is compared with the first loss"),
    "a rise is not told": ([(PEAK, "if False:")], "rises by 1 and stays there"),
    "any peak": (
        [(PEAK, "if end >= smoothed.min() + 1 or train.max() >= smoothed.min() + 3:")],
        "a peak from which the loss returns"),
    "peaks by differences": ([(PEAK, "if (np.diff(train) >= 1).any():")], None),
    "start as a mean": ([(START, "if train[:k].mean() >= ln_v + 1:")], "the first loss is a mean"),
    "highest as the start": (
        [(START, "if train.max() >= ln_v + 1:")], "the highest loss is taken"),
    "first record's loss": (
        [(START, 'if next(r["train_mlm_loss"] for r in records[::-1] if r.get("train_mlm_loss") is '
                 "not None) >= ln_v + 1:")], None),
    "ln V from both sides": (
        [(LN_V, "if abs(end - ln_v) < NEAR:")], "a loss far above ln V is at ln V too"),
    "by index": (
        [(BEFORE, "before = smoothed[: best + 1]")], "point i of the held-out curve"),
    "before the very step": (
        [(BEFORE, BEFORE.replace("<=", "<"))], "at the very step of the lowest"),
    "before the first": (
        [(BEFORE, "before = smoothed[: max(1, int((steps <= heldout_steps[best]).sum()))]")],
        "no training step is up to"),
    "next training step": (
        [(BEFORE, "before = smoothed[: np.searchsorted(steps, heldout_steps[best]) + 1]")],
        "the training loss after the lowest"),
    "empty before": ([(OVERFITS, OVERFITS.replace("len(before) and ", ""))], "IndexError"),
    "training at the start": (
        [(OVERFITS, OVERFITS.replace("before[-1]", "before[0]"))],
        "training is compared with its first loss"),
    "single loss before": ([(BEFORE, BEFORE.replace("smoothed", "train"))],
                           "at the lowest held-out loss is a single one"),
    "last of ties": (
        [(BEST, "best = np.flatnonzero(heldout == heldout.min())[-1]")],
        "of several lowest held-out losses the first counts"),
    "any rise": (
        [(OVERFITS, OVERFITS.replace("heldout[-1] > heldout[best]",
                                     "(np.diff(heldout) > 0).any()"))],
        "any rise of the held-out loss counts"),
    "rise of NEAR": (
        [(OVERFITS, OVERFITS.replace("heldout[-1] > heldout[best]",
                                     "heldout[-1] >= heldout[best] + NEAR"))],
        "has risen a little has risen too"),
    "gap": ([(OVERFITS, "if heldout[-1] >= end + NEAR:")], "a gap between the two losses"),
    "rise alone": ([(OVERFITS, "if heldout[-1] > heldout[best]:")],
                   "the training loss must have fallen meanwhile"),
    "a little fall": (
        [(OVERFITS, OVERFITS.replace("<= before[-1] - NEAR", "< before[-1]"))],
        "training must have fallen by NEAR"),
    "lowest leak": ([(LEAK, "if heldout[best] <= end - NEAR:")],
                    "the lowest held-out loss is compared with end"),
    "leak without a margin": ([(LEAK, "if heldout[-1] < end:")], "dropout alone does that"),
    "leak by the last training loss": (
        [(LEAK, "if heldout[-1] <= train[-1] - NEAR:")], "the last training loss is compared"),
    "no held-out loss": ([("    if len(heldout):\n", "    if True:\n")], "ValueError"),
    "flat of the smoothed curve": (
        [(FALLING, FALLING.replace("is_flat(train", "is_flat(smoothed"))], "it is smoothed twice"),
    "plateau before falling": ([(FALLING, FALLING[:-1] + " and not abs(end - entropy) < NEAR and "
                                          "not end >= entropy:")],
                               "falls through the line"),
    "above in both directions": (
        [(ABOVE, "if abs(end - entropy) >= NEAR:")],
        "a loss below the line is not above it"),
    "line from one side": ([(AT, "if end > entropy:")], "at the line is on either side"),
    "norm not used": ([(FELL, "fell = False")], "the gradient norm is not used"),
    "no norms are stuck": (
        [(FELL, "fell = not len(norm) or norm[-j:].mean() <= norm[:j].mean() / 2")],
        "without gradient norms row 10 does not fit"),
    "norms backwards": ([(FELL, "fell = len(norm) and norm[:j].mean() <= norm[-j:].mean() / 2")],
                        "the norms are read backwards"),
    "last norm": ([(FELL, "fell = len(norm) and norm[-1] <= norm[:j].mean() / 2")],
                  "a single last norm"),
    "highest norm": ([(FELL, "fell = len(norm) and norm[-j:].mean() <= norm.max() / 2")],
                     "compared with its highest value"),
    "k for j": ([(J, "j = k")], "j is a tenth of the norms"),
    "norms that are given": (
        [(J, "j = len(norm) // 10")], "j is 0 for fewer"),
    "bounds the other way": (
        [(PEAK, PEAK.replace(">=", ">")), (START, START.replace(">=", ">")),
         (ABOVE, ABOVE.replace(">=", ">")), (LEAK, LEAK.replace("<=", "<")),
         (OVERFITS, OVERFITS.replace("<=", "<")), (FELL, FELL.replace("<=", "<")),
         (FALLING, FALLING.replace("FLAT", "FLAT + 1e-12"))], "at least takes the bound in"),
    "a rise of nothing": (
        [(OVERFITS, OVERFITS.replace("heldout[-1] >", "heldout[-1] >="))],
        "ends at its lowest has not risen"),
    "bounds of the lines": (
        [(LN_V, LN_V.replace(">", ">=")), (AT, AT.replace(">", ">="))],
        "more than leaves the bound out"),
    "percent of change": ([(PEAK, "if end >= smoothed.min() * 1.3:")], None),
    "names in capitals": ([('return "overfits"', 'return "Overfits"')], "expected 'overfits'"),
    "records changed": (
        [(NORM, "for r in records:\n        r.setdefault(\"gradient_norm\", None)\n    " + NORM)],
        "changed its input in place"),
    "smooth as a difference of running sums": (
        [
            ("    means = np.full(len(values), np.nan)\n"
             "    for i in range(len(values)):\n"
             "        # The window looks back only: a mean that looks ahead shows a "
             "rise before it happens.\n"
             "        seen = values[: i + 1][-window:]\n"
             "        seen = seen[np.isfinite(seen)]\n"
             "        if len(seen):\n"
             "            means[i] = seen.mean()\n"
             "    return means\n",
             "    good = np.isfinite(values)\n"
             "    sums = np.append(0.0, np.cumsum(np.where(good, values, 0.0)))\n"
             "    counts = np.append(0, np.cumsum(good))\n"
             "    after = np.arange(1, len(values) + 1)\n"
             "    before = np.maximum(after - window, 0)\n"
             "    n = counts[after] - counts[before]\n"
             "    return np.where(n > 0, (sums[after] - sums[before]) / np.maximum(n"
             ", 1), np.nan)\n"),
        ],
        "never gets rid of a huge value",
    ),
    "the ratio of the norms": (
        [
            ("norm[-j:].mean() <= norm[:j].mean() / 2",
             "norm[-j:].mean() / norm[:j].mean() <= 0.5"),
        ],
        "the norms are divided",
    ),
    "the lowest smoothed value only among full windows": (
        [
            ("smoothed.min() + 1",
             "smoothed[k - 1 :].min() + 1"),
        ],
        "the first k - 1 values of the smoothed curve",
    ),
    "the first smoothed value left out": ([(PEAK, "if end >= smoothed[1:].min() + 1:")], None),
    "the nearest training step": (
        [(BEFORE, "before = smoothed[[np.abs(steps - heldout_steps[best]).argmin()]] if ("
                  "steps <= heldout_steps[best]).any() else []")],
        "the training loss nearest to the lowest"),
    "a line through the training losses": (
        [(BEFORE, "before = [np.interp(heldout_steps[best], steps, smoothed)] if ("
                  "steps <= heldout_steps[best]).any() else []")], None),
    "k by what was written": (
        [(K, 'k = sum(r.get("train_mlm_loss") is not None for r in records) // 10')],
        "are counted twice"),
    "short by what was written": (
        [(SHORT, 'if sum(r.get("train_mlm_loss") is not None for r in records) < 10:')], None),
    "counts of 16 bits": (
        [
            ("    p = counts / counts.sum()",
             "    counts = counts.astype(np.int16)\n"
             "    p = counts / counts.sum()"),
        ],
        None,
    ),
    "norms of training records": (
        [(NORM, 'norm = curve([r for r in records if "train_mlm_loss" in r], "gradient_norm")[1]')],
        None,
    ),
    "minus infinity is a number": (
        [("if not (np.isfinite(train).all() and np.isfinite(heldout).all()):",
          "if any(np.isnan(x).any() or (x == np.inf).any() for x in (train, heldout)):")],
        "minus infinity is infinite too",
    ),
    "training in the order of the file": (
        [('steps, train = curve(records, "train_mlm_loss")',
          'found = {r["step"]: r["train_mlm_loss"] for r in records\n'
          '             if r.get("train_mlm_loss") is not None}\n'
          '    steps, train = np.array(list(found)), np.array(list(found.values()), float)')],
        None,
    ),
    "norms in the order of the file": (
        [(NORM,
          'norm = {r["step"]: r["gradient_norm"] for r in records\n'
          '            if r.get("gradient_norm") is not None}\n'
          '    norm = np.array(list(norm.values()), float)')],
        None,
    ),
    "a curve kept by the list of records": (
        [('    steps, train = curve(records, "train_mlm_loss")\n',
          '    if KEPT.get("records") is not records:\n'
          '        KEPT.update(records=records, train=curve(records, "train_mlm_loss"))\n'
          '    steps, train = KEPT["train"]\n'),
         ("# begin solution\n# Wrong answers", "# begin solution\nKEPT = {}\n\n\n# Wrong answers")],
        "found again by the object",
    ),
    "special ids taken off as often as they are given": (
        [(P, "total = ids.size - sum(int((ids == special).sum()) for special in special_ids)\n"
             "    p = counts / total")],
        "is left out twice",
    ),
    "a rise of a thousandth": (
        [(OVERFITS, OVERFITS.replace("heldout[-1] > heldout[best]",
                                     "heldout[-1] > heldout[best] + 1e-3"))],
        "a held-out loss that has risen a little has risen too",
    ),
    "steps in float32": ([(CURVE, CURVE.replace("steps, np.int64)",
                                                "steps, np.float32).astype(np.int64)"))], None),
    "norms that were written again count twice": (
        [(NORM, 'norm = [r for r in records if r.get("gradient_norm") is not None]\n'
                '    norm.sort(key=lambda r: r["step"])\n'
                '    norm = np.array([r["gradient_norm"] for r in norm])')],
        "was written again counts twice",
    ),
    "the first of the norms of a step": (
        [(NORM, 'norm = curve(records[::-1], "gradient_norm")[1]')], "the first counts"),
    "norms of None": (
        [(NORM, 'norm = {r["step"]: float(r["gradient_norm"]) for r in records\n'
                '            if "gradient_norm" in r}\n'
                '    norm = np.array([norm[step] for step in sorted(norm)])')],
        "TypeError",
    ),
    "norms up to the last training step": (
        [(NORM, 'norm = curve([r for r in records if len(steps) and r["step"] <= steps[-1]],\n'
                '                 "gradient_norm")[1]')],
        None,
    ),
    "held-out losses that were written again count twice": (
        [(HELD_OUT, 'held = [r for r in records if r.get("heldout_mlm_loss") is not None]\n'
                    '    held.sort(key=lambda r: r["step"])\n'
                    '    heldout_steps = np.array([r["step"] for r in held])\n'
                    '    heldout = np.array([r["heldout_mlm_loss"] for r in held])')],
        "was written again counts twice",
    ),
    "the first of the held-out losses of a step": (
        [(HELD_OUT, HELD_OUT.replace("(records", "(records[::-1]"))], "the first counts"),
    "held-out losses of None": (
        [(HELD_OUT, 'held = {r["step"]: float(r["heldout_mlm_loss"]) for r in records\n'
                    '            if "heldout_mlm_loss" in r}\n'
                    '    heldout_steps = np.array(sorted(held))\n'
                    '    heldout = np.array([held[step] for step in sorted(held)])')],
        "TypeError",
    ),
    "a held-out loss of 0 is none": (
        [(LEAK, LEAK.replace("if ", "if heldout[-1] and "))], None),
    "the records are sorted where they are": (
        [(HELD_OUT, f'records.sort(key=lambda r: r["step"])\n    {HELD_OUT}')],
        "changed its input in place",
    ),
    "a bad start before a divergence": (
        [
            ("    if end >= smoothed.min() + 1:\n        return \"diverged\"\n"
             "    if train[0] >= ln_v + 1:\n        return \"bad start\"\n",
             "    if train[0] >= ln_v + 1:\n        return \"bad start\"\n"
             "    if end >= smoothed.min() + 1:\n        return \"diverged\"\n"),
        ],
        "row 3 comes before row 4",
    ),
    "ln V before a bad start": (
        [
            ("    if train[0] >= ln_v + 1:\n        return \"bad start\"\n"
             "    if end > ln_v - NEAR:\n        return \"at ln V\"\n",
             "    if end > ln_v - NEAR:\n        return \"at ln V\"\n"
             "    if train[0] >= ln_v + 1:\n        return \"bad start\"\n"),
        ],
        "row 4 comes before row 5",
    ),
    "a leak before overfitting": (
        [
            ("        best = heldout.argmin()\n",
             "        if heldout[-1] <= end - NEAR:\n            return \"leak\"\n"
             "        best = heldout.argmin()\n"),
        ],
        "row 6 comes before row 7",
    ),
    "counts in the type of the ids": (
        [
            ("    counts = np.unique(kept, return_counts=True)[1]  #",
             "    counts = np.zeros(vocab_size, ids.dtype)\n"
             "    np.add.at(counts, kept, 1)\n"
             "    counts = counts[counts != 0]  #"),
        ],
        "79,000 int16 tokens",
    ),
    "training fell to its lowest since then": (
        [
            ("and end <= before[-1] - NEAR:",
             "and smoothed[len(before) - 1 :].min() <= before[-1] - NEAR:"),
        ],
        "how low it was meanwhile does not count",
    ),
    "above the line before still falling": (
        [
            ("    if not is_flat(train, window=k, tolerance=FLAT):\n"
             "        return \"still falling\"\n"
             "    if end >= entropy + NEAR:\n        return \"above the line\"\n",
             "    if end >= entropy + NEAR:\n        return \"above the line\"\n"
             "    if not is_flat(train, window=k, tolerance=FLAT):\n"
             "        return \"still falling\"\n"),
        ],
        "row 8 comes before row 9",
    ),
    "overfitting and leaks before a bad start": (
        [
            ("    if train[0] >= ln_v + 1:\n        return \"bad start\"\n"
             "    if end > ln_v - NEAR:\n        return \"at ln V\"\n",
             "    started_badly = train[0] >= ln_v + 1\n"
             "    if end > ln_v - NEAR and not started_badly:\n        return \"at ln V\"\n"),
            ("    if not is_flat(train, window=k, tolerance=FLAT):\n",
             "    if started_badly:\n        return \"bad start\"\n"
             "    if not is_flat(train, window=k, tolerance=FLAT):\n"),
        ],
        "row 4 comes before rows 6 and 7",
    ),
    "an entropy of 0, a whole number": (
        [(KEPT, KEPT + "\n    if not kept.size:\n        return np.log(vocab_size), 0")],
        "expected a float, got int",
    ),
    "lines as arrays without axes": (
        [(LINES, "return np.array(np.log(vocab_size)), np.array(-(p * np.log(p)).sum())")],
        "expected a float, got ndarray",
    ),
    "special ids sorted where they are": (
        [(KEPT, f"special_ids.sort()\n    {KEPT}")], "changed its input in place"),
    "counts of unsigned 16 bits": (
        [(P, f"counts = counts.astype(np.uint16)\n    {P}")], "79,000"),
    "an array without axes has no rows": (
        [(KEPT, "ids = np.array([i for row in ids for i in np.ravel(row)])\n    " + KEPT)],
        "iteration over a 0-d array",
    ),
    "at most 256 special ids": (
        [(KEPT, KEPT.replace("special_ids)", "special_ids[:256])"))], "600 special"),
    "step 0 left out": (
        [(FOUND, FOUND.replace("for r in records if", 'for r in records if r["step"] and'))],
        "step 0 is left out",
    ),
    "a loss is not replaced by NaN": (
        [(FOUND, 'found = {}\n'
                 '    for r in records:\n'
                 '        value = r.get(key)\n'
                 '        if value is not None and (r["step"] not in found or value == value):\n'
                 '            found[r["step"]] = value')],
        "a step at which NaN was written last",
    ),
    "steps through float64": (
        [(CURVE, CURVE.replace("steps, np.int64)", "steps, np.float64).astype(np.int64)"))],
        "1152921504606846977",
    ),
    "a key that contains the one asked for": (
        [(FOUND, 'found = {r["step"]: v for r in records for k, v in r.items()\n'
                 '             if key in k and v is not None}')],
        "whose name only contains the key",
    ),
    "a window of 1 gives the values themselves": (
        [(MEANS, MEANS + "\n    if window == 1 and np.isfinite(values).all():\n"
                         "        return values")],
        "smooth returns its input",
    ),
    "a window of at most 128": ([(MEANS, "window = min(window, 128)\n    " + MEANS)], None),
    "windows of even size are one shorter": (
        [(MEANS, "window -= window > 2 and window % 2 == 0\n    " + MEANS)], None),
    "a fall to six digits": ([(IS_FLAT, "return round(fall, 6) < tolerance")], None),
    "a fall that is close to the tolerance": (
        [(IS_FLAT, "return fall < tolerance and not np.isclose(fall, tolerance)")], None),
    "flat windows of at most 500": (
        [(ENOUGH, "window = window if len(values) < 2 * window else min(window, 500)\n    "
                  + ENOUGH)], "the last tenth of them as high as at first"),
    "a tolerance of 0 or more": ([(IS_FLAT, "return fall < max(tolerance, 0)")], None),
    "NaN of any metric": (
        [(NAN, 'if any(type(v) is float and not np.isfinite(v) for r in records for k, v in '
               'r.items()\n           if "mlm" not in k or "ema" in k):\n'
               f'        return "diverged"\n    {NAN}')],
        "a metric other than the two losses",
    ),
    "no training losses before NaN": (
        [(HELD_OUT, f'{HELD_OUT}\n    if not len(train):\n        return "too short"')],
        "a run without training losses",
    ),
    "NaN of lost held-out losses": (
        [(NAN, 'if not all(np.isfinite(r.get("heldout_mlm_loss") or 0) for r in records):\n'
               f'        return "diverged"\n    {NAN}')],
        "a later record of the same step",
    ),
    "an entropy of 0 is none": (
        [(ABOVE, ABOVE.replace("if ", "if entropy and ")),
         (AT, AT.replace("if ", "if entropy and "))],
        "with an entropy of 0.0",
    ),
    "k is at most 100": ([(K, "k = min(100, len(train) // 10)")], "a run of 1,100 losses"),
    "j is at most 50": ([(J, "j = min(50, len(norm) // 10) or 1")], "a run of 1,100 losses"),
    "a leak only after a first training loss": (
        [(LEAK, LEAK.replace("if ", "if len(before) and "))], "and a leak"),
    "held-out losses from the first training step": (
        [(BEST, "since = (heldout_steps >= steps[0]) | (heldout_steps == heldout_steps[-1])\n"
                "        heldout_steps, heldout = heldout_steps[since], heldout[since]\n"
                f"        {BEST}")],
        "and a rise later",
    ),
    "norms from the first training step": (
        [(NORM, 'norm = curve([r for r in records if len(steps) and r["step"] >= steps[0]],\n'
                '                 "gradient_norm")[1]')],
        None,
    ),
    "whole numbers are no norms": (
        [(NORM, 'norm = [r for r in records if isinstance(r.get("gradient_norm"), float)]\n'
                '    norm = curve(norm, "gradient_norm")[1]')],
        None,
    ),
    "full windows before the lowest held-out loss": (
        [(OVERFITS, OVERFITS.replace("before[-1]", "smoothed[max(len(before), k) - 1]"))],
        "at the second training step",
    ),
    "end to three digits": ([(END, "end = round(smoothed[-1], 3)")], "beside entropy + NEAR"),
    "training losses in float32": (
        [(HELD_OUT, f"train = train.astype(np.float32)\n    {HELD_OUT}")],
        "beside entropy + NEAR",
    ),
    "at ln V a little later": (
        [(LN_V, LN_V.replace("NEAR", "NEAR + 1e-9"))], "beside ln V - NEAR"),
    "half of the norm, or a little more": (
        [(FELL, FELL.replace("/ 2", "/ 2 + 1e-4"))], "norms of about a half"),
    "the lowest value before the last window": (
        [(PEAK, PEAK.replace("smoothed.min()", "smoothed[:-k].min()"))],
        "lowest within its last window",
    ),
    "held-out losses in records of their own": (
        [(HELD_OUT, 'alone = [r for r in records if r.get("train_mlm_loss") is None]\n'
                    f'    {HELD_OUT.replace("records", "alone")}')],
        None,
    ),
    "a divergence of less than 100": (
        [(PEAK, "if smoothed.min() + 100 > end >= smoothed.min() + 1:")], None),
    "frequencies of the first 100,000 tokens": (
        [
            (
                '    kept = ids[~np.isin(ids, special_ids)]\n',
                '    ids = ids.ravel()[:100_000]\n'
                '    kept = ids[~np.isin(ids, special_ids)]\n',
            ),
        ],
        None,
    ),
    "rows that are counted whole": (
        [(COUNTS, "whole = ids.ndim == 2 and not np.isin(ids, special_ids).any()\n"
                  "    counts = np.unique(ids if whole else kept, return_counts=True,\n"
                  "                       axis=0 if whole else None)[1]")], None),
    "ids that are doubled in their type": (
        [(KEPT, "twice = 2 * ids\n    kept = ids[~np.isin(twice, [2 * s for s in special_ids])]")],
        None,
    ),
    "medians of windows": ([(FALL, FALL.replace("values[-2 * window : -window].mean()",
                                                "np.median(values[-2 * window : -window])")
                                   .replace("values[-window:].mean()",
                                            "np.median(values[-window:])"))], None),
    "a held-out loss that is nearly the lowest": (
        [(BEST, "best = np.flatnonzero(np.isclose(heldout, heldout.min()))[0]")],
        "a little above the lowest is taken for it",
    ),
    "windows of at least two for a flat end": (
        [(FALLING, FALLING.replace("window=k", "window=max(k, 2)"))], None),
    "the last tenth of the held-out losses": (
        [(LEAK, LEAK.replace("heldout[-1]", "heldout[-max(1, len(heldout) // 10) :].mean()"))],
        None,
    ),
    "a held-out loss of another task that is NaN is a run that diverged": (
        [
            (
                '    norm = curve(records, "gradient_norm")[1]',
                '    norm = curve(records, "gradient_norm")[1]\n'
                '    if any(r.get("heldout_nsp_loss") is not None and not '
                'np.isfinite(r["heldout_nsp_loss"]) for r in records):\n'
                '        return "diverged"',
            ),
        ],
        "may be NaN or infinite",
    ),
    "the last 10,000 steps of a curve alone": (
        [("    steps = sorted(found)", "    steps = sorted(found)[-10_000:]")], None),
}  # fmt: skip
