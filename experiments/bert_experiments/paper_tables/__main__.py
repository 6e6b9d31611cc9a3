"""`python -m bert_experiments.paper_tables --table 5`: the paper's tables on your machine."""

import tyro

from bert_experiments.paper_tables.ablated_page import ablated_page
from bert_experiments.paper_tables.checkpoint_page import checkpoint_page, features_page
from bert_experiments.paper_tables.pictures import draw
from bert_experiments.paper_tables.report import Page
from bert_experiments.paper_tables.settings import FEATURES, PROGRAM, TableSettings
from bert_run.errors import command
from bert_run.files import write_atomically


def page_of(settings: TableSettings) -> Page:
    if settings.is_ablation:
        return ablated_page(settings)
    return features_page(settings) if settings.table == FEATURES else checkpoint_page(settings)


@command
def main() -> None:
    settings = tyro.cli(TableSettings, prog=PROGRAM)
    page = page_of(settings)
    print(page.text())
    if settings.report is not None:
        picture = settings.report.with_suffix(".png")
        draw(page, picture)
        write_atomically(settings.report, page.as_markdown(settings, picture))
        print(f"\n{settings.report}, {picture}")


if __name__ == "__main__":
    main()
