"""Generators: the same bits for the same seed with every block size, and the concepts that the papers describe."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from driftway.producers.streams import GENERATORS, Stream, open_stream
from driftway.producers.streams.generator import first_row
from driftway.worker.errors import UsageFailure
from driftway.worker.wire import packed
from driftway.worker.wire.codec import encode_events

MASK = 2**64 - 1


class Xoshiro:
    """docs/algorithms/conventions.md#random-numbers in plain integers: the oracle of the kernels."""

    def __init__(self, seed: int) -> None:
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.s.append(z ^ (z >> 31))

    def uniform(self) -> float:
        s = self.s
        result = (rotl((s[1] * 5) & MASK, 7) * 9) & MASK
        shifted = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotl(s[3], 45)
        return (result >> 11) * 2.0**-53

    def normal(self) -> float:
        u1 = max(self.uniform(), 2.0**-53)
        return math.sqrt(-2.0 * math.log(u1)) * math.cos(2.0 * math.pi * self.uniform())


def rotl(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & MASK


def naive_sea(n: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng, X, y = Xoshiro(seed), [], []
    for t in range(n):
        x = [10.0 * rng.uniform() for _ in range(3)]
        label = x[0] + x[1] <= (8, 9, 7, 9.5)[4 * t // n]
        X.append(x)
        y.append(float(label != (rng.uniform() < noise)))
    return np.array(X), np.array(y)


def naive_hyperplane(n: int, seed: int, noise: float, d: int, stages: int) -> tuple[np.ndarray, np.ndarray]:
    rng, X, y, stage, a = Xoshiro(seed), [], [], -1, []
    for t in range(n):
        if stages * t // n != stage:
            stage = stages * t // n
            a = [rng.normal() for _ in range(d)]
        x = [rng.uniform() for _ in range(d)]
        label = sum(w * v for w, v in zip(a, x, strict=True)) >= sum(a) / 2
        X.append(x)
        y.append(float(label != (rng.uniform() < noise)))
    return np.array(X), np.array(y)


def read(stream: Stream, size: int = 8192) -> tuple[np.ndarray, np.ndarray]:
    blocks = list(stream.blocks(size))
    assert all(b.X.flags.c_contiguous and b.X.dtype == b.y.dtype == np.float64 for b in blocks)
    return np.concatenate([b.X for b in blocks]), np.concatenate([b.y for b in blocks])


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_sea_equals_the_oracle(seed: int) -> None:
    X, y = read(open_stream("sea:rows=997", seed=seed))
    expected = naive_sea(997, seed, 0.1)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


def test_hyperplane_equals_the_oracle() -> None:
    X, y = read(open_stream("hyperplane_staged:rows=1000,d=4,stages=7", seed=5), size=64)
    expected = naive_hyperplane(1000, 5, 0.05, 4, 7)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("size", [1, 7, 64, 1999, 2000, 8192])
def test_block_size_changes_no_bit(name: str, size: int) -> None:
    whole = read(open_stream(name, rows=2000, seed=3))
    cut = read(open_stream(name, rows=2000, seed=3), size)
    assert whole[0].tobytes() == cut[0].tobytes()
    assert whole[1].tobytes() == cut[1].tobytes()


@pytest.mark.parametrize("name", GENERATORS)
def test_reading_twice_gives_the_same_rows_and_another_seed_others(name: str) -> None:
    stream = open_stream(name, rows=500)
    first, again, other = read(stream), read(stream), read(open_stream(name, rows=500, seed=2))
    assert first[0].tobytes() == again[0].tobytes()
    assert first[0].tobytes() != other[0].tobytes()


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_gives_the_same_bytes_on_the_wire(name: str) -> None:
    def wire(size: int) -> list[bytes]:
        values, at = [], 0
        for X, y in open_stream(name, rows=300, seed=9).blocks(size):
            values += encode_events(X, y, at) + packed.encode_events(X, y)
            at += len(y)
        return sorted(values)

    assert wire(300) == wire(41)


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_has_the_rows_features_and_labels_that_it_declares(name: str) -> None:
    stream = open_stream(name)
    X, y = read(stream)
    assert X.shape == (stream.rows, stream.n_features) == (len(y), len(stream.feature_names))
    assert np.isfinite(X).all()
    if stream.task == "classification":
        assert set(np.unique(y)) == set(range(len(stream.labels)))
    else:
        assert stream.task == "regression"
        assert stream.labels is None
        assert len(np.unique(y)) == stream.rows
    assert stream.source


def test_default_shapes_are_the_papers() -> None:
    sea, plane = open_stream("sea"), open_stream("hyperplane_staged")
    assert (sea.rows, sea.n_features, sea.drift_points) == (50_000, 3, (12_500, 25_000, 37_500))
    assert (plane.rows, plane.n_features) == (90_000, 10)
    assert plane.drift_points == tuple(range(10_000, 90_000, 10_000))


def test_sea_labels_follow_the_stage_thresholds() -> None:
    stream = open_stream("sea:noise=0")
    X, y = read(stream)
    edges = (0, *stream.drift_points, stream.rows)
    for threshold, (low, high) in zip((8, 9, 7, 9.5), pairwise(edges), strict=True):
        rule = X[low:high, 0] + X[low:high, 1] <= threshold
        assert (rule == y[low:high]).all()
        # P(x1 + x2 <= b) on the square of side 10 is b^2 / 200; 12,500 rows: four deviations are 0.018.
        assert rule.mean() == pytest.approx(threshold**2 / 200, abs=0.018)


@pytest.mark.parametrize(("name", "noise"), [("sea", 0.1), ("hyperplane_staged", 0.05)])
def test_noise_flips_its_share_of_labels_and_nothing_else(name: str, noise: float) -> None:
    noisy, clean = read(open_stream(name)), read(open_stream(name, noise=0))
    assert noisy[0].tobytes() == clean[0].tobytes()
    share = (noisy[1] != clean[1]).mean()
    assert share == pytest.approx(noise, abs=4 * math.sqrt(noise / len(noisy[1])))


def test_hyperplane_classes_are_balanced_in_every_stage() -> None:
    stream = open_stream("hyperplane_staged")
    _, y = read(stream)
    for low, high in pairwise((0, *stream.drift_points, stream.rows)):
        assert y[low:high].mean() == pytest.approx(0.5, abs=0.03)  # the plane halves the cube


def test_hyperplane_changes_at_its_drift_points_and_not_in_between() -> None:
    """Least squares fitted to one half of a stage predicts the other half, and fails in the next stage."""
    stream = open_stream("hyperplane_staged:noise=0")
    X, y = read(stream)
    right, wrong = [], []
    for low, high in pairwise((0, *stream.drift_points)):
        fitted = np.linalg.lstsq(X[low : low + 5000] - 0.5, y[low : low + 5000] - 0.5, rcond=None)[0]
        guess = ((X - 0.5) @ fitted >= 0) == y
        right.append(guess[low + 5000 : high].mean())
        wrong.append(guess[high : high + 5000].mean())
    assert min(right) > 0.95
    assert max(wrong) < 0.9


@pytest.mark.parametrize(("stages", "rows"), [(4, 50_000), (9, 1000), (7, 7), (3, 10)])
def test_stage_starts_agree_with_the_formula(stages: int, rows: int) -> None:
    starts = [first_row(stage, stages, rows) for stage in range(stages)]
    by_formula = [stages * t // rows for t in range(rows)]
    assert starts == [by_formula.index(stage) for stage in range(stages)]


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("sea:noise=2", {}, "sea: noise must be a number from 0 to 1, got 2"),
        ("sea:noise=nan", {}, "sea: noise must be a number from 0 to 1, got nan"),
        ("sea:noise=much", {}, "sea: noise must be a number from 0 to 1, got much"),
        ("sea:rows=0", {}, "sea: rows must be a whole number of at least 1, got 0"),
        ("sea:rows=10.5", {}, "sea: rows must be a whole number of at least 1, got 10.5"),
        ("sea:rows=3", {}, "sea: rows must be at least the 4 stages, got 3"),
        ("sea", {"noise": True}, "sea: noise must be a number from 0 to 1, got True"),
        ("sea:thresholds=8/x", {}, "sea: thresholds must be numbers separated by /, got 8/x"),
        ("sea:width=3", {}, "sea has no parameter 'width'; available: rows, thresholds, noise, seed"),
        ("sea:noise", {}, "'noise' in 'sea:noise' is not parameter=value"),
        ("sea:noise=0,noise=1", {}, "noise is given twice in 'sea:noise=0,noise=1'"),
        ("sea:seed=-1", {}, "sea: seed must be a whole number from 0 to 2^64 - 1, got -1"),
        ("sea:seed=x", {}, "sea: seed must be a whole number from 0 to 2^64 - 1, got x"),
        ("hyperplane_staged:d=0", {}, "hyperplane_staged: d must be a whole number from 1 to 100000, got 0"),
        ("sea", {"rows": 0}, "rows must be at least 1, got 0"),
        ("sea", {"labels": ["a"]}, "labels must be at least two different names, got a"),
        ("sea", {"labels": ["a", "b", "c"]}, "sea has 2 classes, not the 3 labels a,b,c"),
    ],
)
def test_a_bad_option_is_refused_in_one_sentence(name: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        open_stream(name, **options)  # type: ignore[arg-type]
    assert str(failure.value) == sentence


def test_options_come_from_the_name_or_as_arguments() -> None:
    by_name = open_stream("sea:thresholds=5/6,rows=10,seed=4")
    by_argument = open_stream("sea", thresholds=(5, 6), rows=10, seed=4)
    assert by_name.drift_points == by_argument.drift_points == (5,)
    assert read(by_name)[0].tobytes() == read(by_argument)[0].tobytes()
    assert open_stream("sea", labels=("below", "above")).labels == ("below", "above")
