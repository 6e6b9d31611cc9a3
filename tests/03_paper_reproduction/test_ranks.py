"""Many ranks: they share out the work and change nothing about the result.

The runs are real: two processes, which talk through gloo on the CPU. `torchrun` itself starts them
where a test asks what it does; elsewhere they are forked, which saves loading torch anew.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from rank_processes import RankProcesses, command_line
from safetensors.numpy import load_file

from bert_paper.pretrain import PretrainSettings, refuse_unfit_batches
from bert_run.device import Ranks, join
from bert_run.errors import UserError
from bert_run.files import find_damage
from bert_run.training_loop import read_metrics

ALONE, DDP, FSDP = (1, "ddp"), (2, "ddp"), (2, "fsdp")


def start(settings: PretrainSettings, ranks: int, parallel: str) -> RankProcesses:
    return RankProcesses("bert_paper.pretrain", [*command_line(settings), "--parallel", parallel],
                         ranks, settings.out.parent / f"{settings.out.name}.txt")  # fmt: skip


def start_torchrun(settings: PretrainSettings, ranks: int, parallel: str) -> subprocess.Popen:
    """The command as a user calls it, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
         str(ranks), "-m", "bert_paper.pretrain", *command_line(settings), "--parallel", parallel],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def finish(process: RankProcesses | subprocess.Popen) -> str:
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    return output


def run(settings: PretrainSettings, ranks: int, parallel: str) -> Path:
    finish(start(settings, ranks, parallel))
    return settings.out


def arrays(folder: Path) -> dict[str, np.ndarray]:
    newest = sorted(folder.glob("checkpoints/step-*"))[-1]
    return load_file(newest / "model.safetensors") | load_file(
        newest / "training_state.safetensors"
    )


def largest_difference(one: Path, other: Path) -> float:
    a, b = arrays(one), arrays(other)
    assert a.keys() == b.keys()
    return max(float(np.abs(a[name] - b[name]).max()) for name in a if "step" not in name)


@pytest.fixture(scope="module")
def settings_in(corpus_file, small_settings):
    """Settings of a small run in a folder; nothing is drawn but pairs and masks."""

    def settings(out: Path, **changes) -> PretrainSettings:
        without_dropout = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        fields = dict(steps=12, batch_size=7, save_every=6, eval_every=6, eval_examples=33)
        return small_settings(corpus_file, out, **{**without_dropout, **fields, **changes})

    return settings


@pytest.fixture(scope="module")
def alone(settings_in, tmp_path_factory) -> Path:
    return run(settings_in(tmp_path_factory.mktemp("ranks") / "alone"), *ALONE)


@pytest.mark.parametrize("name, value, said", [
    ("WORLD_SIZE", "abc", "WORLD_SIZE is 'abc' in the environment: start with torchrun, or unset"),
    ("WORLD_SIZE", "0", "WORLD_SIZE is '0'"), ("RANK", None, "RANK is not set"),
    ("MASTER_PORT", None, "MASTER_PORT is not set"), ("MASTER_ADDR", None, "MASTER_ADDR is not"),
    ("LOCAL_RANK", "x", "LOCAL_RANK is 'x'"),
])  # fmt: skip
def test_an_environment_that_torchrun_has_not_made_is_one_line(name, value, said, monkeypatch):
    numbers = dict.fromkeys(("RANK", "LOCAL_RANK"), "1")
    sizes = dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), "2")
    found = {**numbers, **sizes, "MASTER_ADDR": "localhost", "MASTER_PORT": "1", name: value}
    for variable, content in found.items():
        monkeypatch.delenv(variable, raising=False)
        if content is not None:
            monkeypatch.setenv(variable, content)
    with pytest.raises(UserError, match=said), join("cpu"):
        pass


def test_what_dropout_draws_depends_on_seed_step_and_rank_alone(monkeypatch):
    def drawn(ranks, seed, step):
        torch.rand(3)
        ranks.seed_dropout(seed, step, torch.device("cpu"))
        return tuple(torch.rand(4).tolist())

    torch.manual_seed(3 * 1_000_003 + 5)  # as level 2 seeds
    as_level_2 = tuple(torch.rand(4).tolist())
    monkeypatch.delattr(torch, "manual_seed")  # it is slow on a CPU
    assert drawn(Ranks(), 3, 5) == as_level_2
    calls = [(Ranks(rank, 2), seed, step) for rank in (0, 1) for seed in (0, 1) for step in (0, 7)]
    first = [drawn(*call) for call in calls]
    assert first == [drawn(*call) for call in calls]
    assert len(set(first)) == len(calls)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_ranks_take_every_example_once_and_in_order(size):
    indices = np.arange(40, 53)
    shares = [Ranks(rank, size).share(indices) for rank in range(size)]
    assert np.array_equal(np.concatenate(shares), indices)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    ("parallel", "changes"),
    [
        ("ddp", {}),
        ("ddp", {"micro_batch_size": 1, "optimizer": "adamw"}),
        ("fsdp", {"micro_batch_size": 2}),
    ],
)
def test_two_ranks_end_with_the_weights_of_one(settings_in, tmp_path, alone, parallel, changes):
    """Seven examples a step, so that one rank has four and the other three, with uneven masks."""
    if "optimizer" in changes:
        alone = run(settings_in(tmp_path / "alone", **changes), *ALONE)
    both = settings_in(tmp_path / "both", **changes)
    finish((start if changes else start_torchrun)(both, 2, parallel))
    both = both.out
    assert largest_difference(alone, both) < 1e-6
    for mine, theirs in zip(*map(entries, (alone, both)), strict=True):
        assert mine.keys() == theirs.keys()
        for name in mine.keys() - {"tokens_per_second"}:
            assert mine[name] == pytest.approx(theirs[name], abs=1e-5), name


