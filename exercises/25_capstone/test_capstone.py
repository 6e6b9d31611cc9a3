"""The capstone: each function alone in a model that is otherwise the reference's, then all of them.

Alone: a few training steps of three models, their losses, the gradients of the first, the weights
after the last. A mistake is named by putting a function that makes it in the same place.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from autograder import checks
from autograder.capstone import formed
from autograder.capstone_mistakes import MISTAKES, attend
from autograder.codec import Rng
from bert_numpy.side_by_side import (
    FUNCTIONS,
    Recipe,
    Training,
    begin,
    fill_blanks,  # this and the next are for `python -m autograder capstone`
    in_a_minute,
    side_by_side,
    story_data,
    train,
)
from bert_run.config import BertConfig
from bert_run.parameters import parameter_shapes

IGNORED = -100

# --- One function alone ---


def small(layers, hidden, heads, wide, vocab, **more):
    return BertConfig(vocab_size=vocab, hidden_size=hidden, num_hidden_layers=layers,
                      num_attention_heads=heads, intermediate_size=wide, hidden_dropout_prob=0.0,
                      attention_probs_dropout_prob=0.0, max_position_embeddings=32,
                      **more)  # fmt: skip


# All sizes differ. In the second the clip does not act, there is no warm-up, and eps is large.
FIRST = Recipe(small(2, 12, 3, 20, 41), steps=6, batch_size=5, peak=0.01, max_norm=0.3,
               warmup_steps=2, dtype="float64")  # fmt: skip
SECOND = Recipe(small(1, 8, 2, 10, 37, hidden_act="gelu_new", layer_norm_eps=0.05), steps=5,
                batch_size=1, peak=0.01, max_norm=1e3, warmup_steps=0, beta2=0.98,
                dtype="float64")  # fmt: skip
SETTINGS = {  # with the length of the examples, the steps, and how exact the numbers must be
    "in float64": (FIRST, 11, 3, 1e-9),
    "one example, another eps, GELU by tanh": (SECOND, 6, 3, 1e-9),
    "in float32": (replace(FIRST, dtype="float32", peak=0.001), 7, 1, 1e-3),
}


def agrees(name, function):
    """Whether a training with this function in place of the reference's is the reference's."""
    return not any(
        checks.difference(few_steps(setting, {name: function}), reference(setting), "", tolerance)
        for setting, (*_, tolerance) in SETTINGS.items()
    )


def weights_of(recipe):
    """No number is 0 or 1 by design; the layers start far from the identity."""
    rng = np.random.default_rng(4)
    return {name: ((0.3 * rng.normal(size=shape)) + (".LayerNorm.weight" in name)).astype(
        recipe.dtype) for name, shape in parameter_shapes(recipe.config).items()}  # fmt: skip


def examples(recipe, seq, step):
    """Padding, words that come twice, label 0, slots that are not used."""
    rng = np.random.default_rng([5, step])
    size, slots = recipe.batch_size, 4
    lengths = rng.integers(seq // 2 + 1, seq + 1, size=(size, 1))
    is_token = np.arange(seq) < lengths
    ids = rng.integers(0, recipe.config.vocab_size, (size, seq))
    ids[:, 2] = ids[:, 1]
    used = rng.random((size, slots)) < 0.6
    used[:, 0] = True
    words = rng.integers(1, recipe.config.vocab_size, (size, slots))
    words[:, 0] = 0
    return {
        "input_ids": ids * is_token,
        "token_type_ids": (np.arange(seq) > seq // 3) & is_token,
        "attention_mask": is_token.astype(np.int64),
        "masked_lm_positions": rng.integers(0, lengths, (size, slots)) * used,
        "masked_lm_ids": words,
        "masked_lm_weights": used.astype(recipe.dtype),
        "next_sentence_labels": rng.integers(0, 2, size),
    }


def few_steps(setting, functions):
    """What a training with these functions gives."""
    recipe, seq, steps, _ = SETTINGS[setting]
    training, losses = Training(recipe, weights_of(recipe), functions), []
    for step in range(steps):
        found, gradients = training.step(with_plain_types(examples(recipe, seq, step)), step)
        losses.append(list(found))
        first = first if step else gradients
    return {"the losses of step 0": losses[0], "the gradients": first,
            "the weights afterwards": training.bert.weights, "all losses": losses}  # fmt: skip


def with_plain_types(batch):
    return {n: a.astype(np.int64) if a.dtype.kind in "bi" else a for n, a in batch.items()}


reference = cache(lambda setting: few_steps(setting, {}))


def alone(function):
    """A student's function, in each of the models."""
    name = function.name
    for setting, (*_, tolerance) in SETTINGS.items():
        checks.same(
            few_steps(setting, {name: formed(function)}),
            reference(setting),
            of=f"{setting}, with your {name} in place of the reference's",
            mistakes={called: gives(setting, name, wrong, tolerance)
                      for called, wrong in MISTAKES[name].items()},
            tolerance=tolerance,
        )  # fmt: skip


