"""The model is BERT: the numbers of level 1 and of `transformers`, there and back."""

import math
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
import transformers

from bert_lowlevel.attention import (
    ATTENTIONS,
    attention_by_hand,
    attention_fused,
    attention_weights,
    visible_keys,
)
from bert_lowlevel.model import Bert, encode, logits, pretraining_losses, to_arrays, to_tensors
from bert_numpy import encoder as numpy_encoder
from bert_numpy import model as numpy_model
from bert_run.config import PRESETS, BertConfig, Weights, initial_weights
from bert_run.device import mixed_precision
from bert_run.weights import load_weights

Batch = dict[str, np.ndarray]

IGNORED = -100  # the label of a token that is not asked for, in transformers
WORDS = "bert.embeddings.word_embeddings.weight"

SIZES = ["tiny", "uneven"]
EXACT = [(np.float64, 1e-10), (np.float32, 1e-5)]


def build(config: BertConfig, weights: Weights, **more) -> Bert:
    dtype = torch.from_numpy(weights[WORDS]).dtype
    return Bert(config, to_tensors(weights, dtype=dtype), **more)


def reference(config: BertConfig, weights: Weights, **more) -> transformers.BertForPreTraining:
    """The model of transformers with our weights, in float64: beside our float32 its own rounding
    does not count. Without dropout until `.train()`."""
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**asdict(config), **more))
    state = {name: torch.tensor(array) for name, array in weights.items()}
    state["cls.predictions.decoder.weight"] = state[WORDS].clone()
    state["cls.predictions.decoder.bias"] = state["cls.predictions.bias"].clone()
    theirs.load_state_dict(state)
    return theirs.double().eval()


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
    output.loss.backward()
    return output


def largest_difference(ours: torch.Tensor, theirs: torch.Tensor | np.ndarray) -> float:
    theirs = torch.as_tensor(theirs).detach()
    assert ours.shape == theirs.shape
    return (ours.detach().double() - theirs.double()).abs().max().item()


# --- Beside transformers, and beside level 1 ---


@pytest.mark.parametrize("dtype, tolerance", EXACT)
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("size", SIZES)
def test_both_losses_and_every_gradient_are_those_of_transformers_and_of_level_1(
    size, attention, dtype, tolerance, configs, random_weights, random_batch, tensors
):
    config = configs[size]
    weights, batch = random_weights(config, dtype), random_batch(config, dtype)
    bert = build(config, weights, attention=attention)
    losses = pretraining_losses(logits(bert, tensors(batch)), tensors(batch))
    losses.total.backward()

    theirs = reference(config, weights)
    expected = run_reference(theirs, batch)
    assert abs(losses.total.item() - expected.loss.item()) < tolerance
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    assert bert.weights.keys() == gradients.keys()
    for name, weight in bert.weights.items():
        assert weight.grad.numpy().dtype == dtype
        assert largest_difference(weight.grad, gradients[name]) < tolerance, name

    below, gradients_below = numpy_model.losses_and_gradients(
        numpy_encoder.Bert(config, weights), batch
    )
    assert abs(losses.mlm.item() - below.mlm) < tolerance
    assert abs(losses.nsp.item() - below.nsp) < tolerance
    for name, weight in bert.weights.items():
        assert largest_difference(weight.grad, gradients_below.of[name]) < tolerance, name


@pytest.mark.parametrize("dtype, tolerance", EXACT)
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("size", SIZES)
def test_the_states_of_every_layer_and_the_pooled_vector_are_theirs_and_those_of_level_1(
    size, attention, dtype, tolerance, configs, random_weights, random_batch, tensors
):
    config = configs[size]
    weights, batch = random_weights(config, dtype), random_batch(config, dtype)
    output = encode(build(config, weights, attention=attention), tensors(batch))
    theirs = reference(config, weights)
    expected = run_reference(theirs, batch).hidden_states
    below: dict[str, np.ndarray] = {}
    numpy_model.bert_forward(
        numpy_encoder.Bert(config, weights, watch=lambda n, x: below.update({n: x.copy()})), batch
    )
    names = ["bert.embeddings",
             *(f"bert.encoder.layer.{n}" for n in range(config.num_hidden_layers))]  # fmt: skip
    for name, state, other in zip(names, output.hidden_states, expected, strict=True):
        assert largest_difference(state, other) < tolerance, name
        assert largest_difference(state, below[name]) < tolerance, name
    assert largest_difference(output.pooled, theirs.bert.pooler(expected[-1])) < tolerance
    assert largest_difference(output.pooled, below["bert.pooler"]) < tolerance


