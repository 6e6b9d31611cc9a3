"""BERT's configuration, and the parameters that follow from it: names, shapes and first values.

The config has the fields and the `config.json` of `transformers.BertConfig`. Every level of the
course keeps its parameters under the names of `transformers.BertForPreTraining`. The decoder of the
masked-language-model head is the word embedding matrix itself, so it has no entry of its own.
"""

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from bert_run.errors import UserError
from bert_run.files import write_atomically
from bert_run.validation import Real, Whole, check_fields, read_record, shown, wrong_field

GELU_FORMS = {
    "gelu": "none",  # with erf, as Hugging Face has it
    "gelu_new": "tanh",  # the tanh approximation, as Google's released code has it
    "gelu_pytorch_tanh": "tanh",  # the same under its other name
}

Vocabulary = Annotated[int, Whole(1, 10_000_000)]
Layers = Annotated[int, Whole(1, 1_000)]  # no BERT is as deep
Width = Annotated[int, Whole(1, 100_000)]
Intermediate = Annotated[int, Whole(1, 1_000_000)]  # four times the width, as a rule
Positions = Annotated[int, Whole(1, 1_000_000)]
Dropout = Annotated[float, Real(at_least=0, below=1)]
InitializerRange = Annotated[float, Real(above=0, at_most=10)]
LayerNormEps = Annotated[float, Real(at_least=1e-30, at_most=1)]  # float32 rounds less to zero


@dataclass(frozen=True)
class BertConfig:
    """Sizes of a BERT and the constants of its layers; the defaults are BERT-base, uncased.

    Raises `UserError` when the fields contradict one another.
    """

    vocab_size: Vocabulary = 30522
    hidden_size: Width = 768
    num_hidden_layers: Layers = 12
    num_attention_heads: Width = 12
    intermediate_size: Intermediate = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: Dropout = 0.1
    attention_probs_dropout_prob: Dropout = 0.1
    max_position_embeddings: Positions = 512
    type_vocab_size: Positions = 2
    initializer_range: InitializerRange = 0.02
    layer_norm_eps: LayerNormEps = 1e-12
    pad_token_id: Annotated[int, Whole(0, 10_000_000)] = 0
    is_decoder: bool = False  # reads from the left alone, as in the paper's Table 5

    def __post_init__(self) -> None:
        check_fields(self)
        if self.hidden_size % self.num_attention_heads:
            raise UserError(
                f"hidden_size {self.hidden_size} does not divide into num_attention_heads "
                f"{self.num_attention_heads}: every head takes an equal part of the vector"
            )
        if self.hidden_act not in list(GELU_FORMS):  # a list: config.json may hold anything
            raise UserError(f"hidden_act is {self.hidden_act!r}: BERT uses {', '.join(GELU_FORMS)}")
        if self.pad_token_id >= self.vocab_size:
            raise UserError(
                f"pad_token_id {self.pad_token_id} is outside the vocabulary ({self.vocab_size} "
                "entries)"
            )

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def gelu_approximation(self) -> str:
        """The `approximate` argument of `torch.nn.functional.gelu`: "none" (erf) or "tanh"."""
        return GELU_FORMS[self.hidden_act]

    def with_changes(self, **changes: Any) -> "BertConfig":
        return replace(self, **changes)

    def save(self, folder: Path, **more: Any) -> None:
        """Write `folder/config.json` as `transformers` reads it; `more` are fields of a head."""
        content = {
            "architectures": ["BertForPreTraining"],
            "model_type": "bert",
            **asdict(self),
            "tie_word_embeddings": True,
            **more,
        }
        write_atomically(Path(folder) / "config.json", json.dumps(content, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path, *, decoders: bool = False) -> "BertConfig":
        """Read `folder/config.json`; fields that `transformers` has and BERT does not need are
        passed over. Models that read from the left alone are refused unless `decoders`."""
        path = Path(folder) / "config.json"
        if not path.exists():
            raise UserError(f"{folder} holds no config.json: it is not a checkpoint folder")
        content = read_record(path, way_out="copy the checkpoint again")
        model_type = content.get("model_type", "bert")
        if model_type != "bert":
            raise UserError(
                f"{folder} holds a {shown(model_type)} checkpoint: only BERT can be opened"
            )
        if (content.get("is_decoder") and not decoders) or content.get("add_cross_attention"):
            raise UserError(f"{folder} holds a BERT decoder: only BERT encoders can be opened here")
        if (positions := content.get("position_embedding_type", "absolute")) != "absolute":
            raise UserError(
                f"{folder} uses {shown(positions)} positions: only BERT's own absolute positions "
                "can be opened"
            )
        names = [field.name for field in fields(cls)]  # numbers are checked when it is made
        if problem := wrong_field(content, {}, {"hidden_act": str, "is_decoder": bool}):
            raise UserError(f"{path}: {problem}: it is not the config of a BERT model")
        try:
            return cls(**{name: value for name, value in content.items() if name in names})
        except UserError as error:
            raise UserError(f"{path}: {error}") from None


def preset(layers: int, hidden: int) -> BertConfig:
    """The released family: heads of 64, an intermediate layer four times as wide."""
    return BertConfig(
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=hidden // 64,
        intermediate_size=4 * hidden,
    )


# The paper's two sizes (section 3) and the smaller ones of Turc et al. 2019 (arXiv 1908.08962).
PRESETS = {
    "tiny": preset(layers=2, hidden=128),
    "mini": preset(layers=4, hidden=256),
    "small": preset(layers=4, hidden=512),
    "medium": preset(layers=8, hidden=512),
    "base": preset(layers=12, hidden=768),
    "large": preset(layers=24, hidden=1024),
}


# The parameters.


Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, np.ndarray]