def gives(setting, name, wrong, tolerance):
    """Whether a result is that of a wrong function, which is run only if it is asked for."""
    return lambda out: not checks.difference(out, few_steps(setting, {name: wrong}), "", tolerance)


@pytest.mark.weight(2)
def test_your_layer_norm_forward_alone(student):
    alone(student.layer_norm_forward)


@pytest.mark.weight(2)
def test_your_layer_norm_backward_alone(student):
    alone(student.layer_norm_backward)


@pytest.mark.weight(2)
def test_your_gelu_forward_alone(student):
    alone(student.gelu_forward)


@pytest.mark.weight(2)
def test_your_gelu_backward_alone(student):
    alone(student.gelu_backward)


@pytest.mark.weight(2)
def test_your_attention_forward_alone(student):
    alone(student.attention_forward)


@pytest.mark.weight(2)
def test_your_attention_backward_alone(student):
    alone(student.attention_backward)


@pytest.mark.weight(4)
def test_your_layer_forward_alone(student):
    alone(student.layer_forward)


@pytest.mark.weight(5)
def test_your_layer_backward_alone(student):
    alone(student.layer_backward)


@pytest.mark.weight(2)
def test_your_lookup_backward_alone(student):
    alone(student.lookup_backward)


@pytest.mark.weight(2)
def test_your_masked_cross_entropy_forward_alone(student):
    alone(student.masked_cross_entropy_forward)


@pytest.mark.weight(2)
def test_your_masked_cross_entropy_backward_alone(student):
    alone(student.masked_cross_entropy_backward)


@pytest.mark.weight(2)
def test_your_learning_rate_alone(student):
    alone(student.learning_rate)


@pytest.mark.weight(2)
def test_your_clip_gradients_alone(student):
    alone(student.clip_gradients)


@pytest.mark.weight(2)
def test_your_adam_step_alone(student):
    alone(student.adam_step)


VOCAB, MASK, SPECIALS = 1000, 4, [0, 1, 2, 3, 4]


@pytest.mark.weight(2)
def test_your_mask_tokens_alone(student):
    ids = np.random.default_rng(5).integers(5, VOCAB, (500, 204))
    ids[:, 0], ids[:, 100], ids[:, 199], ids[:, 200:] = 2, 3, 3, 0
    shown, labels = formed(student.mask_tokens)(
        ids, Rng(7), mask_id=MASK, vocab_size=VOCAB, special_ids=SPECIALS, rate=0.15
    )
    chosen, special = labels != IGNORED, np.isin(ids, SPECIALS)
    checks.that(not (chosen & special).any(), "special tokens or padding have a label",
                likely="special_ids are not left out")  # fmt: skip
    checks.same(labels, np.where(chosen, ids, IGNORED), of="the labels", mistakes={
        "the labels were taken after the tokens were replaced": np.where(chosen, shown, IGNORED),
        })  # fmt: skip
    checks.same(
        np.where(chosen, ids, shown),
        ids,
        of="the tokens without a label",
        mistakes={
            "tokens are replaced by another draw than the one that labels them": lambda out: True
        },
    )
    checks.share(int(chosen.sum()), int((~special).sum()), 0.15, of="the share that is selected",
                 mistakes={"only what becomes [MASK] has a label": 0.12,
                           "what stays as it is has no label": 0.135})  # fmt: skip
    masked, kept = chosen & (shown == MASK), chosen & (shown == ids)
    total, counts = int(chosen.sum()), (int(masked.sum()), int(kept.sum()))
    named = {"every selected token becomes [MASK]": (1.0, 0.0), "nothing is kept": (0.8, 0.0),
             "nothing is random": (0.8, 0.2), "random is drawn over [MASK]": (0.72, 0.18),
             "random and kept are drawn independently": (0.8, 0.18)}  # fmt: skip
    likely = min(named, key=lambda n: abs(counts[0] / total - named[n][0])
                 + abs(counts[1] / total - named[n][1]))  # fmt: skip
    for i, (what, share) in enumerate((("[MASK]", 0.8), ("kept", 0.1))):
        checks.share(counts[i], total, share, of=f"of the selected, those that are {what}",
                     mistakes={likely: named[likely][i]})  # fmt: skip
    words = shown[chosen & ~masked & ~kept]
    checks.that(not np.isin(words, SPECIALS).any(), "a random word is a special token",
                likely="random words are drawn from all ids")  # fmt: skip
    checks.share(int((words >= 0.9 * VOCAB).sum()), len(words), 100 / (VOCAB - 5),
                 of="the share of random words in the last tenth of the vocabulary",
                 mistakes={"the end of the vocabulary is never drawn": 0.0})  # fmt: skip


