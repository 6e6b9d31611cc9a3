"""BERT as one drawing: the model, one of its encoder layers opened, the attention in it opened.

    from bert_experiments.model_drawing import draw_bert
    draw_bert()                        # everything
    draw_bert(lit=("softmax",))        # the parts in hand in color, the rest in grey

    python -m bert_experiments.model_drawing --out bert.png     also prints the table of the parts

`PARTS` says of each part where the course builds it; `GROUPS` names several parts at once.
"""

import argparse
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle
from PIL import Image

from bert_experiments.looking_inside.drawings import paler
from bert_run.errors import UserError, command
from bert_run.pictures import AMBER, DARK, GREEN, ORANGE, PAGE, PINK, SKY, Picture

HEIGHT = 7.5  # inches, as all coordinates below
COLORS = 32  # of the stored picture, which every notebook holds: a quarter of the bytes
PALE, FAINT = "#f4f4f4", "#9a9a9a"  # what is not lit: its fill, its lines and letters


@dataclass(frozen=True)
class Part:
    """A part of the drawing, and where the course builds it: paths from the repository's root."""

    name: str
    says: str
    notebook: str
    code: str  # file:function
    exercise: str


C0, C1 = "00_foundations/bert_corpus", "01_numpy_from_scratch/bert_numpy"
N0, N1 = "00_foundations", "01_numpy_from_scratch"

PARTS = tuple(Part(*row) for row in (
    ("tokenizer", "text to WordPiece tokens", f"{N0}/01_text_to_ids.ipynb",
     f"{C0}/wordpiece.py:encode", "01_wordpiece"),
    ("pairs", "[CLS] A [SEP] B [SEP] in one row", f"{N0}/02_pairs_and_next_sentence.ipynb",
     f"{C0}/pairs.py:PairDataset", "02_sentence_pairs"),
    ("masking", "hide 15% of the tokens", f"{N0}/03_what_the_model_sees.ipynb",
     f"{C1}/masking.py:mask_tokens", "10_mlm_masking"),
    ("word_embeddings", "a vector for each token", f"{N1}/05_embeddings_and_heads.ipynb",
     f"{C1}/operations.py:embedding_forward", "08_embeddings"),
    ("position_embeddings", "a vector for each position", f"{N1}/05_embeddings_and_heads.ipynb",
     f"{C1}/model.py:embeddings_forward", "08_embeddings"),
    ("segment_embeddings", "a vector for segment A or B", f"{N1}/05_embeddings_and_heads.ipynb",
     f"{C1}/model.py:embeddings_forward", "08_embeddings"),
    ("layer_norm", "mean 0, variance 1, scale, shift", f"{N1}/02_layer_norm_and_gelu.ipynb",
     f"{C1}/operations.py:layer_norm_forward", "04_layer_norm"),
    ("dropout", "in training, zeros at random", f"{N1}/04_multi_head_and_the_layer.ipynb",
     f"{C1}/operations.py:dropout_forward", "12_encoder_layer"),
    ("encoder", "L layers, one after another", f"{N1}/04_multi_head_and_the_layer.ipynb",
     f"{C1}/encoder.py:encoder_forward", "12_encoder_layer"),
    ("self_attention", "every token takes from every token", f"{N1}/03_attention_by_hand.ipynb",
     f"{C1}/encoder.py:self_attention_forward", "06_attention"),
    ("query_key_value", "three dense layers for each token", f"{N1}/03_attention_by_hand.ipynb",
     f"{C1}/attention.py:attention_forward", "06_attention"),
    ("heads", "split into heads, then join the heads", f"{N1}/04_multi_head_and_the_layer.ipynb",
     f"{C1}/attention.py:split_heads", "07_multi_head"),
    ("scores", "Q · Kᵀ / √head_dim", f"{N1}/03_attention_by_hand.ipynb",
     f"{C1}/attention.py:attention_forward", "06_attention"),
    ("attention_mask", "padding gets no weight", f"{N1}/03_attention_by_hand.ipynb",
     f"{C1}/attention.py:mask_scores", "06_attention"),
    ("softmax", "scores to probabilities", f"{N1}/01_softmax_and_cross_entropy.ipynb",
     f"{C1}/operations.py:softmax_forward", "03_softmax"),
    ("weighted_sum", "attention weights · V", f"{N1}/03_attention_by_hand.ipynb",
     f"{C1}/attention.py:attention_forward", "06_attention"),
    ("output_projection", "output dense: mixes the heads",
     f"{N1}/04_multi_head_and_the_layer.ipynb", f"{C1}/encoder.py:self_attention_forward",
     "07_multi_head"),
    ("residual", "the input of a block, added to its output",
     f"{N1}/04_multi_head_and_the_layer.ipynb", f"{C1}/encoder.py:add_and_norm_forward",
     "12_encoder_layer"),
    ("feed_forward", "dense, GELU, dense, for each token alone",
     f"{N1}/04_multi_head_and_the_layer.ipynb", f"{C1}/encoder.py:layer_forward",
     "12_encoder_layer"),
    ("gelu", "the activation", f"{N1}/02_layer_norm_and_gelu.ipynb",
     f"{C1}/operations.py:gelu_forward", "05_gelu"),
    ("pooler", "[CLS] stands for the whole text", f"{N1}/05_embeddings_and_heads.ipynb",
     f"{C1}/model.py:pooler_forward", "21_finetuning"),
    ("next_sentence_head", "next sentence? does B follow A", f"{N1}/05_embeddings_and_heads.ipynb",
     f"{C1}/model.py:logits_forward", "17_joint_loss_accumulation"),
    ("transform", "dense, GELU, layer norm", f"{N1}/05_embeddings_and_heads.ipynb",
     f"{C1}/model.py:mlm_head_forward", "16_tied_gathered_head"),
    ("decoder", "the word table: a score for each word", f"{N1}/05_embeddings_and_heads.ipynb",
     f"{C1}/model.py:mlm_head_forward", "16_tied_gathered_head"),
    ("cross_entropy", "how surprised the model is", f"{N1}/01_softmax_and_cross_entropy.ipynb",
     f"{C1}/operations.py:cross_entropy_forward", "09_masked_cross_entropy"),
    ("loss", "the sum of both losses", f"{N1}/06_the_whole_backward_pass.ipynb",
     f"{C1}/model.py:pretraining_forward", "17_joint_loss_accumulation"),
))  # fmt: skip
NAMES = tuple(part.name for part in PARTS)

