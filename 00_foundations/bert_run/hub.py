"""Where a checkpoint is: in a folder here, or on the Hugging Face Hub, from which it is fetched.

Of a Hub model only the files of a BERT folder are fetched: weights as safetensors, never a pickle,
and no code.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from bert_run.errors import UserError
from bert_run.weights import INDEX_FILE, WEIGHTS_FILE

# The authors' models, which the Hub knows without an owner too.
RELEASED = (
    *(f"bert-{size}-{case}" for size in ("base", "large") for case in ("uncased", "cased")),
    *(f"bert-large-{case}-whole-word-masking" for case in ("uncased", "cased")),
    *(f"bert-base-{kind}" for kind in ("multilingual-uncased", "multilingual-cased", "chinese")),
)
WANTED = ("config.json", WEIGHTS_FILE, INDEX_FILE, "model-*-of-*.safetensors", "tokenizer.json",
          "tokenizer_config.json", "vocab.txt", "README.md", "LICENSE")  # fmt: skip
SECONDS_TO_ANSWER = 10  # for the first question to the Hub; then we say that it is out of reach
MOST_BYTES = 8 * 10**9  # three times a BERT-large in float64


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
    """The folder that `name` means: a path that exists, else a model of the Hub.

    A Hub model is written OWNER/NAME; the authors' own go without an owner (`bert-base-uncased`).
    `revision` is a branch, a tag or a commit of it. Raises `UserError` in one line.
    """
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
        raise UserError(
            f"there is no checkpoint folder {path}: check the path (a model of the Hub is written "
            "OWNER/NAME)"
        )
    return fetch(hub_id, revision)


def is_hub_id(name: str) -> bool:
    """Whether a name has the form OWNER/NAME, or is that of a model of BERT's authors."""
    part = r"[A-Za-z0-9][A-Za-z0-9._-]*"
    return name in RELEASED or bool(re.fullmatch(f"{part}/{part}", name))


def other_form(names: Iterable[str]) -> str | None:
    """What the weights among these files are if not safetensors, and the way out, in words."""
    names = set(names)
    if {WEIGHTS_FILE, INDEX_FILE} & names:
        return None
    if "bert_config.json" in names or any(".ckpt" in name for name in names):
        return (
            "is a checkpoint of TensorFlow, which alone can read it: 03_paper_reproduction/"
            "interchange.md says how transformers 4.57 turns it into safetensors"
        )
    if any(name.startswith("pytorch_model") for name in names):
        return (
            "holds its weights only as a pickle (pytorch_model.bin), which can run code when "
            "opened: save it again with transformers' save_pretrained, or take a --revision that "
            "has safetensors"
        )
    for name, kind in (("tf_model.h5", "TensorFlow"), ("flax_model.msgpack", "Flax")):
        if name in names:
            return (
                f"holds its weights only in the form of {kind} ({name}): save it again with "
                "save_pretrained of transformers 4.57, which still reads it"
            )
    return None


def fetch(hub_id: str, revision: str | None = None) -> Located:
    """Download a model, or find the copy of an earlier download when the Hub is out of reach."""
    import huggingface_hub  # only those who ask the Hub pay for its import

    try:
        info = huggingface_hub.HfApi().model_info(
            hub_id, revision=revision, files_metadata=True, timeout=SECONDS_TO_ANSWER
        )
    except Exception as error:  # the kind depends on the HTTP library underneath
        if (copy := earlier_copy(hub_id, revision)) is None:
            raise UserError(why_not_found(error, hub_id, revision)) from None
        print(f"the Hub did not answer: {hub_id} as downloaded earlier", file=sys.stderr)
        return Located(copy, hub_id, copy.name)

    files = {file.rfilename: file.size or 0 for file in info.siblings or []}
    if problem := unfit(files, (info.config or {}).get("model_type", "bert")):
        raise UserError(f"{hub_id} on the Hub {problem}")
    try:
        folder = Path(
            huggingface_hub.snapshot_download(hub_id, revision=revision, allow_patterns=[*WANTED])
        )
    except Exception as error:
        raise UserError(
            f"{hub_id} could not be downloaded ({first_line(error)}): call again, and what has "
            "arrived is not fetched twice"
        ) from None
    return Located(folder, hub_id, folder.name)


