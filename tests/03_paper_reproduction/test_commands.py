"""The commands as a user calls them: what they answer, and how they refuse."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
import tyro
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from bert_paper import demo
from bert_paper.encode import encode
from bert_paper.fill_mask import fill_mask
from bert_paper.pretrain import PretrainSettings
from bert_paper.pretrained import open_pretrained
from bert_run import weights
from bert_run.config import PRESETS, BertConfig
from bert_run.errors import UserError


@pytest.fixture(scope="module")
def theirs(small_run):
    """The small run as `transformers` opens it."""
    return transformers.BertForPreTraining.from_pretrained(small_run).eval()


@pytest.fixture(scope="module")
def their_tokenizer(small_run):
    return transformers.AutoTokenizer.from_pretrained(small_run)


def test_fill_mask_ranks_words_as_transformers_does(small_run, theirs, their_tokenizer):
    text = "the cat sees [MASK] river and [MASK] ball ."
    ours = fill_mask(open_pretrained(small_run), text, top=7)
    inputs = their_tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        logits = theirs(**inputs).prediction_logits[0]
    rows = (inputs["input_ids"][0] == their_tokenizer.mask_token_id).nonzero().flatten()
    assert len(ours) == len(rows) == 2
    for guesses, row in zip(ours, rows, strict=True):
        best = logits[row].softmax(-1).topk(7)
        assert [g.token for g in guesses] == their_tokenizer.convert_ids_to_tokens(best.indices)
        assert [g.probability for g in guesses] == pytest.approx(best.values.tolist(), abs=1e-6)


def test_encode_gives_the_vectors_of_transformers(small_run, theirs, their_tokenizer):
    texts = [("the cat sees a song .",), ("my friend", "finds the market ."), ("a bird",)]
    arrays = encode(open_pretrained(small_run), texts, batch_size=2)
    assert arrays["last_hidden_state"].shape == (3, arrays["input_ids"].shape[1], 32)
    for row, text in enumerate(texts):
        inputs = their_tokenizer(*text, return_tensors="pt")
        length = inputs["input_ids"].shape[1]
        with torch.no_grad():
            expected = theirs.bert(**inputs)
        assert arrays["input_ids"][row, :length].tolist() == inputs["input_ids"][0].tolist()
        assert (
            arrays["token_type_ids"][row, :length].tolist() == inputs["token_type_ids"][0].tolist()
        )
        assert arrays["attention_mask"][row].sum() == length
        states = arrays["last_hidden_state"][row]
        assert np.abs(states[:length] - expected.last_hidden_state[0].numpy()).max() < 1e-5
        assert (states[length:] == 0).all()
        assert np.abs(arrays["pooler_output"][row] - expected.pooler_output[0].numpy()).max() < 1e-5


def test_an_encoder_saved_alone_with_old_names_gives_the_same_vectors(small_run, theirs, tmp_path):
    from safetensors.torch import save_file

    state = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias",
                                                                    "LayerNorm.beta"): array
        for name, array in theirs.bert.state_dict().items()
    }  # fmt: skip
    state["embeddings.position_ids"] = torch.arange(40)[None]
    save_file(state, tmp_path / "model.safetensors")
    for name in ("config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((small_run / name).read_bytes())
    texts = [("the cat sees a song .",)]
    opened = open_pretrained(tmp_path)
    assert opened.missing == ["masked-language-model", "next-sentence"]
    expected = encode(open_pretrained(small_run), texts)
    got = encode(opened, texts)
    assert np.array_equal(expected["last_hidden_state"], got["last_hidden_state"])
    with pytest.raises(UserError, match="has no masked-language-model head, and filling a blank"):
        fill_mask(opened, "the [MASK]")


def test_fill_mask_prints_the_json_that_is_documented(call, small_run):
    texts = ["the [MASK] sees a song .", "[MASK] [MASK]"]
    code, out, err = call("bert-fill-mask", *texts, "--checkpoint", small_run, "--top", 3, "--json")
    assert (code, err) == (0, "")
    entries = json.loads(out)
    assert [entry["text"] for entry in entries] == texts
    assert [len(entry["masks"]) for entry in entries] == [1, 2]
    for entry in entries:
        for guesses in entry["masks"]:
            assert len(guesses) == 3
            assert set(guesses[0]) == {"token", "probability"}
            probabilities = [g["probability"] for g in guesses]
            assert probabilities == sorted(probabilities, reverse=True)


def test_fill_mask_prints_a_table_with_bars(call_here, small_run):
    code, out, _ = call_here("bert-fill-mask", "the [MASK] sees", "--checkpoint", small_run)
    assert code == 0
    assert len(out.splitlines()) == 6 and "%" in out


def test_encode_writes_a_file_of_many_texts_in_their_order(call, small_run, tmp_path):
    lines = ["a bird calls my friend .", "the cat\tsees the river .", "an apple"]
    (tmp_path / "texts.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, _, err = call("bert-encode", "--input", tmp_path / "texts.txt", "--checkpoint",
                        small_run, "--out", tmp_path / "v.npz")  # fmt: skip
    assert code == 0, err
    arrays = np.load(tmp_path / "v.npz")
    assert set(arrays.files) == {"input_ids", "token_type_ids", "attention_mask",
                                 "last_hidden_state", "pooler_output"}  # fmt: skip
    expected = encode(open_pretrained(small_run), [tuple(line.split("\t")) for line in lines])
    for name in arrays.files:
        assert np.array_equal(arrays[name], expected[name]), name


def test_encode_gives_a_row_for_every_line_whatever_characters_it_holds(
    call_here, small_run, tmp_path
):
    """U+2028, U+0085 and a form feed end no line: later rows would belong to other lines."""
    content = "a\u2028bird\nthe\x85cat\r\nmy\x0cfriend\nan apple"
    (tmp_path / "texts.txt").write_bytes(content.encode())
    code, _, err = call_here("bert-encode", "--input", tmp_path / "texts.txt", "--checkpoint",
                        small_run, "--out", tmp_path / "v.npz")  # fmt: skip
    assert code == 0, err
    arrays = np.load(tmp_path / "v.npz")
    assert len(arrays["input_ids"]) == 4
    code, _, err = call_here("bert-encode", "--input", "-", "--checkpoint", small_run, "--out",
                        tmp_path / "s.npz", stdin=content.encode())  # fmt: skip
    assert code == 0, err
    assert np.array_equal(np.load(tmp_path / "s.npz")["pooler_output"], arrays["pooler_output"])


def test_encode__does_not_write_over_a_file_that_is_there(call_here, small_run, tmp_path):
    (tmp_path / "mine.npz").write_text("mine")
    code, _, err = call_here("bert-encode", "a cat", "--checkpoint", small_run, "--out",
                             tmp_path / "mine.npz")  # fmt: skip
    assert code == 2 and "mine.npz exists: choose another name" in err
    assert (tmp_path / "mine.npz").read_text() == "mine"


def test_encode_names_the_longest_line_where_the_vectors_do_not_fit_into_memory(
    small_run, monkeypatch
):
    pretrained, zeros = open_pretrained(small_run), np.zeros

    def too_little(shape, *kind):
        if np.prod(shape) > 10_000:
            raise MemoryError
        return zeros(shape, *kind)

    monkeypatch.setattr(np, "zeros", too_little)
    texts = [("a cat",)] * 20 + [("the dog sees the river and the cat .",)] + [("a bird",)] * 20
    with pytest.raises(UserError, match=r"41 texts of up to \d+ tokens take 0.0 GB.*line 21, the"):
        encode(pretrained, texts)


def test_encode_refuses_an_empty_line_by_its_number(call_here, small_run, tmp_path):
    (tmp_path / "texts.txt").write_text("a bird\n\nan apple\n")
    code, _, err = call_here("bert-encode", "--input", tmp_path / "texts.txt", "--checkpoint",
                        small_run, "--out", tmp_path / "v.npz")  # fmt: skip
    assert (code, err.count("\n")) == (2, 1) and "line 2 is empty" in err


@pytest.mark.parametrize("line", ["\tthe crane", "the crane\t", "the crane\t "])
def test_encode_says_of_a_pair_of_which_one_text_is_empty_that_it_is_one(
    line, call_here, small_run, tmp_path
):
    (tmp_path / "texts.txt").write_text(f"the river\n{line}\n")
    code, _, err = call_here("bert-encode", "--input", tmp_path / "texts.txt", "--checkpoint",
                             small_run, "--out", tmp_path / "v.npz")  # fmt: skip
    assert code == 2 and "texts.txt, line 2 has no text on one side of its tab" in err
    for texts in (("",), ("the crane", " ")):
        code, _, err = call_here("bert-encode", *texts, "--checkpoint", small_run, "--out",
                                 tmp_path / "v.npz")  # fmt: skip
        assert code == 2 and "a text is empty: is a variable unset?" in err


def test_encode_in_bf16_gives_float32_vectors_that_differ_by_its_rounding(
    call, small_run, tmp_path
):
    texts = [("a bird calls my friend .",), ("the cat", "sees the river .")]
    pretrained = open_pretrained(small_run)
    exact, rounded = encode(pretrained, texts), encode(pretrained, texts, precision=torch.bfloat16)
    for name in ("last_hidden_state", "pooler_output"):
        assert rounded[name].dtype == np.float32
        assert 0 < np.abs(rounded[name] - exact[name]).max() < 0.05, name
    code, _, err = call("bert-encode", *texts[1], "--checkpoint", small_run, "--precision", "bf16",
                        "--out", tmp_path / "v.npy")  # fmt: skip
    assert code == 0, err
    assert np.abs(np.load(tmp_path / "v.npy")[0] - exact["last_hidden_state"][1]).max() < 0.05


def test_encode_writes_npy_with_the_last_layer_alone(call_here, small_run, tmp_path):
    code, _, err = call_here("bert-encode", "a bird", "the dog", "--checkpoint", small_run, "--out",
                        tmp_path / "v.npy")  # fmt: skip
    assert code == 0, err
    assert np.load(tmp_path / "v.npy").ndim == 3


def test_the_line_of_megatron_users_works(call, corpus_file, tmp_path):
    """The flags as Megatron-LM names them; small numbers, for the test's sake."""
    code, out, err = call(
        "bert-pretrain", "--num-layers", 1, "--hidden-size", 24, "--num-attention-heads", 3,
        "--ffn-hidden-size", 40, "--seq-length", 32, "--max-position-embeddings", 48,
        "--tokenizer-type", "BertWordPieceCase", "--data-path", corpus_file, "--train-iters", 3,
        "--global-batch-size", 4, "--micro-batch-size", 2, "--lr", 1e-3, "--vocab-size", 150,
        "--save", tmp_path / "run", "--eval-examples", 8,
    )  # fmt: skip
    assert code == 0, err
    assert "held out: masked words" in out
    config = BertConfig.load(tmp_path / "run")
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (1, 24, 3)
    assert (config.intermediate_size, config.max_position_embeddings) == (40, 48)
    tokenizer_config = json.loads((tmp_path / "run" / "tokenizer_config.json").read_text())
    assert tokenizer_config["do_lower_case"] is False


