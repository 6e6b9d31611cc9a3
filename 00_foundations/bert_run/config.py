"""What a model is and what a run is: BERT's config, its parameters, the settings of pretraining.

The config has the fields of `transformers.BertConfig`, the parameters the names of
`BertForPreTraining`; its decoder is the word embedding matrix, so it has no entry of its own.

The range of a number stands in the annotation of its field, `Annotated[int, Whole(1, 512)]` say,
and is checked when a dataclass is made, by `check_numbers(self)`.
"""

import json
import math
import numbers
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np
from tyro.conf import arg
from tyro.constructors import PrimitiveConstructorSpec

from bert_run.errors import UserError, option, shown
from bert_run.files import read_record, write_atomically, wrong_field

# Ranges: which numbers a field may have.


class Range(PrimitiveConstructorSpec):
    """The numbers from `low` to `high`, except those of `without`, which may be the ends. Tells
    tyro to hand on whatever was typed, for `check_numbers` to answer."""

    def __init__(self, type_: type, low: float, high: float, without: tuple = ()) -> None:
        number = {int: numbers.Integral, float: numbers.Real}[type_]
        super().__init__(
            nargs=1,
            metavar=type_.__name__.upper(),
            instance_from_str=lambda words: as_typed(words[0], type_),
            is_instance=lambda value: isinstance(value, number) and not isinstance(value, bool),
            str_from_instance=lambda value: [str(value)],
        )
        # The parent is a frozen dataclass.
        vars(self).update(type_=type_, low=low, high=high, without=without)

    def admits(self, value: Any) -> bool:
        is_between = self.is_instance(value) and self.low <= value <= self.high
        return is_between and value not in self.without

    def __str__(self) -> str:
        if self.type_ is int:
            return f"a whole number from {self.low:,} to {self.high:,}"
        if not self.without:
            return f"a number from {self.low:g} to {self.high:g}"
        low = f"above {self.low:g}" if self.low in self.without else f"of at least {self.low:g}"
        high = f"below {self.high:g}" if self.high in self.without else f"at most {self.high:g}"
        return f"a number {low} and {high}"


def Whole(low: int, high: int) -> Range:
    """Whole numbers from `low` to `high`."""
    return Range(int, low, high)


def Real(**ends: float) -> Range:
    """Numbers from `at_least`, or above `above`, to `at_most`, or below `below`."""
    without = tuple(ends[end] for end in ("above", "below") if end in ends)
    return Range(float, min(ends.values()), max(ends.values()), without)


Count = Annotated[int, Whole(1, 10**9)]
Share = Annotated[float, Real(at_least=0, at_most=1)]
# Times a million for the steps, and times the number of processes, it still fits into 64 bits.
Seed = Annotated[int, Whole(0, 2**32 - 1)]


def as_typed(word: str, type_: type) -> int | float | str:
    """The number that a word stands for, else the word itself."""
    for read in (type_, float):
        with suppress(ValueError):
            return read(word)
    return word


def check_numbers(settings: Any, *, called: Callable[[str], str] = option) -> None:
    """Raise `UserError` at the first number outside its range; `called` names a field for users."""
    for name, (range_, may_be_none) in number_fields(type(settings)).items():
        value = getattr(settings, name)
        if value is None and may_be_none:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if not range_.admits(each):
                raise UserError(f"{called(name)} is {shown(each)}: it must be {range_}")


def check_fields(settings: Any) -> None:
    """The same for a dataclass whose fields are no options, a config.json's say."""
    check_numbers(settings, called=str)


@cache
def number_fields(settings: type) -> dict[str, tuple[Range, bool]]:
    """The fields of a dataclass that hold numbers: their range, and whether they may be None.
    Raises `TypeError` for a number without a range."""
    hints = get_type_hints(settings, include_extras=True)
    found = {}
    for field in fields(settings):
        leaves = list(leaves_of(hints[field.name]))
        if any(leaf in (int, float) for leaf in leaves):
            raise TypeError(f"{settings.__name__}.{field.name} is a number without a range")
        ranges = [leaf for leaf in leaves if isinstance(leaf, Range)]
        if ranges:
            found[field.name] = ranges[0], NoneType in leaves
    return found


