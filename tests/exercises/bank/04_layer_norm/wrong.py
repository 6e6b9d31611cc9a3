"""Wrong answers to 04_layer_norm, as edits of the solution, and the words that name each."""

CENTERED = "centered = x - x.mean(axis=-1, keepdims=True)"
VARIANCE = "variance = (centered * centered).mean(axis=-1, keepdims=True)"
STD = "inverse_std = 1 / np.sqrt(variance + eps)"
OUT = "return normalized * weight + bias"
CALL = "normalized, _ = normalize(x, eps)"
CALL_BACK = "normalized, inverse_std = normalize(x, eps)"
AXES = "batch_axes = tuple(range(x.ndim - 1))"
SUMS = "(dout * normalized).sum(axis=batch_axes), dout.sum(axis=batch_axes)"
DNORMALIZED = "dnormalized = dout * weight"
SHIFT = "along_shift = dnormalized.mean(axis=-1, keepdims=True)"
STRETCH = "along_stretch = (dnormalized * normalized).mean(axis=-1, keepdims=True)"
DX = "dx = (dnormalized - along_shift - normalized * along_stretch) * inverse_std"

WRONG = {
    "the environment stays changed": (
        [("    normalized, _ = normalize(x, eps)\n", "    import os\n\n"
          "    os.environ['OMP_NUM_THREADS'] = '3'\n    normalized, _ = normalize(x, eps)\n")],
        "changed os.environ"),
    "unbiased variance": (
        [(VARIANCE, "variance = x.var(axis=-1, ddof=1, keepdims=True)")], "divides by hidden - 1"),
    "eps outside the root": (
        [(STD, "inverse_std = 1 / (np.sqrt(variance) + eps)")], "eps stands outside the root"),
    "unbiased and eps outside": (
        [(VARIANCE, "variance = x.var(axis=-1, ddof=1, keepdims=True)"),
         (STD, "inverse_std = 1 / (np.sqrt(variance) + eps)")],
        "divides by hidden - 1"),
    "eps 1e-5": ([("    eps: float = 1e-12,\n) -> Float", "    eps: float = 1e-5,\n) -> Float")],
                 "eps is 1e-5, as in torch"),
    "eps 1e-5 in the backward": (
        [("    eps: float = 1e-12,\n) -> tuple", "    eps: float = 1e-5,\n) -> tuple")],
        "eps is 1e-5, as in torch"),
    "eps ignored": ([(CALL, CALL.replace("eps", "1e-12"))], "the eps argument is ignored"),
    "eps left out": ([(STD, STD.replace(" + eps", ""))], "without eps that is 0 / 0"),
    "eps squared": ([(STD, STD.replace("eps", "eps**2"))], "eps is squared"),
    "no root": ([(STD, "inverse_std = 1 / (variance + eps)")], "its root is missing"),
    "mean not taken off": ([(CENTERED, "centered = x")], "the mean is not subtracted"),
    "over the first axis": (
        [(CENTERED, CENTERED.replace("-1", "0")), (VARIANCE, VARIANCE.replace("-1", "0"))],
        "that is batch norm"),
    "over axis 1": (
        [(CENTERED, CENTERED.replace("-1", "min(1, x.ndim - 1)")),
         (VARIANCE, VARIANCE.replace("-1", "min(1, x.ndim - 1)"))],
        "over axis 1, which is the last one of (batch, hidden) alone"),
    "over everything": (
        [(CENTERED, "centered = x - x.mean()"), (VARIANCE, "variance = x.var()")],
        "over the whole array"),
    "over all but the first": (
        [(CENTERED, "axes = tuple(range(min(1, x.ndim - 1), x.ndim))\n"
                   "    centered = x - x.mean(axis=axes, keepdims=True)"),
         (VARIANCE, VARIANCE.replace("-1", "axes"))],
        "over all axes but the first"),
    "no keepdims": ([(CENTERED, "centered = x - x.mean(axis=-1)")], "without keepdims=True"),
    "mean of squares": (
        [(VARIANCE, "variance = (x * x).mean(axis=-1, keepdims=True) - "
                    "x.mean(axis=-1, keepdims=True) ** 2"),
         (STD, "inverse_std = 1 / np.sqrt(np.maximum(variance, 0) + eps)")],
        "loses its digits"),
    "no weight": ([(OUT, "return normalized + bias")], "weight is not used"),
    "no bias": ([(OUT, "return normalized * weight")], "bias is not added"),
    "neither": ([(OUT, "return normalized")], "weight and bias are not used"),
    "shift before scale": (
        [(OUT, "return (normalized + bias) * weight")], "added before the scaling"),
    "in place": ([(CENTERED, "x -= x.mean(axis=-1, keepdims=True)\n    centered = x")],
                 "changed its input in place"),
    "always float64": (
        [(CENTERED, CENTERED.replace("= x", "= x.astype(np.float64)"))],
        "the result is always float64"),
    "direct path alone": ([(DX, "dx = dnormalized * inverse_std")], "only the direct path"),
    "no path through the mean": (
        [(DX, DX.replace("- along_shift ", ""))], "through the mean is missing"),
    "no path through the variance": (
        [(DX, DX.replace(" - normalized * along_stretch", ""))],
        "through the variance is missing"),
    "no weight in dx": ([(DNORMALIZED, "dnormalized = dout")], "weight is missing in dx"),
    "no division in dx": ([(DX, DX.replace(" * inverse_std", ""))], "is missing in dx"),
    "sums for means": (
        [(SHIFT, SHIFT.replace("mean", "sum")), (STRETCH, STRETCH.replace("mean", "sum"))],
        "sums where means belong"),
    "unbiased backward": (
        [(CALL_BACK, f"{CALL_BACK}\n    inverse_std = 1 / np.sqrt(x.var(-1, ddof=1, keepdims=True)"
                     " + eps)\n    normalized = (x - x.mean(-1, keepdims=True)) * inverse_std")],
        "divides by hidden - 1"),
    "sign of the stretch": ([(DX, DX.replace("- normalized", "+ normalized"))],
                            "the sign of the path through the variance"),
    "backward ignores eps": ([(CALL_BACK, CALL_BACK.replace("eps", "1e-12"))],
                             "the eps argument is ignored"),
    "dweight from x": (
        [(SUMS, SUMS.replace("dout * normalized", "dout * x"))], "not x"),
    "dweight a mean": (
        [(SUMS, SUMS.replace("(dout * normalized).sum", "(dout * normalized).mean"))],
        "dweight is a sum over the vectors"),
    "dbias a mean": (
        [(SUMS, SUMS.replace("dout.sum", "dout.mean"))], "dbias is a sum over the vectors"),
    "dweight from what is scaled": (
        [(SUMS, SUMS.replace("dout * normalized", "dout * weight * normalized"))],
        "dweight is multiplied by weight"),
    "dbias from what is scaled": (
        [(SUMS, SUMS.replace("dout.sum", "(dout * weight).sum"))], "dbias is multiplied by weight"),
    "exchanged": ([("return dx, dweight, dbias", "return dx, dbias, dweight")], "exchanged"),
    "over the first axis alone": (
        [(AXES, "batch_axes = 0 if x.ndim > 1 else ()")], "summed over the first axis alone"),
    "not summed": (
        [(SUMS, "dout * normalized, dout")], "is not summed over the vectors"),
    "summed over everything": (
        [(AXES, "batch_axes = None")], "summed over the whole array"),
    "backward changes dout": (
        [(DNORMALIZED, "dout *= weight\n    dnormalized = dout")], "changed its input in place"),
    "gradients forgotten": ([("return dx, dweight, dbias", "return dx")], "expected a tuple of 3"),
    "eps a lower bound": (
        [(STD, STD.replace("variance + eps", "np.maximum(variance, eps)"))],
        "eps is the least value of the variance"),
    "mean of squares in the backward alone": (
        [(CALL_BACK, f"{CALL_BACK}\n    mean = x.mean(-1, keepdims=True)\n"
                     "    variance = (x * x).mean(-1, keepdims=True) - mean**2\n"
                     "    inverse_std = 1 / np.sqrt(variance + eps)\n"
                     "    normalized = (x - mean) * inverse_std")],
        "loses its digits"),
    "weight last": (
        [(DNORMALIZED, "dnormalized = dout"), (DX, f"{DX} * weight")], "weight comes last"),
    "stretch of the gradient alone": (
        [("(dnormalized * normalized).mean(", "dnormalized.mean(")],
        "x̂ is forgotten inside it"),
    "stretch not along the vector": (
        [(DX, DX.replace("normalized * along_stretch", "along_stretch"))],
        "multiply it by x̂"),
    "float32 inside": (
        [(CENTERED, CENTERED.replace("= x", "= x.astype(np.float32)")),
         (OUT, "return (normalized * weight + bias).astype(np.float32).astype(x.dtype)")],
        "float32 inside"),
    "vectors of equal numbers left out of the backward": (
        [(CALL_BACK, f"{CALL_BACK}\n"
                     "    inverse_std = np.where(inverse_std > 1e5, 0, inverse_std)")],
        None),
    "divided by weight": (
        [(DNORMALIZED, "dnormalized = dout * weight * weight / weight")], None),
    "eps always 1e-5": ([(STD, STD.replace("+ eps", "+ 1e-5"))], "it is always 1e-5"),
    "half of the batch in dbias": (
        [(SUMS, SUMS.replace("dout.sum", "dout[: (len(dout) + 1) // 2].sum"))], None),
    "eps 0 means the default": (
        [("    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)",
           "    eps = eps or 1e-12\n    centered = x - x.mean(axis=-1, keepdims=True) "
           " # (..., hidden)")],
        "eps=0 is taken for the"),
    "apply_along_axis": (
        [("    # Every place of the vector has one scale",
           "    def one(v):\n        return normalize(v, eps)[0] * weight + bias\n    "
           "return np.apply_along_axis(one, -1, x)\n    # Every place of the vector h"
           "as one scale")],
        None),
    "tiny gradients are zero": (
        [("    dnormalized = dout * weight",
           "    dout = np.where(np.abs(dout) < 1e-8, 0, dout).astype(dout.dtype)\n   "
           " dnormalized = dout * weight")],
        "tiny gradients are set to 0, or large ones are"),
    "large gradients are cut": (
        [("* inverse_std\n    return dx,",
           "* inverse_std\n    dx = np.clip(dx, -1e7, 1e7)\n    return dx,")],
        "tiny gradients are set to 0, or large ones are"),
    "four axes at most": (
        [("    batch_axes = tuple(range(x.ndim - 1))",
           "    batch_axes = tuple(range(min(x.ndim - 1, 3)))")],
        None),
    "hidden 1 in float64": (
        [("    normalized, _ = normalize(x, eps)",
           "    if x.shape[-1] == 1:\n        return np.zeros(x.shape) + bias\n    nor"
           "malized, _ = normalize(x, eps)")],
        None),
    "sums in order, in float32": (
        [("    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)",
           "    centered = x - np.cumsum(x, axis=-1)[..., -1:] / x.shape[-1]")],
        None),
    "vectors in the order of memory": (
        [("(dout * normalized).sum(axis=batch_axes)",
           "(dout.reshape(-1, x.shape[-1]) * normalized.reshape(-1, x.shape[-1], "
           "order=\"A\")).sum(0)")],
        "order='A' or 'K' reads"),
    "no spread below 1e-20": (
        [("return centered * inverse_std, inverse_std",
           "return centered * np.where(variance < 1e-20, 0, inverse_std).astype(x.dtype), inverse_"
           "std")],
        "a small variance is taken for 0"),
    "dout doubled and halved": (
        [("dnormalized = dout * weight",
           "dout *= 2\n    dnormalized = dout * weight * x.dtype.type(0.5)\n    dout /= 2")],
        "an input is changed in place"),
    # Right for small inputs, and for draws that are counted coarsely.
    "dweight 512 rows": (
        [("(dout * normalized).sum(axis=batch_axes)",
          "(dout * normalized).reshape(-1, x.shape[-1])[:512].sum(0)")],
        "dweight for float32 of shape (3, 9, 7, 7, 3), x near 1e+01,"),
    "clip 1e6": (
        [("    centered = x - x.mean",
          "    x = np.clip(x, -1e6, 1e6)\n    centered = x - x.mean")],
        "the result for float64 of shape (9, 9, 1, 2, 2), x near 1e+08,"),
    "f32 mean": (
        [("    centered = x - x.mean(axis=-1, keepdims=True)  #",
          "    centered = x - (x.mean(axis=-1, keepdims=True, dtype=np.float32).astype(x.dty"
          "pe) if x.shape[-1] > 500 else x.mean(axis=-1, keepdims=True))  #")],
        "the result for float64 of shape (2, 2, 1501), x near 1e-02,"),
    "backward takes what the forward kept, with its eps": (
        [
            ("    normalized, _ = normalize(x, eps)\n",
             "    normalized, inverse_std = normalize(x, eps)\n"
             "    _LAST[:] = [x.copy(), normalized, inverse_std]\n"),
            ("    normalized, inverse_std = normalize(x, eps)\n"
             "    # Every",
             "    if _LAST and np.array_equal(_LAST[0], x) and _LAST[0].dtype == "
             "x.dtype:\n"
             "        normalized, inverse_std = _LAST[1:]\n"
             "    else:\n"
             "        normalized, inverse_std = normalize(x, eps)\n"
             "    # Every"),
            ("def normalize(x, eps):",
             "_LAST = []\n"
             "\n"
             "\n"
             "def normalize(x, eps):"),
        ],
        "which belongs to other arguments",
    ),
    "a limit of the inverse deviation in the backward": (
        [
            ("    dx = (dnormalized",
             "    inverse_std = np.minimum(inverse_std, 1e6)\n"
             "    dx = (dnormalized"),
        ],
        None,
    ),
    "dweight with the bracket multiplied out": (
        [
            ("    dweight, dbias = (dout * normalized).sum(axis=batch_axes), dout.su"
             "m(axis=batch_axes)\n",
             "    scaled = dout * inverse_std\n"
             "    mean = x.mean(axis=-1, keepdims=True)\n"
             "    dweight = (scaled * x).sum(axis=batch_axes) - (scaled * mean).sum("
             "axis=batch_axes)\n"
             "    dbias = dout.sum(axis=batch_axes)\n"),
        ],
        None,
    ),
    "the mean of all vectors, then mean(x\u00b2) - \u00b5\u00b2": (
        [
            ("    variance = (centered * centered).mean(axis=-1, keepdims=True)  # (..., 1)\n",
             "    rough = x - x.mean()\n"
             "    variance = (rough * rough).mean(axis=-1, keepdims=True) - "
             "rough.mean(axis=-1, keepdims=True) ** 2\n"
             "    variance = np.maximum(variance, 0)\n"),
        ],
        None,
    ),
    "eps by name alone": (
        [
            ("    bias: Float[ndarray, \"hidden\"],\n    eps: float",
             "    bias: Float[ndarray, \"hidden\"],\n    *,\n    eps: float"),
        ],
        "takes 3 positional arguments but 4 were given",
    ),
    "eps by name alone in the backward": (
        [
            ("    weight: Float[ndarray, \"hidden\"],\n    eps: float",
             "    weight: Float[ndarray, \"hidden\"],\n    *,\n    eps: float"),
        ],
        "takes 3 positional arguments but 4 were given",
    ),
    "a larger eps in float32": (
        [
            (STD, STD.replace("eps", "(max(eps, 1e-9) if x.dtype == np.float32 else eps)")),
        ],
        None,
    ),
    "vectors of equal numbers left out where others are not": (
        [
            (STD, STD + "\n    if variance.any():\n"
             "        inverse_std = np.where(variance == 0, 0, inverse_std).astype(x.dtype)"),
        ],
        "dx is set to 0",
    ),
    "nearly equal numbers are taken for equal": (
        [
            (OUT, "flat = np.isclose(x, x.mean(axis=-1, keepdims=True), atol=0)\n"
                  "    flat = flat.all(axis=-1, keepdims=True)\n"
                  "    return np.where(flat, 0, normalized).astype(x.dtype) * weight + bias"),
        ],
        "numbers that are nearly equal are taken for equal",
    ),
    "the quick variance where the means are below 5,000": (
        [
            (VARIANCE,
             "mean = x.mean(axis=-1, keepdims=True)\n"
             "    if x.size and np.abs(mean).max() < 5000:\n"
             "        variance = (x * x).mean(axis=-1, keepdims=True) - mean * mean\n"
             "        variance = np.maximum(variance, 0)\n"
             "    else:\n"
             f"        {VARIANCE}"),
        ],
        "loses its digits",
    ),
    "float64 for a single vector": (
        [(OUT, "bias = bias.astype(np.float64) if x.ndim == 1 else bias\n    " + OUT)],
        "expected numbers of type float32, got float64",
    ),
    "float64 dbias of three axes": (
        [("return dx, dweight, dbias", "if x.ndim == 3:\n        dbias = dbias.astype(np.float64)\n"
          "    return dx, dweight, dbias")],
        "expected numbers of type float32, got float64",
    ),
    "the quick variance for a single vector": (
        [(VARIANCE, VARIANCE + "\n    if x.ndim == 1:\n        mean = x.mean(axis=-1, keepdims=1)\n"
          "        variance = np.maximum((x * x).mean(axis=-1, keepdims=True) - mean * mean, 0)")],
        "loses its digits",
    ),
    "float32 vectors of equal numbers learn nothing": (
        [(DX, DX + "\n    if x.dtype == np.float32:\n"
          "        is_flat = x.max(axis=-1, keepdims=True) == x.min(axis=-1, keepdims=True)\n"
          "        dx = np.where(is_flat, 0, dx).astype(x.dtype)")],
        "dx is set to 0",
    ),
    "eps 1 at most": ([(CALL, "eps = min(eps, 1.0)\n    " + CALL)], "eps 3"),
    "eps of a single vector is the default": (
        [(CALL_BACK, "eps = 1e-12 if x.ndim == 1 else eps\n    " + CALL_BACK)], None),
    "eps 1e-7 at least for float32 of three axes": (
        [(CALL_BACK, "if x.dtype == np.float32 and x.ndim > 2:\n        eps = max(eps, 1e-7)\n    "
          + CALL_BACK)],
        "float32 of shape (2, 3, 5), x near 1e-06",
    ),
    "four axes of vectors at most": (
        [(AXES, AXES + "[:4]")], "float64 of shape (2, 1, 2, 1, 1, 2, 3)"),
    "another name for the bias": (
        [('    bias: Float[ndarray, "hidden"],\n', '    shift: Float[ndarray, "hidden"],\n'),
         (OUT, OUT.replace("bias", "shift"))],
        "unexpected keyword argument 'bias'",
    ),
    "half precision in sums of many vectors": (
        [(AXES, AXES + "\n    if dout.dtype == np.float32 and len(dout) > 100:\n"
          "        dout = dout.astype(np.float16).astype(np.float32)")],
        None,
    ),
    "a weight of ones is left out, and what it learns": (
        [("return dx, dweight, dbias", "if (weight == 1).all():\n        dweight = 0 * dweight\n"
          "    return dx, dweight, dbias")],
        None,
    ),
    "a weight of zeros learns nothing": (
        [("return dx, dweight, dbias", "dweight = dweight if weight.any() else 0 * dweight\n"
          "    return dx, dweight, dbias")],
        None,
    ),
    "of a single vector the gradient of the bias is a view": (
        [
            (
                'dout.sum(axis=batch_axes)\n',
                'dout.sum(axis=batch_axes)\n'
                '    if x.ndim == 1:\n'
                '        dbias = dout.reshape(-1)\n',
            ),
        ],
        'or a view of one',
    ),
    "the sum times one over hidden": (
        [
            (
                '    centered = x - x.mean(axis=-1, keepdims=True)',
                '    share = 1 / x.shape[-1]\n'
                '    centered = x - x.sum(axis=-1, keepdims=True) * share',
            ),
            (
                '(centered * centered).mean(axis=-1, keepdims=True)',
                '(centered * centered).sum(axis=-1, keepdims=True) * share',
            ),
        ],
        '1 / hidden, which is rounded',
    ),
    "kept by the array, its shape and both of its ends": (
        [
            (
                '    normalized, _ = normalize(x, eps)\n'
                '    # Every place',
                '    key = (eps, x.shape, x.dtype, x.reshape(-1)[[0, -1]].tolist()) if '
                'x.size else None\n'
                '    if KEPT.get("x") is not x or KEPT["key"] != key:\n'
                '        KEPT.update(x=x, key=key, result=normalize(x, eps)[0])\n'
                '    normalized = KEPT["result"]\n'
                '    # Every place',
            ),
            (
                '# begin solution\n'
                'def normalize(',
                'KEPT = {}\n'
                '\n'
                '\n'
                '# begin solution\n'
                'def normalize(',
            ),
        ],
        'a value is kept from one call to the next',
    ),
    "a vector whose gradients add up to 0 counts as padding": (
        [
            (
                '    return dx, dweight, dbias\n',
                '    dx[dout.sum(axis=-1) == 0] = 0\n'
                '    return dx, dweight, dbias\n',
            ),
        ],
        'gradients that add up to 0',
    ),
    "weights that are nearly 1 are left out": (
        [(OUT, "if np.allclose(weight, 1):\n        return normalized + bias\n    " + OUT)],
        "nearly ones in weight and bias"),
    "where weights are nearly 0 nothing is learned": (
        [(DX, DX + "\n    if np.allclose(weight, 0):\n        dx = np.zeros_like(x)")],
        "tiny numbers in weight and bias"),
    "a gradient that is the same everywhere gives none": (
        [(DX, DX + "\n    if dout.size > 4 and np.ptp(dout) == 0:\n        dx = np.zeros_like(x)")],
        "one number everywhere in dout"),
    "what is far from the mean is cut off": (
        [(OUT, "normalized = np.clip(normalized, -10, 10)\n    " + OUT)], "of shape (3, 256)"),
    "vectors of zeros are padding": (
        [(DX, DX + "\n    dx = np.where((x == 0).all(-1, keepdims=True) & (x.ndim > 2), 0, dx)"
                   ".astype(x.dtype)")],
        "zeros in x"),
    "hidden - 1 where hidden is a multiple of 8": (
        [(VARIANCE, VARIANCE + "\n    if x.shape[-1] % 8 == 0 and x.shape[-1] < 768:\n"
                    "        variance = variance * x.shape[-1] / (x.shape[-1] - 1)")],
        "of shape (3, 8)"),
    "blocks of 1,024 rows, and a single row left over has the numbers of the row before": (
        [
            ("    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)\n",
             "    if x.ndim == 2 and len(x) > 1024:\n"
             "        parts = [normalize(x[i : i + 1024], eps) for i in range(0, "
             "len(x) - 1, 1024)]\n"
             "        parts = [np.concatenate(p) for p in zip(*parts)]\n"
             "        if len(parts[0]) < len(x):\n"
             "            parts = [np.concatenate([p, p[-1:]]) for p in parts]\n"
             "        return parts\n"
             "    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)\n"),
        ], "its last vectors are left out"),
    "blocks of 10,000 rows, and the rows left over become 0": (
        [
            ("    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)\n",
             "    if x.ndim == 2 and len(x) > 10000:\n"
             "        parts = [normalize(x[i : i + 10000], eps) for i in "
             "range(0, len(x) // 10000 * 10000, 10000)]\n"
             "        rest = len(x) % 10000\n"
             "        return [np.concatenate([*p, np.zeros((rest, "
             "p[0].shape[1]), x.dtype)]) for p in zip(*parts)]\n"
             "    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)\n"),
        ], "its last vectors are left out"),
    "the backward's vectors beyond 8,192 get no gradient": (
        [
            ("    dx = (dnormalized - along_shift - normalized * along_stretch) * inverse_std\n",
             "    dx = (dnormalized - along_shift - normalized * along_stretch) * inverse_std\n"
             "    if dx.ndim == 2:\n"
             "        dx[8192:] = 0\n"),
        ], "its last vectors are left out"),
    "dweight in float32 for large batches": (
        [
            ("    dweight, dbias = (dout * normalized).sum(axis=batch_axes), "
             "dout.sum(axis=batch_axes)\n",
             "    dweight, dbias = (dout * normalized).sum(axis=batch_axes), "
             "dout.sum(axis=batch_axes)\n"
             "    if dout.size > 30000:\n"
             "        dweight = (dout.astype(np.float32) * "
             "normalized.astype(np.float32)).sum(axis=batch_axes).astype(x.dtype)\n"),
        ], "a batch of BERT base"),
    "dbias in float32 for large batches": (
        [
            ("    dweight, dbias = (dout * normalized).sum(axis=batch_axes), "
             "dout.sum(axis=batch_axes)\n",
             "    dweight, dbias = (dout * normalized).sum(axis=batch_axes), "
             "dout.sum(axis=batch_axes)\n"
             "    if len(dout) > 10000:\n"
             "        dbias = dout.sum(axis=batch_axes, dtype=np.float32).astype(x.dtype)\n"),
        ], "float32 inside"),
    "the forward in float32 for more than 9,000 vectors": (
        [
            ("    return normalized * weight + bias\n",
             "    if x.ndim == 2 and len(x) > 9000:\n"
             "        normalized = normalized.astype(np.float32).astype(x.dtype)\n"
             "    return normalized * weight + bias\n"),
        ], None),
    "weights that add up to their count are taken for ones": (
        [(OUT, "if weight.sum() == weight.size:\n        return normalized + bias\n    " + OUT)],
        "add up to their count"),
    "a bias that adds up to 0 is left out": (
        [(OUT, "if bias.sum() == 0:\n        return normalized * weight\n    " + OUT)],
        "in weight and bias"),
    "weights whose squares add up to their count are taken for ones": (
        [(OUT, "if (weight**2).sum() == weight.size:\n        return normalized + bias\n    "
          + OUT)],
        "in weight and bias"),
    "no dweight where dbias is 0": (
        [(DNORMALIZED, "if not dbias.any():\n        dweight = np.zeros_like(weight)\n    "
          + DNORMALIZED)],
        "add up to 0"),
    "no mean where all vectors together add up to 0": (
        [(CENTERED, CENTERED.replace("x - ", "x if x.sum() == 0 else x - "))],
        "negative of its mirror image"),
    "weight and bias that are one object": (
        [(OUT, "if weight is bias:\n        return normalized + bias\n    " + OUT)],
        "`is` compares objects"),
    "normalized numbers of 20 at most": (
        [("return centered * inverse_std, inverse_std",
          "return np.clip(centered * inverse_std, -20, 20), inverse_std")],
        "of shape (2, 3001)"),
    "what is normalized already stays": (
        [(CALL, "done = x.size and np.allclose(x.mean(-1), 0, atol=1e-6)\n"
                "    done = done and np.allclose(x.var(-1), 1)\n"
                "    normalized = x if done else normalize(x, eps)[0]")],
        None),
    "no path through the variance where all gradients of x̂ add up to 0": (
        [(DX, f"if not dnormalized.sum(axis=-1).any():\n        along_stretch = 0\n    {DX}")],
        None),
    "a result is found again without the shape": (
        [(CALL, "key = x.tobytes(), weight.tobytes(), bias.tobytes(), eps, x.dtype\n"
                "    if key in KEPT:\n        return KEPT[key].copy()\n"
                "    KEPT[key] = normalize(x, eps)[0] * weight + bias\n    " + CALL),
         ("def layer_norm_forward(", "KEPT = {}\n\n\ndef layer_norm_forward(")],
        "after calls with the same numbers"),
    "an eps that is a whole number is the default": (
        [(STD, STD.replace("eps", "(eps if isinstance(eps, float) else 1e-12)"))],
        "the eps argument is ignored"),
    "numbers within a billionth of their mean are equal": (
        [(CENTERED, CENTERED + "\n    mean = np.abs(x.mean(axis=-1, keepdims=True))\n"
                    "    near = np.abs(centered).max(axis=-1, keepdims=True) < 1e-9 * mean\n"
                    "    centered = np.where(near, 0, centered).astype(x.dtype)")],
        "numbers that are nearly equal are taken for equal"),
    "whole numbers are added up in 16 bits": (
        [(CENTERED, CENTERED + "\n    if (x % 1 == 0).all() and np.abs(x).max(initial=0) < 128:\n"
                    "        few = x.astype(np.int8).sum(-1, dtype=np.int16, keepdims=True)\n"
                    "        centered = (x - few / x.shape[-1]).astype(x.dtype)")],
        "whole numbers up to 127"),
    "gradients that are whole numbers are added up in 16 bits": (
        [(SUMS, SUMS + "\n    if (dout % 1 == 0).all() and np.abs(dout).max(initial=0) < 128:\n"
                "        total = dout.astype(np.int8).sum(axis=batch_axes, dtype=np.int16)\n"
                "        dbias = total.astype(x.dtype)")],
        "whole numbers up to 127"),
    "vectors of variance 1 have no path through the variance": (
        [(STRETCH, STRETCH + "\n    if x.size and (inverse_std == 1).all():\n"
                   "        along_stretch = 0")],
        "a variance of exactly 1"),
    "sentences whose ends and middle are alike are the first": (
        [(CALL, "if x.ndim == 3 and len(x) > 2 and x.size:\n"
                "        some = x[[0, len(x) // 2, -1]]\n"
                "        x = np.repeat(x[:1], len(x), axis=0) if (some == some[:1]).all() else x\n"
                f"    {CALL}")],
        "along axis 0"),
    "a bias that is 0 at its ends and in the middle is left out": (
        [(OUT, "if len(bias) > 2 and not bias[[0, len(bias) // 2, -1]].any():\n"
               "        return normalized * weight\n"
               f"    {OUT}")],
        "along axis 2"),
    "the last of blocks of vectors that fit is lost": (
        [(SUMS, SUMS + "\n    flat = (dout * normalized).reshape(-1, x.shape[-1])\n"
                "    if len(flat) > 512 and len(flat) % 512 == 0:\n"
                "        dweight = flat[:-512].sum(axis=0)")],
        "shape (8192, 3)"),
}  # fmt: skip
