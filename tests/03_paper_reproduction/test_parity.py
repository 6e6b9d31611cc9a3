"""The model is BERT: same numbers, forward and backward, as `transformers`."""

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from bert_paper.model import BertForPreTraining, load_arrays, pretraining_losses, to_arrays
from bert_run.config import PRESETS, BertConfig, count_parameters, initial_weights, parameter_shapes
from bert_run.weights import load_weights, save_weights

IGNORED = -100  # the label of a token that is not masked, in transformers

SIZES = {
    "one narrow layer": dict(num_hidden_layers=1, hidden_size=12, num_attention_heads=3,
                             intermediate_size=20, vocab_size=53),
    "an uneven model": dict(num_hidden_layers=3, hidden_size=30, num_attention_heads=5,
                            intermediate_size=17, vocab_size=101, hidden_act="gelu_new",
                            layer_norm_eps=1e-5, type_vocab_size=3),
    "tiny": dict(num_hidden_layers=2, hidden_size=128, num_attention_heads=2,
                 intermediate_size=512, vocab_size=1009),
}  # fmt: skip


def config_of(size: str) -> BertConfig:
    return BertConfig(max_position_embeddings=40, hidden_dropout_prob=0.0,
                      attention_probs_dropout_prob=0.0, **SIZES[size])  # fmt: skip


def random_weights(config: BertConfig, seed: int) -> dict[str, np.ndarray]:
    """Larger than at the start of training, and no bias zero, so that no term can hide."""
    generator = np.random.default_rng(seed)
    return {
        name: (generator.normal(0, 0.15, shape) + (name.endswith("LayerNorm.weight"))).astype(
            np.float32
        )
        for name, shape in parameter_shapes(config).items()
    }


