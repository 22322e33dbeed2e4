"""The worker: take a batch, let each partition's task advance, commit what is due, follow the group.

One turn of the loop (`Worker.step`):

1. take what the client has, grouped by partition, labels out of a topic of their own, what other partitions share;
2. each task advances: decode, predict, learn, produce into its open transaction;
3. restores that have finished are taken over: seek, resume; those of partitions in trouble begin when it is time;
4. commits that have finished are concluded; when a commit interval has passed, every task with an open transaction
   begins its next one.

Rebalances arrive inside 1, as callbacks: assigned (start a restore), revoked (commit under one deadline,
close), lost (close). Nothing else may block a turn: restores and commits run beside the loop, and a batch is no larger
than what was learned in a second. Whatever fails ends the same way: the partition is paused and restored, later each
time, and at last given up (`driftway.worker.stream.task.retries`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.errors import Failure
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import ErrorAction, TaskError, classify_failure
from driftway.worker.settings import EXACTLY_ONCE, WorkerSettings
from driftway.worker.stream.background.call import GRACE_SECONDS, BackgroundCall, end_process
from driftway.worker.stream.background.commits import PendingCommits
from driftway.worker.stream.background.restores import PendingRestores
from driftway.worker.stream.consumer.assignment_watchdog import AssignmentWatchdog
from driftway.worker.stream.consumer.label_consumer import LabelConsumer
from driftway.worker.stream.consumer.partition_consumer import PartitionConsumer
from driftway.worker.stream.consumer.share_consumer import ShareConsumer
from driftway.worker.stream.memory import MemoryManager
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.observability.reporter import Reporter
from driftway.worker.stream.startup import check_properties, prepare_topics
from driftway.worker.stream.task.at_least_once import AtLeastOnceCheckpoint
from driftway.worker.stream.task.checkpoint import Checkpoint, Probe
from driftway.worker.stream.task.exactly_once import ExactlyOnceCheckpoint
from driftway.worker.stream.task.retries import RetryPolicy
from driftway.worker.stream.task.task import State, Task
from driftway.worker.stream.warm_up import prepare_kernels
from driftway.worker.wire.events import Records
from driftway.worker.wire.rejections import TooManyRejected

IDLE_SECONDS = 0.1
"""Longest wait for a first message: how late a signal or a finished restore may be noticed."""
COMMIT_SECONDS, LONGEST_COMMIT_SECONDS = 8.0, 45.0
"""Budget of one round of commits; beyond it their outcome is not known, and their tasks are restored. Commits whose
records are still being delivered have the longer one, below the transaction's timeout."""
REVOKE_SECONDS, REVOKE_FRACTION = 12.0, 0.4
"""Budget for everything inside a revoke callback, and its largest share of `max.poll.interval.ms`."""
MAX_UNCOMMITTED_ROWS, PAUSE_AFTER_SECONDS = 2 * BATCH_MESSAGES, 0.1
"""Rows that a partition may learn while its commit is on its way; then that is waited for, so long, then it pauses."""


