"""Seeded choices: the same for every block size and from any start, and as their definition says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway.producers.row_random import LABELS, POISON, SHUFFLE, LabelDropper, RowRandom, Shuffled
from driftway.producers.selection import Selection, select
from driftway.producers.streams import open_stream
from driftway.producers.streams.stream import Block
from driftway.worker.errors import UsageFailure
from tests.support.oracle.random import Xoshiro


def oracle(seed: int, purpose: int) -> Xoshiro:
    """Return the generator of one purpose, as the module describes it."""
    root = Xoshiro(seed)
    words = [root.next() for _ in range(purpose)]
    return Xoshiro(words[-1])


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
@pytest.mark.parametrize("first", [0, 12_345, 2**40])
def test_a_rows_numbers_follow_from_seed_and_position(seed: int, first: int) -> None:
    base = oracle(seed, POISON).next()
    expected = []
    for position in range(first, first + 7):
        generator = Xoshiro((base + position) % 2**64)
        expected.append([generator.uniform(), generator.uniform()])
    draws = RowRandom(seed, POISON, 2)
    assert draws.uniforms(first, 7).tolist() == expected
    assert np.concatenate([draws.uniforms(first, 3), draws.uniforms(first + 3, 4)]).tolist() == expected


def test_numbers_are_uniform_and_differ_between_seeds_purposes_and_rows() -> None:
    drawn = [RowRandom(seed, purpose, 2).uniforms(0, 20_000) for seed in (1, 2) for purpose in (POISON, LABELS)]
    for numbers in drawn:
        counts = np.histogram(numbers, 20, (0.0, 1.0))[0]
        assert ((counts - 2000) ** 2 / 2000).sum() < 50  # chi-square, 19 degrees of freedom: 50 has probability 10^-4
        assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.03
        assert abs(np.corrcoef(numbers[:, 0], numbers[:, 1])[0, 1]) < 0.03
    assert len({numbers[0, 0] for numbers in drawn}) == 4


def test_a_seed_out_of_bounds_is_refused_in_one_sentence() -> None:
    with pytest.raises(UsageFailure, match="--seed must be a whole number from 0 to 2\\^64 - 1, got -1"):
        RowRandom(-1, POISON, 1)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_whether_a_label_is_withheld_depends_on_its_position(size: int) -> None:
    stream = open_stream("sea", rows=100)
    whole = next(iter(stream.blocks()))
    y = whole.y.copy()
    y[::10] = math.nan  # rows without a label from the start
    expected = np.where(RowRandom(5, LABELS, 1).uniforms(1000, 100)[:, 0] < 0.4, math.nan, y)
    withheld = LabelDropper(0.4, 5)
    found, taken = [], 0
    for at in range(0, 100, size):
        block, count = withheld.apply(1000 + at, Block(whole.X[at : at + size], y[at : at + size]))
        assert np.array_equal(block.X, whole.X[at : at + size])
        found.append(block.y)
        taken += int(count.sum())
    assert np.array_equal(np.concatenate(found), expected, equal_nan=True)
    assert taken == np.isnan(expected).sum() - 10
    assert 20 < taken < 60
    assert LabelDropper(1.0, 5).apply(0, whole)[1].all()
    assert not LabelDropper(0.0, 5).apply(0, whole)[1].any()


@pytest.mark.parametrize("size", [1, 64, 9000])
def test_a_shuffle_is_the_permutation_of_fisher_and_yates(size: int) -> None:
    rows = 8500  # more than one block of the source
    stream = open_stream("sea", rows=rows)
    table = np.concatenate([np.column_stack([X, y]) for X, y in stream.blocks()])
    generator, order = oracle(3, SHUFFLE), list(range(rows))
    for i in range(rows - 1, 0, -1):
        j = min(int(generator.uniform() * (i + 1)), i)
        order[i], order[j] = order[j], order[i]
    shuffled = Shuffled(stream, 3)
    blocks = list(shuffled.blocks(size))
    assert {len(block.y) for block in blocks[:-1]} <= {size}
    assert all(block.X.flags.c_contiguous for block in blocks)
    found = np.concatenate([np.column_stack([X, y]) for X, y in blocks])
    assert (found == table[order]).all()
    again = np.concatenate([np.column_stack([X, y]) for X, y in shuffled.blocks(100)])
    assert (again == found).all(), "each lap has the same order"
    assert (shuffled.rows, shuffled.feature_names, shuffled.drift_points) == (rows, stream.feature_names, ())


def test_every_order_is_equally_likely() -> None:
    stream = open_stream("sea", rows=4)
    table = next(iter(stream.blocks())).X[:, 0].tolist()
    seen: dict[tuple[int, ...], int] = {}
    for seed in range(2400):
        block = next(iter(Shuffled(stream, seed).blocks()))
        order = tuple(table.index(x) for x in block.X[:, 0].tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    assert sum((count - 100) ** 2 / 100 for count in seen.values()) < 60  # chi-square, 23 degrees of freedom


def test_a_shuffled_stream_is_cut_like_any_other() -> None:
    shuffled = Shuffled(open_stream("sea", rows=50), 1)
    once = next(iter(shuffled.blocks())).X
    parts = [X for _, (X, _) in select(shuffled, Selection(skip=45, limit=10, laps=2), 4)]
    assert (np.concatenate(parts) == np.concatenate([once, once])[45:55]).all()


def test_an_empty_stream_stays_empty() -> None:
    class Empty(type(open_stream("sea"))):  # type: ignore[misc]
        def __init__(self) -> None:
            vars(self).update(vars(open_stream("sea")))

        def blocks(self, size: int = 1):  # type: ignore[no-untyped-def]
            return iter(())

    assert list(Shuffled(Empty(), 1).blocks()) == []
