"""A row of weight omega has the same effect on a learner as another parameter, or as a longer row.

See docs/algorithms/conventions.md#sample-weights.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.jit import kernel
from driftway.learners.engine.state_layout import as_views
from driftway.learners.learner import REGRESSION
from driftway.learners.registry import LEARNERS, find
from tests.conformance.table import ROWS

D, N, OMEGA = 4, 300, 2.5

SAME_AS = {
    "pa1": ({"C": 0.1}, {"C": 0.1 * OMEGA}),
    "pa2": ({"C": 0.01}, {"C": 0.01 * OMEGA}),
    "arow": ({"r": 1.0}, {"r": 1.0 / OMEGA}),
    "arow_regressor": ({"r": 1.0}, {"r": 1.0 / OMEGA}),
    "bayes_probit": ({"beta": 1.0}, {"beta": 1.0 / math.sqrt(OMEGA)}),
    "bayes_linear": ({"noise_var": 1.0}, {"noise_var": 1.0 / OMEGA}),
    "ogd_hinge": ({"eta": 0.1}, {"eta": 0.1 * OMEGA}),
    "ogd_logistic": ({"eta": 0.1}, {"eta": 0.1 * OMEGA}),
    "perceptron": ({"eta": 1.0}, {"eta": OMEGA}),
    "oasis_metric": ({"C": 0.01}, {"C": 0.01 * OMEGA}),
    "rdml": ({"eta": 0.01}, {"eta": 0.01 * OMEGA}),
    "norma": ({"alpha": 0.1, "lam": 0.0}, {"alpha": 0.1 * OMEGA, "lam": 0.0}),
}
"""Name -> parameters for rows of weight OMEGA, and equivalent parameters for rows of weight 1."""


def weighted(rule):
    """Return the update loop with a weight other than 1."""
    score, learn = rule.score, rule.learn

    def run(rows, y, omega, scores, parameters, memory):
        for t in range(rows.shape[0]):
            scores[t, 0] = score(rows[t], parameters, memory)
            learn(rows[t], y[t], omega, scores[t, 0], parameters, memory)

    return kernel(run)


def stream(kind):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(N, D))
    s = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=N)
    return X, s if kind == REGRESSION else np.where(s > 0, 1.0, -1.0)


def made(name, **parameters):
    kind = find(name).tasks[0]
    task = REGRESSION if kind == "regression" else "classification"
    return learners.create(name, ROWS[name].width(D), 3 if kind == "multiclass" else 2, task, **parameters)


def run_weighted(learner, X, y, omega):
    rule, scores = learner.rule(), np.empty((len(X), 1))
    memory = as_views(rule.memory, learner.state, **learner.scratch_arrays())
    weighted(rule)(learner._prepare(X), y, omega, scores, rule.parameters, memory)
    return scores


@pytest.mark.parametrize("name", SAME_AS)
def test_the_weight_of_a_row_acts_like_another_parameter(name):
    given, instead = SAME_AS[name]
    learner, other = made(name, **given), made(name, **instead)
    assert learner.rule().uses_weight
    X, y = stream(learner.task)
    X = ROWS[name].formed(X)
    other.predict_then_update(X, y if learner.task == REGRESSION else (y > 0).astype(float), np.empty((N, 1)))
    run_weighted(learner, X, y, OMEGA)
    for field in learner.state:
        assert learner.state[field] == pytest.approx(other.state[field], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["rls", "dfop"])
def test_the_weight_of_a_row_acts_like_a_longer_row(name):
    X, y = stream(REGRESSION)
    plain, longer = (learners.create(name, D, task=REGRESSION, intercept=False) for _ in range(2))
    expected, root = np.empty((N, 1)), math.sqrt(OMEGA)
    longer.predict_then_update(root * X, root * y, expected)
    assert run_weighted(plain, X, y, OMEGA) == pytest.approx(expected / root, rel=1e-9, abs=1e-12)


def test_rules_declare_whether_they_use_weights():
    weighing = {name for name in LEARNERS if made(name).rule().uses_weight}
    assert {"pa1", "arow", "rls", "dfop", "mc_pa1"} <= weighing
    assert not {"d_odm", "romma", "cw", "gaussian_nb"} & weighing
