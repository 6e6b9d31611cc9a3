"""The town of eight birds: what settles each word, and what a model that learns it can reach."""

import math

import torch

from bert_experiments.looking_inside.toy_corpus import (
    BIRDS,
    CONFIG,
    FIRST_BIRD,
    FIRST_FOOD,
    FIRST_LOOK,
    FIRST_PLACE,
    FOODS,
    LOOKS,
    PLACE_OF,
    PLACES,
    TOKENIZER,
    in_view,
    one_hidden,
    teach,
    tell,
    tell_wrong,
)
from bert_lowlevel.model import Bert, encode, logits, pretraining_losses, to_tensors
from bert_run.config import initial_weights


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def columns(rows):
    return {name: rows[:, place] for name, place in PLACE_OF.items()}


def test_every_word_is_in_the_vocabulary_and_no_word_twice():
    words = {*BIRDS, *PLACES, *FOODS, *LOOKS}
    assert len(words) == 8 + 8 + 8 + 5
    assert None not in map(TOKENIZER.token_to_id, words)
    assert CONFIG.vocab_size == 41


def test_the_bird_settles_place_and_food_and_the_look_is_chance():
    words = columns(tell(4_000, drawn()))
    bird = words["bird"] - FIRST_BIRD
    assert torch.equal(words["place"] - FIRST_PLACE, bird)
    assert torch.equal(words["food"] - FIRST_FOOD, bird)
    table = torch.zeros(8, 5).index_put_((bird, words["look"] - FIRST_LOOK), torch.ones(4_000),
                                         accumulate=True)  # fmt: skip
    assert table.min() > 50  # of 100 expected in each field


def test_half_of_the_pairs_are_wrong_and_a_wrong_food_is_never_the_birds_own():
    rows, wrong = tell_wrong(4_000, drawn())
    words = columns(rows)
    differs = words["food"] - FIRST_FOOD != words["bird"] - FIRST_BIRD
    assert torch.equal(differs, wrong.bool())
    assert 1_800 < wrong.sum() < 2_200
    assert words["food"].min() == FIRST_FOOD and words["food"].max() == FIRST_FOOD + 7


def test_one_word_of_four_is_hidden_and_what_stood_there_is_the_answer():
    rows = tell(2_000, drawn())
    batch = one_hidden(rows, drawn(1))
    is_hidden = batch["input_ids"] == TOKENIZER.token_to_id("[MASK]")
    assert (is_hidden.sum(1) == 1).all()
    assert torch.equal(rows[is_hidden], batch["masked_lm_ids"][:, 0])
    assert torch.equal(rows[~is_hidden], batch["input_ids"][~is_hidden])
    counts = torch.bincount(batch["masked_lm_positions"][:, 0], minlength=16)
    assert counts[list(PLACE_OF.values())].min() > 400 and counts.sum() == 2_000


def test_the_first_token_of_a_causal_model_is_the_same_in_every_row():
    weights = to_tensors(initial_weights(CONFIG, 0))
    for causal in (False, True):
        bert = Bert(CONFIG, weights, causal=causal)
        first = encode(bert, in_view(tell(20, drawn()))).hidden_states[-1][:, 0]
        assert ((first - first[0]).abs().max() == 0) == causal


def test_teaching_moves_the_weights_and_brings_the_loss_down():
    bert = Bert(CONFIG, to_tensors(initial_weights(CONFIG, 0)))

    def loss_of(generator):
        batch = one_hidden(tell(32, generator), generator)
        return pretraining_losses(logits(bert, batch), batch).mlm

    losses = teach(bert.weights, loss_of, steps=40, peak=3e-3)
    assert abs(losses[0] - math.log(41)) < 0.2
    assert sum(losses[-5:]) / 5 < 2.9  # ln 41 is 3.7
