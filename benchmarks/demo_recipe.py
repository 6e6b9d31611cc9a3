"""The demo over several seeds, without what makes it learn, and other recipes for it.

    python benchmarks/demo_recipe.py [--seeds 0 1 2] [--recipes demo …] [--turns 200] [--out FILE]

The seed changes the first weights, the pairs and the masks; the stories stay. All runs are measured
on held-out stories of another seed than the demo's. A run takes two to five minutes on two cores;
those that are done, in `runs/demo_recipe`, are not done again, and one that was stopped goes on.
`--turns` measures how long a step of each recipe takes, one step of every recipe in turn, so that
whatever else the machine does meets all of them alike.
"""

import argparse
import shlex
import statistics
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import torch

from bert_corpus.storyworld import CLASSIC_BLANKS, stories
from bert_corpus.storyworld.evaluation import SETTLED_BY, measure_settled_words
from bert_experiments.ablations.storyworld import STORYWORLD
from bert_experiments.report.figures import (
    NOTHING,
    Figures,
    Results,
    in_words,
    kept_record,
    spread,
    values_of,
)
from bert_experiments.report.page import Page, check_report, write_json
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.demo import DEMO, first_guess
from bert_paper.fill_mask import fill_mask
from bert_paper.model import BertForPreTraining
from bert_paper.optimizer import make_optimizer
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_paper.pretrained import open_pretrained
from bert_paper.training import training_step
from bert_run.config import Phase
from bert_run.device import choose_precision
from bert_run.errors import UserError, command
from bert_run.training_loop import read_metrics

