"""The variants of each table, as settings of `bert-pretrain`: each differs from BERT as the paper
has it, the first of its table, in exactly what the table asks about.

The recipe is that of `make demo`, which learns StoryWorld in minutes, with fewer steps and with
examples of one length: so short a run does not get over a turn to longer ones. A run's folder is
named after its settings alone, so tables that share a variant share its runs.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from bert_corpus.pretraining_run import identity
from bert_paper.demo import DEMO
from bert_paper.settings import PretrainSettings
from bert_run.errors import UserError

STEPS = 1500  # the same for all, so that they share runs
LENGTH = 64
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
    # layers / hidden / heads
    "6": {
        "1/128/4": {"num_hidden_layers": 1},
        "2/128/1": {"num_attention_heads": 1},
        "2/128/4": BOTH_TASKS,
        "4/128/4": {"num_hidden_layers": 4},
        "4/192/6": {"num_hidden_layers": 4, "hidden_size": 192, "num_attention_heads": 6},
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
    table: str, *, corpus: str = "storyworld", steps: int | None = None
) -> dict[str, PretrainSettings]:
    """The rows of a table ("5", "6", "8", "figure 5"), in its order.

    Seed and folder are to be given by `run_of`.
    """
    steps = STEPS if steps is None else steps
    if steps < POINTS:
        raise UserError(f"--steps is {steps}: take {POINTS} or more")
    base = replace(
        DEMO,
        corpus=corpus,
        steps=steps,
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
    return {
        name: replace(followed if changes in FOLLOWED else base, **changes)
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
    recipe = identity(DEMO)
    own = [f"{name}-{said[name]}" for name in READ if said.get(name, recipe[name]) != recipe[name]]
    return out / "_".join([*own, f"steps-{settings.steps}", f"seed-{settings.seed}", fingerprint])
