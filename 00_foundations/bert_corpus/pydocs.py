"""`pydocs`: the English of the docstrings of the Python packages installed on this machine.

Real prose, some millions of words, with no download: the standard library, NumPy, torch,
matplotlib, … explain themselves in docstrings. Source files are parsed, never imported. Of a
docstring we keep the sentences and leave out what is no prose: signatures, code, tables, headings,
lists of names. A document is a source file; a sentence that occurred before is dropped.
"""

import ast
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

from huggingface_hub import constants

from bert_corpus.store import fingerprint_of, split_prose
from bert_run.files import write_atomically
from bert_run.training_loop import progress_bar

VERSION = 3  # of the rules below: a higher one builds the cached file anew
SKIPPED_FOLDERS = {"tests", "test", "testing", "_vendor", "_vendored", "vendor", "externals",
                   "site-packages", "dist-packages", "__pycache__", "idle_test"}  # fmt: skip

# What stands before the text: the mark of an item, `.. note::`, `:param x:`, `name (type): `.
PREFIX = re.compile(
    r"(?:(?:[-*+•]|\d+[.)]|\(\w\))\s+)?"
    r"(?:\.\. [\w-]+::\s*|:\w+[^:`]*:\s+|[*`\w]+\s*(?:\([^)]*\))?\s*:\s+(?=\S))?"
)
# :class:`~a.B`, `text <link>`_, [1]_, **x**: the marks go, and the text stays.
MARKUP = re.compile(r":[\w:+.-]+:(?=`)|\s*<[^`>]*>(?=`)|\s*\[[\w#*-]+\]_|`[~!]?_{0,2}|\*{1,2}")
SYMBOLS = re.compile(r"://|\\|==|->|=>|[{|@`]|__")
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
ENGLISH = """a an and are as at be been but by can do does for from has have if in into is it its
    may no not of on one only or should so such than that the their then there these they this to
    use used using was we were when where which will with without you your"""
SMALL_WORDS = frozenset(ENGLISH.split())


def prose_of(docstring: str) -> list[str]:
    """The sentences of a docstring that are English prose."""
    texts = (" ".join(MARKUP.sub("", text).split()) for text in paragraphs_of(docstring))
    return [sentence for text in texts for sentence in split_prose(text) if is_prose(sentence)]


def paragraphs_of(docstring: str) -> Iterator[str]:
    """Lines of running text joined. A paragraph ends at an empty line or a line of signs, where the
    indentation changes, and where an item of a list begins."""
    paragraph: list[str] = []
    depth = 0
    for raw in [*docstring.expandtabs().splitlines(), ""]:
        line = raw.strip()
        before, depth = depth, len(raw) - len(raw.lstrip())
        prefix = PREFIX.match(line).end()
        is_text = any(map(str.isalnum, line[:3]))
        if paragraph and (prefix or depth != before or not is_text):
            yield " ".join(paragraph)
            paragraph = []
        if is_text or prefix:
            paragraph.append(line[prefix:])


def is_prose(sentence: str) -> bool:
    """Whether a sentence reads as English: it begins and ends as sentences do, and has 4 to 60
    tokens, most of them words, a fifth the small words that lists of names and code lack."""
    if not re.fullmatch(r"[\"'(]*[A-Z].*[.!?][)\"']*", sentence) or SYMBOLS.search(sentence):
        return False
    tokens = sentence.split()
    words = [word for token in tokens if WORD.fullmatch(word := token.strip(".,;:!?()[]\"'"))]
    small = sum(word.lower() in SMALL_WORDS for word in words)
    is_english = len(words) >= 0.75 * len(tokens) and small >= 0.2 * len(tokens)
    return is_english and 4 <= len(tokens) <= 60


def source_files() -> list[Path]:
    """The `.py` files of the standard library and of all installed packages, in a fixed order."""
    roots = {Path(sysconfig.get_paths()[key]) for key in ("stdlib", "purelib", "platlib")}
    return [path for root in sorted(roots) for path in sorted(root.rglob("*.py"))
            if not path.name.startswith("test_")
            and SKIPPED_FOLDERS.isdisjoint(path.relative_to(root).parts)]  # fmt: skip


def document_of(path: Path) -> list[str]:
    """The prose of a source file, from the top down; nothing if Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in other people's strings
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, OSError, MemoryError):
        return []  # a template, or written for another Python
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    scopes = [node for node in ast.walk(tree) if isinstance(node, documented)]
    scopes.sort(key=lambda node: getattr(node, "lineno", 0))
    return [sentence for node in scopes for sentence in prose_of(ast.get_docstring(node) or "")]


def pydocs_file() -> Path:
    """The corpus as a text file, one sentence a line: made at the first call, kept beside what the
    libraries of the Hub keep (`HF_HOME`), under a name that changes with the packages."""
    packages = sorted(f"{each.name} {each.version}" for each in metadata.distributions())
    name = f"pydocs-{fingerprint_of(VERSION, sys.version, packages)}.txt"
    path = Path(constants.HF_HOME) / "bert_corpus" / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "\n".join(new_sentences(source_files())))
    return path


def new_sentences(files: list[Path]) -> Iterator[str]:
    """The text of each file's document without what was said before, if two sentences are left."""
    seen: set[str] = set()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        documents = pool.map(document_of, files, chunksize=64)
        bar = progress_bar(len(files), "reading docstrings", unit=" files", iterable=documents)
        for document in bar:
            new = [sentence for sentence in dict.fromkeys(document) if sentence not in seen]
            seen.update(new)
            if len(new) > 1:
                yield "".join(f"{sentence}\n" for sentence in new)
