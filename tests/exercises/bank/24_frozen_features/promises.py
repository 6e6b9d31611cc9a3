"""What the page and the starter of 24_frozen_features promise, and the checks that hold it."""

LAYERS = "test_each_feature_reads_its_layers"
PIECE = "test_the_first_piece_stands_for_the_word"
COMBINED = "test_layers_are_taken_summed_or_put_side_by_side"
WEIGHTED = "test_layers_are_weighted_with_shares_that_are_learned"
FROZEN = "test_the_mix_learns_and_the_encoder_stands_still"

PROMISES = {
    # the page
    "layers_of(feature, layers) -> list of indices in hidden_states": (LAYERS,),
    "number 0 is the embeddings, number i is the output of layer i.": (LAYERS,),
    "| `embeddings`, `second-to-last`, `last` | that one | as it is |": (LAYERS, COMBINED),
    "| `sum-last-4`, `sum-all` | the last four; all | summed |": (LAYERS, COMBINED),
    "Σ scale · softmax(weights)ₗ · layerₗ |": (LAYERS, WEIGHTED, FROZEN),
    "| `concat-last-4` | the last four | concatenated, the lowest first: width 4 · hidden |": (
        LAYERS,
        COMBINED,
    ),
    '"All" and "the last four" never include the embeddings: in a model of two layers, "the last '
    'four" are two.': (LAYERS,),
    "`layers_of` returns their indices in ascending order, counted from 0.": (LAYERS,),
    "A word's vector is that of its **first piece**.": (
        PIECE,
        COMBINED,
        "test_models_and_batches_of_any_size",
    ),
    "`starts` (batch, words), int64, holds the position of that piece in the sequence": (PIECE,),
    "and -1 where a row has no more words (or none at all): there the result is 0, "
    "whatever `hidden_states` holds elsewhere, even infinities.": (PIECE, COMBINED),
    "In `word_features` gradients reach both tensors of the mix": (FROZEN,),
    "**none goes into `hidden_states`**.": (FROZEN,),
    "All tensors of a call except `starts` have the same dtype, and so does the result. "
    "A model can be trained on the result (so it is not made under "
    "`torch.inference_mode`).": (PIECE, WEIGHTED),
    "Tensors may be non-contiguous.": ("test_models_and_batches_of_any_size",),
    "No input is changed.": (PIECE, WEIGHTED),
    "`last` gives [[4], [0]], `second-to-last` [[2], [0]], `sum-last-4` [[6], [0]], "
    "`concat-last-4` [[2, 4], [0, 0]].": (COMBINED,),
    "`weighted-sum-last-4` with weights [0, 0] and scale 1 gives [[3], [0]], the mean.": (
        COMBINED,
    ),
    # the starter
    "names that end in `-last-4` read the last four layers, or all if there are fewer; names that "
    "end in `-all` read all layers. Neither reads the embeddings.": (LAYERS,),
    "`starts` holds its position in the sequence, -1 where a row has no more words: there the "
    "result is 0.": (PIECE,),
    "A vector for each word, zeros where a row has no more of them.": (COMBINED, WEIGHTED),
    "The layers of the feature are concatenated (`concat-…`, the lowest first), summed (`sum-…`), "
    "or weighted and summed (`weighted-sum-…`)": (COMBINED, WEIGHTED),
    "which are learned": (FROZEN,),
    "No gradient goes into `hidden_states`: the encoder is frozen.": (FROZEN,),
    "A feature reads some of them and combines them into one vector": (
        "test_models_and_batches_of_any_size",
    ),
}
