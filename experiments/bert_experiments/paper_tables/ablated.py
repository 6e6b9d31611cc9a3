"""Tables 5, 6 and 8 and Figure 5: the variants of `bert_experiments.ablations`, fine-tuned.

A seed is a run of pretraining, fine-tuned once on each task with the same seed.
"""

from dataclasses import replace
from pathlib import Path

from bert_experiments.ablations.measuring import UNTRAINED, measured
from bert_experiments.ablations.runs import Run, runs_of, trained
from bert_experiments.ablations.variants import variants_of
from bert_experiments.ablations.verdicts import Results
from bert_experiments.paper_tables.claims import BERT, LEFT_TO_RIGHT, WITH_BILSTM
from bert_experiments.paper_tables.columns import (
    ABLATED,
    COLUMNS,
    NAMES,
    PAIRS,
    PERPLEXITY,
    check_examples,
)
from bert_experiments.paper_tables.settings import TableSettings
from bert_experiments.paper_tables.trials import MAJORITY, Trial, collected
from bert_finetuning.settings import FinetuneSettings
from bert_paper.settings import PretrainSettings
from bert_run.run_folder import RunFolder, step_of

FOLLOWED = (BERT, LEFT_TO_RIGHT)  # in the paper's Figure 5
SHARES = (20, 40, 50, 60, 80, 100)  # of the steps, in per cent


def variants(settings: TableSettings) -> dict[str, PretrainSettings]:
    """The pretrained models that a table asks for."""
    found = variants_of(settings.name, steps=settings.steps)
    if settings.figure:
        return {name: found[name] for name in FOLLOWED}
    return found


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
    return in_order(results, settings)


def trials_of(run: Run, settings: TableSettings) -> list[Trial]:
    """What is fine-tuned of one pretrained run; of the first variant the untrained model too."""
    folder, columns = run.settings.out, ABLATED[settings.name]
    if settings.figure:
        found = [trial(run, f"{PAIRS}@{share}%", settings, start=start)
                 for share, start in starts_along_the_way(run).items()]  # fmt: skip
    else:
        found = [trial(run, column, settings, start=folder) for column in columns]
    if run.variant == LEFT_TO_RIGHT and settings.table == "5":
        found += [bilstm_trial(run, column, settings) for column in columns if column != NAMES]
    if run.variant == next(iter(variants(settings))):
        found += [untrained_trial(run, column, settings) for column in columns]
    return found


def starts_along_the_way(run: Run) -> dict[int, Path]:
    """The checkpoints that are nearest to each share of its steps; the last is the run's model."""
    folders = {step_of(each): each for each in RunFolder(run.settings.out).checkpoint_folders()}
    folders[run.settings.steps] = run.settings.out
    wanted = {share: run.settings.steps * share / 100 for share in SHARES}
    return {share: folders[min(folders, key=lambda step: abs(step - at))]
            for share, at in wanted.items()}  # fmt: skip


def trial(run: Run, column: str, settings: TableSettings, *, start: Path) -> Trial:
    """A run's model, or one of its checkpoints, on the task of a column."""
    asked = COLUMNS[column.partition("@")[0]]
    few = None if asked.how == "features" else settings.examples
    reads_from_the_left = run.settings.objective == "next-words"
    name = run.settings.out.name
    if start != run.settings.out:
        name += f"_after-{step_of(start)}"
    tuned = FinetuneSettings(
        task=asked.task,
        checkpoint=str(start),
        few_shot=few or asked.examples,
        epochs=settings.epochs or asked.epochs,
        batch_size=asked.batch_size,
        pooling="mean" if reads_from_the_left and asked.is_text else "cls",
        seed=run.seed,
        device=settings.device,
        out=settings.out / name,
    )
    return Trial(run.variant, {column: asked.metric}, tuned, asked.how)


def bilstm_trial(run: Run, column: str, settings: TableSettings) -> Trial:
    plain = trial(run, column, settings, start=run.settings.out)
    return replace(plain, row=WITH_BILSTM, how="with-bilstm")


def untrained_trial(run: Run, column: str, settings: TableSettings) -> Trial:
    """The same with first weights; a BERT that reads from both sides."""
    plain = trial(run, column, settings, start=run.settings.out)
    nothing = replace(plain.settings, checkpoint="none", model=plain.settings.checkpoint)
    return replace(plain, row=UNTRAINED, settings=nothing)


def everywhere(figures: dict[str, float]) -> dict[str, float]:
    """What is known without a step, beside every step."""
    return {f"{PAIRS}@{share}%": figures[PAIRS] for share in SHARES}


def add_perplexity(results: Results, runs: list[Run]) -> None:
    for run in runs:
        found = measured(run.settings)[PERPLEXITY]
        results[run.variant][run.seed] = {PERPLEXITY: found, **results[run.variant][run.seed]}


def in_order(results: Results, settings: TableSettings) -> Results:
    """Variants as their table has them, the untrained model and the majority last."""
    rows = [*variants(settings), WITH_BILSTM, UNTRAINED, MAJORITY]
    if settings.table == "5":
        rows.remove(WITH_BILSTM)
        rows.insert(rows.index(LEFT_TO_RIGHT) + 1, WITH_BILSTM)
    return {row: results[row] for row in rows if results.get(row)}
