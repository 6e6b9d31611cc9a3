"""`bert-predict`: new text in, predictions of a fine-tuned model out."""

import codecs
import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_args

import torch
import tyro
from tyro.conf import Positional, arg

from bert_finetuning.checkpoint import FIELD, FineTuned, SavedTask, load_finetuned, task_of
from bert_finetuning.data.load import GLUE, STORYWORLD
from bert_finetuning.data.rows import (
    SEPARATORS,
    Columns,
    Expected,
    Row,
    Table,
    Tally,
    at_least_one,
    free,
    line_rows,
    open_rows,
    parse_columns,
    quoted,
    say,
    shortened,
    whole,
)
from bert_finetuning.tasks.base import BAR_DELAY, PAIR, SINGLE, Example, Task
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_run.config import Count, Positions, Precision, check_numbers
from bert_run.device import choose_device, choose_precision
from bert_run.errors import UserError, command
from bert_run.files import STANDARD_INPUT, folder_in_one_piece, text_lines, write_whole
from bert_run.training_loop import progress_bar

QUERIES_AT_ONCE = 2_048  # read together, sorted by length, before the first of them is shown


@dataclass(frozen=True)
class Query:
    """A new example, and where it comes from."""

    example: Any
    line: int | None = None  # of the file or of standard input; of a dataset of the Hub its row
    row: Mapping[str, Any] = field(default_factory=dict)  # all columns
    asked: Sequence[str] = ()  # those that its example repeats


ANY_ROW = Row("", {"text": "a", "question": "a", "context": "a", "endings": ["a", "a"]})
Answered = tuple[Query, Any]  # with its prediction; None where there was no text to answer


@dataclass(frozen=True)
class PredictSettings:
    """Answer for new text with a model that bert-finetune or transformers has fine-tuned.

    bert-predict "The food was wonderful." --checkpoint runs/sentiment

    bert-predict --question "Who came?" --context "Anna came on Monday." --checkpoint runs/questions

    cat reviews.txt | bert-predict --checkpoint runs/sentiment --json

    bert-predict --input reviews.csv --out answers.csv --checkpoint runs/sentiment

    bert-predict --score test.csv --checkpoint runs/sentiment

    Every line of a file or of standard input has its answer; that to a line without text is empty.
    """

    text: Annotated[Positional[tuple[str, ...]], arg(metavar="TEXT …")] = ()
    """one or more texts; of a pair its two, of a choice the beginning and the endings"""
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
    """of a table: TEXT or TEXT,PAIR (with --score also ,LABEL), by name or number, if unusual"""
    score: str | None = None
    """a labeled FILE to measure the model on, as bert-finetune --test does: the metrics with their
    95% intervals; --out FOLDER keeps all answers, the wrong ones and a picture"""
    json: Annotated[bool, arg(name="json")] = False
    """print one JSON object a line, with the number of the line and the other columns of its row"""
    out: Path | None = None
    """write the answers here instead: FILE.csv, the rows of the input with answers beside them; or
    FILE.jsonl, what --json prints"""
    top: Count = 5
    """so many labels, answers or endings, the likeliest first (JSON holds all; of answers five)"""
    max_length: Positions | None = None
    """tokens read at once; unless given as in training"""
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""
    precision: Precision = "auto"
    """auto takes bf16 where the device multiplies it faster, as in training; fp32 gives the same
    digits on every device"""

    def __post_init__(self) -> None:
        check_numbers(self)
        is_given = self.source is None
        if self.input is not None and is_given:
            raise UserError("--input and texts on the command line exclude each other")
        if self.score == "-" or (self.score and (is_given or self.input is not None)):
            raise UserError("--score reads texts and labels from a FILE, not from standard input: "
                            "leave out texts and --input")  # fmt: skip
        if self.pair is not None and not self.text:
            raise UserError("--pair belongs to a text: give it first")
        if self.columns is not None and is_given:
            raise UserError("--columns are those of a file: name it with --input")
        out = self.out
        if out is not None and out.exists():
            raise UserError(f"--out {out} exists: choose another name, or remove it")
        if out is None or self.score is not None:
            return
        if self.json:
            raise UserError("--json is for the terminal: --out FILE.jsonl holds the same")
        if out.suffix not in (".csv", ".jsonl"):
            raise UserError(f"--out is {out}: its name must end in .csv or .jsonl")
        if not out.parent.is_dir():
            raise UserError(f"--out {out}: there is no folder {out.parent}")

    @property
    def source(self) -> str | None:
        """The file to read, "-" for standard input; None where the arguments hold the text."""
        parts = (self.pair, self.question, self.context)
        is_given = self.text or any(part is not None for part in parts)
        return None if is_given else self.input or "-"


