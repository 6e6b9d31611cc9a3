"""Windows of a text: those of `transformers`, and an answer is found again letter by letter."""

import string
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertTokenizerFast

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.data.storyworld import storyworld
from bert_finetuning.spans import TokenSpan
from bert_finetuning.tasks.question_answering import (
    Answer,
    Question,
    QuestionAnswering,
    Text,
    best_windows,
    characters_of,
    first_tokens,
    in_window,
    texts_in_tokens,
    tokens_of,
    windows_of,
)

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [*string.ascii_letters, *string.digits, *"'-.,!?$()東京é\u1112"]
JAMO = "\u1161\u11ab\u1100\u116e\u11a8"
VOCABULARY = [*SPECIAL, *LETTERS, *(f"##{x}" for x in [*LETTERS[:62], *JAMO]), "##é", "the", "ca"]
BOTH = [bert_tokenizer(VOCABULARY, lowercase=lowercase) for lowercase in (True, False)]
EACH = pytest.mark.parametrize("tokenizer", BOTH, ids=["uncased", "cased"])

# A text, and the part of it that must be found again.
HARD = [
    ("Where is the café?", "café"),
    ("The cafe\u0301 is shut.", "cafe\u0301"),  # the accent is a character of its own
    ("In e\u0301te\u0301, no.", "e\u0301te\u0301"),
    ("İstanbul was old", "İstanbul"),  # lower-cased it is one character longer
    ("it costs $5.50 now", "$5.50"),
    ("'Tis the U.S.-led one.", "U.S.-led"),
    ("he said (twice) no!", "(twice)"),
    ("東京都 is a city", "京都"),
    ("in 東京, not 京", "京"),
    ("about 한국 then", "한국"),  # three letters a character
    ("fly 👩\u200d🚀 high", "👩\u200d🚀"),
    ("we ❤\ufe0f it", "❤\ufe0f"),  # a mark that only chooses the picture
    ("a soft\u00adware thing", "soft\u00adware"),
    ("not\u00a0here  at\tall", "here  at\tall"),
    ("[CLS] is the first", "[CLS]"),
    ("all of it", "all of it"),
    ("x" * 150 + " y", "x" * 150),
    ("half \ud83d of one", "of"),
]


def question_to(context: str, answer: str, *, name: str = "1", question: str = "why?") -> Question:
    return Question(name, question, context, (Answer(answer, context.index(answer)),))


def recovered(context: str, answer: Answer, tokenizer) -> str | None:
    """The characters of the tokens that hold the answer."""
    text = texts_in_tokens([context], tokenizer)[context]
    span = tokens_of(answer, text.offsets)
    return None if span is None else context[slice(*characters_of(span, text.offsets, context))]


# --- Windows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_length, stride", [(384, 128), (32, 8), (20, 3), (24, 128), (14, 4)])
@pytest.mark.parametrize("lowercase", [True, False])
def test_windows_are_those_of_transformers(max_length, stride, lowercase):
    """Ids, segments, offsets. Their `stride` is what two windows share, ours what they do not."""
    theirs = BertTokenizerFast(
        vocab={token: i for i, token in enumerate(VOCABULARY)}, do_lower_case=lowercase
    )
    questions = [question_to(*hard) for hard in HARD[:-1]] + storyworld("questions", "train", 20)
    task = QuestionAnswering(stride=stride, max_question=4)
    ours = task.encode(questions, BOTH[not lowercase], max_length=max_length)
    for number, example in enumerate(questions):
        asked = theirs.tokenize(example.question)[:4]
        room = max_length - 3 - len(asked)
        wanted = theirs(
            theirs.convert_tokens_to_string(asked) if len(asked) == 4 else example.question,
            example.context,
            truncation="only_second",
            max_length=max_length,
            stride=room - min(stride, room // 2),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        own = [reading for reading in ours if reading.example == number]
        assert [reading.input_ids for reading in own] == wanted["input_ids"]
        assert [reading.token_type_ids for reading in own] == wanted["token_type_ids"]
        for reading, offsets in zip(own, wanted["offset_mapping"], strict=True):
            text = offsets[len(asked) + 2 : -1]
            assert reading.place.offsets.tolist() == [list(pair) for pair in text]


def test_windows_begin_as_in_the_paper_every_128_tokens():
    assert first_tokens(800, room=384 - 3 - 11, stride=128) == [0, 128, 256, 384, 512]
    assert first_tokens(371, room=370, stride=128) == [0, 128]
    assert first_tokens(370, room=370, stride=128) == first_tokens(0, room=370, stride=128) == [0]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 200), st.integers(1, 50), st.integers(1, 60))
