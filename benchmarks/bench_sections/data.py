"""Section 3: building a token store beside bare encoding; making pairs beside a training step."""

import tempfile
import time
from pathlib import Path

import numpy as np

from bench_sections import store
from bench_sections.children import Child, ChildFailed
from bench_sections.models import Work, sized, write_work
from bench_sections.saved import Saved
from bert_corpus.pairs import PairDataset
from bert_corpus.pretraining_run import prepare
from bert_corpus.wordpiece import save_tokenizer
from bert_run.config import RunSettings
from bert_run.training_loop import progress_bar

SECTION = "data"
BATCH, SEQ, VOCABULARY = 64, 128, 8192
STEPS = {
    "level 3, fp32": {"precision": "fp32"},
    "level 3, bf16": {"precision": "bf16"},
}


def measure_store(*, quick: bool, rounds: int) -> dict:
    """Its speed beside bare encoding, its memory, and what a kill in the middle costs."""
    size = 200_000 if quick else 16 * store.MEGABYTE
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        text = folder / "stories.txt"
        store.write_stories(text, size)
        tokenizer = store.train_tokenizer(text)
        found = store.speed(text, tokenizer, folder, max(2, rounds // 2))
        save_tokenizer(tokenizer, folder / "tokenizer")
        kill = None if quick else store.price_of_a_kill(text, folder / "tokenizer", folder)
        return {**found, "kill": kill, "megabytes": text.stat().st_size / store.MEGABYTE,
                "rounds": max(2, rounds // 2)}  # fmt: skip


def pairs_of(quick: bool, folder: Path) -> PairDataset:
    settings = RunSettings(documents=200 if quick else 5000, seq_length=SEQ, vocab_size=VOCABULARY)
    return prepare(settings, folder).train


def measure_pairs(*, quick: bool, rounds: int) -> dict:
    """Seconds of making a batch, and of a step on such a batch, in turns."""
    batch = 8 if quick else BATCH
    making: list[float] = []
    stepping: dict[str, list[float]] = {name: [] for name in STEPS}
    with tempfile.TemporaryDirectory(prefix="bench-") as name, Child() as child:
        folder = Path(name)
        dataset = pairs_of(quick, folder / "data")
        write_work(folder / "model", Work(sized("tiny", VOCABULARY), batch, SEQ))
        for step, options in STEPS.items():
            child.ask(make=step, kind="level 3", folder=str(folder / "model"), options=options)
        with progress_bar(rounds + 1, "pairs", unit="round") as bar:
            for number in range(rounds + 1):
                begin = time.perf_counter()
                dataset.batch(np.arange(number * batch, (number + 1) * batch))
                taken = time.perf_counter() - begin
                found = {step: child.ask(turn=step, steps=1)["seconds"][0] for step in STEPS}
                if number:  # the first round warms up
                    making.append(taken)
                    for step, seconds in found.items():
                        stepping[step].append(seconds)
                bar.update()
    return {"batch_size": batch, "seq_length": SEQ, "vocab_size": VOCABULARY, "making": making,
            "stepping": stepping}  # fmt: skip


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    how = {"quick": saved.quick, "rounds": rounds}
    saved.measured(SECTION, "store", lambda: measure_store(**how))
    try:
        saved.measured(SECTION, "pairs", lambda: measure_pairs(**how))
    except ChildFailed as failed:
        print(f"pairs beside a step: {failed}")
