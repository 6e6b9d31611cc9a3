"""One word, two senses: at which layer do their vectors part?

`crane` is a bird or a machine, and goes into the model as the same row of the word embeddings.
StoryWorld marks the sense of every such word. Two questions are put to the vectors of each layer:

- has the nearest occurrence in another story the same sense? Stories are told in set phrases, so
  this can be answered by the words beside it alone;
- do the senses' means tell them apart *in other words*: when the means are taken over occurrences
  in other stories whose neighbors on both sides are different words?

The second is asked twice, of words read in their whole story and of words read in their sentence
alone: most senses keep to their own kinds of story, and what a story is about gives them away too.
And all is measured once more in the same model untrained: what that can do is not learned.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy import ndarray
from tokenizers import Tokenizer

from bert_corpus.storyworld import KINDS, Story, stories
from bert_corpus.storyworld.evaluation import Probe, inputs_of, probes_of
from bert_experiments.report.plots import unboxed
from bert_paper.demo import principal_plane
from bert_paper.pretrained import Pretrained
from bert_run.device import to_device
from bert_run.pictures import BLUE, GREEN, ORANGE, PINK, SKY, Picture
from bert_run.training_loop import progress_bar

STYLES = ((BLUE, "o"), (ORANGE, "^"), (GREEN, "s"))
Allowed = Bool[ndarray, "occurrences occurrences"]  # may a row be judged by this column?


@dataclass(frozen=True)
class Occurrence:
    probe: Probe
    sense: str  # "bird"
    story: int
    beside: tuple[int, int]  # the tokens on its left and right


@dataclass(frozen=True)
class SenseReport:
    """One word by layer, embeddings first: shares right, and of the first question that of chance.

    In other words chance is one half, for each sense counts alike. None stands for a word that is
    always told between the same words.
    """

    word: str
    senses: list[str]  # of each occurrence
    planes: list[Float[ndarray, "occurrences 2"]]
    nearest: list[float]
    nearest_by_chance: float
    other_words: list[float] | None
    other_words_alone: list[float] | None  # in its sentence alone


def stories_with_senses(of_each_kind: int) -> list[Story]:
    """Held-out stories of every kind that tells of words with two senses."""
    told = [s for kind in KINDS for s in stories(of_each_kind, split="heldout", kind=kind)]
    return [s for s in told if any(m.sense for sentence in s.sentences for m in sentence.marks)]


def words_with_two_senses(held_out: Iterable[Story]) -> list[str]:
    """The words that these stories mark with more than one sense."""
    marks = {m.sense for story in held_out for s in story.sentences for m in s.marks if m.sense}
    words = Counter(mark.partition(":")[0] for mark in marks)
    return sorted(word for word, senses in words.items() if senses > 1)


def occurrences_of(
    held_out: Iterable[Story], tokenizer: Tokenizer, *, seq_length: int, alone: bool = False
) -> dict[str, list[Occurrence]]:
    """Every marked occurrence of each word, in its whole story or in its sentence `alone`."""
    found = defaultdict(list)
    for number, story in enumerate(held_out):
        parts = [replace(story, sentences=(s,)) for s in story.sentences] if alone else [story]
        for part in parts:
            for probe in probes_of(part, tokenizer, wanted="sense", seq_length=seq_length):
                word, _, sense = probe.mark.sense.partition(":")
                ids, pieces = probe.input_ids, probe.pieces
                beside = ids[pieces.start - 1], ids[pieces.stop]
                found[word].append(Occurrence(probe, sense, number, beside))
    return found


@torch.no_grad()
def vectors_of(
    pretrained: Pretrained, seen: list[Occurrence], *, seq_length: int, batch_size: int = 32
) -> tuple[Float[ndarray, "states occurrences hidden"], ndarray]:
    """The vector of each occurrence in the embeddings and in every layer, and its sense."""
    device = next(pretrained.model.parameters()).device
    vectors = []
    for first in range(0, len(seen), batch_size):
        part = [occurrence.probe for occurrence in seen[first : first + batch_size]]
        batch = inputs_of(part, pretrained.tokenizer, seq_length=seq_length)
        states = torch.stack(pretrained.model.bert(**to_device(batch, device)).hidden_states)
        vectors += [states[:, row, p.pieces.start : p.pieces.stop].mean(dim=1)
                    for row, p in enumerate(part)]  # fmt: skip
    senses = np.array([occurrence.sense for occurrence in seen])
    return torch.stack(vectors, dim=1).float().cpu().numpy(), senses


def in_another_story(seen: list[Occurrence]) -> Allowed:
    story = np.array([occurrence.story for occurrence in seen])
    return story[:, None] != story[None, :]


def in_other_words(seen: list[Occurrence]) -> Allowed:
    """In another story, and with another word on its left, and with another on its right."""
    left, right = np.array([occurrence.beside for occurrence in seen]).T
    return (
        in_another_story(seen)
        & (left[:, None] != left[None, :])
        & (right[:, None] != right[None, :])
    )


def unit(vectors: Float[ndarray, "occurrences hidden"]) -> Float[ndarray, "occurrences hidden"]:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def nearest_agrees(
    vectors: Float[ndarray, "occurrences hidden"], senses: ndarray, allowed: Allowed
) -> float:
    """How often the most similar allowed occurrence (by cosine) has the same sense."""
    similarity = np.where(allowed, unit(vectors) @ unit(vectors).T, -np.inf)
    asked = allowed.any(axis=1)
    return float((senses[similarity.argmax(axis=1)] == senses)[asked].mean())


def chance_to_agree(senses: ndarray, allowed: Allowed) -> float:
    """The same for an allowed occurrence taken blindly."""
    asked = allowed.any(axis=1)
    same = (senses[:, None] == senses[None, :]) & allowed
    return float((same.sum(axis=1)[asked] / allowed.sum(axis=1)[asked]).mean())


def nearer_mean_agrees(
    vectors: Float[ndarray, "occurrences hidden"], senses: ndarray, allowed: Allowed
) -> float | None:
    """How often the nearer of the senses' means is the right one: a linear probe that has never
    seen what it judges, for the means are taken over what is allowed for each occurrence.

    The mean of the senses' own shares, so that guessing the commoner one earns one half. None if
    some sense has no occurrence that can be judged.
    """
    vectors, names = unit(vectors), np.unique(senses)
    distances = np.full((len(names), len(senses)), np.nan)
    for row, name in enumerate(names):
        fit_on = allowed & (senses == name)[None, :]
        judged = fit_on.any(axis=1)
        means = fit_on[judged] @ vectors / fit_on[judged].sum(axis=1, keepdims=True)
        distances[row, judged] = np.linalg.norm(vectors[judged] - means, axis=1)
    judged = ~np.isnan(distances).any(axis=0)
    if len(np.unique(senses[judged])) < len(names):
        return None
    right = names[distances[:, judged].argmin(axis=0)] == senses[judged]
    return float(np.mean([right[senses[judged] == name].mean() for name in names]))


def measure_senses(
    pretrained: Pretrained, held_out: list[Story], *, seq_length: int
) -> dict[str, SenseReport]:
    """A report of every word that these stories use in two senses."""
    whole, single = (
        occurrences_of(held_out, pretrained.tokenizer, seq_length=seq_length, alone=alone)
        for alone in (False, True)
    )
    # A narrow model may read too little of the stories to find both senses.
    words = [
        word
        for word in words_with_two_senses(held_out)
        if all(len({occurrence.sense for occurrence in read[word]}) > 1 for read in (whole, single))
    ]
    reports = {}
    with progress_bar(len(words), "words with two senses", unit="word") as bar:
        for word in words:
            vectors, senses = vectors_of(pretrained, whole[word], seq_length=seq_length)
            elsewhere = in_another_story(whole[word])
            reports[word] = SenseReport(
                word=word,
                senses=senses.tolist(),
                planes=[principal_plane(layer) for layer in vectors],
                nearest=[nearest_agrees(layer, senses, elsewhere) for layer in vectors],
                nearest_by_chance=chance_to_agree(senses, elsewhere),
                other_words=accuracy_in_other_words(whole[word], vectors),
                other_words_alone=accuracy_in_other_words(
                    single[word], vectors_of(pretrained, single[word], seq_length=seq_length)[0]
                ),
            )
            bar.update()
    return reports


def accuracy_in_other_words(
    seen: list[Occurrence], vectors: Float[ndarray, "states occurrences hidden"]
) -> list[float] | None:
    senses, allowed = np.array([o.sense for o in seen]), in_other_words(seen)
    shares = [nearer_mean_agrees(layer, senses, allowed) for layer in vectors]
    return None if None in shares else shares


MEASURES = {"nearest": "nearest in another story", "other_words": "in other words",
            "other_words_alone": "the same, sentence alone"}  # fmt: skip
Reports = dict[str, SenseReport]


def shares_of(reports: Reports, measure: str) -> list[list[float]]:
    """One measure of every word that has it, by layer."""
    shares = [getattr(report, measure) for report in reports.values()]
    return [share for share in shares if share is not None]


def mean_share(reports: Reports, measure: str) -> list[float] | None:
    shares = shares_of(reports, measure)
    return np.mean(shares, axis=0).tolist() if shares else None


def senses_table(reports: Reports, before: Reports) -> str:
    """The shares of every word by layer, of a deep model by five of its layers; then their means,
    and those of the model `before` it was trained."""
    last = len(next(iter(reports.values())).nearest) - 1
    shown = sorted({round(part * last / 4) for part in range(5)})
    numbers = "".join(f"{n:6}" for n in shown)
    width = max(len(numbers), 20) + 2
    titles = ("nearest", "in other words", "sentence alone")
    lines = [
        "  " + " " * 33 + "".join(f"{title:>{width}}" for title in titles) + "    chance:",
        f"  {'layer':<33}" + f"{numbers:>{width}}" * len(titles) + "   nearest",
    ]
    for word, report in reports.items():
        counts = ", ".join(f"{n} {sense}" for sense, n in sorted(Counter(report.senses).items()))
        shares = (f"{percents(getattr(report, m), shown):>{width}}" for m in MEASURES)
        lines.append(f"  {word:<8}{counts:<25}{''.join(shares)}{report.nearest_by_chance:10.0%}")
    for title, measured in (("mean", reports), ("mean, the model untrained", before)):
        shares = (f"{percents(mean_share(measured, m), shown):>{width}}" for m in MEASURES)
        lines.append(f"  {title:<33}{''.join(shares)}")
    return "\n".join(lines)


def percents(shares: list[float] | None, layers: list[int]) -> str:
    return "".join(f"{shares[n]:6.0%}" if shares else f"{'–':>6}" for n in layers)


def draw_senses_by_layer(reports: Reports, before: Reports, word: str, path: Path) -> None:
    """The principal plane of one word's vectors at each layer, then the shares of all words."""
    report = reports[word]
    layers = len(report.planes)
    columns = 2 if layers < 4 else 3 if layers < 9 else 4
    rows = -(-(layers + 1) // columns)
    picture = Picture(2.9 * rows, 2 + 2.5 * columns)
    panels = picture.subplots(rows, columns, squeeze=False).ravel()
    for number, plane in enumerate(report.planes):
        axes = panels[number]
        for sense, (color, marker) in zip(sorted(set(report.senses)), STYLES, strict=False):
            chosen = plane[np.array(report.senses) == sense]
            axes.scatter(*chosen.T, s=14, c=color, marker=marker, alpha=0.6, label=sense)
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"“{word}”, layer {number}" + (" (embeddings)" if not number else ""),
                       fontsize=9)  # fmt: skip
    panels[0].legend(frameon=False, fontsize=8)
    draw_shares(panels[layers], reports, before)
    for axes in panels[layers + 1 :]:
        axes.set_visible(False)
    unboxed(picture).save(path)


def draw_shares(axes: Axes, reports: Reports, before: Reports) -> None:
    """Thin lines are words, thick ones their mean, dotted ones the mean of the untrained model."""
    for (measure, label), color in zip(MEASURES.items(), (SKY, PINK, GREEN), strict=True):
        for word in shares_of(reports, measure):
            axes.plot(word, color=color, linewidth=0.7, alpha=0.4)
        mean, untrained_mean = mean_share(reports, measure), mean_share(before, measure)
        if mean:
            axes.plot(mean, ".-", color=color, linewidth=2.5, label=label)
        if untrained_mean:
            axes.plot(untrained_mean, ":", color=color, linewidth=1.8)
    axes.set(ylim=(0, 1.03), xlabel="layer")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"share right: {len(reports)} words, their mean; dotted: untrained", fontsize=9)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    axes.tick_params(labelsize=8)
