"""Ratings: determined by latent traits of users and items, as in the experiment of the specification."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from tests.unit.producers.test_stream_generators import Xoshiro, read


def naive(n: int, seed: int, users: int, items: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    rng, X, y = Xoshiro(seed), [], []
    U = [[rng.normal() for _ in range(rank)] for _ in range(users)]
    V = [[rng.normal() for _ in range(rank)] for _ in range(items)]
    for _ in range(n):
        u, i = int(rng.uniform() * users), int(rng.uniform() * items)
        X.append((u, i))
        y.append(3 + sum(a * b for a, b in zip(U[u], V[i], strict=True)) / 2 + 0.1 * rng.normal())
    return np.array(X), np.array(y)


def test_ratings_equal_the_oracle() -> None:
    X, y = read(open_stream("ratings:rows=400,users=7,items=5,rank=3", seed=6), size=64)
    expected = naive(400, 6, 7, 5, 3)
    assert np.array_equal(X, expected[0])
    assert y == pytest.approx(expected[1], abs=1e-12)


def test_ids_are_those_of_all_users_and_items() -> None:
    X, y = read(open_stream("ratings"))
    assert [set(column) for column in X.T] == [set(range(300)), set(range(200))]
    assert y.std() == pytest.approx(1.12, abs=0.1)


@pytest.mark.parametrize(("of", "rank"), [("factors", 5), ("blocks", 4)])
def test_ratings_without_noise_are_a_table_of_low_rank(of: str, rank: int) -> None:
    X, y = read(open_stream(f"ratings:of={of},noise=0,users=20,items=15,rows=9000", seed=2))
    table = np.full((20, 15), np.nan)
    for (user, item), rating in zip(X.astype(int), y, strict=True):
        assert np.isnan(table[user, item]) or table[user, item] == rating
        table[user, item] = rating
    assert np.isfinite(table).all()
    assert np.linalg.matrix_rank(table - 3.0, tol=1e-9) == rank


def test_blocks_have_three_by_three_levels_plus_offsets() -> None:
    X, y = read(open_stream("ratings:of=blocks,noise=0,users=40,items=30,rows=40000", seed=3))
    table = np.empty((40, 30))
    table[tuple(X.astype(int).T)] = y
    inner = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()  # without offsets
    for rows in (inner, inner.T):
        assert len(np.unique(rows.round(9), axis=0)) == 3
