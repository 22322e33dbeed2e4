"""Building blocks of kernels: products summed in the documented order, steps and downdates that stay valid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.numeric.symmetric import NARROW, downdate, matvec
from driftway.learners.numeric.vectors import add_multiples, axpy_guarded, axpy_guarded_pair, dot, four_dots
from tests.conformance.checks import scores
from tests.support.oracle.baselines import NoChange
from tests.support.oracle.protocol import inner, run


def symmetric(d, rng):
    A = rng.standard_normal((d, d))
    return A @ A.T + np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, NARROW - 1, NARROW, NARROW + 1, NARROW + 2, 31, 64])
def test_matrix_times_row_has_the_bits_of_sums_taken_in_order(d):
    rng = np.random.default_rng(d)
    P, x, k = symmetric(d, rng), rng.standard_normal(d), np.empty(d)
    P = np.tril(P) + np.tril(P, -1).T
    for row in (x, np.where(rng.random(d) < 0.8, 0.0, x), x * 1e150, np.zeros(d), -np.zeros(d)):
        got = matvec(P, row, k)
        expected = [inner(P[i], row) for i in range(d)]
        assert k.tobytes() == np.array(expected).tobytes()
        assert got == inner(row, expected) == dot(row, k)


@pytest.mark.parametrize("d", [1, 4, 7, 9, 40])
def test_four_products_have_the_bits_of_one_after_the_other(d):
    rng = np.random.default_rng(d)
    a, b, c, e, x = rng.standard_normal((5, d))
    assert four_dots(a, b, c, e, x) == (inner(a, x), inner(b, x), inner(c, x), inner(e, x))


@pytest.mark.parametrize("n", [1, 3, 4, 6, 9, 40])
def test_multiples_of_rows_are_added_in_order(n):
    rng = np.random.default_rng(n)
    rows, x, total = rng.standard_normal((n, 5)), rng.standard_normal(n + 1), rng.standard_normal(6)
    for row in (x, np.where(rng.random(n + 1) < 0.8, 0.0, x)):
        expected = total.copy()
        for multiple, number in zip(rows, row, strict=False):
            expected[:5] += number * multiple
        add_multiples(total, rows, row)
        assert total.tobytes() == expected.tobytes()


@pytest.mark.parametrize("d", [1, 4, 7, 9, 40])
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("weight", [1.7e308, -1.7e308])
def test_a_step_is_taken_whole_or_not_at_all(d, place, weight):
    w, x = np.ones(d), np.ones(d)
    w[place], x[place] = weight, math.copysign(1e308, weight)
    before = w.copy()
    for step in (1.0, math.inf, -math.inf, math.nan):
        assert not axpy_guarded(w, x, step)
        assert w.tobytes() == before.tobytes()
    assert not axpy_guarded(w, np.zeros(d), math.inf)
    assert axpy_guarded(w, x, -0.5)
    assert w.tobytes() == (before - 0.5 * x).tobytes()


@pytest.mark.parametrize("d", [1, 4, 7, 9, 40])
def test_two_vectors_take_their_steps_together_or_not_at_all(d):
    rng = np.random.default_rng(d)
    x = rng.standard_normal(d)
    x[-1] = 1e308
    for late, weight, step in ((0.3, 1.7e308, 1.0), (1.7e308, 0.3, 1.0), (0.3, 0.3, 1e3)):
        first, second = rng.standard_normal(d), rng.standard_normal(d)
        first[-1], second[-1] = late, weight
        before = first.tobytes(), second.tobytes()
        assert not axpy_guarded_pair(first, step, second, 1.0, x)
        assert (first.tobytes(), second.tobytes()) == before
    first, second = rng.standard_normal(d), rng.standard_normal(d)
    expected = (first + 1.5 * x).tobytes(), (second - x).tobytes()
    assert axpy_guarded_pair(first, 1.5, second, -1.0, x)
    assert (first.tobytes(), second.tobytes()) == expected


@pytest.mark.parametrize("d", [1, 3, 9, 20])
def test_downdate_stays_symmetric_and_positive(d):
    rng = np.random.default_rng(d)
    P, k = np.eye(d), np.empty(d)
    for t in range(300):
        x = rng.standard_normal(d) * 10.0 ** rng.integers(-3, 4)
        h = 0.9 + matvec(P, x, k)
        downdate(P, k, 1.0 / h, 1.0 / 0.9)
        assert P.tobytes() == np.ascontiguousarray(P.T).tobytes(), t
        assert (np.diag(P) > 0.0).all()
    for bad in (0.0, -1.0, math.inf):
        broken = np.eye(d)
        broken[0, 0] = bad
        downdate(broken, np.zeros(d), 1.0, 1.0)
        assert np.isfinite(broken).all()
        assert (np.diag(broken) > 0.0).all()


@pytest.mark.parametrize(("kind", "n_classes"), [("binary", 2), ("multiclass", 4), ("regression", 0)])
@pytest.mark.parametrize("unlabelled", [(), (0,), (0, 1, 2), (7,), tuple(range(40, 80)), (199,), tuple(range(200))])
def test_no_change_equals_the_oracle_with_and_without_unlabelled_rows(kind, n_classes, unlabelled):
    rng = np.random.default_rng(3)
    y = rng.standard_normal(200) if kind == "regression" else rng.integers(0, n_classes, 200).astype(float)
    y[list(unlabelled)] = math.nan
    X = np.zeros((200, 1))
    expected = np.array(run(NoChange(1, n_classes, kind), X.tolist(), y.tolist()))
    states = set()
    for cuts in ((), (1,), (7, 8, 41, 79, 199), tuple(range(1, 200))):
        task = "regression" if kind == "regression" else "classification"
        learner = learners.create("no_change", 1, n_classes or 2, task)
        assert scores(learner, X, y, cuts).tobytes() == expected.tobytes()
        states.add(learner.state.memory.tobytes())
    assert len(states) == 1
