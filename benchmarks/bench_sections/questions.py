"""Training steps that answer one question each; each has a page of its own.

python benchmarks/bench.py --only without_each --out results/without_each.md
"""

from dataclasses import dataclass
from functools import partial

from bench_sections.children import Contestant
from bench_sections.saved import Saved
from bench_sections.steps import Case, measure_cases, options, work_of

# What level 3 does to be fast, and why leaving it out should cost time.
HEAD = "head only on masked positions"
WAYS = {
    HEAD: "15% of the positions go through the MLM head, which is 56% of the operations even then",
    "keeping freed memory": "every step allocates hundreds of megabytes, and touching a memory "
    "page for the first time is slow",
    "large pages": "one page of 2 MiB replaces 512 small pages",
    "word loss in blocks": "the logits and two similar arrays are written and read once each",
    "our own dropout": "one draw of the generator serves four numbers",
    "our own attention": "torch has no fused kernel with dropout on a CPU, and none that is "
    "fast in bfloat16",
    "fused AdamW": "one pass over weights, gradients and moments instead of one pass per operation",
}


@dataclass(frozen=True)
class Question:
    """`cases` by name: size, words, batch, length, precision, and changes of the model's config;
    `who` are the contestants, the first is the reference. `slower`: ratios say how many times as
    long as the reference somebody takes, not how many times as fast he is."""

    title: str
    explanation: str
    cases: dict[str, tuple]
    who: tuple[str, ...]
    slower: bool = True


QUESTIONS = {
    "every_token": Question(
        "One pretraining step, compared with `transformers`",
        "`transformers` runs with SDPA and default settings: it computes the word logits of every "
        "token, while levels 2 and 3 compute only those of the masked tokens. “Level 2, every "
        "token” does the same work as `transformers`.",
        {f"`{size}`, {words:,} words, {precision}": (size, words, 64, 128, precision, {})
         for precision in ("fp32", "bf16")
         for size, words in (("tiny", 30_522), ("mini", 8_192))},
        ("transformers", "level 3", "level 2", "level 2, every token"),
        slower=False,
    ),
    "numpy": Question(
        "A training step in NumPy",
        "Level 1 (NumPy) compared with level 2 (eager PyTorch) at d2l's sizes with 20,000 words: "
        "forward, backward, clipping and Adam, with the same weights and the same batch.",
        {f"dropout {prob}": ("d2l", 20_000, 512, 64, "fp32", {
            "hidden_dropout_prob": prob, "attention_probs_dropout_prob": prob})
         for prob in (0.0, 0.1)},
        ("level 2", "level 1"),
    ),
    "own_products": Question(
        "A training step relative to its own matrix products",
        "*Products of a step*: only the matrix products of this step, at their actual shapes, "
        "forward and backward, measured in turn with the implementations of the whole step. Their "
        "time is that of a step without any other work. The ratio to this time hardly depends on "
        "how fast the machine multiplies on a given day.",
        {f"{name}, {precision}": (size, words, rows, length, precision, changes)
         for name, size, words, rows, length, changes in (
             ("`tiny`, 30,522 words", "tiny", 30_522, 64, 128, {}),
             ("the demo's size", "tiny", 3_775, 64, 64, {"num_attention_heads": 4}),
             ("`base`, 30,522 words", "base", 30_522, 8, 128, {}))
         for precision in ("fp32", "bf16")},
        ("products of a step", "level 3", "level 2", "level 1"),
    ),
    "without_each": Question(
        "A training step without each optimization of level 3",
        "A training step of level 3 with one optimization left out at a time. Without the word "
        "loss in blocks, all logits exist at once. Why each optimization should matter: "
        + "; ".join(f"*{name}*: {why}" for name, why in WAYS.items()) + ".",
        {f"{name}, {precision}": (size, words, rows, length, precision, {})
         for name, size, words, rows, length in (("`tiny`, 30,522 words", "tiny", 30_522, 32, 128),
                                                 ("d2l's setting", "d2l", 20_256, 512, 64))
         for precision in ("fp32", "bf16")},
        ("level 3", *WAYS),
    ),
}  # fmt: skip


def contestant(name: str, precision: str) -> Contestant:
    """A kind by its name, or level 3 without one of its `WAYS`."""
    if name == "large pages":
        kind, environment = "level 3", {"THP_MEM_ALLOC_ENABLE": "0"}
    elif name in WAYS:
        kind, environment = "level 3 without", {"BENCH_WITHOUT": name}
    else:
        kind, environment = name, {}
    shown = f"without: {name}" if name in WAYS else name
    return Contestant(shown, kind, options(kind, precision), environment=environment)


def cases_of(section: str, *, quick: bool, rounds: int) -> list[Case]:
    question, found = QUESTIONS[section], []
    for name, (size, *batch, precision, changes) in question.cases.items():
        # With all of d2l's 32,768 positions the logits alone would take gigabytes; level 1 has
        # float32 alone.
        left_out = {"d2l": HEAD}.get(size), {"bf16": "level 1"}.get(precision)
        who = [one for one in question.who if one not in left_out]
        work = work_of(size, *((1_000, 2, 32) if quick else batch), **changes)
        contestants = tuple(contestant(one, precision) for one in who)
        found.append(Case(name, size, work, precision, contestants, rounds))
    return found[:1] if quick else found


def run(saved: Saved, *, rounds: int, full: bool, section: str) -> None:
    measure_cases(saved, section, cases_of(section, quick=saved.quick, rounds=rounds))


SECTIONS = {section: partial(run, section=section) for section in QUESTIONS}
