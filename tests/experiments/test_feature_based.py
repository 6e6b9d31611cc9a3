"""Features of a frozen BERT, and the BiLSTMs that stand on them."""

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_experiments.feature_based import taggers
from bert_experiments.feature_based.__main__ import FeatureSettings, drawn_by, page_of
from bert_experiments.feature_based.bilstm import (
    BiLstm,
    BiLstmTagger,
    TaggerRecipe,
    TaggingSet,
    tags_of,
    train_tagger,
)
from bert_experiments.feature_based.bilstm_heads import finetune_one, start_with_bilstm
from bert_experiments.feature_based.table_7 import FINE_TUNED, beside, verdicts_of
from bert_experiments.feature_based.taggers import Bench, array_on_disk, chosen_features
from bert_experiments.feature_based.word_vectors import (
    Feature,
    LayerMix,
    WordVectors,
    features_of,
    word_vectors,
)
from bert_finetuning.checkpoint import init_from
from bert_finetuning.data.load import TaskData, few_of
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import HeadConfig
from bert_finetuning.tasks.classification import (
    BertForSequenceClassification,
    Classification,
    TextExample,
)
from bert_finetuning.tasks.question_answering import BertForQuestionAnswering
from bert_finetuning.tasks.tagging import BertForTokenClassification, TaggedSentence, Tagging
from bert_paper.pretrained import open_pretrained
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import UserError
from bert_run.weights import save_weights

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "##s", "on", "mat", ".", "anna", "##t", "a"]
TOKENIZER = bert_tokenizer(SPECIAL + WORDS)
SENTENCES = [
    ("the", "cats", "sat", "."),
    ("anna",),
    (),
    ("the", "mats", "on", "cats", "sat", "sat"),
]


def checkpoint(folder: Path, **changes) -> Path:
    folder.mkdir()
    config = BertConfig(
        vocab_size=len(SPECIAL + WORDS), hidden_size=16, num_hidden_layers=5, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=24,
    ).with_changes(**changes)  # fmt: skip
    config.save(folder)
    # Wide first values: layers that hardly differ would hide a mix-up of layers.
    weights = {name: 10 * w if w.ndim > 1 else w for name, w in initial_weights(config, 3).items()}
    save_weights(weights, folder / "model.safetensors")
    save_tokenizer(TOKENIZER, folder, model_max_length=24)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("features") / "checkpoint")


@pytest.fixture(scope="module")
def pretrained(folder):
    return open_pretrained(folder)


def read(pretrained, sentences=SENTENCES, layers=range(6), **options) -> WordVectors:
    return word_vectors(
        pretrained.model.bert, pretrained.tokenizer, sentences, layers=list(layers), **options
    )


def mixed(vectors: WordVectors, sentence: int, feature: Feature) -> torch.Tensor:
    x = torch.tensor(np.array(vectors.of(sentence, feature)))[None]
    return LayerMix(feature)(x)[0].detach()


# --- Features ------------------------------------------------------------------------------------


def test_features_are_those_of_transformers_hidden_states(folder, pretrained):
    theirs = transformers.BertModel.from_pretrained(folder, output_hidden_states=True).eval()
    vectors, names = read(pretrained), features_of(5)
    for number, words in enumerate(SENTENCES):
        if not words:
            continue
        encoding = TOKENIZER.encode(list(words), is_pretokenized=True)
        first = [encoding.word_ids.index(word) for word in range(len(words))]
        with torch.no_grad():
            states = theirs(torch.tensor([encoding.ids])).hidden_states
        states = [state[0, first] for state in states]
        four = states[2:]
        expected = {
            "embeddings": states[0],
            "second-to-last": states[4],
            "last": states[5],
            "sum-last-4": sum(four),
            "weighted-sum-last-4": sum(four) / 4,  # as it begins
            "concat-last-4": torch.cat(four, dim=-1),
            "sum-all": sum(states[1:]),
            "weighted-sum-all": sum(states[1:]) / 5,
        }
        assert list(expected) == list(names)
        for name, right in expected.items():
            torch.testing.assert_close(mixed(vectors, number, names[name]), right,
                                       atol=1e-5, rtol=1e-5)  # fmt: skip


def test_layers_of_a_word_differ_so_that_a_mix_up_would_show(pretrained):
    vectors = read(pretrained).vectors
    apart = np.abs(vectors[:, :-1] - vectors[:, 1:]).mean(axis=(0, 2))
    assert apart.min() > 0.1


def test_a_sentence_has_the_same_vectors_whatever_is_read_beside_it(pretrained):
    together, feature = read(pretrained), features_of(5)["last"]
    for number, words in enumerate(SENTENCES):
        alone = read(pretrained, [words])
        np.testing.assert_allclose(
            together.of(number, feature), alone.of(0, feature), atol=1e-5, rtol=1e-5
        )