GROUPS = {
    "input": ("tokenizer", "pairs", "masking"),
    "embeddings": ("word_embeddings", "position_embeddings", "segment_embeddings"),
    "attention": ("self_attention", "query_key_value", "scores", "attention_mask", "softmax",
                  "weighted_sum"),
    "encoder_layer": ("encoder", "self_attention", "query_key_value", "heads", "scores",
                      "attention_mask", "softmax", "weighted_sum", "output_projection",
                      "residual", "layer_norm", "feed_forward", "gelu"),
    "mlm_head": ("transform", "decoder"),
    "nsp_head": ("pooler", "next_sentence_head"),
    "losses": ("cross_entropy", "loss"),
}  # fmt: skip

# One color for each kind of part; a part that is not here is drawn in white.
FILLS = {
    **dict.fromkeys(GROUPS["input"], "#e4e4e4"),
    **dict.fromkeys(GROUPS["embeddings"], paler(SKY)),
    **dict.fromkeys((*GROUPS["attention"], "heads", "output_projection"), paler(AMBER)),
    **dict.fromkeys(("feed_forward", "gelu"), paler(GREEN)),
    **dict.fromkeys(("encoder", "layer_norm", "residual", "dropout"), "#fbf6d9"),
    **dict.fromkeys((*GROUPS["mlm_head"], *GROUPS["nsp_head"]), paler(PINK)),
    **dict.fromkeys(GROUPS["losses"], paler(ORANGE)),
}


class Box(NamedTuple):
    """Where a part stands in the drawing: inches from its lower left corner."""

    part: str
    left: float
    bottom: float
    width: float
    height: float


