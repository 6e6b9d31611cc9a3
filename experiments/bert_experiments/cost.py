"""`python -m bert_experiments.cost`: what the paper's recipe costs on so many GPUs.

First time, traffic and memory of one training step, by arithmetic. Operations come from the model,
bytes from what a step reads, writes and sends, rates from data sheets. Not counted is what waits:
the start of a kernel on the GPU, the first byte of a message. So the times are lower bounds.

Then tables of them, and beside them rates that others have published. `scaling.md` tells what
follows from them.
"""

import math
import re
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from bert_run.config import (
    PRESETS,
    BatchSize,
    BertConfig,
    Count,
    MaskingRecipe,
    Phase,
    Real,
    Size,
    Steps,
    check_numbers,
    count_parameters,
    parameter_shapes,
)
from bert_run.errors import UserError, command

Parallel = Literal["ddp", "fsdp"]

# The operations of a training token, and how many a GPU can do a second. The share of a device's
# peak that training reaches is the one by the other ("model FLOPs utilization", Chowdhery et al.
# 2022, arXiv 2204.02311, appendix B): only what the model needs counts, not what an implementation
# computes beyond that.

TERA = 1e12
Products = Literal["bf16", "tf32"]


def floating_point_operations(
    config: BertConfig, *, seq_length: int, asked: float
) -> dict[str, float]:
    """Of a training token, by part, in operations (a multiplication and an addition are two).

    The backward takes twice the forward, hence the three. `asked` is the fraction of the
    positions that go through the MLM head. Left out is what comes to less than a hundredth: the
    pooler, the NSP head, and everything that is no matrix product.
    """
    hidden, layers = config.hidden_size, config.num_hidden_layers
    return {
        "matrix products of the layers": 3 * 2 * layers
        * (4 * hidden**2 + 2 * hidden * config.intermediate_size),
        "attention": 3 * 4 * layers * seq_length * hidden,
        "MLM head": 3 * 2 * asked * (hidden**2 + hidden * config.vocab_size),
    }  # fmt: skip


def training_flops(config: BertConfig, *, seq_length: int) -> float:
    """Of a token of pretraining as in the paper, whose MLM head sees the masked positions only."""
    asked = MaskingRecipe().max_predictions(seq_length) / seq_length
    return sum(floating_point_operations(config, seq_length=seq_length, asked=asked).values())


@dataclass(frozen=True)
class Gpu:
    """Dense peaks in TFLOP/s, sums in float32, as its maker states them.

    A peak of None: the device has no such products.
    """

    name: str
    bf16: float | None
    tf32: float | None
    fp32: float

    def peak(self, products: Products) -> float | None:
        """Operations a second: of bfloat16, or of float32 numbers by the fastest way there is."""
        tera = self.bf16 if products == "bf16" else self.tf32 or self.fp32
        return None if tera is None else tera * TERA


# Data sheets of NVIDIA: nvidia.com/data-center of each; whitepapers of the architectures Ampere
# GA102 (2021, appendix A), Ada (2023, appendix A), Hopper (2022, table 2). Where a sheet states the
# rate with sparsity, half of it. A name comes before the shorter one that it contains.
GPUS = (
    Gpu("B200", bf16=2250, tf32=1125, fp32=75),
    Gpu("H200 NVL", bf16=836, tf32=418, fp32=60),
    Gpu("H200", bf16=989, tf32=495, fp32=67),
    Gpu("H100 PCIe", bf16=756, tf32=378, fp32=51),
    Gpu("H100 NVL", bf16=835, tf32=418, fp32=60),
    Gpu("H100", bf16=989, tf32=495, fp32=67),
    Gpu("A100", bf16=312, tf32=156, fp32=19.5),
    Gpu("L40S", bf16=362, tf32=183, fp32=91.6),
    Gpu("L4", bf16=121, tf32=60, fp32=30.3),
    Gpu("A40", bf16=150, tf32=75, fp32=37.4),
    Gpu("A10", bf16=125, tf32=62.5, fp32=31.2),
    Gpu("RTX 6000 Ada", bf16=364, tf32=182, fp32=91.1),
    Gpu("RTX A6000", bf16=155, tf32=77.4, fp32=38.7),
    Gpu("RTX 4090", bf16=165, tf32=82.6, fp32=82.6),
    Gpu("RTX 3090", bf16=71, tf32=35.6, fp32=35.6),
    Gpu("V100", bf16=None, tf32=None, fp32=15.7),  # 125 in float16, which this course does not use
    Gpu("T4", bf16=None, tf32=None, fp32=8.1),  # 65 in float16
)


