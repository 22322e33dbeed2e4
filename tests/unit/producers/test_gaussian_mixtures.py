"""The moving Gaussian mixtures: rows by the definition, separable as the paper demands, moving when declared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_stream_generators import Xoshiro, read

Mixture = list[list[list[float]]]


def draw(rng: Xoshiro, components: int) -> Mixture:
    return [
        [[2 * rng.uniform() - 1, 2 * rng.uniform() - 1, 0.1 + (0.3 - 0.1) * rng.uniform()] for _ in range(components)]
        for _ in range(2)
    ]


def moved(rng: Xoshiro, mixture: Mixture, step: float) -> Mixture:
    def mean(m: float) -> float:
        m += step * rng.normal()
        while abs(m) > 1:
            m = (2 if m > 0 else -2) - m
        return m

    return [
        [[mean(a), mean(b), min(0.3, max(0.1, sd * math.exp(0.5 * step * rng.normal())))] for a, b, sd in part]
        for part in mixture
    ]


def density(part: list[list[float]], x: list[float]) -> float:
    return sum(
        math.exp(-((x[0] - a) ** 2 + (x[1] - b) ** 2) / (2 * sd * sd)) / (2 * math.pi * sd * sd) for a, b, sd in part
    ) / len(part)


def naive(n: int, seed: int, stages: int, every: int, step: float, components: int = 2, delta: float = 0.5):
    """Return rows, labels, and per row the ln of the ratio of the true densities."""
    rng, stage, X, y, ratios = Xoshiro(seed), -1, [], [], []
    for t in range(n):
        if stages * t // n != stage:
            stage = stages * t // n
            mixture = draw(rng, components)
        elif t % every == 0:
            mixture = moved(rng, mixture, step)
        ratio = -math.inf
        while ratio <= delta:
            label = int(rng.uniform() < 0.5)
            a, b, sd = mixture[label][int(rng.uniform() * components)]
            x = [a + sd * rng.normal()]
            x.append(b + sd * rng.normal())
            own, other = density(mixture[label], x), density(mixture[1 - label], x)
            ratio = math.log(own / other) if other else math.inf
        X.append(x)
        y.append(float(label))
        ratios.append(ratio)
    return np.array(X), np.array(y), np.array(ratios)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("gaussian_mixture_drift:rows=900", (1, 10, 0.05)),
        ("gaussian_mixture_drift:rows=300,every=1,step=0.9,components=3,delta=0", (1, 1, 0.9, 3, 0.0)),
        ("gaussian_mixture_switch:rows=900", (10, 10**9, 0.0)),
        ("gaussian_mixture_switch:rows=200,stages=7,components=1,delta=2", (7, 10**9, 0.0, 1, 2.0)),
    ],
)
def test_rows_are_those_of_the_definition(name: str, arguments: tuple[float, ...]) -> None:
    stream = open_stream(name, seed=6)
    X, y = read(stream, size=37)
    expected = naive(stream.rows, 6, *arguments)
    assert y.tolist() == expected[1].tolist()
    np.testing.assert_allclose(X, expected[0], rtol=0, atol=1e-12)


def test_defaults_are_the_papers() -> None:
    drift, switch = open_stream("gaussian_mixture_drift"), open_stream("gaussian_mixture_switch")
    assert (drift.rows, drift.n_features, drift.drift_points) == (10_000, 2, ())
    assert (switch.rows, switch.n_features) == (10_000, 2)
    assert switch.drift_points == tuple(range(1000, 10_000, 1000))


@pytest.mark.parametrize("name", ["gaussian_mixture_drift", "gaussian_mixture_switch"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_row_lies_near_the_boundary_and_the_classes_balance(name: str, seed: int) -> None:
    _, y = read(open_stream(name, seed=seed))
    assert y.mean() == pytest.approx(0.5, abs=0.04)
    nearest = {"gaussian_mixture_drift": (1, 10, 0.05), "gaussian_mixture_switch": (10, 10**9, 0.0)}[name]
    assert naive(1000, seed, *nearest)[2].min() > 0.5


def nearest_neighbour_hits(X: np.ndarray, y: np.ndarray, edge: int, window: int) -> float:
    """Return the share of the `window` rows from `edge` on with the class of the nearest of the rows before it."""
    old, new = slice(edge - window, edge), slice(edge, edge + window)
    distance = ((X[new, None] - X[None, old]) ** 2).sum(axis=2)
    return float((y[old][distance.argmin(axis=1)] == y[new]).mean())


def test_a_switch_changes_the_concept_and_nothing_changes_in_between() -> None:
    X, y = read(open_stream("gaussian_mixture_switch", seed=4))
    across = [nearest_neighbour_hits(X, y, edge, 400) for edge in range(1000, 10_000, 1000)]
    within = [nearest_neighbour_hits(X, y, edge + 500, 400) for edge in range(0, 10_000, 1000)]
    assert np.mean(across) < 0.7
    assert min(within) > 0.95


def test_drift_is_slow_and_accumulates() -> None:
    X, y = read(open_stream("gaussian_mixture_drift", seed=4))
    assert np.mean([nearest_neighbour_hits(X, y, edge, 20) for edge in range(100, 9900, 100)]) > 0.85
    still = read(open_stream("gaussian_mixture_drift:step=0", seed=4))
    assert nearest_neighbour_hits(*still, 5000, 400) > 0.95
    later = []
    for i in range(0, 6000, 100):
        old_and_new = np.r_[i : i + 20, i + 3000 : i + 3020]
        later.append(nearest_neighbour_hits(X[old_and_new], y[old_and_new], 20, 20))
    assert np.mean(later) < 0.75


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gaussian_mixture_drift:delta=-1", "gaussian_mixture_drift: delta must be a number from 0 to 5, got -1"),
        ("gaussian_mixture_drift:every=0", "gaussian_mixture_drift: every must be a whole number of at least 1, got 0"),
        (
            "gaussian_mixture_switch:every=5",
            "gaussian_mixture_switch has no parameter 'every'; available: rows, components, delta, stages, seed",
        ),
        ("gaussian_mixture_switch:rows=5", "gaussian_mixture_switch: rows must be at least the 10 stages, got 5"),
    ],
)
def test_a_bad_option_is_refused_in_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        open_stream(name)
    assert str(failure.value) == sentence
