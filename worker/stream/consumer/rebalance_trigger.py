"""Triggers a rebalance in a `consumer` group that left partitions unassigned, in a process of its own.

A coordinator that comes back from half of its log counts the group's epochs from an old number on, and Kafka 4.1
computes no assignment before it has passed the highest one that the log has: the members stay, in good health and with
nothing to do (docs/decisions/0019). Each member that comes or goes is an epoch. So while the group is stable and some
partitions have no member, probe members join and leave.

A process of its own, because the client (librdkafka 2.16) may abort it: its question for a group's members, asked of a
broker that goes away, ends in a failed assertion now and then.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from driftway.worker.kafka.client_config import Properties, quiet
from driftway.worker.stream.observability.event_log import EventLog

REQUEST_SECONDS = 5.0
BETWEEN_SECONDS = 1.0
"""Between the two looks that must find partitions without a member: one may fall into the middle of a change."""
CHURN_SECONDS, MAX_TOTAL_SECONDS = 2.0, 120.0
"""How long probe members join and leave before the next look, and in all."""
MEMBER_SECONDS, MAX_MEMBER_SECONDS = 0.1, 1.6
"""How long each stays a member, doubled from look to look: on a slow machine the first leave before they are in."""
STUCK_SECONDS = 10.0
"""How long one of them is waited for that does not come back."""
PROBE_MEMBERS = 8
"""How many come at once: 130 epochs a second, where one alone makes 18."""


@dataclass(frozen=True)
class WatchedGroup:
    """What is looked after.

    Parameters
    ----------
    topic, name : str
        The input and its group.
    properties : dict
        Of a client that is no member.
    log_format : str
        Of the lines that are written to standard error.
    """

    topic: str
    name: str
    properties: Properties
    log_format: str


def ensure_assigned(group: WatchedGroup) -> None:
    """Look for unassigned partitions, and trigger rebalances until there are none."""
    event_log = EventLog(group.log_format, _private_stderr())
    admin = AdminClient(quiet(group.properties))
    if not unassigned_partitions(group, admin):
        return
    time.sleep(BETWEEN_SECONDS)
    stay, until = MEMBER_SECONDS, time.monotonic() + MAX_TOTAL_SECONDS
    found = unassigned_partitions(group, admin)
    if found:
        event_log.event("the group left partitions unassigned, triggering a rebalance", partitions=found)
    while found and time.monotonic() < until:
        trigger_rebalance(group, stay)
        stay = min(2 * stay, MAX_MEMBER_SECONDS)
        found = unassigned_partitions(group, admin)


def unassigned_partitions(group: WatchedGroup, admin: Any) -> list[int]:
    """Partitions of the input that no member has or is about to get, if the group is at rest; none if not known."""
    try:
        with contextlib.closing(Consumer(quiet({**group.properties, "group.id": group.name}))) as reader:
            topic = reader.list_topics(group.topic, timeout=REQUEST_SECONDS).topics[group.topic]
            # A coordinator that answers this is there for the next question, too.
            reader.committed([TopicPartition(group.topic, 0)], timeout=REQUEST_SECONDS)
        told = admin.describe_consumer_groups([group.name], request_timeout=REQUEST_SECONDS)[group.name].result()
    except KafkaException:
        return []
    if told.type is not ConsumerGroupType.CONSUMER or told.state is not ConsumerGroupState.STABLE:
        return []
    given = {
        place.partition
        for member in told.members
        for places in (member.assignment, member.target_assignment)
        for place in (places.topic_partitions if places is not None else ())
        if place.topic == group.topic
    }
    return sorted(set(topic.partitions) - given)


def trigger_rebalance(group: WatchedGroup, member_seconds: float) -> None:
    """Let probe members join and leave; they read nothing."""
    until = time.monotonic() + CHURN_SECONDS
    while time.monotonic() < until:
        # Daemons: a client that does not come back must not keep the process from ending.
        probes = [
            threading.Thread(target=_join_and_leave, args=(group, member_seconds), daemon=True)
            for _ in range(PROBE_MEMBERS)
        ]
        for one in probes:
            one.start()
        for one in probes:
            one.join(STUCK_SECONDS)


def _join_and_leave(group: WatchedGroup, member_seconds: float) -> None:
    own = {"group.id": group.name, "group.protocol": "consumer", "enable.auto.commit": False}
    with contextlib.suppress(KafkaException), contextlib.closing(Consumer(quiet({**group.properties, **own}))) as one:
        one.subscribe([group.topic])
        one.poll(member_seconds)


def _private_stderr() -> Any:
    """Standard error for this module's lines; what the client says at its end goes nowhere."""
    words = os.fdopen(os.dup(sys.stderr.fileno()), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stderr.fileno())
    os.close(nowhere)
    return words
