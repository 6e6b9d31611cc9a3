"""Section 6: the minutes of `make demo` and `make test`; measured with --full, else quoted."""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_sections.machine import ROOT
from bench_sections.saved import Saved
from bert_run.errors import UserError

SECTION = "demo"
PAGE = ROOT / "results" / "demo.md"


def quoted() -> dict | None:
    """What results/demo.md says of an earlier run."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = re.search(r"took (\d+(?:\.\d+)?) minutes", text)
    return {"minutes": float(found[1])} if found else None


def timed(*call: str, folder: Path = ROOT) -> dict:
    """Its output is seen as it comes."""
    begin = time.perf_counter()
    done = subprocess.run(call, cwd=folder, stdout=sys.stderr)
    if done.returncode:
        raise UserError(f"{' '.join(call[1:])} failed: see its message above")
    return {"seconds": time.perf_counter() - begin}


def demo() -> dict:
    """The demo from its beginning: it writes to runs/demo of the folder where it is called."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return timed(sys.executable, "-m", "bert_paper.demo", folder=Path(folder))


def tests() -> dict:
    return timed(sys.executable, "-m", "pytest", "-q", "-n", "auto", "--maxprocesses", "4",
                 "--dist", "worksteal")  # fmt: skip


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    if full and not saved.quick:
        saved.measured(SECTION, "demo", demo)
        saved.measured(SECTION, "tests", tests)
        return
    found = quoted()
    if found:
        saved.put(SECTION, "quoted", found)
    print("demo and tests: measured with --full alone", file=sys.stderr)
