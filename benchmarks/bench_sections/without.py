"""Level 3 without one of its optimizations, which `BENCH_WITHOUT` names.

The optimization is left out when this module is imported, since memory is set up before torch is
loaded.
"""

import math
import os
from functools import partial

import bert_run.cpu

LEFT_OUT = os.environ["BENCH_WITHOUT"]

if LEFT_OUT == "keeping freed memory":
    bert_run.cpu.keep_freed_memory = lambda: None

import torch.nn.functional as F  # noqa: E402

from bench_sections import levels  # noqa: E402
from bert_paper import cpu_kernels  # noqa: E402

if LEFT_OUT == "word loss in blocks":
    cpu_kernels.LARGE = math.inf
elif LEFT_OUT == "our own dropout":
    cpu_kernels.dropout = lambda x, prob: F.dropout(x, prob)
elif LEFT_OUT == "our own attention":
    cpu_kernels.attention = lambda query, key, value, mask, prob: F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=prob
    )

CHANGES = {
    "head only on masked positions": {"every_token": True},
    "fused AdamW": {"adam": "bert-adam"},
}
KINDS = {"level 3 without": partial(levels.level_3, **CHANGES.get(LEFT_OUT, {}))}
