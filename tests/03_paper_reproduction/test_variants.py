"""The recipe's variants: left to right, no sentence task or another one, masks that come again, the
best model kept; and what may change between two calls that continue one run."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file

from bert_corpus.pairs import PairDataset, PairRecipe, SpecialTokens
from bert_corpus.pretraining_run import PretrainingRun
from bert_corpus.store import TokenStore
from bert_paper import pretrain as pretrain_module
from bert_paper import training
from bert_paper.fill_mask import fill_mask
from bert_paper.masking import MaskingVocabulary, next_tokens
from bert_paper.model import BertForPreTraining, load_arrays, pretraining_losses
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_paper.pretrained import open_pretrained
from bert_paper.training import Task, evaluate, forward
from bert_run.config import BertConfig, MaskingRecipe, initial_weights, parameter_shapes
from bert_run.errors import UserError
from bert_run.training_loop import read_metrics
from bert_run.weights import load_weights, save_weights

LEFT_TO_RIGHT = dict(objective="next-words", sentence_task="none")
CONFIG = BertConfig(vocab_size=101, hidden_size=30, num_hidden_layers=3, num_attention_heads=5,
                    intermediate_size=17, max_position_embeddings=40, hidden_dropout_prob=0.0,
                    attention_probs_dropout_prob=0.0, is_decoder=True)  # fmt: skip


def random_pairs(rows: int = 6, seq: int = 23) -> dict[str, torch.Tensor]:
    """Two segments and padding of uneven length; the last row has no padding."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(7, seq, (rows, 1), generator=generator)
    lengths[-1] = seq
    attention = (torch.arange(seq) < lengths).long()
    ids = torch.randint(1, CONFIG.vocab_size, (rows, seq), generator=generator)
    return {
        "input_ids": ids * attention,
        "token_type_ids": (torch.arange(seq) >= lengths // 2).long() * attention,
        "attention_mask": attention,
        "next_sentence_labels": torch.randint(0, 2, (rows,), generator=generator),
    }


def large_weights() -> dict[str, np.ndarray]:
    """Larger than at the start of training, and no bias zero, so that no term can hide."""
    generator = np.random.default_rng(1)
    return {
        name: (generator.normal(0, 0.15, shape) + name.endswith("LayerNorm.weight")).astype("f4")
        for name, shape in parameter_shapes(CONFIG).items()
    }


def left_to_right_model() -> BertForPreTraining:
    model = BertForPreTraining(CONFIG)
    load_arrays(model, large_weights())
    return model.double().eval()


# From left to right (the paper's Table 5).


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_left_to_right_model_equals_a_decoder_of_transformers_forward_and_backward(
    attention, tmp_path
):
    CONFIG.save(tmp_path)
    save_weights(large_weights(), tmp_path / "model.safetensors")
    theirs = transformers.BertForPreTraining.from_pretrained(
        tmp_path, attn_implementation=attention
    )
    theirs, ours = theirs.double().eval(), left_to_right_model()
    batch = next_tokens(random_pairs())
    words, sentences = forward(ours, batch)
    expected = theirs(
        input_ids=batch["input_ids"],
        token_type_ids=batch["token_type_ids"],
        attention_mask=batch["attention_mask"],
    )
    used = batch["masked_lm_weights"].bool()
    assert (words - expected.prediction_logits[:, :-1])[used].abs().max() < 1e-10
    assert (sentences - expected.seq_relationship_logits).abs().max() < 1e-10

    # The loss that transformers' own causal model takes: each next token that is no padding.
    pretraining_losses(words, sentences, batch).mlm.backward()
    answers = batch["input_ids"][:, 1:].where(batch["attention_mask"][:, 1:].bool(), -100)
    torch.nn.functional.cross_entropy(
        expected.prediction_logits[:, :-1].transpose(1, 2), answers, ignore_index=-100
    ).backward()
    gradients = {name: p.grad for name, p in theirs.named_parameters() if p.grad is not None}
    compared = 0
    for name, parameter in ours.named_parameters():
        if name in gradients:
            assert (parameter.grad - gradients[name]).abs().max() < 1e-10, name
            compared += 1
    assert compared >= len(gradients) > 40


def test_what_stands_on_the_right_of_a_token_does_not_change_it():
    model, batch = left_to_right_model(), random_pairs()
    inputs = (batch["token_type_ids"], batch["attention_mask"])
    before = model.bert(batch["input_ids"], *inputs).last_hidden_state
    for place in (1, 5, 11):
        changed = batch["input_ids"].clone()
        changed[:, place:] = (changed[:, place:] + 7) % CONFIG.vocab_size
        after = model.bert(changed, *inputs).last_hidden_state
        assert torch.equal(before[:, :place], after[:, :place])
        assert (before[:, place] != after[:, place]).any()


def test_without_a_mask_for_padding_it_reads_from_the_left_all_the_same(shapes_unchecked):
    model, batch = left_to_right_model(), random_pairs()
    ids, segments = batch["input_ids"], batch["token_type_ids"]
    without = model.bert(ids, segments, None).last_hidden_state
    with_ones = model.bert(ids, segments, torch.ones_like(ids)).last_hidden_state
    assert torch.equal(without, with_ones)
    shorter = model.bert(ids[:, :9], segments[:, :9], None).last_hidden_state
    assert (without[:, :9] - shorter).abs().max() < 1e-12


@pytest.fixture(scope="module")
def next_words_run(corpus_file, small_settings, tmp_path_factory):
    out = tmp_path_factory.mktemp("variants") / "next-words"
    return pretrain(small_settings(corpus_file, out, **LEFT_TO_RIGHT))


def test_a_left_to_right_run_leaves_a_folder_that_transformers_reads_as_a_decoder(next_words_run):
    out = next_words_run.settings.out
    theirs = transformers.BertLMHeadModel.from_pretrained(out).eval()
    assert theirs.config.is_decoder
    with pytest.raises(UserError, match="holds a BERT decoder"):
        BertConfig.load(out)
    ours = open_pretrained(out).model
    ids = torch.tensor([[2, 40, 50, 60, 3]])
    zeros = torch.zeros_like(ids)
    with torch.no_grad():
        words, _ = ours(ids, zeros, torch.ones_like(ids), torch.arange(5)[None])
        expected = theirs(input_ids=ids, token_type_ids=zeros).logits
    assert (words - expected).abs().max() < 1e-5


def test_a_left_to_right_model_fills_no_blanks_and_says_so(next_words_run):
    with pytest.raises(UserError, match="from the left alone: it fills no blanks"):
        fill_mask(open_pretrained(next_words_run.settings.out), "the [MASK] sees")


def test_a_left_to_right_run_says_what_it_learned_and_proposes_no_blanks(next_words_run, capsys):
    next_words_run.conclude()
    said = capsys.readouterr().out
    assert "held out: next words, loss" in said
    assert "fill-mask" not in said and "next sentence" not in said and "nan" not in said


def test_held_out_a_left_to_right_model_is_asked_for_every_token_but_the_first(next_words_run):
    """`evaluate` over 5 examples is the mean over their tokens."""
    run = next_words_run
    config = BertConfig.load(run.settings.out, decoders=True)
    model = BertForPreTraining(config).eval()
    load_arrays(model, load_weights(run.settings.out, config))
    task = Task(dataset=run.data.heldout, vocabulary=MaskingVocabulary(4, torch.arange(5, 100)),
                recipe=MaskingRecipe(), seed=1, device=torch.device("cpu"),
                precision=torch.float32, causal=True,
                has_sentence_task=False)  # fmt: skip
    batch = task.batch(np.arange(5))
    with torch.no_grad():
        words = model.bert(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
        logits = model.cls.predictions(
            words.last_hidden_state, model.bert.embeddings.word_embeddings.weight
        )
    losses = [
        -logits[row, place].log_softmax(-1)[batch["input_ids"][row, place + 1]].item()
        for row in range(5)
        for place in range(int(batch["attention_mask"][row].sum()) - 1)
    ]
    measured = evaluate(model, task, examples=5)
    assert measured.keys() == {"heldout_mlm_loss", "heldout_mlm_accuracy"}
    assert measured["heldout_mlm_loss"] == pytest.approx(np.mean(losses), abs=1e-5)


# No sentence task, or another one.


def test_without_a_sentence_task_only_words_are_learned(
    corpus_file, small_settings, tmp_path, capsys
):
    """The sentence head and the pooler before it get no gradient: weight decay alone moves them.
    And nothing is said of sentences."""
    settings = small_settings(corpus_file, tmp_path, sentence_task="none", weight_decay=0.0)
    run = pretrain(settings)
    run.conclude()
    captured = capsys.readouterr()
    assert "held out: masked words" in captured.out
    assert "next sentence" not in captured.out and "nan" not in captured.out
    assert "nsp" not in captured.err  # the progress bar
    records = read_metrics(tmp_path / "metrics.jsonl")
    assert all("nsp" not in name for record in records for name in record)
    assert "train_mlm_loss" in records[0] and "heldout_mlm_loss" in records[-1]
    before = initial_weights(run.config, settings.seed)
    after = load_file(tmp_path / "model.safetensors")
    for name in before:
        stays = name.startswith(("cls.seq_relationship", "bert.pooler"))
        assert np.array_equal(before[name], after[name]) == stays, name


@pytest.fixture
def tasks(monkeypatch) -> list[tuple[Task, Task]]:
    """A run trains no step, and shows what it would train and measure on."""
    shown: list[tuple[Task, Task]] = []
    monkeypatch.setattr(pretrain_module, "train", lambda *given, **_: shown.extend(given[2]))
    return shown


@pytest.mark.parametrize("changes, recipe, measured", [
    ({"sentence_task": "sop"}, PairRecipe("sop"), PairRecipe("sop")),
    ({"random_next": 1.0}, PairRecipe("nsp", 1.0), PairRecipe("nsp", 0.5)),
    ({"random_next": 0.0}, PairRecipe("nsp", 0.0), PairRecipe("nsp", 0.5)),
])  # fmt: skip
def test_a_run_takes_the_pairs_asked_for_and_is_measured_on_half_random_ones(
    changes, recipe, measured, corpus_file, small_settings, tmp_path, tasks
):
    pretrain(small_settings(corpus_file, tmp_path, **changes))
    train, heldout = tasks[0]
    assert (train.dataset.recipe, heldout.dataset.recipe) == (recipe, measured)
    assert train.has_sentence_task and heldout.has_sentence_task
    for task, share in ((train, recipe.random_next), (heldout, 0.5)):
        labels = task.dataset.batch(np.arange(500))["next_sentence_labels"]
        assert abs(labels.mean() - share) < 0.25  # chunks of one sentence are always random


# Masks that come again.


def make_task(run: Path, *, passes: int | None) -> tuple[Task, int]:
    """What the small run is trained on, and how many examples a reading has."""
    store = TokenStore.open(run / "data" / "train")
    dataset = PairDataset(store, SpecialTokens(pad=0, cls=2, sep=3), seq_length=32, seed=0)
    task = Task(
        dataset=dataset, vocabulary=MaskingVocabulary(4, torch.arange(5, 150)),
        recipe=MaskingRecipe(), seed=0, device=torch.device("cpu"), precision=torch.float32,
        examples=passes and passes * dataset.examples_per_epoch,
    )  # fmt: skip
    return task, dataset.examples_per_epoch


def test_runs_of_different_seeds_are_measured_on_the_same_pairs_and_masks(
    corpus_file, small_settings, tmp_path, tasks
):
    for seed in (0, 5):
        pretrain(small_settings(corpus_file, tmp_path / str(seed), steps=2, seed=seed))
    (train, heldout), (other_train, other_heldout) = tasks
    indices = np.arange(20)
    one, other = heldout.batch(indices), other_heldout.batch(indices)
    assert all(torch.equal(one[name], other[name]) for name in one)
    ids, other_ids = (part.batch(indices)["input_ids"] for part in (train, other_train))
    assert not torch.equal(ids, other_ids)


def test_a_reading_has_as_many_examples_as_hold_the_tokens_of_the_corpus(small_run):
    store = TokenStore.open(small_run / "data" / "train")
    dataset = PairDataset(store, SpecialTokens(pad=0, cls=2, sep=3), seq_length=32, seed=0)
    assert dataset.examples_per_epoch == len(store.tokens) // 29
    rows = dataset.batch(np.arange(dataset.examples_per_epoch))["attention_mask"]
    assert 0.8 < (rows.sum() - 3 * len(rows)) / len(store.tokens) <= 1


def test_with_a_duplicate_factor_the_same_masks_come_again_after_so_many_passes(small_run):
    task, a_pass = make_task(small_run, passes=2)
    indices = np.arange(40)
    first, second, third = (task.batch(indices + turn * a_pass) for turn in range(3))
    for name in first:
        assert torch.equal(first[name], third[name]), name
    assert not torch.equal(first["masked_lm_positions"], second["masked_lm_positions"])
    across = task.batch(np.arange(2 * a_pass - 3, 2 * a_pass + 3))  # from the last to the first
    assert torch.equal(across["input_ids"][3:], first["input_ids"][:3])


def test_without_one_every_pass_has_masks_of_its_own(small_run):
    task, a_pass = make_task(small_run, passes=None)
    seen = {
        task.batch(np.arange(40) + turn * a_pass)["masked_lm_positions"].numpy().tobytes()
        for turn in range(12)
    }
    assert len(seen) == 12


def test_a_run_hands_the_variants_on_to_training_and_measures_as_every_run_does(
    corpus_file, small_settings, tmp_path, tasks
):
    """Held-out masks are single tokens whatever was trained on, so that recipes compare."""
    settings = small_settings(corpus_file, tmp_path, steps=2, mask_unit="word",
                              duplicate_factor=3, sentence_task="none")  # fmt: skip
    run = pretrain(settings)
    ((train, heldout),) = tasks
    assert (train.mask_unit, heldout.mask_unit) == ("word", "token")
    assert train.examples == 3 * run.data.train.examples_per_epoch
    assert heldout.examples is None
    assert not train.has_sentence_task and not heldout.has_sentence_task
    tokenizer = run.data.tokenizer
    pieces = [tokenizer.id_to_token(id_).startswith("##")
              for id_ in range(tokenizer.get_vocab_size())]  # fmt: skip
    assert train.vocabulary.is_piece.tolist() == pieces
    assert 5 < sum(pieces) < len(pieces)


# The best model.

UPS_AND_DOWNS = dict(steps=24, learning_rate=0.5, warmup_steps=0, eval_every=2, save_every=12,
                     max_grad_norm=100.0)  # fmt: skip


@pytest.fixture(scope="module")
def restless_run(corpus_file, small_settings, tmp_path_factory) -> PretrainSettings:
    """A rate so high that the held-out loss goes up and down."""
    out = tmp_path_factory.mktemp("variants") / "restless"
    settings = small_settings(corpus_file, out, **UPS_AND_DOWNS)
    pretrain(settings)
    return settings


def heldout_losses(out: Path) -> dict[int, float]:
    return {r["step"]: r["heldout_mlm_loss"]
            for r in read_metrics(out / "metrics.jsonl") if "heldout_mlm_loss" in r}  # fmt: skip


def loss_of(folder: Path, run) -> float:
    """The held-out loss of the model of a folder."""
    opened = open_pretrained(folder)
    settings = run.settings
    task = Task(dataset=run.data.heldout, vocabulary=pretrain_module.masking_vocabulary(run.data),
                recipe=settings.masking, seed=settings.seed + 1, device=torch.device("cpu"),
                precision=torch.float32)  # fmt: skip
    return evaluate(opened.model, task, examples=settings.eval_examples)["heldout_mlm_loss"]


def test_the_best_model_is_the_one_whose_held_out_loss_was_lowest(restless_run):
    losses = heldout_losses(restless_run.out)
    best = min(losses, key=losses.get)
    assert best < 24, "the last must not be the best, or nothing is told"
    run = pretrain(restless_run)  # finished: trains no step
    assert loss_of(restless_run.out / "best", run) == losses[best]
    assert loss_of(restless_run.out, run) == losses[24] > losses[best]
    transformers.BertForPreTraining.from_pretrained(restless_run.out / "best")
    transformers.AutoTokenizer.from_pretrained(restless_run.out / "best")
    names = {path.name for path in (restless_run.out / "best").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "vocab.txt"} <= names
    assert "training_state.safetensors" not in names


def test_the_best_model_begins_anew_where_examples_become_longer(
    corpus_file, small_settings, tmp_path, monkeypatch
):
    """Losses at two lengths do not compare, so the second phase has a best of its own. An equal
    loss is as good: the later model has seen more."""
    told = iter([5.0, 1.0, 1.5, 4.0, 3.0, 3.0, 3.5])
    kept = {}

    def measure(*_, **__) -> dict[str, float]:
        nsp = {"heldout_nsp_loss": 0.0, "heldout_nsp_accuracy": 0.0}  # does not matter
        return {"heldout_mlm_loss": next(told), "heldout_mlm_accuracy": 0.0, **nsp}

    monkeypatch.setattr(training, "evaluate", measure)
    keep = pretrain_module.Keeper.keep_if_best

    def look(keeper, measured) -> None:
        keep(keeper, measured)
        kept[measured["step"]] = (tmp_path / "best" / "model.safetensors").read_bytes()

    monkeypatch.setattr(pretrain_module.Keeper, "keep_if_best", look)
    pretrain(small_settings(corpus_file, tmp_path, steps=7, short_seq_length=16, short_share=0.43,
                            eval_every=1, save_every=1, keep_checkpoints=7))  # fmt: skip

    def of_step(step: int) -> bytes:
        folder = tmp_path / "checkpoints" / f"step-{step:08d}"
        return (folder / "model.safetensors").read_bytes()

    best_after = {1: 1, 2: 2, 3: 2, 4: 4, 5: 5, 6: 6, 7: 6}  # the second phase begins after 3
    assert len({of_step(step) for step in best_after}) == 7
    assert {step: [s for s in best_after if of_step(s) == kept[step]] for step in kept} == {
        step: [best] for step, best in best_after.items()
    }


def test_losses_on_other_numbers_of_examples_do_not_compare(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [{"step": 1, "heldout_mlm_loss": 4.7, "heldout_examples": 2}, {"step": 2},
             {"step": 3, "heldout_mlm_loss": 4.9, "heldout_examples": 500}]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = SimpleNamespace(path=path)
    for examples, lowest in ((500, 4.9), (2, 4.7)):
        run = SimpleNamespace(log=log, settings=SimpleNamespace(eval_examples=examples))
        assert PretrainingRun.lowest_loss(run, from_step=0) == lowest


class Killed(BaseException):
    """A kill -9: nothing of the program runs after it."""


@pytest.mark.parametrize("moment", ["before the best is saved", "after it"])
def test_a_run_killed_between_the_record_and_the_checkpoint_ends_with_the_same_best(
    restless_run, moment, tmp_path, monkeypatch
):
    settings = replace(restless_run, out=tmp_path / "killed")
    losses = heldout_losses(restless_run.out)
    best = min(losses, key=losses.get)
    real = pretrain_module.Keeper.keep_if_best

    def killed_at_the_best(keeper, measured):
        if moment == "after it":
            real(keeper, measured)
        if measured["step"] == best:
            raise Killed
        real(keeper, measured)

    with monkeypatch.context() as patch:
        patch.setattr(pretrain_module.Keeper, "keep_if_best", killed_at_the_best)
        with pytest.raises(Killed):
            pretrain(settings)
    pretrain(settings)
    assert heldout_losses(settings.out) == losses
    for name in ("best/model.safetensors", "model.safetensors"):
        assert (settings.out / name).read_bytes() == (restless_run.out / name).read_bytes()


def test_as_many_checkpoints_stay_as_are_asked_for_and_a_later_call_may_ask_otherwise(
    corpus_file, small_settings, tmp_path
):
    def kept() -> list[str]:
        return sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())

    settings = small_settings(corpus_file, tmp_path / "run", steps=4, save_every=1,
                              keep_checkpoints=3)  # fmt: skip
    pretrain(settings)
    assert kept() == ["step-00000002", "step-00000003", "step-00000004"]
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000004")
    pretrain(replace(settings, keep_checkpoints=1))
    assert kept() == ["step-00000004"]


# Runs that are older than the variants, and those of another variant.

NEWER_FIELDS = ("objective", "sentence_task", "random_next", "mask_unit", "duplicate_factor")


def test_a_run_begun_before_there_were_variants_goes_on(corpus_file, small_settings, tmp_path):
    settings = small_settings(corpus_file, tmp_path / "run", save_every=6)
    pretrain(settings)
    expected = (settings.out / "model.safetensors").read_bytes()
    record = json.loads((settings.out / "run.json").read_text())
    assert set(NEWER_FIELDS) < set(record)
    older = {name: value for name, value in record.items() if name not in NEWER_FIELDS}
    (settings.out / "run.json").write_text(json.dumps(older))
    shutil.rmtree(settings.out / "checkpoints" / "step-00000012")
    pretrain(settings)
    assert (settings.out / "model.safetensors").read_bytes() == expected
    with pytest.raises(UserError, match="a run with mask_unit 'token', now it is 'word'"):
        pretrain(replace(settings, mask_unit="word"))


@pytest.mark.parametrize("changes, told", [
    (LEFT_TO_RIGHT, r"holds a run with objective 'masked-words', now it is 'next-words'"),
    ({"sentence_task": "sop"}, r"sentence_task 'nsp', now it is 'sop'"),
    ({"random_next": 0.3}, r"random_next 0\.5, now it is 0\.3"),
    ({"duplicate_factor": 10}, r"duplicate_factor None, now it is 10"),
])  # fmt: skip
def test_a_run_of_another_variant_is_refused_in_one_line(
    changes, told, corpus_file, small_run, small_settings
):
    with pytest.raises(UserError, match=told) as caught:
        pretrain(small_settings(corpus_file, small_run, **changes))
    assert "\n" not in str(caught.value)
    assert "choose another --out" in str(caught.value)


# Mistakes on the command line.


@pytest.fixture
def answer(monkeypatch, capsys):
    """Calls `bert-pretrain` within this process; returns (exit code, output, errors)."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["bert-pretrain", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            pretrain_module.main()
        return left.value.code, *capsys.readouterr()

    return call


@pytest.mark.parametrize("arguments, told", [
    (["--objective", "next-words"], "add --sentence-task none"),
    (["--random-next", 1.5], "--random-next is 1.5: it must be a number from 0 to 1"),
    (["--random-next", "nan"], "--random-next is nan: it must be a number from 0 to 1"),
    (["--duplicate-factor", 0], "--duplicate-factor is 0: it must be a whole number from 1"),
    (["--duplicate-factor", "many"], "--duplicate-factor is 'many': it must be a whole number"),
    (["--keep-checkpoints", 0], "--keep-checkpoints is 0: it must be a whole number from 1"),
    (["--warmup-steps", 9, "--steps", 8], "--warmup-steps 9: at most --steps, 8"),
    (["--mask-share", 0.9, "--random-share", 0.2],
     "--mask-share 0.9 + --random-share 0.2: at most 1"),
    (["--short-batch-size", 64], "--short-batch-size 64 changes nothing without --short-seq-"),
    (["--short-share", 0.5], "--short-share 0.5 changes nothing without --short-seq-length"),
    (["--sentence-task", "sop", "--random-next", 0.3],
     "--random-next 0.3 changes nothing with --sentence-task sop"),
    (["--objective", "next-words", "--sentence-task", "none", "--mask-unit", "word"],
     "--mask-unit word changes nothing with --objective next-words"),
    (["--objective", "next-words", "--sentence-task", "none", "--masked-lm-prob", 0.3],
     "--masked-lm-prob 0.3 changes nothing with --objective next-words"),
])  # fmt: skip
@pytest.mark.usefixtures("shapes_unchecked")  # as at a user: the code itself must notice
def test_a_value_out_of_range_is_one_line_and_exit_code_2(arguments, told, answer, tmp_path):
    code, out, err = answer(*arguments, "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and told in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option, value, choices", [
    ("--objective", "sideways", ["masked-words", "next-words"]),
    ("--sentence-task", "nspp", ["nsp", "sop", "none"]),
    ("--mask-unit", "words", ["token", "word"]),
])  # fmt: skip
def test_a_value_of_another_kind_is_answered_with_those_that_there_are(
    option, value, choices, answer, tmp_path
):
    code, out, err = answer(option, value, "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert option in err and value in err and "Traceback" not in err
    assert all(choice in err for choice in choices)
