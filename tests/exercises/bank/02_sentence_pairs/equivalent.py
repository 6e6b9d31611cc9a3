"""Mutants of the solution of 02_sentence_pairs that nobody can tell from it, and why."""

EQUIVALENT = {
    "sentence_pairs: if end - start == 1 or rng.random() < random_next: | rng.random() < "
    "random_next => (rng.random() <= random_next)": (
        "a uniform number equals random_next once in 2**53 draws"
    ),
    "sentence_pairs: pairs.append((a, joined(sentences[middle:end]), IS_NEXT)) | "
    "pairs.append((a, joined(sentences[middle:end]), IS_NEXT)) => start = end "
    "pairs.append((a, joined(sentences[middle:end]), IS_NEXT))": (
        "what is appended does not read start"
    ),
    "frame_pair: return tuple(np.array(row, np.int64) for row in (ids, types, mask)) | "
    "np.array(row, np.int64) => np.array(row)": (
        "NumPy makes int64 of Python's integers by itself since version 2"
    ),
}
