"""Polynomial features."""

import math

import numpy as np

from driftway.learners.contract import Array, Counts, Parameters, fragment, integer, kernel_without_refcounts
from driftway.learners.preprocessing.feature_map import FeatureMap

LARGEST = 1.7976931348623157e308
"""The largest number: a product beyond it is taken for it, since learners are promised finite features."""


class Polynomial(FeatureMap):
    """All products of up to `degree` features, repeated ones included: curved boundaries for a linear learner.

    In the order of degrees, and within one of the features' numbers: of a, b with degree 2, the features are a, b, aa,
    ab, bb. There is no constant; the learner has its intercept.

    Parameters
    ----------
    degree : int
        Most factors of a product, 1 <= degree <= 10; of d features it makes C(d + degree, degree) - 1. Default 2.

    Cost
    ----
    A product per feature made; 16 bytes for each.

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
        """Each product is a shorter one, its `whole`, times a last factor, whose number is no lower than the others."""
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


@kernel_without_refcounts
def polynomial(rows: Array, mapped: Array, wholes: Counts, factors: Counts) -> None:
    """Write each product as one that stands before it times a feature.

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
