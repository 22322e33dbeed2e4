"""Waveform: the book's triangles in the moments of every class, and features that really swap places."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from river.datasets import synth

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_stream_generators import Xoshiro, read

H = np.array(synth.Waveform._H_FUNCTION, float)
PAIRS = ((0, 1), (0, 2), (1, 2))
"""Class -> the triangles that it mixes, in MOA's and River's order."""


def meaning(standing: list[int]) -> list[int]:
    """Return, by place, the point of the waveform that is there; 0 if no triangle reaches it."""
    return [a if a < 21 and H[:, a].any() else 0 for a in standing]


def exchanged(rng: Xoshiro, swaps: int, before: list[int]) -> list[int]:
    d = len(before)
    while True:
        now = list(range(d))
        if swaps == 0:
            return now
        first, second = int(d * rng.uniform()), int(d * rng.uniform())
        for k in range(swaps):
            a, b = (first + k) % d, (second + k) % d
            now[a], now[b] = now[b], now[a]
        if meaning(now) != meaning(before):
            return now


def naive(n: int, seed: int, irrelevant: int, swaps: tuple[int, ...]) -> tuple:
    """Return rows, labels and, by stage, which point each place has."""
    rng, stage, standing, X, y, stages = Xoshiro(seed), -1, [0] * (21 + irrelevant), [], [], []
    for t in range(n):
        if len(swaps) * t // n != stage:
            stage = len(swaps) * t // n
            standing = exchanged(rng, swaps[stage], standing)
            stages.append(standing)
        label = int(3 * rng.uniform())
        u = rng.uniform()
        wave = u * H[PAIRS[label][0]] + (1 - u) * H[PAIRS[label][1]]
        X.append([rng.normal() + (wave[a] if a < 21 else 0.0) for a in standing])
        y.append(float(label))
    return np.array(X), np.array(y), stages


@pytest.mark.parametrize(
    ("options", "arguments"),
    [("", (0, (0, 5, 10, 10))), (",irrelevant=19,swaps=1/40/0/3", (19, (1, 40, 0, 3))), (",swaps=0", (0, (0,)))],
)
def test_rows_are_those_of_the_definition(options: str, arguments: tuple) -> None:
    X, y = read(open_stream(f"waveform:rows=500{options}", seed=6), size=37)
    expected = naive(500, 6, *arguments)
    assert y.tobytes() == expected[1].tobytes()
    np.testing.assert_allclose(X, expected[0], rtol=0, atol=1e-12)


def test_every_class_has_the_moments_of_its_two_triangles() -> None:
    X, y = read(open_stream("waveform:rows=90000,swaps=0,irrelevant=19"))
    assert X.shape[1] == 40
    assert np.bincount(y.astype(int)) / 90_000 == pytest.approx(1 / 3, abs=0.007)
    for label, (a, b) in enumerate(PAIRS):
        rows = X[y == label]
        assert rows[:, :21].mean(axis=0) == pytest.approx((H[a] + H[b]) / 2, abs=0.06)
        # u is uniform: the mixture has variance (ha - hb)^2 / 12, the noise has 1.
        assert rows[:, :21].var(axis=0) == pytest.approx(1 + (H[a] - H[b]) ** 2 / 12, abs=0.12)
        assert rows[:, 21:].mean(axis=0) == pytest.approx(0, abs=0.03)
        assert rows[:, 21:].var(axis=0) == pytest.approx(1, abs=0.05)


def test_river_draws_from_the_same_distribution() -> None:
    """Means by class and point against River's own rows, with other random numbers."""
    pairs = list(synth.Waveform(seed=3).take(6000))
    theirs, labels = np.array([list(x.values()) for x, _ in pairs]), np.array([label for _, label in pairs])
    X, y = read(open_stream("waveform:rows=60000,swaps=0"))
    for label in range(3):
        gap = theirs[labels == label].mean(axis=0) - X[y == label].mean(axis=0)
        assert np.abs(gap).max() < 0.2


@pytest.mark.parametrize("seed", range(1, 6))
def test_features_are_exchanged_at_the_drift_points_and_not_in_between(seed: int) -> None:
    stream = open_stream("waveform:rows=24000,swaps=0/2/2/9", seed=seed)
    X, _ = read(stream)
    edges = (0, *stream.drift_points, stream.rows)
    assert edges == (0, 6000, 12_000, 18_000, 24_000)
    centres = [(low + high) // 2 for low, high in pairwise(edges)]
    profile = lambda low, high: X[low:high].mean(axis=0)  # noqa: E731
    for (low, high), middle in zip(pairwise(edges), centres, strict=True):
        assert np.abs(profile(low, middle) - profile(middle, high)).max() < 0.2
    for edge in stream.drift_points:
        assert np.abs(profile(edge - 6000, edge) - profile(edge, edge + 6000)).max() > 0.2


def test_a_drift_always_changes_the_concept() -> None:
    """With one swap among 40 features, half of which carry no information, every third draw would change nothing."""
    for seed in range(40):
        X, y = read(open_stream("waveform:rows=8,irrelevant=19,swaps=0/1/1/1", seed=seed))
        rows, labels, stages = naive(8, seed, 19, (0, 1, 1, 1))
        assert y.tolist() == labels.tolist()
        np.testing.assert_allclose(X, rows, rtol=0, atol=1e-12)
        assert all(meaning(a) != meaning(b) for a, b in pairwise(stages))


def test_holdout_rows_come_from_the_concept_in_force() -> None:
    stream = open_stream("waveform:rows=400", seed=9)
    stages = naive(400, 9, 0, (0, 5, 10, 10))[2]
    for row in (0, 99, 100, 250, 399):
        X, y = stream.holdout(row, 9000, seed=1)
        standing = stages[row // 100]
        for label, (a, b) in enumerate(PAIRS):
            expected = ((H[a] + H[b]) / 2)[standing]
            assert X[y == label].mean(axis=0) == pytest.approx(expected, abs=0.17)


def test_more_swaps_than_features_are_refused() -> None:
    with pytest.raises(UsageFailure) as failure:
        open_stream("waveform:swaps=22")
    assert str(failure.value) == "waveform: swaps must be at most the 21 features, got 22"
