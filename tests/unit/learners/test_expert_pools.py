"""Additive experts, bagging, and periodically renewed pools: additions, removals and ties."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from tests.conformance.checks import scores
from tests.conformance.rows import hostile, rows


def of(name, kind="binary", d=4, **parameters):
    task = "regression" if kind == "regression" else "classification"
    return learners.create(name, d, 2, task, **parameters)


def slots(learner):
    """Return the states of the experts in use."""
    return learner.state["states"][: learner.state["experts"][0]]


def noisy(n=300):
    X, y = rows("binary", n, 4)
    return X, np.where(np.arange(n) % 7 < 3, 1.0 - y, y)


@pytest.mark.parametrize("prune", ["weakest", "oldest"])
def test_a_new_expert_is_never_the_one_removed(prune):
    X, y = noisy()
    pool, births = of("add_exp_d", max_experts=3, prune=prune), 0
    for i in range(len(X)):
        full = pool.state["experts"][0] == 3
        newest, score = slots(pool)[-1].copy(), np.empty((1, 1))
        pool.predict_then_update(X[i : i + 1], y[i : i + 1], score)
        wrong = (score[0, 0] >= 0) != y[i]
        births += wrong
        if wrong and full:  # the newborn has learned one row: one count is 1
            counts = pool.members.views(pool.state["states"]).count[2]
            assert sorted(counts) == [0.0, 1.0]
            assert (slots(pool)[-1] != newest).any()
        assert pool.state["weight"][: pool.state["experts"][0]].sum() == pytest.approx(1.0)
    assert births > 20


def test_prune_oldest_removes_the_oldest_expert_even_if_it_is_the_best():
    X, y = rows("binary", 600, 4)
    X, y = X[:300], y[:300]  # one concept, with a tenth of the labels wrong
    kept = {prune: of("add_exp_d", max_experts=4, prune=prune) for prune in ("weakest", "oldest")}
    for pool in kept.values():
        scores(pool, X, y)
    rows_seen = {p: pool.members.views(pool.state["states"]).count.sum(axis=1) for p, pool in kept.items()}
    assert rows_seen["weakest"][0] == len(X), "the first expert stays while it is right most often"
    assert rows_seen["oldest"][0] < len(X)
    assert all((np.diff(seen) < 0).all() for seen in rows_seen.values()), "the oldest comes first"


def test_a_tie_predicts_class_1_and_adds_an_expert_if_that_is_wrong():
    pool = of("add_exp_d", d=1, max_experts=4)
    scores(pool, np.array([[1.0], [1.1]]), np.array([0.0, 0.0]))
    assert pool.state["experts"][0] == 2, "an untrained expert votes for class 1"
    pool.state["weight"][:2] = 0.5
    pool.state["states"][1] = pool.members.initial_states[1]
    score = scores(pool, np.array([[1.0]]), np.array([0.0]))
    assert score[0, 0] == 0.0
    assert pool.state["experts"][0] == 3


def test_weights_stay_finite_if_a_factor_underflows():
    X, y = noisy()
    for beta in (5e-324, 1e-300):
        pool = of("add_exp_d", beta=beta, gamma=1e-300, max_experts=2)
        assert np.isfinite(scores(pool, X, y)).all()
        assert np.isfinite(pool.state["weight"]).all()
        X_r, y_r = rows("regression", 300, 4)
        pool = of("add_exp_c", "regression", beta=beta, tau=0.0, max_experts=2)
        assert np.isfinite(scores(pool, X_r, y_r)).all()
        assert np.isfinite(pool.state["weight"]).all()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("add_exp_d", {"max_experts": 3}),
        ("online_bagging", {"n": 3}),
        ("oaue", {"n": 2, "window": 20}),
        pytest.param("learn_pp_nse", {"max_members": 3, "batch": 20}, marks=pytest.mark.slow),
    ],
)
def test_cutting_batches_changes_no_bit_of_experts_with_derived_values(name, parameters):
    """`winnow` derives weights from logarithms before a batch; an expert added within one needs them too."""
    X, y = noisy()
    whole, cut = (of(name, base="winnow", **parameters) for _ in range(2))
    assert (scores(whole, X, y) == scores(cut, X, y, tuple(range(1, 300)))).all()
    assert whole.state.memory.tobytes() == cut.state.memory.tobytes()


def test_the_range_of_targets_is_given_or_learned():
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


def test_a_range_of_any_width_leaves_finite_weights():
    pool = of("add_exp_c", "regression", d=3)
    X, _ = hostile("regression", 8, 3)
    y = np.array([1e308, -1e308, 0.0, 5e-324, 1.7e308, -1.7e308, 1.0, 2.0])
    assert np.isfinite(scores(pool, X, y)).all()
    assert np.isfinite(pool.state["weight"]).all()


def test_online_bagging_learns_each_row_once_on_average():
    X, y = rows("binary", 400, 4)
    bag = of("online_bagging", n=50)
    scores(bag, X, y)
    times = bag.members.views(bag.state["states"]).count.sum(axis=1)
    assert abs(times.mean() - 400) < 4 * np.sqrt(400 / 50)
    assert times.std() == pytest.approx(np.sqrt(400), rel=0.4)


def test_online_bagging_differs_with_another_seed():
    X, y = rows("regression", 200, 4)
    one, other = (scores(of("online_bagging", "regression", seed=seed), X, y) for seed in (1, 2))
    assert (one[5:] != other[5:]).any()


def test_the_base_of_a_regression_ensemble_must_learn_targets():
    with pytest.raises(ParameterError, match="base of add_exp_c must be a learner of this task: arow does not learn"):
        of("add_exp_c", "regression", base="arow")


def test_the_default_base_is_the_one_that_suits_the_task():
    assert of("online_bagging").base.name == "gaussian_nb"
    assert of("online_bagging", "regression").base.name == "rls"


@pytest.mark.parametrize("name", ["online_bagging", "oaue", "learn_pp_nse", "dwm"])
def test_auto_is_a_learner_and_not_a_word_for_the_default_base(name):
    with pytest.raises(ParameterError, match=f"base of {name} cannot be `auto`.*base=default.*base=auto/seed=1"):
        of(name, base="auto")
    assert of(name, base="auto/seed=1").base.name == "auto"


@pytest.mark.slow
def test_copies_of_the_learner_auto_vote():
    X, y = rows("binary", 60, 4)
    bag = of("online_bagging", base="auto/budget=1", n=2)
    assert np.isfinite(scores(bag, X, y)).all()


def test_at_the_end_of_a_window_the_candidate_replaces_the_lightest_expert():
    X, y = noisy(200)
    pool = of("oaue", window=20, n=2)
    for end in range(1, 10):
        scores(pool, X[20 * end - 20 : 20 * end - 1], y[20 * end - 20 : 20 * end - 1])
        assert pool.state["experts"][0] == min(end - 1, 2)
        light = pool.state["weight"].argmin()
        scores(pool, X[20 * end - 1 : 20 * end], y[20 * end - 1 : 20 * end])
        joined = pool.state["born"] == 20 * end
        assert joined.sum() == 1
        assert end < 4 or joined[light] or pool.state["weight"][light] > 0.0
        assert pool.state["mse"][joined] == 0.0
        assert pool.members.views(pool.state["states"]).count[-1].sum() == 0.0, "another candidate begins"


def test_the_error_of_a_window_does_not_depend_on_earlier_rows():
    X, y = rows("regression", 200, 4)
    pool = of("oaue", "regression", window=20, n=2)
    scores(pool, X[:100], y[:100])
    scores(pool, X[100:101], np.array([1e300]))
    scores(pool, X[101:160], y[101:160])
    for e in range(2):
        age = 160 - pool.state["born"][e]
        if age >= 20:
            assert pool.state["mse"][e] == pytest.approx(pool.state["error"][e].mean())
    assert pool.state["summary"][0] == pytest.approx(y[140:160].mean())
    assert pool.state["summary"][1] / 20 == pytest.approx(y[140:160].var())


def test_learn_pp_nse_scores_0_before_the_end_of_its_first_batch():
    X, y = rows("binary", 60, 4)
    pool = of("learn_pp_nse", batch=20, max_members=2)
    score = scores(pool, X, y)
    assert (score[:20] == 0.0).all()
    assert (score[20:] != 0.0).any()
    assert pool.state["born"].tolist() == [2, 3]


def test_learn_pp_nse_pruned_by_error_keeps_the_best_experts():
    X, y = rows("binary", 400, 4)
    y = (X[:, 0] > 0.0).astype(float)
    y[20:40] = 1.0 - y[20:40]  # the second batch has the opposite labels
    pools = {prune: of("learn_pp_nse", batch=20, max_members=2, prune=prune) for prune in ("age", "error")}
    for pool in pools.values():
        scores(pool, X[:60], y[:60])
    assert pools["age"].state["born"].tolist() == [2, 3]
    assert pools["error"].state["born"].tolist() == [1, 3]
    assert pools["age"].state["weight"][0] < pools["age"].state["weight"][1]


def test_learn_pp_nse_predicts_the_mean_of_targets_before_its_first_batch():
    X, y = rows("regression", 60, 4)
    score = scores(of("learn_pp_nse", "regression", batch=40), X, y)[:, 0]
    assert score[0] == 0.0
    assert score[1:40] == pytest.approx(np.cumsum(y[:39]) / np.arange(1, 40))
    assert abs(score[40:] - y[40:]).max() < abs(y[40:] - y[:40].mean()).max()


def test_learn_pp_nse_weights_an_expert_again_when_its_concept_returns():
    X, y = rows("regression", 450, 4)
    y = 3.0 * X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=450)
    y[150:300] *= -1.0  # batches 4 to 6
    pool = of("learn_pp_nse", "regression", batch=50, a=2.0, b=1.0)
    scores(pool, X[:300], y[:300])
    assert pool.state["weight"][:3].max() < pool.state["weight"][3:6].min()
    scores(pool, X[300:], y[300:])
    assert pool.state["weight"][:3].min() > pool.state["weight"][3:6].max()


def test_learn_pp_nse_without_any_weight_is_the_mean_of_its_experts():
    X, y = rows("regression", 100, 4)
    pool = of("learn_pp_nse", "regression", batch=20)
    scores(pool, X, y)
    pool.state["weight"][:] = 0.0
    pool.state["experts"][0] = 2
    experts = [of("rls", "regression") for _ in range(2)]
    for i, one in enumerate(experts):
        scores(one, X[20 * i : 20 * i + 20], y[20 * i : 20 * i + 20])
    unknown = np.full(100, np.nan)
    mean = (scores(experts[0], X, unknown) + scores(experts[1], X, unknown)) / 2.0
    assert scores(pool, X, unknown) == pytest.approx(mean)
