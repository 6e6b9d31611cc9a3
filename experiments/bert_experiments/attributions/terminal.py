"""Looks as lines of a terminal: words on a coloured ground, or with their numbers where there is
no colour."""

from collections.abc import Sequence

from bert_experiments.attributions.colours import Colour, colours_of, shares_of
from bert_experiments.attributions.looks import Look, WordValues
from bert_experiments.attributions.words import Word

END = "\033[0m"
BLACK_ON = "\033[38;2;0;0;0;48;2;{};{};{}m"
PAINTED_FROM, TOLD_FROM = 0.08, 0.25  # of the strongest word; weaker ones stay as they are


def look_as_text(look: Look, *, colour: bool) -> str:
    case = look.case
    right = "" if case.right is None else f"   right: {case.right}"
    rows = {"mattered": (look.mattered, True), "attention": (look.attended, False),
            "one head": (look.attended_most, False)}  # fmt: skip
    lines = [printable(f"{case.example + 1:>6}  {case.asked}   said: {case.said}{right}")]
    for name, (values, signed) in rows.items():
        words = row(case.words, values, signed=signed, colour=colour)
        lines.append(f"        {name:<10}{words}")
    return "\n".join(lines)


def row(words: Sequence[Word], values: WordValues, *, signed: bool, colour: bool) -> str:
    texts, shares = [printable(word.text) for word in words], shares_of(words, values).tolist()
    if colour:
        grounds = colours_of(words, values, signed=signed)
        return " ".join(
            painted(text, ground) if abs(share) >= PAINTED_FROM else text
            for text, ground, share in zip(texts, grounds, shares, strict=True)
        )
    return " ".join(
        numbered(text, value, signed=signed) if abs(share) >= TOLD_FROM else text
        for text, value, share in zip(texts, values.tolist(), shares, strict=True)
    )


def painted(text: str, colour: Colour) -> str:
    return f"{BLACK_ON.format(*colour)}{text}{END}"


def numbered(text: str, value: float, *, signed: bool) -> str:
    return f"{text}({value:+.2g})" if signed else f"{text}({value:.0%})"


def printable(text: str) -> str:
    """Without characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)