class Drawing(Picture):
    """A picture of few colors, stored as such, that knows its boxes."""

    boxes: Sequence[Box] = ()

    def _repr_png_(self) -> bytes:
        image = Image.open(io.BytesIO(super()._repr_png_())).convert("RGB")
        buffer = io.BytesIO()
        image.quantize(COLORS, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
        return buffer.getvalue()


def draw_bert(lit: Collection[str] = ()) -> Drawing:
    """The whole model. lit: names of `PARTS` or `GROUPS`; the parts not named are drawn in grey."""
    names = [lit] if isinstance(lit, str) else lit
    if unknown := [name for name in names if name not in NAMES and name not in GROUPS]:
        raise UserError(f"BERT's drawing has no part {unknown[0]!r}: "
                        f"the parts are {', '.join((*NAMES, *GROUPS))}")  # fmt: skip
    chosen = {part for name in names for part in GROUPS.get(name, (name,))}
    says = f"BERT, with {', '.join(names)} in color" if names else "BERT"
    picture = Drawing(HEIGHT, says=says, arranged=False)
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, PAGE), ylim=(0, HEIGHT))
    axes.axis("off")
    pen = Pen(axes, frozenset(chosen or NAMES), partly=bool(chosen))
    draw_model(pen)
    draw_layer(pen)
    draw_attention(pen)
    picture.boxes = pen.boxes
    return picture


@dataclass(frozen=True)
class Pen:
    """Draws boxes, circles and arrows, and knows which parts are lit."""

    axes: Axes
    lit: frozenset[str]
    partly: bool  # some parts are lit and some not: the lit ones get a strong frame
    boxes: list[Box] = field(default_factory=list)  # all that were drawn

    def look(self, part: str) -> dict:
        """`part` may be two, "transform gelu": the box is colored as the first, lit with either."""
        if self.lit.isdisjoint(part.split()):
            return {"facecolor": PALE, "edgecolor": "#c4c4c4", "linewidth": 0.8}
        return {"facecolor": FILLS[part.split()[0]], "edgecolor": DARK,
                "linewidth": 1.8 if self.partly else 0.9}  # fmt: skip

    def ink(self, part: str) -> dict:
        is_lit = not self.lit.isdisjoint(part.split())
        return {"color": DARK if is_lit else FAINT,
                "fontweight": "bold" if is_lit and self.partly else "normal"}  # fmt: skip

    def box(self, part: str, x: float, y: float, text: str, *, width: float, height: float = 0.27):
        """A box around its center."""
        style = "round,pad=0,rounding_size=0.05"
        corner = (x - width / 2, y - height / 2)
        self.boxes.append(Box(part.split()[0], *corner, width, height))
        self.axes.add_patch(
            FancyBboxPatch(corner, width, height, boxstyle=style, zorder=3, **self.look(part))
        )
        longest = max(map(len, text.split("\n")))
        self.axes.text(x, y, text, ha="center", va="center", linespacing=1.15, zorder=4,
                       fontsize=6.5 if longest > 16 * width else 8, **self.ink(part))  # fmt: skip

    def plus(self, part: str, x: float, y: float) -> None:
        self.boxes.append(Box(part.split()[0], x - 0.12, y - 0.12, 0.24, 0.24))
        self.axes.add_patch(Circle((x, y), 0.12, zorder=3, **self.look(part)))
        self.axes.text(x, y - 0.01, "+", ha="center", va="center", fontsize=11, zorder=4,
                       **self.ink(part))  # fmt: skip

    def arrow(self, *points: tuple[float, float], part: str = "", dashed: bool = False) -> None:
        """A line through the points; its last piece ends in an arrowhead."""
        strong = self.partly and part in self.lit
        color = DARK if strong or not self.partly else FAINT
        look = {"color": color, "linewidth": 1.8 if strong else 1.0,
                "linestyle": (0, (4, 2)) if dashed else "-"}  # fmt: skip
        *line, before, last = points
        self.axes.plot(*zip(*line, before, strict=True), zorder=2, solid_joinstyle="round", **look)
        self.axes.add_patch(FancyArrowPatch(before, last, arrowstyle="-|>", mutation_scale=8,
                                            shrinkA=0, shrinkB=0, zorder=2, **look))  # fmt: skip

    def label(self, x: float, y: float, text: str, *, ha: str = "left", size: float = 6.5) -> None:
        self.axes.text(x, y, text, ha=ha, va="center", fontsize=size, color="#555555", zorder=5,
                       style="italic", linespacing=1.1)  # fmt: skip

    def frame(self, left: float, right: float, title: str) -> None:
        """A page of its own for what is opened."""
        bottom, top = FRAME
        self.axes.add_patch(
            Rectangle((left, bottom), right - left, top - bottom, zorder=0, facecolor="#ffffff",
                      edgecolor=FAINT, linewidth=0.8)
        )  # fmt: skip
        self.heading((left + right) / 2, title)

    def heading(self, x: float, title: str) -> None:
        self.axes.text(x, HEIGHT - 0.17, title, ha="center", va="center", fontsize=9.5, color=DARK,
                       fontweight="bold")  # fmt: skip

    def zoom(self, right: float, bottom: float, top: float, left_of_frame: float) -> None:
        """From a box to the frame in which it is opened: a pale wedge between the two."""
        corners = [(right, bottom), (right, top), (left_of_frame, FRAME[1]),
                   (left_of_frame, FRAME[0])]  # fmt: skip
        self.axes.add_patch(Polygon(corners, facecolor="#f2f5f8", edgecolor="none", zorder=-1))


