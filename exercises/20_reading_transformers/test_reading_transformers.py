"""Reading checkpoints: names and layouts of all years, and what is not there is said."""

import itertools
import math

import numpy as np
import pytest

from autograder import checks, sweep
from bert_run import config as course
from bert_run.config import PRESETS, BertConfig

SMALL = {"architectures": ["BertForPreTraining"], "hidden_act": "gelu", "hidden_size": 4,
         "intermediate_size": 6, "max_position_embeddings": 5, "model_type": "bert",
         "num_attention_heads": 2, "num_hidden_layers": 2, "type_vocab_size": 3,
         "vocab_size": 7}  # fmt: skip
DEEP = SMALL | {"num_hidden_layers": 12, "hidden_size": 2, "num_attention_heads": 1}
WORDS = "bert.embeddings.word_embeddings.weight"
DECODER = "cls.predictions.decoder.weight"
BIAS = "cls.predictions.bias"
SQUARE = "bert.encoder.layer.1.attention.output.dense.weight"
FIRST = "bert.encoder.layer.0"
NSP = "cls.seq_relationship.weight"
ROLES = ("query", "key", "value")
OTHER_FIELDS = {"tie_word_embeddings": False, "embedding_size": 3, "head_dim": 1, "num_labels": 5,
                "id2label": {"0": "a"}, "pooler_fc_size": 9, "add_pooling_layer": False,
                "is_decoder": True, "add_cross_attention": True, "pad_token_id": 0,
                "position_embedding_type": "relative_key", "use_cache": False,
                "layer_norm_eps": 1e-5, "tie_encoder_decoder": True, "torch_dtype": "float16",
                "pad_vocab_size_to_multiple_of": 8, "num_next_sentence_labels": 3,
                "num_hidden_groups": 1, "classifier_dropout": None,
                "attention_head_size": 3, "num_key_value_heads": 1,
                "pruned_heads": {"0": [1]}, "model_type": "electra"}  # fmt: skip


def shapes_of(config):
    known = {n: v for n, v in config.items() if n not in ("architectures", "model_type")}
    return course.parameter_shapes(BertConfig(**known))


def weights_of(config=SMALL, *, dtype=np.float32, seed=5):
    rng = checks.rng(seed)
    return {n: rng.normal(size=shape).astype(dtype) for n, shape in shapes_of(config).items()}


def as_old(name):
    name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
    return name.replace("LayerNorm.bias", "LayerNorm.beta")


def as_tensorflow(weights):
    """As Google's checkpoints have it, with what Adam leaves."""
    found = {"global_step": np.array(7)}
    for name, array in weights.items():
        name = as_old(name).replace(".layer.", ".layer_").replace(".", "/")
        if name.endswith("_embeddings/weight"):
            name = name.removesuffix("/weight")
        elif name.startswith("cls/seq_relationship") or name == "cls/predictions/bias":
            name = name.replace("/weight", "/output_weights").replace("/bias", "/output_bias")
        elif name.endswith("/weight"):
            name, array = name.replace("/weight", "/kernel"), array.T
        found |= {name: array, f"{name}/adam_m": 0 * array, f"{name}/adam_v": 0 * array}
    return found


def in_other_words(arrays):
    """TensorFlow's kernels as output_weights, which are not turned, and the other way round."""
    found = {}
    for name, array in arrays.items():
        before, _, last = name.rpartition("/")
        if last in ("kernel", "output_weights"):
            last, array = "kernel" if last == "output_weights" else "output_weights", array.T
        last = {"bias": "output_bias", "output_bias": "bias"}.get(last, last)
        found[f"{before}/{last}" if before else last] = array
    return found


def fused(weights):
    found = {}
    for name, array in weights.items():
        if ".self.query." in name:
            array = np.concatenate([weights[name.replace("query", role)] for role in ROLES])
            found[name.replace("query", "Wqkv")] = array
        elif ".self." not in name:
            found[name] = array
    return found


def in_any_names(weights, rng, *, words_under=(WORDS,)):
    """The same, each array under a name drawn from all that the table has for it; and the word
    embeddings under the names `words_under`."""
    arrays = fused(weights)
    for name in [n for n in arrays if "Wqkv" in n and rng.random() < 0.4]:
        parts = np.split(arrays.pop(name), 3)
        arrays |= {
            name.replace("Wqkv", role): part for role, part in zip(ROLES, parts, strict=True)
        }
    words = arrays.pop(WORDS)
    arrays |= dict.fromkeys(words_under, words)
    if rng.random() < 0.5:
        arrays["cls.predictions.decoder.bias"] = arrays.pop(BIAS)
    return dict(in_any_name(name, array, rng) for name, array in arrays.items())


def in_any_name(name, array, rng):
    if rng.random() < 0.5:
        if name == DECODER and rng.random() < 0.5:
            return "cls/predictions/decoder/output_weights", array
        (name, array), *_ = [
            entry for entry in as_tensorflow({name: array}).items() if entry[0] != "global_step"
        ]
        return (name.removeprefix("bert/") if rng.random() < 0.3 else name), array
    name = as_old(name) if rng.random() < 0.5 else name
    if name.endswith("_embeddings.weight") and rng.random() < 0.5:
        name = name.removesuffix(".weight")
    name = name.removeprefix("bert.") if rng.random() < 0.5 else name
    wrappers = rng.choice(["module.", "_orig_mod."], rng.integers(5))
    return "".join(wrappers.tolist()) + name, array


def as_saved(weights):
    """As transformers saves it, the shared arrays under both of their names."""
    return {"bert.embeddings.position_ids": np.array([[0, 1, 2, 3, 4]]), **weights,
            DECODER: weights[WORDS], "cls.predictions.decoder.bias": weights[BIAS]}  # fmt: skip


def compare(out, weights, *, missing=(), unexpected=(), wrong_shape=(), of, mistakes=None):
    found = checks.parts(out, "weights", "missing", "unexpected", "wrong_shape")
    right = {n: w for n, w in weights.items() if n not in (*missing, *wrong_shape)}
    named = mistakes or {}
    checks.same(found[0], right, of=f"the weights of {of}", tolerance=0.0, mistakes=lambda: {
        n: test for n, test in named.items() if not n.startswith("`")})  # fmt: skip
    lists = {"missing": missing, "unexpected": unexpected, "wrong_shape": wrong_shape}
    for (name, wanted), got in zip(lists.items(), found[1:], strict=True):
        checks.same(got, list(wanted), of=f"`{name}` of {of}", mistakes=lambda: {
            "in another order": lambda out, wanted=wanted: sorted(out) == sorted(wanted),
            **{n: test for n, test in named.items() if n.startswith(f"`{name}`")},
        })  # fmt: skip


