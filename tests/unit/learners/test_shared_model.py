"""Model averaging between learners of several partitions.

See docs/algorithms/averaging.md#averaging-between-partitions.
"""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.averaging.exchange import Aggregate, ModelAverager, ModelUpdate
from driftway.learners.averaging.shared_model import SharedModel, decay_power, from_information, to_information
from driftway.learners.learner import REGRESSION
from driftway.learners.numeric.symmetric import inverse
from driftway.learners.preprocessing.standardizer import OnlineStandardizer

D, WORKERS = 4, 4


def drawn(n, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, X @ np.arange(1.0, D + 1.0) + rng.normal(size=n)


def fed(learner, X, y):
    learner.predict_then_update(X, y, np.empty((len(X), 1)))
    return learner


def run_rounds(name, rounds, each, gossip=False, **parameters):
    """Run learners that exchange every `each` rows, with the updates of the previous round; rows are in round order."""
    group = [learners.create(name, D, task=REGRESSION, **parameters) for _ in range(WORKERS)]
    exchanges = [ModelAverager(one, gossip) for one in group]
    X, y = drawn(rounds * WORKERS * each)
    updates = []
    for r in range(rounds):
        new = []
        for k, (one, exchange) in enumerate(zip(group, exchanges, strict=True)):
            rows = slice((r * WORKERS + k) * each, (r * WORKERS + k + 1) * each)
            fed(one, X[rows], y[rows])
            aggregate = exchange.aggregate(each, [t for j, t in enumerate(updates) if j != k])
            update, taken = exchange.exchange(each, aggregate)
            assert taken == (aggregate is not None)
            new.append(update)
        updates = new
    return group, exchanges, updates, (X, y)


def test_information_adds_up_to_that_of_one_learner_with_all_rows():
    rounds, each = 6, 20
    group, exchanges, updates, (X, y) = run_rounds("rls", rounds, each)
    for k, (one, exchange) in enumerate(zip(group, exchanges, strict=True)):
        exchange.exchange(0, exchange.aggregate(0, [t for j, t in enumerate(updates) if j != k]))
        whole = fed(learners.create("rls", D, task=REGRESSION), X, y)
        assert one.state["weight"] == pytest.approx(whole.state["weight"], rel=1e-9)
        assert one.state["P"] == pytest.approx(whole.state["P"], rel=1e-9, abs=1e-13)
        assert (one.state["P"] == one.state["P"].T).all()


def learn_and_exchange(exchange, learner, X, y):
    """Learn rows, exchange, and return the learner's update."""
    fed(learner, X, y)
    return exchange.exchange(len(X), None)[0]


def test_with_forgetting_received_rows_count_as_the_last_ones():
    mu, each = 0.01, 15
    X, y = drawn(3 * each)
    first, second = (learners.create("dfop", D, task=REGRESSION, mu=mu) for _ in range(2))
    ours = ModelAverager(first)
    update = learn_and_exchange(ModelAverager(second), second, X[:each], y[:each])
    learn_and_exchange(ours, first, X[each : 2 * each], y[each : 2 * each])
    fed(first, X[2 * each :], y[2 * each :])
    ours.exchange(each, ours.aggregate(each, [update]))
    # Rows before its last update fade by the rows of others as by its own; an update does not include the prior.
    lam = 1.0 - mu
    R, b = np.eye(D + 1) * lam ** (3 * each), np.zeros(D + 1)
    for start, faded_by in ((0, 0), (each, 2 * each), (2 * each, 0)):
        for age in range(each):
            i = start + each - 1 - age
            x, weight = np.append(X[i], 1.0), lam ** (age + faded_by)
            R += weight * np.outer(x, x)
            b += weight * y[i] * x
    now = to_information(first.state["weight"], first.state["P"])
    assert pytest.approx(R, rel=1e-9, abs=1e-12) == now.R
    assert now.weight == pytest.approx(b, rel=1e-8, abs=1e-9)


def test_weights_become_the_mean_by_rows_plus_what_was_learned_since():
    learner = learners.create("pa1", D)
    exchange = ModelAverager(learner)
    learner.state["weight"][:] = 1.0
    exchange.exchange(3, None)
    learner.state["weight"][:] = 1.5
    aggregate = exchange.aggregate(
        3, [ModelUpdate(1, SharedModel(np.full(D + 1, 5.0))), ModelUpdate(2, SharedModel(np.full(D + 1, 4.0)))]
    )
    update, taken = exchange.exchange(3, aggregate)
    # 1 + 1/6 (5 - 1) + 2/6 (4 - 1) = 2 2/3 is the mean of the updates; the 0.5 learned since is added.
    assert taken
    assert update.rows == 3
    assert learner.state["weight"] == pytest.approx(1.5 + 4.0 / 6.0 + 1.0)
    assert (update.model.weight == learner.state["weight"]).all()


def test_gossip_takes_the_same_share_of_each_neighbour():
    learner = fed(learners.create("dfop", D, task=REGRESSION), *drawn(30))
    exchange, other = (
        ModelAverager(learner, gossip=True),
        fed(learners.create("dfop", D, task=REGRESSION), *drawn(30, 8)),
    )
    first, _ = exchange.exchange(30, None)
    theirs, _ = ModelAverager(other, gossip=True).exchange(30, None)
    exchange.exchange(0, exchange.aggregate(0, [theirs], neighbour=0.25))
    mixed = to_information(learner.state["weight"], learner.state["P"])
    assert pytest.approx(0.75 * first.model.R + 0.25 * theirs.model.R, rel=1e-10) == mixed.R
    assert mixed.weight == pytest.approx(0.75 * first.model.weight + 0.25 * theirs.model.weight, rel=1e-10)


@pytest.mark.parametrize("name", ["dfop", "rls"])
def test_two_updates_combine_to_what_one_would_be(name):
    X, y = drawn(40)
    sender, whole = (learners.create(name, D, task=REGRESSION) for _ in range(2))
    exchange, receiver = ModelAverager(sender), ModelAverager(learners.create(name, D, task=REGRESSION))
    combined = receiver.combine(None, learn_and_exchange(exchange, sender, X[:10], y[:10]))
    combined = receiver.combine(combined, learn_and_exchange(exchange, sender, X[10:], y[10:]))
    at_once = learn_and_exchange(ModelAverager(whole), whole, X, y)
    assert combined.rows == at_once.rows == 40
    assert pytest.approx(at_once.model.R, rel=1e-9, abs=1e-12) == combined.model.R
    assert combined.model.weight == pytest.approx(at_once.model.weight, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("wrong", [np.inf, np.nan, -1e6])
def test_an_invalid_aggregate_is_not_applied(wrong):
    learner = fed(learners.create("rls", D, task=REGRESSION), *drawn(20))
    exchange, before = ModelAverager(learner), learner.state.memory.copy()
    update, taken = exchange.exchange(20, Aggregate(5, SharedModel(np.zeros(D + 1), np.full((D + 1, D + 1), wrong))))
    assert not taken
    assert update is not None
    assert (learner.state.memory == before).all()


def test_an_invalid_covariance_is_not_sent():
    learner = fed(learners.create("rls", D, task=REGRESSION), *drawn(20))
    exchange = ModelAverager(learner)
    learner.state["P"][:] = -1.0
    assert exchange.exchange(20, None) == (None, False)


@pytest.mark.parametrize("name", ["d_odm", "ova:pa1", "auto", "majority_class"])
def test_a_learner_that_shares_nothing_has_no_averager(name):
    learner = learners.create(name, D)
    assert learner.sharing is None
    with pytest.raises(ValueError, match="shares nothing"):
        ModelAverager(learner)


def test_a_diagonal_covariance_or_drift_is_no_sum_over_rows():
    assert learners.create("arow", D, cov="diag").sharing is None
    assert not learners.create("arow", D, q=1e-4).sharing.adds
    assert learners.create("arow", D).sharing.adds


def test_behind_a_standardiser_each_keeps_its_own_scaling():
    X, y = drawn(20)
    learner = fed(OnlineStandardizer(learners.create("pa1", D)), X, (y > 0.0).astype(float))
    exchange, mean = ModelAverager(learner), learner.state["standardize.mean"].copy()
    _, taken = exchange.exchange(20, Aggregate(20, SharedModel(np.ones(D + 1))))
    assert taken
    assert (learner.state["standardize.mean"] == mean).all()


@pytest.mark.parametrize("name", ["mc_pa1", "mc_softmax", "mc_perceptron_max"])
def test_learners_of_several_classes_share_all_their_weights(name):
    learner = learners.create(name, D, n_classes=3)
    update, _ = ModelAverager(learner).exchange(1, None)
    assert update.model.weight.shape == learner.state["weight"].shape


def test_p_max_bounds_received_covariances_too():
    w, P = from_information(SharedModel(np.zeros(2), np.diag([1e-9, 1.0])), 100.0)
    assert P[0, 0] == pytest.approx(100.0)
    assert P[1, 1] == 1.0
    assert not w.any()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_decay_power_equals_the_power(n):
    assert decay_power(0.995, n) == pytest.approx(0.995**n, rel=1e-12)
    assert decay_power(1.0, n) == 1.0


def test_the_inverse_is_symmetric_and_refuses_what_is_not_positive_definite():
    A = np.random.default_rng(1).normal(size=(30, 8))
    P, L, R = A.T @ A, np.empty((8, 8)), np.empty((8, 8))
    assert inverse(P, L, R)
    assert np.allclose(R @ P, np.eye(8), rtol=0.0, atol=1e-12)
    assert (R == R.T).all()
    P[3, 3] = -1.0
    assert not inverse(P, L, R)
