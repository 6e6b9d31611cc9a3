"""What the page and the starter of 07_multi_head promise or demand, and the checks that hold it."""

SPLIT = "test_each_head_gets_a_stretch_of_every_vector"
MERGE = "test_merging_puts_the_parts_of_all_heads_side_by_side"
EXAMPLE = "test_the_example_of_the_page_is_split_and_merged"
NUMBERS = "test_the_numbers_of_the_page_come_out"
FORWARD = "test_the_layer_projects_attends_merges_and_projects"
LARGE = "test_large_scores_and_sentences_of_padding_give_finite_results"
DX = "test_the_gradient_for_x_is_a_sum_of_three"
DWEIGHTS = "test_every_weight_and_bias_has_its_gradient"
TYPES = "test_float32_float64_and_arrays_with_gaps_are_fine"
MEMORY = "test_parts_may_lie_in_memory_in_any_order"
TRACE = "test_nothing_is_left_behind"
SIZES = "test_arrays_of_any_shape_and_size"
NEARLY = "test_numbers_that_are_nearly_alike_are_not_taken_for_equal"

PROMISES = {
    "split_heads(x, heads) -> parts # (batch, seq, hidden) -> (batch, heads, seq, head_dim)": (
        SPLIT, EXAMPLE),
    "merge_heads(x) -> merged # the opposite": (MERGE, EXAMPLE),
    "multi_head_forward(x, weights, heads, attention_mask=None) -> out": (FORWARD, NUMBERS),
    "multi_head_backward(dout, x, weights, heads, attention_mask=None) -> (dx, dweights)": (
        DX, DWEIGHTS),
    r"Q = X W_Q^{\mathsf T} + b_Q, \quad K = X W_K^{\mathsf T} + b_K, \quad V = X W_V^{\mathsf T} "
    "+ b_V": (FORWARD, SIZES),
    r"\operatorname{merge}\big(\operatorname{attend}(Q, K, V)\big)\, W_O^{\mathsf T} + b_O": (
        FORWARD, NEARLY),
    "`x`, `out` and their gradients are (batch, seq, hidden).": (
        FORWARD, DX, SIZES),
    "Head 0 gets the first head_dim = hidden / heads numbers of every vector, head 1 the next, and "
    "so on.": (SPLIT, EXAMPLE),
    "`weights` has eight arrays under the names `query.weight`, `query.bias`, and "
    "likewise for `key`, `value` and `output`.": (FORWARD, DWEIGHTS),
    "Each weight is (hidden, hidden), with one row for each number of the result; each bias is "
    "(hidden,).": (FORWARD, DWEIGHTS),
    "`attention_mask` (batch, seq) holds integers: 1 is a token, 0 is padding, which no token "
    "attends to; None means that all are tokens.": (
        FORWARD, DX, NUMBERS, TYPES, LARGE, SIZES),
    "Padding itself attends like any token.": (FORWARD, DX),
    "A sentence that is all padding has nothing to attend to: its results may hold anything "
    "finite.": (LARGE,),
    "The backward returns `dx`, the gradient with respect to `x`, and `dweights`, a dict "
    "of the gradients of the eight weights under their names.": (DX, DWEIGHTS, SIZES),
    "Scores near 100,000 must work.": (LARGE,),
    "`x`, `weights` and `dout` are all float32 or all float64, and so are the results.": (TYPES,),
    "No input is changed, not even temporarily": (TRACE,),
    "`attend(query, key, value, attention_mask)` returns the context and the attention "
    "probabilities": (FORWARD,),
    "`attend_backward(dcontext, query, key, value, probs)` the gradients for query, key and value.":
        (DX, DWEIGHTS),
    "divide the scores by √head_dim": (FORWARD,),
    "`split_heads` of one sentence of three vectors": (EXAMPLE,),
    "| 0 | [1, 2] | [5, 6] | [9, 10] | | 1 | [3, 4] | [7, 8] | [11, 12] |": (EXAMPLE,),
    "| 2 | None | [[10.6698, 0.3302, 0.3302, 0.6698], [10.3302, 0.6698, 0.6698, 0.3302]] |": (
        NUMBERS,),
    "| 1 | None | [[10.7311, 0.2689, 0.2689, 0.7311], [10.2689, 0.7311, 0.7311, 0.2689]] |": (
        NUMBERS,),
    "| 2 | [[1, 0]] | [[11, 0, 0, 1], [11, 0, 0, 1]] |": (NUMBERS,),
    "`dx` is [[0, 0, -0.1564, 0.9826], [0, 0, 0, 0.1738]].": (NUMBERS,),
    "Cut every vector into `heads` parts of head_dim = hidden / heads numbers: head 0 gets the "
    "first part, head 1 the next, and so on.": (SPLIT,),
    "Put the parts side by side again: the opposite of `split_heads`.": (MERGE,),
    "Project `x` to query, key and value, attend in each head, merge the heads, and project the "
    "result to the output": (FORWARD,),
    "Every projection is x Wᵀ + b.": (FORWARD,),
    "`attention_mask` is 1 on tokens and 0 on padding; None means that all are tokens.": (
        FORWARD, DX),
    "The gradient for `x`, and a dict of the gradients for all eight weights under their names, "
    "given the gradient `dout` for `multi_head_forward(x, weights, heads, attention_mask)`.": (
        DX, DWEIGHTS),
    "The backward returns `dx`, the gradient with respect to `x`": (
        'test_any_scale_any_order_in_memory_and_any_head_size',),
    "arrays may be non-contiguous": (TRACE, MEMORY),
}  # fmt: skip
