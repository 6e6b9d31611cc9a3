"""Wrong answers to 16_tied_gathered_head, as edits of the solution, and their names."""

INDEX = "index = positions[:, :, None].expand(-1, -1, states.shape[-1])"
GATHERED = "return states.gather(1, index)"
GATHER = "x = gather_positions(states, positions)  # (batch, masks, hidden)"
DENSE = 'x = F.linear(x, weights[f"{head}.dense.weight"], weights[f"{head}.dense.bias"])'
GELU = 'x = F.gelu(x, approximate="none" if hidden_act == "gelu" else "tanh")'
NORM = "x = F.layer_norm(x, scale.shape, scale, shift, eps)"
DECODER = 'return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])'
READ = "states = F.embedding(input_ids, weights[WORDS])"
LEAVES = "read, named = (weights[WORDS].detach().clone().requires_grad_() for _ in range(2))"
APART = "reading, naming = torch.autograd.grad(logits, (read, named), dlogits)"
BOTH = "return reading, naming"


def by_hand(root):
    return (f"x = x - x.mean(-1, keepdim=True)\n"
            f"    x = x / {root} * scale + shift")  # fmt: skip


WRONG = {
    "positions of the first row": (
        [(GATHERED, "return states[:, positions[0]]")], "positions of the first row"),
    "positions in the whole batch": (
        [(GATHERED, "return states.flatten(0, 1)[positions]")], "not of the batch"),
    "sorted": ([(INDEX, INDEX.replace("positions", "positions.sort(1).values", 1))],
               "the positions were sorted"),
    "a boolean mask": (
        [(GATHERED, "chosen = torch.zeros(states.shape[:2], dtype=torch.bool)\n"
                    "    chosen.scatter_(1, positions, True)\n"
                    "    return states[chosen].view(len(states), -1, states.shape[-1])")], None),
    "gathered on the wrong axis": ([(GATHERED, "return states.gather(0, index % len(states))")],
                                   None),
    "all positions": ([(GATHER, "x = states")], "scores of all positions"),
    "gathered at the end": (
        [(GATHER, "x = states"),
         (DECODER, "x = " + DECODER.removeprefix("return ")
          + "\n    return gather_positions(x, positions)")],
        "the gathering comes after it"),
    "dense turned": (
        [(DENSE, 'x = x @ weights[f"{head}.dense.weight"] + weights[f"{head}.dense.bias"]')],
        "the dense matrix is turned"),
    "no dense bias": ([(DENSE, 'x = F.linear(x, weights[f"{head}.dense.weight"])')],
                      "the bias of the dense layer"),
    "always erf": ([(GELU, "x = F.gelu(x)")], "hidden_act is not used"),
    "always tanh": ([(GELU, 'x = F.gelu(x, approximate="tanh")')], "hidden_act is not used"),
    "no GELU": ([(GELU, "pass")], "the GELU is missing"),
    "ReLU": ([(GELU, "x = F.relu(x)")], "ReLU in place"),
    "no layer norm": ([(NORM, "pass")], "the layer norm is missing"),
    "layer norm first": ([(GELU, "act = lambda x: F.gelu(x, approximate='none' if hidden_act == "
                                 "'gelu' else 'tanh')"), (NORM, "x = act(" + NORM[4:] + ")")],
                         "before the GELU"),
    "layer norm bare": ([(NORM, "x = F.layer_norm(x, scale.shape, eps=eps)")],
                        "its weight and bias are not used"),
    "eps not used": ([(NORM, NORM.replace("eps", "1e-12"))], "eps is not used"),
    "eps of torch": ([(NORM, NORM.replace(", eps", ""))], "eps is"),
    "eps outside": ([(NORM, by_hand("(x.std(-1, keepdim=True, correction=0) + eps)"))],
                    "outside the root"),
    "unbiased": ([(NORM, by_hand("(x.var(-1, keepdim=True) + eps).sqrt()"))], "unbiased"),
    "no word bias": ([(DECODER, "return F.linear(x, weights[WORDS])")], "the bias of the words"),
    "log softmax": ([(DECODER, f"{DECODER}.log_softmax(-1)")], "logits are asked for"),
    "softmax": ([(DECODER, f"{DECODER}.softmax(-1)")], "logits are asked for"),
    "decoder is a copy": ([(DECODER, DECODER.replace("[WORDS]", "[WORDS].detach()"))],
                          "the way back is cut"),
    "decoder is a copy when it names": (
        [(READ, "words = weights[WORDS]\n    weights = {**weights, WORDS: words.detach()}\n"
                "    states = F.embedding(input_ids, words)")],
        "the decoder is a copy"),
    "reading is cut off": ([(READ, READ.replace("[WORDS]", "[WORDS].detach()"))],
                           "reading is cut off"),
    "norm weights detached": (
        [(NORM, "x = F.layer_norm(x, scale.shape, scale.detach(), shift.detach(), eps)")],
        "the way back is cut"),
    "states detached": ([(GATHERED, "return states.detach().gather(1, index)")],
                        "the way back is cut"),
    "no gradients at all": ([("    head = \"cls", "    torch.set_grad_enabled(False)\n"
                              "    head = \"cls")], "the way back is cut"),
    "uses exchanged": ([(BOTH, "return naming, reading")], "are exchanged"),
    "one leaf": (
        [(LEAVES, "read = named = weights[WORDS].detach().clone().requires_grad_()")],
        "both hold the gradient of the tied matrix"),
    "reading holds all": ([(BOTH, "return reading + naming, naming")], "reading holds"),
    "added up": ([(BOTH, "return reading + naming")], "came added up"),
    "gradient of the sum": ([(APART, APART.replace("logits, (read, named), dlogits",
                                                   "logits.sum(), (read, named)"))],
                            "dlogits is not used"),
    "read twice, learns once": (
        [(BOTH, "dread = torch.autograd.grad(word_logits(states, positions, weights), states, "
                "dlogits)[0]\n"
                "    reading = torch.zeros_like(read)\n"
                "    for row, gradient in zip(input_ids.flatten(), dread.flatten(0, 1)):\n"
                "        reading[row] = gradient.detach()\n    return reading, naming")],
        "learns once"),
    "always float32": ([(DECODER, f"{DECODER}.float()")], "the wrong type"),
    "in place": ([(READ, READ + "\n    weights[WORDS] += 0.5")], "changed its input in place"),
}  # fmt: skip
