"""Learners that use rows whose label never arrives: oracle, documented figures, limits.

See docs/algorithms/reference-results.md#learners-for-other-tasks.
"""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.engine.update_loop import LABEL_EXPIRED, NOT_DELAYED, DelayedRows
from driftway.learners.spec import Spec
from tests.conformance.rows import rows
from tests.support.oracle.series_and_few_labels import OMR, Gap

FIGURES = {
    "ossl_gap": {"2CDT": 95.17, "sea": 84.12, "htru2": 95.45, "electricity": 84.85},
    "ossl_gap:kappa=0": {"2CDT": 95.03, "electricity": 85.95},
    "omr": {"2CDT": 93.95, "UG-2C-2D": 98.67, "sea": 75.42, "htru2": 92.10, "electricity": 70.35},
    "omr:lam2=0": {"2CDT": 94.22},
}
"""Accuracy in per cent over the first 4,000 rows, of which one in ten has a label."""


def predict_then_label(learner, X, y, known):
    """Return the scores when each row's label arrives, or expires, before the next row is predicted."""
    n = len(y)
    labels = np.where(known, y, np.nan)
    slot = np.where(np.isnan(labels), LABEL_EXPIRED, NOT_DELAYED)
    score = np.empty((2 * n, 1))
    learner.predict_then_update_delayed(
        np.repeat(X, 2, axis=0),
        np.column_stack([np.full(n, np.nan), labels]).ravel(),
        score,
        DelayedRows(np.column_stack([np.full(n, NOT_DELAYED), slot]).ravel(), learner.prediction_cache(1)),
    )
    return score[::2, 0]


@pytest.mark.parametrize(
    ("text", "oracle", "parameters"),
    [
        ("ossl_gap", Gap, {"particles": 30, "kappa": 0.3, "q": 0.01}),
        ("omr", OMR, {"tau": 20, "lam2": 2.0}),
    ],
)
def test_rows_without_a_label_are_learned_as_by_the_oracle(text, oracle, parameters):
    X, y = rows("binary", 300, 3)
    known = np.random.default_rng(5).random(300) < 0.3
    learner = Spec(text, tuple(parameters.items())).create(3)
    slow, expected = oracle(3, 2, "binary", **parameters), []
    for x, label, has in zip(X.tolist(), y.tolist(), known, strict=True):
        expected += slow.score(x)
        slow.learn(x, label) if has else slow.learn_unlabelled(x)
    np.testing.assert_allclose(predict_then_label(learner, X, y, known), expected, rtol=1e-9, atol=1e-9)
    ignored = Spec(text, tuple(parameters.items())).create(3)
    score = np.empty((300, 1))
    ignored.predict_then_update(X, np.where(known, y, np.nan), score)
    assert np.abs(score[:, 0] - expected).max() > 0.01, "rows without a label make no difference"


@pytest.mark.parametrize(("text", "stream"), [(text, stream) for text, found in FIGURES.items() for stream in found])
def test_accuracy_with_few_labels_is_that_of_the_specification(real_streams, text, stream):
    X, y = real_streams.rows(stream, 4000)
    known = np.random.default_rng(1).random(4000) < 0.1
    score = predict_then_label(Spec.parse(text).create(X.shape[1], standardize=True), X, y, known)
    assert 100 * ((score >= 0) == y).mean() == pytest.approx(FIGURES[text][stream], abs=2.0)


def test_a_row_without_a_label_penalises_particles_with_a_small_margin():
    learner = Spec.parse("ossl_gap:particles=200,kappa=0.2,q=0").create(2)
    x = np.array([[0.7, -0.4]])
    near = np.abs(learner.state["particle"] @ [0.7, -0.4, 1.0]) < 1.0
    assert 20 < near.sum() < 180
    predict_then_label(learner, x, np.array([1.0]), np.array([False]))
    assert learner.state["log_likelihood"] == pytest.approx(np.where(near, np.log(0.8), 0.0))


@pytest.mark.parametrize(("text", "field"), [("ossl_gap:particles=20", "particle"), ("omr:tau=20", "coefficient")])
def test_an_extreme_row_without_a_label_is_skipped(text, field):
    X, y = rows("binary", 30, 2)
    learner = Spec.parse(text).create(2)
    predict_then_label(learner, X, y, y >= 0.0)
    if field == "particle":
        learner.state[field][:] = 1e200
    before = learner.state[field].copy()
    predict_then_label(learner, np.full((1, 2), 1e300), y[:1], y[:1] < 0.0)
    assert learner.state["skipped"][0] == 1
    assert np.array_equal(learner.state[field], before)


def test_the_largest_allowed_lam2_keeps_scores_bounded():
    X, y = rows("binary", 3000, 2)
    learner = Spec.parse("omr:tau=50,lam2=2.5,lam1=0").create(2)
    score = predict_then_label(learner, X, y, np.arange(3000) % 10 == 0)
    assert np.abs(score).max() < 10.0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("omr:lam2=2.6", "lam2 must be <= 0.25/eta = 2.5, got 2.6"),
        ("omr:lam1=10", "lam1 must be < 1/eta = 10, got 10.0"),
    ],
)
def test_steps_that_overshoot_are_refused(text, sentence):
    with pytest.raises(ParameterError) as caught:
        Spec.parse(text).create(2)
    assert str(caught.value) == sentence
