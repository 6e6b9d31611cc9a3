"""By the number of each token's word, as fast tokenizers give it."""

import numpy as np


def align(pieces, labels, *, cls_id, sep_id, unk_id, max_length):
    pieces = [p if len(p) else [unk_id] for p in pieces]
    tokens = [(piece, word) for word, p in enumerate(pieces) for piece in p][: max_length - 2]
    words = [None, *(word for _, word in tokens), None]
    spoken = [
        -100 if word is None or word == words[i - 1] else labels[word]
        for i, word in enumerate(words)
    ]
    return {
        "input_ids": [cls_id] + [piece for piece, _ in tokens] + [sep_id],
        "labels": spoken,
        "starts": [words.index(word) if word in words else -1 for word in range(len(pieces))],
    }


def tags_of_words(logits, starts, names):
    best = np.argmax(logits, axis=-1)
    return [names[best[start]] if start > 0 or start == 0 else "O" for start in starts]
