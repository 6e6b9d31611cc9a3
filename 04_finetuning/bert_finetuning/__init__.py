"""BERT put to work: heads for labels, names, answers and choices, and what trains them.

To be read in this order: `head_config` (what is asked), `heads` (four heads and their losses),
`folders` (start from a checkpoint, save, open), then the data: `examples`, `sources`, `rows`,
`reading`, `tagged`, `questions`, `tasks`, `storyworld_sets`; then `metrics`.
"""

from bert_run.cpu import configure_cpu

configure_cpu()
