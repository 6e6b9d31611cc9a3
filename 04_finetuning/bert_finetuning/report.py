"""What a fine-tuning run leaves in its folder, beside the runs of its seeds.

out/                    the best model of all seeds, a `transformers` folder
    README.md           its card
    metrics.json        every seed, median and spread, the majority, the settings
    predictions.jsonl   what it says of each example of dev
    errors.md           the wrong ones, the surest first
    confusion.png       which label was taken for which (numbers.png: what was said, what is right)
    curve.png           training loss and the deciding metric, of all seeds
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bert_finetuning.errors import errors_page
from bert_finetuning.examples import Choice, Extract, Question, TaggedSentence
from bert_finetuning.kinds.base import Kind
from bert_finetuning.outcome import Outcome, percent
from bert_finetuning.pictures import MOST_LABELS, draw_confusion, draw_curves, draw_numbers
from bert_finetuning.settings import FinetuneSettings
from bert_run.files import publish, write_atomically
from bert_run.metrics import read_metrics
from bert_run.model_card import command_line, front_matter

PIPELINES = {
    "BertForSequenceClassification": "text-classification",
    "BertForTokenClassification": "token-classification",
    "BertForQuestionAnswering": "question-answering",
    "BertForMultipleChoice": "multiple-choice",
}


def write_report(
    outcome: Outcome,
    kind: Kind,
    examples: Sequence,
    predictions: Sequence,
    *,
    settings: FinetuneSettings,
    example: Any,
) -> None:
    """All of the folder, from what the best model says of dev; `example` is one to try."""
    out = settings.out
    for path in sorted((outcome.folder / "best").iterdir()):
        publish(path, out / path.name)
    content = outcome.as_json(fields_of(settings))
    write_atomically(out / "metrics.json", json.dumps(content, indent=2) + "\n")
    shown = (kind.shown(e, p) for e, p in zip(examples, predictions, strict=True))
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in shown]
    write_atomically(out / "predictions.jsonl", "".join(lines))
    page = errors_page(kind, examples, predictions, title=outcome.task)
    write_atomically(out / "errors.md", page)
    draw(outcome, kind, examples, predictions, out)
    write_atomically(out / "README.md", card(outcome, kind, settings, example))


def fields_of(settings: FinetuneSettings) -> dict[str, Any]:
    """Settings as JSON holds them."""
    return json.loads(json.dumps(asdict(settings), default=str))


def draw(
    outcome: Outcome, kind: Kind, examples: Sequence, predictions: Sequence, out: Path
) -> None:
    """The curves; of labels or numbers a second picture."""
    records = {
        result.seed: read_metrics(outcome.folder.with_name(f"seed-{result.seed}") / "metrics.jsonl")
        for result in outcome.results
    }
    draw_curves(
        records,
        out / "curve.png",
        title=f"{outcome.task}: {outcome.examples[0]:,} examples",
        metric=outcome.metric,
        best=outcome.best.seed,
        majority=outcome.majority[outcome.metric],
    )
    right, said = labels_of(kind, examples, predictions)
    title = f"{outcome.task}: {outcome.metric} {percent(outcome.best.best[outcome.metric])}"
    if isinstance(said[0], float):
        draw_numbers(right, said, out / "numbers.png", title=title)
    elif isinstance(said[0], str) and 1 < len(kind.head.labels) <= MOST_LABELS:
        draw_confusion(right, said, kind.head.labels, out / "confusion.png", title=title)


def labels_of(kind: Kind, examples: Sequence, predictions: Sequence) -> tuple[list, list]:
    """What is right and what was said, of each example, or of each word."""
    said = [kind.said(prediction) for prediction in predictions]
    if isinstance(examples[0], TaggedSentence):
        tags = [tag for example in examples for tag in example.tags]
        return tags, [tag for sentence in said for tag in sentence]
    if isinstance(examples[0], Question | Choice | Extract):
        return [None], [None]
    return [example.label for example in examples], said


def card(outcome: Outcome, kind: Kind, settings: FinetuneSettings, example: Any) -> str:
    """The model's `README.md`."""
    defaults = {name: getattr(FinetuneSettings, name) for name in vars(settings)}
    labels = ", ".join(kind.head.labels)
    return f"""\
{front_matter(PIPELINES[kind.model.__name__])}
# {settings.out.resolve().name}

A `{kind.model.__name__}` for the task `{outcome.task}`{f" ({labels})" if labels else ""},
fine-tuned on {outcome.examples[0]:,} examples with the course *Build BERT four times*.
Where it started: {outcome.start}.

## Made by

```
{command_line("bert-finetune", vars(settings), defaults)}
```

## Measured

On {outcome.examples[1]:,} examples that it has not learnt from. The step, the seed, of a grid the
settings, and the threshold of "no answer" were chosen on these same examples, so the best of them
is a little too good to be true; the median of several seeds tells more.

```
{outcome.table()}
```

Every figure is in `metrics.json`; what is wrong is listed in `errors.md`.

## Use

FOLDER is where this file lies.

```
{prediction_line("FOLDER", example)}
```

## What it is not for

It knows the examples that it has learnt from, with their mistakes and prejudices, and text unlike
them it answers as surely. Nobody has tested it for any use.
"""


def prediction_line(folder: str, example: Any) -> str:
    """The call of `bert-predict` for an example of dev."""
    return shlex.join(["bert-predict", *arguments(example), "--checkpoint", folder])


def arguments(example: Any) -> list[str]:
    if isinstance(example, TaggedSentence):
        return [" ".join(example.words)]
    if isinstance(example, Question):
        return ["--question", example.question, "--context", example.context]
    if isinstance(example, Choice):
        return [example.context, *example.endings]
    if isinstance(example, Extract):
        return list(example.sentences)
    return [example.text] if example.pair is None else [example.text, example.pair]
