"""What happens to the group and to its broker, and when: endless faults, drawn from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from random import Random
from typing import NamedTuple

KILL, TERM, FREEZE, JOIN, LEAVE = "kill", "term", "freeze", "join", "leave"
RESTART, OUTAGE = "broker restart", "broker outage"
LOST, LATE = "reply lost", "request late"

MEMBER_SECONDS = 10.0
"""Between two faults of members, in the mean; they come as they like, also in quick succession."""
WEIGHTS = {KILL: 4, TERM: 2, FREEZE: 3, JOIN: 2, LEAVE: 2}
FREEZE_SESSIONS = (1.25, 3.0)
"""How long a freeze lasts, in session timeouts: the group always goes on without the frozen member."""

BROKER_SECONDS = 120.0
"""Between two faults of the broker, in the mean; from two thirds of it to four thirds, 30 to 60 s of 45."""
OUTAGE_SHARE = 0.35
"""Of the broker's faults; in the others it is started again at once."""
OUTAGE_SECONDS = (10.0, 20.0)
LONG_SHARE, LONG_SECONDS = 0.15, (20.0, 45.0)
"""Of the outages, and how long they last: with Kafka's own start some are longer than a worker's commit budget."""


NETWORK_SECONDS = 15.0
"""Between two faults of the network, in the mean: a lost answer, or a request that arrives late."""
LOST_SHARE = 0.6
LATE_SECONDS = (0.5, 6.0)


class Fault(NamedTuple):
    """Something that happens at a time, in seconds since the load began."""

    at: float
    deed: str
    choice: float
    """Which member it happens to, as a share of those that it may happen to."""
    seconds: float
    """How long a freeze or an outage lasts."""


def faults(seed: int, session_seconds: float, broker_seconds: float = BROKER_SECONDS) -> Iterator[Fault]:
    """The faults of a seed in the order of time, without end; the broker's come `broker_seconds` apart in the mean.

    Members, broker and network have chances of their own, so that tuning one leaves the others' faults as they were.
    """
    broker = _of_broker(Random(f"broker {seed}"), broker_seconds)
    network = _of_network(Random(f"network {seed}"))
    return merge(_of_members(Random(f"members {seed}"), session_seconds), broker, network)


def _of_network(chance: Random) -> Iterator[Fault]:
    at = 0.0
    while True:
        at += chance.expovariate(1 / NETWORK_SECONDS)
        deed = LOST if chance.random() < LOST_SHARE else LATE
        yield Fault(at, deed, chance.random(), chance.uniform(*LATE_SECONDS))


def _of_members(chance: Random, session_seconds: float) -> Iterator[Fault]:
    at = 0.0
    while True:
        at += chance.expovariate(1 / MEMBER_SECONDS)
        (deed,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        yield Fault(at, deed, chance.random(), session_seconds * chance.uniform(*FREEZE_SESSIONS))


def _of_broker(chance: Random, mean: float) -> Iterator[Fault]:
    at = 0.0
    while True:
        at += chance.uniform(2 / 3 * mean, 4 / 3 * mean)
        if chance.random() < OUTAGE_SHARE:
            span = LONG_SECONDS if chance.random() < LONG_SHARE else OUTAGE_SECONDS
            yield Fault(at, OUTAGE, 0.0, chance.uniform(*span))
        else:
            yield Fault(at, RESTART, 0.0, 0.0)
