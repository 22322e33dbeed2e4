"""One partition's task: its model, its position, and its commits.

Its states, and the moves between them, are in `driftway.worker.stream.task.lifecycle`.

A commit mostly waits for the broker, so learning continues meanwhile: `begin_commit` copies the state,
`PendingCommit.run` executes the commit steps on another thread, and outputs are buffered until `end_commit` produces
them into the next transaction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from driftway.worker.errors import Failure
from driftway.worker.settings import WorkerSettings
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.input_count import InputCount
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.pending_rows import WRONG_STAMPS
from driftway.worker.state.model import Model, SavedState
from driftway.worker.state.model_sharing.model_exchange import ModelExchange
from driftway.worker.state.outputs import Outputs, joined
from driftway.worker.state.plans.changes import PlanChanges
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlanAdoption
from driftway.worker.stream.relearning.relearner import Relearning
from driftway.worker.stream.task.committing.checkpoint import Checkpoint
from driftway.worker.stream.task.committing.commit_request import CommitRequest
from driftway.worker.stream.task.committing.output_buffer import MAX_BUFFERED_ROWS, OutputBuffer
from driftway.worker.stream.task.committing.pending_commit import PendingCommit
from driftway.worker.stream.task.committing.transaction_size import TransactionSize
from driftway.worker.stream.task.emission_changes import EmissionChanges
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.snapshot_schedule import SnapshotSchedule
from driftway.worker.wire.events import Records


class Task:
    """One partition's learners, position and checkpoint.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    partition : int
        The partition's number.
    checkpoint : Checkpoint
        The partition's producer and commit steps.
    plans : sequence of ModelPlan
        As `PlanChanges` takes them.
    """

    def __init__(
        self, settings: WorkerSettings, partition: int, checkpoint: Checkpoint, plans: Sequence[ModelPlan] = ()
    ) -> None:
        self.settings, self.partition, self.checkpoint = settings, partition, checkpoint
        self.plan_changes, self.relearning = PlanChanges(partition, plans), Relearning()
        self.plan_changes.held = lambda plan: self.relearning.holds(plan, self._to_relearn(plan))
        self.state, self.model = State.CREATED, self.new_model()
        self.position = self.committed = 0
        self._pointer: Pointer | None = None
        self.saved: SavedState = self.model.save()  # read by other threads: only ever replaced whole
        self.interval_began_at = time.monotonic()
        """When the commit interval began: with the worker's last commits, whether or not this task was among them."""
        self._schedule = SnapshotSchedule(settings)
        self._decided = False
        """Whether a decision of the last restore (a policy, a fallback) has not been committed yet."""
        self._relearned_at = 0
        """The offset after the last row that a restore relearns."""
        self._emptied_plan = FIRST
        """As `RestoreResult.emptied_plan`."""
        self.held_until = 0.0
        """Until when commits wait, as `time.monotonic`; see `driftway.worker.stream.first_events`."""
        self.committing = False
        """Whether a commit is in flight; outputs are buffered meanwhile."""
        self.in_memory_offset: int | None = None
        """Committed offset of the state kept in memory for the case of a failed commit; None if there is none."""
        self.input_count, self.transaction_size = InputCount(), TransactionSize()
        self.snapshot_bytes = 0
        """Bytes of the last commit's snapshot; 0 if it had none."""
        self.emission_changes = EmissionChanges(settings)
        self.buffer = OutputBuffer()
        self._missing_outputs: MissingOutputs | None = None
        self.merger: LabelMerger | None = None
        """Merges labels of the label topic; None without such a topic, or while nothing is restored."""

    def __str__(self) -> str:
        return f"{self.settings.input}/{self.partition}"

    def new_model(self, plan: ModelPlan | None = None) -> Model:
        """Return a model of a plan, None: of the first, in its initial state."""
        return Model(self.plan_changes.initial(self.settings.model), self.partition, self.settings.group, plan)

    def move(self, state: State) -> None:
        """Change the state to one that may follow."""
        self.state = self.state.followed_by(state)

    @property
    def accepts_records(self) -> bool:
        """Whether the task accepts rows."""
        return self.state in (State.RESTORING, State.RUNNING)

    @property
    def running(self) -> bool:
        """Whether it predicts and emits."""
        return self.state is State.RUNNING

    def restore_from(self, found: RestoreResult) -> None:
        """Apply a restore's result; the loop then seeks to the next row and resumes the partition."""
        self.input_count.restart(found.read, found.expected, found.counted_at)
        if found.model is None:
            self.model.load(self.saved)
        else:
            self.model, self.in_memory_offset = found.model, None
            self._schedule.restart()
            self.relearning.restart(found.relearned)
            self.plan_changes.restart(found.adoptions, found.recorded_until)
        if self.model.exchange is not None and (sharing := found.sharing) is not None:
            self.model.exchange.replay(sharing.log, found.position)
            self.model.exchange.start(sharing.partitions, sharing.ends)
        self._pointer, self._missing_outputs, self.merger = found.pointer, found.missing_outputs, found.merger
        self.position, self.committed, self._decided = found.position, found.committed, found.decided
        self.emission_changes.restart(found, self.model)
        self._relearned_at = found.committed if found.relearned_at is None else found.relearned_at
        self._emptied_plan = found.emptied_plan
        self.input_count.require(self.position)
        self.move(State.RESTORING)
        if self.position >= self._relearned_at:
            self._run()

    def advance(self, records: Records | None, max_rows: int | None = None) -> Outputs | None:
        """Process the next records; return the emitted outputs, or None if nothing was emitted.

        Records below `position` were delivered before and are skipped. None continues with events that waited for
        labels; at most `max_rows` of these are taken.
        """
        self.input_count.seen(None if records is None else records.epoch)
        if self.merger is not None:
            records = self.merger.take(records, time.monotonic(), self.model.count_awaited, max_rows)
        if records is None:
            return None
        if first := int(records.offsets.searchsorted(self.position)):
            records = records.after(first)
        if self.state is State.RESTORING:
            records = self._relearn(records)
        if len(records) == 0:
            return None
        outputs = list[Outputs]()
        if self._missing_outputs is not None:
            records = self._complete_outputs(records, self._missing_outputs, outputs)
        if len(records):
            outputs.append(self._learn(records, emit=True))
        return joined(*outputs)

    def _relearn(self, records: Records) -> Records:
        """Learn the rows that are committed already, and run once they are all learned; return the rows after them."""
        relearned = int(records.offsets.searchsorted(self.committed))
        if relearned:
            self._learn(records.before(relearned), emit=False)
        if len(records) > relearned or self.position >= self._relearned_at:
            self._run()
        return records.after(relearned)

    def _complete_outputs(self, records: Records, missing: MissingOutputs, outputs: list[Outputs]) -> Records:
        """Add the missing outputs of committed rows to `outputs`; return the rows after them."""
        n = int(records.offsets.searchsorted(missing.until))
        if n:
            outputs.append(self._learn(records.before(n), emit=True))
        if n < len(records) or self.position >= missing.until:
            self.input_count.require(missing.until)
            self._missing_outputs = None
            self.emission_changes.continue_at(missing.until, self.model)
        return records.after(n)

    @property
    def exchange(self) -> ModelExchange | None:
        """The model exchange with other partitions; None if nothing is shared, or the task is not restored."""
        return self.model.exchange if self.accepts_records else None

    @property
    def due_at(self) -> float:
        """When the next commit is due, as `time.monotonic`; infinite if there is none, or one is in flight."""
        if self.committing or self._may_not_commit:
            return float("inf")
        wanted = self.checkpoint.open or self._plan_waits
        interval = self.settings.commit_interval if self.open_rows < self.transaction_size.max_rows else 0.0
        outputs = self.interval_began_at + interval if wanted else float("inf")
        return max(self.held_until, min(outputs, self._snapshot_due_at) if self.snapshot_behind else outputs)

    @property
    def _may_not_commit(self) -> bool:
        """Whether records are still to be counted, or outputs to be completed, of which a commit would hide some."""
        return self.input_count.waiting or self._missing_outputs is not None

    def needs_commit(self, closing: bool = False) -> bool:
        """Whether there are outputs to commit, or a newer state and it is time, or the last one."""
        if self.committing or self._may_not_commit or time.monotonic() < self.held_until:
            return False
        wanted = self.checkpoint.open or self._plan_waits
        return wanted or (self.snapshot_behind and (closing or time.monotonic() >= self.due_at))

    @property
    def _plan_waits(self) -> bool:
        """Whether the next commit adopts a plan, though there may be no rows; a new partition waits for some."""
        return self.running and not self.is_new and self.plan_changes.waiting(self.model.plan.number, self.position)

    @property
    def snapshot_behind(self) -> bool:
        """Whether a restore from the newest snapshot would have to relearn rows, or to decide again."""
        behind = self._pointer is not None and self._pointer.state_offset < self.position
        return self.running and (self._decided or behind)

    @property
    def _snapshot_due_at(self) -> float:
        """When a snapshot is due by time alone, as `time.monotonic`."""
        due_at = self._schedule.due_at(self.state_bytes, self.checkpoint.bytes_since_snapshot)
        return 0.0 if self._decided or self.plan_changes.adopted else due_at

    @property
    def uncommitted(self) -> bool:
        """Whether outputs wait for a commit, or events for labels."""
        return self.running and (self.checkpoint.open or self.committing or self.waiting_events > 0)

    @property
    def is_new(self) -> bool:
        """Whether nothing has ever been committed for the partition."""
        return self._pointer is None and not self._decided

    @property
    def waiting_events(self) -> int:
        """Number of events that wait for labels that must be merged before them."""
        return 0 if self.merger is None else self.merger.waiting_events

    @property
    def clocks(self) -> dict[str, int]:
        """How far the clocks of producers are apart, since the restore; empty if labels are not delayed.

        `wrong_timestamps` that those around them contradict, by up to `furthest_ms`; with a label topic also
        `labels_waiting`, and `labels_ahead_ms`: the newest label's stamp minus the newest event's.
        """
        if self.merger is not None:
            return self.merger.clocks()
        return {figure: value for figure, value in self.model.delay_metrics().items() if figure in WRONG_STAMPS}

    @property
    def open_rows(self) -> int:
        """Offsets in the open transaction, or in the commit in flight."""
        return self.position - self.committed - self.buffer.rows

    @property
    def holds_too_much(self) -> bool:
        """Whether so many outputs are buffered that the partition has to wait for its commit in flight."""
        return self.buffer.holds_too_much(self.transaction_size.max_rows)

    @property
    def state_bytes(self) -> int:
        """Bytes of state at the last commit."""
        return self.saved.nbytes

    @property
    def snapshot_age(self) -> float:
        """Seconds since the last snapshot, or since the restore."""
        return self._schedule.age

    def begin_commit(self, closing: bool = False) -> PendingCommit:
        """Capture what is to be committed: everything up to `position`."""
        self._adopt_plans(self.position, committing=True)
        saved = self.model.save(self.position)
        due = self._snapshot_due(saved, closing)
        blob = snapshot.write(self.model, saved, self.position, read=self.input_count.read) if due else None
        self.committing = True
        merger, exchange = self.merger, self.model.exchange
        record = CommitRecord(
            self.position,
            self.committed,
            self._pointer,
            labels=None if merger is None else self.settings.label_topic,
            order=None if merger is None else merger.order,
            rounds=None if exchange is None else exchange.round_number,
            input_read=self.input_count.read,
            clocks=self.clocks if merger is None else self.clocks | merger.lines,
            set_aside_from=self.model.decoder.set_aside_from,
            plan=self.model.plan.number,
            emit=self.settings.model.emit,
        )
        request = CommitRequest(record, blob, tuple(self.plan_changes.adopted), self.emission_changes.uncommitted)
        return PendingCommit(self.checkpoint, request, saved, self._schedule.work)

    def end_commit(self, commit: PendingCommit, pointer: Pointer | None) -> None:
        """Record a successful commit, and produce the outputs buffered meanwhile.

        Raises
        ------
        KafkaException, TaskError
            The buffered outputs cannot be produced.
        """
        self.transaction_size.committed(commit.position - self.committed, commit.seconds, MAX_BUFFERED_ROWS)
        self.saved, self.committed, self._pointer = commit.saved, commit.position, pointer
        self.in_memory_offset, self._decided = commit.position, False
        self.input_count.committed = commit.request.record.input_read
        self.snapshot_bytes = len(commit.request.snapshot or b"")
        self.plan_changes.committed(commit.request.adoptions, commit.position)
        self.emission_changes.committed(commit.request.emissions)
        if commit.request.snapshot is not None:
            self._schedule.written(commit.work)
            if self.merger is not None and (order := commit.request.record.order) is not None:
                self.merger.snapshot_taken(order.end)
        for outputs in self._take_buffered():
            self.checkpoint.produce(outputs)

    def reset(self) -> None:
        """Go back to CREATED, to be restored: whether the last commit happened is not known."""
        self._take_buffered()
        self.relearning.cancel()
        if self.plan_changes.adopted:
            self.in_memory_offset = None  # the state in memory is that of an earlier plan
        self.merger, self.checkpoint.open = None, False
        self.move(State.CREATED)

    def close(self) -> None:
        """Close the task without a commit."""
        self._take_buffered()
        self.relearning.cancel()
        self.checkpoint.close_producer()
        self.move(State.CLOSED)

    def _run(self) -> None:
        self._adopt_plans(max(self.position, self.committed), committing=self._emptied_plan > FIRST)
        self.input_count.require(max(self.position, self.committed))
        self.emission_changes.continue_at(max(self.position, self.committed), self.model)
        self.move(State.RUNNING)
        self.position = self.committed = self.in_memory_offset = max(self.position, self.committed)
        self.saved, self.input_count.committed = self.model.save(self.position), self.input_count.read

    def _learn(self, records: Records, emit: bool) -> Outputs:
        """Learn records, and adopt each plan at its offset among them."""
        learned = []
        while True:
            self._adopt_plans(int(records.offsets[0]))
            n = self.plan_changes.rows_before(self.model.plan.number, records.offsets)
            learned.append(self._advance_model(records.before(n), emit))
            records = records.after(n)
            if len(records) == 0:
                return joined(*learned)

    def prepare_relearning(self) -> None:
        """Between two batches: relearn the models of the next plan that are to be; pass it over if they cannot be."""
        plan = self.plan_changes.following(self.model.plan.number) if self.running and self.model.schema else None
        order = None if self.merger is None else self.merger.order
        if plan is None:
            self.relearning.cancel()
        elif why := self.relearning.prepare(self.model, plan, self._to_relearn(plan), self.position, order):
            self.plan_changes.pass_over(PlanAdoption(self.position, plan), why)

    def _to_relearn(self, plan: ModelPlan) -> tuple[str, ...]:
        return self.plan_changes.to_relearn(plan, self.model.plan)

    def _adopt_plans(self, following: int, committing: bool = False) -> None:
        """Adopt each plan that is due before the row at offset `following`."""
        while due := self.plan_changes.due(self.model.plan.number, self.position, following, committing):
            if self.model.schema is None and due.plan.number > self._emptied_plan:
                return  # whether its models fit the rows is not known yet
            before = self.model.plan
            try:
                self.model, due = self.relearning.followed_by(self.model, due, self._to_relearn(due.plan))
            except Failure as error:
                self.plan_changes.pass_over(due, str(error))
            else:
                self.plan_changes.adopt(due, before)

    def _advance_model(self, records: Records, emit: bool) -> Outputs:
        started = time.monotonic()
        outputs = self.model.advance(records, emit)
        if self._missing_outputs is not None and emit:
            outputs = self._missing_outputs.select(outputs, self.settings.topics)
        self._schedule.add(len(records), time.monotonic() - started, len(outputs.shares))
        if emit:
            if self.committing:
                self.buffer.append(outputs)
            else:
                self.checkpoint.produce(outputs)
        self.relearning.hand(records)
        self.position = outputs.next_offset
        self.input_count.add(len(records), self.position)
        return outputs

    def _take_buffered(self) -> list[Outputs]:
        """Mark that no commit is in flight; return the outputs buffered meanwhile."""
        self.committing = False
        return self.buffer.take()

    def _snapshot_due(self, saved: SavedState, closing: bool) -> bool:
        """Whether a snapshot is due: at the first and last commit, after a decision, enough work, or enough time."""
        if self._pointer is None or closing or self._decided or self.plan_changes.adopted:
            return True
        return self._schedule.due_by_work(saved.nbytes) or time.monotonic() >= self._snapshot_due_at
