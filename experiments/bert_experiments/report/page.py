"""A study as a page: the table of its figures, the verdicts, how it was made; and all as JSON.

`python -m bert_experiments.X --report FILE.md` writes FILE.md for readers, FILE.json with the
figure of every variant and seed for programs, and, where the study draws one, the picture FILE.png.
"""

import json
import platform
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bert_experiments.report.figures import (
    NOTHING,
    Results,
    in_words,
    is_call_of,
    is_page_of,
    measures_in,
    summary,
    title_of,
    values_of,
)
from bert_experiments.report.verdicts import RULE, Verdict
from bert_run.errors import UserError
from bert_run.files import RECORD_FILE, command_line, parse_object, write_atomically
from bert_run.pictures import Picture


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that reads well as plain text too; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
             for row in rows]  # fmt: skip
    head, *rest = [f"| {line} |" for line in lines]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([head, rule, *rest])


def wrapped(text: str) -> str:
    """Paragraphs in lines of a hundred columns."""
    return "\n\n".join(textwrap.fill(part, width=100) for part in text.split("\n\n"))


def verdicts_text(verdicts: Sequence[Verdict]) -> str:
    """A list, each claim with its verdict and the numbers behind it."""
    lines = (f"- **{one.answer}**: {one.claim.says}. → {one.reason}" for one in verdicts)
    return "\n".join(textwrap.fill(line, width=100, subsequent_indent="  ") for line in lines)


def versions() -> dict[str, str]:
    return {"system": platform.system(), "python": platform.python_version(),
            "torch": torch.__version__, "numpy": np.__version__}  # fmt: skip


@dataclass(frozen=True)
class Page:
    """What a study comes to: all that is printed, and written where a report is asked for."""

    title: str
    results: Results
    columns: tuple[str, ...]  # measures
    verdicts: list[Verdict]
    notes: str = ""  # what the figures are, in paragraphs
    lead: str = ""  # a sentence below the title
    made: str = ""  # how the runs were made, beside system and versions
    corner: str = ""  # the head of the first column
    headings: Mapping[str, str] = field(default_factory=dict)  # where a measure's title says less
    theirs: Mapping[str, str] | None = None  # the paper's row beside each of ours
    their_title: str = ""
    rows: list[list[str]] | None = None  # the table, if it is not a row a variant
    picture: str = ""  # what it shows, in words
    rule: str = RULE
    below: str = ""  # Markdown for the page alone, as it is, below all else

    def heading(self, measure: str) -> str:
        return self.headings.get(measure) or measure.partition("@")[2] or title_of(measure)

    def table(self) -> str:
        """The median of the seeds, lowest and highest in brackets; the paper's figures last."""
        if self.rows is not None:
            return aligned(self.rows)
        beside = [] if self.theirs is None else [self.their_title]
        rows = [[self.corner, *map(self.heading, self.columns), *beside]]
        for row in self.results:
            ours = [in_words(values_of(self.results, row, c), c) for c in self.columns]
            theirs = [] if self.theirs is None else [self.theirs.get(row, NOTHING)]
            rows.append([row, *ours, *theirs])
        return aligned(rows)

    @property
    def judged(self) -> list[str]:
        return [verdicts_text(self.verdicts), wrapped(self.rule)] if self.verdicts else []

    def text(self, *, with_notes: bool = True) -> str:
        """For the terminal."""
        notes = [wrapped(self.notes)] if with_notes and self.notes else []
        return "\n\n".join([self.table(), *notes, *self.judged])

    def markdown(self, command: str, picture: Path | None = None) -> str:
        parts = [
            f"# {self.title}",
            self.lead,
            f"```\n{command}\n```",
            wrapped("{system}, Python {python}, torch {torch}. ".format(**versions()) + self.made),
            self.table(),
            wrapped(self.notes),
            f"![{self.picture}]({picture.name})" if picture else "",
            *self.judged,
            self.below,
        ]
        return "\n\n".join(filter(None, parts)) + "\n"

    def as_json(self, command: str) -> dict[str, Any]:
        """Every figure of every variant, with the value of each seed."""
        return {
            "title": self.title,
            "command": command,
            "from": "the runs",
            "versions": versions(),
            "titles": {name: title_of(name) for name in measures_in(self.results)},
            "results": {
                row: {name: summary(values) for name in measures_in({row: runs})
                      if (values := values_of(self.results, row, name))}
                for row, runs in self.results.items() if any(runs)
            },
            "verdicts": [{"answer": one.answer, "claim": one.claim.says, "reason": one.reason}
                         for one in self.verdicts],
        }  # fmt: skip

    def write(self, report: Path, command: str, picture: Picture | None = None) -> list[Path]:
        """Write FILE.md, FILE.json and the picture FILE.png; returns what was written."""
        image = report.with_suffix(".png") if picture else None
        if picture:
            picture.save(image)
        write_json(report.with_suffix(".json"), self.as_json(command))
        write_atomically(report, self.markdown(command, image))
        return [report, report.with_suffix(".json"), *filter(None, [image])]

    def publish(
        self, report: Path | None, command: str, *, draw: Callable[[], Picture] | None = None,
        with_notes: bool = True,
    ) -> None:  # fmt: skip
        """Print the page; where a report is asked for, write it too, with the picture."""
        print(self.text(with_notes=with_notes))
        if report is not None:
            written = self.write(report, command, draw and draw())
            print(f"\n{', '.join(map(str, written))}")


