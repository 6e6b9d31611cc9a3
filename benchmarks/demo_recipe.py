"""The demo over several seeds, and without what makes it learn: what each choice brings.

    python benchmarks/demo_recipe.py [--seeds 0 1 2] [--recipes demo …] [--out FILE]

The seed changes the first weights, the pairs and the masks; the stories stay. All runs are measured
on held-out stories of another seed than the demo's, hardly looked at before. A run takes about
five minutes on two cores; those that are done, in `runs/demo_recipe`, are not done again.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
from bert_corpus.storyworld import CLASSIC_BLANKS, stories
from bert_corpus.storyworld.evaluation import SETTLED_BY, measure_settled_words
from bert_experiments.report.figures import Results
from bert_experiments.report.page import Page, write_json
from bert_paper.demo import DEMO
from bert_paper.fill_mask import fill_mask
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_paper.pretrained import open_pretrained
from bert_paper.probes import first_guess

RECIPES = {
    "demo": {},
    "first values of the paper": {"initialization": "paper"},
    "first examples of 32 tokens": {"short_seq_length": 32},
    "one length from the start": {"short_seq_length": None, "short_batch_size": None},
    "15% hidden": {"masked_lm_prob": 0.15},
    "dropout 0.1": {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
}
MEASURED_STORIES, STORY_SEED = 400, 1
RUNS = Path("runs/demo_recipe")


def run(settings: PretrainSettings) -> dict[str, float]:
    """Pretrain unless that is done, and measure."""
    summary = settings.out / "measured.json"
    if summary.exists():
        return json.loads(summary.read_text("utf-8"))
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
    write_json(summary, found)
    return found


def page_of(found: Results) -> Page:
    """A row for each recipe; the blanks are those of the classic blanks that are filled right."""
    blanks = {recipe: ", ".join(f"{one['blanks']:.0f}" for one in runs)
              for recipe, runs in found.items()}  # fmt: skip
    return Page(
        title="What makes the demo learn",
        results=found,
        columns=(*SETTLED_BY, "within", "nsp"),
        verdicts=[],
        headings={"other": "another sentence", "within": "within together", "nsp": "next sentence",
                  "left": "left", "right": "right", "both": "both"},
        theirs=blanks,
        their_title=f"blanks, of {len(CLASSIC_BLANKS)}",
        notes=f"Each row is the demo with one choice undone, {DEMO.steps:,} steps. First guess "
        f"right on {MEASURED_STORIES} held-out stories of seed {STORY_SEED}; the median over the "
        "seeds, in brackets lowest and highest. The seed changes first weights, pairs and masks.",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=["demo"])
    parser.add_argument("--out", type=Path, help="write the table of all finished runs here")
    options = parser.parse_args()
    for recipe in options.recipes:
        for seed in options.seeds:
            run(settings_of(recipe, seed))
    found: Results = {}
    for recipe in RECIPES:
        for seed in range(100):
            settings = settings_of(recipe, seed)
            if (settings.out / "measured.json").exists():
                found.setdefault(recipe, []).append(run(settings))
    page = page_of(found)
    print(page.text())
    if options.out:
        page.write(options.out, "python benchmarks/demo_recipe.py --out results/demo_recipe.md")


def settings_of(recipe: str, seed: int) -> PretrainSettings:
    out = RUNS / f"{recipe.replace(' ', '_').replace('%', '')}_{seed}"
    return replace(DEMO, **RECIPES[recipe], seed=seed, out=out)


if __name__ == "__main__":
    main()
