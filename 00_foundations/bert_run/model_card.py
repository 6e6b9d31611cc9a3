"""The `README.md` of a model's folder: what it is, what made it, what it reached.

The Hub calls it a model card; its first lines, between `---`, are what the Hub sorts models by.
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

NO_SECOND_TASK = " Its next-sentence head was not trained."
USE = """\
With `transformers`:

```python
from transformers import pipeline

pipeline("fill-mask", model=FOLDER)("The [MASK] sat on the mat.")
```

With the course:

```
bert-fill-mask "The [MASK] sat on the mat." --checkpoint FOLDER
```"""
USE_LEFT_TO_RIGHT = """\
```python
from transformers import BertLMHeadModel

BertLMHeadModel.from_pretrained(FOLDER)
```"""
STORYWORLD = """\
It has read about one small invented town and about nothing else. Its people, places and prices do
not exist, and it knows no other words. It is a model to learn from: look into it, measure it,
fine-tune it on the same town. It is not for text of the real world."""
OTHER_CORPUS = """\
It knows the text that it was trained on and nothing else, with that text's mistakes and
prejudices. Nobody has tested it for any use. What it fills in is likely, not true."""


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
    corpus = settings["corpus"]
    language = {"language": "en"} if corpus in ENGLISH else {}
    front = front_matter("text-generation" if config.is_decoder else "fill-mask", **language)
    tasks = [WORD_TASKS[config.is_decoder], SENTENCE_TASKS[settings.get("sentence_task", "nsp")]]
    tasks = [task for task in tasks if task is not None]
    size = size_of(config, count_parameters(parameter_shapes(config)))
    return f"""\
{front}
# {name}

{size}, trained from nothing on
{" and ".join(task.plural for task in tasks)} (after
[Devlin et al. 2018](https://arxiv.org/abs/1810.04805)), with the course *Build BERT four times*:
step {step:,} of {settings["steps"]:,}.{"" if len(tasks) == 2 else NO_SECOND_TASK}

## Data

`{Path(report["name"]).name}`: {report["documents"]:,} documents, {report["sentences"]:,} sentences,
{report["tokens"]:,} tokens, {report["unknown_share"]:.2%} of them unknown to the vocabulary of \
{config.vocab_size:,} entries.

## Made by

```
{command}
```

## Measured

{measurements(measured, tasks)}

## Use

FOLDER is where this file lies.

{USE_LEFT_TO_RIGHT if config.is_decoder else USE}

## What it is not for

{STORYWORLD if corpus == "storyworld" else OTHER_CORPUS}
"""


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


def measurements(measured: dict[str, float], tasks: list[Task]) -> str:
    """A table of what was measured on held-out text."""
    if "heldout_mlm_loss" not in measured:
        return "Nothing yet."
    lines = [
        f"On held-out text, after step {measured['step']:,}:",
        "",
        "| | loss | right |",
        "|---|---|---|",
    ]
    for task in tasks:
        loss, accuracy = (measured[f"heldout_{task.key}_{kind}"] for kind in ("loss", "accuracy"))
        lines.append(f"| {task.singular} | {loss:.3f} | {accuracy:.1%} |")
    if "heldout_unigram_entropy" in measured:
        entropy = measured["heldout_unigram_entropy"]
        lines += ["", f"Word frequencies alone would give a loss of {entropy:.3f} on words."]
    return "\n".join(lines)


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
