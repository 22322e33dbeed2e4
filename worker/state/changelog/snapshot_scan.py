"""Search of the snapshot topic for a partition's older snapshots, in case its newest one is damaged.

A learner's state is a function of the rows from the start of its history to its own offset. So an older snapshot that
relearns the rows up to the committed offset ends up there with the same bits as the newest one. That holds within one
history only: when a learner starts empty, or continues after rows that it has not seen, `mark_new_history` writes a
mark into the topic, and everything before the mark is ignored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, Message, Producer

from driftway.worker.kafka.client_config import base_properties, quiet, without_membership
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut, with_context
from driftway.worker.kafka.log_reader.reader import MessageReader, ignore_out_of_range, watermarks
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.emission import Emission
from driftway.worker.state.changelog.record_keys import (
    CLAIM_PREFIX,
    chunk_key,
    commit_record_key,
    is_emission_key,
    is_mark_key,
    is_order_key,
    is_plan_key,
    mark_key,
    new_topic_key,
)
from driftway.worker.state.changelog.snapshot_assembler import SnapshotAssembler
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.input_read import InputRead
from driftway.worker.state.plans.model_plan import PlanAdoption
from driftway.worker.state.snapshot import DamagedSnapshot
from driftway.worker.state.stored_fields import Malformed, StoredFields, parse_stored, whole_number
from driftway.worker.wire.codec import write_json

MAX_CANDIDATES = 16
"""Pointers to older snapshots kept during a search: memory stays small however long the topic is."""
TAIL_RECORDS = 16
"""Number of records at the end of the snapshot topic that are searched first for the last commit record, then four
times as many. After it there are only records of aborted transactions, and their markers."""
GETTING_ON_SECONDS = 10.0
"""After each record, a reader has at least this long until its deadline, so that a large state does not time out."""
UNKNOWN = -1
"""`SnapshotScan.history_start` after a mark without an offset: of a learner that kept what it had learned before, of an
imported state (`driftway.worker.admin.state_admin`), or unreadable. The rows of such a history do not determine its
state."""
KEPT = b"kept"
"""Value of a mark where a learner keeps what it had learned before."""
IMPORTED = b"imported"
"""Value of a mark where a learner continues from a state imported from a file; see `imported_mark`."""


def read_mark(value: bytes | None) -> int | None:
    """Parse a mark's value: the input offset at which learners started empty; None if it has none, see `UNKNOWN`."""
    try:
        return whole_number(parse_stored(value, "it"), "it")
    except Malformed:
        return None


def imported_mark(output_ends: Mapping[str, int] | None) -> bytes:
    """Return the value of a mark of an imported state, with the ends of the outputs if the committed offset moves."""
    return IMPORTED if output_ends is None else IMPORTED + b" " + write_json(dict(output_ends))


def read_output_ends(value: bytes | None) -> dict[str, int]:
    """Parse a mark's value: topic -> end of the outputs that an import has given up; empty if it names none."""
    word, _, text = (value or b"").partition(b" ")
    try:
        ends = StoredFields.parse(text, "it").plain if word == IMPORTED else {}
        return {topic: whole_number(end, topic) for topic, end in ends.items()}
    except Malformed:
        return {}


