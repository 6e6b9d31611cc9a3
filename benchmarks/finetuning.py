"""What pretraining bought: every task from a checkpoint, from scratch, and a majority baseline.

    python benchmarks/finetuning.py --checkpoint runs/demo --out results/finetuning.md
    python benchmarks/finetuning.py --checkpoint runs/wikipedia --data DATA --out results/real.md

Without `--data` the tasks are StoryWorld's, and sentiment is also learned from a hundred labeled
examples, with five seeds. With `--data` the tasks are real: the folders of `REAL`, in the format in
which each data set is published; tasks whose folder is missing are skipped. Each task is also
learned from scratch (the same sizes and vocabulary, without pretraining) and compared with the
majority baseline. A repeated call continues where the last one stopped (`--runs`).
"""

import argparse
import contextlib
import io
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bert_experiments.report.figures import spread
from bert_experiments.report.page import Page, aligned
from bert_finetuning.finetune import finetune
from bert_finetuning.settings import FinetuneSettings
from bert_run.config import BertConfig, count_parameters, parameter_shapes
from bert_run.errors import UserError
from bert_run.pictures import BLUE, GREY, ORANGE, Picture, picture_with_axes

FEW, FEW_SEEDS, FEW_EPOCHS = 100, 5, 20.0  # twenty passes over a hundred examples: 80 steps


@dataclass(frozen=True)
class Job:
    """A task, what it asks, and its settings beside those of every task."""

    name: str
    asks: str
    settings: dict


STORYWORLD = (
    Job("sentiment", "is the restaurant review positive?", {"task": "sentiment"}),
    Job("pairs", "does the second sentence follow from the first?", {"task": "pairs"}),
    Job("stars", "how many stars does the review give?", {"task": "stars"}),
    Job("names", "which words name people, places, companies?", {"task": "names"}),
    Job("questions", "which words of the text answer the question?", {"task": "questions"}),
    Job("endings", "which of four sentences comes next?", {"task": "endings"}),
)

