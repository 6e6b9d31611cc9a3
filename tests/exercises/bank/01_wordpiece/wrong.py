"""Wrong answers to 01_wordpiece, as edits of the solution, and the words that name each."""

MARKS = 'is_ascii_mark or unicodedata.category(char).startswith("P")'
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

WRONG = {
    "cut at white space alone": ([(SPLIT, "return text.split()")], "only cut at white space"),
    "cut at single spaces": (
        [(SPLIT, SPLIT.replace(".split()", '.split(" ")'))], "an empty word is among the tokens"),
    "marks dropped": (
        [(SPLIT, SPLIT.replace('f" {char} "', '" "'))], "the punctuation marks are dropped"),
    "ASCII marks alone": ([(f"return {MARKS}", "return is_ascii_mark")], "only ASCII's"),
    "category P alone": (
        [(f"return {MARKS}", 'return unicodedata.category(char).startswith("P")')],
        "only Unicode's category P"),
    "runs of marks stay together": (
        [(SPLIT, "import re\n    return re.findall(r'\\w+|[^\\w\\s]+', text)")],
        "marks that follow one another stay together"),
    "apostrophes and hyphens kept": (
        [(f"return {MARKS}", f"return char not in \"'-\" and ({MARKS})")], None),
    "always lower case": (
        [("    if lowercase:\n", "    if True:\n")], "the text is always put in lower case"),
    "accents off in a cased text": (
        [(LOWER, f"{LOWER} if lowercase else text"), ("    if lowercase:\n", "    if True:\n")],
        "accents are taken off a cased text"),
    "accents stay": ([(STRIP, "")], "the accents are still there"),
    "capitals stay": ([(LOWER, "pass")], "but capital letters stay"),
    "never in lower case": ([("    if lowercase:\n", "    if False:\n")], "is never put in lower"),
    "not decomposed": (
        [(DECOMPOSED, "decomposed = text")], "accents that are part of their letter"),
    "ASCII alone": (
        [(DECOMPOSED, f'{DECOMPOSED}.encode("ascii", "ignore").decode()')],
        "not ASCII is dropped, once the accents are off"),
    "NFKD": ([('"NFD"', '"NFKD"')], "form NFKD"),
    "casefold": ([("char.lower()", "char.casefold()")], "casefold makes ss of ß"),
    "shortest first": (
        [(ENDS, "range(start + 1, len(word) + 1)")], "the shortest piece is taken"),
    "single characters never tried": (
        [(ENDS, "range(len(word), start + 1, -1)")], "pieces of one character are never tried"),
    "no ## looked for": ([(PREFIX, 'prefix = ""')], "looked for without ##"),
    "## for the first too": ([(PREFIX, 'prefix = "##"')], "the first piece is looked for with ##"),
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
    "100 written in": ([(TOO_LONG, "if len(word) > 100:")], "100 is written into the function"),
    "any length": ([(TOO_LONG, "if False:")], "a word may have any length"),
    "too long is cut off": (
        [(f'{TOO_LONG}  # "more than": a word of exactly 100 characters is still cut\n'
          '        return ["[UNK]"]', "word = word[:longest_word]")],
        "a word that is too long is cut off"),
    "encode ignores lowercase": (
        [(WORDS, "words = basic_tokens(text)")], "it is to be handed on to basic_tokens"),
    "[CLS] and [SEP] added": (
        [(RESULT, f"{RESULT.replace('return ', 'ids = ')}\n"
                  "    return [vocabulary['[CLS]'], *ids, vocabulary['[SEP]']]")],
        "[CLS] and [SEP] are added"),
    "id 100 for [UNK]": (
        [(RESULT, RESULT.replace("[piece]", '[piece] if piece != "[UNK]" else 100'))],
        "the id of [UNK] is written into the function"),
    "id 0 for what is unknown": (
        [(RESULT, "vocabulary = {k: v for k, v in vocabulary.items() if k != '[UNK]'}\n    "
          + RESULT.replace("vocabulary[piece]", "vocabulary.get(piece, 0)"))],
        "the id of [UNK] is written into the function"),
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
}  # fmt: skip
