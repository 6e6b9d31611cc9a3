"""What has a pretrained BERT learned? Blanks with one right answer, and words with two senses."""

from collections.abc import Iterable

import numpy as np
import torch

from bert_corpus.pairs import Batch
from bert_corpus.storyworld import Story
from bert_corpus.storyworld.evaluation import Guess, inputs_of, probes_of
from bert_paper.pretrained import Pretrained
from bert_run.device import to_device


def first_guess(pretrained: Pretrained) -> Guess:
    """The model as `bert_corpus.storyworld.evaluation` asks for it."""
    device = next(pretrained.model.parameters()).device
    names = ("input_ids", "token_type_ids", "attention_mask", "masked_lm_positions")

    @torch.no_grad()
    def guess(batch: Batch) -> np.ndarray:
        tensors = to_device({name: batch[name] for name in names}, device)
        words, _ = pretrained.model(**tensors)
        return words.argmax(-1).cpu().numpy()

    return guess


@torch.no_grad()
def sense_vectors(
    pretrained: Pretrained, stories: Iterable[Story], word: str, *, seq_length: int
) -> tuple[np.ndarray, list[str]]:
    """The last layer's vector of every marked occurrence of `word`, and its sense in words.

    Returns (occurrences, hidden) and as many senses, "bird" or "machine".
    """
    tokenizer, device = pretrained.tokenizer, next(pretrained.model.parameters()).device
    vectors, senses = [], []
    for story in stories:
        for probe in probes_of(story, tokenizer, wanted="sense", seq_length=seq_length):
            name, _, sense = probe.mark.sense.partition(":")
            if name != word:
                continue
            batch = inputs_of([probe], tokenizer, seq_length=seq_length)
            states = pretrained.model.bert(**to_device(batch, device))
            vector = states.last_hidden_state[0, probe.pieces.start : probe.pieces.stop].mean(0)
            vectors.append(vector.float().cpu().numpy())
            senses.append(sense)
    return np.array(vectors), senses


def principal_plane(vectors: np.ndarray) -> np.ndarray:
    """The vectors seen from where they spread most: their first two principal components."""
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:2].T


def nearest_neighbour_accuracy(vectors: np.ndarray, senses: list[str]) -> float:
    """How often the most similar other occurrence (by cosine) has the same sense."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = similarity.argmax(axis=1)
    return float(np.mean([senses[i] == senses[j] for i, j in enumerate(nearest)]))
