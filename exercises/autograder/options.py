"""The options of `pytest exercises/`, in a plugin of its own that imports nothing: pytest must know
them before it looks at the paths of a call, or it takes the DIR of `--submission DIR` for one, and
runs the conftest.py of a submission. exercises/conftest.py loads the grading."""

from pathlib import Path


def pytest_addoption(parser) -> None:
    group = parser.getgroup("exercises", "exercises of the course (pytest exercises/)")
    group.addoption("--solutions", action="store_true", help="grade the solutions")
    group.addoption("--submission", metavar="DIR", type=Path, help="grade the files in DIR")
    group.addoption("--week", metavar="NAME", help="the exercises of this week of course.toml")
    group.addoption("--exercises", metavar="LIST", help="these exercises, such as 03-05,10")
    group.addoption("--report", metavar="FILE", type=Path, help="write what was scored, as JSON")
    group.addoption("--gradescope", metavar="FILE", type=Path,
                    help="write what was scored, as Gradescope's results.json")  # fmt: skip
    group.addoption("--seed", metavar="N", type=int, default=0,
                    help="draw the inputs of all checks from this seed: 0, as at home")  # fmt: skip
    group.addoption("--hints", metavar="N", type=int, default=0,
                    help="show N hints for what is not yet right, fitting ones first")  # fmt: skip
