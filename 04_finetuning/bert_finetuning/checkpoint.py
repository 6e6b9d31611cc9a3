"""A fine-tuned model as a folder: begun from a checkpoint or from scratch, saved, loaded.

`transformers` opens the folder in the class of the same name, and one that it saved opens here.
What the task was stands in `config.json` under a name of its own, which `transformers` passes over;
without it, the architecture and the labels tell the type of task.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import safe_open
from tokenizers import Tokenizer

from bert_corpus.wordpiece import load_tokenizer, read_tokenizer, save_tokenizer, train_wordpiece
from bert_finetuning.data.rows import Columns, say
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks import HEADS, TASKS, base
from bert_finetuning.tasks.base import BertWithHead, Example, HeadConfig, Task
from bert_paper.model import load_arrays, to_arrays
from bert_run.config import PRESETS, BertConfig, Weights, initial_weights
from bert_run.errors import UserError
from bert_run.files import for_others, wrong_field
from bert_run.weights import WEIGHTS_FILE, left_out, locate, read_model, save_weights, weight_files

FIELD = "bert_finetuning"  # of config.json
VOCABULARY = 8192  # at most, where one is trained on the task's own text


# --- The model before its first step -------------------------------------------------------------


class InitialModel(NamedTuple):
    """A model to be fine-tuned, its tokenizer, and in one line what of it has been learned."""

    model: BertWithHead
    tokenizer: Tokenizer
    note: str


def init_from(checkpoint: str | Path, model_type: type[BertWithHead], head: HeadConfig, *,
              seed: int, **changes: Any) -> InitialModel:  # fmt: skip
    """A new head on the encoder of a checkpoint: a run, any BERT folder, a model of the Hub. The
    head that it has is never taken over; `changes` are to the config: dropout. Raises `UserError`
    if this is no BERT folder, is damaged, or reads in a way that the head cannot use."""
    folder = locate(checkpoint).folder
    config, learned = read_model(folder, decoders=True)
    tokenizer = read_tokenizer(folder, config)
    if head.classifier_dropout is None:  # then the checkpoint's own counts, if it has one
        content = json.loads((folder / "config.json").read_text("utf-8"))
        try:
            head = replace(head, classifier_dropout=content.get("classifier_dropout"))
        except UserError as error:
            raise UserError(f"{folder}: config.json: {error}") from None
    model = model_type(config.with_changes(**changes), head)
    has_pooler = model.bert.pooler is not None
    if config.is_decoder and has_pooler:
        raise UserError(f"{folder} reads from the left alone, so its [CLS] sees no word of the "
                        "text: classify with the mean of all tokens (pooling mean), or take "
                        "another checkpoint")  # fmt: skip
    new = fill(model, learned, seed)
    left = left_out(folder, config, ["pooler"] if has_pooler else [])
    unused = f"; left unused: {left}" if left else ""
    unused += f"; {side}" if (side := side_note(folder)) else ""
    note = f"from {for_others(checkpoint)}{unused}; new, to be learned: {new}"
    return InitialModel(model, tokenizer, note)


def init_from_scratch(config: BertConfig, tokenizer: Tokenizer, model_type: type[BertWithHead], *,
                      head: HeadConfig, seed: int) -> InitialModel:  # fmt: skip
    """The same model with nothing learned, by which the worth of pretraining is measured. The
    vocabulary is the tokenizer's; all other sizes are those of `config`."""
    pad_id = tokenizer.token_to_id("[PAD]")
    config = config.with_changes(vocab_size=tokenizer.get_vocab_size(), pad_token_id=pad_id)
    model = model_type(config, head)
    fill(model, initial_weights(config, seed), seed)
    count = sum(parameter.numel() for parameter in model.parameters())
    note = f"from scratch: all {count:,} parameters are to be learned"
    return InitialModel(model, tokenizer, note)