# --- All together ---


@cache
def corner():
    return story_data(("geography_lesson", "pet_at_home"), documents=60, vocab_size=260,
                      seq_length=32)  # fmt: skip


def all_together(student, steps):
    """A training with all of the student's functions; not yet begun."""
    data = corner()
    config = small(2, 32, 2, 64, data.tokenizer.get_vocab_size())
    recipe = Recipe(config, steps=steps, batch_size=8, peak=3e-3, warmup_steps=5, dtype="float64")
    functions = {name: formed(getattr(student, name)) for name in FUNCTIONS}
    functions["mask_tokens"] = with_seeds(functions["mask_tokens"])
    return data, begin(recipe, functions)


def with_seeds(mask_tokens):
    """Generators do not cross to the student's process: a seed for each does."""
    return lambda ids, rng, **more: mask_tokens(ids, Rng(int(rng.integers(1 << 31))), **more)


def parts_that_differ(student):
    """For a training that goes wrong: the functions that already do so alone."""
    return {
        f"{name} alone already gives other numbers: mend it first": (
            lambda out, name=name: not agrees(name, formed(getattr(student, name)))
        )
        for name in FUNCTIONS
        if name != "mask_tokens"
    }


@pytest.mark.weight(6)
def test_with_all_of_your_functions_the_loss_follows_the_reference(student):
    losses = np.array(list(side_by_side(*all_together(student, 12))))  # (steps, trainings, tasks)
    theirs, ours = losses[:, 0], losses[:, 1]
    checks.same(
        theirs,
        ours,
        of="the losses of 12 steps on StoryWorld (masked words, next sentence)",
        mistakes=parts_that_differ(student),
        tolerance=1e-6,
    )


@pytest.mark.weight(4)
def test_with_all_of_your_functions_a_bert_learns(student):
    # Over 100 draws of the masks it falls by 0.48 ± 0.08, without learning by 0.01 ± 0.02.
    losses = np.array([words for ((words, _),) in train(*all_together(student, 30))])
    first, last = float(losses[0]), float(losses[-5:].mean())
    checks.that(last < first - 0.1,
                f"the loss of masked words was {first:.3f} before training and is {last:.3f} after "
                "30 steps: expected it to fall by 0.1 or more")  # fmt: skip


def test_none_of_your_functions_leaves_anything_behind(student):
    rng = np.random.default_rng(8)
    x, dout, weight, bias = rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 3, 6)), *rng.normal(
        size=(2, 6))  # fmt: skip
    q, k, v, dcontext = rng.normal(size=(4, 2, 2, 3, 3))
    mask = np.array([[1, 1, 1], [1, 1, 0]])
    own = {n.removeprefix("bert.encoder.layer.0."): rng.normal(size=s) for n, s in
           parameter_shapes(small(1, 6, 2, 5, 9)).items() if "layer.0." in n}  # fmt: skip
    logits, labels, used = rng.normal(size=(4, 5)), np.array([0, 1, 4, 2]), np.array([1, 1, 0, 1.0])
    ids = rng.integers(0, 9, (2, 3))
    more, state = {"heads": 2, "eps": 1e-12, "approximation": "none"}, {"m": own, "v": {
        n: a * a for n, a in own.items()}}  # fmt: skip
    shares = attend(q, k, v, mask)[1]
    for function, *inputs in (
        (student.layer_norm_forward, x, weight, bias),
        (student.layer_norm_backward, dout, x, weight),
        (student.gelu_forward, x), (student.gelu_backward, dout, x),
        (student.attention_forward, q, k, v, mask),
        (student.attention_backward, dcontext, q, k, v, shares),
        (student.lookup_backward, dout, ids, 9), (student.clip_gradients, own, 0.5),
        (student.masked_cross_entropy_forward, logits, labels, used),
        (student.masked_cross_entropy_backward, 1.0, logits, labels, used),
    ):  # fmt: skip
        checks.leaves_no_trace(function, *inputs)
    checks.leaves_no_trace(student.layer_forward, x, mask, own, **more)
    checks.leaves_no_trace(student.layer_backward, dout, x, mask, own, **more)
    checks.leaves_no_trace(student.adam_step, own, own, state, learning_rate=0.1)
    checks.leaves_no_trace(student.mask_tokens, ids + 5, Rng(7), mask_id=MASK, vocab_size=VOCAB,
                           special_ids=SPECIALS)  # fmt: skip
