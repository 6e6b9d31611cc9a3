"""The weights of a checkpoint: found in a folder or on the Hugging Face Hub, read, and written.

Weights are NumPy arrays under the common names. Only `safetensors` files are opened or downloaded:
a pickle (`pytorch_model.bin`) can run code when it is read.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from bert_run.config import BertConfig, Weights, parameter_shapes
from bert_run.errors import Diverged, UserError

WEIGHTS_FILE = "model.safetensors"
PART_FILES = "model-?????-of-?????.safetensors"
OF_ANOTHER = "the file and the config belong to different checkpoints"
NUMBER_TYPES = {"BF16", "F16", "F32", "F64", "I64", "I32", "U8", "BOOL"}
EMBEDDINGS, DECODER = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
# The parts that a checkpoint may have beside the encoder, and how their parameters' names begin.
PARTS = {
    "pooler": "bert.pooler.",
    "masked-language-model": "cls.predictions.",
    "next-sentence": "cls.seq_relationship.",
}


def save_weights(weights: Weights, path: Path) -> None:
    """Write one safetensors file; raises `Diverged` instead if a number is not finite."""
    if (name := first_broken(weights)) is not None:
        raise Diverged(f"{path.name} is not written: {name} holds numbers that are not finite")
    arrays = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    save_safetensors(save_file, arrays, path)


def save_safetensors(save_file: Callable, tensors: dict[str, Any], path: Path) -> None:
    """Write tensors with the `save_file` of their library, so that whoever may read the other files
    of the folder may read this one: safetensors makes it for its owner alone."""
    path.touch()
    mode = path.stat().st_mode
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:  # how the library reports a full disk
        if found := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(number := int(found[1]), os.strerror(number), str(path)) from None
        raise UserError(f"{path} could not be written ({error}): call again") from None
    path.chmod(mode)


def read_model(folder: Path, *, decoders: bool = False) -> tuple[BertConfig, Weights]:
    """The config and the weights of a BERT folder, checked against each other."""
    config = BertConfig.load(folder, decoders=decoders)
    return config, load_weights(folder, config)


def load_weights(folder: Path, config: BertConfig) -> Weights:
    """Read the weights of a BERT folder, as float32 under the common names.

    Opens what `transformers` writes for any BERT class, also the older forms: names without
    `bert.`, `gamma` and `beta` for the layer norms. Heads that the file lacks are absent from the
    result; see `missing_heads`. Raises `UserError` when an encoder parameter is absent, a shape
    differs from what `config` says, or the output matrix is not that of the word embeddings.
    """
    found: Weights = {}
    for path in weight_files(folder):
        found |= read_safetensors(path)
    named = {name: found[own] for own, name in common_names(found).items()}
    shapes = parameter_shapes(config)
    weights = {name: named[name] for name in shapes if name in named}

    encoder = ("bert.embeddings", "bert.encoder")
    if absent := [name for name in shapes if name.startswith(encoder) and name not in weights]:
        raise UserError(f"{folder} lacks {len(absent)} encoder parameters, the first being "
                        f"{absent[0]}: it is not a BERT checkpoint, or its config.json belongs "
                        "to another one")  # fmt: skip
    deeper = f"bert.encoder.layer.{config.num_hidden_layers}."
    if any(name.startswith(deeper) for name in named):
        raise UserError(f"{folder} holds more layers than the {config.num_hidden_layers} of its "
                        f"config.json: {OF_ANOTHER}")  # fmt: skip
    for name, array in weights.items():
        if array.shape != shapes[name]:
            raise UserError(f"{folder}: {name} has shape {array.shape}, config.json asks for "
                            f"{shapes[name]}: {OF_ANOTHER}")  # fmt: skip
        if not np.issubdtype(array.dtype, np.floating):
            raise UserError(f"{folder}: {name} holds whole numbers ({array.dtype}), as quantized "
                            "models do: take it in float32, float16 or bfloat16")  # fmt: skip
    if not np.array_equal(named.get(DECODER, weights[EMBEDDINGS]), weights[EMBEDDINGS]):
        raise UserError(f"{folder}: its masked-language-model head has an output matrix of its "
                        "own, where BERT's is that of the word embeddings: this model cannot be "
                        "opened")  # fmt: skip
    return weights


def first_broken(weights: Weights) -> str | None:
    """The name of the first array with a number that is infinite or NaN."""
    return next((name for name, array in weights.items() if not np.isfinite(array).all()), None)


def refuse_overflow(computed: np.ndarray, model: str | Path) -> None:
    """Raise `UserError` if a model has computed a number that is infinite or NaN."""
    if not np.isfinite(computed).all():
        raise UserError(f"{model} computes numbers that are not finite: its weights are too large, "
                        "as its run went wrong; take an earlier checkpoint")  # fmt: skip


def missing_heads(weights: Weights, config: BertConfig) -> list[str]:
    """The `PARTS` that a checkpoint of an encoder alone does not have."""
    absent = [name for name in parameter_shapes(config) if name not in weights]
    return [part for part, prefix in PARTS.items() if any(n.startswith(prefix) for n in absent)]


def left_out(folder: Path, config: BertConfig, parts: Collection[str]) -> str:
    """In words, what a checkpoint has beside the encoder and `parts`, such as a classifier."""
    shapes, own, found = parameter_shapes(config), [], set()
    for path in weight_files(folder):
        with safe_open(path, framework="np") as file:
            own += file.keys()
    for name in common_names(own).values():
        if part := next((p for p, prefix in PARTS.items() if name.startswith(prefix)), None):
            found.add(part)
        elif name not in shapes and not name.endswith("position_ids"):
            found.add(name if name.startswith(("bert.", "pooler.")) else name.split(".")[0])
    return in_words(sorted(found - {*parts}))


def in_words(parts: list[str]) -> str:
    """Names of parts for a message, of many the first four."""
    words = [part if part == "pooler" or part not in PARTS else f"{part} head" for part in parts]
    return ", ".join(words[:4]) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a checkpoint folder: one, or all parts of a large model."""
    if not folder.is_dir():
        raise UserError(f"there is no checkpoint folder {folder}: check the path")
    if (folder / WEIGHTS_FILE).exists():
        return [folder / WEIGHTS_FILE]
    files = sorted(folder.glob(PART_FILES))
    if not files:
        form = other_form(path.name for path in folder.iterdir())
        form = form or f"holds no {WEIGHTS_FILE}: it is not a checkpoint folder"
        raise UserError(f"{folder} {form}")
    if not files[0].stem.endswith(f"-of-{len(files):05}"):
        raise UserError(f"{folder} lacks parts of {WEIGHTS_FILE}: copy the checkpoint again")
    return files


