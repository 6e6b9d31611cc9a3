"""BERT as in the paper (Devlin et al. 2018, arXiv 1810.04805), from the bottom up.

    input_ids ─ BertEmbeddings ─ BertLayer × layers ─┬─ [CLS] ─ BertPooler ─ next sentence?
    token_type_ids                                   └─ masks ─ MaskedLMHead ─ which word?

The attributes carry the names of `transformers`, so that a parameter's path here is its name in the
file: `bert.encoder.layer.0.attention.self.query.weight`.

Torch's own functions do all of the work here; `cpu_kernels.py` has faster ones for a CPU.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from bert_run.config import BertConfig, Weights

Heads = Float[Tensor, "batch heads seq head_dim"]
PRETRAINING_INPUTS = ("input_ids", "token_type_ids", "attention_mask", "masked_lm_positions")


class BertEmbeddings(nn.Module):
    """Word + position + segment (paper, figure 2), then layer norm and dropout.

    The row of [PAD] learns nothing from being read, as in `transformers`.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, hidden, config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, hidden)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, hidden)
        self.LayerNorm = nn.LayerNorm(hidden, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, input_ids: Int[Tensor, "batch seq"], token_type_ids: Int[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq hidden"]:
        words = self.word_embeddings(input_ids)
        positions = self.position_embeddings.weight[: input_ids.shape[1]]  # (seq, hidden)
        segments = self.token_type_embeddings(token_type_ids)
        return self.dropout(self.LayerNorm(words + positions + segments))


class BertSelfAttention(nn.Module):
    """Every token gathers values from all tokens, weighted by query · key / √head_dim
    (Vaswani et al. 2017, equation 1)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.num_heads, self.head_dim = config.num_attention_heads, config.head_dim
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout_prob = config.attention_probs_dropout_prob

    def forward(
        self, x: Float[Tensor, "batch seq hidden"], mask: Bool[Tensor, "#batch 1 #seq seq"] | None
    ) -> Float[Tensor, "batch seq hidden"]:
        query, key, value = (
            self.split_heads(project(x)) for project in (self.query, self.key, self.value)
        )  # (batch, heads, seq, head_dim) each
        return self.attend(query, key, value, mask).transpose(1, 2).flatten(2)

    def split_heads(self, x: Tensor) -> Heads:
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def attend(self, query: Heads, key: Heads, value: Heads, mask: Tensor | None) -> Heads:
        """softmax(query · keyᵀ / √head_dim) · value, with dropout of the attention weights."""
        dropout = self.dropout_prob if self.training else 0.0
        return F.scaled_dot_product_attention(query, key, value, mask, dropout)


class AddAndNorm(nn.Module):
    """What closes each half of a layer: LN(residual + dropout(dense(x))), the norm coming last
    ("post-LN")."""

    def __init__(self, config: BertConfig, in_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(in_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, x: Float[Tensor, "batch seq in"], residual: Float[Tensor, "batch seq hidden"]
    ) -> Float[Tensor, "batch seq hidden"]:
        return self.LayerNorm(residual + self.dropout(self.dense(x)))


class BertAttention(nn.Module):
    """The first half of a layer: tokens exchange information."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.self = BertSelfAttention(config)
        self.output = AddAndNorm(config, config.hidden_size)

    def forward(self, x: Tensor, mask: Tensor | None) -> Float[Tensor, "batch seq hidden"]:
        return self.output(self.self(x, mask), residual=x)


class DenseGelu(nn.Module):
    """A linear layer and GELU: x · Φ(x), by erf or by tanh as the config says."""

    def __init__(self, config: BertConfig, out_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, out_size)
        self.approximation = config.gelu_approximation

    def forward(self, x: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch out"]:
        return F.gelu(self.dense(x), approximate=self.approximation)


class BertLayer(nn.Module):
    """One encoder layer: attention, then a feed-forward network on each token by itself."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = BertAttention(config)
        self.intermediate = DenseGelu(config, config.intermediate_size)
        self.output = AddAndNorm(config, config.intermediate_size)

    def forward(self, x: Tensor, mask: Tensor | None) -> Float[Tensor, "batch seq hidden"]:
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), residual=x)


class BertEncoder(nn.Module):
    """The stack of layers. No layer norm follows it: each layer ends with its own."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList(BertLayer(config) for _ in range(config.num_hidden_layers))

    def forward(self, x: Tensor, mask: Tensor | None) -> list[Float[Tensor, "batch seq hidden"]]:
        """The hidden states from the embeddings to the last layer, layers + 1 of them."""
        states = [x]
        for layer in self.layer:
            states.append(layer(states[-1], mask))
        return states


class BertPooler(nn.Module):
    """The vector of [CLS] through a dense layer and tanh: the summary of the pair."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x: Float[Tensor, "batch seq hidden"]) -> Float[Tensor, "batch hidden"]:
        return torch.tanh(self.dense(x[:, 0]))


class EncoderOutput(NamedTuple):
    """`hidden_states` are layers + 1 of (batch, seq, hidden); `pooled` is (batch, hidden), or None
    of a model without a pooler."""

    hidden_states: list[Tensor]
    pooled: Tensor | None

    @property
    def last_hidden_state(self) -> Float[Tensor, "batch seq hidden"]:
        return self.hidden_states[-1]


class BertModel(nn.Module):
    """The encoder that everything else stands on; heads that read every token need no pooler."""

    def __init__(self, config: BertConfig, *, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = BertEncoder(config)
        self.pooler = BertPooler(config) if pooler else None

    def forward(
        self,
        input_ids: Int[Tensor, "batch seq"],
        token_type_ids: Int[Tensor, "batch seq"],
        attention_mask: Int[Tensor, "batch seq"] | None,
    ) -> EncoderOutput:
        """`attention_mask` is 1 on tokens and 0 on padding; None says that nothing is padding.

        Only keys are masked: a padded query still attends, and its output is ignored.
        """
        mask = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        if self.config.is_decoder:
            mask = causal_mask(input_ids.shape[1], mask, device=input_ids.device)
        states = self.encoder(self.embeddings(input_ids, token_type_ids), mask)
        return EncoderOutput(states, self.pooler(states[-1]) if self.pooler else None)


def causal_mask(
    seq: int, mask: Bool[Tensor, "batch 1 1 seq"] | None, *, device: torch.device
) -> Bool[Tensor, "#batch 1 seq seq"]:
    """Each token sees itself and those on its left: the left-to-right model of Table 5."""
    left = torch.ones(seq, seq, dtype=torch.bool, device=device).tril()[None, None]
    return left if mask is None else mask & left


class MaskedLMHead(nn.Module):
    """Which word stood here? Dense, GELU, layer norm, then the word embeddings as the last matrix.

    That matrix is not this module's: it is tied, one array that learns from both ends.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.transform = DenseGelu(config, config.hidden_size)
        self.transform.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(
        self, x: Float[Tensor, "*batch hidden"], word_embeddings: Float[Tensor, "vocab hidden"]
    ) -> Float[Tensor, "*batch vocab"]:
        x = self.transform.LayerNorm(self.transform(x))
        return F.linear(x, word_embeddings, self.bias)


class PreTrainingHeads(nn.Module):  # `BertForPreTraining` calls each
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.predictions = MaskedLMHead(config)
        self.seq_relationship = nn.Linear(config.hidden_size, 2)


class BertForPreTraining(nn.Module):
    """BERT with both pretraining heads: masked words, and next sentence (0 = IsNext)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = BertModel(config)
        self.cls = PreTrainingHeads(config)

    def forward(
        self,
        input_ids: Int[Tensor, "batch seq"],
        token_type_ids: Int[Tensor, "batch seq"],
        attention_mask: Int[Tensor, "batch seq"] | None,
        masked_lm_positions: Int[Tensor, "batch masks"],
    ) -> tuple[Float[Tensor, "batch masks vocab"], Float[Tensor, "batch 2"]]:
        """The logits of both tasks. The MLM head sees the masked positions only: at 15% that
        saves most of the work of a large vocabulary."""
        output = self.bert(input_ids, token_type_ids, attention_mask)
        masked = gather_positions(output.last_hidden_state, masked_lm_positions)
        words = self.cls.predictions(masked, self.bert.embeddings.word_embeddings.weight)
        return words, self.cls.seq_relationship(output.pooled)

    def loss(
        self,
        batch: dict[str, Tensor],
        *,
        mask_count: Tensor | float | None = None,
        pair_count: int | None = None,
    ) -> "Losses":
        """Both losses of a masked batch; see `pretraining_losses` for the counts."""
        inputs = (batch[name] for name in PRETRAINING_INPUTS)
        words, pairs = self.forward(*inputs)
        return pretraining_losses(words, pairs, batch, mask_count=mask_count, pair_count=pair_count)


def gather_positions(
    x: Float[Tensor, "batch seq hidden"], positions: Int[Tensor, "batch masks"]
) -> Float[Tensor, "batch masks hidden"]:
    """The vectors at the given positions of each row."""
    return x.gather(1, positions[:, :, None].expand(-1, -1, x.shape[-1]))


class Losses(NamedTuple):
    """Both losses of a batch, in nats."""

    mlm: Float[Tensor, ""]
    nsp: Float[Tensor, ""]

    @property
    def total(self) -> Float[Tensor, ""]:
        """What is trained on: the sum (paper, section A.2)."""
        return self.mlm + self.nsp


def pretraining_losses(
    words: Float[Tensor, "batch masks vocab"],
    pairs: Float[Tensor, "batch 2"],
    batch: dict[str, Tensor],
    *,
    mask_count: Tensor | float | None = None,
    pair_count: int | None = None,
) -> Losses:
    """The paper's two losses from the logits of both tasks.

    Sums over this batch are divided by `mask_count` and `pair_count`. Give those of the whole
    batch when this is one micro-batch of several: then the gradients add up to exactly those of the
    whole. A mean of means would give the masks of a short example more weight.
    """
    ids, weights = batch["masked_lm_ids"].flatten(), batch["masked_lm_weights"].flatten()
    labels = batch["next_sentence_labels"]
    mask_count = weights.sum() if mask_count is None else mask_count
    pair_count = len(labels) if pair_count is None else pair_count
    each_word = F.cross_entropy(words.flatten(0, 1), ids, reduction="none")
    return Losses(
        mlm=(each_word * weights).sum() / mask_count,
        nsp=F.cross_entropy(pairs, labels, reduction="sum") / pair_count,
    )


def load_arrays(model: nn.Module, weights: Weights, *, prefix: str = "") -> None:
    """Copy arrays into the parameters of the same names; parameters without an array stay."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if prefix + name in weights:
                parameter.copy_(torch.from_numpy(weights[prefix + name]))


def to_arrays(model: nn.Module) -> Weights:
    """Every parameter as a float32 array under its name, in the file's order."""
    return {
        name: parameter.detach().float().cpu().numpy().copy()
        for name, parameter in model.named_parameters()
    }
