"""Pause partitions that deliver more than can go on: outputs that wait for a commit, events that wait for labels.

A pause drops what the client has fetched, so it must be rare. Without one, a backlog would be held in memory: of events
whenever the label topic has more records than the input, since the loop takes as many of both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.stream.consumer.label_consumer import MAX_WAITING_BYTES
from driftway.worker.stream.consumer.partition_consumer import PartitionConsumer
from driftway.worker.stream.task.task import Task

PAUSE_AFTER_SECONDS = 0.1
"""How long the loop waits for the commit of a partition with too many buffered outputs before pausing it."""
MAX_WAITING_EVENTS = 100_000
"""Events of a partition that may wait for labels; above that, or above MAX_WAITING_BYTES, it is paused until they are
half of it."""


class Backpressure:
    """The partitions that are paused, and why.

    Parameters
    ----------
    tasks : mapping
        Partition -> its task.
    """

    def __init__(self, tasks: Mapping[int, Task]) -> None:
        self._tasks = tasks
        self._for_commits: set[int] = set()
        """Paused until their commit in flight succeeds."""
        self._for_labels: set[int] = set()
        """Paused until labels have come for the events that wait."""

    def apply(self, consumer: PartitionConsumer, await_commits: Callable[[Collection[int], Deadline], object]) -> None:
        """Pause partitions, after a short wait for commits with too many outputs behind them; resume others."""
        if slow := [p for p, task in self._tasks.items() if task.holds_too_much and p not in self._for_commits]:
            await_commits(slow, Deadline(PAUSE_AFTER_SECONDS))
        for partition in [p for p in slow if self._tasks[p].holds_too_much]:
            self._for_commits.add(partition)
            consumer.pause(partition)
        for partition, task in self._tasks.items():
            paused = partition in self._for_labels
            ahead = _is_ahead(task, paused)
            if ahead and not paused:
                self._for_labels.add(partition)
                consumer.pause(partition)
            elif paused and not ahead:
                self._for_labels.remove(partition)
                self._resume(consumer, partition)

    def committed(self, consumer: PartitionConsumer, partition: int) -> None:
        """Resume a partition whose commit has succeeded, if it was paused for that."""
        if partition in self._for_commits:
            self._for_commits.remove(partition)
            self._resume(consumer, partition)

    def forget(self, partition: int) -> None:
        """Forget a partition: it is restored, and resumed then, or it has moved away."""
        self._for_commits.discard(partition)
        self._for_labels.discard(partition)

    def _resume(self, consumer: PartitionConsumer, partition: int) -> None:
        if partition not in self._for_commits | self._for_labels:
            consumer.resume(partition)


def _is_ahead(task: Task, paused: bool) -> bool:
    """Whether so many events of a task wait for labels that its partition is, or stays, `paused`."""
    if task.merger is None:
        return False
    share, events, nbytes = 2 if paused else 1, task.merger.waiting_events, task.merger.waiting_event_bytes
    return events * share >= MAX_WAITING_EVENTS or nbytes * share >= MAX_WAITING_BYTES
