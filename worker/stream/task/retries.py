"""What went wrong with each partition, when it may try again, and when to give up: failing for ever is a state, too.

A partition whose commit or restore failed is restored: at once the first time, later ever more slowly, until a commit
succeeds. One that was fenced waits until the group should have said who owns it; if it stays ours, it is restored as
well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from driftway.worker.errors import Failure, Fenced, Unreachable
from driftway.worker.kafka.error_handling import ErrorAction

FENCED_PAUSE_SECONDS = 3.0
"""A fenced partition should be revoked or lost by then; otherwise it is ours, and the fence a late predecessor's."""
FENCE_WINDOW_SECONDS = 30.0
"""Fences further apart have nothing to do with each other."""
MAX_FENCES = 5
"""Times in succession that a partition may be fenced without moving; the next time somebody else must be at work."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.1, 2.0
"""Before the second restore in succession, doubled each time. A broker that is back is not to be kept waiting."""
MIN_FAILURES = 3
"""Failures in succession before a partition is given up, however long they took."""


@dataclass
class _FailureStreak:
    """Failures of a partition since its last success."""

    since: float
    count: int = 0
    timeouts: int = 0
    """How many of them were silence; the others were refusals."""
    sentences: dict[bool, str] = field(default_factory=dict)
    """The latest of those unanswered (True), and of refusals (False)."""
    retry_at: float = 0.0
    pending: bool = False


class RetryPolicy:
    """The partitions that are in trouble.

    Parameters
    ----------
    give_up_after : float
        Seconds without any success of a partition.
    """

    def __init__(self, give_up_after: float) -> None:
        self._give_up_after = give_up_after
        self._streaks: dict[int, _FailureStreak] = {}
        self._fences: dict[int, tuple[int, float]] = {}
        """Partition -> fences in succession, and when the last one was."""

    def record_failure(self, partition: int, verdict: ErrorAction, sentence: str) -> None:
        """Something of a partition has failed now.

        Raises
        ------
        Failure
            Too often, or for too long: Fenced, Unreachable, or what is refused.
        """
        now = time.monotonic()
        trouble = self._streaks.setdefault(partition, _FailureStreak(now))
        trouble.count += 1
        trouble.timeouts += verdict is ErrorAction.UNKNOWN
        trouble.sentences[verdict is ErrorAction.UNKNOWN] = sentence
        if verdict is ErrorAction.FENCED:
            pause = FENCED_PAUSE_SECONDS
            self._count_fence(partition, now, sentence)
        else:
            doubled = FIRST_PAUSE_SECONDS * 2 ** (trouble.count - 2)
            pause = min(doubled, MAX_PAUSE_SECONDS) if trouble.count > 1 else 0.0
        trouble.pending, trouble.retry_at = True, now + pause
        lasted = now - trouble.since
        if trouble.count >= MIN_FAILURES and lasted >= self._give_up_after:
            # What failed most: an outage aborts a commit before it is one, and on a busy machine a restore between two
            # refusals may run out of its time.
            silent = 2 * trouble.timeouts > trouble.count
            kind, sentence = Unreachable if silent else Failure, trouble.sentences[silent]
            raise kind(f"nothing has succeeded for {lasted:.0f} s, {trouble.count} times in succession: {sentence}")

    def due(self) -> list[int]:
        """Partitions that may be restored now; each is told once."""
        now = time.monotonic()
        found = [p for p, trouble in self._streaks.items() if trouble.pending and trouble.retry_at <= now]
        for partition in found:
            self._streaks[partition].pending = False
        return found

    def restore_timeout(self, partition: int) -> float:
        """Seconds that a restore of the partition may take."""
        trouble = self._streaks.get(partition)
        if trouble is None:
            return self._give_up_after
        return max(self._give_up_after / 4, trouble.since + self._give_up_after - time.monotonic())

    def succeeded(self, partition: int) -> None:
        """A commit of the partition did."""
        self._streaks.pop(partition, None)

    def reset(self, partition: int) -> None:
        """The partition has another owner now, or is assigned anew."""
        self._streaks.pop(partition, None)
        self._fences.pop(partition, None)

    def _count_fence(self, partition: int, now: float, sentence: str) -> None:
        times, latest = self._fences.get(partition, (0, now))
        times = times + 1 if now - latest < FENCE_WINDOW_SECONDS else 1
        self._fences[partition] = times, now
        if times > MAX_FENCES:
            raise Fenced(f"{sentence} (for the {times}th time in succession, by somebody who is not in the group)")
