"""`errors.md`: what is wrong of each task of answer, and where."""

import pytest

from bert_finetuning.finetune import errors_page
from bert_finetuning.tasks.base import HeadConfig, Prediction
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_finetuning.tasks.question_answering import (
    Answer,
    Candidate,
    Question,
    QuestionAnswering,
    SpanPrediction,
)
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging


def test_labels_that_are_wrong_are_listed_the_surest_first():
    task = Classification(HeadConfig(("no", "yes")), ("accuracy",))
    examples = [TextExample(f"text {n}", "a | b", "no") for n in range(3)]
    chances = [(0.9, 0.1), (0.4, 0.6), (0.2, 0.8)]
    said = [Prediction("no" if no > yes else "yes", (no, yes)) for no, yes in chances]
    page = errors_page(task, examples, said, title="t")
    assert "2 of 3 examples are answered wrongly." in page
    assert "| no | 3 | 1 | 100.0 | 33.3 | 50.0 |" in page
    assert "| yes | 0 | 2 | 0.0 | – | 0.0 |" in page
    rows = [line for line in page.splitlines() if "‖" in line]
    assert [row.split(" | ")[0] for row in rows] == ["| 3", "| 2"]
    assert r"text 2 ‖ a \| b | yes | 0.800 | no |" in rows[0]


def test_numbers_are_listed_the_furthest_off_first():
    task = Regression(HeadConfig(("score",)), ("pearson",))
    examples = [TextExample(f"text {n}", label=float(n)) for n in range(3)]
    page = errors_page(task, examples, [0.5, 1.0, 4.0], title="t")
    assert "Of 3 numbers half are off by more than 0.50." in page
    assert page.index("text 2") < page.index("text 0") < page.index("text 1")
    assert "| text 2 | 4.000 | 2.000 |" in page


def test_wrong_tags_are_marked_in_their_sentence_and_types_are_counted():
    task = Tagging(HeadConfig(("O", "B-PER", "B-LOC")), ("entity_f1",))
    examples = [TaggedSentence(("Ann", "saw", "Rome"), ("B-PER", "O", "B-LOC"))]
    said = [Prediction(("B-PER", "O", "O"), (0.9, 0.9, 0.7))]
    page = errors_page(task, examples, said, title="t")
    assert "1 of 1 examples are answered wrongly." in page
    assert "| Ann saw **Rome** | Rome: O for B-LOC |" in page
    assert "| LOC | 1 | 0 | – | 0.0 | 0.0 |" in page
    assert "| PER | 1 | 1 | 100.0 | 100.0 | 100.0 |" in page


def test_wrong_answers_are_listed_with_their_place():
    one, none = (Question("1", "who?", "Ann Lee came", (Answer("Ann Lee", 0),)),
                 Question("2", "when?", "Ann Lee came"))  # fmt: skip
    said = [SpanPrediction("Lee", 0.0, 0.1, (Candidate("Lee", 4, 0.8),)),
            SpanPrediction("", 1.0, 0.6, ())]  # fmt: skip
    page = errors_page(QuestionAnswering(has_null=True), [one, none], said, title="t")
    assert "1 of 2 examples" in page and "| 1 | who? | Lee | 4 | 0.800 | Ann Lee |" in page


def test_wrong_choices_stand_beside_the_place_of_the_right_ending():
    choices = MultipleChoice(HeadConfig(), ("accuracy",))
    page = errors_page(
        choices, [Choice("it is", ("red", "blue"), 0)], [Prediction(1, (0.3, 0.7))], title="t"
    )
    assert "| 1 | it is | 1 | blue | 0.700 | 0 |" in page


@pytest.mark.parametrize("name", ["entity", "all", "PER"])
def test_the_score_of_all_names__is_not_that_of_a_type_called_like_it(name):
    tags = ("O", f"B-{name}", f"I-{name}", "B-LOC", "I-LOC")
    task = Tagging(HeadConfig(tags), ("entity_f1",))
    sentences = [TaggedSentence(("a", "b", "c"), (f"B-{name}", "B-LOC", "O"))]
    predictions = [Prediction((f"B-{name}", "O", "O"), (0.9, 0.9, 0.9))]
    scores = task.score(sentences, predictions)
    own = f"{name}_f1_" if name == "entity" else f"{name}_f1"
    assert (scores["entity_f1"], scores[own], scores["LOC_f1"]) == (2 / 3, 1.0, 0.0)
    kind, counts = task.error_counts(sentences, predictions)
    total = "all_" if name == "all" else "all"
    assert (kind, counts[name].f1, counts[total].f1) == ("type", 1.0, 2 / 3)
