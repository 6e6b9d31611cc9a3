"""The folder that contestants read: config.json and model.safetensors of a model, a batch."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bert_numpy.masking import mask_tokens
from bert_run.config import PRESETS, BertConfig, initial_weights
from bert_run.weights import save_weights

MASK_ID, FIRST_WORD = 103, 200
Batch = dict[str, np.ndarray]


@dataclass(frozen=True)
class Work:
    """A model and a batch: what every contestant of a case computes."""

    config: BertConfig
    batch_size: int
    seq_length: int

    @property
    def tokens(self) -> int:
        return self.batch_size * self.seq_length


def sized(size: str, vocab_size: int, **changes: object) -> BertConfig:
    return PRESETS[size].with_changes(vocab_size=vocab_size, **changes)


def d2l_config(vocab_size: int = 20_256) -> BertConfig:
    """The sizes of d2l's tiny setting, with the vocabulary of its WikiText-2."""
    return BertConfig(
        vocab_size=vocab_size,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=256,
        hidden_dropout_prob=0.2,
        attention_probs_dropout_prob=0.2,
    )


def make_pairs(work: Work) -> Batch:
    """Random words in pairs; a fifth of the rows ends in a quarter of padding."""
    rows, seq, vocab = work.batch_size, work.seq_length, work.config.vocab_size
    generator = np.random.default_rng(0)
    attention = np.ones((rows, seq), np.int64)
    attention[::5, seq * 3 // 4 :] = 0
    segments = np.zeros((rows, seq), np.int64)
    segments[:, seq // 2 :] = 1
    return {
        "input_ids": generator.integers(FIRST_WORD, vocab, (rows, seq)) * attention,
        "token_type_ids": segments * attention,
        "attention_mask": attention,
        "next_sentence_labels": generator.integers(0, 2, rows),
        "example_index": np.arange(rows),
    }


def make_batch(work: Work) -> Batch:
    """The same, masked."""
    pairs, vocab = make_pairs(work), work.config.vocab_size
    return mask_tokens(pairs, mask_id=MASK_ID, ordinary_ids=np.arange(FIRST_WORD, vocab), seed=0)


def every_token_asked(batch: Batch) -> Batch:
    """The same loss from the logits of all positions, those not masked with a weight of 0."""
    rows, seq = batch["input_ids"].shape
    row, slot = (batch["masked_lm_weights"] > 0).nonzero()  # an empty slot points at position 0
    place = row, batch["masked_lm_positions"][row, slot]
    ids, weights = np.zeros((rows, seq), np.int64), np.zeros((rows, seq), np.float32)
    ids[place], weights[place] = batch["masked_lm_ids"][row, slot], 1.0
    everywhere = np.tile(np.arange(seq), (rows, 1))
    return batch | {"masked_lm_positions": everywhere, "masked_lm_ids": ids,
                    "masked_lm_weights": weights}  # fmt: skip


def write_work(folder: Path, work: Work) -> None:
    """Everything that a contestant needs, for every library to read."""
    folder.mkdir(parents=True, exist_ok=True)
    work.config.save(folder)
    save_weights(initial_weights(work.config, 0), folder / "model.safetensors")
    np.savez(folder / "batch.npz", **make_batch(work))


def read_batch(folder: Path) -> Batch:
    with np.load(folder / "batch.npz") as file:
        return {name: file[name] for name in file.files}
