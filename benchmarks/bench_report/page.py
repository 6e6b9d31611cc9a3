"""The whole page, from whatever was measured; what was not says so."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench_sections.machine import described
from bench_sections.questions import QUESTIONS
from bench_sections.saved import Saved

from bench_report.aims import aims_table
from bench_report.growth_tables import growth_picture, growth_section
from bench_report.numbers import Figures
from bench_report.other_tables import (
    data_section,
    demo_section,
    encoding_section,
    gpu_section,
    grading_section,
)
from bench_report.training_tables import question_section, training_picture, training_section
from bert_run.files import write_atomically
from bert_run.pictures import Picture

QUICK = "\n**Made with `--quick`: sizes to try the code with, not measurements.**"


@dataclass(frozen=True)
class Part:
    """A section of the page; `option` is what `--only` calls it."""

    option: str
    title: str
    lines: Callable[[dict[str, Figures]], list[str]]
    picture: Callable[[dict[str, Figures]], Picture | None] | None = None
    absent: str = "Not measured yet."


PARTS = (
    Part("training", "A training step", training_section, training_picture),
    Part("encoding", "Encoding", encoding_section),
    Part("data", "Data", data_section),
    Part("cost", "Cost as the work grows", growth_section, growth_picture),
    Part("grading", "Grading", grading_section),
    Part("demo", "The demo and the tests", demo_section),
    Part("gpu", "A GPU", gpu_section, absent="Not measured: no GPU here."),
)
BEGIN = """# Benchmarks

```
{command}
```

{machine}.

Compare ratios of the same run, not speeds of two runs: most of what else runs on a machine affects
both sides of a ratio equally. The current cost of fresh memory may not ([its
effect](../benchmarks/README.md#what-fresh-memory-costs)). Figures are medians, with the quartiles
in parentheses. [benchmarks/](../benchmarks/README.md) describes how each section measures. Below,
“A against B” is the speed of A relative to B at its default settings; the “fastest mode” is the
fastest of the modes in section 1.
"""


def write_page(saved: Saved, out: Path | None, question: str | None = None) -> str:
    """The page, or that of a question; with `out` it is written there, its pictures beside it."""
    text = question_page(saved, question) if question else whole_page(saved, out)
    if out is not None:
        write_atomically(out, text)
    return text


def question_page(saved: Saved, question: str) -> str:
    asked = QUESTIONS[question]
    cases = {entry["case"]: entry["figures"] for entry in saved.all_of(question)}
    return "\n".join([
        f"# {asked.title}", "", "```", this_command(), "```", "", f"{described(saved.machine)}.",
        *([QUICK] if saved.quick else []), "",
        *question_section(asked.explanation, cases, slower=asked.slower), "",
    ])  # fmt: skip


def whole_page(saved: Saved, out: Path | None) -> str:
    entries = {part.option: saved.all_of(part.option) for part in PARTS}
    figures = {option: {entry["case"]: entry["figures"] for entry in found}
               for option, found in entries.items()}  # fmt: skip
    text = BEGIN.format(command=this_command(), machine=described(saved.machine))
    if saved.quick:
        text += f"{QUICK}\n"
    text += "\n" + "\n".join(aims_table(figures)) + "\n"
    for number, part in enumerate(PARTS, start=1):
        text += f"\n## {number}. {part.title}\n\n"
        text += section(part, entries[part.option], figures[part.option], saved, out)
    return text


def section(
    part: Part, entries: list[dict], figures: dict[str, Figures], saved: Saved, out: Path | None
) -> str:
    if not figures:
        return f"{part.absent} `{command_of(part)}`\n"
    dates = sorted({entry["date"] for entry in entries})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    older = "" if entries[0]["code"] == saved.code else ", with an earlier version of the code"
    text = f"`{command_of(part)}`, {days}{older}.\n\n"
    text += "\n".join(part.lines(figures)).strip() + "\n"
    if part.picture and out is not None:
        picture = part.picture(figures)
        if picture is not None:
            path = out.with_name(f"{out.stem}_{part.option}.png")
            picture.save(path)
            text += f"\n![{part.title.lower()}]({path.name})\n"
    return text


def command_of(part: Part) -> str:
    return f"python benchmarks/bench.py --only {part.option}"


def this_command() -> str:
    """As it was called; a section that was measured before names its own."""
    return shlex.join(["python", "benchmarks/bench.py", *sys.argv[1:]])
