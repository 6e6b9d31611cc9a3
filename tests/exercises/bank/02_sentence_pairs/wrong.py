"""Wrong answers to 02_sentence_pairs, as edits of the solution, and the words that name each."""

END = "end = end_of_stretch(sentences, start, target)"
MIDDLE = "middle = rng.integers(start + 1, end) if end - start > 1 else end"
IF = "if end - start == 1 or rng.random() < random_next:"
OTHER = "other = rng.integers(len(documents) - 1)"
STEP = "other += other >= index"
FIRST = "first = rng.integers(len(documents[other]))"
LAST = "last = end_of_stretch(documents[other], first, target - len(a))"
RANDOM = "pairs.append((a, joined(documents[other][first:last]), IS_RANDOM))"
NEXT = "pairs.append((a, joined(sentences[middle:end]), IS_NEXT))"
START = "pairs, start = [], 0"
BACK = "start = middle  # the rest of the chunk was not used"
COPIES = "a, b = list(a), list(b)"
FITS = "while len(a) + len(b) > room:"
LONGER = "longer = a if len(a) > len(b) else b"
COIN = "del longer[0 if rng.random() < 0.5 else -1]"
TOKENS = "tokens = [cls_id, *a, sep_id, *b, sep_id]"
TYPES = "types = [0] * (len(a) + 2) + [1] * (len(b) + 1) + padding"
MASK = "mask = [1] * len(tokens) + padding"
IDS = "ids = tokens + [pad_id] * len(padding)"
RETURN = "return tuple(np.array(row, np.int64) for row in (ids, types, mask))"

