"""Fixed scaling: the conformance suite, and equality with rows scaled beforehand."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import SnapshotMismatch
from driftway.learners.preprocessing.fixed_scaler import LARGEST, FixedScaler
from driftway.learners.preprocessing.standardizer import OnlineStandardizer
from driftway.learners.registry import UnknownLearner
from driftway.learners.spec import Spec
from tests.conformance.checks import CHECKS, scores
from tests.conformance.table import Case
from tests.conformance.table.row import Row
from tests.support.oracle import linear, scaled

PERCEPTRON = Row("scaled:perceptron", partial(scaled.Scaled, linear.Perceptron), exact=True)
PA1 = Row("scaled:pa1", partial(scaled.Scaled, linear.PA1), exact=True)
CASES = (
    Case(PERCEPTRON, "binary", '{"ties": "correct"}'),
    Case(PERCEPTRON, "binary", '{"intercept": false}'),
    Case(PA1, "binary"),
)
MEAN, DEVIATION = [3.0, -0.25, 1e3, 7.0], [2.0, 0.1, 1e-3, 0.0]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_scaled_learners_pass_the_conformance_checks(case, check):
    check(case)


def rows(n=400, seed=51):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [2.0, 0.1, 1e-3, 5.0] + [3.0, -0.25, 1e3, 7.0]
    y = (X[:, 0] > 3.0).astype(float)
    y[rng.random(n) < 0.1] = math.nan
    return X, y


def set_scaling(learner, prefix=""):
    learner.state[f"{prefix}scaled.mean"][:] = MEAN
    learner.state[f"{prefix}scaled.deviation"][:] = DEVIATION
    return learner


def test_equals_the_oracle_behind_the_same_scaling():
    X, y = rows()
    learner = set_scaling(learners.create("scaled:perceptron", 4, ties="correct"))
    oracle = scaled.Scaled(linear.Perceptron, 4, 2, "binary", MEAN, DEVIATION, ties="correct")
    got = scores(learner, X, y)
    for t in range(len(X)):
        assert got[t, 0] == oracle.score(X[t].tolist())[0]
        if not math.isnan(y[t]):
            oracle.learn(X[t].tolist(), y[t])
    assert learner.state["weight"].tolist() == oracle.behind.w
    assert np.any(got)


@pytest.mark.parametrize("behind", ["arow", "pa1", "ova:pa1", "dfop"])
def test_equals_rows_that_were_scaled_beforehand(behind):
    X, y = rows()
    Z = np.zeros_like(X)
    for j in range(3):
        Z[:, j] = (X[:, j] - MEAN[j]) / DEVIATION[j]
    learner, alone = set_scaling(learners.create(f"scaled:{behind}", 4)), learners.create(behind, 4)
    assert scores(learner, X, y).tobytes() == scores(alone, Z, y).tobytes()
    assert learner.state.memory[8 * 8 :].tobytes() == alone.state.memory.tobytes()


def test_the_scaling_is_never_updated():
    X, y = rows()
    learner = set_scaling(learners.create("scaled:pa1", 4))
    before = learner.state.memory.copy()
    scores(learner, X, y)
    assert learner.state.memory[:64].tobytes() == before[:64].tobytes()
    assert learner.state.memory[64:].tobytes() != before[64:].tobytes()


def test_around_copies_the_state_of_the_learner():
    X, y = rows()
    inner = learners.create("perceptron", 4, ties="correct")
    scores(inner, X, y)
    before = inner.state.memory.copy()
    scaler = FixedScaler.around(inner, np.array(MEAN), np.array(DEVIATION))
    assert scaler.identity() == Spec.parse("scaled:perceptron:ties=correct").create(4).identity()
    assert scaler.state["weight"].tolist() == inner.state["weight"].tolist()
    again = set_scaling(learners.create("scaled:perceptron", 4, ties="correct"))
    again.inner.state.memory[:] = before
    assert scores(scaler, X, y).tobytes() == scores(again, X, y).tobytes()
    assert inner.state.memory.tobytes() == before.tobytes()
    assert not scaler.clone_empty().state["weight"].any()
    assert scaler.clone_empty().state["scaled.deviation"].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [([0.0] * 3, [1.0] * 4), ([0.0] * 4, [1.0] * 5), ([math.nan] * 4, [1.0] * 4), ([0.0] * 4, [1, 1, 1, -1.0]),
     ([0.0] * 4, [math.inf] * 4)],
)  # fmt: skip
def test_a_scaling_that_does_not_fit_is_refused(mean, deviation):
    with pytest.raises(ValueError, match="mean and deviation must be 4 finite numbers each, deviations >= 0"):
        FixedScaler.around(learners.create("pa1", 4), np.array(mean), np.array(deviation))


def test_scores_of_extreme_values_are_finite():
    learner = learners.create("scaled:ogd_square", 2, task="regression", intercept=False)
    learner.state["scaled.mean"][:] = [-LARGEST, 0.0]
    learner.state["scaled.deviation"][:] = [1.0, 1e-300]
    learner.state["weight"][:] = [1.0, 0.0]
    X, score = np.array([[LARGEST, 0.0]]), np.empty((1, 1))
    learner.predict(X, score)
    assert score[0, 0] == LARGEST
    learner.state["weight"][:] = [0.0, -1.0]
    learner.predict(np.array([[0.0, 1e300]]), score)
    assert score[0, 0] == -LARGEST


def test_no_standardiser_is_put_in_front_and_wrappers_commute():
    assert not isinstance(learners.create("scaled:pa1", 3, standardize=True), OnlineStandardizer)
    assert not isinstance(learners.create("ova:scaled:pa1", 3, 5, standardize=True), OnlineStandardizer)
    X, y = rows()
    assert scores(learners.create("ova:scaled:pa1", 4, 3), X, y).shape == (400, 3)
    assert (
        scores(learners.create("ova:scaled:pa1", 4, 3), X, y).tobytes()
        == scores(learners.create("scaled:ova:pa1", 4, 3), X, y).tobytes()
    )


def test_a_scaled_learner_has_the_attributes_of_its_inner_learner():
    learner = Spec.parse("scaled:perceptron,ties=correct").create(3)
    assert Spec.parse("scaled:perceptron,ties=correct").text == "scaled:perceptron:ties=correct"
    assert (learner.name, learner.kind, learner.n_features, learner.n_scores) == ("scaled:perceptron", "binary", 3, 1)
    assert list(learner.state) == ["scaled.mean", "scaled.deviation", "weight", "skipped"]
    assert learners.create("scaled:rls", 3, task="regression").kind == "regression"
    assert learners.create("scaled:ogd_logistic", 3).link == learners.create("ogd_logistic", 3).link


def test_wrong_specs_are_refused_in_one_sentence():
    with pytest.raises(ParameterError, match="scaled:no_change: no_change ignores features; there is nothing to scale"):
        learners.create("scaled:no_change", 3)
    with pytest.raises(ParameterError, match="scaled:scaled:pa1: scaled:pa1 already has its scaling"):
        learners.create("scaled:scaled:pa1", 3)
    with pytest.raises(UnknownLearner, match="scaled goes before the name of a learner, as in scaled:pa1"):
        Spec.parse("scaled").create(3)
    one = learners.create("scaled:perceptron", 3)
    for stranger in (learners.create("perceptron", 3), learners.create("scaled:pa1", 3)):
        with pytest.raises(SnapshotMismatch):
            one.restore(stranger.snapshot())
