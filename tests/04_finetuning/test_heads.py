"""Each head is that of `transformers`: same logits, same loss, same gradients."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from bert_finetuning.tasks.base import IGNORED, HeadConfig, cross_entropy
from bert_finetuning.tasks.classification import BertForSequenceClassification, mean_of_tokens
from bert_finetuning.tasks.multiple_choice import BertForMultipleChoice
from bert_finetuning.tasks.question_answering import BertForQuestionAnswering, SpanLogits, span_loss
from bert_finetuning.tasks.tagging import BertForTokenClassification
from bert_run.config import BertConfig, initial_weights
from bert_run.device import mixed_precision
from bert_run.errors import UserError

CONFIG = BertConfig(
    vocab_size=53, hidden_size=30, num_hidden_layers=2, num_attention_heads=5, intermediate_size=17,
    max_position_embeddings=40, type_vocab_size=2, hidden_act="gelu_new",
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)  # fmt: skip
ROWS, CHOICES, SEQ = 5, 3, 23
THREE, SCORE = HeadConfig(("yes", "maybe", "no")), HeadConfig(("score",))


def make_inputs(seed: int, *shape: int) -> dict[str, Tensor]:
    """Rows of uneven length, one of them full, the rest padded; two segments in each."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4, SEQ, shape, generator=generator)
    lengths.view(-1)[1] = SEQ
    places = torch.arange(SEQ).expand(*shape, SEQ)
    real = (places < lengths[..., None]).long()
    return {
        "input_ids": torch.randint(1, 53, (*shape, SEQ), generator=generator) * real,
        "token_type_ids": (places >= lengths[..., None] // 2).long() * real,
        "attention_mask": real,
    }


def some(seed: int, high: int, *shape: int) -> Tensor:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(seed))


def token_labels() -> Tensor:
    """Labels of real tokens but [CLS]; the rest, and every third one, has no answer."""
    labels = some(3, 3, ROWS, SEQ).where(make_inputs(1, ROWS)["attention_mask"] == 1, IGNORED)
    labels[:, ::3] = IGNORED
    return labels


# Our class, its head, the shape of a batch before seq, and the answers.
CASES = {
    "labels of texts": (
        BertForSequenceClassification, THREE, (ROWS,), {"labels": some(3, 3, ROWS)}),
    "numbers for texts": (
        BertForSequenceClassification, SCORE, (ROWS,), {"labels": some(3, 50, ROWS) / 10}),
    "labels of tokens": (BertForTokenClassification, THREE, (ROWS,), {"labels": token_labels()}),
    "spans": (BertForQuestionAnswering, HeadConfig(), (ROWS,), {
        "start_positions": torch.tensor([0, 3, SEQ - 1, 5, 2]),
        "end_positions": torch.tensor([0, 8, SEQ - 1, 9, 2])}),
    "spans out of the window": (BertForQuestionAnswering, HeadConfig(), (ROWS,), {
        "start_positions": torch.tensor([0, 3, SEQ, -1, SEQ - 2]),
        "end_positions": torch.tensor([0, 8, SEQ + 9, -7, SEQ + 1])}),
    "choices": (BertForMultipleChoice, HeadConfig(), (ROWS, CHOICES), {
        "labels": some(3, CHOICES, ROWS)}),
}  # fmt: skip


def ours_and_theirs(kind: type, head: HeadConfig, dtype: torch.dtype, **changes):
    """Both models with the same numbers, none of them zero, so that no term can hide."""
    config = CONFIG.with_changes(**changes)
    fields = {name: getattr(config, name) for name in config.__dataclass_fields__}
    theirs = getattr(transformers, kind.__name__)(
        transformers.BertConfig(**fields, num_labels=len(head.labels) or 2)
    ).to(dtype)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=dtype)
            parameter.copy_(0.15 * noise + name.endswith("LayerNorm.weight"))
    ours = kind(config, head).to(dtype)
    ours.load_state_dict(theirs.state_dict())  # the same names, none missing, none too many
    return ours.eval(), theirs.eval()


