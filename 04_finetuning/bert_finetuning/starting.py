"""Where a fine-tuning run starts: a checkpoint, a model of the Hub, or nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from bert_corpus.wordpiece import load_tokenizer, train_wordpiece
from bert_finetuning.folders import Start, start_from, start_from_nothing
from bert_finetuning.heads import BertForQuestionAnswering
from bert_finetuning.kinds.base import Kind
from bert_finetuning.recipe import with_dropout
from bert_finetuning.settings import FinetuneSettings
from bert_run.config import PRESETS, BertConfig
from bert_run.errors import UserError

VOCABULARY = 8192  # at most, where one is trained on the task's own text
MAX_LENGTH, MAX_LENGTH_OF_QUESTIONS = 128, 384  # the released code's, for GLUE and for SQuAD


class Beginning:
    """The same start for every seed; what is new in the model differs from seed to seed."""

    def __init__(self, settings: FinetuneSettings, kind: Kind, examples: Sequence) -> None:
        self.settings, self.kind = settings, kind
        self.tokenizer = self.own_tokenizer(examples) if settings.from_nothing else None

    def own_tokenizer(self, examples: Sequence) -> Tokenizer:
        """That of a model which has learnt nothing: the given one, or one trained on the task."""
        settings = self.settings
        if settings.tokenizer is not None:
            return load_tokenizer(settings.tokenizer)
        if settings.model not in PRESETS:
            return load_tokenizer(settings.model)
        texts = [text for example in examples for text in texts_in(example)]
        return train_wordpiece(texts, VOCABULARY, progress=False)

    def at(self, seed: int) -> Start:
        """The model before its first step, with the dropout that is asked for."""
        settings, kind = self.settings, self.kind
        if self.tokenizer is None:
            start = start_from(settings.checkpoint, kind.model, kind.head, seed=seed)
        else:
            config = PRESETS.get(settings.model) or BertConfig.load(Path(settings.model))
            start = start_from_nothing(
                config, self.tokenizer, kind.model, head=kind.head, seed=seed
            )
        return start._replace(model=with_dropout(start.model, settings))


def texts_in(example: Any) -> Iterator[str]:
    """Every text that an example holds; its labels are none."""
    for field in fields(example):
        value = getattr(example, field.name)
        if field.name in ("text", "pair", "question", "context") and value:
            yield value
        elif field.name in ("words", "endings", "sentences"):
            yield " ".join(value)


def reading_length(settings: FinetuneSettings, kind: Kind, config: BertConfig) -> int:
    """How many tokens are read at once."""
    most = config.max_position_embeddings
    if settings.max_length is not None and settings.max_length > most:
        raise UserError(
            f"--max-length {settings.max_length}: the model reads {most} tokens at most"
        )
    usual = MAX_LENGTH_OF_QUESTIONS if kind.model is BertForQuestionAnswering else MAX_LENGTH
    return settings.max_length or min(most, usual)
