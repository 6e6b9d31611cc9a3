"""A wrong tensor is named at the door, in one line: its name, the value, the way out."""

import ast
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import bert_lowlevel
from bert_lowlevel import pretrain as command
from bert_lowlevel.checks import check
from bert_lowlevel.model import Bert, TensorBatch, logits, pretraining_losses, to_tensors
from bert_lowlevel.training import Task
from bert_run.config import BertConfig
from bert_run.errors import UserError

Tensors = dict[str, Tensor]
Change = Callable[[Tensors], None]

WORDS = "bert.embeddings.word_embeddings.weight"
BIAS = "bert.pooler.dense.bias"

# The batch has 5 rows, 8 tokens, 2 masks a row.
CONFIG = BertConfig(
    vocab_size=17, hidden_size=9, num_attention_heads=3, num_hidden_layers=2, intermediate_size=7,
    max_position_embeddings=8, type_vocab_size=3,
)  # fmt: skip


@pytest.fixture
def bert(random_weights) -> Bert:
    return Bert(CONFIG, to_tensors(random_weights(CONFIG, np.float32)))


@pytest.fixture
def batch(random_batch, tensors) -> TensorBatch:
    return tensors(random_batch(CONFIG, np.float32, seq=8, masks=2))


def put(name: str, place: tuple[int, ...], value: float) -> Change:
    """One entry is replaced."""

    def change(tensors: Tensors) -> None:
        tensors[name] = tensors[name].detach().clone()
        tensors[name][place] = value

    return change


def make(name: str, new: Callable) -> Change:
    """The tensor is replaced by what `new` makes of it."""
    return lambda tensors: tensors.update({name: new(tensors[name].detach())})


def drop(name: str) -> Change:
    def change(tensors: Tensors) -> None:
        del tensors[name]

    return change


def pad_position(tensors: Tensors) -> None:
    """Row 0 asks for its last token, which is padding."""
    assert tensors["attention_mask"][0, 7] == 0
    put("masked_lm_positions", (0, 0), 7)(tensors)


def no_rows(tensors: Tensors) -> None:
    tensors.update({name: tensor[:0] for name, tensor in tensors.items()})


