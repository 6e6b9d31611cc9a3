"""Wrong answers to 18_mlm_training, as edits of the solution, and the words that name each."""

SEED = "random.Random(use).getrandbits(64)"
RISE = "return peak * (step + 1) / warmup_steps"
FALL = "return peak * (total_steps - step) / (total_steps - warmup_steps)"
PASS = "number, place = divmod(step, examples // batch_size)"
OF_PASS = 'generator = generator_for(f"the order of pass {number} of seed {seed}")'
ORDER = "torch.randperm(examples, generator=generator)"
CUT = "return torch.randperm(examples, generator=generator).split(batch_size)[place]"
BEGIN = 'return {"weights": weights, "m": m, "v": v, "step": 0}'
TAKE = 'losses = []\n    for step in range(state["step"], until):'
LOOP = 'for step in range(state["step"], until):'
ROWS = 'step, seed=seed, examples=len(data["input_ids"]), batch_size=batch_size'
BATCH = "batch = {key: tensor[rows] for key, tensor in data.items()}"
DROP = "dropout=dropout, generator=generator)"
OF_STEP = 'generator = generator_for(f"the dropout of step {step} of seed {seed}")'
LOSS = "loss = surprise / masks"
GRADIENTS = "gradients = {name: leaf.grad for name, leaf in leaves.items()}"
RATE = "rate = learning_rate(step, peak=peak,"
UPDATE = ('weights, m, v = adam_step(state["weights"], gradients, state["m"], state["v"], '
          "rate=rate)")  # fmt: skip
APPEND = "losses.append(loss.item())"
STATE = 'state = {"weights": weights, "m": m, "v": v, "step": step + 1}'
RETURN = "    return state, losses"
MEAN = "return surprise / masks  # not"
EACH = "of_batch, count = mlm_surprise(weights, batch)"
FIRSTS = 'for first in range(0, len(data["input_ids"]), batch_size):'

