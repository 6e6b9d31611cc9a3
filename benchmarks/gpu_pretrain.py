"""Pretraining on a GPU: tokens a second, share of its peak, memory, beside `transformers`.

    python benchmarks/gpu_pretrain.py [--large] [--out results/gpu_pretrain.md]

Where there is no GPU, the same code runs on the CPU, to be tried:

    python benchmarks/gpu_pretrain.py --device cpu --size tiny --batch-size 4 --seq-length 32 \
        --rounds 2

Measured is level 3's own training step: masking on the device, the gathered head, clipping, fused
AdamW, a new rate and new dropout in each step, nothing read back. `transformers` gets the same
weights, masks, precision, clipping and AdamW, and SDPA; it computes the logits of every token, as
it comes. The two take turns, some steps each, and the GPU is waited for before the clock is read.
"""

import argparse
import gc
import itertools
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import numpy as np
import torch
import torch.nn.functional as F
import transformers
from bench_report.numbers import quartiles
from bench_sections.models import Work, make_pairs
from bench_sections.peers import inputs_of_transformers
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.benchmark import Timer

from bert_corpus.pairs import PairDataset
from bert_corpus.pretraining_run import prepare
from bert_experiments.cost import known_gpu, layer_bytes, logit_bytes, training_flops
from bert_experiments.report.page import check_report
from bert_paper.masking import MaskingVocabulary, mask_tokens
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import make_optimizer
from bert_paper.training import prefetch, training_step
from bert_run.config import (
    PRESETS,
    AdamSettings,
    BertConfig,
    RunSettings,
    Weights,
    count_parameters,
    initial_weights,
    parameter_shapes,
)
from bert_run.device import choose_device, mixed_precision, to_device
from bert_run.errors import UserError, command
from bert_run.files import write_atomically
from bert_run.training_loop import learning_rate, progress_bar

COMMAND = "python benchmarks/gpu_pretrain.py --out results/gpu_pretrain.md"
ON_CPU = "--device cpu --size tiny --batch-size 4 --seq-length 32 --rounds 2"
VOCABULARY, PADDED = 30_522, 30_592  # the next multiple of 64
MASK_ID, FIRST_WORD = 103, 999  # of the released vocabulary
WARM_UP = 3
ADAM = AdamSettings()
PRODUCTS = {"bf16": torch.bfloat16, "tf32": torch.float32}
NOT_MEASURED = "This has not been measured on a GPU yet."

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    size: str
    seq_length: int
    batch_size: int
    products: str = "bf16"
    compiled: bool = True
    vocab_size: int = VOCABULARY

    @property
    def config(self) -> BertConfig:
        return PRESETS[self.size].with_changes(vocab_size=self.vocab_size)

    @property
    def words(self) -> int:
        """Entries that stand for something: what pads the vocabulary never occurs."""
        return min(self.vocab_size, VOCABULARY)

    @property
    def tokens(self) -> int:
        return self.batch_size * self.seq_length


VARIANTS: dict[str, dict[str, Any]] = {
    "best": {}, "padded": {"vocab_size": PADDED}, "eager": {"compiled": False},
    "tf32": {"products": "tf32"},
}  # fmt: skip


def cases_of(
    size: str, seq_length: int, batch_size: int, *, compiling: bool,
    variants: Sequence[str] = tuple(VARIANTS),
) -> list[Case]:  # fmt: skip
    best = asdict(Case(size, seq_length, batch_size, compiled=compiling))
    return list(dict.fromkeys(Case(**{**best, **VARIANTS[name]}) for name in variants))


def default_batch_size(config: BertConfig, seq_length: int, memory: float) -> int:
    """The paper's 256, or half of it, … so that both models find room in three quarters of the
    memory, `transformers` with the logits of every token."""
    a_token = config.num_hidden_layers * layer_bytes(config) + logit_bytes(config)
    at_rest = 2 * 16 * count_parameters(parameter_shapes(config))
    batch_size = 256
    while batch_size > 1 and batch_size * seq_length * a_token + at_rest > 0.75 * memory:
        batch_size //= 2
    return batch_size


def synthetic_pairs(case: Case, device: torch.device) -> Batch:
    """Random words in pairs, on the device."""
    config = case.config.with_changes(vocab_size=case.words)
    return to_device(make_pairs(Work(config, case.batch_size, case.seq_length)), device)


@lru_cache(maxsize=1)
def weights_of(config: BertConfig) -> Weights:
    return initial_weights(config, 0)


