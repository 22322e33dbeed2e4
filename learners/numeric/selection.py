"""The k-th smallest of some numbers, in kernels."""

from driftway.learners.engine.jit import fragment
from driftway.learners.engine.state import Array


@fragment
def kth_smallest(values: Array, k: int) -> float:
    """Number k of f8[n] in ascending order, from 0; the values change places. None of them may be NaN.

    O(n) on the average: Hoare's FIND (Algorithm 65, CACM 4, 1961).
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
        # Everything up to j is at most the pivot, everything from i on at least.
        if j < k:
            low = i
        if i > k:
            high = j
    return values[k]