FRAME = (0.12, HEIGHT - 0.36)  # bottom and top of the two pages on the right


def draw_model(pen: Pen) -> None:
    """The left column: from the text at the bottom to the loss at the top."""
    middle, left, right, wide = 1.62, 0.92, 2.36, 1.2
    pen.heading(middle, "BERT")
    going_up(pen, middle, (("tokenizer", 0.27, "text to WordPiece tokens"),
                           ("pairs", 0.71, "[CLS] A [SEP] B [SEP]"),
                           ("masking", 1.15, "hide 15% of the tokens")), width=2.0)  # fmt: skip
    pen.label(middle + 0.06, 1.375, "ids (batch, seq)")
    tables = {"word": left - 0.2, "position": middle, "segment": right + 0.16}
    for name, x in tables.items():
        pen.arrow((middle, 1.285), (middle, 1.46), (x, 1.46), (x, 1.62))
        pen.box(f"{name}_embeddings", x, 1.82, f"{name}\nembeddings", width=0.87, height=0.4)
    for x in tables.values():
        side = (x > middle) - (x < middle)
        pen.arrow((x, 2.02), (middle + 0.1 * side, 2.30 - 0.05 * (side == 0)))
    pen.plus(" ".join(GROUPS["embeddings"]), middle, 2.37)
    pen.arrow((middle, 2.49), (middle, 2.66))
    going_up(pen, middle, (("layer_norm", 2.79, "layer norm"), ("dropout", 3.21, "dropout")),
             width=wide)  # fmt: skip
    pen.arrow((middle, 3.345), (middle, 3.68))
    pen.label(middle + 0.08, 3.47, "(batch, seq, hidden)")
    for shift in (0.14, 0.07):
        pen.axes.add_patch(FancyBboxPatch(
            (middle - 0.8 + shift, 3.68 + shift), 1.6, 0.42, zorder=1,
            boxstyle="round,pad=0,rounding_size=0.05", **pen.look("encoder")))  # fmt: skip
    pen.box("encoder", middle, 3.89, "encoder layer", width=1.6, height=0.42)
    pen.axes.text(middle + 1.02, 3.98, "× L", fontsize=11, va="center", zorder=5,
                  **pen.ink("encoder"))  # fmt: skip

    for x, text, side in ((left, "masked\npositions", "right"), (right, "[CLS]", "left")):
        pen.arrow((middle, 4.24), (middle, 4.42), (x, 4.42), (x, 4.68))
        pen.label(x + (0.08 if side == "left" else -0.08), 4.54, text, ha=side)
    pen.label(middle, 4.52, "(batch, seq,\nhidden)", ha="center")
    going_up(pen, left, (("transform", 4.82, "transform"), ("transform gelu", 5.15, "GELU"),
                         ("transform layer_norm", 5.48, "layer norm"),
                         ("decoder", 5.94, "word table (decoder)"),
                         ("softmax", 6.36, "softmax"), ("cross_entropy", 6.72, "cross-entropy")),
             width=wide)  # fmt: skip
    going_up(pen, right, (("pooler", 4.82, "pooler"), ("pooler", 5.15, "tanh"),
                          ("next_sentence_head", 5.94, "next sentence?"),
                          ("softmax", 6.36, "softmax"),
                          ("cross_entropy", 6.72, "cross-entropy")), width=wide)  # fmt: skip
    pen.label(left + 0.06, 5.71, "(batch, masks, hidden)")
    pen.label(left + 0.06, 6.15, "(batch, masks, vocab)")
    pen.label(right + 0.06, 5.55, "(batch, hidden)")
    pen.label(right + 0.06, 6.15, "(batch, 2)")
    # The decoder is the table of word embeddings, used a second time.
    pen.arrow((0.3, 1.82), (0.12, 1.82), (0.12, 5.94), (left - wide / 2, 5.94), part="decoder",
              dashed=True)  # fmt: skip
    pen.axes.text(0.2, 3.3, "the same table (tied)", rotation=90, fontsize=6.5, style="italic",
                  color="#555555", va="center", ha="left")  # fmt: skip
    pen.arrow((left, 6.855), (left, 7.06), (middle - 0.12, 7.06), part="loss")
    pen.arrow((right, 6.855), (right, 7.06), (middle + 0.12, 7.06), part="loss")
    pen.plus("loss", middle, 7.06)
    pen.label(left - 0.06, 6.96, "words", ha="right")
    pen.label(right + 0.06, 6.96, "next sentence")
    pen.label(middle, 6.87, "loss", ha="center")
    pen.zoom(middle + 0.8, 3.68, 4.1, 3.3)


