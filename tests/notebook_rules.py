"""The rules of a notebook of the course, each a function from a notebook to its complaints.

    python tests/notebook_rules.py 00_foundations/01_text_to_ids.ipynb

Nothing is run here: `run_notebooks.py` does that. The rules for a writer stand in CONTRIBUTING.md.
"""

import ast
import hashlib
import importlib
import re
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "bert_corpus": 0, "bert_run": 0, "bert_numpy": 1, "bert_lowlevel": 2, "bert_paper": 3,
    "bert_finetuning": 4,
}  # fmt: skip
AHEAD = {0: "bert_numpy.masking"}  # what a model sees has masks in it
LIBRARIES = {"np": "numpy", "F": "torch.nn.functional", "plt": "matplotlib.pyplot",
             **{name: name for name in ("numpy", "torch", "tokenizers", "safetensors",
                                        "matplotlib")}}  # fmt: skip
THE_END = ("What you can now do", "The exercise to do next", "A question to think about")

MOST_CELLS, MOST_LINES, MEDIAN_LINES, MOST_BYTES = 99, 15, 6, 1_000_000
WORDS_A_LINE = (8, 20)
CODE_CELLS_A_PICTURE = 6
SHARE_WITH_OUTPUT = 0.75

MACHINE_PATH = re.compile(
    r"(?<![\w.:/])(?:/(?:home|tmp|work|root|opt|usr|Users|var)/|[A-Z]:\\)\S*"
    r"|site-packages|\.venv\b"
)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)[^)]*\)")
NUMBER = re.compile(
    r"(?<![\w.,])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])"
)
NOT_A_CLAIM = re.compile(
    r"(?i)(?:sections?|§|appendix|equations?|eq\.|tables?|figures?|chapters?|version|python|torch"
    r"|squad|arxiv|heads?)[\s:]*$"
)


@dataclass(frozen=True)
class Notebook:
    """A notebook, its parts taken apart for the rules."""

    path: Path
    cells: list

    @classmethod
    def read(cls, path: Path) -> "Notebook":
        return cls(path, nbformat.read(path, as_version=4).cells)

    @cached_property
    def code(self) -> list:
        return [cell for cell in self.cells if cell.cell_type == "code"]

    @cached_property
    def prose(self) -> list[str]:
        return [cell.source for cell in self.cells if cell.cell_type == "markdown"]

    @cached_property
    def outputs(self) -> list:
        return [output for cell in self.code for output in cell.outputs]

    @cached_property
    def output_text(self) -> str:
        return "\n".join(text_of(output) for output in self.outputs)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse("\n".join(cell.source for cell in self.code))


