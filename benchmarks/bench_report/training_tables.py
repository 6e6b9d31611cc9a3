"""The page's section 1: tokens a second, shares of the limit, memory; in each mode."""

import statistics

from bench_report.numbers import NONE, Figures, in_bytes, ratios, result_of, with_quartiles
from bert_run.pictures import BLUE, DARK, GREEN, GREY, ORANGE, PINK, Picture, picture_with_axes

KINDS = ("transformers", "nn.TransformerEncoder", "d2l", "level 1", "level 2", "level 3")
MARKS = {"nn.TransformerEncoder": (GREY, "s"), "level 1": (GREEN, "^"), "level 2": (BLUE, "o"),
         "level 3": (ORANGE, "D"), "level 3, settled": (ORANGE, "*"),
         "level 3, settled, compiled": (ORANGE, "P"), "transformers": (PINK, "o"),
         "transformers, settled": (PINK, "*"),
         "transformers, settled, compiled": (PINK, "P")}  # fmt: skip


def rate_of(products: Figures | None, precision: str, *, settled: bool) -> float | None:
    """Operations a second of large products of the kind that a step's are."""
    kind = "medium" if settled and precision == "fp32" else precision
    rates = products["rates"].get(kind) if products else None
    return statistics.median(rates) if rates else None


def cells(case: Figures, name: str, products: Figures | None) -> list[str]:
    """Tokens per second, relative speed, share of the products' rate, memory."""
    found = result_of(case["groups"], name)
    if found is None:
        return [NONE] * 4
    if found["failure"]:
        return [f"failed: {found['failure']}", NONE, NONE, NONE]
    speeds = [case["tokens"] / seconds for seconds in found["seconds"]]
    rate = rate_of(products, case["precision"], settled="settled" in name)
    share = statistics.median(speeds) * case["operations"] / rate if rate else None
    is_reference = name == case["reference"]
    times = [] if is_reference else ratios(case["groups"], name, case["reference"])
    return [
        with_quartiles(speeds),
        "1" if is_reference else with_quartiles(times, ".2f"),
        NONE if share is None else f"{share:.0%}",
        in_bytes(found.get("peak")),
    ]


def table(cases: list[Figures], products: Figures | None) -> list[str]:
    """One of the cases of a size: a row for each contestant, its modes one below the other."""
    lines = [
        "| words | precision | | tokens/s | relative speed | of products | memory |",
        "|---" * 7 + "|",
    ]
    for case in cases:
        names = {name for group in case["groups"] for name in group}
        for name in sorted(names, key=lambda name: (KINDS.index(name.partition(",")[0]), name)):
            row = [f"{case['vocab_size']:,}", case["precision"], name]
            lines.append(f"| {' | '.join(row + cells(case, name, products))} |")
    return lines


def products_line(products: Figures | None) -> str:
    if not products:
        return "The rate of matrix products was not measured."
    rates = ", ".join(f"{with_quartiles([rate / 1e9 for rate in found])} in {name}"
                      for name, found in products["rates"].items() if found)  # fmt: skip
    size = f"{products['size']:,}"
    return (f"The limit: products of two {size} × {size} matrices reach {rates}, in GFLOP/s. "
            "“medium” is float32 whose products torch may round to bfloat16.")  # fmt: skip


def fresh_memory_line(cases: list[Figures]) -> str:
    """GB a second of the first touch of fresh memory while each of these cases was measured."""
    rates = [f"{with_quartiles([rate / 1e9 for rate in case['fresh_memory']], '.2f')} at "
             f"{case['vocab_size']:,} in {case['precision']}"
             for case in cases if case.get("fresh_memory")]  # fmt: skip
    return f"Fresh memory in the same rounds: {', '.join(rates)}, in GB/s." if rates else ""


