"""BERT's Adam: the schedule, the clip, and several steps in a row from a state that is a value."""

import math
from functools import partial
from itertools import cycle, product

import numpy as np
import pytest

from autograder import checks, sweep
from bert_numpy import optimizer
from bert_run.config import AdamSettings, BertConfig, parameter_shapes
from bert_run.training_loop import learning_rate

SHAPES = {
    "bert.embeddings.word_embeddings.weight": (5, 3),
    "bert.embeddings.LayerNorm.weight": (3,),
    "bert.embeddings.LayerNorm.bias": (3,),
    "bert.encoder.layer.0.attention.self.query.weight": (3, 3),  # same shape as the key's
    "bert.encoder.layer.0.attention.self.key.weight": (3, 3),
    "bert.encoder.layer.0.intermediate.dense.bias": (3,),
    "bert.encoder.layer.0.attention.output.LayerNorm.weight": (3,),
    "cls.predictions.bias": (5,),
    # The name decides, not the shape: biases and scales that are matrices, a weight that is none.
    "bert.relative.bias": (2, 3),
    "bert.LayerNorm.per_head.weight": (2, 2),
    "bert.gate.weight": (4,),
    "bert.unbiased.weight": (3, 2),
}
WORDS, NORM, _, QUERY, KEY, *_ = SHAPES


def arrays(seed, *, scale=1.0, dtype=np.float64):
    rng = checks.rng(seed)
    return {name: (scale * rng.normal(size=shape)).astype(dtype) for name, shape in SHAPES.items()}


def reference(weights, history, rate, *, correct_bias=False, **settings):
    """The chapter's optimizer, which works in place: on copies."""
    names = {"eps": "epsilon"}
    settings = AdamSettings(**{names.get(name, name): value for name, value in settings.items()})
    moved = {name: w.copy() for name, w in weights.items()}
    adam = optimizer.Adam.start(moved, settings, correct_bias=correct_bias)
    for gradients in history:
        adam.update(moved, gradients, learning_rate=rate)
    return moved, {"m": adam.first_moments, "v": adam.second_moments}


def wrong_run(weights, history, rate, *, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01,
               decayed=lambda name: not name.endswith("bias") and "LayerNorm" not in name,
               denominator=lambda v, eps: np.sqrt(v) + eps, l2=False, decay_rate=None,
               second=lambda m, g: g * g, forgets=False, late=False, state=None):  # fmt: skip
    """The weights and the state after the same steps, one thing about them being wrong."""
    weights = dict(weights)
    m = v = {name: np.zeros_like(w) for name, w in weights.items()}
    if state is not None:
        m, v = state["m"], state["v"]
    for gradients in history:
        if forgets:
            m = v = {name: np.zeros_like(w) for name, w in weights.items()}
        decay = {n: weight_decay * w if decayed(n) else 0 * w for n, w in weights.items()}
        g = {n: gradients[n] + (decay[n] if l2 else 0) for n in weights}
        m = {n: beta1 * m[n] + (1 - beta1) * g[n] for n in weights}
        v = {n: beta2 * v[n] + (1 - beta2) * second(m[n], g[n]) for n in weights}
        for n, w in weights.items():
            weights[n] = w - rate * m[n] / denominator(v[n], eps)
            if late:
                decay[n] = weight_decay * weights[n] if decayed(n) else 0 * w
            weights[n] = weights[n] - (rate if decay_rate is None else decay_rate) * decay[n] * (
                not l2
            )
    return weights, {"m": m, "v": v}


def wrong_step(*args, **kwargs):
    return wrong_run(*args, **kwargs)[0]


def mistakes(weights, history, rate, **settings):
    given = weights, history, rate

    def wrong(**changes):
        return wrong_step(*given, **settings | changes)

    defaults = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-6, "weight_decay": 0.01}
    ignored = {
        f"{name} is not used: {value} is written in": wrong(**{name: value})
        for name, value in defaults.items()
        if settings.get(name, value) != value
    }
    return ignored | {
        "bias correction: BERT's Adam does not divide by 1 - beta**t": (
            reference(*given, correct_bias=True, **settings)[0]),
        "eps stands inside the root: it is added to √v": (
            wrong(denominator=lambda v, eps: np.sqrt(v + eps))),
        "eps is left out": wrong(denominator=lambda v, eps: np.sqrt(v)),
        "the root of v is missing": wrong(denominator=lambda v, eps: v + eps),
        "the decay is added to the gradient (L2): it belongs to the step, apart from m and v": (
            wrong(l2=True)),
        "the decay is added to the gradient (L2), of biases and layer norms too: it belongs to the "
        "step, and only to that of other weights": wrong(l2=True, decayed=lambda name: True),
        "the decay is not multiplied by the learning rate": wrong(decay_rate=1.0),
        "there is no weight decay": wrong(weight_decay=0.0),
        "the sign of the decay is wrong: weights grow": wrong(
            weight_decay=-settings.get("weight_decay", 0.01)),
        "biases and layer norms are decayed too": wrong(decayed=lambda name: True),
        "biases are decayed too": wrong(decayed=lambda name: "LayerNorm" not in name),
        "layer norms are decayed too: a name that is looked for never matches LayerNorm.weight": (
            wrong(decayed=lambda name: not name.endswith("bias"))),
        "the number of axes decides which weights are decayed: the name is to decide": wrong(
            decayed=lambda name: weights[name].ndim >= 2),
        '"bias" is looked for anywhere in the name: biases are names that end in it': wrong(
            decayed=lambda name: "bias" not in name and "LayerNorm" not in name),
        "LayerNorm is looked for at the end of the name: it may stand anywhere": wrong(
            decayed=lambda n: not n.endswith(("bias", "LayerNorm.weight"))),
        "the decay is that of the weight after the step: the weight before it is to shrink": (
            wrong(late=True)),
        "the embeddings are not decayed: only biases and layer norms are left out": wrong(
            decayed=lambda n: not n.endswith("bias") and "LayerNorm" not in n and "emb" not in n),
        "v collects the gradient, not its square": wrong(second=lambda m, g: np.abs(g)),
        "v collects the square of m, not of the gradient": wrong(second=lambda m, g: m * m),
        "the betas are exchanged": wrong(beta1=settings.get("beta2", 0.999),
                                         beta2=settings.get("beta1", 0.9)),
        "the state of the step before is not used": wrong(forgets=True),
        "the gradient is followed uphill: the step is taken off": reference(weights, history, -rate,
                                                                              **settings)[0],
    }  # fmt: skip


