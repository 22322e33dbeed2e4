"""Operations on symmetric matrices that keep them positive definite.

See docs/algorithms/conventions.md#positive-definite-matrices.

A down-date must be *bitwise* symmetric. With outer(k / h, k), rounding makes P asymmetric, forgetting multiplies the
antisymmetric part by 1 / lambda in each row, and at mu = 0.05 P overflows after 14,457 rows.
"""

import math

from driftway.learners.engine.jit import fragment, kernel
from driftway.learners.engine.state import Array
from driftway.learners.numeric.vectors import add_multiples, dot

NARROW = 12
"""Width up to which `matvec` works by rows: AROW is 10 % faster that way with 9 columns, 10 % slower with 17."""


@fragment
def matvec(P: Array, x: Array, k: Array) -> float:
    """Write k = P x and return x . k.

    Shapes: P f8[d, d] symmetric, x f8[d], k f8[d]. Both variants sum P[i, j] x[j] in the order of j, so the result is
    bitwise that of the plain product.
    """
    if x.shape[0] <= NARROW:
        return matvec_by_rows(P, x, k)
    return matvec_by_columns(P, x, k)


@fragment
def matvec_by_rows(P: Array, x: Array, k: Array) -> float:
    """`matvec` for a narrow P: four sums at a time, because the additions of one sum depend on each other.

    Shapes: P f8[d, d], x f8[d], k f8[d].
    """
    d = x.shape[0]
    inner = 0.0
    for i in range(0, d - 3, 4):
        row_0, row_1, row_2, row_3 = P[i], P[i + 1], P[i + 2], P[i + 3]
        k_0 = k_1 = k_2 = k_3 = 0.0
        for j in range(d):
            k_0 += row_0[j] * x[j]
            k_1 += row_1[j] * x[j]
            k_2 += row_2[j] * x[j]
            k_3 += row_3[j] * x[j]
        k[i], k[i + 1], k[i + 2], k[i + 3] = k_0, k_1, k_2, k_3
        inner = inner + x[i] * k_0 + x[i + 1] * k_1 + x[i + 2] * k_2 + x[i + 3] * k_3
    for i in range(d - d % 4, d):
        k[i] = dot(P[i], x)
        inner += x[i] * k[i]
    return inner


@fragment
def matvec_by_columns(P: Array, x: Array, k: Array) -> float:
    """`matvec` for a wide P: all sums in parallel with SIMD additions.

    Shapes: P f8[d, d] symmetric, so that its rows are its columns; x f8[d], k f8[d].
    """
    d = x.shape[0]
    for i in range(d):
        k[i] = 0.0
    add_multiples(k, P, x)  # text rows are mostly zeros
    return dot(x, k)


@fragment
def downdate(P: Array, k: Array, share: float, gain: float) -> None:
    """P <- (P - share k k') * gain, with a diagonal that stays positive. Overwrites `k`.

    Shapes: P f8[d, d], k f8[d]; share >= 0. The product of two scaled entries commutes, so P[i, j] and P[j, i] get the
    same bits without mirroring; the unscaled k[i] * k[j] would overflow from 1e154 on. With a finite k no entry of the
    diagonal becomes NaN.
    """
    d = k.shape[0]
    root = math.sqrt(share)
    for i in range(d):
        k[i] *= root
    for i in range(d):
        row, ki = P[i], k[i]
        for j in range(d):
            row[j] = (row[j] - ki * k[j]) * gain
    least, most = math.inf, 0.0  # of the diagonal; a test per entry makes AROW with 9 columns 8 % slower
    for j in range(d):
        least = min(least, P[j, j])
        most = max(most, P[j, j])
    if not (least > 0.0 and most < math.inf):
        repair(P)


