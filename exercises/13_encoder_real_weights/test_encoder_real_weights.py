"""A whole encoder: every kind of file opens, every state agrees to 1e-10 in float64."""

import itertools
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save

from autograder import checks, sweep
from autograder.codec import Folder, is_tensor
from bert_lowlevel import model
from bert_run.config import BertConfig, parameter_shapes

WIDE = BertConfig(vocab_size=50, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
                  intermediate_size=40, max_position_embeddings=20)  # fmt: skip
DEEP = BertConfig(vocab_size=31, hidden_size=8, num_hidden_layers=11, num_attention_heads=2,
                  intermediate_size=12, max_position_embeddings=9, type_vocab_size=3,
                  hidden_act="gelu_new", layer_norm_eps=0.01)  # fmt: skip
# Labels that a reader of JSON must leave as they are: one accent is a letter of its own.
WORDS = ["true", "Null", "None", "NaN", "Infinity", "7", "1.50", "1e5", "https://a.b/c", "a, ]",
         "}, b", "don't", '"', "&amp;", "e\u0301", "ﬁ", "# 1", "/* */", "a\tb", "\\u00e9", "%20",
         "$HOME", "", " "]  # fmt: skip
SIGNS = [1, -1, 1, 1, -1, -1]
# What transformers 5.23 gives (BertModel, float64) for `waves(WIDE)`: see the test that uses them.
PUBLISHED = {
    "state": [0.7665540726806165, 0.7233791479891061, -0.11319664174080643, -0.7167550892457811],
    "pooled": [0.5963386230173473, 0.47727020546319765, 0.20944812548104594, 0.36515819111043224],
}


def stored(config, *, seed=3, dtype=torch.float32):
    """A checkpoint of BertForPreTraining at random: no bias is 0, no scale 1."""
    rng = checks.rng(seed)
    weights = {}
    for name, shape in parameter_shapes(config).items():
        draw = torch.from_numpy(0.4 * rng.normal(size=shape))
        weights[name] = (draw + 1 if name.endswith("LayerNorm.weight") else draw).to(dtype)
    return weights


def waves(config):
    """Weights that need no generator, to be made again anywhere."""
    weights = {}
    for number, (name, shape) in enumerate(parameter_shapes(config).items()):
        count = torch.arange(int(np.prod(shape)), dtype=torch.float64)
        weights[name] = 0.3 * torch.sin((0.7 + 0.13 * number) * (count + 1)).view(shape)
    return weights


def encoder_of(weights):
    """Today's names, float64, without the heads."""
    return {name.removeprefix("bert."): w.double() for name, w in weights.items()
            if name.startswith("bert.")}  # fmt: skip


def fields_of(config):
    """What is in a config.json, some of it of no use to an encoder, one word of it beyond ASCII."""
    return {"model_type": "bert", **vars(config), "architectures": ["BertForPreTraining"],
            "id2label": {"0": "schön"}, "torch_dtype": "float16", "problem_type": None}  # fmt: skip


def folder(config, tensors, *, without="", metadata=None):
    fields = {name: value for name, value in fields_of(config).items() if name != without}
    text = json.dumps(fields, ensure_ascii=False)
    return Folder({"config.json": text.encode("utf-8"),
                   "model.safetensors": save(tensors, metadata)})  # fmt: skip


