"""One-vs-all: the conformance suite, the spec's grammar, and equality with copies that are run by hand."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.ensembles.one_vs_all import OneVsAll
from driftway.learners.learner import SnapshotMismatch
from driftway.learners.preprocessing.standardizer import OnlineStandardizer
from driftway.learners.registry import UnknownLearner
from driftway.learners.spec import Spec
from tests.conformance.checks import CHECKS
from tests.conformance.table import Case
from tests.conformance.table.row import Row
from tests.support.oracle import linear, one_vs_all, second_order

PA1 = Row("ova:pa1", partial(one_vs_all.OneVsAll, linear.PA1), exact=True)
AROW = Row(
    "ova:arow",
    partial(one_vs_all.OneVsAll, second_order.AROW),
    symmetric=tuple(f"class_{c}.covariance" for c in range(4)),
)
CASES = (
    Case(PA1, "multiclass"),
    Case(PA1, "binary"),
    Case(PA1, "multiclass", standardize=True),
    Case(AROW, "multiclass", '{"q": 0.001}'),
    Case(AROW, "multiclass", '{"cov": "diag", "intercept": false}'),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_one_vs_all_passes_the_conformance_checks(case, check):
    check(case)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ova:pa1", "ova:pa1"),
        ("ova:arow,q=1e-4", "ova:arow:q=1e-4"),
        ("ova:arow:q=1e-4", "ova:arow:q=1e-4"),
        (" ova : arow , q = 1e-4, r=2", "ova:arow:q=1e-4,r=2"),
        ("ova:arow,q=1e-4:", "ova:arow:q=1e-4"),
        ("ova:arow,", "ova:arow"),
        ("ova:ova:pa1", "ova:ova:pa1"),
        ("arow:q=1e-4", "arow:q=1e-4"),
    ],
)
def test_every_way_to_write_a_spec_has_one_canonical_form(text, canonical):
    spec = Spec.parse(text)
    assert spec.text == canonical
    assert Spec.parse(canonical) == spec
    learner = spec.create(3, 4 if "ova" in text else 2)
    assert learner.name == spec.name
    assert learner.identity() == Spec.parse(canonical).create(3, learner.n_classes).identity()


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("ova", UnknownLearner, "ova goes before the name of a learner, as in ova:pa1"),
        ("ova:", UnknownLearner, "ova goes before the name of a learner, as in ova:pa1"),
        ("on_drift:on_drift:pa1", ParameterError, "on_drift stands 2 times in front of pa1: once is enough"),
        ("ova:" * 500 + "pa1", ParameterError, "500 wrappers stand in front of pa1, more than 8"),
        ("ova:pa11", UnknownLearner, "no learner 'pa11'; did you mean 'pa1'?"),
        ("ova:pa1_regressor", ParameterError, "pa1_regressor does not learn binary; it learns: regression"),
        ("ova:pa1:C=0", ParameterError, "C must be > 0, got 0"),
        ("ova:pa1,D=0", ParameterError, "no parameter 'D'; available: C, intercept"),
        ("ova:pa1,C", ParameterError, "'C' in 'ova:pa1,C' is not parameter=value"),
        ("ova:pa1,C=1,C=2", ParameterError, "C is given twice in 'ova:pa1,C=1,C=2'"),
    ],
)
def test_wrong_specs_are_refused_in_one_sentence(text, error, words):
    with pytest.raises(error) as caught:
        Spec.parse(text).create(3, 4)
    assert str(caught.value) == words


def test_tasks_and_shapes_are_checked():
    with pytest.raises(ParameterError, match="ova:rls does not learn regression; it learns: binary, multiclass"):
        learners.create("ova:rls", 3, task="regression")
    with pytest.raises(ParameterError, match="pa1 does not learn regression; it learns: binary"):
        learners.create("ova:pa1", 3, task="regression")
    with pytest.raises(ParameterError, match="n_classes must be >= 2, got 1"):
        learners.create("ova:pa1", 3, 1)
    with pytest.raises(ParameterError, match="task must be"):
        learners.create("ova:pa1", 3, task="clustering")
    with pytest.raises(ParameterError, match="n_features must be >= 1"):
        learners.create("ova:pa1", 0)


@pytest.mark.parametrize("standardize", [False, True])
def test_copies_share_nothing_but_the_rows(standardize):
    rng = np.random.default_rng(41)
    X, y = rng.standard_normal((300, 4)), rng.integers(0, 3, 300).astype(float)
    y[rng.random(300) < 0.2] = math.nan
    score = np.empty((300, 3))
    learners.create("ova:arow", 4, 3, standardize=standardize, q=1e-3).predict_then_update(X, y, score)
    for c in range(3):
        alone, of_class = np.empty((300, 1)), np.where(np.isnan(y), np.nan, y == c)
        learners.create("arow", 4, standardize=standardize, q=1e-3).predict_then_update(X, of_class, alone)
        assert alone.tobytes() == score[:, c : c + 1].tobytes()


def test_two_classes_mirror_each_other():
    rng = np.random.default_rng(42)
    X, y = rng.standard_normal((300, 4)), rng.integers(0, 2, 300).astype(float)
    score, twice = np.empty((300, 1)), np.empty((300, 1))
    learners.create("pa1", 4).predict_then_update(X, y, score)
    learners.create("ova:pa1", 4).predict_then_update(X, y, twice)
    assert twice.tobytes() == (2.0 * score).tobytes()


def test_a_difference_that_overflows_is_0():
    learner, score = learners.create("ova:pa", 1, intercept=False), np.empty((1, 1))
    for c, weight in ((0, -1e308), (1, 1e308)):
        learner.state[f"class_{c}.weight"][0] = weight
    learner.predict(np.ones((1, 1)), score)
    assert score[0, 0] == 0.0


def test_state_is_one_buffer_with_a_section_per_class():
    learner = learners.create("ova:pa1", 3, 4, standardize=True)
    assert isinstance(learner, OnlineStandardizer)
    behind = learner.inner
    assert isinstance(behind, OneVsAll)
    assert list(behind.state) == [f"class_{c}.{name}" for c in range(4) for name in ("weight", "skipped")]
    arena = np.zeros(learner.state.nbytes, np.uint8)
    learner.move_state_to(arena)
    for c, copy in enumerate(behind.behind):
        assert np.shares_memory(copy.state.memory, arena)
        learner.state[f"class_{c}.weight"][0] = c + 1.0
        assert copy.state["weight"][0] == c + 1.0


def test_one_vs_all_has_the_attributes_of_a_multiclass_learner():
    learner = learners.create("ova:arow", 3, 5, standardize=True, q=1e-4)
    face = (learner.name, learner.kind, learner.n_features, learner.n_classes, learner.n_scores, learner.width)
    assert face == ("ova:arow", "multiclass", 3, 5, 5, 4)
    assert learner.identity()["parameters"]["q"] == 1e-4
    learner.compile_kernels()
    assert not learner.state["class_0.weight"].any()
    assert not isinstance(learners.create("ova:majority_class", 3, 5, standardize=True), OnlineStandardizer)


def test_snapshots_of_other_learners_are_refused():
    one, two, other = (
        learners.create(name, 3, 3, **given)
        for name, given in (("ova:arow", {}), ("ova:arow", {"q": 1e-4}), ("ova:pa1", {}))
    )
    for stranger in (two, other, learners.create("arow", 3), learners.create("ova:arow", 3, 4)):
        with pytest.raises(SnapshotMismatch):
            one.restore(stranger.snapshot())
