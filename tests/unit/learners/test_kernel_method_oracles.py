"""The oracles of kernel learners equal simpler oracles in special cases."""

from __future__ import annotations

import math
import random

import pytest

from tests.support.oracle import (
    kernel_budgets,
    kernel_classes,
    kernel_features,
    kernel_merging,
    kernel_methods,
    linear,
    multiclass,
    p_norm,
)
from tests.support.oracle.protocol import run

LINEAR = {"kernel": "linear", "c0": 1.0}
NO_END = {"budget": 1000}


def stream(n=150, d=3, n_classes=2):
    drawn = random.Random(5)
    X = [[drawn.gauss(0.2, 1.0) for _ in range(d)] for _ in range(n)]
    W = [[drawn.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n_classes)]
    y = [float(max(range(n_classes), key=lambda r: sum(a * b for a, b in zip(W[r], x, strict=True)))) for x in X]
    return X, [drawn.randrange(n_classes) if drawn.random() < 0.1 else label for label in y]


def scores(oracle, n_classes=2, n=150, **parameters):
    X, y = stream(n, 3, n_classes)
    return run(oracle(3, n_classes, "binary" if n_classes == 2 else "multiclass", **parameters), X, y)


def equal(a, b, within=1e-9):
    assert len(a) == len(b)
    assert any(any(row) for row in a)
    for p, q in zip(a, b, strict=True):
        assert p == pytest.approx(q, rel=within, abs=within)


@pytest.mark.parametrize(
    ("kernel", "same", "given"),
    [
        (kernel_methods.KernelPerceptron, p_norm.Perceptron, {}),
        (kernel_methods.KernelNORMA, p_norm.NORMA, {"alpha": 0.2, "lam": 0.1, "rho": 0.7}),
        (kernel_methods.KernelNORMA0, p_norm.NORMA0, {"alpha": 0.2, "lam": 0.1}),
        (kernel_methods.KernelALMA, p_norm.ALMA, {"alpha": 0.2, "B": 0.9, "rho": 0.7}),
        (kernel_methods.KernelALMA0, p_norm.ALMA0, {"alpha": 0.2, "B": 0.9}),
        (kernel_budgets.BPAS, linear.PA1, {"C": 0.3}),
    ],
)
def test_a_linear_kernel_without_a_budget_is_the_linear_learner(kernel, same, given):
    equal(scores(kernel, **LINEAR, **NO_END, **given), scores(same, **given))


