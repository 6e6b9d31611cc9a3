"""The MLM head: only where a word is asked for, with the word embeddings as its matrix.

Weights come as a dict under the common names, perhaps among others, which are not read:

    bert.embeddings.word_embeddings.weight            (vocab, hidden)
    cls.predictions.transform.dense.weight, .bias     (hidden, hidden), (hidden,)
    cls.predictions.transform.LayerNorm.weight, .bias (hidden,), (hidden,)
    cls.predictions.bias                              (vocab,)
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

WORDS = "bert.embeddings.word_embeddings.weight"


def gather_positions(
    states: Float[Tensor, "batch seq hidden"], positions: Int[Tensor, "batch masks"]
) -> Float[Tensor, "batch masks hidden"]:
    """The states at the given positions of each row, in their order."""
    # begin solution
    # gather expects an index with as many axes as the states: the same position for every one of
    # the hidden numbers. expand repeats it without copying.
    return states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[-1]))
    # end solution


def word_logits(
    states: Float[Tensor, "batch seq hidden"],
    positions: Int[Tensor, "batch masks"],
    weights: dict[str, Tensor],
    *,
    hidden_act: str = "gelu",
    eps: float = 1e-12,
) -> Float[Tensor, "batch masks vocab"]:
    """A score for every word of the vocabulary, at the asked positions alone.

    Dense, GELU, layer norm, then the word embeddings as the last matrix, and a bias. `hidden_act`
    is "gelu", the form with erf, or "gelu_new", the form with tanh.
    """
    # begin solution
    # First the gathering: the matrix below is the largest of the model, and 85 of 100 positions
    # are not asked.
    x = gather_positions(states, positions)  # (batch, masks, hidden)
    head = "cls.predictions.transform"
    x = F.linear(x, weights[f"{head}.dense.weight"], weights[f"{head}.dense.bias"])
    x = F.gelu(x, approximate="none" if hidden_act == "gelu" else "tanh")
    scale, shift = weights[f"{head}.LayerNorm.weight"], weights[f"{head}.LayerNorm.bias"]
    x = F.layer_norm(x, scale.shape, scale, shift, eps)
    # Tied: the very tensor that the words are read from, not a copy of it. F.linear multiplies by
    # its transpose, so each score is the product of x with the vector of a word.
    return F.linear(x, weights[WORDS], weights["cls.predictions.bias"])
    # end solution


def read_and_name(
    input_ids: Int[Tensor, "batch seq"],
    positions: Int[Tensor, "batch masks"],
    weights: dict[str, Tensor],
) -> Float[Tensor, "batch masks vocab"]:
    """The smallest BERT, of no layers: a state is the vector of its word, and `word_logits` names
    the words at the asked positions."""
    # begin solution
    states = F.embedding(input_ids, weights[WORDS])
    return word_logits(states, positions, weights)
    # end solution


def gradients_of_both_uses(
    input_ids: Int[Tensor, "batch seq"],
    positions: Int[Tensor, "batch masks"],
    weights: dict[str, Tensor],
    dlogits: Float[Tensor, "batch masks vocab"],
) -> tuple[Float[Tensor, "vocab hidden"], Float[Tensor, "vocab hidden"]]:
    """What the word embeddings learn in `read_and_name`, apart: from being read, and from naming.

    `dlogits` is the gradient of a loss for the logits. The two add up to the gradient of the tied
    matrix.
    """
    # begin solution
    # Two leaves over the same numbers: autograd keeps their gradients apart. Each detach gives a
    # tensor of its own, so that neither is a part of the caller's graph.
    read, named = (weights[WORDS].detach().requires_grad_() for _ in range(2))
    states = F.embedding(input_ids, read)
    logits = word_logits(states, positions, {**weights, WORDS: named})
    reading, naming = torch.autograd.grad(logits, (read, named), dlogits)
    # The first has rows for the words that were read and asked; the second for all words: each is
    # pushed away wherever it was not the answer.
    return reading, naming
    # end solution


# begin solution
# Wrong answers that are common:
# - the head on every position and the gathering after it: right, and more than six times the work;
# - a decoder of its own, or a copy: two matrices that drift apart, and 23 million numbers more;
# - the bias of the words forgotten, the layer norm before the GELU, tanh where erf is asked for;
# - states[:, positions[0]]: the positions of the first row in all rows;
# - x @ W for F.linear(x, W): the dense matrix is square, so no error tells.
# end solution
