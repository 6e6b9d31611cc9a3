"""Tags and spans as kinds of task: read, batch, learn, predict, score, show."""

import json
import string

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.data.storyworld import NAME_TAGS, storyworld
from bert_finetuning.tasks.base import IGNORED, HeadConfig, Prediction
from bert_finetuning.tasks.question_answering import Answer, Question, QuestionAnswering
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging
from bert_run.config import BertConfig
from bert_run.errors import UserError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [*string.ascii_letters, *string.digits, *"'-.,!?$()東京"]
VOCABULARY = SPECIAL + LETTERS + [f"##{x}" for x in LETTERS[:62]] + ["the"]
TOKENIZER = bert_tokenizer(VOCABULARY)
CONFIG = BertConfig(
    vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=16, max_position_embeddings=64,
)  # fmt: skip
NAMES = Tagging(HeadConfig(NAME_TAGS), ("entity_f1",))
SPEECH = Tagging(HeadConfig(("NOUN", "VERB")), ("accuracy",))
ADA = TaggedSentence(("Ada", "met", "José", "de", "Haan", "."),
                     ("B-PER", "O", "B-PER", "I-PER", "I-PER", "O"))  # fmt: skip


def gold_logits(features, labels: int):
    """Logits that say at each answering token what is right; elsewhere label 0."""
    logits = []
    for reading in features:
        each = np.zeros((len(reading.input_ids), labels), np.float32)
        for token, label in enumerate(reading.targets["labels"]):
            each[token, max(label, 0)] = 5
        logits.append(each)
    return logits


