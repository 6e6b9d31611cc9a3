"""Reports of ablations read back, as the notebooks do."""

from pathlib import Path

import pytest

from bert_experiments.ablations.reading import spread_in, table_in, verdicts_in
from bert_run.errors import UserError

REPORT = """# Table 5

|        | words found         | perplexity |
|--------|---------------------|------------|
| no NSP | 41.2% (36.2–54.2)   | –          |
| both   | 21.0%               | 5.80       |

- **not reproduced**: Both sides beat one, for words inside a text; here: fine-
  tuning. → no NSP 41.2% against
  21.0%
- **reproduced**: More steps help. → yes
"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.md"
    path.write_text(REPORT, encoding="utf-8")
    return path


def test_the_table_of_a_report_comes_back_cell_by_cell(report):
    columns, rows = table_in(report)
    assert columns == ["", "words found", "perplexity"]
    assert rows == [["no NSP", "41.2% (36.2–54.2)", "–"], ["both", "21.0%", "5.80"]]


def test_a_cell_is_a_median_with_its_spread():
    assert spread_in("41.2% (36.2–54.2)") == (41.2, 36.2, 54.2)
    assert spread_in("5.80") == (5.8, 5.8, 5.8)
    assert spread_in("–") is None


def test_every_verdict_comes_back_with_its_claim_in_one_line(report):
    assert verdicts_in(report) == [
        ("not reproduced", "Both sides beat one, for words inside a text; here: fine-tuning."),
        ("reproduced", "More steps help."),
    ]


def test_a_report_that_is_not_there_is_named_with_the_command_that_writes_it(tmp_path):
    with pytest.raises(UserError, match=r"python -m bert_experiments\.ablations"):
        table_in(tmp_path / "table5.md")


def test_the_reports_of_the_course_can_be_read_back():
    results = Path(__file__).parents[2] / "results"
    for name in ("table5", "table8", "figure5"):
        columns, rows = table_in(results / f"ablations_{name}.md")
        assert all(len(row) == len(columns) for row in rows)
        assert verdicts_in(results / f"ablations_{name}.md")
