"""Fine-tuning that leaves no files: what the notebooks of this chapter learn with.

learnt = learn(open_named("sentiment"), settings)      the loop of `bert-finetune`
learnt.scores["accuracy"]
learnt.answers([TextExample("The food was delicious.")])
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer

from bert_finetuning.answering import logits_of
from bert_finetuning.heads import BertWithHead
from bert_finetuning.kinds.base import Kind
from bert_finetuning.opening import few_of
from bert_finetuning.recipe import freeze, make_optimizer
from bert_finetuning.seed_run import Exam
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.starting import Beginning, reading_length
from bert_finetuning.task_file import TaskData
from bert_finetuning.training import Lesson, train
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_run.metrics import Record


@dataclass(frozen=True)
class Learnt:
    """The model after its last step, what it says of dev, and what was noted on the way."""

    model: BertWithHead
    tokenizer: Tokenizer
    kind: Kind  # of questions without an answer, with the threshold that is best on dev
    max_length: int
    predictions: list
    scores: dict[str, float]
    records: list[Record]  # those of training have `train_loss`, those on dev `dev_…`

    def line(self, key: str) -> tuple[list[float], list[float]]:
        """The steps at which something was noted, and its values: what a curve is drawn from."""
        points = [(record["step"], record[key]) for record in self.records if key in record]
        steps, values = zip(*points, strict=True)
        return list(steps), list(values)

    def answers(self, examples: Sequence) -> list:
        """What the model says of other examples; they need no labels."""
        readings = self.kind.read(examples, self.tokenizer, max_length=self.max_length)
        return self.kind.predict(examples, readings, logits_of(self.model, self.kind, readings))


def learn(
    data: TaskData, settings: FinetuneSettings, *, seed: int = 0, progress: bool = False
) -> Learnt:
    """Start as `settings` say, learn from train (or the few that the seed draws), measure on dev.

    On the CPU, as a function of its arguments.
    """
    kind, train_examples = data.kind, data.train
    if settings.few_shot is not None:
        train_examples = few_of(train_examples, settings.few_shot, seed=seed)
    start = Beginning(settings, kind, train_examples).at(seed)
    max_length = reading_length(settings, kind, start.model.config)
    model, tokenizer = start.model, start.tokenizer
    readings = kind.read(train_examples, tokenizer, max_length=max_length)
    exam = Exam(kind, data.dev, kind.read(data.dev, tokenizer, max_length=max_length))
    use_cpu_kernels(model.bert)
    freeze(model, settings.freeze)
    records: list[Record] = []
    said: list = []

    def measure(step: int) -> str:
        said[:] = exam.decided(logits_of(model, kind, exam.readings))
        scores = said[0].score(exam.examples, said[1])
        records.append({"step": step, **{f"dev_{name}": value for name, value in scores.items()}})
        return f"{kind.metrics[0]} {100 * scores[kind.metrics[0]]:.1f}"

    train(
        model,
        model,
        make_optimizer(model, settings),
        Lesson(kind, readings, settings, seed, model.config.pad_token_id),
        precision=torch.float32,
        start=0,
        record=records.append,
        measure=measure,
        save=lambda step: None,
        progress=progress,
    )
    model.eval()
    decided, predictions = said
    scores = decided.score(exam.examples, predictions)
    return Learnt(model, tokenizer, decided, max_length, predictions, scores, records)