@dataclass(frozen=True)
class Predictor:
    """A fine-tuned model with its task, and how much it reads at once.

    predictor = Predictor.open("runs/sentiment")
    predictor("The food was wonderful.")["label"]
    [answer["label"] for answer in predictor(["The soup was cold.", "The film was long."])]
    """

    finetuned: FineTuned
    task: Task
    saved: SavedTask
    max_length: int
    precision: torch.dtype = torch.float32

    @classmethod
    def open(cls, checkpoint: str | Path, *, device: str = "auto", precision: Precision = "auto",
             max_length: int | None = None) -> "Predictor":  # fmt: skip
        """Raises `UserError` if this is no fine-tuned model, or cannot read as much."""
        chosen = choose_device(device)
        if precision not in get_args(Precision):
            raise UserError(f"precision is {precision!r}: choose auto, fp32 or bf16")
        finetuned = load_finetuned(checkpoint, device=chosen)
        task, saved = task_of(finetuned)
        use_cpu_kernels(finetuned.model.bert)  # as in training: then every answer is the same
        config = finetuned.model.config
        length = task.reading_length(max_length, config, usual=saved.max_length)
        return cls(finetuned, task, saved, length, choose_precision(precision, chosen))

    def __call__(self, given: Any = None, /, **row: Any) -> Any:
        """What `bert-predict --json` prints for a text; a list of it for a list, a column of a
        table or any other iterable. A text that has several parts is a tuple: both texts of a pair,
        a beginning and its endings. A dict, or keywords, are a row with the columns of training:
        `predictor(question="Who came?", context="Anna came.")`."""
        if given is not None and "text" in row:
            raise UserError("text is given twice: give one, or a list of texts")
        if row:
            given = row if given is None else {"text": given, **row}
        axes = getattr(given, "ndim", isinstance(given, Iterable))  # of NumPy's single texts 0
        is_one = isinstance(given, str | tuple | Mapping) or not axes
        if axes > 1:
            raise UserError("a table of several columns: give one column, or a list of dicts")
        items = [given] if is_one else given
        queries = [self.query_of(item, number) for number, item in enumerate(items, start=1)]
        answers = [to_json(self.task, *each) for each in self.stream(queries)]
        return answers[0] if is_one else answers

    def query_of(self, item: Any, number: int) -> Query:
        place = f"item {number}"
        if isinstance(item, Mapping):
            expected = Expected(labeled=False, train=self.saved.columns)
            (query,) = from_rows(iter([Row(place, whole(dict(item)))]), type(self.task), expected)
            return replace(query, line=None)
        texts = item if isinstance(item, tuple) else (item,)
        if not all(isinstance(text, str) for text in texts):
            problem = shortened(" ".join(repr(item).split()))
            raise UserError(f"{place} is {problem}: give a text, a tuple of texts or a dict")
        return Query(self.task.from_parts(texts, place))

    def predict(self, examples: Sequence[Example]) -> list[Any]:
        """One prediction for each example, in their order; None for one without text."""
        predictions: list[Any] = [None] * len(examples)
        shape_at = [each.shape for each in examples].__getitem__
        places = [place for place, each in enumerate(examples) if not each.is_empty]
        for _, group in groupby(sorted(places, key=shape_at), key=shape_at):
            together = list(group)
            found = self.predict_alike([examples[place] for place in together])
            for place, prediction in zip(together, found, strict=True):
                predictions[place] = prediction
        return predictions

    def predict_alike(self, examples: Sequence[Example], *, progress: str | None = None) -> list:
        """Predictions for examples that have text, and the same shape. `progress` names a bar."""
        model, tokenizer = self.finetuned.model, self.finetuned.tokenizer
        return self.task.answers(examples, model, tokenizer, max_length=self.max_length,
                                 precision=self.precision, progress=progress)  # fmt: skip

    def stream(self, queries: Iterable[Query]) -> Iterator[Answered]:
        """Predictions for any number of queries, in their order, in bounded memory."""
        rest = iter(queries)
        while part := list(islice(rest, QUERIES_AT_ONCE)):
            examples = [each.example for each in part]
            check_pairs([each for each in examples if not each.is_empty], self.saved)
            yield from zip(part, self.predict(examples), strict=True)


def check_pairs(examples: Sequence[Example], saved: SavedTask) -> None:
    """Raise `UserError` for single texts if the model has learned from pairs, and for pairs."""
    learned = {True: PAIR, False: SINGLE}.get(saved.pairs)
    for example in examples:
        if {example.shape, learned} == {PAIR, SINGLE}:
            both = "give the second with --pair, or after a tab"
            single = "leave the second out, or name the column, --columns TEXT"
            way_out = both if learned == PAIR else single
            text = quoted(example.texts[0])
            way_out += f"; if it was trained further elsewhere, remove {FIELD} from config.json"
            raise UserError(f"{text}: this model has learned from {learned}: {way_out}")


# --- The command ---------------------------------------------------------------------------------


