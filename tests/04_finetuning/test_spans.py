"""From logits to answers: the right span wins, cut from the text; silence where it beats it."""

import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.data.storyworld import storyworld
from bert_finetuning.metrics import answer_f1
from bert_finetuning.spans import best_spans
from bert_finetuning.tasks.question_answering import (
    Answer,
    Candidate,
    Question,
    QuestionAnswering,
    SpanPrediction,
    answer_of,
    choose_null_threshold,
    decided,
    texts_in_tokens,
    windows_of,
)
from bert_run.errors import UserError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [*string.ascii_letters, *string.digits, *"'-.,!?$()東京"]
VOCABULARY = SPECIAL + LETTERS + [f"##{x}" for x in LETTERS[:62]] + ["the", "café"]
TOKENIZER = bert_tokenizer(VOCABULARY)
TEXT = "In Été 1998, the Cafe\u0301 (東京) won $5.50."


def gold_logits(features, *, noise: float = 0.0):
    """Start and end where they are to be found, and noise everywhere."""
    random = np.random.default_rng(0)
    logits = []
    for reading in features:
        each = random.normal(0, noise, (2, len(reading.input_ids))).astype(np.float32)
        for row, name in enumerate(("start_positions", "end_positions")):
            each[row, reading.targets[name]] += 20
        logits.append(each)
    return logits


def one_window(text: str, start: list[float], end: list[float], **options):
    """The answer from a single window, its logits [CLS] ? [SEP] text [SEP]."""
    ((window),) = windows_of(texts_in_tokens([text], TOKENIZER)[text], 100, stride=50)
    logits = np.array([start, end], np.float32)
    options = {"longest": 30, "n_best": 20, "null_threshold": None} | options
    return answer_of(text, [(window, logits)], **options)


# --- The right span ------------------------------------------------------------------------------


@pytest.mark.parametrize("max_length", [384, 64, 52])
@pytest.mark.parametrize("has_null", [False, True])
def test_gold_logits_answer_every_question(max_length, has_null):
    """Through several windows, with noise; an answer as long as `max_answer` allows."""
    questions = storyworld("questions", "train", 150)
    task = QuestionAnswering(stride=8, max_question=10, max_answer=40, has_null=has_null)
    features = task.encode(questions, TOKENIZER, max_length=max_length)
    assert (max_length == 384) == (len(features) == len(questions))
    predictions = task.predict(questions, features, gold_logits(features, noise=1.0))
    scores = task.score(questions, predictions)
    assert (scores["exact"], scores["f1"]) == (1.0, 1.0)
    for question, prediction in zip(questions, predictions, strict=True):
        assert prediction.text == question.answers[0].text
        start = prediction.candidates[0].start
        assert question.context[start:].startswith(prediction.text)


def test_the_order_of_readings_does_not_matter():
    questions = storyworld("questions", "train", 20)
    task = QuestionAnswering(stride=8, max_question=10)
    features = task.encode(questions, TOKENIZER, max_length=40)
    logits = gold_logits(features, noise=3.0)
    both = list(zip(features, logits, strict=True))
    mixed = [both[i] for i in np.random.default_rng(0).permutation(len(both))]
    said = task.predict(questions, *zip(*mixed, strict=True))
    assert [p.text for p in said] == [p.text for p in task.predict(questions, features, logits)]


@pytest.mark.parametrize(
    "answer", ["Été 1998", "Cafe\u0301", "東京", "$5.50", "(東京)", "the Cafe\u0301"]
)
def test_the_answer_is_cut_from_the_text_as_it_was_given(answer):
    """Capitals, accents, spaces and all: never put together from pieces."""
    question = Question("1", "?", TEXT, (Answer(answer, TEXT.index(answer)),))
    task = QuestionAnswering(stride=6)
    for max_length in (60, 24):
        features = task.encode([question], TOKENIZER, max_length=max_length)
        (prediction,) = task.predict([question], features, gold_logits(features))
        assert prediction.text == answer
        assert prediction.candidates[0].start == TEXT.index(answer)


SCORES = st.lists(
    st.tuples(st.integers(-99, 99), st.integers(-99, 99), st.booleans()), min_size=1, max_size=40
)


