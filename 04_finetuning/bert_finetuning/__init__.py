"""BERT put to work: heads for labels, names, answers and choices, and what trains them.

    text ─► rows ─► examples ─► features ─► batches ─► head ─► predictions ─► metrics ─► report
            data/   tasks/      tasks/      train      tasks/  tasks/         metrics    finetune

`tasks/base.py` says what all task types share; each file beside it is one type, its head
included. The chapter's README lists the files in reading order.
"""

from bert_run.cpu import configure_cpu

configure_cpu()
