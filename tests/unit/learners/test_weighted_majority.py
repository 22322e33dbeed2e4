"""Weighted majority: experts of different kinds in one buffer, valid experts, and weights that recover."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.spec import Spec
from tests.conformance.checks import scores
from tests.conformance.rows import rows
from tests.support.selection import slow_but


def pool(text, d=4, n_classes=2, **parameters):
    return learners.create("weighted_majority", d, n_classes, experts=text, **parameters)


def flipped(n=600):
    X, y = rows("binary", n, 4)
    return X, np.where(np.arange(n) % 7 < 2, 1.0 - y, y)


@pytest.mark.parametrize("floor", [0.0, 0.1])
@pytest.mark.parametrize(
    "text",
    [
        "gaussian_nb+arow/q=1e-4",
        pytest.param("arow/q=1e-4+gaussian_nb+knn_win/window=50", marks=pytest.mark.slow),
        "pa1+pa1/C=1e+1",
        "winnow+alma_gentile+averaged_perceptron+majority_class",
        pytest.param("d_odm+restarted_odm+g_dfop/lambda_source=detector+svm_fix", marks=pytest.mark.slow),
    ],
)
def test_experts_vote_as_their_learners_predict(text, floor):
    X, y = flipped()
    alone = [spec.create(4) for spec in Spec.parse_list(text)]
    votes = np.hstack([scores(one, X, y) for one in alone]) >= 0.0
    weights, expected = np.full(len(alone), 1.0 / len(alone)), []
    for vote, label in zip(votes, y, strict=True):
        expected.append(2.0 * weights[vote].sum() - 1.0)
        weights[(vote != label) & (weights > floor / len(alone))] *= 0.5
        weights /= weights.sum()
    together = pool(text, floor=floor)
    assert scores(together, X, y)[:, 0] == pytest.approx(expected)
    assert together.state["weight"] == pytest.approx(weights)
    states = b"".join(one.state.memory.tobytes() for one in alone)
    assert together.state["states"].tobytes() == states, "the bits of separate learners"


@pytest.mark.parametrize(
    "text",
    slow_but(
        ["winnow+norma+gaussian_nb"],
        ["winnow+norma+gaussian_nb", "alma_gentile+tracking_winnow", "alma+averaged_perceptron"],
    ),
)
def test_derived_values_are_computed_before_a_batch(text):
    X, y = flipped(300)
    whole, cut = pool(text), pool(text)
    assert (scores(whole, X, y) == scores(cut, X, y, tuple(range(1, 300)))).all()
    assert (whole.state.memory == cut.state.memory).all()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pa1+perhaps", "no learner 'perhaps'"),
        ("pa1+dwm", "plain learners, not dwm"),
        ("pa1+weighted_majority", "plain learners, not weighted_majority"),
        ("pa1+on_drift:pa1", "no learner 'on_drift:pa1'|plain learners, not on_drift:pa1"),
        ("pa1", "at least two, not pa1 alone"),
        ("auto", "at least two, not auto alone"),  # a learner, not a word for the default pool
        ("pa1+", "no learner ''"),
        ("pa1+arow/r=-1", "r must be > 0"),
        ("pa1+arow/r", "parameter=value"),
        ("pa1+rls/speed=1", "no parameter 'speed'"),
        ("pa1+ogd_square+arow_regressor+add_exp_c", "does not learn binary"),
    ],
)
def test_a_wrong_pool_is_refused_in_one_sentence(text, why):
    with pytest.raises(ParameterError, match=why) as caught:
        pool(text)
    assert str(caught.value).startswith("experts of weighted_majority must be")
    assert "\n" not in str(caught.value)


def test_a_pool_learns_the_classes_that_all_its_experts_learn():
    assert pool("gaussian_nb+mc_pa1", n_classes=5).kind == "multiclass"
    with pytest.raises(ParameterError, match="arow does not learn 5 classes"):
        pool("gaussian_nb+arow", n_classes=5)


@pytest.mark.parametrize("make", ["dwm:base=weighted_majority", "on_drift:weighted_majority"])
def test_a_pool_cannot_be_an_expert_of_another(make):
    with pytest.raises(ParameterError, match="a plain learner"):
        Spec.parse(make).create(4)


def test_the_plus_of_an_exponent_separates_nothing():
    assert [one.text for one in Spec.parse_list("pa1/C=1e+1+arow/q=1e-4/r=2e+0+rls")] == [
        "pa1:C=1e+1", "arow:q=1e-4,r=2e+0", "rls"
    ]  # fmt: skip


@pytest.mark.parametrize(("floor", "most"), [(0.0, 1e-299), (0.05, 0.05)])
def test_weights_never_vanish(floor, most):
    X = np.random.default_rng(2).normal(size=(3000, 4))
    one = pool("arow/q=1e-4+no_change", floor=floor, beta=0.1)
    assert np.isfinite(scores(one, X, (X[:, 0] > 0.0).astype(float))).all()
    assert 0.0 < one.state["weight"].min() <= most
    assert one.state["weight"].sum() == pytest.approx(1.0)


def test_the_floor_lets_an_expert_recover_after_a_long_bad_time():
    rng = np.random.default_rng(4)
    X, steps = rng.normal(size=(4000, 4)), np.arange(4000)
    y = np.where(steps < 3000, (X[:, 0] > 0.0), steps // 200 % 2).astype(float)  # then labels persist, whatever the row
    hits = {}
    for floor in (0.0, 0.05):
        one = pool("ogd_logistic+no_change", floor=floor)
        hits[floor] = ((scores(one, X, y)[3000:, 0] >= 0.0) == y[3000:]).mean()
    assert hits[0.05] > 0.97
    assert hits[0.05] > hits[0.0] + 0.1


def test_cutting_batches_changes_no_bit_behind_wrappers():
    X, y = rows("multiclass", 400, 4)
    for text in ("weighted_majority:experts=gaussian_nb+arow", "ova:weighted_majority:experts=gaussian_nb+arow"):
        n_classes = 4 if text.startswith("ova") else 2
        whole, cut = (Spec.parse(text).create(4, n_classes, standardize=True) for _ in range(2))
        labels = y if n_classes == 4 else np.minimum(y, 1.0)
        assert (scores(whole, X, labels) == scores(cut, X, labels, (1, 2, 50, 333))).all()
        assert (whole.state.memory == cut.state.memory).all()
