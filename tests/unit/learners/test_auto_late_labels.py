"""`auto` learns from late labels as its oracle does, and they cost little more than what nobody could know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftway.learners import create
from driftway.learners.engine.update_loop import NOT_DELAYED, DelayedRows
from driftway.worker.state.delayed_labels.delay_simulator import DelaySimulator
from tests.support.oracle.auto.auto import Auto

N = 4


def stream(task: str, K: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, N))
    X[:, 3] = rng.integers(0, 6, rows)  # values that return
    level = np.cumsum(rng.normal(size=rows)) * 0.3 + X[:, 0] - 0.5 * X[:, 1]
    if task == "regression":
        level[150:154] = 1e6  # more than one outlier in succession
        return X, 100.0 + level
    return X, np.clip(np.floor(0.5 * level) % K, 0, K - 1)


def operations(X: np.ndarray, y: np.ndarray, seed: int) -> list[tuple[int, bool, bool]]:
    """(row, whether it is its prediction, whether its label is known) in order; a third of the labels are not late."""
    rng = np.random.default_rng(seed)
    due: list[tuple[int, int]] = []
    found = []
    for t in range(len(X)):
        found += [(row, False, True) for at, row in sorted(due) if at <= t]
        due = [(at, row) for at, row in due if at > t]
        late = bool(rng.random() < 2 / 3) and t > 2
        found.append((t, True, not late))
        if late:
            due.append((t + int(rng.integers(1, 25)), t))
    return found


@pytest.mark.parametrize(("task", "K"), [("classification", 2), ("classification", 3), ("regression", 0)])
def test_late_labels_are_learned_from_as_by_the_oracle(task: str, K: int) -> None:
    X, y = stream(task, K, 420)
    kind = "regression" if task == "regression" else "binary" if K == 2 else "multiclass"
    oracle, cached = Auto(N, K, kind), {}
    learner = create("auto", N, K, task=task) if K else create("auto", N, task=task)
    cache = learner.prediction_cache(len(X))
    score, expected, predicted = np.empty((1, learner.n_scores)), [], []
    for row, is_prediction, known in operations(X, y, 5):
        x, label = X[row : row + 1], y[row : row + 1] if known else np.full(1, np.nan)
        slot = np.full(1, NOT_DELAYED if is_prediction and known else row)
        learner.predict_then_update_delayed(x, label, score, DelayedRows(slot, cache))
        if is_prediction:
            predicted.append(score[0].copy())
            expected.append(oracle.score(x[0].tolist()))
            if known:
                oracle.learn(x[0].tolist(), float(y[row]))
            else:
                cached[row] = oracle.cache(x[0].tolist())
        else:
            oracle.learn_late(x[0].tolist(), float(y[row]), cached.pop(row))
    np.testing.assert_allclose(predicted, expected, rtol=1e-5, atol=1e-5)


def scores_late(delay: int, X: np.ndarray, y: np.ndarray, **options: Any) -> np.ndarray:
    """The scores of the rows whose labels arrived, `delay` rows after them."""
    delayed = DelaySimulator(delay, create("auto", X.shape[1], **options))
    score, _ = delayed.run(delayed.arrange(X, y))
    return score[: len(y) - delay]


def test_targets_that_hardly_depend_on_those_known_are_forecast_about_as_well_as_by_their_mean() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12_000, 3)), np.zeros(12_000)
    for t in range(1, len(y)):
        y[t] = 0.97 * y[t - 1] + rng.normal()
    known = y[: len(y) - 200]
    error = scores_late(200, X, y, task="regression")[:, 0] - known
    assert (error[2000:] ** 2).mean() < 1.2 * known[2000:].var()


def test_labels_in_runs_shorter_than_the_delay_do_not_spoil_what_the_features_tell() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat(rng.integers(0, 2, 400), rng.integers(5, 60, 400)).astype(float)
    X = rng.normal(size=(len(y), 5))
    X[:, 0] += y
    right = (scores_late(100, X, y)[:, 0] > 0.0) == y[:-100]
    assert right[1000:].mean() > 0.67, "the best linear rule has 0.69"


def test_a_row_that_waits_after_two_outliers_is_cached_alike_by_a_copy_of_the_learner() -> None:
    """What is cached must not depend on rows that were scored before the state was saved."""
    X, y = stream("regression", 0, 200)
    learner, copy = create("auto", N, task="regression"), create("auto", N, task="regression")
    learner.predict_then_update(X[:152], y[:152], np.empty((152, 1)))
    copy.restore(learner.snapshot())
    caches = []
    for one in (learner, copy):
        caches.append(one.prediction_cache(1))
        rows = DelayedRows(np.zeros(1, np.int64), caches[-1])
        one.predict_then_update_delayed(X[152:153], np.full(1, np.nan), np.empty((1, 1)), rows)
    np.testing.assert_array_equal(*caches)


def test_labels_of_one_class_that_come_first_do_not_invert_the_predictions() -> None:
    """Of the rows 9 % have class 1, whose labels are about 300 rows late; those of class 0 are 2,000 rows late."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8000, 5))
    y = (rng.random(len(X)) < np.where(X[:, 0] + 0.5 * X[:, 1] > 1.0, 0.35, 0.03)).astype(float)
    rows = np.arange(len(y))
    due = rows + np.where(y == 1.0, 30 + rng.exponential(300, len(y)).astype(int), 2000)
    event = np.concatenate([rows, np.argsort(due, kind="stable")])
    order = np.argsort(np.concatenate([rows, np.sort(due) - 0.5]), kind="stable")
    event, is_label = event[order], order >= len(y)
    learner, score = create("auto", X.shape[1]), np.empty((len(event), 1))
    slots = DelayedRows(event, learner.prediction_cache(len(y)))
    learner.predict_then_update_delayed(X[event], np.where(is_label, y[event], np.nan), score, slots)
    right = (score[~is_label, 0] > 0.0) == y
    assert right[5000:7000].mean() > 0.87, "who always says 0 has 0.91"
