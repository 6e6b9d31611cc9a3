"""MNLI has two sets to be measured on; both are asked of one fine-tuned model."""

from pathlib import Path

from bert_finetuning.answering import logits_of
from bert_finetuning.folders import open_finetuned
from bert_finetuning.opening import open_named
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.starting import reading_length
from bert_run.device import choose_device, choose_precision


def mismatched_accuracy(settings: FinetuneSettings, folder: Path) -> float:
    """Of a model that has learnt MNLI, on kinds of text that train has not."""
    device = choose_device(settings.device)
    data = open_named("mnli-mm", settings.data)
    opened = open_finetuned(folder, data.kind.model, device=device)
    longest = reading_length(settings, data.kind, opened.model.config)
    readings = data.kind.read(data.dev, opened.tokenizer, max_length=longest)
    precision = choose_precision(settings.precision, device)
    logits = logits_of(opened.model, data.kind, readings, precision=precision)
    return data.kind.score(data.dev, data.kind.predict(data.dev, readings, logits))["accuracy"]
