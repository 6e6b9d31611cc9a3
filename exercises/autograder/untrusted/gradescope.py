"""What `python -m autograder gradescope` writes: a zip with `setup.sh`, `run_autograder` and what
they need of the course, without solutions; and the grading of an upload there."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.course import parse_exercises, tomllib
from autograder.points import ROOT, Exercise
from autograder.runner import Report, write_report
from autograder.untrusted.exports import write_zip
from autograder.untrusted.gradebook import TEMPLATES

SECONDS = "180"  # of a processor for an exercise: containers are slow
# What grading does not need of the libraries of the course.
UNUSED = {"datasets", "jupyterlab"}


def write_bundle(path: Path, exercises: list[Exercise]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    libraries = [re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]]
    values = {"libraries": " ".join(name for name in libraries if name not in UNUSED),
              "exercises": ",".join(exercise.name[:2] for exercise in exercises)}  # fmt: skip
    files = {name: TEMPLATES.get_template(name).render(values) + "\n"
             for name in ("setup.sh", "run_autograder")}  # fmt: skip
    files |= {f"course/{file.relative_to(ROOT).as_posix()}": file.read_bytes()
              for file in files_of(exercises)}  # fmt: skip
    write_zip(path, files.items(), mode=0o100755)  # the two scripts are run


def files_of(exercises: list[Exercise]) -> list[Path]:
    """The grader, the exercises without solutions, and the packages that they compare with."""
    folders = [*ROOT.glob("[0-9][0-9]_*/bert_*"), ROOT / "exercises" / "autograder"]
    if any(exercise.name == "25_capstone" for exercise in exercises):
        folders.append(ROOT / "experiments" / "bert_experiments")
    found = [ROOT / "constraints.txt"]
    for exercise in exercises:
        found += [exercise.folder / "README.md", exercise.starter, exercise.test]
    found += [path for folder in folders for path in folder.rglob("*")
              if path.is_file() and "__pycache__" not in path.parts]  # fmt: skip
    return sorted(found)


def grade_upload(root: Path, exercises: str) -> Report:
    """Grade what Gradescope has put into `submission`, as bert-grade does; what it is to show."""
    names = ",".join(exercise.name[:2] for exercise in parse_exercises([exercises], "exercises"))
    with tempfile.TemporaryDirectory() as folder:
        handed, out = Path(folder, "class"), Path(folder, "grades")
        shutil.copytree(root / "submission", handed / "upload", symlinks=True)
        done = subprocess.run(
            [sys.executable, "-m", "autograder.untrusted.grade", str(handed), "--out", str(out),
             "--exercises", names, "--jobs", "1", "--timeout", SECONDS],
            capture_output=True, text=True, check=False, cwd=folder,
        )  # fmt: skip
        print(done.stderr, file=sys.stderr)
        if done.returncode == 0:
            text = (out / "students" / "upload" / "results.json").read_text(encoding="utf-8")
            return json.loads(text)
    return {"score": 0.0, "output": "the grader itself failed: tell the instructor; nothing is "
                                    f"wrong with your files\n{done.stderr[-2000:]}"}  # fmt: skip


if __name__ == "__main__":
    place = Path(sys.argv[1])
    write_report(place / "results" / "results.json", grade_upload(place, sys.argv[2]))
