"""What the page and the starter of 03_softmax promise, and the checks that hold it."""

ROWS = "test_each_row_becomes_probabilities"
AXIS = "test_the_axis_argument_is_used"
HUGE = "test_huge_and_far_apart_scores_give_finite_probabilities"
INFINITE = "test_a_score_of_minus_infinity_gets_the_probability_zero"
BACKWARD = "test_the_backward_gives_the_gradient_of_the_scores"
AXIS_BACK = "test_the_backward_uses_its_axis"
TYPES = "test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference"
TRACE = "test_nothing_is_left_behind"
SPEED = "test_a_large_array_takes_no_longer_than_a_loop"
KINDS = "test_sizes_and_kinds_of_numbers"

PROMISES = {
    # the page
    "softmax_forward(x, axis=-1) -> probs": (ROWS, AXIS),
    "softmax_backward(dout, probs, axis=-1) -> dx": (BACKWARD, AXIS_BACK),
    r"p_i = \frac{e^{x_i}}{\sum_j e^{x_j}}": (ROWS,),
    r"\frac{\partial L}{\partial x_j} = p_j \left( d_j - \sum_i d_i\, p_i \right)": (
        BACKWARD, KINDS),
    "The sums run along `axis`.": (AXIS, AXIS_BACK),
    "`x` is an array of any shape": (ROWS, AXIS, BACKWARD, KINDS),
    "`probs` has its shape and its dtype, float32 or float64.": (ROWS, TYPES),
    "`dx` is the gradient with respect to `x`. Both have the dtype of `probs`.": (
        BACKWARD, TYPES, "test_arrays_of_any_shape_and_size"),
    "Where a probability is 0, `dx` is 0.": (BACKWARD,),
    "No score is too large: `softmax_forward` is finite for 1,000 and for 1e200": (HUGE,),
    "and returns 0 for -inf (every row has at least one finite score).": (INFINITE,),
    "No input is changed": (TRACE,),
    "`softmax_forward` works on whole arrays: a Python loop over single numbers is too "
    "slow, whatever `axis` is": (
        SPEED,),
    "| [0, 1, 2] | [0.0900, 0.2447, 0.6652] | [1, 0, 0] | [0.0819, -0.0220, -0.0599] |": (
        ROWS, BACKWARD),
    "| [1000, 1001, 1002] | the same |": (ROWS,),
    "`dx` sums to 0, because adding the same number to all scores of a row changes "
    "nothing.": (BACKWARD,),
    # the starter
    "exp(xᵢ) / Σⱼ exp(xⱼ), the sum running along `axis`.": (ROWS, AXIS),
    "Finite for any finite scores, however large; a score of -inf gets probability 0": (
        HUGE, INFINITE),
    "`x` is not changed, and the result has its type.": (TYPES, TRACE),
    "The gradient for the scores, given the gradient `dout` for the probabilities `probs` that "
    "`softmax_forward` returned for the same `axis`.": (BACKWARD, AXIS_BACK),
    "Both arrays have the same type, and so has the result. None of them is changed.": (
        TYPES, TRACE),
    'The sums run along `axis`. `x` is an array of any shape': (
        'test_gradients_and_probabilities_keep_every_scale',),
    "arrays may be non-contiguous": (TRACE,),
    "`x` is an array of any shape, including one without rows, such as (0, 3).": (
        "test_arrays_of_any_shape_and_size",),
}  # fmt: skip
