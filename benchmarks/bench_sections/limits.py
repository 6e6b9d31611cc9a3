"""The limits of this machine, now: large matrix products, those of a step, and the first touch of
fresh memory."""

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench_sections.models import read_batch
from bert_run.config import BertConfig

MEGABYTES = 128


def products(folder: Path, *, precision: str, size: int):
    """Ten products of two square matrices. "medium": float32 numbers, which torch may round to
    bfloat16 within the product."""
    import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

    # isort: split
    import torch

    torch.set_float32_matmul_precision("medium" if precision == "medium" else "highest")
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = torch.randn(size, size, dtype=dtype), torch.randn(size, size, dtype=dtype)
    out = torch.empty(size, size, dtype=dtype)

    def step() -> None:
        for _ in range(10):
            torch.mm(a, b, out=out)

    return step


def linear_shapes(config: BertConfig, tokens: int, masks: int) -> Iterator[tuple[int, int, int]]:
    """(rows, in, out) of every linear layer of a pretraining step, the pooler left out."""
    hidden, wide = config.hidden_size, config.intermediate_size
    for _ in range(config.num_hidden_layers):
        yield from [(tokens, hidden, hidden)] * 4  # query, key, value, and what gathers the heads
        yield from ((tokens, hidden, wide), (tokens, wide, hidden))
    yield from ((masks, hidden, hidden), (masks, hidden, config.vocab_size))


def products_of_a_step(folder: Path, *, precision: str):
    """The matrix products of a training step at their own shapes, forward and backward, and nothing
    else; their results go to memory that is there already."""
    import bert_paper  # noqa: F401 - as above

    # isort: split
    import torch

    config, batch = BertConfig.load(folder), read_batch(folder)
    (rows, seq), masks = batch["input_ids"].shape, batch["masked_lm_ids"].size

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape).to(torch.bfloat16 if precision == "bf16" else torch.float32)

    linear = [
        [drawn(n, a), drawn(b, a), drawn(n, b), drawn(n, b), drawn(n, a), drawn(b, a)]
        for n, a, b in linear_shapes(config, rows * seq, masks)
    ]
    heads = rows * config.num_attention_heads
    query, key, value, upstream, out = (drawn(heads, seq, config.head_dim) for _ in range(5))
    scores, probs = drawn(heads, seq, seq), drawn(heads, seq, seq)

    def step() -> None:
        for x, weight, d_y, y, d_x, d_weight in linear:
            torch.mm(x, weight.T, out=y)
            torch.mm(d_y, weight, out=d_x)
            torch.mm(d_y.T, x, out=d_weight)
        for _ in range(config.num_hidden_layers):
            torch.bmm(query, key.mT, out=scores)
            torch.bmm(probs, value, out=out)
            torch.bmm(upstream, value.mT, out=scores)
            for left, right in ((probs.mT, upstream), (probs, key), (probs.mT, query)):
                torch.bmm(left, right, out=out)

    return step


def fresh_memory(folder: Path):
    """A step asks the system for memory, touches every page of it and gives it back, as an array
    does in a program without settings of its own."""

    def step() -> None:
        with mmap.mmap(-1, MEGABYTES * 10**6) as area:
            np.frombuffer(area, np.uint8)[:: mmap.PAGESIZE] = 1

    return step


KINDS = {
    "products": products, "products of a step": products_of_a_step, "fresh memory": fresh_memory,
}  # fmt: skip
