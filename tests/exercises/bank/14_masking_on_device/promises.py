"""What the page and the starter of 14_masking_on_device promise, and the checks that hold it."""

COUNT = "test_every_row_has_as_many_masks_as_its_length_asks_for"
SLOTS = "test_slots_tell_what_stood_where_and_all_else_is_unchanged"
SPECIAL = "test_special_tokens_and_padding_are_never_chosen"
WORDS_OF_ANY_ID = "test_a_word_of_any_id_is_a_candidate"
CHOICE = "test_every_choice_of_candidates_is_as_likely_and_every_row_is_drawn_anew"
GENERATOR = "test_every_draw_comes_from_the_generator"
SHARES = "test_of_the_masked_80_percent_show_mask_10_a_random_word_10_themselves"
BY_ITSELF = "test_every_masked_token_is_drawn_by_itself"
WORDS = "test_random_words_come_from_all_of_ordinary_ids"
START = "test_rows_that_begin_with_a_word_and_any_type_are_fine"
DEVICE = "test_no_tensor_is_asked_for_its_values_and_new_ones_lie_on_its_device"
LOOP = "test_no_loop_runs_over_rows_or_tokens"
EXAMPLE = "test_the_example_of_the_page_is_one_of_the_results"
OWN_DRAWS = "test_fates_and_random_words_have_draws_of_their_own"
EARLIER = "test_arguments_of_earlier_calls_are_forgotten"
TRACE = "test_nothing_is_left_behind"
SMALL = "test_small_batches_and_single_rows_have_the_same_chances"

PROMISES = {
    "`input_ids` and `attention_mask` are (batch, seq); the mask is 1 for a token, 0 for "
    "padding.": (COUNT, SLOTS, SPECIAL),
    "`slots` is a number from 1 to seq.": (COUNT,),
    "Candidates are the tokens (where `attention_mask` is 1) that are not among `special_ids`, a "
    "tensor.": (SPECIAL, WORDS_OF_ANY_ID),
    "In a row of n tokens, special ones included, the number of masked candidates is": (COUNT,),
    "All choices of that many candidates are equally likely": (
        CHOICE, SMALL, "test_draws_are_fine_and_batches_of_any_size",
        "test_the_front_of_a_long_row_is_masked_no_more_often_than_its_end"),
    "every row is drawn independently": (CHOICE, BY_ITSELF),
    "Each masked token is drawn independently of the others": (
        BY_ITSELF, WORDS, OWN_DRAWS, "test_draws_are_fine_and_batches_of_any_size"),
    "with probability 80% it shows `mask_id`": (SHARES, SMALL, WORDS_OF_ANY_ID),
    "with 10% one of `ordinary_ids` (a tensor; all equally likely)": (
        SHARES, WORDS, EARLIER, "test_draws_are_fine_and_batches_of_any_size"),
    "with 10% itself": (SHARES, SMALL),
    "| `shown` | (batch, seq), as `input_ids` |": (START, SLOTS),
    "| `positions` | (batch, slots), int64 | the positions of the masked tokens, in any "
    "order, each once |": (SLOTS,),
    "| `tokens` | (batch, slots), as `input_ids` | the original tokens there |": (SLOTS, START),
    "| `weights` | (batch, slots), float32 | 1 |": (SLOTS,),
    "A row with fewer masked tokens than `slots` has empty slots: position 0, token 0, "
    "weight 0.": (SLOTS,),
    "They do not change `shown`, even if position 0 holds a word that is masked.": (
        START, "test_every_place_of_a_row_of_words_shows_its_mask"),
    "All tokens that are not masked stay as they are.": (SLOTS,),
    "Your code asks no tensor for its values, and no tensor has a size that depends on "
    "values.":
        (DEVICE,),
    "New tensors are made on the device of `input_ids`": (DEVICE,),
    "The number of lines of Python that run does not grow with the number of rows or tokens.":
        (LOOP,),
    "Tensors may be non-contiguous.": ("test_draws_are_fine_and_batches_of_any_size",),
    "Every draw comes from `generator`, and `input_ids` is not changed.": (GENERATOR, TRACE),
    "This is one of the possible results: each of the four words is chosen equally often.":
        (EXAMPLE, CHOICE),
    "A row of n tokens (those of `attention_mask` 1) gets max(1, round(`rate` · n)) masks, but no "
    "more than `slots` (from 1 to seq), and no more than it has candidates": (COUNT,),
    "Empty slots have position, token and weight 0.": (SLOTS,),
    "Positions are int64, weights float32, ids and tokens have the type of `input_ids`.":
        (SLOTS, START),
    "Of the masked tokens, 80% show `mask_id`, 10% one of `ordinary_ids`, all equally likely, and "
    "10% themselves.": (SHARES, WORDS),
    "No tensor is asked for its values, and no shape depends on values: nothing waits for a GPU.":
        (DEVICE,),
    "All choices of that many candidates are equally likely, and every row is drawn independently.":
        ("test_the_front_of_a_long_row_is_masked_no_more_often_than_its_end",),
}  # fmt: skip
