"""The tied, gathered head: scores where they are asked for, and a matrix that learns twice."""

import itertools
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from autograder import checks, sweep
from bert_lowlevel import model as chapter
from bert_run.config import BertConfig

WORDS = "bert.embeddings.word_embeddings.weight"
DENSE = "cls.predictions.transform.dense"
NORM = "cls.predictions.transform.LayerNorm"
BIAS = "cls.predictions.bias"
DECODER = "cls.predictions.decoder.weight"
READ = (WORDS, f"{DENSE}.weight", f"{DENSE}.bias", f"{NORM}.weight", f"{NORM}.bias", BIAS)
# batch, seq, masks, hidden, vocab: one row, more masks than tokens, hidden = vocab, seq = masks
SIZES = [(2, 5, 3, 4, 7), (1, 6, 2, 3, 5), (3, 2, 4, 6, 6), (2, 4, 4, 5, 3), (4, 3, 1, 2, 9)]
CUT = {
    "the graph is cut: detach, .data, no_grad or a copy made with torch.tensor": (
        lambda out: out is None or not out.any()
    )
}

OTHERS = (
    "a weight of another name is read, where the dict has it: those at the top of the starter "
    "are all that is read"
)


def case(batch, seq, masks, hidden, vocab, *, dtype=torch.float64, seed=5):
    """States, ids (0 and the last one among them), positions of which some repeat, and weights."""
    generator = checks.generator(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    weights = {
        WORDS: normal(vocab, hidden),
        f"{DENSE}.weight": normal(hidden, hidden),
        f"{DENSE}.bias": normal(hidden),
        f"{NORM}.weight": normal(hidden),
        f"{NORM}.bias": normal(hidden),
        BIAS: normal(vocab),
    }
    ids = torch.randint(0, vocab, (batch, seq), generator=generator)
    ids[0, 0], ids[-1, -1] = 0, vocab - 1
    positions = torch.randint(0, seq, (batch, masks), generator=generator)
    positions[0, -1], positions[-1, 0] = 0, seq - 1  # 0 as an empty slot has it
    return normal(batch, seq, hidden), ids, positions, weights


def others(weights):
    """Weights of a whole BERT that the head does not read."""
    vocab, hidden = weights[WORDS].shape
    generator = checks.generator(16)
    shapes = {
        DECODER: (vocab, hidden),
        "cls.predictions.decoder.bias": (vocab,),
        "bert.embeddings.position_embeddings.weight": (512, hidden),
        "bert.embeddings.token_type_embeddings.weight": (2, hidden),
        "bert.embeddings.LayerNorm.weight": (hidden,),
        "bert.embeddings.LayerNorm.bias": (hidden,),
        "bert.embeddings.LayerNorm.gamma": (hidden,),
        "bert.embeddings.LayerNorm.beta": (hidden,),
        f"{NORM}.gamma": (hidden,),
        f"{NORM}.beta": (hidden,),
        f"{DENSE}.kernel": (hidden, hidden),
        "cls.predictions.output_bias": (vocab,),
        "cls.seq_relationship.weight": (2, hidden),
        "bert.encoder.layer.0.output.dense.weight": (hidden, hidden),
        "bert.encoder.layer.0.output.dense.bias": (hidden,),
        "bert.encoder.layer.0.output.LayerNorm.weight": (hidden,),
        "bert.encoder.layer.0.output.LayerNorm.bias": (hidden,),
    }
    for name in (WORDS, BIAS, f"{DENSE}.weight", f"{NORM}.bias"):  # names like those that are read
        for other in (f"teacher.{name}", name.partition(".")[2], name.rpartition(".")[0]):
            shapes[other] = weights[name].shape
    buffers = {"bert.embeddings.position_ids": torch.arange(512)[None],  # whole numbers
               "bert.embeddings.is_frozen": torch.tensor(True)}  # fmt: skip
    return buffers | {name: torch.randn(shape, generator=generator, dtype=weights[WORDS].dtype)
                      for name, shape in shapes.items()}  # fmt: skip


def kinds():
    """Batches that are special in their values, not in their sizes."""
    ranges = [(3, 8, 4, 6, 12), (2, 16, 2, 8, 5), (4, 3, 3, 4, 6), (2, 6, 8, 10, 130)]

    def alike(rows):
        def change(given):
            for name in ("states", "ids", "positions"):
                given[name][rows] = given[name][0].clone()

        return change

    def everywhere(positions):
        def change(given):
            given["positions"] = torch.tensor([positions]).repeat(len(given["states"]), 1)

        return change

    def inside(given):  # neither of the first nor of the last word, nor place
        given["ids"] = given["ids"] % (len(given[WORDS]) - 2) + 1
        given["positions"] = given["positions"].clamp(1, max(1, given["states"].shape[1] - 2))

    def one_word(given):
        given["ids"][:] = 2

    def as_bert_begins(given):
        for name in (f"{DENSE}.bias", f"{NORM}.bias", BIAS):
            given[name] *= 0
        given[f"{NORM}.weight"] = torch.ones_like(given[f"{NORM}.weight"])

    def zeros(given):
        given[WORDS][[0, 3]] = 0.0
        given["states"][0] = 0.0
        given["states"][:, 0] = 0.0
        given["ids"][:, ::2] = 0

    def same_words(given):
        given[WORDS][1:] = given[WORDS][0].clone()

    def whole_numbers(given):
        for name in ("states", *(name for name in given if "." in name)):
            given[name] = given[name].round()
        given[f"{NORM}.weight"][0] = 0.0

    def twice(given):  # what stands under other names is the same, as in a BERT that was saved
        for name in [name for name in given if "." in name]:
            given |= {f"teacher.{name}": given[name].clone(), name.upper(): given[name].clone()}
        for name, other in ((DECODER, WORDS), ("cls.predictions.decoder.bias", BIAS)):
            given[name] = given[other].clone()

    def identity(given):
        given[f"{DENSE}.weight"] = torch.eye(len(given[f"{DENSE}.bias"]), dtype=torch.float64)

    def special_tokens(given):
        given["ids"] = (100 + given["ids"] % 4) % len(given[WORDS])

    def nearly_all(given):  # as many as there are, from the first to the last
        positions = torch.arange(given["states"].shape[1])
        positions[1:-1] = positions[1:-1].flip(0)
        positions[1] = 0
        given["positions"] = positions.repeat(len(given["states"]), 1)

    changes = {"all rows are alike": alike(slice(1, None)), "some rows are alike": alike([1]),
               "all rows ask for one place": everywhere([2]), "for all": everywhere([0, 1, 2]),
               "for a part": everywhere([1, 2]), "for the first place alone": everywhere([0, 0, 0]),
               "the last place again and again": everywhere([2, 1, 2, 2, 1]),
               "neither the first nor the last is among ids and positions": inside,
               "all ids are the same": one_word, "biases are 0, as BERT begins": as_bert_begins,
               "rows of 0 are among states and words": zeros,
               "ids are special tokens": special_tokens, "all words are alike": same_words,
               "all numbers are whole": whole_numbers,
               "other names hold the same numbers": twice, "the dense matrix is 1": identity,
               "nearly all places are asked for, between their ends": nearly_all,
               }  # fmt: skip
    for number, (of, change) in enumerate(changes.items()):
        sizes = ranges[number % 4]
        states, ids, positions, weights = case(*sizes, seed=70 + number)
        given = {"states": states, "ids": ids, "positions": positions, **weights}
        change(given)
        states, ids, positions = (given.pop(name) for name in ("states", "ids", "positions"))
        yield f"{sizes}, where {of}", states, ids, positions, given


def right_logits(states, positions, weights, *, hidden_act="gelu", eps=1e-12):
    vocab, hidden = weights[WORDS].shape
    config = BertConfig(vocab_size=vocab, hidden_size=hidden, num_attention_heads=1,
                        hidden_act=hidden_act, layer_norm_eps=eps)  # fmt: skip
    rows = torch.arange(len(states))[:, None]
    return chapter.word_logits(chapter.Bert(config, weights), states[rows, positions])


def right_read_and_name(input_ids, positions, weights):
    return right_logits(F.embedding(input_ids, weights[WORDS]), positions, weights)


def head(states, positions, weights, *, eps=1e-12, act=F.gelu, norm=None, order="act, norm",
         dense=None, bias=True, rows=None):  # fmt: skip
    """The same with one thing wrong about it."""
    rows = torch.arange(len(states))[:, None] if rows is None else rows
    x = states[rows, positions]
    w, b = weights[f"{DENSE}.weight"], weights[f"{DENSE}.bias"]
    x = dense(x, w, b) if dense else F.linear(x, w, b)
    scale, shift = weights[f"{NORM}.weight"], weights[f"{NORM}.bias"]
    norm = norm or (lambda x: F.layer_norm(x, scale.shape, scale, shift, eps))
    x = norm(act(x)) if order == "act, norm" else act(norm(x))
    return F.linear(x, weights[WORDS], weights[BIAS] if bias else None)


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


def mistakes(states, positions, weights, *, hidden_act="gelu", eps=1e-12):
    scale, shift = weights[f"{NORM}.weight"], weights[f"{NORM}.bias"]
    act, other = (F.gelu, tanh_gelu) if hidden_act == "gelu" else (tanh_gelu, F.gelu)

    def norm(x, root=lambda x: (x.var(-1, keepdim=True, correction=0) + eps).sqrt()):
        return (x - x.mean(-1, keepdim=True)) / root(x) * scale + shift

    def outside(x):
        return x.std(-1, keepdim=True, correction=0) + eps

    def unbiased(x):
        return (x.var(-1, keepdim=True, correction=1) + eps).sqrt()

    def wrong(**changes):
        return lambda out: (
            not checks.difference(
                out,
                head(states, positions, weights, **{"act": act, "eps": eps, **changes}),
                "",
                None,
            )
        )

    right = right_logits(states, positions, weights, hidden_act=hidden_act, eps=eps)
    flat = states.flatten(0, 1)
    return {
        "scores of all positions: only those of `positions` are asked for": (
            lambda out: out.shape[1] == states.shape[1] != positions.shape[1]),
        "the positions of the first row are taken in all rows": (
            lambda out: wrong(rows=None)(out) is False and not checks.difference(out, head(
                states, positions[:1].expand_as(positions), weights, act=act, eps=eps), "", None)),
        "positions count from the start of each row, not of the batch": (
            lambda out: not checks.difference(out, head(
                flat[None], positions.flatten()[None], weights, act=act, eps=eps
            ).reshape(right.shape), "", None)),
        "hidden_act is not used, or the two forms of GELU are exchanged: gelu is the one with "
        "erf, gelu_new that with tanh": wrong(act=other),
        "the GELU is missing": wrong(act=lambda x: x),
        "ReLU in place of GELU": wrong(act=F.relu),
        "the layer norm is missing": wrong(norm=lambda x: x),
        "the layer norm comes before the GELU: it follows it": wrong(order="norm, act"),
        "the layer norm is not scaled and shifted: its weight and bias are not used": (
            wrong(norm=lambda x: F.layer_norm(x, scale.shape, eps=eps))),
        "eps is not used: 1e-12 is written in": eps != 1e-12 and wrong(eps=1e-12),
        "eps is not used: torch's own 1e-5 is, which F.layer_norm takes unless it is told": (
            eps != 1e-5 and wrong(eps=1e-5)),
        "eps stands outside the root": wrong(norm=lambda x: norm(x, outside)),
        "the variance of the layer norm is the unbiased one": wrong(
            norm=lambda x: norm(x, unbiased)),
        "the bias of the words is missing": wrong(bias=False),
        "the bias of the dense layer is missing": wrong(dense=lambda x, w, b: x @ w.T),
        "the dense matrix is turned: a weight is (out, in), as F.linear has it": (
            wrong(dense=lambda x, w, b: x @ w + b)),
        "probabilities or their logarithms: logits are asked for": (
            lambda out: any(not checks.difference(out, scores, "", None) for scores in (
                right.softmax(-1), right.log_softmax(-1)))),
    }  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_states_are_gathered_row_by_row_in_the_given_order(student):
    like_a_span = torch.tensor([[1, 3, 2, 2, 5, 6]] * 2)  # by its ends
    for sizes, given in [*((sizes, None) for sizes in SIZES), ((2, 9, 6, 3, 5), like_a_span),
                         ((2, 300, 6, 3, 5), None),
                         ((1, 9_000, 6, 3, 5), None),  # longer than 8 bits can count
                         ((300, 300, 2, 2, 5), None)]:  # more tokens than 16 bits can # fmt: skip
        states, _, positions, _ = case(*sizes)
        positions = positions if given is None else given
        rows = torch.arange(len(states))[:, None]
        checks.same(
            student.gather_positions(states, positions),
            states[rows, positions],
            of="the gathered states",
            mistakes=lambda: {
                "the positions of the first row are taken in all rows": states[:, positions[0]],
                "positions count from the start of each row, not of the batch": (
                    states.flatten(0, 1)[positions]
                ),
                "positions above 255 do not fit into 8 bits: leave them as int64": (
                    states[rows, positions % 256]
                ),
                "a token's number in the batch does not fit into 16 bits": (
                    states.flatten(0, 1)[
                        (positions + rows * states.shape[1]).short().long() % states[..., 0].numel()
                    ]
                ),
                "the positions were sorted": states[rows, positions.sort(1).values],
                "rows of the batch were chosen, not tokens of a row": (
                    lambda out, states=states, positions=positions: (
                        not checks.difference(
                            out, states[positions % len(states)][:, :, 0], "", None
                        )
                    )
                ),
            },
        )
    rows_that_are_nearly_alike_keep_their_own_places(student)


def rows_that_are_nearly_alike_keep_their_own_places(student):
    """All rows but one ask for the same places; or all for the same in another order, or for places
    that add up to those of the first row; and so with the words that are read."""
    states, ids, _, weights = case(6, 9, 3, 4, 9, seed=18)
    rows = torch.arange(6)[:, None]
    places = torch.tensor([[2, 7, 4]]).repeat(6, 1)
    words = ids[:1].repeat(6, 1)
    others = [(places + (rows == row), torch.where(rows == row, ids, words)) for row in range(6)]
    turns = torch.tensor([[0], [1], [-1]] * 2)
    others += [(torch.where(rows % 2 == 0, places, places.flip(1)), words), (places, ids),
               (places + turns, words),
               (places + turns * torch.tensor([1, -1, 0]), words),
               *((places + (rows == row), words) for row in (1, 4))]  # fmt: skip
    dlogits = torch.randn(6, 3, 9, dtype=torch.float64, generator=checks.generator(19))
    for positions, ids in others:
        asked = f"that ask for {positions.tolist()}"
        checks.same(student.gather_positions(states, positions), states[rows, positions],
                    of=f"the gathered states of rows {asked}", mistakes={
            "the positions of the first row are taken in all rows, where some are alike": (
                states[:, positions[0]])})  # fmt: skip
        checks.same(student.word_logits(states, positions, weights),
                    right_logits(states, positions, weights),
                    of=f"the logits of rows {asked}")  # fmt: skip
        checks.same(student.read_and_name(ids, positions, weights),
                    right_read_and_name(ids, positions, weights),
                    of=f"the logits of the smallest BERT for rows {asked}")  # fmt: skip
        checks.same(student.gradients_of_both_uses(ids, positions, weights, dlogits),
                    both_uses(ids, positions, weights, dlogits),
                    of=f"(reading, naming) of rows {asked}")  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_the_head_names_words_with_their_own_vectors(student):
    for sizes in SIZES:
        for hidden_act in ("gelu", "gelu_new"):
            states, _, positions, weights = case(*sizes)
            checks.same(
                student.word_logits(states, positions, weights, hidden_act=hidden_act),
                right_logits(states, positions, weights, hidden_act=hidden_act),
                of=f"the logits with {hidden_act}",
                mistakes=lambda: mistakes(states, positions, weights, hidden_act=hidden_act),
            )
    states, _, positions, weights = case(*SIZES[0])
    for more in (weights | others(weights), others(weights) | weights):
        checks.same(
            student.word_logits(states, positions, more),
            right_logits(states, positions, weights),
            of="the logits where `weights` holds other names, too",
            mistakes={
                "the words are named with cls.predictions.decoder.weight: E, the word embeddings, "
                "is the matrix": head(states, positions, weights | {WORDS: more[DECODER]}),
                OTHERS: lambda out: True,
            },
        )
    for scale in (1e-5, 1e5):
        given = (states, positions, weights | {WORDS: scale * weights[WORDS]})
        right = right_logits(*given)
        checks.same(student.word_logits(*given), right,
                    of=f"the logits of word embeddings times {scale:g}",
                    mistakes={"large scores are cut off: a logit may be any number": (
                        lambda out, right=right: float(out.abs().max() - right.abs().max()) < -1)}
                    )  # fmt: skip
    # As many words as the BERT of 104 languages has, and 4.8 million logits. The bias keeps the
    # GELU away from 0, where float32 would lose the digits that the layer norm reads.
    states, _, positions, weights = case(2, 4, 20, 8, 119_547, seed=20, dtype=torch.float32)
    weights[f"{DENSE}.bias"] += 8.0
    checks.same(student.word_logits(states, positions, weights),
                right_logits(states, positions, weights), tolerance=1e-4,
                of="the logits of 40 masks and 119,547 words", mistakes={
        "what is made in parts, because it is large, is right in the first of them": (
            lambda out: True)})  # fmt: skip
    # Before the words are more than a million numbers, of more slots than 8,192.
    states, _, positions, weights = case(1, 4, 9_000, 120, 2, seed=28, dtype=torch.float32)
    weights[f"{DENSE}.weight"] /= 120**0.5
    checks.same(student.word_logits(states, positions, weights, eps=0.5),
                right_logits(states, positions, weights, eps=0.5), tolerance=1e-4,
                of="the logits of 9,000 masks, with 120 numbers each and eps 0.5", mistakes={
        "where it is much, another eps is taken, or the last part is left out": (
            lambda out: True)})  # fmt: skip


def test_tiny_states_show_the_eps(student):
    for scale, eps in ((1e-6, None), (1e-3, 1e-5), (1.0, 1e-2), (1e-6, 0.0)):
        states, _, positions, weights = case(2, 5, 3, 4, 7, seed=6)
        weights[f"{DENSE}.weight"] *= scale
        weights[f"{DENSE}.bias"] *= scale
        given = {} if eps is None else {"eps": eps}
        known = given | ({"eps": 1e-30} if eps == 0.0 else {})  # the course's model takes no 0
        checks.same(
            student.word_logits(states, positions, weights, **given),
            right_logits(states, positions, weights, **known),
            of=f"the logits with eps={1e-12 if eps is None else eps:g}",
            mistakes=lambda: mistakes(states, positions, weights, **known),
        )
    # A larger eps is no safer in float32, and all numbers of an untrained model are small.
    states, _, positions, weights = case(2, 5, 3, 64, 7, seed=6, dtype=torch.float32)
    weights[f"{DENSE}.weight"] *= 1e-4
    weights[f"{DENSE}.bias"] *= 1e-4
    checks.same(student.word_logits(states, positions, weights),
                right_logits(states, positions, weights), tolerance=1e-3,
                of="the logits in float32, where the dense layer gives small numbers")  # fmt: skip
    for far in (1e4, 1e5):  # what the layer norm reads differs in its last digits alone
        states, _, positions, weights = case(2, 5, 3, 4, 7, seed=6)
        weights[f"{DENSE}.bias"] += far
        sweep.same(
            student.word_logits(states, positions, weights),
            right_logits(states, positions, weights),
            of=f"the logits where the dense layer gives numbers near {far:g}",
        )


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_gradient_reaches_the_states_and_every_parameter(student):
    ways = [{}, {"hidden_act": "gelu_new"}, {"eps": 0.3}, {"hidden_act": "gelu_new", "eps": 0.01}]
    of_one_token = [((3, 1, 2, 4, 5), ways[0]), ((1, 1, 1, 3, 4), ways[1])]
    for sizes, options in [*itertools.product(SIZES, ways), *of_one_token]:
        states, _, positions, weights = case(*sizes, seed=7)
        right = right_logits(states, positions, weights, **options)
        upstream = torch.randn(right.shape, dtype=right.dtype,
                               generator=checks.generator(8))  # fmt: skip
        logits, found = student.word_logits.grad(
            states, positions, weights, wrt=("states", "weights"), upstream=upstream, **options
        )
        checks.same(
            logits,
            right,
            of="the logits",
            mistakes=lambda: mistakes(states, positions, weights, **options),
        )
        expected = gradients(
            partial(right_logits, **options), states, positions, weights, upstream=upstream
        )
        for name, gradient in {"states": found["states"], **found["weights"]}.items():
            wanted = expected.get(name)
            checks.same(
                gradient,
                wanted,
                of=f"the gradient of {name}, {options or 'gelu'}",
                mistakes={
                    **CUT,
                    "the graph is cut at one place, or what arrives from a position that is asked "
                    "twice is not added up": lambda out, options=options: not options,
                    "a backward of your own does not use `hidden_act` or `eps` as the forward "
                    "does": lambda out: True,
                },
            )
    states, _, positions, weights = case(*SIZES[0], seed=7)
    right = right_logits(states, positions, weights)
    expected = gradients(right_logits, states, positions, weights, upstream=right)
    _, found = student.word_logits.grad(
        states, positions, weights, wrt=("weights",), upstream=right
    )
    for name, gradient in found["weights"].items():
        checks.same(gradient, expected[name],
                    of=f"the gradient of {name} where the states require none",
                    mistakes={"whether the states require a gradient decides for the weights": (
                        lambda out: out is None)})  # fmt: skip
    names = [name for name in weights if name in READ]
    for frozen, only in itertools.product(names, (False, True)):
        learning = [name for name in names if (name == frozen) is only]
        _, found = student.word_logits.grad(
            states, positions, weights, wrt=tuple(f"weights:{name}" for name in learning),
            upstream=right,
        )  # fmt: skip
        for name in learning:
            checks.same(found[f"weights:{name}"], expected[name],
                        of=f"the gradient of {name} where, of the weights, {frozen} alone is "
                           f"{'not ' * only}frozen",
                        mistakes={"whether one weight requires a gradient decides for others": (
                            lambda out: out is None)})  # fmt: skip
    _, found = student.word_logits.grad(states, positions, weights, wrt=("states",), upstream=right)
    checks.same(found["states"], expected["states"],
                of="the gradient of states where the weights require none",
                mistakes={"whether the weights require a gradient decides for the states": (
                    lambda out: out is None)})  # fmt: skip
    rows = torch.arange(len(states))[:, None]
    upstream = states[rows, positions].flip(0)
    leaf = states.clone().requires_grad_()
    _, found = student.gather_positions.grad(states, positions, wrt=("states",), upstream=upstream)
    checks.same(found["states"],
                checks.gradients_of(leaf[rows, positions], [leaf], upstream)[0],
                of="the gradient of states through gather_positions", mistakes={
        **CUT, "what arrives from a position that is asked twice is not added up": (
            lambda out: True)})  # fmt: skip


def gradients(function, x, positions, weights, *, upstream):
    """By autograd through the reference; `x` may be states or ids."""
    leaves = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}
    if x.is_floating_point():
        x = x.detach().clone().requires_grad_()
    logits = function(x, positions, leaves)
    leaves = {name: leaf for name, leaf in leaves.items() if name in READ}
    wanted = {**({"states": x} if x.requires_grad else {}), **leaves}
    return dict(zip(wanted, checks.gradients_of(logits, list(wanted.values()), upstream),
                    strict=True))  # fmt: skip


