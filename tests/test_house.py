"""The house rules: who may import whom, what each dependency is for, no pickles, no growth."""

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import jaxtyping
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests are not a package

import house_size

from autograder.points import CATALOGUE, READY, Exercise

ROOT = Path(__file__).parents[1]

FOUNDATIONS = {"bert_corpus", "bert_run"}
MAY_IMPORT = {
    "bert_run": set(),
    "bert_corpus": {"bert_run"},
    "bert_numpy": FOUNDATIONS,
    "bert_lowlevel": FOUNDATIONS,
    "bert_paper": FOUNDATIONS,
    "bert_finetuning": FOUNDATIONS | {"bert_paper"},
    "bert_experiments": FOUNDATIONS
    | {"bert_numpy", "bert_lowlevel", "bert_paper", "bert_finetuning", "autograder"},
    "autograder": {"bert_run"},
}
# Not installed, but within reach of a program that starts at the root of the repository.
UNREACHED = {"tests", "benchmarks"}
ROOMS = MAY_IMPORT.keys() | UNREACHED | {"exercises", "solutions", "autograder"}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def packages() -> dict[str, list[Path]]:
    """The importable package of every chapter, and the laboratory's; with their files."""
    found = [*ROOT.glob("[0-9][0-9]_*/*/__init__.py"), *ROOT.glob("experiments/*/__init__.py")]
    return {path.parent.name: sorted(path.parent.rglob("*.py")) for path in sorted(found)}


@cache
def imports(source: str, module: str) -> frozenset[str]:
    """Top-level names of all that a file imports: anywhere in it, relatively, or by a string.

    `module` is the file's own dotted name, with `.__init__` if it is a package's.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level]
            if above:
                found.add(above[0])
            else:  # past the top of the package: into a neighboring room
                names = [node.module] if node.module else [alias.name for alias in node.names]
                found |= {name.split(".")[0] for name in names}
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else (
                node.func.id if isinstance(node.func, ast.Name) else "")  # fmt: skip
            name = node.args[0] if node.args else None
            if called in ("import_module", "__import__") and isinstance(name, ast.Constant):
                found.add(str(name.value).split(".")[0])
    return frozenset(found)


def forbidden(source: str, module: str) -> set[str]:
    """Rooms that a chapter's file imports and may not."""
    room = module.split(".")[0]
    return (imports(source, module) & ROOMS) - MAY_IMPORT[room] - {room}


def dotted_name(path: Path) -> str:
    chapter = next(p for p in path.parents if p.parent == ROOT)
    return ".".join(path.relative_to(chapter).with_suffix("").parts)


# Names.


