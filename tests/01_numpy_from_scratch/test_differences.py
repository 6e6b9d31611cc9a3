"""A gradient by nudging is that of calculus, and leaves no trace."""

import numpy as np
import pytest

from bert_numpy.differences import central_differences
from bert_run.errors import UserError


def test_the_differences_of_a_cube_are_three_squares_and_every_number_is_put_back():
    x = np.random.default_rng(0).normal(size=(2, 3))
    before = x.copy()
    found = central_differences(lambda: float((x**3).sum()), x)
    assert np.abs(found - 3 * before**2).max() < 1e-9  # the step squared, 1e-10, and rounding
    assert np.array_equal(x, before)


def test_a_loss_of_a_single_number_has_a_gradient_without_axes():
    x = np.array(2.0)
    assert abs(central_differences(lambda: float(x**2), x) - 4) < 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_numbers_too_coarse_to_be_nudged_are_refused(dtype):
    with pytest.raises(UserError, match="float64"):
        central_differences(lambda: 0.0, np.ones(3, dtype))
