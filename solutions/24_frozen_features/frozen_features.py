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
    # begin solution
    if feature == "embeddings":
        return [0]
    # hidden_states[i] is the output of layer i, because the embeddings are number 0: with 12 layers
    # the last is 12, not 11.
    if feature == "last":
        return [layers]
    if feature == "second-to-last":
        return [layers - 1]
    every = list(range(1, layers + 1))
    return every if feature.endswith("-all") else every[-4:]  # fewer than four, if there are fewer
    # end solution


def first_pieces(
    states: States, starts: Int64[Tensor, "batch words"]
) -> Float[Tensor, "batch words hidden"]:
    """The vector of each word's first piece.

    `starts` holds its position in the sequence, -1 where a row has no more words: there the result
    is 0.
    """
    # begin solution
    is_word = starts >= 0
    # gather takes an index for every number of the result, and no negative one: -1 becomes 0 first,
    # and what was read there is replaced. states[:, starts] would give every row the words of all
    # rows.
    places = starts.clamp(min=0)[:, :, None].expand(-1, -1, states.shape[-1])
    # torch.where, not a product: 0 · inf is NaN.
    return torch.where(is_word[:, :, None], states.gather(1, places), 0.0)
    # end solution


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
    # begin solution
    read = layers_of(feature, len(hidden_states) - 1)
    # detach: no gradient goes back into the encoder. Under torch.no_grad() the mix would not get
    # any either.
    vectors = torch.stack([first_pieces(hidden_states[i].detach(), starts) for i in read], dim=2)
    if feature.startswith("concat"):
        return vectors.flatten(2)  # (batch, words, layers, hidden): layer by layer
    if feature.startswith("weighted"):
        # softmax makes weights that sum to 1; if all numbers are 0, this is the mean of the layers.
        weights = mix["scale"] * mix["weights"].softmax(dim=0)
        return (vectors * weights[:, None]).sum(dim=2)
    return vectors.sum(dim=2)  # of one layer: that layer
    # end solution


# begin solution
# Wrong answers that are common:
# - layer 11 taken for the last of 12, because lists begin at 0: but so do the embeddings;
# - the last four with the embeddings among them, in a model of three layers;
# - the mean of a word's pieces, or its last piece; the first word read from [CLS];
# - hidden_states[-4:] concatenated from the last to the lowest;
# - -1 as an index: words that do not exist get the vector of the last token, often padding;
# - weights without softmax, or the softmax over the hidden axis; a scale that is not used;
# - gradients that go into the encoder, which then is fine-tuned, or torch.no_grad() around
#   everything, so that the mix never learns.
# end solution
