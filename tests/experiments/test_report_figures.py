"""The figures of a report as JSON: they are those of its page, for notebooks to read."""

import json
import re
from pathlib import Path

import pytest

from bert_experiments.report.figures import TITLES, in_words, spread
from bert_experiments.report.page import Page, check_report
from bert_experiments.report.verdicts import Claim, Verdict
from bert_run.errors import UserError

RESULTS = Path(__file__).parents[2] / "results"
REPORT = re.compile(r"python -m bert_experiments\.[^`]*?--report")
REPORT = re.compile(r"python -m bert_experiments\.[^`]*?--report")
PAGES = [page for page in sorted(RESULTS.glob("*.md")) if REPORT.search(page.read_text("utf-8"))]
KEYS = {title: measure for measure, title in TITLES.items()}


def cells_of(page: str) -> dict[tuple[str, str], str]:
    """The cells of the page's first table by variant and measure, where ours has the measure."""
    lines = re.search(r"(^\|.*\n)+", page, re.MULTILINE)[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    found = {}
    for variant, *row in rows:
        kind = KEYS.get(row[0])  # of a table with a row for each kind of word
        for heading, cell in zip(head[1:], row, strict=True):
            measure = KEYS.get(heading.replace("ours, %", TITLES["names"]))
            if kind and "%" in heading:
                measure = f"{kind}@{heading}"
            if measure and cell != "–":
                found[re.sub(r", \d seeds$", "", variant), measure] = cell
    return found


def test_there_are_reports():
    assert len(PAGES) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_figures_are_those_of_the_page(page):
    found, text = json.loads(page.with_suffix(".json").read_text("utf-8")), page.read_text("utf-8")
    ours = {
        (variant, measure): in_words([one["lowest"], one["median"], one["highest"]], measure)
        for variant, figures in found["results"].items()
        for measure, one in figures.items()
        if "seconds" not in measure
    }
    assert cells_of(text).items() <= ours.items()
    if found["from"] != "the runs":
        assert cells_of(text) == ours
    assert found["command"] in text
    assert f"# {found['title']}\n" in text
    assert f"torch {found['versions']['torch']}" in " ".join(text.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_verdicts_are_those_of_the_page(page):
    text = page.read_text("utf-8").replace("-\n  ", "-").replace("\n  ", " ")
    verdicts = json.loads(page.with_suffix(".json").read_text("utf-8"))["verdicts"]
    assert text.count("\n- **") == len(verdicts)
    for one in verdicts:
        assert f"- **{one['answer']}**: {one['claim']}. → {one['reason']}" in text


@pytest.mark.parametrize("name", ["finetuning", "finetuning_real", "finetuning_few"])
def test_the_figures_of_fine_tuning_are_those_of_the_page(name):
    """Its tables have a row for each task, and columns for each start."""
    found = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["results"]
    page, seen = (RESULTS / f"{name}.md").read_text("utf-8"), set()
    head, _, *rows = [[cell.strip(" *") for cell in line.strip("|").split("|")]
                      for line in page.splitlines() if line.startswith("|")]  # fmt: skip
    # A page may have other tables below.
    for cells in (dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)):
        task, few = cells["task"].partition(": ")[0], cells["training examples"]
        for start in ("majority baseline", "bag of words", "from scratch", "pretrained"):
            titles = f"{task}, {few} examples, {start}", f"{task}, {start}"
            if title := next((title for title in titles if title in found), None):
                one = found[title][cells["metric, %"]]
                values = [one["lowest"], one["median"], one["highest"]]
                values = values if one["seeds"] > 1 else values[:1]
                assert spread([100 * value for value in values], ".1f") == cells[start]
                seen.add(title)
    assert seen == set(found)


def test_the_page_of_the_first_token_has_the_figures_beside_it():
    """Those of the rate in its table."""
    found = json.loads((RESULTS / "finetuning_cls.json").read_text("utf-8"))["results"]
    page = (RESULTS / "finetuning_cls.md").read_text("utf-8")
    for title, result in found.items():
        values = [100 * result["accuracy"][of] for of in ("lowest", "median", "highest")]
        assert title.endswith("rate 3e-4") or spread(values, ".1f").replace("%", "") in page, title


def test_a_page_is_written_with_its_figures_beside_it(tmp_path):
    runs = [{"all": 0.5}, {"all": 0.25}, {"all": 0.75, "names": 1.0}]
    verdict = Verdict(Claim("More is better"), "reproduced", "so it is")
    page = Page("A study", {"ours": runs, "the paper only": []}, ("all",), [verdict])
    report = tmp_path / "study.md"
    assert page.write(report, "python -m study") == [report, tmp_path / "study.json"]
    assert "| ours           | 50.0% (25.0–75.0)  |" in report.read_text("utf-8")
    found = json.loads((tmp_path / "study.json").read_text("utf-8"))
    assert found["results"] == {
        "ours": {
            "all": {"median": 0.5, "lowest": 0.25, "highest": 0.75, "seeds": 3,
                    "values": [0.5, 0.25, 0.75]},
            "names": {"median": 1.0, "lowest": 1.0, "highest": 1.0, "seeds": 1, "values": [1.0]},
        }
    }  # fmt: skip
    assert found["verdicts"] == [
        {"answer": "reproduced", "claim": "More is better", "reason": "so it is"}
    ]


PROGRAM = "python -m bert_experiments.feature_based"
CALL = re.compile(r"python -m bert_experiments\.[\w.]+|benchmarks/\w+\.py")
WITHOUT_A_COMMAND = {"README.md", "d2l.md", "demo.md", "finetuning_cls.md", "grader.md",
                     "looking_inside.md", "numpy_demo.md", "wikipedia.md"}  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [page for page in sorted(RESULTS.glob("*.md")) if page.name not in WITHOUT_A_COMMAND],
    ids=lambda page: page.stem,
)
def test_a_stored_page_may_be_written_again_by_its_command_and_by_no_other(page):
    program = CALL.search(page.read_text("utf-8"))[0]
    check_report(page, program, with_picture=True)
    with pytest.raises(UserError, match="has not written it: choose another name"):
        check_report(page, "python -m bert_experiments.other", with_picture=True)


