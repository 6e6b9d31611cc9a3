"""Pieces by way of the lengths that the vocabulary has; the first fitting one by `next`."""


def wordpieces(word, vocabulary, *, longest_word=100):
    if longest_word < len(word):
        return ["[UNK]"]
    both = {n for piece in vocabulary for n in (len(piece), len(piece.removeprefix("##")))}
    lengths = sorted(both, reverse=True)
    found, rest = [], word
    while rest:
        hashes = "##" if found else ""
        fitting = (rest[:n] for n in lengths if n and hashes + rest[:n] in vocabulary)
        longest = next(fitting, None)
        if longest is None:
            return ["[UNK]"]
        found.append(hashes + longest)
        rest = rest[len(longest) :]
    return found
