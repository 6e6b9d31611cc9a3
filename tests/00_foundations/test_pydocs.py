"""pydocs: of a docstring the English stays, and nothing else."""

import shutil
import sysconfig
import textwrap
from pathlib import Path

import numpy as np
import pytest

from bert_corpus import pydocs
from bert_corpus.pydocs import document_of, is_prose, prose_of
from bert_corpus.store import open_corpus

NUMPY_STYLE = """
    Compute the weighted mean of ``a`` along the given :class:`~numpy.axis`.

    The mean is the sum of the values
    divided by their number, see [1]_.

    Parameters
    ----------
    a : array_like
        The values that are to be averaged. This can be
        any `array <https://numpy.org>`_ of numbers.
    axis : int, optional
        Axis.

    Returns
    -------
    float
        A number that is *never* larger than the largest value.

    .. deprecated:: 1.2
        This sentence is prose as well.

    .. note:: The note is prose and is kept as such.

    Use it like this, and not in another way::

        result = mean(a, axis=0)

    After the code the text goes on as before.

    ===== =====
    axis   The  axis.
    ===== =====

    Examples
    --------
    >>> mean([1, 2])
    1.5

    References
    ----------
    .. [1] The author of the book, "The title of the book".
    """

GOOGLE_STYLE = """Open the file and read it to the end.

    Args:
        name (str): The name of the file that is read.
        mode: How the file is to be opened.

    Returns:
        All of the text that was in the file.

    ```python
    text = read("a.txt")
    ```
    """


def test_the_prose_of_a_numpy_docstring_is_kept_without_markup_tables_and_code():
    assert prose_of(textwrap.dedent(NUMPY_STYLE).strip()) == [
        "Compute the weighted mean of a along the given numpy.axis.",
        "The mean is the sum of the values divided by their number, see.",
        "The values that are to be averaged.",
        "This can be any array of numbers.",
        "A number that is never larger than the largest value.",
        "This sentence is prose as well.",
        "The note is prose and is kept as such.",
        "After the code the text goes on as before.",
    ]


def test_the_prose_of_a_google_docstring_is_kept_without_names_and_fences():
    assert prose_of(textwrap.dedent(GOOGLE_STYLE)) == [
        "Open the file and read it to the end.",
        "The name of the file that is read.",
        "How the file is to be opened.",
        "All of the text that was in the file.",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "This is a sentence that everybody can read.",
        "If None, the default of the class is used instead.",
        'He said "it is not what we want to see."',
    ],
)
def test_english_is_prose(sentence):
    assert is_prose(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Too short.",
        "this does not begin as a sentence should.",
        "This does not end as a sentence should",
        "Alpha beta gamma delta epsilon zeta eta.",
        "See https://example.org for the rest of the text.",
        "The f(x, y) = g(x)[0] + h(y)**2 of a_b is c_d.",
        "Set x == 3 if it is to be the value that we want.",
    ],
)
def test_names_code_and_fragments_are_no_prose(sentence):
    assert not is_prose(sentence)


def write_package(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.py").write_text(
        textwrap.dedent('''
        """This module is about the first thing. It has a class in it."""

        def first():
            """Give the first of all the things."""

        class Thing:
            """A thing is what we have in mind."""

            def use(self):
                """Use it as it is meant to be used."""

        def last():
            """Give the last of all the things."""
    ''')
    )
    (folder / "b.py").write_text(
        '"""This module is about the second thing. It is not about the first. '
        'A thing is what we have in mind."""\n'
        'raise SystemExit("a source file is never run")\n'
    )
    (folder / "broken.py").write_text('"""This is not a file for us."""\ndef (:\n')
    (folder / "test_a.py").write_text('"""Tests are not what we want. They are left out."""\n')


def test_a_document_is_a_source_file_from_the_top_down(tmp_path):
    write_package(tmp_path)
    assert document_of(tmp_path / "a.py") == [
        "This module is about the first thing.",
        "It has a class in it.",
        "Give the first of all the things.",
        "A thing is what we have in mind.",
        "Use it as it is meant to be used.",
        "Give the last of all the things.",
    ]
    assert document_of(tmp_path / "broken.py") == []


def test_the_corpus_has_no_sentence_twice_is_kept_and_changes_with_the_packages(
    tmp_path, monkeypatch
):
    write_package(tmp_path / "lib")
    monkeypatch.setattr(pydocs.constants, "HF_HOME", str(tmp_path / "cache"))
    folders = dict.fromkeys(["stdlib", "purelib", "platlib"], tmp_path / "lib")
    monkeypatch.setattr(pydocs.sysconfig, "get_paths", lambda: folders)
    path = pydocs.pydocs_file()
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line]
    assert len(lines) == len(set(lines)) == 8
    assert text.count("\n\n") == 1

    shutil.rmtree(tmp_path / "lib")
    assert pydocs.pydocs_file() == path  # kept: the sources are not read again
    corpus = open_corpus("pydocs")
    assert sorted(map(len, [*corpus, *corpus.held_out])) == [2, 6]

    monkeypatch.setattr(pydocs, "VERSION", pydocs.VERSION + 1)
    write_package(tmp_path / "lib")
    assert pydocs.pydocs_file() != path


def test_the_source_files_are_found_in_a_fixed_order_without_tests(monkeypatch):
    numpy = Path(np.__file__).parent  # one package of many, whose folders are looked through as all
    folders = {**sysconfig.get_paths(), "purelib": numpy, "platlib": numpy}
    monkeypatch.setattr(pydocs.sysconfig, "get_paths", lambda: folders)
    files = pydocs.source_files()
    names = {path.name for path in files}
    assert {"argparse.py", "textwrap.py"} <= names  # of the standard library
    assert any("numpy" in path.parts for path in files)
    assert not any(name.startswith("test_") for name in names)
    assert len(files) == len(set(files))
    of_numpy = [path for path in files if path.is_relative_to(numpy)]
    assert of_numpy == sorted(of_numpy)
