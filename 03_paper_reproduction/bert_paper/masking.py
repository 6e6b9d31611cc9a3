"""Masking for the masked language model, on the device, while the data pass by (paper, 3.1).

Of the tokens of an example, 15% are chosen; [CLS], [SEP] and padding never. A chosen token becomes
[MASK] in 80% of cases, a random word in 10%, and stays as it is in 10%. The model must name what
stood there in all three cases.

Hidden are single tokens, unless whole words are asked for (`choose_words`). The paper's
left-to-right model (Table 5) hides nothing: it names each next token (`next_tokens`).

The released code draws the random word from the whole vocabulary. Here it is drawn from ordinary
words only: neither special tokens nor `[unused…]` entries.

Every draw is a hash of (seed, index of the example, position), the one of
`bert_corpus.pairs`. So an example has the same masks on whatever device, in whatever batch
and on whatever rank it is made, and each new pass over the corpus gets new masks.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bert_corpus.pretraining_run import PretrainingData
from bert_corpus.wordpiece import vocabulary_of
from bert_run.config import MaskingRecipe
from bert_run.device import uniforms

MaskUnit = Literal["token", "word"]

PAPER = MaskingRecipe()
NEVER = 2.0  # above any draw of [0, 1)


@dataclass(frozen=True)
class MaskingVocabulary:
    """What masking needs to know of the vocabulary."""

    mask_id: int
    ordinary_ids: Int[Tensor, "ordinary"]  # of which a random word is drawn
    is_piece: Bool[Tensor, "vocab"] | None = None  # goes on with a word ("##ing"): for whole words

    def to(self, device: torch.device | str) -> "MaskingVocabulary":
        is_piece = None if self.is_piece is None else self.is_piece.to(device)
        return MaskingVocabulary(self.mask_id, self.ordinary_ids.to(device), is_piece)


def masking_vocabulary(data: PretrainingData) -> MaskingVocabulary:
    """The vocabulary of a run's tokenizer, on the CPU."""
    is_piece = torch.tensor([entry.startswith("##") for entry in vocabulary_of(data.tokenizer)])
    return MaskingVocabulary(data.mask_id, torch.from_numpy(data.ordinary_ids), is_piece)


def mask_tokens(
    batch: dict[str, Tensor], vocabulary: MaskingVocabulary, *, seed: int,
    recipe: MaskingRecipe = PAPER, unit: MaskUnit = "token",
) -> dict[str, Tensor]:  # fmt: skip
    """A batch of pairs, masked: a new dict, whose tensors replace or join those of `batch`.

    Adds `masked_lm_positions`, `masked_lm_ids` and `masked_lm_weights` (batch, masks). Every row
    has the same number of slots, so shapes never change; a short row leaves slots unused, with
    weight 0 and position 0.
    """
    input_ids, attention_mask = batch["input_ids"], batch["attention_mask"]
    slots = recipe.max_predictions(input_ids.shape[1])
    draws = uniforms(seed, batch["example_index"], 3 * input_ids.shape[1])
    draw_choice, draw_fate, draw_word = draws.chunk(3, dim=1)  # (batch, seq) each

    wanted = (attention_mask.sum(dim=1, keepdim=True) * recipe.masked_lm_prob).round().clamp(min=1)
    if unit == "token":
        # The candidates with the smallest draws are chosen: exactly as many as the row should have.
        # Of equal draws, which 24 bits allow, the first one comes first, as at every level: hence
        # `stable`. The order of `topk` among equals is not defined.
        scores = draw_choice.masked_fill(~maskable(batch), NEVER)
        smallest, positions = scores.sort(dim=1, stable=True)
        smallest, positions = smallest[:, :slots], positions[:, :slots]  # (batch, masks)
        used = (torch.arange(slots, device=wanted.device) < wanted) & (smallest < NEVER)
    else:
        words = word_of_each_token(vocabulary.is_piece[input_ids], maskable(batch))
        positions, used = choose_words(words, draw_choice, wanted, slots=slots)
    positions = positions * used

    original = input_ids.gather(1, positions)
    fate, word_draw = draw_fate.gather(1, positions), draw_word.gather(1, positions)
    word = vocabulary.ordinary_ids[(word_draw * len(vocabulary.ordinary_ids)).long()]
    shown = torch.where(fate < recipe.mask_share, vocabulary.mask_id, original)
    is_random = (fate >= recipe.mask_share) & (fate < recipe.mask_share + recipe.random_share)
    shown = torch.where(is_random, word, shown)
    shown = torch.where(used, shown, original)
    return {
        **batch,
        "input_ids": input_ids.scatter(1, positions, shown),
        "masked_lm_positions": positions,
        "masked_lm_ids": original * used,
        "masked_lm_weights": used.float(),
    }


