"""The paper's optimizer (appendix A.2; `optimization.py` of the released code).

Twice: written out on the dict, as in level 1, and as torch's own AdamW, one kernel, which corrects
the bias. A test proves it equal to `Adam` with `correct_bias=True`.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bert_run.config import AdamSettings, Weights, is_decayed

Tensors = dict[str, Tensor]


@dataclass
class Adam:
    """BERT's Adam: weight decay apart from the gradient, and no bias correction.

    m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²
    w ← w - lr (m / (√v + ε) + λ w)        λ is zero for biases and layer norms

    As in level 1. `correct_bias` makes it AdamW.
    """

    settings: AdamSettings
    first_moments: Tensors  # m
    second_moments: Tensors  # v
    correct_bias: bool = False
    step: int = 0

    @classmethod
    def start(
        cls, weights: Tensors, settings: AdamSettings, *, correct_bias: bool = False
    ) -> "Adam":
        zeros = {name: torch.zeros_like(w, requires_grad=False) for name, w in weights.items()}
        return cls(settings, zeros, {n: z.clone() for n, z in zeros.items()}, correct_bias)

    @torch.no_grad()
    def update(self, weights: Tensors, gradients: Tensors, *, learning_rate: float) -> None:
        """Move every weight, in place. `_foreach_` does the same to every tensor of a list: on a
        GPU in a few launches for all of them."""
        self.step += 1
        settings = self.settings
        first_bias = second_bias = 1.0
        if self.correct_bias:
            first_bias = 1 - settings.beta1**self.step
            second_bias = 1 - settings.beta2**self.step
        w, g, m, v = (
            [tensors[name] for name in weights]
            for tensors in (weights, gradients, self.first_moments, self.second_moments)
        )
        torch._foreach_lerp_(m, g, 1 - settings.beta1)
        torch._foreach_mul_(v, settings.beta2)
        torch._foreach_addcmul_(v, g, g, 1 - settings.beta2)
        scale = torch._foreach_sqrt(v)
        torch._foreach_div_(scale, math.sqrt(second_bias))
        torch._foreach_add_(scale, settings.epsilon)
        shrink = learning_rate * settings.weight_decay
        torch._foreach_mul_(w, [1 - shrink if is_decayed(name) else 1.0 for name in weights])
        torch._foreach_addcdiv_(w, m, scale, -learning_rate / first_bias)

    def to_arrays(self) -> Weights:
        """The moments, to be saved; they come back through `from_arrays`."""
        return named_moments(self.first_moments, self.second_moments, self.step)

    def from_arrays(self, arrays: Weights) -> None:
        for name, m in self.first_moments.items():
            m.copy_(torch.tensor(arrays[f"exp_avg.{name}"]))
            self.second_moments[name].copy_(torch.tensor(arrays[f"exp_avg_sq.{name}"]))
        self.step = int(arrays["step"].item())


class FusedAdamW:
    """AdamW by torch: to be used as `Adam` is, and saved as it is."""

    def __init__(self, weights: Tensors, settings: AdamSettings) -> None:
        self.weights = weights
        groups = [{"params": [w for name, w in weights.items() if is_decayed(name) == decayed],
                   "weight_decay": settings.weight_decay if decayed else 0.0}
                  for decayed in (True, False)]  # fmt: skip
        betas = settings.beta1, settings.beta2
        self.adamw = torch.optim.AdamW(
            groups, lr=settings.learning_rate, betas=betas, eps=settings.epsilon, fused=True
        )

    def update(self, weights: Tensors, gradients: Tensors, *, learning_rate: float) -> None:
        for group in self.adamw.param_groups:
            group["lr"] = learning_rate
        for name, weight in weights.items():
            weight.grad = gradients[name]
        self.adamw.step()

    def to_arrays(self) -> Weights:
        states = {name: self.adamw.state[weight] for name, weight in self.weights.items()}
        first = {name: state["exp_avg"] for name, state in states.items()}
        second = {name: state["exp_avg_sq"] for name, state in states.items()}
        return named_moments(first, second, int(next(iter(states.values()))["step"].item()))

    def from_arrays(self, arrays: Weights) -> None:
        for name, weight in self.weights.items():
            on_device = {"dtype": weight.dtype, "device": weight.device}
            self.adamw.state[weight] = {
                "step": torch.tensor(float(arrays["step"].item()), device=weight.device),
                "exp_avg": torch.tensor(arrays[f"exp_avg.{name}"], **on_device),
                "exp_avg_sq": torch.tensor(arrays[f"exp_avg_sq.{name}"], **on_device),
            }


def start_optimizer(weights: Tensors, settings: AdamSettings, *, name: str) -> Adam | FusedAdamW:
    """`bert-adam` is the paper's, `adamw` torch's."""
    return Adam.start(weights, settings) if name == "bert-adam" else FusedAdamW(weights, settings)


def named_moments(first: Tensors, second: Tensors, step: int) -> Weights:
    """As they stand in the file, at every level."""
    arrays = {f"exp_avg.{name}": m.cpu().numpy() for name, m in first.items()}
    arrays |= {f"exp_avg_sq.{name}": v.cpu().numpy() for name, v in second.items()}
    return arrays | {"step": torch.tensor(step).numpy()}


@torch.no_grad()
def clip_gradients(gradients: Tensors, max_norm: float) -> Float[Tensor, ""]:
    """Scale all gradients by one factor so that together their norm is at most `max_norm`; 0 leaves
    them as they are.

    Returns the norm before. Clipping each parameter alone would change the direction. To ask
    whether the norm is too large, as in level 1, would make a GPU wait: here every gradient is
    multiplied, by 1 at most.
    """
    tensors = list(gradients.values())
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(tensors)))
    if max_norm:
        torch._foreach_mul_(tensors, (max_norm / norm).clamp(max=1))
    return norm
