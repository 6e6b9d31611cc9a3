"""The comparison board: every activation and gradient of NumPy's BERT beside torch's.

    python -m bert_experiments.looking_inside.board                    random weights, 2 layers
    python -m bert_experiments.looking_inside.board --checkpoint DIR   those of a BERT folder

In a notebook: `print(comparison_board(weights, config, batch))`.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from bert_numpy.checks import Batch, check_batch, check_weights
from bert_numpy.encoder import Bert, Gradients
from bert_numpy.model import pretraining_backward, pretraining_forward
from bert_run.config import BertConfig, Weights, parameter_shapes
from bert_run.errors import UserError, command
from bert_run.weights import load_weights

IGNORED = -100  # the label of a token that is not asked for, in transformers
# What `transformers` calls the part whose output we name otherwise.
THEIR_NAMES = {"cls.predictions.transform": "cls.predictions.transform.transform_act_fn"}


@dataclass
class Pass:
    """Everything that one forward and backward pass computes, by name, in the order computed."""

    losses: Weights = field(default_factory=dict)
    activations: Weights = field(default_factory=dict)
    activation_gradients: Weights = field(default_factory=dict)
    parameter_gradients: Weights = field(default_factory=dict)


TITLES = {
    "losses": "Loss",
    "activations": "Activations, upwards",
    "activation_gradients": "Gradients of activations, downwards",
    "parameter_gradients": "Gradients of parameters",
}


def our_pass(weights: Weights, config: BertConfig, batch: Batch) -> Pass:
    """Level 1's own, without dropout."""
    check_weights(weights, config)
    check_batch(batch, config)
    seen = Pass()
    bert = Bert(config, weights, watch=lambda n, x: seen.activations.__setitem__(n, x.copy()))
    gradients = Gradients(watch=lambda n, d: seen.activation_gradients.__setitem__(n, d.copy()))
    losses, cache = pretraining_forward(bert, batch)
    pretraining_backward(cache, gradients)
    seen.losses = {"sum": np.array(losses.total)}
    seen.parameter_gradients = gradients.of
    return seen


def torch_pass(model: Any, batch: Batch) -> Pass:
    """The same of a torch module: `transformers.BertForPreTraining`, or one of this course, whose
    submodules have the common names. Hooks catch what each submodule returns."""
    tensors = {}

    def catch(name: str):
        def hook(module, inputs, output) -> None:
            output = output[0] if isinstance(output, tuple) else output
            if getattr(output, "requires_grad", False):
                output.retain_grad()
                tensors[name] = output

        return hook

    hooks = [module.register_forward_hook(catch(name)) for name, module in model.named_modules()]
    was_training = model.training
    try:
        model.eval().zero_grad()
        loss = torch_loss(model, batch)
        loss.backward()
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    caught = {name: t for name, t in tensors.items() if t.grad is not None}
    return Pass(
        {"sum": loss.detach().numpy()},
        {name: tensor.detach().numpy() for name, tensor in caught.items()},
        {name: tensor.grad.numpy() for name, tensor in caught.items()},
        {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None},
    )


def torch_loss(model: Any, batch: Batch) -> Any:
    """Both losses added up, as torch computes them."""
    import torch
    import torch.nn.functional as F

    tensors = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in batch.items()}
    inputs = [tensors[name] for name in ("input_ids", "token_type_ids", "attention_mask")]
    positions, ids = tensors["masked_lm_positions"], tensors["masked_lm_ids"]
    weights, pairs = tensors["masked_lm_weights"], tensors["next_sentence_labels"]
    if "labels" in inspect.signature(model.forward).parameters:  # transformers: a label per token
        output = model(input_ids=inputs[0], token_type_ids=inputs[1], attention_mask=inputs[2])
        words, is_next = output.prediction_logits, output.seq_relationship_logits
        words = words.gather(1, positions[:, :, None].expand(-1, -1, words.shape[-1]))
    else:
        words, is_next = model(*inputs, positions)
    each = F.cross_entropy(words.flatten(0, 1), ids.flatten(), reduction="none")
    weights = weights.to(each.dtype)
    return (each * weights.flatten()).sum() / weights.sum() + F.cross_entropy(is_next, pairs)


@dataclass(frozen=True)
class Line:
    """One array of the board: its name, its shape, and how far ours is from theirs."""

    name: str
    shape: tuple[int, ...]
    difference: float  # the largest of any entry
    size: float  # the largest entry of theirs, to judge the difference by

    def __str__(self) -> str:
        verdict = "exact" if self.difference == 0 else f"{self.difference:.1e}"
        shape = "×".join(map(str, self.shape)) or "1"
        return f"  {self.name:<58} {shape:>16} {self.size:>10.2e}   {verdict}"


