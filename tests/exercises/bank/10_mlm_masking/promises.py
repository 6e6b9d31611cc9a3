"""What the page and the starter of 10_mlm_masking promise or demand, and the checks that hold
it."""

LABELS = "test_labels_are_the_originals_where_selected_and_the_rest_is_unchanged"
SPECIAL = "test_special_tokens_and_padding_are_never_selected"
RATE = "test_the_proportion_of_selected_tokens_is_the_rate"
FATES = "test_of_the_selected_80_percent_are_masked_10_random_10_kept"
WORDS = "test_random_words_come_from_the_whole_ordinary_vocabulary"
SMALL = "test_each_word_of_a_small_vocabulary_is_as_likely_as_the_others"
ALONE = "test_whether_a_token_is_selected_does_not_depend_on_the_others"
FATES_ALONE = "test_what_becomes_of_a_token_does_not_depend_on_the_others"
CALLS = "test_the_numbers_of_a_batch_differ_from_call_to_call"
WORDS_ALONE = "test_each_random_word_is_drawn_by_itself"
ANEW = "test_every_position_row_and_call_is_drawn_anew"
SHAPES = "test_any_shape_any_type_and_rows_of_padding_are_fine"
MASK_ID = "test_the_id_of_mask_is_an_argument"
TRACE = "test_nothing_is_left_behind"

PROMISES = {
    "mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15) -> (shown, "
    "labels)": (LABELS, RATE),
    "Every token of `input_ids` (batch, seq) that is not among `special_ids` is selected with "
    "probability `rate`, from 0 to 1.": (SPECIAL, RATE, SHAPES),
    "`special_ids` is a list of ids below `vocab_size`, in any order; an id may occur "
    "twice.": ("test_seeds_give_as_many_masks_and_words_repeat", SMALL),
    "| 80% | `mask_id` (which is one of `special_ids`) |": (FATES, MASK_ID, SMALL),
    "| 10% | a random ordinary token: any id below `vocab_size` except `special_ids`, "
    "all equally likely (it may happen to be the token itself) |": (
        FATES, WORDS, SMALL, "test_draws_are_as_fine_as_rates_and_vocabularies_ask"),
    "| 10% | itself |": (FATES,),
    "Every token has draws of its own, independent of those of all other tokens: whether "
    "it is selected, what becomes of it, and which random word it gets.": (
        ALONE, FATES_ALONE, CALLS, WORDS_ALONE, ANEW),
    "So the number of selected tokens differs from row to row and from call to call.": (
        ALONE, CALLS),
    "`labels` holds the original id where a token was selected, whatever became of it, and -100 "
    "elsewhere.": (LABELS, SHAPES),
    "`input_ids` is not changed and may be non-contiguous; `shown` and `labels` have its "
    "shape and dtype.": (TRACE, SHAPES, "test_ids_and_vocabularies_of_any_size"),
    "Every draw comes from `rng`, a generator made by `np.random.default_rng`: a "
    "generator in the same state gives the same masks, one in another state gives others.": (
        ANEW, TRACE),
    "| `input_ids` | 101 | 1996 | 4937 | 2938 | 2091 | 102 | 0 |": (SHAPES,),
    "first what must hold for every token, then the proportions, on 100,000 tokens.": (
        LABELS, RATE, FATES),
    "Each token that is not among `special_ids` is selected with probability `rate`.": (
        SPECIAL, RATE),
    "Of those selected, 80% become `mask_id`, 10% a random ordinary token (of the whole vocabulary "
    "but `special_ids`, all equally likely), and 10% stay as they are.": (FATES, WORDS, SMALL),
    "Every token is drawn for by itself.": (ALONE, FATES_ALONE, CALLS, WORDS_ALONE),
    "The label of a selected token is its id, of all others `IGNORED`.": (LABELS,),
    "`input_ids` is left as it is, both results have its type, and every draw comes from `rng`.": (
        TRACE, SHAPES, ANEW),
    "Every token has draws of its own, independent of those of all other tokens": (
        'test_no_two_draws_of_a_batch_are_related',
        'test_selection_fate_and_word_have_draws_of_their_own'),
    'that is not among `special_ids` is selected with probability': (
        'test_rates_near_0_and_1_are_exact',),
    "one in another state gives others": (
        'test_seeds_give_as_many_masks_and_words_repeat',),
    'that is not among `special_ids` is selected with probability `rate`, from 0 to 1.': (
        "test_draws_are_as_fine_as_rates_and_vocabularies_ask",),
    "whether it is selected, what becomes of it, and which random word it gets.": (
        "test_tokens_that_lie_side_by_side_have_draws_of_their_own",),
    "`shown` and `labels` have its shape and dtype": (
        "test_ids_and_vocabularies_of_any_size",),
}  # fmt: skip
