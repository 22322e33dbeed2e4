"""The worker loop: poll a batch, advance each partition's task, commit what is due, handle rebalances.

One turn of the loop (`Worker.step`):

1. poll the clients: input records by partition, labels of the label topic, model updates of other partitions;
2. each task advances: decode, predict, learn, produce into its open transaction;
3. finished restores are applied (seek, resume); failed partitions are restored again when their retry is due;
4. finished commits are concluded; when a commit interval has passed, every task with an open transaction begins its
   next commit.

Rebalances arrive inside step 1 as callbacks: assigned (start a restore), revoked (commit under one deadline, then
close), lost (close). Nothing else may block a turn: restores and commits run in the background, and a batch is no
larger than what is learned in about a second. All failures are handled in the same way: the partition is paused and
restored, after growing pauses, and finally given up (`driftway.worker.stream.task.retries`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.errors import Failure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import ErrorAction, TaskError, TimedOut, with_right
from driftway.worker.kafka.log_reader.topic_facts import TopicIdReader
from driftway.worker.settings import EXACTLY_ONCE, WorkerSettings
from driftway.worker.stream.background.call import GRACE_SECONDS, BackgroundCall, end_process
from driftway.worker.stream.background.commit_interval import CommitInterval
from driftway.worker.stream.background.commits import PendingCommits
from driftway.worker.stream.background.model_changes import ModelChanges
from driftway.worker.stream.background.restores import PendingRestores
from driftway.worker.stream.consumer.assignment_watchdog import AssignmentWatchdog
from driftway.worker.stream.consumer.backpressure import Backpressure
from driftway.worker.stream.consumer.input_watch import InputWatch
from driftway.worker.stream.consumer.label_consumer import LabelConsumer
from driftway.worker.stream.consumer.partition_consumer import PartitionConsumer
from driftway.worker.stream.consumer.share_consumer import ShareConsumer
from driftway.worker.stream.first_events import FirstEvents
from driftway.worker.stream.memory import MemoryManager
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.observability.reporter import Reporter
from driftway.worker.stream.startup import check_properties, prepare_topics
from driftway.worker.stream.stop_at_end import StopAtEnd
from driftway.worker.stream.task.committing.checkpoint import Checkpoint, Probe
from driftway.worker.stream.task.committing.checkpoint_factory import make_checkpoint
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.retries import RetryPolicy
from driftway.worker.stream.task.task import Task
from driftway.worker.stream.warm_up import KernelPreparation
from driftway.worker.wire.events import Records
from driftway.worker.wire.rejections import TooManyRejected

IDLE_SECONDS = 0.1
"""Longest wait for a first message, and so the longest delay until a signal or a finished restore is noticed."""
COMMIT_SECONDS, LONGEST_COMMIT_SECONDS = 20.0, 45.0
"""Budget of one round of commits; after it their outcome is unknown and their tasks are restored. A cluster notices a
dead broker after 9 s by default, and then a partition has a new leader. Commits whose records are still being delivered
get the longer budget, which is below the transaction timeout."""
REVOKE_SECONDS, REVOKE_FRACTION = 12.0, 0.4
"""Budget for everything inside a revoke callback, and its largest share of `max.poll.interval.ms`."""


class Worker:
    """A member of the consumer group that owns some partitions of the input.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's options.
    event_log : EventLog
        Where events are logged.
    metrics : WorkerMetrics
        Metrics that the endpoint shows.
    probe : Probe or None
        Called at each commit step; for fault tests.
    """

    def __init__(
        self, settings: WorkerSettings, event_log: EventLog, metrics: WorkerMetrics, probe: Probe | None = None
    ) -> None:
        self.settings, self.event_log, self.metrics, self._probe = settings, event_log, metrics, probe
        self.tasks: dict[int, Task] = {}
        self._first_events = FirstEvents(settings, self.tasks)
        self._end = StopAtEnd(self.tasks, self._first_events)
        self.consumer: PartitionConsumer  # the group member; made by `run`
        self._model_changes = ModelChanges(settings, event_log, metrics, self.tasks)
        self._labels = LabelConsumer(settings, event_log, self.tasks)
        ids = TopicIdReader(settings, settings.input, settings.label_topic)
        self._inputs = InputWatch(ids, self.tasks)
        self._restores = PendingRestores(settings, ids)
        self._commits = PendingCommits(ids)
        self._retries = RetryPolicy(settings.unavailable_timeout)
        self._backpressure = Backpressure(self.tasks)
        self._interval = CommitInterval(self.tasks)
        self.stopping = self._leaving = False
        self._memory = MemoryManager()
        self.reporter = Reporter(settings, event_log, metrics, self.tasks)
        self._shares = ShareConsumer(settings, event_log, self.tasks, lambda: self.reporter.health.shares_partitions)
        self._watchdog = AssignmentWatchdog(settings, event_log, lambda: bool(self.tasks))

    def stop(self) -> None:
        """Finish the current turn, commit and leave the group. Safe in a signal handler."""
        self.stopping = True

    def run(self, kernels: KernelPreparation | None = None) -> None:
        """Work until `stop`, or (with `stop_at_end`) until everything has been read; `kernels` as `PlanReader.prepare`.

        Raises
        ------
        Failure
            Carries the message and exit code for the user.
        """
        check_properties(self.settings)
        cluster = prepare_topics(self.settings, self.event_log)
        self._restores.initial_partitions = cluster.initial_partitions
        self.reporter.health.input_partitions = cluster.partitions
        # Before subscribing: a member that compiles does not poll.
        compiled = self._model_changes.prepare(cluster.has_plans, lambda: self.stopping, kernels)
        self.event_log.event("kernels are compiled", compiled=compiled)
        rebalances, session_ms = (self._assigned, self._revoked, self._lost), cluster.broker_session_ms
        self.consumer = PartitionConsumer(self.settings, self.event_log, *rebalances, self.reporter.begin(), session_ms)
        self._watchdog.begin()
        self._model_changes.begin()
        clean = False
        self._memory.begin()
        try:
            while not self.stopping and not self._has_finished():
                self.step()
            clean = True
        except TooManyRejected:
            clean = True  # predictions and rejections so far are committed before the worker stops
            raise
        finally:
            self._watchdog.end()
            self._leave(clean)

    def _has_finished(self) -> bool:
        """Whether everything has been read, if the worker stops then."""
        if not self.settings.stop_at_end or not self._end.has_come(self.consumer.at_end, self.reporter.health.ends):
            return False
        return self._watchdog.others_have_read(self.tasks)

    def step(self) -> None:
        """One turn of the loop; the steps are those of the module's docstring."""
        self.reporter.turned()
        if batches := self._poll():
            self._advance_tasks(batches)
        self._collect_restores()
        self._collect_commits()
        self._retry_restores()
        self._backpressure.apply(self.consumer, self._await_commits)
        self._model_changes.follow()
        if self._interval.has_passed(self.consumer.member):
            # All at once, even those not due yet: a commit mostly waits for the broker, and they wait in parallel.
            self._begin_commits([task for task in self.tasks.values() if task.needs_commit()], self._commit_deadline())
        self._memory.collect()

    # 1. Polling.

    def _poll(self) -> list[tuple[int, Records | None]]:
        """Poll all clients; return records by partition, and None for those whose events only waited for labels."""
        limits = [min(task.transaction_size.max_rows, task.model.max_rows) for task in self.tasks.values()]
        self.consumer.batch_size.limit(limits)
        arrived = self.consumer.poll(self._poll_timeout())
        self._shares.poll()
        return [*((records.partition, records) for records in arrived), *self._labels.poll(arrived)]

    def _poll_timeout(self) -> float:
        """Seconds to wait for a first message: at most until a commit is due, and less while calls are in flight."""
        busy = self._restores or self._commits or any(task.waiting_events for task in self.tasks.values())
        return min(IDLE_SECONDS / 10 if busy else IDLE_SECONDS, self._interval.seconds_left)

    # 2. Advancing.

    def _advance_tasks(self, batches: Sequence[tuple[int, Records | None]]) -> None:
        """Let tasks process what `_poll` returned, and adapt the next batch to the time that takes."""
        started, max_rows = time.monotonic(), max(1, self.consumer.batch_size.rows // len(batches))
        taken = [self._advance(partition, records, max_rows) for partition, records in batches]
        seconds = time.monotonic() - started
        self.metrics.worker_metric(self.metrics.batch_duration).observe(seconds)
        full = bool(self.settings.label_topic) and max(taken) >= max_rows
        self.consumer.batch_size.adapt(seconds, sum(taken), full)

    def _advance(self, partition: int, records: Records | None, max_rows: int) -> int:
        """Let a task process records, if it is restored; return how many it took.

        None continues with events that waited for labels. It takes at most `max_rows`, or as many as have arrived.
        """
        task, arrived = self.tasks.get(partition), 0 if records is None else len(records)
        if task is None or not task.accepts_records:
            return arrived
        was_running, waited = task.running, task.waiting_events
        try:
            with self.reporter.tracing.batch(task, records):
                outputs = task.advance(records, max(max_rows, arrived))
        except (KafkaException, TaskError) as error:
            self._handle_failure(task, error)
            return arrived
        self.reporter.advanced(task, records, outputs, self.consumer.skipped_offsets.pop(partition, 0), was_running)
        if outputs is not None and outputs.excess is not None:
            raise outputs.excess
        self._first_events.count(task, outputs)
        if not was_running and task.running:
            self.reporter.running(task)
        return max(0, arrived + waited - task.waiting_events)

    # 3. Restoring.

    def _collect_restores(self) -> None:
        """Apply finished restores."""
        for call in self._restores.collect():
            task = call.task
            try:
                if task.state is not State.CREATED:
                    continue
                found = call.result()
                task.restore_from(found)
            except (KafkaException, TaskError) as error:
                if not call.done:
                    self._abandon(call)
                action, sentence = self._classify_failure(task, "restore failed", error)
                self._retries.record_failure(task.partition, action, f"{task}: {sentence}")
                continue
            self.reporter.restored(task, found, call.seconds)
            self._resume_at(task, task.position if found.start is None else found.start)

    def _resume_at(self, task: Task, offset: int) -> None:
        """Seek a restored task's partition to an offset and resume it."""
        if not self.consumer.seek_and_resume(task.partition, offset):
            self._restore_again(task, ErrorAction.RETRY, f"a seek to offset {offset} was refused")
        elif task.running:
            self.reporter.running(task)

    def _retry_restores(self) -> None:
        """Restore failed partitions whose retry is due, and those whose log does not hold what they read."""
        for task in self._accepting(self.consumer.misplaced):
            expected, received = self.reporter.misplaced[task.partition] = self.consumer.misplaced[task.partition]
            self._restore_again(task, ErrorAction.RETRY, f"offset {received} arrived where {expected} was expected")
        for task in self._accepting(self.consumer.unreadable):
            if not task.uncommitted:  # rows before the batch are committed first
                self._restore_again(task, ErrorAction.RETRY, self.consumer.unreadable[task.partition])
        for lost in (self.consumer.out_of_range, self._labels.take_out_of_range(), self._inputs.poll()):
            for task in self._accepting(lost):
                self.event_log.warning("input lost", partition=task.partition, error=lost[task.partition])
                self._restore_again(task, ErrorAction.ABORT, lost[task.partition])
        for partition in self._retries.due():
            if (failed := self.tasks.get(partition)) is not None and failed.state is State.CREATED:
                self._restores.submit(failed, self._retries.restore_timeout(partition))

    def _accepting(self, partitions: Iterable[int]) -> list[Task]:
        """The tasks of these partitions that accept records."""
        return [self.tasks[p] for p in partitions if p in self.tasks and self.tasks[p].accepts_records]

    # 4. Committing.

    def _begin_commits(self, tasks: Sequence[Task], deadline: Deadline, closing: bool = False) -> None:
        """Start the tasks' commits in parallel under one deadline."""
        self._interval.begin()
        inline = closing and self.settings.guarantee != EXACTLY_ONCE
        self._commits.submit(tasks, self.consumer.group_metadata(), deadline, closing, inline)
        if self.settings.guarantee != EXACTLY_ONCE:
            # These commits call the consumer, which allows one call at a time: the loop must not poll it meanwhile.
            self._await_commits(self.tasks, Deadline(deadline.left + 1.1 * GRACE_SECONDS))

    def _commit_deadline(self) -> Deadline:
        """The deadline of a round of commits; if the loop waits for them, it is well below the poll interval."""
        if self.settings.guarantee == EXACTLY_ONCE:
            return Deadline(COMMIT_SECONDS, at_most=LONGEST_COMMIT_SECONDS)
        return self._revoke_deadline()

    def _await_commits(self, partitions: Collection[int], deadline: Deadline, leaving: bool = False) -> None:
        """Wait for the partitions' commits in flight, at most until the deadline, and conclude them."""
        self._commits.wait(partitions, deadline)
        self._collect_commits(partitions if leaving else ())

    def _collect_commits(self, leaving: Collection[int] = ()) -> None:
        """Conclude finished commits and handle their errors."""
        for call, error in self._commits.collect(self.reporter.health.broker_left_at, leaving):
            task, partition = call.task, call.task.partition
            if not call.done:
                self._abandon(call)
            self.reporter.commit_ended(task, call.seconds, error)
            if error is None:
                self._retries.succeeded(partition)
                self._backpressure.committed(self.consumer, partition)
            elif partition in leaving:
                # The next owner starts from the last commit, whatever became of this one.
                self.event_log.warning("last commit failed", partition=partition, error=str(error))
                task.close()
                self.metrics.state(task)
            else:
                self._handle_failure(task, error)

    def _abandon(self, call: BackgroundCall[Any]) -> None:
        """Give a task a new checkpoint; the old one belongs to the call whose thread still uses it."""
        task = call.task
        if self.settings.guarantee != EXACTLY_ONCE and call.name == "commit":  # stuck in the only consumer
            end_process(f"the client did not return from the commit of {task}")
        call.abandon()
        task.checkpoint = self._make_checkpoint(task.partition)

    def _handle_failure(self, task: Task, error: KafkaException | TaskError) -> None:
        """Handle a failed call: stop the worker, or restore the task."""
        action, sentence = self._classify_failure(task, "commit failed", error)
        size = task.transaction_size
        if isinstance(error, TimedOut) and size.timed_out(task.open_rows):
            self.event_log.warning("smaller transactions", partition=task.partition, rows=size.max_rows)
        self._restore_again(task, action, sentence)

    def _classify_failure(self, task: Task, what: str, error: KafkaException | TaskError) -> tuple[ErrorAction, str]:
        """Log and count a failure; raise if no retry can help."""
        action, sentence = self.reporter.failure(error)
        self.event_log.warning(what, partition=task.partition, action=action.value, error=sentence)
        self.metrics.failed(task, what, action)
        self._watchdog.reset()
        if action is ErrorAction.FATAL:
            raise Failure(with_right(f"{task}: {sentence}", error, self.settings.group))
        return action, sentence

    def _restore_again(self, task: Task, action: ErrorAction, sentence: str) -> None:
        """Pause the partition, abandon its commit, reset the task and schedule a restore."""
        self.consumer.pause(task.partition)
        self._backpressure.forget(task.partition)
        for call in self._commits.cancel([task.partition]):
            self._abandon(call)
        self.metrics.aborted(task)
        task.reset()
        self.metrics.state(task)
        self._retries.record_failure(task.partition, action, f"{task}: {sentence}")

    # Rebalance callbacks, called inside step 1.

    def _assigned(self, partitions: list[int]) -> None:
        """Start restoring new partitions. Those that are assigned for a moment while leaving are ignored."""
        if self._leaving:
            return
        self.reporter.assigned()
        self._watchdog.reset()
        self.event_log.event("assigned", partitions=partitions)
        for partition in partitions:
            self._retries.reset(partition)
            checkpoint = self._make_checkpoint(partition)
            task = self.tasks[partition] = Task(self.settings, partition, checkpoint, self._model_changes.plans)
            self.metrics.state(task)
            self._restores.submit(task, self._retries.restore_timeout(partition))

    def _revoked(self, partitions: list[int]) -> None:
        """Commit and close partitions that are about to move, under one deadline."""
        self.event_log.event("revoked", partitions=partitions)
        self._commit_and_close(partitions, self._revoke_deadline())

    def _commit_and_close(self, partitions: list[int], deadline: Deadline) -> None:
        """Commit the partitions' open outputs and newer states, then close their tasks."""
        self._await_commits(partitions, deadline, leaving=True)
        if ours := [task for task in self._accepting(partitions) if task.needs_commit(closing=True)]:
            self._begin_commits(ours, deadline, closing=True)
        self._await_commits(partitions, deadline, leaving=True)
        self._close_dirty(partitions, deadline)

    def _lost(self, partitions: list[int]) -> None:
        """Close partitions that have moved already: nothing can be committed any more, and nothing is awaited."""
        self.event_log.warning("lost", partitions=partitions)
        self._close_dirty(partitions, Deadline(0.0))

    def _revoke_deadline(self) -> Deadline:
        """The budget for everything before partitions are released; the group waits for this worker meanwhile."""
        return Deadline(min(REVOKE_SECONDS, REVOKE_FRACTION * self.consumer.poll_interval_seconds))

    def _close_dirty(self, partitions: list[int], deadline: Deadline) -> None:
        """Close without commit; await restores in flight if time allows, since a late one fences the next owner."""
        calls: list[BackgroundCall[Any]] = [*self._commits.cancel(partitions)]
        calls += self._restores.cancel(partitions, deadline)
        self._watchdog.reset()
        for call in calls:
            self._abandon(call)
        for partition in partitions:
            self._retries.reset(partition)
            self._backpressure.forget(partition)
            if (task := self.tasks.pop(partition, None)) is not None and task.state is not State.CLOSED:
                task.close()
                self.metrics.state(task)

    def _make_checkpoint(self, partition: int) -> Checkpoint:
        return make_checkpoint(self.settings, partition, self.consumer.member, self._probe, self.reporter.callbacks)

    def _leave(self, clean: bool) -> None:
        """Commit open outputs if nothing went wrong, and leave the group."""
        self.reporter.leaving()
        if clean:
            self._commit_and_close(list(self.tasks), self._revoke_deadline())
        self.reporter.end()
        self._close_dirty(list(self.tasks), Deadline(0.0))
        self._leaving = True
        for clients in (self._labels, self._shares, self._model_changes, self.consumer):
            clients.close()
        self.event_log.event("left", group=self.settings.group)
