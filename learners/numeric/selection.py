"""Selection of the k-th smallest number, in kernels."""

from driftway.learners.engine.jit import fragment
from driftway.learners.engine.state import Array


@fragment
def kth_smallest(values: Array, k: int) -> float:
    """Element k (from 0) of values f8[n] in ascending order; reorders `values`, which must not contain NaN.

    O(n) on average: Hoare's FIND (Algorithm 65, CACM 4, 1961).
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot, i, j = values[k], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        # values[:j + 1] <= pivot and values[i:] >= pivot.
        if j < k:
            low = i
        if i > k:
            high = j
    return values[k]
