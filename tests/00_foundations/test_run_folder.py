"""A run's folder: whole checkpoints or none, damage named, another's files never written over."""

import errno
import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bert_run import files
from bert_run.config import BertConfig, Weights, initial_weights
from bert_run.errors import UserError
from bert_run.files import STATE_FILE, Checkpoint, RunFolder, find_damage
from bert_run.training_loop import MetricsLog, read_metrics
from bert_run.weights import WEIGHTS_FILE, load_weights, read_safetensors, save_weights

CONFIG = BertConfig(
    vocab_size=97,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=12,
)
SETTINGS = {"seed": 3, "corpus": "storyworld", "vocab_size": None}


def weights_of(step: int) -> Weights:
    return initial_weights(CONFIG, seed=step)


def moments_of(step: int) -> Weights:
    return {f"moments.{name}": array + step for name, array in weights_of(step).items()}


def fill(folder: Path, step: int) -> None:
    CONFIG.save(folder)
    save_weights(weights_of(step), folder / WEIGHTS_FILE)
    save_weights(moments_of(step), folder / STATE_FILE)
    (folder / "vocab.txt").write_text("[PAD]\n")
    (folder / "README.md").write_text(f"step {step}\n")


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    run = RunFolder(tmp_path / "runs" / "here")
    run.claim(SETTINGS)
    run.release()
    return run


def save(folder: RunFolder, *steps: int) -> None:
    for step in steps:
        folder.save(step, partial(fill, step=step))


def same_arrays(found: Weights, expected: Weights) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(found[name], array) for name, array in expected.items()
    )


def is_of_step(found: Checkpoint | None, step: int) -> bool:
    return (
        found is not None
        and found.step == step
        and same_arrays(load_weights(found.folder, CONFIG), weights_of(step))
        and same_arrays(read_safetensors(found.folder / STATE_FILE), moments_of(step))
    )


def leftovers(folder: RunFolder) -> list[Path]:
    return [path for path in folder.path.rglob("*") if path.name.endswith(".part")]


# Saving and resuming.


def test_a_new_run_has_nothing_to_resume(folder):
    assert folder.resume() is None


def test_the_newest_checkpoint_is_resumed_bit_for_bit(folder):
    save(folder, 500, 1000, 99_999_999)
    assert is_of_step(folder.resume(), 99_999_999)


def test_two_checkpoints_are_kept(folder):
    save(folder, 1, 2, 3, 10)
    assert [path.name for path in folder.checkpoint_folders()] == ["step-00000003", "step-00000010"]


@pytest.mark.parametrize("keep", [1, 3])
def test_as_many_checkpoints_are_kept_as_are_asked_for(folder, keep):
    for step in (1, 2, 3, 10):
        folder.save(step, partial(fill, step=step), keep=keep)
    kept = [path.name for path in folder.checkpoint_folders()]
    assert kept == [f"step-{step:08d}" for step in (1, 2, 3, 10)][-keep:]


def test_the_others_of_a_run_find_what_the_first_has_settled_on(folder, capsys):
    assert folder.newest() is None
    save(folder, 1, 2)
    flip_a_byte(folder.path / "checkpoints" / "step-00000002" / "model.safetensors")
    assert is_of_step(folder.resume(), 1)
    assert is_of_step(folder.newest(), 1)


def test_a_step_may_be_saved_again(folder):
    save(folder, 5)
    save(folder, 5)
    assert is_of_step(folder.resume(), 5)


def test_the_folder_itself_is_a_transformers_folder(folder):
    save(folder, 1, 2)
    model, info = transformers.BertForPreTraining.from_pretrained(
        folder.path, output_loading_info=True
    )
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[problem], problem
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, torch.from_numpy(weights_of(2)[name])), name
    assert (folder.path / "vocab.txt").exists()
    assert not (folder.path / "training_state.safetensors").exists()


# The best model.


def test_the_best_model_is_a_folder_of_its_own_that_a_better_one_replaces(folder):
    save(folder, 1)
    for step in (5, 7):
        folder.save_best(partial(fill, step=step))
    best = folder.path / "best"
    assert same_arrays(load_weights(best, CONFIG), weights_of(7))
    assert leftovers(folder) == []
    assert is_of_step(folder.resume(), 1)  # it is no checkpoint


def test_a_full_disk_leaves_the_best_model_that_was_there(folder, monkeypatch):
    folder.save_best(partial(fill, step=5))
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "save_weights", DiskFull(save_weights, 1))
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            folder.save_best(partial(fill, step=7))
    assert same_arrays(load_weights(folder.path / "best", CONFIG), weights_of(5))
    assert leftovers(folder) == []


