"""`python -m bert_experiments.finetuning.true_scores`: is the score of a fine-tuned model true?

    python -m bert_experiments.finetuning.true_scores                           on StoryWorld
    python -m bert_experiments.finetuning.true_scores --data DATA --out results/true_scores.md

DATA holds `sst2` and `ud-english-ewt`. Runs that are done are kept in `--runs`, and a call that was
stopped goes on with the next one.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from bert_experiments.finetuning.true_scores.draw import draw_scores
from bert_experiments.finetuning.true_scores.runs import SEEDS, Run, Sets, Sizes, all_runs, trained
from bert_experiments.finetuning.true_scores.statements import (
    STATEMENTS,
    Evidence,
    Found,
    all_figures,
    reliability_bins,
    rows_of,
)
from bert_experiments.finetuning.true_scores.texts import load_texts
from bert_experiments.report.figures import measured_once, say
from bert_experiments.report.page import Page, aligned, check_report, command_of
from bert_finetuning.finetune import fingerprint
from bert_run.config import Count, Whole, check_numbers
from bert_run.errors import command
from bert_run.training_loop import progress_bar

PROGRAM = "python -m bert_experiments.finetuning.true_scores"
SECONDS = 10  # a run, on one thread that nothing else uses


@dataclass(frozen=True)
class ScoresSettings:
    """Train a small BERT many times, and measure what its score is worth."""

    data: Path | None = None
    """a folder with sst2 and ud-english-ewt; without it StoryWorld stands in"""
    seeds: Count = SEEDS
    sentences: Annotated[int, Whole(300, 10**9)] = Sizes.sentences
    """in all, 300 at least, so that no set is empty; about half of them are held out"""
    runs: Path = Path("runs/true_scores")
    """what the runs said; the same call goes on where it was stopped"""
    out: Path | None = None
    """write the page here too, FILE.md; all figures, as JSON, and the picture beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_report(self.out, PROGRAM, with_picture=True, option="--out")

    @property
    def sizes(self) -> Sizes:
        share = self.sentences / Sizes.sentences
        return Sizes(**{name: round(share * size) for name, size in asdict(Sizes()).items()})


def measure(settings: ScoresSettings, sets: Sets) -> Found:
    """What every run said; those that are done already are read."""
    found: Found = {}
    runs = all_runs(settings.seeds)
    content = fingerprint([sets.texts, sets.sizes])[:8]  # the tokenizer too is learned from these
    folder = settings.runs / f"{sets.texts.name}-{content}".replace(" ", "-")
    say(f"{len(runs)} runs, about {len(runs) * SECONDS / 60:.0f} minutes on one idle thread")
    with progress_bar(len(runs), "fine-tuning", unit="run") as bar:
        for run in runs:
            found.setdefault(run.name, []).append(once(run, sets, folder))
            bar.update()
    return found


def once(run: Run, sets: Sets, folder: Path) -> dict[str, Any]:
    path = folder / f"{run.name}-{run.seed}.json".replace(" ", "-").replace(",", "")
    asked = {"run": asdict(run), "sizes": asdict(sets.sizes), "texts": sets.texts.name}
    return measured_once(path, asked, lambda: trained(run, sets, folder))


@dataclass(frozen=True)
class ScoresPage(Page):
    """A page whose JSON has the bins of the reliability diagram, too."""

    bins: dict[str, list[list[float]]] = field(default_factory=dict)

    def as_json(self, command: str) -> dict:
        return {**super().as_json(command), "reliability": self.bins}


def page_of(evidence: Evidence, bins: dict[str, list[list[float]]]) -> ScoresPage:
    results, sets, sizes = all_figures(evidence), evidence.sets, evidence.sets.sizes
    first, *others = (rows_of(results, title) for title in STATEMENTS)
    return ScoresPage(
        title="Is the score true?",
        lead="These figures are explained in [notebook 04/08]"
        "(../04_finetuning/08_is_the_score_true.ipynb).",
        results=results,
        columns=(),
        verdicts=[],
        made=f"{sets.texts.name}; {evidence.seeds} seeds, which change the initial weights, the "
        "order and the dropout. The model is `tiny` (2 layers, hidden size 128), trained from "
        f"scratch, with a vocabulary of the training phrases. It is trained on {sizes.train:,} "
        f"phrases for 4 epochs, batch size 32. The held-out set has {sizes.heldout:,} whole "
        f"sentences: {sizes.dev} are dev, the others test. No phrase of a held-out sentence is "
        "used in training.",
        notes=NOTES,
        picture="the dev score of the best run is too high, most of all on small dev sets; "
        "reliability before and after temperature scaling; accuracy against the learning rate for "
        "two poolings",
        rows=first,
        below="\n\n".join(map(aligned, others)),
        bins=bins,
    )


NOTES = (
    "Each cell is the median of the seeds, with the lowest and highest in parentheses. In the "
    "picture, a band reaches from the lowest to the highest seed; dots in the middle panel are "
    "larger where there are more examples.\n\n*Choosing on dev*: the best of eight runs (two "
    "poolings, four rates), or one run drawn from them, on 200 random dev sets; *test* is all "
    "other held-out sentences. *Intervals*: the percentile bootstrap on 100 random test sets; an "
    "interval should contain the score on all held-out sentences in 95 of 100 cases. *Paired "
    "tests*: McNemar's exact test on 200 random test sets, rates 0.001 and 0.0003; then on all "
    "held-out sentences, for two models with the same recipe. *Leakage*: one model, trained on "
    "phrases that were split at random, evaluated on the remaining phrases and on phrases of other "
    "sentences. *Rate search*: [CLS] and the mean of all tokens; the rate of each is chosen on "
    "dev. *Calibration*: ten bins; the temperature is fitted on dev, everything else is measured "
    "on test. *Rare label*: 5% of the phrases are positive, in training and held out; the held-out "
    "ones are halved at random. *Long texts*: classifying the kind of a document, read 40 words at "
    "a time. *Error analysis*: 50% more training phrases, with or without a negation. *Collapsed*: "
    "more than 99% of the answers are the same."
)


@command
def main() -> None:
    settings = tyro.cli(ScoresSettings, prog=PROGRAM)
    torch.set_num_threads(1)  # so small a model gains nothing by a second one
    sets = Sets(load_texts(settings.data, settings.sizes.sentences), settings.sizes)
    evidence = Evidence(measure(settings, sets), sets)
    bins = reliability_bins(evidence)
    page = page_of(evidence, bins)
    print(page.below, end="\n\n")
    page.publish(settings.out, command_of(PROGRAM, settings),
                 draw=lambda: draw_scores(page.results, bins))  # fmt: skip


if __name__ == "__main__":
    main()
