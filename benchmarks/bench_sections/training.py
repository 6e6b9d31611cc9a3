"""Section 1: a pretraining step of every level and every peer, in turns."""

import tempfile
from pathlib import Path

from bench_sections.children import Contestant, measure_group
from bench_sections.saved import Saved
from bench_sections.steps import Case, measure_cases, options, work_of

SECTION = "training"
SETTLED, COMPILED = "{}, settled", "{}, settled, compiled"
LARGE_PAGES = {"THP_MEM_ALLOC_ENABLE": "1"}
PRODUCTS = {"fp32": "highest", "medium": "medium", "bf16": "bf16"}
THEIRS, OURS = ("transformers",), ("level 3",)

# Size, words, precision, batch, length; which kinds are measured "settled", with this course's
# settings of memory and in float32 "medium" products too, and which are also compiled.
CASES = (
    ("tiny", 8_192, "fp32", 32, 128, (), ()),
    ("tiny", 8_192, "bf16", 32, 128, (), ()),
    ("tiny", 30_522, "fp32", 32, 128, OURS, OURS),
    ("tiny", 30_522, "bf16", 32, 128, THEIRS, THEIRS + OURS),
    ("mini", 8_192, "fp32", 32, 128, OURS, ()),
    ("mini", 8_192, "bf16", 32, 128, (), OURS),
    ("mini", 30_522, "fp32", 32, 128, (), ()),
    ("mini", 30_522, "bf16", 32, 128, (), ()),
    ("d2l", 20_256, "fp32", 512, 64, OURS, ()),
    ("d2l", 20_256, "bf16", 512, 64, (), OURS),
    ("base", 8_192, "fp32", 8, 128, (), ()),
    ("base", 8_192, "bf16", 8, 128, (), ()),
    ("base", 30_522, "fp32", 8, 128, OURS, ()),
    ("base", 30_522, "bf16", 8, 128, THEIRS, OURS),
)
QUICK = (
    ("tiny", 1_000, "fp32", 2, 32, OURS, ()),
    ("d2l", 1_000, "bf16", 2, 32, (), ()),
)
MANY_ROUNDS = {("tiny", 8_192), ("tiny", 30_522), ("mini", 8_192)}  # the others: half as many


def contestants(
    size: str, precision: str, settled: tuple[str, ...], compiled: tuple[str, ...]
) -> tuple[Contestant, ...]:
    """The reference first; last who needs most memory."""
    reference = "d2l" if size == "d2l" else "transformers"
    ours = ["level 1"] * (precision == "fp32") + ["level 2", "level 3"]
    as_it_comes = [Contestant(kind, kind, options(kind, precision))
                   for kind in (reference, *ours, "nn.TransformerEncoder")]  # fmt: skip
    tuned = [
        Contestant(name.format(kind), kind,
                   options(kind, precision, medium=precision == "fp32", compiled=name == COMPILED),
                   settled=True, environment=LARGE_PAGES)
        for name, chosen in ((SETTLED, settled), (COMPILED, compiled))
        for kind in chosen
    ]  # fmt: skip
    theirs = Contestant("transformers", "transformers", options("transformers", precision))
    return (*as_it_comes, *tuned, *([theirs] if reference == "d2l" else []))


def cases(*, quick: bool, rounds: int) -> list[Case]:
    few = max(2, rounds // 2)
    return [
        Case(f"{size}-{words}-{precision}", size, work_of(size, words, *batch), precision,
             contestants(size, precision, settled, compiled),
             rounds if (size, words) in MANY_ROUNDS else few)
        for size, words, precision, *batch, settled, compiled in (QUICK if quick else CASES)
    ]  # fmt: skip


def measure_products(*, quick: bool, rounds: int) -> dict:
    """Operations a second of large matrix products, of each kind in turns."""
    size = 256 if quick else 2048
    kinds = [Contestant(name, "products", {"precision": kind, "size": size})
             for name, kind in PRODUCTS.items()]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = measure_group(kinds, Path(folder), rounds=rounds)
    rates = {name: [10 * 2 * size**3 / taken for taken in one["seconds"]]
             for name, one in found.items()}  # fmt: skip
    return {"size": size, "rates": rates, "failures": {n: o["failure"] for n, o in found.items()}}


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    saved.measured(SECTION, "products", lambda: measure_products(quick=saved.quick, rounds=rounds))
    measure_cases(saved, SECTION, cases(quick=saved.quick, rounds=rounds))
