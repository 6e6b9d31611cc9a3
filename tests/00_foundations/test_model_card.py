"""The model card says what is so, in a form that the Hub reads, and its command works."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import tyro
from huggingface_hub import ModelCard

from bert_corpus.pretraining_run import identity
from bert_paper.demo import DEMO
from bert_paper.pretrain import PretrainSettings
from bert_run.config import BertConfig, RunSettings
from bert_run.files import command_line, front_matter, model_card

CONFIG = BertConfig(vocab_size=4096, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=64)  # fmt: skip
REPORT = {"name": "storyworld", "documents": 20_000, "sentences": 165_086, "tokens": 1_999_447,
          "unknown_share": 0.00123}  # fmt: skip
MEASURED = {"step": 2200, "heldout_mlm_loss": 0.42047, "heldout_mlm_accuracy": 0.88915,
            "heldout_nsp_loss": 0.01852, "heldout_nsp_accuracy": 0.98828,
            "heldout_unigram_entropy": 5.2101}  # fmt: skip
DEFAULTS = identity(PretrainSettings())


def card(settings=None, report=None, measured=None, **changes) -> str:
    settings = identity(settings or DEMO)
    named = dict(name="demo", config=CONFIG, parameters=794_242, step=2200,
                 command=command_line("bert-pretrain", settings, DEFAULTS))  # fmt: skip
    return model_card(
        settings,
        REPORT if report is None else report,
        MEASURED if measured is None else measured,
        **{**named, **changes},
    )


def test_the_hub_reads_what_stands_at_the_top():
    data = ModelCard(card()).data.to_dict()
    assert data["library_name"] == "transformers"
    assert data["pipeline_tag"] == "fill-mask"
    assert "bert" in data["tags"]
    assert data["language"] == "en"
    assert "license" not in data  # what the text allows is not ours to say


def test_a_language_that_is_not_known_is_not_claimed():
    text = card(PretrainSettings(corpus="buch.txt"), {**REPORT, "name": "buch.txt"})
    assert "language" not in ModelCard(text).data.to_dict()


def test_data_size_and_figures_stand_in_it():
    text = card()
    for words in ("794,242 parameters", f"step 2,200 of {DEMO.steps:,}", "20,000 documents",
                  "165,086 sentences", "1,999,447 tokens", "0.12% of them unknown",
                  "| masked word | 0.420 | 88.9% |", "| next sentence | 0.019 | 98.8% |",
                  "after step 2,200", "a loss of 5.210"):  # fmt: skip
        assert words in " ".join(text.split()), words


def test_what_was_not_measured_is_not_in_it():
    text = card(measured={})
    assert "Nothing yet." in text and "| masked word" not in text


def test_each_way_of_training_is_told_as_what_it_is():
    assert "masked words and next sentences" in card() and "not trained" not in card()
    text = card(replace(DEMO, sentence_task="sop"))
    assert "and the order of sentences" in text and "| order of two sentences | 0.019" in text

    words_alone = {k: v for k, v in MEASURED.items() if "nsp" not in k}
    text = card(replace(DEMO, sentence_task="none"), measured=words_alone)
    assert "Its next-sentence head was not trained here." in text and "| next sentence" not in text

    from_the_left = replace(DEMO, sentence_task="none", objective="next-words")
    text = card(from_the_left, measured=words_alone, config=CONFIG.with_changes(is_decoder=True))
    assert "next words, read from the left alone" in text and "| next word | 0.420" in text
    assert "bert-fill-mask" not in text and "BertLMHeadModel" in text
    assert ModelCard(text).data.pipeline_tag == "text-generation"


def test_the_settings_of_the_lower_levels_will_do():
    settings = identity(RunSettings())
    assert "sentence_task" not in settings
    text = model_card(
        settings, REPORT, MEASURED, name="x", config=CONFIG, parameters=1, step=1000, command="y"
    )
    assert "masked words and next sentences" in text


def test_a_model_that_reads_from_the_left_is_no_fill_mask_at_any_level():
    text = model_card(identity(RunSettings()), REPORT, MEASURED, name="x", step=1000, command="y",
                      config=CONFIG.with_changes(is_decoder=True), parameters=1)  # fmt: skip
    assert ModelCard(text).data.pipeline_tag == "text-generation"
    assert "reads from the left alone and\ncannot generate text" in text
    assert "cannot generate" not in card()


@pytest.mark.parametrize("corpus", ["storyworld", "book.txt"])
def test_a_run_that_went_on_from_another_model_names_it_and_not_where_it_lies(corpus):
    settings = identity(PretrainSettings(corpus=corpus)) | {"start_from": "/data/ann/base"}
    text = model_card(settings, REPORT, MEASURED, name="x", config=CONFIG, parameters=1, step=1000,
                      command="y")  # fmt: skip
    assert "trained from the weights of `base` on" in text
    assert "what `base` had learned before" in text and "/data/ann" not in text
    assert "scratch" not in text and "nothing else" not in text and "no other words" not in text


def test_an_invented_town_is_called_one_and_another_corpus_is_not():
    assert "invented town" in card()
    text = card(PretrainSettings(corpus="book.txt"), {**REPORT, "name": "book.txt"})
    assert "invented town" not in text and "Nobody has tested it" in text


def test_the_text_tells_the_name_of_a_corpus_and_not_where_it_lies():
    text = card(report={**REPORT, "name": "/data/ann/book.txt"})
    assert "`book.txt`" in text and "/data/ann" not in text


@pytest.mark.parametrize("settings", [
    PretrainSettings(),
    DEMO,
    PretrainSettings(corpus="my books/it's \"one\".txt", split_sentences=True,
                     tokenizer=Path("v.txt")),
    PretrainSettings(corpus="Salesforce/wikitext:wikitext-2-raw-v1", split_sentences=False,
                     model="mini", hidden_dropout_prob=0.0, learning_rate=1e-5, steps=10**6),
    PretrainSettings(adam_eps=1e-12, seed=3, precision="bf16", tokenizer_type="BertWordPieceCase"),
])  # fmt: skip
def test_the_command_of_the_card_gives_the_same_settings_again(settings):
    line = command_line("bert-pretrain", identity(settings), DEFAULTS)
    joined = line.replace("\\\n", "")  # as a shell does, and shlex does not
    program, *arguments = shlex.split(joined)
    assert program == "bert-pretrain"
    assert identity(tyro.cli(PretrainSettings, args=arguments)) == identity(settings)
    assert line in card(settings, command=line)


def test_the_command_names_only_what_is_no_default_in_lines_that_fit():
    assert command_line("bert-pretrain", DEFAULTS, DEFAULTS) == "bert-pretrain"
    assert command_line("x", {"a_b": 1, "c": "d e", "f": 2}, {"f": 2}) == "x --a-b 1 --c 'd e'"
    switches = {"grid": True, "by_length": False}
    assert command_line("x", switches, {"grid": False, "by_length": True}) == (
        "x --grid --no-by-length"
    )
    paths = {"train": "/data/me/reviews.csv", "out": Path("/tmp/runs/a"), "dev": "data/b.csv"}
    assert command_line("x", paths, {}) == "x --train reviews.csv --out a --dev data/b.csv"
    lines = command_line("bert-pretrain", identity(DEMO), DEFAULTS).splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 100
    assert all(line.endswith(" \\") for line in lines[:-1])


def test_front_matter_is_what_the_hub_parses():
    data = ModelCard(front_matter("fill-mask", base_model="google-bert/bert-base-uncased")).data
    assert data.to_dict() == {
        "library_name": "transformers", "pipeline_tag": "fill-mask",
        "base_model": "google-bert/bert-base-uncased", "tags": ["bert"],
    }  # fmt: skip
