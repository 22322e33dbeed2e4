"""Commits that run beside the loop: a commit is a wait for the broker, and the loop has better to do.

`Task.begin_commit` and `Task.end_commit` belong to the loop's thread; only `Commit.carry` runs on another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import Setback, Unfinished
from driftway.worker.state.snapshot import Pointer
from driftway.worker.stream.background.call import Errand, await_all
from driftway.worker.stream.task.task import Commit, Task


class CommitErrands:
    """The commits on their way, at most one per partition."""

    def __init__(self) -> None:
        self._underway: dict[int, tuple[Commit, Errand[Pointer | None]]] = {}

    def __len__(self) -> int:
        return len(self._underway)

    def begin(
        self, tasks: Iterable[Task], membership: Any, deadline: Deadline, closing: bool = False, inline: bool = False
    ) -> None:
        """Start the commits of `tasks`, side by side, or one after the other and here, if `inline`.

        Other parameters as `Task.begin_commit` and `Commit.carry`.
        """
        for task in tasks:
            commit = task.begin_commit(closing)
            errand = Errand(task, "commit", partial(commit.carry, membership, deadline), deadline, inline)
            self._underway[task.partition] = commit, errand

    def wait(self, partitions: Collection[int], deadline: Deadline) -> None:
        """Wait until those of the partitions are over, at most until the deadline."""
        await_all([self._underway[p][1] for p in partitions if p in self._underway], deadline)

    def conclude(self) -> Iterator[tuple[Errand[Pointer | None], KafkaException | Setback | None]]:
        """End those that are over or stuck, and say what went wrong with each, for the caller to settle."""
        for partition, (commit, errand) in list(self._underway.items()):
            if errand.over or errand.stuck:
                del self._underway[partition]
                yield errand, _end(commit, errand)

    def forget(self, partitions: Collection[int]) -> list[Errand[Pointer | None]]:
        """Forget the commits of partitions that others own by now; return those that are still on their way."""
        return [self._underway.pop(partition)[1] for partition in partitions if partition in self._underway]


def _end(commit: Commit, errand: Errand[Pointer | None]) -> KafkaException | Setback | None:
    """Conclude a commit; return what went wrong."""
    task = errand.task
    if not errand.over:
        step = task.checkpoint.step
        return Unfinished(f"the client did not come back from the commit, whose last step was {step.value!r}")
    try:
        task.end_commit(commit, errand.result())
    except (KafkaException, Setback) as failure:
        return failure
    return None
