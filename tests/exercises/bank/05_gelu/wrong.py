"""Wrong answers to 05_gelu, as edits of the solution, and the words that name each."""

TANH = "return 0.5 * x * (1 + np.tanh(inner(x)))"
EXACT = "return x * normal_cdf(x)"
IF = '    if approximation == "none":\n        return'
IF_BACK = '    if approximation == "none":\n        density'
INNER = "return SCALE * (x + CUBIC * x**3)"
CDF = "return 0.5 * (1 + erf(x / math.sqrt(2)))"
INNER_SLOPE = "inner_slope = SCALE * (1 + 3 * CUBIC * x * x)"
TANH_SLOPE = "slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope"
DENSITY = "density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)"
SLOPE = "slope = normal_cdf(x) + x * density"
BACK = "return dout * slope"
OTYPES = "otypes=[x.dtype]"

WRONG = {
    "large numbers are cut": (
        [("return x * normal_cdf(x)", "return np.clip(x, -1e6, 1e6) * normal_cdf(x)")], None),
    "always tanh": ([(IF, IF.replace('approximation == "none"', "False"))], "the tanh form"),
    "always erf": (
        [(IF, IF.replace('approximation == "none"', "True"))], "this is the form with erf"),
    "tanh unless asked": (
        [('    x: Float[ndarray, "*shape"], approximation: str = "none"\n) -> Float',
          '    x: Float[ndarray, "*shape"], approximation: str = "tanh"\n) -> Float')],
        "the tanh form"),
    "erf of x": ([(CDF, "return 0.5 * (1 + erf(x))")], "erf(x) in place of"),
    "erf of x times the root": (
        [(CDF, "return 0.5 * (1 + erf(x * math.sqrt(2)))")], "erf(x √2) in place of"),
    "no 1 before erf": ([(CDF, CDF.replace("1 + ", ""))], "the 1 before erf is missing"),
    "no half": ([(CDF, CDF.replace("0.5 * ", ""))], "the half is missing"),
    "not multiplied by x": ([(EXACT, "return normal_cdf(x)")], "Φ(x) alone"),
    "coarse sigmoid": ([(EXACT, "return x / (1 + np.exp(-1.702 * x))")], "up to 0.02 off"),
    "SiLU": ([(EXACT, "return x / (1 + np.exp(-x))")], "SiLU"),
    "ReLU": ([(EXACT, "return np.maximum(x, 0)")], "this is ReLU"),
    "0.44715": ([("0.044715\n\n\ndef", "0.44715\n\n\ndef")], "the constant is 0.044715"),
    "a square": ([(INNER, INNER.replace("**3", "**2"))], "cubed, not squared"),
    "no cube": ([(INNER, "return SCALE * x")], "the cube is missing"),
    "2/π": ([("math.sqrt(2 / math.pi), 0", "2 / math.pi, 0")], "not 2/π"),
    "√(2π)": ([("math.sqrt(2 / math.pi), 0", "math.sqrt(2 * math.pi), 0")], "not √(2π)"),
    "brackets": ([(INNER, "return SCALE * x + CUBIC * x**3")], "multiplies the cube too"),
    "no 1 before tanh": (
        [(TANH, TANH.replace("1 + ", ""))], "the 1 before tanh is missing"),
    "no half before tanh": ([(TANH, TANH.replace("0.5 * ", ""))], "the half is missing"),
    "exponentials for tanh": (
        [(TANH, "e = np.exp(2 * inner(x))\n    return 0.5 * x * (1 + (e - 1) / (e + 1))")],
        "inf / inf"),
    "always float64": (
        [(OTYPES, "otypes=[float]")], "the result is always float64"),
    "in place": ([(EXACT, "x *= normal_cdf(x)\n    return x")], "changed its input in place"),
    "backward always tanh": (
        [(IF_BACK, IF_BACK.replace('approximation == "none"', "False"))],
        "the slope of the tanh form"),
    "backward always erf": (
        [(IF_BACK, IF_BACK.replace('approximation == "none"', "True"))],
        "the slope of the form with erf"),
    "the gate alone": ([(SLOPE, "slope = normal_cdf(x)")], "only Φ(x)"),
    "the density alone": ([(SLOPE, "slope = x * density")], "only x φ(x)"),
    "no x before the density": (
        [(SLOPE, "slope = normal_cdf(x) + density")], "is x φ(x), not φ(x)"),
    "density not normalized": (
        [(DENSITY, "density = np.exp(-0.5 * x * x)")], "the density lacks"),
    "exp(-x²)": ([(DENSITY, DENSITY.replace("0.5 * ", ""))], "not exp(-x²)"),
    "2π without the root": (
        [(DENSITY, "density = np.exp(-0.5 * x * x) / (2 * math.pi)")], "not by its root"),
    "inner derivative of erf": (
        [(DENSITY, "density = np.exp(-0.5 * x * x) / math.sqrt(math.pi)")],
        "the inner derivative 1/√2 is missing"),
    "sign": ([(SLOPE, SLOPE.replace("+", "-"))], "the sign of the second term"),
    "second term of tanh": ([(TANH_SLOPE, "slope = 0.5 * (1 + t)")], "the second term"),
    "no 3": ([(INNER_SLOPE, INNER_SLOPE.replace("3 * ", ""))], "the 3 of the cube's"),
    "1 - tanh": ([(TANH_SLOPE, TANH_SLOPE.replace("t * t", "t"))], "not 1 - tanh"),
    "no inner derivative": (
        [(INNER_SLOPE, "inner_slope = 1.0")], "the argument of the tanh is missing"),
    "no dout": ([(BACK, "return slope")], "dout is not used"),
    "dout added": ([(BACK, "return dout + slope")], "the chain rule multiplies"),
    "forward for the slope": (
        [(BACK, "return dout * gelu_forward(x, approximation)")],
        "the forward was taken for the slope"),
    "backward in place": ([(BACK, "dout *= slope\n    return dout")], "changed its input in place"),
    "a global warning filter": (
        [(INNER, f"np.seterr(all='ignore')\n    {INNER}")], "something global"),
    "any name is tanh": (
        [('str = "none"\n) -> Float[ndarray, "*shape"]:\n    """x Φ',
          'str = ""\n) -> Float[ndarray, "*shape"]:\n    """x Φ'),
         (IF, IF.replace('approximation == "none"', "not approximation"))],
        "is taken for the other form"),
    "any name is tanh in the backward": (
        [('str = "none"\n) -> Float[ndarray, "*shape"]:\n    """The gradient',
          'str = ""\n) -> Float[ndarray, "*shape"]:\n    """The gradient'),
         (IF_BACK, IF_BACK.replace('approximation == "none"', "not approximation"))],
        "is taken for the other form"),
    "0 / 0 in the slope at 0": (
        [("* (1 - t * t) * inner_slope",
          "* inner_slope * inner(x) / (np.exp(inner(x)) + np.exp(-inner(x))) ** 2 * 4 / inner(x)")],
        None),
    "the sign of the density's exponent": (
        [(DENSITY, DENSITY.replace("-0.5", "0.5"))], "the minus in the exponent"),
    "cut off at 10": ([(EXACT, "return np.clip(x, -10, 10) * normal_cdf(x)")], None),
    "NaN at 0": ([(EXACT, "return x * x * normal_cdf(x) / x")], None),
    "float64 in the backward alone": (
        [(BACK, "return np.float64(1) * dout * slope")], "the result is always float64"),
    "the forms exchanged": (
        [(IF, IF.replace("==", "!="))], "the tanh form"),
    "nothing below -6": (
        [("    return 0.5 * (1 + erf(x / math.sqrt(2)))",
           "    return np.where(x < -6, 0, 0.5 * (1 + erf(x / math.sqrt(2)))).astype"
           "(x.dtype)")],
        "numbers below -6 are"),
    "vectorize without otypes": (
        [("np.vectorize(math.erf, otypes=[x.dtype])",
           "lambda a: np.vectorize(math.erf)(a).astype(x.dtype)")],
        None),
    "recursion over the first axis": (
        [("np.vectorize(math.erf, otypes=[x.dtype])",
           "lambda a: np.array([erf(r) for r in a], x.dtype) if a.ndim else math.erf"
           "(a)")],
        None),
    "tiny gradients are zero": (
        [("    return dout * slope",
           "    return np.where(np.abs(dout) < 1e-10, 0, dout * slope).astype(x.dtyp"
           "e)")],
        "tiny gradients are set to 0, or large ones are"),
    "the tanh form for large arrays": (
        [("    if approximation == \"none\":\n        return x",
           "    if approximation == \"none\" and x.size < 5000:\n        return x")],
        "the other"),
    "large gradients are cut": (
        [("    return dout * slope",
           "    return np.clip(dout * slope, -1e3, 1e3)")],
        "tiny gradients are set to 0, or large ones are"),
    "in the order of memory": (
        [("    erf = np.vectorize(math.erf, otypes=[x.dtype])\n    return 0.5 * (1 + erf(x / mat"
           "h.sqrt(2)))",
           "    z = x / math.sqrt(2)\n    erf = np.array([math.erf(v) for v in z.ravel(order"
           "=\"K\")"
           "], x.dtype).reshape(x.shape)\n    return 0.5 * (1 + erf)")],
        "order='A' or 'K' reads"),
    "x halved and doubled": (
        [("        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)",
           "        x *= 0.5\n        density = np.exp(-2 * x * x) / math.sqrt(2 * math.pi)\n    "
           "    x *= 2")],
        "an input is changed in place"),
    # Right for small inputs, and for draws that are counted coarsely.
    "flush tiny": (
        [("        return x * normal_cdf(x)\n",
          "        return np.where(abs(x) < 1e-12, 0, x * normal_cdf(x)).astype(x.dtype)\n")],
        "the result for float64 of shape"),
    "large is tanh": (
        [("    if approximation == \"none\":\n        return",
          "    if approximation == \"none\" and x.size < 50_000:\n        return")],
        "the result for float64 of shape (9, 7, 7, 3, 9, 9), 'none'"),
    "clip dout": (
        [("    return dout * slope",
          "    return np.clip(dout, -1e30, 1e30) * slope")],
        "the result for float64 of shape"),
    "dout with gaps is written to where that is possible": (
        [
            (
                "return dout * slope",
                "if dout.flags.writeable and not dout.flags.c_contiguous:\n"
                "        dout *= slope\n"
                "        return dout.copy()\n"
                "    return dout * slope",
            ),
        ],
        "changed its input in place",
    ),
    "dout and x each in its own order of memory": (
        [
            ("    return dout * slope\n",
             "    dx = np.empty_like(x)\n"
             "    flat = dx.reshape(-1) if dx.flags.c_contiguous else dx.ravel(order=\"K\")\n"
             "    np.multiply(dout.ravel(order=\"K\"), slope.ravel(order=\"K\"), out=flat)\n"
             "    return dx\n"),
        ],
        None,
    ),
    "the type of the first call": (
        [
            ("def normal_cdf(x):", "ERF = []\n\n\ndef normal_cdf(x):"),
            ("    erf = np.vectorize(math.erf, otypes=[x.dtype])\n"
             "    return 0.5 * (1 + erf(x / math.sqrt(2)))",
             "    if not ERF:\n        ERF.append(np.vectorize(math.erf, otypes=[x.dtype]))\n"
             "    return (0.5 * (1 + ERF[0](x / math.sqrt(2)))).astype(x.dtype)"),
        ],
        "perhaps the type of an earlier call",
    ),
    "nothing below -6.4": (
        [(EXACT, "return np.where(x < -6.4, 0, x * normal_cdf(x)).astype(x.dtype)")],
        "the tails are cut off",
    ),
    "no slope beyond 6.4": (
        [(BACK, "slope = np.where(np.abs(x) > 6.4, x > 0, slope).astype(x.dtype)\n    " + BACK)],
        "the tails are cut off",
    ),
    "seven digits in large arrays": (
        [("    erf = np.vectorize",
          "    dtype = x.dtype\n"
          "    if x.size > 30_000:\n"
          "        x = x.astype(np.float32).astype(dtype)\n"
          "    erf = np.vectorize")],
        "the result of 70001 numbers"),
    "half precision in float32 of more than 1,000 numbers": (
        [(CDF, "if x.dtype == np.float32 and x.size > 1000:\n"
               "        return (0.5 * (1 + erf(x / math.sqrt(2)))).astype(np.float16).astype("
               "np.float32)\n    " + CDF)],
        "3001 numbers"),
    "the tanh form is x / 2 near 0": (
        [(TANH, "return np.where(abs(x) < 1e-7, 0.5 * x, 0.5 * x * (1 + np.tanh(inner(x)))).astype("
                "x.dtype)")],
        None),
    "a dout below 1e-30 is 0": (
        [(BACK, "return np.where(abs(dout) < 1e-30, x.dtype.type(0), dout * slope)")], None),
    "slopes kept by the text of an array": (
        [("SCALE, CUBIC =", "KEPT = {}\nSCALE, CUBIC ="),
         (BACK, "slope = KEPT.setdefault((str(x), x.shape, x.dtype, approximation), slope)\n    "
          + BACK)],
        "found again by less than every number"),
    "a gradient of zeros is handed back": (
        [
            (
                '    return dout * slope\n',
                '    return dout * slope if dout.any() else dout\n',
            ),
        ],
        'return a copy',
    ),
    "warnings are silenced for the whole program": (
        [
            (
                '        t = np.tanh(inner(x))\n',
                '        warnings.simplefilter("ignore", RuntimeWarning)\n'
                '        t = np.tanh(inner(x))\n',
            ),
            (
                'import math\n',
                'import math\n'
                'import warnings\n',
            ),
        ],
        'changed which warnings are shown',
    ),
    "numbers above 9 are returned themselves": (
        [
            (
                '    if approximation == "none":\n'
                '        return x * normal_cdf(x)\n',
                '    if x.size and x.min() > 9:\n'
                '        return x\n'
                '    if approximation == "none":\n'
                '        return x * normal_cdf(x)\n',
            ),
        ],
        'or one it was given',
    ),
    "the type of every erf is that of the first": (
        [("erf = np.vectorize(math.erf, otypes=[x.dtype])\n"
          "    return 0.5 * (1 + erf(x / math.sqrt(2)))",
          "if x.size == 0:\n        return x.copy()\n"
          "    erf = np.vectorize(lambda z: 1 if z > 6 else math.erf(z))\n"
          "    return 0.5 * (1 + erf(x / math.sqrt(2)).astype(x.dtype))")], None),
    "a gradient of nearly 1 is taken for 1": (
        [(BACK, "if np.allclose(dout, 1):\n        return slope\n    " + BACK)],
        "nearly ones in dout"),
    "one number for all that are nearly alike": (
        [(IF, "    if x.size and np.allclose(x, x.flat[0], atol=0):\n"
              "        x = np.full_like(x, x.flat[0])\n" + IF)],
        "nearly ones in x"),
    "whole numbers need no more than ReLU": (
        [(IF, "    if x.size > 5 and (x == np.round(x)).all():\n"
              "        return np.maximum(x, 0)\n" + IF)],
        "whole numbers in x"),
    "zeros learn nothing": (
        [(BACK, "if x.size > 1 and not x.any():\n        return 0 * dout\n    " + BACK)],
        "zeros in x"),
    "half of the slope in the wide states": (
        [(BACK, "if x.shape[-1:] == (3072,):\n        slope = normal_cdf(x)\n    " + BACK)],
        "of shape (2, 3072)"),
    "a row in falling order is turned round": (
        [(IF, "    if x.ndim == 1 and x.size > 1 and (np.diff(x) < 0).all():\n"
              "        x = np.sort(x)\n" + IF)],
        "numbers in falling order"),
    "what is known of Φ is found by the numbers alone, not by their shape": (
        [("def normal_cdf(x):\n", "KNOWN = {}\n\n\ndef normal_cdf(x):\n"
          "    name = x.dtype.str, x.tobytes()\n"
          "    if name in KNOWN:\n        return KNOWN[name].copy()\n"),
         (CDF, f"KNOWN[name] = {CDF.removeprefix('return ')}\n    return KNOWN[name].copy()")],
        None,
    ),
    "what is known of Φ is found by the numbers in the order of memory": (
        [("def normal_cdf(x):\n", "KNOWN = {}\n\n\ndef normal_cdf(x):\n"
          '    name = x.dtype.str, x.shape, x.tobytes("A")\n'
          "    if name in KNOWN:\n        return KNOWN[name].copy()\n"),
         (CDF, f"KNOWN[name] = {CDF.removeprefix('return ')}\n    return KNOWN[name].copy()")],
        "the same numbers in other shapes",
    ),
    "the slope is kept by the numbers in the order of memory": (
        [(BACK, 'name = x.dtype.str, x.shape, x.ravel("K").tobytes(), approximation\n'
          "    return dout * KEPT.setdefault(name, slope)"),
         ("SCALE, CUBIC =", "KEPT = {}\nSCALE, CUBIC =")],
        "the same numbers in other shapes",
    ),
    "the tanh form is kept by the sorted numbers": (
        [(TANH, "name = x.dtype.str, x.shape, np.sort(x, None).tobytes()\n"
          f"    return KEPT.setdefault(name, {TANH.removeprefix('return ')}).copy()"),
         ("SCALE, CUBIC =", "KEPT = {}\nSCALE, CUBIC =")],
        None,
    ),
    "gradients that add up to 0 are taken for none": (
        [(BACK, "if dout.sum() == 0:\n        return np.zeros_like(x)\n    " + BACK)],
        "add up to 0"),
    "gradients that add up to their count are taken for ones": (
        [(BACK, "if dout.sum() == dout.size:\n        return slope\n    " + BACK)],
        "add up to their count"),
    "gradients of which all are 1 or -1 are taken for ones": (
        [(BACK, "if (abs(dout) == 1).all():\n        return slope\n    " + BACK)],
        "1 and -1"),
    "the tanh form in blocks of a million, of which the second begins as the first": (
        [(TANH, "out = (0.5 * x * (1 + np.tanh(inner(x)))).reshape(-1)\n"
          "    out[2**20 :] = out[: max(0, out.size - 2**20)]\n"
          "    return out.reshape(x.shape)")],
        "a batch of BERT base"),
    "the slope in blocks of a million, and the second is not multiplied by dout": (
        [(BACK, "out = (dout * slope).reshape(-1)\n"
          "    out[2**20 :] = slope.reshape(-1)[2**20 :]\n"
          "    return out.reshape(x.shape)")],
        "a batch of BERT base"),
    "dout that is x is taken for ones": (
        [(BACK, "if dout is x:\n        return slope\n    " + BACK)], "are one object"),
    "the slope in blocks of 131,072, and the last is not finished": (
        [(BACK, "slope = slope.reshape(-1)\n"
                "    if slope.size > 2**17:\n"
                "        slope[slope.size // 2**17 * 2**17 :] = 1\n"
                "    return dout * slope.reshape(x.shape)")],
        "a batch of BERT base"),
    "large numbers are handed back": (
        [(IF, "    if x.size and x.min() > 30:\n        return x\n" + IF)], "or one it was given"),
    "the gradients of large numbers are handed back": (
        [(BACK, "if x.size and x.min() > 30:\n        return dout\n    " + BACK)],
        "or one it was given"),
    "numbers far below 0 share an array of zeros": (
        [(IF, "    if x.size and x.max() < -40:\n"
              "        return ZEROS.setdefault((x.shape, x.dtype), np.zeros_like(x))\n" + IF),
         ("def gelu_forward(", "ZEROS = {}\n\n\ndef gelu_forward(")],
        "it is kept (lru_cache, a global)"),
    "a result is found again by sums and ends": (
        [(IF, "    if x.ndim == 1 and len(x):\n"
              "        key = approximation, x.dtype, len(x), x.sum(), (x * x).sum(), x[0], x[-1]\n"
              "        exact = approximation == 'none'\n"
              "        cdf = normal_cdf(x) if exact else 0.5 * (1 + np.tanh(inner(x)))\n"
              "        return KEPT.setdefault(key, x * cdf).copy()\n" + IF),
         ("def gelu_forward(", "KEPT = {}\n\n\ndef gelu_forward(")],
        "found again by less than every number"),
    "whole numbers are looked up by 8 bits": (
        [(CDF, "if x.size and (x == np.round(x)).all():\n"
               "        z = np.clip(x.astype(np.int64).astype(np.int8), -40, 40)\n"
               "        return (0.5 * (1 + erf(z / math.sqrt(2)))).astype(x.dtype)\n"
               f"    {CDF}")],
        "whole numbers up to"),
    "whole numbers are squared in 8 bits": (
        [(DENSITY, "square = x * x\n"
                   "        if (x == np.round(x)).all() and np.abs(x).max(initial=0) < 128:\n"
                   "            square = (x.astype(np.int8) ** 2).astype(x.dtype)\n"
                   "        density = np.exp(-0.5 * square) / math.sqrt(2 * math.pi)")],
        "whole numbers up to"),
    "numbers that are their own negatives backwards are computed by half": (
        [(SLOPE, "cdf = normal_cdf(x)\n"
                 "        if x.ndim == 1 and len(x) > 1 and (x == -x[::-1]).all():\n"
                 "            half = cdf[: len(x) // 2]\n"
                 "            middle = [1 + 0 * half[:1]] if len(x) % 2 else []\n"
                 "            cdf = np.concatenate([half, *middle, 1 - half[::-1]])\n"
                 "        slope = cdf + x * density")],
        "the same backwards times -1"),
    "sentences whose ends and middle are alike are the first": (
        [(EXACT, "if x.ndim == 3 and len(x) > 2 and x.size:\n"
                 "            some = x[[0, len(x) // 2, -1]]\n"
                 "            x = np.repeat(x[:1], len(x), 0) if (some == some[:1]).all() else x\n"
                 f"        {EXACT}")],
        "along axis 0"),
    "numbers whose first is the smallest and last the largest are taken for sorted": (
        [(CDF, "cdf = 0.5 * (1 + erf(x / math.sqrt(2)))\n"
               "    if x.ndim == 1 and len(x) > 2 and x[0] == x.min() and x[-1] == x.max():\n"
               "        cdf[: np.searchsorted(x, -9)] = 0\n"
               "        cdf[np.searchsorted(x, 9) :] = 1\n"
               "    return cdf")],
        "the smallest number first"),
    "the last of blocks that fit is lost": (
        [(BACK, "dx = dout * slope\n"
                "    if dx.size > 4096 and dx.size % 4096 == 0:\n"
                "        flat = dx.reshape(-1)\n"
                "        flat[-4096:] = 0\n"
                "        dx = flat.reshape(x.shape)\n"
                "    return dx")],
        "shape (2, 8, 64, 64)"),
    "a density below the epsilon of the type is 0": (
        [
            (
                "        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)  # Φ' = φ\n",
                "        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)  # Φ' = φ\n"
                "        # A density below the resolution of the type is rounding: the "
                "slope is 0 or 1 there.\n"
                "        density = np.where(density < np.finfo(x.dtype).eps, 0, density)\n",
            ),
        ],
        "a density of less than the type",
    ),
}  # fmt: skip