def read_safetensors(path: Path) -> Weights:
    """All arrays of a file, floating ones as float32. A `UserError` if damaged or not finite."""
    if not os.access(path, os.R_OK):  # the library would say that there is no such file
        raise UserError(f"{path} cannot be read: check its permissions, or copy it again")
    try:
        with safe_open(path, framework="np") as file:
            types = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
        for name, type_ in types.items():
            if type_ not in NUMBER_TYPES:
                raise UserError(f"{path}: {name} has type {type_}: save it as float32")
        # NumPy has no bfloat16, torch has.
        with safe_open(path, framework="pt" if "BF16" in types.values() else "np") as file:
            weights = {name: as_float32(file.get_tensor(name)) for name in types}
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}): copy the checkpoint again") from None
    if (name := first_broken(weights)) is not None:
        raise UserError(f"{path}: {name} holds numbers that are not finite (NaN or infinity): "
                        "the run that wrote it went wrong; take an earlier checkpoint, or train "
                        "again")  # fmt: skip
    return weights


def as_float32(array: Any) -> np.ndarray:
    """An array or a tensor as an array; floating numbers as float32."""
    if not isinstance(array, np.ndarray):
        array = (array.float() if array.is_floating_point() else array).numpy()
    return array.astype(np.float32) if np.issubdtype(array.dtype, np.floating) else array


