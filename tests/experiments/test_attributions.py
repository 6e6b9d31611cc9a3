"""Gradient × input and attention weights of an answer's words, and how they are shown."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from bert_corpus.wordpiece import bert_tokenizer
from bert_experiments.attributions.__main__ import AttributionSettings, attribute, chosen_cases
from bert_experiments.attributions.attribution import (
    Attribution,
    Attributor,
    gradient_times_input,
    margin,
    masking_test,
    summed,
)
from bert_experiments.attributions.cases import Case, Word, cases_of, window_with, words_of
from bert_experiments.attributions.render import WHITE, colors_of, html_page, terminal_lines
from bert_finetuning.checkpoint import init_from_scratch, save_finetuned
from bert_finetuning.tasks.base import Features, HeadConfig, forward, logits_of
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_finetuning.tasks.question_answering import Answer, Question, QuestionAnswering
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging
from bert_run.config import BertConfig
from bert_run.errors import UserError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "##s", "on", "mat", ".", "anna", "?", "a", "who"]
TOKENIZER = bert_tokenizer(SPECIAL + WORDS)
CONFIG = BertConfig(
    vocab_size=len(SPECIAL + WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=32, initializer_range=0.3,
)  # fmt: skip
TEXTS = Classification(HeadConfig(("no", "maybe", "yes")), ("accuracy",))


def model_of(task, *, pooling="cls"):
    head = replace(task.head, pooling=pooling)
    return init_from_scratch(CONFIG, TOKENIZER, task.model, head=head, seed=0).model.eval()


def answers(task, model, examples, *, max_length=32) -> list[Case]:
    readings = task.encode(examples, TOKENIZER, max_length=max_length)
    predictions = task.predict(examples, readings, logits_of(model, task, readings))
    return cases_of(task, examples, readings, predictions, TOKENIZER)


def batch_of(ids: list[int]) -> dict[str, torch.Tensor]:
    tensor = torch.tensor([ids])
    return {"input_ids": tensor, "token_type_ids": torch.zeros_like(tensor),
            "attention_mask": torch.ones_like(tensor)}  # fmt: skip


# --- Gradient × input ----------------------------------------------------------------------------


class Linear(nn.Module):
    """Every token adds its embedding times a matrix of its place: linear in the embeddings."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.bert = nn.Module()
        self.bert.embeddings = nn.Module()
        self.bert.embeddings.word_embeddings = nn.Embedding(20, 6)
        self.matrices = nn.Parameter(torch.randn(8, 6, 3))

    def forward(self, input_ids, token_type_ids, attention_mask):
        x = self.bert.embeddings.word_embeddings(input_ids)
        return torch.einsum("bsd,sdl->bl", x, self.matrices[: x.shape[1]])


def test_of_a_linear_model_it_is_each_tokens_exact_contribution():
    model, ids = Linear(), [2, 7, 7, 3]
    found = gradient_times_input(model, batch_of(ids), lambda logits: logits[0, 1])[0]
    embeddings = model.bert.embeddings.word_embeddings.weight
    for place, token in enumerate(ids):
        torch.testing.assert_close(found[place], embeddings[token] @ model.matrices[place, :, 1])
    torch.testing.assert_close(found.sum(), model(**batch_of(ids))[0, 1])


def test_of_bert_it_is_the_slope_of_the_answer_along_each_embedding():
    model = model_of(TEXTS).double()
    batch, step = batch_of([2, 5, 6, 8, 3]), 1e-6

    def score(logits):
        return margin(logits[0], 2)

    def scaled(place: int, by: float) -> float:
        def hook(_module, _inputs, output):
            scales = torch.ones(output.shape[:2], dtype=output.dtype)
            scales[0, place] = by
            return output * scales[..., None]

        handle = model.bert.embeddings.word_embeddings.register_forward_hook(hook)
        with torch.no_grad():
            value = score(model(**batch)).item()
        handle.remove()
        return value

    slopes = [(scaled(i, 1 + step) - scaled(i, 1 - step)) / (2 * step) for i in range(5)]
    found = gradient_times_input(model, batch, score)[0]
    np.testing.assert_allclose(found.numpy(), slopes, rtol=1e-5, atol=1e-7)


def test_of_bert_the_parts_do_not_make_up_the_whole():
    model, batch = model_of(TEXTS), batch_of([2, 5, 6, 8, 3])
    found = gradient_times_input(model, batch, lambda logits: margin(logits[0], 0))
    assert abs(found.sum() - margin(model(**batch)[0], 0)) > 0.01


