"""What a worker looks after before it joins the group."""

from __future__ import annotations

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import require_broker
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.topics import create_topics, grow_topics, output_plan, partition_counts
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.ownership import claim_ownership
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.task.exactly_once import ExactlyOnceCheckpoint


def check_properties(settings: WorkerSettings) -> None:
    """Make a producer and let go of it: a wrong client property is found before anything is created.

    Raises
    ------
    UsageFailure
        A property is not valid, or does not go with a transaction.
    """
    checkpoint = ExactlyOnceCheckpoint(settings, partition=0)
    checkpoint.new_producer()
    checkpoint.close_producer()


def prepare_topics(settings: WorkerSettings, event_log: EventLog) -> int:
    """Require the input; create what is missing of the outputs, grow what is too small.

    Returns
    -------
    int
        Partitions that the input had when the group began.

    Raises
    ------
    Failure
        There is no broker, or no such input, or a topic cannot be made or grown.
    UsageFailure
        The outputs are another group's.
    """
    present = partition_counts(require_broker(settings.bootstrap, settings.passthrough))
    if settings.input not in present:
        raise UsageFailure(f"there is no topic {settings.input}; `driftway topics create` makes it")
    wanted = present[settings.input]
    if settings.label_topic and present.get(settings.label_topic) != wanted:
        name = settings.label_topic
        has = f"has {present[name]} partitions" if name in present else "is not there"
        raise UsageFailure(
            f"topic {name} of labels {has}: it needs {wanted}, as many as {settings.input}, for each label lies in the "
            "partition of its event"
        )
    plan = output_plan(settings.topics, wanted)
    small = [name for name in plan if present.get(name, wanted) < wanted]
    if small:
        grow_topics(settings.bootstrap, settings.passthrough, small, wanted)
        event_log.event("grew topics", topics=small, partitions=wanted)
    for name in create_topics(settings.bootstrap, settings.passthrough, plan):
        event_log.event("created topic", topic=name)
    with translated_errors(settings):
        return claim_ownership(settings, wanted)
