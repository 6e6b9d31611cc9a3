"""A table as text: the paper's figures and ours, side by side; then the verdicts on its claims."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from bert_experiments.ablations.measuring import title_of
from bert_experiments.ablations.report import NOTHING, aligned, verdicts_text, wrapped
from bert_experiments.ablations.verdicts import RULE, Results, Verdict, in_words
from bert_experiments.paper_tables.settings import TableSettings


def heading(column: str) -> str:
    """Of a measurement along the way, when it was."""
    return column.partition("@")[2] or title_of(column)


def times(epochs: float) -> str:
    return "once" if epochs == 1 else f"{epochs:g} times"


@dataclass(frozen=True)
class Page:
    """What one table comes to: all that is printed, and written where a report is asked for."""

    title: str
    results: Results
    columns: tuple[str, ...]
    notes: str  # what the figures are, in paragraphs
    verdicts: list[Verdict]
    theirs: dict[str, str] | None = None  # the paper's row beside each of ours, in its own columns
    their_title: str = ""
    rule: str = RULE
    headings: Mapping[str, str] = field(default_factory=dict)  # where a column's name says less

    def table(self) -> str:
        """Ours: the median of the seeds, lowest and highest in brackets."""
        beside = [] if self.theirs is None else [self.their_title]
        heads = [self.headings.get(column, heading(column)) for column in self.columns]
        rows = [["", *heads, *beside]]
        for row, runs in self.results.items():
            found = [[run[column] for run in runs if column in run] for column in self.columns]
            cells = [in_words(values, column) if values else NOTHING
                     for values, column in zip(found, self.columns, strict=True)]  # fmt: skip
            theirs = [] if self.theirs is None else [self.theirs.get(row, NOTHING)]
            rows.append([row, *cells, *theirs])
        return aligned(rows)

    def text(self) -> str:
        judged = [verdicts_text(self.verdicts), wrapped(self.rule)] if self.verdicts else []
        return "\n\n".join([self.table(), wrapped(self.notes), *judged])

    def as_markdown(self, settings: TableSettings, picture: Path) -> str:
        made = f"{platform.system()}, Python {platform.python_version()}, torch {torch.__version__}"
        judged = [verdicts_text(self.verdicts), wrapped(self.rule)] if self.verdicts else []
        parts = [
            f"# {self.title}",
            f"```\n{settings.as_command}\n```",
            f"{made}.",
            self.table(),
            wrapped(self.notes),
            f"![]({picture.name})",
            *judged,
        ]
        return "\n\n".join(parts) + "\n"
