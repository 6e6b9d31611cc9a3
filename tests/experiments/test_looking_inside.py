"""Looking inside: what is measured of heads, vectors and blanks is what it is called."""

import json
import math
import sys

import numpy as np
import pytest
import torch
import transformers

from bert_corpus.storyworld import Mark, stories
from bert_corpus.storyworld.evaluation import Probe
from bert_experiments.looking_inside.__main__ import FIGURES, LookingSettings, main
from bert_experiments.looking_inside.blanks import (
    BLANKS,
    HOW_TO_KEEP,
    checkpoints_by_step,
    first_step_at_half,
    follow_blanks,
    probabilities,
)
from bert_experiments.looking_inside.heads import (
    attention_weights,
    measure_heads,
    story_batches,
    targets_of_blanks,
    targets_of_words,
    uniform_weights,
)
from bert_experiments.looking_inside.neighbors import Place, find_neighbors, nearest, word_vectors
from bert_experiments.looking_inside.senses import (
    Occurrence,
    accuracy_in_other_words,
    chance_to_agree,
    in_other_words,
    measure_senses,
    nearer_mean_agrees,
    nearest_agrees,
    stories_with_senses,
)
from bert_experiments.report.models import TokensInMemory, untrained
from bert_experiments.report.page import check_summary, mark_folder
from bert_paper.model import BertForPreTraining, load_arrays, to_arrays
from bert_paper.pretrain import pretrain
from bert_paper.pretrained import open_pretrained
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import UserError
from bert_run.weights import save_weights

CLS, SEP, PAD = 2, 3, 0


def batch_of(*rows: tuple[list[int], list[int]], length: int) -> dict[str, torch.Tensor]:
    """Pairs of sentences, framed and padded."""
    ids, segments, mask = torch.zeros(3, len(rows), length, dtype=torch.long)
    for row, (a, b) in enumerate(rows):
        framed = [CLS, *a, SEP, *b, SEP]
        ids[row, : len(framed)] = torch.tensor(framed)
        segments[row, len(a) + 2 : len(framed)] = 1
        mask[row, : len(framed)] = 1
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask}


@pytest.fixture
def model() -> BertForPreTraining:
    """Two layers of two heads, their weights large enough that attention is far from uniform."""
    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=24, initializer_range=0.4,
    )  # fmt: skip
    model = BertForPreTraining(config).eval()
    load_arrays(model, initial_weights(config, seed=0))
    return model


BATCH = batch_of(([10, 11, 12, 10], [13, 14, 11]), ([20, 21], [22, 23, 24, 25, 26, 27]), length=14)


# --- Attention -----------------------------------------------------------------------------------


def test_attention_weights_are_those_of_transformers(model, tmp_path):
    model.config.save(tmp_path)
    save_weights(to_arrays(model), tmp_path / "model.safetensors")
    theirs = transformers.BertModel.from_pretrained(tmp_path, attn_implementation="eager")
    with torch.no_grad():
        expected = theirs.eval()(**BATCH, output_attentions=True).attentions
    ours = attention_weights(model.bert, BATCH)
    assert ours.shape == (2, 2, 2, 14, 14)
    for layer, table in zip(ours, expected, strict=True):
        assert (layer - table).abs().max() < 1e-6
    assert (ours.max() - ours.min()) > 0.5  # no comparison of flat tables


def test_attention_weights_sum_to_one_and_padding_gets_nothing(model):
    weights = attention_weights(model.bert, BATCH)
    assert (weights.sum(dim=-1) - 1).abs().max() < 1e-6
    padding = BATCH["attention_mask"] == 0
    assert padding.any()
    hidden = padding[None, :, None, None, :].expand_as(weights)
    assert (weights[hidden] == 0).all()


def test_asking_for_attention_leaves_the_model_as_it_was(model):
    before = model.bert(**BATCH).last_hidden_state
    attention_weights(model.bert, BATCH)
    assert not any(layer.attention.self._forward_pre_hooks for layer in model.bert.encoder.layer)
    assert torch.equal(model.bert(**BATCH).last_hidden_state, before)


def report_on(model, *batches, looks=targets_of_words):
    return measure_heads(model.bert, [(batch, looks(batch)) for batch in batches])


