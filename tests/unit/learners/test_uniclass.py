"""One-class learners: each step is optimal, and a learned radius is an additional dimension."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from tests.conformance.rows import rows

NAMES = ("pa_uniclass", "pa1_uniclass", "pa2_uniclass")


def steps(learner, X):
    """Yield (row, centre before, centre after, score) of every row but the first."""
    score = np.empty((1, 1))
    for t, x in enumerate(X):
        before = learner.state["centre"].copy()
        learner.predict_then_update(X[t : t + 1], np.zeros(1), score)
        if t:
            yield x, before, learner.state["centre"].copy(), score[0, 0]


@pytest.fixture(scope="module")
def points():
    return rows("binary", 300, 3)[0]


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_each_step_is_optimal(name, learned, points):
    """|v - w|^2 / 2 + the price of the remaining loss is convex, so comparing near points suffices for a minimum."""
    rng = np.random.default_rng(0)
    C, radius = 0.3, 2.5
    given = {"eps": "learned", "eps_max": radius} if learned else {"eps": radius}
    learner = learners.create(name, 3, **given, **({} if name == "pa_uniclass" else {"C": C}))
    moved = 0
    for row, w, v, score in steps(learner, points):
        x = np.append(row, 0.0) if learned else row

        def loss(v, x=x):
            return max(0.0, np.linalg.norm(x - v) - radius)

        def price(v, w=w, loss=loss):
            cost = {"pa_uniclass": 0.0, "pa1_uniclass": C * loss(v), "pa2_uniclass": C * loss(v) ** 2}[name]
            return 0.5 * ((v - w) ** 2).sum() + cost

        assert score == pytest.approx(radius - np.linalg.norm(x - w), abs=1e-12)
        if name == "pa_uniclass":  # the nearest point of the ball around x
            assert loss(v) < 1e-9
            assert np.linalg.norm(v - w) == pytest.approx(loss(w), abs=1e-9)
        else:
            least = price(v) - 1e-12
            assert all(price(v + size * rng.standard_normal(len(v))) >= least for size in (1e-1, 1e-3, 1e-5))
        moved += not np.array_equal(v, w)
    assert moved > 30


@pytest.mark.parametrize("name", NAMES)
def test_a_learned_radius_is_a_fixed_one_in_another_dimension(name, points):
    learned = learners.create(name, 3, eps="learned", eps_max=2.5)
    fixed = learners.create(name, 4, eps=2.5)
    lifted = np.ascontiguousarray(np.hstack([points, np.zeros((len(points), 1))]))
    radius = 0.0
    for t in range(len(points)):
        scores = np.empty((2, 1))
        learned.predict_then_update(points[t : t + 1], np.ones(1), scores[:1])
        fixed.predict_then_update(lifted[t : t + 1], np.ones(1), scores[1:])
        if t == 0:
            fixed.state["centre"][3] = 2.5
        assert scores[0] == scores[1]
        assert learned.state["centre"].tobytes() == fixed.state["centre"].tobytes()
        grown = math.sqrt(2.5**2 - learned.state["centre"][3] ** 2)
        assert radius <= grown <= 2.5
        radius = grown
    assert radius > 1.0


@pytest.mark.parametrize("C", [1e300, 1e9])
def test_with_a_large_C_all_variants_are_equal(C, points):
    scores = []
    for name, given in (("pa_uniclass", {}), ("pa1_uniclass", {"C": C}), ("pa2_uniclass", {"C": C})):
        score = np.empty((len(points), 1))
        learners.create(name, 3, **given).predict_then_update(points, np.zeros(len(points)), score)
        scores.append(score)
    assert np.array_equal(scores[0], scores[1])
    np.testing.assert_allclose(scores[0], scores[2], atol=1e-6)


@pytest.mark.parametrize("eps", ["auto", "learned"])
def test_labels_say_only_whether_a_row_is_learned(eps, points):
    states = []
    for y in (np.zeros(len(points)), np.arange(len(points)) % 2.0):
        learner = learners.create("pa1_uniclass", 3, eps=eps)
        learner.predict_then_update(points, y, np.empty((len(points), 1)))
        states.append(learner.state.memory.tobytes())
    assert states[0] == states[1]


@pytest.mark.parametrize("size", [1e-170, 1.0, 1e170, 1e300])
def test_the_distance_neither_overflows_nor_underflows(size):
    learner = learners.create("pa_uniclass", 2, eps=size)
    score = np.empty((3, 1))
    learner.predict_then_update(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]]) * size, np.ones(3), score)
    assert (score[:, 0] / size).tolist() == pytest.approx([0.0, -4.0, 0.0], abs=1e-12)
    np.testing.assert_allclose(learner.state["centre"] / size, [2.4, 3.2], rtol=1e-12)


def test_a_row_infinitely_far_is_counted_and_changes_nothing():
    learner = learners.create("pa_uniclass", 1)
    score = np.empty((2, 1))
    learner.predict_then_update(np.array([[1.7e308], [-1.7e308]]), np.ones(2), score)
    assert score[:, 0].tolist() == [0.0, 0.0]
    assert learner.state["centre"].tolist() == [1.7e308]
    assert learner.state["skipped"].tolist() == [1]


@pytest.mark.parametrize(
    ("name", "area", "inliers", "others"),
    [("pa_uniclass", 75.56, 68.5, 28.9), ("pa1_uniclass", 79.84, 81.5, 29.3), ("pa2_uniclass", 70.98, 58.3, 29.8)],
)
def test_accuracy_on_pulsars_is_that_of_the_specification(real_streams, name, area, inliers, others):
    X, y = real_streams.rows("htru2", 17_898)
    score = np.empty((len(X), 1))
    learners.create(name, X.shape[1], standardize=True).predict_then_update(X, y, score)
    usual, rare = score[y == 0.0, 0], np.sort(score[y == 1.0, 0])
    below = (np.searchsorted(rare, usual, "left") + np.searchsorted(rare, usual, "right")) / 2.0
    assert 100 * below.mean() / len(rare) == pytest.approx(area, abs=0.05)
    assert 100 * (usual >= 0.0).mean() == pytest.approx(inliers, abs=0.1)
    assert 100 * (rare >= 0.0).mean() == pytest.approx(others, abs=0.1)
