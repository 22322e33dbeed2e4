"""The schedule of faults of the group, the broker and the network: endless, and drawn from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from random import Random
from typing import NamedTuple

KILL, TERM, FREEZE, JOIN, LEAVE = "kill", "term", "freeze", "join", "leave"
RESTART, OUTAGE = "broker restart", "broker outage"
LOST, LATE = "reply lost", "request late"
ONE_KILLED, ONE_RESTARTED, ONE_FROZEN = "one broker killed", "one broker restarted", "one broker frozen"
ROLLING, MAJORITY, MOVED = "brokers restarted in turn", "two of three brokers killed", "leaders moved"

MEMBER_SECONDS = 10.0
"""Mean time between member faults, exponentially distributed, so that they may come in quick succession."""
WEIGHTS = {KILL: 4, TERM: 2, FREEZE: 3, JOIN: 2, LEAVE: 2}
FREEZE_SESSIONS = (1.25, 3.0)
"""Length of a freeze, in session timeouts: always so long that the group goes on without the frozen member."""

BROKER_SECONDS = 120.0
"""Mean time between broker faults; they come 2/3 to 4/3 of it apart, for example 30 to 60 s with a mean of 45."""
OUTAGE_SHARE = 0.35
"""Share of the broker faults that are outages; in the others it is restarted at once."""
OUTAGE_SECONDS = (10.0, 20.0)
LONG_SHARE, LONG_SECONDS = 0.15, (20.0, 45.0)
"""Share of the outages that are long, and their length: with Kafka's start, some exceed a worker's commit timeout."""


OF_CLUSTER = {ONE_KILLED: 5, ONE_RESTARTED: 3, ONE_FROZEN: 3, ROLLING: 1, MAJORITY: 1, MOVED: 2}
"""Faults of a cluster's brokers, with their weights."""
CLUSTER_MEMBER_SECONDS = 60.0
"""Mean time between member faults in a cluster, where sessions are longer."""
AWAY_SECONDS = {ONE_KILLED: (5.0, 30.0), ONE_FROZEN: (3.0, 20.0), MAJORITY: (5.0, 20.0)}
"""How long brokers of a cluster are away: shorter and longer than the 9 s after which others take over."""

NETWORK_SECONDS = 15.0
"""Mean time between network faults: a lost reply, or a request that arrives late."""
LOST_SHARE = 0.6
LATE_SECONDS = (0.5, 6.0)


class Fault(NamedTuple):
    """A fault at a time in seconds since the start of the load."""

    at: float
    action: str
    choice: float
    """Which member (or kind of request) it affects, as a position in [0, 1) among the eligible ones."""
    seconds: float
    """How long a freeze, an outage or a delay lasts."""


def faults(
    seed: int, session_seconds: float, broker_seconds: float = BROKER_SECONDS, cluster: bool = False
) -> Iterator[Fault]:
    """Yield the faults of a seed in order of time, without end; broker faults come `broker_seconds` apart on average.

    Members, broker and network have separate generators, so that tuning one leaves the faults of the others unchanged.
    In a `cluster` the network has none.
    """
    brokers, members = Random(f"broker {seed}"), Random(f"members {seed}")
    if cluster:
        return merge(
            _of_members(members, session_seconds, CLUSTER_MEMBER_SECONDS), _of_cluster(brokers, broker_seconds)
        )
    network = _of_network(Random(f"network {seed}"))
    return merge(_of_members(members, session_seconds, MEMBER_SECONDS), _of_broker(brokers, broker_seconds), network)


def _of_network(chance: Random) -> Iterator[Fault]:
    at = 0.0
    while True:
        at += chance.expovariate(1 / NETWORK_SECONDS)
        action = LOST if chance.random() < LOST_SHARE else LATE
        yield Fault(at, action, chance.random(), chance.uniform(*LATE_SECONDS))


def _of_members(chance: Random, session_seconds: float, mean: float) -> Iterator[Fault]:
    at = 0.0
    while True:
        at += chance.expovariate(1 / mean)
        (action,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        yield Fault(at, action, chance.random(), session_seconds * chance.uniform(*FREEZE_SESSIONS))


def _of_broker(chance: Random, mean: float) -> Iterator[Fault]:
    at = 0.0
    while True:
        at += chance.uniform(2 / 3 * mean, 4 / 3 * mean)
        if chance.random() < OUTAGE_SHARE:
            span = LONG_SECONDS if chance.random() < LONG_SHARE else OUTAGE_SECONDS
            yield Fault(at, OUTAGE, 0.0, chance.uniform(*span))
        else:
            yield Fault(at, RESTART, 0.0, 0.0)


def _of_cluster(chance: Random, mean: float) -> Iterator[Fault]:
    at = 0.0
    while True:
        at += chance.uniform(2 / 3 * mean, 4 / 3 * mean)
        (action,) = chance.choices(list(OF_CLUSTER), list(OF_CLUSTER.values()))
        yield Fault(at, action, chance.random(), chance.uniform(*AWAY_SECONDS.get(action, (0.0, 0.0))))