# What is put on the Hub of a fine-tuned folder. Texts of the user's own data are not.
PUBLISHED = ("config.json", WEIGHTS_FILE, "tokenizer.json", "tokenizer_config.json", "vocab.txt",
             "README.md", "curve.png", "confusion.png", "numbers.png")  # fmt: skip


def check_push(repo: str) -> None:
    """Raise `UserError` unless the user is logged in to the Hub and it answers."""
    import huggingface_hub

    try:
        huggingface_hub.HfApi().whoami()
    except Exception as error:
        raise UserError(why_not_pushed(error, repo)) from None


def push_folder(folder: Path, repo: str) -> str:
    """Put a model's folder on the Hub, in a repository that is private if it is new; returns its
    address."""
    import huggingface_hub

    api = huggingface_hub.HfApi()
    try:
        address = api.create_repo(repo, private=True, exist_ok=True)
        api.upload_folder(folder_path=folder, repo_id=repo, allow_patterns=[*PUBLISHED])
    except Exception as error:
        raise UserError(f"{why_not_pushed(error, repo)} ({folder} is complete)") from None
    return str(address)


def why_not_pushed(error: Exception, repo: str) -> str:
    from huggingface_hub import errors

    start = f"--push {repo}: "
    if isinstance(error, errors.LocalTokenNotFoundError):
        return start + "you are not logged in to the Hub: call `hf auth login` first"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return start + "the Hub is not asked, as HF_HUB_OFFLINE is set: unset it"
    if isinstance(error, errors.HfHubHTTPError):
        return start + f"the Hub refuses ({first_line(error)}): check the name and your token"
    return start + f"the Hub cannot be reached ({first_line(error)}): try later"


def unfit(files: dict[str, int], model_type: str) -> str | None:
    """Why a model of these files and sizes is not worth fetching, in words, or None."""
    if form := other_form(files):
        return form
    for needed in ({"config.json"}, {WEIGHTS_FILE, INDEX_FILE}):
        if not needed & files.keys():
            return f"holds no {' or '.join(sorted(needed))}: it is no model of transformers"
    if model_type != "bert":
        return f"holds a {model_type!r} model: only BERT can be opened"
    size = sum(files[name] for name in files if any(fnmatch(name, wanted) for wanted in WANTED))
    if size > MOST_BYTES:
        return f"holds {size / 1e9:.0f} GB: no BERT is as large"
    return None


def earlier_copy(hub_id: str, revision: str | None) -> Path | None:
    """The folder of a whole earlier download, or None."""
    import huggingface_hub

    try:
        return Path(
            huggingface_hub.snapshot_download(
                hub_id, revision=revision, allow_patterns=[*WANTED], local_files_only=True
            )
        )
    except Exception:  # nothing there, or only a part
        return None


def why_not_found(error: Exception, hub_id: str, revision: str | None) -> str:
    """One line for a name that is no path here and was not found on the Hub."""
    from huggingface_hub import errors

    start = f"there is no folder {hub_id} here, and "
    if isinstance(error, errors.GatedRepoError):
        return (
            f"the model {hub_id} of the Hub asks for consent to its terms: give it on the model's "
            "page, then log in with `hf auth login`"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"the model {hub_id} of the Hub has no revision {revision}: check --revision"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return start + "the Hub is not asked, as HF_HUB_OFFLINE is set: check the path, or unset it"
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return start + "no model of that name on the Hub, or a private one: check the path"
    return start + f"the Hub cannot be reached ({first_line(error)}): check the path, or try later"


def first_line(error: Exception) -> str:
    """What an error says, in one line of bearable length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:160] + "…"
