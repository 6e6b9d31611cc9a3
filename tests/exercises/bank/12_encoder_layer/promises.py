"""What the page and the starter of 12_encoder_layer promise, and the checks that hold it."""

ATTENTION = "test_attention_gathers_what_each_head_finds"
LAYER = "test_a_layer_adds_and_normalizes_twice"
PADDING = "test_padding_is_never_seen_and_a_row_of_it_gives_no_nan"
GRADIENT = "test_the_gradient_reaches_every_parameter"
EVALUATION = "test_dropout_is_off_unless_training"
HALVES = "test_in_training_dropout_is_on_what_each_half_adds_and_nowhere_else"
WEIGHTS = "test_in_training_dropout_is_on_the_attention_weights_and_nowhere_else"
PASSED_ON = "test_the_layer_passes_its_dropout_to_the_attention"
DEFAULTS = "test_without_probabilities_dropout_is_a_tenth"
GENERATOR = "test_dropout_draws_from_the_global_generator_of_torch"
EPS = "test_equal_numbers_show_the_eps_of_the_signature"
EXAMPLE = "test_the_example_of_the_page"
TYPES = "test_any_type_any_size_and_gaps_in_memory_are_fine"
MASKS = "test_masks_of_any_width_and_scores_of_any_size"
TRACE = "test_nothing_is_left_behind"

PROMISES = {
    "self_attention(x, attention_mask, weights, *, heads, attention_dropout=0.1, training=False)":
        (EVALUATION, DEFAULTS),
    "encoder_layer(x, attention_mask, weights, *, heads, eps=1e-12, hidden_dropout=0.1, "
    "attention_dropout=0.1, training=False)": (EVALUATION, DEFAULTS, PASSED_ON, EPS),
    "Both take states `x` (batch, seq, hidden), float32 or float64, and return states of "
    "the same shape and dtype.": (TYPES, ATTENTION, LAYER),
    "`weights` is a dict of sixteen tensors, listed at the top of the file; the weight of a dense "
    "layer is (out, in), as `F.linear` expects it.": (LAYER,),
    "context = self_attention(x) x = LN(x + dropout(attention.output.dense(context))) "
    "x = LN(x + dropout(output.dense(GELU(intermediate.dense(x)))))": (LAYER,),
    "`self_attention` returns the concatenated heads; `attention.output.dense` comes "
    "after it.": (ATTENTION,),
    "Head 0 takes the first hidden / heads numbers of every query, key and value, head 1 the next.":
        (ATTENTION,),
    "`attention_mask` (batch, seq), integers of any width, is 1 for a token and 0 for "
    "padding.": (ATTENTION, MASKS),
    "No query attends to a key that is padding, however large its score": (PADDING,),
    "a padded query still attends to the tokens": (ATTENTION, EXAMPLE),
    "A row that is all padding may give any finite numbers.": (PADDING,),
    "GELU is the form with erf. Both layer norms use the given `eps`.": (LAYER,),
    "With `training=False` there is no dropout, whatever the probabilities.": (EVALUATION,),
    "dropout acts in three places only": (HALVES, WEIGHTS),
    "on the attention weights (after the softmax, with probability `attention_dropout`)":
        (WEIGHTS, PASSED_ON),
    "on the results of the two output layers (`hidden_dropout`)": (HALVES,),
    "Each number is set to 0 with that probability, independently of the others, and the "
    "remaining numbers are multiplied by 1 / (1 - p)": (HALVES, WEIGHTS),
    "`F.dropout` does this, and draws from torch's global generator.": (GENERATOR,),
    "A gradient must reach `x` and every one of the sixteen tensors, in training as well.":
        (GRADIENT,),
    "Tensors may be non-contiguous.": (TYPES,),
    "No argument is changed.": (TRACE,),
    "Hidden and intermediate size 2, one head. All matrices are identities, all biases 0, all "
    "scales 1": (EXAMPLE,),
    "In training, each attention weight is set to 0 with probability `attention_dropout`, "
    "independently of the others.": (WEIGHTS,),
    "No query attends to a key that is": (
        'test_masks_of_any_width_and_scores_of_any_size',),
    'Each number is set': (
        'test_eps_0_and_dropout_of_1_are_values_like_others',),
    "independently of the others, and the remaining numbers are multiplied by": (
        'test_every_dropout_of_every_call_is_drawn_anew',),
    "Padding may stand anywhere.": ("test_masks_of_any_width_and_scores_of_any_size",),
    "where p is 1, all are 0.": ("test_eps_0_and_dropout_of_1_are_values_like_others",),
    'Both take states `x` (batch, seq, hidden), float32 or float64': (
        "test_states_of_any_size",),
    'Each number is set to 0 with that probability, independently of the others': (
        "test_dropout_is_as_fine_as_its_probability_asks",),
    "With `training=True`, dropout acts in three places only": (
        "test_a_call_in_training_gives_what_some_draws_of_dropout_give",),
}  # fmt: skip
