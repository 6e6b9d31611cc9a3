"""Predictions for people: bars, entities marked in their sentence, answers in their text."""

import os
import sys
from dataclasses import dataclass
from typing import Any

from bert_corpus.sentences import split_prose
from bert_finetuning.examples import TextExample
from bert_finetuning.kinds.base import Kind
from bert_finetuning.metrics import entities
from bert_finetuning.new_text import Asked

BAR, BAR_WIDTH = "█", 30
BOLD, DIM, END = "\033[1m", "\033[2m", "\033[0m"
COLOURS = (36, 33, 35, 32, 34, 31)  # of the terminal, one for each type of name


@dataclass(frozen=True)
class Style:
    """`top`: how many labels or answers are shown. `brief`: one line each, cells between tabs."""

    top: int = 5
    colour: bool = False
    brief: bool = False

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}{END}" if self.colour else text


def has_colours() -> bool:
    """Whether standard output is a terminal whose owner does not mind (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def shown_as_text(kind: Kind, format: str, asked: Asked, prediction: Any, style: Style) -> str:
    """A prediction in lines; an example without text is an empty line."""
    if prediction is None:
        return ""
    show = {"texts": labels, "numbers": number, "tags": tags, "questions": answers,
            "choices": choices, "extracts": sentences}[format]  # fmt: skip
    return show(kind, asked, prediction, style)


def shown_as_json(kind: Kind, asked: Asked, prediction: Any) -> dict[str, Any]:
    """A prediction as one object: its line, the answer, the other columns of its row.

    Names also go by their characters, where a text was split. An example without text has no
    answer, and is marked as `empty`.
    """
    line = {} if asked.line is None else {"line": asked.line}
    row = {"row": asked.others} if asked.others else {}
    if prediction is None:
        return {**line, **asked.given, "empty": True, **row}
    shown = kind.shown(asked.example, prediction)
    if asked.places:
        shown = {"text": asked.text, **shown, "places": [list(place) for place in asked.places]}
        for entity in shown.get("entities", ()):
            first, end = entity["words"]
            entity["start"], entity["end"] = asked.places[first][0], asked.places[end - 1][1]
            entity["text"] = asked.text[entity["start"] : entity["end"]]
    return {**line, **shown, **row}


def bars(ranked: list[tuple[str, float]]) -> list[str]:
    """Names with their probabilities."""
    width = min(max((len(name) for name, _ in ranked), default=0), 40)
    return [f"  {name:<{width}}  {p:6.1%}  {BAR * round(p * BAR_WIDTH)}".rstrip()
            for name, p in ranked]  # fmt: skip


def texts_of(example: TextExample) -> list[str]:
    return [example.text] if example.pair is None else [example.text, example.pair]


def one_line(cells: list[str]) -> str:
    """Cells between tabs; whatever would break the line becomes a space."""
    return "\t".join(" ".join(cell.split()) for cell in cells)


def labels(kind: Kind, asked: Asked, prediction: Any, style: Style) -> str:
    texts = texts_of(asked.example)
    if style.brief:
        highest = max(prediction.probabilities)
        return one_line([prediction.label, f"{highest:.3f}", *texts])
    each = zip(kind.head.labels, prediction.probabilities, strict=True)
    ranked = sorted(each, key=lambda both: -both[1])[: style.top]
    return "\n".join([*texts, *bars(ranked)])


def number(kind: Kind, asked: Asked, prediction: float, style: Style) -> str:
    texts = texts_of(asked.example)
    if style.brief:
        return one_line([f"{prediction:.3f}", *texts])
    return "\n".join([*texts, f"  {kind.head.labels[0]}  {prediction:.3f}"])


def tags(kind: Kind, asked: Asked, prediction: Any, style: Style) -> str:
    """The text with its names marked; of other tags each word with its own."""
    words = asked.example.words
    places = asked.places or word_places(words)
    text = asked.text or " ".join(words)
    if "entity_f1" in kind.metrics:
        marked = [(places[first][0], places[end - 1][1], name)
                  for name, first, end in entities(prediction.tags)]  # fmt: skip
        return mark(text, marked, style)
    return " ".join(
        word + style.paint(f"/{tag}", DIM) for word, tag in zip(words, prediction.tags, strict=True)
    )


def word_places(words: tuple[str, ...]) -> list[tuple[int, int]]:
    """Of words with one space between."""
    places, begin = [], 0
    for word in words:
        places.append((begin, begin + len(word)))
        begin += len(word) + 1
    return places


def mark(text: str, spans: list[tuple[int, int, str]], style: Style) -> str:
    """Spans of a text in colour, or between brackets."""
    types = sorted({name for _, _, name in spans})
    told, last = [], 0
    for start, end, name in spans:
        told.append(text[last:start])
        if style.colour:
            code = COLOURS[types.index(name) % len(COLOURS)]
            told.append(f"\033[1;{code}m{text[start:end]}{END}{DIM} {name}{END}".rstrip(" "))
        else:
            told.append(f"[{text[start:end]}{' ' * bool(name)}{name}]")
        last = end
    return "".join([*told, text[last:]])


def answers(kind: Kind, asked: Asked, prediction: Any, style: Style) -> str:
    example = asked.example
    start = prediction.candidates[0].start if prediction.text else None
    if style.brief:
        place = "" if start is None else str(start)
        probability = f"{prediction.probability:.3f}"
        return one_line([prediction.text, probability, place, example.question])
    lines = [style.paint(example.question, BOLD)]
    if start is None:
        lines += [f"  no answer  {prediction.probability:6.1%}"]
    ranked = [(each.text, each.probability) for each in prediction.candidates[: style.top]]
    lines += bars(ranked)
    if start is not None:
        end = start + len(prediction.text)
        begin, sentence = sentence_around(example.context, start, end)
        marked = mark(sentence, [(start - begin, end - begin, "")], style)
        lines += [f"  characters {start} to {end}: {' '.join(marked.split())}"]
    return "\n".join(lines)


def sentence_around(text: str, start: int, end: int) -> tuple[int, str]:
    """The sentence that holds a span, and where it begins; all of the text if none does."""
    begin = 0
    for sentence in split_prose(text):
        place = text.find(sentence, begin)
        if place < 0:
            break
        begin = place + len(sentence)
        if place <= start and end <= begin:
            return place, sentence
    return 0, text


def choices(kind: Kind, asked: Asked, prediction: Any, style: Style) -> str:
    endings, probabilities = asked.example.endings, prediction.probabilities
    best = prediction.place
    if style.brief:
        shown = f"{probabilities[best]:.3f}"
        return one_line([str(best), shown, asked.example.context, endings[best]])
    ranked = sorted(zip(endings, probabilities, strict=True), key=lambda both: -both[1])
    lines = [f"  {p:6.1%}  {ending}" for ending, p in ranked[: style.top]]
    lines[0] = style.paint(lines[0], BOLD)
    return "\n".join([asked.example.context, *lines])


def sentences(kind: Kind, asked: Asked, prediction: Any, style: Style) -> str:
    """All sentences, those that were chosen marked; in brief these alone."""
    told = asked.example.sentences
    if style.brief:
        return one_line([told[place] for place in prediction.chosen])
    lines = []
    for place, (sentence, p) in enumerate(zip(told, prediction.probabilities, strict=True)):
        chosen = place in prediction.chosen
        line = f"{'▶' if chosen else ' '} {p:6.1%}  {sentence}"
        lines.append(style.paint(line, BOLD) if chosen else line)
    return "\n".join(lines)