def same_weights(found, given, *, of, **settings):
    """Mistakes are computed only where they are needed."""
    right = reference(*given, **settings)[0]
    is_wrong = bool(checks.difference(found, right, of, None))
    checks.same(found, right, of=of,
                mistakes=mistakes(*given, **settings) if is_wrong else {})  # fmt: skip


def run(student, weights, history, rate, **settings):
    """The student's optimizer, as a training loop calls it."""
    state = student.start_adam(weights)
    for gradients in history:
        out = student.adam_step(weights, gradients, state, learning_rate=rate, **settings)
        weights, state = checks.parts(out, "the weights", "the state")
    return weights, state


def only_m_and_v(state):
    """The moments of a state; the student may keep a count of steps beside them."""
    checks.that(type(state) is dict and {"m", "v"} <= state.keys(),
                f"the state: expected a dict with m and v, got {sorted(state)}"
                if type(state) is dict else "the state: expected a dict")  # fmt: skip
    return {"m": state["m"], "v": state["v"]}


def curve(peak, warmup, total, *, first=1, start=None, end=None):
    """The rates of steps 0 to total. `first` is added to the step during warm-up; the fall begins
    at `start` and ends at `end`."""
    start, end = warmup if start is None else start, total if end is None else end
    return [peak * (step + first) / warmup if step < warmup
            else peak * (end - step) / (end - start) for step in range(total + 1)]  # fmt: skip


@pytest.mark.weight(2)
def test_the_rate_rises_to_its_peak_and_falls_in_straight_lines(student):
    # The second differs from the first in `warmup` alone, the third from that in `total`.
    for peak, warmup, total in [(2.0, 5, 13), (2.0, 4, 13), (2.0, 4, 11), (1e-4, 10, 40),
                                (5e-5, 0, 7), (3.0, 1, 3), (0.5, 6, 7)]:  # fmt: skip
        right = [learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total)
                 for step in range(total + 1)]  # fmt: skip
        rises = [peak * (step + 1) / warmup if step < warmup else peak for step in range(total + 1)]
        sinking = [peak * (1 - step / total) for step in range(total + 1)]
        early = sinking, sinking[:warmup] + right[warmup:], [peak] * warmup + right[warmup:]
        wrong = {
            "there is no warm-up": lambda out, early=early: any(
                not checks.difference(out, wrong, "", 1e-15) for wrong in early),
            "the rate of the first step is 0: count from step + 1 during warm-up": (
                curve(peak, warmup, total, first=0)),
            "the fall is counted from step 0: the rate jumps down where the warm-up ends": (
                curve(peak, warmup, total, start=0)),
            "there is no fall: the rate stays at its peak": rises,
            "the fall is a step late: it is 0 at total_steps, not after it": (
                curve(peak, warmup, total, end=total + 1)),
            "the fall is a step early: it is 0 at total_steps, not before it": (
                [rate if step < warmup else peak * (total - 1 - step) / (total - warmup)
                 for step, rate in enumerate(right)]),
            "the fall begins a step early: the rate is at its peak at step warmup_steps": (
                curve(peak, warmup, total, start=warmup - 1)),
        }  # fmt: skip
        if warmup == 0:
            wrong["a warm-up of 0 steps is taken for one of 1"] = curve(peak, 1, total)
        rates = [student.learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total)
                 for step in range(total + 1)]  # fmt: skip
        checks.same(
            rates, right, of=f"the rates for peak {peak:g}, warm-up {warmup}, total {total}, step",
            mistakes=wrong, tolerance=1e-15,
        )  # fmt: skip


@pytest.mark.weight(2)
def test_one_factor_clips_all_gradients(student):
    gradients = arrays(4)
    for name, factor in zip(SHAPES, [3.0, 0.1, 1, 1, 0.01], strict=False):
        gradients[name] *= factor
    norms = {name: math.sqrt((g * g).sum()) for name, g in gradients.items()}
    whole = math.sqrt(sum(norm * norm for norm in norms.values()))
    for limit in (1.0, 0.3, 2, whole * (1 - 5e-10)):
        clipped = {name: g * (limit / whole) for name, g in gradients.items()}

        def each(factor):
            return {name: g * factor(name) for name, g in gradients.items()}

        near = {"a norm that is only a little above max_norm is above it": gradients}
        named = (near if limit > 0.99 * whole else {}) | {
            "each parameter is clipped by itself: one factor for all": each(
                lambda n: min(1, limit / norms[n])),
            "each number is clipped: scale all by one factor": {
                name: g.clip(-limit, limit) for name, g in gradients.items()},
            "the norms of the parameters are added up: their squares add up to the whole's": each(
                lambda n: limit / sum(norms.values())),
            "the root of the norm is missing": each(lambda n: limit / whole**2),
            "max_norm is not used: 1 is written in": each(lambda n: 1 / whole),
            "something is added to the norm, as torch does": lambda out: any(
                not checks.difference(out, {n: g * (limit / (whole + small))
                                            for n, g in gradients.items()}, "", None)
                for small in (1e-6, 1e-7, 1e-8)),
            "nothing is clipped": gradients,
        }  # fmt: skip
        out = student.clip_gradients(gradients, limit)
        found, norm = checks.parts(out, "the gradients", "the norm")
        checks.same(found, clipped, of=f"the gradients clipped to {limit}", mistakes=named)
        checks.same(norm, whole, of="the norm", mistakes=lambda: {
            "the norm after clipping was returned: the one before is asked for": limit,
            "the square of the norm was returned": whole**2,
        })  # fmt: skip
    alike = {"a.weight": np.array([3.0, 4.0]), "b.weight": np.array([4.0, 3.0])}
    norm = checks.parts(student.clip_gradients(alike, 6.0), "the gradients", "the norm")[1]
    checks.same(norm, 50**0.5, of="the norm of [3, 4] and [4, 3]", mistakes={
        "gradients whose squares add up alike count once": 5.0})  # fmt: skip


