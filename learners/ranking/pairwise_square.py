"""The square loss of a row against every row of the other class, from that class's mean and covariance alone.

For a row x of label y, and c and S the mean and covariance of the n rows x' of the other class, the loss
lam/2 |w|^2 + 1/(2n) sum of (1 - y w.(x - x'))^2 has, with e = x - c, the gradient lam w + (w.e - y) e + S w. No row
need be kept: that is how `opauc` and `adaoam` learn in one pass.
"""

from __future__ import annotations

from learners.jit import fragment
from learners.learner import Array
from learners.second_order.covariance import is_full
from learners.state import Fields
from learners.symmetric import times


def pairwise_fields(cov: str, width: int) -> Fields:
    """The weights and what is known of both classes. Class 0 comes first."""
    scatter = (2, width, width) if is_full(cov, width) else (2, width)
    return {
        "weight": ("f8", (width,)),
        "classes": ("i8", (2,)),
        "mean": ("f8", (2, width)),
        "scatter": ("f8", scatter),
        "skipped": ("i8", (1,)),
    }


@fragment
def gradient_full(
    weight: Array, x: Array, label: float, lam: float, n: int, mean: Array, scatter: Array, e: Array, g: Array
) -> float:
    """Write the gradient and return a bound of the loss's curvature, lam + |e|^2 + tr S.

    Shapes: weight f8[d], x f8[d]; of the other class mean f8[d] and scatter n S f8[d, d]; e f8[d] and g f8[d], written.
    """
    margin, length2, trace = 0.0, 0.0, 0.0
    for j in range(x.shape[0]):
        e[j] = x[j] - mean[j]
        margin += weight[j] * e[j]
        length2 += e[j] * e[j]
        trace += scatter[j, j]
    times(scatter, weight, g)
    for j in range(x.shape[0]):
        g[j] = lam * weight[j] + (margin - label) * e[j] + g[j] / n
    return lam + length2 + trace / n


@fragment
def gradient_diagonal(
    weight: Array, x: Array, label: float, lam: float, n: int, mean: Array, squares: Array, e: Array, g: Array
) -> float:
    """As `gradient_full`, of a class whose features are taken as uncorrelated.

    Shapes: weight f8[d], x f8[d], mean f8[d], squares f8[d], e f8[d], g f8[d].
    """
    margin, length2, trace = 0.0, 0.0, 0.0
    for j in range(x.shape[0]):
        e[j] = x[j] - mean[j]
        margin += weight[j] * e[j]
        length2 += e[j] * e[j]
        trace += squares[j]
    for j in range(x.shape[0]):
        g[j] = lam * weight[j] + (margin - label) * e[j] + squares[j] * weight[j] / n
    return lam + length2 + trace / n
