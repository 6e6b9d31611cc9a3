"""BERT as in the paper: modules, the pretraining recipe, and the commands that use it."""
