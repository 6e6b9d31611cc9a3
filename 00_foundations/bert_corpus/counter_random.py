"""Random numbers without a state: each is a function of a key and of where it is used.

A generator that is advanced ties every draw to all draws before it. Here draw number d of example
i under seed s is a hash of (s, i, d), so any example can be made at any time, on any machine, in
any order, and comes out the same.

The hash is the finaliser of SplitMix64 (Steele, Lea and Flood 2014, figure 16), whose output
passes the BigCrush battery when the input merely counts.
"""

import numpy as np
from jaxtyping import Float64, Int64, UInt64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio, made odd


def mix(x: UInt64[np.ndarray, "*shape"]) -> UInt64[np.ndarray, "*shape"]:
    """Scatter 64-bit integers: each input bit changes about half of the output bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(
    seed: int, index: Int64[np.ndarray, "batch"], draws: int, *, stream: int = 0
) -> UInt64[np.ndarray, "batch {draws}"]:
    """`draws` random 64-bit integers for each index; another `stream` gives others."""
    key = mix(np.array([(seed * 0x10001 + stream) & (2**64 - 1)], np.uint64) * GOLDEN + GOLDEN)
    row = mix(index.astype(np.uint64) * GOLDEN + key)  # (batch,)
    column = np.arange(1, draws + 1, dtype=np.uint64) * GOLDEN  # (draws,)
    return mix(row[:, None] + column)


def uniforms(
    seed: int, index: Int64[np.ndarray, "batch"], draws: int, *, stream: int = 0
) -> Float64[np.ndarray, "batch {draws}"]:
    """`draws` numbers uniform in [0, 1) for each index, with the full 53 bits of a float64."""
    return (random_bits(seed, index, draws, stream=stream) >> np.uint64(11)) * 2.0**-53


def permute(
    position: Int64[np.ndarray, "batch"], size: int, *, seed: int, turn: Int64[np.ndarray, "batch"]
) -> Int64[np.ndarray, "batch"]:
    """Where shuffle number `turn` of `size` things puts each position: a bijection of 0 … size-1.

    A Feistel network of four rounds permutes the next power of four; positions that land outside
    `size` are sent through again until they fall inside ("cycle walking", Black and Rogaway 2002),
    so a shuffle of billions needs no table.
    """
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    keys = random_bits(seed, turn, 4, stream=1)  # (batch, rounds)
    out, todo = position.astype(np.uint64), np.arange(len(position))
    while len(todo):
        left, right = out[todo] >> half, out[todo] & mask
        for key in keys[todo].T:
            left, right = right, left ^ (mix(right * GOLDEN + key) & mask)
        out[todo] = (left << half) | right
        todo = todo[out[todo] >= size]
    return out.astype(np.int64)
