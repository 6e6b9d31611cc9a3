"""The token store: what goes in comes out, in bounded memory, never half-written."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_corpus import build_stores
from bert_corpus import store as token_store
from bert_corpus.pretraining_run import prepare
from bert_corpus.store import (
    PARTS,
    Corpus,
    TokenStore,
    build_store,
    held_alone,
    holds_stores,
    open_corpus,
)
from bert_corpus.wordpiece import SPECIAL_TOKENS, bert_tokenizer, save_tokenizer, tokenizer_sha256
from bert_run.config import RunSettings
from bert_run.errors import UserError

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TOKENS = [*SPECIAL_TOKENS, ".", "[", "]", *LETTERS, *(f"##{c}" for c in LETTERS)]
TOKENIZER = bert_tokenizer(TOKENS)
DOCUMENTS = [["ab c.", "de"], ["fgh.", "ab c."], ["i [SEP] 7"]]


def encode(sentence):
    """Ids without special tokens, the text of special tokens being text like any other."""
    ids = TOKENIZER.encode(sentence.replace("[SEP]", "[ sep ]"), add_special_tokens=False).ids
    return ids


def build(folder, documents=DOCUMENTS, tokenizer=TOKENIZER):
    return build_store(documents, tokenizer, folder, progress=False)


def content(store):
    """The store as lists of lists of ids."""
    sentences = [store.tokens[a:b].tolist() for a, b in pairwise(store.sentence_starts)]
    return [sentences[a:b] for a, b in pairwise(store.document_starts)]


def expected_content(documents):
    encoded = [[ids for s in document if (ids := encode(s))] for document in documents]
    return [document for document in encoded if document]


def test_the_store_gives_back_the_ids_of_every_sentence(tmp_path):
    store = build(tmp_path / "store")
    assert content(store) == expected_content(DOCUMENTS)
    assert store.tokens.dtype == np.uint16
    assert store.sentence_starts.dtype == store.document_starts.dtype == np.int64
    assert store.document_starts.tolist() == [0, 2, 4, 5]
    assert not store.tokens.flags.writeable


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.text("ab .\u200b7", max_size=8), max_size=4), max_size=12),
    st.sampled_from([1, 5, 1_000]),
)
def test_empty_sentences_and_documents_are_left_out_whatever_the_batches(
    tmp_path_factory, documents, batch
):
    folder = tmp_path_factory.mktemp("store") / "s"
    expected = expected_content(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_store, "BATCH", batch)
        if not expected:
            with pytest.raises(UserError, match="the corpus is empty"):
                build(folder, documents)
            assert list(folder.parent.iterdir()) == []
        else:
            assert content(build(folder, documents)) == expected


def test_special_tokens_written_in_the_text_are_text_and_the_tokenizer_is_left_as_it_was(tmp_path):
    store = build(tmp_path / "store", [["a [SEP] b [MASK]."]])
    assert not set(store.tokens.tolist()) & {TOKENIZER.token_to_id(t) for t in ("[SEP]", "[MASK]")}
    assert TOKENIZER.encode("[MASK]", add_special_tokens=False).ids == [4]


def test_a_vocabulary_above_65535_entries_takes_32_bits(tmp_path):
    many = [*SPECIAL_TOKENS, *LETTERS, *(f"w{i}" for i in range(66_000)), "last"]
    store = build(tmp_path / "store", [["last a"]], bert_tokenizer(many))
    assert store.tokens.dtype == np.uint32
    assert store.tokens.tolist() == [len(many) - 1, 5]


# --- The report ----------------------------------------------------------------------------------


def test_the_report_counts_what_is_there(tmp_path):
    report = build(tmp_path / "store").report
    assert (report["documents"], report["sentences"]) == (3, 5)
    assert report["tokens"] == 4 + 2 + 4 + 4 + 7
    assert report["unknown_share"] == 1 / 21  # the digit
    assert report["vocab_size"] == len(TOKENS)
    assert report["tokenizer_sha256"] == tokenizer_sha256(TOKENIZER)


def test_a_corpus_says_in_the_report_where_the_text_came_from(tmp_path):
    file = tmp_path / "corpus.txt"
    file.write_text("a b.\nc d.\n\ne f.\ng h.\n")
    corpus = open_corpus(str(file))
    report = build(tmp_path / "store", corpus).report
    assert (report["name"], report["fingerprint"]) == (str(file), corpus.fingerprint)
    assert report["documents"] == 1


# --- Never half-written, never taken for another -------------------------------------------------


def test_a_build_that_fails_leaves_the_old_store_and_no_pieces(tmp_path):
    build(tmp_path / "store", [["old."]])

    def failing():
        yield ["new one."]
        raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError):
        build(tmp_path / "store", failing())
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert content(TokenStore.open(tmp_path / "store")) == [[encode("old.")]]


def test_a_folder_with_other_things_is_not_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="holds other things"):
        build(tmp_path)
    assert (tmp_path / "thesis.tex").is_file()


def test_a_store_of_another_tokenizer_is_refused(tmp_path):
    folder = build(tmp_path / "store").folder
    assert TokenStore.open(folder, TOKENIZER).report["vocab_size"] == len(TOKENS)
    with pytest.raises(UserError, match="built with another tokenizer"):
        TokenStore.open(folder, bert_tokenizer(TOKENS, lowercase=False))


@pytest.mark.parametrize("name", ["tokens", "sentence_starts", "document_starts"])
def test_a_damaged_store_is_named_with_what_to_do(tmp_path, name):
    folder = build(tmp_path / "store").folder
    path = folder / f"{name}.bin"
    whole = path.read_bytes()

    def message():
        with pytest.raises(UserError) as caught:
            TokenStore.open(folder)
        assert "delete the token store and build it again" in str(caught.value)
        return str(caught.value)

    path.write_bytes(whole[:-2])
    assert f"{name}.bin has {len(whole) - 2} bytes, not {len(whole)}" in message()
    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    assert f"{name}.bin has changed" in message()
    path.unlink()
    assert f"{name}.bin has 0 bytes" in message()


@pytest.mark.parametrize("key", ["tokens", "tokenizer_sha256", "documents", "checksums"])
def test_a_report_without_one_of_its_keys_is_told_by_the_key(tmp_path, key):
    folder = build(tmp_path / "store").folder
    report = json.loads((folder / "report.json").read_text())
    for changed in ({**report, key: None}, {k: v for k, v in report.items() if k != key}):
        (folder / "report.json").write_text(json.dumps(changed))
        with pytest.raises(UserError, match=rf"report\.json is damaged .*'{key}'"):
            TokenStore.open(folder)


def test_a_damaged_or_missing_report_is_told(tmp_path):
    with pytest.raises(UserError, match="there is no "):
        TokenStore.open(tmp_path)
    folder = build(tmp_path / "store").folder
    report = json.loads((folder / "report.json").read_text())
    for broken in ('{"format"', "[]", json.dumps({**report, "format": 99})):
        (folder / "report.json").write_text(broken)
        with pytest.raises(UserError, match=r"report\.json is (damaged|not of format 1)"):
            TokenStore.open(folder)


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    def documents(count):
        return ([f"{'abc ' * (i % 9 + 1)}{LETTERS[i % 26]}."] * 4 for i in range(count))

    def peak(count):
        tracemalloc.start()
        build(tmp_path / "store", documents(count))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_store, "BATCH", 1 << 14)
        small, large = peak(1_000), peak(10_000)
    assert os.path.getsize(tmp_path / "store" / "tokens.bin") > 1_000_000
    assert large < 2 * small


# --- Going on after an interruption --------------------------------------------------------------


def corpus_of(documents, name="corpus", *, fail_after=None):
    """A corpus with a fingerprint; reading fails after so many documents."""

    def walk():
        for number, document in enumerate(documents):
            if number == fail_after:
                raise UserError("reading stopped")
            yield document

    return Corpus(walk, name=name, fingerprint=name)


MANY = [[f"{a}{b} {c}." for c in "xyz"[: i + 1]] for a in "klmn" for i, b in enumerate("abc")]


@pytest.fixture
def small_batches(monkeypatch):
    """A batch for each document, and all is made safe after each, but from kills only: flushing to
    the disk itself guards against power cuts, and takes its time on a busy disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(token_store, "BATCH", 1)
    monkeypatch.setattr(token_store, "SAFE_EVERY", 0)


