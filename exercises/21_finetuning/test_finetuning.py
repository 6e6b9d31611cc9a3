"""Fine-tuning: one vector for a text, a classifier, the loss, and steps that train all of it."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder import checks, sweep
from autograder.student import describe_value
from bert_finetuning.tasks.base import cross_entropy
from bert_finetuning.tasks.classification import mean_of_tokens, squared_error
from bert_run.config import is_decayed
from bert_run.training_loop import learning_rate

VOCAB, ROOM = 19, 12
POOLINGS = ("cls", "mean")
RARE = 1e-12  # a dropout that sets nothing to 0
NEAR = 2e-7  # of a run's weights: clip_grad_norm_ adds 1e-6 to the norm, other programs do not


def draw(seed):
    generator = checks.generator(seed)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)


def weights_for(hidden, labels, *, seed=3, dtype=torch.float64):
    normal, weights = draw(seed), {}
    weights["embeddings.word.weight"] = normal(VOCAB, hidden)
    weights["embeddings.position.weight"] = 0.3 * normal(ROOM, hidden)
    for name in ("embeddings.LayerNorm", "attention.LayerNorm"):
        weights |= {f"{name}.weight": 1 + 0.3 * normal(hidden), f"{name}.bias": normal(hidden)}
    for name, out in [("attention.query", hidden), ("attention.key", hidden),
                      ("attention.value", hidden), ("pooler.dense", hidden),
                      ("classifier", labels)]:  # fmt: skip
        weights |= {f"{name}.weight": 0.5 * normal(out, hidden), f"{name}.bias": normal(out)}
    return {name: w.to(dtype) for name, w in weights.items()}


def texts(batch, seq, *, seed=4, holes=False):
    """Ids and a mask; [CLS] is always there. With `holes` padding stands anywhere else."""
    generator = checks.generator(seed)
    ids = torch.randint(1, VOCAB, (batch, seq), generator=generator)
    lengths = torch.randint(1, seq + 1, (batch, 1), generator=generator)
    mask = (torch.arange(seq) < lengths).long()
    if holes:
        mask = torch.randint(2, (batch, seq), generator=generator)
        mask[:, 0] = 1
    return ids, mask


def right_vector(states, mask, weights, pooling):
    if pooling == "mean":
        return mean_of_tokens(states, mask)
    return (states[:, 0] @ weights["pooler.dense.weight"].T + weights["pooler.dense.bias"]).tanh()


def right_states(ids, mask, weights):
    """The encoder that the starter gives."""

    def part(x, name):
        return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"],
                            1e-12)  # fmt: skip

    x = (
        weights["embeddings.word.weight"][ids]
        + weights["embeddings.position.weight"][: ids.shape[1]]
    )
    x = norm(x, "embeddings.LayerNorm")
    q, k, v = (part(x, f"attention.{name}") for name in ("query", "key", "value"))
    scores = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(
        mask[:, None] == 0, -torch.inf
    )
    return norm(x + scores.softmax(-1) @ v, "attention.LayerNorm")


def right_logits(ids, mask, weights, pooling):
    text = right_vector(right_states(ids, mask, weights), mask, weights, pooling)
    return F.linear(text, weights["classifier.weight"], weights["classifier.bias"])


def right_loss(logits, labels):
    if logits.shape[1] == 1:
        return squared_error(logits[:, 0], labels)
    return cross_entropy(logits, labels)


def leaves_nothing_but_draws(function, *args, **kwargs):
    """As `checks.leaves_no_trace`, but numbers may be drawn from torch's generator: dropout written
    by hand may draw where it changes nothing."""
    first, second = (function.trace(*args, global_seed=seed, **kwargs) for seed in (1, 2))
    changed = [what for what in first.changed if "torch.manual_seed" not in what]
    checks.that(not changed, f"{function.name} changed {' and '.join(changed)}")
    problem = checks.difference(first.inputs, (args, kwargs), "the arguments", 0.0)
    checks.that(not problem, f"{function.name} changed its input in place: {problem}")
    checks.that(
        not first.written,
        f"{function.name} changed its input in place, and put back what stood there",
    )
    checks.that(not first.shared, f"{function.name} returns a tensor that it was given, or a view",
                likely="what does not learn is handed on: return a copy")  # fmt: skip
    checks.same(second.value, first.value, tolerance=0.0, of=f"what {function.name} gives when the "
                "global generators have another seed, and there is no dropout")  # fmt: skip


def vector_mistakes(states, mask, weights, pooling):
    weight, bias = weights["pooler.dense.weight"], weights["pooler.dense.bias"]
    real = mask[:, :, None].to(states.dtype)
    last = states[torch.arange(len(mask)), mask.sum(1) - 1]
    if pooling == "cls":
        return {
            "the tanh of the pooler is missing": states[:, 0] @ weight.T + bias,
            "the pooler is missing": states[:, 0],
            "the pooler's dense layer is missing": states[:, 0].tanh(),
            "the pooler's weight is turned: F.linear takes (out, in)": (
                (states[:, 0] @ weight + bias).tanh()),
            "the last column is read, not [CLS], which is token 0": (
                (states[:, -1] @ weight.T + bias).tanh()),
            "the last token is read, not [CLS], which is token 0": (
                (last @ weight.T + bias).tanh()),
            "pooling is not used: this is the mean": right_vector(states, mask, weights, "mean"),
            "[CLS] of the first text is used for all": (
                (states[:1, 0] @ weight.T + bias).tanh().expand(len(states), -1)),
        }  # fmt: skip
    mean = right_vector(states, mask, weights, "mean")
    return {
        "padding is counted: the mean of all columns": states.mean(1),
        "padding is left out above, but counted below": (states * real).mean(1),
        "a sum, not a mean": (states * real).sum(1),
        "the mean of the batch's number of tokens: each text has its own": (
            (states * real).sum(1) / real.sum() * len(states)),
        "[CLS] is left out of the mean": (
            (states[:, 1:] * real[:, 1:]).sum(1) / real[:, 1:].sum(1).clamp(min=1)),
        "[CLS] is left out of the mean (0/0 where it is alone)": (
            lambda out: bool(out.isnan().any())),
        "the mean goes through the pooler: it should not": (mean @ weight.T + bias).tanh(),
        "pooling is not used: this is [CLS]": right_vector(states, mask, weights, "cls"),
        "the largest number, not the mean": states.masked_fill(real == 0, -1e9).max(1).values,
        "padding is added, and taken off again: where it is large, digits are lost": (
            lambda out: bool((out - mean).abs().max() < 1e-4)
            and bool((states * (1 - real)).abs().max() > 1e6)),
        "computed in float32: whole numbers divided by whole numbers have that type": (
            lambda out: bool((out - mean).abs().max() < 1e-6)),
        "something is added to the number of tokens": (
            lambda out: bool((out - mean).abs().max() < 1e-3)),
    }  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_a_text_has_one_vector_without_its_padding(student):
    for batch, seq, hidden, holes in [(3, 5, 4, False), (1, 7, 6, True), (4, 4, 4, True),
                                      (2, 1, 5, False)]:  # fmt: skip
        weights, mask = weights_for(hidden, 3), texts(batch, seq, holes=holes)[1]
        states = draw(5)(batch, seq, hidden) * 1.5
        for pooling in POOLINGS:
            loud = torch.where(mask[:, :, None] == 0, 1e9 * states, states)
            for given in (states, loud):  # padding may hold anything
                checks.same(
                    student.text_vector(given, mask, weights, pooling=pooling),
                    right_vector(given, mask, weights, pooling),
                    of=f"the vector of a text ({pooling})",
                    mistakes=lambda: vector_mistakes(given, mask, weights, pooling),
                )
    weights = weights_for(4, 3)
    for mask in (  # as many tokens in each text, or all texts alike; the last column may be a token
        [[1, 1, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]], [[1, 0, 1, 1]] * 2, [[1, 0, 0, 0]] * 3
    ):  # fmt: skip
        mask = torch.tensor(mask)
        states = draw(6)(*mask.shape, 4)
        states[0] = 0.0
        for pooling in POOLINGS:
            checks.same(student.text_vector(states, mask, weights, pooling=pooling),
                        right_vector(states, mask, weights, pooling),
                        of=f"the vectors ({pooling}) of texts with the mask {mask.tolist()}",
                        mistakes=lambda: vector_mistakes(states, mask, weights, pooling),
                        )  # fmt: skip
    states = torch.tensor([[[0.0, 2], [4, 0], [9, 9]]], dtype=torch.float64)
    mask = torch.tensor([[1, 1, 0]])
    weights = weights_for(2, 2) | {
        "pooler.dense.weight": torch.eye(2).double(),
        "pooler.dense.bias": torch.zeros(2).double(),
    }
    for pooling, right in (("mean", [[2.0, 1]]), ("cls", [[0, 0.9640275800758169]])):
        checks.same(student.text_vector(states, mask, weights, pooling=pooling),
                    torch.tensor(right, dtype=torch.float64), of=f"the page's example ({pooling})",
                    mistakes=lambda: vector_mistakes(states, mask, weights, pooling))  # fmt: skip
    single = weights_for(6, 2, dtype=torch.float32)
    states, mask = draw(6)(3, 5, 6).float(), texts(3, 5)[1]
    for pooling in POOLINGS:
        checks.same(student.text_vector(states, mask, single, pooling=pooling),
                    right_vector(states, mask, single, pooling),
                    of=f"the vector of a text in float32 ({pooling})")  # fmt: skip
        checks.leaves_no_trace(student.text_vector, states, mask, single, pooling=pooling)


def flat(weights):
    """The same, but all tokens begin as vectors of equal numbers, whose variance is 0."""
    tables = {name: torch.ones_like(w) for name, w in weights.items() if "embeddings.w" in name}
    return (
        weights
        | tables
        | {
            "embeddings.position.weight": torch.zeros(
                ROOM, tables[WORDS].shape[1], dtype=torch.float64
            )
        }
    )


WORDS = "embeddings.word.weight"


@pytest.mark.weight(2)
def test_the_classifier_stands_on_the_encoder(student):
    for batch, seq, hidden, labels in [(3, 5, 4, 3), (1, 7, 6, 2), (2, 4, 5, 1)]:
        drawn, (ids, mask) = weights_for(hidden, labels), texts(batch, seq)
        for pooling, weights in [("cls", drawn), ("mean", drawn), ("mean", flat(drawn))]:
            states, right = (
                right_states(ids, mask, weights),
                right_logits(ids, mask, weights, pooling),
            )
            vector = student.text_vector(states, mask, weights, pooling=pooling)
            is_vector = not checks.difference(
                vector, right_vector(states, mask, weights, pooling), "", None
            )
            given = ids, mask, weights
            again = [student.classify(*given, pooling=pooling, **how) for how in ASKED]
            for how, before in zip(ASKED, again, strict=True):
                out = student.classify(*given, pooling=pooling, **how)
                drawing = bool((out != before).any()) if shaped(out, before) else False
                in_training = how.get("training", False)
                checks.same(out, right, of=f"the scores ({pooling}, {how})", mistakes=lambda: {
                    "text_vector already gives other numbers: fix it first": (
                        lambda out, bad=not is_vector: bad),
                    "no padding is hidden from the encoder: attention_mask is not used": (
                        right_logits(ids, torch.ones_like(mask), weights, pooling)),
                    "a softmax is taken: scores are asked for": right.softmax(-1),
                    "pooling is not used": right_logits(*given, POOLINGS[pooling == "cls"]),
                    "the bias of the classifier is missing": right - weights["classifier.bias"],
                    "dropout acts in evaluation: F.dropout must be given `training`": (
                        lambda out, yes=drawing and not in_training: yes),
                    "dropout is not used: a probability is written in": (
                        lambda out, yes=drawing and in_training: yes),
                })  # fmt: skip
        leaves_nothing_but_draws(student.classify, ids, mask, weights, pooling="mean")


ASKED = {"dropout": 0.9}, {"dropout": 0.0, "training": True}, {}


def shaped(out, before):
    return torch.is_tensor(out) and torch.is_tensor(before) and out.shape == before.shape


def dropout_mistakes(times, out, text, bias, p):
    """What common programs do to the numbers of a vector: each is multiplied by one of `times`."""
    is_zero = times.abs() < 1e-9

    def grown(factor):
        return is_zero | ((times - factor).abs() < 1e-9)

    scores = (out.abs() < 1e-9) | ((out * (1 - p) / (text + bias) - 1).abs() < 1e-9)
    return {
        "there is no dropout in training": (times - 1).abs() < 1e-9,
        "what stays is not multiplied by 1 / (1 - dropout)": grown(1),
        "dropout is applied to the scores: it belongs before the classifier": scores,
        "what stays is multiplied by 1 - dropout: divide by it": grown(1 - p),
        "what stays is divided by dropout, not by 1 - dropout": grown(1 / p),
        "dropout is not used: a probability is written in": grown(2 if p == 0.1 else 1 / 0.9),
        "dropout is applied before the vector of the text too": times[~is_zero].std() > 1e-6,
    }  # fmt: skip


@pytest.mark.weight(2)
def test_dropout_sets_numbers_of_the_vector_to_0_and_the_others_grow(student):
    batch, hidden = 320, 32
    ids, mask = texts(batch, 3)
    for pooling, given in (("cls", 0.4), ("mean", 0.95), ("mean", None)):
        weights = weights_for(hidden, hidden)
        weights["classifier.weight"] = torch.eye(hidden, dtype=torch.float64)
        text = right_vector(right_states(ids, mask, weights), mask, weights, pooling)
        how = {"pooling": pooling, "training": True} | ({"dropout": given} if given else {})
        p = given or 0.1
        plain = student.classify(ids, mask, weights, pooling=pooling)
        is_known = not checks.difference(plain, right_logits(ids, mask, weights, pooling), "", None)
        out = student.classify(ids, mask, weights, **how)
        again = student.classify.trace(ids, mask, weights, no_grad=True, **how).value
        checks.same([out, again], [text, text], of="the scores", tolerance=torch.inf)
        times, later = ((each - weights["classifier.bias"]) / text for each in (out, again))
        is_zero = times.abs() < 1e-9
        wrong = int((~is_zero & ((times * (1 - p) - 1).abs() > 1e-9)).sum())
        made = dropout_mistakes(times, out, text, weights["classifier.bias"], p)
        checks.that(
            wrong == 0,
            f"dropout {p}, in training ({pooling}): every number of a text's vector becomes 0 or "
            f"{1 / (1 - p):.4g} times as large; of {out.numel()} numbers {wrong} do neither",
            likely=next((name for name, yes in made.items() if is_known and yes.all()), ""),
        )
        checks.that(bool((is_zero != is_zero[:, :1]).any()),
                    "each text keeps all numbers of its vector, or loses all",
                    likely="a draw for each text: each number has a draw of its own")  # fmt: skip
        checks.that(bool((is_zero != is_zero[:1]).any()), "all texts lose the same numbers",
                    likely="a draw for each column: each text has draws of its own")  # fmt: skip
        checks.share(
            int(is_zero.sum()), is_zero.numel(), p, of="the proportion of numbers set to 0",
            mistakes={"dropout is the probability of 0, not of staying": 1 - p},
        )  # fmt: skip
        counts = is_zero.sum(1)
        checks.that(bool((counts != counts[0]).any()),
                    f"in every text exactly {int(counts[0])} numbers are set to 0",
                    likely="a fixed count: each number is drawn by itself")  # fmt: skip
        for both in (is_zero[:, ::2] & is_zero[:, 1::2], is_zero[::2] & is_zero[1::2]):
            checks.share(int(both.sum()), both.numel(), p * p,
                         of="pairs of neighbors that are both 0")  # fmt: skip
        sweep.is_unrelated(is_zero, of="numbers set to 0")
        checks.that(bool((out != again).any()), "two calls set the same numbers to 0",
                    likely="a generator that is seeded in the function: seed nothing")  # fmt: skip
        checks.that(bool((later.abs() < 1e-9).any()), "no number is set to 0 under torch.no_grad()",
                    likely="`training` alone decides, not whether gradients are recorded"
                    )  # fmt: skip
        sweep.have_own_draws(
            *(sweep.about_mean(each.abs() < 1e-9, is_zero | True) for each in (times, later)),
            of="numbers set to 0 in one call and in the next",
        )  # fmt: skip
        bias = weights["classifier.bias"].expand(batch, -1)
        few_stay = student.classify(ids, mask, weights, pooling=pooling, training=True,
                                    dropout=0.998)  # fmt: skip
        times = (few_stay - bias) / text
        stay = times[times.abs() > 1e-9] * (1 - 0.998)
        checks.same(stay, torch.ones_like(stay), of="what stays at dropout 0.998, divided by 500")
        none_stays = student.classify(ids, mask, weights, pooling=pooling, training=True,
                                      dropout=1.0 if given else 1)  # fmt: skip
        checks.same(none_stays, bias, of="the scores where dropout is 1", mistakes={
            "0 / 0: where dropout is 1, nothing stays that could be divided by 0": (
                lambda out: bool(out.isnan().any())),
            "a dropout of 1 sets nothing to 0: it should set everything": text + bias,
        })  # fmt: skip


def test_gradients_reach_the_encoder(student):
    for pooling, labels, holes, how in (
        ("cls", 3, False, {"dropout": 0.0}),
        ("mean", 3, False, {"dropout": 0.0}),
        ("mean", 1, True, {"dropout": RARE, "training": True}),
        ("cls", 1, True, {"dropout": RARE, "training": True}),
    ):
        weights, (ids, mask) = weights_for(4, labels), texts(3, 5, holes=holes)
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        out = right_logits(ids, mask, leaves, pooling)
        upstream = draw(7)(*out.shape)
        right = checks.gradients_of(out, list(leaves.values()), upstream)
        _, gradients = student.classify.grad(ids, mask, weights, pooling=pooling,
                                             wrt=("weights",), upstream=upstream, **how
                                             )  # fmt: skip
        for name, expected in zip(weights, right, strict=True):
            checks.same(gradients["weights"][name], expected,
                        of=f"the gradient of {name} ({pooling}, {how})",
                        mistakes={"the encoder is frozen: detach or no_grad on the way":
                                  lambda out: out is None})  # fmt: skip
        right = {n: g for n, g in zip(weights, right, strict=True) if g is not None}
        only = pooling == "mean"  # one weight learns, or all others do
        for frozen in right if labels == 3 else ():
            wrt = tuple(f"weights:{name}" for name in right if (name == frozen) is only)
            _, gradients = student.classify.grad(ids, mask, weights, pooling=pooling, wrt=wrt,
                                                 upstream=upstream)  # fmt: skip
            for name in wrt:
                checks.same(gradients[name], right[name.removeprefix("weights:")],
                            of=f"the gradient of {name} ({pooling}) where, of them, {frozen} alone "
                               f"is {'not ' * only}frozen")  # fmt: skip
        states = draw(8)(4, 5, 4)
        mask = torch.tensor([[1, 0, 1, 1, 0], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
        leaf = states.clone().requires_grad_()
        vector = right_vector(leaf, mask, weights, pooling)
        upstream = draw(9)(*vector.shape)
        right = checks.gradients_of(vector, [leaf], upstream)[0]
        _, gradients = student.text_vector.grad(states, mask, weights, pooling=pooling,
                                                wrt=("states",), upstream=upstream)  # fmt: skip
        checks.same(gradients["states"], right, of=f"the gradient of the states ({pooling})")
    what_dropout_leaves_has_a_gradient(student)
    zeros_do_not_cut_the_graph(student)


def zeros_do_not_cut_the_graph(student):
    """Biases of 0 and layer norms of 1, as BERT begins; a classifier of 0; a dropout of 1."""
    plain, (ids, mask) = weights_for(4, 3, seed=61), texts(3, 5)
    for name, w in plain.items():
        if name.endswith("bias"):
            plain[name] = torch.zeros_like(w)
        elif "LayerNorm" in name:
            plain[name] = torch.ones_like(w)
    new = plain | {"classifier.weight": torch.zeros_like(plain["classifier.weight"])}
    upstream = draw(62)(3, 3)
    for pooling in POOLINGS:
        for of, weights, how, stays in (
            ("where biases are 0", plain, {}, 1.0),
            ("where the classifier's weights are 0", new, {}, 1.0),
            ("where dropout is 1", plain, {"dropout": 1.0, "training": True}, 0.0),
        ):
            leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
            text = right_vector(right_states(ids, mask, leaves), mask, leaves, pooling)
            out = F.linear(text * stays, leaves["classifier.weight"], leaves["classifier.bias"])
            right = checks.gradients_of(out, list(leaves.values()), upstream)
            _, found = student.classify.grad(ids, mask, weights, pooling=pooling, wrt=("weights",),
                                             upstream=upstream, **how)  # fmt: skip
            for name, expected in zip(weights, right, strict=True):
                if expected is not None:  # of a pooler that is not used either will do
                    checks.same(found["weights"][name], expected,
                                of=f"the gradient of {name} ({pooling}) {of}",
                                mistakes={"zeros cut the graph: a gradient of 0 is one, too": (
                                    lambda out: out is None)})  # fmt: skip


def what_dropout_leaves_has_a_gradient(student):
    """A classifier that copies the vector shows by what dropout has multiplied each number."""
    weights, (ids, mask) = weights_for(6, 6), texts(5, 4)
    weights["classifier.weight"] = torch.eye(6, dtype=torch.float64)
    for pooling, last in (("cls", "pooler.dense.bias"), ("mean", "attention.LayerNorm.bias")):
        text = right_vector(right_states(ids, mask, weights), mask, weights, pooling)
        upstream = draw(8)(*text.shape)
        scores, gradients = student.classify.grad(
            ids, mask, weights, pooling=pooling, dropout=0.5, training=True, wrt=("weights",),
            upstream=upstream,
        )  # fmt: skip
        checks.same(scores * 0, text * 0, of="the scores in training (their shape and type)")
        times = (scores - weights["classifier.bias"]) / text
        through = upstream * (1 - text**2) if pooling == "cls" else upstream  # tanh
        checks.same(
            gradients["weights"][last], (times * through).sum(0),
            of=f"the gradient of {last} where dropout is 0.5",
            mistakes={"dropout is not in the graph: .data or detach hides from the gradient which "
                      "numbers were set to 0 and which have grown": through.sum(0)},
        )  # fmt: skip


@pytest.mark.hint(2)
def test_the_loss_fits_the_labels(student):
    for batch, labels in [(5, 3), (1, 2), (4, 4), (3, 1), (1, 1), (4, 1)]:
        logits = 3 * draw(8 + batch)(batch, labels)
        is_number = labels == 1
        wanted = draw(9)(batch) if is_number else torch.arange(batch) * 2 % labels
        right = right_loss(logits, wanted)
        if is_number:
            mistakes = {
                "every prediction meets every number: (batch, 1) against (batch,) is a square": (
                    (logits - wanted).square().mean()),
                "the sum, not the mean": (logits[:, 0] - wanted).square().sum(),
                "the distance, not its square": (logits[:, 0] - wanted).abs().mean(),
                "the root of the mean": right.sqrt(),
                "half of it": right / 2,
                "cross-entropy with a single label is always 0": torch.zeros_like(right),
            }  # fmt: skip
        else:
            mistakes = {
                "a softmax before F.cross_entropy, which takes one itself": F.cross_entropy(
                    logits.softmax(-1), wanted),
                "the sum, not the mean": right * batch,
                "the probability, not its logarithm": -logits.softmax(-1)[
                    torch.arange(batch), wanted].mean(),
                "in bits, not in nats": right / torch.log(torch.tensor(2.0, dtype=right.dtype)),
                "the sign: a loss is not negative": -right,
            }  # fmt: skip
        checks.same(student.loss(logits, wanted), right, of=f"the loss of {labels} labels",
                    mistakes=mistakes)  # fmt: skip
        leaf = logits.clone().requires_grad_()
        expected = torch.autograd.grad(right_loss(leaf, wanted), leaf)[0]
        upstream = draw(10)(1)[0]
        _, gradients = student.loss.grad(logits, wanted, wrt=("logits",), upstream=upstream)
        checks.same(gradients["logits"], upstream * expected, of="the gradient of the scores",
                    mistakes={
            "the backward pass is cut: item, detach or no_grad?": (
                lambda out: out is None)})  # fmt: skip
    for scores, answers, right in (([[0.0, 0]], torch.tensor([1]), 0.6931471805599453),
                                   ([[1.0], [3]], torch.ones(2).double(), 2.0),
                                   ([[1.0], [3]], torch.tensor([0, 1]), 2.5)):  # fmt: skip
        checks.same(
            student.loss(torch.tensor(scores, dtype=torch.float64), answers),
            torch.tensor(right, dtype=torch.float64),
            of=f"the loss of {scores} where the labels are {answers.tolist()}",
        )
    for size, largest, off in ((64, 5, 1e-3), (40, 100, 1e-2)):
        wanted, far = largest * draw(64)(size).abs().float(), off * draw(65)(size, 1).float()
        logits = wanted[:, None] + far
        right = (logits.double()[:, 0] - wanted.double()).square().mean()
        out, gradients = student.loss.grad(logits, wanted, wrt=("logits",),
                                           upstream=torch.ones(()))  # fmt: skip
        slopes = 2 / size * (logits - wanted[:, None]).double()
        checks.that(abs(float(out) / float(right) - 1) < 0.01
                    and bool(((gradients["logits"] - slopes).abs() <= 0.01 * slopes.abs()).all()),
                    f"the loss of {size} numbers that are met to about {off:g}: expected "
                    f"{float(right):.4g}, got {float(out):.4g}, or its gradient is not that of "
                    "the differences", likely="squares are taken before the difference: small "
                    "differences lose their digits")  # fmt: skip
    met = draw(63)(3)
    for of, logits, wanted in (
        ("all scores are 0", torch.zeros(3, 4).double(), torch.tensor([1, 0, 3])),
        ("the scores of each text are alike", met[:, None].repeat(1, 3), torch.tensor([2, 2, 0])),
        ("each number is met", met[:, None], met),
        ("the scores of all texts are alike", met[None].repeat(3, 1), torch.tensor([1, 1, 1])),
        ("a label's probability is too small for a number, and other scores are alike",
         torch.tensor([[900.0, 900, -900, 900], [-2000, 0, 0, 0]]).double(), torch.tensor([2, 0])),
    ):  # fmt: skip
        leaf = logits.clone().requires_grad_()
        right = right_loss(leaf, wanted)
        expected = torch.autograd.grad(right, leaf)[0]
        out, gradients = student.loss.grad(
            logits, wanted, wrt=("logits",), upstream=torch.ones((), dtype=torch.float64)
        )
        checks.same(out, right.detach(), of=f"the loss where {of}", mistakes=lambda: {
            "the largest score takes the place of the log of the sum: several may be as large": (
                logits.amax(1) - logits.gather(1, wanted.long()[:, None])[:, 0]).mean()
        })  # fmt: skip
        checks.same(gradients["logits"], expected, of=f"the gradient of the scores where {of}",
                    mistakes={"a loss that is known without a computation is a constant: it needs "
                              "its graph": lambda out: out is None})  # fmt: skip
    years = torch.tensor([[1999.5], [2010.0]]), torch.tensor([2000.0, 2010.3])
    checks.same(student.loss(*years), right_loss(*years), tolerance=1e-4,
                of="the loss of two years in float32")  # fmt: skip
    checks.leaves_no_trace(student.loss, logits, wanted)


# --- The loop ---


def lessons(steps, *, labels=3, seed=11):
    """Batches of other sizes and lengths."""
    found = []
    for step in range(steps):
        ids, mask = texts(3 + step % 3, 6 - step % 2, seed=seed + step, holes=step % 2 == 0)
        wanted = ids[:, 0] % labels if labels > 1 else ids[:, 0].double() / VOCAB
        found.append({"input_ids": ids, "attention_mask": mask, "labels": wanted})
    return found


class AdamW:
    """torch's, by hand: to make one of its own, torch loads its compiler, for two seconds."""

    def __init__(self, groups, *, lr, betas, eps):
        self.param_groups = [{**group, "lr": lr} for group in groups]
        self.betas, self.eps, self.steps = betas, eps, 0
        self.moments = {}

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    self.change(w, group["lr"], group["weight_decay"])

    def change(self, w, rate, weight_decay):
        moments = self.moments.setdefault(w, [torch.zeros_like(w), torch.zeros_like(w)])
        parts = []
        for moment, beta, seen in zip(moments, self.betas, (w.grad, w.grad**2), strict=True):
            moment.mul_(beta).add_((1 - beta) * seen)
            parts.append(moment / (1 - beta**self.steps))
        w.mul_(1 - rate * weight_decay).sub_(rate * parts[0] / (parts[1].sqrt() + self.eps))

    def zero_grad(self):
        for w in (w for group in self.param_groups for w in group["params"]):
            w.grad = None


