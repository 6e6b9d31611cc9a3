"""Where a command writes the report of its measurements: FILE.md, and perhaps a picture beside it.

The same command writes the same report again when it has more to say; any other file is somebody
else's, and stays.
"""

from pathlib import Path

from bert_run.errors import UserError


def check_report(report: Path | None, program: str, *, with_picture: bool) -> None:
    """Raise `UserError` unless `program` can write there without writing over another's file.

    Its own reports hold the command that made them.
    """
    if report is None:
        return
    if report.suffix != ".md":
        raise UserError(f"--report is {report}: its name must end in .md")
    if not report.parent.is_dir():
        raise UserError(f"--report {report}: there is no folder {report.parent}")
    if report.exists():
        if not report.is_file() or program not in report.read_text("utf-8", "replace"):
            raise UserError(
                f"--report {report} exists, and {program} has not written it: choose another name"
            )
    elif with_picture and (picture := report.with_suffix(".png")).exists():
        raise UserError(
            f"--report {report}: its picture would be written over {picture}, which is there "
            "already: choose another name"
        )
