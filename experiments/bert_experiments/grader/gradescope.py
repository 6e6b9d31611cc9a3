"""The zip that Gradescope takes as an autograder: the exercises, without solutions."""

import re
import zipfile
from pathlib import Path

from jinja2 import Template

from autograder.course import COURSE, tomllib
from autograder.points import ROOT, STARTERS, Exercise
from autograder.untrusted.exports import write_zip
from bert_run.errors import UserError

HERE = Path(__file__).parent  # of the two scripts
UNUSED = {"datasets", "jupyterlab"}  # libraries of the course that grading does not need


def write_bundle(path: Path, exercises: list[Exercise], *, seed: int = 0) -> None:
    """A zip with `setup.sh`, `run_autograder` and what they need of the course. All checks draw
    their inputs from `seed`, if it is not 0."""
    if path.is_file() and not (zipfile.is_zipfile(path) and b"run_autograder" in path.read_bytes()):
        raise UserError(f"{path} is there already and no such zip: name another --out")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    libraries = [re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]]
    values = {"libraries": " ".join(name for name in libraries if name not in UNUSED),
              "exercises": ",".join(exercise.name[:2] for exercise in exercises)}  # fmt: skip
    files = {name: Template((HERE / name).read_text(encoding="utf-8")).render(values) + "\n"
             for name in ("setup.sh", "run_autograder")}  # fmt: skip
    files |= {f"course/{file.relative_to(ROOT).as_posix()}": file.read_bytes()
              for file in files_of(exercises)}  # fmt: skip
    if seed:
        files[f"course/{COURSE}"] = f"seed = {seed}\nweek.1.exercises = ['{values['exercises']}']\n"
    write_zip(path, files.items(), mode=0o100755)  # the two scripts are run


def files_of(exercises: list[Exercise]) -> list[Path]:
    """The grader, the exercises without solutions, and the packages that they compare with."""
    folders = [*ROOT.glob("[0-9][0-9]_*/bert_*"), ROOT / "exercises" / "autograder"]
    if any(exercise.name == "25_capstone" for exercise in exercises):
        folders.append(ROOT / "experiments" / "bert_experiments")
    found = [ROOT / "constraints.txt", STARTERS]
    for exercise in exercises:
        places = (exercise.folder / name for name in ("README.md", "exercise.json"))
        found += [exercise.starter, exercise.test, *(path for path in places if path.is_file())]
    found += [path for folder in folders for path in folder.rglob("*")
              if path.is_file() and "__pycache__" not in path.parts]  # fmt: skip
    return sorted(found)
