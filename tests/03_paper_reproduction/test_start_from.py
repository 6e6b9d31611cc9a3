"""`bert-pretrain --start-from`: a run that goes on from another model, on a text of one's own."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from bert_corpus.pretraining_run import prepare
from bert_paper.convert import ConvertSettings, convert
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_paper.pretrained import open_pretrained
from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.weights import load_weights, save_weights

SMALL = dict(
    seq_length=32, batch_size=4, steps=2, eval_every=2, eval_examples=4, precision="fp32",
    device="cpu",
)  # fmt: skip
NO_STEP = 1e-12  # a learning rate at which weights stay what they were


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n\n".join(
        f"The crane stood in river {n}.\nIt caught {n} fish.\nThen it flew to garden {n}."
        for n in range(60)
    ), encoding="utf-8")  # fmt: skip
    return path


@pytest.fixture(scope="module")
def start(text, tmp_path_factory):
    out = tmp_path_factory.mktemp("start") / "run"
    pretrain(PretrainSettings(
        corpus=str(text), out=out, num_hidden_layers=1, hidden_size=24, num_attention_heads=3,
        vocab_size=90, max_position_embeddings=48, **SMALL,
    ))  # fmt: skip
    return out


@pytest.fixture
def one_segment(start, tmp_path):
    """The same model with the vector of its first segment alone."""
    shutil.copytree(start, tmp_path / "one")
    config = BertConfig.load(start)
    weights, name = load_weights(start, config), "bert.embeddings.token_type_embeddings.weight"
    save_weights({**weights, name: weights[name][:1]}, tmp_path / "one" / "model.safetensors")
    config.with_changes(type_vocab_size=1).save(tmp_path / "one")
    return tmp_path / "one"


def again(text, start, out, **more) -> PretrainSettings:
    return PretrainSettings(**{"corpus": str(text), "start_from": str(start), "out": out,
                               "learning_rate": NO_STEP, **SMALL, **more})  # fmt: skip


def weights_of(folder):
    return load_weights(folder, BertConfig.load(folder))


def test_the_run_begins_with_the_weights_the_sizes_and_the_vocabulary_of_the_model(
    text, start, tmp_path, capsys
):
    pretrain(again(text, start, tmp_path / "run", hidden_dropout_prob=0.3))
    assert f"from the weights of {start}" in capsys.readouterr().err
    before, after = weights_of(start), weights_of(tmp_path / "run")
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, atol=1e-6, err_msg=name)
    assert (tmp_path / "run" / "vocab.txt").read_text() == (start / "vocab.txt").read_text()
    config, old = BertConfig.load(tmp_path / "run"), BertConfig.load(start)
    assert config == old.with_changes(hidden_dropout_prob=0.3)


def test_a_run_that_goes_on_goes_on_from_its_own_checkpoint(text, start, tmp_path):
    settings = again(text, start, tmp_path / "run", steps=4, save_every=2, learning_rate=1e-3)
    pretrain(settings)
    in_one_go = weights_of(settings.out)
    shutil.rmtree(max((settings.out / "checkpoints").iterdir()))  # as if it had been killed
    pretrain(settings)
    for name, array in weights_of(settings.out).items():
        assert np.array_equal(array, in_one_go[name]), name
    assert any(not np.array_equal(array, in_one_go[name])
               for name, array in weights_of(start).items())  # fmt: skip


def test_a_run_goes_on_though_the_model_that_it_began_with_is_gone_or_moved(
    text, start, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run = Path("run")
    shutil.copytree(start, "start")
    options = dict(steps=4, save_every=2, learning_rate=1e-3)
    pretrain(again(text, "start", run, **options))
    in_one_go = weights_of(run)
    for spelling in ("start/", "./start", str(Path("start").resolve())):
        pretrain(again(text, spelling, run, **options))  # done: only looked at
    for name in ("elsewhere/start", "other"):
        shutil.copytree(start, name)
    shutil.rmtree("start")
    for source in ("start", "elsewhere/start"):
        shutil.rmtree(run / "checkpoints" / "step-00000004")  # as if it had been killed
        pretrain(again(text, source, run, **options))
        for name, array in weights_of(run).items():
            assert np.array_equal(array, in_one_go[name]), name
    with pytest.raises(UserError, match="start_from 'start', now it is 'other'"):
        pretrain(again(text, "other", run, **options))
    with pytest.raises(UserError, match="there is no checkpoint folder start"):
        again(text, "start", Path("new"))


def test_a_head_that_the_model_lacks_begins_as_in_a_new_run(text, start, tmp_path):
    convert(ConvertSettings(str(start), tmp_path / "encoder", to="encoder"))
    pretrain(again(text, tmp_path / "encoder", tmp_path / "run"))
    before, after = weights_of(start), weights_of(tmp_path / "run")
    name = "cls.predictions.transform.dense.weight"
    assert not np.allclose(after[name], before[name])
    name = "bert.encoder.layer.0.attention.self.query.weight"
    np.testing.assert_allclose(after[name], before[name], atol=1e-6)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"model": "mini"}, "--model mini"),
        ({"hidden_size": 48}, "--hidden-size 48"),
        ({"vocab_size": 100}, "--vocab-size 100"),
        ({"objective": "next-words", "sentence_task": "none"}, "--objective next-words"),
    ],
)
def test_what_the_model_settles_is_refused_as_an_option(text, start, tmp_path, option, says):
    with pytest.raises(UserError, match=re.escape(says) + ".*--start-from"):
        again(text, start, tmp_path / "run", **option)


def test_a_model_with_one_segment_is_refused_before_stores_are_built(text, one_segment, tmp_path):
    with pytest.raises(UserError, match="type_vocab_size is 1, and a pair of sentences needs 2"):
        pretrain(again(text, one_segment, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_model_with_one_segment_encodes_single_texts_and_refuses_a_pair(one_segment):
    pretrained = open_pretrained(one_segment)
    assert set(pretrained.encode("the crane").type_ids) == {0}
    with pytest.raises(UserError, match="type_vocab_size is 1, and a pair of texts needs 2"):
        pretrained.encode("the crane", "the fish")


@pytest.mark.parametrize("change", [lambda lines: lines[:50] + lines[51:],
                                    lambda lines: [*lines, "extra\n"]])  # fmt: skip
def test_a_tokenizer_that_is_not_that_of_the_weights_is_refused(text, start, tmp_path, change):
    model = tmp_path / "model"
    shutil.copytree(start, model, ignore=shutil.ignore_patterns("tokenizer.json", "checkpoints"))
    lines = (model / "vocab.txt").read_text("utf-8").splitlines(keepends=True)
    (model / "vocab.txt").write_text("".join(change(lines)), encoding="utf-8")
    with pytest.raises(UserError, match="entries and the model 89: they belong to different"):
        again(text, model, tmp_path / "run")


def test_stores_of_another_vocabulary_are_to_be_built_with_that_of_the_model(text, start, tmp_path):
    prepare(PretrainSettings(corpus=str(text), vocab_size=80, seq_length=32), tmp_path / "stores")
    with pytest.raises(UserError, match=r"build them with --tokenizer .*run, or name the text"):
        pretrain(again(tmp_path / "stores", start, tmp_path / "run"))


def test_the_card_names_the_model_that_the_run_went_on_from(text, start, tmp_path):
    pretrain(again(text, start, tmp_path / "run"))
    assert "from the weights of `run`" in (tmp_path / "run" / "README.md").read_text()


def test_a_length_that_the_model_has_no_positions_for_is_refused(text, start, tmp_path):
    with pytest.raises(UserError, match="--seq-length 64 is longer than the 48 positions"):
        pretrain(again(text, start, tmp_path / "run", seq_length=64))
    assert not (tmp_path / "run").exists()


def test_another_model_under_the_same_name_is_refused_when_the_run_goes_on(
    text, start, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(start, "a/base")
    pretrain(again(text, "a/base", Path("run")))
    shutil.copytree("a/base", "b/base")
    weights = weights_of(Path("b/base"))
    weights["bert.pooler.dense.bias"] += 1
    save_weights(weights, Path("b/base/model.safetensors"))
    shutil.rmtree("a")
    with pytest.raises(UserError, match="--start-from b/base is not the model that this run began"):
        pretrain(again(text, "b/base", Path("run")))
    shutil.move("b", "a")
    with pytest.raises(UserError, match="--start-from a/base is not the model that this run began"):
        pretrain(again(text, "a/base", Path("run")))


def test_the_command_on_the_card_can_be_called_as_it_stands(text, start, tmp_path):
    run = tmp_path / "run"
    pretrain(again(text, start, run, steps=4, save_every=2))
    shutil.rmtree(run / "checkpoints" / "step-00000004")  # as if it had been killed
    pretrain(again(text, start, run, steps=4, save_every=2))  # with the tokenizer of the run
    assert "--tokenizer" not in (run / "README.md").read_text("utf-8")