def test_a_head_without_queries_has_the_uniform_shares_in_everything(model):
    """With zero queries all scores are equal: every number must be that of its own baseline."""
    for layer in model.bert.encoder.layer:
        torch.nn.init.zeros_(layer.attention.self.query.weight)
        torch.nn.init.zeros_(layer.attention.self.query.bias)
    report = report_on(model, BATCH)
    assert len(report.uniform) == 9 + 21  # all relations but the blank's, the distance, 21 offsets
    for name, shares in report.of_heads.items():
        assert shares == pytest.approx(report.uniform[name], rel=2e-6, abs=1e-6), name  # float32
    assert report.name_of(0, 0) is None


def test_the_uniform_shares_are_counts_over_the_tokens_that_are_there(model):
    """One pair, [CLS] 10 11 12 10 [SEP] 13 14 11 [SEP] and padding: 10 tokens, 7 words."""
    uniform = report_on(model, {name: rows[:1] for name, rows in BATCH.items()}).uniform
    assert uniform["itself"] == pytest.approx(1 / 10)
    assert uniform["one to the left"] == uniform["one to the right"] == pytest.approx(1 / 10)
    assert uniform["[CLS] or [SEP]"] == pytest.approx(3 / 10)
    assert uniform["same word elsewhere"] == pytest.approx(1 / 10)  # 10 and 11 have one twin each
    # From the 4 words of A to the 3 of B, and from these 3 to the 4.
    assert uniform["other sentence"] == pytest.approx((4 * 3 + 3 * 4) / 7 / 10)
    words = [1, 2, 3, 4, 6, 7, 8]
    distance = np.mean([abs(i - j) for i in words for j in range(10)])
    assert uniform["distance"] == pytest.approx(distance)
    assert uniform[5] == pytest.approx(sum(i + 5 < 10 for i in words) / 7 / 10)


