"""The parameters required by KSW's theorems: their formulas as printed, and the bounds on real runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.hindsight.tuning import balance, tune_alma, tune_norma

CASES = [(1.0, 1e-6, 2.0), (0.3, 5.0, 0.7), (2.0, 1e6, 1.0), (1.0, 1.0, 1e6)]


@pytest.mark.parametrize(("x", "R", "S"), CASES)
def test_h_is_as_printed_and_minimises_the_function_of_lemma_2(x, R, S):
    def f(z):
        return R / (x - z) + S / (z * (x - z))

    h = balance(x, R, S)
    assert h == pytest.approx(math.sqrt(S / R * (x + S / R)) - S / R, rel=1e-4)  # the printed form cancels
    assert 0.0 < h < x
    assert f(h) <= min(f(z) for z in np.linspace(x / 1000, x - x / 1000, 2001))
    least = R / x + 2.0 * S / x**2 + 2.0 * math.sqrt(R / x + S / x**2) * math.sqrt(S / x**2)
    assert f(h) == pytest.approx(least, rel=1e-9)
    assert balance(x, 0.0, S) == x / 2.0


def test_without_noise_and_drift_it_is_the_perceptron_bound():
    X, B, mu = 3.0, 2.0, 0.5
    tuned = tune_alma(X, B, mu, rho=0.0)
    assert tuned.bound == pytest.approx((X * B / mu) ** 2)
    assert tuned.parameters == {"alpha": mu / X**2, "B": B, "rho": 0.0, "p": 2.0}
    assert tune_norma(X, B, mu, 100, rho=0.0).parameters["lam"] == 0.0
    assert tune_norma(X, B, mu, 100, rho=0.0).bound == tuned.bound
    assert tune_alma(X, B, mu).parameters["rho"] == pytest.approx(mu / 2.0), "the other setting of theorem 2"


@pytest.mark.parametrize("p", [2.0, 6.0])
@pytest.mark.parametrize("rho", [None, 0.0, 0.2])
def test_alma_follows_theorems_1_and_2(p, rho):
    X, B, mu, K, D = 1.5, 2.0, 0.6, 30.0, 4.0
    tuned = tune_alma(X, B, mu, K, D, p, rho)
    C = (p - 1.0) / 4.0 * X**2 * (B**2 + 2.0 * B * D)
    gap = mu if rho is None else mu - rho
    h = math.sqrt(C / K * (gap + C / K)) - C / K
    assert tuned.parameters["alpha"] == pytest.approx(2.0 * h / ((p - 1.0) * X**2))
    assert tuned.parameters["rho"] == pytest.approx(mu - h if rho is None else rho)
    assert tuned.bound == pytest.approx(K / (gap - h) + C / (h * (gap - h)))


@pytest.mark.parametrize("rho", [None, 0.0, 0.2])
def test_norma_follows_theorems_3_and_4(rho):
    X, B, mu, T, K, D1, D2, p = 1.5, 2.0, 0.6, 900, 30.0, 4.0, 0.05, 4.0
    tuned = tune_norma(X, B, mu, T, K, D1, D2, p, rho)
    C = (p - 1.0) / 4.0 * X**2 * (B**2 + B * (math.sqrt(T * D2) + D1))
    gap = mu if rho is None else mu - rho
    h = math.sqrt(C / K * (gap + C / K)) - C / K
    unshrunk = 2.0 * h / ((p - 1.0) * X**2)
    alpha, lam = tuned.parameters["alpha"], tuned.parameters["lam"]
    assert lam == pytest.approx(math.sqrt(D2 / T) / (B * unshrunk))
    # theta <- (1 - alpha lam) (theta + alpha' y x) is the step of the proof, so alpha' (1 - alpha lam) = alpha.
    assert alpha == pytest.approx(unshrunk * (1.0 - alpha * lam))
    assert alpha * lam < 1.0
    assert tuned.parameters["rho"] == pytest.approx(mu - h if rho is None else rho)
    assert tuned.bound == pytest.approx(K / (gap - h) + C / (h * (gap - h)))


@pytest.mark.parametrize("p", [2.0, 4.0])
@pytest.mark.parametrize("rho", [None, 0.0, 0.1])
def test_the_bounds_hold_for_a_target_that_turns(p, rho):
    rng = np.random.default_rng(6)
    T, mu, q = 4000, 0.3, p / (p - 1.0)
    angle = np.cumsum(rng.uniform(0.0, 1e-3, T + 1))
    targets = np.stack([np.cos(angle), np.sin(angle), np.zeros(T + 1)], axis=1)
    rows = rng.standard_normal((T, 3))
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    margin = (rows * targets[:-1]).sum(axis=1)
    sign = np.where(rng.random(T) < 0.02, -1.0, 1.0) * np.where(margin >= 0.0, 1.0, -1.0)
    steps = (np.abs(np.diff(targets, axis=0)) ** q).sum(axis=1) ** (1.0 / q)
    known = {
        "X": (np.abs(rows) ** p).sum(axis=1).max() ** (1.0 / p),
        "B": (np.abs(targets) ** q).sum(axis=1).max() ** (1.0 / q),
        "mu": mu,
        "K": np.maximum(0.0, mu - sign * margin).sum(),
        "p": p,
        "rho": rho,
    }
    for name, tuned in (
        ("alma", tune_alma(D=steps.sum(), **known)),
        ("norma", tune_norma(T=T, D1=steps.sum(), D2=(steps**2).sum(), **known)),
    ):
        learner = learners.create(name, 3, intercept=False, **tuned.parameters)
        score = np.empty((T, 1))
        learner.predict_then_update(rows, (sign > 0).astype(float), score)
        wrong = (sign * score[:, 0] <= (rho or 0.0)).sum()
        assert 0 < wrong <= tuned.bound
        assert tuned.bound < T, "or it would say nothing"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": 0.0}, "X must be > 0"),
        ({"B": -1.0}, "B must be > 0"),
        ({"mu": 0.0}, "mu must be > 0"),
        ({"mu": "much"}, "mu must be a number"),
        ({"K": -1.0}, "K must be >= 0"),
        ({"p": 1.5}, "p must be >= 2"),
        ({"rho": 0.5}, "rho must be < 0.5"),
        ({"rho": -0.1}, "rho must be >= 0"),
        ({"D": -1.0}, "D must be >= 0"),
        ({"T": 0}, "T must be >= 1"),
        ({"D1": -1.0}, "D1 must be >= 0"),
        ({"D2": math.inf}, "D2 must be finite"),
    ],
)
def test_what_the_theorems_exclude_is_refused(given, message):
    known = {"X": 1.0, "B": 1.0, "mu": 0.5, **given}
    of_norma = bool(set(given) & {"T", "D1", "D2"})
    with pytest.raises(ParameterError, match=message):
        tune_norma(**{"T": 10, **known}) if of_norma else tune_alma(**known)
