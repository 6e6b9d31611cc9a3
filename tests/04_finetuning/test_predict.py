"""`bert-predict`: new text from everywhere, answers for people and for programs."""

import inspect
import io
import json
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning import predict
from bert_finetuning.checkpoint import SavedTask, init_from_scratch, save_finetuned
from bert_finetuning.predict import Predictor, PredictSettings, from_source
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.base import HeadConfig, Prediction
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_finetuning.tasks.question_answering import Question, QuestionAnswering
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging, sentence_of
from bert_paper.cpu_kernels import CpuSelfAttention
from bert_run.config import BertConfig
from bert_run.errors import UserError

WORDS = ["anna", "sat", "in", "paris", "the", "cat", ".", ",", "who", "?", "good", "bad"]
TOKENIZER = bert_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
CONFIG = BertConfig(
    vocab_size=5 + len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=40,
)  # fmt: skip
NAMES = Tagging(HeadConfig(("O", "B-PER", "I-PER", "B-LOC")), ("entity_f1",))
KINDS = {
    "texts": (Classification(HeadConfig(("bad", "good")), ("accuracy",)), TextExample("a")),
    "pairs": (Classification(HeadConfig(("no", "yes")), ("accuracy",)), TextExample("a", "b")),
    "numbers": (Regression(HeadConfig(("stars",)), ("pearson",)), TextExample("a")),
    "tags": (NAMES, TaggedSentence(("a",))),
    "pos": (Tagging(HeadConfig(("NOUN", "VERB")), ("accuracy",)), TaggedSentence(("a",))),
    "questions": (QuestionAnswering(HeadConfig(), has_null=False), Question("1", "a", "b")),
    "choices": (MultipleChoice(HeadConfig(), ("accuracy",)), Choice("a", ("b", "c"))),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A fine-tuned folder of each kind."""
    base = tmp_path_factory.mktemp("finetuned")
    for name, (task, example) in KINDS.items():
        start = init_from_scratch(CONFIG, TOKENIZER, task.model, head=task.head, seed=1)
        memory = SavedTask.of(task, name, max_length=32, pairs=example.shape == "pairs")
        save_finetuned(start.model, TOKENIZER, base / name, memory)
    return base


@pytest.fixture
def call(folders, monkeypatch, capsys):
    """`call("texts", "a text", "--json")`: what the command prints, or its error."""

    def run(kind: str, *arguments: str, stdin: str = "", error: bool = False) -> str:
        argv = ["bert-predict", *arguments, "--checkpoint", str(folders / kind), "--device", "cpu"]
        monkeypatch.setattr(sys, "argv", argv)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        if not error:
            predict.main()
            return capsys.readouterr().out
        with pytest.raises(SystemExit) as stopped:
            predict.main()
        told = capsys.readouterr()
        assert stopped.value.code == 2 and told.out == ""
        assert told.err.startswith("error: ") and told.err.count("\n") == 1
        return told.err

    return run


def error_of(function, *args, **kwargs) -> str:
    with pytest.raises(UserError) as caught:
        list(function(*args, **kwargs))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_two_texts_at_once__are_refused_by_a_model_of_one_segment(kind):
    task, example = KINDS[kind]
    config = CONFIG.with_changes(type_vocab_size=1)
    model = init_from_scratch(config, TOKENIZER, task.model, head=task.head, seed=1).model
    if kind in ("pairs", "questions", "choices"):
        told = error_of(task.answers, [example], model, TOKENIZER, max_length=32)
        assert "type_vocab_size is 1: two texts that are read together need 2 segments" in told
    else:
        assert task.answers([example], model, TOKENIZER, max_length=32)


@pytest.mark.parametrize("kind", ["tags", "questions", "choices"])
@pytest.mark.parametrize("option", [("--input", "a"), ("--score", "a,b")])
def test_columns__are_refused_where_they_would_not_be_read(kind, option, call, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    told = call(kind, option[0], str(path), "--columns", option[1], error=True)
    assert f"--columns is for texts and numbers; {TASKS[kind].format} have names" in told


# Every kind, from arguments.

ARGUMENTS = {
    "texts": (["anna sat"], {"text": "anna sat"}),
    "pairs": (["anna sat", "--pair", "the cat"], {"text": "anna sat", "pair": "the cat"}),
    "numbers": (["anna sat"], {"text": "anna sat"}),
    "tags": (["Anna sat."], {"text": "Anna sat.", "words": ["Anna", "sat", "."]}),
    "pos": (["Anna sat."], {"words": ["Anna", "sat", "."], "places": [[0, 4], [5, 8], [8, 9]]}),
    "questions": (["--question", "Who?", "--context", "Anna sat in Paris."], {"question": "Who?"}),
    "choices": (["Anna sat", "in Paris", "the cat", "bad"], {"context": "Anna sat"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_each_kind_answers_for_the_words_of_a_command_line(kind, call):
    arguments, expected = ARGUMENTS[kind]
    (answer,) = map(json.loads, call(kind, *arguments, "--json").splitlines())
    assert answer.items() >= expected.items() and "right" not in answer
    told = call(kind, *arguments)
    assert told.strip() and "\033" not in told


def test_labels_are_shown_with_their_probabilities_the_likeliest_first(call):
    *text, first, second = call("texts", "anna sat", "the cat").split("\n\n")[1].splitlines()
    assert text == ["the cat"]
    shares = [float(line.split()[0].rstrip("%")) for line in (first, second)]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(100, abs=0.2)
    assert len(call("texts", "anna", "--top", "1").splitlines()) == 2


def test_json__holds_all_labels_and_five_answers_as_the_help_of_top_says(call):
    assert len(json.loads(call("texts", "anna", "--json", "--top", "1"))["probabilities"]) == 2
    asked = ("--question", "Who sat?", "--context", "Anna sat. The cat sat in Paris.")
    assert len(json.loads(call("questions", *asked, "--json", "--top", "9"))["candidates"]) == 5
    assert call("questions", *asked, "--top", "9").count("%") == 9
    assert "(JSON holds all; of answers five)" in inspect.getsource(PredictSettings)


def test_an_answer_is_cut_out_of_its_context_with_its_place(call):
    context = "Anna sat. Who? The cat sat in Paris."
    answer = json.loads(call("questions", "Who sat", context, "--json"))
    assert context[answer["start"] :].startswith(answer["answer"]) and answer["answer"]
    told = call("questions", "Who sat", context)
    assert f"characters {answer['start']} to" in told and f"[{answer['answer']}]" in told


# Files and standard input.


@pytest.mark.parametrize(
    "kind, name, content, count",
    [
        ("texts", "a.txt", "anna sat\n\nthe cat\n", 3),
        ("texts", "a.csv", "text,label\nanna,good\n", 1),
        ("texts", "a.tsv", "index\tsentence\n0\tanna\n1\tcat\n", 2),
        ("pairs", "a.txt", "anna\tcat\n", 1),
        ("pairs", "a.jsonl", '{"premise": "anna", "hypothesis": "cat"}\n', 1),
        ("pairs", "a.jsonl", '{"text": "anna", "pair": "cat"}\n', 1),
        ("tags", "a.txt", "Anna sat in Paris.\n", 1),
        ("tags", "a.conll", "Anna B-PER\nsat O\n\nthe O\n", 2),
        ("tags", "a.bio", "Anna\nsat\n", 1),
        ("tags", "a.jsonl", '{"words": ["Anna", "sat"]}\n{"text": "Anna sat."}\n', 2),
        ("questions", "a.txt", "Who?\tAnna sat.\n", 1),
        ("questions", "a.jsonl", '{"question": "Who?", "context": "Anna sat."}\n', 1),
        ("questions", "a.json", json.dumps({"data": [{"paragraphs": [{"context": "Anna", "qas": [
            {"id": "1", "question": "Who?"}]}]}]}), 1),
        ("choices", "a.txt", "anna\tsat\tcat\nanna\tsat\tcat\tin\n", 2),
        ("choices", "a.csv", "sent1,ending0,ending1\nanna,sat,cat\n", 1),
    ],
)  # fmt: skip
def test_a_file_is_read_in_the_formats_of_training_without_labels(
    kind, name, content, count, call, tmp_path
):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert len(call(kind, "--input", str(path), "--json").splitlines()) == count
    assert len(call(kind, "--input", str(path)).splitlines()) == count


def test_standard_input_holds_lines_of_text_or_of_json(call):
    plain = call("texts", stdin="anna sat\nthe cat\n")
    assert [line.split("\t")[2] for line in plain.splitlines()] == ["anna sat", "the cat"]
    asked = '{"text": "anna sat"}\n\n{"text": "the cat"}\n'
    assert call("texts", "--input", "-", stdin=asked) == plain
    assert "there is no example" in call("texts", stdin="", error=True)
    message = call("texts", stdin='{"text": "anna"}\n{oh\n', error=True)
    assert "standard input: line 2 is not JSON" in message
    message = call("texts", stdin='{"text": "anna"}\n{"text": "a", "score": NaN}\n', error=True)
    assert "standard input: line 2 is not JSON (NaN is no value of JSON" in message
    assert "line 1 holds NUL bytes" in call("texts", stdin="\0" * 9, error=True)


def test_answers_come_in_the_order_of_the_questions_whatever_their_length(call, monkeypatch):
    texts = ["anna " * (1 + n * 7 % 11) for n in range(25)]
    given = "".join(text.strip() + "\n" for text in texts)
    together = call("texts", "--json", stdin=given)
    assert [json.loads(line)["text"] for line in together.splitlines()] == [
        text.strip() for text in texts
    ]
    monkeypatch.setattr(predict, "QUERIES_AT_ONCE", 4)
    each = [json.loads(line)["probabilities"]["good"] for line in together.splitlines()]
    again = call("texts", "--json", stdin=given).splitlines()
    assert [json.loads(line)["probabilities"]["good"] for line in again] == pytest.approx(each)


def test_columns_of_a_table_can_be_named_and_numbered(call, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,anna\n2,cat\n")
    told = call("texts", "--input", str(path), "--columns", "2")
    assert [line.split("\t")[2] for line in told.splitlines()] == ["anna", "cat"]


# What cannot be answered.


@pytest.mark.parametrize(
    "kind, arguments, expected",
    [
        ("pairs", ["anna"], "has learned from pairs"),
        ("texts", ["anna", "--pair", "cat"], "has learned from single texts"),
        (
            "texts",
            ["anna", "cat", "--pair", "cat"],
            "text 1 has 3 parts; those of texts are text and pair",
        ),
        ("texts", ["--question", "Who?"], "this model does texts"),
        ("questions", ["--question", "Who?"], "has 1 parts; those of questions are question and"),
        ("questions", ["Who?", "Anna", "sat"], "text 1 has 3 parts"),
        ("choices", ["anna", "sat"], "1 endings: a choice needs a beginning and two"),
        ("texts", ["anna", "--input", "a.txt"], "exclude each other"),
        ("texts", ["anna", "--top", "0"], "--top is 0"),
        ("texts", ["anna", "--max-length", "99"], "reads 40 tokens at most"),
        ("texts", ["--input", "nowhere.txt"], "nowhere.txt: there is no such file"),
        ("nowhere", ["anna"], "nowhere"),
    ],
)
def test_what_cannot_be_answered_is_told_in_one_line(kind, arguments, expected, call):
    assert expected in call(kind, *arguments, error=True)


def test_lines_with_too_many_or_too_few_parts_are_told_with_their_place(tmp_path):
    path = tmp_path / "a.txt"
    for format, line, expected in (
        ("texts", "a\tb\tc", "line 2 has 3 parts"),
        ("questions", "a", "line 2 has 1 parts; those of questions are question and context"),
        ("choices", "a\tb", "a choice needs a beginning and two"),
    ):
        path.write_text(f"\n{line}\n")
        message = error_of(from_source, str(path), TASKS[format])
        assert "a.txt: line 2" in message and expected in message


# From Python.

CALLS = {
    "texts": ("anna sat", {"text": "anna sat"}),
    "pairs": (("anna sat", "the cat"), {"text": "anna sat", "pair": "the cat"}),
    "numbers": ("anna sat", {"text": "anna sat"}),
    "tags": ("Anna sat.", {"words": ["Anna", "sat", "."]}),
    "questions": (("Who?", "Anna sat."), {"question": "Who?", "context": "Anna sat."}),
    "choices": (("Anna sat", "in", "bad"), {"context": "Anna sat", "endings": ["in", "bad"]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", CALLS)
def test_predictor__answers_a_text_a_list_and_a_row_like_the_command(kind, call, folders):
    given, row = CALLS[kind]
    predictor = Predictor.open(folders / kind, device="cpu")
    words = [given] if isinstance(given, str) else given
    (told,) = map(json.loads, call(kind, *words, "--json").splitlines())
    answer = predictor(given)
    assert answer == told and predictor([given, given]) == [told, told]
    for same in (predictor(row), predictor(**row)):
        assert same.keys() >= answer.keys() - {"text", "places", "id"}
        for name in answer.keys() - {"text", "places", "id", "entities"}:
            assert same[name] == answer[name]


def test_predictor__answers_every_item_in_its_place_and_passes_columns_on(folders):
    predictor = Predictor.open(folders / "texts", device="cpu")
    given = ["anna", "", {"text": "the cat", "id": 7}, "sat " * 30]
    answers = predictor(given)
    assert [each["text"] for each in answers] == ["anna", "", "the cat", "sat " * 30]
    assert answers[1] == {"text": "", "empty": True} and answers[2]["row"] == {"id": 7}
    (same,) = predictor([{"note": "anna", "text": "anna"}])
    assert same["row"] == {"note": "anna"}, "a column that repeats the text is one all the same"
    assert predictor([]) == []
    column = np.array(["anna", "the cat"])
    assert predictor(column) == predictor(iter(column)) == predictor(["anna", "the cat"])


def test_predictor__takes_texts_of_numpy_and_keys_of_any_type(folders):
    predictor = Predictor.open(folders / "texts", device="cpu")
    assert predictor(np.str_("anna")) == predictor("anna")
    assert predictor({"text": "anna", "more": {1: "a"}, 2: None})["row"] == {
        "more": {"1": "a"}, "2": None,
    }  # fmt: skip


def test_predictor__refuses_options_that_the_command_would_refuse(folders):
    told = error_of(Predictor.open, folders / "texts", precision="fp16")
    assert told == "precision is 'fp16': choose auto, fp32 or bf16"
    short = Predictor.open(folders / "texts", device="cpu", max_length=0)
    assert "0 tokens at once are too few" in error_of(short, "anna")
    twice = partial(Predictor.open(folders / "texts", device="cpu"), text="the cat")
    assert "text is given twice" in error_of(twice, "anna")


def test_predictor__computes_as_training_does_so_that_both_give_one_answer(folders):
    model = Predictor.open(folders / "questions", device="cpu").finetuned.model.bert
    assert any(isinstance(part, CpuSelfAttention) for part in model.modules())


@pytest.mark.parametrize("answers, is_noted", [([], True), (["anna"], False)])
def test_score__notes_questions_that_the_model_cannot_leave_unanswered(
    answers, is_noted, folders, tmp_path, capsys, monkeypatch
):
    where = {"text": answers, "answer_start": [0] * len(answers)}
    row = {"question": "who?", "context": "anna sat", "answers": where}
    (tmp_path / "q.jsonl").write_text(json.dumps(row) + "\n")
    argv = ["bert-predict", "--score", str(tmp_path / "q.jsonl"), "--checkpoint",
            str(folders / "questions"), "--device", "cpu"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", argv)
    predict.main()
    assert ("this model always gives one" in capsys.readouterr().err) == is_noted


def test_what_is_cut__is_told_once_for_each_number_of_endings_without_a_wrong_place(
    folders, capsys
):
    predictor = Predictor.open(folders / "choices", device="cpu", max_length=10)
    rows = [
        {"context": f"anna {'sat ' * n * 9}", "endings": ["in"] * (2 + n % 2)} for n in range(8)
    ]
    predictor([{"context": "", "endings": ["a", "b"]}, *rows])
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(" are longer")[0] for line in told] == [
        "note: 6 of 8 pairs with an ending", "note: 12 of 12 pairs with an ending",
    ]  # fmt: skip
    assert all("the first is 'anna sat" in line for line in told)


@pytest.mark.parametrize("kind", ["tags", "pos"])
def test_a_word_with_a_line_end__stays_on_its_line(kind, call):
    told = call(kind, stdin='{"words": ["anna\\nsat", "in"]}\n{"words": ["the"]}\n')
    assert told.count("\n") == 2 and "anna sat" in told


@pytest.mark.parametrize("kind, given, problem", [
    ("texts", None, "item 1 is None: give a text, a tuple of texts or a dict"),
    ("texts", ["anna", float("nan")], "item 2 is nan: give a text"),
    ("texts", np.array([["anna", "cat"]]), "a table of several columns: give one column"),
    ("texts", ("anna", "cat"), "has learned from single texts"),
    ("texts", ("anna", "cat", "sat"), "item 1 has 3 parts; those of texts are text and pair"),
    ("texts", {"words": "anna"}, "item 1 has no 'text'"),
    ("texts", {1: "anna"}, "item 1 has no 'text': its columns are '1'"),
    ("texts", np.array(7), "item 1 is array(7): give a text"),
    ("questions", "Who?", "item 1 has 1 parts"),
])  # fmt: skip
def test_predictor__says_in_one_line_what_it_cannot_read(kind, given, problem, folders):
    assert problem in error_of(Predictor.open(folders / kind, device="cpu"), given)


ROOT = Path(__file__).parents[2]
BLOCK = re.compile("```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "04_finetuning/README.md"])
def test_predictor__runs_as_the_pages_show_it(page, folders, tmp_path, monkeypatch, capsys):
    code = [part for part in BLOCK.findall((ROOT / page).read_text("utf-8")) if "Predictor" in part]
    (tmp_path / "runs").mkdir()
    for name, kind in (("sentiment", "texts"), ("questions", "questions")):
        (tmp_path / "runs" / name).symlink_to(folders / kind)
    monkeypatch.chdir(tmp_path)
    assert code
    for part in code:
        exec(part, {})
    assert capsys.readouterr().out


# Words and marks.


@pytest.mark.parametrize(
    "text, words",
    [
        ("Anna sat in Paris, alone.", "Anna|sat|in|Paris|,|alone|."),
        ("The U.S. paid 3,000.50 dollars.", "The|U.S.|paid|3,000.50|dollars|."),
        ("Anna's well-known O'Neil don't", "Anna|'s|well-known|O'Neil|don't"),
        ("“Oui”, said Zoë – naïve…", "“|Oui|”|,|said|Zoë|–|naïve|…"),
        ("Cafe\u0301 #fun @anna 😀😀 https://a.b/c?d=1 x", "Cafe\u0301|#fun|@anna|😀|😀|https://a.b/c?d=1|x"),
        ("  ", ""),
    ],
)  # fmt: skip
def test_a_text_is_split_into_words_and_punctuation_each_with_its_place(text, words):
    found = sentence_of(text)
    assert "|".join(found.words) == words
    assert [text[start:end] for start, end in found.places] == list(found.words)


TAGGED = Prediction(("B-PER", "I-PER", "O", "B-LOC", "O"), (0.9, 0.8, 1.0, 0.7, 1.0))


def test_entities_are_marked_in_the_sentence_as_it_was_given():
    asked = sentence_of("Anna  Hill likes Paris.")
    told = NAMES.render(asked, TAGGED)
    assert told == "[Anna  Hill PER] likes [Paris LOC]."
    first, second = NAMES.to_json(asked, TAGGED)["entities"]
    assert (first["text"], first["start"], first["end"]) == ("Anna  Hill", 0, 10)
    assert (second["type"], second["start"], second["end"]) == ("LOC", 17, 22)
    told = NAMES.render(TaggedSentence(asked.words), TAGGED)
    assert told == "[Anna Hill PER] likes [Paris LOC] ."


def test_arguments_that_are_no_text_at_all_do_not_stop_the_model():
    (asked,) = Classification.from_texts(("caf\udce9",))
    assert asked.text == "caf\ufffd"


def test_a_model_that_overflows_answers_nothing(folders):
    weights = load_file(folders / "texts" / "model.safetensors")
    shutil.copytree(folders / "texts", folders / "large", dirs_exist_ok=True)
    name = "bert.encoder.layer.0.output.dense.weight"
    weights[name] = np.where(weights[name] > 0, np.float32(3e38), np.float32(-3e38))
    save_file(weights, folders / "large" / "model.safetensors")
    with pytest.raises(UserError, match="the model computes numbers that are not finite"):
        Predictor.open(folders / "large")("anna sat in paris")
