"""Feature maps: their output, and the conformance of learners that use them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import SnapshotMismatch
from driftway.learners.preprocessing.feature_map import ROOM, Mapped
from driftway.learners.preprocessing.maps import MAPS, create_mapped, create_maps, find
from driftway.learners.preprocessing.standardizer import OnlineStandardizer
from driftway.learners.spec import Spec
from tests.conformance import checks
from tests.conformance.checks import memory, same, scores
from tests.conformance.rows import hostile, rows
from tests.conformance.table import ROWS, Case
from tests.meta.test_docstrings import documented, entries
from tests.support.oracle import maps as oracle
from tests.support.oracle.standardize import Standardize


def specs(*texts):
    return tuple(Spec.parse(text) for text in texts)


def mapped(X, *texts):
    """Apply maps to rows."""
    for one in create_maps(specs(*texts), X.shape[1]):
        X, rows = np.full((len(X), one.width), np.nan), X
        one.apply(rows, X)
    return X


@dataclass(frozen=True)
class MappedCase(Case):
    """A case whose learner has feature maps in front."""

    maps: tuple[str, ...] = ()

    @property
    def label(self):
        return f"{super().label} behind {' '.join(self.maps)}"

    def make(self, d, n_classes=4):
        spec = Spec(self.row.name, tuple(self.given.items()))
        return create_mapped(spec, specs(*self.maps), d, self.classes(n_classes) or 2, self.task, self.standardize)

    def oracle(self, d, n_classes=4):
        chain, width = [], d
        for spec in specs(*self.maps):
            given = {key: float(value) if "." in value else int(value) for key, value in spec.parameters}
            chain.append((spec.name, given))
            width = create_maps((spec,), width)[0].width
        plain = self.row.oracle(width, self.classes(n_classes), self.kind, **self.given)
        return oracle.MappedOracle(Standardize(plain, width) if self.standardize else plain, chain)


INEXACT = replace(ROWS["pa1"], exact=False)
"""PA-I behind Fourier features, for which the two mathematics libraries may differ by an ulp."""

CASES = (
    MappedCase(ROWS["pa1"], "binary", standardize=True, maps=("polynomial",)),
    MappedCase(ROWS["ogd_square"], "regression", json.dumps({"eta": 0.01}), maps=("fourier:D=10,gamma=0.1",)),
    MappedCase(ROWS["dfop"], "binary", maps=("hashing:buckets=4,seed=2",)),
    MappedCase(INEXACT, "binary", maps=("hashing:buckets=3", "polynomial:degree=3", "fourier:D=4,seed=3")),
)


@pytest.mark.parametrize(
    ("case", "check"),
    [
        pytest.param(case, check, id=f"{case.label}:{check.__name__}")
        for case in CASES
        for check in checks.CHECKS
        # With rows of one class only, sums and Fourier features need not separate the classes, but products do.
        if not (check is checks.one_class_only and case is not CASES[0])
    ],
)
def test_a_learner_behind_maps_passes_the_conformance_checks(case, check):
    check(case)


EACH = [
    ("polynomial", {}),
    ("polynomial", {"degree": 1}),
    ("polynomial", {"degree": 4}),
    ("fourier", {"D": 7, "gamma": 0.3, "seed": 5}),
    ("hashing", {"buckets": 3, "seed": 0}),
    ("hashing", {"buckets": 1000}),
]


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(("name", "given"), EACH)
def test_map_equals_its_oracle(name, given, d):
    X, _ = rows("binary", 50, d)
    got = mapped(X, Spec(name, tuple((key, str(value)) for key, value in given.items())).text)
    expected = np.array([oracle.MAPS[name](x, **given) for x in X.tolist()])
    assert got.shape == expected.shape
    if name == "fourier":
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
    else:
        assert same(got, expected)


@pytest.mark.parametrize(("name", "given"), EACH)
def test_mapped_rows_are_finite_whatever_the_row(name, given):
    X, _ = hostile("binary", 1000, 6)
    X = np.vstack([X, np.full((1, 6), 1.7e308), np.full((1, 6), -1.7e308)])
    assert np.isfinite(mapped(X, Spec(name, tuple(given.items())).text)).all()


def test_polynomials_are_in_the_documented_order():
    X = np.array([[2.0, 3.0, 5.0]])
    assert mapped(X, "polynomial").tolist() == [[2, 3, 5, 4, 6, 10, 9, 15, 25]]
    assert mapped(X[:, :2].copy(), "polynomial:degree=3").tolist() == [[2, 3, 4, 6, 9, 8, 12, 18, 27]]


def test_degree_2_equals_the_explicit_map_and_its_kernel():
    X, y = rows("binary", 400, 3)
    a, b, c = X.T
    explicit = np.column_stack([a, b, c, a * a, a * b, a * c, b * b, b * c, c * c])
    assert same(mapped(X, "polynomial:degree=2"), explicit)
    behind = create_mapped(Spec("dfop"), specs("polynomial"), 3)
    assert same(scores(behind, X, y), scores(learners.create("dfop", 9), explicit, y))
    # (x.z + 1)^2, with squares and single features weighted by the binomial theorem.
    weigh = np.array([2, 2, 2, 1, 2, 2, 1, 2, 1])
    np.testing.assert_allclose((explicit * weigh) @ explicit.T + 1.0, (X @ X.T + 1.0) ** 2, rtol=1e-9, atol=1e-12)


def test_a_curved_boundary_is_learned_only_behind_polynomials_or_fourier_features():
    X = np.random.default_rng(8).standard_normal((4000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    hits = {}
    for maps in ((), ("polynomial",), ("fourier:D=50",)):
        score = scores(create_mapped(Spec("rls"), specs(*maps), 2), X, y)[:, 0]
        hits[maps] = ((score >= 0) == y)[2000:].mean()
    assert hits[()] < 0.6
    assert hits[("polynomial",)] > 0.95
    assert hits[("fourier:D=50",)] > 0.9


@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_inner_products_of_fourier_features_approximate_the_gaussian_kernel(gamma):
    X = np.random.default_rng(9).standard_normal((60, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernel = np.exp(-gamma * squared)
    errors = []
    for D in (50, 5000):
        Z = mapped(X, f"fourier:D={D},gamma={gamma}")
        np.testing.assert_allclose((Z * Z).sum(axis=1), 1.0, rtol=1e-12)
        errors.append(math.sqrt(((Z @ Z.T - kernel) ** 2).mean()))
    assert errors[1] < 0.02
    assert errors[1] < 0.3 * errors[0]


def test_hashed_inner_products_are_right_on_average_over_seeds():
    x, z = np.random.default_rng(10).standard_normal((2, 40))
    products = [
        np.prod(mapped(np.array([x, z]), f"hashing:buckets=16,seed={seed}"), axis=0).sum() for seed in range(3000)
    ]
    assert np.mean(products) == pytest.approx(x @ z, abs=4.0 * np.std(products) / math.sqrt(3000))
    # Every column goes to one bucket, with one sign, independent of the other columns.
    H = mapped(np.eye(40), "hashing:buckets=16")
    assert (np.abs(H).sum(axis=1) == 1.0).all()
    assert same(H[:7], mapped(np.eye(7), "hashing:buckets=16"))
    assert {-1.0, 1.0} <= set(H.ravel())
    assert len(set(np.abs(H).argmax(axis=1))) > 8


@pytest.mark.parametrize("name", ["fourier", "hashing"])
def test_the_seed_determines_the_map(name):
    X, _ = rows("binary", 5, 20)
    assert same(mapped(X, f"{name}:seed=4"), mapped(X, f"{name}:seed=4"))
    assert not same(mapped(X, f"{name}:seed=4"), mapped(X, f"{name}:seed=5"))


def test_order_is_map_then_standardiser_then_learner():
    X, y = rows("binary", 300, 3)
    learner = create_mapped(Spec("pa1"), specs("polynomial"), 3, standardize=True)
    assert isinstance(learner, Mapped)
    assert isinstance(learner.inner, OnlineStandardizer)
    expected = scores(learners.create("pa1", 9, standardize=True), mapped(X, "polynomial"), y)
    assert same(scores(learner, X, y), expected)


def test_maps_follow_one_another():
    X, _ = rows("binary", 10, 3)
    assert same(mapped(X, "hashing:buckets=2", "polynomial"), mapped(mapped(X, "hashing:buckets=2"), "polynomial"))
    assert [one.width for one in create_maps(specs("polynomial", "hashing:buckets=5"), 3)] == [9, 5]


def test_a_batch_wider_than_the_buffer_is_cut():
    X, y = rows("binary", 300, 2)
    texts = (f"hashing:buckets={ROOM // 50}",)
    assert same(
        scores(create_mapped(Spec("pa1"), specs(*texts), 2), X, y),
        scores(learners.create("pa1", ROOM // 50), mapped(X, *texts), y),
    )
    wide = create_mapped(Spec("pa1"), specs(f"hashing:buckets={ROOM + 1}"), 2)
    assert np.isfinite(scores(wide, X[:5], y[:5])).all()


def test_a_mapped_learner_has_the_attributes_of_its_inner_learner():
    learner = create_mapped(Spec("rls"), specs("polynomial"), 3, task="regression", standardize=True)
    face = (learner.name, learner.kind, learner.task, learner.n_features, learner.n_scores, learner.width)
    assert face == ("rls", "regression", "regression", 3, 1, 3)
    assert learner.identity()["learner"] == "rls behind polynomial:degree=2"
    assert learner.identity()["standardize"] is True
    assert np.shares_memory(learner.state.memory, learner.inner.state.memory)
    learner.compile_kernels()
    assert not learner.state["standardize.rows"][0]
    assert learner.clone_empty().identity() == learner.identity()
    assert entries(documented(Mapped)["State"]) == []


def test_learner_that_ignores_features_has_no_maps():
    learner = create_mapped(Spec("majority_class"), specs("polynomial"), 3)
    assert not isinstance(learner, Mapped)
    assert learner.n_features == 3
    with pytest.raises(ValueError, match="ignores features"):
        Mapped(learners.create("majority_class", 3), create_maps(specs("polynomial"), 2))


def test_widths_must_follow_one_another():
    two, three = create_maps(specs("polynomial"), 2), create_maps(specs("polynomial"), 3)
    for inner, maps in [(3, two), (5, ()), (9, (*two, *three))]:
        with pytest.raises(ValueError, match="as many features as the map before it produces"):
            Mapped(learners.create("pa1", inner), maps)


def test_snapshots_of_other_maps_or_of_none_are_refused():
    made = [
        create_mapped(Spec("pa1"), specs(*texts), 4)
        for texts in (
            (),
            ("hashing:buckets=4",),
            ("hashing:buckets=4,seed=2",),
            ("fourier:D=2",),
            ("fourier:D=2,gamma=0.1",),
            ("fourier:D=2", "hashing:buckets=4"),
        )
    ]
    for one in made:
        before = memory(one)
        for other in made:
            if one is not other:
                with pytest.raises(SnapshotMismatch):
                    one.restore(other.snapshot())
                assert memory(one) == before


@pytest.mark.parametrize(
    ("text", "d", "words"),
    [
        ("square", 3, "map square: no feature map 'square'; available: polynomial, fourier, hashing"),
        ("polynomial:degree=0", 3, "map polynomial:degree=0: degree must be >= 1, got 0"),
        ("polynomial:degree=11", 3, "map polynomial:degree=11: degree must be <= 10, got 11"),
        ("polynomial:D=2", 3, "map polynomial:D=2: no parameter 'D'; available: degree"),
        ("polynomial:degree=5", 100, "map polynomial:degree=5: 96,560,645 features from 100 are more than 1,000,000"),
        ("fourier:D=0", 3, "map fourier:D=0: D must be >= 1, got 0"),
        ("fourier:gamma=0", 3, "map fourier:gamma=0: gamma must be > 0, got 0"),
        ("fourier:D=500001", 3, "map fourier:D=500001: 1,000,002 features from 3 are more than 1,000,000"),
        ("fourier:seed=-1", 3, "map fourier:seed=-1: seed must be >= 0, got -1"),
        ("hashing:buckets=0", 3, "map hashing:buckets=0: buckets must be >= 1, got 0"),
        ("hashing:buckets=1.5", 3, "map hashing:buckets=1.5: buckets must be a whole number, got 1.5"),
    ],
)
def test_a_wrong_map_is_refused_in_one_sentence(text, d, words):
    with pytest.raises(ParameterError) as caught:
        create_mapped(Spec("pa1"), specs(text), d)
    assert str(caught.value) == words


@pytest.mark.parametrize("name", MAPS)
def test_map_is_documented_and_named_after_its_file(name):
    found = find(name)
    assert (found.name, found.__module__.rpartition(".")[2]) == (name, name)
    parameters = found.Params.describe()
    assert entries(documented(found)["Parameters"]) == [one["name"] for one in parameters]
    for one in parameters:
        assert f"Default {one['default']}." in found.__doc__
    assert {"Cost", "Raises", "Source"} <= set(documented(found))
