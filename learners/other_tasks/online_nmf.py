"""Rows of counts or amounts as sums of a few parts (online non-negative matrix factorisation)."""

from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    kernel,
    number,
    scratch,
)
from driftway.learners.numeric.random import Words, seed, uniform
from driftway.learners.numeric.vectors import dot, euclidean_norm, multiply

NIL = 1e-12
"""Smallest divisor: a part of smaller squared length, or sum of squared shares, is left unchanged."""

LARGEST = 1e100
"""Largest feature whose squares can be summed over any stream without overflow."""


class OnlineNMF(Learner):
    """Finds `rank` parts that rows consist of, in non-negative shares: topics of texts, profiles of consumption.

    h, the shares of a row, is found by `inner` sweeps of coordinate descent from 0, and the score is -|x - D h|^2:
    minus the squared error of the row, with the parts from before it. Then the parts, columns of D, are fitted to
    all rows so far: A <- forget A + h h', B <- forget B + x h', D_j <- max(0, D_j + (B_j - D A_j) / A_jj), scaled to
    length 1 at most. The target's value is ignored, but a row without a target is not learned; if all targets are 0,
    `mae` is the mean squared error. Rows with a negative feature are only scored.

    Cost
    ----
    O(rank d (inner + rank)) per row; 8 rank (2 d + rank) + 8 bytes.

    Source
    ------
    Mairal, Bach, Ponce and Sapiro, Online Learning for Matrix Factorization and Sparse Coding, JMLR 2010, without the
    penalty (Huang, Online Learning, names CIKM 2016). docs/algorithms/other_tasks.md#online_nmf.
    """

    name = "online_nmf"
    tasks = ("regression",)
    standardizable = False

    class Params(Parameters):
        rank: int = integer(10, "Number of parts.", at_least=1, at_most=1000)
        inner: int = integer(20, "Sweeps over the shares of a row.", at_least=1, at_most=1000)
        forget: float = number(1.0, "Factor of the weight of past rows at each row.", above=0.0, at_most=1.0)
        seed: int = integer(1, "Seed of the initial parts.", at_least=0, at_most=2**53)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(score, learn, p.numbers(), OnlineNMFState, {"rank": p.rank})

    def initialise(self) -> None:
        generator = np.empty(4, np.uint64)
        seed(generator, np.uint64(self.parameters.seed))
        begin_parts(generator, self.state["D"])


class OnlineNMFState(NamedTuple):
    """State of `online_nmf`; D and B have one row per part, so that its features are adjacent."""

    D: Array = field("f8[rank, d]", "the parts, at most 1 long; random and of length 1 at first")
    A: Array = field("f8[rank, rank]", "sum of h h'")
    B: Array = field("f8[rank, d]", "sum of x h'")
    skipped: Counts = field("i8[1]", f"labelled rows with a feature below 0 or beyond {LARGEST:g}")
    squared: Array = scratch("f8[rank]", "squared lengths of the parts")
    h: Array = scratch("f8[rank]", "shares of a row")
    rest: Array = scratch("f8[d]", "x - D h")


@kernel
def begin_parts(generator: Words, D: Array) -> None:
    """Draw the initial parts; from zeros nothing would ever be learned. Shapes: generator u8[4], D f8[rank, d]."""
    for j in range(D.shape[0]):
        for i in range(D.shape[1]):
            D[j, i] = uniform(generator)
        size = euclidean_norm(D[j])
        if size > 0.0:
            multiply(D[j], 1.0 / size)


@fragment
def score(x: Array, p: OnlineNMF.Params, memory: OnlineNMFState) -> float:
    """Minus the squared error; leaves the shares in `h`. Shapes: x f8[d]."""
    D, h, rest, squared = memory.D, memory.h, memory.rest, memory.squared
    for j in range(h.shape[0]):
        h[j], squared[j] = 0.0, dot(D[j], D[j])
    for i in range(x.shape[0]):
        rest[i] = x[i]
    for _ in range(p.inner):
        for j in range(h.shape[0]):
            if squared[j] >= NIL:
                share = max(0.0, h[j] + dot(D[j], rest) / squared[j])
                for i in range(x.shape[0]):
                    rest[i] -= (share - h[j]) * D[j, i]
                h[j] = share
    return -dot(rest, rest)


@fragment
def learn(x: Array, _y: float, _omega: float, _s: float, p: Any, memory: OnlineNMFState) -> None:
    """Add the row with its shares and fit each part to all rows. Shapes: x f8[d].

    See docs/algorithms/other_tasks.md#online_nmf.
    """
    D, A, B, h = memory.D, memory.A, memory.B, memory.h
    usable = True
    for i in range(x.shape[0]):
        usable &= 0.0 <= x[i] <= LARGEST
    if not usable:
        memory.skipped[0] += 1
        return
    for j in range(h.shape[0]):
        for k in range(h.shape[0]):
            A[j, k] = p.forget * A[j, k] + h[j] * h[k]
        for i in range(x.shape[0]):
            B[j, i] = p.forget * B[j, i] + x[i] * h[j]
    step = memory.rest
    for j in range(h.shape[0]):
        if A[j, j] >= NIL:
            for i in range(x.shape[0]):
                step[i] = B[j, i]
            for k in range(h.shape[0]):
                for i in range(x.shape[0]):
                    step[i] -= A[j, k] * D[k, i]
            for i in range(x.shape[0]):
                D[j, i] = max(0.0, D[j, i] + step[i] / A[j, j])
            size = euclidean_norm(D[j])
            if size > 1.0:
                multiply(D[j], 1.0 / size)
