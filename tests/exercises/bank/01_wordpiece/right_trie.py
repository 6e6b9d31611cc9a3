"""Pieces by way of a tree of characters, that is walked as far as it goes."""


def _tree(vocabulary):
    root = {}
    for piece in vocabulary:
        node = root
        for char in piece:
            node = node.setdefault(char, {})
        node[""] = piece
    return root


def wordpieces(word, vocabulary, *, longest_word=100):
    if len(word) > longest_word:
        return ["[UNK]"]
    root, pieces, start = _tree(vocabulary), [], 0
    inside = root.get("#", {}).get("#", {})
    while start < len(word):
        node, found = (inside if start else root), None
        for end, char in enumerate(word[start:], start + 1):
            node = node.get(char)
            if node is None:
                break
            found = (node[""], end) if "" in node else found
        if found is None:
            return ["[UNK]"]
        piece, start = found
        pieces.append(piece)
    return pieces