def make_batch(config: BertConfig, seed: int, rows: int = 5, seq: int = 23, masks: int = 4) -> dict:
    """Rows of uneven length; the last slot of some rows is not used."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(masks + 3, seq + 1, (rows,), generator=generator)
    attention = (torch.arange(seq) < lengths[:, None]).long()
    segments = (torch.arange(seq) >= lengths[:, None] // 2).long() * attention
    positions = torch.stack(
        [torch.randperm(int(n) - 2, generator=generator)[:masks] + 1 for n in lengths]
    )
    weights = torch.ones(rows, masks)
    weights[::2, -1] = 0
    return {
        "input_ids": torch.randint(0, config.vocab_size, (rows, seq), generator=generator),
        "token_type_ids": segments,
        "attention_mask": attention,
        "masked_lm_positions": positions,
        "masked_lm_ids": torch.randint(0, config.vocab_size, (rows, masks), generator=generator),
        "masked_lm_weights": weights,
        "next_sentence_labels": torch.randint(0, 2, (rows,), generator=generator),
    }


def ours_and_theirs(config: BertConfig, folder, dtype: torch.dtype) -> tuple[nn.Module, nn.Module]:
    """Both models with the same weights, theirs read from a folder that we wrote."""
    config.save(folder)
    save_weights(random_weights(config, seed=1), folder / "model.safetensors")
    theirs = transformers.BertForPreTraining.from_pretrained(folder, attn_implementation="sdpa")
    ours = BertForPreTraining(config)
    load_arrays(ours, load_weights(folder, config))
    return ours.to(dtype).eval(), theirs.to(dtype).eval()


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("size", SIZES)
def test_logits_losses_and_every_gradient_equal_those_of_transformers(
    size, dtype, tolerance, tmp_path
):
    config = config_of(size)
    ours, theirs = ours_and_theirs(config, tmp_path, dtype)
    batch = make_batch(config, seed=2)
    batch["masked_lm_weights"] = batch["masked_lm_weights"].to(dtype)

    words, pairs = ours(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"],
                        batch["masked_lm_positions"])  # fmt: skip
    losses = pretraining_losses(words, pairs, batch)
    losses.total.backward()

    labels = torch.full_like(batch["input_ids"], IGNORED)
    used = batch["masked_lm_ids"].where(batch["masked_lm_weights"] > 0, IGNORED)
    labels.scatter_(1, batch["masked_lm_positions"], used)
    expected = theirs(
        input_ids=batch["input_ids"],
        token_type_ids=batch["token_type_ids"],
        attention_mask=batch["attention_mask"],
        labels=labels,
        next_sentence_label=batch["next_sentence_labels"],
    )
    expected.loss.backward()

    at_masks = expected.prediction_logits.gather(
        1, batch["masked_lm_positions"][:, :, None].expand(-1, -1, config.vocab_size)
    )
    assert (words - at_masks).abs().max() < tolerance
    assert (pairs - expected.seq_relationship_logits).abs().max() < tolerance
    assert abs(losses.total - expected.loss) < tolerance
    gradients = {name: p.grad for name, p in theirs.named_parameters()}
    assert set(gradients) == {name for name, _ in ours.named_parameters()}
    for name, parameter in ours.named_parameters():
        difference = (parameter.grad - gradients[name]).abs().max()
        assert difference < tolerance, f"{name}: gradients differ by {difference:.2e}"


@pytest.mark.parametrize("size", SIZES)
def test_the_hidden_states_of_every_layer_equal_those_of_transformers(size, tmp_path):
    config = config_of(size)
    ours, theirs = ours_and_theirs(config, tmp_path, torch.float64)
    batch = make_batch(config, seed=3)
    inputs = {k: batch[k] for k in ("input_ids", "token_type_ids", "attention_mask")}
    output = ours.bert(**inputs)
    expected = theirs.bert(**inputs, output_hidden_states=True)
    assert len(output.hidden_states) == config.num_hidden_layers + 1
    for state, expected_state in zip(output.hidden_states, expected.hidden_states, strict=True):
        assert (state - expected_state).abs().max() < 1e-10
    assert (output.pooled - expected.pooler_output).abs().max() < 1e-10


def test_a_mask_of_none_says_the_same_as_a_mask_of_ones():
    config = config_of("tiny")
    model = BertForPreTraining(config).double().eval()
    load_arrays(model, random_weights(config, 4))
    batch = make_batch(config, seed=5)
    ids, segments = batch["input_ids"], batch["token_type_ids"]
    without = model.bert(ids, segments, None).last_hidden_state
    with_ones = model.bert(ids, segments, torch.ones_like(ids)).last_hidden_state
    assert (without - with_ones).abs().max() < 1e-12


def test_what_stands_in_the_padding_changes_no_real_token():
    config = config_of("tiny")
    model = BertForPreTraining(config).double().eval()
    load_arrays(model, random_weights(config, 4))
    batch = make_batch(config, seed=6)
    real = batch["attention_mask"].bool()
    inputs = (batch["token_type_ids"], batch["attention_mask"])
    before = model.bert(batch["input_ids"], *inputs).last_hidden_state
    changed = batch["input_ids"].where(real, (batch["input_ids"] + 7) % config.vocab_size)
    assert (changed != batch["input_ids"]).any()
    after = model.bert(changed, *inputs).last_hidden_state
    assert torch.equal(before[real], after[real])


def test_a_folder_saved_here_opens_in_transformers_with_no_key_missing_and_none_too_many(tmp_path):
    config = config_of("an uneven model")
    config.save(tmp_path)
    save_weights(initial_weights(config, 0), tmp_path / "model.safetensors")
    _, info = transformers.BertForPreTraining.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))


def test_a_folder_saved_by_transformers_opens_here_with_the_same_numbers(tmp_path):
    config = config_of("an uneven model")
    torch.manual_seed(0)
    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(**{f: getattr(config, f) for f in config.__dataclass_fields__})
    ).eval()
    theirs.save_pretrained(tmp_path)
    opened = BertConfig.load(tmp_path)
    assert opened == config
    ours = BertForPreTraining(opened)
    load_arrays(ours, load_weights(tmp_path, opened))
    state = theirs.state_dict()
    for name, array in to_arrays(ours).items():
        assert np.array_equal(array, state[name].numpy()), name


@pytest.mark.parametrize("name, with_heads", [
    ("tiny", 4_433_468), ("mini", 11_267_900), ("small", 29_058_876), ("medium", 41_668_412),
    ("base", 110_106_428), ("large", 336_226_108),
])  # fmt: skip
def test_the_modules_have_exactly_the_published_number_of_parameters(name, with_heads):
    with torch.device("meta"):
        model = BertForPreTraining(PRESETS[name])
    shapes = {n: tuple(p.shape) for n, p in model.named_parameters()}
    assert shapes == parameter_shapes(PRESETS[name])
    assert count_parameters(shapes) == with_heads


def test_the_decoder_is_tied_so_the_word_embeddings_learn_from_both_ends():
    """With the tie cut, the gradient of the embeddings would lack the decoder's part."""
    config = config_of("tiny")
    model = BertForPreTraining(config).double()
    load_arrays(model, random_weights(config, 7))
    batch = make_batch(config, seed=8)
    inputs = [batch[k] for k in ("input_ids", "token_type_ids", "attention_mask")]
    words, _ = model(*inputs, batch["masked_lm_positions"])
    words.logsumexp(-1).sum().backward()
    gradient = model.bert.embeddings.word_embeddings.weight.grad
    absent = torch.ones(config.vocab_size, dtype=torch.bool)
    absent[batch["input_ids"].unique()] = False
    assert (gradient[absent].abs().sum(-1) > 0).all(), "words that are not read learn as answers"


@pytest.mark.parametrize("name", ["tiny", "mini"])
def test_the_loss_at_the_start_is_that_of_guessing(name):
    """ln V for the word and ln 2 for the sentence, within 0.3."""
    config = PRESETS[name]
    model = BertForPreTraining(config).eval()
    load_arrays(model, initial_weights(config, 0))
    batch = make_batch(config, seed=9, rows=8, seq=64, masks=8)
    with torch.no_grad():
        words, pairs = model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"],
                             batch["masked_lm_positions"])  # fmt: skip
    total = pretraining_losses(words, pairs, batch).total
    assert abs(total - np.log(config.vocab_size) - np.log(2)) < 0.3


def test_dropout_acts_in_training_and_not_in_evaluation():
    config = config_of("tiny").with_changes(hidden_dropout_prob=0.1)
    model = BertForPreTraining(config)
    batch = make_batch(config, seed=10)
    inputs = [batch[k] for k in ("input_ids", "token_type_ids", "attention_mask")]
    run = lambda: model.bert(*inputs).last_hidden_state  # noqa: E731
    model.train()
    assert not torch.equal(run(), run())
    model.eval()
    assert torch.equal(run(), run())


def test_attention_dropout_acts_in_training():
    config = config_of("tiny").with_changes(attention_probs_dropout_prob=0.3)
    model = BertForPreTraining(config).train()
    batch = make_batch(config, seed=10)
    inputs = [batch[k] for k in ("input_ids", "token_type_ids", "attention_mask")]
    first, second = model.bert(*inputs), model.bert(*inputs)
    assert not torch.equal(first.last_hidden_state, second.last_hidden_state)