def leaves_of(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of; a range stands for the type that it belongs to."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        ranges = [each for each in arguments[1:] if isinstance(each, Range)]
        yield from ranges or leaves_of(arguments[0])
    elif arguments:
        for argument in arguments:
            yield from leaves_of(argument)
    else:
        yield annotation


# The model.

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
    """Sizes of a BERT and the constants of its layers; the defaults are BERT-base, uncased."""

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
    is_decoder: bool = False  # causal mask: the paper's left-to-right model (Table 5)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.hidden_size % self.num_attention_heads:
            raise UserError(f"hidden_size {self.hidden_size} does not divide into "
                            f"num_attention_heads {self.num_attention_heads}: every head takes "
                            "an equal part of the vector")  # fmt: skip
        if self.hidden_act not in list(GELU_FORMS):  # a list: config.json may hold anything
            raise UserError(f"hidden_act is {self.hidden_act!r}: BERT uses {', '.join(GELU_FORMS)}")
        if self.pad_token_id >= self.vocab_size:
            raise UserError(f"pad_token_id {self.pad_token_id} is outside the vocabulary "
                            f"({self.vocab_size} entries)")  # fmt: skip

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
        """Write `folder/config.json` as `transformers` reads it, with `more` fields."""
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
        """Read `folder/config.json`; models that read from the left alone only for `decoders`."""
        path = Path(folder) / "config.json"
        if not path.exists():
            raise UserError(f"{folder} holds no config.json: it is not a checkpoint folder")
        content = read_record(path, way_out="copy the checkpoint again")
        if (model_type := content.get("model_type", "bert")) != "bert":
            raise UserError(f"{folder} holds a {shown(model_type)} checkpoint: only BERT can be "
                            "opened")  # fmt: skip
        if (content.get("is_decoder") and not decoders) or content.get("add_cross_attention"):
            raise UserError(f"{folder} holds a BERT decoder: only BERT encoders can be opened here")
        if (positions := content.get("position_embedding_type", "absolute")) != "absolute":
            raise UserError(f"{folder} uses {shown(positions)} positions: only BERT's own "
                            "absolute positions can be opened")  # fmt: skip
        names = [field.name for field in fields(cls)]  # numbers are checked when it is made
        if problem := wrong_field(content, {}, {"hidden_act": str, "is_decoder": bool}):
            raise UserError(f"{path}: {problem}: it is not the config of a BERT model")
        try:
            return cls(**{name: value for name, value in content.items() if name in names})
        except UserError as error:
            raise UserError(f"{path}: {error}") from None


def preset(layers: int, hidden: int) -> BertConfig:
    """The released family: heads of 64, an intermediate layer four times as wide."""
    usual = {"num_attention_heads": hidden // 64, "intermediate_size": 4 * hidden}
    return BertConfig(num_hidden_layers=layers, hidden_size=hidden, **usual)


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


def parameter_shapes(config: BertConfig) -> Shapes:
    """Name and shape of every parameter, from the input upwards."""
    hidden, intermediate = config.hidden_size, config.intermediate_size
    shapes: Shapes = {}

    def layer(name: str, *shape: int) -> None:
        """A weight, (out, in) of a linear layer, and a bias."""
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]

    shapes["bert.embeddings.word_embeddings.weight"] = (config.vocab_size, hidden)
    shapes["bert.embeddings.position_embeddings.weight"] = (config.max_position_embeddings, hidden)
    shapes["bert.embeddings.token_type_embeddings.weight"] = (config.type_vocab_size, hidden)
    layer("bert.embeddings.LayerNorm", hidden)
    for number in range(config.num_hidden_layers):
        name = f"bert.encoder.layer.{number}"
        for part in ("query", "key", "value"):
            layer(f"{name}.attention.self.{part}", hidden, hidden)
        layer(f"{name}.attention.output.dense", hidden, hidden)
        layer(f"{name}.attention.output.LayerNorm", hidden)
        layer(f"{name}.intermediate.dense", intermediate, hidden)
        layer(f"{name}.output.dense", hidden, intermediate)
        layer(f"{name}.output.LayerNorm", hidden)
    layer("bert.pooler.dense", hidden, hidden)
    shapes["cls.predictions.bias"] = (config.vocab_size,)
    layer("cls.predictions.transform.dense", hidden, hidden)
    layer("cls.predictions.transform.LayerNorm", hidden)
    layer("cls.seq_relationship", 2, hidden)
    return shapes


def count_parameters(shapes: Shapes, prefix: str = "") -> int:
    """How many numbers the parameters hold whose names begin with `prefix`."""
    return sum(math.prod(shape) for name, shape in shapes.items() if name.startswith(prefix))


def is_decayed(name: str) -> bool:
    """Whether weight decay applies: to all but biases and layer norms (released code,
    optimization.py). The embeddings are decayed."""
    return not name.endswith("bias") and "LayerNorm" not in name


def truncated_normal(shape: tuple[int, ...], std: float,
                     generator: np.random.Generator) -> np.ndarray:  # fmt: skip
    """Normal draws of deviation `std`; those beyond two deviations are drawn again, which leaves a
    deviation of 0.88 `std`: 0.0176 for the paper's 0.02."""
    values = generator.standard_normal(shape, dtype=np.float32)
    while (outside := np.abs(values) > 2).any():
        values[outside] = generator.standard_normal(int(outside.sum()), dtype=np.float32)
    return values * np.float32(std)


def initial_weights(config: BertConfig, seed: int, shapes: Shapes | None = None) -> Weights:
    """BERT before training, float32: truncated normal matrices, zero biases, layer norms of one.

    Each parameter draws from a generator of its own, keyed by its name, so a matrix keeps its
    values when layers are added. `shapes`: of other parameters, those of a new head.
    """
    weights: Weights = {}
    for name, shape in (parameter_shapes(config) if shapes is None else shapes).items():
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
    start = {"mimetic": make_mimetic, "induction": make_induction_heads}.get(initialization)
    return start(weights, config, seed) if start else weights


def make_mimetic(weights: Weights, config: BertConfig, seed: int) -> Weights:
    """The same weights, but each token starts by looking for its like and copying what it finds.

    To query and key the same random orthogonal matrix is added, so that query · key measures
    likeness, and to value and output another and its transpose, so that together they copy (after
    Trockman and Kolter 2023, "Mimetic Initialization of Self-Attention Layers", arXiv 2305.09828).
    """
    started = {name: values.copy() for name, values in weights.items()}
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}.attention"
        looks, copies = (orthogonal(config.hidden_size, [seed, number, i]) for i in (0, 1))
        started[f"{layer}.self.query.weight"] += LOOK * looks
        started[f"{layer}.self.key.weight"] += LOOK * looks
        started[f"{layer}.self.value.weight"] += COPY * copies
        started[f"{layer}.output.dense.weight"] += COPY * copies.T
    return started