def fill(model: BertWithHead, learned: Weights, seed: int) -> str:
    """Give each parameter its learned values, or new ones; returns the parts that are new."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    new = {name: shape for name, shape in shapes.items() if name not in learned}
    load_arrays(model, learned | initial_weights(model.config, seed, new))
    return ", ".join(dict.fromkeys(name.removeprefix("bert.").split(".")[0] for name in new))


class ModelInit:
    """The same start for every seed; what is new in the model differs from seed to seed."""

    def __init__(self, settings: FinetuneSettings, task: Task, examples: Sequence[Example]) -> None:
        """A model that starts from scratch may need `examples` to train its tokenizer on."""
        self.settings, self.task = settings, task
        asked = {"hidden_dropout_prob": settings.hidden_dropout,
                 "attention_probs_dropout_prob": settings.attention_dropout}  # fmt: skip
        self.dropout = {name: share for name, share in asked.items() if share is not None}
        if not settings.from_scratch:
            return
        preset = PRESETS.get(settings.model)
        self.config = preset or BertConfig.load(Path(settings.model))
        if given := settings.tokenizer or (None if preset else settings.model):
            self.tokenizer = load_tokenizer(given)
        else:
            texts = [text for example in examples for text in example.texts if text]
            self.tokenizer = train_wordpiece(texts, VOCABULARY, progress=False)

    def build(self, seed: int) -> InitialModel:
        """The model before its first step, with the dropout that is asked for."""
        model, head = self.task.model, self.task.head
        if not self.settings.from_scratch:
            return init_from(self.settings.checkpoint, model, head, seed=seed, **self.dropout)
        config = self.config.with_changes(**self.dropout)
        return init_from_scratch(config, self.tokenizer, model, head=head, seed=seed)


# --- Saving --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SavedTask:
    """What a folder says of its task. `options` are the fields of the task's type, by name."""

    format: str
    task: str = ""
    max_length: int | None = None
    pairs: bool | None = None  # None: not known
    metrics: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    columns: Columns | None = None  # of the training set, by name; None: not known

    @classmethod
    def of(cls, task: Task, name: str, *, columns: Columns | None = None,
           **known: Any) -> "SavedTask":  # fmt: skip
        options = {name: value for name, value in vars(task).items()
                   if name not in ("head", "metrics")}  # fmt: skip
        named = columns if columns and not columns.numbered else None  # a number is no name
        return cls(task.format, name, metrics=task.metrics, options=options, columns=named, **known)

    @classmethod
    def checked(cls, content: Any, folder: Path) -> "SavedTask":
        """What config.json has kept. Raises `UserError` if it is damaged."""
        types = {"task": str, "format": str, "max_length": int, "pairs": bool, "metrics": list,
                 "options": dict}  # fmt: skip
        is_wrong = wrong_field({FIELD: content}, {FIELD: dict}, {})
        problem = is_wrong or wrong_field(content, types, {"columns": dict})
        columns = None if problem else content.get("columns")  # older folders lack them
        if columns is not None:
            problem = wrong_field(columns, {"text": str}, {"pair": str, "label": str})
            columns = Columns(*map(columns.get, ("text", "pair", "label")))
        if not problem and content["format"] not in TASKS:
            problem = f"'format' is {content['format']!r}, none of {', '.join(TASKS)}"
        if problem:
            raise UserError(f"{folder}: config.json is damaged: in {FIELD}, {problem}: remove "
                            f"{FIELD} from it, and the usual values count")  # fmt: skip
        return cls(**{name: content[name] for name in types}
                   | {"metrics": tuple(content["metrics"]), "columns": columns})  # fmt: skip


def save_finetuned(model: BertWithHead, tokenizer: Tokenizer, folder: Path,
                   task: SavedTask | None = None) -> None:  # fmt: skip
    """Put the model's files into a folder, a checkpoint's for example, with what its task was."""
    content = model.head.fields()
    content |= {"architectures": [type(model).__name__], "dtype": "float32"}
    if model.has_pooling:
        content["problem_type"] = model.head.problem_type
    if task is not None:
        content[FIELD] = asdict(task)
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save(folder, **content)
    save_weights(to_arrays(model), folder / WEIGHTS_FILE)
    save_tokenizer(tokenizer, folder, model_max_length=model.config.max_position_embeddings)


# --- Loading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FineTuned:
    """A model in evaluation mode and its tokenizer; the labels are in `model.head`."""

    folder: Path
    model: BertWithHead
    tokenizer: Tokenizer
    task_field: Any = None  # what config.json says of the task, unchecked


