"""Random models and batches, and how a gradient is compared with finite differences."""

from collections.abc import Callable

import jaxtyping
import numpy as np
import pytest

from bert_numpy.encoder import Bert
from bert_run.config import BertConfig, Weights, parameter_shapes

# Fourth-order differences with step h err by h⁴ f⁗' / 30 and, from rounding, by about 1e-16 f / h.
# The first is larger above this step, the second below: here the worst array is off by 2e-10.
STEP = 2e-4
FOURTH_ORDER = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))

GRADIENT_ERROR = 1e-7  # far above that, and far below what a wrong term changes


def compute_relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference as a share of the largest number in either array.

    Two arrays of zeros give NaN, which passes no comparison: they would show nothing.
    """
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    largest = max(np.abs(found).max(), np.abs(expected).max())
    return float(np.abs(found - expected).max() / largest) if largest else float("nan")


def numeric_gradient(loss: Callable[[], float], array: np.ndarray) -> np.ndarray:
    """∂loss/∂array, every entry: each is moved in place, and put back."""
    gradient = np.empty_like(array)
    for place in np.ndindex(array.shape):
        value, difference = array[place], 0.0
        for steps, factor in FOURTH_ORDER:
            array[place] = value + steps * STEP
            difference += factor * loss()
        array[place] = value
        gradient[place] = difference / STEP
    return gradient


def compare_gradients(
    arrays: dict[str, np.ndarray],
    forward: Callable,
    backward: Callable,
    *,
    dout: np.ndarray | None = None,
    without_effect: tuple[str, ...] = (),
) -> None:
    """Every gradient that `backward` gives against differences of Σ dout · forward().

    `forward() -> (out, cache)` reads `arrays`; `backward(dout, cache)` gives a gradient for each of
    them. dout is random: for a plain sum the true gradient of softmax and of layer norm is zero,
    and half of the wrong backwards pass.
    """
    out, cache = forward()
    dout = np.random.default_rng(99).normal(size=out.shape) if dout is None else dout
    found = backward(dout, cache)
    assert found.keys() == arrays.keys()
    jaxtyping.config.update("jaxtyping_disable", True)  # checked once, above; ten times as fast
    try:
        for name, array in arrays.items():
            assert array.dtype == np.float64
            expected = numeric_gradient(lambda: float(np.vdot(dout, forward()[0])), array)
            if name in without_effect:
                assert np.abs(found[name]).max() < 1e-12, f"{name} has no effect on the output"
                assert np.abs(expected).max() < 1e-10, f"{name} has an effect on the output"
                continue
            error = compute_relative_error(found[name], expected)
            assert error <= GRADIENT_ERROR, f"{name}: the gradient is off by {error:.1e}"
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def draw_weights(config: BertConfig, dtype: type = np.float64, seed: int = 1) -> Weights:
    """Larger than at the start of training, and no bias zero, so that no term can hide."""
    generator = np.random.default_rng(seed)
    return {
        name: (generator.normal(0, 0.15, shape) + name.endswith("LayerNorm.weight"))
        .astype(np.float32)  # so that both types hold the same numbers
        .astype(dtype)
        for name, shape in parameter_shapes(config).items()
    }


def draw_batch(
    config: BertConfig,
    dtype: type = np.float64,
    *,
    seed: int = 2,
    rows: int = 5,
    seq: int = 23,
    masks: int = 4,
) -> dict[str, np.ndarray]:
    """Rows of uneven length with an uneven number of masks; [PAD] is also read as a word.

    Slots that are not used hold positions and labels all the same: their weight alone tells.
    `dtype` is that of the weights of the slots.
    """
    generator = np.random.default_rng(seed)
    lengths = generator.integers(masks + 3, seq, rows)  # every row ends in padding
    place = np.arange(seq)
    attention = (place < lengths[:, None]).astype(np.int64)
    input_ids = generator.integers(0, config.vocab_size, (rows, seq))
    input_ids[:, 1] = config.pad_token_id
    third = (lengths // config.type_vocab_size)[:, None] + 1
    positions = np.array([generator.permutation(n - 2)[:masks] + 1 for n in lengths])
    used = 1 + np.arange(rows)[:, None] % masks
    return {
        "input_ids": input_ids,
        "token_type_ids": np.minimum(place // third, config.type_vocab_size - 1) * attention,
        "attention_mask": attention,
        "masked_lm_positions": positions,
        "masked_lm_ids": generator.integers(0, config.vocab_size, (rows, masks)),
        "masked_lm_weights": (np.arange(masks) < used).astype(dtype),
        "next_sentence_labels": np.arange(rows) % 2,
    }


def draw_bert(dtype: type = np.float64, **changes) -> Bert:
    """So small that every one of its numbers can be moved; no two sizes are equal."""
    fields = dict(
        vocab_size=17, hidden_size=9, num_attention_heads=3, num_hidden_layers=2,
        intermediate_size=7, max_position_embeddings=8, type_vocab_size=3,
        hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2,
    )  # fmt: skip
    config = BertConfig(**{**fields, **changes})
    return Bert(config, {n: 2 * w for n, w in draw_weights(config, dtype).items()})


# What tests of this chapter ask for by name. Of session scope, as `hypothesis` wants it.


@pytest.fixture(scope="session")
def relative_error() -> Callable[..., float]:
    return compute_relative_error


@pytest.fixture(scope="session")
def check_gradients() -> Callable[..., None]:
    return compare_gradients


@pytest.fixture(scope="session")
def random_weights() -> Callable[..., Weights]:
    return draw_weights


@pytest.fixture(scope="session")
def random_batch() -> Callable[..., dict[str, np.ndarray]]:
    return draw_batch


@pytest.fixture(scope="session")
def small_bert() -> Callable[..., Bert]:
    return draw_bert
