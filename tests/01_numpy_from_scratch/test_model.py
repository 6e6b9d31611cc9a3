"""The whole model is BERT: same numbers, forward and backward, as `transformers`."""

import ast
import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bert_numpy import attention, encoder, model, operations
from bert_numpy.encoder import Bert, Gradients
from bert_numpy.model import (
    WORDS,
    bert_forward,
    losses_and_gradients,
    mlm_head_backward,
    mlm_head_forward,
    pretraining_backward,
    pretraining_forward,
)
from bert_run.config import PRESETS, BertConfig, Weights, initial_weights, parameter_shapes
from bert_run.weights import load_weights

Batch = dict[str, np.ndarray]

IGNORED = -100  # the label of a token that is not asked for, in transformers

TINY = PRESETS["tiny"].with_changes(
    vocab_size=1009, max_position_embeddings=40, hidden_dropout_prob=0,
    attention_probs_dropout_prob=0,
)  # fmt: skip
CONFIGS = {
    "tiny": TINY,
    "uneven": TINY.with_changes(num_hidden_layers=3, hidden_size=30, num_attention_heads=5,
                                intermediate_size=17, vocab_size=101, hidden_act="gelu_new",
                                layer_norm_eps=1e-5, type_vocab_size=3),
}  # fmt: skip


def reference(
    config: BertConfig, weights: Weights, dtype: torch.dtype = torch.float64, **more
) -> transformers.BertForPreTraining:
    """The model of transformers with our weights; it too is without dropout until `.train()`."""
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**asdict(config), **more))
    state = {name: torch.tensor(array) for name, array in weights.items()}
    state["cls.predictions.decoder.weight"] = state[f"{WORDS}.weight"].clone()
    state["cls.predictions.decoder.bias"] = state["cls.predictions.bias"].clone()
    theirs.load_state_dict(state)
    return theirs.to(dtype).eval()


def run_reference(theirs: torch.nn.Module, batch: Batch):
    """Their output, after their backward. Labels stand in the row, everything else is ignored."""
    labels = np.full_like(batch["input_ids"], IGNORED)
    rows, slots = np.nonzero(batch["masked_lm_weights"])
    places = batch["masked_lm_positions"][rows, slots]
    labels[rows, places] = batch["masked_lm_ids"][rows, slots]
    output = theirs(
        input_ids=torch.tensor(batch["input_ids"]),
        token_type_ids=torch.tensor(batch["token_type_ids"]),
        attention_mask=torch.tensor(batch["attention_mask"]),
        labels=torch.tensor(labels),
        next_sentence_label=torch.tensor(batch["next_sentence_labels"]),
        output_hidden_states=True,
    )
    for state in output.hidden_states:
        state.retain_grad()
    output.loss.backward()
    return output


def their_losses(output, batch: Batch) -> tuple[float, float]:
    """Both apart, from their logits by torch."""
    words = output.prediction_logits.detach().numpy()
    rows, slots = np.nonzero(batch["masked_lm_weights"])
    at_masks = words[rows, batch["masked_lm_positions"][rows, slots]]
    mlm = torch.nn.functional.cross_entropy(
        torch.tensor(at_masks), torch.tensor(batch["masked_lm_ids"][rows, slots])
    )
    nsp = torch.nn.functional.cross_entropy(
        output.seq_relationship_logits.detach(), torch.tensor(batch["next_sentence_labels"])
    )
    assert abs(mlm + nsp - output.loss.detach()) < 1e-12
    return mlm.item(), nsp.item()


def assert_equal_gradients(found: Weights, theirs: torch.nn.Module, tolerance: float) -> None:
    expected = {name: p.grad.numpy() for name, p in theirs.named_parameters()}
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        difference = np.abs(gradient - expected[name]).max()
        assert difference < tolerance, f"{name}: gradients differ by {difference:.1e}"