def load_finetuned(checkpoint: str | Path, *, device: torch.device | str = "cpu") -> FineTuned:
    """Load a fine-tuned folder or a fine-tuned model of the Hub, ours or one of `transformers`.
    Raises `UserError` if it is none, is damaged, or if its labels do not fit its head."""
    folder = locate(checkpoint).folder
    config, learned = read_model(folder, decoders=True)
    learned |= read_head(folder)
    content = json.loads((folder / "config.json").read_text("utf-8"))
    model_type = model_type_of(folder, content)
    model = model_type(config, head_of(folder, content, model_type, learned))
    for name, parameter in model.named_parameters():
        shape = learned[name].shape if name in learned else None
        if shape != tuple(parameter.shape):
            what = "is missing" if shape is None else f"has shape {shape}"
            raise UserError(f"{folder}: {name} {what}, a {model_type.__name__} of its config.json "
                            f"has {tuple(parameter.shape)}: copy the checkpoint again")  # fmt: skip
    load_arrays(model, learned)
    tokenizer = read_tokenizer(folder, config)
    if note := side_note(folder):
        say(f"note: {folder}: {note}")
    return FineTuned(folder, model.to(device).eval(), tokenizer, content.get(FIELD))


def side_note(folder: Path) -> str:
    """What to say of a tokenizer that would cut the beginning of long texts; else nothing."""
    path = folder / "tokenizer_config.json"
    content = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    is_left = content.get("truncation_side") == "left"
    return "its truncation_side is left, but here long texts lose their end" * is_left


def model_type_of(folder: Path, content: dict[str, Any]) -> type[BertWithHead]:
    """The class that `config.json` names, if it is one of ours."""
    named = content.get("architectures")
    name = str(named[0]) if isinstance(named, list) and named else ""
    if name not in HEADS:
        held = f"holds a {name}" if name else "names no architecture in config.json"
        raise UserError(f"{folder} {held}, which has no head for a task: fine-tune it first")
    return HEADS[name]


def read_head(folder: Path) -> Weights:
    """The arrays of the head alone, as float32."""
    parts = tuple(f"{model.part}." for model in HEADS.values())
    found: Weights = {}
    for path in weight_files(folder):
        with safe_open(path, framework="pt") as file:  # half precision too, unlike NumPy
            names = [name for name in file.keys() if name.startswith(parts)]  # noqa: SIM118
            for name in names:
                if not (tensor := file.get_tensor(name)).is_floating_point():
                    raise UserError(f"{path}: {name} holds whole numbers: save it as float32")
                found[name] = tensor.float().numpy()
    return found


def head_of(folder: Path, content: dict[str, Any], model_type: type[BertWithHead],
            learned: Weights) -> HeadConfig:  # fmt: skip
    """The head that `config.json` describes, checked against the file's arrays."""
    bias = f"{model_type.part}.bias"
    if bias not in learned:
        raise UserError(f"{folder} has no {bias}, so no head: copy the checkpoint again")
    try:
        labels = base.labels_of(content, learned[bias].size) if model_type.has_labels else ()
        pooling, dropout = content.get(base.POOLING_FIELD, "cls"), content.get("classifier_dropout")
        head = HeadConfig(labels, pooling, dropout)
    except UserError as error:
        raise UserError(f"{folder}: {error}") from None
    problem = content.get("problem_type")
    if model_type.has_pooling and problem not in (None, head.problem_type):
        raise UserError(f"{folder} answers a problem of type {problem!r} with {head.num_labels} "
                        "labels: here a text has one label of several, or one number")  # fmt: skip
    return head


# --- The task of a folder ------------------------------------------------------------------------


def task_of(finetuned: FineTuned) -> tuple[Task, SavedTask]:
    """The task that a folder was fine-tuned for; `UserError` if what it says of that is damaged."""
    model, head, folder = type(finetuned.model), finetuned.model.head, finetuned.folder
    problem = head.problem_type if model.has_pooling else ""
    way_out = f"if it was trained further elsewhere, remove {FIELD} from config.json"
    if finetuned.task_field is None:
        fitting = [each.format for each in TASKS.values()
                   if each.model is model and each.problem_type == problem]  # fmt: skip
        saved = SavedTask(fitting[0])
    else:
        saved = SavedTask.checked(finetuned.task_field, folder)
    task_type = TASKS[saved.format]
    if task_type.model is not model or task_type.problem_type not in ("", problem):
        found = f"a {model.__name__}" + f" ({problem})" * bool(problem)
        problem = f"config.json says {saved.format}, and the model is {found}"
        raise UserError(f"{folder}: {problem}: {way_out}")
    metrics = saved.metrics or task_type.usual_metrics(head.labels)
    try:
        return task_type(head, metrics, **saved.options), saved
    except (TypeError, UserError) as error:
        problem = f"config.json: its {FIELD} does not fit ({error})"
        raise UserError(f"{folder}: {problem}: {way_out}") from None
