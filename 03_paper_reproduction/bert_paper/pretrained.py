"""Open a BERT folder: one of ours, any that `transformers` saved, or a model of the Hub.

A checkpoint may hold more or fewer parts than BERT before fine-tuning has, so each is named.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from tokenizers import Tokenizer

from bert_corpus.wordpiece import load_tokenizer
from bert_paper.model import BertForPreTraining, load_arrays
from bert_run.config import HEAD_NAMES, BertConfig, Weights, parameter_shapes
from bert_run.errors import UserError, shown
from bert_run.weights import common_name, load_weights, locate, missing_heads, weight_files

PADDED_VOCABULARY = 128  # some checkpoints round the matrix up for the hardware's sake
EMBEDDINGS, DECODER = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
PREFIXES = {"pooler": "bert.pooler.", **{words: prefix for prefix, words in HEAD_NAMES.items()}}


@dataclass(frozen=True)
class Pretrained:
    """A model in evaluation mode, its tokenizer, and the parts its file does not hold."""

    folder: Path
    model: BertForPreTraining
    tokenizer: Tokenizer
    missing: list[str]

    def require(self, part: str, why: str) -> None:
        """Raise `UserError` if the checkpoint came without `part`."""
        if part in self.missing:
            raise UserError(
                f"{self.folder} has no {part} head, and {why} needs one: it was saved from the "
                "encoder alone; take a checkpoint of BertForPreTraining"
                if part != "pooler"
                else f"{self.folder} has no pooler, and {why} needs one"
            )


def open_pretrained(checkpoint: str | Path, device: torch.device | str = "cpu") -> Pretrained:
    """Load config, weights and tokenizer of a folder, or of a Hub model such as
    `google-bert/bert-base-uncased`.

    Parts that the file lacks are named in `missing`, never invented silently: whoever uses one
    calls `require` first. Raises `UserError` if this is no BERT folder, is damaged, or holds a
    tokenizer of another vocabulary.
    """
    folder = locate(checkpoint).folder
    config, weights = read_model(folder, decoders=True)
    tokenizer = read_tokenizer(folder, config)
    model = BertForPreTraining(config)
    load_arrays(model, weights)
    return Pretrained(folder, model.to(device).eval(), tokenizer, missing_heads(weights, config))


def read_model(folder: Path, *, decoders: bool = False) -> tuple[BertConfig, Weights]:
    """The config and the weights of a BERT folder, checked against each other."""
    config = BertConfig.load(folder, decoders=decoders)
    weights = load_weights(folder, config)
    for path in weight_files(folder):
        with safe_open(path, framework="pt") as file:
            decoder = file.get_tensor(DECODER).float() if DECODER in file.keys() else None  # noqa: SIM118
        if decoder is not None and not torch.equal(decoder, torch.from_numpy(weights[EMBEDDINGS])):
            raise UserError(
                f"{folder}: its masked-language-model head has an output matrix of its own, where "
                "BERT's is that of the word embeddings: this model cannot be opened"
            )
    return config, weights


def read_tokenizer(folder: Path, config: BertConfig) -> Tokenizer:
    """The tokenizer of a BERT folder, whose entries the model must have rows for."""
    tokenizer = load_tokenizer(folder)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    words = tokenizer.get_vocab_size()
    if not words <= config.vocab_size < words + PADDED_VOCABULARY:
        raise UserError(
            f"{folder}: the tokenizer has {words} entries and the model {config.vocab_size}: "
            "they belong to different checkpoints"
        )
    return tokenizer


def check_text(text: str) -> None:
    """Refuse what the command line hands over of bytes that are not UTF-8: half a character."""
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UserError(f"the text {shown(text)} is not UTF-8: convert it, or type it anew")


def check_length(ids: list[int], text: str, config: BertConfig) -> None:
    """Refuse a text that the model has no positions for."""
    if len(ids) > config.max_position_embeddings:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise UserError(
            f'"{shown}" is {len(ids)} tokens long, the model reads at most '
            f"{config.max_position_embeddings}: shorten it"
        )


# The parts of a checkpoint.


@dataclass(frozen=True)
class Form:
    """A class of `transformers`, and the parts that it has beside the encoder."""

    architecture: str
    parts: tuple[str, ...]
    pipeline_tag: str = "fill-mask"


FORMS = {
    "pretraining": Form("BertForPreTraining", tuple(PREFIXES)),
    "masked-lm": Form("BertForMaskedLM", ("masked-language-model",)),
    "encoder": Form("BertModel", ("pooler",), "feature-extraction"),
}


def left_out(folder: Path, config: BertConfig, form: Form) -> list[str]:
    """Parts that the source has and the form has no place for, such as a classifier."""
    shapes, found = parameter_shapes(config), set()
    for path in weight_files(folder):
        with safe_open(path, framework="np") as file:
            names = [common_name(name) for name in file.keys()]  # noqa: SIM118
        for name in names:
            part = next(
                (words for words, start in PREFIXES.items() if name.startswith(start)), None
            )
            if part is not None:
                found.add(part)
            elif name not in shapes and not name.endswith("position_ids"):
                found.add(name if name.startswith("bert.") else name.split(".")[0])
    return sorted(found - set(form.parts))


def in_words(parts: list[str]) -> str:
    words = [f"{part} head" if part in HEAD_NAMES.values() else part for part in parts[:4]]
    return ", ".join(words) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")
