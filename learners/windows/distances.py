"""Distances from a row to those of a window, which is stored by columns so that several are computed at a time."""

from driftway.learners.contract import Array, fragment


@fragment
def squared_distances(x: Array, column: Array, n: int, squared: Array) -> None:
    """Write the squared distances from x to the first n rows, summed in feature order, four features per pass.

    Shapes: x f8[d or more], column f8[d, R], squared f8[R].
    """
    d = column.shape[0]
    for i in range(n):
        squared[i] = 0.0
    for j in range(0, d - 3, 4):
        column_0, column_1, column_2, column_3 = column[j], column[j + 1], column[j + 2], column[j + 3]
        x_0, x_1, x_2, x_3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(n):
            off_0, off_1 = x_0 - column_0[i], x_1 - column_1[i]
            off_2, off_3 = x_2 - column_2[i], x_3 - column_3[i]
            squared[i] = squared[i] + off_0 * off_0 + off_1 * off_1 + off_2 * off_2 + off_3 * off_3
    for j in range(d - d % 4, d):
        features, value = column[j], x[j]
        for i in range(n):
            squared[i] += (value - features[i]) * (value - features[i])