@pytest.fixture
def encoded(monkeypatch):
    """How many sentences have been encoded so far."""
    counts = []
    add = token_store.StoreWriter.add

    def counted(self, ids, sizes):
        counts.append(len(ids))
        add(self, ids, sizes)

    monkeypatch.setattr(token_store.StoreWriter, "add", counted)
    return counts


def interrupt(folder, *, after):
    with pytest.raises(UserError, match="reading stopped"):
        build(folder, corpus_of(MANY, fail_after=after))
    assert not folder.exists()


def same_files(a, b):
    assert sorted(p.name for p in a.iterdir()) == sorted(p.name for p in b.iterdir())
    return all((b / path.name).read_bytes() == path.read_bytes() for path in a.iterdir())


@pytest.mark.parametrize("after", range(1, 12))
def test_an_interrupted_build_goes_on_and_encodes_nothing_twice(
    tmp_path, small_batches, encoded, capsys, after
):
    expected = build(tmp_path / "expected", corpus_of(MANY)).folder
    n_sentences = sum(encoded)
    encoded.clear()
    interrupt(tmp_path / "store", after=after)
    store = build(tmp_path / "store", corpus_of(MANY))
    assert same_files(store.folder, expected)
    assert sum(encoded) <= n_sentences
    assert ("going on" in capsys.readouterr().err) == (after > 1)  # one is always under way
    assert sorted(p.name for p in tmp_path.iterdir()) == ["expected", "store"]


