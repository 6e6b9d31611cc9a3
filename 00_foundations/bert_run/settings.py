"""The settings of a pretraining run, at whatever level: every field is an option of its command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from tyro.conf import arg

from bert_run.config import (
    PRESETS,
    BertConfig,
    Dropout,
    Initialization,
    InitializerRange,
    Intermediate,
    LayerNormEps,
    Layers,
    Positions,
    Vocabulary,
    Width,
)
from bert_run.errors import UserError
from bert_run.validation import Count, Real, Seed, Share, Whole, check_fields, check_numbers

Size = Literal["tiny", "mini", "small", "medium", "base", "large"]
Batch = Annotated[int, Whole(1, 1_000_000)]
SequenceLength = Annotated[int, Whole(5, 1_000_000)]  # 5: two sentences of a token each
Steps = Annotated[int, Whole(1, 99_999_999)]  # a checkpoint's name has eight digits for the step

MaskedShare = Annotated[float, Real(above=0, at_most=1)]  # without masks nothing can be learned


@dataclass(frozen=True)
class MaskingRecipe:
    """How much is masked, and what becomes of it (paper, section 3.1)."""

    masked_lm_prob: MaskedShare = 0.15
    mask_share: Share = 0.8
    random_share: Share = 0.1

    def __post_init__(self) -> None:
        check_fields(self)

    def max_predictions(self, seq_length: int) -> int:
        """Slots for masked tokens in a row: 19 at length 128, 77 at 512."""
        return max(1, round(self.masked_lm_prob * seq_length))


SentenceTask = Literal["nsp", "sop", "none"]


@dataclass(frozen=True)
class PairRecipe:
    """What the second segment of a pair is, and so what the sentence task asks (paper, 3.1)."""

    sentence_task: SentenceTask = "nsp"
    random_next: Share = 0.5  # how often the second segment comes from another document

    def __post_init__(self) -> None:
        check_fields(self)


LearningRate = Annotated[float, Real(above=0, at_most=1)]
Beta = Annotated[float, Real(at_least=0, below=1)]
# Not zero: the moments of a word that never occurred are zero, and Adam would divide 0 by 0. Much
# less than 1e-18 does not help: float32 rounds the squares of small gradients to zero.
Epsilon = Annotated[float, Real(at_least=1e-18, at_most=1)]
GradNorm = Annotated[float, Real(at_least=0, at_most=1e9)]


@dataclass(frozen=True)
class AdamSettings:
    """The constants of Adam, as the paper has them (appendix A.2)."""

    learning_rate: LearningRate = 1e-4
    beta1: Beta = 0.9
    beta2: Beta = 0.999
    epsilon: Epsilon = 1e-6
    weight_decay: Share = 0.01
    max_grad_norm: GradNorm = 1.0  # 0: gradients are not clipped

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Phase:
    """Steps first_step … last_step - 1 at one sequence length; examples are counted on."""

    first_step: int
    last_step: int
    seq_length: int
    batch_size: int
    first_example: int

    def first_example_of(self, step: int) -> int:
        return self.first_example + (step - self.first_step) * self.batch_size


MEGATRON_TOKENIZERS = {"BertWordPieceLowerCase": True, "BertWordPieceCase": False}


@dataclass(frozen=True)
class RunSettings:
    """What a pretraining run is, at every level; a level adds what it alone has."""

    program: ClassVar[str] = "bert-pretrain"  # the command whose options the fields are

    # --- Data ---
    corpus: Annotated[str, arg(aliases=["--data-path"])] = "storyworld"
    """storyworld, pydocs, a text FILE or FOLDER, JSON lines, or a Hub dataset ID[:CONFIG]"""
    heldout: str | None = None
    """another corpus to measure on; without it a part of the corpus is kept apart"""
    documents: Count | None = None
    """take at most so many documents"""
    split_sentences: bool | None = None
    """lines are prose to be split (True) or already sentences (False);
    without it a sample of the text decides"""
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
    """of the steps, how many have --short-seq-length"""
    short_batch_size: Batch | None = None
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
    """first values: the paper's; attention that starts by looking for its like and copying it; or
    that, with heads that start by looking at both neighbors, and where neighbors are the same"""
    initializer_range: Annotated[InitializerRange | None, arg(aliases=["--init-method-std"])] = None
    layer_norm_eps: Annotated[LayerNormEps | None, arg(aliases=["--layernorm-epsilon"])] = None

    # --- Recipe ---
    steps: Annotated[Steps, arg(aliases=["--train-iters"])] = 1000
    """batches to train on"""
    batch_size: Annotated[Batch, arg(aliases=["--global-batch-size"])] = 64
    """examples in a step"""
    micro_batch_size: Batch | None = None
    """examples computed at a time, when a whole batch does not fit into memory"""
    learning_rate: Annotated[LearningRate | None, arg(aliases=["--lr"])] = None
    """the peak; unless given 1e-4 for base and large, 1e-4 · 768 / hidden for narrower models"""
    warmup_steps: Annotated[int, Whole(0, 99_999_999)] | None = None
    """a tenth of the steps up to 1000, and a hundredth from 100,000 steps on, unless given"""
    optimizer: Literal["bert-adam", "adamw"] = "bert-adam"
    """the paper's Adam, without bias correction, or AdamW, which corrects it"""
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
    eval_every: Count | None = None
    """steps between measurements on held-out text; a tenth of the steps or 100, unless given"""
    eval_examples: Annotated[int, Whole(1, 10_000_000)] = 1024
    """held-out examples in a measurement"""
    save_every: Count | None = None
    """steps between checkpoints; a tenth of the steps between 100 and 1000, unless given"""
    keep_checkpoints: Count = 2
    """how many of the newest checkpoints stay"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.short_seq_length is not None and self.short_seq_length > self.seq_length:
            raise UserError(
                f"--short-seq-length {self.short_seq_length} is longer than --seq-length "
                f"{self.seq_length}: the short examples come first"
            )
        if self.mask_share + self.random_share > 1:
            raise UserError(
                f"--mask-share {self.mask_share} and --random-share {self.random_share} are more "
                "than 1 together"
            )
        if self.warmup_steps is not None and self.warmup_steps > self.steps:
            raise UserError(
                f"--warmup-steps is {self.warmup_steps}: it must lie between 0 and the "
                f"{self.steps} steps"
            )
        if self.tokenizer is not None and self.vocab_size is not None:
            raise UserError(
                f"--tokenizer {self.tokenizer} and --vocab-size {self.vocab_size} exclude each "
                "other: a tokenizer has its own vocabulary"
            )

    @property
    def lowercase(self) -> bool | None:
        return MEGATRON_TOKENIZERS.get(self.tokenizer_type) if self.tokenizer_type else None

    @property
    def masking(self) -> MaskingRecipe:
        return MaskingRecipe(self.masked_lm_prob, self.mask_share, self.random_share)

    @property
    def pairs(self) -> PairRecipe:
        return PairRecipe()

    def bert_config(self, vocab_size: int) -> BertConfig:
        """The preset with the fields that were given in place of its own."""
        preset = PRESETS[self.model]
        names = ("num_hidden_layers", "hidden_act", "hidden_dropout_prob",
                 "attention_probs_dropout_prob", "max_position_embeddings", "type_vocab_size",
                 "initializer_range", "layer_norm_eps")  # fmt: skip
        given = {n: getattr(self, n) for n in names if getattr(self, n) is not None}
        hidden = self.hidden_size or preset.hidden_size
        given["hidden_size"] = hidden
        given["num_attention_heads"] = self.num_attention_heads or max(1, hidden // 64)
        given["intermediate_size"] = self.intermediate_size or 4 * hidden
        config = preset.with_changes(vocab_size=vocab_size, **given)
        if self.seq_length > config.max_position_embeddings:
            raise UserError(
                f"--seq-length {self.seq_length} is longer than the model's "
                f"{config.max_position_embeddings} positions: lower it, or raise "
                "--max-position-embeddings"
            )
        if config.type_vocab_size < 2:
            raise UserError("--type-vocab-size is 1: a pair of sentences needs 2 segments")
        return config

    def adam(self, config: BertConfig) -> AdamSettings:
        """Adam's constants; narrow models learn at a higher rate unless one is given."""
        paper = AdamSettings.learning_rate
        narrow = paper * PRESETS["base"].hidden_size / config.hidden_size
        return AdamSettings(
            learning_rate=self.learning_rate or max(paper, narrow),
            beta1=self.adam_beta1,
            beta2=self.adam_beta2,
            epsilon=self.adam_eps,
            weight_decay=self.weight_decay,
            max_grad_norm=self.max_grad_norm,
        )

    @property
    def warmup(self) -> int:
        if self.warmup_steps is not None:
            return self.warmup_steps
        return max(self.steps // 100, min(self.steps // 10, 1000))

    @property
    def phases(self) -> list[Phase]:
        """One phase, or the paper's two: short examples first, then long ones."""
        short = 0 if self.short_seq_length is None else round(self.steps * self.short_share)
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
