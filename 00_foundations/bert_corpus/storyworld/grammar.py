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
A `phrase` is a piece of a sentence that the kinds of its file borrow:

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
from typing import Any, NamedTuple, NoReturn

from bert_corpus.storyworld.generator import Dice, Kind
from bert_run.errors import UserError

Scope = dict[str, Any]  # what the names of a story stand for; while reading, an example of each
Code = str  # an expression of Python, whose names are `dice`, `scope`, `tables` and `functions`
Step = Callable[[Dice, Scope], list[str]]  # tells some sentences, or gives something a name

HEADER = re.compile(r"(table|phrase|kind) (\w+)(?:: ([\w, ]+))?(?:, weight ([\d.]+))?")
CAST = re.compile(r"([a-z_]+): (.+)")
DEFINITION = re.compile(r"([a-z_]+(?:, [a-z_]+)*) = (.+)")
NO_SENTENCE = re.compile(rf"shuffle|if .+|elif .+|else|{DEFINITION.pattern}")
MARK = re.compile(r"<[lrbo]:[^<>=]+(?:=\w+)?>|<-:[^<>=]+=\w+>")
WORD = re.compile(r'("[^"]*"|[^\s"|]+)(?: *\| *("[^"]*"|[^\s"|]+))*')
OPTION = re.compile(r'"[^"]*"|[^\s"|]+')


class Anything:
    """The example of what a function gives: it has every attribute."""

    def __getattr__(self, name: str) -> "Anything":
        return self


class FirstOfAll:
    """The dice that give an example of what is drawn."""

    pick = staticmethod(itemgetter(0))