def test_every_name_that_is_used_is_defined():
    """Ruff takes a shape of one word, "hidden", for a name too: strings are left out."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--select", "F821", "--output-format", "json",
         "--exclude", "tests/exercises/bank", ROOT],
        capture_output=True, text=True,
    )  # fmt: skip
    unknown = []
    for found in json.loads(done.stdout):
        row, column = found["location"]["row"], found["location"]["column"]
        line = Path(found["filename"]).read_text("utf-8").splitlines()[row - 1]
        if line[column - 2] not in "\"'":
            unknown.append(f"{found['filename']}:{row}: {found['message']}")
    assert not unknown


# Who may import whom.


@pytest.mark.parametrize("room", packages())
def test_a_room_imports_only_the_rooms_below_it(room):
    for path in packages()[room]:
        found = forbidden(path.read_text(encoding="utf-8"), dotted_name(path))
        assert not found, f"{path.relative_to(ROOT)} imports {', '.join(sorted(found))}"


def test_every_package_of_a_chapter_has_a_rule():
    assert packages().keys() <= MAY_IMPORT.keys()
    assert packages().keys() >= FOUNDATIONS | {
        "bert_numpy",
        "bert_lowlevel",
        "bert_paper",
    }  # the search above finds something


VIOLATIONS = [
    ("bert_run", "import bert_paper", "bert_paper"),
    ("bert_run.files", "from bert_corpus.pairs import Batch", "bert_corpus"),
    ("bert_run.files", "import numpy, bert_numpy.layers as layers", "bert_numpy"),
    ("bert_numpy.model", "from bert_paper.model import BertModel", "bert_paper"),
    ("bert_lowlevel.model", "from bert_numpy import model", "bert_numpy"),
    ("bert_paper.model", "def late():\n    from bert_finetuning import train", "bert_finetuning"),
    ("bert_paper.model", "if True:\n    import bert_lowlevel", "bert_lowlevel"),
    ("bert_paper.model", "from ..bert_numpy import model", "bert_numpy"),
    ("bert_paper.model", "from .. import bert_numpy", "bert_numpy"),
    ("bert_corpus.deep.inside", "from ...bert_paper import model", "bert_paper"),
    ("bert_finetuning.train", "import bert_lowlevel", "bert_lowlevel"),
    ("bert_numpy.model", "import importlib\nimportlib.import_module('bert_paper')", "bert_paper"),
    ("bert_numpy.model", "__import__('bert_paper.model')", "bert_paper"),
    ("bert_paper.model", "from benchmarks import speed", "benchmarks"),
    ("bert_finetuning.train", "from bert_experiments import pooling", "bert_experiments"),
    ("bert_paper.model", "import tests.conftest", "tests"),
    ("bert_paper.model", "from solutions import attention", "solutions"),
]


@pytest.mark.parametrize(("module", "source", "found"), VIOLATIONS)
def test_the_check_of_imports_catches(module, source, found):
    assert forbidden(source, module) == {found}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("bert_corpus.pairs", "from bert_run.errors import UserError"),
        ("bert_numpy.model", "import bert_run, bert_corpus.pairs, bert_numpy.layers"),
        ("bert_numpy.model", "from . import layers\nfrom .layers import gelu"),
        ("bert_corpus.storyworld.town", "from .. import pairs\nfrom ..pairs import Batch"),
        ("bert_corpus.storyworld.__init__", "from .town import Town\nfrom .. import pairs"),
        ("bert_finetuning.train", "from bert_paper.model import BertModel\nimport bert_run"),
        ("bert_paper.model", "text = 'import bert_numpy'  # import bert_finetuning"),
    ],
)
def test_the_check_of_imports_lets_pass(module, source):
    assert forbidden(source, module) == set()


# Packages of each chapter: an exercise of chapter 2 may know those of 0, 1 and 2.
CHAPTERS = (FOUNDATIONS, {"bert_numpy"}, {"bert_lowlevel"}, {"bert_paper"}, {"bert_finetuning"})


# The capstone compares all levels on the laboratory's board; no other exercise opens it.
BOARDS = {"25_capstone": {"bert_experiments"}}


def up_to(chapter: int) -> set[str]:
    return set().union(*CHAPTERS[: chapter + 1])


@pytest.mark.parametrize("exercise", (READY, *CATALOGUE), ids=lambda exercise: exercise.name)
def test_an_exercise_imports_only_chapters_up_to_its_own(exercise: Exercise):
    allowed = {
        exercise.starter: set(),
        exercise.solution: set(),
        exercise.test: up_to(exercise.chapter) | {"autograder"} | BOARDS.get(exercise.name, set()),
    }
    for path, rooms in allowed.items():
        if path.is_file():
            found = imports(path.read_text(encoding="utf-8"), path.stem) & ROOMS
            assert found <= rooms, f"{path.relative_to(ROOT)} imports {sorted(found - rooms)}"


def test_every_python_file_of_the_exercises_belongs_to_one_of_the_catalogue():
    known = {path for e in (READY, *CATALOGUE) for path in (e.starter, e.solution, e.test)}
    others = [path.relative_to(ROOT) for path in python_files("exercises", "solutions")
              if path not in known and "autograder" not in path.parts]  # fmt: skip
    assert others == [Path("exercises/conftest.py")]


def test_the_grader_imports_the_foundations_and_a_students_process_nothing_of_the_course():
    for path in python_files("exercises/autograder"):
        module = ".".join(path.relative_to(ROOT / "exercises").with_suffix("").parts)
        found = forbidden(path.read_text(encoding="utf-8"), module)
        assert not found, f"{path.relative_to(ROOT)} imports {', '.join(sorted(found))}"
    for name in ("codec", "worker"):
        text = (ROOT / "exercises" / "autograder" / f"{name}.py").read_text(encoding="utf-8")
        assert imports(text, f"autograder.{name}") & ROOMS <= {"autograder"}
        own = re.findall(r"from autograder\.(\w+) import|import autograder", text)
        assert set(own) <= {"codec"}, f"{name}.py imports {own}: see codec.py"


def test_nothing_imports_tests_or_benchmarks():
    everything = [p for p in own_files(".py") if p.relative_to(ROOT).parts[0] not in UNREACHED]
    assert everything
    for path in everything:
        found = imports(path.read_text(encoding="utf-8"), path.stem) & UNREACHED
        assert not found, f"{path.relative_to(ROOT)} imports {', '.join(sorted(found))}"


# Dependencies.


def pyproject() -> str:
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def declared(*, with_extras: bool) -> dict[str, str]:
    """Name of every dependency in `pyproject.toml`, and the comment beside it.

    Read line by line: Python 3.10 has no parser of TOML, and a parser drops comments.
    """
    text = pyproject()
    begin = text.index("\ndependencies = [")
    middle = text.index("[project.optional-dependencies]")
    end = text.index("\n[", middle + 1)
    found = {}
    for line in text[begin : end if with_extras else middle].splitlines():
        code, _, reason = line.partition("#")
        for name in re.findall(r'"([A-Za-z0-9_.-]+)\s*(?:[<>=!~;\[][^"]*)?"', code):
            found[name] = reason.strip()
    return found


def canonical(name: str) -> str:
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_dependencies_are_found():
    found = declared(with_extras=True)
    assert {"numpy", "torch", "tokenizers", "safetensors", "pytest", "beartype"} <= found.keys()
    assert "beartype" not in declared(with_extras=False)


def test_every_dependency_has_a_reason_beside_it():
    without = [name for name, reason in declared(with_extras=True).items() if len(reason) < 10]
    assert not without, f"pyproject.toml gives no reason for {', '.join(without)}"


def test_every_dependency_is_pinned():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonical(line.split("==")[0].strip()) for line in lines
              if "==" in line.partition(";")[0] and not line.startswith("#")}  # fmt: skip
    loose = [name for name in declared(with_extras=True) if canonical(name) not in pinned]
    assert not loose, f"constraints.txt has no exact version of {', '.join(loose)}"


MODULES_OF = {"PIL": "pillow"}  # libraries whose module has another name


def undeclared(source: str, module: str) -> set[str]:
    """Libraries that a file imports and `pyproject.toml` does not name. One that only an extra
    brings may be imported where it is used, not when the file is."""
    known = (
        set(sys.stdlib_module_names)
        | MAY_IMPORT.keys()
        | {module for module, name in MODULES_OF.items() if name in declared(with_extras=False)}
    )
    always = {canonical(name) for name in declared(with_extras=False)}
    sometimes = {canonical(name) for name in declared(with_extras=True)}
    at_once = "\n".join(
        ast.unparse(node) for node in ast.parse(source).body
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef))
    )  # fmt: skip
    return {
        *(n for n in imports(at_once, module) - known if canonical(n) not in always),
        *(n for n in imports(source, module) - known if canonical(n) not in sometimes),
    }


def test_level_1_needs_no_torch():
    for path in packages()["bert_numpy"]:
        found = imports(path.read_text(encoding="utf-8"), dotted_name(path))
        assert not found & {"torch", "transformers"}, f"{path.relative_to(ROOT)}: NumPy alone"


def test_a_room_imports_no_library_that_is_not_declared():
    for files in packages().values():
        for path in files:
            missing = undeclared(path.read_text(encoding="utf-8"), dotted_name(path))
            assert not missing, f"{path.relative_to(ROOT)} imports {missing}: see pyproject.toml"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import seqeval", {"seqeval"}),
        ("def late():\n    import seqeval", set()),
        ("def late():\n    import requests", {"requests"}),
        ("import numpy, torch\nfrom threadpoolctl import threadpool_limits", set()),
    ],
)
def test_the_check_of_libraries_catches(source, found):
    assert undeclared(source, "bert_numpy.model") == found


LINES_OF_THE_SITE = 1_800  # of Python


def test_the_site_imports_only_libraries_that_are_declared_and_does_not_grow():
    files = sorted((ROOT / "site").glob("*.py"))
    known = set(sys.stdlib_module_names) | MAY_IMPORT.keys() | {path.stem for path in files}
    libraries = {canonical(name) for name in declared(with_extras=True)}
    lines = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        found = {MODULES_OF.get(name, name) for name in imports(text, path.stem) - known}
        missing = {name for name in found if canonical(name) not in libraries}
        assert not missing, f"{path.relative_to(ROOT)} imports {missing}: see pyproject.toml"
        lines += len(text.splitlines())
    assert 500 < lines <= LINES_OF_THE_SITE


def test_every_chapter_with_a_package_is_installed_from_its_folder():
    for path in sorted(ROOT.glob("[0-9][0-9]_*/*/__init__.py")):
        chapter = path.parent.parent.name
        assert f'"{chapter}"' in pyproject(), f"{chapter} is not among dev-mode-dirs"
        package = f"{chapter}/{path.parent.name}"
        assert f'"{package}"' in pyproject(), f"{package} is not among the wheel's packages"


# Files.

NOT_OURS = {"__pycache__", "runs", "dist", "build", "node_modules"}
TEXT = (".py", ".md", ".toml", ".txt", ".cfg", ".ini", ".json", ".yml", ".yaml", ".ipynb", ".sh",
        ".html", ".csv", ".svg", "")  # fmt: skip


@cache
def all_files() -> list[Path]:
    """Files of the repository: not of an environment, a cache or a run."""
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = sorted(n for n in below if n in (".github", ".ci") or n[0] != ".")
        below[:] = [n for n in below if n not in NOT_OURS and not n.endswith(".egg-info")]
        found += [Path(folder) / name for name in sorted(names)]
    return found


def own_files(*endings: str) -> list[Path]:
    return [path for path in all_files() if path.suffix in endings]


def lines_with(pattern: str, *endings: str) -> list[str]:
    """Where a pattern stands in the repository; this file, which holds the patterns, aside."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in own_files(*endings)
        if path != Path(__file__)
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if re.search(pattern, line)
    ]