def test_a_long_sentence_is_read_in_parts_and_every_word_has_its_vector(pretrained):
    words = ("the", "cats", "sat", "on", "mats", "anna", ".")  # pieces: 1 2 1 1 2 1 1
    parts = [words[:3], words[3:6], words[6:]]  # at most 4 pieces each
    whole = read(pretrained, [words], max_length=6)
    pieces = read(pretrained, parts)
    np.testing.assert_allclose(whole.vectors, pieces.vectors, atol=1e-5, rtol=1e-5)


def test_only_the_layers_that_are_asked_for_are_kept(pretrained):
    every, some = read(pretrained), read(pretrained, layers=[5, 2, 5])
    assert some.layers == (2, 5) and some.vectors.shape[1] == 2
    np.testing.assert_array_equal(some.vectors, every.vectors[:, [2, 5]])


def test_large_sets_lie_in_a_file_and_are_the_same(pretrained):
    small, large = read(pretrained), read(pretrained, make_array=array_on_disk)
    assert isinstance(large.vectors, np.memmap)
    np.testing.assert_array_equal(large.vectors, small.vectors)


def test_a_full_disk_is_told_before_anything_is_read(pretrained, monkeypatch):
    usage = shutil._ntuple_diskusage(100, 100, 0)
    monkeypatch.setattr(taggers.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match="set TMPDIR to a larger folder"):
        read(pretrained, make_array=array_on_disk)


def test_a_shallow_model_gives_the_layers_it_has():
    two, one = features_of(2), features_of(1)
    assert two["concat-last-4"].layers == (1, 2) == two["sum-all"].layers
    assert one["second-to-last"].layers == (0,) and one["concat-last-4"].layers == (1,)
    assert features_of(12)["concat-last-4"].layers == (9, 10, 11, 12)


def test_an_unknown_feature_is_named_and_the_known_ones_listed():
    with pytest.raises(
        UserError, match="there is no feature 'middle': choose one of 'embeddings', "
    ):
        chosen_features(("last", "middle"), 5)
    assert list(chosen_features(("last", "embeddings"), 5)) == ["embeddings", "last"]


# --- The BiLSTM ----------------------------------------------------------------------------------


def test_padding_changes_nothing_of_what_a_bilstm_says():
    torch.manual_seed(0)
    lstm, x = BiLstm(6, 8), torch.randn(3, 7, 6)
    lengths = torch.tensor([4, 7, 1])
    together = lstm(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone, _ = lstm.lstm(x[row : row + 1, :length])
        torch.testing.assert_close(together.states[row, :length], alone[0])
        ends = torch.cat([alone[0, -1, :4], alone[0, 0, 4:]])
        torch.testing.assert_close(together.ends[row], ends)


def toy(sentences: int, *, seed: int, layers: int = 1, useful: int = 0) -> TaggingSet:
    """A word is tagged 1 if the next one is of the second kind; one layer tells, others are noise.

    The last word's tag is 0.
    """
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 7, sentences)
    kinds = generator.integers(0, 2, sizes.sum())
    vectors = generator.normal(size=(sizes.sum(), layers, 4)).astype(np.float32)
    vectors[:, useful] = np.eye(4, dtype=np.float32)[kinds] * 2
    starts = np.cumsum([0, *sizes])
    tags = [[*kinds[a + 1 : b].tolist(), 0] for a, b in pairwise(starts)]
    return TaggingSet(WordVectors(vectors, starts, tuple(range(layers))), range(sentences), tags)


def accuracy(tagger: BiLstmTagger, data: TaggingSet, feature: Feature) -> float:
    said = tags_of(tagger, data, feature)
    return float(np.mean(np.concatenate(said) == np.concatenate(data.tags)))


RECIPE = TaggerRecipe(width=16, learning_rate=2e-2, rounds=4, dropout=0.1)
ONE = Feature((0,), "sum")


def trained(seed: int, feature: Feature = ONE, layers: int = 1, useful: int = 0):
    train, dev = (toy(n, seed=s, layers=layers, useful=useful) for n, s in ((80, 1), (40, 2)))
    return train_tagger(feature, train, num_tags=2, recipe=RECIPE, seed=seed,
                        judge=lambda tagger: accuracy(tagger, dev, feature))  # fmt: skip


def test_a_tagger_learns_what_stands_on_the_right():
    assert trained(0).score > 0.99


