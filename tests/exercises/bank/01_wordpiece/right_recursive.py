"""Regular expressions for the words; a recursion for the pieces; ids by map."""

import re
import unicodedata


def basic_tokens(text, *, lowercase=True):
    if lowercase:
        text = "".join(filter(lambda c: unicodedata.category(c) != "Mn",
                              unicodedata.normalize("NFD", text.lower())))  # fmt: skip
    found = []
    for word in text.split():
        kinds = "".join(
            "m" if unicodedata.category(c)[0] == "P" or (c.isascii() and not c.isalnum()) else "w"
            for c in word
        )
        found += [word[m.start() : m.end()] for m in re.finditer("m|w+", kinds)]
    return found


def _rest(word, start, vocabulary):
    if start == len(word):
        return []
    fitting = [end for end in range(start + 1, len(word) + 1)
               if (start > 0) * "##" + word[start:end] in vocabulary]  # fmt: skip
    if not fitting:
        return None
    rest = _rest(word, fitting[-1], vocabulary)
    return None if rest is None else [(start > 0) * "##" + word[start : fitting[-1]], *rest]


def wordpieces(word, vocabulary, *, longest_word=100):
    pieces = _rest(word, 0, vocabulary) if len(word) <= longest_word else None
    return ["[UNK]"] if pieces is None else pieces


def encode(text, vocabulary, *, lowercase=True):
    ids = []
    for word in basic_tokens(text, lowercase=lowercase):
        ids.extend(map(vocabulary.__getitem__, wordpieces(word, vocabulary)))
    return ids
