"""Which examples a step takes: each once an epoch, texts of like length together."""

import numpy as np
import pytest

from bert_finetuning.train import Batches

LENGTHS = np.random.default_rng(0).integers(5, 120, 1_003).tolist()


@pytest.mark.parametrize("by_length", [True, False])
@pytest.mark.parametrize("count", [1, 7, 64, 1_003])
def test_every_epoch_takes_every_reading_once_and_what_is_left_over_is_kept(count, by_length):
    batches = Batches(LENGTHS[:count], 16, seed=3, by_length=by_length)
    assert batches.steps_per_epoch == -(-count // 16)
    for epoch in range(3):
        steps = range(epoch * batches.steps_per_epoch, (epoch + 1) * batches.steps_per_epoch)
        taken = [batches(step) for step in steps]
        assert sorted(np.concatenate(taken)) == list(range(count))
        sizes = sorted(map(len, taken))
        assert sizes[1:] == [16] * (len(sizes) - 1) and sizes[0] == (count - 1) % 16 + 1


def test_a_step_is_a_function_of_seed_and_number_alone():
    one, other = Batches(LENGTHS, 16, seed=3), Batches(LENGTHS, 16, seed=3)
    for step in (130, 2, 64, 2):
        assert np.array_equal(one(step), other(step))
    assert not np.array_equal(one(2), Batches(LENGTHS, 16, seed=4)(2))


def test_epochs_and_their_batches_are_shuffled_anew():
    batches = Batches(LENGTHS, 16, seed=3)
    first, second = ({frozenset(batch.tolist()) for batch in batches.batches_of(epoch)}
                     for epoch in (0, 1))  # fmt: skip
    assert len(first & second) < 3
    means = [np.mean(batches.lengths[batch]) for batch in batches.batches_of(0)]
    assert np.mean(np.diff(means) > 0) < 0.7, "short ones come before long ones"


def padding(batches: Batches) -> float:
    rows = [batches.lengths[batch] for batch in batches.batches_of(0)]
    return 1 - sum(row.sum() for row in rows) / sum(row.max() * len(row) for row in rows)


def test_lengths_that_go_together_save_most_of_the_padding():
    assert padding(Batches(LENGTHS, 16, seed=0, by_length=False)) > 0.4
    assert padding(Batches(LENGTHS, 16, seed=0)) < 0.12


def test_a_few_examples_are_mixed_rather_than_sorted():
    """Else the same texts would stand together in every epoch. 256 in 8 batches: pools of two."""
    batches = Batches(LENGTHS[:256], 32, seed=0)
    spread = [np.ptp(batches.lengths[batch]) for batch in batches.batches_of(0)]
    assert min(spread) > 30, "all of one length"
