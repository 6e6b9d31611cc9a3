"""What the page and the docstrings promise or ask for, and the checks that hold it."""

LINES = "test_the_lines_are_ln_v_and_the_entropy_of_the_frequencies"
CURVE = "test_a_curve_has_the_last_value_of_each_step"
SMOOTH = "test_the_mean_of_a_window_looks_back"
FLAT = "test_a_curve_is_flat_if_its_last_window_is_hardly_lower"
BEGIN = "test_runs_that_diverged_are_short_or_begin_badly"
AT = "test_runs_at_or_above_a_line_are_told_apart"
HELD = "test_held_out_losses_tell_overfitting_and_leaks"
ENDS = "test_runs_that_still_fall_or_have_finished"
TEN = "test_ten_runs_get_their_names"
BOUND = "test_a_number_on_a_bound_falls_to_the_side_that_the_table_says"
ANY = "test_curves_of_any_length"
SHORT = "test_short_runs_with_many_numbers_on_bounds"

PROMISES = {
    "A model that knows nothing has the loss ln V, where V is `vocab_size`.": (LINES, ANY),
    r"-\sum_{i} p_i \ln p_i": (LINES, ANY),
    "over the ids that occur in `ids`, an array of any shape": (LINES, ANY),
    "Those in `special_ids` are left out of both the sum and the number of tokens.": (LINES,),
    "If no token is left, the entropy is 0.0.": (LINES,),
    "Records without `key`, or with None there, are left out.": (CURVE, ANY),
    "If several records of one step have the key, the last of them in the list counts": (
        CURVE, ANY),
    "`steps` (int64) are in ascending order, whatever the order of the records; `values` "
    "are float64.": (CURVE, ANY),
    "the mean of the last `window` (1 or more) values up to and including it, or of all "
    "values so far where there are fewer": (SMOOTH, ANY),
    "NaN and infinite values are left out of the means; a window with no other values "
    "gives NaN.": (
        SMOOTH, ANY),
    "the curve is flat if the later mean is less than `tolerance` below the earlier one (or above "
    "it)": (FLAT, ANY),
    "With fewer than 2 · `window` values, the result is False.": (FLAT, ANY),
    "returns the name in the first row that fits": (BEGIN, AT, HELD, ENDS, TEN, ANY, SHORT),
    "Held-out and norm may be empty.": (AT, HELD),
    "*end* is the mean of the last k training losses.": (BEGIN, BOUND, ANY),
    "a training or held-out loss is NaN or infinite": (BEGIN, TEN),
    "n < 10": (BEGIN, BOUND),
    "*end* is 1 or more above the lowest value of `smooth(training, k)`": (BEGIN, BOUND, ANY),
    "the first training loss is at least ln V + 1": (BEGIN, BOUND),
    "*end* > ln V − NEAR": (AT, BOUND),
    "the last held-out loss is higher than the lowest one, and since the step of the lowest (the "
    "first, if several are equal) the training loss has fallen by NEAR or more": (HELD, BOUND),
    "from the value of `smooth(training, k)` at the last training step at or before that "
    "step, to *end*": (
        HELD, ANY),
    "Does not fit if there is no such training step": (HELD,),
    "the last held-out loss is NEAR or more below *end*": (HELD, BOUND),
    "training is not flat, with window k and tolerance FLAT": (ENDS, BOUND, ANY),
    "*end* ≥ entropy + NEAR": (AT, BOUND),
    "the mean of the last j norms is at most half of the mean of the first j; j = m // 10, but at "
    "least 1, for m norms": (AT, BOUND),
    "Does not fit without norms": (AT,),
    "| 12 | `\"finished\"` | anything else |": (ENDS, TEN),
}  # fmt: skip
