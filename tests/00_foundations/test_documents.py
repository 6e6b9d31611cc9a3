"""Any corpus as documents of sentences: what belongs together, what is held out, what is wrong."""

import bz2
import gzip
import json
import lzma
import textwrap
import time
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_corpus import hub
from bert_corpus import store as documents
from bert_corpus.hub import HubName
from bert_corpus.store import documents_from_rows, heading_level, open_corpus, split_prose
from bert_run import files
from bert_run.errors import UserError

# Thirty documents of two sentences each, one sentence a line.
LINES = "\n\n".join(f"Story {i} begins here.\nIts hero is called Ann{i}." for i in range(30))


@pytest.fixture
def file(tmp_path):
    """Write text or bytes to a file and give its path as a string."""

    def write(content, name="corpus.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def everything(name, **options):
    """All documents, training and held-out, as a sorted list."""
    corpus = open_corpus(name, **options)
    return sorted([*corpus, *corpus.held_out])


def error_of(name, **options):
    with pytest.raises(UserError) as caught:
        corpus = open_corpus(name, **options)
        for _ in corpus:
            pass
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- Sentences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith met J. R. R. Tolkien. He left.",
         ["Dr. Smith met J. R. R. Tolkien.", "He left."]),
        ("It rose 3.5 per cent, e.g. in the U.S. Senate. Why?",
         ["It rose 3.5 per cent, e.g. in the U.S. Senate.", "Why?"]),
        ("See Fig. 3 and Sec. 2.1. Use nn.Module there.",
         ["See Fig. 3 and Sec. 2.1.", "Use nn.Module there."]),
        ('"Is it you?" she asked. "Yes!" he said.', ['"Is it you?" she asked.', '"Yes!" he said.']),
        ("   ", []),
    ],
)  # fmt: skip
def test_prose_is_split_at_sentence_ends_and_not_at_abbreviations(text, expected):
    assert split_prose(text) == expected


@given(st.text(alphabet=st.sampled_from("aB .?!()\"'1é"), max_size=60))
def test_splitting_loses_and_invents_no_character(text):
    assert "".join("".join(split_prose(text)).split()) == "".join(text.split())


def test_headings_of_wikitext_are_told_from_other_lines():
    assert heading_level(" = Robert <unk> = \n".strip("\n")) == 1
    assert heading_level(" = = Early life = = ") == 2
    assert heading_level(" = = = 2000s = = = ") == 3
    assert heading_level("x = y + 1 = 2") == 0
    assert heading_level("= ") == 0


# --- Files ---------------------------------------------------------------------------------------


def test_a_file_of_sentences_keeps_its_lines(file):
    assert everything(file(LINES)) == sorted(doc.split("\n") for doc in LINES.split("\n\n"))


def test_a_corpus_can_be_walked_again_and_again(file):
    corpus = open_corpus(file(LINES))
    assert list(corpus) == list(corpus)
    assert list(corpus.held_out) == list(corpus.held_out)


def test_prose_is_recognized_and_split_and_the_user_may_overrule(file):
    name = file(
        "One man came. He sat down.\nThen he left. It rained.\n\nA new day. The sun rose.\n"
    )
    assert everything(name) == [
        ["A new day.", "The sun rose."],
        ["One man came.", "He sat down.", "Then he left.", "It rained."],
    ]
    assert ["A new day. The sun rose."] in everything(name, split_sentences=False)


def test_few_lines_with_two_sentences_do_not_make_a_file_prose(file):
    name = file(LINES.replace("Story 7 begins here.", "Story 7. It begins here."))
    assert ["Story 7. It begins here.", "Its hero is called Ann7."] in everything(name)
    assert ["Story 7.", "It begins here.", "Its hero is called Ann7."] in everything(
        name, split_sentences=True
    )


def test_wrapped_lines_are_joined_before_they_are_split(file):
    chapter = "It was a dark and stormy\nnight. The rain fell in\ntorrents, and the wind\nblew.\n"
    text = "\n\n\n".join([chapter + "\n" + chapter] * 2 + [chapter + "The\nend came.\n"])
    first = ["It was a dark and stormy night.", "The rain fell in torrents, and the wind blew."]
    assert everything(file(text)) == sorted([first * 2, first * 2, [*first, "The end came."]])


