"""The partitions and topics of a group, looked up before any state is read."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

from confluent_kafka import Consumer

from driftway.learners.spec import Spec
from driftway.worker.admin.input_records import NOT_COUNTED, CountedState, counted, last_record
from driftway.worker.errors import Failure, UsageFailure, no_topic
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ANY, ASK_SECONDS, offset_of_group, open_reader, watermarks
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.kafka.registry.event_format import JSON_FORMAT, EventFormat
from driftway.worker.kafka.topics import present_topics
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.changelog.commit_record import is_at_least_once
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import read_chunks
from driftway.worker.state.model_file import ModelFile, unpack
from driftway.worker.state.plans.model_plan import FIRST
from driftway.worker.state.snapshot import DamagedSnapshot, read_snapshot_header
from driftway.worker.warm_start import WarmStart

NOT_ASKED = ModelSettings((Spec("no_change"),))
"""Placeholder for the model in settings, until a snapshot says which model it is."""


@dataclass(frozen=True)
class GroupPartition:
    """A partition of a group's input, as it was at the time of the lookup.

    Parameters
    ----------
    settings : WorkerSettings
        As `settings_for` makes them.
    partition : int
        Partition of the input.
    low, high : int
        First offset in the input's log, and the offset after the last.
    committed : int or None
        The group's committed offset; None if there is none.
    pointer : Pointer or None
        The snapshot that the committed offset points to; None if there is none.
    end : int
        End offset of the partition in the snapshot topic; 0 if there is no such topic.
    labels : str
        The group's label topic; empty if labels come with the events or among them.
    form : EventFormat
        Format of the events.
    last : CountedState
        What the last commit had read of the input.
    set_aside_from : int
        See `driftway.worker.wire.decoder.Decoder.set_aside_from`.
    plan : int
        Number of the plan that it has adopted.
    """

    settings: WorkerSettings
    partition: int
    low: int
    high: int
    committed: int | None
    pointer: Pointer | None
    end: int
    labels: str = ""
    form: EventFormat = JSON_FORMAT
    last: CountedState = NOT_COUNTED
    set_aside_from: int = 0
    plan: int = FIRST

    def __str__(self) -> str:
        return f"{self.settings.input}/{self.partition}"


def settings_for(
    bootstrap: str,
    input_: str,
    group: str,
    passthrough: dict[str, object],
    warm: WarmStart | None = None,
    outputs: str = "",
) -> WorkerSettings:
    """Settings for reading a group's topics; the model in them only holds the warm start of the group's learners."""
    model = replace(NOT_ASKED, warm=warm)
    return WorkerSettings(bootstrap, input_, group, model, passthrough=dict(passthrough), outputs=outputs)


def find_partitions(
    settings: WorkerSettings, partition: int | None = None, new: bool = False, form: EventFormat = JSON_FORMAT
) -> list[GroupPartition]:
    """Look up one partition of a group's input, or all of them.

    Parameters
    ----------
    settings, form
        As `GroupPartition`.
    partition : int or None
        Partition to look up; None: all.
    new : bool
        Whether the group may have no snapshot topic yet.

    Raises
    ------
    UsageFailure
        There is no such topic or partition.
    CannotRestore
        The last commit record cannot be read.
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    counts = present_topics(settings.bootstrap, settings.passthrough)
    if settings.input not in counts:
        raise UsageFailure(no_topic(settings.input))
    if partition is not None and partition >= counts[settings.input]:
        raise UsageFailure(
            f"there is no partition {partition} of {settings.input}: it has 0 to {counts[settings.input] - 1}"
        )
    snapshots = settings.topics.snapshots
    if snapshots not in counts and not new:
        why = f"no worker of group {settings.group} has run on {settings.input} yet"
        raise UsageFailure(no_topic(snapshots, why))
    partitions = range(counts[settings.input]) if partition is None else [partition]
    deadline = Deadline(ASK_SECONDS)
    found = []
    with (
        translated_errors(settings),
        closing(reader_of(settings)) as reader,
        # A read_committed client would wait for the transaction of a worker that was killed, up to its timeout.
        closing(open_reader(settings, ANY)) as asking,
    ):
        for p in partitions:
            low, high = watermarks(reader, settings.input, p, deadline)
            committed, metadata = offset_of_group(asking, settings.input, p, deadline)
            end = watermarks(reader, snapshots, p, deadline)[1] if p < counts.get(snapshots, 0) else 0
            last = last_record(reader, settings, p) if end else None
            labels = "" if last is None else last.labels or ""
            aside, pointer = 0 if last is None else last.set_aside_from, Pointer.parse(metadata)
            read, plan = counted(last, metadata), FIRST if last is None else last.plan
            if pointer is not None and is_at_least_once(metadata):
                plan = _plan_of_snapshot(reader, settings, p, pointer, deadline)
            place = settings, p, low, high, committed
            found.append(GroupPartition(*place, pointer, end, labels, form, read, aside, plan))
    return found


def _plan_of_snapshot(
    reader: Consumer, settings: WorkerSettings, partition: int, pointer: Pointer, deadline: Deadline
) -> int:
    """The number of a snapshot's plan; of the first if it cannot be read. Each plan begins with a snapshot.

    At-least-once has no commit record, which would say it.
    """
    try:
        (chunk,) = read_chunks(reader, settings.topics.snapshots, partition, replace(pointer, chunks=1), deadline)
    except DamagedSnapshot:
        return FIRST
    header = read_snapshot_header(chunk)
    return FIRST if header is None else header.plan_number


def read_snapshot(source: GroupPartition, pointer: Pointer) -> ModelFile:
    """Read a snapshot from its topic.

    Raises
    ------
    Failure
        The snapshot is damaged, missing or of a newer format, or cannot be read.
    Unreachable
        The broker does not answer in time.
    """
    topic = source.settings.topics.snapshots
    with translated_errors(source.settings), closing(reader_of(source.settings)) as reader:
        try:
            chunks = read_chunks(reader, topic, source.partition, pointer, Deadline(ASK_SECONDS))
        except DamagedSnapshot as error:
            raise Failure(str(error)) from None
    return unpack(b"".join(chunks), f"the snapshot at {topic}/{source.partition}@{pointer.first}")
