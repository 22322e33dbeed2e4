"""Moving classes of the non-stationary archive: Gaussians in the plane whose means and variances follow paths.

The archive publishes files but no definition. The paths here were derived from public copies of those files, block by
block; only 2CHT is by analogy, because no public copy was found. Unlike in the files, where classes and components have
exactly equal shares in each block, they are drawn independently for each row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.random import normal, randint, uniform
from driftway.producers.streams.generator import GeneratorSpec
from driftway.producers.streams.options import Values, option
from driftway.producers.streams.stream import Array

Point = tuple[float, float]

SOURCE = (
    "de Souza, Silva, Gama and Batista, Data stream classification guided by clustering on nonstationary "
    "environments and extreme verification latency, SDM 2015; layout as "
    "docs/algorithms/streams.md#archive, paths read off "
    "public copies"
)


@kernel
def draw_row(rng: NDArray[np.uint64], path: Array, position: float, X: Array, i: int) -> float:
    """Write row i of the concept at `position` on the path and return its label; draw order: class, component, x1, x2.

    Shapes: rng u8[4], path f8[2, components, corners, 4], X f8[n, 2]. Means and variances change linearly from
    one corner to the next: 0 <= position <= corners - 1.
    """
    label = 1 if uniform(rng) < 0.5 else 0
    k = randint(rng, path.shape[1])
    corner = min(int(position), path.shape[2] - 2)
    part = position - corner
    for j in range(2):
        mean = (1.0 - part) * path[label, k, corner, j] + part * path[label, k, corner + 1, j]
        variance = (1.0 - part) * path[label, k, corner, 2 + j] + part * path[label, k, corner + 1, 2 + j]
        X[i, j] = mean + np.sqrt(variance) * normal(rng)
    return float(label)


@kernel
def fill_archive(
    rng: NDArray[np.uint64], path: Array, blocks: int, last: int, length: int, start: int, X: Array, y: Array
) -> None:
    """Write rows start, start + 1, ...; block b of `blocks` is at the fraction b / last of the path.

    Shapes: rng u8[4], path f8[2, components, corners, 4], X f8[n, 2], y f8[n]. docs/algorithms/streams.md#archive.
    """
    for i in range(X.shape[0]):
        block = blocks * (start + i) // length
        y[i] = draw_row(rng, path, (path.shape[2] - 1) * block / last, X, i)


@kernel
def sample_archive(rng: NDArray[np.uint64], path: Array, position: float, X: Array, y: Array) -> None:
    """Write rows of one concept. Shapes: rng u8[4], path f8[2, components, corners, 4], X f8[n, 2], y f8[n]."""
    for i in range(X.shape[0]):
        y[i] = draw_row(rng, path, position, X, i)


def _recipe(
    name: str, summary: str, block_rows: int, blocks: int, last: int, path: Array, returns: bool = False
) -> GeneratorSpec:
    """A recipe of `blocks` blocks of `block_rows` rows along a path, on which it comes back if `returns`.

    Shapes: path f8[2, components, corners, 4].
    """

    def fill(values: Values, rng: NDArray[np.uint64], _memory: Array, start: int, X: Array, y: Array) -> None:
        fill_archive(rng, path, blocks, last, values["rows"], start, X, y)

    def sample(values: Values, rng: NDArray[np.uint64], _memory: Array, row: int, X: Array, y: Array) -> None:
        block = blocks * row // values["rows"]
        sample_archive(rng, path, (path.shape[2] - 1) * block / last, X, y)

    meaning = f"number of rows, divided equally among the {blocks} blocks"
    return GeneratorSpec(
        name=f"archive:{name}",
        summary=summary,
        source=SOURCE,
        options=(option("rows", block_rows * blocks, "integer", low=1, meaning=meaning),),
        shape=lambda _: (2, blocks),
        memory=lambda _: 0,
        concepts=(lambda _: [min(block, blocks - block) for block in range(blocks)]) if returns else None,
        fill=fill,
        sample=sample,
    )


def _translation(name: str, summary: str, start: tuple[Point, Point], end: tuple[Point, Point]) -> GeneratorSpec:
    """Both classes move from `start` to `end` in 20 blocks of 400 rows and back in 20; all variances are 1.5^2."""
    path = [[[(*a, 2.25, 2.25), (*b, 2.25, 2.25), (*a, 2.25, 2.25)]] for a, b in zip(start, end, strict=True)]
    return _recipe(name, summary, 400, 40, 40, np.array(path), returns=True)


ONE_CDT = _translation(
    "1CDT",
    "Class 0 stays at (0, 0), class 1 moves from (4, 4) to (24, 24) and back.",
    ((0, 0), (4, 4)),
    ((0, 0), (24, 24)),
)
ONE_CHT = _translation(
    "1CHT",
    "Class 0 stays at (0, 2), class 1 moves from (4, 2) to (24, 2) and back.",
    ((0, 2), (4, 2)),
    ((0, 2), (24, 2)),
)
TWO_CDT = _translation(
    "2CDT",
    "Class 0 moves from (0, 0) to (20, 20) and back, class 1 beside it from (4, 4) to (24, 24).",
    ((0, 0), (4, 4)),
    ((20, 20), (24, 24)),
)
TWO_CHT = _translation(
    "2CHT",
    "Class 0 moves from (0, 2) to (20, 2) and back, class 1 beside it from (4, 2) to (24, 2).",
    ((0, 2), (4, 2)),
    ((20, 2), (24, 2)),
)

MG_2C_2D = _recipe(
    "MG-2C-2D",
    "Two unit Gaussians per class: those of class 0 rise and cross, those of class 1 separate, descend and meet.",
    2000,
    100,
    99,
    np.array(
        [
            [
                [(2, 2, 1, 1), (3.2, 3.2, 1, 1), (4.4, 4.4, 1, 1), (5.6, 5.6, 1, 1), (6.8, 6.8, 1, 1), (8, 8, 1, 1)],
                [(8, 2, 1, 1), (6.8, 3.2, 1, 1), (5.6, 4.4, 1, 1), (4.4, 5.6, 1, 1), (3.2, 6.8, 1, 1), (2, 8, 1, 1)],
            ],
            [
                [(8, 8, 1, 1), (6, 8, 1, 1), (4, 7.5, 1, 1), (2.5, 6, 1, 1), (2, 4, 1, 1), (2, 2, 1, 1)],
                [(8, 8, 1, 1), (8, 6, 1, 1), (7.5, 4, 1, 1), (6, 2.5, 1, 1), (4, 2, 1, 1), (2, 2, 1, 1)],
            ],
        ]
    ),
)

UG_2C_2D = _recipe(
    "UG-2C-2D",
    "One Gaussian per class; both wander around (5, 5) with changing variances and swap sides.",
    1000,
    100,
    99,
    np.array(
        [
            [[(2, 3, 1, 1), (6, 3, 2, 1), (8, 5, 2, 2), (7, 5, 1, 1), (3, 7, 1.5, 1.5), (3, 3, 1.5, 1.5)]],
            [[(8, 7, 1, 1), (4, 7, 2, 2), (2, 5, 2, 3), (3, 4, 1, 3), (7, 2, 1, 3), (7, 7, 1.5, 1.5)]],
        ]
    ),
)
