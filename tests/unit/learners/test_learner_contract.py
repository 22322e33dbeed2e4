"""Input that the base class refuses, and the prequential loop."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.state import State
from driftway.learners.metrics.offline import OfflineMetrics
from driftway.learners.metrics.prequential import prequential
from driftway.learners.metrics.rolling import create_metrics
from driftway.learners.numeric.vectors import axpy_guarded


@pytest.mark.parametrize(
    ("X", "y", "score", "words"),
    [
        (np.zeros((2, 3)), np.zeros(2), np.zeros((2, 1)), "X has shape"),
        (np.zeros((2, 2)), np.zeros(3), np.zeros((2, 1)), "y has shape"),
        (np.zeros((2, 2)), np.zeros(2), np.zeros((2, 2)), "score has shape"),
        (np.zeros((2, 2), np.float32), np.zeros(2), np.zeros((2, 1)), "float64"),
        (np.zeros((2, 2), order="F"), np.zeros(2), np.zeros((2, 1)), "C-contiguous"),
        (np.zeros((2, 2)), np.array([0.0, 2.0]), np.zeros((2, 1)), "label 2 is not one of 0, 1"),
        (np.zeros((2, 2)), np.array([np.nan, -1.0]), np.zeros((2, 1)), "label -1 is not one of 0, 1"),
        (np.zeros((2, 2)), np.array([np.nan, 0.5]), np.zeros((2, 1)), "label 0.5 is not one of 0, 1"),
        (np.zeros((2, 2)), np.array([1.0, np.inf]), np.zeros((2, 1)), "label inf is not one of 0, 1"),
    ],
)
def test_wrong_arrays_are_refused(X, y, score, words):
    learner = learners.create("majority_class", 2)
    with pytest.raises(ValueError, match=words):
        learner.predict_then_update(X, y, score)
    assert not learner.state.memory.any()


@pytest.mark.parametrize("name", ["majority_class", "mc_pa", "ova:pa1"])
def test_multiclass_learners_and_metrics_refuse_fractional_labels(name):
    X, y, score = np.ones((3, 2)), np.array([2.0, np.nan, 1.5]), np.zeros((3, 3))
    learner = learners.create(name, 2, 3)
    before = learner.snapshot()
    with pytest.raises(ValueError, match=r"label 1\.5 is not one of 0, 1, 2"):
        learner.predict_then_update(X, y, score)
    assert learner.snapshot() == before
    for metrics in (create_metrics("classification", 3, 3), OfflineMetrics(learner)):
        with pytest.raises(ValueError, match=r"label 1\.5 is not one of 0, 1, 2"):
            metrics.observe(score, y)


def test_targets_may_be_any_number():
    y = np.array([0.5, -7.25, np.nan, 1e300])
    learner = learners.create("running_mean", 1, task="regression")
    learner.predict_then_update(np.zeros((4, 1)), y, np.zeros((4, 1)))
    assert learner.state["labels"].tolist() == [3]
    create_metrics("regression", 0, 1).observe(np.zeros((4, 1)), y)


def test_an_empty_batch_changes_nothing():
    learner = learners.create("pa1", 2, standardize=True)
    before = learner.snapshot()
    learner.predict_then_update(np.empty((0, 2)), np.empty(0), np.empty((0, 1)))
    assert learner.snapshot() == before


def test_unaligned_and_read_only_rows_are_accepted():
    X = np.random.default_rng(0).standard_normal((4, 2))
    raw = b"\0" + X.tobytes()
    odd = np.frombuffer(raw, np.float64, offset=1).reshape(4, 2)
    got = []
    for rows in (X, odd):
        score = np.empty((4, 1))
        learners.create("pa1", 2, intercept=False).predict_then_update(rows, np.ones(4), score)
        got.append(score.tobytes())
    assert got[0] == got[1]


def test_zero_row_is_skipped_and_counted():
    learner = learners.create("pa1", 2, intercept=False)
    learner.predict_then_update(np.zeros((3, 2)), np.array([1.0, 0.0, np.nan]), np.empty((3, 1)))
    assert learner.state["skipped"].tolist() == [2]


def test_a_step_that_overflows_changes_nothing():
    weight, x = np.array([1.0, 1e308]), np.array([1.0, 1e308])
    assert not axpy_guarded(weight, x, 1.0)
    assert weight.tolist() == [1.0, 1e308]
    assert axpy_guarded(weight, x, -0.5)
    assert weight.tolist() == [0.5, 0.5e308]
    learner = learners.create("rls", 1, task="regression", intercept=False)
    learner.predict_then_update(np.full((2, 1), 1e-3), np.array([1.7e308, -1.7e308]), np.empty((2, 1)))
    assert np.isfinite(learner.state["weight"]).all()


def test_overflow_is_skipped_and_counted_and_scores_zero():
    X = np.array([[1e308, 1e308], [1e308, 1e308], [1.0, 1.0]])
    for name in ("perceptron", "pa1", "arow", "rls", "dfop"):
        learner = learners.create(name, 2)
        learner.state["weight"][:] = 1e200
        before = learner.state["weight"].copy()
        score = np.empty((2, 1))
        learner.predict_then_update(X[:2], np.array([0.0, 1.0]), score)
        assert score[:, 0].tolist() == [0.0, 0.0]
        assert learner.state["skipped"].tolist() == [2], name
        assert learner.state["weight"].tolist() == before.tolist()


@pytest.mark.parametrize(("d", "form"), [(255, 2), (256, 1)])
def test_arow_uses_a_diagonal_covariance_for_many_features(d, form):
    assert learners.create("arow", d).state["covariance"].ndim == form
    assert learners.create("arow", d, cov="full").state["covariance"].ndim == 2


def test_arow_drift_is_capped_at_the_initial_variance():
    learner = learners.create("arow", 2, q=0.5, a=1.0, intercept=False)
    X = np.array([[3.0, 0.0]] * 20)
    learner.predict_then_update(X, np.ones(20), np.empty((20, 1)))
    assert np.diag(learner.state["covariance"]).max() <= 1.0


def test_prequential_yields_scores_and_feeds_metrics():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2)), rng.integers(0, 2, 100).astype(float)
    whole = np.empty((100, 1))
    learners.create("pa1", 2).predict_then_update(X, y, whole)
    metrics = create_metrics("classification", 2, 1)
    blocks = [(X[:7], y[:7]), (X[7:], y[7:])]
    got = list(prequential(learners.create("pa1", 2), blocks, metrics))
    assert np.concatenate(got).tobytes() == whole.tobytes()
    assert metrics.point()["accuracy"] == (((whole[:, 0] >= 0) == y).mean())


def test_views_of_a_state_begin_at_multiples_of_8_bytes():
    state = State({"bits": ("u1", (3,)), "w": ("f8", (2,)), "counts": ("u2", (5,))})
    assert [state.start(name) for name in state] == [0, 8, 24]
    assert state.nbytes == 40
    state["bits"][:], state["w"][:], state["counts"][:] = 255, 1.5, 7
    assert State(state.fields, state.memory)["counts"].tolist() == [7] * 5


def test_state_refuses_foreign_memory():
    with pytest.raises(ValueError, match="takes 16 bytes"):
        State({"w": ("f8", (2,))}, np.zeros(8, np.uint8))


CREATE_ALL = """
from numba.core import event
from numba.core.caching import NullCache
from driftway.learners.drift import registry as detectors
from driftway.learners.registry import LEARNERS, find
from driftway.worker.cli.learners import rule_of

depth = 0

class Compilations(event.Listener):
    def on_start(self, what):
        global depth
        compiled = what.data["dispatcher"]
        if depth == 0 and isinstance(compiled._cache, NullCache):
            print(compiled.py_func.__module__, compiled.py_func.__name__)
        depth += 1

    def on_end(self, what):
        global depth
        depth -= 1

event.register("numba:compile", Compilations())
for name in LEARNERS:
    rule_of(find(name))
for name in detectors.DETECTORS:
    detectors.create(name)
"""


def test_learners_and_detectors_are_created_by_functions_whose_machine_code_is_kept():
    """`driftway learners` creates them all, and a worker some, at each start; a fragment is compiled each time."""
    done = subprocess.run([sys.executable, "-c", CREATE_ALL], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == ""
