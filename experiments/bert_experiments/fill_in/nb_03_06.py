"""Fill-ins of 03/06, reading the BERT that everybody runs."""

import torch
import torch.nn.functional as F

from bert_experiments.fill_in import FillIn
from bert_paper.model import BertLayer
from bert_run.config import BertConfig

# --- Attention -----------------------------------------------------------------------------------


def random_tensors(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


QUERY, KEY, VALUE = random_tensors(*[(2, 2, 5, 3)] * 3)
NOTHING_HIDDEN = torch.zeros(2, 1, 1, 5)
LAST_HIDDEN = torch.tensor([0.0, 0.0, 0.0, -1e9, -1e9]).expand(2, 1, 1, 5)


def attended(scores: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return scores.softmax(dim=-1) @ value


eager_attention = FillIn(
    "eager_attention",
    reference=lambda query, key, value, mask: F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask
    ),
    instead="torch.nn.functional.scaled_dot_product_attention",
    inputs=[(QUERY, KEY, VALUE, mask) for mask in (NOTHING_HIDDEN, LAST_HIDDEN)],
    tolerance=1e-5,
    mistakes={
        "the scores are not divided by the root of head_dim": (
            lambda query, key, value, mask: attended(query @ key.transpose(-1, -2) + mask, value)
        ),
        "the scores are divided by head_dim: divide by its root": (
            lambda query, key, value, mask: attended(
                query @ key.transpose(-1, -2) / query.shape[-1] + mask, value
            )
        ),
        "the mask is added to the weights: it belongs to the scores, before the softmax": (
            lambda query, key, value, mask: (
                ((query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).softmax(dim=-1) + mask)
                @ value
            )
        ),
        "the mask is not added": (
            lambda query, key, value, mask: attended(
                query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5, value
            )
        ),
        "the softmax runs over the queries: it belongs on the last axis, the keys": (
            lambda query, key, value, mask: (
                (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + mask).softmax(dim=-2)
                @ value
            )
        ),
    },
)

# --- Labels --------------------------------------------------------------------------------------

POSITIONS, IDS = torch.tensor([[1, 3], [2, 0]]), torch.tensor([[40, 50], [60, 70]])


def scattered(positions: torch.Tensor, ids: torch.Tensor, seq_length: int, fill: int):
    return torch.full((len(positions), seq_length), fill).scatter(1, positions, ids)


labels_from = FillIn(
    "labels_from",
    reference=lambda positions, ids, seq_length: scattered(positions, ids, seq_length, -100),
    instead="`torch.full(…, -100).scatter(1, positions, ids)`",
    inputs=[(POSITIONS, IDS, 5), (POSITIONS[:1], IDS[:1], 4)],
    mistakes={
        "0 is the id of a token, [PAD]: positions that are not masked have the label -100": (
            lambda positions, ids, seq_length: scattered(positions, ids, seq_length, 0)
        ),
        "these are the positions: the label is the id of the word": (
            lambda positions, ids, seq_length: scattered(positions, positions, seq_length, -100)
        ),
    },
)

# --- What a loader did not find ------------------------------------------------------------------

Shapes = dict[str, tuple]
WANTED = {"pooler.weight": (4, 4), "encoder.weight": (4, 4), "pooler.bias": (4,)}
FOUND = {"pooler.weight": (4, 2), "encoder.weight": (4, 4), "query.bias": (4,), "a.bias": (2,)}


def reported(wanted: Shapes, found: Shapes) -> tuple[list, list, list]:
    both = wanted.keys() & found.keys()
    return (
        sorted(wanted.keys() - found.keys()),
        sorted(found.keys() - wanted.keys()),
        sorted(name for name in both if wanted[name] != found[name]),
    )


load_report = FillIn(
    "load_report",
    reference=reported,
    instead="the differences of the two sets of names",
    inputs=[(WANTED, FOUND), (WANTED, WANTED), (WANTED, {}), ({}, WANTED)],
    mistakes={
        "missing and unexpected are exchanged: the model wants what is missing": (
            lambda wanted, found: reported(found, wanted)
        ),
        "the third list has all names of both: keep those whose shapes differ": (
            lambda wanted, found: (
                *reported(wanted, found)[:2],
                sorted(wanted.keys() & found.keys()),
            )
        ),
        "names with another shape are not found": (
            lambda wanted, found: (*reported(wanted, found)[:2], [])
        ),
    },
)

# --- Pre-LN --------------------------------------------------------------------------------------


def small_layer() -> BertLayer:
    config = BertConfig(vocab_size=16, hidden_size=4, num_attention_heads=2, intermediate_size=8)
    layer = BertLayer(config).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(1)
    for parameter in layer.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return layer


def attention_half(layer: BertLayer, x: torch.Tensor) -> torch.Tensor:
    half = layer.attention
    return half.output.dense(half.self(half.output.LayerNorm(x), None))


def feed_forward_half(layer: BertLayer, x: torch.Tensor) -> torch.Tensor:
    return layer.output.dense(layer.intermediate(layer.output.LayerNorm(x)))


def both_halves(layer: BertLayer, x: torch.Tensor) -> torch.Tensor:
    x = x + attention_half(layer, x)
    return x + feed_forward_half(layer, x)


def without_second_residual(layer: BertLayer, x: torch.Tensor) -> torch.Tensor:
    return feed_forward_half(layer, x + attention_half(layer, x))


pre_ln = FillIn(
    "pre_ln",
    reference=both_halves,
    instead="x + f(LN(x)) for both halves",
    inputs=[(small_layer(), x) for x in random_tensors((1, 3, 4), (2, 5, 4))],
    tolerance=1e-5,
    mistakes={
        "this is post-LN, the paper's order": lambda layer, x: layer(x, None),
        "the second half must start from the sum that the first half returned": (
            lambda layer, x: x + attention_half(layer, x) + feed_forward_half(layer, x)
        ),
        "the residual of the second half is missing": without_second_residual,
        "this is the attention half alone": lambda layer, x: x + attention_half(layer, x),
    },
)
