"""Any BERT checkpoint, in whatever names and layout, read into the names of the course.

A checkpoint is a dict of arrays. The course's names are those of today's
`transformers.BertForPreTraining`; the matrix that names words is the word embeddings, and has no
name of its own.
"""

import math
import re

import numpy as np
from numpy import ndarray

Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, ndarray]


def parameter_shapes(config: dict) -> Shapes:
    """Name and shape of every parameter, from the input upwards, the heads last.

    `config` holds the fields of a `config.json`: V = vocab_size, H = hidden_size,
    L = num_hidden_layers, I = intermediate_size, P = max_position_embeddings,
    S = type_vocab_size, and others that do not matter here.
    """
    # begin solution
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    shapes: Shapes = {}

    def linear(name: str, out_size: int, in_size: int) -> None:
        shapes[f"{name}.weight"] = (out_size, in_size)  # (out, in): F.linear multiplies by wᵀ
        shapes[f"{name}.bias"] = (out_size,)

    def norm(name: str) -> None:
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (hidden,)

    tables = {"word": "vocab_size", "position": "max_position_embeddings",
              "token_type": "type_vocab_size"}  # fmt: skip
    for table, size in tables.items():
        shapes[f"bert.embeddings.{table}_embeddings.weight"] = (config[size], hidden)
    norm("bert.embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{number}"
        for role in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{role}", hidden, hidden)
        linear(f"{layer}.attention.output.dense", hidden, hidden)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", wide, hidden)
        linear(f"{layer}.output.dense", hidden, wide)
        norm(f"{layer}.output.LayerNorm")
    linear("bert.pooler.dense", hidden, hidden)
    shapes["cls.predictions.bias"] = (config["vocab_size"],)
    linear("cls.predictions.transform.dense", hidden, hidden)
    norm("cls.predictions.transform.LayerNorm")
    linear("cls.seq_relationship", 2, hidden)
    return shapes
    # end solution


def common_name(name: str) -> str:
    """The course's name for a parameter, whoever named it; see the table in the README.

    A name to which no line of the table applies stays as it is.
    """
    # begin solution
    # The lines of the table, one after another. ^ and $ look at the beginning and the end alone:
    # name.replace("beta", "bias") would change words in the middle, and name.lstrip("module.")
    # takes any of these letters away: of "module.embeddings" it leaves "beddings".
    for pattern, course in {
        r"/layer_(\d+)(?=/)": r"/layer.\1",  # TensorFlow's path
        "/": ".",
        r"^((module|_orig_mod)\.)+": "",  # wrappers
        r"^(embeddings|encoder|pooler)\.": r"bert.\1.",  # a BertModel, saved by itself
        r"\.LayerNorm\.gamma$": ".LayerNorm.weight",
        r"\.LayerNorm\.beta$": ".LayerNorm.bias",
        r"\.(kernel|output_weights)$": ".weight",
        r"\.output_bias$": ".bias",
        r"_embeddings$": "_embeddings.weight",
        r"^cls\.predictions\.decoder\.bias$": "cls.predictions.bias",
    }.items():
        name = re.sub(pattern, course, name)
    return name
    # end solution


def read_checkpoint(
    arrays: Weights, config: dict
) -> tuple[Weights, list[str], list[str], list[str]]:
    """The weights under the course's names; and what is wrong: missing, unexpected, wrong_shape.

    `missing` are names that `config` asks for and nothing gives, in the order of
    `parameter_shapes`; `unexpected` are names of the checkpoint, as they stand there and in its
    order, that belong to nothing; `wrong_shape` are names of the course whose array has another
    shape than the config asks for, in the order of `parameter_shapes`. They are neither among the
    weights nor missing.
    """
    # begin solution
    shapes = parameter_shapes(config)
    words, decoder = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
    found: Weights = {}
    origin: dict[str, str] = {}  # which name of the checkpoint a name of ours comes from
    for name, array in arrays.items():
        if re.search("(position_ids|adam_m|adam_v|global_step)$", name):
            continue  # counters and an optimizer's moments: no weights
        ours = common_name(name)
        if name.endswith("/kernel"):
            array = array.T  # (in, out) there. Most are square: no shape would tell
        if ".Wqkv." in ours and ours.replace("Wqkv", "query") in shapes:  # not head.Wqkv.weight
            # Rows: all of the query's, then the key's, then the value's.
            parts = np.split(array, 3)
            roles = enumerate(("query", "key", "value"))
            split = {ours.replace("Wqkv", role): parts[i] for i, role in roles}
        else:
            # An unexpected array stays under its own name: head.LayerNorm.gamma and
            # head.LayerNorm.weight have one common name, and both are to be listed.
            split = {ours if ours in shapes or ours == decoder else name: array}
        found |= split
        origin |= dict.fromkeys(split, name)
    # Tied arrays are written once or twice, under either name. Twice the same is no more than once;
    # two different ones are a decoder of its own, which the course has no place for.
    if decoder in found and np.array_equal(found.get(words, found[decoder]), found[decoder]):
        found.setdefault(words, found[decoder])
        del found[decoder]
    missing = [n for n in shapes if n not in found]
    unexpected = [origin[name] for name in found if name not in shapes]
    wrong_shape = [n for n, shape in shapes.items() if n in found and found[n].shape != shape]
    # Copies: who trains these weights must not change the checkpoint.
    weights = {n: found[n].copy() for n in shapes if n in found and n not in wrong_shape}
    return weights, missing, unexpected, wrong_shape
    # end solution


def count_parameters(config: dict) -> int:
    """How many numbers BERT has, both heads included."""
    # begin solution
    # The tied matrix is counted once, because it stands once among the shapes.
    return sum(math.prod(shape) for shape in parameter_shapes(config).values())
    # end solution


# begin solution
# Wrong answers that are common:
# - load_state_dict(..., strict=False), which is silent about all that it did not find: a model of
#   random numbers, fine-tuned with care;
# - square kernels that are not turned, since no shape complains;
# - name.replace("gamma", "weight") in the whole name, or lstrip for a prefix;
# - a decoder that is loaded without looking whether it is the word embeddings.
# end solution
