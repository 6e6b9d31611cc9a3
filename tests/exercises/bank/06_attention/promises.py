"""What the page and the starter of 06_attention promise, and the checks that hold it."""

FORWARD = "test_each_query_gathers_values_by_its_probabilities"
MASK = "test_padding_is_masked_among_the_keys_and_only_there"
LARGE = "test_scores_of_any_size_stay_finite_and_never_reach_padding"
ALL = "test_a_row_that_is_all_padding_stays_finite"
BACKWARD = "test_the_backward_gives_the_gradients_of_query_key_and_value"
TYPES = "test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference"
TRACE = "test_nothing_is_left_behind"
GIVEN = "test_the_backward_goes_by_what_it_is_given"
NEARLY = "test_numbers_that_are_nearly_alike_are_not_taken_for_equal"

PROMISES = {
    # the page
    "attention_forward(query, key, value, attention_mask=None) -> (context, probs)": (
        FORWARD, MASK),
    "attention_backward(dcontext, query, key, value, probs) -> (dquery, dkey, dvalue)": (
        BACKWARD,),
    r"\text{probs} = \operatorname{softmax}\left(\frac{Q K^{\mathsf T}}{\sqrt{d}}\right)": (
        FORWARD,),
    r"\text{context} = \text{probs}\; V": (
        FORWARD, NEARLY),
    "| `probs`, the attention weights | (batch, heads, queries, keys); each row adds up to 1 |": (
        FORWARD, MASK),
    "(batch, keys), integers of any width: 1 is a token, 0 is padding; None: all are tokens": (
        FORWARD, MASK, TYPES),
    "Products and softmax are computed separately for each head of each sentence.": (
        FORWARD, "test_arrays_of_any_shape_and_size"),
    "There may be more queries than keys, or fewer.": (
        FORWARD, MASK, BACKWARD, "test_arrays_of_any_shape_and_size"),
    "one array may be given as `query`, `key` and `value`": (LARGE, TRACE),
    "each of the three still has a gradient of its own": (BACKWARD, GIVEN),
    "A key that is padding gets a probability of exactly 0, however large the scores are": (LARGE,),
    "the probabilities of the other keys of its row add up to 1.": (MASK,),
    "Only keys are masked. A query that is padding attends like any other.": (MASK,),
    "A sentence that is all padding has nothing to attend to.": (ALL,),
    "as long as it is finite": (ALL,),
    "Very large scores, 1e12 for example, give finite results.": (LARGE,),
    "All arrays except the mask have the same dtype, float32 or float64, and so do the "
    "results.": (TYPES,),
    "No input is changed": (TRACE,),
    "`probs` is what your forward returned: the mask has already been applied to it.": (
        BACKWARD,),
    "The backward returns the gradients with respect to `query`, `key` and `value`.": (BACKWARD,),
    "| None | [[0.4011, 0.1978, 0.4011], [0.1084, 0.4458, 0.4458], [0.2483, 0.2483, 0.5035]] |": (
        ALL,),
    "| [[1, 1, 0]] | [[0.6698, 0.3302, 0], [0.1956, 0.8044, 0], [0.5, 0.5, 0]] |": (ALL,),
    "`dquery[0, 0, 0]` is [0.1564, -0.1564], `dkey[0, 0]` is [[0.1564, 0], [-0.1564, 0], [0, 0]], "
    "and `dvalue[0, 0]` is [[0.6698, 0], [0.3302, 0], [0, 0]].": (BACKWARD,),
    # the starter
    "`attention_mask` is 1 where a key is a token, 0 where it is padding; without it all are "
    "tokens.": (FORWARD, MASK),
    "Padding gets a probability of exactly 0, however large the scores.": (LARGE,),
    "Only keys are masked: every query attends.": (MASK,),
    "Where all keys are padding, the results are finite.": (ALL,),
    "both results have the type of the inputs.": (TYPES,),
    "The gradients for query, key and value, given the gradient for the first result of "
    "`attention_forward`, its inputs, and its second result.": (BACKWARD,),
    'integers of any width: 1 is a token': (
        'test_any_scale_any_width_of_mask_and_many_keys',),
    "arrays may be non-contiguous": (TRACE,),
    "its inputs, and its second result": (GIVEN,),
}  # fmt: skip
