"""Tables 5, 6 and 8 and Figure 5 as pages."""

from bert_experiments.ablations.measuring import UNTRAINED
from bert_experiments.ablations.paper import PAPER
from bert_experiments.ablations.report import joined, theirs
from bert_experiments.ablations.variants import variants_of
from bert_experiments.ablations.verdicts import Results
from bert_experiments.paper_tables.ablated import SHARES, WITH_BILSTM, ablated
from bert_experiments.paper_tables.claims import GAINED, verdicts_of
from bert_experiments.paper_tables.columns import ABLATED, COLUMNS, PAIRS, PERPLEXITY
from bert_experiments.paper_tables.report import Page, times
from bert_experiments.paper_tables.settings import TableSettings
from bert_experiments.paper_tables.trials import MAJORITY


def ablated_page(settings: TableSettings) -> Page:
    results = ablated(settings)
    table, paper = settings.name, PAPER[settings.name]
    columns = ABLATED[table]
    if table == "6":
        columns = (PERPLEXITY, *columns)
    if table == "figure 5":
        columns = tuple(f"{PAIRS}@{share}%" for share in SHARES)
        add_gain(results)
    beside = {row: theirs(table, row) for row in results}
    beside |= {row: joined(figures) for row, figures in paper.others.items()}
    return Page(
        title=f"{paper.title}, after fine-tuning",
        results={**results, **{row: [] for row in paper.others if row not in results}},
        columns=columns,
        notes=notes(settings, results),
        verdicts=verdicts_of(table, results),
        theirs=beside if paper.columns else None,
        their_title=f"the paper: {' · '.join(paper.columns)}",
    )


def add_gain(results: Results) -> None:
    """What a model gains between the first point of Figure 5 and the last."""
    first, last = (f"{PAIRS}@{share}%" for share in (SHARES[0], SHARES[-1]))
    for runs in results.values():
        for figures in runs:
            figures[GAINED] = figures[last] - figures[first]


def notes(settings: TableSettings, results: Results) -> str:
    """What the columns are."""
    variant = next(iter(variants_of(settings.name, steps=settings.steps).values()))
    asked = [COLUMNS[column] for column in ABLATED[settings.name]]
    tuned = next(column for column in asked if column.how == "fine-tuned")
    parts = [
        f"Each model was pretrained for {variant.steps:,} steps on {variant.corpus} "
        "(`python -m bert_experiments.ablations`), then fine-tuned on StoryWorld's tasks, which "
        f"stand for the paper's in brackets: {settings.examples or tuned.examples:,} examples, "
        f"passed over {times(settings.epochs or tuned.epochs)}, batches of {tuned.batch_size}, "
        "measured on 500 others. A seed is a run of pretraining, fine-tuned once. The median of "
        "the seeds, lowest and highest in brackets. The best of the measurements after each epoch "
        "counts, on these same examples, so every figure is a little "
        f"too good. *{UNTRAINED}*: the same sizes with first weights, learning all from the "
        f"examples; *{MAJORITY}*: said of all without reading. The paper's figures stand beside as "
        "it has them, of other tasks, on another scale."
    ]
    if settings.table == "5":
        parts.append(
            "The left-to-right model reads from the left while it is fine-tuned too. Its [CLS] "
            "sees nothing, so a text is the mean of its tokens. "
            f"*{WITH_BILSTM}*: a BiLSTM at its first values on top of it, all of it fine-tuned "
            "together; a text is what that has read from both ends."
        )
    if settings.table == "8":
        few = COLUMNS[ABLATED["8"][-1]].examples
        parts.append(
            f"*Features*: a BiLSTM on the frozen layers side by side, which learns from {few} "
            "sentences."
        )
    if settings.figure:
        parts.append(
            "Each seed is one run of pretraining, fine-tuned from its checkpoints. Its learning "
            "rate falls to zero towards the end, so the end has more than its steps for it. The "
            "paper's figure is a curve without numbers; it shows MNLI-m."
        )
    return "\n\n".join(parts)
