"""Evaluation protocols: which rows a learner learns from, and on which rows it is measured.

`prequential` runs over the whole stream, `segments` from scratch over each of ten long pieces of it, `holdout` tests on
fresh rows of the current concept. A `Job` is one learner on one stream; it and its `Outcome` are passed between
processes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.prequential import Evaluation, measure
from driftway.worker.evaluation.rows import (
    MissingValueFillers,
    RowCounter,
    RowCounts,
    chosen_rows,
    count_rows,
    first_rows,
    holds_events,
    open_rows,
)
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import HOLDOUT, PREQUENTIAL, SEGMENTS, SharingOption
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.events import Target

Array = NDArray[np.float64]
Progress = Callable[[int], None]

PARTS = 10
"""Segments of a stream: docs/algorithms/reference-results.md#protocol-of-the-accuracy-tables."""
NOT_AVERAGED = ("labels", "window", "rows", "labelled", "rejected", "missing", "confusion")
"""Counts of a part, whose mean and deviation are meaningless."""


@dataclass(frozen=True)
class Job:
    """One learner on one stream under one protocol.

    Parameters
    ----------
    stream : str
        Name of the stream, as the opener takes it.
    spec : Spec
        The learner.
    target : Target
        What is predicted.
    opening : dict
        Further arguments of the opener: seed, label, labels, data_dir, ...
    protocol : str
        ``prequential``, ``segments`` or ``holdout``.
    rows : int or None
        Maximum number of rows to read; None: all.
    maps, standardize, partitions, window
        As `Evaluation`; one partition only in `segments` and `holdout`.
    parts, first : int
        How many `segments`, >= 1, and the number of the first one, 0 or 1.
    every, test_rows : int
        `holdout`: rows between two tests, and fresh rows per test, both >= 1.
    noisy : bool
        `holdout`: test labels have the stream's noise.
    points_every : int
        Rows between two points of a curve; 0: no points are kept.
    skip : int
        `prequential`: number of rows to skip; `rows` counts from there.
    columns : tuple of int or None
        The stream's columns in the learner's order; None: the stream's own order.
    warm, label_delay, share, coverage
        `prequential`: as `Evaluation`.
    reading : ModelSettings or None
        Settings with the event schema and the policy for missing values; None: take rows unchanged.
    """

    stream: str
    spec: Spec
    target: Target = field(default_factory=Target)
    opening: dict[str, Any] = field(default_factory=dict)
    protocol: str = PREQUENTIAL
    rows: int | None = None
    maps: tuple[Spec, ...] = ()
    standardize: bool = True
    partitions: int = 1
    window: int = 1000
    parts: int = PARTS
    first: int = 1
    every: int = 1000
    test_rows: int = 1000
    noisy: bool = False
    points_every: int = 0
    warm: WarmStart | None = None
    skip: int = 0
    columns: tuple[int, ...] | None = None
    reading: ModelSettings | None = None
    label_delay: int = 0
    share: SharingOption | None = None
    coverage: float | None = None

    @property
    def name(self) -> str:
        """Name of the learner in results."""
        return self.spec.text if self.warm is None else self.warm.display_name(self.spec.text)

    def with_points(self, every: int) -> Job:
        """The same job, keeping a point of its curve after every `every` rows."""
        return replace(self, points_every=every)

    def opened(self, open_stream: Callable[..., Any]) -> Any:
        """Open the stream at its first row."""
        read = self.reading
        if read is None:
            return open_stream(self.stream, **self.opening)
        return open_rows(open_stream, self.stream, self.opening, read.target, read.events)

    def width(self, stream: Any) -> int:
        """Number of columns given to the learner, or to the feature maps in front of it."""
        return (None if self.reading is None else self.reading.width) or int(stream.n_features)

    def fillings(self, stream: Any) -> MissingValueFillers | None:
        """Fill-in of missing values for the rows that the job reads; None if not needed."""
        if self.reading is None:
            return None
        return MissingValueFillers(self.reading, stream.n_features, self.partitions, self.skip, holds_events(stream))

    def counter(self, stream: Any) -> RowCounter:
        """A counter of the rows that the job reads."""
        return RowCounter(stream, self.reading, self.partitions, self.skip, self.columns)


@dataclass(frozen=True)
class Figure:
    """A metric over the parts of a protocol.

    Parameters
    ----------
    values : tuple of float or None
        One per part, None where it is not defined.
    mean, deviation : float or None
        Mean and standard deviation over all parts, by default of the population; None if a part has no value.
    """

    values: tuple[float | None, ...]
    mean: float | None
    deviation: float | None

    @classmethod
    def of(cls, values: Iterable[float | None], ddof: int = 0) -> Figure:
        """Mean and deviation of the parts' n values; the squares are divided by n - ddof."""
        given = tuple(values)
        known = [v for v in given if v is not None]
        if not given or len(known) < len(given):
            return cls(given, None, None)
        mean = math.fsum(known) / len(known)
        if len(known) <= ddof:
            return cls(given, mean, None)
        return cls(given, mean, math.sqrt(math.fsum((v - mean) ** 2 for v in known) / (len(known) - ddof)))


