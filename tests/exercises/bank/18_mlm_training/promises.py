"""What the page and the docstrings promise or ask for, and the checks that hold it."""

RATE = ("test_the_rate_rises_to_its_peak_and_falls_in_straight_lines",)
PASS = ("test_each_pass_takes_examples_once_in_an_order_of_its_own",)
APART = ("test_no_two_passes_or_seeds_share_an_order",)
LIKELY = ("test_every_order_is_as_likely_as_any_other",)
SAME = ("test_the_same_step_has_the_same_examples_whenever_it_is_made",)
START = ("test_a_run_begins_with_moments_of_zero",)
STEPS = ("test_steps_are_those_of_the_paper",)
PARTS = ("test_a_run_in_parts_is_the_run_in_one_go_to_the_bit",)
ARRIVED = ("test_a_run_that_has_arrived_is_returned_as_it_is",)
DROPOUT = ("test_dropout_is_another_one_at_each_step_and_for_each_seed",)
EVALUATION = ("test_evaluation_is_the_mean_over_all_masks_without_dropout",)
LEARNS = ("test_the_model_learns",)
NO_TRACE = ("test_nothing_is_left_behind",)

PROMISES = {
    'A *state* is `{"weights": …, "m": …, "v": …, "step": …}`: three dicts of tensors under the '
    "names of the weights, and the number of steps done.": START + STEPS,
    "`learning_rate` is called with steps from 0 to `total_steps`, both included.": RATE,
    "an epoch (a pass over the data) has `examples // batch_size` steps, counted from "
    "step 0.": PASS,
    "In an epoch no example occurs twice, and the examples left over are not used.": PASS,
    "The order is drawn anew for each epoch, every order being as likely as any other, "
    "and differs from seed to seed.": PASS + LIKELY + APART,
    "Two different (seed, epoch) pairs share an order only by chance": APART,
    "`start` gives the state before step 0: the weights as they are, moments of zero.": START,
    '`train` does the steps `state["step"]` to `until - 1`.': STEPS + PARTS,
    "Each step takes the rows `batch_indices` of every tensor of the data, computes the "
    "loss $L_s$ and its gradient, and calls `adam_step` with the rate of the step. "
    "`losses` has one Python float for each step: its loss before the update.": STEPS + LEARNS,
    "different draws at each step and for each seed (step 0 of seed 1 must not draw what "
    "step 1, 10 or 1000 of seed 0 draws), the same whenever that step is computed.": DROPOUT,
    "The checks use steps up to two million.": DROPOUT,
    "**However a run is split into parts, it gives the same state and the same losses, "
    "bit for bit.**": PARTS,
    "The functions remember nothing between two calls that would change a result.": PARTS + SAME,
    "A state that has reached `until`, or gone beyond it, is returned as it is, with an empty "
    "list.": ARRIVED,
    "`evaluate` returns the mean loss over all masked tokens of the data, without "
    "dropout, as a Python float. It takes batches in the data's order: the last may be "
    "smaller, batches differ in their number of masked tokens, and a batch may have "
    "none.": EVALUATION,
    "Tensors may be non-contiguous.": ("test_steps_batches_and_data_of_any_size",),
    "No global generator is read or seeded, and no argument is changed": NO_TRACE,
    "Leave `mlm_surprise` and `adam_step` as they are.": STEPS,
    "`learning_rate` of steps 0 … 5, peak 1, warm-up 2, total 6": RATE,
    "the state after 9 steps, 9 losses": PARTS,
    "the same state; 4 losses, then 5": PARTS,
    "it rises in a straight line to `peak`, then falls to zero.": RATE,
    "Step 0 has peak / warmup_steps, step warmup_steps - 1 and the one after it have `peak`, and "
    "step total_steps would be the first of rate zero.": RATE,
    "The examples of a step, a function of the arguments alone.": SAME,
    "Each pass of each seed has an order of its own, drawn from all orders alike.": (
        PASS + APART + LIKELY
    ),
    "A step's loss is the mean over the masks of its batch.": STEPS,
    "Its examples, rate and dropout depend on the settings and on its own number alone, so that a "
    "run in parts is the run in one go, to the bit.": PARTS + DROPOUT,
    "every example once, the last batch perhaps smaller. A batch may have no mask.": EVALUATION,
    "dropout: float = 0.1,": DROPOUT,
    "every order being as likely as any other": (
        "test_each_place_of_a_long_order_is_drawn_finely",
        "test_steps_batches_and_data_of_any_size",
    ),
    "Another process must draw the same": NO_TRACE,
}
