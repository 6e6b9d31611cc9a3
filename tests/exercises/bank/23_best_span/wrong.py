"""Wrong answers to 23_best_span, as edits of the solution, and the words that name each."""

IS_SPAN = "is_span = (distance >= 0) & (distance < longest)"
MAY = "is_span &= may_start[:, None]"
BEST = "first, last = divmod(int(np.where(is_span, scores, -np.inf).argmax()), tokens)"
SPAN = "return first, last, float(scores[first, last])"
TEXT = 'text = slice(window["text_at"], window["text_at"] + len(window["best"]))'
ASK = 'window["start"][text], window["end"][text], longest=longest, may_start=window["best"]'
FOUND = 'found.append((score, first + window["first"], last + window["first"]))'
WIN = "score, first, last = max(found)"
NULL = 'null = min(float(window["start"][0] + window["end"][0]) for window in windows)'
SAY = "if null - score > null_threshold:"
BARE = 'bare = text.lower().translate(str.maketrans("", "", string.punctuation))'
NORMAL = r"""return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())"""
MATCH = "return float(normalize(answer) in golds(accepted))"
SAID = "said = normalize(answer).split()\n"
SHARED = "shared = (Counter(said) & Counter(right)).total()"
F1 = "best = max(best, 2 * shared / (len(said) + len(right)))"
GOLDS = 'return [each for each in map(normalize, accepted) if each] or [""]'

