"""A uniform sample of each class's rows, of fixed size (reservoir sampling), for learners that compare pairs."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, field, flag, fragment, integer, scratch
from driftway.learners.numeric.random import Words, randint


class Pairing(Parameters):
    """Parameters of learners that compare pairs, beside C."""

    buffer: int = integer(100, "B, the rows sampled of each class.", at_least=1)
    reweight: bool = flag(
        False,
        "Let a sample weigh as much as all rows that it stands for, c_t = N / B; then steps grow with the stream.",
    )
    seed: int = integer(1, "Of the generator that samples.", at_least=0, at_most=2**53)


class Samples(NamedTuple):
    """Memory of learners that compare pairs: the weights, and what is known of both classes. Class 0 comes first."""

    weight: Array = field("f8[d]", "zero until both classes were seen")
    classes: Counts = field("i8[2]", "rows counted of class 0 and of class 1")
    mean: Array = field("f8[2, d]", "c, per class")
    sample: Array = field("f8[2, B, d]", "rows of each class")
    generator: Words = field("u8[4]", "of the random numbers")
    skipped: Counts = field("i8[1]", "labelled rows whose mean, or some of whose steps, would have overflowed")
    pull: Array = scratch("f8[d]", "of `oam_gra`, the sum of x - x' over the pairs that pull")


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
def pair_weight(p: Any, size: int, seen: int) -> float:
    """C c_t / B: what one pair may weigh; c_t = seen / B with `reweight`, so that a sample stands for all its class."""
    if p.reweight:
        return p.C * max(1.0, seen / size) / size
    return p.C / size
