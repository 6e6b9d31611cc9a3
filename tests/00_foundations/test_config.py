"""The config: the presets' sizes, the file `transformers` reads, one clear line for a bad value."""

import json
import math

import pytest
import transformers

from bert_run.config import PRESETS, BertConfig, count_parameters, parameter_shapes
from bert_run.errors import UserError

# Parameters of the released uncased models: encoder with pooler (Turc et al. 2019, table 1, and the
# paper's 110 M and 340 M, counted exactly), and with both pretraining heads.
RELEASED = {
    "tiny": (4_385_920, 4_433_468),
    "mini": (11_170_560, 11_267_900),
    "small": (28_763_648, 29_058_876),
    "medium": (41_373_184, 41_668_412),
    "base": (109_482_240, 110_106_428),
    "large": (335_141_888, 336_226_108),
}


@pytest.mark.parametrize("name", RELEASED)
def test_a_preset_has_exactly_the_parameters_of_the_released_model(name):
    shapes = parameter_shapes(PRESETS[name])
    assert (count_parameters(shapes, "bert."), count_parameters(shapes)) == RELEASED[name]


def test_the_presets_are_the_released_ones_in_order_of_size():
    assert list(PRESETS) == list(RELEASED)
    sizes = {n: (c.num_hidden_layers, c.hidden_size, c.num_attention_heads, c.intermediate_size)
             for n, c in PRESETS.items()}  # fmt: skip
    assert sizes == {
        "tiny": (2, 128, 2, 512),
        "mini": (4, 256, 4, 1024),
        "small": (4, 512, 8, 2048),
        "medium": (8, 512, 8, 2048),
        "base": (12, 768, 12, 3072),
        "large": (24, 1024, 16, 4096),
    }


def test_the_defaults_are_those_of_transformers():
    theirs = transformers.BertConfig()
    for name, value in vars(BertConfig()).items():
        assert value == getattr(theirs, name), name


def test_the_head_width_and_the_form_of_gelu_follow_from_the_fields():
    assert PRESETS["large"].head_dim == 64
    forms = {act: BertConfig(hidden_act=act).gelu_approximation
             for act in ("gelu", "gelu_new", "gelu_pytorch_tanh")}  # fmt: skip
    assert forms == {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}


OTHER_VALUES = BertConfig(
    vocab_size=997,
    hidden_size=48,
    num_hidden_layers=3,
    num_attention_heads=6,
    intermediate_size=100,
    hidden_act="gelu_new",
    hidden_dropout_prob=0,
    attention_probs_dropout_prob=0.25,
    max_position_embeddings=77,
    type_vocab_size=3,
    initializer_range=0.05,
    layer_norm_eps=1e-5,
    pad_token_id=4,
)


def test_a_config_survives_saving_and_loading(tmp_path):
    OTHER_VALUES.save(tmp_path)
    assert BertConfig.load(tmp_path) == OTHER_VALUES


def test_transformers_reads_every_field_that_was_saved(tmp_path):
    OTHER_VALUES.save(tmp_path)
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert type(theirs) is transformers.BertConfig
    for name, value in vars(OTHER_VALUES).items():
        assert getattr(theirs, name) == value, name


def test_a_config_of_transformers_opens(tmp_path):
    values = vars(OTHER_VALUES)
    transformers.BertConfig(**values, id2label={0: "a", 1: "b", 2: "c"}).save_pretrained(tmp_path)
    assert BertConfig.load(tmp_path) == OTHER_VALUES


def test_changes_are_checked_like_the_fields_themselves():
    assert PRESETS["tiny"].with_changes(vocab_size=99).vocab_size == 99
    with pytest.raises(UserError, match="vocab_size"):
        PRESETS["tiny"].with_changes(vocab_size=0)


BAD_VALUES = [
    ("vocab_size", 0),
    ("vocab_size", "30522"),
    ("hidden_size", -8),
    ("num_hidden_layers", 2.5),
    ("num_attention_heads", 0),
    ("intermediate_size", None),
    ("max_position_embeddings", 0),
    ("type_vocab_size", 0),
    ("hidden_act", "relu"),
    ("hidden_act", None),
    ("hidden_act", ["gelu"]),
    ("hidden_dropout_prob", 1.0),
    ("hidden_dropout_prob", -0.1),
    ("hidden_dropout_prob", None),
    ("attention_probs_dropout_prob", math.nan),
    ("attention_probs_dropout_prob", "0.1"),
    ("initializer_range", 0),
    ("initializer_range", None),
    ("layer_norm_eps", -1e-12),
    ("layer_norm_eps", "1e-12"),
    ("pad_token_id", 30522),
    ("pad_token_id", -1),
    ("pad_token_id", None),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
@pytest.mark.usefixtures("shapes_unchecked")  # as at a user: the code itself must notice
def test_a_bad_value_in_a_config_file_is_one_clear_line(name, value, tmp_path):
    BertConfig().save(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(UserError) as caught:
        BertConfig.load(tmp_path)
    message = str(caught.value)
    assert name in message
    assert str(value) in message
    assert "\n" not in message


def test_heads_that_do_not_divide_the_hidden_size_are_refused():
    with pytest.raises(UserError, match=r"hidden_size 100 .* num_attention_heads 12"):
        BertConfig(hidden_size=100)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"vocab_size": 10', "damaged"),
        ("[1, 2]", "damaged"),
        ("", "damaged"),
        ('{"model_type": "gpt2"}', "'gpt2' checkpoint"),
        ('{"model_type": "bert", "is_decoder": true}', "decoder"),
        ('{"model_type": "bert", "add_cross_attention": true}', "decoder"),
        ('{"model_type": "bert", "position_embedding_type": "relative_key"}', "relative_key"),
    ],
)
def test_a_file_that_is_no_bert_config_is_refused(content, message, tmp_path):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match=message):
        BertConfig.load(tmp_path)


def test_a_model_that_reads_from_the_left_says_so_and_is_opened_by_those_who_ask_for_one(tmp_path):
    config = OTHER_VALUES.with_changes(is_decoder=True)
    config.save(tmp_path)
    assert transformers.AutoConfig.from_pretrained(tmp_path).is_decoder is True
    with pytest.raises(UserError, match="holds a BERT decoder: only BERT encoders can be opened"):
        BertConfig.load(tmp_path)
    assert BertConfig.load(tmp_path, decoders=True) == config


def test_a_decoder_that_also_reads_another_text_is_refused_always(tmp_path):
    """Its cross-attention is a part that our model does not have."""
    content = {"model_type": "bert", "is_decoder": True, "add_cross_attention": True}
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="holds a BERT decoder"):
        BertConfig.load(tmp_path, decoders=True)


def test_a_folder_without_a_config_and_a_binary_config_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"no config\.json"):
        BertConfig.load(tmp_path)
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(UserError, match="damaged"):
        BertConfig.load(tmp_path)
