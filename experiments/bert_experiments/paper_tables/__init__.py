"""The paper's tables, completed: what they measure after fine-tuning, each one command.

    python -m bert_experiments.paper_tables --table 5

Tables 5, 6 and 8 and Figure 5 fine-tune the pretrained variants of `bert_experiments.ablations`;
Tables 1 to 4 and 7 one checkpoint. Read in this order: `settings`, `columns` (which set of
StoryWorld stands for which task of the paper, and the paper's figures), `trials` (a run, done once
and kept), `ablated` (the variants) with `claims`, `one_checkpoint` (Tables 1 to 4), `table_7`.
"""
