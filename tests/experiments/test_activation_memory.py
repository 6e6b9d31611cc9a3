"""What autograd keeps, counted; and a profile that says nothing beside its table."""

import torch

from bert_experiments.profile_step import (
    ProfileSettings,
    Step,
    kept_for_backward,
    logits_of_all,
    make_batch,
    make_step,
    profile,
)
from bert_lowlevel.model import Bert, logits, pretraining_losses, to_tensors
from bert_run.config import initial_weights


def test_what_is_kept_of_a_product_is_its_inputs_each_counted_once():
    x, weight = torch.randn(3, 5, requires_grad=True), torch.randn(5, 7, requires_grad=True)

    def forward():
        product = x @ weight  # keeps x and weight
        return (product * product.view(-1).view(3, 7)).sum()  # keeps the product, seen twice

    assert kept_for_backward(forward) == {(5, 7): 140, (3, 7): 84, (3, 5): 60}
    assert kept_for_backward(forward, owned=[x, weight]) == {(3, 7): 84}


def test_the_head_on_every_token_keeps_logits_of_every_token():
    settings = ProfileSettings(vocab_size=5_000, batch_size=2, seq_length=40)
    batch, config = make_batch(settings), settings.config()
    weights = to_tensors(initial_weights(config, 0))
    bert, owned = Bert(config, weights), [*weights.values(), *batch.values()]

    def kept(forward) -> int:
        return sum(
            kept_for_backward(
                lambda: pretraining_losses(forward(bert, batch), batch).total, owned=owned
            ).values()
        )

    logits_of_a_token = 4 * 5_000
    difference = kept(logits_of_all) - kept(logits)
    assert difference >= 2 * 40 * logits_of_a_token


def test_profiling_writes_nothing_to_stderr(capfd):
    settings = ProfileSettings(vocab_size=100, batch_size=2, seq_length=8)
    found = profile(make_step(Step("fused", gathered=True), settings), "cpu")
    assert found["matrix products"] > 0
    assert capfd.readouterr().err == ""