# --- Beside transformers ---


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("size", CONFIGS)
def test_both_losses_and_every_gradient_are_those_of_transformers(
    size, dtype, tolerance, random_weights, random_batch
):
    config = CONFIGS[size]
    weights, batch = random_weights(config, dtype), random_batch(config, dtype)
    theirs = reference(config, weights)  # float64: beside float32, its own rounding does not count
    expected = run_reference(theirs, batch)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        losses, gradients = losses_and_gradients(Bert(config, weights), batch)
    mlm, nsp = their_losses(expected, batch)
    assert abs(losses.mlm - mlm) < tolerance
    assert abs(losses.nsp - nsp) < tolerance
    assert abs(losses.total - expected.loss.item()) < tolerance
    assert {gradient.dtype for gradient in gradients.of.values()} == {np.dtype(dtype)}
    assert_equal_gradients(gradients.of, theirs, tolerance)


def test_mask_weights_of_float32_cost_a_model_of_float64_none_of_its_digits(
    random_weights, random_batch
):
    """Masking writes float32; ones and zeros are exact in it, a third (1 / masks) is not."""
    config = CONFIGS["uneven"]
    bert = Bert(config, random_weights(config))
    losses, gradients = losses_and_gradients(bert, random_batch(config))
    same, others = losses_and_gradients(bert, random_batch(config, np.float32))
    assert abs(losses.total - same.total) < 1e-14
    for name, gradient in gradients.of.items():
        assert np.abs(gradient - others.of[name]).max() < 1e-14, name