@pytest.mark.parametrize(
    "notes",
    [
        f"# Notes\n\nToday I tried `{PROGRAM}`: it is slow.\n",
        f"# Notes\n\n{PROGRAM} --seeds 3 was slow.\n",
        f"# Notes\n\nWhat I ran:\n\n```\n{PROGRAM} --seeds 3\n```\n\nIt was slow.\n",
        f"# Notes\n\n```\necho hello\n{PROGRAM}\n```\n",
        f"# Notes\n\n```\n{PROGRAM}_of_mine\n```\n",
        f"```\n{PROGRAM}\n```\n",
    ],
)
def test_notes_that_only_mention_the_command_are_not_written_over(notes, tmp_path):
    (tmp_path / "notes.md").write_text(notes)
    with pytest.raises(UserError, match=r"exists, and .* has not written it: choose another name"):
        check_report(tmp_path / "notes.md", PROGRAM, with_picture=False)


@pytest.mark.parametrize("lead", ["", "A sentence."])
def test_what_lies_beside_an_own_page_must_be_its_own_too(tmp_path, lead):
    report = tmp_path / "page.md"
    command = f"{PROGRAM} --report page.md"
    page = Page("A study", {"a": [{"x": 0.5}]}, ("x",), [], lead=lead, picture="a curve")
    page.write(report, command)
    check_report(report, PROGRAM, with_picture=True)
    report.with_suffix(".png").write_bytes(b"a photograph")
    with pytest.raises(UserError, match=r"its picture would be written over .*page\.png"):
        check_report(report, PROGRAM, with_picture=True)
    report.write_text(page.markdown(command, report.with_suffix(".png")))
    check_report(report, PROGRAM, with_picture=True)
    for content in ("{}", "no JSON", '{"command": "python -m another"}'):
        report.with_suffix(".json").write_text(content)
        with pytest.raises(UserError, match=r"its figures would be written over .*page\.json"):
            check_report(report, PROGRAM, with_picture=True)
