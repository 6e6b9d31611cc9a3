"""Pretraining called with mistakes, on changed text, after kills: no work is lost, nor made wrong.

The commands run in this process; see `call_here`.
"""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from bert_corpus import pretraining_run as runs
from bert_corpus.store import open_corpus
from bert_corpus.storyworld import story
from bert_paper import pretrain as command
from bert_paper.pretrain import PretrainSettings
from bert_run.errors import UserError
from bert_run.files import read_record

SIZES = ("--vocab-size", 150, "--seq-length", 32, "--hidden-size", 16, "--num-hidden-layers", 1,
         "--batch-size", 4, "--eval-examples", 8, "--device", "cpu", "--steps", 4,
         "--save-every", 2)  # fmt: skip


@pytest.fixture
def corpus(corpus_file, tmp_path, monkeypatch) -> Path:
    """A small corpus, in the present folder."""
    monkeypatch.chdir(tmp_path)
    documents = corpus_file.read_text("utf-8").split("\n\n")[:60]
    path = Path("c.txt")
    path.write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return path


def refused(answer: tuple[int, str, str]) -> str:
    code, out, err = answer
    assert (code, out, err.count("error: ")) == (2, "", 1), err
    return err.strip().rsplit("\n", 1)[-1]


def test_a_misspelt_corpus_leaves_everything_hidden_in_the_folder(call_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path(".git/config").write_text("history")
    Path(".env").write_text("KEY=1")
    assert "bok.txt" in refused(call_here("bert-pretrain", "--corpus", "bok.txt", "--out", "."))
    assert sorted(path.name for path in Path().rglob("*")) == [".env", ".git", "config"]


def test_held_out_text_of_one_document_is_named_before_any_long_work(
    call_here, corpus, monkeypatch
):
    Path("sent.txt").write_text("One sentence only.\n")
    monkeypatch.setattr(runs, "train_wordpiece", lambda *_, **__: pytest.fail("long work"))
    said = refused(call_here("bert-pretrain", "--corpus", corpus, "--heldout", "sent.txt",
                             "--out", "run", *SIZES))  # fmt: skip
    assert "--heldout sent.txt: the held-out text has a single document" in said


def test_held_out_text_that_is_trained_on_is_refused(call_here, corpus):
    for folder in ("one", "two"):
        Path(folder).mkdir()
        shutil.copyfile(corpus, f"{folder}/{folder}.txt")
    for name, heldout in ((corpus, corpus), (corpus, "one/one.txt"), ("one", corpus),
                          ("one", "two")):  # fmt: skip
        said = refused(call_here("bert-pretrain", "--corpus", name, "--heldout", heldout,
                                 "--out", "run", *SIZES))  # fmt: skip
        assert f"also in the corpus {name} (" in said
    text = corpus.read_bytes()
    Path("copy.txt.gz").write_bytes(gzip.compress(text))
    Path("copy.txt").write_bytes(text.replace(b"\n", b"\r\n"))
    Path("tail.txt").write_bytes(b"\n\n".join(text.split(b"\n\n")[-9:]))
    for heldout in ("copy.txt.gz", "copy.txt", "tail.txt"):
        said = refused(call_here("bert-pretrain", "--corpus", corpus, "--heldout", heldout,
                                 "--out", "run", *SIZES))  # fmt: skip
        assert f"also in the corpus {corpus} (" in said
    lines = text.replace(b"\n\n", b"\n").splitlines(keepends=True)  # one text, without parts
    Path("whole.txt").write_bytes(b"".join(lines))
    Path("excerpt.txt").write_bytes(b"".join(lines[7:60]))
    said = refused(call_here("bert-pretrain", "--corpus", "whole.txt", "--heldout", "excerpt.txt",
                             "--out", "run", *SIZES))  # fmt: skip
    assert "also in the corpus whole.txt (" in said
    Path("other.txt").write_bytes(text.replace(b"e", b"a"))
    assert call_here("bert-pretrain", "--corpus", corpus, "--heldout", "other.txt", "--out", "run",
                     *SIZES)[0] == 0  # fmt: skip


def test_held_out_sentences_that_are_in_the_corpus_one_by_one_are_told(corpus, capsys):
    lines = [line for line in corpus.read_text("utf-8").splitlines() if line]
    Path("drawn.txt").write_text("\n\n".join(lines[::-5]), encoding="utf-8")
    settings = PretrainSettings(corpus=str(corpus), heldout="drawn.txt")
    runs.refuse_unfit_held_out_text(settings, open_corpus(str(corpus), held_out="drawn.txt"))
    assert "note: 100% of the sentences of --heldout drawn.txt are also in c.txt" in (
        capsys.readouterr().err)  # fmt: skip


def test_held_out_text_is_compared_with_storyworld_too(tmp_path):
    tales = (story(i).sentences for i in range(20))
    text = "\n\n".join("\n".join(each.text for each in tale) for tale in tales)
    (tmp_path / "told.txt").write_text(text, encoding="utf-8")
    settings = PretrainSettings(documents=30, heldout=str(tmp_path / "told.txt"))
    corpus = open_corpus("storyworld", limit=30, held_out=settings.heldout)
    with pytest.raises(UserError, match="also in the corpus storyworld"):
        runs.refuse_unfit_held_out_text(settings, corpus)


def test_an_empty_file_on_both_sides_is_no_text_that_is_trained_on(corpus):
    text = corpus.read_text("utf-8")
    tea = f"Tea is hot.\n{text.splitlines()[0]}\n\nIce is cold."  # one sentence of both
    for folder, content in (("a", text), ("b", tea)):
        Path(folder).mkdir()
        Path(folder, "text.txt").write_text(content, encoding="utf-8")
        Path(folder, "LICENSE").touch()
    settings = PretrainSettings(corpus="a", heldout="b")
    runs.refuse_unfit_held_out_text(settings, open_corpus("a", held_out="b"))


def test_held_out_stories_that_share_sentences_with_the_corpus_are_taken(tmp_path):
    """Every third passage of three sentences of these stories is also in the corpus."""
    for split, count in (("train", 3000), ("heldout", 120)):
        tales = (story(i, kind="river_birds", split=split).sentences for i in range(count))
        text = "\n\n".join("\n".join(each.text for each in tale) for tale in tales)
        (tmp_path / f"{split}.txt").write_text(text, encoding="utf-8")
    train, heldout = str(tmp_path / "train.txt"), str(tmp_path / "heldout.txt")
    settings = PretrainSettings(corpus=train, heldout=heldout)
    runs.refuse_unfit_held_out_text(settings, open_corpus(train, held_out=heldout))


def test_a_file_that_grows_while_it_is_read_is_not_trained_on(call_here, corpus, monkeypatch):
    """So does a log that the shell writes into the folder of the corpus."""
    Path("books").mkdir()
    shutil.copyfile(corpus, "books/book.txt")
    train_wordpiece = runs.train_wordpiece

    def train(*arguments, **named):
        with open("books/book.txt", "a") as log:
            log.write("learning words: 100%\n")
        return train_wordpiece(*arguments, **named)

    monkeypatch.setattr(runs, "train_wordpiece", train)
    said = refused(call_here("bert-pretrain", "--corpus", "books", "--out", "run", *SIZES))
    assert "books/book.txt has changed while it was read" in said
    monkeypatch.setattr(runs, "train_wordpiece", train_wordpiece)
    assert call_here("bert-pretrain", "--corpus", "books", "--out", "run", *SIZES)[0] == 0


def test_a_card_that_somebody_has_edited_is_kept_under_another_name(call_here, corpus):
    words = ("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)
    assert call_here(*words)[0] == 0
    card = Path("run/README.md")
    ours = card.read_text("utf-8")
    assert "was edited" not in call_here(*words)[2] and card.read_text("utf-8") == ours
    card.write_text("mine")
    assert f"{card} was edited: it was renamed edited-README.md" in call_here(*words)[2]
    assert Path("run/edited-README.md").read_text() == "mine" and card.read_text("utf-8") == ours


def test_a_card_that_is_edited_while_the_run_goes_on_is_kept_too(call_here, corpus, monkeypatch):
    save = runs.RunFolder.save

    def save_and_edit(folder, step, *arguments, **named):
        save(folder, step, *arguments, **named)
        if step == 2:
            Path("run/README.md").write_text("mine")

    monkeypatch.setattr(runs.RunFolder, "save", save_and_edit)
    code, _, err = call_here("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)
    assert code == 0 and "README.md was edited: it was renamed edited-README.md" in err
    assert Path("run/edited-README.md").read_text() == "mine"
    assert "bert-pretrain" in Path("run/README.md").read_text("utf-8")


def test_a_best_model_of_other_examples_is_set_aside(call_here, corpus):
    words = ("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES, "--eval-every", 1)
    assert call_here(*words)[0] == 0
    before = Path("run/best/model.safetensors").read_bytes()
    shutil.rmtree("run/checkpoints/step-00000004")  # as if it had been killed
    code, _, err = call_here(*words, "--eval-examples", 9)
    assert code == 0 and "best was chosen on 8 --eval-examples: it was renamed earlier-best" in err
    assert Path("run/earlier-best/model.safetensors").read_bytes() == before
    assert Path("run/best/model.safetensors").is_file()


def test_a_curve_that_is_missing_is_drawn_when_the_command_is_called_again(call_here, corpus):
    words = ("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)
    assert call_here(*words)[0] == 0
    Path("run/curve.png").unlink()
    assert call_here(*words)[0] == 0 and Path("run/curve.png").is_file()


def test_the_accuracy_of_next_sentences_stands_beside_the_majority_baseline(call_here, corpus):
    """To a document of a single sentence, the next one is always another document's."""
    lines = [f"The bird sat on the mat {n}.\n" + f"It slept {n}.\n" * (n % 2) for n in range(80)]
    Path("short.txt").write_text("\n".join(lines), encoding="utf-8")

    def share_of(text: str | Path, out: str, *more) -> float | None:
        words = ("--corpus", text, "--out", out, *SIZES, "--eval-examples", 400, *more)
        code, said, err = call_here("bert-pretrain", *words)
        assert code == 0, err
        found = re.search(r"% right \(majority baseline: (\d+\.\d)%\)", said)
        card = Path(out, "README.md").read_text("utf-8")
        assert ("Always giving the more common label" in card) == bool(found)
        assert not found or f"right for {found[1]}% of these pairs" in card
        return found and float(found[1])

    assert share_of("short.txt", "run") > 55
    assert share_of(corpus, "other") is None
    short = ("--short-seq-length", 10, "--short-share", 1)  # two sentences hardly fit
    assert share_of(corpus, "short", *short) > 55, "of the pairs that were measured"


def test_a_result_is_told_with_the_examples_that_it_was_measured_on(call_here, corpus):
    """And with the majority of these, whatever --eval-examples says in a later call."""
    Path("short.txt").write_text("".join(f"It slept {n}.\n\n" for n in range(80)), "utf-8")
    words = ("bert-pretrain", "--corpus", "short.txt", "--out", "run", *SIZES)
    before = call_here(*words)[1]
    after = call_here(*words, "--eval-examples", 2000)[1]
    assert "majority baseline: 100.0%" in before and "majority baseline: 100.0%" in after
    note = "on 8 examples, not on 2,000 as --eval-examples says now"
    assert note in after and "examples" not in before


def test_stores_of_a_stopped_call_are_compared_with_the_text_though_a_log_lies_beside_them(
    call_here, corpus, monkeypatch
):
    words = ("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)
    with monkeypatch.context() as patch:
        patch.delattr(command.PretrainingRun, "refuse_other_data")
        with pytest.raises(AttributeError):  # stopped when the stores stand
            call_here(*words)
    built = Path("run/data/train/tokens.bin").read_bytes()
    corpus.write_text(corpus.read_text("utf-8").replace("e", "a"), encoding="utf-8")
    Path("run/log.txt").write_text("of the first call")
    assert call_here(*words)[0] == 0
    assert Path("run/data/train/tokens.bin").read_bytes() != built


@pytest.mark.parametrize("options, said", [
    (("--corpus", "storyworld", "--split-sentences", "True"), "storyworld is in sentences"),
])  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(options, said, call_here, corpus):
    words = ("--corpus", corpus, *SIZES, "--out", "run", *options)
    assert said in refused(call_here("bert-pretrain", *words))


def test_a_mistake_found_after_the_stores_are_built_keeps_them_for_the_corrected_call(
    call_here, corpus, monkeypatch
):
    real = command.PretrainingRun.refuse_other_data

    def late_mistake(self, **_):
        raise ValueError("found late")

    monkeypatch.setattr(command.PretrainingRun, "refuse_other_data", late_mistake)
    with pytest.raises(ValueError, match="found late"):  # not only a UserError
        call_here("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES, "--seed", 7)
    tokens = Path("run/data/train/tokens.bin")
    built = tokens.stat()
    monkeypatch.setattr(command.PretrainingRun, "refuse_other_data", real)
    monkeypatch.setattr(runs, "train_wordpiece", lambda *_, **__: pytest.fail("trained again"))
    code, _, err = call_here("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES,
                             "--seed", 5)  # fmt: skip
    assert code == 0, err
    assert (tokens.stat().st_ino, tokens.stat().st_mtime_ns) == (built.st_ino, built.st_mtime_ns)


def test_data_of_a_failed_call_are_made_again_where_the_corrected_one_asks_for_others(
    call_here, corpus, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(command, "train_on", lambda *_: (_ for _ in ()).throw(RuntimeError("died")))
        with pytest.raises(RuntimeError, match="died"):
            call_here("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)
    shutil.copyfile(corpus, "d.txt")
    with open("d.txt", "a") as file:
        file.write("\n".join(f"\nthe {w} follows a {w} .\na {w} sees the {w} ." for w in
                             ("zebra", "walrus", "ibis", "okapi")))  # fmt: skip
    fields = ("--corpus", "d.txt", *SIZES[2:], "--vocab-size", 170)
    for out in ("run", "fresh"):
        code, _, err = call_here("bert-pretrain", *fields, "--out", out)
        assert code == 0, err
    for name in ("vocab.txt", "model.safetensors", "data/train/tokens.bin"):
        assert Path("run", name).read_bytes() == Path("fresh", name).read_bytes(), name


def test_a_run_goes_on_under_any_spelling_of_its_corpus_and_only_on_the_text_that_it_began_with(
    call_here, corpus, tmp_path
):
    def call(name="c.txt"):
        return call_here("bert-pretrain", "--corpus", name, "--out", tmp_path / "run", *SIZES)

    def goes_on(name="c.txt"):
        code, _, err = call(name)
        return code == 0 and "going on from step 4 of 4" in err

    assert call()[0] == 0
    assert all(map(goes_on, ("c.txt", "./c.txt", tmp_path / "c.txt")))
    original = corpus.read_bytes()
    Path("d.txt").write_bytes(original + b"\nmore .\n")
    assert "d.txt has changed since it was read, or is other text" in refused(call("d.txt"))
    assert "holds a run with corpus 'c.txt', now it is 'e.txt'" in refused(call("e.txt"))
    corpus.write_bytes(original + b"\nmore .\n")
    assert "c.txt has changed since it was read" in refused(call())
    corpus.unlink()
    assert goes_on()

    # The prepared data are gone too, and the text is another one, and then the old one again.
    shutil.rmtree("run/data")
    corpus.write_bytes(original + b"\nthe dog calls the dog .\n" * 30)
    for _ in range(2):
        said = refused(call())
        assert "is not what this run was trained on so far: restore it and remove " in said
        corpus.write_bytes(original)
    shutil.rmtree("run/data")
    assert goes_on()


def test_a_run_of_an_older_version_goes_on_though_nothing_is_noted_of_its_text(call_here, corpus):
    fields = ("--corpus", corpus, "--out", "run", *SIZES)
    assert call_here("bert-pretrain", *fields)[0] == 0
    record = json.loads(Path("run/run.json").read_text())
    assert set(record.pop("found")) == {"train", "heldout", "tokenizer"}
    Path("run/run.json").write_text(json.dumps(record))
    Path("run/data/tokenizer/made_from.json").unlink()
    before = Path("run/model.safetensors").read_bytes()
    code, _, err = call_here("bert-pretrain", *fields)
    assert code == 0 and "going on from step 4 of 4" in err, err
    assert Path("run/model.safetensors").read_bytes() == before
    assert "found" in json.loads(Path("run/run.json").read_text())


def test_a_run_inside_its_corpus_folder_leaves_itself_out_and_says_so(call_here, corpus):
    Path("more.TXT").write_bytes(corpus.read_bytes())
    for _ in range(2):
        code, _, err = call_here("bert-pretrain", "--corpus", ".", "--out", "runs/here", *SIZES)
        assert code == 0, err
    assert "2 text files read; 1 passed over (runs/here)" in err


@pytest.mark.parametrize("damage", ["5", '{"seed": [', "\ud800", '{"corpus": 5}'])
def test_a_damaged_record_of_a_run_is_one_line_and_nothing_is_written_over(
    call_here, corpus, damage
):
    assert call_here("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)[0] == 0
    record, model = Path("run/run.json"), Path("run/model.safetensors")
    record.write_bytes(damage.encode("utf-8", "surrogatepass"))
    before = model.read_bytes()
    said = refused(call_here("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES))
    assert "choose another --out" in said
    assert model.read_bytes() == before
    assert record.read_bytes() == damage.encode("utf-8", "surrogatepass")


def test_a_run_goes_on_though_the_tokenizer_that_it_was_given_is_gone(call_here, corpus):
    assert call_here("bert-pretrain", "--corpus", corpus, "--out", "first", *SIZES)[0] == 0
    Path("first/vocab.txt").rename("v.txt")
    arguments = ("bert-pretrain", "--corpus", corpus, "--out", "run", "--tokenizer", "v.txt",
                 *SIZES[2:])  # fmt: skip
    assert call_here(*arguments)[0] == 0
    Path("v.txt").unlink()
    code, _, err = call_here(*arguments)
    assert code == 0 and "going on from step 4 of 4" in err, err
    assert "tokenizer v.txt: no such file" in refused(call_here(*arguments, "--out", "another"))


def test_a_text_of_equal_documents_names_the_side_that_has_a_single_one(call_here, corpus):
    said = set()
    for other in range(6):  # which of the two is held out, a hash decides
        Path("same.txt").write_text(f"cat {other} sat .\n\n" * 50 + f"dog {other} sat .\n")
        line = refused(call_here("bert-pretrain", "--corpus", "same.txt", "--out", "run", *SIZES))
        said.add(line.partition(" text has a single document (equal ones are on one side)")[0])
    assert said == {"error: same.txt: the training", "error: same.txt: the held-out"}


# Reading a model.


def test_fill_mask_reads_standard_input_where_no_text_is_given(call_here, small_run):
    code, out, err = call_here("bert-fill-mask", "--checkpoint", small_run, "--json",
                               stdin=b"the [MASK] sees\r\na [MASK] .")  # fmt: skip
    assert code == 0, err
    assert [entry["text"] for entry in json.loads(out)] == ["the [MASK] sees", "a [MASK] ."]


def test_fill_mask_shows_each_line_as_soon_as_it_is_filled(call_here, small_run, monkeypatch):
    filled = iter([[], KeyboardInterrupt])

    def fill(*_, **__):
        if (masks := next(filled)) is KeyboardInterrupt:
            raise masks
        return masks

    monkeypatch.setattr("bert_paper.fill_mask.fill_mask", fill)
    answer = call_here("bert-fill-mask", "one [MASK]", "two [MASK]", "--checkpoint", small_run)
    assert answer[1] == "one [MASK]\n"


def test_fill_mask_refuses_a_line_that_is_too_long_before_it_fills_another(call_here, small_run):
    stdin = b"the [MASK] sees\n" + b"the " * 60 + b"[MASK]"
    said = refused(call_here("bert-fill-mask", "--checkpoint", small_run, stdin=stdin))
    assert "the model reads at most 40" in said


@pytest.mark.parametrize("texts, stdin, says", [
    ((), b"", "there is no text: give one with a [MASK]"),
    (("",), b"", "there is no [MASK] in ''"),
    (("a\nb" * 10,), b"", r"there is no [MASK] in 'a\nba\nb"),
    ((), b"the [MASK]\n\na [MASK]", "standard input, line 2 has no [MASK]: each line needs one"),
    ((), b"the [MASK]\na mask", "standard input, line 2 has no [MASK]"),
    ((), "the [MASK]\n".encode("utf-16"), "standard input: UTF-16 text"),
    (("a \udc80 [MASK]",), b"", "is not UTF-8"),
])  # fmt: skip
def test_fill_mask_without_a_text_that_it_can_fill_is_one_line(
    call_here, small_run, texts, stdin, says
):
    answer = call_here("bert-fill-mask", *texts, "--checkpoint", small_run, stdin=stdin)
    assert says in refused(answer)


def test_encode_refuses_a_text_that_is_not_utf_8(call_here, small_run, tmp_path):
    said = refused(call_here("bert-encode", "a \udc80", "--checkpoint", small_run,
                             "--out", tmp_path / "v.npz"))  # fmt: skip
    assert "is not UTF-8" in said and not (tmp_path / "v.npz").exists()


def test_weights_without_permission_are_not_called_damaged(call_here, small_run, monkeypatch):
    monkeypatch.setattr(  # root may read everything
        "os.access", lambda path, mode: not str(path).endswith("model.safetensors")
    )
    said = refused(call_here("bert-fill-mask", "a [MASK]", "--checkpoint", small_run))
    assert "model.safetensors cannot be read: check its permissions" in said


def test_a_config_without_permission_is_not_called_damaged(small_run, monkeypatch):
    def locked(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", locked)
    with pytest.raises(PermissionError):  # `command` makes it one line
        read_record(small_run / "config.json", way_out="copy it again")


def test_a_finished_run_without_its_measurements_gets_them_back(call_here, corpus):
    arguments = ("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)
    assert call_here(*arguments)[0] == 0
    for left in ("", '{"step": 4, "heldout_mlm_loss": 1.5}\n'):
        Path("run/metrics.jsonl").write_text(left)
        code, out, err = call_here(*arguments)
        assert code == 0 and "is restored from" in err and "held out: masked words" in out, err


def test_a_run_of_another_program_is_refused_by_name(call_here, corpus):
    arguments = ("bert-pretrain", "--corpus", corpus, "--out", "run", *SIZES)
    assert call_here(*arguments)[0] == 0
    record = json.loads(Path("run/run.json").read_text())
    assert record["program"] == "bert-pretrain"
    record["program"] = "python -m bert_numpy.pretrain"
    Path("run/run.json").write_text(json.dumps(record))
    line = refused(call_here(*arguments))
    assert "a run with program 'python -m bert_numpy.pretrain', now it is 'bert-pretrain'" in line
