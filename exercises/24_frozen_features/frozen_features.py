"""Features: what a BERT that stands still says of each word, for another model to learn from.

`hidden_states` is a list of layers + 1 tensors (batch, seq, hidden): the embeddings, then what each
layer gave, from the lowest to the last (section 5.3 and Table 7).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

States = Float[Tensor, "batch seq hidden"]
Mix = dict[str, Tensor]


def layers_of(feature: str, layers: int) -> list[int]:
    """The places in `hidden_states` that a feature reads, in ascending order, for a model with so
    many layers.

    `embeddings`, `second-to-last` and `last` read one; all that end in `-last-4` the last four,
    without the embeddings, or as many as there are; all that end in `-all` every one but the
    embeddings.
    """
    raise NotImplementedError("write layers_of")


def first_pieces(
    states: States, starts: Int[Tensor, "batch words"]
) -> Float[Tensor, "batch words hidden"]:
    """The vector of each word's first piece.

    `starts` holds its place in the sequence, -1 where a row has no more words: there stand zeros.
    """
    raise NotImplementedError("write first_pieces")


def word_features(
    hidden_states: list[States],
    starts: Int[Tensor, "batch words"],
    *,
    feature: str,
    mix: Mix | None = None,
) -> Float[Tensor, "batch words width"]:
    """A vector for each word, zeros where a row has no more of them.

    From the layers of the feature, one beside another (`concat-…`, the lowest first), summed
    (`sum-…`), or weighted and summed (`weighted-sum-…`): Σ scale · softmax(weights)ₗ · layerₗ, with
    `mix["weights"]` (layers read,) and `mix["scale"]` (), which learn (Peters et al. 2018,
    equation 1). No gradient goes into `hidden_states`: the encoder stands still.
    """
    raise NotImplementedError("write word_features")
