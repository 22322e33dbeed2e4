"""The worker: take a batch, let each partition's task advance, commit what is due, follow the group.

One turn of the loop (`Worker.step`):

1. take what the client has, grouped by partition;
2. each task advances: decode, predict, learn, produce into its open transaction;
3. restores that have finished are taken over: seek, resume;
4. commits that have finished are concluded; when a commit interval has passed, every task with an open transaction
   begins its next one.

Rebalances arrive inside 1, as callbacks: assigned (start a restore), revoked (commit under one deadline,
close), lost (close). Nothing else may block a turn: restores and commits run beside the loop on small pools.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaException

from worker.at_least_once import PlainCheckpoint
from worker.checkpoint import Checkpoint, Probe, TransactionalCheckpoint, Unfinished
from worker.commits import Commits
from worker.deadline import Deadline
from worker.errands import Errand, await_all, end_process
from worker.errors import Failure, Fenced, Unreachable
from worker.events import Records
from worker.fences import Fences
from worker.intake import BATCH_MESSAGES, Intake
from worker.journal import Journal
from worker.memory import give_back
from worker.model import warm
from worker.rejections import TooManyRejected
from worker.restores import Restores
from worker.settings import EXACTLY_ONCE, WorkerSettings
from worker.startup import check_properties, prepare_topics
from worker.task import State, Task
from worker.telemetry import Telemetry
from worker.verdicts import Verdict, judge

IDLE_SECONDS = 0.1
"""Longest wait for a first message: how late a signal or a finished restore may be noticed."""
COMMIT_SECONDS = 15.0
"""Budget of one round of commits; beyond it their outcome counts as unknown, and their tasks are restored."""
REVOKE_SECONDS = 20.0
"""Budget for everything inside a revoke callback; below `worker.intake.POLL_INTERVAL_MS`."""
MOST_HELD = 2 * BATCH_MESSAGES
"""Rows that a partition may learn while its commit is on its way; then the loop waits for the commit."""
TIDY_SECONDS = 30.0
"""Between two collections of garbage; see `_tidy`."""


class Worker:
    """A member of the consumer group that owns some partitions of the input.

    Parameters
    ----------
    settings : WorkerSettings
        What to do.
    journal : Journal
        Where events are logged.
    telemetry : Telemetry
        What the endpoint shows.
    probe : Probe or None
        Called at each commit step; for fault tests.
    """

    def __init__(
        self, settings: WorkerSettings, journal: Journal, telemetry: Telemetry, probe: Probe | None = None
    ) -> None:
        self.settings = settings
        self.journal = journal
        self.telemetry = telemetry
        self.tasks: dict[int, Task] = {}
        self._probe = probe
        self._intake: Intake | None = None
        self._restores = Restores(settings)
        self._fences = Fences()
        self._commits = Commits()
        self.stopping = False
        self._leaving = False
        self._tidy_at = 0.0

    @property
    def intake(self) -> Intake:
        """The group member; made by `run`."""
        if self._intake is None:
            raise RuntimeError("the worker is not running")
        return self._intake

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
        prepare_topics(self.settings, self.journal)
        warm(self.settings.model)  # before subscribing: a member that compiles does not poll
        self.journal.event("kernels are compiled")
        self._intake = Intake(self.settings, self.journal, self._assigned, self._revoked, self._lost)
        self.journal.event("subscribed", topic=self.settings.input, group=self.settings.group)
        clean = False
        self._tidy()
        gc.freeze()
        gc.disable()
        try:
            while not self.stopping and not self._finished():
                self.step()
            clean = True
        except TooManyRejected:
            clean = True  # what was predicted and set aside is committed before the worker stops
            raise
        finally:
            self._leave(clean)

    def step(self) -> None:
        """One turn of the loop; see the module's docstring."""
        arrived = self.intake.take(self._patience())
        if arrived:
            started = time.monotonic()
            for records in arrived:
                self._advance(records)
            self.telemetry.batch_seconds.observe(time.monotonic() - started)
        self._collect_restores()
        self._collect_commits()
        if any(task.held_rows > MOST_HELD for task in self.tasks.values()):
            self._await_commits()
        now = time.monotonic()
        if any(now >= task.due_at for task in self.tasks.values()):
            # All at once, the ones not due yet too: a commit is a wait for the broker, and they wait together.
            self._begin_commits(self._open_tasks(), Deadline(COMMIT_SECONDS))
        self._watch_fences()
        if now > self._tidy_at:
            self._tidy()

    def _tidy(self) -> None:
        """Collect garbage and give memory back now and then.

        Collecting every few hundred records took more than a third of the loop's time: each batch makes thousands of
        objects that live until its end and form no cycles.
        """
        gc.collect()
        give_back()
        self._tidy_at = time.monotonic() + TIDY_SECONDS

    def _patience(self) -> float:
        """Seconds to wait for a first message: until a commit is due, a restore or commit may be done, or a signal."""
        due = min((task.due_at for task in self.tasks.values()), default=float("inf"))
        idle = IDLE_SECONDS / 10 if self._restores or self._commits else IDLE_SECONDS
        return min(idle, max(0.0, due - time.monotonic()))

    # 2. Advancing.

    def _advance(self, records: Records) -> None:
        """Give a task its records. A partition that is not ours any more, or not restored yet, gets none."""
        task = self.tasks.get(records.partition)
        if task is None or not task.lives:
            return
        was = task.running
        try:
            outputs = task.advance(records)
        except KafkaException as error:
            self._settle(task, error)
            return
        self.telemetry.advanced(task, len(records), outputs)
        if outputs is not None and outputs.excess is not None:
            raise outputs.excess
        if not was and task.running:
            self._announce_running(task)

    # 3. Restoring.

    def _open_task(self, partition: int) -> None:
        task = Task(self.settings, partition, self._make_checkpoint(partition))
        self.tasks[partition] = task
        self.telemetry.state(task)
        self._restores.begin(task)

    def _collect_restores(self) -> None:
        """Take over restores that have finished."""
        for errand in self._restores.conclude():
            task, partition = errand.task, errand.task.partition
            if task.state is not State.CREATED:
                continue
            try:
                found = errand.result()
            except Unfinished as error:
                raise Unreachable(f"{self.settings.input}/{partition}: {error}") from None
            except KafkaException as error:
                if judge(error.args[0]) is Verdict.FENCED:
                    self._fence(task, error.args[0].str())
                    continue
                kind = Failure if judge(error.args[0]) is Verdict.FATAL else Unreachable
                raise kind(f"cannot take over {self.settings.input}/{partition}: {error.args[0].str()}") from None
            task.restored(found)
            self.intake.go_on_at(task.partition, task.position)
            place = {"partition": partition, "position": task.position, "committed": task.committed}
            self.journal.event("restored", **place, **({"note": found.note} if found.note else {}))
            if task.running:
                self._announce_running(task)

    def _announce_running(self, task: Task) -> None:
        self.telemetry.state(task)
        self.journal.event("running", partition=task.partition, position=task.position)

    # 4. Committing.

    def _open_tasks(self, partitions: Collection[int] | None = None) -> list[Task]:
        """Tasks with outputs to commit, of `partitions` or of all, that are not committing already."""
        chosen = self.tasks.values() if partitions is None else [self.tasks[p] for p in partitions if p in self.tasks]
        return [task for task in chosen if task.checkpoint.open and not task.committing]

    def _begin_commits(self, tasks: Sequence[Task], deadline: Deadline, closing: bool = False) -> None:
        """Start tasks' commits, side by side under one deadline."""
        if not tasks:
            return
        self._commits.begin(tasks, self.intake.membership(), deadline, closing)
        if self.settings.guarantee != EXACTLY_ONCE:
            # These commits call the consumer, which lets one call in at a time: the loop must not be polling it.
            self._await_commits()

    def _await_commits(self, leaving: Collection[int] = ()) -> None:
        """Wait for every commit on its way and conclude it."""
        self._commits.wait()
        self._collect_commits(leaving)

    def _collect_commits(self, leaving: Collection[int] = ()) -> None:
        """Conclude the commits that are over, and sort what went wrong."""
        for done in self._commits.conclude():
            if not done.errand.over:
                self._leave_behind(done.errand)
            if done.error is None:
                self.telemetry.committed(done.task, done.errand.seconds, self.intake.consumer)
            elif done.task.partition in leaving:
                # Its next owner starts from the last commit, whatever became of this one.
                self.journal.event("last commit failed", partition=done.task.partition, error=str(done.error))
                self._close(done.task)
            else:
                self._settle(done.task, done.error)

    def _leave_behind(self, errand: Errand[Any]) -> None:
        """Give a task another checkpoint; the old one belongs to the errand whose thread is still in it."""
        task = errand.task
        if self.settings.guarantee != EXACTLY_ONCE and errand.name == "commit":  # in the consumer: there is only one
            end_process(errand)
        errand.leave_behind()
        task.checkpoint = self._make_checkpoint(task.partition)

    def _settle(self, task: Task, error: KafkaException | Unfinished) -> None:
        """Act on a failed call: fence, rewind, restore, or stop."""
        verdict = Verdict.UNKNOWN if isinstance(error, Unfinished) else judge(error.args[0])
        sentence = str(error) if isinstance(error, Unfinished) else error.args[0].str()
        self.journal.event("commit failed", partition=task.partition, verdict=verdict.value, error=sentence)
        self.telemetry.failed(task, verdict)
        if verdict is Verdict.FATAL:
            raise Failure(f"{self.settings.input}/{task.partition}: {sentence}")
        if verdict is Verdict.FENCED:
            self._fence(task, sentence)
        elif verdict is Verdict.ABORT:
            self._rewind(task)
        else:
            self._restore_again(task)

    def _rewind(self, task: Task) -> None:
        """Abort and go back to the last commit; if even that fails, restore, unless another owner is in the way."""
        deadline = Deadline(COMMIT_SECONDS)
        errand = Errand(task, "abort", partial(task.checkpoint.abort, deadline), deadline)
        await_all([errand])
        try:
            errand.result()
        except (KafkaException, Unfinished) as error:
            if isinstance(error, KafkaException) and judge(error.args[0]) is Verdict.FENCED:
                self._fence(task, error.args[0].str())
                return
            if not errand.over:
                self._leave_behind(errand)
            self._restore_again(task)
            return
        task.rewind()
        self.intake.go_on_at(task.partition, task.position)

    def _restore_again(self, task: Task) -> None:
        self.intake.pause(task.partition)
        task.reopen()
        self.telemetry.state(task)
        self._restores.begin(task)

    def _fence(self, task: Task, sentence: str) -> None:
        """Another owner is at work: let go, and expect the group to say so."""
        self.journal.event("fenced", partition=task.partition, error=sentence)
        self._close(task)
        self._fences.add(task.partition)

    def _watch_fences(self) -> None:
        """A partition that was fenced and still is ours is restored."""
        for partition in self._fences.stayed():
            if self._fences.too_often(partition):
                raise Fenced(
                    f"{self.settings.input}/{partition}: another producer keeps taking over transactional.id "
                    f"{self.settings.group}-{self.settings.input}-{partition} without being in the group"
                )
            self._open_task(partition)

    # The group's callbacks, called inside 1.

    def _assigned(self, partitions: list[int]) -> None:
        """Partitions are ours: restore them beside the loop. Leaving a group may hand over some for a moment."""
        if self._leaving:
            return
        self.telemetry.rebalances.inc()
        self.journal.event("assigned", partitions=partitions)
        for partition in partitions:
            self._fences.moved(partition)
            self._open_task(partition)

    def _revoked(self, partitions: list[int]) -> None:
        """Partitions are about to move: commit what is open under one deadline, then let go."""
        self.journal.event("revoked", partitions=partitions)
        deadline = Deadline(REVOKE_SECONDS)
        self._await_commits(leaving=partitions)
        self._begin_commits(self._open_tasks(partitions), deadline, closing=True)
        self._await_commits(leaving=partitions)
        self._drop(partitions, wait=True)

    def _lost(self, partitions: list[int]) -> None:
        """Partitions have moved already: nothing of theirs can be committed any more, nor is it waited for."""
        self.journal.event("lost", partitions=partitions)
        self._drop(partitions, wait=False)

    def _drop(self, partitions: list[int], wait: bool) -> None:
        """Forget partitions. A takeover in flight is waited for, if told: landing later, it fences the next owner."""
        errands: list[Errand[Any]] = [*self._commits.forget(partitions), *self._restores.forget(partitions, wait)]
        for errand in errands:
            self._leave_behind(errand)
        for partition in partitions:
            self._fences.moved(partition)
            task = self.tasks.pop(partition, None)
            if task is not None and task.state is not State.CLOSED:
                self._close(task)

    def _close(self, task: Task) -> None:
        task.close()
        self.telemetry.state(task)

    # Starting and leaving.

    def _make_checkpoint(self, partition: int) -> Checkpoint:
        if self.settings.guarantee == EXACTLY_ONCE:
            return TransactionalCheckpoint(self.settings, partition, self._probe)
        return PlainCheckpoint(self.settings, partition, self.intake.consumer, self._probe)

    def _finished(self) -> bool:
        """With `stop_at_end`: every assigned partition is running, read to its end and committed."""
        return (
            self.settings.stop_at_end
            and bool(self.tasks)
            and all(
                task.state is State.RUNNING
                and p in self.intake.at_end
                and not (task.checkpoint.open or task.committing)
                for p, task in self.tasks.items()
            )
        )

    def _leave(self, clean: bool) -> None:
        """Commit what is open (if nothing went wrong), leave the group."""
        if clean:
            self._await_commits(leaving=self.tasks.keys())
            self._begin_commits(self._open_tasks(), Deadline(REVOKE_SECONDS), closing=True)
        self._await_commits(leaving=self.tasks.keys())
        self._drop(list(self.tasks), wait=clean)
        self._leaving = True
        self.intake.close()
        self.journal.event("left", group=self.settings.group)