def batch(config, rows, seq, *, seed=4):
    rng = checks.rng(seed)
    input_ids = torch.from_numpy(rng.integers(1, config.vocab_size, (rows, seq)))
    token_type_ids = torch.from_numpy(rng.integers(0, config.type_vocab_size, (rows, seq)))
    attention_mask = torch.ones(rows, seq, dtype=torch.int64)
    if rows > 1:
        attention_mask[0, seq // 2 + 1 :] = 0
        input_ids[0, seq // 2 + 1 :] = 0
    return {"input_ids": input_ids, "token_type_ids": token_type_ids,
            "attention_mask": attention_mask}  # fmt: skip


def reference(config, weights, inputs):
    bert = model.Bert(config, {f"bert.{name}": w for name, w in weights.items()})
    return model.encode(bert, inputs)


def as_config(config):
    """As in the file of a model that has no pooler in `transformers`; the weights may have one."""
    return {"model_type": "bert", **vars(config), "architectures": ["BertForMaskedLM"]}


def encode_mistakes(config, weights, inputs):
    """For the states. A reference is worked out when an answer is wrong, and not before."""

    def states(config=config, weights=weights, **changes):
        return reference(config, weights, inputs | changes).hidden_states

    def would(change=None, **changes):
        """Whether the states are those of another config, of other inputs, of other weights."""
        return lambda out: not checks.difference(
            out, states(config.with_changes(**change or {}), **changes), "", None)  # fmt: skip

    def without(kind):
        name = f"embeddings.{kind}_embeddings.weight"
        return would(weights=weights | {name: torch.zeros_like(weights[name])})

    def sorted_by_name():
        order = [str(number) for number in sorted(range(config.num_hidden_layers), key=str)]
        moved = {}
        for name, weight in weights.items():
            parts = name.split(".")
            if parts[1] == "layer":
                parts[2] = str(order.index(parts[2]))
            moved[".".join(parts)] = weight
        return moved

    def summed():
        words, segments = (weights[f"embeddings.{kind}_embeddings.weight"][inputs[ids]]
                           for kind, ids in (("word", "input_ids"),
                                             ("token_type", "token_type_ids")))  # fmt: skip
        places = weights["embeddings.position_embeddings.weight"][: words.shape[1]]
        return words + places + segments

    def last_norm(out):
        last = states()[-1]
        last = F.layer_norm(last, last.shape[-1:], eps=config.layer_norm_eps)
        return not checks.difference(out[-1], last, "", None)

    unscaled = {name: w * config.head_dim**0.5 if ".query." in name else w
                for name, w in weights.items()}  # fmt: skip
    ones, zeros = torch.ones_like(inputs["input_ids"]), torch.zeros_like(inputs["input_ids"])
    other = "gelu" if config.hidden_act != "gelu" else "gelu_new"
    return {
        'hidden_act is not used, or its forms are exchanged: "gelu" is the one with erf': would(
            {"hidden_act": other}),
        "layer_norm_eps is not used: 1e-12 is written in": would({"layer_norm_eps": 1e-12}),
        "layer_norm_eps is not used: F.layer_norm takes 1e-5 unless it is told": would(
            {"layer_norm_eps": 1e-5}),
        "num_attention_heads is not used: there is one head": would({"num_attention_heads": 1}),
        "num_attention_heads is not used: 12 is written in": would({"num_attention_heads": 12}),
        "the scores are not divided by √head_dim": would(weights=unscaled),
        "attention_mask is not used": would(attention_mask=ones),
        "token_type_ids is not used: every token gets segment 0": would(token_type_ids=zeros),
        "the segments are left out": without("token_type"),
        "the positions are left out": without("position"),
        "the layer norm of the embeddings is missing": (
            lambda out: not checks.difference(out[0], summed(), "", None)),
        "the states after the embeddings are missing: there is one more than there are layers": (
            lambda out: len(out) == config.num_hidden_layers),
        "only the last states are returned: a list with all is asked for": (
            lambda out: type(out) is torch.Tensor),
        "a layer norm follows the last layer: BERT's own was the last already": last_norm,
        "the layers are sorted by name: layer.10 stands before layer.2": would(
            weights=sorted_by_name()),
    }  # fmt: skip


def pooled_from(weights, x):
    return F.linear(x, weights["pooler.dense.weight"], weights["pooler.dense.bias"]).tanh()


def pooled_mistakes(weights, states, visible):
    def pool(x):
        return F.linear(x, weights["pooler.dense.weight"], weights["pooler.dense.bias"])

    last = states[-1]
    return {
        "the tanh of the pooler is missing": pool(last[:, 0]),
        "the pooler reads the mean of all tokens: it reads the first, [CLS]": (
            pool(last.mean(1)).tanh()),
        "the pooler reads the last token: it reads the first, [CLS]": pool(last[:, -1]).tanh(),
        "the pooler reads the first token that is no padding: it reads the first of all": pool(
            last[torch.arange(len(last)), visible.argmax(1)]).tanh(),
        "[CLS] goes through no dense layer": last[:, 0].tanh(),
    }  # fmt: skip


def check_encoding(out, expected, config, weights, inputs, *, of=""):
    states, pooled = checks.parts(out, "the states", "the pooled vector")
    checks.same(states, expected.hidden_states, of=f"the states{of}",
                mistakes=lambda: encode_mistakes(config, weights, inputs))  # fmt: skip
    checks.same(pooled, expected.pooled, of=f"the pooled vector{of}",
                mistakes=lambda: pooled_mistakes(weights, expected.hidden_states,
                                         inputs["attention_mask"]))  # fmt: skip


def load_mistakes(expected):
    def any_name(test):
        return lambda out: any(test(name) for name in out)

    def through(dtype):
        return {name: w.to(dtype).double() for name, w in expected.items()}

    exchanged = {}
    for name, w in expected.items():
        first, kind = name.rsplit(".", 1)
        other = {"weight": "bias", "bias": "weight"}[kind] if "LayerNorm" in name else kind
        exchanged[f"{first}.{other}"] = w
    return {
        "the prefix bert. is still there: today's names begin with embeddings., encoder. or "
        "pooler.": any_name(lambda name: name.startswith("bert.")),
        "gamma and beta are still there: they are the weight and the bias of a layer norm": (
            any_name(lambda name: name.endswith(("gamma", "beta")))),
        "a head is among them: cls., classifier. and qa_outputs. are no part of the encoder": (
            any_name(lambda name: name.startswith(("cls.", "classifier.", "qa_outputs.")))),
        "another head is among them: whatever a head is called, take what begins with embeddings., "
        "encoder. or pooler.": any_name(lambda name: not name.startswith(
            ("bert.", "embeddings.", "encoder.", "pooler."))),
        "a buffer is among them: position_ids and token_type_ids are no weights": any_name(
            lambda name: name.endswith(("position_ids", "token_type_ids"))),
        "a pooler was made up: the file has none": lambda out: (
            "pooler.dense.weight" in out and "pooler.dense.weight" not in expected),
        "nothing was found: do your names fit this kind of file?": lambda out: len(out) == 0,
        "the numbers are not float64: turn each tensor into it": lambda out: any(
            w.dtype != torch.float64 for w in out.values()),
        "gamma and beta are exchanged: gamma is the weight": exchanged,
        "the numbers went through float16": through(torch.float16),
        "the numbers went through bfloat16": through(torch.bfloat16),
        "the numbers went through float32": through(torch.float32),
    }  # fmt: skip


def files(config):
    """The kinds of file that a BERT comes in."""
    full = stored(config)
    bare = {name.removeprefix("bert."): w for name, w in full.items() if name.startswith("bert.")}
    old, bare_old = ({name.replace("LayerNorm.weight", "LayerNorm.gamma")
                      .replace("LayerNorm.bias", "LayerNorm.beta"): w for name, w in of.items()}
                     for of in (full, bare))  # fmt: skip
    no_pooler, old_no_pooler = ({name: w for name, w in of.items() if "pooler" not in name}
                                for of in (bare, old))  # fmt: skip
    without_pooler = {name: w for name, w in encoder_of(full).items() if "pooler" not in name}
    positions = torch.arange(config.max_position_embeddings)[None]
    buffers = {"embeddings.position_ids": positions, "embeddings.token_type_ids": 0 * positions}
    encoder = {name: w for name, w in full.items() if name.startswith("bert.")}
    heads = {f"{name}.weight": torch.ones(2, config.hidden_size)
             for name in ("classifier", "qa_outputs")}  # fmt: skip
    # Whatever a head is called, its names do not begin as those of the encoder do.
    others = {f"{name}.weight": torch.ones(3) for name in (
        "lm_head.dense", "seq_relationship", "classifier.encoder.layer.0", "mlm.pooler.dense",
        "pooler_head", "encoder_decoder.0", "embeddings_projection", "bert.classifier", "adapter",
        "task.pooler.dense", "colbert.pooler.dense", "cls.bert.embeddings.tables",
        "two.bert.encoder.layer.0", "Encoder.layer.0", "POOLER.dense", "Bert.embeddings.tables",
        "bert.Embeddings.tables")
    }  # fmt: skip
    types = itertools.cycle([torch.float16, torch.bfloat16, torch.float32, torch.float64])
    # A third of a number of float32 has digits that only float64 holds.
    mixed = {name: (w.double() / 3).to(dtype)
             for (name, w), dtype in zip(full.items(), types, strict=False)}  # fmt: skip
    return {
        "saved from BertForPreTraining": (full, encoder_of(full)),
        "saved from BertModel": (bare, encoder_of(full)),
        "saved with gamma and beta": (old, encoder_of(full)),
        "saved from BertModel, with gamma and beta": (bare_old, encoder_of(full)),
        "saved without a pooler, with buffers": ({**buffers, **no_pooler}, without_pooler),
        "saved from BertForPreTraining without a pooler, with buffers, gamma and beta": (
            {**{f"bert.{name}": buffer for name, buffer in buffers.items()}, **old_no_pooler},
            without_pooler,
        ),
        "saved from a fine-tuned model": ({**heads, **encoder}, encoder_of(full)),
        "saved with other heads": ({**others, **encoder}, encoder_of(full)),
        "saved from BertModel, with other heads": (
            {name: w for name, w in {**others, **bare}.items() if not name.startswith("bert.")},
            encoder_of(full),
        ),
        "saved in float16, bfloat16, float32 and float64": (mixed, encoder_of(mixed)),
        "saved in bfloat16": (
            {name: w.bfloat16() for name, w in full.items()},
            {name: w.bfloat16().double() for name, w in encoder_of(full).items()},
        ),
    }


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_every_kind_of_file_gives_the_same_names(student):
    for config, metadata in ((WIDE, {"format": "pt"}), (DEEP, None)):  # transformers writes this
        for kind, (tensors, expected) in files(config).items():
            out = student.load_encoder(folder(config, tensors, metadata=metadata))
            fields, weights = checks.parts(out, "the config", "the weights")
            checks.same(fields, fields_of(config), of="the config, as json.loads gives it",
                        tolerance=0.0)  # fmt: skip
            checks.same(weights, expected, of=f"the weights of a file {kind}",
                        mistakes=lambda: load_mistakes(expected))  # fmt: skip
    for seed in (6, 7):
        tensors = stored(WIDE, seed=seed)
        _, weights = checks.parts(
            student.load_encoder(folder(WIDE, tensors)), "the config", "the weights"
        )
        checks.same(weights, encoder_of(tensors), of="the weights of one of two files of one size",
                    mistakes={"what an earlier file held is returned": lambda out: True}
                    )  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(4)
def test_every_state_and_the_pooled_vector_agree(student):
    for config, rows, seq in [(WIDE, 3, 7), (WIDE, 1, 20), (WIDE, 7, 1), (WIDE, 4, 4)]:
        weights = encoder_of(stored(config, dtype=torch.float64))
        inputs = batch(config, rows, seq)
        expected = reference(config, weights, inputs)
        out = student.encode(as_config(config), weights, **inputs)
        check_encoding(out, expected, config, weights, inputs)
    inputs = batch(WIDE, 3, 7)
    inputs["attention_mask"] = inputs["attention_mask"].flip(1)  # padding at the beginning
    weights = encoder_of(stored(WIDE))
    check_encoding(student.encode(as_config(WIDE), weights, **inputs),
                   reference(WIDE, weights, inputs), WIDE, weights, inputs)  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_the_config_says_how_many_layers_and_heads_which_gelu_and_eps(student):
    for config in (DEEP, DEEP.with_changes(hidden_act="gelu"), WIDE.with_changes(
        hidden_act="gelu_pytorch_tanh", num_attention_heads=2
    )):  # fmt: skip
        weights, inputs = encoder_of(stored(config, seed=5)), batch(config, 3, 6)
        expected = reference(config, weights, inputs)
        out = student.encode(as_config(config), weights, **inputs)
        check_encoding(out, expected, config, weights, inputs, of=f" ({config.hidden_act})")
    weights, inputs = encoder_of(stored(WIDE)), batch(WIDE, 3, 7)
    expected = reference(WIDE, weights, inputs)
    four = ("num_hidden_layers", "num_attention_heads", "layer_norm_eps", "hidden_act")
    four = {name: value for name, value in as_config(WIDE).items() if name in four}
    # Of the config of another model, or of this one before its tables were made longer.
    sizes = {"vocab_size": 9, "hidden_size": 48, "intermediate_size": 1, "type_vocab_size": 1,
             "max_position_embeddings": 2, "torch_dtype": "float16", "dtype": "bfloat16",
             "pad_token_id": 5, "chunk_size_feed_forward": 2}  # fmt: skip
    for more in ({}, {"model_type": "other", "add_pooling_layer": False, "head_dim": 1}, sizes):
        checks.same(student.encode(four | more, weights, **inputs),
                    (list(expected.hidden_states), expected.pooled),
                    of=f"the states and the pooled vector for a config of these four entries{more}",
                    mistakes={"another entry of the config decides": lambda out: True}
                    )  # fmt: skip
    right = expected.hidden_states
    for layers in (2, 0):  # fewer than in the weights
        shallow = as_config(WIDE) | {"num_hidden_layers": layers}
        states, pooled = checks.parts(
            student.encode(shallow, weights, **inputs), "the states", "the pooled vector"
        )
        of = f", with num_hidden_layers={layers} and weights of 3 layers"
        checks.same(states, right[: layers + 1], of="the states" + of, mistakes={
            "the layers are counted in the weights: num_hidden_layers says how many":
                lambda out: len(out) == 4})  # fmt: skip
        checks.same(pooled, pooled_from(weights, right[layers][:, 0]), of="the pooled vector" + of)


@pytest.mark.hint(3)
def test_without_an_eps_in_the_config_it_is_1e_12(student):
    fields = as_config(WIDE)
    del fields["layer_norm_eps"]
    weights, inputs = encoder_of(stored(WIDE)), batch(WIDE, 3, 7)
    no_variance = {name: 0 * w if name.startswith("embeddings.") and "Norm" not in name else w
                   for name, w in weights.items()}  # fmt: skip
    found = student.load_encoder(folder(WIDE, stored(WIDE), without="layer_norm_eps"))
    expected = fields_of(WIDE)
    del expected["layer_norm_eps"]
    checks.same(checks.parts(found, "the config", "the weights")[0], expected,
                of="the config of a file without layer_norm_eps")  # fmt: skip
    for given, of in ((weights, ""), (no_variance, ", where all embeddings are 0")):
        out = student.encode(fields, given, **inputs)
        check_encoding(out, reference(WIDE, given, inputs), WIDE, given, inputs, of=of)
    config = WIDE.with_changes(layer_norm_eps=1e-30)  # the course's model takes no 0
    tiny = {name: 1e-8 * w if name.startswith("embeddings.") and "Norm" not in name else w
            for name, w in weights.items()}  # fmt: skip
    out = student.encode(as_config(config) | {"layer_norm_eps": 0.0}, tiny, **inputs)
    check_encoding(out, reference(config, tiny, inputs), config, tiny, inputs,
                   of=", where layer_norm_eps is 0 and all embeddings are tiny")  # fmt: skip


@pytest.mark.weight(2)
def test_a_folder_is_opened_and_computes_what_transformers_computes(student):
    """`transformers` itself need not be installed: its numbers stand at the top of this file."""
    tensors = waves(WIDE)
    fields, weights = checks.parts(
        student.load_encoder(folder(WIDE, tensors)), "the config", "the weights"
    )
    inputs = {"input_ids": (torch.arange(18).view(2, 9) * 7 + 3) % 50}
    inputs["attention_mask"] = torch.ones(2, 9, dtype=torch.int64)
    inputs["attention_mask"][0, 5:] = 0
    segments = [[0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1, 1]]
    inputs["token_type_ids"] = torch.tensor(segments)
    out = student.encode(fields, weights, **inputs)
    states, pooled = checks.parts(out, "the states", "the pooled vector")
    checks.that(type(states) is list and len(states) == 4, "the states: expected a list of 4")
    for name, found in (("state", states[-1][1, 2]), ("pooled", pooled[0])):
        checks.same(found[:4], torch.tensor(PUBLISHED[name], dtype=torch.float64),
                    of=f"the first numbers of the {name}, as transformers has them")  # fmt: skip


@pytest.mark.weight(2)
def test_padding_is_never_seen_and_a_row_of_it_gives_no_nan(student):
    inputs = batch(WIDE, 3, 7)
    inputs["attention_mask"][2] = 0
    mask = inputs["attention_mask"].bool()
    others = torch.where(mask, inputs["input_ids"], 49)
    weights = encoder_of(stored(WIDE))
    expected = reference(WIDE, weights, inputs)
    for ids in (inputs["input_ids"], others):
        out = student.encode(as_config(WIDE), weights, **inputs | {"input_ids": ids})
        states, pooled = checks.parts(out, "the states", "the pooled vector")
        checks.that(type(states) is list and len(states) == 4, "the states: expected a list of 4")
        finite = all(bool(x.isfinite().all()) for x in (*states, pooled))
        checks.same(finite, True, of="whether all states and the pooled vectors are finite",
                    mistakes={"a softmax of nothing but -inf is NaN: use the lowest finite number":
                              lambda out: not out})  # fmt: skip
        checks.same(states[-1][mask], expected.hidden_states[-1][mask],
                    of="the last states of the tokens that are no padding",
                    mistakes=lambda: {"attention_mask is not used": reference(
                        WIDE, weights, inputs | {"attention_mask": torch.ones_like(ids),
                                                 "input_ids": ids}
                    ).hidden_states[-1][mask]})  # fmt: skip
    one = {name: x[2:] for name, x in inputs.items()}
    out = student.encode(as_config(WIDE), weights, **one)
    states, pooled = checks.parts(out, "the states", "the pooled vector")
    checks.that(all(bool(x.isfinite().all()) for x in (*states, pooled)),
                "of a single row that is all padding, some states are not finite",
                likely="a softmax of nothing but -inf is NaN: use the lowest finite number"
                )  # fmt: skip


def test_without_a_pooler_there_is_no_pooled_vector(student):
    weights, inputs = encoder_of(stored(WIDE)), batch(WIDE, 3, 7)
    expected = reference(WIDE, weights, inputs).hidden_states
    weights = {name: w for name, w in weights.items() if not name.startswith("pooler.")}
    out = student.encode(as_config(WIDE), weights, **inputs)
    checks.same(out, (expected, None), of="the states, and None")


def test_the_example_of_the_page(student):
    config = BertConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=1,
                        num_attention_heads=2, intermediate_size=512)  # fmt: skip
    tensors = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
        "LayerNorm.bias", "LayerNorm.beta"): torch.full(shape, 0.5, dtype=torch.float16)
        for name, shape in parameter_shapes(config).items()}  # fmt: skip
    fields, weights = checks.parts(
        student.load_encoder(folder(config, tensors)), "the config", "the weights"
    )
    shapes = {"embeddings.word_embeddings.weight": (1000, 128),
              "embeddings.LayerNorm.weight": (128,)}  # fmt: skip
    for name, shape in shapes.items():
        checks.same(weights.get(name) if type(weights) is dict else weights,
                    torch.full(shape, 0.5, dtype=torch.float64), of=f"{name} of the example"
                    )  # fmt: skip
    checks.that("cls.predictions.bias" not in weights, "cls.predictions.bias is in the weights",
                likely="a head is among them: cls. is no part of the encoder")  # fmt: skip
    states, _ = checks.parts(
        student.encode(fields, weights, **batch(config, 1, 7)), "the states", "the pooled vector"
    )
    checks.that(type(states) is list and len(states) == 2,
                "the states of the example: expected a list of 2")  # fmt: skip
    for number, state in enumerate(states):
        zeros = torch.zeros(1, 7, 128, dtype=torch.float64)
        checks.same(torch.zeros_like(state) if is_tensor(state) else state, zeros,
                    of=f"states[{number}] of the example (its shape and type)")  # fmt: skip