# Folders of real data, and how each is read. Of a large set only a part is used.
REAL = (
    ("sst2", Job("SST-2", "is the sentence positive?", {"task": "sst-2", "few_shot": 6_000})),
    ("cola", Job("CoLA", "is the sentence grammatical?", {"task": "cola"})),
    ("rte", Job("RTE", "does the second text follow from the first?", {"task": "rte"})),
    ("snli", Job("SNLI, counterfactual", "does the hypothesis follow?",
                 {"train": "train.tsv", "dev": "dev.tsv"})),
    ("wnut17", Job("WNUT-17", "which words are names?", {"task": "wnut17"})),
    ("ud-english-ewt", Job("UD English EWT", "which part of speech is each word?",
                           {"task": "pos"})),
    ("squad", Job("SQuAD 1.1", "which words answer the question?",
                  {"task": "squad", "few_shot": 4_000, "epochs": 2.0, "max_length": 256})),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What became of a job: per cent of its metric, one number a seed."""

    job: Job
    metric: str
    examples: tuple[int, int]
    majority: float
    untrained: list[float]
    pretrained: list[float]
    seconds: float


def jobs(data: Path | None) -> Iterator[Job]:
    if data is None:
        yield from STORYWORLD
        return
    for folder, job in REAL:
        if not (data / folder).is_dir():
            continue
        settings = dict(job.settings)
        if "task" in settings:
            settings["data"] = data / folder
        else:
            for part in ("train", "dev"):
                settings[part] = str(data / folder / settings[part])
        yield Job(job.name, job.asks, settings)


def measure(job: Job, checkpoint: str, runs: Path, *, seeds: int = 1, **more) -> Row:
    """The task from the checkpoint and from scratch."""
    scores, seconds = {}, 0.0
    for start in ("pretrained", "untrained"):
        from_nothing = {"checkpoint": "none", "model": checkpoint}
        settings = FinetuneSettings(
            **{"seeds": seeds, **job.settings, **more},
            **({"checkpoint": checkpoint} if start == "pretrained" else from_nothing),
            out=runs / f"{job.name.lower().replace(' ', '-').replace(',', '')}"
            f"{'-few' if more else ''}-{start}",
        )
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            outcome = finetune(settings)
        seconds += time.perf_counter() - begin
        scores[start] = [100 * score for score in outcome.scores]
        metric, examples = outcome.metric, outcome.examples
        majority = 100 * outcome.majority[outcome.metric]
    return Row(job, metric, examples, majority, scores["untrained"], scores["pretrained"], seconds)


def rows_of(rows: list[Row]) -> list[list[str]]:
    """The table, its head first."""
    head = ["task", "metric, %", "training examples", "dev examples", "majority baseline",
            "from scratch", "**pretrained**", "seconds, both"]  # fmt: skip
    return [head] + [
        [f"{row.job.name}: {row.job.asks}", row.metric, *(f"{count:,}" for count in row.examples),
         f"{row.majority:.1f}", spread(row.untrained, ".1f"),
         f"**{spread(row.pretrained, '.1f')}**", f"{row.seconds:.0f}"]
        for row in rows
    ]  # fmt: skip


def draw(rows: list[Row], title: str) -> Picture:
    """A row for each task: majority baseline, from scratch, pretrained."""
    picture, axes = picture_with_axes(
        height=0.8 + 0.42 * len(rows), title=title, xlabel="per cent of the task's metric"
    )
    for place, row in enumerate(rows):
        axes.plot(row.majority, place, "|", color=GREY, markersize=14, markeredgewidth=2)
        axes.plot(row.untrained, [place] * len(row.untrained), "s", color=ORANGE, markersize=6)
        axes.plot(row.pretrained, [place] * len(row.pretrained), "o", color=BLUE, markersize=7)
    for marker, colour, label in (("|", GREY, "the most common answer"),
                                  ("s", ORANGE, "the same model, nothing learnt before"),
                                  ("o", BLUE, "pretrained")):  # fmt: skip
        axes.plot([], [], marker, color=colour, label=label, markersize=8)
    axes.set_yticks(range(len(rows)), [f"{row.job.name} ({row.metric})" for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.4, -0.22), ncols=3)
    return picture


def page_of(rows: list[Row], few: Row | None, checkpoint: str, *, real: bool) -> Page:
    config = BertConfig.load(Path(checkpoint))
    size = count_parameters(parameter_shapes(config))
    minutes = sum(row.seconds for row in rows) / 60
    notes = (
        "*From scratch*: the same model and vocabulary, fine-tuned without pretraining. *Majority "
        "baseline*: the most common answer, given without reading the text. Each score is the best "
        "of the evaluations after each epoch, on the same dev examples, so all scores are slightly "
        "optimistic."
    )
    if few is not None:
        notes += (
            f"\n\nThe last row: sentiment from {FEW} labeled reviews, {FEW_EPOCHS:.0f} epochs, "
            f"{FEW_SEEDS} seeds; each seed draws its own hundred reviews. Median (lowest–highest)."
        )
    every = [*rows, *([few] if few else [])]
    results = {}
    for row in every:
        name = row.job.name if row is not few else f"{row.job.name}, {FEW} examples"
        for start, scores in (("majority baseline", [row.majority]),
                              ("from scratch", row.untrained),
                              ("pretrained", row.pretrained)):  # fmt: skip
            results[f"{name}, {start}"] = [{row.metric: score / 100} for score in scores]
    return Page(
        title="Fine-tuned on real tasks" if real else "What pretraining bought",
        results=results,
        columns=(),
        verdicts=[],
        made=f"From `{checkpoint}`: {config.num_hidden_layers} layers, hidden size "
        f"{config.hidden_size}, {size:,} parameters. {os.cpu_count()} cores. One seed, the "
        f"default settings of `bert-finetune` unless stated otherwise; {minutes:.1f} minutes "
        "for all tasks, from the checkpoint and from scratch.",
        notes=notes,
        rows=rows_of(every),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="the folder of a pretrained BERT")
    parser.add_argument("--data", type=Path, help="a folder with the folders of REAL")
    parser.add_argument("--runs", type=Path, help="where the runs lie (runs/finetuning)")
    parser.add_argument("--only", nargs="+", help="these tasks alone, by their names here")
    parser.add_argument("--out", type=Path, help="write FILE.md and FILE.png")
    arguments = parser.parse_args()
    runs = arguments.runs or Path("runs") / ("real" if arguments.data else "finetuning")
    rows: list[Row] = []
    for job in jobs(arguments.data):
        if arguments.only and job.name not in arguments.only:
            continue
        print(f"\n{job.name}: {json.dumps(job.settings, default=str)}", flush=True)
        try:
            rows.append(measure(job, arguments.checkpoint, runs))
        except UserError as error:
            print(f"left out: {error}", flush=True)
            continue
        print(aligned(rows_of(rows[-1:])), flush=True)
    few = None
    if not arguments.data and not arguments.only:
        few = measure(STORYWORLD[0], arguments.checkpoint, runs,
                      few_shot=FEW, epochs=FEW_EPOCHS, seeds=FEW_SEEDS)  # fmt: skip
        print(aligned(rows_of([few])), flush=True)
    if arguments.out is not None and rows:
        data = " --data DATA" if arguments.data else ""
        page_of(rows, few, arguments.checkpoint, real=arguments.data is not None).write(
            arguments.out,
            f"python benchmarks/finetuning.py --checkpoint {arguments.checkpoint}{data} "
            f"--out {arguments.out}",
            draw(rows, "fine-tuned: from a pretrained BERT, and from nothing"),
        )


if __name__ == "__main__":
    main()