# A failure in the middle.


class DiskFull:
    """Stands for a function that writes: lets some calls pass, then the disk is full."""

    def __init__(self, real, calls_that_pass: int) -> None:
        self.real, self.left = real, calls_that_pass

    def __call__(self, *args, **kwargs):
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        return self.real(*args, **kwargs)


WRITERS = [
    (sys.modules[__name__], "save_weights", 0),  # the weights
    (sys.modules[__name__], "save_weights", 1),  # the training state
    (files, "sha256", 2),
    (files, "write_atomically", 0),  # the manifest
    (files, "flush_to_disk", 1),
    (files.os, "replace", 0),
    (files.os, "replace", 2),  # the folder itself takes its name
]


@pytest.mark.parametrize(("module", "name", "passing"), WRITERS)
def test_a_full_disk_leaves_the_earlier_checkpoint_and_nothing_else(
    folder, module, name, passing, monkeypatch
):
    save(folder, 1)
    with monkeypatch.context() as patch:
        patch.setattr(module, name, DiskFull(getattr(module, name), passing))
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            save(folder, 2)
    assert [path.name for path in folder.checkpoint_folders()] == ["step-00000001"]
    assert leftovers(folder) == []
    assert is_of_step(folder.resume(), 1)
    save(folder, 2)  # with space again, the same call works
    assert is_of_step(folder.resume(), 2)


class Killed(BaseException):
    """A kill -9: nothing of the program runs after it."""


def test_what_a_kill_left_half_written_is_never_opened_and_is_cleaned_up(folder, monkeypatch):
    save(folder, 1)
    with monkeypatch.context() as patch:
        patch.setattr(files.shutil, "rmtree", lambda *args, **kwargs: None)  # no cleaning up
        patch.setattr(Path, "unlink", lambda *args, **kwargs: None)
        patch.setattr(files, "sha256", DiskFull(files.sha256, 1))
        with pytest.raises(OSError):
            save(folder, 2)
    (folder.path / ".model.safetensors.4711.part").write_bytes(b"half of it")
    assert len(leftovers(folder)) == 2
    assert [path.name for path in folder.checkpoint_folders()] == ["step-00000001"]
    assert is_of_step(folder.resume(), 1)
    assert leftovers(folder) == []


