"""Checkpoints that a study compares: of either objective, and with their first weights again."""

from dataclasses import replace
from pathlib import Path

import torch

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
