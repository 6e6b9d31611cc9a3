"""Open a BERT folder: one of ours, any that `transformers` saved, or a model of the Hub."""

from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Encoding, Tokenizer

from bert_corpus.wordpiece import read_tokenizer
from bert_paper.model import BertForPreTraining, load_arrays
from bert_run.errors import UserError, shown
from bert_run.weights import locate, missing_heads, read_model


@dataclass(frozen=True)
class Pretrained:
    """A model in evaluation mode, its tokenizer, and the parts its file does not hold."""

    folder: Path
    model: BertForPreTraining
    tokenizer: Tokenizer
    missing: list[str]

    def require_mlm_head(self) -> None:
        """Raise `UserError` if the checkpoint came without the masked-language-model head."""
        if "masked-language-model" in self.missing:
            raise UserError(f"{self.folder} has no masked-language-model head, and filling a "
                            "blank needs one: it was saved from the encoder alone; take a "
                            "checkpoint of BertForPreTraining")  # fmt: skip

    def encode(self, *texts: str) -> Encoding:
        """The tokens of a text or a pair. A `UserError` if it is not UTF-8 or is too long, or for
        a pair where the model has no second segment."""
        check_text("".join(texts))
        if len(texts) > self.model.config.type_vocab_size:
            raise UserError(f"{self.folder}: its type_vocab_size is 1, and a pair of texts needs "
                            "2 segments: give single texts")  # fmt: skip
        encoding, most = self.tokenizer.encode(*texts), self.model.config.max_position_embeddings
        if len(encoding.ids) > most:
            raise UserError(f"{shown(' '.join(texts))} is {len(encoding.ids)} tokens long, the "
                            f"model reads at most {most}: shorten it")  # fmt: skip
        return encoding


def open_pretrained(checkpoint: str | Path, device: torch.device | str = "cpu") -> Pretrained:
    """Load config, weights and tokenizer of a folder, or of a model of the Hub. Raises `UserError`
    for a folder of no BERT, a damaged one, or one with another tokenizer."""
    folder = locate(checkpoint).folder
    config, weights = read_model(folder, decoders=True)
    tokenizer = read_tokenizer(folder, config)
    model = BertForPreTraining(config)
    load_arrays(model, weights)
    return Pretrained(folder, model.to(device).eval(), tokenizer, missing_heads(weights, config))


def check_text(text: str) -> None:
    """Refuse what the command line hands over of bytes that are not UTF-8: half a character."""
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UserError(f"the text {shown(text)} is not UTF-8: convert it, or type it anew")