WRONG = {
    "coins of a copy of the generator, which itself moves by one": (
        [(COPIES, f"{COPIES}\n    import copy\n\n    own = copy.deepcopy(rng)\n    rng.random()\n"
          "    rng = own")],
        "which it moves by less than it drew"),
    "chances in whole thousandths": (
        [("rng.random() < random_next:", "rng.integers(1000) < random_next * 1000:")],
        "at random_next 0.00001"),
    "another name for room": (
        [("b: list[int], room: int, rng", "b: list[int], most: int, rng"),
         (COPIES, f"room = most\n    {COPIES}")],
        "was an argument of the starter renamed"),
    "pairs drawn by a copy of the generator": (
        [("    sentences = documents[index]", "    import copy\n    rng = copy.deepcopy(rng)\n"
                                              "    sentences = documents[index]")],
        "a copy of it was drawn from"),
    "tokens cut by a copy of the generator": (
        [(COPIES, "import copy\n    rng = copy.deepcopy(rng)\n    " + COPIES)],
        "a copy of it was drawn from"),
    "labels reversed": ([("IS_NEXT, IS_RANDOM = 0, 1", "IS_NEXT, IS_RANDOM = 1, 0")],
                        "the labels are reversed"),
    "sentence order": (
        [(RANDOM, "pairs.append((joined(sentences[middle:end]) or a, a, IS_RANDOM))")],
        "wrong order are another task"),
    "random B from the same document": (
        [(STEP, "other = index")], "may be the document itself"),
    "random document may be the same": (
        [(OTHER, "other = int(rng.integers(len(documents)))"), (STEP, "")],
        "may be the document itself"),
    "last document never drawn": (
        [(OTHER, "other = int(rng.integers(len(documents) - 2)) if len(documents) > 2 else 0")],
        "the draw ends too early"),
    "always the next document": (
        [(OTHER, "other = (index + 1) % len(documents)"), (STEP, "")],
        "not drawn at all"),
    "the next document in place of the same": (
        [(OTHER, "other = int(rng.integers(len(documents)))"),
         (STEP, "other = (other + 1) % len(documents) if other == index else other")],
        "the next document is drawn in place of the document itself"),
    "documents by their length": (
        [(OTHER, "sizes = np.array([len(d) * (i != index) for i, d in enumerate(documents)])\n"
                 "            other = int(rng.choice(len(documents), p=sizes / sizes.sum()))"),
         (STEP, "")],
        "documents are drawn by their number of sentences"),
    "random B begins its document": ([(FIRST, "first = 0")], "not drawn at all"),
    "random B never begins with the last": (
        [(FIRST, "first = int(rng.integers(max(len(documents[other]) - 1, 1)))")],
        "the draw ends too early"),
    "random B is one sentence": ([(LAST, "last = first + 1")], "a random B is one sentence"),
    "random B has target tokens": (
        [(LAST, LAST.replace(" - len(a)", ""))], "a random B has the target - len(A) tokens"),
    "random B is the whole document": ([(LAST, "last = None")], "a random B ends as soon as"),
    "put-aside sentences are lost": ([(BACK, "start = end")], "that a random B replaced are lost"),
    "empty B": (
        [(IF, "if rng.random() < random_next:")], "a chunk of one sentence has nothing"),
    "A takes the whole chunk": (
        [(MIDDLE, MIDDLE.replace("start + 1, end)", "start + 1, end + 1)"))],
        "A takes the whole chunk: at least one sentence is left for B"),
    "A never takes all but one": (
        [(MIDDLE, "middle = int(rng.integers(start + 1, max(end - 1, start + 2)))")],
        "the draw ends too early"),
    "A is always one sentence": ([(MIDDLE, "middle = start + 1")], "not drawn at all"),
    "A is half of the chunk": (
        [(MIDDLE, "middle = start + max(1, (end - start) // 2)")], "not drawn at all"),
    "random_next ignored": ([(IF, IF.replace("random_next", "0.5"))], "random_next is ignored"),
    "random_next is the share of IsNext": (
        [(IF, IF.replace("<", ">"))], "the chance of a random pair, not of IsNext"),
    "one draw for all pairs": (
        [(IF, IF.replace("rng.random()", "fate")),
         ("pairs, start = [], 0", "pairs, start, fate = [], 0, rng.random()")],
        "pair is random"),
    "never random": ([(IF, "if end - start == 1:")], "no pair is random"),
    "two chunks where one is full": (
        [("tokens < target:", "tokens <= target:")], "as soon as it has target tokens"),
    "chunks never above target": (
        [("tokens < target:", "tokens + len(sentences[end]) <= target:")],
        "ends before it is full"),
    "end of the document lost": (
        [(END, f"{END}\n        if len(joined(sentences[start:end])) < target:\n"
               "            break")],
        "the end of a document makes a chunk too"),
    "the document is written into": (
        [("    return [token for sentence in sentences for token in sentence]",
          "    a = sentences[0]\n    for more in sentences[1:]:\n        a += more\n    return a")],
        "changed its input in place"),
    "its own seed": (
        [("sentences = documents[index]",
          "sentences = documents[index]\n    rng = np.random.default_rng(0)")],
        "no draw comes from rng"),
    "Python's generator": (
        [("rng.random() < random_next", "__import__('random').random() < random_next")],
        "a draw does not come from rng"),
    "only the back is cut": ([(COIN, "del longer[-1]")], "only the back is cut"),
    "only the front is cut": ([(COIN, "del longer[0]")], "only the front is cut"),
    "one coin for all tokens": (
        [(COPIES, f"{COPIES}\n    end = 0 if rng.random() < 0.5 else -1"),
         (COIN, "del longer[end]")],
        "one coin for all tokens"),
    "front and back in turn": (
        [(COIN, "del longer[-((len(a) + len(b)) % 2)]")], "no coin is tossed"),
    "a coin that is not fair": ([(COIN, COIN.replace("0.5", "0.6"))], "the coin is not fair"),
    "one coin for five tokens": (
        [(FITS, f"coin = rng.random()\n    {FITS}"),
         (COIN, "coin = rng.random() if (len(a) + len(b)) % 5 == 0 else coin\n"
                "        del longer[0 if coin < 0.5 else -1]")],
        "one coin decides for several tokens"),
    "only B is cut": ([(LONGER, "longer = b or a")], "it is the longer segment's turn"),
    "the shorter is cut": ([(LONGER, "longer = (a if len(a) < len(b) else b) or a or b")],
                           "it is the longer segment's turn"),
    "A is cut when they are equal": (
        [(LONGER, LONGER.replace(">", ">="))], "B loses the token"),
    "half of the room each": (
        [(FITS, "while len(a) > room // 2 or len(b) > room // 2:"),
         (LONGER, "longer = a if len(a) > room // 2 else b")],
        "each segment gets half of the room"),
    "room for special tokens kept": ([(FITS, FITS.replace("room", "room - 3"))],
                                     "the special tokens are no part of room"),
    "one too many": ([(FITS, FITS.replace(">", ">="))], "one token too many is cut"),
    "segments cut in place": ([(COPIES, "pass")], "changed its input in place"),
    "types all 0": ([(TYPES, "types = [0] * seq_length")], "the types are 0 everywhere"),
    "types 1 on padding": (
        [(TYPES, TYPES.replace("+ padding", "+ [1] * len(padding)"))], "padding has type 0"),
    "first [SEP] has type 1": (
        [(TYPES, TYPES.replace("+ 2", "+ 1").replace("(len(b) + 1", "(len(b) + 2"))],
        "the first [SEP] belongs to A"),
    "last [SEP] has type 0": (
        [(TYPES, TYPES.replace("(len(b) + 1)", "len(b) + [0]"))], "the last [SEP] belongs to B"),
    "types 1 and 2": (
        [(TYPES, "types = [1] * (len(a) + 2) + [2] * (len(b) + 1) + padding")],
        "not 1 and 2"),
    "no [SEP] between": ([(TOKENS, "tokens = [cls_id, *a, *b, sep_id]")],
                         "the [SEP] between A and B is missing"),
    "[CLS] in front of B": ([(TOKENS, "tokens = [cls_id, *a, cls_id, *b, sep_id]")],
                          "[CLS] stands once"),
    "ids written in": ([(TOKENS, "tokens = [101, *a, 102, *b, 102]")],
                       "is hard-coded"),
    "padding is always 0": ([(IDS, "ids = tokens + padding")], "pad_id is ignored"),
    "padding in front": ([(IDS, "ids = [pad_id] * len(padding) + tokens")],
                         "padding stands after"),
    "mask read off the ids": (
        [(RETURN, f"mask = [int(i != 0) for i in ids]\n    {RETURN}")], "read off the ids"),
    "mask read off pad_id": (
        [(RETURN, f"mask = [int(i != pad_id) for i in ids]\n    {RETURN}")], "read off the ids"),
    "mask reversed": (
        [(MASK, "mask = [0] * len(tokens) + [1] * len(padding)")], "the mask is reversed"),
    "mask all 1": ([(MASK, "mask = [1] * seq_length")], "the mask is 1 everywhere"),
    "int32": ([(RETURN, RETURN.replace("int64", "int32"))], "the wrong type"),
    "lists": ([(RETURN, "return ids, types, mask")], "expected a NumPy array"),
    "other documents found by their content": (
        [(OTHER, "others = [i for i, d in enumerate(documents) if d != documents[index]]\n"
                 "            other = others[int(rng.integers(len(others)))]"), (STEP, "")],
        "found by their content"),
    "other documents found by their content, if there are any": (
        [(OTHER, "others = [i for i, d in enumerate(documents) if d != documents[index]]\n"
                 "            others = others or [1 - index]\n"
                 "            other = others[int(rng.integers(len(others)))]"), (STEP, "")],
        "found by their content"),
    "random B may be empty": (
        [("last = end_of_stretch(documents[other], first, target - len(a))",
          "last = end_of_stretch(documents[other], first, target - len(a)) "
          "if target > len(a) else first")],
        "a random B has at least one sentence"),
    "label 0 in a chunk of one sentence": (
        [(RANDOM, RANDOM.replace("IS_RANDOM)", "IS_RANDOM if end - start > 1 else IS_NEXT)"))],
        "where the chunk has one sentence, B is random too"),
    "labels in turn": (
        [("rng.random() < random_next", "len(pairs) % 2 < 2 * random_next - 0.5")],
        "it is taken in turn, not drawn"),
    "one draw for A and for the label": (
        [(MIDDLE, "fate = rng.random()\n        "
                  "middle = start + 1 + int(fate * max(end - start - 1, 0))"),
         ("rng.random() < random_next", "fate < random_next")],
        "it is not drawn at all"),
    "documents in turn": (
        [(OTHER, "other = sum(label for _, _, label in pairs) % (len(documents) - 1)")],
        "it is taken in turn, not drawn"),
    "A's size in turn": (
        [(MIDDLE, "middle = start + 1 + len(pairs) % max(end - start - 1, 1)")],
        "taken in turn"),
    "no coin where both are equal": (
        [(COIN, "del longer[0 if len(a) != len(b) and rng.random() < 0.5 else -1]")],
        "only the back is cut"),
    "one coin for a token of each": (
        [(FITS, f"coin = rng.random()\n    {FITS}"),
         (COIN, "del longer[0 if coin < 0.5 else -1]\n"
                "        coin = rng.random() if longer is a or len(a) > len(b) + 1 else coin\n"
                "        coin = rng.random() if len(b) > len(a) + 1 else coin")],
        "one coin decides for a token of A and one of B"),
    "tokens removed by their id": (
        [(COIN, "longer.remove(longer[0 if rng.random() < 0.5 else -1])")],
        "a token is looked for by its id"),
    "sentences found by their content": (
        [("sentences = documents[index]\n", "sentences = documents[index]\n"
          "    place = {tuple(s): i for i, s in enumerate(sentences)}\n"),
         (BACK, "start = place[tuple(sentences[middle])] if middle < len(sentences) else middle")],
        None),
    "sentences not joined": (
        [("    return [token for sentence in sentences for token in sentence]",
          "    return list(sentences)")],
        "A and B are flat lists of ids"),
    "one random token too few": (
        [(LAST, LAST.replace("- len(a)", "- len(a) - 1"))], "ends before it is full"),
    "random_next 0 means the default": (
        [("rng.random() < random_next:",
           "rng.random() < (random_next or 0.5):")],
        "random_next=0 is taken for the"),
    "room 0 means no limit": (
        [("    while len(a) + len(b) > room:",
           "    while room and len(a) + len(b) > room:")],
        "room=0 is taken for no"),
    "no second [SEP] after an empty B": (
        [("tokens = [cls_id, *a, sep_id, *b, sep_id]",
           "tokens = [cls_id, *a, sep_id, *b, sep_id] if b else [cls_id, *a, sep_id]"),
          ("[1] * (len(b) + 1)",
           "[1] * (len(b) + 1 if b else 0)")],
        "an empty segment has its [SEP]"),
    "a coin that is fair in every twenty tosses": (
        [("    pairs, start = [], 0\n",
           "    pairs, start, coins = [], 0, []\n"),
          ("rng.random() < random_next:",
           "draw(coins, rng, random_next):"),
          ("def joined(sentences):",
           "def draw(coins, rng, p):\n    if not coins:\n        coins += list(rng.permutation([i"
           " < round(p * 20) for i in range(20)]))\n    return coins.pop()\n\n\ndef joined(senten"
           "ces):")],
        "random and next are shared out"),
    "a generator with a seed of 10 bits": (
        [("    sentences = documents[index]\n",
           "    rng = np.random.default_rng(rng.integers(1024))\n    sentences = documents[index]"
           "\n")],
        "with a small number from rng"),
    # Right for small inputs, and for draws that are counted coarsely.
    "other first 100": (
        [("other = rng.integers(len(documents) - 1)",
          "other = rng.integers(min(100, len(documents) - 1))")],
        "how often B begins in tenth 1 of 5,000 other documents"),
    "first of 50": (
        [("first = rng.integers(len(documents[other]))",
          "first = rng.integers(min(50, len(documents[other])))")],
        "how often B begins in tenth 1 of a document of 5,000 sentenc"),
    "a at most 20": (
        [("rng.integers(start + 1, end) if",
          "rng.integers(start + 1, min(end, start + 21)) if")],
        "how often A ends in third 3 of a chunk of 21 to 30 sentences"),
    "another document is another object": (
        [
            ("            other = rng.integers(len(documents) - 1)\n"
             "            other += other >= index\n",
             "            others = [i for i, d in enumerate(documents) if d is not "
             "sentences]\n"
             "            other = others[rng.integers(len(others))]\n"),
        ],
        None,
    ),
    "one number says both where A ends and where a random B begins": (
        [
            ("        middle = rng.integers(start + 1, end) if end - start > 1 else "
             "end\n",
             "        place = rng.random()\n"
             "        middle = start + 1 + int(place * (end - start - 1)) if end - s"
             "tart > 1 else end\n"),
            ("            first = rng.integers(len(documents[other]))\n",
             "            first = int(place * len(documents[other]))\n"),
        ],
        None,
    ),
    "A ends at the first id of [SEP]": (
        [
            ("    types = [0] * (len(a) + 2) + [1] * (len(b) + 1) + padding\n",
             "    second = tokens.index(sep_id, 1) + 1\n"
             "    types = [0] * second + [1] * (len(tokens) - second) + padding\n"),
        ],
        None,
    ),
    "the sentences of a document in turn": (
        [
            ("    pairs, start = [], 0\n", "    pairs, start, waiting = [], 0, {}\n"),
            ("            first = rng.integers(len(documents[other]))\n",
             "            if not waiting.get(other):\n"
             "                waiting[other] = rng.permutation(len(documents[other])).tolist()\n"
             "            first = waiting[other].pop()\n"),
        ],
        "begins where the last B from there began",
    ),
    "mirrored coins": (
        [
            ("    pairs, start = [], 0\n",
             "    pairs, start = [], 0\n"
             "    coins = rng.random(len(sentences) // 2 + 1)\n"
             "    coins = np.concatenate([coins, 1 - coins])\n"),
            ("rng.random() < random_next", "coins[len(pairs)] < random_next"),
        ],
        "draws are used twice",
    ),
    "ten tries for another document": (
        [
            ("            other = rng.integers(len(documents) - 1)\n"
             "            other += other >= index\n",
             "            for _ in range(10):\n"
             "                other = rng.integers(len(documents))\n"
             "                if other != index:\n"
             "                    break\n"),
        ],
        "the random document may be the document itself",
    ),
    "a random B that equals what follows A is drawn again": (
        [
            ("            first = rng.integers(len(documents[other]))\n",
             "            first = rng.integers(len(documents[other]))\n"
             "            following = sentences[middle : middle + 1]\n"
             "            while documents[other][first : first + 1] == following:\n"
             "                first = rng.integers(len(documents[other]))\n"),
        ],
        "a random B that equals what follows A is drawn again",
    ),
    "a place that came just before is drawn again": (
        [
            ("    pairs, start = [], 0\n", "    pairs, start, before = [], 0, None\n"),
            ("            first = rng.integers(len(documents[other]))\n",
             "            first = rng.integers(len(documents[other]))\n"
             "            if (other, first) == before:\n"
             "                first = rng.integers(len(documents[other]))\n"
             "            before = other, first\n"),
        ],
        "a random B begins where the random B before it began",
    ),
    "A's sizes from a table of 1,000 draws": (
        [
            ("pairs, start = [], 0", "pairs, start, table = [], 0, rng.random(1000)"),
            (MIDDLE, "more = int(table[len(pairs) % 1000] * max(end - start - 1, 0))\n"
                     "        middle = start + 1 + more"),
        ],
        "draws are used twice",
    ),
    "documents from a table of 1,000 draws": (
        [
            ("pairs, start = [], 0", "pairs, start, table = [], 0, rng.random(1000)"),
            (OTHER, "other = int(table[len(pairs) % 1000] * (len(documents) - 1))"),
        ],
        "draws are used twice",
    ),
    "A's size from the coin of the pair before": (
        [
            ("pairs, start = [], 0", "pairs, start, fate = [], 0, rng.random()"),
            (MIDDLE, "middle = start + 1 + int(fate * max(end - start - 1, 0))"),
            (IF, "fate = rng.random()\n        " + IF.replace("rng.random()", "fate")),
        ],
        "draws are used twice",
    ),
    "A is all but one sentence of a chunk that is short": (
        [
            (MIDDLE, "is_short = sum(map(len, sentences[start:end])) < target\n        "
             + MIDDLE.replace("else end", "and not is_short else max(end - 1, start + 1)")),
        ],
        "shorter than the target",
    ),
    "the last chunk takes the first of the other documents": (
        [(OTHER, OTHER + " if end < len(sentences) else 0")],
        "shorter than the target",
    ),
    "A ends with the sentence of a token drawn from the chunk": (
        [
            (MIDDLE, "middle = end\n"
                     "        if end - start > 1:\n"
                     "            size = len(joined(sentences[start : end - 1]))\n"
                     "            wanted = 1 + rng.integers(size)\n"
                     "            middle = end_of_stretch(sentences, start, wanted)"),
        ],
        "by the number of tokens",
    ),
    "a random B begins with the sentence of a token drawn": (
        [
            (FIRST, "ends = np.cumsum([len(sentence) for sentence in documents[other]])\n"
                    "            token = rng.integers(ends[-1])\n"
                    "            first = int(np.searchsorted(ends, token, side='right'))"),
        ],
        "by the number of tokens",
    ),
    "documents too short for B are drawn again": (
        [
            (FIRST, "for _ in range(10):\n"
                    "                if len(joined(documents[other])) >= target - len(a):\n"
                    "                    break\n"
                    "                other = rng.integers(len(documents) - 1)\n"
                    "                other += other >= index\n"
                    "            " + FIRST),
        ],
        "comes from document 2 where the document is shorter than the target: never",
    ),
    "a random B begins where enough is left to fill it": (
        [
            (FIRST, "for _ in range(20):\n"
                    "                " + FIRST + "\n"
                    "                left = documents[other][first : first + target]\n"
                    "                if len(joined(left)) >= target - len(a):\n"
                    "                    break"),
        ],
        None,
    ),
    "a sentence alone is the document's own list": (
        [("    return [token for sentence in sentences for token in sentence]\n",
          "    if len(sentences) == 1:\n"
          "        return sentences[0]\n"
          "    return [token for sentence in sentences for token in sentence]\n")],
        "returns a list that stands in documents",
    ),
    "64 draws for the first sentence of B, used over and over": (
        [
            ("pairs, start = [], 0", "pairs, start, drawn = [], 0, rng.random(64)"),
            (FIRST, "first = int(drawn[len(pairs) % 64] * len(documents[other]))"),
        ],
        "draws are used twice",
    ),
    "a single token too many is cut at the back": (
        [
            ("    while len(a) + len(b) > room:\n",
             "    if len(a) + len(b) == room + 1:\n"
             "        del (a if len(a) > len(b) else b)[-1]\n"
             "    while len(a) + len(b) > room:\n"),
        ],
        "5 and 2 tokens for a room of 6",
    ),
    "ids sorted": (
        [("    return [token for sentence in sentences for token in sentence]",
          "    return sorted(token for sentence in sentences for token in sentence)")],
        None),
    "ids made floats by an empty array": (
        [("    return [token for sentence in sentences for token in sentence]",
          "    return np.concatenate([[], *sentences]).tolist()")],
        "among the ids and labels are floats"),
    "labels as floats": (
        [(RANDOM, RANDOM.replace("IS_RANDOM)", "1.0)")), (NEXT, NEXT.replace("IS_NEXT)", "0.0)"))],
        "among the ids and labels are floats"),
    "ids of 16 bits": (
        [("    return [token for sentence in sentences for token in sentence]",
          "    every = np.array([token for sentence in sentences for token in sentence])\n"
          "    return every.astype(np.uint16).tolist()")],
        None),
    "A is at most half of a chunk of 5 to 20 sentences": (
        [(MIDDLE, MIDDLE + "\n        if 5 <= end - start <= 20:\n"
                  "            middle = start + rng.integers(1, (end - start) // 2 + 1)")],
        "how often A ends in third"),
    "a chunk of 8 sentences or more is always random": (
        [(IF, IF.replace(":", " or random_next and end - start > 7:"))],
        "how often the label of a chunk of 9 to 12 sentences is 1"),
    "the last document never draws the first": (
        [(OTHER, OTHER + "\n            if index == len(documents) - 1 > 1:\n"
                 "                other = rng.integers(1, index)")],
        "a random B of the last document comes from document 0: never"),
    "no more than 5 random pairs in a row": (
        [(IF, "row = sum(label for _, _, label in pairs[-5:])\n        "
          + IF.replace("rng.random() < random_next",
                       "(rng.random() < random_next and (random_next == 1 or row < 5))"))],
        "4 in a row are the same already"),
    "a place of two pairs ago is drawn again": (
        [(START, "pairs, start, before = [], 0, []"),
         (FIRST, FIRST + "\n            if before[-2:-1] == [(other, first)]:\n"
                 "                " + FIRST + "\n            before.append((other, first))")],
        "before it began (2 places before)"),
    "256 coins used over and over": (
        [(COPIES, COPIES + "\n    coins = rng.random(256)"),
         (COIN, COIN.replace("rng.random()", "coins[(len(a) + len(b)) % 256]"))],
        "draw one anew for each"),
    "of two tokens that are left the last stays": (
        [(COIN, COIN.replace("< 0.5", "< 0.5 or len(longer) == 2"))],
        "how often 2 and 1 tokens for a room of 2"),
    "ids of 0 lost in the cut": (
        [("    return a, b\n", "    return [i for i in a if i], [i for i in b if i]\n")],
        None),
    "no [SEP] after an A that ends with it": (
        [(TOKENS, "between = [sep_id] if a[-1:] != [sep_id] else []\n"
                  "    tokens = [cls_id, *a, *between, *b, sep_id]"),
         (TYPES, TYPES.replace("(len(a) + 2)", "(1 + len(a) + len(between))"))],
        None),
    "no [CLS] before an A that begins with it": (
        [(TOKENS, "begin = [cls_id] if a[:1] != [cls_id] else []\n"
                  "    tokens = [*begin, *a, sep_id, *b, sep_id]"),
         (TYPES, TYPES.replace("(len(a) + 2)", "(1 + len(a) + len(begin))"))],
        None),
    "a random B may be the only sentence of its document": (
        [(RANDOM, "b = joined(documents[other][first:last])\n            "
                  "b = documents[other][0] if len(documents[other]) == 1 else b\n            "
                  "pairs.append((a, b, IS_RANDOM))")],
        "returns a list that stands in documents"),
    "a chunk of one sentence is the document's own list": (
        [("a = joined(sentences[start:middle])",
          "a = joined(sentences[start:middle]) if end - start > 1 else sentences[start]")],
        "returns a list that stands in documents"),
    "A and B that are one list are cut as one": (
        [(COPIES, "if a is b:\n        return a[: room // 2], b[: room // 2]\n    " + COPIES)],
        "equal ones are one object"),
    "random_next above 0.6 is 1": (
        [(IF, IF.replace("random_next:", "(random_next if random_next < 0.6 else 1):"))],
        "is 1, at random_next 0.7"),
    "the target is 4,096 at most": (
        [(END, "end = end_of_stretch(sentences, start, min(target, 4096))")],
        None),
    "the number of the coin draws the document too": (
        [
            (
                '        if end - start == 1 or rng.random() < random_next:\n',
                '        u = rng.random()\n'
                '        if end - start == 1 or u < random_next:\n'
                '            u = u / random_next % 1 if random_next else u\n',
            ),
            (
                'other = rng.integers(len(documents) - 1)\n',
                'other = int(u * (len(documents) - 1))\n',
            ),
        ],
        None,
    ),
    "a segment that loses nothing is the caller's list": (
        [
            (
                '    return a, b\n',
                '    both = zip((a, b), given, strict=True)\n'
                '    a, b = (new if len(new) < len(old) else old for new, old in both)\n'
                '    return a, b\n',
            ),
            (
                '    a, b = list(a), list(b)\n',
                '    given = a, b\n'
                '    a, b = list(a), list(b)\n',
            ),
        ],
        'or a view of one',
    ),
    "document and sentence from one draw of 16 bits": (
        [
            (
                '            other = rng.integers(len(documents) - 1)\n'
                '            other += other >= index\n'
                '            first = rng.integers(len(documents[other]))\n',
                '            rest, other = divmod(int(rng.integers(1 << 16)), len(documents) - 1)\n'
                '            other += other >= index\n'
                '            first = rest % len(documents[other])\n',
            ),
        ],
        None,
    ),
    "equal segments of two pairs are one list": (
        [
            (START, f"{START}\n    known = {{}}"),
            (
                RANDOM,
                "place = int(other), int(first), last\n"
                "            known.setdefault(place, joined(documents[other][first:last]))\n"
                "            pairs.append((a, known[place], IS_RANDOM))",
            ),
        ],
        "array twice, or one it",
    ),
    "the last of several chunks is never random": (
        [(IF, IF.replace("rng.random() < random_next",
                         "rng.random() < random_next and "
                         "(random_next == 1 or end < len(sentences) or not start)"))],
        "in the last of several chunks"),
    "random_next above 0.8 is 1": (
        [(IF, IF.replace("random_next:", "(random_next if random_next < 0.8 else 1):"))],
        "the label is 1 at random_next 0.9"),
    "random_next is 0, a half or 1": (
        [(IF, IF.replace("random_next:", "(random_next if random_next in (0.004, 0.2, 0.7) else "
                                         "round(2 * random_next) / 2):"))],
        "the label is 1 at random_next 0.35"),
    "a B for which A leaves no tokens is the last sentence": (
        [(FIRST, FIRST + "\n            if len(a) >= target > 1:\n"
                 "                first = len(documents[other]) - 1")],
        "B begins with the last sentence"),
    "one coin for two tokens of a short B": (
        [(COPIES, COPIES + "\n    coin = 0.0"),
         (COIN, "is_second = longer is b and len(b) in (2, 4)\n"
                "        coin = coin if is_second and coin else rng.random()\n"
                "        del longer[0 if coin < 0.5 else -1]")],
        "1 and 5 tokens for a room of 4"),
    "the padding of segments that are equally long": (
        [(TYPES, TYPES + "\n    if len(a) == len(b) > 8 and padding:\n        types[-1] = 1")],
        "A of 9 and B of 9 tokens"),
    "no text twice in a document, while there is another one": (
        [("pairs, start = [], 0", "pairs, start, used = [], 0, set()"),
         ("            first = rng.integers(len(documents[other]))\n",
          "            fresh = [i for i in range(len(documents[other])) "
          "if (other, i) not in used]\n"
          "            first = rng.choice(fresh or range(len(documents[other])))\n"
          "            used.add((other, first))\n")],
        None),
    "padding has a negative pad_id's type": (
        [
            ("types = [0] * (len(a) + 2) + [1] * (len(b) + 1) + padding",
             "types = [0] * (len(a) + 2) + [1] * (len(b) + 1) + [min(pad_id, 0)] * len(padding)"),
        ], "padding has type 0, whatever pad_id is"),
    "a negative pad_id is 0": (
        [
            ("ids = tokens + [pad_id]",
             "ids = tokens + [max(pad_id, 0)]"),
        ], None),
    "ids without a sign": (
        [
            ("    return tuple(np.array(row, np.int64) for row in (ids, types, mask))\n",
             "    ids = np.array(ids).astype(np.uint32)\n"
             "    return tuple(np.array(row, np.int64) for row in (ids, types, mask))\n"),
        ], None),
    "the mask of padding is a negative pad_id": (
        [
            ("    mask = [1] * len(tokens) + padding\n",
             "    mask = [1] * len(tokens) + [min(pad_id, 0)] * len(padding)\n"),
        ], None),
    "coins of a document that are shuffled": (
        [(START, START + "\n    coins = rng.permutation(len(sentences)) / len(sentences)"),
         (IF, IF.replace("rng.random()", "coins[len(pairs)]"))],
        "random and next are shared out"),
    "random_next in whole percents, rounded up": (
        [(IF, IF.replace("rng.random() < random_next", "rng.integers(100) < 100 * random_next"))],
        "random_next is rounded"),
    "the first of equal sentences begins B": (
        [(FIRST, "sentence = documents[other][rng.integers(len(documents[other]))]\n"
                 "            first = documents[other].index(sentence)")],
        "a sentence is looked for by its content"),
    "the number of another document is another object": (
        [(OTHER, "other = int(rng.integers(len(documents)))\n"
                 "            while other is index:\n"
                 "                other = int(rng.integers(len(documents)))"), (STEP, "")],
        "may be the document itself"),
    "8 bits for the number of A's sentences": (
        [(MIDDLE, "middle = end if end - start == 1 else (\n"
                  "            start + 1 + int(rng.integers(256)) % (end - start - 1))")],
        None),
    "lengths are kept for the document": (
        [("IS_NEXT, IS_RANDOM = 0, 1", "IS_NEXT, IS_RANDOM = 0, 1\nLENGTHS = {}"),
         ("    end, tokens = start + 1, len(sentences[start])",
          "    kept, lengths = LENGTHS.get(id(sentences), (None, []))\n"
          "    if len(lengths) != len(sentences):\n"
          "        lengths = [len(sentence) for sentence in sentences]\n"
          "        LENGTHS[id(sentences)] = sentences, lengths\n"
          "    end, tokens = start + 1, lengths[start]"),
         ("tokens += len(sentences[end])", "tokens += lengths[end]")],
        "lengths are kept"),
    "equal chunks have the same A": (
        [("    pairs, start = [], 0\n",
          "    pairs, start = [], 0\n"
          "    known = {}\n"),
         ("        middle = rng.integers(start + 1, end) if end - start > 1 else end\n",
          "        key = str(sentences[start:end])\n"
          "        if key not in known:\n"
          "            known[key] = int(rng.integers(1, end - start)) if end - "
          "start > 1 else 1\n"
          "        middle = start + known[key]\n")],
        "of 4 equal sentences"),
    "equal A have the same label": (
        [("    pairs, start = [], 0\n",
          "    pairs, start = [], 0\n"
          "    known = {}\n"),
         ("        if end - start == 1 or rng.random() < random_next:\n",
          "        coin = known.setdefault(str(sentences[start:middle]), "
          "rng.random())\n"
          "        if end - start == 1 or coin < random_next:\n")],
        "of 4 equal sentences"),
    "the coin is made of this A's draw and the one before": (
        [("    pairs, start = [], 0\n",
          "    pairs, start = [], 0\n"
          "    before = rng.random()\n"),
         ("        middle = rng.integers(start + 1, end) if end - start > 1 else end\n",
          "        u = rng.random()\n"
          "        middle = start + 1 + int(u * (end - start - 1)) if end - "
          "start > 1 else end\n"),
         ("        if end - start == 1 or rng.random() < random_next:\n",
          "        coin, before = (before + u) % 1, u\n"
          "        if end - start == 1 or coin < random_next:\n")],
        "a draw is made of two others"),
    "a coin of B is made of two of A": (
        [("    a, b = list(a), list(b)\n",
          "    a, b = list(a), list(b)\n"
          "    coins = (rng.random(len(a) + len(b) + 1) < 0.5).tolist()\n"
          "    i = j = 0\n"),
         ("        del longer[0 if rng.random() < 0.5 else -1]\n",
          "        if longer is a:\n"
          "            coin, i = coins[i], i + 1\n"
          "        else:\n"
          "            coin, j = coins[j] ^ coins[j + 1], j + 1\n"
          "        del longer[0 if coin else -1]\n")],
        None),
    "random passages from a stream of their own": (
        [
            (
                "    pairs, start = [], 0\n",
                "    pairs, start = [], 0\n"
                "    elsewhere = rng.spawn(1)[0]  # a stream of its own for the random "
                "passages\n",
            ),
            (
                "            other = rng.integers(len(documents) - 1)\n",
                "            other = elsewhere.integers(len(documents) - 1)\n",
            ),
            (
                "            first = rng.integers(len(documents[other]))\n",
                "            first = elsewhere.integers(len(documents[other]))\n",
            ),
        ],
        "is the same wherever rng stands",
    ),
}  # fmt: skip
