"""How many operations a token needs, and which peak a device is given."""

import pytest

from bert_experiments.cost import GPUS, TERA, floating_point_operations, known_gpu, training_flops
from bert_run.config import PRESETS

BASE = PRESETS["base"]


@pytest.mark.parametrize(("seq_length", "million"), [(128, 546), (512, 588)])
def test_a_token_of_base_needs_about_546_million_operations_at_128_and_588_at_512(
    seq_length, million
):
    """Within 0.2%: round figures take 15% for 19 masks of 128."""
    assert training_flops(BASE, seq_length=seq_length) == pytest.approx(million * 1e6, rel=2e-3)


@pytest.mark.parametrize(("seq_length", "tokens"), [(128, 906_000), (512, 842_000)])
def test_half_of_989_tera_are_about_906_thousand_tokens_a_second_at_128_and_842_at_512(
    seq_length, tokens
):
    rate = 0.5 * 989e12 / training_flops(BASE, seq_length=seq_length)
    assert rate == pytest.approx(tokens, rel=2e-3)


def test_the_parts_of_base_at_128_are_those_worked_out_by_hand():
    parts = floating_point_operations(BASE, seq_length=128, asked=0.125)
    assert parts == {
        "matrix products of the layers": 72 * (4 * 768**2 + 2 * 768 * 3072),  # 509.6 million
        "attention": 144 * 128 * 768,  # queries by keys, weights by values: 14.2 million
        "MLM head": 0.75 * (768**2 + 768 * 30522),  # 18.0 million for every eighth position
    }


def test_the_mlm_head_on_every_token_adds_more_than_a_fifth():
    """The reason to gather the masked positions first: 545 million operations become 668."""
    at_128 = training_flops(BASE, seq_length=128)
    everywhere = sum(floating_point_operations(BASE, seq_length=128, asked=1.0).values())
    assert everywhere / at_128 == pytest.approx(668 / 545, rel=1e-3)


def test_the_whole_recipe_of_base_is_24_million_tera_operations():
    """900,000 steps of 256 x 128 tokens and 100,000 of 256 x 512, 42.6 billion token slots."""
    slots = {128: 900_000 * 256 * 128, 512: 100_000 * 256 * 512}
    assert round(sum(slots.values()) / 1e9, 1) == 42.6
    total = sum(n * training_flops(BASE, seq_length=length) for length, n in slots.items())
    assert round(total / 1e19, 1) == 2.4


@pytest.mark.parametrize(
    ("device", "name", "bf16"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100", 312e12),
        ("NVIDIA H100 80GB HBM3", "H100", 989e12),
        ("NVIDIA H100 PCIe", "H100 PCIe", 756e12),
        ("NVIDIA H200", "H200", 989e12),
        ("NVIDIA H200 NVL", "H200 NVL", 836e12),
        ("NVIDIA L4", "L4", 121e12),
        ("NVIDIA L40S", "L40S", 362e12),
        ("NVIDIA GeForce RTX 4090", "RTX 4090", 165e12),
        ("Tesla T4", "T4", None),
    ],
)
def test_a_gpu_is_known_by_the_name_that_torch_gives_it(device, name, bf16):
    gpu = known_gpu(device)
    assert gpu.name == name
    assert gpu.peak("bf16") == bf16


@pytest.mark.parametrize("device", ["NVIDIA L400", "AMD Instinct MI300X", "x86_64", "NVIDIA A10G"])
def test_a_device_that_is_not_in_the_table_is_not_taken_for_one_that_is(device):
    assert known_gpu(device) is None


def test_float32_numbers_go_by_tf32_where_there_is_such_a_thing():
    assert known_gpu("NVIDIA A100-SXM4-80GB").peak("tf32") == 156 * TERA
    assert known_gpu("Tesla T4").peak("tf32") == 8.1 * TERA


def test_tf32_is_at_most_about_half_of_bf16_and_never_below_plain_float32():
    for gpu in GPUS:
        assert gpu.bf16 is None or gpu.fp32 <= gpu.tf32 <= 0.52 * gpu.bf16, gpu.name
