"""The page that puts transformers' BERT beside ours says what both models are."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

from bert_experiments import code_reading
from bert_experiments.code_reading import (
    REMARKS,
    Module,
    Pair,
    between_markers,
    both_models,
    classifier_there,
    main,
    side_by_side,
    tables,
)
from bert_run.config import parameter_shapes

PAGE = Path(__file__).parents[2] / "03_paper_reproduction" / "code_reading.md"
TIED = {"cls.predictions.decoder"}
ENDS_BEFORE_ITS_NORM = "cls.predictions.transform"


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return side_by_side()


def stored_tables() -> str:
    page = PAGE.read_text(encoding="utf-8")
    return between_markers(page, name=PAGE.name).group().strip()


def rows_with_parameters(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """(title, module) and its parameters and shapes: what no version may change."""
    found, title = {}, ""
    for line in text.splitlines():
        if line.startswith("### "):
            title = line
        elif line.startswith("| `"):
            module, _, _, parameters, returns, *_ = (cell.strip() for cell in line.split("|")[1:-1])
            if parameters:
                found[title, module] = parameters, returns
    return found


def test_the_tables_of_the_page_are_those_that_the_command_makes():
    stored, made = stored_tables(), tables().strip()
    version = re.match(r"Made with transformers (\S+)\.\n", stored).group(1)
    if version == transformers.__version__:
        assert stored == made, "python -m bert_experiments.code_reading --write code_reading.md"
    assert len(rows_with_parameters(made)) > 15
    assert rows_with_parameters(stored) == rows_with_parameters(made)


def test_every_parameter_has_the_same_name_and_shape_on_both_sides(pairs):
    for pair in pairs:
        if pair.name in TIED:
            continue
        here = pair.here.parameters if pair.here else {}
        there = pair.there.parameters if pair.there else {}
        assert here == there, pair.name


def test_modules_of_one_name_return_the_same_numbers(pairs):
    compared = [pair for pair in pairs if pair.equal is not None]
    assert len(compared) >= 30
    different = [pair.name for pair in compared if not pair.equal]
    assert different == [ENDS_BEFORE_ITS_NORM]


def test_no_module_is_left_out(pairs):
    ours, theirs = both_models()
    named = {name for model in (ours, theirs) for name, _ in model.named_modules() if name}
    assert {pair.name for pair in pairs} == named
    shown = {line.split("`")[1] for line in tables().splitlines() if line.startswith("| `")}
    layer = "bert.encoder.layer.0."
    assert {name.removeprefix(layer) for name in named} <= shown


def test_a_module_that_one_side_lacks_has_a_remark_and_no_remark_is_left_over(pairs):
    everything = [*pairs, *classifier_there()]
    alone = {p.name for p in everything if p.here is None or p.there is None}
    assert alone
    assert alone <= REMARKS.keys() <= {p.name for p in everything}


def test_a_difference_would_be_seen(pairs):
    """Another number, another shape, another parameter: each changes the row."""
    pair = next(p for p in pairs if p.name == "bert.pooler.dense")
    assert pair.equal
    changed = replace(pair, here=replace(pair.here, output=pair.here.output + 1e-6))
    assert changed.equal is False
    narrow = replace(pair, here=replace(pair.here, parameters={"weight": (3, 12)}))
    assert "here weight (masks, hidden); there weight (hidden, hidden)" in narrow.row()
    assert "(hidden)" in Pair("x", None, Module("Linear", {"bias": (12,)})).row()


def test_the_command_replaces_the_tables_and_leaves_the_rest_of_the_page(
    tmp_path, monkeypatch, capsys
):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{code_reading.BEGIN}\nold\n{code_reading.END}\nafter\n")
    monkeypatch.setattr(sys, "argv", ["code_reading", "--write", str(page)])
    main()
    content = page.read_text(encoding="utf-8")
    assert content.startswith(f"before\n{code_reading.BEGIN}\n")
    assert content.endswith(f"{code_reading.END}\nafter\n")
    assert tables() in content
    assert "old" not in content
    main()
    assert page.read_text(encoding="utf-8") == content


@pytest.mark.parametrize("content", [None, "no markers", f"{code_reading.END}{code_reading.BEGIN}"])
def test_a_page_that_cannot_take_the_tables_is_told_in_one_line(
    content, tmp_path, monkeypatch, capsys
):
    page = tmp_path / "page.md"
    if content is not None:
        page.write_text(content)
    monkeypatch.setattr(sys, "argv", ["code_reading", "--write", str(page)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1
    assert content is None or page.read_text() == content


def test_without_transformers_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(sys, "argv", ["code_reading"])
    with pytest.raises(SystemExit):
        main()
    assert "pip install transformers" in capsys.readouterr().err


def test_the_example_has_rows_with_padding_and_two_segments():
    batch = code_reading.example()
    assert len(batch["attention_mask"].sum(1).unique()) > 1
    assert set(batch["token_type_ids"].flatten().tolist()) == {0, 1}
    read = torch.gather(batch["attention_mask"], 1, code_reading.masked_positions())
    assert read.all(), "only tokens are masked"


def test_the_sizes_of_the_example_can_be_told_apart():
    assert len(set(code_reading.WORDS.values())) == len(code_reading.WORDS) == 8
    sizes = {size for shape in parameter_shapes(code_reading.CONFIG).values() for size in shape}
    assert sizes - {2} <= code_reading.WORDS.keys()