IMAGE = re.compile(r"!\[([^\]]*)\]\(|<img\b(?![^>]*\balt=\\?\"\w)")


def test_every_image_of_a_page_or_a_notebook_has_a_text_that_says_what_it_shows():
    bare = [f"{path.relative_to(ROOT)}: {found[0]}" for path in own_files(".md", ".ipynb")
            for found in IMAGE.finditer(path.read_text("utf-8"))
            if len((found[1] or "").split()) < 3]  # fmt: skip
    assert not bare, "\n".join(bare)


@pytest.mark.parametrize("text", ["![](a.png)", "![curve](a.png)", '<img src="a.png">',
                                  '<img src="a.png" alt="">'])  # fmt: skip
def test_the_check_for_texts_of_images_catches(text):
    assert len((IMAGE.search(text)[1] or "").split()) < 3


LOADS_PICKLES = (
    r"\b(c?pickle|dill|joblib|torch|cloudpickle)\.(load|loads|Unpickler)\b|allow_pickle=True"
)

MACHINE_PATH = r"(?<![\w.])(/work/|/root/|/home/\w|/Users/\w|/opt/\w|[A-Z]:\\Users\\)"


def test_nothing_is_ever_unpickled():
    assert lines_with(LOADS_PICKLES, ".py", ".ipynb") == []


