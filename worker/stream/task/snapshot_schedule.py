"""When a task writes a snapshot: so often that a restore takes about a second, more rarely where states are large."""

from __future__ import annotations

import time
from dataclasses import dataclass

from driftway.worker.settings import WorkerSettings
from driftway.worker.state.model_sharing.exchange_record import KEY_SLOTS

LARGE_STATE = 2 * 2**20
"""Bytes of state up to which a snapshot costs less than 2 % of learning the rows between two; larger ones are rarer."""
RELEARN_SECONDS = 0.25
"""Learning time after which a snapshot is due however few rows it was, so that a restore takes about a second."""
BATCH_SECONDS = 0.0005
"""Fixed cost of a batch, not counted as learning time: a restore relearns in few large batches."""
SNAPSHOT_SHARE = 0.05
"""Largest share of a large state's snapshots in the bytes that a slow stream writes, up to MAX_STRETCH."""
MAX_STRETCH = 10.0
"""Snapshot intervals after which even a large state is written, however few bytes its stream writes."""


@dataclass(frozen=True)
class WorkDone:
    """Rows learned since the last restore from the log, and the time that took."""

    rows: int = 0
    seconds: float = 0.0
    rounds: int = 0
    """Exchange rounds with other partitions."""


class SnapshotSchedule:
    """The work since the last snapshot, and whether the next one is due."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self.restart()

    def restart(self) -> None:
        """Begin after a restore from the log."""
        self._written_at = time.monotonic()
        self.work = self._work_at_snapshot = WorkDone()

    def add(self, rows: int, seconds: float, rounds: int) -> None:
        """Add the work of one batch."""
        work = self.work
        self.work = WorkDone(work.rows + rows, work.seconds + max(0.0, seconds - BATCH_SECONDS), work.rounds + rounds)

    def written(self, work: WorkDone) -> None:
        """Record that a snapshot of the state after that work is committed."""
        self._written_at, self._work_at_snapshot = time.monotonic(), work

    @property
    def age(self) -> float:
        """Seconds since the last snapshot, or since the restore."""
        return time.monotonic() - self._written_at

    def due_at(self, nbytes: int, bytes_since_snapshot: int) -> float:
        """When a snapshot of a state of that size is due by time alone, as `time.monotonic`."""
        cheap = nbytes <= max(LARGE_STATE, SNAPSHOT_SHARE * bytes_since_snapshot)
        return self._written_at + (1.0 if cheap else MAX_STRETCH) * self._settings.snapshot_interval

    def due_by_work(self, nbytes: int) -> bool:
        """Whether a snapshot of a state of that size is due by the work done."""
        size, work, before = max(1.0, nbytes / LARGE_STATE), self.work, self._work_at_snapshot
        rows, seconds = work.rows - before.rows, work.seconds - before.seconds
        if work.rounds - before.rounds >= KEY_SLOTS // 4:
            return True  # compaction keeps four times as many rounds to replay
        return rows >= size * self._settings.snapshot_rows or seconds >= size * RELEARN_SECONDS
