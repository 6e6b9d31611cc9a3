"""What the page and the starter of 02_sentence_pairs promise, and the checks that hold it."""

MADE = "test_every_pair_is_made_of_sentences_that_follow_one_another"
SIZES = "test_random_next_is_the_share_of_random_pairs_and_a_ends_anywhere"
ELSEWHERE = "test_half_of_the_pairs_are_random_and_begin_anywhere_in_any_other_document"
APART = "test_equal_documents_and_equal_sentences_are_kept_apart"
DRAWS = "test_every_draw_comes_from_the_generator"
LONGER = "test_the_longer_segment_loses_tokens_until_both_fit"
COINS = "test_front_and_back_lose_tokens_as_a_coin_falls"
ROW = "test_a_row_holds_the_pair_its_segments_and_its_mask"
ZEROS = "test_zeros_equal_documents_and_empty_segments_are_nothing_special"
TRACE = "test_nothing_is_left_behind"
EVEN = "test_every_draw_is_even_in_small_documents_and_at_both_ends_of_them"
ANY = "test_documents_segments_and_rows_of_any_size"
FAIR = "test_every_coin_is_fair_for_any_lengths_and_any_room"

PROMISES = {
    # the page
    "**`sentence_pairs`** makes all pairs of document `index`.": (MADE,),
    "Beginning with the first sentence, repeat these steps until every sentence is used": (MADE,),
    "as many consecutive sentences as it takes to have `target` tokens *or more*; at the end of "
    "the document, what is left.": (MADE,),
    "Their number is drawn: 1, 2, … or all but one, each equally likely.": (SIZES, EVEN, ANY),
    "In a chunk of one sentence, A is that sentence.": (MADE,),
    "With probability `random_next`": (SIZES, ELSEWHERE, ZEROS, ANY),
    "**and always if the chunk has one sentence**, B is random": (MADE, SIZES),
    "draw one of the *other* documents, each equally likely": (MADE, ELSEWHERE, APART, ANY),
    "and one of its sentences, each equally likely.": (ELSEWHERE, EVEN, APART),
    "B begins there and continues until it has `target - len(a)` tokens or more (at least one "
    "sentence), or the document ends.": (MADE,),
    "The label is **1**.": (MADE,),
    "The sentences after A in the chunk were not used: the next chunk begins with them.": (MADE,),
    "Otherwise B is the rest of the chunk, the label is **0** (IsNext), and the next chunk begins "
    "after it.": (MADE,),
    "`a` and `b` are new, flat lists of ids: writing to them changes no document.": (
        MADE, TRACE),
    "*Another document* means one with another index; it may hold the same sentences.": (APART,),
    "Every draw is independent of the draws before it.": (SIZES, ELSEWHERE, COINS, DRAWS, APART),
    "**`truncate_pair`** cuts a pair to `room` tokens in all.": (LONGER, ZEROS),
    "each from the longer segment, or from B when both are equally long": (LONGER,),
    "from its front or its back with equal probability, drawn anew for each token.": (COINS, FAIR),
    "A pair that fits is returned unchanged, in new lists.": (LONGER,),
    "three int64 arrays of `seq_length` numbers.": (ROW,),
    "Any word may have the id of a special token.": (ROW,),
    "| `input_ids` | `cls_id` | its ids | `sep_id` | its ids | `sep_id` | `pad_id` |": (ROW,),
    "| `token_type_ids` | 0 | 0 | 0 | 1 | 1 | 0 |": (ROW,),
    "| `attention_mask` | 1 | 1 | 1 | 1 | 1 | 0 |": (ROW,),
    "No input is changed": (TRACE,),
    "every draw comes from `rng`.": (DRAWS, TRACE),
    "[([11, 12], [13, 14, 15], 0), ([16], [23, 24, 25], 1)]": (MADE,),
    "[([11, 12], [21, 22, 23, 24, 25], 1), ([13, 14, 15], [16], 0)]": (MADE,),
    "gives `[7, 8]` unchanged, and one of `[1, 2, 3, 4]`, `[2, 3, 4, 5]` (twice as likely), "
    "`[3, 4, 5, 6]`.": (COINS,),
    "[101   7   8   9 102  21  22 102   0   0]": (ROW,),
    # the starter
    "All pairs (A, B, label) of document `index`, in order": (MADE,),
    "every number is equally likely, but at least one sentence is left for B.": (MADE, SIZES),
    "every other document is equally likely, and so is each of its sentences as the first of B": (
        ELSEWHERE,),
    "which continues until it has the `target - len(A)` tokens that A leaves (at least one "
    "sentence), or the document ends.": (MADE,),
    "The label is then IS_RANDOM, and the next chunk begins right after A.": (MADE,),
    "Otherwise B is the rest of the chunk, the label is IS_NEXT, and the next chunk begins after "
    "B.": (MADE,),
    "A and B, cut until both together have `room` tokens or fewer.": (LONGER,),
    "Tokens are removed one by one, from the longer segment (from B when they are equally long)": (
        LONGER,),
    "`a` and `b` are not changed.": (TRACE,),
    "`input_ids`, `token_type_ids` and `attention_mask` of a pair that fits, each int64.": (ROW,),
    "The ids are [CLS] A [SEP] B [SEP] and padding up to `seq_length`.": (ROW,),
    "The types are 0 for [CLS] A [SEP], 1 for B [SEP], and 0 on padding; the mask is 1 on tokens, "
    "0 on padding.": (ROW,),
    '`documents` is a list of documents, a document a list of sentences, a sentence a '
    'list of ids.': (
        ANY,),
}  # fmt: skip
