"""Trigger a rebalance in a `consumer` group that left partitions unassigned, from a child process.

A coordinator that restarts with half of its log counts the group's epochs from an old number on. Kafka 4.1 computes no
assignment before this number passes the highest epoch in the log: the members are healthy, but get no partitions
(docs/decisions/0019). Each member that joins or leaves begins a new epoch. So while the group is stable and some
partitions have no member, probe members join and leave.

A child process, because the client (librdkafka 2.16) may abort it: describing a group while its broker stops sometimes
fails an assertion.
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
"""Pause between the two checks that must both find unassigned partitions: one may see a rebalance in progress."""
CHURN_SECONDS, MAX_TOTAL_SECONDS = 2.0, 120.0
"""How long probe members join and leave before the next check, and in total."""
MEMBER_SECONDS, MAX_MEMBER_SECONDS = 0.1, 1.6
"""How long each stays a member, doubled at every check: on a slow machine the first leave before they have joined."""
STUCK_SECONDS = 10.0
"""How long to wait for one of them that does not return."""
PROBE_MEMBERS = 8
"""How many join at once: they make 130 epochs a second, one alone 18."""


@dataclass(frozen=True)
class WatchedGroup:
    """The group to watch.

    Parameters
    ----------
    topic, name : str
        The input and its group.
    properties : dict
        Properties of a client that is not a member.
    log_format : str
        Format of the lines that are written to standard error.
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
    member_seconds, until = MEMBER_SECONDS, time.monotonic() + MAX_TOTAL_SECONDS
    found = unassigned_partitions(group, admin)
    if found:
        event_log.warning("the group left partitions unassigned, triggering a rebalance", partitions=found)
    while found and time.monotonic() < until:
        trigger_rebalance(group, member_seconds)
        member_seconds = min(2 * member_seconds, MAX_MEMBER_SECONDS)
        found = unassigned_partitions(group, admin)


def unassigned_partitions(group: WatchedGroup, admin: Any) -> list[int]:
    """Return partitions of the input that no member has or is about to get; none unless the group is stable."""
    try:
        with contextlib.closing(Consumer(quiet({**group.properties, "group.id": group.name}))) as reader:
            topic = reader.list_topics(group.topic, timeout=REQUEST_SECONDS).topics[group.topic]
            # A coordinator that answers this is there for the next request, too.
            reader.committed([TopicPartition(group.topic, 0)], timeout=REQUEST_SECONDS)
        description = admin.describe_consumer_groups([group.name], request_timeout=REQUEST_SECONDS)[group.name].result()
    except KafkaException:
        return []
    if description.type is not ConsumerGroupType.CONSUMER or description.state is not ConsumerGroupState.STABLE:
        return []
    assigned = {
        topic_partition.partition
        for member in description.members
        for assignment in (member.assignment, member.target_assignment)
        for topic_partition in (assignment.topic_partitions if assignment is not None else ())
        if topic_partition.topic == group.topic
    }
    return sorted(set(topic.partitions) - assigned)


def trigger_rebalance(group: WatchedGroup, member_seconds: float) -> None:
    """Let probe members join and leave; they read nothing."""
    until = time.monotonic() + CHURN_SECONDS
    while time.monotonic() < until:
        # Daemons: a client that does not return must not keep the process from ending.
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
    """Return standard error for this module's lines, and discard what the client writes there."""
    stream = os.fdopen(os.dup(sys.stderr.fileno()), "w")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stderr.fileno())
    os.close(devnull)
    return stream