def absent(part):
    """Whether the names with `part` in them, and no others of the encoder, are not among the
    weights."""
    return lambda out: f"{FIRST}.output.dense.weight" in out and not any(part in n for n in out)


def holds(name, array):
    """Whether the weights have this array under the name."""
    return lambda out: name in out and np.array_equal(out[name], array)


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_names_and_shapes_are_those_of_the_course(student):
    for config in (SMALL, DEEP, SMALL | {"num_hidden_layers": 1, "type_vocab_size": 2}):
        right = shapes_of(config)
        turned = config["hidden_size"], config["intermediate_size"]
        out = student.parameter_shapes(config=config)
        checks.same(out, right, of="the shapes", mistakes={
            "the matrices are (in, out): a weight is (out, in), as F.linear has it": (
                lambda out, turned=turned: out[f"{FIRST}.intermediate.dense.weight"] == turned),
            "the decoder has no name of its own: it is the word embeddings": (
                lambda out: DECODER in out),
            "layers count from 0": lambda out: f"{FIRST}.output.dense.weight" not in out,
            "the number of segments is type_vocab_size": lambda out, right=right: [
                n for n in right if out.get(n) != right[n]] == [
                    "bert.embeddings.token_type_embeddings.weight"],
            "shapes are tuples": lambda out: any(type(s) is not tuple for s in out.values()),
        })  # fmt: skip
        checks.that(list(out) == list(right), "the names are right, their order is not: from the "
                    f"input upwards, {list(right)[:4]} …",
                    likely="another order than the table's")  # fmt: skip


def test_the_parameters_are_as_many_as_in_the_paper(student):
    for name, right in (("base", 110_106_428), ("large", 336_226_108), ("tiny", 4_433_468)):
        config = vars(PRESETS[name])
        words = config["vocab_size"] * config["hidden_size"]
        count = student.count_parameters(config=config)
        checks.that(not isinstance(count, float), f"the parameters of BERT-{name}: expected a "
                    f"whole number, got {count!r}", likely="a count is an int")  # fmt: skip
        checks.same(
            count,
            right,
            of=f"the parameters of BERT-{name}",
            mistakes=lambda: {
                "the tied matrix is counted twice": right + words,
                "the bias of the words is missing": right - config["vocab_size"],
                "the heads are not counted": sum(
                    int(np.prod(shape))
                    for n, shape in shapes_of(config).items()
                    if n.startswith("bert.")
                ),
            },
        )


NORMS = {"gamma": "weight", "beta": "bias"}
LIKE_NORMS = ("LayerNorm_1", "LayerNorm2", "PreLayerNorm", "layer_norm", "GroupNorm", "ln_1")
NAMES = {
    "a name of today stays as it is": [
        (name, name)
        for name in (WORDS, SQUARE, NSP, BIAS, "classifier.weight", "qa_outputs.bias",
                     "encoder_decoder.weight", "pooler_head.bias", "embeddings2.weight")
    ],
    "the prefixes of wrappers go, however many": [
        ("module.bert.pooler.dense.bias", "bert.pooler.dense.bias"),
        ("_orig_mod.bert.pooler.dense.bias", "bert.pooler.dense.bias"),
        ("module._orig_mod.bert.pooler.dense.bias", "bert.pooler.dense.bias"),
        ("_orig_mod.module.cls.predictions.bias", BIAS),
        ("module.module.classifier.weight", "classifier.weight"),
    ],
    "names without bert. get it, at the start alone": [
        ("embeddings.word_embeddings.weight", WORDS),
        ("encoder.layer.1.attention.output.dense.weight", SQUARE),
        ("pooler.dense.weight", "bert.pooler.dense.weight"),
        ("head.pooler.dense.weight", "head.pooler.dense.weight"),
        ("image.encoder.weight", "image.encoder.weight"),
        ("encoders.weight", "encoders.weight"),
    ],
    "a prefix goes, and no letter more": [
        ("module.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.weight"),
        ("module.encoder.layer.0.output.dense.bias", "bert.encoder.layer.0.output.dense.bias"),
        ("module.my_head.weight", "my_head.weight"),
    ],
    "a name without a dot stays as it is": [("logits", "logits")],
    "gamma is the weight and beta the bias": [
        ("bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight"),
        ("bert.embeddings.LayerNorm.beta", "bert.embeddings.LayerNorm.bias"),
        ("encoder.layer.9.output.LayerNorm.beta", "bert.encoder.layer.9.output.LayerNorm.bias"),
    ],
    "words inside a name are changed: look at its beginning and its end": [
        ("head.submodule.beta", "head.submodule.beta"),
        ("head.beta.LayerNorm.weight", "head.beta.LayerNorm.weight"),
        ("gamma_net.kernel_size.weight", "gamma_net.kernel_size.weight"),
        ("head.layer_norm.weight", "head.layer_norm.weight"),
        ("head.MyLayerNorm.gamma", "head.MyLayerNorm.gamma"),
        *((f"head.LayerNorm.{end}",) * 2 for end in ("gammas", "betas", "gamma.x", "beta.x")),
        ("head.cls.predictions.decoder.bias", "head.cls.predictions.decoder.bias"),
        ("head.cls.predictions.decoder.bias.scale", "head.cls.predictions.decoder.bias.scale"),
        ("my_module.weight", "my_module.weight"),
        *((name, name) for name in ("model.encoder.layer.0.output.dense.bias",
                                    "roberta.embeddings.LayerNorm.weight")),
        ("head._orig_mod.weight", "head._orig_mod.weight"),
        ("bert._orig_mod.pooler.dense.weight", "bert._orig_mod.pooler.dense.weight"),
        *((f"{before}.pooler.dense.weight",) * 2 for before in (
            "bert.bert", "model.bert", "student.module.bert", "bert_model", "net.bert")),
        ("Module.bert.pooler.dense.bias", "Module.bert.pooler.dense.bias"),
        ("head.layernorm.gamma", "head.layernorm.gamma"),
        ("head.word_embeddings.scale", "head.word_embeddings.scale"),
        ("shared.embeddings", "shared.embeddings"),
    ],
    "only a name with slashes is TensorFlow's: without one, layer_2 inside a name stays": [
        ("head.layer_2.weight", "head.layer_2.weight"),
    ],
    "only a name with slashes is TensorFlow's: without one, its last word stays": [
        (name, name) for name in ("output_weights", "output_bias", "kernel", "global_step2")
    ],
    "decoder.bias is another name of the words' bias": [
        ("cls.predictions.decoder.bias", BIAS), ("module.cls.predictions.decoder.bias", BIAS),
    ],
    "TensorFlow's slashes, numbers and last words": [
        ("bert/encoder/layer_0/output/dense/kernel", "bert.encoder.layer.0.output.dense.weight"),
        ("bert/encoder/layer_11/output/dense/kernel", "bert.encoder.layer.11.output.dense.weight"),
        ("bert/encoder/layer_11/output/dense/bias", "bert.encoder.layer.11.output.dense.bias"),
        ("bert/encoder/layer_3/attention/output/LayerNorm/gamma",
         "bert.encoder.layer.3.attention.output.LayerNorm.weight"),
        ("bert/embeddings/layer_normalization/gamma",
         "bert.embeddings.layer_normalization.gamma"),
        ("bert/embeddings/token_type_embeddings", "bert.embeddings.token_type_embeddings.weight"),
        ("bert/embeddings/task_type_embeddings", "bert.embeddings.task_type_embeddings.weight"),
        ("bert/layer_7_norm/layer_7b/bias", "bert.layer_7_norm.layer_7b.bias"),
        ("bert/pooler/dense/kernel:0", "bert.pooler.dense.kernel:0"),
        ("bert//pooler/dense/bias", "bert..pooler.dense.bias"),
        ("head/layer_07/bias", "head.layer.07.bias"),
        ("head/layer_1/layer_2/layer_33/bias", "head.layer.1.layer.2.layer.33.bias"),
        ("cls/predictions/output_bias", BIAS),
        ("cls/seq_relationship/output_weights", NSP),
        ("cls/seq_relationship/output_bias", "cls.seq_relationship.bias"),
        ("cls/predictions/transform/LayerNorm/beta", "cls.predictions.transform.LayerNorm.bias"),
    ],
    "layer_7 becomes layer.7 where a slash stands before it and after it": [
        ("layer_7/output/dense/bias", "layer_7.output.dense.bias"),
        ("head/layer_7", "head.layer_7"), ("layer_1/layer_2/layer_3", "layer_1.layer.2.layer_3"),
    ],
    "several lines of the table apply to one name": [
        ("encoder/layer_1/attention/output/dense/kernel", SQUARE),
        ("cls/predictions/decoder/output_bias", BIAS),
        ("module.encoder.layer.0.output.LayerNorm.gamma", f"{FIRST}.output.LayerNorm.weight"),
        ("module.embeddings.word_embeddings", WORDS),
    ],
    "spaces and other letters stay as they are": [
        (name, name) for name in ("my head.weight", " module.bias", "head.LayerNorm.gamma ",
                                  "t\u00eate.\tbias", "cls.predictions.decoder.bias ")
    ],
}  # fmt: skip