def known_gpu(device_name: str) -> Gpu | None:
    """The GPU of the table that torch calls `device_name`, "NVIDIA A100-SXM4-80GB" say."""
    for gpu in GPUS:
        if re.search(rf"(?<![0-9A-Za-z]){gpu.name}(?![0-9A-Za-z])", device_name):
            return gpu
    return None


# A training step, its traffic and its memory.


GPUS_IN_A_NODE = 8
FLOAT, BF16 = 4, 2  # bytes
CLIPPING_AND_ADAM = 10 * FLOAT
"""Bytes of a parameter that both read and write. Clipping reads its gradient for the norm, then
reads and writes it; Adam reads gradient, weight and two moments, and writes the last three."""


@dataclass(frozen=True)
class Machine:
    """A GPU among seven of its like; operations and bytes a second, as its maker states them.

    `nvlink` is what a GPU sends while it receives as much, half of the number on the data sheet.
    `network` is what the eight network cards of a node send together: so much goes through every
    GPU of the rings that NCCL lays through all nodes, one ring for each card.
    """

    peak: float
    memory: float
    nvlink: float
    network: float

    def link(self, gpus: int) -> float:
        return self.nvlink if gpus <= GPUS_IN_A_NODE else min(self.nvlink, self.network)


# Data sheets of NVIDIA: A100 80GB SXM, H100 SXM, H200 SXM; DGX A100 with 8 cards of 200 Gbit/s,
# DGX H100 and DGX H200 with 8 of 400.
MACHINES = {
    "A100": Machine(known_gpu("A100").peak("bf16"), 2.04e12, nvlink=300e9, network=200e9),
    "H100": Machine(known_gpu("H100").peak("bf16"), 3.35e12, nvlink=450e9, network=400e9),
    "H200": Machine(known_gpu("H200").peak("bf16"), 4.8e12, nvlink=450e9, network=400e9),
}


