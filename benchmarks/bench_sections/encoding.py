"""Section 2: sentences a second of `bert-encode` and its peers, from texts to vectors.

The model has the sizes of MiniLM (6 layers of 384), its weights are random; so are the texts, of 8
to 128 tokens, any number as likely.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bench_sections.children import WARM_UP, Contestant, measure_group
from bench_sections.saved import Saved
from bert_corpus import storyworld
from bert_corpus.wordpiece import save_tokenizer, train_wordpiece, vocabulary_of
from bert_run.config import BertConfig, initial_weights
from bert_run.training_loop import progress_bar
from bert_run.weights import save_weights

SECTION = "encoding"
NAMES = ("transformers, padded", "bert-encode", "transformers, sorted",
         "nn.TransformerEncoder, padded")  # fmt: skip
BF16 = ("transformers, padded", "bert-encode", "transformers, sorted")  # measured so too
SHORTEST, LONGEST = 8, 128  # tokens, [CLS] and [SEP] counted
STORIES = 400


def minilm(vocab_size: int) -> BertConfig:
    return BertConfig(vocab_size=vocab_size, hidden_size=384, num_hidden_layers=6,
                      num_attention_heads=12, intermediate_size=1536)  # fmt: skip


def random_texts(count: int, tokenizer: Tokenizer) -> list[str]:
    """Of words that are one token each, so that a text has exactly the length that is drawn."""
    generator = np.random.default_rng(0)
    words = np.array([entry for entry in vocabulary_of(tokenizer) if entry.isalpha()])
    lengths = generator.integers(SHORTEST, LONGEST + 1, count) - 2
    return [" ".join(generator.choice(words, length)) for length in lengths]


def write_folder(folder: Path, *, quick: bool) -> int:
    """A BERT folder and texts.json; returns how many tokens the texts have."""
    stories = storyworld.stories(STORIES, seed=0, split="train")
    sentences = [sentence.text for story in stories for sentence in story.sentences]
    tokenizer = train_wordpiece(sentences, 4096)
    save_tokenizer(tokenizer, folder)
    config = minilm(tokenizer.get_vocab_size())
    if quick:
        config = config.with_changes(num_hidden_layers=1, hidden_size=48, intermediate_size=96)
    config.save(folder)
    save_weights(initial_weights(config, 0), folder / "model.safetensors")
    texts = random_texts(40 if quick else 256, tokenizer)
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return sum(len(tokenizer.encode(text).ids) for text in texts)


def measure(*, quick: bool, rounds: int) -> dict:
    contestants = [Contestant(name, name) for name in NAMES]
    contestants += [Contestant(f"{name}, bf16", name, {"precision": "bf16"}) for name in BF16]
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        progress_bar(len(contestants) * (rounds + WARM_UP), "encoding", unit="turn") as bar,
    ):
        folder = Path(name)
        tokens = write_folder(folder, quick=quick)
        found = measure_group(contestants, folder, rounds=rounds, tick=lambda _: bar.update())
        texts = len(json.loads((folder / "texts.json").read_text(encoding="utf-8")))
    return {"texts": texts, "tokens": tokens, "contestants": found}


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    saved.measured(SECTION, "minilm", lambda: measure(quick=saved.quick, rounds=rounds))
