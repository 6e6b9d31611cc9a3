"""Python for the pages: Pyodide, NumPy and matplotlib for WebAssembly, and the course's own files.

    npm ci --prefix site         Pyodide itself, from the npm registry
    python site/runtime.py OUT   writes OUT/python; a page loads of it what it needs

NumPy publishes no wheel for WebAssembly, and the pages load nothing from Pyodide's own server.
Another project on PyPI ships Pyodide's official wheels inside its own. They are taken out of it,
and accepted only if their SHA-256 is the one in the lock file of Pyodide's npm package. What was
downloaded is kept in `build/wheels`.

The course's files are those that the checks and the notebooks import. No solution and no answer of
a bank is among them. `stand_ins/` holds the few functions that these files name of libraries that
do not run in a page, or would take long to load.
"""

import argparse
import hashlib
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.points import CATALOGUE, Exercise, checks_of, worth
from bert_run.errors import UserError, command

SITE = Path(__file__).parent
ROOT = SITE.parent
PYODIDE = SITE / "node_modules" / "pyodide"
WHEELS = ROOT / "build" / "wheels"  # what was downloaded
LOCK = "pyodide-lock.json"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")

CARRIER = "open-webui==0.12.4"  # a wheel of PyPI that holds the wheels of CARRIED, unchanged
CARRIED = {  # for WebAssembly: each with what it loads before itself
    "numpy": (),
    "contourpy": ("numpy",),
    "kiwisolver": (),
    "pillow": (),
    "matplotlib": ("numpy", "contourpy", "kiwisolver", "pillow"),
}
# Plain Python, at the versions of constraints.txt; unpacked into the same archive as the course.
PLAIN = (
    "cycler", "docstring-parser", "jaxtyping", "packaging", "pyparsing", "python-dateutil", "six",
    "threadpoolctl", "tqdm", "typeguard", "typing-extensions", "tyro", "wadler-lindig",
)  # fmt: skip

# What can be checked without torch, with the seconds of a processor that the checks of the solution
# take under node (`cpu` in what tests/site/grading_parity.py keeps).
OFFERED = {
    "01_wordpiece": 3, "02_sentence_pairs": 4, "03_softmax": 1, "04_layer_norm": 1, "05_gelu": 1,
    "06_attention": 1, "07_multi_head": 2, "08_embeddings": 1, "09_masked_cross_entropy": 1,
    "10_mlm_masking": 3, "11_bert_adam": 1, "20_reading_transformers": 1, "22_ner_alignment": 1,
    "23_best_span": 2, "26_learning_curves": 2,
    "27_is_the_score_true": 2,
}  # fmt: skip
NOTEBOOKS = {
    "00_foundations/01_text_to_ids.ipynb", "00_foundations/02_pairs_and_next_sentence.ipynb",
    "00_foundations/03_what_the_model_sees.ipynb",
    *(f"01_numpy_from_scratch/{name}.ipynb" for name in (
        "01_softmax_and_cross_entropy", "02_layer_norm_and_gelu", "03_attention_by_hand",
        "04_multi_head_and_the_layer", "05_embeddings_and_heads", "06_the_whole_backward_pass",
        "07_training_in_numpy")),
}  # fmt: skip
PARTS = (  # folders on the path of Python in the page
    "00_foundations", "01_numpy_from_scratch", "04_finetuning", "experiments", "exercises",
)  # fmt: skip
LEFT_OUT = ("exercises/autograder/untrusted/", "site/")
DATE = (1980, 1, 1, 0, 0, 0)  # of every file of an archive, so that equal files are equal bytes


def offers(path: str | Path) -> bool:
    """Whether the page made from `path`, an exercise's README or a notebook, can run its Python."""
    path = Path(path)
    return path.as_posix() in NOTEBOOKS or (
        path.name == "README.md" and path.parent.name in OFFERED
    )


def write(out: Path) -> None:
    """Write `out/python`: everything that a page loads to run Python."""
    python = out / "python"
    python.mkdir(parents=True, exist_ok=True)
    for name in CORE:
        _write(python / name, _core(name))
    wheels = collect()
    for wheel in wheels.values():
        _write(python / wheel.name, wheel.read_bytes())
    _write(python / LOCK, _json(own_lock()))
    _write(python / "course.zip", course_archive())
    (python / "exercises").mkdir(exist_ok=True)
    _write(python / "exercises.json", _json([entry(exercise) for exercise in CATALOGUE]))
    for exercise in CATALOGUE:
        if exercise.name in OFFERED:
            _write(python / "exercises" / f"{exercise.name}.json", _json(offered(exercise)))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _write(path: Path, data: bytes) -> None:
    """Write a file, unless it is already so."""
    if not path.is_file() or path.read_bytes() != data:
        path.write_bytes(data)


def _core(name: str) -> bytes:
    path = PYODIDE / name
    if not path.is_file():
        raise UserError(f"{path} is missing: run `npm ci --prefix site`")
    return path.read_bytes()


# --- Wheels --------------------------------------------------------------------------------------


def lock() -> dict:
    """What Pyodide's npm package says about its packages: file, SHA-256, what each needs."""
    return json.loads(_core(LOCK))


def own_lock() -> dict:
    """The same for the packages that the pages have, each with what they need of it."""
    whole = lock()
    packages = {
        name: {**whole["packages"][name], "depends": list(needs)} for name, needs in CARRIED.items()
    }
    return {**whole, "packages": packages}