def error_of(act) -> str:
    with pytest.raises(UserError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- Tagging -------------------------------------------------------------------------------------

HARD = ["naïve", "e\u0301", "\u0301", "\u200b", "👩\u200d🚀", "don't", "東京", "", "…", "한국",
        "antidisestablishment"]  # fmt: skip
WORD = st.one_of(st.sampled_from(HARD), st.text(max_size=10))
TAGGED = st.lists(st.tuples(WORD, st.sampled_from(NAME_TAGS)), max_size=15)


@settings(max_examples=200, deadline=None)
@given(st.lists(TAGGED, max_size=4), st.integers(8, 20))
def test_every_word_gets_its_own_tag_back(sentences, max_length):
    """Accents, marks, emoji, unknown characters, sentences and words longer than the model."""
    examples = [
        TaggedSentence(tuple(word for word, _ in pairs), tuple(tag for _, tag in pairs))
        for pairs in sentences
    ]
    features = NAMES.encode(examples, TOKENIZER, max_length=max_length)
    assert all(len(reading.input_ids) <= max_length for reading in features)
    predictions = NAMES.predict(examples, features, gold_logits(features, len(NAME_TAGS)))
    assert [each.answer for each in predictions] == [example.tags for example in examples]
    assert all(each.probabilities == pytest.approx([0.961145] * len(each.answer), abs=1e-4)
               for each in predictions)  # e⁵ / (e⁵ + 6)  # fmt: skip


def test_the_first_piece_is_labeled_and_nothing_else():
    (reading,) = NAMES.encode([ADA], TOKENIZER, max_length=40)
    labeled = [
        (VOCABULARY[token], NAME_TAGS[label])
        for token, label in zip(reading.input_ids, reading.targets["labels"], strict=True)
        if label != IGNORED
    ]
    assert labeled == list(zip("amjdh.", ADA.tags, strict=True))
    assert reading.targets["labels"][0] == reading.targets["labels"][-1] == IGNORED


def test_no_word_is_lost_by_length_and_what_is_cut_is_counted(capsys):
    long = TaggedSentence(("ab", "cd", "e" * 20, "fg", "h"), ("O", "B-PER", "O", "B-LOC", "O"))
    features = NAMES.encode([ADA, long], TOKENIZER, max_length=20)
    assert capsys.readouterr().err == (
        "note: 1 of 2 sentences are longer than 20 tokens and are read in parts, cut between "
        "words; the first is 'ab cd eeeeeeeeeeeeeeeeeeee fg h'\n"
    )
    assert [len(reading.input_ids) for reading in features if reading.example == 1] == [6, 20, 5]
    said = NAMES.predict([ADA, long], features, gold_logits(features, len(NAME_TAGS)))
    assert said[1].answer == long.tags
    NAMES.encode([ADA], TOKENIZER, max_length=40)
    assert capsys.readouterr().err == ""


def test_a_sentence_without_words_has_no_tags():
    nothing = TaggedSentence(())
    features = NAMES.encode([nothing, ADA], TOKENIZER, max_length=40)
    assert [reading.example for reading in features] == [1]
    said = NAMES.predict([nothing, ADA], features, gold_logits(features, len(NAME_TAGS)))
    assert said[0] == Prediction((), ())


def test_wrong_tags_are_told_in_one_line():
    def read(words, tags):
        return lambda: NAMES.encode([ADA, TaggedSentence(words, tags)], TOKENIZER, max_length=40)

    assert error_of(read(("a", "b"), ("O",))) == (
        "sentence 2, 'a b', has 2 words and 1 tags: each word needs one"
    )
    told = error_of(read(("a", "b"), ("O", "B-DOG")))
    assert told.startswith("example 2: the tag is 'B-DOG', not one of 'O', ")
    told = error_of(lambda: Tagging(HeadConfig(("NOUN", "VERB")), ("entity_f1",)))
    assert told.startswith("the tag 'NOUN' names no entity")
    assert "choose" in error_of(lambda: Tagging(HeadConfig(("O",)), ("f1",)))


def test_names_are_scored_by_entity_all_together_and_by_type():
    half = Prediction(("B-PER", "O", "B-PER", "O", "O", "B-LOC"), (0.9,) * 6)
    scores = NAMES.score([ADA], [half])
    assert next(iter(scores)) == "entity_f1"
    assert scores["entity_f1"] == pytest.approx(2 * 1 / (3 + 2))  # Ada found; José, and a place
    assert (scores["precision"], scores["recall"]) == (pytest.approx(1 / 3), 0.5)
    assert scores["PER_f1"] == 0.5 and scores["PER_support"] == 2 and scores["LOC_f1"] == 0
    assert scores["accuracy"] == 0.5
    verbs = TaggedSentence(("a", "b"), ("NOUN", "VERB"))
    assert SPEECH.score([verbs], [Prediction(("NOUN", "NOUN"), (1, 1))]) == {"accuracy": 0.5}


def test_the_commonest_tag_finds_no_name():
    train = storyworld("names", "train", 50)
    said = NAMES.majority(train, [ADA])
    assert said[0].answer == ("O",) * 6 and 0.5 < said[0].probabilities[0] < 1
    scores = NAMES.score([ADA], said)
    assert (scores["entity_f1"], scores["accuracy"]) == (0, pytest.approx(2 / 6))


def test_a_run_that_tags_all_alike_is_collapsed():
    """Whatever the lengths of the sentences."""
    alike = [Prediction(("O",) * size, (0.9,) * size) for size in (2, 3)]
    assert NAMES.is_collapsed([], alike)
    assert not NAMES.is_collapsed([], [*alike, Prediction(("O", "B-PER"), (0.9, 0.9))])


def test_a_sentence_is_shown_with_its_names():
    said = Prediction(ADA.tags, (0.9, 0.8, 0.7, 0.6, 0.5, 0.4))
    shown = json.loads(json.dumps(NAMES.to_json(ADA, said)))
    assert shown["words"] == list(ADA.words) and shown["right"] == list(ADA.tags)
    assert shown["entities"] == [
        {"type": "PER", "text": "Ada", "words": [0, 1], "probability": 0.9},
        {"type": "PER", "text": "José de Haan", "words": [2, 5], "probability": 0.5},
    ]
    assert "right" not in NAMES.to_json(TaggedSentence(ADA.words), said)


# --- Both, through the model ---------------------------------------------------------------------


@pytest.mark.parametrize("task, examples", [
    (NAMES, storyworld("names", "train", 8)),
    (QuestionAnswering(stride=8, max_question=12), storyworld("questions", "train", 8)),
])  # fmt: skip
def test_a_model_learns_from_the_batch_and_its_loss_is_the_mean_over_all_answers(task, examples):
    """Of spans only without padding, which takes part in their softmax, as in the released code."""
    torch.manual_seed(0)
    model = task.model(CONFIG, task.head).eval()
    features = task.encode(examples, TOKENIZER, max_length=48)
    if isinstance(task, QuestionAnswering):
        features = [reading for reading in features if len(reading.input_ids) == 48]

    def run(some):
        arrays = task.collate(some, pad_id=0)
        assert all(array.dtype == np.int64 for array in arrays.values())
        batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
        inputs = ("input_ids", "token_type_ids", "attention_mask")
        return model.loss(model(*(batch[name] for name in inputs)), batch), task.loss_count(arrays)

    together, count = run(features)
    each = [run([reading]) for reading in features]
    assert count == sum(own for _, own in each) > 0
    mean = sum(loss * own for loss, own in each) / count
    torch.testing.assert_close(together, mean)
    together.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in list(model.parameters())[-2:])