class Contestant:
    """A model in training: `step` does one whole step on pairs that are on the device."""

    def __init__(self, case: Case, device: torch.device) -> None:
        self.case, self.device = case, device
        at_rest = memory_in_use(device)
        self.model = self.make_model(case.config)
        load_arrays(self.model, weights_of(case.config))
        self.model.to(device).train()
        self.optimizer = make_optimizer(self.model, ADAM, name="adamw")
        if case.compiled:
            self.compile()
        ordinary = torch.arange(FIRST_WORD, case.words, device=device)
        self.vocabulary = MaskingVocabulary(MASK_ID, ordinary)
        self.numbers = itertools.count()
        pairs = synthetic_pairs(case, device)
        for _ in range(WARM_UP):
            self.step(pairs)
        self.own_memory = memory_in_use(device) - at_rest

    def step(self, pairs: Batch) -> None:
        number = next(self.numbers)
        torch.manual_seed(number)
        rate = learning_rate(number, peak=1e-4, warmup_steps=10_000, total_steps=1_000_000)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        index = pairs["example_index"] + number * self.case.batch_size
        self.learn(mask_tokens({**pairs, "example_index": index}, self.vocabulary, seed=0))


class Level3(Contestant):
    def make_model(self, config: BertConfig) -> nn.Module:
        return BertForPreTraining(config)

    def compile(self) -> None:
        self.model.loss = torch.compile(self.model.loss, dynamic=False)

    def learn(self, batch: Batch) -> None:
        training_step(self.model, self.optimizer, batch, max_grad_norm=ADAM.max_grad_norm,
                      precision=PRODUCTS[self.case.products])  # fmt: skip


class Transformers(Contestant):
    def make_model(self, config: BertConfig) -> nn.Module:
        theirs = transformers.BertConfig(**asdict(config), attn_implementation="sdpa")
        return transformers.BertForPreTraining(theirs)

    def compile(self) -> None:
        self.model.compile(dynamic=False)

    def learn(self, batch: Batch) -> None:
        with mixed_precision(self.device, PRODUCTS[self.case.products]):
            output = self.model(**inputs_of_transformers(batch))
        output.loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), ADAM.max_grad_norm, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad()


CONTESTANTS = {"level 3": Level3, "transformers": Transformers}


# Measuring.


def wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def memory_in_use(device: torch.device) -> int:
    wait_for(device)
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0


def seconds(work: Callable[[], None], device: torch.device) -> float:
    wait_for(device)
    begin = time.perf_counter()
    work()
    wait_for(device)
    return time.perf_counter() - begin


