"""bert.mjs beside the course's own code: NumPy's forward pass, and WordPiece by hand."""

import json
import math
import random
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import export_model
import numpy as np
import pytest

from bert_corpus.storyworld import stories
from bert_corpus.storyworld.evaluation import hidden, probes_of
from bert_corpus.wordpiece import basic_tokens, bert_tokenizer, load_tokenizer, wordpieces
from bert_experiments.looking_inside.board import random_weights
from bert_numpy.attention import split_heads
from bert_numpy.encoder import Bert
from bert_numpy.model import bert_forward, mlm_head_forward
from bert_numpy.operations import linear_forward, softmax_forward
from bert_run.config import BertConfig, Weights
from bert_run.errors import UserError
from bert_run.files import demo_folder
from bert_run.weights import load_weights, save_weights

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")
TOLERANCE = 1e-5
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "crane", "stood", "##s", "fish", "."]
CONFIG = BertConfig(
    vocab_size=60, hidden_size=24, num_hidden_layers=3, num_attention_heads=3,
    intermediate_size=40, max_position_embeddings=32,
)  # fmt: skip
TEXTS = [
    {"a": "The crane stood.", "b": "", "off": []},
    {"a": "The [MASK] stood.", "b": "The fish.", "off": []},
    {"a": "The [MASK] stood.", "b": "The fish.", "off": ["0.1", "2.0", "2.2"]},
    {"a": "Cranes, [MASK] [MASK] fishs", "b": "crane", "off": ["0.0", "0.1", "0.2"]},
]

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def ask_node(**request) -> dict:
    """What `forward.mjs` answers."""
    done = subprocess.run(
        [NODE, str(Path(__file__).parent / "forward.mjs")],
        input=json.dumps(request, default=str), capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_folder(folder: Path, config: BertConfig, weights: Weights, tokens: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config.save(folder)
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", "utf-8")
    save_weights(weights, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def demo() -> Path:
    try:
        return demo_folder(ROOT)
    except UserError as error:
        pytest.skip(str(error))


def switched_off(weights: Weights, config: BertConfig, off: list[str]) -> Weights:
    """A head adds to the vectors only through its columns of the output matrix: these become 0."""
    weights = dict(weights)
    for layer, head in (map(int, name.split(".")) for name in off):
        name = f"bert.encoder.layer.{layer}.attention.output.dense.weight"
        weights[name] = weights[name].copy()
        weights[name][:, head * config.head_dim : (head + 1) * config.head_dim] = 0
    return weights


def numpy_pass(config: BertConfig, weights: Weights, text: dict, off: list[str]) -> dict:
    """The same dict as `forward.mjs` makes, by `bert_numpy`."""
    seen: Weights = {}
    bert = Bert(config, switched_off(weights, config, off), watch=seen.__setitem__)
    ids = np.array([text["inputIds"]])
    batch = {"input_ids": ids, "token_type_ids": np.array([text["tokenTypeIds"]]),
             "attention_mask": np.ones_like(ids)}  # fmt: skip
    output, _ = bert_forward(bert, batch)
    layers = [f"bert.encoder.layer.{number}" for number in range(config.num_hidden_layers)]
    states = [seen[name].copy() for name in ("bert.embeddings", *layers)]
    everywhere = np.arange(ids.shape[1])[None]
    return {
        "states": [state.ravel() for state in states],
        "attention": [
            softmax_forward(
                split_heads(seen[f"{name}.attention.self.query"], config.num_attention_heads)
                @ split_heads(
                    seen[f"{name}.attention.self.key"], config.num_attention_heads
                ).swapaxes(-1, -2)
                / math.sqrt(config.head_dim)
            )[0][0].reshape(config.num_attention_heads, -1)
            for name in layers
        ],
        "words": [mlm_head_forward(bert, state, everywhere)[0] for state in states],
        "pair": linear_forward(
            output.pooled,
            weights["cls.seq_relationship.weight"],
            weights["cls.seq_relationship.bias"],
        )[0][0],
    }


def largest_differences(folder: Path, texts: list[dict]) -> dict[str, float]:
    """Between both, of every kind of array; all arrays are float32.

    Differences are relative to the largest entry where that is above 1: logits reach 40, where
    neighboring float32 numbers are 4e-6 apart.
    """
    config = BertConfig.load(folder)
    weights = load_weights(folder, config)
    worst: dict[str, float] = {}
    answers = ask_node(folder=folder, texts=texts)["texts"]
    for asked, found in zip(texts, answers, strict=True):
        for name, expected in numpy_pass(config, weights, found, asked["off"]).items():
            array = np.array(found[name], np.float32)
            worst[name] = max(worst.get(name, 0.0), difference(array, np.array(expected)))
            if name == "words":
                pair = softmax_forward(array)[0], softmax_forward(np.array(expected))[0]
                worst["probabilities"] = max(worst.get("probabilities", 0.0), difference(*pair))
    return worst


def difference(array: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(array - expected).max() / max(1, np.abs(expected).max()))


@pytest.mark.parametrize("hidden_act", ["gelu", "gelu_new"])
def test_bert_mjs__equals_numpy_on_random_weights(tmp_path, hidden_act):
    config = CONFIG.with_changes(hidden_act=hidden_act)
    weights = {name: w.astype(np.float32) for name, w in random_weights(config).items()}
    tokens = WORDS + [f"word{i}" for i in range(config.vocab_size - len(WORDS))]
    folder = write_folder(tmp_path / "bert", config, weights, tokens)
    worst = largest_differences(folder, TEXTS)
    assert max(worst.values()) < TOLERANCE, worst


def test_bert_mjs__equals_numpy_on_the_model_of_the_demo(demo):
    texts = [
        {"a": "A grey [MASK] stood on one leg among the reeds.", "b": "", "off": []},
        {"a": "The crane stood in the river.", "b": "It caught a silver [MASK].", "off": []},
        {"a": "The food was [MASK], but the service was terrible.", "b": "", "off": ["1.2"]},
        {"a": "Paris is the [MASK] of France.", "b": "", "off": ["0.0", "0.3", "1.1"]},
    ]
    worst = largest_differences(demo, texts)
    assert max(worst.values()) < TOLERANCE, worst


def test_a_head_that_is_switched_off__changes_the_answer(demo):
    text = {"a": "Paris is the [MASK] of France.", "b": ""}
    with_all, without = ask_node(
        folder=demo, texts=[{**text, "off": []}, {**text, "off": ["1.0", "1.1"]}]
    )["texts"]
    assert with_all["attention"][0] == without["attention"][0], "layer 0 comes before"
    assert np.abs(np.subtract(with_all["states"][-1], without["states"][-1])).max() > 0.01


# --- Text to tokens ---

# One string holds every piece of a script, so that single characters are known and words are cut.
SCRIPTS = ("aàäçéèêëïıİñöőßžæøÆŒ" "АБВабвёй" "ΑΒΣσςΰ" "אבגד" "ابجده" "हिन्दी" "ไทย" "ｆｕｌｌ"
           "北京市龍鼠豈" "ひらがなカタカナ" "한국어각" "😀🏽‍🚀❤️🇫🇷" "ﬁﬀ" "ǅǄ" "ᾳᾼ" "ŉ")  # fmt: skip
ODD = ("\u0301\u0323\u0308\u200d\u200b\ufeff\u00ad\u00a0\u2028\u2029\u3000\u1680\u180e\x00\x01"
       "\x0b\x0c\x1c\x85\x7f\ufffd\ue000\t\n\r\u202e\u2066\ufe0f\u20e3")  # fmt: skip
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»“”‘’…—–·¿¡、。「」؟€£¥©®°±×÷§¶†‡‰₿"


WHOLE_WORDS = ["the", "Cranes", "fish", "##s", "[MASK]", "[SEP]", "[mask]", "[[MASK]]", "a" * 100,
               "b" * 101, "crane" * 21, "x" * 99 + "é"]  # fmt: skip
# Marks that combine in newer versions of Unicode and not in Python's of today, or the reverse.
RECLASSIFIED = {0x1171E, 0x1734}


def is_known_to_both(code: int) -> bool:
    """Python's table of Unicode may be older than node's; half a surrogate pair is no text."""
    return unicodedata.category(chr(code)) not in ("Cn", "Cs") and code not in RECLASSIFIED


def is_old(text: str) -> bool:
    """Whether `tokenizers` knows all characters: its table of Unicode is older than Python's."""
    return all(unicodedata.ucd_3_2_0.category(char) != "Cn" for char in text)


def random_texts(count: int, seed: int) -> list[str]:
    """Words of all scripts with odd characters in between, from a few to a few dozen characters."""
    draw = random.Random(seed)
    every = [chr(code) for code in range(sys.maxunicode + 1) if is_known_to_both(code)]
    sources = (SCRIPTS, SCRIPTS, ODD, PUNCTUATION, "abc XYZ 019 ", every)
    word = lambda: "".join(draw.choice(draw.choice(sources)) for _ in range(draw.randint(0, 12)))  # noqa: E731
    part = lambda: draw.choice(WHOLE_WORDS) if draw.random() < 0.25 else word()  # noqa: E731
    return [draw.choice(["", " "]).join(part() for _ in range(draw.randint(0, 8)))
            for _ in range(count)]  # fmt: skip


@pytest.fixture(scope="module")
def vocabulary_folder(tmp_path_factory) -> Path:
    """A vocabulary that knows many characters, also inside words, and a model to go with it."""
    chars = sorted({c for text in (SCRIPTS, PUNCTUATION) for word in basic_tokens(text)
                    for c in word} | set("abcdefghijklmnopqrstuvwxyz0123456789"))  # fmt: skip
    tokens = [*WORDS, *chars, *(f"##{c}" for c in chars), "##ane", "cr", "北京"]
    tokens = list(dict.fromkeys(tokens))
    config = CONFIG.with_changes(vocab_size=len(tokens))
    weights = {name: w.astype(np.float32) for name, w in random_weights(config).items()}
    return write_folder(tmp_path_factory.mktemp("vocabulary") / "bert", config, weights, tokens)


def tokens_of(vocabulary: dict[str, int], text: str) -> list[str]:
    """The course's WordPiece by hand, which does not look for special tokens."""
    return [piece for word in basic_tokens(text) for piece in wordpieces(word, vocabulary)]


@pytest.mark.parametrize("seed", range(4))
def test_tokenize__equals_wordpiece_on_random_text_of_all_scripts(vocabulary_folder, seed):
    tokens = (vocabulary_folder / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    library = bert_tokenizer(tokens)
    by_hand = {token: number for number, token in enumerate(tokens)}
    many = random_texts(1500, seed)
    found = ask_node(folder=vocabulary_folder, tokenize=many)["tokens"]
    for text, pieces in zip(many, found, strict=True):
        if is_old(text):
            assert pieces == library.encode(text, add_special_tokens=False).tokens, ascii(text)
        if "[MASK]" not in text and "[SEP]" not in text:
            assert pieces == tokens_of(by_hand, text), ascii(text)


def test_tokenize__equals_wordpiece_on_every_character(vocabulary_folder):
    tokens = (vocabulary_folder / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    by_hand = {token: number for number, token in enumerate(tokens)}
    every = [f"a{chr(code)}b" for code in range(sys.maxunicode + 1) if is_known_to_both(code)]
    found = ask_node(folder=vocabulary_folder, tokenize=every)["tokens"]
    wrong = [ascii(text) for text, pieces in zip(every, found, strict=True)
             if pieces != tokens_of(by_hand, text)]  # fmt: skip
    assert not wrong, wrong[:20]


def test_tokenize__equals_the_tokenizer_of_the_demo(demo):
    told = [s.text for story in stories(60, split="heldout") for s in story.sentences]
    tokenizer = load_tokenizer(demo)
    found = ask_node(folder=demo, tokenize=told)["tokens"]
    assert found == [tokenizer.encode(text, add_special_tokens=False).tokens for text in told]


def test_text_in_capitals__stays_so_for_a_model_that_knows_them(vocabulary_folder):
    text = "Élan, The ß"
    found = ask_node(folder=vocabulary_folder, tokenize=[text], lowercase=False)["tokens"]
    tokens = (vocabulary_folder / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    by_hand = {token: number for number, token in enumerate(tokens)}
    expected = [p for w in basic_tokens(text, lowercase=False) for p in wordpieces(w, by_hand)]
    assert found == [expected]


# --- The rounded weights that the page loads ---

BLANKS, SEQ = 1000, 64
# Rounding moves the logits of the two likeliest words of a blank apart or together by at most about
# this; a blank at which the model itself sets them closer has two first answers.
TIE = 0.002


def words_by_numpy(config: BertConfig, weights: Weights, batch: dict) -> np.ndarray:
    """The logits of the masked words of a batch, (rows, vocab)."""
    bert = Bert(config, weights)
    output, _ = bert_forward(bert, batch)
    return mlm_head_forward(bert, output.states, batch["masked_lm_positions"])[0]


def test_the_rounded_weights__change_no_first_answer_of_1000_blanks(demo, tmp_path, read_rounded):
    """JavaScript answers the same from the same file, too."""
    config, tokenizer = BertConfig.load(demo), load_tokenizer(demo)
    weights, file = load_weights(demo, config), tmp_path / "rounded.safetensors"
    export_model.write_rounded(weights, file)
    assert file.stat().st_size < 0.53 * (demo / "model.safetensors").stat().st_size

    probes = [
        probe
        for story in stories(300, split="heldout")
        for probe in probes_of(story, tokenizer, wanted="settled_by", seq_length=SEQ)
        if len(probe.pieces) == 1
    ]
    chosen = [probes[i] for i in np.random.default_rng(0).permutation(len(probes))[:BLANKS]]
    assert len(chosen) == BLANKS
    batch = hidden(chosen, tokenizer, seq_length=SEQ)
    logits = words_by_numpy(config, weights, batch)
    answers = logits.argmax(axis=-1)
    right = (answers == batch["masked_lm_ids"][:, 0]).mean()
    assert right > 0.5, "the model has learned something, so the comparison means something"

    found = words_by_numpy(config, read_rounded(file), batch).argmax(axis=-1)
    second, first = np.sort(logits, axis=-1)[:, -2:].T
    is_tie = first - second < TIE
    assert (answers == found)[~is_tie].all()
    assert is_tie.sum() <= 10, "one or two are expected of a thousand"

    some = range(0, BLANKS, 10)
    blanks = [{"ids": chosen[i].input_ids, "types": chosen[i].token_type_ids,
               "position": chosen[i].pieces.start} for i in some]  # fmt: skip
    for blank in blanks:
        blank["ids"] = list(blank["ids"])
        blank["ids"][blank["position"]] = tokenizer.token_to_id("[MASK]")
    told = ask_node(folder=demo, blanks=blanks, weights=file)["answers"]
    assert all(is_tie[i] or answer == answers[i] for i, answer in zip(some, told, strict=True))
