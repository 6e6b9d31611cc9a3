"""What learns, and at which rate: frozen layers, rates that fall from layer to layer, decay.

The optimiser is AdamW unless another is asked for. The paper's Adam leaves out the correction of
the bias: its moments start at zero, and its steps are up to 6.57 times larger than Adam's, most so
at step 12. A pretraining run of a million steps never notices. In a fine-tuning run of a hundred
steps that is the whole warm-up, and some runs never get over it and end with the majority class
(Mosbach et al. 2021, arXiv 2006.04884; Zhang et al. 2021, arXiv 2006.05987).
"""

import re

import torch

from bert_finetuning.heads import BertWithHead
from bert_finetuning.settings import FinetuneSettings
from bert_paper.optimizer import BertAdam
from bert_run.errors import UserError
from bert_run.parameters import is_decayed
from bert_run.settings import AdamSettings


def depth(name: str, layers: int) -> int:
    """How far a parameter lies below the head: 0 for the head and the pooler, 1 for the top layer,
    `layers` for the lowest, one more for the embeddings."""
    if name.startswith("bert.embeddings."):
        return layers + 1
    layer = re.match(r"bert\.encoder\.layer\.(\d+)\.", name)
    return layers - int(layer[1]) if layer else 0


def freeze(model: BertWithHead, what: str) -> None:
    """Let the embeddings, they and the lowest layers, or all of the encoder stay as they are."""
    layers = model.config.num_hidden_layers
    if what == "nothing":
        return
    lowest = {"embeddings": 0, "encoder": layers}.get(what)
    lowest = int(what) if lowest is None else lowest
    if lowest > layers:
        raise UserError(f"--freeze {what}: the model has {layers} layers")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(depth(name, layers) <= layers - lowest)


def make_optimizer(model: BertWithHead, settings: FinetuneSettings) -> torch.optim.Optimizer:
    """One group of parameters for each depth and for decayed and others; what is frozen is in none.

    A group's rate is the run's times its `share`.
    """
    adam = AdamSettings(
        learning_rate=settings.rate(model.config.hidden_size),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
    )
    groups: dict[tuple[int, bool], list] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            key = depth(name, model.config.num_hidden_layers), is_decayed(name)
            groups.setdefault(key, []).append(parameter)
    described = [
        {
            "params": parameters,
            "weight_decay": adam.weight_decay if decayed else 0.0,
            "share": settings.layer_rate_decay**below,
        }
        for (below, decayed), parameters in groups.items()
    ]
    if settings.optimizer == "bert-adam":
        return BertAdam(described, adam)
    return torch.optim.AdamW(
        described,
        lr=adam.learning_rate,
        betas=(adam.beta1, adam.beta2),
        eps=adam.epsilon,
        fused=True,
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]


def with_dropout(model: BertWithHead, settings: FinetuneSettings) -> BertWithHead:
    """The same model with other shares of dropout, where the settings give them."""
    asked = {
        "hidden_dropout_prob": settings.hidden_dropout,
        "attention_probs_dropout_prob": settings.attention_dropout,
    }
    changes = {name: share for name, share in asked.items() if share is not None}
    if not changes:
        return model
    changed = type(model)(model.config.with_changes(**changes), model.head)
    changed.load_state_dict(model.state_dict())
    return changed
