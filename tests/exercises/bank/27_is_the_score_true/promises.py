"""What the page and the docstrings promise or ask for, and the checks that hold it."""

INTERVAL = "test_the_interval_holds_the_middle_of_the_resampled_means"
GIVEN = "test_the_resamples_come_from_the_generator_that_is_given"
SIGN = "test_the_test_counts_where_exactly_one_model_is_right"
BINS = "test_the_bins_hold_their_upper_edge"
ERROR = "test_the_calibration_error_weights_each_bin_by_its_examples"
LOSS = "test_the_loss_is_that_of_the_softmax_of_divided_logits"
LEAST = "test_the_temperature_makes_the_loss_least"
HUGE = "test_the_temperature_of_huge_logits_and_at_the_ends_of_the_range"
ANY = "test_examples_of_any_number"

PROMISES = {
    "Where a function returns one number, a Python or NumPy number is fine; a "
    "0-dimensional array is not.": (INTERVAL, SIGN, ERROR, LOSS, LEAST),
    "Draw `draws` resamples of n values with replacement: row r of `rng.integers(n, size=(draws, "
    "n))` holds the indices of resample r.": (INTERVAL, GIVEN, ANY),
    "Draw them even where all values are equal, so that the next call gets the numbers that "
    "follow.": (GIVEN,),
    "The interval holds the middle `level`, at most 1, of the means of the resamples": (
        INTERVAL, ANY),
    "its ends are the quantiles of these means at (1 − level) / 2 and (1 + level) / 2, "
    "as `np.quantile` interpolates them": (INTERVAL, ANY),
    "Only the m examples that exactly one model gets right tell the two apart.": (SIGN, ANY),
    r"p = \min\left(1,\; \frac{2}{2^m} \sum_{i=0}^{k} \binom{m}{i}\right)": (SIGN, ANY),
    "which is 1 for m = 0": (SIGN,),
    "The result must be exact to eight digits, even for thousands of examples and where "
    "p is 1e-200.": (
        SIGN, ANY),
    "holds what is above j / bins and up to (j + 1) / bins: a confidence on an edge belongs to "
    "the bin below it": (BINS,),
    "what is 1e-9 or more above an edge belongs to the bin above it": (BINS, ANY),
    "0 is in bin 0.": (BINS,),
    "the counts (int64), the mean confidence and the fraction of `correct` (bool) in "
    "each bin": (
        BINS, ANY),
    "An empty bin has NaN in the second and third.": (BINS, ANY),
    r"\text{ECE} = \sum_{j} \frac{\text{count}_j}{n}": (ERROR, ANY),
    "where an empty bin adds nothing": (ERROR, ANY),
    "the mean of −ln p(label) over the examples, where p is the softmax of logits / temperature, "
    "over the last axis of `logits`": (LOSS, ANY),
    "It is finite for logits of ±10,000.": (LOSS, ANY),
    "that minimizes the negative log likelihood, to one part in a thousand": (LEAST, HUGE, ANY),
    "If the loss is still falling at an end of the range, that end is the answer; so the "
    "answer is COLDEST where every label has the largest logit, even if the loss is "
    "rounded to 0 there.": (HUGE,),
    "The logits may have any offset and any scale.": (HUGE, ANY),
    "| `sign_test`, 9 examples right by the first model alone, 2 by the second alone | 134 / 2048 "
    "= 0.0654 |": (SIGN,),
    "(2 · 0.15 + 0.1) / 3 = 0.1333": (ERROR,),
    "ln (4/3) = 0.2877": (LOSS,),
    "2 / ln 3 = 1.820": (LEAST,),
}  # fmt: skip
