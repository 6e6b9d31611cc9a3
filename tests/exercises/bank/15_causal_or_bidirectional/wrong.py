"""Wrong answers to 15_causal_or_bidirectional, as edits of the solution, and their names."""

KEYS = "visible = attention_mask.bool()[:, None, :].expand(batch, seq, seq)"
TRIANGLE = "triangle = torch.ones(seq, seq, dtype=torch.bool, device=attention_mask.device).tril()"
BOTH = "visible = visible & triangle"
RETURN = "    return visible\n"
ROOT = "/ math.sqrt(query.shape[-1])"
SOFTMAX = "shares = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)"
ZERO = "shares = shares.masked_fill(~mask, 0.0)"
CONTEXT = "return shares @ value, shares"
LINE = '["".join("X" if may else "O" for may in row) for row in visible.tolist()]'
STEP = "step = visible | torch.eye(seq, dtype=torch.bool, device=visible.device)"
PRODUCT = "found = (step.float() @ found.float()) > 0"

WRONG = {
    "queries hidden, not keys": ([(KEYS, KEYS.replace("[:, None, :]", "[:, :, None]"))],
                                 "laid over the queries"),
    "queries hidden too": (
        [(KEYS, KEYS + " & attention_mask.bool()[:, :, None]")], "queries that are padding"),
    "True is hidden": ([(RETURN, "    return ~visible\n")], "True and False are exchanged"),
    "padding in sight": (
        [(KEYS, "visible = torch.ones(batch, seq, seq, dtype=torch.bool)")],
        "attention_mask is not used"),
    "causal padding in sight": ([(BOTH, "visible = triangle.expand(batch, seq, seq)")],
                                "attention_mask is not used"),
    "the first example's mask": (
        [(KEYS, "visible = attention_mask.bool()[:1, None, :].expand(batch, seq, seq)")],
        "the mask of the first example"),
    "triu": ([(TRIANGLE, TRIANGLE.replace("tril", "triu"))], "upside down"),
    "no diagonal": ([(TRIANGLE, TRIANGLE.replace("tril()", "tril(-1)"))],
                    "the diagonal is missing"),
    "one too far": ([(TRIANGLE, TRIANGLE.replace("tril()", "tril(1)"))], "one token too far"),
    "or for and": ([(BOTH, BOTH.replace("&", "|"))], "one of the two conditions"),
    "always causal": ([("if causal:", "if True:")], "although causal is False"),
    "causal by default": ([("causal: bool = False", "causal: bool = True")],
                          "although causal is False"),
    "never causal": ([("if causal:", "if False:")], "causal is not used"),
    "left for broadcasting": ([(KEYS, "visible = attention_mask.bool()[:, None, :]")],
                              "right for broadcasting"),
    "scores to be added": (
        [(RETURN, "    return (1.0 - visible.float()) * -10000.0\n")], "truth values"),
    "X and O exchanged": ([(LINE, LINE.replace('"X" if may else "O"', '"O" if may else "X"'))],
                          "X and O are exchanged"),
    "picture turned": ([(LINE, LINE.replace("visible", "visible.T"))],
                       "rows and columns are exchanged: a string is a query"),
    "one string": ([(LINE, r'"\n".join(' + LINE + ")")], "one string for all"),
    "no root": ([(ROOT, "")], "not divided by √head_dim"),
    "head_dim without root": ([(ROOT, "/ query.shape[-1]")], "by head_dim, not by its root"),
    "root of hidden": ([(ROOT, "/ math.sqrt(query.shape[-1] * query.shape[1])")],
                       "the root of the whole hidden size"),
    "mask not used": ([(SOFTMAX, "shares = scores.softmax(dim=-1)"), (ZERO, "pass")],
                      "the mask is not used"),
    "mask after softmax": ([(SOFTMAX, "shares = scores.softmax(dim=-1)")], "after the softmax"),
    "mask turned": ([("mask = visible[:, None]", "mask = visible.transpose(1, 2)[:, None]")],
                    "visible was turned"),
    "no axis for heads": (
        [("mask = visible[:, None]", "mask = visible if visible.shape[0] == query.shape[1] "
          "else visible[:, None]")], "laid on every head b"),
    "softmax over queries": ([(SOFTMAX, SOFTMAX.replace("dim=-1", "dim=-2"))], "over the queries"),
    "hidden scores 0": ([(SOFTMAX, SOFTMAX.replace("-math.inf", "0.0")), (ZERO, "pass")],
                        "exp(0) is 1"),
    "NaN rows": ([(ZERO, "pass")], "is NaN"),
    "NaN on the way back": (
        [(SOFTMAX, "added = torch.zeros_like(scores).masked_fill(~mask, -math.inf)\n"
                   "    shares = (scores + added).softmax(dim=-1)")], "NaN comes back"),
    "-10,000": ([(SOFTMAX, SOFTMAX.replace("-math.inf", "-1e4")), (ZERO, "pass")],
                "-10,000 or the like"),
    "smallest number": (
        [(SOFTMAX, SOFTMAX.replace("-math.inf", "torch.finfo(scores.dtype).min")), (ZERO, "pass")],
        "a large negative number in place of -inf"),
    "exp by hand": (
        [(SOFTMAX, "shares = scores.exp() * mask\n"
                   "    shares = shares / shares.sum(-1, keepdim=True)")], "exp overflows"),
    "shares detached": ([(CONTEXT, "return shares.detach() @ value, shares.detach()")],
                        "the way back is cut"),
    "context of detached shares": ([(CONTEXT, "return shares.detach() @ value, shares")],
                                   "part of the way back is cut"),
    "context alone": ([(CONTEXT, "return shares @ value")], "a tuple of 2 values"),
    "always float32": ([(CONTEXT, "return (shares @ value).float(), shares.float()")],
                       "the wrong type"),
    "scores in place": (
        [("scores = query @", "query /= math.sqrt(query.shape[-1])\n    scores = query @"),
         (ROOT, "")], "changed its input in place"),
    "no residual": ([(STEP, "step = visible")], "the residual connection is left out"),
    "layers not used": ([("for _ in range(layers):", "for _ in range(1):")],
                        "the number of layers is not used"),
    "a layer too many": ([("range(layers)", "range(layers + 1)")], "a layer too many"),
    "a layer too few": ([("range(layers)", "range(layers - 1)")], "a layer too few"),
    "reached turned": ([(PRODUCT, "found = (step.float().transpose(1, 2) @ found.float()) > 0")],
                       "rows and columns are exchanged: the row is reached"),
    "paths overflow": (
        [("for _ in range(layers):", "found, step = found.long(), step.long()\n"
          "    for _ in range(layers):"),
         (PRODUCT, "found = step @ found"), ("    return found\n", "    return found > 0\n")],
        "outgrown their type"),
    "step in place": (
        [(STEP, "step = visible\n    step |= torch.eye(seq, dtype=torch.bool)")],
        "changed its input in place"),
}  # fmt: skip
