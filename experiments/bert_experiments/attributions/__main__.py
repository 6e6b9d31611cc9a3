"""`python -m bert_experiments.attributions`: a fine-tuned model's errors, and why it made them.

For each error the words with their gradient × input and the last layer's attention weights;
`bert_experiments.attributions.attribution` says what the two mean, and what they do not.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro
from tyro.conf import Positional, arg

from bert_experiments.attributions.attribution import Attributor, MaskingTest, masking_test
from bert_experiments.attributions.cases import Case, cases_of
from bert_experiments.attributions.render import has_colors, html_page, save_picture, terminal_lines
from bert_experiments.report.page import wrapped
from bert_finetuning.data.load import load_named
from bert_finetuning.data.rows import parse_columns
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.predict import Predictor, check_pairs, from_source
from bert_finetuning.tasks.base import Task, logits_of
from bert_finetuning.tasks.classification import Regression
from bert_run.config import Count, check_numbers
from bert_run.errors import UserError, command
from bert_run.files import write_atomically
from bert_run.training_loop import progress_bar

TESTED = 200  # answers that the masking test is done on
PICTURED = 5
MANY = 200  # from here on a bar is shown
OF_ITS_PAGES = "<p>gradient: gradient × input"  # by which they are known


@dataclass(frozen=True)
class AttributionSettings:
    """Look inside a fine-tuned BERT: its errors, with gradient × input and attention weights.

    python -m bert_experiments.attributions --checkpoint runs/sentiment

    python -m bert_experiments.attributions "Never again!" --checkpoint runs/sentiment
    """

    text: Annotated[Positional[tuple[str, ...]], arg(metavar="TEXT …")] = ()
    """a text of your own, as for bert-predict"""
    checkpoint: Path = Path("runs/finetune")
    """a fine-tuned folder, or a model of the Hub, OWNER/NAME"""
    task: str | None = None
    """whose examples of dev are looked into; the model's own if it is one of StoryWorld"""
    data: Path | None = None
    """the folder with the task's files"""
    input: str | None = None
    """a FILE instead, in a format of training"""
    columns: str | None = None
    """of a table: TEXT,LABEL or TEXT,PAIR,LABEL"""
    labels: bool = True
    """the file says what is right; --no-labels: it does not, and all answers are shown"""
    examples: Count = 500
    """so many are read"""
    most: Count = 30
    """so many errors are shown, the surest first"""
    out: Path = Path("runs/inside_finetuned")
    """the folder for errors.html and errors.png"""
    device: str = "auto"

    def __post_init__(self) -> None:
        check_numbers(self)
        if sum((bool(self.text), self.task is not None, self.input is not None)) > 1:
            raise UserError("a text, --task and --input exclude each other: give one")
        if self.columns is not None and self.input is None:
            raise UserError("--columns are those of a file: name it with --input")
        for option, name in (
            ("--data", "data"),
            ("--no-labels", "labels"),
            ("--examples", "examples"),
        ):
            if self.text and getattr(self, name) != getattr(AttributionSettings, name):
                raise UserError(f"{option} changes nothing with a text: leave it out")
        if self.out.is_file():
            raise UserError(f"--out {self.out} is a file: give a folder")
        page = self.out / "errors.html"
        is_own = page.is_file() and OF_ITS_PAGES in page.read_text("utf-8", "replace")
        if not is_own and (page.exists() or page.with_suffix(".png").exists()):
            raise UserError(
                f"--out {self.out} holds another program's errors.html or errors.png: choose "
                "another folder"
            )


def examples_of(settings: AttributionSettings, predictor: Predictor) -> list[Any]:
    """What the model is to answer, with what is right where that is known."""
    saved, task = predictor.saved, predictor.task
    if settings.text:
        return task.from_texts(settings.text, pairs=saved.pairs)
    if settings.input is not None:
        return read_input(settings, task)[: settings.examples]
    name = settings.task or (saved.task if saved.task in STORYWORLD else None)
    if name is None:
        raise UserError("nothing to look into: give a text, --task NAME or --input FILE")
    data = load_named(name, settings.data)
    if data.task.format != task.format:
        raise UserError(
            f"--task {name} has {data.task.format}, and the model answers {task.format}"
        )
    return data.dev[: settings.examples]


def read_input(settings: AttributionSettings, task: Task) -> list[Any]:
    columns = parse_columns(settings.columns, labeled=settings.labels)
    if not settings.labels:
        return [each.example for each in from_source(settings.input, type(task), columns=columns)]
    return list(task.read(settings.input, columns=columns, labels=task.head.labels, stream=False))