@contextmanager
def products_of(name: str) -> Iterator[None]:
    """float32 numbers multiplied in TF32, where the device has it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if name == "tf32" else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@dataclass
class Result:
    """Seconds of a step in each round, and bytes at the peak; or why there are none."""

    times: list[float] = field(default_factory=list)
    peak_memory: int = 0
    failure: str | None = None


def reason(error: Exception) -> str:
    return "out of memory" if isinstance(error, torch.OutOfMemoryError) else (
        f"failed: {type(error).__name__}")  # fmt: skip


def run(case: Case, device: torch.device, *, rounds: int, steps: int) -> dict[str, Result]:
    """All contestants in turns. One that fails, for lack of memory say, drops out."""
    torch.compiler.reset()  # or the compiler gives up on a class that it has met too often
    results, running = {name: Result() for name in CONTESTANTS}, {}
    pairs = synthetic_pairs(case, device)

    def turn(name: str, contestant: Contestant) -> None:
        others = memory_in_use(device) - contestant.own_memory
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        work = lambda: [contestant.step(pairs) for _ in range(steps)]  # noqa: E731
        results[name].times.append(seconds(work, device) / steps)
        if device.type == "cuda":
            peak = torch.cuda.max_memory_allocated(device) - others
            results[name].peak_memory = max(results[name].peak_memory, peak)

    title = f"{case.size} {case.seq_length} {case.products}{' compiled' * case.compiled}"
    with products_of(case.products), progress_bar(rounds, title, unit="round") as bar:
        for name, make in CONTESTANTS.items():
            try:
                running[name] = make(case, device)
            except Exception as error:
                results[name] = Result(failure=reason(error))
                free(device)
        for _ in range(rounds):
            for name in list(running):
                try:
                    turn(name, running[name])
                except Exception as error:
                    results[name] = Result(failure=reason(error))
                    del running[name]
                    free(device)
            bar.update()
    del running
    free(device)
    return results


def free(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def product_rate(products: str, device: torch.device, *, size: int = 8192) -> float:
    """Operations a second of one large matrix product: what the device gives at most, here, now."""
    size = size if device.type == "cuda" else 512
    a, b = (torch.randn(size, size, device=device, dtype=PRODUCTS[products]) for _ in range(2))
    with products_of(products):
        timer = Timer("a @ b", globals={"a": a, "b": b}, num_threads=torch.get_num_threads())
        return 2 * size**3 / timer.blocked_autorange().median


# Where the time goes.


KERNELS = (SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION,
           SDPBackend.MATH)  # fmt: skip


def attention_rows(case: Case, device: torch.device) -> list[str]:
    """Attention alone, forward and backward, by each kernel that torch could choose."""
    shape = (case.batch_size, case.config.num_attention_heads, case.seq_length,
             case.config.head_dim)  # fmt: skip
    dtype = PRODUCTS[case.products]
    vectors = [torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in "qkv"]
    padding = synthetic_pairs(case, device)["attention_mask"].bool()[:, None, None, :]
    chosen = SDPBackend(torch._fused_sdp_choice(*vectors, padding, 0.1))
    rows = []
    for kernel, is_masked, dropout in itertools.product(KERNELS, (True, False), (0.1, 0.0)):
        name = kernel.name.lower().removesuffix("_attention")
        if kernel == chosen and is_masked and dropout:
            name += " (the one that a step gets)"
        taken = attention_seconds(kernel, vectors, padding if is_masked else None, dropout)
        rows.append(f"| {name} | {'yes' if is_masked else 'no'} | {dropout} | "
                    f"{'–' if taken is None else f'{taken * 1e3:.3f}'} |")  # fmt: skip
    free(device)
    return rows


def attention_seconds(
    kernel: SDPBackend, vectors: list[Tensor], mask: Tensor | None, dropout: float
) -> float | None:
    """None: this kernel does not do it here."""
    timer = Timer("F.scaled_dot_product_attention(*vectors, mask, dropout).sum().backward()",
                  globals={"F": F, "vectors": vectors, "mask": mask, "dropout": dropout},
                  num_threads=torch.get_num_threads())  # fmt: skip
    try:
        with warnings.catch_warnings(), sdpa_kernel(kernel):
            warnings.simplefilter("ignore")
            return timer.blocked_autorange().median
    except RuntimeError:  # out of memory is one too
        return None


def kernel_rows(case: Case, device: torch.device) -> list[str]:
    """Where the device spends three steps of level 3, kernel by kernel."""
    torch.compiler.reset()
    contestant, pairs = Level3(case, device), synthetic_pairs(case, device)
    activity = torch.profiler.ProfilerActivity
    on_gpu = device.type == "cuda"
    with torch.profiler.profile(activities=[activity.CUDA if on_gpu else activity.CPU]) as found:
        for _ in range(3):
            contestant.step(pairs)
        wait_for(device)
    del contestant
    free(device)
    time_of = attrgetter("self_device_time_total" if on_gpu else "self_cpu_time_total")
    kernels = sorted(found.key_averages(), key=time_of, reverse=True)
    total = sum(map(time_of, kernels))
    return [
        f"| `{kernel.key[:70]}` | {kernel.count} | {time_of(kernel) / 1e3:.1f} | "
        f"{time_of(kernel) / total:.1%} |"
        for kernel in kernels[:20]
    ]


# Data.


def pipeline_seconds(
    case: Case, device: torch.device, *, rounds: int, steps: int
) -> dict[str, list[float]]:
    """A step on pairs of StoryWorld: the processor makes them between the steps, or ahead."""
    torch.compiler.reset()
    with tempfile.TemporaryDirectory() as folder:
        settings = RunSettings(documents=1000, seq_length=case.seq_length, vocab_size=8192)
        dataset = prepare(settings, Path(folder)).train
        contestant = Level3(case, device)
        on_device = synthetic_pairs(case, device)
        times: dict[str, list[float]] = {"pairs alone": [], "synthetic": [], "between": [],
                                         "ahead": []}  # fmt: skip
        for number in range(rounds):
            asked = range(number * steps, (number + 1) * steps)
            work = {
                "pairs alone": lambda asked=asked: [pairs_of(dataset, case, n) for n in asked],
                "synthetic": lambda: [contestant.step(on_device) for _ in range(steps)],
                "between": lambda asked=asked: train_on(contestant, dataset, asked, ahead=False),
                "ahead": lambda asked=asked: train_on(contestant, dataset, asked, ahead=True),
            }
            for name, one in work.items():
                times[name].append(seconds(one, device) / steps)
    return times


def pipeline_rows(case: Case, device: torch.device, *, rounds: int, steps: int) -> list[str]:
    times = pipeline_seconds(case, device, rounds=rounds, steps=steps)
    free(device)
    middle = {name: statistics.median(taken) for name, taken in times.items()}
    said = {
        "pairs alone, one thread, no training": "pairs alone",
        "training on one batch that lies on the device": "synthetic",
        "training, pairs made between the steps": "between",
        "training, pairs made ahead in a thread": "ahead",
    }
    return [f"| {text} | {middle[name] * 1e3:.2f} | {case.batch_size / middle[name]:,.0f} |"
            for text, name in said.items()]  # fmt: skip


def pairs_of(dataset: PairDataset, case: Case, step: int) -> dict[str, np.ndarray]:
    return dataset.batch(np.arange(step * case.batch_size, (step + 1) * case.batch_size))


def train_on(contestant: Contestant, dataset: PairDataset, asked: range, *, ahead: bool) -> None:
    def make(step: int) -> dict[str, np.ndarray]:
        return pairs_of(dataset, contestant.case, step)

    with prefetch(make, asked) if ahead else nullcontext(map(make, asked)) as made:
        for pairs in made:
            contestant.step(to_device(pairs, contestant.device))


# The page.


@dataclass(frozen=True)
class Peaks:
    """Operations a second by kind of product: as the maker states them, and as measured here."""

    stated: dict[str, float | None]
    measured: dict[str, float]

    def shares(self, case: Case, tokens_a_second: float) -> str:
        reached = tokens_a_second * training_flops(case.config, seq_length=case.seq_length)
        stated = self.stated[case.products]
        return (f"{f'{reached / stated:.1%}' if stated else '–'} | "
                f"{reached / self.measured[case.products]:.1%}")  # fmt: skip


def peaks_of(device: torch.device) -> Peaks:
    gpu = known_gpu(device_name(device))
    names = list(PRODUCTS) if has_bf16(device) else ["tf32"]
    return Peaks({name: gpu.peak(name) if gpu else None for name in names},
                 {name: product_rate(name, device) for name in names})  # fmt: skip


def has_bf16(device: torch.device) -> bool:
    return device.type == "cpu" or torch.cuda.is_bf16_supported(including_emulation=False)


def device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"


def with_quartiles(values: list[float], form: str) -> str:
    low, middle, high = (format(value, form) for value in quartiles(values))
    return f"**{middle}** ({low}–{high})"


def row(case: Case, results: dict[str, Result], peaks: Peaks) -> str:
    cells = [case.size, f"{case.batch_size} × {case.seq_length}", case.products,
             "yes" if case.compiled else "no", f"{case.vocab_size:,}"]  # fmt: skip
    for result in results.values():
        if result.failure:
            cells += [result.failure, "–", "–", "–"]
            continue
        speeds = [case.tokens / taken for taken in result.times]
        memory = f"{result.peak_memory / 1e9:.1f}" if result.peak_memory else "–"
        cells += [with_quartiles(speeds, ",.0f"), peaks.shares(case, statistics.median(speeds)),
                  memory]  # fmt: skip
    ours, theirs = (results[name] for name in CONTESTANTS)
    failed = ours.failure or theirs.failure
    ratios = [] if failed else [b / a for a, b in zip(ours.times, theirs.times, strict=True)]
    return f"| {' | '.join([*cells, with_quartiles(ratios, '.2f') if ratios else '–'])} |"


def page(rows: dict[str, list[str]], peaks: Peaks, device: torch.device, called: str) -> str:
    stated = ", ".join(f"{n} {p / 1e12:,.0f}" for n, p in peaks.stated.items() if p)
    measured = ", ".join(f"{n} {p / 1e12:,.3g}" for n, p in peaks.measured.items())
    unknown = "not in the table of `bert_experiments/cost.py`, so only shares of the measured rate"
    sides = "tokens/s (quartiles) | of the peak | of a large product | GB at the peak"
    return "\n".join([
        "# Pretraining on a GPU",
        "",
        f"Made by `{called}` on {device_name(device)}; Python {platform.python_version()}, torch "
        f"{torch.__version__}, CUDA {torch.version.cuda}, transformers {transformers.__version__}.",
        "",
        f"Peak, dense, TFLOP/s: {stated or unknown}. A large matrix product here: {measured}.",
        "",
        "The ratio is the time of `transformers` by that of level 3. The operations of a token are "
        "those that the model needs, the same for both: what `transformers` computes beyond that "
        "does not count. Memory is what each needs alone.",
        "",
        f"| model | batch | products | compiled | vocabulary | level 3: {sides} | transformers: "
        f"{sides} | ratio |",
        "|---" * 14 + "|",
        *rows["speed"],
        "",
        "**From text**, level 3 as in the first row above, on pairs of StoryWorld:",
        "",
        "| a step | ms | pairs/s |",
        "|---|---|---|",
        *rows["pipeline"],
        "",
        "**Attention alone**, forward and backward, one layer of the same shape; a dash where a "
        "kernel does not do it:",
        "",
        "| kernel | padding mask | dropout | ms |",
        "|---|---|---|---|",
        *rows["attention"],
        "",
        "**Kernels of three steps**, level 3 as in the first row, the twenty that take longest:",
        "",
        "| kernel | calls | ms | share |",
        "|---|---|---|---|",
        *rows["kernels"],
        "",
    ])  # fmt: skip


def unmeasured_page() -> str:
    return f"""# Pretraining on a GPU

