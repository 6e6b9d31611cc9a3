"""Batches made ahead: the same ones, in order, and no thread left behind."""

import threading
import time

import numpy as np
import pytest

from bert_corpus.pairs import PairDataset, SpecialTokens
from bert_paper.training import prefetch
from bert_run.errors import UserError


class Corpus:
    """Forty documents of five sentences of four tokens."""

    tokens = np.arange(800) + 10
    sentence_starts = np.arange(0, 801, 4)
    document_starts = np.arange(0, 201, 5)


PAIRS = PairDataset(Corpus(), SpecialTokens(pad=0, cls=1, sep=2), seq_length=24, seed=3)


def pairs_of(step: int) -> dict[str, np.ndarray]:
    return PAIRS.batch(np.arange(step * 4, step * 4 + 4))


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("made-ahead")]


def assert_equal_batches(found: list[dict], expected: list[dict]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_the_batches_are_those_made_one_after_another(ahead):
    with prefetch(pairs_of, range(11), ahead=ahead) as made:
        assert_equal_batches(list(made), [pairs_of(step) for step in range(11)])
    assert threads() == []


def test_a_run_that_goes_on_gets_the_batches_it_would_have_got():
    with prefetch(pairs_of, range(10)) as made:
        whole = list(made)
    with prefetch(pairs_of, range(6, 10)) as made:
        assert_equal_batches(list(made), whole[6:])


def test_the_next_batches_are_made_in_another_thread_while_this_one_is_used():
    made_by, second_is_made = {}, threading.Event()

    def make(step: int) -> int:
        made_by[step] = threading.current_thread()
        if step == 1:
            second_is_made.set()
        return step

    with prefetch(make, range(5)) as made:
        assert next(made) == 0
        assert second_is_made.wait(timeout=5), "nobody asked for step 1 yet, and it is made"
    assert threading.current_thread() not in made_by.values()


def test_no_more_than_asked_for_is_made_in_advance():
    begun = []

    def make(step: int) -> int:
        begun.append(step)
        return step

    with prefetch(make, range(100), ahead=2) as made:
        next(made)
        time.sleep(0.1)
        assert begun == [0, 1, 2]  # the one in use, and two in advance


def test_what_goes_wrong_is_raised_at_its_step_and_as_it_was():
    def make(step: int) -> int:
        if step == 3:
            raise UserError("document 7 is damaged: build the store again")
        return step

    seen = []
    with pytest.raises(UserError, match="document 7 is damaged"):  # noqa: SIM117
        with prefetch(make, range(10)) as made:
            for step in made:
                seen.append(step)
    assert seen == [0, 1, 2]
    assert threads() == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_leaves_no_thread_and_begins_nothing_more(interruption):
    begun = []

    def make(step: int) -> int:
        begun.append(step)
        time.sleep(0.02)
        return step

    with pytest.raises(interruption):  # noqa: SIM117
        with prefetch(make, range(1000), ahead=5) as made:
            next(made)
            raise interruption
    assert threads() == []
    done = len(begun)
    time.sleep(0.1)
    assert len(begun) == done < 5


def test_steps_that_nobody_asks_for_leave_no_thread():
    with prefetch(pairs_of, range(10)):
        pass
    assert threads() == []
    with prefetch(pairs_of, range(0)) as made:
        assert list(made) == []
