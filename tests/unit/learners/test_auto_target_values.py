"""The experts of `auto` on single values of features, for targets."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.learners.auto.single_values import target_values
from driftway.learners.auto.single_values.value_table import KNOWN
from driftway.learners.contract import Array
from driftway.learners.engine.update_loop import DelayedRows
from driftway.learners.learner import Learner
from driftway.worker.state.delayed_labels.delay_simulator import DelaySimulator
from tests.support.learning import scores
from tests.support.oracle.auto.auto import Auto
from tests.support.oracle.protocol import run
from tests.support.oracle.standardize import Standardize


def categories(n: int, sizes: tuple[int, ...], noise: float = 0.5, seed: int = 1) -> tuple[Array, Array]:
    """Return rows of ids and of one normal feature, and targets: the sum of the values' effects, each of variance 1."""
    generator = np.random.default_rng(seed)
    ids = np.column_stack([generator.integers(0, size, n) for size in sizes])
    number = generator.standard_normal(n)
    y = number + noise * generator.standard_normal(n)
    for j, size in enumerate(sizes):
        y = y + generator.standard_normal(size)[ids[:, j]]
    return np.column_stack([ids, number]), y


def auto(X: Array, standardize: bool = True) -> Learner:
    return Spec.parse("auto").create(X.shape[1], 0, "regression", standardize)


def error(score: Array, y: Array) -> float:
    """Return the mean squared error of the second half."""
    return float(((score - y)[len(y) // 2 :] ** 2).mean())


def test_forecasts_equal_the_oracle() -> None:
    X, y = categories(820, (4, 5))
    y[::9] = np.nan
    learner = auto(X)
    score = scores(learner, X, y)
    plain = Auto(3, 0, "regression")
    expected = run(Standardize(plain, 3), X.tolist(), y.tolist())
    np.testing.assert_allclose(score, np.ravel(expected), rtol=1e-7, atol=1e-7)
    assert (learner.state["values.table.known"] > KNOWN).tolist() == [True, True, False]
    assert (learner.state["values.pairs.known"] > KNOWN).tolist() == [True, False, False]
    assert learner.state["values.loss"][1] < learner.state["values.loss"][0], "the mixture with them is the forecast"


def test_late_targets_are_learned_as_by_the_oracle() -> None:
    X, y = categories(480, (7, 12))
    learner, oracle = auto(X, standardize=False), Auto(3, 0, "regression")
    cache, waiting = learner.prediction_cache(len(X)), {}
    for event in range(len(X) + 40):
        for row, label in ((event, np.nan), (event - 40, None)):
            if 0 <= row < len(X):
                x, score = X[row : row + 1], np.empty((1, 1))
                slot = DelayedRows(np.array([row]), cache)
                expected = oracle.score(x[0].tolist())[0]
                learner.predict_then_update_delayed(
                    x, y[row : row + 1] if label is None else x[:, 0] * label, score, slot
                )
                if label is None:
                    oracle.learn_late(x[0].tolist(), float(y[row]), waiting.pop(row))
                else:
                    assert score[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-6), row
                    waiting[row] = oracle.cache(x[0].tolist())
    assert (learner.state["values.table.known"] > KNOWN).tolist() == [True, True, False]


def test_the_effects_of_300_values_without_order_are_learned() -> None:
    """The noise has a variance of 0.25; by bins of the number, the error is 1.2."""
    X, y = categories(12_000, (300,))
    assert error(scores(auto(X), X, y), y) < 0.35


def test_they_correct_what_the_others_forecast_from_the_last_targets() -> None:
    """The noise is a walk that returns slowly, with new steps of variance 0.25."""
    X, y = categories(12_000, (200,), noise=0.0)
    steps, level = 0.5 * np.random.default_rng(2).standard_normal(len(y)), 0.0
    for t in range(len(y)):
        level = 0.95 * level + steps[t]
        y[t] += level
    assert error(scores(auto(X), X, y), y) < 0.9, "without them it is 1.7"


def test_the_effects_of_pairs_of_values_are_learned() -> None:
    """The noise has a variance of 0.25, the effect of a pair one of 4, in which single values tell nothing."""
    generator = np.random.default_rng(5)
    X = np.column_stack([generator.integers(0, 24, 12_000), generator.integers(0, 7, 12_000)]).astype(float)
    effect = 2.0 * generator.standard_normal((24, 7))
    y = effect[X[:, 0].astype(int), X[:, 1].astype(int)] + 0.5 * generator.standard_normal(len(X))
    assert error(scores(auto(X), X, y), y) < 0.5


def test_without_values_that_return_forecasts_are_those_of_the_other_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(3).standard_normal((3000, 2))
    y = X[:, 0] + np.sin(X[:, 1])
    score, learner = scores(auto(X), X, y), auto(X)
    assert learner.experts()["values_level"] == learner.experts()["values_left"] == 0.0
    monkeypatch.setattr(target_values, "cost", lambda n: 10**9)
    others = auto(X)
    assert "values_level" not in others.experts()
    np.testing.assert_array_equal(scores(others, X, y), score)


def test_values_without_effect_do_not_make_the_forecast_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    X = np.column_stack([generator.integers(0, 200, (8000, 3)), generator.standard_normal(8000)])
    y = X[:, 3] + 0.5 * generator.standard_normal(8000)
    with_values = error(scores(auto(X), X, y), y)
    monkeypatch.setattr(target_values, "cost", lambda n: 10**9)
    assert with_values < 1.005 * error(scores(auto(X), X, y), y)


def test_values_are_learned_with_late_targets() -> None:
    X, y = categories(8000, (100,))
    delayed = DelaySimulator(200, auto(X))
    score, _ = delayed.run(delayed.arrange(X, y))
    assert error(score[:, 0], y) < 0.35
