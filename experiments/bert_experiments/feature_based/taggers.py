"""Taggers on the features of a frozen BERT: one for each feature and each seed.

All of them use the same vectors: BERT encodes every sentence once.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from tqdm import tqdm

from bert_experiments.feature_based.bilstm import (
    BiLstmTagger,
    TaggerRecipe,
    TaggingSet,
    tags_of,
    train_tagger,
)
from bert_experiments.feature_based.table_7 import MEASURE
from bert_experiments.feature_based.word_vectors import (
    Feature,
    WordVectors,
    features_of,
    word_vectors,
)
from bert_experiments.report.figures import UNTRAINED, Figures, Results
from bert_experiments.report.models import untrained
from bert_finetuning.data.load import TaskData
from bert_finetuning.data.rows import one_of
from bert_finetuning.metrics import entity_scores
from bert_finetuning.tasks.tagging import TaggedSentence
from bert_paper.pretrained import Pretrained
from bert_run.errors import UserError
from bert_run.training_loop import progress_bar


@dataclass(frozen=True)
class Bench:
    """What all taggers have in common: sentences, and the recipe."""

    data: TaskData
    drawn: Mapping[int, list[int]]  # of each seed, the places of the sentences that it learns from
    recipe: TaggerRecipe
    device: torch.device

    @property
    def used(self) -> list[int]:
        """The sentences of train that some seed learns from."""
        return sorted({place for places in self.drawn.values() for place in places})

    @property
    def sentences(self) -> list[TaggedSentence]:
        """What BERT reads: those, then dev."""
        return [*(self.data.train[place] for place in self.used), *self.data.dev]

    @property
    def labels(self) -> tuple[str, ...]:
        return self.data.task.head.labels

    def numbers(self, sentences: list[TaggedSentence]) -> list[list[int]]:
        number = {tag: place for place, tag in enumerate(self.labels)}
        return [[number[tag] for tag in sentence.tags] for sentence in sentences]

    def learned(self, vectors: WordVectors, seed: int) -> TaggingSet:
        row = {place: number for number, place in enumerate(self.used)}
        places = self.drawn[seed]
        tags = self.numbers([self.data.train[place] for place in places])
        return TaggingSet(vectors, [row[place] for place in places], tags)

    def measured(self, vectors: WordVectors) -> TaggingSet:
        first = len(self.used)
        rows = range(first, first + len(self.data.dev))
        return TaggingSet(vectors, rows, self.numbers(self.data.dev))

    def score(self, vectors: WordVectors, feature: Feature, seed: int) -> float:
        """Train a tagger, and measure it on dev at its best."""
        dev = self.measured(vectors)
        run = train_tagger(
            feature, self.learned(vectors, seed), num_tags=len(self.labels), recipe=self.recipe,
            judge=partial(self.judge, dev=dev, feature=feature), seed=seed, device=self.device,
        )  # fmt: skip
        return run.score

    def judge(self, tagger: BiLstmTagger, *, dev: TaggingSet, feature: Feature) -> float:
        """F1 of names, or the share of words tagged right."""
        said = tags_of(tagger, dev, feature)
        if self.data.task.metrics[0] == "entity_f1":
            named = [[self.labels[number] for number in sentence] for sentence in said]
            return entity_scores([sentence.tags for sentence in self.data.dev], named)[0].f1
        return float(np.mean(np.concatenate(dev.tags) == np.concatenate(said)))


def measure(
    bench: Bench, pretrained: Pretrained, features: Mapping[str, Feature], *, compared: str
) -> Results:
    """The scores of each feature, one a seed; and of the `compared` one of an untrained model."""
    layers = sorted({layer for feature in features.values() for layer in feature.layers})
    vectors = read(bench, pretrained, layers, progress="reading")
    results: Results = {}
    known: dict[Feature, list[Figures]] = {}
    with progress_bar((len(set(features.values())) + 1) * len(bench.drawn), "taggers",
                      unit="tagger") as bar:  # fmt: skip
        for name, feature in features.items():
            if feature not in known:  # of few layers, the last four are all
                bar.set_postfix_str(name)
                known[feature] = scores(bench, vectors, feature, bar)
            results[name] = known[feature]
        bar.set_postfix_str(UNTRAINED)
        feature = features[compared]
        vectors = read(bench, untrained(pretrained, min(bench.drawn)), list(feature.layers))
        results[UNTRAINED] = scores(bench, vectors, feature, bar)
    return results


def scores(bench: Bench, vectors: WordVectors, feature: Feature, bar: tqdm) -> list[Figures]:
    found = []
    for seed in bench.drawn:
        found.append({MEASURE: bench.score(vectors, feature, seed)})
        bar.update()
    return found


def read(
    bench: Bench, pretrained: Pretrained, layers: list[int], *, progress: str | None = None
) -> WordVectors:
    words = [sentence.words for sentence in bench.sentences]
    bert, tokenizer = pretrained.model.bert, pretrained.tokenizer
    return word_vectors(
        bert, tokenizer, words, layers=layers, progress=progress, make_array=array_on_disk
    )


def chosen_features(names: Sequence[str], layers: int) -> dict[str, Feature]:
    """Those with the given names, in the order of the table; `all` stands for all."""
    known = features_of(layers)
    if unknown := [name for name in names if name not in {*known, "all"}]:
        raise UserError(f"there is no feature {unknown[0]!r}: choose {one_of((*known, 'all'))}")
    return {name: f for name, f in known.items() if name in names or "all" in names}


def array_on_disk(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Room in a file that is gone when nobody reads it: CoNLL-2003 in 5 layers of BERT-base has
    204,000 · 5 · 768 numbers, 3.1 GB."""
    folder, size = tempfile.gettempdir(), np.dtype(dtype).itemsize * int(np.prod(shape))
    if (free := shutil.disk_usage(folder).free) < size:
        raise UserError(
            f"the features need {size / 2**30:.1f} GiB, and {folder} has {free / 2**30:.1f} free: "
            "take fewer sentences or fewer features, or set TMPDIR to a larger folder"
        )
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=shape)