def both_uses(ids, positions, weights, upstream):
    read, named = (weights[WORDS].clone().requires_grad_() for _ in range(2))
    logits = right_logits(F.embedding(ids, read), positions, {**weights, WORDS: named})
    return tuple(checks.gradients_of(logits, [read, named], upstream))


def without_row_0(gradient):
    return torch.cat([torch.zeros_like(gradient[:1]), gradient[1:]])


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_the_word_embeddings_learn_from_reading_and_from_naming(student):
    for sizes in [*SIZES, (3, 1, 2, 4, 5), (1, 1, 1, 3, 4)]:  # texts of one token, too
        _, ids, positions, weights = case(*sizes, seed=9)
        right = right_read_and_name(ids, positions, weights)
        upstream = torch.randn(right.shape, dtype=right.dtype,
                               generator=checks.generator(10))  # fmt: skip
        logits, found = student.read_and_name.grad(
            ids, positions, weights, wrt=("weights",), upstream=upstream
        )
        checks.same(logits, right, of="the logits of the smallest BERT", mistakes=lambda: mistakes(
            F.embedding(ids, weights[WORDS]), positions, weights))  # fmt: skip
        reading, naming = both_uses(ids, positions, weights, upstream)
        expected = gradients(right_read_and_name, ids, positions, weights, upstream=upstream)
        for name, wanted in expected.items():
            checks.same(
                found["weights"][name],
                wanted,
                of=f"the gradient of {name}",
                mistakes=lambda: {
                    "the word embeddings learn from naming alone: reading is cut off": naming,
                    "the word embeddings learn from being read alone: the decoder is a copy": (
                        reading
                    ),
                    "row 0 of the word embeddings does not learn from being read: is it the "
                    "padding_idx?": without_row_0(reading) + naming,
                    **CUT,
                },
            )
        checks.same(
            student.read_and_name(ids, positions, weights | others(weights)),
            right,
            of="the logits of the smallest BERT where `weights` holds other names, too",
            mistakes={OTHERS: lambda out: True},
        )