def checkpoint_copy(small_run, folder, **replaced):
    """The small run's folder with some files replaced; None leaves one out."""
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
                 "vocab.txt"):  # fmt: skip
        content = replaced.get(name, (small_run / name).read_bytes())
        if content is not None:
            (folder / name).write_bytes(content)
    return folder


def gpt2_config(run):
    return json.dumps({"model_type": "gpt2"}).encode()


def other_vocabulary(run):
    config = json.loads((run / "config.json").read_text())
    return json.dumps({**config, "vocab_size": 30522}).encode()


@pytest.mark.parametrize("make, says", [
    (lambda run, tmp: ("bert-fill-mask", "no blank here", "--checkpoint", run),
     "there is no [MASK] in"),
    (lambda run, tmp: ("bert-fill-mask", "the [MASK] " + "cat " * 60, "--checkpoint", run),
     "the model reads at most 40"),
    (lambda run, tmp: ("bert-fill-mask", "a [MASK]", "--checkpoint", tmp / "nothing"),
     "there is no checkpoint folder"),
    (lambda run, tmp: ("bert-fill-mask", "a [MASK]", "--checkpoint", checkpoint_copy(
        run, tmp / "gpt2", **{"config.json": gpt2_config(run)})), "holds a 'gpt2' checkpoint"),
    (lambda run, tmp: ("bert-fill-mask", "a [MASK]", "--checkpoint", checkpoint_copy(
        run, tmp / "v", **{"config.json": other_vocabulary(run)})), "different checkpoints"),
    (lambda run, tmp: ("bert-fill-mask", "a [MASK]", "--checkpoint", checkpoint_copy(
        run, tmp / "cut", **{"model.safetensors": (run / "model.safetensors").read_bytes()[:999]})),
     "is damaged"),
    (lambda run, tmp: ("bert-fill-mask", "a [MASK]", "--top", 0, "--checkpoint", run),
     "--top is 0"),
    (lambda run, tmp: ("bert-encode", "a", "--checkpoint", run, "--out", tmp / "v.txt"),
     "must end in .npz or .npy"),
    (lambda run, tmp: ("bert-encode", "--input", tmp / "none.txt", "--checkpoint", run, "--out",
                       tmp / "v.npz"), "none.txt): check the path"),
    (lambda run, tmp: ("bert-encode", "cat " * 60, "--checkpoint", run, "--out", tmp / "v.npz"),
     "the model reads at most 40"),
    (lambda run, tmp: ("bert-pretrain", "--corpus", tmp / "none.txt", "--out", tmp / "r"),
     "none.txt"),
    (lambda run, tmp: ("bert-pretrain", "--hidden-size", 100, "--num-attention-heads", 3, "--out",
                       tmp / "r"), "does not divide"),
    (lambda run, tmp: ("bert-pretrain", "--seq-length", 600, "--out", tmp / "r"),
     "longer than the model's 512 positions"),
    (lambda run, tmp: ("bert-pretrain", "--steps", 0, "--out", tmp / "r"), "--steps is 0"),
    (lambda run, tmp: ("bert-pretrain", "--device", "cuda:99", "--out", tmp / "r"), "--device"),
])  # fmt: skip
def test_bad_input_is_answered_in_one_clear_line_with_exit_code_2(
    call_here, small_run, tmp_path, make, says
):
    code, out, err = call_here(*make(small_run, tmp_path))
    assert code == 2
    assert says in err
    assert len(err.strip().splitlines()) == 1, err
    assert out == "" and "Traceback" not in err
    assert not (tmp_path / "v.npz").exists()


