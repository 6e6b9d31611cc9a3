"""What the paper's recipe costs: the arithmetic, and that the page shows what the command gives."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import tyro

from bert_experiments import cost
from bert_experiments.cost import (
    MACHINES,
    CostSettings,
    StepTime,
    exchanged_bytes,
    layer_bytes,
    memory,
    report,
    step_time,
)
from bert_paper.model import BertForPreTraining
from bert_run.config import BertConfig

PAGE = Path(__file__).parents[2] / "03_paper_reproduction" / "scaling.md"
BASE = CostSettings()
SHORT, LONG = BASE.phases


def hours(settings: CostSettings, gpus: int) -> float:
    """Of computing alone."""
    steps = [(cost.steps_of(p), step_time(settings.job, p, gpus)) for p in settings.phases]
    return sum(count * step.computing for count, step in steps) / 3600


def test_base_takes_13_hours_on_one_h100_at_half_of_its_peak():
    assert hours(BASE, 1) == pytest.approx(13.4, abs=0.05)


def test_twice_the_share_of_the_peak_is_half_the_computing():
    assert hours(replace(BASE, share=1.0), 1) == pytest.approx(hours(BASE, 1) / 2)


def test_a_measured_rate_takes_the_place_of_the_share():
    """907 thousand tokens a second at 128 are half of 989 TFLOP/s."""
    measured = replace(BASE, rate=907_000)
    assert measured.job.flops == pytest.approx(BASE.job.flops, rel=1e-3)


def test_computing_is_shared_out_and_adam_is_not():
    alone, shared = (step_time(BASE.job, SHORT, gpus) for gpus in (1, 64))
    assert alone.computing == pytest.approx(64 * shared.computing)
    assert alone.adam == shared.adam


def test_the_gpu_with_the_most_sequences_counts():
    assert step_time(BASE.job, SHORT, 100).computing == step_time(BASE.job, SHORT, 86).computing


def test_a_ring_sends_nothing_alone_and_nearly_twice_the_gradients_among_many():
    assert exchanged_bytes(1000, 1) == 0
    assert exchanged_bytes(1000, 2) == 4000
    assert exchanged_bytes(1000, 1000) == pytest.approx(8000, rel=2e-3)


def test_inside_a_node_nvlink_counts_and_between_nodes_the_network():
    h100 = MACHINES["H100"]
    assert h100.link(8) == h100.nvlink > h100.link(9) == h100.network


def test_what_the_backward_cannot_hide_of_the_exchange_makes_a_step_longer():
    step = StepTime(parts={"all": 3.0}, adam=0.5, exchange=2.0)
    assert step.whole == 3.5
    assert replace(step, exchange=2.25).whole == 3.75


def test_fsdp_shares_out_weights_gradients_and_moments_and_ddp_does_not():
    ddp, fsdp = (memory(BASE.job, SHORT, 8, parallel) for parallel in ("ddp", "fsdp"))
    for name in ("weights", "gradients", "Adam's two moments"):
        assert ddp[name] == pytest.approx(8 * fsdp[name])
    assert ddp["activations"] == fsdp["activations"]
    assert ddp["weights"] == 4 * 110_106_428  # the parameters of base with both heads


def kept_for_the_backward(layers: int, *, rows: int, seq: int) -> int:
    """Bytes that autograd keeps, each storage once, the weights themselves not counted."""
    config = BertConfig(vocab_size=300, hidden_size=64, num_hidden_layers=layers,
                        num_attention_heads=1, intermediate_size=256,
                        attention_probs_dropout_prob=0.0)  # fmt: skip
    model = BertForPreTraining(config).train()
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    ids = torch.ones(rows, seq, dtype=torch.int64)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):  # noqa: SIM117
        with torch.autocast("cpu", torch.bfloat16):
            model(ids, ids, ids, ids[:, :2])
    return sum(t.untyped_storage().nbytes() for a, t in kept.items() if a not in weights)


def test_a_layer_keeps_the_bytes_that_the_page_counts():
    """42 a hidden unit and token, and on the CPU 2 more, for its two masks of dropout take two
    bytes each. The bfloat16 copies of the weights are added, and less than a hundredth for the
    norms' means and deviations. Attention is fused, as it is on a GPU."""
    rows, seq, hidden = 2, 384, 64
    one, two = (kept_for_the_backward(layers, rows=rows, seq=seq) for layers in (1, 2))
    copies = 2 * (4 * hidden**2 + 2 * hidden * 4 * hidden)
    config = BertConfig(hidden_size=hidden, num_attention_heads=1, intermediate_size=4 * hidden)
    assert layer_bytes(config) == 42 * hidden
    on_cpu = layer_bytes(config) + 2 * hidden
    assert two - one - copies == pytest.approx(rows * seq * on_cpu, rel=0.01)


def test_a_share_of_the_peak_is_published_rate_by_operations():
    """NVIDIA's 694 sequences a second of BERT-large are 53% of an A100."""
    assert "| 1 | 8,192 | 694 | 264 | 53% |" in report(BASE)["Published: BERT-large on A100s"]


# The page.

BLOCK = re.compile(
    r"<!-- (python -m bert_experiments\.cost[^>]*?): (.+?) -->\n(.+?)\n(?:\n|$)", re.S
)


def blocks() -> list[tuple[str, str, str]]:
    """(command, title, table) of every table of the page that the command makes."""
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("called", "title", "text"), blocks())
def test_a_table_of_the_page_is_what_the_command_gives(called, title, text):
    settings = tyro.cli(CostSettings, args=shlex.split(called)[3:])
    found = [table for name, table in report(settings).items() if name.startswith(title)]
    assert found == [text]


def test_every_table_of_figures_on_the_page_is_made_by_the_command():
    page = PAGE.read_text(encoding="utf-8")
    assert len(blocks()) >= 8
    tables = re.findall(r"(?:^\|.*\n)+", page, re.M)
    assert {table.strip() for table in tables} == {text for _, _, text in blocks()}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--gpus", "0"], "--gpus is 0: it must be a whole number from 1"),
        (["--gpus", "512"], "--batch-size 256 is too small for 512 GPUs"),
        (["--share", "1.5"], "--share is 1.5"),
        (["--rate", "0"], "--rate is 0"),
        (["--steps", "3"], "--steps is 3"),
    ],
)
def test_a_mistake_is_told_in_one_line(monkeypatch, capsys, arguments, word):
    monkeypatch.setattr(sys, "argv", ["cost", *arguments])
    with pytest.raises(SystemExit) as ended:
        cost.main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and word in error


def test_the_command_prints_every_table_under_its_title(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cost", "--model", "large", "--gpus", "8"])
    cost.main()
    printed = capsys.readouterr().out
    for title, text in report(CostSettings(model="large", gpus=(8,))).items():
        assert f"**{title}**\n\n{text}" in printed
