"""Polynomial features."""

import math

import numpy as np

from driftway.learners.contract import Array, Counts, Parameters, fragment, integer, kernel
from driftway.learners.preprocessing.feature_map import FeatureMap

LARGEST = 1.7976931348623157e308
"""The largest number, to which products are clipped, because learners require finite features."""


class Polynomial(FeatureMap):
    """All products of up to `degree` features, with repetition: curved decision boundaries for a linear learner.

    Ordered by degree, then by feature index: a, b with degree 2 give a, b, aa, ab, bb. There is no constant, since the
    learner has its intercept.

    Parameters
    ----------
    degree : int
        Most factors of a product, 1 <= degree <= 10; d features give C(d + degree, degree) - 1. Default 2.

    Cost
    ----
    A product per output feature; 16 bytes for each.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or too many products.

    Source
    ------
    The explicit map of the kernel (x.z + c0)^degree, up to a factor per feature.
    docs/algorithms/preprocessing.md#polynomial.
    """

    name = "polynomial"

    class Params(Parameters):
        degree: int = integer(2, at_least=1, at_most=10)

    def features(self) -> int:
        return math.comb(self.n_features + self.parameters.degree, self.parameters.degree) - 1

    def prepare(self) -> None:
        """Tabulate each product as a shorter one times a last factor, whose index is not below the other factors'."""
        d = self.n_features
        factors = [np.arange(d)]
        wholes = [np.full(d, -1)]
        first = 0
        for _ in range(1, self.parameters.degree):
            last = factors[-1]
            longer = d - last
            ends = np.cumsum(longer)
            wholes.append(np.repeat(first + np.arange(len(last)), longer))
            factors.append(np.arange(ends[-1]) - np.repeat(ends - longer - last, longer))
            first += len(last)
        self._factors = np.concatenate(factors).astype(np.int64)
        self._wholes = np.concatenate(wholes).astype(np.int64)

    def apply(self, rows: Array, mapped: Array) -> None:
        polynomial(rows, mapped, self._wholes, self._factors)


@kernel
def polynomial(rows: Array, mapped: Array, wholes: Counts, factors: Counts) -> None:
    """Compute each product as an earlier one times a feature.

    Shapes: rows f8[n, d], mapped f8[n, m], wholes i8[m], factors i8[m]; the first d of m are the features themselves.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x, z = rows[t], mapped[t]
        for j in range(d):
            z[j] = x[j]
        for j in range(d, z.shape[0]):
            z[j] = bounded(z[wholes[j]] * x[factors[j]])


@fragment
def bounded(value: float) -> float:
    """`value`, or the largest number of its sign if it is infinite."""
    return min(max(value, -LARGEST), LARGEST)