class Recorded(np.random.Generator):
    """A generator that keeps what it has drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.draws: list[np.ndarray] = []

    def random(self, *arguments, **more) -> np.ndarray:
        draw = super().random(*arguments, **more)
        self.draws.append(draw.copy())
        return draw


@pytest.mark.parametrize("size", CONFIGS)
def test_with_dropout_too_losses_and_gradients_are_those_of_transformers(
    size, random_weights, random_batch, monkeypatch
):
    """Their dropout is given our draws, in the order in which we drew them: had we one dropout
    more, one less, or one elsewhere, the shapes or the numbers would differ."""
    config = CONFIGS[size].with_changes(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2)
    weights, batch = random_weights(config), random_batch(config)
    generator = Recorded(seed=3)
    losses, gradients = losses_and_gradients(Bert(config, weights, generator), batch)
    draws = iter(generator.draws)

    def replayed(x, p=0.5, training=True, inplace=False):
        assert training
        assert p == (0.2 if x.ndim == 4 else 0.1)  # of (batch, heads, seq, seq): the shares
        draw = next(draws)
        assert draw.shape == tuple(x.shape)
        return x * torch.tensor(draw >= p) / (1 - p)

    monkeypatch.setattr(torch.nn.functional, "dropout", replayed)
    theirs = reference(config, weights, attn_implementation="eager").train()
    expected = run_reference(theirs, batch)
    assert next(draws, None) is None
    assert len(generator.draws) == 1 + 3 * config.num_hidden_layers
    mlm, nsp = their_losses(expected, batch)
    assert abs(losses.mlm - mlm) < 1e-10
    assert abs(losses.nsp - nsp) < 1e-10
    assert_equal_gradients(gradients.of, theirs, 1e-10)
    without, _ = pretraining_forward(Bert(config, weights), batch)
    assert abs(without.total - losses.total) > 1e-3  # so there was dropout


@pytest.mark.parametrize("size", CONFIGS)
def test_the_states_of_every_layer_and_their_gradients_are_those_of_transformers(
    size, random_weights, random_batch
):
    config = CONFIGS[size]
    weights, batch = random_weights(config), random_batch(config)
    states: Weights = {}
    dstates: Weights = {}
    bert = Bert(config, weights, watch=lambda name, x: states.update({name: x.copy()}))
    _, cache = pretraining_forward(bert, batch)
    watching = Gradients(watch=lambda name, dx: dstates.update({name: dx.copy()}))
    pretraining_backward(cache, watching)
    theirs = reference(config, weights)
    output = run_reference(theirs, batch)
    names = ["bert.embeddings",
             *(f"bert.encoder.layer.{n}" for n in range(config.num_hidden_layers))]  # fmt: skip
    for name, expected in zip(names, output.hidden_states, strict=True):
        assert np.abs(states[name] - expected.detach().numpy()).max() < 1e-10, name
        assert np.abs(dstates[name] - expected.grad.numpy()).max() < 1e-10, name
    pooled = theirs.bert.pooler(output.hidden_states[-1]).detach().numpy()
    assert np.abs(states["bert.pooler"] - pooled).max() < 1e-10


def test_every_activation_that_is_told_on_the_way_there_is_told_on_the_way_back(
    small_bert, random_batch
):
    there, back = {}, {}
    bert = replace(small_bert(), watch=lambda name, x: there.update({name: x.shape}))
    batch = random_batch(bert.config, seq=8, masks=2)
    _, cache = pretraining_forward(bert, batch)
    pretraining_backward(cache, Gradients(watch=lambda name, dx: back.update({name: dx.shape})))
    assert back == there
    of_parameters = {name.rpartition(".")[0] for name in parameter_shapes(bert.config)}
    assert of_parameters - there.keys() == {WORDS, model.POSITIONS, model.SEGMENTS}


def test_a_folder_saved_by_transformers_gives_the_same_states_here(tmp_path, random_batch):
    config = CONFIGS["uneven"]
    torch.manual_seed(0)
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**asdict(config))).eval()
    theirs.save_pretrained(tmp_path)
    opened = BertConfig.load(tmp_path)
    weights = load_weights(tmp_path, opened)
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}
    batch = random_batch(config)
    states: Weights = {}
    watch = lambda name, x: states.update({name: x.copy()})  # noqa: E731
    output, _ = bert_forward(Bert(opened, weights, watch=watch), batch)
    expected = run_reference(theirs, batch).hidden_states
    for number, state in enumerate(expected[1:]):
        found = states[f"bert.encoder.layer.{number}"]
        assert np.abs(found - state.detach().numpy()).max() < 1e-5
    assert np.abs(output.states - expected[-1].detach().numpy()).max() < 1e-5


# --- The tied matrix ---


def test_the_word_embeddings_learn_from_both_ends_as_two_matrices_would_together(
    random_weights, random_batch
):
    """Untied, transformers gives the gradient of each end; ours is their sum, and neither alone."""
    config = CONFIGS["uneven"]
    weights, batch = random_weights(config), random_batch(config)
    _, gradients = losses_and_gradients(Bert(config, weights), batch)
    found = gradients.of[f"{WORDS}.weight"]
    untied = reference(config, weights, tie_word_embeddings=False)
    run_reference(untied, batch)
    read = untied.bert.embeddings.word_embeddings.weight.grad.numpy()
    answered = untied.cls.predictions.decoder.weight.grad.numpy()
    assert np.abs(found - (read + answered)).max() < 1e-10
    for cut in (read, answered):
        assert np.abs(found - cut).max() > 1e-3

    never_read = np.setdiff1d(np.arange(config.vocab_size), batch["input_ids"])
    assert len(never_read) > 5
    assert (read[never_read] == 0).all()
    assert (np.abs(found[never_read]).sum(axis=1) > 0).all(), "what is not read learns as an answer"


def test_the_head_alone_gives_the_decoders_part(random_weights, random_batch):
    config = CONFIGS["uneven"]
    bert, batch = Bert(config, random_weights(config)), random_batch(config)
    positions = batch["masked_lm_positions"]
    states = np.random.default_rng(1).normal(size=(5, 23, config.hidden_size))
    logits, cache = mlm_head_forward(bert, states, positions)
    gradients = Gradients()
    dstates = mlm_head_backward(np.ones_like(logits), cache, gradients)
    of_head = {name for name in bert.weights if name.startswith("cls.predictions.")}
    assert gradients.of.keys() == of_head | {f"{WORDS}.weight"}
    asked = np.zeros(states.shape[:2], bool)
    asked[np.arange(5)[:, None], positions] = True
    assert ((np.abs(dstates).sum(axis=-1) > 0) == asked).all()


# --- A batch in parts ---


def rows_of(batch: Batch, rows: slice) -> Batch:
    return {name: array[rows] for name, array in batch.items()}


PARTS = [slice(0, 1), slice(1, 4), slice(4, 5)]  # with 1, 2 + 3 + 4 and 1 masks of the 11


def test_the_parts_of_a_batch_add_up_to_the_whole_which_a_mean_of_means_does_not(
    random_weights, random_batch
):
    config = CONFIGS["uneven"]
    bert, batch = Bert(config, random_weights(config)), random_batch(config)
    masks = [int(rows_of(batch, part)["masked_lm_weights"].sum()) for part in PARTS]
    assert masks == [1, 9, 1]
    whole, gradients = losses_and_gradients(bert, batch)

    summed, mlm, nsp = Gradients(), 0.0, 0.0
    means: list[tuple[float, Weights]] = []
    for part in PARTS:
        losses, cache = pretraining_forward(
            bert, rows_of(batch, part), mask_count=sum(masks), pair_count=5
        )
        pretraining_backward(cache, summed)
        mlm, nsp = mlm + losses.mlm, nsp + losses.nsp
        alone, of_alone = losses_and_gradients(bert, rows_of(batch, part))
        means.append((alone.mlm, of_alone.of))
    assert abs(mlm - whole.mlm) < 1e-12
    assert abs(nsp - whole.nsp) < 1e-12
    assert summed.of.keys() == gradients.of.keys()
    for name, gradient in gradients.of.items():
        assert np.abs(summed.of[name] - gradient).max() < 1e-12, name

    assert abs(np.mean([loss for loss, _ in means]) - whole.mlm) > 1e-2
    name = "cls.predictions.bias"
    mean_of_means = np.mean([of[name] for _, of in means], axis=0)
    assert np.abs(mean_of_means - gradients.of[name]).max() > 1e-2


def test_gradients_that_are_given_are_added_to(random_weights, random_batch):
    config = CONFIGS["uneven"]
    bert, batch = Bert(config, random_weights(config)), random_batch(config)
    _, once = losses_and_gradients(bert, batch)
    _, twice = losses_and_gradients(bert, batch)
    before = {name: gradient.copy() for name, gradient in once.of.items()}
    _, returned = losses_and_gradients(bert, batch, twice)
    assert returned is twice
    for name, gradient in twice.of.items():
        # Up to rounding: the word embeddings get two parts, one after the other.
        assert np.abs(gradient - 2 * once.of[name]).max() < 1e-14, name
        assert np.array_equal(once.of[name], before[name]), name


# --- What must make no difference, and what the start looks like ---


def test_what_stands_in_the_padding_changes_no_real_token_no_loss_and_no_gradient(
    random_weights, random_batch
):
    config = CONFIGS["tiny"]
    bert, batch = Bert(config, random_weights(config)), random_batch(config)
    real = batch["attention_mask"] == 1
    assert (~real).any(axis=1).all()
    changed = {
        **batch,
        "input_ids": np.where(real, batch["input_ids"], (batch["input_ids"] + 7) % 1009),
        "token_type_ids": np.where(real, batch["token_type_ids"], 1),
    }
    before, after = (bert_forward(bert, b)[0] for b in (batch, changed))
    assert np.array_equal(before.states[real], after.states[real])
    assert np.array_equal(before.pooled, after.pooled)
    assert not np.array_equal(before.states[~real], after.states[~real])
    (losses, gradients), (other_losses, others) = (
        losses_and_gradients(bert, b) for b in (batch, changed)
    )
    assert losses == other_losses
    for name, gradient in gradients.of.items():
        assert np.abs(gradient - others.of[name]).max() < 1e-12, name


def test_longer_padding_changes_nothing_either(random_weights, random_batch):
    config = CONFIGS["uneven"]
    bert, batch = Bert(config, random_weights(config)), random_batch(config)
    longer = {
        name: np.pad(array, ((0, 0), (0, 9)))
        if name in ("input_ids", "token_type_ids", "attention_mask")
        else array
        for name, array in batch.items()
    }
    (losses, gradients), (other_losses, others) = (
        losses_and_gradients(bert, b) for b in (batch, longer)
    )
    assert abs(losses.total - other_losses.total) < 1e-12
    for name, gradient in gradients.of.items():
        assert np.abs(gradient - others.of[name]).max() < 1e-12, name


def test_a_slot_that_is_not_used_makes_no_difference(random_weights, random_batch):
    """Neither what it holds, nor that it is there: the loss is divided by masks, not by slots."""
    config = CONFIGS["uneven"]
    bert, batch = Bert(config, random_weights(config)), random_batch(config)
    unused = batch["masked_lm_weights"] == 0
    assert unused.sum() == 9
    other = {
        **batch,
        "masked_lm_ids": np.where(unused, 0, batch["masked_lm_ids"]),
        "masked_lm_positions": np.where(unused, 0, batch["masked_lm_positions"]),
    }
    more = {name: np.pad(array, ((0, 0), (0, 3))) if name.startswith("masked") else array
            for name, array in other.items()}  # fmt: skip
    losses, gradients = losses_and_gradients(bert, batch)
    for same in (other, more):
        found, others = losses_and_gradients(bert, same)
        assert abs(found.total - losses.total) < 1e-13
        for name, gradient in gradients.of.items():
            assert np.abs(gradient - others.of[name]).max() < 1e-13, name


@pytest.mark.parametrize("label", [0, 1])
def test_both_classes_of_the_next_sentence_learn(label, small_bert, random_batch):
    """A loss that ignores label 0, as a pad id, would give one of them no gradient."""
    bert = small_bert()
    batch = random_batch(bert.config, seq=8, masks=2)
    batch["next_sentence_labels"] = np.full(5, label)
    _, gradients = losses_and_gradients(bert, batch)
    dbias = gradients.of["cls.seq_relationship.bias"]
    assert dbias[label] < -0.01  # downhill is towards the right answer
    assert abs(dbias.sum()) < 1e-15


def test_the_loss_at_the_start_is_that_of_guessing(random_batch):
    """ln V for the word and ln 2 for the sentence, within 0.3; embeddings of N(0, 1) would start
    near 117."""
    config = PRESETS["tiny"]
    batch = random_batch(config, rows=4, seq=32, masks=5)
    losses, _ = pretraining_forward(Bert(config, initial_weights(config, 0)), batch)
    assert abs(losses.mlm - math.log(config.vocab_size)) < 0.2
    assert abs(losses.nsp - math.log(2)) < 0.1


# --- No loop over tokens ---

LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS_IN_DISGUISE = {"map", "vectorize", "apply_along_axis", "frompyfunc", "nditer", "ndindex"}


@pytest.mark.parametrize("module", [operations, attention, model])
def test_the_maths_is_written_without_a_loop(module):
    tree = ast.parse(inspect.getsource(module))
    loops = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, LOOPS)
        or getattr(node, "id", getattr(node, "attr", "")) in LOOPS_IN_DISGUISE
    ]
    assert not loops, f"{module.__name__} loops in lines {loops}"


def lines_run(action: Callable[[], object]) -> int:
    """How many lines of the package `action` runs, one that runs twice counting twice."""
    folder, count = str(Path(model.__file__).parent), itertools.count()

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(folder):
            return None
        if event == "line":
            next(count)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return next(count)


@pytest.fixture
def work(random_weights, random_batch, shapes_unchecked) -> Iterator[Callable[..., int]]:
    """Lines that a forward and a backward with dropout take, for given sizes."""

    def lines(*, rows: int, seq: int, masks: int, **sizes) -> int:
        config = replace(CONFIGS["uneven"], hidden_dropout_prob=0.1, **sizes)
        batch = random_batch(config, rows=rows, seq=seq, masks=masks)
        bert = Bert(config, random_weights(config), np.random.default_rng(0))
        losses_and_gradients(bert, batch)  # what is computed once and kept is computed
        return lines_run(lambda: losses_and_gradients(bert, batch))

    yield lines


def test_more_rows_tokens_heads_masks_and_words_take_not_one_line_more(work):
    small = work(rows=2, seq=9, masks=2, num_attention_heads=2, vocab_size=50)
    assert small > 500  # it counts
    assert work(rows=7, seq=31, masks=5, num_attention_heads=10, vocab_size=400) == small
    # Only layers are gone through one by one.
    deeper = [work(rows=2, seq=9, masks=2, num_hidden_layers=n) for n in (1, 2, 3)]
    assert deeper[1] - deeper[0] == deeper[2] - deeper[1] > 0


def test_the_encoder_loops_over_layers_and_over_nothing_else():
    tree = ast.parse(inspect.getsource(encoder))
    loops = {ast.unparse(node.iter) for node in ast.walk(tree)
             if isinstance(node, (ast.For, ast.comprehension))}  # fmt: skip
    assert loops <= {
        "range(bert.config.num_hidden_layers)",
        "reversed(caches)",
        "('query', 'key', 'value')",  # three matrices, by name
        "(query, key, value)",
    }
