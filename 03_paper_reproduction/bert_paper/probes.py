"""What has BERT learnt? Blanks with one right answer, and vectors of words with two senses.

StoryWorld marks words that the rest of the document settles, and says from where: from the left of
their sentence, from its right, from both sides, or from another sentence. Here each such word is
hidden alone, with all else in view, and the model's first guess is compared with it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from bert_corpus.storyworld import Mark, Story
from bert_paper.pretrained import Pretrained

SETTLED_BY = ("left", "right", "both", "other")


@dataclass(frozen=True)
class Probe:
    """A document as the model reads it, and the pieces of one marked word in it."""

    input_ids: list[int]
    token_type_ids: list[int]
    pieces: range
    mark: Mark


def probes_of(
    story: Story, pretrained: Pretrained, *, wanted: str, seq_length: int
) -> Iterator[Probe]:
    """A probe for every mark of a story for which `mark.<wanted>` is given.

    The document is read as in pretraining, as a pair: its first half and its second half. When it
    is longer than `seq_length`, the sentences farthest from the marked one are left out.
    """
    tokenizer = pretrained.tokenizer
    cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    encoded = [tokenizer.encode(s.text, add_special_tokens=False) for s in story.sentences]
    lengths = np.array([len(e.ids) for e in encoded])
    for number, sentence in enumerate(story.sentences):
        marks = [mark for mark in sentence.marks if getattr(mark, wanted) is not None]
        if not marks:
            continue
        first, last = window(lengths, number, room=seq_length - 3)
        middle = first + max(1, (last - first) // 2)
        ids, segments, begin = [cls_id], [0], 0
        for other in range(first, last):
            if other == middle:
                ids, segments = [*ids, sep_id], [*segments, 0]
            if other == number:
                begin = len(ids)
            ids = ids + encoded[other].ids
            segments = segments + [int(other >= middle)] * len(encoded[other].ids)
        ids, segments = [*ids, sep_id], [*segments, int(last > middle)]
        for mark in marks:
            pieces = [i for i, (start, end) in enumerate(encoded[number].offsets)
                      if mark.start <= start and end <= mark.end]  # fmt: skip
            if pieces:
                span = range(begin + pieces[0], begin + pieces[-1] + 1)
                yield Probe(ids, segments, span, mark)


def window(lengths: np.ndarray, target: int, *, room: int) -> tuple[int, int]:
    """The sentences [first, last) around `target` that fit into `room` tokens."""
    first, last = 0, len(lengths)
    while last - first > 1 and lengths[first:last].sum() > room:
        if target - first >= last - 1 - target:
            first += 1
        else:
            last -= 1
    return first, last


def padded(
    probes: list[Probe], pretrained: Pretrained, seq_length: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`input_ids`, `token_type_ids` and `attention_mask` of some probes, (batch, longest)."""
    length = min(seq_length, max(len(p.input_ids) for p in probes))
    arrays = np.zeros((3, len(probes), length), np.int64)
    arrays[0] = pretrained.model.config.pad_token_id
    for row, probe in enumerate(probes):
        size = min(length, len(probe.input_ids))
        arrays[0, row, :size] = probe.input_ids[:size]
        arrays[1, row, :size] = probe.token_type_ids[:size]
        arrays[2, row, :size] = 1
    device = next(pretrained.model.parameters()).device
    ids, segments, mask = torch.from_numpy(arrays).to(device)
    return ids, segments, mask


@torch.no_grad()
def measure_settled_words(
    pretrained: Pretrained, stories: Iterable[Story], *, seq_length: int, batch_size: int = 128
) -> dict[str, dict[str, float]]:
    """Top-1 accuracy on marked words, by what settles them: {"left": {"right": …, "of": …}, …}.

    A word of several pieces has all of them hidden, and counts when all are found.
    """
    mask_id = pretrained.tokenizer.token_to_id("[MASK]")
    probes = [
        probe
        for story in stories
        for probe in probes_of(story, pretrained, wanted="settled_by", seq_length=seq_length)
        if probe.pieces.stop <= seq_length
    ]
    probes.sort(key=lambda probe: len(probe.input_ids))  # like lengths together: little padding
    right, total = defaultdict(int), defaultdict(int)
    for start in range(0, len(probes), batch_size):
        part = probes[start : start + batch_size]
        ids, segments, attention = padded(part, pretrained, seq_length)
        answers = ids.clone()
        most = max(len(probe.pieces) for probe in part)
        # A word of fewer pieces repeats its last one: a repeated answer changes nothing.
        positions = torch.tensor(
            [[probe.pieces[min(i, len(probe.pieces) - 1)] for i in range(most)] for probe in part],
            device=ids.device,
        )
        ids.scatter_(1, positions, mask_id)
        words, _ = pretrained.model(ids, segments, attention, positions)
        found = (words.argmax(-1) == answers.gather(1, positions)).all(dim=1).tolist()
        for probe, good in zip(part, found, strict=True):
            total[probe.mark.settled_by] += 1
            right[probe.mark.settled_by] += good
    return {
        kind: {"right": right[kind], "of": total[kind], "accuracy": right[kind] / total[kind]}
        for kind in SETTLED_BY
        if total[kind]
    }


@torch.no_grad()
def sense_vectors(
    pretrained: Pretrained, stories: Iterable[Story], word: str, *, seq_length: int
) -> tuple[np.ndarray, list[str]]:
    """The last layer's vector of every marked occurrence of `word`, and its sense in words.

    Returns (occurrences, hidden) and as many senses, "bird" or "machine".
    """
    vectors, senses = [], []
    for story in stories:
        for probe in probes_of(story, pretrained, wanted="sense", seq_length=seq_length):
            name, _, sense = probe.mark.sense.partition(":")
            if name != word or probe.pieces.stop > seq_length:
                continue
            states = pretrained.model.bert(*padded([probe], pretrained, seq_length))
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
