"""The page's sections 2, 3, 5, 6 and that of the GPU."""

import statistics

from bench_report.numbers import Figures, in_bytes, ratios, with_quartiles


def encoding_section(figures: dict[str, Figures]) -> list[str]:
    (found,) = figures.values()
    contestants, reference = found["contestants"], "transformers, padded"
    lines = [
        f"{found['texts']} texts of 8 to 128 tokens, all lengths equally likely, "
        f"{found['tokens']:,} tokens in all, in random order; a model of MiniLM's sizes (6 layers, "
        "hidden size 384) with random weights, float32 unless stated otherwise, 32 texts at a "
        "time. The time is measured from strings to NumPy arrays. “Padded”: each batch is padded "
        "to its longest text; “sorted”: the texts are first sorted by their length in characters. "
        "`bert-encode` sorts by itself and returns the vectors in the original order. In bf16, "
        "`transformers` rounds the weights when it loads them; `bert-encode --precision bf16` "
        "rounds within products.",
        "",
        "| | sentences/s | relative to `transformers`, padded |",
        "|---|---|---|",
    ]
    for name, one in contestants.items():
        if one["failure"]:
            lines.append(f"| {name} | failed: {one['failure']} | |")
            continue
        speeds = [found["texts"] / seconds for seconds in one["seconds"]]
        times = [] if name == reference else ratios([contestants], name, reference)
        lines.append(f"| {name} | {with_quartiles(speeds, '.1f')} | "
                     f"{with_quartiles(times, '.2f') if times else '1'} |")  # fmt: skip
    return lines


def data_section(figures: dict[str, Figures]) -> list[str]:
    lines = []
    store = figures.get("store")
    if store:
        low, high = store["spread"]
        lines += [
            f"A token store of {store['megabytes']:.0f} MB of StoryWorld, {store['tokens']:,} "
            f"tokens, {store['rounds']} rounds in turn with only the `encode_batch` of "
            "`tokenizers` on the same sentences, which are already in memory.",
            "",
            "| | MB/s | relative to encoding alone |",
            "|---|---|---|",
            f"| `tokenizers`, `encode_batch` alone | {store['bare']:.2f} | 100% |",
            f"| `build_store`, from the file to the finished store | {store['store']:.2f} | "
            f"{store['ratio']:.0%} ({low:.0%}–{high:.0%}) |",
            "",
        ]
        if kill := store.get("kill"):
            lines += [
                f"In a separate process: {kill['alone']:.1f} s, at most {in_bytes(kill['peak'])} "
                "resident. After a kill (SIGKILL) in the middle, the same command takes "
                f"{kill['again']:.1f} s more, so the kill costs {kill['lost']:.1f} s; both stores "
                "are identical, byte for byte.",
                "",
            ]
    pairs = figures.get("pairs")
    if pairs:
        batch, making = pairs["batch_size"], statistics.median(pairs["making"])
        lines += [
            f"Making the pairs of a step, {batch} of length {pairs['seq_length']}: "
            f"{making * 1e3:.1f} ms on one core, {batch / making:,.0f} pairs/s. (In training, a "
            "thread makes them while the previous step computes.)",
            "",
            "| step of `tiny`, 8,192 words | ms | making the pairs, as a percentage |",
            "|---|---|---|",
        ]
        for name, steps in pairs["stepping"].items():
            shares = [100 * a / b for a, b in zip(pairs["making"], steps, strict=True)]
            lines.append(f"| {name} | {statistics.median(steps) * 1e3:.0f} | "
                         f"{with_quartiles(shares, '.1f')} % |")  # fmt: skip
    return lines


def grading_section(figures: dict[str, Figures]) -> list[str]:
    lines = ["The submissions are copies of the solutions, so every check runs.", "",
             "| | time | per submission | |", "|---|---|---|---|"]  # fmt: skip
    if "full set" in figures:
        whole = figures["full set"]
        lines.append(f"| `pytest exercises/ --solutions` | {clock(whole['seconds'])} | | "
                     f"{whole['said']} |")  # fmt: skip
    of_many = sorted((one for name, one in figures.items() if "students" in one),
                     key=lambda one: one["students"])  # fmt: skip
    for one in of_many:
        each = one["seconds"] / one["students"]
        lines.append(f"| `bert-grade` on {one['students']} submissions of {one['files']} exercises "
                     f"| {clock(one['seconds'])} | {each:.1f} s | {one['said']} |")  # fmt: skip
    if of_many and of_many[-1]["students"] < 100:
        few = of_many[-1]
        whole = few["seconds"] * 100 / few["students"]
        lines.append(f"| `bert-grade` on 100 submissions, **extrapolated** from {few['students']}, "
                     f"not measured (`--full` measures it) | {clock(whole)} | | |")  # fmt: skip
    return lines


def clock(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def demo_section(figures: dict[str, Figures]) -> list[str]:
    lines = []
    for name, call in (("demo", "make demo"), ("tests", "make test")):
        if name in figures:
            lines.append(f"- `{call}` (everything installed): {clock(figures[name]['seconds'])}")
        elif name == "demo" and "quoted" in figures:
            minutes = figures["quoted"]["minutes"]
            lines.append(f"- `{call}`: not measured in this run; [demo.md](demo.md) says "
                         f"{minutes:g} minutes")  # fmt: skip
        else:
            lines.append(f"- `{call}`: not measured in this run (`--full` measures it)")
    return lines


def gpu_section(figures: dict[str, Figures]) -> list[str]:
    return [f"Measured: [{one['page'].rpartition('/')[2]}]({one['page'].rpartition('/')[2]})."
            for one in figures.values()]  # fmt: skip
