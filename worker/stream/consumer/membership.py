"""Membership in the consumer group: with how much patience, and when to try again.

In the classic protocol all members wait for all others, the dead ones included, until their sessions end. The newer one
(`-X group.protocol=consumer`, Kafka 4) has no such moment, and a coordinator that may lose the group for good when its
broker dies (docs/decisions/0019): it is not taken unless somebody asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from driftway.worker.kafka.client_config import CONSUMER_TUNING, Properties, base_properties
from driftway.worker.kafka.client_factory import make_member
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.interface import Member, Partitions
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.observability.event_log import EventLog

SESSION_MS, STATIC_SESSION_MS = 6_000, 45_000
"""`session.timeout.ms` unless somebody sets it: how long a classic group waits for members that have died. 6 s is the
least that brokers allow by default; named members keep the client's 45 s, to be back before anybody notices."""
MIN_POLL_INTERVAL_MS = 4_000
"""`max.poll.interval.ms`, how long a group waits for members that do not rejoin, is a session unless somebody sets it:
5 minutes by the client's default (docs/decisions/0013). But no less than this: a revocation takes 0.4 of it."""
HEARTBEATS = 4
"""In a session that nobody has set."""
NAME_TAKEN = "instance ID is still used"
"""What the `consumer` protocol says to a named member whose predecessor was killed, until that one's session ends."""
REJOIN_SECONDS = 1.0
"""Between two tries to join under a name."""
GROUP_LOST_ERRORS = ("Unknown broker error", "group id does not exist")
"""What the client takes as the end of a member: said by a coordinator that came back from half of its log."""


class GroupMembership:
    """How the worker is in the group.

    Parameters
    ----------
    settings : WorkerSettings
        Topic, group, client properties.
    event_log : EventLog
        Where it is said how.
    listeners : tuple
        For assigned, revoked and lost partitions.
    callbacks : mapping
        Properties of the client that are called.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        event_log: EventLog,
        listeners: tuple[Partitions, Partitions, Partitions],
        callbacks: Mapping[str, Callable[[Any], None]],
    ) -> None:
        self.settings, self.event_log, self._listeners, self._callbacks = settings, event_log, listeners, callbacks
        self.poll_interval_seconds = 0.0
        self._join_deadline: Deadline | None = None
        """For being let in, since the first refusal: a name may become free, a coordinator come to itself."""
        self._member: Member | None = None

    def join(self) -> Member:
        """A new member.

        Raises
        ------
        UsageFailure
            A client property is not valid.
        """
        settings, protocol = self.settings, self.settings.protocol
        own = {
            "group.id": settings.group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": settings.stop_at_end,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
        }
        given = base_properties(settings.bootstrap, settings.passthrough)
        properties = {**CONSUMER_TUNING, **_timeouts(given, protocol), **given, **own}
        incremental = protocol == CONSUMER or "cooperative" in str(given.get("partition.assignment.strategy", ""))
        properties |= self._callbacks
        member = make_member(
            settings.client, properties, settings.input, incremental, headers=settings.model.reads_headers
        )
        self.poll_interval_seconds = int(properties["max.poll.interval.ms"]) / 1000
        member.subscribe(*self._listeners)
        told = {"topic": settings.input, "group": settings.group, "protocol": protocol, "client": settings.client}
        self.event_log.event("subscribed", **told)
        self._member = member
        return member

    def joined(self) -> None:
        """The group has answered."""
        self._join_deadline = None

    def join_timed_out(self) -> bool:
        """Whether the group has not let this member in for too long, counted from the first time that this is asked."""
        if self._join_deadline is None:
            self._join_deadline = Deadline(self.settings.give_up_after)
        return self._join_deadline.passed

    def may_rejoin(self, error: str) -> bool:
        """Whether an error that ends this client's membership leaves another one possible."""
        may = any(words in error for words in (NAME_TAKEN, *GROUP_LOST_ERRORS)) and not self.join_timed_out()
        if may:
            self.event_log.event("not let into the group, trying again", error=error)
        return may

    def rejoin(self) -> Member:
        """Another member in place of this one; nothing may be ours any more, since it is kept waiting."""
        time.sleep(REJOIN_SECONDS)
        if self._member is not None:
            self._member.close()
        return self.join()


def _timeouts(given: Properties, protocol: str) -> Properties:
    """How long the group waits for whom, unless given: whoever is silent for a session is dead, at whichever call.

    The client refuses an interval below the session.
    """
    if protocol == CONSUMER:  # how long a session is, the broker says
        return {"max.poll.interval.ms": SESSION_MS}
    session = STATIC_SESSION_MS if "group.instance.id" in given else SESSION_MS
    try:
        interval = max(MIN_POLL_INTERVAL_MS, int(given.get("session.timeout.ms", session)))
    except ValueError:
        interval = session  # the client says what is wrong with the session's length
    waits = {"session.timeout.ms": session, "max.poll.interval.ms": interval}
    if session == SESSION_MS and "session.timeout.ms" not in given:
        waits["heartbeat.interval.ms"] = session // HEARTBEATS
    return waits
