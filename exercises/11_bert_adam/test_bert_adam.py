"""BERT's Adam: the schedule, the clip, and several steps in a row from a state that is a value."""

import math

import numpy as np
import pytest

from autograder import checks
from bert_numpy import optimizer
from bert_run.settings import AdamSettings

SHAPES = {
    "bert.embeddings.word_embeddings.weight": (5, 3),
    "bert.embeddings.LayerNorm.weight": (3,),
    "bert.embeddings.LayerNorm.bias": (3,),
    "bert.encoder.layer.0.attention.self.query.weight": (3, 3),  # same shape as the key's
    "bert.encoder.layer.0.attention.self.key.weight": (3, 3),
    "bert.encoder.layer.0.intermediate.dense.bias": (3,),
    "bert.encoder.layer.0.attention.output.LayerNorm.weight": (3,),
    "cls.predictions.bias": (5,),
}
WORDS, NORM, _, QUERY, _, DENSE_BIAS, *_ = SHAPES


def arrays(seed, *, scale=1.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return {name: (scale * rng.normal(size=shape)).astype(dtype) for name, shape in SHAPES.items()}


def reference(weights, history, rate, *, correct_bias=False, **settings):
    """The chapter's optimiser, which works in place: on copies."""
    names = {"eps": "epsilon"}
    settings = AdamSettings(**{names.get(name, name): value for name, value in settings.items()})
    moved = {name: w.copy() for name, w in weights.items()}
    adam = optimizer.Adam.start(moved, settings, correct_bias=correct_bias)
    for gradients in history:
        adam.update(moved, gradients, learning_rate=rate)
    return moved, {"m": adam.first_moments, "v": adam.second_moments}


def wrong_step(weights, history, rate, *, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01,
               decayed=lambda name: not name.endswith("bias") and "LayerNorm" not in name,
               denominator=lambda v, eps: np.sqrt(v) + eps, l2=False, decay_rate=None,
               second=lambda m, g: g * g, forgets=False):  # fmt: skip
    """The weights after the same steps, one thing about them being wrong."""
    weights = dict(weights)
    m = v = {name: np.zeros_like(w) for name, w in weights.items()}
    for gradients in history:
        if forgets:
            m = v = {name: np.zeros_like(w) for name, w in weights.items()}
        decay = {n: weight_decay * w if decayed(n) else 0 * w for n, w in weights.items()}
        g = {n: gradients[n] + (decay[n] if l2 else 0) for n in weights}
        m = {n: beta1 * m[n] + (1 - beta1) * g[n] for n in weights}
        v = {n: beta2 * v[n] + (1 - beta2) * second(m[n], g[n]) for n in weights}
        for n, w in weights.items():
            shrink = (rate if decay_rate is None else decay_rate) * decay[n] * (not l2)
            weights[n] = w - rate * m[n] / denominator(v[n], eps) - shrink
    return weights


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
        "the decay is not multiplied by the learning rate": wrong(decay_rate=1.0),
        "there is no weight decay": wrong(weight_decay=0.0),
        "the sign of the decay is wrong: weights grow": wrong(
            weight_decay=-settings.get("weight_decay", 0.01)),
        "biases and layer norms are decayed too": wrong(decayed=lambda name: True),
        "biases are decayed too": wrong(decayed=lambda name: "LayerNorm" not in name),
        "layer norms are decayed too: a name that is looked for never matches LayerNorm.weight": (
            wrong(decayed=lambda name: not name.endswith("bias"))),
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


def run(student, weights, history, rate, **settings):
    """The student's optimiser, as a training loop calls it."""
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


@pytest.mark.weight(2)
def test_the_rate_rises_to_its_peak_and_falls_in_straight_lines(student):
    for peak, warmup, total in [(1e-4, 10, 100), (5e-5, 0, 7), (3.0, 1, 3), (2.0, 5, 13)]:
        for step in {0, 1, warmup - 1, warmup, warmup + 1, total // 2, total - 1} - {-1}:
            shares = {
                "there is no warm-up": (
                    1.0 - step / total if step < warmup else None),
                "the rate of the first step is 0: count from step + 1 during warm-up": (
                    step / max(1, warmup) if step < warmup else None),
                "the fall is counted from step 0: the rate jumps down where the warm-up ends": (
                    (total - step) / total if step >= warmup else None),
                "there is no fall: the rate stays at its peak": 1.0 if step >= warmup else None,
            }  # fmt: skip
            close = peak / max(1, total - warmup) * 1.01
            right = optimizer.learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total)
            named = {name: peak * share for name, share in shares.items() if share is not None}
            named |= {
                "the rate is above its peak, or below 0": lambda out, p=peak: not 0 <= out <= p,
                "the fall is a step late or early": (
                    lambda out, right=right, close=close: abs(out - right) <= close
                ),
            }
            checks.same(
                student.learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total),
                right, of=f"the rate of step {step}, warm-up {warmup}, total {total}",
                mistakes=named, tolerance=1e-15,
            )  # fmt: skip


