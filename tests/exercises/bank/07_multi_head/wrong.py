"""Wrong answers to 07_multi_head, as edits of the solution, and the words that name each."""

SPLIT = "return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, 1, 3)"
MERGE = "return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)"
QUERY = "query, key, value = (split_heads(project(x, weights, name), heads) for name in ROLES)"
CONTEXT = f"{QUERY}\n    context, _ = attend(query, key, value, attention_mask)"
SHARES = f"{QUERY}\n    context, shares = attend(query, key, value, attention_mask)"
OUT = 'return project(merge_heads(context), weights, "output")'
PROJECT = 'return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]'
DMERGED = 'dmerged = project_back(dout, merge_heads(context), weights, "output", dweights)'
PARTS = "parts = attend_backward(split_heads(dmerged, heads), query, key, value, shares)"
SUM = "dx = sum("
RETURN = "return dx, dweights"
DWEIGHT = 'dweights[f"{name}.weight"] = drows.T @ rows'
DBIAS = 'dweights[f"{name}.bias"] = drows.sum(axis=0)'
DX = 'return dout @ weights[f"{name}.weight"]'
ONE_PATH = "dx = list("
CLOSE = "for name, part in zip(ROLES, parts, strict=True)\n    )"

WRONG = {
    "split by one reshape": (
        [(SPLIT, "return x.reshape(batch, heads, seq, hidden // heads)")],
        "one reshape gives head 0"),
    "split and merge by one reshape": (
        [(SPLIT, "return x.reshape(batch, heads, seq, hidden // heads)"),
         (MERGE, "return x.reshape(batch, seq, heads * head_dim)")],
        "split and merged by one reshape"),
    "merge by one reshape": (
        [(MERGE, "return x.reshape(batch, seq, heads * head_dim)")],
        "one reshape mixes tokens"),
    "dealt out in turn": (
        [(SPLIT, "return x.reshape(batch, seq, hidden // heads, heads).transpose(0, 3, 1, 2)"),
         (MERGE, "return x.transpose(0, 2, 3, 1).reshape(batch, seq, heads * head_dim)")],
        "dealt out in turn"),
    "merged in turn": (
        [(MERGE, "return x.transpose(0, 2, 3, 1).reshape(batch, seq, heads * head_dim)")],
        "the numbers of the heads alternate"),
    "axes not exchanged": (
        [(SPLIT, "return x.reshape(batch, seq, heads, hidden // heads)")], "are not exchanged"),
    "three heads written in": (
        [(SPLIT, SPLIT.replace("heads, hidden // heads", "3, hidden // 3"))],
        "heads is ignored: its number"),
    "mask not handed on": ([(CONTEXT, CONTEXT.replace("attention_mask", "None"))],
                           "the mask is not handed on"),
    "a single head": (
        [(CONTEXT, CONTEXT.replace("name), heads", "name), 1"))], "heads is ignored"),
    "x W": ([(PROJECT, PROJECT.replace(".T", ""))], "x Wᵀ + b, not x W + b"),
    "no biases": (
        [(PROJECT, PROJECT.replace(' + weights[f"{name}.bias"]', ""))],
        "the biases are not added"),
    "no biases but the output's": (
        [(PROJECT, PROJECT.replace('"]\n', "") + ' * (name == "output")')],
        "the biases of query, key and value"),
    "no bias of the output": (
        [(PROJECT, PROJECT + ' * (name != "output")')], "the output's bias is not added"),
    "no bias of the value": (
        [(PROJECT, PROJECT + ' * (name != "value")')], "the value's bias is not added"),
    "no output projection": ([(OUT, "return merge_heads(context)")],
                             "the output projection is missing"),
    "query and key exchanged": (
        [(CONTEXT, CONTEXT.replace("query, key, value =", "key, query, value ="))],
        "query and key are exchanged"),
    "residual added": ([(OUT, f"{OUT} + x")], "x is added to the result"),
    "weights in place": (
        [(PROJECT, 'x = x @ weights[f"{name}.weight"].T\n'
                   '    weights[f"{name}.bias"] += 0.5\n    return x + weights[f"{name}.bias"]')],
        "changed its input in place"),
    "mask forgotten on the way back": (
        [(SHARES, SHARES.replace("attention_mask", "None"))], "forgotten on the way back"),
    "heads forgotten on the way back": (
        [(SHARES, f"heads = 1\n    {SHARES}")], "heads is ignored on the way back"),
    "path of the query alone": (
        [(SUM, ONE_PATH), (CLOSE, f"{CLOSE}[0]")], "only the path through the query"),
    "path of the value alone": (
        [(SUM, ONE_PATH), (CLOSE, f"{CLOSE}[2]")], "only the path through the value"),
    "no path of the key": (
        [(SUM, ONE_PATH), (CLOSE, f"{CLOSE}\n    dx = dx[0] + dx[2]")],
        "the path through the key is missing"),
    "mean of three": ([(RETURN, "return dx / 3, dweights")], "the mean of the three paths"),
    "no way back through the output": (
        [(PARTS, f"dmerged = dout\n    {PARTS}")],
        "the way back through the output projection is missing"),
    "output transposed on the way back": (
        [(PARTS, f'dmerged = dout @ weights["output.weight"].T\n    {PARTS}')],
        "the way back through the output projection is transposed"),
    "all transposed on the way back": (
        [(DX, f"{DX}.T")], "the weights are transposed on the way back"),
    "a reshape for the split on the way back": (
        [(PARTS, PARTS.replace("split_heads(dmerged, heads)",
                               "dmerged.reshape(context.shape)"))],
        "split by split_heads, not by a reshape"),
    "dW transposed": ([(DWEIGHT, DWEIGHT.replace("drows.T @ rows", "rows.T @ drows"))],
                      "transposed: W is (out, in)"),
    "db a mean": ([(DBIAS, DBIAS.replace("sum", "mean"))], "a sum over all tokens, not their mean"),
    "dW a mean": (
        [(DWEIGHT, f"{DWEIGHT} / len(rows)")], "a sum over all tokens, not their mean"),
    "both a mean over sentences": (
        [(DWEIGHT, f"{DWEIGHT} / len(x)"), (DBIAS, f"{DBIAS} / len(x)")],
        "not a mean over the sentences"),
    "db summed over the batch alone": (
        [(DBIAS, DBIAS.replace("drows", "dout"))], "sum over batch and tokens"),
    "db forgotten": ([(DBIAS, "pass")], "the keys differ"),
    "db zero": ([(DBIAS, 'dweights[f"{name}.bias"] = np.zeros_like(drows[0])')],
                "no gradient at all"),
    "output's dW from x": (
        [(DMERGED, DMERGED.replace("merge_heads(context)", "x"))],
        "projects the merged heads, not x"),
    "output's dW from heads not merged": (
        [(DMERGED, DMERGED.replace("merge_heads(context)", "context.reshape(x.shape)"))],
        "the heads are to be merged"),
    "dquery and dkey exchanged": (
        [(PARTS, f"{PARTS}\n    parts = parts[1], parts[0], parts[2]")],
        "the gradients of query and key are exchanged"),
    "dx alone": ([(RETURN, "return dx")], "expected a tuple of 2"),
}  # fmt: skip