def trained(weights, batches, *, pooling, peak_rate, warmup_steps, weight_decay=0.01, max_norm=1.0,
            decayed=is_decayed, rate=learning_rate, clip="all", eps=1e-6, zero=True,
            learns=lambda name: True, make=AdamW, after=False, anew=False):  # fmt: skip
    """The reference, or with one thing about it wrong."""
    leaves = {name: w.clone().requires_grad_(learns(name)) for name, w in weights.items()}

    def optimizer_for():
        return make([{"params": [w for n, w in leaves.items() if decayed(n) == d],
                      "weight_decay": weight_decay * d} for d in (True, False)],
                    lr=peak_rate, betas=(0.9, 0.999), eps=eps)  # fmt: skip

    optimizer, losses = optimizer_for(), []
    for step, batch in enumerate(batches):
        optimizer = optimizer_for() if anew else optimizer
        for group in optimizer.param_groups:
            group["lr"] = rate(step, peak=peak_rate, warmup_steps=warmup_steps,
                               total_steps=len(batches))  # fmt: skip

        def loss(batch=batch):
            given = batch["input_ids"], batch["attention_mask"], leaves, pooling
            return right_loss(right_logits(*given), batch["labels"])

        value = loss()
        value.backward()
        if clip == "all":
            torch.nn.utils.clip_grad_norm_(leaves.values(), max_norm)
        elif clip == "each":
            for leaf in leaves.values():
                torch.nn.utils.clip_grad_norm_([leaf], max_norm)
        optimizer.step()
        if zero:
            optimizer.zero_grad()
        losses.append((loss() if after else value).item())
    return {name: w.detach() for name, w in leaves.items()}, losses


