"""Tables 5, 6 and 8 and Figure 5: the variants of `bert_experiments.ablations`, fine-tuned.

A seed is a run of pretraining, fine-tuned once on each task with the same seed.
"""

import re
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np

from bert_experiments.ablations.measure import figures_by_step, figures_of
from bert_experiments.ablations.pages import POINTS as ONE_POINT_A_SEED
from bert_experiments.ablations.paper import PAPER
from bert_experiments.ablations.variants import (
    RATES,
    WORDS,
    Run,
    run_of,
    runs_of,
    trained,
    variants_of,
)
from bert_experiments.paper_tables.claims import (
    BERT,
    GAINED,
    HALFWAY,
    LEFT_TO_RIGHT,
    MASKED_WITH_BILSTM,
    NO_NSP,
    WITH_BILSTM,
    WORDS_FOUND,
    verdicts_of,
)
from bert_experiments.paper_tables.columns import (
    ABLATED,
    COLUMNS,
    FEW_KINDS,
    FEW_NAMES,
    KINDS,
    MORE_PAIRS,
    NAMES,
    NAMES_BY_FEATURES,
    PERPLEXITY,
    SENTIMENT_MEAN,
    WHO,
    WHO_MEAN,
    Column,
    check_examples,
)
from bert_experiments.paper_tables.settings import TableSettings, in_epochs
from bert_experiments.paper_tables.trials import MAJORITY, Trial, collected
from bert_experiments.report.figures import NOTHING, UNTRAINED, Results
from bert_experiments.report.page import Page
from bert_experiments.report.plots import COLORS, draw_curve, unboxed
from bert_finetuning.settings import FinetuneSettings, wider
from bert_paper.pretrain import PretrainSettings
from bert_run.files import RunFolder, step_of
from bert_run.pictures import GREY, Picture

FOLLOWED = (BERT, LEFT_TO_RIGHT)  # in the paper's Figure 5
POINTS = (10, 20, 40, 50, 60, 80, 100)  # of the steps, in per cent
FIRST_FIFTH = 20
BILSTM_ON = {"5": (LEFT_TO_RIGHT,), "5-few": (LEFT_TO_RIGHT, NO_NSP)}  # variants, by table
CURVES = "each task's score after fine-tuning, against the steps of pretraining"


def variants(settings: TableSettings) -> dict[str, PretrainSettings]:
    """The pretrained models that a table asks for."""
    along_the_way = settings.name in ("figure 5", "5-few")
    found = variants_of("figure 5" if along_the_way else settings.name, steps=settings.steps)
    return {name: found[name] for name in FOLLOWED} if settings.figure else found


def ablated(settings: TableSettings) -> Results:
    """Pretrain what is missing, fine-tune what is missing, and read off all figures."""
    check_examples((COLUMNS[column] for column in ABLATED[settings.name]), settings.examples)
    runs = list(trained(runs_of(variants(settings), seeds=settings.seeds, out=settings.pretrained)))
    results = collected([trial for run in runs for trial in trials_of(run, settings)])
    if settings.figure:
        results[UNTRAINED] = [everywhere(figures) for figures in results[UNTRAINED]]
        results[MAJORITY] = []
    if settings.table == "6":
        add_perplexity(results, runs)
    if settings.table == "5-few":
        add_words_found(results, runs)
    return ordered(results, settings)


def trials_of(run: Run, settings: TableSettings) -> list[Trial]:
    """What is fine-tuned of one pretrained run; of the first variant the untrained model too."""
    folder, columns = run.settings.out, ABLATED[settings.name]
    if settings.figure:
        found = [trial(run, f"{column}@{point}%", settings, start=start) for column in columns
                 for point, start in starts_along_the_way(run).items()]  # fmt: skip
    else:
        found = [trial(run, column, settings, start=folder) for column in columns]
    if run.variant == BERT and settings.table == "5-few":
        found += [replace(trial(run, column, settings, start=starts_along_the_way(run)[50]),
                          row=HALFWAY) for column in columns]  # fmt: skip
    if run.variant in BILSTM_ON.get(settings.table, ()):
        found += [
            bilstm_trial(run, column, settings)
            for column in columns
            if column not in (KINDS, FEW_KINDS)
        ]
    if run.variant == next(iter(variants(settings))):
        found += [untrained_trial(run, column, settings) for column in columns]
    return [
        trial.restarted(number)
        for trial in found
        for number in range(max(column_of(name).restarts for name in trial.columns))
    ]


