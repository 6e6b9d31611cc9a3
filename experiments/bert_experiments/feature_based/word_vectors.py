"""Features: word vectors of a frozen BERT, for another model to learn from (paper, section 5.3).

    word        Sørensen         left
    pieces      so ##ren ##sen   left
    layer 2     ●   ·     ·      ●      ┐ kept of each word: its first piece, in every layer that
    layer 1     ●   ·     ·      ●      │ some feature asks for
    layer 0     ●   ·     ·      ●      ┘ (the embeddings)

The encoder learns nothing, so each sentence is read once, and many small models can be trained on
what was kept: the second advantage that the paper names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from tokenizers import Tokenizer
from torch import Tensor, nn

from bert_finetuning.tasks.base import Features, collate_inputs, framed
from bert_finetuning.tasks.tagging import pieces_of_words, stretches
from bert_paper.model import BertModel
from bert_run.device import to_device
from bert_run.training_loop import progress_bar

BATCH = 64  # sentences


class Feature(NamedTuple):
    """The layers that are read, 0 for the embeddings, and what is done with them."""

    layers: tuple[int, ...]
    how: Literal["sum", "weighted sum", "side by side"]

    def width(self, hidden_size: int) -> int:
        return hidden_size * (len(self.layers) if self.how == "side by side" else 1)


def features_of(layers: int) -> dict[str, Feature]:
    """All features of a model with so many layers, by name; the paper's six, and two plain sums.
    "All" are the layers without the embeddings (the paper: "all 12 layers"). A model of fewer than
    four layers gives those it has for the last four."""
    one = {"embeddings": 0, "second-to-last": layers - 1, "last": layers}
    last_four = tuple(range(max(1, layers - 3), layers + 1))
    every = tuple(range(1, layers + 1))
    return {
        **{name: Feature((layer,), "sum") for name, layer in one.items()},
        "sum-last-4": Feature(last_four, "sum"),
        "weighted-sum-last-4": Feature(last_four, "weighted sum"),
        "concat-last-4": Feature(last_four, "side by side"),
        "sum-all": Feature(every, "sum"),
        "weighted-sum-all": Feature(every, "weighted sum"),
    }


class LayerMix(nn.Module):
    """The layers of a word as one vector: summed, weighted and summed, or side by side. The weights
    are learned: s_l = softmax(w)_l, times one scale (Peters et al. 2018, equation 1). They begin as
    a plain mean."""

    def __init__(self, feature: Feature) -> None:
        super().__init__()
        self.how = feature.how
        if self.how == "weighted sum":
            self.weights = nn.Parameter(torch.zeros(len(feature.layers)))
            self.scale = nn.Parameter(torch.ones(()))

    def forward(
        self, x: Float[Tensor, "batch seq layers hidden"]
    ) -> Float[Tensor, "batch seq features"]:
        if self.how == "side by side":
            return x.flatten(2)
        if self.how == "sum":
            return x.sum(dim=2)
        shares = self.scale * self.weights.softmax(dim=0)  # (layers,)
        return torch.einsum("bslh,l->bsh", x, shares)


@dataclass(frozen=True)
class WordVectors:
    """The vectors of all words, sentence after sentence, in each of the `layers` that are kept."""

    vectors: Float[np.ndarray, "words layers hidden"]
    starts: Int64[np.ndarray, "sentences_and_end"]  # the first word of each sentence; then the end
    layers: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, sentence: int, feature: Feature) -> Float[np.ndarray, "words layers hidden"]:
        """One sentence, in the layers that a feature reads."""
        columns = [self.layers.index(layer) for layer in feature.layers]
        words = self.vectors[self.starts[sentence] : self.starts[sentence + 1]]
        return words[:, columns]


@torch.no_grad()
def word_vectors(
    bert: BertModel, tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], *,
    layers: Sequence[int], max_length: int | None = None, progress: str | None = None,
    make_array: Callable[..., np.ndarray] = np.zeros,
) -> WordVectors:  # fmt: skip
    """Read every sentence once, and keep each word's first piece in the given layers. `progress`
    names the bar to be shown; `make_array` makes room for the vectors. The model must be in
    evaluation: dropout would blur the features."""
    room = (max_length or bert.config.max_position_embeddings) - 2
    encoded = [
        Features(sentence, *framed(tokenizer, pieces), {}, place)
        for sentence, words in enumerate(pieces_of_words(sentences, tokenizer))
        for place, pieces in stretches(words, room=room)
    ]
    starts = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    kept = tuple(sorted(set(layers)))
    vectors = make_array((int(starts[-1]), len(kept), bert.config.hidden_size), np.float32)
    device = next(bert.parameters()).device
    by_length = sorted(range(len(encoded)), key=lambda i: len(encoded[i].input_ids))
    with progress_bar(len(encoded), progress or "", unit="text", disable=progress is None) as bar:
        for first in range(0, len(encoded), BATCH):
            part = [encoded[i] for i in by_length[first : first + BATCH]]
            batch = to_device(collate_inputs(part, pad_id=bert.config.pad_token_id), device)
            every = bert(**batch).hidden_states
            states = torch.stack([every[layer] for layer in kept], dim=2).float().cpu().numpy()
            for states_of_part, each in zip(states, part, strict=True):
                tokens = each.place.tokens
                begin = starts[each.example] + each.place.first_word
                vectors[begin : begin + len(tokens)] = states_of_part[tokens]
            bar.update(len(part))
    return WordVectors(vectors, starts, kept)
