"""What the next steps need, made in a thread of its own while this step computes.

A batch is a function of its step's number, so making it early changes nothing: the same batches
come in the same order, and a run that goes on at step s asks for s, s + 1, … as one that was never
stopped. Only what needs no GPU belongs in here: NumPy lets other threads work while it computes,
and what is sent to the device stays in the order in which one thread sends it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

Made = TypeVar("Made")
AHEAD = 2  # one is ready when a step ends, the other levels out what now and then takes longer


@contextmanager
def prefetch(
    make: Callable[[int], Made], steps: Iterable[int], *, ahead: int = AHEAD
) -> Iterator[Iterator[Made]]:
    """`make(step)` of each of the steps, in their order, at most `ahead` of them in advance.

    with prefetch(pairs_of, range(start, steps)) as made:
        for pairs in made: …

    What `make` raises is raised where its result is read. When the block is left, also by Ctrl-C,
    pending work is canceled and the thread ends after the call that it has begun.
    """
    worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prefetch")
    try:
        yield _in_order(worker, make, iter(steps), ahead)
    finally:
        worker.shutdown(cancel_futures=True)


def _in_order(
    worker: ThreadPoolExecutor, make: Callable[[int], Made], steps: Iterator[int], ahead: int
) -> Iterator[Made]:
    waiting = deque(worker.submit(make, step) for step in islice(steps, ahead))
    while waiting:
        made = waiting.popleft().result()
        waiting.extend(worker.submit(make, step) for step in islice(steps, 1))
        yield made
