"""Late labels of learners that predict from earlier labels: they are learned from as by their oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftway.learners.engine.update_loop import NOT_DELAYED, DelayedRows
from driftway.learners.learner import Learner
from driftway.learners.spec import Spec
from driftway.worker.state.delayed_labels.delay_simulator import DelaySimulator
from tests.support.oracle.series_and_few_labels import OGD, ONS
from tests.support.oracle.state_space import HMM
from tests.unit.learners.test_auto_late_labels import operations

ROWS = 500


def series(K: int) -> np.ndarray:
    """Return autoregressive targets with outliers, or labels of `K` classes that go round and sometimes stay."""
    rng = np.random.default_rng(2)
    if K:
        return np.asarray(np.cumsum(rng.random(ROWS) < 0.8) % K, float)
    y = np.zeros(ROWS)
    for t in range(2, ROWS):
        y[t] = 1.2 * y[t - 1] - 0.4 * y[t - 2] + rng.normal()
    y[[150, 151, 300]] = 1e5, -1e9, 300.0
    return y


def create(text: str, K: int = 0) -> Learner:
    return Spec.parse(text).create(1, n_classes=K) if K else Spec.parse(text).create(1, task="regression")


@pytest.mark.parametrize(
    ("text", "oracle", "K"),
    [
        ("arma_ogd:lags=4", OGD, 0),
        ("arma_ogd:lags=3,diff=2", OGD, 0),
        ("arma_ons:lags=4", ONS, 0),
        ("arma_ons:lags=3,diff=1", ONS, 0),
        ("hmm_filter", HMM, 2),
        ("hmm_filter:states=4", HMM, 3),
    ],
)
def test_late_labels_are_learned_from_as_by_the_oracle(text: str, oracle: Any, K: int) -> None:
    learner = create(text, K)
    plain = oracle(1, K, learner.kind, **{name: int(value) for name, value in Spec.parse(text).parameters})
    y, x, kept = series(K), np.zeros((1, 1)), dict[int, Any]()
    cache, score = learner.prediction_cache(ROWS), np.empty((1, learner.n_scores))
    predicted, expected = [], []
    for row, is_prediction, known in operations(np.zeros((ROWS, 1)), y, 7):
        label = y[row : row + 1] if known else np.full(1, np.nan)
        slot = np.full(1, NOT_DELAYED if is_prediction and known else row)
        learner.predict_then_update_delayed(x, label, score, DelayedRows(slot, cache))
        if is_prediction:
            predicted.append(score[0].copy())
            expected.append(plain.score([0.0]))
        if known and not is_prediction:
            plain.learn_late([0.0], float(y[row]), kept.pop(row))
        elif known:
            plain.learn([0.0], float(y[row]))
        else:
            kept[row] = plain.cache([0.0])
    np.testing.assert_allclose(predicted, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("text", "K"), [("arma_ogd:diff=1", 0), ("arma_ons", 0), ("hmm_filter", 3)])
def test_a_label_that_comes_before_the_next_row_gives_the_same_bits(text: str, K: int) -> None:
    y, X = series(K), np.zeros((ROWS, 1))
    at_once, late = create(text, K), create(text, K)
    score = np.empty((ROWS, at_once.n_scores))
    at_once.predict_then_update(X, y, score)
    twice = np.repeat(y, 2)
    twice[::2] = np.nan
    late_score = np.empty((2 * ROWS, late.n_scores))
    slots = np.repeat(np.arange(ROWS), 2)
    late.predict_then_update_delayed(
        np.zeros((2 * ROWS, 1)), twice, late_score, DelayedRows(slots, late.prediction_cache(ROWS))
    )
    assert late_score[::2].tobytes() == score.tobytes()
    assert late.state.memory.tobytes() == at_once.state.memory.tobytes()


@pytest.mark.parametrize("text", ["arma_ogd", "arma_ons"])
def test_targets_far_behind_are_forecast_better_than_as_the_last_one(text: str) -> None:
    rng, n, late = np.random.default_rng(0), 5_000, 100
    y = np.zeros(n)
    for t in range(2, n):
        y[t] = 1.2 * y[t - 1] - 0.4 * y[t - 2] + rng.normal()
    learner = create(text)
    delayed = DelaySimulator(late, learner)
    score, _ = delayed.run(delayed.arrange(np.zeros((n, 1)), y))
    of_the_last = np.mean((y[late + 1 :] - y[: -late - 1]) ** 2)
    assert np.mean((score[late + 1 :, 0] - y[late + 1 :]) ** 2) < 0.9 * of_the_last