@pytest.mark.parametrize("content, says", [
    (b"", "no text in it"),
    (b"\x00\x01binary\x00" * 50, "binary"),
    ("Sm\u00f8rrebr\u00f8d.\n".encode("latin-1") * 5, "UTF-8"),
])  # fmt: skip
def test_a_corpus_that_is_no_text_is_refused_in_one_clear_line(call_here, tmp_path, content, says):
    (tmp_path / "corpus.txt").write_bytes(content)
    code, _, err = call_here("bert-pretrain", "--corpus", tmp_path / "corpus.txt", "--out",
                        tmp_path / "run")  # fmt: skip
    assert code == 2
    assert says in err and "corpus.txt" in err
    assert len(err.strip().splitlines()) == 1, err


def test_a_refused_corpus_leaves_no_folder_so_the_corrected_command_works(
    call_here, corpus_file, tmp_path
):
    fields = ("--out", tmp_path / "run", "--vocab-size", 150, "--seq-length", 32, "--steps", 2,
              "--hidden-size", 16, "--batch-size", 4, "--eval-examples", 8)  # fmt: skip
    assert call_here("bert-pretrain", "--corpus", tmp_path / "wrong.txt", *fields)[0] == 2
    assert not (tmp_path / "run").exists()
    code, _, err = call_here("bert-pretrain", "--corpus", corpus_file, *fields)
    assert code == 0, err


