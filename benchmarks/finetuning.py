"""What pretraining bought: every task from a checkpoint, from scratch, and two baselines.

    python benchmarks/finetuning.py --checkpoint runs/demo --out results/finetuning.md
    python benchmarks/finetuning.py --checkpoint runs/wikipedia-150m --data DATA --whole \
        --seeds 3 --learning-rate 1e-3 --out results/finetuning_real.md

On a GPU several runs at a time use it better: `--workers 8`.

Without `--data` the tasks are StoryWorld's, and sentiment is also learned from a hundred labeled
examples, with five seeds. With `--data` the tasks are real: the folders of `REAL`, in the format in
which each data set is published; tasks whose folder is missing are skipped. Each task is also
learned from scratch (the same sizes and vocabulary, without pretraining), and compared with the
majority baseline and with what the words alone tell, without their order. A repeated call
continues where the last one stopped (`--runs`).
"""

import argparse
import contextlib
import io
import os
import shlex
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from bert_experiments.report.figures import NOTHING, in_parallel, kept_record, measured_once, spread
from bert_experiments.report.page import Page, aligned, check_report
from bert_experiments.report.verdicts import Claim, judge, versus
from bert_finetuning.data.load import TaskData, few_of, load_task
from bert_finetuning.finetune import Inputs, finetune, inputs_of
from bert_finetuning.settings import FinetuneSettings, fields_of
from bert_finetuning.tasks.base import Prediction
from bert_finetuning.tasks.classification import Classification
from bert_finetuning.tasks.tagging import Tagging
from bert_run.config import BertConfig, count_parameters, parameter_shapes
from bert_run.errors import UserError, command
from bert_run.files import RunFolder
from bert_run.pictures import BLUE, GREY, ORANGE, Picture, picture_with_axes

FEW, FEW_SEEDS = 100, 5
FEW_EPOCHS = {100: 20.0, 1_000: 6.0}  # 80 and 192 steps
PRETRAINED, SCRATCH, MAJORITY = "pretrained", "from scratch", "majority baseline"
STARTS = PRETRAINED, SCRATCH
BAG = "bag of words"
# Scores on GLUE's hidden test sets of the released models tiny, mini, small and medium, pretrained
# on 3.3 billion words (Turc et al. 2019, arXiv 1908.08962; google-research/bert).
PUBLISHED = {"SST-2": (83.2, 85.9, 89.7, 89.6), "CoLA": (0.0, 0.0, 27.8, 38.0),
             "RTE": (57.2, 57.9, 61.8, 62.2)}  # fmt: skip
AT_THE_END = {"eval_every": 1_000_000}  # evaluated after the last step alone
FLOPS = 40e9  # a second of two cores, roughly: for the estimate of minutes


@dataclass(frozen=True)
class Job:
    """A task, what it asks, and its settings beside those of every task.

    Of a large set only `part` is used, unless the whole set is asked for.
    """

    name: str
    asks: str
    settings: dict
    part: int | None = None
    tokens: int = 20  # of a usual example
    rate: float | None = None  # the peak that was searched for; None: that of the call

    @property
    def is_real(self) -> bool:
        return "data" in self.settings or "train" in self.settings


STORYWORLD = (
    Job("sentiment", "is the restaurant review positive?", {"task": "sentiment"}),
    Job("pairs", "does the second sentence follow from the first?", {"task": "pairs"}),
    Job("stars", "how many stars does the review give?", {"task": "stars"}),
    Job("names", "which words name people, places, companies?", {"task": "names"}),
    Job("questions", "which words of the text answer the question?", {"task": "questions"}),
    Job("endings", "which of four sentences comes next?", {"task": "endings"}, tokens=200),
)

