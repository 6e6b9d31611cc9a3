"""Files as other programs write them, byte for byte: each is understood, or refused in one line.

One table. `understood` is what is read; `said` are words of what the command says it has found.
"""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from bert_finetuning.data.load import describe, load_files
from bert_finetuning.data.rows import parse_columns
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.classification import TextExample
from bert_finetuning.tasks.question_answering import Question
from bert_finetuning.tasks.tagging import TaggedSentence
from bert_run.errors import UserError

LONG = "very " * 40_000 + "long"  # the csv module's own limit is 131,072 characters


@dataclass(frozen=True)
class File:
    """A file by the program that wrote it. Exactly one of `understood` and `refused` is given."""

    name: str
    content: bytes
    understood: list | None = None
    said: tuple[str, ...] = ()
    refused: str = ""
    columns: str | None = None
    format: str | None = None


def texts(*pairs: tuple) -> list[TextExample]:
    return [TextExample(text, label=label) for text, label in pairs]


def tagged(*sentences: tuple[str, str]) -> list[TaggedSentence]:
    return [TaggedSentence(tuple(w.split()), tuple(t.split())) for w, t in sentences]


GOOD_BAD = texts(("good", "pos"), ("bad", "neg"))
SCHÖN = texts(("Schön, wirklich", "pos"), ("Übel", "neg"))
GERMAN = "Text;Label\r\nSchön, wirklich;pos\r\nÜbel;neg\r\n"
NAMES = tagged(("Ann Lee ran", "B-PER I-PER O"), ("Oslo is far", "B-LOC O O"))
RECORDS = [{"text": "good", "label": "pos"}, {"text": "bad", "label": "neg"}]

