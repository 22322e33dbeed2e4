"""Checks of the arrays that callers pass to kernels, which index them without checks of their own."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.state import Array


def as_behaved(array: Array) -> Array:
    """Return `array`, or a copy if it is read-only or unaligned: numba would compile another specialisation for it."""
    return array if array.flags.behaved else array.copy()


def check_labels(y: Array, n_classes: int) -> None:
    """Reject labels that are neither a class index nor NaN: kernels use them as indices without a bounds check.

    Raises
    ------
    ValueError
        A label in y f8[n] is outside 0..n_classes - 1 or not a whole number.
    """
    if len(y) == 0:
        return
    outside = np.fmin.reduce(y) < 0.0 or np.fmax.reduce(y) > n_classes - 1  # these ignore NaN
    whole = y == np.rint(y)
    if outside or not (whole.all() or (whole | np.isnan(y)).all()):
        label = next(one for one in y.tolist() if not math.isnan(one) and one not in range(n_classes))
        raise ValueError(f"label {label:g} is not one of {', '.join(map(str, range(n_classes)))}")


def check_array(array: NDArray[Any], shape: tuple[int, ...], name: str) -> None:
    """Reject an array that is not a C-contiguous f8 of `shape`; its name is for the message.

    Raises
    ------
    ValueError
        Another shape, dtype or layout; a kernel would silently be compiled once more for the latter two.
    """
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous float64")
