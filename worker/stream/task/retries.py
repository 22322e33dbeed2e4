"""What went wrong with each partition, when it may try again, and when to give up: failing for ever is a state, too.

A partition whose commit or restore failed is restored: at once the first time, later ever more slowly, until a commit
succeeds. One that was fenced waits until the group should have said who owns it; if it stays ours, it is restored as
well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from driftway.worker.errors import Failure, Fenced, Unreachable
from driftway.worker.kafka.error_handling import Verdict

MOVING_SECONDS = 3.0
"""A fenced partition should be revoked or lost by then; otherwise it is ours, and the fence a late predecessor's."""
SUCCESSION_SECONDS = 30.0
"""Fences further apart have nothing to do with each other."""
MOST_FENCES = 5
"""Times in succession that a partition may be fenced without moving; the next time somebody else must be at work."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0
"""Before the second restore in succession, doubled each time. A broker that is back is not to be kept waiting."""
FEWEST = 3
"""Failures in succession before a partition is given up, however long they took."""


@dataclass
class _Trouble:
    """Failures of a partition since its last success."""

    since: float
    count: int = 0
    unanswered: int = 0
    """How many of them were silence; the others were refusals."""
    sentences: dict[bool, str] = field(default_factory=dict)
    """The latest of those unanswered (True), and of refusals (False)."""
    ready_at: float = 0.0
    waits: bool = False


class Setbacks:
    """The partitions that are in trouble.

    Parameters
    ----------
    give_up_after : float
        Seconds without any success of a partition.
    """

    def __init__(self, give_up_after: float) -> None:
        self._give_up_after = give_up_after
        self._troubles: dict[int, _Trouble] = {}
        self._fences: dict[int, tuple[int, float]] = {}
        """Partition -> fences in succession, and when the last one was."""

    def add(self, partition: int, verdict: Verdict, sentence: str) -> None:
        """Something of a partition has failed now.

        Raises
        ------
        Failure
            Too often, or for too long: Fenced, Unreachable, or what is refused.
        """
        now = time.monotonic()
        trouble = self._troubles.setdefault(partition, _Trouble(now))
        trouble.count += 1
        trouble.unanswered += verdict is Verdict.UNKNOWN
        trouble.sentences[verdict is Verdict.UNKNOWN] = sentence
        if verdict is Verdict.FENCED:
            pause = MOVING_SECONDS
            self._count_fence(partition, now, sentence)
        else:
            doubled = FIRST_PAUSE_SECONDS * 2 ** (trouble.count - 2)
            pause = min(doubled, LONGEST_PAUSE_SECONDS) if trouble.count > 1 else 0.0
        trouble.waits, trouble.ready_at = True, now + pause
        lasted = now - trouble.since
        if trouble.count >= FEWEST and lasted >= self._give_up_after:
            # What failed most: an outage aborts a commit before it is one, and on a busy machine a restore between two
            # refusals may run out of its time.
            silent = 2 * trouble.unanswered > trouble.count
            kind, sentence = Unreachable if silent else Failure, trouble.sentences[silent]
            raise kind(f"nothing has succeeded for {lasted:.0f} s, {trouble.count} times in succession: {sentence}")

    def ready(self) -> list[int]:
        """Partitions that may be restored now; each is told once."""
        now = time.monotonic()
        found = [p for p, trouble in self._troubles.items() if trouble.waits and trouble.ready_at <= now]
        for partition in found:
            self._troubles[partition].waits = False
        return found

    def patience(self, partition: int) -> float:
        """Seconds that a restore of the partition may take."""
        trouble = self._troubles.get(partition)
        if trouble is None:
            return self._give_up_after
        return max(self._give_up_after / 4, trouble.since + self._give_up_after - time.monotonic())

    def succeeded(self, partition: int) -> None:
        """A commit of the partition did."""
        self._troubles.pop(partition, None)

    def moved(self, partition: int) -> None:
        """The partition has another owner now, or is assigned anew."""
        self._troubles.pop(partition, None)
        self._fences.pop(partition, None)

    def _count_fence(self, partition: int, now: float, sentence: str) -> None:
        times, latest = self._fences.get(partition, (0, now))
        times = times + 1 if now - latest < SUCCESSION_SECONDS else 1
        self._fences[partition] = times, now
        if times > MOST_FENCES:
            raise Fenced(f"{sentence} (for the {times}th time in succession, by somebody who is not in the group)")
