"""Runs notebooks from top to bottom, and says whether their stored outputs are still true.

    python tests/run_notebooks.py                   all of them; nothing is written
    python tests/run_notebooks.py --store FILE …    run these, and store what they show
    python tests/run_notebooks.py --filled          fill in the folded solutions first

A fresh run must show what is stored: the same words, and the same numbers up to one in the last
digit. What differs from run to run or from machine to machine (times, long training) stands in a
cell that is tagged `varies`, and is not compared. Pictures are not compared either.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

sys.path.insert(0, str(Path(__file__).parent))

from notebook_parts import (
    NUMBER,
    ROOT,
    Notebook,
    all_notebooks,
    fingerprint,
    read_notebook,
    text_of,
)
from notebook_tasks import complete_tasks, fill_in, tags

from bert_run.errors import UserError, command

LIMIT = 120  # seconds a notebook may take
TINY = 1e-6  # below this, a difference of rounding; no two machines agree on it

# What JupyterLab needs to open a cell with its output folded: that of a guess.
FOLDED = {"collapsed": True, "jupyter": {"outputs_hidden": True}}

# One thread, so that sums are taken in the same order everywhere; no network; no bars.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TQDM_DISABLE": "1",
    "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9",
    "PYTHONHASHSEED": "0", "COLUMNS": "100", "CUDA_VISIBLE_DEVICES": "",
}  # fmt: skip


def run(path: Path, *, limit: float, filled: bool = False) -> tuple[nbformat.NotebookNode, float]:
    """The notebook with fresh outputs, and the seconds it took; its file is left alone.

    filled: as a student leaves it who has filled in every cell; each check must say so.
    """
    book = read_notebook(path)
    book.metadata["checks"] = fill_in(book) if filled else []
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(book, timeout=limit, kernel_name="python3", resources=resources,
                            extra_arguments=["--log-level=ERROR"])  # fmt: skip
    start = time.perf_counter()
    client.execute(env={**os.environ, **ENVIRONMENT})
    return book, time.perf_counter() - start


def tidy(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """What is stored: no times, no versions, no ids that change; streams in one piece."""
    book.metadata = nbformat.from_dict({
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "outputs_of": fingerprint(book.cells),
    })  # fmt: skip
    book.nbformat, book.nbformat_minor = 4, 5
    for number, cell in enumerate(book.cells, 1):
        kept = {"tags": tags(cell)} if tags(cell) else {}
        cell.metadata = nbformat.from_dict(kept | (FOLDED if "guess" in tags(cell) else {}))
        cell.id = f"cell-{number:02}"
        if cell.cell_type == "code":
            cell.outputs = [tidy_output(output) for output in joined(cell.outputs)]
    return book


def joined(outputs: list) -> list:
    """Pieces of one stream that follow one another, joined."""
    found = []
    for output in outputs:
        if found and "name" in output and found[-1].get("name") == output["name"]:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def tidy_output(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "metadata" in output:
        output.metadata = nbformat.from_dict({})
    return output


def says_the_same(stored: str, fresh: str) -> bool:
    """The same words, and the same numbers up to one in the last digit that is shown."""
    if NUMBER.sub("#", stored).split() != NUMBER.sub("#", fresh).split():
        return False
    pairs = zip(NUMBER.finditer(stored), NUMBER.finditer(fresh), strict=True)
    return all(is_close(old[0], new[0]) for old, new in pairs)


def is_close(stored: str, fresh: str) -> bool:
    if stored == fresh:
        return True
    if not re.search(r"[.eE]", stored + fresh):
        return False  # a count
    old, new = (float(text.replace(",", "")) for text in (stored, fresh))
    last = min(last_digit(stored), last_digit(fresh))  # an array prints 0.69 for 0.690
    return abs(old - new) <= 1.01 * last or max(abs(old), abs(new)) < TINY


def last_digit(number: str) -> float:
    """What one in the last digit that is shown is worth: of 0.25, 0.01."""
    mantissa, _, exponent = number.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def differences(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """Cells that no longer show what is stored."""
    found = []
    checks = fresh.metadata.get("checks", [])  # of cells that were filled in
    number = 0
    for place, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        if old.cell_type != "code":
            continue
        number += 1
        if place in checks:
            said = "".join(map(text_of, new.outputs))
            if not said.startswith("Right.\n"):
                found.append(f"code cell {number} does not say that the solution is right: {said}")
            continue
        if "varies" in tags(old):
            continue
        texts = ["\n".join(map(text_of, joined(cell.outputs))) for cell in (old, new)]
        if not says_the_same(*texts):
            found.append(f"code cell {number} no longer shows what is stored:\n"
                         f"  stored: {texts[0].strip()[:300]}\n"
                         f"  fresh:  {texts[1].strip()[:300]}")  # fmt: skip
    return found


def check(
    path: Path, *, limit: float, store: bool, filled: bool = False
) -> tuple[float, list[str]]:
    """Run one notebook: its seconds, and what is wrong."""
    try:
        fresh, seconds = run(path, limit=limit, filled=filled)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return 0.0, [f"stopped: {error}"]
    problems = [f"took {seconds:.0f} s: at most {limit:.0f}"] if seconds > limit else []
    for number, cell in enumerate((c for c in fresh.cells if c.cell_type == "code"), 1):
        noise = "".join(text_of(o) for o in cell.outputs if o.get("name") == "stderr")
        if noise:
            problems.append(f"code cell {number} writes to stderr: {noise.strip()[:200]}")
    if store and not problems:
        nbformat.write(tidy(fresh), path)
    elif not store:
        problems += differences(read_notebook(path), fresh)
    return seconds, problems


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="notebooks (default: all)")
    parser.add_argument("--store", action="store_true", help="write the outputs into the files")
    parser.add_argument("--filled", action="store_true", help="with the folded solutions filled in")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds each ({LIMIT})")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    options = parser.parse_args()
    if options.jobs < 1:
        raise UserError(f"--jobs is {options.jobs}: it must be 1 or more")
    if not options.limit > 0:
        raise UserError(f"--limit is {options.limit:g}: it must be a number of seconds above 0")
    if options.store and options.filled:
        raise UserError("a notebook is stored with its cells empty: leave out --filled or --store")
    books = [Notebook.read(path.resolve()) for path in options.files or all_notebooks()]
    paths = [book.path for book in books if not options.filled or complete_tasks(book)]
    if options.store and (ruff := shutil.which("ruff", path=Path(sys.executable).parent)):
        subprocess.run([ruff, "format", "--quiet", *paths], check=True)
        if subprocess.run([ruff, "check", "--quiet", *paths]).returncode:
            raise UserError("nothing was stored: fix what ruff finds, or let `ruff check --fix` do "
                            "so")  # fmt: skip
    one = partial(check, limit=options.limit, store=options.store, filled=options.filled)
    start, failed = time.perf_counter(), 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for path, (seconds, problems) in zip(paths, pool.map(one, paths), strict=True):
            failed += bool(problems)
            verdict = "FAILED" if problems else "stored" if options.store else "ok"
            name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
            print(f"{seconds:6.1f} s  {verdict:6}  {name}", flush=True)
            for problem in problems:
                print("  " + problem.replace("\n", "\n  "), flush=True)
    took = time.perf_counter() - start
    print(f"{took:6.1f} s  {len(paths)} notebooks, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
