"""A report of `python -m bert_experiments.ablations`, read back: its table, and its verdicts."""

import re
from pathlib import Path
from typing import NamedTuple

from bert_run.errors import UserError


class Spread(NamedTuple):
    """A figure of several seeds, as a cell of the table has it."""

    median: float
    lowest: float
    highest: float


def table_in(report: Path | str) -> tuple[list[str], list[list[str]]]:
    """The first table of a report: its columns, and its rows as text."""
    lines = [line for line in text_of(report).splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if len(rows) < 3:
        raise UserError(
            f"{report} holds no table: write it with python -m bert_experiments.ablations"
        )
    return rows[0], rows[2:]


def spread_in(cell: str) -> Spread | None:
    """85.5% (81.5–88.0) as numbers; a figure without brackets is its own spread, – is None."""
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", cell)]
    if not numbers:
        return None
    return Spread(*numbers) if len(numbers) == 3 else Spread(*numbers[:1] * 3)


def verdicts_in(report: Path | str) -> list[tuple[str, str]]:
    """Each verdict's answer and claim: ("reproduced", "More steps help: …")."""
    lines = text_of(report).replace("-\n  ", "-").replace("\n  ", " ")  # lines that were wrapped
    return re.findall(r"^- \*\*(.+?)\*\*: (.+?) →", lines, flags=re.MULTILINE)


def text_of(report: Path | str) -> str:
    path = Path(report)
    if not path.is_file():
        raise UserError(
            f"there is no report {path}: python -m bert_experiments.ablations writes it"
        )
    return path.read_text(encoding="utf-8")