def test_no_file_names_a_path_of_somebodys_machine():
    assert lines_with(MACHINE_PATH, *TEXT) == []


@pytest.mark.parametrize(
    "line",
    ["torch.load(path)", "x = pickle.loads(data)", "np.load(path, allow_pickle=True)"],
)
def test_the_check_for_pickles_catches(line):
    assert re.search(LOADS_PICKLES, line)


@pytest.mark.parametrize("line", ['open("/home/ann/x")', "cd /root/project", r"C:\Users\ann"])
def test_the_check_for_machine_paths_catches(line):
    assert re.search(MACHINE_PATH, line)
    assert not re.search(MACHINE_PATH, "https://example.org/home/page and site/work/list")


# The house may shrink: what a package holds today is the most that it may hold tomorrow. Lines are
# rounded up; top-level modules and folders are what a reader sees first.
LARGEST = {
    "bert_corpus": (3_120, 8), "bert_run": (2_570, 10), "bert_numpy": (1_310, 11),
    "bert_lowlevel": (810, 7), "bert_paper": (2_225, 11), "bert_finetuning": (5_955, 9),
    "autograder": (6_050, 11), "bert_experiments": (18_290, 16),
}  # fmt: skip
MOST_AT_THE_TOP = 16  # modules and folders, of any package
MOST_FILES = {"bert_finetuning": 18}


@pytest.mark.parametrize("package", house_size.PACKAGES)
def test_house_size__no_package_grows(package):
    size, (lines, top) = house_size.size_of(package), LARGEST[package]
    assert size.lines <= lines and size.top <= top, "python tests/house_size.py"
    assert size.files <= MOST_FILES.get(package, size.files)


@pytest.mark.parametrize("package", house_size.PACKAGES)
def test_house_size__no_package_has_more_than_16_modules_at_its_top_level(package):
    assert house_size.size_of(package).top <= MOST_AT_THE_TOP, "python tests/house_size.py"


@pytest.mark.parametrize("chapter", sorted(path.name for path in ROOT.glob("[0-9][0-9]_*")))
def test_every_chapter_has_a_readme(chapter):
    assert (ROOT / chapter / "README.md").is_file()


def test_the_five_chapters_are_there():
    assert sorted(path.name for path in ROOT.glob("[0-9][0-9]_*")) == [
        "00_foundations",
        "01_numpy_from_scratch",
        "02_pytorch_lowlevel",
        "03_paper_reproduction",
        "04_finetuning",
    ]


def test_with_all__a_shape_that_a_signature_does_not_name_raises(pytestconfig):
    if not pytestconfig.getoption("--all"):
        pytest.skip("shapes are checked with --all")
    from bert_numpy.attention import split_heads

    with pytest.raises(jaxtyping.TypeCheckError, match="split_heads"):
        split_heads(np.zeros((2, 3, 4, 5)), 2)
