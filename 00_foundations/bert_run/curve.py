"""The picture of a run: both losses against steps, training and held-out."""

from pathlib import Path

from bert_run.metrics import Record

TRAINING, HELD_OUT, REFERENCE = "#88b4d8", "#d55e00", "#666666"


def draw_curve(
    records: list[Record],
    path: Path,
    *,
    title: str,
    references: dict[str, float] | None = None,
    turns: dict[int, str] | None = None,
) -> None:
    """Draw `metrics.jsonl` as a picture.

    `references` are horizontal lines of the left panel, in nats: a name and a loss, say the
    unigram entropy. The right panel carries ln 2, where a coin toss stands. `turns` are steps at
    which the recipe changes, with what changes then.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2)
    lines = [dict(references or {}), {"a coin toss: ln 2": 0.6931}]
    names = {"mlm_loss": "masked words: loss (nats)", "nsp_loss": "next sentence: loss (nats)"}
    for panel, (key, label), marks in zip(panels, names.items(), lines, strict=True):
        for split, colour, style in (("train", TRAINING, "-"), ("heldout", HELD_OUT, ".-")):
            points = [(r["step"], r[f"{split}_{key}"]) for r in records if f"{split}_{key}" in r]
            if points:
                panel.plot(*zip(*points, strict=True), style, color=colour,
                           label="training" if split == "train" else "held out")  # fmt: skip
        for name, value in marks.items():
            panel.axhline(value, color=REFERENCE, linestyle=":", linewidth=1.2, label=name)
        for step, change in (turns or {}).items():
            panel.axvline(step, color=REFERENCE, linewidth=0.8, label=change)
        panel.set(xlabel="step", ylabel=label)
        panel.set_ylim(bottom=0)
        panel.legend(frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