@pytest.mark.hint(1)
def test_shapes_and_count_follow_every_field_of_the_config(student):
    student.parameter_shapes(SMALL)
    for field in ("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size",
                  "max_position_embeddings", "type_vocab_size"):  # fmt: skip
        config = SMALL | {field: SMALL[field] + 2 + 2 * checks.anew(9)}
        checks.same(
            student.parameter_shapes(config),
            shapes_of(config),
            of=f"the shapes with {field}={config[field]}",
            mistakes=lambda: {
                "the shapes are those of another config, from an earlier call": shapes_of(SMALL),
                f"{field} is not used": lambda out: True,
            },
        )
    fields = [name for name in SMALL if name.endswith("_size") or name in (
        "max_position_embeddings", "num_hidden_layers")]  # fmt: skip
    for model in ("BertModel", "BertForMaskedLM", "BertForSequenceClassification"):
        labeled = SMALL | OTHER_FIELDS | {"architectures": [model]}
        checks.same(student.parameter_shapes(labeled), shapes_of(SMALL), mistakes={
            "only the six sizes matter: fields such as architectures, tie_word_embeddings or "
            "embedding_size do not": lambda out: True},
            of=f"the shapes of a config of a {model} with many other fields")  # fmt: skip
    bare = {name: SMALL[name] for name in fields}
    checks.same(student.parameter_shapes(bare), shapes_of(SMALL),
                of="the shapes of a config with its six sizes alone")  # fmt: skip
    huge = SMALL | {"vocab_size": 3_000_000 + checks.anew(900), "hidden_size": 1024}
    checks.same(
        student.count_parameters(huge), sum(math.prod(s) for s in shapes_of(huge).values()),
        of="the parameters with a vocabulary of 3,000,000 and hidden size 1024",
        mistakes={"the product leaves the range of 32 bits: Python's integers have no such limit":
                  lambda out: True},
    )  # fmt: skip


FIRST_WORDS = {"embeddings": "bert.embeddings", "encoder": "bert.encoder", "pooler": "bert.pooler",
               "encoder_2": "encoder_2", "bert": "bert", "cls": "cls", "head": "head"}  # fmt: skip
WORDS_OF_NAMES = ("dense", "dense_1", "LayerNorm", "LayerNorm_1", "layer_norm_2", "conv2d_12",
                  "block_3", "layers_4", "gamma", "beta", "encoder", "embeddings", "module", "7",
                  "hidden_layer_3", "task_embeddings", "kernel_1", "weight", "bias")  # fmt: skip
LAST_WORDS = {"kernel": "weight", "output_weights": "weight", "output_bias": "bias"}


def drawn_name(rng):
    """A name of words drawn at random, with dots or with slashes, and what the table makes of it:
    in most words nothing."""
    has_slashes = rng.random() < 0.6
    words = [str(word) for word in rng.choice(WORDS_OF_NAMES, rng.integers(1, 4))]
    layer = f"layer_{rng.integers(30)}"
    if rng.random() < 0.4:
        words.insert(rng.integers(len(words)), layer)
    if has_slashes and rng.random() < 0.4:
        words.append(str(rng.choice([*LAST_WORDS])))
    words.insert(0, str(rng.choice([*FIRST_WORDS])))
    right = [FIRST_WORDS[words[0]], *words[1:]]
    if has_slashes:
        right = [word.replace("_", ".") if word == layer else word for word in right]
    if words[-1].endswith("_embeddings"):
        right.append("weight")
    elif words[-2] == "LayerNorm" or words[-1] in LAST_WORDS:
        right[-1] = (NORMS | LAST_WORDS).get(words[-1], words[-1])
    return ("/" if has_slashes else ".").join(words), ".".join(right)


LETTERS = "lstrip takes letters away, not a word: use removeprefix"


