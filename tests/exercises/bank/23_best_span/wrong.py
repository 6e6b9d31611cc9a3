"""Wrong answers to 23_best_span, as edits of the solution, and the words that name each."""

IS_SPAN = "is_span = (distance >= 0) & (distance < longest)"
MAY = "is_span &= may_start[:, None]"
BEST = "first, last = np.unravel_index(np.where(is_span, scores, -np.inf).argmax(), scores.shape)"
SPAN = "return first, last, scores[first, last]"
TEXT = 'text = slice(window["text_at"], window["text_at"] + len(window["best"]))'
ASK = 'window["start"][text], window["end"][text], longest=longest, may_start=window["best"]'
FOUND = 'found.append((score, first + window["first"], last + window["first"]))'
WIN = "score, first, last = max(found)"
NULL = 'null = min(window["start"][0] + window["end"][0] for window in windows)'
SAY = "if null - score > null_threshold:"
BARE = 'bare = text.lower().translate(str.maketrans("", "", string.punctuation))'
NORMAL = r"""return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())"""
MATCH = "return float(normalize(answer) in golds(accepted))"
MOST = "return max(overlap(said, gold.split()) for gold in golds(accepted))"
SHARED = "shared = (Counter(said) & Counter(right)).total()"
F1 = "return 2 * shared / (len(said) + len(right))"
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
        [(IS_SPAN, "is_span = (distance > (len(start) > 1 < longest) - 1) & (distance < longest)")],
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
    "end one past": ([(SPAN, SPAN.replace("last, s", "last + 1, s"))],
                     "the end is one past"),
    "score of the start": ([(SPAN, "return first, last, start[first]")],
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
        [(BARE, r'bare = re.sub(r"[^\w\s]", "", text.lower())')],
        "takes more than string.punctuation has"),
    "first accepted answer": ([(MATCH, MATCH.replace("in golds(accepted)",
                                                     "== golds(accepted)[0]"))],
                              "only the first accepted"),
    "all accepted answers": (
        [(MATCH, "return float(all(normalize(answer) == g for g in golds(accepted)))")],
        "one is enough"),
    "not normalized": ([(MATCH, "return float(answer in (accepted or ['']))")],
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
        [(MOST, MOST.replace("max(", "np.mean([").replace("accepted))", "accepted)])"))],
        "the mean over the accepted"),
    "F1 of the first": (
        [(MOST, MOST.replace("golds(accepted)", "golds(accepted)[:1]"))],
        "only the first accepted answer"),
    "sets of words": (
        [(SHARED, "said, right = sorted(set(said)), sorted(set(right))\n    " + SHARED)],
        "sets of words"),
    "characters": (
        [(MOST, "return max(overlap(list(normalize(answer)), list(g)) for g in golds(accepted))")],
        "characters are compared"),
    "precision": ([(F1, "return shared / len(said) if said else 0.0")], "precision alone"),
    "recall": ([(F1, "return shared / len(right) if right else 0.0")], "recall alone"),
    "plain mean": (
        [(F1, "return (shared / max(1, len(said)) + shared / max(1, len(right))) / 2")],
        "the plain mean"),
    "without the 2": ([(F1, F1.replace("2 * ", ""))], "the factor 2"),
    "0/0": (
        [(F1, "p, r = shared / len(said), shared / len(right)\n"
              "    return 2 * p * r / (p + r)")], "ZeroDivisionError"),
    "0 for no span": (
        [(BEST, BEST.replace("-np.inf", "0.0"))], "pairs that are no span are given a number"),
    "best score from 0": (
        [(WIN, "score, first, last = max([(0.0, -1, -1), *found])\n    if first < 0:\n"
               "        return None")], "never beaten where all scores are negative"),
    "shared words as a set": ([(SHARED, "shared = len(set(said) & set(right))")],
                              "the shared words are a set"),
    "words of the answer counted": ([(SHARED, "shared = sum(word in right for word in said)")],
                                    "as often as the answer has it"),
    "words of the accepted answer counted": (
        [(SHARED, "shared = sum(word in said for word in right)")],
        "as often as the accepted answer has it"),
    "backslash stays": (
        [(BARE, 'bare = re.sub("[" + string.punctuation + "]", "", text.lower())')],
        "needs re.escape"),
    "casefold": ([(BARE, BARE.replace("lower", "casefold"))], "casefold makes ss"),
    "underscore stays": (
        [(BARE, BARE.replace("string.punctuation)", 'string.punctuation.replace("_", ""))'))],
        "the underscore stays"),
    "all punctuation of Unicode and the underscore": (
        [(BARE, r'bare = re.sub(r"[^\w\s]|_", "", text.lower())')], "more than ASCII"),
    "ASCII alone": (
        [(BARE, r'bare = re.sub(r"[^\w\s]", "", text.lower(), flags=re.ASCII)')], None),
    "text_at of the first window": (
        [(TEXT, TEXT.replace('window["text_at"]', 'windows[0]["text_at"]'))],
        "text_at is that of the first window"),
    "null of windows with a span": (
        [(NULL, NULL.replace("in windows)", 'in windows if window["best"].any())'))],
        "only in windows where an answer may start"),
    "null of the best window": (
        [(FOUND, FOUND.replace("(score, first", '(score, window["start"][0] + window["end"][0], '
                               "first")),
         (WIN, "score, null, first, last = max(found)"), (NULL, "pass")],
        "only in the window of the best span"),
    "threshold 0 is none": (
        [("if null_threshold is not None:", "if null_threshold:")], "is taken for none"),
    "None for no threshold alone": (
        [("    if not found:\n        return None",
          "    if not found:\n        return None if null_threshold is None else (0, 0)")], None),
    "longest is taken for at least 2": (
        [(IS_SPAN, IS_SPAN.replace("< longest", "< max(2, longest)"))], None),
    "float32 inside": (
        [("scores = start[:, None] + end[None, :]",
          "scores = (start[:, None] + end[None, :]).astype(np.float32)")], None),
    "-1e4 where there is no span": (
        [("np.where(is_span, scores, -np.inf)",
          "np.where(is_span, scores, -1e4)")],
        "pairs that are no span are given a number",
    ),
    "the 20 best starts and ends": (
        [("    if not is_span.any():",
          "    is_span &= np.isin(place, np.argsort(-start)[:20])[:, None] & np.isin(place, n"
          "p.argsort(-end)[:20])[None]\n    if not is_span.any():")],
        "only some of the best starts and ends",
    ),
    "the twenty best starts and ends": (
        [("    if not is_span.any():\n        return None\n",
           "    if not is_span.any():\n        return None\n    few = np.zeros_like(is_span)\n   "
           " few[np.ix_(np.argsort(-start)[:20], np.argsort(-end)[:20])] = True\n    is_span = is"
           "_span & few if (is_span & few).any() else is_span\n")],
        "only some of the best starts"),
    "spaces do not count": (
        [("return float(normalize(answer) in golds(accepted))",
           "return float(normalize(answer).replace(\" \", \"\") in [g.replace(\" \", \"\") "
           "for g in golds(accepted)])")],
        "without spaces the words are the same"),
    # Right for small inputs, and for draws that are counted coarsely.
    "windows 10": (
        [("    found = []\n    for window in windows:\n",
          "    found = []\n    for window in windows[:10]:\n")],
        "the answer of 40 windows, longest=1, null_threshold=None[0]"),
    "accepted 5": (
        [("    return max(overlap(said, gold.split()) for gold in golds(accepted))",
          "    return max(overlap(said, gold.split()) for gold in golds(accepted)[:5])")],
        "' among 60: …"),
    "longest cap 100": (
        [("    distance = place[None, :]",
          "    longest = min(longest, 100)\n    distance = place[None, :]")],
        "longest=499["),
    "f1 words 200": (
        [("    said = normalize(answer).split()",
          "    said = normalize(answer).split()[:200]")],
        "' among 3: …"),
    "pairs that are no span get the lowest score of all pairs": (
        [
            ("np.where(is_span, scores, -np.inf).argmax()",
             "np.where(is_span, scores, scores.min()).argmax()"),
        ],
        "pairs that are no span are given a number",
    ),
    "-1e30 where there is no span": (
        [("np.where(is_span, scores, -np.inf)", "np.where(is_span, scores, -1e30)")],
        "pairs that are no span are given a number",
    ),
    "no windows": (
        [
            ("    found = []\n",
             "    null = min(window[\"start\"][0] + window[\"end\"][0] for window in windows)\n"
             "    found = []\n"),
        ],
        "raised",
    ),
    "best score from -10,000": (
        [
            (f"    {WIN}\n",
             "    score, first, last = max([(-1e4, -1, -1), *found])\n"
             "    if first == -1:\n"
             "        return None\n"),
        ],
        None,
    ),
    "a score of 0 is no span": (
        [
            ("    is_span = (distance >= 0) & (distance < longest)\n",
             "    is_span = (distance >= 0) & (distance < longest) & (scores != 0)\n"),
        ],
        "a score of 0 is taken for no span",
    ),
    "the 100 best starts and ends": (
        [("    if not is_span.any():",
          "    is_span &= np.isin(place, np.argsort(-start)[:100])[:, None] & np.isin("
          "place, np.argsort(-end)[:100])[None]\n    if not is_span.any():")],
        None,
    ),
    "windows compared to six digits": (
        [(WIN, "score, first, last = max(found, key=lambda each: round(each[0], 6))")],
        "the scores are rounded",
    ),
    "windows in float32": (
        [(ASK, ASK.replace("[text]", "[text].astype(np.float32)"))],
        "the scores are rounded",
    ),
    "null score from 1e9": (
        [(NULL, NULL.replace("min(window", "min([1e9] + [window").replace("s)", "s])"))],
        "begin at ±inf",
    ),
    "best of the windows from -1e9": (
        [("    if not found:", "    found = [each for each in found if each[0] > -1e9]\n"
                               "    if not found:")],
        "begin at ±inf",
    ),
    "accents joined to their letters": (
        [(BARE, "import unicodedata\n\n    "
                + BARE.replace("text.lower", 'unicodedata.normalize("NFC", text).lower'))],
        "unicodedata.normalize changes letters",
    ),
    "places as floats": (
        [
            ("return first, last, scores[first, last]",
             "return tuple(np.array([first, last, scores[first, last]]).tolist())"),
        ],
        "expected an int",
    ),
    "a whole score as an int": (
        [
            ("return first, last, scores[first, last]",
             "score = scores[first, last]\n"
             "    return first, last, int(score) if score == int(score) and abs(score) < 1e9 "
             "else score"),
        ],
        "expected a float",
    ),
    "the places of the answer as floats": (
        [
            ("return first, last\n"
             "    # end",
             "return float(first), float(last)\n"
             "    # end"),
        ],
        "expected an int",
    ),
    "1 for 1.0 as a match": (
        [
            ("return float(normalize(answer) in golds(accepted))",
             "return int(normalize(answer) in golds(accepted))"),
        ],
        "expected a float",
    ),
    "1 for 1.0 as F1": (
        [
            ("return 1.0  # also",
             "return 1  # also"),
        ],
        "expected a float",
    ),
    "0 for 0.0 as F1": (
        [
            ("return 2 * shared / (len(said) + len(right))",
             "return 2 * shared / (len(said) + len(right)) if shared else 0"),
        ],
        "expected a float",
    ),
    "windows at equal distances": (
        [
            ('found.append((score, first + window["first"], last + window["first"]))',
             'step = windows[1]["first"] - windows[0]["first"] if len(windows) > 1 else 0\n'
             '            at = windows[0]["first"] + step * next(n for n, w in '
             "enumerate(windows) if w is window)\n"
             "            found.append((score, first + at, last + at))"),
        ],
        None,
    ),
    "windows that reach no further are left out": (
        [
            ("for window in windows:\n"
             "        # The",
             "end_of_text = 0\n"
             "    for window in windows:\n"
             '        reach = window["first"] + len(window["best"])\n'
             "        if reach <= end_of_text:\n"
             "            continue\n"
             "        end_of_text = reach\n"
             "        # The"),
        ],
        None,
    ),
    "a first token of 0 is taken for none": (
        [
            ('found.append((score, first + window["first"], last + window["first"]))',
             'at = window["first"] or windows[0]["first"]\n'
             "            found.append((score, first + at, last + at))"),
        ],
        None,
    ),
    "a single token that may not start": (
        [
            ("    if not is_span.any():\n"
             "        return None\n",
             "    if not is_span.any():\n"
             "        return None if len(start) > 1 else (0, 0, float(scores[0, 0]))\n"),
        ],
        "argmax still chooses",
    ),
    "of many windows those without a start are not asked": (
        [
            ('null = min(window["start"][0] + window["end"][0] for window in windows)',
             'null = min(window["start"][0] + window["end"][0] for window in windows if '
             "window['best'].any() or len(windows) < 30)"),
        ],
        None,
    ),
    "an infinite threshold is taken for none": (
        [
            ("if null_threshold is not None:",
             "if null_threshold is not None and np.isfinite(null_threshold):"),
        ],
        "null_threshold=-inf",
    ),
    "the first 512 tokens": (
        [
            ("place = np.arange(len(start))",
             "start, end = start[:512], end[:512]\n"
             "    may_start = None if may_start is None else may_start[:512]\n"
             "    place = np.arange(len(start))"),
        ],
        "the best span of 600 tokens",
    ),
    "no span where a score is -inf": (
        [
            ("    if not is_span.any():\n"
             "        return None\n",
             "    if not is_span.any() or np.isinf(start).any():\n"
             "        return None\n"),
        ],
        "-inf is a score like others",
    ),
    "each letter by itself in lower case": (
        [
            ('bare = text.lower().translate(str.maketrans("", "", string.punctuation))',
             'bare = "".join(c.lower() for c in text).translate(str.maketrans("", "", '
             "string.punctuation))"),
        ],
        "normalized",
    ),
    "punctuation before lower case": (
        [
            ('bare = text.lower().translate(str.maketrans("", "", string.punctuation))',
             'bare = text.translate(str.maketrans("", "", string.punctuation)).lower()'),
        ],
        "normalized",
    ),
    "some kinds of spaces alone": (
        [
            ('return " ".join(re.sub(r"\\b(a|an|the)\\b", " ", bare).split())',
             'return " ".join(re.sub(r"\\b(a|an|the)\\b", " ", bare).split()) if '
             'bare.isascii() else re.sub("[ \\t\\n\\r\\f\\v\\u00a0\\u3000\\u2003]+", " ", '
             're.sub(r"\\b(a|an|the)\\b", " ", bare)).strip()'),
        ],
        "normalized",
    ),
    "matches of ASCII words alone": (
        [
            ("return float(normalize(answer) in golds(accepted))",
             "def bare(t):\n"
             '        return " ".join(w for w in re.sub(r"[^a-z0-9 ]", "", t.lower()).split() '
             'if w not in ("a", "an", "the"))\n'
             '    return float(bare(answer) in ([b for b in map(bare, accepted) if b] or [""]))'),
        ],
        "of 'cat 東京'",
    ),
    "matches without case twice": (
        [
            ("return float(normalize(answer) in golds(accepted))",
             "return float(normalize(answer).casefold() in [g.casefold() for g in "
             "golds(accepted)])"),
        ],
        "of 'Straße'",
    ),
    "matches without accents": (
        [
            ("return float(normalize(answer) in golds(accepted))",
             "import unicodedata\n"
             "    def bare(t):\n"
             '        return "".join(c for c in unicodedata.normalize("NFD", normalize(t)) if '
             "not unicodedata.combining(c))\n"
             "    return float(bare(answer) in [bare(g) for g in golds(accepted)])"),
        ],
        "of 'café'",
    ),
    "matches without a plural": (
        [
            ("return float(normalize(answer) in golds(accepted))",
             'return float(normalize(answer).rstrip("s") in [g.rstrip("s") for g in '
             "golds(accepted)])"),
        ],
        "of 'cats'",
    ),
    "matches of numbers by their value": (
        [
            ("return float(normalize(answer) in golds(accepted))",
             "def value(t):\n"
             "        t = normalize(t)\n"
             "        return str(int(t)) if t.isdecimal() else t\n"
             "    return float(value(answer) in [g for g in map(value, accepted) if g] or "
             "value(answer) in golds(accepted))"),
        ],
        "of '007'",
    ),
    "F1 of ASCII words": (
        [
            ("said = normalize(answer).split()",
             'said = re.findall(r"[a-z0-9]+", normalize(answer))'),
            ("gold.split())",
             're.findall(r"[a-z0-9]+", gold))'),
        ],
        "of 'cat—dog'",
    ),
    "F1 of words by a regex": (
        [
            ("said = normalize(answer).split()",
             'said = re.findall(r"\\w+", normalize(answer))'),
            ("gold.split())",
             're.findall(r"\\w+", gold))'),
        ],
        "of 'cat—dog'",
    ),
    "accepted answers of punctuation alone": (
        [
            ('return [each for each in map(normalize, accepted) if each] or [""]',
             "return [normalize(each) for each in accepted if normalize(each) or (each and not "
             'set(each) - set(string.punctuation))] or [""]'),
        ],
        "of '?!' among",
    ),
    "only the 64 best starts and ends": (
        [
            (
                '    if not is_span.any():\n',
                '    likely = np.zeros_like(is_span)\n'
                '    likely[np.ix_(np.argsort(start)[-64:], np.argsort(end)[-64:])] '
                '= True\n'
                '    if (is_span & likely).any():\n'
                '        is_span &= likely\n'
                '    if not is_span.any():\n',
            ),
        ],
        None,
    ),
    "of a long text the 64 best starts and ends": (
        [
            (
                '    place = np.arange(len(start))\n'
                '    scores',
                '    if len(start) > 64:\n'
                '        allowed = np.where(True if may_start is None else may_start, '
                'start, -np.inf)\n'
                '        starts, ends = np.sort(np.argsort(-allowed)[:64]), '
                'np.sort(np.argsort(-end)[:64])\n'
                '        distance = ends[None, :] - starts[:, None]\n'
                '        is_span = (distance >= 0) & (distance < longest) & '
                '(allowed[starts, None] > -np.inf)\n'
                '        if is_span.any():\n'
                '            scores = np.where(is_span, start[starts, None] + end[None, '
                'ends], -np.inf)\n'
                '            i, j = np.unravel_index(scores.argmax(), scores.shape)\n'
                '            return starts[i], ends[j], scores[i, j]\n'
                '    place = np.arange(len(start))\n'
                '    scores',
            ),
        ],
        None,
    ),
    "yes and no are right or wrong": (
        [("        return 1.0  # also where both are empty, and the fraction below would be 0/0\n",
          "        return 1.0\n    if [\"yes\"] in (said, right) or [\"no\"] in (said, right):\n"
          "        return 0.0\n")], None),
    "of a span in two windows the later score counts": (
        [("found = []", "found = {}"),
         ('found.append((score, first + window["first"], last + window["first"]))',
          'found[first + window["first"], last + window["first"]] = score'),
         ("score, first, last = max(found)",
          "score, (first, last) = max((score, span) for span, score in found.items())")],
        "of a span in two windows the later score counts"),
    "the first and the last end of windows that are equally good": (
        [(WIN, "score = max(each[0] for each in found)\n"
               "    first = min(each[1] for each in found if each[0] == score)\n"
               "    last = max(each[2] for each in found if each[0] == score)")],
        "whose scores are whole",
    ),
    "no answer where two windows are equally good": (
        [(WIN, WIN + "\n    if len({each for each in found if each[0] == score}) > 1:\n"
                     "        return None")],
        "whose scores are whole",
    ),
    "the same words, however often, are all right": (
        [(F1, "if len(said) == len(right) and set(said) == set(right):\n"
              "        return 1.0\n"
              "    " + F1)],
        "of 'cat cat dog' among",
    ),
    "a dotted capital i is an i": (
        [(BARE, BARE.replace("text.", "text.replace('\u0130', 'i')."))], "normalized"),
    "a span has 512 tokens at most": (
        [
            (
                'distance < longest)',
                'distance < min(longest, 512))',
            ),
        ],
        None,
    ),
    "a span lies within a block of 384 tokens": (
        [
            (
                '    is_span = (distance >= 0) & (distance < longest)',
                '    is_span = (distance >= 0) & (distance < longest) & '
                '(place[:, None] // 384 == place // 384)',
            ),
        ],
        None,
    ),
    "a word counts 255 times at most": (
        [
            (
                'shared = (Counter(said) & Counter(right)).total()',
                'shared = sum(min(n, 255) for n in (Counter(said) & Counter(right)).values())',
            ),
        ],
        'only a part of a long word or text',
    ),
    "words are compared by their first 16 letters": (
        [
            (
                'shared = (Counter(said) & Counter(right)).total()',
                'shared = (Counter(w[:16] for w in said) & Counter(w[:16] for w '
                'in right)).total()',
            ),
        ],
        'only a part of a long word or text',
    ),
    "an exact match of the first 4,096 characters": (
        [
            (
                'normalize(answer) in golds(accepted)',
                'normalize(answer)[:4096] in [g[:4096] for g in golds(accepted)]',
            ),
        ],
        'only a part of a long word or text',
    ),
    "normalize cuts long words": (
        [
            (
                'return " ".join(re.sub(r"\\b(a|an|the)\\b", " ", bare).split())',
                'words = re.sub(r"\\b(a|an|the)\\b", " ", bare).split()\n'
                '    return " ".join(w[:100] for w in words)',
            ),
        ],
        'only a part of a long word or text',
    ),
    "a best score of 0 is no score": (
        [("    score, first, last = max(found)\n",
          "    best = found[0]\n    for each in found[1:]:\n"
          "        best = each if not best[0] or each > best else best\n"
          "    score, first, last = best\n")],
        "a score of 0 is taken for none"),
    "blocks of 128 starts, and the last of each lacks its widest span": (
        [(IS_SPAN, f"{IS_SPAN}\n    for i in range(0, len(start), 128):\n"
                   "        is_span[i : i + 128, i + 126 + longest :] = False")],
        "spans over their borders are left out"),
    "blocks of 250 ends, and the first of each lacks its widest span": (
        [(IS_SPAN, f"{IS_SPAN}\n    for i in range(250, len(start), 250):\n"
                   "        is_span[: max(0, i + 2 - longest), i : i + 250] = False")],
        "spans over their borders are left out"),
    "windows that cannot hold the best span are skipped, their [CLS] too": (
        [("    found = []\n", "    found, null = [], np.inf\n"),
         (TEXT, 'if found and window["start"].max() + window["end"].max() <= max(found)[0]:\n'
                "            continue\n"
                '        null = min(null, window["start"][0] + window["end"][0])\n'
                f"        {TEXT}"),
         (f"        {NULL}\n", "")],
        "windows that may hold the best span"),
    "blocks of 400 starts, and the last of each lacks its widest span": (
        [(IS_SPAN, f"{IS_SPAN}\n    for i in range(0, len(start), 400):\n"
                   "        is_span[i : i + 400, i + 398 + longest :] = False")],
        "spans over their borders are left out"),
    "blocks of 300 ends, and the first of each lacks its widest span": (
        [(IS_SPAN, f"{IS_SPAN}\n    for i in range(300, len(start), 300):\n"
                   "        is_span[: max(0, i + 2 - longest), i : i + 300] = False")],
        "spans over their borders are left out"),
    "an accepted answer without letters or digits is dropped": (
        [(GOLDS, GOLDS.replace("if each]", 'if re.search(r"\\w", each)]'))],
        "without letters or digits is dropped"),
    "of accepted answers with the same words the last one counts": (
        [(GOLDS, 'left = {" ".join(sorted(e.split())): e for e in map(normalize, accepted) if e}\n'
                 '    return [*left.values()] or [""]')],
        None),
    "typographic apostrophes go too": (
        [(BARE, BARE.replace("string.punctuation", 'string.punctuation + "‘’´"'))],
        "more than ASCII punctuation goes"),
    "some kinds of spaces stay": (
        [(NORMAL, NORMAL.replace('return " ".join(', "return re.sub(r'[ \\s]+', ' ', ").replace(
            ".split())", ", flags=re.ASCII).replace('\\u00a0', ' ').strip()"))],
        None),
    "blocks of 256 that overlap by half of longest": (
        [(IS_SPAN, f"{IS_SPAN}\n    step = 256 - min(longest // 2, 128)\n"
                   "    blocks = place // step\n"
                   "    is_span &= place[None, :] < (blocks * step + 256)[:, None]")],
        "spans over their borders are left out"),
    "longest is at most 100 in windows": (
        [(ASK, ASK.replace("longest=longest", "longest=min(longest, 100)"))],
        "longest has a limit of its own in windows"),
}  # fmt: skip
