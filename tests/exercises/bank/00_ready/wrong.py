"""Wrong answers to 00_ready, as edits of the solution, and the words that name each."""

MEAN = "x.mean(axis=1, keepdims=True)"
DIFFERENCES = "return a[:, None] - b[None, :]"
PICKED = "scores[np.arange(len(labels)), labels]"
LOSS = "float(-np.log(exponentials[label] / exponentials.sum()))"
SCALED = "return x * factors[:, None]"

WRONG = {
    "means of the columns": ([(MEAN, "x.mean(axis=0)")], "the mean of each column"),
    "mean of everything": ([(MEAN, "x.mean()")], "the mean of the whole array"),
    "no keepdims": ([(MEAN, "x.mean(axis=1)")], "could not be broadcast together"),
    "b minus a": ([(DIFFERENCES, "return b[None, :] - a[:, None]")], "b - a in place of a - b"),
    "differences transposed": (
        [(DIFFERENCES, "return a[None, :] - b[:, None]")], "rows and columns are exchanged"),
    "differences of equal places": ([(DIFFERENCES, "return a - b")], None),
    "maxima of the rows": ([("x.max(axis=0)", "x.max(axis=1)")], "the largest numbers of the rows"),
    "columns by ids": ([("table[ids]", "table[:, ids]")], "the ids choose columns"),
    "ids made flat": ([("table[ids]", "table[ids.ravel()]")], "the shape of ids is lost"),
    "every label of every row": ([(PICKED, "scores[:, labels]")], "applied to every row"),
    "rows by labels": (
        [(PICKED, "scores[labels % len(scores)]")], "the labels name columns"),
    "no minus": ([(LOSS, LOSS.replace("-np", "np"))], "the minus is missing"),
    "the probability": (
        [(LOSS, "float(exponentials[label] / exponentials.sum())")], "this is the probability"),
    "logarithm to base 2": ([(LOSS, LOSS.replace("np.log", "np.log2"))], "not np.log2"),
    "no softmax": ([(LOSS, "float(-scores[label])")], "the softmax is missing"),
    "dweights transposed": ([("np.outer(dy, x)", "np.outer(x, dy)")], "it is transposed"),
    "no half": ([("dy = weights @ x - target", "dy = 2 * (weights @ x - target)")],
                "twice too large"),
    "no target": ([("dy = weights @ x - target", "dy = weights @ x")], "the target is missing"),
    "dx not transposed": ([("weights.T @ dy", "weights @ dy")], "the sum runs over the rows"),
    "one path alone": ([("weights.T @ dy", "np.diag(weights) * dy")], "only one of the two paths"),
    "columns scaled": ([(SCALED, "return x * factors")], "could not be broadcast together"),
    "columns scaled where they fit": (
        [(SCALED, "return x * (factors if len(factors) == x.shape[1] else factors[:, None])")],
        "the columns are scaled"),
}  # fmt: skip
