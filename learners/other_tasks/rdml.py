"""A distance learned from pairs (regularised distance metric learning)."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    field,
    fragment,
    number,
    scratch,
)
from driftway.learners.engine.parameters import TooFewFeatures
from driftway.learners.numeric.symmetric import clip_eigenvalues
from driftway.learners.numeric.vectors import dot

WIDEST = 128
"""Most columns of an item; with more, the eigenvalues of A, needed for each matching pair, take too long."""

LARGEST = 1e300
"""Largest entry of A, so that computing its eigenvalues does not overflow."""


class RDML(Learner):
    """Predicts whether two items belong together, by a learned distance that is small for those that do.

    A row holds two items x and z of equal width; class 1 means that they belong together. The score is
    b - (x - z)'A(x - z). A row with y s < 1 moves A by -eta y (x - z)(x - z)', so that the distance of its items
    shrinks or grows; if it shrinks, negative eigenvalues are set to 0, since a distance has none.

    Cost
    ----
    O(d^2) per row, O(d^3) for a pair of class 1 with a loss, d <= 128 the columns of an item; 8 d^2 + 8 bytes.

    Source
    ------
    Jin, Wang and Zhou, Regularized Distance Metric Learning: Theory and Algorithm, NIPS 2009.
    docs/algorithms/other_tasks.md#rdml.
    """

    name = "rdml"
    tasks = ("binary",)

    class Params(Parameters):
        b: float = number(1.0, "Squared distance from which items do not belong together.", above=0.0)
        eta: float = number(0.05, "Step size.", above=0.0)

    def rule(self) -> UpdateRule:
        if self.n_features < 2:
            raise TooFewFeatures(f"{self.name} reads two items with the same number of columns, got 1 column", 2)
        if self.n_features % 2:
            raise ParameterError(
                f"{self.name} reads two items with the same number of columns: {self.n_features} is odd"
            )
        c = self.n_features // 2
        if c > WIDEST:
            raise ParameterError(f"{self.name} reads items of at most {WIDEST} columns, got {c}")
        return UpdateRule(closeness, learn, self.parameters.numbers(), RDMLState, {"c": c}, uses_weight=True)

    def initialise(self) -> None:
        np.fill_diagonal(self.state["A"], 1.0)


class RDMLState(NamedTuple):
    """State of `rdml`; c is the number of columns of an item."""

    A: Array = field("f8[c, c]", "the distance's matrix, positive semidefinite, bitwise symmetric, starts at I")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step")
    apart: Array = scratch("f8[c]", "x - z")
    values: Array = scratch("f8[c, c]", "A on its way to a diagonal of eigenvalues")
    vectors: Array = scratch("f8[c, c]", "their vectors, one behind the other")


@fragment
def closeness(x: Array, p: RDML.Params, memory: RDMLState) -> float:
    """The score, b minus the squared distance of the items; leaves their difference in `apart`. Shapes: x f8[2 c]."""
    apart, c = memory.apart, memory.apart.shape[0]
    for j in range(c):
        apart[j] = x[j] - x[c + j]
    squared_distance = 0.0
    for i in range(c):
        squared_distance += apart[i] * dot(memory.A[i], apart)
    return p.b - squared_distance


@fragment
def learn(_x: Array, y: float, omega: float, s: float, p: RDML.Params, memory: RDMLState) -> None:
    """Lengthen or shorten the distance along the difference of the items. Shapes: x f8[2 c].

    docs/algorithms/other_tasks.md#rdml. Products of two differences commute, so A stays symmetric without mirroring.
    """
    A, apart, c = memory.A, memory.apart, memory.apart.shape[0]
    if math.isfinite(s) and y * s >= 1.0:
        return
    step = -p.eta * omega * y
    overflows = not math.isfinite(s)
    for i in range(c):
        for j in range(c):
            moved = A[i, j] + step * (apart[i] * apart[j])
            overflows |= not abs(moved) <= LARGEST
    if overflows:
        memory.skipped[0] += 1
        return
    for i in range(c):
        for j in range(c):
            A[i, j] += step * (apart[i] * apart[j])
    if y > 0.0:
        clip_eigenvalues(A, memory.values, memory.vectors)