def letters_are_missing(right):
    """Whether a name begins in the middle of the first word that it should begin with."""
    first, _, rest = right.removeprefix("bert.").partition(".")
    return lambda out: any(out.removeprefix("bert.") == f"{first[i:]}.{rest}".strip(".")
                           for i in range(1, len(first)))  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_every_name_of_the_table_is_known(student):
    for what, pairs in NAMES.items():
        for name, right in pairs:
            checks.same(
                student.common_name(name=name), right, of=f"the name of {name}",
                mistakes=lambda: {LETTERS: letters_are_missing(right), what: lambda out: True},
            )  # fmt: skip
    rng = checks.rng(13)
    for name, right in (drawn_name(rng) for _ in range(400)):
        checks.same(
            student.common_name(name),
            right,
            of=f"the name of {name}",
            mistakes={
                "of words like layer_7, dense_1 and conv2d_12 only layer_7 becomes two": (
                    lambda out, right=right: out.count(".") > right.count(".")
                )
            },
        )
    for sep, norm, end in itertools.product("./", LIKE_NORMS, NORMS):
        checks.same(
            student.common_name(f"head{sep}{norm}{sep}{end}"),
            f"head.{norm}.{end}",
            of=f"the name of head{sep}{norm}{sep}{end}",
            mistakes={"gamma and beta change their names after LayerNorm alone": lambda out: True},
        )


@pytest.mark.weight(2)
def test_files_of_transformers_old_and_new_are_read(student):
    for dtype in (np.float32, np.float16, np.float64, np.int8):
        weights = weights_of(dtype=dtype)
        decoder = {
            "the decoder is the word embeddings, which have their own name already": (
                lambda out: DECODER in out
            ),
            "`unexpected` has position_ids or the tied decoder, which are nothing unexpected": (
                lambda out: set(out) <= {DECODER, "bert.embeddings.position_ids",
                                         "cls.predictions.decoder.bias"}),
            "the type of the numbers was changed": (
                lambda out, dtype=dtype: any(w.dtype != dtype for w in out.values())),
        }  # fmt: skip
        compare(student.read_checkpoint(arrays=weights, config=SMALL), weights,
                of="a file of the course",
                mistakes=decoder)  # fmt: skip
        for config in (SMALL, SMALL | OTHER_FIELDS):
            compare(student.read_checkpoint(as_saved(weights), config), weights,
                    of=f"a BertForPreTraining, with {len(config)} fields in its config",
                    mistakes=decoder)  # fmt: skip
        swapped = {"gamma and beta are exchanged: gamma is the weight": holds(
                       "bert.embeddings.LayerNorm.weight",
                       weights["bert.embeddings.LayerNorm.bias"]),
                   "gamma and beta are not translated": absent("LayerNorm")}  # fmt: skip
        old = {as_old(name): array for name, array in as_saved(weights).items()}
        compare(student.read_checkpoint(old, SMALL), weights, of="a file with gamma and beta",
                mistakes=swapped | decoder)  # fmt: skip
        wrapped = {f"module._orig_mod.{name}": array for name, array in old.items()}
        compare(student.read_checkpoint(wrapped, SMALL), weights, of="a wrapped model",
                mistakes=swapped | decoder)  # fmt: skip


def test_shared_arrays_may_stand_under_either_name(student):
    weights = weights_of()
    saved = as_saved(weights)
    only_decoder = {name: array for name, array in saved.items() if name != WORDS}
    only_bias = {name: array for name, array in saved.items() if name != BIAS}
    compare(student.read_checkpoint(only_decoder, SMALL | OTHER_FIELDS), weights,
            of="a file without embeddings", mistakes={
                "a decoder without word embeddings is the word embeddings, written once": (
                    lambda out: WORDS not in out)})  # fmt: skip
    halves = [{n: w.astype(np.float16) for n, w in of.items()} for of in (only_decoder, weights)]
    compare(student.read_checkpoint(halves[0], SMALL), halves[1],
            of="a file in float16 without embeddings")  # fmt: skip
    compare(student.read_checkpoint(only_bias, SMALL), weights, of="a file with decoder.bias",
            mistakes={"decoder.bias is another name of the words' bias": (
                lambda out: BIAS not in out)})  # fmt: skip
    untied = saved | {DECODER: weights[WORDS] + 1}
    before = {DECODER: untied.pop(DECODER), **untied}  # the decoder may come first
    wrapped = {f"module.{name}": array for name, array in before.items()}
    nearly = weights[WORDS].copy()
    nearly[0, 0] = np.nextafter(nearly[0, 0], np.float32(9))  # by the last digit of one number
    for arrays, decoder in ((saved | {DECODER: weights[WORDS] + 1}, DECODER), (before, DECODER),
                            (saved | {DECODER: nearly}, DECODER),
                            (saved | {DECODER: weights[WORDS].astype(np.float16)}, DECODER),
                            (wrapped, f"module.{DECODER}")):  # fmt: skip
        more = {"classifier.weight": weights[WORDS]}  # and one that comes after it
        compare(student.read_checkpoint(arrays | more, SMALL | OTHER_FIELDS), weights,
                unexpected=[decoder, *more], of="a file with a decoder of its own", mistakes={
            "the word embeddings are those of the decoder: they have an array of their own": (
                holds(WORDS, weights[WORDS] + 1)),
            "`unexpected` lacks a decoder that differs from the word embeddings: compare them": (
                lambda out: out == [*more]),
        })  # fmt: skip
    tied = as_tensorflow(weights | {DECODER: weights[WORDS]})
    alone = {name: array for name, array in tied.items() if "word_embeddings" not in name}
    for arrays, of in ((tied, "decoder/kernel"), (alone, "decoder/kernel, without embeddings")):
        compare(student.read_checkpoint(arrays, SMALL), weights, of=f"a file with {of}", mistakes={
            "decoder/kernel is (H, V): transpose it before you take it for the word embeddings": (
                lambda out: WORDS not in out),
            "`unexpected` has decoder/kernel, which is (H, V): transpose it before you compare it":
                lambda out: bool(out),
        })  # fmt: skip
    larger = np.ones((9, 4), np.float32)
    taken = {"the decoder is taken where the word embeddings have another shape: they are there": (
        lambda out: WORDS in out)}  # fmt: skip
    compare(student.read_checkpoint(saved | {WORDS: larger}, SMALL), weights, wrong_shape=[WORDS],
            unexpected=[DECODER], of="a file with larger word embeddings and a decoder",
            mistakes=taken)  # fmt: skip
    tied = saved | {WORDS: larger, DECODER: larger}
    for arrays in (tied, dict(reversed(tied.items()))):
        compare(student.read_checkpoint(arrays, SMALL), weights, wrong_shape=[WORDS],
                of="a file with larger word embeddings, tied", mistakes=taken)  # fmt: skip
    many = SMALL | {"vocab_size": 3_001}
    weights_of_many = weights_of(many)
    for row in (3_000, *checks.rng(17).integers(3_000, size=6).tolist()):
        learned = weights_of_many[WORDS].copy()
        learned[row] += 1
        which = "the last" if row == 3_000 else "one"
        compare(student.read_checkpoint(as_saved(weights_of_many) | {DECODER: learned}, many),
                weights_of_many, unexpected=[DECODER],
                of=f"a file whose decoder differs in {which} of 3,001 words")  # fmt: skip
    rows, columns = weights_of_many[WORDS].copy(), weights_of_many[WORDS].copy()
    one, other = checks.rng(18).choice(np.arange(1, 3_000), 2, False)
    rows[[one, other]] = rows[[other, one]]
    columns[one] = columns[one, ::-1]
    learned = weights_of_many[WORDS].copy()
    learned[one % 2_000 :][:256] += 1
    compare(student.read_checkpoint(as_saved(weights_of_many) | {DECODER: learned}, many),
            weights_of_many, unexpected=[DECODER],
            of="a file whose decoder differs in 256 words", mistakes={
                "`unexpected` lacks a decoder that differs in 256 rows, 1,024 numbers: a count of "
                "few bits begins again at 0": lambda out: out == []})  # fmt: skip
    for what, learned in (("two rows exchanged", rows), ("a row the other way round", columns)):
        compare(student.read_checkpoint(as_saved(weights_of_many) | {DECODER: learned}, many),
                weights_of_many, unexpected=[DECODER], of="a file whose decoder has the numbers of "
                f"the word embeddings, {what}", mistakes={
                    "`unexpected` lacks a decoder with the same numbers in other places: sums do "
                    "not tell, compare number by number": lambda out: out == []})  # fmt: skip
    ones = saved | {WORDS: np.ones_like(weights[WORDS])}
    for shape in ((1, 4), (4,), (7, 1), (1,), ()):
        compare(student.read_checkpoint(ones | {DECODER: np.ones(shape, np.float32)}, SMALL),
                weights | {WORDS: ones[WORDS]}, unexpected=[DECODER],
                of=f"a file whose words are all ones, as is its decoder, of shape {shape}",
                mistakes={"`unexpected` lacks a decoder of another shape: NumPy repeats what is 1 "
                          "long, so compare the shapes too": lambda out: out == []})  # fmt: skip
    for dtype in (np.float64, np.float16):
        exact = weights_of(dtype=dtype)
        last = exact[WORDS].copy()
        last[3, 1] = np.nextafter(last[3, 1], dtype(9))
        compare(student.read_checkpoint(as_saved(exact) | {DECODER: last}, SMALL), exact,
                unexpected=[DECODER], of="a file whose decoder differs in the last digit of a "
                f"{dtype.__name__}")  # fmt: skip
    in_columns = weights[WORDS].ravel().reshape(7, 4, order="F")  # lies there as the words do
    with_zeros = {**weights, WORDS: 0 * weights[WORDS]}
    turned = saved | {DECODER: np.ascontiguousarray(weights[WORDS]).reshape(4, -1)}
    padded = saved | {DECODER: np.pad(weights[WORDS], ((0, 1), (0, 0)))}
    shorter = saved | {DECODER: weights[WORDS][:6]}
    for arrays, numbers, more, of in (
        (saved | {DECODER: weights[WORDS].astype(np.float64)}, weights, [], "in another type"),
        (saved | with_zeros | {DECODER: -0 * weights[WORDS]}, with_zeros, [], "of zeros and -0.0"),
        (
            saved | {DECODER: np.asfortranarray(weights[WORDS])},
            weights,
            [],
            "that lies in memory in another order",
        ),
        (
            saved | {DECODER: in_columns},
            weights,
            [DECODER],
            "whose columns have the numbers of the rows",
        ),
        (turned, weights, [DECODER], "of another shape with the same numbers in a row"),
        (padded, weights, [DECODER], "that has the word embeddings and a row of zeros"),
        (shorter, weights, [DECODER], "that has all rows of the word embeddings but one"),
    ):
        compare(student.read_checkpoint(arrays, SMALL), numbers, unexpected=more,
                of=f"a file with a decoder {of}")  # fmt: skip
    compare(
        student.read_checkpoint(only_decoder | {DECODER: larger}, SMALL),
        weights,
        wrong_shape=[WORDS],
        of="a file with a larger decoder alone",
        mistakes=taken,
    )


