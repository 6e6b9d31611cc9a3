"""The part of the `tokenizers` library that the course uses, in plain Python, for the pages.

The library is written in Rust, and nobody publishes it for WebAssembly. Here `Tokenizer.encode`
cuts text with the functions of `bert_corpus.wordpiece`, and training joins pairs as the library
does. A test compares ids, tokens and trained vocabularies with those of the library.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

__all__ = ["Encoding", "Tokenizer", "decoders", "models", "normalizers", "pre_tokenizers",
           "processors", "trainers"]  # fmt: skip


@dataclass
class Encoding:
    """The tokens of one text or of two."""

    ids: list[int]
    tokens: list[str]
    type_ids: list[int]
    special_tokens_mask: list[int]
    word_ids: list[int | None]
    locate: Callable[[], list[tuple[int, int]]]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The first character of each token in its text, and the one after its last."""
        return self.locate()

    @property
    def attention_mask(self) -> list[int]:
        return [1] * len(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return (f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
                "attention_mask, special_tokens_mask, overflowing])")  # fmt: skip


class Tokenizer:
    """BERT's tokenizer: its parts are those that `bert_corpus.wordpiece` puts together."""

    def __init__(self, model: models.WordPiece) -> None:
        self.model = model
        self.added: dict[str, int] = {}
        self.normalizer: Any = normalizers.BertNormalizer()
        self.pre_tokenizer: Any = pre_tokenizers.BertPreTokenizer()
        self.post_processor: Any = None
        self.decoder: Any = None
        self.encode_special_tokens = False  # whether "[MASK]" in a text is text like any other
        self.cut: dict[str, list[str]] = {}  # the pieces of words that were seen

    @staticmethod
    def from_str(text: str) -> "Tokenizer":
        state = json.loads(text)
        model = state["model"]
        tokenizer = Tokenizer(models.WordPiece(
            model["vocab"], unk_token=model["unk_token"],
            max_input_chars_per_word=model["max_input_chars_per_word"]))  # fmt: skip
        parts = {**state["normalizer"]}
        parts.pop("type")
        tokenizer.normalizer = normalizers.BertNormalizer(**parts)
        tokenizer.add_special_tokens([token["content"] for token in state["added_tokens"]])
        return tokenizer

    def to_str(self, pretty: bool = False) -> str:
        added = [{"id": index, "content": token, "special": True, "single_word": False,
                  "lstrip": False, "rstrip": False, "normalized": False}
                 for token, index in self.added.items()]  # fmt: skip
        state = {
            "version": "1.0", "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", **vars(self.normalizer)},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": self.model.unk_token,
                      "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": self.model.max_input_chars_per_word,
                      "vocab": self.model.vocab},
        }  # fmt: skip
        return json.dumps(state, indent=2 if pretty else None, ensure_ascii=False)

    # The vocabulary

    def add_special_tokens(self, tokens: list[str]) -> int:
        for token in tokens:
            known = self.get_vocab()
            self.added[token] = known.get(token, len(known))
        return len(tokens)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        return {**self.model.vocab, **(self.added if with_added_tokens else {})}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return len(self.get_vocab(with_added_tokens))

    def token_to_id(self, token: str) -> int | None:
        return self.added.get(token, self.model.vocab.get(token))

    def id_to_token(self, id: int) -> str | None:
        return {index: token for token, index in self.get_vocab().items()}.get(int(id))

    # Text to ids and back

    def encode(
        self, sequence: str, pair: str | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        texts = [sequence] if pair is None else [sequence, pair]
        rows = []  # token, id, segment, is special, word
        frame = add_special_tokens and self.post_processor is not None
        if frame:
            rows.append(self._special("[CLS]", 0))
        for segment, text in enumerate(texts):
            rows += [(token, index, segment, 0, word) for token, index, word in self._pieces(text)]
            if frame:
                rows.append(self._special("[SEP]", segment))
        tokens, ids, segments, special, words = map(list, zip(*rows, strict=True)) if rows else (
            [], [], [], [], [])  # fmt: skip
        frame_size = 1 if frame else 0

        def locate() -> list[tuple[int, int]]:
            found = [(0, 0)] * frame_size
            for text in texts:
                found += [*self._offsets(text), *[(0, 0)] * frame_size]
            return found

        return Encoding(ids, tokens, segments, special, words, locate)

    def encode_batch(self, input: Iterable[Any], add_special_tokens: bool = True) -> list[Encoding]:
        return [self.encode(*([one] if isinstance(one, str) else one),
                            add_special_tokens=add_special_tokens) for one in input]  # fmt: skip

    encode_batch_fast = encode_batch

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        names = {index: token for token, index in self.get_vocab().items()}
        tokens = [names[int(index)] for index in ids]
        kept = [token for token in tokens if not (skip_special_tokens and token in self.added)]
        return decoders.WordPiece().decode(kept)

    def _special(self, token: str, segment: int) -> tuple:
        return token, self.token_to_id(token), segment, 1, None

    def _parts(self, text: str) -> list[str]:
        """The text, cut before and after special tokens."""
        marks = "|".join(re.escape(token) for token in sorted(self.added, key=len, reverse=True))
        return [text] if self.encode_special_tokens or not marks else re.split(f"({marks})", text)

    def _is_special(self, part: str) -> bool:
        return part in self.added and not self.encode_special_tokens

    def _pieces(self, text: str) -> list[tuple[str, int, int]]:
        """Tokens, their ids and the number of their word."""
        found, word = [], 0
        for part in self._parts(text):
            if self._is_special(part):
                found.append((part, self.added[part], word))
                word += 1
                continue
            for cut, _ in self.pre_tokenizer.pre_tokenize_str(self.normalizer.normalize_str(part)):
                found += [(piece, self.model.vocab[piece], word) for piece in self._cut(cut)]
                word += 1
        return found

    def _cut(self, word: str) -> list[str]:
        from bert_corpus.wordpiece import wordpieces

        if word not in self.cut:
            self.cut[word] = wordpieces(word, self.model.vocab)
        return self.cut[word]

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each token stands: characters are normalized one by one, to know where from."""
        found, begin = [], 0
        for part in self._parts(text):
            if self._is_special(part):
                found.append((begin, begin + len(part)))
            else:
                made = [(char, begin + place) for place, given in enumerate(part)
                        for char in self.normalizer.normalize_str(given)]  # fmt: skip
                whole = "".join(char for char, _ in made)
                for word, (start, end) in self.pre_tokenizer.pre_tokenize_str(whole):
                    for number, piece in enumerate(self._cut(word)):
                        size = len(piece.removeprefix("##") if number else piece)
                        if piece == self.model.unk_token:
                            size = end - start
                        found.append((made[start][1], made[start + size - 1][1] + 1))
                        start += size
            begin += len(part)
        return found

    # Training

    def train_from_iterator(self, iterator: Iterable[Any], trainer: Any = None) -> None:
        self.model.vocab = trainer.learn(iterator, self)
        self.cut = {}

    def no_padding(self) -> None:
        """There is none."""

    def no_truncation(self) -> None:
        """There is none."""