KILLED = """
import itertools, os, random, signal, sys
from bert_corpus import store as token_store
from bert_corpus.store import open_corpus
from bert_corpus.wordpiece import load_tokenizer

text, where = sys.argv[1:]
corpus, tokenizer = open_corpus(text, held_out=text), load_tokenizer(text + ".tokenizer")
token_store.BATCH, token_store.SAFE_EVERY = 70, 0
os.fsync = lambda _: None  # guards against power cuts, not against kills

def build(folder, die_at=0, die_after=0.0):
    '''In a process that dies when it touches a file of the store for the die_at-th time, or after
    so many seconds.'''
    child = os.fork()
    if child == 0:
        touches = itertools.count(1)

        def touch(event, arguments):
            if event in ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"):
                if os.path.basename(folder) in str(arguments[0]) and next(touches) == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(touch)
        signal.setitimer(signal.ITIMER_REAL, die_after)  # nothing catches its signal
        token_store.build_store(corpus, tokenizer, folder, progress=False)
        os._exit(0)
    return os.waitpid(child, 0)[1]

die_at = 1
while killed := build(f"{where}/once-{die_at:03}", die_at):
    assert killed == signal.SIGKILL
    assert build(f"{where}/once-{die_at:03}") == 0
    die_at += 1
draw = random.Random(0)
while build(f"{where}/often", draw.randrange(9, 30)):
    pass
token_store.SAFE_EVERY = 0.003
seconds = 0.005
while build(f"{where}/timed", die_after=seconds):
    seconds *= 1.2
print(die_at)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_killed_at_any_moment_a_build_goes_on_to_the_same_bytes(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(f"{a}{b} c.\n{b}{a} d." for a in "klmn" for b in "abcde"))
    save_tokenizer(TOKENIZER, f"{text}.tokenizer")
    corpus = open_corpus(str(text), held_out=str(text))
    expected = build(tmp_path / "expected", corpus).folder
    (tmp_path / "killed").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, text, tmp_path / "killed"],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stores = sorted((tmp_path / "killed").iterdir())
    assert len(stores) == int(done.stdout) + 2 > 35
    for store in stores:
        assert not store.name.endswith("unfinished")
        assert same_files(store, expected), store
    assert done.stderr.count("going on") > 10


@pytest.mark.parametrize("change", ["text", "tokenizer", "damage"])
def test_when_something_has_changed_since_the_interruption_building_starts_anew(
    tmp_path, small_batches, capsys, change
):
    folder = tmp_path / "store"
    interrupt(folder, after=7)
    corpus, tokenizer = corpus_of(MANY), TOKENIZER
    if change == "text":
        corpus = corpus_of([["other text."], *MANY], name="changed")
    elif change == "tokenizer":
        tokenizer = bert_tokenizer(TOKENS, lowercase=False)
    else:
        path = tmp_path / "store.unfinished" / "tokens.bin"
        path.write_bytes(b"??" + path.read_bytes()[2:])
    store = build(folder, corpus, tokenizer)
    assert same_files(store.folder, build(tmp_path / "expected", corpus, tokenizer).folder)
    (message,) = capsys.readouterr().err.splitlines()
    assert message.endswith("starting anew")


def test_what_a_build_killed_at_its_very_beginning_left_is_removed(tmp_path):
    leftover = tmp_path / "store.unfinished"
    leftover.mkdir(parents=True)
    (leftover / "tokens.bin").write_bytes(b"half")
    assert content(build(tmp_path / "store")) == expected_content(DOCUMENTS)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_complete_store_of_the_same_documents_is_only_opened(tmp_path, encoded):
    build(tmp_path / "store", corpus_of(MANY))
    encoded.clear()
    build(tmp_path / "store", corpus_of(MANY))
    assert encoded == []
    build(tmp_path / "store", corpus_of(MANY[:3], name="another"))
    assert sum(encoded) == 6


@pytest.mark.parametrize("place", ["store/notes.txt", "store.unfinished/notes.txt",
                                   "store.unfinished/mine/notes.txt"])  # fmt: skip
def test_what_somebody_else_has_put_where_a_store_is_built_stays(tmp_path, place):
    """Also beside a report: the folder is replaced only if all of it is a store's."""
    build(tmp_path / "store", [["old."]])
    note = tmp_path / place
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("mine")
    with pytest.raises(UserError, match="holds other things than a token store"):
        build(tmp_path / "store", [["new."]])
    assert note.read_text() == "mine"
    assert content(TokenStore.open(tmp_path / "store")) == [[encode("old.")]]


