"""Commits that run in the background, because they mostly wait for the broker.

`Task.begin_commit` and `Task.end_commit` run on the loop's thread; only `PendingCommit.run` runs on another.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TaskError, TimedOut
from driftway.worker.kafka.log_reader.topic_facts import TopicIdReader
from driftway.worker.state.changelog.input_count import require_topics
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.stream.background.call import BackgroundCall, await_all
from driftway.worker.stream.task.committing.pending_commit import PendingCommit
from driftway.worker.stream.task.task import Task

ID_SECONDS = 10.0
"""How long a commit waits for the ids of the input topics."""


class PendingCommits:
    """The commits in flight, at most one per partition.

    Parameters
    ----------
    ids : TopicIdReader or None
        Asks, during each commit, for the ids of the input topics; None: nobody asks.
    """

    def __init__(self, ids: TopicIdReader | None = None) -> None:
        self._ids = ids
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
        """Start the commits of `tasks` in parallel, or one after the other on this thread if `inline`.

        Other parameters as `Task.begin_commit` and `PendingCommit.run`.
        """
        since = time.monotonic()
        for task in tasks:
            commit = task.begin_commit(closing)
            run = partial(self._run, commit, group_metadata, deadline, since)
            call = BackgroundCall(task, "commit", run, deadline, inline)
            self._underway[task.partition] = commit, call

    def _run(self, commit: PendingCommit, group_metadata: Any, deadline: Deadline, since: float) -> Pointer | None:
        """Commit, if the rows are of the topics that the task was restored for: nothing else notices new ones at once.

        The broker is asked for the topics' ids while it gets the outputs.

        Raises
        ------
        TopicRecreated
            They are not.
        """
        ids = self._ids
        if ids is None:
            return commit.run(group_metadata, deadline)

        def require_same_topics() -> None:
            answer = ids.ask(Deadline(min(ID_SECONDS, deadline.left)), since)
            require_topics(commit.request.record.input_read, *answer)

        ids.begin(since)
        return commit.run(group_metadata, deadline, require_same_topics)

    def wait(self, partitions: Collection[int], deadline: Deadline) -> None:
        """Wait for the commits of the partitions, at most until the deadline."""
        await_all([self._underway[p][1] for p in partitions if p in self._underway], deadline)

    def collect(
        self, broker_left_at: float = float("-inf"), leaving: Collection[int] = ()
    ) -> Iterator[tuple[BackgroundCall[Pointer | None], KafkaException | TaskError | None]]:
        """Conclude commits that have finished or got stuck; yield each with its error, for the caller to handle.

        `broker_left_at` is the time at which a broker last left the cluster, by `time.monotonic`. Commits of the
        partitions in `leaving`, which nobody will conclude later, count as stuck.
        """
        for partition, (commit, call) in list(self._underway.items()):
            stuck = call.timed_out or call.task.checkpoint.has_lost_coordinator(broker_left_at)
            if call.done or stuck or partition in leaving:
                del self._underway[partition]
                yield call, _finish(commit, call)

    def cancel(self, partitions: Collection[int]) -> list[BackgroundCall[Pointer | None]]:
        """Forget the partitions' commits in flight, without concluding them, and return their calls."""
        return [self._underway.pop(partition)[1] for partition in partitions if partition in self._underway]


def _finish(commit: PendingCommit, call: BackgroundCall[Pointer | None]) -> KafkaException | TaskError | None:
    """Conclude a commit; return its error, None if it succeeded."""
    task = call.task
    if not call.done:
        step = task.checkpoint.step
        return TimedOut(f"the client did not return from the commit, whose last step was {step.value!r}")
    try:
        task.end_commit(commit, call.result())
    except (KafkaException, TaskError) as failure:
        return failure
    return None
