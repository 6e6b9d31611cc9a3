"""The first 200 steps of a run on StoryWorld at levels 1, 2 and 3: the same losses.

    python benchmarks/same_losses.py [--out results/same_losses.md]

Stories, vocabulary, first weights, pairs, masks and recipe are those of the studies on StoryWorld;
in float32, without dropout. Writes a table, and a picture beside it: the three curves over one
another, and below how far apart they are.
"""

import argparse
import platform
import tempfile
from dataclasses import asdict, fields
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import numpy as np
import torch

from bert_experiments.ablations.storyworld import STORYWORLD
from bert_experiments.report.page import check_report
from bert_experiments.report.plots import unboxed
from bert_lowlevel.pretrain import LowLevelSettings
from bert_lowlevel.pretrain import pretrain as pretrain_lowlevel
from bert_numpy.pretrain import NumpySettings
from bert_numpy.pretrain import pretrain as pretrain_numpy
from bert_paper.pretrain import PretrainSettings
from bert_paper.pretrain import pretrain as pretrain_paper
from bert_run.errors import command
from bert_run.files import write_atomically
from bert_run.pictures import AMBER, BLUE, GREY, Picture
from bert_run.training_loop import read_metrics

STEPS = 200  # all of them within the recipe's warm-up and its phase of short examples
NAMES = {"train_mlm_loss": "masked words", "train_nsp_loss": "next sentence"}


def settings_of(kind: type, out: Path):
    """The studies' recipe at a level, with each level's own fields as they are by default."""
    known = {field.name for field in fields(kind)}
    given = {name: value for name, value in asdict(STORYWORLD).items() if name in known}
    given |= {"out": out, "steps": STEPS, "short_share": 1.0, "eval_every": STEPS}
    given |= {"save_every": STEPS, "warmup_steps": min(STORYWORLD.warmup, STEPS)}
    if "precision" in known:
        given["precision"] = "fp32"
    return kind(**given)


def run_levels(folder: Path) -> dict[str, list[dict]]:
    """The metrics of each level."""
    levels = {
        "1, NumPy": (NumpySettings, pretrain_numpy),
        "2, low-level PyTorch": (LowLevelSettings, pretrain_lowlevel),
        "3, modules": (PretrainSettings, pretrain_paper),
    }
    metrics = {}
    for name, (kind, pretrain) in levels.items():
        out = folder / name[0]
        pretrain(settings_of(kind, out))
        metrics[name] = read_metrics(out / "metrics.jsonl")
    return metrics


def series(records: list[dict], key: str) -> np.ndarray:
    return np.array([record[key] for record in records if key in record])


def draw(metrics: dict[str, list[dict]]) -> Picture:
    """The three curves over one another, and below how far they are from that of level 3."""
    picture = Picture(5.5, 9)
    panels = picture.subplots(2, 2, sharex=True, height_ratios=(2, 1))
    styles = ((BLUE, "-", 5), (AMBER, "-", 2.5), ("#000000", ":", 1.2))
    for column, (key, title) in enumerate(NAMES.items()):
        reference = series(metrics["3, modules"], key)
        steps = [r["step"] for r in metrics["3, modules"] if key in r]
        for (name, records), (color, line, width) in zip(metrics.items(), styles, strict=True):
            values = series(records, key)
            panels[0, column].plot(steps, values, line, color=color, linewidth=width,
                                   label=f"level {name}", alpha=0.85)  # fmt: skip
            if name != "3, modules":
                panels[1, column].semilogy(steps, np.abs(values - reference) + 1e-9, color=color)
        panels[0, column].set_title(f"{title}: loss (nats)", fontsize=10)
        panels[1, column].axhline(1e-3, color=GREY, linestyle=":", linewidth=1)
        panels[1, column].set_xlabel("step")
        panels[0, column].legend(frameon=False, fontsize=9)
    panels[1, 0].set_ylabel("apart from level 3")
    return unboxed(picture)


def report(metrics: dict[str, list[dict]], picture: Path) -> str:
    rows = []
    for name, records in metrics.items():
        apart = max(
            float(np.abs(series(records, key) - series(metrics["3, modules"], key)).max())
            for key in (*NAMES, "heldout_mlm_loss", "heldout_nsp_loss")
        )
        last = records[-1]
        rows.append(
            f"| {name} | {last['heldout_mlm_loss']:.6f} | {last['heldout_nsp_loss']:.6f} | "
            f"{apart:.1e} |"
        )
    lines = "\n".join(rows)
    return f"""# Three levels, the same loss

```
python benchmarks/same_losses.py --out results/same_losses.md
```

{platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}, torch
{torch.__version__}, float32, on the CPU. The first {STEPS} steps of the recipe of the
studies on StoryWorld (`STORYWORLD`): the same stories, vocabulary, initial weights, pairs and masks
at every level. The column *largest difference* is the
largest difference from level 3 in any line of the metrics, over both losses, in training and on
held-out text (a line is the mean of two steps); the tolerance is 1e-3.

| level | held-out loss, masked words | next sentence | largest difference |
|---|---|---|---|
{lines}

![three curves on top of each other]({picture.name})
"""


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the table here, the picture beside it")
    options = parser.parse_args()
    check_report(options.out, "benchmarks/same_losses.py", with_picture=True, with_figures=False,
                 option="--out")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        metrics = run_levels(Path(folder))
    picture = (options.out or Path("same_losses.md")).with_suffix(".png")
    text = report(metrics, picture)
    print(text)
    if options.out:
        draw(metrics).save(picture)
        write_atomically(options.out, text)


if __name__ == "__main__":
    main()
