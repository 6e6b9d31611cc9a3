"""The last row of the paper's Table 5: a BiLSTM on the model that reads from the left.

    "In order to make a good faith attempt at strengthening the LTR system, we added a randomly
    initialized BiLSTM on top." (section 5.1)

It gives every token what stands on its right, as one layer of words already read; BERT lets both
sides meet in every layer. Everything learns, the encoder too, in the loop of `bert-finetune`:

    result = finetune_one(data, "runs/left_to_right", settings, with_bilstm=True)

Such a model is no class of `transformers`, so it is measured and not saved.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bert_experiments.feature_based.bilstm import BiLstm
from bert_finetuning.answering import logits_of
from bert_finetuning.folders import Start, start_from
from bert_finetuning.head_config import HeadConfig
from bert_finetuning.heads import (
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertWithHead,
    SpanLogits,
)
from bert_finetuning.kinds.base import Kind
from bert_finetuning.opening import few_of
from bert_finetuning.recipe import make_optimizer
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.starting import reading_length
from bert_finetuning.task_file import TaskData
from bert_finetuning.training import Lesson, train
from bert_run.config import BertConfig
from bert_run.device import choose_device, choose_precision
from bert_run.errors import UserError
from bert_run.hub import locate


class LstmForSequenceClassification(BertForSequenceClassification):
    """A text is what the BiLSTM has read from its two ends; there is no pooler."""

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, replace(head, pooling="mean"))
        self.lstm = BiLstm(config.hidden_size, config.hidden_size)

    def forward(
        self,
        input_ids: Int[Tensor, "batch seq"],
        token_type_ids: Int[Tensor, "batch seq"],
        attention_mask: Int[Tensor, "batch seq"],
    ) -> Float[Tensor, "batch labels"]:
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        text = self.lstm(states, attention_mask.sum(dim=1)).ends
        return self.classifier(self.dropout(text))


class LstmForQuestionAnswering(BertForQuestionAnswering):
    """Start and end of the answer, from the states of the BiLSTM."""

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head)
        self.lstm = BiLstm(config.hidden_size, config.hidden_size)

    def forward(
        self,
        input_ids: Int[Tensor, "batch seq"],
        token_type_ids: Int[Tensor, "batch seq"],
        attention_mask: Int[Tensor, "batch seq"],
    ) -> SpanLogits:
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        states = self.lstm(states, attention_mask.sum(dim=1)).states
        return SpanLogits(*self.qa_outputs(states).unbind(-1))


WITH_LSTM: dict[type[BertWithHead], type[BertWithHead]] = {
    BertForSequenceClassification: LstmForSequenceClassification,
    BertForQuestionAnswering: LstmForQuestionAnswering,
}


def start_with_bilstm(
    checkpoint: str, kind: type[BertWithHead], head: HeadConfig, *, seed: int
) -> Start:
    """What `start_from` gives, and a BiLSTM at its first values between encoder and head.

    These are torch's own for an LSTM: BERT's narrow normal would hold its gates half open.
    """
    if kind not in WITH_LSTM:
        names = " and ".join(each.__name__ for each in WITH_LSTM)
        raise UserError(f"a BiLSTM goes on {names}, not on {kind.__name__}")
    plain = start_from(checkpoint, kind, replace(head, pooling="mean"), seed=seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = WITH_LSTM[kind](plain.model.config, head)
    model.load_state_dict(plain.model.state_dict(), strict=False)  # all but the BiLSTM's
    return Start(model, plain.tokenizer, f"{plain.note}, lstm")


def kind_for(kind: Kind, checkpoint: str) -> Kind:
    """The same kind; texts are read by the mean of their tokens if the checkpoint reads from the
    left."""
    config = BertConfig.load(locate(checkpoint).folder, decoders=True)
    if config.is_decoder and kind.model is BertForSequenceClassification:
        return replace(kind, head=replace(kind.head, pooling="mean"))
    return kind


class OneRun(NamedTuple):
    """The scores at the best measurement on dev, and all of the deciding metric, in their order."""

    best: dict[str, float]
    course: list[float]


def finetune_one(
    data: TaskData,
    checkpoint: str,
    settings: FinetuneSettings,
    *,
    seed: int = 0,
    with_bilstm: bool = False,
) -> OneRun:
    """One run of `bert-finetune`, in memory; without the BiLSTM it is the row above in the table.

    Where `settings` name a task, files or a checkpoint, these do not count: `data` and `checkpoint`
    do.
    """
    kind, device = kind_for(data.kind, checkpoint), choose_device(settings.device)
    begin = start_with_bilstm if with_bilstm else start_from
    start = begin(checkpoint, kind.model, kind.head, seed=seed)
    model, precision = start.model.to(device), choose_precision(settings.precision, device)
    longest = reading_length(settings, kind, model.config)
    few = settings.few_shot
    learnt = data.train if few is None else few_of(data.train, few, seed=seed)
    readings = kind.read(learnt, start.tokenizer, max_length=longest)
    measured = kind.read(data.dev, start.tokenizer, max_length=longest)
    lesson = Lesson(kind, readings, settings, seed, model.config.pad_token_id)
    scores: list[dict[str, float]] = []

    def measure(step: int) -> str:
        logits = logits_of(model, kind, measured, precision=precision)
        scores.append(kind.score(data.dev, kind.predict(data.dev, measured, logits)))
        return f"{kind.metrics[0]} {100 * scores[-1][kind.metrics[0]]:.1f}"

    train(
        model,
        model,
        make_optimizer(model, settings),
        lesson,
        precision=precision,
        start=0,
        record=lambda entry: None,
        measure=measure,
        save=lambda step: None,
        title=f"{data.name}, seed {seed}",
    )
    course = [each[kind.metrics[0]] for each in scores]
    return OneRun(scores[course.index(max(course))], course)
