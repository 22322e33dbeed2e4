"""Sample the resources of processes (resident bytes, descriptors, threads) and how fast they grow. Linux only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

SAMPLE_SECONDS = 5.0
WARM_UP_SECONDS = 300.0
WARM_UP_SHARE = 1 / 3
"""Share of a short life that counts as warm-up: memory taken at the start has nothing to do with growth."""
HOUR = 3600.0


class Sample(NamedTuple):
    """Resources of a process at a moment of `time.monotonic`."""

    at: float
    rss: float
    """Bytes."""
    descriptors: float
    threads: float


class SampledProcess(NamedTuple):
    """A process to be sampled."""

    name: str
    life: int
    """Number of the start, from 1."""
    pid: int


@dataclass(frozen=True)
class Trend:
    """A figure over a life, after the warm-up; the slope is that of the least-squares line."""

    first: float
    last: float
    least: float
    most: float
    per_hour: float


def sample_now(pid: int, at: float) -> Sample | None:
    """Return the current resources of a process, or None if it has ended."""
    proc = Path(f"/proc/{pid}")
    try:
        pairs = (line.partition(":") for line in (proc / "status").read_text().splitlines())
        found = {key: int(value.split()[0]) for key, _, value in pairs if key in ("VmRSS", "Threads")}
        return Sample(at, 1024.0 * found["VmRSS"], len(os.listdir(proc / "fd")), found["Threads"])
    except (OSError, KeyError):
        return None


def trend(at: Sequence[float], figures: Sequence[float]) -> Trend:
    """Fit a line through figures at the moments `at`, in seconds."""
    seconds, values = np.asarray(at) - at[0], np.asarray(figures, dtype=float)
    spread = seconds - seconds.mean()
    square = float(spread @ spread)
    slope = float(spread @ (values - values.mean())) / square if square else 0.0
    first, last, least, most = (float(v) for v in (values[0], values[-1], values.min(), values.max()))
    return Trend(first, last, least, most, slope * HOUR)


def warm(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples after the warm-up."""
    life = samples[-1].at - samples[0].at
    begin = samples[0].at + min(WARM_UP_SECONDS, life * WARM_UP_SHARE)
    return [sample for sample in samples if sample.at >= begin]


class ResourceMonitor:
    """Keeps all samples of the watched processes, and only the largest figures of the others.

    Parameters
    ----------
    watched : iterable of str
        Names whose samples are kept, one list for each life.
    """

    def __init__(self, watched: Iterable[str]) -> None:
        self._lives: dict[str, dict[int, list[Sample]]] = {name: {} for name in watched}
        self.peak = Sample(0.0, 0.0, 0.0, 0.0)
        """The largest figures of the processes that are not watched."""

    def sample(self, living: Iterable[SampledProcess], now: float) -> None:
        """Sample all given processes."""
        for one in living:
            seen = sample_now(one.pid, now)
            if seen is None:
                continue
            if one.name in self._lives:
                self._lives[one.name].setdefault(one.life, []).append(seen)
            else:
                self.peak = Sample(*map(max, self.peak, seen))

    def longest(self, name: str) -> list[Sample]:
        """Return the samples of a watched process's longest life; empty if it was never seen."""
        return max(self._lives[name].values(), key=lambda life: life[-1].at - life[0].at, default=[])

    def lives(self, name: str) -> int:
        """Return the number of lives in which a watched process was sampled."""
        return len(self._lives[name])

    def newest(self, name: str) -> Sample | None:
        """Return the last sample of a watched process, or None."""
        lives = self._lives[name]
        return lives[max(lives)][-1] if lives else None

    def trends(self, name: str) -> dict[str, Trend]:
        """Return the trends of RSS, descriptors and threads over its longest life; empty if it was never seen."""
        samples = self.longest(name)
        if not samples:
            return {}
        kept = warm(samples)
        at = [sample.at for sample in kept]
        figures = ("rss", "descriptors", "threads")
        return {figure: trend(at, [float(getattr(sample, figure)) for sample in kept]) for figure in figures}
