"""Wrong answers to 27_is_the_score_true, as edits of the solution, and the words that name each."""

MEANS = "means = values[rng.integers(n, size=(draws, n))].mean(axis=1)"
TAIL = "tail = (1 - level) / 2"
QUANTILES = "low, high = np.quantile(means, [tail, 1 - tail])"
ENDS = "    return low, high\n"
ONLY = "only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())"
M = "m = only_first + only_second"
WAYS = "ways = sum(math.comb(m, i) for i in range(min(only_first, only_second) + 1))"
P = "return min(1.0, 2 * ways / 2**m)"
EDGES = "edges = np.arange(bins) / bins"
PLACE = 'place = np.maximum(np.searchsorted(edges, confidence, side="left") - 1, 0)'
COUNTS = "counts = np.bincount(place, minlength=bins)"
MEAN = "np.bincount(place, confidence, bins) / size,"
ACCURACY = "np.bincount(place, correct, bins) / size,"
SIZE = "size = np.where(counts, counts, np.nan)"
SOME = "some = counts > 0"
ERROR = "return (counts * np.abs(accuracy - mean))[some].sum() / len(confidence)"
Z = "z = (logits - logits.max(axis=1, keepdims=True)) / temperature"
LOSS = "return (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(labels)), labels]).mean()"
RANGE = "low, high = COLDEST, HOTTEST"
LOOP = "for _ in range(40):"
MIDDLE = "middle = math.sqrt(low * high)"
EXP = "weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / middle)"
SLOPE = "if (mean - right).mean() > 0:"
BEST = "return math.sqrt(low * high)"


def losses(temperatures, pick="min"):
    """A search over a list of temperatures."""
    call = "negative_log_likelihood(logits, labels, temperature=t)"
    return [(BEST, f"return float({pick}({temperatures}, key=lambda t: {call}))")]


