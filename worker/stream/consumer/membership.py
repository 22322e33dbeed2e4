"""Membership in the consumer group: timeouts, and when to join again.

In the classic protocol, members wait for all others, including dead ones, until their sessions end. In the newer one
(`-X group.protocol=consumer`, Kafka 4) they do not wait, but its coordinator may lose the group permanently when its
broker dies (docs/decisions/0019). So it is used only on request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import CONSUMER_TUNING, Properties, base_properties
from driftway.worker.kafka.client_factory import make_member
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.interface import NO_BROKERS, Member, Partitions
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.observability.event_log import EventLog

SESSION_MS, STATIC_SESSION_MS = 6_000, 45_000
"""Default of `session.timeout.ms`: how long a classic group waits for dead members. 6 s is the least that brokers allow
by default; static members keep the client's 45 s, to be back before their session ends."""
BROKER_SESSIONS = 2
"""In a cluster the default is at least so many sessions of a broker. Until a dead coordinator has been replaced, no
member can send it a heartbeat; that takes one broker session, and longer if the controller has died with it
(docs/decisions/0013)."""
MIN_POLL_INTERVAL_MS = 4_000
"""Least default of `max.poll.interval.ms`: how long a group waits for members that do not rejoin. The default is a
session, not the client's 5 minutes (docs/decisions/0013), but no less than this: a revocation may take 0.4 of it."""
HEARTBEAT_MS = 1_500
"""Default of `heartbeat.interval.ms`, if the session timeout is not given. The first heartbeat to a new coordinator may
come too early, while that is still loading the group; the next one has to come before the session ends."""
CLIENT_HEARTBEAT_MS, HEARTBEATS = 3_000, 2
"""The client's own default; and how many heartbeats a session that is suggested has at least."""
NAME_TAKEN = "instance ID is still used"
"""Error of the `consumer` protocol for a static member whose killed predecessor's session has not ended yet."""
GROUP_FULL = "Consumer group has reached maximum size"
"""Error of both protocols if the group is full; in the classic one the client tries again by itself."""
REJOIN_SECONDS = 1.0
"""Pause before joining again."""
WAIT_SECONDS = 10.0
"""How long a member waits for its partitions before the log says so; the next line comes after twice as long."""
WAITING = (
    "a group assigns partitions when all its members have joined again, or the timeouts of those that are gone are over"
)
REPEAT_SECONDS = 60.0
"""Least interval between two lines about the same error, which the client gets over by itself."""
HINTS = {
    KafkaError.GROUP_MAX_SIZE_REACHED: "the brokers allow no more members (group.max.size, or group.consumer.max.size "
    "with group.protocol=consumer): this worker waits until another one has left",
    KafkaError.INCONSISTENT_GROUP_PROTOCOL: "another program is in this group (driftway check names it), or the "
    "workers differ in partition.assignment.strategy: this worker waits until those members have left",
}
"""Code of an error -> what its message does not say."""
GROUP_LOST_ERRORS = ("Unknown broker error", "group id does not exist", NO_BROKERS)
"""Errors that end a member's client. The first two are sent by a coordinator that came back with half of its log."""