def test_a_hub_that_cannot_be_reached_is_told_in_one_line(call, tmp_path, monkeypatch):
    """A proxy on a closed port refuses every connection at once."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    code, _, err = call("bert-pretrain", "--corpus", "Salesforce/wikitext:wikitext-2-raw-v1",
                        "--out", tmp_path / "run")  # fmt: skip
    assert code == 2
    assert "Salesforce/wikitext" in err and "Traceback" not in err
    assert len(err.strip().splitlines()) == 1, err


def test_weights_that_do_not_fit_on_the_disk_are_an_error_of_the_system(monkeypatch, tmp_path):
    def no_space(*_, **__):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(weights, "save_file", no_space)
    with pytest.raises(OSError, match=r"No space left on device: .*model\.safetensors"):
        weights.save_weights({}, tmp_path / "model.safetensors")


@pytest.mark.parametrize("command", ["bert-pretrain", "bert-fill-mask", "bert-encode"])
def test_help_tells_every_option(call_here, command):
    code, out, _ = call_here(command, "--help")
    assert code == 0
    assert "--device" in out and "checkpoint" in out


MEGATRON = shlex.split(
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --micro-batch-size 4 "
    "--global-batch-size 32 --seq-length 512 --max-position-embeddings 512 --train-iters 2000000 "
    "--lr 0.0001 --lr-decay-style linear --min-lr 1.0e-5 --lr-warmup-fraction .01 "
    "--weight-decay 1e-2 --clip-grad 1.0 --bf16 --data-path my-bert_text_sentence "
    "--vocab-file vocab.txt --split 949,50,1 --log-interval 100 --save-interval 10000 "
    "--eval-interval 1000 --eval-iters 10 --save checkpoints/bert"
)
ANSWERED = {
    "--lr-decay-style": 2,
    "--min-lr": 2,
    "--lr-warmup-fraction": 2,
    "--bf16": 1,
    "--split": 2,
    "--log-interval": 2,
    "--eval-iters": 2,
}  # and how many words to drop


def test_megatron__all_options_that_are_others_here_are_answered_at_once(call_here):
    code, _, err = call_here("bert-pretrain", *MEGATRON)
    assert code == 2 and len(err.strip().splitlines()) == 1, err
    for option in ANSWERED:
        assert f"{option}: " in err
    options = {word for word in MEGATRON if word.startswith("--")}
    for option in options - set(ANSWERED):
        assert f"{option}: " not in err
    code, _, same = call_here("bert-pretrain", *(f"{option}=1" for option in ANSWERED))
    assert code == 2 and all(f"{option}: " in same for option in ANSWERED)


def test_megatron__what_the_message_says_is_understood():
    words = list(MEGATRON)
    for option, count in ANSWERED.items():
        del words[words.index(option) : words.index(option) + count]
    words += shlex.split("--precision bf16 --warmup-steps 20000 --eval-examples 320")
    settings = tyro.cli(PretrainSettings, args=words)
    assert settings.bert_config(30_522) == PRESETS["large"]
    assert (settings.steps, settings.batch_size, settings.micro_batch_size) == (2_000_000, 32, 4)
    assert (settings.warmup, settings.eval_examples) == (20_000, 320)
    assert (settings.save_every, settings.eval_every) == (10_000, 1_000)
    assert settings.out == Path("checkpoints/bert") and settings.tokenizer == Path("vocab.txt")


def test_megatron__our_own_options_are_none_of_its(call_here):
    code, _, err = call_here("bert-pretrain", "--corpus", "no-such-file.txt", "--split-sentences",
                             "True")  # fmt: skip
    assert code == 2 and "Megatron" not in err


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("--steps", 2)])
def test_demo__help_and_an_unknown_option_train_nothing(argument, code, monkeypatch, capsys):
    monkeypatch.setattr("bert_paper.demo.pretrain", lambda settings: pytest.fail("it trains"))
    monkeypatch.setattr("sys.argv", ["demo", argument])
    with pytest.raises(SystemExit) as stopped:
        demo.main()
    assert stopped.value.code == code
    assert "python -m bert_paper.demo" in "".join(capsys.readouterr())


@pytest.mark.parametrize("name", ["bert.encoder.layer.0.output.dense.weight",
                                  "bert.pooler.dense.weight"])  # fmt: skip
def test_encode_writes_no_vectors_of_a_model_that_overflows(call_here, small_run, tmp_path, name):
    weights = load_file(small_run / "model.safetensors")
    large = {name: np.where(weights[name] > 0, np.float32(3e38), np.float32(-3e38))}
    folder = checkpoint_copy(small_run, tmp_path / "large")
    save_file(weights | large, folder / "model.safetensors")
    code, _, err = call_here("bert-encode", "the cat", "--checkpoint", folder, "--out",
                             tmp_path / "v.npz")  # fmt: skip
    assert code == 2 and "large computes numbers that are not finite" in err
    assert not (tmp_path / "v.npz").exists()


def test_a_folder_whose_name_is_not_utf8_is_refused_before_a_run(call_here, corpus_file, tmp_path):
    out = tmp_path / "run-\udce9"
    code, _, err = call_here("bert-pretrain", "--corpus", corpus_file, "--out", out,
                             "--vocab-size", 150, "--seq-length", 32, "--hidden-size", 16,
                             "--num-hidden-layers", 1, "--batch-size", 4, "--steps", 2,
                             "--eval-examples", 8)  # fmt: skip
    assert code == 2 and "its name is not UTF-8: choose another" in err
    assert not out.exists(), "safetensors could not open what was saved there"
