"""Names rewritten in place of a dict of their own; counting by summing products in NumPy."""

import functools
import re

import numpy as np


def count_parameters(config):
    sizes = [functools.reduce(int.__mul__, shape, 1) for shape in parameter_shapes(config).values()]
    return int(np.sum(sizes))


def common_name(name):
    parts = re.split(r"[./]", name)
    if "/" in name:
        parts = [piece for i, part in enumerate(parts) for piece in (
            part.split("_") if re.fullmatch(r"layer_\d+", part) and 0 < i < len(parts) - 1
            else [part])]  # fmt: skip
    while parts[0] in ("module", "_orig_mod"):
        del parts[0]
    if parts[0] in ("embeddings", "encoder", "pooler"):
        parts = ["bert", *parts]
    *owner, last = parts
    if owner and owner[-1] == "LayerNorm" and last in ("gamma", "beta"):
        last = {"gamma": "weight", "beta": "bias"}[last]
    if owner and last in ("kernel", "output_weights", "output_bias"):
        last = "bias" if last == "output_bias" else "weight"
    if last.endswith("_embeddings"):
        owner, last = [*owner, last], "weight"
    if [*owner, last] == ["cls", "predictions", "decoder", "bias"]:
        owner.pop()
    return ".".join([*owner, last])
