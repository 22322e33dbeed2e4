"""The paper's bounds on small random problems, with every mistake bound found by trying all orders."""

from __future__ import annotations

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.oracle import batch as oracle
from tests.support.oracle.protocol import inner
from tests.unit.learners.online_to_batch.rows import LINEAR, as_lists, finished, noisy, plain

FEW = examples(40, derandomize=True)
make = partial(oracle.Perceptron, 3)

coordinate = st.integers(-4, 4).map(float)
row = st.tuples(st.tuples(coordinate, coordinate).map(lambda x: [*x, 1.0]), st.sampled_from([-1, 1]))
samples = st.lists(row, min_size=1, max_size=6)
directions = st.tuples(coordinate, coordinate, coordinate).filter(any)


class Classifier:
    """h(x) = 1 if w.x >= 0."""

    def __init__(self, w):
        self.w = w

    def says(self, x):
        return 1 if inner(self.w, x) >= 0.0 else -1


def conditional(w, S):
    """Return the number of rows that h mistakes, and M_h, the mistake bound on the others."""
    h = Classifier(w)
    right = [(x, y) for x, y in S if h.says(x) == y]
    return len(S) - len(right), oracle.worst_permutation_bound(make, right)


def hinge_bound(w, gamma, S):
    """M_0 and the sum of M_1 of the perceptron: 1/gamma^2 and (2/gamma) hinge losses, rows scaled to the unit ball."""
    radius, norm = max(math.sqrt(inner(x, x)) for x, _ in S), math.sqrt(inner(w, w))
    losses = [max(0.0, gamma - y * inner(x, w) / norm / radius) for x, y in S]
    return 1.0 / gamma**2, 2.0 / gamma * math.fsum(losses)


@FEW
@given(samples, st.integers(0, 5))
def test_theorem_1(S, seed):
    M = oracle.worst_permutation_bound(make, S)
    procedure = finished(plain(S), "i", LINEAR, seed)
    assert procedure.mistakes <= M
    assert procedure.passes <= M + 1
    assert procedure.result().empirical_error <= procedure.result().report["bound"] <= M / len(S)


@FEW
@given(samples, st.integers(0, 5), st.integers(1, 9), st.booleans(), st.lists(directions, min_size=5, max_size=5))
def test_theorem_2_and_corollary_1(S, seed, phi, revisit, ws):
    result = finished(plain(S), "ii", LINEAR, seed, phi=phi, revisit=revisit).result()
    for w in ws:
        for gamma in (0.02, 0.1, 0.3, 1.0):
            at_start, per_rows = hinge_bound(w, gamma, S)
            assert oracle.worst_permutation_bound(make, S) <= at_start + per_rows
            assert result.empirical_error <= (at_start / phi + per_rows) / len(S)


@pytest.mark.parametrize("seed", range(3))
def test_theorem_2_holds_for_every_phi_that_is_passed(seed):
    problem = noisy(seed, 300, noise=0.1)
    S = as_lists(problem)
    curve = finished(problem, "ii", LINEAR, seed, phi_max=12).result().report["curve"]
    w = finished(problem, "average", LINEAR, seed, mult=20).result().learner.state["weight"].tolist()
    for point in curve:
        assert point["errors"] * point["phi"] <= point["mistakes"]
        for gamma in (0.02, 0.05, 0.1, 0.2, 0.4):
            at_start, per_rows = hinge_bound(w, gamma, S)
            assert point["errors"] <= at_start / point["phi"] + per_rows


@FEW
@given(samples, st.integers(0, 5), st.integers(0, 6), st.lists(directions, min_size=3, max_size=3))
def test_lemma_1_and_corollary_2(S, seed, Z, ws):
    report = finished(plain(S), "iii-weak", LINEAR, seed, Z=Z).result().report
    assert report["errors"] <= report["removed"]
    for w in ws:
        wrong, M = conditional(w, S)
        if M <= Z:
            assert report["super_iterations"] <= 1 + wrong
            assert report["errors"] <= (wrong + 1) * (Z + 1)


@FEW
@given(samples, st.integers(0, 5), st.lists(directions, min_size=5, max_size=5))
def test_theorem_3(S, seed, ws):
    errors = finished(plain(S), "iii", LINEAR, seed, schedule="theory").result().report["errors"]
    for w in [*ws, [0.0, 0.0, 0.0]]:
        wrong, M = conditional(w, S)
        assert errors <= (wrong + 1) * (2 * M + 1)
        if M == 0:
            assert errors <= wrong


def test_theorem_3_needs_the_initial_hypothesis():
    """h_0 mistakes 2 of these rows and M = 0 on the others, so 2 + 1 errors are allowed, but every Z makes 4."""
    x = [[5, 5, 1], [3, 0, 1], [1, 0, 1], [-5, 5, 1], [1, 1, 1], [-1, 2, 1], [0, 0, 1]]
    S = list(zip([[*map(float, row)] for row in x], [-1, 1, 1, 1, 1, 1, -1], strict=True))
    report = finished(plain(S), "iii", schedule="theory", shuffle=False).result().report
    assert conditional([0.0, 0.0, 0.0], S) == (2, 0)
    assert min(point["errors"] for point in report["curve"]) == 4
    assert (report["errors"], report["Z"]) == (2, 0)
