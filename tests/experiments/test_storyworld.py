"""The recipe of the studies: its command trains it, and it is the paper's where it says so."""

from bert_experiments.ablations import storyworld
from bert_experiments.ablations.storyworld import STORYWORLD
from bert_paper.pretrain import PretrainSettings
from bert_paper.pretrained import open_pretrained


def test_the_command_trains_the_recipe_and_leaves_a_model(
    small_settings, monkeypatch, tmp_path, capsys
):
    recipe = small_settings("storyworld", tmp_path / "run", documents=300, steps=4)
    monkeypatch.setattr(storyworld, "STORYWORLD", recipe)
    storyworld.main()
    assert "held out: masked words, loss" in capsys.readouterr().out
    assert open_pretrained(tmp_path / "run").model.config.num_hidden_layers == 2


def test_the_recipe_has_the_papers_proportions_and_pairs():
    config = STORYWORLD.bert_config(3775)
    assert config.intermediate_size == 4 * config.hidden_size
    assert STORYWORLD.pairs == PretrainSettings().pairs
    assert STORYWORLD.optimizer == "adamw"  # which level 1 has, too