@pytest.mark.weight(2)
def test_small_gradients_stay_as_they_are(student):
    for scale, limit in ((1e-3, 1.0), (1.0, 1e3), (1.0, 16.0), (0.0, 1.0)):
        gradients = arrays(4, scale=scale)
        whole = math.sqrt(sum((g * g).sum() for g in gradients.values()))
        found, norm = checks.parts(
            student.clip_gradients(gradients, limit), "the gradients", "the norm"
        )
        checks.same(
            found,
            gradients,
            of=f"gradients of norm {whole:.3g} below max_norm {limit:g}",
            mistakes={
                "gradients are always scaled to max_norm: only those of a larger norm": (
                    lambda out, g=gradients, whole=whole, limit=limit: (
                        whole > 0 and np.allclose(out[WORDS], g[WORDS] * limit / whole, rtol=1e-3)
                    )
                ),
                "0 / 0: gradients of norm 0 are below every max_norm": (
                    lambda out, whole=whole: whole == 0 and bool(np.isnan(out[WORDS]).all())
                ),
            },
            tolerance=1e-14,
        )
        checks.same(norm, whole, of="the norm")


@pytest.mark.hint(1)
@pytest.mark.weight(4)
def test_steps_are_those_of_the_released_code(student):
    weights, history = arrays(1), [arrays(seed, scale=0.1) for seed in (2, 3, 4)]
    for steps in (1, 3):
        given = weights, history[:steps], 0.05
        expected = reference(*given)
        found, state = run(student, *given)
        checks.same(found, expected[0], of=f"the weights after {steps} steps",
                    mistakes=lambda: mistakes(*given))  # fmt: skip
        checks.same(only_m_and_v(state), expected[1], of=f"the state after {steps} steps")


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_every_number_of_the_recipe_is_an_argument(student):
    weights, history = arrays(1), [arrays(seed, scale=0.1) for seed in (2, 3, 4)]
    for settings in ({"beta1": 0.5}, {"beta2": 0.9}, {"eps": 0.1}, {"weight_decay": 0.3},
                     {"weight_decay": 0.0}, {"beta1": 0.0, "beta2": 0.5}):  # fmt: skip
        for rate in (0.05, 0.002):
            given = weights, history, rate
            same_weights(run(student, *given, **settings)[0], given, **settings,
                         of=f"the weights after 3 steps with {settings}")  # fmt: skip


def test_the_numbers_of_the_page_come_out(student):
    rates = [student.learning_rate(step, peak=1.0, warmup_steps=4, total_steps=10)
             for step in range(7)]  # fmt: skip
    checks.same(
        rates,
        [0.25, 0.5, 0.75, 1, 1, 0.8333, 0.6667],
        of="the rates, step",
        mistakes=lambda: {
            "the rate of the first step is 0: count from step + 1 during warm-up": [
                0,
                0.25,
                0.5,
                0.75,
                1,
                0.8333,
                0.6667,
            ]
        },
        tolerance=1e-4,
    )
    table = [("dense.weight", 1.681792, 1.255170), ("dense.bias", 1.683792, None)]
    for name, *after in table:
        weights, state = {name: np.array([2.0])}, {"m": {name: np.zeros(1)},
                                                   "v": {name: np.zeros(1)}}  # fmt: skip
        history = [{name: np.array([0.5])}] * 2
        for step, (m, v, w) in enumerate(zip((0.05, 0.095), (0.00025, 0.00049975), after,
                                             strict=True), 1):  # fmt: skip
            if w is None:
                break
            out = student.adam_step(weights, history[0], state, learning_rate=0.1)
            weights, state = checks.parts(out, "the weights", "the state")
            named = mistakes({name: np.array([2.0])}, history[:step], 0.1)
            numbers = {mistake: wrong[name].item() for mistake, wrong in named.items()}
            named = {
                mistake: wrong
                for mistake, wrong in named.items()
                if abs(numbers[mistake] - w) > 1e-4  # and no other gives the same number
                and sum(abs(numbers[mistake] - n) < 1e-4 for n in numbers.values()) == 1
            }
            checks.same(weights, {name: np.array([w])}, of=f"the weights after step {step}",
                        mistakes=named, tolerance=1e-6)  # fmt: skip
            right = {"m": {name: np.array([m])}, "v": {name: np.array([v])}}
            checks.same(only_m_and_v(state), right, of=f"the state after step {step}",
                        tolerance=1e-8)  # fmt: skip


