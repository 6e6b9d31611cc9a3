"""Where the BERT is that `make demo` pretrained: the first notebook and later chapters open it."""

from pathlib import Path

from bert_run.errors import UserError

DEMO = Path("runs/demo")


def demo_folder(start: Path = Path()) -> Path:
    """The folder that `make demo` left, seen from `start`: the repository or a chapter in it.

    Raises `UserError` if there is none, or if the demo was stopped before its end: `summary.json`
    is the last file that it writes.
    """
    for folder in (start / DEMO, start / ".." / DEMO):
        if (folder / "summary.json").is_file():
            return folder
    raise UserError(
        f"{DEMO} holds no model that was trained to the end: run `make demo` first "
        "(without make: python -m bert_paper.demo), about five minutes"
    )
