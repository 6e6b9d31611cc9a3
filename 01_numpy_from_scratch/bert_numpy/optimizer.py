"""The paper's optimizer (appendix A.2; `optimization.py` of the released code)."""

import math
from dataclasses import dataclass

import numpy as np

from bert_run.config import AdamSettings, Weights, is_decayed


@dataclass
class Adam:
    """BERT's Adam: weight decay apart from the gradient, and no bias correction.

    m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²
    w ← w - lr (m / (√v + ε) + λ w)        λ is zero for biases and layer norms

    m and v start at zero, which makes both too small at first. Adam divides this bias away (Kingma
    and Ba 2015, section 3): m by 1 - β₁ᵗ, v by 1 - β₂ᵗ. BERT's released code does not, and its
    first steps are up to 6.57 times as large. `correct_bias` makes it AdamW.
    """

    settings: AdamSettings
    first_moments: Weights  # m
    second_moments: Weights  # v
    correct_bias: bool = False
    step: int = 0

    @classmethod
    def start(
        cls, weights: Weights, settings: AdamSettings, *, correct_bias: bool = False
    ) -> "Adam":
        zeros = {name: np.zeros_like(array) for name, array in weights.items()}
        return cls(settings, zeros, {n: z.copy() for n, z in zeros.items()}, correct_bias)

    def update(self, weights: Weights, gradients: Weights, *, learning_rate: float) -> None:
        """Move every weight, in place."""
        self.step += 1
        settings = self.settings
        first_bias = second_bias = 1.0
        if self.correct_bias:
            first_bias = 1 - settings.beta1**self.step
            second_bias = 1 - settings.beta2**self.step
        for name, weight in weights.items():
            gradient, m, v = gradients[name], self.first_moments[name], self.second_moments[name]
            m += (1 - settings.beta1) * (gradient - m)
            v += (1 - settings.beta2) * (gradient * gradient - v)
            direction = np.sqrt(v)
            direction /= math.sqrt(second_bias)
            direction += settings.epsilon
            np.divide(m, direction, out=direction)
            decay = settings.weight_decay if is_decayed(name) else 0.0
            weight *= 1 - learning_rate * decay
            direction *= learning_rate / first_bias
            weight -= direction

    def to_arrays(self) -> Weights:
        """The moments, to be saved; they come back through `from_arrays`."""
        arrays = {f"exp_avg.{name}": m for name, m in self.first_moments.items()}
        arrays |= {f"exp_avg_sq.{name}": v for name, v in self.second_moments.items()}
        return arrays | {"step": np.array(self.step, np.int64)}

    def from_arrays(self, arrays: Weights) -> None:
        self.first_moments = {n: arrays[f"exp_avg.{n}"].copy() for n in self.first_moments}
        self.second_moments = {n: arrays[f"exp_avg_sq.{n}"].copy() for n in self.second_moments}
        self.step = int(arrays["step"].item())


def clip_gradients(gradients: Weights, max_norm: float) -> float:
    """Scale all gradients by one factor so that together their norm is at most `max_norm`; 0 leaves
    them as they are.

    Returns the norm before. Clipping each parameter alone would change the direction.
    """
    norm = math.sqrt(sum(float(np.vdot(g, g)) for g in gradients.values()))
    if max_norm and norm > max_norm:
        for gradient in gradients.values():
            gradient *= max_norm / norm
    return norm
