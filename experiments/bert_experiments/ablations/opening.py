"""Opening the models of an ablation, of both kinds, and asking each for a hidden word.

A model that reads from the left alone never saw a [MASK]. Asked for the word at position p, it
names what should follow the words before p; those at p and on its right it does not see.
"""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int

from bert_corpus.pairs import Batch
from bert_corpus.storyworld.evaluation import Guess
from bert_corpus.wordpiece import load_tokenizer
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.pretrained import Pretrained
from bert_paper.probes import first_guess
from bert_run.config import BertConfig
from bert_run.device import to_device
from bert_run.weights import load_weights


def open_either(folder: Path, device: torch.device | str = "cpu") -> Pretrained:
    """The model of a run's folder or of one of its checkpoints, whichever way it reads."""
    config = BertConfig.load(folder, decoders=True)
    model = BertForPreTraining(config)
    load_arrays(model, load_weights(folder, config))
    return Pretrained(folder, model.to(device).eval(), load_tokenizer(folder), missing=[])


def guess_of(pretrained: Pretrained) -> Guess:
    """The word with the highest score at each masked position."""
    if pretrained.model.config.is_decoder:
        return guess_from_the_left(pretrained)
    return first_guess(pretrained)


def guess_from_the_left(pretrained: Pretrained) -> Guess:
    """The guess at position p is what the model expects to follow p - 1.

    A word of several pieces is guessed one piece after another, each guess standing in its place
    when the next is asked for. The positions of a row rise, and the last may be repeated.
    """
    device = next(pretrained.model.parameters()).device

    @torch.no_grad()
    def following(batch: Batch, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """What each of the rows expects at its place."""
        names = ("input_ids", "token_type_ids", "attention_mask")
        tensors = to_device({name: batch[name][rows] for name in names}, device)
        before = torch.from_numpy(places - 1)[:, None].to(device)
        words, _ = pretrained.model(**tensors, masked_lm_positions=before)
        return words[:, 0].argmax(-1).cpu().numpy()

    def guess(batch: Batch) -> Int[np.ndarray, "batch masks"]:
        positions = batch["masked_lm_positions"]
        seen = {**batch, "input_ids": batch["input_ids"].copy()}
        guesses = np.zeros_like(positions)
        for column, places in enumerate(positions.T):
            is_new = (
                np.full(len(places), True) if column == 0 else places != positions[:, column - 1]
            )
            rows = np.flatnonzero(is_new)
            if column:
                guesses[:, column] = guesses[:, column - 1]
            if len(rows):
                guesses[rows, column] = following(seen, rows, places[rows])
            seen["input_ids"][np.arange(len(places)), places] = guesses[:, column]
        return guesses

    return guess