@dataclass(frozen=True)
class Outcome:
    """The result of a job.

    Parameters
    ----------
    stream, learner, protocol : str
        The stream's own name, the learner's name in results, and the job's protocol.
    rows : int
        Number of rows read from the stream.
    spans : tuple of (int, int)
        First row and end of each part; in `holdout` the rows learned since the previous test.
    parts : tuple of dict
        Metrics of each part: a segment, a test, or in `prequential` a partition.
    seconds : float
        Time spent in kernels.
    totals : dict
        `holdout` only: prequential metrics of the whole run.
    points : tuple of dict
        Points of the curve, if requested: learner, partition, offset and metrics, as on the wire.
    counts : RowCounts
        What the rows were, each counted once.
    """

    stream: str
    learner: str
    protocol: str
    rows: int
    spans: tuple[tuple[int, int], ...]
    parts: tuple[dict[str, Any], ...]
    seconds: float
    totals: dict[str, Any] = field(default_factory=dict)
    points: tuple[dict[str, Any], ...] = ()
    counts: RowCounts = field(default_factory=RowCounts)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that every part has."""
        return tuple(name for name in self.parts[0] if name not in NOT_AVERAGED) if self.parts else ()

    def figure(self, metric: str) -> Figure:
        """A metric's values over the parts, their mean and standard deviation."""
        return Figure.of(part.get(metric) for part in self.parts)


