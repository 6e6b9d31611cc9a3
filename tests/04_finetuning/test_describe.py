"""Before training starts, the command says what it understood of the files."""

from pathlib import Path

import pytest

from bert_finetuning.data.load import describe, load_files, load_storyworld
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import Features
from bert_finetuning.tasks.classification import TextExample
from bert_finetuning.tasks.multiple_choice import Choice
from bert_finetuning.tasks.question_answering import Question
from bert_finetuning.tasks.tagging import TaggedSentence


def write(path: Path, labels: list) -> Path:
    rows = [f"{label}\ttext {number}" for number, label in enumerate(labels)]
    path.write_text("\n".join(["gold_label\tsentence", *rows]) + "\n", encoding="utf-8")
    return path


def lines_about(tmp_path: Path, train: list, dev: list, **given) -> list[str]:
    paths = [write(tmp_path / f"{n}.tsv", labels) for n, labels in (("a", train), ("b", dev))]
    settings = FinetuneSettings(
        train=str(paths[0]), dev=str(paths[1]), checkpoint="none", format="texts", **given
    )
    lines = describe(load_files(*paths, format="texts"), settings)
    assert max(len(line.replace(str(tmp_path), "")) for line in lines) <= 90
    return lines


def test_two_labels_are_said_with_columns_rows_and_counts(tmp_path):
    lines = lines_about(tmp_path, [*["pos"] * 1200, *["neg"] * 3, "-"], ["pos", "neg", "neg"])
    assert lines == [
        "task        a: one of 2 labels for each text (format texts)",
        "columns     text from 'sentence', label from 'gold_label'",
        f"train       {tmp_path}/a.tsv (tabs): 1,203 examples; 1 rows without a label left out",
        f"dev         {tmp_path}/b.tsv (tabs): 3 examples; of them also in train: 3",
        "labels               train      dev",
        "            neg          3        2",
        "            pos      1,200        1",
    ]


def test_dev_is_read_from_the_columns_of_train_where_it_has_them(tmp_path):
    train, dev, other = (tmp_path / f"{name}.csv" for name in ("train", "dev", "other"))
    train.write_text("review,target\n" + "It rains.,bad\nSun!,good\n" * 3, encoding="utf-8")
    dev.write_text("label,review,target,text\n1,Rain.,bad,other\n0,Sun!,good,other\n")
    other.write_text("label,text\nbad,Rain.\ngood,Sun!\n", encoding="utf-8")
    read = load_files(train, dev)
    assert [(each.text, each.label) for each in read.dev] == [("Rain.", "bad"), ("Sun!", "good")]
    settings = FinetuneSettings(train=str(train), dev=str(dev), checkpoint="none")
    assert "text from" not in describe(read, settings)[3], "the same columns need no word"
    read = load_files(train, other)
    assert [each.text for each in read.dev] == ["Rain.", "Sun!"]
    assert "2 examples; text from 'text', label from 'label'; of" in describe(read, settings)[3]


def test_of_forty_labels_the_commonest_are_said(tmp_path):
    labels = [f"label-{n:02}" for n in range(45) for _ in range(n + 1)]
    lines = lines_about(tmp_path, labels, labels)
    assert len(lines) == 5 + 5
    assert lines[4].split() == ["labels", "5", "of", "45", "train", "dev"]
    assert lines[5].split() == ["label-44", "45", "45"]
    assert len({len(line) for line in lines[4:]}) == 1, "one column below the other"


def test_how_long_texts_are_is_said_with_how_many_reach_the_limit():
    data = load_storyworld("sentiment", train=3, heldout=2)
    settings = FinetuneSettings(task="sentiment", checkpoint="none")
    features = [Features(0, [1] * length, [0] * length, {}) for length in (5, 9, 16)]
    told = "\n".join(describe(data, settings, features, 16))
    assert "lengths     median 9 tokens; 1 of 3 fill all 16 (--max-length)" in told
    told = "\n".join(describe(data, settings, features, 20))
    assert "lengths     median 9 tokens; 0 of 3 fill all 20 (--max-length)" in told


def test_a_long_label_is_shortened_and_few_examples_are_said(tmp_path):
    lines = lines_about(tmp_path, ["x" * 500, "y", "y"], ["y"], few_shot=2)
    assert "2 of 3 examples, drawn anew by each seed" in lines[2]


@pytest.mark.parametrize("name", STORYWORLD)
def test_every_kind_of_task_says_what_it_learns(name):
    data = load_storyworld(name, train=30, heldout=20)
    lines = describe(data, FinetuneSettings(task=name, checkpoint="none"))
    told = "\n".join(lines)
    assert lines[0].endswith(f"(format {data.task.format})")
    assert "30 examples" in told and "20 examples" in told
    assert "labels" in told or data.task.format != "texts"
    if data.task.format == "numbers":
        assert "in train, mean" in lines[-1]
    if data.task.format == "tags":
        assert lines[3].split() == ["tags", "5", "of", "7", "train", "dev"]


@pytest.mark.parametrize(
    "example",
    [TextExample(" "), TextExample("a", ""), Question("1", "", "a"), Question("1", "a", "\u00a0"),
     Choice("a", ("", "b")), TaggedSentence(())],
    ids=repr,
)  # fmt: skip
def test_an_example_without_text_is_empty(example):
    assert example.is_empty
    assert not TextExample("a", "b").is_empty
