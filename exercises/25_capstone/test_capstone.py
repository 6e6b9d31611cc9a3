"""The capstone: the checks of the earlier exercises, each function alone in a model that is
otherwise the reference's, then all of them.

Alone: a few training steps of three models, their losses, the gradients of the first, the weights
after the last. A mistake is named by putting a function that makes it in the same place.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from autograder import checks, sweep
from autograder.codec import Rng
from autograder.points import checks_of, find
from autograder.student import Trace
from autograder.worker import load
from bert_experiments.capstone.forms import formed
from bert_experiments.capstone.mistakes import MISTAKES, ON_LARGE_NUMBERS, attend, layer, layer_back
from bert_experiments.capstone.side_by_side import (
    FUNCTIONS,
    Recipe,
    Training,
    begin,
    side_by_side,
    story_data,
    train,
)
from bert_run.config import BertConfig, parameter_shapes

IGNORED = -100

# --- What the earlier exercises ask for, by their own checks ---


class StartAdam:
    """`start_adam` of exercise 11, which the capstone does not ask for: the reference's."""

    name = "start_adam"

    def __init__(self):
        self.inspected, self.noticed = [], {}

    def __call__(self, weights):
        return {kind: {name: np.zeros_like(w) for name, w in weights.items()} for kind in "mv"}

    def trace(self, weights, **_):
        return Trace(self(weights), ((weights,), {}), [])


class WithStartAdam:
    """A student who has `start_adam` too."""

    start_adam = StartAdam()

    def __init__(self, student):
        self.student = student

    def __getattr__(self, name):
        return getattr(self.student, name)


loaded = cache(lambda exercise: load(exercise.test))


def checks_that_fit(exercise):
    """The checks of an earlier exercise that call nothing but what the capstone asks for."""
    functions = {*FUNCTIONS, "start_adam"}
    return [check for check in checks_of(exercise) if functions.issuperset(check.functions)]


def passes(student, name):
    exercise = find(name)
    for check in checks_that_fit(exercise):
        getattr(loaded(exercise), check.id)(WithStartAdam(student))


@pytest.mark.weight(3)
def test_your_layer_norm_passes_the_checks_of_exercise_4(student):
    passes(student, "04_layer_norm")


@pytest.mark.weight(3)
def test_your_gelu_passes_the_checks_of_exercise_5(student):
    passes(student, "05_gelu")


@pytest.mark.weight(3)
def test_your_attention_passes_the_checks_of_exercise_6(student):
    passes(student, "06_attention")


@pytest.mark.weight(1)
def test_your_lookup_backward_passes_the_checks_of_exercise_8(student):
    passes(student, "08_embeddings")
    for dtype in ("float16", "float32"):  # there, checks of all three functions ask for these
        for ids in (np.array([[2, 0], [2, 2]]), np.zeros((0, 2), np.int64)):
            dout = np.ones((*ids.shape, 3), dtype)
            right = np.zeros((4, 3), dtype)
            np.add.at(right, ids, dout)
            checks.same(student.lookup_backward(dout, ids, 4), right,
                        of=f"the {dtype} gradient of a table for ids of shape {ids.shape}",
                        mistakes={"the table has another type than dout": (
                            lambda out: out.dtype != dout.dtype)})  # fmt: skip


@pytest.mark.weight(3)
def test_your_masked_cross_entropy_passes_the_checks_of_exercise_9(student):
    passes(student, "09_masked_cross_entropy")


@pytest.mark.weight(3)
def test_your_mask_tokens_passes_the_checks_of_exercise_10(student):
    passes(student, "10_mlm_masking")


@pytest.mark.weight(3)
def test_your_optimizer_passes_the_checks_of_exercise_11(student):
    passes(student, "11_bert_adam")


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


def train_capstone(file, *, out, steps):
    """What `python -m autograder capstone` does."""
    from bert_experiments.capstone.command import run_capstone  # loads matplotlib

    run_capstone(file, agrees=agrees, out=out, steps=steps)


def weights_of(recipe):
    """No number is 0 or 1 by design; the layers start far from the identity."""
    rng = checks.rng(4)
    return {name: ((0.3 * rng.normal(size=shape)) + (".LayerNorm.weight" in name)).astype(
        recipe.dtype) for name, shape in parameter_shapes(recipe.config).items()}  # fmt: skip


