"""What the page and the starter of 09_masked_cross_entropy promise or demand, and the checks that
hold it."""

EXAMPLE = "test_the_numbers_of_the_page_come_out"
LOSS = "test_the_loss_is_the_weighted_mean_of_the_surprise"
CLASS_0 = "test_class_0_counts_and_slots_of_weight_0_do_not"
SMALL = "test_a_small_sum_of_weights_divides_like_every_other"
NONE = "test_a_batch_without_any_weight_or_any_slot_gives_zero"
HUGE = "test_huge_and_tiny_logits_give_finite_losses_and_gradients"
BACKWARD = "test_the_backward_gives_the_gradient_of_the_logits"
GAPS = "test_arrays_with_gaps_and_any_type_of_label_are_fine"
TYPES = "test_the_gradient_has_the_type_of_the_logits_whatever_the_weights_are"
SIZES = "test_arrays_of_any_shape_and_size"
TRACE = "test_nothing_is_left_behind"

PROMISES = {
    "masked_cross_entropy_forward(logits, labels, weights) -> loss": (LOSS,),
    "masked_cross_entropy_backward(dloss, logits, labels, weights) -> dlogits": (BACKWARD,),
    r"L = \frac{\sum_s w_s \left(-\ln p_{s,\,y_s}\right)}{\sum_s w_s}": (LOSS, SMALL, SIZES),
    r"\frac{\partial L}{\partial x_{s,c}} = \frac{w_s}{\sum_t w_t}\left(p_{s,c} - [c = y_s]\right)":
        (BACKWARD, SMALL, SIZES),
    "`logits` ($x$) has two axes or more: the last are the classes, the others are the slots.": (
        LOSS, BACKWARD),
    "`labels` ($y$) and `weights` ($w$) have the axes of the slots: (batch, masks) for "
    "the masked tokens, (batch,) for next-sentence prediction.": (LOSS, BACKWARD, CLASS_0),
    "There may be as many classes as a vocabulary has words, say 120,000.": (
        "test_any_scale_of_weights_and_gradients_and_any_order_in_memory",
        SIZES),
    "There may be no slot at all.": (NONE,),
    "`loss` is one number.": (LOSS, NONE),
    "Weights are numbers of 0 or more, whole or not: a weight of 0.5 counts half.": (
        LOSS, BACKWARD, SMALL, TYPES),
    "They alone say which slots count.": (CLASS_0, LOSS, BACKWARD),
    "0 is a label like any other.": (CLASS_0, LOSS, BACKWARD),
    "All weights may be 0. Then the loss is 0, and so is the gradient.": (NONE,),
    "Otherwise the divisor is the sum of the weights, however small, with nothing added to it.": (
        SMALL,),
    "`dloss` is the gradient of a larger loss with respect to this one: multiply the "
    "derivative of the formula by it.": (BACKWARD,),
    "No logit is too large: both functions are finite for 1e4, and in float64 for 1e200.": (HUGE,),
    "Adding the same number to all logits of a slot changes nothing and costs no "
    "precision: in float32, the loss of [1e4, 1e4] is 0.69315, just like that of [0, 0].": (HUGE,),
    "`dlogits` has the dtype of the logits, whatever the dtype of the weights.": (TYPES, GAPS),
    "No argument is changed": (TRACE,),
    "| [[0, 0], [2, 0], [0, 5]] | [0, 0, 0] | [1, 1, 0] | 0.4100 | [[-0.25, 0.25], [-0.0596, "
    "0.0596], [0, 0]] |": (EXAMPLE,),
    "Only the first two count.": (EXAMPLE,),
    "Σ weight · -ln softmax(logits)[label] / Σ weight, in nats; 0 if all weights are 0.": (
        LOSS, NONE),
    "It is finite for logits up to 1e200, and a number that is added to all logits of a slot costs "
    "no digits. Class 0 is a class like every other.": (HUGE, CLASS_0),
    "The gradient for the logits, given the gradient `dloss` for the loss that the forward gave.": (
        BACKWARD,),
    "It has the type of the logits, and is zero where the weight is zero.": (TYPES, BACKWARD),
    'Otherwise the divisor is the sum of': (
        'test_any_scale_of_weights_and_gradients_and_any_order_in_memory',),
    "arrays may be non-contiguous": (TRACE,),
}  # fmt: skip
