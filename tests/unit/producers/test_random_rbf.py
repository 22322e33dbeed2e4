"""Random RBF: centroids that move as MOA's and River's do, and rows that lie around them as published."""

from __future__ import annotations

import math

import numpy as np
import pytest
from river.datasets import synth
from river.datasets.synth.random_rbf import Centroid

from driftway.producers.streams import open_stream
from tests.unit.producers.test_stream_generators import Xoshiro, read


class Naive:
    """The model in plain lists; `row` moves the centroids and draws a row."""

    def __init__(self, seed: int, d: int, classes: int, centroids: int, moving: int, speed: float) -> None:
        self.rng, self.d, self.speed = Xoshiro(seed), d, speed
        uniform = self.rng.uniform
        self.centroids = [
            ([uniform() for _ in range(d)], int(classes * uniform()), uniform(), uniform()) for _ in range(centroids)
        ]
        self.directions = []
        for _ in range(min(moving, centroids) if speed else 0):
            direction = [uniform() for _ in range(d)]
            self.directions.append([v / math.sqrt(sum(w * w for w in direction)) for v in direction])

    def move(self) -> None:
        for (centre, *_), direction in zip(self.centroids, self.directions, strict=False):
            for j in range(self.d):
                centre[j] += self.speed * direction[j]
                if not 0 <= centre[j] <= 1:
                    centre[j] = 0.0 if centre[j] < 0 else 1.0
                    direction[j] *= -1

    def row(self) -> tuple[list[float], float]:
        self.move()
        drawn = self.rng.uniform() * sum(weight for *_, weight in self.centroids)
        c = 0
        while (drawn := drawn - self.centroids[c][3]) >= 0:
            c += 1
        centre, label, deviation, _ = self.centroids[c]
        direction = [2 * self.rng.uniform() - 1 for _ in range(self.d)]
        length = self.rng.normal() * deviation / math.sqrt(sum(v * v for v in direction))
        return [c + length * v for c, v in zip(centre, direction, strict=True)], float(label)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", (10, 2, 50, 50, 0.0001)),
        (",d=3,classes=5,centroids=7,moving=4,speed=0.2", (3, 5, 7, 4, 0.2)),
        (",d=1,classes=3,centroids=5,moving=9,speed=1", (1, 3, 5, 9, 1.0)),
        (",centroids=1,speed=0", (10, 2, 1, 0, 0.0)),
    ],
)
def test_rows_are_those_of_the_definition(options: str, arguments: tuple) -> None:
    X, y = read(open_stream(f"random_rbf:rows=600{options}", seed=6), size=37)
    model = Naive(6, *arguments)
    rows = [model.row() for _ in range(600)]
    assert y.tolist() == [label for _, label in rows]
    np.testing.assert_allclose(X, [x for x, _ in rows], rtol=0, atol=1e-11)


class RiverWithGivenCentroids(synth.RandomRBFDrift):
    """River's generator with given centroids and directions instead of drawn ones."""

    model: Naive

    def _generate_centroids(self) -> None:
        self.centroids, self.centroid_weights = [], []
        for centre, label, deviation, weight in self.model.centroids:
            centroid = Centroid()
            centroid.centre, centroid.class_label, centroid.std_dev = list(centre), label, deviation
            self.centroids.append(centroid)
            self.centroid_weights.append(weight)
        self.centroid_speed = [list(direction) for direction in self.model.directions]


def test_centroids_move_like_those_of_river() -> None:
    options = {"n_features": 3, "n_centroids": 6, "n_drift_centroids": 4, "change_speed": 0.03}
    theirs = RiverWithGivenCentroids(seed_sample=1, n_classes=2, **options)
    theirs.model = Naive(6, 3, 2, 6, 4, 0.03)
    stream = open_stream("random_rbf:d=3,centroids=6,moving=4,speed=0.03,rows=500", seed=6)
    for row, _ in enumerate(theirs.take(500)):
        if row % 50 == 49:
            facts = stream._memory_after(row)  # the model itself, which rows show only indirectly
            centres = np.array([centroid.centre for centroid in theirs.centroids])
            np.testing.assert_allclose(facts[18:36].reshape(6, 3), centres, rtol=0, atol=1e-9)


def test_rows_are_distributed_around_the_centroids_as_in_river() -> None:
    """Moments per class against River's own rows for the same centroids, with other random numbers."""
    theirs = RiverWithGivenCentroids(seed_sample=1, n_classes=3, n_features=4, n_centroids=5, n_drift_centroids=0)
    theirs.model = Naive(2, 4, 3, 5, 0, 0.0)
    pairs = list(theirs.take(15_000))
    x, labels = np.array([list(row.values()) for row, _ in pairs]), np.array([label for _, label in pairs])
    X, y = read(open_stream("random_rbf:d=4,classes=3,centroids=5,speed=0,rows=60000", seed=2))
    shares = np.bincount(y.astype(int), minlength=3) / len(y)
    assert np.bincount(labels, minlength=3) / len(labels) == pytest.approx(shares, abs=0.02)
    assert (shares > 0).sum() > 1
    for label in np.flatnonzero(shares):
        mine, other = X[y == label], x[labels == label]
        assert mine.mean(axis=0) == pytest.approx(other.mean(axis=0), abs=0.05)
        assert mine.var(axis=0) == pytest.approx(other.var(axis=0), abs=0.05)


def test_the_distance_from_a_centroid_is_normal_with_its_deviation() -> None:
    X, _ = read(open_stream("random_rbf:centroids=1,speed=0,rows=40000", seed=3))
    centre, _, deviation, _ = Naive(3, 10, 2, 1, 0, 0.0).centroids[0]
    distance = np.sqrt(((X - centre) ** 2).sum(axis=1)) / deviation
    assert (distance**2).mean() == pytest.approx(1, abs=0.04)
    assert (distance < 1).mean() == pytest.approx(0.6827, abs=0.012)
    assert (distance < 2).mean() == pytest.approx(0.9545, abs=0.006)


def test_the_default_stream_drifts_and_one_without_speed_does_not() -> None:
    def gap(options: str) -> float:
        X, y = read(open_stream(f"random_rbf:rows=40000{options}", seed=5))
        first, last = X[:8000][y[:8000] == 0], X[-8000:][y[-8000:] == 0]
        return float(np.abs(first.mean(axis=0) - last.mean(axis=0)).max())

    assert open_stream("random_rbf").drift_points == ()
    assert gap("") > 0.1
    assert gap(",moving=0") < 0.05
    assert gap(",speed=0") < 0.05


def test_holdout_rows_are_drawn_around_the_current_centroids() -> None:
    stream = open_stream("random_rbf:centroids=1,speed=0.01,rows=300", seed=4)
    for row in (0, 90, 299):
        model = Naive(4, 10, 2, 1, 1, 0.01)
        for _ in range(row + 1):
            model.move()
        X, y = stream.holdout(row, 20_000, seed=1)
        assert set(y) == {model.centroids[0][1]}
        assert X.mean(axis=0) == pytest.approx(model.centroids[0][0], abs=0.015)


def test_there_are_as_many_labels_as_classes() -> None:
    assert open_stream("random_rbf:classes=4").labels == ("0", "1", "2", "3")
    assert set(read(open_stream("random_rbf:classes=4"))[1]) == {0, 1, 2, 3}
