"""BERT as in the paper: modules, the pretraining recipe, and the commands that use it."""

from bert_run.cpu import configure_cpu

configure_cpu()
