"""Every sentence of an exercise's page that demands something stands there; a check holds it."""

import pytest

from autograder.points import present
from bert_experiments.grader import promises


@pytest.mark.parametrize("exercise", present(), ids=[e.name for e in present()])
def test_sentences_stand_on_the_page_and_every_check_holds_one(exercise):
    assert promises.promises(exercise), "it has none"
    assert promises.problems(exercise) == []


def test_the_published_page_is_what_the_sentences_give():
    assert promises.PAGE.read_text("utf-8") == promises.page(), (
        "run: python -m bert_experiments.grader promises"
    )
