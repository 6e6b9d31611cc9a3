"""`bert-convert`: what goes in comes out, in every class of `transformers`, or is refused whole."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers
from huggingface_hub import ModelCard
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_paper import convert as convert_module
from bert_paper.convert import ConvertSettings, convert, main
from bert_paper.fill_mask import fill_mask
from bert_paper.pretrained import open_pretrained
from bert_run.config import BertConfig
from bert_run.errors import UserError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "##s", "on", "mat", ".", ",", "café", "cafe", "Cat", "中", "a", "##t"]
FILE = "model.safetensors"
CLASSES = {
    "BertForPreTraining": "BertForPreTraining",
    "BertForMaskedLM": "BertForMaskedLM",
    "BertModel": "BertModel",
    "BertForNextSentencePrediction": "BertModel",
    "BertForSequenceClassification": "BertModel",
}


def their_config(**changes) -> transformers.BertConfig:
    fields = dict(
        vocab_size=len(SPECIAL + WORDS), hidden_size=16, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=24, max_position_embeddings=24,
    )  # fmt: skip
    return transformers.BertConfig(**{**fields, **changes})


def their_model(kind: str, **changes) -> torch.nn.Module:
    """A model of transformers in which no two arrays are alike and no bias is zero."""
    torch.manual_seed(0)
    model = getattr(transformers, kind)(their_config(**changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def saved(kind: str, folder: Path, **changes) -> torch.nn.Module:
    """Such a model, written by transformers, with a tokenizer beside it."""
    model = their_model(kind, **changes)
    model.save_pretrained(folder)
    save_tokenizer(bert_tokenizer(SPECIAL + WORDS), folder, model_max_length=24)
    return model


def opened(folder: Path, kind: str | None = None, **options) -> torch.nn.Module:
    """The folder in the class that its config.json names; no key missing, none too many."""
    kind = kind or json.loads((folder / "config.json").read_text())["architectures"][0]
    model, info = getattr(transformers, kind).from_pretrained(
        folder, output_loading_info=True, **options
    )
    assert not any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    return model.eval()


def inputs() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, len(SPECIAL + WORDS), (3, 11), generator=generator)
    attention = (torch.arange(11) < torch.tensor([[11], [7], [4]])).long()
    return {"input_ids": ids, "token_type_ids": (ids > 9).long(), "attention_mask": attention}


@torch.no_grad()
def their_outputs(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    output = model(**inputs())
    return {name: value for name, value in output.items() if isinstance(value, torch.Tensor)}


@torch.no_grad()
def our_outputs(folder: Path) -> dict[str, torch.Tensor]:
    """The same, under the names of transformers, as far as the folder has the parts."""
    model, missing = open_pretrained(folder).model, open_pretrained(folder).missing
    batch = inputs()
    everywhere = torch.arange(11).expand(3, 11)
    words, pairs = model(**batch, masked_lm_positions=everywhere)
    output = model.bert(**batch)
    found = {"last_hidden_state": output.last_hidden_state}
    if "pooler" not in missing:
        found["pooler_output"] = output.pooled
    if "masked-language-model" not in missing:
        found |= {"prediction_logits": words, "logits": words}
    if "next-sentence" not in missing:
        found["seq_relationship_logits"] = pairs
    return found


def run(source, out, **options) -> list[str]:
    return convert(ConvertSettings(str(source), Path(out), **options))


def refusal(source, out, **options) -> str:
    """The one line that a call ends with."""
    with pytest.raises(UserError) as caught:
        run(source, out, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- What goes in comes out ----------------------------------------------------------------------


@pytest.mark.parametrize("kind, becomes", CLASSES.items())
def test_every_class_of_transformers_becomes_one_that_computes_the_same(kind, becomes, tmp_path):
    source = saved(kind, tmp_path / "in")
    lines = run(tmp_path / "in", tmp_path / "out")
    assert f"out: {becomes}, " in lines[0]
    theirs = opened(tmp_path / "out", becomes)
    # Their class over our file, with weights of the source: every array bit for bit.
    state = source.state_dict()
    bare = lambda name: name.removeprefix("bert.")  # noqa: E731
    known = {bare(name): tensor for name, tensor in state.items()}
    written = load_file(tmp_path / "out" / FILE)
    assert written.keys() == load_file_names(theirs, tmp_path / "again")
    for name, tensor in written.items():
        assert torch.equal(tensor, known[bare(name)]), name

    expected = their_outputs(theirs)
    if kind == becomes:  # only names moved
        for name, value in their_outputs(source).items():
            assert torch.equal(value, expected[name]), name
    ours = our_outputs(tmp_path / "out")
    for name in expected:
        assert (ours[name] - expected[name]).abs().max() < 1e-5, name


def load_file_names(model: torch.nn.Module, folder: Path) -> set[str]:
    """The names that transformers itself writes for this class."""
    model.save_pretrained(folder)
    return set(load_file(folder / FILE))


@pytest.mark.parametrize("to, kind", [
    ("pretraining", "BertForPreTraining"), ("masked-lm", "BertForMaskedLM"),
    ("encoder", "BertModel"),
])  # fmt: skip
def test_a_whole_model_becomes_any_of_the_three_classes(to, kind, tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    run(tmp_path / "in", tmp_path / "out", to=to)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == [kind]
    # transformers itself picks the parts of the class out of the whole.
    expected = getattr(transformers, kind).from_pretrained(tmp_path / "in").eval()
    got = their_outputs(opened(tmp_path / "out"))
    for name, value in their_outputs(expected).items():
        assert torch.equal(value, got[name]), name


def test_there_and_back_again_are_the_same_bytes(tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    run(tmp_path / "in", tmp_path / "a")
    opened(tmp_path / "a").save_pretrained(tmp_path / "theirs")
    run(tmp_path / "theirs", tmp_path / "b")
    first, second = (load_file(tmp_path / name / FILE) for name in "ab")
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_run_and_each_of_its_checkpoints_are_sources(small_run, tmp_path):
    checkpoint = max((small_run / "checkpoints").glob("step-*"))
    for source, out in ((small_run, tmp_path / "run"), (checkpoint, tmp_path / "checkpoint")):
        run(source, out)
        opened(out, "BertForPreTraining")
    files = {path.name for path in (tmp_path / "checkpoint").iterdir()}
    assert files == {"config.json", FILE, "tokenizer.json", "vocab.txt", "tokenizer_config.json",
                     "README.md"}  # fmt: skip
    got, expected = (fill_mask(open_pretrained(f), "the [MASK] sees")
                     for f in (tmp_path / "run", small_run))  # fmt: skip
    assert got == expected


def test_old_names_without_a_prefix_become_todays(tmp_path):
    source = saved("BertModel", tmp_path / "in")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias",
                                                                    "LayerNorm.beta"): tensor
        for name, tensor in source.state_dict().items()
    }  # fmt: skip
    old["embeddings.position_ids"] = torch.arange(24)[None]
    save_file(old, tmp_path / "in" / FILE)
    lines = run(tmp_path / "in", tmp_path / "out")
    assert len(lines) == 1, "nothing is left out"
    got = their_outputs(opened(tmp_path / "out", "BertModel"))
    for name, value in their_outputs(source).items():
        assert torch.equal(value, got[name]), name


def test_a_layer_of_ones_own_is_not_taken_for_that_of_bert(tmp_path):
    """A class around `self.bert` may have a `pooler` of its own beside it."""
    source = saved("BertForPreTraining", tmp_path / "in")
    arrays = load_file(tmp_path / "in" / FILE)
    own = {"pooler.dense.weight": arrays["bert.pooler.dense.weight"] + 1}
    save_file(arrays | own, tmp_path / "in" / FILE, metadata={"format": "pt"})
    assert "left out: pooler.dense.weight" in run(tmp_path / "in", tmp_path / "out")
    got = their_outputs(opened(tmp_path / "out"))
    for name, value in their_outputs(source).items():
        assert torch.equal(value, got[name]), name


def test_several_files_with_an_index_become_one(tmp_path):
    source = their_model("BertForPreTraining")
    source.save_pretrained(tmp_path / "in", max_shard_size="8KB")
    assert len(list((tmp_path / "in").glob("model-*.safetensors"))) > 1
    run(tmp_path / "in", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").glob("*.safetensors*")] == [FILE]
    got = their_outputs(opened(tmp_path / "out"))
    for name, value in their_outputs(source).items():
        assert torch.equal(value, got[name]), name


def test_a_padded_vocabulary_stays_padded(tmp_path):
    entries = len(SPECIAL + WORDS)
    saved("BertForMaskedLM", tmp_path / "in", vocab_size=64)
    run(tmp_path / "in", tmp_path / "out")
    assert BertConfig.load(tmp_path / "out").vocab_size == 64
    assert opened(tmp_path / "out").get_output_embeddings().weight.shape == (64, 16)
    assert open_pretrained(tmp_path / "out").tokenizer.get_vocab_size() == entries


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_numbers_are_rounded_to_the_type_that_is_asked_for(dtype, tmp_path):
    source = saved("BertForPreTraining", tmp_path / "in").state_dict()
    run(tmp_path / "in", tmp_path / "out", dtype=dtype)
    wanted = getattr(torch, dtype)
    written = load_file(tmp_path / "out" / FILE)
    for name, tensor in written.items():
        assert torch.equal(tensor, source[name].to(wanted)), name
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == dtype
    assert opened(tmp_path / "out", dtype="auto").dtype == wanted
    ours = open_pretrained(tmp_path / "out").model.state_dict()
    for name, tensor in written.items():
        assert torch.equal(ours[name], tensor.float()), name
    # From there to float32 nothing more is lost.
    run(tmp_path / "out", tmp_path / "wide", dtype="float32")
    for name, tensor in load_file(tmp_path / "wide" / FILE).items():
        assert torch.equal(tensor, written[name].float()), name


def test_a_number_too_large_for_float16_is_refused(tmp_path):
    model = saved("BertModel", tmp_path / "in")
    with torch.no_grad():
        model.pooler.dense.bias[3] = 70_000.0  # float16 ends at 65,504
    model.save_pretrained(tmp_path / "in")
    message = refusal(tmp_path / "in", tmp_path / "out", dtype="float16")
    assert message == "pooler.dense.bias holds 70,000, too large for float16: take bfloat16"
    assert not (tmp_path / "out").exists()
    run(tmp_path / "in", tmp_path / "out", dtype="bfloat16")


# --- Tokenizers ----------------------------------------------------------------------------------


def fifty_texts() -> list[str]:
    generator = np.random.default_rng(0)
    pieces = ["the", "CAT", "Cats", "sat,", "on", "mat.", "café", "Café", "cafe\u0301", "中a",
              "[MASK]", "unknownword", "  ", "\t", "a\u200bt"]  # fmt: skip
    return [" ".join(generator.choice(pieces, size=generator.integers(1, 9))) for _ in range(50)]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("left", ["all files", "tokenizer.json alone", "vocab.txt and config"])
def test_the_tokenizer_gives_the_same_ids_before_and_after_here_and_there(
    lowercase, left, tmp_path
):
    saved("BertForMaskedLM", tmp_path / "in")
    tokenizer = bert_tokenizer(SPECIAL + WORDS, lowercase=lowercase)
    save_tokenizer(tokenizer, tmp_path / "in", model_max_length=24)
    if left == "tokenizer.json alone":
        (tmp_path / "in" / "vocab.txt").unlink()
        (tmp_path / "in" / "tokenizer_config.json").unlink()
    if left == "vocab.txt and config":
        (tmp_path / "in" / "tokenizer.json").unlink()
    run(tmp_path / "in", tmp_path / "out")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    ours = open_pretrained(tmp_path / "out").tokenizer
    texts = fifty_texts()
    expected = [tokenizer.encode(text).ids for text in texts]
    assert len({tuple(ids) for ids in expected}) > 30
    assert [theirs(text)["input_ids"] for text in texts] == expected
    assert [ours.encode(text).ids for text in texts] == expected
    pair = theirs("the cat", "a mat")
    assert pair["token_type_ids"] == tokenizer.encode("the cat", "a mat").type_ids
    assert theirs.mask_token_id == tokenizer.token_to_id("[MASK]")
    assert theirs.model_max_length == 24


def test_a_source_without_a_tokenizer_is_converted_and_that_is_said(tmp_path):
    their_model("BertForPreTraining").save_pretrained(tmp_path / "in")
    assert run(tmp_path / "in", tmp_path / "out")[1:] == ["no tokenizer, as in the source"]
    assert not (tmp_path / "out" / "vocab.txt").exists()


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    save_tokenizer(bert_tokenizer([*SPECIAL, *WORDS, "more"]), tmp_path / "in")
    assert "different checkpoints" in refusal(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --- Parts that are missing, parts that are left -------------------------------------------------


@pytest.mark.parametrize("kind, to, lacks", [
    ("BertModel", "pretraining", "masked-language-model head, next-sentence head"),
    ("BertModel", "masked-lm", "masked-language-model head"),
    ("BertForMaskedLM", "pretraining", "pooler, next-sentence head"),
    ("BertForNextSentencePrediction", "pretraining", "masked-language-model head"),
])  # fmt: skip
def test_what_a_source_lacks_is_never_invented(kind, to, lacks, tmp_path):
    saved(kind, tmp_path / "in")
    message = refusal(tmp_path / "in", tmp_path / "out", to=to)
    assert f"({lacks})" in message and "choose another --to" in message
    assert not (tmp_path / "out").exists()


def test_an_encoder_without_a_pooler_stays_without_and_that_is_said(tmp_path):
    source = saved("BertForMaskedLM", tmp_path / "in")
    lines = run(tmp_path / "in", tmp_path / "out", to="encoder")
    assert any("add_pooling_layer=False" in line for line in lines)
    theirs = opened(tmp_path / "out", "BertModel", add_pooling_layer=False)
    expected = their_outputs(source.bert)["last_hidden_state"]
    assert torch.equal(their_outputs(theirs)["last_hidden_state"], expected)


@pytest.mark.parametrize("kind, to, left", [
    ("BertForSequenceClassification", "encoder", "classifier"),
    ("BertForQuestionAnswering", "encoder", "qa_outputs"),
    ("BertForPreTraining", "masked-lm", "next-sentence head, pooler"),
])  # fmt: skip
def test_what_has_no_place_in_the_class_is_named(kind, to, left, tmp_path):
    saved(kind, tmp_path / "in")
    lines = run(tmp_path / "in", tmp_path / "out", to=to)
    assert f"left out: {left}" in lines


def test_an_output_matrix_of_its_own_is_refused_everywhere(tmp_path):
    """It would be passed over, and every word would come out wrong."""
    saved("BertForMaskedLM", tmp_path / "in", tie_word_embeddings=False)
    assert "cls.predictions.decoder.weight" in load_file(tmp_path / "in" / FILE)
    assert "output matrix of its own" in refusal(tmp_path / "in", tmp_path / "out")
    with pytest.raises(UserError, match="output matrix of its own"):
        open_pretrained(tmp_path / "in")


def test_a_decoder_that_is_only_a_copy_of_the_embeddings_opens(tmp_path):
    source = saved("BertForMaskedLM", tmp_path / "in")
    save_file({name: tensor.clone() for name, tensor in source.state_dict().items()},
              tmp_path / "in" / FILE)  # fmt: skip
    assert run(tmp_path / "in", tmp_path / "out") == [
        f"{tmp_path / 'out'}: BertForMaskedLM, "
        f"{sum(p.numel() for p in source.parameters()):,} numbers in float32"
    ]


# --- Where it goes -------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_place_that_is_taken_is_refused(tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    before = contents(tmp_path / "in")
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    for place in ("in", "file", "empty"):
        assert "exists: choose another OUT" in refusal(tmp_path / "in", tmp_path / place)
    assert contents(tmp_path / "in") == before


def test_a_second_call_does_not_disturb_the_first_and_what_a_killed_one_left_goes(
    tmp_path, monkeypatch
):
    saved("BertForPreTraining", tmp_path / "in")
    (tmp_path / ".out.4711.part").mkdir()
    real, told = convert_module.save_safetensors, []

    def meanwhile(*given):
        if not told:
            told.append(refusal(tmp_path / "in", tmp_path / "out"))
        real(*given)

    monkeypatch.setattr(convert_module, "save_safetensors", meanwhile)
    run(tmp_path / "in", tmp_path / "out")
    assert told[0].endswith("another process is building it; call again when it is done")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_a_folder_that_came_into_being_meanwhile_stays(tmp_path, monkeypatch):
    saved("BertForPreTraining", tmp_path / "in")
    notes = tmp_path / "out" / "notes.txt"
    real = convert_module.locate

    def meanwhile(*given, **options):
        notes.parent.mkdir()
        notes.write_text("mine")
        return real(*given, **options)

    monkeypatch.setattr(convert_module, "locate", meanwhile)
    assert "was created in the meantime" in refusal(tmp_path / "in", tmp_path / "out")
    assert notes.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_a_lock_file_of_somebody_else_stays(tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    (tmp_path / "poetry.lock").write_text("precious")
    run(tmp_path / "in", tmp_path / "poetry")
    assert (tmp_path / "poetry.lock").read_text() == "precious"


@pytest.mark.parametrize("trouble", [
    SafetensorError("I/O error: No space left on device (os error 28)"), OSError(28, "full"),
    KeyboardInterrupt(),
])  # fmt: skip
@pytest.mark.parametrize("where", ["safetensors.torch.save_file", "save_tokenizer"])
def test_trouble_on_the_way_leaves_nothing_behind(trouble, where, tmp_path, monkeypatch):
    saved("BertForPreTraining", tmp_path / "in")
    out = tmp_path / "deep" / "out"

    def fail(*_, **__):
        raise trouble

    if where == "safetensors.torch.save_file":
        monkeypatch.setattr(safetensors.torch, "save_file", fail)
    else:
        monkeypatch.setattr(convert_module, where, fail)
    with pytest.raises((UserError, OSError, KeyboardInterrupt, SafetensorError)):
        run(tmp_path / "in", out, to="encoder")
    assert list(out.parent.iterdir()) == []


# --- Papers --------------------------------------------------------------------------------------


def test_the_sources_card_and_license_are_kept_and_the_conversion_is_told(tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    card = "---\nlicense: apache-2.0\n---\n\n# A model\n\nMade by somebody.\n"
    (tmp_path / "in" / "README.md").write_text(card, encoding="utf-8")
    (tmp_path / "in" / "LICENSE").write_text("the terms", encoding="utf-8")
    run(tmp_path / "in", tmp_path / "out", to="masked-lm", dtype="bfloat16")
    written = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    told = "Converted by bert-convert from `in` to BertForMaskedLM: numbers in bfloat16"
    front, body = card.split("\n\n", 1)
    assert written.startswith(front) and written.endswith(body)
    assert written.index(told) < written.index("# A model")
    assert ModelCard(written).data.license == "apache-2.0"
    assert (tmp_path / "out" / "LICENSE").read_text(encoding="utf-8") == "the terms"


def test_the_card_of_a_model_without_a_head_no_longer_says_that_it_fills_masks(tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    card = "---\npipeline_tag: fill-mask\nlicense: mit\n---\n\n# A model\n"
    (tmp_path / "in" / "README.md").write_text(card, encoding="utf-8")
    run(tmp_path / "in", tmp_path / "out", to="encoder")
    data = ModelCard((tmp_path / "out" / "README.md").read_text(encoding="utf-8")).data
    assert (data.pipeline_tag, data.license) == ("feature-extraction", "mit")


@pytest.mark.parametrize("to, tag", [("masked-lm", "fill-mask"), ("encoder", "feature-extraction")])
def test_a_source_without_a_card_gets_one_that_the_hub_reads(to, tag, tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    run(tmp_path / "in", tmp_path / "out", to=to)
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    data = ModelCard(text).data.to_dict()
    assert (data["library_name"], data["pipeline_tag"]) == ("transformers", tag)
    assert str(tmp_path) not in text  # a published folder tells nothing of the machine


# --- Bad input -----------------------------------------------------------------------------------


def edit_config(folder: Path, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def only(*names: str):
    def make(folder: Path) -> None:
        shutil.rmtree(folder)
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(b"never read")

    return make


BAD = {
    "a pickle": (only("config.json", "pytorch_model.bin"), "as a pickle"),
    "several pickles": (only("config.json", "pytorch_model.bin.index.json"), "as a pickle"),
    "the released files": (
        only("bert_config.json", "vocab.txt", "bert_model.ckpt.index"), "checkpoint of TensorFlow"),
    "weights of Keras": (only("config.json", "tf_model.h5"), "in the form of TensorFlow"),
    "weights of Flax": (only("config.json", "flax_model.msgpack"), "TensorFlow or Flax"),
    "an empty folder": (only(), "holds no config.json"),
    "no weights": (lambda folder: (folder / FILE).unlink(), "holds no model.safetensors"),
    "a file cut short": (
        lambda folder: (folder / FILE).write_bytes((folder / FILE).read_bytes()[:999]),
        "is damaged"),
    "another model": (lambda f: edit_config(f, model_type="gpt2"), "holds a 'gpt2' checkpoint"),
    "a decoder": (lambda f: edit_config(f, is_decoder=True), "only BERT encoders"),
    "absurd depth": (lambda f: edit_config(f, num_hidden_layers=10**9), "num_hidden_layers is 10"),
    "absurd width": (lambda f: edit_config(f, hidden_size=10**9), "hidden_size is 10"),
    "another width": (lambda f: edit_config(f, hidden_size=96), "has shape"),
    "half of the weights": (
        lambda folder: (folder / FILE).rename(folder / "model-00001-of-00002.safetensors"),
        "lacks parts"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_source_is_answered_in_one_line_with_exit_code_2(name, tmp_path, monkeypatch, capsys):
    spoil, says = BAD[name]
    saved("BertForPreTraining", tmp_path / "in")
    capsys.readouterr()
    spoil(tmp_path / "in")
    monkeypatch.setattr(sys, "argv", ["bert-convert", str(tmp_path / "in"), str(tmp_path / "out")])
    with pytest.raises(SystemExit) as caught:
        main()
    output = capsys.readouterr()
    assert caught.value.code == 2 and output.out == ""
    assert says in output.err and output.err.startswith("error: ")
    assert len(output.err.strip().splitlines()) == 1, output.err
    assert not (tmp_path / "out").exists()


def test_an_unset_variable_is_not_the_present_folder(call, tmp_path):
    for words in (("", tmp_path / "out"), (tmp_path / "in", "")):
        code, out, err = call("bert-convert", *words)
        assert (code, out) == (2, "") and 'is empty (""): is a variable unset?' in err


def test_the_command_says_what_it_wrote(call, tmp_path):
    encoder = saved("BertForPreTraining", tmp_path / "in").bert
    code, out, err = call("bert-convert", tmp_path / "in", tmp_path / "out", "--to", "encoder")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{tmp_path / 'out'}: BertModel, "
        f"{sum(p.numel() for p in encoder.parameters()):,} numbers in float32",
        "  left out: masked-language-model head, next-sentence head",
    ]
    code, out, _ = call("bert-convert", "--help")
    assert code == 0 and "SOURCE" in out and "--revision" in out


def test_what_a_killed_call_left_is_cleared_by_the_next_one(tmp_path):
    saved("BertForPreTraining", tmp_path / "in")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, others = tmp_path / f".out.{gone.pid}.part", tmp_path / f".theirs.{gone.pid}.part"
    for folder in (left, others):
        folder.mkdir()
        (folder / FILE).write_bytes(b"half of it")
    run(tmp_path / "in", tmp_path / "out")
    assert not left.exists() and others.exists()
