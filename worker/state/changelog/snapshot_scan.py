"""What the snapshot topic still holds of a partition's past, for the day when its newest snapshot is damaged.

A learner's state is a function of the rows from its history's first one to its own offset. So an older snapshot that
relearns the rows up to the committed offset stands there with the same bits as the newest one would have. That holds
within one history only: when a learner starts empty, or goes on behind rows that it has not seen, `mark_new_history`
writes so into the topic, and what lies before the mark is not looked at any more.
"""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, Message, Producer

from driftway.worker.kafka.client_config import base_properties, quiet, without_membership
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut, with_context
from driftway.worker.kafka.log_reader.reader import MessageReader, ignore_out_of_range, watermarks
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_assembler import SnapshotAssembler
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.snapshot import (
    CLAIM_PREFIX,
    DamagedSnapshot,
    Pointer,
    chunk_key,
    commit_record_key,
    is_mark_key,
    is_order_key,
    mark_key,
)

MAX_CANDIDATES = 16
"""Places of older snapshots that are kept while looking: memory stays small however long the topic is."""
TAIL_RECORDS = 16
"""Records from the end of the snapshot topic among which the last position is looked for at first, then four times as
many. Behind it lie only what transactions wrote that came to nothing, and their markers."""
GETTING_ON_SECONDS = 10.0
"""Of a reader's budget that are always left while records come: a large state takes as long as it takes."""
UNKNOWN = -1
"""`SnapshotScan.history_start` behind a mark without an offset: of a learner that kept what it had learned before, of
an imported state (`driftway.worker.admin.state_admin`), or unreadable. The rows of such a history do not give its
state."""
KEPT = b"kept"
"""Value of a mark where a learner goes on with what it had learned before."""
IMPORTED = b"imported"
"""Value of a mark where a learner goes on in a state out of a file."""


def read_mark(value: bytes | None) -> int | None:
    """The input offset at which learners began empty, by a mark's value; None: it names no offset, see `UNKNOWN`."""
    return int(value) if value and value.isdigit() else None


class SnapshotScan:
    """Goes through a partition's records of the snapshot topic and notes which complete snapshots could be used.

    Parameters
    ----------
    partition : int
        Whose records these are.
    least, most : int
        The input offsets between which a state must stand, both included.
    """

    def __init__(self, partition: int, least: int, most: int) -> None:
        self.partition, self.least, self.most = partition, least, most
        self.history_start: int | None = None
        """Input offset at which the present history began, by the last mark; None without one."""
        self._found: list[Pointer] = []
        self._assembler = SnapshotAssembler[int](partition)

    @property
    def candidates(self) -> list[Pointer]:
        """Where the complete snapshots are, the one with the least to relearn first."""
        return sorted(self._found, key=lambda place: (place.state_offset, place.first), reverse=True)

    def take(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Take the next record."""
        if is_mark_key(key, self.partition):
            began = read_mark(value)
            self.history_start = UNKNOWN if began is None else began
            self._assembler.discard()
            self._found.clear()
            return
        pile = self._assembler.take(offset, key, value or b"")
        if pile is not None and pile.header is not None and self.least <= pile.header.state_offset <= self.most:
            place = Pointer(pile.chunks[0], len(pile.chunks), pile.header.state_offset)
            self._found = [*self.candidates[: MAX_CANDIDATES - 1], place]


def scan_snapshots(
    reader: Consumer, topic: str, first: int, end: int, scan: SnapshotScan, deadline: Deadline
) -> SnapshotScan:
    """Give `scan` the committed records of its partition from `first` to before `end`; return it.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    place = topic, scan.partition
    reading = MessageReader(reader, {place: first}, {place: end}, ignore_out_of_range)
    while reading.unread and (message := _next(reading, f"{topic}/{scan.partition}", deadline)) is not None:
        scan.take(message.offset() or 0, message.key(), message.value())
    return scan


def commit_records(
    reader: Consumer, topic: str, partition: int, deadline: Deadline, least: int = 1
) -> list[CommitRecord]:
    """What the last commits say of themselves, the newest first: `least` of them, or all that there are.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    low, high = watermarks(reader, topic, partition, deadline)
    back, found = TAIL_RECORDS, list[CommitRecord]()
    while low < high:
        found.clear()
        reading = MessageReader(reader, {(topic, partition): max(low, high - back)}, on_error=ignore_out_of_range)
        while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
            if message.key() == commit_record_key(partition):
                told = CommitRecord.read(message.value())
                found += [told] if told else []
        if len(found) >= least or back >= high - low:
            break
        back *= 4
    return found[::-1]


def merge_orders(reader: Consumer, topic: str, partition: int, deadline: Deadline) -> list[MergeOrder]:
    """In which order labels were taken between snapshots, and since the last one, as far as the topic has it.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    low, _ = watermarks(reader, topic, partition, deadline)
    found, newest = list[MergeOrder | None](), None
    reading = MessageReader(reader, {(topic, partition): low}, on_error=ignore_out_of_range)
    while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
        if is_order_key(message.key(), partition):
            found.append(MergeOrder.read(message.value()))
        elif message.key() == commit_record_key(partition) and (told := CommitRecord.read(message.value())) is not None:
            newest = told.order
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
        One of them is not there.
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    where = f"{topic}/{partition}@{pointer.first}"
    chunks: list[bytes] = []
    reading = MessageReader(reader, {(topic, partition): pointer.first}, on_error=ignore_out_of_range)
    while len(chunks) < pointer.chunks:
        message = _next(reading, where, deadline)
        if message is None or (not chunks and message.offset() != pointer.first):
            raise DamagedSnapshot(f"the snapshot at {where} is not there")
        if message.key() != chunk_key(partition, len(chunks)):
            raise DamagedSnapshot(f"chunk {len(chunks)} of the snapshot at {where} is missing")
        chunks.append(message.value() or b"")
    return chunks


def _next(reading: MessageReader, where: str, deadline: Deadline) -> Message | None:
    """The next record; None at the end. Claims of somebody who came too late may stand even between two chunks."""
    while (message := reading.next(deadline, f"the records of {where} were")) is not None:
        deadline.extend(GETTING_ON_SECONDS)
        if not (message.key() or b"").startswith(CLAIM_PREFIX):
            return message
    return None


def mark_new_history(settings: WorkerSettings, partition: int, history_start: int | None, deadline: Deadline) -> None:
    """Write down that a new history of a partition begins, with learners that know nothing at input offset `began`.

    None: with what they had learned before, so that the log does not give their state again.

    Outside any transaction: should nothing be committed in the new history, then the committed pointer lies before
    the mark, and the search for older snapshots ends there.

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


def append(settings: WorkerSettings, partition: int, key: bytes, value: bytes, deadline: Deadline) -> None:
    """Write a record into the snapshot topic, outside any transaction.

    It has the time that is left, however little the user gives outputs: the topic may just have been made.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not take it.
    """
    properties = without_membership(base_properties(settings.bootstrap, settings.passthrough))
    milliseconds = round(1000 * max(deadline.remaining(), 1.0))
    own = {"enable.idempotence": True, "linger.ms": 0, "message.timeout.ms": milliseconds}
    producer = Producer(quiet({**properties, **own}))
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    producer.produce(settings.topics.snapshots, value, key=key, partition=partition, on_delivery=delivered)
    if producer.flush(deadline.remaining()) > 0:
        raise TimedOut(f"the broker did not take a record for {settings.topics.snapshots} in time")
    if failed:
        raise with_context(f"{settings.topics.snapshots} cannot be written", failed[0])
