"""Checks and topic creation before a worker joins the group."""

from __future__ import annotations

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import require_broker
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.topic_facts import COMPACTED_INPUT, cleanup_policies
from driftway.worker.kafka.topics import create_topics, grow_topics, output_plan, partition_counts
from driftway.worker.settings import EXACTLY_ONCE, WorkerSettings
from driftway.worker.state.changelog.ownership import claim_ownership
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.task.at_least_once import IDEMPOTENT
from driftway.worker.stream.task.checkpoint import Checkpoint
from driftway.worker.stream.task.exactly_once import ExactlyOnceCheckpoint


def check_properties(settings: WorkerSettings) -> None:
    """Create and close the kind of producer that will be used, before any topic is created.

    Raises
    ------
    UsageFailure
        A property is invalid, or incompatible with transactions.
    """
    exactly_once = settings.guarantee == EXACTLY_ONCE
    checkpoint = ExactlyOnceCheckpoint(settings, 0) if exactly_once else Checkpoint(settings, 0, IDEMPOTENT)
    checkpoint.new_producer()
    checkpoint.close_producer()


def _tell_compacted(settings: WorkerSettings, event_log: EventLog) -> None:
    """Log a warning if an input topic is compacted."""
    inputs = [topic for topic in (settings.input, settings.label_topic) if topic]
    for topic, policy in cleanup_policies(settings.bootstrap, settings.passthrough, inputs).items():
        if "compact" in policy:
            event_log.event("compacted input", topic=topic, policy=policy, warning=COMPACTED_INPUT)


def prepare_topics(settings: WorkerSettings, event_log: EventLog) -> int:
    """Require the input topic; create missing output topics, and add partitions to those that have too few.

    Returns
    -------
    int
        Number of partitions that the input had when the group started.

    Raises
    ------
    Failure
        There is no broker, or a topic cannot be created or grown.
    UsageFailure
        The input is missing, the label topic has other partitions, or the outputs belong to another group.
    """
    present = partition_counts(require_broker(settings.bootstrap, settings.passthrough))
    if settings.input not in present:
        raise UsageFailure(f"there is no topic {settings.input}; `driftway topics create` makes it")
    wanted = present[settings.input]
    if settings.label_topic and present.get(settings.label_topic) != wanted:
        name = settings.label_topic
        has = f"has {present[name]} partitions" if name in present else "does not exist"
        raise UsageFailure(
            f"label topic {name} {has}: it needs {wanted}, as many as {settings.input}, because each label is in the "
            "partition of its event"
        )
    _tell_compacted(settings, event_log)
    plan = output_plan(settings.topics, wanted)
    small = [name for name in plan if present.get(name, wanted) < wanted]
    if small:
        grow_topics(settings.bootstrap, settings.passthrough, small, wanted)
        event_log.event("added partitions", topics=small, partitions=wanted)
    for name in create_topics(settings.bootstrap, settings.passthrough, plan):
        event_log.event("created topic", topic=name)
    with translated_errors(settings):
        return claim_ownership(settings, wanted)