def of_tokens(new: Callable) -> Change:
    names = ("input_ids", "token_type_ids", "attention_mask")
    return lambda tensors: tensors.update({name: new(tensors[name]) for name in names})


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
        make("attention_mask", lambda t: (1 - t) * -10000),
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
        make("masked_lm_weights", torch.zeros_like),
        ["masked_lm_weights", "all 0", "no token is asked for"],
    ),
    "a negative weight": (
        put("masked_lm_weights", (1, 1), -2),
        ["masked_lm_weights[1, 1] is -2", "0 or more"],
    ),
    "a weight that is not a number": (
        put("masked_lm_weights", (1, 1), float("nan")),
        ["masked_lm_weights[1, 1] is nan", "0 or more"],
    ),
    "an infinite weight": (
        put("masked_lm_weights", (1, 1), float("inf")),
        ["masked_lm_weights[1, 1] is inf", "0 or more"],
    ),
    "weights of float16": (
        make("masked_lm_weights", Tensor.half),
        ["masked_lm_weights is float16", "float32 or float64"],
    ),
    "weights that are whole numbers": (
        make("masked_lm_weights", Tensor.long),
        ["masked_lm_weights is int64", "float32 or float64"],
    ),
    "ids that are floating point numbers": (
        make("input_ids", Tensor.float),
        ["input_ids is float32", "int64 is needed"],
    ),
    "positions of 32 bits, which gather does not take": (
        make("masked_lm_positions", Tensor.int),
        ["masked_lm_positions is int32", "int64 is needed"],
    ),
    "segments that are truths": (
        make("token_type_ids", Tensor.bool),
        ["token_type_ids is bool", "int64 is needed"],
    ),
    "a mask that is a floating point number": (
        make("attention_mask", Tensor.float),
        ["attention_mask is float32", "int64 or int32 or bool"],
    ),
    "an array": (
        make("input_ids", Tensor.numpy),
        ["input_ids is ndarray", "not a tensor", "to_device"],
    ),
    "a list of classes": (
        make("next_sentence_labels", Tensor.tolist),
        ["next_sentence_labels is list", "not a tensor"],
    ),
    "a tensor on another device": (
        make("masked_lm_ids", lambda t: t.to("meta")),
        ["masked_lm_ids is on meta, input_ids is on cpu", "one device"],
    ),
    "one row without a batch": (
        make("input_ids", lambda t: t[0]),
        ["input_ids has shape (8,)", "(batch, seq) is needed"],
    ),
    "no rows": (no_rows, ["input_ids has shape (0, 8)", "neither empty"]),
    "no tokens": (
        of_tokens(lambda t: t[:, :0]),
        ["input_ids has shape (5, 0)", "neither empty"],
    ),
    "rows longer than the model's positions": (
        of_tokens(lambda t: torch.cat([t, t[:, :1]], dim=1)),
        ["input_ids has rows of 9 tokens", "8 positions", "shorten them"],
    ),
    "segments of other rows": (
        make("token_type_ids", lambda t: t[:, :7]),
        ["token_type_ids has shape (5, 7)", "(5, 8) is needed"],
    ),
    "a mask of other rows": (
        make("attention_mask", lambda t: t[:4]),
        ["attention_mask has shape (4, 8)", "(5, 8) is needed"],
    ),
    "masked positions in one list": (
        make("masked_lm_positions", Tensor.flatten),
        ["masked_lm_positions has shape (10,)", "(5, masks) is needed"],
    ),
    "masked positions of fewer rows": (
        make("masked_lm_positions", lambda t: t[:4]),
        ["masked_lm_positions has shape (4, 2)", "(5, masks) is needed"],
    ),
    "labels for other slots": (
        make("masked_lm_ids", lambda t: t[:, :1]),
        ["masked_lm_ids has shape (5, 1)", "(5, 2) is needed"],
    ),
    "weights of other slots": (
        make("masked_lm_weights", Tensor.t),
        ["masked_lm_weights has shape (2, 5)", "(5, 2) is needed"],
    ),
    "classes in a column": (
        make("next_sentence_labels", lambda t: t[:, None]),
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
        make("bert.encoder.layer.1.intermediate.dense.weight", Tensor.t),
        ["bert.encoder.layer.1.intermediate.dense.weight has shape (9, 7)", "asks for (7, 9)"],
    ),
    "another vocabulary": (
        make(WORDS, lambda t: t[:16]),
        [f"{WORDS} has shape (16, 9)", "asks for (17, 9)"],
    ),
    "bfloat16": (make(BIAS, Tensor.bfloat16), [f"{BIAS} is bfloat16", "float32 or float64"]),
    "whole numbers": (make(BIAS, Tensor.long), [f"{BIAS} is int64", "float32 or float64"]),
    "two types": (
        make(BIAS, Tensor.double),
        ["partly float32 and partly float64", "take one type"],
    ),
    "two devices": (
        make(BIAS, lambda t: t.to("meta")),
        ["partly on cpu and partly on meta", "one device"],
    ),
    "an array": (make(BIAS, Tensor.numpy), [f"{BIAS} is ndarray", "to_tensors"]),
}


def error_of(bert: Bert, batch: TensorBatch) -> str:
    with pytest.raises(UserError) as caught:
        check(bert, batch)
    return str(caught.value)


def assert_is_helpful(message: str, parts: list[str]) -> None:
    assert "\n" not in message
    assert len(message) < 200, "one line of a terminal, or two"
    for part in parts:
        assert part in message, f"{part!r} is not in {message!r}"


@pytest.mark.parametrize("wrong", BAD_BATCHES)
def test_a_wrong_batch_is_told_in_one_line(wrong, bert, batch, shapes_unchecked):
    change, parts = BAD_BATCHES[wrong]
    change(batch)
    assert_is_helpful(error_of(bert, batch), parts)


@pytest.mark.parametrize("wrong", BAD_WEIGHTS)
def test_wrong_weights_are_told_in_one_line(wrong, bert, batch, shapes_unchecked):
    change, parts = BAD_WEIGHTS[wrong]
    change(bert.weights)
    assert_is_helpful(error_of(bert, batch), parts)


