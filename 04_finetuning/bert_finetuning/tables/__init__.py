"""The paper's tables, completed: what they measure after fine-tuning, each one command.

    python -m bert_finetuning.tables --table 5

Tables 5, 6 and 8 and Figure 5 fine-tune the pretrained variants of `bert_paper.ablations`; Tables 1
to 4 and 7 one checkpoint. Read in this order: `settings`, `trials` (a fine-tuning run, done once
and kept), `columns` (which set of StoryWorld stands for which task of the paper), `ablated` (the
variants), `claims` (what the paper says of them), `features` (a BiLSTM on frozen vectors),
`measured` and `data` (Tables 1 to 4, and where their data are), `paper`, `reached`, `report`,
`pictures`.
"""
