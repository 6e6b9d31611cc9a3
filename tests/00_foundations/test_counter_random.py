"""Random numbers without a state: spread evenly, unrelated to their neighbors, always the same."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_corpus.pairs import GOLDEN, mix, permute, random_bits, uniforms
from bert_run import device

SAMPLE = 200_000
# A mean of SAMPLE numbers strays this many standard errors once in ten million times (normal law).
SIGMAS = 5.33


def shuffled(size: int, *, seed: int = 0, turn: int = 0) -> np.ndarray:
    return permute(np.arange(size), size, seed=seed, turn=np.full(size, turn))


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x.ravel(), y.ravel())[0, 1])


def test_the_hash_is_splitmix64():
    # Its first outputs for seed 1234567, as listed with implementations in many languages
    # (rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64).
    state = np.uint64(1234567) + np.arange(1, 6, dtype=np.uint64) * GOLDEN
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423,
                 4593380528125082431, 16408922859458223821]  # fmt: skip
    assert mix(state).tolist() == published


def test_uniforms_lie_in_0_to_1_with_the_mean_and_variance_of_the_uniform_distribution():
    draws = uniforms(3, np.arange(SAMPLE), 1)
    assert draws.min() >= 0
    assert draws.max() < 1
    # The variance is 1/12; that of the squared distance from the mean is 1/180.
    assert abs(draws.mean() - 0.5) < SIGMAS * np.sqrt(1 / 12 / SAMPLE)
    assert abs(draws.var() - 1 / 12) < SIGMAS * np.sqrt(1 / 180 / SAMPLE)


def test_each_of_the_64_bits_is_set_half_of_the_time(binomial_range):
    bits = random_bits(5, np.arange(SAMPLE), 1)[:, 0]
    low, high = binomial_range(SAMPLE, 0.5, error=1e-7 / 64)
    for place in range(64):
        set_bits = int(((bits >> np.uint64(place)) & np.uint64(1)).sum())
        assert low <= set_bits <= high, f"bit {place}"


NEIGHBORS = {
    "the index before": lambda i: (uniforms(0, i, 3), uniforms(0, i + 1, 3)),
    "the draw before": lambda i: (uniforms(0, i, 4)[:, 1:], uniforms(0, i, 4)[:, :-1]),
    "the seed before": lambda i: (uniforms(0, i, 3), uniforms(1, i, 3)),
    "another stream": lambda i: (uniforms(0, i, 3), uniforms(0, i, 3, stream=1)),
}


@pytest.mark.parametrize("neighbor", NEIGHBORS)
def test_a_draw_tells_nothing_about_its_neighbor(neighbor, binomial_range):
    x, y = NEIGHBORS[neighbor](np.arange(SAMPLE // 4))
    assert abs(correlation(x, y)) < SIGMAS / np.sqrt(x.size)
    # Beyond straight lines: the pair is equally often in each of 8 x 8 fields.
    fields = np.bincount(((x * 8).astype(int) * 8 + (y * 8).astype(int)).ravel(), minlength=64)
    low, high = binomial_range(x.size, 1 / 64, error=1e-7 / 64)
    assert fields.min() >= low
    assert fields.max() <= high


def test_no_two_rows_are_equal():
    # Of 100,000 different 64-bit numbers, two agree by accident with a chance of 3e-10.
    first_draw = random_bits(0, np.arange(100_000), 1)
    assert len(np.unique(first_draw)) == 100_000


def test_draws_depend_on_seed_index_and_stream_alone():
    index = np.array([7, 123_456_789_012, 0])
    together = uniforms(2, index, 5, stream=1)
    alone = np.concatenate([uniforms(2, index[i : i + 1], 5, stream=1) for i in range(3)])
    assert np.array_equal(together, alone)
    assert np.array_equal(uniforms(2, index, 3, stream=1), together[:, :3])


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31, 2**40, 2**63, 2**63 + 11])
def test_torch_hashes_to_the_same_bits_as_numpy(seed):
    index = np.array([0, 1, 2, 999_999, 2**31, 10**12, 2**62, 2**63 - 1])
    ours = device.uniforms(seed, torch.from_numpy(index), 40)  # 24 bits of the hash
    bits = random_bits(seed, index, 40, stream=device.MASKING_STREAM)
    assert np.array_equal((ours.double() * 2**24).numpy().astype(np.uint64), bits >> np.uint64(40))
    assert ours.min() >= 0 and ours.max() < 1


def test_shifting_brings_in_zeros_and_64_bits_read_as_a_signed_number_are_the_same_bits():
    for bits in (0, 1, 2**63 - 1, 2**63, 2**64 - 1, 0x9E3779B97F4A7C15):
        assert np.int64(device.signed(bits)).view(np.uint64) == bits
        shifted = device.shift_right(torch.tensor([device.signed(bits)]), 30)
        assert shifted.item() == bits >> 30


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4096, 4097])
def test_a_shuffle_takes_everything_exactly_once(size):
    for turn in range(3):
        assert np.array_equal(np.sort(shuffled(size, turn=turn)), np.arange(size))


@settings(max_examples=50, deadline=None)
@given(size=st.integers(1, 3000), seed=st.integers(0, 2**63), turn=st.integers(0, 2**40))
def test_any_shuffle_of_any_size_takes_everything_exactly_once(size, seed, turn):
    assert np.array_equal(np.sort(shuffled(size, seed=seed, turn=turn)), np.arange(size))


def test_every_turn_and_every_seed_has_another_order():
    orders = [shuffled(50, seed=s, turn=t) for s in range(4) for t in range(4)]
    assert len({order.tobytes() for order in orders}) == 16  # of 50! orders


def test_positions_of_several_turns_can_be_asked_for_together():
    turn = np.array([0, 5, 1, 0, 9])
    position = np.array([0, 11, 2, 96, 4])
    together = permute(position, 97, seed=1, turn=turn)
    pairs = zip(turn, position, strict=True)
    assert together.tolist() == [shuffled(97, seed=1, turn=t)[p] for t, p in pairs]


@pytest.mark.parametrize("size", [16, 1000])
def test_each_part_of_a_shuffle_is_equally_likely(size, binomial_range):
    # Below a dozen things, walking along short cycles favors some places by a few per cent.
    turns = np.arange(20_000)
    low, high = binomial_range(len(turns), 1 / 8, error=1e-7 / 8)
    for position in (0, 1, size - 1):
        landed = permute(np.full_like(turns, position), size, seed=0, turn=turns)
        counts = np.bincount(landed * 8 // size, minlength=8)
        assert counts.min() >= low
        assert counts.max() <= high


def test_neighbors_do_not_stay_neighbors_in_a_shuffle():
    order = shuffled(SAMPLE)
    assert abs(correlation(order[1:], order[:-1])) < SIGMAS / np.sqrt(SAMPLE)
    assert abs(correlation(order, np.arange(SAMPLE))) < SIGMAS / np.sqrt(SAMPLE)


def test_a_shuffle_of_billions_needs_no_table():
    size = 10**11
    landed = permute(np.arange(1000), size, seed=0, turn=np.zeros(1000, np.int64))
    assert len(np.unique(landed)) == 1000
    assert landed.min() >= 0
    assert size * 0.98 < landed.max() < size  # the largest of 1,000: below 98% once in 6e8 times