def answers_of(predictor: Predictor, given: list[Any]) -> list[Case]:
    """Every answer of the model, right or wrong; where there is no text there is none."""
    finetuned, task = predictor.finetuned, predictor.task
    places = [place for place, each in enumerate(given) if not each.is_empty]
    examples = [given[place] for place in places]
    check_pairs(examples, predictor.saved)
    features = task.encode(examples, finetuned.tokenizer, max_length=predictor.max_length)
    named = "answering" if len(features) >= MANY else None
    logits = logits_of(finetuned.model, task, features, progress=named)
    predictions = task.predict(examples, features, logits)
    cases = cases_of(task, examples, features, predictions, finetuned.tokenizer)
    return [replace(c, features=c.features._replace(example=places[c.example])) for c in cases]


class Chosen(NamedTuple):
    """Cases to be shown, and in words which they are."""

    cases: list[Case]
    what: str


def chosen_cases(cases: list[Case], settings: AttributionSettings, task: Task) -> Chosen:
    """The errors, the surest first; where there is none, or nobody knows, answers as they come."""
    known = [case for case in cases if case.expected is not None]
    wrong = sorted((case for case in known if case.is_wrong), key=lambda case: -case.confidence)
    shown = (wrong or cases)[: settings.most]
    if not known:
        return Chosen(shown, f"What is right is not known; answers shown: {len(shown):,}.")
    if not wrong:
        return Chosen(shown, f"All {len(known):,} answers are right; shown: {len(shown):,}.")
    if isinstance(task, Regression):
        return Chosen(shown, f"Of {len(known):,} answers those are shown that are furthest off.")
    wrong_of = f"{len(wrong):,} of {len(known):,} answers are wrong"
    return Chosen(shown, f"{wrong_of}; those that the model is surest of come first.")


def note_of(test: MaskingTest | None) -> str:
    """The test in words."""
    if test is None:
        return ""
    return (
        f"A test of both: one word of each of {test.cases:,} answers is replaced by [MASK]. The "
        f"answer changes in {test.gradient:.1%} of cases if it is the word with the largest "
        f"gradient × input, in {test.attention:.1%} if the one with the highest attention weight, "
        f"in {test.random:.1%} if a random one."
    )


READ_AS = (
    "gradient: gradient × input, which is to the first order what a word adds to the answer's lead "
    "over the others; these numbers need not add up to anything. attention: the last layer's "
    "weights, from the token that the answer is read from, the mean of its heads; one head: of the "
    "head that gives the word most. Sums over the pieces of a word."
)


def attribute(settings: AttributionSettings) -> None:
    predictor = Predictor.open(settings.checkpoint, device=settings.device)
    examples = examples_of(settings, predictor)
    empty = sum(each.is_empty for each in examples)
    cases = answers_of(predictor, examples) if empty < len(examples) else []
    if not cases:
        raise UserError("there is no word to look at")
    shown, what = chosen_cases(cases, settings, predictor.task)
    attributor = Attributor(predictor.finetuned.model, predictor.task)
    found = []
    with progress_bar(len(shown), "attributing", unit="answer", disable=len(shown) < 20) as bar:
        for case in shown:
            found.append(attributor(case))
            bar.update()
    sample = cases[:: max(1, len(cases) // TESTED)][:TESTED]
    mask_id = predictor.finetuned.tokenizer.token_to_id("[MASK]")
    has_choice = not isinstance(predictor.task, Regression)
    test = None
    if len(examples) - empty > 1 and has_choice and mask_id is not None:
        test = masking_test(attributor, sample, mask_id=mask_id)
    left_out = f"Examples without text, left out but counted in the numbers: {empty:,}."
    notes = [note for note in (what, left_out if empty else "", READ_AS, note_of(test)) if note]
    for each in found:
        print(terminal_lines(each, color=has_colors()) + "\n")
    print("\n\n".join(map(wrapped, notes)))
    title = f"{settings.checkpoint.name}: " + ("errors" if shown[0].is_wrong else "answers")
    html, picture = settings.out / "errors.html", settings.out / "errors.png"
    settings.out.mkdir(parents=True, exist_ok=True)
    write_atomically(html, html_page(found, title=title, notes=notes))
    save_picture(found[:PICTURED], picture, title=title)
    print(f"\n{html}, {picture}")


@command
def main() -> None:
    attribute(tyro.cli(AttributionSettings, prog="python -m bert_experiments.attributions"))


if __name__ == "__main__":
    main()
