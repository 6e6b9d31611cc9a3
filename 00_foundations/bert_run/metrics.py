"""`metrics.jsonl`: what a run measured, one JSON object a line."""

import json
from pathlib import Path

from bert_run.divergence import refuse_divergence
from bert_run.errors import UserError
from bert_run.files import write_atomically
from bert_run.records import parse_object, wrong_field

Record = dict[str, float]


class MetricsLog:
    """The metrics of one run, appended as they come and read back on resume."""

    def __init__(self, path: Path, *, resume_at: int = 0) -> None:
        """Open `path`; records of steps after `resume_at` belong to a run that was cut off there,
        and will be made again."""
        self.path = Path(path)
        kept = [record for record in read_metrics(self.path) if record["step"] <= resume_at]
        write_atomically(self.path, "".join(json.dumps(record) + "\n" for record in kept))

    def append(self, record: Record) -> None:
        """Raises `Diverged` for a number that is not finite: JSON has no such numbers."""
        refuse_divergence(**record)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def read_metrics(path: Path) -> list[Record]:
    """All whole records; a last line that a crash cut short is passed over.

    Raises `UserError` for any other line that is no measurement.
    """
    if not path.exists():
        return []
    records = []
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        problem, record = parse_object(line)
        if problem and (number == len(lines)):
            break
        problem = problem or wrong_field(record, {"step": int}, {})
        problem = problem or wrong_field(record, dict.fromkeys(record, float), {})
        if problem:
            raise UserError(
                f"{path} is damaged (line {number}: {problem}): repair or remove the line"
            )
        records.append(record)
    return records
