"""Additive experts, bags, and pools renewed in periods: births, deaths and ties."""

from __future__ import annotations

import numpy as np
import pytest

import learners
from learners.parameters import ParameterError
from tests.conformance.checks import scores
from tests.conformance.rows import hostile, rows


def of(name, kind="binary", d=4, **parameters):
    task = "regression" if kind == "regression" else "classification"
    return learners.create(name, d, 2, task, **parameters)


def slots(learner):
    """The states of the experts in use."""
    return learner.state["states"][: learner.state["experts"][0]]


def noisy(n=300):
    X, y = rows("binary", n, 4)
    return X, np.where(np.arange(n) % 7 < 3, 1.0 - y, y)


@pytest.mark.parametrize("prune", ["weakest", "oldest"])
def test_newborn_is_never_the_one_that_leaves(prune):
    X, y = noisy()
    pool, births = of("add_exp_d", max_experts=3, prune=prune), 0
    for i in range(len(X)):
        full = pool.state["experts"][0] == 3
        newest, score = slots(pool)[-1].copy(), np.empty((1, 1))
        pool.predict_then_update(X[i : i + 1], y[i : i + 1], score)
        wrong = (score[0, 0] >= 0) != y[i]
        births += wrong
        if wrong and full:  # of one row: one count is 1
            counts = pool.members.stacked(pool.state["states"]).count[2]
            assert sorted(counts) == [0.0, 1.0]
            assert (slots(pool)[-1] != newest).any()
        assert pool.state["weight"][: pool.state["experts"][0]].sum() == pytest.approx(1.0)
    assert births > 20


def test_oldest_leaves_though_it_is_the_heaviest():
    X, y = rows("binary", 600, 4)
    X, y = X[:300], y[:300]  # one concept, with a tenth of the labels wrong
    kept = {prune: of("add_exp_d", max_experts=4, prune=prune) for prune in ("weakest", "oldest")}
    for pool in kept.values():
        scores(pool, X, y)
    rows_seen = {p: pool.members.stacked(pool.state["states"]).count.sum(axis=1) for p, pool in kept.items()}
    assert rows_seen["weakest"][0] == len(X), "the first expert stays while it is right most often"
    assert rows_seen["oldest"][0] < len(X)
    assert all((np.diff(seen) < 0).all() for seen in rows_seen.values()), "the oldest comes first"


def test_tie_is_class_one_and_brings_an_expert_where_that_is_wrong():
    pool = of("add_exp_d", d=1, max_experts=4)
    scores(pool, np.array([[1.0], [1.1]]), np.array([0.0, 0.0]))
    assert pool.state["experts"][0] == 2, "an untrained expert votes for class 1"
    pool.state["weight"][:2] = 0.5
    pool.state["states"][1] = pool.members.fresh[1]
    score = scores(pool, np.array([[1.0]]), np.array([0.0]))
    assert score[0, 0] == 0.0
    assert pool.state["experts"][0] == 3


def test_weights_survive_a_factor_that_underflows():
    X, y = noisy()
    for beta in (5e-324, 1e-300):
        pool = of("add_exp_d", beta=beta, gamma=1e-300, max_experts=2)
        assert np.isfinite(scores(pool, X, y)).all()
        assert np.isfinite(pool.state["weight"]).all()
        X_r, y_r = rows("regression", 300, 4)
        pool = of("add_exp_c", "regression", beta=beta, tau=0.0, max_experts=2)
        assert np.isfinite(scores(pool, X_r, y_r)).all()
        assert np.isfinite(pool.state["weight"]).all()


@pytest.mark.parametrize("name", ["add_exp_d"])
def test_experts_that_keep_products_of_their_state_are_cut_invariant(name):
    """`winnow` makes weights from logarithms before a batch, which a newborn needs within one."""
    X, y = noisy()
    whole, cut = (of(name, base="winnow", max_experts=3) for _ in range(2))
    assert (scores(whole, X, y) == scores(cut, X, y, tuple(range(1, 300)))).all()
    assert whole.state.memory.tobytes() == cut.state.memory.tobytes()


def test_range_of_targets_is_given_or_found():
    X, y = rows("regression", 400, 4)
    found, given = of("add_exp_c", "regression"), of("add_exp_c", "regression", y_min=-1.0, y_max=2.0)
    assert np.isfinite(scores(found, X, y)).all()
    assert found.state["bounds"].tolist() == [y.min(), y.max()]
    score = scores(given, X, y)
    assert given.state["bounds"].tolist() == [-1.0, 2.0]
    assert score.min() >= -1.0
    assert score.max() <= 2.0
    with pytest.raises(ParameterError, match="y_max must be > 3, got 2"):
        of("add_exp_c", "regression", y_min=3.0, y_max=2.0)


def test_range_of_any_width_is_divided():
    pool = of("add_exp_c", "regression", d=3)
    X, _ = hostile("regression", 8, 3)
    y = np.array([1e308, -1e308, 0.0, 5e-324, 1.7e308, -1.7e308, 1.0, 2.0])
    assert np.isfinite(scores(pool, X, y)).all()
    assert np.isfinite(pool.state["weight"]).all()


def test_bag_shows_a_row_as_often_as_drawn():
    X, y = rows("binary", 400, 4)
    bag = of("online_bagging", n=50)
    scores(bag, X, y)
    times = bag.members.stacked(bag.state["states"]).count.sum(axis=1)
    assert abs(times.mean() - 400) < 4 * np.sqrt(400 / 50)
    assert times.std() == pytest.approx(np.sqrt(400), rel=0.4)


def test_bag_of_another_seed_differs():
    X, y = rows("regression", 200, 4)
    one, other = (scores(of("online_bagging", "regression", seed=seed), X, y) for seed in (1, 2))
    assert (one[5:] != other[5:]).any()


def test_base_of_a_regression_ensemble_learns_targets():
    with pytest.raises(ParameterError, match="base of add_exp_c must be a learner of this task: arow does not learn"):
        of("add_exp_c", "regression", base="arow")


def test_auto_is_the_base_that_suits_the_task():
    assert of("online_bagging").base.name == "gaussian_nb"
    assert of("online_bagging", "regression").base.name == "rls"
