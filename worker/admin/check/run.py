"""All checks, in the order in which a worker would find the same problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import confluent_kafka

from driftway.worker.admin.check import access, cluster, events, machine, retention, topics
from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.facts import ClusterState, ask_cluster
from driftway.worker.admin.check.finding import ERROR, OK, Finding, failed
from driftway.worker.admin.check.sample import Sample, take_sample
from driftway.worker.errors import Failure, Unreachable, plural
from driftway.worker.kafka.cluster import require_consumer_protocol
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import open_reader
from driftway.worker.kafka.topics import refused_topics
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.startup import check_properties

READING = ("group", "topics")
"""Checks of rights without which no events can be read."""
Tell = Callable[[str], None]
"""Called with what is done next, for those who watch."""
NO_BROKER = "docker compose up kafka  # or give the address of yours with --bootstrap; `driftway broker` starts one"


def run_checks(
    settings: WorkerSettings, commands: Commands, rows: int, tell: Tell, port: tuple[str, int] | None = None
) -> Iterator[Finding]:
    """Check a deployment; nothing is written.

    The one trace is a transactional id that ends in ``check``, which the cluster forgets after
    `transactional.id.expiration.ms`. No transaction is begun with it.

    Parameters
    ----------
    settings : WorkerSettings
        Those of the worker that is to run.
    commands : Commands
        How to mend what is found.
    rows : int
        Number of events to read.
    tell : Tell
        Is told what comes next.
    port : tuple of str and int, or None
        Address and port on which the worker is to listen.
    """
    tell("client and brokers")
    library = str(confluent_kafka.libversion()[0])
    yield cluster.check_client(str(confluent_kafka.version()), library)
    sample, partitions = Sample(schema=settings.model.shape), 1
    try:
        check_properties(settings)
        open_reader(settings).close()
        state = ask_cluster(settings)
    except Failure as error:
        yield failed(cluster.GROUP, "brokers", error, NO_BROKER if isinstance(error, Unreachable) else "")
    else:
        partitions = state.partitions.get(settings.input, 0)
        yield from _of_cluster(state, settings, commands)
        tell("topics")
        source = topics.check_input(state, settings, commands)
        yield source
        partitions = 0 if source.status == ERROR else partitions  # no command is to change what is no input
        if partitions:
            yield from _of_topics(state, settings, commands)
        tell("access")
        allowed = list(_of_access(state, settings, commands))
        yield from allowed
        if partitions and not any(one.status == ERROR and one.check in READING for one in allowed):
            tell(f"reads about {plural(rows, 'event')} of {settings.input}")
            owned = not any(one.status == ERROR and one.check == access.OWNER for one in allowed)
            sample, found = _of_events(state, settings, commands, rows, owned)
            yield from found
    tell("this machine")
    yield from _of_machine(settings, commands, sample, max(1, partitions))
    if port is not None:
        yield machine.check_port(*port, commands)


def _of_cluster(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    yield cluster.check_brokers(state)
    try:
        if settings.protocol == CONSUMER:
            require_consumer_protocol(settings.bootstrap, settings.passthrough, settings.group)
    except Failure as error:
        yield failed(cluster.GROUP, "group protocol", error, commands.worker("-X", "group.protocol=classic"))
    else:
        yield cluster.check_protocol(state, settings, commands)


def _of_topics(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    yield from topics.check_label_topic(state, settings, commands)
    plan = topics.planned_outputs(state, settings)
    missing = {name: wanted for name, wanted in plan.items() if name not in state.partitions}
    refused = refused_topics(settings.bootstrap, settings.passthrough, missing)
    yield topics.check_outputs(state, settings, commands, refused)
    for topic in state.topics.values():
        yield from topics.check_topic(topic, state, settings, commands)


def _of_access(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    yield from access.check_topic_rights(state, settings, commands)
    yield from access.check_owner(state, settings, commands)
    yield access.check_group(settings, commands, settings.input in state.partitions)
    yield access.check_transactions(settings, commands, min(3, len(state.brokers)))


def _of_events(
    state: ClusterState, settings: WorkerSettings, commands: Commands, rows: int, owned: bool
) -> tuple[Sample, list[Finding]]:
    """Read a sample, and judge it with the retention; and the position, unless the snapshots are another group's."""
    found = list(events.check_registry(settings, commands))
    sample, size = Sample(schema=settings.model.shape), None
    if all(one.status == OK for one in found):  # else every event would wait for the registry
        try:
            with translated_errors(settings):
                positions = access.positions(state, settings)
                if owned:
                    found.append(access.check_positions(positions, settings, commands))
                sample = take_sample(settings, positions, rows, state.partitions.get(settings.label_topic, 0))
        except Failure as error:
            found.append(failed(events.GROUP, "sample", error))
        else:
            new = all(at.committed is None for at in positions.values())
            found += events.check_events(sample, settings, commands, new)
    if sample.events.records:
        size = sample.events.value_bytes / sample.events.records
    found.append(events.check_clock(sample, int(1000 * time.time())))
    return sample, [*found, *retention.check_retention(state, settings, commands, size)]


def _of_machine(settings: WorkerSettings, commands: Commands, sample: Sample, partitions: int) -> Iterator[Finding]:
    from driftway.learners.engine.kernel_cache import FOLDER

    there = machine.this_machine(FOLDER)
    yield machine.check_kernels(settings, commands)
    yield machine.check_disk(there, FOLDER)
    yield machine.check_memory(settings, sample.schema, partitions, there)
    yield machine.check_files(there, partitions)
    yield machine.check_threads(there, partitions)
