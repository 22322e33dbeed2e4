"""Commits that run beside the loop: a commit is a wait for the broker, and the loop has better to do.

`Task.begin_commit` and `Task.end_commit` belong to the loop's thread; only `PendingCommit.run` runs on another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TaskError, TimedOut
from driftway.worker.state.snapshot import Pointer
from driftway.worker.stream.background.call import BackgroundCall, await_all
from driftway.worker.stream.task.task import PendingCommit, Task


class PendingCommits:
    """The commits on their way, at most one per partition."""

    def __init__(self) -> None:
        self._underway: dict[int, tuple[PendingCommit, BackgroundCall[Pointer | None]]] = {}

    def __len__(self) -> int:
        return len(self._underway)

    def submit(
        self,
        tasks: Iterable[Task],
        group_metadata: Any,
        deadline: Deadline,
        closing: bool = False,
        inline: bool = False,
    ) -> None:
        """Start the commits of `tasks`, side by side, or one after the other and here, if `inline`.

        Other parameters as `Task.begin_commit` and `PendingCommit.run`.
        """
        for task in tasks:
            commit = task.begin_commit(closing)
            call = BackgroundCall(task, "commit", partial(commit.run, group_metadata, deadline), deadline, inline)
            self._underway[task.partition] = commit, call

    def wait(self, partitions: Collection[int], deadline: Deadline) -> None:
        """Wait until those of the partitions are over, at most until the deadline."""
        await_all([self._underway[p][1] for p in partitions if p in self._underway], deadline)

    def collect(self) -> Iterator[tuple[BackgroundCall[Pointer | None], KafkaException | TaskError | None]]:
        """End those that are over or stuck, and say what went wrong with each, for the caller to settle."""
        for partition, (commit, call) in list(self._underway.items()):
            if call.done or call.timed_out:
                del self._underway[partition]
                yield call, _finish(commit, call)

    def cancel(self, partitions: Collection[int]) -> list[BackgroundCall[Pointer | None]]:
        """Forget the commits of partitions that others own by now; return those that are still on their way."""
        return [self._underway.pop(partition)[1] for partition in partitions if partition in self._underway]


def _finish(commit: PendingCommit, call: BackgroundCall[Pointer | None]) -> KafkaException | TaskError | None:
    """Conclude a commit; return what went wrong."""
    task = call.task
    if not call.done:
        step = task.checkpoint.step
        return TimedOut(f"the client did not come back from the commit, whose last step was {step.value!r}")
    try:
        task.end_commit(commit, call.result())
    except (KafkaException, TaskError) as failure:
        return failure
    return None