def read_once(ids, positions, weights, upstream):
    """What reading teaches if each word keeps only what arrives last."""
    states = F.embedding(ids, weights[WORDS]).requires_grad_()
    arrives = checks.gradients_of(right_logits(states, positions, weights), [states], upstream)[0]
    reading = torch.zeros_like(weights[WORDS])
    for word, gradient in zip(ids.flatten().tolist(), arrives.flatten(0, 1), strict=True):
        reading[word] = gradient
    return reading


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_the_two_uses_are_told_apart(student):
    for sizes in [*SIZES, (3, 1, 2, 4, 5), (1, 1, 1, 3, 4)]:
        _, ids, positions, weights = case(*sizes, seed=11)
        shape = (*positions.shape, len(weights[WORDS]))
        upstream = torch.randn(shape, dtype=torch.float64, generator=checks.generator(12))
        reading, naming = right = both_uses(ids, positions, weights, upstream)
        together = reading + naming
        ones = both_uses(ids, positions, weights, torch.ones_like(upstream))
        checks.same(
            student.gradients_of_both_uses(ids, positions, weights, upstream),
            right,
            of="the gradients (reading, naming)",
            mistakes=lambda: {
                "reading and naming are exchanged": (naming, reading),
                "both hold the gradient of the tied matrix: two leaves are needed": (
                    together,
                    together,
                ),
                "reading holds the gradient of the tied matrix": (together, naming),
                "naming holds the gradient of the tied matrix": (reading, together),
                "dlogits is not used: this is the gradient of the sum": ones,
                "row 0 of the word embeddings does not learn from being read: is it the "
                "padding_idx?": (without_row_0(reading), naming),
                "naming is left out: it is all 0": (reading, torch.zeros_like(naming)),
                "a word that is read twice learns once: what arrives must be added up": (
                    read_once(ids, positions, weights, upstream),
                    naming,
                ),
                "the gradients came added up: asked for are both": (
                    lambda out: not isinstance(out, tuple)
                ),
            },
        )
    for sizes, likely in (
        ((3, 300, 8, 4, 9), "the times that a word is read are counted in 8 bits"),
        ((2, 3, 4, 4, 70_011), "what is made in parts is right in the first of them"),
    ):
        _, ids, positions, weights = case(*sizes, seed=24)
        if ids.numel() > 257:  # each up to 257 times
            ids = (torch.arange(ids.numel()) // 257 % 9).view(ids.shape)
        shape = (*positions.shape, len(weights[WORDS]))
        dlogits = torch.randn(shape, dtype=torch.float64, generator=checks.generator(25))
        checks.same(student.gradients_of_both_uses(ids, positions, weights, dlogits),
                    both_uses(ids, positions, weights, dlogits), tolerance=1e-8,
                    mistakes={likely: lambda out: True},
                    of=f"(reading, naming) for {ids.numel()} tokens and {shape[-1]:,} words"
                    )  # fmt: skip


def test_the_example_of_the_page(student):
    states = torch.tensor([[[9.0, 9.0], [2.0, 0.0], [0.0, 1.0]]])
    weights = {
        WORDS: torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        f"{DENSE}.weight": torch.eye(2), f"{DENSE}.bias": torch.zeros(2),
        f"{NORM}.weight": torch.ones(2), f"{NORM}.bias": torch.zeros(2),
        BIAS: torch.tensor([0.0, 0.0, 0.5]),
    }  # fmt: skip
    positions = torch.tensor([[2, 1]])
    checks.same(student.gather_positions(states, positions), states[:, [2, 1]],
                of="the gathered states of the example")  # fmt: skip
    checks.same(student.word_logits(states, positions, weights),
                torch.tensor([[[-1.0, 1.0, 0.5], [1.0, -1.0, 0.5]]]),
                of="the logits of the example")  # fmt: skip


def test_types_stay_and_gaps_in_memory_do_no_harm(student):
    # In float32 a layer norm of four numbers that are nearly alike enlarges their rounding.
    for dtype, tolerance in ((torch.float32, 3e-4), (torch.float64, 1e-10)):
        states, _, positions, weights = case(2, 6, 4, 8, 10, dtype=dtype, seed=13)
        halves = {name: w[:, ::2] if w.ndim == 2 and name != f"{DENSE}.weight" else w
                  for name, w in weights.items()}  # fmt: skip
        halves |= {name: w[..., ::2] for name, w in weights.items() if "transform" in name}
        halves[f"{DENSE}.weight"] = weights[f"{DENSE}.weight"][::2, ::2]
        for inputs in ((states, positions, weights), (states[..., ::2], positions[:, ::2], halves)):
            checks.same(
                student.word_logits(*inputs), right_logits(*inputs), of="the logits",
                tolerance=tolerance, mistakes={"the type is not that of the states": (
                    lambda out, dtype=dtype: out.dtype != dtype)},
            )  # fmt: skip


def test_only_the_asked_positions_are_worked_on(student):
    wide = {"hidden_act": "gelu_new", "eps": 1e-5}
    for rows, seq, asked, hidden, vocab, dtype, options in (
        # Most of the work lies in the words, or before them; BERT asks for 20 of 128.
        (32, 128, 1, 64, 3000, torch.float32, {}),
        (24, 128, 20, 256, 20, torch.float32, {"hidden_act": "gelu_new"}),
        (1, 1024, 1, 384, 50, torch.float64, wide),
    ):
        states, _, _, weights = case(rows, seq, asked, hidden, vocab, dtype=dtype, seed=14)
        weights = others(weights) | weights if options else weights
        positions = torch.arange(90, 90 + asked).repeat(rows, 1)
        if asked > 1:  # each row has its own, as a batch of BERT has them: together nearly all
            drawn = torch.rand(rows, seq, generator=checks.generator(21))
            positions = drawn.argsort(dim=1)[:, :asked]
            positions[:, -3:] = 0  # as empty slots have it
        everywhere = torch.arange(seq).repeat(rows, 1)

        def loop(states=states, everywhere=everywhere, weights=weights, options=options):
            with torch.no_grad():
                right_logits(states, everywhere, weights, **options)

        checks.not_slower(
            student.word_logits, states, positions, weights, loop=loop, **options,
            than=f"the head on all of {seq} positions ({asked} asked), of {hidden} numbers each",
            times=0.7 if asked == 20 else 0.5,
            likely="the head runs on every position, and the gathering comes after it",
            right=lambda out, *given, **options: not checks.difference(
                out, right_logits(*given, **options), "", 1e-3),
        )  # fmt: skip
    what_is_not_asked_has_no_part(student)


def what_is_not_asked_has_no_part(student):
    """Where no place is asked for stand numbers so large that the head would overflow: of whatever
    is computed there the gradients would be NaN."""
    for sizes, count in (((1, 6, 1, 4, 9), 1), ((1, 8, 7, 4, 12), 7), ((3, 6, 3, 4, 12), 3),
                         ((2, 8, 9, 4, 12), 7), ((40, 3, 2, 4, 6), 2), ((2, 128, 60, 4, 140), 60)
                         ):  # fmt: skip
        states, ids, positions, weights = case(*sizes, seed=26)
        positions = positions % count
        weights[f"{DENSE}.weight"] *= 5.0
        upstream = torch.randn(*positions.shape, len(weights[WORDS]), dtype=torch.float64,
                               generator=checks.generator(27))  # fmt: skip
        of = f"gradients of {{}} for (batch, seq, masks, hidden, vocab) {sizes}"
        likely = {"places that are not asked for are worked on, too": lambda out: True}
        huge = states.clone()
        huge[:, count:] = 1.7e308
        right = gradients(right_logits, states, positions, weights, upstream=upstream)
        _, found = student.word_logits.grad(huge, positions, weights, upstream=upstream,
                                            wrt=("states", "weights"))  # fmt: skip
        found = {"states": found["states"], **found["weights"]}
        right["states"][:, count:] = 0.0
        checks.same(found, right, of=of.format("word_logits"), mistakes=likely)
        # The last word stands where nobody asks, and there alone.
        ids = ids % (len(weights[WORDS]) - 1)
        ids[:, count:] = len(weights[WORDS]) - 1
        upstream[..., -1] = 0.0
        huge = weights | {WORDS: weights[WORDS].clone()}
        huge[WORDS][-1] = 1.7e308
        right = gradients(right_read_and_name, ids, positions, weights, upstream=upstream)
        _, found = student.read_and_name.grad(ids, positions, huge, upstream=upstream,
                                              wrt=("weights",))  # fmt: skip
        checks.same(found["weights"], right, of=of.format("read_and_name"), mistakes=likely)
        checks.same(student.gradients_of_both_uses(ids, positions, huge, upstream),
                    both_uses(ids, positions, weights, upstream),
                    of=of.format("both uses"), mistakes=likely)  # fmt: skip


def test_batches_of_any_size(student):
    draw = sweep.Draw(11)
    sizes = [draw.shape(5) for _ in range(14)] + [
        (1_501, 2, 2, 6, 3),
        (2, 1_501, 3, 6, 3),
        (2, 3, 1_501, 6, 3),
        (2, 3, 2, 1_031, 3),
        (2, 3, 2, 6, 9_001),
        (3, 300, 90, 5, 101),
    ]

    def given():
        for number, (batch, seq, masks, hidden, vocab) in enumerate(sizes):
            # Not the last, whose gradients of 1e9 all but cancel: float32 has no digit of them. Nor
            # where the layer norm has two or three numbers, whose gradients all but cancel, too.
            is_short = number % 5 == 1 and number < 14 and hidden > 3
            dtype = torch.float32 if is_short else torch.float64
            states, ids, positions, weights = case(
                batch, seq, masks, hidden, vocab, seed=40 + number, dtype=dtype
            )
            positions = torch.from_numpy(draw.ids(batch, masks, entries=seq))
            ids = torch.from_numpy(draw.ids(batch, seq, entries=vocab))
            weights = {n: w / w.shape[1] ** 0.5 if w.ndim == 2 else w for n, w in weights.items()}
            if number % 2 and number < 13:
                weights = others(weights) | weights
            yield (
                f"(batch, seq, masks, hidden, vocab) {batch, seq, masks, hidden, vocab}",
                states,
                ids,
                positions,
                weights,
            )

    def gathered(states, positions):
        return states[torch.arange(len(states))[:, None], positions]

    def asked():
        for of, states, _, positions, weights in given():
            states = states * 10.0 ** float(draw.rng.integers(-2, 3))
            options = {"eps": float(draw.rng.choice([1e-12, 1e-5, 0.1, 1.0]))}
            for options["hidden_act"] in ("gelu", "gelu_new"):
                yield sweep.Case(f"{of}, {options}", (states, positions, weights), dict(options))

    sweep.agrees(
        student.gather_positions,
        gathered,
        (sweep.Case(of, (1e-9 * states, positions)) for of, states, _, positions, _ in given()),
    )
    sweep.agrees(student.word_logits, right_logits, asked())
    sweep.agrees(
        student.read_and_name,
        right_read_and_name,
        (
            sweep.Case(
                of,
                (ids, positions, weights | {WORDS: weights[WORDS] * 10.0 ** (number % 3)}),
            )
            for number, (of, _, ids, positions, weights) in enumerate(given())
        ),
    )

    def both():
        for number, (of, states, ids, positions, weights) in enumerate(given()):
            scale = 10.0 ** float(draw.rng.integers(-15, 15))
            dlogits = torch.from_numpy(
                draw.rng.normal(size=(*positions.shape, len(weights[WORDS])))
            )
            if number % 3 == 2:  # as those of a cross-entropy they add up to 0
                dlogits, scale = (3 * dlogits).round(), 1.0
                dlogits = dlogits - dlogits.flip(-1)
            yield sweep.Case(
                f"{of}, dlogits near {scale:g}",
                (ids, positions, weights, (scale * dlogits).to(states.dtype)),
                magnitude=scale * positions.shape[1] ** 0.5,  # a sum of so many terms of any sign
            )

    sweep.agrees(student.gradients_of_both_uses, both_uses, both(), names=("reading", "naming"))
    for number, (of, states, ids, positions, weights) in enumerate(kinds()):
        dlogits = torch.randn(*positions.shape, len(weights[WORDS]), dtype=torch.float64,
                              generator=checks.generator(17))  # fmt: skip
        if number % 5 == 2:  # one of the slots counts
            dlogits[:, 1:] = 0.0
        dlogits *= number % 5 != 4
        for function, reference, args, names in (
            (student.gather_positions, gathered, (states, positions), ()),
            (student.word_logits, right_logits, (states, positions, weights), ()),
            (student.read_and_name, right_read_and_name, (ids, positions, weights), ()),
            (student.gradients_of_both_uses, both_uses,
             (ids, positions, weights, dlogits), ("reading", "naming")),
        ):  # fmt: skip
            sweep.agrees(function, reference, [sweep.Case(of, args, magnitude=1.0)], names=names)
    short = ("float32", *case(3, 5, 4, 16, 7, dtype=torch.float32))
    many = [("70,011 words", *case(2, 3, 2, 4, 70_011, seed=29)),
            ("9,000 masks", *case(1, 4, 9_000, 16, 2, seed=30))]  # fmt: skip
    large = [(1e9, *batch) for batch in [*given()][-6:]]
    for size, of, states, ids, positions, weights in [
        *large, *((1.0, *batch) for batch in (short, *many, *kinds()))
    ]:  # fmt: skip
        upstream = size * torch.randn(
            *positions.shape,
            len(weights[WORDS]),
            dtype=states.dtype,
            generator=checks.generator(7),
        )
        for function, reference, name, x in (
            (student.word_logits, right_logits, "states", states),
            (student.read_and_name, right_read_and_name, None, ids),
        ):
            right = gradients(reference, x, positions, weights, upstream=upstream)
            wrt = ("states", "weights") if name else ("weights",)
            _, found = function.grad(x, positions, weights, wrt=wrt, upstream=upstream)
            of_weights = {n: gradient for n, gradient in found["weights"].items() if n in READ}
            found = {**({name: found[name]} if name else {}), **of_weights}
            sweep.same(
                found, right, of=f"the gradients of {function.name} for {of}", magnitude=size
            )


def test_nothing_is_left_behind(student):
    states, ids, positions, weights = case(2, 5, 3, 4, 7)
    dlogits = torch.ones(2, 3, 7, dtype=torch.float64)
    checks.leaves_no_trace(student.gather_positions, states, positions)
    every = student.gather_positions.trace(states, torch.arange(5).repeat(2, 1))
    checks.nothing_kept("gather_positions, asked for all in order,", every, may_share=False)
    checks.leaves_no_trace(student.word_logits, states, positions, weights)
    checks.leaves_no_trace(student.read_and_name, ids, positions, weights)
    checks.leaves_no_trace(student.gradients_of_both_uses, ids, positions, weights, dlogits)
    # It raises where a call leaves anything in the .grad of a weight, which requires a gradient.
    out, _ = student.gradients_of_both_uses.grad(
        ids, positions, weights, dlogits, wrt=("weights",), upstream=(weights[WORDS],) * 2
    )
    checks.same(out, both_uses(ids, positions, weights, dlogits),
                of="(reading, naming) where the weights require a gradient")  # fmt: skip
