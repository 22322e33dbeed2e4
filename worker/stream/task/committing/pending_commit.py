"""A commit that has begun: it runs in the background and changes nothing of its task."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import SavedState
from driftway.worker.stream.task.committing.checkpoint import Checkpoint
from driftway.worker.stream.task.committing.commit_request import CommitRequest
from driftway.worker.stream.task.snapshot_schedule import WorkDone


@dataclass(frozen=True)
class PendingCommit:
    """A task's state when a commit began, and the checkpoint it had then: it may get another one meanwhile."""

    checkpoint: Checkpoint
    request: CommitRequest
    saved: SavedState
    work: WorkDone
    began_at: float = field(default_factory=time.monotonic)

    @property
    def position(self) -> int:
        """The next input offset to read."""
        return self.request.record.offset

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began_at

    def run(
        self, group_metadata: Any, deadline: Deadline, before_last: Callable[[], None] = lambda: None
    ) -> Pointer | None:
        """Execute the commit steps; touches nothing of the task, so it may run beside `Task.advance`.

        Parameters as of `Checkpoint.commit`.

        Raises
        ------
        KafkaException, TaskError
            To be classified by `driftway.worker.kafka.error_handling`.
        """
        return self.checkpoint.commit(self.request, group_metadata, deadline, before_last)
