"""BERT in low-level PyTorch: a dict of tensors, `F.linear`, autograd, any device.

Read the files in this order; each uses only those before it.

attention.py     scaled dot products under a mask, written out and through torch's kernel
model.py         embeddings, layers, the two heads, both losses; the way back is autograd's
looking.py       attention as pictures
masking.py       which tokens are hidden, drawn on the device
optimizer.py     BERT's Adam on the dict, clipping, the schedule; torch's own AdamW
device.py        where the tensors lie, and how many digits their products have
training.py      a step, whole or in parts; the loop
checks.py        a wrong tensor, named at the door
pretrain.py      the command
profile_step.py  where the time of a step goes
memory.py        what autograd keeps for the way back
bert_or_gpt.py   the same model with and without a view to the right
pooling.py       one vector for a text: [CLS], or the mean of all tokens
eight_birds.py   a town so small that the lowest loss can be worked out
what_mattered.py which head or word a model used: erase it, or ask the gradient
"""

from bert_run.cpu import settle_cpu

settle_cpu()
