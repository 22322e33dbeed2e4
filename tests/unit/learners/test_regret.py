"""Comparators in hindsight: the solvers against slow searches, the switching sequence against all sequences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from driftway.learners.hindsight.comparators import GAP, LOSSES, NoConvergence, fit, row_loss
from driftway.learners.hindsight.regret import best_switching, segment_costs

BALLS = (math.inf, 0.7)


def naive_loss(loss: str, s: float, y: float) -> float:
    if loss == "square":
        return (s - y) ** 2 / 2
    return max(0.0, 1 - y * s) if loss == "hinge" else math.log(1 + math.exp(-y * s))


def sample(n: int, d: int, seed: int, noise: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.c_[rng.standard_normal((n, d - 1)), np.ones(n)]
    return X, np.where(X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0, 1.0, -1.0)


def total(loss: str, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return sum(naive_loss(loss, float(x @ w), label) for x, label in zip(X, y, strict=True))


def searched(loss: str, X: np.ndarray, y: np.ndarray, ball: float) -> float:
    """Return the least loss of two weights, found on a grid that is refined around its best point."""
    best, at, half = math.inf, np.zeros(2), 8.0 if math.isinf(ball) else ball
    for _ in range(60):
        for step in itertools.product(np.linspace(-half, half, 7), repeat=2):
            w = at + step
            length = math.hypot(*w)
            w = w * min(1.0, ball / length) if length else w
            value = float(sum(map(naive_loss, itertools.repeat(loss), X @ w, y)))
            if value < best:
                best, found = value, w
        at, half = found, half * 0.75
    return best


@pytest.mark.parametrize("loss", LOSSES)
def test_row_loss_equals_its_definition(loss: str) -> None:
    scores, labels = np.array([-800.0, -1.0, 0.0, 0.5, 1.0, 30.0]), np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    found = row_loss(loss, scores, labels)
    assert found[1:] == pytest.approx([naive_loss(loss, *pair) for pair in zip(scores[1:], labels[1:], strict=True)])
    assert found[0] == pytest.approx(801.0 if loss == "hinge" else 800.0 if loss == "logistic" else 801**2 / 2)


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_fit_is_as_good_as_a_search(loss: str, ball: float) -> None:
    X, y = sample(25, 2, 3)
    w = fit(loss, X, y, ball)
    assert math.hypot(*w) <= ball * (1 + 1e-12)
    assert total(loss, X, y, w) == pytest.approx(searched(loss, X, y, ball), rel=2 * GAP, abs=GAP)


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("loss", LOSSES)
def test_no_small_change_of_a_fit_is_better(loss: str, ball: float) -> None:
    X, y = sample(400, 6, 5)
    w, rng = fit(loss, X, y, ball), np.random.default_rng(1)
    least = row_loss(loss, X @ w, y).sum()
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(100):
            other = w + size * rng.standard_normal(6)
            other *= min(1.0, ball / math.sqrt(other @ other))
            assert row_loss(loss, X @ other, y).sum() >= least * (1 - 2 * GAP)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_separable_rows_cost_nothing(loss: str) -> None:
    X, y = sample(300, 4, 6, noise=0.0)
    assert row_loss(loss, X @ fit(loss, X, y), y).sum() < 1e-2


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ball", BALLS)
def test_constant_doubled_and_single_rows_have_a_fit(loss: str, ball: float) -> None:
    X, y = sample(50, 3, 7)
    wide = np.c_[X, X, np.zeros((50, 2))]
    longer = ball * math.sqrt(0.5)  # doubled columns share a weight, so a smaller norm suffices
    w = fit(loss, wide, y, longer)
    assert total(loss, wide, y, w) == pytest.approx(total(loss, X, y, fit(loss, X, y, ball)), rel=4 * GAP)
    assert np.isfinite(fit(loss, X[:1], y[:1], ball)).all()
    assert row_loss(loss, np.zeros((5, 2)) @ fit(loss, np.zeros((5, 2)), y[:5], ball), y[:5]).sum() > 0


def test_a_solver_that_does_not_converge_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample(50, 3, 7)
    monkeypatch.setattr("driftway.learners.hindsight.comparators.MAX_STEPS", 2)
    for loss in ("hinge", "logistic"):
        with pytest.raises(NoConvergence, match=f"the best {loss} model"):
            fit(loss, X, y)


# Switching.


def every_sequence(cost: np.ndarray, k: int) -> float:
    """Return the least total over all ways to place at most k switches."""
    m = len(cost)
    found = []
    for switches in range(min(k, m - 1) + 1):
        for places in itertools.combinations(range(1, m), switches):
            edges = (0, *places, m)
            found.append(sum(cost[a, b - 1] for a, b in itertools.pairwise(edges)))
    return min(found)


@pytest.mark.parametrize("m", [1, 2, 5, 8])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 7, 20])
def test_switching_is_the_best_of_all_sequences(m: int, k: int) -> None:
    for seed in range(5):
        cost = np.random.default_rng(seed).random((m, m)) * (1 + np.arange(m)[None] - np.arange(m)[:, None])
        best = best_switching(np.triu(cost) + np.tril(np.full((m, m), np.nan), -1), k)
        assert best.loss == pytest.approx(every_sequence(cost, k))
        assert len(best.starts) <= k
        edges = (0, *best.starts, m)
        assert list(edges) == sorted(set(edges))
        assert sum(cost[a, b - 1] for a, b in itertools.pairwise(edges)) == pytest.approx(best.loss)


@pytest.mark.parametrize("loss", LOSSES)
def test_segment_costs_and_switching_equal_a_search(loss: str) -> None:
    X, y = sample(12, 2, 9)
    edges = (0, 3, 5, 9, 12)
    cost = segment_costs(loss, X, y, edges, ball=2.0)
    naive = np.full((4, 4), math.inf)
    for i in range(4):
        for j in range(i, 4):
            part = slice(edges[i], edges[j + 1])
            naive[i, j] = searched(loss, X[part], y[part], 2.0)
    np.testing.assert_allclose(cost, naive, rtol=0, atol=1e-5)
    for k in range(4):
        assert best_switching(cost, k).loss == pytest.approx(every_sequence(naive, k), abs=4e-5)


def test_a_switch_is_found_where_the_concept_reverses() -> None:
    X, y = sample(400, 3, 11, noise=0.0)
    y[160:] *= -1
    cost = segment_costs("logistic", X, y, range(0, 401, 40))
    assert best_switching(cost, 1).starts == (4,)
    assert best_switching(cost, 1).loss < 1e-2 < best_switching(cost, 0).loss
    assert best_switching(cost, 0).loss == pytest.approx(row_loss("logistic", X @ fit("logistic", X, y), y).sum())
