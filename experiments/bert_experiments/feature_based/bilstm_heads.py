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
from bert_finetuning.checkpoint import InitialModel, init_from
from bert_finetuning.data.load import TaskData
from bert_finetuning.finetune import Finetuning
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import BertWithHead, HeadConfig, Task
from bert_finetuning.tasks.classification import BertForSequenceClassification
from bert_finetuning.tasks.question_answering import BertForQuestionAnswering, SpanLogits
from bert_run.config import BertConfig
from bert_run.device import choose_device, choose_precision
from bert_run.errors import UserError
from bert_run.weights import locate


class LstmForSequenceClassification(BertForSequenceClassification):
    """A text is what the BiLSTM has read from its two ends; there is no pooler."""

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, replace(head, pooling="mean"))
        self.lstm = BiLstm(config.hidden_size, config.hidden_size)

    def forward(
        self, input_ids: Int[Tensor, "batch seq"], token_type_ids: Int[Tensor, "batch seq"],
        attention_mask: Int[Tensor, "batch seq"],
    ) -> Float[Tensor, "batch labels"]:  # fmt: skip
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        text = self.lstm(states, attention_mask.sum(dim=1)).ends
        return self.classifier(self.dropout(text))


class LstmForQuestionAnswering(BertForQuestionAnswering):
    """Start and end of the answer, from the states of the BiLSTM."""

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head)
        self.lstm = BiLstm(config.hidden_size, config.hidden_size)

    def forward(
        self, input_ids: Int[Tensor, "batch seq"], token_type_ids: Int[Tensor, "batch seq"],
        attention_mask: Int[Tensor, "batch seq"],
    ) -> SpanLogits:  # fmt: skip
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        states = self.lstm(states, attention_mask.sum(dim=1)).states
        return SpanLogits(*self.qa_outputs(states).unbind(-1))


WITH_LSTM: dict[type[BertWithHead], type[BertWithHead]] = {
    BertForSequenceClassification: LstmForSequenceClassification,
    BertForQuestionAnswering: LstmForQuestionAnswering,
}


def start_with_bilstm(
    checkpoint: str, model_type: type[BertWithHead], head: HeadConfig, *, seed: int
) -> InitialModel:
    """What `init_from` gives, and a BiLSTM at its first values between encoder and head.

    These are torch's own for an LSTM: BERT's narrow normal would hold its gates half open.
    """
    if model_type not in WITH_LSTM:
        names = " and ".join(each.__name__ for each in WITH_LSTM)
        raise UserError(f"a BiLSTM goes on {names}, not on {model_type.__name__}")
    plain = init_from(checkpoint, model_type, replace(head, pooling="mean"), seed=seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = WITH_LSTM[model_type](plain.model.config, head)
    model.load_state_dict(plain.model.state_dict(), strict=False)  # all but the BiLSTM's
    return InitialModel(model, plain.tokenizer, f"{plain.note}, lstm")


def task_for(task: Task, checkpoint: str) -> Task:
    """The same task; texts are read by the mean of their tokens if the checkpoint reads from the
    left."""
    config = BertConfig.load(locate(checkpoint).folder, decoders=True)
    if config.is_decoder and task.model is BertForSequenceClassification:
        return replace(task, head=replace(task.head, pooling="mean"))
    return task


class OneRun(NamedTuple):
    """The scores at the best measurement on dev, and all of the deciding metric, in their order."""

    best: dict[str, float]
    course: list[float]


def finetune_one(
    data: TaskData, checkpoint: str, settings: FinetuneSettings, *, seed: int = 0,
    with_bilstm: bool = False,
) -> OneRun:  # fmt: skip
    """One run of `bert-finetune`, in memory; without the BiLSTM it is the row above in the table.

    Where `settings` name a task, files or a checkpoint, these do not count: `data` and `checkpoint`
    do.
    """
    task, device = task_for(data.task, checkpoint), choose_device(settings.device)
    begin = start_with_bilstm if with_bilstm else init_from
    initial = begin(checkpoint, task.model, task.head, seed=seed)
    precision = choose_precision(settings.precision, device)
    settings, data = replace(settings, seed=seed), replace(data, task=task)
    work = Finetuning(settings, data, initial=initial, device=device, precision=precision)
    run = work.seed_run(settings, seed)
    best = dict(run.run(f"{data.name}, seed {seed}").best)
    del best["step"]
    return OneRun(best, run.dev_scores)