def collect() -> dict[str, Path]:
    """The wheels for WebAssembly in `build/wheels`; downloaded first, if they are not there."""
    packages = {name: lock()["packages"][name] for name in CARRIED}
    wheels = {name: WHEELS / package["file_name"] for name, package in packages.items()}
    missing = [name for name, path in wheels.items() if not path.is_file()]
    if missing:
        carrier = _downloaded(CARRIER)
        for name in missing:
            wheels[name].write_bytes(taken_out(carrier, packages[name]))
        carrier.unlink()  # a hundred megabytes
    for name, path in wheels.items():
        check_digest(path.read_bytes(), packages[name], path.name)
    return wheels


def taken_out(carrier: Path, package: dict) -> bytes:
    """A wheel of Pyodide's out of the wheel of another project; an error if it is another one."""
    wanted = package["file_name"]
    with zipfile.ZipFile(carrier) as archive:
        names = [name for name in archive.namelist() if name.rpartition("/")[2] == wanted]
        if not names:
            raise UserError(f"{carrier.name} does not hold {wanted}: name another carrier")
        data = archive.read(names[0])
    check_digest(data, package, f"{wanted} of {carrier.name}")
    return data


def check_digest(data: bytes, package: dict, name: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != package["sha256"]:
        raise UserError(f"{name} has the SHA-256 {found[:16]}…, and Pyodide's lock file says "
                        f"{package['sha256'][:16]}…: it is not used; delete build/wheels and "
                        "try again")  # fmt: skip


def plain_wheels() -> list[Path]:
    """The wheels of plain Python, from `build/wheels` or by pip."""
    versions = dict(
        re.findall(
            r"^([\w.-]+)==([\w.]+)(?: ; python_full_version >= .*)?$",
            (ROOT / "constraints.txt").read_text("utf-8"),
            re.MULTILINE,
        )
    )
    versions = {_normal(name): version for name, version in versions.items()}
    found = []
    for name in PLAIN:
        there = list(WHEELS.glob(f"{_normal(name)}-{versions[_normal(name)]}-*.whl"))
        found.append(there[0] if there else _downloaded(f"{name}=={versions[_normal(name)]}"))
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _downloaded(requirement: str) -> Path:
    """A wheel by pip, which reads its own settings for the index; under a lower-case name."""
    WHEELS.mkdir(parents=True, exist_ok=True)
    name, version = requirement.split("==")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
         "--ignore-requires-python", "--dest", str(WHEELS), requirement],
        capture_output=True, text=True,
    )  # fmt: skip
    paths = [path for path in WHEELS.glob("*.whl")
             if path.name.lower().startswith(f"{_normal(name)}-{version}-")]  # fmt: skip
    if done.returncode or not paths:
        reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise UserError(f"pip cannot download {requirement} ({reason}): is the index reachable?")
    return paths[0].rename(paths[0].with_name(paths[0].name.lower()))


# --- The course ----------------------------------------------------------------------------------


def course_archive() -> bytes:
    """A zip of `site-packages/` with the plain wheels, and `course/` with the course's files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in [*_plain_files(), *course_files()]:
            archive.writestr(zipfile.ZipInfo(name, DATE), content, zipfile.ZIP_DEFLATED, 9)
    return data.getvalue()


def _plain_files() -> Iterator[tuple[str, bytes]]:
    for wheel in plain_wheels():
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                is_text_about_it = ".dist-info/" in name and not re.search("METADATA|LICEN", name)
                if not name.endswith("/") and not is_text_about_it:
                    yield f"site-packages/{name}", archive.read(name)


def course_files() -> list[tuple[str, bytes]]:
    """The course's files as they are, under `course/`; stand-ins under `site-packages/`."""
    listed = subprocess.run(["git", "ls-files", *PARTS], cwd=ROOT, capture_output=True, text=True)
    paths = [path for path in listed.stdout.splitlines() if _is_shipped(path)]
    if not paths:
        raise UserError(f"{ROOT} is no clone of the course: git lists no file of {PARTS[0]}")
    files = [(f"course/{path}", (ROOT / path).read_bytes()) for path in paths]
    for path in sorted((SITE / "stand_ins").rglob("*.py")):
        name = path.relative_to(SITE / "stand_ins").as_posix()
        files.append((f"site-packages/{name}", path.read_bytes()))
    return [*files, ("course/in_page.py", (SITE / "in_page.py").read_bytes())]


def _is_shipped(path: str) -> bool:
    if not path.endswith((".py", ".json", ".txt", ".png")) or path.startswith(LEFT_OUT):
        return False
    folder = path.split("/")[1]
    return not (path.startswith("exercises/") and folder[0].isdigit() and folder not in OFFERED)


def entry(exercise: Exercise) -> dict:
    """What the board shows of an exercise."""
    return {"name": exercise.name, "title": title(exercise), "points": points(exercise),
            "offered": exercise.name in OFFERED}  # fmt: skip


def offered(exercise: Exercise) -> dict:
    """What the page of an exercise needs: the starter, and what each check is worth."""
    hundredths = worth(exercise)
    return {
        **entry(exercise), "file": exercise.file, "seconds": OFFERED[exercise.name],
        "starter": exercise.starter.read_text("utf-8"),
        "checks": [{"id": check.id, "hint": check.hint, "worth": hundredths[check.id]}
                   for check in checks_of(exercise)],
    }  # fmt: skip


def points(exercise: Exercise) -> float:
    return sum(worth(exercise).values()) / 100


def title(exercise: Exercise) -> str:
    first = (exercise.folder / "README.md").read_text("utf-8").partition("\n")[0]
    return first.removeprefix("# ")


def sizes(folder: Path) -> Iterable[str]:
    for path in sorted(folder.iterdir()):
        yield f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}"


@command
def main() -> None:
    parser = argparse.ArgumentParser(description="Write what a page loads to run Python.")
    parser.add_argument("out", type=Path, help="the folder of the built site")
    out = parser.parse_args().out
    write(out)
    print(*sizes(out / "python"), sep="\n")


if __name__ == "__main__":
    main()
