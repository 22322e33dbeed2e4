"""What a model at the committed offset can be made from: a snapshot, an older one, the log, or what a policy allows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from driftway.worker.errors import CannotRestore, plural
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.settings import EARLIEST, LATEST, REPLAY, RESET
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.input_count import RecordsDiffer
from driftway.worker.state.changelog.record_keys import CLAIM_PARTITION
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import SnapshotScan, read_chunks, scan_snapshots
from driftway.worker.state.delayed_labels.merge_order import MergePosition
from driftway.worker.state.input_read import InputRead
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import FIRST
from driftway.worker.state.plans.plan_topic import known_plans
from driftway.worker.state.snapshot import BadSnapshot, DamagedSnapshot
from driftway.worker.stream.task.restoring.last_commit import LastCommit
from driftway.worker.stream.task.restoring.restore_context import RestoreContext, joined_notes
from driftway.worker.stream.task.restoring.restore_result import RestoreResult, outcome


@dataclass
class RestoreSources:
    """What is known of a partition that is restored, and what its model can be made from.

    `driftway.worker.stream.task.restoring.restore_choice` chooses among them.

    Parameters
    ----------
    context : RestoreContext
        What the steps of the restore share.
    last : LastCommit
        The partition's last commit.
    committed : int
        C; 0 if nothing is committed.
    low, high : int
        First offset that the input's log holds, and the one after its last.
    pointer : Pointer or None
        The snapshot that the last commit names.
    gap : RecordsDiffer or None
        Why the last attempt to relearn the committed state failed; None if none has.
    scan : SnapshotScan or None
        Result of scanning the snapshot topic; None until it was scanned.
    gone : str
        Why no older snapshot can be used, for messages: models of a plan behind it cannot be relearned.
    unlearnable : bool
        Whether an attempt to relearn such models has failed.
    """

    context: RestoreContext
    last: LastCommit
    committed: int
    low: int
    high: int
    pointer: Pointer | None
    gap: RecordsDiffer | None = None
    scan: SnapshotScan | None = None
    gone: str = ""
    unlearnable: bool = False

    @classmethod
    def of(cls, context: RestoreContext, last: LastCommit, gap: RecordsDiffer | None = None) -> Self:
        """Look up what there is for a given last commit."""
        low, high = watermarks(context.reader, context.settings.input, context.partition, context.deadline)
        committed, pointer, record = last.offset or 0, last.pointer, last.record
        if record is not None and (last.offset is None or last.in_transaction):
            committed = record.offset  # the partition's own log decides, not the coordinator
            pointer = None if last.offset is None else record.pointer or pointer
        sources = cls(context, last, committed, low, high, pointer, gap)
        return sources if last.offset is not None or record is not None else sources._without_commit()

    def _without_commit(self) -> Self:
        """Return the sources of a new group; of its newest state if the log no longer has the rows of that.

        The broker deletes an offset with its topic, or when it expires, and at-least-once has no record of it. While
        the log has every row, the group begins again: it may have died between its first snapshot and its first offset.
        """
        newest = self.scan_topic(SnapshotScan(self.context.partition, 0, self.high)).newest
        if newest is None:
            return self
        pointer, read = newest
        if read.recreated(self.context.ids.input) is None:
            lost = read.since is not None and read.since < self.low
            return replace(self, committed=pointer.state_offset) if lost else self
        last = LastCommit(None, None, None, False, self.last.note, read)
        return replace(self, last=last, committed=pointer.state_offset, pointer=pointer)

    @property
    def expected(self) -> InputRead | None:
        """What the last commit had read; None if the log decides on another offset than the one it is of."""
        record = None if self.last.at_least_once else self.last.record
        return self.last.input_read if record is None or record.offset == self.committed else None

    @property
    def follows_records(self) -> bool:
        """Whether a state depends on more than the input: on the order of labels, or on exchanges, as recorded."""
        return bool(self.context.settings.label_topic or self.context.settings.topics.shared)

    @property
    def empty_learner(self) -> str:
        """What a start without a state begins with, for messages."""
        return "an empty learner" if self.context.settings.model.warm is None else "the model file's learner"

    @property
    def records_deleted(self) -> bool:
        """Whether the partition's log of snapshots has lost its beginning, and more than a claim: to retention, say."""
        context, topic = self.context, self.context.settings.topics.snapshots
        low, _ = watermarks(context.reader, topic, context.partition, context.deadline)
        return low > (context.partition == CLAIM_PARTITION)

    @property
    def recreated(self) -> bool:
        """Whether the input topic was deleted and recreated since the last commit; False if ids are not known."""
        return self.last.input_read.recreated(self.context.ids.input) is not None

    @property
    def _replays_plans(self) -> bool:
        """Whether `--on-restore-failure replay` relearns up to an offset set by hand in a group with plans of models.

        The models then change where they did before.
        """
        planned = self.last.record is not None and self.last.record.plan > FIRST
        return planned and self.last.moved and self.context.settings.on_restore_failure == REPLAY

    def from_pointer_or_fallback(self) -> RestoreResult:
        """Load the snapshot that the pointer names, or fall back if it cannot be used."""
        try:
            return self.from_pointer()
        except BadSnapshot as error:
            reason, damaged = str(error), isinstance(error, DamagedSnapshot)
        found = None
        if damaged or self._replays_plans:
            found = self.from_older_snapshot(reason) or self.from_log_start(reason)
        return found or self.by_policy(reason)

    def from_pointer(self) -> RestoreResult:
        """Load the snapshot that the pointer names."""
        pointer, committed = self.pointer, self.committed
        if pointer is None:
            raise BadSnapshot(f"offset {committed} was committed without a snapshot (a reset, or another program)")
        if pointer.state_offset > committed:
            raise BadSnapshot(f"offset {committed} is before its snapshot at {pointer.state_offset} (a reset)")
        model, read = self._load(pointer)
        return RestoreResult(model, pointer.state_offset, committed, pointer, read=read)

    def from_older_snapshot(self, reason: str) -> RestoreResult | None:
        """Load an older snapshot of the same history. Compaction may delete it, so no pointer: a new one is due."""
        for pointer in (one for one in self._scan_older().candidates if one != self.pointer):
            try:
                model, read = self._load(pointer)
            except BadSnapshot:
                continue
            note = f"{reason}; relearning from the older snapshot at offset {pointer.state_offset}"
            older = RestoreResult(model, pointer.state_offset, self.committed, None, note, decided=True, read=read)
            if (found := self._with_adoptions(older)) is not None:
                return found
        return None

    def from_log_start(self, reason: str) -> RestoreResult | None:
        """Relearn the complete log, if it still holds every row and the history began with the first."""
        began = self._scan_older().history_start
        if began is None and self.context.settings.start in (EARLIEST, 0):
            began = 0
        if self.context.settings.on_restore_failure == RESET or not self.low == began == 0:
            return None
        note = f"{reason}; no older one can be used, relearning the whole log from offset 0"
        return self._with_adoptions(
            RestoreResult(self.context.make_model(), 0, self.committed, None, note, decided=True)
        )

    def by_policy(self, reason: str, from_older: bool = True) -> RestoreResult:
        """Apply --on-restore-failure; without `from_older` no snapshot can be used."""
        low, committed, reason = self.low, self.committed, reason + self.gone
        learner, policy = self.empty_learner, self.context.settings.on_restore_failure
        if isinstance(self.context.settings.start, int):
            low = max(low, self.context.settings.start)
        if policy == RESET:
            note = f"{reason}; starting with {learner}, as configured"
            model = self.context.make_model()
            return RestoreResult(model, committed, committed, None, note, history_start=committed, decided=True)
        older = self.from_older_snapshot(reason) if from_older and self.gap is None else None
        if policy == REPLAY and older is not None:
            return older
        if policy == REPLAY:
            start = min(low, committed)
            note = f"{reason}; relearning the log from offset {start}, as configured"
            model = self.context.make_model()
            return RestoreResult(model, start, committed, None, note, history_start=start, decided=True)
        begin = f"offset {low}" if older is None else f"the snapshot at offset {older.position} on"
        raise CannotRestore(
            f"cannot restore {self.context.where}: {reason}; --on-restore-failure {REPLAY} relearns the log from "
            f"{begin}, {RESET} starts with {learner} at {committed}"
        )

    def by_offset_policy(self, found: RestoreResult) -> RestoreResult:
        """Apply --on-offset-out-of-range: the learner keeps what it has learned."""
        needed = f"offsets {found.position} to {found.committed} are needed, the log holds {self.low} to {self.high}"
        choices = {EARLIEST: self._at_earliest(found), LATEST: self._at_latest(found)}
        if found.committed > self.high and not self.same_topic:  # maybe a new topic, of which no row was predicted
            needed += ": it ends before the committed offset, so it was truncated, or the topic was recreated"
            del choices[LATEST]
        elif found.committed > self.high:
            needed += ": it ends before the committed offset, so it was truncated, or the offset was set by hand"
        elif found.position == found.committed and self.low == self.high:
            deleted = f"{plural(self.low - found.position, 'offset')} from {found.position} on"
            needed += f": it is empty; if only markers of transactions were deleted, at {deleted}, no event is lost"
        policy = self.context.settings.on_offset_out_of_range
        if policy not in choices:
            offers = ", ".join(f"{word} {outcome(*offsets)}" for word, offsets in choices.items())
            raise CannotRestore(f"cannot restore {self.context.where}: {needed}; --on-offset-out-of-range {offers}")
        start, committed = choices[policy]
        note = f"{needed}; --on-offset-out-of-range {policy} {outcome(start, committed)}"
        return RestoreResult(
            found.model,
            start,
            committed,
            None,  # the old snapshot is from before the gap
            joined_notes(found.note, note),
            history_start=start,
            keeps_learned=found.history_start is None,
            decided=True,
        )

    def _at_earliest(self, found: RestoreResult) -> tuple[int, int]:
        """Offsets to learn from and to emit from, by --on-offset-out-of-range earliest."""
        return self.low, found.committed if self.low <= found.committed <= self.high else self.low

    def _at_latest(self, found: RestoreResult) -> tuple[int, int]:
        """The same by latest: rows that the log still holds from the learner's offset on are learned first."""
        return found.position if self.low <= found.position <= self.high else self.high, self.high

    @property
    def same_topic(self) -> bool:
        """Whether the input is known to be the topic of the last commit."""
        return self.context.ids.input is not None and self.last.input_read.topic == self.context.ids.input

    def _load(self, pointer: Pointer) -> tuple[Model, InputRead | None]:
        """Load a snapshot into a new model; return that, and what its state has read of the input."""
        topic = self.context.settings.topics.snapshots
        blob = b"".join(read_chunks(self.context.reader, topic, self.context.partition, pointer, self.context.deadline))
        found = snapshot.read_planned(blob, self.context.make_model)
        if found.offset != pointer.state_offset:
            raise DamagedSnapshot(f"the snapshot is at offset {found.offset}, its pointer at {pointer.state_offset}")
        return found.model, None if found.header is None else found.header.read

    def _with_adoptions(self, found: RestoreResult) -> RestoreResult | None:
        """Add the adoptions of later plans; None if one of them, or what its models began with, is gone."""
        number, known = FIRST if found.model is None else found.model.plan.number, self._scan_older().adoptions
        later = [adoption for adoption in known.values() if adoption.plan.number > number]
        relearned = [adoption for adoption in later if adoption.relearned is not None]
        low = self.context.log_begins(self.low) if relearned else MergePosition(0, 0)
        reasons = self._why_unknown(number, known), *(adoption.why_gone(low) for adoption in relearned)
        if gone := next(filter(None, reasons), ""):
            self.gone = f"; no older one can be used: {gone}"
        adoptions = None if gone or (relearned and self.unlearnable) else self.context.with_states(later)
        return None if adoptions is None else replace(found, adoptions=adoptions)

    def _why_unknown(self, number: int, known: Collection[int]) -> str:
        """Say which plan after plan `number` the partition took at an offset that is no longer known, or nothing.

        A partition may have skipped plans, but not the last commit's.
        """
        certain, newest = self.last.record is not None, self._newest_plan
        lost = [plan for plan in range(number + 1, newest + 1) if plan not in known]
        if not lost or ((lost[-1] != newest or not certain) and not self.records_deleted):
            return ""
        return f"{self.context.settings.topics.snapshots} no longer says where plan {lost[-1]} was adopted"

    @property
    def _newest_plan(self) -> int:
        """Number of the newest plan that the partition may have taken: the last commit's, if that has a record."""
        if (record := self.last.record) is not None:
            return record.plan
        context = self.context
        plans = known_plans(context.reader, context.settings, context.deadline, lambda _: None)
        return max((plan.number for plan in plans), default=FIRST)

    def _scan_older(self) -> SnapshotScan:
        """Scan the snapshot topic, once, for other snapshots than the pointer's."""
        if self.scan is None:
            least, newest = 0 if self.recreated else self.low, None if self.pointer is None else self.pointer.first
            self.scan = self.scan_topic(SnapshotScan(self.context.partition, least, self.committed, newest))
        return self.scan

    def scan_topic(self, scan: SnapshotScan) -> SnapshotScan:
        """Scan the snapshot topic."""
        context, topic = self.context, self.context.settings.topics.snapshots
        first, end = watermarks(context.reader, topic, context.partition, context.deadline)
        return scan_snapshots(context.reader, topic, first, end, scan, context.deadline)
