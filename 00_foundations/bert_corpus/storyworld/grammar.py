"""The language of `stories/*.txt`, from which the kinds of document are read.

    # What follows a hash at the beginning of a line is for people.
    table FISH
        trout salmon perch
    table BOATS: name, colour               # rows of a table: {boat} is the name, {boat.colour}
        raft, brown                         # the colour of the boat that was drawn
        old ferry, white

    kind fishing_trip, weight 2             # how often it is told, relative to the others
        angler: PEOPLE                      # its cast, each member drawn from a table
        boat: BOATS
        day: "Monday" | "Sunday"

    On {day} {angler.full} went fishing.    lines that stand together are alternatives: one is told
    By the river sat {angler.full}.

    fish = FISH                             a name for something drawn on the way
    shuffle                                 the sentences below it are told in any order
        {a fish} swam around the {boat}.

        The water was {"cold" | "warm"}.
    if day is "Sunday"                      also: is not, and, or, chance 0.4; then elif, else
        The <r:church> <l:bells> rang.

In braces stand names, "words", and functions with their arguments (`shared_sentences.FUNCTIONS`);
with `|` between them, or where a table stands alone, one is drawn.
A `phrase` is a piece of a sentence that the kinds of its file borrow, or of `phrases.txt` all:

    phrase greeting: person
        good morning, {person}
        how are <l:you>, {person}

Before one of several alternatives is drawn, whatever is to be drawn inside each of them is drawn,
in the order of the lines; and all sentences of a `shuffle` are told before they are shuffled. So
the order of lines is part of what a seed stands for.
"""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

from bert_corpus.storyworld.generator import Kind
from bert_run.errors import UserError

Examples = dict[str, Any]  # of what the names of a story stand for, as far as it has been read
Code = str  # of Python; there the name `pet` of a story is `pet_`, no word of Python's own

HEADER = re.compile(r"(table|phrase|kind) (\w+)(?:: ([\w, ]+))?(?:, weight ([\d.]+))?")
CAST = re.compile(r"([a-z_]+): (.+)")
DEFINITION = re.compile(r"([a-z_]+(?:, [a-z_]+)*) = (.+)")
NO_SENTENCE = re.compile(rf"shuffle|if .+|elif .+|else|{DEFINITION.pattern}")
MARK = re.compile(r"<[lrbo]:[^<>=]+(?:=\w+)?>|<-:[^<>=]+=\w+>")
WORD = re.compile(r'("[^"]*"|[^\s"|]+)(?: *\| *("[^"]*"|[^\s"|]+))*')
NUMBER = re.compile(r"\d+(?:\.\d+)?")
NAME = re.compile(r"\w+(?:\.\w+)*")  # nothing else of a story becomes Python
OPTION = re.compile(r'"[^"]*"|[^\s"|]+')


class Anything:
    """The example of what a function gives: it has every attribute."""

    def __getattr__(self, name: str) -> "Anything":
        return self


ANYTHING = Anything()
FIRST_OF_ALL = SimpleNamespace(pick=itemgetter(0))  # dice that give an example of what is drawn


class Line(NamedTuple):
    number: int
    indent: int
    text: str  # "" for an empty line


def read_kinds(folder: Path, tables: Mapping, functions: Mapping) -> dict[str, Kind]:
    """All kinds of document in the text files of a folder, in their order; `tables` and `functions`
    are known in every file. A mistake is a `UserError` that names the file and the line."""
    kinds: dict[str, Kind] = {}
    for path in sorted(folder.glob("*.txt")):
        for kind in StoryFile(path, tables, functions).kinds:
            if kind.name in kinds:
                raise UserError(f"{path}: there are two kinds called {kind.name!r}")
            kinds[kind.name] = kind
    return kinds


