"""GLUE as it is given out: every task's file, columns, labels and metrics."""

import gzip

import pytest

from bert_corpus import hub
from bert_finetuning.data.load import GLUE, find_glue, read_glue
from bert_finetuning.metrics import METRICS
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_run.errors import UserError

MNLI_NAMES = (
    "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse "
    "sentence2_parse sentence1 sentence2 label1 gold_label"
)

# A training file of each task as GLUE gives it out, cut to one line: its name, its columns, a row,
# and the example that is meant.
FILES = {
    "cola": ("train.tsv", None, "gj04|0|*|Them go.", TextExample("Them go.", None, "unacceptable")),
    "sst-2": ("train.tsv", "sentence label", "so good |1",
              TextExample("so good ", None, "positive")),
    "mrpc": ("train.tsv", "Quality|#1 ID|#2 ID|#1 String|#2 String", '1|7|8|He "ran|"He" ran.',
             TextExample('He "ran', '"He" ran.', "equivalent")),
    "qqp": ("train.tsv", "id qid1 qid2 question1 question2 is_duplicate", "1|2|3|Why?|How?|0",
            TextExample("Why?", "How?", "not_duplicate")),
    "sts-b": ("train.tsv", "index genre filename year old_index source1 source2 sentence1 "
              "sentence2 score", "0|main|M|2012|1|none|none|A plane.|A jet.|4.750",
              TextExample("A plane.", "A jet.", 4.75)),
    "mnli": ("train.tsv", MNLI_NAMES, "0|1|2|fiction|(a)|(b)|(A)|(B)|a|b|neutral|contradiction",
             TextExample("a", "b", "contradiction")),
    "mnli-mm": ("train.tsv", MNLI_NAMES, "0|1|2|fiction|(a)|(b)|(A)|(B)|a|b|x|entailment",
                TextExample("a", "b", "entailment")),
    "qnli": ("train.tsv", "index question sentence label", "0|When?|In 911.|entailment",
             TextExample("When?", "In 911.", "entailment")),
    "rte": ("train.tsv", "index sentence1 sentence2 label", "0|It rains.|It is wet.|not_entailment",
            TextExample("It rains.", "It is wet.", "not_entailment")),
    "wnli": ("train.tsv", "index sentence1 sentence2 label", "0|It fell.|The cup fell.|1",
             TextExample("It fell.", "The cup fell.", "entailment")),
}  # fmt: skip


def table(names: str | None, *rows: str) -> str:
    lines = [] if names is None else [names.replace(" ", "\t") if "|" not in names else names]
    return "".join(line.replace("|", "\t") + "\n" for line in [*lines, *rows])


def error_of(*args) -> str:
    with pytest.raises(UserError) as caught:
        list(read_glue(*args))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", GLUE)
def test_a_task_reads_its_file_as_glue_gives_it_out(name, tmp_path):
    file, names, row, example = FILES[name]
    (tmp_path / file).write_text(table(names, row), encoding="utf-8-sig")  # MRPC's begins so
    assert list(read_glue(name, tmp_path, "train")) == [example]


@pytest.mark.parametrize("name", GLUE)
def test_what_a_task_says_of_itself_fits_together(name):
    task = GLUE[name]
    assert set(task.metrics) <= METRICS.keys()
    assert len(set(task.labels)) == len(task.labels)
    is_number = TASKS[task.format] is Regression
    assert is_number == (name == "sts-b") == ("pearson" in task.metrics)
    assert task.name == name


def test_the_labels_stand_in_the_order_of_the_hub():
    """What the dataset cards of nyu-mll/glue say; a model of the Hub numbers its labels so."""
    assert GLUE["mnli"].labels == ["entailment", "neutral", "contradiction"]
    assert GLUE["rte"].labels == GLUE["qnli"].labels == ["entailment", "not_entailment"]
    assert GLUE["wnli"].labels == ["not_entailment", "entailment"]
    assert GLUE["sst-2"].labels == ["negative", "positive"]


def test_the_nine_tasks_of_glue_are_there_mnli_twice():
    assert GLUE.keys() == {"cola", "sst-2", "mrpc", "qqp", "sts-b", "mnli", "mnli-mm", "qnli",
                           "rte", "wnli"}  # fmt: skip


@pytest.mark.parametrize("name", ["SST-2", "sst2", "sst_2", "MNLI-mm", "CoLA", "stsb", "STS-B"])
def test_a_task_is_found_however_it_is_written(name):
    assert find_glue(name).name.replace("-", "") == name.lower().replace("-", "").replace("_", "")


def test_an_unknown_task_is_told(tmp_path):
    assert "there is no task 'glue': choose sentiment, pairs" in error_of("glue", tmp_path, "train")