def in_dtype(answers: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: x.to(dtype) if x.is_floating_point() else x for name, x in answers.items()}


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("case", CASES)
def test_logits_loss_and_every_gradient_equal_those_of_transformers(case, dtype, tolerance):
    kind, head, shape, answers = CASES[case]
    ours, theirs = ours_and_theirs(kind, head, dtype)
    inputs, answers = make_inputs(1, *shape), in_dtype(answers, dtype)

    logits = ours(**inputs)
    loss = ours.loss(logits, answers)
    loss.backward()
    expected = theirs(**inputs, **answers)
    expected.loss.backward()

    if isinstance(logits, SpanLogits):
        assert (logits.start - expected.start_logits).abs().max() < tolerance
        assert (logits.end - expected.end_logits).abs().max() < tolerance
    else:
        assert logits.shape == expected.logits.shape
        assert (logits - expected.logits).abs().max() < tolerance
    assert loss.isfinite() and abs(loss - expected.loss) < tolerance
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    assert set(gradients) == {name for name, _ in ours.named_parameters()}
    for name, parameter in ours.named_parameters():
        difference = (parameter.grad - gradients[name]).abs().max()
        assert difference < tolerance, f"{name}: gradients differ by {difference:.2e}"


@pytest.mark.parametrize("case", CASES)
def test_what_stands_in_the_padding_changes_no_loss(case):
    kind, head, shape, answers = CASES[case]
    ours, _ = ours_and_theirs(kind, head, torch.float64)
    inputs = make_inputs(1, *shape)
    if kind is BertForQuestionAnswering:  # a padded token still has a score of its own
        inputs = {name: x[1:2] for name, x in inputs.items()}
        answers = {name: x[1:2] for name, x in answers.items()}
    before = ours.loss(ours(**inputs), in_dtype(answers, torch.float64))
    changed = inputs["input_ids"].where(inputs["attention_mask"] == 1, 7)
    after = ours.loss(ours(**{**inputs, "input_ids": changed}), in_dtype(answers, torch.float64))
    assert torch.equal(before, after)


# --- Losses --------------------------------------------------------------------------------------


def test_the_loss_of_tokens_is_a_mean_over_tokens_and_not_over_sentences():
    logits = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([[IGNORED, 1, IGNORED, IGNORED], [0, 2, 2, 1]])  # one token, and four
    found = cross_entropy(logits.flatten(0, 1), labels.flatten())
    each = -logits.log_softmax(-1)
    by_hand = [each[0, 1, 1], each[1, 0, 0], each[1, 1, 2], each[1, 2, 2], each[1, 3, 1]]
    assert torch.isclose(found, sum(by_hand) / 5)


def test_a_batch_in_which_nothing_is_asked_has_a_loss_of_zero_and_no_nan():
    logits = torch.randn(3, 4, requires_grad=True)
    loss = cross_entropy(logits, torch.full((3,), IGNORED))
    loss.backward()
    assert loss == 0 and torch.equal(logits.grad, torch.zeros(3, 4))
    nowhere = torch.full((3,), 99)
    assert span_loss(SpanLogits(logits, logits), nowhere, nowhere) == 0


def test_a_number_is_learned_by_its_squared_error():
    model = BertForSequenceClassification(CONFIG, SCORE)
    loss = model.loss(torch.tensor([[1.0], [2.0]]), {"labels": torch.tensor([0.0, 5.0])})
    assert loss == (1 + 9) / 2


def test_a_number_keeps_its_digits_where_products_are_in_bfloat16():
    model = BertForSequenceClassification(CONFIG, SCORE).eval()
    nn.init.constant_(model.classifier.bias, 2013.0)
    nn.init.zeros_(model.classifier.weight)
    with mixed_precision(torch.device("cpu"), torch.bfloat16):
        assert (model(**make_inputs(1, ROWS)) == 2013).all()  # bfloat16 has 2008 and 2016


# --- The mean of all tokens in place of [CLS] ----------------------------------------------------


def test_mean_pooling_is_the_mean_of_the_tokens_that_are_no_padding():
    head = HeadConfig(("yes", "no"), pooling="mean")
    model = BertForSequenceClassification(CONFIG, head).double().eval()
    inputs = make_inputs(1, ROWS)
    logits = model(**inputs)
    states = model.bert(**inputs).last_hidden_state
    for row, length in enumerate(inputs["attention_mask"].sum(-1).tolist()):
        mean = sum(states[row, place] for place in range(length)) / length
        expected = F.linear(mean, model.classifier.weight, model.classifier.bias)
        assert (logits[row] - expected).abs().max() < 1e-12