def common_names(names: Iterable[str]) -> dict[str, str]:
    """Today's name of each parameter of a checkpoint, which an older or a bare one names otherwise.
    It is bare if no name begins with `bert.`; else `pooler.` say is somebody's own layer."""
    is_bare = not any(name.startswith("bert.") for name in names)
    return {name: common_name(name, is_bare=is_bare) for name in names}


def common_name(name: str, *, is_bare: bool = True) -> str:
    """That of one parameter of a checkpoint that is, or is not, a bare encoder."""
    if name == "cls.predictions.decoder.bias":
        return "cls.predictions.bias"
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    return re.sub(r"^(embeddings|encoder|pooler)\.", r"bert.\1.", name) if is_bare else name


# The authors' models, which the Hub knows without an owner too.
RELEASED = (
    *(f"bert-{size}-{case}" for size in ("base", "large") for case in ("uncased", "cased")),
    *(f"bert-large-{case}-whole-word-masking" for case in ("uncased", "cased")),
    *(f"bert-base-{kind}" for kind in ("multilingual-uncased", "multilingual-cased", "chinese")),
)
WANTED = ("config.json", WEIGHTS_FILE, PART_FILES, "tokenizer.json", "tokenizer_config.json",
          "vocab.txt", "README.md", "LICENSE")  # fmt: skip
SECONDS_TO_ANSWER = 10  # for the first question to the Hub; then we say that it is out of reach


@dataclass(frozen=True)
class Located:
    """A checkpoint's folder on this machine, and the Hub model that it is a copy of, if any."""

    folder: Path
    hub_id: str | None = None
    commit: str | None = None

    def __str__(self) -> str:
        """Its name for others, to whom a path of this machine says nothing."""
        return f"{self.hub_id} at {self.commit}" if self.hub_id else self.folder.resolve().name


def locate(name: str | Path, *, revision: str | None = None) -> Located:
    """The folder that `name` means: a path that exists, else a model of the Hub, OWNER/NAME, of
    which `revision` is a branch, a tag or a commit. BERT's authors need no OWNER."""
    path = Path(name)
    if path.exists():
        if revision is not None:
            raise UserError(f"--revision {revision} is for models of the Hub: {path} is a path")
        if not path.is_dir():
            raise UserError(f"{path} is a file: give the folder that holds config.json")
        if form := other_form(entry.name for entry in path.iterdir()):
            raise UserError(f"{path} {form}")
        return Located(path)
    if Path(f"{path}.index").exists():
        raise UserError(f"{path} {other_form([f'{path.name}.index'])}")
    hub_id = path.as_posix()
    if not is_hub_id(hub_id):
        raise UserError(f"there is no checkpoint folder {path}: check the path (a model of the "
                        "Hub is written OWNER/NAME)")  # fmt: skip
    return fetch(hub_id, revision)


def is_hub_id(name: str) -> bool:
    """Whether a name has the form OWNER/NAME, or is that of a model of BERT's authors."""
    part = r"[A-Za-z0-9][A-Za-z0-9._-]*"
    return name in RELEASED or bool(re.fullmatch(f"{part}/{part}", name))


OTHER_FORMS = (
    ("bert_config.json", "*.ckpt*", "is a checkpoint of TensorFlow, which alone can read it: "
     "03_paper_reproduction/interchange.md says how transformers 4.57 turns it into safetensors"),
    ("pytorch_model*", "pytorch_model*", "holds its weights only as a pickle (pytorch_model.bin), "
     "which can run code when opened: save it again with transformers' save_pretrained, or take a "
     "--revision that has safetensors"),
    ("tf_model.h5", "flax_model.msgpack", "holds its weights only in the form of TensorFlow or "
     "Flax: save it again with save_pretrained of transformers 4.57, which still reads it"),
)  # fmt: skip


def other_form(names: Iterable[str]) -> str | None:
    """What the weights among these files are if not safetensors, and the way out, in words."""
    names = set(names)
    if any(fnmatch(name, "model*.safetensors") for name in names):
        return None
    for *patterns, words in OTHER_FORMS:
        if any(fnmatch(name, pattern) for name in names for pattern in patterns):
            return words
    return None


