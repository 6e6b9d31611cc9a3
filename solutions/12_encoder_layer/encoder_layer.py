"""One layer of BERT's encoder, as functions of tensors: autograd computes the gradients.

`weights` carries the names that a layer has in a checkpoint of Hugging Face, each of the eight
with `.weight` and `.bias`:

    attention.self.query, .key, .value    (hidden, hidden)
    attention.output.dense                (hidden, hidden)
    attention.output.LayerNorm            (hidden,)
    intermediate.dense                    (intermediate, hidden)
    output.dense                          (hidden, intermediate)
    output.LayerNorm                      (hidden,)
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

States = Float[Tensor, "batch seq hidden"]
Weights = dict[str, Tensor]


def self_attention(
    x: States,
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    heads: int,
    attention_dropout: float = 0.1,
    training: bool = False,
) -> States:
    """softmax(Q Kᵀ / √head_dim) V in every head, the heads side by side again, before
    `attention.output.dense` (Vaswani et al. 2017, equation 1).

    No query looks at a key whose `attention_mask` is 0. In training, each attention weight is set
    to 0 with probability `attention_dropout`, independently of the others.
    """
    # begin solution
    query, key, value = (
        # (batch, seq, hidden) → (batch, heads, seq, head_dim): the heads come before the tokens, so
        # that the matrix product below compares tokens. A plain reshape to that shape would cut the
        # numbers in the order in which they lie, and mix tokens into heads.
        dense(x, weights, f"attention.self.{role}").unflatten(-1, (heads, -1)).permute(0, 2, 1, 3)
        for role in ("query", "key", "value")
    )
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # [..., query, key]
    # The mask is about keys, the last axis, and is the same for every head and query. The lowest
    # finite number, not -inf: a row that is all padding would become NaN.
    is_padding = attention_mask[:, None, None, :] == 0
    scores = scores.masked_fill(is_padding, torch.finfo(scores.dtype).min)
    # F.dropout is on by default (training=True), so it must be told whether we train.
    weighting = F.dropout(scores.softmax(dim=-1), attention_dropout, training)
    return (weighting @ value).permute(0, 2, 1, 3).flatten(2)
    # end solution


def encoder_layer(
    x: States,
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    heads: int,
    eps: float = 1e-12,
    hidden_dropout: float = 0.1,
    attention_dropout: float = 0.1,
    training: bool = False,
) -> States:
    """Tokens exchange information, then each is transformed by itself: x = LN(x +
    dropout(part(x))), twice. With `training` False there is no dropout."""
    # begin solution
    context = self_attention(
        x, attention_mask, weights,
        heads=heads, attention_dropout=attention_dropout, training=training,
    )  # fmt: skip
    # Post-LN: the norm comes after the sum, and the residual path itself is normalized. In pre-LN,
    # which GPT-2 and most later models have, it would stand before the sublayer. A checkpoint of
    # BERT loads into either, and is right in one.
    attended = F.dropout(
        dense(context, weights, "attention.output.dense"), hidden_dropout, training
    )
    x = norm(x + attended, weights, "attention.output.LayerNorm", eps)
    # GELU with erf, F.gelu's default, as in Hugging Face's "gelu". The second residual is the x of
    # the line above: what the layer was given has been added already.
    wide = F.gelu(dense(x, weights, "intermediate.dense"))
    worked = F.dropout(dense(wide, weights, "output.dense"), hidden_dropout, training)
    return norm(x + worked, weights, "output.LayerNorm", eps)
    # end solution


# begin solution
def dense(
    x: Float[Tensor, "*batch in"], weights: Weights, name: str
) -> Float[Tensor, "*batch out"]:
    """F.linear takes the weight as (out, in), as checkpoints have it: no transpose here."""
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(
    x: Float[Tensor, "*batch hidden"], weights: Weights, name: str, eps: float
) -> Float[Tensor, "*batch hidden"]:
    """F.layer_norm's own eps is 1e-5: BERT's must be passed."""
    scale = weights[f"{name}.weight"]
    return F.layer_norm(x, scale.shape, scale, weights[f"{name}.bias"], eps)


# Wrong answers that are common:
# - pre-LN, under BERT's name;
# - F.layer_norm with its own eps, which is ten million times BERT's;
# - a division by √hidden, not √head_dim; heads split without a transpose;
# - the mask turned about: padded queries made to see nothing, and padding seen by all;
# - F.dropout(x, p): its third argument is True unless it is given, so that evaluation is noisy;
# - dropout on the sum, which strikes out the residual too;
# - `.detach()`, `.data` or torch.tensor(...) on the way: the answer is right, and nothing below
#   learns;
# - the tanh form of GELU, or ReLU.
# end solution