@pytest.mark.parametrize("size", SIZES)
def test_with_dropout_too_losses_and_gradients_are_those_of_transformers(
    size, configs, random_weights, random_batch, tensors
):
    """From the same seed both draw the same numbers, if they draw as often, in the same order and
    of the same shapes; so no dropout is missing, doubled or misplaced."""
    config = configs[size].with_changes(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2)
    weights, batch = random_weights(config), random_batch(config)
    theirs = reference(config, weights, attn_implementation="eager").train()
    torch.manual_seed(3)
    expected = run_reference(theirs, batch)
    bert = build(config, weights, attention="by-hand", training=True)
    torch.manual_seed(3)
    losses = pretraining_losses(logits(bert, tensors(batch)), tensors(batch))
    losses.total.backward()
    assert abs(losses.total.item() - expected.loss.item()) < 1e-10
    for name, parameter in theirs.named_parameters():
        assert largest_difference(bert.weights[name].grad, parameter.grad) < 1e-10, name
    calm = pretraining_losses(logits(replace(bert, training=False), tensors(batch)), tensors(batch))
    assert abs(calm.total.item() - losses.total.item()) > 1e-3  # so there was dropout


def test_a_folder_saved_by_transformers_gives_the_same_states_here(
    tmp_path, configs, random_batch, tensors
):
    config = configs["uneven"]
    torch.manual_seed(0)
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**asdict(config))).eval()
    theirs.save_pretrained(tmp_path)
    bert = build(BertConfig.load(tmp_path), load_weights(tmp_path, config))
    batch = random_batch(config)
    expected = run_reference(theirs, batch).hidden_states
    for state, other in zip(encode(bert, tensors(batch)).hidden_states, expected, strict=True):
        assert largest_difference(state, other) < 1e-5


def test_arrays_become_tensors_that_learn_and_come_back_unchanged(configs, random_weights):
    weights = random_weights(configs["uneven"], np.float32)
    found = to_tensors(weights)
    assert all(tensor.requires_grad and tensor.is_leaf for tensor in found.values())
    back = to_arrays(found)
    assert back.keys() == weights.keys()
    for name, array in weights.items():
        assert back[name].dtype == np.float32
        assert np.array_equal(back[name], array), name
    with torch.no_grad():
        found[WORDS] += 1
    assert not np.array_equal(to_arrays(found)[WORDS], weights[WORDS]), "the arrays are copied"
    assert np.array_equal(back[WORDS], weights[WORDS]), "so are the tensors"


def test_the_loss_at_the_start_is_that_of_guessing(random_batch, tensors):
    """ln V for the word and ln 2 for the sentence; embeddings of N(0, 1) would start near 117."""
    config = PRESETS["tiny"]
    batch = tensors(random_batch(config, np.float32, rows=4, seq=32, masks=5))
    bert = build(config, initial_weights(config, 0))
    losses = pretraining_losses(logits(bert, batch), batch)
    assert abs(losses.mlm.item() - math.log(config.vocab_size)) < 0.2
    assert abs(losses.nsp.item() - math.log(2)) < 0.1


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_what_stands_in_the_padding_changes_no_real_token(
    attention, configs, random_weights, random_batch, tensors
):
    config = configs["uneven"]
    bert, batch = build(config, random_weights(config), attention=attention), random_batch(config)
    real = torch.tensor(batch["attention_mask"] == 1)
    assert (~real).any(dim=1).all()
    padding = np.where(real, batch["input_ids"], (batch["input_ids"] + 7) % config.vocab_size)
    before, after = (
        encode(bert, tensors(b)).hidden_states[-1] for b in (batch, {**batch, "input_ids": padding})
    )
    assert torch.equal(before[real], after[real])
    assert not torch.equal(before[~real], after[~real])


# --- Attention, twice ---


def draw_heads(seed: int, *shape: int) -> list[torch.Tensor]:
    """Query, key, value, and a gradient for what comes out."""
    generator = torch.Generator().manual_seed(seed)
    parts = [torch.randn(*shape, generator=generator, dtype=torch.float64) for _ in range(4)]
    return [part.requires_grad_(number < 3) for number, part in enumerate(parts)]


PADDED = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 1, 0]])


@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_hand_is_the_fused_one_there_and_back_even_where_nothing_may_be_seen(causal):
    """Row 2 is padding alone; in row 3, if causal, the first token sees nothing."""
    mask = visible_keys(PADDED, causal=causal)
    results = []
    for attend in (attention_by_hand, attention_fused):
        query, key, value, dout = draw_heads(5, 4, 3, 5, 7)
        out = attend(query, key, value, mask)
        results.append([out, *torch.autograd.grad(out, (query, key, value), dout)])
    for ours, torchs in zip(*results, strict=True):
        assert torchs.isfinite().all()
        assert ours[2].abs().max() == 0, "nothing was seen, so nothing comes out or goes back"
        assert ours[3].abs().max() > 0
        assert largest_difference(ours, torchs) < 1e-12


@pytest.mark.parametrize("attend", ATTENTIONS.values(), ids=ATTENTIONS)
def test_under_the_causal_mask_each_token_has_what_it_would_have_without_those_on_its_right(attend):
    query, key, value, _ = draw_heads(6, 2, 3, 5, 7)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 0, 1, 1, 1]])
    whole = attend(query, key, value, visible_keys(mask, causal=True))
    for t in range(5):
        seen = slice(0, t + 1)
        parts = (part[:, :, seen] for part in (query, key, value))
        shorter = attend(*parts, visible_keys(mask[:, seen]))
        assert largest_difference(whole[:, :, t], shorter[:, :, t]) < 1e-12


