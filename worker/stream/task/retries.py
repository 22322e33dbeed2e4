"""Track failures per partition: when to retry, and when to give up.

A partition whose commit or restore failed is restored: at once the first time, then after growing pauses, until a
commit succeeds. A fenced partition waits until the group should have reassigned it; if this worker still owns it then,
it is restored.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from driftway.worker.errors import Failure, Fenced, Unreachable
from driftway.worker.kafka.error_handling import ErrorAction

FENCED_PAUSE_SECONDS = 3.0
"""Pause after a fence; a partition that is still ours then was fenced by a late request of its last owner."""
FENCE_WINDOW_SECONDS = 30.0
"""Fences further apart than this are unrelated."""
MAX_FENCES = 5
"""Fences in succession without a reassignment; at the next one, some process outside the group must be the cause."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.1, 2.0
"""Pause before the second restore in succession, doubled each time up to a short maximum: the broker may be back."""
MIN_FAILURES = 3
"""Failures in succession before a partition is given up, however long they took."""


@dataclass
class _FailureStreak:
    """Failures of a partition since its last success."""

    since: float
    count: int = 0
    timeouts: int = 0
    """How many of them were timeouts; the others were refusals."""
    sentences: dict[bool, str] = field(default_factory=dict)
    """The latest message of timeouts (True), and of refusals (False)."""
    retry_at: float = 0.0
    pending: bool = False


class RetryPolicy:
    """Failing partitions, and when each may be restored again.

    Parameters
    ----------
    unavailable_timeout : float
        Seconds without a successful commit after which a partition is given up.
    """

    def __init__(self, unavailable_timeout: float) -> None:
        self._unavailable_timeout = unavailable_timeout
        self._streaks: dict[int, _FailureStreak] = {}
        self._fences: dict[int, tuple[int, float]] = {}
        """Partition -> fences in succession, and the time of the last one."""

    def record_failure(self, partition: int, action: ErrorAction, sentence: str) -> None:
        """Record that a commit or restore has failed, and schedule the next restore.

        Raises
        ------
        Failure
            Too often, or for too long: Fenced, Unreachable, or a plain one with the refusal's message.
        """
        now = time.monotonic()
        streak = self._streaks.setdefault(partition, _FailureStreak(now))
        streak.count += 1
        streak.timeouts += action is ErrorAction.UNKNOWN
        streak.sentences[action is ErrorAction.UNKNOWN] = sentence
        if action is ErrorAction.FENCED:
            pause = FENCED_PAUSE_SECONDS
            self._count_fence(partition, now, sentence)
        else:
            doubled = FIRST_PAUSE_SECONDS * 2 ** (streak.count - 2)
            pause = min(doubled, MAX_PAUSE_SECONDS) if streak.count > 1 else 0.0
        streak.pending, streak.retry_at = True, now + pause
        lasted = now - streak.since
        if streak.count >= MIN_FAILURES and lasted >= self._unavailable_timeout:
            # The majority decides: an outage may first abort a commit, and on a busy machine a restore between two
            # refusals may time out.
            timed_out = 2 * streak.timeouts > streak.count
            kind, sentence = Unreachable if timed_out else Failure, streak.sentences[timed_out]
            raise kind(f"nothing has succeeded for {lasted:.0f} s, {streak.count} times in a row: {sentence}")

    def due(self) -> list[int]:
        """Return partitions that may be restored now, each once."""
        now = time.monotonic()
        found = [p for p, streak in self._streaks.items() if streak.pending and streak.retry_at <= now]
        for partition in found:
            self._streaks[partition].pending = False
        return found

    def restore_timeout(self, partition: int) -> float:
        """Seconds that a restore of the partition may take."""
        streak = self._streaks.get(partition)
        if streak is None:
            return self._unavailable_timeout
        return max(self._unavailable_timeout / 4, streak.since + self._unavailable_timeout - time.monotonic())

    def succeeded(self, partition: int) -> None:
        """Record that a commit of the partition succeeded."""
        self._streaks.pop(partition, None)

    def reset(self, partition: int) -> None:
        """Forget the failures of a partition that moved away or was newly assigned."""
        self._streaks.pop(partition, None)
        self._fences.pop(partition, None)

    def _count_fence(self, partition: int, now: float, sentence: str) -> None:
        times, latest = self._fences.get(partition, (0, now))
        times = times + 1 if now - latest < FENCE_WINDOW_SECONDS else 1
        self._fences[partition] = times, now
        if times > MAX_FENCES:
            way_out = "end the program that uses the same transactional id"
            raise Fenced(f"{sentence} (for the {times}th time in a row, by somebody outside the group: {way_out})")