def look_at(model: BertForPreTraining, offset: int) -> None:
    """Make every head of the first layer look `offset` tokens aside, by position alone.

    The first half of each head's query turns with the position, as the key does `offset` earlier.
    """
    config, seq = model.config, model.config.max_position_embeddings
    embeddings = model.bert.embeddings
    angle = 2 * math.pi * torch.arange(seq) / seq
    with torch.no_grad():
        embeddings.word_embeddings.weight.zero_()
        embeddings.token_type_embeddings.weight.zero_()
        positions = embeddings.position_embeddings.weight.zero_()
        positions[:, 0], positions[:, 1] = angle.cos(), angle.sin()
        positions[:, 2:4] = -positions[:, 0:2]  # mean zero: the layer norm only stretches
        turn = 2 * math.pi * offset / seq
        rotation = torch.tensor(
            [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
        )
        attention = model.bert.encoder.layer[0].attention.self
        for project, matrix in ((attention.query, 60 * rotation), (attention.key, torch.eye(2))):
            project.weight.zero_()
            project.bias.zero_()
            for head in range(config.num_attention_heads):
                start = head * config.head_dim
                project.weight[start : start + 2, 0:2] = 10 * matrix


@pytest.mark.parametrize(("offset", "name"), [(-1, "one to the left"), (1, "one to the right"),
                                              (0, "itself"), (-3, "a few to the left"),
                                              (4, "a few to the right")])  # fmt: skip
def test_a_head_made_to_look_aside_is_measured_and_named_so(model, offset, name):
    look_at(model, offset)
    batch = batch_of(([10, 11, 12, 13, 14, 15], [16, 17, 18, 19, 20, 21, 22]), length=18)
    report = report_on(model, batch)
    # The words that have a token at that offset; the others look elsewhere.
    assert report.of_heads[offset][0] == pytest.approx(1, abs=0.25)
    assert report.name_of(0, 0) == report.name_of(0, 1) == name
    if abs(offset) <= 1:  # every word has a token there
        assert report.of_heads[offset][0] == pytest.approx(1, abs=1e-3)
        assert report.of_heads["distance"][0] == pytest.approx(abs(offset), abs=1e-2)
        assert report.of_heads[name][0] == pytest.approx(1, abs=1e-3)


def test_means_are_over_words_not_over_batches(model):
    """One batch of two rows gives what two batches of one row give, of uneven length."""
    rows = [{name: table[i : i + 1] for name, table in BATCH.items()} for i in range(2)]
    together, apart = report_on(model, BATCH), report_on(model, *rows)
    assert together.of_heads.keys() == apart.of_heads.keys()
    for name in together.of_heads:
        assert apart.of_heads[name] == pytest.approx(together.of_heads[name], abs=1e-6), name
        assert apart.uniform[name] == pytest.approx(together.uniform[name], abs=1e-6), name


def test_a_blank_is_asked_only_for_its_own_answer_and_only_where_that_is_in_view(model):
    """Row 1: [MASK] at 2 hides 13, which stands at 6. Row 2 hides 22, which stands nowhere else."""
    batch = batch_of(([10, 4, 12, 10], [13, 14, 11]), ([20, 4], [21, 23]), length=14)
    batch["masked_lm_positions"] = torch.tensor([[2], [2]])
    batch["masked_lm_ids"] = torch.tensor([[13], [22]])
    look = targets_of_blanks(batch)["a blank's answer"]
    assert look.queries.nonzero().tolist() == [[0, 2]]
    assert (look.counts * look.queries[:, :, None]).nonzero().tolist() == [[0, 2, 6]]
    report = report_on(model, batch, looks=targets_of_blanks)
    weights = attention_weights(model.bert, batch)
    assert report.of_heads["a blank's answer"] == pytest.approx(weights[:, 0, :, 2, 6], abs=1e-6)
    assert report.uniform["a blank's answer"] == pytest.approx(1 / 10)
    assert uniform_weights(batch["attention_mask"])[0, 1, 0, 3].sum() == pytest.approx(1)


def test_the_pairs_for_heads_are_held_out_stories(small_run):
    pretrained = open_pretrained(small_run)
    told = list(stories(5, split="heldout"))
    corpus = TokensInMemory.of(told, pretrained.tokenizer)
    assert len(corpus.document_starts) == 6
    sentence = corpus.document_starts[3]
    first, last = corpus.sentence_starts[sentence : sentence + 2]
    text = pretrained.tokenizer.decode(corpus.tokens[first:last].tolist())
    expected = pretrained.tokenizer.encode(told[3].sentences[0].text, add_special_tokens=False)
    assert corpus.tokens[first:last].tolist() == expected.ids, text
    made = list(story_batches(pretrained, told, pairs=8, seq_length=32, batch_size=4))
    assert sum("itself" in looks for _, looks in made) == 2
    assert sum("a blank's answer" in looks for _, looks in made) == 2


# --- Neighbors ----------------------------------------------------------------------------------


def place(sentence: str, word: str) -> Place:
    start = sentence.index(word)
    return Place(sentence, start, start + len(word))


def test_neighbors_come_by_similarity_and_each_wording_once():
    places = [place("A red crane flew.", "crane"), place("The red crane flew.", "crane"),
              place("The old goose ran.", "goose"), place("A crane slept.", "crane"),
              place("One goose ate.", "goose"), place("A dog ran.", "dog")]  # fmt: skip
    found = nearest(places, np.array([0.85, 0.9, 0.7, 0.8, 0.6, 0.1]), "crane", 3)
    assert [n.place.marked for n in found.occurrences] == [
        "The red [crane] flew.", "A [crane] slept.", "The old [goose] ran.",
    ]  # fmt: skip
    assert [(n.place.word, n.similarity) for n in found.other_words] == [
        ("goose", 0.7), ("dog", 0.1),
    ]  # fmt: skip


def test_a_word_vector_is_the_mean_of_its_pieces_in_each_layer(small_run):
    pretrained = open_pretrained(small_run)
    places, vectors = word_vectors(pretrained, ["the singer sees.", "a market, a song"])
    assert [p.word for p in places] == ["the", "singer", "sees", "a", "market", "a", "song"]
    encoding = pretrained.tokenizer.encode("the singer sees.")
    pieces = [i for i, word in enumerate(encoding.word_ids) if word == 1]
    assert len(pieces) > 1
    states = pretrained.model.bert(
        torch.tensor([encoding.ids]), torch.tensor([encoding.type_ids]), None
    ).hidden_states
    assert len(vectors) == len(states) == 3
    for found, state in zip(vectors, states, strict=True):
        assert (found[1] - state[0, pieces].mean(dim=0)).abs().max() < 1e-5


def test_in_the_embeddings_the_nearest_is_the_word_itself_at_the_same_place(small_run):
    candidates = ["the dog likes a song .", "a girl sees the dog .", "the cat sees the river ."]
    layers = find_neighbors(
        open_pretrained(small_run), "the dog sees the river .", "Dog", candidates, top=2
    )
    assert len(layers) == 3
    best = layers[0].occurrences[0]
    assert best.place.marked == "the [dog] likes a song ."
    assert best.similarity == pytest.approx(1, abs=1e-5)
    assert all(n.place.word != "dog" for layer in layers for n in layer.other_words)


def test_sentences_that_the_model_cannot_read_whole_are_no_candidates(small_run):
    candidates = ["a dog sees " * 20, "the dog sees a song ."]  # 40 positions, 62 tokens and more
    layers = find_neighbors(open_pretrained(small_run), "the dog sees .", "dog", candidates)
    sentences = {n.place.sentence for layer in layers for n in layer.occurrences}
    assert sentences == {"the dog sees a song ."}


def test_a_word_that_is_not_in_the_sentence_is_refused(small_run):
    with pytest.raises(UserError, match=r'"bird" does not .* its words are the, cat, sees'):
        find_neighbors(open_pretrained(small_run), "the cat sees .", "bird", ["a"])


# --- Senses --------------------------------------------------------------------------------------

NO_PROBE = Probe([], [], range(0), Mark(0, 0, None))


def seen(*occurrences: tuple[str, int, int, int]) -> list[Occurrence]:
    return [Occurrence(NO_PROBE, s, story, (left, right)) for s, story, left, right in occurrences]


# Two senses along the first axis; along the second, whatever stands beside the word.
FOUR = seen(("bird", 0, 7, 8), ("bird", 1, 5, 6), ("machine", 2, 7, 8), ("machine", 3, 5, 6))
PARTED = np.array([[3.0, 1.0], [3.0, -1.0], [-3.0, 1.0], [-3.0, -1.0]])
BY_COMPANY = np.array([[0.1, 1.0], [0.1, -1.0], [-0.1, 1.0], [-0.1, -1.0]])
SENSES = np.array([o.sense for o in FOUR])
ALL_OTHERS = ~np.eye(4, dtype=bool)


def test_senses_that_part_are_told_apart_and_senses_that_do_not_are_not():
    assert nearest_agrees(PARTED, SENSES, ALL_OTHERS) == 1
    assert nearer_mean_agrees(PARTED, SENSES, ALL_OTHERS) == 1
    assert nearest_agrees(BY_COMPANY, SENSES, ALL_OTHERS) == 0  # the nearest has the same company
    assert chance_to_agree(SENSES, ALL_OTHERS) == pytest.approx(1 / 3)


def test_the_same_words_beside_it_do_not_count_as_the_same_sense():
    """Vectors that know nothing but the words beside: near ones have the same sense in set phrases,
    and in other words that is seen through."""
    told = seen(*[("bird", 2 * i, 7, 8) for i in range(3)],
                *[("bird", 20 + i, 9, 10) for i in range(3)],
                *[("machine", 40 + i, 5, 6) for i in range(3)],
                *[("machine", 60 + i, 3, 4) for i in range(3)])  # fmt: skip
    company = {8: 0.0, 10: 2.0, 6: 1.0, 4: 3.0}  # four directions, the senses by turns
    angle = np.array([company[o.beside[1]] * math.pi / 2 for o in told])
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    senses = np.array([o.sense for o in told])
    everywhere = ~np.eye(len(told), dtype=bool)
    assert nearest_agrees(vectors, senses, everywhere) == 1
    assert nearer_mean_agrees(vectors, senses, in_other_words(told)) == 0
    assert accuracy_in_other_words(told, np.stack([vectors, vectors])) == [0, 0]


def test_an_occurrence_is_judged_by_other_stories_and_other_neighbors_only():
    told = seen(("bird", 0, 7, 8), ("bird", 0, 1, 2), ("bird", 1, 7, 2), ("bird", 2, 1, 8),
                ("bird", 3, 1, 2))  # fmt: skip
    assert in_other_words(told)[0].tolist() == [False, False, False, False, True]


def test_the_commoner_sense_earns_no_more_than_one_half():
    senses = np.array(["a"] * 9 + ["b"] * 3)
    vectors = np.random.default_rng(0).normal(size=(12, 2)) + 10 * np.ones(2)
    vectors[9:] = vectors[:3]  # b is where a is
    vectors[3:9] = vectors[:3].repeat(2, axis=0)
    others = ~np.eye(12, dtype=bool)
    assert 0 <= nearer_mean_agrees(vectors, senses, others) <= 0.75
    assert nearer_mean_agrees(np.ones((12, 2)), senses, others) == 0.5  # always the first
    assert chance_to_agree(senses, others) == pytest.approx((9 * 8 + 3 * 2) / (12 * 11))


def test_a_word_always_told_between_the_same_words_has_no_share_in_other_words():
    told = seen(("bird", 0, 7, 8), ("bird", 1, 7, 8), ("machine", 2, 5, 6), ("machine", 3, 3, 4))
    assert accuracy_in_other_words(told, PARTED[None]) is None


def test_the_untrained_model_is_the_same_with_other_weights(small_run):
    trained = open_pretrained(small_run)
    before = untrained(trained)
    assert before.model.config == trained.model.config and not before.model.training
    for name, first in before.model.named_parameters():
        assert first.shape == trained.model.get_parameter(name).shape
    words = [m.bert.embeddings.word_embeddings.weight for m in (before.model, trained.model)]
    assert not torch.equal(*words)
    assert words[0].std().item() == pytest.approx(0.0176, rel=0.05)  # 0.02, cut at two sigma


def test_every_word_with_two_senses_is_measured_in_every_layer(small_run):
    told = stories_with_senses(4)
    marked = {mark.sense.partition(":")[0] for story in told for sentence in story.sentences
              for mark in sentence.marks if mark.sense}  # fmt: skip
    reports = measure_senses(open_pretrained(small_run), told, seq_length=40)
    assert "crane" in reports and reports.keys() <= marked
    crane = reports["crane"]
    assert set(crane.senses) == {"bird", "machine"}
    assert len(crane.nearest) == len(crane.planes) == 3
    assert crane.planes[0].shape == (len(crane.senses), 2)


# --- Blanks --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_run(small_settings, corpus_file, tmp_path_factory):
    """A run that kept three checkpoints."""
    out = tmp_path_factory.mktemp("runs") / "kept"
    pretrain(small_settings(corpus_file, out, steps=9, save_every=3, keep_checkpoints=10))
    return out


def test_blanks_are_filled_by_each_checkpoint_in_the_order_of_steps(long_run):
    folders = checkpoints_by_step(long_run)
    blanks = (("the [MASK] sees the river .", frozenset({"cat", "dog"})),
              ("a girl finds [MASK] song .", frozenset()))  # fmt: skip
    known, unknown = follow_blanks(folders, blanks)
    assert known.steps == unknown.steps == [3, 6, 9]
    for number, folder in enumerate(folders):
        pretrained = open_pretrained(folder)
        table = probabilities(pretrained, blanks[0][0])
        assert table.sum() == pytest.approx(1, abs=1e-5)
        vocabulary = pretrained.tokenizer.get_vocab()
        right = sum(table[vocabulary[word]] for word in ("cat", "dog"))
        assert known.right[number] == pytest.approx(right, abs=1e-7)
        for word, shares in known.rivals.items():
            assert shares[number] == pytest.approx(table[vocabulary[word]], abs=1e-7)
    assert len(known.rivals) == 3 and not {"cat", "dog"} & known.rivals.keys()
    assert unknown.right is None
    peaks = [max(shares) for shares in known.rivals.values()]
    assert peaks == sorted(peaks, reverse=True)


def test_the_right_word_is_no_rival_of_itself(long_run):
    folders, text = checkpoints_by_step(long_run), "the [MASK] sees the river ."
    strongest = next(iter(follow_blanks(folders, [(text, frozenset())])[0].rivals))
    known = follow_blanks(folders, [(text, frozenset({strongest}))])[0]
    assert strongest not in known.rivals and len(known.rivals) == 3


def test_a_blank_counts_as_filled_from_where_it_stays_so(long_run):
    blank = follow_blanks(checkpoints_by_step(long_run), BLANKS[:1])[0]
    for right, since in (([0.6, 0.4, 0.7], 9), ([0.6, 0.7, 0.8], 3), ([0.6, 0.7, 0.5], None)):
        assert first_step_at_half(type(blank)(**{**blank.__dict__, "right": right})) == since


def test_a_run_that_kept_too_few_checkpoints_is_told_how_to_keep_them(small_run, tmp_path):
    with pytest.raises(UserError) as error:
        checkpoints_by_step(small_run)
    assert HOW_TO_KEEP in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(UserError, match="no such folder"):
        checkpoints_by_step(tmp_path / "nowhere")


# --- The command ---------------------------------------------------------------------------------


@pytest.fixture
def look(capsys, monkeypatch):
    """Call the command in this process, which has torch already: (exit code, output, errors)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["looking_inside", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run


def test_the_command_leaves_pictures_and_figures(long_run, tmp_path, look, pictures):
    code, output, errors = look("--checkpoint", long_run, "--run", long_run, "--stories", 40,
                                "--out", tmp_path / "inside", "--device", "cpu")  # fmt: skip
    assert code == 0, errors
    for name in ("heads.png", "senses.png", "blanks.png"):
        picture = (tmp_path / "inside" / name).read_bytes()
        assert picture.startswith(b"\x89PNG") and 10_000 < len(picture) < 400_000
        width, height = (int.from_bytes(picture[i : i + 4], "big") for i in (16, 20))
        assert 400 < width < 1500 and 200 < height < 1500
        assert name in output
    summary = json.loads((tmp_path / "inside" / "summary.json").read_text("utf-8"))
    assert summary.keys() == {"checkpoint", "heads", "neighbors", "senses", "blanks"}
    assert summary["heads"]["names"].keys() == {"0.0", "0.1", "1.0", "1.1"}
    assert len(summary["neighbors"]) == 3
    texts = [blank["text"] for blank in summary["blanks"]]
    assert texts == [text for text, _ in BLANKS[:-1]]  # the last is longer than 40 tokens here


def test_without_a_run_the_command_says_how_to_get_blanks_by_step(small_run, tmp_path, look):
    """Those of an earlier call were another model's, so they go."""
    mark_folder(tmp_path, *FIGURES)
    (tmp_path / "blanks.png").touch()
    code, output, _ = look("--checkpoint", small_run, "--stories", 40, "--out", tmp_path)
    assert code == 0
    LookingSettings(out=tmp_path)  # its own figures may be written again
    assert HOW_TO_KEEP in output
    assert not (tmp_path / "blanks.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--checkpoint", "nowhere"], "there is no checkpoint folder nowhere"),
        (["--stories", 3], "--stories is 3: it must be a whole number from 40"),
        (["--sense-word", "table"], "in the 40 stories, two senses have bank, bark, crane"),
        (["--run", "nowhere"], "--run nowhere: there is no such folder"),
        (["--out", __file__], "is a file: give a folder"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_line_before_anything_is_written(
    arguments, message, tmp_path, look
):
    out = tmp_path / "inside"
    code, output, errors = look("--out", out, "--stories", 40, *arguments)
    assert (code, output) == (2, "")
    assert errors.startswith("error: ") and message in errors and errors.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("name, text, told", [
    ("run.json", "{}", "is the folder of a training run: choose another one"),
    ("summary.json", '{"heldout": 1}', "holds another program's summary.json: choose another"),
    ("summary.json", "no JSON", "holds another program's summary.json"),
])  # fmt: skip
def test_the_folder_of_another_program_is_refused_and_stays_as_it_is(
    tmp_path, look, name, text, told
):
    (tmp_path / name).write_text(text)
    code, output, errors = look("--checkpoint", "nowhere", "--out", tmp_path)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: --out {tmp_path} {told}") and errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == text


def test_a_word_missing_from_the_sentence_is_told_in_one_line(small_run, tmp_path, look):
    code, _, errors = look("--checkpoint", small_run, "--stories", 40, "--word", "stork",
                           "--out", tmp_path / "inside")  # fmt: skip
    assert code == 2
    assert 'error: --word "stork" does not stand in "The crane spread' in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "inside").exists()


@pytest.mark.parametrize("name", ["heads.png", "senses.png", "blanks.png"])
def test_a_picture_in_a_folder_that_is_not_its_own_is_not_written_over(name, tmp_path, look):
    (tmp_path / name).write_bytes(b"a photograph")
    code, output, errors = look("--checkpoint", "nowhere", "--out", tmp_path)
    assert (code, output) == (2, "")
    assert errors == (
        f"error: --out {tmp_path} holds another program's {name}: choose another folder\n"
    )
    assert (tmp_path / name).read_bytes() == b"a photograph"


def test_a_call_that_was_stopped_between_its_pictures_may_be_repeated(tmp_path):
    fields = ("checkpoint", "heads")
    mark_folder(tmp_path, *fields)
    (tmp_path / "heads.png").write_bytes(b"its own")
    check_summary(tmp_path, *fields, pictures=["heads.png"])
    (tmp_path / "summary.json").write_text('{"checkpoint": "a", "heads": 1}')
    mark_folder(tmp_path, *fields)  # figures that are there stay until new ones replace them
    assert (tmp_path / "summary.json").read_text() == '{"checkpoint": "a", "heads": 1}'


@pytest.mark.parametrize(
    ("sentence", "told"), [(" ", "--sentence is empty"), ("a \udcff crane", "is not UTF-8")]
)
def test_a_sentence_that_cannot_be_read_is_refused_before_any_work(sentence, told):
    with pytest.raises(UserError, match=told):
        LookingSettings(sentence=sentence)
