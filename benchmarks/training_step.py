"""Tokens a second of one pretraining step, beside `transformers` on the same work in the same run.

    python benchmarks/training_step.py [--out results/training_step.md]

All models get the same weights, the same masked batch, dropout 0.1, global clipping and a fused
AdamW; steps take turns, so that whatever else the machine does strikes all. `transformers` computes
the logits of every token, as it comes; levels 2 and 3 those of the masked ones, and level 2 once
more those of every token, for the same work. The ratio is the median over the rounds of their time
by ours, with the quartiles as spread.
"""

import argparse
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import torch
import transformers

from bert_lowlevel.model import Bert, to_tensors
from bert_lowlevel.optimizer import FusedAdamW
from bert_lowlevel.training import Computing
from bert_lowlevel.training import training_step as lowlevel_step
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.masking import MaskingVocabulary, mask_tokens
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import AdamSettings, make_optimizer
from bert_paper.training import training_step
from bert_run.config import PRESETS, BertConfig
from bert_run.files import write_atomically
from bert_run.parameters import initial_weights
from bert_run.progress import progress_bar
from bert_run.weights import save_weights

BATCH, SEQ = 64, 128
CASES = [("tiny", 30_522, "fp32"), ("mini", 8_192, "fp32"), ("tiny", 30_522, "bf16"),
         ("mini", 8_192, "bf16")]  # fmt: skip
WARM_UP = 2
MASK_ID, FIRST_WORD = 103, 200


