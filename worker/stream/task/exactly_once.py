"""Exactly-once: one transactional producer per partition, so that taking a partition over is one call.

Outputs, snapshot, position and offset are one transaction. The position is written twice: to the group's coordinator,
and into the partition's own log, which is believed (`driftway.worker.stream.task.restore`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import Verdict, ask, insist, judge
from driftway.worker.kafka.interface import Span
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import Position
from driftway.worker.state.snapshot import position_key
from driftway.worker.stream.task.checkpoint import Checkpoint, Probe

TRANSACTION_TIMEOUT_MS = 60_000
"""How long the broker lets a transaction stay open; twice the commit interval where that is longer."""
SETTLE_SECONDS = 0.07
"""From making a producer to asking for its transactional id; see `_meet_coordinator`."""
FIRST_TRY_SECONDS = 0.05
"""First wait for `init_transactions`, doubled each time; it takes 4 ms if the last owner left nothing open."""
UNDECIDED = (KafkaError.CONCURRENT_TRANSACTIONS, KafkaError._TIMED_OUT)
"""Answers to `init_transactions` that only mean: not yet."""


class TransactionalCheckpoint(Checkpoint):
    """A partition's transactional producer; parameters as `PlainCheckpoint`, which needs a consumer besides."""

    def __init__(
        self,
        settings: WorkerSettings,
        partition: int,
        probe: Probe | None = None,
        callbacks: Mapping[str, Any] | None = None,
    ) -> None:
        self._timeout_ms = max(TRANSACTION_TIMEOUT_MS, int(2000 * settings.commit_interval))
        own = {
            **(callbacks or {}),
            "transactional.id": settings.transactional_id(partition),
            "transaction.timeout.ms": self._timeout_ms,
        }
        super().__init__(settings, partition, own, probe)

    def acquire(self, deadline: Deadline) -> None:
        """New producer, `init_transactions`: fences the last owner and aborts what it left open; then begin.

        While the coordinator is aborting, the client asks it again only every 500 ms, a new client at once.
        """
        patience = FIRST_TRY_SECONDS
        self._meet_coordinator(deadline)
        while (waits_for := self._try_to_take_over(min(patience, deadline.remaining()), deadline)) is not None:
            if waits_for == KafkaError.CONCURRENT_TRANSACTIONS:
                self._meet_coordinator(deadline)
            patience *= 2  # a broker that is slow to answer must not be asked ever anew
        self._begin()

    def _try_to_take_over(self, seconds: float, deadline: Deadline) -> int | None:
        """Try once; None, or the error code for which to try again."""
        try:
            self.sender.init_transactions(seconds)
        except KafkaException as error:
            code = int(error.args[0].code())
            if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
                seconds = self._timeout_ms / 1000
                raise UsageFailure(
                    f"the broker lets no transaction stay open for {seconds:g} s, twice --commit-interval "
                    f"and at least {TRANSACTION_TIMEOUT_MS // 1000} s: its max.transaction.timeout.ms is less"
                ) from None
            if deadline.passed or not (code in UNDECIDED or judge(error.args[0]) is Verdict.RETRY):
                raise
            return code
        return None

    def _meet_coordinator(self, deadline: Deadline) -> None:
        """A new producer that knows its broker.

        One that knows none yet looks for its coordinator again only after 500 ms. That is over when the metadata is
        there and the client has had time to settle: asked within 20 ms it still took 500, after 60 ms it takes 10.
        """
        made = time.monotonic()
        self.renew()
        ask(lambda: self.sender.know(self.topics.input, deadline.remaining()), deadline)
        time.sleep(max(0.0, made + SETTLE_SECONDS - time.monotonic()))

    def give_up(self, deadline: Deadline) -> None:
        """Abort, where nobody takes over soon who would do it; the producer ends with it."""
        insist(lambda: self.sender.abort_transaction(deadline.remaining()), deadline)
        self.discard()

    def settle_hanging(self, topic: str, deadline: Deadline) -> None:
        """Decide what a topic holds of an older transaction of ours that the coordinator no longer knows: it is void.

        A coordinator that has lost its memory sends no marker, and readers wait for one without end. The marker of any
        later transaction of the same producer settles the older one too: this one is for nothing else. Acquire again.
        """
        self.sender.send_one(topic, b"", position_key(self.partition))
        self.flush(deadline)
        self.give_up(deadline)

    def _begin(self) -> None:
        self.sender.begin_transaction()

    def _send_offsets(self, position: Position, membership: Any, deadline: Deadline) -> dict[str, Span]:
        """The offset goes to the coordinator and, with everything else that it may forget, into the log."""
        snapshots, sender, pointer = self.topics.snapshots, self.sender, position.pointer
        sender.send_one(snapshots, position.write(), position_key(self.partition))
        offsets: dict[str, tuple[int, str | None]] = {
            self.topics.input: (position.offset, None if pointer is None else pointer.text())
        }
        if position.labels is not None and position.order is not None:
            offsets[position.labels] = position.order.end.label, None  # for whoever looks at the group's lag
        insist(lambda: sender.send_offsets(offsets, membership, deadline.remaining()), deadline)
        self.flush(deadline)
        behind = 0 if pointer is None else pointer.first + pointer.chunks
        return sender.spans({snapshots: max(behind, self.ends.get(snapshots, 0))})

    def _conclude(self, deadline: Deadline) -> None:
        insist(lambda: self.sender.commit_transaction(deadline.remaining()), deadline)