def make_induction_heads(weights: Weights, config: BertConfig, seed: int) -> Weights:
    """The weights of `make_mimetic`, but two heads of the first layer start by looking at the
    previous and at the next token, and two of the second by looking where these are the same.

    Together they find an earlier place with the same neighbors, and copy the word that stands
    there: induction heads (Olsson et al. 2022, "In-context Learning and Induction Heads").

    The first head_dim numbers of every position vector are the cosines and sines of position · θ,
    for head_dim / 2 frequencies θ (Vaswani et al. 2017, section 3.5), so that the dot product of
    two positions is largest at distance zero. The query of a neighbor head turns each cosine and
    sine by θ: then it is largest one token away. The other heads neither look at these numbers nor
    copy them. Query and key of the second layer's heads are the value matrix of a neighbor head,
    so that query · key measures the likeness of what that head has copied. Segment vectors start
    small, or every token would look mostly at its own segment.
    """
    pairs = config.head_dim // 2
    kept = 2 * pairs  # numbers of each vector that are kept for the position
    generator = np.random.default_rng([seed, 77])
    frequencies = np.pi * (np.arange(pairs) + generator.random(pairs)) / pairs  # over (0, π)
    started = make_mimetic(weights, config, seed)
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
    cosines, sines = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.kron(cosines, np.eye(2)) + np.kron(sines, [[0, -1], [1, 0]])


def orthogonal(size: int, seed: list[int]) -> np.ndarray:
    """A random rotation of `size` dimensions, float32 (QR of a normal matrix)."""
    normal = np.random.default_rng(seed).standard_normal((size, size))
    return np.linalg.qr(normal)[0].astype(np.float32)


