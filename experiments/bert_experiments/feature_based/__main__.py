"""`python -m bert_experiments.feature_based --checkpoint runs/demo`: the paper's Table 7.

BERT stands still, a BiLSTM learns on its vectors: which layers serve it best, and how far is that
from fine-tuning? A row of untrained vectors tells how much of it the BiLSTM does by itself.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from bert_experiments.feature_based.bilstm import TaggerRecipe
from bert_experiments.feature_based.table_7 import (
    BEST,
    FINE_TUNED,
    MEASURE,
    beside,
    shallow_note,
    verdicts_of,
)
from bert_experiments.feature_based.taggers import Bench, chosen_features, measure
from bert_experiments.feature_based.word_vectors import Feature
from bert_experiments.report.figures import UNTRAINED, Figures
from bert_experiments.report.page import Page, check_report, command_of
from bert_finetuning.data.load import TaskData, load_files, load_named, places_of_few
from bert_finetuning.finetune import fingerprint, fingerprint_of_start
from bert_paper.pretrained import open_pretrained
from bert_run.config import (
    BatchSize,
    BertConfig,
    Count,
    Dropout,
    LearningRate,
    Seed,
    Width,
    check_numbers,
)
from bert_run.device import choose_device
from bert_run.errors import UserError, command

PROGRAM = "python -m bert_experiments.feature_based"


@dataclass(frozen=True)
class FeatureSettings:
    """Features of a frozen BERT under a BiLSTM, layer by layer: the paper's Table 7.

    python -m bert_experiments.feature_based --checkpoint runs/demo --few-shot 20
    """

    checkpoint: str = "runs/demo"
    """a BERT folder, or a model of the Hub; models that read from the left alone do too"""
    task: str | None = None
    """names (of StoryWorld) unless files are given; conll2003, wnut17, pos"""
    data: Path | None = None
    """the folder with the task's files; without it they come from the Hub"""
    train: str | None = None
    """a FILE of tagged sentences to learn from: CoNLL columns, CoNLL-U, JSON lines"""
    dev: str | None = None
    """another FILE, to measure on"""
    features: tuple[str, ...] = ("all",)
    """all, or some of: embeddings, second-to-last, last, sum-last-4, weighted-sum-last-4,
    concat-last-4, sum-all, weighted-sum-all"""
    few_shot: Count | None = None
    """learn from so many sentences only; each seed draws its own, those of bert-finetune"""
    seeds: Count = 3
    """taggers on each feature"""
    seed: Seed = 0
    """the first of them"""
    fine_tuned: Path | None = None
    """what bert-finetune left of the same task: its metrics.json becomes a row"""
    report: Path | None = None
    """write the table here too, FILE.md; all figures, as JSON, beside it"""

    # --- The BiLSTM ---
    width: Width | None = None
    """of the BiLSTM, both directions together; the model's own unless given (the paper: 768)"""
    learning_rate: LearningRate = TaggerRecipe.learning_rate
    batch_size: BatchSize = TaggerRecipe.batch_size
    rounds: Count = TaggerRecipe.rounds
    """measurements on dev at most, an epoch or at least 20 steps apart; the best counts"""
    dropout: Dropout = TaggerRecipe.dropout
    device: str = "auto"

    def __post_init__(self) -> None:
        check_numbers(self)
        if (self.train is None) != (self.dev is None):
            raise UserError("--train and --dev go together: give both files")
        if self.task and self.train:
            raise UserError(f"--task {self.task} and --train exclude each other")
        if not self.features:
            raise UserError("--features names none: give all, or some of those in --help")
        check_report(self.report, PROGRAM, with_picture=False)

    def recipe(self, hidden_size: int) -> TaggerRecipe:
        return TaggerRecipe(
            width=self.width or hidden_size, learning_rate=self.learning_rate,
            batch_size=self.batch_size, rounds=self.rounds, dropout=self.dropout,
        )  # fmt: skip


def open_tags(settings: FeatureSettings) -> TaskData:
    """The task, which must be one of tags."""
    if settings.train is not None:
        data = load_files(settings.train, settings.dev, format="tags")
    else:
        data = load_named(settings.task or "names", settings.data)
    if data.task.format != "tags":
        raise UserError(
            f"--task {data.name} has {data.task.format}: a tagger needs a tag for each word"
        )
    return data


def drawn_by(data: TaskData, settings: FeatureSettings) -> dict[int, list[int]]:
    """For each seed the sentences it learns from: the same as `bert-finetune` takes."""
    seeds = range(settings.seed, settings.seed + settings.seeds)
    return {seed: places_of_few(data.train, settings.few_shot, seed=seed) for seed in seeds}


def compared_feature(features: dict[str, Feature]) -> str:
    """Which one is measured of an untrained model too: the paper's best, if it is asked for."""
    return BEST if BEST in features else next(reversed(features))


