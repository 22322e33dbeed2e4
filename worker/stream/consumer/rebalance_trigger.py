"""Stirs a group of the `consumer` protocol that has forgotten partitions, in a process of its own (`lookout`).

A coordinator that comes back from half of its log counts the group's epochs from an old number on, and Kafka 4.1
computes no assignment before it has passed the highest one that the log has: the members stay, in good health and with
nothing to do (docs/decisions/0019). Each member that comes or goes is an epoch. So while the group is at rest and some
partitions are nobody's, passers-by come and go.

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
from driftway.worker.stream.observability.event_log import Journal

ASK_SECONDS = 5.0
BETWEEN_SECONDS = 1.0
"""Between the two looks that must find partitions without a member: one may fall into the middle of a change."""
STIR_SECONDS, AT_MOST_SECONDS = 2.0, 120.0
"""How long passers-by come and go before the next look, and in all."""
STAY_SECONDS, LONGEST_STAY_SECONDS = 0.1, 1.6
"""How long they stay, doubled from look to look: on a slow machine the first have left before they were in."""
STUCK_SECONDS = 10.0
"""How long one of them is waited for that does not come back."""
CROWD = 8
"""How many come at once: 130 epochs a second, where one alone makes 18."""


@dataclass(frozen=True)
class Group:
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


def settle(group: Group) -> None:
    """Look for forgotten partitions, and stir the group until there are none."""
    journal = Journal(group.log_format, _own_words())
    admin = AdminClient(quiet(group.properties))
    if not forgotten(group, admin):
        return
    time.sleep(BETWEEN_SECONDS)
    stay, until = STAY_SECONDS, time.monotonic() + AT_MOST_SECONDS
    found = forgotten(group, admin)
    if found:
        journal.event("the group has forgotten partitions, stirring it", partitions=found)
    while found and time.monotonic() < until:
        stir(group, stay)
        stay = min(2 * stay, LONGEST_STAY_SECONDS)
        found = forgotten(group, admin)


def forgotten(group: Group, admin: Any) -> list[int]:
    """Partitions of the input that no member has or is about to get, if the group is at rest; none if not known."""
    try:
        with contextlib.closing(Consumer(quiet({**group.properties, "group.id": group.name}))) as reader:
            topic = reader.list_topics(group.topic, timeout=ASK_SECONDS).topics[group.topic]
            # A coordinator that answers this is there for the next question, too.
            reader.committed([TopicPartition(group.topic, 0)], timeout=ASK_SECONDS)
        told = admin.describe_consumer_groups([group.name], request_timeout=ASK_SECONDS)[group.name].result()
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


def stir(group: Group, stay: float) -> None:
    """Let members come and go, who take nothing."""
    until = time.monotonic() + STIR_SECONDS
    while time.monotonic() < until:
        # Daemons: a client that does not come back must not keep the process from ending.
        crowd = [threading.Thread(target=_pass_by, args=(group, stay), daemon=True) for _ in range(CROWD)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join(STUCK_SECONDS)


def _pass_by(group: Group, stay: float) -> None:
    own = {"group.id": group.name, "group.protocol": "consumer", "enable.auto.commit": False}
    with contextlib.suppress(KafkaException), contextlib.closing(Consumer(quiet({**group.properties, **own}))) as one:
        one.subscribe([group.topic])
        one.poll(stay)


def _own_words() -> Any:
    """Standard error for this module's lines; what the client says at its end goes nowhere."""
    words = os.fdopen(os.dup(sys.stderr.fileno()), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stderr.fileno())
    os.close(nowhere)
    return words
