"""Friedman's function and its three drifts: every target by the published formula, and by River's where it agrees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from river.datasets import synth

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_stream_generators import Xoshiro, read


def f(x: np.ndarray, *order: int) -> float:
    """The paper's y = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5, features in this order, counted from 1."""
    a, b, c, d, e = (x[i - 1] for i in order)
    return 10 * math.sin(math.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e


def local(stage: int, x: np.ndarray) -> float:
    _, x2, x3, x4, x5 = x[:5]
    first = [x2 < 0.3, x3 < 0.3, x4 > 0.7, x5 < 0.3][: 5 - stage]
    second = [x2 > 0.7, x3 > 0.7, x4 < 0.3, x5 > 0.7][: 5 - stage]
    if stage and all(first):
        return 10 * x[0] * x2 + 20 * (x3 - 0.5) + 10 * x4 + 5 * x5
    if stage and all(second):
        return 10 * math.cos(x[0] * x2) + 20 * (x3 - 0.5) + math.exp(x4) + 5 * x5 * x5
    return f(x, 1, 2, 3, 4, 5)


ORDERS = ((1, 2, 3, 4, 5), (4, 5, 2, 1, 3), (2, 5, 4, 3, 1))


def truth(drift: str, concept: int, x: np.ndarray) -> float:
    if drift == "lea":
        return local(concept, x)
    return f(x, *ORDERS[0 if drift == "gra" and concept == 2 else concept])


def naive(n: int, seed: int, drift: str, points: tuple[int, ...], window: int, noise: float) -> tuple:
    rng, X, y = Xoshiro(seed), [], []
    for t in range(n):
        x = np.array([rng.uniform() for _ in range(10)])
        concept = sum(t >= point for point in points)
        if drift == "gsg":
            old = rng.uniform() < 0.5
            concept -= old and any(point <= t < point + window for point in points)
        X.append(x)
        y.append(truth(drift, concept, x) + noise * rng.normal())
    return np.array(X), np.array(y)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", ("lea", (250, 500, 750), 0, 1.0)),
        (",drift=gra,noise=0", ("gra", (500, 750), 0, 0.0)),
        (",drift=gsg,positions=0.2/0.7,window=0.3,noise=2", ("gsg", (200, 700), 300, 2.0)),
        (",drift=none", ("none", (), 0, 1.0)),
    ],
)
def test_rows_are_those_of_the_definition(options: str, arguments: tuple) -> None:
    stream = open_stream(f"friedman:rows=1000{options}", seed=6)
    X, y = read(stream, size=37)
    expected = naive(1000, 6, *arguments)
    assert stream.drift_points == arguments[1]
    assert stream.task == "regression"
    assert stream.labels is None
    assert X.tobytes() == expected[0].tobytes()
    np.testing.assert_allclose(y, expected[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_gradual_drift_mixes_concepts_only_in_its_window(seed: int) -> None:
    X, y = read(open_stream("friedman:drift=gsg,rows=20,window=0.2,noise=0", seed=seed))
    expected = naive(20, seed, "gsg", (10, 15), 4, 0.0)
    assert X.tobytes() == expected[0].tobytes()
    np.testing.assert_allclose(y, expected[1], rtol=0, atol=1e-12)


def rivers(drift: str, points: tuple[int, ...], X: np.ndarray, window: int = 0) -> list[float]:
    made = synth.FriedmanDrift(drift_type=drift, position=points, transition_window=window, seed=1)
    return [made._y_maker(row, t) for t, row in enumerate(X.tolist())]


def test_local_expanding_drift_equals_rivers() -> None:
    stream = open_stream("friedman:rows=20000,noise=0")
    X, y = read(stream)
    assert stream.drift_points == (5000, 10_000, 15_000)
    np.testing.assert_allclose(y, rivers("lea", stream.drift_points, X), rtol=0, atol=1e-12)
    # The regions hold 2 * 0.3^4, 2 * 0.3^3 and 2 * 0.3^2 of the cube.
    plain = np.array([f(x, 1, 2, 3, 4, 5) for x in X])
    changed = [(np.abs(y - plain)[low : low + 5000] > 1e-9).mean() for low in range(0, 20_000, 5000)]
    assert changed == pytest.approx([0, 2 * 0.3**4, 2 * 0.3**3, 2 * 0.3**2], abs=0.016)
    assert changed[0] == 0 < changed[1] < changed[2] < changed[3]


def test_global_recurring_drift_equals_rivers_except_for_the_sixth_feature() -> None:
    """River puts x6 into the drifted product, where only x1 to x5 can be relevant."""
    stream = open_stream("friedman:rows=8000,drift=gra,noise=0")
    X, y = read(stream)
    assert stream.drift_points == (4000, 6000)
    swapped = X.copy()
    swapped[4000:6000, 5] = X[4000:6000, 4]
    np.testing.assert_allclose(y, rivers("gra", stream.drift_points, swapped), rtol=0, atol=1e-12)


def test_gradual_drift_mixes_half_and_half_in_its_windows_and_equals_rivers_elsewhere() -> None:
    stream = open_stream("friedman:rows=40000,drift=gsg,noise=0")
    X, y = read(stream)
    assert stream.drift_points == (20_000, 30_000)
    new = np.array([[f(x, *order) for order in ORDERS] for x in X])
    outside = np.ones(40_000, bool)
    for k, point in enumerate(stream.drift_points):
        inside = slice(point, point + 4000)
        outside[inside] = False
        old, after = np.isclose(y[inside], new[inside, k]), np.isclose(y[inside], new[inside, k + 1])
        assert (old | after).all()
        assert after.mean() == pytest.approx(0.5, abs=0.04)
        assert after[0:2000].mean() == pytest.approx(after[2000:].mean(), abs=0.06)
    theirs = np.array(rivers("gsg", stream.drift_points, X, 4000))
    np.testing.assert_allclose(y[outside], theirs[outside], rtol=0, atol=1e-12)


def test_features_are_uniform_and_the_noise_is_standard_normal() -> None:
    X, y = read(open_stream("friedman:drift=none,rows=100000"))
    same, clean = read(open_stream("friedman:drift=none,rows=100000,noise=0"))
    assert X.tobytes() == same.tobytes()
    assert X.mean(axis=0) == pytest.approx(0.5, abs=0.004)
    assert X.var(axis=0) == pytest.approx(1 / 12, abs=0.0015)
    noise = y - clean
    assert (noise.mean(), noise.std()) == (pytest.approx(0, abs=0.013), pytest.approx(1, abs=0.01))
    assert (np.abs(noise) < 1.96).mean() == pytest.approx(0.95, abs=0.004)
    # E[sin(pi u v)] term by term: E[(u v)^m] = 1 / (m + 1)^2.
    terms = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) / (2 * k + 2) ** 2 for k in range(20)]
    product = 10 * sum(terms)
    assert clean.mean() == pytest.approx(product + 20 / 12 + 7.5, abs=0.07)