def test_the_mean_of_one_real_token_is_that_token():
    states = torch.randn(1, 4, 6)
    assert torch.equal(mean_of_tokens(states, torch.tensor([[1, 0, 0, 0]])), states[:, 0])


def test_models_that_do_not_read_the_pooler_have_none():
    """Parameters that get no gradient would make a run on several devices wait for them."""
    mean = HeadConfig(("yes", "no"), pooling="mean")
    for model in (BertForSequenceClassification(CONFIG, mean),
                  BertForTokenClassification(CONFIG, THREE),
                  BertForQuestionAnswering(CONFIG, HeadConfig())):  # fmt: skip
        assert not [name for name, _ in model.named_parameters() if "pooler" in name]


# --- Before training -----------------------------------------------------------------------------


def test_a_new_head_is_truncated_normal_with_zero_bias_and_the_same_for_a_seed():
    config = CONFIG.with_changes(initializer_range=0.05)
    shapes = {"classifier.weight": (40, 500), "classifier.bias": (40,)}
    weight, bias = initial_weights(config, 1, shapes).values()
    assert weight.dtype == bias.dtype == np.float32
    assert np.abs(weight).max() <= 2 * 0.05  # cut at two deviations
    # The cut leaves 0.88 of the deviation; the error of a deviation from 20,000 draws is 0.5%.
    assert abs(weight.std() / 0.05 - 0.88) < 0.03 and abs(weight.mean()) < 0.002
    assert not bias.any()
    again, other = (initial_weights(config, n, shapes)["classifier.weight"] for n in (1, 2))
    assert np.array_equal(weight, again) and not np.array_equal(weight, other)


def test_a_new_pooler_is_the_one_that_pretraining_would_begin_with():
    whole = initial_weights(CONFIG, seed=4)
    shapes = {name: array.shape for name, array in whole.items() if "pooler" in name}
    new = initial_weights(CONFIG, 4, shapes)
    assert all(np.array_equal(new[name], whole[name]) for name in shapes) and len(new) == 2


# --- Dropout and heads that make no sense --------------------------------------------------------


@pytest.mark.parametrize("own, expected", [(None, 0.25), (0.5, 0.5), (0, 0)])
def test_the_dropout_of_a_classifier_is_its_own_or_that_of_bert(own, expected):
    config = CONFIG.with_changes(hidden_dropout_prob=0.25)
    head = HeadConfig(("yes", "no"), classifier_dropout=own)
    for kind in (BertForSequenceClassification, BertForTokenClassification, BertForMultipleChoice):
        assert kind(config, head).dropout.p == expected


@pytest.mark.parametrize("kind, head", [
    (BertForSequenceClassification, THREE), (BertForTokenClassification, THREE),
    (BertForMultipleChoice, HeadConfig()),
])  # fmt: skip
def test_the_dropout_of_a_classifier_acts_in_training(kind, head):
    model = kind(CONFIG, HeadConfig(head.labels, classifier_dropout=0.5))
    shape = (2, CHOICES) if kind is BertForMultipleChoice else (2,)
    inputs = make_inputs(1, *shape)
    assert not torch.equal(model.train()(**inputs), model(**inputs))
    assert torch.equal(model.eval()(**inputs), model(**inputs))


@pytest.mark.parametrize("make, says", [
    (lambda: HeadConfig(("a", "b", "a")), "the label 'a' occurs twice"),
    (lambda: HeadConfig(("a",), classifier_dropout=1.0), "classifier_dropout is 1.0"),
    (lambda: BertForTokenClassification(CONFIG, HeadConfig()), "no labels are given"),
])  # fmt: skip
def test_a_head_that_makes_no_sense_is_refused_in_one_line(make, says):
    with pytest.raises(UserError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_an_unknown_pooling_is_refused(shapes_unchecked):
    with pytest.raises(UserError, match="pooling is 'max': choose cls or mean"):
        HeadConfig(("a", "b"), pooling="max")


def test_the_forward_pass_of_a_head_is_its_linear_layer_and_no_more():
    """Parameters beyond the encoder's: a matrix and a bias."""
    for kind, head, _, _ in CASES.values():
        model = kind(CONFIG, head)
        own = [child for name, child in model.named_children() if name not in ("bert", "dropout")]
        assert [type(child) for child in own] == [nn.Linear]
