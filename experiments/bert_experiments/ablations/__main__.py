"""`python -m bert_experiments.ablations --table 5`: the paper's ablations on your machine."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from bert_experiments.ablations.measure import figures_along_the_way, figures_of, untrained_figures
from bert_experiments.ablations.pages import COURSE, page_of, picture_of
from bert_experiments.ablations.variants import Run, runs_of, trained, variants_of
from bert_experiments.report.figures import UNTRAINED, Figures, Results
from bert_experiments.report.page import check_report, command_of
from bert_paper.pretrain import PretrainSettings
from bert_run.config import Count, LearningRate, Steps, check_numbers
from bert_run.errors import UserError, command

TABLES, FIGURES = ("5", "6", "8"), ("5",)
PROGRAM = "python -m bert_experiments.ablations"


@dataclass(frozen=True)
class AblationSettings:
    """Pretrain the variants of one of the paper's ablations, measure them, and judge its claims.

    python -m bert_experiments.ablations --table 5

    Runs are shared between tables, and a second call goes on where the first one stopped.
    """

    table: str | None = None
    """5: pretraining tasks; 6: model size; 8: what stands in place of a chosen word"""
    figure: str | None = None
    """5: number of training steps"""
    seeds: Count = 3
    """runs of each variant"""
    steps: Steps | None = None
    """of every run; 3000 unless given"""
    learning_rate: LearningRate | None = None
    """peak of every run; unless given each variant's own"""
    corpus: str = "storyworld"
    """as of bert-pretrain; what settles a word is known of storyworld only"""
    out: Path = Path("runs/ablations")
    """the folder of all runs"""
    report: Path | None = None
    """write the table here too, FILE.md; its picture and all figures, as JSON, beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if (self.table is None) == (self.figure is None):
            raise UserError("give one of --table 5, --table 6, --table 8 and --figure 5")
        for option, value, known in (
            ("table", self.table, TABLES),
            ("figure", self.figure, FIGURES),
        ):
            if value is not None and value not in known:
                raise UserError(f"--{option} {value} is no ablation: there is {', '.join(known)}")
        if self.figure and self.corpus != "storyworld":
            raise UserError(
                f"--figure 5 --corpus {self.corpus}: it counts words whose answers are known of "
                "storyworld only; leave --corpus out"
            )
        check_report(self.report, PROGRAM, with_picture=True)

    @property
    def name(self) -> str:
        return self.table or f"figure {self.figure}"

    @property
    def variants(self) -> dict[str, PretrainSettings]:
        return variants_of(self.name, corpus=self.corpus, steps=self.steps,
                           learning_rate=self.learning_rate)  # fmt: skip


def results_of(settings: AblationSettings) -> Results:
    """Train what is missing, measure what is not measured yet."""
    variants = settings.variants
    results: Results = {name: [] for name in variants}
    untrained: list[Figures] = []
    for run in trained(runs_of(variants, seeds=settings.seeds, out=settings.out)):
        results[run.variant].append(figures_for(settings.name, run))
        if run.variant == next(iter(variants)) and settings.table:
            untrained.append(untrained_figures(run.settings))
    return {**results, UNTRAINED: untrained} if any(untrained) else results


def figures_for(table: str, run: Run) -> Figures:
    figures = figures_of(run.settings)
    if table == COURSE:
        figures = {"seconds": figures["seconds"], **figures_along_the_way(run.settings)}
    return figures


@command
def main() -> None:
    settings = tyro.cli(AblationSettings, prog=PROGRAM)
    results = results_of(settings)
    page = page_of(settings.name, results, settings.variants)
    page.publish(settings.report, command_of(PROGRAM, settings), with_notes=False,
                 draw=lambda: picture_of(settings.name, results))  # fmt: skip


if __name__ == "__main__":
    main()
