"""Ratings of items by users, from latent factors or from clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import normal, randint
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array

FACTORS, BLOCKS = "factors", "blocks"
CLUSTERS = 3
MEAN = 3.0
SPREAD = 0.5
"""Standard deviation of the offsets of users and items under BLOCKS."""


@kernel
def draw_factors(rng: NDArray[np.uint64], users: Array, items: Array) -> None:
    """Draw the factors of users and items. Shapes: rng u8[4], users f8[users, rank], items f8[items, rank].

    All are N(0, 1); those of the users are halved, so that a rating is 3 + U V / 2.
    docs/algorithms/reference-results.md#learners-for-other-tasks.
    """
    for u in range(users.shape[0]):
        for k in range(users.shape[1]):
            users[u, k] = 0.5 * normal(rng)
    for i in range(items.shape[0]):
        for k in range(items.shape[1]):
            items[i, k] = normal(rng)


@kernel
def draw_blocks(rng: NDArray[np.uint64], users: Array, items: Array, block: Array) -> None:
    """Draw the cluster and the offset of each user and item.

    Shapes: rng u8[4], users f8[users, 5], items f8[items, 5], block f8[3, 3] scratch. The sum of a block's rating,
    N(0, 1), and two offsets is written as a product of 3 + 2 factors: a user has the row of its cluster, its offset and
    1, an item the unit vector of its cluster, 1 and its offset.
    """
    for g in range(CLUSTERS):
        for h in range(CLUSTERS):
            block[g, h] = normal(rng)
    for u in range(users.shape[0]):
        g = randint(rng, CLUSTERS)
        for h in range(CLUSTERS):
            users[u, h] = block[g, h]
        users[u, CLUSTERS], users[u, CLUSTERS + 1] = SPREAD * normal(rng), 1.0
    for i in range(items.shape[0]):
        cluster = randint(rng, CLUSTERS)
        for h in range(CLUSTERS):
            items[i, h] = 1.0 if h == cluster else 0.0
        items[i, CLUSTERS], items[i, CLUSTERS + 1] = 1.0, SPREAD * normal(rng)


@kernel
def draw_ratings(rng: NDArray[np.uint64], users: Array, items: Array, noise: float, X: Array, y: Array) -> None:
    """Write ratings of random items by random users; draw order: the user, the item, the noise.

    Shapes: rng u8[4], users f8[users, rank], items f8[items, rank], X f8[n, 2], y f8[n]. The noise is drawn even if it
    is 0.
    """
    for t in range(X.shape[0]):
        u, i = randint(rng, users.shape[0]), randint(rng, items.shape[0])
        rating = MEAN
        for k in range(users.shape[1]):
            rating += users[u, k] * items[i, k]
        X[t, 0], X[t, 1], y[t] = float(u), float(i), rating + noise * normal(rng)


def _rank(values: Values) -> int:
    return int(values["rank"]) if values["of"] == FACTORS else CLUSTERS + 2


def _parts(values: Values, memory: Array) -> tuple[Array, Array]:
    """Views of `memory`: the factors of users f8[users, rank] and of items f8[items, rank]."""
    rank = _rank(values)
    users = values["users"] * rank
    return memory[:users].reshape(-1, rank), memory[users:].reshape(-1, rank)


def _fill(values: Values, rng: NDArray[np.uint64], memory: Array, start: int, X: Array, y: Array) -> None:
    users, items = _parts(values, memory)
    if start == 0:
        if values["of"] == FACTORS:
            draw_factors(rng, users, items)
        else:
            draw_blocks(rng, users, items, np.empty((CLUSTERS, CLUSTERS)))
    draw_ratings(rng, users, items, values["noise"], X, y)


def _sample(values: Values, rng: NDArray[np.uint64], memory: Array, _row: int, X: Array, y: Array) -> None:
    draw_ratings(rng, *_parts(values, memory), values["noise"], X, y)


RECIPE = GeneratorSpec(
    name="ratings",
    summary="Ratings of random items by random users, whole numbers from 0: 3 plus half the product of their factors, "
    "which are N(0, 1), plus noise; or of blocks: users and items in 3 clusters each, a rating N(0, 1) for each pair "
    "of clusters, and an offset of deviation 0.5 for each user and item. Regression.",
    source="docs/algorithms/reference-results.md#learners-for-other-tasks, online_mf",
    options=(
        option("rows", 60_000, "integer", low=1, meaning="length"),
        option("of", FACTORS, "choice", choices=(FACTORS, BLOCKS), meaning="how ratings are generated"),
        option("users", 300, "integer", low=1, high=10_000_000, meaning="number of users"),
        option("items", 200, "integer", low=1, high=10_000_000, meaning="number of items"),
        option("rank", 5, "integer", low=1, high=1000, meaning="factors: number per user and item"),
        option("noise", 0.1, "number", low=0, high=1000, meaning="standard deviation of the noise"),
    ),
    shape=lambda _: (2, 1),
    feature_names=("user", "item"),
    task="regression",
    memory=lambda values: (values["users"] + values["items"]) * _rank(values),
    fill=_fill,
    sample=_sample,
    label_noise="noise",
)