WRONG = {
    "two argmaxes": ([(BEST, "first, last = int(start.argmax()), int(end.argmax())")],
                     "each by itself"),
    "end for the best start": (
        [(BEST, "first = int(np.where(is_span.any(1), start, -np.inf).argmax())\n"
                "    last = int(np.where(is_span[first], end, -np.inf).argmax())")],
        "first the best start"),
    "start for the best end": (
        [(BEST, "last = int(np.where(is_span.any(0), end, -np.inf).argmax())\n"
                "    first = int(np.where(is_span[:, last], start, -np.inf).argmax())")],
        "first the best end"),
    "end before start": ([(IS_SPAN, "is_span = np.abs(distance) < longest")],
                         "the end may come before"),
    "one too long": ([(IS_SPAN, IS_SPAN.replace("< longest", "<= longest"))], "one token too long"),
    "one too short": (
        [(IS_SPAN, IS_SPAN.replace("< longest", "< max(1, longest - 1)"))], "one token too short"),
    "longest not used": ([(IS_SPAN, "is_span = distance >= 0")], "longest is not used"),
    "no single tokens": (
        [(IS_SPAN, "is_span = (distance > (tokens > 1 < longest) - 1) & (distance < longest)")],
        "a span of a single token"),
    "may_start not used": ([(MAY, "pass")], "may_start is not used"),
    "may_start of the last": ([(MAY, "is_span &= may_start[None, :]")],
                              "may_start, not the first"),
    "may_start of both": ([(MAY, "is_span &= may_start[:, None] & may_start[None, :]")],
                          "may_start too"),
    "start and end exchanged": (
        [("scores = start[:, None] + end[None, :]", "scores = end[:, None] + start[None, :]")],
        "start and end are exchanged"),
    "product of scores": (
        [("scores = start[:, None] + end[None, :]", "scores = start[:, None] * end[None, :]")],
        "the scores are multiplied"),
    "end one past": ([(SPAN, SPAN.replace("last, float", "last + 1, float"))],
                     "the end is one past"),
    "score of the start": ([(SPAN, "return first, last, float(start[first])")],
                           "the score is not start + end"),
    "nowhere is somewhere": ([("if not is_span.any():", "if False:")], "argmax still chooses"),
    "window's places": ([(FOUND, "found.append((score, first, last))")], "not in the text"),
    "places with the question": (
        [(FOUND, 'add = window["first"] + window["text_at"]\n            '
                 "found.append((score, first + add, last + add))")], "text_at is added"),
    "question searched": (
        [(TEXT, "text = slice(None)"), (ASK, ASK.replace('window["best"]', "None")),
         (FOUND, 'add = window["first"] - window["text_at"]\n            '
                 "found.append((score, first + add, last + add))")], "are searched too"),
    "padding searched": (
        [(TEXT, 'text = slice(window["text_at"], None)'),
         (ASK, 'window["start"][text], window["end"][text], longest=longest, may_start=np.pad('
               'window["best"], (0, len(window["start"][text]) - len(window["best"])))')], None),
    "best not used": ([(ASK, ASK.replace('window["best"]', "None"))], "best is not used"),
    "softmax in each window": (
        [(FOUND, 'score -= np.log(np.exp(window["start"]).sum() * np.exp(window["end"]).sum())\n'
                 "            " + FOUND)], "a softmax of its own"),
    "first window": ([(WIN, "score, first, last = found[0]")], "the first window answers"),
    "last window": ([(WIN, "score, first, last = found[-1]")], "the last window answers"),
    "threshold not used": ([(SAY, "if False:")], "the threshold is not used"),
    "threshold 0 written in": ([(SAY, "if null > score:")], "0 is written in"),
    "highest null": ([(NULL, NULL.replace("min(", "max("))], "the highest score of [CLS]"),
    "null of the first window": (
        [(NULL, 'null = float(windows[0]["start"][0] + windows[0]["end"][0])')],
        "in the first window is taken"),
    "null of the last window": (
        [(NULL, 'null = float(window["start"][0] + window["end"][0])')],
        "in the last window is taken"),
    "mean null": (
        [(NULL, NULL.replace("min(", "np.mean([").replace("windows)", "windows])"))],
        "are averaged"),
    "sign turned": ([(SAY, "if score - null > null_threshold:")], "the wrong sign"),
    "threshold on the wrong side": ([(SAY, "if null + null_threshold > score:")],
                                    "added to the wrong side"),
    "start of [CLS] alone": ([(NULL, NULL.replace(' + window["end"][0]', ""))],
                             "only the start of [CLS]"),
    "as much as the threshold": ([(SAY, SAY.replace(">", ">="))], "not as much"),
    "null by default": ([("null_threshold: float | None = None", "null_threshold: float = 0.0")],
                        "always an answer"),
    "capitals": ([(BARE, BARE.replace(".lower()", ""))], "capitals stay"),
    "lower case at the end": (
        [(BARE, BARE.replace(".lower()", "")), (NORMAL, NORMAL + ".lower()")],
        "before the text is in lower case"),
    "punctuation to spaces": (
        [(BARE, 'bare = text.lower().translate(str.maketrans(string.punctuation, " " * 32))')],
        "punctuation becomes a space"),
    "articles first": (
        [(BARE, r'bare = re.sub(r"\b(a|an|the)\b", " ", text.lower())'
                '.translate(str.maketrans("", "", string.punctuation))'),
         (NORMAL, 'return " ".join(bare.split())')], "articles go before punctuation"),
    "articles in words": ([(NORMAL, NORMAL.replace(r"\b", ""))], "within words"),
    "articles stay": ([(NORMAL, 'return " ".join(bare.split())')], "articles stay"),
    "spaces stay": ([(NORMAL, r'return re.sub(r"\b(a|an|the)\b", " ", bare)')],
                    "spaces stay"),
    "all punctuation of Unicode": (
        [(BARE, r'bare = re.sub(r"[^\w\s]", "", text.lower())')], "more than ASCII"),
    "first accepted answer": ([(MATCH, MATCH.replace("in golds(accepted)",
                                                     "== golds(accepted)[0]"))],
                              "only the first accepted"),
    "all accepted answers": (
        [(MATCH, "return float(all(normalize(answer) == g for g in golds(accepted)))")],
        "one is enough"),
    "not normalised": ([(MATCH, "return float(answer in (accepted or ['']))")],
                       "compared as they are"),
    "part for the whole": (
        [(MATCH, "return float(any(normalize(answer) in g for g in golds(accepted)))")],
        "a part is taken"),
    "truth value": (
        [(MATCH, "return normalize(answer) in golds(accepted)")], "expected a number, got True"),
    "silence is wrong": ([(GOLDS, GOLDS.replace(' or [""]', ""))], "silence is right"),
    "empty accepted answers": (
        [(GOLDS, 'return [normalize(each) for each in accepted] or [""]')],
        "of which nothing is left counts"),
    "mean over accepted": (
        [(F1, "best += 2 * shared / (len(said) + len(right)) / len(golds(accepted))")],
        "the mean over the accepted"),
    "F1 of the first": (
        [("for gold in golds(accepted):", "for gold in golds(accepted)[:1]:")],
        "only the first accepted answer"),
    "sets of words": (
        [(SHARED, "said, right = sorted(set(said)), sorted(set(right))\n        " + SHARED)],
        "sets of words"),
    "characters": (
        [(SAID, "said = list(normalize(answer))\n"),
         ("right = gold.split()", "right = list(gold)")],
        "characters are compared"),
    "precision": ([(F1, "best = max(best, shared / len(said))")], "precision alone"),
    "recall": ([(F1, "best = max(best, shared / len(right))")], "recall alone"),
    "plain mean": (
        [(F1, "best = max(best, (shared / len(said) + shared / len(right)) / 2)")],
        "the plain mean"),
    "without the 2": ([(F1, F1.replace("2 * ", ""))], "the factor 2"),
    "0/0": (
        [(F1, "p, r = shared / len(said), shared / len(right)\n"
              "        best = max(best, 2 * p * r / (p + r))")], "ZeroDivisionError"),
}  # fmt: skip
