"""A generator as a stream: a recipe that fills blocks from one seeded random state, in row order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners import random
from producers.streams.options import Option, Values, read_options
from producers.streams.stream import BLOCK_ROWS, Array, Block, Stream, Task
from worker.errors import UsageFailure

Fill = Callable[[Values, NDArray[np.uint64], Array, int, Array, Array], None]
SEEDS = 2**64


@dataclass(frozen=True)
class Recipe:
    """How one generator makes its rows.

    Parameters
    ----------
    name, summary, source : str
        For users; the source is the paper.
    options : tuple of Option
        One of them is ``rows``.
    shape : callable
        Option values -> (number of features, number of stages of equal length).
    fill : callable
        ``fill(values, rng, memory, start, X, y)`` writes rows start, start + 1, ... into X f8[n, d] and
        y f8[n]. `rng` u8[4] and `memory` f8[d] carry over from block to block and nothing else does, which
        is why the rows cannot depend on the block size.
    task : str
        ``classification`` (two classes, y in {0, 1}) or ``regression``.
    """

    name: str
    summary: str
    source: str
    options: tuple[Option, ...]
    shape: Callable[[Values], tuple[int, int]]
    fill: Fill
    task: Task = "classification"


class Generator(Stream):
    """The rows of a recipe for one seed and one choice of options.

    Parameters
    ----------
    recipe : Recipe
        What to make.
    seed : int
        0 <= seed < 2**64; the same seed gives the same bits on every machine.
    given : mapping
        Options by name, as text or as numbers.

    Raises
    ------
    UsageFailure
        An option or the seed is not valid.
    """

    def __init__(self, recipe: Recipe, seed: int, given: Mapping[str, Any]) -> None:
        self.recipe = recipe
        self.values = read_options(recipe.name, recipe.options, given)
        if not 0 <= seed < SEEDS:
            raise UsageFailure(f"{recipe.name}: seed must be a whole number from 0 to 2^64 - 1, got {seed}")
        self.seed = seed
        width, stages = recipe.shape(self.values)
        length: int = self.values["rows"]
        if length < stages:
            raise UsageFailure(f"{recipe.name}: rows must be at least the {stages} stages, got {length}")
        self.name = recipe.name
        self.feature_names = tuple(f"x{column}" for column in range(1, width + 1))
        self.rows = length
        self.drift_points = tuple(first_row(stage, stages, length) for stage in range(1, stages))
        self.task = recipe.task
        self.source = recipe.source

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        rng = np.zeros(4, np.uint64)
        random.seed(rng, np.uint64(self.seed))
        memory = np.zeros(self.n_features)
        length: int = self.values["rows"]
        for start in range(0, length, size):
            n = min(size, length - start)
            X, y = np.empty((n, self.n_features)), np.empty(n)
            self.recipe.fill(self.values, rng, memory, start, X, y)
            yield Block(X, y)


def first_row(stage: int, stages: int, length: int) -> int:
    """The first row t with floor(stages * t / length) = stage."""
    return -(-stage * length // stages)
