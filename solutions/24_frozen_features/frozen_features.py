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
    # begin solution
    if feature == "embeddings":
        return [0]
    # hidden_states[i] is what layer i gave, because the embeddings are number 0: with 12 layers the
    # last is 12, not 11.
    if feature == "last":
        return [layers]
    if feature == "second-to-last":
        return [layers - 1]
    first = 1 if feature.endswith("-all") else max(1, layers - 3)
    return list(range(first, layers + 1))
    # end solution


def first_pieces(
    states: States, starts: Int[Tensor, "batch words"]
) -> Float[Tensor, "batch words hidden"]:
    """The vector of each word's first piece.

    `starts` holds its place in the sequence, -1 where a row has no more words: there stand zeros.
    """
    # begin solution
    is_word = starts >= 0
    # gather wants an index for every number of the result, and none below 0: -1 is sent to 0 first,
    # and what came from there is struck out. states[:, starts] would give every row the words of
    # all rows.
    places = starts.clamp(min=0)[:, :, None].expand(-1, -1, states.shape[-1])
    # torch.where, not a product: 0 · inf is NaN.
    return torch.where(is_word[:, :, None], states.gather(1, places), 0.0)
    # end solution


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
    # begin solution
    read = layers_of(feature, len(hidden_states) - 1)
    # detach: what follows may learn, what came before does not. Under torch.no_grad() the mix would
    # not learn either.
    vectors = torch.stack([first_pieces(hidden_states[i].detach(), starts) for i in read], dim=2)
    if feature.startswith("concat"):
        return vectors.flatten(2)  # (batch, words, layers, hidden): layer by layer
    if feature.startswith("weighted"):
        # softmax makes shares of any numbers; begun at 0, it is the mean of the layers.
        shares = mix["scale"] * mix["weights"].softmax(dim=0)
        return (vectors * shares[:, None]).sum(dim=2)
    return vectors.sum(dim=2)  # of one layer: that layer
    # end solution


# begin solution
# Wrong answers that are common:
# - layer 11 taken for the last of 12, because lists begin at 0: but so do the embeddings;
# - the last four with the embeddings among them, in a model of three layers;
# - the mean of a word's pieces, or its last piece; the first word read from [CLS];
# - hidden_states[-4:] put side by side in falling order: the same numbers, for another probe;
# - -1 as an index: words that are not there get the vector of the last token, often padding;
# - weights without softmax, or the softmax over the hidden axis; a scale that is left out;
# - gradients that go on into the encoder, which then is fine-tuned after all, or torch.no_grad()
#   around everything, so that the mix never learns.
# end solution