def column_of(name: str) -> Column:
    """By its name, also at a point of a run ("who (SQuAD EM)@50%")."""
    return COLUMNS[name.partition("@")[0]]


def starts_along_the_way(run: Run) -> dict[int, Path]:
    """The checkpoints that are nearest to each point of the run; the last is the run's model."""
    folders = {step_of(each): each for each in RunFolder(run.settings.out).checkpoint_folders()}
    folders[run.settings.steps] = run.settings.out
    steps = {point: run.settings.steps * point / 100 for point in POINTS}
    return {point: folders[min(folders, key=lambda step: abs(step - at))]
            for point, at in steps.items()}  # fmt: skip


def trial(run: Run, column: str, settings: TableSettings, *, start: Path) -> Trial:
    """A run's model, or one of its checkpoints, on the task of a column."""
    asked = column_of(column)
    few = None if asked.how == "features" else settings.examples
    reads_from_the_left = run.settings.objective == "next-words"
    hidden_size = run.settings.bert_config(WORDS).hidden_size
    name = run.settings.out.name
    if start != run.settings.out:
        name += f"_after-{step_of(start)}"
    tuned = FinetuneSettings(
        task=asked.task,
        checkpoint=str(start),
        few_shot=few or asked.examples,
        epochs=settings.epochs or asked.epochs,
        batch_size=asked.batch_size,
        learning_rate=asked.rate and asked.rate * wider(hidden_size),
        pooling="mean" if reads_from_the_left and asked.is_text else "cls",
        seed=run.seed,
        device=settings.device,
        out=settings.out / name,
    )
    return Trial(run.variant, {column: asked.metric}, tuned, asked.how)


def bilstm_trial(run: Run, column: str, settings: TableSettings) -> Trial:
    plain = trial(run, column, settings, start=run.settings.out)
    return replace(plain, row=f"{run.variant}, + BiLSTM", how="with-bilstm")


def untrained_trial(run: Run, column: str, settings: TableSettings) -> Trial:
    """The same with first weights; a BERT that reads from both sides."""
    plain = trial(run, column, settings, start=run.settings.out)
    nothing = replace(plain.settings, checkpoint="none", model=plain.settings.checkpoint)
    return replace(plain, row=UNTRAINED, settings=nothing)


def everywhere(figures: dict[str, float]) -> dict[str, float]:
    """What is known without a step, beside every step."""
    return {f"{name}@{point}%": value for name, value in figures.items() for point in POINTS}


def add_perplexity(results: Results, runs: list[Run]) -> None:
    for run in runs:
        found = figures_of(run.settings)[PERPLEXITY]
        results[run.variant][run.seed] = {PERPLEXITY: found, **results[run.variant][run.seed]}


def add_words_found(results: Results, runs: list[Run]) -> None:
    """Of hidden words, by the whole run and by its checkpoint in the middle."""
    for run in (run for run in runs if run.variant == BERT):
        found, halfway = figures_by_step(run.settings), step_of(starts_along_the_way(run)[50])
        for row, step in ((BERT, run.settings.steps), (HALFWAY, halfway)):
            results[row][run.seed][WORDS_FOUND] = found[step][WORDS_FOUND]


def ordered(results: Results, settings: TableSettings) -> Results:
    """Variants as their table has them, the untrained model and the majority last."""
    beside = {BERT: [HALFWAY], NO_NSP: [MASKED_WITH_BILSTM], LEFT_TO_RIGHT: [WITH_BILSTM]}
    rows = [row for name in variants(settings) for row in (name, *beside.get(name, ()))]
    rows += [UNTRAINED, MAJORITY]
    return {row: results[row] for row in rows if results.get(row)}


# --- The page ------------------------------------------------------------------------------------


def ablated_page(settings: TableSettings) -> Page:
    results = ablated(settings)
    table, paper = settings.name, PAPER[settings.name]
    columns, headings = ABLATED[table], {}
    if table == "6":
        columns = (PERPLEXITY, *columns)
    if table == "5-few":
        columns = (*columns, WORDS_FOUND)
    if table == "figure 5":
        headings = {f"{column}@{point}%": f"{column.partition(' (')[0]}, {point}%"
                    for column in columns for point in POINTS}  # fmt: skip
        columns = tuple(headings)
        add_gain(results)
    rows = {**results, **{row: [] for row in paper.others if row not in results}}
    return Page(
        title=f"{paper.title}, after fine-tuning",
        results=rows,
        columns=columns,
        headings=headings,
        picture=CURVES if settings.figure else ONE_POINT_A_SEED,
        notes=notes(settings, results),
        verdicts=verdicts_of(table, results),
        theirs={row: paper.row(row) for row in rows} if paper.columns else None,
        their_title=f"the paper: {' · '.join(paper.columns)}",
    )


