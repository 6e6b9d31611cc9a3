"""What the page and the docstrings promise or ask for, and the checks that hold it."""

SEGMENTS = ("test_embed_tells_the_segments_apart",)
NORM = ("test_embed_ends_with_the_layer_norm_of_the_paper",)
WORDS = ("test_the_loss_of_the_words_counts_the_slots_that_are_asked",)
PAIRS = ("test_both_classes_of_next_sentence_learn",)
PARTS = ("test_the_parts_of_a_batch_have_the_gradient_of_the_whole",)
EMBEDDINGS = ("test_embeddings_start_as_small_as_the_rest",)
CUT = ("test_normal_draws_are_cut_at_two_deviations",)
CLIPPED = ("test_all_gradients_are_clipped_by_one_factor",)
DECAYED = ("test_biases_and_layer_norms_are_not_decayed_all_else_is",)
SPECIAL = ("test_special_tokens_and_padding_are_not_selected",)
FATES = ("test_80_percent_are_masked_10_random_10_unchanged",)
RESUMED = ("test_a_resumed_run_reads_what_it_would_have_read",)
PADDING = ("test_the_batch_says_what_is_padding",)
IS_B = ("test_the_batch_says_what_is_b",)
LABELS = ("test_label_0_is_the_next_sentence",)

PROMISES = {
    "`update` has a gradient for each weight, returns new weights and leaves the old "
    "ones unchanged.": NORM + CLIPPED,
    "`mask_tokens` and `initial_weights` draw from a `torch.Generator` and from nothing "
    "else, so a generator in the same state gives the same result.": FATES + CUT,
    "Tensors keep their dtype, and may be non-contiguous.": (
        *NORM,
        *WORDS,
        *PARTS,
        *CLIPPED,
        "test_mask_tokens_draws_finely",
    ),
    "`initial_weights` makes a draw of its own for every number of every parameter, and "
    "`mask_tokens` for every token: no fixed counts, and every one of `ordinary_ids` is as likely "
    "as any other.": (*CUT, *FATES, "test_mask_tokens_draws_finely"),
    "Gradients flow through `embed` and `pretraining_losses`.": NORM + WORDS + PAIRS,
    "five batches: epoch 0, epoch 0, epoch 1, epoch 1, epoch 2": RESUMED,
    "the last two of these": RESUMED,
    "The order of all examples in each epoch is up to you, as long as it follows from "
    "`seed`, is drawn anew for each epoch, and agrees with that of another seed only by "
    "chance": RESUMED,
    "Word + position + segment, then layer norm": SEGMENTS + NORM,
    "The variance divides by hidden; `eps` is added to the variance.": NORM,
    "eps: float = 1e-12,": NORM,
    "A slot counts if its weight is 1, whatever its id, and does not if it is 0: the first loss is "
    "the mean over the slots that count.": (*WORDS, "test_losses_and_gradients_hold_for_any_size"),
    "The second is the mean over all pairs.": PAIRS,
    "The gradient, for `weight`, of the mean cross-entropy over all labels of a batch that is read "
    "in several parts: the same as if it had been read at once.": PARTS,
    "a label of -100 does not count. A part may have no label that counts; the whole batch has "
    "one.": PARTS,
    "First values, float32, for parameters of these names and shapes.": EMBEDDINGS + CUT,
    "Biases are 0, the weights of layer norms 1.": EMBEDDINGS + CUT,
    "normal with mean 0 and deviation 0.02, where draws beyond two deviations are drawn again.": (
        EMBEDDINGS + CUT
    ),
    "The weights after w ← w - learning_rate · (g + weight_decay · w).": CLIPPED + DECAYED,
    "First all gradients are scaled by one factor, if need be, so that their common norm is at "
    "most `max_norm`.": CLIPPED,
    "Biases and layer norms are not decayed, embeddings are.": (
        *DECAYED,
        "test_update_holds_for_any_size",
    ),
    "Each token is selected with probability `rate`, unless its id is among `special_ids`.": (
        SPECIAL + FATES
    ),
    "Of those selected, 80% become `mask_id`, 10% one of `ordinary_ids`, 10% stay as they are: "
    "each token's draws are its own.": FATES,
    "The label is the id that stood there, -100 where nothing is selected.": SPECIAL + FATES,
    "rate: float = 0.15,": FATES,
    "An epoch has `examples // batch_size` steps, none of which reads an example that another has "
    "read.": RESUMED,
    "Each epoch has an order of its own, drawn from `seed`; no epoch of another seed has the "
    "same.": RESUMED,
    "A run that was interrupted at step 70 calls `batches(70, …)`, and reads what it would have "
    "read.": RESUMED,
    "A row is `[CLS] A [SEP] B [SEP]`.": PADDING,
    "Segment ids (`token_type_ids`) are 1 on `B [SEP]`, else 0, also on padding.": IS_B,
    "`attention_mask` is 1 on tokens, 0 on padding.": PADDING,
    "`next_sentence_labels` are 0 where B is the next sentence, 1 where it is a random one. All "
    "are int64.": LABELS + PADDING + IS_B,
    "The pieces are plain functions of their arguments": (
        "test_embed_holds_for_any_size",
        "test_losses_and_gradients_hold_for_any_size",
        "test_update_holds_for_any_size",
        "test_mask_tokens_draws_finely",
        "test_batches_are_shuffled_finely_at_any_step",
        "test_collate_holds_for_texts_of_any_length",
    ),
}