WRONG = {
    "ties for the largest logit": (
        [(RANGE, "if (logits.argmax(axis=1) == labels).all():\n        return COLDEST\n    "
          + RANGE), (SLOPE, SLOPE.replace("> 0", ">= 0"))], "does not see the whole range"),
    "both tails on one side": ([(TAIL, "tail = 1 - level")], "half of it on each"),
    "95 written in": ([(TAIL, "tail = 0.025")], "level is not used"),
    "level cut off at each side": ([(TAIL, "tail = level / 2")], "is cut off at each side"),
    "quantiles of the values": (
        [(QUANTILES, QUANTILES.replace("(means", "(values"))], "quantiles of the values"),
    "quantiles of all draws": (
        [(MEANS, MEANS.replace(".mean(axis=1)", ""))],
        "of all drawn values"),
    "sums": ([(MEANS, MEANS.replace("mean(", "sum("))], "the sums of the resamples"),
    "medians": (
        [(MEANS, "means = np.median(values[rng.integers(n, size=(draws, n))], axis=1)")],
        "the medians of the resamples"),
    "indices turned": (
        [(MEANS, "means = values[rng.integers(n, size=(n, draws))].mean(axis=0)")],
        "drawn as (n, draws)"),
    "wrong axis": ([(MEANS, MEANS.replace("axis=1", "axis=0"))], "along the wrong axis"),
    "last value never drawn": (
        [(MEANS, MEANS.replace("integers(n,", "integers(max(1, n - 1),"))], "is never drawn"),
    "without replacement": (
        [(MEANS, "means = np.array([values[rng.permutation(n)].mean() for _ in range(draws)])")],
        "without replacement"),
    "half of the examples": (
        [(MEANS, MEANS.replace("(draws, n)", "(draws, -(-n // 2))"))], None),
    "distances from the mean": (
        [(ENDS, "    return low - values.mean(), high - values.mean()\n")],
        "the differences from the mean"),
    "basic bootstrap": (
        [(ENDS, "    return 2 * values.mean() - high, 2 * values.mean() - low\n")],
        "is turned round"),
    "normal interval": (
        [(ENDS, "    return values.mean() - 1.96 * means.std(), values.mean() + 1.96 * "
                "means.std()\n")], None),
    "no resamples at all": (
        [(ENDS, "    return values.mean() - 1.96 * values.std() / n**0.5, values.mean() + 1.96 * "
                "values.std() / n**0.5\n")], None),
    "sorted and cut": (
        [(QUANTILES, "means.sort()\n    low, high = means[int(tail * draws)], means[min(draws - 1, "
                     "int((1 - tail) * draws))]")], None),
    "lower quantiles": (
        [(QUANTILES, QUANTILES.replace("tail])", 'tail], method="lower")'))],
        "the quantiles are not interpolated"),
    "ends exchanged": ([(ENDS, "    return high, low\n")], "the ends are exchanged"),
    "an array": ([(ENDS, "    return np.array([low, high])\n")], "got"),
    "a generator of its own": (
        [(MEANS, MEANS.replace("rng.integers", "np.random.default_rng(0).integers"))],
        "left the generator that it was given where it stood"),
    "global generator": (
        [(MEANS, "means = values[np.random.randint(n, size=(draws, n))].mean(axis=1)")],
        "left the generator"),
    "one side": ([(P, "return min(1.0, ways / 2**m)")], "one side only"),
    "above 1": ([(P, "return 2 * ways / 2**m")], "p is above 1"),
    "k left out": ([(WAYS, WAYS.replace(" + 1))", "))"))], "the sum ends before k"),
    "k alone": (
        [(WAYS, "ways = math.comb(m, min(only_first, only_second))")], "the share at k alone"),
    "larger side": ([(WAYS, WAYS.replace("min(", "max("))], "the side with more is summed"),
    "first side": (
        [(WAYS, "ways = sum(math.comb(m, i) for i in range(only_first + 1))")],
        "only the first model's wins"),
    "all examples": ([(M, "m = len(first)")], "all examples are counted"),
    "both right counted": ([(M, "m = int((first | second).sum())")], "both have right are counted"),
    "right answers compared": (
        [(ONLY, "only_first, only_second = int(first.sum()), int(second.sum())")],
        "the numbers of right answers are compared"),
    "normal distribution": (
        [(P, "return math.erfc(abs(only_first - only_second) / math.sqrt(2 * m)) if m else 1.0")],
        "the test is exact"),
    "normal with a correction": (
        [(P, "return math.erfc(max(0, abs(only_first - only_second) - 1) / math.sqrt(2 * m)) if m "
             "else 1.0")], "the test is exact"),
    "float powers": ([(P, "return min(1.0, 2 * ways * 0.5**m)")], "OverflowError"),
    "float powers, 2.0": ([(P, "return min(1.0, 2 * (ways / 2.0**m))")], "OverflowError"),
    "float counts": (
        [(WAYS, "ways = float(np.cumprod([1.0] + [(m - i) / (i + 1) for i in range(min(only_first, "
                "only_second))]).sum())")], None),
    "1 - p": ([(P, "return 1 - min(1.0, 2 * ways / 2**m)")], "1 - p is given"),
    "never differ is 0": ([(P, P + " if m else 0.0")], "so p is 1"),
    "never differ is NaN": ([(P, P + ' if m else float("nan")')], "so p is 1"),
    "rounded p": ([(P, "return round(min(1.0, 2 * ways / 2**m), 6)")], None),
    "lower edge": (
        [(PLACE, 'place = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, '
                 "bins - 1)")], "belongs to the bin below"),
    "truncated": (
        [(PLACE, "place = np.minimum((confidence * bins).astype(int), bins - 1)")],
        "belongs to the bin below"),
    "0 is in no bin": (
        [(PLACE, 'place = np.searchsorted(edges, confidence, side="left") - 1\n    confidence, '
                 "correct = confidence[place >= 0], correct[place >= 0]\n    place = "
                 "place[place >= 0]")], "a confidence of 0 is in no bin"),
    "0 is negative": (
        [(PLACE, 'place = np.searchsorted(edges, confidence, side="left") - 1')], "ValueError"),
    "1 beyond the end": (
        [(PLACE, "place = (confidence * bins).astype(int)")], "expected shape"),
    "empty is 0": ([(SIZE, "size = np.maximum(counts, 1)")], "an empty bin has 0"),
    "empty bins left out": (
        [(COUNTS, "place = np.unique(place, return_inverse=True)[1]\n    bins = place.max() + 1\n"
                  "    " + COUNTS)], "empty bins are left out"),
    "middles of the bins": (
        [(MEAN, "np.where(counts > 0, (np.arange(bins) + 0.5) / bins, np.nan),")],
        "the middle of the bin"),
    "exchanged": (
        [(MEAN, "np.bincount(place, correct, bins) / size + 0,"),
         (ACCURACY, "np.bincount(place, confidence, bins) / size,")],
        "are exchanged"),
    "shares for counts": (
        [("        counts,\n        np", "        counts / len(confidence),\n        np")], None),
    "sums for means": (
        [(MEAN, "np.bincount(place, confidence, bins) * counts / size,"),
         (ACCURACY, "np.bincount(place, correct, bins) * counts / size,")], "sums, not means"),
    "number of right answers": (
        [(ACCURACY, "np.bincount(place, correct, bins) * counts / size,")],
        "the number of right answers"),
    "equally many": (
        [(EDGES, "edges = np.quantile(confidence, np.arange(bins) / bins)")], None),
    "from the lowest to the highest": (
        [(EDGES, "edges = np.linspace(confidence.min(), confidence.max(), bins + 1)[:-1]")], None),
    "float counts of bins": (
        [(COUNTS, "counts = np.bincount(place, minlength=bins).astype(float)")], "got float64"),
    "ten bins": ([(EDGES, "edges = np.arange(bins) / 10")], None),
    "NaN in the error": ([(SOME, "some = counts >= 0")], "NaN of an empty bin"),
    "mean over bins": (
        [(ERROR, "return np.abs(accuracy - mean)[some].mean()")], "the mean over the bins"),
    "mean over all bins": (
        [(ERROR, "return np.abs(accuracy - mean)[some].sum() / bins")], "the mean over all bins"),
    "signed gaps": (
        [(ERROR, "return (counts * (accuracy - mean))[some].sum() / len(confidence)")],
        "the gaps keep their signs"),
    "size of the sum": (
        [(ERROR, "return abs((counts * (accuracy - mean))[some].sum()) / len(confidence)")],
        "the size of the sum"),
    "squared gaps": (
        [(ERROR, "return (counts * (accuracy - mean) ** 2)[some].sum() / len(confidence)")],
        "the squares of the gaps"),
    "root mean square": (
        [(ERROR, "return ((counts * (accuracy - mean) ** 2)[some].sum() / len(confidence)) "
                 "** 0.5")],
        "the root of the mean square"),
    "largest gap": ([(ERROR, "return np.abs(accuracy - mean)[some].max()")], "the largest gap"),
    "not divided": (
        [(ERROR, ERROR.replace(" / len(confidence)", ""))], "divide by their number"),
    "middles in the error": (
        [(ERROR, "mean = (np.arange(bins) + 0.5) / bins\n    " + ERROR)], "the middle of a bin"),
    "without bins": (
        [(ERROR, "return np.abs(correct - confidence).mean()")], "a bin of its own"),
    "bins not passed on": (
        [("reliability(confidence, correct, bins=bins)",
          "reliability(confidence, correct, bins=10)")], "bins is not used"),
    "no shift": ([(Z, "z = logits / temperature")], "overflows"),
    "logarithm of the softmax": (
        [(LOSS, "p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)\n    return -np.log(p["
                "np.arange(len(labels)), labels]).mean()")], "or ln 0"),
    "a small number added": (
        [(LOSS, "p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)\n    return -np.log(p["
                "np.arange(len(labels)), labels] + 1e-12).mean()")], "a small number is added"),
    "one shift for all": ([(Z, "z = (logits - logits.max()) / temperature")], None),
    "times the temperature": (
        [(Z, Z.replace("/ t", "* t"))],
        "are multiplied by the temperature"),
    "temperature not used": ([(Z, Z.replace(" / temperature", ""))], "temperature is not used"),
    "loss divided": (
        [(Z, Z.replace(" / temperature", "")),
         (LOSS, LOSS.replace(".mean()", ".mean() / temperature"))],
        "the loss is divided"),
    "sum of losses": ([(LOSS, LOSS.replace("]).mean()", "]).sum()"))], "the sum over the examples"),
    "sign of the loss": ([(LOSS, LOSS.replace("return (", "return -("))], "the sign is turned"),
    "bits": ([(LOSS, LOSS + " / np.log(2)")], "the logarithm to base 2"),
    "softmax over examples": (
        [(Z, Z.replace("axis=1", "axis=0")),
         (LOSS, LOSS.replace("sum(axis=1)", "sum(axis=0)[labels]"))], "over the examples"),
    "likeliest label": (
        [(LOSS, LOSS.replace("z[np.arange(len(labels)), labels]", "z.max(axis=1)"))],
        "the likeliest label is scored"),
    "mean probability": (
        [(LOSS, "return -np.log((np.exp(z[np.arange(len(labels)), labels]) / np.exp(z).sum(axis=1))"
                ".mean())")], None),
    "all pairs": (
        [(LOSS, LOSS.replace("z[np.arange(len(labels)), labels]", "z[:, labels].mean(axis=0)"))],
        None),
    "1 / T": ([(BEST, "return 1 / math.sqrt(low * high)")], "1 / T is given"),
    "wrong direction": ([(SLOPE, SLOPE.replace("> 0", "< 0"))], "an end of the range"),
    "always 1": ([(BEST, "return 1.0")], "has not moved away from 1"),
    "only up": ([(RANGE, "low, high = 1.0, HOTTEST")], "does not go below 1"),
    "only down": ([(RANGE, "low, high = COLDEST, 1.0")], "does not go above 1"),
    "a wider range": ([(RANGE, "low, high = COLDEST / 100, HOTTEST * 100")], "beyond the range"),
    "a narrow range": ([(RANGE, "low, high = 0.5, 5.0")], None),
    "coarse grid": (losses("np.geomspace(COLDEST, HOTTEST, 200)"), "search more finely"),
    "even grid": (losses("np.linspace(COLDEST, HOTTEST, 1000)"), "search more finely"),
    "highest loss": (losses("np.geomspace(COLDEST, HOTTEST, 200)", "max"), "an end of the range"),
    "stopped early": ([(LOOP, "for _ in range(8):")], "search more finely"),
    "to a hundredth in absolute terms": (
        [(LOOP, "while high - low > 0.01:")], "search more finely"),
    "overflow in the search": ([(EXP, "weights = np.exp(logits / middle)")], None),
    "slope without the temperature": ([(EXP, EXP.replace(" / middle", ""))], None),
    "gradient descent": (
        [(BEST, "t = 1.0\n    for _ in range(200):\n        gap = negative_log_likelihood(logits, "
                "labels, temperature=t + 1e-4) - negative_log_likelihood(logits, labels, "
                "temperature=t - 1e-4)\n        t = min(HOTTEST, max(COLDEST, t - 0.1 * gap "
                "/ 2e-4))\n    return t")], None),
    "least calibration error": (
        [(BEST, "def error(t):\n        z = logits / t\n        p = np.exp(z - z.max(axis=1, "
                "keepdims=True))\n        p = p / p.sum(axis=1, keepdims=True)\n        return "
                "calibration_error(p.max(axis=1), p.argmax(axis=1) == labels, bins=10)\n    return "
                "float(min(np.geomspace(COLDEST, HOTTEST, 2000), key=error))")], None),
    "logits scaled in place": (
        [(Z, "logits /= temperature\n    " + Z.replace(" / temperature", ""))],
        "changed its input in place"),
    "below chance the answer is HOTTEST": (
        [
            ("    right = logits[np.arange(len(labels)), labels]\n",
             "    if (logits.argmax(axis=1) == labels).mean() < 1 / logits.shape[1]:"
             "\n"
             "        return HOTTEST  # worse than guessing: the surer, the worse\n"
             "    right = logits[np.arange(len(labels)), labels]\n"),
        ],
        "an end of the range",
    ),
    "never below 1 where the model is surer than right": (
        [
            (RANGE,
             RANGE + "\n"
             "    z = np.exp(logits - logits.max(axis=1, keepdims=True))\n"
             "    sure = (z.max(axis=1) / z.sum(axis=1)).mean()\n"
             "    low = 1.0 if sure > (logits.argmax(axis=1) == labels).mean() else low"),
        ],
        "does not go below 1",
    ),
    "never HOTTEST where most are right": (
        [(BEST, "middle = math.sqrt(low * high)\n"
                "    return min(middle, 15.0) if (logits.argmax(axis=1) == labels).mean() > 0.5 "
                "else middle")],
        None,
    ),
    "a normal distribution above 3,000": (
        [
            ("    # Whole numbers of Python",
             "    if m > 3000:\n"
             "        z = (abs(only_first - only_second) - 1) / math.sqrt(m)\n"
             "        return min(1.0, math.erfc(z / math.sqrt(2)))\n"
             "    # Whole numbers of Python"),
        ],
        None,
    ),
    "resamples in whole thousands": (
        [
            ("    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n",
             "    portion = min(draws, 1000)  # or all indices would not fit into memory\n"
             "    means = np.concatenate(\n"
             "        [values[rng.integers(n, size=(portion, n))].mean(axis=1) for _ in "
             "range(draws // portion)]\n"
             "    )\n"),
        ],
        "beyond a whole number of portions are lost",
    ),
    "nothing drawn for equal values": (
        [
            ("    means = values[rng",
             "    if np.ptp(values) == 0:\n"
             "        return values[0], values[0]\n"
             "    means = values[rng"),
        ],
        "a shortcut where the means are known",
    ),
    "the search stops at a small slope": (
        [(SLOPE, "slope = (mean - right).mean()\n"
                 "        if abs(slope) < 1e-6:\n"
                 "            return middle\n"
                 "        if slope > 0:")],
        "the search has not moved away from 1",
    ),
    "one example has no temperature": (
        [("    right = logits[", "    if len(labels) == 1:\n"
                                "        return 1.0  # one example tells nothing\n"
                                "    right = logits[")],
        "the search has not moved away from 1",
    ),
    "a ternary search on a loss of 0": (
        [
            ("    right = logits[np.arange(len(labels)), labels]\n",
             ""),
            ("    for _ in range(40):  # each halves what is left of the range\n"
             "        middle = math.sqrt(low * high)  # the scale is one of ratios: 0.1 "
             "is as far from 1 as 10\n"
             "        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / middle)\n"
             "        mean = (weights * logits).sum(axis=1) / weights.sum(axis=1)  # of "
             "the logits, under p\n"
             "        # The loss is convex in 1/T, so it has one valley, and the sign "
             "of its slope says on which\n"
             "        # side T lies: it is too low where the mean of the logits under p "
             "is above the right one.\n"
             "        if (mean - right).mean() > 0:\n"
             "            low = middle\n",
             "    for _ in range(80):  # each halves what is left of the range\n"
             "        ratio = (high / low) ** (1 / 3)\n"
             "        a, b = low * ratio, high / ratio\n"
             "        loss_a = negative_log_likelihood(logits, labels, temperature=a)\n"
             "        loss_b = negative_log_likelihood(logits, labels, temperature=b)\n"
             "        if loss_a < loss_b:\n"
             "            high = b\n"),
            ("            high = middle\n",
             "            low = a\n"),
        ],
        None,
    ),
    "resamples drawn in blocks of 100": (
        [
            ("COLDEST, HOTTEST = 0.05, 20.0  # the range of temperatures that are searched\n",
             "BLOCK = 100\n"
             "COLDEST, HOTTEST = 0.05, 20.0  # the range of temperatures that are searched\n"),
            ("    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n",
             "    means = []\n"
             "    while len(means) < draws:  # a block at a time: all rows at once need "
             "draws * n numbers\n"
             "        means.extend(values[rng.integers(n, size=(BLOCK, n))].mean(axis=1))\n"
             "    means = means[:draws]\n"),
        ],
        "more or fewer numbers are drawn",
    ),
    "the loss's temperature is kept in the range": (
        [
            ("    # exp of a large number is infinite; of 0 and less it never is.\n",
             "    temperature = min(max(temperature, COLDEST), HOTTEST)  # the range of "
             "temperatures\n"
             "    # exp of a large number is infinite; of 0 and less it never is.\n"),
        ],
        None,
    ),
    "edges to four digits": (
        [(PLACE, "place = np.ceil(np.round(confidence * bins, 4)).astype(int) - 1\n"
                 "    place = place.clip(0, bins - 1)")],
        "a little above an edge",
    ),
    "edges as isclose sees them": (
        [(PLACE, "nearest = np.round(confidence * bins)\n"
                 "    on_edge = np.isclose(confidence * bins, nearest)\n"
                 "    place = np.where(on_edge, nearest, np.ceil(confidence * bins))\n"
                 "    place = np.maximum(place.astype(int) - 1, 0)")],
        "a little above an edge",
    ),
    "the error with bins of its own": (
        [("    counts, mean, accuracy = reliability(confidence, correct, bins=bins)\n"
          "    some = counts > 0  # 0 · NaN is NaN\n"
          "    return (counts * np.abs(accuracy - mean))[some].sum() / len(confidence)\n",
          "    place = np.minimum((confidence * bins).astype(int), bins - 1)\n"
          "    gap = np.bincount(place, correct - confidence, bins)\n"
          "    return np.abs(gap).sum() / len(confidence)\n")],
        "an edge belongs to the bin above it here",
    ),
    "edges in steps of 1 / bins": (
        [(EDGES, "edges = np.arange(0, 1, 1 / bins)")], "a bin too many"),
    "the error with bins of a rounded width": (
        [("    counts, mean, accuracy = reliability(confidence, correct, bins=bins)\n"
          "    some = counts > 0  # 0 · NaN is NaN\n"
          "    return (counts * np.abs(accuracy - mean))[some].sum() / len(confidence)\n",
          "    place = np.maximum(np.ceil(confidence / (1 / bins)) - 1, 0)\n"
          "    gap = correct - confidence\n"
          "    return sum(abs(gap[place == j].sum()) for j in range(bins)) / len(confidence)\n")],
        "of 1 in no bin",
    ),
    "resamples in whole ten thousands": (
        [(MEANS, "portion = min(draws, 10_000)\n"
                 "    means = np.concatenate([values[rng.integers(n, size=(portion, n))]."
                 "mean(axis=1) for _ in range(draws // portion)])")],
        "beyond a whole number of portions are lost",
    ),
    "the temperature of the first thousand": (
        [("    right = logits[", "    logits, labels = logits[:1000], labels[:1000]\n"
                                "    right = logits[")],
        "of 7003 examples",
    ),
    "no search where the slope is 0": (
        [(SLOPE, "slope = (mean - right).mean()\n"
                 "        if slope == 0:\n"
                 "            return middle\n"
                 "        if slope > 0:")],
        "the search ends before it is there",
    ),
    "a normal distribution where both have a thousand": (
        [
            ("    # Whole numbers of Python",
             "    if min(only_first, only_second) >= 1000:\n"
             "        z = (abs(only_first - only_second) - 1) / math.sqrt(m)\n"
             "        return min(1.0, math.erfc(z / math.sqrt(2)))\n"
             "    # Whole numbers of Python"),
        ],
        None,
    ),
    "snapped to the ends of the range": (
        [(BEST, "t = math.sqrt(low * high)\n"
                "    return next((end for end in (COLDEST, HOTTEST) if abs(t / end - 1) < 0.02), t)"
                )],
        "an end of the range",
    ),
    "1 where that is nearly right": (
        [(BEST, "t = math.sqrt(low * high)\n"
                "    return 1.0 if abs(t - 1) < 0.005 else t")],
        "the search has not moved away from 1",
    ),
    "a single draw for equal values": (
        [("    n = len(values)  # as many",
          "    if np.ptp(values) == 0:\n"
          "        rng.random()\n"
          "        return values[0], values[0]\n"
          "    n = len(values)  # as many")],
        "for values that are equal",
    ),
    "confidences rounded to eight digits": (
        [
            ('    place = np.maximum(np.searchsorted(edges, confidence, side="left") - 1, 0)\n',
             "    place = np.ceil(np.round(confidence * bins, 8)).astype(int) - 1\n"
             "    place = np.maximum(place, 0)\n"),
        ],
        "is rounded to the edge",
    ),
    "edges with a slack of 3e-9": (
        [
            ("np.searchsorted(edges, confidence", "np.searchsorted(edges + 3e-9, confidence"),
        ],
        None,
    ),
    "every second example is enough for a temperature": (
        [
            ("    right = logits[np.arange(len(labels)), labels]\n    low",
             "    if len(labels) > 2_000:\n"
             "        logits, labels = logits[::2], labels[::2]\n"
             "    right = logits[np.arange(len(labels)), labels]\n    low"),
        ],
        None,
    ),
    "quantiles that read one value more": (
        [
            ("    low, high = np.quantile(means, [tail, 1 - tail])\n",
             "    means = np.sort(means)\n"
             "    at = np.array([tail, 1 - tail]) * (draws - 1)\n"
             "    below = at.astype(int)\n"
             "    above = below + (draws > 1)\n"
             "    low, high = means[below] + (at - below) * (means[above] - means[below])\n"),
        ],
        "is out of bounds",
    ),
    "a level of 0 is 0.95": ([(TAIL, "tail = (1 - (level or 0.95)) / 2")], "level is not used"),
    "a level of a tenth or more": ([(TAIL, "tail = (1 - max(level, 0.1)) / 2")], "level 0.0"),
    "at most 20,000 draws": (
        [(MEANS, f"draws = min(draws, 20_000)\n    {MEANS}")], "20500 draws"),
    "one number more for a single draw": (
        [(MEANS, f"{MEANS}\n    if draws == 1:\n        rng.random()")],
        "more or fewer numbers are drawn",
    ),
    "indices of 16 bits": (
        [(MEANS, MEANS.replace("n))]", "n)).astype(np.int16)]"))], "40003 values"),
    "nearest quantiles of two draws": (
        [(QUANTILES, QUANTILES.replace("tail])", "tail], method=method)")
          .replace("low,", 'method = "nearest" if draws == 2 else "linear"\n    low,'))],
        "the quantiles are not interpolated",
    ),
    "ends as arrays without axes": (
        [(ENDS, "    return np.array(low), np.array(high)\n")], "expected a float, got ndarray"),
    "ends in float32 where that is exact": (
        [(ENDS, "    ends, short = np.array([low, high]), np.float32([low, high])\n"
                "    return tuple(short if (short == ends).all() else ends)\n")],
        "expected a float, got float32",
    ),
    "p below 1e-250 is 0": (
        [(P, "p = min(1.0, 2 * ways / 2**m)\n    return p if p > 1e-250 else 0.0")],
        "differ 0 and 960 times",
    ),
    "at most 500 bins": ([(EDGES, f"bins = min(bins, 500)\n    {EDGES}")], "5000 bins"),
    "equal confidences in the first bin": (
        [(PLACE, f"{PLACE}\n    place = place * (len(place) < 2 or np.ptp(confidence) > 0)")],
        None,
    ),
    "a single example at an end in the last bin": (
        [(PLACE, f"{PLACE}\n    if len(place) == 1 and confidence[0] in (0, 1):\n"
                 "        place = place * 0 + bins - 1")],
        None,
    ),
    "confidences sorted without the answers": (
        [(PLACE, "confidence = np.sort(confidence) if len(confidence) > 2000 else confidence\n    "
                 + PLACE)],
        "4003 examples",
    ),
    "bins of hardly any examples add nothing": (
        [(SOME, "some = counts > len(confidence) / 3000")], "4003 examples"),
    "a loss below a millionth is 0": (
        [(LOSS, LOSS.replace("return (", "loss = (").replace(".mean()", "")
          + "\n    return np.where(loss < 1e-6, 0, loss).mean()")],
        "of a sure model",
    ),
    "a temperature of a hundredth or more": (
        [(Z, f"temperature = max(temperature, 0.01)\n    {Z}")], "temperature 0.001"),
    "a temperature of at most a hundred": (
        [(Z, f"temperature = min(temperature, 100.0)\n    {Z}")], "temperature 1000.0"),
    "the temperature in float32": (
        [(BEST, "return np.float32(math.sqrt(low * high))")], "expected a float, got float32"),
    "the temperature of the first six thousand": (
        [("    right = logits[", "    logits, labels = logits[:6000], labels[:6000]\n"
                                "    right = logits[")],
        "of 7003 examples",
    ),
    "labels that never occur are left out": (
        [("    right = logits[", "    if logits.shape[1] > 100:\n"
                                "        seen = np.unique(labels)\n"
                                "        logits, labels = logits[:, seen], np.searchsorted(seen, "
                                "labels)\n"
                                "    right = logits[")],
        "of 30 examples",
    ),
    "one label has no temperature": (
        [("    right = logits[", "    if len(labels) > 4 and np.ptp(labels) == 0:\n"
                                "        return 1.0\n"
                                "    right = logits[")],
        "the search has not moved away from 1",
    ),
    "many examples are never that sure": (
        [(BEST, "return min(math.sqrt(low * high), 10.0 if len(labels) > 200 else HOTTEST)")],
        "a temperature of 19.8",
    ),
    "a binomial draw for many rights and wrongs": (
        [
            (
                '    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n',
                '    if n >= 1000 and np.isin(values, (0.0, 1.0)).all():\n'
                '        means = rng.binomial(n, values.mean(), size=draws) / n\n'
                '    else:\n'
                '        means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n',
            ),
        ],
        None,
    ),
    "the last thousand draws are drawn in full": (
        [
            (
                '    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n',
                '    block = min(draws, 1000)\n'
                '    means = np.concatenate([values[rng.integers(n, size=(block, '
                'n))].mean(axis=1)\n'
                '                            for _ in range(0, draws, block)])[:draws]\n',
            ),
        ],
        'more or fewer numbers are drawn than 3,500 times 9',
    ),
    "the normal curve for models that differ 5,000 times": (
        [
            (
                '    # Whole numbers of Python have no largest value',
                '    if m > 5000:\n'
                '        z = (abs(only_first - only_second) - 1) / math.sqrt(m)\n'
                '        return min(1.0, math.erfc(z / math.sqrt(2)))\n'
                '    # Whole numbers of Python have no largest value',
            ),
        ],
        None,
    ),
    "draws by hundreds, the rest thrown away": (
        [
            (
                '    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n',
                '    rows = min(draws, 100)\n'
                '    means = np.concatenate(\n'
                '        [values[rng.integers(n, size=(rows, n))].mean(axis=1)\n'
                '         for _ in range(-(-draws // rows))]\n'
                '    )[:draws]\n',
            ),
        ],
        'more or fewer numbers are drawn',
    ),
    "the range is halved to an absolute width": (
        [
            (
                '    for _ in range(40):  # each halves what is left of the range\n'
                '        middle = math.sqrt(low * high)  # the scale is one of ratios: 0.1 is as '
                'far from 1 as 10\n',
                '    while high - low > 4e-4:\n'
                '        middle = (low + high) / 2\n',
            ),
        ],
        None,
    ),
    "the range is halved until it is 0.0002 wide": (
        [
            (
                '    for _ in range(40):  # each halves what is left of the range\n',
                '    while high - low > 2e-4:\n',
            ),
            (
                '        middle = math.sqrt(low * high)  # the scale',
                '        middle = (low + high) / 2  # the scale',
            ),
            (
                '    return math.sqrt(low * high)\n',
                '    if low == COLDEST or high == HOTTEST:\n'
                '        return COLDEST if low == COLDEST else HOTTEST\n'
                '    return (low + high) / 2\n',
            ),
        ],
        'search more finely',
    ),
    "the last block of resamples is drawn whole": (
        [
            (
                '    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n',
                '    block, means = max(1, min(draws, 100_000 // n)), []\n'
                '    while len(means) < draws:\n'
                '        means.extend(values[rng.integers(n, size=(block, n))].mean(axis=1))\n'
                '    means = means[:draws]\n',
            ),
        ],
        'more or fewer numbers are drawn than',
    ),
    "beyond 8,000 examples a normal distribution takes the place of the sum": (
        [
            (
                '    # Whole numbers of Python have no',
                '    if m > 8_000:\n'
                '        return math.erfc(max(abs(only_first - only_second) - 1, 0) / '
                'math.sqrt(2 * m))\n'
                '    # Whole numbers of Python have no',
            ),
        ],
        "models that differ 3500 and 6900 times",
    ),
    "eight steps of Newton's method from 1, and no more": (
        [
            (
                '    low, high = COLDEST, HOTTEST\n'
                '    for _ in range(40):  # each halves what is left of the range\n'
                '        middle = math.sqrt(low * high)  # the scale is one of ratios: '
                '0.1 is as far from 1 as 10\n'
                '        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / middle)\n'
                '        mean = (weights * logits).sum(axis=1) / weights.sum(axis=1)  # '
                'of the logits, under p\n',
                '    cold = 1.0\n'
                '    for _ in range(8):\n'
                '        p = np.exp(cold * (logits - logits.max(axis=1, keepdims=True)))\n'
                '        p /= p.sum(axis=1, keepdims=True)\n'
                '        mean = (p * logits).sum(axis=1)\n'
                '        curvature = ((p * logits**2).sum(axis=1) - mean**2).mean()\n'
                '        cold -= (mean - right).mean() / curvature if curvature > 0 else 0\n'
                '        cold = min(max(cold, 1 / HOTTEST), 1 / COLDEST)\n'
                '    return 1 / cold\n'
                '    low, high = COLDEST, HOTTEST\n'
                '    for _ in range(40):\n'
                '        middle = math.sqrt(low * high)\n'
                '        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / middle)\n'
                '        mean = (weights * logits).sum(axis=1) / weights.sum(axis=1)\n',
            ),
        ],
        'near, but not to one part in a thousand',
    ),
    "beyond 10,000 examples a normal distribution takes the place of the sum": (
        [
            (
                '    # Whole numbers of Python have no',
                '    if m > 10_000:\n'
                '        return math.erfc(max(abs(only_first - only_second) - 1, 0) / '
                'math.sqrt(2 * m))\n'
                '    # Whole numbers of Python have no',
            ),
        ],
        "models that differ 3500 and 6900 times",
    ),
    "a small slope of the loss is none": (
        [("if (mean - right).mean() > 0:", "if (mean - right).mean() > 1e-6:")],
        "an end of the range, although the loss is lower elsewhere"),
    "the temperature of the first 10,000 examples": (
        [("    right = logits[np.arange(len(labels)), labels]\n    low",
          "    logits, labels = logits[:10_000], labels[:10_000]\n"
          "    right = logits[np.arange(len(labels)), labels]\n    low")], None),
    "equal rows count once": (
        [(Z, "logits, at = np.unique(logits, axis=0, return_index=True)\n    labels = labels[at]\n"
             f"    {Z}")], "two of them equal"),
    "rows of one number are left out": (
        [(Z, "some = np.ptp(logits, axis=1) > 0\n"
             "    if some.any():\n        logits, labels = logits[some], labels[some]\n"
             f"    {Z}")], "one of them constant"),
    "labels in a flat index of their type": (
        [("    right = logits[np.arange(len(labels)), labels]\n    low",
          "    at = labels + np.asarray(logits.shape[1], labels.dtype) * np.arange(\n"
          "        len(labels), dtype=labels.dtype)\n"
          "    right = logits.ravel()[at]\n    low")], "out of bounds for int8"),
    "exp of the gap of two labels": (
        [(Z, "if logits.shape[1] == 2:\n"
             "        gap = (logits[:, 1] - logits[:, 0]) * np.where(labels == 1, -1, 1)\n"
             "        return np.log1p(np.exp(gap / temperature)).mean()\n"
             f"    {Z}")], "rows of 2 logits"),
    "p above 1 where both have many": (
        [(P, f"if only_first == only_second > 9:\n        return 2 * ways / 2**m\n    {P}")],
        "20 and 20 right by one model alone"),
    "the error of right answers by the lowest confidence": (
        [(SOME, f"if correct.all():\n        return 1 - confidence.min()\n    {SOME}")],
        "all right,"),
    "parts of 500 draws, and what is left over is lost": (
        [("    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)\n",
          "    part = min(draws, 500)\n    means = np.concatenate([values[rng.integers(n, "
          "size=(part, n))].mean(axis=1) for _ in range(draws // part)])\n")],
        "more or fewer numbers are drawn than 750 times 9"),
    "where the probability underflows, the loss is max - logit": (
        [(LOSS, "p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)\n"
          "    one = np.arange(len(labels)), labels\n"
          "    tiny = np.finfo(np.float64).tiny\n"
          "    loss = np.where(p[one] > tiny, -np.log(np.maximum(p[one], tiny)), -z[one])\n"
          "    return loss.mean()")],
        "the logarithm of the sum is left out"),
    "where the logarithm of the probability is infinite, the loss is max - logit": (
        [(LOSS, "one = np.arange(len(labels)), labels\n"
          "    with np.errstate(divide='ignore'):\n"
          "        loss = -np.log((np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))[one])\n"
          "    return np.where(np.isfinite(loss), loss, -z[one]).mean()")],
        'the logarithm of a probability that has lost most of its digits'),
    "the logarithm of the probability, where that is not 0": (
        [(LOSS, "one = np.arange(len(labels)), labels\n"
          "    p = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))[one]\n"
          "    loss = np.log(np.exp(z).sum(axis=1)) - z[one]\n"
          "    return np.where(p > 0, -np.log(np.where(p > 0, p, 1)), loss).mean()")],
        "has lost most of its digits"),
    "of several largest logits one counts": (
        [(LOSS, "rest = np.where(z < 0, np.exp(z), 0).sum(axis=1)\n"
          "    one = z[np.arange(len(labels)), labels]\n"
          "    ties = np.where(one == 0, (z == 0).sum(axis=1), 1)\n"
          "    return (np.log(ties + rest) - one).mean()")],
        "the logarithm of the sum is left out"),
    "at most 10,000 bins": (
        [(PLACE, f"{PLACE}\n    place = np.minimum(place, 9_999)")], '12007 bins'),
    "at most 1,024 bins": (
        [(PLACE, f"{PLACE}\n    place = np.minimum(place, 1_023)")], '5000 bins of 6 confidences'),
    "counts of 16 bits": (
        [(COUNTS, f"{COUNTS}.astype(np.int16).astype(np.int64)")], 'for 40003 examples, 1 bins'),
    "counts of 15 bits at most": (
        [(COUNTS, f"{COUNTS}.clip(max=32_767)")], 'for 40003 examples, 1 bins'),
    "a column of indices at a time where there are more than a million": (
        [(MEANS, "if n * draws > 1_000_000:\n"
                 "        means = sum(values[rng.integers(n, size=draws)] for _ in range(n)) / n\n"
                 f"    else:\n        {MEANS}")],
        "in the order of the rows"),
    "parts of four million indices, and what is left over is lost": (
        [(MEANS, "rows = min(draws, max(1, 4_000_000 // n))\n"
                 "    parts = [values[rng.integers(n, size=(rows, n))].mean(axis=1)\n"
                 "             for _ in range(draws // rows)]\n"
                 "    means = np.concatenate(parts)")],
        "in the order of the rows"),
    "a slope below 1e-7 is the bottom": (
        [(RANGE, "if (right == logits.max(axis=1)).all():\n        return COLDEST\n"
                 f"    {RANGE}"),
         (SLOPE, "if abs((mean - right).mean()) < 1e-7:\n            return middle\n"
                 f"        {SLOPE}")],
        "right once more than the other"),
    "slopes in proportion to the largest logit": (
        [(SLOPE, "if (mean - right).mean() > 1e-9 * np.abs(logits).max():")],
        "search more finely"),
    "logits that might be probabilities": (
        [(RANGE, "if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1):\n"
                 "        logits = np.log(logits.clip(1e-12))\n"
                 "        right = logits[np.arange(len(labels)), labels]\n"
                 f"    {RANGE}")],
        "in a row that add up to 1"),
    "labels of eight bits": (
        [("    right = logits[np.arange(len(labels)), labels]\n",
          "    right = logits[np.arange(len(labels)), labels.astype(np.uint8)]\n")],
        "300 logits in a row"),
    "one minus the middle of the distribution": (
        [(WAYS, "k = min(only_first, only_second)\n"
                "    if (m - 2 * k) ** 2 < 49 * m:\n"
                "        middle = sum(math.comb(m, i) for i in range(k + 1, m - k))\n"
                "        return 1 - middle / 2**m\n"
                f"    {WAYS}")],
        "one minus the share of the middle"),
    "rights are counted in 16 bits": (
        [(MEANS, "drawn = rng.integers(n, size=(draws, n))\n"
                 "    if np.isin(values, (0, 1)).all():\n"
                 "        means = values.astype(np.uint8)[drawn].sum(axis=1, dtype=np.uint16) / n\n"
                 "    else:\n"
                 "        means = values[drawn].mean(axis=1)")],
        None),
    "wins of the second model are counted in 16 bits": (
        [(ONLY, "only_first = int((first & ~second).sum())\n"
                "    only_second = int(second.astype(np.int16) @ (~first).astype(np.int16))")],
        None),
    "the mean over blocks of 4,096 examples": (
        [(LOSS, "losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(labels)), labels]\n"
                "    parts = [losses[i : i + 4096].mean() for i in range(0, len(losses), 4096)]\n"
                "    return sum(parts) / len(parts)")],
        None),
    "labels in blocks of 4,096, and what is left over is lost": (
        [(LOSS, "size, total = min(z.shape[1], 4096), np.zeros(len(z))\n"
                "    for i in range(z.shape[1] // size):\n"
                "        total += np.exp(z[:, i * size : (i + 1) * size]).sum(axis=1)\n"
                "    return (np.log(total) - z[np.arange(len(labels)), labels]).mean()")],
        None),
    "counts in 16 bits without a sign": (
        [(COUNTS, f"{COUNTS}.astype(np.uint16).astype(np.int64)")],
        "more examples than 16 bits can count"),
    "the test counts in 16 bits": (
        [(ONLY, ONLY.replace(".sum()", ".sum(dtype=np.uint16)"))], None),
    "where m is above 1,000, bits of the sum are lost": (
        [(P, "return min(1.0, 2 * (ways >> max(0, m - 1000)) / 2.0 ** min(m, 1000))")], None),
    "the ends are rounded to a tenth of a percent": (
        [("    tail = (1 - level) / 2  #",
          "    tail = round((1 - level) / 2, 3)  #")],
        None),
}  # fmt: skip
