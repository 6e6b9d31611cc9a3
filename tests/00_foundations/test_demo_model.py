"""The model of the demo is found from wherever a notebook runs."""

import pytest

from bert_run.errors import UserError
from bert_run.files import demo_folder


@pytest.mark.parametrize("start", [".", "04_finetuning"])
def test_it_is_found_from_the_repository_and_from_a_chapter(tmp_path, start):
    (tmp_path / "runs/demo").mkdir(parents=True)
    (tmp_path / "runs/demo/summary.json").write_text("{}")
    (tmp_path / "04_finetuning").mkdir()
    assert demo_folder(tmp_path / start).resolve() == (tmp_path / "runs/demo").resolve()


def test_one_that_was_stopped_before_its_end_is_not_taken_and_the_way_out_is_told(tmp_path):
    (tmp_path / "runs/demo").mkdir(parents=True)
    (tmp_path / "runs/demo/model.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match="make demo"):
        demo_folder(tmp_path)
