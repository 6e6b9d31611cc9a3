"""Dropout, attention and the losses by the CPU's kernels are those of torch."""

import math

import pytest
import torch
import torch.nn.functional as F

from bert_paper import cpu_kernels
from bert_paper.cpu_kernels import CpuDropout, attention, dropout, dropout_mask, use_cpu_kernels
from bert_paper.model import BertForPreTraining
from bert_run.config import BertConfig

MANY = 2**20


def heads(*, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Query, key and value of 3 rows, 2 heads, 7 tokens."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(3, 2, 7, 8, generator=generator, dtype=torch.float64).to(dtype)
            .requires_grad_() for _ in range(3)]  # fmt: skip


def padded(*, from_the_left: bool = False) -> torch.Tensor:
    mask = torch.ones(3, 1, 1, 7, dtype=torch.bool)
    mask[1, ..., 4:] = False
    return mask & torch.ones(7, 7, dtype=torch.bool).tril() if from_the_left else mask


def gradients(output: torch.Tensor, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    upstream = torch.randn(output.shape, generator=torch.Generator().manual_seed(1))
    return list(torch.autograd.grad(output, inputs, upstream.to(output.dtype)))


# Dropout.


@pytest.mark.parametrize("prob", [0.01, 0.1, 0.2, 0.5, 0.9, 0.999995])  # none of 65,536 left
def test_dropout_leaves_the_share_it_is_told_to(prob):
    torch.manual_seed(0)
    share = dropout_mask(torch.Size([MANY]), prob).double().mean().item()
    deviation = math.sqrt(prob * (1 - prob) / MANY)
    assert abs(share - (1 - prob)) < 4 * deviation + 2**-16  # the share is in 65,536ths


def test_the_four_numbers_that_share_a_draw_are_kept_independently():
    torch.manual_seed(0)
    fours = dropout_mask(torch.Size([MANY, 4]), 0.5).double()
    correlations = torch.corrcoef(fours.T) - torch.eye(4)
    assert correlations.abs().max() < 5 / math.sqrt(MANY)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 7), (2, 3, 129)])
def test_a_mask_has_any_shape(shape):
    assert dropout_mask(torch.Size(shape), 0.1).shape == shape


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_what_dropout_leaves_is_scaled_and_so_is_its_gradient(dtype):
    torch.manual_seed(0)
    x = torch.ones(64, 64, dtype=dtype, requires_grad=True)
    y = dropout(x, 0.2)
    y.sum().backward()
    assert y.dtype == dtype
    assert set(y.unique().tolist()) == {0.0, torch.tensor(1.25, dtype=dtype).item()}
    assert torch.equal(x.grad, y)  # of a sum, and x is one: the mask times its scale, both times


def test_a_seed_gives_the_same_mask_and_the_next_draw_another():
    torch.manual_seed(3)
    first, second = (dropout_mask(torch.Size([1000]), 0.5) for _ in range(2))
    torch.manual_seed(3)
    assert torch.equal(first, dropout_mask(torch.Size([1000]), 0.5))
    assert not torch.equal(first, second)


def test_without_training_or_without_a_probability_everything_stays_and_nothing_is_drawn():
    x = torch.randn(10)
    state = torch.get_rng_state()
    assert torch.equal(CpuDropout(0.5).eval()(x), x)
    assert torch.equal(CpuDropout(0.0).train()(x), x)
    assert torch.equal(state, torch.get_rng_state())


def test_compiled_the_same_numbers_drop_each_draw_is_another_and_the_backward_pass_draws_none(
    shapes_unchecked,
):
    """A compiler may join two calls that look alike, and compute in the backward pass once more
    what the forward pass had."""

    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([F.gelu(dropout(x, 0.3)), F.gelu(dropout(x, 0.3))])

    x = torch.randn(16, 64, requires_grad=True)

    def found(function) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(5)
        y = function(x)
        return y.detach(), torch.autograd.grad(y.sum(), x)[0]

    backend = "aot_eager_decomp_partition"  # all that happens before machine code is made
    compiled = found(torch.compile(twice, backend=backend, fullgraph=True))
    for one, other in zip(compiled, found(twice), strict=True):
        assert (one - other).abs().max() < 1e-5
    first, second = compiled[0].chunk(2)
    assert not torch.equal(first, second)


SMALL = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                   intermediate_size=32, hidden_dropout_prob=0.5)  # fmt: skip


def test_use_cpu_kernels__changes_no_model_that_is_not_asked_for_and_no_parameter():
    plain, fast = BertForPreTraining(SMALL), BertForPreTraining(SMALL)
    names = [name for name, _ in fast.named_parameters()]
    use_cpu_kernels(fast)
    assert [name for name, _ in fast.named_parameters()] == names
    assert type(plain.bert.embeddings.dropout) is torch.nn.Dropout
    assert type(fast.bert.embeddings.dropout) is CpuDropout


def test_use_cpu_kernels__leaves_a_model_on_another_device_as_it_is():
    with torch.device("meta"):
        model = BertForPreTraining(SMALL)
    use_cpu_kernels(model)
    assert type(model) is BertForPreTraining
    assert type(model.bert.embeddings.dropout) is torch.nn.Dropout