def add_gain(results: Results) -> None:
    """What a model gains between the first fifth of its steps and the last."""
    for column in ABLATED["figure 5"]:
        first, last = (f"{column}@{point}%" for point in (FIRST_FIFTH, POINTS[-1]))
        for figures in (figures for runs in results.values() for figures in runs):
            figures[GAINED.format(column)] = figures[last] - figures[first]


def notes(settings: TableSettings, results: Results) -> str:
    """What the columns are."""
    variant = next(iter(variants(settings).values()))
    parts = [
        f"Each model was pretrained for {variant.steps:,} steps on {variant.corpus} "
        "(`python -m bert_experiments.ablations`), then fine-tuned on StoryWorld's tasks, which "
        f"stand in for the paper's tasks in parentheses: {how_learned(settings)}; evaluated on 500 "
        "dev examples. A seed is one pretraining run, fine-tuned once where a column names no "
        "restarts. Each cell is the median of "
        "the seeds, with the lowest and highest in parentheses. The score is the best of the "
        "evaluations after each epoch, on the same dev examples, so every figure is slightly "
        f"optimistic. *{UNTRAINED}*: an untrained model, as large as the first row's, fine-tuned "
        f"from its initial weights; *{MAJORITY}*: the most common answer for every example. The "
        "paper's figures are given as published; they are for other tasks, on another scale."
    ]
    if settings.table == "5":
        parts.append(
            f"*{MORE_PAIRS}* and *{FEW_KINDS}* were added after the first measurement: with 500 "
            "labels, neither the first three variants nor an untrained model had learned the "
            "reports, and all models that read both sides had learned the kinds, including the "
            "untrained model. The claim on running text was also added then; and *worse on all "
            "tasks*, previously a single claim, was split into texts, pairs and words of a text."
        )
        parts.append(
            "The left-to-right model also reads left to right during fine-tuning. Its [CLS] sees "
            f"no other token, so a text is represented by the mean of its tokens. *{WITH_BILSTM}*: "
            "a randomly initialized BiLSTM on top, fine-tuned together with the model; a text is "
            "represented by what the BiLSTM has read from both ends."
        )
    if settings.table == "5-few":
        parts.append(
            "With 500 labels the masked model and the left-to-right model with a BiLSTM both "
            "answer every question, and so does BERT after half of its steps: Table 5 and Figure 5 "
            "cannot show which is ahead. Here the same questions have fewer labels. A restart "
            "learns from other examples, with another head. Claims and rule were settled before "
            "any model of this page was fine-tuned, and so was the number of labels, on runs of "
            "seed 100 with five restarts: with 100 labels the model without NSP reached 47%, BERT "
            "35% and 38% (whole run and half), with 200 labels 97%, 96% and 88%. "
            f"*{HALFWAY}*: the checkpoint in the middle of the run; the learning rate "
            "decays to zero at the end, so the whole run has the decay as well as more steps."
        )
        parts.append(
            f"*{MASKED_WITH_BILSTM}*, the hidden words and the two claims that begin with *added* "
            "came after the figures of seed 0 and the first of seed 1. *Hidden words found*: the "
            "top prediction for marked words of 150 held-out stories, as in Figure 5 of the "
            "ablations."
        )
    if settings.table == "6":
        parts.append(
            f"*{MORE_PAIRS}* and the means of five restarts were added after the first "
            "measurement. With 500 labels no size had learned the reports, and with one run of "
            "fine-tuning *who* is learned whole or hardly at all, by luck of the examples and of "
            "the head. The paper's figures in this table are means of five restarts too. A "
            "restart learns from other examples, with another head."
        )
    if settings.table == "6" and (tried := rates_tried(settings)):
        parts.append(
            "Each size was pretrained at a peak learning rate at which it learns well: at the rate "
            "of the smaller models, those of four layers hardly learn. Perplexity of seed 0 at "
            f"{', '.join(f'{rate:g}' for rate in RATES)} (–: not run): {'; '.join(tried)}. To run "
            f"a rate: `python -m bert_experiments.ablations --table 6 --seeds 1 --learning-rate "
            f"{RATES[1]:g}`."
        )
    if settings.table == "8":
        few = COLUMNS[NAMES_BY_FEATURES].examples
        parts.append(
            "The tasks were chosen before a mix other than 80/10/10 was fine-tuned, except for "
            f"*{NAMES}*, which was added after three figures of *{FEW_NAMES}* and of *features* "
            "had been seen. *Features*: a BiLSTM on the concatenated frozen layers, trained on "
            f"{few} sentences."
        )
        parts.append(
            "The last two columns are a further experiment: why do the mixes differ on names? At "
            "the default learning rate of bert-finetune an untrained model does as well, so these "
            "few steps may be too few to show what pretraining contributed. Four times that rate "
            "was the first other rate tried."
        )
    if settings.figure:
        parts.append(
            "The questions were added after the first measurement, in which the reports could not "
            "distinguish any of the models. The claim that is not from the paper was also added "
            "then, and the claim on 40% of the steps had been judged on pairs only."
        )
        parts.append(
            "Each seed is one pretraining run, fine-tuned from its checkpoints. The learning rate "
            "decays to zero at the end of the run, so the last checkpoints benefit from the decay "
            "as well as from more steps. The paper's figure is a curve without numbers; it shows "
            "MNLI-m. On *who* the masked model stays ahead from "
            f"{' · '.join(map(str, crossings(results)))} percent of the steps on, seed by seed."
        )
    return "\n\n".join(parts)