def test_wikitext_becomes_one_document_an_article_without_headings(file):
    article = (
        " \n = Title {0} = \n \n Text {0} is here . It is good . \n \n = = Life = = \n More . \n"
    )
    name = file("".join(article.format(word) for word in ("one", "two")))
    assert everything(name) == [
        [f"Text {word} is here .", "It is good .", "More ."] for word in ("one", "two")
    ]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress),
     (".zst", lambda text: pyarrow.compress(text, "zstd", asbytes=True))],
)  # fmt: skip
def test_packed_files_read_as_their_content_and_damage_is_told(file, suffix, pack):
    packed = pack(LINES.encode())
    assert everything(file(packed, "c.txt" + suffix)) == everything(file(LINES))
    two_in_a_row = everything(file(packed + pack(b"\n\n" + LINES.encode()), "d.txt" + suffix))
    assert len(two_in_a_row) == 60
    for damaged in (packed[:-9], packed[:2] + packed[3:]):
        message = error_of(file(damaged, "e.txt" + suffix))
        assert "damaged archive" in message and "e.txt" in message


def test_a_folder_is_all_its_text_files_in_order(file, tmp_path):
    file("One is one.\n\nOne is here.", "folder/a.txt")
    file(gzip.compress(b"Two is two."), "folder/sub/b.txt.gz")
    file("Three is three.", "folder/sub/wiki_00")
    file(b"\x89PNG\0", "folder/picture.png")
    file("hidden", "folder/.git/c.txt")
    found = everything(str(tmp_path / "folder"))
    assert found == [["One is here."], ["One is one."], ["Three is three."], ["Two is two."]]
    (tmp_path / "none").mkdir()
    assert "no text files" in error_of(str(tmp_path / "none"))


def test_json_lines_give_one_document_a_line(file):
    rows = [{"text": "One man came. He left.\n\nHe was old. "}, {"text": "Ann is here. Bob too."}]
    name = file("\n".join(map(json.dumps, rows)), "c.jsonl")
    assert everything(name) == [
        ["Ann is here.", "Bob too."], ["One man came.", "He left.", "He was old."]
    ]  # fmt: skip
    packed = file(gzip.compress("\n".join(map(json.dumps, rows)).encode()), "d.json.gz")
    assert everything(packed) == everything(name)


def test_rows_that_are_lines_are_put_together_to_documents():
    wikitext = [
        "",
        " = A = \n",
        "",
        " A is a letter . It is first . \n",
        "",
        " = B = \n",
        " B . \n",
    ]
    assert list(documents_from_rows(wikitext)) == [["A is a letter .", "It is first ."], ["B ."]]
    assert list(documents_from_rows([*wikitext, "B , again .", "And again ."]))[1:] == [
        ["B .", "B , again .", "And again ."]
    ]
    books = [f"Sentence {i} of the book." for i in range(50)]
    assert list(documents_from_rows(books)) == [books]


@pytest.mark.parametrize("empty", ["", "  ", "\n"])
def test_a_row_is_a_document_even_if_a_few_rows_are_empty(empty):
    rows = [f"Story {i} begins here. It goes on. Then it ends." for i in range(100)]
    with_empty = [*rows[:50], empty, *rows[50:90], empty, *rows[90:]]
    documents = list(documents_from_rows(with_empty))
    assert documents == [split_prose(row) for row in rows]


def test_a_first_line_between_equals_signs_does_not_make_a_text_wikitext(file):
    documents = everything(file(f"= My stories =\n\n{LINES}"))
    assert documents == sorted([["= My stories ="], *(d.split("\n") for d in LINES.split("\n\n"))])


# --- Bounded memory ------------------------------------------------------------------------------


def test_a_document_without_end_is_cut(file):
    lines = [f"This is line {i}." for i in range(20 * documents.LONGEST_DOCUMENT + 5)]
    assert sorted(map(len, everything(file("\n".join(lines))))) == [5, *20 * [1_000]]
    for count in (900, 1_001, 2_500, 19_999):  # a single text, so that some can be held out
        sizes = sorted(map(len, everything(file("\n".join(lines[:count])))))
        assert 20 <= len(sizes) < 40 and sum(sizes) == count


def test_lines_in_small_letters_without_marks_are_sentences_and_not_wrapped_prose():
    """As in lyrics and chats; lines of wrapped prose are about equally long."""
    text = "the bird sat on a wide mat and slept for an hour until it rained again in town"
    lines = [" ".join(text.split()[: 3 + 5 * n % 13]) for n in range(60)]
    assert not documents._is_wrapped(lines)
    prose = textwrap.wrap(" ".join([text] * 20), 60)
    assert documents._is_wrapped(prose) and documents._is_wrapped([*prose, "a" * 110])


def test_a_line_without_end_is_refused(file, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 64)
    assert "line 2 is longer than" in error_of(file("Short.\n" + "und " * 40))


def test_a_paragraph_without_end_is_cut(monkeypatch):
    monkeypatch.setattr(documents, "LONGEST_PARAGRAPH", 3)
    lines = ["It was a dark and", "stormy night, and the", "rain fell."] * 3
    (document,) = documents.documents_from_lines(lines, documents.Layout("wrapped"))
    assert document == ["It was a dark and stormy night, and the rain fell."] * 3