@pytest.mark.parametrize(
    "damage", ["{", "[]", "{}", '{"identity": {}, "documents": 5, "files": {}}']
)
def test_a_damaged_record_of_an_interrupted_build_starts_it_anew(
    tmp_path, small_batches, capsys, damage
):
    interrupt(tmp_path / "store", after=7)
    (tmp_path / "store.unfinished" / "progress.json").write_text(damage)
    store = build(tmp_path / "store", corpus_of(MANY))
    assert same_files(store.folder, build(tmp_path / "expected", corpus_of(MANY)).folder)
    assert "starting anew" in capsys.readouterr().err


def test_stores_are_not_built_over_a_tokenizer_that_is_not_theirs(call, tmp_path):
    (tmp_path / "out" / "tokenizer").mkdir(parents=True)
    (tmp_path / "out" / "tokenizer" / "vocab.txt").write_text("mine")
    for arguments in ((), ("--tokenizer", tmp_path / "tokenizer")):
        code, line = call(*arguments)
        assert code == 2 and "holds other things than a tokenizer" in line
    assert (tmp_path / "out" / "tokenizer" / "vocab.txt").read_text() == "mine"


def test_stores_are_not_built_into_the_corpus_folder_itself(call, tmp_path):
    before = sorted((tmp_path / "texts").iterdir())
    code, line = call(out="texts")
    assert code == 2 and "is the corpus itself" in line
    assert sorted((tmp_path / "texts").iterdir()) == before


