"""The loss of the masked words in blocks is cross-entropy, and the logits never lie in memory."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from bert_paper import cpu_kernels as module
from bert_paper.cpu_kernels import use_cpu_kernels, word_loss
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.training import training_step
from bert_run.config import PRESETS, initial_weights

HIDDEN, VOCAB = 16, 37
MASKS = [1, 4, 5, 8, 11]  # in blocks of four: less than one, one, a rest of one, two, a rest
NAMES = ["x", "word embeddings", "bias"]


@pytest.fixture
def in_blocks(monkeypatch):
    monkeypatch.setattr(module, "LARGE", 0)
    monkeypatch.setattr(module, "BLOCK_ROWS", 4)


def inputs(masks: int, *, dtype: torch.dtype = torch.float64, scale: float = 1.0) -> list:
    """Vectors, word embeddings, bias; the words, the first and the last of the vocabulary among
    them; weights, one of them 0."""
    torch.manual_seed(masks)
    arrays = [scale * torch.randn(masks, HIDDEN), torch.randn(VOCAB, HIDDEN), torch.randn(VOCAB)]
    words = torch.randint(VOCAB, (masks,))
    words[0], words[-1] = 0, VOCAB - 1
    weights = torch.rand(masks)
    weights[masks // 2] = 0.0
    return [*(a.to(dtype).requires_grad_() for a in arrays), words, weights.to(dtype)]


def plain(x, matrix, bias, words, weights):
    logits = F.linear(x, matrix, bias)
    return (F.cross_entropy(logits, words, reduction="none") * weights).sum()


def with_gradients(loss, given: list) -> list[torch.Tensor]:
    """Of three times the loss: what comes from above is not 1."""
    found = loss(*given)
    return [found.detach(), *torch.autograd.grad(3 * found, given[:3])]


@pytest.mark.parametrize("masks", MASKS)
def test_the_loss_and_every_gradient_are_those_of_cross_entropy(in_blocks, masks):
    given = inputs(masks)
    for one, other in zip(with_gradients(word_loss, given), with_gradients(plain, given),
                          strict=True):  # fmt: skip
        assert one.dtype == other.dtype
        assert (one - other).abs().max() < 1e-12


def test_its_gradients_are_those_of_differences(in_blocks):
    x, matrix, bias, words, weights = inputs(5)
    assert torch.autograd.gradcheck(lambda *three: word_loss(*three, words, weights),
                                    (x, matrix, bias))  # fmt: skip


def test_logits_of_thousands_overflow_nothing(in_blocks):
    given = inputs(8, dtype=torch.float32, scale=1e3)
    for one, other in zip(with_gradients(word_loss, given), with_gradients(plain, given),
                          strict=True):  # fmt: skip
        assert one.isfinite().all()
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()


def test_under_autocast_products_are_in_bfloat16_and_the_sums_of_blocks_are_not(in_blocks):
    given = inputs(200, dtype=torch.float32)
    exact = with_gradients(plain, [a.detach().double().requires_grad_() if a.is_floating_point()
                                   else a for a in given])  # fmt: skip
    with torch.autocast("cpu", torch.bfloat16):
        blocks, torchs = with_gradients(word_loss, given), with_gradients(plain, given)
    for name, one, other, wide in zip(["loss", *NAMES], blocks, torchs, exact, strict=True):
        assert one.dtype == torch.float32
        off, torchs_off = ((found - wide).abs().max() / wide.abs().max() for found in (one, other))
        assert 1e-5 < off < max(1.5 * torchs_off, 1e-3), name


class Largest(TorchDispatchMode):
    """The most numbers that any operation's result has."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.numel())
        return result


@pytest.mark.parametrize("large", [True, False])
def test_no_array_has_as_many_numbers_as_the_logits_of_more_than_a_block(monkeypatch, large):
    monkeypatch.setattr(module, "BLOCK_ROWS", 4)
    monkeypatch.setattr(module, "LARGE", 40 * VOCAB - large)
    given = inputs(40)
    with Largest() as largest:
        word_loss(*given).backward()
    assert largest.numbers == 40 * (HIDDEN if large else VOCAB)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_a_training_step_in_blocks_is_the_same_step(monkeypatch, precision):
    config = replace(PRESETS["tiny"], vocab_size=100, hidden_size=32, num_attention_heads=2,
                     intermediate_size=64)  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 100, (6, 12), generator=generator)
    batch = {
        "input_ids": ids, "token_type_ids": torch.zeros_like(ids),
        "attention_mask": torch.ones_like(ids),
        "masked_lm_positions": torch.tensor([[1, 4, 0]] * 6),
        "masked_lm_ids": ids[:, [1, 4, 0]],
        "masked_lm_weights": torch.tensor([[1.0, 1.0, 0.0]] * 6),
        "next_sentence_labels": torch.arange(6) % 2,
    }  # fmt: skip
    stepped = []
    for large in (math.inf, 0):
        monkeypatch.setattr(module, "LARGE", large)
        monkeypatch.setattr(module, "BLOCK_ROWS", 5)
        model = BertForPreTraining(config)
        load_arrays(model, initial_weights(config, 0))
        use_cpu_kernels(model)
        sgd = torch.optim.SGD(model.parameters(), lr=1.0)
        torch.manual_seed(1)
        losses = training_step(model.train(), sgd, batch, precision=precision, max_grad_norm=1.0)
        stepped.append([losses, *(p.detach() for p in model.parameters())])
    close = 1e-5 if precision == torch.float32 else 2e-2
    for one, other in zip(*stepped, strict=True):
        assert (one - other).abs().max() < close


def test_one_that_compiles_gets_the_logits_to_fuse(in_blocks, shapes_unchecked):
    """Blocks unrolled would be a long program, and cross-entropy is one that compilers know."""
    graphs = []

    def backend(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    given = inputs(8)
    found = torch.compile(word_loss, backend=backend, fullgraph=True)(*given)
    assert torch.allclose(found, plain(*given))
    called = [str(node.target) for node in graphs[0].graph.nodes]
    assert any("cross_entropy" in name for name in called)
