"""Random numbers for kernels: xoshiro256** with a state of four words in the learner's buffer.

There is no global generator and no cache: the state array is everything, so a snapshot contains it and a copy of it
continues identically. Draws other than the raw words are derived from `uniform`.
docs/algorithms/conventions.md#random-numbers.
"""

import math

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.engine.state import Array
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.elementary.trigonometric import cos

Words = NDArray[np.uint64]

# Every constant is typed: in numba an int combined with a u8 silently becomes a float.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
FIVE, NINE = np.uint64(5), np.uint64(9)
SHIFT_7, SHIFT_11, SHIFT_17, SHIFT_27 = np.uint64(7), np.uint64(11), np.uint64(17), np.uint64(27)
SHIFT_30, SHIFT_31, SHIFT_45 = np.uint64(30), np.uint64(31), np.uint64(45)
WORD = np.uint64(64)
ULP = 2.0**-53


@kernel
def seed(state: Words, value: np.uint64) -> None:
    """Fill `state` with four splitmix64 outputs seeded by `value`. Shapes: state u8[4]."""
    walk = np.uint64(value)
    for i in range(4):
        walk += GOLDEN
        state[i] = mixed_bits(walk)


@fragment
def mixed_bits(word: np.uint64) -> np.uint64:
    """Mix the bits of a word, as splitmix64 does: different words give different ones, each bit half the time."""
    z = (word ^ (word >> SHIFT_30)) * MIX_1
    z = (z ^ (z >> SHIFT_27)) * MIX_2
    return np.uint64(z ^ (z >> SHIFT_31))


@kernel
def rotate(x: np.uint64, by: np.uint64) -> np.uint64:
    """`x` with its bits rotated to the left."""
    return (x << by) | (x >> (WORD - by))


@kernel
def next_u64(state: Words) -> np.uint64:
    """64 random bits (xoshiro256**, Blackman and Vigna). Shapes: state u8[4]."""
    result = rotate(state[1] * FIVE, SHIFT_7) * NINE
    mixed = state[1] << SHIFT_17
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= mixed
    state[3] = rotate(state[3], SHIFT_45)
    return result


@kernel
def uniform(state: Words) -> float:
    """A float in [0, 1) with 53 random bits. Shapes: state u8[4]."""
    return float(next_u64(state) >> SHIFT_11) * ULP


@kernel
def normal(state: Words) -> float:
    """A standard normal by Box and Muller; the second value is discarded, as keeping it would be hidden state."""
    u1 = max(uniform(state), ULP)
    u2 = uniform(state)
    return math.sqrt(-2.0 * log(u1)) * cos(2.0 * math.pi * u2)


@kernel
def randint(state: Words, n: int) -> int:
    """An integer in 0..n-1. Shapes: state u8[4]."""
    return min(int(uniform(state) * n), n - 1)


@kernel
def poisson(state: Words, mean: float) -> int:
    """A Poisson count by Knuth's product of uniforms, for mean <= 30; a larger mean would underflow."""
    limit = exp(-mean)
    count = 0
    product = uniform(state)
    while product > limit:
        count += 1
        product *= uniform(state)
    return count


@kernel
def permute(state: Words, items: Array) -> None:
    """Shuffle `items` in place (Fisher-Yates from the end). Shapes: state u8[4], items [n]."""
    for i in range(items.shape[0] - 1, 0, -1):
        j = randint(state, i + 1)
        kept = items[i]
        items[i] = items[j]
        items[j] = kept
