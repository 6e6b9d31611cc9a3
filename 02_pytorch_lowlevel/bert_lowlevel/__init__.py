"""BERT in low-level PyTorch: a dict of tensors, `F.linear`, autograd, any device."""
