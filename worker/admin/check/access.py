"""What the worker's principal may do, against what a worker needs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.facts import ClusterState
from driftway.worker.admin.check.finding import ERROR, OK, SKIPPED, WARNING, Finding, failed
from driftway.worker.errors import Failure, plural
from driftway.worker.kafka.client_config import (
    admin_client,
    base_properties,
    quiet,
    refused_properties,
    without_membership,
)
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TaskError, TimedOut, query
from driftway.worker.kafka.log_reader.reader import committed_offset, open_reader, watermarks
from driftway.worker.kafka.log_reader.topic_facts import TopicIdReader
from driftway.worker.settings import EARLIEST, EXACTLY_ONCE, FAIL, OFFSET_POLICIES, REPLAY, WorkerSettings
from driftway.worker.state.changelog.commit_record import is_at_least_once
from driftway.worker.state.changelog.ownership import read_owner, require_own
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import commit_records
from driftway.worker.state.stored_fields import Malformed
from driftway.worker.stream.task.committing.exactly_once import (
    TRANSACTION_TIMEOUT_MS,
    not_yet,
    refused_timeout,
    transaction_timeout_ms,
)

GROUP, EVENTS = "access", "events"
OWNER = "owner of the outputs"
ASK_SECONDS = 15.0
TRY_SECONDS = 5.0
LONGEST_INTERVAL = TRANSACTION_TIMEOUT_MS / 2000
"""Seconds between commits up to which transactions are no longer than by default."""
PROBE = "check"
"""Ends the transactional id of the probe. It is below the prefix on which a worker needs its right."""
OURS = "driftway-"
"""How the client.id of a worker begins, unless a property says otherwise."""
UNAUTHORIZED = {KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}


class Position(NamedTuple):
    """Where a group continues in a partition."""

    low: int
    high: int
    """First offset in the log, and the offset after the last that a read_committed reader sees."""
    committed: int | None
    """The committed offset; None if there is none."""
    needed: int | None = None
    """Offset of the newest snapshot, from which a restore reads again; None if the commit names none."""
    lost: str = ""
    """Why a worker cannot continue there with its state; empty: it can, or there is none."""
    recreated: bool = False
    """Whether that is because the input was deleted and recreated."""


def check_topic_rights(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """Judge what this principal may do with each existing topic."""
    reads = [name for name in (settings.input, settings.label_topic) if name]
    written = settings.topics.existing(state.partitions).outputs()
    needed = dict.fromkeys(reads, ("READ",)) | dict.fromkeys(written, ("READ", "WRITE"))
    if settings.topics.models in state.topics:
        needed[settings.topics.models] = ("READ",)
    known = [name for name in needed if name in state.topics and state.topics[name].operations is not None]
    for name in known:
        lacking = [one for one in needed[name] if one not in (state.topics[name].operations or ())]
        if lacking:
            sentence = f"this principal has no right to {' and '.join(lacking)} on topic {name}"
            yield Finding(GROUP, "topics", ERROR, sentence, commands.grant("topic", name, lacking))
    if not known:
        yield Finding(GROUP, "topics", SKIPPED, "the broker does not report the permissions of this principal")
    elif all(set(needed[name]) <= (state.topics[name].operations or set()) for name in known):
        yield Finding(
            GROUP, "topics", OK, f"this principal has all the rights it needs on {plural(len(known), 'topic')}"
        )


def check_group(settings: WorkerSettings, commands: Commands, has_input: bool) -> Finding:
    """Ask the group's coordinator whether this principal may join; the group is not joined, and not created.

    `has_input`: whether the input exists. Then its offset is asked for first: the client aborts the process if it asks
    for a group's members while the coordinator is starting (librdkafka 5040).
    """
    check, group = "group", settings.group
    sentence = f"this principal has no right to READ on group {group}"
    no_right = Finding(GROUP, check, ERROR, sentence, commands.grant("group", group, ["READ"]))
    try:
        if has_input:  # without the right to the group, this client looks for the coordinator until time is up
            with contextlib.closing(open_reader(settings)) as reader, contextlib.suppress(KafkaException):
                committed_offset(reader, settings.input, 0, Deadline(TRY_SECONDS))
        described = query(lambda: _described_group(settings), Deadline(TRY_SECONDS))
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return no_right
        return Finding(
            GROUP, check, SKIPPED, f"the coordinator of {group} does not report what is allowed: {_text(error)}"
        )
    allowed, members = (None, []) if described is None else (described.authorized_operations, described.members)
    if allowed is not None and "READ" not in {one.name for one in allowed}:
        return no_right
    own = settings.passthrough.get("client.id")
    if others := sorted({m.client_id for m in members if m.client_id != own and not m.client_id.startswith(OURS)}):
        sentence = (
            f"{group} has members that are not workers, with client.id {', '.join(others)}: nobody predicts the "
            "partitions that they get. Give that program, or the workers, another group"
        )
        return Finding(GROUP, check, WARNING, sentence)
    return Finding(GROUP, check, OK, f"this principal may join {group}")


def _described_group(settings: WorkerSettings) -> Any:
    """Return the group's description; None if it does not exist yet."""
    client = admin_client(settings.bootstrap, settings.passthrough)
    asked = client.describe_consumer_groups(
        [settings.group], include_authorized_operations=True, request_timeout=TRY_SECONDS
    )
    try:
        return asked[settings.group].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:  # since 4.0 of a group that nobody has joined yet
            return None
        raise


