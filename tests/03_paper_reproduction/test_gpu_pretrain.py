"""The benchmark for GPUs, at a tiny size on the CPU: the same code, and every way it may end."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bert_experiments.cost import training_flops
from bert_paper.model import BertForPreTraining, pretraining_losses
from bert_paper.training import forward
from bert_run.config import PRESETS, BertConfig

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu_pretrain.py"
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module; what it shares with other benchmarks lies beside it."""
    sys.path.insert(0, str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("gpu_pretrain", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpu_pretrain"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def case(script):
    return script.Case("tiny", 16, 3, compiled=False, products="tf32", vocab_size=2000)


@pytest.fixture
def peaks(script):
    """A device of 1 TFLOP/s that reaches half of it."""
    return script.Peaks(stated={"tf32": 1e12}, measured={"tf32": 0.5e12})


def test_both_models_take_turns_and_give_one_row(script, case, peaks):
    results = script.run(case, CPU, rounds=3, steps=1)
    assert list(results) == ["level 3", "transformers"]
    assert all(result.failure is None and len(result.times) == 3 for result in results.values())
    cells = script.row(case, results, peaks).split(" | ")
    assert cells[:5] == ["| tiny", "3 × 16", "tf32", "no", "2,000"]
    assert len(cells) == 14


def test_the_shares_are_operations_by_the_peak_and_by_what_a_product_reaches(script, case, peaks):
    rate = 100.0
    reached = rate * training_flops(case.config, seq_length=16)
    assert script.Peaks.shares(replace(peaks, stated={"tf32": reached * 4}), case, rate) == (
        f"25.0% | {reached / 0.5e12:.1%}"
    )


def test_both_models_learn_the_same_from_the_same_masks(script, case):
    """The losses of two trainings without dropout stay together, so the work is the same."""
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = case.config.with_changes(**still)

    class Still(script.Case):
        @property
        def config(self) -> BertConfig:
            return config

    quiet = Still("tiny", 16, 3, compiled=False, products="tf32", vocab_size=2000)
    name, weights = "bert.encoder.layer.0.output.dense.weight", []
    for contestant in (script.Level3(quiet, CPU), script.Transformers(quiet, CPU)):
        weights.append(dict(contestant.model.named_parameters())[name].detach())
    before = torch.from_numpy(script.weights_of(config)[name])
    moved = (weights[0] - before).abs().max()
    assert moved > 5e-8  # three steps of a warm-up over ten thousand
    assert (weights[0] - weights[1]).abs().max() < moved / 10


def test_every_step_masks_anew_and_sets_the_rate_of_its_number(script, case):
    seen = []
    contestant = script.Level3(case, CPU)
    contestant.learn = seen.append
    pairs = script.synthetic_pairs(case, CPU)
    contestant.step(pairs)
    contestant.step(pairs)
    one, other = (batch["masked_lm_positions"] for batch in seen)
    assert not torch.equal(one, other)
    steps = script.WARM_UP + 2
    assert contestant.optimizer.param_groups[0]["lr"] == pytest.approx(1e-4 * steps / 10_000)


@pytest.mark.parametrize(
    ("error", "said"),
    [(torch.OutOfMemoryError("CUDA out of memory"), "out of memory"),
     (ValueError("no such mask"), "failed: ValueError")],
)  # fmt: skip
def test_a_model_that_fails_is_a_row_that_says_so(script, case, peaks, monkeypatch, error, said):
    def fail(self, batch) -> None:
        raise error

    monkeypatch.setattr(script.Transformers, "learn", fail)
    results = script.run(case, CPU, rounds=2, steps=1)
    assert results["transformers"].failure == said
    assert len(results["level 3"].times) == 2
    cells = script.row(case, results, peaks).rstrip(" |").split(" | ")
    assert said in cells and cells[-1] == "–"


def test_a_model_that_fails_in_a_later_turn_drops_out_and_the_other_goes_on(
    script, case, monkeypatch
):
    learn, failures = script.Transformers.learn, []

    def fail_late(self, batch) -> None:
        if self.optimizer.param_groups[0]["lr"] > 1e-4 * (script.WARM_UP + 1.5) / 10_000:
            failures.append(1)
            raise torch.OutOfMemoryError("CUDA out of memory")
        learn(self, batch)

    monkeypatch.setattr(script.Transformers, "learn", fail_late)
    results = script.run(case, CPU, rounds=4, steps=1)
    assert results["transformers"].failure == "out of memory"
    assert failures == [1]
    assert len(results["level 3"].times) == 4


@pytest.mark.parametrize(
    ("size", "seq_length", "memory", "rows"),
    [("base", 128, 80e9, 256), ("base", 512, 140e9, 256), ("base", 512, 80e9, 128),
     ("large", 512, 24e9, 8), ("large", 512, 1e9, 1)],
)  # fmt: skip
def test_the_batch_is_the_papers_or_halved_until_it_fits(script, size, seq_length, memory, rows):
    assert script.default_batch_size(PRESETS[size], seq_length, memory) == rows


def test_the_cases_are_the_fastest_way_and_what_each_choice_brings(script):
    cases = script.cases_of("base", 128, 256, compiling=True)
    best = cases[0]
    assert (best.products, best.compiled, best.vocab_size) == ("bf16", True, 30_522)
    assert cases[1:] == [replace(best, vocab_size=30_592), replace(best, compiled=False),
                         replace(best, products="tf32")]  # fmt: skip
    assert 30_592 % 64 == 0
    assert all(not c.compiled for c in script.cases_of("base", 128, 256, compiling=False))


# How many operations a step really does.


def test_the_formula_counts_what_torch_counts_but_for_the_small_heads():
    """torch also counts the pooler and the sentence head, once a row; nothing else differs."""
    config = BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=256)  # fmt: skip
    rows, seq, masks = 4, 32, 5
    model = BertForPreTraining(config)
    batch = {
        "input_ids": torch.randint(5, 500, (rows, seq)),
        "token_type_ids": torch.zeros(rows, seq, dtype=torch.int64),
        "attention_mask": torch.ones(rows, seq, dtype=torch.int64),
        "masked_lm_positions": torch.arange(masks).repeat(rows, 1),
        "masked_lm_ids": torch.ones(rows, masks, dtype=torch.int64),
        "masked_lm_weights": torch.ones(rows, masks),
        "next_sentence_labels": torch.zeros(rows, dtype=torch.int64),
    }
    with FlopCounterMode(display=False) as counter:
        pretraining_losses(*forward(model, batch), batch).total.backward()
    small_heads = 3 * 2 * rows * (64 * 64 + 64 * 2)
    expected = rows * seq * training_flops(config, seq_length=seq)
    assert counter.get_total_flops() == expected + small_heads
    assert small_heads < 0.02 * expected


# The page and the errors.


def whole_benchmark(script: ModuleType, monkeypatch: pytest.MonkeyPatch, out: Path) -> None:
    monkeypatch.setattr(script, "WARM_UP", 1)
    monkeypatch.setattr(sys, "argv", [
        "gpu_pretrain.py", *script.ON_CPU.split(), "--no-compile", "--out", str(out)])  # fmt: skip
    script.main()


def test_the_whole_page_is_written_on_the_cpu(script, tmp_path, monkeypatch, capsys):
    out = tmp_path / "page.md"
    whole_benchmark(script, monkeypatch, out)
    text = out.read_text(encoding="utf-8")
    assert text.strip() in capsys.readouterr().out
    speed = [line for line in text.splitlines() if line.startswith("| tiny | 4 × 32 |")]
    assert [line.split(" | ")[2:5] for line in speed] == [
        ["bf16", "no", "30,522"], ["bf16", "no", "30,592"], ["tf32", "no", "30,522"]]  # fmt: skip
    assert text.count("(the one that a step gets)") == 1
    assert "pairs made ahead in a thread" in text
    kernels = text.partition("| kernel | calls | ms | share |")[2].splitlines()[2:]
    shares = [float(line.split("|")[-2].strip(" %")) for line in kernels if line]
    assert len(shares) == 20 and shares == sorted(shares, reverse=True) and 50 < sum(shares) <= 100


def test_without_a_gpu_one_line_says_so_and_how_to_try_it(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    out = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["gpu_pretrain.py", "--out", str(out)])
    script.main()
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1 and "sees no GPU" in printed and script.ON_CPU in printed
    assert out.read_text(encoding="utf-8") == script.unmeasured_page()
    measured = "# Pretraining\n\nMade by `python benchmarks/gpu_pretrain.py`: a measurement"
    out.write_text(measured, encoding="utf-8")
    script.main()
    assert out.read_text(encoding="utf-8") == measured


def test_the_published_page_is_a_measurement_or_says_that_there_is_none(script):
    text = (SCRIPT.parents[1] / "results" / "gpu_pretrain.md").read_text(encoding="utf-8")
    if script.NOT_MEASURED in text:
        assert text == script.unmeasured_page()
    else:
        assert "Made by `python benchmarks/gpu_pretrain.py" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["--rounds", "1"], "--rounds is 1"), (["--batch-size", "0"], "--batch-size is 0"),
     (["--seq-length", "128", "600"], "each must lie in 8 … 512"), (["--device", "tpu"], "tpu")],
)  # fmt: skip
def test_a_mistake_is_told_in_one_line(script, monkeypatch, capsys, arguments, word):
    monkeypatch.setattr(sys, "argv", ["gpu_pretrain.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and word in error
