"""Masking: some tokens are hidden, and the model must name what stood there."""

import numpy as np
from jaxtyping import Int
from numpy import ndarray

IGNORED = -100  # the label of a token that nobody asks about


def mask_tokens(
    input_ids: Int[ndarray, "batch seq"],
    rng: np.random.Generator,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: list[int],
    rate: float = 0.15,
) -> tuple[Int[ndarray, "batch seq"], Int[ndarray, "batch seq"]]:
    """The ids that the model sees, and the labels that it must find (Devlin et al. 2018, 3.1).

    Each token that is not among `special_ids` is selected with probability `rate`. Of those
    selected, 80% become `mask_id`, 10% a random ordinary token (of the whole vocabulary but
    `special_ids`, all equally likely), and 10% stay as they are. Every token is drawn for by
    itself. The label of a selected token is its id, of all others `IGNORED`. `input_ids` is left
    as it is, both results have its type, and every draw comes from `rng`.
    """
    # begin solution
    # [CLS], [SEP] and padding say nothing about a sentence: they are no candidates.
    candidate = ~np.isin(input_ids, special_ids)  # (batch, seq)
    selected = candidate & (rng.random(input_ids.shape) < rate)
    labels = np.full_like(input_ids, IGNORED)
    labels[selected] = input_ids[selected]

    # One draw decides the fate of a token. Two draws, one for "masked?" and one for "random?", give
    # 80/10/10 only if the second is made for those that the first left over, and then with 1/2.
    fate = rng.choice(FATES, size=input_ids.shape, p=[0.8, 0.1, 0.1])
    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)
    word = rng.choice(ordinary, size=input_ids.shape)
    shown = input_ids.copy()  # the caller's array holds the answers, and is needed again
    shown[selected & (fate == "masked")] = mask_id
    is_random = selected & (fate == "random")
    shown[is_random] = word[is_random]
    return shown, labels
    # end solution


# begin solution
FATES = ("masked", "random", "kept")

# Wrong answers that are common:
# - "random" and "unchanged" drawn independently of each other: 81/10/9, or 80/2/18;
# - a fixed number of tokens in each row, as BERT's released code has it, or fates in order (the
#   first 80% of the selected are masked): the shares are right, but the draws are not independent;
# - labels taken after the tokens were replaced, so that the model is asked to find [MASK];
# - labels of all tokens, or only of those that show [MASK]: the 10% that stay teach nothing then;
# - padding among the candidates: long stretches of it take most of the masks;
# - random words that end before the last of the vocabulary, or that may be special tokens;
# - a seed inside the function: every epoch hides the same tokens.
# end solution