def test_the_model_is_left_as_it_was():
    model, batch = model_of(TEXTS), batch_of([2, 5, 3])
    before = model(**batch)
    gradient_times_input(model, batch, lambda logits: logits[0, 0])
    assert torch.equal(model(**batch), before)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_what_raises_all_logits_alike_is_no_reason_for_one_of_them():
    logits = torch.tensor([1.0, 4.0, 2.5])
    assert margin(logits, 1) == margin(logits + 7, 1) == 4 - 1.75
    assert margin(torch.tensor([3.0]), 0) == 3


# --- Words ---------------------------------------------------------------------------------------


def test_pieces_become_words_and_their_values_are_added():
    ids = TOKENIZER.encode("the cats sat").ids
    words = words_of(ids, TOKENIZER)
    assert [word.text for word in words] == ["[CLS]", "the", "cats", "sat", "[SEP]"]
    values = torch.tensor([1.0, 2, 3, 4, 5, 6])
    assert summed(values, words).tolist() == [1, 2, 7, 5, 6]


def test_a_tagged_sentence_keeps_its_words_as_they_were_written():
    task = Tagging(HeadConfig(("O", "B-PER")), ("entity_f1",))
    sentence = TaggedSentence(("The", "cats", "Anna", "\u0301"), ("O", "O", "B-PER", "O"))
    cases = answers(task, model_of(task), [sentence])
    assert [case.question for case in cases] == [f"tag of {word}" for word in sentence.words]
    assert [word.text for word in cases[0].words] == ["[CLS]", *sentence.words, "[SEP]"]
    assert [case.read_from for case in cases] == [(1,), (2,), (4,), (5,)]
    assert cases[1].words[2] == Word("cats", 2, 4)


# --- Cases ---------------------------------------------------------------------------------------

EXAMPLES = {
    "texts": (TEXTS, [TextExample("the cat sat", None, "yes"), TextExample("a mat", "who", "no")]),
    "numbers": (Regression(HeadConfig(("stars",)), ("pearson",)),
                [TextExample("the mat", None, 3.0)]),
    "tags": (Tagging(HeadConfig(("O", "B-X")), ("entity_f1",)),
             [TaggedSentence(("the", "cats"), ("O", "B-X"))]),
    "questions": (QuestionAnswering(), [Question("1", "who sat ?",
                                                 "the cat sat . anna sat on a mat .",
                                                 (Answer("anna", 14),))]),
    "choices": (MultipleChoice(HeadConfig(), ("accuracy",)),
                [Choice("the cat", ("sat", "a mat ."), 0)]),
}  # fmt: skip


@pytest.mark.parametrize("format", EXAMPLES)
def test_the_logits_that_decided_are_those_of_the_answer(format):
    task, examples = EXAMPLES[format]
    model = model_of(task)
    attributor = Attributor(model, task)
    for case in answers(task, model, examples):
        decisions = case.decisions(forward(model, attributor.batch(case)))
        if format != "questions":  # a span must end after its start, so others may have more
            assert attributor.highest(case, attributor.batch(case)) == list(case.chosen)
        if format in ("texts", "tags"):
            assert case.answer == task.head.labels[decisions[0].chosen]
        seen = attributor(case)
        assert len(seen.gradient) == len(seen.attention) == len(case.words)
        assert np.isfinite(seen.gradient).all() and np.abs(seen.gradient).max() > 0
        np.testing.assert_allclose(seen.attention.sum(), 1, atol=1e-5)
        assert (seen.highest_head >= seen.attention - 1e-6).all()


def test_the_answer_to_a_question_is_found_in_the_window_that_sees_most_of_it():
    text = "the cat sat . the mats . anna sat on a mat . the cat sat on the mat ."
    task = QuestionAnswering(stride=4)
    question = Question("1", "who", text, (Answer("anna sat", 25),))
    readings = task.encode([question], TOKENIZER, max_length=16)
    assert len(readings) > 2
    reading, (first, last) = window_with(question.answers[0], readings)
    tokens = [TOKENIZER.id_to_token(token) for token in reading.input_ids[first : last + 1]]
    assert tokens == ["anna", "sat"]
    assert reading.place.best[first - (len(reading.input_ids) - 1 - len(reading.place.offsets))]


def test_a_pooler_that_takes_the_mean_has_read_every_token():
    for pooling, expected in (("cls", [0]), ("mean", [0, 1, 2, 3])):
        model = model_of(TEXTS, pooling=pooling)
        (case,) = answers(TEXTS, model, [TextExample("the cat")])
        assert Attributor(model, TEXTS).read_from(case) == expected