def test_encoders_and_batches_of_any_size(student):
    rng = checks.rng(11)
    small = dict(
        vocab_size=9,
        hidden_size=6,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=5,
        max_position_embeddings=8,
    )
    acts = itertools.cycle(["gelu_pytorch_tanh", "gelu_new", "gelu"])
    whole = itertools.cycle([torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
    for rows, seq, changes in (
        (2, 4, {"num_hidden_layers": 40}),
        (2, 4, {"num_hidden_layers": 1}),
        (2, 3, {"num_attention_heads": 40, "hidden_size": 80}),
        (2, 3, {"intermediate_size": 4_103}),
        (2, 3, {"vocab_size": 70_001}),
        (2, 3, {"type_vocab_size": 300}),
        (1_100, 2, {}),
        (1, 1_100, {"max_position_embeddings": 1_200}),
        (2, 3, {"num_attention_heads": 1}),
        (3, 5, {"layer_norm_eps": 1.0}),
        (3, 5, {"layer_norm_eps": 1e-5}),
        (1, 1, {}),
        (2, 3, {"num_attention_heads": 4, "hidden_size": 128}),  # heads are not always of 64
        (1, 4, {"num_attention_heads": 3, "hidden_size": 522, "num_hidden_layers": 1}),
        (2, 130, {"max_position_embeddings": 140}),
        (2, 131, {"max_position_embeddings": 140}),
        (2, 260, {"max_position_embeddings": 260}),
        # more than a million attention weights
        (
            2,
            261,
            {
                "max_position_embeddings": 261,
                "num_attention_heads": 12,
                "hidden_size": 12,
                "num_hidden_layers": 1,
            },
        ),
    ):
        config = BertConfig(**{**small, **changes}, hidden_act=next(acts))
        weights = encoder_of(stored(config, seed=seq, dtype=torch.float64))
        weights["pooler.dense.bias"] *= 20  # to where tanh is almost 1
        weights = {
            n: w / w.shape[1] ** 0.5 if w.ndim == 2 and "dense" in n else w
            for n, w in weights.items()
        }
        if rows == 3:  # scores far below -10,000, all of a query's about alike
            weights = {n: w + (1e6 if "key.bias" in n else 0) for n, w in weights.items()}
        inputs = batch(config, rows, seq)
        inputs["input_ids"][-1, -1] = config.vocab_size - 1
        inputs["input_ids"][0, seq // 2] = 0
        inputs["token_type_ids"][-1, -1] = config.type_vocab_size - 1
        mask = torch.from_numpy((rng.random((rows, seq)) < 0.7).astype(np.int64))
        mask[:, rng.integers(seq)] = 1
        mask[0, seq // 2] = 1  # of the id 0
        if seq == 4:  # the last position is padding in every row, and has states
            mask[:, 0], mask[:, -1] = 1, 0
            inputs["token_type_ids"][:] = 0  # of single sentences, which have a segment too
        if seq == 130:  # most of it is padding in every row
            mask[:, 0], mask[:, 33:] = 1, 0
        if seq == 131:  # a long row may begin with padding
            mask[0, :100], mask[:, 120] = 0, 1
        if seq in (260, 261):  # 256 tokens, which are 0 in a number of 8 bits
            mask[:], mask[0, : seq - 256] = 1, 0
        inputs["attention_mask"] = mask
        expected = reference(config, weights, inputs)
        inputs["attention_mask"] = mask.to(next(whole))
        out = student.encode(as_config(config), sweep.laid_out(weights, seq), **inputs)
        states, pooled = checks.parts(out, "the states", "the pooled vector")
        special = [f"{name} {value:g}" for name, value in changes.items()]
        special += [f"attention_mask {inputs['attention_mask'].dtype}", config.hidden_act]
        of = f"of {rows} rows of {seq} tokens, {', '.join(special)}"
        sweep.same(states, list(expected.hidden_states), of=f"the states {of}")
        sweep.same(pooled, expected.pooled, of=f"the pooled vector {of}")
        if seq > 64:
            checks.same(
                states,
                list(expected.hidden_states),
                of=f"the states {of}",
                tolerance=1e-11,
                mistakes={"a step of long rows is computed in float32": lambda out: True},
            )
    # What is loaded is what is stored, tiny or huge, and however many layers there are.
    config = BertConfig(**{**small, "num_hidden_layers": 110})
    tensors = {
        name: (w.double() / 3 * 10.0 ** float(rng.integers(-42, 30))).to(
            [torch.float32, torch.bfloat16, torch.float64][number % 3]
        )
        for number, (name, w) in enumerate(stored(config).items())
    }
    _, weights = checks.parts(
        student.load_encoder(folder(config, tensors)), "the config", "the weights"
    )
    checks.same(
        weights,
        encoder_of(tensors),
        of="the weights of a file of 110 layers, some of them tiny and some huge",
        tolerance=0.0,
    )
    check_values_of_every_kind(student)
    check_weights_that_look_simple(student)
    check_weights_of_a_form(student)
    check_that_little_decides_nothing(student)
    check_files_of_every_kind(student)


def check_weights_that_look_simple(student):
    """Matrices of all layers are one object, and pairs of numbers add up to 0, those of scales to
    2; segments add up to their count."""
    config = WIDE.with_changes(hidden_size=8, type_vocab_size=3)
    weights = {}
    for name, w in encoder_of(stored(config, seed=9)).items():
        half = (16 * w[..., ::2]).round() / 16  # so that the sums are exact
        w = torch.stack([half, 2.0 * ("Norm.weight" in name) - half], -1).flatten(-2)
        alike = w.shape == (8, 8) and name.startswith("encoder.")
        weights[name] = weights.setdefault("encoder.same", w) if alike else w
    del weights["encoder.same"]
    inputs = batch(config, 3, 8)
    inputs["token_type_ids"][:] = torch.tensor([0, 2]).repeat(4)
    given = as_config(config), weights
    out = student.encode.trace(*given, **inputs, before=("encode", given, inputs, 1)).value
    expected = reference(config, weights, inputs)
    checks.same(out, (list(expected.hidden_states), expected.pooled), mistakes={
        "what is one object, or has a simple sum, is treated like something simpler":
            lambda out: True},
        of="the states and the pooled vector, where query, key and value of all layers have one "
           "matrix, scales add up to their count and other weights to 0")  # fmt: skip


def matrices_of_a_form(seed):
    """Matrices, 6 by 6, that look simpler than they are: some of their numbers, the sizes of these,
    or a product are those of the unit matrix, of a diagonal one or of a symmetric one."""
    w = torch.from_numpy(checks.rng(seed).normal(size=(6, 6)))
    unit, signs = torch.eye(6).double(), torch.tensor(SIGNS).double()
    inverse, inner, turned = unit.clone(), w.clone(), torch.linalg.qr(w)[0]
    inverse[3:, 3:], inverse[:3, 3:] = -unit[3:, 3:], (3 * w[:3, 3:]).round()
    for end in (0, -1):  # outside of it, the rows and columns are those of a diagonal matrix
        inner[end], inner[:, end] = w[end, end] * unit[end], w[end, end] * unit[end]
    return [
        -unit, signs.diag(), signs.diag().roll(1, 0), w[0].diag().roll(1, 1), inverse, w - w.mT,
        inner, w.tril(), w.triu(1), w[0][(torch.arange(6)[:, None] - torch.arange(6)) % 6],
        torch.outer(w[0], w[1]), w + w.mT - (2 * w.diagonal() - 1).diag(), turned,
        turned * signs[:, None],
    ]  # fmt: skip


def check_weights_of_a_form(student):
    """Of each dense layer each form, in one of the layers; scales and biases that differ in signs
    alone."""
    forms, signs = matrices_of_a_form(23), torch.tensor(SIGNS).double()
    config = WIDE.with_changes(hidden_size=6, num_attention_heads=2, intermediate_size=6,
                               num_hidden_layers=len(forms))  # fmt: skip
    weights = encoder_of(stored(config, seed=24, dtype=torch.float64))
    count = itertools.count()  # six matrices in each layer
    for place, (name, w) in enumerate(weights.items()):
        if w.shape == (6, 6):
            number = next(count)
            weights[name] = forms[(number // 6 + 2 * (number % 6)) % len(forms)]
        elif name.endswith("LayerNorm.weight") and place % 3:
            weights[name] = signs.roll(place)
        elif name.endswith("bias") and place % 3:
            weights[name] = 0.5 * signs.roll(place)
    inputs = batch(config, 2, 5, seed=25)
    expected = reference(config, weights, inputs)
    checks.same(student.encode(as_config(config), weights, **inputs),
                (list(expected.hidden_states), expected.pooled), mistakes={
        "a matrix is taken for a diagonal, symmetric or sparse one": lambda out: True},
        of="the states and the pooled vector, where the matrices, or signs, look like something "
           "simpler")  # fmt: skip


def check_that_little_decides_nothing(student):
    """Embeddings that differ little beside their mean, a single place of padding in a large batch,
    and rows or places of which the first, the middle and the last are alike."""
    config = WIDE.with_changes(num_hidden_layers=1, hidden_size=8)
    near = encoder_of(stored(config, seed=19, dtype=torch.float64))
    words = "embeddings.word_embeddings.weight"
    cases = [("with embeddings near 10,000", "", 0, near | {words: near[words] + 1e4}),
             ("with a single place of padding", "", 0, near)]  # fmt: skip
    for name, axis in itertools.product(batch(config, 1, 1), range(2)):
        what = f"in whose {name} the first, the middle and the last along axis {axis} are alike"
        cases.append((what, name, axis, near))
    for number, (what, name, axis, weights) in enumerate(cases):
        rows, seq = (2_100, 2) if number == 1 else (5, 5)
        inputs = batch(config, rows, seq, seed=100 + number)
        mask = torch.tensor(sweep.PLACES[:3] + sweep.PLACES[5:])
        if number == 1:
            mask = torch.ones(rows, seq, dtype=torch.int64)
            mask[checks.rng(21).integers(rows), 0] = 0
        inputs["attention_mask"] = mask
        if name == "attention_mask" and axis == 1:  # tokens at both ends and in the middle
            mask[:, 0] = 1
        if name:
            places = torch.tensor([0, 1, 0, 2, 0])
            inputs[name] = inputs[name].index_select(axis, places)
        states, pooled = checks.parts(student.encode(as_config(config), weights, **inputs),
                                      "the states", "the pooled vector")  # fmt: skip
        right = reference(config, weights, inputs)
        of, tolerance = f"of {rows} rows {what}", 1e-10 if number else 1e-9
        checks.same(states, list(right.hidden_states), mistakes={
            "digits are lost: subtract the mean before squaring": lambda out: number == 0,
        }, of=f"the states {of}", tolerance=tolerance)  # fmt: skip
        checks.same(pooled, right.pooled, of=f"the pooled vector {of}", tolerance=tolerance)


def check_values_of_every_kind(student):
    """Rows, ids and masks that are alike, a first row of padding, weights that are 0 or negative,
    large scores, and sizes that are equal or powers of 2."""
    types = [torch.int16, torch.int64, torch.uint8, torch.int8, torch.int32]
    for number, (rows, seq, hidden, heads, wide, changes) in enumerate([
        (3, 4, 8, 2, 8, {}), (8, 8, 8, 8, 3, {"vocab_size": 8, "max_position_embeddings": 8}),
        (2, 16, 16, 16, 16, {"type_vocab_size": 1}), (1, 10, 12, 6, 48, {}), (6, 6, 6, 6, 6, {}),
        (4, 2, 64, 4, 16, {"num_hidden_layers": 1}), (2, 32, 4, 2, 64, {"vocab_size": 4}),
        (3, 5, 5, 5, 10, {"type_vocab_size": 4}), (16, 20, 6, 2, 4, {"num_hidden_layers": 1}),
        (2, 3, 1, 1, 1, {}), (5, 1, 9, 3, 2, {}),
    ]):  # fmt: skip
        config = BertConfig(**{
            "vocab_size": 9, "num_hidden_layers": 2, "max_position_embeddings": 32, **changes},
            hidden_size=hidden, num_attention_heads=heads, intermediate_size=wide,
            hidden_act=("gelu", "gelu_new")[number % 2])  # fmt: skip
        weights = encoder_of(stored(config, seed=50 + number, dtype=torch.float64))
        for name, w in weights.items():
            if name.endswith("LayerNorm.weight"):
                weights[name] = [-w, w * (w > 1), w / w, 1 - w][number % 4]
            elif name.endswith("bias"):
                weights[name] = [0 * w, -w.abs(), w, w * (w > 0)][number // 2 % 4]
            elif "intermediate" in name:
                weights[name] = w * (1, 30)[number % 2]
            elif "query" in name or "key" in name:
                weights[name] = w * (1, 1, 8)[number % 3]
            elif "word" in name and number % 3:
                weights[name][0] = 0.0
        inputs = batch(config, rows, seq, seed=60 + number)
        ids, mask = inputs["input_ids"], torch.ones(rows, seq, dtype=torch.int64)
        if number % 4:
            ids[:] = [ids[:1], 0 * ids, ids[:, :1]][number % 4 - 1]
        kind = number % 5
        if kind == 1:
            mask[0] = 0
        if kind in (1, 2, 3):
            mask[1 if kind == 1 else 0 :, (seq + 1) // 2 :] = 0
        if kind in (1, 4) and rows > 2:
            mask[-1] = torch.arange(seq) == seq // 2
        if seq == 20:  # 256 tokens in all
            mask[:] = torch.arange(seq) >= 4
        inputs["attention_mask"] = mask
        right = reference(config, weights, inputs)
        inputs["attention_mask"] = mask.to(types[number % 5])
        given = dict(zip(inputs, sweep.laid_out([*inputs.values()], number), strict=True))
        args, more = ((), given) if number % 2 else (given.values(), {})
        out = student.encode(as_config(config), weights, *args, **more)
        states, pooled = checks.parts(out, "the states", "the pooled vector")
        of = (f"of {rows} rows of {seq} tokens, hidden size {hidden}, {heads} heads, intermediate "
              f"size {wide}, {config.hidden_act}")  # fmt: skip
        found = [*(states if type(states) is list else [states]), pooled]
        expected = [*right.hidden_states, right.pooled]
        checks.same([x * 0 for x in found], [x * 0 for x in expected],
                    of=f"the states and the pooled vector {of} (shape, type; finite)")  # fmt: skip
        live = mask.any(1)
        sweep.same([x[live] for x in found], [x[live] for x in expected],
                   of=f"the states and the pooled vector {of}")  # fmt: skip


def check_files_of_every_kind(student):
    """Each name is changed by itself, numbers of 0 and tables of one row are weights like others,
    and the config is what stands in its file."""
    config = WIDE.with_changes(type_vocab_size=1, num_hidden_layers=2, hidden_size=4)
    tensors = stored(config, seed=8)
    for name, shape in (("encoder.layer.0.attention.self.distance_embedding.weight", (5, 2)),
                        ("embeddings.projection.weight", (3, 4)), ("pooler.norm.bias", (2,)),
                        ):  # fmt: skip
        tensors[f"bert.{name}"] = torch.full(shape, 1 + float(checks.rng(22).random()))
    expected = encoder_of(tensors)
    for number, (name, w) in enumerate(tensors.copy().items()):
        if number % 3 == 0 and name.startswith("bert."):
            tensors[name] = 0 * w
            expected[name.removeprefix("bert.")] = 0 * w.double()
    for ends in ({".1.output.LayerNorm.weight": "gamma", ".1.output.LayerNorm.bias": "beta",
                  "embeddings.LayerNorm.bias": "beta"},
                 {"embeddings.LayerNorm.weight": "gamma", "embeddings.LayerNorm.bias": "beta"}
                 ):  # fmt: skip
        given = {}
        for name, w in tensors.items():
            end = next((end for end in ends if name.endswith(end)), None)
            given[f"{name.rsplit('.', 1)[0]}.{ends[end]}" if end else name] = w
        _, weights = checks.parts(
            student.load_encoder(folder(config, given)), "the config", "the weights"
        )
        checks.same(weights, expected, of="the weights of a file in which some layer norms have "
                    "gamma and beta and others have not", mistakes=lambda: {
                        "tensors of 0 are left out": lambda out: out.keys() == {
                            name for name, w in expected.items() if w.any()},
                        **load_mistakes(expected)})  # fmt: skip
    fields = {"num_hidden_layers": 1, "vocab_size": 40, "max_position_embeddings": 9,
              "layer_norm_eps": 1.5e-15, "model_type": "bert",
              "id2label": {"0": "no", "1": "läuft 🙂", "10": None}, "problem_type": None,
              "num_labels": 2**53 + 1, "empty": {}, "a list": [1, 2.0, None, [True, "\"\\"]],
              "rate": 0.1234567890123456, "space ": "  two  ", "tie": False,
              "Name": "Models/BERT Ä", "architectures": ["BertModel"],
              "transformers_version": "4.2.0", "dtype": "float16", "labels": WORDS,
              "names": {str(number): word for number, word in enumerate(WORDS)},
              "label2id": {word: number for number, word in enumerate(WORDS)}}  # fmt: skip
    for text in (json.dumps(fields, indent=2) + "\n", json.dumps(fields, ensure_ascii=False)):
        files = Folder({"config.json": text.encode("utf-8"), "model.safetensors": save(given)})
        found, weights = checks.parts(student.load_encoder(files), "the config", "the weights")
        checks.same(found, fields, of="the config, as json.loads gives it", tolerance=0.0,
                    mistakes={"the config gets an entry that its file has not": lambda out: (
                        out.keys() > fields.keys())})  # fmt: skip
        checks.same(weights, expected, of="the weights of a file with a layer and 10 words more "
                    "than its config says", mistakes={"the config decides which weights are there: "
                                                      "take all that the file has":
                                                      lambda out: True})  # fmt: skip


def test_nothing_is_left_behind(student):
    weights, inputs = encoder_of(stored(WIDE)), batch(WIDE, 3, 7)
    traced = student.load_encoder.trace(folder=folder(WIDE, stored(WIDE)))
    checks.that(not traced.written, "load_encoder changes the files in the folder that it is given",
                likely="they are the caller's: write nothing there")  # fmt: skip
    checks.leaves_no_trace(student.load_encoder, folder(WIDE, stored(WIDE)))
    student.encode(config=as_config(WIDE), weights=weights, **inputs)  # by their names
    checks.leaves_no_trace(student.encode, as_config(WIDE), weights, **inputs)
    without = {name: value for name, value in as_config(WIDE).items() if name != "layer_norm_eps"}
    checks.leaves_no_trace(student.encode, without, weights, **inputs)
