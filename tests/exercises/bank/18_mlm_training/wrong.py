"""Wrong answers to 18_mlm_training, as edits of the solution, and the words that name each."""

SEED = "(seed * 1_000_003 + number) * 2 + stream"
RISE = "return peak * (step + 1) / warmup_steps"
FALL = "return peak * (total_steps - step) / max(1, total_steps - warmup_steps)"
PASS = "number, place = divmod(step, examples // batch_size)"
ORDER = "order = torch.randperm(examples, generator=generator_for(seed, number, stream=0))"
CUT = "return order[place * batch_size : (place + 1) * batch_size]"
BEGIN = 'return {"weights": weights, "m": m, "v": v, "step": 0}'
TAKE = 'weights, m, v = state["weights"], state["m"], state["v"]'
LOOP = 'for step in range(state["step"], until):'
ROWS = 'step, seed=seed, examples=len(data["input_ids"]), batch_size=batch_size'
BATCH = "batch = {name: tensor[rows] for name, tensor in data.items()}"
LEAVES = "leaves = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}"
DROP = "dropout=dropout, generator=generator_for(seed, step, stream=1)"
LOSS = "loss = surprise / masks"
GRADIENTS = "gradients = dict(zip(leaves, found, strict=True))"
RATE = "rate = learning_rate(step, peak=peak,"
UPDATE = "weights, m, v = adam_step(weights, gradients, m, v, rate=rate)"
APPEND = "losses.append(loss.item())"
RETURN = 'return {"weights": weights, "m": m, "v": v, "step": max(until, state["step"])}, losses'
MEAN = "return surprise / masks  # not"
EACH = "of_batch, count = mlm_surprise(weights, batch)"
FIRSTS = 'for first in range(0, len(data["input_ids"]), batch_size):'