class Worker:
    """A member of the consumer group that owns some partitions of the input.

    Parameters
    ----------
    settings : WorkerSettings
        What to do.
    event_log : EventLog
        Where events are logged.
    metrics : WorkerMetrics
        What the endpoint shows.
    probe : Probe or None
        Called at each commit step; for fault tests.
    """

    def __init__(
        self, settings: WorkerSettings, event_log: EventLog, metrics: WorkerMetrics, probe: Probe | None = None
    ) -> None:
        self.settings, self.event_log, self.metrics = settings, event_log, metrics
        self.tasks: dict[int, Task] = {}
        self._probe = probe
        self.consumer: PartitionConsumer  # the group member; made by `run`
        self._labels = LabelConsumer(settings, event_log, self.tasks)
        self._restores = PendingRestores(settings)
        self._commits = PendingCommits()
        self._retries = RetryPolicy(settings.give_up_after)
        self._paused: set[int] = set()
        """Partitions that have learned enough while their commit is on its way."""
        self.stopping = False
        self._leaving = False
        self._memory = MemoryManager()
        self.reporter = Reporter(settings, event_log, metrics, self.tasks)
        self._shares = ShareConsumer(settings, event_log, self.tasks, lambda: self.reporter.health.shares_partitions)
        self._watchdog = AssignmentWatchdog(settings, event_log, lambda: bool(self.tasks))

    def stop(self) -> None:
        """Finish the turn, commit, leave. Safe in a signal handler."""
        self.stopping = True

    def run(self) -> None:
        """Work until `stop`, or (with `stop_at_end`) until everything has been read.

        Raises
        ------
        Failure
            With the sentence and exit code for the user.
        """
        check_properties(self.settings)
        self._restores.initial_partitions = prepare_topics(self.settings, self.event_log)
        # Before subscribing: a member that compiles does not poll.
        prepare_kernels(self.settings, lambda: self.stopping)
        self.event_log.event("kernels are compiled")
        rebalances = self._assigned, self._revoked, self._lost
        self.consumer = PartitionConsumer(self.settings, self.event_log, *rebalances, self.reporter.begin())
        self._watchdog.begin()
        clean = False
        self._memory.begin()
        try:
            while not self.stopping and not self._finished():
                self.step()
            clean = True
        except TooManyRejected:
            clean = True  # what was predicted and set aside is committed before the worker stops
            raise
        finally:
            self._watchdog.end()
            self._leave(clean)

    def step(self) -> None:
        """One turn of the loop; see the module's docstring."""
        self.reporter.turned()
        arrived = self.consumer.poll(self._poll_timeout())
        self._shares.poll()
        if flowing := [*((records.partition, records) for records in arrived), *self._labels.poll(arrived)]:
            started = time.monotonic()
            for partition, records in flowing:
                self._advance(partition, records)
            seconds = time.monotonic() - started
            self.metrics.worker_metric(self.metrics.batch_seconds).observe(seconds)
            self.consumer.adapt_batch_size(seconds, sum(map(len, arrived)))
        self._collect_restores()
        self._collect_commits()
        self._retry_restores()
        self._apply_backpressure()
        if any(time.monotonic() >= task.due_at for task in self.tasks.values()):
            # All at once, the ones not due yet too: a commit is a wait for the broker, and they wait together.
            self._begin_commits(self._open_tasks(), self._commit_deadline())
        self._memory.collect()

    def _poll_timeout(self) -> float:
        """Seconds to wait for a first message: until a commit is due, a restore or commit may be done, or a signal."""
        due = min((task.due_at for task in self.tasks.values()), default=float("inf"))
        idle = IDLE_SECONDS / 10 if self._restores or self._commits else IDLE_SECONDS
        return min(idle, max(0.0, due - time.monotonic()))

    # 2. Advancing.

    def _advance(self, partition: int, records: Records | None) -> None:
        """Give a task its records, None: those that waited. One that is not ours, or not restored yet, gets none."""
        task = self.tasks.get(partition)
        if task is None or not task.accepts_records:
            return
        was = task.running
        try:
            outputs = task.advance(records)
        except (KafkaException, TaskError) as error:
            self._handle_failure(task, error)
            return
        self.reporter.advanced(task, records, outputs, self.consumer.skipped_offsets.pop(partition, 0), was)
        if outputs is not None and outputs.excess is not None:
            raise outputs.excess
        if not was and task.running:
            self._announce_running(task)

    def _apply_backpressure(self) -> None:
        """Where too much would be learned again: wait a moment, then pause, which throws away what was fetched."""
        if slow := [
            p for p, task in self.tasks.items() if task.buffered_rows > MAX_UNCOMMITTED_ROWS and p not in self._paused
        ]:
            self._await_commits(slow, Deadline(PAUSE_AFTER_SECONDS))
        for partition in [p for p in slow if self.tasks[p].buffered_rows > MAX_UNCOMMITTED_ROWS]:
            self._paused.add(partition)
            self.consumer.pause(partition)

    # 3. Restoring.

    def _open_task(self, partition: int) -> None:
        task = Task(self.settings, partition, self._make_checkpoint(partition))
        self.tasks[partition] = task
        self.metrics.state(task)
        self._restores.submit(task, self._retries.restore_timeout(partition))

    def _collect_restores(self) -> None:
        """Take over restores that have finished."""
        for call in self._restores.collect():
            task, partition = call.task, call.task.partition
            if task.state is not State.CREATED:
                continue
            try:
                found = call.result()
            except (KafkaException, TaskError) as error:
                if not call.done:
                    self._abandon(call)
                self._record_failure(task, "restore failed", error)
                continue
            task.restore_from(found)
            place = {"partition": partition, "position": task.position, "committed": task.committed}
            remembered = {"from": "memory"} if found.model is None else {}
            self.event_log.event("restored", **place, **remembered, **({"note": found.note} if found.note else {}))
            self.metrics.restored(task, found, call.seconds)
            self._resume_at(task, task.position if found.start is None else found.start)

    def _resume_at(self, task: Task, offset: int) -> None:
        """Let a restored task's partition flow from an offset."""
        if not self.consumer.seek_and_resume(task.partition, offset):
            self._restore_again(task, ErrorAction.RETRY, f"a seek to offset {offset} was refused")
        elif task.running:
            self._announce_running(task)

    def _retry_restores(self) -> None:
        """Restore partitions in trouble whose time has come, and those whose rows come from the wrong place."""
        for partition, (asked, came) in list(self.consumer.misplaced.items()):
            task = self.tasks.get(partition)
            if task is not None and task.accepts_records:
                self.event_log.event("rows from elsewhere", partition=partition, asked=asked, came=came)
                self.metrics.partition_metric(self.metrics.strays, partition).inc()
                self._restore_again(task, ErrorAction.RETRY, f"offset {came} came where {asked} was asked for")
        for partition in self._retries.due():
            task = self.tasks.get(partition)
            if task is not None and task.state is State.CREATED:
                self._restores.submit(task, self._retries.restore_timeout(partition))

    def _announce_running(self, task: Task) -> None:
        self.metrics.state(task)
        self.event_log.event("running", partition=task.partition, position=task.position)

    # 4. Committing.

    def _open_tasks(self, partitions: Collection[int] | None = None) -> list[Task]:
        """Tasks with outputs to commit, of `partitions` or of all, that are not committing already."""
        chosen = self.tasks.values() if partitions is None else [self.tasks[p] for p in partitions if p in self.tasks]
        return [task for task in chosen if task.checkpoint.open and not task.committing]

    def _begin_commits(self, tasks: Sequence[Task], deadline: Deadline, closing: bool = False) -> None:
        """Start tasks' commits, side by side under one deadline."""
        if not tasks:
            return
        inline = closing and self.settings.guarantee != EXACTLY_ONCE
        self._commits.submit(tasks, self.consumer.group_metadata(), deadline, closing, inline)
        if self.settings.guarantee != EXACTLY_ONCE:
            # These commits call the consumer, which lets one call in at a time: the loop must not be polling it.
            self._await_commits(self.tasks, Deadline(deadline.left + 1.1 * GRACE_SECONDS))

    def _commit_deadline(self) -> Deadline:
        """Of a round of commits; one that the loop waits for has to be over before the group loses patience."""
        if self.settings.guarantee == EXACTLY_ONCE:
            return Deadline(COMMIT_SECONDS, at_most=LONGEST_COMMIT_SECONDS)
        return self._revoke_deadline()

    def _await_commits(self, partitions: Collection[int], deadline: Deadline, leaving: bool = False) -> None:
        """Wait until the partitions' commits on their way are over, at most until the deadline, and conclude them."""
        self._commits.wait(partitions, deadline)
        self._collect_commits(partitions if leaving else ())

    def _collect_commits(self, leaving: Collection[int] = ()) -> None:
        """Conclude the commits that are over, and sort what went wrong."""
        for call, error in self._commits.collect():
            task, partition = call.task, call.task.partition
            if not call.done:
                self._abandon(call)
            if error is None:
                self._retries.succeeded(partition)
                self.reporter.committed(task, call.seconds)
                if partition in self._paused:
                    self._paused.remove(partition)
                    self.consumer.resume(partition)
            elif partition in leaving:
                # Its next owner starts from the last commit, whatever became of this one.
                self.event_log.event("last commit failed", partition=partition, error=str(error))
                self._close(task)
            else:
                self._handle_failure(task, error)

    def _abandon(self, call: BackgroundCall[Any]) -> None:
        """Give a task another checkpoint; the old one belongs to the call whose thread is still in it."""
        task = call.task
        if self.settings.guarantee != EXACTLY_ONCE and call.name == "commit":  # in the consumer: there is only one
            end_process(f"the client did not come back from the commit of {task}")
        call.abandon()
        task.checkpoint = self._make_checkpoint(task.partition)

    def _handle_failure(self, task: Task, error: KafkaException | TaskError) -> None:
        """Act on a failed call: stop, or restore."""
        verdict, sentence = self._classify_failure(task, "commit failed", error)
        self._restore_again(task, verdict, sentence)

    def _record_failure(self, task: Task, what: str, error: KafkaException | TaskError) -> None:
        """A task that is CREATED has failed: it stays so until it is ready for another try."""
        verdict, sentence = self._classify_failure(task, what, error)
        self._retries.record_failure(task.partition, verdict, f"{task}: {sentence}")

    def _classify_failure(self, task: Task, what: str, error: KafkaException | TaskError) -> tuple[ErrorAction, str]:
        """Log and count a failure; stop for what no retry helps against."""
        verdict, sentence = classify_failure(error)
        self.event_log.event(what, partition=task.partition, verdict=verdict.value, error=sentence)
        self.metrics.failed(task, what, verdict)
        self._watchdog.reset()
        if verdict is ErrorAction.FATAL:
            raise Failure(f"{task}: {sentence}")
        return verdict, sentence

    def _restore_again(self, task: Task, verdict: ErrorAction, sentence: str) -> None:
        """Nothing is certain any more: hold the partition back, and restore it when it is time."""
        self.consumer.pause(task.partition)
        self._paused.discard(task.partition)
        for call in self._commits.cancel([task.partition]):
            self._abandon(call)
        self.metrics.aborted(task)
        task.reset()
        self.metrics.state(task)
        self._retries.record_failure(task.partition, verdict, f"{task}: {sentence}")

    # The group's callbacks, called inside 1.

    def _assigned(self, partitions: list[int]) -> None:
        """Partitions are ours: restore them beside the loop. Leaving a group may hand over some for a moment."""
        if self._leaving:
            return
        self.metrics.worker_metric(self.metrics.rebalances).inc()
        self._watchdog.reset()
        self.event_log.event("assigned", partitions=partitions)
        for partition in partitions:
            self._retries.reset(partition)
            self._open_task(partition)

    def _revoked(self, partitions: list[int]) -> None:
        """Partitions are about to move: commit what is open, then let go, all under one deadline."""
        self.event_log.event("revoked", partitions=partitions)
        self._commit_and_close(partitions, self._revoke_deadline())

    def _commit_and_close(self, partitions: list[int], deadline: Deadline) -> None:
        """Commit what is open of partitions, and let them go."""
        self._await_commits(partitions, deadline, leaving=True)
        self._begin_commits(self._open_tasks(partitions), deadline, closing=True)
        self._await_commits(partitions, deadline, leaving=True)
        self._close_dirty(partitions, deadline)

    def _lost(self, partitions: list[int]) -> None:
        """Partitions have moved already: nothing of theirs can be committed any more, nor is it waited for."""
        self.event_log.event("lost", partitions=partitions)
        self._close_dirty(partitions, Deadline(0.0))

    def _revoke_deadline(self) -> Deadline:
        """What may be waited for before partitions are let go: the group waits for this worker meanwhile."""
        return Deadline(min(REVOKE_SECONDS, REVOKE_FRACTION * self.consumer.poll_interval_seconds))

    def _close_dirty(self, partitions: list[int], deadline: Deadline) -> None:
        """Forget partitions; a takeover in flight is waited for as time allows: landing later, it fences the next."""
        calls: list[BackgroundCall[Any]] = [*self._commits.cancel(partitions)]
        calls += self._restores.cancel(partitions, deadline)
        self._watchdog.reset()
        for call in calls:
            self._abandon(call)
        for partition in partitions:
            self._retries.reset(partition)
            self._paused.discard(partition)
            task = self.tasks.pop(partition, None)
            if task is not None and task.state is not State.CLOSED:
                self._close(task)

    def _close(self, task: Task) -> None:
        task.close()
        self.metrics.state(task)

    # Starting and leaving.

    def _make_checkpoint(self, partition: int) -> Checkpoint:
        if self.settings.guarantee == EXACTLY_ONCE:
            return ExactlyOnceCheckpoint(self.settings, partition, self._probe, self.reporter.callbacks)
        member = self.consumer.member
        return AtLeastOnceCheckpoint(self.settings, partition, member, self._probe, self.reporter.callbacks)

    def _finished(self) -> bool:
        """With `stop_at_end`: every assigned partition is running, read to its end and committed."""
        over = (task.running and p in self.consumer.at_end and not task.uncommitted for p, task in self.tasks.items())
        return self.settings.stop_at_end and bool(self.tasks) and all(over)

    def _leave(self, clean: bool) -> None:
        """Commit what is open (if nothing went wrong), leave the group."""
        if clean:
            self._commit_and_close(list(self.tasks), self._revoke_deadline())
        self.reporter.end()
        self._close_dirty(list(self.tasks), Deadline(0.0))
        self._leaving = True
        self._labels.close()
        self._shares.close()
        self.consumer.close()
        self.event_log.event("left", group=self.settings.group)
