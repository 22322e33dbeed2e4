"""Friedman's regression function of five of ten features, with three kinds of drift."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.trigonometric import cos, sin
from driftway.learners.numeric.random import normal, uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array, Concepts
from driftway.worker.errors import UsageFailure

LOCAL, RECURRING, GRADUAL = 0, 1, 2
KINDS = {"lea": LOCAL, "gra": RECURRING, "gsg": GRADUAL}
POSITIONS: dict[str, tuple[float, ...]] = {"lea": (0.25, 0.5, 0.75), "gra": (0.5, 0.75), "gsg": (0.5, 0.75), "none": ()}
FEATURES = 10


@kernel
def friedman(a: float, b: float, c: float, d: float, e: float) -> float:
    """10 sin(pi a b) + 20 (c - 0.5)^2 + 10 d + 5 e."""
    return 10.0 * sin(math.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e


@kernel
def local_target(concept: int, x1: float, x2: float, x3: float, x4: float, x5: float) -> float:
    """Target with other functions in two regions from concept 1 on, which lose one bound in each later concept."""
    if concept > 0:
        if x2 < 0.3 and x3 < 0.3 and (concept > 2 or x4 > 0.7) and (concept > 1 or x5 < 0.3):
            return 10.0 * x1 * x2 + 20.0 * (x3 - 0.5) + 10.0 * x4 + 5.0 * x5
        if x2 > 0.7 and x3 > 0.7 and (concept > 2 or x4 < 0.3) and (concept > 1 or x5 > 0.7):
            return 10.0 * cos(x1 * x2) + 20.0 * (x3 - 0.5) + exp(x4) + 5.0 * x5**2
    return friedman(x1, x2, x3, x4, x5)


@kernel
def target(kind: int, concept: int, x: Array) -> float:
    """Noise-free target of a row in `concept` 0, 1, .... Shapes: x f8[10]."""
    if kind == LOCAL:
        return local_target(concept, x[0], x[1], x[2], x[3], x[4])
    if concept == 1:
        return friedman(x[3], x[4], x[1], x[0], x[2])
    if concept == 2 and kind == GRADUAL:
        return friedman(x[1], x[4], x[3], x[2], x[0])
    return friedman(x[0], x[1], x[2], x[3], x[4])


@kernel
def fill_friedman(
    rng: NDArray[np.uint64],
    kind: int,
    points: NDArray[np.int64],
    window: int,
    noise: float,
    start: int,
    step: int,
    stages: NDArray[np.int64],
    X: Array,
    y: Array,
) -> None:
    """Write rows start, start + step, ...; draw order per row: x1..x10, the concept if the drift is gradual, the noise.

    Shapes: rng u8[4], points i8[drifts], stages i8[n] (each row's concept), X f8[n, 10], y f8[n]. In the
    `window` rows from a drift on, old and new concept are equally likely if the drift is gradual. The noise is drawn
    even if it is 0.
    """
    for i in range(X.shape[0]):
        t = start + step * i
        for j in range(X.shape[1]):
            X[i, j] = uniform(rng)
        concept = 0
        while concept < points.shape[0] and points[concept] <= t:
            concept += 1
        if kind == GRADUAL and uniform(rng) < 0.5 and concept > 0 and t < points[concept - 1] + window:
            concept -= 1
        stages[i] = concept
        y[i] = target(kind, concept, X[i]) + noise * normal(rng)


def _points(values: Values) -> tuple[int, ...]:
    """First rows of the new concepts.

    Raises
    ------
    UsageFailure
        Positions do not ascend inside the stream, their number does not fit this kind of drift, or they are closer
        together than the window in which a gradual drift mixes concepts.
    """
    drift, length = values["drift"], values["rows"]
    shares, expected = values["positions"] or POSITIONS[drift], len(POSITIONS[drift])
    points = tuple(math.ceil(share * length) for share in shares)
    if len(points) != expected or any(a >= b for a, b in pairwise((0, *points, length))):
        shown = "/".join(f"{share:g}" for share in shares)
        raise UsageFailure(
            f"friedman: drift={drift} takes {expected} ascending positions inside the {length} rows, got {shown}"
        )
    if drift == "gsg" and shares[0] + values["window"] > shares[1]:
        raise UsageFailure(f"friedman: window={values['window']:g} is longer than the first new concept")
    return points


def _window(values: Values) -> int:
    return math.ceil(values["window"] * values["rows"]) if values["drift"] == "gsg" else 0


def _run(
    stages: Concepts, values: Values, rng: NDArray[np.uint64], start: int, X: Array, y: Array, step: int = 1
) -> None:
    kind, points = KINDS.get(values["drift"], LOCAL), np.array(_points(values), np.int64)
    fill_friedman(rng, kind, points, _window(values), values["noise"], start, step, stages, X, y)


def _trace(
    stages: Concepts, values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array
) -> None:
    _run(stages, values, rng, start, X, y)


def _fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
    _run(np.empty(len(y), np.int64), values, rng, start, X, y)


def _sample(values: Values, rng: NDArray[np.uint64], _memory: Array, row: int, X: Array, y: Array) -> None:
    _run(np.empty(len(y), np.int64), values, rng, row, X, y, step=0)


RECIPE = GeneratorSpec(
    name="friedman",
    summary="Friedman: x uniform in [0, 1]^10, y = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + N(0, 1); drift "
    "`lea` local expanding abrupt, `gra` global recurring abrupt, `gsg` global and slow gradual. Regression.",
    source="Friedman, Multivariate Adaptive Regression Splines, Annals of Statistics 19, 1991; drifts: Ikonomovska, "
    "Gama and Dzeroski, Learning Model Trees from Evolving Data Streams, DMKD 23, 2011 (River's gra has x6 for x5)",
    options=(
        option("rows", 200_000, "integer", low=1, meaning="length"),
        option("drift", "lea", "choice", choices=tuple(POSITIONS), meaning="kind of drift"),
        option(
            "positions",
            (),
            "numbers",
            low=0,
            high=1,
            meaning="where it changes, as shares of the length; none = 0.25/0.5/0.75 for lea, 0.5/0.75 for gra and gsg",
        ),
        option("window", 0.1, "number", low=0, high=1, meaning="gsg: share of the length in which concepts mix"),
        option("noise", 1.0, "number", low=0, high=1000, meaning="standard deviation of the target's noise"),
    ),
    shape=lambda values: (FEATURES, 1 + len(POSITIONS[values["drift"]])),
    task="regression",
    memory=lambda _: 0,
    drifts=_points,
    concepts=lambda values: (0, 1, 0) if values["drift"] == "gra" else range(1 + len(POSITIONS[values["drift"]])),
    window=_window,
    trace=_trace,
    fill=_fill,
    sample=_sample,
    label_noise="noise",
)
