"""Figures that are written in one piece."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bert_run.files import write_whole

# Colours that the colour-blind tell apart.
BLUE, ORANGE, GREEN, PINK, SKY, AMBER = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
)  # fmt: skip
GREY = "#666666"


class Picture(Figure):
    """A figure of so many inches, its panels without box."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self)

    def save(self, path: Path) -> None:
        for axes in self.axes:
            axes.spines[["top", "right"]].set_visible(False)
        with write_whole(path) as file:
            self.savefig(file, format="png", dpi=105)