FILES = {
    # Spreadsheets.
    "Excel, CSV UTF-8": File(
        "a.csv", b"\xef\xbb\xbfText,Label\r\ngood,pos\r\nbad,neg\r\n",
        GOOD_BAD, ("(commas)", "text from 'Text', label from 'Label'")),
    "Excel in Germany, CSV UTF-8": File(
        "a.csv", GERMAN.encode("utf-8-sig"), SCHÖN, ("(semicolons)",)),
    "Excel in Germany, CSV": File(
        "a.csv", GERMAN.encode("cp1252"), refused="line 2, byte 4 of the line (0xf6) is not UTF-8"),
    "Excel, Unicode text": File(
        "a.txt", GERMAN.replace(";", "\t").encode("utf-16"),
        refused="UTF-16 text, not UTF-8; convert it"),
    "Excel on an old Mac": File(
        "a.csv", b"text,label\rgood,pos\rbad,neg\r",
        refused="its lines end with carriage returns alone, as on an old Mac"),
    "Excel in France, numbers with decimal commas": File(
        "a.csv", "Text;Score\r\nDéjà vu;1,5\r\nBien;3\r\nMal;0,25\r\n".encode("utf-8-sig"),
        refused="line 2: 'Score' is '1,5': it must be a number with a decimal point"),
    "Excel, empty rows and columns around the table": File(
        "a.csv", b"text;label;;\r\ngood;pos;;\r\nbad;neg;;\r\n;;;\r\n;;;\r\n",
        GOOD_BAD, ("columns without a name left out", "2 empty rows left out")),
    "LibreOffice, quotes around every text, and lines in them": File(
        "a.csv", b'"text","label"\n"good, she said: ""yes""\nand left","pos"\n"bad","neg"\n',
        texts(('good, she said: "yes"\nand left', "pos"), ("bad", "neg"))),
    "a workbook": File(
        "a.xlsx", b"PK\x03\x04", refused="save it as .csv (in Excel: CSV UTF-8)"),
    "a workbook under the name of a CSV": File(
        "a.csv", b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00",
        refused="line 1 holds NUL bytes: a binary file"),
    "Parquet": File("a.parquet", b"PAR1", refused="holds no table that can be read"),
    "an old workbook": File("a.xls", b"\xd0\xcf", refused="holds no table that can be read"),
    # R and pandas.
    "R, write.csv": File(
        "a.csv", b'"","text","label"\n"1","good","pos"\n"2","bad","neg"\n',
        GOOD_BAD, ("columns without a name left out",)),
    "pandas, to_csv": File("a.csv", b",text,label\n0,good,pos\n1,bad,neg\n", GOOD_BAD),
    "pandas, read and written again": File(
        "a.csv", b"Unnamed: 0,text,label\n0,good,pos\n1,bad,neg\n", GOOD_BAD),
    "pandas, to_csv with bars": File(
        "a.csv", b"text|label\ngood|pos\nbad|neg\n", GOOD_BAD, ("bars",)),
    "pandas, packed": File("a.csv.gz", gzip.compress(b"text,label\ngood,pos\nbad,neg\n"), GOOD_BAD),
    "a cell longer than the csv module allows": File(
        "a.csv", f"text,label\n{LONG},pos\nbad,neg\n".encode(),
        texts((LONG, "pos"), ("bad", "neg"))),
    "a pickle": File("a.pkl", b"\x80\x05", refused="holds no table that can be read"),
    # JSON.
    "JSON, a list of records": File("a.json", json.dumps(RECORDS, indent=1).encode(), GOOD_BAD),
    "JSON, to_json() of pandas": File(
        "a.json", b'{"text":{"0":"good","1":"bad"},"label":{"0":"pos","1":"neg"}}',
        refused="line 1: 'label' is {\"0\": \"pos\", \"1\": \"neg\"}: several labels"),
    "JSON lines with a blank one": File(
        "a.jsonl", b'{"Text": "good", "label": "pos"}\n\n{"Text": "bad", "label": "neg"}\n',
        GOOD_BAD),
    "JSON, orient values": File(
        "a.json", b'[["good","pos"],["bad","neg"]]', refused='row 1 is ["good", "pos"], no object'),
    "JSON, cut off": File(
        "a.json", b'[{"text": "good",\n"label": "p', refused="line 2 is not JSON"),
    # Names of columns.
    "reviews and stars": File(
        "a.csv", b"Id,Review Text,Sentiment\n7,good,pos\n8,bad,neg\n",
        GOOD_BAD, ("text from 'Review Text', label from 'Sentiment'",)),
    "pairs": File(
        "a.tsv", b"Premise\tHypothesis\tgold_label\ngood\tbad\tno\nbad\tbad\tyes\n",
        [TextExample("good", "bad", "no"), TextExample("bad", "bad", "yes")],
        ("second text from 'Hypothesis'",)),
    "questions in a table": File(
        "a.csv", b"question,context,answer\nWho?,Ann ran.,Ann\n",
        None, ("format questions",)),
    "names of columns that nobody can guess": File(
        "a.csv", b"said,kind\ngood,pos\nbad,neg\n",
        refused="its columns are 'said', 'kind': name yours, --columns TEXT,LABEL"),
    "the same, named": File(
        "a.csv", b"said,kind\ngood,pos\nbad,neg\n", GOOD_BAD, columns="text=Said,label=kind"),
    "no line of names": File(
        "a.txt", b"pos\tgood\nneg\tbad\n", refused="--columns 1,2, if line 1 is no line of names"),
    "the same, numbered": File("a.txt", b"pos\tgood\nneg\tbad\n", GOOD_BAD, columns="2,1"),
    "fastText": File(
        "a.txt", b"__label__pos good\n__label__neg bad\n", refused="holds no table that can be"),
    "texts alone": File("a.txt", b"good film\nbad\n", refused="save it as .csv"),
    # Words in columns.
    "CoNLL-2003 with four columns, BIO1": File(
        "eng.train", b"-DOCSTART- -X- O O\n\nAnn NNP I-NP I-PER\nLee NNP I-NP I-PER\n"
        b"ran VBD I-VP O\n\nOslo NNP I-NP I-LOC\nis VBZ I-VP O\nfar RB O O\n",
        NAMES, ("word in column 1, tag in column 4", "tags of names read as BIO")),
    "three columns, BIO2": File(
        "a.conll", b"Ann NNP B-PER\nLee NNP I-PER\nran VBD O\n\nOslo NNP B-LOC\nis VBZ O\n"
        b"far RB O\n", NAMES),
    "BILOU": File(
        "a.bio", b"Ann\tB-PER\nLee\tL-PER\nran\tO\n\nOslo\tU-LOC\nis\tO\nfar\tO\n",
        NAMES, ("tags of names read as BIO",)),
    "BIOES in a text file, with comments": File(
        "a.txt", b"# id 1\nAnn B-PER\nLee E-PER\nran O\n\n# id 2\nOslo S-LOC\nis O\nfar O\n",
        NAMES, ("tags of names read as BIO",)),
    "bare types": File(
        "a.conll", b"Ann PER\nLee PER\nran O\n\nOslo LOC\nis O\nfar O\n",
        NAMES, ("tags of names read as BIO",)),
    "GermEval, with numbers before the words": File(
        "a.tsv", b"#\tn-tv.de [2005]\n1\tAnn\tB-PER\tO\n2\tLee\tI-PER\tO\n",
        refused="its first column holds numbers ('1', …): put the word first"),
    "parts of speech": File(
        "a.conll", b"Ann PROPN\nran VERB\n\n# SYM\n7 NUM\n",
        tagged(("Ann ran", "PROPN VERB"), ("# 7", "SYM NUM")), ("4 tags",)),
    "two schemes in one file": File(
        "a.conll", b"Ann B-PER\nran O\n\nOslo LOC\nis O\n",
        refused="line 4: the tag of 'Oslo' is 'LOC', and others have a prefix ('B-PER')"),
}  # fmt: skip


def read(file: File, folder: Path):
    path = folder / file.name
    path.write_bytes(file.content)
    columns = parse_columns(file.columns)
    return load_files(path, path, format=file.format, columns=columns)


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if not file.refused])
def test_a_file_is_understood_and_what_was_found_is_said(name, tmp_path):
    file = FILES[name]
    data = read(file, tmp_path)
    if file.understood is not None:
        assert data.train == file.understood
    lines = describe(data, FinetuneSettings(task="stars", checkpoint="none"))
    assert len(lines) <= 11 and f"{file.name}" in "".join(lines)
    for words in file.said:
        assert words in "\n".join(lines)


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if file.refused])
def test_a_file_that_cannot_be_told_is_refused_in_one_line(name, tmp_path):
    file = FILES[name]
    with pytest.raises(UserError) as caught:
        read(file, tmp_path)
    assert file.refused in str(caught.value) and "\n" not in str(caught.value)
    assert str(tmp_path / file.name) in str(caught.value)


# What is more than one file, or no bytes of one.


def test_the_answer_of_a_table_is_found_in_its_context(tmp_path):
    (question,) = read(FILES["questions in a table"], tmp_path).train
    assert isinstance(question, Question) and question.answers[0].start == 0