@pytest.mark.parametrize("counts", [{}, {"mask_count": 5.0, "pair_count": 4}])
def test_use_cpu_kernels__gives_the_same_losses_and_gradients(monkeypatch, counts):
    """In float64 and with the word loss in blocks; without dropout, whose draws are others."""
    monkeypatch.setattr(cpu_kernels, "LARGE", 0)
    torch.manual_seed(0)
    model = BertForPreTraining(SMALL.with_changes(attention_probs_dropout_prob=0.0,
                                                  hidden_dropout_prob=0.0)).double()  # fmt: skip
    batch = {
        "input_ids": torch.randint(5, 50, (2, 6)),
        "token_type_ids": torch.zeros(2, 6, dtype=torch.int64),
        "attention_mask": torch.tensor([[1] * 6, [1] * 4 + [0] * 2]),
        "masked_lm_positions": torch.tensor([[1, 3], [2, 0]]),
        "masked_lm_ids": torch.randint(5, 50, (2, 2)),
        "masked_lm_weights": torch.tensor([[1.0, 1.0], [1.0, 0.0]], dtype=torch.float64),
        "next_sentence_labels": torch.tensor([0, 1]),
    }

    def found() -> list[torch.Tensor]:
        model.zero_grad()
        losses = model.loss(batch, **counts)
        losses.total.backward()
        return [*(loss.detach() for loss in losses), *(p.grad.clone() for p in model.parameters())]

    plain = found()
    use_cpu_kernels(model)
    for one, other in zip(plain, found(), strict=True):
        assert (one - other).abs().max() < 1e-12


def test_use_cpu_kernels__drops_in_training_and_steps_differ():
    model = BertForPreTraining(SMALL)
    use_cpu_kernels(model)
    assert not [m for m in model.modules() if type(m) is torch.nn.Dropout]
    ids = torch.arange(6).repeat(2, 1)
    once, again = (model.train()(ids, ids * 0, None, ids[:, 1:3])[0] for _ in range(2))
    assert not torch.equal(once, again)
    once, again = (model.eval()(ids, ids * 0, None, ids[:, 1:3])[0] for _ in range(2))
    assert torch.equal(once, again)


# Attention.


@pytest.mark.parametrize("from_the_left", [False, True])
def test_attention_with_dropout_and_its_gradients_are_torchs_when_nothing_happens_to_be_dropped(
    monkeypatch, from_the_left
):
    """Then everything is scaled by 1 / (1 - prob), and so the output and the gradients are."""
    monkeypatch.setattr(
        cpu_kernels, "dropout_mask", lambda shape, prob: torch.ones(shape, dtype=torch.bool)
    )
    inputs, mask = heads(), padded(from_the_left=from_the_left)
    ours = attention(*inputs, mask, 0.2)
    torchs = F.scaled_dot_product_attention(*inputs, mask) / 0.8
    assert (ours - torchs).abs().max() < 1e-12
    for one, other in zip(gradients(ours, inputs), gradients(torchs, inputs), strict=True):
        assert (one - other).abs().max() < 1e-12


def test_dropout_drops_attention_weights_and_not_values(monkeypatch):
    """A token that keeps one weight w of seven returns that token's value, w / (1 - prob) times."""
    first_key = torch.arange(7) == 0
    monkeypatch.setattr(cpu_kernels, "dropout_mask", lambda shape, prob: first_key.expand(shape))
    query, key, value = heads()
    weights = (query @ key.mT / math.sqrt(8)).softmax(-1)
    found = attention(query, key, value, None, 0.5)
    assert (found - 2 * weights[..., :1] * value[..., :1, :]).abs().max() < 1e-12


def test_attention_in_bfloat16_is_that_of_float64_apart_from_its_digits():
    inputs, mask = heads(dtype=torch.bfloat16), padded()
    wide = [x.detach().double().requires_grad_() for x in inputs]
    ours, torchs = attention(*inputs, mask, 0.0), F.scaled_dot_product_attention(*wide, mask)
    assert ours.dtype == torch.bfloat16
    pairs = zip([ours, *gradients(ours, inputs)], [torchs, *gradients(torchs, wide)], strict=True)
    for one, other in pairs:
        assert (one - other).abs().max() < 0.02 * other.abs().max()


def test_attention_in_float32_without_dropout_is_torchs_bit_for_bit():
    inputs = heads(dtype=torch.float32)
    assert torch.equal(attention(*inputs, padded(), 0.0),
                       F.scaled_dot_product_attention(*inputs, padded()))  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_padding_gets_no_weight_whatever_stands_there(dtype):
    query, key, value = (x.detach() for x in heads(dtype=dtype))
    torch.manual_seed(0)
    before = attention(query, key, value, padded(), 0.1)
    key[1, :, 4:], value[1, :, 4:] = 100.0, 1e4
    torch.manual_seed(0)
    assert torch.equal(before, attention(query, key, value, padded(), 0.1))


def test_a_row_of_nothing_but_padding_gives_numbers():
    mask = padded()
    mask[2] = False
    assert attention(*heads(dtype=torch.float32), mask, 0.1).isfinite().all()
