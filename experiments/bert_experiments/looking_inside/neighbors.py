"""Which other occurrences of words have nearly the same vector as this one, and at which depth?

Layer 0 is the sum of word, position and segment: there a word's neighbors are that word itself.
What a deeper layer takes for alike tells what it has understood of the sentence.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import Encoding
from torch import Tensor

from bert_corpus.storyworld import Story
from bert_corpus.wordpiece import padded
from bert_paper.pretrained import Pretrained
from bert_run.errors import UserError
from bert_run.training_loop import progress_bar


@dataclass(frozen=True)
class Place:
    """A word where it stands: `sentence[start:end]`."""

    sentence: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.sentence[self.start : self.end].lower()

    @property
    def marked(self) -> str:
        before, after = self.sentence[: self.start], self.sentence[self.end :]
        return f"{before}[{self.sentence[self.start : self.end]}]{after}"

    @property
    def wording(self) -> tuple[str, str, str]:
        """The word between the words beside it: sentences cut from one pattern share these."""
        before = self.sentence[: self.start].lower().split()
        after = self.sentence[self.end :].lower().split()
        return " ".join(before[-1:]), self.word, " ".join(after[:1])


@dataclass(frozen=True)
class Neighbor:
    place: Place
    similarity: float


@dataclass(frozen=True)
class LayerNeighbors:
    """The nearest occurrences of any word, and the nearest other words."""

    occurrences: list[Neighbor]
    other_words: list[Neighbor]


def places_of(sentence: str, encoding: Encoding) -> list[tuple[Place, list[int]]]:
    """The words of a sentence, without punctuation, and which tokens are theirs."""
    tokens: dict[int, list[int]] = {}
    for token, word in enumerate(encoding.word_ids):
        if word is not None:
            tokens.setdefault(word, []).append(token)
    spans = [(encoding.offsets[t[0]][0], encoding.offsets[t[-1]][1], t) for t in tokens.values()]
    return [(Place(sentence, start, end), t) for start, end, t in spans
            if sentence[start:end].isalnum()]  # fmt: skip


@torch.no_grad()
def word_vectors(
    pretrained: Pretrained, sentences: list[str]
) -> tuple[list[Place], Float[Tensor, "states words hidden"]]:
    """Every word of the sentences, each read by itself, and its vector in the embeddings and in
    every layer: the mean of its pieces."""
    model, device = pretrained.model, next(pretrained.model.parameters()).device
    encodings = [pretrained.encode(sentence) for sentence in sentences]
    length = max(len(encoding.ids) for encoding in encodings)
    rows = [(each.ids, each.type_ids) for each in encodings]
    inputs = padded(rows, length, model.config.pad_token_id)
    states = model.bert(**{name: torch.from_numpy(a).to(device) for name, a in inputs.items()})
    states = torch.stack(states.hidden_states)  # (states, batch, seq, hidden)
    found = [(row, place, tokens)
             for row, (sentence, encoding) in enumerate(zip(sentences, encodings, strict=True))
             for place, tokens in places_of(sentence, encoding)]  # fmt: skip
    vectors = [states[:, row, tokens].mean(dim=1) for row, _, tokens in found]
    return [place for _, place, _ in found], torch.stack(vectors, dim=1)


def vectors_of(pretrained: Pretrained, sentence: str, word: str) -> Float[Tensor, "states hidden"]:
    """Those of a word. Raises `UserError` if it does not stand in the sentence."""
    places, vectors = word_vectors(pretrained, [sentence])
    chosen = next((i for i, place in enumerate(places) if place.word == word.lower()), None)
    if chosen is None:
        raise UserError(
            f'--word "{word}" does not stand in "{sentence}": its words are '
            f"{', '.join(place.word for place in places)}"
        )
    return vectors[:, chosen]


def find_neighbors(
    pretrained: Pretrained, sentence: str, word: str, candidates: Iterable[str], *,
    top: int = 4, batch_size: int = 64,
) -> list[LayerNeighbors]:  # fmt: skip
    """Among the words of the candidate sentences, those most like `word` in `sentence` (cosine), in
    the embeddings and in every layer."""
    asked = vectors_of(pretrained, sentence, word)
    others = {text for text in candidates if text != sentence}
    others = sorted(others, key=lambda text: (len(text), text))  # like lengths together
    encodings = pretrained.tokenizer.encode_batch(others)
    longest = pretrained.model.config.max_position_embeddings
    others = [t for t, e in zip(others, encodings, strict=True) if len(e.ids) <= longest]
    seen, similarities = [], []
    with progress_bar(len(others), "looking for neighbors", unit="sentence") as bar:
        for first in range(0, len(others), batch_size):
            part = others[first : first + batch_size]
            places, vectors = word_vectors(pretrained, part)
            seen += places
            similar = torch.cosine_similarity(vectors, asked[:, None], dim=-1)
            similarities.append(similar.cpu().numpy())
            bar.update(len(part))
    return [nearest(seen, row, word.lower(), top) for row in np.concatenate(similarities, axis=1)]


def nearest(
    places: list[Place], similarity: Float[np.ndarray, "words"], word: str, top: int
) -> LayerNeighbors:
    """The most similar places, of each wording one, and the most similar words but `word`."""
    occurrences: dict[tuple[str, str, str], Neighbor] = {}
    other_words: dict[str, Neighbor] = {}
    for i in np.argsort(-similarity, kind="stable").tolist():
        place, neighbor = places[i], Neighbor(places[i], float(similarity[i]))
        if len(occurrences) < top:
            occurrences.setdefault(place.wording, neighbor)
        if len(other_words) < top and place.word != word:
            other_words.setdefault(place.word, neighbor)
        if len(occurrences) == len(other_words) == top:
            break
    return LayerNeighbors(list(occurrences.values()), list(other_words.values()))


def sentences_of(stories: Iterable[Story]) -> list[str]:
    return [sentence.text for story in stories for sentence in story.sentences]


def neighbors_text(layers: list[LayerNeighbors]) -> str:
    """The neighbors by layer, each in its sentence."""
    lines = []
    for number, layer in enumerate(layers):
        lines.append(f"  layer {number}" + (" (embeddings)" if number == 0 else ""))
        lines += [f"    {n.similarity:5.2f}  {n.place.marked}" for n in layer.occurrences]
        words = ", ".join(f"{n.place.word} {n.similarity:.2f}" for n in layer.other_words)
        lines.append(f"           other words: {words}")
    return "\n".join(lines)
