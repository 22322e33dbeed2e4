"""Where a partition goes on: a model that stands at the committed offset, or what a policy says where there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.settings import EARLIEST, FRESH, LATEST, REFUSE, REPLAY, WorkerSettings
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.snapshot_scan import SnapshotScan, read_chunks, scan_snapshots
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import BadSnapshot, DamagedSnapshot, Pointer
from driftway.worker.stream.task.last_commit import LastCommit
from driftway.worker.stream.task.output_repair import MissingOutputs
from driftway.worker.stream.task.restore_context import RestoreContext


@dataclass(frozen=True)
class SharingState:
    """What a partition knows of its rounds with others.

    Parameters
    ----------
    log : list of bytes or None
        Its own records in the topic of shares, as far as they are to be repeated.
    partitions : int
        How many partitions share.
    ends : dict
        Partition -> offset behind what was received from it; its own: behind its last record.
    """

    log: list[bytes | None]
    partitions: int
    ends: dict[int, int]


@dataclass(frozen=True)
class RestoreResult:
    """Where a task stands after its restore.

    Parameters
    ----------
    model : Model or None
        State at `position`; None: what the task remembers stands there.
    position : int
        Next input offset to learn (S, or C when there is nothing to replay).
    committed : int
        C: rows before it have been emitted already and are learned in silence.
    pointer : Pointer or None
        The newest committed snapshot; None makes the first commit write one.
    note : str or None
        What was done instead of the ordinary, to be logged.
    history_start : int or None
        Where a new history of the partition begins; None: the old one goes on.
    keeps_learned : bool
        Whether the new history begins with what the old one has learned.
    missing_outputs : MissingOutputs or None
        Outputs from `committed` on that are to be written again; None: none is missing.
    start : int or None
        The first input offset from `position` on that a reader is given, or the log's end: what must come next.
    merger : LabelMerger or None
        Where labels out of a topic of their own go in, from `position` on; None: there is no such topic.
    sharing : SharingState or None
        What it shares with the learners of other partitions; None: they share nothing.
    """

    model: Model | None
    position: int
    committed: int
    pointer: Pointer | None
    note: str | None = None
    history_start: int | None = None
    keeps_learned: bool = False
    missing_outputs: MissingOutputs | None = None
    start: int | None = None
    merger: LabelMerger | None = None
    sharing: SharingState | None = None


@dataclass
class RestorePlan:
    """The ways to a model that stands at the committed offset, or to a refusal.

    Parameters
    ----------
    context : RestoreContext
        What the steps of the restore share.
    last : LastCommit
        Where the partition was committed last.
    committed : int
        C; 0 while it is not known.
    low, high : int
        The first offset that the input's log holds, and the one after its last.
    pointer : Pointer or None
        What the last commit names.
    scan : SnapshotScan or None
        What was found in the topic of snapshots, once it was looked through.
    """

    context: RestoreContext
    last: LastCommit
    committed: int
    low: int
    high: int
    pointer: Pointer | None
    scan: SnapshotScan | None = None

    @classmethod
    def of(cls, context: RestoreContext, last: LastCommit) -> Self:
        """The plan of a restore that knows the last commit."""
        low, high = watermarks(context.reader, context.settings.input, context.partition, context.deadline)
        committed, pointer, record = last.offset or 0, last.pointer, last.record
        if record is not None and (last.offset is None or last.in_transaction):
            committed = record.offset  # the partition's own log counts, not the coordinator
            pointer = None if last.offset is None else record.pointer or pointer
        return cls(context, last, committed, low, high, pointer)

    def choose(self, missing: MissingOutputs | None, in_memory_offset: int | None) -> RestoreResult:
        """Bring a model to the committed offset.

        Parameters
        ----------
        missing : MissingOutputs or None
            Outputs of the last commits that are not there.
        in_memory_offset : int or None
            The committed offset of which the task has the state in memory.

        Raises
        ------
        CannotRestore
            A policy refuses.
        """
        last = self.last
        if last.offset is None:
            return self.without_offset()
        if self.context.transactions is not None and last.in_transaction and last.record is None:
            return self.by_policy(f"offset {last.offset} was committed by a worker, but its own log does not say so")
        shares = self.context.settings.topics.shares
        if missing is not None and shares in missing.present:
            return self.by_policy(
                f"what the learners combined with their own until offset {missing.until} is gone from {shares}"
            )
        if missing is not None:
            found = self.before_lost_outputs(missing)
        elif last.pointer is not None and in_memory_offset == self.committed:
            found = RestoreResult(None, in_memory_offset, in_memory_offset, self.pointer)
        else:
            found = self.from_pointer_or_fallback()
        if found.position < self.low or found.committed > self.high:
            return self.by_offset_policy(found)
        return replace(found, note="; ".join(part for part in (last.note, found.note) if part) or None)

    def without_offset(self) -> RestoreResult:
        """Nothing is committed: a new group begins by its option, an offset that is gone is somebody's decision."""
        if self.last.record is not None:
            return self.by_policy(
                f"the group's offset is gone (deleted, or expired); the last one was {self.committed}"
            )
        begun = self._began_at_the_end()
        start = (
            first_offset(self.context.settings, self.context.partition, self.low, self.high) if begun is None else begun
        )
        note = None if begun is None else f"beginning at offset {begun} as before: nothing was committed since"
        return RestoreResult(
            self.context.make_model(), start, start, None, note, history_start=start if begun is None else None
        )

    def _began_at_the_end(self) -> int | None:
        """Where the group has begun at the log's end, and died before its first commit; None: it has not."""
        if self.context.settings.start != LATEST:
            return None
        topic, scan = self.context.settings.topics.snapshots, SnapshotScan(self.context.partition, 0, self.high)
        first, end = watermarks(self.context.reader, topic, self.context.partition, self.context.deadline)
        found = scan_snapshots(self.context.reader, topic, first, end, scan, self.context.deadline)
        if found.history_start is None or found.candidates or not self.low <= found.history_start <= self.high:
            return None
        return found.history_start

    def from_pointer_or_fallback(self) -> RestoreResult:
        """The snapshot that the pointer names, or what may stand in for it."""
        try:
            return self.from_pointer()
        except BadSnapshot as error:
            reason, damaged = str(error), isinstance(error, DamagedSnapshot)
        return (damaged and (self.from_older_snapshot(reason) or self.from_log_start(reason))) or self.by_policy(reason)

    def before_lost_outputs(self, missing: MissingOutputs) -> RestoreResult:
        """A model that stands before the rows whose outputs are missing; without one they stay so, if so told."""
        topics = ", ".join(missing.present)
        reason = f"what the commits from offset {missing.since} to {missing.until} wrote to {topics} is not there"
        before = replace(self, committed=missing.since, pointer=None)
        found = before.from_older_snapshot(reason) or before.from_log_start(reason)
        if found is None and self.context.settings.if_unrestorable == REPLAY:
            found = before.by_policy(reason)
        if found is None:
            return self.by_policy(f"{reason}, and no snapshot or log reaches back to where it could be computed again")
        return replace(found, missing_outputs=missing, note=f"{found.note}; writing again what is missing")

    def from_pointer(self) -> RestoreResult:
        """The ordinary way: the snapshot that the pointer names."""
        pointer, committed = self.pointer, self.committed
        if pointer is None:
            raise BadSnapshot(f"offset {committed} was committed without a snapshot (a reset, or another program)")
        if pointer.state_offset > committed:
            raise BadSnapshot(f"offset {committed} lies before its snapshot at {pointer.state_offset} (a reset)")
        return RestoreResult(self._load(pointer), pointer.state_offset, committed, pointer)

    def from_older_snapshot(self, reason: str) -> RestoreResult | None:
        """An older snapshot of the same history. Without pointer: the compactor may take it, so a new one is due."""
        for place in self._scan_older().candidates:
            try:
                model = self._load(place)
            except BadSnapshot:
                continue
            note = f"{reason}; relearning from the older snapshot at offset {place.state_offset}"
            return RestoreResult(model, place.state_offset, self.committed, None, note)
        return None

    def from_log_start(self, reason: str) -> RestoreResult | None:
        """The whole log, where it still holds every row and the history began with the first."""
        began = self._scan_older().history_start
        if began is None and self.context.settings.start in (EARLIEST, 0):
            began = 0
        if self.context.settings.if_unrestorable != REFUSE or not self.low == began == 0:
            return None
        note = f"{reason}; no older one can be used, relearning the whole log from offset 0"
        return RestoreResult(self.context.make_model(), 0, self.committed, None, note)

    def by_policy(self, reason: str) -> RestoreResult:
        """Apply --if-unrestorable."""
        low, committed = self.low, self.committed
        learner = "an empty learner" if self.context.settings.model.warm is None else "the model file's learner"
        if isinstance(self.context.settings.start, int):
            low = max(low, self.context.settings.start)
        if self.context.settings.if_unrestorable == REPLAY:
            start = min(low, committed)
            note = f"{reason}; relearning the log from offset {start}, as told"
            return self.from_older_snapshot(reason) or RestoreResult(
                self.context.make_model(), start, committed, None, note, history_start=start
            )
        if self.context.settings.if_unrestorable == FRESH:
            note = f"{reason}; starting with {learner}, as told"
            return RestoreResult(self.context.make_model(), committed, committed, None, note, history_start=committed)
        raise CannotRestore(
            f"cannot restore {self.context.where}: {reason}; --if-unrestorable {REPLAY} relearns the log from offset "
            f"{low}, {FRESH} starts with {learner} at {committed}"
        )

    def by_offset_policy(self, found: RestoreResult) -> RestoreResult:
        """Apply --if-offset-lost: the learner keeps what it has learned."""
        low, high = self.low, self.high
        needed = f"offsets {found.position} to {found.committed} are needed, the log holds {low} to {high}"
        if self.context.settings.if_offset_lost == REFUSE:
            raise CannotRestore(
                f"cannot restore {self.context.where}: {needed}; --if-offset-lost earliest goes on at {low}, latest at "
                f"{high}"
            )
        if self.context.settings.if_offset_lost == EARLIEST:
            start = low
            committed = found.committed if low <= found.committed <= high else low
        else:  # what the log still holds from the learner's own offset on is learned on the way to the end
            start = found.position if low <= found.position <= high else high
            committed = high
        notes = [found.note, f"{needed}; going on at {committed}, as told"]
        note = "; ".join(part for part in notes if part)
        return RestoreResult(
            found.model,
            start,
            committed,
            found.pointer,
            note,
            history_start=start,
            keeps_learned=found.history_start is None,
        )

    def _load(self, place: Pointer) -> Model:
        """A model standing at a snapshot."""
        topic, model = self.context.settings.topics.snapshots, self.context.make_model()
        blob = b"".join(read_chunks(self.context.reader, topic, self.context.partition, place, self.context.deadline))
        _, position = snapshot.read(blob, model)
        if position != place.state_offset:
            raise DamagedSnapshot(f"the snapshot stands at offset {position}, its pointer at {place.state_offset}")
        return model

    def _scan_older(self) -> SnapshotScan:
        """Look, once, for snapshots before the pointer's, or in the whole topic if there is no pointer."""
        if self.scan is None:
            topic = self.context.settings.topics.snapshots
            first, end = watermarks(self.context.reader, topic, self.context.partition, self.context.deadline)
            if self.pointer is not None:
                end = min(end, self.pointer.first)
            found = SnapshotScan(self.context.partition, self.low, self.committed)
            self.scan = scan_snapshots(self.context.reader, topic, first, end, found, self.context.deadline)
        return self.scan


def first_offset(settings: WorkerSettings, partition: int, low: int, high: int) -> int:
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
