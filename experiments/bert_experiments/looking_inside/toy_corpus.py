"""A synthetic corpus whose lowest possible loss is known.

    [CLS] the crane stood in the river . [SEP] it caught a silver fish . [SEP]

Each of eight birds has its place and its food, and only the look of the food is random. So a model
that sees both sides can know every word except the look; one that sees only the left cannot know
the bird either, since no word comes before it.
"""

from collections.abc import Callable

import torch
from jaxtyping import Int
from tokenizers import Tokenizer
from torch import Tensor

from bert_corpus.wordpiece import SPECIAL_TOKENS, bert_tokenizer
from bert_lowlevel.model import TensorBatch
from bert_run.config import BertConfig

BIRDS = ["crane", "heron", "owl", "duck", "swan", "gull", "crow", "hen"]
PLACES = ["river", "reeds", "wood", "pond", "lake", "sea", "field", "yard"]
FOODS = ["fish", "frog", "mouse", "snail", "weed", "crab", "worm", "grain"]
LOOKS = ["silver", "big", "small", "young", "tiny"]
OTHERS = ["the", "stood", "in", ".", "it", "caught", "a"]
PLACE_OF = {"bird": 2, "place": 6, "look": 12, "food": 13}  # in the row of sixteen tokens

Rows = Int[Tensor, "batch 16"]


def bird_tokenizer() -> Tokenizer:
    """41 entries: the special tokens and the words of this town."""
    return bert_tokenizer([*SPECIAL_TOKENS, *OTHERS, *BIRDS, *PLACES, *LOOKS, *FOODS])


TOKENIZER = bird_tokenizer()
CRANE = TOKENIZER.encode("The crane stood in the river.", "It caught a silver fish.")
FIRST_BIRD, FIRST_PLACE, FIRST_LOOK, FIRST_FOOD = (
    TOKENIZER.token_to_id(words[0]) for words in (BIRDS, PLACES, LOOKS, FOODS)
)
CONFIG = BertConfig(
    vocab_size=TOKENIZER.get_vocab_size(), hidden_size=64, num_hidden_layers=2,
    num_attention_heads=2, intermediate_size=128, max_position_embeddings=16,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)  # fmt: skip


def tell(count: int, generator: torch.Generator) -> Rows:
    """A bird in its place, catching its food, which looks like anything."""
    bird = torch.randint(len(BIRDS), (count,), generator=generator)
    look = torch.randint(len(LOOKS), (count,), generator=generator)
    rows = torch.tensor(CRANE.ids).repeat(count, 1)
    for name, first in (("bird", FIRST_BIRD), ("place", FIRST_PLACE), ("food", FIRST_FOOD)):
        rows[:, PLACE_OF[name]] = first + bird
    rows[:, PLACE_OF["look"]] = FIRST_LOOK + look
    return rows


def tell_wrong(count: int, generator: torch.Generator) -> tuple[Rows, Int[Tensor, "batch"]]:
    """Half of the birds catch the food of another; the labels say which: 1 is wrong."""
    rows, place = tell(count, generator), PLACE_OF["food"]
    wrong = torch.randint(2, (count,), generator=generator)
    shift = wrong * torch.randint(1, len(FOODS), (count,), generator=generator)
    rows[:, place] = FIRST_FOOD + (rows[:, place] - FIRST_FOOD + shift) % len(FOODS)
    return rows, wrong


def in_view(rows: Rows) -> TensorBatch:
    """What the encoder reads, with nothing hidden."""
    segments = torch.tensor([CRANE.type_ids]).expand_as(rows)
    return {"input_ids": rows, "token_type_ids": segments, "attention_mask": torch.ones_like(rows)}


def one_hidden(rows: Rows, generator: torch.Generator) -> TensorBatch:
    """In each row the bird, its place, the look or the food is hidden."""
    which = torch.randint(len(PLACE_OF), (len(rows), 1), generator=generator)
    positions = torch.tensor(list(PLACE_OF.values()))[which]  # (batch, 1)
    hidden = rows.scatter(1, positions, TOKENIZER.token_to_id("[MASK]"))
    return {
        **in_view(hidden),
        "masked_lm_positions": positions,
        "masked_lm_ids": rows.gather(1, positions),
        "masked_lm_weights": torch.ones(len(rows), 1),
        "next_sentence_labels": torch.zeros(len(rows), dtype=torch.int64),
    }


def teach(
    weights: dict[str, Tensor], loss_of: Callable[[torch.Generator], Tensor], *, steps: int,
    peak: float, seed: int = 0,
) -> list[float]:  # fmt: skip
    """So many steps of Adam on what `loss_of` draws, up to the peak rate and down to zero; moves
    `weights` in place and returns the losses."""
    adam = torch.optim.AdamW(weights.values(), lr=peak)
    generator, losses = torch.Generator().manual_seed(seed), []
    for step in range(steps):
        adam.param_groups[0]["lr"] = peak * min(1, (step + 1) / 30) * (1 - step / steps)
        loss = loss_of(generator)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        adam.step()
        adam.zero_grad()
        losses.append(loss.item())
    return losses