@pytest.mark.parametrize(
    ("drift", "row", "concept"), [("lea", 60_000, 1), ("lea", 199_999, 3), ("gra", 100_000, 1), ("gsg", 140_000, 1)]
)
def test_holdout_rows_come_from_the_concept_in_force(drift: str, row: int, concept: int) -> None:
    X, y = open_stream(f"friedman:drift={drift}").holdout(row, 400, seed=1)
    np.testing.assert_allclose(y, [truth(drift, concept, x) for x in X], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("drift=abc", "drift must be one of lea, gra, gsg, none, got abc"),
        ("positions=0.5", "drift=lea takes 3 ascending positions inside the 200000 rows, got 0.5"),
        ("drift=gra,positions=.5/.5,rows=9", "drift=gra takes 2 ascending positions inside the 9 rows, got 0.5/0.5"),
        ("drift=gra,positions=0/.5,rows=9", "drift=gra takes 2 ascending positions inside the 9 rows, got 0/0.5"),
        ("drift=none,positions=.5,rows=9", "drift=none takes 0 ascending positions inside the 9 rows, got 0.5"),
        ("drift=gsg,window=0.3", "window=0.3 is longer than the first new concept"),
    ],
)  # fmt: skip
def test_a_bad_option_is_refused_in_one_sentence(options: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        open_stream(f"friedman:{options}")
    assert str(failure.value) == f"friedman: {sentence}"


def test_classes_cannot_be_named() -> None:
    with pytest.raises(UsageFailure, match="friedman has no classes, not the 2 labels a,b"):
        open_stream("friedman", labels=("a", "b"))
