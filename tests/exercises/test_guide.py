"""The guide for assistants says what the banks, the tests and usual.toml say now."""

import pytest

from bert_experiments.grader import guide
from bert_run.errors import UserError


def test_the_page__is_what_the_banks_give():
    assert guide.PAGE.read_text("utf-8") == guide.guide(), (
        "run: python -m bert_experiments.grader guide"
    )


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"no keepdims"', '"no such mistake"', "03_softmax has no wrong answer 'no such mistake'"),
    ('"no keepdims" = 2', '"no keepdims" = 9', "no hint 9"),
    ('"no keepdims"', '"backward by logarithms"', "that a message names"),
    ("[25_capstone", "[30_none", "missing, or no exercise: 25_capstone, 30_none"),
])  # fmt: skip
def test_usual_mistakes_that_do_not_exist__are_told(monkeypatch, tmp_path, old, new, says):
    text = guide.USUAL.read_text("utf-8")
    assert old in text
    monkeypatch.setattr(guide, "USUAL", tmp_path / "usual.toml")
    guide.USUAL.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=says):
        guide.guide()