def check_transactions(settings: WorkerSettings, commands: Commands, replicas: int) -> Finding:
    """Initialise a transactional id of the worker's prefix, which begins no transaction.

    `replicas` are those that the cluster can give to the topic of transactions.
    """
    check = "transactions"
    if settings.guarantee != EXACTLY_ONCE:
        return Finding(GROUP, check, OK, f"not used with --guarantee {settings.guarantee}")
    probe, timeout_ms = settings.transactional_id(PROBE), transaction_timeout_ms(settings)
    prefix = probe.removesuffix(PROBE)
    own = {"transactional.id": probe, "transaction.timeout.ms": timeout_ms}
    given = without_membership(base_properties(settings.bootstrap, settings.passthrough))
    try:
        with refused_properties(given):
            producer = Producer(quiet({**given, **own}))
    except Failure as error:
        return failed(GROUP, check, error)
    try:
        _initialise(producer, Deadline(ASK_SECONDS))
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
            if settings.commit_interval > LONGEST_INTERVAL:
                command = commands.worker("--commit-interval", f"{LONGEST_INTERVAL:g}")
            else:
                command = commands.configure_brokers("transaction.max.timeout.ms", str(timeout_ms))
            return failed(GROUP, check, refused_timeout(timeout_ms), command)
        if code in UNAUTHORIZED:
            sentence = f"this principal has no right to WRITE on transactional ids {prefix}*"
            command = commands.grant("transactional-id", f"{prefix}*", ["WRITE"])
            return Finding(GROUP, check, ERROR, sentence, command)
        sentence = f"no transactional id can be initialised within {ASK_SECONDS:.0f} s: {_text(error)}"
        sentence += "; the transaction state topic may need more replicas than there are brokers"
        command = commands.configure_brokers("transaction.state.log.replication.factor", str(replicas))
        return Finding(GROUP, check, ERROR, sentence, command, 5)
    return Finding(GROUP, check, OK, f"transactional ids {prefix}* can be initialised")


def _initialise(producer: Producer, deadline: Deadline) -> None:
    while True:
        try:
            producer.init_transactions(min(TRY_SECONDS, deadline.left))
        except KafkaException as error:
            if deadline.passed or not not_yet(error.args[0]):
                raise
            time.sleep(0.1)
        else:
            return


