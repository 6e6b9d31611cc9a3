"""What the page and the docstrings promise or ask for, and the checks that hold it."""

EARLIER = (
    "test_your_layer_norm_passes_the_checks_of_exercise_4",
    "test_your_gelu_passes_the_checks_of_exercise_5",
    "test_your_attention_passes_the_checks_of_exercise_6",
    "test_your_lookup_backward_passes_the_checks_of_exercise_8",
    "test_your_masked_cross_entropy_passes_the_checks_of_exercise_9",
    "test_your_mask_tokens_passes_the_checks_of_exercise_10",
    "test_your_optimizer_passes_the_checks_of_exercise_11",
)
ALONE = (
    "test_your_layer_norm_forward_alone",
    "test_your_layer_norm_backward_alone",
    "test_your_gelu_forward_alone",
    "test_your_gelu_backward_alone",
    "test_your_attention_forward_alone",
    "test_your_attention_backward_alone",
    "test_your_lookup_backward_alone",
    "test_your_masked_cross_entropy_forward_alone",
    "test_your_masked_cross_entropy_backward_alone",
    "test_your_learning_rate_alone",
    "test_your_clip_gradients_alone",
    "test_your_adam_step_alone",
)
DECAY = "test_your_adam_step_decays_by_name_alone"
MASKS = "test_your_mask_tokens_draws_for_each_token_by_itself"
FORWARD = ("test_your_layer_forward_alone", "test_your_layer_forward_on_any_input")
BACKWARD = ("test_your_layer_backward_alone", "test_your_layer_backward_on_any_input")
FOLLOWS = "test_with_all_of_your_functions_the_loss_follows_the_reference"
LEARNS = "test_with_all_of_your_functions_a_bert_learns"
TRACE = "test_none_of_your_functions_leaves_anything_behind"

PROMISES = {
    "The functions of all rows except the first take the same arguments and give the "
    "same results as there": (
        *EARLIER,
        *ALONE,
    ),
    "each function must pass the checks of its own exercise": EARLIER,
    "`mask_tokens` draws for each token separately, both whether it is selected and what "
    "becomes of it": (MASKS,),
    "the weight decay of `adam_step` goes by the names of the weights, not by their shapes": (
        DECAY,
    ),
    r"\mathrm{out} = \mathrm{LN}_2\bigl(y + \mathrm{GELU}(y\,W_1^\top + b_1)\,W_2^\top + "
    r"b_2\bigr)": FORWARD,
    "Splitting gives head h the numbers h · head_dim to (h + 1) · head_dim - 1 of every vector": (
        FORWARD
    ),
    "`eps` is for both norms, `approximation` for GELU.": (*FORWARD, *BACKWARD),
    "As in exercise 4, a mean of 10,000 costs the norms no precision.": (FORWARD[1], BACKWARD[1]),
    "`attention_mask` (batch, seq) is 1 for a token, 0 for padding, which may stand anywhere.": (
        *FORWARD,
        *BACKWARD,
    ),
    "No token attends to padding, however large the values at padded positions are.": FORWARD[1:],
    "An example that is all padding gives finite results.": FORWARD[1:],
    "`gradients` has an array for every name of `weights`.": BACKWARD,
    "The backward keeps nothing from the forward: it recomputes what it needs.": BACKWARD[1:],
    "No input is changed": (TRACE,),
    "a result has the dtype of its inputs: float32 for float32": (*ALONE, *FORWARD, *BACKWARD),
    "both losses, every gradient and the weights afterwards must be the reference's": (
        *ALONE,
        FORWARD[0],
        BACKWARD[0],
    ),
    "The layer is also called with inputs of many sizes, tiny numbers and padding anywhere.": (
        FORWARD[1],
        BACKWARD[1],
        "test_your_layer_on_inputs_of_any_size",
    ),
    "twelve steps on StoryWorld must give the losses of the reference within 1e-6": (FOLLOWS,),
    "thirty steps must lower the loss by 0.1 nats": (LEARNS,),
    "| `out`, mask [[1, 0]] | -1.3518, -0.4512, 0.4870, 1.3160 |": FORWARD[1:],
    "With that `dout` the gradient of `attention.self.value.bias` is [0.0947, -0.1265, -0.0258, "
    "0.0576].": BACKWARD[1:],
    "arrays may be non-contiguous": (TRACE,),
}