@pytest.mark.weight(2)
def test_fused_matrices_are_taken_apart(student):
    for config, dtype in ((SMALL, np.float16), (DEEP, np.float32)):
        weights = weights_of(config, dtype=dtype)
        query, key = (f"bert.encoder.layer.1.attention.self.{role}.weight" for role in ROLES[:2])
        whole = np.concatenate([weights[query.replace("query", role)] for role in ROLES])
        named = {
            "Wqkv is not taken apart": absent(".self.query"),
            "the order of the parts is query, key, value": holds(query, weights[key]),
            "columns were cut: the rows of query, key and value stand one below the other": (
                lambda out, query=query, size=config["hidden_size"]: (
                    query in out and out[query].shape != (size, size))),
            "every third row was taken: all rows of the query come first": holds(query, whole[::3]),
            "the matrix was turned: Wqkv is (out, in)": holds(query, weights[query].T),
            "`unexpected` has Wqkv, which was understood": (
                lambda out: any("Wqkv" in str(n) for n in out)),
        }  # fmt: skip
        compare(student.read_checkpoint(fused(weights), config), weights, of="a file with Wqkv",
                mistakes=named)  # fmt: skip
        wrapped = {
            f"module.{as_old(n).removeprefix('bert.')}": w for n, w in fused(weights).items()
        }
        compare(student.read_checkpoint(wrapped, config), weights, of="a wrapped file with Wqkv",
                mistakes=named)  # fmt: skip
    six = SMALL | {"hidden_size": 6}  # of which a third is a whole number
    compare(student.read_checkpoint(as_tensorflow(fused(weights_of(six))), six), weights_of(six),
            of="a checkpoint of TensorFlow with Wqkv/kernel", mistakes={
                "Wqkv/kernel is (H, 3H): transpose it before you cut it": absent(
                    ".self.query.weight")})  # fmt: skip
    compare(student.read_checkpoint(in_other_words(as_tensorflow(fused(weights_of(six)))), six),
            weights_of(six), of="a checkpoint of TensorFlow with Wqkv/output_weights", mistakes={
                "only a kernel is turned": absent(".self.query.weight")})  # fmt: skip
    weights, deeper = weights_of(), fused(weights_of(SMALL | {"num_hidden_layers": 3}))
    more = [name for name in deeper if ".layer.2." in name]
    compare(student.read_checkpoint(deeper, SMALL), {n: w for n, w in weights_of(
        SMALL | {"num_hidden_layers": 3}).items() if n in weights}, unexpected=more,
        of="a file with Wqkv of one layer more", mistakes={
            "`unexpected` has a Wqkv three times: a name once": lambda out: list(
                dict.fromkeys(out)) == more,
            "`unexpected` has the parts of Wqkv: names as they stand in the checkpoint": (
                lambda out: any(".layer.2.attention.self.query" in n for n in out))})  # fmt: skip
    for size in (6, 4):  # the second is not divisible by 3
        heads = {"head.query.weight": np.ones((2, 4)), "head.Wqkv.weight": np.ones((size, 4)),
                 "head.Wqkv.bias": np.ones(size)}  # fmt: skip
        compare(student.read_checkpoint(fused(weights) | heads, SMALL), weights,
                unexpected=list(heads), of=f"a file with a head.Wqkv of {size} rows", mistakes={
                    "`unexpected` lacks a name, as head.Wqkv was taken apart: only an "
                    "attention.self.Wqkv is": lambda out, heads=heads: set(out) < set(heads)}
                )  # fmt: skip
    wide = f"{FIRST}.attention.self.Wqkv.weight"
    narrow = {n: w for n, w in fused(weights_of(SMALL | {"hidden_size": 8})).items() if "Wqkv" in n}
    compare(student.read_checkpoint(fused(weights) | narrow, SMALL), weights, wrong_shape=[
        n for n in weights if ".self." in n], of="a file with Wqkv of twice the width"
        )  # fmt: skip
    compare(student.read_checkpoint(fused(weights) | {wide: np.ones((15, 5), np.float32)}, SMALL),
            weights, wrong_shape=[wide.replace("Wqkv", role) for role in ROLES],
            of="a file with a Wqkv of another size")  # fmt: skip
    parts, turned = [wide.replace("Wqkv", role) for role in ROLES], np.ones((6, 18), np.float32)
    compare(student.read_checkpoint(fused(weights_of(six)) | {wide: turned}, six), weights_of(six),
            wrong_shape=parts, of="a file with a Wqkv (H, 3H), which only a kernel is", mistakes={
                "a Wqkv of another shape was cut all the same": lambda out: parts[0] in out
            })  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_tensorflow_matrices_are_turned_and_tables_are_not(student):
    narrow = SMALL | {"hidden_size": 1, "num_attention_heads": 1}
    for config, dtype in ((SMALL, np.float32), (DEEP, np.float64), (SMALL, np.float16),
                          (narrow, np.float32)):  # fmt: skip
        weights = weights_of(config, dtype=dtype)
        named = {
            "kernels are (in, out): turn them, square ones too": holds(SQUARE, weights[SQUARE].T),
            "output_weights was not read: it means weight, and is (out, in) already: only a kernel "
            "is turned": lambda out: NSP not in out and {WORDS, SQUARE} <= set(out),
            "neither the tables nor output_weights were read: both are (out, in), and only a "
            "kernel is turned": lambda out: SQUARE in out and not {WORDS, NSP} & set(out),
            "the embedding tables were not read: they get .weight, and are no kernels to turn": (
                lambda out: WORDS not in out and {NSP, SQUARE} <= set(out)),
            "only the matrices whose shape does not fit are turned": holds(
                SQUARE, weights[SQUARE].T),
            "`unexpected` has adam_m, adam_v or global_step, which are no weights": (
                lambda out: any(str(n).endswith(("adam_m", "adam_v", "global_step")) for n in out)),
            "the weights are Adam's moments: all zeros": (
                lambda out: not any(w.any() for w in out.values())),
        }  # fmt: skip
        compare(student.read_checkpoint(as_tensorflow(weights), config), weights,
                of="a checkpoint of TensorFlow", mistakes=named)  # fmt: skip
        parted = {name.replace(".", "/"): w for name, w in weights.items()}
        compare(student.read_checkpoint(parted, config), weights,
                of="a file of torch whose names are parted by slashes",
                mistakes={"a slash in the name is taken for TensorFlow's order of the axes: "
                          "only a kernel is transposed": lambda out: True})  # fmt: skip
        compare(student.read_checkpoint(in_other_words(as_tensorflow(weights)), config), weights,
                of="a checkpoint of TensorFlow whose kernels are called output_weights, and these "
                "kernel", mistakes={"any layer may have kernel or output_weights, bias or "
                                    "output_bias: the last word alone tells what is turned": (
                                        lambda out: True)})  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(3)