def next_tokens(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """A batch as a left-to-right model reads it: at every token it names the one that follows.

    Adds the same arrays as `mask_tokens`, and hides nothing.
    """
    input_ids, attention_mask = batch["input_ids"], batch["attention_mask"]
    rows, seq = input_ids.shape
    return {
        **batch,
        "masked_lm_positions": torch.arange(seq - 1, device=input_ids.device).repeat(rows, 1),
        "masked_lm_ids": input_ids[:, 1:] * attention_mask[:, 1:],
        "masked_lm_weights": attention_mask[:, 1:].float(),
    }


def maskable(batch: dict[str, Tensor]) -> Bool[Tensor, "batch seq"]:
    """Where a token may be masked: not on [CLS], not on either [SEP], not on padding."""
    is_token, segments = batch["attention_mask"].bool(), batch["token_type_ids"]
    # The last token of a run is the [SEP] that closes it; next comes another segment, or padding.
    next_segment = torch.nn.functional.pad(segments[:, 1:], (0, 1), value=-1)
    next_is_token = torch.nn.functional.pad(is_token[:, 1:], (0, 1), value=False)
    closes_segment = (next_segment != segments) | ~next_is_token
    is_first = torch.arange(segments.shape[1], device=segments.device) == 0
    return is_token & ~closes_segment & ~is_first


# Whole words: all the tokens of a word are masked, or none.
#
# With single tokens a piece of a word can be guessed from its other pieces: "phil [MASK] ##mon".
# Whole-word masking (added to the released code in May 2019) leaves no such pieces. As many tokens
# are masked, and each still becomes [MASK], another word or itself by a draw of its own.
#
#     [CLS] the phil ##am ##mon plays the lute [SEP] he sings ##on [SEP]
#       0    1    2    2    2     3    4   5     0   6    7     7    0
#
# The numbers say which tokens belong together, and 0 which are never masked. `choose_words` then
# takes some of the numbers 1, 2, 3, … with all the tokens that bear them.

ROUNDS = 8  # of `choose_words`: enough for words of up to eight tokens


def word_of_each_token(
    is_piece: Bool[Tensor, "batch seq"], maskable: Bool[Tensor, "batch seq"]
) -> Int[Tensor, "batch seq"]:
    """Words counted from 1 along each row; 0 on tokens that may not be masked.

    A piece ("##ing") belongs to the word before it. Right after [CLS] or [SEP] it begins a word of
    its own: what stood before it was cut off to make the pair fit.
    """
    before = torch.nn.functional.pad(maskable[:, :-1], (1, 0), value=False)
    begins = maskable & ~(is_piece & before)
    return begins.cumsum(1) * maskable


def choose_words(
    words: Int[Tensor, "batch seq"], draws: Float[Tensor, "batch seq"],
    wanted: Float[Tensor, "batch 1"], *, slots: int,
) -> tuple[Int[Tensor, "batch slots"], Bool[Tensor, "batch slots"]]:  # fmt: skip
    """Take whole words in random order until a row has `wanted` tokens; skip what would be more,
    as the released code does.

    `words` count from 1, and 0 may not be taken. Returns positions, and which of them are taken;
    a row stays short when no word left is small enough. So longer words are masked a little less
    often (in rows of 128 tokens, of which three in ten are continuation pieces, 16% of the words
    of one token, 15% of those of two, 14% of those of three).

    A round takes words one after another up to the first that is too long; the next round passes
    over all that are longer than what is left. So as many rounds as the longest word has tokens are
    enough; a row with words of more than `ROUNDS` tokens may get fewer tokens than would fit.
    """
    batch, seq = words.shape
    key = draws.gather(1, words.clamp(min=1) - 1)  # the same for all tokens of a word
    key = key + 2.0 * (words == 0)  # draws are below 1: these come last
    order = key.argsort(dim=1, stable=True)  # the tokens of a word stay together
    word = words.gather(1, order)
    zeros = torch.zeros(batch, seq + 1, dtype=torch.int64, device=words.device)
    size = zeros.scatter_add(1, word, torch.ones_like(word)).gather(1, word)
    taken = torch.zeros_like(word, dtype=torch.bool)
    for _ in range(ROUNDS):
        left = wanted - taken.sum(1, keepdim=True)
        fits = (word > 0) & ~taken & (size <= left)
        so_far = fits.cumsum(1) * fits
        with_word = zeros.scatter_reduce(1, word, so_far, "amax").gather(1, word)  # its last token
        taken = taken | (fits & (with_word <= left))
    first = (~taken).long().argsort(dim=1, stable=True)[:, :slots]
    return order.gather(1, first), taken.gather(1, first)
