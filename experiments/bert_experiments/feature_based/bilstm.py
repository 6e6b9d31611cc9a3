"""A tagger on features: a two-layer BiLSTM and a linear layer, trained while BERT stands still.

    features ── mix of layers ── dropout ── BiLSTM ── BiLSTM ── dropout ── linear ── a tag a word

"These contextual embeddings are used as input to a randomly initialized two-layer 768-dimensional
BiLSTM before the classification layer" (section 5.3).
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bert_experiments.feature_based.word_vectors import Feature, LayerMix, WordVectors
from bert_finetuning.tasks.base import IGNORED, cross_entropy
from bert_run.errors import UserError

LAYERS = 2

Tags = list[list[int]]  # sentence by sentence the number of each word's tag


class LstmOutput(NamedTuple):
    """What was read up to each token from both sides, and of the whole sequence: from the left at
    its last token, from the right at its first."""

    states: Float[Tensor, "batch seq width"]
    ends: Float[Tensor, "batch width"]


class BiLstm(nn.Module):
    """Two LSTMs, one from the left and one from the right, and two more on what these say.

    Sequences are packed: without that the LSTM from the right would begin with the padding, and
    the same sentence come out otherwise in another batch.
    """

    def __init__(self, in_size: int, width: int, *, dropout: float = 0.0) -> None:
        """`width` counts both directions."""
        super().__init__()
        if width < 2 or width % 2:
            raise UserError(f"the width of the BiLSTM is {width}: it needs an even one")
        self.lstm = nn.LSTM(in_size, width // 2, LAYERS, batch_first=True, dropout=dropout,
                            bidirectional=True)  # fmt: skip

    def forward(
        self, x: Float[Tensor, "batch seq in"], lengths: Int[Tensor, "batch"]
    ) -> LstmOutput:
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed_states, (last, _) = self.lstm(packed)  # last: (layers · 2, batch, width / 2)
        states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=x.shape[1])
        return LstmOutput(states, torch.cat([last[-2], last[-1]], dim=-1))


class BiLstmTagger(nn.Module):
    """From the features of a sentence's words to the logits of their tags."""

    def __init__(
        self, feature: Feature, hidden_size: int, *, width: int, num_tags: int, dropout: float
    ) -> None:
        super().__init__()
        self.mix = LayerMix(feature)
        self.dropout = nn.Dropout(dropout)
        self.lstm = BiLstm(feature.width(hidden_size), width, dropout=dropout)
        self.classifier = nn.Linear(width, num_tags)

    def forward(
        self, x: Float[Tensor, "batch seq layers hidden"], lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch seq tags"]:
        states = self.lstm(self.dropout(self.mix(x)), lengths).states
        return self.classifier(self.dropout(states))


# --- Data ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaggingSet:
    """Sentences as a tagger reads them: which of the vectors, and the numbers of their tags."""

    vectors: WordVectors
    sentences: Sequence[int]  # their places in `vectors`; those without words are in no batch
    tags: Tags  # of each of these sentences

    def batches(self, size: int, order: Int64[np.ndarray, "_"]) -> list[Int64[np.ndarray, "_"]]:
        """Places in `sentences`, `size` at a time."""
        some = np.array([place for place in order if self.tags[place]], np.int64)
        return [some[first : first + size] for first in range(0, len(some), size)]

    def batch(self, places: Int64[np.ndarray, "batch"], feature: Feature) -> "TaggingBatch":
        """Features padded with zeros, labels padded with IGNORED."""
        words = [self.vectors.of(self.sentences[place], feature) for place in places]
        lengths = np.array([len(each) for each in words])
        x = np.zeros((len(words), lengths.max(), *words[0].shape[1:]), np.float32)
        labels = np.full(x.shape[:2], IGNORED)
        for row, (each, place) in enumerate(zip(words, places, strict=True)):
            x[row, : len(each)] = each
            labels[row, : len(each)] = self.tags[place]
        return TaggingBatch(*map(torch.from_numpy, (x, lengths, labels)))


class TaggingBatch(NamedTuple):
    x: Float[Tensor, "batch seq layers hidden"]
    lengths: Int[Tensor, "batch"]
    labels: Int[Tensor, "batch seq"]

    def to(self, device: torch.device) -> "TaggingBatch":
        return TaggingBatch(*(tensor.to(device) for tensor in self))


# --- Training ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaggerRecipe:
    """How a tagger learns. The paper leaves this open; these are usual values for names.

    A round is an epoch, or as many as make `round_steps` where the sentences are few. After each
    the tagger is judged on dev.
    """

    width: int  # of the BiLSTM, both directions together
    learning_rate: float = 3e-3  # of Adam
    batch_size: int = 16
    rounds: int = 50  # at most
    round_steps: int = 20
    patience: int = 10  # rounds without a better score, after which it stops
    dropout: float = 0.5  # before and after each layer
    max_grad_norm: float = 5.0


class TaggerRun(NamedTuple):
    """The tagger at its best round on dev, and the score there."""

    tagger: BiLstmTagger
    score: float
    best_round: int  # from 1
    scores: list[float]  # of all rounds


def train_tagger(
    feature: Feature, train: TaggingSet, *, num_tags: int, recipe: TaggerRecipe,
    judge: Callable[[BiLstmTagger], float], seed: int, device: torch.device | str = "cpu",
) -> TaggerRun:  # fmt: skip
    """Train a new tagger; `judge` gives it a score on dev. That of the best round is kept.

    A function of its arguments: `seed` decides first values, dropout and the order of sentences.
    """
    epoch_steps = max(1, -(-len(train.sentences) // recipe.batch_size))
    epochs_of_round = -(-recipe.round_steps // epoch_steps)
    hidden_size = train.vectors.vectors.shape[2]
    with torch.random.fork_rng(devices=cuda_of(device)):
        torch.manual_seed(seed)
        tagger = BiLstmTagger(feature, hidden_size, width=recipe.width, num_tags=num_tags,
                              dropout=recipe.dropout).to(device)  # fmt: skip
        optimizer = torch.optim.Adam(tagger.parameters(), lr=recipe.learning_rate)
        scores: list[float] = []
        best_weights, best_round = tagger.state_dict(), 0
        while len(scores) < min(recipe.rounds, best_round + recipe.patience):
            for epoch in range(epochs_of_round):
                order = np.random.default_rng([seed, len(scores), epoch])
                one_epoch(tagger, optimizer, train, feature, recipe, order)
            scores.append(judge(tagger))
            if scores[-1] > max(scores[:-1], default=-1.0):
                best_weights, best_round = copy.deepcopy(tagger.state_dict()), len(scores)
            if scores[best_round - 1] == 0:  # it says O of every word still: wait
                best_round = len(scores)
    tagger.load_state_dict(best_weights)
    return TaggerRun(tagger.eval(), scores[best_round - 1], best_round, scores)


def one_epoch(
    tagger: BiLstmTagger, optimizer: torch.optim.Optimizer, train: TaggingSet, feature: Feature,
    recipe: TaggerRecipe, order: np.random.Generator,
) -> None:  # fmt: skip
    """Every sentence once: forward, the mean of −log softmax(logits)[tag] over words, backward."""
    device = next(tagger.parameters()).device
    tagger.train()
    for places in train.batches(recipe.batch_size, order.permutation(len(train.sentences))):
        batch = train.batch(places, feature).to(device)
        logits = tagger(batch.x, batch.lengths)
        loss = cross_entropy(logits.flatten(0, 1), batch.labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(tagger.parameters(), recipe.max_grad_norm)
        optimizer.step()


def cuda_of(device: torch.device | str) -> list[torch.device]:
    """The device whose random numbers torch must give back, if it is no CPU."""
    device = torch.device(device)
    return [device] if device.type == "cuda" else []


@torch.no_grad()
def tags_of(tagger: BiLstmTagger, data: TaggingSet, feature: Feature, *, rows: int = 128) -> Tags:
    """The likeliest tag of each word; the softmax over tags has its highest value there too."""
    tagger.eval()
    device = next(tagger.parameters()).device
    found: Tags = [[] for _ in data.sentences]
    by_length = np.argsort([len(tags) for tags in data.tags], kind="stable")
    for places in data.batches(rows, by_length):
        batch = data.batch(places, feature).to(device)
        best = tagger(batch.x, batch.lengths).argmax(dim=-1).tolist()
        for place, tags, length in zip(places, best, batch.lengths.tolist(), strict=True):
            found[place] = tags[:length]
    return found