# Folders of real data, and how each is read. A checkpoint that learned no sentence task has taught
# [CLS] nothing, so the mean of the tokens stands for a text. Small sets are read ten times. CoLA's
# rate was the best of five, for both starts, on three seeds that are not measured again. SQuAD has
# 10,570 texts to be evaluated on.
MEAN = {"pooling": "mean"}
TEN_TIMES = MEAN | {"epochs": 10.0}
REAL = (
    ("sst2", Job("SST-2", "is the sentence positive?", {"task": "sst-2", **MEAN}, part=6_000)),
    ("cola", Job("CoLA", "is the sentence grammatical?", {"task": "cola", **TEN_TIMES},
                 rate=1e-4)),
    ("rte", Job("RTE", "does the second text follow from the first?", {"task": "rte", **TEN_TIMES},
                tokens=80)),
    ("snli", Job("SNLI, counterfactual", "does the hypothesis follow?",
                 {"train": "train.tsv", "dev": "dev.tsv", **TEN_TIMES}, tokens=35)),
    ("wnut17", Job("WNUT-17", "which words are names?", {"task": "wnut17"}, tokens=30)),
    ("ud-english-ewt", Job("UD English EWT", "which part of speech is each word?",
                           {"task": "pos"})),
    ("squad", Job("SQuAD 1.1", "which words answer the question?",
                  {"task": "squad", "epochs": 1.0, "max_length": 256, **AT_THE_END}, part=4_000,
                  tokens=200)),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What became of a job: per cent of its metric, one number a seed."""

    job: Job
    metric: str
    examples: tuple[int, int]
    few: bool
    scores: dict[str, list[float]]  # by what the model began from, and of the baselines
    seconds: float | None  # unknown where a run was stopped and went on later

    @property
    def title(self) -> str:
        return f"{self.job.name}, {self.examples[0]:,} examples" if self.few else self.job.name

    @property
    def gain(self) -> str:
        """The difference of the medians, and the standard error of the difference of the means."""
        after, before = self.scores[PRETRAINED], self.scores[SCRATCH]
        gain = f"{statistics.median(after) - statistics.median(before):+.1f}"
        if len(after) < 2:
            return gain
        error = sum(statistics.variance(each) / len(each) for each in (after, before)) ** 0.5
        return f"{gain} ± {error:.1f}"


def jobs(data: Path | None, *, whole: bool = False) -> Iterator[Job]:
    if data is None:
        yield from STORYWORLD
        return
    for folder, job in REAL:
        if not (data / folder).is_dir():
            continue
        settings = {**job.settings, "few_shot": None if whole else job.part}
        if "task" in settings:
            settings["data"] = data / folder
        else:
            for part in ("train", "dev"):
                settings[part] = str(data / folder / settings[part])
        yield replace(job, settings=settings, part=None)


def chosen_jobs(data: Path | None, only: Sequence[str] | None, *, whole: bool) -> list[Job]:
    """Those of `--only`, or all. Raises `UserError` for a name that there is not, and for none."""
    known = {job.name: job for job in jobs(data, whole=whole)}
    if not known:
        folders = ", ".join(folder for folder, _ in REAL)
        raise UserError(f"--data {data} holds none of the folders {folders}")
    if unknown := [name for name in only or () if name not in known]:
        raise UserError(f"--only {unknown[0]!r}: choose from {', '.join(map(repr, known))}")
    return [job for name, job in known.items() if not only or name in only]


@dataclass(frozen=True)
class Measurement:
    """A job, with all examples that it takes or with a few of them."""

    job: Job
    checkpoint: str
    runs: Path
    seeds: int = 1
    few: int | None = None
    rate: float | None = None  # the peak; None: the default of `bert-finetune`
    scratch_rate: float | None = None  # the same from scratch; None: `rate`

    def __str__(self) -> str:
        return self.job.name + (f", {self.few:,} examples" if self.few else "")

    @property
    def runs_of_seeds(self) -> list["Run"]:
        return [Run(self, start, seed) for start in STARTS for seed in range(self.seeds)]

    def settings(self, start: str, seed: int = 0) -> FinetuneSettings:
        name = self.job.name.lower().replace(" ", "-").replace(",", "")
        more = {"few_shot": self.few, "epochs": FEW_EPOCHS[self.few]} if self.few else {}
        if self.few and self.job.is_real:  # who has few labels has none to choose a step by
            more |= AT_THE_END
        searched = None if self.few else self.job.rate
        begin = {"checkpoint": self.checkpoint, "learning_rate": searched or self.rate}
        if start == SCRATCH:
            begin = {"checkpoint": "none", "model": self.checkpoint,
                     "learning_rate": self.scratch_rate or searched or self.rate}  # fmt: skip
        folder = f"{name}{f'-{self.few}' if self.few else ''}-{start.replace(' ', '-')}"
        return FinetuneSettings(
            **{**self.job.settings, **more}, **begin, seed=seed, out=self.runs / folder / str(seed)
        )

    @cached_property
    def data(self) -> TaskData:
        return load_task(self.settings(PRETRAINED))

    @cached_property
    def inputs(self) -> dict[str, Inputs]:
        """What is in the examples and in the checkpoint, of each start."""
        return {start: inputs_of(self.settings(start), self.data) for start in STARTS}

    @property
    def expected_seconds(self) -> float:
        """Of one run: six operations a weight and token."""
        settings = self.settings(PRETRAINED)
        examples = settings.few_shot or len(self.data.train)
        config = BertConfig.load(Path(self.checkpoint))
        weights = 12 * config.num_hidden_layers * config.hidden_size**2
        tokens = examples * settings.epochs * self.job.tokens
        return 6 * weights * tokens / FLOPS

    def row(self) -> Row:
        """All runs, and beside them the baselines, in per cent."""
        found = {start: [run.figures() for run in self.runs_of_seeds if run.start == start]
                 for start in STARTS}  # fmt: skip
        first = found[PRETRAINED][0]
        metric, data, few = first["metric"], self.data, self.settings(PRETRAINED).few_shot
        scores = {start: [100 * run["score"] for run in runs] for start, runs in found.items()}
        scores[MAJORITY] = [100 * first["majority"]]
        lessons = [few_of(data.train, few, seed=seed) for seed in range(self.seeds if few else 1)]
        said = [bag_of_words(data, lesson) for lesson in lessons]
        scores[BAG] = [100 * data.task.score(data.dev, each)[metric] for each in said if each]
        times = [run["seconds"] for runs in found.values() for run in runs]
        seconds = None if None in times else sum(times)
        return Row(self.job, metric, tuple(first["examples"]), bool(self.few), scores, seconds)


@dataclass(frozen=True)
class Run:
    """One seed of a measurement, from one start."""

    measurement: Measurement
    start: str
    seed: int

    def __str__(self) -> str:
        return f"{self.measurement}, {self.start}, seed {self.seed}"

    @property
    def settings(self) -> FinetuneSettings:
        return self.measurement.settings(self.start, self.seed)

    @property
    def path(self) -> Path:
        """Where its figures are kept."""
        return self.settings.out.with_suffix(".json")

    @property
    def asked(self) -> dict[str, Any]:
        """All that the figures depend on."""
        return {**fields_of(self.settings), "inputs": self.measurement.inputs[self.start]}

    @property
    def is_done(self) -> bool:
        return self.path.is_file() and kept_record(self.path).get("asked") == self.asked

    @property
    def expected_seconds(self) -> float:
        return self.measurement.expected_seconds

    def figures(self) -> dict[str, Any]:
        return measured_once(self.path, self.asked, self.measure)

    def measure(self) -> dict[str, Any]:
        is_begun, begin = RunFolder(self.settings.out).has_begun(), time.perf_counter()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                outcome = finetune(self.settings)
        except UserError as error:  # the runs' --out is --runs here
            raise UserError(str(error).replace("--out", "--runs")) from None
        seconds = time.perf_counter() - begin  # of a run that goes on, of its rest alone
        return {"metric": outcome.metric, "examples": outcome.examples, "score": outcome.scores[0],
                "majority": outcome.majority[outcome.metric],
                "seconds": None if is_begun else seconds}  # fmt: skip


def bag_of_words(data: TaskData, train: Sequence[Any]) -> list[Prediction] | None:
    """What one can say who sees the words alone, without their order: logistic regression on the
    words of a text, of a pair on those of both; for each word the tag that it has most often. None
    for tasks that cannot be answered so.
    """
    if isinstance(data.task, Tagging):
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for sentence in train:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                counts[word.lower()][tag] += 1
                counts[""][tag] += 1  # of words that are not known
        common = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
        said = [[common.get(word.lower(), common[""]) for word in each.words] for each in data.dev]
        return [Prediction(tuple(tags), (1.0,) * len(tags)) for tags in said]
    if not isinstance(data.task, Classification):
        return None
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    def words(example: Any) -> list[str]:
        return [f"{place} {word}" for place, text in enumerate(example.texts)
                for word in text.lower().split()]  # fmt: skip

    counter = CountVectorizer(analyzer=words)
    model = LogisticRegression(max_iter=1_000)
    model.fit(counter.fit_transform(train), [example.label for example in train])
    return [Prediction(label, (1.0,)) for label in model.predict(counter.transform(data.dev))]


def rows_of(rows: Sequence[Row], *, real: bool) -> list[list[str]]:
    """The table, its head first; of real tasks with more columns."""
    more = [BAG] if real else []
    last = ["gain", "published, tiny, mini, small, medium"] if real else []
    head = ["task", "metric, %", "training examples", "dev examples", MAJORITY, *more,
            SCRATCH, "**pretrained**", *last, "seconds, both"]  # fmt: skip
    table = [head]
    for row in rows:
        scores = {start: spread(values, ".1f") for start, values in row.scores.items()}
        published = PUBLISHED.get(row.job.name, ())
        beside = [row.gain, ", ".join(map(str, published)) or NOTHING] if real else []
        table.append(
            [f"{row.job.name}: {row.job.asks}", row.metric, *(f"{n:,}" for n in row.examples),
             scores[MAJORITY], *(scores[name] for name in more), scores[SCRATCH],
             f"**{scores[PRETRAINED]}**", *beside,
             NOTHING if row.seconds is None else f"{row.seconds:.0f}"]
        )  # fmt: skip
    return table


COLORS = {SCRATCH: ORANGE, PRETRAINED: BLUE}
SIZES = {"|": 14, "x": 6, "s": 6, "o": 7}


def draw(rows: list[Row], title: str) -> Picture:
    """A row for each task: majority baseline, from scratch, pretrained."""
    picture, axes = picture_with_axes(
        height=0.8 + 0.42 * len(rows), title=title, xlabel="per cent of the task's metric"
    )
    for place, row in enumerate(rows):
        for start, mark in ((MAJORITY, "|"), (BAG, "x"), (SCRATCH, "s"), (PRETRAINED, "o")):
            values, color = row.scores[start], COLORS.get(start, GREY)
            axes.plot(values, [place] * len(values), mark, color=color, markersize=SIZES[mark])
    for marker, color, label in (("|", GREY, "the most common answer"), ("x", GREY, BAG),
                                  ("s", ORANGE, SCRATCH),
                                  ("o", BLUE, PRETRAINED)):  # fmt: skip
        axes.plot([], [], marker, color=color, label=label, markersize=8)
    axes.set_yticks(range(len(rows)), [f"{row.title} ({row.metric})" for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    picture.legend(frameon=False, loc="outside lower center", ncols=4)
    return picture


def hardware() -> str:
    if torch.cuda.is_available():
        return f"One {torch.cuda.get_device_name()}"
    return f"{os.cpu_count()} cores"


def page_of(rows: list[Row], checkpoint: str, *, real: bool, seeds: int, workers: int = 1) -> Page:
    config = BertConfig.load(Path(checkpoint))
    size = count_parameters(parameter_shapes(config))
    times = [row.seconds for row in rows]
    minutes = "" if None in times else f"; {sum(times) / 60:.1f} minutes for all runs"
    notes = (
        "*From scratch*: the same model and vocabulary, fine-tuned without pretraining. *Majority "
        "baseline*: the most common answer, given without reading the text. Each score is the best "
        "of the evaluations after each epoch, on the same dev examples, so all scores are slightly "
        "optimistic. Of several seeds: median (lowest–highest)."
    )
    if real:
        notes += (
            " SQuAD, and every task with few labels, is evaluated once, after the last step.\n\n"
            "*Bag of words*: logistic regression on the words of the text or of both texts, "
            "without their order; for tags, the one that a word has most often. *Gain*: the "
            "difference of the medians ± the standard error of the difference of the means over "
            "the seeds. *Published*: the released models of these sizes, which read 3.3 billion "
            "words, on GLUE's hidden test sets, the best of several rates and batch sizes (Turc et "
            "al. 2019, arXiv 1908.08962)."
        )
    if few := [row for row in rows if row.few]:
        epochs = ", ".join(f"{epochs:g} epochs of {n:,}" for n, epochs in FEW_EPOCHS.items()
                           if any(row.examples[0] == n for row in few))  # fmt: skip
        notes += f"\n\nWith few labels: {epochs}; each seed draws its own examples."
    results = {
        f"{row.title}, {start}": [{row.metric: score / 100} for score in scores]
        for row in rows for start, scores in row.scores.items() if scores and (real or start != BAG)
    }  # fmt: skip
    claims = [
        Claim(f"pretraining helps with {row.title}",
              versus(f"{row.title}, {PRETRAINED}", f"{row.title}, {SCRATCH}", row.metric))
        for row in rows if seeds > 1
    ]  # fmt: skip
    title = "Fine-tuned on real tasks" if real else "What pretraining bought"
    return Page(
        title=f"{title}, with few labels" if len(few) == len(rows) else title,
        results=results,
        columns=(),
        verdicts=[judge(claim, results) for claim in claims],
        made=f"From `{checkpoint}`: {config.num_hidden_layers} layers, hidden size "
        f"{config.hidden_size}, {size:,} parameters. {hardware()}. "
        f"{'One seed' if seeds == 1 else f'{seeds} seeds'}, the default settings of "
        f"`bert-finetune` unless stated otherwise{minutes}"
        f"{f', {workers} of them at a time' if workers > 1 else ''}.",
        notes=notes,
        rows=rows_of(rows, real=real),
        picture="each task: baselines, from scratch and pretrained",
    )


def longest_first(run: Run) -> float:
    """With several workers none is left alone with a long run at the end."""
    return -run.expected_seconds


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="the folder of a pretrained BERT")
    parser.add_argument("--data", type=Path, help="a folder with the folders of REAL")
    parser.add_argument("--whole", action="store_true", help="all examples of the large sets too")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each task and start")
    parser.add_argument("--few", type=int, nargs="+", choices=FEW_EPOCHS, default=[],
                        help="also with so many labels")  # fmt: skip
    parser.add_argument("--only-few", action="store_true", help="with so few labels alone")
    parser.add_argument("--learning-rate", type=float,
                        help="the peak, of both starts; CoLA with all labels has its own"
                        )  # fmt: skip
    parser.add_argument("--scratch-learning-rate", type=float, help="the peak from scratch")
    parser.add_argument("--workers", type=int, default=1, help="runs at a time")
    parser.add_argument("--runs", type=Path, help="where the runs lie (runs/finetuning)")
    parser.add_argument("--only", nargs="+", help="these tasks alone, by their names here")
    parser.add_argument("--out", type=Path, help="write FILE.md, FILE.json and FILE.png")
    asked = parser.parse_args()
    if asked.only_few and not asked.few:
        raise UserError("--only-few: say with how many labels: --few 100 1000")
    for name in ("seeds", "workers"):
        if (value := getattr(asked, name)) < 1:
            raise UserError(f"--{name} {value}: give 1 or more")
    check_report(asked.out, "benchmarks/finetuning.py", with_picture=True, option="--out")
    real = asked.data is not None
    runs = asked.runs or Path("runs") / ("real" if real else "finetuning")
    chosen = chosen_jobs(asked.data, asked.only, whole=asked.whole)
    rates = {"rate": asked.learning_rate, "scratch_rate": asked.scratch_learning_rate}
    counts = asked.few if asked.only_few else [None, *asked.few]  # None: all
    wanted = [Measurement(job, asked.checkpoint, runs, asked.seeds, few, **rates)
              for few in counts for job in chosen]  # fmt: skip
    if not real and not asked.only and not asked.only_few:
        wanted.append(Measurement(STORYWORLD[0], asked.checkpoint, runs, FEW_SEEDS, FEW, **rates))
    in_parallel(
        sorted([run for each in wanted for run in each.runs_of_seeds], key=longest_first),
        lambda run: run.is_done, Run.figures, workers=asked.workers,
        seconds=lambda run: run.expected_seconds,
    )  # fmt: skip
    rows = [each.row() for each in wanted]
    print(aligned(rows_of(rows, real=real)))
    if asked.out is not None:
        changed = {"--data DATA": real, "--whole": asked.whole,
                   f"--seeds {asked.seeds}": asked.seeds > 1,
                   f"--few {' '.join(map(str, asked.few))}": asked.few,
                   "--only-few": asked.only_few,
                   f"--learning-rate {asked.learning_rate}": asked.learning_rate is not None,
                   f"--scratch-learning-rate {asked.scratch_learning_rate}":
                       asked.scratch_learning_rate is not None,
                   f"--workers {asked.workers}": asked.workers > 1,
                   f"--only {shlex.join(asked.only or [])}": asked.only}  # fmt: skip
        options = "".join(f" {option}" for option, is_given in changed.items() if is_given)
        page_of(rows, asked.checkpoint, real=real, seeds=asked.seeds, workers=asked.workers).write(
            asked.out,
            f"python benchmarks/finetuning.py --checkpoint {asked.checkpoint}{options} "
            f"--out {asked.out}",
            draw(rows, "fine-tuned: from a pretrained BERT, and from scratch"),
        )


if __name__ == "__main__":
    main()