@pytest.mark.weight(2)
def test_a_run_is_resumed_from_its_state(student):
    weights, gradients = arrays(1), arrays(2, scale=0.1)
    state = {"m": arrays(3, scale=0.1), "v": {n: a * a for n, a in arrays(4, scale=0.1).items()}}
    backward = {name: gradients[name] for name in reversed(gradients)}  # in another order
    for given, of in ((gradients, ""), (backward, ", the gradients being in another order")):
        m = {n: 0.9 * state["m"][n] + 0.1 * gradients[n] for n in weights}
        v = {n: 0.999 * state["v"][n] + 0.001 * gradients[n] ** 2 for n in weights}
        out = student.adam_step(weights, given, state, learning_rate=0.05)
        found, after = checks.parts(out, "the weights", "the state")
        checks.same(
            only_m_and_v(after), {"m": m, "v": v}, of=f"the state after a step{of}",
            mistakes={"the gradients are taken in the order of their dict, not by their names": (
                lambda out: True)} if of else {"the state that comes in is not used": {
                "m": {n: 0.1 * g for n, g in gradients.items()},
                "v": {n: 0.001 * g**2 for n, g in gradients.items()}}},
        )  # fmt: skip
        checks.same(
            found, wrong_step(weights, [gradients], 0.05, state=state),
            of=f"the weights after a step{of}",
            mistakes=lambda: {
                "the state that comes in is not used": wrong_step(weights, [gradients], 0.05),
                "the number of the step is known from elsewhere: only the state may be used": (
                    reference(weights, [gradients], 0.05, correct_bias=True)[0]),
            },
        )  # fmt: skip


@pytest.mark.weight(2)
def test_tiny_zero_and_huge_gradients_are_fine(student):
    weights = arrays(1)
    for scale in (1e-7, 0.0, 1e6):
        history = [arrays(seed, scale=scale) for seed in (2, 3)]
        given = weights, history, 0.05
        named = {} if scale else {"0 / 0: eps is added to √v, also where v is 0": (
            lambda out: bool(np.isnan(out[WORDS]).all()))}  # fmt: skip
        checks.same(
            run(student, *given)[0],
            reference(*given)[0],
            of=f"the weights after gradients of about {scale:g}",
            mistakes=lambda: named | mistakes(*given),
        )


@pytest.mark.hint(2)
def test_at_a_rate_of_zero_nothing_moves_but_the_state_does(student):
    weights, history = arrays(1), [arrays(2)]
    expected = reference(weights, history, 0.0)
    found, state = run(student, weights, history, 0.0)
    checks.same(found, weights, of="the weights after a step of rate 0", mistakes=lambda: {
        "the decay is not multiplied by the learning rate": (
            wrong_step(weights, history, 0.0, decay_rate=1.0))})  # fmt: skip
    checks.same(only_m_and_v(state), expected[1], of="the state after a step of rate 0")


@pytest.mark.weight(2)
def test_no_weight_shares_its_state_with_another(student):
    weights = arrays(1)
    checks.same(
        only_m_and_v(student.start_adam(weights)),
        {kind: {name: np.zeros_like(w) for name, w in weights.items()} for kind in "mv"},
        of="the first state",
    )
    history = [arrays(2), {name: 0 * g for name, g in arrays(2).items()}]
    history[0] |= {name: 0 * history[0][name] for name in SHAPES if name != QUERY}
    expected = reference(weights, history, 0.05)
    found, state = run(student, weights, history, 0.05)

    named = {
        "the decay is added to the gradient (L2): it belongs to the step, apart from m and v": (
            wrong_run(weights, history, 0.05, l2=True)[1]
        ),
        "the decay is added to the gradient (L2), of biases and layer norms too: it belongs to the "
        "step, and only to that of other weights": (
            wrong_run(weights, history, 0.05, l2=True, decayed=lambda name: True)[1]
        ),
        "weights of the same shape share a state: each name has its own": lambda out: (
            bool((out["m"][KEY] != 0).any() or (out["v"][KEY] != 0).any())
            and not (out["m"][WORDS] != 0).any()
        ),
    }
    checks.same(only_m_and_v(state), expected[1], of="the state", mistakes=named)
    checks.same(
        found, expected[0], of="the weights", mistakes=lambda: mistakes(weights, history, 0.05)
    )


def test_float32_stays_float32(student):
    weights, gradients = arrays(1, dtype=np.float32), arrays(2, dtype=np.float32)
    expected = reference(weights, [gradients], 0.05)
    named = {"the result is float64 for float32: np.zeros needs the type of the weights": (
        lambda out: any(w.dtype == np.float64 for w in out.values())
        and all(np.allclose(out[n], w, atol=1e-4) for n, w in expected[0].items()))}  # fmt: skip
    clipped, norm = checks.parts(
        student.clip_gradients(gradients, 1.0), "the gradients", "the norm"
    )
    whole = math.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients.values()))
    checks.same(clipped, {n: (g / whole).astype(np.float32) for n, g in gradients.items()},
                of="the clipped float32 gradients")  # fmt: skip
    checks.same(norm, whole, of="the norm of float32 gradients", tolerance=1e-5)
    found, state = run(student, weights, [gradients], 0.05)
    checks.same(found, expected[0], of="the weights", mistakes=named)
    checks.same(only_m_and_v(state), expected[1], of="the state")
    betas = {"beta1": 0.999, "beta2": 0.9999}
    _, state = run(student, weights, [gradients], 0.05, **betas)
    for kind, beta, power in (("m", 0.999, 1), ("v", 0.9999, 2)):
        for name, g in gradients.items():
            part = state[kind][name] / (1 - beta) / g.astype(np.float64) ** power
            checks.same(part, np.ones_like(part), tolerance=3e-6,
                        of=f"{kind}[{name!r}] after a step with {betas}, divided by what it should "
                           "be",
                        mistakes={"1 - beta is taken in float32, in which beta has lost digits": (
                            1 - np.float32(beta)) / (1 - beta) * np.ones_like(part)}
                        )  # fmt: skip