def text_of(output) -> str:
    """What an output says in words: a stream, an error, or the text of a value."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return "\n".join(str(value) for kind, value in output.data.items() if kind.startswith("text/"))


def without_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def links_in(text: str) -> Iterator[tuple[bool, str]]:
    """Each link: whether it is a picture, and where it leads."""
    for match in LINK.finditer(re.sub(r"`[^`]*`", "", without_code(text))):
        yield match[1] == "!", match[3]
    for match in re.finditer(r"""<(img|a)\b[^>]*\b(?:src|href)=["']([^"']+)""", text):
        yield match[1] == "img", match[2]


# --- The size of things --------------------------------------------------------------------------


def cells_are_few_and_short(book: Notebook) -> Iterator[str]:
    if len(book.cells) > MOST_CELLS:
        yield f"{len(book.cells)} cells: at most {MOST_CELLS}"
    lengths = [len(cell.source.splitlines()) for cell in book.code]
    for number, length in enumerate(lengths, 1):
        if length > MOST_LINES:
            yield f"code cell {number} has {length} lines: at most {MOST_LINES}"
    if lengths and statistics.median(lengths) > MEDIAN_LINES:
        yield f"the median code cell has {statistics.median(lengths)} lines: at most {MEDIAN_LINES}"


def prose_explains_the_code(book: Notebook) -> Iterator[str]:
    prose = re.sub(r"\]\([^)]*\)", "]", without_code("\n".join(book.prose)))
    words = len(re.findall(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*", prose))
    lines = sum(bool(line.strip()) for cell in book.code for line in cell.source.splitlines())
    low, high = WORDS_A_LINE
    if not low * lines <= words <= high * lines:
        yield f"{words} words for {lines} lines of code: {words / max(lines, 1):.1f} a line, " + (
            f"between {low} and {high} are wanted"
        )


def there_are_pictures(book: Notebook) -> Iterator[str]:
    drawn = sum("image/png" in output.get("data", {}) for output in book.outputs)
    drawn += sum(is_picture for text in book.prose for is_picture, _ in links_in(text))
    wanted = max(1, len(book.code) // CODE_CELLS_A_PICTURE)
    if drawn < wanted:
        yield f"{drawn} pictures for {len(book.code)} code cells: at least {wanted}"


# --- How it begins and ends ----------------------------------------------------------------------


def it_begins_with_a_question(book: Notebook) -> Iterator[str]:
    first = book.cells[0] if book.cells else None
    if first is None or first.cell_type != "markdown" or not first.source.startswith("# "):
        yield "the first cell is not prose that begins with a title (# …)"
    elif "?" not in first.source:
        yield "the first cell asks no question"


def it_ends_in_three_parts(book: Notebook) -> Iterator[str]:
    text = without_code("\n".join(book.prose))
    headings = re.findall(r"^#+ +(.+?)\s*$", text, flags=re.MULTILINE)
    if tuple(headings[-3:]) != THE_END:
        yield f"its last three headings are {headings[-3:]}: {list(THE_END)} are wanted"
    elif "?" not in text.rsplit(THE_END[-1], 1)[1]:
        yield f"{THE_END[-1]!r} asks nothing"


# --- What is stored ------------------------------------------------------------------------------


def fingerprint(cells: list) -> str:
    """Of the code that the outputs belong to; `run_notebooks.py --store` writes it down."""
    code = "\0".join(cell.source for cell in cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def outputs_are_stored(book: Notebook) -> Iterator[str]:
    counts = [cell.execution_count for cell in book.code]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}: run it from top to bottom (--store)"
    shown = sum(bool(cell.outputs) for cell in book.code)
    if shown < SHARE_WITH_OUTPUT * len(book.code):
        yield f"{shown} of {len(book.code)} code cells show something: three in four are wanted"


def outputs_belong_to_the_code(book: Notebook) -> Iterator[str]:
    stored = nbformat.read(book.path, as_version=4).metadata.get("outputs_of")
    if stored != fingerprint(book.cells):
        yield "its code was changed after its outputs were stored: run it with --store"


def outputs_are_clean(book: Notebook) -> Iterator[str]:
    for number, cell in enumerate(book.code, 1):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"code cell {number} ends in an error"
            if output.get("name") == "stderr" or "Warning: " in text_of(output):
                yield f"code cell {number} writes to stderr or warns: {text_of(output)[:80]!r}"
            kinds = set(output.get("data", {})) - {"text/plain", "text/html", "image/png"}
            if kinds:
                yield f"code cell {number} stores {', '.join(sorted(kinds))}"
    everything = [*book.prose, *(cell.source for cell in book.code), book.output_text]
    for found in MACHINE_PATH.finditer("\n".join(everything)):
        yield f"a path of somebody's machine: {found[0][:60]!r}"
    if book.path.stat().st_size > MOST_BYTES:
        yield f"{book.path.stat().st_size:,} bytes: at most {MOST_BYTES:,}"


# --- What the packages have ----------------------------------------------------------------------


@cache
def package_trees() -> dict[str, ast.Module]:
    """Every file of the packages, by its dotted name."""
    trees = {}
    for package in PACKAGES:
        for path in sorted(next(ROOT.glob(f"0*/{package}")).rglob("*.py")):
            parts = path.relative_to(path.parents[len(path.relative_to(ROOT).parts) - 2]).parts
            name = ".".join(parts).removesuffix(".py").removesuffix(".__init__")
            trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def definitions(tree: ast.Module, *, nested: bool) -> dict[str, ast.AST]:
    nodes = ast.walk(tree) if nested else tree.body
    return {n.name: n for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def body_of(node: ast.AST) -> str:
    """What a definition does, its docstring, types and name left out."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return "\n".join(ast.dump(statement) for statement in body)


@cache
def defined_in_packages() -> tuple[dict[str, str], dict[str, str]]:
    """Functions and classes of the packages: by name, and by what they do."""
    names, bodies = {}, {}
    for module, tree in package_trees().items():
        for name, node in definitions(tree, nested=False).items():
            names.setdefault(name, f"{module}.{name}")
            if body := body_of(node):
                bodies.setdefault(body, f"{module}.{name}")
    return names, bodies


def nothing_is_defined_twice(book: Notebook) -> Iterator[str]:
    names, bodies = defined_in_packages()
    for name, node in definitions(book.tree, nested=True).items():
        if same := names.get(name) or bodies.get(body_of(node)):
            yield f"`{name}` is {same}: import it"


def it_imports_its_own_chapter_and_those_before(book: Notebook) -> Iterator[str]:
    own = int(re.match(r"\d+", book.path.parent.name)[0])
    dependencies = re.search(r"\ndependencies = \[(.*?)\n\]", (ROOT / "pyproject.toml").read_text(),
                             flags=re.DOTALL)[1]  # fmt: skip
    allowed = {*re.findall(r'"([\w-]+)', dependencies), *sys.stdlib_module_names, "IPython"}
    for node in ast.walk(book.tree):
        modules = (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module] if isinstance(node, ast.ImportFrom) else []
        )  # fmt: skip
        for module in modules:
            top = module.split(".")[0]
            if PACKAGES.get(top, -1) > own and module != AHEAD.get(own):
                yield f"imports {module}, of a later chapter"
            if top not in allowed and top not in PACKAGES:
                yield f"imports {module}, which `make lab` does not install"


# --- What the prose says -------------------------------------------------------------------------


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
    return kept.strip().replace(" ", "-")


def anchors_of(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join(Notebook.read(path).prose)
    return {slug(h) for h in re.findall(r"^#+ +(.+?)\s*$", without_code(text), re.MULTILINE)}


def has_anchor(path: Path, anchor: str) -> bool:
    if re.fullmatch(r"L\d+(-L\d+)?", anchor):
        return path.is_file()
    return path.suffix in (".md", ".ipynb") and slug(anchor) in anchors_of(path)


def links_lead_somewhere(book: Notebook) -> Iterator[str]:
    for is_picture, target in (link for text in book.prose for link in links_in(text)):
        remote = re.match(r"[a-z]+:", target)
        if remote and is_picture:
            yield f"the picture {target} is not stored here"
        if remote:
            continue
        place, _, anchor = target.partition("#")
        path = (book.path.parent / place).resolve() if place else book.path
        if not path.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and not has_anchor(path, anchor):
            yield f"the link {target}: no such heading in {path.name}"


@cache
def words_of_packages() -> frozenset[str]:
    """Every name and every short string in the packages, and the words of their data files."""
    return frozenset().union(*(words_of(tree) for tree in package_trees().values()))


def words_of(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "module", "asname"):
            if isinstance(value := getattr(node, field, None), str):
                found |= {value, *value.split(".")}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(re.findall(r"[A-Za-z_]\w*", node.value))
    return found


def exists(dotted: str) -> bool:
    """Whether a dotted name of a package or library can be reached."""
    parts = dotted.split(".")
    parts[:1] = LIBRARIES.get(parts[0], parts[0]).split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for number, part in enumerate(parts[length:]):
            if not hasattr(found, part):  # a field of a dataclass has no value before it is made
                last = number == len(parts[length:]) - 1
                return last and part in getattr(found, "__annotations__", {})
            found = getattr(found, part)
        return True
    return False


def symbols_exist(book: Notebook) -> Iterator[str]:
    known = words_of_packages() | words_of(book.tree) | set(re.findall(r"\w+", book.output_text))
    scripts = re.findall(r'^(bert-[\w-]+) = "', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    for quoted in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", without_code("\n".join(book.prose))):
        first = quoted.split()[0] if quoted.split() else ""
        if re.fullmatch(r"bert-[a-z-]+", first) and first not in scripts:
            yield f"`{first}` is no command of the course"
        for option in re.findall(r"(?<!\S)--([a-z][a-z-]+)", quoted):
            if option.replace("-", "_") not in known:
                yield f"`--{option}` is no option that a package knows"
        if re.fullmatch(r"[\w./-]+\.(py|md|ipynb|toml)", quoted):
            if not any(ROOT.glob(f"**/{quoted.removeprefix('../')}")):
                yield f"`{quoted}` is no file of the course"
            continue
        match = re.fullmatch(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(\(.*\))?", quoted)
        if not match or re.search(r"\.(jsonl?|txt|bin|npy|npz|png|safetensors|csv|tsv)$", match[1]):
            continue
        name, parts = match[1], match[1].split(".")
        if parts[0] in PACKAGES or (len(parts) > 1 and parts[0] in LIBRARIES):
            if not exists(name):
                yield f"`{name}` does not exist"
        elif looks_like_a_name(quoted) and not known.issuperset(parts):
            yield f"`{name}` is no name of a package or of this notebook"


def looks_like_a_name(quoted: str) -> bool:
    """`layer_norm`, `BertModel`, `f(x)`; not `crane` or `[CLS]`, which may be words of a text."""
    return bool(re.search(r"\w_\w|\(|[a-z][A-Z]|\w\.\w", quoted))


def numbers_are_computed(book: Notebook) -> Iterator[str]:
    """A decimal number, or one with a comma for thousands, is in an output or the code, rounded as
    it is quoted; or a link beside it leads to a file that has it, or to a paper."""
    here = values_in("\n".join([book.output_text, *(cell.source for cell in book.code)]))
    for text in book.prose:
        blocks = re.split(r"\n\s*\n", without_code(text))
        for number, block in enumerate(blocks):
            is_table = block.lstrip().startswith("|")
            beside = "\n\n".join(blocks[max(number - 1, 0) : number + 2] if is_table else [block])
            plain = LINK.sub(lambda match: match[2], re.sub(r"`[^`]*[=(][^`]*`", "", block))
            for found in NUMBER.finditer(plain):
                if not re.search(r"[.,]", found[0]) or NOT_A_CLAIM.search(plain[: found.start()]):
                    continue
                if not is_among(found[0], here) and not is_linked(found[0], beside, book.path):
                    yield f"{found[0]} is in no output, and no link beside it leads to it"


def values_in(text: str) -> list[float]:
    return [abs(float(found[0].replace(",", ""))) for found in NUMBER.finditer(text)] + [
        abs(float(n)) for n in re.findall(r"(?<![\w.])\d*\.\d+(?:e[-+]?\d+)?", text)
    ]


def is_among(quoted: str, values: list[float]) -> bool:
    """Whether one of the values, rounded, is what is quoted; 97.2% may stand there as 0.972."""
    value = abs(float(quoted.replace(",", "")))
    mantissa, _, exponent = quoted.lower().partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    close = 0.5 * 10.0**-digits * (1 + 1e-9)
    return any(abs(v - value) <= close or abs(100 * v - value) <= close for v in values)


def is_linked(quoted: str, block: str, notebook: Path) -> bool:
    for _, target in links_in(block):
        if re.match(r"https?://(\w+\.)*(arxiv|aclanthology)\.org/", target):
            return True  # a paper is not here to be read
        path = (notebook.parent / target.partition("#")[0]).resolve()
        readable = path.suffix in (".md", ".py", ".json", ".jsonl", ".csv") and path.is_file()
        if readable and is_among(quoted, values_in(path.read_text(encoding="utf-8"))):
            return True
    return False


RULES: list[Callable[[Notebook], Iterator[str]]] = [
    cells_are_few_and_short, prose_explains_the_code, there_are_pictures,
    it_begins_with_a_question, it_ends_in_three_parts,
    outputs_are_stored, outputs_belong_to_the_code, outputs_are_clean,
    nothing_is_defined_twice, it_imports_its_own_chapter_and_those_before,
    links_lead_somewhere, symbols_exist, numbers_are_computed,
]  # fmt: skip


def all_notebooks() -> list[Path]:
    return sorted(ROOT.glob("0*/[0-9]*.ipynb"))


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or all_notebooks()
    found = 0
    for path in paths:
        book = Notebook.read(path.resolve())
        for rule in RULES:
            for complaint in rule(book):
                found += 1
                print(f"{path}: {complaint}")
    print(f"{len(paths)} notebooks, {found} complaints")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