@dataclass(frozen=True)
class Job:
    """A model, the machine it is trained on, and the operations a second that a GPU really does."""

    config: BertConfig
    machine: Machine
    flops: float

    @property
    def parameters(self) -> int:
        return count_parameters(parameter_shapes(self.config))


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step on one of the GPUs, by what they are spent on."""

    parts: dict[str, float]
    adam: float
    exchange: float

    @property
    def computing(self) -> float:
        return sum(self.parts.values())

    @property
    def whole(self) -> float:
        """Gradients are exchanged while the backward, two thirds of the computing, goes on."""
        return self.computing + self.adam + max(0.0, self.exchange - self.computing * 2 / 3)


def exchanged_bytes(parameters: int, gpus: int) -> float:
    """What each GPU sends in a step with DDP: a ring sums float32 gradients and hands the sums
    round (Patarasuk and Yuan 2009)."""
    return 2 * (gpus - 1) / gpus * FLOAT * parameters


def step_time(job: Job, phase: Phase, gpus: int) -> StepTime:
    """With DDP, of the GPU with the most examples."""
    tokens = rows_on_each(phase, gpus) * phase.seq_length
    asked = masks(phase.seq_length) / phase.seq_length
    parts = floating_point_operations(job.config, seq_length=phase.seq_length, asked=asked)
    return StepTime(
        parts={name: count * tokens / job.flops for name, count in parts.items()},
        adam=CLIPPING_AND_ADAM * job.parameters / job.machine.memory,
        exchange=exchanged_bytes(job.parameters, gpus) / job.machine.link(gpus),
    )


def rows_on_each(phase: Phase, gpus: int) -> int:
    return math.ceil(phase.batch_size / gpus)


def masks(seq_length: int) -> int:
    return MaskingRecipe().max_predictions(seq_length)


def layer_bytes(config: BertConfig) -> int:
    """What one layer keeps of a token for the backward; products in bfloat16, not compiled.

    26 bytes a hidden unit: the layer's input, cast once each for query, key and value; these three;
    the context; the input of the second half; two sums in float32, before the norms; two masks of
    dropout of one byte. 4 bytes an intermediate unit: bfloat16 before and after GELU.
    """
    return 26 * config.hidden_size + 4 * config.intermediate_size


def logit_bytes(config: BertConfig) -> int:
    """What one masked position holds at the peak: logits in bfloat16, their log-probabilities in
    float32, and the gradients of both."""
    return 2 * (BF16 + FLOAT) * config.vocab_size


def memory(job: Job, phase: Phase, gpus: int, parallel: Parallel) -> dict[str, float]:
    """Bytes on each GPU, by what they hold."""
    config, parameters = job.config, job.parameters
    held = parameters / gpus if parallel == "fsdp" else parameters
    in_layers = count_parameters(parameter_shapes(config), "bert.encoder.layer.")
    two_layers = 2 * in_layers / config.num_hidden_layers  # one computes, the next arrives
    gathered = parameters - in_layers + two_layers if parallel == "fsdp" else parameters
    rows = rows_on_each(phase, gpus)
    layers = config.num_hidden_layers * layer_bytes(config) * phase.seq_length
    return {
        "weights": FLOAT * held,
        "gradients": FLOAT * held,
        "Adam's two moments": 2 * FLOAT * held,
        "copies for the exchange": FLOAT * gathered if gpus > 1 else 0.0,
        "activations": rows * layers,
        "word logits": rows * masks(phase.seq_length) * logit_bytes(config),
    }


# The tables.


# Bytes a second between nodes, where there are fewer or slower cards than in NVIDIA's machines.
SLOWER_LINKS = {
    "one network card of 400 Gbit/s a node": 50e9,
    "Ethernet, 100 Gbit/s a node": 12.5e9,
    "Ethernet, 10 Gbit/s a node": 1.25e9,
}

# BERT-large, A100 80GB: number of GPUs; batch at length 128; sequences a second at most 128 and at
# most 512 long. NVIDIA, DeepLearningExamples, PaddlePaddle/LanguageModeling/BERT, container
# 22.12, "Training performance", mixed precision.
PUBLISHED = ((1, 8_192, 694, 264), (8, 65_536, 5_541, 2_109), (64, 65_536, 41_681, 15_760))

WORDS = 3.3e9  # BooksCorpus 800 million, Wikipedia 2,500 million (paper, section 3.1)
TOKENS_A_WORD = 1.3  # an estimate for English and 30,522 entries
TOKENS_A_SENTENCE = 25  # an estimate


@dataclass(frozen=True)
class CostSettings:
    """Time, traffic and memory of the paper's recipe on some GPUs, by arithmetic."""

    model: Size = "base"
    gpus: tuple[Count, ...] = (1, 8, 64)
    """how many; eight are in a node"""
    gpu: Literal["A100", "H100", "H200"] = "H100"
    share: Annotated[float, Real(above=0, at_most=1)] = 0.5
    """of the GPU's peak in bfloat16 that the computing reaches"""
    rate: Annotated[float, Real(above=0, at_most=1e12)] | None = None
    """tokens a second of one GPU at length 128, measured: gives the share in place of --share"""
    steps: Steps = 1_000_000
    batch_size: BatchSize = 256
    """of all GPUs together"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if not self.gpus:
            raise UserError("--gpus is empty: give one number or more")
        if self.batch_size < max(self.gpus):
            raise UserError(
                f"--batch-size {self.batch_size} is too small for {max(self.gpus)} GPUs: each "
                "needs an example of every step"
            )
        if self.steps < 10:
            raise UserError(f"--steps is {self.steps}: nine in ten are short, so take 10 or more")

    @property
    def phases(self) -> list[Phase]:
        """Nine steps in ten at length 128, the rest at 512."""
        from bert_paper.pretrain import PretrainSettings  # it brings torch

        return PretrainSettings(
            steps=self.steps, batch_size=self.batch_size, seq_length=512, short_seq_length=128
        ).phases

    @property
    def job(self) -> Job:
        config, machine = PRESETS[self.model], MACHINES[self.gpu]
        if self.rate is None:
            return Job(config, machine, self.share * machine.peak)
        return Job(config, machine, self.rate * training_flops(config, seq_length=128))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def duration(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def counted(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def steps_of(phase: Phase) -> int:
    return phase.last_step - phase.first_step


def recipe_table(settings: CostSettings) -> str:
    rows, slots, total = [], 0, 0.0
    for phase in settings.phases:
        tokens = steps_of(phase) * phase.batch_size * phase.seq_length
        each = training_flops(settings.job.config, seq_length=phase.seq_length)
        slots, total = slots + tokens, total + tokens * each
        rows.append([
            str(phase.seq_length), f"{steps_of(phase):,}", f"{tokens / 1e9:.1f} G",
            f"{each / 1e6:,.0f} M", f"{tokens * each / 1e18:.1f} · 10¹⁸",
        ])  # fmt: skip
    rows.append(["both", f"{settings.steps:,}", f"{slots / 1e9:.1f} G", "",
                 f"{total / 1e18:.1f} · 10¹⁸"])  # fmt: skip
    head = ["length", "steps", "token slots", "operations a token", "operations"]
    return table(head, rows)


def time_table(settings: CostSettings) -> str:
    """The whole recipe."""
    rows = []
    for gpus in settings.gpus:
        steps = [(steps_of(p), step_time(settings.job, p, gpus)) for p in settings.phases]
        computing = sum(count * step.computing for count, step in steps)
        whole = sum(count * step.whole for count, step in steps)
        rows.append([
            str(gpus), str(rows_on_each(settings.phases[0], gpus)), duration(computing),
            duration(whole), f"{computing / whole:.0%}",
        ])  # fmt: skip
    head = ["GPUs", "sequences on each", "computing alone", "with Adam and the exchange",
            "of the time, computing"]  # fmt: skip
    return table(head, rows)


def parts_table(settings: CostSettings, phase: Phase) -> str:
    """Milliseconds of one step, by what they are spent on."""
    steps = [step_time(settings.job, phase, gpus) for gpus in settings.gpus]
    lines = {name: [step.parts[name] for step in steps] for name in steps[0].parts}
    lines["clipping and Adam"] = [step.adam for step in steps]
    lines["exchange of gradients"] = [step.exchange for step in steps]
    lines["**a step**"] = [step.whole for step in steps]
    head = [f"{phase.batch_size} × {phase.seq_length}, ms", *map(counted, settings.gpus)]
    rows = [[name, *(f"{t * 1e3:,.2f}" for t in times)] for name, times in lines.items()]
    return table(head, rows)


def links_table(settings: CostSettings) -> str:
    """How long the gradients of a step are on their way."""
    gpus, job = max(settings.gpus), settings.job
    computing = step_time(job, settings.phases[0], gpus).computing
    links = {"NVLink, inside a node": job.machine.nvlink,
             "eight network cards a node": job.machine.network, **SLOWER_LINKS}  # fmt: skip
    sent = exchanged_bytes(job.parameters, gpus)
    rows = [[name, f"{speed / 1e9:,.4g} GB/s", f"{sent / speed * 1e3:,.1f} ms",
             f"{1.5 * sent / speed * 1e3:,.1f} ms", f"{sent / speed / computing:,.1f} times"]
            for name, speed in links.items()]  # fmt: skip
    head = [f"{counted(gpus)}, each sends {sent / 1e6:,.0f} MB a step", "speed", "DDP", "FSDP",
            "DDP, by the computing at 128"]  # fmt: skip
    return table(head, rows)


def memory_table(settings: CostSettings, phase: Phase) -> str:
    """Gigabytes on each GPU."""
    kinds = [(gpus, parallel) for gpus in settings.gpus for parallel in ("ddp", "fsdp")
             if gpus > 1 or parallel == "ddp"]  # fmt: skip
    columns = [memory(settings.job, phase, *kind) for kind in kinds]
    names = [counted(gpus) + (f", {parallel.upper()}" if gpus > 1 else "")
             for gpus, parallel in kinds]  # fmt: skip
    rows = [[name, *(f"{column[name] / 1e9:.2f}" for column in columns)] for name in columns[0]]
    rows.append(["**together**", *(f"{sum(column.values()) / 1e9:.1f}" for column in columns)])
    return table([f"{phase.batch_size} × {phase.seq_length}, GB", *names], rows)


def published_table(settings: CostSettings) -> str:
    """What NVIDIA measured of BERT-large, and how long the recipe would take at that rate."""
    large, peak = PRESETS["large"], MACHINES["A100"].peak
    rows = []
    for gpus, batch, *rates in PUBLISHED:
        seconds = sum(steps_of(phase) * phase.batch_size / rate
                      for phase, rate in zip(settings.phases, rates, strict=True))  # fmt: skip
        shares = [
            rate * p.seq_length * training_flops(large, seq_length=p.seq_length) / (gpus * peak)
            for p, rate in zip(settings.phases, rates, strict=True)
        ]
        rows.append([str(gpus), f"{batch:,}", *(f"{rate:,}" for rate in rates),
                     *(f"{share:.0%}" for share in shares), duration(seconds)])  # fmt: skip
    head = ["GPUs", "batch at 128", "sequences/s at 128", "at 512", "share of the peak at 128",
            "at 512", "the recipe at this rate"]  # fmt: skip
    return table(head, rows)


def data_table(settings: CostSettings) -> str:
    """The token store of the paper's corpus, and the pairs that a GPU asks for."""
    tokens = WORDS * TOKENS_A_WORD
    starts = 8 * tokens / TOKENS_A_SENTENCE
    asked = {p.seq_length: settings.job.flops
             / training_flops(settings.job.config, seq_length=p.seq_length) / p.seq_length
             for p in settings.phases}  # fmt: skip
    rows = [
        ["tokens", f"{tokens / 1e9:.1f} G"],
        ["tokens.bin, two bytes each", f"{2 * tokens / 1e9:.1f} GB"],
        ["sentence_starts.bin, eight bytes a sentence", f"{starts / 1e9:.1f} GB"],
        *([f"pairs a second that one GPU asks for at {length}", f"{rate:,.0f}"]
          for length, rate in asked.items()),
    ]  # fmt: skip
    return table(["data", ""], rows)


def report(settings: CostSettings) -> dict[str, str]:
    """All tables, as Markdown, under their titles."""
    short, long = settings.phases
    job, lengths = settings.job, (short.seq_length, long.seq_length)
    return {
        "The recipe": recipe_table(settings),
        f"The whole recipe on {settings.gpu}s at {job.flops / 1e12:,.0f} TFLOP/s each, "
        f"{job.flops / job.machine.peak:.0%} of the peak": time_table(settings),
        f"Where a step goes at length {lengths[0]}": parts_table(settings, short),
        f"Where a step goes at length {lengths[1]}": parts_table(settings, long),
        "The exchange, by what lies between the GPUs": links_table(settings),
        f"Memory at length {lengths[0]}": memory_table(settings, short),
        f"Memory at length {lengths[1]}": memory_table(settings, long),
        "Published: BERT-large on A100s": published_table(settings),
        "Data": data_table(settings),
    }


@command
def main() -> None:
    settings = tyro.cli(CostSettings, prog="python -m bert_experiments.cost")
    print("\n\n".join(f"**{title}**\n\n{text}" for title, text in report(settings).items()))


if __name__ == "__main__":
    main()