def test_a_kill_before_the_folder_shows_the_new_checkpoint_is_made_up_for(folder, monkeypatch):
    save(folder, 1)
    with monkeypatch.context() as patch:
        patch.setattr(files, "publish", lambda source, target: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            save(folder, 2)
    shown = folder.path / "model.safetensors"
    newest = folder.path / "checkpoints" / "step-00000002" / "model.safetensors"
    assert shown.read_bytes() != newest.read_bytes()
    assert is_of_step(folder.resume(), 2)
    assert shown.read_bytes() == newest.read_bytes()


# Damage.


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


FILES = ["config.json", "model.safetensors", "vocab.txt", "training_state.safetensors",
         "manifest.json"]  # fmt: skip


@pytest.mark.parametrize("damage", [flip_a_byte, cut_short, Path.unlink], ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named_and_the_checkpoint_before_it_is_used(folder, name, damage, capsys):
    save(folder, 1, 2)
    damage(folder.path / "checkpoints" / "step-00000002" / name)
    assert is_of_step(folder.resume(), 1)
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    assert "step-00000002" in warning
    # A flipped byte of the manifest may spoil the entry of another file, which is named then.
    assert name in warning or name == "manifest.json"
    assert "was edited" not in warning  # nor is the card, which came from the damaged one
    # What is shown is what is resumed, and the next call does not warn again.
    assert is_of_step(folder.resume(), 1)
    assert capsys.readouterr().err == ""


def test_a_manifest_of_another_step_or_of_another_form_is_damage(folder):
    save(folder, 12)
    step = folder.checkpoint_folders()[0]
    manifest = (step / "manifest.json").read_text()
    assert find_damage(step) is None
    for changed in (manifest.replace('"step": 12', '"step": 13'), manifest.replace("sha", "SHA"),
                    "[]", '{"step": 12, "files": [1]}', "{}"):  # fmt: skip
        (step / "manifest.json").write_text(changed)
        assert "manifest.json" in find_damage(step)


def test_when_every_checkpoint_is_damaged_the_run_says_that_it_starts_again(folder, capsys):
    save(folder, 1, 2)
    (folder.path / "metrics.jsonl").write_text('{"step": 2}\n')
    for step in folder.checkpoint_folders():
        flip_a_byte(step / "model.safetensors")
    assert folder.resume() is None
    first, second = capsys.readouterr().err.splitlines()
    assert "step-00000002 is damaged" in first and first.endswith("the one before it is used")
    assert "step-00000001 is damaged" in second
    assert "training starts at step 0; metrics.jsonl was renamed earlier-metrics.jsonl" in second
    assert (folder.path / "earlier-metrics.jsonl").read_text() == '{"step": 2}\n'
    assert same_arrays(read_safetensors(folder.path / "earlier-model.safetensors"), weights_of(2))
    save(folder, 1)
    assert is_of_step(folder.resume(), 1)


def test_a_model_whose_checkpoints_are_gone_is_not_written_over(folder, capsys):
    save(folder, 1, 2)
    folder.save_best(partial(fill, step=1))
    folder.checkpoints.rename(folder.path.with_name("elsewhere"))
    before = everything_in(folder.path)
    with pytest.raises(UserError, match=r"holds a model, but no checkpoints.*choose another --out"):
        folder.resume()
    assert everything_in(folder.path) == before
    folder.path.with_name("elsewhere").rename(folder.checkpoints)
    assert is_of_step(folder.resume(), 2)
    for step in folder.checkpoint_folders():  # of damage it is said that training starts again
        flip_a_byte(step / "model.safetensors")
    assert folder.resume() is folder.resume() is None


def test_a_run_killed_before_its_first_checkpoint_starts_again(folder):
    MetricsLog(folder.metrics).append({"step": 3, "heldout_mlm_loss": 5.0})
    folder.save_best(partial(fill, step=3))
    assert folder.resume() is None


# Whose folder it is.


def test_a_run_that_is_worked_on_is_kept_from_other_calls_until_that_work_ends(folder):
    first, second = RunFolder(folder.path), RunFolder(folder.path)
    first.claim(SETTINGS)
    with pytest.raises(UserError, match="another process is working on this run"):
        second.claim(SETTINGS)
    first.release()
    second.claim(SETTINGS)


def test_a_run_of_an_older_version_goes_on_with_what_it_did_not_know_yet_at_its_default(folder):
    save(folder, 1)
    newer = {**SETTINGS, "objective": "masked-words"}
    assert folder.claim(newer, unless_said={"objective": "masked-words"}) is False
    folder.release()
    with pytest.raises(UserError, match="objective 'masked-words', now it is 'next-words'"):
        RunFolder(folder.path).claim(
            {**newer, "objective": "next-words"}, unless_said={"objective": "masked-words"}
        )


def test_the_same_run_may_claim_its_folder_again(folder):
    save(folder, 1)
    folder.claim(dict(SETTINGS))
    assert is_of_step(folder.resume(), 1)


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"seed": 4}, "seed 3, now it is 4"), ({"corpus": None}, "corpus 'storyworld'"),
     ({"steps": 10}, "steps None, now it is 10")],
)  # fmt: skip
def test_a_run_with_other_settings_is_refused_and_the_setting_named(folder, changed, told):
    save(folder, 1)
    with pytest.raises(UserError, match=told):
        folder.claim(SETTINGS | changed)