@pytest.mark.weight(2)
def test_zeros_are_values_and_names_are_taken_as_they_are(student):
    gradients = arrays(4)
    whole = math.sqrt(sum((g * g).sum() for g in gradients.values()))
    found, norm = checks.parts(student.clip_gradients(gradients, 0.0), "the gradients", "the norm")
    checks.same(found, {name: 0 * g for name, g in gradients.items()},
                of="the gradients clipped to 0",
                mistakes={"max_norm=0 is taken for no limit": gradients})  # fmt: skip
    checks.same(norm, whole, of="the norm")
    names = ("layernorm.weight", "LAYERNORM.weight", "qkv_bias", "bias", "bias.weight",
             "MyLayerNorm2.weight", "dense.BIAS", "beta_net.weight", "dense.gamma",
             "layer_norm.weight", "LayerNormalization.weight", "x.LayerNorm_1.scale",
             "dense.bias:0", "dense.bias.0", "dense.bias_1", "dense.bias ",
             *(100 * "block." + end for end in ("weight", "kernel")), "bias/", "Layer.Norm",
             "Layer Norm.weight", "dense.bia", "LayerNorm:0", " bias",
             *parameter_shapes(BertConfig(num_hidden_layers=1)))  # fmt: skip
    rng = checks.rng(3)
    weights, gradients, m, v = ({name: rng.random(3) for name in names} for _ in range(4))
    backwards = {name: dict(reversed(of.items())) for name, of in (("m", m), ("v", v))}
    for eps in (1e-6, 0.0):
        out = student.adam_step(weights, gradients, backwards, learning_rate=0.5, eps=eps,
                                weight_decay=0.1)  # fmt: skip
        moved, _ = checks.parts(out, "the weights", "the state")
        expected = wrong_step(weights, [gradients], 0.5, eps=eps, weight_decay=0.1,
                              state={"m": m, "v": v})  # fmt: skip
        same_names = {
            "the state is read in the order of its entries: look up each name": wrong_step(
                weights, [gradients], 0.5, eps=eps, weight_decay=0.1,
                state={key: dict(zip(names, reversed(of.values()), strict=True))
                       for key, of in (("m", m), ("v", v))}),
            "capitals are ignored: LayerNorm is written like this": wrong_step(
                weights, [gradients], 0.5, eps=eps, weight_decay=0.1, state={"m": m, "v": v},
                decayed=lambda n: not n.endswith("bias") and "layernorm" not in n.lower()),
            "layer_norm is another name: LayerNorm is written like this": wrong_step(
                weights, [gradients], 0.5, eps=eps, weight_decay=0.1, state={"m": m, "v": v},
                decayed=lambda n: not n.endswith("bias") and "LayerNorm" not in n
                and "layer_norm" not in n),
            "something is taken off the end of a name, which may be dense.bias:0": wrong_step(
                weights, [gradients], 0.5, eps=eps, weight_decay=0.1, state={"m": m, "v": v},
                decayed=lambda n: not n.split(":")[0].endswith("bias") and "LayerNorm" not in n),
            "a name that ends in bias need not have a point before it": wrong_step(
                weights, [gradients], 0.5, eps=eps, weight_decay=0.1, state={"m": m, "v": v},
                decayed=lambda n: not n.endswith(".bias") and "LayerNorm" not in n),
        }  # fmt: skip
        checks.same(moved, expected, of=f"the weights after a step with eps {eps:g}",
                    mistakes=same_names)  # fmt: skip
    for size, eps in ((1e-30, 0.0), (1e-15, 1e-15)):
        tiny = {name: np.array([size]) for name in names[:1]}
        state = {"m": tiny, "v": {name: np.array([size**2]) for name in tiny}}
        given = {name: np.ones(1) for name in tiny}
        settings = {"eps": eps, "weight_decay": 0.0}
        out = student.adam_step(given, tiny, state, learning_rate=0.5, **settings)
        moved, _ = checks.parts(out, "the weights", "the state")
        checks.same(moved, wrong_step(given, [tiny], 0.5, state=state, **settings),
                    of=f"a weight of 1 after a step with eps {eps:g} and a gradient of {size:g}",
                    mistakes={"eps=0 is taken for the default": given})  # fmt: skip


def clipped(gradients, max_norm):
    norm = math.sqrt(sum(float((g.astype(float) ** 2).sum()) for g in gradients.values()))
    factor = max_norm / norm if norm > max_norm else 1.0
    return {n: (g * factor).astype(g.dtype) for n, g in gradients.items()}, norm


PARTS = ("bias", "LayerNorm", "weight", "Norm", "Layer", "layer", "norm", "gamma", "beta", "scale",
         "kernel", "embeddings", "word_embeddings", "BIAS", "Bias", "biased", "unbias", "b",
         "bias0", "ln_1", "LN", "layer_norm", "layernorm", "RMSNorm", "BatchNorm", "LayerNorm2",
         "pooler", "classifier", "decoder", "self", "0", "11", "1", "é", "")  # fmt: skip
SETTINGS = ({}, {"beta2": 0.0, "eps": 0.1}, {"beta1": 0, "eps": 1, "weight_decay": 1},
            {"beta1": 0.0},
            {"beta1": 0.9, "beta2": 0.999, "eps": 1e-6, "weight_decay": 0.01},
            {"weight_decay": 0, "beta2": 0.5}, {"beta2": 0, "eps": 0.2})  # fmt: skip