def test_a_tagger_is_a_function_of_its_seed_and_leaves_the_others_numbers_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again, other = trained(0), trained(0), trained(1)
    assert torch.equal(torch.get_rng_state(), before)
    assert first.scores == again.scores
    pairs = zip(first.tagger.parameters(), again.tagger.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    weights = [run.tagger.classifier.weight for run in (first, other)]
    assert not torch.equal(*weights)


def test_the_learned_weights_find_the_layer_that_tells():
    run = trained(0, Feature((0, 1, 2), "weighted sum"), layers=3, useful=1)
    assert run.score > 0.95
    assert run.tagger.mix.weights.argmax() == 1


@pytest.mark.parametrize(("metric", "expected"), [("accuracy", 0.75), ("entity_f1", 0.0)])
def test_a_bench_judges_a_tagger_by_the_metric_of_its_task(metric, expected, monkeypatch):
    tags = ("O", "B-PER")
    sentences = [TaggedSentence(("a", "b"), ("O", "B-PER")), TaggedSentence(("c", "d"), ("O", "O"))]
    task = Tagging(HeadConfig(tags), (metric,))
    bench = Bench(TaskData("own", task, [], sentences), {}, RECIPE, torch.device("cpu"))
    monkeypatch.setattr(taggers, "tags_of", lambda *_: [[0, 0], [0, 0]])
    dev = replace(toy(2, seed=1), tags=bench.numbers(sentences))
    assert bench.judge(trained(0).tagger, dev=dev, feature=ONE) == expected


def test_the_best_round_is_kept_and_patience_ends_the_training():
    scripted, seen = iter([0.2, 0.7, 0.6, 0.7, 0.5, 0.9]), []

    def judge(tagger: BiLstmTagger) -> float:
        seen.append(tagger.classifier.weight.detach().clone())
        return next(scripted)

    recipe = TaggerRecipe(width=4, patience=3, rounds=50)
    run = train_tagger(ONE, toy(20, seed=1), num_tags=2, recipe=recipe, judge=judge, seed=0)
    assert (run.score, run.best_round, run.scores) == (0.7, 2, [0.2, 0.7, 0.6, 0.7, 0.5])
    assert torch.equal(run.tagger.classifier.weight, seen[1])


def test_few_sentences_are_read_often_enough_for_twenty_steps_a_round(monkeypatch):
    steps, step = [], torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda adam: (steps.append(1), step(adam)))
    few, recipe = toy(5, seed=1), TaggerRecipe(width=4, rounds=1, batch_size=2)  # 3 steps an epoch
    train_tagger(ONE, few, num_tags=2, recipe=recipe, judge=lambda _: 1.0, seed=0)
    assert len(steps) == 21


def test_an_odd_width_is_refused():
    with pytest.raises(UserError, match="width of the BiLSTM is 7"):
        BiLstm(4, 7)


# --- Table 7 -------------------------------------------------------------------------------------

CONLL = "the O\nanna B-PER\nsat O\n. O\n\nanna B-PER\non O\nthe O\nmat O\n\n"


def test_the_command_measures_every_feature_beside_the_papers(folder, tmp_path):
    for name in ("train.conll", "dev.conll"):
        (tmp_path / name).write_text(CONLL * 4)
    files = [str(tmp_path / f"{name}.conll") for name in ("train", "dev")]
    fine_tuned = {"task": "train", "train_examples": 8, "dev_examples": 8,
                  "seeds": [{"best": {"entity_f1": 0.875}}] * 2}  # fmt: skip
    (tmp_path / "metrics.json").write_text(json.dumps(fine_tuned))
    settings = FeatureSettings(
        checkpoint=str(folder), train=files[0], dev=files[1], seeds=1, rounds=1, width=4,
        fine_tuned=tmp_path,
    )  # fmt: skip
    text = page_of(settings).text()
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
    assert {*features_of(5), "before training", "fine-tuned"} <= set(rows)
    assert "96.1" in rows["concat-last-4"] and "96.4" in rows["fine-tuned"]
    assert "87.5% (87.5–87.5)" in rows["fine-tuned"]


def test_few_sentences_are_those_that_bert_finetune_would_draw():
    sentences = [TaggedSentence((f"word-{place}",), ("O",)) for place in range(30)]
    data = TaskData("tags", Tagging(HeadConfig(("O",)), ("accuracy",)), sentences, sentences)
    drawn = drawn_by(data, FeatureSettings(checkpoint="x", few_shot=7, seeds=3))
    assert {seed: [sentences[place] for place in places] for seed, places in drawn.items()} == {
        seed: few_of(sentences, 7, seed=seed) for seed in range(3)
    }


