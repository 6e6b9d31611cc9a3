"""What the paper prescribes and no test of a single file holds: see `paper_audit.md`."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from bert_corpus.pairs import IS_NEXT, PairDataset, SpecialTokens
from bert_corpus.pretraining_run import PretrainingData
from bert_corpus.wordpiece import bert_tokenizer
from bert_paper.masking import MaskingVocabulary, masking_vocabulary, next_tokens
from bert_paper.model import BertForPreTraining, BertModel, Losses
from bert_paper.pretrain import PretrainSettings
from bert_paper.training import Task, evaluate
from bert_run.config import PRESETS, AdamSettings, BertConfig, MaskingRecipe

SMALL = BertConfig(vocab_size=60, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
                   intermediate_size=20, max_position_embeddings=32)  # fmt: skip
FIRST_WORD = 10


def task(**changes) -> Task:
    """Thirty documents of eight sentences of three words."""
    words = np.random.default_rng(0).integers(FIRST_WORD, SMALL.vocab_size, 30 * 8 * 3)
    corpus = SimpleNamespace(tokens=words, sentence_starts=np.arange(0, len(words) + 1, 3),
                             document_starts=np.arange(0, 30 * 8 + 1, 8))  # fmt: skip
    specials = SpecialTokens(pad=0, cls=2, sep=3)
    fields = dict(
        dataset=PairDataset(corpus, specials, seq_length=24, seed=5),
        vocabulary=MaskingVocabulary(4, torch.arange(FIRST_WORD, SMALL.vocab_size)),
        recipe=MaskingRecipe(), seed=5, device=torch.device("cpu"), precision=torch.float32,
    )  # fmt: skip
    return Task(**{**fields, **changes})


# The encoder reads from both sides (section 3), its left-to-right twin from one (5.1).


def what_each_word_reaches(config: BertConfig) -> torch.Tensor:
    """(word, vector): whether changing the word changes the vector."""
    torch.manual_seed(0)
    model = BertModel(config).eval()
    nn.init.normal_(model.embeddings.word_embeddings.weight)
    ids = torch.arange(FIRST_WORD, FIRST_WORD + 9)
    rows = ids.repeat(9, 1)
    rows[torch.arange(9), torch.arange(9)] = 55
    states = model(rows, torch.zeros_like(rows), torch.ones_like(rows)).last_hidden_state
    before = model(ids[None], torch.zeros_like(ids)[None], None).last_hidden_state
    return ((states - before).abs() > 1e-5).any(-1)


def test_every_word_is_read_by_the_words_on_both_of_its_sides():
    assert what_each_word_reaches(SMALL).all()


def test_a_left_to_right_model_reads_nothing_on_the_right_of_a_word():
    reached = what_each_word_reaches(SMALL.with_changes(is_decoder=True))
    assert torch.equal(reached, torch.ones(9, 9, dtype=torch.bool).triu())


def test_a_left_to_right_model_is_asked_for_each_next_token_and_nothing_is_hidden():
    pairs = task().dataset.batch(np.arange(6))
    batch = next_tokens({name: torch.from_numpy(array) for name, array in pairs.items()})
    assert np.array_equal(batch["input_ids"], pairs["input_ids"])
    lengths = pairs["attention_mask"].sum(1)
    for row, length in enumerate(lengths):
        used = batch["masked_lm_weights"][row].bool()
        assert used.sum() == length - 1
        asked = batch["masked_lm_positions"][row][used]
        following = pairs["input_ids"][row][asked + 1]
        assert batch["masked_lm_ids"][row][used].tolist() == following.tolist()


# The second task, and without it.


def test_without_the_sentence_task_only_words_are_learned():
    torch.manual_seed(0)
    model = BertForPreTraining(SMALL)
    batch = task().batch(np.arange(4))
    inputs = [batch[k] for k in ("input_ids", "token_type_ids", "attention_mask")]
    for has_task in (True, False):
        model.zero_grad()
        words, pairs = model(*inputs, batch["masked_lm_positions"])
        both = Losses(words.logsumexp(-1).mean(), pairs[:, 0].logsumexp(0))
        task(has_sentence_task=has_task).total(both).backward()
        learns = {name for name, p in model.named_parameters() if p.grad.abs().max() > 0}
        assert ("cls.seq_relationship.weight" in learns) is has_task
        assert ("bert.pooler.dense.weight" in learns) is has_task
        assert "cls.predictions.transform.dense.weight" in learns


# Held-out figures: the accuracy of next sentences (3.1), the perplexity of words (table 6).


class Guesser(BertForPreTraining):
    """Says of every pair that B follows, and knows of words only that it is one of sixty."""

    def forward(self, input_ids, token_type_ids, attention_mask, masked_lm_positions):
        pairs = torch.tensor([2.0, 0.0]).repeat(len(input_ids), 1)
        return torch.zeros(*masked_lm_positions.shape, SMALL.vocab_size), pairs


@pytest.mark.parametrize("examples", [10, 100])
def test_held_out_figures_count_words_and_pairs_that_were_asked_for(examples):
    heldout = task()
    measured = evaluate(Guesser(SMALL), heldout, examples=examples)
    labels = heldout.batch(np.arange(examples))["next_sentence_labels"]
    follows = (labels == IS_NEXT).float().mean().item()
    assert 0.2 < follows < 0.8
    assert measured["heldout_nsp_accuracy"] == pytest.approx(follows)
    right, wrong = math.log(1 + math.exp(-2)), math.log(1 + math.exp(2))
    assert measured["heldout_nsp_loss"] == pytest.approx(
        follows * right + (1 - follows) * wrong, abs=1e-6
    )
    perplexity = math.exp(measured["heldout_mlm_loss"])
    assert perplexity == pytest.approx(SMALL.vocab_size, rel=1e-5)


# Masks of ten copies (released code), or new ones.


def test_with_a_duplicate_factor_pairs_and_masks_come_again_after_so_many_passes():
    reading = task().dataset.examples_per_epoch
    indices = np.arange(8)
    repeated, new = task(examples=3 * reading), task()
    for name, first in repeated.batch(indices).items():
        assert torch.equal(first, repeated.batch(indices + 3 * reading)[name]), name
    for pass_ in (1, 2, 3):
        assert not torch.equal(
            new.batch(indices)["masked_lm_positions"],
            new.batch(indices + pass_ * reading)["masked_lm_positions"],
        )


# The recipe (A.2) and the sizes (3, table 6), as the settings give them.


def test_the_constants_of_adam_are_the_papers():
    assert AdamSettings() == AdamSettings(
        learning_rate=1e-4, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.01,
        max_grad_norm=1.0,
    )  # fmt: skip
    for size in ("base", "large"):
        settings = PretrainSettings(model=size)
        assert settings.adam(settings.bert_config(30_522)) == AdamSettings()


def test_a_million_steps_are_the_papers_recipe():
    settings = PretrainSettings(
        model="base", steps=1_000_000, batch_size=256, seq_length=512, short_seq_length=128
    )
    assert settings.warmup == 10_000
    short, long = settings.phases
    assert (short.last_step, short.seq_length) == (900_000, 128)
    assert (long.last_step, long.seq_length) == (1_000_000, 512)
    tokens = sum(p.batch_size * p.seq_length * (p.last_step - p.first_step) for p in (short, long))
    assert tokens == pytest.approx(42.6e9, rel=1e-3)  # 256 · (0.9 · 128 + 0.1 · 512) a step


def test_a_million_steps_at_one_length_are_forty_passes_over_the_papers_text():
    """3.3 billion words (A.2): 256 · 512 · 1,000,000 / 3.3e9 = 39.7."""
    long = PretrainSettings(steps=1_000_000, batch_size=256, seq_length=512).phases[-1]
    assert long.batch_size * long.seq_length == 131_072  # "128,000", says the paper
    assert round(long.last_step * 131_072 / 3.3e9) == 40


@pytest.mark.parametrize(
    ("layers", "hidden", "heads"),
    [(3, 768, 12), (6, 768, 3), (6, 768, 12), (12, 768, 12), (12, 1024, 16), (24, 1024, 16)],
)
def test_every_size_of_table_6_can_be_asked_for(layers, hidden, heads):
    asked = PretrainSettings(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads
    ).bert_config(30_522)
    assert (asked.num_hidden_layers, asked.hidden_size, asked.num_attention_heads) == (
        layers, hidden, heads,
    )  # fmt: skip
    assert asked.intermediate_size == 4 * hidden
    if (layers, hidden, heads) == (12, 768, 12):
        assert asked == PRESETS["base"]


# What a random word may be.


def test_no_special_token_and_no_unused_entry_is_an_ordinary_word():
    entries = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[", "]", "the", "##s"]
    pairs = task().dataset
    data = PretrainingData(bert_tokenizer(entries), pairs, pairs)
    ordinary = [entries[id_] for id_ in data.ordinary_ids]
    assert ordinary == ["[", "]", "the", "##s"]
    assert masking_vocabulary(data).ordinary_ids.tolist() == data.ordinary_ids.tolist()
