"""What all training loops share: the schedule, a batch in parts, the journal."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import torch

from bert_run.config import RunSettings
from bert_run.training_loop import (
    Journal,
    LinesInsteadOfBar,
    learning_rate,
    split_batch,
    stop_signals,
)


def test_learning_rate__rises_in_a_line_to_its_peak_and_falls_to_zero():
    rates = [learning_rate(step, peak=1.0, warmup_steps=4, total_steps=10) for step in range(10)]
    assert rates == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])


@pytest.mark.parametrize("warmup", [0, 1, 7, 30])
def test_learning_rate__is_never_zero(warmup):
    for step in range(30):
        assert learning_rate(step, peak=0.3, warmup_steps=warmup, total_steps=30) > 0


@pytest.mark.parametrize("make", [np.arange, torch.arange])
def test_split_batch__cuts_every_array_and_the_last_part_may_be_smaller(make):
    batch = {"input_ids": make(10).reshape(5, 2), "example_index": make(5)}
    parts = split_batch(batch, 2)
    assert [len(part["input_ids"]) for part in parts] == [2, 2, 1]
    assert [index for part in parts for index in part["example_index"].tolist()] == [0, 1, 2, 3, 4]


def test_journal__writes_a_line_when_one_is_due(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    lines = []
    journal = Journal(RunSettings(steps=300), start=299, record=lines.append, visible=False)
    with journal.bar:
        assert not journal.step_done(298, tokens=100)
        assert journal.step_done(299 + 1, tokens=100)  # the last step; every third is due as well
        now[0] = 2.0
        with journal.paused():
            now[0] = 10.0
        journal.write(300, rate=1e-4, mlm=5.0, nsp=0.7)
        journal.measured(300, {"heldout_mlm_loss": 4.0})
    assert lines == [
        {"step": 300, "train_mlm_loss": 5.0, "train_nsp_loss": 0.7, "tokens_per_second": 100,
         "learning_rate": 1e-4},
        {"step": 300, "heldout_mlm_loss": 4.0, "heldout_examples": 1024},
    ]  # fmt: skip


def test_journal__leaves_out_the_second_loss_where_there_is_no_second_task():
    lines = []
    journal = Journal(RunSettings(steps=3), start=0, record=lines.append, visible=False)
    assert journal.step_done(1, tokens=8)
    journal.write(1, rate=1e-4, mlm=5.0)
    assert "train_nsp_loss" not in lines[0]


# Signals.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_signals__note_the_first_and_let_the_second_interrupt(number, capfd):
    before = signal.getsignal(number)
    with stop_signals() as request:
        assert request.signal == 0
        os.kill(os.getpid(), number)
        assert request.signal == number and "the run is saved first" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            time.sleep(1)
    assert signal.getsignal(number) is before


def test_stop_signals__under_torchrun_are_received_twice_and_interrupt_nothing(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    with stop_signals() as request:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert request.signal == signal.SIGINT


def test_stop_signals__take_a_rank_that_is_left_in_the_environment_for_none(monkeypatch, capfd):
    monkeypatch.setenv("RANK", "1")
    with stop_signals():
        os.kill(os.getpid(), signal.SIGINT)
        assert "the run is saved first" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)


def test_stop_signals__are_noted_though_the_reader_of_standard_error_has_gone(monkeypatch):
    """Ctrl-C ends `tee`, too, in `bert-pretrain 2>&1 | tee log`."""

    def broken(*_, **__):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(os, "write", broken)
    monkeypatch.setattr("builtins.print", broken)
    with stop_signals() as request:
        os.kill(os.getpid(), signal.SIGINT)
        assert request.signal == signal.SIGINT
        LinesInsteadOfBar().write("50%")


def test_stop_signals__in_another_thread_leave_the_handlers_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def run() -> None:
        with stop_signals() as request:
            seen.append((request.signal, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [(0, before)]