class SnapshotScan:
    """Scans a partition's records of the snapshot topic for complete snapshots that could be used.

    Parameters
    ----------
    partition : int
        The partition.
    least, most : int
        Lowest and highest input offset of a usable state, both included.
    committed : int or None
        Offset of the snapshot that the last commit names: only earlier ones are found, and nothing was committed in a
        history that a mark behind it begins, so the scan ends there. None: every snapshot and mark counts.
    """

    def __init__(self, partition: int, least: int, most: int, committed: int | None = None) -> None:
        self.partition, self.least, self.most = partition, least, most
        self._committed, self._over = committed, False
        self.history_start: int | None = None
        """Input offset at which the current history began, from the last mark; None without one."""
        self.newest: tuple[Pointer, InputRead] | None = None
        """The last complete snapshot of the current history, whether usable or not, and what its state had read."""
        self.adoptions: dict[int, PlanAdoption] = {}
        """Number of each plan adopted in the current history -> its adoption, as far as the records can be read."""
        self.emissions: dict[int, str] = {}
        """Input offset -> whose predictions are written from there on, in the current history."""
        self._found: list[Pointer] = []
        self._assembler = SnapshotAssembler[int](partition)

    @property
    def candidates(self) -> list[Pointer]:
        """The complete snapshots found, the one with the fewest rows to relearn first."""
        return sorted(self._found, key=lambda one: (one.state_offset, one.first), reverse=True)

    def take(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Process the next record."""
        if is_mark_key(key, self.partition) and self._committed is not None and offset > self._committed:
            self._over = True
        if self._over:
            return
        if is_mark_key(key, self.partition):
            start = read_mark(value)
            self.history_start = UNKNOWN if start is None else start
            self._assembler.discard()
            self._found.clear()
            self.adoptions.clear()
            self.emissions.clear()
            self.newest = None
            return
        if is_emission_key(key, self.partition):
            with contextlib.suppress(Malformed):
                change = Emission.parse(value)
                self.emissions[change.offset] = change.emit
            return
        if is_plan_key(key, self.partition):
            with contextlib.suppress(Malformed):
                adoption = PlanAdoption.parse(value)
                self.adoptions[adoption.plan.number] = adoption
            return
        group = self._assembler.take(offset, key, value or b"")
        if group is None or group.header is None:
            return
        pointer = Pointer(group.chunks[0], len(group.chunks), group.header.state_offset)
        self.newest = pointer, group.header.read
        earlier = self._committed is None or pointer.first < self._committed
        if earlier and self.least <= pointer.state_offset <= self.most:
            self._found = [*self.candidates[: MAX_CANDIDATES - 1], pointer]


def scan_snapshots(
    reader: Consumer, topic: str, first: int, end: int, scan: SnapshotScan, deadline: Deadline
) -> SnapshotScan:
    """Feed `scan` the committed records of its partition from `first` to before `end`; return it.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    topic_partition = topic, scan.partition
    reading = MessageReader(reader, {topic_partition: first}, {topic_partition: end}, ignore_out_of_range)
    while reading.unread and (message := _next(reading, f"{topic}/{scan.partition}", deadline)) is not None:
        scan.take(message.offset() or 0, message.key(), message.value())
    return scan


def commit_records(
    reader: Consumer, topic: str, partition: int, deadline: Deadline, least: int = 1
) -> list[CommitRecord]:
    """The last commit records that can be read, newest first: at least `least` of them, or all that there are.

    Raises
    ------
    Malformed
        The newest one cannot be read.
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    low, high = watermarks(reader, topic, partition, deadline)
    back, found, unreadable = TAIL_RECORDS, list[CommitRecord](), ""
    while low < high:
        found.clear()
        reading = MessageReader(reader, {(topic, partition): max(low, high - back)}, on_error=ignore_out_of_range)
        while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
            if message.key() == commit_record_key(partition):
                try:
                    found.append(CommitRecord.parse(message.value()))
                    unreadable = ""
                except Malformed as error:
                    unreadable = f"the commit record at {topic}/{partition}@{message.offset()} cannot be read: {error}"
        if unreadable:
            raise Malformed(unreadable)
        if len(found) >= least or back >= high - low:
            break
        back *= 4
    return found[::-1]


def merge_orders(reader: Consumer, topic: str, partition: int, deadline: Deadline) -> list[MergeOrder]:
    """Merge orders of labels between snapshots, and since the last one, as far as the topic has them.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    low, _ = watermarks(reader, topic, partition, deadline)
    found, newest = list[MergeOrder | None](), None
    reading = MessageReader(reader, {(topic, partition): low}, on_error=ignore_out_of_range)
    while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
        if message.key() == new_topic_key(partition):
            found.clear()  # those were of another topic's offsets
        elif is_order_key(message.key(), partition):
            found.append(MergeOrder.read(message.value()))
        elif message.key() == commit_record_key(partition) and (last := CommitRecord.read(message.value())) is not None:
            newest = last.order
    return [order for order in (*found, newest) if order is not None]


def read_partition(reader: Consumer, topic: str, partition: int, deadline: Deadline) -> list[tuple[int, bytes | None]]:
    """Offsets and values of all committed records of a partition.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    low, _ = watermarks(reader, topic, partition, deadline)
    found = list[tuple[int, bytes | None]]()
    reading = MessageReader(reader, {(topic, partition): low}, on_error=ignore_out_of_range)
    while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
        found.append((message.offset() or 0, message.value()))
    return found


def read_chunks(reader: Consumer, topic: str, partition: int, pointer: Pointer, deadline: Deadline) -> list[bytes]:
    """The chunks that `pointer` names.

    Raises
    ------
    DamagedSnapshot
        One of them is missing.
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    where = f"{topic}/{partition}@{pointer.first}"
    chunks: list[bytes] = []
    reading = MessageReader(reader, {(topic, partition): pointer.first}, on_error=ignore_out_of_range)
    while len(chunks) < pointer.chunks:
        message = _next(reading, where, deadline)
        if message is None or (not chunks and message.offset() != pointer.first):
            raise DamagedSnapshot(f"the snapshot at {where} does not exist")
        if message.key() != chunk_key(partition, len(chunks)):
            raise DamagedSnapshot(f"chunk {len(chunks)} of the snapshot at {where} is missing")
        chunks.append(message.value() or b"")
    return chunks


def _next(reading: MessageReader, where: str, deadline: Deadline) -> Message | None:
    """The next record that is not a claim; None at the end. A late claim may lie even between two chunks."""
    while (message := reading.next(deadline, f"the records of {where} were")) is not None:
        deadline.extend(GETTING_ON_SECONDS)
        if not (message.key() or b"").startswith(CLAIM_PREFIX):
            return message
    return None


def mark_new_history(settings: WorkerSettings, partition: int, history_start: int | None, deadline: Deadline) -> None:
    """Mark that a new history of a partition begins, with empty learners at input offset `history_start`.

    None: they keep what they had learned before, so that a replay of the log does not reproduce their state.

    The mark is written outside any transaction: if nothing is committed in the new history, the committed pointer lies
    before the mark, and the search for older snapshots ends there.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not take it.
    """
    append(
        settings,
        partition,
        mark_key(partition),
        KEPT if history_start is None else str(history_start).encode(),
        deadline,
    )


def append(
    settings: WorkerSettings, partition: int, key: bytes, value: bytes, deadline: Deadline, once: bool = True
) -> None:
    """Write a record to the snapshot topic, outside any transaction.

    It may take all the time left, whatever timeout the user set for outputs: the topic may just have been created.
    Without `once`, a retry may write it twice; an idempotent producer is ready only half a second after it is created.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not take it.
    """
    properties = without_membership(base_properties(settings.bootstrap, settings.passthrough))
    milliseconds = round(1000 * max(deadline.remaining(), 1.0))
    own = {"enable.idempotence": once, "acks": "all", "linger.ms": 0, "message.timeout.ms": milliseconds}
    producer = Producer(quiet({**properties, **own}))
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    producer.produce(settings.topics.snapshots, value, key=key, partition=partition, on_delivery=delivered)
    if producer.flush(deadline.remaining()) > 0:
        raise TimedOut(f"the broker did not confirm a record for {settings.topics.snapshots} in time")
    if failed:
        raise with_context(f"{settings.topics.snapshots} cannot be written", failed[0])
