"""Wrong answers to 22_ner_alignment, as edits of the solution, and the words that name each."""

ROOM = "room = max_length - 2  # [CLS] and [SEP] always stay"
WORD = "word = word or [unk_id]  # every word has a token, or all later labels would be shifted"
START = "starts.append(len(ids) + 1 if len(ids) < room else -1)  # + 1: after [CLS]"
SPOKEN = "spoken += [labels[i]] + [IGNORED] * (len(word) - 1)"
IDS = '"input_ids": [cls_id, *ids[:room], sep_id],'
LABELS = '"labels": [IGNORED, *spoken[:room], IGNORED],'
TAGS = 'return [names[logits[start].argmax()] if start >= 0 else "O" for start in starts]'
GOES_ON = 'goes_on = prefix == "I" and found and found[-1][0] == kind and found[-1][2] == place'
BEGINS = 'elif prefix != "O":'
PARTS = 'prefix, _, kind = tag.partition("-")  # once: a type may have a hyphen of its own'
SETS = "there, said = numbered(right), numbered(predicted)"
NAMES = "return {(i, *entity) for i, tags in enumerate(sentences) for entity in entities(tags)}"
F1 = '"f1": 2 * found / (len(said) + len(there)) if found else 0.0,'


def keys(key):
    """Names that are compared by other keys."""
    return [(NAMES, NAMES.replace("(i, *entity)", key))]