def run(settings: PredictSettings) -> None:
    machine = {"device": settings.device, "precision": settings.precision}
    predictor = Predictor.open(settings.checkpoint, max_length=settings.max_length, **machine)
    if settings.score is not None:
        score(predictor, settings)
        return
    task, source, tally = predictor.task, settings.source, Tally()
    if source is None:
        options = {name: value for name in ("pair", "question", "context")
                   if (value := getattr(settings, name)) is not None}  # fmt: skip
        pairs = predictor.saved.pairs
        queries = map(Query, task.from_texts(settings.text, options, pairs=pairs))
    else:
        if source == "-" and sys.stdin.isatty():
            say("one text a line, Ctrl-D ends:")
        columns = columns_for(settings.columns, predictor.saved, labeled=False)
        queries = from_source(source, type(task), tally=tally, **columns)
    places: list[str] = []  # of each query, where it is, if it has no text

    def counted() -> Iterator[Answered]:
        for query, prediction in predictor.stream(queries):
            yield query, prediction
            bar.update()
            place = f"number {len(places) + 1}" if query.line is None else f"line {query.line}"
            places.append(place if prediction is None else "")

    # Lines that run over a terminal are progress enough.
    hidden = settings.out is None and sys.stdout.isatty()
    with progress_bar(None, "predicting", unit=" texts", delay=BAR_DELAY, disable=hidden) as bar:
        if settings.out is None:
            print_answers(task, counted(), settings)
        else:
            with write_whole(settings.out) as binary:
                file = codecs.getwriter("utf-8")(binary)
                if settings.out.suffix == ".csv":
                    write_csv(file, predictor, counted())
                else:
                    file.writelines(json_line(task, *each) + "\n" for each in counted())
    if settings.out is not None:
        print(f"{settings.out}: {len(places):,} rows answered")
    if noted := [each for each in tally.found if each not in SEPARATORS.values()]:
        say(f"note: {STANDARD_INPUT if source == '-' else source}: {', '.join(noted)}")
    if empty := [place for place in places if place]:
        say(f"note: {len(empty):,} of {len(places):,} rows have no text and an empty answer; the "
            f"first is {empty[0]}")  # fmt: skip


def score(predictor: Predictor, settings: PredictSettings) -> None:
    """The report of `bert-finetune --test`, for a labeled file and any fine-tuned model."""
    # It draws: those who only predict need not wait for it.
    from bert_finetuning.data.load import count_in_words, read_labeled
    from bert_finetuning.finetune import Measured, write_answers

    task, saved, out, tally = predictor.task, predictor.saved, settings.out, Tally(settings.score)
    # A task by name has its labels; a file that is called like one has others.
    named = (GLUE | STORYWORLD).get(saved.task)
    by_place = not saved.task or [*task.head.labels] == [*getattr(named, "labels", ())]
    examples = read_labeled(settings.score, task, by_place=by_place, tally=tally,
                            **columns_for(settings.columns, saved))  # fmt: skip
    say(count_in_words(examples, tally))
    check_pairs(examples, saved)
    if not getattr(task, "has_null", True) and not all(each.answers for each in examples):
        say("note: some questions have no answer here, and this model always gives one")
    predictions = predictor.predict_alike(examples, progress="predicting")
    measured = Measured(settings.score, task, examples, predictions)
    if out is not None:
        with folder_in_one_piece(out) as beside:
            content = json.dumps(measured.as_json(), indent=2) + "\n"
            (beside / "metrics.json").write_text(content, encoding="utf-8")
            write_answers(beside, measured, title=Path(settings.score).name)
    print(json.dumps(measured.as_json()) if settings.json else measured.table())
    if out is not None and not settings.json:
        print(f"all answers: {out}")


# --- What a file, standard input or a dataset of the Hub asks ------------------------------------


def columns_for(given: str | None, saved: SavedTask, *, labeled: bool = True) -> dict[str, Columns]:
    """The fields of `Expected` that say where columns are: as given, and else as in training."""
    own, train = parse_columns(given, labeled=labeled), saved.columns
    if given is not None and train is not None:
        text, pair = (own.text, own.pair) if own.text else (train.text, own.pair or train.pair)
        own, train = Columns(text, pair, own.label or train.label), None
    return {"columns": own, "train": train}


def from_source(source: str, task_type: type[Task], **expected: Any) -> Iterator[Query]:
    """One query for each row or line of plain text, in its place, so that answers can be joined to
    them. Empty lines count, but not those between rows of tables and of JSON lines; `expected` are
    fields of `Expected`."""
    expected = Expected(labeled=False, **expected)
    task_type.check_columns(expected.columns)
    if source == "-":
        source = STANDARD_INPUT
        rows = line_rows(source, text_lines(None), expected, may_be_text=True)
    else:
        rows = open_rows(source, expected, may_be_text=True)
    return at_least_one(from_rows(rows, task_type, expected), source)


