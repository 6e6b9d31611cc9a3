"""Every benchmark in one run, side by side with peers on the same work, and one page of it.

    python benchmarks/bench.py [--only training encoding …] [--quick] [--full]

Figures are kept under runs/bench as soon as they are there: called again, with the same code on the
same machine, a bench that was stopped goes on where it stopped.
"""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from bench_report.page import PARTS, write_page
from bench_sections import data, demo, encoding, gpu, grading, growth, questions, training
from bench_sections.machine import described
from bench_sections.saved import FOLDER, Saved
from tyro.conf import arg

from bert_experiments.report.figures import is_page_of
from bert_run.config import Whole, check_numbers
from bert_run.errors import UserError, command

SECTIONS = {
    "training": training.run,
    "encoding": encoding.run,
    "data": data.run,
    "cost": growth.run,
    "grading": grading.run,
    "demo": demo.run,
    "gpu": gpu.run,
}
ALL = SECTIONS | questions.SECTIONS  # `questions` are asked by name, and have pages of their own


@dataclass(frozen=True)
class BenchSettings:
    """Measure speed, memory and scale beside peers, and write one page of it.

    python benchmarks/bench.py --out results/benchmarks.md
    """

    only: Annotated[tuple[str, ...], arg(metavar="SECTION…")] = ()
    """of training, encoding, data, cost, grading, demo, gpu (default: all of these); or one of
    every_token, numpy, own_products, without_each; several one after another or with commas
    between them"""
    quick: bool = False
    """sizes so small that the whole takes a minute or two: to try the code, not to measure"""
    full: bool = False
    """measure what is long too: 100 submissions, make demo, make test"""
    out: Path | None = None
    """the page; pictures lie beside it (default: results/benchmarks.md, of a
    question results/QUESTION.md, with --quick none)"""
    rounds: Annotated[int, Whole(2, 1_000_000)] = 7
    """turns of each contestant; medians and quartiles are of these, so 2 at least"""
    figures: Path = FOLDER
    """where measured figures are kept, and looked for"""
    sections: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        check_numbers(self)
        names = tuple(name for part in self.only for name in part.split(",") if name)
        unknown = [name for name in names if name not in ALL]
        if unknown:
            raise UserError(f"--only {unknown[0]}: choose of {', '.join(ALL)}")
        asked = [name for name in names if name in questions.SECTIONS]
        if asked and len(names) > 1:
            raise UserError(f"--only {asked[0]}: it has a page of its own, so call it alone")
        object.__setattr__(self, "sections", names or tuple(SECTIONS))
        if self.out is None and not self.quick:
            out = Path("results") / f"{self.question or 'benchmarks'}.md"
            object.__setattr__(self, "out", out)
        if self.out is not None:
            self.check_page(self.out)

    def check_page(self, out: Path) -> None:
        """What `check_report` asks for, which would load torch into this process."""
        if out.suffix != ".md":
            raise UserError(f"--out is {out}: its name must end in .md")
        if not out.parent.is_dir():
            raise UserError(f"--out {out}: there is no folder {out.parent}: make it, or name "
                            "another page with --out")  # fmt: skip
        if out.exists():
            text = out.read_text("utf-8", "replace") if out.is_file() else ""
            if not is_page_of("benchmarks/bench.py", text):
                raise UserError(f"--out {out} exists, and no bench has written it: choose another "
                                "name")  # fmt: skip
            return
        for part in () if self.question else PARTS:
            picture = out.with_name(f"{out.stem}_{part.option}.png")
            if part.picture and picture.exists():
                raise UserError(f"--out {out}: a picture would be written over {picture}, which is "
                                "there already: choose another name")  # fmt: skip

    @property
    def question(self) -> str | None:
        """The section that has a page of its own, if it is that."""
        return next((name for name in self.sections if name in questions.SECTIONS), None)


def say_where_it_stands(saved: Saved) -> None:
    print(described(saved.machine), file=sys.stderr)
    there = len(list(saved.place.glob("*/*.json")))
    if there:
        print(f"going on: {there} measurements of this code on this machine are there "
              f"({saved.place}); delete the folder to measure anew", file=sys.stderr)  # fmt: skip


@command
def main() -> None:
    settings = tyro.cli(BenchSettings, prog="python benchmarks/bench.py")
    saved = Saved(settings.figures, quick=settings.quick, rounds=settings.rounds)
    say_where_it_stands(saved)
    for name in settings.sections:
        begin = time.perf_counter()
        ALL[name](saved, rounds=settings.rounds, full=settings.full)
        print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        # After each section, so that a stopped bench leaves a page.
        text = write_page(saved, settings.out, settings.question)
    print(text)


if __name__ == "__main__":
    main()
