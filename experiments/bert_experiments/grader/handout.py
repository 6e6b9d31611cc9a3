"""The copy of the course that students get, and the solutions that are released into it.

A copy has what is committed here, without the solutions, the bank and what else is for instructors
and authors, and course.toml without its secret seed, in a repository of its own with one commit.
A link to something that is left out becomes its words, and says so.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from autograder.course import COURSE, course_file, find_course, parse_exercises, plan, read_course
from autograder.points import LOCAL, ROOT, Exercise, find, present
from bert_run.errors import UserError

LEFT_OUT = (
    "solutions", "tests/exercises", "tests/test_course_pages.py", "tests/test_house.py",
    "tests/test_exam_questions.py", "tests/test_mechanisms.py", "tests/test_notebook_tasks.py",
    "tests/test_notebooks.py",
    "TEACHING.md", "teaching", "exercises/WRITING.md", "exercises/PROMISES.md",
    "experiments/bert_experiments/grader", ".ci", ".github",
)  # fmt: skip
LINK = re.compile(r"(?<!!)\[(?P<words>[^\[\]]*)\]\((?P<target>[^()\s#]+)(?P<place>#[^()\s]*)?\)")
NOTE = """> This is the copy for students. It holds no solutions and none of the wrong answers that
> test the grader: what this page says about those is done in the course itself.

"""
GIT = ("git", "-c", "user.name=The course", "-c", "user.email=course@localhost")


def hand_out(out: Path) -> None:
    """Write a copy for students to an empty folder."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not empty: name another folder")
    out.mkdir(parents=True, exist_ok=True)
    git(out, "clone", "--quiet", "--depth", "1", f"file://{ROOT}", ".")
    shutil.rmtree(out / ".git")
    there = {path.resolve() for path in out.rglob("*")}
    if LOCAL.is_dir():
        shutil.copytree(LOCAL, out / LOCAL.relative_to(ROOT),
                        ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    for place in (out / name for name in LEFT_OUT):
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    page = out / "exercises" / "README.md"
    title, _, rest = page.read_text(encoding="utf-8").partition("\n\n")
    page.write_text(f"{title}\n\n{NOTE}{rest}", encoding="utf-8")
    for path in sorted([*out.rglob("*.md"), *out.rglob("*.ipynb")]):
        text = path.read_text(encoding="utf-8")
        whole = without_lost_links(text, path.parent, there)
        if whole != text:
            path.write_text(whole, encoding="utf-8")
    committed = out / COURSE
    weeks = course_file() or (committed if committed.is_file() else None)
    if weeks:
        copy_course(weeks, out / COURSE)
    git(out, "init", "--quiet", "--initial-branch=main")
    commit(out, "The course", ".")
    also = f", with {COURSE} except its seed" if weeks else ""
    print(f"{out}: {len(present())} exercises to do, in one commit{also}")


def copy_course(source: Path, target: Path) -> None:
    """The weeks of the term, by which `pytest exercises/ --week 2` knows what to check, without the
    line of the secret seed."""
    read_course(source)
    text = source.read_text(encoding="utf-8-sig")
    target.write_text(re.sub(r"(?m)^[ \t]*[\"']?seed\b.*\n?", "", text), encoding="utf-8")
    if read_course(target).seed:
        target.unlink()
        raise UserError(f"{source}: write seed in a line of its own, so that the copy goes without")


def without_lost_links(text: str, folder: Path, there: set[Path]) -> str:
    """A page of `folder` without links to what was `there` and has been left out."""

    def kept(link: re.Match) -> str:
        place = (folder / link["target"]).resolve()
        is_lost = place in there and not place.exists()
        return f"{link['words']} (not in this copy)" if is_lost else link[0]

    return LINK.sub(kept, text)


def release(names: Iterable[str], out: Path) -> None:
    """Add the solutions of exercises, each as its folder or its number, to a copy for students."""
    chosen = [named(name) for name in names]
    if not chosen:
        raise UserError("nothing to release: name exercises, such as 03 04, or a --week")
    if not (out / "exercises").is_dir() or out.resolve() == ROOT.resolve():
        raise UserError(f"{out} is no copy of the course: name the folder of `make handout`")
    places = [str(exercise.solution.parent.relative_to(ROOT)) for exercise in chosen]
    for place in places:
        shutil.copytree(ROOT / place, out / place, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    if (out / ".git").exists() and git(out, "status", "--porcelain", "--ignored", *places):
        commit(out, f"Solutions of {', '.join(e.name for e in chosen)}", *places)
    print(f"{out / 'solutions'}: {', '.join(exercise.name for exercise in chosen)}")


def named(name: str) -> Exercise:
    found = find(name)
    if found not in present():
        raise UserError(f"there is no exercise {name!r}: name it like {present()[0].name}, or 01")
    return found


def exercises_of_week(week: str) -> list[str]:
    """The exercises of a week of course.toml; without one, of TEACHING.md's twelve weeks."""
    if (course := find_course()).weeks:
        return [exercise.name for exercise in course.week(week).exercises]
    weeks = plan(12)
    if week not in weeks:
        raise UserError(f"TEACHING.md has no week {week}: take one of {', '.join(weeks)}")
    return [exercise.name for exercise in parse_exercises(weeks[week], f"week {week}")]


def commit(folder: Path, message: str, *places: str) -> None:
    git(folder, "add", "--all", "--force", *places)
    git(folder, "commit", "--quiet", "--message", message, "--", *places)


def git(folder: Path, *arguments: str) -> bytes:
    call = subprocess.run([*GIT, "-C", str(folder), *arguments], capture_output=True, check=False)
    if call.returncode:
        said = call.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UserError(f"git {arguments[0]} in {folder}: {said[-1] if said else 'it failed'}")
    return call.stdout