def check_names_that_are_nearly_alike(student):
    """Names of the same few parts: any part, or two of them, or the letters or the length of a name
    say nothing about it; and names that lack a letter of the two words, or have one more."""
    rng = checks.rng(62)
    parts = [*product(("LayerNorm", "bias", "dense", "0"), repeat=4),
             *product(("LayerNorm", "Layer1Norm", "bias", "bias1", "dense"), repeat=3)]  # fmt: skip
    for word, other in product(("LayerNorm", "bias"), "1_. Ns"):
        places = range(len(word) + 1)
        parts += [("a", word[:at] + other + word[at:], "b") for at in places]
        parts += [("a", word[:at] + other * (at % 2) + word[at + 1 :]) for at in places]
    names = dict.fromkeys(str(rng.choice([".", "/", "_"])).join(part) for part in parts)
    names = [str(name) for name in rng.permutation([*names])]
    # Of few values, so that several names hold the same.
    weights, gradients, m, v = ({n: rng.choice([0.5, 1.25], 1) for n in names} for _ in range(4))
    given = {"weights": weights, "gradients": gradients, "state": {"m": m, "v": v}}
    out = student.adam_step(**given, learning_rate=0.5, weight_decay=0.4)
    moved, _ = checks.parts(out, "the weights", "the state")
    right = wrong_step(weights, [gradients], 0.5, weight_decay=0.4, state=given["state"])
    checks.same(moved, right, of="the weights with names that are nearly alike", mistakes={
        "a name is taken for another one, which has some of its parts or letters": (
            lambda out: True)})  # fmt: skip


def names_of_parts(rng, count):
    """Names as they stand in checkpoints, and others."""
    ends = (*PARTS, "weight", "weight", "bias")
    found = ((*rng.choice(PARTS, rng.integers(4)), rng.choice(ends)) for _ in range(count))
    return list({str(rng.choice([".", "/", "_", ":", ""])).join(parts): 0 for parts in found})


def values_of_kinds(rng, names, number, dtype):
    """An array for each name: all 0, all alike, with rows of 0 or rows alike, negative, whole …"""
    shapes = [(8, 6), (16,), (1,), (4, 32), (2, 1), (10, 12), (1, 3), (64,), (2, 2, 2)]
    found = {}
    for place, name in enumerate(names):
        x = rng.normal(size=shapes[(place + number) % len(shapes)])
        rows = rng.random((len(x), *[1] * (x.ndim - 1))) < 0.5
        kinds = (x, 0 * x, x / x, rows * x, (x > 0) * x, x * 0 + x[:1], x.round(), -abs(x),
                 (x == x.max()) * x, x - x + x.flat[0], np.concatenate([0 * x[:1], x[1:]]),
                 np.sort(x))  # fmt: skip
        found[name] = kinds[(place + 5 * number) % len(kinds)].astype(dtype)
    return found


def check_names_and_values_of_every_kind(student):
    rng = checks.rng(12)

    found = []
    for number in range(14):
        names = names_of_parts(rng, 8)
        if number in (8, 9):
            names = [WORDS, "bias"][: number - 7]
        elif number % 2:
            names = [*SHAPES, *names][::-1]
        dtype = np.float32 if number % 4 == 3 else np.float64
        found.append([values_of_kinds(rng, names, number, dtype) for _ in range(4)])
    parts = zip(cycle(("", "a.", "b/", "c_")), product(PARTS, (".weight", "/bias", "")))
    names = [f"{first}{part}{end}" for first, (part, end) in parts]
    found[0] = [{name: 0.5 + rng.random(2) for name in names} for _ in range(4)]
    clips = []
    for number, (_, gradients, *_) in enumerate(found):
        norm = clipped(gradients, 1.0)[1]
        none = {n: 0 * g for n, g in gradients.items()}
        same = {n: g - g - 0.5 for n, g in gradients.items()}
        single = {n: g.ravel()[:1] for n, g in gradients.items()}
        limits = ((gradients, 1e300), (single, 1), (gradients, 1), (none, 0.5), (none, 2),
                  (same, 0.25), (gradients, norm / 2), (gradients, 10**9))  # fmt: skip
        given = dict(zip(("gradients", "max_norm"), limits[number % len(limits)], strict=True))
        told = f"{len(gradients)} gradients, max_norm {given['max_norm']:.3g}"
        if number % 3:
            clips.append(sweep.Case(told, tuple(given.values())))
        else:
            clips.append(sweep.Case(told, (), given))
    sweep.agrees(student.clip_gradients, clipped, clips, names=("the gradients", "the norm"))
    for number, (weights, gradients, m, v) in enumerate(found):
        # Where v is 0, so is m, as in a real run.
        state = {"m": m, "v": {n: m[n] ** 2 + v[n] ** 2 for n in m}}
        start = student.start_adam(weights)
        zeros = {n: np.zeros_like(w) for n, w in weights.items()}
        checks.same(only_m_and_v(start), {"m": zeros, "v": zeros}, of="the first state")
        if number % 5 == 4:
            state = {"m": zeros, "v": zeros}
        settings = SETTINGS[number % len(SETTINGS)]
        rate = (0.1, 1, 2e-3)[number % 3]
        given = dict(weights=weights, gradients=gradients, state=state)
        if number % 3:
            out = student.adam_step(*given.values(), learning_rate=rate, **settings)
        else:
            out = student.adam_step(**given, learning_rate=rate, **settings)
        moved, after = checks.parts(out, "the weights", "the state")
        wrong = partial(wrong_run, weights, [gradients], rate, state=state, **settings)
        right, told = wrong(), f"of {len(weights)} weights, rate {rate}, {settings}"

        def decayed_otherwise(all_are, moved=moved, wrong=wrong, right=right[0]):
            other = wrong(decayed=lambda name: all_are)[0]
            return {n: moved[n] if np.allclose(moved[n], w) else right[n] for n, w in other.items()}

        named = {
            "names that neither end in bias nor contain LayerNorm are left out of the decay": False,
            "weights whose names end in bias or contain LayerNorm are decayed": True,
        }
        # v - (1 - beta2) * (v - g * g) is right too, and for a beta2 of 0 less exact.
        precision = 1e-6 if settings.get("beta2") == 0 else None
        checks.same(moved, right[0], of=f"the weights {told}", tolerance=precision,
                    mistakes=lambda: {mistake: decayed_otherwise(all_are)
                                      for mistake, all_are in named.items()})  # fmt: skip
        checks.same(only_m_and_v(after), right[1], of=f"the state {told}")