def test_windows_leave_no_token_out_and_each_is_seen_best_once(tokens, room, stride):
    firsts = first_tokens(tokens, room=room, stride=stride)
    best = best_windows(tokens, firsts, room=room)
    assert firsts[-1] + room >= tokens and firsts[-1] <= max(0, tokens - 1)
    for token, window in enumerate(best):
        assert firsts[window] <= token < firsts[window] + room
    for before, after in pairwise(firsts):  # a border lies inside the next
        assert before < after <= before + max(1, room // 2)
    assert firsts[-1] == 0 or firsts[-2] + room < tokens  # and none is needless


def max_context_of_the_released_code(tokens, firsts, room):
    """`_check_is_max_context` of google-research/bert, run_squad.py, for every token."""
    best = []
    for position in range(tokens):
        best_score, best_span_index = None, None
        for index, start in enumerate(firsts):
            length = min(room, tokens - start)
            end = start + length - 1
            if position < start or position > end:
                continue
            score = min(position - start, end - position) + 0.01 * length
            if best_score is None or score > best_score:
                best_score, best_span_index = score, index
        best.append(best_span_index)
    return best


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 900), st.integers(40, 400), st.integers(20, 200))
def test_the_best_window_is_that_of_the_released_code(tokens, room, stride):
    firsts = first_tokens(tokens, room=room, stride=stride)
    theirs = max_context_of_the_released_code(tokens, firsts, room)
    assert best_windows(tokens, firsts, room=room).tolist() == theirs


def test_the_windows_of_a_long_text__need_memory_in_proportion_to_its_length():
    def most(tokens: int) -> int:
        """Bytes at once."""
        text = Text([0] * tokens, np.zeros((tokens, 2), np.int32))
        tracemalloc.start()
        windows_of(text, 370, stride=128)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    assert most(80_000) < 6 * most(20_000), "sixteen times as many, if each window sees all tokens"


# --- Answers -------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("context, answer", HARD)
def test_a_hard_answer_is_recovered_letter_by_letter(context, answer, tokenizer):
    assert recovered(context, Answer(answer, context.index(answer)), tokenizer) == answer


@EACH
def test_every_answer_of_storyworld_is_recovered(tokenizer):
    for example in storyworld("questions", "train", 300):
        (answer,) = example.answers
        assert recovered(example.context, answer, tokenizer) == answer.text


WORDS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1)


@settings(max_examples=300, deadline=None)
@given(WORDS, st.data(), st.sampled_from(BOTH))
def test_tokens_stand_in_the_order_of_their_characters(words, data, tokenizer):
    """What the search for an answer's tokens rests on; and they hold all that is left of it."""
    context = " ".join(words)
    offsets = texts_in_tokens([context], tokenizer)[context].offsets
    assert (np.diff(offsets, axis=0) >= 0).all() and (offsets[:, 0] < offsets[:, 1]).all()
    start = data.draw(st.integers(0, len(context) - 1))
    answer = Answer(context[start : start + 1 + data.draw(st.integers(0, 20))], start)
    span = tokens_of(answer, offsets)
    end = start + len(answer.text)
    touched = [i for i, (a, b) in enumerate(offsets) if a < end and b > start]
    assert touched == ([] if span is None else list(range(span.first, span.last + 1)))


def test_an_answer_inside_a_piece_takes_all_of_it():
    assert recovered("beneath the sea", Answer("he", 9), BOTH[0]) == "the"
    assert recovered("a \u200b b", Answer("\u200b", 2), BOTH[0]) is None


def test_only_a_window_with_all_of_the_answer_points_at_it():
    """Ten tokens, windows of four, a new one every two: c d e lies whole in the second alone."""
    context = "a b c d e f g h i j"
    (text,) = texts_in_tokens([context], BOTH[0]).values()
    windows = windows_of(text, 4, stride=2)
    span = tokens_of(Answer("d e f", 6), text.offsets)
    assert span == TokenSpan(3, 5)
    assert [in_window(span, window) for window in windows] == [None, TokenSpan(1, 3), None, None]

    task = QuestionAnswering(stride=2, max_question=1)
    features = task.encode([question_to(context, "d e f", question="?")], BOTH[0], max_length=8)
    places = [tuple(reading.targets.values()) for reading in features]
    assert places == [(0, 0), (4, 6), (0, 0), (0, 0)]
    ids = features[1].input_ids
    assert [VOCABULARY[i] for i in ids[4:7]] == ["d", "e", "f"]


def test_what_is_cut_or_lost_is_counted_in_a_line_each(capsys):
    long = question_to("a b c d", "c", question="what is this all about?")
    wide = question_to("a b c d e f g h", "b c d e f g", question="?")
    QuestionAnswering(max_question=3).encode([long, wide], BOTH[0], max_length=9)
    told = capsys.readouterr().err
    assert told.count("\n") == 2
    assert "1 of 2 questions are longer than 3 tokens" in told
    assert "1 of 2 answers lie whole in no window of 9 tokens" in told
    QuestionAnswering(max_question=3).encode(
        [question_to("a b c", "c", question="?")], BOTH[0], max_length=9
    )
    assert capsys.readouterr().err == ""
