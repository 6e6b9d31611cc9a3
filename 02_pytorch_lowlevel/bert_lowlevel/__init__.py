"""BERT in low-level PyTorch: a dict of tensors, `F.linear`, autograd, any device.

Read the files in this order; each uses only those before it.

attention.py     scaled dot products under a mask, written out and through torch's kernel
model.py         embeddings, layers, the two heads, both losses; the backward pass is autograd's
masking.py       which tokens are hidden, drawn on the device
optimizer.py     BERT's Adam on the dict, clipping; torch's own AdamW
training.py      a step, whole or in parts; the loop
checks.py        weights and the batch, validated before training begins
pretrain.py      the command
"""

from bert_run.cpu import configure_cpu

configure_cpu()
