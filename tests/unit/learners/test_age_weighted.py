"""Experts with spans of the past: which are alive when, and bases that derive values before a batch."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from tests.conformance.checks import scores
from tests.conformance.rows import rows
from tests.support.selection import slow_but_each_once


def alive_at(t):
    """Return the birth rows of the experts alive at row t: j 2^k with odd j and t <= j 2^k + 2^(k + 2)."""
    return [born for born in range(1, t + 1) if t <= born + 4 * (born & -born)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 12, 13, 63, 64, 65, 700])
def test_flh_has_the_experts_of_the_definition(n):
    X, y = rows("binary", n, 3)
    flh = learners.create("flh", 3)
    scores(flh, X, y)
    in_use = np.flatnonzero(flh.state["weight"])
    learned = sorted(int(flh.state["states"].view(np.int64)[e, 4]) for e in in_use)
    # An expert born before row b has learned rows b to n.
    assert learned == sorted(n + 1 - born for born in alive_at(n + 1))
    assert flh.state["weight"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 100])
def test_saol_has_an_expert_for_each_power_of_two(n):
    X, y = rows("binary", n, 3)
    saol = learners.create("saol", 3)
    scores(saol, X, y)
    scales = (n + 1).bit_length()
    assert saol.state["slots"][0] == scales
    learned = saol.state["states"].view(np.int64)[:scales, 4].tolist()
    assert learned == [(n + 1) % 2**j for j in range(scales)]


@pytest.mark.parametrize(
    ("base", "name"),
    slow_but_each_once(["norma", "alma", "alma_gentile", "winnow", "tracking_winnow"], ["flh", "saol"], most=3),
)
def test_a_new_expert_computes_the_values_derived_from_its_state(name, base):
    X, y = rows("binary", 200, 4)
    whole, cut = (learners.create(name, 4, base=base) for _ in range(2))
    assert scores(whole, X, y).tobytes() == scores(cut, X, y, tuple(range(1, 200))).tobytes()


@pytest.mark.parametrize(("name", "parameters"), [("flh", {"alpha": 1e6}), ("flh", {"alpha": 1e-6}), ("saol", {})])
def test_weights_neither_vanish_nor_grow(name, parameters):
    X, y = rows("binary", 5000, 4)
    ensemble = learners.create(name, 4, **parameters)
    assert np.isfinite(scores(ensemble, X, 1.0 - y)).all()
    assert 0.0 < ensemble.state["weight"].sum() < 100.0


def test_boosting_by_weights_needs_a_base_with_sample_weights():
    with pytest.raises(ParameterError, match="mode must be sample with gaussian_nb"):
        learners.create("adaboost_ol", 3, base="gaussian_nb", mode="weight")


def test_prefixes_are_drawn_in_proportion_to_their_weights():
    X, y = rows("binary", 20_000, 3)
    y = np.random.default_rng(1).integers(0, 2, len(y)).astype(float)
    boosted = learners.create("adaboost_ol", 3, n=4)
    shares, counts, score = np.zeros(4), np.zeros(4), np.empty((1, 1))
    for i in range(4000):
        boosted.predict_then_update(X[i : i + 1], y[i : i + 1], score)
        v = np.exp(boosted.state["log_v"])
        shares += v / v.sum()
        counts[boosted.state["prefix"][0]] += 1
    assert np.abs(boosted.state["alpha"]).max() <= 2.0
    np.testing.assert_allclose(counts, shares, atol=4.0 * np.sqrt(4000) / 2)


def test_without_mistakes_the_first_partial_sum_predicts():
    X = np.ones((50, 1))
    boosted = learners.create("adaboost_ol", 1, n=3, deterministic=True)
    assert (scores(boosted, X, np.ones(50))[1:, 0] > 0.0).all()
    assert boosted.state["prefix"][0] == 0


def test_condor_reuses_a_model_when_its_concept_returns():
    X, y = rows("binary", 400, 3)  # the concept changes half way
    X, y = np.tile(X, (6, 1)), np.tile(y, 6)
    reused, alone = (
        learners.create("condor", 3, standardize=True, period=200, lam=lam, eta=0.05).predict_then_update
        for lam in (2.0, 0.0)
    )
    hits = []
    for update in (reused, alone):
        score = np.empty((len(X), 1))
        update(X, y, score)
        hits.append(((score[:, 0] >= 0.0) == y)[-800:].mean())
    assert hits[0] > hits[1]


def test_condor_keeps_the_latest_models():
    X, y = rows("binary", 100, 2)
    condor, ends = learners.create("condor", 2, period=10, pool=3), []
    for i in range(0, 100, 10):
        scores(condor, X[i : i + 10], y[i : i + 10])
        ends.append(condor.state["weight"].tolist())
    assert sorted(condor.state["model"].tolist()) == sorted(ends[-3:])
    assert condor.state["beta"].tolist() == [1 / 3] * 3


def test_a_pull_that_overshoots_the_mean_is_refused():
    with pytest.raises(ParameterError, match="lam must be <= 1/eta = 2, got 3"):
        learners.create("condor", 3, eta=0.5, lam=3)


def test_projected_descent_is_gradient_descent_with_these_parameters():
    X, y = rows("regression", 300, 4)
    preset = learners.create("mod_ogd_projected", 4, task="regression")
    same = learners.create("ogd_square", 4, task="regression", schedule="const", eta=0.1, radius=10.0)
    assert scores(preset, X, y).tobytes() == scores(same, X, y).tobytes()


def test_eos_elm_predicts_the_mean_of_the_targets_at_first():
    X, y = rows("regression", 60, 3)
    elm = learners.create("eos_elm", 3, task="regression", hidden=10)
    score = scores(elm, X, y)[:, 0]
    np.testing.assert_allclose(score[1:20], np.cumsum(y)[:19] / np.arange(1, 20))
    assert np.abs(score[20:] - np.cumsum(y)[19:-1] / np.arange(20, 60)).min() > 0.0


def test_another_seed_gives_other_hidden_weights():
    one, other = (learners.create("eos_elm", 3, seed=seed) for seed in (1, 2))
    assert (one.state["A"] != other.state["A"]).all()
    assert -1.0 <= one.state["A"].min() < one.state["A"].max() < 1.0
    assert 0.0 <= one.state["b"].min() < one.state["b"].max() < 1.0
