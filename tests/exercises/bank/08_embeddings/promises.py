"""What the page and the starter of 08_embeddings promise or demand, and the checks that hold it."""

FORWARD = "test_a_token_is_the_normalized_sum_of_word_position_and_segment"
EPS = "test_the_number_of_segments_and_eps_are_not_written_in"
EQUAL = "test_vectors_of_equal_numbers_stay_finite"
EXAMPLE = "test_the_table_of_the_page_comes_out"
LOOKUP = "test_a_row_that_was_picked_often_collects_all_its_gradients"
BACKWARD = "test_the_backward_gives_the_gradient_of_every_table"
PAD = "test_pad_id_and_eps_are_used_in_the_backward"
ENDS = "test_the_first_and_the_last_rows_of_the_tables_get_their_gradients"
GAPS = "test_a_batch_of_padding_and_ids_with_gaps_in_memory_are_fine"
FLOAT32 = "test_float32_stays_float32"
TRACE = "test_nothing_is_left_behind"
SIZES = "test_batches_and_tables_of_any_size"
NEARLY = "test_numbers_that_are_nearly_alike_are_not_taken_for_equal"

PROMISES = {
    "lookup_backward(dout, ids, entries) -> dtable": (LOOKUP, EXAMPLE),
    "embeddings_forward(input_ids, token_type_ids, weights, *, eps=1e-12) -> out": (
        FORWARD, EPS, EQUAL),
    "embeddings_backward(dout, input_ids, token_type_ids, weights, *, eps=1e-12, pad_id=0) -> "
    "gradients": (BACKWARD, PAD, EQUAL),
    r"\text{LN}\big(W_{\text{input}_{b,p}} + P_p + S_{\text{type}_{b,p}}\big)": (
        FORWARD, GAPS, NEARLY),
    r"\frac{\partial L}{\partial\, \text{table}_i} = \sum_{k:\ \text{ids}_k = i} \text{dout}_k": (
        LOOKUP, EXAMPLE),
    "`weights` is a dict of five arrays, named at the top of the file: the tables of the words "
    "$W$, the positions $P$ and the segments $S$, and the scale and shift of the layer norm.": (
        FORWARD, BACKWARD),
    "The first token of a row has position 0.": (FORWARD, BACKWARD),
    "A table may have more rows than the batch uses, and there may be any number of segments.": (
        FORWARD, EPS, BACKWARD, ENDS, SIZES),
    "Thanks to `eps`, the result is finite for a vector whose numbers are all equal.": (EQUAL,),
    "`lookup_backward` is the second formula, for a table of `entries` rows: `ids` has "
    "any shape, including an empty one, and `dout` has one axis more.": (LOOKUP,),
    "A row that was never read gets zeros.": (LOOKUP, EXAMPLE),
    "The result has the dtype of `dout`, which may also be float16.": (
        FLOAT32, "test_lookups_of_any_size"),
    "`embeddings_backward` returns a dict that holds, under each name in `weights`, the "
    "gradient of that array, in its shape.": (BACKWARD, ENDS, SIZES, TRACE),
    "The row of `pad_id` in the word table is not trained: its gradient is zero.": (
        BACKWARD, PAD, ENDS, SIZES),
    "The positions and segments of padding get their gradients.": (BACKWARD, PAD, GAPS),
    "No argument is changed": (TRACE,),
    "If `weights` and `dout` are float32, so are the results.": (FLOAT32,),
    "There are no masks and no dropout here.": (FORWARD, BACKWARD),
    "| [[1, 2], [10, 20], [100, 200]] | [3, 0, 3] | 4 | [[10, 20], [0, 0], [0, 0], [101, 202]] |": (
        EXAMPLE,),
    "The gradient for a table of `entries` rows, given the gradient `dout` for `table[ids]`.": (
        LOOKUP,),
    "A row that was read several times gets the sum of its gradients; one that was never read gets "
    "zeros.": (LOOKUP,),
    "The result has the type of `dout`.": (FLOAT32,),
    "The sum of word, position and segment, then layer norm": (FORWARD,),
    "A dict of the gradients for all arrays of `weights`, under their names and in their shapes, "
    "given the gradient `dout` for what `embeddings_forward` returned.": (BACKWARD, ENDS),
    '`lookup_backward` is the second formula, for a table of `entries` rows': (
        'test_any_scale_any_width_of_ids_and_any_size_of_table',),
    "arrays may be non-contiguous": (TRACE,),
    "Ids and segments are integers of any width.": (SIZES,),
    "for a table of `entries` rows: `ids` has any shape, including an empty one": (
        "test_lookups_of_any_size",),
}  # fmt: skip
