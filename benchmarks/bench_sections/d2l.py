"""The BERT of *Dive into Deep Learning*, restated: its sizes, its arithmetic, its optimizer.

Written anew after the text (d2l-en, commits in 03_paper_reproduction/megatron_and_d2l.md). What
sets it apart, and costs time or saves it: attention by batched products with a mask written into
the scores, no norm after the embeddings, ReLU, an output matrix of its own, a thousand positions,
the masked positions picked by two indices, plain Adam at 0.01, no clipping, no weight decay.
"""

import math
from pathlib import Path

import torch
from torch import Tensor, nn

from bench_sections.peers import as_tensors, products_as, stepping
from bert_run.config import BertConfig

POSITIONS = 1000


class Attention(nn.Module):
    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.query, self.key, self.value, self.out = (nn.Linear(hidden, hidden) for _ in range(4))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        query, key, value = (self.apart(part(x)) for part in (self.query, self.key, self.value))
        scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
        columns = torch.arange(scores.shape[-1])[None, None, :]
        beyond = columns >= lengths.repeat_interleave(self.heads)[:, None, None]
        weights = scores.masked_fill(beyond, -1e6).softmax(-1)
        context = torch.bmm(self.dropout(weights), value)  # (batch · heads, seq, head_dim)
        together = context.reshape(len(x), self.heads, *context.shape[1:]).permute(0, 2, 1, 3)
        return self.out(together.reshape(x.shape))

    def apart(self, x: Tensor) -> Tensor:
        """(batch, seq, hidden) as (batch · heads, seq, head_dim)."""
        split = x.reshape(*x.shape[:2], self.heads, -1).permute(0, 2, 1, 3)
        return split.reshape(-1, *split.shape[2:])


class Block(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        hidden, dropout = config.hidden_size, config.hidden_dropout_prob
        self.attention = Attention(hidden, config.num_attention_heads, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden, config.intermediate_size), nn.ReLU(),
            nn.Linear(config.intermediate_size, hidden),
        )  # fmt: skip

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        x = self.norm1(self.drop1(self.attention(x, lengths)) + x)
        return self.norm2(self.drop2(self.feed_forward(x)) + x)


class D2lBert(nn.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        hidden, vocab = config.hidden_size, config.vocab_size
        self.tokens, self.segments = nn.Embedding(vocab, hidden), nn.Embedding(2, hidden)
        self.positions = nn.Parameter(torch.randn(1, POSITIONS, hidden))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.words = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.LayerNorm(hidden),
                                   nn.Linear(hidden, vocab))  # fmt: skip
        self.pooler = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh())
        self.pairs = nn.Linear(hidden, 2)

    def forward(
        self, ids: Tensor, segments: Tensor, lengths: Tensor, places: Tensor
    ) -> tuple[Tensor, Tensor]:
        x = self.tokens(ids) + self.segments(segments)
        x = x + self.positions[:, : x.shape[1]]
        for block in self.blocks:
            x = block(x, lengths)
        rows = torch.arange(len(x)).repeat_interleave(places.shape[1])
        masked = x[rows, places.reshape(-1)].reshape(*places.shape, -1)
        return self.words(masked), self.pairs(self.pooler(x[:, 0]))


def d2l(folder: Path, *, precision: str, compiled: bool = False, medium: bool = False):
    products_as(medium)
    config, batch = BertConfig.load(folder), as_tensors(folder)
    model = D2lBert(config).train()
    called = torch.compile(model, dynamic=False) if compiled else model
    adam, entropy = torch.optim.Adam(model.parameters(), lr=0.01), nn.CrossEntropyLoss()
    lengths = batch["attention_mask"].sum(1)
    weights = batch["masked_lm_weights"].reshape(-1, 1)

    def loss() -> Tensor:
        words, pairs = called(batch["input_ids"], batch["token_type_ids"], lengths,
                              batch["masked_lm_positions"])  # fmt: skip
        ids = batch["masked_lm_ids"].reshape(-1)
        each = entropy(words.reshape(-1, config.vocab_size), ids) * weights
        pair_loss = entropy(pairs, batch["next_sentence_labels"])
        return each.sum() / (weights.sum() + 1e-8) + pair_loss

    return stepping(model, loss, precision, optimizer=adam, clips=False)


KINDS = {"d2l": d2l}