@pytest.mark.parametrize("causal", [False, True])
def test_shares_add_up_to_one_over_the_tokens_that_may_be_seen(causal):
    query, key, _, _ = draw_heads(7, 4, 3, 5, 7)
    mask = visible_keys(PADDED, causal=causal)
    shares = attention_weights(query, key, mask)
    assert (shares[~mask.expand_as(shares)] == 0).all()
    expected = mask.any(dim=-1).expand(4, 3, 5).double()
    assert largest_difference(shares.sum(dim=-1), expected) < 1e-12


@pytest.mark.parametrize("attend", ATTENTIONS.values(), ids=ATTENTIONS)
def test_attention_dropout_strikes_its_share_and_makes_up_for_it(attend):
    """Over many rows the mean is what it is without, and the variance p / (1 - p) Σ (share v)²:
    a rate of 1 - p would make it (1 - p) / p, five times as large."""
    p, rows = 0.3, 20_000
    query, key, value, _ = (part.detach() for part in draw_heads(8, 1, 1, 4, 2))
    mask = visible_keys(torch.ones(1, 4, dtype=torch.int64))
    torch.manual_seed(0)
    many = (part.expand(rows, 1, 4, 2) for part in (query, key, value))
    struck = attend(*many, mask, dropout=p)
    calm = attend(query, key, value, mask)
    shares = attention_weights(query, key, mask)
    variance = p / (1 - p) * (shares**2 @ value**2)
    assert ((struck.mean(0) - calm[0]).abs() < 5.5 * (variance[0] / rows).sqrt()).all()
    assert (struck.var(0) / variance[0] - 1).abs().max() < 0.1


# --- Looking to the left alone ---


def states_of(bert: Bert, ids: torch.Tensor) -> list[torch.Tensor]:
    batch = {"input_ids": ids, "token_type_ids": torch.zeros_like(ids),
             "attention_mask": torch.ones_like(ids)}  # fmt: skip
    return encode(bert, batch).hidden_states


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_causal_models_token_never_depends_on_those_to_its_right(
    attention, configs, random_weights
):
    config = configs["uneven"]
    ids = torch.randint(1, 101, (3, 12), generator=torch.Generator().manual_seed(1))
    bert = build(config, random_weights(config), attention=attention, causal=True)
    both_sides = replace(bert, causal=False)
    before, seen_before = states_of(bert, ids), states_of(both_sides, ids)
    for t in range(1, 12):
        changed = ids.clone()
        changed[:, t] = changed[:, t] % 100 + 1
        for state, other in zip(before, states_of(bert, changed), strict=True):
            assert torch.equal(state[:, :t], other[:, :t])
        last, seen = states_of(bert, changed)[-1], states_of(both_sides, changed)[-1]
        assert ((last - before[-1])[:, t:].abs().amax(dim=-1) > 1e-6).all(), "the right does see it"
        assert ((seen - seen_before[-1]).abs().amax(dim=-1) > 1e-6).all(), "and BERT everywhere"


# --- Dropout and precision ---


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("which", ["hidden_dropout_prob", "attention_probs_dropout_prob"])
def test_dropout_acts_in_training_only(
    which, attention, configs, random_weights, random_batch, tensors
):
    config = configs["uneven"].with_changes(**{which: 0.3})
    bert = build(config, random_weights(config), attention=attention)
    batch = tensors(random_batch(config))
    run: Callable[[Bert], torch.Tensor] = lambda b: encode(b, batch).hidden_states[-1]  # noqa: E731
    training = replace(bert, training=True)
    assert torch.equal(run(bert), run(bert))
    assert not torch.equal(run(training), run(training))
    without = replace(training, config=configs["uneven"])
    assert torch.equal(run(bert), run(without)), "a rate of zero strikes nothing"


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_products_in_bfloat16_leave_losses_and_gradients_in_float32_and_near_those_of_float32(
    attention, configs, random_weights, random_batch, tensors
):
    config = configs["tiny"]
    batch = tensors(random_batch(config, np.float32))
    found = []
    for precision in (torch.float32, torch.bfloat16):
        bert = build(config, random_weights(config, np.float32), attention=attention)
        with mixed_precision(torch.device("cpu"), precision):
            scores = logits(bert, batch)
            losses = pretraining_losses(scores, batch)
        losses.total.backward()
        assert scores.words.dtype == precision
        assert losses.mlm.dtype == losses.nsp.dtype == bert.weights[WORDS].grad.dtype
        assert losses.mlm.dtype == torch.float32
        found.append(losses.total.item())
    assert found[0] != found[1]
    assert found[0] == pytest.approx(found[1], rel=0.02)  # 8 bits are 0.4%, through a few layers
