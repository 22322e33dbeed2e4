"""Checks and topic creation before a worker joins the group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from confluent_kafka import Consumer

from driftway.worker.errors import Failure, UsageFailure, no_topic, plural
from driftway.worker.kafka.client_config import quiet, refused_properties, require_broker
from driftway.worker.kafka.cluster import WrongSetting, broker_session_ms, require_consumer_protocol, wrong_settings
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.topic_facts import COMPACTED_INPUT, compacted_topics
from driftway.worker.kafka.registry.outputs import OutputSchema, OutputSchemas, subject_of
from driftway.worker.kafka.topics import (
    Topics,
    create_topics,
    grow_command,
    grow_topics,
    output_plan,
    partition_counts,
    present_topics,
    require_input,
)
from driftway.worker.settings import CONSUMER, EXACTLY_ONCE, ModelSettings, WorkerSettings
from driftway.worker.state.changelog.ownership import claim_ownership
from driftway.worker.stream.consumer.membership import member_properties, require_heartbeats
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.task.committing.at_least_once import IDEMPOTENT
from driftway.worker.stream.task.committing.checkpoint import Checkpoint
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint
from driftway.worker.wire.registered.framing import REGISTERED_OUTPUTS


class ClusterFacts(NamedTuple):
    """What a worker learns of the cluster before it joins the group."""

    partitions: int
    """Number of partitions of the input."""
    initial_partitions: int
    """Number of partitions that the input had when the group started."""
    broker_session_ms: int
    """How long the cluster takes to notice that a broker is dead, in ms; 0 if there is only one."""
    has_plans: bool
    """Whether the group has a topic of plans: its models were changed while workers ran."""


def required_registry(model: ModelSettings) -> str:
    """Return the URL of the registry; raise a UsageFailure if there is none."""
    if model.registry is None:
        raise UsageFailure(f"--output-format {model.output_form} needs a schema registry: give --registry URL")
    return model.registry


def with_output_schema(settings: WorkerSettings, event_log: EventLog) -> WorkerSettings:
    """Return the settings with the id of the predictions' schema, which is registered under the subjects of its topics.

    Nothing is registered if there is no such input: `prepare_topics` then refuses it.

    Raises
    ------
    UsageFailure
        There is no --registry, or the schema is not compatible with what is registered there.
    Failure
        The registry does not answer, or does not let it be registered; there is no broker.
    """
    model, topics = settings.model, settings.topics
    if model.output_form not in REGISTERED_OUTPUTS:
        return settings
    registry = OutputSchemas(required_registry(model), dict(model.registry_properties))
    schema = OutputSchema.of(model.output_form, model.target)
    if settings.input not in present_topics(settings.bootstrap, settings.passthrough):
        return settings
    if topics.challenged:
        registry.id_of(topics.challengers, schema)
    number = registry.id_of(topics.predictions, schema)
    event_log.event("schema of predictions", subject=subject_of(topics.predictions), id=number)
    return replace(settings, model=replace(model, output_schema=number))


def check_properties(settings: WorkerSettings) -> None:
    """Create and close the kinds of producer and member that will be used, before any topic is created.

    Raises
    ------
    UsageFailure
        A property is invalid, or incompatible with another or with transactions.
    Failure
        The packages that the events' format needs are not installed.
    """
    settings.model.loads()
    exactly_once = settings.guarantee == EXACTLY_ONCE
    checkpoint = ExactlyOnceCheckpoint(settings, 0) if exactly_once else Checkpoint(settings, 0, IDEMPOTENT)
    checkpoint.new_producer()
    checkpoint.close_producer()
    properties = member_properties(settings)
    with refused_properties(properties):
        Consumer(quiet(properties)).close()


def _warn_of_compaction(settings: WorkerSettings, event_log: EventLog) -> None:
    """Log a warning if an input topic is compacted."""
    inputs = [topic for topic in (settings.input, settings.label_topic) if topic]
    for topic, policy in compacted_topics(settings.bootstrap, settings.passthrough, inputs).items():
        event_log.warning("compacted input", topic=topic, policy=policy, warning=COMPACTED_INPUT)


def prepare_topics(settings: WorkerSettings, event_log: EventLog) -> ClusterFacts:
    """Require the input topic; create missing output topics, and add partitions to those that have too few.

    Raises
    ------
    Failure
        There is no broker, the brokers are too old for the group's protocol, a topic cannot be created, grown or
        written to, or the schema of predictions is not registered.
    UsageFailure
        The input is missing or another program's, the label topic has other partitions, the outputs belong to another
        group, or a session ends between two heartbeats.
    """
    require_input(settings.input)
    require_input(settings.label_topic, "label topic")
    cluster = require_broker(settings.bootstrap, settings.passthrough)
    present = partition_counts(cluster)
    if settings.input not in present:
        raise UsageFailure(f"{no_topic(settings.input)}; `driftway topics create` creates it")
    require_not_own(settings, present)
    if settings.model.output_form in REGISTERED_OUTPUTS and not settings.model.output_schema:
        raise Failure(f"the schema of predictions in {settings.model.output_form} is not registered")
    if settings.protocol == CONSUMER:
        require_consumer_protocol(settings.bootstrap, settings.passthrough, settings.group)
    session_ms = broker_session_ms(settings.bootstrap, settings.passthrough, list(cluster.brokers))
    require_heartbeats(settings, session_ms)
    wanted = present[settings.input]
    if (wrong := wrong_label_topic(settings, present)) is not None:
        raise UsageFailure(wrong.sentence)
    _warn_of_compaction(settings, event_log)
    plan = output_plan(settings.topics.existing(present), wanted)
    _check_settings(settings, {name: plan[name] for name in plan if name in present}, event_log)
    if large := [name for name in plan if present.get(name, wanted) > wanted]:
        most = max(present[name] for name in large)
        raise UsageFailure(
            f"topic {large[0]} has {plural(present[large[0]], 'partition')}, not {wanted} as {settings.input}, and "
            f"no topic can lose partitions: {grow_command(settings.input, most)} gives {settings.input} as many; "
            "otherwise take another --group or --output-prefix, or delete it, if nothing of it is needed"
        )
    small = [name for name in plan if present.get(name, wanted) < wanted]
    if small:
        grow_topics(settings.bootstrap, settings.passthrough, small, wanted)
        event_log.event("added partitions", topics=small, partitions=wanted)
        present |= dict.fromkeys(small, wanted)
    for name in create_topics(settings.bootstrap, settings.passthrough, plan, present=present):
        event_log.event("created topic", topic=name)
    with translated_errors(settings):
        initial = claim_ownership(settings, wanted)
    return ClusterFacts(wanted, initial, session_ms, settings.topics.models in present)


def require_not_own(settings: WorkerSettings, present: Mapping[str, int]) -> None:
    """Refuse an input or a label topic that the group itself writes, on whatever input.

    Raises
    ------
    UsageFailure
        It is such a topic.
    """
    for name in filter(None, (settings.input, settings.label_topic)):
        base = next((topic for topic in present if name in Topics(topic, settings.group).every_output()), None)
        if base is not None:
            raise UsageFailure(
                f"{name} is an output of group {settings.group} on {base}: give another --group to work on it, or "
                f"--input {base}"
            )


def wrong_label_topic(settings: WorkerSettings, present: Mapping[str, int]) -> WrongSetting | None:
    """Say what is wrong with the label topic's number of partitions; None if nothing is, or there is no such topic.

    `present` are the existing topics, the input among them, with their numbers of partitions.
    """
    name, wanted = settings.label_topic, present[settings.input]
    if not name or present.get(name) == wanted:
        return None
    has = f"has {plural(present[name], 'partition')}" if name in present else "does not exist"
    return WrongSetting(
        f"label topic {name} {has}: it needs {wanted}, as many as {settings.input}, because each label is in the "
        "partition of its event",
        True,
        f": {_how_to_add_partitions(name, present.get(name, 0), wanted)}",
    )


def _how_to_add_partitions(topic: str, has: int, wanted: int) -> str:
    """Say how a label topic gets as many partitions as the input."""
    if not has:
        return f"`driftway topics create --input {topic} --partitions {wanted}` creates it"
    if has < wanted:
        return f"{grow_command(topic, wanted)} adds them"
    return "no topic can lose partitions: create another one, or give the input as many"


def _check_settings(settings: WorkerSettings, plan: Mapping[str, Any], event_log: EventLog) -> None:
    """Log which existing outputs have settings that lose what they are to keep.

    Raises
    ------
    Failure
        To one of them nothing can be written.
    """
    try:
        wrong = wrong_settings(settings.bootstrap, settings.passthrough, plan)
    except Failure as error:  # without the permission to describe them
        wrong = [WrongSetting(str(error), False)]
    for one in wrong:
        if one.blocks:
            raise Failure(one.sentence)
        event_log.warning("topic settings", warning=one.sentence)