def check_owner(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Iterator[Finding]:
    """Judge whether the outputs belong to this group, if they exist."""
    if settings.topics.snapshots not in state.topics:
        return
    try:
        with contextlib.closing(open_reader(settings, "read_uncommitted")) as reader:
            owner = read_owner(settings, reader, Deadline(ASK_SECONDS))
        if owner is not None:
            require_own(settings, owner)
    except Failure as error:
        yield failed(GROUP, OWNER, error, commands.worker("--output-prefix", "PREFIX"))
    except (KafkaException, TimedOut) as error:
        yield Finding(GROUP, OWNER, SKIPPED, f"it cannot be read: {_text(error)}")
    else:
        whose = "no group has used these topics yet" if owner is None else f"they belong to {settings.group}"
        yield Finding(GROUP, OWNER, OK, whose)


def positions(state: ClusterState, settings: WorkerSettings) -> dict[int, Position]:
    """Return where the group stands in each partition of the input.

    Raises
    ------
    KafkaException, TimedOut
        The broker refuses, or does not answer.
    """
    found, topic = {}, settings.input
    recorded = state.partitions.get(settings.topics.snapshots, 0)
    topic_id = _input_id(settings) if recorded else None
    with contextlib.closing(open_reader(settings)) as reader:
        for partition in range(state.partitions[topic]):
            deadline = Deadline(ASK_SECONDS)
            low, high = watermarks(reader, topic, partition, deadline)
            committed, metadata = committed_offset(reader, topic, partition, deadline)
            pointer = Pointer.parse(metadata)
            needed = None if pointer is None else pointer.state_offset
            lost = "", False
            if settings.guarantee == EXACTLY_ONCE:
                snapshots = settings.topics.snapshots, partition
                there = reader if partition < recorded else None
                lost = _why_lost(there, snapshots, (committed, metadata), topic_id, deadline)
            found[partition] = Position(low, high, committed, needed, *lost)
    return found


def _input_id(settings: WorkerSettings) -> str | None:
    """Return the id of the input topic; None: it is not known."""
    try:
        return TopicIdReader(settings, settings.input).ask(Deadline(ASK_SECONDS)).input
    except (KafkaException, TaskError):
        return None


def _why_lost(
    reader: Consumer | None,
    snapshots: tuple[str, int],
    group: tuple[int | None, str | None],
    topic_id: str | None,
    deadline: Deadline,
) -> tuple[str, bool]:
    """Return `lost` and `recreated` of a `Position`.

    `snapshots` are the topic of snapshots and the partition, which `reader` reads; None: it does not exist. `group` are
    the offset and the metadata that the group has, and `topic_id` is the id of the input.
    """
    committed, metadata = group
    try:
        records = [] if reader is None else commit_records(reader, *snapshots, deadline)
    except Malformed as error:
        return str(error), False
    except (KafkaException, TimedOut):  # without the right to read it, which is reported beside this
        return "", False
    record = next(iter(records), None)
    if record is not None:
        if (recreated := record.input_read.recreated(topic_id)) is not None:
            return recreated, True
        if committed is None:
            return f"the group's offset is gone (deleted, or expired); it was {record.offset}", False
    if committed is None or is_at_least_once(metadata) or (record is not None and record.offset == committed):
        return "", False
    if Pointer.parse(metadata) is None:
        return f"offset {committed} was set by hand, or by another program", False
    if record is None:
        return f"offset {committed} was committed by a worker, but {snapshots[0]} has no record of it", False
    return "", False


def check_positions(found: dict[int, Position], settings: WorkerSettings, commands: Commands) -> Finding:
    """Judge whether the log still holds, or already holds, what the group would read next."""
    check, topic = "position", settings.input
    for partition, at in found.items():
        given = settings.on_offset_out_of_range == EARLIEST if at.recreated else settings.on_restore_failure != FAIL
        if at.lost and not given:
            way = ("--on-offset-out-of-range", EARLIEST) if at.recreated else ("--on-restore-failure", REPLAY)
            sentence = f"{topic}/{partition} cannot be restored: {at.lost}"
            return Finding(EVENTS, check, ERROR, sentence, commands.worker(*way), 4)
    behind = [p for p, at in found.items() if at.committed is not None and at.committed < at.low]
    ahead = [p for p, at in found.items() if at.committed is not None and at.committed > at.high]
    unread = [p for p, at in found.items() if at.needed is not None and at.needed < at.low]
    if behind or ahead or unread:
        where = "deleted by retention" if behind else "beyond the end of the log"
        names = ", ".join(f"{topic}/{p}" for p in behind or ahead or unread)
        policy = next(one for one in OFFSET_POLICIES if one != FAIL)
        sentence = f"the group's offsets in {names} are {where}"
        if not (behind or ahead):
            sentence = f"events of {names} after the newest snapshot, which a restore learns again, were deleted"
        if settings.on_offset_out_of_range != FAIL:
            return Finding(
                EVENTS, check, OK, f"{sentence}; --on-offset-out-of-range {settings.on_offset_out_of_range} goes on"
            )
        return Finding(EVENTS, check, ERROR, sentence, commands.worker("--on-offset-out-of-range", policy), 4)
    if all(at.committed is None for at in found.values()):
        return Finding(EVENTS, check, OK, f"a new group: it begins at --start {settings.start}")
    lag = sum(at.high - (at.low if at.committed is None else at.committed) for at in found.values())
    return Finding(
        EVENTS, check, OK, f"the group continues where it stopped, with {plural(lag, 'offset')} left to read"
    )


def _text(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return first.str() if isinstance(first, KafkaError) else str(first)
