"""Every test runs with the shapes of the signatures checked: a wrong one raises at the call.

The hook must stand before the first import of a package of ours, so it is put up here, where
pytest looks first.
"""

import math
import os
import sys
from collections.abc import Callable, Iterator

import jaxtyping
import numpy as np
import pytest

PACKAGES = ["bert_corpus", "bert_run", "bert_numpy", "bert_lowlevel", "bert_paper",
            "bert_finetuning"]  # fmt: skip

# A whole number may stand where a float is asked for (PEP 484), say a dropout of 0.
BEARTYPE = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

if "PYTEST_XDIST_WORKER" in os.environ:  # one of several processes: a core is all it has
    os.environ.setdefault("OMP_NUM_THREADS", "1")

for package in PACKAGES:
    assert package not in sys.modules, f"{package} was imported before its shapes could be checked"
jaxtyping.install_import_hook(PACKAGES, BEARTYPE)

from bert_run.cpu import settle_cpu  # noqa: E402 - the hook comes first

settle_cpu()  # before the first test file loads torch: threads that spin would slow one another


@pytest.fixture
def shapes_unchecked() -> Iterator[None]:
    """For tests of `torch.compile`, which cannot see through the checks, and of values that the
    checks would refuse before the code does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def central_range(n: int, p: float, *, error: float = 1e-7) -> tuple[int, int]:
    """Counts that n tosses of probability p stay within, but for a chance of `error`.

    Exact: the tails of the binomial distribution are summed, half of `error` at each end.
    """
    counts = np.arange(n + 1)
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, n + 1)).cumsum()])
    log_ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    mass = np.exp(log_ways + counts * math.log(p) + (n - counts) * math.log1p(-p))
    low = int(np.searchsorted(mass.cumsum(), error / 2))
    high = n - int(np.searchsorted(mass[::-1].cumsum(), error / 2))
    return low, high


@pytest.fixture
def binomial_range() -> Callable[..., tuple[int, int]]:
    """`binomial_range(n, p)`: the lowest and highest count that is no accident (1e-7)."""
    return central_range