WRONG = {
    # Number 13 of the list of real mistakes, in its forms.
    "the data order restarts": (
        [(ROWS, ROWS.replace("step,", "step - state['step'],", 1))], "depends on where the run"),
    "the RNG is forgotten": (
        [(TAKE, TAKE + "\n    generator = generator_for(seed, 0, stream=1)"),
         (DROP, "dropout=dropout, generator=generator")], "depends on where the run"),
    "everything restarts": (
        [(LOOP, "for step in range(until - state['step']):")], "depends on where the run"),
    "counted from 0": ([(LOOP, "for step in range(until):")], "counted from 0 at each call"),
    "until is a number of steps": (
        [(LOOP, 'for step in range(state["step"], state["step"] + until):'),
         (RETURN, RETURN.replace('max(until, state["step"])', 'state["step"] + until'))],
        "`until` is taken for the number of steps"),
    "the moments restart": (
        [(TAKE, TAKE + "\n    m, v = start(weights)['m'], start(weights)['v']")],
        "the moments or the learning rate begin anew"),
    "the second moments restart": (
        [(TAKE, TAKE + "\n    v = start(weights)['v']")],
        "the moments or the learning rate begin anew"),
    "the schedule restarts": (
        [(RATE, RATE.replace("step,", "step - state['step'],"))],
        "the moments or the learning rate begin anew"),
    "moments kept in the module": (
        [(TAKE, "global KEPT\n    weights = state['weights']\n"
                "    m, v = KEPT if KEPT else (state['m'], state['v'])"),
         ('WORDS = "bert', 'KEPT = None\nWORDS = "bert'),
         (RETURN, "KEPT = m, v\n    " + RETURN)], None),
    "the global generator": (
        [(DROP, "dropout=dropout, generator=None")], "not made anew"),
    "the global generator, seeded": (
        [(TAKE, TAKE + "\n    torch.manual_seed(seed)"),
         (DROP, "dropout=dropout, generator=None")], "depends on where the run"),
    "the global generator, seeded at each step": (
        [(LOSS, LOSS + "\n        torch.manual_seed(seed * 1000003 + step + 1)"),
         (DROP, "dropout=dropout, generator=torch.random.default_generator.manual_seed("
                "seed * 1000003 + step)")],
        "uses or sets something global"),
    "the same dropout at each step": (
        [(DROP, DROP.replace("step,", "0,"))], "its generator needs the step"),
    "dropout without the seed": ([(DROP, DROP.replace("(seed,", "(0,"))],
                                 "dropout does not depend on `seed`"),
    "seed + step": ([(SEED, "seed + number")], "is the same for both"),
    "dropout not used": (
        [(DROP, DROP.replace("=dropout", "=0.1"))], "dropout argument is not used"),
    "another default of dropout": ([("dropout: float = 0.1,", "dropout: float = 0.0,")], None),
    "no shuffling": ([(ORDER, "order = torch.arange(examples)")], "every pass has the same order"),
    "shuffled once": ([(ORDER, ORDER.replace("number,", "0,"))], "every pass has the same order"),
    "shuffled without the seed": ([(ORDER, ORDER.replace("(seed,", "(0,"))], "`seed` is not used"),
    "the order of the global generator": (
        [(ORDER, "order = torch.randperm(examples)")], "takes one twice"),
    "the order from NumPy's, seeded": (
        [(ORDER, "import numpy as np\n    np.random.seed((seed * 1000003 + number) % 2**32)\n"
                 "    order = torch.from_numpy(np.random.permutation(examples))")],
        "uses or sets something global"),
    "with replacement": (
        [(ORDER, ORDER.replace("randperm(examples,", "randint(examples, (examples,),"))],
        "with replacement"),
    "each batch by itself": ([(ORDER, ORDER.replace("number,", "step,"))],
                             "each batch is drawn by itself"),
    "passes of another length": (
        [(PASS, "number, place = divmod(step, -(-examples // batch_size))")], None),
    "the same left over": (
        [(ORDER, "usable = examples // batch_size * batch_size\n    "
          + ORDER.replace("randperm(examples", "randperm(usable"))],
        "what is left over is the same"),
    "indices as a list": ([(CUT, CUT + ".tolist()")], "expected a torch tensor"),
    "the first rate is 0": ([(RISE, RISE.replace("(step + 1)", "step"))],
                            "the rate of the first step is 0"),
    "no fall": ([(FALL, "return peak")], "there is no fall"),
    "no warm-up": ([("if step < warmup_steps:", "if False:"),
                    (FALL, "return peak * (total_steps - step) / total_steps")],
                   "there is no warm-up"),
    "fall from step 0": ([(FALL, "return peak * (total_steps - step) / total_steps")],
                         "the rate jumps down"),
    "fall a step early": ([(FALL, FALL.replace("- step)", "- step - 1)"))], "a step late or early"),
    "moments of the weights": ([(BEGIN, 'return {"weights": weights, "m": weights, "v": weights, '
                                        '"step": 0}')], "the moments begin with the weights"),
    "no step in the state": ([(BEGIN, 'return {"weights": weights, "m": m, "v": v}')],
                             "the number of the step is missing"),
    "gradients add up": (
        [(TAKE, TAKE + "\n    before = {}"),
         (GRADIENTS, GRADIENTS + "\n        gradients = {n: g + before.get(n, 0) for n, g in "
                                 "gradients.items()}\n        before = gradients")],
        "gradients of earlier steps"),
    "moments not handed on": (
        [(UPDATE, "weights, _, _ = adam_step(weights, gradients, m, v, rate=rate)")],
        "the moments begin anew at each step"),
    "divided by slots": ([(LOSS, 'loss = surprise / batch["masked_lm_weights"].numel()')],
                         "divided by the slots"),
    "not divided": ([(LOSS, "loss = surprise")], "not divided by the number of masks"),
    "always the peak": ([(UPDATE, UPDATE.replace("rate=rate", "rate=peak"))],
                        "the rate is always at its peak"),
    "the next step's rate": ([(RATE, RATE.replace("step,", "step + 1,"))],
                             "that of the next step"),
    "only the first batch": ([(ROWS, ROWS.replace("step,", "0,", 1))], "take the first batch"),
    "data in order": (
        [(BATCH, "rows = torch.arange(step * batch_size, (step + 1) * batch_size)"
                 " % len(data['input_ids'])\n        " + BATCH)], "batch_indices is not used"),
    "losses after the update": (
        [(APPEND, "losses.append(torch.divide(*mlm_surprise(weights, batch)).item())")],
        "those after the update"),
    "losses are tensors": ([(APPEND, "losses.append(loss.detach())")], "the losses are tensors"),
    "step not counted on": (
        [(RETURN, RETURN.replace('max(until, state["step"])', 'state["step"]'))], "not counted on"),
    "step of the last step": (
        [(RETURN, RETURN.replace('max(until, state["step"])', "until - 1"))],
        "that of the last step"),
    "step goes back": (
        [(RETURN, RETURN.replace('max(until, state["step"])', "until"))], "goes back to `until`"),
    "the state in place": (
        [(RETURN, "state.update(weights=weights, m=m, v=v, step=max(until, state['step']))\n"
                  "    return state, losses")], "changed its input in place"),
    "weights in place": (
        [(UPDATE, "new, m, v = adam_step(weights, gradients, m, v, rate=rate)\n"
                  "        for name, weight in weights.items():\n"
                  "            weight.copy_(new[name])")], "changed its input in place"),
    "mean of the means": (
        [(FIRSTS, "means = []\n        " + FIRSTS),
         (EACH, EACH + "\n            means.append((of_batch / count).item())"),
         (MEAN, "return sum(means) / len(means)  # not")], "the mean of the batches' means"),
    "the last batch left out": (
        [(FIRSTS, FIRSTS.replace('len(data["input_ids"]),',
                                 'max(1, len(data["input_ids"]) - batch_size + 1),'))],
        "which is smaller, is left out"),
    "only the last batch": (
        [("surprise + of_batch.item(), masks + count.item()", "of_batch.item(), count.item()")],
        "only the last batch counts"),
    "divided by examples": ([(MEAN, 'return surprise / len(data["input_ids"])  # not')],
                            "divided by the examples"),
    "evaluated with dropout": (
        [(EACH, EACH.replace("batch)", "batch, dropout=0.1, generator=generator_for(0, first, "
                                       "stream=1))"))], "dropout is on"),
    "gradients switched off for good": (
        [("    with torch.no_grad():", "    torch.set_grad_enabled(False)\n    if True:")],
        "uses or sets something global"),
}  # fmt: skip
