"""The expert of `auto` on single values of features: categories that are numbers without order."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.learners.auto.single_values import class_values
from driftway.learners.auto.single_values.value_table import KNOWN
from driftway.learners.contract import Array
from driftway.learners.learner import Learner
from driftway.worker.state.delayed_labels.delay_simulator import DelaySimulator
from tests.support.oracle.auto.auto import Auto
from tests.support.oracle.protocol import run
from tests.support.oracle.standardize import Standardize


def categories(n: int, sizes: tuple[int, ...], K: int = 2, seed: int = 1) -> tuple[Array, Array]:
    """Return rows of ids and of one normal feature, and classes by the sum of the values' effects."""
    generator = np.random.default_rng(seed)
    ids = np.column_stack([generator.integers(0, size, n) for size in sizes])
    number = generator.standard_normal(n)
    S = number[:, np.newaxis] * generator.standard_normal(K)
    for j, size in enumerate(sizes):
        S = S + 1.5 * generator.standard_normal((size, K))[ids[:, j]]
    classes = (S + generator.gumbel(size=S.shape)).argmax(axis=1)
    return np.column_stack([ids, number]), classes.astype(float)


def auto(X: Array, K: int = 2, parameters: str = "", standardize: bool = True) -> Learner:
    return Spec.parse(f"auto{parameters}").create(X.shape[1], K, "classification", standardize)


def scored(learner: Learner, X: Array, y: Array) -> Array:
    score = np.empty((len(X), learner.n_scores))
    learner.predict_then_update(X, y, score)
    return score


def accuracy(score: Array, y: Array) -> float:
    predicted = score[:, 0] > 0.0 if score.shape[1] == 1 else score.argmax(axis=1)
    return float((predicted == y)[len(y) // 2 :].mean())


@pytest.mark.parametrize(("K", "standardize"), [(2, False), (3, True)])
def test_scores_equal_the_oracle(K: int, standardize: bool) -> None:
    X, y = categories(700, (7, 20), K)
    y[::9] = np.nan
    given = {"budget": 0.8 if K == 2 else 1.3}
    learner = auto(X, K, f":budget={given['budget']}", standardize)
    score = scored(learner, X, y)
    plain = Auto(3, K, "binary" if K == 2 else "multiclass", **given)
    expected = run(Standardize(plain, 3) if standardize else plain, X.tolist(), y.tolist())
    np.testing.assert_allclose(score, expected, rtol=1e-7, atol=1e-7)
    assert (learner.state["values.table.known"] > KNOWN).tolist() == [True, True, False]


def test_the_effects_of_300_values_without_order_are_learned() -> None:
    """By bins of the number, the accuracy is 61 %; who knows the effects has 79."""
    X, y = categories(12_000, (300,))
    assert accuracy(scored(auto(X), X, y), y) > 0.75


def test_ids_may_be_any_numbers_and_come_with_other_features() -> None:
    X, y = categories(8000, (50, 100, 300), 5)
    X[:, :3] = np.random.default_rng(2).permutation(10.0**6 * np.arange(300))[X[:, :3].astype(int)]
    assert accuracy(scored(auto(X, 5), X, y), y) > 0.55


def test_without_values_that_return_scores_are_those_of_the_other_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(3).standard_normal((3000, 2))
    X[:, 1] = X[:, 1] > 0.0
    y = (X[:, 0] + X[:, 1] > 0.5).astype(float)
    score, learner = scored(auto(X), X, y), auto(X)
    assert learner.experts()["values"] == 0.0
    monkeypatch.setattr(class_values, "cost", lambda n, C: 10**9)
    others = auto(X)
    assert "values" not in others.experts()
    np.testing.assert_array_equal(scored(others, X, y), score)


def test_a_feature_whose_values_hardly_return_stops_being_counted() -> None:
    X, y = categories(1500, (20,))
    learner = auto(X)
    scored(learner, X, y)
    entered = learner.state["values.table.values"].copy()
    scored(learner, X, y)
    assert entered[1] > 900
    assert learner.state["values.table.values"].tolist() == entered.tolist(), (
        "all are known, or are not counted any more"
    )


def test_new_values_take_the_places_of_those_that_no_longer_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """90 values, 15 at a time, with 64 places; with enough places the accuracy is 80 %."""
    monkeypatch.setattr(class_values, "PLACES", 64)
    X, y = categories(12_000, (15,))
    X[:, 0] += 15.0 * (np.arange(len(X)) // 2000)
    learner = auto(X)
    score = scored(learner, X, y)
    assert learner.state["values.table.key"].shape == (64,)
    assert learner.state["values.table.known"][0] > KNOWN
    assert accuracy(score[10_000:], y[10_000:]) > 0.68


def test_values_are_learned_with_late_labels() -> None:
    X, y = categories(8000, (100,))
    delayed = DelaySimulator(200, auto(X))
    score, _ = delayed.run(delayed.arrange(X, y))
    assert accuracy(score, y) > 0.75


def test_minus_0_is_the_value_0() -> None:
    X, y = categories(2000, (30,))
    negative = X.copy()
    negative[:, 0] = np.where(X[:, 0] == 0.0, -0.0, X[:, 0])
    np.testing.assert_array_equal(scored(auto(X), X, y), scored(auto(X), negative, y))
