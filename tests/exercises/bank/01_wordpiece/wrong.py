"""Wrong answers to 01_wordpiece, as edits of the solution, and the words that name each."""

MARKS = 'char in string.punctuation or unicodedata.category(char).startswith("P")'
SPLIT = 'return "".join(f" {char} " if is_punctuation(char) else char for char in text).split()'
DECOMPOSED = 'decomposed = unicodedata.normalize("NFD", text)'
LOWER = 'text = "".join(char.lower() for char in text)'
STRIP = 'text = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")'
TOO_LONG = "if len(word) > longest_word:"
PREFIX = 'prefix = "##" if start > 0 else ""'
ENDS = "range(len(word), start, -1)"
UNKNOWN = '            return ["[UNK]"]\n    return pieces'
RESULT = "return [vocabulary[piece] for word in words for piece in wordpieces(word, vocabulary)]"
WORDS = "words = basic_tokens(text, lowercase=lowercase)"
# Marks within what a pattern finds are kept.
KEPT = """import re
    kept = {{i for found in re.finditer(r"{}", text) for i in range(*found.span())}}
    return "".join(f" {{char}} " if is_punctuation(char) and place not in kept else char
                   for place, char in enumerate(text)).split()"""

WRONG = {
    "the longest piece of a vocabulary without any": (
        [("    pieces = []\n", "    longest = max(map(len, vocabulary))\n    pieces = []\n")],
        "max() arg is an empty sequence"),
    "another name for text": (
        [("def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:",
          "def basic_tokens(sentence: str, *, lowercase: bool = True) -> list[str]:"),
         ("    if lowercase:\n", "    text = sentence\n    if lowercase:\n")],
        "was an argument of the starter renamed"),
    "the locale stays set": (
        [("    if lowercase:\n", "    import locale\n\n    is_plain = locale.setlocale(6) == 'C'\n"
          "    locale.setlocale(6, 'C.UTF-8' if is_plain else 'C')\n"
          "    if lowercase:\n")],
        "changed the locale"),
    "cut at white space alone": ([(SPLIT, "return text.split()")], "only cut at white space"),
    "cut at single spaces": (
        [(SPLIT, SPLIT.replace(".split()", '.split(" ")'))], "an empty word is among the tokens"),
    "marks dropped": (
        [(SPLIT, SPLIT.replace('f" {char} "', '" "'))], "the punctuation marks are dropped"),
    "ASCII marks alone": (
        [(f"return {MARKS}", "return char in string.punctuation")], "only ASCII's"),
    "category P alone": (
        [(f"return {MARKS}", 'return unicodedata.category(char).startswith("P")')],
        "only Unicode's category P"),
    "runs of marks stay together": (
        [(SPLIT, "import re\n    return re.findall(r'\\w+|[^\\w\\s]+', text)")],
        "marks that follow one another stay together"),
    "apostrophes and hyphens kept": (
        [(f"return {MARKS}", f"return char not in \"'-\" and ({MARKS})")], None),
    "always lower case": (
        [("    if lowercase:\n", "    if True:\n")], "the text always becomes lower case"),
    "accents off in a cased text": (
        [(LOWER, f"{LOWER} if lowercase else text"), ("    if lowercase:\n", "    if True:\n")],
        "accents are removed from a cased text"),
    "accents stay": ([(STRIP, "")], "the accents are still there"),
    "capitals stay": ([(LOWER, "pass")], "but capital letters stay"),
    "never in lower case": (
        [("    if lowercase:\n", "    if False:\n")], "the text never becomes lower case"),
    "not decomposed": (
        [(DECOMPOSED, "decomposed = text")], "accents that are part of their letter"),
    "ASCII alone": (
        [(DECOMPOSED, f'{DECOMPOSED}.encode("ascii", "ignore").decode()')],
        "not ASCII is dropped after the accents"),
    "NFKD": ([('"NFD"', '"NFKD"')], "form NFKD"),
    "casefold": ([("char.lower()", "char.casefold()")], "casefold makes ss of ß"),
    "shortest first": (
        [(ENDS, "range(start + 1, len(word) + 1)")], "the shortest piece is chosen"),
    "single characters never tried": (
        [(ENDS, "range(len(word), start + 1, -1)")], "pieces of one character are never tried"),
    "no ## looked for": ([(PREFIX, 'prefix = ""')], "looked up without ##"),
    "## for the first too": ([(PREFIX, 'prefix = "##"')], "the first piece is looked up with ##"),
    "no ## in the result": (
        [("pieces.append(piece)", "pieces.append(word[start:end])")],
        "the ## is missing in the result"),
    "pieces before [UNK] kept": (
        [(UNKNOWN, UNKNOWN.replace('["[UNK]"]', '[*pieces, "[UNK]"]'))],
        "what was found before the unknown place is kept"),
    "one [UNK] a character": (
        [(UNKNOWN, '            pieces.append("[UNK]")\n            start += 1\n'
                   "    return pieces")],
        "only the unknown character becomes [UNK]"),
    "unknown characters left out": (
        [(UNKNOWN, "            start += 1\n    return pieces")],
        "the unknown character is left out"),
    "goes back": (
        [("    pieces = []\n", "    def go(start):\n"
          "        if start == len(word):\n            return []\n"
          "        for end in range(len(word), start, -1):\n"
          "            piece = ('##' if start else '') + word[start:end]\n"
          "            if piece in vocabulary and (rest := go(end)) is not None:\n"
          "                return [piece, *rest]\n"
          "    return go(0) or ['[UNK]']\n    pieces = []\n")],
        "goes back and tries another"),
    "from the right": (
        [("    pieces = []\n", "    pieces, end = [], len(word)\n    while end:\n"
          "        for start in range(end):\n"
          "            piece = ('##' if start else '') + word[start:end]\n"
          "            if piece in vocabulary:\n                break\n"
          "        else:\n            return ['[UNK]']\n"
          "        pieces.insert(0, piece)\n        end = start\n    return pieces\n")],
        "cut from the right"),
    "whole words alone": (
        [("    pieces = []\n", "    return [word] if word in vocabulary else ['[UNK]']\n"
                               "    pieces = []\n")],
        "need not be [UNK]: cut it into pieces"),
    "pieces of at most 4 characters": (
        [(ENDS, "range(min(len(word), start + 4), start, -1)")], None),
    "exactly the longest is too long": (
        [(TOO_LONG, TOO_LONG.replace(">", ">="))], "exactly longest_word characters"),
    "length in bytes": (
        [(TOO_LONG, "if len(word.encode()) > longest_word:")], "counted in bytes"),
    "100 written in": ([(TOO_LONG, "if len(word) > 100:")], "100 is hard-coded"),
    "any length": ([(TOO_LONG, "if False:")], "a word may have any length"),
    "too long is cut off": (
        [(f'{TOO_LONG}  # "more than": a word of exactly 100 characters is still cut\n'
          '        return ["[UNK]"]', "word = word[:longest_word]")],
        "a word that is too long is shortened"),
    "encode ignores lowercase": (
        [(WORDS, "words = basic_tokens(text)")], "with lowercase=False: does encode pass it on"),
    "[CLS] and [SEP] added": (
        [(RESULT, f"{RESULT.replace('return ', 'ids = ')}\n"
                  "    return [vocabulary['[CLS]'], *ids, vocabulary['[SEP]']]")],
        "[CLS] and [SEP] are added"),
    "id 100 for [UNK]": (
        [(RESULT, RESULT.replace("[piece]", '[piece] if piece != "[UNK]" else 100'))],
        "the id of [UNK] is hard-coded"),
    "id 0 for what is unknown": (
        [(RESULT, "vocabulary = {k: v for k, v in vocabulary.items() if k != '[UNK]'}\n    "
          + RESULT.replace("vocabulary[piece]", "vocabulary.get(piece, 0)"))],
        "the id of [UNK] is hard-coded"),
    "[UNK] left out": (
        [(RESULT, RESULT.replace("vocabulary)]", 'vocabulary) if piece != "[UNK]"]'))],
        "unknown words are left out"),
    "encode looks words up whole": (
        [(RESULT, "return [vocabulary.get(word, vocabulary['[UNK]']) for word in words]")],
        "words are looked up whole"),
    "pieces for ids": (
        [(RESULT, RESULT.replace("vocabulary[piece]", "piece"))], "expected a number"),
    "the vocabulary grows": (
        [(RESULT, RESULT.replace("vocabulary[piece]", "vocabulary.setdefault(piece, 0)")),
         (WORDS, f"{WORDS}\n    vocabulary.setdefault('it', vocabulary.pop('it', 0))\n"
                 "    vocabulary['seen'] = len(words)")],
        "changed its input in place"),
    "everything that is not alphanumeric is a mark": (
        [(f"return {MARKS}", "return not char.isalnum()")],
        "every character that is no letter or digit is cut off"),
    "all symbols are marks": (
        [(f"return {MARKS}", 'return unicodedata.category(char)[0] in "PS"')],
        "every symbol of Unicode (category S) is cut off"),
    "a regular expression for words": (
        [(SPLIT, "import re\n    return re.findall(r'[^\\W_]+|[^\\w\\s]|_', text)")],
        "every character that is no letter or digit is cut off"),
    "only tabs, spaces and line ends part words": (
        [(SPLIT, "import re\n    text = "
          + SPLIT.removeprefix("return ").removesuffix(".split()")
          + "\n    return [w for w in re.split('[ \\t\\n]+', text) if w]")],
        "only some white space ends a word"),
    "a list of marks by heart": (
        [(f"return {MARKS}",
          "return char in \".,!?:;()-'\" or char not in string.punctuation and (" + MARKS + ")")],
        None),
    "a cased text in form NFC": (
        [("    if lowercase:\n", "    if not lowercase:\n"
          "        text = unicodedata.normalize('NFC', text)\n    if lowercase:\n")],
        "brought into another Unicode form"),
    "all combining characters dropped": (
        [('unicodedata.category(char) != "Mn")', 'unicodedata.category(char)[0] != "M")')],
        "every combining character is dropped"),
    "cased by default": (
        [("def basic_tokens(text: str, *, lowercase: bool = True)",
          "def basic_tokens(text: str, *, lowercase: bool = False)")],
        "without the argument, lowercase is True"),
    "encode cased by default": (
        [("vocabulary: dict[str, int], *, lowercase: bool = True",
          "vocabulary: dict[str, int], *, lowercase: bool = False")],
        "without the argument, lowercase is True"),
    "the piece of id 0 is missing": (
        [("if piece in vocabulary:", "if vocabulary.get(piece):")], "whose id is 0"),
    "the id 0 is unknown": (
        [(RESULT, RESULT.replace("vocabulary[piece]",
                                 "(vocabulary.get(piece) or vocabulary['[UNK]'])"))],
        "the id 0 counts as missing"),
    "a shorter limit for encode": (
        [(RESULT, RESULT.replace("(word, vocabulary)", "(word, vocabulary, longest_word=50)"))],
        None),
    "None for an unknown piece": (
        [(RESULT, "vocabulary = {k: v for k, v in vocabulary.items() if k != '[UNK]'}\n    "
          + RESULT.replace("vocabulary[piece]", "vocabulary.get(piece)"))], None),
    "white space by a list": (
        [("for char in text).split()",
           "for char in text).translate({ord(c): ' ' for c in '\\t\\n\\r\\f\\v\\u00a0\\u200"
           "0\\u2001\\u2002\\u2003\\u2009\\u200a\\u3000'}).strip(' ').split(' ') if 0 else"
           " [w for w in __import__('re').split('[ \\t\\n\\r\\f\\v\\u00a0\\u2000-\\u200a\\u30"
           "00]+', ''.join(f' {c} ' if is_punctuation(c) else c for c in text)) if w"
           "]")],
        "only some white space ends a word: all of it"),
    "no connectors or brackets outside ASCII": (
        [("unicodedata.category(char).startswith(\"P\")",
           "unicodedata.category(char) in (\"Po\", \"Pd\", \"Pi\", \"Pf\")")],
        None),
    "marks by blocks: latin 1 and general punctuation": (
        [("unicodedata.category(char).startswith(\"P\")",
           "(char in \"¡§«¶·»¿\" or 0x2010 <= ord(char) <= 0x2027 or 0x2030 <= ord(cha"
           "r) <= 0x205E and unicodedata.category(char) != \"Sm\")")],
        None),
    "pieces of at most 15 characters": (
        [("for end in range(len(word), start, -1):",
           "for end in range(min(len(word), start + 15), start, -1):")],
        None),
    "longest_word 0 means no limit": (
        [("if len(word) > longest_word:",
           "if longest_word and len(word) > longest_word:")],
        "longest_word=0 is taken for no"),
    "a cache over vocabularies": (
        [("    # [UNK] is an entry like any other; its id is 100 in the released vo"
           "cabularies, not in all.\n    return [vocabulary[piece] for word in words "
           "for piece in wordpieces(word, vocabulary)]",
           "    return [i for word in words for i in CACHE.setdefault((word, len(voc"
           "abulary)), [vocabulary[piece] for piece in wordpieces(word, vocabulary)]"
           ")]"),
          ("def is_punctuation(char):",
           "CACHE = {}\n\n\ndef is_punctuation(char):")],
        None),
    "unknown words are remembered in the vocabulary": (
        [("            return [\"[UNK]\"]\n    return pieces",
           "            vocabulary[word] = vocabulary.get('[UNK]', 0)\n            re"
           "turn [\"[UNK]\"]\n    return pieces")],
        "an operation like x -= … or x[…] = … works on the caller's"),
    "the first character of the decomposition": (
        [("text = \"\".join(char for char in decomposed if unicodedata.category(char)"
           " != \"Mn\")",
           "text = \"\".join(unicodedata.normalize(\"NFD\", c)[0] for c in text if unico"
           "dedata.category(c) != \"Mn\")")],
        "everything after a letter's first character is dropped:"),
    "one accent of a letter": (
        [("text = \"\".join(char for char in decomposed if unicodedata.category(char)"
           " != \"Mn\")",
           "text = \"\".join(chr(int(d.split()[0], 16)) if (d := unicodedata.decomposi"
           "tion(c)) and not d.startswith(\"<\") else c for c in text if unicodedata.c"
           "ategory(c) != \"Mn\")")],
        "of a letter with several accents, only one is"),
    "no longer than the longest first piece": (
        [("    pieces = []\n",
           "    pieces = []\n    most = max((len(p) for p in vocabulary if not p.startswith("
           "\"##\")"
           "), default=0)\n"),
          ("range(len(word), start, -1)",
           "range(min(len(word), start + most), start, -1)")],
        None),
    # Right for small inputs, and for draws that are counted coarsely.
    "text cut 5000": (
        [("words = basic_tokens(text, lowercase=lowercase)",
          "words = basic_tokens(text[:5000], lowercase=lowercase)")],
        "the result for a text of 5,960 characters"),
    "longest capped 200": (
        [("if len(word) > longest_word:",
          "if len(word) > min(longest_word, 200):")],
        "the result for a word of 333 characters, of which 10000 are"),
    "pieces kept by the id of the vocabulary": (
        [
            ("    if len(word) > longest_word:",
             "    key = (id(vocabulary), word, longest_word)\n"
             "    if key not in _CACHE:\n"
             "        _CACHE[key] = _pieces(word, vocabulary, longest_word)\n"
             "    return list(_CACHE[key])\n"
             "\n"
             "\n"
             "_CACHE = {}\n"
             "\n"
             "\n"
             "def _pieces(word, vocabulary, longest_word):\n"
             "    if len(word) > longest_word:"),
        ],
        "found again by the object",
    ),
    "a word that begins with ## is never known": (
        [
            ("            if piece in vocabulary:",
             "            if piece in vocabulary and (start or not "
             "piece.startswith(\"##\")):"),
        ],
        None,
    ),
    "special tokens found within a text": (
        [
            ("    words = basic_tokens(text, lowercase=lowercase)\n",
             "    words = []\n"
             "    for part in "
             "__import__(\"re\").split(r\"(\\[UNK\\]|\\[MASK\\]|\\[SEP\\]|\\[CLS\\])\", text):\n"
             "        if part in vocabulary and part.startswith(\"[\"):\n"
             "            words.append(part)\n"
             "        else:\n"
             "            words += basic_tokens(part, lowercase=lowercase)\n"),
        ],
        None,
    ),
    "punctuation is cut before the accents are dropped": (
        [
            ('        decomposed = unicodedata.normalize("NFD", text)\n'
             '        text = "".join(char for char in decomposed if unicodedata.cate'
             'gory(char) != "Mn")\n'
             '        text = "".join(char.lower() for char in text)\n',
             "        pass\n"),
            ('    return "".join(f" {char} " if is_punctuation(char) else char for c'
             "har in text).split()\n",
             '    words = "".join(f" {char} " if is_punctuation(char) else char for '
             "char in text).split()\n"
             "    if lowercase:\n"
             "        words = [without_accents(word).lower() for word in words]\n"
             "    return [word for word in words if word]\n"),
            ("def is_punctuation(char):",
             "def without_accents(word):\n"
             '    decomposed = unicodedata.normalize("NFD", word)\n'
             '    return "".join(char for char in decomposed if unicodedata.category'
             '(char) != "Mn")\n'
             "\n"
             "\n"
             "def is_punctuation(char):"),
        ],
        None,
    ),
    "only upper case letters are made lower case, title case ones are not": (
        [
            ('text = "".join(char.lower() for char in text)',
             'text = "".join(char.lower() if char.isupper() else char for char in te'
             "xt)"),
        ],
        None,
    ),
    "the length of a word is that of the raw text, marks and all": (
        [
            (
                "words = basic_tokens(text, lowercase=lowercase)",
                "words = [w for raw in text.split() for w in (basic_tokens(raw, "
                "lowercase=lowercase) if len(raw) <= 100 else ['?' * 101])]",
            ),
        ],
        "words joined by hyphens",
    ),
    "punctuation beyond 16 bits stays in its word": (
        [
            (
                'or unicodedata.category(char).startswith("P")',
                'or ord(char) < 0x10000 and unicodedata.category(char).startswith("P")',
            ),
        ],
        "for each character from U+10000 on",
    ),
    "pieces of a composed word": (
        [
            ("    pieces = []\n",
             "    word = unicodedata.normalize(\"NFC\", word)\n    pieces = []\n"),
        ],
        "brought into Unicode's form NFC",
    ),
    "composed again after the accents": (
        [
            ("!= \"Mn\")\n",
             "!= \"Mn\")\n        text = unicodedata.normalize(\"NFC\", text)\n"),
        ],
        None,
    ),
    "tokens in a cache": (
        [
            ("import string\n",
             "import functools\n"
             "import string\n"),
            ("def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:\n",
             "@functools.lru_cache(maxsize=None)\n"
             "def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:\n"),
        ],
        "an earlier call has returned too",
    ),
    "ids kept by the text and the size of the vocabulary": (
        [
            ("    words = basic_tokens(text, lowercase=lowercase)\n",
             "    key = text, lowercase, len(vocabulary), vocabulary[\"[UNK]\"]\n"
             "    if key in IDS:\n"
             "        return list(IDS[key])\n"
             "    words = basic_tokens(text, lowercase=lowercase)\n"),
            ("    return [vocabulary[piece] for word in words for piece in wordpieces(word, "
             "vocabulary)]\n",
             "    IDS[key] = [vocabulary[p] for w in words for p in wordpieces(w, vocabulary)]\n"
             "    return list(IDS[key])\n"),
            ("import unicodedata\n", "import unicodedata\n\nIDS = {}\n"),
        ],
        "found again by less than every entry of the vocabulary",
    ),
    "characters of full width made narrow": (
        [
            ("        text = \"\".join(char.lower() for char in text)\n",
             "        text = \"\".join(char.lower() for char in text)\n"
             "        text = \"\".join(unicodedata.normalize(\"NFKC\", c) if \"\\uff00\" < c else c"
             " for c in text)\n"),
        ],
        "characters are made compatible",
    ),
    "a word of accents alone leaves an empty token": (
        [
            ("text = \"\".join(char for char in decomposed if unicodedata.category(char) != "
             "\"Mn\")", "text = decomposed"),
            (SPLIT,
             SPLIT.replace("return ", "words = ") + "\n"
             "    if lowercase:\n"
             "        words = [[c for c in w if unicodedata.category(c) != 'Mn'] for w in words]\n"
             "    return [\"\".join(word) for word in words]"),
        ],
        "an empty word is among the tokens",
    ),
    "special tokens are never pieces": (
        [
            ("            if piece in vocabulary:",
             "            if piece in vocabulary and piece not in ('[PAD]', '[UNK]', '[MASK]'):"),
        ],
        "pieces in brackets are never found",
    ),
    "the length is that of the word in form NFC": (
        [(TOO_LONG, "if len(unicodedata.normalize('NFC', word)) > longest_word:")],
        "the length is not that in form NFC",
    ),
    "encode composes the words": (
        [
            (WORDS, WORDS + "\n    words = [unicodedata.normalize('NFC', word) for word in words]"),
        ],
        "the words are brought into form NFC",
    ),
    "pieces kept without longest_word": (
        [
            ("    if len(word) > longest_word:",
             "    key = word, tuple(vocabulary.items())\n"
             "    if key not in KEPT:\n"
             "        KEPT[key] = cut(word, vocabulary, longest_word)\n"
             "    return list(KEPT[key])\n\n\n"
             "KEPT = {}\n\n\n"
             "def cut(word, vocabulary, longest_word):\n"
             "    if len(word) > longest_word:"),
        ],
        "found again without longest_word",
    ),
    "the length is that before the accents are removed": (
        [
            (WORDS,
             "words = []\n"
             "    for word in basic_tokens(text, lowercase=False):\n"
             "        tokens = basic_tokens(word, lowercase=lowercase)\n"
             "        words += ['[UNK]'] if len(word) > 100 else tokens"),
            (RESULT,
             "wanted = [wordpieces(w, vocabulary, longest_word=10**9) for w in words]\n"
             "    return [vocabulary[piece] for pieces in wanted for piece in pieces]"),
        ],
        "counted before its accents are removed",
    ),
    "an accent joins what stands before it": (
        [
            (SPLIT,
             "tokens, is_open = [], False\n"
             "    for char in text:\n"
             "        if char.isspace():\n"
             "            is_open = False\n"
             "        elif tokens and (is_open or unicodedata.combining(char)) and not "
             "is_punctuation(char):\n"
             "            tokens[-1] += char\n"
             "        else:\n"
             "            tokens.append(char)\n"
             "            is_open = not is_punctuation(char)\n"
             "    return tokens"),
        ],
        None,
    ),
    "words of the vocabulary are never too long for encode": (
        [
            (RESULT,
             "ids = []\n"
             "    for word in words:\n"
             "        if word in vocabulary:\n"
             "            ids.append(vocabulary[word])\n"
             "        else:\n"
             "            ids += [vocabulary[piece] for piece in wordpieces(word, vocabulary)]\n"
             "    return ids"),
        ],
        "can be too long too",
    ),
    "a text of one word is only made lower case": (
        [
            ("    # begin solution\n    if lowercase:\n",
             "    # begin solution\n"
             "    if text.isalnum():\n"
             "        return [text.lower() if lowercase else text]\n"
             "    if lowercase:\n"),
        ],
        None,
    ),
    "the length in units of UTF-16": (
        [("    if len(word) > longest_word:",
          "    if len(word.encode('utf-16-le')) // 2 > longest_word:")],
        "the length is counted in bytes, or in pairs",
    ),
    "ids made floats": (
        [(RESULT, RESULT.replace("vocabulary[piece]", "float(vocabulary[piece])"))],
        "holds floats"),
    "a point within a number is kept": (
        [(SPLIT, KEPT.format(r"(?<=\d)\.(?=\d)"))], "a mark is kept in its word"),
    "a hyphen that begins a word is kept": (
        [(SPLIT, KEPT.format(r"(?<!\S)-(?=\w)"))], "a mark is kept in its word"),
    "an apostrophe that ends a word is kept": (
        [(SPLIT, KEPT.format(r"(?<=s)'(?=\s)"))], "a mark is kept in its word"),
    "an address begins with one token": (
        [(SPLIT, KEPT.format("https?://"))], "a mark is kept in its word"),
    "two hyphens are one token": (
        [(SPLIT, "text = text.replace('--', ' \ue000 ')\n    "
          + SPLIT.replace("return ", "words = ")
          + "\n    return [word.replace('\ue000', '--') for word in words]")],
        "a mark is kept in its word"),
    "a vertical tab ends no word": (
        [(SPLIT, "import re\n    text = "
          + SPLIT.removeprefix("return ").removesuffix(".split()")
          + "\n    return [w for w in re.split('[ \\t\\n\\r\xa0\u1680\u2000-\u200a\u2028"
            "\u2029\u202f\u205f\u3000]+', text) if w]")],
        "white space stands within a word"),
    "punctuation of rare scripts stays in its word": (
        [('or unicodedata.category(char).startswith("P")',
          'or not 0x12000 < ord(char) < 0x1D000 and unicodedata.category(char)[0] == "P"')],
        "for each character from U+12000 on"),
    "selectors of a variant are no accents": (
        [('!= "Mn")', '!= "Mn" or ord(char) > 0xE0000)')], "for each character from U+12000 on"),
    "[UNK] moves to the end of the vocabulary": (
        [(WORDS, WORDS + "\n    vocabulary['[UNK]'] = vocabulary.pop('[UNK]')")],
        "changed its input in place"),
    "the word [UNK] is cut": (
        [(TOO_LONG, "if word == '[UNK]':\n        return ['[UNK]', '[UNK]']\n    " + TOO_LONG)],
        None),
    "white space alone is a token": (
        [(SPLIT, "if text.isspace():\n        return [text]\n    " + SPLIT)],
        "only some white space ends a word"),
    "a text of white space alone is unknown": (
        [(WORDS, WORDS + " or ['[UNK]'] * bool(text)")], None),
    "no more than 20 digits": (
        [(TOO_LONG, "if len(word) > 20 and word.isdigit():\n        return ['[UNK]']\n    "
          + TOO_LONG)],
        None),
    "pieces are kept by the vocabulary's object and its length": (
        [
            (
                '    if len(word) > longest_word:  # "more than": a word of exactly 100 '
                'characters is still cut\n'
                '        return ["[UNK]"]\n'
                '    pieces = []\n',
                '    key = (id(vocabulary), len(vocabulary), word, longest_word)\n'
                '    if key not in KEPT:\n'
                '        KEPT[key] = vocabulary, cut(word, vocabulary, longest_word)\n'
                '    return list(KEPT[key][1])\n'
                '\n'
                '\n'
                'KEPT = {}\n'
                '\n'
                '\n'
                'def cut(word, vocabulary, longest_word):\n'
                '    if len(word) > longest_word:\n'
                '        return ["[UNK]"]\n'
                '    pieces = []\n',
            ),
        ],
        'a value is kept from one call to the next',
    ),
    "pieces of a known word are kept for each vocabulary": (
        [("start = 0",
          "start = 0\n    key = (id(vocabulary), word, longest_word)\n    if key in KEPT:\n"
          "        return list(KEPT[key][1])"),
         ("    return pieces\n", "    KEPT[key] = vocabulary, list(pieces)\n    return pieces\n\n\n"
          "KEPT = {}\n")],
        "a value is kept from one call to the next"),
    "a text that is an entry is looked up as it is": (
        [(WORDS, "if text in vocabulary:\n        return [vocabulary[text]]\n    " + WORDS)],
        "the ids of 'B', lowercase=True"),
    "ids of 16 bits": (
        [(RESULT, "import numpy as np\n    "
          + RESULT.replace("return [", "return np.array([")
          + ").astype(np.int16).tolist()")],
        "the ids of 'aa'"),
    "an accent on what is no letter stays": (
        [(STRIP, STRIP.replace("for char in decomposed", "for place, char in enumerate(decomposed)")
          .replace('!= "Mn"', '!= "Mn" or place and decomposed[place - 1].isdigit()'))],
        "lowercase=True[0]: expected '7'"),
    "numbers are cut into digits": (
        [(ENDS, "range(start + 1 if word.isdigit() else len(word), start, -1)")],
        "the ids of '75'"),
    "no vocabulary is without pieces that continue a word": (
        [("    pieces = []\n",
          "    pieces = []\n"
          "    most = max(len(piece) - 2 for piece in vocabulary if piece.startswith('##'))\n"
          "    most = max(most, *map(len, vocabulary))\n"),
         (ENDS, "range(min(len(word), start + most), start, -1)")],
        "max() arg is an empty"),
    "tokens of more than 200 characters are dropped": (
        [(SPLIT, SPLIT.replace("return ", "words = ")
          + "\n    return [word for word in words if len(word) <= 200]")],
        "the tokens of 'bbbb"),
    "[UNK] is added to the vocabulary before a word is cut": (
        [
            ("    pieces = []\n",
             "    if \"[UNK]\" not in vocabulary:\n"
             "        vocabulary[\"[UNK]\"] = len(vocabulary)\n"
             "    pieces = []\n"),
        ], "changes a vocabulary without [UNK]"),
    "[UNK] is added to the vocabulary where no piece fits": (
        [
            ("            return [\"[UNK]\"]\n",
             "            vocabulary.setdefault(\"[UNK]\", len(vocabulary))\n"
             "            return [\"[UNK]\"]\n"),
        ], "changes a vocabulary without [UNK]"),
    "[UNK] is added to the vocabulary for a word that is too long": (
        [
            ("    if len(word) > longest_word:",
             "    if len(word) > longest_word:\n"
             "        vocabulary.setdefault(\"[UNK]\", len(vocabulary))"),
        ], "changes a vocabulary without [UNK]"),
    "[UNK] is added to the vocabulary where it stands in a word": (
        [
            ("    pieces = []\n",
             "    if \"[UNK]\" in word:\n"
             "        vocabulary.setdefault(\"[UNK]\", len(vocabulary))\n"
             "    pieces = []\n"),
        ], "changes a vocabulary without [UNK]"),
    "a long text is read in parts of 10,000 characters": (
        [(WORDS, "words = []\n"
          "    for begin in range(0, len(text), 10_000):\n"
          "        words += basic_tokens(text[begin : begin + 10_000], lowercase=lowercase)")],
        "a long text is read in parts"),
    "words are found in parts of 65,536 characters": (
        [(SPLIT, "if len(text) > 65_536:\n"
          "        parts = (text[:65_536], text[65_536:])\n"
          "        parts = [basic_tokens(part, lowercase=False) for part in parts]\n"
          "        return [word for part in parts for word in part]\n"
          "    " + SPLIT)],
        "a long text is read in parts"),
    "a word that begins with the two marks is taken for a rest": (
        [("    start = 0\n    while start < len(word):\n",
          '    rest = word\n    while rest and rest != "##":\n'),
         ('        prefix = "##" if start > 0 else ""\n', ""),
         ("for end in range(len(word), start, -1):",
          'for end in range(len(rest), 2 if rest.startswith("##") else 0, -1):'),
         ("piece = prefix + word[start:end]", "piece = rest[:end]"),
         ("                start = end\n", '                rest = "##" + rest[end:]\n')],
        None),
    "a control character ends a word": (
        [("    if lowercase:\n",
          '    text = "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)\n'
          "    if lowercase:\n")],
        "neither white space nor a mark"),
    "a formatting character is a mark": (
        [('unicodedata.category(char).startswith("P")',
          'unicodedata.category(char)[:2] in ("Cf", *"Pc Pd Pe Pf Pi Po Ps".split())')],
        "neither white space nor a mark"),
    "Chinese characters are dropped": (
        [("    if lowercase:\n",
          '    text = "".join(c for c in text if not "\u4e00" <= c <= "\u9fff")\n'
          "    if lowercase:\n")],
        "no Chinese character is dropped"),
    "a carriage return is dropped": (
        [("    if lowercase:\n", '    text = text.replace("\\r", "")\n    if lowercase:\n')],
        None),
    "of a text of few words, each is taken once": (
        [("    return [vocabulary[piece] for word in words for piece in",
          "    if len(set(words)) < len(words) // 50:\n"
          "        words = list(dict.fromkeys(words))\n"
          "    return [vocabulary[piece] for word in words for piece in")],
        None),
    "zeros before a number are dropped": (
        [("    return [vocabulary[piece] for word in words for piece in",
          "    words = [str(int(word)) if word.isdecimal() else word for word in words]\n"
          "    return [vocabulary[piece] for word in words for piece in")],
        None),
}  # fmt: skip
