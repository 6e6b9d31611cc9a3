"""Curves side by side: training loss, held-out loss, norm of the gradient."""

from collections.abc import Mapping

from bert_experiments.report.plots import unboxed
from bert_run.pictures import BLUE, GREY, ORANGE, Picture

PANELS = ("training loss", "held-out loss", "norm of the gradient")


def draw_runs(
    curves: Mapping[str, dict], *, beside: dict | None = None, width: float = 8.0
) -> Picture:
    """A row for each run. `beside` is drawn in grey in every row: the healthy run, say.

    Dotted lines are ln V and the entropy of the word frequencies; in the last panel the dashed
    line is the norm after clipping.
    """
    picture = Picture(0.6 + 1.15 * len(curves), width, says=", ".join(curves))
    rows = picture.subplots(len(curves), 3, squeeze=False, sharex=True)
    for axes, (name, curve) in zip(rows, curves.items(), strict=True):
        if beside:
            draw_run(axes, beside, colors=(GREY, GREY), alpha=0.5)
        draw_run(axes, curve, colors=(BLUE, ORANGE))
        for panel in axes[:2]:
            panel.set_ylim(0, 1.1 * max(curve["ln_v"], curve["first_loss"]))
            for level in (curve["ln_v"], curve["entropy"]):
                panel.axhline(level, color=GREY, linestyle=":", linewidth=0.9)
        axes[2].set_yscale("log")
        axes[2].set_ylim(min(1e-2, min(curve["clipped"]) / 3), 1e2)
        axes[0].set_ylabel(name.replace(" ", "\n", 1), fontsize=8)
        for panel in axes:
            panel.tick_params(labelsize=7)
    for panel, title in zip(rows[0], PANELS, strict=True):
        panel.set_title(title, fontsize=9)
    for panel in rows[-1]:
        panel.set_xlabel("step", fontsize=8)
    return unboxed(picture)


def draw_run(axes, curve: dict, *, colors: tuple[str, str], alpha: float = 1.0) -> None:
    """The three curves of one run."""
    step = curve["step"]
    measured = [(s, loss) for s, loss in zip(step, curve["heldout"], strict=True)
                if loss is not None]  # fmt: skip
    axes[0].plot([0, *step], [curve["first_loss"], *curve["train"]], color=colors[0], alpha=alpha)
    axes[1].plot(*zip(*measured, strict=True), ".-", color=colors[1], markersize=3, alpha=alpha)
    axes[2].plot(step, curve["norm"], color=colors[0], alpha=alpha)
    if any(after < 0.999 * before
           for before, after in zip(curve["norm"], curve["clipped"], strict=True)):  # fmt: skip
        axes[2].plot(step, curve["clipped"], "--", color=colors[0], linewidth=0.9, alpha=alpha)