@kernel
def repair(P: Array) -> None:
    """Make the diagonal positive again after cancellation (a feature of 1e150 causes it at once).

    Shapes: P f8[d, d]. Adds a ridge of 1e-12 of the mean diagonal; a coordinate that is still not positive is
    decoupled from the others, which keeps the rest positive definite.
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


@kernel
def clamp_diagonal(P: Array, j: int, p_max: float, column: Array) -> None:
    """Wind-up guard: reduce P[j, j] to `p_max` by a virtual observation of weight j at its current value.

    Shapes: P f8[d, d], column f8[d] scratch. Without it a direction that is no longer excited makes P overflow after
    about 700 / mu rows.
    """
    alone = True
    for i in range(P.shape[0]):
        column[i] = P[i, j]
        alone = alone and (i == j or column[i] == 0.0)
    c = 1.0 / p_max - 1.0 / P[j, j]
    share = c / (1.0 + c * P[j, j])
    if alone:
        # A feature that was always 0. Wide rows have hundreds, which all wind up at once: O(d) instead of O(d^2).
        root = math.sqrt(share) * P[j, j]
        P[j, j] -= root * root
    else:
        downdate(P, column, share, 1.0)


@kernel
def inverse(P: Array, L: Array, out: Array) -> bool:
    """Write P^-1, bitwise symmetric, to `out`; return False without touching `out` if P is not positive definite.

    Shapes: P f8[d, d] symmetric, out f8[d, d], L f8[d, d] scratch. O(d^3): P = L L', M = L^-1 in place of L, then
    P^-1 = M' M. LAPACK is not used because its bits depend on the machine.
    """
    d = P.shape[0]
    for i in range(d):
        for j in range(i + 1):
            rest = P[i, j]
            for r in range(j):
                rest -= L[i, r] * L[j, r]
            if i > j:
                L[i, j] = rest / L[j, j]
            elif 0.0 < rest < math.inf:
                L[i, i] = math.sqrt(rest)
            else:
                return False
    for j in range(d):
        L[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for r in range(j, i):
                total -= L[i, r] * L[r, j]
            L[i, j] = total / L[i, i]
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for r in range(i, d):
                total += L[r, i] * L[r, j]
            out[i, j] = out[j, i] = total
    return True


MAX_SWEEPS = 30
"""Limit for Jacobi's method, which converges quadratically: 9 are enough for a matrix of 128 columns."""
DIAGONAL = 1e-32
"""A matrix counts as diagonal if the squares above the diagonal sum to at most this times the largest squared entry."""


@kernel
def diagonalise(P: Array, D: Array, Q: Array) -> float:
    """Factor P = f Q' D Q with diagonal D and orthogonal Q, whose rows have a positive largest entry; return f.

    Shapes: P f8[d, d] symmetric and finite, D f8[d, d], Q f8[d, d]. f is the size of P's largest entry. O(d^3); cyclic
    Jacobi in row order, so that the bits are reproducible.
    """
    d = P.shape[0]
    largest = 0.0
    for i in range(d):
        for j in range(d):
            largest = max(largest, abs(P[i, j]))
    for i in range(d):
        for j in range(d):
            D[i, j] = P[i, j] / largest if largest > 0.0 else 0.0  # squares of large entries would overflow
            Q[i, j] = 1.0 if i == j else 0.0
    for _ in range(MAX_SWEEPS):
        off = 0.0
        for p in range(d):
            for q in range(p + 1, d):
                off += D[p, q] * D[p, q]
        if off <= DIAGONAL:
            break
        for p in range(d):
            for q in range(p + 1, d):
                jacobi_rotate(D, Q, p, q)
    for i in range(d):
        farthest = 0
        for j in range(d):
            if abs(Q[i, j]) > abs(Q[i, farthest]):
                farthest = j
        if Q[i, farthest] < 0.0:
            for j in range(d):
                Q[i, j] = -Q[i, j]
    return largest


@kernel
def clip_eigenvalues(P: Array, D: Array, Q: Array) -> None:
    """Set the negative eigenvalues of P to 0; it stays bitwise symmetric, and its diagonal becomes >= 0.

    Shapes: P f8[d, d] symmetric and finite; D f8[d, d], Q f8[d, d] scratch. O(d^3).
    """
    d = P.shape[0]
    largest = diagonalise(P, D, Q)
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for m in range(d):
                total += max(D[m, m], 0.0) * (Q[m, i] * Q[m, j])
            P[i, j] = P[j, i] = largest * total


@fragment
def jacobi_rotate(D: Array, Q: Array, p: int, q: int) -> None:
    """Rotate rows and columns p and q of D so that D[p, q] becomes 0, and rows p and q of Q with them.

    Shapes: D f8[d, d] symmetric, Q f8[d, d]. Golub and Van Loan, Matrix Computations, 8.5.2.
    """
    entry = D[p, q]
    if entry == 0.0:
        return
    theta = (D[q, q] - D[p, p]) / (2.0 * entry)
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for r in range(D.shape[0]):
        a, b = D[p, r], D[q, r]
        D[p, r], D[q, r] = c * a - s * b, s * a + c * b
        a, b = Q[p, r], Q[q, r]
        Q[p, r], Q[q, r] = c * a - s * b, s * a + c * b
    for r in range(D.shape[0]):
        a, b = D[r, p], D[r, q]
        D[r, p], D[r, q] = c * a - s * b, s * a + c * b
    D[p, q] = D[q, p] = 0.0
