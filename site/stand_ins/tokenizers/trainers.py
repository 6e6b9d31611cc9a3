"""A vocabulary learned from text: again and again the most frequent pair of neighbors is joined."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

Pair = tuple[int, int]


class WordPieceTrainer:
    def __init__(
        self, *, vocab_size: int, min_frequency: int = 0, special_tokens: Iterable[str] = (),
        initial_alphabet: Iterable[str] = (), limit_alphabet: int | None = None,
        show_progress: bool = True,
    ) -> None:  # fmt: skip
        self.vocab_size, self.min_frequency = vocab_size, min_frequency
        self.special_tokens, self.initial_alphabet = list(special_tokens), list(initial_alphabet)

    def learn(self, texts: Iterable[str], tokenizer: Any) -> dict[str, int]:
        """The vocabulary: first the special tokens, then the characters, then what was joined."""
        vocabulary = {token: index for index, token in enumerate(self.special_tokens)}
        for char in sorted(self.initial_alphabet):
            vocabulary.setdefault(char, len(vocabulary))
        counts = Counter(
            word for text in texts
            for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(
                tokenizer.normalizer.normalize_str(text))
        )  # fmt: skip
        words = []
        for word in counts:
            pieces = [f"##{char}" if place else char
                      for place, char in enumerate(word) if char in vocabulary]  # fmt: skip
            words.append([vocabulary.setdefault(piece, len(vocabulary)) for piece in pieces])
        self._join(words, list(counts.values()), vocabulary)
        return vocabulary

    def _join(self, words: list[list[int]], counts: list[int], vocabulary: dict[str, int]) -> None:
        """Join pairs until the vocabulary is full; of two as frequent, the one of smaller ids."""
        names = list(vocabulary)
        frequency: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)
        for number, word in enumerate(words):
            for pair in pairwise(word):
                frequency[pair] += counts[number]
                places[pair].add(number)
        queue = [(-count, pair) for pair, count in frequency.items()]
        heapq.heapify(queue)
        while queue and len(vocabulary) < self.vocab_size:
            count, pair = heapq.heappop(queue)
            if -count != frequency[pair]:  # it was counted before others were joined
                if frequency[pair] > 0:
                    heapq.heappush(queue, (-frequency[pair], pair))
                continue
            if -count < max(1, self.min_frequency):
                return
            token = names[pair[0]] + names[pair[1]].removeprefix("##")
            if token not in vocabulary:
                vocabulary[token] = len(vocabulary)
                names.append(token)
            touched = set()
            for number in sorted(places.pop(pair)):
                changes = joined(words[number], pair, vocabulary[token])
                for other, change in changes:
                    frequency[other] += change * counts[number]
                    if change > 0:
                        places[other].add(number)
                        touched.add(other)
            for other in touched:
                heapq.heappush(queue, (-frequency[other], other))


def joined(word: list[int], pair: Pair, new: int) -> list[tuple[Pair, int]]:
    """Join a pair wherever it occurs in a word, in place; what other pairs gain and lose."""
    changes, place = [], 0
    while place < len(word) - 1:
        if (word[place], word[place + 1]) == pair:
            if place > 0:
                changes += [((word[place - 1], pair[0]), -1), ((word[place - 1], new), 1)]
            if place + 2 < len(word):
                changes += [((pair[1], word[place + 2]), -1), ((new, word[place + 2]), 1)]
            word[place : place + 2] = [new]
        place += 1
    return changes
