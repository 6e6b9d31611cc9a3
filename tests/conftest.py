"""Which tests run, and how strictly: `make test` is quick, `make test-all` (`pytest --all`) whole.

With `--all` the shapes of every signature are checked at every call, too: a wrong one raises. The
import hook that does it must stand before the first import of a package of ours, so it is put up
here, where pytest looks first.
"""

import io
import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
from PIL import Image

PACKAGES = ["bert_corpus", "bert_run", "bert_numpy", "bert_lowlevel", "bert_paper",
            "bert_finetuning", "bert_experiments"]  # fmt: skip

# A whole number may stand where a float is asked for (PEP 484), say a dropout of 0.
BEARTYPE = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

os.environ["BERT_LOCAL_EXERCISES"] = "off"  # the tests are of the course: see WRITING.md
sys.path.insert(0, str(Path(__file__).parent))  # tests are not a package

from mechanisms import mechanisms_of  # noqa: E402

if "PYTEST_XDIST_WORKER" in os.environ:  # one of several processes: a core is all it has
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="the slow tests too; check all shapes")


def modules_with_shapes() -> list[str]:
    """Those whose signatures name shapes. The others would only become slower."""
    root = Path(__file__).resolve().parents[1]
    return [
        ".".join(path.relative_to(root).with_suffix("").parts[1:])
        for package in PACKAGES
        for path in sorted(root.glob(f"*/{package}/**/*.py"))
        if "jaxtyping" in path.read_text(encoding="utf-8")
    ]


def check_all_shapes() -> None:
    for package in PACKAGES:
        assert package not in sys.modules, f"{package} was imported before the hook"
    jaxtyping.install_import_hook(modules_with_shapes(), BEARTYPE)


if "--all" in sys.argv:  # before the conftest.py of a folder that is named, which imports packages
    check_all_shapes()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--all") and "--all" not in sys.argv:  # one of several processes
        check_all_shapes()
    from bert_run.cpu import configure_cpu

    configure_cpu()  # before the first test file loads torch: threads that spin slow one another


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the slow tests out, except those that are named by file or node when one file is run:
    whoever names a file wants it whole."""
    if is_whole(config):
        return
    slow = {item for item in items if is_slow(item.path, getattr(item, "originalname", item.name))}
    config.hook.pytest_deselected(items=[item for item in items if item in slow])
    items[:] = [item for item in items if item not in slow]


def is_whole(config: pytest.Config) -> bool:
    names_a_file = any(argument.split("::")[0].endswith(".py") for argument in config.args)
    return config.getoption("--all") or names_a_file


@pytest.fixture(scope="session", autouse=True)
def no_picture_is_drawn(request) -> Iterator[Callable[[Any], bytes]]:
    """Half of a short run is the drawing of its curve. So where slow tests are left out, a picture
    is one dot, except for a test that asks for `pictures`. Yields what draws one."""
    from bert_run.pictures import Picture

    with pytest.MonkeyPatch.context() as patch:
        draw = Picture._repr_png_
        if not is_whole(request.config):
            file = io.BytesIO()
            Image.new("L", (1, 1)).save(file, "png")
            patch.setattr(Picture, "_repr_png_", lambda _: file.getvalue())
        yield draw


@pytest.fixture
def pictures(no_picture_is_drawn, monkeypatch) -> None:
    """Pictures are drawn in this test."""
    monkeypatch.setattr("bert_run.pictures.Picture._repr_png_", no_picture_is_drawn)


@cache
def is_slow(path: Path, test: str) -> bool:
    """Whether a test function, found once for all of its parameters, has a slow mechanism."""
    return bool(mechanisms_of(test, path, *conftests_of(path.parent)))


@cache
def conftests_of(folder: Path) -> list[Path]:
    """In the folder and above it."""
    found = [each / "conftest.py" for each in (folder, *folder.parents)]
    return [path for path in found if path.is_file()]


@pytest.fixture
def shapes_unchecked() -> Iterator[None]:
    """For tests of `torch.compile`, which cannot see through the checks, and of values that the
    checks would refuse before the code does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def central_range(n: int, p: float, *, error: float = 1e-7) -> tuple[int, int]:
    """Counts that n tosses of probability p stay within, except with a chance of `error`.

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


# A small corpus and a small finished run of level 3, made once and shared. What they need of the
# packages is imported when a test asks for it: few do.

SUBJECTS = ["the cat", "the dog", "a bird", "my friend", "the old man", "a girl", "the baker"]
VERBS = ["sees", "likes", "follows", "finds", "calls", "feeds", "remembers"]
OBJECTS = ["the river", "a small house", "the red ball", "an apple", "the market", "a song"]


def make_settings(corpus: Path, out: Path, **changes):
    """`PretrainSettings` of a model of a few thousand numbers: a step takes milliseconds."""
    from bert_paper.pretrain import PretrainSettings

    fields = dict(
        corpus=str(corpus), out=out, vocab_size=200, seq_length=32, num_hidden_layers=2,
        hidden_size=32, num_attention_heads=2, intermediate_size=64, max_position_embeddings=40,
        steps=12, batch_size=8, warmup_steps=2, eval_examples=32, device="cpu", precision="fp32",
    )  # fmt: skip
    return PretrainSettings(**{**fields, **changes})


@pytest.fixture(scope="session")
def small_settings() -> Callable:
    return make_settings


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory) -> Path:
    """Four hundred documents of six sentences, one sentence a line."""
    path = tmp_path_factory.mktemp("corpus") / "sentences.txt"
    choice = random.Random(0).choice
    sentence = lambda: f"{choice(SUBJECTS)} {choice(VERBS)} {choice(OBJECTS)} .\n"  # noqa: E731
    documents = ["".join(sentence() for _ in range(6)) for _ in range(400)]
    path.write_text("\n".join(documents), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_run(corpus_file, tmp_path_factory) -> Path:
    """The folder of a finished run."""
    from bert_paper.pretrain import pretrain

    out = tmp_path_factory.mktemp("runs") / "small"
    pretrain(make_settings(corpus_file, out))
    return out
