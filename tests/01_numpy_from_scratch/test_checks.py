"""A wrong array is named at the door, in one line: its name, the value, the way out."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bert_numpy
from bert_numpy.checks import check_batch, check_weights
from bert_numpy.model import losses_and_gradients
from bert_run.config import Weights
from bert_run.errors import UserError

Arrays = dict[str, np.ndarray]
Change = Callable[[Arrays], None]

# `small_bert` has 17 words, 8 positions, 3 segments; the batch has 5 rows, 8 tokens, 2 masks a row.
WORDS = "bert.embeddings.word_embeddings.weight"
BIAS = "bert.pooler.dense.bias"


def put(name: str, place: tuple[int, ...], value: float) -> Change:
    """One entry is replaced."""

    def change(arrays: Arrays) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def make(name: str, new: Callable) -> Change:
    """The array is replaced by what `new` makes of it."""
    return lambda arrays: arrays.update({name: new(arrays[name])})


def drop(name: str) -> Change:
    def change(arrays: Arrays) -> None:
        del arrays[name]

    return change


def pad_position(arrays: Arrays) -> None:
    """Row 0 asks for its last token, which is padding."""
    assert arrays["attention_mask"][0, 7] == 0
    put("masked_lm_positions", (0, 0), 7)(arrays)


def no_rows(arrays: Arrays) -> None:
    arrays.update({name: array[:0] for name, array in arrays.items()})


def no_tokens(arrays: Arrays) -> None:
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        arrays[name] = arrays[name][:, :0]


def longer_rows(arrays: Arrays) -> None:
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        arrays[name] = np.pad(arrays[name], ((0, 0), (0, 1)), mode="edge")


# What is wrong: how it comes about, and what the message must hold.
BAD_BATCHES: dict[str, tuple[Change, list[str]]] = {
    "a negative id": (
        put("input_ids", (1, 2), -1),
        ["input_ids[1, 2]", "token id -1", "vocabulary (17 entries)", "another tokenizer?"],
    ),
    "an id as large as the vocabulary": (
        put("input_ids", (4, 0), 17),
        ["input_ids[4, 0]", "token id 17", "vocabulary (17 entries)", "another tokenizer?"],
    ),
    "a negative segment": (
        put("token_type_ids", (0, 0), -1),
        ["token_type_ids[0, 0]", "segment -1", "3 entries", "0 is the first sentence"],
    ),
    "a segment too many": (
        put("token_type_ids", (2, 3), 3),
        ["token_type_ids[2, 3]", "segment 3", "3 entries", "0 is the first sentence"],
    ),
    "a mask that is neither 0 nor 1": (
        put("attention_mask", (3, 1), 2),
        ["attention_mask[3, 1]", "value 2", "1 is a token, 0 is padding"],
    ),
    "a mask to be added to the scores": (
        make("attention_mask", lambda a: (1 - a) * -10000),
        ["attention_mask[0, ", "value -10000", "1 is a token, 0 is padding"],
    ),
    "labels of -100": (
        put("masked_lm_ids", (0, 1), -100),
        ["masked_lm_ids[0, 1]", "label -100", "hold 0 and have weight 0, not -100"],
    ),
    "a label as large as the vocabulary": (
        put("masked_lm_ids", (1, 0), 17),
        ["masked_lm_ids[1, 0]", "label 17", "vocabulary (17 entries)"],
    ),
    "a negative class of pairs": (
        put("next_sentence_labels", (2,), -100),
        ["next_sentence_labels[2]", "label -100", "0 is the next sentence, 1 a random one"],
    ),
    "a third class of pairs": (
        put("next_sentence_labels", (4,), 2),
        ["next_sentence_labels[4]", "label 2", "0 is the next sentence, 1 a random one"],
    ),
    "a masked position behind the row": (
        put("masked_lm_positions", (0, 1), 8),
        ["masked_lm_positions[0, 1]", "position 8", "8 entries", "count from 0"],
    ),
    "a negative masked position": (
        put("masked_lm_positions", (3, 0), -1),
        ["masked_lm_positions[3, 0]", "position -1", "8 entries", "count from 0"],
    ),
    "a masked position on padding": (
        pad_position,
        ["masked_lm_positions[0, 0] is 7", "padding", "give unused slots weight 0"],
    ),
    "no mask at all": (
        make("masked_lm_weights", np.zeros_like),
        ["masked_lm_weights", "all 0", "no token is asked for"],
    ),
    "a negative weight": (
        put("masked_lm_weights", (1, 1), -2),
        ["masked_lm_weights", "-2", "0 or more"],
    ),
    "a weight that is not a number": (
        put("masked_lm_weights", (1, 1), float("nan")),
        ["masked_lm_weights", "nan", "0 or more"],
    ),
    "an infinite weight": (
        put("masked_lm_weights", (1, 1), float("inf")),
        ["masked_lm_weights", "inf", "0 or more"],
    ),
    "weights of float16": (
        make("masked_lm_weights", lambda a: a.astype(np.float16)),
        ["masked_lm_weights is float16", "float32 or float64"],
    ),
    "weights that are whole numbers": (
        make("masked_lm_weights", lambda a: a.astype(np.int64)),
        ["masked_lm_weights is int64", "float32 or float64"],
    ),
    "ids that are floating point numbers": (
        make("input_ids", lambda a: a.astype(np.float64)),
        ["input_ids is float64", "int64"],
    ),
    "ids that are truths": (
        make("input_ids", lambda a: a > 3),
        ["input_ids is bool", "int64"],
    ),
    "segments that are truths": (
        make("token_type_ids", lambda a: a > 0),
        ["token_type_ids is bool", "int64"],
    ),
    "a list of ids": (
        make("input_ids", np.ndarray.tolist),
        ["input_ids is list", "not a NumPy array: int64"],
    ),
    "a list of weights": (
        make("masked_lm_weights", np.ndarray.tolist),
        ["masked_lm_weights is list", "not a NumPy array: float32"],
    ),
    "a list of classes": (
        make("next_sentence_labels", np.ndarray.tolist),
        ["next_sentence_labels is list", "not a NumPy array: int64"],
    ),
    "one row without a batch": (
        make("input_ids", lambda a: a[0]),
        ["input_ids has shape (8,)", "(batch, seq) is needed"],
    ),
    "no rows": (no_rows, ["input_ids has shape (0, 8)", "neither empty"]),
    "no tokens": (no_tokens, ["input_ids has shape (5, 0)", "neither empty"]),
    "rows longer than the model's positions": (
        longer_rows,
        ["input_ids has rows of 9 tokens", "8 positions", "shorten them"],
    ),
    "segments of other rows": (
        make("token_type_ids", lambda a: a[:, :7]),
        ["token_type_ids has shape (5, 7)", "(5, 8) is needed"],
    ),
    "a mask of other rows": (
        make("attention_mask", lambda a: a[:4]),
        ["attention_mask has shape (4, 8)", "(5, 8) is needed"],
    ),
    "masked positions in one list": (
        make("masked_lm_positions", np.ravel),
        ["masked_lm_positions has shape (10,)", "(5, masks) is needed"],
    ),
    "masked positions of fewer rows": (
        make("masked_lm_positions", lambda a: a[:4]),
        ["masked_lm_positions has shape (4, 2)", "(5, masks) is needed"],
    ),
    "labels for other slots": (
        make("masked_lm_ids", lambda a: a[:, :1]),
        ["masked_lm_ids has shape (5, 1)", "(5, 2) is needed"],
    ),
    "weights of other slots": (
        make("masked_lm_weights", np.transpose),
        ["masked_lm_weights has shape (2, 5)", "(5, 2) is needed"],
    ),
    "classes in a column": (
        make("next_sentence_labels", lambda a: a[:, None]),
        ["next_sentence_labels has shape (5, 1)", "(5,) is needed"],
    ),
    **{
        f"no {name}": (drop(name), [f"lacks {name}", "it has "])
        for name in ("input_ids", "token_type_ids", "attention_mask", "masked_lm_positions",
                     "masked_lm_ids", "masked_lm_weights", "next_sentence_labels")
    },
    "nothing": (dict.clear, ["lacks input_ids", "it has nothing"]),
}  # fmt: skip

BAD_WEIGHTS: dict[str, tuple[Change, list[str]]] = {
    "a parameter that is not there": (drop(BIAS), [f"lack {BIAS}", "another config?"]),
    "a head that is not there": (
        drop("cls.predictions.bias"),
        ["lack cls.predictions.bias", "another config?"],
    ),
    "a matrix on its side": (
        make("bert.encoder.layer.1.intermediate.dense.weight", np.transpose),
        ["bert.encoder.layer.1.intermediate.dense.weight has shape (9, 7)", "asks for (7, 9)"],
    ),
    "another vocabulary": (
        make(WORDS, lambda a: a[:16]),
        [f"{WORDS} has shape (16, 9)", "asks for (17, 9)"],
    ),
    "float16": (
        make(BIAS, lambda a: a.astype(np.float16)),
        [f"{BIAS} is float16", "use float32 or float64"],
    ),
    "whole numbers": (
        make(BIAS, lambda a: a.astype(np.int64)),
        [f"{BIAS} is int64", "use float32 or float64"],
    ),
    "two types": (
        make(BIAS, lambda a: a.astype(np.float32)),
        ["partly float32 and partly float64", "take one type"],
    ),
    "a list": (make(BIAS, np.ndarray.tolist), [f"{BIAS} is list", "NumPy"]),
}


def error_of(bert, batch: Arrays) -> str:
    """The message, from a call that must fail before any math."""

    def nothing_is_computed(name: str, array: np.ndarray) -> None:
        raise AssertionError(f"{name} was computed before the arrays were looked at")

    with pytest.raises(UserError) as caught:
        losses_and_gradients(replace(bert, watch=nothing_is_computed), batch)
    assert type(caught.value) is UserError
    return str(caught.value)


def assert_is_helpful(message: str, parts: list[str]) -> None:
    assert "\n" not in message
    assert len(message) < 200, "one line of a terminal, or two"
    for part in parts:
        assert part in message, f"{part!r} is not in {message!r}"


@pytest.fixture
def good_batch(random_batch, small_bert) -> Arrays:
    return random_batch(small_bert().config, seq=8, masks=2)


@pytest.mark.parametrize("wrong", BAD_BATCHES)
def test_a_wrong_batch_is_told_in_one_line(wrong, small_bert, good_batch, shapes_unchecked):
    change, parts = BAD_BATCHES[wrong]
    change(good_batch)
    assert_is_helpful(error_of(small_bert(), good_batch), parts)


@pytest.mark.parametrize("wrong", BAD_WEIGHTS)
def test_wrong_weights_are_told_in_one_line(wrong, small_bert, good_batch, shapes_unchecked):
    change, parts = BAD_WEIGHTS[wrong]
    bert = small_bert()
    change(bert.weights)
    assert_is_helpful(error_of(bert, good_batch), parts)


def test_weights_that_are_all_float16_are_refused_too(small_bert, good_batch, shapes_unchecked):
    bert = small_bert()
    halves: Weights = {name: array.astype(np.float16) for name, array in bert.weights.items()}
    assert_is_helpful(
        error_of(replace(bert, weights=halves), good_batch),
        [f"{WORDS} is float16", "use float32 or float64"],
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_good_batch_passes_up_to_the_very_ends_of_every_range(dtype, small_bert, random_batch):
    """The last word, segment, position, class; a row without padding; unused slots on padding."""
    bert = small_bert(dtype)
    batch = random_batch(bert.config, dtype, seq=8, masks=2)
    put("input_ids", (0, 3), 16)(batch)
    put("token_type_ids", (0, 3), 2)(batch)
    put("masked_lm_ids", (0, 0), 16)(batch)
    batch["attention_mask"][1] = 1
    put("masked_lm_positions", (1, 0), 7)(batch)
    assert batch["masked_lm_weights"][0, 1] == 0
    assert batch["attention_mask"][0, 7] == 0
    put("masked_lm_positions", (0, 1), 7)(batch)
    check_weights(bert.weights, bert.config)
    check_batch(batch, bert.config)
    losses, gradients = losses_and_gradients(bert, batch)
    assert np.isfinite(losses.total)
    assert gradients.of.keys() == bert.weights.keys()


@pytest.mark.parametrize("dtype", [np.int32, np.uint16, np.uint64])
def test_whole_numbers_of_every_type_give_the_same_losses(
    dtype, small_bert, good_batch, shapes_unchecked
):
    """The checks let unsigned ones pass, so they must work."""
    bert = small_bert()
    other = {name: array.astype(dtype) if array.dtype == np.int64 else array
             for name, array in good_batch.items()}  # fmt: skip
    (losses, gradients), (others, other_gradients) = (
        losses_and_gradients(bert, batch) for batch in (good_batch, other)
    )
    assert losses == others
    for name, gradient in gradients.of.items():
        assert np.array_equal(gradient, other_gradients.of[name]), name


def test_a_mask_of_truths_is_as_good_as_one_of_numbers(small_bert, good_batch, shapes_unchecked):
    truths = {**good_batch, "attention_mask": good_batch["attention_mask"] == 1}
    bert = small_bert()
    assert losses_and_gradients(bert, truths)[0] == losses_and_gradients(bert, good_batch)[0]


# --- Short enough to be read ---

FILES = sorted(Path(bert_numpy.__file__).parent.glob("*.py"))


def functions(path: Path) -> dict[str, int]:
    """Every function of a file, and how many lines it has with its signature and docstring."""
    return {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_has_more_than_300_lines_and_no_function_more_than_50(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
    long = {name: lines for name, lines in functions(path).items() if lines > 50}
    assert not long, f"{path.name}: {long}"


def test_a_layer_and_its_backward_fit_one_screen_together():
    """Forty lines, half a page."""
    lines = functions(Path(bert_numpy.__file__).parent / "encoder.py")
    assert lines["layer_forward"] + lines["layer_backward"] <= 40
