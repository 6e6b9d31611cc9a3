"""Mutants that nobody can tell from the solution through its functions."""

ONLY = "int((first & ~second).sum()), int((second & ~first).sum())"
TURNED = "int((second & ~first).sum()), int((first & ~second).sum())"
SEARCH = 'np.searchsorted(edges, confidence, side="left")'
PLACE = f"reliability: place = np.maximum({SEARCH} - 1, 0) | "
SLOPE = "best_temperature: if (mean - right).mean() > 0: | "
LOOP = "for _ in range(40): # each halves what is left of the range"
BODY = (
    ": middle = math.sqrt(low * high) # the scale is one of ratios: 0.1 is as far from 1 "
    "as 10 weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / middle) mean "
    "= (weights * logits).sum(axis=1) / weights.sum(axis=1) # of the logits, under p # "
    "The loss is convex in 1/T, so it has one valley, and the sign of its slope says on "
    "which # side T lies: it is too low where the mean of the logits under p is above "
    "the right one. if (mean - right).mean() > 0: low = middle else: high = middle"
)
ENOUGH = "long before the last halvings the range is narrower than a thousandth"

EQUIVALENT = {
    f"sign_test: only_first, only_second = {ONLY} | {ONLY} => ({TURNED})": (
        "the test is two-sided, so it does not matter which model is the first"
    ),
    "sign_test: ways = sum(math.comb(m, i) for i in range(min(only_first, only_second) + 1)) | "
    "min(only_first, only_second) => min(only_second, only_first)": (
        "the smaller of two numbers is the same in either order"
    ),
    "sign_test: return min(1.0, 2 * ways / 2**m) | min(1.0, 2 * ways / 2**m) => "
    "min(2 * ways / 2 ** m, 1.0)": "the smaller of two numbers is the same in either order",
    f"{PLACE}np.maximum({SEARCH} - 1, 0) => "
    "np.maximum(0, np.searchsorted(edges, confidence, side='left') - 1)": (
        "the larger of two numbers is the same in either order"
    ),
    f"{PLACE}{SEARCH} => np.searchsorted(edges, confidence)": "left is the default of searchsorted",
    f"{SLOPE}(mean - right).mean => (mean - right).sum": "a sum has the sign of its mean",
    f"best_temperature: {LOOP} | {LOOP} => for _ in list(range(40))[1:]{BODY}": ENOUGH,
    f"best_temperature: {LOOP} | {LOOP} => for _ in list(range(40))[:-1]{BODY}": ENOUGH,
    f"best_temperature: {LOOP} | 40 => 41": ENOUGH,
    f"best_temperature: {LOOP} | 40 => 39": ENOUGH,
}