def from_rows(rows: Table, task_type: type[Task], expected: Expected) -> Iterator[Query]:
    """Which columns hold what is asked is found in the first row. Where another row lacks one of
    them, or has null there, that text is empty."""
    asked, columns = None, expected.columns
    for row in rows:
        if asked is None:
            names = [*task_type.parts, *task_type.contexts, row.find(task_type.lists), "id"]
            if task_type.takes_columns and row.parts is None:
                columns, train = expected.columns_in(row), expected.train
                if train and (columns.text, columns.pair) != (train.text, train.pair):
                    expected.tally.note(str(columns))  # others than in training
                names = [columns.text, columns.pair]
            asked = [row.spelled(name) for name in names if name and row.find([name])]
            lists = [name] if (name := row.find(task_type.lists)) else []
        fields = dict.fromkeys(map(row.spelled, asked)) | row.fields
        is_null = any(fields[row.spelled(name)] is None for name in lists)
        filled = row._replace(fields={n: "" if v is None else v for n, v in fields.items()})
        example = task_type.empty if is_null else task_type.from_row(filled, columns)
        yield Query(example, row.line, row.fields, asked)


# --- Answers on the terminal and in JSON ---------------------------------------------------------


def print_answers(task: Task, answered: Iterable[Answered], settings: PredictSettings) -> None:
    brief = settings.source is not None
    for number, (query, prediction) in enumerate(answered):
        text = ""
        if settings.json:
            text = json_line(task, query, prediction)
        elif prediction is not None:
            text = task.render(query.example, prediction, top=settings.top, brief=brief)
        print(text if brief or settings.json or not number else f"\n{text}")


def to_json(task: Task, query: Query, prediction: Any) -> dict[str, Any]:
    """A prediction as one object: its line, the answer, the columns of its row that the example
    does not repeat. A query without text has no answer, and is marked as `empty`."""
    line, given = {} if query.line is None else {"line": query.line}, query.example.given
    empty = prediction is None
    answer = given | {"empty": empty} if empty else task.to_json(query.example, prediction)
    endings = [each["ending"] for each in answer.get("endings", ())]
    asked = {*map(Row("", query.row).spelled, query.asked)}
    said = (None, *given.values(), answer.get("words"), endings)
    others = {name: value for name, value in query.row.items()
              if name not in asked or value not in said}  # fmt: skip
    return line | answer | ({"row": others} if others else {})


def json_line(task: Task, query: Query, prediction: Any) -> str:
    return json.dumps(to_json(task, query, prediction), ensure_ascii=False)


# --- Answers as a file ---------------------------------------------------------------------------


def write_csv(file: Any, predictor: Predictor, answered: Iterable[Answered]) -> None:
    """The input with answers beside it. The first row with a text decides on the columns."""
    task, rows = predictor.task, iter(answered)
    ahead = []  # rows without text, and the first with one
    for each in rows:
        ahead.append(each)
        if each[1] is not None:
            break
    query, prediction = ahead[-1]
    if prediction is None:  # no row has a text: the columns are those of any answer
        query = replace(query, example=task.from_row(ANY_ROW), row=query.row or query.example.given)
        (prediction,) = predictor.predict([query.example])
    known = [csv_row(task, *each) for each in (*ahead[:-1], (query, prediction))]
    columns = list(dict.fromkeys(name for row in known for name in row))
    # With "\r\n" as the end of a line, a cell that holds "\r" is quoted, too.
    unix = SimpleNamespace(write=lambda line: file.write(line.removesuffix("\r\n") + "\n"))
    table = csv.DictWriter(unix, columns, restval="", lineterminator="\r\n")
    table.writeheader()
    for query, prediction in chain(ahead, rows):
        row = csv_row(task, query, prediction)
        if foreign := [name for name in row if name not in columns]:
            raise UserError(f"line {query.line} has a column {foreign[0]!r}, which the first row "
                            "has not: give --out FILE.jsonl, where rows may differ")  # fmt: skip
        table.writerow(row)


def csv_row(task: Task, query: Query, prediction: Any) -> dict[str, Any]:
    """Line, columns of the input, answer; where a name is taken, ours gets an underscore. Lists and
    numbers are written as in JSON, nothing as nothing."""
    given = dict(query.row or query.example.given)
    answer = {} if prediction is None else task.answer_cells(query.example, prediction)
    line = {} if query.line is None else {free("line", given): query.line}
    row = line | given | {free(name, given): value for name, value in answer.items()}
    return {name: value if value is None or isinstance(value, str)
            else json.dumps(value, ensure_ascii=False) for name, value in row.items()}  # fmt: skip


@command
def main() -> None:
    run(tyro.cli(PredictSettings, prog="bert-predict"))


if __name__ == "__main__":
    main()