@pytest.mark.weight(2)
def test_one_factor_clips_all_gradients(student):
    gradients = arrays(4)
    for name, factor in zip(SHAPES, [3.0, 0.1, 1, 1, 0.01, 1, 1, 1], strict=True):
        gradients[name] *= factor
    norms = {name: math.sqrt((g * g).sum()) for name, g in gradients.items()}
    whole = math.sqrt(sum(norm * norm for norm in norms.values()))
    for limit in (1.0, 0.3):
        clipped = {name: g * (limit / whole) for name, g in gradients.items()}

        def each(factor):
            return {name: g * factor(name) for name, g in gradients.items()}

        named = {
            "each parameter is clipped by itself: one factor for all": each(
                lambda n: min(1, limit / norms[n])),  # noqa: B023
            "each number is clipped: scale all by one factor": {
                name: g.clip(-limit, limit) for name, g in gradients.items()},
            "the norms of the parameters are added up: their squares add up to the whole's": each(
                lambda n: limit / sum(norms.values())),  # noqa: B023
            "the root of the norm is missing": each(lambda n: limit / whole**2),  # noqa: B023
            "max_norm is not used: 1 is written in": each(lambda n: 1 / whole),
            "something is added to the norm, as torch does": each(
                lambda n: limit / (whole + 1e-6)),  # noqa: B023
            "nothing is clipped": gradients,
        }  # fmt: skip
        out = student.clip_gradients(gradients, limit)
        found, norm = checks.parts(out, "the gradients", "the norm")
        checks.same(found, clipped, of=f"the gradients clipped to {limit}", mistakes=named)
        checks.same(norm, whole, of="the norm", mistakes={
            "the norm after clipping was returned: the one before is asked for": limit,
            "the square of the norm was returned": whole**2,
        })  # fmt: skip


@pytest.mark.weight(2)
def test_small_gradients_stay_as_they_are(student):
    for scale, limit in ((1e-3, 1.0), (0.0, 1.0), (1.0, 1e3)):
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
                    lambda out, g=gradients, whole=whole, limit=limit: np.allclose(
                        out[WORDS], g[WORDS] * limit / max(whole, 1e-300), rtol=1e-3
                    )
                ),
                "0 / 0: gradients of norm 0 are below every max_norm": (
                    lambda out: bool(np.isnan(out[WORDS]).any())
                ),
            },
            tolerance=1e-14,
        )
        checks.same(norm, whole, of="the norm")


@pytest.mark.weight(4)
def test_steps_are_those_of_the_released_code(student):
    weights, history = arrays(1), [arrays(seed, scale=0.1) for seed in (2, 3, 4)]
    for steps in (1, 3):
        given = weights, history[:steps], 0.05
        expected = reference(*given)
        found, state = run(student, *given)
        checks.same(found, expected[0], of=f"the weights after {steps} steps",
                    mistakes=mistakes(*given))  # fmt: skip
        checks.same(only_m_and_v(state), expected[1], of=f"the state after {steps} steps")


@pytest.mark.weight(3)
def test_every_number_of_the_recipe_is_an_argument(student):
    weights, history = arrays(1), [arrays(seed, scale=0.1) for seed in (2, 3, 4)]
    for settings in ({"beta1": 0.5}, {"beta2": 0.9}, {"eps": 0.1}, {"weight_decay": 0.3},
                     {"weight_decay": 0.0}, {"beta1": 0.0, "beta2": 0.5}):  # fmt: skip
        for rate in (0.05, 0.002):
            given = weights, history, rate
            checks.same(
                run(student, *given, **settings)[0],
                reference(*given, **settings)[0],
                of=f"the weights after 3 steps with {settings}",
                mistakes=mistakes(*given, **settings),
            )


@pytest.mark.weight(2)
def test_tiny_and_missing_gradients_are_fine(student):
    weights = arrays(1)
    for scale in (1e-7, 0.0, 1e6):
        history = [arrays(seed, scale=scale) for seed in (2, 3)]
        given = weights, history, 0.05
        checks.same(
            run(student, *given)[0],
            reference(*given)[0],
            of=f"the weights after gradients of about {scale:g}",
            mistakes={
                "0 / 0: eps is added to √v, also where v is 0": (
                    lambda out: bool(np.isnan(out[WORDS]).any())
                ),
                **mistakes(*given),
            },
        )


def test_at_a_rate_of_zero_nothing_moves_but_the_state_does(student):
    weights, history = arrays(1), [arrays(2)]
    expected = reference(weights, history, 0.0)
    found, state = run(student, weights, history, 0.0)
    checks.same(found, weights, of="the weights after a step of rate 0", mistakes={
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
        "weights of the same shape share a state: each name has its own": lambda out: any(
            bool((out[kind][name] != 0).any()) for kind in "mv" for name in SHAPES if name != QUERY
        )
    }
    checks.same(only_m_and_v(state), expected[1], of="the state", mistakes=named)
    checks.same(found, expected[0], of="the weights", mistakes=mistakes(weights, history, 0.05))


def test_float32_stays_float32(student):
    weights, gradients = arrays(1, dtype=np.float32), arrays(2, dtype=np.float32)
    expected = reference(weights, [gradients], 0.05)
    named = {"the result is always float64: np.zeros needs the type of the weights": (
        lambda out: any(w.dtype == np.float64 for w in out.values()))}  # fmt: skip
    clipped, _ = checks.parts(student.clip_gradients(gradients, 1.0), "the gradients", "the norm")
    types = {name: g.dtype.name for name, g in clipped.items()}
    checks.same(types, dict.fromkeys(SHAPES, "float32"), of="the types of the clipped gradients")
    found, state = run(student, weights, [gradients], 0.05)
    checks.same(found, expected[0], of="the weights", mistakes=named)
    checks.same(only_m_and_v(state), expected[1], of="the state")


@pytest.mark.weight(2)
def test_nothing_is_left_behind(student):
    weights, gradients, state = arrays(1), arrays(2), {"m": arrays(3), "v": arrays(4)}
    state["v"] = {name: v * v for name, v in state["v"].items()}
    checks.leaves_no_trace(student.clip_gradients, gradients, 1.0)
    checks.leaves_no_trace(student.learning_rate, 3, peak=1.0, warmup_steps=2, total_steps=9)
    checks.leaves_no_trace(student.start_adam, weights)
    checks.leaves_no_trace(student.adam_step, weights, gradients, state, learning_rate=0.1)