FORMER = "former demo"  # `STORYWORLD`, from which each recipe differs by its changes
MADE = ("corpus", "out", "eval_every", "save_every")  # no part of a recipe
DEMO_CHANGES = {
    field.name: getattr(DEMO, field.name)
    for field in fields(DEMO)
    if getattr(DEMO, field.name) != getattr(STORYWORLD, field.name) and field.name not in MADE
}
# The demo without one of its choices, in as many steps.
TAKEN_BACK = {
    "AdamW": {"optimizer": "adamw", "learning_rate": 2.5e-3},
    "mimetic start": {"initialization": "mimetic"},
    "first values of the paper": {"initialization": "paper"},
    "a feed-forward network of four times the width": {"intermediate_size": 512},
    "weight decay 0.01": {"weight_decay": 0.01},
    "15% hidden": {"masked_lm_prob": 0.15},
    "one length from the start": {"short_seq_length": None, "short_batch_size": None},
    "dropout 0.1": {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
}
INDUCTION = {
    "optimizer": "muon", "learning_rate": 5e-3, "initialization": "induction", "steps": 1900,
}  # fmt: skip
SHORT = INDUCTION | {"short_share": 0.5, "masked_lm_prob": 0.3}
NARROW = SHORT | {"intermediate_size": 128, "steps": 2600}
RECIPES = {
    FORMER: {},
    "demo": DEMO_CHANGES,
    **{name: DEMO_CHANGES | changes for name, changes in TAKEN_BACK.items()},
    # Tried on the way, with a weight decay of 0.01.
    "muon": {"optimizer": "muon", "steps": 2000, "learning_rate": 1e-2},
    "muon, mimetic": INDUCTION | {"initialization": "mimetic", "learning_rate": 6e-3},
    "muon, induction": INDUCTION,
    "muon, induction, 30% hidden, more short": SHORT,
    "muon, narrow feed-forward": NARROW,
    "muon, narrower, fewer random pairs": NARROW
    | {"random_next": 0.3, "intermediate_size": 64, "steps": 2400},
}
MEASURED_STORIES, STORY_SEED = 400, 1
RUNS = Path("runs/demo_recipe")
TIMES = RUNS / "step_seconds.json"
SEEDS = range(100)  # those that the table looks for


def run(settings: PretrainSettings) -> Figures:
    """Pretrain unless that is done, and measure."""
    summary = settings.out / "measured.json"
    if summary.exists():
        return kept_record(summary)
    measured = pretrain(settings).measurements()
    pretrained = open_pretrained(settings.out)
    settled = measure_settled_words(
        first_guess(pretrained),
        pretrained.tokenizer,
        stories(MEASURED_STORIES, seed=STORY_SEED, split="heldout"),
        seq_length=settings.seq_length,
    )
    within = [settled[kind] for kind in ("left", "right", "both")]
    found = {kind: settled[kind]["accuracy"] for kind in SETTLED_BY}
    found["within"] = sum(w["right"] for w in within) / sum(w["of"] for w in within)
    found["nsp"] = measured["heldout_nsp_accuracy"]
    found["blanks"] = sum(
        fill_mask(pretrained, text, top=1)[0][0].token in accepted
        for text, accepted in CLASSIC_BLANKS
    )
    found["loss"] = measured["heldout_mlm_loss"]
    write_json(summary, found)
    return found


def collect() -> tuple[Results, dict[str, str]]:
    """The figures of all finished runs, and how far each recipe came at most."""
    found: Results = {}
    reached = {}
    for recipe in RECIPES:
        for seed in SEEDS:
            settings = settings_of(recipe, seed)
            if (settings.out / "measured.json").exists():
                found.setdefault(recipe, []).append(run(settings))
                reached[recipe] = f"{settings.steps:,}"
            elif measured := held_out_losses(settings.out / "metrics.jsonl"):
                step, loss = measured[-1]
                found.setdefault(recipe, []).append({"loss": loss})
                reached[recipe] = f"{step:,} of {settings.steps:,}"
    return found, reached


def held_out_losses(metrics: Path) -> list[tuple[int, float]]:
    records = read_metrics(metrics) if metrics.exists() else []
    return [(r["step"], r["heldout_mlm_loss"]) for r in records if "heldout_mlm_loss" in r]


def page_of(found: Results, reached: dict[str, str], times: dict[str, float]) -> Page:
    """A row for each recipe; the blanks are those of the classic blanks that are filled right."""
    head = ["recipe", "changes", "steps", "seeds", "time", "held-out loss", "within the sentence",
            "another sentence", "next sentence", f"blanks, of {len(CLASSIC_BLANKS)}"]  # fmt: skip
    rows = [head]
    for recipe, runs in found.items():
        changes = TAKEN_BACK.get(recipe, RECIPES[recipe])
        begin = "demo, but " if recipe in TAKEN_BACK else ""
        shares = (values_of(found, recipe, name) for name in ("within", "other", "nsp"))
        blanks = [f"{one['blanks']:.0f}" for one in runs if "blanks" in one]
        rows.append([
            recipe, begin + ", ".join(f"{k} {v}" for k, v in changes.items()) or NOTHING,
            reached[recipe],
            str(len(runs)), f"{times[recipe] / times[FORMER]:.2f}" if recipe in times else NOTHING,
            spread(values_of(found, recipe, "loss"), ".2f"),
            *(in_words(values, "share") for values in shares), ", ".join(blanks) or NOTHING,
        ])  # fmt: skip
    return Page(
        title="What makes the demo learn, and other recipes",
        results=found,
        columns=(),
        verdicts=[],
        rows=rows,
        notes="Each row is the demo's former recipe, `STORYWORLD`, with some settings changed, or "
              "the demo with one of its choices taken back. The accuracies are for the top "
              f"prediction on {MEASURED_STORIES} held-out stories of seed {STORY_SEED}: the median "
              "over the seeds, with the lowest and highest in parentheses. The seed changes the "
              "initial weights, the pairs and the masks. The held-out loss is in nats per masked "
              "word at the last step, with the recipe's own masking rate. The time is the "
              "processor time of all steps on one thread, relative to the former demo; the steps "
              "of all recipes were measured in turn.",
    )  # fmt: skip


def seconds_of_recipes(recipes: list[str], turns: int) -> dict[str, float]:
    """Processor seconds of all steps of each recipe, measured in turn with the others', on one
    thread. What else the machine does only adds to them, so the lower quartile counts."""
    torch.set_num_threads(1)
    precision = choose_precision("auto", torch.device("cpu"))
    steps = {
        (recipe, phase): prepare_step(settings_of(recipe, 0), phase, precision)
        for recipe in recipes
        for phase in settings_of(recipe, 0).phases
    }
    seconds = {key: [] for key in steps}
    for _ in range(turns):
        for key, step in steps.items():
            begin = time.process_time()
            step()
            seconds[key].append(time.process_time() - begin)
    totals = dict.fromkeys(recipes, 0.0)
    for (recipe, phase), measured in seconds.items():
        quartile = statistics.quantiles(measured, n=4)[0]
        totals[recipe] += quartile * (phase.last_step - phase.first_step)
    return totals


def prepare_step(settings: PretrainSettings, phase: Phase, precision: torch.dtype):
    """A training step of this phase, on random words."""
    config = settings.bert_config(settings.vocab_size)
    model = BertForPreTraining(config).train()
    use_cpu_kernels(model)
    adam = settings.adam(config)
    optimizer = make_optimizer(model, adam, name=settings.optimizer, precision=precision)
    rows, masks = phase.batch_size, settings.masking.max_predictions(phase.seq_length)
    batch = {
        "input_ids": torch.randint(5, config.vocab_size, (rows, phase.seq_length)),
        "token_type_ids": torch.zeros(rows, phase.seq_length, dtype=torch.int64),
        "attention_mask": torch.ones(rows, phase.seq_length, dtype=torch.int64),
        "masked_lm_positions": torch.randint(1, phase.seq_length - 1, (rows, masks)),
        "masked_lm_ids": torch.randint(5, config.vocab_size, (rows, masks)),
        "masked_lm_weights": torch.ones(rows, masks),
        "next_sentence_labels": torch.randint(0, 2, (rows,)),
    }
    return lambda: training_step(
        model, optimizer, batch, precision=precision, max_grad_norm=settings.max_grad_norm
    )


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    names = "; ".join(RECIPES).replace("%", "%%")
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=["demo"],
                        metavar="NAME", help=f"in quotes: {names}")  # fmt: skip
    parser.add_argument("--turns", type=int, help="measure so many steps of each in turn, and of "
                        f"the {FORMER}, which they are compared with")  # fmt: skip
    parser.add_argument("--out", type=Path, help="write the table of all finished runs here")
    options = parser.parse_args()
    if wrong := [seed for seed in options.seeds if seed not in SEEDS]:
        raise UserError(f"--seeds is {wrong[0]}: it must be from 0 to {SEEDS[-1]}")
    if options.turns is not None and options.turns < 2:
        raise UserError(f"--turns is {options.turns}: it must be 2 or more")
    check_report(options.out, "benchmarks/demo_recipe.py", with_picture=False, option="--out")
    for recipe in options.recipes:
        for seed in options.seeds:
            run(settings_of(recipe, seed))
    if options.turns:
        RUNS.mkdir(parents=True, exist_ok=True)
        compared = list(dict.fromkeys([FORMER, *options.recipes]))
        write_json(TIMES, seconds_of_recipes(compared, options.turns))
    times = kept_record(TIMES) if TIMES.exists() else {}
    found, reached = collect()
    if not found:
        raise UserError(f"{RUNS} has no runs yet: name some with --recipes and --seeds")
    page = page_of(found, reached, times)
    print(page.text())
    if options.out:
        page.write(options.out, shlex.join(["python", "benchmarks/demo_recipe.py", *sys.argv[1:]]))


def settings_of(recipe: str, seed: int) -> PretrainSettings:
    """A recipe's settings with a seed, in a folder of their own."""
    out = RUNS / f"{recipe.replace(' ', '_').replace('%', '').replace(',', '')}_{seed}"
    changes = {"eval_every": 450, "save_every": 450} | RECIPES[recipe]
    return replace(STORYWORLD, **changes, seed=seed, out=out)


if __name__ == "__main__":
    main()
