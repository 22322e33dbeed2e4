"""From a committed offset back to a model: who owned the partition last decides nothing, the log decides all.

1. Acquire: fence the last owner, so that nothing can be committed behind our back.
2. Read the committed offset C and, in its metadata, the pointer to a snapshot at S <= C. It must not lie before what
   the log says was committed last: a coordinator that has just been started may know less than that for a moment.
3. Seek to the snapshot, load it.
4. The loop then reads S..C once more, learning without emitting; from C on it emits.

A damaged snapshot is an accident: an older one of the same history, or the log itself where it still reaches back
to its first row, gives the same bits, and the restore says so in its note. Anything else (another learner, an offset
committed by hand, rows that retention has taken) is somebody's decision: it is refused (exit 4), naming the option
that chooses otherwise; a restore never turns into a cold start by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, TopicPartition

from worker import snapshot
from worker.checkpoint import Checkpoint
from worker.client import base_properties, quiet, without_membership
from worker.deadline import Deadline
from worker.errors import CannotRestore
from worker.history import Search, Stretch, last_position, look_through, mark, read_chunks, watermarks
from worker.model import Model
from worker.settings import EARLIEST, EXACTLY_ONCE, FRESH, REFUSE, REPLAY, WorkerSettings
from worker.snapshot import BadSnapshot, DamagedSnapshot, Pointer
from worker.verdicts import insist

STALE_SECONDS = 10.0
"""How long an answer may stay behind the log before somebody, or something, must have set the group back."""
STALE_WAIT_SECONDS = 0.2
QUEUED_KBYTES = 16_384
"""Of snapshots read ahead; the client's default is four times as much, for each restore."""


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
        The newest committed snapshot; None makes the first commit write one.
    note : str or None
        What was done instead of the ordinary, to be logged.
    began : int or None
        Where a new history of the partition begins; None: the old one goes on.
    kept : bool
        Whether the new history begins with what the old one has learned.
    """

    model: Model
    position: int
    committed: int
    pointer: Pointer | None
    note: str | None = None
    began: int | None = None
    kept: bool = False


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
        found = _rebuild(settings, partition, reader, make_model, deadline)
        if found.began is not None:
            _begin_history(settings, partition, reader, found, deadline)
        return found
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
        "queued.max.messages.kbytes": QUEUED_KBYTES,
    }
    theirs = without_membership(base_properties(settings.bootstrap, settings.passthrough))
    return Consumer(quiet({**theirs, **own}))


def _begin_history(
    settings: WorkerSettings, partition: int, reader: Consumer, found: Restored, deadline: Deadline
) -> None:
    """Mark that older snapshots are of another history; an empty topic says by itself that this one began at 0."""
    low, high = watermarks(reader, settings.topics.snapshots, partition, deadline)
    if found.began != 0 or low < high:
        mark(settings, partition, None if found.kept else found.began, deadline)


def _rebuild(
    settings: WorkerSettings,
    partition: int,
    reader: Consumer,
    make_model: Callable[[], Model],
    deadline: Deadline,
) -> Restored:
    """Steps 2 and 3 of the module's docstring, with the policies."""
    last = None
    if settings.guarantee == EXACTLY_ONCE:
        last = last_position(reader, settings.topics.snapshots, partition, deadline)
    (committed, metadata), note = _settled_offset(settings.input, partition, reader, last, deadline)
    low, high = watermarks(reader, settings.input, partition, deadline)
    if committed is None and last is not None:
        ways = _Ways(settings, partition, reader, make_model, deadline, last, low, high, None)
        return ways.as_told(f"the group's offset is gone (deleted, or expired); the last one was {last}")
    if committed is None:
        start = _first_offset(settings, partition, low, high)
        return Restored(make_model(), start, start, None, began=start)
    pointer = Pointer.parse(metadata)
    ways = _Ways(settings, partition, reader, make_model, deadline, committed, low, high, pointer)
    if pointer is not None and last is not None and committed < last:
        return ways.as_told(f"offset {committed} lies before {last}, the last one (a reset, or lost by the broker)")
    try:
        found = ways.newest()
    except DamagedSnapshot as reason:
        found = ways.older(str(reason)) or ways.first_row(str(reason)) or ways.as_told(str(reason))
    except BadSnapshot as reason:
        found = ways.as_told(str(reason))
    if found.position < low or found.committed > high:
        return ways.offset_lost(found)
    return replace(found, note="; ".join(part for part in (note, found.note) if part) or None)


def _first_offset(settings: WorkerSettings, partition: int, low: int, high: int) -> int:
    """Where a group without committed offsets starts in a log that holds low..high.

    Raises
    ------
    CannotRestore
        At an offset that the log does not hold.
    """
    if isinstance(settings.start, str):
        return low if settings.start == EARLIEST else high
    if not low <= settings.start <= high:
        raise CannotRestore(
            f"cannot start {settings.input}/{partition} at offset {settings.start}: the log holds {low} to {high}"
        )
    return settings.start


