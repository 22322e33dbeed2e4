"""Eigenvalues and vectors of a symmetric matrix by cyclic Jacobi rotations: in a fixed order, hence the same bits."""

import math

from learners.contract import Array, bare_kernel

MOST_SWEEPS = 30
SMALL = 1e-12
"""Of the trace: what is left beside the diagonal."""


@bare_kernel
def diagonalise(A: Array, V: Array) -> None:
    """Make A = V' D V into D, and write the eigenvectors as rows of V, their largest entry positive.

    Shapes: A f8[n, n] symmetric, V f8[n, n]. Golub and Van Loan, Matrix Computations, section 8.5.
    """
    n = A.shape[0]
    trace = 0.0
    for i in range(n):
        trace += abs(A[i, i])
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(MOST_SWEEPS):
        beside = 0.0
        for i in range(n):
            for j in range(i):
                beside = max(beside, abs(A[i, j]))
        if not beside > SMALL * trace:
            break
        for p in range(n):
            for q in range(p + 1, n):
                if A[p, q] != 0.0:
                    rotate(A, V, p, q)
    for i in range(n):
        largest = 0
        for j in range(n):
            if abs(V[i, j]) > abs(V[i, largest]):
                largest = j
        if V[i, largest] < 0.0:
            for j in range(n):
                V[i, j] = -V[i, j]


@bare_kernel
def rotate(A: Array, V: Array, p: int, q: int) -> None:
    """One rotation, after which A[p, q] is 0. Shapes: A f8[n, n] symmetric, V f8[n, n]."""
    theta = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    change = t * A[p, q]
    for k in range(A.shape[0]):
        if k not in (p, q):
            one, other = A[p, k], A[q, k]
            A[p, k] = A[k, p] = c * one - s * other
            A[q, k] = A[k, q] = s * one + c * other
        one, other = V[p, k], V[q, k]
        V[p, k], V[q, k] = c * one - s * other, s * one + c * other
    A[p, p] -= change
    A[q, q] += change
    A[p, q] = A[q, p] = 0.0
