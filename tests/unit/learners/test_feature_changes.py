"""A learner whose features change keeps what it has learned of those that stay, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from driftway.learners.contract import Array
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.preprocessing.feature_changes import BY_FEATURE, can_change_features, continue_with_features
from driftway.learners.preprocessing.maps import create_mapped
from driftway.learners.preprocessing.standardizer import statistics_in
from driftway.learners.registry import LEARNERS
from driftway.learners.spec import Spec
from tests.conformance.checks import scores

D, ROWS = 5, 300
TASKS = ("classification", 2), ("classification", 3), ("regression", 2)
VARIANTS = ["arow:diagonal=true", "pa1:intercept=false", "ova:arow", "ova:pa1", "dfop:intercept=false"]


def cases() -> Iterator[tuple[str, str, int]]:
    for text in [*sorted(BY_FEATURE), *VARIANTS]:
        for task, n_classes in TASKS:
            try:
                Spec.parse(text).create(D, n_classes, task)
            except ParameterError:
                continue
            yield text, task, n_classes


def rows(n_classes: int, task: str, n: int = ROWS, d: int = D, seed: int = 1) -> tuple[Array, Array]:
    """Rows whose labels depend on the features after the first, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    if task == "regression":
        return X, z
    return X, np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes)).astype(float)


@pytest.fixture(params=cases(), ids=str)
def case(request: pytest.FixtureRequest) -> tuple[Spec, str, int]:
    text, task, n_classes = request.param
    return Spec.parse(text), task, n_classes


def test_a_new_feature_changes_no_score_while_it_is_0_and_dropping_it_changes_nothing(case):
    spec, task, n_classes = case
    X, y = rows(n_classes, task)
    before, wider, again = (spec.create(d, n_classes, task) for d in (D, D + 1, D))
    scores(before, X, y)
    continue_with_features(wider, before, [0, 1, None, 2, 3, 4])
    continue_with_features(again, wider, [0, 1, 3, 4, 5])
    assert again.state.memory.tobytes() == before.state.memory.tobytes()
    more, labels = rows(n_classes, task, seed=2)
    score = scores(before, more, labels)
    assert np.abs(score).max() > 0
    np.testing.assert_array_equal(scores(wider, np.insert(more, 2, 0.0, axis=1), labels), score)


def test_a_feature_that_was_always_0_leaves_no_trace(case):
    spec, task, n_classes = case
    X, y = rows(n_classes, task)
    without, wider, dropped = (spec.create(d, n_classes, task) for d in (D, D + 1, D))
    scores(without, X, y)
    scores(wider, np.insert(X, 2, 0.0, axis=1), y)
    continue_with_features(dropped, wider, [0, 1, 3, 4, 5])
    assert dropped.state.memory.tobytes() == without.state.memory.tobytes()


def test_features_in_another_order_are_the_same_features(case):
    spec, task, n_classes = case
    order = [3, 1, 4, 0, 2]
    X, y = rows(n_classes, task)
    before, after = (spec.create(D, n_classes, task) for _ in range(2))
    scores(before, X, y)
    continue_with_features(after, before, order)
    more, labels = rows(n_classes, task, seed=2)
    np.testing.assert_allclose(
        scores(after, more[:, order], labels), scores(before, more, labels), rtol=1e-5, atol=1e-7
    )


def test_a_learner_continues_without_a_feature_that_mattered(case):
    """Its state is one that it may have, and it learns on."""
    spec, task, n_classes = case
    X, y = rows(n_classes, task)
    before, after = (spec.create(d, n_classes, task) for d in (D, D - 1))
    scores(before, X, y)
    continue_with_features(after, before, [1, 2, 3, 4])
    after.check_state(after.state.memory)
    more, labels = rows(n_classes, task, seed=2)
    assert np.isfinite(scores(after, more[:, 1:], labels)).all()


def test_the_standardiser_treats_a_new_feature_as_0_until_its_scale_is_known():
    spec = Spec.parse("pa1")
    X, y = rows(2, "classification", 5000)
    before, after = (spec.create(d, 2, standardize=True) for d in (D, D + 1))
    scores(before, X, y)
    assert can_change_features(before)
    continue_with_features(after, before, [0, 1, 2, 3, 4, None])
    rng = np.random.default_rng(3)
    more, labels = rows(2, "classification", 3000, seed=2)
    wide = np.column_stack([more, 1e6 + 1e3 * rng.normal(size=3000)])
    scores(after, wide[:100], labels[:100])
    assert abs(after.state["weight"][D]) < 1e-50
    scores(after, wide[100:], labels[100:])
    known = statistics_in(after.state)
    assert abs(known.mean[D] - 1e6) < 300
    assert 0.7 < np.sqrt(known.squares[D] / known.rows[0]) / 1e3 < 1.4
    assert known.replaced[0] == 1
    assert abs(after.state["weight"][D]) < 0.5


def test_a_standardiser_without_rows_learns_a_new_feature_like_any_other():
    spec = Spec.parse("pa1")
    X, y = rows(2, "classification", 40)
    before, after, fresh = (spec.create(d, 2, standardize=True) for d in (D - 1, D, D))
    continue_with_features(after, before, [0, 1, 2, 3, None])
    scores(after, X, y)
    scores(fresh, X, y)
    assert after.state.memory.tobytes() == fresh.state.memory.tobytes()


@pytest.mark.parametrize("text", ["auto", "winnow", "kernel_perceptron", "on_drift:pa1", "scaled:pa1"])
def test_a_learner_whose_state_is_not_by_feature_cannot_change_features(text):
    assert not can_change_features(Spec.parse(text).create(D, 2))


def test_a_learner_behind_a_map_cannot_change_features_and_one_without_features_can():
    assert not can_change_features(create_mapped(Spec.parse("pa1"), [Spec.parse("polynomial:degree=2")], D))
    assert can_change_features(Spec.parse("no_change").create(D, 2))


def test_every_name_in_by_feature_is_a_learner():
    assert set(LEARNERS) >= BY_FEATURE
