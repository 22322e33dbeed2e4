"""A learner watched by a drift detector: the conformance suite, equality with an oracle, and refused specs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.spec import Spec
from tests.conformance.checks import CHECKS, scores
from tests.conformance.rows import target
from tests.conformance.table import Case
from tests.conformance.table.row import Row
from tests.support.oracle import baselines, least_squares, on_drift, second_order
from tests.support.oracle.protocol import run

RLS = Row("on_drift:rls", partial(on_drift.OnDrift, least_squares.RLS))
BAYES = Row("on_drift:gaussian_nb", partial(on_drift.OnDrift, baselines.GaussianNB))
AROW = Row("on_drift:arow", partial(on_drift.OnDrift, second_order.AROW))
CASES = (
    Case(RLS, "binary", '{"action": "shrink", "detector": "ddm/min_n=5/warn=0.5/drift=1"}'),
    Case(AROW, "binary", '{"detector": "hddm_w/drift_conf=0.2/warn_conf=0.4", "action": "background"}', True),
    Case(BAYES, "multiclass", '{"detector": "ddm/min_n=5/warn=0.3/drift=0.8", "action": "background"}'),
    Case(BAYES, "binary", '{"detector": "adwin/clock=1/delta=0.9"}'),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_watched_learners_pass_the_conformance_checks(case, check):
    check(case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_alarms_and_scores_equal_the_oracle(case):
    """The concept of the rows changes repeatedly, so that every action is taken."""
    d, piece = 4, 250
    rng = np.random.default_rng(6)
    X = rng.standard_normal((8 * piece, d))
    y = np.concatenate([target(part, case.kind, 4, rng, 0.05) for part in np.split(X, 8)])
    learner, oracle = case.make(d), case.oracle(d)
    np.testing.assert_allclose(
        scores(learner, X, y), np.array(run(oracle, X.tolist(), y.tolist())), rtol=1e-7, atol=1e-7
    )
    alarms = oracle.oracle.alarms if case.standardize else oracle.alarms
    assert learner.state["alarms"][0] == alarms > 1


def test_a_background_copy_without_a_drift_is_dropped():
    learner = Spec.parse("on_drift:rls:action=background,detector=hddm_w/drift_conf=1e-30/warn_conf=0.1").create(2)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4000, 2))
    y = (X[:, 0] > 0).astype(float)
    y[420:450] = 1.0 - y[420:450]
    scores(learner, X[:450], y[:450])
    assert learner.state["copied"][0] == 1
    scores(learner, X[450:], y[450:])
    assert learner.state["copied"][0] == 0
    assert learner.state["alarms"][0] == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("on_drift:pa1:action=shrink", "action of on_drift:pa1 must be reset or background: it has no covariance"),
        ("on_drift:pa1:action=panic", "action must be one of reset, shrink, background, got 'panic'"),
        ("on_drift:pa1:detector=dmd", "detector of on_drift:pa1 must be a drift detector: no detector 'dmd'"),
        ("on_drift:pa1:detector=ddm/warn=-1", "warn must be > 0"),
        ("on_drift:pa1:speed=1", "no parameter 'speed'"),
        ("on_drift:ova:pa1", "watches a plain learner"),
        ("on_drift:dwm", "watches a plain learner"),
    ],
)
def test_wrong_specs_are_refused_in_one_sentence(text, why):
    with pytest.raises(ParameterError, match=why):
        Spec.parse(text).create(3)


def test_regression_is_refused():
    with pytest.raises(ParameterError, match="on_drift:rls does not learn regression"):
        Spec.parse("on_drift:rls").create(3, task="regression")