def test_a_batch_that_lies_elsewhere_than_the_weights_is_told(bert, batch, monkeypatch):
    """`meta` has no values to look at, so here only the places are compared."""
    monkeypatch.setattr("bert_lowlevel.checks.check_batch", lambda *_: None)
    elsewhere = {name: tensor.to("meta") for name, tensor in batch.items()}
    assert_is_helpful(error_of(bert, elsewhere), ["the batch is on meta, the weights are on cpu"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_good_batch_passes_up_to_the_very_ends_of_every_range(
    dtype, random_weights, random_batch, tensors
):
    """The last word, segment, position, class; a row without padding; unused slots on padding."""
    weights = to_tensors(random_weights(CONFIG), dtype=getattr(torch, dtype.__name__))
    bert = Bert(CONFIG, weights)
    batch = tensors(random_batch(CONFIG, dtype, seq=8, masks=2))
    put("input_ids", (0, 3), 16)(batch)
    put("token_type_ids", (0, 3), 2)(batch)
    put("masked_lm_ids", (0, 0), 16)(batch)
    batch["attention_mask"][1] = 1
    put("masked_lm_positions", (1, 0), 7)(batch)
    assert batch["masked_lm_weights"][0, 1] == 0 and batch["attention_mask"][0, 7] == 0
    put("masked_lm_positions", (0, 1), 7)(batch)
    before = {name: tensor.clone() for name, tensor in batch.items()}
    check(bert, batch)
    assert all(torch.equal(batch[name], tensor) for name, tensor in before.items())
    assert pretraining_losses(logits(bert, batch), batch).total.isfinite()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32])
def test_a_mask_of_another_type_that_passes_gives_the_same_losses(
    dtype, bert, batch, shapes_unchecked
):
    other = {**batch, "attention_mask": batch["attention_mask"].to(dtype)}
    check(bert, other)
    losses, others = (pretraining_losses(logits(bert, b), b) for b in (batch, other))
    assert losses == others


@pytest.mark.parametrize("which", ["the first phase", "the second phase"])
def test_a_run_looks_at_its_first_batches_before_it_trains(which, tmp_path, monkeypatch):
    """One of each phase, and then no more: at every step it would make a GPU wait."""
    looked: list[tuple[int, ...]] = []

    def look(bert: Bert, batch: TensorBatch) -> None:
        looked.append(tuple(batch["input_ids"].shape))
        if len(looked) == 2 or which == "the first phase":
            check(bert, {**batch, "input_ids": batch["input_ids"] + 10_000})

    def train(*_, **__) -> None:
        raise AssertionError("trained before the batch was looked at")

    monkeypatch.setattr(command, "check", look)
    monkeypatch.setattr(command, "train", train)
    settings = command.LowLevelSettings(
        corpus="storyworld", documents=60, vocab_size=200, out=tmp_path / "run", seq_length=32,
        short_seq_length=16, short_batch_size=3, batch_size=2, hidden_size=8, steps=10,
        max_position_embeddings=32, device="cpu",
    )  # fmt: skip
    with pytest.raises(UserError, match=r"token id 1\d{4} is outside the vocabulary"):
        command.pretrain(settings)
    assert looked == [(3, 16), (2, 32)][: 1 if which == "the first phase" else 2]


def test_a_run_looks_no_more_once_it_trains(tmp_path, monkeypatch):
    looked: list[int] = []
    monkeypatch.setattr(command, "check", lambda bert, batch: looked.append(len(batch)))
    batches: list[int] = []
    original = Task.batch
    monkeypatch.setattr(
        Task,
        "batch",
        lambda self, first, size: (batches.append(first), original(self, first, size))[1],
    )
    command.pretrain(command.LowLevelSettings(
        corpus="storyworld", documents=60, vocab_size=200, out=tmp_path / "run", seq_length=32,
        batch_size=2, hidden_size=8, steps=5, max_position_embeddings=32, device="cpu",
        eval_examples=2,
    ))  # fmt: skip
    assert len(looked) == 1
    assert batches == [0, 0, 2, 4, 6, 8, 0]  # looked at, five steps, a measurement


# --- Short enough to be read ---

FILES = sorted(Path(bert_lowlevel.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_has_more_than_300_lines_and_no_function_more_than_50(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 300
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno - node.lineno + 1 > 50
    }
    assert not long, f"{path.name}: {long}"


def test_the_reading_order_names_every_file_once_and_each_uses_only_those_before_it():
    lines = [line for line in bert_lowlevel.__doc__.splitlines() if ".py " in line]
    order = [line.split()[0] for line in lines]
    assert sorted(order) == [path.name for path in FILES if path.name != "__init__.py"]
    for number, name in enumerate(order):
        tree = ast.parse((FILES[0].parent / name).read_text(encoding="utf-8"))
        used = {
            f"{node.module.split('.')[1]}.py"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module.startswith("bert_lowlevel.")
        }
        assert used <= set(order[:number]), name
