"""The paper's ablations at a small scale: Tables 5, 6 and 8 and Figure 5, each one command.

    python -m bert_experiments.ablations --table 5

Read in this order: `variants` (what is trained, once for all tables), `features` and `measure` (how
a model is asked), `paper` (its own figures), `tables` (columns and claims), `pages`.

To add columns that need more than pretraining, take the runs from here: `variants_of("5")` are the
settings of each row by its name; `run_of(variant, seed=0, out=Path("runs/ablations"))` is one run
of it, in the folder that `run_folder` names; `trained(runs_of(variants, seeds=3, out=…))` yields
every run once it is there, training only what is missing;
`bert_experiments.report.models.open_either` opens its model, whichever way it reads.
"""
