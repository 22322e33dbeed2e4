"""What `auto` does with targets of any unit, with extreme ones, and with jumps of their level."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from driftway.learners import create
from tests.support.oracle.auto.auto import Auto
from tests.support.oracle.protocol import run
from tests.unit.learners.test_auto import noise


def forecasts_on(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    score = np.empty((len(X), 1))
    create("auto", X.shape[1], task="regression").predict_then_update(X, y, score)
    return score[:, 0]


def errors_on(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the squared error of each row."""
    return (forecasts_on(X, y) - y) ** 2


def linear_targets(n: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and linear targets of deviation 1, with noise of deviation 0.3."""
    X = noise(n, 5)
    y = X @ np.random.default_rng(3).standard_normal(5)
    return X, y / y.std() + 0.3 * np.random.default_rng(9).standard_normal(n)


@cache
def clean_errors() -> np.ndarray:
    return errors_on(*linear_targets())


@pytest.mark.parametrize("d", [5, 100])
@pytest.mark.parametrize("unit", [2.0**20, 2.0**-20])
def test_the_unit_of_the_targets_makes_no_difference_from_the_second_on(d: int, unit: float) -> None:
    """Nothing is learned from the first target, whose deviation is not known. Powers of 2 round alike."""
    X = noise(300, d)
    y = X[:, :5].sum(axis=1)
    np.testing.assert_array_equal(forecasts_on(X, unit * y), unit * forecasts_on(X, y))


@pytest.mark.parametrize("d", [5, 100])
def test_a_constant_target_is_forecast_exactly(d: int) -> None:
    assert (forecasts_on(noise(100, d), np.full(100, 7.0))[1:] == 7.0).all(), "the second forecast was 12.3"


@pytest.mark.parametrize("at", [100, 1000, 5000])
@pytest.mark.parametrize("wild", [1e6, -1e6, 30.0])
def test_one_extreme_target_spoils_nothing(at: int, wild: float) -> None:
    (X, y), clean = linear_targets(), clean_errors()[at + 500 :].mean()
    y[at] = wild
    assert errors_on(X, y)[at + 500 :].mean() < 1.02 * clean, "it was 480 to 5000 times as much, for thousands of rows"


@pytest.mark.parametrize("d", [5, 100])
@pytest.mark.parametrize("at", [[0], [2], [0, 1, 2, 3, 4], [1, 20]])
def test_far_targets_among_the_first_spoil_nothing(at: list[int], d: int) -> None:
    """Among the first five none is called wild, and then the next far one is not either."""
    X = noise(4000, d)
    y = X[:, :5].sum(axis=1) / 5**0.5 + 0.3 * np.random.default_rng(9).standard_normal(4000)
    clean = errors_on(X, y)[2000:].mean()
    y[at] = 1e12 * (1.0 + np.arange(len(at)))
    assert errors_on(X, y)[2000:].mean() < 1.02 * clean, "it was 1e8 to 1e15 times as much for good"


def test_two_levels_are_no_far_targets() -> None:
    """Those of a machine, on and off by turns, then off for 512 rows: its scale holds all of them."""
    on = np.arange(1500) % 2.0
    on[512:1024] = 0.0
    y = 1e6 * on + np.random.default_rng(9).standard_normal(1500)
    learner, score = create("auto", 3, task="regression"), np.empty((1500, 1))
    learner.predict_then_update(np.c_[noise(1500, 2), on], y, score)
    assert learner.state["history.rows"][0] == 1500


def test_a_far_target_before_a_jump_spoils_nothing() -> None:
    """The trial that follows the jump begins with it."""
    (X, y), clean = linear_targets(4000), clean_errors()[2500:4000].mean()
    y[1000] = 1e12
    y[1001:] += 1000.0
    assert errors_on(X, y)[2500:].mean() < 1.1 * clean


@pytest.mark.parametrize("at", [100, 1000, 5000])
@pytest.mark.parametrize(("level", "scale"), [(1e6, 1.0), (-1e6, 1.0), (0.0, 1000.0), (1e6, 1000.0)])
def test_a_jump_of_the_targets_is_followed(at: int, level: float, scale: float) -> None:
    (X, y), clean = linear_targets(), clean_errors()
    y[at:] = level + scale * y[at:]
    errors = errors_on(X, y) / scale**2
    after = slice(at + 50, at + 250)
    assert errors[after].mean() < 1.3 * clean[after].mean()


def test_recurring_distant_targets_are_learned() -> None:
    """One target in a hundred is 1,000 deviations away from the others, and a feature indicates which."""
    rng = np.random.default_rng(5)
    X, noises, rare = noise(8000), 0.1 * rng.standard_normal(8000), rng.random(8000) < 0.01
    errors = errors_on(np.c_[X, rare], 100.0 * rare + noises)
    assert errors[4000:].mean() < 10.0, "100 if they are left out"


def test_targets_that_switch_between_two_levels_are_learned() -> None:
    X, on = noise(12_000), (np.arange(12_000) // 300 % 2).astype(float)
    errors = errors_on(np.c_[X, on], 1000.0 * on + np.random.default_rng(7).standard_normal(12_000))
    assert errors[6000:].mean() < 2.5, "6000 if each switch were learned anew"


@pytest.mark.parametrize("budget", [30.0, 0.05])
def test_extreme_targets_are_learned_as_by_the_oracle(budget: float) -> None:
    X, y = linear_targets(500)
    y[[30, 31, 60, 120, 122, 124]] = 1e6, -1e4, 50.0, 300.0, 400.0, -500.0
    y[200:] += 1e5  # followed
    y[300:] *= 30.0 * (np.random.default_rng(5).random(200) < 0.8)  # four of five are wild
    y[400:410] = np.nan
    equal_the_oracle(X, y, budget)


@pytest.mark.parametrize("budget", [30.0, 0.05])
def test_far_targets_among_the_first_are_to_the_learner_what_they_are_to_the_oracle(budget: float) -> None:
    X, y = linear_targets(200)
    y[[0, 3, 40]] = 1e8, -1e9, 1e7
    y[90:94] = np.nan
    equal_the_oracle(X, y, budget)


def equal_the_oracle(X: np.ndarray, y: np.ndarray, budget: float) -> None:
    score = np.empty((len(X), 1))
    create("auto", 5, task="regression", budget=budget).predict_then_update(X, y, score)
    expected = np.array(run(Auto(5, 0, "regression", budget=budget), X.tolist(), y.tolist()))
    np.testing.assert_allclose(score, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_targets_of_any_size_leave_a_finite_state(scale: float) -> None:
    y = scale * np.random.default_rng(2).standard_normal(300)
    learner, score = create("auto", 3, task="regression"), np.empty((300, 1))
    learner.predict_then_update(noise(300), y, score)
    assert np.isfinite(score).all()
    assert all(np.isfinite(learner.state[name].astype(float)).all() for name in learner.state)
