"""In the manner of the released tokenization.py: whole strings, a while loop, flags."""

import unicodedata


def _is_punctuation(char):
    code = ord(char)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(char)[0] == "P"


def basic_tokens(text, *, lowercase=True):
    tokens = []
    for word in text.strip().split():
        if lowercase:
            word = word.lower()
            word = "".join(
                c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn"
            )
        begins = True
        for char in word:
            if _is_punctuation(char):
                tokens.append([char])
                begins = True
            else:
                if begins:
                    tokens.append([])
                begins = False
                tokens[-1].append(char)
    return ["".join(token) for token in tokens]


def wordpieces(word, vocabulary, *, longest_word=100):
    chars = list(word)
    if len(chars) > longest_word:
        return ["[UNK]"]
    is_bad, start, found = False, 0, []
    while start < len(chars):
        end, current = len(chars), None
        while start < end:
            piece = "".join(chars[start:end])
            if start > 0:
                piece = "##" + piece
            if piece in vocabulary:
                current = piece
                break
            end -= 1
        if current is None:
            is_bad = True
            break
        found.append(current)
        start = end
    return ["[UNK]"] if is_bad else found