def test_a_fine_tuned_run_on_other_sentences_is_no_row(folder, tmp_path):
    for name in ("train.conll", "dev.conll"):
        (tmp_path / name).write_text(CONLL)
    other = {"task": "train", "train_examples": 9, "dev_examples": 2,
             "seeds": [{"best": {"entity_f1": 0.5}}]}  # fmt: skip
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps(other))
    settings = FeatureSettings(
        checkpoint=str(folder), train=str(tmp_path / "train.conll"),
        dev=str(tmp_path / "dev.conll"), fine_tuned=tmp_path / "metrics.json",
    )  # fmt: skip
    with pytest.raises(UserError, match="learned from 9 sentences and was measured on 2; here"):
        page_of(settings)
    path.write_text(json.dumps(other | {"task": "pos"}))
    with pytest.raises(UserError, match="its task is pos, here it is train"):
        page_of(settings)


def of(**scores: list[float]) -> dict[str, list[dict[str, float]]]:
    return {name.replace("_", "-"): [{"names": value} for value in values]
            for name, values in scores.items()}  # fmt: skip


@pytest.mark.parametrize("theirs, answer", [([0.93, 0.94], "reproduced"),
                                            ([0.95, 0.96], "not reproduced")])  # fmt: skip
def test_features_come_close_to_fine_tuning_within_a_point(theirs, answer):
    results = of(embeddings=[0.9, 0.91], last=[0.93, 0.94], concat_last_4=[0.92, 0.94])
    results[FINE_TUNED] = [{"names": value} for value in theirs]
    *layers, near = verdicts_of(results)
    assert [verdict.answer for verdict in layers] == ["reproduced", "not reproduced"]
    assert near.answer == answer


def test_a_plain_sum_has_no_figure_of_the_papers():
    assert beside(of(sum_all=[0.5], last=[0.5])) == {"sum-all": "–", "last": "94.9"}


# --- A BiLSTM on the left-to-right model ---------------------------------------------------------


@pytest.fixture(scope="module")
def left_to_right(tmp_path_factory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("left") / "checkpoint", is_decoder=True)


def start_logits(model, ids: list[int]) -> torch.Tensor:
    tensor = torch.tensor([ids])
    with torch.no_grad():
        return model.eval()(tensor, torch.zeros_like(tensor), torch.ones_like(tensor)).start[0]


def test_a_bilstm_shows_the_left_to_right_model_what_stands_on_the_right(left_to_right):
    plain = init_from(left_to_right, BertForQuestionAnswering, HeadConfig(), seed=0).model
    mended = start_with_bilstm(
        str(left_to_right), BertForQuestionAnswering, HeadConfig(), seed=0
    ).model
    one, other = [2, 5, 6, 7, 3], [2, 5, 6, 10, 3]
    assert torch.equal(start_logits(plain, one)[:3], start_logits(plain, other)[:3])
    assert not torch.allclose(start_logits(mended, one)[:3], start_logits(mended, other)[:3])
    learned = plain.bert.state_dict()
    assert all(
        torch.equal(value, learned[name]) for name, value in mended.bert.state_dict().items()
    )


def test_a_padded_text_has_the_same_label_under_a_bilstm(left_to_right):
    head = HeadConfig(("no", "yes"))
    start = start_with_bilstm(str(left_to_right), BertForSequenceClassification, head, seed=0)
    ids, pad = torch.tensor([[2, 5, 6, 3]]), torch.zeros(1, 3, dtype=torch.long)
    model = start.model.eval()
    with torch.no_grad():
        alone = model(ids, torch.zeros_like(ids), torch.ones_like(ids))
        padded = torch.cat([ids, pad], 1)
        mask = torch.cat([torch.ones_like(ids), pad], 1)
        torch.testing.assert_close(model(padded, torch.zeros_like(padded), mask), alone)


def test_a_tagger_needs_no_bilstm_head(left_to_right):
    with pytest.raises(UserError, match="not on BertForTokenClassification"):
        start_with_bilstm(
            str(left_to_right), BertForTokenClassification, HeadConfig(("O", "B-X")), seed=0
        )


@pytest.mark.parametrize("with_bilstm", [False, True])
def test_texts_are_learned_on_the_left_to_right_model_with_and_without_it(
    left_to_right, with_bilstm
):
    kind = Classification(HeadConfig(("no", "yes")), ("accuracy",))
    examples = [TextExample("the cat sat", None, "yes"), TextExample("anna sat on", None, "no")] * 8
    settings = FinetuneSettings(
        task="sentiment", checkpoint="x", epochs=6, batch_size=4, learning_rate=3e-3, device="cpu"
    )
    data = TaskData("toy", kind, examples, examples[:4])
    run = finetune_one(data, str(left_to_right), settings, seed=1, with_bilstm=with_bilstm)
    assert run.best["accuracy"] == max(run.course) == 1.0


def test_an_empty_list_of_features_is_refused_before_any_work():
    with pytest.raises(UserError, match="--features names none: give all, or some of those in"):
        FeatureSettings(features=())
