"""What is measured: a case (every option that changes the work) and the effort spent on it. Leaf module."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.errors import UsageFailure

PASSTHROUGH, LIMIT, WORKER = "passthrough", "limit", "worker"
SIDES = (PASSTHROUGH, LIMIT, WORKER)
CALLED = {PASSTHROUGH: "pass-through", LIMIT: "limit", WORKER: "worker"}
COPIERS = {PASSTHROUGH: "python_copy", LIMIT: "native_copy"}
"""The module beside this one that each of those is that only copy."""
LATENCY_SIDES = (PASSTHROUGH, WORKER)
"""Whose latency is measured: the limit of throughput is not one of latency."""
NAMED, MAPPED = "named", "mapped"
"""Formats of JSON events whose features have names, in `x` and as fields among others, which a schema reads."""
FULL_DIGITS = 17
"""Decimals from which on features are left unrounded: text of 16 or 17 digits each."""


@dataclass(frozen=True)
class Case:
    """One setting of everything that decides how much work a message is.

    Parameters
    ----------
    learner : str
        The worker's learner, as on its command line.
    features, partitions, workers : int
        d, of the input, and processes of either side.
    form : str
        Format of the events: ``json``, ``packed``, NAMED or MAPPED.
    output_form : str
        Format of the worker's predictions, ``json`` or ``packed``; the pass-through writes what it reads.
    commit_interval : float
        Seconds between commits, of either side.
    guarantee : str
        Of either side.
    messages : int
        Length of the input.
    digits : int
        Decimals of the features; FULL_DIGITS and more: all of them.
    window : int
        Rows of the worker's rolling window, a bit of state each: 8,000,000 are a megabyte.
    client : str
        How the worker talks to Kafka.
    """

    learner: str = "dfop"
    features: int = 8
    partitions: int = 2
    workers: int = 1
    form: str = "json"
    output_form: str = "json"
    commit_interval: float = 0.1
    guarantee: str = "exactly-once"
    messages: int = 1_000_000
    digits: int = 6
    window: int = 1000
    client: str = "auto"

    @property
    def rows_key(self) -> tuple[object, ...]:
        """What decides the bytes of the input topic: cases that agree on it share one."""
        return self.messages, self.features, self.partitions, self.form, self.digits

    @property
    def feature_names(self) -> list[str]:
        """What features are called; empty where they have no names."""
        return [f"feature_{j}" for j in range(self.features)] if self.form in (NAMED, MAPPED) else []

    def named(self) -> str:
        """The case in one line, for people."""
        d = f"{self.digits} decimals" if self.digits < FULL_DIGITS else "full doubles"
        return (
            f"{self.learner}, d={self.features}, {self.form} ({d}) in, {self.output_form} out, "
            f"{self.messages:,} messages, {_count(self.partitions, 'partition')}, {_count(self.workers, 'worker')}, "
            f"{self.guarantee}, commit every {1000 * self.commit_interval:g} ms, "
            f"window of {_count(self.window, 'row')}, {self.client} client"
        )


@dataclass(frozen=True)
class Repetitions:
    """How long to measure, and through which client properties.

    Parameters
    ----------
    repetitions : int
        Pairs of throughput runs.
    latency_repetitions : int
        Pairs of latency runs; 0: none.
    latency_seconds : float
        Length of each, beside its warm-up.
    rate : float
        Messages a second of the paced load.
    passthrough : dict
        Client properties of all sides.
    sides : tuple of str
        Whose throughput is measured; the limit only where the C library can be used.
    """

    repetitions: int = 5
    latency_repetitions: int = 3
    latency_seconds: float = 20.0
    rate: float = 5000.0
    passthrough: dict[str, Any] = field(default_factory=dict)
    sides: tuple[str, ...] = SIDES


def expand(given: Mapping[str, Sequence[Any]]) -> Iterator[Case]:
    """Every combination of the values given for each field of a case, the last field changing fastest.

    Raises
    ------
    UsageFailure
        More workers than partitions: some would measure nothing.
    """
    names = [name.name for name in dataclasses.fields(Case)]
    for values in itertools.product(*(given[name] for name in names)):
        case = Case(**dict(zip(names, values, strict=True)))
        if case.workers > case.partitions:
            raise UsageFailure(f"{case.workers} workers cannot share {case.partitions} partitions")
        if case.messages < case.partitions:
            raise UsageFailure(f"{case.messages} messages do not fill {case.partitions} partitions")
        yield case


def swept(cases: Sequence[Case]) -> list[str]:
    """The fields in which cases differ."""
    return [name.name for name in dataclasses.fields(Case) if len({getattr(case, name.name) for case in cases}) > 1]


def order(pair: int, sides: Sequence[str]) -> Sequence[str]:
    """Who goes first in a round: A B C, C B A, A B C, ..., so that a drift of the machine favours nobody."""
    return sides if pair % 2 == 0 else sides[::-1]


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + "s" * (n != 1)
