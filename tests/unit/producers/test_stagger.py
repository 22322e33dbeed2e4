"""STAGGER: the three published concepts, one after the other, each row drawn by the definition."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from river.datasets import synth

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_stream_generators import Xoshiro, read

SHARES = {1: 1 / 9, 2: 5 / 9, 3: 2 / 3}
"""Concept -> share of class 1 among the 27 objects."""
RULES = {
    1: lambda size, colour, shape: size == "small" and colour == "red",
    2: lambda size, colour, shape: colour == "green" or shape == "circle",
    3: lambda size, colour, shape: size in ("medium", "large"),
}
WORDS = (("small", "medium", "large"), ("red", "blue", "green"), ("circle", "square", "triangle"))


def rule(concept: int, row: np.ndarray) -> float:
    return float(RULES[concept](*(words[int(code)] for words, code in zip(WORDS, row, strict=True))))


def naive(n: int, seed: int, concepts: tuple[int, ...], noise: float, balance: bool) -> tuple[np.ndarray, np.ndarray]:
    rng, X, y = Xoshiro(seed), [], []
    for t in range(n):
        label = math.nan
        while math.isnan(label) or (balance and label == t % 2):
            x = [int(3 * rng.uniform()) for _ in range(3)]
            label = rule(concepts[len(concepts) * t // n], np.array(x))
        X.append(x)
        y.append(float(label != (rng.uniform() < noise)))
    return np.array(X, float), np.array(y)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", ((1, 2, 3), 0.0, False)),
        (",noise=0.2", ((1, 2, 3), 0.2, False)),
        (",concepts=3/1,balance=1,noise=0.1", ((3, 1), 0.1, True)),
    ],
)
def test_rows_are_those_of_the_definition(options: str, arguments: tuple) -> None:
    X, y = read(open_stream(f"stagger:rows=700{options}", seed=6), size=37)
    expected = naive(700, 6, *arguments)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


def test_every_label_follows_the_concept_of_its_stage_as_river_writes_it() -> None:
    stream = open_stream("stagger")
    X, y = read(stream)
    functions = [
        synth.STAGGER._classification_function_zero,
        synth.STAGGER._classification_function_one,
        synth.STAGGER._classification_function_two,
    ]
    assert stream.drift_points == (10_000, 20_000)
    assert stream.feature_names == ("size", "colour", "shape")
    for function, (low, high) in zip(functions, pairwise((0, 10_000, 20_000, 30_000)), strict=True):
        assert [function(*row) for row in X[low:high].astype(int).tolist()] == y[low:high].tolist()


def test_feature_codes_are_equally_likely_and_classes_have_their_shares() -> None:
    X, y = read(open_stream("stagger:rows=90000"))
    for column in X.T:
        values, counts = np.unique(column, return_counts=True)
        assert values.tolist() == [0, 1, 2]
        assert counts / 90_000 == pytest.approx(1 / 3, abs=0.008)
    for concept, (low, high) in zip((1, 2, 3), pairwise((0, 30_000, 60_000, 90_000)), strict=True):
        assert y[low:high].mean() == pytest.approx(SHARES[concept], abs=0.012)


def test_noise_flips_its_share_of_labels_and_nothing_else() -> None:
    clean, noisy = read(open_stream("stagger")), read(open_stream("stagger:noise=0.15"))
    assert clean[0].tobytes() == noisy[0].tobytes()
    assert (clean[1] != noisy[1]).mean() == pytest.approx(0.15, abs=0.009)


def test_balanced_classes_alternate() -> None:
    X, y = read(open_stream("stagger:rows=3000,balance=1"))
    assert y.tolist() == [1.0, 0.0] * 1500
    assert all(rule(1 + t // 1000, X[t]) == y[t] for t in range(3000))


@pytest.mark.parametrize("row", [0, 9_999, 10_000, 29_999])
def test_holdout_rows_come_from_the_concept_in_force(row: int) -> None:
    X, y = open_stream("stagger:noise=0.3").holdout(row, 500, seed=1)
    assert [rule(1 + row // 10_000, x) for x in X] == y.tolist()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("concepts=4", "stagger: concepts must be whole numbers separated by / from 1 to 3, got 4"),
        ("concepts=1/1.5", "stagger: concepts must be whole numbers separated by / from 1 to 3, got 1/1.5"),
        ("balance=2", "stagger: balance must be a whole number from 0 to 1, got 2"),
        ("rows=2", "stagger: rows must be at least the 3 stages, got 2"),
    ],
)
def test_a_bad_option_is_refused_in_one_sentence(options: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        open_stream(f"stagger:{options}")
    assert str(failure.value) == sentence
