"""One worker process over a whole log: memory, rate and CPU seconds at marks, to see whether anything grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from driftway.worker.errors import Failure
from tests.bench.process_stats import START_SECONDS, Group, MeasuredWorker, Usage
from tests.support.log_times import logged_at

SAMPLE_SECONDS = 0.05
STUCK_SECONDS = 60.0
MILLION = 1_000_000


@dataclass(frozen=True)
class Sample:
    """Rows committed at a moment, and the process's usage up to then."""

    seconds: float
    rows: int
    usage: Usage


@dataclass(frozen=True)
class Section:
    """A section of the log, from one mark to the next.

    Parameters
    ----------
    until : int
        Rows processed at its end.
    rate : float
        Messages per second within it.
    cpu_seconds : float
        CPU seconds of the worker per million messages within it.
    rss, peak_rss : int
        Resident bytes at its end, and their peak since the process started.
    """

    until: int
    rate: float
    cpu_seconds: float
    rss: int
    peak_rss: int


@dataclass(frozen=True)
class LongRun:
    """Figures of one run over the log.

    Parameters
    ----------
    sections : list of Section
        In the order of the log; the ends of the first and the last are compared.
    oldest_snapshot : int
        Most rows of one partition that a restore would have had to relearn at any moment.
    """

    sections: list[Section]
    oldest_snapshot: int


def follow(worker: MeasuredWorker, group: Group, rows: int, step: int, tell: Callable[[int, Usage], None]) -> LongRun:
    """Watch a worker that has just been started until it has committed `rows` rows.

    Parameters
    ----------
    worker : MeasuredWorker
        Worker on a log of at least `rows` rows.
    group : Group
        Consumer group of the worker.
    rows, step : int
        Rows to watch, and rows between two marks.
    tell : callable
        Called with every sample: rows committed, and usage of the process.

    Raises
    ------
    Failure
        The worker ended, or stands still.
    """
    worker.await_until(lambda: worker.events("running"), START_SECONDS, "the worker is running")
    # The first section starts here and not at the first commit, which already covers the first batches.
    samples = [Sample(logged_at(worker.events("running")[0]), 0, worker.usage())]
    oldest = 0
    while samples[-1].rows < rows:
        positions = group.positions()
        done, now, usage = sum(at.committed for at in positions), time.time(), worker.usage()
        oldest = max(oldest, *(at.relearned for at in positions))
        if done > samples[-1].rows:
            samples.append(Sample(now, done, usage))
        elif now - samples[-1].seconds > STUCK_SECONDS:
            raise Failure(f"the worker stands still at {done:,} messages")
        tell(done, usage)
        time.sleep(SAMPLE_SECONDS)
    return LongRun(_sections(samples, range(0, rows + 1, step)), oldest)


def _sections(samples: Sequence[Sample], marks: Sequence[int]) -> list[Section]:
    """Return the sections; times and CPU seconds at a mark are interpolated, memory is that of the next sample."""
    rows = [sample.rows for sample in samples]
    seconds = np.interp(marks, rows, [sample.seconds for sample in samples])
    cpu = np.interp(marks, rows, [sample.usage.cpu_seconds for sample in samples])
    found = []
    for i in range(1, len(marks)):
        usage = next(sample.usage for sample in samples if sample.rows >= marks[i])
        n = marks[i] - marks[i - 1]
        per_million = float(cpu[i] - cpu[i - 1]) * MILLION / n
        found.append(Section(marks[i], n / float(seconds[i] - seconds[i - 1]), per_million, usage.rss, usage.peak_rss))
    return found
