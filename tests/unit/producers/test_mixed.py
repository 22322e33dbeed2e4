"""MIXED: two of three conditions, reversed after each drift."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from river.datasets import synth

from driftway.producers.streams import open_stream
from tests.unit.producers.test_stream_generators import Xoshiro, read

RIVER = {1: synth.Mixed._classification_function_zero, 2: synth.Mixed._classification_function_one}
POSITIVE = 0.25 + 0.5 * (0.5 + 0.3 * 2 / (3 * math.pi))
"""Share of positives: both booleans, or one of them and a point under the curve."""


def rule(function: int, v: float, w: float, x: float, y: float) -> float:
    held = [v == 1, w == 1, y < 0.5 + 0.3 * math.sin(3 * math.pi * x)]
    positive = sum(held) >= 2
    return float(not positive) if function == 1 else float(positive)


def naive(n: int, seed: int, functions: tuple[int, ...], noise: float, balance: bool) -> tuple:
    rng, X, y = Xoshiro(seed), [], []
    for t in range(n):
        label = math.nan
        while math.isnan(label) or (balance and label == t % 2):
            x = [float(rng.uniform() >= 0.5), float(rng.uniform() >= 0.5), rng.uniform(), rng.uniform()]
            label = rule(functions[len(functions) * t // n], *x)
        X.append(x)
        y.append(float(label != (rng.uniform() < noise)))
    return np.array(X), np.array(y)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", ((1, 2, 1, 2), 0.0, False)),
        (",functions=2/1,noise=0.2", ((2, 1), 0.2, False)),
        (",balance=1", ((1, 2, 1, 2), 0.0, True)),
    ],
)
def test_rows_are_those_of_the_definition(options: str, arguments: tuple) -> None:
    X, y = read(open_stream(f"mixed:rows=700{options}", seed=6), size=37)
    expected = naive(700, 6, *arguments)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


def test_every_label_follows_the_function_of_its_stage_as_river_writes_it() -> None:
    stream = open_stream("mixed")
    X, y = read(stream)
    edges = (0, *stream.drift_points, stream.rows)
    assert edges == (0, 10_000, 20_000, 30_000, 40_000)
    for function, (low, high) in zip((1, 2, 1, 2), pairwise(edges), strict=True):
        rows = [(bool(v), bool(w), a, b) for v, w, a, b in X[low:high].tolist()]
        assert [RIVER[function](*row) for row in rows] == y[low:high].tolist()


def test_features_and_classes_have_their_shares() -> None:
    X, y = read(open_stream("mixed:rows=160000"))
    assert set(np.unique(X[:, :2])) == {0.0, 1.0}
    assert X.mean(axis=0) == pytest.approx(0.5, abs=0.006)
    assert X.var(axis=0) == pytest.approx([1 / 4, 1 / 4, 1 / 12, 1 / 12], abs=0.001)
    for share, (low, high) in zip((1 - POSITIVE, POSITIVE) * 2, pairwise(range(0, 160_001, 40_000)), strict=True):
        assert y[low:high].mean() == pytest.approx(share, abs=0.011)


def test_noise_flips_its_share_of_labels_and_nothing_else() -> None:
    clean, noisy = read(open_stream("mixed")), read(open_stream("mixed:noise=0.1"))
    assert clean[0].tobytes() == noisy[0].tobytes()
    assert (clean[1] != noisy[1]).mean() == pytest.approx(0.1, abs=0.007)


@pytest.mark.parametrize(("row", "function"), [(0, 1), (10_000, 2), (29_999, 1)])
def test_holdout_rows_come_from_the_concept_in_force(row: int, function: int) -> None:
    X, y = open_stream("mixed:noise=0.3").holdout(row, 500, seed=1)
    assert [rule(function, *x) for x in X] == y.tolist()
