"""Feature hashing."""

import numpy as np

from driftway.learners.contract import Array, Counts, Parameters, integer, kernel
from driftway.learners.numeric.random import GOLDEN, SHIFT_11, ULP, Words, seed
from driftway.learners.preprocessing.feature_map import FeatureMap
from driftway.learners.preprocessing.polynomial import bounded

ONE = np.uint64(1)


class Hashing(FeatureMap):
    """Signed feature hashing: any number of columns is summed into `buckets` features, which fit a small model.

    The bucket and the sign of a column follow from its index and the seed. Because of the signs, inner products of
    mapped rows equal those of the rows on average over seeds.

    Parameters
    ----------
    buckets : int
        Output features, buckets >= 1. Default 64.
    seed : int
        Choice of buckets and signs, 0 <= seed <= 2^53. Default 1.

    Cost
    ----
    O(d + buckets) per row; 16 d bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or too many buckets.

    Source
    ------
    Weinberger, Dasgupta, Langford, Smola and Attenberg, ICML 2009. Differs: hashes the column's index, not a word.
    """

    name = "hashing"

    class Params(Parameters):
        buckets: int = integer(64, at_least=1)
        seed: int = integer(1, at_least=0, at_most=2**53)

    def features(self) -> int:
        return int(self.parameters.buckets)

    def prepare(self) -> None:
        self._buckets, self._signs = np.empty(self.n_features, np.int64), np.empty(self.n_features)
        draw_buckets(np.uint64(self.parameters.seed), self.width, self._buckets, self._signs, np.empty(4, np.uint64))

    def apply(self, rows: Array, mapped: Array) -> None:
        hash_columns(rows, mapped, self._buckets, self._signs)


@kernel
def draw_buckets(value: np.uint64, n: int, buckets: Counts, signs: Array, words: Words) -> None:
    """Hash column j to output j of splitmix64 seeded by `value`: its high bits select the bucket, its last the sign.

    Shapes: buckets i8[d], signs f8[d], words u8[4] scratch. A column's hash does not depend on the number of columns.
    """
    walk = np.uint64(value)
    for j in range(buckets.shape[0]):
        seed(words, walk)
        buckets[j] = min(int(float(words[0] >> SHIFT_11) * ULP * n), n - 1)
        signs[j] = 1.0 if words[0] & ONE else -1.0
        walk += GOLDEN


@kernel
def hash_columns(rows: Array, mapped: Array, buckets: Counts, signs: Array) -> None:
    """Add each column to its bucket with its sign, in column order.

    Shapes: rows f8[n, d], mapped f8[n, m], buckets i8[d], signs f8[d].
    """
    for t in range(rows.shape[0]):
        x, z = rows[t], mapped[t]
        for b in range(z.shape[0]):
            z[b] = 0.0
        for j in range(x.shape[0]):
            z[buckets[j]] = bounded(z[buckets[j]] + signs[j] * x[j])
