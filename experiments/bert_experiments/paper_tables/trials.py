"""One run of a table: done once, kept in a folder of its own, and never done again.

runs/tables/NAME OF THE START/TASK_fine-tuned_seed-0_1a2b3c4d/
    figures.json     what it reached, written last
    …                what bert-finetune leaves, by which a run that was stopped goes on
"""

import hashlib
import io
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from bert_experiments.feature_based.__main__ import (
    FeatureSettings,
    compared_feature,
    drawn_by,
    open_tags,
)
from bert_experiments.feature_based.bilstm_heads import finetune_one
from bert_experiments.feature_based.table_7 import MEASURE
from bert_experiments.feature_based.taggers import Bench, measure, read
from bert_experiments.feature_based.word_vectors import features_of
from bert_experiments.paper_tables.columns import How, content_of
from bert_experiments.report.figures import Results, kept_record, one_by_one, say, title_of
from bert_experiments.report.models import untrained
from bert_experiments.report.page import write_json
from bert_finetuning.checkpoint import load_finetuned
from bert_finetuning.data.load import load_named, load_task
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.finetune import (
    drop_models,
    finetune,
    fingerprint_of_files,
    identity,
    reading_files,
)
from bert_finetuning.settings import FinetuneSettings
from bert_paper.pretrained import Pretrained, open_pretrained
from bert_run.device import choose_device, choose_precision
from bert_run.errors import UserError
from bert_run.files import sha256
from bert_run.training_loop import Record
from bert_run.weights import locate, weight_files

# Under "scores" those of the run, under "majority" those without reading.
Scores = dict[str, Record]

SECONDS_AN_EXAMPLE, SECONDS_OF_FEATURES = 0.003, 10  # as the runs of Tables 5 and 8 took a core
ROUNDS = 15  # of a tagger on StoryWorld's few sentences; on real data those of `feature_based`
MAJORITY = "majority baseline"  # a row of its own
FIGURES_FILE = "figures.json"
DATA = "data"  # in it: the fingerprint of the task's data
# And that of the start's sizes and tokenizer; the folder's name has its weights.
READ_BY = "read by"
BETWEEN_RESTARTS = 100  # from the seed of a restart to that of the next one


