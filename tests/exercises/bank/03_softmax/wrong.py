"""Wrong answers to 03_softmax, as edits of the solution, and the words that name each."""

LARGEST = "x.max(axis=axis, keepdims=True)"
SUM = "exponentials.sum(axis=axis, keepdims=True)"
AVERAGE = "average = (dout * probs).sum(axis=axis, keepdims=True)"
BACK = "return probs * (dout - average)"

WRONG = {
    "a warning stays silenced": (
        [(f"x - {LARGEST}", "x * 1\n    import warnings\n\n    warnings.filterwarnings('ignore', "
          f"message='invalid value')\n    shifted = x - {LARGEST}")],
        "changed which warnings are shown"),
    "another name for x": (
        [("softmax_forward(x: ", "softmax_forward(s: "),
         (f"x - {LARGEST}", f"s - {LARGEST.replace('x.max', 's.max')}")],
        "was an argument of the starter renamed"),
    "no largest subtracted": ([(f"x - {LARGEST}", "x")], "exp overflows"),
    "largest of the whole array": (
        [(LARGEST, "x.max()")], "the largest of the whole array is subtracted"),
    "smallest subtracted": (
        [(LARGEST, "x.min(axis=axis, keepdims=True)")], "the smallest score is subtracted"),
    "mean subtracted": (
        [(LARGEST, "x.mean(axis=axis, keepdims=True)")], "the mean is subtracted"),
    "largest along the last axis": (
        [(LARGEST, "x.max(axis=-1, keepdims=True)")], "along another axis than the sum"),
    "always the last axis": (
        [(LARGEST, "x.max(axis=-1, keepdims=True)"),
         (SUM, "exponentials.sum(axis=-1, keepdims=True)")],
        "always runs over the last axis"),
    "always the first axis": (
        [(LARGEST, "x.max(axis=0, keepdims=True)"),
         (SUM, "exponentials.sum(axis=0, keepdims=True)")],
        "over the first axis"),
    "sum along the last axis": (
        [(SUM, "exponentials.sum(axis=-1, keepdims=True)")], "your sum runs over the last axis"),
    "sum over everything": ([(SUM, "exponentials.sum()")], "the sum needs axis=axis"),
    "no keepdims": ([(SUM, "exponentials.sum(axis=axis)")], "without keepdims=True"),
    "something added to the sum": ([(SUM, f"({SUM} + 1e-8)")], "something is added to the sum"),
    "in place": (
        [(f"shifted = x - {LARGEST}", f"shifted = x\n    shifted -= {LARGEST}")],
        "changed its input in place"),
    "always float64": (
        [(f"x - {LARGEST}", f"x.astype(np.float64) - {LARGEST}")], "the result is always float64"),
    "a loop over single numbers": (
        [("np.exp(shifted)",
          "np.array([np.exp(v) for v in shifted.ravel()], x.dtype).reshape(x.shape)")],
        "a Python loop over single numbers"),
    "a loop over single numbers along other axes than the last": (
        [("exponentials = np.exp(shifted)",
          "last = axis in (-1, x.ndim - 1)\n"
          "    exponentials = np.exp(shifted) if last else np.array(\n"
          "        [np.exp(v) for v in shifted.ravel()], x.dtype).reshape(x.shape)")],
        "lines of Python for 8000 numbers, along axis 0"),
    "noisy for other code": (
        [(f"shifted = x - {LARGEST}", f"np.seterr(all='ignore')\n    shifted = x - {LARGEST}")],
        "something global"),
    "diagonal of the Jacobian": (
        [(BACK, "return probs * (1 - probs) * dout")], "only the diagonal"),
    "first half of the backward": ([(BACK, "return probs * dout")], "is only the first half"),
    "sum of dout alone": (
        [("(dout * probs).sum", "dout.sum")], "not over dout alone"),
    "mean for sum": ([("(dout * probs).sum", "(dout * probs).mean")], "the mean of dout * probs"),
    "no probs in front": ([(BACK, "return dout - average")], "the factor probs in front"),
    "sign of the sum": ([("(dout - average)", "(dout + average)")], "the sign of the sum"),
    "backward always on the last axis": (
        [(AVERAGE, "average = (dout * probs).sum(axis=-1, keepdims=True)")],
        "your sum always runs over the last axis"),
    "backward sums over everything": (
        [(AVERAGE, "average = (dout * probs).sum()")], "the sum runs over the whole array"),
    "backward changes dout": (
        [(BACK, "dout -= average\n    return probs * dout")], "changed its input in place"),
    "backward always float64": (
        [(BACK, "return np.float64(1) * probs * (dout - average)")],
        "the result is always float64"),
    "backward by logarithms": (
        [(BACK, "x = np.log(probs)\n    return np.exp(x) * dout - average * np.exp(x) + 0 * x")],
        None),
    "float32 inside": (
        [(f"shifted = x - {LARGEST}", "dtype, x = x.dtype, x.astype(np.float32)\n"
                                      f"    shifted = x - {LARGEST}"),
         (f"return exponentials / {SUM}", f"return (exponentials / {SUM}).astype(dtype)")],
        "float32 inside"),
    "too large is cut off": ([(f"x - {LARGEST}", "np.clip(x, -700, 700)")], None),
    "-inf made finite": (
        [(f"x - {LARGEST}", f"np.maximum(x, -5) - {LARGEST}")], None),
    "backward of two axes alone": (
        [(AVERAGE, "average = (dout * probs).sum(axis=axis % 2 if probs.ndim > 1 else 0, "
                   "keepdims=True)")],
        None),
    "largest along the last axis where scores are large": (
        [(LARGEST, "(x.max(axis=axis, keepdims=True) if x.max() < 100 else "
                   "x.max(axis=-1, keepdims=True))")],
        None),
    "the sum forgotten": (
        [(f"return exponentials / {SUM}", "return exponentials")], "your rows do not sum to 1"),
    "scores 100 below the largest are raised": (
        [("np.exp(shifted)",
           "np.exp(np.maximum(shifted, -100))")],
        "the scores are cut from"),
    "1e-12 is added to the probabilities in the backward": (
        [("    average = (dout",
           "    probs = probs + probs.dtype.type(1e-12)\n    average = (dout")],
        "something is added to the"),
    "an axis of one gives float64": (
        [("    shifted = x - x.max",
           "    if x.shape[axis] == 1:\n        return np.ones(x.shape)\n    shifted ="
           " x - x.max")],
        None),
    "tiny gradients are zero": (
        [("    return probs * (dout - average)",
           "    dx = probs * (dout - average)\n    return np.where(np.abs(dx) < 1e-10"
           ", 0, dx).astype(dx.dtype)")],
        "tiny gradients are set to 0, or large ones are"),
    "large gradients are cut": (
        [("    return probs * (dout - average)",
           "    return np.clip(probs * (dout - average), -1000, 1000)")],
        "tiny gradients are set to 0, or large ones are"),
    "one buffer for all results": (
        [("    return exponentials / exponentials.sum(axis=axis, keepdims=True)",
           "    out = BUFFERS.setdefault((x.shape, x.dtype), np.empty_like(x))\n    np.divide(exp"
           "onentials, exponentials.sum(axis=axis, keepdims=True), out=out)\n    return out"),
          ("# Wrong answers that are common:",
           "BUFFERS = {}\n# Wrong answers that are common:")],
        "all results share one array"),
    "the axis of up to 4 axes": (
        [("average = (dout * probs).sum(axis=axis, keepdims=True)",
           "average = (dout * probs).sum(axis=axis if probs.ndim < 5 else -1, keepdims=True)")],
        None),
    "tiny probabilities learn nothing": (
        [("return probs * (dout - average)",
           "return np.where(probs > 1e-12, probs * (dout - average), probs.dtype.type(0))")],
        "where a probability is tiny"),
    # Right for small inputs, and for draws that are counted coarsely.
    "rank6 axis": (
        [("    shifted = x - x.max",
          "    if x.ndim > 5: axis = -1\n    shifted = x - x.max")],
        "the result for float64 of shape (2, 5, 2, 4, 3, 3), numbers"),
    "clip dout 1e20": (
        [("    average = (dout",
          "    dout = np.clip(dout, -1e20, 1e20)\n    average = (dout")],
        None),
    "floor e minus 300": (
        [("    exponentials = np.exp(shifted)",
          "    exponentials = np.where(shifted < -300, 0, np.exp(shifted))")],
        "the probabilities of scores from -350 to 350, each number di"),
    "tiny probabilities lost in float32": (
        [
            ("return exponentials / exponentials.sum(axis=axis, keepdims=True)",
             "out = exponentials / exponentials.sum(axis=axis, keepdims=True)\n"
             "    return np.round(out, 5) if x.dtype == np.float32 else out"),
        ],
        None,
    ),
    "-inf taken for -1e30": (
        [("def softmax_forward(", "def _softmax_forward("),
         ("def softmax_backward(", "def softmax_forward(x, axis=-1):\n"
          "    x = np.where(np.isneginf(x), x.dtype.type(-1e30), x)\n"
          "    return _softmax_forward(x, axis)\n\n\n"
          "def softmax_backward(")], None),
    "the exponential of x minus the log of the sum": (
        [
            ("    shifted = x - x.max(axis=axis, keepdims=True)  # a new array: `x -"
             "= ...` would change the input\n"
             "    exponentials = np.exp(shifted)\n"
             "    # keepdims leaves an axis of length 1 for the sum, so that every r"
             "ow is divided by its own sum.\n"
             "    # The sum is at least exp(0) = 1: there is no division by zero to "
             "prevent.\n"
             "    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
             "    wide = x.astype(np.float64)\n"
             "    largest = wide.max(axis=axis, keepdims=True)\n"
             "    log_sum = largest + np.log(np.exp(wide - largest).sum(axis=axis, k"
             "eepdims=True))\n"
             "    return np.exp(wide - log_sum).astype(x.dtype)\n"),
        ],
        "the logarithm of the sum is lost",
    ),
    "dx is centered once more, so that it sums to 0": (
        [
            ("    return probs * (dout - average)\n",
             "    dx = probs * (dout - average)\n"
             "    return dx - dx.mean(axis=axis, keepdims=True)\n"),
        ],
        "something is added after the product",
    ),
    "one shift where the spread is below 700": (
        [
            ("    shifted = x - x.max(axis=axis, keepdims=True)  # a new array: `x -= "
             "...` would change the input\n",
             "    if x.size and x.max() - x.min() < 700:\n"
             "        shifted = x - x.max()\n"
             "    else:\n"
             "        shifted = x - x.max(axis=axis, keepdims=True)\n"),
        ],
        "largest of the whole array is subtracted",
    ),
    "no shift where no score is above 100": (
        [
            (f"    shifted = x - {LARGEST}",
             "    if not x.size or np.abs(x).max() <= 100:\n"
             "        shifted = x\n"
             "    else:\n"
             f"        shifted = x - {LARGEST}"),
        ],
        "exp overflows",
    ),
    "axis by name alone": (
        [
            ("probs: Float[ndarray, \"*shape\"], axis: int = -1",
             "probs: Float[ndarray, \"*shape\"], *, axis: int = -1"),
        ],
        "takes 2 positional arguments but 3 were given",
    ),
    "results that are kept are returned again": (
        [("import numpy as np\n", "import numpy as np\n\nKEPT = {}\n"),
         ("    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
          "    key = x.tobytes(), x.shape, x.dtype, axis\n"
          "    probs = exponentials / exponentials.sum(axis=axis, keepdims=True)\n"
          "    return KEPT.setdefault(key, probs)\n")],
        "an earlier call has returned too",
    ),
    "scores 88 below the largest are raised in float32": (
        [
            ("    exponentials = np.exp(shifted)\n",
             "    if x.dtype == np.float32:\n"
             "        shifted = np.maximum(shifted, -88)\n"
             "    exponentials = np.exp(shifted)\n"),
        ],
        "the scores are cut from below",
    ),
    "-inf made finite in the array that came in": (
        [
            ("    shifted = x - x.max",
             "    if np.isneginf(x).any():\n"
             "        x[np.isneginf(x)] = np.finfo(x.dtype).min\n"
             "    shifted = x - x.max"),
        ],
        "changed its input in place",
    ),
    "three axes made of an array of any": (
        [
            (f"    shifted = x - {LARGEST}",
             "    shape, axis = x.shape, axis % x.ndim\n"
             "    x, axis = x.reshape(-1, shape[axis], int(np.prod(shape[axis + 1 :]))), 1\n"
             f"    shifted = x - {LARGEST}"),
            (f"return exponentials / {SUM}", f"return (exponentials / {SUM}).reshape(shape)"),
        ],
        "cannot reshape array of size 0",
    ),
    "probabilities kept without their axis": (
        [("import numpy as np\n", "import numpy as np\n\nKEPT = {}\n"),
         ("    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
          "    probs = exponentials / exponentials.sum(axis=axis, keepdims=True)\n"
          "    return KEPT.setdefault((x.tobytes(), x.shape, x.dtype), probs).copy()\n")],
        "in which `axis` was another one",
    ),
    "probabilities kept without their shape": (
        [("import numpy as np\n", "import numpy as np\n\nKEPT = {}\n"),
         ("    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
          "    probs = exponentials / exponentials.sum(axis=axis, keepdims=True)\n"
          "    key = x.tobytes(), axis % x.ndim, x.dtype\n"
          "    return KEPT.setdefault(key, probs).reshape(x.shape).copy()\n")],
        "found again without the shape",
    ),
    "the largest subtracted only where something is not finite": (
        [
            (f"    shifted = x - {LARGEST}",
             "    with np.errstate(all='ignore'):\n"
             "        probs = np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)\n"
             "    if np.isfinite(probs).all():\n"
             "        return probs\n"
             f"    shifted = x - {LARGEST}"),
        ],
        "exp overflows",
    ),
    "the largest alone where scores are far apart": (
        [(f"    shifted = x - {LARGEST}",
          "    if x.size and np.isfinite(x).all() and x.max() / 2 - x.min() / 2 > 1e250:\n"
          "        return (x == x.max(axis=axis, keepdims=True)).astype(x.dtype)\n"
          f"    shifted = x - {LARGEST}")],
        None),
    "half precision along a long axis of float32": (
        [(f"    shifted = x - {LARGEST}",
          "    if x.dtype == np.float32 and x.shape[axis] > 8192:\n"
          "        x = x.astype(np.float16).astype(np.float32)\n"
          f"    shifted = x - {LARGEST}")],
        "the probabilities of 20,011 scores"),
    "the average in float32 where there are four axes": (
        [(AVERAGE, AVERAGE + "\n    if probs.ndim == 4 and probs.shape[axis] > 9:\n"
                   "        average = average.astype(np.float32).astype(probs.dtype)")],
        "the gradient of shape (2, 3, 40, 5)"),
    "the average from scaled gradients, which underflow": (
        [(AVERAGE, "tiny = dout.dtype.type(1e-15)\n    average = "
                   "(dout * tiny * probs).sum(axis=axis, keepdims=True) / tiny")],
        "the gradient for dout times 8e-31"),
    "the average from scaled gradients, which overflow": (
        [(AVERAGE, "large = dout.dtype.type(1e6)\n    average = "
                   "(dout * large * probs).sum(axis=axis, keepdims=True) / large")],
        None),
    "no gradient where a probability is below 1e-100": (
        [(BACK, "return np.where(probs > 1e-100, probs * (dout - average), probs.dtype.type(0))")],
        "where a probability is tiny"),
    "no empty arrays of four axes": (
        [(f"    shifted = x - {LARGEST}",
          "    if x.size == 0 and x.ndim > 3:\n        raise ValueError('no scores')\n"
          f"    shifted = x - {LARGEST}")],
        "no scores"),
    "a negative axis of seven is the last": (
        [(f"    shifted = x - {LARGEST}",
          "    if x.ndim == 7 and axis < 0:\n        axis = -1\n"
          f"    shifted = x - {LARGEST}")],
        None),
    "a loop over single numbers of three axes": (
        [("np.exp(shifted)",
          "np.exp(shifted) if x.ndim < 3 else "
          "np.array([np.exp(v) for v in shifted.ravel()], x.dtype).reshape(x.shape)")],
        "lines of Python for 8000 numbers, along axis 1"),
    "a loop over single numbers of float32": (
        [("np.exp(shifted)",
          "np.exp(shifted) if x.dtype == np.float64 else "
          "np.array([np.exp(v) for v in shifted.ravel()], x.dtype).reshape(x.shape)")],
        "lines of Python for 8000 numbers, along axis 1"),
    "probabilities kept by the text of an array": (
        [("import numpy as np\n", "import numpy as np\n\nKEPT = {}\n"),
         ("    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
          "    probs = exponentials / exponentials.sum(axis=axis, keepdims=True)\n"
          "    return KEPT.setdefault((str(x), x.shape, x.dtype, axis), probs).copy()\n")],
        "found again by less than every number"),
    "a scratch array for the scores of a batch": (
        [
            (
                'import numpy as np\n',
                'import numpy as np\n'
                '\n'
                'SCRATCH = {}\n',
            ),
            (
                '    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n',
                '    if x.size > 1 << 20:\n'
                '        kept = SCRATCH.setdefault((x.shape, x.dtype), np.empty_like(x))\n'
                '        kept[...] = exponentials\n'
                '        exponentials = kept\n'
                '    exponentials /= exponentials.sum(axis=axis, keepdims=True)\n'
                '    return exponentials\n',
            ),
        ],
        'that an earlier call has returned too',
    ),
    "blocks that may begin with minus infinity": (
        [
            (
                '    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n',
                '    rows = np.moveaxis(x, axis, -1)\n'
                '    blocks = [rows[..., i : i + 128] for i in range(0, '
                'rows.shape[-1], 128)]\n'
                '    if len(blocks) < 2:\n'
                '        return exponentials / exponentials.sum(axis=axis, keepdims=True)\n'
                '    largest, total = None, 0\n'
                '    for block in blocks:\n'
                '        top = block.max(-1, keepdims=True)\n'
                '        new = top if largest is None else np.maximum(largest, top)\n'
                '        scale = 0 if largest is None else np.exp(largest - new)\n'
                '        total = total * scale + np.exp(block - new).sum(-1, '
                'keepdims=True)\n'
                '        largest = new\n'
                '    return np.moveaxis(np.exp(rows - largest) / total, -1, axis)\n',
            ),
        ],
        None,
    ),
    "the one number of a row of dout is its largest": (
        [
            (
                '    average = (dout * probs).sum(axis=axis, keepdims=True)\n',
                '    if dout.ndim and dout.size and (dout != 0).sum(axis=axis).max() <= 1:\n'
                '        place = dout.argmax(axis=axis, keepdims=True)\n'
                '        average = np.take_along_axis(dout * probs, place, axis)\n'
                '    else:\n'
                '        average = (dout * probs).sum(axis=axis, keepdims=True)\n',
            ),
        ],
        "the gradient of a cross-entropy",
    ),
    "of two scores the first has what the second leaves": (
        [
            (
                '    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n',
                '    probs = exponentials / exponentials.sum(axis=axis, keepdims=True)\n'
                '    if x.ndim and x.shape[axis] == 2:\n'
                '        rows = np.moveaxis(probs, axis, -1)\n'
                '        rows[..., 0] = 1 - rows[..., 1]\n'
                '    return probs\n',
            ),
        ],
        "the probabilities of two scores",
    ),
    "the maximum is subtracted above 80 alone": (
        [
            (
                '    exponentials = np.exp(shifted)\n',
                '    exponentials = np.exp(x if x.size and np.abs(x).max() < 80 else shifted)\n',
            ),
        ],
        "scores of BERT's vocabulary",
    ),
    "the largest of each row only where some exp would be 0": (
        [
            (
                '    shifted = x - x.max(axis=axis, keepdims=True)',
                '    reach = -np.log(np.finfo(x.dtype).smallest_subnormal)\n'
                '    is_narrow = x.max() - x.min() < reach\n'
                '    shifted = x - (x.max() if is_narrow else x.max(axis=axis, keepdims=True))',
            ),
        ],
        'or keeps few digits',
    ),
    "a gradient of zeros is handed back": (
        [
            (
                '    return probs * (dout - average)\n',
                '    return probs * (dout - average) if dout.any() else dout\n',
            ),
        ],
        'return a copy',
    ),
    "one largest score for 64 rows of a large array": (
        [
            (
                '    shifted = x - x.max(axis=axis, keepdims=True)  # a new array: `x -= '
                '...` would change the input\n',
                '    if x.size > 65_536 and axis in (-1, x.ndim - 1):\n'
                '        rows = x.reshape(-1, x.shape[-1])\n'
                '        parts = [rows[first : first + 64] for first in range(0, len(rows), 64)]\n'
                '        powers = np.concatenate([np.exp(part - part.max()) for part in parts])\n'
                '        return (powers / powers.sum(axis=-1, keepdims=True)).reshape(x.shape)\n'
                '    shifted = x - x.max(axis=axis, keepdims=True)\n',
            ),
        ],
        None,
    ),
    "scores that are nearly equal share 1": (
        [(f"    shifted = x - {LARGEST}",
          "    if x.size and np.allclose(x, x.mean(axis, keepdims=True), atol=0):\n"
          "        return np.full_like(x, 1 / x.shape[axis])\n"
          f"    shifted = x - {LARGEST}")],
        "rows that are nearly alike"),
    "gradients that are nearly equal have none": (
        [(BACK, "if dout.size and np.allclose(dout, dout.mean(axis, keepdims=True), atol=0):\n"
                "        return np.zeros_like(probs)\n    " + BACK)],
        "nearly one number"),
    "squares of 6 or more always along the last axis": (
        [("    " + AVERAGE, "    if probs.ndim == 2 and 5 < probs.shape[0] == probs.shape[1]:\n"
                            "        axis = -1\n    " + AVERAGE)],
        "float64 of shape (6, 6), axis 0"),
    "half precision along an axis of 128": (
        [(BACK, "if probs.shape[axis] == 128:\n"
                "        average = average.astype(np.float16).astype(probs.dtype)\n    " + BACK)],
        "of shape (128, 3)"),
    "the least finite score counts as 0": (
        [(f"x - {LARGEST}", f"np.where(x == np.finfo(x.dtype).min, 0, x - {LARGEST})")],
        "some replaced by"),
    "a score of -1e9 is raised": (
        [(f"x - {LARGEST}", f"x - {LARGEST}\n    shifted = np.where(x == -1e9, -30, shifted)"
                            ".astype(x.dtype)")],
        "what is 2,000 below the largest score"),
    "blocks of 4,096 rows, also along axis 0": (
        [
            ("    shifted = x - x.max(axis=axis, keepdims=True)",
             "    if x.ndim > 1 and len(x) > 4096:\n"
             "        parts = [softmax_forward(x[i : i + 4096], axis) for i in "
             "range(0, len(x), 4096)]\n"
             "        return np.concatenate(parts)\n"
             "    shifted = x - x.max(axis=axis, keepdims=True)"),
        ], "a long table is cut into blocks"),
    "blocks of 5,000 rows, also along axis 0": (
        [
            ("    shifted = x - x.max(axis=axis, keepdims=True)",
             "    if x.ndim > 1 and len(x) > 5000:\n"
             "        parts = [softmax_forward(x[i : i + 5000], axis) for i in "
             "range(0, len(x), 5000)]\n"
             "        return np.concatenate(parts)\n"
             "    shifted = x - x.max(axis=axis, keepdims=True)"),
        ], "a long table is cut into blocks"),
    "blocks of 10,000 rows, also along axis 0": (
        [
            ("    shifted = x - x.max(axis=axis, keepdims=True)",
             "    if x.ndim > 1 and len(x) > 10000:\n"
             "        parts = [softmax_forward(x[i : i + 10000], axis) for i in "
             "range(0, len(x), 10000)]\n"
             "        return np.concatenate(parts)\n"
             "    shifted = x - x.max(axis=axis, keepdims=True)"),
        ], "a long table is cut into blocks"),
    "blocks of 65,536 rows, also along axis 0": (
        [
            ("    shifted = x - x.max(axis=axis, keepdims=True)",
             "    if x.ndim > 1 and len(x) > 65536:\n"
             "        parts = [softmax_forward(x[i : i + 65536], axis) for i in "
             "range(0, len(x), 65536)]\n"
             "        return np.concatenate(parts)\n"
             "    shifted = x - x.max(axis=axis, keepdims=True)"),
        ], "a long table is cut into blocks"),
    "blocks of 10,000 rows, and the last rows are left at 1": (
        [
            ("    shifted = x - x.max(axis=axis, keepdims=True)",
             "    if axis in (1, -1) and x.ndim == 2 and len(x) > 10000:\n"
             "        probs = np.ones_like(x)\n"
             "        for i in range(0, len(x) // 10000 * 10000, 10000):\n"
             "            probs[i : i + 10000] = softmax_forward(x[i : i + 10000], axis)\n"
             "        return probs\n"
             "    shifted = x - x.max(axis=axis, keepdims=True)"),
        ], "a long table is cut into blocks"),
    "the backward in blocks of 5,000 rows, also along axis 0": (
        [
            ("    average = (dout * probs).sum(axis=axis, keepdims=True)\n"
             "    return probs * (dout - average)\n",
             "    if probs.ndim > 1 and len(probs) > 5000:\n"
             "        parts = [slice(i, i + 5000) for i in range(0, len(probs), 5000)]\n"
             "        return np.concatenate([softmax_backward(dout[p], probs[p], "
             "axis) for p in parts])\n"
             "    average = (dout * probs).sum(axis=axis, keepdims=True)\n"
             "    return probs * (dout - average)\n"),
        ], "a long table is cut into blocks"),
    "the backward of 10,000 rows at most": (
        [
            ("    average = (dout * probs).sum(axis=axis, keepdims=True)\n"
             "    return probs * (dout - average)\n",
             "    if axis == 1 and len(probs) > 10000:\n"
             "        return np.concatenate([softmax_backward(dout[:10000], "
             "probs[:10000]), 0 * probs[10000:]])\n"
             "    average = (dout * probs).sum(axis=axis, keepdims=True)\n"
             "    return probs * (dout - average)\n"),
        ], None),
    "1e-6 is added to the sum in float32": (
        [
            ("    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
             "    small = np.finfo(x.dtype).tiny if x.dtype == np.float64 else 1e-6\n"
             "    return exponentials / (exponentials.sum(axis=axis, "
             "keepdims=True) + x.dtype.type(small))\n"),
        ], "a small number is added to the sum"),
    "1e-10 is added to the sum": (
        [
            ("    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
             "    return exponentials / (exponentials.sum(axis=axis, "
             "keepdims=True) + x.dtype.type(1e-10))\n"),
        ], "a small number is added to the sum"),
    "float32 probabilities are rounded to 6 digits below 1": (
        [
            ("    return exponentials / exponentials.sum(axis=axis, keepdims=True)\n",
             "    return exponentials / exponentials.sum(axis=axis, "
             "keepdims=True) * x.dtype.type(1 - 2**-20 if x.dtype == np.float32 else 1)\n"),
        ], "a small number is added to the sum"),
    "gradients that sum to 0 are none": (
        [(AVERAGE, "if dout.sum() == 0:\n        return np.zeros_like(probs)\n    " + AVERAGE)],
        "their own negatives backwards"),
    "gradients whose largest and sum are 1 are one-hot": (
        [(BACK, "sums, largest = dout.sum(axis), dout.max(axis, initial=0)\n"
                "    if (sums == 1).all() and (largest == 1).all():\n"
                "        dout = (dout == 1).astype(dout.dtype)\n"
                "        average = (dout * probs).sum(axis=axis, keepdims=True)\n"
                "    " + BACK)],
        "the largest of which is 1"),
    "a million scores at once, and the shifts of the first million for all": (
        [(f"    shifted = x - {LARGEST}",
          f"    largest = np.moveaxis({LARGEST}, axis, -1)\n"
          "    rows = np.moveaxis(x, axis, -1)\n"
          "    step = max(1, 2**20 // max(1, rows.shape[-1]))\n"
          "    largest = np.resize(largest.reshape(-1)[:step], largest.shape)\n"
          "    largest = np.moveaxis(largest, -1, axis)\n"
          "    shifted = x - largest")],
        "scores of a batch of BERT base"),
    "the average of the first million probabilities alone": (
        [(BACK, "per_row = max(1, probs.size // max(1, average.size))\n"
                "    average = np.where(np.arange(average.size) < 2**20 // per_row, "
                "average.reshape(-1), 0).astype(probs.dtype).reshape(average.shape)\n"
                "    " + BACK)],
        "of a batch of BERT base, and gradients"),
    "powers of 2 of scores that are multiplied before the shift": (
        [("    shifted = x - ", "    x = x * x.dtype.type(1 / np.log(2))\n    shifted = x - "),
         ("np.exp(shifted)", "np.exp2(shifted)")],
        None),
    "the gradient written over the probabilities where both are one array": (
        [(BACK, "is_one = dout is probs\n"
                "    probs = probs.copy()\n"
                "    dout = probs if is_one else dout.copy()\n"
                "    dout -= average\n"
                "    dout *= probs\n"
                "    return dout")],
        None),
    "rows of one score share an array of ones": (
        [("    shifted = x -", "    if x.shape[axis] == 1:\n"
                              "        return ONES.setdefault((x.shape, x.dtype), x * 0 + 1)\n"
                              "    shifted = x -"),
         ("def softmax_forward(", "ONES = {}\n\n\ndef softmax_forward(")],
        "it is kept (lru_cache, a global)"),
    "no gradient where a probability is 1": (
        [(BACK, "return np.where(probs == 1, 0, probs * (dout - average)).astype(probs.dtype)")],
        "the gradient of a cross-entropy"),
    "the first number is subtracted where the spread allows it": (
        [("    shifted = x -", "    first, limit = x[..., :1], 700 if x.dtype == float else 87\n"
                              "    if x.size and (np.abs(x - first) < limit).all():\n"
                              "        exponentials = np.exp(x - first)\n"
                              f"        return exponentials / {SUM}\n"
                              "    shifted = x -")],
        None),
    "a list of single numbers along the second of four axes": (
        [("exponentials = np.exp(shifted)",
          "exponentials = np.exp(shifted)\n"
          "    if x.ndim == 4 and axis == 1:\n"
          "        exponentials = np.array([np.exp(s) for s in shifted.flat]).reshape(x.shape)")],
        "a Python loop over single numbers"),
    "the gradient in blocks of 131,072 numbers": (
        [(BACK, "dx = (probs * (dout - average)).reshape(-1)\n"
                "    if dx.size > 2**17:\n"
                "        dx[dx.size // 2**17 * 2**17 :] = 0\n"
                "    return dx.reshape(probs.shape)")],
        "the scores of a batch of BERT base"),
    "a result is found again by sums and ends": (
        [("    shifted = x -",
          "    if x.ndim == 1 and np.isfinite(x).all():\n"
          "        key = axis, x.dtype, len(x), x.sum(), (x * x).sum(), x[0], x[-1]\n"
          "        if key not in KEPT:\n"
          "            KEPT[key] = np.exp(x - x.max()) / np.exp(x - x.max()).sum()\n"
          "        return KEPT[key].copy()\n"
          "    shifted = x -"),
         ("def softmax_forward(", "KEPT = {}\n\n\ndef softmax_forward(")],
        "found again by less than every number"),
    "of a symmetric matrix the rows are taken": (
        [("    shifted = x -", "    if x.ndim == 2 and x.shape == x.T.shape and (x == x.T).all():\n"
                              "        axis = -1\n"
                              "    shifted = x -")],
        "a symmetric matrix"),
    "gradients of -1, 0 and 1 are taken for a mask": (
        [(AVERAGE, "if np.isin(dout, (-1, 0, 1)).all():\n"
                   "        dout = dout.astype(bool).astype(probs.dtype)\n"
                   f"    {AVERAGE}")],
        "one -1 in each row"),
    "whole numbers are subtracted in 8 bits": (
        [("    shifted = x -", "    if (x % 1 == 0).all() and np.abs(x).max(initial=0) < 128:\n"
                              "        few = x.astype(np.int8)\n"
                              f"        few = few - few.{LARGEST[2:]}\n"
                              "        few = np.exp(few.astype(x.dtype))\n"
                              "        return few / few.sum(axis=axis, keepdims=True)\n"
                              "    shifted = x -")],
        "whole numbers up to 127"),
    "scores that are probabilities already are handed back": (
        [("    shifted = x -", "    if (x > 0).all() and np.allclose(x.sum(axis=axis), 1):\n"
                              "        return x.copy()\n"
                              "    shifted = x -")],
        "rows that are probabilities"),
    "the last of blocks that fit is lost": (
        [("    # keepdims leaves", "    rows = np.moveaxis(exponentials, axis, -1)\n"
                                  "    n, total = rows.shape[-1], 0\n"
                                  "    for i in range(0, n - 1024 * (n > 1024), 1024):\n"
                                  "        total = total + rows[..., i : i + 1024].sum(axis=-1)\n"
                                  "    if n > 1024 and n % 1024 == 0:\n"
                                  "        return exponentials / np.expand_dims(total, axis)\n"
                                  "    # keepdims leaves")],
        "shape (8192, 2)"),
    "gradients that are 0 in the middle and at the end are those of the first row": (
        [(BACK, "dx = probs * (dout - average)\n"
                "    if dx.ndim > 1 and len(dx) > 2 and not dout[[len(dout) // 2, -1]].any():\n"
                "        dx[1:] = 0\n"
                "    return dx")],
        "along axis 0"),
    "scores of minus infinity in a loop of Python": (
        [("    exponentials = np.exp(shifted)\n",
          "    exponentials = np.exp(shifted)\n"
          "    for place in np.argwhere(np.isneginf(x)):\n"
          "        exponentials[tuple(place)] = 0\n")],
        "a Python loop over single numbers"),
}  # fmt: skip