def test_stores_are_not_built_into_finished_ones_or_a_run(call, tmp_path):
    assert call("--tokenizer", tmp_path / "tokenizer")[0] == 0
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    for out in ("out/train", "out/mine", "run"):
        code, line = call("--tokenizer", tmp_path / "tokenizer", out=out)
        assert code == 2 and f"{out} is a run's folder, or lies in one of finished stores" in line
    assert call("--tokenizer", tmp_path / "tokenizer")[0] == 0, "the stores are whole"


def test_stores_of_the_same_text_under_another_name_are_taken(call, tmp_path, monkeypatch):
    call("--tokenizer", tmp_path / "tokenizer")
    os.utime(tmp_path / "texts" / "a.txt", (1, 1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["build_stores", "./texts", "--out", "out"])
    before = (tmp_path / "out" / "train" / "tokens.bin").stat().st_ino
    build_stores.main()
    assert (tmp_path / "out" / "train" / "tokens.bin").stat().st_ino == before


def test_the_next_command_can_be_pasted_whatever_the_folder_is_called(call, tmp_path):
    code, line = call("--tokenizer", tmp_path / "tokenizer", out="my stores")
    assert code == 0 and shlex.split(line)[-1] == str(tmp_path / "my stores")


def test_two_processes_cannot_build_one_store_at_once(tmp_path):
    with (
        held_alone(tmp_path / "store"),
        pytest.raises(UserError, match="another process is building it"),
    ):
        build(tmp_path / "store")
    assert content(build(tmp_path / "store")) == expected_content(DOCUMENTS)


def test_a_full_disk_is_told_in_one_line_and_what_was_stored_is_gone_on_with(tmp_path):
    resource = pytest.importorskip("resource")
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(f"{a}{b}{c}." for a in LETTERS for b in LETTERS for c in "abc"))
    save_tokenizer(TOKENIZER, tmp_path / "tokenizer")
    small = "import bert_corpus.store as b; b.BATCH, b.SAFE_EVERY = 900, 0; "
    code = small + "from bert_corpus.build_stores import main; main()"
    arguments = [text, "--out", tmp_path / "out", "--tokenizer", tmp_path / "tokenizer"]

    def full_after_12_kilobytes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *arguments],  # with -B no .pyc file is cut off either
        capture_output=True, text=True, preexec_fn=full_after_12_kilobytes,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: File too large")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "train").exists()
    corpus = open_corpus(str(text))
    going_on = build(tmp_path / "out" / "train", corpus).folder
    assert same_files(going_on, build(tmp_path / "expected", corpus).folder)


