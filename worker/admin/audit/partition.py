"""Audit of one partition: recompute the input in lockstep with every record written for it.

The recomputation starts either with a fresh model or from a snapshot:

1. With a fresh model where the group must have started. With ``--start earliest``: the log's start, if this is offset 0
   or if the outputs are complete (their logs begin at 0) and none belongs to an earlier offset. With ``--start
   latest``: the offset that the worker marked in the snapshot topic, else the first output's, if the outputs are
   complete. With ``--start OFFSET``: there, if the input holds it; an output of an earlier offset is then a mismatch.
2. Otherwise from the earliest complete snapshot whose offset the input still holds. That snapshot is trusted.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

from driftway.worker.admin.audit.diff import Mismatch
from driftway.worker.admin.audit.known_labels import KnownLabels
from driftway.worker.admin.audit.model_sharing import ExchangeComparison, ExchangeVerifier
from driftway.worker.admin.audit.output_options import cut_by_emission, cut_by_form
from driftway.worker.admin.audit.outputs import (
    AlarmComparison,
    ChallengerComparison,
    PointComparison,
    PredictionComparison,
    RejectionComparison,
    TopicComparison,
)
from driftway.worker.admin.audit.relearned import model_at
from driftway.worker.admin.audit.report import AuditReport, AuditTarget, PartitionStreams, Progress
from driftway.worker.admin.audit.snapshots import CompleteSnapshot, SnapshotReader
from driftway.worker.admin.input_records import CountedState
from driftway.worker.admin.merged_input import MergedInput
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, committed_offset
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.state.changelog.emission import Emissions
from driftway.worker.state.input_read import InputRead
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.state.plans.changes import PlanChanges
from driftway.worker.state.plans.model_plan import FIRST
from driftway.worker.state.plans.plan_topic import with_state
from driftway.worker.state.snapshot import first_difference
from driftway.worker.state.stored_fields import LARGEST
from driftway.worker.wire.codec import key_of
from driftway.worker.wire.events import Records
from driftway.worker.wire.rejections import kind_of


class PartitionAudit:
    """The audit of one partition.

    Parameters
    ----------
    settings : WorkerSettings
        The workers' settings.
    target : AuditTarget
        Partition and the offset up to which it is audited.
    streams : PartitionStreams
        The partition's records in the input and in all output topics.
    progress : Progress
        Called with the number of records done.
    """

    def __init__(
        self, settings: WorkerSettings, target: AuditTarget, streams: PartitionStreams, progress: Progress
    ) -> None:
        self.settings = settings
        self.target = target
        self.committed = target.committed or 0
        self.progress = progress
        self.pointer = target.pointer
        self.report = AuditReport(target.partition, end=self.committed)
        self._input, self._predicted, self._accuracy, self._rejected, self._alarmed, self._shared, *_ = streams
        self._challenged = streams.challengers
        complete = partial(with_state, settings=settings)
        self._snapshots = SnapshotReader(streams.chunks, settings.model, complete, streams.adoptions, target.first_plan)
        self._model = self._snapshots.empty_model(target, settings.group)
        self._exchange_verifier = ExchangeVerifier(settings, target) if self._shared is not None else None
        self._changes = PlanChanges(target.partition)
        self._position = 0
        self._ahead: CompleteSnapshot | None = None
        """The next snapshot to compare."""
        self._pointed, self._newest_snapshot = False, -1

    def audit(self) -> AuditReport:
        """Run the audit, once.

        Raises
        ------
        Mismatch
            The first difference.
        """
        self._require_log()
        self._ahead = self._next_snapshot()
        self._model = self._snapshots.empty_model(self.target, self.settings.group)
        if self.committed and not self._begin():
            self.report.begin = self.committed
            return self.report
        self._make_comparisons()
        for batch in self._batches():
            rest = batch
            while len(rest):
                following = int(rest.offsets[0])
                self._compare_snapshots(following)
                self._adopt_plans(following)
                part = rest.before(self._cut(rest))
                self._require(self._model.advance(part))
                rest = rest.after(len(part))
            self.report.records += len(batch)
            self.progress(len(batch))
        self._compare_snapshots(self.committed)
        self._conclude()
        return self.report

    def counted_states(self) -> list[CountedState]:
        """What the states that the audit knows had read of the input, from where it began; to find lost records."""
        with contextlib.suppress(Mismatch):
            while self._snapshots.take() is not None:
                pass
        states = {state.offset: state for state in (*self._snapshots.states, self.target.last)}
        begin = self.report.begin
        states.setdefault(begin, CountedState(begin, InputRead(begin)))
        return [states[offset] for offset in sorted(states) if begin <= offset <= self.committed]

    # Start of the recomputation.

    def _require_log(self) -> None:
        commit = f"{self._input}@{self.committed} is committed"
        if self.committed > self._input.high:
            raise Mismatch(f"{commit}: expected it in the log, found its end at {self._input.high}")
        if self.committed and self.pointer is None:
            found = f"{self.target.metadata!r}, as set by hand; let a worker continue there first"
            raise Mismatch(f"{commit}: expected a snapshot position in the commit, found {found}")

    def _begin(self) -> bool:
        """Put the model at the first offset where its state is known; False if there is none."""
        low, fresh, verifier = self._input.low, self._fresh_at(), self._exchange_verifier
        labels = KnownLabels(self.settings, self.target.partition)
        if fresh is not None and labels.reach(fresh) and (verifier is None or verifier.is_complete(self._model, fresh)):
            self._start_at(fresh)
            return True
        gap = ""
        while (one := self._ahead) is not None and (one.offset < low or not self._has_all_rounds(one, labels)):
            gap = "" if labels.reach(one.offset) else f", and {labels.gap}"
            self._ahead = self._next_snapshot()
        found = self._ahead
        if found is None or found.offset > self.committed:
            known = f"the log begins at {low}{gap}, and no complete snapshot is later"
            self._unchecked(f"nothing can be checked{self._snapshots.why_begins_later}: {known}")
            return False
        if found.plan is not None:
            self._model = Model(self._snapshots.settings, self.target.partition, self.settings.group, found.plan)
        self._model.load(found.saved)
        self._start_at(found.offset)
        self._ahead = self._next_snapshot()
        why = self._snapshots.why_begins_later
        self._unchecked(
            f"offsets before {found.offset} cannot be checked{why}; the snapshot at {found.where} was trusted"
        )
        return True

    def _start_at(self, offset: int) -> None:
        """Start the recomputation at `offset`, where the model stands."""
        self._position = self.report.begin = offset
        if self._exchange_verifier is not None:
            self._exchange_verifier.verify(self._model, offset)

    def _has_all_rounds(self, written: CompleteSnapshot, labels: KnownLabels) -> bool:
        """Whether the labels and the exchange rounds after a snapshot are all known."""
        if not labels.reach(written.offset):
            return False
        if self._exchange_verifier is None:
            return True
        model = Model(self.settings.model, self.target.partition)
        model.load(written.saved)
        return self._exchange_verifier.is_complete(model, written.offset)

    def _fresh_at(self) -> int | None:
        """The offset at which the group started with a fresh model; None if it is unknown or no longer in the log."""
        low, start = self._input.low, self.settings.start
        if self._snapshots.why_begins_later or (self._ahead is not None and self._ahead.taken_over):
            return None
        earliest = start == EARLIEST
        if isinstance(start, int):
            return self._checked_start(start) if low <= start else None
        if earliest and low == 0:
            return 0
        if self._predicted.low or self._rejected.low:
            return None
        firsts = [comparison.first() for comparison in self._pair((0, self.committed))]
        first = min((offset for offset in firsts if offset is not None), default=-1)
        if first < low:
            return None
        began = self._snapshots.began
        if not earliest and began is not None and low <= began <= first:
            return began
        return low if earliest else min(first, self.committed)

    def _checked_start(self, start: int) -> int:
        """The offset given by ``--start``, after checking that no output contradicts it.

        Raises
        ------
        Mismatch
            An output belongs to an earlier event.
        """
        for one in self._pair((0, self.committed)):
            first = one.first()
            if first is not None and first < start:
                where = f"expected none before offset {start}, where the group is said to have started"
                raise Mismatch(f"{self._input}@{first} has a {one.noun} in {one.stream}: {where}")
        return start

    def _pair(self, span: tuple[int, int]) -> tuple[PredictionComparison, RejectionComparison]:
        compared = str(self._input), span
        rejections = RejectionComparison(self._rejected, *compared, self.settings.label_topic)
        return PredictionComparison(self._predicted, *compared), rejections

    def _make_comparisons(self) -> None:
        span = self._position, self.committed
        compared = str(self._input), span
        self.predictions, self.rejections = self._pair(span)
        self._kinds: Counter[str] = Counter()
        self.points = PointComparison(self._accuracy, *compared)
        known, challenged = (self._snapshots.stream, self._snapshots.emissions), self._challenged
        self.challengers = None if challenged is None else ChallengerComparison(challenged, *compared, *known)
        self.alarms = None if self._alarmed is None else AlarmComparison(self._alarmed, *compared)
        self.shares = None if self._shared is None else ExchangeComparison(self._shared, *compared)
        given = self.predictions, self.rejections, self.points, self.challengers, self.alarms, self.shares
        self._comparisons: tuple[TopicComparison, ...] = tuple(one for one in given if one is not None)
        self._rank()
        for comparison in self._comparisons:
            if comparison.stream.low and self.committed:
                first = comparison.first()
                until = self.committed if first is None else first
                if until > self._position:
                    self._unchecked(f"{comparison.noun}s before offset {until} are no longer in {comparison.stream}")

    def _keys(self, names: Iterable[str]) -> list[bytes]:
        return [key_of(name, self.target.partition) for name in names]

    def _rank(self) -> None:
        """Expect records of the present models and detectors."""
        settings = self._model.settings
        self.points.rank(self._keys(settings.names))
        if self.challengers is not None:
            self.challengers.rank(settings.names[1:])
        if self.alarms is not None:
            self.alarms.rank(self._keys(spec.text for spec in settings.detectors))

    # Lockstep.

    def _adopt_plans(self, following: int, last_number: int = LARGEST) -> None:
        """Adopt the plans, up to number `last_number`, that are due before the row at offset `following`."""
        while (due := self._changes.due(self._model.plan.number, following, following, committing=False)) is not None:
            if due.plan.number > last_number:
                return
            self._model, trusted = model_at(self.settings, self._model, due, self._ahead)
            self.report.unchecked += trusted
            self._rank()

    def _batches(self) -> Iterator[Records]:
        """The input from the start of the recomputation to the committed offset."""
        if self.settings.label_topic:
            topic_partition = self.settings.label_topic, self.target.partition
            with MergedInput(self.settings, *topic_partition, self._position, self.committed) as merged:
                yield from iter(merged.take, None)
            return
        while (records := self._input.take()) is not None:
            records = records.after(int(records.offsets.searchsorted(self._position)))
            if len(records):
                yield records

    def _cut(self, rest: Records) -> int:
        """Number of records to process at once: up to the next snapshot, and with the same options for the outputs."""
        n = self._changes.rows_before(self._model.plan.number, rest.offsets)
        if self._ahead is not None:
            n = min(n, int(rest.offsets.searchsorted(self._ahead.due_at(self.report.begin))))
        n = cut_by_emission(self._model, rest, n, Emissions(self._snapshots.emissions))
        return cut_by_form(self._model, rest, n, self.predictions)

    def _require(self, outputs: Outputs) -> None:
        self.predictions.require_columns(outputs.keys, outputs.predictions, outputs.headers)
        outputs.predictions.release()
        for one in outputs.challengers:
            if self.challengers is None:
                where = f"{self._input}@{one.offsets[0]}"
                raise Mismatch(f"{where} has predictions of challengers: expected a topic of them, found none")
            self.challengers.require_columns(one.keys, one.predictions, one.headers)
            one.predictions.release()
        self.rejections.require(self.rejections.identities(outputs.rejected))
        self._kinds.update(kind_of(one.reason) for one in outputs.rejected if not one.set_aside)
        self.points.require(outputs.points)
        if self.alarms is not None:
            self.alarms.require([(alarm.key, alarm.value) for alarm in outputs.alarms])
        if self.shares is not None:
            self.shares.require([(record.key, record.value) for record in outputs.shares])
        self._position = outputs.next_offset

    # Snapshots.

    def _next_snapshot(self) -> CompleteSnapshot | None:
        snapshot = self._snapshots.take()
        self._changes.restart(self._snapshots.adoptions.values(), self.committed)
        if snapshot is not None and self.pointer is not None and snapshot.first == self.pointer.first:
            named = self.pointer.chunks, self.pointer.state_offset
            if named != (snapshot.chunks, snapshot.offset):
                raise Mismatch(
                    f"{snapshot.where}: expected {named[0]} chunks with state offset {named[1]}, as the pointer says, "
                    f"found {snapshot.chunks} with {snapshot.offset}"
                )
            self._pointed = True
        return snapshot

    def _compare_snapshots(self, until: int) -> None:
        """Compare the snapshots that stand at or before `until`, the next record's offset."""
        while (snapshot := self._ahead) is not None and snapshot.due_at(self.report.begin) <= until:
            if (emptied := snapshot.emptied_after(self.report.begin)) <= until:
                self._model = self._snapshots.empty_model(self.target, self.settings.group)
                self._ahead = replace(snapshot, began=None, taken_over=emptied < self._position)
                continue
            if snapshot.offset < self._position:
                raise Mismatch(
                    f"{snapshot.where}: expected a snapshot at or after {self._input}@{self._position}, "
                    f"found one at {snapshot.offset}"
                )
            self._adopt_plans(snapshot.offset, FIRST if snapshot.plan is None else snapshot.plan.number)
            difference = first_difference(snapshot.saved, self._model.save())
            if snapshot.taken_over:
                self._model.load(snapshot.saved)
                if self._exchange_verifier is not None:
                    self._exchange_verifier.verify(self._model, snapshot.offset)
                self._unchecked(f"the snapshot at {snapshot.where} was imported or kept, and trusted")
            elif difference is not None:
                raise Mismatch(f"{snapshot.where}, the snapshot at {self._input}@{snapshot.offset}: {difference}")
            else:
                self.report.snapshots += 1
            self._ahead = self._next_snapshot()

    def _conclude(self) -> None:
        for comparison in self._comparisons:
            comparison.finish()
        while self._ahead is not None:
            self._newest_snapshot = max(self._newest_snapshot, self._ahead.offset)
            self._ahead = self._next_snapshot()
        report = self.report
        for predictions in (self.predictions, self.challengers):
            if predictions is not None:
                predictions.report_to(report)
        report.set_aside = self.rejections.set_aside
        report.rejections = self.rejections.matched - report.set_aside
        report.rejected = dict(self._kinds.most_common())
        report.points, report.orphans = self.points.matched, self._snapshots.orphans
        report.alarms = 0 if self.alarms is None else self.alarms.matched
        report.shares = 0 if self.shares is None else self.shares.matched
        if self._exchange_verifier is not None and self._exchange_verifier.unknown:
            self._unchecked(
                f"the averages of {self._exchange_verifier.unknown} rounds: the other partitions' records are gone"
            )
        with closing(reader_of(self.settings)) as reader:
            now = committed_offset(reader, self.settings.input, report.partition, Deadline(ASK_SECONDS))
        self._require_pointer(now[1])
        self._require_nothing_beyond(now[0] or 0)

    def _require_pointer(self, metadata_now: str | None) -> None:
        if not self.committed or self.pointer is None:
            return
        commit = f"{self._input}@{self.committed} is committed"
        if self.pointer.state_offset > self.committed:
            raise Mismatch(f"{commit}: expected a snapshot at or before it, found one at {self.pointer.state_offset}")
        if self._pointed:
            return
        where = f"{self._snapshots.stream}@{self.pointer.first}"
        if metadata_now == self.target.metadata:
            raise Mismatch(f"{commit}: expected its snapshot at {where}, found no complete one there")
        self._unchecked(f"the snapshot at {where} was replaced during the audit")

    def _require_nothing_beyond(self, committed_now: int) -> None:
        """Require that all visible outputs are committed: those newer than the audit's start were committed since."""
        for comparison in self._comparisons:
            if comparison.newest >= committed_now:
                raise Mismatch(
                    f"{self._input}@{comparison.newest} has a {comparison.noun} in {comparison.stream}: expected none, "
                    f"because the group has committed offset {committed_now}"
                )
        if self._newest_snapshot > committed_now:
            raise Mismatch(
                f"{self._snapshots.stream} holds a snapshot at offset {self._newest_snapshot}: expected none "
                f"after offset {committed_now}, which the group has committed"
            )

    def _unchecked(self, sentence: str) -> None:
        self.report.unchecked.append(f"{self._input}: {sentence}")
