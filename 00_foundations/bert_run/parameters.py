"""The parameters of BERT: their names, their shapes, and their values before training.

Every level of the course keeps its parameters under these names, those of
`transformers.BertForPreTraining`. The decoder of the masked-language-model head is the word
embedding matrix itself, so it has no entry of its own.
"""

import math

import numpy as np

from bert_run.config import BertConfig

Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, np.ndarray]

LOOK, COPY = 0.6, 1.0  # how strong mimetic attention starts; tried on StoryWorld

HEAD_NAMES = {"cls.predictions.": "masked-language-model", "cls.seq_relationship.": "next-sentence"}


def parameter_shapes(config: BertConfig) -> Shapes:
    """Name and shape of every parameter, from the input upwards; a linear layer's weight is
    (out, in)."""
    hidden, intermediate = config.hidden_size, config.intermediate_size
    shapes: Shapes = {}

    def linear(name: str, out_size: int, in_size: int) -> None:
        shapes[f"{name}.weight"] = (out_size, in_size)
        shapes[f"{name}.bias"] = (out_size,)

    def layer_norm(name: str) -> None:
        shapes[f"{name}.weight"] = (hidden,)
        shapes[f"{name}.bias"] = (hidden,)

    shapes["bert.embeddings.word_embeddings.weight"] = (config.vocab_size, hidden)
    shapes["bert.embeddings.position_embeddings.weight"] = (config.max_position_embeddings, hidden)
    shapes["bert.embeddings.token_type_embeddings.weight"] = (config.type_vocab_size, hidden)
    layer_norm("bert.embeddings.LayerNorm")
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}"
        linear(f"{layer}.attention.self.query", hidden, hidden)
        linear(f"{layer}.attention.self.key", hidden, hidden)
        linear(f"{layer}.attention.self.value", hidden, hidden)
        linear(f"{layer}.attention.output.dense", hidden, hidden)
        layer_norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", intermediate, hidden)
        linear(f"{layer}.output.dense", hidden, intermediate)
        layer_norm(f"{layer}.output.LayerNorm")
    linear("bert.pooler.dense", hidden, hidden)
    shapes["cls.predictions.bias"] = (config.vocab_size,)
    linear("cls.predictions.transform.dense", hidden, hidden)
    layer_norm("cls.predictions.transform.LayerNorm")
    linear("cls.seq_relationship", 2, hidden)
    return shapes


def count_parameters(shapes: Shapes, prefix: str = "") -> int:
    """How many numbers the parameters hold whose names begin with `prefix`."""
    return sum(math.prod(shape) for name, shape in shapes.items() if name.startswith(prefix))


def is_decayed(name: str) -> bool:
    """Whether weight decay applies: to all but biases and layer norms (released code,
    optimization.py). The embeddings are decayed."""
    return not name.endswith("bias") and "LayerNorm" not in name


def truncated_normal(
    shape: tuple[int, ...], std: float, generator: np.random.Generator
) -> np.ndarray:
    """Normal draws of deviation `std`; those beyond two deviations are drawn again.

    The cut leaves a deviation of 0.88 `std`: 0.0176 for the paper's 0.02.
    """
    values = generator.standard_normal(shape, dtype=np.float32)
    while (outside := np.abs(values) > 2).any():
        values[outside] = generator.standard_normal(int(outside.sum()), dtype=np.float32)
    return values * np.float32(std)


def initial_weights(config: BertConfig, seed: int) -> Weights:
    """BERT before training, float32: truncated normal matrices, zero biases, layer norms of one.

    Each parameter draws from a generator of its own, keyed by its name, so a matrix keeps its
    values when layers are added.
    """
    weights: Weights = {}
    for name, shape in parameter_shapes(config).items():
        if name.endswith("bias"):
            weights[name] = np.zeros(shape, np.float32)
        elif "LayerNorm" in name:
            weights[name] = np.ones(shape, np.float32)
        else:
            generator = np.random.default_rng([seed, *name.encode()])
            weights[name] = truncated_normal(shape, config.initializer_range, generator)
    return weights


def make_mimetic(weights: Weights, config: BertConfig, seed: int) -> Weights:
    """The same weights, but attention starts with something to do: each token looks for
    its like, and copies what it finds.

    Small random matrices hide from each other what they could do together: looking for a token
    pays once copying works, and copying once looking works. Here query and key begin as the same
    random orthogonal matrix Q, so that query · key measures likeness, and value and output as R
    and its transpose, so that together they copy (after Trockman and Kolter 2023, "Mimetic
    Initialization of Self-Attention Layers", arXiv 2305.09828, who make value and output the
    negative identity for vision; here it is positive). The truncated normal values of
    the paper are added to both.
    """
    started = dict(weights)
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}.attention"
        looks, copies = (
            orthogonal(config.hidden_size, np.random.default_rng([seed, number, which]))
            for which in (0, 1)
        )
        for name, matrix in {
            f"{layer}.self.query.weight": LOOK * looks,
            f"{layer}.self.key.weight": LOOK * looks,
            f"{layer}.self.value.weight": COPY * copies,
            f"{layer}.output.dense.weight": COPY * copies.T,
        }.items():
            started[name] = weights[name] + matrix
    return started


def orthogonal(size: int, generator: np.random.Generator) -> np.ndarray:
    """A random rotation of `size` dimensions, float32 (QR of a normal matrix)."""
    return np.linalg.qr(generator.standard_normal((size, size)))[0].astype(np.float32)
