"""A training step of `transformers` and of `torch.nn.TransformerEncoder`, on the same weights.

Nothing of this course that touches torch is loaded here, so both run as they come.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from bench_sections.models import read_batch
from bert_run.config import AdamSettings, BertConfig, Weights, is_decayed
from bert_run.weights import load_weights

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
ADAM = AdamSettings()
Batch = dict[str, Tensor]


def as_tensors(folder: Path) -> Batch:
    return {name: torch.from_numpy(array) for name, array in read_batch(folder).items()}


def products_as(medium: bool) -> None:
    torch.set_float32_matmul_precision("medium" if medium else "highest")


def fused_adamw(model: nn.Module) -> torch.optim.AdamW:
    groups = [
        {"params": [p for name, p in model.named_parameters() if is_decayed(name) == decayed],
         "weight_decay": ADAM.weight_decay * decayed}
        for decayed in (True, False)
    ]  # fmt: skip
    return torch.optim.AdamW(groups, lr=ADAM.learning_rate, betas=(ADAM.beta1, ADAM.beta2),
                             eps=ADAM.epsilon, fused=True)  # fmt: skip


def stepping(
    model: nn.Module, loss: Callable[[], Tensor], precision: str, *,
    optimizer: torch.optim.Optimizer | None = None, clips: bool = True,
) -> Callable[[], float]:  # fmt: skip
    """Forward, backward, clipping, AdamW unless another optimizer is given."""
    optimizer, dtype = optimizer or fused_adamw(model), PRECISIONS[precision]

    def step() -> float:
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            total = loss()
        total.backward()
        if clips:
            nn.utils.clip_grad_norm_(model.parameters(), ADAM.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        return total.item()

    return step


def inputs_of_transformers(batch: Batch) -> Batch:
    """Our masked batch as its `BertForPreTraining` takes it: a label for every token."""
    labels = torch.full_like(batch["input_ids"], -100)
    used = batch["masked_lm_ids"].where(batch["masked_lm_weights"] > 0, -100)
    labels.scatter_(1, batch["masked_lm_positions"], used)
    inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    return {**inputs, "labels": labels, "next_sentence_label": batch["next_sentence_labels"]}


def transformers_step(
    folder: Path, *, precision: str, compiled: bool = False, medium: bool = False
) -> Callable[[], float]:
    """It computes the word logits of every token, as it comes."""
    products_as(medium)
    transformers.utils.logging.disable_progress_bar()
    model = transformers.BertForPreTraining.from_pretrained(folder, attn_implementation="sdpa")
    inputs = inputs_of_transformers(as_tensors(folder))
    called = torch.compile(model.train(), dynamic=False) if compiled else model.train()
    return stepping(model, lambda: called(**inputs).loss, precision)


class EncoderOfTorch(nn.Module):
    """BERT's embeddings and heads around `nn.TransformerEncoder`; the MLM head sees the masked
    positions alone, as in this course."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        hidden, eps = config.hidden_size, config.layer_norm_eps
        self.words = nn.Embedding(config.vocab_size, hidden, config.pad_token_id)
        self.positions = nn.Embedding(config.max_position_embeddings, hidden)
        self.segments = nn.Embedding(config.type_vocab_size, hidden)
        self.LayerNorm = nn.LayerNorm(hidden, eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        layer = nn.TransformerEncoderLayer(
            hidden, config.num_attention_heads, config.intermediate_size,
            config.hidden_dropout_prob, activation="gelu", layer_norm_eps=eps, batch_first=True,
        )  # fmt: skip
        self.encoder = nn.TransformerEncoder(layer, config.num_hidden_layers)
        self.pooler, self.pairs = nn.Linear(hidden, hidden), nn.Linear(hidden, 2)
        self.transform, self.transform_LayerNorm = nn.Linear(hidden, hidden), nn.LayerNorm(
            hidden, eps)  # fmt: skip
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        for part in self.encoder.layers:
            part.dropout = nn.Identity()  # of the feed-forward's middle, where BERT has none

    def encode(self, batch: Batch) -> Tensor:
        ids = batch["input_ids"]
        x = self.words(ids) + self.positions.weight[: ids.shape[1]]
        x = self.dropout(self.LayerNorm(x + self.segments(batch["token_type_ids"])))
        return self.encoder(x, src_key_padding_mask=batch["attention_mask"] == 0)

    def forward(self, batch: Batch) -> Tensor:
        """The sum of both losses."""
        x = self.encode(batch)
        places = batch["masked_lm_positions"][:, :, None].expand(-1, -1, x.shape[-1])
        masked = self.transform_LayerNorm(F.gelu(self.transform(x.gather(1, places))))
        logits = F.linear(masked, self.words.weight, self.bias).flatten(0, 1)
        weights = batch["masked_lm_weights"].flatten()
        each = F.cross_entropy(logits, batch["masked_lm_ids"].flatten(), reduction="none")
        pairs = self.pairs(torch.tanh(self.pooler(x[:, 0])))
        return (each * weights).sum() / weights.sum() + F.cross_entropy(
            pairs, batch["next_sentence_labels"])  # fmt: skip


NAMES = {
    "words.weight": "bert.embeddings.word_embeddings.weight",
    "positions.weight": "bert.embeddings.position_embeddings.weight",
    "segments.weight": "bert.embeddings.token_type_embeddings.weight",
    "LayerNorm": "bert.embeddings.LayerNorm",
    "pooler": "bert.pooler.dense",
    "pairs": "cls.seq_relationship",
    "transform": "cls.predictions.transform.dense",
    "transform_LayerNorm": "cls.predictions.transform.LayerNorm",
    "bias": "cls.predictions.bias",
}
IN_A_LAYER = {
    "self_attn.out_proj": "attention.output.dense",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm1": "attention.output.LayerNorm",
    "norm2": "output.LayerNorm",
}


def load_into(model: EncoderOfTorch, folder: Path, config: BertConfig) -> None:
    """BERT's weights under the names of `nn.TransformerEncoder`, whose query, key and value are
    one matrix."""
    weights = load_weights(folder, config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights_for(name, weights)))


def weights_for(name: str, weights: Weights) -> np.ndarray:
    if name in NAMES:
        return weights[NAMES[name]]
    part, _, kind = name.rpartition(".")
    if part in NAMES:
        return weights[f"{NAMES[part]}.{kind}"]
    _, _, number, inner = part.split(".", 3)
    layer = f"bert.encoder.layer.{number}"
    if inner == "self_attn":  # in_proj_weight, in_proj_bias
        kind = kind.removeprefix("in_proj_")
        roles = ("query", "key", "value")
        return np.concatenate([weights[f"{layer}.attention.self.{r}.{kind}"] for r in roles])
    return weights[f"{layer}.{IN_A_LAYER[inner]}.{kind}"]


def encoder_of_torch_step(
    folder: Path, *, precision: str, compiled: bool = False, medium: bool = False
) -> Callable[[], float]:
    products_as(medium)
    config, batch = BertConfig.load(folder), as_tensors(folder)
    model = EncoderOfTorch(config)
    load_into(model, folder, config)
    called = torch.compile(model.train(), dynamic=False) if compiled else model.train()
    return stepping(model, lambda: called(batch), precision)


KINDS = {"transformers": transformers_step, "nn.TransformerEncoder": encoder_of_torch_step}