def test_a_folder_that_holds_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.docx").write_text("important")
    with pytest.raises(UserError, match="not empty and holds no run"):
        RunFolder(tmp_path).claim(SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


def test_an_empty_folder_and_one_with_hidden_files_may_be_claimed(tmp_path):
    (tmp_path / ".DS_Store").touch()
    RunFolder(tmp_path).claim(SETTINGS)
    assert (tmp_path / "run.json").exists()


def test_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("text")
    with pytest.raises(FileExistsError):  # `command` makes it one line
        RunFolder(tmp_path / "out").claim(SETTINGS)


@pytest.mark.parametrize("content", [b"{", b"[1, 2]", b"\xff\xfe", b""])
def test_a_damaged_record_of_the_run_is_refused(folder, content):
    (folder.path / "run.json").write_bytes(content)
    with pytest.raises(UserError, match=r"run\.json is damaged"):
        folder.claim(SETTINGS)


def test_checkpoints_stay_openable_when_the_folder_moves(folder, tmp_path):
    save(folder, 1, 2)
    moved = RunFolder(shutil.move(folder.path, tmp_path / "elsewhere"))
    moved.claim(SETTINGS)
    assert is_of_step(moved.resume(), 2)


def test_an_old_checkpoint_is_taken_away_in_one_piece(folder, monkeypatch):
    """A kill in the middle of removing it leaves no half checkpoint under its name."""
    save(folder, 1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(files.shutil, "rmtree", lambda *_, **__: None)  # killed before it began
        save(folder, 3)
    assert [path.name for path in folder.checkpoint_folders()] == ["step-00000002", "step-00000003"]
    assert folder.resume().step == 3
    assert leftovers(folder) == []


# Nothing is removed that the run did not write itself.


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}  # fmt: skip


def test_a_claim_that_is_given_up_leaves_the_hidden_files_that_were_there(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("history")
    (tmp_path / ".env").write_text("KEY=1")
    before = everything_in(tmp_path)
    run = RunFolder(tmp_path)
    assert run.claim(SETTINGS)
    (tmp_path / "data").mkdir()
    run.give_up()
    assert everything_in(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".env", ".git"]


def test_a_claim_that_is_given_up_leaves_a_folder_that_was_there_and_no_other(tmp_path):
    (tmp_path / "mine").mkdir(mode=0o750)
    for path, stays in (("mine", True), ("new/deep/run", False), ("mine/run", False)):
        run = RunFolder(tmp_path / path)
        assert run.claim(SETTINGS)
        run.give_up()
        assert (tmp_path / path).exists() == stays
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o750


def test_a_claim_that_is_given_up_keeps_prepared_data_and_does_not_bind_the_corrected_call(
    tmp_path,
):
    run = RunFolder(tmp_path / "run")
    run.claim(SETTINGS)
    (run.path / "data" / "train").mkdir(parents=True)
    (run.path / "data" / "train" / "tokens.bin").write_bytes(b"hours of work")
    run.give_up()
    assert (run.path / "data" / "train" / "tokens.bin").read_bytes() == b"hours of work"
    assert RunFolder(run.path).claim(SETTINGS | {"seed": 4}) is True


def test_a_file_of_somebody_else_stays_where_a_claim_is_given_up(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.claim(SETTINGS)
    (run.path / "notes.txt").write_text("mine")
    run.give_up()
    assert (run.path / "notes.txt").read_text() == "mine"


def test_a_run_binds_its_folder_from_its_first_checkpoint_on(folder):
    """A call that failed or was killed before that does not refuse the corrected one."""
    (folder.path / "metrics.jsonl").write_text('{"step": 10}\n')
    for changed in ({"seed": 4}, {"corpus": "c.txt"}):
        assert folder.claim(SETTINGS | changed) is True
        folder.release()
    save(folder, 1)
    with pytest.raises(UserError, match="seed 3, now it is 4"):
        folder.claim(SETTINGS | changed | {"seed": 4})


def test_a_record_of_another_program_is_never_written_over(tmp_path):
    content = json.dumps({"name": "my experiment", "seed": 1})
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(UserError, match="choose another --out"):
        RunFolder(tmp_path).claim(SETTINGS)
    assert everything_in(tmp_path) == {"run.json": content.encode()}


def test_hidden_files_of_others_stay_when_leftovers_are_cleared(folder):
    others = [".video.part", ".notes.part", ".part", ".a.b.part"]
    for name in others:
        (folder.path / name).write_text("mine")
    (folder.path / ".config.json.4711.part").write_text("half")
    folder.resume()
    assert sorted(p.name for p in folder.path.glob(".*part")) == sorted(others)


def test_a_file_that_somebody_put_into_a_checkpoint_or_the_best_model_stays(folder):
    save(folder, 1)
    folder.save_best(partial(fill, step=1))
    notes = [folder.checkpoints / "step-00000001" / "notes.txt", folder.path / "best" / "notes.txt"]
    for path in notes:
        path.write_text("mine")
    save(folder, 2, 3, 4)
    folder.save_best(partial(fill, step=4))
    folder.remove_checkpoints()
    assert [path.read_text() for path in notes] == ["mine", "mine"]
    assert [path.name for path in folder.checkpoints.iterdir()] == ["step-00000001"]


def test_a_file_that_is_edited_in_the_runs_folder_leaves_the_checkpoint_whole(folder):
    save(folder, 1)
    for name in ("vocab.txt", "model.safetensors"):
        with open(folder.path / name, "a") as file:
            file.write("edited\n")
    assert is_of_step(folder.resume(), 1)


def test_facts_that_are_noted_come_back_and_are_no_settings(folder):
    assert folder.claim(SETTINGS)
    folder.note({"train": "abc"})
    folder.release()
    save(folder, 1)
    again = RunFolder(folder.path)
    assert again.claim(SETTINGS) is False
    assert again.facts == {"train": "abc"}


def test_a_file_that_somebody_put_into_the_best_model_outlives_a_save_that_fails(
    folder, monkeypatch
):
    folder.save_best(lambda beside: fill(beside, 1))
    (folder.path / "best/notes").mkdir()
    (folder.path / "best/notes/mine.txt").write_text("keep me")
    with monkeypatch.context() as patch:
        patch.setattr(files, "remove", lambda _: (_ for _ in ()).throw(OSError()))
        with pytest.raises(OSError):
            folder.save_best(lambda beside: fill(beside, 2))
    assert (folder.path / "best/notes/mine.txt").read_text() == "keep me"
    folder.save_best(lambda beside: fill(beside, 3))
    assert (folder.path / "best/notes/mine.txt").read_text() == "keep me"


@pytest.mark.parametrize("name", ["step-3x", "step-9", "step-0000000٣", "step-00000003.bak"])
def test_a_folder_that_only_resembles_a_checkpoint_is_left_alone(folder, name):
    save(folder, 1)
    (folder.checkpoints / name).mkdir()
    assert is_of_step(folder.resume(), 1)
    assert (folder.checkpoints / name).is_dir()


def test_a_manifest_that_vouches_for_no_file_is_damage(folder, capsys):
    save(folder, 1, 2)
    manifest = folder.checkpoints / "step-00000002" / "manifest.json"
    manifest.write_text('{"step": 2, "files": {}}')
    assert is_of_step(folder.resume(), 1)
    assert "is damaged" in capsys.readouterr().err


def test_a_record_without_settings_lets_no_run_with_other_settings_go_on(folder):
    save(folder, 1)
    folder.release()
    for content in ("{}", '{"found": {}}'):
        folder.record.write_text(content)
        with pytest.raises(UserError, match="it has no settings"):
            RunFolder(folder.path).claim({"seed": 7})


@pytest.mark.parametrize("lose", [
    lambda path: path.unlink(),
    lambda path: path.write_text(""),
    lambda path: path.write_text('{"step": 10, "loss": 9.0}\n'),
], ids=["removed", "emptied", "edited"])  # fmt: skip
def test_lost_measurements_are_restored_from_the_checkpoint_that_is_resumed(tmp_path, capsys, lose):
    run = RunFolder(tmp_path / "run")
    run.claim({"seed": 1})
    log = MetricsLog(run.path / "metrics.jsonl")
    log.append({"step": 10, "loss": 5.0})
    run.save(10, lambda folder: (folder / "config.json").write_text("{}"))
    log.append({"step": 11, "loss": 4.0})
    assert run.resume().step == 10 and len(read_metrics(log.path)) == 2
    assert capsys.readouterr().err == ""
    lose(log.path)
    assert run.resume().step == 10
    assert "metrics.jsonl has lost lines or was edited" in capsys.readouterr().err
    assert read_metrics(log.path) == [{"step": 10, "loss": 5.0}]
    run.release()


@pytest.mark.parametrize("name, begun", [
    ("log.txt", False), ("data/train/tokens.bin", False), ("seed-0/metrics.jsonl", False),
    (".cache/x.safetensors", False), ("model.safetensors", True), ("curve.png", True),
    ("seed-0/result.json", True), ("checkpoints/step-00000001/manifest.json", True),
])  # fmt: skip
def test_a_run_has_begun_where_a_model_or_a_result_is_there(folder, name, begun):
    path = folder.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert folder.has_begun() == begun


def test_a_run_whose_folder_was_removed_does_not_write_to_the_one_that_took_its_place(folder):
    assert folder.claim(SETTINGS)
    shutil.rmtree(folder.path)
    other = RunFolder(folder.path)
    other.claim({**SETTINGS, "seed": 4})
    save(other, 1)
    for write in (lambda: save(folder, 2), lambda: folder.save_best(partial(fill, step=2))):
        with pytest.raises(UserError, match="was removed or replaced while this run worked on it"):
            write()
    assert is_of_step(other.resume(), 1)
    other.release()
    folder.release()


def test_a_run_that_starts_again_sets_the_best_model_and_what_was_measured_aside(folder, capsys):
    MetricsLog(folder.metrics).append({"step": 3, "heldout_mlm_loss": 5.0})
    folder.save_best(partial(fill, step=3))
    assert folder.resume() is None
    assert "metrics.jsonl was renamed earlier-metrics.jsonl; best was renamed earlier-best" in (
        capsys.readouterr().err)  # fmt: skip
    assert same_arrays(load_weights(folder.path / "earlier-best", CONFIG), weights_of(3))
    assert folder.resume() is None and not capsys.readouterr().err
