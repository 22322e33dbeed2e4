"""The topic of alarms, which a group without detectors does not have until a plan names some."""

from __future__ import annotations

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import admin_client
from driftway.worker.kafka.topics import create_topics, grow_topics, output_plan, present_topics, topic_operations
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
    cluster, name = (settings.bootstrap, settings.passthrough), settings.topics.alarms
    present = present_topics(*cluster)
    wanted = present.get(settings.input, 1)
    if name in present:
        if present[name] < wanted:
            grow_topics(*cluster, [name], wanted)
        return False
    plan = output_plan(settings.topics.existing([name]), wanted)
    return bool(create_topics(*cluster, {name: plan[name]}, present=present))


def require_alarms_writable(settings: WorkerSettings) -> None:
    """Check that there may be written to the group's topic of alarms, as far as the broker tells.

    Raises
    ------
    Failure
        There may not: a worker that adopted a plan with detectors would end with the first alarm.
    """
    name = settings.topics.alarms
    allowed = topic_operations(admin_client(settings.bootstrap, settings.passthrough), [name]).get(name)
    if allowed and "WRITE" not in allowed:  # empty: the broker does not say, and whoever writes gets its error
        raise Failure(
            f"no permission to write to {name}: plans with detectors cannot be applied until there is permission"
        )
