"""The variants of each table, as settings of `bert-pretrain`, and their runs.

Each variant differs from BERT as the paper has it, the first of its table, in exactly what the
table asks about; models of four layers take a lower rate as well, because at that of the others
they hardly learn. The recipe is `STORYWORLD`, with examples of one length, and with Muon in place
of AdamW, which learns as much in two thirds of the steps. A run's folder is named after its
settings alone, so tables that share a variant share its runs.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bert_corpus.pretraining_run import PretrainingRun, identity
from bert_experiments.ablations.storyworld import STORYWORLD
from bert_experiments.report.figures import one_by_one
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_run.errors import UserError
from bert_run.files import RunFolder
from bert_run.training_loop import Record, read_metrics

STEPS = 3000  # the same for all, so that they share runs
RATE = 6e-3
RATES = (RATE, RATE / 2, RATE / 4)  # tried for the sizes: four layers hardly learn at the first
LENGTH = 64
WORDS = 3775  # of StoryWorld
MICROSECONDS_A_TOKEN = 29  # of two layers of 128: results/own_products.md, the demo's size, bf16
POINTS = 10  # checkpoints of a run that is followed along its way, as in Figure 5
READ = ("objective", "sentence_task", "random_next", "num_hidden_layers", "hidden_size",
        "num_attention_heads", "mask_share", "random_share")  # fmt: skip

BOTH_TASKS: dict = {}
NO_NSP = {"sentence_task": "none"}
LEFT_TO_RIGHT = {"objective": "next-words", "sentence_task": "none"}
FOLLOWED = (BOTH_TASKS, NO_NSP, LEFT_TO_RIGHT)  # Figure 5 looks at them along their way

VARIANTS: dict[str, dict[str, dict]] = {
    "5": {
        "BERT: both tasks": BOTH_TASKS,
        "no NSP": NO_NSP,
        "left to right, no NSP": LEFT_TO_RIGHT,
        "sentence order (SOP)": {"sentence_task": "sop"},
        "running text, no NSP": {"sentence_task": "none", "random_next": 0.0},
    },
    # layers / hidden / heads, each at a rate at which it learns well
    "6": {
        "1/128/4": {"num_hidden_layers": 1},
        "2/128/1": {"num_attention_heads": 1},
        "2/128/4": BOTH_TASKS,
        "4/128/4": {"num_hidden_layers": 4, "learning_rate": RATES[1]},
        "4/192/6": {
            "num_hidden_layers": 4,
            "hidden_size": 192,
            "num_attention_heads": 6,
            "learning_rate": RATES[1],
        },
    },
    # [MASK] / the same word / a random word, in per cent
    "8": {
        "80/10/10": BOTH_TASKS,
        "100/0/0": {"mask_share": 1.0, "random_share": 0.0},
        "80/0/20": {"mask_share": 0.8, "random_share": 0.2},
        "80/20/0": {"mask_share": 0.8, "random_share": 0.0},
        "0/20/80": {"mask_share": 0.0, "random_share": 0.8},
        "0/0/100": {"mask_share": 0.0, "random_share": 1.0},
    },
    "figure 5": {
        "BERT: both tasks": BOTH_TASKS,
        "no NSP": NO_NSP,
        "left to right, no NSP": LEFT_TO_RIGHT,
    },
}


def variants_of(
    table: str, *, corpus: str = "storyworld", steps: int | None = None,
    learning_rate: float | None = None,
) -> dict[str, PretrainSettings]:  # fmt: skip
    """The rows of a table ("5", "6", "8", "figure 5"), in its order, each with its own learning
    rate unless one is given for all.

    Seed and folder are to be given by `run_of`.
    """
    steps = STEPS if steps is None else steps
    if steps < POINTS:
        raise UserError(f"--steps is {steps}: take {POINTS} or more")
    base = replace(
        STORYWORLD,
        corpus=corpus,
        steps=steps,
        optimizer="muon",
        learning_rate=RATE,
        initialization="mimetic",
        seq_length=LENGTH,
        batch_size=64,
        short_seq_length=None,
        short_batch_size=None,
        warmup_steps=min(200, steps // 10),
        eval_every=max(1, steps // 5),
        save_every=max(1, steps // POINTS),
        keep_checkpoints=1,
    )
    followed = replace(base, keep_checkpoints=POINTS + 1)
    given = {} if learning_rate is None else {"learning_rate": learning_rate}
    return {
        name: replace(followed if changes in FOLLOWED else base, **(changes | given))
        for name, changes in VARIANTS[table].items()
    }


def run_of(variant: PretrainSettings, *, seed: int, out: Path) -> PretrainSettings:
    """A variant with a seed, in the folder `out` among the others."""
    settings = replace(variant, seed=seed)
    return replace(settings, out=run_folder(settings, out))


def run_folder(settings: PretrainSettings, out: Path) -> Path:
    """Where a run of these settings lies: a name to read, and a fingerprint of all of them.

    Settings that have their default do not count, so one that is added later moves no run.
    """
    said, default = identity(settings), identity(PretrainSettings())
    said = {name: value for name, value in said.items() if value != default[name]}
    fingerprint = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]
    recipe = identity(STORYWORLD)
    own = [f"{name}-{said[name]}" for name in READ if said.get(name, recipe[name]) != recipe[name]]
    return out / "_".join([*own, f"steps-{settings.steps}", f"seed-{settings.seed}", fingerprint])


# --- Runs: each variant with each seed, trained once and for all tables


@dataclass(frozen=True)
class Run:
    """One variant with one seed; `settings.out` is its folder."""

    variant: str
    seed: int
    settings: PretrainSettings

    @property
    def is_trained(self) -> bool:
        """Whether the run has come to its last step. Raises `UserError` where its folder has a run
        of other settings or other text, as `bert-pretrain` does."""
        newest = RunFolder(self.settings.out).newest()
        if newest is None or newest.step != self.settings.steps:
            return False
        with PretrainingRun(self.settings) as run:
            return run.start == self.settings.steps

    def train(self) -> None:
        pretrain(self.settings)

    def __str__(self) -> str:
        return f"{self.variant}, seed {self.seed}"


def runs_of(variants: dict[str, PretrainSettings], *, seeds: int, out: Path) -> list[Run]:
    """Every variant with every seed; the first seed of all variants comes first, so that a call
    that is stopped leaves whole tables of fewer seeds."""
    return [
        Run(name, seed, run_of(variant, seed=seed, out=out))
        for seed in range(seeds)
        for name, variant in variants.items()
    ]


def trained(runs: list[Run]) -> Iterator[Run]:
    """Each run once it is trained; those that are done are not done again."""
    return one_by_one(runs, lambda run: run.is_trained, Run.train,
                      seconds=lambda run: expected_seconds(run.settings))  # fmt: skip


def expected_seconds(settings: PretrainSettings) -> float:
    """How long a run takes on two cores, estimated from the step of two layers of 128 and from what
    the products of a token cost."""
    tokens = sum(tokens_of(settings, step) for step in range(settings.steps))
    relative = weights_of_a_token(settings) / weights_of_a_token(STORYWORLD)
    return MICROSECONDS_A_TOKEN * 1e-6 * tokens * relative


def weights_of_a_token(settings: PretrainSettings) -> float:
    """By how many weights a token is multiplied: the encoder's, and for one in seven the words'."""
    config = settings.bert_config(WORDS)
    return 12 * config.num_hidden_layers * config.hidden_size**2 + WORDS * config.hidden_size / 7


def final_entry(folder: Path) -> Record:
    """The last measurement on held-out text."""
    return [r for r in read_metrics(folder / "metrics.jsonl") if "heldout_mlm_loss" in r][-1]


def training_seconds(settings: PretrainSettings) -> float:
    """How long a run trained, all its calls together, as its metrics tell; without measuring and
    saving."""
    seconds, before = 0.0, 0
    for entry in read_metrics(settings.out / "metrics.jsonl"):
        if "tokens_per_second" not in entry:
            continue
        tokens = sum(tokens_of(settings, step) for step in range(before, int(entry["step"])))
        seconds += tokens / entry["tokens_per_second"]
        before = int(entry["step"])
    return seconds


def tokens_of(settings: PretrainSettings, step: int) -> int:
    phase = next(phase for phase in settings.phases if step < phase.last_step)
    return phase.batch_size * phase.seq_length
