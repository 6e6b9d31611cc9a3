"""Weights in and out of a folder, as NumPy arrays under the common names.

Only `safetensors` files are opened: a pickle (`pytorch_model.bin`) can run code when it is read.
"""

import json
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from bert_run.config import BertConfig
from bert_run.errors import Diverged, UserError
from bert_run.parameters import HEAD_NAMES, Weights, parameter_shapes

WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
NUMPY_TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64, "I64": np.int64,
               "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}  # fmt: skip


def save_weights(weights: Weights, path: Path) -> None:
    """Write the arrays as one safetensors file that `transformers` opens too.

    Raises `Diverged` instead if a number of theirs is not finite.
    """
    if (name := first_broken(weights)) is not None:
        raise Diverged(f"{path.name} is not written: {name} holds numbers that are not finite")
    arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    try:
        save_file(arrays, path, metadata={"format": "pt"})
    except SafetensorError as error:  # how the library reports a full disk
        raise UserError(
            f"{path.name} could not be written ({error}): free some space, then call again"
        ) from None


def load_weights(folder: Path, config: BertConfig) -> Weights:
    """Read the weights of a BERT folder, as float32 under the common names.

    Opens what `transformers` writes for any BERT class, also the older forms: names without
    `bert.`, `gamma` and `beta` for the layer norms, a `position_ids` buffer, several files with an
    index. Parameters of heads that the file lacks are absent from the result; see
    `missing_heads`. Raises `UserError` when an encoder parameter is absent or a shape differs
    from what `config` says.
    """
    folder = Path(folder)
    stored: Weights = {}
    for path in weight_files(folder):
        stored.update(read_safetensors(path))
    named = {common_name(name): array for name, array in stored.items()}
    shapes = parameter_shapes(config)
    weights = {name: named[name] for name in shapes if name in named}

    required = [name for name in shapes if name.startswith(("bert.embeddings", "bert.encoder"))]
    absent = [name for name in required if name not in weights]
    if absent:
        raise UserError(
            f"{folder} lacks {len(absent)} encoder parameters, the first being {absent[0]}: "
            "it is not a BERT checkpoint, or its config.json belongs to another one"
        )
    deeper = f"bert.encoder.layer.{config.num_hidden_layers}."
    if any(name.startswith(deeper) for name in named):
        raise UserError(
            f"{folder} holds more layers than the {config.num_hidden_layers} of its config.json: "
            "the file and the config belong to different checkpoints"
        )
    for name, array in weights.items():
        if array.shape != shapes[name]:
            raise UserError(
                f"{folder}: {name} has shape {array.shape}, config.json asks for {shapes[name]}: "
                "the file and the config belong to different checkpoints"
            )
    return weights


def first_broken(weights: Weights) -> str | None:
    """The name of the first array with a number that is infinite or NaN, if there is one."""
    return next((name for name, array in weights.items() if not np.isfinite(array).all()), None)


def missing_heads(weights: Weights, config: BertConfig) -> list[str]:
    """Names, in words, of the parts that a checkpoint of an encoder alone does not have."""
    absent = [name for name in parameter_shapes(config) if name not in weights]
    parts = {"bert.pooler.": "pooler", **HEAD_NAMES}
    return [words for prefix, words in parts.items() if any(n.startswith(prefix) for n in absent)]


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a checkpoint folder: one, or those that the index names."""
    if not folder.is_dir():
        raise UserError(f"there is no checkpoint folder {folder}: check the path")
    if (folder / WEIGHTS_FILE).exists():
        return [folder / WEIGHTS_FILE]
    if (folder / INDEX_FILE).exists():
        try:
            index = json.loads((folder / INDEX_FILE).read_text("utf-8"))
            names = {Path(name).name for name in index["weight_map"].values()}
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise UserError(
                f"{folder / INDEX_FILE} is damaged ({error}): copy the checkpoint again"
            ) from None
        files = [folder / name for name in sorted(names)]  # bare names: never outside the folder
        absent = [path.name for path in files if not path.exists()]
        if absent:
            raise UserError(f"{folder} lacks {absent[0]}, which its index names: copy it again")
        return files
    if (folder / "pytorch_model.bin").exists():
        raise UserError(
            f"{folder} holds only pytorch_model.bin, a pickle, which can run code when opened: "
            "save the model again with transformers' save_pretrained, which writes safetensors"
        )
    raise UserError(f"{folder} holds no {WEIGHTS_FILE}: it is not a checkpoint folder")


def read_safetensors(path: Path) -> Weights:
    """All arrays of one file, floating ones as float32.

    Raises `UserError` if the file is damaged, or holds a number that is not finite.
    """
    weights = read_any_numbers(path)
    if (name := first_broken(weights)) is not None:
        raise UserError(
            f"{path}: {name} holds numbers that are not finite (NaN or infinity): the run that "
            "wrote it went wrong; take an earlier checkpoint, or train again"
        )
    return weights


def read_any_numbers(path: Path) -> Weights:
    try:
        with safe_open(path, framework="np") as file:
            names = list(file.keys())
            if all(file.get_slice(name).get_dtype() in NUMPY_TYPES for name in names):
                return {name: as_float32(file.get_tensor(name)) for name in names}
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}): copy the checkpoint again") from None
    return read_bfloat16_safetensors(path)  # a type that NumPy itself does not have


def read_bfloat16_safetensors(path: Path) -> Weights:
    """A file that holds bfloat16: those numbers are the upper half of a float32."""
    content = path.read_bytes()
    header_length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + header_length])
    types = {**NUMPY_TYPES, "BF16": np.uint16}
    weights: Weights = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in types:
            raise UserError(f"{path}: {name} has type {entry['dtype']}: save it as float32")
        begin, end = (8 + header_length + offset for offset in entry["data_offsets"])
        array = np.frombuffer(content[begin:end], types[entry["dtype"]])
        if entry["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        weights[name] = as_float32(array.reshape(entry["shape"]))
    return weights


def as_float32(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if np.issubdtype(array.dtype, np.floating) else array


def common_name(name: str) -> str:
    """Today's name of a parameter that an older or a bare checkpoint names otherwise."""
    if name.endswith("LayerNorm.gamma"):
        name = name.removesuffix("gamma") + "weight"
    elif name.endswith("LayerNorm.beta"):
        name = name.removesuffix("beta") + "bias"
    if name.startswith(("embeddings.", "encoder.", "pooler.")):
        name = f"bert.{name}"
    if name == "cls.predictions.decoder.bias":
        name = "cls.predictions.bias"
    return name