def test_projections_on_a_basis_of_the_span_lose_nothing():
    equal(scores(kernel_budgets.Projectron, **LINEAR, eta=0.0), scores(p_norm.Perceptron), 1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_linear_multiclass_kernel_perceptron_is_the_linear_learner(n_classes):
    kernel = scores(kernel_classes.MCKernelPerceptron, n_classes, **LINEAR)
    equal(kernel, scores(multiclass.PerceptronMax, n_classes))


def test_mc_norma_of_two_classes_is_kernel_norma_with_twice_the_step():
    """With two classes the margin is 2 f(x), half of it from each class."""
    both = scores(kernel_classes.MCNORMA, alpha=0.1, lam=0.05, rho=1.0, budget=30)
    equal(both, scores(kernel_methods.KernelNORMA, alpha=0.2, lam=0.1 / 4.0, rho=1.0, budget=30))


@pytest.mark.parametrize("oracle", [kernel_budgets.RBP, kernel_budgets.BudgetPerceptron])
def test_budget_learners_are_perceptrons_until_they_remove_a_vector(oracle):
    equal(scores(oracle, **NO_END), scores(kernel_methods.KernelPerceptron, **NO_END))


def test_the_forgetron_is_a_perceptron_until_it_forgets():
    equal(scores(kernel_budgets.Forgetron, **NO_END), scores(kernel_methods.KernelPerceptron, **NO_END))
    full = kernel_budgets.Forgetron(3, 2, "binary", budget=10)
    run(full, *stream())
    assert 0.0 < full.Q <= 15.0 / 32.0 * full.M * (1.0 + 1e-12)
    assert min(abs(a) for a in full.a) < 1.0


class Descent(kernel_methods.Expansion):
    """Hinge loss, decay and nothing else."""

    def prepare(self, eta=0.1, lam=0.0):
        self.eta, self.lam, self.t = eta, lam, 0

    def step(self):
        return self.eta

    def update(self, x, y, s):
        self.t += 1
        self.a = [(1.0 - self.step() * self.lam) * a for a in self.a]
        if y * s < 1.0:
            self.put(len(self.sv), x, self.step() * y)


class Pegasos(Descent):
    def step(self):
        return min(1.0 / (self.lam * self.t), 10.0)


@pytest.mark.parametrize("oracle", [kernel_budgets.BOGD, kernel_budgets.BOGDPP])
def test_descent_on_a_budget_is_descent_until_the_budget_is_full(oracle):
    equal(scores(oracle, **NO_END, eta=0.2, lam=0.1), scores(Descent, **NO_END, eta=0.2, lam=0.1))


def test_merging_descent_is_descent_until_it_merges():
    equal(scores(kernel_merging.BSGDMerge, **NO_END, lam=0.05), scores(Pegasos, **NO_END, lam=0.05))


def test_the_removed_vector_is_the_one_best_predicted_without_itself():
    """Every removal is checked by sums that leave the vector out."""

    class CountingPerceptron(kernel_budgets.BudgetPerceptron):
        dropped = 0

        def drop(self, slot):
            rest = [
                y * sum(a * self.k(w, z) for j, (a, w) in enumerate(zip(self.a, self.sv, strict=True)) if j != i)
                for i, (y, z) in enumerate(zip(self.a, self.sv, strict=True))
            ]
            assert rest[slot] == pytest.approx(max(rest))
            self.dropped += 1
            super().drop(slot)

    watched = CountingPerceptron(3, 2, "binary", budget=8)
    run(watched, *stream())
    assert watched.dropped > 10
    assert len(watched.sv) == 8


def test_random_features_approach_the_kernel():
    many = kernel_features.FOGD(3, 2, "binary", D=3000, gamma=0.4)
    kernel = kernel_methods.Kernel(3, gamma=0.4)
    X, _ = stream(6)
    for x in X:
        for z in X:
            assert sum(a * b for a, b in zip(many.z(x), many.z(z), strict=True)) == pytest.approx(
                kernel(x, z), abs=0.06
            )


def test_nogd_of_full_rank_keeps_the_scores_of_support_vectors():
    oracle = kernel_features.NOGD(3, 2, "binary", budget=12, rank=12, gamma=0.5)
    plain = Descent(3, 2, "binary", gamma=0.5)
    X, y = stream(60)
    while oracle.M is None:
        for one in (oracle, plain):
            one.learn(X[0], y[0])
        X, y = X[1:], y[1:]
    for z in oracle.sv:
        assert oracle.score(z) == pytest.approx(plain.score(z))


def test_eigenpairs_are_orthonormal_and_rebuild_the_matrix():
    A = [[4.0, 1.0, -2.0], [1.0, 3.0, 0.5], [-2.0, 0.5, 1.0]]
    pairs = kernel_features.eigenpairs(A)
    for i in range(3):
        for j in range(3):
            assert sum(value * v[i] * v[j] for value, v in pairs) == pytest.approx(A[i][j])
            assert sum(pairs[i][1][k] * pairs[j][1][k] for k in range(3)) == pytest.approx(float(i == j), abs=1e-12)


def test_the_merger_of_two_is_the_best_on_the_line_between_them():
    oracle = kernel_merging.BSGDMerge(1, 2, "binary", budget=2, gamma=0.7)
    oracle.sv, oracle.a = [[0.0], [1.3]], [0.4, 1.1]
    h, size, lost = oracle.merger(0, 1)

    def value(z):
        return sum(a * oracle.k(w, [z]) for a, w in zip(oracle.a, oracle.sv, strict=True))

    best = max(value(1.3 * (1.0 - i / 1000)) for i in range(1001))
    assert size == pytest.approx(value(1.3 * (1.0 - h)))
    assert size == pytest.approx(best, rel=1e-6)
    squared = 0.4**2 + 1.1**2 + 2 * 0.4 * 1.1 * math.exp(-0.7 * 1.69)
    assert lost == pytest.approx(squared - size**2)


@pytest.mark.parametrize("w", [-0.3, -0.9, -1.0])
@pytest.mark.parametrize(("la", "lb", "had"), [(0.2, 0.1, 0.5), (1.4, 0.3, 0.0), (0.9, 1.8, 0.9), (2.5, 0.05, 1.0)])
def test_duol_optimises_two_coefficients_within_their_box(w, la, lb, had):
    duol = kernel_merging.DUOL(1, 2, "binary", C=1.0)

    def gain(a, b):
        return la * a + lb * b - 0.5 * (a * a + b * b + 2.0 * w * a * b)

    steps = [i / 100 for i in range(101)]
    best = max(gain(a, b - had) for a in steps for b in steps)
    assert gain(*duol.double(la, lb, w, had)) >= best - 1e-9


def test_twin_vectors_count_every_learned_row():
    twins = kernel_merging.TVM(3, 2, "binary", budget=6)
    learned = 0
    for x, y in zip(*stream(), strict=True):
        learned += (2.0 * y - 1.0) * twins.score(x)[0] <= 1.0
        twins.learn(x, y)
    assert sum(sum(sizes) for sizes, _ in twins.a) == learned > 6
    assert len(twins.sv) == 6
    assert all(0.0 <= alpha[i] <= sizes[i] for sizes, alpha in twins.a for i in (0, 1))


def test_the_incremental_inverse_equals_the_recomputed_one():
    oracle = kernel_budgets.Projectron(3, 2, "binary", gamma=0.5, budget=50)
    run(oracle, *stream(60))
    grown = oracle.Kinv
    oracle.widened()
    assert 3 < len(oracle.sv) < 50
    for row, anew in zip(grown, oracle.Kinv, strict=True):
        assert row == pytest.approx(anew, rel=1e-4)


def test_the_width_comes_from_the_median_of_stored_rows():
    kernel = kernel_methods.Kernel(1)
    X = [[0.0], [1.0], [3.0], [7.0]]
    assert not kernel.follow(X[:3], 3, slots=4)
    assert kernel.gamma == 1.0
    assert kernel.follow(X, 4, slots=4)
    squares = sorted((a[0] - b[0]) ** 2 for i, a in enumerate(X) for b in X[:i])
    assert kernel.gamma == kernel_methods.WIDTH / squares[3]
    assert not kernel.follow([[9.0 * x] for (x,) in X], 5, slots=4)
    assert not kernel.follow([[1.1 * x] for (x,) in X], 8, slots=4)
    assert kernel.follow([[2.0 * x] for (x,) in X], 12, slots=4)
    assert kernel.gamma == pytest.approx(kernel_methods.WIDTH / squares[3] / 4.0)


def test_a_change_of_width_recomputes_what_depends_on_it():
    alma = kernel_methods.KernelALMA(3, 2, "binary", budget=20)
    run(alma, *stream(60))
    assert alma.k.gamma != 1.0 / 3.0
    assert alma.n2 == pytest.approx(alma.norm())
    assert alma.n2 > 0.0
    fogd = kernel_features.FOGD(3, 2, "binary", D=5)
    X, y = stream(96)
    run(fogd, [[3.0 * value for value in x] for x in X], y)
    assert not any(fogd.w)


@pytest.mark.parametrize("oracle", [kernel_methods.KernelALMA, kernel_methods.KernelALMA0])
def test_the_incremental_norm_equals_the_recomputed_one(oracle):
    alma = oracle(3, 2, "binary", kernel="poly", alpha=0.2, B=0.8, budget=7)
    for x, y in zip(*stream(), strict=True):
        alma.learn(x, y)
        assert alma.n2 == pytest.approx(alma.norm(), abs=1e-9)
        assert alma.n2 <= 0.8**2 * (1.0 + 1e-9)
    assert alma.additions > 14
