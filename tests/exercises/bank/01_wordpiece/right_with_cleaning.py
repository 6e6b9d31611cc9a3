"""Control characters dropped and Chinese characters alone, as BERT does: the page allows both."""

import re
import unicodedata

MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
CHINESE = re.compile("([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")


def basic_tokens(text, *, lowercase=True):
    text = "".join(" " if c.isspace() else c for c in text
                   if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))  # fmt: skip
    text = CHINESE.sub(r" \1 ", text)
    tokens, word = [], ""
    for char in unicodedata.normalize("NFD", text).lower() if lowercase else text:
        category = unicodedata.category(char)
        if lowercase and category == "Mn":
            continue
        is_mark = char in MARKS or category[0] == "P"
        if is_mark or char == " ":
            tokens += [word] * bool(word) + [char] * is_mark
            word = ""
        else:
            word += char
    return tokens + [word] * bool(word)


def encode(text, vocabulary, *, lowercase=True):
    ids = []
    for word in basic_tokens(text, lowercase=lowercase):
        pieces = wordpieces(word, vocabulary)
        ids += [vocabulary["[UNK]"]] if pieces == ["[UNK]"] else [vocabulary[p] for p in pieces]
    return ids
