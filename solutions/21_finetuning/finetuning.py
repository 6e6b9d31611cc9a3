"""Fine-tuning: a classifier on an encoder, and everything below it goes on learning.

The encoder here is a small one, given as `encode`; of BERT's only the size is missing. `weights` is
a dict of tensors, each with `.weight` and `.bias` unless it is a table:

    embeddings.word.weight           (vocab, hidden)
    embeddings.position.weight       (seq, hidden)
    embeddings.LayerNorm             (hidden,)
    attention.query, .key, .value    (hidden, hidden)
    attention.LayerNorm              (hidden,)
    pooler.dense                     (hidden, hidden)
    classifier                       (labels, hidden)
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

States = Float[Tensor, "batch seq hidden"]
Weights = dict[str, Tensor]


def dense(x: Tensor, weights: Weights, name: str) -> Tensor:
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(x: Tensor, weights: Weights, name: str) -> Tensor:
    return F.layer_norm(
        x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], eps=1e-12
    )


def encode(
    input_ids: Int[Tensor, "batch seq"], attention_mask: Int[Tensor, "batch seq"], weights: Weights
) -> States:
    """Given: word and position, then one layer of attention that sees no padding."""
    positions = weights["embeddings.position.weight"][: input_ids.shape[1]]
    x = weights["embeddings.word.weight"][input_ids] + positions
    x = norm(x, weights, "embeddings.LayerNorm")
    query, key, value = (dense(x, weights, f"attention.{n}") for n in ("query", "key", "value"))
    is_token = attention_mask.bool()[:, None, :]
    context = F.scaled_dot_product_attention(query, key, value, is_token)
    return norm(x + context, weights, "attention.LayerNorm")


def text_vector(
    states: States,
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    pooling: str,
) -> Float[Tensor, "batch hidden"]:
    """One vector for the text, from the states of its tokens.

    `cls`: that of [CLS], token 0, through the pooler, `pooler.dense` and tanh (section 4.1).
    `mean`: the mean of the states of all tokens whose `attention_mask` is 1, without the pooler.
    """
    # begin solution
    if pooling == "cls":
        return dense(states[:, 0], weights, "pooler.dense").tanh()
    # A mean over the axis would count padding: the same text would have another vector in a batch
    # with a longer one. So padding adds nothing above the line and nothing below it.
    real = attention_mask[:, :, None]  # (batch, seq, 1)
    return (states * real).sum(1) / real.sum(1)
    # end solution


def classify(
    input_ids: Int[Tensor, "batch seq"],
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    pooling: str,
    dropout: float = 0.1,
    training: bool = False,
) -> Float[Tensor, "batch labels"]:
    """The scores of every label: encode, one vector, dropout on it if `training`, `classifier`."""
    # begin solution
    states = encode(input_ids, attention_mask, weights)
    text = text_vector(states, attention_mask, weights, pooling=pooling)
    # F.dropout is on by default, so `training` is passed on.
    return dense(F.dropout(text, dropout, training), weights, "classifier")
    # end solution


def loss(
    logits: Float[Tensor, "batch labels"], labels: Int[Tensor, "batch"] | Float[Tensor, "batch"]
) -> Float[Tensor, ""]:
    """The mean over the batch: of the cross-entropy where there are several labels, of the squared
    difference where there is a single one, and `labels` are numbers to be met (STS-B)."""
    # begin solution
    if logits.shape[1] == 1:
        # squeeze, or (batch, 1) - (batch,) would be a square of differences of all with all. And
        # with one label softmax is always 1: cross-entropy would be 0, and nothing would learn.
        return (logits.squeeze(1) - labels).square().mean()
    return F.cross_entropy(logits, labels)
    # end solution


def fine_tune(
    weights: Weights,
    batches: list[dict[str, Tensor]],
    *,
    pooling: str,
    peak_rate: float,
    warmup_steps: int,
    weight_decay: float = 0.01,
    max_norm: float = 1.0,
    dropout: float = 0.1,
) -> tuple[Weights, list[float]]:
    """One step for each batch (`input_ids`, `attention_mask`, `labels`); the new weights, and the
    loss of each batch before its step.

    A step: gradients of all weights, together clipped to the norm `max_norm`, then AdamW (betas 0.9
    and 0.999, eps 1e-6, bias corrected), in which biases and layer norms are not decayed, and what
    gets no gradient stays as it is. The rate of step t = 0, 1, … of n is
    peak_rate (t + 1) / warmup_steps while t < warmup_steps, then
    peak_rate (n - t) / (n - warmup_steps). Dropout is on.
    """
    # begin solution
    # Copies that learn: the caller may want to begin again from the same weights, and with fewer
    # than ten thousand examples will, with several seeds.
    weights = {name: w.clone().requires_grad_() for name, w in weights.items()}
    groups = [
        {"params": [w], "weight_decay": weight_decay if is_decayed(name) else 0.0}
        for name, w in weights.items()
    ]
    # With bias correction, which BERT's own Adam leaves out: in a run of a few hundred steps its
    # first ones, up to 6.57 times too large, may do damage that nothing makes up for. AdamW, not
    # Adam: that would add the decay to the gradient, and divide it by √v. The betas are torch's
    # own; its eps is 1e-8.
    optimizer = torch.optim.AdamW(groups, eps=1e-6)
    losses = []
    for step, batch in enumerate(batches):
        if step < warmup_steps:  # + 1, so that the first step is not wasted on a rate of 0
            rate = peak_rate * (step + 1) / warmup_steps
        else:
            rate = peak_rate * (len(batches) - step) / (len(batches) - warmup_steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        logits = classify(
            batch["input_ids"], batch["attention_mask"], weights,
            pooling=pooling, dropout=dropout, training=True,
        )  # fmt: skip
        value = loss(logits, batch["labels"])
        value.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)
        optimizer.step()
        optimizer.zero_grad()  # or the next backward adds to these
        losses.append(value.item())
    return {name: w.detach() for name, w in weights.items()}, losses
    # end solution


# begin solution
def is_decayed(name: str) -> bool:
    """Biases and layer norms are not: pulling a scale of 1 towards 0 is no regularisation."""
    return not name.endswith("bias") and "LayerNorm" not in name


# Wrong answers that are common:
# - states.mean(1), which counts padding; the last token for [CLS]; [CLS] without its pooler;
# - a softmax before cross_entropy, which has one of its own: it learns, slowly and badly;
# - (batch, 1) against (batch,) in the squared difference: no error, another loss;
# - only the classifier in the optimizer: that is the feature-based approach, not fine-tuning;
# - no zero_grad; the optimizer or its state made anew for every batch;
# - the schedule of the epoch, not of the run; decay on layer norms; clipping after the step;
# - a loss that is kept with its graph: `losses.append(value)` holds all of it in memory.
# end solution
