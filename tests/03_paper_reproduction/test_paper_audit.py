"""The audit of the paper names code and tests that exist, and leaves no row without either."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "03_paper_reproduction"
PAGE = CHAPTER / "paper_audit.md"
LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)\)")
MISTAKES = "Mistakes that real repositories make"

Row = list[str]


def tables() -> dict[str, list[Row]]:
    """The rows of each table, under the heading that it stands under."""
    found: dict[str, list[Row]] = {}
    heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif re.match(r"\| M?\d", line):
            found.setdefault(heading, []).append([c.strip() for c in line.strip("|").split("|")])
    return found


def prescriptions() -> list[Row]:
    """№, prescription, section, code, test and deviation of every row."""
    return [row for heading, rows in tables().items()
            if heading != MISTAKES for row in rows]  # fmt: skip


@cache
def names_in(path: Path) -> frozenset[str]:
    """Functions, classes and variables of a module, and those of its classes as Class.name."""

    def names(body: list[ast.stmt], prefix: str = "") -> set[str]:
        found = set()
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                found |= names(node.body, f"{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [
                node.target] if isinstance(node, ast.AnnAssign) else []  # fmt: skip
            for target in targets:
                each = target.elts if isinstance(target, ast.Tuple) else [target]
                found |= {prefix + name.id for name in each if isinstance(name, ast.Name)}
        return found

    return frozenset(names(ast.parse(path.read_text(encoding="utf-8")).body))


def missing_code(cell: str) -> list[str]:
    return [f"{target}::{symbol}" for symbol, target in LINK.findall(cell)
            if symbol not in names_in(CHAPTER / target)]  # fmt: skip


def missing_tests(cell: str) -> list[str]:
    """Tests that a cell names by their sentence and that its file does not define."""
    named = [(target, "test_" + sentence.replace(" ", "_"))
             for sentence, target in LINK.findall(cell)]  # fmt: skip
    return [f"{target}::{test}" for target, test in named if test not in names_in(CHAPTER / target)]


def test_every_prescription_has_code_that_exists():
    for number, *_, code, _, _ in prescriptions():
        assert LINK.search(code), f"row {number} names no code"
        assert not missing_code(code), f"row {number}"


def test_every_prescription_has_a_test_that_exists():
    for number, *_, test, _ in prescriptions():
        assert LINK.search(test), f"row {number} names no test"
        assert not missing_tests(test), f"row {number}"


def test_rows_are_counted_on_and_have_as_many_cells_as_their_table():
    found = tables()
    counted = [row for heading, rows in found.items() if heading != MISTAKES for row in rows]
    assert [int(row[0]) for row in counted] == list(range(1, len(counted) + 1))
    assert all(len(row) == 6 for row in prescriptions())
    assert all(len(row) == 4 for row in found[MISTAKES])
    assert len(prescriptions()) >= 95


def test_every_section_that_prescribes_something_is_gone_through():
    sections = {part.strip() for rows in tables().values() for row in rows
                for part in row[2].split(",")}  # fmt: skip
    asked = {"3", "3.1", "3.2", "4.1", "4.2", "4.3", "4.4", "5.1", "5.2", "5.3", "A.1", "A.2",
             "A.3", "C.1", "C.2", "`modeling.py`", "`optimization.py`", "`run_pretraining.py`",
             "`create_pretraining_data.py`", "`tokenization.py`"}  # fmt: skip
    assert asked <= sections


def test_every_one_of_the_fourteen_mistakes_has_a_test_that_exists():
    rows = tables()[MISTAKES]
    assert {row[0] for row in rows} == {f"M{number}" for number in range(1, 15)}
    for number, _, _, test in rows:
        assert LINK.search(test), number
        assert not missing_tests(test), number


@pytest.mark.parametrize(
    "page", ["paper_audit.md", "code_reading.md", "megatron_and_d2l.md"]
)  # fmt: skip
def test_the_files_that_a_page_links_to_and_the_tests_that_it_names_exist(page):
    text = (CHAPTER / page).read_text(encoding="utf-8")
    for _, target in LINK.findall(text):
        assert target.startswith("http") or (CHAPTER / target).exists(), target
    everywhere = {name for path in (ROOT / "tests").rglob("test_*.py") for name in names_in(path)}
    for name in re.findall(r"`(test_\w+)`", text):
        assert name in everywhere, name


@pytest.mark.parametrize(
    ("cell", "missing"),
    [
        ("[PRESETS](../00_foundations/bert_run/config.py)", []),
        ("[BertConfig.layer_norm_eps](../00_foundations/bert_run/config.py)", []),
        ("[IS_RANDOM](../00_foundations/bert_corpus/pairs.py)", []),
        ("[BertEmbeddings.forward](bert_paper/model.py)", []),
        ("[BertEmbedding](bert_paper/model.py)", ["bert_paper/model.py::BertEmbedding"]),
        ("[BertModel.backward](bert_paper/model.py)", ["bert_paper/model.py::BertModel.backward"]),
    ],
)
def test_the_check_of_symbols_finds_those_that_are_there_and_no_others(cell, missing):
    assert missing_code(cell) == missing


def test_the_check_of_tests_catches_a_test_that_was_renamed():
    file = "../tests/03_paper_reproduction/test_paper_audit.py"
    assert missing_tests(f"[the check of tests catches a test that was renamed]({file})") == []
    assert missing_tests(f"[the check of tests was renamed]({file})") == [
        f"{file}::test_the_check_of_tests_was_renamed"
    ]
