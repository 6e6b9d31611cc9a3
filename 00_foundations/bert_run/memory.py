"""Does a model fit into this machine? Asked before it is built."""

import os
from pathlib import Path

from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.parameters import count_parameters, parameter_shapes

BYTES_A_PARAMETER = 16  # in float32: the weight, its gradient and Adam's two moments
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
GIBIBYTE = 2**30


def memory_here() -> int | None:
    """Bytes that this machine has, or that this container may use; None where nobody tells."""
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return None
    try:
        return min(installed, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return installed


def refuse_too_large(config: BertConfig) -> None:
    """Raise `UserError` for a model that cannot be trained in the memory there is."""
    parameters, here = count_parameters(parameter_shapes(config)), memory_here()
    needed = BYTES_A_PARAMETER * parameters
    if here is not None and needed > here:
        raise UserError(
            f"a model of {parameters:,} parameters takes {needed / GIBIBYTE:,.0f} GB to train, and "
            f"this machine has {here / GIBIBYTE:,.0f} GB: take a smaller --model, or lower "
            "--hidden-size, --intermediate-size, --num-hidden-layers, --vocab-size or "
            "--max-position-embeddings"
        )
