"""What a notebook says must be true: links lead somewhere, names exist, numbers are computed."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from notebook_parts import (
    LINK,
    NUMBER,
    PACKAGES,
    ROOT,
    Notebook,
    links_in,
    package_trees,
    without_code,
)

LIBRARIES = {"np": "numpy", "F": "torch.nn.functional", "plt": "matplotlib.pyplot",
             **{name: name for name in ("numpy", "torch", "tokenizers", "safetensors",
                                        "matplotlib")}}  # fmt: skip
NOT_A_CLAIM = re.compile(
    r"(?i)(?:sections?|§|appendix|equations?|eq\.|tables?|figures?|chapters?|version|python|torch"
    r"|squad|arxiv|heads?)[\s:]*$"
)


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
    seen = values_in("\n".join([book.output_text, *(cell.source for cell in book.code)]))
    for text in book.prose:
        # A folded answer may show, as fenced code, what to run and what it prints.
        folds = re.findall(r"<details>.*?</details>", text, re.DOTALL)
        shown = re.findall(r"```.*?```", "\n".join(folds), re.DOTALL)
        here = seen + values_in("\n".join(shown))
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