class GroupMembership:
    """The worker's membership in the group.

    Parameters
    ----------
    settings : WorkerSettings
        Topic, group, client properties.
    event_log : EventLog
        Where joins are logged.
    listeners : tuple
        Callbacks for assigned, revoked and lost partitions.
    callbacks : mapping
        Client properties that are callbacks, such as `error_cb`.
    broker_session_ms : int
        How long the cluster takes to notice that a broker is dead; 0 if there is only one.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        event_log: EventLog,
        listeners: tuple[Partitions, Partitions, Partitions],
        callbacks: Mapping[str, Callable[[Any], None]],
        broker_session_ms: int,
    ) -> None:
        self._broker_session_ms = broker_session_ms
        self.settings, self.event_log, self._listeners, self._callbacks = settings, event_log, listeners, callbacks
        self.poll_interval_seconds = 0.0
        self.incremental = False
        """Whether partitions are assigned one by one instead of all together."""
        self._join_deadline: Deadline | None = None
        """For joining, since the first refusal: a static name may become free, a coordinator may recover."""
        self._member: Member | None = None
        self._waiting_since: float | None = None
        """Since when the member waits for its partitions; None: it has them, or the protocol does not make it wait."""
        self._next_line = WAIT_SECONDS
        """Seconds of waiting after which the log says so."""
        self._full = False
        """Whether the group has refused the member because it is full."""
        self._reported: dict[int, float] = {}
        """Code of an error -> when it was logged last."""

    def join(self) -> Member:
        """Create and subscribe a new member.

        Raises
        ------
        UsageFailure
            A client property is not valid.
        """
        settings, protocol = self.settings, self.settings.protocol
        properties = member_properties(settings, self._broker_session_ms)
        strategy = str(properties.get("partition.assignment.strategy", ""))
        self.incremental = protocol == CONSUMER or "cooperative" in strategy
        properties |= self._callbacks
        member = make_member(
            settings.client, properties, settings.input, self.incremental, headers=settings.model.reads_headers
        )
        self.poll_interval_seconds = int(properties["max.poll.interval.ms"]) / 1000
        member.subscribe(*self._listeners)
        facts = {"topic": settings.input, "group": settings.group, "protocol": protocol, "client": settings.client}
        if not self._full:  # else it joins every second
            self.event_log.event("subscribed", **facts)
        self._member = member
        if protocol != CONSUMER:
            self.waits()
        return member

    def joined(self) -> None:
        """Record that the group has accepted the member."""
        self._join_deadline = self._waiting_since = None
        self._full = False

    def waits(self) -> None:
        """Record that the member waits for its partitions."""
        self._waiting_since, self._next_line = time.monotonic(), WAIT_SECONDS

    def report_wait(self) -> None:
        """Log, ever more rarely, that the member still waits for its partitions."""
        if self._waiting_since is None:
            return
        waited = time.monotonic() - self._waiting_since
        if waited >= self._next_line:
            self._next_line *= 2
            facts = {"group": self.settings.group, "seconds": round(waited), "note": WAITING}
            self.event_log.warning("waiting for partitions", **facts)

    def report(self, error: KafkaError) -> None:
        """Log an error that the client gets over by itself: at once, and then rarely if it comes again."""
        now, code = time.monotonic(), error.code()
        if now - self._reported.get(code, float("-inf")) >= REPEAT_SECONDS:
            self._reported[code] = now
            words = filter(None, (error.str(), HINTS.get(code)))
            self.event_log.warning("consumer error", error="; ".join(words))

    def join_timed_out(self) -> bool:
        """Whether joining has failed for too long, counted from the first call since the last success."""
        if self._join_deadline is None:
            self._join_deadline = Deadline(self.settings.unavailable_timeout)
        return self._join_deadline.passed

    def may_rejoin(self, error: str) -> bool:
        """Whether a new member may join after an error that ended this client's membership."""
        if GROUP_FULL in error and self.settings.protocol == CONSUMER:
            self.report(KafkaError(KafkaError.GROUP_MAX_SIZE_REACHED))
            self._full = True
            return True
        allowed = any(words in error for words in (NAME_TAKEN, *GROUP_LOST_ERRORS)) and not self.join_timed_out()
        if allowed:
            self.event_log.warning("not admitted to the group, trying again", error=error)
        return allowed

    def rejoin(self) -> Member:
        """Replace the member after a pause, so none of its partitions may still be in use."""
        time.sleep(REJOIN_SECONDS)
        if self._member is not None:
            self._member.close()
        return self.join()


def member_properties(settings: WorkerSettings, broker_session_ms: int = 0) -> Properties:
    """Return the properties of the client that joins the group, without callbacks."""
    own = {
        "group.id": settings.group,
        "group.protocol": settings.protocol,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": settings.stop_at_end,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
    }
    given = base_properties(settings.bootstrap, settings.passthrough)
    return {**CONSUMER_TUNING, **timeouts(given, settings.protocol, broker_session_ms), **given, **own}


def timeouts(given: Properties, protocol: str, broker_session_ms: int) -> Properties:
    """Return timeouts that are not given: a member that is silent for a session is dead, whatever it is doing.

    The client refuses a poll interval below the session timeout. `broker_session_ms` as `GroupMembership`.
    """
    if protocol == CONSUMER:  # the broker sets the session timeout
        return {"max.poll.interval.ms": SESSION_MS}
    least = STATIC_SESSION_MS if "group.instance.id" in given else SESSION_MS
    session = max(least, BROKER_SESSIONS * broker_session_ms)
    try:
        interval = max(MIN_POLL_INTERVAL_MS, int(given.get("session.timeout.ms", session)))
    except ValueError:
        interval = session  # the client reports what is wrong with the session timeout
    heartbeat = {} if "session.timeout.ms" in given else {"heartbeat.interval.ms": HEARTBEAT_MS}
    return {"session.timeout.ms": session, "max.poll.interval.ms": interval, **heartbeat}


def session_and_heartbeat(settings: WorkerSettings, broker_session_ms: int) -> tuple[int, int] | None:
    """Return a classic member's session timeout and heartbeat interval; None if one is no number, as the client says.

    `broker_session_ms` as `GroupMembership`.
    """
    own = member_properties(settings, broker_session_ms)
    try:
        return int(own["session.timeout.ms"]), int(own.get("heartbeat.interval.ms", CLIENT_HEARTBEAT_MS))
    except ValueError:
        return None


def require_heartbeats(settings: WorkerSettings, broker_session_ms: int) -> None:
    """Check that heartbeats come before a classic member's session ends; parameters as `session_and_heartbeat`.

    Raises
    ------
    UsageFailure
        They do not: the group would take the partitions away again and again.
    """
    times = None if settings.protocol == CONSUMER else session_and_heartbeat(settings, broker_session_ms)
    if times is not None and times[0] <= times[1]:
        session, heartbeat = times
        raise UsageFailure(
            f"a session of {session} ms ends between two heartbeats, every {heartbeat} ms: the worker would lose its "
            f"partitions again and again; give -X session.timeout.ms={HEARTBEATS * heartbeat} or more"
        )
