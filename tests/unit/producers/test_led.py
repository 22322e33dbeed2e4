"""LED: ten digits in seven segments, inverted at the given rate, in the places that MOA swaps."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from river.datasets import synth

from driftway.cli import main
from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from tests.unit.producers.test_stream_generators import Xoshiro, read

DIGITS = np.array(synth.LED._ORIGINAL_INSTANCES, float)
BAYES = 0.74
"""The best possible accuracy at 10 % noise, as given in the book."""


def places(swapped: int, irrelevant: int = 17) -> list[int]:
    """Return the place of each attribute after MOA's swap of the first `swapped` segments with irrelevant ones."""
    where = list(range(7 + irrelevant))
    for k in range(swapped):
        where[k], where[7 + k] = 7 + k, k
    return where


def naive(n: int, seed: int, noise: float, irrelevant: int, swapped: tuple[int, ...]) -> tuple:
    rng, X, y = Xoshiro(seed), np.zeros((n, 7 + irrelevant)), []
    for t in range(n):
        where = places(swapped[len(swapped) * t // n], irrelevant)
        digit = int(10 * rng.uniform())
        for j in range(7):
            X[t, where[j]] = abs(DIGITS[digit, j] - (rng.uniform() < noise))
        for j in range(7, 7 + irrelevant):
            X[t, where[j]] = rng.uniform() < 0.5
        y.append(float(digit))
    return X, np.array(y)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", (0.1, 17, (1, 3, 5, 7))),
        (",noise=0,irrelevant=0,swapped=0", (0.0, 0, (0,))),
        (",noise=0.4,irrelevant=4,swapped=4/0/2", (0.4, 4, (4, 0, 2))),
    ],
)
def test_rows_are_those_of_the_definition(options: str, arguments: tuple) -> None:
    X, y = read(open_stream(f"led:rows=600{options}", seed=6), size=37)
    expected = naive(600, 6, *arguments)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


def test_without_noise_every_display_shows_its_digit_in_the_places_of_its_stage() -> None:
    stream = open_stream("led:noise=0")
    X, y = read(stream)
    edges = (0, *stream.drift_points, stream.rows)
    assert edges == (0, 10_000, 20_000, 30_000, 40_000)
    for swapped, (low, high) in zip((1, 3, 5, 7), pairwise(edges), strict=True):
        assert (X[low:high][:, places(swapped)[:7]] == DIGITS[y[low:high].astype(int)]).all()
        assert X[low:high][:, places(swapped)[7:]].mean(axis=0) == pytest.approx(0.5, abs=0.025)


def test_digits_are_equally_likely_and_segments_inverted_as_asked() -> None:
    X, y = read(open_stream("led:rows=100000,swapped=0"))
    assert set(np.unique(X)) == {0.0, 1.0}
    assert np.bincount(y.astype(int)) / 100_000 == pytest.approx(0.1, abs=0.005)
    assert (X[:, :7] != DIGITS[y.astype(int)]).mean(axis=0) == pytest.approx(0.1, abs=0.005)
    nearest = np.abs(X[:, None, :7] - DIGITS[None]).sum(axis=2).argmin(axis=1)
    assert (nearest == y).mean() == pytest.approx(BAYES, abs=0.006)


@pytest.mark.parametrize("noisy", [False, True])
def test_holdout_rows_come_from_the_concept_in_force_inverted_as_the_rows_are(noisy: bool) -> None:
    """The noise is in the segments and the label is always the digit's, so clean labels do not mean clean displays."""
    stream = open_stream("led")
    for row, swapped in ((0, 1), (9_999, 1), (10_000, 3), (39_999, 7)):
        X, y = stream.holdout(row, 5000, seed=1, noisy=noisy)
        wrong = X[:, places(swapped)[:7]] != DIGITS[y.astype(int)]
        assert wrong.mean() == pytest.approx(0.1, abs=0.01)


def test_holdout_rows_without_noise_show_their_digit() -> None:
    X, y = open_stream("led:noise=0").holdout(10_000, 500, seed=1)
    assert (X[:, places(3)[:7]] == DIGITS[y.astype(int)]).all()


@pytest.mark.parametrize("words", [(), ("--classes", "10")])
def test_evaluate_learns_ten_classes_with_or_without_the_option(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, ["evaluate", "led:rows=4000,swapped=0", "--learner", "mc_pa1", "--json", *words])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert row["rows"] == 4000
    assert 0.5 < row["accuracy"] < BAYES


def test_classes_can_be_named() -> None:
    names = tuple("abcdefghij")
    assert open_stream("led").labels == tuple("0123456789")
    assert open_stream("led", labels=names).labels == names
    with pytest.raises(UsageFailure, match="led has 10 classes, not the 2 labels a,b"):
        open_stream("led", labels=("a", "b"))


def test_swaps_need_enough_irrelevant_attributes() -> None:
    with pytest.raises(UsageFailure) as failure:
        open_stream("led:irrelevant=3")
    assert str(failure.value) == ("led: swapped=7 needs as many irrelevant attributes to swap with, but irrelevant=3")
