"""The settings of `python -m bert_experiments.paper_tables`: every field is an option."""

from dataclasses import dataclass
from pathlib import Path

from bert_experiments.report.page import check_report
from bert_finetuning.settings import Epochs
from bert_run.config import Count, Steps, check_numbers
from bert_run.errors import UserError

ABLATED, FEATURES = ("5", "5-few", "6", "8"), "7"
TABLES, FIGURES = ("1", "2", "3", "4", "5", "5-few", "6", "7", "8"), ("5",)
PROGRAM = "python -m bert_experiments.paper_tables"
FROM_THE_HUB = "hub"

EXAMPLES = 1000  # to learn from; with more of them, or more epochs, every model does alike
FEW_FOR_FEATURES = 20  # sentences: with more of them a BiLSTM on features finds every name


def in_epochs(epochs: float) -> str:
    """In words."""
    return "1 epoch" if epochs == 1 else f"{epochs:g} epochs"


@dataclass(frozen=True)
class TableSettings:
    """Fine-tune, measure, and print the paper's numbers beside ours, with a verdict on its claims.

    python -m bert_experiments.paper_tables --table 5

    Every run is kept: a second call adds what is missing.
    """

    table: str | None = None
    """1: GLUE; 2, 3: SQuAD 1.1 and 2.0; 4: SWAG; 5: pretraining tasks; 5-few: its questions, and
    those of Figure 5, with fewer labels; 6: model size; 7: features; 8: what stands in place of a
    chosen word"""
    figure: str | None = None
    """5: number of pretraining steps"""
    seeds: Count = 3
    """runs of each; of Tables 5, 6, 8 and Figure 5 a seed is one of pretraining too"""
    examples: Count | None = None
    """to learn from, each seed draws its own; of StoryWorld 1000 unless given, and 20 for features;
    of real data all"""
    epochs: Epochs | None = None
    """passes over them; the paper's for the task, which is 3 for most"""

    # --- Tables 5, 6, 8 and Figure 5 ---
    pretrained: Path = Path("runs/ablations")
    """the runs of python -m bert_experiments.ablations; those that are missing are trained"""
    steps: Steps | None = None
    """of pretraining; 3000 unless given"""

    # --- Tables 1 to 4 and 7 ---
    checkpoint: str | None = None
    """a BERT folder, or a model of the Hub; unless given the BERT of Table 5"""
    data: str | None = None
    """a FOLDER of the tasks' folders, or hub; unless given StoryWorld's sets stand in for them"""
    untrained: bool = True
    """a row of the same model, untrained"""

    # --- Run ---
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""
    out: Path = Path("runs/tables")
    """the folder of all runs"""
    report: Path | None = None
    """write the table here too, FILE.md; its picture and all figures, as JSON, beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if (self.table is None) == (self.figure is None):
            raise UserError("give one of --table 1 to --table 8 and --figure 5")
        for option, known in (("table", TABLES), ("figure", FIGURES)):
            value = getattr(self, option)
            if value is not None and value not in known:
                raise UserError(f"--{option} {value} is not here: there is {', '.join(known)}")
        check_report(self.report, PROGRAM, with_picture=True)
        self.check_options_of_the_other_tables()
        self.check_data()

    def check_options_of_the_other_tables(self) -> None:
        if self.is_ablation:
            unused = [name for name in ("checkpoint", "data") if getattr(self, name) is not None]
            what = "it fine-tunes the models of bert_experiments.ablations on StoryWorld"
        else:
            given = self.checkpoint is not None
            unused = ["steps"] if given and self.steps is not None else []
            what = f"it starts from --checkpoint {self.checkpoint}"
        if unused:
            raise UserError(f"--{unused[0]} is not for {self.title.lower()}: {what}")

    def check_data(self) -> None:
        folder = self.folder
        if folder is not None and not folder.is_dir():
            raise UserError(f"--data {self.data}: there is no such folder (or write --data hub)")
        if self.data is not None and self.checkpoint is None:
            raise UserError(
                f"--data {self.data}: what is to be fine-tuned on it? Give --checkpoint DIR, or a "
                "model of the Hub"
            )

    @property
    def is_ablation(self) -> bool:
        return self.figure is not None or self.table in ABLATED

    @property
    def folder(self) -> Path | None:
        """Where files of tasks lie, if they do not come from the Hub or from StoryWorld."""
        if self.data in (None, FROM_THE_HUB):
            return None
        return Path(self.data).expanduser()

    @property
    def name(self) -> str:
        """As `bert_experiments.ablations` has it."""
        return self.table or f"figure {self.figure}"

    @property
    def title(self) -> str:
        return f"Table {self.table}" if self.table else f"Figure {self.figure}"
