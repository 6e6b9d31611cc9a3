"""Looks as a page of HTML that needs nothing else: no script, no font, no address.

Whatever came from a text is escaped, and the page forbids itself all but its own style.
"""

from collections.abc import Sequence
from html import escape

from bert_experiments.attributions.colours import AGAINST, FOR, LOOKED_AT, Colour, colours_of
from bert_experiments.attributions.looks import Look, WordValues
from bert_experiments.attributions.words import Word

STYLE = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff;
       font: 16px/1.5 system-ui, sans-serif; }
article { border-top: 1px solid #ccc; padding: .8rem 0; }
h2 { font-size: 1rem; margin: 0 0 .3rem; } h2 small { color: #666; font-weight: normal; }
p.row { margin: .2rem 0; padding-left: 6.5rem; text-indent: -6.5rem; line-height: 1.9; }
p.row b { display: inline-block; width: 6.5rem; text-indent: 0; font-weight: normal; color: #666;
          font-size: .85rem; }
span { padding: .1rem .2rem; border-radius: .2rem; } span.special { color: #888; font-size: .8rem; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(looks: Sequence[Look], *, title: str, notes: Sequence[str]) -> str:
    """The whole page; `notes` are paragraphs above the cases."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(note)}</p>" for note in notes),
        f"<p>{legend()}</p>",
        *map(article, looks),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def legend() -> str:
    names = ((FOR, "speaks for the answer"), (AGAINST, "against it"), (LOOKED_AT, "looked at"))
    return " ".join(f"<span {ground(colour)}>{name}</span>" for colour, name in names) + (
        " Point at a word for its number. Each row has a scale of its own; [CLS] and [SEP] do not "
        "set it."
    )


def article(look: Look) -> str:
    case = look.case
    right = "" if case.right is None else f" · right: <b>{escape(case.right)}</b>"
    return "\n".join((
        f"<article><h2><small>{case.example + 1}</small> {escape(case.asked)} "
        f"<small>said:</small> {escape(case.said)}<small>{right}</small></h2>",
        row("mattered", case.words, look.mattered, signed=True),
        row("attention", case.words, look.attended, signed=False),
        row("one head", case.words, look.attended_most, signed=False),
        "</article>",
    ))  # fmt: skip


def row(name: str, words: Sequence[Word], values: WordValues, *, signed: bool) -> str:
    colours = colours_of(words, values, signed=signed)
    spans = [
        f'<span {ground(colour)}{special(word)} title="{number(value, signed=signed)}">'
        f"{escape(word.text)}</span>"
        for word, value, colour in zip(words, values.tolist(), colours, strict=True)
    ]
    return f'<p class="row"><b>{name}</b>{" ".join(spans)}</p>'


def number(value: float, *, signed: bool) -> str:
    return f"{value:+.3f}" if signed else f"{value:.1%}"


def special(word: Word) -> str:
    return ' class="special"' if word.is_special else ""


def ground(colour: Colour) -> str:
    return 'style="background: rgb({}, {}, {})"'.format(*colour)