def segments(rows: int, parts: int = PARTS, first: int = 1) -> list[tuple[int, int]]:
    """Start and end of each piece of a stream: from row k T / 50 on, k = 1..10, 4 T / 5 rows each.

    With `first` 0, k is 0..9, as in the papers' tables (docs/decisions/0016).

    Parameters
    ----------
    rows : int
        T, the stream's length.
    parts : int
        Number of pieces, >= 1; they start T / (5 parts) rows apart.
    first : int
        k of the first piece, 0 or 1.

    Returns
    -------
    list of (start, end)
        Rows start..end - 1, all of equal length; quotients are rounded down.

    Raises
    ------
    UsageFailure
        The stream is too short for pieces that differ.

    Source
    ------
    docs/algorithms/reference-results.md#protocol-of-the-accuracy-tables: "Settings" of the ODM paper, section 5.3 of
    Zhao and Zhou, Distribution-Free One-Pass Learning.
    """
    if rows < 5 * parts:
        raise UsageFailure(f"{parts} segments need a stream of at least {5 * parts} rows, this one has {rows}")
    length = 4 * rows // 5
    return [(start, start + length) for start in (k * rows // (5 * parts) for k in range(first, parts + first))]


def rows_for(stream: Any, job: Job, counter: RowCounter) -> Iterator[tuple[Array, Array]]:
    """The rows that a job reads: at most `rows` after skipping `skip`, columns in the learner's order, gaps filled in.

    Raises
    ------
    Failure, UsageFailure
        The stream has no row, or none is left.
    """
    fillings = job.fillings(stream)
    for X, y in chosen_rows(stream, job.skip, job.rows, job.columns):
        counter.count(X, y)
        yield X if fillings is None else fillings.fill(X), y


def run(open_stream: Callable[..., Any], job: Job, progress: Progress | None = None) -> Outcome:
    """Run a job.

    Parameters
    ----------
    open_stream : callable
        ``open_stream(name, **opening)`` returns the stream.
    job : Job
        The job to run.
    progress : callable or None
        Called with the number of rows of each block of the stream.

    Raises
    ------
    UsageFailure
        The stream or the job is not valid, or the stream has no holdout rows.
    """
    stream = job.opened(open_stream)
    return RUNNERS[job.protocol](stream, job, progress or (lambda _: None))


def _prequential(stream: Any, job: Job, progress: Progress) -> Outcome:
    evaluation, counter = evaluation_of(stream, job), job.counter(stream)
    for X, y in rows_for(stream, job, counter):
        evaluation.step(X, y)
        progress(len(X))
    partitions = zip(counter.parts, evaluation.parts, strict=True)
    parts = [{**counts.figures(), **part.point()} for counts, part in partitions]
    spans = ((job.skip, evaluation.rows),) * len(parts)
    return _outcome(stream, job, counter, spans, parts, evaluation.seconds, points=evaluation.points)


def _segments(stream: Any, job: Job, progress: Progress) -> Outcome:
    spans = segments(count_rows(stream, job.rows), job.parts, job.first)
    first = evaluation_of(stream, job)
    seed = getattr(first.parts[0].learner.parameters, "seed", None)
    others = [evaluation_of(stream, _reseeded(job, seed, part)) for part in range(1, job.parts)]
    evaluations = [first, *others]
    fillings = [job.fillings(stream) for _ in evaluations]  # each piece is learned from scratch
    counter, row = job.counter(stream), 0
    for X, y in first_rows(stream.blocks(), job.rows):
        counter.count(X, y)
        for (start, end), evaluation, filling in zip(spans, evaluations, fillings, strict=True):
            inside = slice(max(start - row, 0), max(end - row, 0))
            if len(y[inside]):
                rows = np.ascontiguousarray(X[inside])
                evaluation.step(rows if filling is None else filling.fill(rows), y[inside])
        row += len(X)
        progress(len(X))
    alone = [one.parts[0] for one in evaluations]
    parts = [{"rows": part.rows, "rejected": part.rejected, **part.point()} for part in alone]
    return _outcome(stream, job, counter, tuple(spans), parts, sum(one.seconds for one in evaluations))


def _holdout(stream: Any, job: Job, progress: Progress) -> Outcome:
    if not hasattr(stream, "holdout"):
        raise UsageFailure(f"{stream.name} has no holdout rows: only generators can draw fresh rows of a concept")
    if job.reading is not None:
        raise UsageFailure("holdout tests use complete rows: leave --missing out")
    evaluation, counter = evaluation_of(stream, job), job.counter(stream)
    spans: list[tuple[int, int]] = []
    parts: list[dict[str, Any]] = []
    seconds = 0.0
    for X, y in first_rows(stream.blocks(), job.rows):
        counter.count(X, y)
        start = 0
        while start < len(X):
            end = min(len(X), start + job.every - evaluation.rows % job.every)
            evaluation.step(X[start:end], y[start:end])
            start = end
            if evaluation.rows % job.every:
                continue
            # The concept of the last row learned, drawn with the stream's seed: all learners get the same tests.
            test = stream.holdout(evaluation.rows - 1, job.test_rows, job.opening.get("seed", 1), job.noisy)
            started = time.perf_counter()
            parts.append(measure(evaluation.parts[0].learner, job.target, test.X, test.y))
            seconds += time.perf_counter() - started
            spans.append((evaluation.rows - job.every, evaluation.rows))
        progress(len(X))
    if not parts:
        raise UsageFailure(f"{stream.name} ends before the first holdout test, which comes after {job.every} rows")
    totals = {**counter.total.figures(), **evaluation.parts[0].point()}
    points = [
        {"learner": job.spec.text, "partition": 0, "offset": end - 1, "labels": end, "window": job.test_rows,
         **{f"holdout_{name}": value for name, value in one.items()}}
        for (_, end), one in zip(spans, parts, strict=True) if job.points_every
    ]  # fmt: skip
    return _outcome(stream, job, counter, tuple(spans), parts, evaluation.seconds + seconds, totals, points)


RUNNERS: dict[str, Callable[[Any, Job, Progress], Outcome]] = {
    PREQUENTIAL: _prequential,
    SEGMENTS: _segments,
    HOLDOUT: _holdout,
}


def evaluation_of(stream: Any, job: Job) -> Evaluation:
    """Create the evaluation of a job, before its first row.

    Raises
    ------
    UsageFailure
        Several partitions, a warm start or skipped rows under a protocol other than `prequential`.
    """
    if job.protocol != PREQUENTIAL and (job.partitions > 1 or job.warm is not None or job.skip):
        raise UsageFailure("several partitions, warm starts and rows left out belong to the prequential protocol")
    every = job.points_every if job.protocol == PREQUENTIAL else 0
    return Evaluation(
        job.spec, job.target, job.width(stream), job.standardize, job.partitions, job.window, job.maps, every,
        job.warm, job.skip, job.label_delay, job.share, job.coverage,
    )  # fmt: skip


def _reseeded(job: Job, seed: int | None, part: int) -> Job:
    """The job of a segment, with its own seed if the learner draws at random.

    See docs/algorithms/reference-results.md#protocol-of-the-accuracy-tables.
    """
    if seed is None:
        return job
    given = tuple((name, value) for name, value in job.spec.parameters if name != "seed")
    return replace(job, spec=replace(job.spec, parameters=(*given, ("seed", str(seed + part)))))


def _outcome(
    stream: Any,
    job: Job,
    counter: RowCounter,
    spans: tuple[tuple[int, int], ...],
    parts: list[dict[str, Any]],
    seconds: float,
    totals: dict[str, Any] | None = None,
    points: Iterable[dict[str, Any]] = (),
) -> Outcome:
    counts, names = counter.total, (stream.name, job.name, job.protocol)
    return Outcome(*names, counts.read, spans, tuple(parts), seconds, totals or {}, tuple(points), counts)
