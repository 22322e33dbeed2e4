"""From a committed offset back to a model: who owned the partition last decides nothing, the log decides all.

1. Acquire: fence the last owner, so that nothing can be committed behind our back.
2. Read the committed offset C and, in its metadata, the pointer to a snapshot at S <= C.
3. Seek to the snapshot, load it.
4. The loop then reads S..C once more, learning without emitting; from C on it emits.

A restore that cannot be had is refused (exit 4), naming the option that chooses otherwise; it never turns
into a cold start by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

from worker import snapshot
from worker.checkpoint import Checkpoint, Unfinished, insist
from worker.client import base_properties, quiet, without_membership
from worker.deadline import Deadline
from worker.errors import CannotRestore
from worker.model import Model
from worker.settings import EARLIEST, FRESH, REFUSE, REPLAY, WorkerSettings
from worker.snapshot import BadSnapshot, Pointer


@dataclass(frozen=True)
class Restored:
    """Where a task stands after its restore.

    Parameters
    ----------
    model : Model
        State at `position`.
    position : int
        Next input offset to read (S, or C when there is nothing to replay).
    committed : int
        C: rows before it have been emitted already and are learned in silence.
    pointer : Pointer or None
        The newest committed snapshot.
    """

    model: Model
    position: int
    committed: int
    pointer: Pointer | None


def restore(
    settings: WorkerSettings,
    partition: int,
    checkpoint: Checkpoint,
    make_model: Callable[[], Model],
    deadline: Deadline,
) -> Restored:
    """Acquire the partition and rebuild its model; blocks, so it runs beside the loop.

    Raises
    ------
    CannotRestore
        A policy refuses.
    KafkaException, Unfinished
        To be judged by `worker.verdicts`.
    """
    checkpoint.acquire(deadline)
    reader = open_reader(settings)
    try:
        # As in `acquire`: metadata first, or the coordinator is looked for too late.
        insist(lambda: reader.list_topics(settings.input, deadline.remaining()), deadline)
        return _rebuild(settings, partition, reader, make_model, deadline)
    finally:
        reader.close()


def open_reader(settings: WorkerSettings) -> Consumer:
    """A client that reads the group's offsets and the snapshot topic, without being a member.

    The member itself cannot be asked: the client lets one call at a time in, and the loop is always polling.
    """
    own = {
        "group.id": settings.group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 10,
    }
    theirs = without_membership(base_properties(settings.bootstrap, settings.passthrough))
    return Consumer(quiet({**theirs, **own}))


def _rebuild(
    settings: WorkerSettings,
    partition: int,
    reader: Consumer,
    make_model: Callable[[], Model],
    deadline: Deadline,
) -> Restored:
    """Steps 2 and 3 of the module's docstring, with the policies."""
    committed, metadata = committed_offset(reader, settings.input, partition, deadline)
    low, high = watermarks(reader, settings.input, partition, deadline)
    if committed is None:
        start = low if settings.start == EARLIEST else high
        return Restored(make_model(), start, start, None)
    where = f"{settings.input}/{partition}"
    pointer = Pointer.parse(metadata)
    model = make_model()
    try:
        if pointer is None:
            raise BadSnapshot(f"offset {committed} was committed without a snapshot (a reset, or another program)")
        blob = b"".join(read_chunks(reader, settings.topics.snapshots, partition, pointer, deadline))
        _, position = snapshot.read(blob, model)
        if position != pointer.state_offset or position > committed:
            raise BadSnapshot(
                f"the snapshot stands at offset {position}, its pointer at {pointer.state_offset}, "
                f"the group at {committed}"
            )
    except BadSnapshot as reason:
        return _without_snapshot(settings, where, make_model(), committed, low, str(reason))
    if position < low or committed > high:
        return _offset_lost(settings, where, Restored(model, position, committed, pointer), low, high)
    return Restored(model, position, committed, pointer)


def committed_offset(
    consumer: Consumer, topic: str, partition: int, deadline: Deadline
) -> tuple[int | None, str | None]:
    """The group's committed offset of a partition and its metadata text; (None, None) if there is none.

    Raises
    ------
    KafkaException
        The coordinator did not answer.
    """
    answer: list[TopicPartition] = []

    def ask() -> None:
        answer[:] = consumer.committed([TopicPartition(topic, partition)], timeout=deadline.remaining())
        if answer[0].error is not None:
            raise KafkaException(answer[0].error)

    insist(ask, deadline)
    place = answer[0]
    return (None, None) if place.offset == OFFSET_INVALID else (place.offset, place.metadata)


def watermarks(consumer: Consumer, topic: str, partition: int, deadline: Deadline) -> tuple[int, int]:
    """First offset still in the log and the one after its last.

    Raises
    ------
    Unfinished
        The broker did not answer in time.
    """
    found = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=deadline.remaining())
    if found is None:
        raise Unfinished(f"no watermarks of {topic}/{partition} in time")
    low, high = found
    return int(low), int(high)


def read_chunks(reader: Consumer, topic: str, partition: int, pointer: Pointer, deadline: Deadline) -> list[bytes]:
    """The chunks that `pointer` names.

    Raises
    ------
    BadSnapshot
        One of them is not there.
    Unfinished
        The broker did not deliver in time.
    """
    where = f"{topic}/{partition}@{pointer.first}"
    chunks: list[bytes] = []
    reader.assign([TopicPartition(topic, partition, pointer.first)])
    while len(chunks) < pointer.chunks:
        message = reader.poll(min(1.0, deadline.remaining()))
        if message is None:
            if deadline.passed:
                raise Unfinished(f"the snapshot at {where} was not delivered in time")
            continue
        error = message.error()
        if error is not None and error.code() in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):
            raise BadSnapshot(f"the snapshot at {where} is not there")
        if error is not None:
            raise KafkaException(error)
        if message.key() != snapshot.chunk_key(partition, len(chunks)):
            raise BadSnapshot(f"chunk {len(chunks)} of the snapshot at {where} is missing")
        chunks.append(message.value() or b"")
    return chunks


def _without_snapshot(
    settings: WorkerSettings, where: str, model: Model, committed: int, low: int, reason: str
) -> Restored:
    """Apply --if-unrestorable."""
    if settings.if_unrestorable == REPLAY:
        return Restored(model, min(low, committed), committed, None)
    if settings.if_unrestorable == FRESH:
        return Restored(model, committed, committed, None)
    raise CannotRestore(
        f"cannot restore {where}: {reason}; --if-unrestorable {REPLAY} relearns the log from offset {low}, "
        f"{FRESH} starts with an empty learner at {committed}"
    )


def _offset_lost(settings: WorkerSettings, where: str, found: Restored, low: int, high: int) -> Restored:
    """Apply --if-offset-lost."""
    if settings.if_offset_lost == REFUSE:
        raise CannotRestore(
            f"cannot restore {where}: offsets {found.position} to {found.committed} are needed, the log holds "
            f"{low} to {high}; --if-offset-lost earliest goes on at {low}, latest at {high}"
        )
    start = low if settings.if_offset_lost == EARLIEST else high
    committed = start if not low <= found.committed <= high else max(start, found.committed)
    return Restored(found.model, start, committed, found.pointer)
