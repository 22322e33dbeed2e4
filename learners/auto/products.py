"""Products of features, as further inputs of least squares on changes."""

from driftway.learners.contract import Array, kernel

WIDEST = 12
"""Up to this many features all products are used, with more only the squares."""


def width(n: int, u: int) -> int:
    """Return the number of inputs: the products of n features, and u others."""
    return u + (n * (n + 1) // 2 if n <= WIDEST else n)


@kernel
def bend(z: Array, u: Array, bent: Array) -> None:
    """Write half the products of features (of more than 12 only the squares), then u. Shapes: z f8[w], u f8[u]."""
    n, place = z.shape[0] - 1, 0
    for i in range(n):
        for j in range(0 if n <= WIDEST else i, i + 1):
            bent[place] = 0.5 * z[i] * z[j]
            place += 1
    for j in range(u.shape[0]):
        bent[place + j] = u[j]