def test_mnli_has_two_sets_to_be_measured_on(tmp_path):
    for part in ("matched", "mismatched"):
        row = f"0|1|2|x|(a)|(b)|(A)|(B)|{part}|b|x|neutral"
        (tmp_path / f"dev_{part}.tsv").write_text(table(MNLI_NAMES, row))
    for name, part in (("mnli", "matched"), ("mnli-mm", "mismatched")):
        (example,) = read_glue(name, tmp_path, "dev")
        assert example.text == part


def test_cola_as_its_authors_give_it_out_has_dev_in_two_parts(tmp_path):
    (tmp_path / "in_domain_train.tsv").write_text("gj04\t1\t\tThey went.\n")
    (tmp_path / "in_domain_dev.tsv").write_text("gj04\t1\t\tThey go.\n")
    assert "holds no dev.tsv" in error_of("cola", tmp_path, "dev")  # half of it is not it
    (tmp_path / "out_of_domain_dev.tsv").write_text("clc95\t0\t*\tThem go.\n")
    assert [e.text for e in read_glue("cola", tmp_path, "dev")] == ["They go.", "Them go."]
    assert [e.label for e in read_glue("cola", tmp_path, "train")] == ["acceptable"]


def test_files_can_be_packed(tmp_path):
    (tmp_path / "dev.tsv.gz").write_bytes(gzip.compress(b"sentence\tlabel\nso bad\t0\n"))
    assert list(read_glue("sst-2", tmp_path, "dev")) == [TextExample("so bad", None, "negative")]


def test_the_broken_lines_of_qqp_are_passed_over_and_of_no_other_task(tmp_path):
    names = "id qid1 qid2 question1 question2 is_duplicate"
    (tmp_path / "train.tsv").write_text(table(names, "1|2|3|Why?|How?|1", "cut|off", "4|5|6|a|b|0"))
    assert [e.label for e in read_glue("qqp", tmp_path, "train")] == ["duplicate", "not_duplicate"]
    (tmp_path / "train.tsv").write_text(table("sentence label", "fine|1", "cut off"))
    assert "line 3 has 1 columns, not the 2" in error_of("sst-2", tmp_path, "train")


def test_a_label_that_the_task_has_not_is_told_with_its_line(tmp_path):
    (tmp_path / "dev.tsv").write_text(table("sentence label", "fine|1", "well|2"))
    message = error_of("sst-2", tmp_path, "dev")
    assert "dev.tsv: line 3: the label is '2', not one of 'negative', 'positive'" in message


def test_a_folder_that_lacks_the_file_says_what_it_has(tmp_path):
    (tmp_path / "train.tsv").write_text("sentence\tlabel\n")
    assert "holds no dev.tsv of sst-2: it holds train.tsv" in error_of("sst-2", tmp_path, "dev")
    assert "there is no example in it" in error_of("sst-2", tmp_path, "train")
    (tmp_path / "empty").mkdir()
    assert "it holds nothing" in error_of("rte", tmp_path / "empty", "train")
    no_folder = f"there is no folder {tmp_path / 'else'}: --data names the one with train.tsv"
    assert no_folder in error_of("rte", tmp_path / "else", "train")


def test_a_task_knows_its_name_on_the_hub():
    assert GLUE["sst-2"].hub["train"] == "nyu-mll/glue:sst2@train"
    assert GLUE["sts-b"].hub["test"] == "nyu-mll/glue:stsb@test"
    assert GLUE["mnli"].hub["train"] == "nyu-mll/glue:mnli@train"
    assert GLUE["mnli-mm"].hub["dev"] == "nyu-mll/glue:mnli@validation_mismatched"


@pytest.mark.parametrize("stream", [True, False])
def test_the_hubs_rows_of_a_task_are_the_examples_of_its_file(monkeypatch, stream):
    import datasets

    text = datasets.Value("string")
    features = datasets.Features(
        sentence1=text, sentence2=text, idx=datasets.Value("int32"),
        label=datasets.ClassLabel(names=["not_equivalent", "equivalent"]),
    )  # fmt: skip
    columns = {"sentence1": ['He "ran'], "sentence2": ['"He" ran.'], "label": [1], "idx": [0]}
    rows = datasets.Dataset.from_dict(columns, features=features)

    def load(id, config, *, split, streaming):
        assert (id, config, split) == ("nyu-mll/glue", "mrpc", "train")
        return rows.to_iterable_dataset() if streaming else rows

    monkeypatch.setattr(datasets, "load_dataset", load)
    info = type("Info", (), {"sha": "1"})
    monkeypatch.setattr(hub.huggingface_hub.HfApi, "dataset_info", lambda *_, **__: info)
    task = GLUE["mrpc"]
    found = Classification.read(task.hub["train"], labels=task.labels, stream=stream)
    assert list(found) == [FILES["mrpc"][-1]]
