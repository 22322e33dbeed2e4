"""SINE1, SINE2 and their reverses: the curves of the paper, whatever orientation River gives them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from river.datasets import synth

from driftway.producers.streams import open_stream
from tests.unit.producers.test_stream_generators import Xoshiro, read

RIVER = (
    synth.Sine._classification_function_zero,
    synth.Sine._classification_function_one,
    synth.Sine._classification_function_two,
    synth.Sine._classification_function_three,
)
UNDER_SINE = 1 - math.cos(1)
UNDER_WAVE = 0.5 + 0.3 * 2 / (3 * math.pi)


def rule(function: int, x: float, y: float) -> float:
    """The paper's rule: points below the curve are positive (class 0), or negative where reversed."""
    below = y < math.sin(x) if function in (1, 2) else y < 0.5 + 0.3 * math.sin(3 * math.pi * x)
    return float(not below) if function in (1, 3) else float(below)


def naive(n: int, seed: int, functions: tuple[int, ...], irrelevant: int, noise: float, balance: bool) -> tuple:
    rng, X, y = Xoshiro(seed), [], []
    for t in range(n):
        label = math.nan
        while math.isnan(label) or (balance and label == t % 2):
            x = [rng.uniform(), rng.uniform()]
            label = rule(functions[len(functions) * t // n], *x)
        X.append(x + [rng.uniform() for _ in range(irrelevant)])
        y.append(float(label != (rng.uniform() < noise)))
    return np.array(X), np.array(y)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", ((1, 2, 3, 4), 2, 0.0, False)),
        (",functions=4/1,irrelevant=0,noise=0.3", ((4, 1), 0, 0.3, False)),
        (",functions=2/3/1,irrelevant=5,balance=1", ((2, 3, 1), 5, 0.0, True)),
    ],
)
def test_rows_are_those_of_the_definition(options: str, arguments: tuple) -> None:
    X, y = read(open_stream(f"sine:rows=700{options}", seed=6), size=37)
    expected = naive(700, 6, *arguments)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


def test_every_label_follows_the_function_of_its_stage() -> None:
    """River swaps the axes and makes class 1 the positive one: this is its rule on (x2, x1), inverted."""
    stream = open_stream("sine")
    X, y = read(stream)
    edges = (0, *stream.drift_points, stream.rows)
    assert edges == (0, 10_000, 20_000, 30_000, 40_000)
    for function, (low, high) in enumerate(pairwise(edges), 1):
        assert [rule(function, *row) for row in X[low:high, :2].tolist()] == y[low:high].tolist()
        assert [1.0 - RIVER[function - 1](b, a) for a, b in X[low:high, :2].tolist()] == y[low:high].tolist()


def test_features_are_uniform_and_classes_have_the_areas_of_the_curves() -> None:
    X, y = read(open_stream("sine:rows=160000"))
    assert X.shape[1] == 4
    assert X.mean(axis=0) == pytest.approx(0.5, abs=0.004)
    assert X.var(axis=0) == pytest.approx(1 / 12, abs=0.001)
    shares = [1 - UNDER_SINE, UNDER_SINE, 1 - UNDER_WAVE, UNDER_WAVE]
    for share, (low, high) in zip(shares, pairwise(range(0, 160_001, 40_000)), strict=True):
        assert y[low:high].mean() == pytest.approx(share, abs=0.011)


def test_a_reversal_inverts_every_label() -> None:
    first, second = read(open_stream("sine:functions=3")), read(open_stream("sine:functions=4"))
    assert first[0].tobytes() == second[0].tobytes()
    assert (first[1] == 1 - second[1]).all()


def test_noise_flips_its_share_of_labels_and_nothing_else() -> None:
    clean, noisy = read(open_stream("sine")), read(open_stream("sine:noise=0.1"))
    assert clean[0].tobytes() == noisy[0].tobytes()
    assert (clean[1] != noisy[1]).mean() == pytest.approx(0.1, abs=0.007)


@pytest.mark.parametrize("row", [0, 10_000, 39_999])
def test_holdout_rows_come_from_the_concept_in_force(row: int) -> None:
    X, y = open_stream("sine:noise=0.3").holdout(row, 500, seed=1)
    assert [rule(1 + row // 10_000, *x) for x in X[:, :2]] == y.tolist()
