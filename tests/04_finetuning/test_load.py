"""A task by its name or by its files; what is wrong with them is told with file and row."""

import json
import lzma
import re
from dataclasses import replace

import pytest
import transformers

from bert_corpus.storyworld.world import GOOD_FOOD, GOOD_SERVICE
from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.checkpoint import (
    FIELD,
    SavedTask,
    init_from_scratch,
    load_finetuned,
    save_finetuned,
    task_of,
)
from bert_finetuning.data import load
from bert_finetuning.data.load import few_of, infer_task, load_files, load_named, load_task
from bert_finetuning.data.rows import Columns, parse_columns
from bert_finetuning.data.storyworld import STORYWORLD, storyworld
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import HeadConfig
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_finetuning.tasks.question_answering import Question, QuestionAnswering
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging
from bert_run.config import BertConfig
from bert_run.errors import UserError

TYPES = {"sentiment": Classification, "pairs": Classification, "names": Tagging,
         "questions": QuestionAnswering, "stars": Regression, "endings": MultipleChoice,
         "reports": Classification, "who": QuestionAnswering, "kinds": Tagging}  # fmt: skip
TOKENIZER = bert_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"])
CONFIG = BertConfig(
    vocab_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=32,
)  # fmt: skip


def error_of(call, *args, **kwargs) -> str:
    with pytest.raises(UserError) as caught:
        call(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write(path, text: str):
    path.write_text(text, encoding="utf-8")
    return path


def lines(*rows: dict) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# By name.


@pytest.mark.parametrize("name", STORYWORLD)
def test_each_set_of_storyworld_opens_by_its_name(name):
    data = load.load_storyworld(name, train=30, heldout=20)
    assert type(data.task) is TYPES[name] and data.task.metrics == STORYWORLD[name].metrics
    assert (len(data.train), len(data.dev)) == (30, 20)
    features = data.task.encode(data.train, TOKENIZER, max_length=64)
    assert {each.example for each in features} == set(range(30))
    scores = data.task.score(data.dev, data.task.majority(data.train, data.dev))
    assert scores.keys() >= set(data.task.metrics)


def test_a_task_of_glue_opens_from_a_folder_and_from_the_hub(tmp_path, monkeypatch):
    table = "sentence1\tsentence2\tlabel\na\tb\tentailment\nb\tc\tnot_entailment\n"
    for split in ("train", "dev"):
        write(tmp_path / f"{split}.tsv", table)
    data = load_named("RTE", tmp_path)
    assert data.name == "rte" and data.is_pairs
    assert data.task == Classification(HeadConfig(("entailment", "not_entailment")), ("accuracy",))
    assert data.train == [TextExample("a", "b", "entailment"),
                          TextExample("b", "c", "not_entailment")]  # fmt: skip

    asked = []

    def from_hub(source, **options):
        asked.append((source, options["stream"]))
        return iter([TextExample("a", "b", 1.5)])

    monkeypatch.setattr(Regression, "read", from_hub)
    data = load_named("sts-b")
    assert type(data.task) is Regression and data.task.metrics == ("spearman", "pearson")
    assert asked == [("nyu-mll/glue:stsb@train", False),
                     ("nyu-mll/glue:stsb@validation", False)]  # fmt: skip


def test_known_tasks_find_their_files_packed_or_not(tmp_path):
    columns = "# a comment\n1\tAnna\tAnna\tPROPN" + "\t_" * 6 + "\n2\tsat\tsit\tVERB" + "\t_" * 6
    with lzma.open(tmp_path / "en_ewt-ud-train.conllu.xz", "wt") as file:
        file.write(columns + "\n")
    write(tmp_path / "en_ewt-ud-dev.conllu", columns + "\n")
    data = load_named("pos", tmp_path)
    assert data.train == data.dev == [TaggedSentence(("Anna", "sat"), ("PROPN", "VERB"))]
    assert data.task.metrics == ("accuracy",) and data.task.head.labels == ("PROPN", "VERB")
    message = error_of(load_named, "squad", tmp_path)
    assert "holds no train-v1.1.json" in message and "en_ewt-ud-dev.conllu" in message


def test_an_unknown_task_or_folder_is_told():
    message = error_of(load_named, "taste")
    assert all(name in message for name in (*STORYWORLD, "sst-2", "squad", "swag"))
    assert "there is no folder nowhere: --data" in error_of(load_named, "rte", "nowhere")
    assert "leave out --data" in error_of(load_named, "sentiment", ".")


def test_a_question_without_an_answer_lets_the_model_be_silent(tmp_path):
    answered = {"question": "a", "context": "b c", "answers": {"text": ["c"], "answer_start": [2]}}
    silent = {"question": "b", "context": "b c", "answers": {"text": [], "answer_start": []}}
    one = write(tmp_path / "one.jsonl", lines(answered))
    both = write(tmp_path / "both.jsonl", lines(answered, silent))
    assert not load_files(one, both).task.has_null
    assert load_files(both, one).task.has_null
    settings = FinetuneSettings(train=str(both), dev=str(one), checkpoint="none", null=False,
                                max_answer=7)  # fmt: skip
    task = load_task(settings).task
    assert not task.has_null and task.max_answer == 7


# By files.

FILES = {
    "texts": ("a.csv", "text,label\na,yes\nb,no\n"),
    "numbers": ("a.tsv", "sentence1\tsentence2\tscore\na\tb\t1.5\nb\tc\t4\n"),
    "tags": ("a.conll", "Anna B-PER\nsat O\n"),
    "questions": ("a.jsonl", lines({"question": "a", "context": "b",
                                    "answers": {"text": ["b"], "answer_start": [0]}})),
    "choices": ("a.csv", "sent1,sent2,ending0,ending1,label\na,b,c,d,1\n"),
}  # fmt: skip


@pytest.mark.parametrize("format", FILES)
def test_the_format_of_a_file_is_told_by_its_name_and_columns(format, tmp_path):
    name, content = FILES[format]
    path = write(tmp_path / name, content)
    assert infer_task(path).format == format
    data = load_files(path, path)
    assert data.task.format == format and data.train == data.dev
    assert data == load_files(path, path, format=format)


def test_squad_is_known_by_its_first_words_and_other_json_is_not(tmp_path):
    paragraph = {"context": "a b", "qas": [{"id": "1", "question": "a", "answers":
                 [{"text": "b", "answer_start": 2}]}]}  # fmt: skip
    squad = {"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]}
    for indent in (None, 2):
        path = write(tmp_path / "squad.json", json.dumps(squad, indent=indent))
        assert infer_task(path).format == "questions"
        assert load_files(path, path).train[0].answers[0].text == "b"
    path = write(tmp_path / "rows.json", lines({"text": "a", "label": "1"}))
    assert infer_task(path).format == "texts"
    assert "words in columns as .conll" in error_of(infer_task, write(tmp_path / "a.txt", "a"))


def test_labels_are_those_of_train_and_one_that_only_dev_has_is_told(tmp_path):
    train = write(tmp_path / "train.csv", "text,label\na,10\nb,9\nc,10\n")
    dev = write(tmp_path / "dev.csv", "text,label\na,9\nb,11\n")
    assert load_files(train, train).task.head.labels == ("9", "10")
    message = error_of(load_files, train, dev)
    assert "dev.csv: line 3" in message and "'11'" in message and "'9', '10'" in message
    with pytest.raises(UserError, match=r"train\.csv: line 2"):
        list(Classification.read(train, labels=("9", "11")))


BAD = {
    "missing column": ("a.csv", "words_,label\na,x\n", "line 2 has no 'text'"),
    "no label": ("a.csv", "text\na\n", "line 2 has no 'label'"),
    "one label": ("a.csv", "text,label\na,x\nb,x\n", "every label is 'x'"),
    "empty": ("a.csv", "", "there is no example"),
    "only names": ("a.csv", "text,label\n", "there is no example"),
    "wrong answer": ("a.jsonl", lines({"question": "a", "context": "b",
                     "answers": {"text": ["c"], "answer_start": [0]}}), "line 1: the answer 'c'"),
    "out of step": ("a.jsonl", lines({"words": ["a", "b"], "tags": ["O"]}), "2 words and 1 tags"),
    "no number": ("a.csv", "text,score\na,1.5\nb,2.5\nc,x\n", "'x'"),
    "no file": ("a.csv", None, "there is no such file"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_a_file_is_told_in_one_line_with_its_place(case, tmp_path):
    name, content, expected = BAD[case]
    path = tmp_path / name
    if content is not None:
        write(path, content)
    format = "numbers" if case == "no number" else None
    message = error_of(load_files, path, path, format=format)
    assert name in message and expected in message


@pytest.mark.parametrize("share", ["50%", "0.5%", "0,1", "1", "-0.1", "nan"])
def test_a_share_that_is_none__is_told_as_the_value_of_dev(share):
    settings = FinetuneSettings(train="a.csv", dev=share, checkpoint="none")
    assert error_of(load_task, settings).startswith(f"--dev {share}: give a FILE, or a share")


def test_train_and_dev_must_hold_the_same(tmp_path):
    single = write(tmp_path / "single.csv", "text,label\na,x\nb,y\n")
    pairs = write(tmp_path / "pairs.csv", "text_a,text_b,label\na,b,x\nb,c,y\n")
    message = error_of(load_files, single, pairs)
    assert "single.csv has single texts, and" in message and "pairs.csv has pairs" in message
    two = write(tmp_path / "two.csv", "sent1,ending0,ending1,label\na,b,c,0\n")
    three = write(tmp_path / "three.csv", "sent1,ending0,ending1,ending2,label\na,b,c,d,0\n")
    assert "has 2 endings" in error_of(load_files, two, three)
    both = write(tmp_path / "both.jsonl", lines(
        {"context": "a", "endings": ["b", "c"], "label": 0},
        {"context": "b", "endings": ["b", "c", "d"], "label": 0},
    ))  # fmt: skip
    message = error_of(load_files, both, both)
    assert "both.jsonl: example 2 ('b') has 3 endings, the first has 2" in message
    assert "choose texts, numbers" in error_of(load_files, two, two, format="poems")


def test_columns_are_named_or_numbered(tmp_path):
    assert parse_columns("q,r,s") == Columns("q", "r", "s")
    assert parse_columns("2,1") == Columns("2", None, "1")
    assert parse_columns("q,r", labeled=False) == Columns("q", "r", None)
    for wrong in ("a", "a,b,c,d", "a,,c", "1,b"):
        assert f"--columns {wrong}: " in error_of(parse_columns, wrong)
    path = write(tmp_path / "a.tsv", "yes\ta\nno\tb\n")
    settings = FinetuneSettings(train=str(path), dev=str(path), checkpoint="none", columns="2,1")
    assert load_task(settings).train == [
        TextExample("a", None, "yes"),
        TextExample("b", None, "no"),
    ]


# Few.


def test_few_examples_are_even_over_the_labels_and_drawn_by_the_seed():
    many = [TextExample(str(n), None, "rare" if n % 10 == 0 else "common") for n in range(200)]
    few = few_of(many, 10, seed=0)
    assert [example.label for example in few].count("rare") == 5
    assert few == few_of(many, 10, seed=0) != few_of(many, 10, seed=1)
    assert len(set(few)) == 10
    most = few_of(many, 60, seed=0)  # there are but 20 of the rare ones
    assert [example.label for example in most].count("rare") == 20
    assert "there are 200 examples" in error_of(few_of, many, 201, seed=0)


def test_few_examples_without_labels_are_drawn_evenly():
    questions = [Question(str(n), "a", "b") for n in range(50)]
    assert len(set(few_of(questions, 7, seed=0))) == 7
    assert few_of(questions, 50, seed=3) == questions


# What a folder remembers.


def saved(folder, task, name="mine", max_length=None):
    model = init_from_scratch(CONFIG, TOKENIZER, task.model, head=task.head, seed=0).model
    memory = max_length and SavedTask.of(task, name, max_length=max_length, pairs=True)
    save_finetuned(model, TOKENIZER, folder, memory)
    return folder


def test_a_folder_remembers_its_task_also_after_transformers_has_saved_it(tmp_path):
    task = replace(load.load_storyworld("who", train=20, heldout=5).task, null_threshold=0.3)
    folder = saved(tmp_path / "ours", task, "who", max_length=48)
    assert task_of(load_finetuned(folder))[0] == task
    again = tmp_path / "theirs"
    transformers.BertForQuestionAnswering.from_pretrained(folder).save_pretrained(again)
    for name in ("tokenizer.json", "vocab.txt", "tokenizer_config.json"):
        (again / name).write_bytes((folder / name).read_bytes())
    known, memory = task_of(load_finetuned(again))
    assert known == task and known.null_threshold == 0.3
    assert (memory.task, memory.format, memory.max_length) == ("who", "questions", 48)


def test_options_of_a_kind_are_remembered(tmp_path):
    task = QuestionAnswering(HeadConfig(), stride=17, has_null=True, null_threshold=-1.5)
    assert task_of(load_finetuned(saved(tmp_path / "a", task, max_length=30)))[0] == task


@pytest.mark.parametrize(
    "task",
    [Classification(HeadConfig(("x", "y")), ("accuracy", "macro_f1")),
     Regression(HeadConfig(("score",)), ("spearman", "pearson")),
     MultipleChoice(HeadConfig(), ("accuracy",)),
     Tagging(HeadConfig(("O", "B-PER", "I-PER")), ("entity_f1",)),
     Tagging(HeadConfig(("NOUN", "VERB")), ("accuracy",)), QuestionAnswering()],
)  # fmt: skip
def test_a_folder_that_remembers_nothing_is_known_by_its_class_and_labels(task, tmp_path):
    folder = saved(tmp_path / "a", task)
    finetuned = load_finetuned(folder)
    assert finetuned.task_field is None and task_of(finetuned)[0] == task


@pytest.mark.parametrize(
    "changes",
    [{"format": "tags"}, {"format": "numbers"}, {"metrics": ["f1"]}, {"options": {"stride": 1}}],
)
def test_a_model_that_was_trained_further_elsewhere__is_told_what_to_remove(changes, tmp_path):
    task = Classification(HeadConfig(("x", "y", "z")), ("accuracy",))
    path = saved(tmp_path / "a", task, max_length=30) / "config.json"
    content = json.loads(path.read_text())
    write(path, json.dumps(content | {FIELD: content[FIELD] | changes}))
    told = error_of(task_of, load_finetuned(path.parent))
    assert told.endswith(
        "if it was trained further elsewhere, remove bert_finetuning from config.json"
    )
    write(path, json.dumps({name: content[name] for name in content if name != FIELD}))
    assert task_of(load_finetuned(path.parent))[0].head == task.head


def test_a_damaged_memory_is_told(tmp_path):
    folder = saved(
        tmp_path / "a", Classification(HeadConfig(("x", "y")), ("accuracy",)), max_length=30
    )
    path = folder / "config.json"
    good = json.loads(path.read_text())
    for change, expected in (
        ({"max_length": "long"}, "'max_length' is 'long', not a whole number"),
        ({"format": "poems"}, "'poems'"),
        ({"format": "tags"}, "the model is a BertForSequenceClassification"),
        ({"options": {"colour": 1}}, "its bert_finetuning does not fit"),
        ({"metrics": ["f2"]}, "a: config.json: its bert_finetuning does not fit (--metric f2"),
    ):
        write(path, json.dumps(good | {FIELD: good[FIELD] | change}))
        assert expected in error_of(task_of, load_finetuned(folder))


# The labels of StoryWorld's sets follow from their texts.


def test_the_stars_are_the_number_of_things_that_are_praised():
    for split in ("train", "heldout"):
        for example in storyworld("stars", split, 200):
            judged = re.findall(r"the (\w+) was (not )?(\w+)", example.text.lower())
            assert {thing for thing, _, _ in judged} == {
                "food",
                "service",
                "bed",
                "music",
                "garden",
            }
            assert example.label == sum((word in PRAISE) != bool(no) for _, no, word in judged)


PRAISE = {
    "good",
    "great",
    "splendid",
    "superb",
    "wonderful",
    "excellent",
    *GOOD_FOOD,
    *GOOD_SERVICE,
}


def test_the_right_ending_stands_anywhere_and_no_ending_twice():
    examples = storyworld("endings", "train", 200)
    assert {example.label for example in examples} == {0, 1, 2, 3}
    assert all(len(set(example.endings)) == 4 for example in examples)
    for example in examples:
        right = example.endings[example.label]
        assert right not in example.context
        # Of three sentences at most: somewhere it takes up a word that was told.
        assert len(re.findall(r"\w+", example.context)) < 70
    overlap = [max(range(4), key=lambda n, e=e: shared(e, n)) == e.label for e in examples]
    assert sum(overlap) > 0.7 * len(overlap)  # what it shares with the context gives it away


def shared(example: Choice, place: int) -> int:
    """Words of an ending, longer than three letters, that stand in the context too."""
    context, ending = (set(re.findall(r"\w{4,}", text.lower()))
                       for text in (example.context, example.endings[place]))  # fmt: skip
    return len(context & ending)


def test_the_same_data_with_another_kind_is_still_the_same_task():
    data = load.load_storyworld("sentiment", train=4, heldout=4)
    assert replace(data, task=data.task) == data
