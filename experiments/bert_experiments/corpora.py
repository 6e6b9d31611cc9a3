"""Corpora that are small enough to stay in memory: what `PairDataset` reads, from a few stories."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from tokenizers import Tokenizer

from bert_corpus.storyworld import Story


@dataclass(frozen=True)
class TokensInMemory:
    """What `PairDataset` needs of a corpus."""

    tokens: Int[ndarray, "tokens"]
    sentence_starts: Int[ndarray, "sentences"]
    document_starts: Int[ndarray, "documents"]

    @classmethod
    def of(cls, stories: list[Story], tokenizer: Tokenizer) -> "TokensInMemory":
        texts = [sentence.text for story in stories for sentence in story.sentences]
        encoded = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
        return cls(
            tokens=np.concatenate([np.array(ids, np.int64) for ids in encoded]),
            sentence_starts=np.cumsum([0, *map(len, encoded)]),
            document_starts=np.cumsum([0, *(len(story.sentences) for story in stories)]),
        )
