"""From readings to logits: the model in evaluation, on one rank or shared out over many."""

from collections.abc import Sequence

import numpy as np
import torch

from bert_finetuning.heads import (
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertWithHead,
    SpanLogits,
)
from bert_finetuning.kinds.base import Kind, Logits, Reading, length
from bert_paper.ranks import Ranks
from bert_run.device import mixed_precision, to_device
from bert_run.progress import progress_bar

ALONE = Ranks()
ROWS = 64


@torch.no_grad()
def logits_of(
    model: BertWithHead,
    kind: Kind,
    readings: Sequence[Reading],
    *,
    precision: torch.dtype = torch.float32,
    ranks: Ranks = ALONE,
    progress: str | None = None,
) -> list[Logits]:
    """The logits of every reading, in their order, without those of padding.

    Each rank reads its part, and all get all of them. `progress` names the bar to be shown.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    sizes = [size_of(model, reading) for reading in readings]
    ends = np.cumsum([np.prod(size, dtype=int) for size in sizes])
    flat = np.zeros(int(ends[-1]) if len(ends) else 0, np.float32)
    by_length = np.argsort([length(reading) for reading in readings], kind="stable")
    mine = by_length[ranks.rank :: ranks.size]
    bar = progress_bar(
        len(mine), progress or "", unit="text", disable=progress is None or not ranks.leads
    )
    with bar:
        for first in range(0, len(mine), ROWS):
            rows = mine[first : first + ROWS]
            batch = to_device(
                kind.batch([readings[i] for i in rows], pad_id=model.config.pad_token_id), device
            )
            with mixed_precision(device, precision):
                answer = forward(model, batch)
            for i, logits in zip(rows, each_row(answer), strict=True):
                kept = logits[tuple(map(slice, sizes[i]))]
                flat[ends[i] - kept.size : ends[i]] = kept.ravel()
            bar.update(len(rows))
    model.train(was_training)
    together = ranks.sum(torch.from_numpy(flat).to(device)).cpu().numpy()
    pieces = np.split(together, ends[:-1])
    return [piece.reshape(size) for piece, size in zip(pieces, sizes, strict=False)]


def forward(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor | SpanLogits:
    return model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])


def each_row(answer: torch.Tensor | SpanLogits) -> np.ndarray:
    """Logits row by row; of spans (batch, 2, seq)."""
    if isinstance(answer, SpanLogits):
        answer = torch.stack(answer, dim=1)
    return answer.float().cpu().numpy()


def size_of(model: BertWithHead, reading: Reading) -> tuple[int, ...]:
    """The shape of one reading's logits."""
    if isinstance(model, BertForSequenceClassification):
        return (model.head.num_labels,)
    if isinstance(model, BertForMultipleChoice):
        return (len(reading.input_ids),)
    if isinstance(model, BertForQuestionAnswering):
        return (2, length(reading))
    return (length(reading), model.head.num_labels)