def test_the_sample_that_tells_the_layout_is_small_even_if_lines_are_long(monkeypatch):
    monkeypatch.setattr(documents, "LONGEST_TEXT", 100)
    sample, lines = documents.peek(("x" * 40 for _ in range(9)), 500)
    assert len(sample) == 3 and list(lines) == ["x" * 40] * 9


def test_one_document_without_empty_lines_is_cut_so_that_some_is_held_out(file):
    corpus = open_corpus(file("\n".join(f"This is line {i}." for i in range(100))))
    assert sum(map(len, corpus)) + sum(map(len, corpus.held_out)) == 100
    assert len(list(corpus.held_out)) >= 1 and len(list(corpus)) >= 15
    assert "single document" in error_of(file("Only this."))


# --- Held out ------------------------------------------------------------------------------------


def test_every_document_is_on_one_side_and_equal_ones_on_the_same(file):
    text = "\n\n".join(f"Document {i % 700} is here." for i in range(1_400))
    corpus = open_corpus(file(text))
    train, held_out = list(corpus), list(corpus.held_out)
    assert len(train) + len(held_out) == 1_400
    assert not {tuple(d) for d in train} & {tuple(d) for d in held_out}
    assert 2 <= len(held_out) <= 40  # 1% of 1,400 is 14; five sigma either way


def test_no_more_is_held_out_than_measuring_needs(file, monkeypatch):
    monkeypatch.setattr(documents, "HELD_OUT_MOST", 3)
    monkeypatch.setattr(documents, "HELD_OUT_SHARE", 0.5)
    corpus = open_corpus(file("\n\n".join(f"Document {i} is here." for i in range(50))))
    assert (len(list(corpus)), len(list(corpus.held_out))) == (47, 3)


def test_a_copy_of_a_held_out_text_is_never_trained_on_not_even_after_enough_is_held_out(
    file, monkeypatch
):
    monkeypatch.setattr(documents, "HELD_OUT_MOST", 3)
    monkeypatch.setattr(documents, "HELD_OUT_SHARE", 0.5)
    corpus = open_corpus(file("\n\n".join(f"Document {i % 25} is here." for i in range(50))))
    train, held_out = list(corpus), list(corpus.held_out)
    assert (len(train), len(held_out)) == (44, 3)
    assert not {tuple(d) for d in train} & {tuple(d) for d in held_out}


def test_a_small_corpus_has_one_held_out_document_and_a_file_can_be_named(file):
    corpus = open_corpus(file("One is one.\n\nTwo is two."))
    assert len(list(corpus)) == len(list(corpus.held_out)) == 1
    other = file("Three is three.", "other.txt")
    corpus = open_corpus(file(LINES), held_out=other)
    assert len(list(corpus)) == 30 and list(corpus.held_out) == [["Three is three."]]


def test_a_corpus_of_a_few_documents_holds_two_out_so_that_random_next_sentences_exist(file):
    corpus = open_corpus(file("\n\n".join(f"Number {n} is here." for n in range(8))))
    assert len(list(corpus.held_out)) >= 2 and len(list(corpus)) >= 2


def test_a_limit_takes_the_first_documents(file):
    assert everything(file(LINES), limit=10) == sorted(
        d.split("\n") for d in LINES.split("\n\n")[:10]
    )


def test_the_fingerprint_follows_the_content_and_the_options(file):
    first = open_corpus(file(LINES)).fingerprint
    assert open_corpus(file(LINES, "corpus.txt"), split_sentences=True).fingerprint != first
    assert open_corpus(file(LINES + "\n\nMore text.", "corpus.txt")).fingerprint != first


def test_storyworld_tells_training_and_held_out_stories():
    storyworld = pytest.importorskip("bert_corpus.storyworld")
    corpus = open_corpus("storyworld", limit=40)
    expected = [[s.text for s in story.sentences] for story in storyworld.stories(40)]
    assert list(corpus) == expected and corpus.n_documents == 40
    assert len(list(corpus.held_out)) == 2


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["data/missing.txt", "./missing", "/no/such/folder/", "a/b/c", "x.jsonl", "~/no-such"]
)
def test_a_missing_path_is_called_missing_and_never_asked_of_the_hub(name, monkeypatch):
    monkeypatch.setattr(hub.huggingface_hub.HfApi, "dataset_info", None)
    assert "no such file or folder" in error_of(name)


@pytest.mark.parametrize("content", ["", "\n\n \n", "\ufeff\n"])
def test_an_empty_file_is_told(file, content):
    assert "no text in it" in error_of(file(content))


def test_binary_text_names_the_line(file):
    message = error_of(file(b"A line.\nAnother.\n\x00\x01\x02"))
    assert "line 3" in message and "binary" in message
    assert "UTF-16" in error_of(file("A line.".encode("utf-16")))


