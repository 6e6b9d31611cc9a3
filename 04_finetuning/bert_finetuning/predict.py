"""`bert-predict`: new text in, answers of a fine-tuned model out."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Annotated, Any

import tyro
from tqdm import tqdm
from tyro.conf import Positional, arg

from bert_finetuning.answer_files import check_out, write_answers
from bert_finetuning.answering import logits_of
from bert_finetuning.examples import TextExample, is_empty
from bert_finetuning.folders import FineTuned, open_finetuned
from bert_finetuning.kinds.base import Kind
from bert_finetuning.kinds.pairs import shortened
from bert_finetuning.new_rows import from_source
from bert_finetuning.new_text import Asked, from_arguments
from bert_finetuning.opening import parse_columns
from bert_finetuning.showing import Style, has_colours, shown_as_json, shown_as_text
from bert_finetuning.task_file import SavedTask, kind_of
from bert_run.config import Positions
from bert_run.device import choose_device
from bert_run.errors import UserError, command
from bert_run.progress import progress_bar
from bert_run.ranges import Count, check_numbers

AT_ONCE = 2_048  # examples read together, sorted by length, before the first of them is shown
MANY = 200  # from here on a bar is shown
USUAL_LENGTH = {"questions": 384}  # tokens, where the folder does not say; 128 else, as the paper


@dataclass(frozen=True)
class PredictSettings:
    """Answer for new text with a model that bert-finetune or transformers has fine-tuned.

    bert-predict "The food was wonderful." --checkpoint runs/sentiment

    bert-predict --question "Who came?" --context "Anna came on Monday." --checkpoint runs/questions

    cat reviews.txt | bert-predict --checkpoint runs/sentiment --json

    bert-predict --input reviews.csv --out answers.csv --checkpoint runs/sentiment

    Every line of a file or of standard input is answered in its place; one without text gets an
    empty answer.
    """

    text: Annotated[Positional[tuple[str, ...]], arg(metavar="TEXT …")] = ()
    """one or more texts; of a pair its two, of a choice the beginning and the endings, of an
    extract a document or all its sentences"""
    checkpoint: Path = Path("runs/finetune")
    """a fine-tuned folder, or a model of the Hub, OWNER/NAME"""
    pair: str | None = None
    """the second text, for models of pairs"""
    question: str | None = None
    """what to ask of --context"""
    context: str | None = None
    """the text that answers --question"""
    input: str | None = None
    """a FILE in a format of training (labels are not read) or with one text a line, a tab between
    the parts of a pair; - is standard input, which is also read where no text is given"""
    columns: str | None = None
    """of a table: TEXT or TEXT,PAIR, by name or number; usual names are found"""
    json: Annotated[bool, arg(name="json")] = False
    """print one JSON object a line, with the number of the line and the other columns of its row"""
    out: Path | None = None
    """write the answers here instead: FILE.csv, the rows of the input with answers beside them, or
    FILE.jsonl, what --json prints"""
    top: Count = 5
    """so many labels, answers or endings, the likeliest first (JSON holds all)"""
    max_length: Positions | None = None
    """tokens read at once; unless given as in training"""
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""

    def __post_init__(self) -> None:
        check_numbers(self)
        given = [self.text, self.pair, self.question, self.context]
        if self.input is not None and any(given):
            raise UserError("--input and texts on the command line exclude each other")
        if self.columns is not None and self.source is None:
            raise UserError("--columns are those of a file: name it with --input")
        if self.out is not None:
            check_out(self.out)
            if self.json:
                raise UserError("--json is for the terminal: the name of --out tells the format")

    @property
    def source(self) -> str | None:
        """The file to read, "-" for standard input; None where the arguments hold the text."""
        if self.text or self.question is not None or self.context is not None:
            return None
        if self.pair is not None:
            raise UserError("--pair belongs to a text: give it first")
        return self.input or "-"


@dataclass(frozen=True)
class Predictor:
    """A fine-tuned model with its kind of task, and how much it reads at once."""

    opened: FineTuned
    kind: Kind
    task: SavedTask
    max_length: int

    @classmethod
    def open(cls, checkpoint: str | Path, *, device: str = "auto", max_length: int | None = None):
        """Raises `UserError` if this is no fine-tuned model, or cannot read as much."""
        opened = open_finetuned(checkpoint, device=choose_device(device))
        kind, task = kind_of(opened)
        most = opened.model.config.max_position_embeddings
        if max_length is not None and max_length > most:
            raise UserError(f"--max-length {max_length}: the model reads {most} tokens at most")
        usual = task.max_length or USUAL_LENGTH.get(task.format, 128)
        return cls(opened, kind, task, max_length or min(most, usual))

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """One prediction for each example, in their order; None for one without text.

        predictor = Predictor.open("runs/sentiment")
        predictor.predict([TextExample("The food was wonderful.")])[0].label
        """
        said: list[Any] = [None] * len(examples)
        places = (place for place, each in enumerate(examples) if not is_empty(each))
        for _, group in groupby(places, key=lambda place: width(examples[place])):
            together = list(group)
            for place, prediction in zip(
                together, self.answers([examples[place] for place in together]), strict=True
            ):
                said[place] = prediction
        return said

    def answers(self, examples: Sequence[Any]) -> list[Any]:
        """Predictions for examples that have text, and as many endings each."""
        readings = self.kind.read(examples, self.opened.tokenizer, max_length=self.max_length)
        logits = logits_of(self.opened.model, self.kind, readings)
        return self.kind.predict(examples, readings, logits)

    def stream(self, asked: Iterable[Asked]) -> Iterator[tuple[Asked, Any]]:
        """Predictions for any number of examples, in their order, in bounded memory."""
        rest = iter(asked)
        while part := list(islice(rest, AT_ONCE)):
            examples = [each.example for each in part]
            check_pairs([each for each in examples if not is_empty(each)], self.task)
            yield from zip(part, self.predict(examples), strict=True)


def width(example: Any) -> int:
    """Endings of a choice: a batch has as many for each."""
    return len(getattr(example, "endings", ()))


def check_pairs(examples: Sequence[Any], task: SavedTask) -> None:
    """A model of pairs needs pairs, and one of single texts does not know what to do with them."""
    for example in examples:
        if task.pairs is None or not isinstance(example, TextExample):
            return
        if task.pairs != (example.pair is not None):
            problem = (
                "this model has learnt from pairs: give the second with --pair, or after a tab"
                if task.pairs
                else "this model has learnt from single texts: leave the second out"
            )
            raise UserError(f"{shortened(example.text)}: {problem}")


def asked_by(settings: PredictSettings, task: SavedTask) -> Iterator[Asked]:
    if settings.source is None:
        return iter(from_arguments(
            task.format, settings.text, pairs=task.pairs, pair=settings.pair,
            question=settings.question, context=settings.context,
        ))  # fmt: skip
    if settings.source == "-" and sys.stdin.isatty():
        print("one text a line, Ctrl-D ends:", file=sys.stderr)
    return from_source(
        settings.source, task.format, parse_columns(settings.columns, labelled=False)
    )


def run(settings: PredictSettings) -> None:
    predictor = Predictor.open(
        settings.checkpoint, device=settings.device, max_length=settings.max_length
    )
    asked = asked_by(settings, predictor.task)
    first = list(islice(asked, AT_ONCE))
    # Lines that run over a terminal are progress enough.
    hidden = len(first) < MANY or (settings.out is None and sys.stdout.isatty())
    total = None if len(first) == AT_ONCE else len(first)
    with progress_bar(total, "predicting", unit=" texts", disable=hidden) as bar:
        count = Count(bar)
        answered = count.over(predictor.stream(chain(first, asked)))
        if settings.out is None:
            print_answers(predictor, answered, settings)
        else:
            write_answers(settings.out, predictor.kind, predictor.task.format, answered)
    if settings.out is not None:
        print(f"{settings.out}: {count.all:,} rows answered")
    if count.empty:
        print(f"note: {count.empty:,} of {count.all:,} rows have no text and an empty answer; the "
              f"first is {count.first_empty}", file=sys.stderr)  # fmt: skip


@dataclass
class Count:
    """How many rows were answered, and how many of them hold nothing to answer."""

    bar: tqdm
    all: int = 0
    empty: int = 0
    first_empty: str = ""  # where it is

    def over(self, answered: Iterable[tuple[Asked, Any]]) -> Iterator[tuple[Asked, Any]]:
        for asked, prediction in answered:
            yield asked, prediction
            self.bar.update()
            self.all += 1
            if prediction is None:
                number = f"number {self.all}" if asked.line is None else f"line {asked.line}"
                self.first_empty = self.first_empty or number
                self.empty += 1


def print_answers(
    predictor: Predictor, answered: Iterable[tuple[Asked, Any]], settings: PredictSettings
) -> None:
    kind, format = predictor.kind, predictor.task.format
    style = Style(settings.top, has_colours(), brief=settings.source is not None)
    for number, (each, prediction) in enumerate(answered):
        if settings.json:
            print(json.dumps(shown_as_json(kind, each, prediction), ensure_ascii=False))
        else:
            told = shown_as_text(kind, format, each, prediction, style)
            print(told if style.brief or not number else f"\n{told}")


@command
def main() -> None:
    settings = tyro.cli(PredictSettings, prog="bert-predict")
    try:
        run(settings)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our lines has seen enough: `bert-predict … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
