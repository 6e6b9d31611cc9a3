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
    raise NotImplementedError("write gather_positions")


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
    raise NotImplementedError("write word_logits")


def read_and_name(
    input_ids: Int[Tensor, "batch seq"],
    positions: Int[Tensor, "batch masks"],
    weights: dict[str, Tensor],
) -> Float[Tensor, "batch masks vocab"]:
    """The smallest BERT, of no layers: a state is the vector of its word, and `word_logits` names
    the words at the asked positions."""
    raise NotImplementedError("write read_and_name")


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
    raise NotImplementedError("write gradients_of_both_uses")