EXPLANATION = """\
All contestants get the same weights and the same masked batch, dropout as in the paper (0.2 in
d2l's configuration), both losses, backward, clipping and fused AdamW; d2l's code uses its own model
and Adam. Each computes in its own process, in turns; tokens per second are medians of the rounds,
with the quartiles in parentheses; “relative speed” is the reference's time divided by the
contestant's time, round by round. The reference is `transformers` with SDPA and default settings,
with the word logits of every token; in d2l's configuration it is d2l's code, restated.
`nn.TransformerEncoder` is measured with our output heads, which are applied at the masked positions
only. “Of products” is the number of operations that the model needs (`bert_experiments/cost.py`) as
a percentage of the rate of matrix products below. Memory is the peak of the process during the
steps, minus what its libraries use.

A name without a suffix is what a caller gets by default: for this course with its own settings of
memory and threads (`bert_run/cpu.py`), for the others without them. “Settled” uses these settings
for both (`THP_MEM_ALLOC_ENABLE=1` among them) and “medium” products in float32; in bf16 levels 2
and 3 have them by default. “Compiled” also uses `torch.compile`. “Relative speed” always refers to
the reference at its default settings.

“Fresh memory” is how fast newly allocated memory can be touched for the first time, in the same
rounds: programs that do not keep freed memory depend on it ([what it
costs](../benchmarks/README.md#what-fresh-memory-costs))."""


def training_section(figures: dict[str, Figures]) -> list[str]:
    products = figures.get("products")
    cases = [case for name, case in figures.items() if name != "products"]
    lines = [EXPLANATION, "", products_line(products)]
    for size in dict.fromkeys(case["size"] for case in cases):
        of_size = [case for case in cases if case["size"] == size]
        first = of_size[0]
        title = "d2l's tiny configuration" if size == "d2l" else f"`{size}`"
        lines += ["", f"**{title}**, batch {first['batch_size']}, length {first['seq_length']}; "
                      f"the reference is {first['reference']}.", ""]  # fmt: skip
        lines += table(of_size, products)
        lines += ["", fresh_memory_line(of_size)]
        if size == "d2l":
            pairs = f"Pairs per second are tokens per second divided by {first['seq_length']}."
            lines += ["", pairs]
    return lines


WHAT_IS_MEASURED = """\
A training step is both losses, backward, clipping and AdamW on the same weights and the same masked
batch. Each contestant computes in its own process, in turns; the figures are medians of the rounds,
with the quartiles in parentheses. Memory is the peak of the process during the steps, minus what
its libraries use."""


def question_section(explanation: str, cases: dict[str, Figures], *, slower: bool) -> list[str]:
    """A row for each case and contestant, with ratios to the reference of each round."""
    ratio = f"{'time' if slower else 'speed'} relative to the reference"
    lines = [explanation, "", WHAT_IS_MEASURED, "",
             f"| | | first step, ms | a step, ms | tokens/s | {ratio} | memory |",
             "|---" * 7 + "|"]  # fmt: skip
    for title, case in cases.items():
        for name in dict.fromkeys(name for group in case["groups"] for name in group):
            found, reference = result_of(case["groups"], name), case["reference"]
            if found["failure"]:
                lines.append(f"| {title} | {name} | failed: {found['failure']} | | | | |")
                continue
            pair = (reference, name) if slower else (name, reference)
            times = [] if name == reference else ratios(case["groups"], *pair)
            cells = [
                f"{1e3 * found['first_seconds']:,.0f}",
                with_quartiles([1e3 * seconds for seconds in found["seconds"]]),
                with_quartiles([case["tokens"] / seconds for seconds in found["seconds"]]),
                with_quartiles(times, ".2f") if times else "1",
                in_bytes(found.get("peak")),
            ]
            lines.append(f"| {title} | {name} | {' | '.join(cells)} |")
    return lines


def training_picture(figures: dict[str, Figures]) -> Picture | None:
    """For every case, how many times as fast as the reference each contestant is."""
    cases = [case for name, case in figures.items() if name != "products"]
    if not cases:
        return None
    picture, axes = picture_with_axes(height=1.2 + 0.27 * len(cases), xlabel="times as fast as the "
                                      "reference as it comes, median of the rounds")  # fmt: skip
    for row, case in enumerate(cases):
        for name, (color, marker) in MARKS.items():
            times = ratios(case["groups"], name, case["reference"])
            if times and name != case["reference"]:
                axes.plot(statistics.median(times), row, marker, color=color, markersize=7,
                          markerfacecolor="none" if marker == "o" else color)  # fmt: skip
    for name, (color, marker) in MARKS.items():
        axes.plot([], [], marker, color=color, label=name,
                  markerfacecolor="none" if marker == "o" else color)  # fmt: skip
    axes.axvline(1, color=DARK, linewidth=1)
    axes.set_xscale("log")
    axes.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(cases)), [
        f"{case['size']}, {case['vocab_size']:,} words, {case['precision']}" for case in cases
    ])  # fmt: skip
    axes.invert_yaxis()
    axes.grid(axis="both", color="#eeeeee")
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture
