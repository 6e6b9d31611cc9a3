"""A fine-tuned model's folder: begun from anything, opens here and in `transformers`."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_finetuning.checkpoint import init_from, init_from_scratch, load_finetuned, save_finetuned
from bert_finetuning.tasks.base import HeadConfig
from bert_finetuning.tasks.classification import BertForSequenceClassification
from bert_finetuning.tasks.multiple_choice import BertForMultipleChoice
from bert_finetuning.tasks.question_answering import BertForQuestionAnswering, SpanLogits
from bert_finetuning.tasks.tagging import BertForTokenClassification
from bert_paper.model import to_arrays
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import UserError
from bert_run.weights import save_weights

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "sat", "##s", "on", "mat", ".", ",", "a", "##t"]
TOKENIZER = bert_tokenizer(SPECIAL + WORDS)
FILE = "model.safetensors"
CONFIG = BertConfig(
    vocab_size=len(SPECIAL + WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=24,
)  # fmt: skip
LABELS = ("yes", "maybe", "no")
TWO, THREE, SCORE, NO_LABELS = (
    HeadConfig(labels) for labels in (LABELS[:2], LABELS, ("score",), ())
)
HEADS_TO_TRY = [
    (BertForSequenceClassification, THREE),
    (BertForSequenceClassification, SCORE),
    (BertForTokenClassification, THREE),
    (BertForQuestionAnswering, NO_LABELS),
    (BertForMultipleChoice, NO_LABELS),
]
EACH_KIND = pytest.mark.parametrize("kind, head", HEADS_TO_TRY)


def checkpoint(folder: Path, **changes) -> Path:
    """A pretraining checkpoint, as `bert-pretrain` leaves it."""
    folder.mkdir()
    config = CONFIG.with_changes(**changes)
    config.save(folder)
    save_weights(initial_weights(config, seed=7), folder / FILE)
    save_tokenizer(TOKENIZER, folder, model_max_length=24)
    return folder


def shaken(model: torch.nn.Module) -> torch.nn.Module:
    """No two arrays alike, no bias zero."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def finetuned(folder: Path, kind: type, head: HeadConfig, **changes) -> torch.nn.Module:
    """A model as it stands after training, saved."""
    model = shaken(kind(CONFIG.with_changes(**changes), head))
    save_finetuned(model, TOKENIZER, folder)
    return model


def their_finetuned(folder: Path, kind: type, **fields) -> torch.nn.Module:
    """One that transformers saved."""
    same = {name: getattr(CONFIG, name) for name in CONFIG.__dataclass_fields__}
    theirs = getattr(transformers, kind.__name__)(transformers.BertConfig(**same, **fields))
    shaken(theirs).save_pretrained(folder)
    save_tokenizer(TOKENIZER, folder, model_max_length=24)
    return theirs


def opened_by_transformers(folder: Path, kind: type) -> torch.nn.Module:
    """No key missing, none too many, and found by its name alone."""
    auto = getattr(transformers, kind.__name__.replace("Bert", "AutoModel"))
    theirs, info = auto.from_pretrained(folder, output_loading_info=True)
    assert type(theirs).__name__ == kind.__name__
    assert not any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    return theirs.eval()


@torch.no_grad()
def logits_of(model: torch.nn.Module) -> torch.Tensor:
    """Ours or theirs on the same padded rows, spans as one array."""
    shape = (2, 3) if type(model).__name__ == "BertForMultipleChoice" else (3,)
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, CONFIG.vocab_size, (*shape, 11), generator=generator)
    lengths = torch.randint(4, 12, (*shape, 1), generator=generator)
    output = model(
        input_ids=ids,
        token_type_ids=(ids > 9).long(),
        attention_mask=(torch.arange(11) < lengths).long(),
    )
    if isinstance(output, SpanLogits):
        return torch.stack(output)
    if isinstance(output, torch.Tensor):
        return output
    spans = "start_logits" in output
    return torch.stack([output.start_logits, output.end_logits]) if spans else output.logits


def edit_config(folder: Path, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_weights(folder: Path, change) -> None:
    weights = load_file(folder / FILE)
    save_file(change(weights), folder / FILE, metadata={"format": "pt"})


# --- There and back ------------------------------------------------------------------------------


@EACH_KIND
def test_a_folder_of_ours_opens_in_transformers_with_the_same_logits_and_labels(
    kind, head, tmp_path
):
    ours = finetuned(tmp_path / "out", kind, head)
    theirs = opened_by_transformers(tmp_path / "out", kind)
    assert (logits_of(ours) - logits_of(theirs)).abs().max() < 1e-5
    if head.labels:
        assert theirs.config.id2label == dict(enumerate(head.labels))
        assert theirs.config.label2id == {name: i for i, name in enumerate(head.labels)}
        assert theirs.config.num_labels == len(head.labels)
    if kind is BertForSequenceClassification:
        assert theirs.config.problem_type == head.problem_type
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer("the cat", "sat.")["input_ids"] == TOKENIZER.encode("the cat", "sat.").ids


@EACH_KIND
def test_a_folder_of_ours_opens_here_with_the_same_bits_labels_and_sizes(kind, head, tmp_path):
    ours = finetuned(tmp_path / "out", kind, HeadConfig(head.labels, classifier_dropout=0.3))
    again = load_finetuned(tmp_path / "out")
    assert type(again.model) is kind and not again.model.training
    assert again.model.head == ours.head and again.model.config == ours.config
    assert again.tokenizer.get_vocab() == TOKENIZER.get_vocab()
    assert torch.equal(logits_of(again.model), logits_of(ours))
    state = again.model.state_dict()
    assert state.keys() == ours.state_dict().keys()
    assert all(torch.equal(array, state[name]) for name, array in ours.state_dict().items())


@EACH_KIND
def test_a_folder_of_transformers_opens_here_with_the_same_logits_and_labels(kind, head, tmp_path):
    labels = {"id2label": dict(enumerate(head.labels))} if head.labels else {}
    theirs = their_finetuned(tmp_path / "theirs", kind, **labels)
    ours = load_finetuned(tmp_path / "theirs")
    assert type(ours.model) is kind
    assert (logits_of(ours.model) - logits_of(theirs)).abs().max() < 1e-5
    assert ours.model.head.labels == head.labels


def test_two_labels_without_names_open_as_transformers_names_them(tmp_path):
    """It leaves `id2label` away where it is the default."""
    theirs = their_finetuned(tmp_path / "theirs", BertForSequenceClassification)
    assert "id2label" not in json.loads((tmp_path / "theirs" / "config.json").read_text())
    labels = load_finetuned(tmp_path / "theirs").model.head.labels
    assert labels == ("LABEL_0", "LABEL_1") == tuple(theirs.config.id2label.values())


def test_a_tokenizer_that_cuts_the_beginning_of_a_text__is_said_to_cut_the_end_here(
    tmp_path, capsys
):
    their_finetuned(tmp_path / "theirs", BertForSequenceClassification)
    path = tmp_path / "theirs" / "tokenizer_config.json"
    for side, lines in (("left", 1), ("right", 0)):
        path.write_text(json.dumps({"truncation_side": side}))
        capsys.readouterr()
        load_finetuned(tmp_path / "theirs")
        told = capsys.readouterr().err
        assert told.count("\n") == told.count("its truncation_side is left") == lines


def test_fine_tuning_says_it_too(tmp_path):
    source = tmp_path / "theirs"
    their_finetuned(source, BertForSequenceClassification)
    for side, is_said in (("left", True), ("right", False)):
        (source / "tokenizer_config.json").write_text(json.dumps({"truncation_side": side}))
        start = init_from(source, BertForSequenceClassification, HeadConfig(LABELS), seed=0)
        assert ("truncation_side is left, but here long texts" in start.note) == is_said


def test_labels_stand_in_the_order_of_their_numbers_and_not_of_the_file(tmp_path):
    finetuned(tmp_path / "out", BertForTokenClassification, THREE)
    edit_config(tmp_path / "out", id2label={"2": "no", "0": "yes", "1": "maybe"})
    assert load_finetuned(tmp_path / "out").model.head.labels == LABELS


def test_a_folder_in_half_precision_opens(tmp_path):
    theirs = their_finetuned(tmp_path / "theirs", BertForQuestionAnswering)
    rounded = theirs.bfloat16()
    rounded.save_pretrained(tmp_path / "theirs")
    model = load_finetuned(tmp_path / "theirs").model
    assert torch.equal(model.qa_outputs.weight, rounded.qa_outputs.weight.float())
    assert model.qa_outputs.weight.dtype == torch.float32


def test_a_mean_pooled_model_keeps_its_pooling_and_transformers_says_what_it_lacks(tmp_path):
    """`transformers` would read [CLS] through a pooler that nobody has trained."""
    head = HeadConfig(LABELS, pooling="mean")
    ours = finetuned(tmp_path / "out", BertForSequenceClassification, head)
    again = load_finetuned(tmp_path / "out").model
    assert again.head == head and torch.equal(logits_of(again), logits_of(ours))
    theirs, info = transformers.BertForSequenceClassification.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert sorted(info["missing_keys"]) == ["bert.pooler.dense.bias", "bert.pooler.dense.weight"]
    assert (logits_of(theirs.eval()) - logits_of(ours)).abs().max() > 0.01


# --- Beginning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, head, unused", [
    (BertForSequenceClassification, TWO, "masked-language-model head, next-sentence head"),
    (BertForMultipleChoice, NO_LABELS, "masked-language-model head, next-sentence head"),
    (BertForTokenClassification, TWO, "masked-language-model head, next-sentence head, pooler"),
    (BertForQuestionAnswering, NO_LABELS, "masked-language-model head, next-sentence head, pooler"),
])  # fmt: skip
def test_a_pretraining_checkpoint_gives_its_encoder_bit_for_bit(kind, head, unused, tmp_path):
    source = checkpoint(tmp_path / "run")
    start = init_from(source, kind, head, seed=3)
    learned = initial_weights(CONFIG, seed=7)
    new = []
    for name, array in to_arrays(start.model).items():
        if name in learned:
            assert np.array_equal(array, learned[name]), name
        else:
            new.append(name)
    part = "qa_outputs" if kind is BertForQuestionAnswering else "classifier"
    assert new == [f"{part}.weight", f"{part}.bias"]
    assert start.note == f"from {source.name}; left unused: {unused}; new, to be learned: {part}"
    assert start.tokenizer.get_vocab() == TOKENIZER.get_vocab()


def test_a_new_head_depends_on_the_seed_and_on_nothing_else(tmp_path):
    source = checkpoint(tmp_path / "run")
    heads = []
    for seed, noise in ((3, 0), (3, 1), (4, 0)):
        torch.manual_seed(noise)
        start = init_from(source, BertForSequenceClassification, TWO, seed=seed)
        heads.append(start.model.classifier.weight)
        assert 0 < heads[-1].abs().max() <= 0.04 and not start.model.classifier.bias.any()
    assert torch.equal(heads[0], heads[1]) and not torch.equal(heads[0], heads[2])


def test_an_encoder_without_a_pooler_gets_a_new_one_and_that_is_said(tmp_path):
    their_finetuned(tmp_path / "source", BertForTokenClassification, num_labels=5)
    start = init_from(tmp_path / "source", BertForSequenceClassification, TWO, seed=3)
    assert start.note.endswith("; left unused: classifier; new, to be learned: pooler, classifier")
    pooler = start.model.bert.pooler.dense
    expected = initial_weights(CONFIG, seed=3)["bert.pooler.dense.weight"]
    assert np.array_equal(pooler.weight.detach().numpy(), expected) and not pooler.bias.any()


def test_a_bare_encoder_of_transformers_is_a_start(tmp_path):
    same = {name: getattr(CONFIG, name) for name in CONFIG.__dataclass_fields__}
    theirs = shaken(transformers.BertModel(transformers.BertConfig(**same)))
    theirs.save_pretrained(tmp_path / "theirs")
    save_tokenizer(TOKENIZER, tmp_path / "theirs")
    start = init_from(tmp_path / "theirs", BertForSequenceClassification, TWO, seed=0)
    assert start.note == "from theirs; new, to be learned: classifier"
    state = start.model.bert.state_dict()
    assert all(torch.equal(array, state[name]) for name, array in theirs.state_dict().items())


def test_the_checkpoints_own_dropout_of_the_head__counts_where_none_is_asked_for(tmp_path):
    folder = checkpoint(tmp_path / "a")
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | {"classifier_dropout": 0.4}))
    asked = HeadConfig(LABELS, classifier_dropout=0.0)
    for head, share in ((THREE, 0.4), (asked, 0.0)):
        model = init_from(folder, BertForSequenceClassification, head, seed=1).model
        assert model.dropout.p == share
        save_finetuned(model, TOKENIZER, tmp_path / "saved")
        assert load_finetuned(tmp_path / "saved").model.dropout.p == share
    (folder / "config.json").write_text(json.dumps(content | {"classifier_dropout": 2}))
    with pytest.raises(UserError, match=r"a: config\.json: classifier_dropout is 2: it must be"):
        init_from(folder, BertForSequenceClassification, THREE, seed=1)


def test_the_head_of_a_fine_tuned_model_is_not_taken_over(tmp_path):
    ours = finetuned(tmp_path / "first", BertForSequenceClassification, TWO)
    start = init_from(tmp_path / "first", BertForSequenceClassification, TWO, seed=0)
    assert "left unused: classifier; new, to be learned: classifier" in start.note
    assert not torch.equal(start.model.classifier.weight, ours.classifier.weight)
    assert torch.equal(start.model.bert.pooler.dense.weight, ours.bert.pooler.dense.weight)


def test_nothing_is_a_start_too_with_the_vocabulary_of_the_tokenizer(tmp_path):
    start = init_from_scratch(
        CONFIG.with_changes(vocab_size=30522), TOKENIZER, BertForTokenClassification,
        head=THREE, seed=5,
    )  # fmt: skip
    assert start.model.config == CONFIG
    fresh = initial_weights(CONFIG, seed=5)
    arrays = to_arrays(start.model)
    assert all(np.array_equal(arrays[name], fresh[name]) for name in arrays.keys() & fresh.keys())
    count = sum(array.size for array in arrays.values())
    assert start.note == f"from scratch: all {count:,} parameters are to be learned"
    save_finetuned(start.model, start.tokenizer, tmp_path / "out")
    opened_by_transformers(tmp_path / "out", BertForTokenClassification)


def test_a_model_that_reads_from_the_left_is_classified_by_the_mean_only(tmp_path):
    source = checkpoint(tmp_path / "left", is_decoder=True)
    for kind, head in ((BertForSequenceClassification, TWO), (BertForMultipleChoice, NO_LABELS)):
        with pytest.raises(UserError, match="its \\[CLS\\] sees no word of the text"):
            init_from(source, kind, head, seed=0)
    mean = HeadConfig(LABELS, pooling="mean")
    start = init_from(source, BertForSequenceClassification, mean, seed=0)
    save_finetuned(start.model, start.tokenizer, tmp_path / "out")
    assert load_finetuned(tmp_path / "out").model.config.is_decoder


# --- What cannot be opened -----------------------------------------------------------------------


def without(*names: str):
    return lambda folder: edit_weights(
        folder, lambda weights: {n: w for n, w in weights.items() if n not in names}
    )


def wider(folder: Path) -> None:
    edit_weights(folder, lambda weights: weights | {"classifier.weight": torch.zeros(3, 17)})


BAD = {
    "more labels than rows": (
        lambda f: edit_config(f, id2label={str(i): str(i) for i in range(4)}),
        "the classifier has labels 0 to 2: name each of them"),
    "labels without names": (
        lambda f: edit_config(f, id2label=None),
        "id2label is null, and the classifier has labels 0 to 2"),
    "labels with a gap": (
        lambda f: edit_config(f, id2label={"0": "a", "1": "b", "5": "c"}),
        "the classifier has labels 0 to 2"),
    "labels that are no words": (
        lambda f: edit_config(f, id2label={"0": "a", "1": "b", "2": None}),
        "the classifier has labels 0 to 2"),
    "labels in a list": (
        lambda f: edit_config(f, id2label=["a", "b", "c"]), 'id2label is ["a", "b", "c"]'),
    "a label twice": (
        lambda f: edit_config(f, id2label={"0": "a", "1": "b", "2": "a"}), "'a' occurs twice"),
    "an unknown problem": (
        lambda f: edit_config(f, problem_type="ranking"),
        "problem of type 'ranking' with 3 labels"),
    "an unknown pooling": (
        lambda f: edit_config(f, classifier_pooling="median"), "pooling is"),
    "an absurd dropout": (
        lambda f: edit_config(f, classifier_dropout=2), "classifier_dropout is 2"),
    "no architecture": (
        lambda f: edit_config(f, architectures=None), "names no architecture in config.json"),
    "only an encoder": (
        lambda f: edit_config(f, architectures=["BertModel"]),
        "holds a BertModel, which has no head for a task: fine-tune it first"),
    "no head": (without("classifier.weight", "classifier.bias"), "has no classifier.bias"),
    "half a head": (without("classifier.weight"), "classifier.weight is missing"),
    "a head for wider vectors": (wider, "classifier.weight has shape (3, 17)"),
    "a head of whole numbers": (
        lambda f: edit_weights(f, lambda w: w | {n: w[n].long() for n in ["classifier.weight"]}),
        "classifier.weight holds whole numbers: save it as float32"),
    "no pooler": (without("bert.pooler.dense.weight"), "bert.pooler.dense.weight is missing"),
    "no layer": (without("bert.encoder.layer.1.output.dense.bias"), "lacks 1 encoder parameters"),
    "a file cut short": (
        lambda f: (f / FILE).write_bytes((f / FILE).read_bytes()[:999]), "is damaged"),
    "a config cut short": (lambda f: (f / "config.json").write_text("{"), "is damaged"),
    "no tokenizer": (
        lambda f: [(f / n).unlink() for n in ("vocab.txt", "tokenizer.json")],
        "no tokenizer.json or vocab.txt"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_folder_is_refused_in_one_line_that_names_it(name, tmp_path, shapes_unchecked):
    spoil, says = BAD[name]
    folder = tmp_path / "out"
    finetuned(folder, BertForSequenceClassification, THREE)
    spoil(folder)
    with pytest.raises(UserError) as caught:
        load_finetuned(folder)
    message = str(caught.value)
    assert says in message and str(folder) in message and "\n" not in message, message


def test_a_pretraining_checkpoint_is_no_fine_tuned_model(tmp_path):
    with pytest.raises(UserError, match="holds a BertForPreTraining, which has no head for a task"):
        load_finetuned(checkpoint(tmp_path / "run"))


def test_a_start_that_is_no_bert_folder_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no config"):
        init_from(tmp_path / "empty", BertForSequenceClassification, TWO, seed=0)