def draw_layer(pen: Pen) -> None:
    """The middle column: one encoder layer."""
    middle, side, wide = 4.45, 3.47, 1.5
    pen.frame(3.3, 5.5, "one encoder layer")
    pen.arrow((middle, 0.2), (middle, 0.98))
    pen.label(middle + 0.08, 0.33, "(batch, seq, hidden)")
    pen.box("self_attention", middle, 1.22, "self-attention", width=wide, height=0.48)
    pen.arrow((middle, 1.46), (middle, 1.72))
    pen.box("dropout", middle, 1.855, "dropout", width=wide)
    add_and_norm(pen, middle, side, begin=0.6, end=2.38)
    pen.arrow((middle, 2.99), (middle, 3.66))
    pen.label(middle + 0.08, 3.15, "(batch, seq, hidden)")
    going_up(pen, middle, (("feed_forward", 3.8, "dense, 4 × hidden"), ("gelu", 4.3, "GELU"),
                           ("feed_forward", 4.72, "dense, hidden"), ("dropout", 5.14, "dropout")),
             width=wide)  # fmt: skip
    pen.label(middle + 0.08, 4.05, "(…, intermediate)")
    pen.axes.text(side + 0.12, 4.27, "feed-forward network", rotation=90, fontsize=6.5, ha="center",
                  va="center", style="italic", color="#555555")  # fmt: skip
    add_and_norm(pen, middle, side, begin=3.36, end=5.67)
    pen.arrow((middle, 6.28), (middle, 6.9))
    pen.label(middle + 0.08, 6.55, "(batch, seq, hidden)")
    pen.zoom(middle + wide / 2, 0.98, 1.46, 5.76)


