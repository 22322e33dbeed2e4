"""When rows are due: schedules as functions of time, each with its inverse. They read no clock."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from driftway.producers.streams.options import Option, option, parse_spec
from driftway.producers.streams.stream import BLOCK_ROWS, Array
from driftway.worker.errors import UsageFailure

PACED_BLOCK_SECONDS = 0.05
"""A paced replay encodes rows for this time at once; encoding a longer block would delay a slice that is due."""

SAME_BURST = 1e-9
"""Tolerance, as a share of a burst's interval: rounding may put a wait that ends on time slightly too early."""

MAX_STEPS = 100
"""Most Newton steps for the sine's inverse; some 20 are needed if the rate starts at 0, 5 otherwise."""

Read = dict[str, float]


class Schedule(ABC):
    """The number of rows due as a function of time. Row i, counted from 0, is due at `moments(i + 1)`."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """Number of rows to encode at once."""

    @abstractmethod
    def rows(self, t: float) -> float:
        """Rows due by `t` seconds after the start, t >= 0; may be fractional."""

    @abstractmethod
    def moments(self, n: Array) -> Array:
        """The inverse: seconds after the start at which `n` rows are due. Shapes: n f8[m], > 0; returns f8[m]."""


class Constant(Schedule):
    """`rate` rows per second, > 0."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    @property
    def block_rows(self) -> int:
        return block_of(self.rate)

    def rows(self, t: float) -> float:
        return t * self.rate

    def moments(self, n: Array) -> Array:
        return n / self.rate


class Burst(Schedule):
    """`size` rows at once, at time 0 and then every `every` seconds: a staircase."""

    def __init__(self, every: float, size: int) -> None:
        self.every = every
        self.size = size

    @property
    def block_rows(self) -> int:
        return BLOCK_ROWS

    def rows(self, t: float) -> float:
        return self.size * (math.floor(t / self.every + SAME_BURST) + 1.0)

    def moments(self, n: Array) -> Array:
        bursts: Array = np.ceil(n / self.size) - 1.0
        return bursts * self.every


class Ramp(Schedule):
    """A rate that changes linearly from `start` to `end` within `seconds` and then stays constant.

    The rows due are the rate's integral, a t + (b - a) t^2 / (2 T); the inverse is the root of that quadratic, in the
    form that does not subtract nearly equal numbers.
    """

    def __init__(self, start: float, end: float, seconds: float) -> None:
        self.start = start
        self.end = end
        self.seconds = seconds
        self._slope = (end - start) / seconds
        self._whole = (start + end) / 2.0 * seconds

    @property
    def block_rows(self) -> int:
        return block_of(max(self.start, self.end))

    def rows(self, t: float) -> float:
        if t >= self.seconds:
            return self._whole + self.end * (t - self.seconds)
        return t * (self.start + self._slope * t / 2.0)

    def moments(self, n: Array) -> Array:
        # Beyond the ramp the root may not exist; the values computed there are replaced below.
        inside = np.minimum(n, self._whole)
        root = np.sqrt(np.maximum(self.start**2 + 2.0 * self._slope * inside, 0.0))
        after: Array = self.seconds + (n - self._whole) / self.end
        return np.where(n < self._whole, 2.0 * inside / (self.start + root), after)


class Sine(Schedule):
    """A rate that swings between `low` and `high` once a `period`, starting at `low`.

    The rate is m - a cos(2 pi t / P) with m the middle and a half the swing, so m t - a P / (2 pi) sin(2 pi t / P)
    rows are due by t. Written in angles, E - (a / m) sin E = M, the inverse solves Kepler's equation.
    """

    def __init__(self, low: float, high: float, period: float) -> None:
        self.high = high
        self.period = period
        self._middle = (low + high) / 2.0
        self._swing = (high - low) / 2.0
        self._turn = 2.0 * math.pi / period

    @property
    def block_rows(self) -> int:
        return block_of(self.high)

    def rows(self, t: float) -> float:
        return self._middle * t - self._swing / self._turn * math.sin(self._turn * t)

    def moments(self, n: Array) -> Array:
        part = n / (self._middle * self.period)
        periods = np.floor(part)
        mean: Array = (part - periods) * 2.0 * math.pi
        mirrored = mean > math.pi
        half = kepler(np.where(mirrored, 2.0 * math.pi - mean, mean), self._swing / self._middle)
        angle: Array = np.where(mirrored, 2.0 * math.pi - half, half)
        return periods * self.period + angle / self._turn