def make_batch(vocab_size: int) -> dict[str, torch.Tensor]:
    """Random words in pairs; a fifth of the rows ends in a quarter of padding."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(FIRST_WORD, vocab_size, (BATCH, SEQ), generator=generator)
    attention = torch.ones(BATCH, SEQ, dtype=torch.int64)
    attention[::5, SEQ * 3 // 4 :] = 0
    segments = torch.zeros(BATCH, SEQ, dtype=torch.int64)
    segments[:, SEQ // 2 :] = 1
    batch = {
        "input_ids": ids * attention,
        "token_type_ids": segments * attention,
        "attention_mask": attention,
        "next_sentence_labels": torch.randint(0, 2, (BATCH,), generator=generator),
        "example_index": torch.arange(BATCH),
    }
    words = MaskingVocabulary(MASK_ID, torch.arange(FIRST_WORD, vocab_size))
    return mask_tokens(batch, words, seed=0)


def level_3(config: BertConfig, batch: dict, precision: torch.dtype) -> Callable[[], None]:
    model = BertForPreTraining(config)
    load_arrays(model, initial_weights(config, 0))
    use_cpu_kernels(model)
    optimizer = make_optimizer(model.train(), AdamSettings(), name="adamw")
    return lambda: training_step(model, optimizer, batch, precision=precision, max_grad_norm=1.0)


def level_2(config: BertConfig, batch: dict, precision: torch.dtype) -> Callable[[], None]:
    bert = Bert(config, to_tensors(initial_weights(config, 0)), training=True, attention="fused")
    settings = AdamSettings()
    adam = FusedAdamW(bert.weights, settings)
    return lambda: lowlevel_step(
        bert, adam, batch, Computing(precision), learning_rate=settings.learning_rate,
        max_grad_norm=1.0,
    )  # fmt: skip


def level_2_every_token(
    config: BertConfig, batch: dict, precision: torch.dtype
) -> Callable[[], None]:
    """The same loss from the logits of every token, those not asked for with a weight of zero."""
    everywhere = torch.arange(SEQ).expand(BATCH, SEQ).contiguous()
    ids, weights = torch.zeros(BATCH, SEQ, dtype=torch.int64), torch.zeros(BATCH, SEQ)
    kept = batch["masked_lm_weights"] > 0  # an empty slot points at position 0, which stays empty
    rows, slots = kept.nonzero(as_tuple=True)
    positions = batch["masked_lm_positions"][rows, slots]
    ids[rows, positions] = batch["masked_lm_ids"][rows, slots]
    weights[rows, positions] = 1.0
    asked = {"masked_lm_positions": everywhere, "masked_lm_ids": ids, "masked_lm_weights": weights}
    return level_2(config, batch | asked, precision)


def transformers_step(
    config: BertConfig, batch: dict, precision: torch.dtype
) -> Callable[[], None]:
    with tempfile.TemporaryDirectory() as folder:
        config.save(Path(folder))
        save_weights(initial_weights(config, 0), Path(folder) / "model.safetensors")
        model = transformers.BertForPreTraining.from_pretrained(folder, attn_implementation="sdpa")
    optimizer = make_optimizer(model.train(), AdamSettings(), name="adamw")
    labels = torch.full_like(batch["input_ids"], -100)
    used = batch["masked_lm_ids"].where(batch["masked_lm_weights"] > 0, -100)
    labels.scatter_(1, batch["masked_lm_positions"], used)

    def step() -> None:
        with torch.autocast("cpu", precision, enabled=precision != torch.float32):
            output = model(
                input_ids=batch["input_ids"],
                token_type_ids=batch["token_type_ids"],
                attention_mask=batch["attention_mask"],
                labels=labels,
                next_sentence_label=batch["next_sentence_labels"],
            )
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def seconds(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


OURS = {
    "level 3": level_3,
    "level 2": level_2,
    "level 2, every token": level_2_every_token,
}


def measure(size: str, vocab_size: int, precision: str, rounds: int) -> str:
    """One row of the table."""
    config = PRESETS[size].with_changes(vocab_size=vocab_size)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    batch = make_batch(vocab_size)
    steps = [make(config, batch, dtype) for make in (transformers_step, *OURS.values())]
    times = []
    with progress_bar(rounds, f"{size} {vocab_size} {precision}", unit="round") as bar:
        for number in range(rounds + WARM_UP):
            taken = [seconds(step) for step in steps]
            if number >= WARM_UP:
                times.append(taken)
                bar.update()
    theirs, *ours = zip(*times, strict=True)
    cells = [f"{BATCH * SEQ / statistics.median(theirs):,.0f}"]
    for column in ours:
        low, middle, high = statistics.quantiles(
            [b / a for a, b in zip(column, theirs, strict=True)], n=4
        )
        speed = BATCH * SEQ / statistics.median(column)
        cells += [f"{speed:,.0f} | **{middle:.2f}** ({low:.2f}–{high:.2f})"]
    return f"| {size} | {vocab_size:,} | {precision} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the table here too")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    rows = [measure(*case, arguments.rounds) for case in CASES]
    table = "\n".join([
        "# One pretraining step, beside `transformers`",
        "",
        f"Made by `python benchmarks/training_step.py --out results/training_step.md --rounds "
        f"{arguments.rounds}` on {torch.get_num_threads()} threads of a "
        f"{platform.machine()} CPU; Python {platform.python_version()}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}.",
        "",
        f"Batch {BATCH}, length {SEQ}, 15% masked, dropout 0.1, both losses, backward, clipping "
        "and a fused AdamW step. Tokens a second are medians; the ratio is the median of the "
        "rounds, its quartiles in brackets. `transformers` runs with SDPA, as it comes: it "
        "computes the word logits of every token, levels 2 and 3 those of the masked ones. "
        "“Level 2, every token” does the work of `transformers`.",
        "",
        "| model | vocabulary | precision | transformers, tokens/s | "
        + " | ".join(f"{name}, tokens/s | ratio" for name in OURS) + " |",
        "|---" * (4 + 2 * len(OURS)) + "|",
        *rows,
        "",
    ])  # fmt: skip
    print(table)
    if arguments.out is not None:
        write_atomically(arguments.out, table)


if __name__ == "__main__":
    sys.exit(main())
