"""What the page and the docstrings promise or ask for, and the checks that hold it."""

VECTOR = "test_a_text_has_one_vector_without_its_padding"
SCORES = "test_the_classifier_stands_on_the_encoder"
DROPOUT = "test_dropout_sets_numbers_of_the_vector_to_0_and_the_others_grow"
GRADIENTS = "test_gradients_reach_the_encoder"
LOSS = "test_the_loss_fits_the_labels"
STEPS = "test_each_step_follows_the_recipe"
RUN_DROPOUT = "test_dropout_is_on_while_it_learns"
BY_HEART = "test_it_learns_a_small_set_by_heart"

PROMISES = {
    "`warmup_steps` may be 0, n or more.": (STEPS, "test_texts_and_batches_of_any_size"),
    'with `pooling="cls"`: tanh(W h₀ + b), h₀ the state of [CLS], token 0, with W and b of '
    "`pooler.dense`": (VECTOR,),
    'With `pooling="mean"`: the mean of the states of the tokens whose `attention_mask` is 1, '
    "[CLS] included, padding not, and no pooler.": (VECTOR,),
    "There may be padding in the middle": (VECTOR,),
    "encodes, makes one vector, applies dropout to it if `training`, and applies `classifier`": (
        SCORES,
        DROPOUT,
        GRADIENTS,
    ),
    "Dropout sets each number of each vector to 0 with probability `dropout`, "
    "independently of the others and anew at every call, and multiplies the other "
    "numbers by 1 / (1 - `dropout`)": (
        DROPOUT,
        RUN_DROPOUT,
        "test_dropout_is_as_fine_as_its_probability_asks",
    ),
    "Where `dropout` is 1, all numbers are 0, and so are the gradients of the encoder's "
    "weights, which still exist (they are not None).": (DROPOUT, GRADIENTS),
    "from the one forward pass whose gradients the step uses": (RUN_DROPOUT,),
    "There is no other dropout": (DROPOUT,),
    "The result is the logits, without softmax.": (SCORES,),
    "the mean cross-entropy over the batch, in nats": (LOSS,),
    "If there is a single label (one column in `logits`), `labels` are numbers (how "
    "similar are two sentences?), and the loss is the mean squared error.": (LOSS,),
    "makes one step for each of `batches`": (STEPS, BY_HEART),
    "in their order": (STEPS,),
    "the loss of the batch, with dropout on": (
        RUN_DROPOUT,
        "test_texts_and_batches_of_any_size",
    ),
    "add it to `losses` as a number (a `float`, not a tensor": (STEPS,),
    "gradients of **all** weights for this batch alone, scaled by one factor so that "
    "their global norm is at most `max_norm`": (STEPS,),
    "AdamW, betas 0.9 and 0.999, eps 1e-6, **with** bias correction; no weight decay for "
    "biases and layer norms (names with `LayerNorm`)": (STEPS,),
    "a weight without a gradient stays as it is": (STEPS,),
    "with the learning rate of step t = 0, 1, … n - 1": (STEPS,),
    "The batches may differ in size.": (STEPS, "test_texts_and_batches_of_any_size"),
    "The given weights are not changed; the function returns a dict of new ones under "
    "the same names.": (STEPS,),
    "Each of these is a tensor of its own: none, not even an unused pooler, is one of "
    "the given tensors.": (STEPS,),
    "Tensors may be non-contiguous.": ("test_texts_and_batches_of_any_size",),
    "weights are float32 or float64, and keep their dtype": (STEPS, BY_HEART),
    "`mean` gives (2, 1).": (VECTOR,),
    "gives (tanh 0, tanh 2) = (0, 0.964)": (VECTOR,),
    "`loss` of scores [[0, 0]] and label [1] is ln 2 = 0.693; of [[1], [3]] and numbers [1, 1] it "
    "is 2.": (LOSS,),
    "the rates are 0.5, 1, 1, 0.667, 0.333": (STEPS,),
    "checks that your loop can learn eight sentences by heart": (BY_HEART,),
    "the loss of each batch before its step": (STEPS,),
    "Dropout sets each number of each vector to 0 with probability `dropout`": (
        "test_dropout_is_as_fine_as_its_probability_asks",
    ),
}
