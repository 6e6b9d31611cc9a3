"""What the page and the starter of 16_tied_gathered_head promise, and the checks that hold it."""

GATHERED = "test_states_are_gathered_row_by_row_in_the_given_order"
HEAD = "test_the_head_names_words_with_their_own_vectors"
EPS = "test_tiny_states_show_the_eps"
GRADIENT = "test_gradient_reaches_the_states_and_every_parameter"
BOTH = "test_the_word_embeddings_learn_from_reading_and_from_naming"
APART = "test_the_two_uses_are_told_apart"
EXAMPLE = "test_the_example_of_the_page"
TYPES = "test_types_stay_and_gaps_in_memory_do_no_harm"
SPEED = "test_only_the_asked_positions_are_worked_on"
TRACE = "test_nothing_is_left_behind"

PROMISES = {
    "gather_positions(states, positions) -> states at the positions": (GATHERED, EXAMPLE),
    'word_logits(states, positions, weights, *, hidden_act="gelu", eps=1e-12) -> logits':
        (HEAD, EPS, EXAMPLE),
    "read_and_name(input_ids, positions, weights) -> logits": (BOTH,),
    "gradients_of_both_uses(input_ids, positions, weights, dlogits) -> (reading, naming)": (APART,),
    "$h$ is a state at one of `positions`; W, b, the layer norm, the word embeddings E "
    "and the bias c of the words are in the dict `weights`": (HEAD,),
    "The dict may be that of a whole BERT: entries with other names, such as "
    "`cls.predictions.decoder.weight`, are not read.": (HEAD,),
    "`positions[b]` are positions in row b, in any order; a position may occur more than "
    "once, and each row has its own positions.": (GATHERED,),
    "`logits[b, m]` belongs to `positions[b, m]`.": (HEAD, EXAMPLE),
    '`hidden_act` is "gelu" ($x\\,\\Phi(x)$, with erf) or "gelu_new" (the form with tanh).':
        (HEAD,),
    "`eps` is that of the layer norm, which divides by $\\sqrt{\\mathrm{var} + \\mathrm{eps}}$.":
        (EPS,),
    "Only the requested positions are computed": (SPEED,),
    "with 1 of 128 requested, `word_logits` must take less than half as long as the head "
    "on all of them; with 20 requested, less than 0.7 times as long.": (SPEED,),
    "`read_and_name` is a BERT without layers: the states are the vectors of the words (row i of E "
    "for id i).": (BOTH,),
    "Its gradient reaches E from both uses, and every row that is read learns from it.": (BOTH,),
    "the gradient of E from being read (as a table of embeddings), and the one from "
    "naming (as the output matrix), both of the shape of E.":
        (APART,),
    "They add up to the gradient that `read_and_name` sends to E when the gradient of the logits "
    "is `dlogits`.": (APART,),
    "A gradient reaches every parameter and the states.": (GRADIENT, BOTH),
    "Tensors may be non-contiguous.": (TYPES,),
    "Results have the dtype of the arguments, float32 or float64; no argument is "
    "changed, nor is the `.grad` of a parameter that is passed in.":
        (TYPES, TRACE),
    "| [[[9, 9], [2, 0], [0, 1]]] | [[2, 1]] | [[[-1, 1, 0.5], [1, -1, 0.5]]] |": (EXAMPLE,),
    "The states at the given positions of each row, in their order.": (GATHERED,),
    "A score for every word of the vocabulary, at the asked positions alone.": (HEAD,),
    "`positions[b]` are positions in row b, in any order": (
        "test_batches_of_any_size",),
}  # fmt: skip
