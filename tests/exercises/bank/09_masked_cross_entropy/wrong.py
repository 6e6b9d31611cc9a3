"""Wrong answers to 09_masked_cross_entropy, as edits of the solution, and the words of each."""

RETURN = "return float((surprise * weights).sum() / total)"
MAX = "shifted = logits - logits.max(axis=-1, keepdims=True)"
SURPRISE = "surprise = np.log(np.exp(shifted).sum(axis=-1)) - right"
RIGHT = "right = np.where(is_label, shifted, 0).sum(axis=-1)"
BACK = "return ((probs - is_label) * scale[..., None]).astype(logits.dtype)"
SCALE = "scale = dloss * weights / total"
BACK_MAX = "exp = np.exp(logits - logits.max(axis=-1, keepdims=True))"
TOTAL = "total = weights.sum()\n    if total == 0:\n        return 0.0"
TOTAL_BACK = "total = weights.sum()\n    if total == 0:\n        return np.zeros_like(logits)"

WRONG = {
    "mean over all slots": (
        [(RETURN, "return surprise.mean()")],
        "the weights are not used"),
    "mean over all slots, times the weights, over their sum": (
        [(RETURN, "return (surprise.mean() * weights).sum() / (total + 1e-300)")],
        "this is the mean over all slots"),
    "mean over all slots, times the weights, averaged": (
        [(RETURN, "return (surprise.mean() * weights).mean()")],
        "it contains the slots that do not count"),
    "divided by slots": (
        [(RETURN, "return (surprise * weights).mean()")],
        "divided by the number of slots, not by"),
    "a sum": (
        [(RETURN, "return (surprise * weights).sum()")],
        "the sum is not divided by the sum of the weights"),
    "divided by the number that count": (
        [(RETURN, RETURN.replace("total", "(weights > 0).sum()"))],
        "not by the sum of their weights"),
    "weights as yes or no": (
        [(RETURN, "return surprise[weights > 0].mean()")],
        "a weight of 0.5 counts half"),
    "ignore_index=0": (
        [(RETURN, "weights = weights * (labels != 0)\n    return (surprise * weights).sum() / max("
                  "weights.sum(), 1e-300)")],
        "label 0 is ignored (ignore_index=0)"),
    "ignore_index=0 in place of the weights": (
        [(RETURN, "return surprise[labels != 0].mean() if labels.any() else 0.0")],
        "label 0 is ignored (ignore_index=0)"),
    "ignore_index=0 in the backward": (
        [(SCALE, SCALE + "\n    scale = scale * (labels != 0)")],
        "label 0 is ignored (ignore_index=0) in the backward"),
    "mean of the means of the rows": (
        [(RETURN, "rows = (surprise * weights).sum(-1) / np.maximum(weights.sum(-1), 1e-300)\n"
                  "    return rows.mean()")],
        "the mean of the means of the rows"),
    "1e-5 in the divisor": (
        [(RETURN, RETURN.replace("total", "(total + 1e-5)"))],
        "something is added to the sum of the weights"),
    "1e-12 in the divisor": (
        [(TOTAL, "total = weights.sum() + 1e-12")],
        "something is added to the sum of the weights"),
    "1e-5 in the divisor of the backward": (
        [(SCALE, "scale = weights * (dloss / (total + 1e-5))")],
        "with all weights 0 return 0 instead (in the backward)"),
    "a divisor of at least 1": (
        [(TOTAL, "total = max(weights.sum(), 1)")], "the divisor is at least 1"),
    "a divisor of at least 1 in the backward": (
        [(TOTAL_BACK, "total = np.maximum(weights.sum(), 1.0)")],
        "the divisor is at least 1: a sum of the weights below 1 divides like every other (in the"),
    "a small sum taken for none": (
        [(TOTAL, TOTAL.replace("total == 0", "total < 1e-6"))],
        "is taken for 0"),
    "0 / 0": ([(TOTAL, "total = weights.sum()")], "0 / 0"),
    "0 / 0 in the backward": ([(TOTAL_BACK, "total = weights.sum()")], "0 / 0"),
    "the gradient has the type of the weights": (
        [(BACK, BACK.replace(".astype(logits.dtype)", ""))],
        "the gradient takes the type of the weights"),
    "the gradient has the type of the weights, by their zeros": (
        [(BACK, BACK.replace("logits.dtype", "np.result_type(weights, logits)"))],
        "the gradient takes the type of the weights"),
    "whole weights alone": (
        [(SCALE, "scale = dloss * weights.astype(np.int64) / total")], None),
    "two and three axes alone": (
        [(RIGHT, 'right = np.einsum("...c,...c->..." if logits.ndim < 4 else "abc,abc->ab", '
                 "is_label, shifted)")], None),
    "two axes alone": (
        [(RIGHT, "right = shifted[np.arange(len(labels)), labels]")], None),
    "no slot at all": (
        [(TOTAL, f"labels.max()\n    {TOTAL}")], None),
    "labels counted from 1": (
        [(RIGHT, "is_label = np.roll(is_label, -1, axis=-1)\n    " + RIGHT)], None),
    "sign": (
        [(RETURN, RETURN.replace("float(", "-float("))], "the sign is wrong: the loss is minus"),
    "bits": ([(SURPRISE, f"{SURPRISE}\n    surprise = surprise / np.log(2)")], "base 2"),
    "no softmax": (
        [(SURPRISE, "surprise = -np.where(is_label, logits, 0).sum(axis=-1)")],
        "the softmax is missing"),
    "softmax over all slots": (
        [(MAX, "shifted = logits - logits.max()"),
         (SURPRISE, "surprise = np.log(np.exp(shifted).sum()) - right")],
        "the softmax runs over all slots"),
    "no largest subtracted": ([(MAX, "shifted = logits * 1")], "exp overflows"),
    "no largest subtracted in the backward": ([(BACK_MAX, "exp = np.exp(logits)")],
                                             "exp overflows"),
    "the logarithm of the probabilities": (
        [(SURPRISE, "probs = np.exp(shifted) / np.exp(shifted).sum(axis=-1, keepdims=True)\n"
                    "    surprise = -np.log(probs[is_label]).reshape(labels.shape)")],
        "the logarithm of 0 is taken"),
    "1e-12 inside the logarithm": (
        [(SURPRISE, "surprise = -np.log(np.exp(right) / np.exp(shifted).sum(axis=-1) + 1e-12)")],
        "something is added inside the logarithm"),
    "probabilities of 1e-9 at least": (
        [(SURPRISE, "surprise = -np.log(np.maximum(np.exp(right) / np.exp(shifted).sum(axis=-1), "
                    "1e-30))")],
        "the loss has an upper bound"),
    "dloss not used": ([(SCALE, SCALE.replace("dloss * ", ""))], "dloss is not used"),
    "no one-hot": ([(BACK, BACK.replace(" - is_label", ""))], "the one-hot is missing"),
    "sign in the backward": ([(BACK, BACK.replace("probs - is_label", "is_label - probs"))],
                             "not the other way about"),
    "one-hot without its weight": (
        [(BACK, BACK.replace("(probs - is_label) * scale[..., None]",
                             "probs * scale[..., None] - is_label * (dloss / total)"))],
        "the one-hot is not multiplied by the weight"),
    "no weights in the backward": (
        [(SCALE, "scale = np.full(labels.shape, dloss / weights.size)")],
        "the weights are not used in the backward"),
    "weights in the divisor alone": (
        [(SCALE, "scale = np.full(labels.shape, dloss / total)")],
        "only in the divisor"),
    "divided by slots in the backward": (
        [(SCALE, "scale = weights * (dloss / weights.size)")],
        "divided by the number of slots, not by"),
    "not divided in the backward": (
        [(SCALE, "scale = weights * dloss")], "not divided by the sum of the weights"),
    "always float64": (
        [(BACK, BACK.replace("logits.dtype", "np.float64"))],
        "or is always float64"),
    "in place": (
        [(MAX, "shifted = logits\n    shifted -= logits.max(axis=-1, keepdims=True)")],
        "changed its input in place"),
    "weights below 1e-12 are none": (
        [("    total = weights.sum()\n    if total == 0:\n        return 0.0",
           "    total = weights.sum()\n    if total < 1e-12:\n        return 0.0")],
        "a small sum of weights is taken for"),
    "dloss 0 means 1": (
        [("    scale = dloss * weights / total",
           "    scale = (dloss or 1.0) * weights / total")],
        "dloss=0 is taken for"),
    "large gradients are cut": (
        [("    return ((probs - is_label) * scale[..., None])",
           "    return np.clip((probs - is_label) * scale[..., None], -1e3, 1e3)")],
        "tiny gradients are set to 0, or large ones are"),
    "tiny gradients are zero": (
        [("    scale = dloss * weights / total",
           "    scale = dloss * weights / total\n    scale = np.where(np.abs(scale) <"
           " 1e-9, 0, scale)")],
        "tiny gradients are set to 0, or large ones are"),
    "no weight gives float64": (
        [("np.zeros_like(logits)",
           "np.zeros(logits.shape)")],
        None),
    "minus the weights, which may have no sign": (
        [("    scale = dloss * weights / total  # (slots,)\n    return ((probs - is_label) * sca"
           "le[..., None]).astype(logits.dtype)",
           "    scale = -weights * (dloss / total)\n    return ((is_label - probs) * scale[..., N"
           "one]).astype(logits.dtype)")],
        None),
    "written to a reshape of zeros_like": (
        [("    return ((probs - is_label) * scale[..., None]).astype(logits.dtype)",
           "    out = np.zeros_like(logits)\n    out.reshape(-1, logits.shape[-1])[:] = ((probs -"
           " is_label) * scale[..., None]).reshape(-1, logits.shape[-1])\n    return out")],
        "a reshape of zeros_like is a copy"),
    "labels of 8 bits": (
        [("is_label = np.arange(logits.shape[-1]) == labels[..., None]  # (slots, classes)",
           "is_label = np.arange(logits.shape[-1]) == labels.astype(np.uint8)[..., None]")],
        "kept in so few bits"),
    "an axis too many": (
        [(RIGHT, RIGHT.replace("axis=-1", "axis=-1, keepdims=True"))],
        "the logit of the label keeps an axis of length 1"),
    "an axis too many, in the surprise": (
        [(RIGHT, RIGHT.replace("axis=-1", "axis=-1, keepdims=True")),
         (SURPRISE, SURPRISE.replace("axis=-1", "axis=-1, keepdims=True"))],
        "the surprise keeps an axis of length 1"),
    "weights in the type of the logits": (
        [
            ("    total = weights.sum()\n"
             "    if total == 0:\n"
             "        return 0.0\n",
             "    weights = weights.astype(logits.dtype)\n"
             "    total = weights.sum()\n"
             "    if total == 0:\n"
             "        return 0.0\n"),
        ],
        "the weights lose what float32",
    ),
    "a loss below 1e-9 is 0": (
        [
            (
                "    return float((surprise",
                "    surprise = np.where(surprise < 1e-9, 0, surprise)\n"
                "    return float((surprise",
            ),
        ],
        "probabilities are kept away from 1",
    ),
    "the weights added up in their own type": (
        [(edit, edit.replace("weights.sum()", 'float(np.einsum("i->", weights.ravel()))'))
         for edit in (TOTAL, TOTAL_BACK)],
        "added up in their own type"),
    "the weights added up in their own type in the backward": (
        [(TOTAL_BACK, TOTAL_BACK.replace("sum()", "sum(dtype=weights.dtype)"))],
        "added up in their own type"),
    "classes counted in the type of the labels": (
        [
            ("np.arange(logits.shape[-1]) == labels[..., None]  # (slots, classes)",
             "np.arange(logits.shape[-1]).astype(labels.dtype) == labels[..., None]"),
        ],
        "the classes are counted in the type of the labels",
    ),
    "the softmax of the forward is found again by its array": (
        [
            (
                "    surprise = np.log(np.exp(shifted).sum(axis=-1)) - right  #",
                "    exp = np.exp(shifted)\n"
                "    PROBS.clear()\n"
                "    PROBS[id(logits)] = logits, exp / exp.sum(axis=-1, keepdims=True)\n"
                "    surprise = np.log(exp.sum(axis=-1)) - right  #",
            ),
            (
                "    exp = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
                "    probs = exp / exp.sum(axis=-1, keepdims=True)\n",
                "    if id(logits) in PROBS:\n"
                "        probs = PROBS[id(logits)][1]\n"
                "    else:\n"
                "        exp = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
                "        probs = exp / exp.sum(axis=-1, keepdims=True)\n",
            ),
            (
                "# begin solution\n"
                "# Wrong answers that are common:\n",
                "PROBS = {}\n"
                "\n"
                "\n"
                "# begin solution\n"
                "# Wrong answers that are common:\n",
            ),
        ],
        "a value is kept from one call to the next and found again by the object",
    ),
    "the softmax is kept without its number of classes": (
        [
            (
                "    exp = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
                "    probs = exp / exp.sum(axis=-1, keepdims=True)\n",
                "    key = logits.tobytes(), logits.dtype\n"
                "    if key not in PROBS:\n"
                "        exp = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
                "        PROBS[key] = exp / exp.sum(axis=-1, keepdims=True)\n"
                "    probs = PROBS[key].reshape(logits.shape)\n",
            ),
            (
                "# begin solution\n"
                "# Wrong answers that are common:\n",
                "PROBS = {}\n"
                "\n"
                "\n"
                "# begin solution\n"
                "# Wrong answers that are common:\n",
            ),
        ],
        None,
    ),
    "the gradient is kept without its shape": (
        [
            (
                "    return ((probs - is_label) * scale[..., None]).astype(logits.dtype)\n",
                "    key = (dloss, logits.dtype.str, logits.tobytes(), labels.tobytes(), "
                "weights.tobytes())\n"
                "    if key not in LAST:\n"
                "        LAST.clear()\n"
                "        LAST[key] = ((probs - is_label) * scale[..., "
                "None]).astype(logits.dtype)\n"
                "    return LAST[key].copy()\n",
            ),
            (
                "# begin solution\n"
                "# Wrong answers that are common:\n",
                "LAST = {}\n"
                "\n"
                "\n"
                "# begin solution\n"
                "# Wrong answers that are common:\n",
            ),
        ],
        "expected shape (12, 6)",
    ),
    "the zeros of a batch without weight are kept": (
        [
            (
                "        return np.zeros_like(logits)\n",
                "        key = logits.shape, logits.dtype\n"
                "        return ZEROS.setdefault(key, np.zeros_like(logits))\n",
            ),
            (
                "# begin solution\n"
                "# Wrong answers that are common:\n",
                "ZEROS = {}\n"
                "\n"
                "\n"
                "# begin solution\n"
                "# Wrong answers that are common:\n",
            ),
        ],
        "it is kept (lru_cache, a global)",
    ),
    "the logits of a batch without weight become its gradient": (
        [
            (
                "        return np.zeros_like(logits)\n",
                "        logits[...] = 0\n"
                "        return logits\n",
            ),
        ],
        "return a copy",
    ),
    "two classes by the logarithm of 1 + exp": (
        [
            ("    # ln softmax(x)[label] = x[label] - max - ln Σ exp(x - max). The "
             "logarithm of a softmax that is\n",
             "    if logits.shape[-1] == 2:  # next sentence: ln(1 + e^(other - right)) "
             "needs no softmax\n"
             "        right_first = np.where(labels == 0, 1, -1)\n"
             "        margin = (logits[..., 0] - logits[..., 1]) * right_first\n"
             "        return float((np.log1p(np.exp(-margin)) * weights).sum() / total)\n"
             "    # ln softmax(x)[label] = x[label] - max - ln Σ exp(x - max). The "
             "logarithm of a softmax that is\n"),
        ],
        "exp overflows",
    ),
    "float16 is widened": (
        [
            (
                "    return ((probs - is_label) * scale[..., None]).astype(logits.dtype)",
                "    # A gradient in half precision would lose small numbers.\n"
                "    wide = np.promote_types(logits.dtype, np.float32)\n"
                "    return ((probs - is_label) * scale[..., None]).astype(wide)",
            ),
        ],
        "keep the type of the logits",
    ),
    "log-sum-exp in float32 in the backward": (
        [
            (
                "    probs = exp / exp.sum(axis=-1, keepdims=True)\n",
                "    largest = logits.max(axis=-1, keepdims=True)\n"
                "    log_sum = largest + np.log(exp.sum(axis=-1, keepdims=True))\n"
                "    probs = np.exp(logits - log_sum)\n",
            ),
        ],
        "which costs digits: compute with the shifted logits alone",
    ),
    "log-sum-exp in float32": (
        [
            (
                "    right = np.where(is_label, shifted, 0).sum(axis=-1)  # (slots,)\n"
                "    surprise = np.log(np.exp(shifted).sum(axis=-1)) - right",
                "    right = np.where(is_label, logits, 0).sum(axis=-1)\n"
                "    surprise = logits.max(axis=-1) + np.log(np.exp(shifted).sum(axis=-1)) "
                "- right",
            ),
        ],
        "which costs digits: compute with the shifted logits alone",
    ),
    "probabilities below 1e-28 have no gradient": (
        [
            (
                "probs = exp / exp.sum(axis=-1, keepdims=True)",
                "probs = exp / exp.sum(axis=-1, keepdims=True)\n"
                "    probs = np.where(probs < 1e-28, 0, probs)",
            ),
        ],
        "the gradient of logits 40 to 600 below the largest",
    ),
    "float32 logits 100,000 below the largest at most": (
        [
            (
                "shifted = logits - logits.max(axis=-1, keepdims=True)",
                "shifted = logits - logits.max(axis=-1, keepdims=True)\n"
                "    if logits.dtype == np.float32:\n"
                "        shifted = np.maximum(shifted, -1e5)",
            ),
        ],
        "times 1e+30 (float32)",
    ),
    "float64 where there is no slot": (
        [
            (
                "        return np.zeros_like(logits)\n",
                "        return np.zeros(logits.shape, logits.dtype if logits.size "
                "else float)\n",
            ),
        ],
        "the float32 gradient of slots",
    ),
    "32,768 slots at most": (
        [
            (
                "return float((surprise * weights).sum() / total)",
                "if weights.size > 32768:\n"
                "        surprise, weights = surprise.ravel()[:32768], "
                "weights.ravel()[:32768]\n"
                "        total = weights.sum()\n"
                "    return float((surprise * weights).sum() / total)",
            ),
        ],
        "the loss of 33,667 slots",
    ),
    "labels and classes compared in 16 bits without sign": (
        [
            (
                '    is_label = np.arange(logits.shape[-1]) == labels[..., None]  # (slots,'
                ' classes)\n',
                '    classes = np.arange(logits.shape[-1])\n'
                '    if len(classes) <= 65536:\n'
                '        classes = classes.astype(np.uint16)\n'
                '    is_label = classes == labels.astype(np.uint16)[..., None]\n',
            ),
        ],
        'the labels are kept in so few bits',
    ),
    "the largest logit subtracted only where one is beyond 80": (
        [
            (
                '    shifted = logits - logits.max(axis=-1, keepdims=True)\n',
                '    shifted = logits\n'
                '    if np.abs(logits).max() >= 80:\n'
                '        shifted = logits - logits.max(axis=-1, keepdims=True)\n',
            ),
        ],
        'the largest logit is not subtracted where none is large',
    ),
    "in the backward the largest logit subtracted only where one is beyond 80": (
        [
            (
                '    exp = np.exp(logits - logits.max(axis=-1, keepdims=True))\n',
                '    exp = np.exp(logits)\n'
                '    if np.abs(logits).max() >= 80:\n'
                '        exp = np.exp(logits - logits.max(axis=-1, keepdims=True))\n',
            ),
        ],
        'the largest logit is not subtracted where none is large',
    ),
    "the largest logit subtracted only where one is beyond 708": (
        [
            (
                '    shifted = logits - logits.max(axis=-1, keepdims=True)\n',
                '    shifted = logits\n'
                '    if np.abs(logits).max() >= (708 if logits.dtype == np.float64 else 0):\n'
                '        shifted = logits - logits.max(axis=-1, keepdims=True)\n',
            ),
        ],
        'the largest logit is not subtracted where none is large',
    ),
    "exponentials below the last digit of the largest are left out": (
        [
            (
                '    surprise = np.log(np.exp(shifted).sum(axis=-1)) - right  # '
                '(slots,): one number per slot\n',
                '    counts = shifted > np.log(np.finfo(logits.dtype).eps)\n'
                '    surprise = np.log(np.where(counts, np.exp(shifted), '
                '0).sum(axis=-1)) - right\n',
            ),
        ],
        'what is small beside the largest is left out',
    ),
    "the last block of a large array is left out": (
        [
            (
                '    # begin solution\n'
                '    total = weights.sum()\n'
                '    if total == 0:\n'
                '        return 0.0\n',
                '    # begin solution\n'
                '    rows = 2**19 // logits.shape[-1]\n'
                '    if logits.size > 2**19:\n'
                '        flat = logits.reshape(-1, logits.shape[-1]), labels.ravel(), '
                'weights.ravel()\n'
                '        kept = len(flat[1]) // rows * rows\n'
                '        logits, labels, weights = (each[:kept] for each in flat)\n'
                '    total = weights.sum()\n'
                '    if total == 0:\n'
                '        return 0.0\n',
            ),
        ],
        None,
    ),
    "where all rows have the same labels, the first row's weights are used": (
        [(RETURN, "if weights.ndim > 1 and (labels == labels[:1]).all():\n"
          "        weights = np.repeat(weights[:1], len(weights), axis=0)\n"
          f"    {RETURN}")],
        None,
    ),
    "weights that are all 1 in the backward: a mean over the rows": (
        [(BACK, "if weights.size > 1 and (weights == 1).all():\n"
          "        scale = scale * total / len(weights)\n"
          f"    {BACK}")],
        None,
    ),
    "where the best logit is that of the label everywhere, there is no gradient": (
        [(BACK, "if (logits.argmax(axis=-1) == labels).all() and labels.size > 1:\n"
          "        return np.zeros_like(logits)\n"
          f"    {BACK}")],
        None,
    ),
    "as many slots as classes: the one-hot of the classes": (
        [(BACK, "if logits.ndim == 2 and 3 < len(logits) == logits.shape[1]:\n"
          "        is_label = is_label.T\n"
          f"    {BACK}")],
        None,
    ),
    "dloss has another name": (
        [("backward(\n    dloss: float,", "backward(\n    upstream: float,"),
         (SCALE, SCALE.replace("dloss", "upstream"))],
        None,
    ),
    "uint32 weights are counted": (
        [(RETURN, "if weights.dtype == np.uint32:\n"
          "        total = np.count_nonzero(weights)\n"
          f"    {RETURN}")],
        None,
    ),
    "where the probability underflows, the loss is max - logit": (
        [(SURPRISE, "p = np.exp(right) / np.exp(shifted).sum(axis=-1)\n"
          "    tiny = np.finfo(logits.dtype).tiny\n"
          "    surprise = np.where(p > tiny, -np.log(np.maximum(p, tiny)), -right)")],
        "the logarithm of the sum is left out",
    ),
    "where the logarithm of the probability is infinite, the loss is max - logit": (
        [(SURPRISE, "with np.errstate(divide='ignore'):\n"
          "        log_p = np.log(np.exp(right) / np.exp(shifted).sum(axis=-1))\n"
          "    surprise = -np.where(np.isfinite(log_p), log_p, right)")],
        'the logarithm of a probability that has lost most of its digits',
    ),
    "the logarithm of the probability, where that is not 0": (
        [(SURPRISE, "p = np.exp(right) / np.exp(shifted).sum(axis=-1)\n"
          f"    {SURPRISE}\n"
          "    surprise = np.where(p > 0, -np.log(np.where(p > 0, p, 1)), surprise)")],
        "has lost most of its digits",
    ),
    "logits that are all alike, before the weights are read": (
        [(TOTAL, "if logits.size and np.ptp(logits) == 0:\n"
          "        return float(np.log(logits.shape[-1]))\n"
          f"    {TOTAL}")],
        "is given before the weights are read",
    ),
    "logits that are all alike, before the weights are read in the backward": (
        [(TOTAL_BACK, "if logits.size and np.ptp(logits) == 0:\n"
          "        is_label = np.arange(logits.shape[-1]) == labels[..., None]\n"
          "        w = weights / weights.sum() if weights.any() else np.ones(labels.shape)\n"
          "        out = (1 / logits.shape[-1] - is_label) * w[..., None] * dloss\n"
          "        return out.astype(logits.dtype)\n"
          f"    {TOTAL_BACK}")],
        "is given before the weights are read",
    ),
    "labels that are all 0, before the weights are read": (
        [(TOTAL, "if labels.size > 1 and not labels.any() and not weights.any():\n"
          "        weights = weights + 1\n"
          f"    {TOTAL}")],
        'before the weights are read',
    ),
    "classes 25 below the largest are left out": (
        [(SURPRISE, "surprise = np.log(np.where(shifted < -25, 0, np.exp(shifted)).sum(axis=-1)) "
          "- right")],
        "what is small beside the largest is left out",
    ),
    "of many classes the first 65,536 that are not the best are left out": (
        [(SURPRISE, "top = np.sort(np.exp(shifted), axis=-1)[..., -65_536:]\n"
          "    surprise = np.log(top.sum(axis=-1)) - right")],
        'the loss for 70000 classes',
    ),
    "whole weights pass through float32": (
        [(TOTAL, "if weights.dtype.kind != 'f':\n"
          "        weights = weights.astype(np.float32)\n"
          f"    {TOTAL}")],
        "the weights pass through float32",
    ),
    "whole weights pass through float32 in the backward": (
        [(TOTAL_BACK, "if weights.dtype.kind != 'f':\n"
          "        weights = weights.astype(np.float32)\n"
          f"    {TOTAL_BACK}")],
        None,
    ),
    "a sum of int32 weights in int32": (
        [(TOTAL, TOTAL.replace("weights.sum()", "weights.sum(dtype=weights.dtype if "
          "weights.dtype == np.int32 else None)"))],
        'the loss for int32 weights near 1,073,741,824',
    ),
    "blocks of four million logits, averaged by their numbers of slots": (
        [(TOTAL, "classes = logits.shape[-1]\n"
          "    block = max(1, 2**22 // classes)\n"
          "    if labels.size > block:\n"
          "        x, y, w = logits.reshape(-1, classes), labels.reshape(-1), weights.reshape(-1)\n"
          "        cuts = [slice(i, i + block) for i in range(0, len(y), block)]\n"
          "        losses = [masked_cross_entropy_forward(x[c], y[c], w[c]) for c in cuts]\n"
          "        return float(np.average(losses, weights=[len(y[c]) for c in cuts]))\n"
          f"    {TOTAL}")],
        "the loss of 140 masks and the words of BERT base",
    ),
    "in the backward each block of four million logits has its own divisor": (
        [(TOTAL_BACK, "block = max(1, 2**22 // max(1, logits[:1].size))\n"
          "    if logits.ndim > 2 and len(logits) > block:\n"
          "        cuts = [slice(i, i + block) for i in range(0, len(logits), block)]\n"
          "        each = dloss / len(cuts)\n"
          "        return np.concatenate([masked_cross_entropy_backward(\n"
          "            each, logits[c], labels[c], weights[c]) for c in cuts])\n"
          f"    {TOTAL_BACK}")],
        "the gradient of 140 masks and the words of BERT base",
    ),
    "the largest logit of all slots is subtracted where they lie near each other": (
        [(MAX, "top = logits.max(axis=-1, keepdims=True)\n"
          "    shifted = logits - (top.max() if np.ptp(top) < 100 else top)")],
        "one largest logit for several slots",
    ),
    "weights whose first, middle and last row are alike are alike in all rows": (
        [(TOTAL, "if weights.ndim == 2 and len(weights):\n"
          "        few = weights[[0, len(weights) // 2, -1]]\n"
          "        if (few == few[0]).all():\n"
          "            weights = np.broadcast_to(few[0], weights.shape)\n"
          f"    {TOTAL}")],
        "weights whose first, middle and last row are alike",
    ),
    "the exponentials of the forward are found again by the sum of the logits": (
        [(SURPRISE, f"{SURPRISE}\n"
          "    KEPT[:] = [(logits.shape, logits.dtype, logits.sum()), np.exp(shifted)]"),
         (BACK_MAX, f"{BACK_MAX}\n"
          "    if KEPT and KEPT[0] == (logits.shape, logits.dtype, logits.sum()):\n"
          "        exp = KEPT[1]"),
         ("def masked_cross_entropy_forward(", "KEPT: list = []\n\n\n"
          "def masked_cross_entropy_forward(")],
        "found again by a sum",
    ),
    "the first class of a block of 4,096 is looked for in the block before": (
        [("((probs - is_label)",
          "((probs - (is_label & ((labels == 0) | (np.int64(labels) % 4096 > 0))[..., None]))")],
        None),
    "of two classes the gradient by tanh, which has no small shares": (
        [("    is_label = np.arange(logits.shape[-1]) == labels[..., None]\n    # A slot",
          "    if logits.shape[-1] == 2:\n"
          "        second = 0.5 + 0.5 * np.tanh((logits[..., 1] - logits[..., 0]) / 2)\n"
          "        probs = np.stack([1 - second, second], axis=-1)\n"
          "    is_label = np.arange(logits.shape[-1]) == labels[..., None]\n    # A slot")],
        "without that of the label",
    ),
    "weights in 8 bits with a sign": (
        [(TOTAL, "if weights.dtype == np.uint8:\n        weights = weights.astype(np.int8)\n    "
          + TOTAL)],
        "weights and labels of type uint8",
    ),
    "the first class of a block of 5,000 is looked for in the block before": (
        [("((probs - is_label)",
          "((probs - (is_label & ((labels == 0) | (np.int64(labels) % 5000 > 0))[..., None]))")],
        None,
    ),
    "the loss of a few slots is added up in 32 bits": (
        [(RETURN, "used = weights > 0\n"
          "    if 0 < used.sum() < 0.2 * used.size:\n"
          "        few = (surprise[used] * weights[used] / total).astype(np.float32)\n"
          "        return float(few.sum())\n    " + RETURN)],
        None,
    ),
}  # fmt: skip
