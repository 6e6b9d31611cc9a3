"""The paper's tables, completed: what they measure after fine-tuning, each one command.

    python -m bert_experiments.paper_tables --table 5

Tables 5, 6 and 8 and Figure 5 fine-tune the pretrained variants of `bert_experiments.ablations`;
Tables 1 to 4 and 7 one checkpoint. Read in this order: `settings`, `trials` (a run, done once and
kept), `columns` (which set of StoryWorld stands for which task of the paper), `features` (a BiLSTM
on frozen vectors), `ablated` (the variants), `claims` (what the paper says of them); then
`one_checkpoint`, `data` (where files of real tasks lie), `paper`, `reached`, `table_7`; then
`report`, `ablated_page`, `checkpoint_page`, `pictures`.
"""