def kepler(mean: Array, e: float) -> Array:
    """Solve E - e sin E = mean for E, for 0 <= mean <= pi and 0 <= e <= 1. Shapes: mean f8[m]; returns f8[m].

    The left side is convex there and not below `mean` at the starting point, so Newton's steps only descend and
    never pass the root.
    """
    angle: Array = np.minimum(mean + e, math.pi)
    for _ in range(MAX_STEPS):
        excess = angle - e * np.sin(angle) - mean
        steepness = 1.0 - e * np.cos(angle)
        step = np.where(excess > 0.0, excess / np.maximum(steepness, np.finfo(float).tiny), 0.0)
        if not (step > 1e-15 * angle).any():
            break
        angle = angle - step
    return angle


def block_of(rate: float) -> int:
    """Number of rows to encode at once, at `rate` rows per second."""
    return min(BLOCK_ROWS, max(1, math.ceil(rate * PACED_BLOCK_SECONDS)))


def _ramp(read: Read) -> Schedule:
    return Ramp(read["from"], read["to"], read["seconds"])


def _sine(read: Read) -> Schedule:
    if read["low"] > read["high"]:
        raise UsageFailure(f"--load-profile sine: low must not be above high, got {read['low']:g} and {read['high']:g}")
    return Sine(read["low"], read["high"], read["period"])


SLOWEST = 1e-6
"""Least rate in rows per second, and least time in seconds; below it, a replay would seem to hang or never end."""

PROFILES: dict[str, tuple[tuple[Option, ...], Callable[[Read], Schedule]]] = {
    "constant": (
        (option("rate", None, "number", SLOWEST, meaning="rows a second"),),
        lambda read: Constant(read["rate"]),
    ),
    "burst": (
        (
            option("every", None, "number", SLOWEST, meaning="seconds"),
            option("rows", None, "integer", 1, meaning="rows at once"),
        ),
        lambda read: Burst(read["every"], int(read["rows"])),
    ),
    "ramp": (
        (
            option("from", None, "number", 0.0, meaning="rows a second at the start"),
            option("to", None, "number", SLOWEST, meaning="rows a second at the end"),
            option("seconds", None, "number", SLOWEST, meaning="from the one to the other"),
        ),
        _ramp,
    ),
    "sine": (
        (
            option("low", None, "number", 0.0, meaning="rows a second"),
            option("high", None, "number", SLOWEST, meaning="rows a second"),
            option("period", None, "number", SLOWEST, meaning="seconds"),
        ),
        _sine,
    ),
}
"""Name -> (options, function from their values to the schedule)."""


def parse_profile(text: str) -> Schedule:
    """Parse ``NAME:option=value,...``, where all options must be given.

    Raises
    ------
    UsageFailure
        An unknown name or option, a missing option, or a value out of bounds.
    """
    name, given = parse_spec(text)
    if name not in PROFILES:
        raise UsageFailure(f"--load-profile is one of {', '.join(PROFILES)}, got {name!r}")
    options, make = PROFILES[name]
    known = [option.name for option in options]
    for key in given:
        if key not in known:
            raise UsageFailure(f"--load-profile {name} has no parameter {key!r}; available: {', '.join(known)}")
    missing = [key for key in known if key not in given]
    if missing:
        raise UsageFailure(
            f"--load-profile {name} needs {', '.join(missing)}: {name}:{','.join(f'{k}=..' for k in known)}"
        )
    return make({option.name: option.read(f"--load-profile {name}", given[option.name]) for option in options})
