"""Recursive least squares on wide rows: columns in blocks, each with its own P, and one error for all of them.

Within a block it is `dfop`; correlations between columns of different blocks are left out of P, so that time and memory
are O(d) times the width of a block. A row that fits in one block gives plain recursive least squares.

Targets are in deviations, whose scale changes with every target. While there are not many more rows than columns, these
changes would act like noise, and errors would double. So weights follow the scale: the forecast is the same before and
after.
"""

from typing import NamedTuple

from driftway.learners.auto.bounds import bounded
from driftway.learners.auto.least_squares import P_MAX
from driftway.learners.auto.target_history import LARGEST
from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch
from driftway.learners.least_squares.recursion import LeastSquares, absorb
from driftway.learners.numeric.symmetric import matvec
from driftway.learners.numeric.vectors import dot

NAME = "level_1000"
KEEP = 0.999
"""Forgetting factor."""
ENTRIES = 45_000
"""Numbers in all P together, about: 212 columns are one block, 500 are six of 85."""
OPEN = 100.0
"""P of the last target's weight at the start; of the others it is 1. So it is known after a few rows, not after d."""


class Blocks(NamedTuple):
    """Memory of least squares in g blocks of h columns; the last block is filled up with zeros."""

    weight: Array = field("f8[g, h]", "weights")
    P: Array = field("f8[g, h, h]", "their P; bitwise symmetric")
    x: Array = scratch("f8[g, h]", "the row")
    k: Array = scratch("f8[g, h]", "P x of each block")
    v: Array = scratch("f8[g]", "x P x of each block")


def shape(d: int) -> tuple[int, int]:
    """Return the number of blocks for d columns and the columns of each."""
    blocks = -(-d * d // ENTRIES)
    return blocks, -(-d // blocks)


def cost(d: int) -> int:
    """Multiplications for a row of d columns."""
    blocks, width = shape(d)
    return 2 * blocks * width * width


def open_last(P: Array, column: int) -> None:
    """Set P of the last target's weight, in the given column of the row. Shapes: P f8[g, h, h]."""
    for b in range(P.shape[0]):
        if 0 <= column - b * P.shape[1] < P.shape[1]:
            P[b, column - b * P.shape[1], column - b * P.shape[1]] = OPEN


@fragment
def arrange(blocks: Blocks, u: Array) -> None:
    """Write a row into the blocks. Shapes: u f8[d], d at most g h."""
    g, h = blocks.x.shape
    for b in range(g):
        for j in range(h):
            blocks.x[b, j] = u[b * h + j] if b * h + j < u.shape[0] else 0.0


@kernel
def forecast_row(blocks: Blocks, u: Array) -> float:
    """Return the forecast for a row. Shapes: u f8[d]."""
    arrange(blocks, u)
    total = 0.0
    for b in range(blocks.x.shape[0]):
        total += dot(blocks.weight[b], blocks.x[b])
    return total


@kernel
def learn_row(blocks: Blocks, y: float, skipped: Counts) -> None:
    """Learn the target of the row that was forecast last; steps that are not finite are skipped and counted.

    Weights of all blocks share the step that removes the error; the P of a block learns as if there were no others.
    """
    spread, error = KEEP, y
    for b in range(blocks.v.shape[0]):
        blocks.v[b] = matvec(blocks.P[b], blocks.x[b], blocks.k[b])
        spread += blocks.v[b]
        error -= dot(blocks.weight[b], blocks.x[b])
    for b in range(blocks.v.shape[0]):
        expert = LeastSquares(blocks.weight[b], blocks.P[b], skipped, blocks.k[b])
        v = blocks.v[b]
        if not absorb(v, error * ((KEEP + v) / spread), 1.0, KEEP, P_MAX, expert):
            skipped[0] += 1


@kernel
def rescale(blocks: Blocks, ratio: float, shift: float, last: int) -> None:
    """Express the weights in new deviations: y old ones are ratio y + shift new ones.

    The last target, at column `last` of the row, has the same deviations; in front of it is the constant.
    """
    g, h = blocks.weight.shape
    of_last = blocks.weight[last // h, last % h]
    for b in range(g):
        for j in range(h):
            blocks.weight[b, j] = bounded(blocks.weight[b, j] * ratio, LARGEST)
    constant = last - 1
    blocks.weight[last // h, last % h] = of_last
    blocks.weight[constant // h, constant % h] += (1.0 - of_last) * shift
