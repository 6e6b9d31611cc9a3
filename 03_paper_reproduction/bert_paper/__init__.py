"""BERT as in the paper: modules, the pretraining recipe, and the commands that use it."""

import os

# Two settings for computing on a CPU; both must be made before torch is loaded.
#
# Fresh memory costs as much as the arithmetic of a small model: large pages make it cheaper.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
# Threads that have finished their share should sleep, not spin. Spinning ones keep a busy machine's
# other programs, and so each other, from the cores: with one other program on two cores a step
# took six times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