# The settings of a pretraining run, at whatever level: every field is an option of its command.

Size = Literal["tiny", "mini", "small", "medium", "base", "large"]
BatchSize = Annotated[int, Whole(1, 1_000_000)]
SequenceLength = Annotated[int, Whole(5, 1_000_000)]  # 5: two sentences of a token each
Steps = Annotated[int, Whole(1, 99_999_999)]  # a checkpoint's name has eight digits for the step
MaskedShare = Annotated[float, Real(above=0, at_most=1)]  # without masks nothing can be learned
LearningRate = Annotated[float, Real(above=0, at_most=1)]
Beta = Annotated[float, Real(at_least=0, below=1)]
# Not zero: the moments of a word that never occurred are zero, and Adam would divide 0 by 0. Much
# less than 1e-18 does not help: float32 rounds the squares of small gradients to zero.
Epsilon = Annotated[float, Real(at_least=1e-18, at_most=1)]
GradNorm = Annotated[float, Real(at_least=0, at_most=1e9)]
Precision = Literal["auto", "fp32", "bf16"]
SentenceTask = Literal["nsp", "sop", "none"]


@dataclass(frozen=True)
class MaskingRecipe:
    """How much is masked, and what becomes of it (paper, section 3.1)."""

    masked_lm_prob: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1

    def max_predictions(self, seq_length: int) -> int:
        """Slots for masked tokens in a row: 19 at length 128, 77 at 512."""
        return max(1, round(self.masked_lm_prob * seq_length))


@dataclass(frozen=True)
class PairRecipe:
    """What the second segment of a pair is, and so what next-sentence prediction asks (3.1)."""

    sentence_task: SentenceTask = "nsp"
    random_next: float = 0.5  # how often the second segment comes from another document

    @property
    def held_out(self) -> "PairRecipe":
        """That of held-out pairs: half are random, so one answer to all is right half the time."""
        return PairRecipe() if self.sentence_task == "nsp" else self


@dataclass(frozen=True)
class AdamSettings:
    """The constants of Adam (paper, A.2); epsilon and clipping are those of `optimization.py`."""

    learning_rate: float = 1e-4
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0  # 0: gradients are not clipped


@dataclass(frozen=True)
class Phase:
    """Steps first_step … last_step - 1 at one length; its examples follow those before."""

    first_step: int
    last_step: int
    seq_length: int
    batch_size: int
    first_example: int

    def first_example_of(self, step: int) -> int:
        return self.first_example + (step - self.first_step) * self.batch_size


