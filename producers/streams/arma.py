"""A time series with known innovations, whose variance is the least squared error of any forecast."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import normal
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array
from driftway.worker.errors import UsageFailure


@kernel
def continue_series(
    rng: NDArray[np.uint64], ar: Array, ma: Array, deviation: float, past: Array, noise: Array, X: Array, y: Array
) -> None:
    """Write the next values, with the previous one as the feature; one draw per row, the innovation.

    Shapes: rng u8[4], ar f8[p], ma f8[q], past f8[p] and noise f8[q] the newest first, X f8[n, 1], y f8[n].
    """
    for t in range(y.shape[0]):
        innovation = deviation * normal(rng)
        value = innovation
        for i in range(ar.shape[0]):
            value += ar[i] * past[i]
        for i in range(ma.shape[0]):
            value += ma[i] * noise[i]
        X[t, 0], y[t] = past[0], value
        for i in range(past.shape[0] - 1, 0, -1):
            past[i] = past[i - 1]
        for i in range(noise.shape[0] - 1, 0, -1):
            noise[i] = noise[i - 1]
        past[0], noise[0] = value, innovation


def _fill(values: Values, rng: NDArray[np.uint64], memory: Array, _start: int, X: Array, y: Array) -> None:
    ar, ma = np.array(values["ar"]), np.array(values["ma"])
    continue_series(rng, ar, ma, values["noise"], memory[: len(ar)], memory[len(ar) :], X, y)


def _shape(values: Values) -> tuple[int, int]:
    """One feature, one stage; rejects a series that is not stationary.

    Raises
    ------
    UsageFailure
        A root of z^p - a_1 z^(p - 1) - .. - a_p is not inside the unit circle.
    """
    roots = np.roots([1.0, *(-a for a in values["ar"])])
    if (np.abs(roots) >= 1.0).any():
        raise UsageFailure(f"arma: ar must be stationary, got {'/'.join(f'{a:g}' for a in values['ar'])}")
    return 1, 1


RECIPE = GeneratorSpec(
    name="arma",
    summary="A series y_t = ar_1 y_t-1 + .. + noise_t + ma_1 noise_t-1 + .., noise N(0, noise^2), starting at 0; its "
    "only feature is the previous value. Regression.",
    source="Anava, Hazan, Mannor and Shamir, Online Learning for Time Series Prediction, COLT 2013, section 5, "
    "setting 1",
    options=(
        option("rows", 20_000, "integer", low=1, meaning="length"),
        option(
            "ar", (0.6, -0.5, 0.4, -0.4, 0.3), "numbers", low=-10, high=10, meaning="weights of the previous values"
        ),
        option("ma", (0.3, -0.2), "numbers", low=-10, high=10, meaning="weights of the previous innovations"),
        option("noise", 0.3, "number", low=0, high=1000, meaning="standard deviation of the innovations"),
    ),
    shape=_shape,
    feature_names=("before",),
    task="regression",
    memory=lambda values: len(values["ar"]) + len(values["ma"]),
    fill=_fill,
)