def test_what_has_no_answers_makes_a_batch_without_any():
    words = [TaggedSentence(ADA.words)]
    batch = NAMES.collate(NAMES.encode(words, TOKENIZER, max_length=40), pad_id=0)
    assert set(batch) == {"input_ids", "token_type_ids", "attention_mask"}


# --- Question answering --------------------------------------------------------------------------


def asked(name: str, answer: str = "", context: str = "a b c") -> Question:
    answers = (Answer(answer, context.index(answer)),) if answer else ()
    return Question(name, "which?", context, answers)


def test_the_commonest_answer_or_silence_is_what_must_be_beaten():
    train = [asked("1", "b"), asked("2", "b"), asked("3", "c"), *map(asked, "456")]
    (said,) = QuestionAnswering().majority(train, [asked("7", "b", "xb")])
    assert (said.text, said.candidates[0].start) == ("b", 1)
    assert said.probability == pytest.approx(2 / 3)
    (said,) = QuestionAnswering(has_null=True).majority(train, [asked("7", "b")])
    assert (said.text, said.probability) == ("", 0.5)
    json.dumps(QuestionAnswering(has_null=True).score([asked("7", "b"), asked("8")], [said] * 2),
               allow_nan=False)  # fmt: skip


def test_an_answer_is_shown_with_its_place_and_the_next_best():
    task = QuestionAnswering(has_null=True)
    features = task.encode([asked("1", "b")], TOKENIZER, max_length=20)
    logits = np.zeros((2, len(features[0].input_ids)), np.float32)
    logits[:, -3] = 4
    (said,) = task.predict([asked("1", "b")], features, [logits])
    shown = json.loads(json.dumps(task.to_json(asked("1", "b"), said)))
    assert (shown["answer"], shown["start"], shown["right"]) == ("b", 2, ["b"])
    assert shown["candidates"][0]["answer"] == "b"
    assert len(shown["candidates"]) == 5 and shown["null_difference"] == -8
    silent = task.to_json(asked("1"), task.majority([asked("1")], [asked("1")])[0])
    assert (silent["answer"], silent["start"]) == ("", None) and "right" not in silent


def test_all_alike_is_collapsed_and_bad_settings_are_told():
    task = QuestionAnswering(has_null=True)
    silent = task.majority([asked("1")], [asked("1"), asked("2")])
    assert task.is_collapsed([], silent)
    assert "stride is 0: it must be a whole number from 1" in error_of(
        lambda: QuestionAnswering(stride=0)
    )
    assert "choose" in error_of(lambda: QuestionAnswering(metrics=("accuracy",)))