@settings(max_examples=300, deadline=None)
@given(SCORES, st.integers(1, 45), st.integers(1, 30))
def test_the_best_spans_are_the_best_of_all_spans(scores, longest, n_best):
    start, end, may_start = (np.array(column) for column in zip(*scores, strict=True))
    start, end = start.astype(np.float32), end.astype(np.float32)
    every = [
        float(start[i] + end[j])
        for i in range(len(start))
        for j in range(i, min(i + longest, len(end)))
        if may_start[i]
    ]
    found = list(best_spans(start, end, may_start, longest=longest, n_best=n_best))
    assert [score for score, _ in found] == sorted(every, reverse=True)[:n_best]
    for score, (first, last) in found:
        assert score == start[first] + end[last]
        assert may_start[first] and first <= last < first + longest


def test_a_token_counts_where_it_is_seen_best_and_nowhere_else():
    """The second window shouts "d", which stands at its border: the first sees it better."""
    context = "a b c d e f g h"
    task = QuestionAnswering(stride=3, max_question=1)
    question = Question("1", "?", context)
    features = task.encode([question], TOKENIZER, max_length=10)  # a b c d e f, d e f g h
    assert [len(reading.place.offsets) for reading in features] == [6, 5]
    logits = [np.zeros((2, len(reading.input_ids)), np.float32) for reading in features]
    logits[1][:, 3] = 9.0  # d
    logits[0][:, 4] = 5.0  # b
    (prediction,) = task.predict([question], features, logits)
    assert prediction.text == "b"
    logits[0][:, 6] = 7.0  # d
    assert task.predict([question], features, logits)[0].text == "d"


def test_neither_the_question_nor_a_separator_can_be_the_answer():
    said = one_window("a b", [9, 9, 9, 1, 0, 9], [9, 9, 9, 0, 1, 9])
    assert said.text == "a b"
    assert [each.text for each in said.candidates] == ["a b", "a", "b"]


def test_candidates_differ_and_their_probabilities_sum_to_one():
    said = one_window("a b a", [0, 0, 0, 3, 0, 1, 0], [0, 0, 0, 3, 0, 1, 0])
    texts = [each.text for each in said.candidates]
    assert texts == ["a", "a b a", "a b", "b a", "b"]
    assert said.candidates[0].start == 0  # the better of the two
    assert sum(each.probability for each in said.candidates) == pytest.approx(1)
    assert said.probability == max(each.probability for each in said.candidates)
    assert len(one_window("a b a", [0] * 7, [0] * 7, n_best=2).candidates) == 2


def test_a_text_without_tokens_has_no_answer():
    said = one_window(" \u200b", [1, 0, 0, 0], [1, 0, 0, 0])
    assert (said.text, said.candidates, said.probability) == ("", (), 1.0)


# --- No answer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("null, threshold, text", [
    (3.5, 0.0, "a"), (4.5, 0.0, ""), (4.5, 1.0, "a"), (3.5, -1.0, ""), (9.0, None, "a"),
])  # fmt: skip
def test_silence_must_beat_the_best_span_by_more_than_the_threshold(null, threshold, text):
    said = one_window("a b", [null, 0, 0, 2, 0, 0], [0, 0, 0, 2, 0, 0], null_threshold=threshold)
    assert said.text == text
    assert said.null_difference == null - 4
    total = sum(each.probability for each in said.candidates) + said.null_probability
    assert total == pytest.approx(1)
    assert (said.null_probability == 0) == (threshold is None)
    assert said.probability == (said.candidates[0].probability if text else said.null_probability)


def test_the_score_of_silence_is_its_least_over_all_windows():
    """One window that lacks the answer is sure of silence: that says nothing of the text."""
    task = QuestionAnswering(stride=3, max_question=1, has_null=True)
    question = Question("1", "?", "a b c d e f g h")
    features = task.encode([question], TOKENIZER, max_length=10)
    logits = [np.zeros((2, len(reading.input_ids)), np.float32) for reading in features]
    logits[0][:, 4], logits[1][:, 0] = 2.0, 50.0
    (prediction,) = task.predict([question], features, logits)
    assert (prediction.text, prediction.null_difference) == ("b", -4.0)


