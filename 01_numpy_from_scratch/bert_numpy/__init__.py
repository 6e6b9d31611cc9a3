"""All of BERT in NumPy, every gradient by hand.

Read the files in this order; each uses only those before it.

normal.py      the normal distribution, which GELU needs and NumPy lacks
operations.py  linear, softmax, GELU, layer norm, dropout, …: each forward beside its backward
attention.py   scaled dot products under a mask, over many heads
encoder.py     what a layer is, and its backward: the same lines upside down
checks.py      weights and the batch, validated before the computing begins
model.py       embeddings, the stack, the two heads, both losses; every gradient in one call
masking.py     which tokens are hidden
differences.py numerical gradients, to check those of all this
optimizer.py   BERT's Adam, clipping
training.py    a step on all cores, the loop
pretrain.py    the command
"""

from bert_run.cpu import keep_freed_memory

keep_freed_memory()
