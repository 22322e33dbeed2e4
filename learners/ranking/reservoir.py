"""A uniform sample of each class's rows, of fixed size (reservoir sampling), for learners that compare pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

from learners.jit import fragment
from learners.parameters import flag, integer
from learners.random import Words, randint
from learners.state import Array, Fields


def buffer() -> Any:
    """B."""
    return integer(100, "B, the rows sampled of each class.", at_least=1)


def reweighting() -> Any:
    """Whether c_t = N / B rather than 1."""
    text = "Let a sample weigh as much as all rows that it stands for, c_t = N / B; then steps grow with the stream."
    return flag(False, text)


def sampling_seed() -> Any:
    """Where the sampler's random numbers begin."""
    return integer(1, "Of the generator that samples.", at_least=0, at_most=2**53)


class Pairing(NamedTuple):
    """Parameters of learners that compare pairs."""

    C: float
    reweight: bool
    """Whether a sample weighs as much as all rows that it stands for."""


def sampled_fields(size: int, width: int) -> Fields:
    """The weights, what is known of both classes, and `size` rows of each. Class 0 comes first."""
    return {
        "weight": ("f8", (width,)),
        "classes": ("i8", (2,)),
        "mean": ("f8", (2, width)),
        "sample": ("f8", (2, size, width)),
        "generator": ("u8", (4,)),
        "skipped": ("i8", (1,)),
    }


@fragment
def offer(x: Array, i: int, sample: Array, generator: Words) -> None:
    """Take the i-th row of a class into its sample, with the chance that keeps every row so far equally likely.

    Shapes: x f8[d], sample f8[B, d], generator u8[4].
    """
    size = sample.shape[0]
    slot = i - 1 if i <= size else randint(generator, i)
    if slot < size:
        for j in range(x.shape[0]):
            sample[slot, j] = x[j]


@fragment
def pair_weight(p: Pairing, size: int, seen: int) -> float:
    """C c_t / B: what one pair may weigh; c_t = seen / B with `reweight`, so that a sample stands for all its class."""
    if p.reweight:
        return p.C * max(1.0, seen / size) / size
    return p.C / size
