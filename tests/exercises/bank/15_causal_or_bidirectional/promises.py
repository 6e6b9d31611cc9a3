"""What the page and the starter of 15_causal_or_bidirectional promise, and the checks of it."""

VISIBLE = "test_a_token_may_look_at_words_and_a_causal_one_at_none_on_its_right"
DEFAULT = "test_without_causal_it_is_bert"
EXAMPLE = "test_the_example_of_the_page"
PICTURE = "test_the_picture_has_x_where_a_token_may_look"
ATTENTION = "test_attention_takes_from_visible_keys_alone"
NOTHING = "test_a_query_that_sees_nothing_takes_nothing"
LARGE = "test_hidden_keys_stay_hidden_whatever_their_scores"
GRADIENT = "test_gradient_reaches_query_key_and_value"
REACHED = "test_words_travel_from_layer_to_layer"
LONG = "test_words_reach_all_of_a_long_text"
TYPES = "test_types_stay_and_gaps_in_memory_do_no_harm"
SIZES = "test_tables_and_states_of_any_size"
TRACE = "test_nothing_is_left_behind"

PROMISES = {
    "visible_keys(attention_mask, *, causal=False) -> visible # (batch, seq, seq), bool":
        (VISIBLE, DEFAULT),
    "picture(visible) -> list of strings": (PICTURE, EXAMPLE),
    "`visible[b, i, j]` says whether, in example b, token i may attend to token j.": (VISIBLE,),
    "`attention_mask` holds 1 for a token and 0 for padding, which may stand anywhere, in int64, "
    "int32 or bool.": (VISIBLE, SIZES),
    "Only keys are masked: a padded token attends like any other.": (VISIBLE, EXAMPLE),
    "Each token may attend to itself, unless it is padding.": (VISIBLE,),
    "`picture` gives one string for each row, with X where the token may attend and O "
    "where it may not.": (PICTURE, EXAMPLE, SIZES),
    "all heads of an example share its `visible`": (
        ATTENTION, SIZES),
    "`context` has the shape of `value`, `weights` (the $s_{ij}$) is (batch, heads, seq, seq).":
        (ATTENTION,),
    "The weight of a hidden key is exactly 0, however large its score.": (LARGE, ATTENTION),
    "A query that may attend to nothing gets weights of 0 and a context of 0, not NaN": (NOTHING,),
    "`visible` may hold any truth values": (ATTENTION, NOTHING, REACHED, LONG, SIZES),
    "A gradient reaches query, key and value if some query may attend to something, and is never "
    "NaN.": (GRADIENT,),
    "Results have the dtype of the arguments, float32 or float64.": (TYPES,),
    "`reached[b, i, j]` says whether the *input* token j can change the state of token i "
    "after `layers` layers.": (REACHED, EXAMPLE, SIZES),
    "its residual connection lets each state keep what it had": (REACHED, EXAMPLE),
    "So after 0 layers each token has been reached only by itself.": (REACHED,),
    "There may be a thousand layers.": (REACHED, LONG),
    "Tensors may be non-contiguous.": (TYPES,),
    "No argument is changed.": (TRACE,),
    "The first two are `picture` of `visible_keys`.": (EXAMPLE,),
    "One layer keeps the secret, two do not": (EXAMPLE,),
    "Under the triangle the secret is kept at any depth.": (REACHED,),
    "The last row shows the residual connection": (EXAMPLE,),
    "The weight of a hidden key is exactly 0, however large its score. A query that may look at "
    "nothing has weights of 0 and a result of 0.": (LARGE, NOTHING),
}  # fmt: skip
