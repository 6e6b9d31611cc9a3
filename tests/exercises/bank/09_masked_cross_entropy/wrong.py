"""Wrong answers to 09_masked_cross_entropy, as edits of the solution, and the words of each."""

RETURN = "return float((surprise * weights).sum() / total) if total > 0 else 0.0"
MAX = "shifted = logits - logits.max(axis=-1, keepdims=True)"
SURPRISE = "surprise = np.log(np.exp(shifted).sum(axis=-1)) - right"
BACK = "return (dlogits * scale[..., None]).astype(logits.dtype)"
SCALE = "scale = weights * (dloss / total) if total > 0 else np.zeros_like(weights)"
BACK_MAX = "shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))"
PUT = "np.put_along_axis(dlogits, place, share - 1, axis=-1)"

WRONG = {
    "mean over all slots": (
        [(RETURN, "return float(surprise.mean()) if total > 0 else 0.0")],
        "the weights are not used"),
    "mean over all slots, times the weights, over their sum": (
        [(RETURN, "return float((surprise.mean() * weights).sum() / (total + 1e-300))")],
        "this is the mean over all slots"),
    "mean over all slots, times the weights, averaged": (
        [(RETURN, "return float((surprise.mean() * weights).mean())")],
        "it has already mixed in the slots"),
    "divided by slots": (
        [(RETURN, "return float((surprise * weights).mean())")],
        "divided by the number of slots, not by"),
    "a sum": (
        [(RETURN, "return float((surprise * weights).sum())")],
        "the sum is not divided by the sum of the weights"),
    "divided by the number that count": (
        [("    total = weights.sum()\n    return float", "    total = (weights > 0).sum()\n"
          "    return float")],
        "not by the sum of their weights"),
    "weights as yes or no": (
        [(SURPRISE, SURPRISE + "\n    weights = (weights > 0).astype(logits.dtype)")],
        "a half counts half"),
    "ignore_index=0": (
        [(SURPRISE, SURPRISE + "\n    weights = weights * (labels != 0)")],
        "label 0 is ignored (ignore_index=0)"),
    "ignore_index=0 in place of the weights": (
        [(SURPRISE, SURPRISE + "\n    weights = (labels != 0).astype(logits.dtype)")],
        "label 0 is ignored (ignore_index=0)"),
    "ignore_index=0 on the way back": (
        [(SCALE, SCALE + "\n    scale = scale * (labels != 0)")],
        "label 0 is ignored (ignore_index=0) on the way back"),
    "mean of the means of the rows": (
        [(RETURN, "rows = (surprise * weights).sum(-1) / np.maximum(weights.sum(-1), 1e-300)\n"
                  "    return float(rows.mean())")],
        "the mean of the means of the rows"),
    "1e-5 in the divisor": (
        [(RETURN, "return float((surprise * weights).sum() / (total + 1e-5))")],
        "something is added to the sum of the weights (1e-5"),
    "1e-5 in the divisor on the way back": (
        [(SCALE, "scale = weights * (dloss / (total + 1e-5))")],
        "something is added to the sum of the weights on the way back"),
    "0 / 0": ([(RETURN, "return float((surprise * weights).sum() / total)")], "0 / 0"),
    "0 / 0 on the way back": ([(SCALE, "scale = weights * (dloss / total)")], "0 / 0"),
    "sign": (
        [(RETURN, RETURN.replace("float((", "-float(("))], "the sign is wrong: the loss is minus"),
    "bits": ([(SURPRISE, f"{SURPRISE}\n    surprise = surprise / np.log(2)")], "base 2"),
    "no softmax": (
        [(SURPRISE, "surprise = -np.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]")],
        "the softmax is missing"),
    "softmax over all slots": (
        [(MAX, "shifted = logits - logits.max()"),
         (SURPRISE, "surprise = np.log(np.exp(shifted).sum()) - right")],
        "the softmax runs over all slots"),
    "no largest taken off": ([(MAX, "shifted = logits * 1")], "exp overflows"),
    "no largest taken off on the way back": ([(BACK_MAX, "shifted = np.exp(logits)")],
                                             "exp overflows"),
    "the logarithm of the shares": (
        [(SURPRISE, "shares = np.exp(shifted) / np.exp(shifted).sum(axis=-1, keepdims=True)\n"
                    "    surprise = -np.log(np.take_along_axis(shares, labels[..., None], "
                    "axis=-1)[..., 0])")],
        "the logarithm of 0 is taken"),
    "1e-12 inside the logarithm": (
        [(SURPRISE, "surprise = -np.log(np.exp(right) / np.exp(shifted).sum(axis=-1) + 1e-12)")],
        "something is added inside the logarithm"),
    "dloss not used": ([(SCALE, SCALE.replace("dloss", "1"))], "dloss is not used"),
    "no one-hot": ([(PUT, "pass")], "the one-hot is missing"),
    "sign on the way back": ([(BACK, BACK.replace("(dlogits", "(-dlogits"))],
                             "not the other way about"),
    "one-hot without its weight": (
        [(PUT, "pass"), (BACK, "dlogits = dlogits * scale[..., None]\n"
          "    share = np.take_along_axis(dlogits, place, axis=-1)\n"
          "    np.put_along_axis(dlogits, place, share - dloss / max(total, 1e-300), axis=-1)\n"
          "    return dlogits.astype(logits.dtype)")],
        "the one-hot is not multiplied by the weight"),
    "no weights on the way back": (
        [(SCALE, "scale = np.full_like(weights, dloss / weights.size)")],
        "the weights are not used on the way back"),
    "weights in the divisor alone": (
        [(SCALE, "scale = np.full_like(weights, dloss / total) if total > 0 else 0 * weights")],
        "only in the divisor"),
    "divided by slots on the way back": (
        [(SCALE, "scale = weights * (dloss / weights.size)")],
        "divided by the number of slots, not by"),
    "not divided on the way back": (
        [(SCALE, "scale = weights * dloss")], "not divided by the sum of the weights"),
    "always float64": (
        [(BACK, "return (dlogits * scale[..., None]).astype(np.float64)")],
        "the gradient is always float64"),
    "in place": (
        [(MAX, "shifted = logits\n    shifted -= logits.max(axis=-1, keepdims=True)")],
        "changed its input in place"),
}  # fmt: skip