def entries(folder: Path) -> list[dict]:
    return read_metrics(folder / "metrics.jsonl")


@pytest.mark.parametrize(("first", "second"), [(FSDP, ALONE), (ALONE, FSDP), (FSDP, (3, "fsdp"))])
def test_a_run_goes_on_with_another_number_of_ranks(settings_in, tmp_path, alone, first, second):
    """Twelve steps, of which the last six are lost and done again on other ranks."""
    settings = settings_in(tmp_path / "moved")
    run(settings, *first)
    shutil.rmtree(settings.out / "checkpoints" / "step-00000012")
    assert "going on from step 6" in finish(start(settings, *second))
    assert largest_difference(alone, settings.out) < 1e-6
    for mine, theirs in zip(*map(entries, (alone, settings.out)), strict=True):
        assert mine["step"] == theirs["step"]
        for name in ("train_mlm_loss", "heldout_mlm_loss"):
            assert mine.get(name) == pytest.approx(theirs.get(name), abs=1e-5)


def test_what_fsdp_saves_opens_in_transformers_and_no_scratch_is_left(settings_in, tmp_path):
    out = run(settings_in(tmp_path / "parts"), *FSDP)
    for folder in (out, out / "best"):
        _, info = transformers.BertForPreTraining.from_pretrained(folder, output_loading_info=True)
        assert not any(info.values()), info
    assert [path.name for path in out.rglob("*") if "part" in path.name.split(".")] == []
    assert not list(out.rglob("sharded"))


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_ranks_killed_at_random_moments_resume_to_the_same_bits(
    settings_in, tmp_path, parallel
):
    """Dropout on. A kill may fall into a save; whatever stands there afterwards is whole."""
    dropout = dict(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
    changes = dict(steps=70, save_every=10, eval_every=35, keep_checkpoints=12, **dropout)
    whole = run(settings_in(tmp_path / "whole", **changes), 2, parallel)
    settings = settings_in(tmp_path / "killed", **changes)
    draw = random.Random(7)
    for _ in range(2):
        process = start(settings, 2, parallel)
        seen = len(saved(settings.out))
        while len(saved(settings.out)) < seen + 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.03))
        process.kill()
        assert len(saved(settings.out)) < 7, "it was over before it was killed"
        for folder in saved(settings.out):
            assert find_damage(folder) is None
    finish(start(settings, 2, parallel))
    for name, array in arrays(whole).items():
        assert np.array_equal(array, arrays(settings.out)[name]), name
    steps = [entry["step"] for entry in entries(settings.out)]
    assert steps == [entry["step"] for entry in entries(whole)]


def children(parent: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        found += [int(pid) for pid in task.read_text().split()]
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the processes of a run in /proc")
def test_processes_left_behind_by_torchrun_keep_a_second_call_out(settings_in, tmp_path):
    settings = settings_in(tmp_path / "left", steps=100_000, save_every=100_000)
    first = start_torchrun(settings, *DDP)
    while not (settings.out / "metrics.jsonl").exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.01)
    ranks = children(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    try:
        second = start(settings, *ALONE)
        output, _ = second.communicate(timeout=100)
        assert second.returncode == 2 and "another process is working on this run" in output
    finally:
        for pid in ranks:
            os.kill(pid, signal.SIGKILL)
    first.communicate()


def saved(out: Path) -> list[Path]:
    return sorted((out / "checkpoints").glob("step-*"))


@pytest.mark.parametrize(("batch_size", "micro", "fits"), [
    (5, 2, False), (4, 2, True), (5, 3, True), (5, None, True), (6, 2, True),
])  # fmt: skip
def test_fsdp_refuses_batches_of_which_ranks_make_different_numbers_of_micro_batches(
    batch_size, micro, fits
):
    """Parameters are gathered in each forward pass: the rank with one more would wait for ever."""
    settings = PretrainSettings(batch_size=batch_size, micro_batch_size=micro, parallel="fsdp")
    refuse_unfit_batches(replace(settings, parallel="ddp"), Ranks(0, 2))
    with nullcontext() if fits else pytest.raises(UserError, match="take a multiple of 2"):
        refuse_unfit_batches(settings, Ranks(0, 2))


def test_a_batch_that_is_too_small_is_named_by_its_own_option():
    long = PretrainSettings(batch_size=8, short_seq_length=32)
    for settings, name in ((replace(long, short_batch_size=1), "--short-batch-size 1 is"),
                           (replace(long, short_batch_size=8, batch_size=1), "--batch-size 1 is"),
                           (replace(long, batch_size=1), "--batch-size 1 is")):  # fmt: skip
        with pytest.raises(UserError, match=name):
            refuse_unfit_batches(settings, Ranks(0, 2))


def test_a_mistake_is_said_once_in_one_line_and_every_rank_stops(settings_in, tmp_path):
    settings = settings_in(tmp_path / "wrong", batch_size=1)
    for changes, words in (
        ({}, "--batch-size 1 is too small for 2 processes"),
        ({"batch_size": 8, "corpus": str(tmp_path / "nothing.txt")}, "nothing.txt"),
    ):
        process = start_torchrun(replace(settings, **changes), *DDP)
        output, _ = process.communicate(timeout=100)
        assert process.returncode != 0
        lines = [line for line in output.splitlines() if line.startswith("error:")]
        assert len(lines) == 1 and words in lines[0], output
