"""Sudden, gradual, recurring and incremental drift against naive loops, and their statistics."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.producers.streams.injection.injection_kind import SALT
from driftway.producers.streams.stream import Stream
from driftway.worker.errors import UsageFailure
from tests.support.oracle.random import Xoshiro
from tests.unit.producers.injected import GivenStream, numbered, put, read


def firsts(stream: Stream, size: int = 8192) -> list[float]:
    return read(stream, size)[0][:, 0].tolist()


def naive_switch(first: list[float], second: list[float], late: list[bool]) -> list[float]:
    """Return the next row of the stream whose turn it is, until that has none: MOA's and River's loop."""
    streams, out = (iter(first), iter(second)), []
    for turn in late:
        row = next(streams[turn], None)
        if row is None:
            break
        out.append(row)
    return out


def naive_gradual(n: int, at: int, width: int, seed: int, place: int = 1) -> list[bool]:
    rng = Xoshiro((seed ^ SALT) + place)
    return [rng.uniform() < 1 / (1 + math.exp(min(700.0, -4 * (t - at) / width))) for t in range(n)]


@pytest.mark.parametrize(("n", "m", "at"), [(100, 100, 30), (100, 5, 99), (50, 1, 1)])
def test_sudden_is_one_stream_and_then_the_other(n: int, m: int, at: int) -> None:
    stream = put(numbered(n), f"sudden:at={at},to=other", seconds=[numbered(m, -1)])
    expected = [*range(1, at + 1), *range(-1, -m - 1, -1)]
    assert firsts(stream) == firsts(stream, 7) == expected
    assert stream.rows == at + m
    assert stream.drift_points == (at,)
    assert read(stream)[2].tolist() == [0] * at + [1] * m


def test_sudden_includes_the_drifts_of_the_second_stream() -> None:
    second = numbered(50, -1, drift_points=[20])
    stream = put(numbered(100, drift_points=[10, 60]), "sudden:at=40,to=other", seconds=[second])
    assert stream.drift_points == (10, 40, 60)  # the first's stage at 60 is never reached; 60 is 40 + 20
    assert read(stream)[2].tolist() == [0] * 10 + [1] * 30 + [3] * 20 + [4] * 30
    assert stream.concepts == tuple(
        f"{name} stage {k}" for name, n in (("held", 3), ("other", 2)) for k in range(1, n + 1)
    )


@pytest.mark.parametrize(("n", "m"), [(100, 100), (100, 23), (33, 100), (20, 20), (10, 10)])
@pytest.mark.parametrize("period", [1, 7, 9])
def test_recurring_alternates_until_one_stream_ends(n: int, m: int, period: int) -> None:
    stream = put(numbered(n), f"recurring:period={period},to=other", seconds=[numbered(m, -1)])
    late = [t // period % 2 == 1 for t in range(1000)]
    expected = naive_switch([*range(1, n + 1)], [*range(-1, -m - 1, -1)], late)
    assert firsts(stream) == firsts(stream, 8) == expected
    assert stream.rows == len(expected)
    assert stream.drift_points == tuple(range(period, len(expected), period))
    assert read(stream)[2].tolist() == [int(x < 0) for x in expected]


def test_recurring_reads_a_stream_of_unknown_length_to_find_its_changes() -> None:
    first = numbered(30)
    first.rows = None
    stream = put(first, "recurring:period=10,to=other", seconds=[numbered(100, -1)])
    assert stream.rows is None
    assert len(firsts(stream)) == 60
    assert stream.drift_points == (10, 20, 30, 40, 50)


def test_a_change_beyond_the_end_of_a_stream_of_unknown_length_is_not_listed() -> None:
    first = numbered(30)
    first.rows = None
    text = "gradual:at=900000000000000,width=5,to=other"
    assert put(first, text, seconds=[numbered(100, -1, drift_points=[50])]).changes == ()


@pytest.mark.parametrize(("n", "m", "width"), [(600, 600, 120), (600, 100, 120), (301, 600, 9000)])
def test_gradual_equals_the_oracle(n: int, m: int, width: int) -> None:
    stream = put(numbered(n), f"gradual:at=300,width={width},to=other", seconds=[numbered(m, -1)], seed=5)
    late = naive_gradual(n + m + 1, 300, width, seed=5)
    expected = naive_switch([*range(1, n + 1)], [*range(-1, -m - 1, -1)], late)
    assert firsts(stream) == firsts(stream, 64) == expected
    assert stream.rows == len(expected)
    assert [change[1:4] for change in stream.changes] == [(300, max(0, 300 - width // 2), 300 + width // 2)]


def test_gradual_follows_the_sigmoid() -> None:
    n, at, width = 200_000, 100_000, 40_000
    stream = put(numbered(n), f"gradual:at={at},width={width},to=other", seconds=[numbered(n, -1)])
    concept = read(stream)[2]
    edges = np.arange(0, 200_001, 10_000)
    t = np.arange(n)
    p = 1 / (1 + np.exp(-4 * (t - at) / width))
    for low, high in pairwise(edges):
        expected, spread = p[low:high].sum(), math.sqrt((p[low:high] * (1 - p[low:high])).sum())
        assert abs(concept[low:high].sum() - expected) < 4.5 * spread + 1
    # Draws are independent: where p is near 1/2, as many neighbours are equal as with a fair coin.
    middle = concept[99_000:101_000]
    assert abs((middle[1:] == middle[:-1]).sum() - 1000) < 4.5 * math.sqrt(500)


def test_gradual_does_not_overflow_far_from_its_centre() -> None:
    stream = put(numbered(100), "gradual:at=99,width=1,to=other", seconds=[numbered(50, -1)])
    assert firsts(stream)[:95] == [*range(1, 96)]
    wide = put(numbered(1000), "gradual:at=999,width=1000000,to=other", seconds=[numbered(1000, -1)])
    assert abs(read(wide)[2].mean() - 0.5) < 0.08


def naive_incremental(first: GivenStream, second: GivenStream, start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, latest = [], [], {}
    for t in range(end):
        a, label = first.X[t], first.y[t]
        if t >= start:
            b, other = second.X[t - start], second.y[t - start]
            if not math.isnan(other):
                latest[other] = b
            partner = b if math.isnan(label) else latest.get(label, a)
            w = (t - start) / (end - start)
            a = np.array([(1 - w) * p + w * q for p, q in zip(a, partner, strict=True)])
        X.append(a)
        y.append(label)
    return np.array([*X, *second.X[end - start :]]), np.array([*y, *second.y[end - start :]])


def classes_of(n: int, seed: int, means: list[list[float]]) -> GivenStream:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(means), n).astype(float)
    return GivenStream(np.array(means)[y.astype(int)] + rng.normal(size=(n, len(means[0]))), y)


@pytest.mark.parametrize(("start", "end"), [(0, 100), (50, 300), (299, 300)])
def test_incremental_equals_the_oracle(start: int, end: int) -> None:
    first, second = (classes_of(400, seed, [[0.0, 0.0], [3.0, 1.0], [0.0, 5.0]]) for seed in (1, 2))
    for held in (first, second):
        held.y.flags.writeable = True
        held.y[::7] = np.nan
    stream = put(first, f"incremental:from={start},until={end},classes=3,to=other", seconds=[second])
    X, y, concept = read(stream, 64)
    expected = naive_incremental(first, second, start, end)
    assert X.tobytes() == expected[0].tobytes()
    assert y.tobytes() == expected[1].tobytes()
    assert concept.tolist() == [0] * start + [2] * (end - start) + [1] * (len(y) - end)
    assert stream.rows == len(y)
    assert stream.drift_points == tuple(point for point in (start, end) if point)


def test_incremental_moves_class_means_in_a_straight_line() -> None:
    n = 40_000
    first, second = classes_of(n, 1, [[0.0, 0.0], [3.0, 1.0]]), classes_of(n, 2, [[4.0, 2.0], [-1.0, 1.0]])
    stream = put(first, f"incremental:from=0,until={n},to=other", seconds=[second])
    X, y, _ = read(stream)
    for label, (a, b) in enumerate([([0.0, 0.0], [4.0, 2.0]), ([3.0, 1.0], [-1.0, 1.0])]):
        for low in range(0, n, 8000):
            w = (low + 4000) / n
            mean = X[low : low + 8000][y[low : low + 8000] == label].mean(axis=0)
            assert mean == pytest.approx((1 - w) * np.array(a) + w * np.array(b), abs=0.1)  # 4 of 1/sqrt(4000)


def test_incremental_moves_a_parallel_boundary_from_one_place_to_the_other() -> None:
    """SEA without noise: half-way the threshold is the mean of both, and no label is wrong."""
    stream = open_stream(
        "sea:rows=4000,thresholds=6,noise=0", inject=["incremental:from=0,until=4000,to=sea:thresholds=10,noise=0"]
    )
    X, y, _ = read(stream)
    t = np.arange(4000)
    rule = X[:4000, 0] + X[:4000, 1] <= 6 + 4 * t / 4000
    # Until the second stream has shown a class, rows are the first stream's own.
    assert (rule == y[:4000])[20:].all()


def test_incremental_interpolates_regression_targets() -> None:
    first, second = numbered(10), numbered(10, -1)
    first.task = second.task = "regression"
    X, y, _ = read(put(first, "incremental:from=2,until=7,to=other", seconds=[second]), 3)
    w = np.array([0, 0, 0, 0.2, 0.4, 0.6, 0.8])
    b = np.array([0, 0, 0, 1, 2, 3, 4])  # the second's rows from row 2 on
    assert X[:7, 0] == pytest.approx((1 - w) * np.arange(1, 8) + w * -(b + 1))
    assert y[:7] == pytest.approx((1 - w) * (np.arange(7) % 2) + w * (b % 2))
    assert X[7:, 0].tolist() == [-6, -7, -8, -9, -10]


@pytest.mark.parametrize(("n", "m", "rows"), [(5, 100, 5), (30, 100, 110), (30, 4, 14), (30, 10, 20)])
def test_incremental_ends_with_the_shorter_stream(n: int, m: int, rows: int) -> None:
    text = "incremental:from=10,until=20,to=other"
    if n <= 10:
        with pytest.raises(UsageFailure, match="from must be below 5"):
            put(numbered(n), text, seconds=[numbered(m, -1)])
        return
    stream = put(numbered(n), text, seconds=[numbered(m, -1)])
    assert stream.rows == rows == len(firsts(stream, 4))


def test_incremental_refuses_labels_that_are_no_classes() -> None:
    second = GivenStream(np.ones((10, 2)), np.full(10, 7.0))
    stream = put(numbered(10), "incremental:from=2,until=7,to=other", seconds=[second])
    with pytest.raises(UsageFailure, match=r"label 7 in row 0 is not a class index of 0 to 1"):
        read(stream)


def test_the_second_stream_of_the_same_generator_has_another_seed() -> None:
    stream = open_stream("sea:rows=100", seed=4, inject=["sudden:at=50,to=sea:rows=100"])
    X = read(stream)[0]
    assert X[50:].tobytes() == read(open_stream("sea:rows=100", seed=5))[0].tobytes()
    same = open_stream("sea:rows=100", seed=4, inject=["sudden:at=50,to=sea:rows=100,seed=4"])
    assert read(same)[0][50:].tobytes() == read(open_stream("sea:rows=100", seed=4))[0].tobytes()
