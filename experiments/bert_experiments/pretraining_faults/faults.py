"""The healthy run, and the same run with one fault each."""

from dataclasses import replace
from unittest.mock import patch as exchanged

import torch.nn.functional as F
from torch import Tensor

from bert_corpus.pairs import Batch
from bert_experiments.pretraining_faults.runs import HEALTHY, Parts, Patch, Run, Text
from bert_paper import masking
from bert_paper.model import Losses
from bert_paper.training import Task, TensorBatch, forward

# --- Faults in the code, each put into a run from outside ----------------------------------------


def decay_everything(parts: Parts) -> None:
    """Weight decay on the biases and layer norms too."""
    highest = max(group["weight_decay"] for group in parts.optimizer.param_groups)
    for group in parts.optimizer.param_groups:
        group["weight_decay"] = highest


class AnyTokenMasked(Task):
    """Hides [CLS] and [SEP] as if they were words; padding stays."""

    def asked(self, pairs: Batch) -> TensorBatch:
        def every_token(batch: TensorBatch) -> Tensor:
            return batch["attention_mask"].bool()

        with exchanged.object(masking, "maskable", every_token):
            return super().asked(pairs)


class LabelsShifted(Task):
    """Asks for a masked word one position too early, as if the model read from left to right."""

    def asked(self, pairs: Batch) -> TensorBatch:
        batch = super().asked(pairs)
        earlier = (batch["masked_lm_positions"] - 1).clamp(min=0)
        return {**batch, "masked_lm_positions": earlier}


def change_task(kind: type[Task]) -> Patch:
    """Both tasks, training and held-out, are of this kind: they share one masking function."""

    def change(parts: Parts) -> None:
        parts.training, parts.heldout = (
            kind(**vars(task)) for task in (parts.training, parts.heldout)
        )

    change.__name__ = kind.__name__
    return change


def average_rows_first(parts: Parts) -> None:
    """The loss is the mean over the rows of each row's own mean, in place of the mean over all
    masked tokens: a token of a row with few masks counts more."""
    model = parts.model

    def loss(batch: TensorBatch, *, mask_count=None, pair_count=None) -> Losses:
        words, pairs = forward(model, batch)
        weights = batch["masked_lm_weights"]
        each = F.cross_entropy(words.flatten(0, 1), batch["masked_lm_ids"].flatten(),
                               reduction="none").view_as(weights)  # fmt: skip
        rows = (each * weights).sum(1) / weights.sum(1).clamp(min=1)
        return Losses(rows.mean(), 0 * pairs.sum())

    model.loss = loss


# --- The gallery ---------------------------------------------------------------------------------

HEALTHY_RUN = Run("healthy")
RATE = HEALTHY.learning_rate

NO_WARM_UP = Run("no warm-up", {"warmup_steps": 0})

FAULTS = (
    Run("rate too high", {"learning_rate": 10 * RATE}),
    Run("rate too low", {"learning_rate": RATE / 100}),
    NO_WARM_UP,
    Run("clipping near zero", {"max_grad_norm": 1e-6}),
    Run("initial values too large", {"initializer_range": 1.0}),
    Run("decay on norms and biases", patch=decay_everything),
    Run("mean of means", patch=average_rows_first),
    Run("masks on special tokens", patch=change_task(AnyTokenMasked)),
    Run("labels shifted by one", patch=change_task(LabelsShifted)),
    Run("vocabulary of another text", text=Text(kind_of_vocabulary="shopping_list")),
    Run("too little text", text=Text(stories=2)),
)
# A fault that moves a loss no further than another seed does has shown no harm.
OTHER_SEEDS = tuple(replace(run, seed=seed) for run in (HEALTHY_RUN, NO_WARM_UP) for seed in (1, 2))
GALLERY = (HEALTHY_RUN, *FAULTS, *OTHER_SEEDS)
