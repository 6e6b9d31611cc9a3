"""Which tokens mattered: gradient × input (Shrikumar et al. 2016, arXiv 1605.01713).

The score of an answer is a function of the tokens' word embeddings e_1 … e_n. To the first order,
taking e_i away changes it by

    m_i = Σ_d ∂score/∂e_id · e_id

summed over the dimensions d of the embedding. If the score were linear in the embeddings, m_i would
be the exact contribution of token i, and together they would make up the score. BERT is not linear:
layer norms, softmax and GELU bend it, so the m_i need not add up to anything ("completeness" does
not hold), and a token may matter more or less than its first order says. `looks.hiding_test`
measures how far to trust them.

The sign is kept: a word that speaks against the answer is what one wants to see where the answer is
wrong. Absolute values would hide that, and add up the pieces of a word that pull either way.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bert_finetuning.answering import forward


def gradient_times_input(
    model: nn.Module, batch: dict[str, Tensor], score: Callable[[Any], Float[Tensor, ""]]
) -> Float[Tensor, "*batch seq"]:
    """For each token what it contributes to `score(logits)`, to the first order.

    Only the word embeddings count as input: positions and segments are the same whatever stands
    there. The model must be in evaluation; its parameters get no gradient.
    """
    embeddings: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        embeddings.append(output.detach().requires_grad_())
        return embeddings[-1]

    hook = model.bert.embeddings.word_embeddings.register_forward_hook(keep)
    try:
        with torch.enable_grad():
            total = score(forward(model, batch))
            (gradient,) = torch.autograd.grad(total, embeddings)
    finally:
        hook.remove()
    return (gradient * embeddings[0].detach()).sum(dim=-1)


def standing_out(logits: Float[Tensor, "alternatives"], chosen: int) -> Float[Tensor, ""]:
    """By how much the chosen one's logit exceeds the mean of the others.

    A logit alone would not do: softmax does not see what raises all of them alike. One logit
    without others is a number to be predicted, and stands for itself.
    """
    others = torch.arange(len(logits), device=logits.device) != chosen
    return logits[chosen] - logits[others].mean() if len(logits) > 1 else logits[chosen]
