"""Forecasts of a series: documented figures, the limit set by the noise, and differences.

See docs/algorithms/reference-results.md#learners-for-other-tasks.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from driftway.learners.spec import Spec
from tests.support.oracle.protocol import run
from tests.support.oracle.series_and_few_labels import OGD, ONS

BOTH = ("arma_ogd", "arma_ons")
STREAMS = {"sru1": (10_081, -1), "beijing_pm25": (20_000, -1), "electricity": (20_000, 3)}
"""Stream -> rows, and the column that is the series; -1 for the target."""

OVER_NO_CHANGE = {
    "arma_ogd": (1.33, 1.12, 1.03),
    "arma_ons": (0.97, 1.02, 0.98),
    "arma_ogd:diff=1": (0.81, 1.19, 0.98),
    "arma_ons:diff=1": (0.90, 1.10, 1.09),
}
NOISE = 1.5
"""Standard deviation of the innovations of the generated series."""


def learner_of(text):
    return Spec.parse(text).create(1, task="regression")


def forecasts(learner, y, X=None):
    score = np.empty((len(y), 1))
    learner.predict_then_update(np.zeros((len(y), 1)) if X is None else X, np.asarray(y, float), score)
    return score[:, 0]


@cache
def arma(seed, rows):
    """Generate y_t = 0.6 y_t-1 - 0.3 y_t-2 + e_t + 0.4 e_t-1, without the burn-in."""
    e = np.random.default_rng(seed).normal(0.0, NOISE, rows + 200)
    y = np.zeros(rows + 200)
    for t in range(2, len(y)):
        y[t] = 0.6 * y[t - 1] - 0.3 * y[t - 2] + e[t] + 0.4 * e[t - 1]
    return y[200:]


def error(text, y):
    return ((forecasts(learner_of(text), y) - y) ** 2).mean()


@pytest.mark.parametrize(("place", "stream"), list(enumerate(STREAMS)))
def test_errors_are_those_of_the_specification(real_streams, place, stream):
    rows, column = STREAMS[stream]
    X, y = real_streams.rows(stream, rows)
    y = np.ascontiguousarray(y if column < 0 else X[:, column])
    plain = error("no_change", y)
    for text, expected in OVER_NO_CHANGE.items():
        assert error(text, y) / plain == pytest.approx(expected[place], abs=0.011), text


def test_the_error_approaches_the_variance_of_the_noise():
    over_noise = {text: [error(text, arma(seed, 20_000)) / NOISE**2 for seed in range(9)] for text in BOTH}
    assert max(over_noise["arma_ogd"]) < 1.05
    # Newton steps never recover if the first targets are much closer to 0 than the others.
    assert np.median(over_noise["arma_ons"]) < 1.05
    assert error("no_change", arma(0, 20_000)) > 1.5 * NOISE**2


@pytest.mark.parametrize("text", BOTH)
def test_units_do_not_matter(text):
    y = arma(1, 300)
    for unit in (2.0**-40, 2.0**60):
        assert forecasts(learner_of(text), unit * y).tobytes() == (unit * forecasts(learner_of(text), y)).tobytes()


@pytest.mark.parametrize("text", BOTH)
def test_features_are_ignored(text):
    y, X = arma(2, 100), np.random.default_rng(0).normal(size=(100, 1))
    assert forecasts(learner_of(text), y).tobytes() == forecasts(learner_of(text), y, X).tobytes()


@pytest.mark.parametrize("text", BOTH)
def test_differences_extrapolate_before_anything_is_learned(text):
    y = [3.0, 5.0, 9.0, np.nan]
    assert forecasts(learner_of(f"{text}:diff=1"), y[:2]).tolist() == [0.0, 3.0]
    assert forecasts(learner_of(f"{text}:diff=2"), y[:3]).tolist() == [0.0, 3.0, 7.0]
    # The third target yields the first second difference, 2, from which nothing can be learned yet.
    learner = learner_of(f"{text}:diff=2")
    assert forecasts(learner, y)[3] == 13.0
    assert learner.state["past.value"][0] == 2.0


@pytest.mark.parametrize("text", [*BOTH, "arma_ons:diff=3"])
def test_a_target_out_of_range_is_skipped(text):
    y = arma(3, 60)
    learner, other = learner_of(text), learner_of(text)
    forecasts(learner, np.insert(y, 30, 1e200))
    forecasts(other, y)
    assert learner.state["skipped"][0] == 1
    learner.state["skipped"][0] = 0
    assert learner.state.memory.tobytes() == other.state.memory.tobytes()


@pytest.mark.parametrize("text", [*BOTH, "arma_ogd:diff=1", "arma_ons:diff=1"])
@pytest.mark.parametrize("wild", [1e6, -1e100])
def test_forecasts_recover_as_soon_as_an_extreme_target_is_past(text, wild):
    y, D = arma(6, 4_000), 1 if "diff" in text else 0
    broken = y.copy()
    broken[1_000] = wild
    plain, other = (forecasts(learner_of(text), series) - series for series in (y, broken))
    assert (other[:1_000] == plain[:1_000]).all()
    after = 1_000 + D + 1
    assert (other[after : after + 10] ** 2).mean() < 2.0 * (plain[after : after + 10] ** 2).mean()
    assert (other[after:] ** 2).mean() < 1.06 * (plain[after:] ** 2).mean()


@pytest.mark.parametrize(("text", "oracle", "D"), [("arma_ogd", OGD, 1), ("arma_ons", ONS, 0)])
def test_extreme_targets_are_learned_as_by_the_oracle(text, oracle, D):
    y = arma(6, 120)
    y[[10, 40, 41, 80, 110]] = 100.0, 1e9, -1e8, 7e4, 1e5
    learner = learner_of(f"{text}:lags=3,diff={D}")
    expected = np.array(run(oracle(1, 2, "regression", lags=3, diff=D), [[0.0]] * len(y), y.tolist()))
    np.testing.assert_allclose(forecasts(learner, y), expected[:, 0], rtol=1e-6, atol=1e-8)
    assert learner.state["skipped"][0] > 3


def test_a_lasting_change_of_scale_is_learned():
    y = arma(7, 6_000)
    y[3_000:] *= 1e4
    for text in BOTH:
        e = (forecasts(learner_of(text), y) - y)[4_000:]
        assert (e**2).mean() < 1.3 * (1e4 * NOISE) ** 2, text


@pytest.mark.parametrize("text", BOTH)
def test_coefficients_stay_within_the_radius(text):
    learner = learner_of(f"{text}:lags=1,radius=0.25")
    forecasts(learner, 10.0 + arma(4, 500))
    assert learner.state["gamma"].tolist() == [0.25]
