"""What the page and the docstrings promise or ask for, and the checks that hold it."""

LOSSES = ("test_the_losses_are_sums_over_what_is_asked_divided_by_its_count",)
EXAMPLE = ("test_the_example_of_the_page_comes_out",)
COUNTS = ("test_counts_that_are_given_are_what_is_divided_by",)
GRADIENT = ("test_gradient_flows_through_both_losses",)
SPLIT = ("test_a_batch_is_split_into_rows_with_all_its_arrays",)
WHOLE = ("test_whatever_the_parts_the_gradient_is_that_of_the_whole",)
FORGOTTEN = ("test_a_part_is_forgotten_before_the_next_is_read",)
MACHINES = ("test_the_mean_over_machines_is_the_gradient_of_the_whole",)
TYPES = ("test_float32_and_gaps_in_memory_are_fine",)
NO_TRACE = ("test_nothing_is_left_behind",)

PROMISES = {
    "`joint_loss` returns both terms as 0-dimensional tensors through which gradients flow.": (
        LOSSES + GRADIENT
    ),
    "The weights of the slots are 0 or more: a weight of one half counts half": LOSSES,
    "and all of them may add up to less than 1.": LOSSES,
    "Every id is a label like any other, in both tasks, including 0.": LOSSES + GRADIENT,
    r"If `mask_count` or `pair_count` is given, it replaces $\sum w$ or B; each may be a "
    "number (NumPy's too) or a tensor, and one may be given without the other.": COUNTS,
    "Both losses are finite for logits in the thousands": LOSSES,
    "`split_batch` cuts every array of the batch, whatever its name and its number of axes, after "
    "each `rows` rows; the last part may be smaller.": SPLIT,
    "`accumulated_gradients` works on one part at a time; the weights come without "
    "`requires_grad`.": (
        *FORGOTTEN,
        "test_batches_of_any_size",
    ),
    "`added[p]` is what part p adds to the MLM loss and to the NSP loss of the whole "
    "batch, so `added.sum(0)` gives both losses of the batch.": WHOLE,
    "`gradients` has the gradient of L of the *whole* batch for each weight, under its name, "
    "whatever `rows` is.": WHOLE,
    "A part may have no mask at all; the batch has at least one.": WHOLE + COUNTS + MACHINES,
    "Twelve parts of two rows, or sixty, must not need more than three times as much as one part "
    "of two rows.": FORGOTTEN,
    "The gradients come from autograd, and nothing that is returned requires a gradient.": (
        FORGOTTEN
    ),
    "Each has a part of the batch, perhaps of a different size, and is given the counts "
    "of the whole batch, as numbers or tensors.": MACHINES,
    "The average must be the gradient of L.": MACHINES,
    "What a machine returns requires no gradient.": MACHINES,
    "`weights` and `batch` are left as they are": NO_TRACE,
    "Arrays may be float32 or float64, with one dtype in each call, and may be non-contiguous.": (
        TYPES
    ),
    "The MLM loss is (1 + 3 + 6) / 3 = 3.33. In parts of one row, `added[:, 0]` is [1.33, 2]": (
        EXAMPLE
    ),
    "Both losses, MLM and NSP: sums over this batch, divided by the counts.": LOSSES,
    "Of `batch` it reads `masked_lm_ids` and `masked_lm_weights` (batch, masks), and "
    "`next_sentence_labels` (batch,).": LOSSES,
    "`mask_count` and `pair_count` are those of the whole batch when this is a part of it; without "
    "them they are this batch's own: the sum of the weights, the number of rows.": LOSSES + COUNTS,
    "The batch in parts of `rows` rows, in order; the last may be smaller. Every array of the "
    "batch is split.": SPLIT,
    "What each part of `rows` rows adds to both losses (MLM, NSP) of the batch; and the gradient "
    "of their sum, the batch's whole loss, for every weight.": WHOLE,
    "One part at a time: forward, backward, forget.": FORGOTTEN,
    "Nothing that is returned requires a gradient.": FORGOTTEN,
    "The machines take the *mean* of what is handed in, and this mean must be the gradient of the "
    "whole batch.": MACHINES,
}