def case(number: int, *, wrong: bool, sure: float, right: str | None = "no") -> Case:
    reading = Features(number, [2, 5, 3], [0, 0, 0], {})
    words = words_of(reading.input_ids, TOKENIZER)
    return Case(reading, words, "label", "yes" if wrong else "no", right, wrong, sure, (2,))


def test_errors_come_first_and_the_surest_first_of_all():
    cases = [case(0, wrong=False, sure=0.99), case(1, wrong=True, sure=0.6),
             case(2, wrong=True, sure=0.9)]  # fmt: skip
    shown, what = chosen_cases(cases, AttributionSettings(), TEXTS)
    assert [each.example for each in shown] == [2, 1] and what.startswith("2 of 3 answers")
    assert len(chosen_cases(cases, AttributionSettings(most=1), TEXTS).cases) == 1


def test_where_nothing_is_wrong_or_known_answers_are_shown():
    right, unknown = case(0, wrong=False, sure=1.0), case(0, wrong=False, sure=1.0, right=None)
    assert "All 1 answers are right" in chosen_cases([right], AttributionSettings(), TEXTS).what
    assert "not known" in chosen_cases([unknown], AttributionSettings(), TEXTS).what


# --- Attention, and the masking test -----------------------------------------------------------


def test_attention_is_that_of_transformers_last_layer(tmp_path):
    model = model_of(TEXTS)
    save_finetuned(model, TOKENIZER, tmp_path / "model")
    theirs = transformers.BertForSequenceClassification.from_pretrained(
        tmp_path / "model", attn_implementation="eager"
    ).eval()
    (found,) = answers(TEXTS, model, [TextExample("the cat", "who sat")])
    batch = Attributor(model, TEXTS).batch(found)
    with torch.no_grad():
        right = theirs(**batch, output_attentions=True).attentions[-1][0, :, 0]  # (heads, seq)
    seen = Attributor(model, TEXTS)(found)
    np.testing.assert_allclose(seen.attention, right.mean(0).numpy(), atol=1e-5)
    np.testing.assert_allclose(seen.highest_head, right.amax(0).numpy(), atol=1e-5)


class OneWordDecides(Attributor):
    """A model that says 1 if "cat" is there; gradients find it, attention weighs "the"."""

    def __init__(self) -> None:
        self.model, self.task, self.device = model_of(TEXTS), TEXTS, torch.device("cpu")

    def __call__(self, case: Case) -> Attribution:
        texts = [word.text for word in case.words]
        cat, the = (np.array([float(text == which) for text in texts]) for which in ("cat", "the"))
        return Attribution(case, -cat, the, the)

    def highest(self, case: Case, batch) -> list[int]:
        return [int((batch["input_ids"] == TOKENIZER.token_to_id("cat")).any())]


def test_masking_the_word_that_decides_changes_the_answer():
    attributor = OneWordDecides()
    cases = answers(TEXTS, attributor.model, [TextExample("the cat sat on the mat .")] * 300)
    found = masking_test(attributor, cases, mask_id=TOKENIZER.token_to_id("[MASK]"))
    assert (found.gradient, found.attention, found.cases) == (1.0, 0.0, 300)
    assert 0.05 < found.random < 0.27  # one word of seven: 14%, and four sigma on either side


def test_a_text_of_one_word_is_no_test():
    attributor = OneWordDecides()
    cases = answers(TEXTS, attributor.model, [TextExample("cat")])
    assert masking_test(attributor, cases, mask_id=4) is None


# --- What is shown -------------------------------------------------------------------------------

EVIL = '<script>alert("1")</script>&\x1b[31m'


def look_at(text: str) -> Attribution:
    words = [Word("[CLS]", 0, 1), Word(text, 1, 2), Word("fine", 2, 3), Word("[SEP]", 3, 4)]
    reading = Features(6, [2, 5, 6, 3], [0] * 4, {})
    case = Case(reading, words, text, text, text, True, 0.9, (0,))
    values = np.array([0.1, -2.0, 1.0, 9.0])
    return Attribution(case, values, np.abs(values) / 12.1, np.abs(values) / 12.1)


class Parts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags, self.text, self.addresses = set(), "", []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text += data


def test_nothing_of_a_text_becomes_part_of_the_page():
    parts = Parts()
    parts.feed(html_page([look_at(EVIL)], title=EVIL, notes=[EVIL]))
    assert "script" not in parts.tags and not parts.addresses
    assert parts.text.count('<script>alert("1")</script>&') >= 7  # title twice, note, case, rows


