"""Mutants of the solution of 24_frozen_features that nobody can tell from it, and why."""

PLACES = "starts.clamp(min=0)[:, :, None].expand(-1, -1, states.shape[-1])"
STACKED = "torch.stack([first_pieces(hidden_states[i].detach(), starts) for i in read], dim=2)"

EQUIVALENT = {
    f"first_pieces: places = {PLACES} | places = {PLACES} => places = ({PLACES}).detach()": (
        "integers have no gradient that could be cut"
    ),
    f"word_features: vectors = {STACKED} | vectors = {STACKED} => vectors = ({STACKED}).detach()": (
        "all that is stacked is detached already"
    ),
    'word_features: weights = mix["scale"] * mix["weights"].softmax(dim=0) | 0 => -1': (
        "the weights have one axis, which is the first and the last"
    ),
}