def write_json(path: Path, content: object) -> None:
    write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def command_of(program: str, settings: object) -> str:
    """The line that makes these figures again: an option for each field that is no default. A field
    without one is always said."""
    default = {name: getattr(type(settings), name, None) for name in vars(settings)}
    changed = {name: value for name, value in vars(settings).items() if value != default[name]}
    plain = {name: value for name, value in changed.items() if type(value) not in (bool, tuple)}
    line = command_line(program, plain, {})
    for name, value in changed.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            line += f" --{option}" if value else f" --no-{option}"
        elif isinstance(value, tuple):
            line += f" --{option} {' '.join(value)}"
    return line


def check_summary(out: Path, *fields: str, pictures: Sequence[str] = ()) -> None:
    """Raise `UserError` unless a study can leave its `summary.json`, of these fields, in a folder,
    and its pictures: those of another program, or a training run, are not to be written over."""
    path = out / "summary.json"
    if out.is_file():
        raise UserError(f"--out {out} is a file: give a folder")
    if (out / RECORD_FILE).exists():
        raise UserError(f"--out {out} is the folder of a training run: choose another one")
    if path.is_file() and parse_object(path.read_bytes())[1].keys() != set(fields):
        raise UserError(f"--out {out} holds another program's summary.json: choose another folder")
    for name in pictures:
        if (out / name).exists() and not path.exists():
            raise UserError(f"--out {out} holds another program's {name}: choose another folder")


def mark_folder(out: Path, *fields: str) -> None:
    """Make a study's folder. A `summary.json` without figures marks it as the study's own, also
    when that is stopped between its pictures."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "summary.json").exists():
        write_json(out / "summary.json", dict.fromkeys(fields))


def check_report(
    report: Path | None, program: str, *, with_picture: bool, with_figures: bool = True,
    option: str = "--report",
) -> None:  # fmt: skip
    """Raise `UserError` unless `program` can write FILE.md there, and what lies beside it, without
    replacing somebody else's file. Its own reports begin with the command that made them, its own
    figures name it, and its own pictures are shown in the report."""
    if report is None:
        return
    if report.suffix != ".md":
        raise UserError(f"{option} is {report}: its name must end in .md")
    if not report.parent.is_dir():
        raise UserError(f"{option} {report}: there is no folder {report.parent}")
    page = report.read_text("utf-8", "replace") if report.is_file() else ""
    if report.exists() and not is_page_of(program, page):
        raise UserError(
            f"{option} {report} exists, and {program} has not written it: choose another name"
        )
    figures, picture = report.with_suffix(".json"), report.with_suffix(".png")
    made = parse_object(figures.read_bytes())[1].get("command") if figures.is_file() else None
    for what, path, is_written, is_own in (
        ("figures", figures, with_figures, is_call_of(program, str(made))),
        ("picture", picture, with_picture, f"]({picture.name})" in page),
    ):
        if is_written and path.exists() and not is_own:
            raise UserError(
                f"{option} {report}: its {what} would be written over {path}, which is there "
                "already: choose another name"
            )
