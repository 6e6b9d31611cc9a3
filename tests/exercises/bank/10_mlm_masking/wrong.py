"""Wrong answers to 10_mlm_masking, as edits of the solution, and the words that name each."""

CANDIDATE = "candidate = ~np.isin(input_ids, special_ids)"
SELECTED = "selected = candidate & (rng.random(input_ids.shape) < rate)"
LABELS = "labels = np.where(selected, input_ids, IGNORED).astype(input_ids.dtype)"
MASKED = "shown[selected & (fate < 0.8)] = mask_id"
RANDOM = "is_random = selected & (fate >= 0.8) & (fate < 0.9)"
RETURN = "return shown, labels"
ORDINARY = "np.setdiff1d(np.arange(vocab_size), special_ids)"

WRONG = {
    "specials are candidates": (
        [(CANDIDATE, "candidate = np.ones(input_ids.shape, bool)")],
        "special_ids are not left out"),
    "padding is a candidate": (
        [(CANDIDATE, "candidate = ~np.isin(input_ids, special_ids[1:])")],
        "special_ids are not left out: padding"),
    "special ids written in": (
        [(CANDIDATE, "candidate = ~np.isin(input_ids, [0, 100, 101, 102, 103])")],
        "special_ids is not used"),
    "rate ignored": (
        [(SELECTED, SELECTED.replace("rate", "0.15"))], "the rate argument is ignored"),
    "20 percent": ([(SELECTED, SELECTED.replace("rate", "rate + 0.05"))], None),
    "one draw for all rows": (
        [(SELECTED, SELECTED.replace("input_ids.shape", "input_ids.shape[1]"))],
        "one draw for all rows"),
    "the first tokens of each row": (
        [(SELECTED, "wanted = rate * candidate.sum(1)[:, None]\n"
                    "    selected = candidate & (candidate.cumsum(1) <= wanted)")],
        "the same tokens were selected in every row"),
    "all become [MASK]": (
        [("fate = rng.random(input_ids.shape)", "fate = np.zeros(input_ids.shape)")],
        "every selected token becomes [MASK]"),
    "80/20/0": ([("(fate < 0.9)", "(fate < 1.0)")], "nothing is kept"),
    "80/0/20": ([("(fate < 0.9)", "(fate < 0.8)")], "nothing is random"),
    "80/2/18": (
        [(RANDOM, "is_random = selected & (fate >= 0.8) & (rng.random(input_ids.shape) < 0.1)")],
        "random and kept are drawn independently"),
    "random drawn over [MASK]": (
        [(RANDOM, "is_random = selected & (rng.random(input_ids.shape) < 0.1)")],
        "random is drawn after and over [MASK]"),
    "kept drawn over the others": (
        [(RETURN, "kept = selected & (rng.random(input_ids.shape) < 0.1)\n"
                  "    shown[kept] = input_ids[kept]\n    return shown, labels")],
        "kept is drawn over the others"),
    "half masked": (
        [(MASKED, MASKED.replace("0.8", "0.5")),
         (RANDOM, RANDOM.replace("0.8", "0.5").replace("0.9", "0.75"))],
        "half of the selected are [MASK]"),
    "labels after replacing": (
        [(RETURN, "return shown, np.where(selected, shown, IGNORED).astype(input_ids.dtype)")],
        "the labels were taken after"),
    "labels everywhere": ([(LABELS, "labels = input_ids.copy()")], "labels are the ids everywhere"),
    "labels of [MASK] alone": (
        [(RETURN, "return shown, np.where(shown == mask_id, labels, IGNORED)")],
        "tokens are replaced by another draw"),
    "labels of changed tokens alone": (
        [(RETURN, "return shown, np.where(shown != input_ids, labels, IGNORED)")],
        "the tokens that stay as they are have no label"),
    "0 for no label": (
        [(LABELS, "labels = np.where(selected, input_ids, 0)")], "the labels hold 0, not -100"),
    "labels by another draw": (
        [(RETURN, "return shown, np.where(candidate & (rng.random(input_ids.shape) < rate), "
                  "input_ids, IGNORED)")],
        "by another draw than the one that labels them"),
    "random words may be special": ([(ORDINARY, "np.arange(vocab_size)")], "drawn from all ids"),
    "random words of half the vocabulary": (
        [(ORDINARY, "np.setdiff1d(np.arange(vocab_size // 2), special_ids)")],
        "this part of the vocabulary is never drawn"),
    "random words beyond the vocabulary": (
        [(ORDINARY, "np.setdiff1d(np.arange(30522), special_ids)")], "vocab_size is ignored"),
    "one random word for all": (
        [("size=input_ids.shape)", "size=1).repeat(input_ids.size).reshape(input_ids.shape)")],
        "one random word is drawn for all"),
    "id of [MASK] written in": ([(MASKED, MASKED.replace("mask_id", "103"))], "mask_id is ignored"),
    "in place": ([("shown = input_ids.copy()", "shown = input_ids")], "changed its input in place"),
    "its own seed": (
        [(CANDIDATE, f"rng = np.random.default_rng(0)\n    {CANDIDATE}")],
        "the function seeds a generator of its own"),
    "global generator": (
        [(SELECTED, SELECTED.replace("rng.random", "np.random.random_sample"))],
        "a draw does not come from rng"),
    "always int64": (
        [(RETURN, "return shown.astype(np.int64), labels.astype(np.int64)")], "the wrong type"),
    "lists returned": ([(RETURN, "return shown, labels.tolist()")], "expected a NumPy array"),
}  # fmt: skip