def test_a_terminal_gets_no_command_from_a_text():
    for color in (False, True):
        shown = terminal_lines(look_at("\x1b[31m\x07evil"), color=color)
        assert "\x1b[31m" not in shown and "\x07" not in shown
    assert "\x1b[" not in terminal_lines(look_at("evil"), color=False)
    assert "\x1b[" in terminal_lines(look_at("evil"), color=True)


def test_colors_grow_with_the_value_and_specials_do_not_set_the_scale():
    look = look_at("bad")
    cls, bad, fine, sep = colors_of(look.case.words, look.gradient, signed=True)
    assert bad == (230, 140, 30) and fine == (170, 218, 244) and sep == (86, 180, 233)
    assert colors_of(look.case.words, np.zeros(4), signed=True) == [WHITE] * 4
    assert cls != WHITE


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("inside") / "model"
    save_finetuned(model_of(TEXTS), TOKENIZER, path)
    return path


def test_the_command_leaves_a_page_and_a_picture(folder, tmp_path, capsys):
    file = tmp_path / "texts.tsv"
    file.write_text("text\tlabel\nthe cat sat\tyes\na mat 🎉\tno\nanna sat\tmaybe\n")
    attribute(
        AttributionSettings(checkpoint=folder, input=str(file), out=tmp_path / "out", device="cpu")
    )
    shown = capsys.readouterr().out
    assert "answers are wrong" in shown and "if a random one" in " ".join(shown.split())
    assert "<title>model: errors</title>" in (tmp_path / "out" / "errors.html").read_text("utf-8")
    assert (tmp_path / "out" / "errors.png").read_bytes().startswith(b"\x89PNG")


def test_a_text_of_ones_own_is_answered_and_shown(folder, tmp_path, capsys):
    attribute(
        AttributionSettings(("the cat",), checkpoint=folder, out=tmp_path / "out", device="cpu")
    )
    assert "What is right is not known; answers shown: 1." in capsys.readouterr().out


def test_a_model_without_a_task_must_be_told_what_to_read(folder, tmp_path):
    with pytest.raises(UserError, match="give a text, --task NAME or --input FILE"):
        attribute(AttributionSettings(checkpoint=folder, out=tmp_path, device="cpu"))
    with pytest.raises(UserError, match="--task names has tags, and the model answers texts"):
        attribute(AttributionSettings(checkpoint=folder, task="names", out=tmp_path, device="cpu"))
    with pytest.raises(UserError, match="exclude each other"):
        AttributionSettings(("a",), task="names")


def test_examples_keep_their_numbers_and_those_without_text_are_counted(folder, tmp_path, capsys):
    file = tmp_path / "texts.csv"
    file.write_text("text,id\nthe cat,1\n,2\nanna sat,3\n")
    settings = AttributionSettings(checkpoint=folder, input=str(file), labels=False, device="cpu",
                                   out=tmp_path / "out")  # fmt: skip
    attribute(settings)
    shown = capsys.readouterr().out
    numbers = [line.split()[0] for line in shown.splitlines() if "answer: " in line]
    assert numbers == ["1", "3"]
    told = "Examples without text, left out but counted in the numbers: 1."
    assert told in shown.splitlines()
    page = (tmp_path / "out" / "errors.html").read_text("utf-8")
    assert "<small>3</small>" in page and "<small>2</small>" not in page and told in page
    file.write_text("text,id\n,1\n,2\n")
    with pytest.raises(UserError, match="there is no word to look at"):
        attribute(settings)


@pytest.mark.parametrize("name, value, option", [
    ("data", Path("x"), "--data"), ("labels", False, "--no-labels"), ("examples", 3, "--examples"),
])  # fmt: skip
def test_options_that_change_nothing_with_a_text_are_refused(name, value, option):
    with pytest.raises(UserError, match=f"^{option} changes nothing with a text: leave it out$"):
        AttributionSettings(("a",), **{name: value})


@pytest.mark.parametrize("name", ["errors.html", "errors.png"])
def test_a_page_or_picture_that_it_has_not_made_is_not_written_over(folder, tmp_path, name):
    (tmp_path / name).write_text("my own")
    told = r"holds another program's errors\.html or errors\.png: choose another folder"
    with pytest.raises(UserError, match=told):
        AttributionSettings(("the cat",), checkpoint=folder, out=tmp_path)
    assert (tmp_path / name).read_text() == "my own"
    for _ in range(2):  # its own are written again
        attribute(AttributionSettings(("the cat",), checkpoint=folder, out=tmp_path / "own",
                                      device="cpu"))  # fmt: skip
