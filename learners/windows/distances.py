"""Distances from a row to those of a window, which is kept by columns so that several are computed at a time."""

from learners.contract import Array, fragment


@fragment
def squared_distances(x: Array, column: Array, n: int, squared: Array) -> None:
    """From x to the first n rows, each summed from the first feature on.

    Shapes: x f8[d], column f8[d, R], squared f8[R].
    """
    for i in range(n):
        squared[i] = 0.0
    for j in range(x.shape[0]):
        features, value = column[j], x[j]
        for i in range(n):
            squared[i] += (value - features[i]) * (value - features[i])
