"""What the page and the starter of 04_layer_norm promise, and the checks that hold it."""

FORWARD = "test_every_vector_is_normalized_then_scaled_and_shifted"
EPS = "test_eps_stands_inside_the_root_and_is_an_argument"
EQUAL = "test_a_vector_of_equal_numbers_becomes_the_bias"
PRECISE = "test_a_mean_that_is_large_beside_the_spread_costs_no_precision"
DX = "test_the_gradient_for_x_follows_all_three_paths"
SUMS = "test_weight_and_bias_collect_gradients_from_every_vector"
EPS_BACK = "test_the_backward_uses_its_eps"
DEFAULT = "test_without_the_argument_eps_is_1e_12"
TYPES = "test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference"
TRACE = "test_nothing_is_left_behind"
KINDS = "test_sizes_and_kinds_of_numbers"

PROMISES = {
    # the page
    "layer_norm_forward(x, weight, bias, eps=1e-12) -> out": (FORWARD, EPS, DEFAULT),
    "layer_norm_backward(dout, x, weight, eps=1e-12) -> (dx, dweight, dbias)": (
        DX, EPS_BACK, DEFAULT),
    r"\hat x_i = \frac{x_i - \mu}{\sqrt{\sigma^2 + \varepsilon}}": (FORWARD, EPS),
    r"y_i = \gamma_i\, \hat x_i + \beta_i": (FORWARD, KINDS),
    r"\sigma^2 = \frac1n \sum_i (x_i - \mu)^2": (FORWARD,),
    "`x` is (…, hidden), with any number of axes before the last, including none": (
        FORWARD, DX, SUMS, KINDS),
    r"each vector along the last axis has its own $\mu$ and $\sigma^2$, and $n$ is `hidden`.": (
        FORWARD,),
    "`dx`, `dweight` and `dbias` are its gradients with respect to `x`, `weight` and `bias`, and "
    "have their shapes.": (DX, SUMS, KINDS, TRACE),
    "A vector of equal numbers becomes the bias.": (EQUAL,),
    "No input is changed": (TRACE,),
    "All arrays of a call have the same dtype, float32 or float64, and so do the results.": (
        TYPES,),
    "A mean of 10,000 with a spread of 1 costs no precision, in the forward and in the backward": (
        PRECISE,),
    "| [1, 2, 6] | [-0.9258, 0.5371, 2.7775] | [1, 0, 0] | [0.1763, -0.2204, 0.0441] | "
    "[-0.9258, 0, 0] | [1, 0, 0] |": (EQUAL,),
    "| [5, 5, 5] | [0, 1, 0] |": (EQUAL,),
    "`dx` sums to 0, because shifting all of `x` changes nothing.": (DX,),
    # the starter
    "Normalize each vector over its last axis, then scale and shift": (FORWARD,),
    "The variance divides by `hidden`, not `hidden - 1`, and `eps` is added to it inside the "
    "root.": (FORWARD, EPS),
    "Precise also for vectors whose mean is much larger than their spread.": (PRECISE,),
    "All arrays have the same type of number, and so has the result.": (TYPES,),
    "The gradients for x, weight and bias, given the gradient `dout` for the result of "
    "`layer_norm_forward(x, weight, bias, eps)`.": (DX, SUMS, EPS_BACK),
    '`x` is (…, hidden), with any number of axes': (
        'test_any_scale_of_gradient_any_number_of_axes_and_no_vector_at_all',),
    "arrays may be non-contiguous": (TRACE,),
    "with any number of axes before the last, including none": (
        "test_arrays_of_any_shape_and_size",),
}  # fmt: skip