def fetch(hub_id: str, revision: str | None = None) -> Located:
    """Download a model, or find the copy of an earlier download when the Hub is out of reach."""
    import huggingface_hub as hub  # only those who ask the Hub pay for its import

    download = partial(hub.snapshot_download, hub_id, revision=revision, allow_patterns=[*WANTED])
    try:
        info = hub.HfApi().model_info(hub_id, revision=revision, timeout=SECONDS_TO_ANSWER)
    except Exception as error:  # the kind depends on the HTTP library underneath
        try:
            copy = Path(download(local_files_only=True))
        except Exception:  # nothing there, or only a part
            problem = hub_problem(error, "model", hub_id, revision)
            hint = " (`make demo` makes it)" * (hub_id == "runs/demo")
            raise UserError(f"there is no folder {hub_id} here{hint}, and {problem}") from None
        print(f"the Hub did not answer: {hub_id} as downloaded earlier", file=sys.stderr)
        return Located(copy, hub_id, copy.name)

    names = {file.rfilename for file in info.siblings or []}
    problem = other_form(names)
    for needed in ("config.json", "model*.safetensors"):
        if not any(fnmatch(name, needed) for name in names):
            missing = needed.replace("*", "")
            problem = problem or f"holds no {missing}: it is no model of transformers"
    if (model_type := (info.config or {}).get("model_type", "bert")) != "bert":
        problem = problem or f"holds a {model_type!r} model: only BERT can be opened"
    if problem:
        raise UserError(f"{hub_id} on the Hub {problem}")
    try:
        folder = Path(download())
    except Exception as error:
        raise UserError(f"{hub_id} could not be downloaded ({first_line(error)}): call again, "
                        "and what has arrived is not fetched twice") from None  # fmt: skip
    return Located(folder, hub_id, folder.name)


# What is put on the Hub of a fine-tuned folder. Texts of the user's own data are not.
PUBLISHED = ("config.json", WEIGHTS_FILE, "tokenizer.json", "tokenizer_config.json", "vocab.txt",
             "README.md", "curve.png", "confusion.png")  # fmt: skip


def check_push(repo: str) -> None:
    """Raise `UserError` unless the user is logged in to the Hub and it answers."""
    import huggingface_hub

    try:
        huggingface_hub.HfApi().whoami()
    except Exception as error:
        raise UserError(f"--push {repo}: {hub_problem(error, 'model', repo)}") from None


def push_folder(folder: Path, repo: str) -> str:
    """Put a model's folder on the Hub, privately if it is new there; returns its address."""
    import huggingface_hub

    api = huggingface_hub.HfApi()
    try:
        address = api.create_repo(repo, private=True, exist_ok=True)
        api.upload_folder(folder_path=folder, repo_id=repo, allow_patterns=[*PUBLISHED])
    except Exception as error:
        problem = hub_problem(error, "model", repo)
        raise UserError(f"--push {repo}: {problem} ({folder} is complete)") from None
    return str(address)


def hub_problem(error: Exception, kind: str, name: str, revision: str | None = None) -> str:
    """Why the Hub did not do what it was asked of a model or a dataset, and the way out."""
    from huggingface_hub import errors

    match error:
        case errors.GatedRepoError():
            return (f"the {kind} {name} of the Hub asks for consent to its terms: give it on its "
                    "page, then log in with `hf auth login`")  # fmt: skip
        case errors.RevisionNotFoundError():
            return f"the {kind} {name} of the Hub has no revision {revision}: check --revision"
        case errors.RepositoryNotFoundError() | errors.HFValidationError():
            return f"no {kind} of that name on the Hub, or a private one: check the spelling"
        case errors.LocalTokenNotFoundError():
            return "you are not logged in to the Hub: call `hf auth login` first"
        case errors.OfflineModeIsEnabled():
            return "the Hub is not asked, as HF_HUB_OFFLINE is set: unset it, or give a local path"
        case errors.HfHubHTTPError():
            return f"the Hub refuses ({first_line(error)}): check the name and your token"
    return f"the Hub cannot be reached ({first_line(error)}): give a local path, or try later"


def first_line(error: Exception) -> str:
    """What an error says, in one line of bearable length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:160] + "…"
