"""What the snapshot topic still holds of a partition's past, for the day when its newest snapshot is damaged.

A learner's state is a function of the rows from its history's first one to its own offset. So an older snapshot that
relearns the rows up to the committed offset stands there with the same bits as the newest one would have. That holds
within one history only: when a learner starts empty, or goes on behind rows that it has not seen, `mark` writes so
into the topic, and what lies before the mark is not looked at any more.
"""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, Message, Producer

from driftway.worker.kafka.client_config import base_properties, quiet, without_membership
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import Unfinished, about
from driftway.worker.kafka.log_reader.reader import Reader, to_the_end, watermarks
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import Position
from driftway.worker.state.changelog.snapshot_assembler import Assembler
from driftway.worker.state.delayed_labels.merge_order import Order
from driftway.worker.state.snapshot import (
    CLAIM,
    DamagedSnapshot,
    Pointer,
    chunk_key,
    is_order_key,
    mark_key,
    position_key,
)

MOST_CANDIDATES = 16
"""Places of older snapshots that are kept while looking: memory stays small however long the topic is."""
NEAR = 16
"""Records from the end of the snapshot topic among which the last position is looked for at first, then four times as
many. Behind it lie only what transactions wrote that came to nothing, and their markers."""
GETTING_ON_SECONDS = 10.0
"""Of a reader's budget that are always left while records come: a large state takes as long as it takes."""
UNKNOWN = -1
"""`Search.began` behind a mark that names no offset: of a learner that kept what it had learned before, of an imported
state (`driftway.worker.admin.state_admin`), or unreadable. The rows of such a history do not give its state."""
KEPT = b"kept"
"""Value of a mark where a learner goes on with what it had learned before."""
IMPORTED = b"imported"
"""Value of a mark where a learner goes on in a state out of a file."""


def read_mark(value: bytes | None) -> int | None:
    """The input offset at which learners began empty, by a mark's value; None: it names no offset, see `UNKNOWN`."""
    return int(value) if value and value.isdigit() else None


class Search:
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
        self.began: int | None = None
        """Input offset at which the present history began, by the last mark; None without one."""
        self._found: list[Pointer] = []
        self._assembler = Assembler[int](partition)

    @property
    def candidates(self) -> list[Pointer]:
        """Where the complete snapshots are, the one with the least to relearn first."""
        return sorted(self._found, key=lambda place: (place.state_offset, place.first), reverse=True)

    def take(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Take the next record."""
        if key == mark_key(self.partition):
            began = read_mark(value)
            self.began = UNKNOWN if began is None else began
            self._assembler.give_up()
            self._found.clear()
            return
        pile = self._assembler.take(offset, key, value or b"")
        if pile is not None and pile.whole is not None and self.least <= pile.whole.state_offset <= self.most:
            place = Pointer(pile.chunks[0], len(pile.chunks), pile.whole.state_offset)
            self._found = [*self.candidates[: MOST_CANDIDATES - 1], place]


def look_through(reader: Consumer, topic: str, first: int, end: int, search: Search, deadline: Deadline) -> Search:
    """Give `search` the committed records of its partition from `first` to before `end`; return it.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not deliver in time.
    """
    place = topic, search.partition
    reading = Reader(reader, {place: first}, {place: end}, to_the_end)
    while reading.unread and (message := _next(reading, f"{topic}/{search.partition}", deadline)) is not None:
        search.take(message.offset() or 0, message.key(), message.value())
    return search


def positions(reader: Consumer, topic: str, partition: int, deadline: Deadline, least: int = 1) -> list[Position]:
    """What the last commits say of themselves, the newest first: `least` of them, or all that there are.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not deliver in time.
    """
    low, high = watermarks(reader, topic, partition, deadline)
    back, found = NEAR, list[Position]()
    while low < high:
        found.clear()
        reading = Reader(reader, {(topic, partition): max(low, high - back)}, complain=to_the_end)
        while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
            if message.key() == position_key(partition):
                told = Position.read(message.value())
                found += [told] if told else []
        if len(found) >= least or back >= high - low:
            break
        back *= 4
    return found[::-1]


def orders(reader: Consumer, topic: str, partition: int, deadline: Deadline) -> list[Order]:
    """In which order labels were taken between snapshots, and since the last one, as far as the topic has it.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not deliver in time.
    """
    low, _ = watermarks(reader, topic, partition, deadline)
    found, newest = list[Order | None](), None
    reading = Reader(reader, {(topic, partition): low}, complain=to_the_end)
    while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
        if is_order_key(message.key(), partition):
            found.append(Order.read(message.value()))
        elif message.key() == position_key(partition) and (told := Position.read(message.value())) is not None:
            newest = told.order
    return [order for order in (*found, newest) if order is not None]


def whole_log(reader: Consumer, topic: str, partition: int, deadline: Deadline) -> list[tuple[int, bytes | None]]:
    """Offsets and values of all committed records of a partition.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not deliver in time.
    """
    low, _ = watermarks(reader, topic, partition, deadline)
    found = list[tuple[int, bytes | None]]()
    reading = Reader(reader, {(topic, partition): low}, complain=to_the_end)
    while (message := _next(reading, f"{topic}/{partition}", deadline)) is not None:
        found.append((message.offset() or 0, message.value()))
    return found


def read_chunks(reader: Consumer, topic: str, partition: int, pointer: Pointer, deadline: Deadline) -> list[bytes]:
    """The chunks that `pointer` names.

    Raises
    ------
    DamagedSnapshot
        One of them is not there.
    KafkaException, Unfinished
        The broker did not deliver in time.
    """
    where = f"{topic}/{partition}@{pointer.first}"
    chunks: list[bytes] = []
    reading = Reader(reader, {(topic, partition): pointer.first}, complain=to_the_end)
    while len(chunks) < pointer.chunks:
        message = _next(reading, where, deadline)
        if message is None or (not chunks and message.offset() != pointer.first):
            raise DamagedSnapshot(f"the snapshot at {where} is not there")
        if message.key() != chunk_key(partition, len(chunks)):
            raise DamagedSnapshot(f"chunk {len(chunks)} of the snapshot at {where} is missing")
        chunks.append(message.value() or b"")
    return chunks


def _next(reading: Reader, where: str, deadline: Deadline) -> Message | None:
    """The next record; None at the end. Claims of somebody who came too late may stand even between two chunks."""
    while (message := reading.next(deadline, f"the records of {where} were")) is not None:
        deadline.extend(GETTING_ON_SECONDS)
        if not (message.key() or b"").startswith(CLAIM):
            return message
    return None


def mark(settings: WorkerSettings, partition: int, began: int | None, deadline: Deadline) -> None:
    """Write down that a new history of a partition begins, with learners that know nothing at input offset `began`.

    None: with what they had learned before, so that the log does not give their state again.

    Outside any transaction: should nothing be committed in the new history, then the committed pointer lies before
    the mark, and the search for older snapshots ends there.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not take it.
    """
    append(settings, partition, mark_key(partition), KEPT if began is None else str(began).encode(), deadline)


def append(settings: WorkerSettings, partition: int, key: bytes, value: bytes, deadline: Deadline) -> None:
    """Write a record into the snapshot topic, outside any transaction.

    It has the time that is left, however little the user gives outputs: the topic may just have been made.

    Raises
    ------
    KafkaException, Unfinished
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
        raise Unfinished(f"the broker did not take a record for {settings.topics.snapshots} in time")
    if failed:
        raise about(f"{settings.topics.snapshots} cannot be written", failed[0])