@dataclass(frozen=True)
class Trial:
    """A run of one seed, and the cells that it fills: in `row`, by column the name of a metric."""

    row: str
    columns: dict[str, str]
    settings: FinetuneSettings  # `out` is the folder of all runs of this start
    how: How = "fine-tuned"
    restart: int = 0  # of fine-tuning the same model

    def restarted(self, number: int) -> "Trial":
        """The same once more, with another seed of fine-tuning."""
        seed = self.settings.seed + BETWEEN_RESTARTS * number
        return replace(self, settings=replace(self.settings, seed=seed), restart=number)

    @cached_property
    def folder(self) -> Path:
        """A name to read, and a fingerprint of the settings and of the weights it starts from."""
        settings = self.settings
        identified = {
            **identity(settings), "how": self.how, "start": weights_of(start_of(settings)),
            "checkpoint": settings.from_scratch, "model": None,
        }  # fmt: skip
        content = json.dumps(identified, sort_keys=True, default=str)
        fingerprint = hashlib.sha256(content.encode()).hexdigest()[:8]
        start = "untrained_" if settings.from_scratch else ""
        name = f"{start}{settings.task}_{self.how}_seed-{settings.seed}_{fingerprint}"
        return settings.out / name

    @property
    def is_done(self) -> bool:
        return (self.folder / FIGURES_FILE).exists()

    @property
    def on_storyworld(self) -> bool:
        """Such runs are many and short, and their models serve nobody: only figures are kept."""
        return self.settings.task in STORYWORLD

    def run(self) -> None:
        known = self.known()
        with silence() if self.on_storyworld else nullcontext():
            scores = RUNS[self.how](replace(self.settings, out=self.folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / FIGURES_FILE, scores | known)
        if self.on_storyworld:
            drop_models(self.folder)

    def read(self) -> Scores:
        """Its figures. Raises `UserError` if they were measured on other data than there are now,
        or read them with another tokenizer.

        Figures of an earlier version of the course, and of the Hub, do not say on which they were.
        """
        found = kept_record(self.folder / FIGURES_FILE)
        names = {DATA: "its data", READ_BY: "the configuration or the tokenizer of its model"}
        for key, now in self.known().items():
            earlier = found.pop(key, None)
            if earlier is not None and earlier != now:
                raise UserError(
                    f"{self.folder} holds figures of {self.settings.task} that were measured "
                    f"before {names[key]} changed: choose another --out, or remove that folder"
                )
        return found

    def known(self) -> dict[str, str | None]:
        """What the figures depend on beside the settings and the weights."""
        files = reading_files(start_of(self.settings))
        return {DATA: content_of(self.settings.task, self.settings.data),
                READ_BY: fingerprint_of_files(files)}  # fmt: skip

    def __str__(self) -> str:
        what = (
            self.settings.task if len(self.columns) > 2 else ", ".join(map(title_of, self.columns))
        )
        return f"{self.row}, {what}, seed {self.settings.seed}"


def start_of(settings: FinetuneSettings) -> Path:
    """The folder of the model that is fine-tuned, or that lends its sizes."""
    return locate(settings.model if settings.from_scratch else settings.checkpoint).folder


@cache
def weights_of(folder: Path) -> str:
    """A fingerprint of a checkpoint: one that was trained anew is another."""
    digest = hashlib.sha256()
    for path in weight_files(folder):
        digest.update(bytes.fromhex(sha256(path)))
    return digest.hexdigest()


# --- What is run ---------------------------------------------------------------------------------


def fine_tuned(settings: FinetuneSettings) -> Scores:
    outcome = finetune(settings)
    best = {name: value for name, value in outcome.best.best.items() if name != "step"}
    if settings.task == "mnli":
        best["mismatched"] = mismatched_accuracy(settings, outcome.folder / "best")
    return {"scores": best, "majority": outcome.majority}


def with_bilstm(settings: FinetuneSettings) -> Scores:
    data = load_task(settings)
    run = finetune_one(data, settings.checkpoint, settings, seed=settings.seed, with_bilstm=True)
    majority = data.task.majority(data.train, data.dev)
    return {"scores": run.best, "majority": data.task.score(data.dev, majority)}


def mismatched_accuracy(settings: FinetuneSettings, folder: Path) -> float:
    """Of a model that has learned MNLI, on kinds of text that train has not."""
    device, data = choose_device(settings.device), load_named("mnli-mm", settings.data)
    task = data.task
    finetuned = load_finetuned(folder, device=device)
    longest = task.reading_length(settings.max_length, finetuned.model.config)
    precision = choose_precision(settings.precision, device)
    predictions = task.answers(data.dev, finetuned.model, finetuned.tokenizer,
                               max_length=longest, precision=precision)  # fmt: skip
    return task.score(data.dev, predictions)["accuracy"]


# A BiLSTM on the frozen vectors: for Table 8 on the last four layers, for Table 7 on all choices.


def asked_of(settings: FinetuneSettings) -> FeatureSettings:
    return FeatureSettings(
        checkpoint=settings.model if settings.from_scratch else settings.checkpoint,
        task=settings.task,
        data=settings.data,
        few_shot=settings.few_shot,
        seeds=1,
        seed=settings.seed,
        device=settings.device,
        rounds=ROUNDS if settings.task == "names" else FeatureSettings.rounds,
    )


def open_bench(settings: FinetuneSettings) -> tuple[Bench, Pretrained]:
    asked = asked_of(settings)
    data, device = open_tags(asked), choose_device(settings.device)
    pretrained = open_pretrained(asked.checkpoint, device)
    if settings.from_scratch:
        pretrained = untrained(pretrained, settings.seed)
    width = pretrained.model.config.hidden_size
    return Bench(data, drawn_by(data, asked), asked.recipe(width), device), pretrained


def score_of_features(settings: FinetuneSettings) -> dict[str, Record]:
    """On the last four layers side by side."""
    bench, pretrained = open_bench(settings)
    feature = features_of(pretrained.model.config.num_hidden_layers)["concat-last-4"]
    vectors = read(bench, pretrained, list(feature.layers))
    score = bench.score(vectors, feature, settings.seed)
    return {"scores": {bench.data.task.metrics[0]: score}, "majority": majority_of(bench)}


def scores_of_all_features(settings: FinetuneSettings) -> dict[str, Record]:
    """On each choice of layers, and on those of an untrained model."""
    bench, pretrained = open_bench(settings)
    features = features_of(pretrained.model.config.num_hidden_layers)
    found = measure(bench, pretrained, features, compared=compared_feature(features))
    scores = {name: runs[0][MEASURE] for name, runs in found.items()}
    return {"scores": scores, "majority": majority_of(bench)}


def majority_of(bench: Bench) -> Record:
    data = bench.data
    return data.task.score(data.dev, data.task.majority(data.train, data.dev))


RUNS: dict[How, Callable[[FinetuneSettings], Scores]] = {
    "fine-tuned": fine_tuned,
    "with-bilstm": with_bilstm,
    "features": score_of_features,
    "all-features": scores_of_all_features,
}


@contextmanager
def silence() -> Iterator[None]:
    """Nothing that a run prints is seen, apart from its warnings."""
    stderr = io.StringIO()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(stderr):
            yield
    finally:
        for line in dict.fromkeys(stderr.getvalue().splitlines()):
            if line.startswith("warning"):
                say(f"  {line.partition(';')[0]}")


def expected_seconds(trial: Trial) -> float:
    """How long a run on StoryWorld takes with a model of two layers of 128."""
    settings = trial.settings
    if trial.how in ("features", "all-features"):
        return SECONDS_OF_FEATURES
    examples = settings.few_shot or STORYWORLD[settings.task].train
    return SECONDS_AN_EXAMPLE * examples * (settings.epochs or 3)


def collected(trials: Sequence[Trial]) -> Results:
    """Do what is not done yet, and put all figures into their rows: one entry a seed, in which a
    column is the mean of its restarts."""
    rows: dict[str, dict[int, dict[str, list[float]]]] = {}
    majority: dict[str, float] = {}
    on_storyworld = all(trial.on_storyworld for trial in trials)
    for trial in one_by_one(trials, lambda trial: trial.is_done, lambda trial: trial.run(),
                            seconds=expected_seconds if on_storyworld else None):  # fmt: skip
        found = trial.read()
        seed = trial.settings.seed - BETWEEN_RESTARTS * trial.restart
        figures = rows.setdefault(trial.row, {}).setdefault(seed, {})
        for column, metric in trial.columns.items():
            figures.setdefault(column, []).append(found["scores"][metric])
            if metric in found["majority"]:
                majority[column] = found["majority"][metric]
    results: Results = {
        row: [{column: statistics.fmean(values) for column, values in figures.items()}
              for figures in seeds.values()]
        for row, seeds in rows.items()
    }  # fmt: skip
    return {**results, MAJORITY: [majority]}
