"""What the page and the starter of 11_bert_adam promise or demand, and the checks that hold it."""

RATE = "test_the_rate_rises_to_its_peak_and_falls_in_straight_lines"
CLIP = "test_one_factor_clips_all_gradients"
SMALL = "test_small_gradients_stay_as_they_are"
STEPS = "test_steps_are_those_of_the_released_code"
NUMBERS = "test_every_number_of_the_recipe_is_an_argument"
EXAMPLE = "test_the_numbers_of_the_page_come_out"
RESUMED = "test_a_run_is_resumed_from_its_state"
TINY = "test_tiny_zero_and_huge_gradients_are_fine"
ZERO = "test_at_a_rate_of_zero_nothing_moves_but_the_state_does"
OWN = "test_no_weight_shares_its_state_with_another"
FLOAT32 = "test_float32_stays_float32"
TRACE = "test_nothing_is_left_behind"

PROMISES = {
    "learning_rate(step, *, peak, warmup_steps, total_steps) -> rate": (RATE,),
    "clip_gradients(gradients, max_norm) -> (clipped, norm)": (CLIP, SMALL),
    "start_adam(weights) -> state": (OWN,),
    "adam_step(weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, "
    "weight_decay=0.01) -> (weights, state)": (STEPS, NUMBERS),
    "`weights` and `gradients` are dicts of arrays under the same names, for example BERT's; their "
    "order may differ.": (STEPS, RESUMED),
    "`peak · (step + 1) / warmup_steps` while step < `warmup_steps`; then a straight line from "
    "`peak` at step `warmup_steps` to 0 at step `total_steps`.": (RATE,),
    "`warmup_steps` may be 0; it is less than `total_steps`.": (RATE,),
    "The norm is that of all numbers of all gradients together (the global norm).": (
        CLIP, SMALL, "test_weights_and_settings_of_any_size"),
    "If it is above `max_norm`, every gradient is multiplied by `max_norm / norm`; "
    "otherwise, including when the norm is 0, they stay as they are.": (CLIP, SMALL),
    "Return the gradients and the norm before clipping.": (CLIP, SMALL),
    "an array of its own for every weight, in its shape and dtype, zero at the start.": (
        OWN, FLOAT32, TRACE),
    "The state holds everything that a later step needs to know about the earlier ones.": (
        RESUMED,),
    "**A step**, for each weight separately": (
        OWN, STEPS, "test_weights_and_settings_of_any_size"),
    r"m \leftarrow \beta_1 m + (1-\beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1-\beta_2)\, g^2":
        (STEPS, NUMBERS, RESUMED),
    r"w \leftarrow w - \eta \left( \frac{m}{\sqrt{v} + \varepsilon} + \lambda w \right)": (
        STEPS, NUMBERS, RESUMED, TINY, ZERO),
    "except for biases (names that end in `bias`) and layer norms (names that contain "
    "`LayerNorm`), whose $\\lambda$ is 0.":
        (STEPS, NUMBERS),
    "The name alone decides, not the shape.": (STEPS, NUMBERS, EXAMPLE),
    "The $w$ on the right is the weight before the step.": (STEPS, NUMBERS),
    "There is no bias correction.": (STEPS, RESUMED),
    "No argument is changed": (TRACE,),
    "All arrays are float32 or all are float64, and so are the results.": (FLOAT32, STEPS),
    "| 1 | 0.05 | 0.00025 | 1.681792 | | 2 | 0.095 | 0.00049975 | 1.255170 |": (EXAMPLE,),
    "The same weight called `dense.bias` would be 1.683792 after the first step.": (EXAMPLE,),
    "peak 1, warm-up 4 and 10 steps in all gives 0.25, 0.5, 0.75, 1, 1, 0.8333, 0.6667": (EXAMPLE,),
    "The state is passed in and returned: no function keeps anything between calls, and none "
    "changes its arguments.": (RESUMED, TRACE),
    "The rate of step 0, 1, 2, …: `peak` (step + 1) / `warmup_steps` during warm-up, then in a "
    "straight line from `peak` at step `warmup_steps` to 0 at step `total_steps`.": (RATE,),
    "The gradients, and the norm of all of them together before the clip.": (CLIP, SMALL),
    "If it is above `max_norm`, all gradients are scaled by one factor to that norm; otherwise "
    "they stay as they are.": (CLIP, SMALL),
    'The state before the first step: {"m": …, "v": …}, each with a zero for every weight.': (OWN,),
    "The weights after a step, and the state after it": (STEPS,),
    "λ is 0 for biases and layer norms, which are recognized by their names.": (STEPS,),
    'The name alone decides': (
        'test_zeros_are_values_and_names_are_taken_as_they_are',
        "test_weights_and_settings_of_any_size"),
    "arrays may be non-contiguous": (TRACE, "test_weights_and_settings_of_any_size"),
    '`weights` and `gradients` are dicts of arrays under the same names': (
        "test_weights_and_settings_of_any_size",),
}  # fmt: skip
