"""BERT put to work: heads for labels, names, answers and choices, and what trains them.

    text ─► rows ─► examples ─► features ─► batches ─► head ─► predictions ─► metrics ─► report
            data/   tasks/      features    train      heads   tasks/         metrics    report

`tasks/base.py` says what a task type knows; each file beside it is one type, top to bottom. The
chapter's README lists the files in reading order.
"""

from bert_run.cpu import configure_cpu

configure_cpu()
