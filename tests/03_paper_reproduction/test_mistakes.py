"""Mistakes that real repositories make, each asked for by a test that fails with it.

Most of them are held by tests of their own subject: `paper_audit.md` says which. Here are the rest.
"""

import math

import pytest
import torch

from bert_paper.masking import MaskingVocabulary, mask_tokens
from bert_paper.model import BertForPreTraining, pretraining_losses
from bert_run.config import BertConfig

PAD, UNK, CLS, SEP, MASK, FIRST_WORD, VOCAB = 0, 1, 2, 3, 4, 10, 60


def pairs(rows: int = 40, seq: int = 24) -> dict[str, torch.Tensor]:
    """[CLS] A [SEP] B [SEP] and padding; every third word goes on in a piece."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(FIRST_WORD, VOCAB, (rows, seq), generator=generator)
    ends = torch.randint(12, seq, (rows,), generator=generator)
    middles = ends // 2
    column, row = torch.arange(seq), torch.arange(rows)
    ids[:, 0] = CLS
    ids[row, middles] = ids[row, ends] = SEP
    attention_mask = (column <= ends[:, None]).long()
    return {
        "input_ids": ids * attention_mask,
        "token_type_ids": (column > middles[:, None]).long() * attention_mask,
        "attention_mask": attention_mask,
        "next_sentence_labels": row % 2,
        "example_index": row,
    }


def vocabulary() -> MaskingVocabulary:
    is_piece = torch.zeros(VOCAB, dtype=torch.bool)
    is_piece[40:] = True
    return MaskingVocabulary(MASK, torch.arange(FIRST_WORD, VOCAB), is_piece)


def test_what_stands_in_an_unused_slot_changes_no_loss():
    """A loss that is already a mean, times the weights, divided by their sum, is that mean again:
    the weights do nothing. Here an unused slot is guessed certainly wrong, and costs nothing."""
    logits = torch.zeros(1, 3, 8)
    logits[0, 2, 5] = 100.0
    batch = {
        "masked_lm_ids": torch.tensor([[1, 2, 0]]),
        "masked_lm_weights": torch.tensor([[1.0, 1.0, 0.0]]),
        "next_sentence_labels": torch.tensor([0]),
    }
    losses = pretraining_losses(logits, torch.zeros(1, 2), batch)
    assert losses.mlm.item() == pytest.approx(math.log(8))


@pytest.mark.parametrize("unit", ["token", "word"])
def test_masking_of_any_kind_leaves_padding_and_segments_to_be_seen(unit):
    """Whole-word masking was often added in a function of its own, whose batch then had no
    attention mask or no segments: the model read padding, or one sentence."""
    batch = pairs()
    masked = mask_tokens(batch, vocabulary(), seed=0, unit=unit)
    for name in batch.keys() - {"input_ids"}:
        assert torch.equal(masked[name], batch[name]), name
    assert masked["masked_lm_weights"].sum() > 40
    hidden = masked["input_ids"] != batch["input_ids"]
    assert (batch["attention_mask"][hidden] == 1).all()
    assert (batch["input_ids"][hidden] >= FIRST_WORD).all()


def test_which_segment_a_token_stands_in_changes_what_is_read():
    """Segment ids that are made and then never reach the embeddings are easily overlooked: the loss
    falls all the same."""
    torch.manual_seed(0)
    config = BertConfig(vocab_size=VOCAB, hidden_size=12, num_hidden_layers=1,
                        num_attention_heads=3, intermediate_size=20)  # fmt: skip
    model = BertForPreTraining(config).eval()
    batch = pairs(rows=4)
    ids, segments = batch["input_ids"], batch["token_type_ids"]
    read = model.bert(ids, segments, batch["attention_mask"]).pooled
    as_one = model.bert(ids, torch.zeros_like(segments), batch["attention_mask"]).pooled
    assert ((read - as_one).abs().amax(1) > 1e-3).all()


def test_every_norm_divides_by_n_and_takes_epsilon_into_the_root():
    """With an epsilon of 1 no mistake is small."""
    config = BertConfig(vocab_size=VOCAB, hidden_size=6, num_hidden_layers=1, layer_norm_eps=1.0,
                        num_attention_heads=3, intermediate_size=20)  # fmt: skip
    norms = [m for n, m in BertForPreTraining(config).named_modules() if n.endswith("LayerNorm")]
    assert len(norms) == 4  # embeddings, two in the layer, the MLM head
    x = torch.tensor([[3.0, -1.0, 2.0, 0.0, -4.0, 6.0]])
    variance = ((x - 1) ** 2).sum() / 6
    for norm in norms:
        assert torch.allclose(norm(x), (x - 1) / torch.sqrt(variance + 1.0), atol=1e-6)