def examples(recipe, seq, step):
    """Padding, words that come twice, label 0, slots that are not used or count in part."""
    rng = checks.rng(5, step)
    size, slots = recipe.batch_size, 4
    lengths = rng.integers(seq // 2 + 1, seq + 1, size=(size, 1))
    is_token = np.arange(seq) < lengths
    ids = rng.integers(0, recipe.config.vocab_size, (size, seq))
    ids[:, 2] = ids[:, 1]
    weight = rng.choice([0.0, 0.0, 0.25, 1.0], (size, slots))
    weight[:, 0] = 0.5 if size == 1 else 1.0
    weight[:, 1:] *= size > 1  # of a single example only a half is asked for: less than 1 in all
    words = rng.integers(1, recipe.config.vocab_size, (size, slots))
    words[:, 0] = 0
    return {
        "input_ids": ids * is_token,
        "token_type_ids": (np.arange(seq) > seq // 3) & is_token,
        "attention_mask": is_token.astype(np.int64),
        "masked_lm_positions": rng.integers(0, lengths, (size, slots)) * (weight > 0),
        "masked_lm_ids": words,
        "masked_lm_weights": weight.astype(recipe.dtype),
        "next_sentence_labels": rng.integers(0, 2, size),
    }


def few_steps(setting, functions):
    """What a training with these functions gives."""
    recipe, seq, steps, _ = SETTINGS[setting]
    recipe = replace(recipe, peak=recipe.peak * (1 + checks.anew(1000) / 10_000))
    training, losses = Training(recipe, weights_of(recipe), functions), []
    for step in range(steps):
        found, gradients = training.step(with_plain_types(examples(recipe, seq, step)), step)
        losses.append(list(found))
        if step == 0:
            first = gradients
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
            mistakes=lambda: {called: gives(setting, name, wrong, tolerance)
                      for called, wrong in MISTAKES[name].items()},
            tolerance=tolerance,
        )  # fmt: skip


def gives(setting, name, wrong, tolerance):
    """Whether a result is that of a wrong function, which is run only if it is asked for."""
    return lambda out: not checks.difference(out, few_steps(setting, {name: wrong}), "", tolerance)


def test_your_layer_norm_forward_alone(student):
    alone(student.layer_norm_forward)


def test_your_layer_norm_backward_alone(student):
    alone(student.layer_norm_backward)


def test_your_gelu_forward_alone(student):
    alone(student.gelu_forward)


def test_your_gelu_backward_alone(student):
    alone(student.gelu_backward)


def test_your_attention_forward_alone(student):
    alone(student.attention_forward)


def test_your_attention_backward_alone(student):
    alone(student.attention_backward)


@pytest.mark.weight(4)
def test_your_layer_forward_alone(student):
    alone(student.layer_forward)


@pytest.mark.hint(2)
@pytest.mark.weight(5)
def test_your_layer_backward_alone(student):
    alone(student.layer_backward)


def test_your_lookup_backward_alone(student):
    alone(student.lookup_backward)


def test_your_masked_cross_entropy_forward_alone(student):
    alone(student.masked_cross_entropy_forward)


def test_your_masked_cross_entropy_backward_alone(student):
    alone(student.masked_cross_entropy_backward)
    logits, labels = (
        checks.rng(6).normal(size=(2, 3, 4)),
        np.array([[0, 1, 3], [2, 0, 1]]),
    )
    for of_logits in (np.float32, np.float64):
        for of_weights in (np.int64, np.float32, np.float64):  # `formed` looks at the type
            given = logits.astype(of_logits), labels, np.array([[1, 0, 2], [1, 1, 0]], of_weights)
            formed(student.masked_cross_entropy_backward)(0.5, *given)


def test_your_learning_rate_alone(student):
    alone(student.learning_rate)


def test_your_clip_gradients_alone(student):
    alone(student.clip_gradients)


def test_your_adam_step_alone(student):
    alone(student.adam_step)


@pytest.mark.weight(2)
def test_your_adam_step_decays_by_name_alone(student):
    # The example of page 11, with the weight as a vector and as a matrix.
    for shape in ((1,), (2, 3)):
        for name, first in (("dense.weight", 1.681792), ("dense.bias", 1.683792),
                            ("LayerNorm.weight", 1.683792), ("x.LayerNorm.bias", 1.683792),
                            ("embeddings.weight", 1.681792)):  # fmt: skip
            weights, gradients = {name: np.full(shape, 2.0)}, {name: np.full(shape, 0.5)}
            out = student.adam_step(weights, gradients, StartAdam()(weights), learning_rate=0.1)
            found = checks.parts(out, "the weights", "the state")[0]
            checks.same(
                found, {name: np.full(shape, first)}, tolerance=1e-6,
                of=f"a weight of 2 and shape {shape} after a step",
                mistakes=lambda: {"the decay goes by the number of axes, not by the name": {
                    name: np.full(shape, 1.681792 if len(shape) > 1 else 1.683792)}},
            )  # fmt: skip


# --- Masks: what no single token shows ---

VOCAB, MASK, SPECIALS = 1000, 4, [0, 1, 2, 3, 4]


@pytest.mark.weight(2)
def test_your_mask_tokens_draws_for_each_token_by_itself(student):
    # A right answer fails less than once in ten million times: over 600 rows a variance is within
    # 40% of what it should be.
    ids = checks.rng(5).integers(5, VOCAB, (600, 120))
    for more in ({}, {"rate": 0.3}):
        shown, labels = formed(student.mask_tokens)(
            ids, Rng(7), mask_id=MASK, vocab_size=VOCAB, special_ids=SPECIALS, **more
        )
        look_at_masks(ids, shown, labels, more.get("rate", 0.15))


def look_at_masks(ids, shown, labels, rate):
    chosen = labels != IGNORED
    checks.share(int(chosen.sum()), chosen.size, rate, of="the proportion of tokens selected at "
                 f"{rate}, the rate that was given or else the default")  # fmt: skip
    counts, masks = chosen.sum(1), (chosen & (shown == MASK)).sum(1)
    spread = float(np.mean((counts - rate * 120) ** 2) / (120 * rate * (1 - rate)))
    checks.that(0.6 < spread < 1.4, f"the numbers of tokens selected in the rows vary {spread:.2f} "
                "times as much as if each token were drawn by itself",
                likely="a fixed count of tokens in each row" if spread < 0.1 else "")  # fmt: skip
    pairs = chosen[:, ::2] & chosen[:, 1::2]
    checks.share(int(pairs.sum()), pairs.size, rate * rate,
                 of="pairs of neighbors that are both selected")  # fmt: skip
    spread = float(np.mean((masks - 0.8 * counts) ** 2) / (0.16 * counts.mean()))
    checks.that(0.6 < spread < 1.4, f"the numbers of [MASK] in the rows vary {spread:.2f} times as "
                "much as if each selected token were drawn by itself",
                likely="what becomes of a token goes by its place or by its row, not by a draw for "
                       "each token" if spread > 3 else "")  # fmt: skip
    is_word = chosen & (shown != MASK) & (shown != ids)
    words = [row[at] for row, at in zip(shown, is_word, strict=True)]
    same = sum(int((row[1:] == row[:-1]).sum()) for row in words)
    checks.that(same < 0.05 * is_word.sum(), f"{same} of {int(is_word.sum())} random words are the "
                "word before in the same row", likely="one random word for a whole row: each token "
                "needs a draw of its own")  # fmt: skip


# --- Layers: any input ---

SIZES = [(2, 3, 6, 2, 5), (1, 1, 4, 4, 7), (3, 5, 8, 1, 3), (2, 4, 6, 3, 6), (4, 2, 4, 2, 4)]
DEFAULTS = {"eps": 1e-12, "approximation": "none"}
RIGHT = {"layer_forward": layer, "layer_backward": layer_back}


def layer_case(batch, seq, hidden, heads, wide, *, scale=1.0, dtype=np.float64):
    """x, a mask with padding anywhere, weights, and the number of heads. Where `scale` is tiny, so
    is all that enters the first norm."""
    rng = checks.rng(9, batch, seq, hidden)
    config = small(1, hidden, heads, wide, 9)
    own = {n.removeprefix("bert.encoder.layer.0."): rng.normal(size=s)
           for n, s in parameter_shapes(config).items() if "layer.0." in n}  # fmt: skip
    for name in own:
        if name.startswith("attention") and name.endswith(".bias") and "LayerNorm" not in name:
            own[name] *= scale
    mask = rng.integers(0, 2, (batch, seq))
    mask[:, -1] = 1
    x = (scale * rng.normal(size=(batch, seq, hidden))).astype(dtype)
    return x, mask, {n: w.astype(dtype) for n, w in own.items()}, heads


def same_layer(function, *given, of, heads, tokens=None, tolerance=1e-9, mistakes=None, **how):
    """Call a function of a layer directly; `tokens` are the places that count, all without it."""
    name = function.name
    named = (mistakes or {}) | MISTAKES[name]

    def place(out):
        return out if tokens is None else out[tokens]

    def told(function):
        return place(function(*given, heads=heads, **{**DEFAULTS, **how}))

    checks.same(
        place(formed(function)(*given, heads=heads, **how)), told(RIGHT[name]), of=of,
        mistakes=lambda: {called: lambda out, wrong=wrong: not checks.difference(
            out, told(wrong), "", tolerance) for called, wrong in named.items()},
        tolerance=tolerance,
    )  # fmt: skip


def off_center(weights, mean=1e4):
    """The same weights, but the mean of each vector that enters a norm is about `mean`."""
    far = ("attention.output.dense.bias", "output.dense.bias")
    return {n: w + w.dtype.type(mean) if n in far else w for n, w in weights.items()}


def quiet(weights):
    """The same weights, but what enters the second norm is about 10,000 times smaller."""
    small = ("attention.output.LayerNorm.weight", "attention.output.LayerNorm.bias",
             "output.dense.weight", "output.dense.bias")  # fmt: skip
    return {n: w * w.dtype.type(1e-4) if n in small else w for n, w in weights.items()}


def with_a_row_of_zeros(weights):
    """The same weights, but the first row of each, or its first number, is 0: nobody can divide by
    the scale of a norm, nor by what enters GELU."""
    return {n: np.concatenate([0 * w[:1], w[1:]]) for n, w in weights.items()}


# For float32: its own smallest number is about 1e-7, beside which an eps of 1e-12 counts too.
SETTINGS_IN_FLOAT32 = ((1.0, {"eps": 2.0}), (1.0, {"eps": 0.1, "approximation": "tanh"}),
                       (1e-4, {"eps": 1e-12}), (1e-4, {"eps": 1e-8}))  # fmt: skip
SETTINGS_OF_A_LAYER = ({}, {"eps": 2.0}, {"eps": 0.0, "approximation": "tanh"},
                       {"eps": 1e-3, "approximation": "tanh"})  # fmt: skip


def example():
    """The layer of the page."""
    config = small(1, 4, 2, 3, 9)
    own = {n.removeprefix("bert.encoder.layer.0."): 0.1 * np.ones(s) + 0.4 * np.eye(*s)
           if len(s) > 1 else np.ones(s) * n.endswith("LayerNorm.weight")
           for n, s in parameter_shapes(config).items() if "layer.0." in n}  # fmt: skip
    return np.array([[[1.0, 2, 3, 4], [2, 0, 1, 0]]]), own


@pytest.mark.weight(3)
def test_your_layer_forward_on_any_input(student):
    x, own = example()
    for mask, right in ([1, 1], [[-1.3360, -0.4797, 0.4975, 1.3182],
                                 [1.4290, -1.1414, 0.4101, -0.6978]]), (
                       [1, 0], [[-1.3518, -0.4512, 0.4870, 1.3160],
                                [1.4150, -1.1563, 0.4306, -0.6893]]):  # fmt: skip
        out = formed(student.layer_forward)(x, np.array([mask]), own, heads=2)
        checks.same(out, np.array([right]), of=f"the example of the page, mask {mask}",
                    tolerance=1e-4)  # fmt: skip
    for sizes in SIZES:
        for scale in (1.0, 1e-6):
            x, mask, own, heads = layer_case(*sizes, scale=scale)
            for how in SETTINGS_OF_A_LAYER:
                for given in (mask, np.ones_like(mask)):
                    same_layer(student.layer_forward, x, given, own, heads=heads, **how,
                               of=f"the layer, for numbers near {scale:g}, {how or 'defaults'}",
                               tolerance=1e-6 if scale < 1 else 1e-9)  # fmt: skip
    x, mask, own, heads = layer_case(3, 5, 8, 2, 3)
    same_layer(student.layer_forward, x, mask, off_center(own), heads=heads,
               of="the layer, where the means of what is normalized are 10,000")  # fmt: skip
    loud = np.where(mask[:, :, None] == 0, 1e50 * x, x)
    same_layer(student.layer_forward, loud, mask, own, heads=heads, tokens=mask == 1,
               mistakes=ON_LARGE_NUMBERS,
               of="the tokens of a layer whose padding holds large numbers")  # fmt: skip
    mask[1] = 0
    same_layer(student.layer_forward, x, mask, own, heads=heads, tokens=mask == 1,
               of="the tokens of a layer where one example is all padding")  # fmt: skip
    out = student.layer_forward(x, mask, own, heads=heads)
    checks.that(bool(np.isfinite(out).all()), "an example that is all padding is not finite")
    wide = np.repeat(x, 2, axis=2)
    same_layer(student.layer_forward, wide[:, :, ::2], mask[:, ::1], own, heads=heads,
               tokens=mask == 1, of="the layer for an array with gaps in memory")  # fmt: skip
    x, mask, own, heads = layer_case(40, 5, 8, 2, 3)
    same_layer(student.layer_forward, 1e6 * x, mask, own, heads=heads, tokens=mask == 1,
               mistakes=ON_LARGE_NUMBERS,
               of="the tokens of a layer, for numbers near 1,000,000")  # fmt: skip
    for scale, how in SETTINGS_IN_FLOAT32:
        x, mask, own, heads = layer_case(2, 3, 6, 2, 5, scale=scale, dtype=np.float32)
        same_layer(student.layer_forward, x, mask, quiet(own) if scale < 1 else own, heads=heads,
                   **how, tolerance=1e-3 if scale < 1 else 1e-4,
                   of=f"the layer in float32, for numbers near {scale:g}, {how}")  # fmt: skip
    same_layer(student.layer_forward, x / np.float32(scale), mask, off_center(own, 1e3),
               heads=heads, tolerance=5e-3,
               of="the layer in float32, where the means of what is normalized are 1,000"
               )  # fmt: skip
    x, mask, own, heads = layer_case(40, 5, 8, 2, 3, dtype=np.float32)
    mask[1] = 0
    out = student.layer_forward(x, mask, own, heads=heads)
    checks.that(bool(np.isfinite(out).all()),
                "in float32 an example that is all padding is not finite")  # fmt: skip
    loud = np.where(mask[:, :, None] == 0, np.float32(1e10), np.float32(100)) * x
    same_layer(student.layer_forward, loud, mask, own, heads=heads, tokens=mask == 1,
               mistakes=ON_LARGE_NUMBERS, tolerance=5e-2,
               of="the tokens of a layer in float32 whose padding holds large numbers"
               )  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_your_layer_backward_on_any_input(student):
    x, own = example()
    dout = np.zeros_like(x)
    dout[0, 0, 0] = 1
    dx, found = formed(student.layer_backward)(dout, x, np.array([[1, 1]]), own, heads=2)
    checks.same(dx, np.array([[[0.2594, -0.3798, -0.0795, 0.1624],
                               [0.0124, 0.0052, 0.0028, 0.0028]]]),
                of="dx of the example of the page", tolerance=1e-4)  # fmt: skip
    checks.same(found["attention.self.value.bias"], np.array([0.0947, -0.1265, -0.0258, 0.0576]),
                of="a gradient of the example of the page", tolerance=1e-4)  # fmt: skip
    for sizes in SIZES:
        for scale in (1.0, 1e-6):
            x, mask, own, heads = layer_case(*sizes, scale=scale)
            dout = checks.rng(10).normal(size=x.shape)
            for how in SETTINGS_OF_A_LAYER:
                for given in (mask, np.ones_like(mask)):
                    same_layer(student.layer_backward, dout, x, given, own, heads=heads, **how,
                               of=f"the gradients, for numbers near {scale:g}, {how or 'defaults'}",
                               tolerance=1e-6 if scale < 1 else 1e-9)  # fmt: skip
    x, mask, own, heads = layer_case(3, 5, 8, 2, 3)
    dout = checks.rng(10).normal(size=x.shape)
    same_layer(student.layer_backward, dout, x, mask, off_center(own), heads=heads, tolerance=1e-8,
               of="the gradients, where the means of what is normalized are 10,000")  # fmt: skip
    of_tokens = np.where(mask[:, :, None] == 0, 0.0, dout)
    loud = np.where(mask[:, :, None] == 0, 1e50 * x, x)
    same_layer(
        student.layer_backward,
        of_tokens,
        loud,
        mask,
        own,
        heads=heads,
        of="the gradients of the tokens of a layer whose padding holds large numbers",
    )
    mask[1], of_tokens[1] = 0, 0
    dx, found = formed(student.layer_backward)(dout, x, mask, own, heads=heads)
    checks.that(all(np.isfinite(gradient).all() for gradient in (dx, *found.values())),
                "the gradients are not finite where one example is all padding",
                likely="the attention weights of that example are 0 / 0, and its NaN reaches the "
                       "gradient of every weight")  # fmt: skip
    same_layer(
        student.layer_backward,
        of_tokens,
        x,
        mask,
        own,
        heads=heads,
        of="the gradients of the tokens of a layer where one example is all padding",
    )
    for scale, how in SETTINGS_IN_FLOAT32:
        x, mask, own, heads = layer_case(2, 3, 6, 2, 5, scale=scale, dtype=np.float32)
        # The norms divide by tiny deviations: the gradients are near 1 all the same.
        dout = (scale * checks.rng(10).normal(size=x.shape)).astype(np.float32)
        same_layer(student.layer_backward, dout, x, mask, quiet(own) if scale < 1 else own,
                   heads=heads, **how, tolerance=1e-3,
                   of=f"the gradients in float32, for numbers near {scale:g}, {how}")  # fmt: skip
    call = student.layer_backward.trace(0 * dout, x, mask, own, heads=heads)
    checks.same(call.value, (0 * x, {name: 0 * w for name, w in own.items()}),
                of="the gradients in float32 where dout is 0")  # fmt: skip
    checks.that(not call.shared, "where dout is 0 it returns an array that it was given")
    mask[1] = 0
    dx, found = formed(student.layer_backward)(dout, x, mask, own, heads=heads)
    checks.that(all(np.isfinite(gradient).all() for gradient in (dx, *found.values())),
                "in float32 the gradients are not finite where one example is all padding"
                )  # fmt: skip


# --- All together ---


@cache
def corner():
    return story_data(("geography_lesson", "pet_at_home"), documents=60, vocab_size=260,
                      seq_length=32)  # fmt: skip


def all_together(student, steps):
    """A training with all of the student's functions; not yet begun."""
    data = corner()
    config = small(2, 32, 2, 64, data.tokenizer.get_vocab_size())
    peak = 3e-3 * (1 + checks.anew(1000) / 10_000)
    recipe = Recipe(config, steps=steps, batch_size=8, peak=peak, warmup_steps=5, dtype="float64")
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


@pytest.mark.hint(5)
@pytest.mark.weight(6)
def test_with_all_of_your_functions_the_loss_follows_the_reference(student):
    losses = np.array(list(side_by_side(*all_together(student, 12))))  # (steps, trainings, tasks)
    theirs, ours = losses[:, 0], losses[:, 1]
    checks.same(
        theirs,
        ours,
        of="the losses of 12 steps on StoryWorld (masked words, next sentence)",
        mistakes=lambda: parts_that_differ(student),
        tolerance=1e-6,
    )


@pytest.mark.hint(5)
@pytest.mark.weight(4)
def test_with_all_of_your_functions_a_bert_learns(student):
    # Over 100 draws of the masks it falls by 0.48 ± 0.08, without learning by 0.01 ± 0.02.
    losses = np.array([words for ((words, _),) in train(*all_together(student, 30))])
    first, last = float(losses[0]), float(losses[-5:].mean())
    checks.that(last < first - 0.1,
                f"the loss of masked words was {first:.3f} before training and is {last:.3f} after "
                "30 steps: expected it to fall by 0.1 or more")  # fmt: skip


def test_none_of_your_functions_leaves_anything_behind(student):
    rng = checks.rng(8)
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
    probs = attend(q, k, v, mask)[1]
    for function, *inputs in (
        (student.layer_norm_forward, x, weight, bias),
        (student.layer_norm_backward, dout, x, weight),
        (student.gelu_forward, x), (student.gelu_backward, dout, x),
        (student.attention_forward, q, k, v, mask),
        (student.attention_backward, dcontext, q, k, v, probs),
        (student.lookup_backward, dout, ids, 9), (student.clip_gradients, own, 0.5),
        (student.masked_cross_entropy_forward, logits, labels, used),
        (student.masked_cross_entropy_backward, 1.0, logits, labels, used),
    ):  # fmt: skip
        checks.leaves_no_trace(function, *inputs)
    checks.leaves_no_trace(student.layer_forward, x, mask, own, **more)
    checks.leaves_no_trace(student.layer_backward, dout, x, mask, own, **more)
    for other in ({"approximation": "tanh"}, {"eps": 0.1}, {"heads": 3}, {"heads": 1}):
        checks.same(student.layer_forward(x, mask, own, **more | other),
                    layer(x, mask, own, **more | other), tolerance=1e-9,
                    of=f"the layer, after calls with other settings, with {other}")  # fmt: skip
        checks.same(student.layer_backward(dout, x, mask, own, **more),
                    layer_back(dout, x, mask, own, **more), tolerance=1e-9,
                    of=f"the gradients, after a forward of the same arrays with {other}",
                    mistakes={"the backward takes what that forward has kept: it is to compute it "
                              "again": lambda out: True})  # fmt: skip
    checks.leaves_no_trace(student.adam_step, own, own, state, learning_rate=0.1)
    checks.leaves_no_trace(student.mask_tokens, ids + 5, Rng(7), mask_id=MASK, vocab_size=VOCAB,
                           special_ids=SPECIALS)  # fmt: skip


def right_by_default(right):
    return lambda *given, heads, **how: right(*given, heads=heads, **{**DEFAULTS, **how})


def layers_of_any_kind(*, is_backward):
    """Small layers: equal examples or tokens, as many tokens in each example at other places,
    zeros, weights as they are before training, sizes that are equal; some in float32."""
    rng = checks.rng(12)
    dense = ("attention.self.query", "attention.self.key", "attention.self.value",
             "attention.output.dense", "intermediate.dense", "output.dense")  # fmt: skip
    for number in range(21):
        batch, seq, hidden, heads, wide = (
            (3, 4, 6, 2, 5), (4, 4, 4, 4, 4), (2, 8, 16, 4, 32), (6, 2, 8, 2, 8), (3, 3, 12, 3, 4),
        )[number % 5]  # fmt: skip
        x, _, own, _ = layer_case(batch, seq, hidden, heads, wide)
        kind, of = number % 8, "random numbers"
        if kind == 0:
            x, of = np.repeat(x[:1], batch, axis=0), "equal examples"
        elif kind == 1:
            x[-1], x[1, :] = x[0], x[1, :1]
            of = "two equal examples, and one of equal tokens"
        elif kind == 2:
            x[0, 1:], x[-1], of = 0, 0, "zeros but for some tokens"
        elif kind == 3:
            own = {n: w * (w.ndim == 2) + n.endswith("LayerNorm.weight") for n, w in own.items()}
            of = "biases of 0 and scales of 1"
        elif kind == 4:
            none = dense[number // 8 :: 3]
            own = {n: w * (n.removesuffix(".weight") not in none) for n, w in own.items()}
            of = f"0 as the weights of {' and '.join(none)}"
        elif kind == 5:
            x, of = 100 * -np.abs(x).round(1), "negative numbers"
        mask = np.ones((batch, seq), int)
        mask[1:-1, 1:] = number % 2  # the first and the last example have no padding
        if number % 3 == 1:  # as many in each example
            mask = rng.permuted(np.arange(seq) < rng.integers(1, seq, (1, 1)) + 0 * mask, axis=1)
        elif number % 3 == 2:
            mask[0], mask[-1] = np.arange(seq) == seq - 1, np.arange(seq) == 0
        if number in (8, 16):
            mask[:], of = mask[0], "equal examples, their masks too"
        elif number == 6:
            x, of = np.where(mask[:, :, None] == 0, 1e5 * x, x), "large numbers at padding"
        dtype = (np.float64, np.float32)[number // 8 % 2]
        x, own = x.astype(dtype), {n: w.astype(dtype) for n, w in own.items()}
        mask = mask.astype((np.int8, np.int64, np.int16, np.int32)[number % 4])
        given = x, mask, own
        if is_backward:
            dout = rng.normal(size=x.shape)
            dout[0] *= number % 5 != 1
            dout[:, :-1] *= number % 5 != 2
            given = dout.astype(dtype), *given
        how = ({}, {"eps": 0.5, "approximation": "tanh"}, {"eps": 0.01})[number // 2 % 3]
        yield sweep.Case(
            f"a layer of {of}, (batch, seq, hidden) {x.shape}", given, {"heads": heads} | how,
            magnitude=float(is_backward))  # fmt: skip


def test_your_layer_on_inputs_of_any_size(student):
    draw = sweep.Draw(11)

    def cases(*, is_backward):
        for number in range(18):
            batch, seq, heads, head_dim, wide = draw.shape(5)
            if number > 7:
                batch, seq, heads, head_dim, wide = [
                    (300, 2, 2, 2, 3),
                    (1, 601, 1, 2, 2),
                    (2, 3, 40, 2, 3),
                    (2, 3, 2, 60, 3),
                    (2, 3, 2, 2, 4_099),
                    (600, 3, 1, 3, 2),
                    (1, 3, 4, 32, 4),  # hidden sizes of real models, with other numbers of heads
                    (2, 2, 3, 128, 3),
                    (1, 2, 6, 128, 2),
                    (1_501, 3, 1, 3, 2),  # 4,503 tokens
                ][number - 8]
            hidden = heads * head_dim * (2 if heads * head_dim < 3 else 1)
            x, _, own, _ = layer_case(batch, seq, hidden, heads, wide)
            own = {n: w / w.shape[1] ** 0.5 if w.ndim == 2 else w for n, w in own.items()}
            has_zeros = number % 5 == 2
            if has_zeros:
                own = with_a_row_of_zeros(own)
            mask = draw.mask(batch, seq, dtype=draw.rng.choice(["int64", "int32", "uint8"]))
            given, size = (
                (x * 10.0 ** draw.rng.integers(-2, 3), mask, own),
                10.0 ** draw.rng.integers(-15, 60),
            )
            if number % 3 == 1:
                own["intermediate.dense.weight"] *= 1e5
            if is_backward:
                given = size * draw.rng.normal(size=x.shape), *given
            yield sweep.Case(
                f"(batch, seq, hidden) {x.shape}, {heads} heads, intermediate {wide}"
                + ", the first row of each weight 0" * has_zeros,
                given,
                {
                    "heads": heads,
                    "eps": float(draw.rng.choice([1e-12, 1e-5, 0.1])),
                    "approximation": str(draw.rng.choice(["none", "tanh"])),
                },
                magnitude=size if is_backward else 0.0,
            )

    for is_backward, function, right in ((False, student.layer_forward, layer),
                                         (True, student.layer_backward, layer_back)):  # fmt: skip
        names = ("dx", "gradients") if is_backward else ()
        sweep.agrees(function, right, cases(is_backward=is_backward), names=names)
        sweep.agrees(
            function, right_by_default(right), layers_of_any_kind(is_backward=is_backward),
            names=names,
        )  # fmt: skip
    for sizes in ((1, 3, 4, 2, 5), (2, 2, 6, 3, 3)):
        for dtype in (np.float64, np.float32):
            x, mask, own, heads = layer_case(*sizes, dtype=dtype)
            out = formed(student.layer_forward)(x, 0 * mask, own, heads=heads)
            dx, found = formed(student.layer_backward)(x, x, 0 * mask, own, heads=heads)
            checks.that(all(np.isfinite(part).all() for part in (out, dx, *found.values())),
                        f"where all {len(x)} examples are all padding, something is not finite",
                        likely="columns without a token are cut off, and no column is left, or 0 / "
                               "0 is computed")  # fmt: skip
