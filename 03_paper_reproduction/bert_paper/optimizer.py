"""The paper's optimizer (appendix A.2; `optimization.py` of the released code).

Adam with decoupled weight decay and **without bias correction**. The moments start at zero, and
Adam (Kingma and Ba 2015) divides this bias away; BERT's released code does not. Its first steps are
then up to 6.57 times as large as Adam's (at step 12), which a long warm-up hides and a short
fine-tuning run feels.
"""

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bert_run.config import AdamSettings, Weights, is_decayed
from bert_run.device import Ranks
from bert_run.errors import Diverged

MUON_MOMENTUM = 0.95  # μ, as its authors have it
SMALL = 2**16  # numbers of a matrix that is multiplied together with others on a CPU, too


class BertAdam(torch.optim.Optimizer):
    """BERT's Adam, written out:

    m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²
    w ← w - lr (m / (√v + ε) + λ w)        λ is zero for biases and layer norms
    """

    def __init__(self, groups: Iterable[dict], settings: AdamSettings) -> None:
        self.settings = settings
        super().__init__(groups, {"lr": settings.learning_rate, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        beta1, beta2 = self.settings.beta1, self.settings.beta2
        for group in self.param_groups:
            weights = [w for w in group["params"] if w.grad is not None]
            if not weights:
                continue
            for weight in weights:
                if not self.state[weight]:
                    self.state[weight]["exp_avg"] = torch.zeros_like(weight)
                    self.state[weight]["exp_avg_sq"] = torch.zeros_like(weight)
            gradients = [local_shard(w.grad) for w in weights]
            m = [local_shard(self.state[w]["exp_avg"]) for w in weights]
            v = [local_shard(self.state[w]["exp_avg_sq"]) for w in weights]
            weights = [local_shard(w) for w in weights]
            # `_foreach_` does the same to every tensor of a list: on a GPU in a few launches.
            torch._foreach_lerp_(m, gradients, 1 - beta1)
            torch._foreach_mul_(v, beta2)
            torch._foreach_addcmul_(v, gradients, gradients, 1 - beta2)
            denominator = torch._foreach_sqrt(v)
            torch._foreach_add_(denominator, self.settings.epsilon)
            torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_addcdiv_(weights, m, denominator, -group["lr"])


class Muon(torch.optim.Optimizer):
    """Muon for the given matrices (Jordan et al. 2024), AdamW for all other parameters.

    m ← μ m + (1 - μ) g        O ← orthogonalize((1 - μ) g + μ m)
    W ← W - lr (0.2 √max(rows, columns) O + λ W)

    The factor before O gives its entries the root mean square of Adam's usual update, so that both
    optimizers share one learning rate (Liu et al. 2025, equation 4). The steps are those of
    `torch.optim.Muon` with `adjust_lr_fn="match_rms_adamw"`; but that always computes O in
    bfloat16, which is far slower than float32 on a CPU without instructions for it. Here O is
    computed in `precision`.
    """

    def __init__(
        self, matrices: list[nn.Parameter], groups: list[dict], settings: AdamSettings,
        precision: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        self.precision, self.adamw = precision, make_adamw(groups, settings)
        own = {"params": matrices, "lr": settings.learning_rate,
               "weight_decay": settings.weight_decay}  # fmt: skip
        super().__init__([own, *self.adamw.param_groups], {})
        self.adamw.state = self.state  # one state, which is saved and restored

    @torch.no_grad()
    def step(self, closure=None) -> None:
        group = self.param_groups[0]
        learning = [weight for weight in group["params"] if weight.grad is not None]
        for weights in batches_of_one_shape(learning):
            directions = [self.direction(weight) for weight in weights]
            matrices = directions[0] if len(weights) == 1 else torch.stack(directions)
            updates = orthogonalize(matrices, self.precision).to(matrices.dtype)
            rate = group["lr"] * 0.2 * math.sqrt(max(weights[0].shape))
            torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_add_(weights, updates.view(-1, *weights[0].shape).unbind(), alpha=-rate)
        self.adamw.step()

    def direction(self, weight: nn.Parameter) -> Tensor:
        """The gradient and its momentum, mixed: what is orthogonalized."""
        if not self.state[weight]:
            self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
        momentum = self.state[weight]["momentum_buffer"]
        momentum.lerp_(weight.grad, 1 - MUON_MOMENTUM)
        return weight.grad.lerp(momentum, MUON_MOMENTUM)


def batches_of_one_shape(weights: list[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Matrices of one shape together: one call in place of many small ones. On a CPU large matrices
    stay alone, as a call costs little beside them."""
    batches: dict[object, list[nn.Parameter]] = {}
    for number, weight in enumerate(weights):
        together = weight.is_cuda or weight.numel() <= SMALL
        batches.setdefault(weight.shape if together else number, []).append(weight)
    return list(batches.values())


def orthogonalize(
    matrix: Float[Tensor, "*batch rows columns"], precision: torch.dtype
) -> Float[Tensor, "*batch rows columns"]:
    """Nearly U Vᵀ, where U S Vᵀ is the singular value decomposition of a matrix: the update moves
    every direction of it about equally far.

    Five Newton–Schulz iterations X ← a X + (b A + c A²) X with A = X Xᵀ bring all singular values
    but the smallest to between 0.7 and 1.2.
    """
    a, b, c = 3.4445, -4.775, 2.0315
    add_product = torch.addmm if matrix.dim() == 2 else torch.baddbmm
    is_tall = matrix.size(-2) > matrix.size(-1)
    x = matrix.to(precision)
    x = x.mT if is_tall else x
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = add_product(x, add_product(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x


def local_shard(tensor: Tensor) -> Tensor:
    """This rank's shard of a tensor; without FSDP the tensor itself."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def make_optimizer(model: nn.Module, settings: AdamSettings, *, name: str,
                   precision: torch.dtype = torch.float32) -> torch.optim.Optimizer:  # fmt: skip
    """`bert-adam` is the paper's; `adamw` is torch's fused AdamW, which corrects the bias;
    `muon` orthogonalizes the updates of the encoder's matrices, and is AdamW for the rest."""
    named = list(model.named_parameters())
    is_muon = name == "muon"
    matrices = [p for n, p in named if is_muon and ".encoder.layer." in n and p.dim() == 2]
    apart = {id(p) for p in matrices}
    groups = [{"params": [p for n, p in named if is_decayed(n) == decayed and id(p) not in apart],
               "weight_decay": settings.weight_decay if decayed else 0.0}
              for decayed in (True, False)]  # fmt: skip
    if name == "bert-adam":
        return BertAdam(groups, settings)
    if is_muon:
        return Muon(matrices, groups, settings, precision)
    return make_adamw(groups, settings)


def make_adamw(groups: list[dict], settings: AdamSettings) -> torch.optim.AdamW:
    return torch.optim.AdamW(groups, lr=settings.learning_rate, eps=settings.epsilon, fused=True,
                             betas=(settings.beta1, settings.beta2))  # fmt: skip


def clip_gradients(parameters: Iterable[Tensor], max_norm: float) -> Tensor:
    """Scale all gradients by one factor so that together their norm is at most `max_norm`; 0 leaves
    them as they are.

    Returns the norm before. Clipping each parameter alone would change the direction.
    """
    learning = [parameter for parameter in parameters if parameter.grad is not None]
    norm = nn.utils.get_total_norm([parameter.grad for parameter in learning], foreach=True)
    if hasattr(norm, "full_tensor"):
        norm = norm.full_tensor()  # of the parts of all ranks
    if max_norm:
        nn.utils.clip_grads_with_norm_(learning, max_norm, norm, foreach=True)
    return norm


def optimizer_state(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The moments of every parameter, named after it; with AdamW its count of steps too."""
    return {
        f"{moment}.{name}": value.detach()
        for name, parameter in model.named_parameters()
        for moment, value in optimizer.state[parameter].items()
    }


def refuse_broken(tensors: dict[str, Tensor], ranks: Ranks, *, step: int) -> None:
    """Raise `Diverged` on every rank if a number of these tensors, on any rank, is not finite.

    A GPU waits for the answer, so this is asked only before something is measured or saved.
    """
    held = {name: local_shard(tensor) for name, tensor in tensors.items() if tensor.dim()}
    are_finite = torch.stack([tensor.isfinite().all() for tensor in held.values()])
    if ranks.sum((~are_finite).sum()):
        broken = next((n for n, tensor in held.items() if not tensor.isfinite().all()), None)
        where = f"{broken} holds" if broken else "parameters on another process hold"
        raise Diverged(f"{where} numbers that are not finite after step {step:,}")


def full_arrays(tensors: dict[str, Tensor]) -> Weights:
    """The same as float32 arrays, all-gathered with FSDP; every rank must call it."""
    return {
        name: (t.full_tensor() if hasattr(t, "full_tensor") else t).float().cpu().numpy()
        for name, t in tensors.items()
    }


def restore_state(optimizer: torch.optim.Optimizer, model: nn.Module, arrays: Weights) -> None:
    """Put the saved moments back; of FSDP's parts each rank takes its own."""
    parameters = dict(model.named_parameters())
    for key, array in arrays.items():
        moment, _, name = key.partition(".")
        parameter = parameters[name]
        value = torch.from_numpy(array.copy()).to(parameter.device)
        if hasattr(parameter, "full_tensor") and value.shape == parameter.shape:
            from torch.distributed.tensor import distribute_tensor  # slow to import

            value = distribute_tensor(value, parameter.device_mesh, parameter.placements)
        optimizer.state[parameter][moment] = value