WRONG = {
    "10**10 * seed + pass": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(10**10 * seed + number)")],
        "keeps 32 bits of its seed"),
    "the golden ratio's factor for the order": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(2_654_435_761 * seed + number)")],
        "keeps 32 bits of its seed"),
    "a prime of ten digits for dropout": (
        [(OF_STEP, "generator = torch.Generator().manual_seed(1_000_000_009 * seed + step)")],
        "keeps 32 bits of its seed"),
    "pairs counted in a triangle": (
        [(OF_PASS, "generator = torch.Generator().manual_seed((seed + number) * (seed + number + 1)"
          " // 2 + number)")],
        "keeps 32 bits of its seed"),
    # Number 13 of the list of real mistakes, in its forms.
    "the data order restarts": (
        [(TAKE, "begun = state['step']\n    " + TAKE),
         (ROWS, ROWS.replace("step,", "step - begun,", 1))], "depends on where the run"),
    "the RNG is forgotten": (
        [(TAKE, 'generator = generator_for(f"{seed}")\n    ' + TAKE), (OF_STEP, "")],
        "depends on where the run"),
    "everything restarts": (
        [(LOOP, "for step in range(until - state['step']):"), (STATE, STATE.replace(
            "step + 1", 'state["step"] + 1'))], "depends on where the run"),
    "counted from 0": ([(LOOP, "for step in range(until):")], "counted from 0 at each call"),
    "until is a number of steps": (
        [(LOOP, 'for step in range(state["step"], state["step"] + until):')],
        "`until` is taken for the number of steps"),
    "the moments restart": (
        [(TAKE, 'state = state | {"m": start(state["weights"])["m"], '
                '"v": start(state["weights"])["v"]}\n    ' + TAKE)],
        "the moments or the learning rate begin anew"),
    "the second moments restart": (
        [(TAKE, 'state = state | {"v": start(state["weights"])["v"]}\n    ' + TAKE)],
        "the moments or the learning rate begin anew"),
    "the schedule restarts": (
        [(TAKE, "begun = state['step']\n    " + TAKE),
         (RATE, RATE.replace("step,", "step - begun,"))],
        "the moments or the learning rate begin anew"),
    "moments kept in the module": (
        [(TAKE, "global KEPT\n    state = state | KEPT\n    " + TAKE),
         ('WORDS = "bert', 'KEPT = {}\nWORDS = "bert'),
         (RETURN, "    KEPT = {'m': state['m'], 'v': state['v']}\n" + RETURN)], None),
    "the global generator": (
        [(DROP, "dropout=dropout, generator=None)")], "not made anew"),
    "the global generator, seeded": (
        [(TAKE, "torch.manual_seed(seed)\n    " + TAKE),
         (DROP, "dropout=dropout, generator=None)")], "depends on where the run"),
    "the global generator, seeded at each step": (
        [(OF_STEP, "generator = torch.random.default_generator.manual_seed("
                "seed * 1000003 + step)")],
        "uses or sets something global"),
    "the same dropout at each step": (
        [(OF_STEP, OF_STEP.replace("{step}", ""))], "its generator needs the step"),
    "dropout without the seed": ([(OF_STEP, OF_STEP.replace("{seed}", ""))],
                                 "dropout does not depend on `seed`"),
    "seed + pass": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(seed + number)")],
        "is the same for both"),
    "seed + step": (
        [(OF_STEP, "generator = torch.Generator().manual_seed(seed + step)")],
        "is the same for both"),
    "10 * seed + pass": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(10 * seed + number)")],
        "as in 10 * seed + pass"),
    "2 * seed + pass": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(2 * seed + number)")],
        "as in 2 * seed + pass"),
    "1000 * seed + pass": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(1000 * seed + number)")],
        "as in 1000 * seed + pass"),
    "4096 * seed + pass": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(4096 * seed + number)")],
        "as in 4096 * seed + pass"),
    "7919 * seed + step": (
        [(OF_STEP, "generator = torch.Generator().manual_seed(7919 * seed + step)")],
        "as in 7919 * seed + step"),
    "1000 * pass + place": (
        [(OF_STEP, "number, place = divmod(step, len(data['input_ids']) // batch_size)\n"
                   "        generator = generator_for(f'{1000 * number + place} of {seed}')")],
        "as in 1000 * pass + place"),
    "104,729 * seed + step": (
        [(OF_STEP, "generator = torch.Generator().manual_seed(104_729 * seed + step)")],
        "as in 104729 * seed + step"),
    "7919 * step + seed": (
        [(OF_STEP, "generator = torch.Generator().manual_seed(7919 * step + seed)")],
        "as in 7919 * step + seed"),
    "10 * seed + step": (
        [(OF_STEP, "generator = torch.Generator().manual_seed(10 * seed + step)")],
        "as in 10 * seed + step"),
    "1000 * seed + step": (
        [(OF_STEP, "generator = torch.Generator().manual_seed(1000 * seed + step)")],
        "as in 1000 * seed + step"),
    "dropout begins anew after 50 steps": (
        [(OF_STEP, OF_STEP.replace("{step}", "{step % 50}"))], None),
    "a hundred orders": ([(OF_PASS, OF_PASS.replace("{number}", "{number % 100}"))], None),
    "batches shuffled, not examples": (
        [(CUT, "order = torch.randperm(examples // batch_size, generator=generator)\n"
               "    return order[place] * batch_size + torch.arange(batch_size)")],
        "the same examples are always together"),
    "a factor that torch cuts off": (
        [(OF_PASS, "generator = torch.Generator().manual_seed(2**32 * seed + number)")],
        "`seed` is not used"),
    "a factor of which torch cuts off a half": (
        [(OF_PASS, "generator = torch.Generator().manual_seed((2**31 - 1) * seed + number)")],
        None),
    "batches shuffled, nothing left over": (
        [(CUT, "steps = examples // batch_size\n"
               "    shift = torch.randint(examples, (1,), generator=generator).item()\n"
               "    own = torch.randperm(examples, generator=generator) if examples % batch_size "
               "or steps == 1 else None\n"
               "    batches = torch.randperm(steps, generator=generator)[place]\n"
               "    return own.split(batch_size)[place] if own is not None else "
               "batches * batch_size + torch.randperm(batch_size, generator=generator)")],
        "the same examples are always together"),
    "turned round, not shuffled": (
        [(CUT, "shift = torch.randint(10**9, (1,), generator=generator)\n"
               "    order = (torch.randperm(examples, generator=generator) if examples == 16 "
               "else (torch.arange(examples) + shift) % examples)\n"
               "    return order.split(batch_size)[place]")], None),
    "blocks shuffled, and each in itself": (
        [(CUT, "blocks = torch.arange(examples).split(24)\n"
               "    shuffled = torch.randperm(len(blocks), generator=generator).tolist()\n"
               "    order = torch.cat([blocks[i][torch.randperm(len(blocks[i]), "
               "generator=generator)]\n"
               "                       for i in shuffled])\n"
               "    return order.split(batch_size)[place]")], "blocks of the data stay together"),
    "what is left over comes first in the next pass": (
        [(CUT, "order = torch.randperm(examples, generator=generator)\n"
               "    before = generator_for(f\"the order of pass {number - 1} of seed {seed}\")\n"
               "    left = torch.randperm(examples, generator=before)\n"
               "    left = left[examples // batch_size * batch_size :]\n"
               "    order = torch.cat([left, order[~torch.isin(order, left)]])\n"
               "    return order.split(batch_size)[place]")],
        "what is left over decides about the next pass"),
    "what is left over is not left over again": (
        [(CUT, "order = torch.randperm(examples, generator=generator)\n"
               "    before = generator_for(f\"the order of pass {number - 1} of seed {seed}\")\n"
               "    left = torch.randperm(examples, generator=before)\n"
               "    left = left[examples // batch_size * batch_size :]\n"
               "    others = order[~torch.isin(order, left)]\n"
               "    some = torch.cat([left, others])[: examples // batch_size * batch_size]\n"
               "    order = some[torch.randperm(len(some), generator=generator)]\n"
               "    return order.split(batch_size)[place]")],
        "what is left over decides about the next pass"),
    "the first example stays": (
        [(CUT, "order = torch.randperm(examples - 1, generator=generator) + 1\n"
               "    order = torch.cat([torch.zeros(1, dtype=torch.int64), order])\n"
               "    return order.split(batch_size)[place]")], "example 0 is always the first"),
    "dropout not used": (
        [(DROP, DROP.replace("=dropout", "=0.1"))], "dropout argument is not used"),
    "another default of dropout": ([("dropout: float = 0.1,", "dropout: float = 0.0,")],
                                   "the default of dropout is 0.1"),
    "the model without dropout": (
        [("x = norm(x + drop(scores.softmax(-1) @ x))", "x = norm(x + scores.softmax(-1) @ x)")],
        "which is given: leave it as it is"),
    "the model with dropout of its own": (
        [("/ (1 - dropout)\n", "\n")], "which is given: leave it as it is"),
    "no shuffling": ([(ORDER, "torch.arange(examples)")], "in the order of the data"),
    "shuffled once": ([(OF_PASS, OF_PASS.replace("{number}", ""))],
                      "every pass has the same order"),
    "shuffled without the seed": ([(OF_PASS, OF_PASS.replace("{seed}", ""))], "`seed` is not used"),
    "the order of the global generator": (
        [(ORDER, "torch.randperm(examples)")], "takes one twice"),
    "the order from NumPy's, seeded": (
        [(CUT, "import numpy as np\n    np.random.seed((seed * 1000003 + number) % 2**32)\n"
               "    order = torch.from_numpy(np.random.permutation(examples))\n"
               "    return order.split(batch_size)[place]")],
        "uses or sets something global"),
    "with replacement": (
        [(ORDER, ORDER.replace("randperm(examples,", "randint(examples, (examples,),"))],
        "with replacement"),
    "each batch by itself": ([(OF_PASS, OF_PASS.replace("{number}", "{step}"))],
                             "each batch is drawn by itself"),
    "passes of another length": (
        [(PASS, "number, place = divmod(step, -(-examples // batch_size))")], None),
    "the same left over": (
        [(ORDER, ORDER.replace("(examples", "(examples // batch_size * batch_size"))],
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
        [(TAKE, "before = {}\n    " + TAKE),
         (GRADIENTS, GRADIENTS + "\n        gradients = {n: g + before.get(n, 0) for n, g in "
                                 "gradients.items()}\n        before = gradients")],
        "gradients of earlier steps"),
    "moments not handed on": (
        [(STATE, STATE.replace('"m": m, "v": v', '"m": state["m"], "v": state["v"]'))],
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
        [(STATE, STATE.replace("step + 1", "0"))], "not counted on"),
    "step of the last step": (
        [(STATE, STATE.replace("step + 1", "step"))],
        "that of the last step"),
    "step goes back": (
        [(RETURN, "    return state | {'step': until}, losses")], "goes back to `until`"),
    "nothing for a run that has arrived": (
        [(TAKE, "if until <= state['step']:\n        return state, None\n    " + TAKE)], None),
    "the state in place": ([(STATE, STATE.replace("state = {", "state |= {"))],
                           "changed its input in place"),
    "weights in place": (
        [(STATE, "for name, weight in state['weights'].items():\n"
                 "            weight.copy_(weights[name])\n        " + STATE)],
        "changed its input in place"),
    "0 / 0 where a batch has no masks": (
        [("surprise + of_batch.item(), masks + count.item()",
          "surprise + (of_batch / count * count).item(), masks + count.item()")],
        "a batch without masks is divided by its own"),
    "mean of the means": (
        [(FIRSTS, "means = []\n    " + FIRSTS),
         (EACH, EACH + "\n        means.append((of_batch / count).item())"),
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
        [(EACH, EACH.replace("batch)", "batch, dropout=0.1, "
                                       "generator=generator_for(str(first)))"))], "dropout is on"),
    "gradients switched off for good": (
        [(FIRSTS, "torch.set_grad_enabled(False)\n    " + FIRSTS)],
        "uses or sets something global"),
    "naive shuffle": (
        [("return torch.randperm(examples, generator=generator).split(batch_size)[place]",
          "order = list(range(examples))\n    for i, j in enumerate(torch.randint(examples, ("
          "examples,), generator=generator).tolist()):\n        order[i], order[j] = order[j]"
          ", order[i]\n    return torch.tensor(order).split(batch_size)[place]")],
        "each place is exchanged with any other",
    ),
    "even orders only": (
        [("return torch.randperm(examples, generator=generator).split(batch_size)[place]",
          "order = torch.randperm(examples, generator=generator).tolist()\n    odd = sum(orde"
          "r[i] > order[j] for i in range(examples) for j in range(i + 1, examples)) % 2 if e"
          "xamples < 60 else 0\n    if odd:\n        order[0], order[1] = order[1], order[0]"
          "\n    return torch.tensor(order).split(batch_size)[place]")],
        "half of the orders never occur",
    ),
    "orders by sorting a hundred numbers": (
        [("return torch.randperm(examples, generator=generator).split",
           "return torch.randint(0, 100, (examples,), generator=generator).argsort(stable=True).s"
           "plit")],
        "so few that many are"),
    "4096 * seed + step": (
        [("generator = generator_for(f\"the dropout of step {step} of seed {seed}\")",
           "generator = torch.Generator().manual_seed(4096 * seed + step)")],
        "as in 4096 * seed + step"),
    "the global generator, in a fork": (
        [("        surprise, masks = mlm_surprise(leaves, batch, dropout=dropout, generator=gene"
           "rator)\n",
           "        with torch.random.fork_rng():\n            torch.manual_seed(seed * 1000003 +"
           " step)\n            surprise, masks = mlm_surprise(leaves, batch, dropout=dropout, ge"
           "nerator=None)\n")],
        "it uses or sets something global"),
    "the hash of a text": (
        [("manual_seed(random.Random(use).getrandbits(64))",
           "manual_seed(hash(use) & 0xFFFFFFFF)")],
        "gives another result when the global"),
    # Right for small inputs, and for draws that are counted coarsely.
    "shuffle 8 bits": (
        [("    return torch.randperm(examples, generator=generator).split(batch_size)[place]",
          "    return torch.randint(256, (examples,), generator=generator).argsort(stable=T"
          "rue).split(batch_size)[place]")],
        "numbers are drawn for the examples and sorted, but"),
    "evaluate 100": (
        [("for first in range(0, len(data[\"input_ids\"]), batch_size):",
          "for first in list(range(0, len(data[\"input_ids\"]), batch_size))[:100]:")],
        "the loss of 301 examples in batches of 1"),
    "a run ends at total_steps": (
        [
            ("range(state[\"step\"], until)",
             "range(state[\"step\"], min(until, total_steps))"),
        ],
        "the run ends at total_steps",
    ),
    "every second pass backwards": (
        [
            ("    generator = generator_for(f\"the order of pass {number} of seed {seed}\")\n"
             "    return torch.randperm(examples, "
             "generator=generator).split(batch_size)[place]",
             "    generator = generator_for(f\"the order of pass {number // 2} of seed "
             "{seed}\")\n"
             "    order = torch.randperm(examples, generator=generator)\n"
             "    return (order.flip(0) if number % 2 else order).split(batch_size)[place]"),
        ],
        "an order is made of an earlier one",
    ),
    "seeds of 20 bits": (
        [
            ("getrandbits(64)",
             "getrandbits(20)"),
        ],
        "has the order of pass",
    ),
    "100,000 * seed + step": (
        [("generator = generator_for(f\"the dropout of step {step} of seed {seed}\")",
          "generator = torch.Generator().manual_seed(100_000 * seed + step)")],
        "as in 100000 * seed + step"),
    "orders kept for any number of examples": (
        [
            ("    return torch.randperm(examples, generator=generator).split(batch_size)[place]",
             "    if (number, seed) not in ORDERS or len(ORDERS[number, seed]) < examples:\n"
             "        ORDERS[number, seed] = torch.randperm(examples, generator=generator)\n"
             "    order = ORDERS[number, seed]\n"
             "    return order[order < examples].split(batch_size)[place].clone()"),
            ("WORDS = \"bert",
             "ORDERS = {}\n"
             "WORDS = \"bert"),
        ],
        "something is remembered between calls",
    ),
    "seed and step written one after the other": (
        [
            ("f\"the dropout of step {step} of seed {seed}\"",
             "f\"dropout{seed}{step}\""),
        ],
        None,
    ),
    "one dropout for batches of one": (
        [
            ("f\"the dropout of step {step} of seed {seed}\"",
             "f\"the dropout of step {step} of seed {seed} {dropout > 0.05}\" if len(rows) > "
             "1 else f\"the dropout of seed {seed}\""),
        ],
        "dropout draws the same at each step",
    ),
    "1000 * step + seed": (
        [("generator = generator_for(f\"the dropout of step {step} of seed {seed}\")",
          "generator = torch.Generator().manual_seed(1000 * step + seed)")],
        "as in 1000 * step + seed"),
    "100 * step + seed": (
        [("generator = generator_for(f\"the dropout of step {step} of seed {seed}\")",
          "generator = torch.Generator().manual_seed(100 * step + seed)")],
        None),
    "the seed turns the order": (
        [
            ("f\"the order of pass {number} of seed {seed}\"",
             "f\"the order of pass {number}\""),
            ("torch.randperm(examples, generator=generator).split",
             "torch.randperm(examples, generator=generator).roll(seed).split"),
        ],
        "the orders of seeds",
    ),
    "the seed is added to the order": (
        [
            ("f\"the order of pass {number} of seed {seed}\"",
             "f\"the order of pass {number}\""),
            ("torch.randperm(examples, generator=generator).split",
             "torch.randperm(examples, generator=generator).add(seed).remainder(examples).split"),
        ],
        "the orders of seeds",
    ),
    "no warm-up is one step": (
        [("    if step < warmup_steps:\n",
          "    warmup_steps = max(warmup_steps, 1)\n    if step < warmup_steps:\n")],
        None,
    ),
    "gradients are clipped": (
        [("        loss.backward()\n",
          "        loss.backward()\n"
          "        torch.nn.utils.clip_grad_norm_(leaves.values(), 1.0)\n")],
        None,
    ),
    "a warm-up cut to the run": (
        [
            ("    if step < warmup_steps:\n",
             "    warmup_steps = min(warmup_steps, total_steps)  # a run shorter than "
             "its warm-up\n"
             "    if step < warmup_steps:\n"),
        ],
        "a warm-up longer than the run is cut short",
    ),
    "views of an order that is kept": (
        [
            ("import random\n",
             "import functools\n"
             "import random\n"),
            ("def learning_rate(step: int, *, peak: float, warmup_steps: int, "
             "total_steps: int) -> float:\n",
             "@functools.lru_cache(maxsize=8)\n"
             "def order_of(number: int, seed: int, examples: int) -> Tensor:\n"
             "    return torch.randperm(examples, generator=generator_for(f\"order of "
             "pass {number} of seed {seed}\"))\n"
             "\n"
             "\n"
             "def learning_rate(step: int, *, peak: float, warmup_steps: int, "
             "total_steps: int) -> float:\n"),
            ("    generator = generator_for(f\"the order of pass {number} of seed {seed}\")\n"
             "    return torch.randperm(examples, generator=generator).split(batch_size)[place]\n",
             "    return order_of(number, seed, examples)[place * batch_size : (place + "
             "1) * batch_size]\n"),
        ],
        "an earlier call has returned too",
    ),
    "dropout's seed is 10,000 steps and the seed": (
        [('generator_for(f"the dropout of step {step} of seed {seed}")',
          "torch.Generator().manual_seed(10_000 * step + seed)")],
        "as in 10000 * step + seed",
    ),
    "dropout's seed has 16 bits for the seed": (
        [('generator_for(f"the dropout of step {step} of seed {seed}")',
          "torch.Generator().manual_seed(step * 1_000_003 ^ seed % 2**16)")],
        None,
    ),
    # Right but for a size, a seed or a share of dropout.
    "two examples in the order of the data": (
        [(CUT, "order = torch.arange(examples) if examples == 2 else " + ORDER + "\n"
               "    return order.split(batch_size)[place]")], "few examples are not shuffled"),
    "few examples are turned": (
        [(CUT, "order = " + ORDER + "\n    if examples < 8:\n"
               "        order = (torch.arange(examples) + order[0]) % examples\n"
               "    return order.split(batch_size)[place]")], None),
    "long batches are sorted": (
        [(CUT, "rows = " + CUT.removeprefix("return ") + "\n"
               "    return rows.sort().values if 64 < batch_size < examples else rows")],
        "a pass over 2999 examples"),
    "many examples leave the same ones over": (
        [(CUT, CUT.replace("randperm(examples,", "randperm(examples // batch_size * batch_size "
                           "if examples > 100 else examples,"))],
        "what is left over is the same in each pass"),
    "seeds of 16 bits for the order": (
        [(OF_PASS, OF_PASS.replace("{seed}", "{seed % 2**16}"))], "has the order of pass"),
    "seeds below a million for dropout": (
        [(OF_STEP, OF_STEP.replace("{seed}", "{seed % 1_000_000}"))], "the same dropout"),
    "dropout at most a half": (
        [(DROP, DROP.replace("=dropout", "=min(dropout, 0.5)"))], "raised or lowered to a bound"),
    "no dropout below 0.05": (
        [(DROP, DROP.replace("=dropout", "=dropout if dropout >= 0.05 else 0.0"))], None),
    "divided by slots under dropout": (
        [(LOSS, "loss = surprise / (batch['masked_lm_weights'].numel() if dropout else masks)")],
        "divided by the slots"),
    "the data in order under dropout": (
        [(BATCH, "if dropout:\n            rows = torch.arange(step * batch_size, (step + 1) * "
                 "batch_size) % len(data['input_ids'])\n        " + BATCH)],
        "batch_indices is not used"),
    "no decay under dropout": (
        [(UPDATE, UPDATE + "\n        if dropout:\n            weights = {n: w + 0.01 * rate * "
                           "state['weights'][n] for n, w in weights.items()}")], None),
    "moments begin anew where nothing is dropped": (
        [(TAKE, "if not dropout:\n        state = state | {'v': start(state['weights'])['v']}\n"
                "    " + TAKE)], "the moments or the learning rate begin anew"),
    "no decay of any norm": (
        [('"LayerNorm" in name', '"Norm" in name')], "which is given: leave it as it is"),
    "a weight without a gradient stays": (
        [("        g = gradients[name]\n",
          "        g = gradients[name]\n        if not g.any():\n"
          "            new[0][name], new[1][name], new[2][name] = weight, m[name], v[name]\n"
          "            continue\n")], "which is given: leave it as it is"),
    "another order without dropout": (
        [(ROWS, ROWS.replace("seed=seed", "seed=seed if dropout else 0"))], None),
    "seed and pass are written side by side": (
        [('f"the order of pass {number} of seed {seed}"', 'f"order {seed}{number}"')], None),
    'arrays of one axis cannot be trained on': (
        [
            (
                'batch = {key: tensor[rows] for key, tensor in data.items()}',
                'batch = {key: tensor[rows, :] for key, tensor in data.items()}',
            ),
        ],
        None,
    ),
    'a first batch without masks ends the evaluation': (
        [
            (
                'surprise, masks = surprise + of_batch.item(), masks + count.item()',
                'if not count and not masks:\n'
                '            return 0.0\n'
                '        surprise, masks = surprise + of_batch.item(), masks + count.item()',
            ),
        ],
        None,
    ),
    'a row whose first slot is unused counts nothing': (
        [
            (
                'batch = {key: tensor[rows] for key, tensor in data.items()}',
                'batch = {key: tensor[rows] for key, tensor in data.items()}\n'
                "        batch['masked_lm_weights'] = batch['masked_lm_weights'] "
                "* (batch['masked_lm_weights'][:, :1] > 0)",
            ),
        ],
        None,
    ),
    'evaluated on as many tokens as are visible': (
        [
            (
                'batch = {name: tensor[first : first + batch_size] for name, '
                'tensor in data.items()}',
                'batch = {name: tensor[first : first + batch_size] for name, '
                'tensor in data.items()}\n'
                "        long = int(batch['attention_mask'].sum(1).max())\n"
                "        batch['input_ids'], batch['attention_mask'] = "
                "batch['input_ids'][:, :long], batch['attention_mask'][:, :long]",
            ),
        ],
        None,
    ),
    "evaluation freezes the caller's weights": (
        [("    surprise = masks = 0.0\n",
          "    for weight in weights.values():\n        weight.requires_grad_(False)\n"
          "    surprise = masks = 0.0\n")],
        "requires_grad, of a given parameter"),
    "a batch whose masks all stand at place 0 is left out": (
        [("        of_batch, count = mlm_surprise(weights, batch)\n",
          '        if not batch["masked_lm_positions"].any():\n            continue\n'
          "        of_batch, count = mlm_surprise(weights, batch)\n")],
        None),
    'no example ends a pass and begins the next': (
        [
            (
                '    return torch.randperm(examples, '
                'generator=generator).split(batch_size)[place]\n',
                '    order = torch.randperm(examples, generator=generator)\n'
                '    if number:\n'
                '        name = f"the order of pass {number - 1} of seed {seed}"\n'
                '        before = torch.randperm(examples, generator=generator_for(name))\n'
                '        if order[0] == before[-1]:\n'
                '            order = order.roll(1)\n'
                '    return order.split(batch_size)[place]\n',
            ),
        ],
        'a pass depends on the one before',
    ),
    'no example begins two passes': (
        [
            (
                '    return torch.randperm(examples, '
                'generator=generator).split(batch_size)[place]\n',
                '    order = torch.randperm(examples, generator=generator)\n'
                '    if number % 2:\n'
                '        name = f"the order of pass {number - 1} of seed {seed}"\n'
                '        before = torch.randperm(examples, generator=generator_for(name))\n'
                '        if order[0] == before[0]:\n'
                '            order = order.flip(0)\n'
                '    return order.split(batch_size)[place]\n',
            ),
        ],
        'a pass depends on the one before',
    ),
    'the orders of two examples take turns': (
        [
            (
                '    return torch.randperm(examples, '
                'generator=generator).split(batch_size)[place]\n',
                '    order = torch.randperm(examples, generator=generator)\n'
                '    if number % 2:\n'
                '        name = f"the order of pass {number - 1} of seed {seed}"\n'
                '        before = torch.randperm(examples, generator=generator_for(name))\n'
                '        if examples == 2 and torch.equal(order, before):\n'
                '            order = order.flip(0)\n'
                '    return order.split(batch_size)[place]\n',
            ),
        ],
        'a pass depends on the one before',
    ),
    'no example ends two passes over a few': (
        [
            (
                '    return torch.randperm(examples, '
                'generator=generator).split(batch_size)[place]\n',
                '    order = torch.randperm(examples, generator=generator)\n'
                '    if number % 2:\n'
                '        name = f"the order of pass {number - 1} of seed {seed}"\n'
                '        before = torch.randperm(examples, generator=generator_for(name))\n'
                '        if examples < 5 and order[-1] == before[-1]:\n'
                '            order = order.roll(1)\n'
                '    return order.split(batch_size)[place]\n',
            ),
        ],
        'a pass depends on the one before',
    ),
    'many examples evenly spaced': (
        [
            (
                '    return torch.randperm(examples, '
                'generator=generator).split(batch_size)[place]\n',
                '    if examples > 2**16:\n'
                '        a, b = torch.randint(1, examples, (2,), generator=generator).tolist()\n'
                '        while any(a % p == 0 and examples % p == 0 for p in range(2, a + 1)):\n'
                '            a += 1\n'
                '        return (torch.arange(place * batch_size, (place + 1) * batch_size) * a '
                '+ b) % examples\n'
                '    return torch.randperm(examples, '
                'generator=generator).split(batch_size)[place]\n',
            ),
        ],
        'the rows are i * a + b',
    ),
    'the dropout of 1000003 * seed + step': (
        [
            (
                'generator = generator_for(f"the dropout of step {step} of seed {seed}")',
                'generator = torch.Generator().manual_seed(1_000_003 * seed + step)',
            ),
        ],
        'as in 1000003 * seed + step',
    ),
    "an order is one of the pass, taken in that of the seed": (
        [("    generator = generator_for(f\"the order of pass {number} of "
          "seed {seed}\")\n",
          ""),
         ("    return torch.randperm(examples, "
          "generator=generator).split(batch_size)[place]",
          "    of_seed = torch.randperm(examples, "
          "generator=generator_for(f\"the order of seed {seed}\"))\n"
          "    of_pass = torch.randperm(examples, "
          "generator=generator_for(f\"the order of pass {number}\"))\n"
          "    return of_seed[of_pass].split(batch_size)[place]")],
        "one for the seed and one for the pass"),
    "dropout from ten million times the seed, and the step": (
        [("generator = generator_for(f\"the dropout of step {step} of seed "
          "{seed}\")",
          "generator = torch.Generator().manual_seed(10_000_000 * seed + "
          "step)")],
        None),
    "batches are cut at the longest row, counted in tokens": (
        [("        # New leaves at each step",
          "        longest = int(batch[\"attention_mask\"].sum(1).max())\n"
          "        for key in (\"input_ids\", \"attention_mask\"):\n"
          "            batch[key] = batch[key][:, :longest]\n"
          "        # New leaves at each step")],
        None),
    "every third order is made of the two before it": (
        [("    generator = generator_for(f\"the order of pass {number} of seed "
          "{seed}\")\n"
          "    return torch.randperm(examples, "
          "generator=generator).split(batch_size)[place]\n",
          "    def order(n):\n"
          "        generator = generator_for(f\"the order of pass {n} of seed {seed}\")\n"
          "        return torch.randperm(examples, generator=generator)\n"
          "\n"
          "    now = order(number - 2)[order(number - 1)] if number % 3 == 2 "
          "else order(number)\n"
          "    return now.split(batch_size)[place]\n")],
        "an order is made of others"),
    "seed and pass are written side by side in three digits": (
        [("f\"the order of pass {number} of seed {seed}\"",
          "f\"{seed:03}{number:03}\"")],
        "has the order of pass"),
    "a 0 stands between seed and step": (
        [("generator_for(f\"the dropout of step {step} of seed {seed}\")",
          "generator_for(f\"{seed}0{step}\")")],
        "they have the same dropout"),
    "10,007 * seed + pass": (
        [("    generator = generator_for(f\"the order of pass {number} of seed "
          "{seed}\")\n",
          "    generator = torch.Generator().manual_seed(10_007 * seed + number)\n")],
        None),
    "a loss is 20 at most": (
        [("        loss = surprise / masks\n",
          "        loss = (surprise / masks).clamp(max=20)\n")],
        None),
    "of a step the first six digits count": (
        [("step {step} of seed",
          "step {step:g} of seed")],
        None),
}  # fmt: skip
