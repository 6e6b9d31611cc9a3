"""Features: the vectors of words from a frozen BERT, as inputs of another model.

`hidden_states` is a list of layers + 1 tensors (batch, seq, hidden): the embeddings, then the
output of each layer, from the lowest to the last (section 5.3 and Table 7).
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

States = Float[Tensor, "batch seq hidden"]
Mix = dict[str, Tensor]


def layers_of(feature: str, layers: int) -> list[int]:
    """The indices in `hidden_states` that a feature reads, in ascending order, for a model with
    `layers` layers.

    `embeddings`, `second-to-last` and `last` read one; names that end in `-last-4` read the last
    four layers, or all if there are fewer; names that end in `-all` read all layers. Neither reads
    the embeddings.
    """
    raise NotImplementedError("write layers_of")


def first_pieces(
    states: States, starts: Int64[Tensor, "batch words"]
) -> Float[Tensor, "batch words hidden"]:
    """The vector of each word's first piece.

    `starts` holds its position in the sequence, -1 where a row has no more words: there the result
    is 0.
    """
    raise NotImplementedError("write first_pieces")


def word_features(
    hidden_states: list[States],
    starts: Int64[Tensor, "batch words"],
    *,
    feature: str,
    mix: Mix | None = None,
) -> Float[Tensor, "batch words width"]:
    """A vector for each word, zeros where a row has no more of them.

    The layers of the feature are concatenated (`concat-…`, the lowest first), summed (`sum-…`), or
    weighted and summed (`weighted-sum-…`): Σ scale · softmax(weights)ₗ · layerₗ, with
    `mix["weights"]` (layers read,) and `mix["scale"]` (), which are learned (Peters et al. 2018,
    equation 1). No gradient goes into `hidden_states`: the encoder is frozen.
    """
    raise NotImplementedError("write word_features")
