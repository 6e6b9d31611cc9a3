"""Features of words from frozen layers: which layers, which piece, how combined, what learns."""

import math
from itertools import product

import pytest
import torch

from autograder import checks, sweep


def layers_read(layers):
    """The table of the page, for a model of so many layers."""
    last_four, every = [*range(max(1, layers - 3), layers + 1)], [*range(1, layers + 1)]
    return {
        "embeddings": [0],
        "second-to-last": [layers - 1],
        "last": [layers],
        "sum-last-4": last_four,
        "weighted-sum-last-4": last_four,
        "concat-last-4": last_four,
        "sum-all": every,
        "weighted-sum-all": every,
    }


NAMES = list(layers_read(12))
WEIGHTED = [name for name in NAMES if name.startswith("weighted")]


def case(layers, batch, seq, hidden, *, seed=3, dtype=torch.float64):
    """Hidden states, and the starts of words of one to three pieces, fewer words in later rows; of
    four rows, the third has no word at all."""
    generator = checks.generator(seed + 10 * layers)
    states = [torch.randn(batch, seq, hidden, generator=generator, dtype=torch.float64).to(dtype)
              for _ in range(layers + 1)]  # fmt: skip
    words = max(1, seq // 2)
    starts = torch.full((batch, words), -1)
    for row in range(batch):
        place = 1
        for word in range(words):
            if place < seq - row or word == 0:
                starts[row, word] = min(place, seq - 1)
            place += int(torch.randint(1, 4, (1,), generator=generator))
    starts[2 : batch - 1] = -1
    return states, starts


CASES = [(12, 3, 9, 4), (4, 1, 7, 5), (2, 2, 6, 3), (3, 4, 4, 4), (1, 2, 1, 6)]


def mix_for(feature, layers, *, seed=5, dtype=torch.float64):
    if not feature.startswith("weighted"):
        return None
    generator = checks.generator(seed)
    count = len(layers_read(layers)[feature])
    weights = torch.randn(count, generator=generator, dtype=torch.float64)
    mix = {"weights": weights.to(dtype), "scale": torch.tensor(0.7, dtype=dtype)}
    return mix if layers % 2 else dict(reversed(mix.items()))  # a dict may have any order


def pieces(states, starts):
    """Every word that is there, one by one."""
    out = torch.zeros(*starts.shape, states.shape[-1], dtype=states.dtype)
    rows, words = (starts >= 0).nonzero(as_tuple=True)
    out[rows, words] = states[rows, starts[rows, words]]
    return out


def right_features(states, starts, name, mix=None):
    read = layers_read(len(states) - 1)[name]
    vectors = torch.stack([pieces(states[i], starts) for i in read], dim=2)
    if name.startswith("concat"):
        return vectors.flatten(2)
    if not mix:
        return vectors.sum(dim=2)
    return torch.einsum("bwlh,l->bwh", vectors, mix["scale"] * mix["weights"].softmax(dim=0))


@pytest.mark.hint(1)
def test_each_feature_reads_its_layers(student):
    outs, rights = {}, {}
    mistakes = {
        name: {}
        for name in (
            "the last layer is taken for number layers - 1: number 0 is the embeddings",
            "five layers, not four",
            "three layers, not four",
            "in falling order",
            "the last four hold the embeddings where a model has no four layers",
            "places below 0, counted from the end: give them from the start",
        )
    }
    shift, five, three, falling, few, negative = mistakes.values()
    for layers in (12, 24, 4, 5, 3, 2, 1):
        for name in NAMES:
            key = f"{name}, {layers} layers"
            outs[key] = student.layers_of(name, layers)
            right = rights[key] = layers_read(layers)[name]
            is_four = name.endswith("-4")
            shift[key] = right if name == "embeddings" else [i - 1 for i in right]
            five[key] = list(range(max(1, layers - 4), layers + 1)) if is_four else right
            three[key] = right[-3:] if is_four else right
            falling[key] = right[::-1]
            few[key] = list(range(max(0, layers - 3), layers + 1)) if is_four else right
            negative[key] = None
    mistakes["the embeddings are among all layers"] = lambda out: any(
        found[:1] == [0] for key, found in out.items() if "-all" in key
    )
    mistakes["places below 0, counted from the end: give them from the start"] = lambda out: any(
        i < 0 for found in out.values() for i in found
    )
    mistakes["the number of layers is not used: there are always 12"] = lambda out: (
        out["last, 24 layers"] == [12]
    )
    checks.same(outs, rights, of="the layers", mistakes=mistakes)
    for name, layers in product(NAMES, (1, 12)):
        checks.leaves_no_trace(student.layers_of, name, layers)


def piece_mistakes(states, starts):
    is_word = (starts >= 0)[:, :, None]
    seq = states.shape[1]

    def at(places):
        return pieces(states, torch.where(starts >= 0, places.clamp(0, seq - 1), -1))

    ends = torch.cat([starts[:, 1:], torch.full_like(starts[:, :1], -1)], dim=1)
    last_piece = torch.where(ends > 0, ends - 1, starts)
    means = torch.zeros_like(pieces(states, starts))
    for row, places in enumerate(starts.tolist()):
        for word, place in enumerate(places):
            if place >= 0:
                stop = int(ends[row, word])
                means[row, word] = states[row, place : stop if stop > 0 else place + 1].mean(0)
    words = starts.shape[1]
    return {
        "-1 is taken for an index: where no word is, zeros belong": torch.stack(
            [row[places] for row, places in zip(states, starts, strict=True)]),
        "where no word is, [CLS] stands: zeros belong there": torch.where(
            is_word, pieces(states, starts), states[:, :1]),
        "the starts of the first row are used for all": is_word * pieces(
            states, starts[:1].expand_as(starts)),
        "word i is read from token i: pieces are not words": states[:, :words] * is_word,
        "word i is read from token i + 1: pieces are not words": (
            lambda out: torch.equal(out, states[:, 1 : words + 1] * is_word)),
        "one token too early: starts counts [CLS] already": at(starts - 1),
        "one token too late: starts counts [CLS] already": at(starts + 1),
        "the last piece of each word is taken, not the first": at(last_piece),
        "the mean of each word's pieces is taken, not the first piece": means,
        "zeros by a product, and 0 · inf is NaN": (
            lambda out: not is_word.all()
            and torch.equal(out.isnan().any(-1, keepdim=True), ~is_word)),
        "position 0 is taken for no word: only -1 is": torch.where(
            starts[:, :, None] > 0, pieces(states, starts), 0.0),
        "positions above 255 do not fit into 8 bits: leave starts as int64": at(
            torch.where(starts > 255, starts % 256, starts)),
    }  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_the_first_piece_stands_for_the_word(student):
    for shape in [*CASES, (1, 2, 300, 3)]:  # and a sequence longer than 8 bits can count
        states, starts = case(*shape)
        checks.same(
            student.first_pieces(states[-1], starts), pieces(states[-1], starts),
            of="the vectors of the words", mistakes=lambda: piece_mistakes(states[-1], starts),
        )  # fmt: skip
    states, starts = case(2, 3, 8, 4, dtype=torch.float32)
    states[1][:, 0] = torch.inf  # nobody asks for [CLS]
    states[1][:, -1] = torch.nan  # nor for the last position, in a row that -1 must not read
    starts[starts == states[1].shape[1] - 1] = -1
    for given in (states[1], states[1][..., ::2]):
        checks.same(student.first_pieces(given, starts), pieces(given, starts),
                    of="the vectors of the words ([CLS] is infinite, the last token NaN)",
                    mistakes=lambda: piece_mistakes(given, starts))  # fmt: skip
    none = torch.full_like(starts, -1)
    checks.same(student.first_pieces(states[1], none), torch.zeros(*none.shape, 4),
                of="the vectors where no row has a word",
                mistakes=lambda: piece_mistakes(states[1], none))  # fmt: skip
    checks.leaves_no_trace(student.first_pieces, states[0], starts)
    for row in ([1, 3, -1], [0, 1, 2], [4, 4, 2], [6, -1, -1], [*range(8)], [7, 5, 3, 1]):
        # The same places in each row, not only in order, and once more, each row from another one.
        alike = torch.tensor(row).repeat(3, 1)
        for places in (alike, torch.where(alike < 0, -1, (alike + torch.arange(3)[:, None]) % 8)):
            told = f"where the starts are {places.tolist()}"
            checks.same(student.first_pieces(states[2], places), pieces(states[2], places),
                        of=f"the vectors of the words {told}",
                        mistakes=lambda: piece_mistakes(states[2], places))  # fmt: skip
            checks.same(
                student.word_features(states[::2], places, feature="concat-last-4", mix=None),
                right_features(states[::2], places, "concat-last-4"),
                of=f"the features concat-last-4 {told}",
            )
    side_by_side = torch.arange(1, 4).repeat(len(starts), 1)
    call = student.first_pieces.trace(states[0], side_by_side)
    checks.nothing_kept("first_pieces", call, may_share=False)
    for name in ("last", "sum-all", "concat-last-4"):  # of one layer
        call = student.word_features.trace(states[:2], side_by_side, feature=name)
        checks.nothing_kept("word_features", call, may_share=False)


def mixed(states, starts, layers, how="sum", shares=None):
    vectors = torch.stack([pieces(states[i], starts) for i in layers], dim=2)
    if how == "flat":
        return vectors.flatten(2)
    if how == "interleaved":
        return vectors.transpose(2, 3).flatten(2)
    if shares is not None:
        return torch.einsum("bwlh,l->bwh", vectors, shares)
    return vectors.mean(2) if how == "mean" else vectors.sum(2)


def feature_mistakes(states, starts, name, mix):
    layers = layers_read(len(states) - 1)[name]
    given, top = (states, starts), len(states) - 1
    if name.startswith("concat"):
        return {
            "the layers are concatenated in falling order: the lowest first": mixed(
                *given, layers[::-1], "flat"),
            "the layers are interleaved: concatenate whole layers, not their numbers": mixed(
                *given, layers, "interleaved"),
            "the layers are summed, not concatenated": mixed(*given, layers),
        }  # fmt: skip
    if mix is None:
        return {
            "the last layer is read, whatever the feature": mixed(*given, [top]),
            "the layers are averaged, not summed": mixed(*given, layers, "mean"),
            "one layer too low: number 0 is the embeddings": mixed(
                *given, [max(0, i - 1) for i in layers]),
            "the embeddings are among all layers": mixed(*given, [0, *layers]),
        }  # fmt: skip
    weights, scale = mix["weights"], mix["scale"]
    shares = weights.softmax(0)
    return {
        "the weights are used without softmax": mixed(*given, layers, shares=scale * weights),
        "the scale is left out": mixed(*given, layers, shares=shares),
        "the weights are divided by their sum: it is softmax": mixed(
            *given, layers, shares=scale * weights / weights.sum()),
        "the exponentials are not divided by their sum": mixed(
            *given, layers, shares=scale * weights.exp()),
        "the scale stands inside the softmax": mixed(
            *given, layers, shares=(scale * weights).softmax(0)),
        "mix is not used: all layers weigh the same": mixed(*given, layers, "mean"),
        "mix is not used: the layers are summed": mixed(*given, layers),
        "the weights meet the layers in falling order": mixed(
            *given, layers[::-1], shares=scale * shares),
        "divided by the number of layers: softmax sums to 1 already": mixed(
            *given, layers, shares=scale * shares / len(layers)),
    }  # fmt: skip


def compared(student, names, cases=CASES, **options):
    for shape in cases:
        states, starts = case(*shape, **options)
        for name in names:
            mix = mix_for(name, shape[0], **options)
            checks.same(
                student.word_features(states, starts, feature=name, mix=mix),
                right_features(states, starts, name, mix).detach(),
                of=f"the features {name} of {shape[0]} layers",
                mistakes=lambda: feature_mistakes(states, starts, name, mix),
            )


@pytest.mark.weight(2)
def test_layers_are_taken_summed_or_put_side_by_side(student):
    compared(student, [name for name in NAMES if name not in WEIGHTED])
    states, starts = case(4, 3, 8, 5)
    read = torch.zeros(3, 8, dtype=torch.bool)
    read[(starts >= 0).nonzero()[:, 0], starts[starts >= 0]] = True
    for state in states:
        state[~read] = torch.inf
        state[:, 0] = -torch.inf
    for name in NAMES:  # a word that is not there is 0, whatever is elsewhere
        out = student.word_features(states, starts, feature=name, mix=mix_for(name, 4))
        checks.same(out, right_features(states, starts, name, mix_for(name, 4)).detach(),
                    of=f"the features {name}, where tokens are infinite that begin no word",
                    mistakes={"zeros by a product, and 0 · inf is NaN": lambda out: (
                        torch.equal(out.isnan().any(-1), starts < 0))})  # fmt: skip
        if name in WEIGHTED:
            _, gradients = student.word_features.grad(
                states, starts, feature=name, mix=mix_for(name, 4), wrt=("mix",),
                upstream=torch.ones_like(out))  # fmt: skip
            finite = {key: g is not None and bool(g.isfinite().all())
                      for key, g in gradients["mix"].items()}  # fmt: skip
            checks.same(finite, dict.fromkeys(finite, True),
                        of=f"whether the gradients of the mix are finite for {name}, where tokens "
                        "are infinite that begin no word", mistakes={
                            "a word that is not there is set to 0 after the mix: its gradient is "
                            "0 · inf": lambda out: True})  # fmt: skip
        none = torch.full_like(starts, -1)
        checks.same(
            student.word_features(states, none, feature=name, mix=mix_for(name, 4)),
            right_features(states, none, name, mix_for(name, 4)).detach(),
            of=f"the features {name}, where no row has a word",
        )
    for name in NAMES:  # a layer that the feature does not read may hold anything
        more, at = case(6, 2, 7, 3)
        for layer in {*range(7)} - {*layers_read(6)[name]}:
            more[layer].fill_(torch.inf)
        mix = mix_for(name, 6)
        out = student.word_features(more, at, feature=name, mix=mix)
        checks.same(out, right_features(more, at, name, mix).detach(),
                    of=f"the features {name}, where the layers that it does not read are infinite",
                    mistakes={"layers that are not read are multiplied by 0, and 0 · inf is NaN: "
                              "leave them out": lambda out: bool(out.isnan().any())})  # fmt: skip
    starts[0, 0] = 0
    for name, held in product(NAMES, (-torch.inf, torch.nan)):
        for state in states:
            state[:, 0] = held
        out = student.word_features(states, starts, feature=name, mix=mix_for(name, 4))
        found = (out.isnan() if math.isnan(held) else out.isneginf()).any(-1)
        checks.same(found, starts == 0,
                    of=f"where the features {name} are {held}, as [CLS] is, read as a word",
                    mistakes={"infinities are replaced: a word's vector is that of its piece":
                              lambda out: not out.any()})  # fmt: skip
    alike, at = case(4, 2, 7, 3)
    alike[0], alike[3], alike[4] = alike[1].clone(), alike[2].clone(), alike[2]
    for name in NAMES:
        mix = mix_for(name, 4)
        checks.same(student.word_features(alike, at, feature=name, mix=mix),
                    right_features(alike, at, name, mix).detach(),
                    of=f"the features {name}, where layers 2 to 4 are equal, and so are layer 1 "
                    "and the embeddings", mistakes={
                        "of layers that are equal only one is read": lambda out: True})  # fmt: skip
    checks.leaves_no_trace(student.word_features, alike, at, feature="sum-last-4")  # one object
    # The example of the page.
    states = [torch.tensor(row)[None, :, None]
              for row in ([9.0, 1.0, 5.0], [9.0, 2.0, 6.0], [9.0, 4.0, 7.0])]  # fmt: skip
    even = {"weights": torch.zeros(2), "scale": torch.tensor(1.0)}
    for name, right, mix in (("last", [[4.0], [0.0]], None),
                             ("second-to-last", [[2.0], [0.0]], None),
                             ("sum-last-4", [[6.0], [0.0]], None),
                             ("concat-last-4", [[2.0, 4.0], [0.0, 0.0]], None),
                             ("weighted-sum-last-4", [[3.0], [0.0]], even)):  # fmt: skip
        out = student.word_features(states, torch.tensor([[1, -1]]), feature=name, mix=mix)
        checks.same(out, torch.tensor([right]), of=f"{name} of the page's example")


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_layers_are_weighted_with_shares_that_are_learned(student):
    compared(student, WEIGHTED)
    compared(student, NAMES, [(4, 2, 7, 5)], dtype=torch.float32)
    for name, dtype in product(NAMES, (torch.float16, torch.bfloat16)):
        halves, starts = case(4, 2, 7, 5, dtype=dtype)
        mix = mix_for(name, 4, dtype=dtype)
        exact = {key: value.double() for key, value in mix.items()} if mix else None
        right = right_features([state.double() for state in halves], starts, name, exact).detach()
        checks.same(student.word_features(halves, starts, feature=name, mix=mix), right.to(dtype),
                    of=f"the features {name} in {str(dtype).removeprefix('torch.')}",
                    mistakes={"the result has another type of number than the arguments": (
                        lambda out, dtype=dtype: out.dtype != dtype)})  # fmt: skip
        if mix:
            large = mix | {"weights": mix["weights"] + 24}
            exact["weights"] = large["weights"].double()
            right = right_features([state.double() for state in halves], starts, name, exact)
            checks.same(student.word_features(halves, starts, feature=name, mix=large),
                        right.to(dtype), tolerance=0.2,
                        of=f"the features {name} with weights near 24 in {dtype}",
                        mistakes={
                            "exp of a large weight is infinite, and that of each may be 0: take "
                            "the largest away first, or use softmax": (
                                lambda out: not bool(out.isfinite().all()))})  # fmt: skip
        checks.same(student.first_pieces(halves[-1], starts), pieces(halves[-1], starts),
                    of=f"the vectors of the words in {str(dtype).removeprefix('torch.')}"
                    )  # fmt: skip
    states, starts = case(4, 2, 7, 5)
    for name in WEIGHTED:
        mix = mix_for(name, 4)
        mix["scale"] = -mix["scale"]
        right = right_features(states, starts, name, mix).detach()
        checks.same(
            student.word_features(states, starts, feature=name, mix=mix), right,
            of=f"the features {name} with a scale below 0",
            mistakes=lambda: {
                "a scale below 0 is cut off at 0": torch.zeros_like(right),
                "the sign of the scale is lost": -right,
                **feature_mistakes(states, starts, name, mix),
            },
        )  # fmt: skip
        for times, far, scale in ((1, 1000, 0.7), (1, -1000, 1.0), (1000, 0, 30.0), (0, 0, 4e4)):
            mix = mix_for(name, 4)
            mix["weights"] = times * mix["weights"] + far
            mix["scale"] = torch.full_like(mix["scale"], scale)
            checks.same(
                student.word_features(states, starts, feature=name, mix=mix),
                right_features(states, starts, name, mix).detach(),
                of=f"the features {name} with the weights {mix['weights'].tolist()} and the scale "
                   f"{scale:g}",
                mistakes=lambda: {
                    "exp of a large weight is infinite, and that of each may be 0: take the "
                    "largest away first, or use softmax": lambda out: bool(out.isnan().any()),
                    **feature_mistakes(states, starts, name, mix),
                },
            )  # fmt: skip
    for name in NAMES:
        given = states, starts
        settings = {"feature": name, "mix": mix_for(name, 4)}
        checks.leaves_no_trace(student.word_features, *given, **settings)
        checks.that(not student.word_features.trace(*given, **settings).inference,
                    f"no model can learn from the features {name}: they are a tensor of "
                    "torch.inference_mode", likely="with .detach() no gradient goes into "
                    "hidden_states, and a model can learn from the result")  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_the_mix_learns_and_the_encoder_stands_still(student):
    for name, far, scale, layers, words in [
        *((name, 0, 0.7, 4, "") for name in NAMES),
        *((name, 0, 3.0, layers, "") for name in NAMES for layers in (1, 2, 6)),
        *((name, 1000, 1.0, 4, "") for name in WEIGHTED),
        *((name, None, 1.0, 4, "") for name in WEIGHTED),  # as at first
        *((name, 0, 0.0, 4, "") for name in WEIGHTED),
        *((name, 0, 2.0, 3, words) for name in WEIGHTED
          for words in ("every row has all its words", "no row has all its words",
                        "there is a single word")),
    ]:  # fmt: skip
        states, starts = case(layers, 3, 8, 5)
        if words == "every row has all its words":
            starts = starts[:, :1].clone()
        elif words:
            starts[:, -1] = -1
        if words == "there is a single word":
            starts[1:] = starts[0, 1:] = -1
        mix = mix_for(name, layers)
        if mix:
            weights = mix["weights"] * 0 if far is None else mix["weights"] + far
            mix = {"weights": weights, "scale": torch.full_like(mix["scale"], scale)}
        leaves = {key: value.clone().requires_grad_() for key, value in (mix or {}).items()}
        out = right_features(states, starts, name, leaves)
        upstream = torch.randn(out.shape, generator=checks.generator(6),
                               dtype=out.dtype)  # fmt: skip
        wrt = ("hidden_states", "mix") if mix else ("hidden_states",)
        _, gradients = student.word_features.grad(states, starts, feature=name, mix=mix, wrt=wrt,
                                                  upstream=upstream)  # fmt: skip
        reached = [i for i, g in enumerate(gradients["hidden_states"]) if g is not None]
        checks.that(not reached, f"{name}: a gradient arrives at hidden states {reached}",
                    likely="the encoder is not frozen: detach what is read from it")  # fmt: skip
        if mix and layers == 2:
            _, still = student.word_features.grad(states, starts, feature=name, mix=mix,
                                                  wrt=("hidden_states",), upstream=upstream
                                                  )  # fmt: skip
            checks.that(all(g is None for g in still["hidden_states"]),
                        f"{name}: a gradient arrives at hidden states where the mix learns nothing",
                        likely="the encoder is frozen, whether the mix learns or not")  # fmt: skip
        if mix:
            right = checks.gradients_of(out, list(leaves.values()), upstream)
            checks.same(
                gradients["mix"], dict(zip(leaves, right, strict=True)),
                of=f"the gradient of the mix ({name}, {layers} layers), its weights "
                   f"{weights.tolist()}, its scale {scale:g}" + (words and f", where {words}"),
                mistakes={
                    "torch.no_grad() or detach around too much: the mix does not learn": (
                        lambda out: all(gradient is None for gradient in out.values())),
                    "the scale does not learn: it is left out, or taken as a number (item, "
                    "detach)": lambda out: out["scale"] is None,
                    "the weights do not learn: they are left out, or taken as numbers (tolist, "
                    "detach)": lambda out: out["weights"] is None,
                },
            )  # fmt: skip
            for key, slope in zip(leaves, right, strict=True):
                _, alone = student.word_features.grad(
                    states, starts, feature=name, mix=mix, wrt=(f"mix:{key}",), upstream=upstream
                )
                checks.same(alone[f"mix:{key}"], slope,
                            of=f"the gradient of the {key} of {name} where the rest of the mix is "
                            "frozen", mistakes={"whether one of them requires a gradient decides "
                                                "for the other": lambda out: out is None}
                            )  # fmt: skip

    # Weights that look as if they were something else: shares, no weights, a choice, equal ones.
    states, starts = case(4, 2, 7, 5)
    out = right_features(states, starts, "last")
    upstream = torch.randn(out.shape, generator=checks.generator(27), dtype=out.dtype)
    for name, weights in product(WEIGHTED, (
        [0.5, 0.25, 0.125, 0.125], [1.5, -1.0, 0.25, 0.25], [2.0, -1.0, -1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.25, 0.25, 0.25, 0.25],
    )):  # fmt: skip
        mix = mix_for(name, 4)
        mix["weights"] = torch.tensor(weights, dtype=torch.float64)
        leaves = {key: value.clone().requires_grad_() for key, value in mix.items()}
        right = right_features(states, starts, name, leaves)
        slopes = checks.gradients_of(right, list(leaves.values()), upstream)
        found = student.word_features.grad(states, starts, feature=name, mix=mix, wrt=("mix",),
                                           upstream=upstream)  # fmt: skip
        checks.same(
            found, (right.detach(), {"mix": dict(zip(leaves, slopes, strict=True))}),
            of=f"the features {name} with the weights {weights}, and the gradients",
            mistakes={
                "weights that add up to 1, or to 0, or are equal, go through the softmax like "
                "all others": lambda out: True,
            },
        )  # fmt: skip

    for name, dtype in product(WEIGHTED, (torch.float16, torch.bfloat16)):
        states, starts = case(4, 2, 7, 5, dtype=dtype)
        mix, of = mix_for(name, 4, dtype=dtype), str(dtype).removeprefix("torch.")
        leaves = {key: value.double().requires_grad_() for key, value in mix.items()}
        out = right_features([state.double() for state in states], starts, name, leaves)
        upstream = torch.ones_like(out)
        right = checks.gradients_of(out, list(leaves.values()), upstream)
        _, gradients = student.word_features.grad(states, starts, feature=name, mix=mix,
                                                  wrt=("mix",), upstream=upstream.to(dtype)
                                                  )  # fmt: skip
        for key, slope in zip(leaves, right, strict=True):
            checks.same(gradients["mix"][key], slope.to(dtype), tolerance=0.2,
                        of=f"the gradient of the {key} ({name}) in {of}",
                        mistakes={f"the {key} does not learn in {of}": lambda out: out is None}
                        )  # fmt: skip


def test_models_and_batches_of_any_size(student):
    # As many tokens as a large batch has: more than 65,536.
    generator = checks.generator(29)
    states = [torch.randn(130, 512, 2, generator=generator) for _ in range(2)]
    starts = torch.randint(-1, 512, (130, 6), generator=generator)
    of = "in a batch of 130 rows of 512 tokens"
    likely = {"a place among all tokens of the batch has too few bits": lambda out: True}
    checks.same(student.first_pieces(states[1], starts), pieces(states[1], starts),
                of=f"the vectors of the words {of}", mistakes=likely)  # fmt: skip
    last, last_starts = states[1], starts
    for name in ("embeddings", "weighted-sum-all"):
        mix = mix_for(name, 1, dtype=torch.float32)
        checks.same(student.word_features(states, starts, feature=name, mix=mix),
                    right_features(states, starts, name, mix),
                    of=f"the features {name} {of}", mistakes=likely)  # fmt: skip
    draw = sweep.Draw(11)
    sizes = [
        (2, 3, 5, 2),
        (1, 2, 9, 3),
        (60, 2, 3, 2),
        (5, 1_501, 3, 2),
        (5, 2, 3_001, 2),
        (2, 2, 4, 1_501),
        (3, 1, 1, 1),
        (25, 2, 6, 3),
    ]  # layers, batch, seq, hidden
    for number, (layers, batch, seq, hidden) in enumerate(sizes):
        dtype = [torch.float64, torch.float32][number % 4 == 1]
        states, _ = case(layers, batch, seq, hidden, seed=number, dtype=dtype)
        scale = 10.0 ** float((0, 12, -12, 6, 15, -6, 3, 9)[number])
        states = [scale * state for state in states]
        words = 1_203 if number == 4 else draw.size()
        starts = torch.from_numpy(draw.rng.integers(-1, seq, (batch, words)))
        starts[-1, -1], starts[0, 0] = seq - 1, 0
        known = layers_read(layers)
        of = f"(layers, batch, seq, hidden) {layers, batch, seq, hidden}"
        given = sweep.laid_out((states, starts), number)
        sweep.same(
            student.first_pieces(states=given[0][-1], starts=given[1]),
            pieces(states[-1], starts),
            of=f"first pieces, {of}",
        )
        for name in known:
            checks.same(
                student.layers_of(feature=name, layers=layers),
                known[name],
                of=f"the layers of {name} in a model of {layers}",
            )
            mix = mix_for(name, layers, dtype=dtype)
            if mix:
                mix = {
                    "weights": mix["weights"] * float(draw.rng.choice([0.0, 1.0, 8.0])),
                    "scale": mix["scale"] * float(draw.rng.choice([-1e6, 1e-6, 1.0])),
                }
            sweep.same(
                student.word_features(
                    hidden_states=given[0],
                    starts=given[1],
                    feature=name,
                    mix=sweep.laid_out(mix, number),
                ),
                right_features(states, starts, name, mix).detach(),
                of=f"the features {name}, {of}",
                given=states,
            )
            if mix and (number < 4 or batch == 1):
                leaves = {key: value.clone().requires_grad_() for key, value in mix.items()}
                out = right_features(states, starts, name, leaves)
                upstream = 1e6 * torch.randn(out.shape, dtype=dtype, generator=checks.generator(3))
                right = dict(
                    zip(
                        leaves,
                        checks.gradients_of(out, list(leaves.values()), upstream),
                        strict=True,
                    )
                )
                _, found = student.word_features.grad(
                    states, starts, feature=name, mix=mix, wrt=("mix",), upstream=upstream
                )
                magnitude = 1e6 * scale * float(mix["scale"].abs()) * batch**0.5
                sweep.same(
                    found["mix"],
                    right,
                    of=f"the gradient of the mix of {name}, {of}",
                    given=states,
                    magnitude=magnitude,
                )

    for dtype in (torch.float16, torch.bfloat16):  # whole numbers of these have few digits
        halves = last.to(dtype)
        checks.same(student.first_pieces(halves, last_starts), pieces(halves, last_starts),
                    of="the vectors of the words in a batch of 130 rows of 512 tokens, in "
                    f"{str(dtype).removeprefix('torch.')}", mistakes=likely)  # fmt: skip
