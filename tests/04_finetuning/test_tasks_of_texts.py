"""Labels, numbers and choices: what is read, what is cut, what is said, how it counts."""

import numpy as np
import pytest
import torch

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.checkpoint import init_from_scratch
from bert_finetuning.tasks.base import HeadConfig, Prediction, logits_of, truncated
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_run.config import BertConfig
from bert_run.errors import UserError

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h", ".", "cat", "dog", "sat", "on", "the", "mat"]
TOKENIZER = bert_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
CONFIG = BertConfig(
    vocab_size=5 + len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=32,
)  # fmt: skip

TEXTS = Classification(HeadConfig(("no", "maybe", "yes")), ("accuracy", "macro_f1"))
NUMBERS = Regression(HeadConfig(("score",)), ("pearson",))
CHOICES = MultipleChoice(HeadConfig(), ("accuracy",))

LABELED = [TextExample("a cat", None, "yes"), TextExample("the dog sat on the mat .", None, "no")]
SCORED = [TextExample("a", "b", 2.5), TextExample("a cat sat", "the cat", 0.0)]
CHOSEN = [Choice("a", ("b", "c d e"), 1), Choice("the cat", ("sat", "dog"), 0)]
EACH = pytest.mark.parametrize(
    "task, examples",
    [(TEXTS, LABELED), (NUMBERS, SCORED), (CHOICES, CHOSEN)],
    ids=["texts", "numbers", "choices"],
)


def tokens(ids) -> str:
    return " ".join(TOKENIZER.id_to_token(int(i)) for i in ids)


def read(task, examples, max_length=32):
    return task.encode(examples, TOKENIZER, max_length=max_length)


def model_of(task):
    return init_from_scratch(CONFIG, TOKENIZER, task.model, head=task.head, seed=3).model


def error_of(call, *args, **kwargs) -> str:
    with pytest.raises(UserError) as caught:
        call(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def truncate_as_released(a: list, b: list, room: int) -> tuple[list, list]:
    """`_truncate_seq_pair` of run_classifier.py in google-research/bert."""
    a, b = list(a), list(b)
    while len(a) + len(b) > room:
        (a if len(a) > len(b) else b).pop()
    return a, b


def test_a_pair_is_cut_as_in_the_released_code():
    for first in range(9):
        for second in range(9):
            for room in range(2, 18):
                a, b = list(range(first)), list(range(100, 100 + second))
                assert truncated(a, b, room) == truncate_as_released(a, b, room), (
                    first,
                    second,
                    room,
                )


def test_a_text_stands_between_cls_and_sep_and_its_pair_in_segment_1():
    one, two = read(TEXTS, [TextExample("a cat"), TextExample("a", "b c")])
    assert tokens(one.input_ids) == "[CLS] a cat [SEP]"
    assert one.token_type_ids == [0, 0, 0, 0]
    assert tokens(two.input_ids) == "[CLS] a [SEP] b c [SEP]"
    assert two.token_type_ids == [0, 0, 0, 1, 1, 1]


def test_what_was_cut_is_counted_in_one_line(capsys):
    features = read(
        TEXTS, [TextExample("a b"), TextExample("a b c d e f g h"), TextExample("h " * 50)],
        max_length=8,
    )  # fmt: skip
    assert [len(each.input_ids) for each in features] == [4, 8, 8]
    told = capsys.readouterr().err
    assert "2 of 3 texts are longer than 8 tokens" in told and "the first is 'a b c d" in told
    assert told.count("\n") == 1
    read(TEXTS, LABELED)
    assert capsys.readouterr().err == ""


def test_a_batch_is_padded_and_its_padding_masked():
    batch = TEXTS.collate(read(TEXTS, LABELED), pad_id=0)
    assert batch["input_ids"].shape == (2, 9)
    assert batch["attention_mask"].sum(axis=1).tolist() == [4, 9]
    assert batch["labels"].tolist() == [2, 0] and batch["labels"].dtype == np.int64
    assert TEXTS.loss_count(batch) == 2
    scores = NUMBERS.collate(read(NUMBERS, SCORED), pad_id=0)["labels"]
    assert scores.tolist() == [2.5, 0.0] and scores.dtype == np.float32


def test_texts_without_labels_have_none_in_their_batch():
    batch = TEXTS.collate(read(TEXTS, [TextExample("a"), TextExample("b")]), pad_id=0)
    assert "labels" not in batch


@EACH
def test_an_example_is_judged_alike_alone_and_beside_longer_ones(task, examples):
    model = model_of(task)
    features = read(task, examples)
    together = task.predict(examples, features, logits_of(model, task, features))
    for example, prediction in zip(examples, together, strict=True):
        own = read(task, [example])
        (alone,) = task.predict([example], own, logits_of(model, task, own))
        assert task.answer(alone) == pytest.approx(task.answer(prediction), abs=1e-5)


@EACH
def test_the_loss_of_a_batch_can_be_learned_from(task, examples):
    model = model_of(task).eval()  # without dropout the loss falls steadily
    batch = {name: torch.from_numpy(array) for name, array in
             task.collate(read(task, examples), pad_id=0).items()}  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(80):
        logits = model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
        loss = model.loss(logits, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@EACH
def test_what_is_shown_is_json_with_the_right_answer_beside(task, examples):
    import json

    for example, prediction in zip(examples, task.majority(examples, examples), strict=True):
        shown = json.loads(json.dumps(task.to_json(example, prediction)))
        assert "right" in shown


def test_a_label_comes_with_the_probability_of_each():
    (prediction,) = TEXTS.predict(LABELED[:1], [], [np.log(np.array([0.2, 0.7, 0.1]))])
    assert prediction.answer == "maybe"
    assert prediction.probabilities == pytest.approx((0.2, 0.7, 0.1))
    shown = TEXTS.to_json(LABELED[0], prediction)
    assert list(shown["probabilities"]) == ["maybe", "no", "yes"] and shown["right"] == "yes"


def test_scores_are_those_of_the_metrics_on_the_numbers_of_labels():
    said = [Prediction(label, (0.0,) * 3) for label in ("yes", "no", "maybe", "yes")]
    right = [TextExample("", None, label) for label in ("yes", "no", "no", "no")]
    scores = TEXTS.score(right, said)
    assert scores["accuracy"] == 0.5
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 0.5 + 0) / 3)