def compare(ours: Weights, theirs: Weights, batch: Batch) -> Iterator[Line]:
    """A line for every array of ours, in the order computed; raises `UserError` when theirs lack
    one."""
    for name, array in ours.items():
        other = theirs.get(THEIR_NAMES.get(name, name), theirs.get(name))
        if other is None:
            raise UserError(
                f"the torch model has no part called {name}: is it a BERT of this kind?"
            )
        if other.size != array.size:  # theirs is of every token, ours of the masked ones
            rows = np.arange(len(other))[:, None]
            other = other[rows, batch["masked_lm_positions"]]
        other = other.reshape(array.shape)
        yield Line(
            name, array.shape, float(np.abs(array - other).max()), float(np.abs(other).max())
        )


def comparison_board(weights: Weights, config: BertConfig, batch: Batch, model: Any = None) -> str:
    """The board as text: the losses, then every activation from the input up, every activation's
    gradient from the losses down, and every parameter's gradient.

    Ours are computed in the type of `weights`. `model` is the torch module to compare with, of the
    same type and holding the same weights; without it, `transformers.BertForPreTraining` is made.
    """
    model = transformers_model(weights, config) if model is None else model
    ours, theirs = our_pass(weights, config, batch), torch_pass(model, batch)
    text, worst = [], 0.0
    for name, title in TITLES.items():
        lines = list(compare(getattr(ours, name), getattr(theirs, name), batch))
        worst = max([worst, *(line.difference for line in lines)])
        text += [title, "─" * len(title), *map(str, lines), ""]
    head = f"  {'array':<58} {'shape':>16} {'largest':>10}   difference"
    kind = next(iter(weights.values())).dtype.name
    return "\n".join([head, "", *text, f"NumPy against torch in {kind}: at most {worst:.1e} apart"])


def transformers_model(weights: Weights, config: BertConfig) -> Any:
    """The reference: Hugging Face's model with these weights."""
    try:
        import torch
        import transformers
    except ImportError:
        raise UserError(
            "the board compares with transformers, which is not installed: pip install transformers"
        ) from None
    fields = {name: getattr(config, name) for name in config.__dataclass_fields__}
    model = transformers.BertForPreTraining(transformers.BertConfig(**fields))
    dtype = torch.from_numpy(next(iter(weights.values()))).dtype
    with torch.no_grad():
        for name, parameter in model.to(dtype).named_parameters():
            parameter.copy_(torch.from_numpy(weights[name]))
    return model.eval()


def example_batch(config: BertConfig, *, rows: int = 4, seq: int = 16, masks: int = 3) -> Batch:
    """Random tokens in rows of uneven length, so that padding is part of the test."""
    generator = np.random.default_rng(0)
    seq = min(seq, config.max_position_embeddings)
    lengths = generator.integers(masks + 3, seq + 1, rows)[:, None]  # (rows, 1)
    column = np.arange(seq)
    attention_mask = (column < lengths).astype(np.int64)
    candidates = np.where((column > 0) & (column < lengths - 1), generator.random((rows, seq)), 2)
    weights = np.ones((rows, masks), np.float32)
    weights[0, -1] = 0  # a slot that is not used
    return {
        "input_ids": generator.integers(0, config.vocab_size, (rows, seq)),
        "token_type_ids": (column >= lengths // 2) * attention_mask,
        "attention_mask": attention_mask,
        "masked_lm_positions": np.argsort(candidates, axis=1)[:, :masks],
        "masked_lm_ids": generator.integers(0, config.vocab_size, (rows, masks)),
        "masked_lm_weights": weights,
        "next_sentence_labels": generator.integers(0, 2, rows),
    }


def random_weights(config: BertConfig) -> Weights:
    """Larger than before training, and no bias zero, so that no term can hide."""
    generator = np.random.default_rng(0)
    return {
        name: generator.normal(0, 0.1, shape) + name.endswith("LayerNorm.weight")
        for name, shape in parameter_shapes(config).items()
    }


@dataclass(frozen=True)
class BoardSettings:
    """Print every activation and gradient of NumPy's BERT beside those of transformers."""

    checkpoint: Path | None = None
    """a BERT folder; without it, a small model of random weights"""
    precision: Literal["fp32", "fp64"] = "fp64"


@command
def main() -> None:
    settings = tyro.cli(BoardSettings, prog="python -m bert_experiments.looking_inside.board")
    if settings.checkpoint is None:
        config = BertConfig(vocab_size=211, hidden_size=24, num_hidden_layers=2,
                            num_attention_heads=3, intermediate_size=40,
                            max_position_embeddings=32)  # fmt: skip
        weights = random_weights(config)
    else:
        config = BertConfig.load(settings.checkpoint)
        weights = load_weights(settings.checkpoint, config)
        if heads_missing := parameter_shapes(config).keys() - weights.keys():
            raise UserError(f"{settings.checkpoint} lacks {min(heads_missing)}: the board needs "
                            "both pretraining heads")  # fmt: skip
    dtype = np.float64 if settings.precision == "fp64" else np.float32
    weights = {name: array.astype(dtype) for name, array in weights.items()}
    print(comparison_board(weights, config, example_batch(config)))


if __name__ == "__main__":
    main()
