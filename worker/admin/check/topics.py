"""Topics: whether they exist, their partitions, owners, clean-up, replicas and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.facts import ClusterState, TopicFacts
from driftway.worker.admin.check.finding import ERROR, OK, SKIPPED, WARNING, Finding
from driftway.worker.errors import UsageFailure, no_topic, plural
from driftway.worker.kafka.client_config import LARGEST_BATCH
from driftway.worker.kafka.cluster import CLEANUP, MAX_MESSAGE, MIN_IN_SYNC, judged_settings
from driftway.worker.kafka.log_reader.topic_facts import COMPACTED_INPUT
from driftway.worker.kafka.topics import COLLISION, LARGEST_RECORD, output_plan, require_input
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.stored_fields import CHUNK_BYTES
from driftway.worker.stream.startup import require_not_own, wrong_label_topic

GROUP = "topics"
DEFAULT_REPLICAS = "default.replication.factor"
UNCLEAN = "unclean.leader.election.enable"
LEAST_SAFE = 3
"""Brokers from which a topic can have three replicas, two of them in sync, and lose a broker without standing still."""
RECORD_BYTES = 1_000
"""Room in a batch for the framing, key and headers of a chunk of a snapshot."""
BATCH_BYTES = 1_000_000
"""The client's default of `batch.size`; a broker's limit is one of batches, and the client does not divide them."""
NO_CONFIG = "its settings cannot be read (DESCRIBE_CONFIGS on the topic)"


def check_input(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Finding:
    """Judge whether the input exists and may be one."""
    name = settings.input
    try:
        require_input(name)
        require_input(settings.label_topic, "label topic")
        require_not_own(settings, state.partitions)
    except UsageFailure as error:
        return Finding(GROUP, "input", ERROR, str(error), exit_code=error.exit_code)
    if name not in state.topics:
        command = commands.create_topics(name, max(1, len(state.brokers)))
        return Finding(GROUP, "input", ERROR, no_topic(name), command, UsageFailure.exit_code)
    return Finding(GROUP, "input", OK, f"{name} has {plural(state.partitions[name], 'partition')}")


def check_label_topic(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """Judge the label topic, if there is one and the input exists."""
    name, here = settings.label_topic, state.partitions
    if not name or settings.input not in here:
        return
    wrong, wanted = wrong_label_topic(settings, here), here[settings.input]
    if wrong is None:
        yield Finding(
            GROUP, "label topic", OK, f"{name} has {plural(wanted, 'partition')}, as many as {settings.input}"
        )
        return
    if name not in here:
        command = commands.create_topics(name, wanted)
    elif here[name] < wanted:
        command = commands.add_partitions(name, wanted)
    else:  # more partitions of the input would send later events of a key elsewhere, for all of its readers
        command = commands.create_topics("NAME", wanted)
    yield Finding(GROUP, "label topic", ERROR, wrong.what, command, UsageFailure.exit_code)


def check_outputs(
    state: ClusterState, settings: WorkerSettings, commands: Commands, refused: Mapping[str, str]
) -> Finding:
    """Judge whether the outputs exist with the input's partitions, or can be made so.

    `refused` says of missing outputs why the broker would not create them.
    """
    plan = planned_outputs(state, settings)
    wanted = state.partitions[settings.input]
    many = {name: state.partitions[name] for name in plan if state.partitions.get(name, 0) > wanted}
    if many:
        name, has = max(many.items(), key=lambda one: one[1])
        sentence = f"{name} has {plural(has, 'partition')}, {settings.input} only {wanted}: no topic can lose any"
        command = commands.add_partitions(settings.input, has)
        return Finding(GROUP, "outputs", ERROR, sentence, command, UsageFailure.exit_code)
    if refused:
        name, why = next(iter(refused.items()))
        sentence = f"the worker would have to create {', '.join(refused)}, but the broker refuses: {why.rstrip('.')}"
        command = _create(settings, commands, wanted, refused)
        if why.endswith(COLLISION):
            command = commands.worker("--output-prefix", "PREFIX")
        return Finding(GROUP, "outputs", ERROR, sentence, command)
    few = [name for name in plan if state.partitions.get(name, wanted) < wanted]
    if few and not all(_may_alter(state.topics[name]) for name in few):
        sentence = f"{', '.join(few)}: fewer than {plural(wanted, 'partition')}, and this principal may not add any"
        return Finding(GROUP, "outputs", ERROR, sentence, "; ".join(commands.add_partitions(n, wanted) for n in few))
    missing = [name for name in plan if name not in state.partitions]
    if missing and len(state.brokers) > 1 and (state.broker_config or {}).get(DEFAULT_REPLICAS) == "1":
        wanted_replicas = str(min(LEAST_SAFE, len(state.brokers)))
        sentence = f"the worker will create {', '.join(missing)} with one replica ({DEFAULT_REPLICAS} of the brokers)"
        command = f"{_create(settings, commands, wanted, refused)} --replication-factor {wanted_replicas}"
        return Finding(GROUP, "outputs", WARNING, sentence, command)
    todo = [f"will create {', '.join(missing)}"] * bool(missing)
    todo += [f"will add partitions to {', '.join(few)}"] * bool(few)
    sentence = f"the worker {' and '.join(todo)}" if todo else f"all {len(plan)} have {plural(wanted, 'partition')}"
    return Finding(GROUP, "outputs", OK, sentence)


def _create(settings: WorkerSettings, commands: Commands, partitions: int, refused: Mapping[str, str]) -> str:
    """The command for somebody who may create topics; if replicas are short, with as many as there are brokers."""
    topics = settings.topics
    flags = {"--alarms": topics.watched, "--challengers": topics.challenged, "--shares": topics.shared}
    more = ["--group", settings.group, *(flag for flag, given in flags.items() if given)]
    more += ["--output-prefix", settings.outputs] * bool(settings.outputs)
    more += ["--replication-factor", "1"] * any("replica" in why for why in refused.values())
    return commands.create_topics(settings.input, partitions, *more)


def planned_outputs(state: ClusterState, settings: WorkerSettings) -> dict[str, tuple[int, dict[str, str]]]:
    """Return what a worker would create: name -> partitions and settings."""
    return output_plan(settings.topics.existing(state.partitions), state.partitions[settings.input])


def _may_alter(topic: TopicFacts) -> bool:
    return topic.operations is None or "ALTER" in topic.operations


def check_topic(
    topic: TopicFacts, state: ClusterState, settings: WorkerSettings, commands: Commands
) -> Iterator[Finding]:
    """Judge clean-up, replicas and sizes of one topic of the worker, several sentences at most."""
    found = [
        *_settings(topic, settings, commands),
        *_replicas(topic, state, settings, commands),
        *_sizes(topic, settings, commands),
    ]
    yield from found
    if found:
        return
    if topic.config is None:
        yield Finding(GROUP, "settings", SKIPPED, f"{topic.name}: {_count(topic)}, enough in sync; {NO_CONFIG}")
        return
    sentence = f"{topic.name}: cleanup.policy {topic.config[CLEANUP]}, {_count(topic)}, enough in sync"
    yield Finding(GROUP, "settings", OK, sentence)


def _count(topic: TopicFacts) -> str:
    return plural(topic.fewest, "replica")


def _settings(topic: TopicFacts, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """Clean-up and in-sync replicas, as a worker judges them at its start."""
    if topic.config is None:
        return
    name, policy = topic.name, topic.config[CLEANUP]
    if name in (settings.input, settings.label_topic) and "compact" in policy:
        command = commands.set_topic(name, {CLEANUP: "delete"})
        yield Finding(GROUP, "clean-up", WARNING, f"{name} has cleanup.policy {policy}: {COMPACTED_INPUT}", command)
        return
    plan = output_plan(settings.topics.existing((name,)), topic.partitions)
    for wrong in judged_settings(name, topic.config, topic.fewest, plan.get(name, (0, {}))[1]):
        check, status = "clean-up", WARNING
        if wrong.blocks:
            check, status = "replicas in sync", ERROR if name in plan else WARNING
        command = "" if wrong.change is None else commands.set_topic(name, dict([wrong.change]))
        yield Finding(GROUP, check, status, wrong.what, command)


def _replicas(
    topic: TopicFacts, state: ClusterState, settings: WorkerSettings, commands: Commands
) -> Iterator[Finding]:
    """Replicas that are away, and too few of them in a cluster that could have more."""
    least, name, brokers = topic.number(MIN_IN_SYNC, 1), topic.name, len(state.brokers)
    dead = [p for p, n in enumerate(topic.in_sync) if not n]
    short = [p for p, n in enumerate(topic.in_sync) if 0 < n < least <= topic.fewest]
    only_read = name in (settings.input, settings.label_topic)
    for text, bad, status in (
        ("no leader", dead, ERROR),
        (f"fewer than {plural(least, 'replica')} in sync", short, WARNING if only_read else ERROR),
    ):
        if bad:
            sentence = f"{name}: partitions {', '.join(map(str, bad))} have {text}: a broker is down, start it again"
            yield Finding(GROUP, "replicas in sync", status, sentence, commands.describe_unavailable(), 5)
    away = [p for p, (n, own) in enumerate(zip(topic.in_sync, topic.replicas, strict=True)) if least <= n < len(own)]
    if away and not (dead or short):
        which = f"{name}: partitions {', '.join(map(str, away))}"
        sentence = f"{which} have replicas that are not in sync: a broker is down or slow"
        if any(topic.in_sync[p] == least for p in away):
            sentence += ", and without another one nothing could be written"
        yield Finding(GROUP, "replicas in sync", WARNING, sentence, commands.describe_behind())
    wanted = min(LEAST_SAFE, brokers)
    if brokers > 1 and topic.fewest < min(2, wanted):
        command = commands.add_replicas(name, topic.replicas, state.brokers, wanted)
        sentence = (
            f"{name} has one replica in a cluster of {brokers} brokers: if its broker is lost, so are its records"
        )
        yield Finding(GROUP, "replicas", WARNING, sentence, command)
    elif topic.fewest >= LEAST_SAFE and topic.config is not None and least < 2:
        command = commands.set_topic(name, {MIN_IN_SYNC: "2"})
        sentence = f"{name} has min.insync.replicas {least}: records are acknowledged although only one broker has them"
        yield Finding(GROUP, "replicas", WARNING, sentence, command)
    if (topic.config or {}).get(UNCLEAN) == "true" and topic.fewest > 1:
        command = commands.set_topic(name, {UNCLEAN: "false"})
        sentence = f"{name} has {UNCLEAN} true: acknowledged records are lost when a replica that lags becomes leader"
        yield Finding(GROUP, "replicas", WARNING, sentence, command)


def _sizes(topic: TopicFacts, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """Largest messages: of snapshots, of rejections, and of the input for the client."""
    most, name = topic.number(MAX_MESSAGE), topic.name
    if most < 0:
        return
    if name in (settings.input, settings.label_topic):
        largest = _option(settings, "receive.message.max.bytes", LARGEST_BATCH)
        if largest is not None and largest < most:
            sentence = (
                f"{name} takes batches of {most:,} bytes, the client only {largest:,}: it cannot read larger ones"
            )
            command = commands.worker("-X", f"receive.message.max.bytes={most + RECORD_BYTES}")
            yield Finding(GROUP, "message size", ERROR, sentence, command)
        return
    needed = max(CHUNK_BYTES + RECORD_BYTES, _option(settings, "batch.size", BATCH_BYTES) or 0)
    if most < needed:
        sentence = f"{name} takes batches of {most:,} bytes only, the worker writes batches of up to {needed:,}"
        command = commands.set_topic(name, {MAX_MESSAGE: str(LARGEST_RECORD)})
        yield Finding(GROUP, "message size", ERROR, sentence, command)


def _option(settings: WorkerSettings, key: str, default: int) -> int | None:
    """A client property; None if it is no number, which the client itself reports."""
    try:
        return int(settings.passthrough.get(key, default))
    except ValueError:
        return None
