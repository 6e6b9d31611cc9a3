"""The drawing of BERT: every part can be lit, and the table leads to what is there."""

import ast
import sys
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, FancyBboxPatch
from PIL import Image

from bert_experiments.model_drawing import GROUPS, NAMES, PARTS, draw_bert, main, table
from bert_run.errors import UserError
from bert_run.pictures import DARK

ROOT = Path(__file__).parents[2]


def boxes(picture) -> tuple[int, int]:
    """How many boxes and circles have a dark frame, and how many there are."""
    (axes,) = picture.axes
    shapes = [p for p in axes.patches if isinstance(p, FancyBboxPatch | Circle)]
    return sum(to_hex(shape.get_edgecolor()) == DARK for shape in shapes), len(shapes)


@pytest.mark.parametrize("name", [*NAMES, *GROUPS])
def test_draw_bert__lights_the_part_that_is_named_and_greys_the_others(name):
    lit, everything = boxes(draw_bert(lit=(name,)))
    assert 0 < lit < everything


def test_draw_bert__shows_everything_if_no_part_is_named():
    lit, everything = boxes(draw_bert())
    assert lit == everything > 40


def test_draw_bert__no_two_texts_overlap():
    picture = draw_bert(lit=NAMES)  # every text in bold: the widest case
    (axes,) = picture.axes
    renderer = picture.canvas.get_renderer()
    extents = [(text.get_text(), text.get_window_extent(renderer)) for text in axes.texts]
    for number, (first, box) in enumerate(extents):
        for second, other in extents[:number]:
            assert not box.overlaps(other), (first, second)


def test_draw_bert__a_part_that_is_not_there_is_refused_with_the_list_of_those_that_are():
    with pytest.raises(UserError, match="no part 'softmx': the parts are tokenizer, pairs"):
        draw_bert(lit=("softmx",))


@pytest.mark.parametrize("arguments, told", [
    (["--lit", "nope"], "error: BERT's drawing has no part 'nope': the parts are"),
    (["--out", "."], "error: --out is .: give the name of a picture, FILE.png"),
    (["--out", "bert.txt"], "error: --out is bert.txt: give the name of a picture, FILE.png"),
    (["--out", "nowhere/bert.png"], "error: No such file or directory"),
])  # fmt: skip
def test_the_command_tells_a_mistake_in_one_line(tmp_path, monkeypatch, capsys, arguments, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["model_drawing", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    output, errors = capsys.readouterr()
    assert (left.value.code, output) == (2, "")
    assert errors.startswith(told) and errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_draw_bert__the_stored_picture_is_small_enough_for_every_notebook(pictures):
    assert len(draw_bert()._repr_png_()) < 40_000
    assert Image.open(ROOT / "bert.png").size == (880, 825)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_parts__notebook_function_and_exercise_exist(part):
    path, function = part.code.split(":")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if hasattr(node, "name")}
    assert (ROOT / part.notebook).is_file()
    assert (ROOT / "exercises" / part.exercise / "README.md").is_file()


def test_table__has_a_row_for_each_part_and_stands_in_the_readme():
    assert len(table().splitlines()) == len(PARTS) + 2
    assert table() in (ROOT / "README.md").read_text(encoding="utf-8")