class StoryFile:
    """The tables and kinds of a file; `tables` and `functions` are known in advance."""

    def __init__(self, path: Path, tables: Mapping, functions: Mapping):
        self.path, self.tables, self.functions = path, dict(tables), dict(functions)
        self.line = Line(0, 0, "")  # the one being read
        self.kinds = list(self.read())

    def fail(self, problem: str) -> NoReturn:
        raise UserError(f"{self.path}, line {self.line.number}: {problem}")

    def read(self) -> Iterator[Kind]:
        lines = [
            Line(number, len(raw) - len(raw.lstrip()), raw.strip())
            for number, raw in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1)
            if not raw.lstrip().startswith("#")
        ]
        self.line = next((line for line in lines if line.text), self.line)
        if not HEADER.match(self.line.text):
            self.fail("a file begins with a table, a phrase or a kind")
        starts = [i for i, line in enumerate(lines) if not line.indent and HEADER.match(line.text)]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            self.line, *below = lines[start:end]
            if (match := HEADER.fullmatch(self.line.text)) is None:
                self.fail("write `table NAME`, `phrase name: parameters` or `kind name, weight 2`")
            what, name, columns, weight = match.groups()
            names = columns.split(", ") if columns else []
            if what == "table":
                self.tables[name] = self.table(names, [line for line in below if line.text])
            elif what == "phrase":
                self.functions[name] = self.phrase(names, below)
            else:
                yield self.kind(name, float(weight or 1), below)

    def table(self, columns: list[str], lines: list[Line]) -> Sequence:
        if not columns:
            return tuple(word for line in lines for word in line.text.split())
        row = namedtuple("Row", columns)
        row.__str__ = lambda row: row[0]
        rows = []
        for self.line in lines:
            cells = self.line.text.split(", ")
            if len(cells) != len(columns):
                self.fail(f"{len(cells)} columns, and the table has {len(columns)}")
            rows.append(row(*(self.tables.get(cell, cell) for cell in cells)))
        return tuple(rows)

    def phrase(self, names: list[str], lines: list[Line]) -> Callable[..., str]:
        tell = self.teller(lines, dict.fromkeys(names, ANYTHING))
        return lambda dice, *given: tell(dice, *given)[0]

    def kind(self, name: str, weight: float, lines: list[Line]) -> Kind:
        cast: dict[str, Sequence] = {}
        while lines and lines[0].indent:
            self.line = lines.pop(0)
            if (member := CAST.fullmatch(self.line.text)) is None:
                self.fail("write a member of the cast as `name: TABLE`")
            cast[member[1]] = self.example(self.members(OPTION.findall(member[2]), {}), {})
        tell = self.teller(lines, {member: options[0] for member, options in cast.items()})
        return Kind(name, weight, tuple(cast.values()), tell)

    def teller(self, lines: list[Line], known: Examples) -> Callable[..., list[str]]:
        """The function of Python that some lines stand for: of a dice and of what the `known` names
        mean it makes the list of the sentences told."""
        parameters = ", ".join(f"{name}_" for name in known)
        body = ["told = []", *self.statements(lines, known), "return told"]
        names = {"tables": self.tables, "functions": self.functions}
        exec("\n".join([f"def tell(dice, {parameters}):", *map(" {}".format, body)]), names)
        return names["tell"]

    def example(self, code: Code, known: Examples) -> Any:
        if code.startswith("functions"):
            return ANYTHING
        names = {f"{name}_": value for name, value in known.items()}
        return eval(code, {"tables": self.tables, "dice": FIRST_OF_ALL, **names})

    def statements(self, lines: list[Line], known: Examples) -> list[Code]:
        """What some lines do; `known` gets the names that they define."""
        items: list[tuple[Line, list[Line]]] = []  # lines of one indentation, what is below each
        for self.line in lines:
            if self.line.text and (not items or self.line.indent <= items[0][0].indent):
                items.append((self.line, []))
            elif items:
                items[-1][1].append(self.line)
        if not items:
            self.fail("something is missing below this line")
        code: list[Code] = []
        while items:
            self.line, below = items.pop(0)
            if self.line.text == "shuffle":
                before = f"before_{self.line.number}"
                code += [f"{before}, told = told, []", *self.statements(below, known)]
                code += [f"told = {before} + dice.shuffled(*told)"]
            elif self.line.text.startswith("if "):
                branches = [(self.line, below)]
                while items and items[0][0].text.startswith(("elif ", "else")):
                    branches.append(items.pop(0))
                code += self.branches(branches, known)
            elif match := DEFINITION.fullmatch(self.line.text):
                names, value = match[1].split(", "), self.expression(match[2], known)
                code.append(f"{', '.join(f'{name}_' for name in names)} = {value}")
                example = self.example(value, known) if len(names) == 1 else ANYTHING
                known.update(dict.fromkeys(names, example))
            elif NO_SENTENCE.fullmatch(self.line.text):
                self.fail("there is no `if` above it")
            else:
                told = [self.sentence(self.line.text, known)]
                while not below and items and not NO_SENTENCE.fullmatch(items[0][0].text):
                    self.line, below = items.pop(0)
                    told.append(self.sentence(self.line.text, known))
                for self.line in below:
                    if self.line.text:
                        self.fail("indented more than the line above it")
                one = f"dice.pick([{', '.join(told)}])" if len(told) > 1 else told[0]
                code.append(f"told.append({one})")
        return code

    def branches(self, branches: list[tuple[Line, list[Line]]], known: Examples) -> list[Code]:
        code: list[Code] = []
        known_in: list[Examples] = []
        for self.line, below in branches:
            keyword, _, source = self.line.text.partition(" ")
            code.append(f"{keyword} {self.condition(source, known) if source else ''}:")
            known_in.append(dict(known))
            code += map(" {}".format, self.statements(below, known_in[-1]))
        if branches[-1][0].text == "else":  # then a name that all branches define is known after
            in_all = set.intersection(*map(set, known_in))
            known.update({name: known_in[0][name] for name in in_all})
        return code

    def sentence(self, text: str, known: Examples) -> Code:
        pieces = re.split(r"\{([^{}]*)\}", text)  # text, expression, text, …
        if any(set(piece) & set("{}") for piece in pieces[::2]):
            self.fail("a brace without its partner")
        if set(MARK.sub("", text)) & set("<>"):
            self.fail("a label is written <l:word>, <r:…>, <b:…>, <o:…> or <-:word=sense>")
        pieces[1::2] = [f"str({self.expression(source, known)})" for source in pieces[1::2]]
        pieces[::2] = map(repr, pieces[::2])
        return " + ".join(pieces)

    def expression(self, source: str, known: Examples) -> Code:
        """A function of one or more words, or a single word."""
        words = [OPTION.findall(match[0]) for match in WORD.finditer(source)]
        if not words or WORD.sub("", source).strip():
            self.fail(f"an option, a quote or a name is missing in {source!r}")
        name = words[0][0]
        if words[0] == [name] and name in self.functions and name not in known:
            arguments = [self.word(word, known, whole=True) for word in words[1:]]
            return f"functions[{name!r}]({', '.join(['dice', *arguments])})"
        if len(words) > 1:
            self.fail(f"there is no function {name!r}; there are {', '.join(self.functions)}")
        return self.word(words[0], known)

    def word(self, options: list[str], known: Examples, *, whole: bool = False) -> Code:
        """One of several options, a name, "text", a number, or one member of a table; `whole`: a
        table as it is, as a function is given it."""
        if len(options) == 1 and (whole or options[0] not in self.tables):
            return self.value(options[0], known)
        return f"dice.pick({self.members(options, known)})"

    def members(self, options: list[str], known: Examples) -> Code:
        """All that a choice is among: what is in its tables, and its other options."""
        values = [self.value(option, known) for option in options]
        if len(options) == 1 and options[0] in self.tables:
            return values[0]
        among = (f"*{value}" if option in self.tables else value
                 for option, value in zip(options, values, strict=True))  # fmt: skip
        return f"[{', '.join(among)}]"

    def value(self, option: str, known: Examples) -> Code:
        """The value of "text", a number, a table, or a name and its attributes."""
        if option in self.tables:
            return f"tables[{option!r}]"
        if option[0] == '"':
            return repr(option[1:-1])
        if NUMBER.fullmatch(option):
            return option
        if not NAME.fullmatch(option):
            self.fail(f"{option} is no name")
        name, dot, attributes = option.partition(".")
        if name not in known:
            self.fail(f"{name!r} is no name of this story; there are {', '.join(known) or 'none'}")
        try:
            if dot:
                attrgetter(attributes)(known[name])
        except AttributeError:
            self.fail(f"{name} has no {attributes!r}")
        return f"{name}_{dot}{attributes}"

    def condition(self, source: str, known: Examples) -> Code:
        """`a is b`, `a is not b`, `a and b`, `a or b`, or an expression that is true or false."""
        match = re.fullmatch(r"(\S+) (is not|is|and|or) (.+)", source)
        if match is None:
            return self.expression(source, known)
        left, operator, right = match.groups()
        first, *others = (self.value(option, known) for option in (left, *OPTION.findall(right)))
        if operator.startswith("is"):
            return f"{first} {'in' if operator == 'is' else 'not in'} ({', '.join(others)},)"
        return f" {operator} ".join((first, *others))