def test_what_is_missing_or_unexpected_is_said(student):
    weights = weights_of()
    heads = [name for name in weights if name.startswith("cls.")]
    rng = checks.rng(8)
    tuned = {n: w for n, w in weights.items() if n not in heads}
    tuned = {"classifier.weight": rng.normal(size=(2, 4)).astype(np.float32), **tuned,
             "classifier.bias": np.zeros(2, np.float32)}  # fmt: skip
    none = ("position_ids", "adam_m", "adam_v", "global_step")
    skipped = {f"{before}{word}": np.ones(3) for word in none
               for before in ("", "last_", "head.n", "module.head.", "head.last_", "optimizer/",
                              "bert/last_")}  # fmt: skip
    compare(student.read_checkpoint(skipped | weights, SMALL), weights,
            of="a file with names like head.last_adam_m", mistakes={
                "`unexpected` has names that end in adam_m and the like: they are skipped, "
                "whatever stands before": lambda out: bool(out) and set(out) <= set(skipped),
            })  # fmt: skip
    others = [name for word in none for name in (f"{word}_scale.weight", f"head.{word.upper()}",
                                                 f"head.{word}.bias")]  # fmt: skip
    others += ["optimizer.exp_avg", "scheduler.last_epoch", "exp_avg_sq", "epoch"]
    given = weights | dict.fromkeys(others, np.ones(3))
    compare(student.read_checkpoint(given, SMALL), weights, unexpected=others,
            of="a file with names like adam_m_scale.weight", mistakes={
                "`unexpected` lacks names that hold adam_m and the like in the middle: only those "
                "that end so are skipped": lambda out: set(out) < set(others)})  # fmt: skip
    named = {"`missing` lacks the heads, or other parameters that are not there": (
                 lambda out: out == []),
             "what is missing was invented": lambda out: bool(set(heads) & set(out))}  # fmt: skip
    # Whatever model the config tells of, what is asked for stays the same.
    of_model = {name: SMALL | OTHER_FIELDS | {"architectures": [name]} for name in (
        "BertForSequenceClassification", "BertModel", "BertForMaskedLM")}  # fmt: skip
    classifier, model, words = of_model.values()
    compare(student.read_checkpoint(tuned, classifier), weights, missing=heads,
            unexpected=["classifier.weight", "classifier.bias"], of="a classifier",
            mistakes=named)  # fmt: skip

    bare = {f"module.{as_old(n).removeprefix('bert.')}": w for n, w in weights.items()
            if n.startswith("bert.") and "pooler" not in n}  # fmt: skip
    bare["module.head.gamma"] = np.ones(3, np.float32)
    away = [n for n in weights if n.startswith("cls.") or "pooler" in n]
    compare(student.read_checkpoint(bare, model), weights, missing=away,
            unexpected=["module.head.gamma"], of="a BertModel without pooler", mistakes={
        "`missing` has names without bert.: those of the course are asked for": lambda out: out == [
            n.removeprefix("bert.") for n in away],
        "`unexpected` has names as they stand in the checkpoint": lambda out: out == ["head.gamma"],
        **named})  # fmt: skip

    deeper = weights_of(SMALL | {"num_hidden_layers": 3})
    more = [name for name in deeper if ".layer.2." in name]
    compare(student.read_checkpoint(deeper, SMALL), {n: deeper[n] for n in weights},
            unexpected=more, of="a checkpoint of one layer more", mistakes={
        "layers beyond those of the config are taken for weights": (
            lambda out: any(n in out for n in more)),
        "`unexpected` lacks the layers that the config does not have": lambda out: out == [],
    })  # fmt: skip
    deeper = weights_of(SMALL | {"num_hidden_layers": 13})  # layers 1, 10, 11 and 12
    compare(student.read_checkpoint(deeper, SMALL), {n: deeper[n] for n in weights},
            unexpected=[name for name in deeper if name not in weights],
            of="a checkpoint of 11 layers more")  # fmt: skip
    for lost in (".self.", ".self.value.bias", ".layer.0.", ".layer.1.", "word_embeddings",
                 "attention.output.dense", "LayerNorm.bias", "LayerNorm", "pooler.dense.bias",
                 "dense.bias", "predictions.bias", "seq_relationship"):  # fmt: skip
        away = [name for name in weights if lost in name]
        given = {name: array for name, array in weights.items() if lost not in name}
        compare(student.read_checkpoint(given, words), weights, missing=away,
                of=f"a file without names that hold {lost}")  # fmt: skip
    bare = {name: array for name, array in fused(weights).items() if "Wqkv.bias" not in name}
    compare(student.read_checkpoint(bare, SMALL), weights, of="a file with Wqkv without biases",
            missing=[n for n in weights if ".self." in n and n.endswith("bias")])  # fmt: skip
    compare(student.read_checkpoint({}, SMALL), weights, missing=list(weights), of="nothing at all")
    # Some have one common name, or are beside the names of the course.
    others = ["head.LayerNorm.gamma", "module.head.LayerNorm.weight", "head.LayerNorm.weight",
              "head/LayerNorm/beta", "head/LayerNorm/bias", "head.my_embeddings.weight",
              "head/my_embeddings", "bert.embeddings.word_embeddings.bias",
              "bert.embeddings.position_embeddings.bias", "cls.predictions.weight",
              f"{FIRST}.output.dense.scale", f"{FIRST}.output.bias", "head.dense.weight",
              "head/dense/kernel", "head.LayerNorm.beta", "head/scale", "head.scale"]  # fmt: skip
    given = {name: np.ones((3, 2)) for name in others}
    compare(student.read_checkpoint(given | weights, SMALL), weights, unexpected=others,
            of="a file in which several unexpected names have one common name", mistakes={
                "`unexpected` lacks one of two names that have one common name: each is told": (
                    lambda out: set(out) < set(others))})  # fmt: skip
    counters = [
        "embeddings.token_type_ids",
        "head.input_ids",
        "head.num_batches_tracked",
        "head.running_mean",
        "rotary.inv_freq",
        "beta1_power",
        "head.masked_bias",
        "head.step",
        "head.scale ",
        *(word + end for word in none for end in ("_1", ":0")),
    ]
    given = dict.fromkeys(counters, np.ones(3)) | weights
    compare(student.read_checkpoint(given, SMALL), weights, unexpected=counters,
            of="a file with names like token_type_ids and adam_m_1", mistakes={
                "`unexpected` lacks names that do not end as the table says: only what ends in "
                "position_ids, adam_m, adam_v or global_step is skipped": (
                    lambda out: set(out) < set(counters))})  # fmt: skip


