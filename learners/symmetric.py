"""Positive definite matrices that stay so: the rule of ALGORITHMS.md 1.11 in one place.

A down-date must be *bitwise* symmetric. With outer(k / h, k) rounding makes P asymmetric, forgetting
multiplies the antisymmetric part by 1 / lambda each row, and at mu = 0.05 P overflows after 14,457 rows.
"""

from __future__ import annotations

import math

from learners.jit import kernel
from learners.learner import Array
from learners.vectors import dot


@kernel
def times(P: Array, x: Array, k: Array) -> float:
    """Write k = P x and return x . k.

    Shapes: P f8[d, d] symmetric, x f8[d], k f8[d]. Runs along P's rows, so that the inner loop is wide
    additions; each k[i] still sums P[i, j] x[j] in the order of j, hence the bits of the plain product.
    """
    d = x.shape[0]
    for i in range(d):
        k[i] = 0.0
    for j in range(d):
        row, xj = P[j], x[j]
        if xj != 0.0:  # P is finite, so a zero adds nothing: rows of words are mostly zeros
            for i in range(d):
                k[i] += row[i] * xj
    return dot(x, k)


@kernel
def downdate(P: Array, k: Array, share: float, gain: float) -> None:
    """P <- (P - share k k') * gain, and keep its diagonal positive. Overwrites `k`.

    Shapes: P f8[d, d], k f8[d]; share >= 0. The product of two scaled entries commutes, so P[i, j] and
    P[j, i] get the same bits without mirroring; k[i] * k[j] before scaling would overflow from 1e154 on.
    """
    d = k.shape[0]
    root = math.sqrt(share)
    for i in range(d):
        k[i] *= root
    for i in range(d):
        row, ki = P[i], k[i]
        for j in range(d):
            row[j] = (row[j] - ki * k[j]) * gain
    for j in range(d):
        if not 0.0 < P[j, j] < math.inf:
            repair(P)
            return


@kernel
def repair(P: Array) -> None:
    """Make the diagonal positive again after rounding has eaten it (a feature of 1e150 does that at once).

    Shapes: P f8[d, d]. A ridge of 1e-12 of the mean diagonal; a coordinate still not positive is cut
    loose from the others, which keeps the rest positive definite.
    """
    d = P.shape[0]
    trace = 0.0
    for j in range(d):
        if 0.0 < P[j, j] < math.inf:
            trace += P[j, j]
    ridge = max(1e-12 * trace / d, 1e-300)
    for j in range(d):
        P[j, j] += ridge
        if not 0.0 < P[j, j] < math.inf:
            for i in range(d):
                P[i, j] = 0.0
                P[j, i] = 0.0
            P[j, j] = ridge