def rates_tried(settings: TableSettings) -> list[str]:
    """The perplexity of each size at each rate that it was pretrained at, in words."""
    at_each = [variants_of("6", steps=settings.steps, learning_rate=rate) for rate in RATES]
    tried = []
    for name in variants(settings):
        runs = [Run(name, 0, run_of(sizes[name], seed=0, out=settings.pretrained))
                for sizes in at_each]  # fmt: skip
        if sum(run.is_trained for run in runs) > 1:
            cells = [f"{figures_of(run.settings)[PERPLEXITY]:.2f}" if run.is_trained else NOTHING
                     for run in runs]  # fmt: skip
            tried.append(f"{name} {', '.join(cells)}")
    return tried


def how_learned(settings: TableSettings) -> str:
    """How many examples each task learns from, and how often; tasks that do alike together."""
    alike: dict[str, list[str]] = {}
    for name in ABLATED[settings.name]:
        column = COLUMNS[name]
        if column.how == "features" or name in (SENTIMENT_MEAN, WHO_MEAN):
            continue
        examples = settings.examples or column.examples
        epochs = in_epochs(settings.epochs or column.epochs)
        said = f"{examples:,} examples, {epochs}, batch size {column.batch_size}"
        alike.setdefault(said, []).append(re.sub(r" \([^)]*\)", "", name))
    return "; ".join(f"{', '.join(names)} from {said}" for said, names in alike.items())


def crossings(results: Results) -> list[int]:
    """For each seed the first point from which the masked model stays ahead in Figure 5."""
    found = []
    for masked, from_left in zip(results[BERT], results[LEFT_TO_RIGHT], strict=True):
        behind = [p for p in POINTS if masked[f"{WHO}@{p}%"] <= from_left[f"{WHO}@{p}%"]]
        ahead = [p for p in POINTS if p > max(behind, default=0)]
        found += ahead[:1]
    return found


def draw_accuracy(results: Results) -> Picture:
    """What is reached after fine-tuning against steps of pretraining, one panel a task."""
    picture = Picture(3.8, 10)
    models = [row for row in results if row != UNTRAINED]
    columns = ABLATED["figure 5"]
    panels = picture.subplots(1, len(columns))
    for axes, column in zip(panels, columns, strict=True):
        for row, color in zip(models, COLORS, strict=False):
            values = [[100 * run[f"{column}@{s}%"] for s in POINTS] for run in results[row]]
            draw_curve(axes, POINTS, np.array(values), color=color, label=row)
        level = 100 * statistics.median(run[f"{column}@100%"] for run in results[UNTRAINED])
        axes.axhline(level, color=GREY, linestyle="--", label=UNTRAINED)
        axes.set(xlabel="steps of pretraining, per cent of the run", ylabel=f"{column}, per cent")
    panels[0].legend(frameon=False)
    return unboxed(picture)