def rates(**changes):
    """Schedules that are a little wrong."""

    def rate(step, *, peak, warmup_steps, total_steps):
        if changes.get("constant"):
            return peak
        if changes.get("no warm-up"):
            return peak * (total_steps - step) / total_steps
        if changes.get("no decay") and step >= warmup_steps:
            return peak
        if changes.get("from 0"):
            if step < warmup_steps:
                return peak * step / warmup_steps
            return peak * (total_steps - step) / (total_steps - warmup_steps)
        if changes.get("late"):
            step += 1
        return learning_rate(step, peak=peak, warmup_steps=warmup_steps, total_steps=total_steps)

    return {"rate": rate}


class BertAdam(torch.optim.Optimizer):
    """AdamW without bias correction."""

    def __init__(self, groups, lr, betas, eps):
        super().__init__(groups, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in (w for w in group["params"] if w.grad is not None):
                state = self.state[w]
                m = state["m"] = 0.9 * state.get("m", 0) + 0.1 * w.grad
                v = state["v"] = 0.999 * state.get("v", 0) + 0.001 * w.grad**2
                w.mul_(1 - group["lr"] * group["weight_decay"])
                w.sub_(group["lr"] * m / (v.sqrt() + group["eps"]))


LOOPS = {
    "only the classifier learns: all weights should": {"learns": lambda n: "classifier" in n},
    "only the classifier and the pooler learn: all weights should": {
        "learns": lambda n: "classifier" in n or "pooler" in n
    },
    "the embeddings do not learn: all weights should": {"learns": lambda n: "embeddings" not in n},
    "gradients are not cleared: each step has those of all before it too": {"zero": False},
    "the optimizer is made anew for each batch, and forgets its moments": {"anew": True},
    "the rate is always the peak: warm-up and decay are missing": rates(constant=True),
    "warm-up is missing": rates(**{"no warm-up": True}),
    "the rate does not fall after the warm-up": rates(**{"no decay": True}),
    "the rate of the first step is 0: step 0 has peak / warmup_steps": rates(**{"from 0": True}),
    "the rate is that of the next step": rates(late=True),
    "the bias is not corrected: this is BERT's own Adam": {"make": BertAdam},
    "the decay is added to the gradient: AdamW, not Adam": {"make": torch.optim.Adam},
    "everything is decayed, biases and layer norms too": {"decayed": lambda n: True},
    "layer norms are decayed": {"decayed": lambda n: not n.endswith("bias")},
    "nothing is decayed": {"decayed": lambda n: False},
    "weight_decay is not used: 0.01 is written in": {"weight_decay": 0.01},
    "max_norm is not used: 1 is written in": {"max_norm": 1.0},
    "nothing is clipped": {"clip": None},
    "each gradient is clipped by its own norm: it is that of all together": {"clip": "each"},
    "eps is torch's 1e-8: BERT's is 1e-6": {"eps": 1e-8},
}


def mistakes_of_a_run(weights, batches, **settings):
    """What other recipes would give; each is run only if the right one was not followed."""
    other = {"pooling": POOLINGS[settings["pooling"] == "cls"]}

    def made(wrong):
        return lambda out: (
            not checks.difference(out, trained(weights, batches, **settings | wrong)[0], "", NEAR)
        )

    return {name: made(wrong) for name, wrong in {**LOOPS, "pooling is not used": other}.items()}


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_each_step_follows_the_recipe(student):
    for pooling, labels, seed, settings in [
        ("cls", 3, 11, dict(peak_rate=0.02, warmup_steps=3, weight_decay=0.3, max_norm=0.5)),
        ("mean", 2, 30, dict(peak_rate=0.05, warmup_steps=2, weight_decay=0.1, max_norm=3.0)),
        ("mean", 1, 50, dict(peak_rate=0.01, warmup_steps=0)),
    ]:
        weights, batches = weights_for(4, labels), lessons(5, labels=labels, seed=seed)
        settings["pooling"] = pooling
        out = student.fine_tune(weights, batches, dropout=0.0, **settings)
        found, losses = checks.parts(out, "weights", "losses")
        right, right_losses = trained(weights, batches, **settings)
        named = mistakes_of_a_run(weights, batches, **settings)
        checks.same(
            found, right, of="the weights after the run", tolerance=NEAR,
            mistakes=lambda: {"the weights were not changed": weights} | named,
        )  # fmt: skip
        checks.same(
            losses, right_losses, of="the losses", tolerance=NEAR,
            mistakes=lambda: {
                "the losses are measured after their step": trained(
                    weights, batches, after=True, **settings)[1],
                "the sums, not the means": [
                    len(batch["labels"]) * value
                    for batch, value in zip(batches, right_losses, strict=True)],
            },
        )  # fmt: skip
        checks.same(losses[:1], right_losses[:1], of="the loss of the first batch, to 10 digits",
                    mistakes={"labels or scores were rounded to float32": lambda out: True}
                    )  # fmt: skip
        numbers = [type(value) is float or isinstance(value, np.floating) for value in losses]
        checks.that(all(numbers), f"the losses: expected numbers (float), got "
                    f"{[describe_value(value) for value in losses][:1]}",
                    likely="losses.append(value) keeps the tensor, and with it all that its "
                           "gradient needs, in memory: append value.item()")  # fmt: skip
    given = dict(pooling="cls", peak_rate=0.02, warmup_steps=2, weight_decay=0.3, max_norm=0.5)
    single, short = weights_for(4, 3, dtype=torch.float32), lessons(4)
    runs = student.fine_tune(single, short, dropout=0.0, **given), trained(single, short, **given)
    for run in runs:  # of the key's bias the gradient is 0 up to rounding, which Adam enlarges
        checks.parts(run, "weights", "losses")[0].pop("attention.key.bias", None)
    checks.same(runs[0], runs[1], tolerance=1e-3, of="the weights and losses of a run in float32")
    turned = [dict(reversed(entries.items())) for entries in (weights, *batches)]
    found = checks.parts(
        student.fine_tune(turned[0], turned[1:], dropout=0.0, **settings), "weights", "losses"
    )[0]
    checks.same(found, right, of="the weights of a run where the entries of the weights and of the "
                "batches come in another order", tolerance=NEAR)  # fmt: skip
    leaves_nothing_but_draws(student.fine_tune, weights, batches, dropout=0.0, **settings)
    # The first loss is 0; equal tensors and equal batches are one object.
    weights |= {"classifier.weight": 0 * weights["classifier.weight"],
                "attention.query.bias": weights["attention.value.bias"]}  # fmt: skip
    met = weights["classifier.bias"].expand(len(batches[0]["labels"])).clone()
    batches = [batches[n] | {"labels": met} if n == 0 else batches[n] for n in (0, 1, 2, 1)]
    call = student.fine_tune.trace(weights, batches, dropout=0.0, **settings,
                                   before=("loss", (met[:, None], met), {}))  # fmt: skip
    checks.same(call.value, trained(weights, batches, **settings), tolerance=NEAR,
                of="the weights and losses where the first loss is 0, and tensors or batches that "
                   "are equal are one object")  # fmt: skip
    rounded = [batch | {"labels": batch["labels"].round()} for batch in batches]
    whole = [batch | {"labels": batch["labels"].long()} for batch in rounded]
    checks.same(student.fine_tune(weights, whole, dropout=0.0, **settings),
                trained(weights, rounded, **settings), tolerance=NEAR,
                of="the weights and losses of a single label whose numbers are whole",
                mistakes={"the loss is chosen by the type of the labels: it depends on how many "
                          "labels the classifier has": lambda out: not any(out[1])})  # fmt: skip


@pytest.mark.weight(2)
def test_dropout_is_on_while_it_learns(student):
    # Of vectors with one number the layer norm leaves the bias, t. With the label 0 the loss is the
    # mean of (t · 0 or t / (1 - p))², so it says how many texts of the batch were set to 0.
    batch = 301
    weights = weights_for(1, 1) | {"classifier.weight": torch.ones(1, 1).double(),
                                   "classifier.bias": torch.zeros(1).double()}  # fmt: skip
    weights["attention.LayerNorm.bias"] += weights["attention.LayerNorm.bias"].sign()  # not near 0
    t = float(weights["attention.LayerNorm.bias"])
    ids, mask = texts(batch, 2)
    nothing = 1e-9 * draw(12)(batch)  # almost: no two choices of texts have the same loss
    same = {"input_ids": ids, "attention_mask": mask, "labels": nothing}
    for given, steps in ((None, 16), (0.4, 70)):
        more, p = ({}, 0.1) if given is None else ({"dropout": given}, given)
        batches = [same] * steps
        out = student.fine_tune.trace(  # of which the batches are one object, as in epochs
            weights, batches, pooling="mean", peak_rate=0.0, warmup_steps=steps // 2, **more,
            before=("loss", (torch.ones(1, 1), torch.ones(1)), {}),
        ).value  # fmt: skip
        losses = np.array(checks.parts(out, "weights", "losses")[1], dtype=np.float64)
        shown = f"the losses of {steps} steps at peak_rate 0 with dropout {p}"
        is_off = np.abs(losses - t * t) < 1e-6 * t * t
        checks.that(
            bool((losses != losses[0]).any()), f"{shown} are all {losses[0]:.4f}",
            likely="dropout is off while it learns: training=True is missing" if is_off.all() else
                   "every step sets the same numbers to 0: a generator is seeded in it",
        )  # fmt: skip
        checks.that(not is_off.any(), f"{shown}: dropout is off in steps {is_off.nonzero()[0]}")
        checks.that(len({*losses.tolist()}) == steps,
                    f"{shown}: some steps set the same numbers to 0",
                    likely="draws are used twice: dropout is drawn anew at every call"
                    )  # fmt: skip
        call = student.fine_tune.trace(
            weights, batches[:3], pooling="mean", peak_rate=0.0, warmup_steps=1, **more
        )
        again = checks.parts(call.value, "weights", "losses")[1]
        checks.that(not call.shared, "at peak_rate 0 it returns tensors that it was given",
                    likely="what does not learn is handed on: return a copy")  # fmt: skip
        checks.that({*again}.isdisjoint(losses), f"{shown} are the same in two runs",
                    likely="a generator is seeded in every step or run: dropout is drawn anew at "
                           "every call")  # fmt: skip
        stay, of_tenth = (losses * (1 - share) ** 2 * batch / t**2 for share in (p, 0.1))
        checks.that(
            is_whole(stay), f"{shown} are none that any number of texts set to 0 would give",
            likely="dropout is not used: 0.1 is written in" if is_whole(of_tenth) else "",
        )  # fmt: skip
        checks.share(round(steps * batch - stay.sum()), steps * batch, p,
                     of="the proportion of texts set to 0")  # fmt: skip
    each_number_is_drawn_while_it_learns(student)
    the_step_takes_the_gradients_of_its_loss(student, weights)


def each_number_is_drawn_while_it_learns(student):
    """The vector of a text is the same number throughout, and the score is their sum: it says how
    many are set to 0."""
    steps, hidden = 5, 301
    weights = weights_for(hidden, 1)
    for name in ("attention.LayerNorm.weight", "pooler.dense.weight", "classifier.bias"):
        weights[name] = 0 * weights[name]
    for name in ("attention.LayerNorm.bias", "pooler.dense.bias", "classifier.weight"):
        weights[name] = torch.ones_like(weights[name])
    ids, mask = texts(1, 3)
    batch = {"input_ids": ids, "attention_mask": mask | 1, "labels": torch.zeros(1).double()}
    for pooling, number, p in (("cls", float(np.tanh(1)), 0.4), ("mean", 1.0, 0.9)):
        out = student.fine_tune(weights, [batch] * steps, pooling=pooling, peak_rate=0.0,
                                warmup_steps=1, dropout=p)  # fmt: skip
        losses = np.array(checks.parts(out, "weights", "losses")[1], dtype=np.float64)
        stay = losses**0.5 / number * (1 - p)
        shown = f"while it learns ({pooling}, dropout {p}), of the {hidden} numbers of a text"
        checks.that(is_whole(stay), f"{shown} {stay[:3].round(2)} stay, which is no count",
                    likely="dropout is applied elsewhere than to the vector")  # fmt: skip
        checks.share(round(steps * hidden - stay.sum()), steps * hidden, p,
                     of=f"{shown} the share set to 0")  # fmt: skip
        checks.that(bool((stay > 0).all() and (stay < hidden).all()),
                    f"{shown} in some step all or none are set to 0",
                    likely="a draw for each text: each number has a draw of its own")  # fmt: skip


def the_step_takes_the_gradients_of_its_loss(student, weights):
    """Of one text, whose only number is set to 0 or not: then the loss is that of the bias, 0, for
    the label 9, and the weight of the classifier has no gradient. A loss and gradients of two
    passes would fit one another in half of the runs."""
    ids, mask = texts(1, 2)
    batch = {"input_ids": ids, "attention_mask": mask, "labels": torch.full((1,), 9.0).double()}
    seen = set()
    for _ in range(36):
        out = student.fine_tune(weights, [batch], pooling="mean", peak_rate=0.1, warmup_steps=1,
                                weight_decay=0.0, dropout=0.5)  # fmt: skip
        found, losses = checks.parts(out, "weights", "losses")
        moved = bool((found["classifier.weight"] != weights["classifier.weight"]).any())
        checks.that(
            moved == (abs(losses[0] - 81) > 1e-3),
            f"one step, dropout 0.5: the loss is {losses[0]:.4f}, and classifier.weight "
            f"{'changed' if moved else 'stayed'}: it changes where the loss is not 81",
            likely="the loss and the gradients come from two passes, each with its own dropout",
        )
        seen.add(moved)
    checks.that(len(seen) > 1, f"36 runs of one step, dropout 0.5: its number was set to 0 in "
                f"{'none' if moved else 'each'}", likely="dropout is off in the first step"
                )  # fmt: skip


def is_whole(numbers):
    return bool((np.abs(numbers - numbers.round()) < 1e-6).all())


@pytest.mark.weight(2)
def test_it_learns_a_small_set_by_heart(student):
    generator = checks.generator(13)
    ids = torch.randint(3, VOCAB, (8, 7), generator=generator)
    ids[:, 0] = 1
    mask = (torch.arange(7) < torch.arange(3, 11)[:, None]).long()
    wanted = torch.arange(8) % 2
    ids[wanted == 1, 2] = 2  # the word that makes the difference
    batch = {"input_ids": ids, "attention_mask": mask, "labels": wanted}
    for pooling in POOLINGS:
        drawn = weights_for(8, 2, seed=21, dtype=torch.float32)
        start = {n: w if "LayerNorm.weight" in n else 0.4 * w for n, w in drawn.items()}
        weights, losses = checks.parts(
            student.fine_tune(start, [batch] * 80, pooling=pooling, peak_rate=0.02,
                              warmup_steps=4, dropout=0.0), "weights", "losses")  # fmt: skip
        checks.that(len(losses) == 80, f"80 batches, but {len(losses)} losses",
                    likely="it ends early: each batch has its step")  # fmt: skip
        told = f"after 80 steps the loss is {losses[-1]:.3f} (at first {losses[0]:.3f})"
        checks.that(losses[-1] < 0.1, f"{pooling}: {told}, expected less than 0.1")
        types = {name: str(w.dtype) for name, w in weights.items()}
        checks.same(types, dict.fromkeys(start, "torch.float32"), of="the types of the weights")
        right = right_logits(ids, mask, weights, pooling).argmax(-1)
        checks.same(right, wanted, of=f"the labels of the set learned ({pooling})", mistakes={
            "the weights that are returned are those of the start": (
                lambda out, back=weights, start=start: not checks.difference(back, start, "", 0.0))
        })  # fmt: skip
    weights = weights_for(4, 2)
    call = student.fine_tune.trace(weights, [], pooling="cls", peak_rate=0.1, warmup_steps=1)
    checks.same(call.value, (weights, []), of="what a run without any batch gives")
    checks.that(not call.shared, "a run without any batch returns tensors that it was given",
                likely="what does not learn is handed on: return a copy")  # fmt: skip


def test_texts_and_batches_of_any_size(student):
    draw = sweep.Draw(11)
    sizes = [draw.shape(4) for _ in range(8)] + [(1_501, 2, 3, 2), (2, 9, 300, 2), (2, 3, 4, 4_003)]
    for number, (batch, seq, hidden, labels) in enumerate(sizes):
        hidden = max(2, hidden)
        dtype = [torch.float64, torch.float32][number % 5 == 1]
        weights = weights_for(hidden, labels, seed=number, dtype=dtype)
        weights = {n: w / w.shape[1] ** 0.5 if w.ndim == 2 else w for n, w in weights.items()}
        ids, mask = texts(batch, seq, seed=number, holes=True)
        ids = torch.from_numpy(draw.ids(batch, seq, entries=VOCAB))
        states = torch.from_numpy(
            draw.rng.normal(size=(batch, 601 if number == 4 else seq, hidden))
        ).to(dtype)
        seen = torch.from_numpy(draw.mask(*states.shape[:2]))
        seen[:, 0] = 1
        if number == 4:
            seen[0] = 1  # a text of 601 tokens
        of = f"(batch, seq, hidden, labels) {batch, seq, hidden, labels}"
        for pooling in POOLINGS:
            whole = [torch.int64, torch.int8, torch.int32][number % 3]
            given = states * 10.0 ** float(draw.rng.integers(-3, 6)), seen.to(whole), weights
            texts_given = ids, mask.to(whole), weights
            sweep.same(
                student.text_vector(*sweep.laid_out(given, number), pooling=pooling),
                right_vector(*given, pooling),
                of=f"the vectors ({pooling}) for {of}",
                given=states,
            )
            sweep.same(
                student.classify(*sweep.laid_out(texts_given, number), pooling=pooling),
                right_logits(ids, mask, weights, pooling),
                of=f"the scores ({pooling}) for {of}",
                given=states,
            )
    for rows, labels in ((1, 1), (1, 2), (3, 9), (4_003, 3), (4_003, 1), (2, 9_001), (7, 1)):
        for way, scale in enumerate((1e-3, 1.0, 1e3, 1e6)):
            logits = torch.from_numpy(draw.rng.normal(size=(rows, labels))) * scale
            wanted = torch.from_numpy(
                draw.ids(rows, entries=labels) if labels > 1 else draw.rng.normal(size=rows) * scale
            )
            sweep.same(
                student.loss(*sweep.laid_out((logits, wanted), way)),
                right_loss(logits, wanted),
                of=f"the loss of {rows} rows and {labels} labels, scores near {scale:g}",
            )
    for pooling, labels, steps, settings in (
        ("mean", 2, 110, dict(peak_rate=0.003, warmup_steps=30, max_norm=1e-3)),
        ("cls", 3, 9, dict(peak_rate=1e-5, warmup_steps=9, weight_decay=2.0, max_norm=1e6)),
        ("mean", 1, 8, dict(peak_rate=0.01, warmup_steps=2, max_norm=300.0)),
        ("cls", 1, 1, dict(peak_rate=0.1, warmup_steps=0, weight_decay=0.0)),
        ("cls", 1, 6, dict(peak_rate=0.01, warmup_steps=1, max_norm=float("inf"))),
        ("mean", 2, 7, dict(peak_rate=0.3, warmup_steps=3, max_norm=0.0, weight_decay=2.0)),
        ("mean", 2, 2, dict(peak_rate=0.01, warmup_steps=5)),  # it ends while the rate rises
    ):
        # Of two numbers layer norm keeps a sign alone; their gradients are noise, enlarged by Adam.
        weights, batches = weights_for(4, labels), lessons(steps, labels=labels)
        if labels == 1:  # gradients in the thousands
            batches = [{**batch, "labels": 1e4 * batch["labels"]} for batch in batches]
        laid = sweep.laid_out((weights, batches), steps)
        out = student.fine_tune(*laid, pooling=pooling, dropout=0.0, **settings)
        found, losses = checks.parts(out, "weights", "losses")
        right = trained(weights, batches, pooling=pooling, **settings)
        of, near = f"after {steps} steps, {settings}", max(2e-6, NEAR * steps)
        is_exact = settings.get("max_norm") == 0  # the decay alone, and so the rates
        checks.same(found, right[0], of=f"the weights {of}", tolerance=1e-12 if is_exact else near)
        checks.same(losses, right[1], of=f"the losses {of}", tolerance=near)
    runs_of_all_sizes(student)
    rates_of_all_runs(student)


def runs_of_all_sizes(student):
    """Batches of one text and of many, of one token and of many, some without padding."""
    for pooling, labels, hidden, sizes in (
        ("cls", 5, 6, [(1, 1), (6, 8), (2, 2), (1, 12)]),
        ("mean", 1, 8, [(1, 4), (16, 3), (2, 10)]),
        ("mean", 8, 4, [(8, 4), (1, 1)]),
    ):
        weights, batches = weights_for(hidden, labels), []
        for number, (batch, seq) in enumerate(sizes):
            ids, mask = texts(batch, seq, seed=40 + number, holes=True)
            wanted = (ids.sum(1) + torch.arange(batch)) % labels if labels > 1 else ids[:, -1] / 5.0
            batches.append({"input_ids": ids * mask, "attention_mask": mask | number % 2,
                            "labels": wanted.to(torch.int64 if labels > 1 else torch.float64)
                            })  # fmt: skip
        settings = {"pooling": pooling, "peak_rate": 0.02, "warmup_steps": 1, "weight_decay": 0.2}
        checks.same(
            student.fine_tune(weights, batches, dropout=RARE, **settings),
            trained(weights, batches, **settings), tolerance=50 * NEAR,
            of=f"the weights and losses ({pooling}, {labels} labels) of batches of {sizes} texts "
               f"and tokens, at dropout {RARE}, which sets nothing to 0",
        )  # fmt: skip
        # At dropout 0.5 no loss is that without dropout, whatever is set to 0: the others grow.
        still = settings | {"peak_rate": 0.0}
        out = student.fine_tune(weights, batches, dropout=0.5, **still)
        losses = np.array(checks.parts(out, "weights", "losses")[1], dtype=np.float64)
        same = np.abs(losses - trained(weights, batches, **still)[1]) < 1e-9
        checks.that(not same.any(), f"{pooling}, {labels} labels: of the losses of batches of "
                    f"{sizes} texts and tokens at dropout 0.5 {int(same.sum())} are those without",
                    likely="dropout is off while it learns, for some kinds of batches or labels"
                    )  # fmt: skip


def rates_of_all_runs(student):
    """At max_norm 0 nothing but the decay changes the weights, and it tells the rates."""
    weights, (ids, mask) = weights_for(4, 2), texts(1, 2)
    batch = {"input_ids": ids, "attention_mask": mask, "labels": torch.ones(1, dtype=torch.int64)}
    for count, warmup_steps, peak_rate, decay in ((5, 2, 1, 0.5), (1, 1, 0.3, 1), (1, 3, 0.6, 0.5),
                                                  (2, 0, 0.5, 0.2), (4, 1, 0.1, 2), (4, 3, 0.5, 1)
                                                  ):  # fmt: skip
        rates = [learning_rate(step, peak=peak_rate, warmup_steps=warmup_steps, total_steps=count)
                 for step in range(count)]  # fmt: skip
        of = f"{count} batches, warmup_steps={warmup_steps}, peak_rate={peak_rate}, max_norm=0"
        out = student.fine_tune(weights, [batch] * count, pooling="cls", peak_rate=peak_rate,
                                warmup_steps=warmup_steps, weight_decay=decay, max_norm=0,
                                dropout=0)  # fmt: skip
        found = checks.parts(out, "weights", "losses")[0]
        right = float(np.prod([1 - rate * decay for rate in rates]))
        checks.same(found, {n: w * (right if is_decayed(n) else 1) for n, w in weights.items()},
                    tolerance=1e-12, of=f"the weights after {of}: the rates are "
                    f"{[round(rate, 3) for rate in rates]}")  # fmt: skip


def test_dropout_is_as_fine_as_its_probability_asks(student):
    # Draws of k bits know no probability below 2 to the -k but 0.
    p, batch, hidden = 6e-5, 2_250 + checks.anew(250), 201
    mask = torch.ones(batch, 1, dtype=torch.int64)
    ids = mask + checks.anew(VOCAB - 1)
    for pooling, dtype in (("mean", torch.float32), ("cls", torch.float64)):
        weights = {
            n: torch.zeros_like(w) for n, w in weights_for(hidden, hidden, dtype=dtype).items()
        }
        weights["attention.LayerNorm.bias"] += 1.0
        weights["pooler.dense.bias"] += 1.0
        weights["classifier.weight"] = torch.eye(hidden, dtype=dtype)
        how = {"pooling": pooling, "training": True}
        for count in (1, 2, 77):
            some = student.classify(ids[:count], mask[:count], weights, dropout=0.5, **how) < 0.5
            checks.share(int(some[-1].sum()), hidden, 0.5,
                         of=f"the numbers of the last text of {count} set to 0")  # fmt: skip
        checks.share(int(some[:, -1].sum()), count, 0.5, of="the last numbers set to 0")
        calls = [student.classify(ids[:2], mask[:2], weights, dropout=0.5, **how) < 0.5
                 for _ in range(20)]  # fmt: skip
        counts = np.array([int(is_zero.sum()) for is_zero in calls])
        spread = float(((counts - hidden) ** 2).mean()) / (hidden / 2)  # a χ² of 20, by 20
        checks.that(
            0.03 < spread < 6,
            f"at dropout 0.5, 20 calls set {counts[:3]} … of {2 * hidden} numbers to 0, which vary "
            f"{spread:.3f} times as much as if each number were drawn by itself",
            likely="a fixed count of numbers in each call, text or column"
            if spread < 1 and bool((calls[0] != calls[1]).any())
            else "",
        )
        scores = student.classify(ids, mask, weights, dropout=p, **how)
        checks.same(scores * 0, torch.zeros(batch, hidden, dtype=dtype),
                    of="the scores (their shape and type)")  # fmt: skip
        sweep.is_about(
            int((scores < 0.5).sum()),
            p * scores.numel(),
            likely=sweep.COARSE,
            of=f"of {batch * hidden:,} numbers set to 0, at dropout={p}",
        )
    numbers_of_few_texts_are_drawn_by_themselves(student)


def numbers_of_few_texts_are_drawn_by_themselves(student):
    """At dropout 0.5, of batches of few texts: how often two draws agree, and how counts vary."""
    hidden, calls = 32, 16
    weights = {n: torch.zeros_like(w) for n, w in weights_for(hidden, hidden).items()}
    weights["attention.LayerNorm.bias"] += 1.0
    weights["classifier.weight"] = torch.eye(hidden, dtype=torch.float64)
    how = {"pooling": "mean", "training": True, "dropout": 0.5}
    for batch in (1, 2, 3, 4, 5, 8):
        mask = torch.ones(batch, 1, dtype=torch.int64)
        bits = np.stack([
            (student.classify(mask, mask, weights, **how) < 0.5).numpy() for _ in range(calls)
        ])  # calls, batch, hidden  # fmt: skip
        shown = f"{calls} calls with {batch} texts, dropout 0.5:"
        pairs = {f"texts {a} and {b}": bits[:, a] == bits[:, b]
                 for b in range(batch) for a in range(b)}  # fmt: skip
        pairs |= {f"numbers {n} apart of a text": bits[:, :, n:] == bits[:, :, :-n]
                  for n in range(1, hidden)}  # fmt: skip
        pairs |= {f"calls {n} apart": bits[n:] == bits[:-n] for n in (1, 2, 3)}
        for of, agree in pairs.items():
            checks.that(abs(agree.sum() - agree.size / 2) <= 3.5 * agree.size**0.5,
                        f"{shown} {of} are both set to 0 or both stay in {agree.sum()} of "
                        f"{agree.size} cases, expected about half",
                        likely="draws that depend on each other: each number has its own"
                        )  # fmt: skip
        signs = bits.reshape(calls, -1) * 2.0 - 1
        tied = int((np.abs(signs.T @ signs) == calls).sum() - signs.shape[1]) // 2
        # By chance, of the 32,640 pairs of 256 numbers one is.
        checks.that(tied <= 12, f"{shown} {tied} pairs of two numbers of one or of two texts have "
                    "the same fate in each call, or the opposite one in each",
                    likely="draws that depend on each other: each number has its own"
                    )  # fmt: skip
        for of, axes in (("of a text", (2,)), ("of a call", (1, 2)), ("at one place", (1,))):
            count = bits.sum(axis=axes)
            each = bits.size // count.size
            spread = float(((count - each / 2) ** 2).mean()) / (each / 4)
            low, high = (0.5, 1.5) if count.size > 400 else (0.03, 6)
            checks.that(each == 1 or low < spread < high,
                        f"{shown} the counts of numbers {of} set to 0 vary {spread:.3f} times as "
                        "much as if each number were drawn by itself",
                        likely="a fixed count of numbers in each call, text or column"
                        if spread < 1 else "")  # fmt: skip
