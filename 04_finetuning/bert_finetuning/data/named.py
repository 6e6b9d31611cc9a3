"""Tasks by name: those of GLUE (Wang et al. 2018), with their files, columns, labels and metrics;
and others, how their files are called where they are given out, and where the Hub keeps them.

`read_glue("rte", "glue_data/RTE", "train")` reads them as https://gluebenchmark.com gives them out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_corpus.documents import PACKED
from bert_finetuning.data.rows import Columns, Expected
from bert_finetuning.data.sources import at_least_one, lines_of, split_tsv, table_rows
from bert_finetuning.tasks.base import Task
from bert_finetuning.tasks.classification import Classification, TextExample
from bert_finetuning.tasks.multiple_choice import MultipleChoice
from bert_finetuning.tasks.question_answering import QuestionAnswering
from bert_finetuning.tasks.regression import Regression
from bert_finetuning.tasks.tagging import Tagging
from bert_run.errors import UserError

COLA_COLUMNS = ("source", "label", "mark", "sentence")  # its files begin without a line of names


@dataclass(frozen=True)
class GlueTask:
    """One task: what its columns are called, what its labels mean, how it is measured.

    The files say 0, 1, … or the labels' names; labels stand here in the order of their numbers on
    the Hub. One label, "score": a number is to be predicted.
    """

    name: str
    columns: Columns
    labels: tuple[str, ...]
    metrics: tuple[str, ...]  # names in `metrics.METRICS`; the first chooses between runs
    hub_config: str
    dev: str = "dev"  # MNLI has two, of the kinds of text that train has, and of others

    @property
    def task_type(self) -> type[Task]:
        return Regression if len(self.labels) == 1 else Classification

    def hub_name(self, split: str) -> str:
        """Where the Hub keeps a split, as `ID:CONFIG@SPLIT`."""
        names = {"train": "train", "dev": "validation", "test": "test"}
        part = "" if split == "train" else self.dev.removeprefix("dev")
        return f"nyu-mll/glue:{self.hub_config}@{names[split]}{part}"


YES_NO = ("not_entailment", "entailment")
ENTAILS = ("entailment", "not_entailment")
ENTAILS_OR_NOT = ("entailment", "neutral", "contradiction")

GLUE = {
    task.name: task
    for task in (
        # Is it a sentence of English?
        GlueTask("cola", Columns("sentence", None, "label"), ("unacceptable", "acceptable"),
                 ("matthews", "accuracy"), "cola"),
        # Is it praise?
        GlueTask("sst-2", Columns("sentence", None, "label"), ("negative", "positive"),
                 ("accuracy",), "sst2"),
        # Do both sentences mean the same?
        GlueTask("mrpc", Columns("#1 String", "#2 String", "Quality"),
                 ("not_equivalent", "equivalent"), ("f1", "accuracy"), "mrpc"),
        # Do both ask the same?
        GlueTask("qqp", Columns("question1", "question2", "is_duplicate"),
                 ("not_duplicate", "duplicate"), ("f1", "accuracy"), "qqp"),
        # How alike are they, from 0 to 5?
        GlueTask("sts-b", Columns("sentence1", "sentence2", "score"), ("score",),
                 ("spearman", "pearson"), "stsb"),
        # Does the second follow from the first? Then the same, on kinds of text that train has not
        GlueTask("mnli", Columns("sentence1", "sentence2", "gold_label"), ENTAILS_OR_NOT,
                 ("accuracy",), "mnli", "dev_matched"),
        GlueTask("mnli-mm", Columns("sentence1", "sentence2", "gold_label"), ENTAILS_OR_NOT,
                 ("accuracy",), "mnli", "dev_mismatched"),
        # Does the sentence answer the question?
        GlueTask("qnli", Columns("question", "sentence", "label"), ENTAILS, ("accuracy",), "qnli"),
        # Does the second follow from the first?
        GlueTask("rte", Columns("sentence1", "sentence2", "label"), ENTAILS, ("accuracy",), "rte"),
        # Does the second follow, with its pronoun filled in?
        GlueTask("wnli", Columns("sentence1", "sentence2", "label"), YES_NO, ("accuracy",), "wnli"),
    )
}  # fmt: skip

# CoLA as its authors give it out, where dev is in two parts: GLUE's dev.tsv is both, one after the
# other.
AUTHORS_FILES = {
    ("cola", "train"): ("in_domain_train.tsv",),
    ("cola", "dev"): ("in_domain_dev.tsv", "out_of_domain_dev.tsv"),
}


def find_glue(name: str) -> GlueTask:
    """A task by its name, however it is written: "SST-2", "sst2"."""
    plain = {key.replace("-", ""): task for key, task in GLUE.items()}
    try:
        return plain[name.lower().replace("-", "").replace("_", "")]
    except KeyError:
        raise UserError(f"there is no GLUE task {name!r}: choose {', '.join(GLUE)}") from None


def glue_files(task: GlueTask, folder: str | Path, split: str) -> list[Path]:
    """The file of a split, plain or packed, under GLUE's name or its authors'."""
    if split not in ("train", "dev", "test"):
        raise UserError(f"split {split!r}: choose train, dev or test")
    name = f"{split}{task.dev.removeprefix('dev') if split != 'train' else ''}.tsv"
    choices = [(name,), *filter(None, [AUTHORS_FILES.get((task.name, split))])]
    return first_files(Path(folder).expanduser(), choices, f"{name} of {task.name}")


def first_files(folder: Path, choices: Sequence[Sequence[str]], what: str) -> list[Path]:
    """The first choice of files that the folder holds all of, plain or packed."""
    for names in choices:
        ends = [[end for end in ("", *PACKED) if (folder / f"{name}{end}").is_file()]
                for name in names]  # fmt: skip
        if all(ends):
            return [folder / f"{name}{own[0]}" for name, own in zip(names, ends, strict=True)]
    raise UserError(holds_no(folder, what))


def holds_no(folder: Path, what: str) -> str:
    there = ", ".join(sorted(path.name for path in folder.glob("*"))[:10])
    return f"{folder} holds no {what}: it holds {there or 'nothing'}"


def read_glue(task: GlueTask | str, folder: str | Path, split: str) -> Iterator[TextExample]:
    """The examples of one split, one by one; those of `test` have no labels."""
    task = find_glue(task) if isinstance(task, str) else task
    for path in glue_files(task, folder, split):
        expected = Expected(task.columns, task.labels, labelled=split != "test")
        header = COLA_COLUMNS if task.name == "cola" and split != "test" else None
        # QQP is known to hold a few broken lines, which everyone passes over.
        rows = table_rows(str(path), split_tsv(lines_of(path)), header=header,
                          skip_short=task.name == "qqp")  # fmt: skip
        yield from at_least_one(task.task_type.parse(rows, expected), path)


# --- Others --------------------------------------------------------------------------------------

SPLITS = ("train", "dev", "test")


def no_test_set() -> UserError:
    return UserError(
        "--test own: this task gives out no test set with labels: name a FILE, --test FILE"
    )


@dataclass(frozen=True)
class KnownTask:
    """Files by the names that are usual, the first one that is there counts; names on the Hub."""

    task_type: type[Task]
    train: tuple[str, ...]
    dev: tuple[str, ...]
    hub: tuple[str, ...]  # train, dev and test
    test: tuple[str, ...] = ()  # where its labels are public

    def source(self, split: str, folder: Path | None) -> str:
        """Where the examples of train, dev or test are: a file in the folder, or on the Hub."""
        files = {"train": self.train, "dev": self.dev, "test": self.test}[split]
        if not files:
            raise no_test_set()
        if folder is None:
            return self.hub[SPLITS.index(split)]
        return str(first_files(folder, [(name,) for name in files], " or ".join(files))[0])


KNOWN = {
    "squad": KnownTask(
        QuestionAnswering, ("train-v1.1.json",), ("dev-v1.1.json",),
        ("rajpurkar/squad@train", "rajpurkar/squad@validation"),
    ),
    "squad2": KnownTask(
        QuestionAnswering, ("train-v2.0.json",), ("dev-v2.0.json",),
        ("rajpurkar/squad_v2@train", "rajpurkar/squad_v2@validation"),
    ),
    "conll2003": KnownTask(
        Tagging, ("eng.train", "train.txt", "train.conll"),
        ("eng.testa", "valid.txt", "dev.txt", "dev.conll"),
        ("lhoestq/conll2003@train", "lhoestq/conll2003@validation", "lhoestq/conll2003@test"),
        ("eng.testb", "test.txt", "test.conll"),
    ),
    "wnut17": KnownTask(
        Tagging, ("wnut17train.conll", "train.conll"), ("emerging.dev.conll", "dev.conll"),
        ("manu/wnut_17@train", "manu/wnut_17@validation", "manu/wnut_17@test"),
        ("emerging.test.annotated", "test.conll"),
    ),
    "pos": KnownTask(
        Tagging, ("en_ewt-ud-train.conllu",), ("en_ewt-ud-dev.conllu",),
        ("universal-dependencies/universal_dependencies:en_ewt@train",
         "universal-dependencies/universal_dependencies:en_ewt@validation",
         "universal-dependencies/universal_dependencies:en_ewt@test"),
        ("en_ewt-ud-test.conllu",),
    ),
    "swag": KnownTask(
        MultipleChoice, ("train.csv",), ("val.csv",),
        ("allenai/swag:regular@train", "allenai/swag:regular@validation"),
    ),
}  # fmt: skip