@dataclass(frozen=True)
class RunSettings:
    """What a pretraining run is, at every level; a level adds what it alone has."""

    program: ClassVar[str] = "bert-pretrain"  # the command whose options the fields are

    # --- Data ---
    corpus: Annotated[str, arg(aliases=["--data-path"])] = "storyworld"
    """storyworld, pydocs, a text FILE or FOLDER, JSON lines, or of the Hub ID[:CONFIG][@SPLIT]"""
    heldout: str | None = None
    """another corpus to measure on; without it a part of the corpus is kept apart"""
    documents: Count | None = None
    """take at most so many documents"""
    split_sentences: bool | None = None
    """lines are prose to be split (True) or sentences (False); else a sample of them decides"""
    tokenizer: Annotated[Path | None, arg(aliases=["--vocab-file"])] = None
    """a tokenizer.json, a vocab.txt, or a folder that holds one; without it one is trained"""
    vocab_size: Vocabulary | None = None
    """entries of the vocabulary that is trained (8192 unless said otherwise)"""
    tokenizer_type: Literal["BertWordPieceLowerCase", "BertWordPieceCase"] | None = None
    """text in lower case, or as it is written; lower case unless the tokenizer says otherwise"""
    seq_length: SequenceLength = 128
    """tokens in an example, special tokens included"""
    short_seq_length: SequenceLength | None = None
    """begin with examples of this length: the paper takes 128 for 90% of the steps, then 512"""
    short_share: Share = 0.9
    """the share of the steps that have --short-seq-length"""
    short_batch_size: BatchSize | None = None
    """examples in a step of --short-seq-length; --batch-size, unless given"""

    # --- Model ---
    model: Size = "tiny"
    """the released sizes; the fields below change single numbers"""
    num_hidden_layers: Annotated[Layers | None, arg(aliases=["--num-layers"])] = None
    hidden_size: Width | None = None
    num_attention_heads: Width | None = None
    """one for every 64 of the hidden size, unless given"""
    intermediate_size: Annotated[Intermediate | None, arg(aliases=["--ffn-hidden-size"])] = None
    """four times the hidden size, unless given"""
    hidden_act: Literal["gelu", "gelu_new", "gelu_pytorch_tanh"] | None = None
    """gelu by erf, or by tanh as in Google's code"""
    hidden_dropout_prob: Annotated[Dropout | None, arg(aliases=["--hidden-dropout"])] = None
    attention_probs_dropout_prob: Annotated[
        Dropout | None, arg(aliases=["--attention-dropout"])
    ] = None
    max_position_embeddings: Positions | None = None
    type_vocab_size: Positions | None = None
    initialization: Initialization = "paper"
    """paper; mimetic: each token starts by attending to similar tokens and copying them; induction:
    also heads that start on both neighbors and, in layer 2, on tokens with the same neighbors"""
    initializer_range: Annotated[InitializerRange | None, arg(aliases=["--init-method-std"])] = None
    layer_norm_eps: Annotated[LayerNormEps | None, arg(aliases=["--layernorm-epsilon"])] = None

    # --- Recipe ---
    steps: Annotated[Steps, arg(aliases=["--train-iters"])] = 1000
    """batches to train on"""
    batch_size: Annotated[BatchSize, arg(aliases=["--global-batch-size"])] = 64
    """examples in a step"""
    micro_batch_size: BatchSize | None = None
    """examples computed at a time, when a whole batch does not fit into memory"""
    learning_rate: Annotated[LearningRate | None, arg(aliases=["--lr"])] = None
    """the peak; unless given 1e-4 for base and large, 1e-4 · 768 / hidden for narrower models"""
    warmup_steps: Annotated[
        Annotated[int, Whole(0, 99_999_999)] | None, arg(aliases=["--lr-warmup-iters"])
    ] = None
    """unless given a tenth of the steps, at most 1000; from 100,000 steps on a hundredth"""
    optimizer: Literal["bert-adam", "adamw"] = "bert-adam"
    """BERT's Adam (released code), without bias correction, or AdamW, which corrects it"""
    adam_beta1: Beta = AdamSettings.beta1
    adam_beta2: Beta = AdamSettings.beta2
    adam_eps: Epsilon = AdamSettings.epsilon
    weight_decay: Share = AdamSettings.weight_decay
    max_grad_norm: Annotated[GradNorm, arg(aliases=["--clip-grad"])] = AdamSettings.max_grad_norm
    """all gradients together are scaled down to this norm; 0: they are not"""
    masked_lm_prob: MaskedShare = MaskingRecipe.masked_lm_prob
    mask_share: Share = MaskingRecipe.mask_share
    """of the chosen tokens, how many become [MASK]"""
    random_share: Share = MaskingRecipe.random_share
    """of the chosen tokens, how many become a random word; the rest stay as they are"""
    seed: Seed = 0

    # --- Run ---
    out: Annotated[Path, arg(aliases=["--save"])] = Path("runs/pretrain")
    """the run's folder; at any time its newest checkpoint is a transformers folder"""
    eval_every: Annotated[Count | None, arg(aliases=["--eval-interval"])] = None
    """steps between measurements on held-out text; unless given a tenth of all, at least 100"""
    eval_examples: Annotated[int, Whole(1, 10_000_000)] = 1024
    """held-out examples in a measurement"""
    save_every: Annotated[Count | None, arg(aliases=["--save-interval"])] = None
    """steps between checkpoints; unless given a tenth of all, from 100 to 1000"""
    keep_checkpoints: Count = 2
    """how many of the newest checkpoints stay"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.short_seq_length is not None and self.short_seq_length > self.seq_length:
            raise UserError(f"--short-seq-length {self.short_seq_length} is longer than "
                            f"--seq-length {self.seq_length}: short ones come first")  # fmt: skip
        if self.mask_share + self.random_share > 1:
            raise UserError(f"--mask-share {self.mask_share} + --random-share "
                            f"{self.random_share}: at most 1")  # fmt: skip
        if self.warmup_steps is not None and self.warmup_steps > self.steps:
            raise UserError(f"--warmup-steps {self.warmup_steps}: at most --steps, {self.steps}")
        if self.tokenizer is not None and self.vocab_size is not None:
            raise UserError(f"--tokenizer {self.tokenizer} and --vocab-size {self.vocab_size} "
                            "exclude each other: a tokenizer has its own vocabulary")  # fmt: skip

    def all_used(self) -> "RunSettings":
        """These settings. Raises `UserError` for an option that was given and changes nothing."""
        for name, why in self.unused.items():
            if (value := getattr(self, name)) != getattr(type(self), name):  # its default
                raise UserError(f"{option(name)} {value} changes nothing {why}: leave it out")
        return self

    @property
    def unused(self) -> dict[str, str]:
        """The options that change nothing in this run, and why."""
        short = () if self.short_seq_length else ("short_share", "short_batch_size")
        return dict.fromkeys(short, "without --short-seq-length")

    @property
    def lowercase(self) -> bool | None:
        return self.tokenizer_type and self.tokenizer_type.endswith("LowerCase")

    @property
    def masking(self) -> MaskingRecipe:
        return MaskingRecipe(self.masked_lm_prob, self.mask_share, self.random_share)

    @property
    def pairs(self) -> PairRecipe:
        return PairRecipe()

    def seed_of(self, part: str) -> int:
        """Of pairs and masks. All runs are measured on the same ones, with seed 1."""
        return self.seed if part == "train" else 1

    def bert_config(self, vocab_size: int) -> BertConfig:
        """The preset with the fields that were given."""
        preset = PRESETS[self.model]
        given = {field.name: value for field in fields(BertConfig)
                 if (value := getattr(self, field.name, None)) is not None}  # fmt: skip
        hidden = self.hidden_size or preset.hidden_size
        usual = {"num_attention_heads": max(1, hidden // 64), "intermediate_size": 4 * hidden}
        config = preset.with_changes(**{**usual, **given, "vocab_size": vocab_size})
        if self.seq_length > config.max_position_embeddings:
            raise UserError(f"--seq-length {self.seq_length} is longer than the model's "
                            f"{config.max_position_embeddings} positions: lower it, or raise "
                            "--max-position-embeddings")  # fmt: skip
        if config.type_vocab_size < 2:
            raise UserError("--type-vocab-size is 1: a pair of sentences needs 2 segments")
        return config

    def fingerprint_of_start(self) -> dict[str, str]:
        """Of the model to start from, under "start", if there is one in a folder here."""
        return {}

    def first_weights(self, config: BertConfig) -> Weights:
        """What a new run begins with: weights that have learned nothing."""
        return first_weights(config, self.seed, self.initialization)

    def adam(self, config: BertConfig) -> AdamSettings:
        """Adam's constants; narrow models learn at a higher rate unless one is given."""
        paper = AdamSettings.learning_rate
        narrow = paper * PRESETS["base"].hidden_size / config.hidden_size
        return AdamSettings(
            learning_rate=self.learning_rate or max(paper, narrow),
            beta1=self.adam_beta1, beta2=self.adam_beta2, epsilon=self.adam_eps,
            weight_decay=self.weight_decay, max_grad_norm=self.max_grad_norm,
        )  # fmt: skip

    @property
    def warmup(self) -> int:
        if self.warmup_steps is not None:
            return self.warmup_steps
        return max(self.steps // 100, min(self.steps // 10, 1000))

    @property
    def phases(self) -> list[Phase]:
        """One phase, or the paper's two: short examples first, then long ones."""
        short = 0 if self.short_seq_length is None else round(self.steps * self.short_share)
        short = min(short, self.steps - (self.short_share < 1))  # so a short trial has a long step
        size = self.short_batch_size or self.batch_size
        phases = [
            Phase(0, short, self.short_seq_length or self.seq_length, size, 0),
            Phase(short, self.steps, self.seq_length, self.batch_size, short * size),
        ]
        return [phase for phase in phases if phase.first_step < phase.last_step]

    @property
    def evaluation_interval(self) -> int:
        return self.eval_every or max(100, self.steps // 10)

    @property
    def saving_interval(self) -> int:
        return self.save_every or min(1000, max(100, self.steps // 10))
