"""The `README.md` of a model's folder: what it is, what made it, what it reached.

The Hub calls it a model card; its first lines, between `---`, are what the Hub sorts models by.
The text is that of `model_card.jinja`.
"""

import shlex
from pathlib import Path
from typing import Any, NamedTuple

from bert_run.config import BertConfig, count_parameters, parameter_shapes


class Task(NamedTuple):
    """What was trained on: its key in the measurements, and its name for one and for many."""

    key: str
    singular: str
    plural: str


WORD_TASKS = {
    False: Task("mlm", "masked word", "masked words"),
    True: Task("mlm", "next word", "next words, read from the left alone"),
}
SENTENCE_TASKS = {
    "nsp": Task("nsp", "next sentence", "next sentences"),
    "sop": Task("nsp", "order of two sentences", "the order of sentences"),
    "none": None,
}

ENGLISH = ("storyworld", "pydocs")  # the corpora whose language is known
LINE_WIDTH = 96


def model_card(
    settings: dict[str, Any],
    report: dict[str, Any],
    measured: dict[str, float],
    *,
    name: str,
    config: BertConfig,
    step: int,
    command: str,
) -> str:
    """The card of a pretrained model.

    `settings` are those of `run.json`, `report` is that of the data, `measured` the last
    measurements on held-out text (empty when there are none yet), `command` the line that made
    the model; see `command_line`.
    """
    from jinja2 import Template

    language = {"language": "en"} if settings["corpus"] in ENGLISH else {}
    tasks = [WORD_TASKS[config.is_decoder], SENTENCE_TASKS[settings.get("sentence_task", "nsp")]]
    text = Path(__file__).with_suffix(".jinja").read_text(encoding="utf-8")
    return Template(text, keep_trailing_newline=True).render(
        front=front_matter("text-generation" if config.is_decoder else "fill-mask", **language),
        name=name,
        size=size_of(config, count_parameters(parameter_shapes(config))),
        tasks=[task for task in tasks if task is not None],
        step=step,
        settings=settings,
        corpus=Path(report["name"]).name,
        report=report,
        config=config,
        command=command,
        measured=measured,
    )


def front_matter(pipeline_tag: str, **more: str) -> str:
    """The lines for the Hub. Values are plain words, which YAML needs no quotes for."""
    fields = {"library_name": "transformers", "pipeline_tag": pipeline_tag, **more}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "tags:", "- bert", "---", ""])


def size_of(config: BertConfig, parameters: int) -> str:
    """The model in half a sentence."""
    return (
        f"A BERT of {parameters:,} parameters ({config.num_hidden_layers} layers, "
        f"{config.hidden_size} wide, {config.num_attention_heads} heads)"
    )


def for_others(path: str | Path) -> str:
    """A path as a card shows it: of an absolute path the last part, which is all others need."""
    return Path(path).name if Path(path).is_absolute() else str(path)


def command_line(program: str, settings: dict[str, Any], defaults: dict[str, Any]) -> str:
    """The call of `program` that gives these settings: an option for each that is no default."""
    words = [program]
    for name, value in settings.items():
        option = name.replace("_", "-")
        if value == defaults.get(name):
            continue
        is_switch = isinstance(defaults.get(name), bool)
        text = for_others(str(value))
        words.append(f"--{'' if value else 'no-'}{option}" if is_switch
                     else f"--{option} {shlex.quote(text)}")  # fmt: skip
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) < LINE_WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}")
    return " \\\n".join(lines)