def fine_tuned_row(settings: FeatureSettings, data: TaskData) -> list[Figures] | None:
    """The seeds of a run of `bert-finetune`. Raises `UserError` if it had other sentences."""
    if settings.fine_tuned is None:
        return None
    path = settings.fine_tuned
    path = path / "metrics.json" if path.is_dir() else path
    metric = data.task.metrics[0]
    try:
        content = json.loads(path.read_text("utf-8"))
        found = [float(seed["best"][metric]) for seed in content["seeds"]]
        task, learned = content["task"], content["train_examples"]
        measured = content["dev_examples"]
        theirs = {split: content["inputs"][split]["sha256"] for split in ("train", "dev")
                  if "inputs" in content}  # fmt: skip
        start = content["inputs"].get("start") if theirs else None
        started = (start["name"], start["sha256"]) if start else None
        if not found or not all(0 <= score <= 1 for score in found):
            raise ValueError("no scores")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"--fine-tuned {settings.fine_tuned}: there is no metrics.json of bert-finetune with "
            f"{metric} in it: give the folder of a run on the same task"
        ) from None
    if task != data.name:
        raise UserError(f"{path}: its task is {task}, here it is {data.name}: take another run")
    ours = settings.few_shot or len(data.train), len(data.dev)
    if (learned, measured) != ours:
        raise UserError(
            f"{path}: it learned from {learned:,} sentences and was measured on {measured:,}; here "
            f"these are {ours[0]:,} and {ours[1]:,}: the two cannot be compared"
        )
    for split, examples in (("train", data.train), ("dev", data.dev)):
        if split in theirs and theirs[split] != fingerprint(examples):
            raise UserError(
                f"{path}: its {split} sentences are not those of this call (as many, but other "
                "content): fine-tune again, in another folder"
            )
    if started is not None and started[1] != fingerprint_of_start(settings.checkpoint):
        raise UserError(
            f"{path}: it started from {started[0]} as that was then, and --checkpoint "
            f"{settings.checkpoint} is another model: fine-tune this one, in another folder"
        )
    if not theirs:
        print(f"note: {path} was written before runs recorded their inputs: nobody can tell "
              "whether it learned from these sentences", file=sys.stderr)  # fmt: skip
    return [{MEASURE: score} for score in found]


def how_measured(settings: FeatureSettings, bench: Bench, model: str) -> str:
    """What the figures stand for, in a paragraph."""
    data, recipe = bench.data, bench.recipe
    learned = settings.few_shot or len(data.train)
    metric = "F1 of names" if data.task.metrics[0] == "entity_f1" else "tagging accuracy"
    drawn = ", the selection of sentences" if settings.few_shot else ""
    return (
        f"Task {data.name}: {learned:,} training sentences, {len(data.dev):,} dev sentences "
        f"({metric}). The model: {model}. On top: a two-layer BiLSTM of width {recipe.width}, Adam "
        f"with learning rate {recipe.learning_rate:g}, batch size {recipe.batch_size}, dropout "
        f"{recipe.dropout:g}. The score is the best of its evaluations on the same dev sentences, "
        "as for fine-tuning, so every row is slightly optimistic. A seed changes the initial "
        f"weights{drawn}, the dropout and the order of the sentences. Each cell is the median of "
        "the seeds, with the lowest and highest in parentheses."
    )


def described(config: BertConfig, compared: str) -> str:
    reads = ", reading left to right" if config.is_decoder else ""
    return (
        f"{config.num_hidden_layers} layers of width {config.hidden_size}{reads}; *{UNTRAINED}* is "
        f"{compared} of an untrained model of the same size"
    )


def page_of(settings: FeatureSettings) -> Page:
    """Measure everything."""
    data = open_tags(settings)
    fine_tuned = fine_tuned_row(settings, data)
    pretrained = open_pretrained(settings.checkpoint, choose_device(settings.device))
    config = pretrained.model.config
    features = chosen_features(settings.features, config.num_hidden_layers)
    compared = compared_feature(features)
    device = next(pretrained.model.parameters()).device
    bench = Bench(data, drawn_by(data, settings), settings.recipe(config.hidden_size), device)
    results = measure(bench, pretrained, features, compared=compared)
    if fine_tuned is not None:
        results[FINE_TUNED] = fine_tuned
    has_names = data.task.metrics[0] == "entity_f1"  # as the paper's table, and its claims
    notes = [how_measured(settings, bench, described(config, compared))]
    if config.num_hidden_layers <= 4 and any("last-4" in name for name in results):
        notes.insert(0, shallow_note(config.num_hidden_layers))
    return Page(
        title="Table 7: the feature-based approach",
        results=results,
        columns=(MEASURE,),
        verdicts=verdicts_of(results) if has_names else [],
        notes="\n\n".join(notes),
        corner="features",
        headings={MEASURE: "ours, %"},
        theirs=beside(results) if has_names else None,
        their_title="the paper",
    )


@command
def main() -> None:
    settings = tyro.cli(FeatureSettings, prog=PROGRAM)
    page = page_of(settings)
    page.publish(settings.report, command_of(PROGRAM, settings))


if __name__ == "__main__":
    main()