def _settled_offset(
    topic: str, partition: int, reader: Consumer, last: int | None, deadline: Deadline
) -> tuple[tuple[int | None, str | None], str | None]:
    """The committed offset and its metadata, asked for until they are not behind `last`; a note if that took a while.

    A commit by hand has no metadata of ours: it is what it is.
    """
    began, patience = time.monotonic(), Deadline(STALE_SECONDS)
    answer = at_first = committed_offset(reader, topic, partition, deadline)

    def behind() -> bool:
        offset, metadata = answer
        return last is not None and (offset is None or (offset < last and Pointer.parse(metadata) is not None))

    while behind() and not patience.passed and not deadline.passed:
        time.sleep(STALE_WAIT_SECONDS)
        answer = committed_offset(reader, topic, partition, deadline)
    if answer == at_first:
        return answer, None
    waited = time.monotonic() - began
    return answer, f"the broker said offset {at_first[0]} first, and {answer[0]} after {waited:.1f} s"


@dataclass
class _Ways:
    """The ways to a model that stands at the committed offset, or to a refusal.

    Parameters
    ----------
    settings, partition, reader, make_model, deadline
        As in `restore`.
    committed : int
        C.
    low, high : int
        The first offset that the input's log holds, and the one after its last.
    pointer : Pointer or None
        What the committed metadata names.
    """

    settings: WorkerSettings
    partition: int
    reader: Consumer
    make_model: Callable[[], Model]
    deadline: Deadline
    committed: int
    low: int
    high: int
    pointer: Pointer | None
    past: Search | None = None

    @property
    def where(self) -> str:
        """Topic and partition, for sentences."""
        return f"{self.settings.input}/{self.partition}"

    def newest(self) -> Restored:
        """The ordinary way: the snapshot that the pointer names."""
        pointer, committed = self.pointer, self.committed
        if pointer is None:
            raise BadSnapshot(f"offset {committed} was committed without a snapshot (a reset, or another program)")
        if pointer.state_offset > committed:
            raise BadSnapshot(f"offset {committed} lies before its snapshot at {pointer.state_offset} (a reset)")
        return Restored(self._load(pointer), pointer.state_offset, committed, pointer)

    def older(self, reason: str) -> Restored | None:
        """An older snapshot of the same history. Without pointer: the compactor may take it, so a new one is due."""
        for place in self._look_back().candidates:
            try:
                model = self._load(place)
            except BadSnapshot:
                continue
            note = f"{reason}; relearning from the older snapshot at offset {place.state_offset}"
            return Restored(model, place.state_offset, self.committed, None, note)
        return None

    def first_row(self, reason: str) -> Restored | None:
        """The whole log, where it still holds every row and the history began with the first."""
        began = self._look_back().began
        if began is None and self.settings.start in (EARLIEST, 0):
            began = 0
        if self.settings.if_unrestorable != REFUSE or not self.low == began == 0:
            return None
        note = f"{reason}; no older one can be used, relearning the whole log from offset 0"
        return Restored(self.make_model(), 0, self.committed, None, note)

    def as_told(self, reason: str) -> Restored:
        """Apply --if-unrestorable."""
        low, committed = self.low, self.committed
        learner = "an empty learner" if self.settings.model.warm is None else "the model file's learner"
        if isinstance(self.settings.start, int):
            low = max(low, self.settings.start)
        if self.settings.if_unrestorable == REPLAY:
            start = min(low, committed)
            note = f"{reason}; relearning the log from offset {start}, as told"
            return self.older(reason) or Restored(self.make_model(), start, committed, None, note, began=start)
        if self.settings.if_unrestorable == FRESH:
            note = f"{reason}; starting with {learner}, as told"
            return Restored(self.make_model(), committed, committed, None, note, began=committed)
        raise CannotRestore(
            f"cannot restore {self.where}: {reason}; --if-unrestorable {REPLAY} relearns the log from offset {low}, "
            f"{FRESH} starts with {learner} at {committed}"
        )

    def offset_lost(self, found: Restored) -> Restored:
        """Apply --if-offset-lost: the learner keeps what it has learned."""
        low, high = self.low, self.high
        needed = f"offsets {found.position} to {found.committed} are needed, the log holds {low} to {high}"
        if self.settings.if_offset_lost == REFUSE:
            raise CannotRestore(
                f"cannot restore {self.where}: {needed}; --if-offset-lost earliest goes on at {low}, latest at {high}"
            )
        if self.settings.if_offset_lost == EARLIEST:
            start = low
            committed = found.committed if low <= found.committed <= high else low
        else:  # what the log still holds from the learner's own offset on is learned on the way to the end
            start = found.position if low <= found.position <= high else high
            committed = high
        notes = [found.note, f"{needed}; going on at {committed}, as told"]
        note = "; ".join(part for part in notes if part)
        return Restored(found.model, start, committed, found.pointer, note, began=start, kept=found.began is None)

    def _load(self, place: Pointer) -> Model:
        """A model standing at a snapshot."""
        topic, model = self.settings.topics.snapshots, self.make_model()
        blob = b"".join(read_chunks(self.reader, topic, self.partition, place, self.deadline))
        _, position = snapshot.read(blob, model)
        if position != place.state_offset:
            raise DamagedSnapshot(f"the snapshot stands at offset {position}, its pointer at {place.state_offset}")
        return model

    def _look_back(self) -> Search:
        """Look, once, for snapshots before the pointer's, or in the whole topic if there is no pointer."""
        if self.past is None:
            topic = self.settings.topics.snapshots
            first, end = watermarks(self.reader, topic, self.partition, self.deadline)
            if self.pointer is not None:
                end = min(end, self.pointer.first)
            stretch = Stretch(topic, self.partition, first, end)
            search = Search(self.partition, self.low, self.committed)
            self.past = look_through(self.reader, stretch, search, self.deadline)
        return self.past


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
