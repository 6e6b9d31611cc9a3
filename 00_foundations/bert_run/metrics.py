"""`metrics.jsonl`: what a run measured, one JSON object a line."""

import json
from pathlib import Path

from bert_run.divergence import refuse_divergence
from bert_run.files import write_atomically

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
    """All whole records; a last line that a crash cut short is passed over."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records