def test_text_that_is_not_utf8_names_file_line_and_byte(file):
    message = error_of(file("A line.\nCaf\xe9.\n".encode("latin-1"), "old.txt"))
    assert "old.txt" in message and "line 2, byte 4" in message and "0xe9" in message


def test_broken_json_lines_name_file_and_line(file):
    good = json.dumps({"text": "Fine. Good."})
    assert "c.jsonl: line 2 is not JSON" in error_of(file(f'{good}\n{{"text": "a\n', "c.jsonl"))
    message = error_of(file(f'{good}\n\n{{"body": "a"}}\n', "d.jsonl"))
    assert "d.jsonl: line 3 has no text field 'text'" in message and "'body'" in message
    message = error_of(file(f'{good}\n{{"text": null}}\n', "g.jsonl"))
    assert "g.jsonl: line 2: its field 'text' is None, not text" in message
    assert "no object" in error_of(file(f"{good}\n[1]\n", "e.jsonl"))
    message = error_of(file(f'{good}\n{{"text": "a", "score": NaN}}\n', "f.jsonl"))
    assert "f.jsonl: line 2 is not JSON (NaN is no value of JSON: write null)" in message


# --- The Hub -------------------------------------------------------------------------------------


def test_a_hub_name_has_an_id_a_config_and_a_split():
    name = HubName.parse("Salesforce/wikitext:wikitext-2-raw-v1@validation")
    assert name == HubName("Salesforce/wikitext", "wikitext-2-raw-v1", "validation")
    assert HubName.parse("wikimedia/wikipedia:20231101.simple").split == "train"


@pytest.mark.parametrize("name", ["no spaces/here", "a--b/c", "-x", "ends./here.git", "é/ü"])
def test_a_name_that_the_hub_does_not_allow_is_refused_without_asking(name, monkeypatch):
    monkeypatch.setattr(hub.huggingface_hub.HfApi, "dataset_info", None)
    assert "no Hub id either" in error_of(name)


def test_an_unreachable_hub_is_told_within_seconds(monkeypatch):
    monkeypatch.setattr(hub.huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hub.huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    start = time.monotonic()
    assert "cannot be reached" in error_of("stanfordnlp/imdb")
    assert time.monotonic() - start < hub.SECONDS_TO_ANSWER


@pytest.mark.parametrize(
    ("error", "words"),
    [("GatedRepoError", "hf auth login"), ("RepositoryNotFoundError", "no dataset of that name")],
)
def test_a_gated_and_an_unknown_dataset_are_told_apart(monkeypatch, error, words):
    kind = getattr(hub.errors, error)

    def refuse(*_, **__):
        raise kind.__new__(kind)

    monkeypatch.setattr(hub.huggingface_hub.HfApi, "dataset_info", refuse)
    assert words in error_of("someone/something")


def test_hub_rows_stream_and_a_missing_field_or_split_is_told(file, monkeypatch):
    import datasets

    rows = [{"label": 1, "text": f"Ann{i} came. Bob{i} left."} for i in range(20)]
    data = file("\n".join(map(json.dumps, rows)), "rows.jsonl")
    load = datasets.load_dataset

    def local(id, config, *, split, streaming):
        return load("json", data_files={"train": data}, split=split, streaming=streaming)

    monkeypatch.setattr(datasets, "load_dataset", local)
    monkeypatch.setattr(
        hub.huggingface_hub.HfApi, "dataset_info",
        lambda *_, **__: type("Info", (), {"sha": "1234"}),
    )  # fmt: skip
    expected = sorted([f"Ann{i} came.", f"Bob{i} left."] for i in range(20))
    assert everything("someone/something") == expected
    assert "cannot be opened" in error_of("someone/something@no-such-split")
    data = file(json.dumps({"body": "Ann came."}), "others.jsonl")
    assert "no text field 'text'; its fields: 'body'" in error_of("someone/something")


def test_json_with_a_number_of_thousands_of_digits_or_hundreds_of_fields_is_told_shortly(file):
    told = error_of(file(f'{{"text": "a", "id": {"9" * 5_000}}}\n', "c.jsonl"))
    assert "line 1 is not JSON" in told and "a number too long" in told
    fields = json.dumps({f"a field of row {n}": n for n in range(500)})
    assert len(error_of(file(fields + "\n", "d.jsonl"))) < 500


@pytest.mark.parametrize("record", ["run.json", "tokenizer/tokenizer_config.json"])
def test_the_folder_of_a_run_is_called_so_and_not_read_as_text(file, record):
    file("{}", f"run/{record}")
    assert "is the folder of a run" in error_of(str(Path(file(LINES, "run/notes.txt")).parent))
