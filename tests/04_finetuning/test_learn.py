"""Fine-tuning in memory is the run of `bert-finetune`, without its files."""

import pytest

from bert_finetuning.data.load import load_storyworld
from bert_finetuning.finetune import finetune, learn
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.classification import TextExample
from bert_finetuning.tasks.question_answering import choose_null_threshold

SIZES = {"train": 96, "heldout": 40}


@pytest.fixture(scope="module")
def nothing_learned(tmp_path_factory):
    """A small model with a vocabulary of the town, as a folder whose sizes are taken."""
    from bert_corpus.storyworld import stories
    from bert_corpus.wordpiece import save_tokenizer, train_wordpiece
    from bert_run.config import BertConfig

    folder = tmp_path_factory.mktemp("sizes")
    texts = [sentence.text for story in stories(200) for sentence in story.sentences]
    tokenizer = train_wordpiece(texts, 600, progress=False)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=32, max_position_embeddings=128,
    )  # fmt: skip
    config.save(folder)
    save_tokenizer(tokenizer, folder, model_max_length=128)
    return folder


def settings(folder, task="sentiment", **more) -> FinetuneSettings:
    return FinetuneSettings(
        task=task, checkpoint="none", model=str(folder), epochs=2, precision="fp32", **more
    )


def test_the_scores_are_those_of_the_command(nothing_learned, tmp_path, monkeypatch):
    data = load_storyworld("sentiment", **SIZES)
    monkeypatch.setattr("bert_finetuning.finetune.load_task", lambda settings: data)
    command = settings(nothing_learned, out=tmp_path / "run", few_shot=64, device="cpu")
    by_command = finetune(command).best.last["accuracy"]
    learned = learn(data, settings(nothing_learned, few_shot=64))
    assert learned.scores["accuracy"] == by_command
    assert learned.line("dev_accuracy")[0] == [2, 4]  # steps: 64 examples, 32 at once, two passes
    assert learned.line("dev_accuracy")[1][-1] == by_command


def test_a_bar_is_shown_only_if_it_is_asked_for(nothing_learned, capsys):
    data = load_storyworld("sentiment", **SIZES)
    learn(data, settings(nothing_learned))
    assert capsys.readouterr().err == ""
    learn(data, settings(nothing_learned), progress=True)
    assert "fine-tuning" in capsys.readouterr().err


def test_new_texts_are_answered_as_those_of_dev_were(nothing_learned):
    data = load_storyworld("sentiment", **SIZES)
    learned = learn(data, settings(nothing_learned))
    unlabeled = [TextExample(example.text) for example in data.dev]
    again = [each.probabilities for each in learned.predict(unlabeled)]
    assert again == [each.probabilities for each in learned.predictions]


def test_questions_without_an_answer_get_the_threshold_that_is_best(nothing_learned):
    from dataclasses import replace

    data = load_storyworld("questions", train=20, heldout=20)
    dev = [replace(q, answers=()) if n % 2 else q for n, q in enumerate(data.dev)]
    data = replace(data, dev=dev, task=replace(data.task, has_null=True))
    learned = learn(data, settings(nothing_learned, task="questions"))
    threshold, best = choose_null_threshold(dev, learned.predictions)
    assert (learned.task.null_threshold, learned.scores["f1"]) == pytest.approx((threshold, best))
