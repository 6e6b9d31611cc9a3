"""The runs of the study: a small BERT from scratch on phrases, measured on held-out sentences.

A run keeps one margin for each example that it was measured on, so that every statement is computed
from the same runs, and none of them has to train again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bert_corpus.wordpiece import save_tokenizer, train_wordpiece
from bert_experiments.finetuning.true_scores.texts import (
    LABELS,
    TextExamples,
    Texts,
    is_negated,
    task_of,
    windows,
)
from bert_finetuning.data.load import TaskData
from bert_finetuning.finetune import learn
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.classification import TextExample

SEEDS = 5
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
TOO_HIGH = 1e-2
POOLINGS = ("cls", "mean")
EPOCHS = 4.0
RARE = 0.05  # share of positive phrases where they are rare
VOCABULARY = 4_000


@dataclass(frozen=True)
class Sizes:
    """Of the sets. The held-out sentences are dev first, then test."""

    train: int = 1_500  # phrases
    heldout: int = 2_400  # sentences
    dev: int = 400
    sentences: int = 5_000  # in all
    windows: int = 1_500


@dataclass(frozen=True)
class Sets:
    """What is learned and what is measured on, from one list of texts."""

    texts: Texts
    sizes: Sizes

    @cached_property
    def heldout(self) -> TextExamples:
        return self.texts.sentences[: self.sizes.heldout]

    @cached_property
    def phrases(self) -> TextExamples:
        """All phrases of the sentences that are not held out, in random order."""
        return mixed(joined(self.texts.phrases[self.sizes.heldout :]), seed=1)

    @cached_property
    def plain(self) -> TextExamples:
        return self.phrases[: self.sizes.train]

    def more(self, *, negated: bool) -> TextExamples:
        """Half as many phrases again, all with a negation, or none."""
        others = self.phrases[self.sizes.train :]
        chosen = [each for each in others if is_negated(each) == negated]
        return [*self.plain, *chosen[: self.sizes.train // 2]]

    @cached_property
    def leaky(self) -> tuple[TextExamples, TextExamples, TextExamples]:
        """Phrases split at random: train and test share sentences. Then other sentences' phrases,
        as many as in that test."""
        several: list[TextExample] = []
        rest = iter(self.texts.phrases[self.sizes.heldout :])
        while len(several) < 2 * self.sizes.train:
            several += next(rest)
        several = mixed(several, seed=2)
        train, test = several[: self.sizes.train], several[self.sizes.train :]
        clean = mixed(joined(self.texts.phrases[: self.sizes.heldout]), seed=2)[: len(test)]
        return train, test, clean

    def rare(self, examples: TextExamples, count: int) -> TextExamples:
        """So many examples, of which few are positive."""
        few = round(RARE * count)
        negative, positive = ([e for e in examples if e.label == label] for label in LABELS)
        return mixed([*negative[: count - few], *positive[:few]], seed=3)

    @cached_property
    def rare_train(self) -> TextExamples:
        return self.rare(self.phrases, self.sizes.train)

    @cached_property
    def rare_heldout(self) -> TextExamples:
        """Dev is the first half, test the second."""
        phrases = mixed(joined(self.texts.phrases[: self.sizes.heldout]), seed=1)
        return self.rare(phrases, 2 * self.sizes.train)


def mixed(examples: TextExamples, *, seed: int) -> list[TextExample]:
    return [examples[i] for i in np.random.default_rng(seed).permutation(len(examples))]


def joined(lists: Sequence[list[TextExample]]) -> list[TextExample]:
    return [example for some in lists for example in some]


@dataclass(frozen=True)
class Run:
    """A variant and its seed, which decides first weights, order and dropout."""

    name: str
    seed: int
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the settings
    learns: str = "plain"


def searched(pooling: str, rate: float) -> str:
    return f"{pooling}, rate {rate:g}"


def all_runs(seeds: int = SEEDS) -> list[Run]:
    variants: list[tuple] = [
        (searched(pooling, rate), {"pooling": pooling, "learning_rate": rate})
        for pooling in POOLINGS for rate in RATES
    ]  # fmt: skip
    usual = {"learning_rate": 1e-3}
    variants += [
        ("rate too high", {"learning_rate": TOO_HIGH}),
        ("rate too high, warm-up", {"learning_rate": TOO_HIGH, "warmup": 0.5}),
        ("split at random", usual, "leaky"),
        ("rare", usual, "rare"),
        ("rare, weighted", {**usual, "class_weights": "balanced"}, "rare"),
        ("more with negation", usual, "negated"),
        ("more without", usual, "other"),
        ("windows", usual, "windows"),
    ]
    return [Run(name, seed, *rest) for name, *rest in variants for seed in range(seeds)]


def settings_of(run: Run, tokenizer: Path) -> FinetuneSettings:
    return FinetuneSettings(
        task="sst-2", checkpoint="none", tokenizer=tokenizer, precision="fp32", eval_every=10**6,
        **{"epochs": EPOCHS, **run.changes},
    )  # fmt: skip


def shared_tokenizer(sets: Sets, folder: Path) -> Path:
    """A vocabulary of the training phrases alone: a held-out text must not decide it either."""
    if not (folder / "tokenizer.json").exists():
        texts = [each.text for each in sets.phrases]
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = train_wordpiece(texts, VOCABULARY, progress=False)
        save_tokenizer(tokenizer, folder, model_max_length=512)
    return folder / "tokenizer.json"


def trained(run: Run, sets: Sets, folder: Path) -> dict[str, Any]:
    """Train one model; the margins of each set that it was measured on."""
    settings = settings_of(run, shared_tokenizer(sets, folder / "tokenizer"))
    if run.learns == "windows":
        return read_documents(run, sets, settings)
    train, measured = {
        "plain": lambda: (sets.plain, {"heldout": sets.heldout}),
        "negated": lambda: (sets.more(negated=True), {"heldout": sets.heldout}),
        "other": lambda: (sets.more(negated=False), {"heldout": sets.heldout}),
        "rare": lambda: (sets.rare_train, {"heldout": sets.rare_heldout}),
        "leaky": lambda: (sets.leaky[0], {"leaky": sets.leaky[1], "clean": sets.leaky[2]}),
    }[run.learns]()
    together = [example for examples in measured.values() for example in examples]
    data = TaskData("sst-2", task_of(train, settings.pooling), list(train), together)
    learned = learn(data, settings, seed=run.seed)
    chances = np.array([each.probabilities for each in learned.predictions]).clip(1e-9)
    margins = np.log(chances[:, 1] / chances[:, 0]).round(4)
    ends = np.cumsum([len(examples) for examples in measured.values()])[:-1]
    return {name: part.tolist()
            for name, part in zip(measured, np.split(margins, ends), strict=True)}  # fmt: skip


def read_documents(run: Run, sets: Sets, settings: FinetuneSettings) -> dict[str, float]:
    """Learn from windows of documents; accuracy on documents of two windows or more, by what is
    read of them. Labels of several windows are decided by the mean of their log-probabilities."""
    learned, others = sets.texts.documents
    cut = [TextExample(part, label=each.label) for each in learned for part in windows(each.text)]
    task = task_of(cut, settings.pooling)
    long = [each for each in others if len(windows(each.text)) > 1]
    parts = [(number, part) for number, each in enumerate(long) for part in windows(each.text)]
    asked = [TextExample(part, label=long[number].label) for number, part in parts]
    train = mixed(cut, seed=1)[: sets.sizes.windows]
    predictions = learn(TaskData("kinds", task, train, asked), settings, seed=run.seed).predictions
    of_document: list[list] = [[] for _ in long]
    for (number, _), prediction in zip(parts, predictions, strict=True):
        of_document[number].append(np.log(np.array(prediction.probabilities).clip(1e-9)))
    readings = {"first": slice(0, 1), "last": slice(-1, None), "all": slice(None)}
    right = [task.head.labels.index(each.label) for each in long]

    def accuracy(read: list) -> float:
        return float(np.mean([np.argmax(np.sum(r, axis=0)) == y
                              for r, y in zip(read, right, strict=True)]))  # fmt: skip

    found = {name: accuracy([each[part] for each in of_document])
             for name, part in readings.items()}  # fmt: skip
    found["first and last"] = accuracy([[each[0], each[-1]] for each in of_document])
    commonest = max(map(right.count, set(right))) / len(right)
    return {**found, "commonest": commonest, "documents": float(len(long)),
            "windows": len(parts) / len(long)}  # fmt: skip
