"""The topic of alarms, which a group without detectors does not have until a plan names some."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, quiet, require_broker
from driftway.worker.kafka.topics import ASK_SECONDS, create_topics, grow_topics, output_plan, partition_counts
from driftway.worker.settings import WorkerSettings


def require_alarm_topic(settings: WorkerSettings) -> bool:
    """Create the group's topic of alarms if it is missing, with as many partitions as the input has.

    Returns
    -------
    bool
        Whether it was missing.

    Raises
    ------
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    place, name = (settings.bootstrap, settings.passthrough), settings.topics.alarms
    present = partition_counts(require_broker(*place))
    wanted = present.get(settings.input, 1)
    if name in present:
        if present[name] < wanted:
            grow_topics(*place, [name], wanted)
        return False
    plan = output_plan(settings.topics.existing([name]), wanted)
    return bool(create_topics(*place, {name: plan[name]}, present=present))


def require_alarms_writable(settings: WorkerSettings) -> None:
    """Check that there may be written to the group's topic of alarms, as far as the broker tells.

    Raises
    ------
    Failure
        There may not: a worker that took a plan with detectors would end with the first alarm.
    """
    from confluent_kafka import TopicCollection
    from confluent_kafka import admin as untyped

    api: Any = untyped  # its stubs do not export everything
    name = settings.topics.alarms
    client = api.AdminClient(quiet(base_properties(settings.bootstrap, settings.passthrough)))
    topics = TopicCollection([name])
    asked = client.describe_topics(topics, include_authorized_operations=True, request_timeout=ASK_SECONDS)
    try:
        allowed = asked[name].result().authorized_operations
    except KafkaException:
        return  # whoever writes is told
    if allowed and api.AclOperation.WRITE not in allowed:
        raise Failure(f"no permission to write to {name}: plans from the first one with detectors on wait for it")
