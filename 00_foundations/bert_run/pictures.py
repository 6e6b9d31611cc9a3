"""The look of all pictures: one width, a few colors.

    picture, axes = picture_with_axes(xlabel="step", ylabel="loss (nats)")

A picture that ends a cell shows itself. The colors are those of Okabe and Ito (2008), which the
color-blind tell apart; what a color means is also said in words.
"""

import io
import warnings
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bert_run.files import write_whole

# Of lines and bars, in this order.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
BLUE, ORANGE, GREEN, PINK, SKY, AMBER = COLORS
GREY, DARK = "#666666", "#222222"

PAGE = 8.0  # inches: the width of a page
DPI = 110


class Picture(Figure):
    """A figure of a page's width that a notebook shows by itself; `save` writes it to a file."""

    def __init__(self, height: float, width: float = PAGE, *, says: str = "picture",
                 arranged: bool = True) -> None:  # fmt: skip
        super().__init__(figsize=(width, height), layout="constrained" if arranged else "none")
        FigureCanvasAgg(self)
        self.says = says

    def __repr__(self) -> str:
        return f"<{self.says}>"

    __str__ = __repr__

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with warnings.catch_warnings():  # the font lacks some signs, and draws a box for each
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            self.savefig(buffer, format="png", dpi=DPI)
        return buffer.getvalue()

    def save(self, path: Path | str) -> None:
        with write_whole(Path(path)) as file:
            file.write(self._repr_png_())


def drawable(text: str) -> str:
    """Text that matplotlib draws as it is, without formulas; what is not UTF-8 becomes "?"."""
    return text.encode("utf-8", "replace").decode().replace("$", r"\$")


def picture_with_axes(
    *, height: float = 3.0, width: float = PAGE, columns: int = 1, rows: int = 1, title: str = "",
    share: bool = False, **labels: str,
) -> tuple[Picture, Axes | np.ndarray]:  # fmt: skip
    """A picture, and its axes, one or an array; each gets `labels`, and with `share` one scale."""
    picture = Picture(height, width, says=title or labels.get("ylabel", "picture"))
    axes = picture.subplots(rows, columns, sharex=share, sharey=share)
    for one in np.ravel(axes):
        one.set(**labels)
        one.spines[["top", "right"]].set_visible(False)
        one.set_prop_cycle(color=COLORS)
    if title:
        picture.suptitle(title, fontsize=11)
    return picture, axes
