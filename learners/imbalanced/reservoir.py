"""A uniform sample of each class's rows, of fixed size (reservoir sampling), for learners that compare pairs."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, field, flag, fragment, integer, scratch
from driftway.learners.numeric.random import Words, randint


class PairwiseParameters(Parameters):
    """Parameters of learners that compare pairs, except C."""

    buffer: int = integer(100, "B, number of rows sampled from each class.", at_least=1)
    reweight: bool = flag(
        False,
        "Give a sample the weight of all rows that it stands for, c_t = N / B; then steps grow with the stream.",
    )
    seed: int = integer(1, "Seed of the sampling.", at_least=0, at_most=2**53)


class ReservoirState(NamedTuple):
    """State of learners that compare pairs: weights, class statistics and samples. Class 0 comes first."""

    weight: Array = field("f8[d]", "zero until both classes were seen")
    classes: Counts = field("i8[2]", "rows counted of class 0 and of class 1")
    mean: Array = field("f8[2, d]", "c, per class")
    sample: Array = field("f8[2, B, d]", "rows of each class")
    generator: Words = field("u8[4]", "of the random numbers")
    skipped: Counts = field("i8[1]", "labelled rows whose mean, or some of whose steps, would have overflowed")
    pull: Array = scratch("f8[d]", "of `oam_gra`, the sum of x - x' over the pairs that pull")


@fragment
def offer(x: Array, i: int, sample: Array, generator: Words) -> None:
    """Add the i-th row of a class to its sample with the probability that makes all rows so far equally likely.

    Shapes: x f8[d], sample f8[B, d], generator u8[4].
    """
    size = sample.shape[0]
    slot = i - 1 if i <= size else randint(generator, i)
    if slot < size:
        for j in range(x.shape[0]):
            sample[slot, j] = x[j]


@fragment
def pair_weight(p: Any, size: int, seen: int) -> float:
    """C c_t / B, the weight of one pair; with `reweight` c_t = seen / B, so that it stands for its whole class."""
    if p.reweight:
        return p.C * max(1.0, seen / size) / size
    return p.C / size
