"""Ways to get the capstone's functions wrong: `MISTAKES[function][what it is called]` is a function
that makes the mistake. The capstone's test puts it where the student's was.
"""

import numpy as np

from autograder.capstone.parts import (
    adam,
    attend,
    attend_back,
    clip,
    gelu,
    gelu_back,
    last_wins,
    layer,
    layer_back,
    norm,
    norm_back,
    rate,
    surprise,
    surprise_back,
    without_class_0,
)


def with_(function, **how):
    """The function, called with something more, or something else."""
    return lambda *args, **kwargs: function(*args, **{**kwargs, **how})


# Mistakes of a layer that no training shows, only large numbers.
ON_LARGE_NUMBERS = {
    "10,000 off the scores of padding is not enough: large scores still win": with_(layer, low=-1e4)
}
MISTAKES = {
    "layer_forward": {
        "there is no residual connection": with_(layer, around=0, about=0),
        "the residual around the attention is missing": with_(layer, around=0),
        "the residual around the feed-forward part is missing": with_(layer, about=0),
        "the residual of the feed-forward part is the layer's x, not what entered that part": with_(
            layer, about=0, input_again=1),
        "the norms come first (pre-LN): BERT's come last": with_(layer, pre=True),
        "query and key are exchanged": with_(layer, roles=("key", "query", "value")),
        "heads are cut without exchanging axes, which mixes the tokens": with_(layer, mixed=True),
        "heads is not used: there is one head": with_(layer, heads=1),
        "eps is not used": with_(layer, eps=1e-12),
        "eps is used in one of the two norms alone": with_(layer, last_eps=1e-12),
        "eps is used in one of the two norms alone: the second": lambda x, mask, w, **k: (
            layer(x, mask, w, **{**k, "eps": 1e-12, "last_eps": k["eps"]})),
        "the mask is not used": lambda x, mask, w, **k: layer(x, 0 * mask + 1, w, **k),
        "approximation is not used": with_(layer, approximation="none"),
        "there is no GELU": with_(layer, act=lambda x, form: x),
        "that is ReLU, not GELU": with_(layer, act=lambda x, form: np.maximum(x, 0)),
    },
    "layer_backward": {
        "the residuals are missing in the backward pass": with_(layer_back, around=0, about=0),
        "the residual around the attention is missing in the backward pass": with_(
            layer_back, around=0),
        "the residual around the feed-forward part is missing in the backward pass": with_(
            layer_back, about=0),
        "x gets the residual's gradient alone, none from query, key and value": with_(
            layer_back, through=0),
        "x gets no gradient from query and key, only from the value": with_(
            layer_back, used=("value",)),
        "the weight gradients are transposed: they are (out, in)": with_(
            layer_back, transposed=True),
        "the gradients of biases are means, not sums": with_(layer_back, collect=np.mean),
        "GELU is passed over in the backward pass": with_(
            layer_back, activation_back=lambda dout, x, form: dout),
        "heads is not used: there is one head": with_(layer_back, heads=1),
        "eps is not used": with_(layer_back, eps=1e-12),
        "the mask is not used": lambda d, x, mask, w, **k: layer_back(d, x, 0 * mask + 1, w, **k),
        "approximation is not used": with_(layer_back, approximation="none"),
    },
    "layer_norm_forward": {
        "the variance divides by hidden - 1": with_(norm, ddof=1),
        "eps stands outside the root": with_(norm, outside=True),
        "eps is not used": lambda x, w, b, eps: norm(x, w, b, 1e-12),
        "weight and bias are not used": lambda x, w, b, eps: norm(x, 0 * w + 1, 0 * b, eps),
    },
    "layer_norm_backward": {
        "only the direct path is there": with_(norm_back, shift=0, stretch=0),
        "the path through the variance is missing": with_(norm_back, stretch=0),
        "the path through the mean is missing": with_(norm_back, shift=0),
        "the weight is missing in dx": with_(norm_back, scale=False),
        "eps is not used": lambda d, x, w, eps: norm_back(d, x, w, 1e-12),
        "the gradients of weight and bias are means, not sums": with_(norm_back, collect=np.mean),
    },
    "gelu_forward": {
        "approximation is not used: it is always tanh": lambda x, form: gelu(x, "tanh"),
        "approximation is not used: it is always erf": lambda x, form: gelu(x, "none"),
        "erf(x) for erf(x / √2)": with_(gelu, width=1.0),
        "the cube is missing in the tanh": with_(gelu, cubic=0.0),
    },
    "gelu_backward": {
        "approximation is not used: it is always tanh": lambda d, x, f: gelu_back(d, x, "tanh"),
        "approximation is not used: it is always erf": lambda d, x, f: gelu_back(d, x, "none"),
        "the slope of the gate is missing: x stands in both factors": with_(gelu_back, both=False),
        "dout is not used": lambda d, x, f: gelu_back(np.ones_like(d), x, f),
    },
    "attention_forward": {
        "the scores are not scaled": with_(attend, power=0),
        "the scores are divided by head_dim, not by its root": with_(attend, power=-1),
        "the mask is not used": lambda q, k, v, mask: attend(q, k, v, 0 * mask + 1),
        "the mask is reversed": lambda q, k, v, mask: attend(q, k, v, 1 - mask),
        "softmax over the queries": with_(attend, axis=-2),
    },
    "attention_backward": {
        "the scale is missing in the backward pass": with_(attend_back, power=0),
        "the backward of softmax is missing": with_(attend_back, softmax=False),
        "dquery and dkey are exchanged": lambda *a: tuple(attend_back(*a)[i] for i in (1, 0, 2)),
    },
    "lookup_backward": {
        "dtable[ids] += dout keeps one gradient of a word that comes twice": last_wins,
    },
    "masked_cross_entropy_forward": {
        "the weights are not used": lambda x, y, w: surprise(x, y, np.ones_like(w)),
        "the sum is divided by all slots, not by the sum of the weights": lambda x, y, w: surprise(
            x, y, w, count=len(w)),
        "the sum of the weights is never less than 1": lambda x, y, w: surprise(
            x, y, w, count=max(1, w.sum())),
        "the sum is not divided": with_(surprise, count=1.0),
        "label 0 is taken for padding": lambda x, y, w: surprise(x, y, without_class_0(y, w)),
    },
    "masked_cross_entropy_backward": {
        "the weights are not used": lambda d, x, y, w: surprise_back(d, x, y, np.ones_like(w)),
        "the sum is divided by all slots, not by the sum of the weights": lambda d, x, y, w: (
            surprise_back(d, x, y, w, count=len(w))),
        "the sum of the weights is never less than 1": lambda d, x, y, w: (
            surprise_back(d, x, y, w, count=np.maximum(1, w.sum()))),
        "the sum is not divided": with_(surprise_back, count=1.0),
        "the sign is wrong: the gradient points downhill": lambda *a: -surprise_back(*a),
        "label 0 is taken for padding": lambda d, x, y, w: surprise_back(
            d, x, y, without_class_0(y, w)),
    },
    "learning_rate": {
        "the rate of the first step is 0": with_(rate, early=1),
        "there is no warm-up": with_(rate, rises=False),
        "there is no fall": with_(rate, falls=False),
        "the rate does not change": with_(rate, rises=False, falls=False),
    },
    "clip_gradients": {
        "each gradient is clipped by itself: the norm is that of all together": with_(
            clip, norm_of=lambda g, whole: float(np.linalg.norm(g))),
        "gradients below the limit are stretched to it": with_(clip, only_down=False),
        "the root is missing in the norm": with_(clip, power=1.0),
        "nothing is clipped": lambda g, most: (g, 0.0),
        "every number is clipped by itself": lambda g, most: (
            {n: np.clip(a, -most, most) for n, a in g.items()}, 0.0),
    },
    "adam_step": {
        "there is bias correction: BERT's Adam has none": with_(adam, correct=True),
        "eps stands inside the root": with_(adam, inside=True),
        "the decay is added to the gradient (L2)": with_(adam, l2=True),
        "biases and layer norms are decayed too": with_(adam, decayed=lambda name: True),
        "there is no weight decay": with_(adam, weight_decay=0.0),
        "the state of the step before is not used": with_(adam, forgets=True),
        "the gradient is followed uphill": with_(adam, sign=-1),
        "beta2 is not used": with_(adam, beta2=0.999),
    },
}  # fmt: skip
