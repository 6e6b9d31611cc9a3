"""`python -m bert_experiments.paper_tables --table 5`: the paper's tables on your machine."""

import tyro

from bert_experiments.paper_tables.ablated import ablated_page, draw_accuracy
from bert_experiments.paper_tables.columns import BASE, LARGE
from bert_experiments.paper_tables.one_checkpoint import checkpoint_page
from bert_experiments.paper_tables.settings import FEATURES, PROGRAM, TableSettings
from bert_experiments.paper_tables.table_7 import features_page
from bert_experiments.paper_tables.trials import MAJORITY
from bert_experiments.report.page import Page, command_of
from bert_experiments.report.plots import draw_rows
from bert_run.errors import command
from bert_run.pictures import Picture

MARKS = {BASE: "D", LARGE: "D", MAJORITY: "x"}  # in grey: the paper's, and what needs no reading


def page_of(settings: TableSettings) -> Page:
    if settings.is_ablation:
        return ablated_page(settings)
    return features_page(settings) if settings.table == FEATURES else checkpoint_page(settings)


def picture_of(page: Page, settings: TableSettings) -> Picture:
    """Every seed a point, the median a bar; of Figure 5 curves."""
    if settings.figure:
        return draw_accuracy(page.results)
    return draw_rows(page.results, {m: page.heading(m) for m in page.columns}, marks=MARKS)


@command
def main() -> None:
    settings = tyro.cli(TableSettings, prog=PROGRAM)
    page = page_of(settings)
    page.publish(settings.report, command_of(PROGRAM, settings),
                 draw=lambda: picture_of(page, settings))  # fmt: skip


if __name__ == "__main__":
    main()