```
{COMMAND}
```

{NOT_MEASURED} On a machine with one, the command
replaces this page with tables for BERT base (with `--large`, also for large): tokens per second,
percentage of the device's peak, and memory, at lengths 128 and 512, in bf16 and TF32,
compiled and not, with `transformers` measured in the same run. The vocabulary is padded to a
multiple of 64. Further tables give the cost of making the pairs, the attention kernel in use, and
where the time of a step goes.

The target is at least half of the peak: on one H100 or H200 (989 TFLOP/s, dense bf16) this
corresponds to 907,000 tokens per second at length 128 and 841,000 at 512 by calculation
(`bert_experiments/cost.py`).

To try the same code on the CPU:

```
python benchmarks/gpu_pretrain.py {ON_CPU}
```
"""


def without_a_gpu(out: Path | None) -> None:
    """Say so; and in the page too, unless a measured one stands there."""
    print(f"not measured: torch sees no GPU here; to try the same code on the CPU: {ON_CPU}")
    if out is None:
        return
    if out.exists() and NOT_MEASURED not in out.read_text(encoding="utf-8"):
        print(f"{out} holds a measurement and stays as it is")
    else:
        write_atomically(out, unmeasured_page())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="cuda, cuda:N or cpu; a GPU, if there is one")
    parser.add_argument("--size", choices=list(PRESETS), default="base")
    parser.add_argument("--large", action="store_true", help="measure BERT large too")
    parser.add_argument("--batch-size", type=int, help="256, or what the memory holds")
    parser.add_argument("--seq-length", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--rounds", type=int, default=11, help="turns of each; medians count")
    parser.add_argument("--steps", type=int, help="in a turn; 5 on a GPU, 1 on a CPU")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS),
                        help="rows for each size and length; all, unless given")  # fmt: skip
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--out", type=Path, help="write the page here too")
    arguments = parser.parse_args()
    for name, least in (("batch_size", 1), ("rounds", 2), ("steps", 1)):
        value = getattr(arguments, name)
        if value is not None and value < least:
            raise UserError(f"--{name.replace('_', '-')} is {value}: it must be {least} or more")
    if not 8 <= min(arguments.seq_length) <= max(arguments.seq_length) <= 512:
        raise UserError(f"--seq-length is {arguments.seq_length}: each must lie in 8 … 512")
    check_report(arguments.out, "benchmarks/gpu_pretrain.py", with_picture=False,
                 with_figures=False, option="--out")  # fmt: skip
    return arguments


@command
def main() -> None:
    arguments = parse()
    if arguments.device is None and not torch.cuda.is_available():
        without_a_gpu(arguments.out)
        return
    device = choose_device(arguments.device or "cuda")
    on_gpu, peaks = device.type == "cuda", peaks_of(device)
    memory = torch.cuda.get_device_properties(device).total_memory if on_gpu else 8e9
    cases = [
        case
        for size in [arguments.size, *(["large"] if arguments.large else [])]
        for length in arguments.seq_length
        for case in cases_of(
            size, length,
            arguments.batch_size or default_batch_size(PRESETS[size], length, memory),
            compiling=not arguments.no_compile, variants=arguments.variants,
        )
        if case.products in peaks.measured
    ]  # fmt: skip
    turns = {"rounds": arguments.rounds, "steps": arguments.steps or (5 if on_gpu else 1)}
    rows = {
        "speed": [row(case, run(case, device, **turns), peaks) for case in cases],
        "pipeline": pipeline_rows(cases[0], device, **turns),
        "attention": attention_rows(cases[0], device),
        "kernels": kernel_rows(cases[0], device),
    }
    text = page(rows, peaks, device, " ".join(["python", "benchmarks/gpu_pretrain.py",
                                               *sys.argv[1:]]))  # fmt: skip
    print(text)
    if arguments.out is not None:
        write_atomically(arguments.out, text)


if __name__ == "__main__":
    main()
