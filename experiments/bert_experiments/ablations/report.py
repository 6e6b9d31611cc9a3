"""An ablation as text: our figures and the paper's, side by side and never on one scale."""

import platform
import statistics
import textwrap
from pathlib import Path

import torch

from bert_experiments.ablations.measuring import TITLES, UNTRAINED
from bert_experiments.ablations.paper import PAPER
from bert_experiments.ablations.tables import ABLATIONS
from bert_experiments.ablations.verdicts import RULE, Results, Verdict, in_words, judge
from bert_paper.settings import PretrainSettings

NOTHING = "–"


def verdicts_of(table: str, results: Results) -> list[Verdict]:
    return [judge(claim, results) for claim in ABLATIONS[table].claims]


def table_text(table: str, results: Results) -> str:
    """Ours: the median of the seeds, lowest and highest in brackets; then the paper's, as it has
    them."""
    if table == "figure 5":
        return course_text(results)
    paper, known = PAPER[table], measures_in(results)
    measures = [measure for measure in ABLATIONS[table].measures if measure in known]
    their_column = f"the paper: {' · '.join(paper.columns)}"
    rows = [["", *(TITLES[measure] for measure in measures), their_column]]
    for variant, runs in results.items():
        ours = [
            in_words(values, measure) if values else NOTHING
            for measure in measures
            for values in [[figures[measure] for figures in runs if measure in figures]]
        ]
        rows.append([variant, *ours, theirs(table, variant)])
    for name, figures in paper.others.items():
        rows.append([f"{name} (the paper only)", *[NOTHING] * len(measures), joined(figures)])
    return aligned(rows)


def measures_in(results: Results) -> set[str]:
    return {measure for runs in results.values() for figures in runs for measure in figures}


def theirs(table: str, variant: str) -> str:
    paper = PAPER[table]
    if variant not in paper.rows:
        return NOTHING
    name = paper.their_names.get(variant)
    return f"{name + ': ' if name else ''}{joined(paper.rows[variant])}"


def joined(figures: tuple[float, ...]) -> str:
    return " · ".join(map(str, figures))


def course_text(results: Results) -> str:
    """Hidden words found after each share of the steps; a row for each model and kind of word."""
    shares = shares_of(results)[1::2]  # every second one: the picture has all
    rows = [["", "", *(f"{share}%" for share in shares)]]
    for variant, runs in results.items():
        for kind in ("all", "left", "right", "other"):
            cells = [[run[f"{kind}@{share}%"] for run in runs] for share in shares]
            rows.append([variant, TITLES[kind], *(in_words(cell, kind) for cell in cells)])
    return aligned(rows)


def shares_of(results: Results) -> list[int]:
    """After what per cent of the steps the runs were measured."""
    runs = next(iter(results.values()))
    names = [name.removesuffix("%").partition("@") for name in runs[0]]
    return sorted(int(share) for kind, _, share in names if kind == "all" and share)


def aligned(rows: list[list[str]]) -> str:
    """A Markdown table that reads well as plain text too; the first row is its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def verdicts_text(verdicts: list[Verdict]) -> str:
    """A list, each claim with its verdict and the numbers behind it."""
    lines = [
        textwrap.fill(
            f"- **{verdict.answer}**: {verdict.claim.says}. → {verdict.reason}",
            width=100,
            subsequent_indent="  ",
        )
        for verdict in verdicts
    ]
    return "\n".join(lines)


def seconds_text(results: Results) -> str:
    """How long a run of each variant trained."""
    medians = {
        variant: statistics.median(figures["seconds"] for figures in runs)
        for variant, runs in results.items()
        if variant != UNTRAINED
    }
    return ", ".join(f"{variant} {seconds:,.0f}" for variant, seconds in medians.items())


def report(
    table: str,
    results: Results,
    *,
    variants: dict[str, PretrainSettings],
    command: str,
    picture: Path,
) -> str:
    paper, ablation = PAPER[table], ABLATIONS[table]
    settings = next(iter(variants.values()))
    seeds = max(len(runs) for runs in results.values())
    made = (
        f"{platform.system()}, Python {platform.python_version()}, torch {torch.__version__}. "
        f"{seeds} seeds; a seed changes first weights, pairs "
        f"and masks. Each run is {settings.steps:,} steps of the recipe of `make demo` on "
        f"{settings.corpus}, in examples of {settings.seq_length} tokens. Training took, median "
        f"of the seeds, in seconds: {seconds_text(results)}."
    )
    return f"""# {paper.title}

{ablation.title[0].upper() + ablation.title[1:]}.

```
{command}
```

{wrapped(made)}

{table_text(table, results)}

{wrapped(how_to_read(table))}

![]({picture.name})

{verdicts_text(verdicts_of(table, results))}

{wrapped(RULE)}
"""


def wrapped(text: str) -> str:
    """Paragraphs in lines of a hundred columns."""
    return "\n\n".join(textwrap.fill(part, width=100) for part in text.split("\n\n"))


def how_to_read(table: str) -> str:
    """What the columns are."""
    if table == "figure 5":
        return (
            "Hidden words of held-out stories found at first guess, after so many per cent of the "
            "steps: the median of the seeds, lowest and highest in brackets. Each seed is one run, "
            "measured along its way. Its learning rate falls to zero towards the end, as in the "
            "paper, so the end has more than its steps for it. The paper's figure shows MNLI "
            "after fine-tuning, of BERT and of the left-to-right model."
        )
    lines = [
        "The median of the seeds, lowest and highest in brackets. The paper's figures stand in the "
        "last column as it has them: other tasks, after fine-tuning, on another scale.",
        "*Settled by*: hidden words of held-out stories found at first guess, apart by what "
        "settles them. *Features*: a linear classifier on the vectors of the last layers, the "
        "model itself standing still; names (F1) from fifty sentences, entailment and sentiment "
        f"from two thousand texts. The row *{UNTRAINED}* tells what first weights give already.",
    ]
    if table == "5":
        lines.append(
            "The left-to-right model is asked what follows the words before the hidden one. "
            "*Sentence task* is each variant's own: random or next, or swapped or not."
        )
    if table == "8":
        lines.append(
            "All are asked for words behind [MASK], which the last two have never seen; for words "
            "that another stands in place of, by chance; and for words in view, as they are."
        )
    return "\n\n".join(lines)
