"""What studies compare: checkpoints of either objective, first weights again, small corpora."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from tokenizers import Tokenizer

from bert_corpus.storyworld import Story
from bert_corpus.wordpiece import load_tokenizer
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.pretrained import Pretrained
from bert_run.config import BertConfig, initial_weights
from bert_run.weights import load_weights


def open_either(folder: Path, device: torch.device | str = "cpu") -> Pretrained:
    """The model of a run's folder or of one of its checkpoints, whichever way it reads."""
    config = BertConfig.load(folder, decoders=True)
    model = BertForPreTraining(config)
    load_arrays(model, load_weights(folder, config))
    return Pretrained(folder, model.to(device).eval(), load_tokenizer(folder), missing=[])


def untrained(pretrained: Pretrained, seed: int = 0) -> Pretrained:
    """A model of the same sizes and vocabulary with the first weights that the paper prescribes."""
    model = type(pretrained.model)(pretrained.model.config)
    load_arrays(model, initial_weights(model.config, seed))
    return replace(pretrained, model=model.to(next(pretrained.model.parameters()).device).eval())


# A corpus small enough to stay in memory.


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