WRONG = {
    "label on every piece": (
        [(SPOKEN, "spoken += [labels[i]] * len(word)")], "stands on every piece"),
    "I- on later pieces": (
        [(SPOKEN, SPOKEN.replace("[IGNORED]", "[labels[i] + labels[i] % 2]"))], "(I- for B-)"),
    "O on later pieces": ([(SPOKEN, SPOKEN.replace("IGNORED", "0"))], "later pieces have label 0"),
    "label on the last piece": (
        [(SPOKEN, "spoken += [IGNORED] * (len(word) - 1) + [labels[i]]")], "on the last piece"),
    "O on [CLS] and [SEP]": ([(LABELS, LABELS.replace("IGNORED", "0"))],
                             "[CLS] and [SEP] have label 0"),
    "[SEP] cut away": (
        [(ROOM, "room = max_length - 1"),
         (IDS, '"input_ids": [cls_id, *ids, sep_id][:max_length],'),
         (LABELS, '"labels": [IGNORED, *spoken, IGNORED][:max_length],')],
        "the last token is not [SEP]"),
    "cut before the ends": ([(ROOM, "room = max_length")], "before [CLS] and [SEP] are added"),
    "never cut": ([(ROOM, "room = 10**6")], "nothing is cut"),
    "labels not cut": ([(LABELS, LABELS.replace("[:room]", ""))], "labels are not cut"),
    "word left out whole": (
        [(WORD, WORD + "\n        if len(ids) + len(word) > room:\n            starts.append(-1)\n"
          "            room = len(ids)\n            continue")], "its first piece is enough"),
    "words without pieces vanish": ([(WORD, "pass")], "a word without a piece vanishes"),
    "unk written in": ([(WORD, "word = word or [100]")], "is written into the function"),
    "starts without [CLS]": (
        [(START, "starts.append(len(ids) if len(ids) < room else -1)")],
        "starts does not count [CLS]"),
    "starts of kept words": (
        [(START, "if len(ids) < room:\n            starts.append(len(ids) + 1)")],
        "missing among the starts"),
    "starts beyond the end": ([(START, "starts.append(len(ids) + 1)")], "a start beyond the end"),
    "pieces grow": (
        [(WORD, "word += [unk_id] * (not word)")], "changed its input in place"),
    "-1 as an index": (
        [(TAGS, "return [names[logits[start].argmax()] for start in starts]")],
        "-1 is taken for an index"),
    "words without a tag": (
        [(TAGS, "return [names[logits[start].argmax()] for start in starts if start >= 0]")],
        "words that were cut off have no tag"),
    "one token early": ([(TAGS, TAGS.replace("logits[start]", "logits[start - 1]"))],
                        "one token too early"),
    "one token late": (
        [(TAGS, TAGS.replace("logits[start]", "logits[min(start + 1, len(logits) - 1)]"))],
        "one token too late"),
    "token i for word i": (
        [(TAGS, "return [names[logits[i].argmax()] for i in range(len(starts))]")],
        "word i is read from token i"),
    "numbers for names": (
        [(TAGS, "return [int(logits[start].argmax()) if start >= 0 else 0 for start in starts]")],
        "numbers, not names"),
    "strict BIO": ([(BEGINS, 'elif prefix == "B":')], "is dropped: it begins one"),
    "types not compared": (
        [(GOES_ON, GOES_ON.replace("found[-1][0] == kind", "True")),
         ("found[-1] = (kind,", "found[-1] = (found[-1][0],")], "the types are not compared"),
    "B- merged": ([(GOES_ON, GOES_ON.replace('prefix == "I"', 'prefix != "O"'))],
                  "right after a name of its type begins a new one"),
    "across an O": ([(GOES_ON, GOES_ON.replace(" and found[-1][2] == place", ""))],
                    "over an O in between"),
    "end inclusive": (
        [("    return found\n    # end solution",
          "    return [(k, a, b - 1) for k, a, b in found]\n    # end solution")],
        "the end is the last word"),
    "single words": ([(GOES_ON, "goes_on = False")], "each word is a name of its own"),
    "type without its hyphen": (
        [(PARTS, 'prefix, kind = (tag.split("-") + [""])[:2]')], "a type with a hyphen is cut"),
    "last name lost": (
        [("    return found\n    # end solution",
          "    return [e for e in found if e[2] < len(tags)]\n    # end solution")],
        "a name that reaches the end"),
    "lists for tuples": (
        [("    return found\n    # end solution", "    return [list(e) for e in found]\n"
          "    # end solution")], None),
    "across sentences": (keys("entity"), "a name is found in another sentence"),
    "types free": (keys("(i, *entity[1:])"), "types are not compared"),
    "ends free": (keys("(i, *entity[:2])"), "the end of a name is not compared"),
    "starts free": (keys("(i, entity[0], entity[2])"), "the start of a name is not compared"),
    "tags for names": (
        [(NAMES, "return {(i, j, t) for i, s in enumerate(sentences) for j, t in enumerate(s) "
          'if t != "O"}')], "single tags are compared"),
    "accuracy": (
        [(NAMES, "return {(i, j, t) for i, s in enumerate(sentences) for j, t in enumerate(s)}")],
        "the share of tags that are right"),
    "mean over sentences": (
        [(SETS, "if len(right) > 1:\n        each = [entity_scores([r], [p]) for r, p in "
          "zip(right, predicted)]\n        return {n: sum(e[n] for e in each) / len(each) for n in "
          "each[0]}\n    " + SETS)], "the mean over sentences"),
    "precision for recall": (
        [('"precision": found / len(said) if said', '"precision": found / len(there) if there'),
         ('"recall": found / len(there) if there', '"recall": found / len(said) if said')],
        "precision and recall are exchanged"),
    "plain mean": (
        [(F1, '"f1": ((found / len(said) if said else 0.0) + (found / len(there) if there else '
          "0.0)) / 2,")], "F1 is the plain mean"),
    "0/0": ([(F1, '"f1": 2 * found / (len(said) + len(there)),')], "ZeroDivisionError"),
    "nothing is perfect": (
        [(F1, F1.replace("if found else 0.0", "if said or there else 1.0"))], None),
    "percent": (
        [(F1, F1.replace("2 *", "200 *")), ("found / len(said) if", "100 * found / len(said) if"),
         ("found / len(there) if", "100 * found / len(there) if")], "times 100"),
    "one long sentence": (
        [(NAMES, "return set(entities([tag for tags in sentences for tag in tags]))")],
        "put end to end"),
    "types by their ends": (
        [(GOES_ON, GOES_ON.replace("found[-1][0] == kind", "found[-1][0].endswith(kind)"))],
        "types are compared in part"),
    "types by their beginnings": (
        [(GOES_ON, GOES_ON.replace("found[-1][0] == kind", "kind.startswith(found[-1][0])"))],
        "types are compared in part"),
    "precision 1 of nothing": (
        [('"precision": found / len(said) if said else 0.0',
          '"precision": found / len(said) if said else 1.0')],
        "the precision is 0 where nothing is predicted"),
    "recall 1 of nothing": (
        [('"recall": found / len(there) if there else 0.0',
          '"recall": found / len(there) if there else 1.0')],
        "the recall is 0 where there is nothing to find"),
    "start at the border": ([(START, START.replace("< room", "<= room"))],
                            "has the place of [SEP] as its start"),
    "start of whole words only": (
        [(START, START.replace("len(ids) < room", "len(ids) + len(word) <= room"))],
        "has no start: its first piece is there"),
    "one piece too few": ([(ROOM, "room = max_length - 3")], "too much is cut"),
    "label 0 as none": ([(SPOKEN, SPOKEN.replace("labels[i]", "labels[i] or IGNORED"))],
                        "0 is a label like every other"),
    "id 0 as none": ([(WORD, "word = [piece for piece in word if piece] or [unk_id]")], None),
    "best score from 0": (
        [(TAGS, 'return [names[logits[start].clip(0).argmax()] if start >= 0 else "O"\n'
                "            for start in starts]")], "scores below 0 are never the best"),
    "start 0 as none": ([(TAGS, TAGS.replace(">= 0", "> 0"))], None),
    "O by the last letter": (
        [(BEGINS, 'elif not tag.endswith("O"):')], "a tag that ends in O is not O"),
    "names as a set, sorted": (
        [("    return found\n    # end solution",
          "    return sorted(found)\n    # end solution")], None),
    "half marks for an overlap": (
        [("found = len(there & said)",
          "found = sum(any(a[:2] == b[:2] and a[2] < b[3] and b[2] < a[3] for b in there) "
          "for a in said)")], None),
    "softmax without its maximum": (
        [("names[logits[start].argmax()]",
          "names[(2.718281828459045 ** logits[start] / (2.718281828459045 ** logits[start]).s"
          "um()).argmax()]")],
        "exp of the scores overflows",
    ),
    "sentences numbered modulo 100": (
        [("{(i, *entity) for",
          "{(i % 100, *entity) for")],
        "names of different sentences are taken for one",
    ),
    "types in capitals": (
        [("prefix, _, kind = tag.partition(\"-\")",
           "prefix, _, kind = tag.upper().partition(\"-\")")],
        "the case of a type is changed"),
    "label 0 for what was cut off": (
        [("if start >= 0 else \"O\" for",
           "if start >= 0 else names[0] for")],
        "gets the name of label 0"),
    # Right for small inputs, and for draws that are counted coarsely.
    "words 100": (
        [("for place, tag in enumerate(tags):",
          "for place, tag in enumerate(tags[:100]):")],
        "the result for 2000 tags of 2 types"),
    "logits floor": (
        [("names[logits[start].argmax()]",
          "names[logits[start].clip(-1e4).argmax()]")],
        "the result for 9 tokens, 2 labels, scores near 100000[0]"),
    "score types only known": (
        [("    there, said = numbered(right), numbered(predicted)",
          "    there, said = numbered(right), numbered(predicted)\n    there, said = ({e for"
          " e in x if e[3] - e[2] < 50} for x in (there, said))")],
        None),
    "tags in an array of sixteen characters each": (
        [
            ("from numpy import ndarray\n",
             "import numpy as np\n"
             "from numpy import ndarray\n"),
            ('    return [names[logits[start].argmax()] if start >= 0 else "O" for s'
             "tart in starts]\n",
             '    tags = np.full(len(starts), "O", dtype="U16")\n'
             "    for i, start in enumerate(starts):\n"
             "        if start >= 0:\n"
             "            tags[i] = names[logits[start].argmax()]\n"
             "    return tags.tolist()\n"),
        ],
        None,
    ),
    "a type is read by a pattern of letters and hyphens": (
        [
            ("from jaxtyping import Float\n",
             "import re\n"
             "\n"
             "from jaxtyping import Float\n"),
            ('        prefix, _, kind = tag.partition("-")  # once: a type may have '
             "a hyphen of its own\n",
             '        parts = re.match(r"([BI])-([\\w-]+)", tag)  # a type may have a'
             " hyphen of its own\n"
             '        prefix, kind = parts.groups() if parts else ("O", "")\n'),
        ],
        None,
    ),
    "names as text, without gaps": (
        [
            ("return {(i, *entity) for i",
             "return {f\"{i}{entity[0]}{entity[1]}{entity[2]}\" for i"),
        ],
        None,
    ),
    "starts looked for among the labels": (
        [
            ("    ids, spoken, starts = [], [], []\n", "    ids, spoken = [], []\n"),
            ("        starts.append(len(ids) + 1 if len(ids) < room else -1)  # + 1: after [CLS]\n",
             ""),
            ("    return {\n        \"input_ids\"",
             "    found = [i + 1 for i, label in enumerate(spoken[:room]) if label != IGNORED]\n"
             "    starts = found + [-1] * (len(pieces) - len(found))\n"
             "    return {\n        \"input_ids\""),
        ],
        "looked for among the labels",
    ),
    "starts looked for among the ids": (
        [
            ("        starts.append(len(ids) + 1 if len(ids) < room else -1)  # + 1: after [CLS]\n"
             "        ids += word\n",
             "        ids += word\n"
             "        before = max([0, *starts])\n"
             "        place = ids.index(word[0], before) + 1\n"
             "        starts.append(place if place <= room else -1)\n"),
        ],
        "looked for among the ids",
    ),
    "names kept by their list": (
        [
            ("    return {(i, *entity) for i, tags in enumerate(sentences) for entity in "
             "entities(tags)}\n",
             "    kept, found = READ.get(id(sentences), (None, None))\n"
             "    if kept is not sentences:\n"
             "        found = {(i, *e) for i, s in enumerate(sentences) for e in entities(s)}\n"
             "        READ[id(sentences)] = sentences, found\n"
             "    return found\n\n\n"
             "READ = {}\n"),
        ],
        "found again by the object",
    ),
    "right names kept by their list": (
        [
            ("there, said = numbered(right), numbered(predicted)",
             "if READ.get(\"right\") is not right:\n"
             "        READ.update(right=right, there=numbered(right))\n"
             "    there, said = READ[\"there\"], numbered(predicted)"),
            ("# begin solution\ndef numbered(", "# begin solution\nREAD = {}\n\n\ndef numbered("),
        ],
        "found again by the object",
    ),
    "types in capitals in the scores": (
        [(NAMES, NAMES.replace("entities(tags)", "entities([tag.upper() for tag in tags])"))],
        None,
    ),
    # Right but for one object, size or kind of type.
    "best labels kept by their scores": (
        [
            (TAGS, "if READ.get(\"logits\") is not logits:\n"
                   "        READ.update(logits=logits, best=logits.argmax(axis=1))\n"
                   "    best = READ[\"best\"]\n"
                   "    " + TAGS.replace("logits[start].argmax()", "best[start]")),
            ("# begin solution\ndef numbered(", "# begin solution\nREAD = {}\n\n\ndef numbered("),
        ],
        "found again by the object",
    ),
    "the same list twice is perfect": (
        [(SETS, SETS + "\n    if right is predicted:\n"
                "        return dict.fromkeys((\"precision\", \"recall\", \"f1\"), 1.0)")],
        None,
    ),
    "types compared without blanks": (
        [(GOES_ON, GOES_ON.replace("[0] == kind", "[0].strip() == kind.strip()"))],
        "types that are nearly the same",
    ),
    "types compared without hyphens at their ends": (
        [(GOES_ON, GOES_ON.replace("[0] == kind", "[0].strip('-') == kind.strip('-')"))],
        "types that are nearly the same",
    ),
    "names of labels without blanks": (
        [(TAGS, TAGS.replace("argmax()]", "argmax()].strip()"))], "of labels X, ' Y' and Z"),
    "sentences numbered modulo 1000": (keys("(i % 1000, *entity)"), "the result for 1500 senten"),
    "words numbered modulo 1024": (
        keys("(i, entity[0], entity[1] % 1024, entity[2] % 1024)"), "1,024 words apart"),
    "types compared by their last part in the scores": (
        keys("(i, entity[0].split('-')[-1], *entity[1:])"), "types that are nearly the same"),
    "types compared by ten letters in the scores": (
        keys("(i, entity[0][:10], *entity[1:])"), "types that are nearly the same"),
    "sentence and word in one number": (
        [
            (
                '{(i, *entity) for',
                '{(entity[0], 4_096 * i + entity[1], entity[2] - entity[1]) for',
            ),
        ],
        'names in the other sentence',
    ),
    "[CLS] is not set before a piece with its id": (
        [(IDS, IDS.replace("[cls_id, *ids", "[*[cls_id] * (ids[:1] != [cls_id]), *ids"))],
        None,
    ),
    "an underscore is taken for a hyphen": (
        [(PARTS, PARTS.replace("tag.", "tag.replace('_', '-')."))], "the names of type 'A_B'"),
    "types compared as Unicode's compatible letters in the scores": (
        [
            ("from jaxtyping import Float\n",
             "import unicodedata\n"
             "\n"
             "from jaxtyping import Float\n"),
            *keys("(i, unicodedata.normalize('NFKD', entity[0]), *entity[1:])"),
        ],
        None,
    ),
    "names of labels without hyphens at their ends": (
        [(TAGS, TAGS.replace("argmax()]", "argmax()].strip('-')"))],
        "whose labels have names that are nearly the same",
    ),
    "F1 is small where precision and recall are": (
        [(F1, '"f1": 2 * found / len(said) * found / len(there) / max('
              '0.01, found / len(said) + found / len(there)) if found else 0.0,')],
        "one name of 4,000",
    ),
    "a precision below a thousandth is 0": (
        [("found / len(said) if said else 0.0",
          "found / len(said) if 1_000 * found > len(said) else 0.0")],
        "one name of 4,000",
    ),
    "a word without pieces gets one where it is the only one": (
        [(WORD, "if pieces == [[]]:\n            word.append(unk_id)\n        " + WORD)],
        "changed its input",
    ),
    "a sentence of one O gets another one in the scores": (
        [(SETS, 'if right == [["O"]]:\n        right[0].append("O")\n    ' + SETS)],
        "changed its input",
    ),
    "infinite scores are no numbers": (
        [("import ndarray", "import nan_to_num, ndarray"),
         (TAGS, TAGS.replace("logits[start].", "nan_to_num(logits[start], posinf=0)."))],
        "leave the range of numbers",
    ),
    "scores less their mean": (
        [(TAGS, TAGS.replace("logits[start].", "(logits[start] - logits[start].mean())."))],
        "leave the range of numbers",
    ),
    "twice the scores": (
        [(TAGS, TAGS.replace("logits[start].", "(2 * logits[start])."))],
        "leave the range of numbers",
    ),
    "labels of one name overwrite each other": (
        [(TAGS, 'scores = [dict(zip(names, row)) for row in logits]\n'
                '    return [max(scores[start], key=scores[start].get) if start >= 0 else "O"\n'
                '            for start in starts]')],
        "of labels that have the same name"),
    "names as texts, sentence and first word without a gap": (
        keys('f"{i}{entity[1]}:{entity[2] - entity[1]} {entity[0]}"'),
        "the same as texts without gaps"),
    "names as texts, first word and sentence without a gap": (
        keys('f"{entity[0]} {entity[2] - entity[1]}:{entity[1]}{i}"'),
        "the same as texts without gaps"),
    "names as texts, type and first word without a gap": (
        keys('f"{i} {entity[0]}{entity[1]} {entity[2] - entity[1]}"'),
        "the same as texts without gaps"),
    "starts by the object of a word": (
        [('"starts": starts,',
          '"starts": [dict(zip(map(id, pieces), starts))[id(w)] for w in pieces],')],
        "`is` compares objects"),
    "labels by the object of a word": (
        [(SPOKEN,
          SPOKEN.replace("labels[i]", "dict(zip(map(id, pieces), labels))[id(pieces[i])]"))],
        "`is` compares objects"),
    "names by the object of the right sentence": (
        [(SETS, "there = {(id(tags), *entity) for tags in right for entity in entities(tags)}\n"
                "    said = {(id(tags), *entity)\n"
                "            for tags, said in zip(right, predicted) for entity in entities(said)}"
          )],
        "`is` compares objects"),
    "type and first word without a gap": (
        keys('f"{i} {entity[0]}{entity[1]} {entity[2]}"'), None),
    "type and last word without a gap": (
        keys('f"{i} {entity[1]} {entity[2] - 1}{entity[0]}"'), None),
    "found in 16 bits": (
        [("found = len(there & said)", "found = np.int16(len(there & said))"),
         ("from numpy import ndarray\n", "import numpy as np\nfrom numpy import ndarray\n")],
        "out of bounds for int16"),
}  # fmt: skip
