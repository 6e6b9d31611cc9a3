"""Time, traffic and memory of one training step, by arithmetic.

Operations come from the model, bytes from what a step reads, writes and sends, rates from data
sheets. Not counted is what waits: the start of a kernel on the GPU, the first byte of a message.
So the times are lower bounds. Tables of them: `cost.py`.
"""

import math
from dataclasses import dataclass
from typing import Literal

from bert_run.config import BertConfig, count_parameters, parameter_shapes
from bert_run.flops import floating_point_operations, known_gpu
from bert_run.settings import MaskingRecipe, Phase

Parallel = Literal["ddp", "fsdp"]

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