def test_arrays_of_another_shape_are_neither_taken_nor_missing(student):
    weights = weights_of()
    wide = f"{FIRST}.intermediate.dense.weight"
    other = {WORDS: (9, 4), BIAS: (9,), wide: (4, 6), "bert.pooler.dense.bias": (0,),
             f"{FIRST}.output.dense.bias": (1, 4),
             f"{FIRST}.output.LayerNorm.weight": (4, 1), NSP: (2, 4, 1), SQUARE: (1, 4, 4),
             f"{FIRST}.attention.self.key.bias": ()}  # fmt: skip
    larger = weights | {name: np.ones(shape, np.float32) for name, shape in other.items()}
    wrong = [n for n in weights if larger[n].shape != weights[n].shape]
    compare(student.read_checkpoint(larger, SMALL), weights, wrong_shape=wrong,
            of="a checkpoint of another size", mistakes={
        "an array of another shape was turned until it fitted": (
            lambda out: wide in out and out[wide].shape == (6, 4)),
        "shapes are not looked at": lambda out: bool(set(wrong) & set(out)),
        "`missing` has names that were found: they have the wrong shape": (
            lambda out: out == wrong),
        "`wrong_shape` is empty": lambda out: out == []})  # fmt: skip
    more = {"logit_scale": np.float32(2.0) * np.ones(()), "head.tables": np.ones((0, 2, 3)),
            "head.ids": np.arange(3), "head.is_frozen": np.array([True]),
            "head.bytes": np.ones(2, np.uint8),
            "head/conv1d/kernel": np.ones((2, 3, 4)), "head/conv2d/kernel": np.ones((1, 2, 3, 4))
            }  # fmt: skip
    compare(student.read_checkpoint(weights | more, SMALL), weights, unexpected=list(more),
            of="a checkpoint with other arrays of any number of axes and any type", mistakes={
        "`unexpected` lacks arrays of whole numbers or truth values: their names tell what is "
        "skipped": lambda out: set(out) < set(more)})  # fmt: skip
    kernels = as_tensorflow(weights)
    name = next(name for name in kernels if name.endswith("/intermediate/dense/kernel"))
    kernels[name] = np.ascontiguousarray(kernels[name].T)  # (out, in) in TensorFlow's place
    compare(student.read_checkpoint(kernels, SMALL), weights, wrong_shape=[wide],
            of="a kernel whose shape would fit if it were not turned")  # fmt: skip
    one = SMALL | {"hidden_size": 1, "num_attention_heads": 1}
    weights = weights_of(one)
    other = {f"{FIRST}.output.dense.bias": (), "bert.pooler.dense.bias": (1, 1), NSP: (2,),
             "bert.pooler.dense.weight": (1,), SQUARE: (), f"{FIRST}.output.dense.weight": (6,)
             }  # fmt: skip
    given = weights | {name: weights[name].reshape(shape) for name, shape in other.items()}
    compare(student.read_checkpoint(given, one), weights, wrong_shape=[
        name for name in weights if name in other], of="a file with hidden size 1, in which some "
        "arrays have an axis of length 1 too few or too many")  # fmt: skip