def add_and_norm(pen: Pen, middle: float, side: float, *, begin: float, end: float) -> None:
    """The residual arrow around a block, the sum, and the layer norm after it."""
    pen.arrow((middle, begin), (side, begin), (side, end), (middle - 0.12, end), part="residual")
    pen.arrow((middle, end - 0.39), (middle, end - 0.12))
    pen.plus("residual", middle, end)
    pen.label(side + 0.06, end + 0.1, "residual")
    pen.arrow((middle, end + 0.12), (middle, end + 0.335))
    pen.box("layer_norm", middle, end + 0.475, "layer norm", width=1.5)


def draw_attention(pen: Pen) -> None:
    """The right column: the attention inside a layer."""
    middle, left, right, wide = 6.82, 6.5, 7.5, 1.3
    pen.frame(5.76, 7.93, "self-attention")
    for x, text in ((6.12, "query\ndense"), (middle, "key\ndense"), (right, "value\ndense")):
        pen.arrow((middle, 0.2), (middle, 0.5), (x, 0.5), (x, 0.78))
        pen.box("query_key_value", x, 0.98, text, width=0.6, height=0.4)
        pen.arrow((x, 1.18), (x, 1.42))
    pen.label(middle + 0.06, 0.33, "(batch, seq, hidden)")
    pen.box("heads", middle, 1.56, "split into heads", width=2.0)
    for x in (6.12, middle):
        pen.arrow((x, 1.695), (x, 2.3))
    pen.arrow((right, 1.695), (right, 4.86))
    pen.axes.text(right + 0.09, 3.3, "(batch, heads, seq, head_dim)", rotation=90, fontsize=6.5,
                  style="italic", color="#555555", va="center", ha="left")  # fmt: skip
    pen.box("scores", left, 2.46, "Q · Kᵀ / √head_dim", width=wide, height=0.32)
    pen.arrow((left, 2.62), (left, 3.0))
    pen.label(left + 0.06, 2.78, "(…, heads,\nseq, seq)")
    going_up(pen, left, (("attention_mask", 3.14, "+ attention mask"), ("softmax", 3.68, "softmax"),
                         ("dropout", 4.22, "dropout")), width=wide)  # fmt: skip
    pen.arrow((left, 4.355), (left, 4.86))
    pen.label(left + 0.06, 4.58, "attention\nweights")
    pen.box("weighted_sum", middle, 5.0, "weights · V", width=2.0)
    going_up(pen, middle, (("heads", 5.5, "join the heads"),
                           ("output_projection", 6.06, "output dense")),
             width=2.0, start=5.135)  # fmt: skip
    pen.arrow((middle, 6.195), (middle, 6.9))
    pen.label(middle + 0.06, 6.5, "(batch, seq, hidden)")


def going_up(
    pen: Pen, x: float, boxes: Sequence[tuple[str, float, str]], *, width: float, start: float = 0
) -> None:
    """Boxes one above another, each (part, y, text), with an arrow into each but the first."""
    below = start
    for part, y, text in boxes:
        if below:
            pen.arrow((x, below), (x, y - 0.135))
        pen.box(part, x, y, text, width=width)
        below = y + 0.135


def table() -> str:
    """The parts and where each is built, in Markdown, for a page in the repository's root."""
    lines = ["| part | what it does | notebook | code | exercise |", "|---|---|---|---|---|"]
    for part in PARTS:
        path, function = part.code.split(":")
        book, page = Path(part.notebook), f"exercises/{part.exercise}/README.md"
        lines.append(
            f"| {part.name.replace('_', ' ')} | {part.says} "
            f"| [{book.parent.name[:2]}/{book.name[:2]}]({part.notebook}) "
            f"| [`{function}`]({path}) | [{part.exercise[:2]}]({page}) |"
        )
    return "\n".join(lines)


@command
def main() -> None:
    parser = argparse.ArgumentParser(description="Draw BERT, and list where each part is built.")
    parser.add_argument("--out", type=Path, default=Path("bert.png"), help="the picture (bert.png)")
    parser.add_argument("--lit", nargs="*", default=(), help="parts in color (default: all)")
    options = parser.parse_args()
    if options.out.suffix != ".png":
        raise UserError(f"--out is {options.out}: give the name of a picture, FILE.png")
    draw_bert(options.lit).save(options.out)
    print(table())


if __name__ == "__main__":
    main()
