"""Section 1: a pretraining step of every level and every peer, in turns.

Contestants of a case get the same weights and the same masked batch. Those alive at once are as
many as fit into the memory; the reference (`transformers`, at d2l's setting d2l's code) is in every
group, so that every ratio is of two that took turns. Fresh memory takes its turns with them: what
it costs at the time decides how fast those are that do not keep theirs.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_sections.children import WARM_UP, Contestant, measure_group
from bench_sections.fresh_memory import MEGABYTES
from bench_sections.machine import free_memory
from bench_sections.models import Work, d2l_config, sized, write_work
from bench_sections.saved import Saved
from bert_run.flops import floating_point_operations
from bert_run.parameters import count_parameters, parameter_shapes
from bert_run.progress import progress_bar
from bert_run.settings import MaskingRecipe

SECTION = "training"
SETTLED, COMPILED = "{}, settled", "{}, settled, compiled"
LARGE_PAGES = {"THP_MEM_ALLOC_ENABLE": "1"}
FRESH_MEMORY = Contestant("fresh memory", "fresh memory")
PRODUCTS = {"fp32": "highest", "medium": "medium", "bf16": "bf16"}


@dataclass(frozen=True)
class Case:
    """A model, a batch and a precision. `settled` are the kinds measured with this course's
    settings of memory and, in float32, "medium" products too; `compiled`, compiled besides."""

    size: str  # of the presets of `BertConfig`, or "d2l"
    vocab_size: int
    precision: str
    batch_size: int
    seq_length: int
    rounds: int
    settled: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.size}-{self.vocab_size}-{self.precision}"

    @property
    def work(self) -> Work:
        of_d2l = self.size == "d2l"
        config = d2l_config(self.vocab_size) if of_d2l else sized(self.size, self.vocab_size)
        return Work(config, self.batch_size, self.seq_length)

    @property
    def reference(self) -> str:
        return "d2l" if self.size == "d2l" else "transformers"

    @property
    def contestants(self) -> list[Contestant]:
        """The reference first; last who needs most memory."""
        ours = ["level 1"] * (self.precision == "fp32") + ["level 2", "level 3"]
        kinds = [self.reference, *ours, "nn.TransformerEncoder"]
        as_it_comes = [Contestant(kind, kind, self.options(kind)) for kind in kinds]
        tuned = [
            Contestant(name.format(kind), kind,
                       self.options(kind, settled=True, compiled=name == COMPILED),
                       settled=True, environment=LARGE_PAGES)
            for name, chosen in ((SETTLED, self.settled), (COMPILED, self.compiled))
            for kind in chosen
        ]  # fmt: skip
        if self.reference == "transformers":
            return as_it_comes + tuned
        theirs = Contestant("transformers", "transformers", self.options("transformers"))
        return [*as_it_comes, *tuned, theirs]

    def options(self, kind: str, *, settled: bool = False, compiled: bool = False) -> dict:
        if kind == "level 1":
            return {}
        medium = settled and self.precision == "fp32"
        return {"precision": self.precision, "medium": medium, "compiled": compiled}


def cases(*, quick: bool, rounds: int) -> list[Case]:
    if quick:
        return [Case("tiny", 1_000, "fp32", 2, 32, 2, settled=("level 3",)),
                Case("d2l", 1_000, "bf16", 2, 32, 2)]  # fmt: skip
    theirs, ours = ("transformers",), ("level 3",)
    few = max(2, rounds // 2)
    return [
        Case("tiny", 8_192, "fp32", 32, 128, rounds),
        Case("tiny", 8_192, "bf16", 32, 128, rounds),
        Case("tiny", 30_522, "fp32", 32, 128, rounds, settled=ours, compiled=ours),
        Case("tiny", 30_522, "bf16", 32, 128, rounds, settled=theirs, compiled=theirs + ours),
        Case("mini", 8_192, "fp32", 32, 128, rounds, settled=ours),
        Case("mini", 8_192, "bf16", 32, 128, rounds, compiled=ours),
        Case("mini", 30_522, "fp32", 32, 128, few),
        Case("mini", 30_522, "bf16", 32, 128, few),
        Case("d2l", 20_256, "fp32", 512, 64, few, settled=ours),
        Case("d2l", 20_256, "bf16", 512, 64, few, compiled=ours),
        Case("base", 8_192, "fp32", 8, 128, few),
        Case("base", 8_192, "bf16", 8, 128, few),
        Case("base", 30_522, "fp32", 8, 128, few, settled=ours),
        Case("base", 30_522, "bf16", 8, 128, few, settled=theirs, compiled=ours),
    ]


def operations(work: Work) -> float:
    """Floating point operations of a token that the model needs, the word head on the masked
    positions alone; what somebody computes beyond that does not count."""
    asked = MaskingRecipe().max_predictions(work.seq_length) / work.seq_length
    parts = floating_point_operations(work.config, seq_length=work.seq_length, asked=asked)
    return sum(parts.values())


def bytes_needed(work: Work, *, every_token: bool) -> int:
    """Roughly, of one contestant: weights, gradients, moments, a copy; activations; the logits with
    their gradients, of every token or of the masked ones; the libraries."""
    config, tokens = work.config, work.tokens
    at_rest = 5 * 4 * count_parameters(parameter_shapes(config))
    scores = 4 * config.num_attention_heads * work.seq_length
    wide = 16 * config.hidden_size + 3 * config.intermediate_size
    in_layers = tokens * config.num_hidden_layers * 4 * (wide + scores)
    asked = tokens if every_token else tokens * MaskingRecipe().masked_lm_prob
    return int(at_rest + in_layers + 4 * 4 * asked * config.vocab_size + 600 * 2**20)


def groups(contestants: list[Contestant], work: Work, memory: float) -> Iterator[list[Contestant]]:
    """Those that fit into the memory together, in their order. The first is in every group."""
    need = [bytes_needed(work, every_token=one.kind == "transformers") for one in contestants]
    reference, group, used = contestants[0], [contestants[0]], need[0]
    for one, bytes_of_one in zip(contestants[1:], need[1:], strict=True):
        if len(group) > 1 and used + bytes_of_one > memory:
            yield group
            group, used = [reference], need[0]
        group, used = [*group, one], used + bytes_of_one
    yield group


def groups_of(case: Case) -> list[list[Contestant]]:
    """As the memory is now."""
    return list(groups(case.contestants, case.work, 0.7 * free_memory()))


def measure_case(case: Case, tick: Callable[[str], object]) -> dict:
    work, found, fresh = case.work, [], []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        write_work(Path(name), work)
        for group in groups_of(case):
            results = measure_group(
                [*group, FRESH_MEMORY], Path(name), rounds=case.rounds, tick=tick
            )
            touched = results.pop(FRESH_MEMORY.name)
            fresh += [MEGABYTES * 10**6 / taken for taken in touched["seconds"]]
            found.append(results)
    return {
        "size": case.size, "vocab_size": case.vocab_size, "precision": case.precision,
        "batch_size": case.batch_size, "seq_length": case.seq_length, "tokens": work.tokens,
        "operations": operations(work), "reference": case.reference,
        "groups": found, "fresh_memory": fresh,
    }  # fmt: skip


def measure_products(*, quick: bool, rounds: int) -> dict:
    """Operations a second of large matrix products, of each kind in turns."""
    size = 256 if quick else 2048
    contestants = [Contestant(name, "products", {"precision": kind, "size": size})
                   for name, kind in PRODUCTS.items()]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = measure_group(contestants, Path(folder), rounds=rounds)
    rates = {name: [10 * 2 * size**3 / taken for taken in one["seconds"]]
             for name, one in found.items()}  # fmt: skip
    return {"size": size, "rates": rates, "failures": {n: o["failure"] for n, o in found.items()}}


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    saved.measured(SECTION, "products", lambda: measure_products(quick=saved.quick, rounds=rounds))
    todo = cases(quick=saved.quick, rounds=rounds)
    turns = {case.name: sum(len(group) + 1 for group in groups_of(case)) * (case.rounds + WARM_UP)
             for case in todo}  # fmt: skip
    done = [case for case in todo if saved.get(SECTION, case.name)]
    with progress_bar(sum(turns.values()), "training step", unit="turn",
                      initial=sum(turns[case.name] for case in done)) as bar:  # fmt: skip
        for case in todo:
            if case in done:
                continue

            def tick(name: str, case: Case = case) -> None:
                bar.set_postfix_str(f"{case.name}, {name}", refresh=False)
                bar.update()

            saved.put(SECTION, case.name, measure_case(case, tick))