# --- Stores built apart from training ------------------------------------------------------------


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Call the command on a folder of five files; give its exit code and its last line."""
    save_tokenizer(TOKENIZER, tmp_path / "tokenizer")
    (tmp_path / "texts").mkdir()
    for i, name in enumerate("abcde"):
        lines = [f"{name}{a} {b}." for a in LETTERS for b in LETTERS[: 4 + 3 * i]]
        (tmp_path / "texts" / f"{name}.txt").write_text("\n\n".join(lines))

    def call(*arguments, out="out"):
        words = ["build_stores", tmp_path / "texts", "--out", tmp_path / out, *arguments]
        monkeypatch.setattr(sys, "argv", [str(word) for word in words])
        try:
            build_stores.main()
            code = 0
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return code, (captured.out or captured.err).splitlines()[-1]

    return call


def test_a_folder_of_stores_is_a_corpus_and_an_unfinished_one_is_not(call, tmp_path):
    (tmp_path / "out" / "train.unfinished").mkdir(parents=True)
    save_tokenizer(TOKENIZER, tmp_path / "out" / "tokenizer")
    settings = RunSettings(corpus=str(tmp_path / "out"), seq_length=16)
    with pytest.raises(UserError, match="are not finished"):
        prepare(settings, tmp_path / "run" / "data")
    call("--tokenizer", tmp_path / "tokenizer")
    assert holds_stores(tmp_path / "out") and not holds_stores(tmp_path / "texts")
    data = prepare(settings, tmp_path / "run" / "data")
    assert data.train.corpus.folder == tmp_path / "out" / "train"
    assert list((tmp_path / "run" / "data").iterdir()) == []


def test_stores_of_another_corpus_or_tokenizer_are_not_taken_for_those_asked_for(call, tmp_path):
    call("--tokenizer", tmp_path / "tokenizer")
    save_tokenizer(bert_tokenizer(TOKENS, lowercase=False), tmp_path / "cased")
    assert "are those of another tokenizer" in call("--tokenizer", tmp_path / "cased")[1]
    (tmp_path / "texts" / "e.txt").unlink()
    assert "stores of another corpus" in call("--tokenizer", tmp_path / "tokenizer")[1]


def test_stores_of_another_held_out_text_are_not_taken_for_those_asked_for(call, tmp_path):
    names = [tmp_path / f"{number}.txt" for number in (1, 2)]
    for path in names:
        path.write_text(f"{path.stem} one.\n\n{path.stem} two.")
    arguments = ("--tokenizer", tmp_path / "tokenizer", "--heldout")
    assert call(*arguments, names[0])[0] == 0 and call(*arguments, names[0])[0] == 0
    for other in (arguments[:2], (*arguments, names[1]), (*arguments, tmp_path / "texts")):
        code, line = call(*other)
        assert code == 2 and "stores of another corpus or --heldout" in line
    names[0].write_text("one is edited.\n\none two.")
    code, line = call(*arguments, names[0])
    assert code == 2 and "its files have changed since" in line


def test_the_tokenizer_that_an_interrupted_build_of_another_corpus_has_left_is_not_used(
    call, tmp_path
):
    call("--vocab-size", 100)
    for part in PARTS:
        shutil.rmtree(tmp_path / "out" / part)  # as if it had been killed
    for path in (tmp_path / "texts").iterdir():
        path.write_text(path.read_text().translate(str.maketrans("abcdef", "абвгде")))
    assert call("--vocab-size", 100)[0] == call("--vocab-size", 100, out="fresh")[0] == 0
    for part in PARTS:
        assert same_files(tmp_path / "out" / part, tmp_path / "fresh" / part)


def test_a_tokenizer_that_somebody_has_put_beside_new_stores_is_not_replaced(call, tmp_path):
    save_tokenizer(TOKENIZER, tmp_path / "out" / "tokenizer")
    before = (tmp_path / "out" / "tokenizer" / "vocab.txt").read_bytes()
    code, line = call("--vocab-size", 100)
    assert code == 2 and "holds other things than a tokenizer made for this corpus" in line
    assert call("--tokenizer", tmp_path / "out" / "tokenizer")[0] == 0
    assert (tmp_path / "out" / "tokenizer" / "vocab.txt").read_bytes() == before


def test_what_finished_stores_settle_is_refused_as_an_option_of_a_run(call, tmp_path):
    call("--tokenizer", tmp_path / "tokenizer")
    settings = RunSettings(corpus=str(tmp_path / "out"), seq_length=16)
    for name, value in {"tokenizer_type": "BertWordPieceCase", "documents": 3}.items():
        asked = replace(settings, **{name: value})
        with pytest.raises(UserError, match=f"--{name.replace('_', '-')}: .* is settled"):
            prepare(asked, tmp_path / "run" / "data")


def test_a_run_whose_stores_were_moved_says_so_and_does_not_ask_the_hub(
    call, tmp_path, monkeypatch
):
    call("--tokenizer", tmp_path / "tokenizer")
    (tmp_path / "run" / "data").mkdir(parents=True)
    (tmp_path / "run" / "data" / "report.json").write_text("{}")  # as every run writes it
    monkeypatch.chdir(tmp_path)
    settings = RunSettings(corpus="out", seq_length=16)
    prepare(settings, tmp_path / "run" / "data")
    (tmp_path / "out").rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"stores of this run are neither at out nor in .*--corpus"):
        prepare(settings, tmp_path / "run" / "data")
    prepare(replace(settings, corpus="moved"), tmp_path / "run" / "data")


def test_the_name_of_the_town_is_no_folder_to_build_its_stores_in(call, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["build_stores", "storyworld", "--out", "storyworld"])
    with pytest.raises(SystemExit):
        build_stores.main()
    assert "--out storyworld has the name of the corpus itself" in capsys.readouterr().err


def test_an_interrupted_build_is_not_thrown_away_by_a_call_with_other_options(
    call, tmp_path, encoded, monkeypatch
):
    class Killed(BaseException):
        pass

    def killed(self, corpus):
        raise Killed

    arguments = ("--tokenizer", tmp_path / "tokenizer")
    with monkeypatch.context() as patch:
        patch.setattr(token_store, "BATCH", 200)
        patch.setattr(token_store, "SAFE_EVERY", 0)
        patch.setattr(token_store.StoreWriter, "finish", killed)
        with pytest.raises(Killed):
            call(*arguments)
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert any("train.unfinished" in str(path) for path in before)
    save_tokenizer(bert_tokenizer(TOKENS, lowercase=False), tmp_path / "cased")
    for other in (("--tokenizer", tmp_path / "cased"), ("--vocab-size", 120)):
        assert "those of another tokenizer: leave --tokenizer" in call(*other)[1]
    (tmp_path / "texts" / "e.txt").rename(tmp_path / "e")
    code, line = call(*arguments)
    assert code == 2 and "train.unfinished: holds the stores of another corpus" in line
    assert line.endswith(f"choose another --out, or remove {tmp_path / 'out'}")
    assert all(path.read_bytes() == content for path, content in before.items())
    (tmp_path / "e").rename(tmp_path / "texts" / "e.txt")
    assert call(*arguments)[0] == 0
    stores = [TokenStore.open(tmp_path / "out" / part) for part in PARTS]
    assert sum(encoded) == sum(store.n_sentences for store in stores)  # none was encoded twice


def test_a_second_call_with_another_vocabulary_does_not_touch_what_is_being_built(
    call, tmp_path, monkeypatch
):
    calls, prepare_ = [], build_stores.prepare

    def meanwhile(*given, **options):
        if not calls:
            calls.append(call("--vocab-size", 120))
        return prepare_(*given, **options)

    monkeypatch.setattr(build_stores, "prepare", meanwhile)
    assert call("--tokenizer", tmp_path / "tokenizer")[0] == 0
    assert calls[0][0] == 2 and "another process is building it" in calls[0][1]
    assert holds_stores(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "heldout", "tokenizer", "train"]  # fmt: skip


def test_one_store_of_two_and_stores_without_a_tokenizer_are_not_read_as_text(call, tmp_path):
    call("--tokenizer", tmp_path / "tokenizer")
    with pytest.raises(UserError, match="is one of two token stores: name the folder above it"):
        open_corpus(str(tmp_path / "out" / "train"))
    shutil.rmtree(tmp_path / "out" / "tokenizer")
    with pytest.raises(UserError, match="the folder of a run, of a model or of token stores"):
        open_corpus(str(tmp_path / "out"))


def test_a_vocabulary_of_another_size_than_that_of_the_finished_stores_is_refused(call):
    assert call("--vocab-size", 120)[0] == 0
    code, line = call("--vocab-size", 130)
    assert code == 2 and "another tokenizer: leave --tokenizer and --vocab-size out" in line
    assert call("--vocab-size", 120)[0] == 0


def test_a_folder_with_other_things_is_refused_before_a_tokenizer_is_trained(call, tmp_path):
    (tmp_path / "out/train").mkdir(parents=True)
    (tmp_path / "out/train/mine.csv").write_text("a,b")
    code, line = call("--vocab-size", 120)
    assert code == 2 and "train: holds other things than a token store" in line
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["train"]
