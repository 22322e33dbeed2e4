"""What is measured: a case (all options that change the work) and how often and long it is run. Leaf module."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.errors import UsageFailure, plural

PASSTHROUGH, LIMIT, WORKER = "passthrough", "limit", "worker"
SIDES = (PASSTHROUGH, LIMIT, WORKER)
CALLED = {PASSTHROUGH: "pass-through", LIMIT: "limit", WORKER: "worker"}
COPIERS = {PASSTHROUGH: "python_copy", LIMIT: "native_copy"}
"""Copier -> its module in this package."""
LATENCY_SIDES = (PASSTHROUGH, WORKER)
"""Sides whose latency is measured: the limit of throughput is not one of latency."""
NAMED, MAPPED = "named", "mapped"
"""Formats of JSON events whose features have names: in `x`, or as top-level fields that a schema reads."""
FULL_DIGITS = 17
"""With this many decimals features are not rounded: their texts have 16 or 17 digits."""


@dataclass(frozen=True)
class Case:
    """One combination of all settings that decide how much work a message takes.

    Parameters
    ----------
    learner : str
        The worker's learner, as on its command line.
    features, partitions, workers : int
        Features per event, partitions of the input, processes of each side.
    form : str
        Format of the events: ``json``, ``packed``, NAMED or MAPPED.
    output_form : str
        Format of the worker's predictions, ``json`` or ``packed``; copiers write what they read.
    commit_interval : float
        Seconds between commits, on each side.
    guarantee : str
        Guarantee of each side.
    messages : int
        Length of the input.
    digits : int
        Decimals of the features; not rounded from FULL_DIGITS on.
    window : int
        Rows of the worker's rolling window, a bit of state each: 8,000,000 are a megabyte.
    client : str
        The worker's Kafka client.
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
        """The settings that decide the bytes of the input topic: cases that agree on them share it."""
        return self.messages, self.features, self.partitions, self.form, self.digits

    @property
    def feature_names(self) -> list[str]:
        """Names of the features; empty if they have none."""
        return [f"feature_{j}" for j in range(self.features)] if self.form in (NAMED, MAPPED) else []

    def named(self) -> str:
        """Describe the case in one line, for people."""
        d = f"{self.digits} decimals" if self.digits < FULL_DIGITS else "full doubles"
        return (
            f"{self.learner}, d={self.features}, {self.form} ({d}) in, {self.output_form} out, "
            f"{self.messages:,} messages, {plural(self.partitions, 'partition')}, {plural(self.workers, 'worker')}, "
            f"{self.guarantee}, commit every {1000 * self.commit_interval:g} ms, "
            f"window of {plural(self.window, 'row')}, {self.client} client"
        )


@dataclass(frozen=True)
class Repetitions:
    """How often and how long to measure, and with which client properties.

    Parameters
    ----------
    repetitions : int
        Rounds of throughput runs.
    latency_repetitions : int
        Rounds of latency runs; 0: none.
    latency_seconds : float
        Length of each, without its warm-up.
    rate : float
        Messages a second of the paced load.
    passthrough : dict
        Client properties of all sides.
    sides : tuple of str
        Sides whose throughput is measured; the limit only where the C library can be used.
    """

    repetitions: int = 5
    latency_repetitions: int = 3
    latency_seconds: float = 20.0
    rate: float = 5000.0
    passthrough: dict[str, Any] = field(default_factory=dict)
    sides: tuple[str, ...] = SIDES


def expand(given: Mapping[str, Sequence[Any]]) -> Iterator[Case]:
    """Yield every combination of the values given for each field of a case, the last field changing fastest.

    Raises
    ------
    UsageFailure
        More workers than partitions, or fewer messages than partitions: some would have nothing to do.
    """
    names = [name.name for name in dataclasses.fields(Case)]
    for values in itertools.product(*(given[name] for name in names)):
        case = Case(**dict(zip(names, values, strict=True)))
        if case.workers > case.partitions:
            raise UsageFailure(f"{plural(case.workers, 'worker')} cannot share {plural(case.partitions, 'partition')}")
        if case.messages < case.partitions:
            few = plural(case.messages, "message does not fill", "messages do not fill")
            raise UsageFailure(f"{few} {plural(case.partitions, 'partition')}")
        yield case


def swept(cases: Sequence[Case]) -> list[str]:
    """Return the fields in which cases differ."""
    return [name.name for name in dataclasses.fields(Case) if len({getattr(case, name.name) for case in cases}) > 1]


def order(pair: int, sides: Sequence[str]) -> Sequence[str]:
    """Return the order of sides in a round: A B C, C B A, A B C, .., so that a drift of the machine favours no side."""
    return sides if pair % 2 == 0 else sides[::-1]