def test_weights_and_settings_of_any_size(student):
    for total in (1, 2, 4, 6, 8):
        for warmup in sorted({0, 1 % total, total // 2, total - 1}):
            given = {"peak": 0.3, "warmup_steps": warmup, "total_steps": total}
            checks.same([student.learning_rate(step, **given) for step in range(total + 1)],
                        [learning_rate(step, **given) for step in range(total + 1)],
                        of=f"the rates for {given}, step")  # fmt: skip
    draw = sweep.Draw(11)

    def rates():
        for number in range(60):
            total = int(draw.rng.choice([1, 2, 3, 10, 999, 100_000, 10**6]))
            total = 10**7 if number % 8 == 5 else total
            warmup = int(draw.rng.integers(0, total))
            step = int(
                draw.rng.choice(
                    [0, max(0, warmup - 1), warmup, total - 1, total, draw.rng.integers(total)]
                )
            )
            peak = float(10.0 ** draw.rng.uniform(-20, 6)) * (number % 9 > 0)
            yield sweep.Case(
                f"step {step:,}",
                (step,),
                {"peak": peak, "warmup_steps": warmup, "total_steps": total},
            )

    sweep.agrees(student.learning_rate, learning_rate, rates())
    names = [
        "dense.weight",
        "a.bias",
        "LayerNorm.weight",
        "x.LayerNorm.bias",
        "biases",
        "word",
        "",
        "LayerNor",
        "bias.LayerNorm",
        "layer.LayerNorm2.gamma",
        "_bias",
        "unbias",
        "Bias",
        "embeddings",
    ]

    def some(number, scale, dtype):
        shapes = [draw.shape(int(draw.rng.integers(1, 6))) for _ in range(draw.size() + number % 3)]
        if number >= 20:
            shapes = [[(10_007,), (2,)], [(2, 10_007), (10_007, 1)], [(3,)] * 300, [(331, 331)],
                      [(2, 3)], [(331, 331)]][number - 20]  # fmt: skip
        keys = [*draw.rng.permutation(names), *(f"layer.{i}.weight" for i in range(300))]
        return {
            str(key): np.asarray(draw.rng.normal(size=shape) * scale).astype(dtype)
            for key, shape in zip(keys, shapes, strict=False)
        }

    def clips():
        for number in range(24):
            dtype, largest = (np.float32, 12) if number % 4 == 3 else (np.float64, 100)
            gradients = some(number, 10.0 ** draw.rng.integers(-largest, largest), dtype)
            norm = math.sqrt(sum(float((g.astype(float) ** 2).sum()) for g in gradients.values()))
            limit = norm * (1e-9, 0.1, 0.9999, 1.0001, 5.0, 1e9)[number % 6]
            yield sweep.Case(
                f"{len(gradients)} {dtype.__name__} gradients of norm {norm:.2g}, max_norm "
                f"{limit:.2g}",
                (gradients, limit),
            )

    sweep.agrees(student.clip_gradients, clipped, clips(), names=("the gradients", "the norm"))

    def steps():
        for number in range(26):
            dtype = np.float32 if number % 5 == 1 else np.float64
            weights = some(number, 10.0 ** draw.rng.integers(-3, 4), dtype)
            if number == 16:
                weights = dict([*weights.items()][:1])
            scale = 10.0 ** draw.rng.integers(-6, 4)
            state = {
                kind: {
                    n: (draw.rng.random(w.shape) * size).astype(dtype) for n, w in weights.items()
                }
                for kind, size in (("m", scale), ("v", scale**2))
            }
            gradients = {
                n: (draw.rng.normal(size=w.shape) * scale).astype(dtype)
                for n, w in reversed(weights.items())
            }
            for n, g in gradients.items():  # 0 for some numbers, or for some rows
                shape = [g.shape, (), (len(g), *[1] * (g.ndim - 1)), ()][number % 4]
                gradients[n] = g * (draw.rng.random(shape) < 0.5) if shape else g
                if number % 8 == 4:
                    state["v"][n] *= (gradients[n] != 0) | (draw.rng.random(g.shape) < 0.5)
            rate = (0.0, 1e-9, 1e-4, 0.1, 30.0)[(number + number // 5) % 5]
            settings = {"learning_rate": rate}
            if number % 2:
                settings |= {
                    "beta1": float(draw.rng.choice([0.1, 0.5, 0.99])),
                    "beta2": float(draw.rng.choice([0.1, 0.9, 0.99999])),
                    "eps": float(draw.rng.choice([1e-15, 1e-8, 1e-3, 1.0])),
                    "weight_decay": (0.0, 0.3, 20.0)[number // 2 % 3],
                }
            yield sweep.Case(
                f"{len(weights)} weights, {settings}", (weights, gradients, state), settings
            )

    def stepped(
        weights,
        gradients,
        state,
        *,
        learning_rate,
        beta1=0.9,
        beta2=0.999,
        eps=1e-6,
        weight_decay=0.01,
    ):
        new = {}, {}, {}
        for name, w in weights.items():
            g = gradients[name].astype(float)
            m = beta1 * state["m"][name].astype(float) + (1 - beta1) * g
            v = beta2 * state["v"][name].astype(float) + (1 - beta2) * g * g
            decay = 0.0 if name.endswith("bias") or "LayerNorm" in name else weight_decay
            moved = w - learning_rate * (m / (np.sqrt(v) + eps) + decay * w)
            for part, value in zip(new, (moved, m, v), strict=True):
                part[name] = np.asarray(value).astype(w.dtype)
        return new[0], {"m": new[1], "v": new[2]}

    def step(args, options):
        out = student.adam_step(*args, **options)
        found, state = checks.parts(out, "the weights", "the state")
        return found, only_m_and_v(state)

    for number, case in enumerate(steps()):
        # Those of one name may lie in memory in four different ways.
        found = step(sweep.laid_out(case.args, number), case.options)
        right = stepped(*case.args, **case.options)
        precision = sweep.TOLERANCES[sweep.number_type(case.args)]

        def is_right_where_all_lie_alike(out, case=case, right=right, precision=precision):
            alike = step(case.args, case.options)
            return not checks.difference(alike, right, "", precision, 0.0)

        def waits_for_a_gradient(out, case=case, right=right):
            weights, gradients, state = case.args
            return any(
                ((g == 0) & (got == old) & (new != old)).any()
                for n, g in gradients.items()
                for got, old, new in (
                    (out[0][n], weights[n], right[0][n]),
                    (out[1]["m"][n], state["m"][n], right[1]["m"][n]),
                )
            )

        checks.same(
            found,
            right,
            of=f"the weights and the state for {case.of}",
            tolerance=precision,
            magnitude=0.0,
            mistakes={
                "arrays are read in the order in which they lie in memory, and a weight, its "
                "gradient and its moments may lie in different ones": is_right_where_all_lie_alike,
                "where the gradient is 0 nothing is done: m and the decay go on": (
                    waits_for_a_gradient
                ),
            },
        )
    for case in steps():
        state = only_m_and_v(student.start_adam(case.args[0]))
        zeros = {n: np.zeros_like(w) for n, w in case.args[0].items()}
        checks.same(state, {"m": zeros, "v": zeros}, of=f"the first state of {case.of}")
    check_names_and_values_of_every_kind(student)
    check_names_that_are_nearly_alike(student)
    check_a_weight_of_a_million_numbers(student)


def check_a_weight_of_a_million_numbers(student):
    """All numbers are treated alike, also those of a weight as large as BERT's word embeddings (23
    million numbers; here it is 110 times the same 10,007)."""
    few, many = ({"a.weight": np.ones(count, np.float32)} for count in (2, 200))
    short, long = ((x, x, {"m": x, "v": x}) for x in (few, many))
    if (sweep.runs_a_loop(student.adam_step, short, long, learning_rate=0.1)
            or sweep.runs_a_loop(student.clip_gradients, (few, 1.0), (many, 1.0))):  # fmt: skip
        return  # one number after the other, it would take long
    rng = checks.rng(61)
    parts = [{"a.weight": rng.random(10_007, np.float32)} for _ in range(4)]

    def whole(tree):
        return {name: np.tile(part, 110) for name, part in tree.items()}

    w, g, m, v = map(whole, parts)
    out = student.adam_step(w, g, {"m": m, "v": v}, learning_rate=0.1, weight_decay=0.5)
    moved, state = checks.parts(out, "the weights", "the state")
    right, after = wrong_run(parts[0], parts[1:2], 0.1, weight_decay=0.5,
                             state={"m": parts[2], "v": parts[3]})  # fmt: skip
    of = "after a step of a weight of 1,100,770 numbers"
    checks.same(moved, whole(right), of=f"the weights {of}")
    checks.same(only_m_and_v(state), {kind: whole(after[kind]) for kind in "mv"},
                of=f"the state {of}")  # fmt: skip
    norm = clipped(g, 1.0)[1]
    out = student.clip_gradients(g, norm / 2)
    found, its_norm = checks.parts(out, "the gradients", "the norm")
    checks.same(its_norm, norm, of="the norm of 1,100,770 numbers", tolerance=1e-3)
    checks.same(found, whole({"a.weight": parts[1]["a.weight"] / 2}), tolerance=1e-3,
                of="1,100,770 numbers, clipped to half their norm")  # fmt: skip


@pytest.mark.hint(3)
def test_nothing_is_left_behind(student):
    weights, gradients, state = arrays(1), arrays(2), {"m": arrays(3), "v": arrays(4)}
    state["v"] = {name: v * v for name, v in state["v"].items()}
    checks.leaves_no_trace(student.clip_gradients, gradients, 1.0)
    student.learning_rate(step=3, peak=1.0, warmup_steps=2, total_steps=9)  # by their names
    student.start_adam(weights=weights)
    checks.leaves_no_trace(student.learning_rate, 3, peak=1.0, warmup_steps=2, total_steps=9)
    checks.leaves_no_trace(student.start_adam, weights)
    checks.leaves_no_trace(student.adam_step, weights, gradients, state, learning_rate=0.1)
    # Every name has arrays of its own, also where what they hold is alike or stays as it is; equal
    # ones that come in are one object here, as is a weight that stands under two names.
    alike, none = ({name: np.full((2, 3), n) for name in gradients} for n in (1.0, 0.0))
    before = "learning_rate", (3,), {"peak": 1.0, "warmup_steps": 2, "total_steps": 9}
    for given in (weights, alike, none):
        for function, args in ((student.start_adam, (given,)),
                               (student.clip_gradients, (given, 1e9))) * 2:  # fmt: skip
            checks.nothing_kept(function.name, function.trace(*args, before=before),
                                may_share=False)  # fmt: skip
    for rate, options in ((0.0, {}), (0.1, {"beta1": 0.0, "beta2": 0.0}),
                          (0.1, {"beta1": 1.0, "beta2": 1.0, "weight_decay": 0.0})):  # fmt: skip
        for given in ((weights, gradients, state), (alike, alike, {"m": alike, "v": alike}),
                      (alike, none, {"m": none, "v": none})):  # fmt: skip
            call = student.adam_step.trace(*given, before=before, learning_rate=rate, **options)
            checks.nothing_kept("adam_step", call, may_share=False)
    checks.leaves_no_trace(student.clip_gradients, alike, 1.0)
    checks.leaves_no_trace(student.adam_step, alike, alike, {"m": alike, "v": alike},
                           learning_rate=0.1)  # fmt: skip