def test_a_question_without_answer_learns_silence_or_nothing():
    asked = [Question("1", "?", "a b c"), Question("2", "?", "a b c", (Answer("b", 2),))]
    silent = QuestionAnswering(has_null=True).encode(asked, TOKENIZER, max_length=10)
    assert [reading.targets["start_positions"] for reading in silent] == [0, 4]
    task = QuestionAnswering()
    features = task.encode(asked, TOKENIZER, max_length=10)
    batch = task.collate(features, pad_id=0)
    assert batch["start_positions"].tolist() == batch["end_positions"].tolist() == [7, 4]
    assert task.loss_count(batch) == 1
    unknown = task.collate(features[:1], pad_id=0)
    assert unknown["start_positions"].tolist() == [7] and task.loss_count(unknown) == 0
    assert task.majority(asked[:1], asked)[0].text == "", "nothing is known"
    with pytest.raises(UserError, match=r"a\.json: no 'answers' or 'answer' holds the answer"):
        task.adapted(asked[:1], "a.json")


def guesses(random: np.random.Generator, *, ties: bool):
    """Questions with and without an answer, and predictions that are sometimes right."""
    questions, predictions = [], []
    for number in range(int(random.integers(1, 12))):
        answers = (Answer("a b", 0),) if random.random() < 0.6 else ()
        questions.append(Question(str(number), "?", "a b c", answers))
        difference = float(random.integers(-2, 3)) if ties else float(random.normal())
        text = str(random.choice(["a b", "b c", "c"]))
        spans = (Candidate(text, 0, 1.0),)
        predictions.append(SpanPrediction(text, difference, 0.0, spans))
    return questions, predictions


@pytest.mark.parametrize("ties", [False, True])
def test_no_threshold_is_better_than_the_chosen_one(ties):
    random = np.random.default_rng(0)
    for _ in range(200):
        questions, predictions = guesses(random, ties=ties)

        def mean(threshold, questions=questions, predictions=predictions):
            said = [decided(prediction, threshold).text for prediction in predictions]
            right = [[answer.text for answer in question.answers] for question in questions]
            return np.mean([answer_f1(a, b) for a, b in zip(said, right, strict=True)])

        threshold, best = choose_null_threshold(questions, predictions)
        assert mean(threshold) == pytest.approx(best)
        borders = [prediction.null_difference for prediction in predictions]
        assert best == pytest.approx(max(map(mean, [-99, *borders])))


def find_best_thresh(preds, scores, na_probs, qid_to_has_ans):
    """The official evaluation script of SQuAD 2.0, its sweep, without percent."""
    num_no_ans = sum(1 for k in qid_to_has_ans if not qid_to_has_ans[k])
    cur_score = num_no_ans
    best_score = cur_score
    best_thresh = 0.0
    qid_list = sorted(na_probs, key=lambda k: na_probs[k])
    for qid in qid_list:
        if qid not in scores:
            continue
        diff = scores[qid] if qid_to_has_ans[qid] else -1 if preds[qid] else 0
        cur_score += diff
        if cur_score > best_score:
            best_score = cur_score
            best_thresh = na_probs[qid]
    return best_score / len(scores), best_thresh


def test_the_best_score_is_that_of_the_official_script():
    random = np.random.default_rng(1)
    for _ in range(200):
        questions, predictions = guesses(random, ties=False)
        theirs, threshold = find_best_thresh(
            {q.id: p.text for q, p in zip(questions, predictions, strict=True)},
            {q.id: answer_f1(p.text, [a.text for a in q.answers])
             for q, p in zip(questions, predictions, strict=True)},
            {q.id: p.null_difference for q, p in zip(questions, predictions, strict=True)},
            {q.id: bool(q.answers) for q in questions},
        )  # fmt: skip
        own_threshold, best = choose_null_threshold(questions, predictions)
        assert best == pytest.approx(theirs)
        assert threshold == 0.0 or all(
            decided(each, own_threshold) == decided(each, threshold) for each in predictions
        )


def test_a_tuned_kind_decides_with_the_best_threshold():
    questions = [Question("1", "?", "x b", (Answer("x", 0),)), Question("2", "?", "x b")]
    predictions = [
        SpanPrediction("", 3.0, 0.5, (Candidate("x", 0, 0.5),)),
        SpanPrediction("", 5.0, 0.5, (Candidate("b", 2, 0.5),)),
    ]
    task = QuestionAnswering(has_null=True)
    scores = task.score(questions, predictions)
    assert scores["f1"] == 0.5 and choose_null_threshold(questions, predictions) == (4.0, 1.0)
    tuned, answers = task.tuned(questions, predictions)
    assert tuned.null_threshold == 4.0  # in the middle: no rounding turns either answer
    assert [each.text for each in answers] == ["x", ""]
    assert QuestionAnswering().tuned(questions, predictions) == (QuestionAnswering(), predictions)