def test_checkpoints_of_any_size(student):
    rng = checks.rng(11)
    tiny = SMALL | {"hidden_size": 2, "intermediate_size": 3, "num_attention_heads": 1}
    for field, value in (
        ("num_hidden_layers", 130),
        ("vocab_size", 40_001),
        ("hidden_size", 300),
        ("intermediate_size", 4_003),
        ("max_position_embeddings", 2_001),
        ("type_vocab_size", 301),
        ("num_hidden_layers", 1),
    ):
        config = tiny | {field: value}
        right = shapes_of(config)
        shapes = student.parameter_shapes(config)
        checks.same(shapes, right, of=f"the shapes with {field}={value}")
        checks.same(list(shapes), list(right), of=f"the order of the names with {field}={value}")
        checks.same(
            student.count_parameters(config),
            sum(map(math.prod, right.values())),
            of=f"the parameters with {field}={value}",
        )
    huge = tiny | {"vocab_size": 9_999_999, "hidden_size": 60_000, "num_hidden_layers": 99}
    checks.same(
        student.count_parameters(huge),
        sum(map(math.prod, shapes_of(huge).values())),
        of="the parameters with a vocabulary of 9,999,999 and hidden size 60,000",
    )
    deep = tiny | {"num_hidden_layers": 130}
    names = list(shapes_of(deep))

    def told():
        ways = (("module.", ""), ("_orig_mod.module.", ""), ("module._orig_mod.module.", ""))
        for name in rng.choice(names, 150):
            name = str(name)
            yield sweep.Case(name, (name,)), name
            prefix = ways[rng.integers(3)][0]
            yield sweep.Case(prefix + name, (prefix + as_old(name),)), name
            if name.startswith("bert."):
                yield sweep.Case(name, (prefix + as_old(name).removeprefix("bert."),)), name
        for name, (found, _) in zip(names, ((n, 0) for n in names), strict=True):
            if rng.random() < 0.1:
                old = next(
                    iter(
                        as_tensorflow({name: np.zeros((1, 1))} | {"global_step": 0}).items()
                        if False
                        else [
                            k
                            for k in as_tensorflow({found: np.zeros((1, 1))})
                            if k != "global_step"
                        ]
                    )
                )
                yield sweep.Case(old, (old,)), name
        for name in (
            "gamma",
            "my.module.weight",
            "modules.x",
            "x.embeddings.y",
            "LayerNorm.gamma.x",
            "pooler2.dense",
            "cls.predictions.decoder.bias.x",
            "bert.LayerNormgamma",
            "layer_3",
        ):
            yield sweep.Case(name, (name,)), name

    for case, right in told():
        checks.same(student.common_name(*case.args), right, of=f"the name of {case.args[0]}")
    for number, dtype in enumerate(("float16", "float32", "float64", "float32", "float64")):
        config = tiny | {"num_hidden_layers": (2, 12, 30, 3, 12)[number], "hidden_size": 2 + number}
        weights = weights_of(config, dtype=dtype, seed=number)
        lost = [
            str(n) for n in rng.choice(list(weights), 9, False) if ".self." not in n and n != WORDS
        ]
        missing, wrong = lost[::2], lost[1::2]
        given = {
            n: np.zeros((*w.shape, 2), dtype) if n in wrong else w
            for n, w in weights.items()
            if n not in missing
        }
        form = [lambda w: w, as_tensorflow, fused, as_tensorflow, fused][number]
        given = form({n: w for n, w in given.items() if number not in (1, 3) or n not in wrong})
        if number in (1, 3):
            missing, wrong = lost, []
        order = [str(n) for n in rng.permutation(list(given))]
        extra = {f"task.{i}.weight": np.zeros(2) for i in range(200)}
        given = {**{n: given[n] for n in order}, **extra}
        in_order = list(shapes_of(config))
        compare(
            student.read_checkpoint(given, config),
            weights,
            missing=sorted(missing, key=in_order.index),
            unexpected=list(extra),
            wrong_shape=sorted(wrong, key=in_order.index),
            of=f"a file of {len(given)} {dtype} arrays in any order",
        )


def test_names_of_all_kinds_may_stand_in_one_file(student):
    rng = checks.rng(12)
    for number in range(9):
        size = 3 + number
        config = DEEP | {"num_hidden_layers": size, "hidden_size": size, "vocab_size": 15 - size}
        weights = weights_of(config, seed=30 + number)
        under = ((WORDS,), (DECODER,), (WORDS, DECODER))[number % 3]
        given = in_any_names(weights, rng, words_under=under)
        drawn = (drawn_name(rng) for _ in range(20))  # several may have one common name
        others = {name: np.ones((2, 3)) for name, right in drawn if right not in weights}
        others["module.head.kernel_scale"] = np.ones(3)
        others["head.Wqkv_norm.weight"] = np.ones((2, 3))
        if number % 3 == 0:  # a decoder of its own, under any name
            others |= dict([in_any_name(DECODER, weights[WORDS] + 1, rng)])
        given |= others | {"optimizer/global_step": np.array(3)}
        given = {str(n): given[str(n)] for n in rng.permutation(list(given))}
        compare(
            student.read_checkpoint(given, config),
            weights,
            unexpected=[name for name in given if name in others],
            of=f"a file whose arrays have names of all kinds, hidden size {size}",
        )


def test_nothing_is_left_behind(student):
    weights = weights_of()
    checks.leaves_no_trace(student.parameter_shapes, SMALL)
    checks.leaves_no_trace(student.common_name, SQUARE)
    # Equal arrays, which are one object in some of the calls: of two layers, and of a head.
    alike = {n: weights[n.replace(".layer.1.", ".layer.0.")] for n in weights}
    alike = {"head.bias": weights["bert.pooler.dense.bias"], **as_saved(fused(alike))}
    checks.leaves_no_trace(student.read_checkpoint, alike, SMALL)
    checks.leaves_no_trace(student.read_checkpoint, as_tensorflow(weights), SMALL)
    alone = {name: array for name, array in as_saved(fused(weights)).items() if name != WORDS}
    for arrays in (weights, as_tensorflow(weights), alone):
        call = student.read_checkpoint.trace(arrays, SMALL)
        checks.nothing_kept("read_checkpoint", call, may_share=False)
    for changes in ({"vocab_size": 8}, {"intermediate_size": 5}, {"hidden_size": 6}):
        other = weights_of(SMALL | changes)
        compare(student.read_checkpoint(as_saved(other), SMALL | changes), other,
                of=f"a checkpoint with another config ({changes}) than the one before", mistakes={
                    "the shapes of an earlier config are remembered": lambda out: out != other}
                )  # fmt: skip