def test_the_majority_of_train_is_said_of_all_and_is_called_collapsed():
    train = [TextExample("", None, label) for label in ("no", "yes", "yes")]
    guesses = TEXTS.majority(train, LABELED)
    assert [guess.answer for guess in guesses] == ["yes", "yes"]
    assert guesses[0].probabilities == pytest.approx((1 / 3, 0, 2 / 3))
    assert TEXTS.is_collapsed([], guesses)
    assert not TEXTS.is_collapsed([], [guesses[0], Prediction("no", (1.0, 0.0, 0.0))])


def test_the_mean_of_train_is_the_guess_of_a_number_and_near_copies_are_a_collapse():
    assert NUMBERS.majority(SCORED, SCORED) == [1.25, 1.25]
    scores = NUMBERS.score(SCORED, [1.25, 1.25])
    assert scores == {"pearson": 0.0, "rmse": 1.25}
    assert NUMBERS.is_collapsed(SCORED, [2.51, 2.50, 2.52])
    assert not NUMBERS.is_collapsed(SCORED, [2.5, 2.7])
    years = [TextExample("a", None, float(year)) for year in range(1990, 2021)]  # 2% apart
    assert not NUMBERS.is_collapsed(years, [example.label for example in years])


def test_an_unknown_label_is_told_with_its_example():
    message = error_of(read, TEXTS, [*LABELED, TextExample("a", None, "perhaps")])
    assert "example 3" in message and "'perhaps'" in message and "'no', 'maybe', 'yes'" in message


def test_too_short_a_reading_is_refused():
    for task, examples in ((TEXTS, LABELED), (CHOICES, CHOSEN)):
        assert "7 tokens at once are too few: give 8 or more" in error_of(
            read, task, examples, max_length=7
        )


# MultipleChoice.


def test_each_ending_is_a_pair_with_the_beginning():
    first, _ = features = read(CHOICES, CHOSEN)
    assert [tokens(ids) for ids in first.input_ids] == [
        "[CLS] a [SEP] b [SEP]", "[CLS] a [SEP] c d e [SEP]"
    ]  # fmt: skip
    batch = CHOICES.collate(features, pad_id=0)
    assert batch["input_ids"].shape == batch["attention_mask"].shape == (2, 2, 7)
    assert batch["attention_mask"].sum(axis=2).tolist() == [[5, 7], [6, 6]]
    assert batch["labels"].tolist() == [1, 0]


def test_choices_of_different_numbers_of_endings_are_refused_in_one_line():
    message = error_of(read, CHOICES, [*CHOSEN, Choice("the mat", ("a", "b", "c"), 0)])
    assert "example 3 ('the mat') has 3 endings, the first has 2" in message


def test_the_softmax_is_over_the_endings():
    (prediction,) = CHOICES.predict(CHOSEN[:1], [], [np.log(np.array([1.0, 3.0]))])
    assert prediction.answer == 1 and prediction.probabilities == pytest.approx((0.25, 0.75))
    assert CHOICES.score(CHOSEN, [prediction, Prediction(1, (0, 1))]) == {"accuracy": 0.5}