ANYTHING = Anything()


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
        tell = self.steps(lines, dict.fromkeys(names, ANYTHING))
        return lambda dice, *given: tell(dice, dict(zip(names, given, strict=True)))[0]

    def kind(self, name: str, weight: float, lines: list[Line]) -> Kind:
        cast: dict[str, Sequence] = {}
        while lines and lines[0].indent:
            self.line = lines.pop(0)
            if (member := CAST.fullmatch(self.line.text)) is None:
                self.fail("write a member of the cast as `name: TABLE`")
            cast[member[1]] = self.compiled(self.members(OPTION.findall(member[2]), {}))(None, {})
        tell = self.steps(lines, {member: options[0] for member, options in cast.items()})
        return Kind(
            name, weight, tuple(cast.values()),
            lambda dice, *members: tell(dice, dict(zip(cast, members, strict=True))),
        )  # fmt: skip

    def steps(self, lines: list[Line], known: Scope) -> Step:
        """What some lines tell; `known` gets the names that they define."""
        items: list[tuple[Line, list[Line]]] = []  # lines of one indentation, what is below each
        for self.line in lines:
            if self.line.text and (not items or self.line.indent <= items[0][0].indent):
                items.append((self.line, []))
            elif items:
                items[-1][1].append(self.line)
        if not items:
            self.fail("something is missing below this line")
        steps: list[Step] = []
        while items:
            self.line, below = items.pop(0)
            if self.line.text == "shuffle":
                told = self.steps(below, known)
                steps.append(lambda dice, scope, told=told: dice.shuffled(*told(dice, scope)))
            elif self.line.text.startswith("if "):
                branches = [(self.line, below)]
                while items and items[0][0].text.startswith(("elif ", "else")):
                    branches.append(items.pop(0))
                steps.append(self.branches(branches, known))
            elif match := DEFINITION.fullmatch(self.line.text):
                steps.append(self.definition(match[1].split(", "), match[2], known))
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
                steps.append(self.compiled(f"[{one}]"))
        return lambda dice, scope: [told for step in steps for told in step(dice, scope)]

    def branches(self, branches: list[tuple[Line, list[Line]]], known: Scope) -> Step:
        choices, scopes = [], []
        for self.line, below in branches:
            source = self.line.text.partition(" ")[2]
            condition = self.condition(source, known) if source else "True"
            scopes.append(dict(known))
            choices.append((self.compiled(condition), self.steps(below, scopes[-1])))
        if branches[-1][0].text == "else":  # then a name that all branches define is known after
            in_all = set.intersection(*map(set, scopes))
            known.update({name: scopes[0][name] for name in in_all})

        def tell(dice: Dice, scope: Scope) -> list[str]:
            step = next((step for holds, step in choices if holds(dice, scope)), None)
            return step(dice, scope) if step else []

        return tell

    def definition(self, names: list[str], source: str, known: Scope) -> Step:
        code = self.expression(source, known)
        value = self.compiled(code)
        example = ANYTHING if code.startswith("functions") else value(FirstOfAll, known)
        known.update(dict.fromkeys(names, ANYTHING) if len(names) > 1 else {names[0]: example})

        def define(dice: Dice, scope: Scope) -> list[str]:
            found = value(dice, scope)
            scope.update(zip(names, found, strict=True) if len(names) > 1 else {names[0]: found})
            return []

        return define

    def compiled(self, code: Code) -> Callable[[Dice, Scope], Any]:
        names = {"tables": self.tables, "functions": self.functions}
        return eval(f"lambda dice, scope: {code}", names)

    def sentence(self, text: str, known: Scope) -> Code:
        pieces = re.split(r"\{([^{}]*)\}", text)  # text, expression, text, …
        if any(set(piece) & set("{}") for piece in pieces[::2]):
            self.fail("a brace without its partner")
        if set(MARK.sub("", text)) & set("<>"):
            self.fail("a label is written <l:word>, <r:…>, <b:…>, <o:…> or <-:word=sense>")
        pieces[1::2] = [f"str({self.expression(source, known)})" for source in pieces[1::2]]
        pieces[::2] = map(repr, pieces[::2])
        return " + ".join(pieces)

    def expression(self, source: str, known: Scope) -> Code:
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

    def word(self, options: list[str], known: Scope, *, whole: bool = False) -> Code:
        """One of several options, a name, "text", a number, or one member of a table; `whole`: a
        table as it is, as a function is given it."""
        if len(options) == 1 and (whole or options[0] not in self.tables):
            return self.value(options[0], known)
        return f"dice.pick({self.members(options, known)})"

    def members(self, options: list[str], known: Scope) -> Code:
        """All that a choice is among: what is in its tables, and its other options."""
        values = [self.value(option, known) for option in options]
        if len(options) == 1 and options[0] in self.tables:
            return values[0]
        among = (f"*{value}" if option in self.tables else value
                 for option, value in zip(options, values, strict=True))  # fmt: skip
        return f"[{', '.join(among)}]"

    def value(self, option: str, known: Scope) -> Code:
        """The value of "text", a number, a table, or a name and its attributes."""
        if option in self.tables:
            return f"tables[{option!r}]"
        if option[0] == '"':
            return repr(option[1:-1])
        if option[0].isdigit():
            return option
        name, dot, attributes = option.partition(".")
        if name not in known:
            self.fail(f"{name!r} is no name of this story; there are {', '.join(known) or 'none'}")
        try:
            if dot:
                attrgetter(attributes)(known[name])
        except AttributeError:
            self.fail(f"{name} has no {attributes!r}")
        return f"scope[{name!r}]{dot}{attributes}"

    def condition(self, source: str, known: Scope) -> Code:
        """`a is b`, `a is not b`, `a and b`, `a or b`, or an expression that is true or false."""
        match = re.fullmatch(r"(\S+) (is not|is|and|or) (.+)", source)
        if match is None:
            return self.expression(source, known)
        left, operator, right = match.groups()
        first, *others = (self.value(option, known) for option in (left, *OPTION.findall(right)))
        if operator.startswith("is"):
            return f"{first} {'in' if operator == 'is' else 'not in'} ({', '.join(others)},)"
        return f" {operator} ".join((first, *others))
