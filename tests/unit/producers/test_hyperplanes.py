"""The rotating and the regression hyperplane: rows by the definition, moments, drift where it is declared."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_stream_generators import Xoshiro, read


def naive_rotating(n: int, seed: int, d: int, k: int, mag: float, sigma: float, noise: float):
    """Return features, labels, and per row the weights in force."""
    rng, X, y, weights = Xoshiro(seed), [], [], []
    a, sense = [rng.uniform() for _ in range(d)], [1] * k
    for t in range(n):
        if t:
            for j in range(k):
                a[j] += sense[j] * mag
                sense[j] *= -1 if rng.uniform() < sigma else 1
        x = [rng.uniform() for _ in range(d)]
        label = sum(w * v for w, v in zip(a, x, strict=True)) >= sum(a) / 2
        X.append(x)
        y.append(float(label != (rng.uniform() < noise)))
        weights.append(list(a))
    return np.array(X), np.array(y), np.array(weights)


def naive_regression(n: int, seed: int, noise: float):
    rng, X, y = Xoshiro(seed), [], []
    for t in range(n):
        x = [rng.uniform() for _ in range(10)]
        i = (1, 2, 4, 7)[4 * t // n]
        X.append(x)
        y.append((x[i - 1] + x[i] + x[i + 1]) / 3 + noise * (2 * rng.uniform() - 1))
    return np.array(X), np.array(y)


@pytest.mark.parametrize(
    ("options", "given"),
    [("", (10, 2, 0.001, 0.1, 0.05)), (",d=3,k=3,mag=0.2,sigma=0.5,noise=0.3", (3, 3, 0.2, 0.5, 0.3))],
)
def test_rotating_equals_the_oracle(options: str, given: tuple[int, int, float, float, float]) -> None:
    X, y = read(open_stream(f"hyperplane_rotating:rows=3000{options}", seed=8), size=101)
    expected = naive_rotating(3000, 8, *given)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("rows", [2000, 997])
def test_regression_equals_the_oracle(rows: int) -> None:
    X, y = read(open_stream(f"hyperplane_regression:rows={rows}", seed=8), size=101)
    expected = naive_regression(rows, 8, 0.1)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


def test_defaults_are_those_of_the_definitions() -> None:
    rotating, regression = open_stream("hyperplane_rotating"), open_stream("hyperplane_regression")
    assert (rotating.rows, rotating.n_features, rotating.drift_points) == (90_000, 10, ())
    assert (regression.rows, regression.n_features) == (2000, 10)
    assert regression.drift_points == (500, 1000, 1500)
    assert (rotating.task, regression.task) == ("classification", "regression")


def first_weights(seed: int, d: int) -> np.ndarray:
    rng = Xoshiro(seed)
    return np.array([rng.uniform() for _ in range(d)])


@pytest.mark.parametrize(("sigma", "steps"), [(0, lambda t: t), (1, lambda t: t % 2)])
def test_rotating_moves_the_first_weights_alone_by_mag_a_row(sigma: int, steps) -> None:
    """With sigma = 0 the weights grow steadily; with sigma = 1 they go back and forth."""
    mag, k, d = 0.002, 2, 5
    X, y = read(open_stream(f"hyperplane_rotating:noise=0,rows=8000,mag={mag},d={d},k={k},sigma={sigma}", seed=2))
    moves = mag * np.array([steps(t) for t in range(8000)])
    weights = first_weights(2, d) + np.outer(moves, np.arange(d) < k)
    assert ((((X - 0.5) * weights).sum(axis=1) >= 0) == y).all()


def test_rotating_classes_balance_and_noise_flips_its_share() -> None:
    noisy, clean = read(open_stream("hyperplane_rotating")), read(open_stream("hyperplane_rotating:noise=0"))
    assert noisy[0].tobytes() == clean[0].tobytes()
    # 90,000 rows: four deviations of a share of 0.5 are 0.0067, of 0.05 0.0029.
    assert clean[1].mean() == pytest.approx(0.5, abs=0.0067)
    assert (noisy[1] != clean[1]).mean() == pytest.approx(0.05, abs=0.0029)
    assert clean[0].mean(axis=0) == pytest.approx(0.5, abs=0.004)
    assert clean[0].var(axis=0) == pytest.approx(1 / 12, abs=0.001)


def test_rotating_turns_slowly_and_far() -> None:
    """A plane fitted to 5,000 rows still fits the next 1,000, but not those 50,000 later; with k = 0 it fits all."""

    def served(options: str) -> tuple[float, float]:
        X, y = read(open_stream(f"hyperplane_rotating:noise=0{options}", seed=3))
        fitted = np.linalg.lstsq(X[:5000] - 0.5, y[:5000] - 0.5, rcond=None)[0]
        right = ((X - 0.5) @ fitted >= 0) == y
        return right[5000:6000].mean(), right[55_000:60_000].mean()

    soon, late = served(",sigma=0,mag=0.00005")
    assert soon > 0.9
    assert late < 0.8
    assert min(served(",k=0")) > 0.95


def test_regression_target_is_the_mean_of_three_features_of_its_stage() -> None:
    stream = open_stream("hyperplane_regression", rows=40_000)
    X, y = read(stream)
    for i, (low, high) in zip((1, 2, 4, 7), pairwise((0, *stream.drift_points, stream.rows)), strict=True):
        mean = X[low:high, i - 1 : i + 2].mean(axis=1)
        noise = y[low:high] - mean
        assert np.abs(noise).max() <= 0.1
        # 10,000 rows: four deviations. The noise is uniform: variance 0.2^2 / 12, independent of the target.
        assert noise.mean() == pytest.approx(0, abs=4 * 0.2 / np.sqrt(12 * 10_000))
        assert noise.var() == pytest.approx(0.04 / 12, rel=0.04)
        assert abs(np.corrcoef(noise, mean)[0, 1]) < 0.04
        assert y[low:high].mean() == pytest.approx(0.5, abs=0.008)
        assert y[low:high].var() == pytest.approx(1 / 36 + 0.04 / 12, rel=0.06)
        fitted = np.linalg.lstsq(X[low:high], y[low:high], rcond=None)[0]
        assert fitted == pytest.approx(np.where(np.isin(np.arange(1, 11), (i, i + 1, i + 2)), 1 / 3, 0), abs=0.01)


def test_regression_thresholded_at_a_half_gives_two_classes() -> None:
    stream = open_stream("hyperplane_regression:threshold=1")
    target, classes = read(open_stream("hyperplane_regression")), read(stream)
    assert stream.task == "classification"
    assert target[0].tobytes() == classes[0].tobytes()
    assert ((target[1] > 0.5) == classes[1]).all()
    assert set(classes[1]) == {0.0, 1.0}
    assert classes[1].mean() == pytest.approx(0.5, abs=0.045)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("hyperplane_rotating:k=11", "hyperplane_rotating: k must be at most d = 10, got 11"),
        ("hyperplane_rotating:sigma=1.1", "hyperplane_rotating: sigma must be a number from 0 to 1, got 1.1"),
        ("hyperplane_regression:noise=-1", "hyperplane_regression: noise must be a number of at least 0, got -1"),
        ("hyperplane_regression:rows=3", "hyperplane_regression: rows must be at least the 4 stages, got 3"),
        (
            "hyperplane_regression:threshold=2",
            "hyperplane_regression: threshold must be a whole number from 0 to 1, got 2",
        ),
    ],
)
def test_a_bad_option_is_refused_in_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        open_stream(name)
    assert str(failure.value) == sentence


def test_class_names_are_refused_for_regression() -> None:
    with pytest.raises(UsageFailure, match="hyperplane_regression has no classes, not the 2 labels a,b"):
        open_stream("hyperplane_regression", labels=("a", "b"))
    assert open_stream("hyperplane_regression:threshold=1", labels=("a", "b")).labels == ("a", "b")