Initialization = Literal["paper", "mimetic", "induction"]
LOOK, COPY = 0.6, 1.0  # how strong mimetic attention starts; tried on StoryWorld
# The same for induction heads, and their position and segment vectors.
LOOK_BESIDE, COPY_BESIDE, POSITION_SIZE, SEGMENT_SHARE = 0.7, 2.0, 0.05, 0.1

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


def first_weights(config: BertConfig, seed: int, initialization: Initialization) -> Weights:
    """BERT before training, with the start for attention that is named."""
    weights = initial_weights(config, seed)
    if initialization == "mimetic":
        return make_mimetic(weights, config, seed)
    if initialization == "induction":
        return make_induction_heads(weights, config, seed)
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


def make_induction_heads(weights: Weights, config: BertConfig, seed: int) -> Weights:
    """The weights of `make_mimetic`, but two heads of the first layer start by looking at the
    previous and at the next token, and two of the second by looking where these are the same.

    Together they find an earlier place with the same neighbors, and copy the word that stands
    there: induction heads (Olsson et al. 2022, "In-context Learning and Induction Heads"), which
    trained transformers have, and until which are found the loss stays on a plateau.

    The first head_dim numbers of every position vector are the cosines and sines of position · θ,
    for head_dim / 2 frequencies θ, as in Vaswani et al. 2017 (section 3.5); its other numbers are
    zero. For two positions the dot product is the sum of cos(θ · distance), which is largest at
    distance zero. The query of a neighbor head turns each cosine and sine by θ, forward or
    backward, so the product is largest one token away. The other heads neither look at these
    numbers nor copy them. Query and key of the second layer's heads are the value matrix of a
    neighbor head, so that query · key measures the likeness of what that head has copied. Segment
    vectors start small, or every token would look mostly at its own segment.
    """
    pairs = config.head_dim // 2
    kept = 2 * pairs  # numbers of each vector that are kept for the position
    generator = np.random.default_rng([seed, 77])
    frequencies = np.pi * (np.arange(pairs) + generator.random(pairs)) / pairs  # over (0, π)
    started = {name: values.copy() for name, values in make_mimetic(weights, config, seed).items()}
    angles = np.arange(config.max_position_embeddings)[:, None] * frequencies
    positions = started["bert.embeddings.position_embeddings.weight"]
    positions[:] = 0
    positions[:, 0:kept:2] = POSITION_SIZE * np.cos(angles)
    positions[:, 1:kept:2] = POSITION_SIZE * np.sin(angles)
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}.attention"
        for name in (f"{layer}.self.{part}.weight" for part in ("query", "key", "value")):
            started[name][:, :kept] = weights[name][:, :kept]
        name = f"{layer}.output.dense.weight"
        started[name][:kept] = weights[name][:kept]
    for head, shift in zip(range(config.num_attention_heads), (-1, 1), strict=False):
        rows = slice(head * config.head_dim, (head + 1) * config.head_dim)
        for part, turned_by in (("query", shift * frequencies), ("key", 0 * frequencies)):
            name = f"bert.encoder.layer.0.attention.self.{part}.weight"
            started[name][rows] = weights[name][rows]
            turn = LOOK_BESIDE**0.5 * rotations(turned_by)
            started[name][rows, :kept][:kept] += turn.astype(np.float32)
        copies = started["bert.encoder.layer.0.attention.self.value.weight"][rows]
        started["bert.encoder.layer.0.attention.output.dense.weight"][:, rows] *= COPY_BESIDE
        for part in ("query", "key") if config.num_hidden_layers > 1 else ():
            name = f"bert.encoder.layer.1.attention.self.{part}.weight"
            started[name][rows] = weights[name][rows] + copies
    started["bert.embeddings.token_type_embeddings.weight"] *= SEGMENT_SHARE
    return started


def rotations(angles: np.ndarray) -> np.ndarray:
    """A matrix that turns the first pair of numbers by the first angle, the next by the next."""
    matrix = np.zeros((2 * len(angles), 2 * len(angles)))
    for pair, (cosine, sine) in enumerate(zip(np.cos(angles), np.sin(angles), strict=True)):
        here = slice(2 * pair, 2 * pair + 2)
        matrix[here, here] = [[cosine, -sine], [sine, cosine]]
    return matrix


def orthogonal(size: int, generator: np.random.Generator) -> np.ndarray:
    """A random rotation of `size` dimensions, float32 (QR of a normal matrix)."""
    return np.linalg.qr(generator.standard_normal((size, size)))[0].astype(np.float32)
