"""Generators as streams: a recipe fills blocks from one seeded random state, in row order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.numeric import random
from driftway.producers.streams.options import Option, Values, read_options, read_seed
from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block, Change, Concepts, Stream, Task, Traced
from driftway.worker.errors import UsageFailure

Fill = Callable[[Values, NDArray[np.uint64], Array, int, Array, Array], None]


@dataclass(frozen=True)
class GeneratorSpec:
    """How one generator makes its rows.

    Parameters
    ----------
    name, summary, source : str
        For users; the source is the paper.
    options : tuple of Option
        The options, among them ``rows``.
    shape : callable
        Option values -> (number of features, number of stages of equal length).
    fill : callable
        ``fill(values, rng, memory, start, X, y)`` writes rows start, start + 1, ... into X f8[n, d] and
        y f8[n]. Only `rng` u8[4] and `memory` f8[m] are carried from block to block, so that rows cannot
        depend on the block size.
    task : str or callable
        ``classification`` (y is a class index) or ``regression``; or option values -> one of these.
    memory : callable or None
        Option values -> m, the size of `memory`; None: d, one per feature; 0: a row's concept follows from
        its index alone.
    classes : callable or None
        Option values -> K, the number of classes; None: two.
    feature_names : tuple of str
        One per feature; empty: x1, x2, ...
    drifts : callable or None
        Option values -> first rows of the stages after the first; None: stages of equal length.
    concepts : callable or None
        Option values -> the concept of each stage; equal ones are one concept that recurs. None: all differ.
    window : callable or None
        Option values -> number of rows at the start of a stage in which its concept mixes with the one before it.
        None: 0.
    trace : callable or None
        ``trace(stages, ...)`` does what `fill` does and writes to stages i8[n] the stage that each row comes from.
        None: a row comes from the stage in which it lies.
    sample : callable or None
        ``sample(values, rng, memory, row, X, y)`` writes rows of the concept in force at `row`; `memory` is as
        `fill` left it after that row, and is not changed. None: the generator has no holdout rows.
    label_noise : str or None
        The option that removes all label noise if set to 0; None: no option adds noise to the labels alone.
    """

    name: str
    summary: str
    source: str
    options: tuple[Option, ...]
    shape: Callable[[Values], tuple[int, int]]
    fill: Fill
    task: Task | Callable[[Values], Task] = "classification"
    memory: Callable[[Values], int] | None = None
    classes: Callable[[Values], int] | None = None
    feature_names: tuple[str, ...] = ()
    drifts: Callable[[Values], tuple[int, ...]] | None = None
    concepts: Callable[[Values], Sequence[Hashable]] | None = None
    window: Callable[[Values], int] | None = None
    trace: Callable[[Concepts, Values, NDArray[np.uint64], Array, int, Array, Array], None] | None = None
    sample: Fill | None = None
    label_noise: str | None = None


class Generator(Stream):
    """The rows of a recipe for one seed and one choice of options.

    Parameters
    ----------
    recipe : GeneratorSpec
        The recipe.
    seed : int
        0 <= seed < 2**64; the same seed gives the same bits on every machine.
    given : mapping
        Options by name, as text or as numbers.

    Raises
    ------
    UsageFailure
        An option or the seed is not valid.
    """

    def __init__(self, recipe: GeneratorSpec, seed: int, given: Mapping[str, Any]) -> None:
        self.recipe = recipe
        self.values = read_options(recipe.name, recipe.options, given)
        self.seed = read_seed(f"{recipe.name}: seed", seed)
        width, stages = recipe.shape(self.values)
        length: int = self.values["rows"]
        if length < stages:
            raise UsageFailure(f"{recipe.name}: rows must be at least the {stages} stages, got {length}")
        self.name = recipe.name
        self.feature_names = recipe.feature_names or tuple(f"x{column}" for column in range(1, width + 1))
        self.rows = length
        equal = tuple(first_row(stage, stages, length) for stage in range(1, stages))
        self._starts = equal if recipe.drifts is None else recipe.drifts(self.values)
        concepts = recipe.concepts(self.values) if recipe.concepts else range(stages)
        known = {concept: number for number, concept in enumerate(dict.fromkeys(concepts))}
        self._ids = [known[concept] for concept in concepts]
        steps = zip(self._starts, pairwise(self._ids), strict=True)
        self.drift_points = tuple(start for start, (before, after) in steps if before != after)
        self.task = recipe.task(self.values) if callable(recipe.task) else recipe.task
        if self.task == "classification":
            self.labels = tuple(map(str, range(recipe.classes(self.values) if recipe.classes else 2)))
        self.source = recipe.source
        self._ahead: _RowIterator | None = None

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        iterator = _RowIterator(self)
        while left := self.values["rows"] - iterator.row:
            yield iterator.take(min(size, left))

    def traced(self, size: int = BLOCK_ROWS) -> Iterator[Traced]:
        iterator, trace, ids = _RowIterator(self), self.recipe.trace, np.array(self._ids)
        while left := self.values["rows"] - iterator.row:
            rows = np.arange(iterator.row, iterator.row + min(size, left))
            stages: Concepts = np.searchsorted(self._starts, rows, "right")
            block = iterator.take(len(rows), None if trace is None else partial(trace, stages))
            yield block, ids[stages]

    @property
    def concepts(self) -> tuple[str, ...]:
        stages: dict[int, list[str]] = {}
        for stage, concept in enumerate(self._ids, 1):
            stages.setdefault(concept, []).append(str(stage))
        if len(stages) == 1:
            return (self.name,)
        return tuple(f"{self.name} stage {'/'.join(some)}" for some in stages.values())

    @property
    def changes(self) -> tuple[Change, ...]:
        window = self.recipe.window(self.values) if self.recipe.window else 0
        kind, length = "gradual" if window else "stage", self.values["rows"]
        return tuple(Change(kind, point, point, min(point + window, length)) for point in self.drift_points)

    def holdout(self, row: int, n: int, seed: int, noisy: bool = False) -> Block:
        """Draw fresh test rows from the concept in force at `row`; the stream's own rows are not affected.

        Parameters
        ----------
        row : int
            Row of the stream, 0 <= row < rows. Calls with ascending rows generate the stream once more in
            total; a lower row than in the last call starts over.
        n : int
            Number of rows, >= 1.
        seed : int
            Seed of these rows alone, 0 <= seed < 2**64. Another `row` gives other test rows for the same seed.
        noisy : bool
            Whether labels have the stream's noise; if not, they all follow the concept. Noise in the features, such
            as the inverted segments of `led`, is part of the distribution and present in either case.

        Returns
        -------
        Block
            X f8[n, d], y f8[n].

        Raises
        ------
        UsageFailure
            The generator has no holdout rows, or an argument is out of range.

        Source
        ------
        Zhao and Zhou, Distribution-Free One-Pass Learning, section 5.2: test rows distributed as the training
        rows are at that time stamp.
        """
        sample = self.recipe.sample
        if sample is None:
            raise UsageFailure(f"{self.name} has no holdout rows: its concept cannot be drawn from at a given row")
        if not 0 <= row < self.values["rows"]:
            raise UsageFailure(f"{self.name}: a holdout row must be from 0 to {self.values['rows'] - 1}, got {row}")
        if n < 1:
            raise UsageFailure(f"{self.name}: holdout rows must be at least 1, got {n}")
        noise = self.recipe.label_noise
        values = self.values if noisy or noise is None else {**self.values, noise: 0.0}
        X, y = np.empty((n, self.n_features)), np.empty(n)
        rng = _holdout_words(read_seed(f"{self.name}: seed", seed), row)
        sample(values, rng, self._memory_after(row), row, X, y)
        return Block(X, y)

    def _memory_after(self, row: int) -> Array:
        """The memory of `fill` after `row`, by generating the stream up to there separately."""
        iterator = self._ahead
        if iterator is None or iterator.row > row + 1:
            iterator = self._ahead = _RowIterator(self)
        if iterator.memory.size:
            while left := row + 1 - iterator.row:
                iterator.take(min(left, BLOCK_ROWS))
        return iterator.memory


class _RowIterator:
    """A position in a generator's rows, with the state that `fill` carries from row to row.

    Parameters
    ----------
    generator : Generator
        The generator; iteration starts before row 0.
    """

    def __init__(self, generator: Generator) -> None:
        recipe, values = generator.recipe, generator.values
        self._recipe, self._values, self._width = recipe, values, generator.n_features
        self.rng = np.zeros(4, np.uint64)
        random.seed(self.rng, np.uint64(generator.seed))
        self.memory = np.zeros(recipe.memory(values) if recipe.memory else generator.n_features)
        self.row = 0

    def take(self, n: int, fill: Fill | None = None) -> Block:
        """The next `n` rows, by the recipe's `fill` or an equivalent function."""
        X, y = np.empty((n, self._width)), np.empty(n)
        (fill or self._recipe.fill)(self._values, self.rng, self.memory, self.row, X, y)
        self.row += n
        return Block(X, y)


def sample_stage(fill: Fill, option: str) -> Fill:
    """Make `GeneratorSpec.sample` of a stateless generator whose `option` has one value per stage."""

    def sample(values: Values, rng: NDArray[np.uint64], memory: Array, row: int, X: Array, y: Array) -> None:
        stages = values[option]
        stage = len(stages) * row // values["rows"]
        fill({**values, option: stages[stage : stage + 1], "rows": len(y)}, rng, memory, 0, X, y)

    return sample


def first_row(stage: int, stages: int, length: int) -> int:
    """The first row t with floor(stages * t / length) = stage."""
    return -(-stage * length // stages)


def _holdout_words(seed: int, row: int) -> NDArray[np.uint64]:
    """Random state of holdout rows, mixed from both, so that a stream's own seed does not reproduce its rows."""
    rng = np.zeros(4, np.uint64)
    random.seed(rng, np.uint64(seed))
    random.seed(rng, random.next_u64(rng) ^ np.uint64(row))
    return rng
