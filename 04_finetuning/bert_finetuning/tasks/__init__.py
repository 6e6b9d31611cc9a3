"""The task types, one a file. A new one is one more line here."""

from bert_finetuning.tasks.base import BertWithHead, Task
from bert_finetuning.tasks.classification import Classification, Regression
from bert_finetuning.tasks.multiple_choice import MultipleChoice
from bert_finetuning.tasks.question_answering import QuestionAnswering
from bert_finetuning.tasks.tagging import Tagging

TASKS: dict[str, type[Task]] = {
    task.format: task
    for task in (Classification, Regression, Tagging, QuestionAnswering, MultipleChoice)
}  # by the names that saved folders and --format have for them
# By the names that `transformers` has for them.
HEADS: dict[str, type[BertWithHead]] = {task.model.__name__: task.model for task in TASKS.values()}
